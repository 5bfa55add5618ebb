//! An open file of any format.
//!
//! Depends on `place`, `warning`, `error`, `bytes`, `codec`, `decode`, `format`, `tensor`, `index`.
#![forbid(unsafe_code)]

use core::iter::FusedIterator;

use crate::attributes::Attributes;
use crate::bytes::source::{Need, ParseContext, Source};
use crate::codec::BuiltIn;
use crate::codec::decoder::Decoder;
use crate::error::origin::Format;
use crate::error::warning::Warnings;
use crate::error::{Error, Result};
use crate::format::{self, AnyFile, Cursor, FileFormat, Summary, TensorRecord, dispatch, formats};
use crate::view::index::{self, Index};
use crate::view::tensor::{Tensor, Verified};

/// An open tensor file.
///
/// A value of at most 128 bytes that borrows the file's bytes; copy it freely, share it between threads.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    inner: AnyFile<'a>,
    summary: Summary,
}

/// The outcome of [`File::open_source`].
#[derive(Clone, Copy, Debug)]
pub enum Opened<'a> {
    /// The file is open.
    File(File<'a>),
    /// These bytes must be fetched and added to the source first.
    Need(Need),
}

impl<'a> File<'a> {
    /// Opens a file that is entirely in memory: a slice of flash, a mapped file, an embedded asset.
    ///
    /// Checks the whole structure in one pass, linear in the bytes of the metadata, and reads no tensor data. Nothing
    /// is copied or allocated. The slice may have any alignment.
    ///
    /// # Errors
    /// The first rule of the format that the file breaks, and where.
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../tests/fixtures/v1.2/dense_all_dtypes.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// for tensor in file.tensors() {
    ///     println!("{} {:?} {}", tensor.name(), tensor.dtype(), tensor.shape());
    /// }
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    pub fn open(bytes: &'a [u8]) -> Result<Self> {
        // A slice has every range inside the file, and no other is ever needed.
        open(&ParseContext::of(bytes.into()))
    }

    /// Opens a file of which only some ranges are in memory: see [`Source`].
    ///
    /// The file, its warnings and its errors are those of [`open`](Self::open) on the whole slice; the message of an
    /// error has the names and numbers that are still in memory.
    ///
    /// # Errors
    /// The first rule of the format that the file breaks, and where.
    pub fn open_source(source: &'a Source<'_>) -> Result<Opened<'a>> {
        match (Self::open_once(source), source.need()) {
            (Ok(file), _) => Ok(Opened::File(file)),
            (Err(_), Some(need)) => Ok(Opened::Need(need)),
            (Err(error), None) => Err(error),
        }
    }

    /// Like [`open_source`](Self::open_source), but an error may also mean that bytes are missing: [`Source::need`]
    /// returns which, and the error has no meaning then.
    pub(crate) fn open_once(source: &'a Source<'a>) -> Result<Self> {
        if let Some(error) = source.failed() {
            return Err(error);
        }
        let opening = ParseContext::of_source(source);
        let opened = open(&opening);
        source.note(&opening, opened.as_ref().err().copied());
        opened
    }

    /// Returns the version as the file states it, such as `1.2.0`; `None` where it states none.
    #[must_use]
    pub fn version(&self) -> Option<&'a str> {
        dispatch!(&self.inner, file => file.version())
    }

    /// Returns the length of the file in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        dispatch!(&self.inner, file => file.input()).length()
    }

    /// Returns the kind of file.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.inner.format()
    }

    /// Returns the warnings that the format's specification calls for.
    #[must_use]
    pub const fn warnings(&self) -> Warnings {
        self.summary.warnings
    }

    /// Returns the number of tensors.
    #[must_use]
    pub const fn tensor_count(&self) -> u64 {
        self.summary.tensor_count
    }

    /// Returns an iterator over the tensors, in the order of the file.
    #[must_use]
    pub const fn tensors(&self) -> Tensors<'a> {
        Tensors { file: self.inner, count: self.summary.tensor_count, cursor: Cursor::START, error: None }
    }

    /// Returns the first tensor with that name, compared byte by byte. Linear in the bytes of the metadata.
    ///
    /// # Errors
    /// `NotFound`; another error where the bytes have changed since the file was opened.
    pub fn find(&self, name: &str) -> Result<Tensor<'a>> {
        let mut tensor = self.blank_tensor();
        self.find_into(name.as_bytes(), &mut tensor).map(|()| tensor)
    }

    /// Creates a blank tensor, to be read into.
    pub(crate) fn blank_tensor(&self) -> Tensor<'a> {
        Tensor::blank(self.inner)
    }

    /// Reads the tensor into `tensor`, a blank one of this file: in place, since it is large for a microcontroller.
    pub(crate) fn find_into(&self, name: &[u8], tensor: &mut Tensor<'a>) -> Result<()> {
        dispatch!(&self.inner, file => file.find(name, tensor.record_mut()))
    }

    /// Returns how many words [`index`](Self::index) needs: three for each tensor, none for a single one. `None` where
    /// this machine could not address so many.
    #[must_use]
    pub fn index_length(&self) -> Option<usize> {
        index::length(self.tensor_count())
    }

    /// Makes an index of the names in `words`, so that [`Index::find`] takes no longer in a file of many tensors:
    /// [`find`](Self::find) is linear. Compares all names exactly, as [`check`](Self::check) does.
    ///
    /// Linear in the bytes of the metadata. Names that were made to collide are hashed once more, with a seed that depends
    /// on all of them, and where that is no better they are sorted: N log N comparisons. What is in the metadata takes no
    /// more than 1 GiB in any format, so that a word is enough for each position in it.
    ///
    /// # Errors
    /// `OutOfScratch` where there are fewer than [`index_length`](Self::index_length) words; `RepeatedName` where the
    /// format forbids that (in zTensor 0.1, which allows it, the index has the first one); those of
    /// [`check`](Self::check); another error where the bytes have changed since the file was opened.
    ///
    /// ```
    /// # #[cfg(feature = "ztensor")] {
    /// # let bytes: &[u8] = include_bytes!("../tests/fixtures/v1.2/dense_all_dtypes.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// let mut words = vec![0; file.index_length().unwrap_or(0)];
    /// let index = file.index(&mut words)?;
    /// assert_eq!(index.find("t.float64")?.shape().rank(), 2);
    /// # }
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    pub fn index<'m>(&self, words: &'m mut [u32]) -> Result<Index<'m, 'a>> {
        Index::new(self.inner, self.summary.warnings, self.summary.tensor_count, words)
    }

    /// Returns the file's own attributes.
    #[must_use]
    pub fn attributes(&self) -> Attributes<'a> {
        dispatch!(&self.inner, file => file.attributes())
    }

    /// Returns how many words [`check`](Self::check) uses at most; so many are always enough. 0 if
    /// [`open`](Self::open) has left nothing to compare.
    ///
    /// That is one word for each item of the kind of which there are most among those that are left: names of tensors,
    /// roles of one tensor, keys of a GGUF file, places of data in safetensors, entries of an NPZ archive. In zTensor 2 it
    /// is two words for each component or each shard, whichever are more. `None` if this machine could not address so
    /// many. Linear in the bytes of the metadata.
    #[must_use]
    pub fn check_length(&self) -> Option<usize> {
        usize::try_from(dispatch!(&self.inner, file => file.check_length(&self.summary))).ok()
    }

    /// Compares what [`open`](Self::open) could not without memory: names
    /// ([`NamesUnchecked`](crate::Warning::NamesUnchecked)), the roles within a tensor
    /// ([`RolesUnchecked`](crate::Warning::RolesUnchecked)), keys ([`KeysUnchecked`](crate::Warning::KeysUnchecked)), and
    /// the places of components, entries of an archive, and shards
    /// ([`PlacesUnchecked`](crate::Warning::PlacesUnchecked)). All are compared exactly. Returns the warnings as they are
    /// afterwards.
    ///
    /// With [`check_length`](Self::check_length) words the items are sorted and read once. With fewer they are read once
    /// for each part that fits, at most eight times: time is linear in the bytes of the metadata with any memory. A file
    /// that needs more than eight times as many words as `scratch` has is refused. The shards of a zTensor 2 file are
    /// looked up with two words for each of them, not with fewer (on 32 bits without memory).
    ///
    /// # Errors
    /// `RepeatedName` where the format forbids it, `RepeatedKey` for a role or a key, `Overlap`; in zTensor 2
    /// `UnknownShard` and `OutOfShard`. `OutOfScratch` if `scratch` is too short, never if it has as many words as
    /// [`check_length`](Self::check_length) says.
    ///
    /// ```
    /// # #[cfg(feature = "ztensor")] {
    /// # let bytes: &[u8] = include_bytes!("../tests/fixtures/v1.2/dense_all_dtypes.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// let mut words = vec![0; file.check_length().unwrap_or(0)];
    /// assert!(file.check(&mut words)?.is_empty());
    /// # }
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    pub fn check(&self, scratch: &mut [u32]) -> Result<Warnings> {
        dispatch!(&self.inner, file => file.check(&self.summary, scratch))
    }

    /// Verifies all tensors, as [`Tensor::verify`] does. Reads every byte of the components that have a digest,
    /// repeatedly where several share their bytes: the cost is the sum of their lengths, which may exceed the file's.
    /// For untrusted files add them up first, from [`Component::extent`](crate::Component::extent) or, where the digest
    /// is one of decoded bytes, [`Component::decoded_length`](crate::Component::decoded_length).
    ///
    /// # Errors
    /// Those of [`Tensor::verify`], for the first tensor that fails.
    pub fn verify(&self) -> Result<Verified> {
        self.verify_with(&mut BuiltIn::default(), &mut [])
    }

    /// Verifies all tensors, as [`Tensor::verify_with`] does, with a decoder and with memory for components whose digest is
    /// one of decoded bytes: [`verify_scratch_length`](Self::verify_scratch_length) bytes.
    ///
    /// # Errors
    /// Those of [`Tensor::verify_with`], for the first tensor that fails.
    pub fn verify_with(&self, decoder: &mut dyn Decoder, scratch: &mut [u8]) -> Result<Verified> {
        let mut verified = Verified::default();
        let mut tensors = self.tensors();
        for tensor in tensors.by_ref() {
            verified.add_all(tensor.verify_with(decoder, scratch)?);
        }
        tensors.error().map_or(Ok(verified), Err)
    }

    /// Returns how much memory [`verify_with`](Self::verify_with) needs, in bytes: the most that any component does. `None`
    /// where one of them [cannot be verified](crate::Component::verify_scratch_length).
    #[must_use]
    pub fn verify_scratch_length(&self) -> Option<u64> {
        self.tensors().try_fold(0, |most: u64, tensor| Some(tensor.verify_scratch_length()?.max(most)))
    }
}

macro_rules! views {
    (
        ()
        $($feature:literal $variant:ident $module:ident::$file:ident $magics:tt $as:ident $doc:literal;)*
    ) => {
        impl<'a> File<'a> {
            $(
                #[doc = $doc]
                #[cfg(feature = $feature)]
                #[must_use]
                #[allow(unreachable_patterns)] // in a build with a single format
                pub const fn $as(&self) -> Option<format::$module::$file<'a>> {
                    match self.inner {
                        AnyFile::$variant(file) => Some(file),
                        _ => None,
                    }
                }
            )*
        }
    };
}
formats!(views!);

/// The single entry point, for slices and for sources.
fn open<'a>(opening: &ParseContext<'a>) -> Result<File<'a>> {
    let opened = AnyFile::open(opening).map(|inner| File { inner, summary: Summary::default() });
    let mut opened = opened.map_err(|stop| opening.error(stop));
    // Filled in place: a separate file would be on the stack besides.
    if let Ok(File { inner, summary }) = &mut opened {
        if let Err(error) = dispatch!(inner, file => file.read(summary)) {
            opened = Err(error);
        }
    }
    opened
}

/// The tensors of a file. See [`File::tensors`].
///
/// They were checked when the file was opened. Should the bytes have changed since, the iterator ends early and
/// [`error`](Self::error) returns why.
#[derive(Clone, Copy, Debug)]
pub struct Tensors<'a> {
    file: AnyFile<'a>,
    count: u64,
    cursor: Cursor,
    error: Option<Error>,
}

impl<'a> Tensors<'a> {
    /// Returns why the iterator ended early: the bytes have changed since the file was opened.
    #[must_use]
    pub const fn error(&self) -> Option<Error> {
        self.error
    }

    /// Creates a blank tensor, to be read into.
    #[cfg(feature = "capi")]
    pub(crate) fn blank(&self) -> Tensor<'a> {
        Tensor::blank(self.file)
    }

    /// Reads the next tensor into `tensor`, a blank one; returns `false` after the last.
    #[cfg(feature = "capi")]
    pub(crate) fn read_next(&mut self, tensor: &mut Tensor<'a>) -> Result<bool> {
        dispatch!(&self.file, file => file.next_tensor(&mut self.cursor, tensor.record_mut()))
    }
}

impl<'a> Iterator for Tensors<'a> {
    type Item = Tensor<'a>;

    /// Where it is inlined on a host, a tensor is not copied, which takes nearly as long as reading it.
    #[cfg_attr(target_pointer_width = "64", inline(always))]
    fn next(&mut self) -> Option<Tensor<'a>> {
        if self.error.is_some() {
            return None;
        }
        let mut record = TensorRecord::blank();
        match dispatch!(&self.file, file => file.next_tensor(&mut self.cursor, &mut record)) {
            Ok(true) => return Some(Tensor::new(self.file, record)),
            Ok(false) => {}
            Err(error) => self.error = Some(error),
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // The iteration may end early.
        (0, usize::try_from(self.count.saturating_sub(self.cursor.index.into())).ok())
    }
}

impl<'a> IntoIterator for &File<'a> {
    type Item = Tensor<'a>;
    type IntoIter = Tensors<'a>;

    fn into_iter(self) -> Tensors<'a> {
        self.tensors()
    }
}

impl FusedIterator for Tensors<'_> {}

#[cfg(test)]
mod tests {
    /// As may happen in a mapping. What can no longer be read is not left out of what has been verified.
    #[test]
    #[cfg(feature = "gguf")]
    fn bytes_that_have_changed_are_not_verified() {
        use std::prelude::v1::*;

        use super::{AnyFile, File};
        use crate::error::ErrorKind;

        let mut bytes = b"GGUF\x03\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
        for name in *b"ab" {
            // One dimension of length 0, `i8`, at offset 0.
            bytes.extend([&[1, 0, 0, 0, 0, 0, 0, 0, name, 1, 0, 0, 0][..], &[0; 8], &[24], &[0; 11]].concat());
        }
        let end = bytes.len();
        bytes.resize(end.next_multiple_of(32), 0);
        let file = File::open(&bytes).unwrap();
        assert_eq!(file.verify().unwrap().without_digest, 2);
        let gguf = file.as_gguf().unwrap().with_input(bytes[..end - 1].into());
        let error = File { inner: AnyFile::Gguf(gguf), ..file }.verify().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Truncated);
        // The tensor can be read, and its component cannot.
        let mut tensor = file.find("b").unwrap();
        assert_eq!(tensor.verify().unwrap().without_digest, 1);
        tensor.record_mut().components = u32::try_from(end - 1).unwrap();
        assert_eq!(tensor.verify().unwrap_err().kind(), ErrorKind::Truncated);
    }

    #[test]
    fn handles_are_small() {
        assert_eq!(size_of::<crate::Error>(), 16);
        assert!(size_of::<crate::File<'_>>() <= 128, "{}", size_of::<crate::File<'_>>());
        assert!(size_of::<crate::Tensor<'_>>() <= 184, "{}", size_of::<crate::Tensor<'_>>());
        assert!(size_of::<crate::Component<'_>>() <= 184, "{}", size_of::<crate::Component<'_>>());
    }
}
