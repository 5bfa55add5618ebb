//! `tenslice layout`

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use tenslice::{Extent, File, Format, MAX_SEGMENTS, Opened as Parsed, Source};

use crate::common::failure::Failure;
use crate::common::model::{Mapped, Opened};
use crate::common::table::{Fit, Look, print};
use crate::common::text::{printable, size};
use crate::terminal::Terminal;

/// Print a map of files: metadata, the bytes of each tensor, gaps, overlaps, alignment
#[derive(clap::Args)]
pub struct Arguments {
    /// Files or folders
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Print only the bar and the totals
    #[arg(long, short)]
    summary: bool,
}

/// A part of a file.
struct ModelPart {
    extent: Extent,
    kind: Kind,
    name: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Metadata,
    Data,
    /// Bytes up to the next multiple of the alignment, or zeros up to the next part.
    Padding,
    /// Bytes that belong to no tensor and are not read to open the file: unused bytes, or chunk offsets, for example.
    Other,
    /// Bytes of a tensor that overlap an earlier part.
    Shared,
}

impl Arguments {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        terminal.each(&self.files, |terminal, path| self.map(terminal, path))
    }

    fn map(&self, terminal: &mut Terminal, path: &Path) -> Result<(), Failure> {
        let mapped = Mapped::new(path)?;
        let mut tables = mapped.tables();
        let model = mapped.open(&mut tables)?;
        for opened in &model.files {
            let parts = parts(opened);
            if terminal.json {
                terminal.record("layout", record(opened, &parts))?;
                continue;
            }
            self.show(&mut terminal.out, terminal.look, opened, &parts)?;
        }
        Failure::all(model.problems)
    }

    fn show(&self, out: &mut impl Write, look: Look, opened: &Opened<'_>, parts: &[ModelPart]) -> io::Result<()> {
        let length = opened.file.length();
        let name = look.bold(&opened.path.display().to_string());
        writeln!(out, "{name}: {}, {} ({length} bytes)", opened.file.format(), size(length))?;
        draw(out, look, length, parts)?;
        let sum =
            |kind: Kind| parts.iter().filter(|part| part.kind == kind).map(|part| part.extent.length).sum::<u64>();
        let kinds = [
            (Kind::Metadata, "metadata"),
            (Kind::Data, "tensor data"),
            (Kind::Padding, "padding"),
            (Kind::Other, "other"),
            (Kind::Shared, "shared"),
        ];
        for (kind, name) in kinds {
            let bytes = sum(kind);
            if bytes > 0 || matches!(kind, Kind::Metadata | Kind::Data) {
                let percent = 100.0 * bytes as f64 / length.max(1) as f64;
                writeln!(out, "  {} {name:<12}{bytes:>12}{percent:>6.1} %", symbol(look, kind, false))?;
            }
        }
        let data = parts.iter().filter(|part| part.kind == Kind::Data && part.extent.length > 0);
        if let Some(least) = data.map(|part| alignment(part.extent.offset)).min() {
            writeln!(out, "  data begins at multiples of {least}")?;
        }
        if self.summary || parts.is_empty() {
            return Ok(());
        }
        let titles =
            [("offset", Fit::Whole), ("length", Fit::Whole), ("align", Fit::LeftOut(1)), ("what", Fit::Name)];
        let rows: Vec<_> = parts
            .iter()
            .map(|ModelPart { extent, kind, name }| {
                let is_data = matches!(kind, Kind::Data | Kind::Shared);
                let align = if is_data { alignment(extent.offset).to_string() } else { String::new() };
                [extent.offset.to_string(), extent.length.to_string(), align, name.clone()]
            })
            .collect();
        print(out, look, &titles, &rows)
    }
}

/// The record of the parts of a file.
fn record(opened: &Opened<'_>, parts: &[ModelPart]) -> Json {
    let of_one = |ModelPart { extent, kind, name }: &ModelPart| {
        let kind = match kind {
            Kind::Metadata => "metadata",
            Kind::Data => "data",
            Kind::Padding => "padding",
            Kind::Other => "other",
            Kind::Shared => "shared",
        };
        json!({"offset": extent.offset, "length": extent.length, "kind": kind, "what": name})
    };
    json!({
        "file": opened.path.to_string_lossy(),
        "format": opened.file.format().text(),
        "length": opened.file.length(),
        "parts": parts.iter().map(of_one).collect::<Json>(),
    })
}

/// The largest power of two that divides an offset, at most the page size of 4096.
fn alignment(offset: u64) -> u64 {
    1 << offset.trailing_zeros().min(12)
}

/// The parts of a file in the order of their offsets, without gaps.
fn parts(opened: &Opened<'_>) -> Vec<ModelPart> {
    let length = opened.file.length();
    let mut data: Vec<(Extent, String, Kind)> = Vec::new();
    for tensor in opened.file.tensors() {
        let name = tensor.name().to_string();
        let is_listed = opened.is_listed(&tensor);
        let name = if name.is_empty() { "\"\"".into() } else { printable(&name) };
        let is_single = tensor.components().count() == 1;
        for component in tensor.components().filter(|component| component.shard().is_none()) {
            let role = if is_single { String::new() } else { format!(": {}", printable(component.role())) };
            let (kind, note) = if is_listed { (Kind::Data, "") } else { (Kind::Other, " (not part of the model)") };
            data.push((component.extent(), format!("{name}{role}{note}"), kind));
        }
    }
    data.sort_by_key(|(extent, ..)| (extent.offset, extent.length));
    let gaps = Gaps { bytes: opened.bytes, metadata: metadata(opened), alignment: stated_alignment(&opened.file) };
    let mut parts = Vec::new();
    let mut at = 0;
    for (extent, name, kind) in data {
        gaps.add(&mut parts, at, extent.offset);
        let end = extent.end().unwrap_or(u64::MAX);
        let (kind, note) = match extent.offset {
            offset if offset >= at || extent.length == 0 => (kind, ""),
            _ if end <= at => (Kind::Shared, " (inside earlier data)"),
            _ => (Kind::Shared, " (overlaps earlier data)"),
        };
        parts.push(ModelPart { extent, kind, name: name + note });
        at = at.max(end);
    }
    gaps.add(&mut parts, at, length);
    parts
}

/// The alignment that the format prescribes for the bytes of tensors, or that the file states; 1 if there is none.
fn stated_alignment(file: &File<'_>) -> u64 {
    match file.format() {
        Format::Ztensor => 64,
        Format::Ztensor2 => 4096,
        Format::Gguf => file.as_gguf().map_or(1, |gguf| gguf.alignment().into()),
        _ => 1,
    }
}

/// The ranges that are read to open the file: its metadata, and possibly some bytes around it.
fn metadata(opened: &Opened<'_>) -> Vec<Extent> {
    let bytes = opened.bytes;
    let mut source = Source::new(bytes.len() as u64);
    let mut ranges = Vec::new();
    while ranges.len() < MAX_SEGMENTS * 1024 {
        let Ok(Parsed::Need(need)) = File::open_source(&source) else { break };
        let range = std::ops::Range::<usize>::try_from(need.extent).ok().and_then(|range| bytes.get(range));
        if range.is_none_or(|range| source.add(need.extent.offset, range).is_err()) {
            break;
        }
        ranges.push(need.extent);
    }
    ranges.sort_by_key(|extent| extent.offset);
    // Everything before the data is metadata, but reading skips long values.
    if let (Some(gguf), Some(last)) = (opened.file.as_gguf(), ranges.last().and_then(Extent::end)) {
        return vec![Extent::new(0, last.min(gguf.data_offset()))];
    }
    ranges
}

/// Fewer zeros than this count as padding: the largest alignment that writers use.
const ZEROS: u64 = 1 << 16;

/// The gaps between the data of tensors.
struct Gaps<'a> {
    bytes: &'a [u8],
    metadata: Vec<Extent>,
    alignment: u64,
}

impl Gaps<'_> {
    /// Adds the parts from `at` to `end`: metadata, padding, and other bytes.
    fn add(&self, parts: &mut Vec<ModelPart>, mut at: u64, end: u64) {
        let metadata = &self.metadata;
        while at < end {
            let inside =
                metadata.iter().filter(|range| range.offset <= at).filter_map(Extent::end).max().unwrap_or(0);
            let next = metadata.iter().map(|range| range.offset).filter(|offset| *offset > at).min().unwrap_or(end);
            let (stop, is_metadata) = if inside > at { (inside.min(end), true) } else { (next.min(end), false) };
            let (kind, name) = if is_metadata { (Kind::Metadata, "(metadata)") } else { self.unused(at, stop) };
            let extent = Extent::new(at, stop - at);
            match parts.last_mut() {
                Some(last) if last.kind == kind && is_metadata => last.extent.length += extent.length,
                _ => parts.push(ModelPart { extent, kind, name: name.into() }),
            }
            at = stop;
        }
    }

    /// Classifies bytes that are neither a tensor's nor metadata.
    fn unused(&self, at: u64, stop: u64) -> (Kind, &'static str) {
        let content = self.bytes.get(at as usize..stop as usize).unwrap_or_default();
        let is_zero = content.iter().all(|byte| *byte == 0);
        // Some specifications do not say what padding contains.
        let is_aligned =
            stop < self.bytes.len() as u64 && stop - at < self.alignment && stop.is_multiple_of(self.alignment);
        match (is_zero, stop - at < ZEROS) {
            (true, true) => (Kind::Padding, "(padding)"),
            _ if is_aligned => (Kind::Padding, "(padding, not 0)"),
            (true, false) => (Kind::Other, "(other, all 0)"),
            (false, _) => (Kind::Other, "(other)"),
        }
    }
}

/// Draws the file as a bar. Each cell shows the part that has most of the cell's bytes.
fn draw(out: &mut impl Write, look: Look, length: u64, parts: &[ModelPart]) -> io::Result<()> {
    let cells = look.width.unwrap_or(76).clamp(12, 104) as u64 - 4;
    let mut bar = String::new();
    let mut first = 0;
    for cell in 0..cells.min(length) {
        let bound = |cell: u64| (u128::from(length) * u128::from(cell) / u128::from(cells.min(length))) as u64;
        let (start, end) = (bound(cell), bound(cell + 1));
        while parts.get(first).is_some_and(|part| part.extent.end().unwrap_or(u64::MAX) <= start) {
            first += 1;
        }
        let within = |part: &ModelPart| {
            let part_end = part.extent.end().unwrap_or(u64::MAX);
            part_end.min(end).saturating_sub(part.extent.offset.max(start))
        };
        let here = parts.iter().enumerate().skip(first).take_while(|(_, part)| part.extent.offset < end);
        if let Some((i, part)) = here.max_by_key(|(_, part)| within(part)) {
            bar += &symbol(look, part.kind, i % 2 == 1);
        }
    }
    writeln!(out, "  {bar}")
}

/// The character for a part. It alternates, so that adjacent tensors can be distinguished.
fn symbol(look: Look, kind: Kind, is_odd: bool) -> String {
    match kind {
        Kind::Metadata => look.painted("35", "#"),
        Kind::Data if is_odd => look.painted("36", "▓"),
        Kind::Data => look.painted("34", "█"),
        Kind::Padding => "·".into(),
        Kind::Other => look.painted("33", "░"),
        Kind::Shared => look.painted("31", "▚"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_between_is_metadata_or_unused() {
        let mut parts = Vec::new();
        let metadata = vec![Extent::new(0, 8), Extent::new(8, 12), Extent::new(50, 10)];
        let mut bytes = [0_u8; 100];
        Gaps { bytes: &bytes, metadata: metadata.clone(), alignment: 1 }.add(&mut parts, 0, 100);
        let found: Vec<_> =
            parts.iter().map(|part| (part.extent.offset, part.extent.length, part.name.as_str())).collect();
        let expected = [(0, 20, "(metadata)"), (20, 30, "(padding)"), (50, 10, "(metadata)"), (60, 40, "(padding)")];
        assert_eq!(found, expected);
        // Nonzero bytes are padding if they end at the next multiple of the alignment.
        bytes[25] = 7;
        bytes[70] = 7;
        let kinds = |alignment| {
            let mut parts = Vec::new();
            Gaps { bytes: &bytes, metadata: metadata.clone(), alignment }.add(&mut parts, 0, 100);
            parts.iter().map(|part| part.kind).collect::<Vec<_>>()
        };
        assert!(kinds(50) == [Kind::Metadata, Kind::Padding, Kind::Metadata, Kind::Other]);
        assert!(kinds(25) == [Kind::Metadata, Kind::Other, Kind::Metadata, Kind::Other]);
        assert!(kinds(100) == [Kind::Metadata, Kind::Other, Kind::Metadata, Kind::Other]);
        assert_eq!([0, 8, 12, 4096, 1 << 20].map(alignment), [4096, 8, 4, 4096, 4096]);
    }
}
