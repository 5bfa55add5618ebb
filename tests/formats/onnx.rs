//! ONNX: every field, every rule, and the files of the corpus.

use std::fs;
use std::path::PathBuf;

use crate::support::protobuf::{field, number, varint};
use serde_json::{Value as Json, json};
use tenslice::{
    ByteOrder, DType, Encoding, ErrorKind, File, Format, Layout, Part, Purpose, ReadOptions, Source, Tensor, Value,
    Warning,
};

/// The fixtures in a folder, each with its side-car.
fn cases(folder: &str) -> Vec<(String, Vec<u8>, Json)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/onnx").join(folder);
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Some(file) = path.to_str().unwrap().strip_suffix(".onnx.json") else { continue };
        let case = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let bytes = fs::read(format!("{file}.onnx")).unwrap();
        all.push((file.rsplit('/').next().unwrap().to_owned(), bytes, case));
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

fn fixture(name: &str) -> Vec<u8> {
    crate::support::fixture(&format!("onnx/{name}.onnx"))
}

fn attributes(all: tenslice::Attributes<'_>) -> Json {
    let pair = |attribute: tenslice::Attribute<'_>| match (attribute.key, attribute.value) {
        (Some(Value::Text(key)), Value::Text(value)) => (key.to_string(), json!(value.to_string())),
        other => panic!("{other:?}"),
    };
    Json::Object(all.map(pair).collect())
}

/// All elements of a tensor, in little-endian order.
fn elements(tensor: &Tensor<'_>) -> Vec<u8> {
    let mut bytes = vec![0xee; usize::try_from(tensor.requirements(Purpose::Read).output.unwrap()).unwrap()];
    let length = tensor.read_into(&mut bytes, ReadOptions::new()).unwrap().len();
    assert_eq!(length, bytes.len());
    crate::support::little(&bytes, ByteOrder::NATIVE, tensor.dtype().map_or(1, DType::lane_size))
}

/// Compares a tensor with its description in a side-car.
fn check(file: &str, tensor: &Tensor<'_>, expected: &Json) {
    let place = format!("{file}: {}", tensor.name());
    assert_eq!(tensor.name(), expected["name"].as_str().unwrap(), "{place}");
    assert_eq!(json!(tensor.layout_name()), expected["layout"], "{place}");
    assert_eq!(json!(tensor.shape().iter().collect::<Vec<_>>()), expected["shape"], "{place}");
    assert_eq!(json!(tensor.dtype().map(DType::name)), expected["dtype"], "{place}");
    assert_eq!(attributes(tensor.attributes()), expected["attributes"], "{place}");
    let parts: Vec<_> = tensor.components().collect();
    let of_parts = expected["components"].as_array().unwrap();
    assert_eq!(parts.len(), of_parts.len(), "{place}");
    for (part, expected) in parts.iter().zip(of_parts) {
        assert_eq!(json!(part.role()), expected["role"], "{place}");
        assert_eq!(json!(part.dtype().map(DType::name)), expected["dtype"], "{place}");
        assert_eq!(json!(part.shard()), expected["shard"], "{place}");
        if let (Some(offset), Some(length)) = (expected["offset"].as_u64(), expected["length"].as_u64()) {
            assert_eq!((part.extent().offset, part.extent().length), (offset, length), "{place}");
        }
        let Some(hash) = expected["data_sha256"].as_str() else { continue };
        assert_eq!(part.encoding_name(), expected["encoding"].as_str().unwrap_or("raw"), "{place}");
        let mut bytes = vec![0; usize::try_from(part.decoded_length().unwrap()).unwrap()];
        let bytes = part.read_into(&mut bytes, ReadOptions::new()).unwrap();
        let size = part.dtype().map_or(1, DType::lane_size);
        assert_eq!(crate::support::sha256(&crate::support::little(bytes, ByteOrder::NATIVE, size)), hash, "{place}");
    }
    if let Some(hash) = expected["data_sha256"].as_str() {
        assert_eq!(crate::support::sha256(&elements(tensor)), hash, "{place}");
    }
}

#[test]
fn fixtures_are_read_as_their_side_cars_say() {
    let all = cases("");
    assert!(all.len() > 40);
    for (name, bytes, case) in all {
        let file = File::open(&bytes).unwrap_or_else(|error| panic!("{name}: {}", error.explain(&bytes[..])));
        assert_eq!((file.format(), file.warnings().is_empty()), (Format::Onnx, true), "{name}");
        assert_eq!(json!(file.as_onnx().unwrap().ir_version().to_string()), case["version"], "{name}");
        assert_eq!(attributes(file.attributes()), case["attributes"], "{name}");
        let expected = case["tensors"].as_array().unwrap();
        assert_eq!(file.tensor_count(), expected.len() as u64, "{name}");
        let mut words = vec![0; file.index_length().unwrap()];
        let index = file.index(&mut words).unwrap();
        let mut entries = vec![tenslice::TensorEntry::default(); expected.len()];
        let entries = file.list(&mut entries).unwrap();
        let mut tensors = file.tensors();
        // The side-cars list the nodes of a graph before its initializers, wherever they are.
        let mut left: Vec<&Json> = expected.iter().collect();
        for (tensor, entry) in tensors.by_ref().zip(entries) {
            let place = left.iter().position(|other| tensor.name() == other["name"].as_str().unwrap());
            let expected = left.remove(place.unwrap_or_else(|| panic!("{name}: {}", tensor.name())));
            check(&name, &tensor, expected);
            // The first of several tensors with one name is found.
            let text = tensor.name().to_string();
            let first = file.tensors().find(|other| other.name() == tensor.name()).unwrap();
            for found in [file.find(&text).unwrap(), index.find(&text).unwrap()] {
                assert_eq!((found.index(), found.shape()), (first.index(), first.shape()), "{name}: {text}");
                assert_eq!(attributes(found.attributes()), attributes(first.attributes()), "{name}: {text}");
            }
            check(&name, &file.tensor(entry).unwrap(), expected);
        }
        assert!(tensors.next().is_none() && tensors.error().is_none(), "{name}");
        assert_eq!(file.find("no such tensor").unwrap_err().kind(), ErrorKind::NotFound, "{name}");
    }
}

/// The kind and the part of the error for each rule of the facts, besides those of files that are not detected.
fn is_of_rule(rule: &str, kind: ErrorKind, part: Part) -> bool {
    use ErrorKind as K;
    match rule {
        "PB1" => (kind, part) == (K::Malformed, Part::Key),
        "PB2" => matches!(kind, K::Malformed | K::CorruptStream),
        "PB3" => matches!(kind, K::OutOfPlace | K::CorruptStream),
        "PB4" => kind == K::WrongMarker,
        "PB5" => kind == K::UnexpectedType,
        "OX2" => kind == K::RepeatedKey,
        "OX3" => kind == K::NameLength,
        "OX4" => matches!((kind, part), (K::UnknownDType | K::MissingKey, Part::DType)),
        "OX5" => kind == K::NegativeLength,
        "size" => kind == K::ShapeOverflow,
        "OX6" => matches!(kind, K::MissingData | K::UnexpectedData),
        "OX7" => matches!(kind, K::SizeMismatch | K::TypeMismatch | K::UnexpectedData | K::DecodedLength),
        "OX8" => kind == K::UnsupportedChunk,
        "OX9" => matches!(
            kind,
            K::InvalidName
                | K::MissingKey
                | K::RepeatedKey
                | K::UnexpectedType
                | K::SizeMismatch
                | K::OutOfShard
                | K::UnknownFlags
                | K::UnexpectedData
        ),
        "OX10" => kind == K::InvalidUtf8,
        "OX11" => kind == K::RepeatedName,
        "OX12" => kind == K::TooDeep,
        "OX13" => kind == K::InvalidElement,
        "OX14" => {
            matches!(kind, K::MissingComponent | K::RankMismatch | K::IndexType | K::CountMismatch | K::ZeroLength)
        }
        "OX15" => matches!(kind, K::IndexOutOfRange | K::IndexOrder),
        _ => false,
    }
}

/// The first error of the data of a file.
fn data_error(file: &File<'_>) -> Option<tenslice::Error> {
    let of_tensor = |tensor: Tensor<'_>| {
        let mut bytes = vec![0; usize::try_from(tensor.requirements(Purpose::Read).output.unwrap_or(0)).unwrap()];
        tensor.read_into(&mut bytes, ReadOptions::new()).err().or(tensor.verify(ReadOptions::new()).err())
    };
    file.tensors().find_map(of_tensor)
}

#[test]
fn errors_name_the_rule_and_the_byte() {
    let (mut of_open, mut of_data, mut unknown) = (0, 0, 0);
    for (name, bytes, case) in cases("bad") {
        let rule = case["rule"].as_str().unwrap();
        let error = match File::open(&bytes) {
            Err(error) => error,
            Ok(file) => {
                assert_eq!(case["level"], "data", "{name}: accepted");
                of_data += 1;
                data_error(&file).unwrap_or_else(|| panic!("{name}: read"))
            }
        };
        if matches!(error.kind(), ErrorKind::UnknownFormat | ErrorKind::Truncated) {
            // The fields of the model itself are what an ONNX file is recognized by.
            unknown += 1;
            continue;
        }
        of_open += 1;
        assert_eq!(error.format(), Format::Onnx, "{name}");
        assert!(error.offset().unwrap() <= bytes.len() as u64, "{name}: {error:?}");
        let message = error.explain(&bytes[..]).to_string();
        let is_rule = is_of_rule(rule, error.kind(), error.part());
        assert!(is_rule, "{name}: {rule}, {:?}, {message}", error.kind());
    }
    assert!(of_open > 130 && of_data >= 18 && unknown < 40, "{of_open} {of_data} {unknown}");
}

/// Files about which readers differ, and our verdicts: deep graphs, and numbers that a strict reader refuses.
#[test]
fn quirks_have_verdicts() {
    let verdict = |bytes: &[u8]| match File::open(bytes) {
        Ok(file) => data_error(&file).map_or("read", |error| match error.kind() {
            ErrorKind::InShard => "read",
            _ => "data",
        }),
        Err(_) => "refused",
    };
    let all: Vec<_> = cases("quirks").iter().map(|(name, bytes, _)| (name.clone(), verdict(bytes))).collect();
    let expected = [
        ("q_bool_2", "data"),
        ("q_int32_over_32", "data"),
        ("q_int4_padding_set", "read"),
        ("q_location_dots_in_name", "read"),
        ("q_nested_20", "refused"),
        ("q_no_name_constant_x", "read"),
        ("q_prop_key_twice", "read"),
        ("q_tag_padded", "read"),
    ];
    assert_eq!(all, expected.map(|(name, verdict)| (name.to_owned(), verdict)));
}

#[test]
fn messages_name_the_tensor_and_the_numbers() {
    for (name, message) in [
        (
            "bad/raw_short",
            "tensor \"w\": the length does not match the shape and the data_type: length 23, shape [2, 3]",
        ),
        ("bad/dims_minus_one", "tensor \"w\""),
        ("bad/name_twice", "\""),
        ("bad/kind_99", "99"),
        ("bad/external_parent", "../w.bin"),
    ] {
        let bytes = fixture(name);
        let text = File::open(&bytes).unwrap_err().explain(&bytes[..]).to_string();
        assert!(text.contains(message), "{name}: {text}");
    }
}

#[test]
fn a_model_states_its_producer_and_its_operators() {
    let bytes = fixture("py_metadata");
    let file = File::open(&bytes).unwrap();
    let model = file.as_onnx().unwrap();
    let opsets: Vec<_> = model.opsets().map(|opset| (opset.domain, opset.version)).collect();
    assert_eq!((model.ir_version(), file.version()), (10, Some("10")));
    assert!(model.producer_name().is_some_and(|name| !name.is_empty()), "{model:?}");
    assert_eq!(opsets.len(), 1, "{opsets:?}");
    assert_eq!(opsets[0].0, "");
    // No producer, and a version without a text.
    let bytes = [0x08, 0xe8, 0x07, 0x3a, 0];
    let file = File::open(&bytes).unwrap();
    let model = file.as_onnx().unwrap();
    assert_eq!((model.ir_version(), file.version(), model.producer_name()), (1000, None, None));
    assert_eq!((model.producer_version(), model.opsets().count()), (None, 0));
    // A set of operators that states its domain.
    let opsets = [field(8, &number(2, 21)), field(8, &[field(1, b"ai.onnx.ml"), number(2, 3)].concat())].concat();
    let bytes = [number(1, 10), field(7, &[]), opsets].concat();
    let file = File::open(&bytes).unwrap();
    let opsets: Vec<_> = file.as_onnx().unwrap().opsets().map(|opset| (opset.domain, opset.version)).collect();
    assert_eq!(opsets, [("", 21), ("ai.onnx.ml", 3)]);
    for (version, text) in [(1, "1"), (9, "9"), (10, "10"), (99, "99")] {
        assert_eq!(File::open(&[0x08, version, 0x3a, 0]).unwrap().version(), Some(text));
    }
}

#[test]
fn external_data_is_read_from_its_file() {
    let bytes = fixture("py_external");
    let file = File::open(&bytes).unwrap();
    let tensor = file.find("w2").unwrap();
    let data = tensor.data().unwrap();
    assert_eq!((data.shard(), data.bytes().unwrap_err().kind()), (Some("model.data"), ErrorKind::InShard));
    let shard: Vec<u8> = (0..8192_u32).map(|i| i as u8 ^ 0x5a).collect();
    assert_eq!(data.with_shard(&shard).unwrap().bytes(), Ok(&shard[4096..4099]));
    assert_eq!(data.with_shard(&shard[..4098]).unwrap_err().kind(), ErrorKind::OutOfFile);
    let inside = file.find("inside").unwrap().data().unwrap();
    assert_eq!(inside.with_shard(&shard).unwrap_err().kind(), ErrorKind::NotInShard);
}

#[test]
fn sparse_tensors_become_dense() {
    let bytes = fixture("py_sparse");
    let file = File::open(&bytes).unwrap();
    for name in ["sp.linear", "sp.coords", "sp.typed", "sp.none", "sp.i8"] {
        let tensor = file.find(name).unwrap();
        assert_eq!((tensor.layout(), tensor.layout_name()), (Layout::Other, "onnx.sparse"));
        let [values, indices] = ["values", "indices"].map(|role| {
            let part = tensor.component(role).unwrap();
            let mut bytes = vec![0; usize::try_from(part.decoded_length().unwrap()).unwrap()];
            let bytes = part.read_into(&mut bytes, ReadOptions::new()).unwrap().to_vec();
            crate::support::little(&bytes, ByteOrder::NATIVE, part.dtype().unwrap().lane_size())
        });
        let lengths: Vec<usize> = tensor.shape().iter().map(|length| length as usize).collect();
        let size = tensor.dtype().unwrap().lane_size();
        let mut expected = vec![0; lengths.iter().product::<usize>() * size];
        let numbers: Vec<usize> =
            indices.chunks(8).map(|n| i64::from_le_bytes(n.try_into().unwrap()) as usize).collect();
        let count = values.len() / size;
        let rank = numbers.len().checked_div(count).unwrap_or(1);
        for (value, index) in values.chunks(size).zip(numbers.chunks(rank)) {
            let linear = match index {
                [index] => *index,
                index => index.iter().zip(&lengths).fold(0, |linear, (index, length)| linear * length + index),
            };
            expected[linear * size..][..size].copy_from_slice(value);
        }
        assert_eq!(elements(&tensor), expected, "{name}");
        assert!(tensor.verify(ReadOptions::new()).is_ok());
        #[cfg(feature = "dequantize")]
        assert_eq!(tensor.requirements(Purpose::ReadF32).scratch, Some(expected.len() as u64), "{name}");
        let mut small = vec![0; expected.len() - 1];
        let error = tensor.read_into(&mut small, ReadOptions::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooSmall, "{name}");
    }
    // Texts and indices that are wrong are not read.
    for (name, kind) in [("bad/sparse_order", ErrorKind::IndexOrder), ("bad/sparse_out", ErrorKind::IndexOutOfRange)]
    {
        let bytes = fixture(name);
        let file = File::open(&bytes).unwrap();
        assert_eq!(data_error(&file).unwrap().kind(), kind, "{name}");
    }
    let bytes = fixture("py_strings");
    let texts = File::open(&bytes).unwrap().find("words").unwrap();
    let read = texts.read_into(&mut [0; 100], ReadOptions::new()).unwrap_err();
    assert_eq!((read.kind(), texts.dtype()), (ErrorKind::UnsupportedLayout, None));
}

#[test]
fn numbers_of_varints_are_decoded() {
    let bytes = fixture("py_typed_all_types");
    let file = File::open(&bytes).unwrap();
    let mut encoded = 0;
    for tensor in &file {
        let data = tensor.data().unwrap();
        if data.encoding() != Encoding::Varint {
            continue;
        }
        encoded += 1;
        assert_eq!((tensor.layout_name(), tensor.layout()), ("onnx.varint", Layout::Dense), "{}", tensor.name());
        assert_eq!(data.bytes().unwrap_err().kind(), ErrorKind::Encoded);
        assert!(!data.caps().bytes && !data.caps().range && data.caps().decode);
        let mut short = vec![0; usize::try_from(data.decoded_length().unwrap()).unwrap() - 1];
        let error = tensor.read_into(&mut short, ReadOptions::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooSmall);
    }
    assert!(encoded > 15, "{encoded}");
}

/// A complex number is two numbers of its field, which may be packed, or fields of their own, or both.
#[test]
fn complex_numbers_of_several_fields() {
    for (kind, of_field, width, dtype) in [(14, 4, 4, DType::C64), (15, 10, 8, DType::C128)] {
        let bytes: Vec<u8> = (1..=4 * width as u8).collect();
        let one = |number: &[u8]| {
            [varint((of_field << 3 | if width == 4 { 5 } else { 1 }) as u64), number.to_vec()].concat()
        };
        let single: Vec<u8> = bytes.chunks(width).flat_map(one).collect();
        let mixed = [one(&bytes[..width]), field(of_field, &bytes[width..])].concat();
        for fields in [field(of_field, &bytes), single.clone(), mixed] {
            let file = model(&field(5, &message(&[2], kind, "c", &fields)));
            let opened = File::open(&file).unwrap_or_else(|error| panic!("{}", error.explain(&file[..])));
            let tensor = opened.find("c").unwrap();
            assert_eq!((tensor.dtype(), elements(&tensor)), (Some(dtype), bytes.clone()));
        }
        // A number less, and a number more.
        for fields in [&single[..3 * single.len() / 4], &[&single[..], &one(&bytes[..width])].concat()] {
            let file = model(&field(5, &message(&[2], kind, "c", fields)));
            let error = refused(&file, ErrorKind::SizeMismatch, Part::Length);
            let size = format!("shape [2], dtype {}, which takes {}", dtype.name(), bytes.len());
            assert!(error.contains(&size), "{error}");
        }
    }
}

/// Integers of 4 and 2 bits as numbers, the first in the low bits.
#[cfg(feature = "dequantize")]
#[test]
fn small_integers_become_numbers() {
    let model = |kind: u8, data: &[u8], count: u8| {
        let tensor = [&[0x08, count, 0x10, kind, 0x42, 1, b'x', 0x4a, data.len() as u8][..], data].concat();
        let graph = [&[0x2a, tensor.len() as u8][..], &tensor].concat();
        [&[0x08, 10, 0x3a, graph.len() as u8][..], &graph].concat()
    };
    for (kind, data, expected) in [
        (21, &[0xf1, 0x08][..], &[1.0, 15.0, 8.0][..]),
        (22, &[0xf1, 0x08], &[1.0, -1.0, -8.0]),
        (25, &[0xe4], &[0.0, 1.0, 2.0, 3.0]),
        (26, &[0xe4], &[0.0, 1.0, -2.0, -1.0]),
    ] {
        let bytes = model(kind, data, expected.len() as u8);
        let file = File::open(&bytes).unwrap();
        let mut numbers = vec![0.0; expected.len()];
        let tensor = file.find("x").unwrap();
        assert_eq!(tensor.read_f32_into(&mut numbers, ReadOptions::new()).unwrap(), expected, "{kind}");
        let mut last = [0.0];
        tensor.read_f32_range(expected.len() as u64 - 1, &mut last).unwrap();
        assert_eq!(&last[..], &expected[expected.len() - 1..]);
    }
    // Many are converted with a table.
    let tensor = [number(1, 400), number(2, 22), field(8, b"x"), field(9, &[0xf1; 200])].concat();
    let bytes = [number(1, 10), field(7, &field(5, &tensor))].concat();
    let (file, mut numbers) = (File::open(&bytes).unwrap(), [0.0; 400]);
    file.find("x").unwrap().read_f32_into(&mut numbers, ReadOptions::new()).unwrap();
    assert!(numbers.chunks(2).all(|pair| pair == [1.0, -1.0]));
}

/// Tensors before and behind a graph, in 16 graphs inside each other.
#[test]
fn deep_tensors_have_the_names_of_their_graphs() {
    let field = |tag: u8, content: &[u8]| {
        let length = content.len();
        [&[tag, length as u8 & 0x7f | 0x80, (length >> 7) as u8], content].concat()
    };
    let tensor = |name: String| field(0x2a, &[&[0x08, 0, 0x10, 1][..], &field(0x42, name.as_bytes())].concat());
    let graph = (1..=16).rev().fold(Vec::new(), |inside, depth| {
        let name = if depth % 3 == 0 { Vec::new() } else { field(0x12, format!("graph{depth}").as_bytes()) };
        let behind = tensor(format!("{depth}b"));
        let graph = [tensor(format!("{depth}a")), inside, behind, name].concat();
        field(0x0a, &field(0x2a, &field(0x32, &graph)))
    });
    let bytes = [&[0x08, 10][..], &field(0x3a, &graph)].concat();
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.tensor_count(), 32);
    for tensor in file.tensors() {
        let name = tensor.name().to_string();
        let depth: u32 = name[..name.len() - 1].parse().unwrap();
        let expected = if depth.is_multiple_of(3) { String::new() } else { format!("graph{depth}") };
        for tensor in [tensor, file.find(&name).unwrap()] {
            assert_eq!(attributes(tensor.attributes()), json!({"onnx.graph": expected}), "{name}");
        }
    }
}

/// A message of many fields that come before the graphs of a node, and nodes inside.
#[test]
fn work_on_hostile_nodes_is_bounded() {
    let field = |tag: u8, content: &[u8]| {
        let (mut length, mut bytes) = (content.len(), vec![tag]);
        while length > 0x7f {
            bytes.push(length as u8 | 0x80);
            length >>= 7;
        }
        bytes.push(length as u8);
        bytes.extend(content);
        bytes
    };
    let node_with = |fields: &[u8], graph: &[u8]| field(0x0a, &[fields, &field(0x2a, &field(0x32, graph))].concat());
    let model = |inputs: usize, nodes: usize| {
        let leaves = node_with(&[], &[]).repeat(nodes);
        let outer = node_with(&[0x0a, 0].repeat(inputs), &leaves);
        [&[0x08, 10][..], &field(0x3a, &outer)].concat()
    };
    assert!(File::open(&model(100, 1000)).is_ok());
    let bytes = model(100_000, 10_000);
    let error = refused(&bytes, ErrorKind::TooMany, Part::Tensors);
    assert!(error.contains("nodes with many graphs have too many fields"), "{error}");
    // Graphs side by side, inside of ten others. Behind each is a tensor: the name of the graph around it is read once more.
    let tensor = field(0x2a, &[&[0x08, 0, 0x10, 1][..], &field(0x42, b"a")].concat());
    let in_ten = |count| {
        let items: Vec<u8> = (0..count).flat_map(|_| [node_with(&[], &[]), tensor.clone()].concat()).collect();
        (0..10).fold(items, |graph, _| node_with(&[], &graph))
    };
    let kind = |count| File::open(&[&[0x08, 10][..], &field(0x3a, &in_ten(count))].concat()).unwrap_err().kind();
    assert_eq!((kind(300), kind(10_000)), (ErrorKind::RepeatedName, ErrorKind::TooMany));
    // Graphs side by side in one node.
    let graphs: Vec<u8> = field(0x5a, &[]).repeat(10_000);
    let node = field(0x0a, &field(0x2a, &graphs));
    let bytes = [&[0x08, 10][..], &field(0x3a, &node)].concat();
    assert!(File::open(&bytes).is_err_and(|error| error.kind() == ErrorKind::TooMany));
}

/// A list of lengths, in one of the forms that it may have in the fields of a number.
type Lengths = fn(usize) -> Vec<u8>;

#[test]
fn lengths_may_be_packed_or_not() {
    let forms: [Lengths; 7] = [
        |of| [number(of, 2), number(of, 3), number(of, 4)].concat(),
        |of| field(of, &[2, 3, 4]),
        |of| [number(of, 2), field(of, &[3, 4])].concat(),
        |of| [field(of, &[2]), field(of, &[]), number(of, 3), field(of, &[4])].concat(),
        // An empty run between them.
        |of| [number(of, 2), field(of, &[]), number(of, 3), number(of, 4)].concat(),
        // Another field between them.
        |of| [number(of, 2), field(1000, &[]), number(of, 3), number(of, 4)].concat(),
        |of| [number(of, 2), field(1000, &[]), field(of, &[3, 4])].concat(),
    ];
    let tensor = |dims: Lengths| [dims(1), number(2, 2), field(8, b"x"), field(9, &[7; 24])].concat();
    // All places of a tensor. In the second one, the length of the message has two bytes more than it needs.
    let initializer = |dims| field(5, &tensor(dims));
    let padded = |dims| {
        let tensor = tensor(dims);
        [&[0x2a, tensor.len() as u8 | 0x80, 0x80, 0][..], &tensor].concat()
    };
    let node = |name: &[u8], attribute: &[u8]| {
        let attribute = field(5, &[&field(1, name)[..], attribute].concat());
        field(1, &[&field(2, b"x")[..], &field(4, b"Constant"), &attribute].concat())
    };
    let constant = |dims| node(b"value", &field(5, &tensor(dims)));
    let sparse = |dims: Lengths| {
        let one = |kind, name, data: &[u8]| [number(1, 1), number(2, kind), field(8, name), field(9, data)].concat();
        [dims(3), field(1, &one(2, b"x", &[7])), field(2, &one(7, b"", &[0; 8]))].concat()
    };
    let graphs = |dims| {
        [
            ("initializer", initializer(dims)),
            ("padded", padded(dims)),
            ("constant", constant(dims)),
            ("sparse", field(15, &sparse(dims))),
            ("sparse constant", node(b"sparse_value", &field(22, &sparse(dims)))),
        ]
    };
    for (form, dims) in forms.iter().enumerate() {
        for (place, graph) in graphs(*dims) {
            let bytes = [number(1, 10), field(7, &graph)].concat();
            let file = File::open(&bytes).unwrap_or_else(|error| panic!("{place}: {}", error.explain(&bytes[..])));
            let shape = file.find("x").unwrap().shape();
            assert_eq!(shape.rank(), 3);
            assert_eq!(shape.iter().collect::<Vec<_>>(), [2, 3, 4], "{place}, {form}");
            assert_eq!(shape.dims::<3>(), Some([2, 3, 4]));
        }
    }
    // In two forms, and too close to the end to be read again.
    let bytes = [0x08, 10, 0x3a, 15, 0x2a, 13, 0x10, 2, 0x4a, 1, 7, 0x42, 1, b'x', 0x08, 1, 0x0a, 1, 1];
    let error = refused(&bytes, ErrorKind::TooMany, Part::Shape);
    assert!(error.contains("are spelled in two ways"), "{error}");
}

/// Returns the message of the error for a file.
#[track_caller]
fn refused(bytes: &[u8], kind: ErrorKind, part: Part) -> String {
    let error = File::open(bytes).unwrap_err();
    let text = error.explain(bytes).to_string();
    assert_eq!((error.kind(), error.part()), (kind, part), "{text}");
    text
}

/// A file in parts needs the fields, not the data.
#[test]
fn opening_in_parts_passes_over_data() {
    let long = 1 << 22;
    let tensor = |name: u8| {
        let mut bytes = vec![0x08, 0x80, 0x80, 0x80, 0x02, 0x10, 2, 0x42, 1, name, 0x4a, 0x80, 0x80, 0x80, 0x02];
        bytes.resize(bytes.len() + long, name);
        bytes
    };
    let mut graph = Vec::new();
    for name in b'a'..b'e' {
        let tensor = tensor(name);
        graph.extend([0x2a, tensor.len() as u8 | 0x80, (tensor.len() >> 7) as u8 | 0x80]);
        graph.extend([(tensor.len() >> 14) as u8 | 0x80, (tensor.len() >> 21) as u8]);
        graph.extend(tensor);
    }
    let length = graph.len();
    let mut bytes = vec![0x08, 10, 0x3a];
    bytes.extend([
        length as u8 | 0x80,
        (length >> 7) as u8 | 0x80,
        (length >> 14) as u8 | 0x80,
        (length >> 21) as u8,
    ]);
    bytes.extend(graph);
    let whole = File::open(&bytes).unwrap();
    assert_eq!(whole.tensor_count(), 4);
    let mut source = Source::new(bytes.len() as u64);
    let mut fetched = 0;
    while let tenslice::Opened::Need(need) = File::open_source(&source).unwrap() {
        let from = need.extent.offset as usize;
        source.add(need.extent.offset, &bytes[from..from + need.extent.length as usize]).unwrap();
        fetched += need.extent.length;
    }
    assert!(fetched < 2 << 20, "{fetched}");
    let tenslice::Opened::File(file) = File::open_source(&source).unwrap() else { panic!() };
    assert_eq!(crate::support::describe(&file), crate::support::describe(&whole));
}

#[test]
fn every_prefix_and_its_verdict() {
    for damaged in crate::support::damaged("onnx") {
        let opened = File::open(&damaged.bytes);
        assert_eq!(opened.is_ok(), damaged.expect == "accept", "{}: {opened:?}", damaged.name);
    }
}

/// A model with this graph.
fn model(graph: &[u8]) -> Vec<u8> {
    [number(1, 10), field(7, graph)].concat()
}

/// The message of a tensor, with its lengths, its `data_type`, its name and other fields.
fn message(dims: &[u64], kind: u64, name: &str, rest: &[u8]) -> Vec<u8> {
    let dims: Vec<u8> = dims.iter().flat_map(|length| number(1, *length)).collect();
    [&dims[..], &number(2, kind), &field(8, name.as_bytes()), rest].concat()
}

/// A model with the sparse tensor `s` of one dimension, whose values have this `data_type`.
fn sparse(length: u64, kind: u64, values: (u64, &[u8]), indices: &[i64]) -> Vec<u8> {
    let raw: Vec<u8> = indices.iter().flat_map(|index| index.to_le_bytes()).collect();
    let values = message(&[values.0], kind, "s", values.1);
    let indices = message(&[indices.len() as u64], 7, "", &field(9, &raw));
    model(&field(15, &[field(1, &values), field(2, &indices), number(3, length)].concat()))
}

/// The names of more than 1024 tensors in one graph are compared by `check`. The fields of a graph are not read again
/// for each tensor.
#[test]
fn graphs_of_many_tensors() {
    let graph = |last: usize| -> Vec<u8> {
        let numbers = (1..2000).rev().chain([last]);
        numbers.flat_map(|number| field(5, &message(&[0], 1, &format!("{number:04}"), &[]))).collect()
    };
    let inside = |graph: Vec<u8>| field(1, &field(5, &field(6, &graph)));
    for (last, expected) in [(0, Ok(())), (700, Err((ErrorKind::RepeatedName, Part::Name)))] {
        for graph in [graph(last), inside(graph(last))] {
            let bytes = model(&graph);
            let file = File::open(&bytes).unwrap();
            assert_eq!((file.tensor_count(), file.warnings().contains(Warning::NamesUnchecked)), (2000, true));
            let checked = file.check(&mut vec![0; file.check_length().unwrap()]);
            assert_eq!(checked.map(drop).map_err(|error| (error.kind(), error.part())), expected);
        }
    }
}

#[test]
fn keys_of_external_data_are_unique() {
    let entry = |key: &str, value: &str| field(13, &[field(1, key.as_bytes()), field(2, value.as_bytes())].concat());
    let entries = [("location", "w"), ("offset", "8"), ("length", "4"), ("checksum", "0"), ("x", "1"), ("x", "1")];
    let all: Vec<u8> = entries.iter().flat_map(|(key, value)| entry(key, value)).collect();
    let with = |more: &[u8]| model(&field(5, &message(&[1], 1, "t", &[&number(14, 1)[..], &all, more].concat())));
    let bytes = with(&[]);
    assert_eq!(File::open(&bytes).unwrap().find("t").unwrap().data().unwrap().extent().offset, 8);
    for (key, value) in &entries[..4] {
        let again = entry(key, value);
        let bytes = with(&again);
        let error = File::open(&bytes).unwrap_err();
        let at = (bytes.len() - again.len()) as u64;
        assert_eq!(
            (error.kind(), error.part(), error.offset()),
            (ErrorKind::RepeatedKey, Part::Key, Some(at)),
            "{key}"
        );
    }
}

/// A domain may be absent, empty or spelled out.
#[test]
fn constants_are_of_the_standard_domain() {
    for (domain, count) in [(None, 1), (Some(""), 1), (Some("ai.onnx"), 1), (Some("x"), 0), (Some("ai.onny"), 0)] {
        let value = field(5, &[field(1, b"value"), field(5, &message(&[0], 1, "", &[]))].concat());
        let domain_field = domain.map_or(Vec::new(), |domain| field(7, domain.as_bytes()));
        let node = [field(2, b"c"), field(4, b"Constant"), domain_field, value].concat();
        assert_eq!(File::open(&model(&field(1, &node))).unwrap().tensor_count(), count, "{domain:?}");
    }
}

/// A Constant has one value. Another operator may have attributes that look like it.
#[test]
fn constants_have_one_value() {
    let value = |name: &str| field(5, &[field(1, b"value"), field(5, &message(&[0], 1, name, &[]))].concat());
    let node = |operator: &str| [field(2, b"c"), field(4, operator.as_bytes()), value("a"), value("b")].concat();
    assert_eq!(File::open(&model(&field(1, &node("Scale")))).unwrap().tensor_count(), 0);
    let error = refused(&model(&field(1, &node("Constant"))), ErrorKind::RepeatedKey, Part::Attributes);
    assert!(error.contains("a Constant node has two values"), "{error}");
}

/// A Constant has no graphs: what looks like one is not read.
#[test]
fn constants_have_no_graphs() {
    let graph = field(5, &field(6, &field(5, &message(&[0], 1, "inside", &[]))));
    for (operator, count) in [("If", 1), ("Constant", 0)] {
        let node = [field(2, b"c"), field(4, operator.as_bytes()), graph.clone()].concat();
        assert_eq!(File::open(&model(&field(1, &node))).unwrap().tensor_count(), count, "{operator}");
    }
}

/// A file is shorter than 4 GiB.
#[test]
fn the_longest_model() {
    // Behind the tensor is a field that takes the rest of the file.
    let field_of = |length: u64| {
        let head = [model(&field(5, &message(&[0], 1, "t", &[]))), varint(99 << 3 | 2)].concat();
        let rest = length - head.len() as u64 - 5;
        [head, varint(rest)].concat()
    };
    for (length, is_short) in [((1 << 32) - 1, true), (1 << 32, false)] {
        let bytes = field_of(length);
        let mut source = Source::new(length);
        source.add(0, &bytes).unwrap();
        match File::open_source(&source) {
            Ok(opened) => assert!(is_short, "{opened:?}"),
            Err(error) => {
                assert_eq!((error.kind(), error.part()), (ErrorKind::ManifestTooLarge, Part::File));
                assert!(!is_short && error.explain(&source).to_string().contains("has 4 GiB or more"));
            }
        }
    }
}

#[test]
fn values_of_sparse_tensors() {
    // Numbers that must be decoded before they are in their places.
    let bytes = sparse(4, 6, (2, &field(5, &[7, 0xac, 2])), &[1, 3]);
    let file = File::open(&bytes).unwrap();
    let expected: Vec<u8> = [0, 7, 0, 300_i32].iter().flat_map(|number| number.to_le_bytes()).collect();
    assert_eq!(elements(&file.find("s").unwrap()), expected);
    // More values than elements: the message names the tensor.
    let bytes = sparse(2, 2, (3, &field(9, &[1, 2, 3])), &[0, 1, 1]);
    let file = File::open(&bytes).unwrap();
    let error = file.find("s").unwrap().read_into(&mut [0; 2], ReadOptions::new()).unwrap_err();
    assert_eq!((error.kind(), error.part()), (ErrorKind::IndexOutOfRange, Part::Tensor));
    let text = error.explain(&bytes[..]).to_string();
    assert!(text.contains("tensor \"s\""), "{text}");
    // The metadata of a sparse tensor is that of its values.
    let metadata = field(16, &[field(1, b"k"), field(2, b"v")].concat());
    let bytes = sparse(1, 2, (1, &[field(9, &[7]), metadata].concat()), &[0]);
    assert_eq!(attributes(File::open(&bytes).unwrap().find("s").unwrap().attributes()), json!({"k": "v"}));
    // Texts are no values.
    let error = refused(&sparse(1, 8, (1, &field(6, b"a")), &[0]), ErrorKind::UnexpectedType, Part::DType);
    assert!(error.contains("a sparse tensor has texts"), "{error}");
}

/// The indices of a sparse tensor are linear, or a row each with a coordinate for each dimension.
#[test]
fn rows_of_sparse_tensors() {
    let raw: Vec<u8> = [0, 1, 1, 0, 2, 2_i64].iter().flat_map(|index| index.to_le_bytes()).collect();
    let of = |values: u64, dims: &[u64]| {
        let values = message(&[values], 2, "s", &field(9, &[7, 8, 9, 7, 8, 9][..values as usize]));
        let indices = message(dims, 7, "", &field(9, &raw));
        model(&field(15, &[field(1, &values), field(2, &indices), number(3, 3), number(3, 3)].concat()))
    };
    let rows = of(3, &[3, 2]);
    let tensor = File::open(&rows).unwrap().find("s").unwrap();
    assert_eq!(elements(&tensor), [0, 7, 0, 8, 0, 0, 0, 0, 9]);
    for (values, dims) in [(3, &[2, 3][..]), (3, &[6, 1]), (3, &[1, 6]), (6, &[6, 1]), (2, &[3, 2]), (3, &[6])] {
        refused(&of(values, dims), ErrorKind::CountMismatch, Part::Shape);
    }
}

/// Texts have the same layout if there are none.
#[test]
fn no_texts() {
    let bytes = model(&field(5, &message(&[0], 8, "none", &[])));
    let file = File::open(&bytes).unwrap();
    let none = file.find("none").unwrap();
    assert_eq!((none.layout(), none.layout_name(), none.dtype()), (Layout::Other, "onnx.string", None));
}

/// A tensor may state that its data is in the model, which is the default.
#[test]
fn data_in_the_model_by_statement() {
    let bytes = model(&field(5, &message(&[1], 1, "t", &[number(14, 0), field(9, &[1, 2, 3, 4])].concat())));
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.find("t").unwrap().data().unwrap().bytes(), Ok(&[1, 2, 3, 4][..]));
}

#[test]
fn messages_have_the_bytes_of_the_file() {
    // A backslash is a character of a name.
    let error = refused(
        &model(&field(5, &message(&[1], 1, r"a\nb", &field(9, &[0])))),
        ErrorKind::SizeMismatch,
        Part::Length,
    );
    assert!(error.contains(r#"tensor "a\nb""#), "{error}");
    // The value may come before the key.
    let entry = field(13, &[field(2, b"../w"), field(1, b"location")].concat());
    let tensor = message(&[1], 1, "t", &[number(14, 1), entry].concat());
    let error = refused(&model(&field(5, &tensor)), ErrorKind::InvalidName, Part::Shard);
    assert!(error.contains("../w") && !error.contains("\"location\""), "{error}");
    // A boolean is 0 or 1.
    let bytes = model(&field(5, &message(&[1], 9, "b", &field(5, &[2]))));
    let error = data_error(&File::open(&bytes).unwrap()).unwrap();
    let text = error.explain(&bytes[..]).to_string();
    assert!(text.contains("a number is outside the range of its data_type"), "{text}");
}

/// The name of a graph inside ten others is read a few times, not once for each tensor: also behind a graph inside it.
#[test]
fn deep_graphs_of_many_tensors() {
    let inside = |graph: &[u8]| field(1, &field(5, &field(6, graph)));
    let tensors: Vec<u8> =
        (0..2000).flat_map(|number| field(5, &message(&[0], 1, &format!("{number:04}"), &[]))).collect();
    let name = field(2, b"deep");
    for graph in [[name.clone(), tensors.clone()].concat(), [inside(&[]), name, tensors].concat()] {
        let bytes = model(&(0..10).fold(graph, |graph, _| inside(&graph)));
        let file = File::open(&bytes).unwrap_or_else(|error| panic!("{}", error.explain(&bytes[..])));
        assert_eq!(file.tensor_count(), 2000);
        let last = file.tensors().last().unwrap();
        assert_eq!(
            (last.name().to_string(), attributes(last.attributes())),
            ("1999".into(), json!({"onnx.graph": "deep"}))
        );
    }
}
