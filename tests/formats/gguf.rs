//! GGUF: every rule, the metadata, models in several files, and files read in parts.
#![cfg(feature = "gguf")]

use crate::support::gguf::{ARRAY, Gguf, Meta, TEXT};
use crate::support::{Random, check_with_any_memory, describe, open_in_parts, unreadable};
use tenslice::Split;
use tenslice::gguf::PartName;
use tenslice::{
    Attributes, ByteOrder, DType, Error, ErrorKind, File, Layout, Need, Opened, Part, ReadOptions, Source, Value,
    Warning,
};

const F32: u32 = 0;
const Q4_0: u32 = 2;
const Q8_0: u32 = 8;
const Q4_K: u32 = 12;
const I8: u32 = 24;
const MXFP4: u32 = 39;

/// The types of values.
const U8_VALUE: u32 = 0;
const U32_VALUE: u32 = 4;
const BOOL: u32 = 7;

/// The offset of the first pair or info, and the offset after a name of one byte in it.
const FIRST: u64 = 24;
const AFTER_NAME: u64 = FIRST + 9;

/// Checks that a file is rejected, whole and in parts, and that the message is `gguf 3: ` and the given text.
#[track_caller]
fn refused(bytes: &[u8], kind: ErrorKind, item: Part, at: u64, message: &str) {
    let error = File::open(bytes).unwrap_err();
    assert_eq!((error.kind(), error.part(), error.offset()), (kind, item, Some(at)), "{}", error.explain(bytes));
    // The number of missing bytes in a truncated file is tested for all formats, in `truncated.rs`.
    let full = error.explain(bytes).to_string();
    let cut = full.find("; the file is truncated").or(full.find("; unless the count is wrong"));
    let without = cut.map_or(full.clone(), |cut| full[..cut].to_string() + &full[full.rfind(" [at byte").unwrap()..]);
    assert_eq!(without, format!("gguf {message} [at byte {at}]"));
    for cut in 0..=bytes.len() {
        let mut source = Source::new(bytes.len() as u64);
        let parts = open_in_parts(bytes, &[(0, cut), (cut, bytes.len())], &mut source);
        assert_eq!(parts.unwrap_err(), error, "cut at {cut}");
    }
}

/// A file of one pair.
fn pair(key: impl AsRef<[u8]>, value: &Meta) -> Vec<u8> {
    Gguf::default().pair(key, value).bytes()
}

/// A file of one tensor.
fn tensor(ne: &[u64], ggml_type: u32, bytes: usize) -> Vec<u8> {
    Gguf::default().tensor("t", ne, ggml_type, &vec![0; bytes]).bytes()
}

/// Replaces bytes.
fn with(mut bytes: Vec<u8>, at: u64, new: &[u8]) -> Vec<u8> {
    bytes[at as usize..][..new.len()].copy_from_slice(new);
    bytes
}

#[test]
fn versions() {
    for (version, is_big, name) in [(1, false, "1"), (2, false, "2"), (3, false, "3"), (3, true, "3")] {
        let bytes = Gguf::new(version, is_big).pair("k", &Meta::U32(7)).tensor("t", &[2], F32, &[0; 8]).bytes();
        let file = File::open(&bytes).unwrap();
        assert_eq!((file.version(), file.attributes().get_u64("k")), (Some(name), Some(7)));
        let order = if is_big { ByteOrder::Big } else { ByteOrder::Little };
        assert_eq!(file.as_gguf().unwrap().byte_order(), order);
    }
    for (version, is_big) in [(0, false), (4, false), (0x10003, false), (1, true), (2, true), (4, true)] {
        let bytes = Gguf::new(version, is_big).bytes();
        let error = File::open(&bytes).unwrap_err();
        let expected = (ErrorKind::UnsupportedVersion, Part::Version, Some(4));
        assert_eq!((error.kind(), error.part(), error.offset()), expected);
        if !is_big {
            let message = format!("gguf: this version is not supported: {version} [at byte 4]");
            assert_eq!(error.explain(&bytes[..]).to_string(), message);
        }
    }
    assert_eq!(File::open(b"GGUX\x03\0\0\0").unwrap_err().kind(), ErrorKind::UnknownFormat);
}

#[test]
fn counts_and_lengths_fit_in_the_file() {
    let too_large =
        |bytes: &[u8], item, at, message: &str| refused(bytes, ErrorKind::CountTooLarge, item, at, message);
    let count = u64::MAX.to_le_bytes();
    // 14 bytes per pair and 24 per tensor.
    let one = Gguf::default().raw_pair("", 0, &[0]).pairs.clone();
    assert_eq!(one.len(), 13);
    let counted = |tensors: u64, pairs: u64, bytes: usize| {
        [&b"GGUF\x03\0\0\0"[..], &tensors.to_le_bytes(), &pairs.to_le_bytes(), &vec![0; bytes]].concat()
    };
    let pairs = "attributes: the item count exceeds the bytes left:";
    too_large(&counted(0, 3, 41), Part::Attributes, 16, &format!("3: {pairs} 3"));
    assert_eq!(File::open(&counted(0, 3, 42)).unwrap_err().kind(), ErrorKind::InvalidName);
    too_large(&counted(0, u64::MAX, 41), Part::Attributes, 16, &format!("3: {pairs} {}", u64::MAX));
    let tensors = "tensors: the item count exceeds the bytes left:";
    too_large(&counted(3, 0, 71), Part::Tensors, 8, &format!("3: {tensors} 3"));
    assert_eq!(File::open(&counted(1, 0, 24)).unwrap_err().kind(), ErrorKind::OutOfFile);
    too_large(&counted(1 << 32, 0, 71), Part::Tensors, 8, &format!("3: {tensors} 4294967296"));

    // In version 1, 10 bytes per pair and 20 per tensor.
    let counted = |tensors: u32, pairs: u32, bytes: usize| {
        [&b"GGUF\x01\0\0\0"[..], &tensors.to_le_bytes(), &pairs.to_le_bytes(), &vec![0; bytes]].concat()
    };
    too_large(&counted(0, 3, 29), Part::Attributes, 12, &format!("1: {pairs} 3"));
    assert_eq!(File::open(&counted(0, 3, 30)).unwrap_err().kind(), ErrorKind::InvalidName);
    too_large(&counted(3, 0, 59), Part::Tensors, 8, &format!("1: {tensors} 3"));
    assert_eq!(File::open(&counted(1, 0, 20)).unwrap_err().kind(), ErrorKind::OutOfFile);

    let file = pair("k", &Meta::text("abc"));
    let exceeds = "the item count exceeds the bytes left: ";
    let max = u64::MAX;
    too_large(&with(file.clone(), FIRST, &count), Part::Key, FIRST, &format!("3: key: {exceeds}{max}"));
    too_large(
        &with(file.clone(), 37, &count),
        Part::Value,
        37,
        &format!("3: attribute \"k\": value: {exceeds}{max}"),
    );
    let left = file.len() as u64 - 45;
    assert!(File::open(&with(file.clone(), 37, &left.to_le_bytes())).is_ok());
    let more = left + 1;
    too_large(
        &with(file, 37, &more.to_le_bytes()),
        Part::Value,
        37,
        &format!("3: attribute \"k\": value: {exceeds}{more}"),
    );
    let named = with(tensor(&[2], F32, 8), FIRST, &count);
    too_large(&named, Part::Name, FIRST, &format!("3: name: {exceeds}{max}"));
    // One element of each kind more than there is room for, and a product that wraps around.
    for (kind, size) in
        [(0, 1), (1, 1), (2, 2), (3, 2), (4, 4), (5, 4), (6, 4), (7, 1), (8, 8), (9, 12), (10, 8), (12, 8)]
    {
        for count in [48 / size + 1, u64::MAX, 1 << 61, (1 << 61) + 1, 1 << 62, 1 << 63] {
            let start = [&u32::to_le_bytes(kind)[..], &u64::to_le_bytes(count), &[0; 48]].concat();
            let mut file = Gguf::default();
            file.raw_pair("k", ARRAY, &start).alignment = 1;
            too_large(&file.bytes(), Part::Value, 41, &format!("3: attribute \"k\": value: {exceeds}{count}"));
        }
    }
}

#[test]
fn rejects_every_truncated_file() {
    let file = everything(3, false).bytes();
    for length in 0..file.len() {
        assert!(File::open(&file[..length]).is_err(), "{length}");
    }
    let file = Gguf::default().info("a name", &[1, 1], F32, 0).head();
    let message = "3: tensor \"a name\": shape: unexpected end of input";
    refused(&file[..50], ErrorKind::Truncated, Part::Shape, 50, message);
}

#[test]
fn keys() {
    let rule = "3: key: a key has 1 to 65535 bytes";
    refused(&pair("", &Meta::text("abc")), ErrorKind::InvalidName, Part::Key, FIRST, rule);
    let long = pair("x".repeat(65536), &Meta::U8(1));
    assert_eq!(File::open(&long).unwrap_err().explain(&long[..]).to_string(), format!("gguf {rule} [at byte 24]"));
    let bytes = pair("x".repeat(65535), &Meta::U8(1));
    assert_eq!(File::open(&bytes).unwrap().attributes().get_u64(&"x".repeat(65535)), Some(1));
    let message = "3: key: the text is not valid UTF-8";
    refused(&pair(b"a\xff", &Meta::U8(1)), ErrorKind::InvalidUtf8, Part::Key, FIRST, message);
    let bytes = pair("Größe-1\0", &Meta::U8(1));
    assert_eq!(File::open(&bytes).unwrap().attributes().get_u64("Größe-1\0"), Some(1));
}

#[test]
fn kinds_of_values() {
    let rule = "3: attribute \"k\": value: there is no such type of value, or a truth value is not 0 or 1";
    for kind in [13, 255, u32::MAX] {
        let file = Gguf::default().raw_pair("k", kind, &[0; 8]).bytes();
        refused(&file, ErrorKind::UnexpectedType, Part::Value, AFTER_NAME, rule);
        let file = Gguf::default().raw_pair("k", ARRAY, &[&kind.to_le_bytes()[..], &[0; 8]].concat()).bytes();
        refused(&file, ErrorKind::UnexpectedType, Part::Value, 37, rule);
    }
    for byte in [2, 255] {
        refused(&pair("k", &Meta::Bool(byte)), ErrorKind::UnexpectedType, Part::Value, 37, rule);
        let list = Meta::Array(BOOL, vec![Meta::Bool(1), Meta::Bool(0), Meta::Bool(byte)]);
        refused(&pair("k", &list), ErrorKind::UnexpectedType, Part::Value, 51, rule);
        let nested = pair("k", &Meta::Array(ARRAY, vec![list]));
        refused(&nested, ErrorKind::UnexpectedType, Part::Value, 63, rule);
    }
}

/// An empty list, nested `depth` deep.
fn nested(depth: usize) -> Meta {
    (1..depth).fold(Meta::Array(U8_VALUE, vec![]), |inside, _| Meta::Array(ARRAY, vec![inside]))
}

#[test]
fn lists_in_lists() {
    for depth in 1..=8 {
        let bytes = pair("k", &nested(depth));
        let mut items = File::open(&bytes).unwrap().attributes().get_list("k").unwrap();
        for _ in 1..depth {
            assert_eq!(items.length(), Some(1));
            items = items.next().unwrap().value.items().unwrap();
        }
        assert_eq!((items.length(), items.next().is_none()), (Some(0), true));
    }
    // A nested list that ends the file.
    let mut file = Gguf::default();
    file.pair("k", &nested(2)).alignment = 1;
    assert!(File::open(&file.bytes()).is_ok());
    let message = "3: attribute \"k\": value: values are nested too deeply";
    for depth in [9, 10, 3000] {
        let bytes = pair("k", &nested(depth));
        let error = File::open(&bytes).unwrap_err();
        // The ninth array: the head of the value, then 12 bytes for each level.
        assert_eq!(
            (error.kind(), error.part(), error.offset()),
            (ErrorKind::TooDeep, Part::Value, Some(37 + 8 * 12))
        );
        assert_eq!(error.explain(&bytes[..]).to_string(), format!("gguf {message} [at byte 133]"));
    }
}

#[test]
fn alignments() {
    for alignment in [8, 16, 32, 64, 4096] {
        for is_big in [false, true] {
            let mut file = Gguf::new(3, is_big);
            file.alignment = alignment;
            file.tensor("a", &[3], I8, &[1, 2, 3]).pair("k", &Meta::U8(1));
            // The alignment may be anywhere among the pairs.
            file.pair("general.alignment", &Meta::U32(alignment as u32)).pair("z", &Meta::U8(1));
            let bytes = file.tensor("b", &[1], I8, &[4]).bytes();
            let file = File::open(&bytes).unwrap();
            let gguf = file.as_gguf().unwrap();
            assert_eq!((gguf.alignment() as usize, gguf.data_offset() % alignment as u64), (alignment, 0));
            assert_eq!(file.find("b").unwrap().data().unwrap().as_slice::<i8>().unwrap(), [4]);
            assert!(file.warnings().is_empty());
        }
    }
    let rule = "3: alignment: general.alignment must be a power of two, at least 8, of type u32";
    let value = FIRST + 8 + 17 + 4;
    for alignment in [0, 1, 2, 4, 24, 40, 48, 0x8000_0001, u32::MAX] {
        let bytes = pair("general.alignment", &Meta::U32(alignment));
        refused(&bytes, ErrorKind::InvalidAlignment, Part::Alignment, value, rule);
    }
    for other in [Meta::U64(32), Meta::I32(32), Meta::U16(32), Meta::text("32"), Meta::Array(U32_VALUE, vec![])] {
        let bytes = pair("general.alignment", &other);
        refused(&bytes, ErrorKind::InvalidAlignment, Part::Alignment, value - 4, rule);
    }
    let bytes = pair("general.alignment", &Meta::U32(1 << 31));
    assert_eq!(File::open(&bytes).unwrap().as_gguf().unwrap().data_offset(), 1 << 31);
}

/// The start of the data depends on the alignment, so the key must not be repeated, however many keys there are.
#[test]
fn rejects_repeated_alignments() {
    for others in [0, 2000] {
        let mut file = Gguf::default();
        file.pair("general.alignment", &Meta::U32(32));
        for i in (0..others).rev() {
            file.pair(format!("{i:06}"), &Meta::U8(0));
        }
        let at = FIRST + file.pairs.len() as u64;
        file.pair("general.alignment", &Meta::U32(64));
        let bytes = file.bytes();
        let error = File::open(&bytes).unwrap_err();
        assert_eq!((error.kind(), error.part(), error.offset()), (ErrorKind::RepeatedKey, Part::Key, Some(at)));
    }
}

#[test]
fn names_of_tensors() {
    for name in ["", "a\0b", "Gewicht ä", &"x".repeat(65), &"x".repeat(70_000)] {
        let bytes = Gguf::default().tensor(name, &[1], I8, &[7]).bytes();
        let file = File::open(&bytes).unwrap();
        assert_eq!(file.find(name).unwrap().data().unwrap().as_slice::<i8>().unwrap(), [7]);
        assert_eq!(file.tensors().next().unwrap().name(), name);
    }
    let bytes = Gguf::default().tensor(b"\xed\xa0\x80", &[1], I8, &[7]).bytes();
    refused(&bytes, ErrorKind::InvalidUtf8, Part::Name, FIRST, "3: name: the text is not valid UTF-8");
}

#[test]
fn shapes() {
    // The order of NumPy: the outermost dimension first.
    for (version, is_big) in [(1, false), (2, false), (3, false), (3, true)] {
        let bytes = Gguf::new(version, is_big).tensor("t", &[5, 4, 1, 3], I8, &[0; 60]).bytes();
        let file = File::open(&bytes).unwrap();
        let tensor = file.find("t").unwrap();
        assert_eq!(tensor.shape(), [3, 1, 4, 5][..]);
        let info = file.as_gguf().unwrap().infos().next().unwrap();
        assert_eq!((info.ne, info.rank, info.ggml_type, info.offset), ([5, 4, 1, 3, 1, 1, 1, 1], 4, I8, 0));
        let bytes =
            Gguf::new(version, is_big).tensor("s", &[], F32, &[0; 4]).tensor("v", &[2, 1], F32, &[0; 8]).bytes();
        let file = File::open(&bytes).unwrap();
        assert_eq!(file.find("s").unwrap().shape(), [0; 0][..]);
        assert_eq!(file.find("v").unwrap().shape(), [1, 2][..]);
        let infos: Vec<_> = file.as_gguf().unwrap().infos().collect();
        assert_eq!((infos[0].ne, infos[0].rank, infos[0].name), ([1; 8], 0, "s"));
        assert_eq!((infos[1].ne, infos[1].rank, infos[1].offset), ([2, 1, 1, 1, 1, 1, 1, 1], 2, 32));
    }
    for rank in [9_u32, 10, u32::MAX] {
        let bytes = with(tensor(&[1, 1, 1, 1], I8, 1), AFTER_NAME, &rank.to_le_bytes());
        let message = "3: tensor \"t\": shape: a tensor has at most 8 dimensions";
        refused(&bytes, ErrorKind::TooMany, Part::Shape, AFTER_NAME, message);
    }
}

/// Video models are published with more dimensions than the four that ggml reads.
#[test]
fn more_dimensions_than_ggml_reads() {
    for (version, is_big) in [(1, false), (2, false), (3, false), (3, true)] {
        let all = [5, 2, 1, 3, 1, 2, 1, 1];
        for rank in 5..=8 {
            let (ne, count) = (&all[..rank], all[..rank].iter().product::<u64>());
            let data: Vec<u8> = (0..count as u8).collect();
            let mut file = Gguf::new(version, is_big);
            let bytes = file.tensor("plain", &[4], I8, &[9; 4]).tensor("deep", ne, I8, &data).bytes();
            let file = File::open(&bytes).unwrap();
            assert_eq!(file.warnings().iter().collect::<Vec<_>>(), [Warning::ManyDimensions]);
            assert_eq!(file.check(&mut []).unwrap(), file.warnings());
            let tensor = file.find("deep").unwrap();
            assert!(tensor.shape().iter().eq(ne.iter().rev().copied()));
            assert_eq!(tensor.data().unwrap().bytes().unwrap(), data);
            let info = file.as_gguf().unwrap().infos().nth(1).unwrap();
            assert_eq!((&info.ne[..rank], info.rank as usize), (ne, rank));
            assert!(info.ne[rank..].iter().all(|length| *length == 1));
        }
    }
    // Quantized blocks run along the innermost dimension.
    let bytes = Gguf::default().tensor("t", &[32, 1, 2, 1, 1], Q4_0, &[0; 36]).bytes();
    assert_eq!(File::open(&bytes).unwrap().find("t").unwrap().shape(), [1, 1, 2, 1, 32][..]);
    let bytes = Gguf::default().tensor("t", &[2, 1, 32, 1, 1], Q4_0, &[0; 36]).bytes();
    assert_eq!(File::open(&bytes).unwrap_err().kind(), ErrorKind::PartialBlock);
    let bytes = Gguf::default().tensor("t", &[1, 1, 1, 4], I8, &[0; 4]).bytes();
    assert!(File::open(&bytes).unwrap().warnings().is_empty());
}

#[test]
fn lengths_of_zero() {
    let mut file = Gguf::default();
    file.tensor("a", &[0], F32, &[]).tensor("b", &[1 << 62, 1 << 62, 0], F32, &[]).tensor("c", &[2], I8, &[1, 2]);
    let bytes = file.tensor("d", &[0, 3], Q4_0, &[]).bytes();
    // The last tensor begins after the padding of the one before it.
    assert_eq!(File::open(&bytes[..bytes.len() - 1]).unwrap_err().kind(), ErrorKind::OutOfFile);
    let file = File::open(&bytes).unwrap();
    let lengths: Vec<_> = file.tensors().map(|t| t.components().next().unwrap().extent().length).collect();
    assert_eq!(lengths, [0, 0, 2, 0]);
    assert_eq!(file.find("b").unwrap().shape().element_count(), Some(0));
    assert!(file.warnings().is_empty());
}

#[test]
fn types_of_tensors() {
    let known =
        [0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30];
    let known: Vec<u32> = known.into_iter().chain([34, 35, 39, 40, 41, 42]).collect();
    let removed = [(4, "Q4_2"), (5, "Q4_3"), (31, "Q4_0_4_4"), (32, "Q4_0_4_8"), (33, "Q4_0_8_8")];
    let of_iq = [(36, "IQ4_NL_4_4"), (37, "IQ4_NL_4_8"), (38, "IQ4_NL_8_8")];
    let removed = [&removed[..], &of_iq].concat();
    for number in (0..600).chain([u32::MAX]) {
        let bytes = tensor(&[256], number, 4096);
        if known.contains(&number) {
            let file = File::open(&bytes).unwrap();
            assert_eq!(file.as_gguf().unwrap().infos().next().unwrap().ggml_type, number);
            let tensor = file.find("t").unwrap();
            assert!((tensor.layout() == Layout::Dense) == tensor.dtype().is_some(), "{number}");
            assert_eq!(tensor.block_type().is_some(), tensor.layout() == Layout::Blocks, "{number}");
            let data = tensor.components().next().unwrap();
            assert_eq!([data.dtype(), data.storage_dtype()], [tensor.dtype(); 2], "{number}");
        } else {
            let file = File::open(&bytes).unwrap();
            assert_eq!(file.as_gguf().unwrap().infos().next().unwrap().ggml_type, number);
            let tensor = file.find("t").unwrap();
            let layout_name = match removed.iter().find(|(removed, _)| *removed == number) {
                Some((_, name)) => format!("gguf.{}", name.to_lowercase()),
                None if number < 512 => format!("gguf.{number}"),
                None => "gguf.unknown".into(),
            };
            assert_eq!(tensor.layout_name(), layout_name);
            assert_eq!(tensor.shape(), [256][..]);
        }
    }
}

/// Types of forks, and types that ggml has removed: the file opens, and everything but the elements of such a tensor
/// can be read.
#[test]
fn unknown_types() {
    for (version, is_big) in [(1, false), (2, false), (3, false), (3, true)] {
        let mut made = Gguf::new(version, is_big);
        let number = |number: f32| if is_big { number.to_be_bytes() } else { number.to_le_bytes() };
        let tensors: &[(&str, &[u64], u32, &[u8])] = &[
            ("fork", &[7, 3], 139, &[1; 41]), // a row is not a whole number of bytes
            ("a", &[1], F32, &number(2.5)),
            ("removed", &[32, 2], 31, &[2; 36]),
            ("b", &[3], I8, &[7, 8, 9]),
            // Two unknown types, the first without bytes.
            ("none", &[1 << 20], 137, &[]),
            ("after none", &[], u32::MAX, &[3; 70]),
            ("c", &[32], Q8_0, &[4; 34]),
            ("last", &[2], 36, &[5; 1234]),
        ];
        made.pair("k", &Meta::U32(7));
        for (name, ne, ggml_type, bytes) in tensors {
            made.tensor(name, ne, *ggml_type, bytes);
        }
        let bytes = made.bytes();
        let file = File::open(&bytes).unwrap();
        assert!(file.warnings().iter().eq([Warning::UnreadableTensor]));
        assert_eq!(file.warnings().first_tensor(Warning::UnreadableTensor), Some(0));
        assert_eq!(file.attributes().get_u64("k"), Some(7));
        let mut words = vec![0; file.index_length().unwrap()];
        let index = file.index(&mut words).unwrap();
        let mut source = Source::new(bytes.len() as u64);
        let in_parts = open_in_parts(&bytes, &[], &mut source).unwrap();
        assert_eq!(describe(&file), describe(&in_parts));
        assert_eq!(file.verify(ReadOptions::new()).unwrap_err(), file.find("fork").unwrap().problem().unwrap());
        let infos = file.as_gguf().unwrap().infos();
        for ((tensor, info), (name, ne, ggml_type, stored)) in file.tensors().zip(infos).zip(tensors) {
            assert_eq!((info.name, info.ggml_type, info.rank as usize), (*name, *ggml_type, ne.len()));
            assert!(tensor.shape().iter().eq(ne.iter().rev().copied()), "{name}");
            let (found, indexed) = (file.find(name).unwrap(), index.find(name).unwrap());
            assert_eq!((found.index(), indexed.index()), (tensor.index(), tensor.index()));
            for tensor in [tensor, found, indexed] {
                if matches!(*ggml_type, F32 | I8 | Q8_0) {
                    assert!(tensor.problem().is_none() && tensor.warnings().is_empty(), "{name}");
                    assert_eq!(tensor.component("data").unwrap().bytes(), Ok(*stored), "{name}");
                    continue;
                }
                // The extent of an unknown type ends at the next tensor, padding included, and for the last tensor at
                // the end of the file.
                let padded = if *name == "last" { stored.len() } else { stored.len().next_multiple_of(32) };
                let stored = [stored, &vec![0; padded - stored.len()][..]].concat();
                let error = unreadable(&tensor, &stored);
                assert_eq!((error.kind(), error.part()), (ErrorKind::UnknownDType, Part::DType));
                let at = error.offset().unwrap() as usize;
                let written = if is_big { ggml_type.to_be_bytes() } else { ggml_type.to_le_bytes() };
                assert_eq!(bytes[at..at + 4], written, "{name}");
                let message = error.explain(&bytes[..]).to_string();
                let says = match ggml_type {
                    31 => "type 31 of ggml (Q4_0_4_4) was removed (".into(),
                    36 => "type 36 of ggml (IQ4_NL_4_4) was removed (".into(),
                    number => format!("unknown type of ggml: {number} ("),
                };
                assert!(message.starts_with(&format!("gguf {version}: tensor \"{name}\": {says}")), "{message}");
            }
        }
        assert_eq!(file.find("a").unwrap().read_elements(&mut [0_f32], ReadOptions::new()), Ok(&mut [2.5_f32][..]));
        // Every prefix: truncation within the last tensor is not detected, since its length is unknown.
        let last = bytes.len() - 1234;
        for length in 0..bytes.len() {
            let mut source = Source::new(length as u64);
            let in_parts = open_in_parts(&bytes[..length], &[], &mut source).map(|file| describe(&file));
            let whole = File::open(&bytes[..length]).map(|file| describe(&file));
            assert_eq!(whole.is_ok(), length >= last, "{version}: {length}");
            assert_eq!(whole, in_parts, "{version}: {length}");
        }
    }
}

/// After a tensor of unknown length, the next one may begin at any aligned offset behind it. The tensors after known
/// ones must follow them directly.
#[test]
fn offsets_after_an_unknown_type() {
    for alignment in [32_u64, 64] {
        let file = |offsets: [u64; 4]| {
            let mut file = Gguf { alignment: alignment as usize, ..Gguf::default() };
            file.pair("general.alignment", &Meta::U32(alignment as u32));
            for (name, (ggml_type, offset)) in
                ["a", "b", "c", "d"].into_iter().zip([I8, 139, 4, I8].into_iter().zip(offsets))
            {
                file.info(name, &[3], ggml_type, offset);
            }
            file.data = vec![0; 1000];
            file.bytes()
        };
        let at = |offset: u64| offset * alignment;
        let good = [[0, 1, 1, 1], [0, 1, 1, 3], [0, 1, 5, 5], [0, 1, 2, 9]];
        for offsets in good.map(|offsets| offsets.map(at)) {
            let bytes = file(offsets);
            let file = File::open(&bytes).unwrap();
            let start = file.as_gguf().unwrap().data_offset();
            assert_eq!(file.warnings().first_tensor(Warning::UnreadableTensor), Some(1));
            assert!(file.warnings().contains(Warning::TrailingBytes), "the last one is known");
            let extents: Vec<_> = file.tensors().map(|tensor| tensor.component("data").unwrap().extent()).collect();
            for (extent, offset) in extents.iter().zip(offsets) {
                assert_eq!(extent.offset, start + offset);
            }
            let lengths: Vec<_> = extents.iter().map(|extent| extent.length).collect();
            assert_eq!(lengths, [3, offsets[2] - offsets[1], offsets[3] - offsets[2], 3]);
        }
        let far = 1 << 40;
        for (offsets, kind, wrong) in [
            // The first unknown tensor follows a known one.
            ([0, at(2), at(2), at(2)], ErrorKind::InvalidOffset, 1),
            ([0, 0, at(1), at(1)], ErrorKind::InvalidOffset, 1),
            // Offsets that decrease, and offsets that are not aligned.
            ([0, at(1), 0, at(1)], ErrorKind::InvalidOffset, 2),
            ([0, at(1), at(1) + 8, at(2)], ErrorKind::InvalidOffset, 2),
            ([0, at(1), at(3), at(2)], ErrorKind::InvalidOffset, 3),
            ([0, at(1), at(1), at(2) + 1], ErrorKind::InvalidOffset, 3),
            ([0, at(1), at(2), u64::MAX], ErrorKind::InvalidOffset, 3),
            ([0, at(1), at(2), u64::MAX - alignment + 2], ErrorKind::InvalidOffset, 3),
            // Beyond the data: only the last offset needs the check, since offsets do not decrease.
            ([0, at(1), at(2), at(1000 / alignment + 1)], ErrorKind::OutOfFile, 3),
            ([0, at(1), far, far], ErrorKind::OutOfFile, 3),
            ([0, at(1), far, at(2)], ErrorKind::InvalidOffset, 3),
            ([0, at(1), at(2), u64::MAX - alignment + 1], ErrorKind::ShapeOverflow, 3),
        ] {
            let bytes = file(offsets);
            let error = File::open(&bytes).map(drop).unwrap_err();
            assert_eq!(error.kind(), kind, "{offsets:?}");
            assert!(
                error.explain(&bytes[..]).to_string().contains(["\"a\"", "\"b\"", "\"c\"", "\"d\""][wrong]),
                "{offsets:?}"
            );
        }
    }
    // An unknown tensor at the end of the data, and past it.
    let file = |offset: u64, data: usize| {
        let mut file = Gguf::default();
        file.info("a", &[3], 139, 0).info("b", &[3], 139, offset).data = vec![0; data];
        file.bytes()
    };
    assert_eq!(File::open(&file(64, 64)).unwrap().find("b").unwrap().component("data").unwrap().extent().length, 0);
    assert_eq!(File::open(&file(64, 63)).unwrap_err().kind(), ErrorKind::OutOfFile);
    // A shape whose product overflows is an error for every type.
    let bytes = tensor(&[1 << 32, 1 << 32], 139, 64);
    let error = File::open(&bytes).unwrap_err();
    assert_eq!((error.kind(), error.part(), error.offset()), (ErrorKind::ShapeOverflow, Part::Shape, Some(37)));
}

#[test]
fn rejects_partial_blocks() {
    let message = "3: tensor \"t\": the innermost dimension is not a whole number of blocks";
    for (ne, ggml_type) in
        [(&[33][..], Q4_0), (&[16, 2], Q4_0), (&[128], Q4_K), (&[32], 40), (&[64], 41), (&[], Q8_0)]
    {
        let bytes = tensor(ne, ggml_type, 300);
        let error = File::open(&bytes).unwrap_err();
        assert_eq!((error.kind(), error.part(), error.offset()), (ErrorKind::PartialBlock, Part::Shape, Some(37)));
        assert!(error.explain(&bytes[..]).to_string().starts_with(&format!("gguf {message}")));
    }
    let bytes = tensor(&[64, 3], Q4_0, 2 * 3 * 18);
    let file = File::open(&bytes).unwrap();
    assert!(file.warnings().is_empty());
    assert_eq!(file.find("t").unwrap().component("data").unwrap().bytes().unwrap().len(), 108);
}

#[test]
fn sizes_do_not_wrap() {
    let cases = [
        (&[1 << 32, 1 << 31, 2][..], I8),
        (&[1 << 62, 4], I8),
        (&[1 << 61, 2], F32),
        (&[u64::MAX, 2], I8),
        (&[u64::MAX - 31], 15),
        (&[1 << 63, 1 << 63, 1 << 63, 1 << 63], I8),
    ];
    for (ne, ggml_type) in cases {
        let bytes = tensor(ne, ggml_type, 64);
        let error = File::open(&bytes).unwrap_err();
        let expected = if ggml_type == 15 { ErrorKind::PartialBlock } else { ErrorKind::ShapeOverflow };
        assert_eq!((error.kind(), error.part(), error.offset()), (expected, Part::Shape, Some(37)), "{ne:?}");
    }
    let largest = u64::MAX - 31;
    let bytes = Gguf::default().info("t", &[largest], I8, 0).head();
    let outside =
        "3: tensor \"t\": 18446744073709551584 bytes at offset 64 extend past the end of the file (64 bytes)";
    refused(&bytes, ErrorKind::OutOfFile, Part::Offset, 49, outside);
    // The sum of two lengths overflows, and one length with its padding.
    let bytes = Gguf::default().info("t", &[largest], I8, 0).info("u", &[32], I8, largest).head();
    let message = |name: char, length: u64| {
        let rule = "the product of the shape, in bytes, exceeds 64 bits";
        format!("3: tensor \"{name}\": {rule}: length {length}, shape [{length}]")
    };
    refused(&bytes, ErrorKind::ShapeOverflow, Part::Shape, 57, &message('u', 32));
    let bytes = Gguf::default().info("t", &[largest + 1], I8, 0).head();
    refused(&bytes, ErrorKind::ShapeOverflow, Part::Shape, FIRST, &message('t', largest + 1));
}

#[test]
fn tensors_follow_each_other() {
    let file = |second: u64| {
        let mut file = Gguf::default();
        file.info("a", &[3], I8, 0).info("b", &[3], I8, second).data = vec![0; 256];
        file.bytes()
    };
    assert!(File::open(&file(32)).is_ok());
    // The offset field of the second info: after its name, rank, length and type.
    let at = AFTER_NAME + 4 + 8 + 4 + 8 + 9 + 4 + 8 + 4;
    for second in [0, 3, 31, 33, 64, 1 << 63, u64::MAX] {
        let message = "3: tensor \"b\": offset: the tensor does not begin where the one before it ends";
        refused(&file(second), ErrorKind::InvalidOffset, Part::Offset, at, message);
    }
}

#[test]
fn tensors_are_inside_the_file() {
    let bytes = tensor(&[5, 2], F32, 40);
    let at = AFTER_NAME + 4 + 16 + 4;
    assert!(File::open(&bytes).unwrap().warnings().is_empty(), "no padding behind the last");
    refused(
        &bytes[..bytes.len() - 1],
        ErrorKind::OutOfFile,
        Part::Offset,
        at,
        "3: tensor \"t\": 40 bytes at offset 96 extend past the end of the file (135 bytes)",
    );
    // The data is missing, without and with the padding before it.
    let head = Gguf::default().info("t", &[5, 2], F32, 0).head();
    let outside =
        format!("3: tensor \"t\": 40 bytes at offset 96 extend past the end of the file ({} bytes)", head.len());
    refused(&head, ErrorKind::OutOfFile, Part::Offset, at, &outside);
    let bytes = Gguf::default().info("t", &[0], F32, 0).head();
    assert!(File::open(&bytes).is_ok());
    refused(
        &bytes[..58],
        ErrorKind::OutOfFile,
        Part::Offset,
        49,
        "3: tensor \"t\": 0 bytes at offset 64 extend past the end of the file (58 bytes)",
    );
}

#[test]
fn warns_about_bytes_after_the_data() {
    let trailing = |bytes: &[u8]| File::open(bytes).unwrap().warnings().contains(Warning::TrailingBytes);
    let bytes = tensor(&[3], I8, 3);
    for (more, expected) in [(0, false), (29, false), (30, true), (1000, true)] {
        assert_eq!(trailing(&[&bytes[..], &vec![1; more]].concat()), expected, "{more}");
    }
    let mut pairs = Gguf::default();
    pairs.pair("k", &Meta::U8(1)).alignment = 1;
    let bytes = pairs.bytes();
    assert_eq!(bytes.len(), 38);
    for (more, expected) in [(0, false), (26, false), (27, true)] {
        assert_eq!(trailing(&[&bytes[..], &vec![0; more]].concat()), expected, "{more}");
    }
}

/// One value of each kind, lists of them, and tensors.
fn everything(version: u32, is_big: bool) -> Gguf {
    let mut file = Gguf::new(version, is_big);
    let values = [
        ("u8", Meta::U8(200)),
        ("i8", Meta::I8(-3)),
        ("u16", Meta::U16(60_000)),
        ("i16", Meta::I16(-300)),
        ("u32", Meta::U32(4_000_000_000)),
        ("i32", Meta::I32(-70_000)),
        ("f32", Meta::F32(0.1)),
        ("bool", Meta::Bool(1)),
        ("text", Meta::text("Grüße")),
        ("bytes", Meta::text(b"\xc3")),
        ("u64", Meta::U64(u64::MAX)),
        ("i64", Meta::I64(i64::MIN)),
        ("f64", Meta::F64(0.1)),
    ];
    for (key, value) in &values {
        file.pair(key, value);
    }
    for (key, value) in &values {
        file.pair(format!("list of {key}"), &Meta::Array(value.kind(), vec![value.clone(), value.clone()]));
        file.pair(format!("empty list of {key}"), &Meta::Array(value.kind(), vec![]));
    }
    file.pair("no lists", &Meta::Array(ARRAY, vec![]));
    let texts = |texts: &[&str]| Meta::Array(TEXT, texts.iter().map(Meta::text).collect());
    let lists = Meta::Array(ARRAY, vec![texts(&["a", ""]), texts(&[]), Meta::Array(BOOL, vec![Meta::Bool(0)])]);
    file.pair("lists", &Meta::Array(ARRAY, vec![lists.clone(), nested(3), lists]));
    file.pair("last", &Meta::U8(1));
    file.tensor("b", &[2, 3], F32, &[1; 24]).tensor("a", &[32], Q4_0, &[2; 18]).tensor("empty", &[0], I8, &[]);
    file.data.resize(file.data.len().next_multiple_of(32), 0);
    file
}

#[test]
fn every_kind_of_value() {
    for (version, is_big) in [(1, false), (2, false), (3, false), (3, true)] {
        let bytes = everything(version, is_big).bytes();
        let file = File::open(&bytes).unwrap();
        let all = file.attributes();
        assert_eq!((all.length(), all.count()), (Some(42), 42));
        assert_eq!((all.get_u64("u8"), all.get_i64("i8")), (Some(200), Some(-3)));
        assert_eq!((all.get_u64("u16"), all.get_i64("i16")), (Some(60_000), Some(-300)));
        assert_eq!((all.get_u64("u32"), all.get_i64("i32")), (Some(4_000_000_000), Some(-70_000)));
        assert_eq!((all.get_u64("u64"), all.get_i64("i64")), (Some(u64::MAX), Some(i64::MIN)));
        assert_eq!((all.get_f64("f32"), all.get_f64("f64")), (Some(f64::from(0.1_f32)), Some(0.1)));
        assert_eq!((all.get_bool("bool"), all.get_str("text")), (Some(true), Some("Grüße")));
        assert_eq!(all.get("bytes").unwrap().as_bytes(), Some(&b"\xc3"[..]));
        assert_eq!(all.get_u64("last"), Some(1));
        // Wrong type, out of range, missing.
        assert_eq!((all.get_u64("i8"), all.get_i64("u64"), all.get_f64("u8")), (None, None, None));
        assert_eq!((all.get_str("bytes"), all.get_bool("u8"), all.get_u64("none")), (None, None, None));
        assert!(all.get_list("text").is_none() && all.get("u").is_none());
        for key in ["u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "text", "bytes", "u64", "i64", "f64"] {
            let items = all.get_list(&format!("list of {key}")).unwrap();
            assert_eq!(items.length(), Some(2), "{key}");
            let one = format!("{:?}", all.get(key).unwrap());
            let items: Vec<_> = items.map(|item| (item.key.is_none(), format!("{:?}", item.value))).collect();
            assert_eq!(items, [(true, one.clone()), (true, one)], "{key}");
            let empty = all.get_list(&format!("empty list of {key}")).unwrap();
            assert_eq!((empty.length(), empty.count()), (Some(0), 0), "{key}");
        }
        assert_eq!(all.get_list("no lists").unwrap().count(), 0);
        assert_eq!(shown(all.get_list("lists").unwrap()), "[[a,,],[],[false,],],[[[],],],[[a,,],[],[false,],],");
        // The number of remaining items.
        let mut items = all.get_list("lists").unwrap();
        items.next();
        assert_eq!((items.length(), items.error()), (Some(2), None));
    }
}

/// The values in a list.
fn shown(items: Attributes<'_>) -> String {
    let show = |item: tenslice::Attribute<'_>| match item.value {
        Value::Array(inside) => format!("[{}],", shown(inside)),
        Value::Text(text) => format!("{text},"),
        Value::Bool(truth) => format!("{truth},"),
        other => panic!("{other:?}"),
    };
    items.map(show).collect()
}

#[test]
fn sorted_keys_and_names_need_no_memory() {
    let mut file = Gguf::default();
    for i in 0..1100 {
        file.pair(format!("{i:05}"), &Meta::U8(0)).tensor(format!("{i:05}"), &[0], I8, &[]);
    }
    let bytes = file.bytes();
    let file = File::open(&bytes).unwrap();
    assert!(file.warnings().is_empty());
    let error = file.find("00001").unwrap().sparse(ReadOptions::new()).map(drop).unwrap_err();
    assert_eq!(error.offset(), Some(FIRST + 1100 * (8 + 5 + 4 + 1) + 8 + 5 + 4 + 8 + 4 + 8));
}

#[test]
fn repeated_keys_and_names() {
    let file = |count: usize, again: Option<usize>, of_tensors: bool| {
        let mut file = Gguf::default();
        // In descending order, so that all have to be compared.
        for i in (0..count).rev().chain(again) {
            let name = format!("{i:05}");
            match of_tensors {
                true => file.tensor(name, &[0], I8, &[]),
                false => file.pair(name, &Meta::texts(["a".into(), "b".into()].into_iter())),
            };
        }
        file
    };
    let unchecked = [Warning::KeysUnchecked, Warning::NamesUnchecked];
    let kinds = [(ErrorKind::RepeatedKey, Part::Key), (ErrorKind::RepeatedName, Part::Name)];
    let messages = ["a key appears twice", "a tensor name appears twice"];
    for (of_tensors, warning) in [(false, unchecked[0]), (true, unchecked[1])] {
        let (expected, message) = (kinds[usize::from(of_tensors)], messages[usize::from(of_tensors)]);
        // Up to 1024 are compared without memory, including the repeated one.
        assert!(File::open(&file(1024, None, of_tensors).bytes()).unwrap().warnings().is_empty());
        for again in [0, 500, 1022] {
            let file = file(1023, Some(again), of_tensors);
            let bytes = file.bytes();
            let error = File::open(&bytes).unwrap_err();
            let last =
                if of_tensors { file.infos.len() - 13 - 4 - 8 - 4 - 8 } else { file.pairs.len() - 13 - 4 - 30 };
            assert_eq!((error.kind(), error.part()), expected);
            assert_eq!(error.offset(), Some(FIRST + last as u64));
            let message = format!("gguf 3: {message}: \"{again:05}\" [at byte {}]", FIRST + last as u64);
            assert_eq!(error.explain(&bytes[..]).to_string(), message);
        }
        // Beyond 1024, comparing needs memory: at least an eighth of a word for each.
        let bytes = file(1025, None, of_tensors).bytes();
        let sound = File::open(&bytes).unwrap();
        assert_eq!(sound.warnings().iter().collect::<Vec<_>>(), [warning]);
        assert_eq!(sound.check_length(), Some(1025));
        assert!(check_with_any_memory(&sound).unwrap().is_empty());
        assert!(sound.check(&mut [0; 129]).unwrap().is_empty());
        for words in [0, 1, 7, 128] {
            assert_eq!(sound.check(&mut vec![0; words]).unwrap_err().kind(), ErrorKind::OutOfScratch);
        }
        for again in [0, 512, 1023] {
            let bytes = file(1024, Some(again), of_tensors).bytes();
            let opened = File::open(&bytes).unwrap();
            assert!(opened.warnings().contains(warning));
            let error = check_with_any_memory(&opened).unwrap_err();
            assert_eq!((error.kind(), error.part()), expected);
        }
    }
    // Ascending names are not compared at all.
    let mut sorted = Gguf::default();
    for i in 0..3000 {
        sorted.pair(format!("{i:05}"), &Meta::U8(0));
    }
    assert!(File::open(&sorted.bytes()).unwrap().warnings().is_empty());
}

/// If the start of the file is not available, the message assumes the number encoding of most files.
#[test]
fn a_message_without_the_head() {
    let bytes = Gguf::default().info("twice", &[0], I8, 0).info("twice", &[0], I8, 0).bytes();
    let error = File::open(&bytes).unwrap_err();
    let at = FIRST + 8 + 5 + 4 + 8 + 4 + 8;
    let message = |version| format!("gguf{version}: a tensor name appears twice: \"twice\" [at byte {at}]");
    assert_eq!(error.explain(&bytes[..]).to_string(), message(" 3"));
    let mut source = Source::new(bytes.len() as u64);
    source.add(FIRST, &bytes[FIRST as usize..]).unwrap();
    assert_eq!(error.explain(&source).to_string(), message(""));
}

#[test]
fn parts_of_a_model() {
    let part = |count: u16, tensors: Option<i32>| {
        let mut file = Gguf::default();
        file.pair("split.no", &Meta::U16(1)).pair("split.count", &Meta::U16(count));
        if let Some(tensors) = tensors {
            file.pair("split.tensors.count", &Meta::I32(tensors));
        }
        file.bytes()
    };
    let split = |bytes: &[u8]| File::open(bytes).unwrap().as_gguf().unwrap().split();
    assert_eq!(split(&part(3, Some(5))), Some(Split { index: 1, count: 3, tensors: Some(5) }));
    assert_eq!(split(&part(2, None)), Some(Split { index: 1, count: 2, tensors: None }));
    assert_eq!((split(&part(1, Some(1))), split(&tensor(&[1], I8, 1))), (None, None));

    let name = PartName::parse("m-00002-of-00003.gguf").unwrap();
    assert_eq!((name.prefix, name.index, name.count, name.to_string()), ("m", 1, 3, "m-00002-of-00003.gguf".into()));
}

#[test]
fn numbers_of_a_big_endian_file() {
    let numbers: [f32; 3] = [1.5, -2.0, 3.25];
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
    let mut file = Gguf::new(3, true);
    file.tensor("plain", &[3], F32, &bytes).tensor("blocks", &[32], Q8_0, &[1; 34]);
    let bytes = file.tensor("bytes", &[32], MXFP4, &[0x80; 17]).bytes();
    let file = File::open(&bytes).unwrap();
    let plain = file.find("plain").unwrap();
    assert_eq!((plain.dtype(), plain.data().unwrap().byte_order()), (Some(DType::F32), ByteOrder::Big));
    assert_eq!(plain.read_elements(&mut [0.0; 3], ReadOptions::new()).unwrap(), numbers);
    let blocks = file.find("blocks").unwrap();
    assert_eq!(blocks.component("data").unwrap().bytes().unwrap(), [1; 34]);
    #[cfg(feature = "dequantize")]
    {
        let mut read = [7.0; 32];
        assert_eq!(plain.read_f32_into(&mut read, ReadOptions::new()).unwrap(), numbers);
        plain.read_f32_range(1, &mut read[..2]).unwrap();
        assert_eq!(read[..2], numbers[1..]);
        let mut read = [7.0; 32];
        let foreign = ErrorKind::ForeignEndian;
        assert_eq!(blocks.read_f32_into(&mut read, ReadOptions::new()).unwrap_err().kind(), foreign);
        assert_eq!(blocks.read_f32_range(0, &mut read).unwrap_err().kind(), foreign);
        assert_eq!(read, [7.0; 32]);
        // These blocks contain bytes only.
        let numbers = file.find("bytes").unwrap().read_f32_into(&mut read, ReadOptions::new()).unwrap();
        assert_eq!(numbers.len(), 32);
        assert_ne!(numbers, [7.0; 32]);
    }
}

#[test]
fn every_prefix_in_parts_equals_the_whole() {
    for (version, is_big) in [(1, false), (2, false), (3, false), (3, true)] {
        let bytes = everything(version, is_big).bytes();
        let same = |bytes: &[u8], given: &[(usize, usize)]| {
            let mut source = Source::new(bytes.len() as u64);
            match (File::open(bytes), open_in_parts(bytes, given, &mut source)) {
                (Ok(whole), Ok(parts)) => assert_eq!(describe(&whole), describe(&parts), "{given:?}"),
                (whole, parts) => assert_eq!(whole.map(drop), parts.map(drop), "{given:?}"),
            }
        };
        for cut in 0..=bytes.len() {
            same(&bytes[..cut], &[]);
            same(&bytes, &[(0, cut), (cut, bytes.len())]);
            same(&bytes, &[(cut, bytes.len())]);
            same(&bytes, &[(0, cut / 2), (cut, bytes.len())]);
        }
        let mut random = Random(u64::from(version));
        for _ in 0..300 {
            let cuts: Vec<_> = (0..random.below(6)).map(|_| random.below(bytes.len())).collect();
            same(
                &bytes,
                &cuts.iter().map(|from| (*from, from + random.below(bytes.len() - from))).collect::<Vec<_>>(),
            );
        }
    }
}

/// The requests that opening a file made.
struct Fetched {
    needs: Vec<Need>,
    kept: u64,
}

/// Fetches the requested ranges of a file until it is open. The file begins with `head`; all other bytes are zero.
fn fetch<'a>(source: &mut Source<'a>, head: &'a [u8]) -> Result<Fetched, Error> {
    let mut fetched = Fetched { needs: Vec::new(), kept: 0 };
    while let Opened::Need(need) = File::open_source(source)? {
        assert!(!fetched.needs.contains(&need), "asked again for {need:?}");
        assert!(need.extent.is_within(source.length()) && need.extent.offset <= head.len() as u64, "{need:?}");
        let (from, length) = (need.extent.offset as usize, need.extent.length as usize);
        let there = &head[from..head.len().min(from + length)];
        // Memory of its own for each range, as in a program that reads from a disk.
        let bytes = [there, &vec![0; length - there.len()]].concat();
        source.add(need.extent.offset, bytes.leak())?;
        fetched.kept += if need.keep { need.extent.length } else { 0 };
        fetched.needs.push(need);
    }
    Ok(fetched)
}

const TOKENS: usize = 150_000;

/// A model with a vocabulary, without its data. Also returns the offset of the tokens, and the length of the file.
fn model() -> (Vec<u8>, u64, u64) {
    let mut file = Gguf::default();
    file.pair("general.architecture", &Meta::text("llama")).pair("llama.block_count", &Meta::U32(32));
    file.pair("tokenizer.ggml.model", &Meta::text("gpt2"));
    // After the key and its length come the types of list and elements, and the count.
    let tokens_at = FIRST as usize + file.pairs.len() + 8 + 21 + 4 + 4 + 8;
    file.pair("tokenizer.ggml.tokens", &Meta::texts((0..TOKENS).map(|i| format!("token{i:06}"))));
    let scores = (0..TOKENS).map(|i| Meta::F32(-(i as f32))).collect();
    file.pair("tokenizer.ggml.scores", &Meta::Array(6, scores));
    file.pair("tokenizer.ggml.token_type", &Meta::Array(5, vec![Meta::I32(1); TOKENS]));
    file.pair("tokenizer.ggml.merges", &Meta::texts((0..TOKENS).map(|i| format!("Ġto ken{i:06}"))));
    file.pair("tokenizer.ggml.bos_token_id", &Meta::U32(1)).pair("tokenizer.chat_template", &Meta::text("{{ x }}"));
    file.pair("general.quantization_version", &Meta::U32(2));
    let mut offset = 0;
    for i in 0..300 {
        file.info(format!("blk.{:02}.ffn_{:02}.weight", i / 10, i % 10), &[4096, 30_720], Q8_0, offset);
        offset += 4096 / 32 * 34 * 30_720;
    }
    let head = file.head();
    let length = head.len() as u64 + offset;
    (head, tokens_at as u64, length)
}

#[test]
fn a_model_opens_with_few_requests() {
    let (head, tokens_at, length) = model();
    assert!(length > 40_000_000_000 && head.len() > 7_000_000, "{length} {}", head.len());
    let mut source = Source::new(length);
    let Fetched { needs, kept } = fetch(&mut source, &head).unwrap();
    let (lasting, transient): (Vec<&Need>, Vec<&Need>) = needs.iter().partition(|need| need.keep);
    println!("{} requests, {} of them kept: {kept} bytes of {}", needs.len(), lasting.len(), head.len());
    needs.iter().for_each(|need| println!("{need:?}"));
    assert!(lasting.len() <= 8 && transient.len() <= 8, "{needs:?}");
    assert!(transient.iter().all(|need| need.extent.length <= 1 << 20), "{needs:?}");
    assert!(kept <= 2 << 20, "{kept}");

    let Opened::File(file) = File::open_source(&source).unwrap() else { panic!() };
    assert!(file.warnings().is_empty());
    let keys: Vec<_> = file.attributes().map(|pair| pair.key.unwrap().as_text().unwrap().to_string()).collect();
    assert_eq!(
        (keys.len(), &keys[3][..], &keys[9][..]),
        (10, "tokenizer.ggml.tokens", "general.quantization_version")
    );
    let get = |key| file.attributes().get(key).unwrap();
    assert_eq!(get("general.architecture").as_str(), Some("llama"));
    assert_eq!(get("tokenizer.chat_template").as_str(), Some("{{ x }}"));
    assert_eq!(get("tokenizer.ggml.bos_token_id").as_u64(), Some(1));
    assert_eq!(get("general.quantization_version").as_u64(), Some(2));
    for key in ["tokens", "scores", "token_type", "merges"] {
        let list = file.attributes().get_list(&format!("tokenizer.ggml.{key}")).unwrap();
        assert_eq!(list.length(), Some(TOKENS as u64), "{key}");
        // The error of a value that is not in memory has the missing extent.
        let extent = list.extent().unwrap();
        if key == "tokens" {
            assert_eq!((extent.offset, extent.length), (tokens_at, 19 * TOKENS as u64));
        }
        let mut items = list;
        let read = items.by_ref().count() as u64;
        let error = items.error().unwrap();
        let left = items.extent().unwrap();
        assert!(left.offset > extent.offset && left.offset + left.length == extent.offset + extent.length, "{key}");
        assert_eq!(error.kind(), ErrorKind::NotInMemory, "{key}");
        assert!(items.next().is_none() && items.error() == Some(error) && items.length() == Some(0), "{key}");
        assert!(read < TOKENS as u64 && error.offset().is_some_and(|at| at < head.len() as u64), "{key}");
        if key == "tokens" {
            let missing = tokens_at + read * 19;
            assert!(
                error.offset() == Some(missing) || error.offset() == Some(missing + 8),
                "{error:?}, not {missing}"
            );
        }
    }
    assert_eq!(file.tensor_count(), 300);
    for (i, tensor) in file.tensors().enumerate() {
        assert_eq!(tensor.name(), &format!("blk.{:02}.ffn_{:02}.weight", i / 10, i % 10)[..]);
        assert_eq!(tensor.shape(), [30_720, 4096][..]);
        let data = tensor.component("data").unwrap();
        assert_eq!(data.extent().length, 4096 / 32 * 34 * 30_720);
        assert_eq!(data.bytes().unwrap_err().kind(), ErrorKind::NotInMemory);
    }
    assert_eq!(file.tensors().error(), None);
    assert_eq!(file.as_gguf().unwrap().infos().count(), 300);
    assert_eq!(file.find("blk.29.ffn_09.weight").unwrap().index(), 299);
    assert!(file.check(&mut [0; 10]).unwrap().is_empty());

    // A program that wants the tokens adds their bytes, to the same source or to another one.
    let tokens = file.attributes().get_list("tokenizer.ggml.tokens").and_then(|list| list.extent()).unwrap();
    let (from, to) = (tokens.offset as usize, (tokens.offset + tokens.length) as usize);
    let mut other = Source::new(length);
    other.add(tokens_at, &head[from..to]).unwrap();
    fetch(&mut other, &head).unwrap();
    source.add(tokens_at, &head[from..to]).unwrap();
    for source in [source, other] {
        let Opened::File(file) = File::open_source(&source).unwrap() else { panic!() };
        let mut tokens = file.attributes().get_list("tokenizer.ggml.tokens").unwrap();
        for i in 0..TOKENS {
            assert_eq!(tokens.next().unwrap().value.as_str(), Some(&format!("token{i:06}")[..]));
        }
        assert_eq!((tokens.next().is_none(), tokens.error()), (true, None));
    }
}

/// `count` lists of 5000 strings.
fn long_lists(count: usize) -> Gguf {
    let mut file = Gguf::default();
    for i in (0..count).rev() {
        file.pair(format!("{i:02}"), &Meta::texts((0..5000).map(|i| format!("{i:0100}"))));
        file.pair(format!("{i:02} bool"), &Meta::Array(BOOL, vec![Meta::Bool(1); 70_000]));
    }
    file.pair("last", &Meta::U8(7)).tensor("b", &[1], I8, &[1]).tensor("a", &[1], I8, &[2]);
    file
}

#[test]
fn more_long_lists_than_a_source_caches() {
    let bytes = long_lists(12).bytes();
    let whole = File::open(&bytes).unwrap();
    let mut source = Source::new(bytes.len() as u64);
    let Fetched { needs, kept } = fetch(&mut source, &bytes).unwrap();
    println!("{} requests, {kept} bytes kept of {}", needs.len(), bytes.len());
    let Opened::File(file) = File::open_source(&source).unwrap() else { panic!() };
    assert_eq!(file.attributes().get_u64("last"), Some(7));
    assert!(file.tensors().map(|t| t.name()).eq(["b", "a"]));
    // The last lists are in memory, the first are not.
    let read = |file: &File<'_>, key| {
        let mut items = file.attributes().get_list(key).unwrap();
        (items.by_ref().count(), items.error().map(|error| error.kind()))
    };
    assert_eq!(read(&file, "11").1, Some(ErrorKind::NotInMemory));
    assert_eq!(read(&file, "00"), (5000, None));
    assert_eq!(read(&whole, "11"), (5000, None));
}

/// Adding a range again changes nothing. A list takes one of the source's slots for ranges.
#[test]
fn ranges_added_twice() {
    let bytes = long_lists(3).bytes();
    let needs = |times: usize| {
        let (mut source, mut needs) = (Source::new(bytes.len() as u64), Vec::new());
        while let Opened::Need(need) = File::open_source(&source).unwrap() {
            let (from, length) = (need.extent.offset as usize, need.extent.length as usize);
            for _ in 0..times {
                source.add(need.extent.offset, &bytes[from..from + length]).unwrap();
            }
            needs.push(need);
        }
        needs
    };
    let once = needs(1);
    assert!(once.iter().any(|need| !need.keep), "{once:?}");
    assert_eq!(needs(9), once);
}

#[test]
fn long_lists_in_any_parts() {
    let sound = long_lists(4);
    let mut random = Random(11);
    let mut broken = sound.clone();
    broken.raw_pair("k", BOOL, &[2]);
    let mut cut_short = sound.clone();
    cut_short.raw_pair("k", ARRAY, &[&TEXT.to_le_bytes()[..], &5000_u64.to_le_bytes(), &[0; 20_000]].concat());
    let mut in_list = sound.clone();
    let list = in_list.value(&Meta::Array(BOOL, vec![Meta::Bool(1); 3_000_000]));
    in_list.raw_pair("k", ARRAY, &with(list, 2_500_000, &[3]));
    // Only the end of the outermost list is cached.
    let mut nested = sound.clone();
    let long = Meta::texts((0..5000).map(|i| format!("{i:0100}")));
    nested.pair("lists", &Meta::Array(ARRAY, vec![long, Meta::texts(["a".to_owned()].into_iter())]));
    for bytes in [sound.bytes(), broken.bytes(), cut_short.bytes(), in_list.bytes(), nested.bytes()] {
        let whole = File::open(&bytes);
        let mut source = Source::new(bytes.len() as u64);
        source.add(0, &bytes).unwrap();
        assert_eq!(fetch(&mut source, &bytes).map(|fetched| fetched.needs), whole.map(|_| Vec::new()));
        for round in 0..20 {
            let mut source = Source::new(bytes.len() as u64);
            for _ in 0..round % 5 {
                let from = random.below(bytes.len());
                source.add(from as u64, &bytes[from..][..random.below(bytes.len() - from)]).unwrap();
            }
            let result = fetch(&mut source, &bytes).map(|fetched| fetched.needs.len());
            assert_eq!(whole.map(drop), result.map(drop));
            if let (Ok(whole), Ok(Opened::File(parts))) = (whole, File::open_source(&source)) {
                let [mut one, mut other] = [whole, parts].map(|file| file.attributes().map(|pair| pair.key.unwrap()));
                let text = |key: Value<'_>| key.as_text().unwrap().to_string();
                assert!(one.by_ref().map(text).eq(other.by_ref().map(text)));
                assert!(whole.tensors().map(|t| t.name()).eq(parts.tensors().map(|t| t.name())));
                assert_eq!(whole.as_gguf().unwrap().data_offset(), parts.as_gguf().unwrap().data_offset());
            }
        }
    }
}

/// The bytes around the text are provided, so that nothing requests it.
#[test]
fn long_texts_outside_of_memory() {
    let text = "x".repeat(4096); // the shortest long text
    let mut file = Gguf::default();
    let bytes = file.pair("a", &Meta::U8(1)).pair("long", &Meta::text(&text)).pair("z", &Meta::U8(2)).bytes();
    let start = bytes.windows(2).position(|two| two == b"xx").unwrap();
    let end = start + text.len();
    let mut source = Source::new(bytes.len() as u64);
    source.add(0, &bytes[..start + 4]).unwrap();
    source.add(end as u64 - 4, &bytes[end - 4..]).unwrap();
    let Opened::File(file) = File::open_source(&source).unwrap() else { panic!() };
    let mut all = file.attributes();
    assert_eq!(all.by_ref().map(|pair| pair.key.unwrap().as_str()).collect::<Vec<_>>(), [Some("a")]);
    let error = all.error().unwrap();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::NotInMemory, Some(start as u64)));
    assert_eq!((file.attributes().get_u64("z"), file.attributes().get("long").is_some()), (Some(2), false));

    source.add(start as u64, &bytes[start..]).unwrap();
    let Opened::File(file) = File::open_source(&source).unwrap() else { panic!() };
    assert_eq!(file.attributes().get("long").unwrap().as_str(), Some(&text[..]));
    assert_eq!(file.attributes().count(), 3);
}

/// Short texts are requested wherever they are; long ones are not.
#[test]
fn short_texts_are_in_memory() {
    let text = Meta::text("x".repeat(4095));
    let list = |kind, item: &Meta| Meta::Array(kind, vec![item.clone()]);
    for value in [text.clone(), list(TEXT, &text), list(ARRAY, &list(TEXT, &text))] {
        let bytes = Gguf::default().pair("k", &value).pair("l", &Meta::U8(1)).bytes();
        let start = bytes.windows(2).position(|two| two == b"xx").unwrap();
        let mut source = Source::new(bytes.len() as u64);
        source.add(0, &bytes[..start + 4]).unwrap();
        source.add(start as u64 + 4091, &bytes[start + 4091..]).unwrap();
        let Fetched { needs, .. } = fetch(&mut source, &bytes).unwrap();
        assert!(matches!(needs[..], [Need { keep: true, .. }]), "{needs:?}");
        let Opened::File(file) = File::open_source(&source).unwrap() else { panic!() };
        assert_eq!(describe(&file), describe(&File::open(&bytes).unwrap()));
    }
}

/// Nothing follows the list, and the keys have to be compared.
#[test]
fn long_lists_at_the_end_of_the_file() {
    for kind in [TEXT, BOOL] {
        let list = match kind {
            TEXT => Meta::texts((0..5000).map(|i| format!("{i:0100}"))),
            _ => Meta::Array(BOOL, vec![Meta::Bool(1); 200_000]),
        };
        let mut file = Gguf::default();
        file.pair("b", &Meta::U8(7)).pair("a", &list).alignment = 1;
        let bytes = file.bytes();
        let mut source = Source::new(bytes.len() as u64);
        let Fetched { needs, kept } = fetch(&mut source, &bytes).unwrap();
        assert!(kept < 100_000 && needs.iter().all(|need| need.extent.length > 0), "{needs:?}");
        let Opened::File(file) = File::open_source(&source).unwrap() else { panic!() };
        let all = file.attributes();
        assert_eq!((all.count(), all.get_u64("b")), (2, Some(7)));
        assert!(all.get_list("a").unwrap().length() >= Some(5000));
        assert!(file.check(&mut [0]).unwrap().is_empty());
    }
}

/// A huge length that fits the file must not make the caller fetch gigabytes.
#[test]
fn lengths_in_a_large_file() {
    const LENGTH: u64 = 40 << 30;
    let refused = |head: &[u8]| {
        let mut source = Source::new(LENGTH);
        let error = fetch(&mut source, head).err().unwrap();
        assert!(File::open_source(&source).is_err_and(|again| again == error));
        (error.kind(), error.part(), error.offset())
    };
    let large = (30_u64 << 30).to_le_bytes();
    let key = with(pair("k", &Meta::U8(1)), FIRST, &large);
    assert_eq!(refused(&key), (ErrorKind::ManifestTooLarge, Part::Key, Some(FIRST)));
    let key = with(key, FIRST, &70_000_u64.to_le_bytes());
    assert_eq!(refused(&key), (ErrorKind::InvalidName, Part::Key, Some(FIRST)));
    let value = with(pair("k", &Meta::text("abcdefghij")), 37, &large);
    assert_eq!(refused(&value), (ErrorKind::ManifestTooLarge, Part::Value, Some(37)));
    let name = with(tensor(&[1], I8, 1), FIRST, &large);
    assert_eq!(refused(&name), (ErrorKind::ManifestTooLarge, Part::Name, Some(FIRST)));
    for kind in [U8_VALUE, U32_VALUE, BOOL, TEXT, ARRAY] {
        let start = [&kind.to_le_bytes()[..], &(1_u64 << 30).to_le_bytes()].concat();
        let head = Gguf::default().raw_pair("k", ARRAY, &start).bytes();
        assert_eq!(refused(&head), (ErrorKind::ManifestTooLarge, Part::Value, Some(41)), "{kind}");
    }
    // The list ends within the limit, and the pair after it exceeds the limit.
    let mut file = Gguf::default();
    let list = FIRST + 13 + 12;
    let start = [&U8_VALUE.to_le_bytes()[..], &((1 << 30) - list - 13).to_le_bytes()].concat();
    file.raw_pair("k", ARRAY, &start).alignment = 1;
    file.pair_count = 2;
    let (head, after) = (file.bytes(), Gguf::default().pair("l", &Meta::U32(1)).pairs.clone());
    let (end, mut source) = ((1_u64 << 30) - 13, Source::new(LENGTH));
    source.add(0, &head).unwrap();
    source.add(end, &after).unwrap();
    let error = File::open_source(&source).map(drop).unwrap_err();
    let expected = (ErrorKind::ManifestTooLarge, Part::Value, Some(end + 17));
    assert_eq!((error.kind(), error.part(), error.offset()), expected);
    // A list that ends exactly at the largest header.
    let start = [&U8_VALUE.to_le_bytes()[..], &((1 << 30) - list).to_le_bytes()].concat();
    let head = Gguf::default().raw_pair("k", ARRAY, &start).bytes();
    let mut source = Source::new(LENGTH);
    source.add(0, &head).unwrap();
    assert!(matches!(File::open_source(&source), Ok(Opened::File(_))));
    let counts = with(Gguf::default().bytes(), 16, &(1_u64 << 31).to_le_bytes());
    assert_eq!(refused(&counts), (ErrorKind::CountTooLarge, Part::Attributes, Some(16)));
}

/// A file that ends inside of an info or with it: the error names the missing field.
#[test]
fn truncated_infos() {
    let mut file = Gguf::default();
    let whole = file.pair("k", &Meta::text("x".repeat(100))).tensor("t", &[], I8, &[1]).bytes();
    let start = FIRST as usize + file.pairs.len();
    let name = start + 8 + 1;
    let is_cut = |end: usize, kind, item, at: usize| {
        let error = File::open(&whole[..end]).unwrap_err();
        assert_eq!((error.kind(), error.part(), error.offset()), (kind, item, Some(at as u64)), "{end}");
        // The last field in memory may also be incomplete.
        for there in start..end {
            let mut source = Source::new(end as u64);
            let parts = open_in_parts(&whole[..end], &[(0, there)], &mut source);
            assert_eq!(parts.unwrap_err(), error, "{there} of {end}");
        }
    };
    for (from, to, item) in [
        (start, start + 7, Part::Name),
        (name, name + 3, Part::Shape),
        (name + 4, name + 7, Part::DType),
        (name + 8, name + 15, Part::Offset),
    ] {
        for end in from..=to {
            is_cut(end, ErrorKind::Truncated, item, end);
        }
    }
    is_cut(name + 16, ErrorKind::OutOfFile, Part::Offset, name + 8);
}

#[test]
fn empty_files_with_trailing_bytes() {
    let mut bytes = [&b"GGUF\x03\0\0\0"[..], &[0; 16]].concat();
    assert_eq!(File::open(&bytes).unwrap().tensor_count(), 0);
    bytes.resize(32, 0); // up to the alignment
    assert!(File::open(&bytes).unwrap().warnings().is_empty());
    bytes.push(0);
    let error = File::open(&bytes).unwrap_err();
    assert_eq!((error.kind(), error.part(), error.offset()), (ErrorKind::UnclaimedBytes, Part::Tensors, Some(24)));
}

/// The elements of a list have no keys, even if their bytes spell one.
#[test]
fn lookup_ignores_list_elements() {
    let pair = [&1_u64.to_le_bytes()[..], b"a", &0_u32.to_le_bytes(), &[7]].concat();
    let numbers = pair.iter().map(|byte| Meta::U8(*byte)).collect();
    let mut file = Gguf::default();
    let bytes = file.pair("list", &Meta::Array(0, numbers)).pair("a", &Meta::U8(8)).bytes();
    let attributes = File::open(&bytes).unwrap().attributes();
    let list = attributes.get_list("list").unwrap();
    assert_eq!((list.get("a").map(|value| value.kind()), list.length()), (None, Some(pair.len() as u64)));
    assert_eq!(attributes.get_u64("a"), Some(8));
}
