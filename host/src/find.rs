//! Finds the files of a model: `tenslice_host.c` has the same rules.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tenslice::safetensors::Index;
use tenslice::{ErrorKind, File, Format, Part};

use crate::names::{
    are_together, is_part_name, is_shard_name, may_be_a_copy, may_be_together, one_spelling, shard_file_name,
};
use crate::{Error, Host, HostFile, Mapping, checked, is_index_name, is_tensor_file_name, map};

pub(crate) fn open(path: &Path) -> Result<Host, Error> {
    if path.is_dir() {
        return open_folder(path);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    open_file(path.parent().unwrap_or(Path::new("")), path, &name)
}

/// The names in a folder, sorted, except hidden ones.
fn list(folder: &Path) -> Result<Vec<String>, Error> {
    let place = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let names = fs::read_dir(place).and_then(|entries| {
        entries
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<std::io::Result<Vec<_>>>()
    });
    let mut names = names.map_err(|error| Error::Unlisted { path: place.into(), error })?;
    names.retain(|name| !name.starts_with('.'));
    names.sort_unstable();
    Ok(names)
}

/// Opens the only model in a folder.
fn open_folder(folder: &Path) -> Result<Host, Error> {
    let all = list(folder)?;
    let name = only_model(&all)?;
    let host = open_file(folder, &folder.join(&name), &name).or_else(|error| {
        // If this is a damaged part of a model, another part represents it.
        let mut others = all.iter().filter(|other| **other != name && are_parts(&name, other));
        others.find_map(|other| open_file(folder, &folder.join(other), other).ok()).ok_or(error)
    })?;
    // A file with the name of a shard is one only if the open file lists it.
    let is_listed = |other: &str| {
        let mut shards = host.files().iter().filter(|file| file.is_shard());
        other == name || shards.any(|shard| shard_file_name(&name, shard.name()) == other)
    };
    match all.iter().find(|other| other.ends_with(".zt") && !is_listed(other)) {
        Some(other) if host.index().is_none() => Err(Error::SeveralModels(name, other.clone())),
        _ => Ok(host),
    }
}

/// Returns true if both are parts of a GGUF model that may be the same.
fn are_parts(part: &str, other: &str) -> bool {
    is_part_name(part) && other.ends_with(".gguf") && may_be_together(part, other)
}

/// Returns the name of the file that represents the only model in a folder, besides a copy of it as a checkpoint.
fn only_model(all: &[String]) -> Result<String, Error> {
    let others: Vec<String> = all.iter().filter(|name| !may_be_a_copy(name)).cloned().collect();
    match only_model_of(&others) {
        Err(Error::NoTensorFile) => only_model_of(all),
        found => found,
    }
}

fn only_model_of(all: &[String]) -> Result<String, Error> {
    let mut indices = all.iter().rev().filter(|name| is_index_name(name));
    let mut files = all.iter().filter(|name| is_tensor_file_name(name) && !is_shard_name(all, name));
    let (found, other) = match indices.next() {
        Some(index) => (index, indices.next()),
        None => {
            let first = files.next().ok_or(Error::NoTensorFile)?;
            (first, files.find(|name| !are_parts(first, name)))
        }
    };
    other.map_or_else(|| Ok(found.clone()), |other| Err(Error::SeveralModels(found.clone(), other.clone())))
}

/// Opens the file named `name` in a folder, and the files that belong to it.
fn open_file(folder: &Path, path: &Path, name: &str) -> Result<Host, Error> {
    let bytes = map(path).map_err(|error| Error::Unreadable { path: path.into(), error })?;
    let file = match checked(&bytes) {
        Err(error) if error.kind() == ErrorKind::UnknownFormat && is_json(&bytes) => {
            return open_index(folder, name, bytes, error);
        }
        opened => opened.map_err(|error| Error::invalid(name, error, &*bytes))?,
    };
    let parts = part_count(&file).map_or_else(|| Ok(Vec::new()), |count| other_parts(folder, name, count))?;
    let shards = file.as_ztensor2().into_iter().flat_map(|file| file.shards());
    let shards =
        shards.filter_map(|shard| HostFile::shard(shard.name, &folder.join(shard_file_name(name, shard.name))));
    let outside = outside(&file).into_iter().filter_map(|path| HostFile::shard(path, &inside(folder, path)?));
    let others = parts.into_iter().chain(shards).chain(outside).collect::<Vec<_>>();
    let mut files = vec![HostFile::opened(name, path, bytes, None)];
    files.extend(others);
    Ok(Host { index: None, files })
}

/// The files that have data of an ONNX or a TFLite model, as paths from its folder.
fn outside<'a>(file: &File<'a>) -> BTreeSet<&'a str> {
    let has_paths = matches!(file.format(), Format::Onnx | Format::Tflite);
    let tensors = has_paths.then(|| file.tensors());
    let components = tensors.into_iter().flatten().flat_map(|tensor| tensor.components());
    components.filter_map(|component| component.shard()).collect()
}

/// The file at a path from a folder; `None` if it is missing, or if the path or a symbolic link on the way leads out of the
/// folder.
fn inside(folder: &Path, path: &str) -> Option<PathBuf> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let (folder, file) = (fs::canonicalize(folder).ok()?, fs::canonicalize(folder.join(path)).ok()?);
    file.starts_with(folder).then_some(file)
}

/// Maps the files that an index names. `error` says that its text is not a tensor file.
fn open_index(folder: &Path, name: &str, text: Mapping, error: tenslice::Error) -> Result<Host, Error> {
    let fail = |error| Error::invalid(name, error, &*text);
    let index =
        Index::open(&text).map_err(|of_index| fail(if is_of_index(&of_index, &text) { of_index } else { error }))?;
    let count = usize::try_from(index.tensor_count()).map_err(|_| Error::OutOfMemory)?;
    let mut scratch = vec![0; count];
    let names = index.files(&mut scratch).map_err(fail)?.map(|name| one_spelling(&name.to_string()));
    let names: BTreeSet<String> = names.collect();
    let files = names.iter().map(|name| HostFile::new(name, &folder.join(name))).collect();
    Ok(Host { index: Some(text), files })
}

/// Maps the other parts of a GGUF model: files of the folder that state the same number of parts, whatever their names.
/// A file that states something else, or that cannot be opened, is a part if its name says so.
fn other_parts(folder: &Path, name: &str, count: u64) -> Result<Vec<HostFile>, Error> {
    let is_part = |other: &String| {
        if other == name || !may_be_together(other, name) {
            return false;
        }
        let bytes = map(&folder.join(other)).ok().filter(|bytes| bytes.starts_with(b"GGUF"));
        match bytes.as_deref().map(File::open) {
            Some(Ok(file)) => part_count(&file) == Some(count) || are_together(other, name),
            _ => is_part_name(other),
        }
    };
    let names = list(folder)?.into_iter().filter(is_part);
    Ok(names.map(|name| HostFile::new(&name, &folder.join(&name))).collect())
}

/// The number of parts that a file states; `None` if it is a complete model.
fn part_count(file: &File<'_>) -> Option<u64> {
    file.as_gguf()?.split().map(|split| split.count)
}

/// Returns true if the first byte after white space is `{`.
fn is_json(bytes: &[u8]) -> bool {
    bytes.iter().find(|byte| !b" \t\r\n".contains(byte)) == Some(&b'{')
}

/// Returns true if the error is about an index: a JSON text with a `weight_map`.
fn is_of_index(error: &tenslice::Error, text: &[u8]) -> bool {
    const KEY: &[u8] = b"\"weight_map\"";
    let has_map = (error.kind(), error.part()) != (ErrorKind::MissingKey, Part::Tensors);
    has_map && text.windows(KEY.len()).any(|bytes| bytes == KEY)
}
