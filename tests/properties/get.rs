//! Tensors as a program expects them: elements and blocks in place, numbers in place or converted.
#![cfg(all(
    feature = "dequantize",
    feature = "ztensor",
    feature = "safetensors",
    feature = "npy",
    feature = "gguf",
    feature = "ztensor2"
))]

use std::collections::BTreeMap;

use crate::support::ztensor2::{Object, Stored, file, shard, xxh3};
use crate::support::{cases, fixture, some_hundred};
use tenslice::blocks::BlockType;
use tenslice::{
    DType, Error, ErrorKind, Expected, File, Layout, Model, ModelFile, Order, Purpose, ReadOptions, Tensor,
};

/// The bits of the numbers. NaN is `None`, since its bits may differ.
fn bits(numbers: &[f32]) -> Vec<Option<u32>> {
    numbers.iter().map(|number| (!number.is_nan()).then(|| number.to_bits())).collect()
}

/// The bits of the numbers that a call has found.
type Found = Result<Vec<Option<u32>>, Error>;

/// The expectation of a program that knows the shape and the order of this tensor.
fn like<'e>(tensor: &Tensor<'_>, name: &'e str, shape: &'e [u64]) -> Expected<'e> {
    Expected::named(name).shape(shape).order(tensor.order())
}

#[test]
fn numbers_of_every_tensor_of_every_file() {
    let mut ways = BTreeMap::<_, usize>::new();
    let mut in_place = 0;
    for case in cases() {
        let Ok(file) = File::open(&case.bytes) else { continue };
        let mut words = vec![0; file.index_length().unwrap()];
        let Ok(index) = file.index(&mut words) else { continue };
        let mut files = [ModelFile::new("model", file)];
        let mut words = vec![0; Model::length(&files).unwrap()];
        let model = Model::new(&mut files, &mut words).unwrap();
        for tensor in some_hundred(&file) {
            let context = format!("{}: {:?}", case.name(), tensor.name());
            let name = tensor.name().to_string();
            let is_first = file.find(&name).is_ok_and(|first| first.index() == tensor.index());
            let shape: Vec<u64> = tensor.shape().iter().collect();
            let expected = like(&tensor, &name, &shape);
            let (most, needed) = (tensor.requirements(Purpose::ReadF32), tensor.requirements(Purpose::GetF32));
            let (Some(count), Some(length)) = (most.output.filter(|count| *count < 1 << 16), most.scratch) else {
                continue;
            };
            if length > 1 << 22 {
                continue;
            }
            let (mut dst, mut scratch) = (vec![0.0; count as usize], vec![0; length as usize]);
            let read = tensor.read_f32_into(&mut dst, ReadOptions::new().scratch(&mut scratch)).map(|all| bits(all));
            let (output, scratch) = (needed.output.unwrap(), needed.scratch.unwrap());
            assert!(output == 0 && scratch == 0 || needed == most, "{context}");
            let (mut room, mut scratch) = (vec![0.0; output as usize], vec![0; scratch as usize]);
            let mut get = |get: &dyn Fn(&mut [f32], ReadOptions<'_>) -> Found| {
                get(&mut room, ReadOptions::new().scratch(&mut scratch))
            };
            let found = get(&|room, options| tensor.get_f32(&expected, room, options).map(bits));
            assert_eq!(found, read, "{context}");
            if is_first {
                let [of_file, of_index] =
                    [file.get(&expected), index.get(&expected)].map(|part| part.map(|p| p.extent()));
                assert_eq!(
                    (of_file, of_index),
                    (tensor.get(&expected).map(|part| part.extent()), of_file),
                    "{context}"
                );
                let needs = model.get_f32_requirements(&expected);
                let is_twice = file.warnings().contains(tenslice::Warning::RepeatedName);
                assert!(needs == Ok(needed) || needs.is_err() && (read.is_err() || is_twice), "{context}: {needs:?}");
                assert_eq!(get(&|room, options| file.get_f32(&expected, room, options).map(bits)), read, "{context}");
                assert_eq!(
                    get(&|room, options| index.get_f32(&expected, room, options).map(bits)),
                    read,
                    "{context}"
                );
                let of_model = get(&|room, options| model.get_f32(&expected, room, options).map(bits));
                assert!(of_model == read || is_twice, "{context}");
            }
            if read.is_ok() {
                *ways.entry((tensor.layout_name().to_string(), tensor.dtype())).or_default() += 1;
                in_place += usize::from(output == 0 && count > 0);
            }
            refused(&context, &tensor, &name, &shape);
        }
    }
    println!("{in_place} {ways:?}");
    let least = if cfg!(target_endian = "little") { 50 } else { 5 }; // most files are little-endian
    assert!(in_place > least, "{in_place}");
    let has = |layout: &str| ways.keys().any(|(found, _)| found == layout);
    for layout in ["dense", "sparse_csr", "sparse_coo", "index_value", "gguf.q4_0", "gguf.q8_0/1", "zt.mx/1"] {
        assert!(has(layout), "{layout}: {ways:?}");
    }
}

/// Another shape is refused whatever the type of the tensor and whatever the expected type.
fn refused(context: &str, tensor: &Tensor<'_>, name: &str, shape: &[u64]) {
    let is_unknown = tensor.layout() == Layout::Other && tensor.dtype().is_none();
    if is_unknown || tensor.problem().is_some() {
        return; // the shape may be unknown
    }
    let longer = [shape, &[2]].concat();
    let reversed: Vec<u64> = shape.iter().rev().copied().collect();
    for other in [&longer, &reversed] {
        if other == shape {
            continue;
        }
        let expected = Expected::named(name).shape(other);
        for expected in
            [expected, expected.dtype(DType::F32), expected.dtype(DType::BOOL), expected.blocks(BlockType::Q6_K)]
        {
            let kind = tensor.get(&expected).map(drop).unwrap_err().kind();
            assert_eq!(kind, ErrorKind::WrongShape, "{context}");
            let kind = tensor.get_f32(&expected, &mut [], ReadOptions::new()).unwrap_err().kind();
            assert_eq!(kind, ErrorKind::WrongShape, "{context}");
        }
    }
}

#[test]
fn blocks_of_every_quantized_tensor() {
    let mut seen = BTreeMap::<_, usize>::new();
    for case in cases() {
        let Ok(file) = File::open(&case.bytes) else { continue };
        for tensor in file.tensors() {
            let Some(block) = tensor.block_type() else { continue };
            let context = format!("{}: {:?}", case.name(), tensor.name());
            let name = tensor.name().to_string();
            let shape: Vec<u64> = tensor.shape().iter().collect();
            let expected = like(&tensor, &name, &shape);
            let data = tensor.component("data").unwrap();
            let found = tensor.get(&expected.blocks(block)).unwrap();
            assert_eq!((found.extent(), found.bytes()), (data.extent(), data.bytes()), "{context}");
            let kind = |expected: &Expected<'_>| tensor.get(expected).map(drop).unwrap_err().kind();
            let other = if block == BlockType::Q4_0 { BlockType::Q8_0 } else { BlockType::Q4_0 };
            assert_eq!(kind(&expected.blocks(other)), ErrorKind::WrongType, "{context}");
            assert_eq!(kind(&expected.dtype(DType::F32)), ErrorKind::NotDense, "{context}");
            assert_eq!(kind(&expected), ErrorKind::NotDense, "{context}");
            let wrong = expected.blocks(other);
            let message = wrong.explain(&file, tensor.get(&wrong).map(drop).unwrap_err()).to_string();
            let stated = format!("expected {} {}", other.layout_name(), tensor.shape());
            assert!(message.contains(&stated), "{message}");
            *seen.entry(block.name()).or_default() += 1;
        }
    }
    assert_eq!(seen.len(), BlockType::ALL.len(), "{seen:?}");
    // Blocks of a dense tensor.
    let bytes = fixture("npy/rank3.npy");
    let expected = Expected::named("").blocks(BlockType::Q4_0);
    let kind = File::open(&bytes).unwrap().get(&expected).map(drop).unwrap_err().kind();
    assert_eq!(kind, ErrorKind::WrongType);
}

/// A program that falls back to conversion still gets the shape that it expects, and the order.
#[test]
fn a_fallback_compares_shape_and_order() {
    let bytes = fixture("npy/v1_fortran.npy"); // i16, 4 x 3, column-major
    let file = File::open(&bytes).unwrap();
    let mut room = [0.0; 12];
    let mut get = |expected: &Expected<'_>| {
        let error = file.get_f32(expected, &mut room, ReadOptions::new()).map(drop).err()?;
        Some((error.kind(), expected.explain(&file, error).to_string()))
    };
    let of_shape = |shape: &'static [u64]| Expected::named("").shape(shape);
    let (kind, message) = get(&of_shape(&[3, 4])).unwrap();
    let has = "the file has i16 [4, 3] in column-major order";
    assert_eq!((kind, message), (ErrorKind::WrongShape, format!("tensor \"\": expected [3, 4]; {has}")));
    let (kind, message) = get(&of_shape(&[4, 3])).unwrap();
    let order = "expected [4, 3] in row-major order; the file has it in column-major order: expect that order";
    assert_eq!((kind, message), (ErrorKind::WrongOrder, format!("tensor \"\": {order}")));
    let (kind, message) = get(&of_shape(&[4, 3]).order(Order::ColumnMajor).dtype(DType::F32)).unwrap();
    assert_eq!((kind, message), (ErrorKind::WrongType, format!("tensor \"\": expected f32 [4, 3]; {has}")));
    // The type is compared before the order.
    let (kind, _) = get(&of_shape(&[4, 3]).dtype(DType::F32)).unwrap();
    assert_eq!(kind, ErrorKind::WrongType);
    assert_eq!(get(&of_shape(&[4, 3]).order(Order::ColumnMajor)), None);
    let (kind, message) = get(&Expected::named("x")).unwrap();
    assert_eq!((kind, &*message), (ErrorKind::NotFound, "no tensor \"x\""));
}

/// Complex numbers are not converted, and the message does not name a type that was not expected.
#[test]
fn numbers_that_are_not_real() {
    let bytes = fixture("v1.2/objects_sparse_quant_logical.zt");
    let file = File::open(&bytes).unwrap();
    let expected = Expected::named("cplx");
    let error = file.get_f32(&expected, &mut [0.0; 64], ReadOptions::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongType);
    for expected in [expected, expected.dtype(DType::C64)] {
        let message = expected.explain(&file, error).to_string();
        assert_eq!(message, format!("tensor \"cplx\": {}", ErrorKind::WrongType.text()));
    }
}

/// The shape of a compressed entry is unknown until it is decoded, so it is not what differs.
#[test]
fn layouts_without_a_shape() {
    let bytes = fixture("npz/deflated.npz");
    let file = File::open(&bytes).unwrap();
    let mut compressed = 0;
    for tensor in file.tensors().filter(|tensor| tensor.layout() == Layout::Other) {
        let expected = Expected::named("x").shape(&[1, 2, 3]);
        let kind = tensor.get(&expected).map(drop).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::NotDense);
        let kind = tensor.get_f32(&expected, &mut [], ReadOptions::new()).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::UnsupportedLayout);
        compressed += 1;
    }
    assert!(compressed > 0);
}

/// Blocks whose data has the type of a float, or another length than the shape, are not numbers in place.
#[test]
fn blocks_of_floats() {
    let object = |layout, shape: u64, dtype, stored: Vec<u8>| Object {
        name: "a",
        shape: vec![shape],
        layout,
        attributes: serde_json::json!({"elems_per_block": 32, "block_bytes": 34}),
        parts: vec![Stored { role: "data", dtype, stored, ..Stored::default() }],
    };
    for (layout, shape, length, known) in [("gguf.zz/1", 1000, 36, false), ("gguf.q8_0/1", 32, 36, true)] {
        let bytes = file(&[object(layout, shape, "f32", vec![0; length])], &[]);
        let file = File::open(&bytes).unwrap();
        let shape = [shape];
        let expected = Expected::named("a").shape(&shape);
        let error = file.get_f32(&expected, &mut [], ReadOptions::new()).map(<[f32]>::len).unwrap_err();
        let kind = if known { ErrorKind::SizeMismatch } else { ErrorKind::UnsupportedLayout };
        assert_eq!(error.kind(), kind, "{layout}");
        let kind = file.get(&expected.blocks(BlockType::Q8_0)).map(drop).unwrap_err().kind();
        assert_eq!(kind, if known { ErrorKind::SizeMismatch } else { ErrorKind::WrongType }, "{layout}");
    }
}

/// A larger memory does not help if the elements cannot be converted, so its size is not what is reported.
#[test]
fn the_memory_is_judged_last() {
    let bytes = fixture("v1.2/objects_sparse_quant_logical.zt");
    let file = File::open(&bytes).unwrap();
    let kind =
        |name| file.get_f32(&Expected::named(name), &mut [], ReadOptions::new()).map(drop).map_err(|e| e.kind());
    assert_eq!(kind("cplx"), Err(ErrorKind::WrongType));
    assert_eq!(kind("gptq"), Err(ErrorKind::WrongType));
    assert_eq!(kind("coo"), Err(ErrorKind::TooSmall));
}

#[test]
fn numbers_in_shards() {
    let values: Vec<u8> = [1.5_f32, -2.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    let object = |name, dtype, stored: &[u8]| Object {
        name,
        shape: vec![2],
        layout: "dense",
        attributes: serde_json::Value::Null,
        parts: vec![Stored { role: "data", dtype, stored: stored.into(), shard: Some("s"), ..Stored::default() }],
    };
    // Both are at the start of the shard.
    let shard = shard(&values);
    let objects = [object("floats", "f32", &values), object("bytes", "u8", &values[..2])];
    let bytes = file(&objects[..1], &[("s", shard.len() as u64, xxh3(&shard))]);
    let small = file(&objects[1..], &[("s", shard.len() as u64, xxh3(&shard))]);
    let mut room = [0.0; 2];
    for (bytes, name, expected) in
        [(&bytes, "floats", [1.5, -2.0]), (&small, "bytes", [values[0].into(), values[1].into()])]
    {
        let main = ModelFile::new("m.zt", File::open(bytes).unwrap());
        let mut words = [0; 6];
        let mut files = [main, ModelFile::shard("s", &shard)];
        let model = Model::new(&mut files, &mut words).unwrap();
        let wanted = Expected::named(name).shape(&[2]);
        assert_eq!(model.get_f32(&wanted, &mut room, ReadOptions::new()).unwrap(), expected);
        let mut files = [main];
        let model = Model::new(&mut files, &mut words).unwrap();
        let error = model.get_f32(&wanted, &mut room, ReadOptions::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InShard);
    }
}
