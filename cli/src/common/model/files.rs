//! Finds the files of a model in a folder: parts of GGUF models, shards of zTensor 2 files, files that an index names.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tenslice::{ErrorKind, File};

use super::names_of_index;
use super::parts::{self, ModelPart, Split};
use crate::common::failure::Failure;
use crate::common::mapping::{Mapping, map};
use crate::common::problem::{MISSING_SHARD, Problem};

/// The shards of a zTensor 2 file.
#[derive(Default)]
pub struct Shards {
    /// The shards next to the file, by name.
    pub found: HashMap<String, Mapping>,
    /// The reasons why other shards cannot be used, by name.
    pub lacking: HashMap<String, String>,
}

/// The GGUF files among `paths` whose metadata states that they are parts of a model.
pub(super) fn parts_of(paths: &[PathBuf]) -> Vec<(PathBuf, ModelPart)> {
    let part = |path: &PathBuf| {
        let bytes = map(path).ok()?;
        let split = Split::of(&File::open(&bytes).ok()?)?;
        let name = path.file_name()?.to_string_lossy().into_owned();
        Some((path.clone(), ModelPart { name, split }))
    };
    paths.iter().filter(|path| is_gguf(path)).filter_map(part).collect()
}

/// The parts of each GGUF model among files of one folder, including duplicate parts.
pub fn models_of(paths: &[PathBuf]) -> Vec<Vec<PathBuf>> {
    let files = parts_of(paths);
    let known: Vec<ModelPart> = files.iter().map(|(_, part)| part.clone()).collect();
    let paths_of = |model: parts::Model| {
        let repeated = model.files.iter().filter(|i| !model.parts.contains(i));
        model.parts.iter().chain(repeated).map(|i| files[*i].0.clone()).collect()
    };
    parts::models(&known).into_iter().map(paths_of).collect()
}

/// The files that an index names; none if the index cannot be read, or is rejected.
pub fn files_of_index(path: &Path) -> Vec<PathBuf> {
    let names = map(path).ok().and_then(|text| names_of_index(&text).ok()).unwrap_or_default();
    names.into_iter().map(|name| path.with_file_name(name)).collect()
}

/// Returns true if the file starts with the GGUF magic.
fn is_gguf(path: &Path) -> bool {
    let mut magic = [0; 4];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && &magic == b"GGUF"
}

/// The files in the folder of `path`, including `path` itself.
pub(super) fn siblings(path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = fs::read_dir(folder) else { return vec![path.into()] };
    let names = entries.filter_map(|entry| entry.ok().map(|entry| entry.file_name()));
    let mut all: Vec<_> = names.map(|name| path.with_file_name(name)).filter(|path| path.is_file()).collect();
    all.sort();
    all
}

/// Explains why the file with the name of a missing part is not that part; `None` if the file cannot be mapped.
pub(super) fn why_not_a_part(path: &Path) -> Option<String> {
    let bytes = map(path).ok()?;
    Some(match File::open(&bytes) {
        Err(error) => format!("; the file of that name cannot be read: {}", error.explain(&bytes[..])),
        Ok(file) => match Split::of(&file) {
            Some(split) => {
                format!("; the file of that name is part {} of {}", split.index.saturating_add(1), split.count)
            }
            None => "; the file of that name is not part of a model".into(),
        },
    })
}

/// Maps the shards of a zTensor 2 file from its folder. Also returns a problem for each missing or damaged shard.
pub(super) fn map_shards(path: &Path, file: &File<'_>) -> (Shards, Vec<Problem>) {
    let (mut all, mut problems) = (Shards::default(), Vec::new());
    let shards = file.as_ztensor2().into_iter().flat_map(|file| file.shards().map(move |shard| (file, shard)));
    for (file, shard) in shards {
        // The library already rejects names that lead out of the folder; `shard_path` is a second guard.
        let Some(place) = shard_path(path, shard.name) else { continue };
        let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let problem = match map(&place) {
            Ok(bytes) => match file.check_shard(shard.name, &bytes) {
                Ok(_) => {
                    all.found.insert(shard.name.into(), bytes);
                    continue;
                }
                Err(_) if bytes.len() as u64 != shard.size => {
                    let message = format!("the shard has {} bytes; the manifest states {}", bytes.len(), shard.size);
                    Problem::of_file(ErrorKind::WrongLength.name(), &name, message)
                }
                Err(error) => Problem::of_file(
                    error.kind().name(),
                    &name,
                    format!("the shard does not match the manifest: {}", error.kind().text()),
                ),
            },
            Err(_) if path == Path::new("-") => Problem::of_file(
                MISSING_SHARD,
                shard.name,
                "shards cannot be found for standard input; pass the path of the file instead of -",
            ),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Problem::of_file(MISSING_SHARD, &name, "the shard is missing")
            }
            Err(error) => Problem::of_failure(&name, Failure::unreadable(&error)),
        };
        all.lacking.insert(shard.name.into(), problem.line());
        problems.push(problem);
    }
    (all, problems)
}

/// The path of a shard: `model-NAME.zt` next to `model.zt`, as in the reference implementation.
fn shard_path(path: &Path, name: &str) -> Option<PathBuf> {
    let is_plain = !name.starts_with('.') && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    let stem = path.file_stem().filter(|_| is_plain)?.to_string_lossy();
    Some(path.with_file_name(format!("{stem}-{name}.zt")))
}
