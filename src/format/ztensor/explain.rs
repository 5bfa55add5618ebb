//! Reads the part of the file that an error message describes. The bytes are neither trusted nor checked: anything that
//! cannot be read is omitted.
//!
//! Linked only into programs that ask for the message of an error.
#![forbid(unsafe_code)]

#[cfg(not(target_os = "none"))]
use super::manifest::MAGIC_1;
use super::manifest::{Generation, Manifest};
use super::{entry, layout, v1};
use crate::bytes::extent::Extent;
use crate::bytes::source::{Input, ParseContext};
use crate::bytes::text::Text;
use crate::bytes::utf8::Utf8;
use crate::codec::cbor::{Fields, Reader};
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind};
use crate::format::{Context, TensorRecord};
use crate::types::Layout;

/// Reads everything that the message of `error` may contain.
pub(super) fn context<'a>(input: Input<'a>, error: &Error) -> Context<'a> {
    let mut context = Context {
        rule: match error.kind() {
            ErrorKind::Malformed => Some("this is not well-formed CBOR"),
            ErrorKind::UnexpectedType => Some("the value is of the wrong CBOR type"),
            _ => None,
        },
        ..Context::default()
    };
    let _ = fill(&mut context, input, error);
    #[cfg(not(target_os = "none"))]
    truncated(&mut context, input, error);
    context
}

/// Reads the file up to the first part that cannot be read.
#[inline(never)]
fn fill<'a>(context: &mut Context<'a>, input: Input<'a>, error: &Error) -> Option<()> {
    let at = error.offset()?;
    if error.part() == Part::Footer {
        let size = input.get(Extent::new(at, 8)).and_then(|bytes| bytes.first_chunk::<8>());
        context.number = size.map(|size| u64::from_le_bytes(*size));
        context.hint = Some(CUT);
    }
    let manifest = Manifest::locate(&ParseContext::of(input)).ok()?;
    let position = |at: u64| at.checked_sub(manifest.region.start).and_then(|at| u32::try_from(at).ok());
    let at = position(at)?;
    context.text = text(&mut manifest.reader(at)).map(Text::from);
    context.number = number(&mut manifest.reader(at));
    let mut fields = match manifest.generation {
        Generation::V0_1 => {
            context.version = Some(Utf8::new("0.1"));
            entry::tensor_fields(Generation::V0_1)
        }
        generation => {
            root(manifest, context, error);
            v1::root_fields(generation)
        }
    };
    // An error about a whole tensor points to the start of its entry.
    let is_of_all = error.part() == Part::Tensor;
    if let Some(start) = error.entry().and_then(position).or(is_of_all.then_some(at)) {
        fields = entry::tensor_fields(manifest.generation);
        tensor(manifest, context, start, at, fields);
        if context.role.is_some() {
            fields = entry::component_fields(manifest.generation);
        }
    }
    let dtype = context.dtype.and_then(|name| {
        layout::dtype_of(layout::LONG_DTYPES, name).or(layout::dtype_of(layout::SHORT_DTYPES, name))
    });
    let elements = context.shape.and_then(|shape| shape.element_count());
    context.expected_length = elements.zip(dtype).and_then(|(elements, dtype)| dtype.byte_length(elements));
    if error.kind() == ErrorKind::MissingKey {
        let mut keys = fields.keys;
        let key = keys.find_map(|(key, number)| (Part::from_code(number) == Some(error.part())).then_some(key));
        context.missing = key.map(Utf8::known);
    }
    Some(())
}

const CUT: &str = "was the file cut off, or something appended?";

/// Reports that a file may be truncated if its last bytes are not those of a complete file.
#[cfg(not(target_os = "none"))]
fn truncated(context: &mut Context<'_>, input: Input<'_>, error: &Error) {
    if error.kind() == ErrorKind::Truncated {
        let is_short = matches!(error.part(), Part::Header | Part::Footer);
        (context.number, context.needed) = (None, is_short.then_some(16));
        context.hint = context.hint.filter(|_| !is_short);
    }
    let last = input.length().checked_sub(8).and_then(|at| input.get(Extent::new(at, 8)));
    let Some(last) = last.and_then(<[u8]>::first_chunk::<8>).filter(|last| **last != MAGIC_1) else { return };
    if error.kind() == ErrorKind::ManifestSize {
        context.hint = None;
        context.phrase = Some([
            ("the last 8 bytes are not the length of a manifest (", Some(u64::from_le_bytes(*last))),
            (" in a file of ", Some(input.length())),
            (" bytes): the file is truncated, or something was appended to it", None),
        ]);
    } else if matches!(error.kind().code(), 200..300) && context.tensor.is_none() && context.needed.is_none() {
        // Arbitrary bytes may have been parsed as the manifest.
        context.hint = context.hint.or(Some(CUT));
    }
}

/// Reads the entry of a tensor, and the record of its component that contains position `at`.
fn tensor<'a>(manifest: Manifest<'a>, context: &mut Context<'a>, start: u32, at: u32, fields: &'static Fields) {
    let mut reader = manifest.reader(start);
    let mut layout = Layout::Dense;
    if manifest.generation != Generation::V0_1 {
        context.tensor = text(&mut reader).map(Text::from);
    }
    each_field(&mut reader, fields, &mut |reader, item| match item {
        Part::Name => context.tensor = text(reader).map(Text::from),
        Part::Layout => layout = layout::of_name(manifest.generation, reader.text()),
        Part::Shape => {
            let mut tensor = TensorRecord::blank();
            layout::shape(reader, &mut tensor, &mut layout::ElementCount::default());
            context.shape = reader.check().ok().map(|()| tensor.shape);
        }
        Part::Components => {
            let is_missing = |role: &Utf8<'_>| !has_role(&mut reader.clone(), *role);
            context.missing = layout::required(layout).map(Utf8::known).find(is_missing);
            components(manifest.generation, reader, at, context);
        }
        _ => part(reader, item, context),
    });
}

/// Reads a field of a component's record. A tensor's entry in a list has the same fields.
#[inline(never)]
fn part<'a>(reader: &mut Reader<'a>, item: Part, context: &mut Context<'a>) {
    match item {
        Part::Offset => context.offset = number(reader),
        Part::Length => context.length = number(reader),
        Part::DecodedLength => context.decoded_length = number(reader),
        Part::Encoding => context.encoding = text(reader),
        Part::DType => context.dtype = text(reader),
        _ => {}
    }
}

/// Calls `f` for each field of the record at the reader's position, as far as it can be read.
#[inline(never)] // a single copy of the code
fn each_field<'a>(reader: &mut Reader<'a>, fields: &'static Fields, f: &mut dyn FnMut(&mut Reader<'a>, Part)) {
    let mut record = reader.record(fields);
    while let Some(item) = reader.field(&mut record) {
        f(&mut reader.clone(), item);
        reader.skip_record();
    }
}

/// Returns true if one of the components at the reader's position has this role.
fn has_role(reader: &mut Reader<'_>, role: Utf8<'_>) -> bool {
    let mut left = reader.map();
    while reader.more_pairs(&mut left) {
        if reader.text() == role {
            return true;
        }
        reader.skip_record();
    }
    false
}

/// Reads a string; `None` if there is no valid one.
#[inline(never)]
fn text<'a>(reader: &mut Reader<'a>) -> Option<Utf8<'a>> {
    let text = reader.text();
    reader.check().ok().map(|()| text)
}

/// Reads a number; `None` if there is no valid one.
#[inline(never)]
fn number(reader: &mut Reader<'_>) -> Option<u64> {
    let number = reader.unsigned();
    reader.check().ok().map(|()| number)
}

/// Reads the version. If the tensors are missing, checks if they are under the key of another version.
fn root<'a>(manifest: Manifest<'a>, context: &mut Context<'a>, error: &Error) {
    each_field(&mut manifest.reader(0), v1::root_fields(manifest.generation), &mut |reader, item| {
        if item == Part::Version {
            context.version = text(reader);
        }
    });
    if error.kind() != ErrorKind::MissingKey || error.part() != Part::Tensors {
        return;
    }
    let (other, hint) = match manifest.generation {
        Generation::V1_0 => {
            (Generation::V1_2, "they are under \"objects\": has a 1.1 or 1.2 file lost its last 8 bytes?")
        }
        _ => (Generation::V1_0, "they are under \"tensors\", as in 1.0, which has no magic at the end"),
    };
    each_field(&mut manifest.reader(0), v1::root_fields(other), &mut |_, item| {
        if item == Part::Tensors {
            context.hint = Some(hint);
        }
    });
}

/// Reads the component that contains position `at` from the map at the reader's position.
fn components<'a>(generation: Generation, reader: &mut Reader<'a>, at: u32, context: &mut Context<'a>) {
    let mut left = reader.map();
    while reader.more_pairs(&mut left) {
        let from = reader.position();
        let Some(role) = text(reader) else { return };
        let mut record = reader.clone();
        reader.skip_record();
        let is_whole = reader.check().is_ok();
        if from <= at && (at < reader.position() || !is_whole) {
            context.role = Some(role);
            each_field(&mut record, entry::component_fields(generation), &mut |reader, item| {
                part(reader, item, context);
            });
        }
    }
}
