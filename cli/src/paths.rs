//! The files that an argument stands for: itself, or the tensor files below a folder.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tenslice::gguf::PartName;
use tenslice::{ErrorKind, Format, safetensors::Index};

/// How the names of tensor files end.
const ENDINGS: [&str; 10] =
    [".zt", ".safetensors", ".safetensors.index.json", ".gguf", ".npy", ".npz", ".tens", ".blz", ".b2nd", ".b2frame"];

/// The file, or the tensor files below the folder, in the order of their names: what is hidden is left out, and what
/// belongs to a model that is named by its index or by its first part.
pub fn expand(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.into()]);
    }
    let mut found = Vec::new();
    let mut folders = vec![path.to_path_buf()];
    while let Some(folder) = folders.pop() {
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
    }
    let parts: HashSet<PathBuf> = found.iter().flat_map(|path| parts_of(path)).collect();
    found.retain(|path| !parts.contains(path));
    found.sort();
    Ok(found)
}

/// Whether its name or its first bytes are those of a tensor file. Many other files are ZIP archives, and begin like NPZ.
fn is_tensor_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if ENDINGS.iter().any(|ending| name.ends_with(ending)) {
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

/// The other files of the model that this file names.
fn parts_of(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if let Some(part) = PartName::parse(&name).filter(|part| part.index == 0) {
        return (1..part.count).map(|index| path.with_file_name(PartName { index, ..part }.to_string())).collect();
    }
    if !name.ends_with(".safetensors.index.json") {
        return Vec::new();
    }
    let Ok(text) = fs::read(path) else { return Vec::new() };
    let Ok(index) = Index::open(&text) else { return Vec::new() };
    let names: HashSet<String> = index.entries().map(|entry| entry.file.to_string()).collect();
    names.into_iter().map(|name| path.with_file_name(name)).collect()
}
