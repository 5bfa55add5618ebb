//! TFLite models of any structure. Valid files must open and return what they were made of; otherwise one thing is
//! broken. Opening whole and in parts gives the same result, and nothing panics.

#[path = "../../tests/support/flatbuffers.rs"]
#[allow(dead_code)] // the tests use all of it
mod flatbuffers;
#[path = "../../tests/support/tflite.rs"]
#[allow(dead_code)]
mod builder;

use builder::{Dimension, Held, Made, Quantized, Sparse, Tflite};
use tenslice::tflite::Texts;
use tenslice::{ErrorKind, File, ReadOptions, Tensor};

use crate::check;
use crate::choices::Choices;

/// The types, each with the bits of an element.
const TYPES: [(i8, usize); 20] = [
    (0, 32),
    (1, 16),
    (2, 32),
    (3, 8),
    (4, 64),
    (6, 8),
    (7, 16),
    (8, 64),
    (9, 8),
    (10, 64),
    (11, 128),
    (12, 64),
    (15, 32),
    (16, 16),
    (17, 4),
    (18, 16),
    (19, 2),
    (20, 4),
    (21, 8),
    (22, 8),
];

const TEXT: i8 = 5;

/// A tensor that is listed, and its bytes if they are in the file.
struct Listed {
    subgraph: usize,
    made: Made,
    bytes: Option<Vec<u8>>,
}

/// A buffer with `count` texts.
fn texts(choices: &mut Choices<'_>, count: usize) -> Vec<u8> {
    let (mut places, mut all) = (vec![count as i32], Vec::new());
    for _ in 0..count {
        places.push((8 + 4 * count + all.len()) as i32);
        all.extend(choices.bytes(4));
    }
    places.push((8 + 4 * count + all.len()) as i32);
    places.iter().flat_map(|place| place.to_le_bytes()).chain(all).collect()
}

/// Rows with increasing indices below `length`, and the number of indices.
fn sparse(choices: &mut Choices<'_>, rows: i32, length: i32) -> (Sparse, usize) {
    let (mut segments, mut indices) = (vec![0], Vec::new());
    for _ in 0..rows {
        indices.extend((0..length).filter(|_| choices.one_in(2)));
        segments.push(indices.len() as i32);
    }
    let count = indices.len();
    ((vec![0, 1], vec![], vec![Dimension::Dense(rows), Dimension::Csr(segments, indices)]), count)
}

fn made(choices: &mut Choices<'_>) -> (Tflite, Vec<Listed>) {
    let mut model = Tflite { description: choices.bytes(3).iter().map(|byte| byte & 127).collect(), ..Tflite::default() };
    let mut listed = Vec::new();
    for _ in 0..choices.below(6) {
        if choices.one_in(4) {
            model.subgraphs.push(Vec::new());
        }
        let mut made = Made { name: vec![b'a' + choices.below(20) as u8], ..Made::default() };
        made.shape = (0..choices.below(4)).map(|_| choices.below(4) as i32).collect();
        let (kind, bits) = choices.of(&TYPES);
        let count = made.shape.iter().product::<i32>() as usize;
        made.kind = kind;
        let mut length = (count * bits).div_ceil(8);
        if choices.one_in(4) {
            let scales = if choices.one_in(2) { made.shape.first().map_or(1, |length| *length as usize) } else { 1 };
            made.quantized = Some(Quantized { scale: vec![0.5; scales], zero_point: vec![1; scales], ..Quantized::default() });
        }
        let seed = choices.any::<u8>();
        let pattern = |length: usize| (0..length).map(|i| seed.wrapping_mul(i as u8)).collect::<Vec<u8>>();
        let mut bytes = None;
        match choices.below(7) {
            0 => {} // an activation
            1 => {
                made.kind = TEXT;
                bytes = Some(texts(choices, count));
            }
            2 if made.shape.len() == 2 => {
                let (description, values) = sparse(choices, made.shape[0], made.shape[1]);
                length = (values * bits).div_ceil(8);
                bytes = Some(pattern(length));
                made.sparse = Some(description);
            }
            3 => {
                model.groups = vec![b"other".to_vec()];
                model.external.push((model.external.len() as u32 * 3 + 1, 0, choices.any(), length as u64, b""));
                let (id, group, offset, length, packing) = model.external[model.external.len() - 1];
                let external = (id, group, offset % (1 << 60), length, packing);
                *model.external.last_mut().unwrap() = external;
                made.external = id;
            }
            4 => {
                made.buffer = model.buffer(Held::Outside(2 + choices.below(6) as u64, length as u64));
            }
            _ => bytes = Some(pattern(length)),
        }
        if let Some(bytes) = &bytes {
            made.buffer = model.buffer(Held::Inside(bytes.clone()));
        }
        let is_listed = match (&bytes, made.external) {
            (Some(bytes), _) => !bytes.is_empty(),
            (None, 0) => made.buffer > 0 && length > 0,
            (None, _) => true,
        };
        let is_far = matches!(model.buffers[made.buffer as usize], Held::Outside(offset, size) if offset + size > 64);
        if is_far {
            continue; // it might not be within the file
        }
        if is_listed {
            listed.push(Listed { subgraph: model.subgraphs.len() - 1, made: made.clone(), bytes });
        }
        model.add(made);
    }
    for _ in 0..choices.below(3) {
        let buffer = choices.below(model.buffers.len()) as u32;
        model.metadata.push((vec![b'm'], buffer));
    }
    // A buffer that no tensor has is not held by the model if it is too far.
    model.buffers.iter_mut().for_each(|held| {
        if matches!(held, Held::Outside(offset, size) if *offset + *size > 64) {
            *held = Held::Inside(Vec::new());
        }
    });
    (model, listed)
}

pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let (model, listed) = made(&mut choices);
    let mut file = model.bytes();
    if choices.is_sound {
        let opened = File::open(&file).unwrap_or_else(|error| panic!("{}", error.explain(&file[..])));
        same_as_made(&opened, &listed);
    } else {
        choices.damage(&mut file);
    }
    both_ways(&file, &mut choices);
}

fn same_as_made(file: &File<'_>, listed: &[Listed]) {
    assert!(file.warnings().is_empty());
    assert_eq!(file.tensor_count(), listed.len() as u64);
    for (tensor, Listed { subgraph, made, bytes }) in file.tensors().zip(listed) {
        assert_eq!(tensor.name().raw(), made.name);
        assert!(tensor.shape().iter().eq(made.shape.iter().map(|length| *length as u64)));
        assert_eq!(tensor.attributes().get_u64("subgraph").unwrap_or(0), *subgraph as u64);
        let data = tensor.component("data").unwrap();
        assert_eq!(data.shard().is_some(), made.external > 0);
        if let Some(bytes) = bytes {
            assert_eq!(data.stored().unwrap(), bytes);
        }
        tensor.verify(ReadOptions::new()).map_or_else(|error| assert_eq!(error.kind(), ErrorKind::InShard), drop);
        if made.kind == TEXT {
            let texts = Texts::new(data.stored().unwrap()).unwrap();
            assert_eq!(Some(texts.len() as u64), tensor.shape().element_count());
        }
        attributes(&tensor, made);
        sparse_parts(&tensor, made);
        numbers(&tensor, made);
    }
}

/// Compares the scales and the zero points.
fn attributes(tensor: &Tensor<'_>, made: &Made) {
    let list = |key| tensor.attributes().get(key).and_then(|value| value.items()).into_iter().flatten();
    let quantized = made.quantized.clone().unwrap_or_default();
    assert!(list("scale").map(|item| item.value.as_f64().unwrap() as f32).eq(quantized.scale));
    assert!(list("zero_point").map(|item| item.value.as_i64().unwrap()).eq(quantized.zero_point));
}

/// Compares the components of a sparse tensor besides its values.
fn sparse_parts(tensor: &Tensor<'_>, made: &Made) {
    let others = tensor.components().skip(1).map(|component| component.stored().unwrap().to_vec());
    let numbers = |list: &Vec<i32>| list.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let dimensions = made.sparse.iter().flat_map(|(_, _, dimensions)| dimensions);
    let expected = dimensions.flat_map(|dimension| match dimension {
        Dimension::Dense(_) => vec![],
        Dimension::Csr(segments, indices) => vec![numbers(segments), numbers(indices)],
    });
    assert!(others.eq(expected));
}

/// Compares the numbers of 8-bit integers with those that their scales give.
fn numbers(tensor: &Tensor<'_>, made: &Made) {
    let scales = made.quantized.as_ref().map_or(0, |quantized| quantized.scale.len());
    if made.kind != 9 || made.sparse.is_some() || made.external > 0 {
        return;
    }
    let stored = tensor.data().unwrap().bytes().unwrap();
    let mut numbers = vec![0.0; stored.len()];
    tensor.read_f32_into(&mut numbers, ReadOptions::new()).unwrap();
    for (number, integer) in numbers.iter().zip(stored) {
        let integer = f32::from(*integer as i8);
        assert_eq!(*number, if scales > 0 { (integer - 1.0) * 0.5 } else { integer });
    }
}

/// Opens a file whole and in parts, some of which are available from the start.
fn both_ways(bytes: &[u8], choices: &mut Choices<'_>) {
    if let Ok(file) = check::open_given(bytes, &choices.ranges(bytes.len())) {
        check::verify(&file, bytes);
        _ = file.as_tflite().map(|tflite| tflite.subgraphs().count());
        file.tensors().for_each(|tensor| check::read(&tensor));
    }
}
