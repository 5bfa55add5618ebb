//! The names of the files of models.

use tenslice::gguf::PartName;

/// The endings of tensor files.
const ENDINGS: &[&str] = &[
    ".zt",
    ".safetensors",
    ".sft",
    ".gguf",
    ".npy",
    ".npz",
    ".tens",
    ".blz",
    ".b2nd",
    ".b2frame",
    ".pt",
    ".pth",
    ".ckpt",
    ".onnx",
    ".ptd",
    ".tflite",
];

/// Returns true if the name is one of a tensor file: it has such an ending, or is one of transformers, such as
/// `pytorch_model.bin`.
#[must_use]
pub fn is_tensor_file_name(name: &str) -> bool {
    ENDINGS.iter().any(|ending| name.ends_with(ending)) || is_checkpoint_name(name)
}

/// Returns true for names such as `pytorch_model.bin` and `pytorch_model-00001-of-00002.bin`. Other files that end in
/// `.bin` may have any contents.
fn is_checkpoint_name(name: &str) -> bool {
    let is_model = name.contains("pytorch_model") || name.starts_with("adapter_model");
    is_model && name.ends_with(".bin")
}

/// Returns true for the name of an index, such as `model.safetensors.index.json`,
/// `model.safetensors.index.fp16.json` or `pytorch_model.bin.index.json`.
#[must_use]
pub fn is_index_name(name: &str) -> bool {
    (name.contains(".safetensors.index.") || name.contains(".bin.index.")) && name.ends_with(".json")
}

/// Returns true for the names of a checkpoint, or of its index. In a folder with other tensor files, these are often
/// the same model once more.
pub(crate) fn may_be_a_copy(name: &str) -> bool {
    is_checkpoint_name(name) || is_index_name(name) && name.contains(".bin.index.")
}

/// The model that the name of a part states.
fn model_of(name: &str) -> Option<(&str, u64)> {
    PartName::parse(name).map(|part| (part.prefix, part.count))
}

/// Returns true if the name is that of a part.
pub(crate) fn is_part_name(name: &str) -> bool {
    model_of(name).is_some()
}

/// Returns true if the names say that both files are parts of the same model.
pub(crate) fn are_together(a: &str, b: &str) -> bool {
    is_part_name(a) && model_of(a) == model_of(b)
}

/// Returns true if the names do not say that two files are parts of different models. A file of any name may be a part.
pub(crate) fn may_be_together(a: &str, b: &str) -> bool {
    !is_part_name(a) || !is_part_name(b) || are_together(a, b)
}

/// Returns the name of the file that is shard `shard` of the zTensor 2 file `name`: `model-NAME.zt` next to `model.zt`.
#[must_use]
pub fn shard_file_name(name: &str, shard: &str) -> String {
    format!("{}-{shard}.zt", name.strip_suffix(".zt").unwrap_or(name))
}

/// Returns true if the name may be that of a shard of one of the files: `model-NAME.zt` next to `model.zt`.
pub(crate) fn is_shard_name(files: &[String], name: &str) -> bool {
    let is_of = |other: &String| {
        let stem = other.strip_suffix(".zt");
        stem.and_then(|stem| name.strip_prefix(stem)).is_some_and(|rest| rest.starts_with('-'))
    };
    name.ends_with(".zt") && files.iter().any(is_of)
}

/// The path of a file of an index, with one spelling: `./a//b` is `a/b`.
pub(crate) fn one_spelling(path: &str) -> String {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
    names.join("/")
}
