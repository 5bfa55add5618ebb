//! Resolves an argument to files: the file itself, or the tensor files below a folder.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tenslice::{ErrorKind, Format};

use crate::common::model::Target;
use crate::common::model::files::{files_of_index, models_of};

/// File name extensions of tensor files. Such a file is always listed, so that a damaged one is reported.
const ENDINGS: &[&str] =
    &[".zt", ".safetensors", ".sft", ".gguf", ".npy", ".npz", ".tens", ".blz", ".b2nd", ".b2frame"];

/// Returns the file itself or, for a folder, all models and single tensor files in it, sorted by path. Skips hidden
/// files and folders, and links to folders. Lists the target of several links once, as in a model cache.
pub fn expand(path: &Path) -> io::Result<Vec<Target>> {
    if !path.is_dir() {
        return Ok(vec![Target::File(path.into())]);
    }
    let mut targets = targets_of(&linked_once(tensor_files_below(path)?));
    targets.sort_by(|a, b| a.path().cmp(b.path()));
    let mut seen = HashSet::new();
    targets.retain(|target| seen.insert(real_files(target)));
    Ok(targets)
}

/// The tensor files below a folder, recognized by content or by name.
fn tensor_files_below(path: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut found, mut folders) = (Vec::new(), vec![path.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            // Links to files are followed. Links to folders are not, because the target may be a parent folder.
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if path.is_file() && is_tensor_file(&path)
                || path.is_symlink() && !path.exists() && has_ending(&path)
            {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The file that a path resolves to.
fn real_file(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.into())
}

/// Removes each file that a link in the list points to.
fn linked_once(found: Vec<PathBuf>) -> Vec<PathBuf> {
    let linked: HashSet<PathBuf> =
        found.iter().filter(|path| path.is_symlink()).map(|path| real_file(path)).collect();
    found.into_iter().filter(|path| path.is_symlink() || !linked.contains(&real_file(path))).collect()
}

/// Groups the parts of GGUF models, and drops the files that an index names. All other files stay single.
fn targets_of(found: &[PathBuf]) -> Vec<Target> {
    let mut folders: BTreeMap<Option<&Path>, Vec<PathBuf>> = BTreeMap::new();
    for path in found {
        folders.entry(path.parent()).or_default().push(path.clone());
    }
    let models: Vec<_> = folders.values().flat_map(|files| models_of(files)).collect();
    let of_index = found.iter().filter(|path| is_index(path)).flat_map(|path| files_of_index(path));
    let taken: HashSet<PathBuf> =
        models.iter().flatten().cloned().chain(of_index).map(|path| real_file(&path)).collect();
    let alone = found.iter().filter(|path| !taken.contains(&real_file(path))).cloned().map(Target::File);
    models.into_iter().map(Target::Parts).chain(alone).collect()
}

/// The files that a target consists of.
fn real_files(target: &Target) -> BTreeSet<PathBuf> {
    let paths = match target {
        Target::File(path) if is_index(path) => [vec![path.clone()], files_of_index(path)].concat(),
        Target::File(path) => vec![path.clone()],
        Target::Parts(paths) => paths.clone(),
    };
    paths.iter().map(|path| real_file(path)).collect()
}

/// Returns true for the name of an index, such as `model.safetensors.index.json` or
/// `model.safetensors.index.fp16.json`.
fn is_index(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.contains(".safetensors.index.") && name.ends_with(".json")
}

/// Returns true if the name is that of a tensor file or of an index.
fn has_ending(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ENDINGS.iter().any(|ending| name.ends_with(ending)) || is_index(path)
}

/// Returns true if the name or the first bytes are those of a tensor file. A ZIP archive counts if the name of its
/// first entry ends with `.npy`.
fn is_tensor_file(path: &Path) -> bool {
    if has_ending(path) {
        return true;
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(1024).read_to_end(&mut head));
    if read.is_err() || head.is_empty() {
        return false;
    }
    match tenslice::File::open(&head) {
        Ok(_) => true,
        Err(error) => match error.format() {
            Format::Npz | Format::Zip => first_entry(&head).is_some_and(|name| name.ends_with(b".npy")),
            _ => !matches!(error.kind(), ErrorKind::UnknownFormat | ErrorKind::UnsupportedFormat),
        },
    }
}

/// The name of the first entry of a ZIP archive.
fn first_entry(head: &[u8]) -> Option<&[u8]> {
    let length = head.get(26..28).and_then(|length| length.try_into().ok()).map(u16::from_le_bytes)?;
    head.get(30..30 + usize::from(length))
}
