//! A model: one file, an index with the files that it names, or the parts of a GGUF model.
//!
//! `listed` and `parts` decide which files belong together, without I/O; this module maps and opens the files. A missing
//! or damaged file is a problem of the model: the rest stays readable.

pub mod array;
pub mod files;
mod listed;
mod opened;
mod parts;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use tenslice::safetensors::Index;
use tenslice::{Error, ErrorKind, File, Part, Tensor, Text, Warnings};

pub use self::array::Array;
use self::files::{Shards, map_shards, parts_of, siblings, why_not_a_part};
use self::listed::Listed;
pub use self::opened::Opened;
use self::parts::{ModelPart, REPEATED_PART, Split};
use super::details::uninitialised_chunks;
use super::failure::Failure;
use super::mapping::{Mapping, map};
use super::problem::{MISSING_FILE, MISSING_PART, Problem};
use super::text::{printable, unescaped};

/// The unit that a command reads: a file, or the parts of a model.
#[derive(Clone, Debug)]
pub enum Target {
    /// A file, and the files that belong to it.
    File(PathBuf),
    /// Files of a folder that are the parts of a GGUF model. Messages name the first one.
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

/// The mapped files of a model.
pub struct Mapped {
    pub path: PathBuf,
    /// The text of the index, if the model has one.
    index: Option<Mapping>,
    files: Vec<MappedFile>,
    /// Missing and duplicate files.
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
    /// Files that have a duplicate.
    ambiguous: Vec<String>,
}

struct MappedFile {
    path: PathBuf,
    /// The name of the file in the index or among the parts; `None` for the file that the user named.
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
    /// Files and tensors of the model that cannot be read.
    pub problems: Vec<Problem>,
    /// Warnings about several files. Each file has its own warnings.
    pub warnings: Vec<Problem>,
    ambiguous: &'m [String],
    /// The number of files of the model, including missing ones.
    pub file_count: u64,
}

impl Mapped {
    /// Maps the files of a model.
    pub fn new(target: &Target) -> Result<Self, Failure> {
        match target {
            Target::File(path) => Self::of_file(path),
            Target::Parts(paths) => Self::of_parts(target.path(), parts_of(paths), None),
        }
    }

    /// Maps the file at `path`, and the files that belong to it.
    fn of_file(path: &Path) -> Result<Self, Failure> {
        let bytes = map(path).map_err(|error| Failure::unreadable(&error))?;
        let fail = |error| Failure::of(error, &bytes);
        let file = match File::open(&bytes) {
            Err(error) if error.kind() == ErrorKind::UnknownFormat && is_json(&bytes) => {
                let names = names_of_index(&bytes).map_err(|of_index| {
                    // Without a `weight_map` this is some other JSON, so an error about an index would mislead.
                    fail(if is_of_index(&of_index, &bytes) { of_index } else { error })
                })?;
                if path == Path::new("-") {
                    let message = "an index on standard input has no folder: pass the path of the index";
                    return Err(Failure::new("InvalidArgument", message));
                }
                return Ok(Self::of_index(path, bytes, names));
            }
            opened => opened.map_err(fail)?,
        };
        let split = Split::of(&file);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // The content or the name identifies the first part; if they disagree, the other parts are read anyway.
        if split.is_some_and(|split| split.index == 0 || parts::is_named_first(&name)) && path != Path::new("-") {
            return Self::of_parts(path, parts_of(&siblings(path)), path.file_name().map(PathBuf::from));
        }
        let (shards, problems) = map_shards(path, &file);
        let mut warnings = Vec::new();
        if path != Path::new("-") {
            warnings.extend(file.as_gguf().and_then(|_| parts::misnamed(&name, split)));
        }
        warnings.extend(split.map(|split| {
            let message = format!("{}: the other parts are not read with it", parts::description(split));
            Problem::new("PartAlone", message)
        }));
        let file = MappedFile { path: path.into(), name: None, bytes, shards };
        Ok(Self { path: path.into(), index: None, files: vec![file], problems, warnings, ambiguous: Vec::new() })
    }

    /// Maps the files that an index names.
    fn of_index(path: &Path, text: Mapping, names: Vec<String>) -> Self {
        let (problems, warnings, ambiguous) = Default::default();
        let mut mapped =
            Self { path: path.into(), index: Some(text), files: Vec::new(), problems, warnings, ambiguous };
        for name in names {
            mapped.add(path.with_file_name(&name), name);
        }
        mapped
    }

    /// Maps the parts of one model: the one that has the file `wanted`, or the first one.
    fn of_parts(path: &Path, files: Vec<(PathBuf, ModelPart)>, wanted: Option<PathBuf>) -> Result<Self, Failure> {
        let known: Vec<ModelPart> = files.iter().map(|(_, part)| part.clone()).collect();
        let is_wanted = |model: &parts::Model| {
            let has = |name: &PathBuf| model.files.iter().any(|i| files[*i].0.file_name() == Some(name.as_os_str()));
            wanted.as_ref().is_none_or(has)
        };
        let model = parts::models(&known).into_iter().find(is_wanted);
        let changed = || Failure::new("Io", "the parts of the model have changed while they were read");
        let parts::Model { parts, problems, warnings, missing, ambiguous, .. } = model.ok_or_else(changed)?;
        let mut mapped = Self { path: path.into(), index: None, files: Vec::new(), problems, warnings, ambiguous };
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
            Ok(bytes) => self.files.push(MappedFile { path, name: Some(name), bytes, shards: Shards::default() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.problems.push(Problem::of_file(MISSING_FILE, &name, "the file is missing"));
            }
            Err(error) => self.problems.push(Problem::of_failure(&name, Failure::unreadable(&error))),
        }
    }

    /// Opens all files and compares what they state about each other. Fails if a file that the user named is invalid.
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
        let (mut index, mut file_count) = (None, files.len() as u64);
        if let Some(text) = &self.index {
            let open = || {
                let index = Index::open(text)?;
                index.check(&mut scratch(index.tensor_count())).map(|warnings| (index, warnings))
            };
            let opened = open().map_err(|error| Failure::of(error, text))?;
            let by_name: Vec<_> =
                files.iter().map(|opened| (opened.name.unwrap_or_default(), &opened.file)).collect();
            let listed = listed::compare(&opened.0, &by_name, problems);
            file_count = listed.file_count;
            let Listed { mut unlisted, problems: of_index, warnings: others, .. } = listed;
            for opened in &mut files {
                opened.unlisted = opened.name.and_then(|name| unlisted.remove(name)).unwrap_or_default();
            }
            problems = of_index;
            problems.extend(listed::without_file(text));
            warnings.extend(others);
            index = Some(opened);
        } else if self.files.iter().any(|file| file.name.is_some()) {
            problems.extend(compare_parts(&files, problems.is_empty()));
        }
        problems.extend(files.iter().flat_map(Opened::problems));
        Ok(Model { path: &self.path, index, files, problems, warnings, ambiguous: &self.ambiguous, file_count })
    }
}

impl MappedFile {
    fn open(&self) -> Result<Opened<'_>, Failure> {
        let open = || {
            let file = File::open(&self.bytes)?;
            checked(&file).map(|warnings| (file, warnings))
        };
        let (file, warnings) = open().map_err(|error| Failure::of(error, &self.bytes))?;
        let uninitialised_chunks = uninitialised_chunks(&file).unwrap_or(0);
        let Self { path, name, bytes, shards } = self;
        let (name, unlisted) = (name.as_deref(), HashSet::new());
        let arrays = array::compressed(&file, name, bytes);
        Ok(Opened { path, name, bytes, file, warnings, shards, unlisted, uninitialised_chunks, arrays })
    }
}

impl<'m> Model<'m> {
    /// Returns true if the model consists of several files.
    pub fn has_parts(&self) -> bool {
        self.index.is_some() || self.files.iter().any(|opened| opened.name.is_some())
    }

    /// The total length of the files in bytes.
    pub fn length(&self) -> u64 {
        let lengths = self.files.iter().map(|opened| {
            let of_shards = opened.shards.found.values().map(|bytes| bytes.len() as u64);
            of_shards.fold(opened.file.length(), u64::saturating_add)
        });
        lengths.fold(0, u64::saturating_add)
    }

    /// All tensors, each with the file it is in.
    pub fn tensors(&self) -> impl Iterator<Item = (&Opened<'m>, Tensor<'m>)> {
        self.files.iter().flat_map(|opened| opened.tensors().map(move |tensor| (opened, tensor)))
    }

    /// Finds the tensor named `name`, or else the one that is printed as `name`. Without a name, finds the only tensor.
    pub fn find(&self, name: Option<&str>) -> Result<(&Opened<'m>, Tensor<'m>), Failure> {
        let Some(name) = name else {
            let mut all = self.tensors();
            return match (all.next(), all.next()) {
                (Some(only), None) => Ok(only),
                (None, _) => Err(Failure::new("NotFound", "there are no tensors")),
                _ => Err(Failure::new("NotFound", "there are several tensors: name one of them")),
            };
        };
        let found = self.find_exactly(name);
        // The user may have copied the name from `list`, which prints escapes.
        let unescaped = if found.is_err() { unescaped(name) } else { None };
        match unescaped.and_then(|name| self.find_exactly(&name).ok()) {
            Some(other) => Ok(other),
            None => found,
        }
    }

    /// Finds the tensor named exactly `name`.
    fn find_exactly(&self, name: &str) -> Result<(&Opened<'m>, Tensor<'m>), Failure> {
        let file = match &self.index {
            Some((index, _)) => Some(file_of_index(index.find(name).map_err(|_| Failure::no_such_tensor(name))?)),
            None => None,
        };
        let may_have = |opened: &&Opened<'m>| file.is_none() || opened.name == file.as_deref();
        let mut searched = self.files.iter().filter(may_have);
        let found = searched.find_map(|opened| Some((opened, opened.file.find(name).ok()?)));
        let found = found.ok_or_else(|| self.why_not_found(name, file.as_deref()))?;
        self.check_place(name, found.0).map(|()| found)
    }

    /// Rejects a tensor that two files have.
    fn check_place(&self, name: &str, found: &Opened<'m>) -> Result<(), Failure> {
        let is_repeated = |problem: &&Problem| {
            problem.kind == ErrorKind::RepeatedName.name() && problem.tensor.as_deref() == Some(name)
        };
        if let Some(problem) = self.problems.iter().find(is_repeated) {
            return Err(problem.clone().into());
        }
        let file = found.name.unwrap_or_default();
        if self.ambiguous.iter().any(|name| name == file) {
            let message =
                format!("tensor \"{}\" is in {}, a part that is stored twice", printable(name), printable(file));
            return Err(Failure::new(REPEATED_PART, message));
        }
        Ok(())
    }

    /// Explains why a tensor was not found: it does not exist, or its file cannot be read.
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

/// Checks the total number of tensors if all parts could be read, and checks that no name is in two parts.
fn compare_parts(files: &[Opened<'_>], is_complete: bool) -> Vec<Problem> {
    let mut problems = Vec::new();
    let stated = files.first().and_then(|opened| Split::of(&opened.file)?.tensors);
    let tensors = files.iter().fold(0, |sum: u64, opened| sum.saturating_add(opened.file.tensor_count()));
    if let Some(stated) = stated.filter(|stated| is_complete && *stated != tensors) {
        let message = format!("the parts have {tensors} tensors together; split.tensors.count says {stated}");
        problems.push(Problem::new(ErrorKind::CountsDiffer.name(), message));
    }
    let mut places: HashMap<String, &str> = HashMap::new();
    for opened in files {
        let name = opened.name.unwrap_or_default();
        for tensor in opened.file.tensors() {
            let tensor = tensor.name().to_string();
            if let Some(first) = places.get(&tensor) {
                let message = format!("tensor \"{}\" is also in {}", printable(&tensor), printable(first));
                problems.push(Problem::of_tensor(ErrorKind::RepeatedName.name(), Some(name), &tensor, message));
            }
            places.entry(tensor).or_insert(name);
        }
    }
    problems
}

/// Returns true if the first byte after white space is `{`. A safetensors file with a header of 123 bytes also
/// qualifies.
fn is_json(bytes: &[u8]) -> bool {
    bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

/// Returns true if the error is about an index: a JSON text with a `weight_map`.
fn is_of_index(error: &Error, text: &[u8]) -> bool {
    const KEY: &[u8] = b"\"weight_map\"";
    let has_map = (error.kind(), error.part()) != (ErrorKind::MissingKey, Part::Tensors);
    has_map && text.windows(KEY.len()).any(|bytes| bytes == KEY)
}

/// Memory for checks: a word for each of `count` items.
fn scratch(count: u64) -> Vec<u32> {
    vec![0; usize::try_from(count).unwrap_or(usize::MAX).max(1)]
}

fn names_of_index(text: &[u8]) -> Result<Vec<String>, Error> {
    let index = Index::open(text)?;
    let mut scratch = scratch(index.tensor_count());
    index.check(&mut scratch)?;
    let files: BTreeSet<String> = index.files(&mut scratch)?.map(file_of_index).collect();
    Ok(files.into_iter().collect())
}

/// The path of a file in an index, without `.` and empty components, so that each file has one path.
fn file_of_index(file: Text<'_>) -> String {
    let path = file.to_string();
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
    names.join("/")
}

/// Checks a file, with memory for checks of many names, and returns the warnings.
pub fn checked(file: &File<'_>) -> Result<Warnings, Error> {
    file.check(&mut vec![0; file.check_length().unwrap_or(0)])
}
