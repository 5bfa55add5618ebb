//! What stands where an error happened, read again for its sentence. Nothing here is trusted or checked:
//! whatever cannot be read is left out.
//!
//! Depends on `super`. Linked only into programs that ask for the text of an error.
#![forbid(unsafe_code)]

use super::{Generation, Manifest, Tensor, layout, v0, v1};
use crate::bytes::extent::Extent;
use crate::bytes::source::{Input, Opening};
use crate::codec::cbor::{Field, Reader};
use crate::error::{Error, ErrorKind, Item};
use crate::format::Context;
use crate::vocab::Layout;

/// Reads what the sentence of `error` may say.
pub(crate) fn context<'a>(input: Input<'a>, error: &Error) -> Context<'a> {
    let mut context = Context::default();
    let Some(at) = error.offset() else { return context };
    if error.item() == Item::Footer {
        let size = input.get(Extent::new(at, 8)).and_then(|bytes| bytes.first_chunk::<8>());
        context.number = size.map(|size| u64::from_le_bytes(*size));
        context.hint = Some("has the file been cut off, or something been appended?");
    }
    let Ok(manifest) = Manifest::locate(&Opening::of(input)) else { return context };
    let position = |at: u64| at.checked_sub(manifest.region.start).and_then(|at| u32::try_from(at).ok());
    let Some(at) = position(at) else { return context };
    match manifest.reader(at).text() {
        Ok(text) => context.text = Some(text),
        Err(_) => context.number = manifest.reader(at).unsigned().ok(),
    }
    let mut fields = match manifest.generation {
        Generation::V0_1 => {
            context.version = Some("0.1");
            v0::ENTRY
        }
        generation => {
            root(manifest, &mut context, error);
            v1::root_fields(generation)
        }
    };
    // In a list of entries the record is all there is, and an error may be at its very start.
    let is_list = manifest.generation == Generation::V0_1;
    if let Some(entry) = error.entry().and_then(position).or(is_list.then_some(at)) {
        if !is_list {
            fields = v1::tensor_fields(manifest.generation);
        }
        tensor(manifest, &mut context, entry, at, fields);
        if context.role.is_some() {
            fields = v1::component_fields(manifest.generation);
        }
    }
    let mut known = layout::LONG_DTYPES.iter().chain(layout::SHORT_DTYPES);
    let size = known.find(|(name, _)| Some(*name) == context.dtype).map(|(_, dtype)| dtype.size());
    let elements = context.shape.and_then(|shape| shape.elements());
    context.expected_length = elements.zip(size).and_then(|(elements, size)| elements.checked_mul(size));
    if error.kind() == ErrorKind::MissingKey {
        context.missing = fields.iter().find(|field| field.item == error.item()).map(|field| field.key);
    }
    context
}

/// Reads the entry of a tensor, and that of its component which has position `at`.
fn tensor<'a>(manifest: Manifest<'a>, context: &mut Context<'a>, entry: u32, at: u32, fields: &'static [Field]) {
    let mut reader = manifest.reader(entry);
    let mut layout = Layout::Dense;
    if manifest.generation != Generation::V0_1 {
        context.tensor = reader.text().ok();
    }
    each_field(&mut reader, fields, |reader, item| match item {
        Item::Name => context.tensor = reader.text().ok(),
        Item::Offset => context.offset = reader.unsigned().ok(),
        Item::Length => context.length = reader.unsigned().ok(),
        Item::DType => context.dtype = reader.text().ok(),
        Item::Encoding => context.encoding = reader.text().ok(),
        Item::Layout => layout = v1::layout(manifest.generation, reader.text().unwrap_or_default()),
        Item::Shape => {
            let mut tensor = Tensor::new(manifest, 0, 0);
            context.shape = layout::shape(reader, &mut tensor).ok().map(|_| tensor.shape());
        }
        Item::Components => {
            let all = Tensor { components: reader.position(), ..Tensor::new(manifest, 0, 0) };
            let is_there = |role: &str| all.components().any(|part| part.role == role);
            context.missing = layout::required(layout).iter().copied().find(|role| !is_there(role));
            components(manifest.generation, reader, at, context);
        }
        _ => {}
    });
}

/// Calls `f` for each field of the record at which `reader` stands, as far as it can be read.
fn each_field<'a>(reader: &mut Reader<'a>, fields: &'static [Field], mut f: impl FnMut(&mut Reader<'a>, Item)) {
    let Ok(mut record) = reader.record(fields) else { return };
    while let Ok(Some(item)) = reader.field(&mut record) {
        f(&mut reader.clone(), item);
        if reader.skip().is_err() {
            return;
        }
    }
}

/// Reads the version, and whether the tensors stand under the key of another version.
fn root<'a>(manifest: Manifest<'a>, context: &mut Context<'a>, error: &Error) {
    each_field(&mut manifest.reader(0), v1::root_fields(manifest.generation), |reader, item| {
        if item == Item::Version {
            context.version = reader.text().ok();
        }
    });
    if error.kind() != ErrorKind::MissingKey || error.item() != Item::Tensors {
        return;
    }
    let (other, hint) = match manifest.generation {
        Generation::V1_0 => {
            (Generation::V1_2, "they stand under \"objects\": has a 1.1 or 1.2 file lost its last 8 bytes?")
        }
        _ => (Generation::V1_0, "they stand under \"tensors\", as in 1.0, which has no magic at the end"),
    };
    each_field(&mut manifest.reader(0), v1::root_fields(other), |_, item| {
        if item == Item::Tensors {
            context.hint = Some(hint);
        }
    });
}

/// Reads the component, of those at which `reader` stands, that has position `at`.
fn components<'a>(generation: Generation, reader: &mut Reader<'a>, at: u32, context: &mut Context<'a>) {
    let Ok(mut left) = reader.map() else { return };
    while let Ok(true) = reader.more_pairs(&mut left) {
        let from = reader.position();
        let Ok(role) = reader.text() else { return };
        let mut record = reader.clone();
        let is_whole = reader.skip().is_ok();
        if from <= at && (at < reader.position() || !is_whole) {
            context.role = Some(role);
            each_field(&mut record, v1::component_fields(generation), |reader, item| match item {
                Item::Offset => context.offset = reader.unsigned().ok(),
                Item::Length => context.length = reader.unsigned().ok(),
                Item::DecodedLength => context.decoded_length = reader.unsigned().ok(),
                Item::Encoding => context.encoding = reader.text().ok(),
                Item::DType => context.dtype = reader.text().ok(),
                _ => {}
            });
        }
        if !is_whole {
            return;
        }
    }
}
