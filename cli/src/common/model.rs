//! A model: one file, an index with the files that it names, or the parts of a GGUF model.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use tenslice::gguf::{PartName, check_parts};
use tenslice::safetensors::Index;
use tenslice::{Component, Error, ErrorKind, File, Tensor, Warning, Warnings};

use super::failure::Failure;
use super::mapping::{Mapping, map};
use super::text::printable;

/// The shards of a zTensor 2 file that are beside it, by their names.
pub type Shards = HashMap<String, Mapping>;

/// The files of a model, mapped.
pub struct Mapped {
    pub path: PathBuf,
    /// The text of the index, where the model has one.
    index: Option<Mapping>,
    files: Vec<MappedFile>,
}

struct MappedFile {
    path: PathBuf,
    /// Its name in the index or among the parts; `None` where the user named the file itself.
    name: Option<String>,
    bytes: Mapping,
    shards: Shards,
}

/// An open model.
pub struct Model<'m> {
    pub path: &'m Path,
    pub index: Option<(Index<'m>, Warnings)>,
    pub files: Vec<Opened<'m>>,
}

/// An open file of a model.
pub struct Opened<'m> {
    pub path: &'m Path,
    /// Its name in the index or among the parts; `None` where the user named the file itself.
    pub name: Option<&'m str>,
    pub bytes: &'m [u8],
    pub file: File<'m>,
    /// Those of the file, after all names have been compared.
    pub warnings: Warnings,
    pub shards: &'m Shards,
}

impl Mapped {
    /// Maps the file at `path`, and those that belong to it.
    pub fn new(path: &Path) -> Result<Self, Failure> {
        let bytes = map(path).map_err(|error| Failure::unreadable(&error))?;
        let beside = |name: String| {
            let path = path.with_file_name(&name);
            match map(&path) {
                Ok(bytes) => Ok(MappedFile { path, name: Some(name), bytes, shards: Shards::new() }),
                Err(error) => Err(Failure::unreadable(&error).in_file(&name)),
            }
        };
        let fail = |error| Failure::of(error, &bytes);
        let (names, is_index) = match File::open(&bytes) {
            Err(error) if error.kind() == ErrorKind::UnknownFormat && is_json(&bytes) => {
                (names_of_index(&bytes).map_err(fail)?, true)
            }
            opened => {
                let file = opened.map_err(fail)?;
                let names = names_of_parts(path, &file);
                if names.is_empty() {
                    let shards = map_shards(path, &file)?;
                    let file = MappedFile { path: path.into(), name: None, bytes, shards };
                    return Ok(Self { path: path.into(), index: None, files: vec![file] });
                }
                (names, false)
            }
        };
        let files = names.into_iter().map(beside).collect::<Result<_, _>>()?;
        Ok(Self { path: path.into(), index: is_index.then_some(bytes), files })
    }

    /// Opens all files, and checks that they belong together.
    pub fn open(&self) -> Result<Model<'_>, Failure> {
        let files = self.files.iter().map(MappedFile::open).collect::<Result<Vec<_>, _>>()?;
        let mut model = Model { path: &self.path, index: None, files };
        if let Some(text) = &self.index {
            let open = || {
                let index = Index::open(text)?;
                index.check(&mut scratch(index.tensor_count())).map(|warnings| (index, warnings))
            };
            let (index, warnings) = open().map_err(|error| Failure::of(error, text))?;
            check_index(&index, &model.files)?;
            model.index = Some((index, warnings));
        } else if model.files.len() > 1 {
            let no_gguf = |opened: &&Opened<'_>| opened.file.as_gguf().is_none();
            if let Some(other) = model.files.iter().find(no_gguf) {
                let failure = Failure::new(ErrorKind::UnknownFormat.name(), "it is no GGUF file");
                return Err(failure.in_file(other.name.unwrap_or_default()));
            }
            let parts = model.files.iter().filter_map(|opened| opened.file.as_gguf());
            check_parts(parts).map_err(|(i, error)| model.files[i].fail(error))?;
        }
        Ok(model)
    }
}

impl MappedFile {
    fn open(&self) -> Result<Opened<'_>, Failure> {
        let name = self.name.as_deref();
        let open = || {
            let file = File::open(&self.bytes)?;
            checked(&file).map(|warnings| (file, warnings))
        };
        let (file, warnings) = open().map_err(|error| {
            let failure = Failure::of(error, &self.bytes);
            if let Some(name) = name { failure.in_file(name) } else { failure }
        })?;
        Ok(Opened { path: &self.path, name, bytes: &self.bytes, file, warnings, shards: &self.shards })
    }
}

impl<'m> Model<'m> {
    /// Whether the user named a file that stands for several.
    pub fn has_parts(&self) -> bool {
        self.files.iter().any(|opened| opened.name.is_some())
    }

    /// All tensors, with the files that they are in.
    pub fn tensors(&self) -> impl Iterator<Item = (&Opened<'m>, Tensor<'m>)> {
        self.files.iter().flat_map(|opened| opened.file.tensors().map(move |tensor| (opened, tensor)))
    }

    /// The tensor of that name. Without a name the only one, where there is a single one.
    pub fn find(&self, name: Option<&str>) -> Result<(&Opened<'m>, Tensor<'m>), Failure> {
        let Some(name) = name else {
            let mut all = self.tensors();
            return match (all.next(), all.next()) {
                (Some(only), None) => Ok(only),
                (None, _) => Err(Failure::new("NotFound", "there are no tensors")),
                _ => Err(Failure::new("NotFound", "there are several tensors: name one of them")),
            };
        };
        let found = self.files.iter().find_map(|opened| Some((opened, opened.file.find(name).ok()?)));
        found.ok_or_else(|| Failure::no_such_tensor(name))
    }
}

impl<'m> Opened<'m> {
    /// An error of this file.
    pub fn fail(&self, error: Error) -> Failure {
        let failure = Failure::of(error, self.bytes);
        if let Some(name) = self.name { failure.in_file(name) } else { failure }
    }

    /// A component with its bytes, where they are in a shard; `None` where that is missing.
    pub fn with_shard<'s>(&'s self, component: &Component<'m>) -> Result<Option<Component<'s>>, Error> {
        match component.shard() {
            None => Ok(Some(*component)),
            Some(name) => self.shards.get(name).map(|bytes| component.with_shard(bytes)).transpose(),
        }
    }

    /// The tensors that a warning is about, for a person: nothing, or the first one.
    pub fn first_of(&self, warning: Warning) -> String {
        let first =
            self.warnings.first_tensor(warning).and_then(|i| self.file.tensors().nth(usize::try_from(i).ok()?));
        first
            .map(|tensor| format!(" (first: tensor \"{}\")", printable(&tensor.name().to_string())))
            .unwrap_or_default()
    }
}

/// Whether it may be JSON. (A safetensors file whose header has 123 bytes begins like that, too.)
fn is_json(bytes: &[u8]) -> bool {
    bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

/// Memory for checks: a word for each of so many.
fn scratch(count: u64) -> Vec<u32> {
    vec![0; usize::try_from(count).unwrap_or(usize::MAX).max(1)]
}

fn names_of_index(text: &[u8]) -> Result<Vec<String>, Error> {
    let index = Index::open(text)?;
    let mut scratch = scratch(index.tensor_count());
    index.check(&mut scratch)?;
    Ok(index.files(&mut scratch)?.map(|file| file.to_string()).collect())
}

/// The names of all parts where this is the first part of a GGUF model.
fn names_of_parts(path: &Path, file: &File<'_>) -> Vec<String> {
    let is_first = file.as_gguf().and_then(|gguf| gguf.split()).is_some_and(|split| split.index == 0);
    let name = path.file_name().and_then(|name| name.to_str()).filter(|_| is_first);
    let part = name.and_then(PartName::parse);
    part.map_or_else(Vec::new, |part| (0..part.count).map(|index| PartName { index, ..part }.to_string()).collect())
}

/// Maps the shards of a zTensor 2 file that are beside it, and holds them to be what it says. Those that are missing are
/// left out. A name has no character that leads out of the folder, or the file has not been opened.
fn map_shards(path: &Path, file: &File<'_>) -> Result<Shards, Failure> {
    let mut all = Shards::new();
    let Some(file) = file.as_ztensor2() else { return Ok(all) };
    for shard in file.shards() {
        let Some(place) = shard_path(path, shard.name) else { continue };
        let fail = |kind, message: String| Failure::new(kind, message).in_file(&place.display().to_string());
        let bytes = match map(&place) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(fail("Io", error.to_string())),
        };
        if let Err(error) = file.check_shard(shard.name, &bytes) {
            return Err(fail(error.kind().name(), format!("this is not the shard that the file means: {error}")));
        }
        all.insert(shard.name.into(), bytes);
    }
    Ok(all)
}

/// Where the shard of that name is: `model-NAME.zt` beside `model.zt`, as the reference implementation has it.
fn shard_path(path: &Path, name: &str) -> Option<PathBuf> {
    let is_plain = !name.starts_with('.') && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    let stem = path.file_stem().filter(|_| is_plain)?.to_string_lossy();
    Some(path.with_file_name(format!("{stem}-{name}.zt")))
}

/// The warnings of a file, once what it has too many of to compare without memory has been compared with some.
pub fn checked(file: &File<'_>) -> Result<Warnings, Error> {
    let warnings = file.warnings();
    let unchecked =
        [Warning::NamesUnchecked, Warning::RolesUnchecked, Warning::PlacesUnchecked, Warning::KeysUnchecked];
    if !unchecked.into_iter().any(|warning| warnings.contains(warning)) {
        return Ok(warnings);
    }
    let roles = file.tensors().map(|tensor| tensor.components().count()).max().unwrap_or(0);
    let entries = file.as_npz().map_or(0, |npz| npz.entries().count());
    let components: usize = file.as_ztensor2().map_or(0, |_| file.tensors().map(|t| t.components().count()).sum());
    let places = 2 * components; // two words each
    let most = [roles, entries, places, file.attributes().count()].into_iter().max().unwrap_or(0);
    file.check(&mut scratch(file.tensor_count().max(most as u64) + 2)) // more than there are: all are sorted at once
}

/// Checks that each file has the tensors that the index says are in it.
fn check_index(index: &Index<'_>, files: &[Opened<'_>]) -> Result<(), Failure> {
    let mut missing: HashMap<String, HashSet<String>> = HashMap::new();
    for entry in index.entries() {
        missing.entry(entry.file.to_string()).or_default().insert(entry.name.to_string());
    }
    for opened in files {
        let name = opened.name.unwrap_or_default();
        let Some(missing) = missing.get_mut(name) else { continue };
        for tensor in opened.file.tensors() {
            missing.remove(&tensor.name().to_string());
        }
        if let Some(tensor) = missing.iter().min() {
            let message = format!("it has no tensor \"{}\", although the index says so", printable(tensor));
            return Err(Failure::new(ErrorKind::NotFound.name(), message).in_file(name));
        }
    }
    Ok(())
}
