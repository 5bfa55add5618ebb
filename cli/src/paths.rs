//! The files that an argument stands for: itself, or the tensor files below a folder.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tenslice::{ErrorKind, Format};

use crate::common::model::Target;
use crate::common::model::files::{files_of_index, models_of};

/// How the names of tensor files end.
const ENDINGS: [&str; 9] = [".zt", ".safetensors", ".gguf", ".npy", ".npz", ".tens", ".blz", ".b2nd", ".b2frame"];

/// The file, or what is below the folder, in the order of names: models in several files, and each file that belongs to
/// none. Hidden files and folders are skipped.
pub fn expand(path: &Path) -> io::Result<Vec<Target>> {
    if !path.is_dir() {
        return Ok(vec![Target::File(path.into())]);
    }
    let mut targets = Vec::new();
    let mut folders = vec![path.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let mut found = Vec::new();
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            // A link may lead to a file, as in caches of models, but not to a folder: it may be one above.
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if path.is_file() && is_tensor_file(&path) {
                found.push(path);
            }
        }
        found.sort();
        targets.extend(targets_of(&found));
    }
    targets.sort_by(|a, b| a.path().cmp(b.path()));
    Ok(targets)
}

/// The models among the files of a folder, and those files that belong to none.
fn targets_of(found: &[PathBuf]) -> Vec<Target> {
    let models = models_of(found);
    let of_index = found.iter().filter(|path| is_index(path)).flat_map(|path| files_of_index(path));
    let taken: HashSet<PathBuf> = models.iter().flatten().cloned().chain(of_index).collect();
    let alone = found.iter().filter(|path| !taken.contains(*path)).cloned().map(Target::File);
    models.into_iter().map(Target::Parts).chain(alone).collect()
}

/// Returns true for the name of an index, such as `model.safetensors.index.json` or `model.safetensors.index.fp16.json`.
fn is_index(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.contains(".safetensors.index.") && name.ends_with(".json")
}

/// Whether its name or its first bytes are those of a tensor file. Many other files are ZIP archives, and begin like NPZ.
fn is_tensor_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if ENDINGS.iter().any(|ending| name.ends_with(ending)) || is_index(path) {
        return true;
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(16).read_to_end(&mut head));
    if read.is_err() || head.is_empty() {
        return false;
    }
    match tenslice::File::open(&head) {
        Ok(_) => true,
        Err(error) => {
            !matches!(error.kind(), ErrorKind::UnknownFormat | ErrorKind::UnsupportedFormat)
                && !matches!(error.format(), Format::Npz | Format::Zip | Format::Safetensors)
        }
    }
}
