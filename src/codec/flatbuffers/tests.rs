#![forbid(unsafe_code)]

use std::prelude::v1::*;

use super::{Buffer, Field, Table};
use crate::error::ErrorKind;
use crate::error::origin::{Format, Part};

/// A file of one table with four fields: a number of each width in slots 0 to 2, and a text in slot 4. The vtable is at
/// 8, the table at 24.
fn file() -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(24_u32.to_le_bytes());
    file.extend(b"TEST");
    // Slot 3 has its default. Slot 5 is beyond the vtable.
    for number in [14_u16, 24, 4, 8, 16, 0, 12, 0] {
        file.extend(number.to_le_bytes());
    }
    file.extend(16_i32.to_le_bytes());
    file.extend((-5_i8).to_le_bytes());
    file.extend([0; 3]);
    file.extend(7_u32.to_le_bytes());
    file.extend(12_u32.to_le_bytes()); // from 36 to 48
    file.extend((1_u64 << 40).to_le_bytes());
    file.extend(2_u32.to_le_bytes());
    file.extend(b"ab\0");
    file
}

const fn field(slot: u16) -> Field {
    Field::new(slot, Part::Value)
}

const TEXT: Field = Field::new(4, Part::Name);

fn buffer(bytes: &[u8]) -> Buffer<'_> {
    Buffer::new(bytes, Format::Unknown)
}

fn root(bytes: &[u8]) -> Result<Table<'_>, (ErrorKind, u64)> {
    buffer(bytes).table(0, Part::Header).map_err(|error| (error.kind(), error.offset().unwrap()))
}

#[test]
fn fields_are_read() {
    let bytes = file();
    let table = root(&bytes).unwrap();
    assert_eq!((table.i8(field(0)).unwrap(), table.u32(field(1)).unwrap()), (-5, 7));
    assert_eq!(table.u64(field(2)).unwrap(), 1 << 40);
    let text = table.text(TEXT).unwrap().unwrap();
    assert_eq!((text.bytes, text.at, text.count), (&b"ab"[..], 52, 2));
    for slot in [3, 5, 6, u16::MAX] {
        assert_eq!((table.u64(field(slot)).unwrap(), table.u32(field(slot)).unwrap()), (0, 0), "{slot}");
        assert!(table.table(field(slot)).unwrap().is_none() && table.text(field(slot)).unwrap().is_none());
    }
}

/// A change of the file: a position, a number, and the number of its bytes.
type Change = (usize, u64, usize);

fn changed((at, number, length): Change) -> Vec<u8> {
    let mut bytes = file();
    bytes[at..at + length].copy_from_slice(&number.to_le_bytes()[..length]);
    bytes
}

#[test]
fn tables_are_whole() {
    use ErrorKind::{Malformed, MisalignedOffset, OutOfPlace};
    let cases: [(Change, (ErrorKind, u64)); 14] = [
        ((0, 0, 4), (OutOfPlace, 0)),
        ((0, 52, 4), (OutOfPlace, 0)), // three bytes follow
        ((0, u64::from(u32::MAX), 4), (OutOfPlace, 0)),
        ((0, 26, 4), (MisalignedOffset, 26)),
        ((0, 4, 4), (Malformed, 4)),                     // in the head
        ((24, u64::from(u32::MAX), 4), (Malformed, 24)), // the vtable at an odd position
        ((24, 25, 4), (Malformed, 24)),                  // before the file
        ((24, 0x8000_0000, 4), (Malformed, 24)),         // behind it
        ((8, 2, 2), (Malformed, 24)),                    // without the length of the table
        ((8, 13, 2), (Malformed, 24)),
        ((8, 48, 2), (Malformed, 24)), // longer than the file
        ((10, 3, 2), (Malformed, 24)),
        ((10, 32, 2), (Malformed, 24)),
        ((10, 65535, 2), (Malformed, 24)),
    ];
    for (change, expected) in cases {
        assert_eq!(root(&changed(change)).map(|table| table.at), Err(expected), "{change:?}");
    }
    for (change, length) in [((8, 46, 2), 24), ((10, 31, 2), 31)] {
        assert_eq!(root(&changed(change)).unwrap().length, length, "{change:?}"); // up to the end of the file
    }
}

#[test]
fn fields_are_in_their_table() {
    for (place, kind) in [
        (3, ErrorKind::OutOfPlace),
        (24, ErrorKind::OutOfPlace),
        (21, ErrorKind::OutOfPlace),
        (65535, ErrorKind::OutOfPlace),
        (10, ErrorKind::MisalignedOffset),
        (17, ErrorKind::MisalignedOffset),
    ] {
        let bytes = changed((14, place, 2)); // slot 1
        let error = root(&bytes).unwrap().u32(field(1)).unwrap_err();
        let at = if kind == ErrorKind::OutOfPlace { 14 } else { 24 + place };
        assert_eq!((error.kind(), error.part(), error.offset()), (kind, Part::Value, Some(at)), "{place}");
        assert_eq!(root(&bytes).unwrap().i8(field(0)).unwrap(), -5);
    }
    let bytes = changed((16, 12, 2)); // slot 2, whose number would be aligned to 4 bytes only
    assert_eq!(root(&bytes).unwrap().u64(field(2)).unwrap_err().kind(), ErrorKind::MisalignedOffset);
}

#[test]
fn texts_and_vectors_are_in_the_buffer() {
    for (change, kind, at) in [
        ((36, 0, 4), ErrorKind::OutOfPlace, 36),
        ((36, 16, 4), ErrorKind::OutOfPlace, 36),
        ((36, 11, 4), ErrorKind::MisalignedOffset, 47),
        ((48, 3, 4), ErrorKind::Malformed, 55), // the end of the file is not NUL
        ((48, 1, 4), ErrorKind::Malformed, 53),
        ((48, 4, 4), ErrorKind::CountTooLarge, 48),
        ((48, u64::from(u32::MAX), 4), ErrorKind::CountTooLarge, 48),
    ] {
        let bytes = changed(change);
        let error = root(&bytes).unwrap().text(TEXT).unwrap_err();
        assert_eq!((error.kind(), error.part(), error.offset()), (kind, Part::Name, Some(at)), "{change:?}");
    }
    // The elements fit, or their product would exceed 32 bits.
    for (count, size, fits) in [(3, 1, true), (1, 3, true), (1, 4, false), (1 << 31, 2, false), (0, u32::MAX, true)] {
        let bytes = changed((48, count, 4));
        assert_eq!(root(&bytes).unwrap().vector(TEXT, size).is_ok(), fits, "{count} {size}");
    }
}

#[test]
fn offsets_of_a_vector() {
    let bytes = changed((48, 0, 4));
    let mut offsets = root(&bytes).unwrap().offsets(TEXT).unwrap().unwrap();
    assert_eq!(offsets.get(0), None);
    offsets.count = 2;
    assert_eq!((offsets.get(0), offsets.get(1), offsets.get(2)), (Some(52), Some(56), None));
    offsets.count = u32::MAX;
    assert_eq!(offsets.get(1 << 30), None);
}
