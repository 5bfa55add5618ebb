//! TFLite models.

use crate::support::tflite::{Dimension, Held, Made, Quantized, Tflite};

const I8: i8 = 9;

pub fn tensors(size: usize) -> Vec<u8> {
    let mut model = Tflite::default();
    for i in 0..size {
        model.tensor(format!("{i:06}"), I8, &[1], &[7]);
    }
    model.bytes()
}

/// A tensor of the buffer 1.
fn of_one_buffer(name: String) -> Made {
    Made { name: name.into(), shape: vec![1], kind: I8, buffer: 1, ..Made::default() }
}

/// A model with a buffer of one byte.
fn with_buffer() -> Tflite {
    let mut model = Tflite::default();
    model.buffer(Held::Inside(vec![7]));
    model
}

pub fn shared(size: usize) -> Vec<u8> {
    let mut model = with_buffer();
    for i in 0..size {
        model.add(of_one_buffer(format!("{i:06}")));
    }
    model.bytes()
}

/// Tensors without names.
pub fn nameless(size: usize) -> Vec<u8> {
    let mut model = with_buffer();
    for _ in 0..size {
        model.add(of_one_buffer(String::new()));
    }
    model.bytes()
}

pub fn falling(size: usize) -> Vec<u8> {
    let mut model = with_buffer();
    for i in (0..size).rev() {
        model.add(of_one_buffer(format!("{i:06}")));
    }
    model.bytes()
}

pub fn subgraphs(size: usize) -> Vec<u8> {
    let mut model = with_buffer();
    for i in 0..size {
        model.subgraphs.push(vec![of_one_buffer(format!("{i:06}"))]);
    }
    model.bytes()
}

/// Each tensor behind one without bytes.
pub fn activations(size: usize) -> Vec<u8> {
    let mut model = with_buffer();
    for i in 0..size {
        model.add(Made { name: format!("activation{i:06}").into(), ..Made::default() });
        model.add(of_one_buffer(format!("{i:06}")));
    }
    model.bytes()
}

pub fn long_name(size: usize) -> Vec<u8> {
    let mut model = with_buffer();
    model.add(of_one_buffer("x".repeat(6 * size)));
    for i in 0..size {
        model.add(of_one_buffer(format!("{i:06}")));
    }
    model.bytes()
}

pub fn description(size: usize) -> Vec<u8> {
    let mut model = Tflite { description: "\u{e4}".repeat(size).into(), ..with_buffer() };
    model.add(of_one_buffer("a".into())).bytes()
}

pub fn quantized(size: usize) -> Vec<u8> {
    let mut model = with_buffer();
    for i in 0..size {
        let quantized = Quantized { scale: vec![1.0], zero_point: vec![0], ..Quantized::default() };
        model.add(Made { quantized: Some(quantized), ..of_one_buffer(format!("{i:06}")) });
    }
    model.bytes()
}

pub fn metadata(size: usize) -> Vec<u8> {
    let metadata = (0..size).map(|i| (format!("{i:06}").into(), 1)).collect();
    Tflite { metadata, ..with_buffer() }.bytes()
}

pub fn rank(size: usize) -> Vec<u8> {
    Tflite::default().tensor("a", I8, &vec![1; size], &[7]).bytes()
}

pub fn unused_buffers(size: usize) -> Vec<u8> {
    let mut model = Tflite::default();
    for _ in 0..size {
        model.buffer(Held::Inside(vec![7]));
    }
    model.tensor("a", I8, &[1], &[7]).bytes()
}

pub fn empty_subgraphs(size: usize) -> Vec<u8> {
    let mut model = Tflite { subgraphs: vec![Vec::new(); size], ..Tflite::default() };
    model.tensor("a", I8, &[1], &[7]).bytes()
}

/// A tensor with a scale for each of `size` channels.
pub fn channels(size: usize) -> Vec<u8> {
    let mut model = Tflite::default();
    model.tensor("a", I8, &[size as i32, 4], &vec![7; 4 * size]);
    model.last().quantized =
        Some(Quantized { scale: vec![0.5; size], zero_point: vec![1; size], ..Quantized::default() });
    model.bytes()
}

pub fn data(size: usize) -> Vec<u8> {
    Tflite::default().tensor("a", I8, &[size as i32], &vec![7; size]).bytes()
}

pub fn quantized_data(size: usize) -> Vec<u8> {
    let mut model = Tflite::default();
    model.tensor("a", I8, &[4, size as i32], &vec![7; 4 * size]);
    model.last().quantized = Some(Quantized { scale: vec![0.5; 4], ..Quantized::default() });
    model.bytes()
}

/// A tensor of `size` texts of four bytes.
pub fn texts(size: usize) -> Vec<u8> {
    let first = 4 * size + 8;
    let places = [size].into_iter().chain((0..=size).map(|i| first + 4 * i));
    let bytes: Vec<u8> = places.flat_map(|place| (place as i32).to_le_bytes()).chain(vec![b'a'; 4 * size]).collect();
    Tflite::default().tensor("a", 5, &[size as i32], &bytes).bytes()
}

/// A sparse tensor of `size` rows with two values each.
pub fn rows(size: usize) -> Vec<u8> {
    let segments = (0..=size as i32).map(|row| 2 * row).collect();
    let dimensions = vec![Dimension::Dense(size as i32), Dimension::Csr(segments, [1, 3].repeat(size))];
    let mut model = Tflite::default();
    model.tensor("a", I8, &[size as i32, 5], &vec![7; 2 * size]);
    model.last().sparse = Some((vec![0, 1], vec![], dimensions));
    model.bytes()
}

/// Tensors in external buffers of these IDs.
fn external(ids: impl Iterator<Item = u32>) -> Vec<u8> {
    let mut model = Tflite { groups: vec![b"a".to_vec()], ..Tflite::default() };
    for id in ids {
        model.external.push((id, 0, id.into(), 1, b""));
        model.add(Made { name: format!("{id:06}").into(), kind: I8, external: id, ..Made::default() });
    }
    model.bytes()
}

pub fn external_rising(size: usize) -> Vec<u8> {
    external(1..=size as u32)
}

pub fn external_falling(size: usize) -> Vec<u8> {
    external((1..=size as u32).rev())
}

/// Tensors, the last of which has too few bytes.
pub fn spoiled(size: usize) -> Vec<u8> {
    let mut model = Tflite::default();
    for i in 0..size {
        model.tensor(format!("{i:06}"), I8, &[1], &[7]);
    }
    model.tensor("last", I8, &[2], &[7]).bytes()
}
