//! A model: one file or several, with one table of names. Says what is wrong with it, and leaves the rest readable.
//!
//! Without an index, the tensors of a model are those of its files. If the files state that they are parts of a model,
//! as GGUF files do, their statements are compared. With the index of a safetensors model, the index decides which
//! tensors the model has, and in which files they are.
#![forbid(unsafe_code)]

mod files;
#[cfg_attr(not(feature = "safetensors"), path = "listing_none.rs")]
mod listing;
mod path;
mod problem;
pub(crate) mod table;

use core::fmt;
use core::iter::FusedIterator;

pub use self::files::ModelFile;
use self::files::{is_ambiguous, is_spare, shard_bytes};
#[cfg(feature = "safetensors")]
use self::listing::Listing;
pub use self::problem::{Problem, ProblemKind, Problems};
use self::table::{Entry, Names, Table};
use crate::bytes::text::Text;
#[cfg(feature = "dequantize")]
use crate::codec::BuiltIn;
#[cfg(feature = "dequantize")]
use crate::codec::options::{ReadOptions, Requirements};
use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "safetensors")]
use crate::format::safetensors::Index;
use crate::view::component::Component;
use crate::view::explain::{Formatted, Out, quoted};
use crate::view::file::{File, Tensors};
use crate::view::get::{Expected, consider, nearest_limit};
use crate::view::tensor::Tensor;

/// A model: one file, or several files with one table of names.
///
/// A value that borrows the files and the table, which are in the caller's memory. Can be copied freely and shared
/// between threads.
///
/// ```
/// # #[cfg(feature = "safetensors")] {
/// # let index_bytes = br#"{"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}"#;
/// # let file = |name| {
/// #     let header = format!(r#"{{"{name}":{{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}}}"#);
/// #     [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &[7]].concat()
/// # };
/// # let (first, second) = (file("a"), file("b"));
/// use tenslice::{DType, Expected, File, Model, ModelFile, safetensors::Index};
///
/// let index = Index::open(index_bytes)?;
/// let mut files = [
///     ModelFile::new("1.safetensors", File::open(&first)?),
///     ModelFile::new("2.safetensors", File::open(&second)?),
/// ];
/// let mut words = vec![0; Model::length_with_index(&index).unwrap_or(0)];
/// let model = Model::with_index(index, &mut files, &mut words)?;
/// for problem in model.problems() {
///     println!("{problem}");
/// }
///
/// let expected = Expected::named("b").dtype(DType::U8).shape(&[1]);
/// match model.get(&expected) {
///     Ok(data) => assert_eq!(data.bytes()?, [7]),
///     Err(error) => println!("{}", model.explain(&expected, error)),
/// }
/// # }
/// # Ok::<(), tenslice::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Model<'m, 'a> {
    names: Names<'m, 'a>,
    table: Table<'m>,
}

impl<'m, 'a> Model<'m, 'a> {
    /// Returns the number of words that [`new`](Self::new) needs for these files: six for each tensor. `None` if this
    /// machine cannot address that many words.
    #[must_use]
    pub fn length(files: &[ModelFile<'a>]) -> Option<usize> {
        // Also for files that will turn out to be the second copy of a part.
        let counts = files.iter().filter_map(|file| Some(file.file()?.tensor_count()));
        table::length(counts.fold(0, u64::saturating_add))
    }

    /// Makes a model of files without an index. Sorts the files: by the numbers that they state as parts of a model, or
    /// by their names.
    ///
    /// Linear in the names. If the names were crafted to collide, they are hashed again with a seed that depends on all
    /// names and on the address of the words. If they still collide, they are sorted with N log N comparisons.
    ///
    /// # Errors
    /// - `InvalidArgument` if two files have the same name.
    /// - `OutOfScratch` if `words` is shorter than [`length`](Self::length).
    /// - Another error if the bytes have changed since the files were opened.
    ///
    /// A problem with a part of the model is not an error: see [`problems`](Self::problems).
    pub fn new(files: &'m mut [ModelFile<'a>], words: &'m mut [u32]) -> Result<Self> {
        files::sort_by_part(files)?;
        Self::of(Names { files, listing: None }, words)
    }

    /// Returns the number of words that [`with_index`](Self::with_index) needs: six for each tensor of the index.
    /// `None` if this machine cannot address that many words.
    #[cfg(feature = "safetensors")]
    #[must_use]
    pub fn length_with_index(index: &Index<'a>) -> Option<usize> {
        table::length(index.tensor_count())
    }

    /// Makes a model of the files that an index names. Sorts the files by their names. A file that the index names and
    /// that is not in `files` is missing.
    ///
    /// Linear in the names, as [`new`](Self::new) is.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new); `RepeatedName` if the index lists a tensor twice.
    #[cfg(feature = "safetensors")]
    pub fn with_index(index: Index<'a>, files: &'m mut [ModelFile<'a>], words: &'m mut [u32]) -> Result<Self> {
        files::sort_by_path(files)?;
        Self::of(Names { files, listing: Some(Listing(index)) }, words)
    }

    fn of(names: Names<'m, 'a>, words: &'m mut [u32]) -> Result<Self> {
        Table::new(&names, words).map(|table| Self { names, table })
    }

    /// Returns the files, in the order of the model.
    #[must_use]
    pub const fn files(&self) -> &'m [ModelFile<'a>] {
        self.names.files
    }

    /// Returns the tensors that can be read, each with the number of its file in [`files`](Self::files), in the order
    /// of the files. With an index, one look-up for each tensor of the files.
    #[must_use]
    pub const fn tensors(&self) -> ModelTensors<'m, 'a> {
        ModelTensors { model: *self, file: 0, tensors: None, error: None }
    }

    /// Finds a tensor by its name. Also returns the number of its file in [`files`](Self::files). The time hardly
    /// depends on the number of tensors.
    ///
    /// # Errors
    /// - `NotFound` if the model has no such tensor, or its file is missing, cannot be opened, or does not have it.
    /// - `RepeatedName` if two files have a tensor of this name, or two files state the same part.
    /// - Another error if the bytes have changed since the files were opened.
    ///
    /// [`explain`](Self::explain) says which, and which file is concerned.
    pub fn find(&self, name: &str) -> Result<(usize, Tensor<'a>)> {
        self.find_bytes(name.as_bytes())
    }

    /// Finds a tensor as [`find`](Self::find) does, by a name that need not be UTF-8.
    pub(crate) fn find_bytes(&self, name: &[u8]) -> Result<(usize, Tensor<'a>)> {
        let not_found = Error::new(ErrorKind::NotFound);
        let entry = self.table.find(&self.names, Text::new(name, false)).ok_or(not_found)?;
        let (Some(file), Some(tensor)) = (entry.file(), entry.tensor(self.files())) else { return Err(not_found) };
        if entry.is_repeated() || self.is_ambiguous(file) {
            return Err(Error::new(ErrorKind::RepeatedName));
        }
        let tensor = tensor?;
        if tensor.name().eq_bytes(name) { Ok((file, tensor)) } else { Err(not_found) } // the bytes have changed
    }

    /// Finds a tensor, compares it with what is expected, and returns the component that holds its elements, as
    /// [`Tensor::get`] does. If its bytes are in a shard, the component is bound to them.
    ///
    /// # Errors
    /// The errors of [`find`](Self::find) and of [`Tensor::get`]. `InShard` if the shard is missing, `OutOfFile` if
    /// it is too short. [`explain`](Self::explain) has a message for each.
    pub fn get(&self, expected: &Expected<'_>) -> Result<Component<'a>> {
        let (_, tensor) = self.find_bytes(expected.name())?;
        self.with_shard(tensor.get(expected)?)
    }

    /// Finds a tensor, compares it with what is expected, and returns its elements as `f32`, as [`Tensor::get_f32`]
    /// does; also if they are in a shard, unless the tensor has several components.
    ///
    /// # Errors
    /// The errors of [`find`](Self::find) and of [`Tensor::get_f32`]. `InShard` if the shard is missing, or if one of
    /// several components is in a shard; `OutOfFile` if the shard is too short.
    #[cfg(feature = "dequantize")]
    #[inline]
    pub fn get_f32<'d>(
        &self,
        expected: &Expected<'_>,
        room: &'d mut [f32],
        options: ReadOptions<'_>,
    ) -> Result<&'d [f32]>
    where
        'a: 'd,
    {
        let (tensor, elements) = self.checked(expected)?;
        let mut built_in = BuiltIn::default();
        let (decoder, scratch) = options.parts(&mut built_in);
        tensor.f32_of(elements, decoder, room, scratch)
    }

    /// Returns the memory that [`get_f32`](Self::get_f32) needs: `output` numbers, none if the elements are in place,
    /// and `scratch` bytes.
    ///
    /// # Errors
    /// The errors of [`get_f32`](Self::get_f32), except those of reading.
    #[cfg(feature = "dequantize")]
    pub fn get_f32_requirements(&self, expected: &Expected<'_>) -> Result<Requirements> {
        let (tensor, elements) = self.checked(expected)?;
        Ok(tensor.get_f32_requirements(elements.as_ref()))
    }

    /// Finds a tensor, compares it with what is expected, and returns it with the component that holds its elements.
    #[cfg(feature = "dequantize")]
    pub(crate) fn checked(&self, expected: &Expected<'_>) -> Result<(Tensor<'a>, Option<Component<'a>>)> {
        let (_, tensor) = self.find_bytes(expected.name())?;
        tensor.check(expected)?;
        let elements = tensor.elements_component().map(|elements| self.with_shard(elements)).transpose()?;
        Ok((tensor, elements))
    }

    /// Returns a component of a tensor of this model over its bytes. A component that is in a shard is bound to the
    /// bytes of the shard. Constant cost: no digest is verified.
    ///
    /// # Errors
    /// `InShard` if the shard is missing, `OutOfFile` if it is too short.
    pub fn with_shard(&self, component: Component<'a>) -> Result<Component<'a>> {
        let Some(name) = component.shard() else { return Ok(component) };
        match shard_bytes(self.files(), name.into()) {
            Some(bytes) => component.with_shard(bytes),
            None => component.stored().map(|_| component), // always `InShard`
        }
    }

    /// Returns what is wrong with the model. Nothing is stored: each problem is found while the iterator runs.
    ///
    /// Linear in the metadata of all files.
    #[must_use]
    pub const fn problems(&self) -> Problems<'m, 'a> {
        Problems::new(*self)
    }

    /// Returns the number of words that [`check`](Self::check) uses at most; this many are always enough. `None` if this
    /// machine cannot address that many words. Linear in the metadata of all files.
    #[must_use]
    pub fn check_length(&self) -> Option<usize> {
        let mut lengths = self.files().iter().filter_map(|file| file.file().map(File::check_length));
        lengths.try_fold(0, |most: usize, length| length.map(|length| most.max(length)))
    }

    /// Compares in each file what opening it could not compare without memory, as [`File::check`] does. With
    /// [`check_length`](Self::check_length) words, reads each file once.
    ///
    /// # Errors
    /// The first file that has an error of [`File::check`], by its number in [`files`](Self::files), and the error.
    pub fn check(&self, scratch: &mut [u32]) -> core::result::Result<(), (usize, Error)> {
        let opened = self.files().iter().enumerate().filter_map(|(number, file)| Some((number, file.file()?)));
        for (number, file) in opened {
            file.check(scratch).map_err(|error| (number, error))?;
        }
        Ok(())
    }

    /// Returns the message of an error of [`find`](Self::find), [`get`](Self::get), [`get_f32`](Self::get_f32), or of
    /// a call that reads the tensor found. It names the tensor, what was expected, and what the model has instead; the
    /// file or the shard, if that is missing; the nearest name, if no tensor has the name.
    #[must_use]
    pub const fn explain<'e>(&self, expected: &Expected<'e>, error: Error) -> ModelMismatch<'e, 'm, 'a> {
        ModelMismatch { model: *self, expected: *expected, error }
    }

    /// Returns the name of the first shard of a tensor that is missing.
    fn missing_shard(&self, tensor: &Tensor<'a>) -> Option<&'a str> {
        let mut shards = tensor.components().filter_map(|component| component.shard());
        shards.find(|shard| shard_bytes(self.files(), (*shard).into()).is_none())
    }

    /// Returns true if another file states the same part as this one.
    fn is_ambiguous(&self, file: usize) -> bool {
        self.names.listing.is_none() && is_ambiguous(self.files(), file)
    }

    /// Returns true if this tensor of a file is a tensor of the model.
    fn has(&self, file: usize, tensor: &Tensor<'a>) -> bool {
        match self.names.listing {
            None => !is_spare(self.files(), file),
            Some(_) => self.entry_of(tensor).is_some_and(|entry| entry.is_at(file, tensor.index())),
        }
    }

    /// Returns true if it is known without a search that no other tensor has the name of this one.
    fn is_alone(&self, file: usize, tensor: &Tensor<'a>) -> bool {
        let entry = self.names.number(file, tensor.index()).and_then(|number| self.table.entries.get(number));
        entry.is_some_and(|entry| entry.is_at(file, tensor.index()) && !entry.is_repeated())
    }

    fn entry_of(&self, tensor: &Tensor<'a>) -> Option<&'m Entry> {
        self.table.find(&self.names, tensor.name())
    }
}

impl<'m, 'a> IntoIterator for &Model<'m, 'a> {
    type Item = (usize, Tensor<'a>);
    type IntoIter = ModelTensors<'m, 'a>;

    fn into_iter(self) -> ModelTensors<'m, 'a> {
        self.tensors()
    }
}

/// The tensors of a model. See [`Model::tensors`].
///
/// If the bytes of a file have changed since it was opened, the iterator continues with the next file, and
/// [`error`](Self::error) returns the reason.
#[derive(Clone, Copy, Debug)]
pub struct ModelTensors<'m, 'a> {
    model: Model<'m, 'a>,
    /// The number of the file, and its tensors once the iteration has reached them.
    file: usize,
    tensors: Option<Tensors<'a>>,
    error: Option<(usize, Error)>,
}

impl ModelTensors<'_, '_> {
    /// Returns the first file whose tensors could not all be read, and the reason: its bytes have changed.
    #[must_use]
    pub const fn error(&self) -> Option<(usize, Error)> {
        self.error
    }
}

impl<'a> Iterator for ModelTensors<'_, 'a> {
    type Item = (usize, Tensor<'a>);

    fn next(&mut self) -> Option<(usize, Tensor<'a>)> {
        loop {
            let file = self.file;
            let opened = self.model.files().get(file)?;
            if let Some(opened) = opened.file() {
                let tensors = self.tensors.get_or_insert_with(|| opened.tensors());
                if let Some(tensor) = tensors.find(|tensor| self.model.has(file, tensor)) {
                    return Some((file, tensor));
                }
                self.error = self.error.or(tensors.error().map(|error| (file, error)));
            }
            (self.file, self.tensors) = (file.wrapping_add(1), None);
        }
    }
}

impl FusedIterator for ModelTensors<'_, '_> {}

/// The message of an error about a tensor of a model: see [`Model::explain`].
#[derive(Clone, Copy, Debug)]
pub struct ModelMismatch<'e, 'm, 'a> {
    model: Model<'m, 'a>,
    expected: Expected<'e>,
    error: Error,
}

impl fmt::Display for ModelMismatch<'_, '_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Formatted::write(f, |out| self.write_to(out))
    }
}

impl ModelMismatch<'_, '_, '_> {
    pub(crate) fn write_to(&self, out: &mut impl Out) {
        let Self { model, expected, error } = self;
        let Some(entry) = model.table.find(&model.names, Text::new(expected.name(), false)) else {
            let (mut limit, mut nearest) = (nearest_limit(expected.name()), None);
            for (_, tensor) in model {
                consider(expected.name(), tensor.name(), &mut limit, &mut nearest);
            }
            return expected.write_absence(out, nearest);
        };
        match model.problem_of(entry) {
            Some(problem) => problem.write_to(out),
            None => match entry.tensor(model.files()) {
                Some(Ok(tensor)) => {
                    match model.missing_shard(&tensor).filter(|_| error.kind() == ErrorKind::InShard) {
                        Some(shard) => {
                            quoted(out, "tensor ", tensor.name());
                            quoted(out, ": its bytes are in the shard ", shard.into());
                            out.text(", which is missing");
                        }
                        None => expected.write_difference(out, *error, &tensor),
                    }
                    if let Some(file) = entry.file().and_then(|file| model.files().get(file)) {
                        quoted(out, " [in ", file.name());
                        out.text("]");
                    }
                }
                _ => expected.write_absence(out, None),
            },
        }
    }
}

#[cfg(test)]
mod tests;
