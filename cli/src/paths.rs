//! Resolves an argument to files: the file itself, or the tensor files below a folder.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tenslice::gguf::PartName;
use tenslice::{ErrorKind, Format};
use tenslice_host::{is_index_name, is_tensor_file_name};

use crate::common::failure::Failure;
use crate::common::text::printable;

/// Returns the file itself or, for a folder, all models and single tensor files in it, sorted by path. Skips hidden
/// files and folders, and links to folders. Lists the target of several links once, as in a model cache.
pub fn expand(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.into()]);
    }
    let mut found = linked_once(tensor_files_below(path)?);
    found.sort_by_cached_key(|path| order(path));
    let (mut models, mut alone) = (Vec::new(), Vec::new());
    let mut taken = HashSet::new();
    for path in found {
        if taken.contains(&real_file(&path)) {
            continue; // it belongs to a model
        }
        let (path, files) = model_of(path);
        if files.len() > 1 {
            taken.extend(files.iter().map(|file| real_file(file)));
            models.push(path);
        } else {
            alone.push(path);
        }
    }
    // A damaged part may have been found before the other parts.
    alone.retain(|path| !taken.contains(&real_file(path)));
    models.append(&mut alone);
    models.sort();
    Ok(models)
}

/// Returns the path of the only model at `path`: the file itself, or the only model in a folder.
pub fn only(path: &Path) -> Result<PathBuf, Failure> {
    const NAMED: usize = 8;
    let mut found = expand(path).map_err(|error| Failure::unreadable(&error))?;
    if found.len() > 1 {
        let names: Vec<String> =
            found.iter().take(NAMED).map(|path| printable(&path.display().to_string())).collect();
        let more = if found.len() > NAMED { ", ..." } else { "" };
        let message = format!(
            "the folder has several models: pass the path of one of these {}: {}{more}",
            found.len(),
            names.join(", ")
        );
        return Err(Failure::new("InvalidArgument", message));
    }
    found.pop().ok_or_else(|| Failure::new("NotFound", NO_FILES))
}

/// The message about a folder without models.
pub const NO_FILES: &str = "no tensor files in this folder";

/// The order in which files are opened: an index before its files, the parts of a GGUF model before copies with other
/// names, `model.zt` before its shard `model-NAME.zt`.
fn order(path: &Path) -> (bool, bool, usize, PathBuf) {
    let name = file_name(path);
    let length = if name.ends_with(".zt") { name.len() } else { 0 };
    (!is_index_name(&name), PartName::parse(&name).is_none(), length, path.into())
}

/// The path that represents the model at `path`, and the files of the model.
fn model_of(path: PathBuf) -> (PathBuf, Vec<PathBuf>) {
    let name = file_name(&path);
    let is_gguf = is_gguf(&path);
    let may_have_more = is_gguf || is_index_name(&name) || name.ends_with(".zt");
    let host = if may_have_more { tenslice_host::open(&path).ok() } else { None };
    let Some(host) = host else { return (path.clone(), vec![path]) };
    let files = host.files().iter().map(|file| file.path().into()).chain([path.clone()]).collect();
    // The first part of a GGUF model that can be opened represents all of them.
    let mut tables = host.tables();
    let model = if is_gguf { tables.model().ok() } else { None };
    let first = model.and_then(|model| model.files().iter().find(|file| file.file().is_some()));
    let first = first.map(|file| path.with_file_name(file.name().to_string()));
    (first.unwrap_or(path), files)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns true if the file starts with the GGUF magic.
fn is_gguf(path: &Path) -> bool {
    let mut magic = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && &magic == b"GGUF"
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

/// Returns true if the name is that of a tensor file or of an index.
fn has_ending(path: &Path) -> bool {
    is_tensor_file_name(&file_name(path)) || is_index_name(&file_name(path))
}

/// Returns true if the name or the first bytes are those of a tensor file. A ZIP archive counts if its first entry is one
/// of NPZ or of PyTorch.
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
            Format::Npz | Format::Zip | Format::Pytorch if head.starts_with(b"PK") => {
                first_entry(&head).is_some_and(is_of_tensors)
            }
            _ => !matches!(error.kind(), ErrorKind::UnknownFormat | ErrorKind::UnsupportedFormat),
        },
    }
}

/// Returns true if the name of an entry is that of an array in NPZ, or that of the tree or a storage of PyTorch: TorchScript
/// writes its storages first.
fn is_of_tensors(name: &[u8]) -> bool {
    let in_folder = name.iter().position(|byte| *byte == b'/').map(|slash| &name[slash..]);
    let is_storage = |rest: &[u8]| {
        let key = rest.strip_prefix(b"/data/");
        key.is_some_and(|key| !key.is_empty() && key.iter().all(u8::is_ascii_digit))
    };
    name.ends_with(b".npy") || in_folder.is_some_and(|rest| rest == b"/data.pkl" || is_storage(rest))
}

/// The name of the first entry of a ZIP archive.
fn first_entry(head: &[u8]) -> Option<&[u8]> {
    let length = head.get(26..28).and_then(|length| length.try_into().ok()).map(u16::from_le_bytes)?;
    head.get(30..30 + usize::from(length))
}
