//! zTensor 1.0, 1.1 and 1.2: the manifest is a map that contains the tensors by name (1.0 section 4).
//!
//! 1.1 renamed `tensors` to `objects`, renamed the dtypes, and moved the dtype to the component. 1.2 added `type` and
//! `uncompressed_length`. These two are read wherever they are present, since 1.2 programs append to 1.1 files without
//! changing the version.
#![forbid(unsafe_code)]

use super::ZtensorFile;
use super::manifest::Generation;
use crate::bytes::keywords::keywords;
use crate::codec::cbor::{Fields, Reader, fields};
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::error::warning::{Warning, Warnings};
use crate::format::Summary;

/// The root (section 4.1). Every real 1.0 file has `generator` and `attributes`; the specification does not require
/// them.
const ROOT_1_0: &Fields = &fields!({ "version": Version, "tensors": Tensors } optional { "attributes": Attributes });
const ROOT_1_2: &Fields = &fields!({ "version": Version, "objects": Tensors } optional { "attributes": Attributes });

/// The record of a tensor (section 4.2).
pub(super) const TENSOR_1_0: &Fields =
    &fields!({ "dtype": DType, "shape": Shape, "format": Layout, "components": Components } optional {});
pub(super) const TENSOR_1_2: &Fields =
    &fields!({ "shape": Shape, "format": Layout, "components": Components } optional { "attributes": Attributes });

/// The record of a component (section 4.3).
pub(super) const COMPONENT_1_0: &Fields =
    &fields!({ "offset": Offset, "length": Length } optional { "encoding": Encoding, "digest": Digest });
pub(super) const COMPONENT_1_2: &Fields = &fields!({
    "dtype": DType,
    "offset": Offset,
    "length": Length,
} optional {
    "type": LogicalType,
    "uncompressed_length": DecodedLength,
    "encoding": Encoding,
    "digest": Digest,
});

pub(super) fn root_fields(generation: Generation) -> &'static Fields {
    if generation == Generation::V1_0 { ROOT_1_0 } else { ROOT_1_2 }
}

/// The newest known minor version of each container. A newer one adds a warning.
fn newest_minor(generation: Generation) -> u32 {
    if generation == Generation::V1_0 { 0 } else { 2 }
}

/// Reads the root of the manifest.
pub(super) fn root<'a>(file: &mut ZtensorFile<'a>, reader: &mut Reader<'a>, summary: &mut Summary) {
    reader.item = Part::Manifest;
    let mut record = reader.record(root_fields(file.manifest.generation));
    while let Some(item) = reader.field(&mut record) {
        match item {
            Part::Version => version(file, reader, &mut summary.warnings),
            Part::Attributes => file.attributes = attributes(reader),
            _ => {
                let left = reader.map();
                file.check_entries(reader, summary, left);
            }
        }
    }
}

/// Reads the version (section 6.1). Rejects another major version. A newer minor version adds a warning.
fn version<'a>(file: &mut ZtensorFile<'a>, reader: &mut Reader<'a>, warnings: &mut Warnings) {
    let at = reader.position();
    file.version = at;
    let text = reader.text();
    let newest = newest_minor(file.manifest.generation);
    let mut rest = Some(text.bytes());
    let major = number(&mut rest);
    let has_minor = rest.is_some();
    match (major, has_minor, number(&mut rest)) {
        (Some(1), true, Some(minor)) if minor > newest => warnings.add(Warning::NewerMinor),
        (Some(1), true, Some(_)) => {}
        (Some(1), false, _) => warnings.add(Warning::NoMinor),
        (Some(_), false, _) | (Some(_), true, Some(_)) => reader.fail(ErrorKind::UnsupportedVersion, at),
        _ => reader.fail(ErrorKind::InvalidVersion, at),
    }
}

/// Parses a decimal number up to a dot or the end; returns `None` for anything else. Saturates. Sets `rest` to the
/// bytes after the dot.
#[inline(never)]
fn number(rest: &mut Option<&[u8]>) -> Option<u32> {
    let mut number = None;
    let mut digits = rest.take()?;
    while let Some((digit, after)) = digits.split_first() {
        digits = after;
        if *digit == b'.' {
            *rest = Some(after);
            break;
        }
        let digit = digit.wrapping_sub(b'0');
        if digit >= 10 {
            return None;
        }
        number = Some(number.unwrap_or(0_u32).saturating_mul(10).saturating_add(u32::from(digit)));
    }
    number
}

/// Skips the map of attributes and returns its position.
pub(super) fn attributes(reader: &mut Reader<'_>) -> u32 {
    let at = reader.position();
    let left = reader.map();
    reader.skip_inside(left);
    at
}
