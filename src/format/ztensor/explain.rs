//! What is in the file where an error happened, read again for its message. Nothing here is trusted or checked:
//! whatever cannot be read is left out.
//!
//! Depends on `super`. Linked only into programs that ask for the message of an error.
#![forbid(unsafe_code)]

use super::{Generation, Manifest, entry, layout, v1};
use crate::bytes::extent::Extent;
use crate::bytes::source::{Input, ParseContext};
use crate::bytes::text::Text;
use crate::bytes::utf8::Utf8;
use crate::codec::cbor::{Fields, Reader};
use crate::error::{Error, ErrorKind};
use crate::format::{Context, TensorRecord};
use crate::place::Item;
use crate::vocab::Layout;

/// Reads what the message of `error` may contain.
pub(super) fn context<'a>(input: Input<'a>, error: &Error) -> Context<'a> {
    let mut context = Context {
        rule: match error.kind() {
            ErrorKind::Malformed => Some("this is not well-formed CBOR"),
            ErrorKind::UnexpectedType => Some("the value is of the wrong CBOR type"),
            _ => None,
        },
        ..Context::default()
    };
    let Some(at) = error.offset() else { return context };
    if error.item() == Item::Footer {
        let size = input.get(Extent::new(at, 8)).and_then(|bytes| bytes.first_chunk::<8>());
        context.number = size.map(|size| u64::from_le_bytes(*size));
        context.hint = Some("was the file cut off, or something appended?");
    }
    let Ok(manifest) = Manifest::locate(&ParseContext::of(input)) else { return context };
    let position = |at: u64| at.checked_sub(manifest.region.start).and_then(|at| u32::try_from(at).ok());
    let Some(at) = position(at) else { return context };
    context.text = sound(&mut manifest.reader(at), text).map(Text::from);
    if context.text.is_none() {
        context.number = sound(&mut manifest.reader(at), Reader::unsigned);
    }
    let mut fields = match manifest.generation {
        Generation::V0_1 => {
            context.version = Some("0.1");
            entry::tensor_fields(Generation::V0_1)
        }
        generation => {
            root(manifest, &mut context, error);
            v1::root_fields(generation)
        }
    };
    // An error of a tensor as a whole points to the start of its entry.
    let is_of_all = error.item() == Item::Tensor;
    if let Some(start) = error.entry().and_then(position).or(is_of_all.then_some(at)) {
        if !manifest.is_list() {
            fields = entry::tensor_fields(manifest.generation);
        }
        tensor(manifest, &mut context, start, at, fields);
        if context.role.is_some() {
            fields = entry::component_fields(manifest.generation);
        }
    }
    let dtype = context.dtype.map(Utf8::new);
    let dtype = dtype.and_then(|name| {
        layout::dtype_of(layout::LONG_DTYPES, name).or(layout::dtype_of(layout::SHORT_DTYPES, name))
    });
    let elements = context.shape.and_then(|shape| shape.element_count());
    context.expected_length = elements.zip(dtype).and_then(|(elements, dtype)| dtype.byte_length(elements));
    if error.kind() == ErrorKind::MissingKey {
        let mut keys = fields.keys;
        let key = keys.find_map(|(key, number)| (Item::from_code(number) == Some(error.item())).then_some(key));
        context.missing = key.and_then(|key| core::str::from_utf8(key).ok());
    }
    context
}

/// Reads the entry of a tensor, and that of its component that contains position `at`.
fn tensor<'a>(manifest: Manifest<'a>, context: &mut Context<'a>, start: u32, at: u32, fields: &'static Fields) {
    let mut reader = manifest.reader(start);
    let mut layout = Layout::Dense;
    if manifest.generation != Generation::V0_1 {
        context.tensor = sound(&mut reader, text).map(Text::from);
    }
    each_field(&mut reader, fields, |reader, item| match item {
        Item::Name => context.tensor = sound(reader, text).map(Text::from),
        Item::Offset => context.offset = sound(reader, Reader::unsigned),
        Item::Length => context.length = sound(reader, Reader::unsigned),
        Item::DType => context.dtype = sound(reader, text),
        Item::Encoding => context.encoding = sound(reader, text),
        Item::Layout => layout = layout::of_name(manifest.generation, reader.text()),
        Item::Shape => {
            let mut tensor = TensorRecord::blank();
            layout::shape(reader, &mut tensor, &mut layout::Volume::default());
            context.shape = reader.check().ok().map(|()| tensor.shape);
        }
        Item::Components => {
            let is_missing = |role: &&str| !has_role(&mut reader.clone(), role);
            context.missing =
                layout::required(layout).filter_map(|role| core::str::from_utf8(role).ok()).find(is_missing);
            components(manifest.generation, reader, at, context);
        }
        _ => {}
    });
}

/// Calls `f` for each field of the record at the reader's position, as far as it can be read.
fn each_field<'a>(reader: &mut Reader<'a>, fields: &'static Fields, mut f: impl FnMut(&mut Reader<'a>, Item)) {
    let mut record = reader.record(fields);
    while let Some(item) = reader.field(&mut record) {
        f(&mut reader.clone(), item);
        reader.skip();
    }
}

/// Whether one of the components at the reader's position has that role.
fn has_role(reader: &mut Reader<'_>, role: &str) -> bool {
    let mut left = reader.map();
    while reader.more_pairs(&mut left) {
        if text(reader) == role {
            return true;
        }
        reader.skip_record();
    }
    false
}

/// Reads a string.
fn text<'a>(reader: &mut Reader<'a>) -> &'a str {
    reader.text().as_str()
}

/// What `read` returns, if the reader has found no fault.
fn sound<'a, T>(reader: &mut Reader<'a>, read: impl Fn(&mut Reader<'a>) -> T) -> Option<T> {
    let value = read(reader);
    reader.check().ok().map(|()| value)
}

/// Reads the version, and whether the tensors are under the key of another version.
fn root<'a>(manifest: Manifest<'a>, context: &mut Context<'a>, error: &Error) {
    each_field(&mut manifest.reader(0), v1::root_fields(manifest.generation), |reader, item| {
        if item == Item::Version {
            context.version = sound(reader, text);
        }
    });
    if error.kind() != ErrorKind::MissingKey || error.item() != Item::Tensors {
        return;
    }
    let (other, hint) = match manifest.generation {
        Generation::V1_0 => {
            (Generation::V1_2, "they are under \"objects\": has a 1.1 or 1.2 file lost its last 8 bytes?")
        }
        _ => (Generation::V1_0, "they are under \"tensors\", as in 1.0, which has no magic at the end"),
    };
    each_field(&mut manifest.reader(0), v1::root_fields(other), |_, item| {
        if item == Item::Tensors {
            context.hint = Some(hint);
        }
    });
}

/// Reads the component that contains position `at`, of those at the reader's position.
fn components<'a>(generation: Generation, reader: &mut Reader<'a>, at: u32, context: &mut Context<'a>) {
    let mut left = reader.map();
    while reader.more_pairs(&mut left) {
        let from = reader.position();
        let Some(role) = sound(reader, text) else { return };
        let mut record = reader.clone();
        reader.skip_record();
        let is_whole = reader.check().is_ok();
        if from <= at && (at < reader.position() || !is_whole) {
            context.role = Some(role);
            each_field(&mut record, entry::component_fields(generation), |reader, item| match item {
                Item::Offset => context.offset = sound(reader, Reader::unsigned),
                Item::Length => context.length = sound(reader, Reader::unsigned),
                Item::DecodedLength => context.decoded_length = sound(reader, Reader::unsigned),
                Item::Encoding => context.encoding = sound(reader, text),
                Item::DType => context.dtype = sound(reader, text),
                _ => {}
            });
        }
        if !is_whole {
            return;
        }
    }
}
