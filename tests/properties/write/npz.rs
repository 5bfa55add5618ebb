//! NPZ: the records of the archive, and what the format cannot hold.

use super::written;
use tenslice::write::{NewAttribute, NewFile, NewLayout, NewTensor, Writer};
use tenslice::{DType, ErrorKind, File, Format, Part};

#[test]
#[cfg(not(feature = "crc32"))]
fn archives_need_checksums() {
    let error = Writer::new(NewFile::new(Format::Npz, &[]), &mut []).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotBuiltIn);
}

/// One small archive, byte for byte. Python's zipfile and numpy read it.
#[test]
#[cfg(feature = "crc32")]
fn records_of_an_archive() {
    let tensors = [NewTensor::dense("\u{e9}", DType::U8, &[3])];
    let bytes = written(NewFile::new(Format::Npz, &tensors), b"abc");
    let array = written(NewFile::new(Format::Npy, &tensors), b"abc");
    assert_eq!(array.len(), 131);
    let about = b"\x14\0\x08\x08\0\0\0\0\x21\0";
    let crc = 0xd116_22f5_u32.to_le_bytes();
    let sizes = b"\x83\0\0\0\x83\0\0\0";
    let name = b"\xc3\xa9.npy";
    let local = [&b"PK\x03\x04"[..], about, &[0; 12], b"\x06\0\0\0", name].concat();
    let descriptor = [b"PK\x07\x08", &crc[..], sizes].concat();
    let record =
        [&b"PK\x01\x02\x14\x03"[..], about, &crc, sizes, b"\x06\0\0\0", &[0; 6], b"\0\0\x80\x01\0\0\0\0", name];
    let end = b"PK\x05\x06\0\0\0\0\x01\0\x01\0\x34\0\0\0\xb7\0\0\0\0\0";
    let expected = [&local[..], &array, &descriptor, &record.concat(), end].concat();
    assert_eq!(bytes.escape_ascii().to_string(), expected.escape_ascii().to_string());
}

#[test]
#[cfg(feature = "crc32")]
fn arrays_are_aligned_by_an_extra_field() {
    let names: Vec<String> = (0..70).map(|length| "n".repeat(length)).collect();
    let tensors: Vec<_> = names.iter().map(|name| NewTensor::dense(name, DType::U8, &[5])).collect();
    for alignment in [1, 2, 4, 16, 64, 4096, 32768] {
        let file = NewFile::new(Format::Npz, &tensors).alignment(alignment);
        let bytes = written(file, &[7; 350]);
        let opened = File::open(&bytes).unwrap();
        let mut fields = 0;
        for (tensor, entry) in opened.tensors().zip(opened.as_npz().unwrap().entries()) {
            assert_eq!(tensor.data().unwrap().extent().offset % alignment, 0, "{alignment}");
            // Between the name and the array: ID, length, alignment, zeros.
            let before = &bytes[..entry.extent.offset as usize];
            let name_at = before.windows(4).rposition(|four| four == b".npy").unwrap();
            let extra = &before[name_at + 4..];
            if let [0x35, 0xd9, low, high, rest @ ..] = extra {
                assert_eq!(usize::from(u16::from_le_bytes([*low, *high])), rest.len());
                assert_eq!(rest[..2], (alignment as u16).to_le_bytes());
                assert!(rest[2..].iter().all(|byte| *byte == 0));
                fields += 1;
            } else {
                assert!(extra.is_empty());
            }
        }
        assert!((fields > 0) == (alignment > 1) && opened.as_npz().unwrap().entries().count() == 70);
    }
}

/// From 65 535 entries on, their number is in a zip64 record.
#[test]
#[cfg(feature = "crc32")]
fn many_entries() {
    let names: Vec<String> = (0..65_535).map(|number| format!("{number:05}")).collect();
    let tensors: Vec<_> = names.iter().map(|name| NewTensor::dense(name, DType::U8, &[1])).collect();
    for (count, is_wide) in [(65_534, false), (65_535, true)] {
        let bytes = written(NewFile::new(Format::Npz, &tensors[..count]), &vec![1; count]);
        assert_eq!(File::open(&bytes).unwrap().tensor_count(), count as u64);
        let before_end = &bytes[bytes.len() - 42..][..4];
        assert_eq!(before_end == b"PK\x06\x07", is_wide);
    }
}

#[test]
#[cfg(feature = "crc32")]
fn declarations_that_npz_cannot_have() {
    let refused = |tensors: &[NewTensor<'_>]| {
        let file = NewFile::new(Format::Npz, tensors);
        let error = Writer::new(file, &mut [0; 3000]).unwrap_err();
        (error.kind(), error.part(), error.declaration())
    };
    let dense = |name, dtype| NewTensor::dense(name, dtype, &[4]);
    let f32 = |name| dense(name, DType::F32);
    let names = ["a".repeat(65_531), "a".repeat(65_532)];
    assert_eq!(refused(&[f32(&names[1])]), (ErrorKind::NameLength, Part::Name, Some(0)));
    let longest = [f32(&names[0])];
    let bytes = written(NewFile::new(Format::Npz, &longest).alignment(32768), &[1; 16]);
    assert_eq!(File::open(&bytes).unwrap().find(&names[0]).unwrap().data().unwrap().extent().offset % 32768, 0);
    assert_eq!(refused(&[f32("a"), f32("b\0")]), (ErrorKind::InvalidName, Part::Name, Some(1)));
    let repeated = |index| (ErrorKind::RepeatedName, Part::Name, Some(index));
    assert_eq!(refused(&[f32("a.npy"), f32("a")]), repeated(0));
    assert_eq!(refused(&[f32("b"), f32("a.npy"), f32("a.npy.npy")]), repeated(2));
    assert_eq!(refused(&[f32(""), f32(".npy")]), repeated(1));
    assert_eq!(refused(&[f32("a"), f32("a")]), repeated(1));
    // The largest number of names with the suffix that is compared.
    let names: Vec<String> = (0..1025).map(|number| format!("{number:04}.npy")).collect();
    let tensors: Vec<_> = names.iter().map(|name| f32(name)).collect();
    assert_eq!(refused(&tensors), (ErrorKind::TooMany, Part::Name, None));
    Writer::new(NewFile::new(Format::Npz, &tensors[1..]), &mut [0; 3000]).unwrap();

    assert_eq!(refused(&[dense("a", DType::BF16)]), (ErrorKind::NotInFormat, Part::DType, Some(0)));
    let train = NewLayout::Train { dtype: DType::F64, ranks: &[1, 1] };
    let tensor = NewTensor { name: "a", shape: &[4], layout: train, attributes: &[] };
    assert_eq!(refused(&[tensor]), (ErrorKind::NotInFormat, Part::Layout, Some(0)));
    let attributes = [NewAttribute::new("key", 1_u8)];
    let error = Writer::new(NewFile::new(Format::Npz, &[]).attributes(&attributes), &mut []).unwrap_err();
    assert_eq!((error.kind(), error.part()), (ErrorKind::NotInFormat, Part::Key));
    for alignment in [0, 48, 65536] {
        let error = Writer::new(NewFile::new(Format::Npz, &[]).alignment(alignment), &mut []).unwrap_err();
        assert_eq!((error.kind(), error.part()), (ErrorKind::InvalidAlignment, Part::Alignment));
    }
}

/// After a loss of power the checksum of the data is unknown: no archive is continued with a wrong one.
#[test]
#[cfg(feature = "crc32")]
fn archives_are_continued_only_before_their_data() {
    let tensors = [NewTensor::dense("a", DType::U8, &[0]), NewTensor::dense("b", DType::U8, &[3])];
    let file = NewFile::new(Format::Npz, &tensors);
    let bytes = written(file, b"abc");
    let data = File::open(&bytes).unwrap().find("b").unwrap().data().unwrap().extent().offset;
    for at in 0..=bytes.len() {
        let mut scratch = [0; 2];
        let mut writer = Writer::new(file, &mut scratch).unwrap();
        let mut rest = bytes[..at].to_vec();
        let mut sink = |offset: u64, piece: &[u8]| {
            assert_eq!(offset, rest.len() as u64);
            rest.extend_from_slice(piece);
            Ok(())
        };
        match writer.resume(&mut sink, at as u64) {
            Ok(()) => {
                assert!(at as u64 <= data, "{at}");
                writer.data(&mut sink, b"abc").unwrap();
                writer.finish(&mut sink).unwrap();
                assert!(rest == bytes, "{at}");
            }
            Err(error) => assert!(error.kind() == ErrorKind::InvalidArgument && at as u64 > data, "{at}"),
        }
    }
}
