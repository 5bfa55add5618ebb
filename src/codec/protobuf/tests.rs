#![forbid(unsafe_code)]

use std::prelude::v1::*;
use std::vec;

use super::numbers::Numbers;
use super::{Field, Reader, Schema, Varint, varint};
use crate::bytes::extent::Extent;
use crate::bytes::num::to_u64;
use crate::bytes::source::ParseContext;
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind};
use crate::types::{DType, Encoding};

/// All fields of a message, or the error.
fn fields(bytes: &[u8], schema: Schema) -> Result<Vec<Field>, Error> {
    let opening = ParseContext::of(bytes.into());
    let mut reader = Reader::new(&opening, Format::Onnx, Extent::new(0, to_u64(bytes.len())));
    let mut all = Vec::new();
    loop {
        match reader.next(schema) {
            Ok(Some(field)) => all.push(field),
            Ok(None) => return Ok(all),
            Err(stop) => return Err(opening.error(stop)),
        }
    }
}

fn error(bytes: &[u8]) -> (ErrorKind, Part, Option<u64>) {
    let error = fields(bytes, Schema(&[Schema::ANY, Schema::NUMBER, Schema::BYTES])).unwrap_err();
    (error.kind(), error.part(), error.offset())
}

#[test]
fn fields_are_read_one_by_one() {
    let bytes =
        [&[0x08, 0x96, 0x01, 0x12, 3][..], b"abc", &[0x1d, 1, 2, 3, 4, 0x21, 1, 2, 3, 4, 5, 6, 7, 8]].concat();
    let all = fields(&bytes, Schema::UNKNOWN).unwrap();
    let found: Vec<_> =
        all.iter().map(|field| (field.number, field.wire, field.at, field.place, field.value)).collect();
    assert_eq!(found, [(1, 0, 0, 1, 150), (2, 2, 3, 5, 3), (3, 5, 8, 9, 4), (4, 1, 13, 14, 8)]);
    assert!(fields(&[], Schema::UNKNOWN).unwrap().is_empty());
    // The largest number of a field, and a tag with padding.
    let last = fields(&[0xf8, 0xff, 0xff, 0xff, 0x0f, 7], Schema::UNKNOWN).unwrap();
    assert_eq!((last[0].number, last[0].value), ((1 << 29) - 1, 7));
    assert_eq!(fields(&[0x88, 0x80, 0, 7], Schema::UNKNOWN).unwrap()[0].number, 1);
}

#[test]
fn rules_are_kept() {
    assert_eq!(error(&[0, 1]), (ErrorKind::Malformed, Part::Key, Some(0))); // number 0
    assert_eq!(error(&[0x80, 0x80, 0x80, 0x80, 0x10]), (ErrorKind::Malformed, Part::Key, Some(0))); // 2^32
    assert_eq!(error(&[0x08, 1, 0x0b]), (ErrorKind::WrongMarker, Part::Key, Some(2))); // a group
    for wire in [3, 4, 6, 7] {
        assert_eq!(error(&[0x18 | wire]), (ErrorKind::WrongMarker, Part::Key, Some(0)), "{wire}");
    }
    assert_eq!(error(&[0x0a, 0]), (ErrorKind::UnexpectedType, Part::Value, Some(0))); // a number is expected
    assert_eq!(error(&[0x10, 0]), (ErrorKind::UnexpectedType, Part::Value, Some(0))); // bytes are expected
    assert_eq!(error(&[0x12, 2, 0]), (ErrorKind::OutOfPlace, Part::Length, Some(1)));
    assert_eq!(error(&[0x08, 0x80]), (ErrorKind::OutOfPlace, Part::Value, Some(1)));
    assert_eq!(error(&[0x1d, 1, 2, 3]), (ErrorKind::OutOfPlace, Part::Length, Some(1)));
    let huge = [&[0x12][..], &[0xff; 9], &[1]].concat(); // 2^64 - 1 bytes
    assert_eq!(error(&huge), (ErrorKind::OutOfPlace, Part::Length, Some(1)));
    let eleven = [&[0x08][..], &[0x80; 10], &[0]].concat();
    assert_eq!(error(&eleven), (ErrorKind::Malformed, Part::Value, Some(1)));
}

#[test]
fn varints_have_at_most_64_bits() {
    let read = |bytes: &[u8]| match varint(bytes) {
        Varint::Number(number, rest) => Some((number, rest.len())),
        Varint::Cut => None,
        Varint::TooLong => Some((0, usize::MAX)),
    };
    assert_eq!(read(&[0]), Some((0, 0)));
    assert_eq!(read(&[0x80, 0x80, 0, 9]), Some((0, 1)));
    assert_eq!(read(&[&[0xff; 9][..], &[1]].concat()), Some((u64::MAX, 0)));
    assert_eq!(read(&[&[0xff; 9][..], &[2]].concat()), Some((0, usize::MAX)));
    assert_eq!(read(&[&[0x80; 9][..], &[0x80, 0]].concat()), Some((0, usize::MAX)));
    assert_eq!((read(&[]), read(&[0x80; 9])), (None, None));
}

/// Decodes the numbers in a run.
fn decoded(run: &[u8], count: u32, dtype: DType) -> Result<Vec<u8>, ErrorKind> {
    let mut dst = vec![0; usize::try_from(dtype.byte_length(count.into()).unwrap()).unwrap()];
    Numbers { count, field: 0 }.decode(Encoding::Varint, run, dtype, &mut dst)?;
    Ok(dst)
}

/// A varint of the bits of a number.
fn of(number: i64) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), number.cast_unsigned());
    while rest > 0x7f {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}

#[test]
fn numbers_fit_their_types() {
    for (dtype, least, most) in [
        (DType::BOOL, 0, 1),
        (DType::U8, 0, 0xff),
        (DType::I8, -0x80, 0x7f),
        (DType::U16, 0, 0xffff),
        (DType::I16, -0x8000, 0x7fff),
        (DType::F16, 0, 0xffff),
        (DType::F8_E5M2, 0, 0xff),
        (DType::F6_E2M3, 0, 0x3f),
        (DType::I32, -0x8000_0000, 0xffff_ffff),
        (DType::U32, 0, 0xffff_ffff),
    ] {
        let size = usize::try_from(dtype.byte_length(1).unwrap()).unwrap();
        for number in [least, most] {
            assert_eq!(decoded(&of(number), 1, dtype).as_deref(), Ok(&number.to_le_bytes()[..size]), "{dtype}");
        }
        for number in [least - 1, most + 1] {
            assert_eq!(decoded(&of(number), 1, dtype), Err(ErrorKind::InvalidElement), "{dtype} {number}");
        }
    }
    for dtype in [DType::I64, DType::U64] {
        assert_eq!(decoded(&of(-2), 1, dtype).as_deref(), Ok(&(-2_i64).to_le_bytes()[..]), "{dtype}");
    }
    assert_eq!(decoded(&of(0xffff_ffff), 1, DType::I8), Ok(vec![0xff])); // -1 as five bytes
}

#[test]
fn counts_are_exact() {
    assert_eq!(decoded(&[1, 2, 3], 3, DType::U8), Ok(vec![1, 2, 3]));
    assert_eq!(decoded(&[1, 2], 3, DType::U8), Err(ErrorKind::DecodedLength));
    assert_eq!(decoded(&[1, 2, 3, 4], 3, DType::U8), Err(ErrorKind::DecodedLength));
    assert_eq!(decoded(&[1, 2, 0x83], 3, DType::U8), Err(ErrorKind::CorruptStream));
    // Four numbers of six bits are three bytes, and so are three numbers.
    assert_eq!(decoded(&[1, 2, 3, 4], 4, DType::F6_E3M2), Ok(vec![0x81, 0x30, 0x10]));
    assert_eq!(decoded(&[1, 2, 3], 3, DType::F6_E3M2), Ok(vec![0x81, 0x30, 0]));
    assert_eq!(decoded(&[1, 2, 3], 4, DType::F6_E3M2), Err(ErrorKind::DecodedLength));
}

#[test]
fn numbers_of_a_message_are_collected() {
    // 7, a packed run of 1 and 2, another field, 8.
    let message = [0x28, 7, 0x2a, 2, 1, 2, 0x30, 9, 0x28, 8];
    let mut dst = [0; 4];
    let numbers = Numbers { count: 4, field: 5 };
    assert_eq!(numbers.decode(Encoding::Varint, &message, DType::U8, &mut dst), Ok(()));
    assert_eq!(dst, [7, 1, 2, 8]);
    let floats = [0x25, 1, 2, 3, 4, 0x22, 8, 5, 6, 7, 8, 9, 10, 11, 12];
    let mut dst = [0; 12];
    let numbers = Numbers { count: 3, field: 4 };
    assert_eq!(numbers.decode(Encoding::Fixed, &floats, DType::F32, &mut dst), Ok(()));
    assert_eq!(dst, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    let cut = numbers.decode(Encoding::Fixed, &floats[..5], DType::F32, &mut dst);
    assert_eq!(cut, Err(ErrorKind::DecodedLength));
}
