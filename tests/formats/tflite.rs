//! TFLite: the fixtures, every rule, quantized numbers, sparse tensors, texts, and files read in parts.
#![cfg(feature = "tflite")]

use crate::support::flatbuffers::{Slot, Tables};
use crate::support::tflite::{Dimension, Held, Made, Quantized, Sparse, Tflite};
use crate::support::{cases_of, damaged, fixture, open_in_parts};
use tenslice::tflite::Texts;
use tenslice::{
    DType, ErrorKind, File, Format, Layout, Need, Opened, Part, Purpose, ReadOptions, Source, Tensor, Value,
};

const F32: i8 = 0;
const TEXT: i8 = 5;
const I8: i8 = 9;
const INT4: i8 = 17;

/// Checks that a file is rejected, whole and in parts, and its message.
#[track_caller]
fn refused(bytes: &[u8], kind: ErrorKind, item: Part, message: &str) {
    let error = File::open(bytes).unwrap_err();
    let full = error.explain(bytes).to_string();
    assert_eq!((error.kind(), error.part(), error.format()), (kind, item, Format::Tflite), "{full}");
    assert!(full.contains(message), "{full}");
    for cut in (0..=bytes.len()).step_by(7) {
        let mut source = Source::new(bytes.len() as u64);
        let parts = open_in_parts(bytes, &[(0, cut), (cut, bytes.len())], &mut source);
        assert_eq!(parts.unwrap_err(), error, "cut at {cut}");
    }
}

/// A model with one tensor.
fn one(made: Made, bytes: &[u8]) -> Vec<u8> {
    let mut model = Tflite::default();
    let buffer = model.buffer(Held::Inside(bytes.to_vec()));
    model.add(Made { buffer, name: b"t".to_vec(), ..made }).bytes()
}

#[test]
fn the_verdicts_of_the_fixtures() {
    let mut counts = [0; 2];
    for case in cases_of("tflite") {
        let opened = File::open(&case.bytes);
        let verified = opened.and_then(|file| file.verify(ReadOptions::new()));
        let verdict = if case.is_seen_at_open() { opened.map(drop) } else { verified.map(drop) };
        let expected = case.expect();
        assert!(expected != "reject" || verdict.is_err(), "{}", case.name());
        assert!(!expected.starts_with("accept") || opened.is_ok(), "{}: {opened:?}", case.name());
        counts[usize::from(verdict.is_ok())] += 1;
    }
    assert!(counts[0] > 120 && counts[1] > 18, "{counts:?}");
    for file in damaged("tflite") {
        assert_eq!(File::open(&file.bytes).is_err(), file.expect == "reject", "{}", file.name);
    }
}

#[test]
fn what_a_model_has() {
    let mut model = Tflite { description: b"made".to_vec(), ..Tflite::default() };
    model.tensor("w", F32, &[2, 3], &[7; 24]);
    model.add(Made { name: b"activation".to_vec(), shape: vec![-1, 3], kind: 13, ..Made::default() });
    model.tensor("b", I8, &[3], &[1, 2, 3]);
    model.subgraphs.push(Vec::new());
    model.tensor("w", I8, &[1], &[9]);
    let buffer = model.buffer(Held::Inside(b"1.5.0".to_vec()));
    model.metadata = vec![(b"min_runtime_version".to_vec(), buffer), (b"none".to_vec(), 0)];
    let bytes = model.bytes();
    let file = File::open(&bytes).unwrap();
    assert_eq!((file.format(), file.version(), file.tensor_count()), (Format::Tflite, Some("3"), 3));
    assert!(file.warnings().is_empty());
    assert_eq!(file.attributes().get_str("description"), Some("made"));
    let metadata = ["min_runtime_version", "none"].map(|key| file.attributes().get(key).unwrap());
    assert_eq!(metadata.map(|value| value.as_bytes().unwrap().len()), [5, 0]);
    let all: Vec<Tensor<'_>> = file.tensors().collect();
    assert!(all.iter().map(|tensor| tensor.name().to_string()).eq(["w", "b", "w"]));
    assert_eq!((all[0].dtype(), all[0].layout()), (Some(DType::F32), Layout::Dense));
    assert!(all[0].shape() == [2, 3] && all[0].attributes().next().is_none());
    assert_eq!(all[1].data().unwrap().bytes().unwrap(), [1, 2, 3]);
    let data = all[0].data().unwrap();
    assert_eq!((data.dtype(), data.storage_dtype()), (Some(DType::F32), Some(DType::F32)));
    assert_eq!((all[2].attributes().get_u64("subgraph"), all[2].index()), (Some(1), 2));
    assert_eq!(file.find("w").unwrap().index(), 0); // the first
    assert_eq!(file.find("activation").unwrap_err().kind(), ErrorKind::NotFound);
    let mut words = vec![0; file.index_length().unwrap()];
    let index = file.index(&mut words).unwrap();
    assert_eq!((index.find("w").unwrap().index(), index.find("b").unwrap().index()), (0, 1));
    let subgraphs: Vec<_> = file.as_tflite().unwrap().subgraphs().map(|graph| (graph.name, graph.tensors)).collect();
    assert_eq!(subgraphs, [("graph", 3), ("graph", 1)]);
    assert_eq!(File::open(&Tflite::default().bytes()).unwrap().tensor_count(), 0);
}

/// Only tensors with bytes are listed, and only their types and shapes count.
#[test]
fn what_is_a_constant() {
    let mut model = Tflite::default();
    let empty = model.buffer(Held::Inside(Vec::new()));
    let unset = [Held::Outside(0, 8), Held::Outside(1, 8), Held::Outside(8, 0)].map(|held| model.buffer(held));
    for buffer in unset.into_iter().chain([0, empty]) {
        model.add(Made { shape: vec![-5], kind: 99, buffer, ..Made::default() });
    }
    assert_eq!(File::open(&model.bytes()).unwrap().tensor_count(), 0);
    model.buffers[0] = Held::Inside(vec![1, 2]); // no tensor uses buffer 0
    assert_eq!(File::open(&model.bytes()).unwrap().tensor_count(), 0);
    let buffer = model.buffer(Held::Outside(2, 4));
    model.add(Made { name: b"o".to_vec(), kind: F32, buffer, ..Made::default() });
    let bytes = model.bytes();
    let file = File::open(&bytes).unwrap();
    let data = file.find("o").unwrap().data().unwrap();
    assert_eq!((data.extent().offset, data.bytes().unwrap()), (2, &bytes[2..6]));
}

#[test]
fn models() {
    for version in [0, 2, 4, u32::MAX] {
        let bytes = Tflite { version, ..Tflite::default() }.bytes();
        refused(&bytes, ErrorKind::UnsupportedVersion, Part::Version, &format!("not supported: {version} "));
    }
    let none = Tflite { subgraphs: Vec::new(), ..Tflite::default() }.bytes();
    refused(&none, ErrorKind::MissingKey, Part::Tensors, "\"subgraphs\"");
    let description = Tflite { description: b"\xff".to_vec(), ..Tflite::default() }.bytes();
    refused(&description, ErrorKind::InvalidUtf8, Part::Attributes, "");
    let metadata = |name: &[u8], buffer| Tflite { metadata: vec![(name.to_vec(), buffer)], ..Tflite::default() };
    refused(&metadata(b"\xff", 0).bytes(), ErrorKind::InvalidUtf8, Part::Key, "");
    refused(&metadata(b"a", 1).bytes(), ErrorKind::OutOfPlace, Part::Components, "no buffer with the number");
    let mut named = Tflite::default();
    named.add(Made { name: b"\xff".to_vec(), ..Made::default() });
    refused(&named.bytes(), ErrorKind::InvalidUtf8, Part::Name, "name: the text is not valid UTF-8");
    let mut far = Tflite::default();
    far.add(Made { name: b"x".to_vec(), buffer: 1, ..Made::default() });
    refused(
        &far.bytes(),
        ErrorKind::OutOfPlace,
        Part::Components,
        "tensor \"x\": components: the model has no buffer",
    );
    assert!(File::open(&Tflite { buffers: Vec::new(), ..Tflite::default() }.bytes()).is_ok());
    // Buffer 0 stands for none, whether or not there is one.
    let mut none = Tflite { buffers: Vec::new(), metadata: vec![(b"m".to_vec(), 0)], ..Tflite::default() };
    none.add(Made { name: b"x".to_vec(), buffer: 0, ..Made::default() });
    assert_eq!(File::open(&none.bytes()).unwrap().tensor_count(), 0);
}

#[test]
fn buffers() {
    let outside = |offset, size| {
        let mut model = Tflite { rest: vec![0; 8], ..Tflite::default() };
        model.buffer(Held::Outside(offset, size));
        model.bytes()
    };
    let length = outside(2, 1).len() as u64;
    assert_eq!(outside(length - 8, 8).len() as u64, length);
    for (offset, size) in [(length - 8, 8), (length, 0), (2, length - 2)] {
        assert!(File::open(&outside(offset, size)).is_ok());
    }
    for (offset, size) in [(length - 8, 9), (length, 1), (u64::MAX, 2), (2, u64::MAX)] {
        refused(&outside(offset, size), ErrorKind::OutOfFile, Part::Data, "");
    }
    let truncated = outside(length, 5);
    refused(&truncated, ErrorKind::OutOfFile, Part::Data, "5 bytes at offset");
}

#[test]
fn element_types() {
    use tenslice::DType as D;
    let all = [
        (0, D::F32),
        (1, D::F16),
        (2, D::I32),
        (3, D::U8),
        (4, D::I64),
        (6, D::BOOL),
        (7, D::I16),
        (8, D::C64),
        (9, D::I8),
        (10, D::F64),
        (11, D::C128),
        (12, D::U64),
        (15, D::U32),
        (16, D::U16),
        (17, D::INT4),
        (18, D::BF16),
        (19, D::INT2),
        (20, D::UINT4),
        (21, D::F8_E4M3FN),
        (22, D::F8_E5M2),
    ];
    for kind in i8::MIN..=i8::MAX {
        let dtype = all.iter().find(|(number, _)| *number == kind).map(|(_, dtype)| *dtype);
        let length = dtype.map_or(1, |dtype| dtype.byte_length(3).unwrap());
        let bytes = one(Made { kind, shape: vec![3], ..Made::default() }, &vec![0; length as usize]);
        match (dtype, kind) {
            (Some(_), _) => {
                let file = File::open(&bytes).unwrap();
                assert_eq!((file.find("t").unwrap().dtype(), file.tensor_count()), (dtype, 1), "{kind}");
            }
            (None, TEXT) => assert_eq!(File::open(&bytes).unwrap().find("t").unwrap().layout_name(), "tflite.string"),
            (None, 0..) => refused(&bytes, ErrorKind::UnknownDType, Part::DType, &format!("version: {kind} ")),
            _ => refused(&bytes, ErrorKind::UnknownDType, Part::DType, "tensor \"t\""),
        }
    }
}

#[test]
fn shapes_and_sizes() {
    let file = |shape: &[i32], kind, bytes: usize| {
        one(Made { shape: shape.into(), kind, ..Made::default() }, &vec![1; bytes])
    };
    for (shape, kind, bytes) in [(&[][..], F32, 4), (&[5], INT4, 3), (&[1; 30], F32, 4)] {
        assert!(File::open(&file(shape, kind, bytes)).is_ok(), "{shape:?}");
    }
    for (shape, kind, bytes) in
        [(&[][..], F32, 5), (&[2, 3], F32, 23), (&[2, 3], F32, 25), (&[0], F32, 1), (&[5], INT4, 2), (&[5], INT4, 5)]
    {
        let message = format!("length {bytes}, shape [");
        refused(&file(shape, kind, bytes), ErrorKind::SizeMismatch, Part::Shape, &message);
    }
    refused(&file(&[2, 3], F32, 23), ErrorKind::SizeMismatch, Part::Shape, "dtype f32, which takes 24");
    refused(&file(&[-1, 6], F32, 24), ErrorKind::NegativeLength, Part::Shape, "tensor \"t\": shape: a length is neg");
    refused(&file(&[6, -1], F32, 24), ErrorKind::NegativeLength, Part::Shape, "tensor \"t\": shape: a length is neg");
    refused(&file(&[i32::MAX; 3], F32, 4), ErrorKind::ShapeOverflow, Part::Shape, "exceeds 64 bits");
}

/// Integers of 4 bits are two in a byte, the first in the low bits.
#[test]
fn packed_integers() {
    let read = |kind, bytes: &[u8], count| {
        let file = one(Made { kind, shape: vec![count], ..Made::default() }, bytes);
        let file = File::open(&file).unwrap();
        let mut numbers = vec![0.0; count as usize];
        file.find("t").unwrap().read_f32_into(&mut numbers, ReadOptions::new()).unwrap();
        numbers
    };
    assert_eq!(read(INT4, &[0x8f, 0x07], 3), [-1.0, -8.0, 7.0]);
    assert_eq!(read(20, &[0x8f, 0x07], 3), [15.0, 8.0, 7.0]);
    assert_eq!(read(19, &[0b0111_1000, 1], 5), [0.0, -2.0, -1.0, 1.0, 1.0]);
    let many = read(INT4, &[0x21; 200], 400); // as many as are looked up in a table
    assert!(many.chunks(2).all(|pair| pair == [1.0, 2.0]));
    let many = read(19, &[0b1110_0100; 100], 400);
    assert!(many.chunks(4).all(|four| four == [0.0, 1.0, -2.0, -1.0]));
}

/// A tensor of 2, 3 integers with these scales.
fn quantized(kind: i8, quantized: Quantized) -> Vec<u8> {
    let bytes: &[u8] = if kind == F32 { &[0; 24] } else { &[0, 1, 2, 3, 4, 0xff] };
    one(Made { shape: vec![2, 3], kind, quantized: Some(quantized), ..Made::default() }, bytes)
}

fn scaled(bytes: &[u8]) -> Result<Vec<f32>, ErrorKind> {
    let file = File::open(bytes).unwrap();
    let tensor = file.find("t").unwrap();
    let mut numbers = vec![0.0; 6];
    let result = tensor.read_f32_into(&mut numbers, ReadOptions::new()).map(drop).map_err(|error| {
        let text = error.explain(bytes).to_string();
        assert!(text.contains("the scales or zero points are") || text.contains("have zero points"), "{text}");
        error.kind()
    });
    for first in 0..6 {
        let mut part = vec![0.0; 6 - first];
        let range = tensor.read_f32_range(first as u64, &mut part).map_err(|error| error.kind());
        assert_eq!(range.map(|()| part), result.map(|()| numbers[first..].to_vec()));
    }
    result.map(|()| numbers)
}

#[test]
fn quantized_numbers() {
    let of = |scale: &[f32], zero_point: &[i64], dimension| Quantized {
        scale: scale.into(),
        zero_point: zero_point.into(),
        dimension,
        details: 0,
    };
    let read = |of: Quantized| scaled(&quantized(I8, of));
    assert_eq!(read(of(&[0.5], &[1], 9)).unwrap(), [-0.5, 0.0, 0.5, 1.0, 1.5, -1.0]);
    assert_eq!(read(of(&[0.5], &[], 0)).unwrap(), [0.0, 0.5, 1.0, 1.5, 2.0, -0.5]);
    assert_eq!(read(of(&[1.0, 2.0], &[0, 1], 0)).unwrap(), [0.0, 1.0, 2.0, 4.0, 6.0, -4.0]);
    assert_eq!(read(of(&[1.0, 2.0, 4.0], &[], 1)).unwrap(), [0.0, 2.0, 8.0, 3.0, 8.0, -4.0]);
    assert_eq!(read(of(&[], &[], 0)).unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, -1.0]); // not quantized
    for wrong in [
        of(&[1.0, 2.0], &[0, 1], 1),
        of(&[1.0, 2.0], &[0, 1], -1),
        of(&[1.0, 2.0], &[0, 1], 2),
        of(&[1.0, 2.0], &[0], 0),
        of(&[1.0], &[0, 0], 0),
        of(&[], &[0], 0),
        Quantized { details: 2, ..of(&[1.0], &[0], 0) },
    ] {
        assert_eq!(read(wrong), Err(ErrorKind::UnsupportedLayout));
    }
    // Rounded to an f32, both numbers are 2^25, and their difference would be 0.
    let near = |zero_point| {
        let quantized = Some(of(&[1.0], &[zero_point], 0));
        let shape = Made { shape: vec![2, 3], kind: 2, quantized, ..Made::default() };
        scaled(&one(shape, &((1_i32 << 25) + 1).to_le_bytes().repeat(6)))
    };
    assert_eq!(near(1 << 25), Err(ErrorKind::UnsupportedLayout));
    assert_eq!(near(0).unwrap(), [33_554_432.0; 6]);
    // The integers stay as they are, and floats are not quantized.
    let bytes = quantized(I8, of(&[0.5], &[1], 0));
    let file = File::open(&bytes).unwrap();
    let tensor = file.find("t").unwrap();
    assert_eq!(tensor.data().unwrap().bytes().unwrap(), [0, 1, 2, 3, 4, 0xff]);
    assert_eq!(tensor.to_vec::<i8>().unwrap(), [0, 1, 2, 3, 4, -1]);
    assert_eq!(scaled(&quantized(F32, of(&[0.5], &[1], 0))).unwrap(), [0.0; 6]);
    let attributes = tensor.attributes();
    let list = |key| attributes.get_list(key).unwrap().map(|item| item.value).next().unwrap();
    assert_eq!((list("scale").as_f64(), list("zero_point").as_i64()), (Some(0.5), Some(1)));
    assert_eq!(attributes.get_i64("quantized_dimension"), Some(0));
}

/// Every attribute of the fixtures is compared in tests/properties/corpus.rs. This is one of each kind.
#[test]
fn attributes_of_details() {
    let bytes = fixture("tflite/py_quantization_details.tflite");
    let file = File::open(&bytes).unwrap();
    let custom = file.find("custom").unwrap().attributes();
    assert!(matches!(custom.get("custom"), Some(Value::Bytes(bytes)) if bytes.len() == 20));
    let blocks = file.find("blockwise").unwrap();
    assert_eq!(blocks.attributes().get_u64("block_size"), Some(32));
    assert_eq!(blocks.read_f32_range(0, &mut [0.0]).unwrap_err().kind(), ErrorKind::UnsupportedLayout);
    let multi = file.find("multi").unwrap().attributes();
    assert_eq!(multi.get_list("quantized_dimensions").unwrap().count(), 2);
}

#[test]
fn lists_and_names_do_not_share_bytes() {
    for (name, message) in [("alias_names", "lists, names or shapes share bytes"), ("alias_square", "share bytes")] {
        let bytes = fixture(&format!("tflite/bad/{name}.tflite"));
        refused(&bytes, ErrorKind::TooMany, Part::Tensors, message);
    }
}

fn external(entries: &[(u32, u32, u64, u64, &'static [u8])], id: u32) -> Vec<u8> {
    let mut model = Tflite { groups: vec![b"weights.bin".to_vec()], external: entries.to_vec(), ..Tflite::default() };
    model.add(Made { name: b"e".to_vec(), shape: vec![3], kind: I8, external: id, ..Made::default() });
    model.bytes()
}

#[test]
fn external_buffers() {
    let bytes = external(&[(4, 0, 10, 3, b"")], 4);
    let file = File::open(&bytes).unwrap();
    let tensor = file.find("e").unwrap();
    let data = tensor.data().unwrap();
    assert_eq!((data.shard(), data.extent().offset, data.extent().length), (Some("weights.bin"), 10, 3));
    assert_eq!((data.dtype(), data.storage_dtype()), (Some(DType::I8), Some(DType::I8)));
    assert_eq!(data.bytes().unwrap_err().kind(), ErrorKind::InShard);
    assert_eq!(data.with_bytes(&[1, 2, 3]).unwrap().bytes().unwrap(), [1, 2, 3]);
    // A packed one may have any length.
    let bytes = external(&[(4, 0, 10, 99, b"lz")], 4);
    let file = File::open(&bytes).unwrap();
    let packed = file.find("e").unwrap();
    assert_eq!((packed.layout_name(), packed.dtype()), ("tflite.packed", Some(DType::I8)));
    assert_eq!(packed.component("data").unwrap().extent().length, 99);
    refused(&external(&[(4, 0, 10, 2, b"")], 4), ErrorKind::SizeMismatch, Part::Shape, "tensor \"e\"");
    refused(
        &external(&[(4, 0, 10, 3, b"")], 5),
        ErrorKind::UnknownShard,
        Part::Shard,
        "no external buffer with the ID",
    );
    refused(&external(&[(4, 1, 10, 3, b"")], 4), ErrorKind::OutOfPlace, Part::Shards, "no group with the number");
    refused(&external(&[(4, 0, u64::MAX, 3, b"")], 4), ErrorKind::OutOfShard, Part::Shard, "exceed 64 bits");
    refused(&external(&[(4, 0, 10, 3, b""), (4, 0, 0, 3, b"")], 4), ErrorKind::RepeatedKey, Part::Shard, "one ID");
    let mut unnamed = Tflite { groups: vec![Vec::new()], external: vec![(1, 0, 0, 1, b"")], ..Tflite::default() };
    refused(&unnamed.bytes(), ErrorKind::NameLength, Part::Shards, "has no name");
    unnamed.groups = vec![b"\xff".to_vec()];
    refused(&unnamed.bytes(), ErrorKind::InvalidUtf8, Part::Shards, "");
    let mut both = Tflite { groups: vec![b"x".to_vec()], external: vec![(1, 0, 0, 1, b"")], ..Tflite::default() };
    both.tensor("both", I8, &[1], &[1]).last().external = 1;
    refused(&both.bytes(), ErrorKind::HeadersDiffer, Part::Shard, "a buffer with bytes and an external buffer");
    let mut texts = Tflite { groups: vec![b"x".to_vec()], external: vec![(1, 0, 0, 1, b"")], ..Tflite::default() };
    texts.add(Made { kind: TEXT, external: 1, ..Made::default() });
    refused(&texts.bytes(), ErrorKind::UnsupportedLayout, Part::Shard, "not in external buffers");
}

/// IDs in order are found in a few steps, others one by one, up to a limit.
#[test]
fn orders_of_external_buffers() {
    let model = |ids: &[u32]| {
        let external = ids.iter().map(|id| (*id, 0, u64::from(*id), 1, &b""[..])).collect();
        let mut model = Tflite { groups: vec![b"x".to_vec()], external, ..Tflite::default() };
        for id in ids.iter().filter(|id| **id > 0) {
            model.add(Made { name: id.to_string().into(), kind: I8, external: *id, ..Made::default() });
        }
        model.bytes()
    };
    let shuffled: Vec<u32> = (0..1024).map(|i| i * 389 % 1024).collect();
    let many = 0..1100;
    for ids in [vec![7], (0..101).rev().collect(), many.clone().collect(), many.rev().collect(), shuffled.clone()] {
        let bytes = model(&ids);
        let file = File::open(&bytes).unwrap();
        for tensor in file.tensors() {
            let place = tensor.data().unwrap().extent().offset;
            assert_eq!(tensor.name().to_string(), place.to_string());
        }
        assert_eq!(file.tensor_count(), ids.iter().filter(|id| **id > 0).count() as u64);
    }
    let mut twice = shuffled.clone();
    twice[900] = twice[3];
    refused_quickly(&model(&twice), ErrorKind::RepeatedKey, "two external buffers have one ID");
    let more = [&shuffled[..], &[5000]].concat();
    refused_quickly(&model(&more), ErrorKind::TooMany, "more than 1024 external buffers neither rise nor fall");
}

fn refused_quickly(bytes: &[u8], kind: ErrorKind, message: &str) {
    let error = File::open(bytes).unwrap_err();
    let full = error.explain(bytes).to_string();
    assert_eq!((error.kind(), error.part()), (kind, Part::Shard), "{full}");
    assert!(full.contains(message), "{full}");
}

#[test]
fn texts() {
    let buffer = |places: &[i32], text: &[u8]| {
        let places: Vec<u8> = places.iter().flat_map(|place| place.to_le_bytes()).collect();
        [&places[..], text].concat()
    };
    let file = |shape: &[i32], bytes: &[u8]| one(Made { shape: shape.into(), kind: TEXT, ..Made::default() }, bytes);
    let right = buffer(&[2, 16, 17, 19], b"abc");
    let bytes = file(&[2], &right);
    let opened = File::open(&bytes).unwrap();
    let tensor = opened.find("t").unwrap();
    assert_eq!((tensor.dtype(), tensor.layout(), tensor.layout_name()), (None, Layout::Other, Texts::LAYOUT));
    assert!(tensor.verify(ReadOptions::new()).is_ok());
    assert_eq!(tensor.requirements(Purpose::Read).output, None);
    let all = Texts::new(tensor.component("data").unwrap().stored().unwrap()).unwrap();
    assert_eq!(all.len(), 2);
    assert!(all.eq([&b"a"[..], b"bc"]));
    assert_eq!(Texts::new(&buffer(&[0, 8], b"")).unwrap().count(), 0);
    for wrong in [
        buffer(&[], b""),
        buffer(&[-1, 8], b""),
        buffer(&[i32::MAX, 8], b""),
        buffer(&[1, 12], b""),
        buffer(&[2, 15, 17, 19], b"abc"),
        buffer(&[2, 16, 17, 18], b"abc"),
        buffer(&[2, 16, 17, 20], b"abc"),
        buffer(&[2, 16, 20, 19], b"abc"),
        buffer(&[2, 16, 15, 19], b"abc"),
        buffer(&[1, -12, 12], b""),
    ] {
        assert!(Texts::new(&wrong).is_none(), "{wrong:?}");
    }
    let verify = |bytes: &[u8]| File::open(bytes).unwrap().verify(ReadOptions::new()).map_err(|error| error.kind());
    assert_eq!(verify(&file(&[3], &right)).unwrap_err(), ErrorKind::CorruptStream);
    assert_eq!(verify(&file(&[2], &right[1..])).unwrap_err(), ErrorKind::CorruptStream);
    let bytes = file(&[3], &right);
    let error = File::open(&bytes).unwrap().verify(ReadOptions::new()).unwrap_err().explain(&bytes[..]).to_string();
    assert!(error.contains("the places of the texts do not rise, or are not as many"), "{error}");
}

/// A sparse tensor of `shape`, with `values` values of one byte each.
fn sparse(shape: &[i32], values: usize, sparse: Sparse) -> Vec<u8> {
    one(Made { shape: shape.into(), kind: I8, sparse: Some(sparse), ..Made::default() }, &vec![1; values])
}

fn csr(segments: &[i32], indices: &[i32]) -> Dimension {
    Dimension::Csr(segments.into(), indices.into())
}

#[test]
fn sparse_tensors() {
    use Dimension::Dense;
    let verify = |bytes: &[u8]| File::open(bytes)?.verify(ReadOptions::new()).map(drop);
    let rows = (vec![0, 1], vec![], vec![Dense(2), csr(&[0, 2, 3], &[0, 3, 1])]);
    let bytes = sparse(&[2, 4], 3, rows.clone());
    let file = File::open(&bytes).unwrap();
    let tensor = file.find("t").unwrap();
    assert_eq!(
        (tensor.layout(), tensor.layout_name(), tensor.dtype()),
        (Layout::Other, "tflite.sparse", Some(DType::I8))
    );
    let roles: Vec<&str> = tensor.components().map(|component| component.role()).collect();
    assert_eq!(roles, ["data", "segments.1", "indices.1"]);
    let indices = tensor.component("indices.1").unwrap();
    assert!(indices.elements::<i32>().unwrap().eq([0, 3, 1]));
    assert!(tensor.verify(ReadOptions::new()).is_ok());
    assert_eq!(tensor.read_into(&mut [0; 8], ReadOptions::new()).unwrap_err().kind(), ErrorKind::UnsupportedLayout);
    assert_eq!(
        tensor.read_f32_into(&mut [0.0; 8], ReadOptions::new()).unwrap_err().kind(),
        ErrorKind::UnsupportedLayout
    );
    // Columns, then rows; and blocks of 2, 2.
    let columns = (vec![1, 0], vec![], vec![Dense(4), csr(&[0, 1, 1, 2, 3], &[0, 1, 0])]);
    assert!(verify(&sparse(&[2, 4], 3, columns)).is_ok());
    let blocks = |order: Vec<i32>| (order, vec![0, 1], vec![Dense(2), csr(&[0, 1, 2], &[1, 0]), Dense(2), Dense(2)]);
    assert!(verify(&sparse(&[4, 4], 8, blocks(vec![0, 1, 2, 3]))).is_ok());
    let both = (vec![0, 1], vec![], vec![csr(&[0, 1], &[1]), csr(&[0, 2], &[0, 2])]);
    assert!(verify(&sparse(&[2, 3], 2, both)).is_ok());

    let wrong = |description: Sparse, shape: &[i32], values, kind, message: &str| {
        let bytes = sparse(shape, values, description);
        let error = File::open(&bytes).unwrap_err();
        let full = error.explain(&bytes[..]).to_string();
        assert!(error.kind() == kind && full.contains(message), "{full}");
    };
    let with = |order: &[i32], dimensions: Vec<Dimension>| (order.to_vec(), vec![], dimensions);
    let kind = ErrorKind::SizeMismatch;
    wrong(rows.clone(), &[2, 4], 4, kind, "does not match the indices of the sparse tensor");
    wrong(rows.clone(), &[2, 4], 2, kind, "");
    let kind = ErrorKind::CountMismatch;
    wrong(rows.clone(), &[3, 4], 3, kind, "another length than stated");
    wrong(with(&[0, 1], vec![Dense(2), csr(&[0, 2], &[0, 3])]), &[2, 4], 2, kind, "");
    let kind = ErrorKind::RankMismatch;
    wrong(with(&[0], vec![Dense(2)]), &[2, 4], 2, kind, "as many entries as dimensions and blocks");
    wrong(with(&[0, 1], vec![Dense(2)]), &[2, 4], 2, kind, "");
    let kind = ErrorKind::Malformed;
    wrong(with(&[0, 0], rows.2.clone()), &[2, 4], 3, kind, "does not have each dimension once");
    wrong(with(&[0, 2], rows.2.clone()), &[2, 4], 3, kind, "");
    wrong(with(&[-1, 0], rows.2.clone()), &[2, 4], 3, kind, "");
    wrong(blocks(vec![0, 2, 1, 3]), &[4, 4], 8, kind, "");
    let kind = ErrorKind::PartialBlock;
    wrong(blocks(vec![0, 1, 2, 3]), &[5, 4], 8, kind, "do not divide its dimension");
    let empty = (vec![0, 1], vec![0], vec![Dense(0), Dense(0)]);
    wrong(empty, &[0], 1, kind, "do not divide its dimension");
    let seventeen = ((0..17).collect(), vec![], (0..17).map(|_| Dense(1)).collect());
    wrong(seventeen, &[1; 17], 1, ErrorKind::TooMany, "more than 16 dimensions");
    let sixteen = ((0..16).collect(), vec![], (0..16).map(|_| Dense(1)).collect());
    assert!(verify(&sparse(&[1; 16], 1, sixteen)).is_ok());
    let negative = with(&[0, 1], vec![Dense(-2), csr(&[0, 2, 3], &[0, 3, 1])]);
    wrong(negative, &[2, 4], 3, ErrorKind::NegativeLength, "");

    let data = |segments: &[i32], indices: &[i32]| {
        let description = with(&[0, 1], vec![Dense(2), csr(segments, indices)]);
        verify(&sparse(&[2, 4], indices.len(), description)).map_err(|error| error.kind())
    };
    assert_eq!(data(&[1, 2, 3], &[0, 3, 1]), Err(ErrorKind::InvalidRowPointers));
    assert_eq!(data(&[0, 2, 1], &[0, 3, 1]), Err(ErrorKind::InvalidRowPointers));
    assert_eq!(data(&[0, 2, 4], &[0, 3, 1]), Err(ErrorKind::InvalidRowPointers));
    assert_eq!(data(&[0, 1, 2], &[0, 3, 1]), Err(ErrorKind::InvalidRowPointers));
    assert_eq!(data(&[0, -1, 3], &[0, 3, 1]), Err(ErrorKind::InvalidRowPointers));
    assert_eq!(data(&[0, 2, 3], &[0, 4, 1]), Err(ErrorKind::IndexOutOfRange));
    assert_eq!(data(&[0, 2, 3], &[0, -1, 1]), Err(ErrorKind::IndexOutOfRange));
    assert_eq!(data(&[0, 2, 3], &[3, 3, 1]), Err(ErrorKind::IndexOrder));
    assert_eq!(data(&[0, 2, 3], &[0, 3, 1]), Ok(()));

    let texts = Made { shape: vec![2, 4], kind: TEXT, sparse: Some(rows), ..Made::default() };
    refused(&one(texts, b"abc"), ErrorKind::UnexpectedType, Part::DType, "a sparse tensor has texts");
}

/// Opening asks for more and more of the file, until all tables are there.
#[test]
fn in_parts() {
    let mut model = Tflite::default();
    for i in 0..1000 {
        model.tensor(format!("tensor{i}"), I8, &[1], &[i as u8]);
    }
    let buffer = model.buffer(Held::Outside(2, 4));
    model.metadata = vec![(b"m".to_vec(), buffer)];
    model.rest = b"last".to_vec();
    model.tensor("large", I8, &[1 << 20], &vec![7; 1 << 20]);
    let length = model.bytes().len() as u64;
    model.buffers[buffer as usize] = Held::Outside(length - 4, 4);
    let bytes = model.bytes();
    let mut source = Source::new(bytes.len() as u64);
    let mut ranges = Vec::new();
    let file = loop {
        match File::open_source(&source).unwrap() {
            Opened::File(file) => break file,
            Opened::Need(Need { extent, keep }) => {
                assert!(keep);
                ranges.push((extent.offset, extent.length));
                let from = extent.offset as usize;
                source.add(extent.offset, &bytes[from..from + extent.length as usize]).unwrap();
            }
        }
    };
    // The head, larger and larger windows, and the metadata behind the large tensor.
    assert_eq!(ranges[..3], [(0, 16), (0, 1 << 16), (0, 1 << 18)]);
    assert!(ranges.len() == 4 && ranges[3] == (bytes.len() as u64 - 4, 4), "{ranges:?}");
    assert_eq!(file.attributes().get("m").unwrap().as_bytes(), Some(&b"last"[..]));
    let large = file.find("large").unwrap();
    assert_eq!(large.data().unwrap().bytes().unwrap_err().kind(), ErrorKind::NotInMemory);
    assert_eq!(file.tensor_count(), 1001);
}

/// The first 4 GiB may have tables; bytes of buffers may be behind.
#[test]
fn files_beyond_4_gib() {
    let mut model = Tflite::default();
    let buffer = model.buffer(Held::Outside(1 << 33, 4));
    model.add(Made { name: b"far".to_vec(), kind: F32, buffer, ..Made::default() });
    let bytes = model.bytes();
    let mut source = Source::new((1 << 33) + 4);
    source.add(0, &bytes).unwrap();
    let Opened::File(file) = File::open_source(&source).unwrap() else { panic!() };
    assert_eq!(file.find("far").unwrap().data().unwrap().extent().offset, 1 << 33);
}

/// A position of a tensor has the number of its subgraph.
#[test]
fn many_subgraphs() {
    let mut model = Tflite::default();
    for i in 0..40 {
        model.subgraphs.push(Vec::new());
        for j in 0..i % 3 {
            model.tensor(format!("{i}.{j}"), I8, &[1], &[i]);
        }
    }
    let bytes = model.bytes();
    let file = File::open(&bytes).unwrap();
    let mut words = vec![0; file.index_length().unwrap()];
    let index = file.index(&mut words).unwrap();
    for tensor in file.tensors() {
        let name = tensor.name().to_string();
        let subgraph: u64 = name.split('.').next().unwrap().parse::<u64>().unwrap() + 1;
        for found in [tensor, file.find(&name).unwrap(), index.find(&name).unwrap()] {
            assert_eq!((found.attributes().get_u64("subgraph"), found.index()), (Some(subgraph), tensor.index()));
        }
    }
}

/// The root table of a model with these buffers. Returns the positions of the offsets of the subgraphs.
fn root(tables: &mut Tables, subgraphs: usize, buffers: &[&[u8]]) -> Vec<usize> {
    let root = tables.table(0, &[Slot::U32(3), Slot::None, Slot::Offset, Slot::None, Slot::Offset]);
    for (at, bytes) in tables.offsets(root[4], buffers.len()).into_iter().zip(buffers) {
        let data = tables.table(at, &[if bytes.is_empty() { Slot::None } else { Slot::Offset }])[0];
        if !bytes.is_empty() {
            tables.vector(data, bytes.len(), bytes);
        }
    }
    tables.offsets(root[2], subgraphs)
}

/// The kinds of lists of a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lists {
    Numbers,
    Details(i8),
    Sparse,
}

/// A model with a tensor of two integers. List `last` of a kind is the end of the file, and states `more` elements than
/// there are.
fn ending_with(kind: Lists, last: usize, more: u8) -> Vec<u8> {
    use Slot::{None, Offset, U32};
    let mut tables = Tables(b"\0\0\0\0TFL3".to_vec());
    let subgraph = root(&mut tables, 1, &[&[], &[5, 7]])[0];
    let tensors = tables.table(subgraph, &[Offset])[0];
    let tensor = tables.offsets(tensors, 1)[0];
    let (quantized, sparse) = if kind == Lists::Sparse { (None, Offset) } else { (Offset, None) };
    let tensor = tables.table(tensor, &[Offset, Slot::I8(I8), U32(1), None, quantized, None, sparse, Offset]);
    tables.vector(tensor[0], 1, &2_i32.to_le_bytes());
    let numbers = |numbers: &[i32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let mut lists = vec![(tensor[7], 1, numbers(&[-1]))];
    match kind {
        Lists::Numbers => {
            let parts = tables.table(tensor[4], &[Offset, Offset, Offset, Offset]);
            let half = 0.5_f32.to_le_bytes().to_vec();
            lists.extend([(parts[0], 1, half.clone()), (parts[1], 1, half.clone()), (parts[2], 1, half)]);
            lists.push((parts[3], 1, 1_i64.to_le_bytes().to_vec()));
        }
        Lists::Details(kind) => {
            let details = tables.table(tensor[4], &[None, None, None, None, Slot::I8(kind), Offset])[5];
            let place = if kind == 1 { 0 } else { 3 };
            let mut slots = [None; 4];
            slots[place] = Offset;
            lists.push((tables.table(details, &slots)[place], 4 / if kind == 1 { 1 } else { 4 }, numbers(&[9])));
        }
        Lists::Sparse => {
            let parts = tables.table(tensor[6], &[Offset, Offset, Offset]);
            for (at, size) in tables.offsets(parts[2], 2).into_iter().zip([1, 2]) {
                tables.table(at, &[Slot::I8(0), U32(size)]);
            }
            lists.extend([(parts[0], 2, numbers(&[0, 1])), (parts[1], 1, numbers(&[0]))]);
        }
    }
    let (at, count, elements) = lists.remove(last);
    for (at, count, elements) in lists {
        tables.vector(at, count, &elements);
    }
    let place = tables.vector(at, count, &elements) - 4;
    tables.0[place] += more;
    tables.0
}

/// A list may end where the file ends, but no later.
#[test]
fn lists_at_the_end_of_a_file() {
    let kinds = [(Lists::Numbers, 5), (Lists::Details(1), 2), (Lists::Details(3), 2), (Lists::Sparse, 3)];
    for (kind, last) in kinds.into_iter().flat_map(|(kind, count)| (0..count).map(move |last| (kind, last))) {
        let bytes = ending_with(kind, last, 0);
        let file =
            File::open(&bytes).unwrap_or_else(|error| panic!("{kind:?} {last}: {}", error.explain(&bytes[..])));
        let tensor = file.tensors().next().unwrap();
        if kind == Lists::Numbers {
            let mut numbers = [0.0; 2];
            tensor.read_f32_into(&mut numbers, ReadOptions::new()).unwrap();
            assert_eq!(numbers, [2.0, 3.0], "{last}");
        }
        let part = if kind == Lists::Sparse && last > 0 { Part::Layout } else { Part::Attributes };
        refused(&ending_with(kind, last, 1), ErrorKind::CountTooLarge, part, "");
    }
}

/// With 2^16 subgraphs, 16 bits of a position are left for the number of a tensor in its subgraph.
#[test]
fn many_tensors_in_many_subgraphs() {
    let with = |count: usize| {
        let mut tables = Tables(b"\0\0\0\0TFL3".to_vec());
        // All subgraphs but the first are the same, as are all tensors.
        let lead = |tables: &mut Tables, places: &[usize]| {
            tables.table(places[0], &[]);
            let offset = u32::from_le_bytes(tables.0[places[0]..][..4].try_into().unwrap()) as usize;
            for at in &places[1..] {
                tables.point_to(*at, places[0] + offset);
            }
        };
        let subgraphs = root(&mut tables, 1 << 16, &[&[]]);
        let tensors = tables.table(subgraphs[0], &[Slot::Offset])[0];
        lead(&mut tables, &subgraphs[1..]);
        let tensors = tables.offsets(tensors, count);
        lead(&mut tables, &tensors);
        tables.0
    };
    assert_eq!(File::open(&with(1 << 16)).unwrap().tensor_count(), 0);
    let error = File::open(&with((1 << 16) + 1)).unwrap_err();
    assert_eq!((error.kind(), error.part()), (ErrorKind::TooMany, Part::Tensors));
}

/// The position of the offset of a model's description, and the model, without the description.
fn described() -> (usize, Vec<u8>) {
    use Slot::{None, Offset, U32};
    let mut tables = Tables(b"\0\0\0\0TFL3".to_vec());
    let root = tables.table(0, &[U32(3), None, Offset, Offset]);
    let subgraph = tables.offsets(root[2], 1)[0];
    tables.table(subgraph, &[]);
    (root[3], tables.0)
}

/// The NUL behind a text is a byte of the file.
#[test]
fn a_text_at_the_end_of_a_file() {
    let (at, bytes) = described();
    let mut tables = Tables(bytes);
    tables.text(at, b"abc");
    let mut bytes = tables.0;
    assert_eq!(File::open(&bytes).unwrap().attributes().get_str("description"), Some("abc"));
    bytes.pop();
    let length = bytes.len();
    let message = format!(
        "; unless the offset is wrong, the file is truncated: it has {length} bytes and should have at least {} bytes, so \
         at least 1 is missing",
        length + 1
    );
    refused(&bytes, ErrorKind::Malformed, Part::Attributes, &message);
}

/// Tables and texts are in the first 2^32 - 1 bytes. Only the pages with tables take memory.
#[test]
#[cfg(target_pointer_width = "64")]
fn a_text_at_4_gib() {
    let (at, tables) = described();
    let mut bytes = vec![0; (1 << 32) + 16];
    bytes[..tables.len()].copy_from_slice(&tables);
    let text = 0xffff_fff8;
    bytes[at..at + 4].copy_from_slice(&((text - at) as u32).to_le_bytes());
    bytes[text + 4..][..3].copy_from_slice(b"abc");
    let mut open = |count: u8| {
        (bytes[text], bytes[text + 4 + usize::from(count)]) = (count, 0);
        File::open(&bytes).map(drop).map_err(|error| (error.kind(), error.part()))
    };
    assert_eq!(open(3), Err((ErrorKind::Malformed, Part::Attributes)));
    assert_eq!(open(2), Ok(()));
}
