//! The files: tensors named as in Llama, of about 128 bytes, each file written by the crate that its format comes
//! from.

use std::io::Cursor;
use std::{env, fs, process};

use safetensors::tensor::{Dtype, TensorView, serialize};
use ztensor2::{DType, Writer};

use crate::{gguf, onnx, tflite};

/// The size of Llama 2's vocabulary.
const TOKENS: usize = 32_000;

/// The kind of a file.
#[derive(Clone, Copy, PartialEq)]
pub enum Format {
    /// zTensor 1.2.
    Ztensor1,
    Ztensor2,
    Safetensors,
    Gguf,
    Onnx,
    Tflite,
    /// GGUF with a vocabulary.
    Vocabulary,
}

impl Format {
    pub const ALL: [Self; 7] = [
        Self::Ztensor1,
        Self::Ztensor2,
        Self::Safetensors,
        Self::Gguf,
        Self::Onnx,
        Self::Tflite,
        Self::Vocabulary,
    ];

    /// The columns of the table of figures.
    pub const IN_TABLE: [Self; 6] =
        [Self::Ztensor1, Self::Ztensor2, Self::Safetensors, Self::Gguf, Self::Onnx, Self::Tflite];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ztensor1 => "ztensor1",
            Self::Ztensor2 => "ztensor2",
            Self::Safetensors => "safetensors",
            Self::Gguf => "gguf",
            Self::Onnx => "onnx",
            Self::Tflite => "tflite",
            Self::Vocabulary => "vocabulary",
        }
    }

    /// Writes a file of `size` tensors.
    pub fn file(self, size: usize) -> Vec<u8> {
        match self {
            Self::Ztensor1 => ztensor1(size),
            Self::Ztensor2 => ztensor2(size),
            Self::Safetensors => safetensors(size),
            Self::Gguf => gguf::file(&gguf::names(size), 0),
            Self::Onnx => onnx::file(size),
            Self::Tflite => tflite::file(size),
            Self::Vocabulary => gguf::file(&gguf::names(size), TOKENS),
        }
    }
}

/// The tensors in a layer of Llama.
const PARTS: [&str; 9] = [
    "input_layernorm",
    "mlp.down_proj",
    "mlp.gate_proj",
    "mlp.up_proj",
    "post_attention_layernorm",
    "self_attn.k_proj",
    "self_attn.o_proj",
    "self_attn.q_proj",
    "self_attn.v_proj",
];

pub fn name(i: usize) -> String {
    format!("model.layers.{}.{}.weight", i / PARTS.len(), PARTS[i % PARTS.len()])
}

/// Tensors of 32 numbers each, in the order in which the crate writes them.
fn safetensors(size: usize) -> Vec<u8> {
    let data = [0; 128];
    let view = || TensorView::new(Dtype::F32, vec![4, 8], &data).expect("8 x 4 numbers of 4 bytes");
    serialize((0..size).map(|i| (name(i), view())), None).expect("what can be written")
}

/// The same tensors. The crate sorts their names.
fn ztensor1(size: usize) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let mut writer = ztensor1::Writer::new(&mut bytes).expect("memory");
    (0..size).for_each(|i| writer.add(&name(i), &[4, 8], &[0_f32; 32]).expect("what can be written"));
    writer.finish().expect("memory");
    bytes.into_inner()
}

/// The same tensors with different numbers: in the order in which they are added, at multiples of 4096.
fn ztensor2(size: usize) -> Vec<u8> {
    let path = env::temp_dir().join(format!("tenslice-open-{}.zt", process::id()));
    let mut writer = Writer::options().canonical(false).align(4096).create(&path).expect("a file of our own");
    for i in 0..size {
        let data: Vec<u8> = (0..32).flat_map(|k| ((i * 32 + k) as f32).to_le_bytes()).collect();
        writer.add(name(i), [4_u64, 8], DType::F32, &data).expect("what can be written");
    }
    writer.finish().expect("a whole file");
    let file = fs::read(&path).expect("what was written");
    let _ = fs::remove_file(&path);
    file
}
