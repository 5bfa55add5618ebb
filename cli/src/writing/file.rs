//! Writes one file: declares its tensors, and passes their bytes to the writer piece by piece.

use std::cmp::Ordering;
use std::io::Write;
use std::path::Path;

use indicatif::ProgressBar;
use tenslice::write::{NewFile, NewTensor, Sink, SinkError, Writer, reference_order};

use super::Target;
use super::attributes::Named;
use super::tensor::{Arenas, Item};
use crate::common::budget::Budget;
use crate::common::failure::Failure;
use crate::common::model::Model;
use crate::output::Output;

/// Small pieces of metadata are collected up to this length. Longer pieces are written at once.
const COLLECTED: usize = 1 << 16;

/// The properties of a file to write.
#[derive(Clone, Copy, Debug)]
pub struct Properties {
    pub target: Target,
    pub alignment: Option<u64>,
    /// The tensors stay in the given order, also in formats whose reference implementation sorts them.
    pub keeps_order: bool,
    /// The level at which components are compressed with Zstandard.
    pub zstd: Option<i32>,
    pub by_force: bool,
}

impl Properties {
    /// The properties of a file like those of the models: a GGUF file keeps its alignment.
    pub fn like(models: &[Model<'_>], target: Target, by_force: bool) -> Self {
        let files = models.iter().flat_map(|model| &model.files);
        let alignment = files.filter_map(|opened| opened.file.as_gguf()).map(|gguf| gguf.alignment().into()).max();
        Self { target, alignment, keeps_order: false, zstd: None, by_force }
    }
}

/// Writes a file of these tensors, in the order of the reference implementation if the format has one, or else as given.
/// The output is complete but does not have its name yet: see
/// [`Output::finish`].
pub fn write(
    path: &Path,
    properties: Properties,
    items: Vec<&Item<'_>>,
    attributes: &[Named],
    budget: &Budget,
    bar: &ProgressBar,
) -> Result<Output, Failure> {
    let mut sink = FileSink { output: Output::create(path, properties.by_force)?, held: Vec::new(), error: None };
    pass(&mut sink, properties, items, attributes, budget, bar)?;
    sink.flush().map_err(|_| sink.failure().unwrap_or(Failure::Reported))?;
    Ok(sink.output)
}

/// The length of the file that [`write()`] writes.
pub fn length(
    properties: Properties,
    items: Vec<&Item<'_>>,
    attributes: &[Named],
    budget: &Budget,
) -> Result<u64, Failure> {
    let mut sink = LengthSink(0);
    pass(&mut sink, properties, items, attributes, budget, &ProgressBar::hidden())?;
    Ok(sink.0)
}

/// Passes a file to a sink.
fn pass(
    sink: &mut impl FailingSink,
    properties: Properties,
    mut items: Vec<&Item<'_>>,
    attributes: &[Named],
    budget: &Budget,
    bar: &ProgressBar,
) -> Result<(), Failure> {
    let target = properties.target;
    if !properties.keeps_order {
        sort(&mut items, target);
    }
    let arenas = Arenas::default();
    let tensors: Vec<NewTensor<'_>> =
        items.iter().map(|item| item.declared(item.attributes(target, &arenas))).collect();
    let mut file = NewFile::new(target.format(), &tensors).attributes(arenas.attributes(attributes));
    if let Some(alignment) = properties.alignment {
        file = file.alignment(alignment);
    }
    if properties.zstd.is_some() {
        file = file.frames(FRAME);
    }
    let refused = |error: tenslice::Error| Failure::new(error.kind().name(), file.explain(&error).to_string());
    let mut scratch = vec![0; Writer::scratch_length(&file).map_err(refused)?];
    let mut writer = Writer::new(file, &mut scratch).map_err(refused)?;
    let mut compressor = properties.zstd.map(Compressor::new).transpose()?;
    // An error of the sink says more than the writer's.
    let checked = |sink: &mut _, result: tenslice::Result<()>| {
        result.map_err(|error| FailingSink::failure(sink).unwrap_or_else(|| refused(error)))
    };
    let begun = writer.begin(sink);
    checked(sink, begun)?;
    for item in &items {
        item.read(budget, &mut |bytes| {
            bar.inc(bytes.len() as u64);
            let Some(compressor) = &mut compressor else {
                let result = writer.data(sink, bytes);
                return checked(sink, result);
            };
            let mut rest = bytes;
            while !rest.is_empty() {
                let wanted = writer.due().map_or(FRAME, |due| due.missing.min(FRAME));
                let Some((encoded, decoded)) = compressor.fill(&mut rest, wanted as usize)? else { break };
                let result = writer.frame(sink, encoded, decoded);
                checked(sink, result)?;
            }
            Ok(())
        })?;
    }
    let finished = writer.finish(sink);
    checked(sink, finished)
}

/// The decoded length of a Zstandard frame.
const FRAME: u64 = 1 << 20;

/// A frame, compressed and as it was.
type Frame<'f> = (&'f [u8], &'f [u8]);

/// Compresses components frame by frame.
struct Compressor {
    zstd: zstd::bulk::Compressor<'static>,
    /// The bytes of a frame so far, and whether they have been compressed.
    held: Vec<u8>,
    is_full: bool,
    encoded: Vec<u8>,
}

impl Compressor {
    fn new(level: i32) -> Result<Self, Failure> {
        let build = || {
            let mut zstd = zstd::bulk::Compressor::new(level)?;
            zstd.include_checksum(true)?;
            zstd.include_contentsize(true)?;
            let encoded = Vec::with_capacity(zstd::zstd_safe::compress_bound(FRAME as usize));
            Ok(Self { zstd, held: Vec::new(), is_full: false, encoded })
        };
        build().map_err(Failure::Output)
    }

    /// Moves bytes from the front of `rest` to a frame of `wanted` bytes. Returns the frame, compressed and as it was,
    /// once it is full.
    fn fill(&mut self, rest: &mut &[u8], wanted: usize) -> Result<Option<Frame<'_>>, Failure> {
        if self.is_full {
            self.held.clear();
            self.is_full = false;
        }
        let (taken, after) = rest.split_at(wanted.saturating_sub(self.held.len()).min(rest.len()));
        self.held.extend_from_slice(taken);
        *rest = after;
        if self.held.len() < wanted {
            return Ok(None);
        }
        self.encoded.clear();
        self.zstd.compress_to_buffer(&self.held, &mut self.encoded).map_err(Failure::Output)?;
        self.is_full = true;
        Ok(Some((&self.encoded, &self.held)))
    }
}

/// Sorts tensors as the reference implementation of the target does. The order of zTensor concerns only the manifest,
/// unless there are many tensors.
fn sort(items: &mut [&Item<'_>], target: Target) {
    if target == Target::Safetensors || target.has_tensor_attributes() && items.len() > 1024 {
        let order = |a: &Item<'_>, b: &Item<'_>| reference_order(target.format(), &a.declared(&[]), &b.declared(&[]));
        items.sort_by(|a, b| order(a, b).unwrap_or(Ordering::Equal));
    }
}

/// Writes to a file, and remembers why that failed.
struct FileSink {
    output: Output,
    held: Vec<u8>,
    error: Option<std::io::Error>,
}

impl FileSink {
    fn flush(&mut self) -> Result<(), SinkError> {
        let result = self.output.write_all(&self.held);
        self.held.clear();
        self.note(result)
    }

    fn note(&mut self, result: std::io::Result<()>) -> Result<(), SinkError> {
        result.map_err(|error| {
            self.error = Some(error);
            SinkError
        })
    }
}

/// A sink that remembers why it failed.
trait FailingSink: Sink {
    /// The failure of the output, if there was one.
    fn failure(&mut self) -> Option<Failure>;
}

impl FailingSink for FileSink {
    fn failure(&mut self) -> Option<Failure> {
        self.error.take().map(|error| self.output.fail(&error))
    }
}

/// Counts bytes.
struct LengthSink(u64);

impl Sink for LengthSink {
    fn write(&mut self, _: u64, bytes: &[u8]) -> Result<(), SinkError> {
        self.0 += bytes.len() as u64;
        Ok(())
    }
}

impl FailingSink for LengthSink {
    fn failure(&mut self) -> Option<Failure> {
        None
    }
}

impl Sink for FileSink {
    fn write(&mut self, _: u64, bytes: &[u8]) -> Result<(), SinkError> {
        if self.held.len() + bytes.len() > COLLECTED {
            self.flush()?;
        }
        if bytes.len() > COLLECTED {
            let result = self.output.write_all(bytes);
            return self.note(result);
        }
        self.held.extend_from_slice(bytes);
        Ok(())
    }
}
