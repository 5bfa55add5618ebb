//! A model: one file, an index with the files that it names, or the parts of a GGUF model.
//!
//! What belongs together is decided in `listed` and `parts`, without I/O; here files are mapped and opened. A file that is
//! missing or wrong is a problem of the model: the rest stays readable.

pub mod files;
mod listed;
mod parts;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use tenslice::safetensors::Index;
use tenslice::{Component, Error, ErrorKind, File, Tensor, Warning, Warnings};

use self::files::{Shards, map_shards, parts_of, siblings, why_not_a_part};
use self::listed::Listed;
use self::parts::{MISSING_PART, Part};
use super::budget::Stop;
use super::details::uninitialised_chunks;
use super::failure::Failure;
use super::mapping::{Mapping, map};
use super::problem::Problem;
use super::text::printable;

/// What a command reads at a time.
#[derive(Clone, Debug)]
pub enum Target {
    /// A file, and what belongs to it.
    File(PathBuf),
    /// Files of a folder that are the parts of a GGUF model; the first one stands for the model in messages.
    Parts(Vec<PathBuf>),
}

impl Target {
    /// The path that messages name.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Parts(paths) => paths.first().map_or(Path::new(""), PathBuf::as_path),
        }
    }
}

/// The files of a model, mapped.
pub struct Mapped {
    pub path: PathBuf,
    /// The text of the index, if the model has one.
    index: Option<Mapping>,
    files: Vec<MappedFile>,
    /// Files that are missing, and those that are stored twice.
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
}

struct MappedFile {
    path: PathBuf,
    /// Its name in the index or among the parts; `None` for the file that the user named.
    name: Option<String>,
    bytes: Mapping,
    shards: Shards,
}

/// An open model.
pub struct Model<'m> {
    pub path: &'m Path,
    pub index: Option<(Index<'m>, Warnings)>,
    /// The files that could be opened.
    pub files: Vec<Opened<'m>>,
    /// What cannot be read, though the model should have it.
    pub problems: Vec<Problem>,
    /// Warnings about several files; those of a file are with the file.
    pub warnings: Vec<Problem>,
}

/// An open file of a model.
pub struct Opened<'m> {
    pub path: &'m Path,
    /// Its name in the index or among the parts; `None` for the file that the user named.
    pub name: Option<&'m str>,
    pub bytes: &'m [u8],
    pub file: File<'m>,
    /// The warnings of the file, after all names have been compared.
    pub warnings: Warnings,
    pub shards: &'m Shards,
    /// Tensors that the index has elsewhere, or not at all.
    unlisted: HashSet<String>,
}

impl Mapped {
    /// Maps the files of a model.
    pub fn new(target: &Target) -> Result<Self, Failure> {
        match target {
            Target::File(path) => Self::of_file(path),
            Target::Parts(paths) => Self::of_parts(target.path(), parts_of(paths), None),
        }
    }

    /// Maps the file at `path`, and those that belong to it.
    fn of_file(path: &Path) -> Result<Self, Failure> {
        let bytes = map(path).map_err(|error| Failure::unreadable(&error))?;
        let fail = |error| Failure::of(error, &bytes);
        let file = match File::open(&bytes) {
            Err(error) if error.kind() == ErrorKind::UnknownFormat && is_json(&bytes) => {
                let names = names_of_index(&bytes).map_err(fail)?;
                return Ok(Self::of_index(path, bytes, names));
            }
            opened => opened.map_err(fail)?,
        };
        let split = file.as_gguf().and_then(|gguf| gguf.split());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // The first part by its content or by its name: if these disagree, the others are read all the same.
        if split.is_some_and(|split| split.index == 0 || parts::is_named_first(&name)) && path != Path::new("-") {
            return Self::of_parts(path, parts_of(&siblings(path)), path.file_name().map(PathBuf::from));
        }
        let (shards, problems, mut warnings) = map_shards(path, &file);
        warnings.extend(file.as_gguf().and_then(|_| parts::misnamed(&name, split)));
        let file = MappedFile { path: path.into(), name: None, bytes, shards };
        Ok(Self { path: path.into(), index: None, files: vec![file], problems, warnings })
    }

    /// Maps the files that an index names.
    fn of_index(path: &Path, text: Mapping, names: Vec<String>) -> Self {
        let mut mapped = Self {
            path: path.into(),
            index: Some(text),
            files: Vec::new(),
            problems: Vec::new(),
            warnings: Vec::new(),
        };
        for name in names {
            mapped.add(path.with_file_name(&name), name);
        }
        mapped
    }

    /// Maps the parts of one model: of the model that has the file of that name, if there are several.
    fn of_parts(path: &Path, files: Vec<(PathBuf, Part)>, wanted: Option<PathBuf>) -> Result<Self, Failure> {
        let known: Vec<Part> = files.iter().map(|(_, part)| part.clone()).collect();
        let is_wanted = |model: &parts::Model| {
            let has = |name: &PathBuf| model.files.iter().any(|i| files[*i].0.file_name() == Some(name.as_os_str()));
            wanted.as_ref().is_none_or(has)
        };
        let model = parts::models(&known).into_iter().find(is_wanted);
        let changed = || Failure::new("Io", "the parts of the model have changed while they were read");
        let parts::Model { parts, problems, warnings, missing, .. } = model.ok_or_else(changed)?;
        let mut mapped = Self { path: path.into(), index: None, files: Vec::new(), problems, warnings };
        for i in parts {
            mapped.add(files[i].0.clone(), known[i].name.clone());
        }
        for problem in &mut mapped.problems {
            let named = problem.file.as_ref().filter(|name| problem.kind == MISSING_PART && missing.contains(name));
            if let Some(why) = named.and_then(|name| why_not_a_part(&path.with_file_name(name))) {
                problem.message += &why;
            }
        }
        Ok(mapped)
    }

    /// Adds a file, or the problem that it cannot be read.
    fn add(&mut self, path: PathBuf, name: String) {
        match map(&path) {
            Ok(bytes) => self.files.push(MappedFile { path, name: Some(name), bytes, shards: Shards::new() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.problems.push(Problem::of_file("MissingFile", &name, "the file is missing"));
            }
            Err(error) => self.problems.push(Problem::of_failure(&name, Failure::unreadable(&error))),
        }
    }

    /// Opens all files, and compares what they say of each other. A single file must be sound.
    pub fn open(&self) -> Result<Model<'_>, Failure> {
        let (mut files, mut problems) = (Vec::new(), self.problems.clone());
        let mut warnings = self.warnings.clone();
        for file in &self.files {
            match (file.open(), &file.name) {
                (Ok(opened), _) => files.push(opened),
                (Err(failure), Some(name)) => problems.push(Problem::of_failure(name, failure)),
                (Err(failure), None) => return Err(failure),
            }
        }
        let mut index = None;
        if let Some(text) = &self.index {
            let open = || {
                let index = Index::open(text)?;
                index.check(&mut scratch(index.tensor_count())).map(|warnings| (index, warnings))
            };
            let opened = open().map_err(|error| Failure::of(error, text))?;
            let by_name: Vec<_> =
                files.iter().map(|opened| (opened.name.unwrap_or_default(), &opened.file)).collect();
            let listed = listed::compare(&opened.0, &by_name, problems);
            let Listed { mut unlisted, problems: of_index, warnings: others } = listed;
            for opened in &mut files {
                opened.unlisted = opened.name.and_then(|name| unlisted.remove(name)).unwrap_or_default();
            }
            problems = of_index;
            warnings.extend(others);
            index = Some(opened);
        } else if self.files.iter().any(|file| file.name.is_some()) {
            problems.extend(compare_parts(&files, problems.is_empty()));
        }
        problems.extend(files.iter().flat_map(Opened::problems));
        Ok(Model { path: &self.path, index, files, problems, warnings })
    }
}

impl MappedFile {
    fn open(&self) -> Result<Opened<'_>, Failure> {
        let open = || {
            let file = File::open(&self.bytes)?;
            checked(&file).map(|warnings| (file, warnings))
        };
        let (file, warnings) = open().map_err(|error| Failure::of(error, &self.bytes))?;
        let Self { path, name, bytes, shards } = self;
        Ok(Opened { path, name: name.as_deref(), bytes, file, warnings, shards, unlisted: HashSet::new() })
    }
}

impl<'m> Model<'m> {
    /// Whether the user named a file that stands for several.
    pub fn has_parts(&self) -> bool {
        self.index.is_some() || self.files.iter().any(|opened| opened.name.is_some())
    }

    /// How many bytes its files have.
    pub fn length(&self) -> u64 {
        let lengths = self.files.iter().map(|opened| {
            let of_shards = opened.shards.values().map(|bytes| bytes.len() as u64).sum();
            opened.file.length().saturating_add(of_shards)
        });
        lengths.fold(0, u64::saturating_add)
    }

    /// All tensors, with the files that they are in.
    pub fn tensors(&self) -> impl Iterator<Item = (&Opened<'m>, Tensor<'m>)> {
        self.files.iter().flat_map(|opened| opened.tensors().map(move |tensor| (opened, tensor)))
    }

    /// The tensor of that name. Without a name the only one, if there is a single one.
    pub fn find(&self, name: Option<&str>) -> Result<(&Opened<'m>, Tensor<'m>), Failure> {
        let Some(name) = name else {
            let mut all = self.tensors();
            return match (all.next(), all.next()) {
                (Some(only), None) => Ok(only),
                (None, _) => Err(Failure::new("NotFound", "there are no tensors")),
                _ => Err(Failure::new("NotFound", "there are several tensors: name one of them")),
            };
        };
        let file = match &self.index {
            Some((index, _)) => Some(index.find(name).map_err(|_| Failure::no_such_tensor(name))?.to_string()),
            None => None,
        };
        let may_have = |opened: &&Opened<'m>| file.is_none() || opened.name == file.as_deref();
        let mut searched = self.files.iter().filter(may_have);
        let found = searched.find_map(|opened| Some((opened, opened.file.find(name).ok()?)));
        found.ok_or_else(|| self.why_not_found(name, file.as_deref()))
    }

    /// Why there is no such tensor: it is not there, or it is in a file that cannot be read.
    fn why_not_found(&self, name: &str, file: Option<&str>) -> Failure {
        let is_why = |problem: &&Problem| match file {
            Some(file) => {
                problem.file.as_deref() == Some(file) && problem.tensor.as_deref().is_none_or(|t| t == name)
            }
            None => problem.tensor.is_none(),
        };
        let why: Vec<String> = self.problems.iter().filter(is_why).map(Problem::line).collect();
        if why.is_empty() {
            return Failure::no_such_tensor(name);
        }
        let named = format!("tensor \"{}\" is not in the files that can be read: ", printable(name));
        Failure::new("NotFound", named + &why.join("; "))
    }
}

impl<'m> Opened<'m> {
    /// The tensors of the file that are tensors of the model.
    pub fn tensors(&self) -> impl Iterator<Item = Tensor<'m>> {
        let is_listed =
            |tensor: &Tensor<'m>| self.unlisted.is_empty() || !self.unlisted.contains(&tensor.name().to_string());
        self.file.tensors().filter(is_listed)
    }

    /// How many there are.
    pub fn tensor_count(&self) -> u64 {
        self.file.tensor_count().saturating_sub(self.unlisted.len() as u64)
    }

    /// Tensors of the file that cannot be read.
    fn problems(&self) -> Vec<Problem> {
        if !self.warnings.contains(Warning::UnreadableTensor) {
            return Vec::new();
        }
        let of_one = |tensor: Tensor<'m>| Some(Problem::of_error(self.name, &tensor, tensor.problem()?, self.bytes));
        self.tensors().filter_map(of_one).collect()
    }

    /// An error of this file, or a limit that was reached in it.
    pub fn fail(&self, stop: impl Into<Stop>) -> Failure {
        let failure = Failure::of(stop, self.bytes);
        if let Some(name) = self.name { failure.in_file(name) } else { failure }
    }

    /// The warnings of this file, and those of reading its data, as bits.
    pub fn warnings(&self, of_data: u32) -> Vec<Problem> {
        let uninitialised = self.file.as_b2nd().and_then(|b2nd| uninitialised_chunks(&b2nd)).unwrap_or(0);
        let of_chunks = if uninitialised > 0 { Warning::Uninitialised.bit() } else { 0 };
        Problem::of_warnings(&self.file, self.name, self.warnings, of_data | of_chunks)
    }

    /// A component with its bytes, if they are in a shard; `None` if that is missing.
    pub fn with_shard<'s>(&'s self, component: &Component<'m>) -> Result<Option<Component<'s>>, Error> {
        match component.shard() {
            None => Ok(Some(*component)),
            Some(name) => self.shards.get(name).map(|bytes| component.with_shard(bytes)).transpose(),
        }
    }
}

/// What parts of a model say of each other beside their numbers: how many tensors they have together, if all could be read,
/// and names that are in two of them.
fn compare_parts(files: &[Opened<'_>], is_complete: bool) -> Vec<Problem> {
    let mut problems = Vec::new();
    let stated = files.first().and_then(|opened| opened.file.as_gguf()?.split());
    let tensors = files.iter().fold(0, |sum: u64, opened| sum.saturating_add(opened.file.tensor_count()));
    if let Some(split) = stated.filter(|split| is_complete && split.tensors != tensors) {
        let message =
            format!("the parts have {tensors} tensors together; split.tensors.count says {}", split.tensors);
        problems.push(Problem::new(ErrorKind::CountsDiffer.name(), message));
    }
    let mut places: HashMap<String, &str> = HashMap::new();
    for opened in files {
        let name = opened.name.unwrap_or_default();
        for tensor in opened.file.tensors() {
            let tensor = tensor.name().to_string();
            if let Some(first) = places.get(&tensor) {
                let message = format!("tensor \"{}\" is in {}, too", printable(&tensor), printable(first));
                problems.push(Problem::of_tensor(ErrorKind::RepeatedName.name(), Some(name), &tensor, message));
            }
            places.entry(tensor).or_insert(name);
        }
    }
    problems
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

/// The warnings of a file, once what it has too many of to compare without memory has been compared with some.
pub fn checked(file: &File<'_>) -> Result<Warnings, Error> {
    file.check(&mut vec![0; file.check_length().unwrap_or(0)])
}
