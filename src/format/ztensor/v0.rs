//! zTensor 0.1: the manifest is a list of entries, one map for each tensor ("Tensor Metadata"). Real writers emit every
//! entry as a map of indefinite length.
#![forbid(unsafe_code)]

use super::ZtensorFile;
use crate::bytes::keywords::keywords;
use crate::codec::cbor::{Fields, Reader, fields};
use crate::error::origin::Part;
use crate::format::Summary;

/// The keys of an entry. The specification lists `layout` as required, but also gives "dense" as its default: a missing
/// key means dense. Unknown keys are attributes of the tensor.
pub(super) const ENTRY: &Fields = &fields!({
    "name": Name,
    "offset": Offset,
    "size": Length,
    "dtype": DType,
    "shape": Shape,
    "encoding": Encoding,
} optional {
    "layout": Layout,
    "data_endianness": ByteOrder,
    "checksum": Digest,
});

/// Reads the root of the manifest.
pub(super) fn root<'a>(file: &mut ZtensorFile<'a>, reader: &mut Reader<'a>, summary: &mut Summary) {
    reader.item = Part::Manifest;
    let left = reader.array();
    file.check_entries(reader, summary, left);
}

/// Returns the name of the entry at the reader's position, and the position of the name. Skips the rest of the entry.
pub(super) fn name<'a>(reader: &mut Reader<'a>) -> (&'a [u8], u32) {
    let mut name: (&[u8], u32) = (&[], 0);
    let mut record = reader.record(ENTRY);
    while let Some(item) = reader.field(&mut record) {
        match item {
            Part::Name => {
                let at = reader.position();
                name = (reader.text().bytes(), at);
            }
            _ => reader.skip(),
        }
    }
    name
}
