//! Opens models on a machine with a file system, for [`tenslice`], which reads no files and allocates no memory.
//!
//! ```
//! use tenslice::Expected;
//!
//! let host = tenslice_host::open("tests/fixtures/safetensors/rs_sharded.safetensors.index.json")?;
//! let mut tables = host.tables();
//! let model = tables.model()?;
//! for problem in model.problems() {
//!     println!("{problem}");
//! }
//! for (file, tensor) in &model {
//!     println!("{} {} in {}", tensor.name(), tensor.shape(), model.files()[file].name());
//! }
//! let expected = Expected::named("enc.b").shape(&[2]);
//! match tenslice_host::get_f32(&model, &expected, &mut Vec::new()) {
//!     Ok(numbers) => println!("{numbers:?}"), // in the mapped file, or converted
//!     Err(error) => println!("{}", model.explain(&expected, error)),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `host/tenslice_host.c` does the same for C, with the same rules and the same messages.
//!
//! [`Ranges`] reads a file that cannot be mapped in ranges.

mod error;
mod find;
mod mapping;
mod names;
mod ranges;

use std::path::{Path, PathBuf};

use tenslice::safetensors::Index;
use tenslice::{Expected, File, Input, Model, ModelFile, ReadOptions};

pub use self::error::Error;
pub use self::mapping::{Mapping, map};
pub use self::names::{is_index_name, is_tensor_file_name, shard_file_name};
pub use self::ranges::{Fetched, Ranges};

/// Opens a model. `path` is
///
/// - a file of any format that the library reads;
/// - the index of a safetensors model, `model.safetensors.index.json`: its files are in the folder of the index or
///   below;
/// - a part of a GGUF model: the other parts are in the same folder;
/// - a zTensor 2 file: its shards are next to it, `model-NAME.zt` for shard NAME of `model.zt`;
/// - an ONNX or a TFLite model: data in other files is at the paths that the model states, below its folder;
/// - a folder with one of these.
///
/// Follows links, but none of an ONNX or a TFLite model that leads out of its folder. The paths of an index stay in its folder.
///
/// Maps the files and reads the metadata of each of them once. Tensor data is not read before it is used.
///
/// # Errors
/// An [`Error`] if nothing can be read. A fault of one of several files is not an error: see [`Model::problems`].
pub fn open(path: impl AsRef<Path>) -> Result<Host, Error> {
    find::open(path.as_ref())
}

/// The files of a model, mapped into memory. See [`open`].
///
/// A mapped file must not be changed while it is mapped. If another program writes to the file, tensors change: the
/// library then returns other numbers or an error. If another program truncates the file, reading it ends this program
/// with a signal. A file that is replaced by renaming another file stays as it was.
#[derive(Debug)]
pub struct Host {
    index: Option<Mapping>,
    files: Vec<HostFile>,
}

impl Host {
    /// Makes a model of one file whose bytes are in memory, such as those that a program has read from a pipe. Other
    /// files that belong to it are missing.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the bytes are not a valid file.
    pub fn of_bytes(name: &str, bytes: impl Into<Mapping>) -> Result<Self, Error> {
        let bytes = bytes.into();
        match checked(&bytes) {
            Ok(_) => Ok(Self { index: None, files: vec![HostFile::opened(name, Path::new(name), bytes, None)] }),
            Err(error) => Err(Error::invalid(name, error, &*bytes)),
        }
    }

    /// Makes a model of one open file of which only some ranges are in memory, such as those that [`Ranges`] reads. `input`
    /// has these ranges, for messages. They must stay in memory until the program ends. Other files that belong to it are
    /// missing.
    #[must_use]
    pub fn of_ranges(name: &str, file: File<'static>, input: Input<'static>) -> Self {
        let no_bytes = std::io::Error::new(std::io::ErrorKind::Unsupported, "only ranges of the file were read");
        let contents = Contents::Ranges { file: Box::new(file), input, no_bytes };
        Self { index: None, files: vec![HostFile { name: name.into(), path: name.into(), contents }] }
    }

    /// Returns the text of the index, if the model has one.
    #[must_use]
    pub fn index(&self) -> Option<&[u8]> {
        self.index.as_deref()
    }

    /// Returns the files, not in the order of the model. The first one is the file at the path that was opened, unless
    /// that is an index.
    #[must_use]
    pub fn files(&self) -> &[HostFile] {
        &self.files
    }

    /// Opens the files. Reads their metadata, and allocates the memory for [`Tables::model`].
    #[must_use]
    pub fn tables(&self) -> Tables<'_> {
        Tables { host: self, files: self.files.iter().map(HostFile::model_file).collect(), words: Vec::new() }
    }
}

/// A file of a model that the model names or that has been found.
#[derive(Debug)]
pub struct HostFile {
    name: String,
    path: PathBuf,
    contents: Contents,
}

#[derive(Debug)]
enum Contents {
    /// The bytes of a file, and its error if it is invalid.
    File(Mapping, Option<tenslice::Error>),
    Shard(Mapping),
    /// An open file of which some ranges are in memory, and the reason why its bytes are not.
    Ranges {
        file: Box<File<'static>>,
        input: Input<'static>,
        no_bytes: std::io::Error,
    },
    Missing(std::io::Error),
}

impl HostFile {
    fn opened(name: &str, path: &Path, bytes: Mapping, error: Option<tenslice::Error>) -> Self {
        Self { name: name.into(), path: path.into(), contents: Contents::File(bytes, error) }
    }

    /// Maps a file that may be missing or invalid.
    fn new(name: &str, path: &Path) -> Self {
        let contents = match map(path) {
            Ok(bytes) => {
                let error = checked(&bytes).err();
                Contents::File(bytes, error)
            }
            Err(error) => Contents::Missing(error),
        };
        Self { name: name.into(), path: path.into(), contents }
    }

    /// Maps a shard; `None` if it is missing.
    fn shard(name: &str, path: &Path) -> Option<Self> {
        Some(Self { name: name.into(), path: path.into(), contents: Contents::Shard(map(path).ok()?) })
    }

    /// Returns the name of the file in the model: see [`ModelFile`].
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the bytes of the file.
    ///
    /// # Errors
    /// The reason why the file cannot be read; often [`NotFound`](std::io::ErrorKind::NotFound).
    pub fn bytes(&self) -> Result<&[u8], &std::io::Error> {
        match &self.contents {
            Contents::File(bytes, _) | Contents::Shard(bytes) => Ok(bytes),
            Contents::Ranges { no_bytes: error, .. } | Contents::Missing(error) => Err(error),
        }
    }

    /// Returns what is in memory of the file: all bytes, or some ranges.
    ///
    /// # Errors
    /// The reason why nothing is in memory, as for [`bytes`](Self::bytes).
    pub fn input(&self) -> Result<Input<'_>, &std::io::Error> {
        match &self.contents {
            Contents::Ranges { input, .. } => Ok(*input),
            _ => self.bytes().map(Input::from),
        }
    }

    /// Returns true if the file is a shard: it has bytes of a zTensor 2 file, or of an ONNX or a TFLite model.
    #[must_use]
    pub fn is_shard(&self) -> bool {
        matches!(self.contents, Contents::Shard(_))
    }

    fn model_file(&self) -> ModelFile<'_> {
        let name = self.name.as_str();
        match &self.contents {
            Contents::Missing(_) => ModelFile::missing(name),
            Contents::Shard(bytes) => ModelFile::shard(name, bytes),
            Contents::Ranges { file, .. } => ModelFile::new(name, **file),
            Contents::File(bytes, Some(error)) => ModelFile::invalid(name, *error, &**bytes),
            Contents::File(bytes, None) => match File::open(bytes) {
                Ok(file) => ModelFile::new(name, file),
                Err(error) => ModelFile::invalid(name, error, &**bytes), // the bytes have changed
            },
        }
    }
}

/// The open files of a model, and memory for its table of names. See [`Host::tables`].
#[derive(Debug)]
pub struct Tables<'h> {
    host: &'h Host,
    files: Vec<ModelFile<'h>>,
    words: Vec<u32>,
}

impl<'h> Tables<'h> {
    /// Makes the model: fills the table of names, 24 bytes for each tensor. Linear in the names.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the index lists a tensor twice, or the bytes have changed. [`Error::OutOfMemory`] if this
    /// machine cannot address the table.
    pub fn model(&mut self) -> Result<Model<'_, 'h>, Error> {
        let Self { host, files, words } = self;
        let text = host.index().unwrap_or_default();
        let index = host.index().map(Index::open).transpose().map_err(|error| Error::invalid("", error, text))?;
        let length = index.as_ref().map_or_else(|| Model::length(files), Model::length_with_index);
        words.resize(length.ok_or(Error::OutOfMemory)?, 0);
        let model = match index {
            Some(index) => Model::with_index(index, files, words),
            None => Model::new(files, words),
        };
        model.map_err(|error| Error::invalid("", error, text))
    }
}

/// Gets the elements of a tensor as `f32`, whatever their type, layout and encoding: in the mapped file if they are
/// stored so, otherwise converted into `room`. See [`Model::get_f32`]. Makes `room` longer if necessary. Allocates
/// scratch memory for the call if the elements are encoded or sparse.
///
/// A file does not bound the length of a sparse tensor: expect a shape if the file is untrusted.
///
/// # Errors
/// The errors of [`Model::get_f32`], for which [`Model::explain`] has messages.
pub fn get_f32<'d, 'h: 'd>(
    model: &Model<'_, 'h>,
    expected: &Expected<'_>,
    room: &'d mut Vec<f32>,
) -> tenslice::Result<&'d [f32]> {
    let needed = model.get_f32_requirements(expected)?;
    // A length that is unknown, or that does not fit into memory, is refused by the call itself.
    let length = |needed: Option<u64>| needed.and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
    let (output, mut scratch) = (length(needed.output), Vec::new());
    if output > room.len() && room.try_reserve(output - room.len()).is_ok() {
        room.resize(output, 0.0);
    }
    if scratch.try_reserve(length(needed.scratch)).is_ok() {
        scratch.resize(length(needed.scratch), 0);
    }
    model.get_f32(expected, room, ReadOptions::new().scratch(&mut scratch))
}

#[cfg(doctest)]
#[doc = include_str!("../../docs/models.md")]
mod page {}

/// Opens a file, and compares what opening cannot compare without memory.
fn checked(bytes: &[u8]) -> Result<File<'_>, tenslice::Error> {
    let file = File::open(bytes)?;
    file.check(&mut vec![0; file.check_length().unwrap_or(0)])?;
    Ok(file)
}
