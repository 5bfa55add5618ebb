//! PyTorch checkpoints: the form of a file, the code that it names, and tensors without values that can be read.

use std::collections::HashSet;

use tenslice::{ErrorKind, Tensor};

use super::failure::Failure;
use super::model::{Model, Opened};
use super::text::{plural, printable};

/// The module of all classes in the pickle of a TorchScript archive.
const SCRIPT: &str = "__torch__.";

/// Describes the form of a checkpoint; `None` for any other file.
pub fn form(opened: &Opened<'_>) -> Option<String> {
    let pytorch = opened.file.as_pytorch()?;
    if pytorch.is_stream() {
        return Some("stream of torch.save, as PyTorch before 1.6 writes it".into());
    }
    let is_script = pytorch.globals().any(|global| global.module.starts_with(SCRIPT));
    let form = if is_script { "TorchScript archive" } else { "archive of torch.save" };
    let version = opened.file.version().map(|version| format!(", version {}", printable(version)));
    Some(form.to_owned() + &version.unwrap_or_default())
}

/// The names in the checkpoints of a model that stand for code, each once, without those that tensors need. Names
/// outside of PyTorch come first. `None` if no file is a checkpoint.
pub fn unknown_globals(model: &Model<'_>) -> Option<Vec<String>> {
    let mut checkpoints = model.files.iter().filter_map(|opened| opened.file.as_pytorch()).peekable();
    checkpoints.peek()?;
    let unknown = checkpoints.flat_map(|pytorch| pytorch.globals()).filter(|global| !global.is_known);
    let mut seen = HashSet::new();
    let mut names: Vec<String> = unknown
        .map(|global| format!("{}.{}", global.module, global.name))
        .filter(|name| seen.insert(name.clone()))
        .collect();
    names.sort_by_key(|name| name.starts_with("torch.") || name.starts_with(SCRIPT));
    Some(names)
}

/// Says which code PyTorch may run when it loads a checkpoint.
pub fn code(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let (own, others): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| name.starts_with(SCRIPT));
    let mut parts = Vec::new();
    if !others.is_empty() {
        let shown: Vec<String> = others.iter().take(SHOWN).map(|name| printable(name)).collect();
        let more = match others.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let (count, s, shown) = (others.len(), plural(others.len() as u64), shown.join(", "));
        parts.push(format!("{count} unknown name{s}, skipped here, that PyTorch may run: {shown}{more}"));
    }
    if !own.is_empty() {
        let (count, classes) = (own.len(), if own.len() == 1 { "class" } else { "classes" });
        parts.push(format!("{count} {classes} of TorchScript, skipped here, whose code is in the file"));
    }
    if parts.is_empty() {
        return "only names that tensors need".into();
    }
    parts.join("; ") + " (see show --globals)"
}

/// Fails if a checkpoint does not have the values of a tensor as numbers. The message says what to save instead, and
/// ends with a `hint`.
pub fn check_values(opened: &Opened<'_>, tensor: &Tensor<'_>, hint: &str) -> Result<(), Failure> {
    let layout = tensor.layout_name();
    let of_torch = opened.file.as_pytorch().and(layout.strip_prefix("torch."));
    let what = match of_torch {
        None => return Ok(()),
        Some("quantized") => "its scales are not read: save x.dequantize(), or x.int_repr() and the scales,",
        Some("sparse_coo" | "sparse_csr" | "sparse_csc" | "sparse_bsr" | "sparse_bsc") => {
            "its indices and values are not listed: save x.to_dense(), or its parts as tensors,"
        }
        Some("conj") => "its values are the conjugates of the stored ones: save x.resolve_conj()",
        Some("neg") => "its values are the negatives of the stored ones: save x.resolve_neg()",
        Some("nested") => "its parts are not listed: save the tensors of x.unbind()",
        Some("meta") => "it has only a shape: save the model from a device that has its values,",
        Some("subclass" | "wrapper_subclass") => {
            "a class of the program that wrote it computes its values: save plain tensors instead,"
        }
        Some(_) => "this dtype has no name here: convert it to another one, and save it",
    };
    let name = printable(&tensor.name().to_string());
    let message = format!("tensor \"{name}\": its layout is {layout}, and {what} with PyTorch{hint}");
    Err(Failure::new(ErrorKind::UnsupportedLayout.name(), message))
}
