//! Prints format-specific data and attributes.

use std::io::{self, Write};

use tenslice::{Attributes, File, Layout, ReadOptions, Split, Value, b2nd, tens};
use unicode_width::UnicodeWidthStr;

use super::checkpoint::form;
use super::enumerations;
use super::lists;
use super::model::Opened;
use super::table::Look;
use super::text::{header_text, plural, printable, printable_bytes, shortened, size};

/// The maximum number of list items shown, unless all are requested.
pub const ITEMS: usize = 8;
/// The maximum number of bytes shown of a byte string.
const BYTES: usize = 256;

pub fn codec(id: u8) -> String {
    b2nd::codec_name(id).map_or_else(|| format!("codec {id}"), String::from)
}

/// The filters in use, in the order in which they are applied.
pub fn filters(ids: &[u8]) -> Vec<String> {
    let name = |id: &u8| b2nd::filter_name(*id).map_or_else(|| format!("filter {id}"), String::from);
    ids.iter().filter(|id| **id != 0).map(name).collect()
}

pub fn index_name(name: u8) -> String {
    name.escape_ascii().to_string()
}

/// The number of chunks of a Blosc2 array that were never written; `None` if counting would take long, if the chunk
/// table cannot be read, or if the chunks are placeholders.
pub fn uninitialised_chunks(file: &File<'_>) -> Option<u64> {
    const CHUNKS: u64 = 1 << 22;
    const BYTES: u64 = 1 << 26;
    let b2nd = file.as_b2nd()?;
    let has_values = file.tensors().all(|tensor| tensor.layout() == Layout::Chunked);
    let scratch = b2nd.table_scratch_length().ok().filter(|scratch| has_values && *scratch <= BYTES)?;
    if b2nd.chunk_count() > CHUNKS {
        return None;
    }
    b2nd.uninitialised_chunks(ReadOptions::new().scratch(&mut vec![0; usize::try_from(scratch).ok()?])).ok()
}

/// Prints the data that is specific to one format.
pub fn print_format(out: &mut impl Write, look: Look, opened: &Opened<'_>) -> io::Result<()> {
    let file = &opened.file;
    // Leaves room for the label.
    let cut = |text: &str| {
        look.width.map_or_else(|| text.into(), |width| shortened(text, width.saturating_sub(15).max(20)))
    };
    if let Some(form) = form(opened) {
        writeln!(out, "  form         {form}")?;
    }
    if let Some(tens) = file.as_tens() {
        let name =
            |d: tens::Dimension| format!("{}{}", index_name(d.name), if d.is_sparse { " (sparse)" } else { "" });
        let names: Vec<String> = tens.dimensions().map(name).collect();
        writeln!(out, "  indices      {}", cut(&names.join(", ")))?;
        for chunk in tens.chunks() {
            match chunk.symmetry() {
                Some(symmetry) => writeln!(
                    out,
                    "  symmetry     {} of {}{}",
                    symmetry.operation().escape_ascii(),
                    cut(&symmetry.map().escape_ascii().to_string()),
                    if symmetry.is_packed() { ", packed" } else { "" }
                )?,
                None if &chunk.magic == b"DENSDATA" => {}
                None => writeln!(
                    out,
                    "  chunk        \"{}\", {} bytes at {}",
                    chunk.magic.escape_ascii(),
                    chunk.extent.length,
                    chunk.extent.offset
                )?,
            }
        }
    }
    if let Some(gguf) = file.as_gguf() {
        writeln!(out, "  alignment    {}, {}", gguf.alignment(), gguf.byte_order())?;
        if let Some(split) = gguf.split() {
            let Split { index, count, tensors } = split;
            let total = tensors.map_or(String::new(), |tensors| format!(", with {tensors} tensors in all"));
            writeln!(out, "  part         {} of {count}{total}", index.saturating_add(1))?;
        }
    }
    if let Some(ztensor2) = file.as_ztensor2() {
        if ztensor2.is_shard() {
            writeln!(out, "  a shard: it holds bytes for other files, and no tensors of its own")?;
        }
        for shard in ztensor2.shards() {
            writeln!(out, "  shard        \"{}\", {}, {}", printable(shard.name), size(shard.size), shard.digest)?;
        }
    }
    if let Some(npy) = file.as_npy() {
        writeln!(
            out,
            "  descr        {}",
            cut(&printable(&header_text(npy.descr(), file.version() != Some("3.0"))))
        )?;
    }
    if let Some(onnx) = file.as_onnx() {
        let parts = [onnx.producer_name(), onnx.producer_version()];
        let producer: Vec<String> =
            parts.into_iter().flatten().filter(|part| !part.is_empty()).map(printable).collect();
        if !producer.is_empty() {
            writeln!(out, "  producer     {}", cut(&producer.join(" ")))?;
        }
        let name = |domain: &str| if domain.is_empty() { "ai.onnx".into() } else { printable(domain) };
        let opsets = onnx.opsets().map(|opset| format!("{} {}", name(opset.domain), opset.version));
        let opsets: Vec<String> = opsets.collect();
        if !opsets.is_empty() {
            writeln!(out, "  operators    {}", cut(&opsets.join(", ")))?;
        }
    }
    if let Some(tflite) = file.as_tflite() {
        let all = tflite.subgraphs().map(|graph| {
            format!("\"{}\" of {} tensor{}", printable(graph.name), graph.tensors, plural(graph.tensors.into()))
        });
        let all: Vec<String> = all.collect();
        writeln!(out, "  subgraphs    {}", cut(&all.join(", ")))?;
    }
    if let Some(ptd) = file.as_ptd() {
        writeln!(out, "  segments     {}", ptd.segments().count())?;
    }
    if let Some(npz) = file.as_npz() {
        writeln!(out, "  entries      {}", npz.entries().count())?;
    }
    if let Some(b2nd) = file.as_b2nd() {
        let defaults = b2nd.defaults();
        let shapes = b2nd.chunk_shape().zip(b2nd.block_shape());
        let shapes = shapes.map(|(chunk, block)| format!(" of {chunk}, blocks of {block}")).unwrap_or_default();
        writeln!(out, "  chunks       {}{shapes}", b2nd.chunk_count())?;
        let (dtype, element) = match b2nd.dtype_text() {
            Some(dtype) => (cut(&printable(dtype)), b2nd.item_size()),
            None => ("not stated".into(), if b2nd.is_array() { b2nd.item_size() } else { defaults.typesize }),
        };
        writeln!(out, "  dtype        {dtype}, bytes an element: {element}")?;
        let mut steps = filters(&defaults.filters);
        steps.push(codec(defaults.codec));
        writeln!(out, "  codec        {}, level {}", steps.join(" + "), defaults.level)?;
        if defaults.stored > 0 {
            let ratio = defaults.decoded as f64 / defaults.stored as f64;
            writeln!(out, "  ratio        {ratio:.2}: {} decoded, with padding", size(defaults.decoded))?;
        }
        let uninitialised = opened.uninitialised_chunks;
        if uninitialised > 0 {
            writeln!(out, "  uninitialised: {uninitialised} chunk{}", plural(uninitialised))?;
        }
        for (kind, all) in [("metalayer", b2nd.metalayers()), ("vlmetalayer", b2nd.variable_metalayers())] {
            for one in all {
                let decoded = if kind == "vlmetalayer" { b2nd.variable_metalayer(&one).ok() } else { None };
                let decoded =
                    decoded.map(|chunk| format!(", {} decoded", chunk.decoded_length())).unwrap_or_default();
                writeln!(out, "  {kind:<12} \"{}\", {} bytes{decoded}", printable(one.name), one.content.len())?;
            }
        }
    }
    if let Some(blz) = file.as_blz() {
        let ranks: Vec<String> = blz.bond_dimensions().map(|rank| rank.to_string()).collect();
        writeln!(out, "  ranks        {}", cut(&ranks.join(" ")))?;
        writeln!(out, "  numbers      {}, one for {:.4} elements", blz.parameters(), blz.compression_ratio())?;
    }
    Ok(())
}

/// Prints attributes under a title; nested ones are indented.
pub fn print_attributes(out: &mut impl Write, look: Look, title: &str, attributes: Attributes<'_>) -> io::Result<()> {
    if { attributes }.next().is_none() {
        return Ok(());
    }
    writeln!(out, "  {title}")?;
    print_values(out, look, attributes, 4, false)
}

fn print_values(
    out: &mut impl Write,
    look: Look,
    all: Attributes<'_>,
    indent: usize,
    is_list: bool,
) -> io::Result<()> {
    let shown = if is_list && !look.all { ITEMS } else { usize::MAX };
    let cut = |text: String| match look.width.filter(|_| !look.all) {
        Some(width) => shortened(&text, width),
        None => text,
    };
    for attribute in all.take(shown) {
        let name = attribute.key.map(|key| line(&key)).unwrap_or_default();
        let note = if is_escaped(&attribute.value) { " (control characters are escaped)" } else { "" };
        let key = if attribute.key.is_some() { format!("{name}{note}: ") } else { String::new() };
        let meaning = match attribute.value {
            Value::Integer(_) => attribute.value.as_u64().and_then(|number| enumerations::name(&name, number)),
            _ => None,
        };
        let meaning = meaning.map(|meaning| format!(" ({meaning})")).unwrap_or_default();
        match attribute.value {
            // Text of several lines, such as a template, is printed as it is.
            Value::Text(text) if !is_list && text.chars().any(|c| c == '\n') => {
                writeln!(out, "{}", cut(format!("{:indent$}{key}", "").trim_end().into()))?;
                let text = text.to_string();
                let most = if look.all || look.width.is_none() { usize::MAX } else { ITEMS };
                for line in text.split('\n').take(most) {
                    writeln!(out, "{}", cut(format!("{:indent$}  | {}", "", printable_line(line))))?;
                }
                let more = text.split('\n').skip(most).count();
                if more > 0 {
                    writeln!(out, "{:indent$}  ... and {more} more line{}", "", plural(more as u64))?;
                }
            }
            Value::Array(items) => {
                let start = format!("{:indent$}{key}{}", "", lists::title(items));
                if let Some(items) = lists::on_one_line(look, start.width(), items) {
                    writeln!(out, "{}", cut(format!("{start}: {items}")))?;
                    continue;
                }
                writeln!(out, "{}", cut(start))?;
            }
            value => writeln!(out, "{}", cut(format!("{:indent$}{key}{}{meaning}", "", line(&value))))?,
        }
        if let Some(items) = attribute.value.items() {
            // Recursion is bounded, because the library limits the nesting depth.
            print_values(out, look, items, indent + 2, !matches!(attribute.value, Value::Map(_)))?;
        }
    }
    match lists::length(all).saturating_sub(shown) {
        0 => Ok(()),
        more => writeln!(out, "{:indent$}... and {more} more", ""),
    }
}

/// Returns true for a text with control characters, other than the ends of lines and tabs.
fn is_escaped(value: &Value<'_>) -> bool {
    let Value::Text(text) = value else { return false };
    let text = text.to_string();
    text.split('\n').any(|line| printable_line(line) != line)
}

/// Escapes a line of text, except for tabs.
pub fn printable_line(line: &str) -> String {
    let fields: Vec<String> = line.split('\t').map(printable).collect();
    fields.join("\t")
}

/// Formats a value on one line; for a container, returns its kind.
pub fn line(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => printable_line(&text.to_string()),
        Value::Decimal(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Integer(number) => number.to_string(),
        // GGUF and others store most floats in 32 bits.
        Value::Float(number) if f64::from(*number as f32) == *number => format!("{:?}", *number as f32),
        Value::Float(number) => format!("{number:?}"),
        Value::Bytes(bytes) if bytes.len() > BYTES => {
            let shown = bytes.get(..BYTES).unwrap_or_default();
            format!("{}... ({} bytes)", printable_bytes(shown), bytes.len())
        }
        Value::Bytes(bytes) => printable_bytes(bytes),
        other => other.kind().text().into(),
    }
}
