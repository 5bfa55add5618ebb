//! A model: one file, an index with the files that it names, or the parts of a GGUF model.
//!
//! `tenslice_host` finds and maps the files, and `tenslice::Model` compares them. This module adds the descriptions and
//! the verdicts that only the tool needs. A missing or damaged file is a problem of the model: the rest stays readable.

pub mod array;
mod opened;
mod problems;

use std::path::{Path, PathBuf};

use tenslice::safetensors::Index;
use tenslice::{Error, ErrorKind, Expected, File, Format, ProblemKind, Tensor, Warnings};
use tenslice_host::{Host, Tables};

pub use self::array::Array;
pub use self::opened::Opened;
use self::problems::{Files, Found};
use super::failure::Failure;
use super::mapping::{explained, is_address, is_stream, map};
use super::names;
use super::problem::Problem;
use super::text::{plain_name, printable};

/// The mapped files of a model.
pub struct Mapped {
    pub path: PathBuf,
    host: Host,
    /// The file was read from a stream or a server, so that no other files can be found.
    is_stream: bool,
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
    /// The number of files of the model, including missing ones.
    pub file_count: u64,
    names: tenslice::Model<'m, 'm>,
    host: &'m Host,
}

impl Mapped {
    /// Maps the file at `path`, and the files that belong to it.
    pub fn new(path: &Path) -> Result<Self, Failure> {
        if is_address(path) {
            let message = "only list reads from a server: download the file";
            return Err(Failure::new("InvalidArgument", message));
        }
        let is_stream = is_stream(path);
        let host = if is_stream { of_stream(path)? } else { of_path(path)? };
        Ok(Self { path: path.into(), host, is_stream })
    }

    /// A file on a server, of which only ranges are in memory.
    #[cfg(feature = "url")]
    pub fn of_ranges(path: &Path, host: Host) -> Self {
        Self { path: path.into(), host, is_stream: true }
    }

    /// True if the file at `path` is another file of this model.
    pub fn has_part(&self, path: &Path) -> bool {
        let (path, own) = (path.canonicalize().ok(), self.path.canonicalize().ok());
        let has = |file: &tenslice_host::HostFile| file.bytes().is_ok() && file.path().canonicalize().ok() == path;
        path != own && path.is_some() && self.host.files().iter().any(has)
    }

    /// Memory for [`open`](Self::open).
    pub fn tables(&self) -> Tables<'_> {
        self.host.tables()
    }

    /// Opens all files and compares what they state about each other.
    pub fn open<'m>(&'m self, tables: &'m mut Tables<'_>) -> Result<Model<'m>, Failure> {
        let names = tables.model().map_err(|error| refused(&self.path, error))?;
        let index = self.host.index().map(|text| {
            let checked = || {
                let index = Index::open(text)?;
                let mut scratch = vec![0; usize::try_from(index.tensor_count()).unwrap_or(usize::MAX).max(1)];
                index.check(&mut scratch).map(|warnings| (index, warnings))
            };
            checked().map_err(|error| Failure::of(error, text))
        });
        let index = index.transpose()?;
        let has_parts = problems::has_parts(&names, index.is_some()) && !self.is_stream;
        let of_host = Files::of(&self.host, self.is_stream);
        let Found { mut problems, mut warnings, spare } = Found::of(&names, &of_host);
        if !has_parts {
            // The user has named the file.
            problems.iter_mut().chain(&mut warnings).for_each(|problem| problem.file = None);
        }
        let mut files = Vec::new();
        for (number, of_model) in names.files().iter().enumerate() {
            let Some(file) = of_model.file().filter(|_| !spare.contains(&number)) else { continue };
            let mapped = of_host.get(of_model).ok_or_else(changed)?;
            let input = mapped.input().map_err(|_| changed())?;
            let warnings = checked(file).map_err(|error| Failure::of(error, input))?;
            let lacking = problems::lacking(file, mapped.name(), &of_host, &mut problems);
            let name = Some(mapped.name()).filter(|_| has_parts);
            files.push(Opened::new((names, number), *file, (name, mapped), warnings, lacking));
        }
        Opened::select(&mut files, &names);
        let found = self.host.files().iter().filter(|file| !file.is_shard()).count() - spare.len();
        let is_part = |problem: &&Problem| problem.kind == ProblemKind::MissingPart.name();
        let missing: u64 = problems.iter().filter(is_part).map(|problem| problem.missing_files).sum();
        let file_count = (found as u64).saturating_add(missing);
        problems.extend(self.host.index().into_iter().flat_map(problems::without_file));
        problems.extend(files.iter().flat_map(Opened::problems));
        Ok(Model { path: &self.path, index, files, problems, warnings, file_count, names, host: &self.host })
    }
}

fn changed() -> Failure {
    Failure::new("Io", "the files of the model have changed while they were read")
}

fn of_path(path: &Path) -> Result<Host, Failure> {
    tenslice_host::open(path).map_err(|error| match error {
        tenslice_host::Error::Unreadable { error, .. } => Failure::unreadable(&explained(path, error)),
        error => refused(path, error),
    })
}

fn of_stream(path: &Path) -> Result<Host, Failure> {
    let bytes = map(path).map_err(|error| Failure::unreadable(&error))?;
    if File::open(&bytes).is_err() && Index::open(&bytes).is_ok() {
        let message = "an index on standard input has no folder: pass the path of the index";
        return Err(Failure::new("InvalidArgument", message));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Host::of_bytes(&name, bytes).map_err(|error| refused(path, error))
}

/// The reason why a model was refused. The message has the name of the file only if the user has named the folder.
pub fn refused(path: &Path, error: tenslice_host::Error) -> Failure {
    match error {
        tenslice_host::Error::Invalid { name, error, message } => {
            let failure = Failure::Refused(error.kind().name(), message, error.offset());
            if path.is_dir() { failure.in_file(&name) } else { failure }
        }
        other => Failure::new("Io", other.to_string()),
    }
}

impl<'m> Model<'m> {
    /// Returns true if the model consists of several files.
    pub fn has_parts(&self) -> bool {
        self.index.is_some() || self.files.iter().any(|opened| opened.name.is_some())
    }

    /// The name of the format of an index, which is that of the files.
    pub fn index_format(&self) -> &'static str {
        match self.files.first().map(|opened| opened.file.format()) {
            Some(Format::Pytorch) => "pytorch index",
            _ => "safetensors index",
        }
    }

    /// The numbers of tensors and of stored bytes in the whole model, if its index or its parts state them.
    pub fn stated(&self) -> (Option<u64>, Option<u64>) {
        if let Some((index, _)) = &self.index {
            return (Some(index.tensor_count()), index.metadata().get_u64("total_size"));
        }
        let split = self.files.iter().find_map(|opened| opened.file.as_gguf()?.split());
        (split.and_then(|split| split.tensors), None)
    }

    /// The lengths in bytes of the open files and their shards.
    pub fn file_lengths(&self) -> impl Iterator<Item = u64> {
        let shards = self.host.files().iter().filter(|file| file.is_shard()).filter_map(|file| file.input().ok());
        self.files.iter().map(|opened| opened.input).chain(shards).map(|input| input.length())
    }

    /// The total length of the files in bytes.
    pub fn length(&self) -> u64 {
        self.host.files().iter().filter_map(|file| file.input().ok()).map(|input| input.length()).sum()
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
                _ => {
                    let names: Vec<String> = self.tensors().map(|(_, tensor)| tensor.name().to_string()).collect();
                    let message = format!("there are several tensors: name one of them: {}", some_of(&names));
                    Err(Failure::new("NotFound", message))
                }
            };
        };
        self.find_exactly(name).or_else(|failure| {
            // The user may have copied the name from `list`, which prints escapes, and cuts names.
            let printed = names::printed_as(name, self.tensors().map(|(_, tensor)| tensor.name().to_string()));
            match &printed[..] {
                [] => Err(failure),
                [only] => self.find_exactly(only).map_err(|_| failure),
                several => {
                    let message = format!("several names fit \"{}\": {}", printable(name), some_of(several));
                    Err(Failure::new("NotFound", message))
                }
            }
        })
    }

    /// Finds the tensor named exactly `name`.
    fn find_exactly(&self, name: &str) -> Result<(&Opened<'m>, Tensor<'m>), Failure> {
        let (number, tensor) = self.names.find(name).map_err(|error| self.why_not_found(name, error))?;
        let opened = self.files.iter().find(|opened| opened.number == number);
        opened.map(|opened| (opened, tensor)).ok_or_else(changed)
    }

    /// Explains why a tensor was not found: it does not exist, or its file cannot be read.
    fn why_not_found(&self, name: &str, error: Error) -> Failure {
        let mut message = self.names.explain(&Expected::named(name), error).to_string();
        // Without an index, the tensor may be in a file that cannot be read.
        let is_why = |problem: &&Problem| problem.tensor.is_none() && self.index.is_none();
        let why: Vec<String> = self.problems.iter().filter(is_why).map(Problem::line).collect();
        if error.kind() == ErrorKind::NotFound && !why.is_empty() {
            message += &format!("; not all files can be read: {}", why.join("; "));
        }
        let all = self.tensors().map(|(_, tensor)| tensor.name().to_string());
        let near = if error.kind() == ErrorKind::NotFound { names::near(name, all) } else { Vec::new() };
        // The library names the nearest one, if it is very near.
        let near: Vec<String> = near.iter().map(|name| format!("\"{}\"", printable(name))).collect();
        let others: Vec<&str> = near.iter().map(|name| &**name).filter(|name| !message.contains(name)).collect();
        if !others.is_empty() {
            message += &format!("; similar names: {}", others.join(", "));
        }
        Failure::new(error.kind().name(), message)
    }
}

/// The first names of many, for a message.
fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| plain_name(name)).collect();
    let more = names.len().saturating_sub(SHOWN);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// Checks a file, with memory for checks of many names, and returns the warnings.
pub fn checked(file: &File<'_>) -> Result<Warnings, Error> {
    file.check(&mut vec![0; file.check_length().unwrap_or(0)])
}
