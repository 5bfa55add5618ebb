//! An open file of any format.
#![forbid(unsafe_code)]

use core::iter::FusedIterator;

use crate::attributes::Attributes;
use crate::bytes::piece::Piece;
use crate::bytes::source::{Need, ParseContext, Source};
use crate::codec::BuiltIn;
use crate::codec::decoder::Decoder;
use crate::codec::options::ReadOptions;
use crate::error::origin::Format;
use crate::error::warning::Warnings;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{
    self, AnyFile, Cursor, FileFormat, NamedTensors, Summary, TensorRecord, Wanted, dispatch, formats,
};
use crate::view::entry::{self, TensorEntry};
use crate::view::index::{self, Index};
use crate::view::tensor::{Tensor, Verified};

/// An open tensor file.
///
/// A value of at most 128 bytes that borrows the file's bytes. A `File` can be copied freely and shared between
/// threads.
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
    /// Opens a file that is entirely in memory: a slice of flash, a mapped file, or an embedded asset.
    ///
    /// Checks the whole structure in one pass, linear in the bytes of the metadata, and reads no tensor data. Nothing
    /// is copied or allocated. The slice may have any alignment.
    ///
    /// # Errors
    /// The first violation of the format's rules, with its position.
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../tests/fixtures/v1.2/dense_all_dtypes.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// for tensor in file.tensors() {
    ///     println!("{} {:?} {}", tensor.name(), tensor.dtype(), tensor.shape());
    /// }
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    pub fn open(bytes: &'a [u8]) -> Result<Self> {
        // A slice contains every range inside the file, and opening needs no other ranges.
        open(&ParseContext::of(bytes.into()))
    }

    /// Opens a file of which only some ranges are in memory: see [`Source`].
    ///
    /// The file, its warnings and its errors are the same as from [`open`](Self::open) with the whole slice. The
    /// message of an error contains only the names and numbers that are still in memory.
    ///
    /// # Errors
    /// The first violation of the format's rules, with its position.
    pub fn open_source(source: &'a Source<'_>) -> Result<Opened<'a>> {
        match (Self::open_once(source), source.need()) {
            (Ok(file), _) => Ok(Opened::File(file)),
            (Err(_), Some(need)) => Ok(Opened::Need(need)),
            (Err(error), None) => Err(error),
        }
    }

    /// Opens the file as [`open_source`](Self::open_source) does, but an error may also mean that bytes are missing. If
    /// [`Source::need`] returns a request, the error has no meaning.
    pub(crate) fn open_once(source: &'a Source<'a>) -> Result<Self> {
        if let Some(error) = source.failed() {
            return Err(error);
        }
        let opening = ParseContext::of_source(source);
        let opened = open(&opening);
        source.note(&opening, opened.as_ref().err().copied());
        opened
    }

    /// Returns the same file, whose bytes are looked for in `source`: a clone of the source that the file was opened
    /// from, to which the caller has added more ranges. Constant cost: nothing is parsed again,
    /// except the tree of a PyTorch stream whose numbers have several widths.
    ///
    /// The views of single formats then find the added bytes as well, such as
    /// [`b2nd::Frame::read_region`](crate::b2nd::Frame::read_region). [`Tensor::with_source`] has an example.
    ///
    /// A file opened from a slice works too; the source then needs all ranges that later calls read.
    ///
    /// # Errors
    /// `InvalidArgument` if the source describes a file of another length.
    pub fn with_source<'b>(&self, source: &'b Source<'_>) -> Result<File<'b>>
    where
        'a: 'b,
    {
        Ok(File { inner: self.inner.with_source(source)?, summary: self.summary })
    }

    /// Returns the version as the file states it, such as `1.2.0`; `None` if the file states no version.
    #[must_use]
    pub fn version(&self) -> Option<&'a str> {
        dispatch!(&self.inner, file => file.version())
    }

    /// Returns the length of the file in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        dispatch!(&self.inner, file => file.input()).length()
    }

    /// Returns the format of the file.
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

    /// Returns the first tensor named `name`, compared byte by byte. Linear in the bytes of the metadata.
    ///
    /// # Errors
    /// `NotFound` if no tensor has that name. Another error if the bytes have changed since the file was opened.
    pub fn find(&self, name: &str) -> Result<Tensor<'a>> {
        let mut tensor = self.blank_tensor();
        self.find_into(name.as_bytes(), &mut tensor).map(|()| tensor)
    }

    /// Returns the only tensor of the file, whatever its name: of any file in a format that has one tensor in each file
    /// (NPY, TENS, BLZ1, Blosc2), and of a file that happens to contain one.
    ///
    /// # Errors
    /// `NotFound` if the file contains no tensor, or several. Another error if the bytes have changed since the file was
    /// opened.
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../tests/fixtures/npy/dt_le_f4.npy");
    /// let tensor = tenslice::File::open(bytes)?.single()?;
    /// println!("{:?} {}", tensor.dtype(), tensor.shape());
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    pub fn single(&self) -> Result<Tensor<'a>> {
        if self.tensor_count() != 1 {
            return Err(Error::new(ErrorKind::NotFound));
        }
        let mut tensors = self.tensors();
        let first = tensors.next();
        first.ok_or_else(|| tensors.error().unwrap_or(Error::new(ErrorKind::NotFound)))
    }

    /// The same file over other bytes, for tests of bytes that change.
    #[cfg(test)]
    pub(crate) const fn of_inner(inner: AnyFile<'a>, opened: &Self) -> Self {
        Self { inner, ..*opened }
    }

    /// The file as its format reads it.
    pub(crate) const fn inner(&self) -> &AnyFile<'a> {
        &self.inner
    }

    /// Creates a blank tensor to read into.
    pub(crate) fn blank_tensor(&self) -> Tensor<'a> {
        Tensor::blank(self.inner)
    }

    /// Reads the tensor named `name` into `tensor`, a blank tensor of this file. A tensor is large for a
    /// microcontroller's stack, so it is filled in place.
    pub(crate) fn find_into(&self, name: &[u8], tensor: &mut Tensor<'a>) -> Result<()> {
        dispatch!(&self.inner, file => file.find(name, tensor.record_mut()))
    }

    /// Fills `entries` with the name, dtype, shape and place of each tensor, in the order of the file, and returns the
    /// entries that it has filled. `entries` must have at least [`tensor_count`](Self::tensor_count) places, of 96 bytes
    /// each. Linear in the bytes of the metadata.
    ///
    /// A program that goes through the tensors several times, or looks for a few names in a file of a few tensors, reads
    /// the file once in this way. [`tensor`](Self::tensor) returns the whole tensor of an entry.
    ///
    /// # Errors
    /// `OutOfScratch` if `entries` is too short; it is then unchanged. Another error if the bytes have changed since the
    /// file was opened.
    ///
    /// ```
    /// use tenslice::{File, TensorEntry};
    /// # let bytes: &[u8] = include_bytes!("../../tests/fixtures/safetensors/py_tiny_mlp.safetensors");
    ///
    /// let file = File::open(bytes)?;
    /// let mut memory = [TensorEntry::default(); 16];
    /// let entries = file.list(&mut memory)?;
    /// entries.sort_by_key(|entry| entry.extent().map(|extent| extent.offset));
    /// for entry in entries.iter() {
    ///     println!("{} {:?} {} {:?}", entry.name(), entry.dtype(), entry.shape(), entry.extent());
    /// }
    /// # assert_eq!(entries.len() as u64, file.tensor_count());
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    pub fn list<'m>(&self, entries: &'m mut [TensorEntry<'a>]) -> Result<&'m mut [TensorEntry<'a>]> {
        entry::list(self.inner, self.tensor_count(), entries, |entry| entry)
    }

    /// Returns the tensor of an entry that [`list`](Self::list) has made from this file. Costs as much as reading one
    /// tensor.
    ///
    /// # Errors
    /// `NotFound` or another error if the entry is from another file, or if the bytes have changed since the file was
    /// opened.
    pub fn tensor(&self, entry: &TensorEntry<'_>) -> Result<Tensor<'a>> {
        let mut tensor = self.blank_tensor();
        self.tensor_into(entry.place(), entry.name().raw(), &mut tensor).map(|()| tensor)
    }

    /// Reads the tensor at the place of an entry into `tensor`, a blank tensor of this file. It must have the name
    /// `name`, as the file spells it.
    pub(crate) fn tensor_into(&self, (at, index): (u32, u32), name: &[u8], tensor: &mut Tensor<'a>) -> Result<()> {
        dispatch!(&self.inner, file => file.tensor_at(at, index, tensor.record_mut()))?;
        if tensor.name().raw() == name { Ok(()) } else { Err(Error::new(ErrorKind::NotFound)) }
    }

    /// Returns the number of words that [`index`](Self::index) needs: three for each tensor, or none for a single
    /// tensor. `None` if this machine cannot address that many words.
    #[must_use]
    pub fn index_length(&self) -> Option<usize> {
        index::length(self.tensor_count())
    }

    /// Builds an index of the names in `words`. The time of [`Index::find`] hardly depends on the number of tensors,
    /// whereas [`find`](Self::find) is linear in the metadata. Compares all names exactly, as [`check`](Self::check)
    /// does.
    ///
    /// Building is linear in the bytes of the metadata. If the names were crafted to collide, they are hashed again
    /// with a seed that depends on all names. If they still collide, they are sorted with N log N comparisons. Metadata
    /// has at most 1 GiB in every format, so one word holds any position in it.
    ///
    /// # Errors
    /// - `OutOfScratch` if `words` is shorter than [`index_length`](Self::index_length).
    /// - `RepeatedName` if the format forbids repeated names. zTensor 0.1 allows them; its index has the first tensor.
    /// - The errors of [`check`](Self::check).
    /// - Another error if the bytes have changed since the file was opened.
    ///
    /// ```
    /// # #[cfg(feature = "ztensor")] {
    /// # let bytes: &[u8] = include_bytes!("../../tests/fixtures/v1.2/dense_all_dtypes.zt");
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

    /// Returns the attributes of the file itself.
    #[must_use]
    pub fn attributes(&self) -> Attributes<'a> {
        dispatch!(&self.inner, file => file.attributes())
    }

    /// Returns the number of words that [`check`](Self::check) uses at most; this many are always enough. 0 if
    /// [`open`](Self::open) has left nothing to compare. `None` if this machine cannot address that many words.
    ///
    /// Each item that is left takes one word: names of tensors, roles of one tensor, keys of a GGUF file, byte ranges
    /// of safetensors data, entries of an NPZ archive. In zTensor 2 each component and each shard takes two words. The
    /// kinds of items are compared one after the other, so the kind with the most items counts. Linear in the bytes of
    /// the metadata.
    #[must_use]
    pub fn check_length(&self) -> Option<usize> {
        usize::try_from(dispatch!(&self.inner, file => file.check_length(&self.summary))).ok()
    }

    /// Compares items that [`open`](Self::open) could not compare without memory, and returns the warnings that remain:
    ///
    /// - names ([`NamesUnchecked`](crate::Warning::NamesUnchecked));
    /// - the roles within a tensor ([`RolesUnchecked`](crate::Warning::RolesUnchecked));
    /// - keys ([`KeysUnchecked`](crate::Warning::KeysUnchecked));
    /// - the byte ranges of components, entries of an archive, and shards
    ///   ([`ExtentsUnchecked`](crate::Warning::ExtentsUnchecked)).
    ///
    /// All items are compared exactly. With [`check_length`](Self::check_length) words the items are sorted and read
    /// once. With fewer words the items are compared in parts that fit, and read once for each part, at most eight
    /// times: the time is linear in the bytes of the metadata with any amount of memory. A file that needs more than
    /// eight times the words in `scratch` is rejected. Looking up the shards of a zTensor 2 file takes two words per
    /// shard, and never works in parts (on chips it needs no memory).
    ///
    /// # Errors
    /// - `RepeatedName` if the format forbids repeated names, `RepeatedKey` for a role or a key, `Overlap`.
    /// - In zTensor 2 `UnknownShard` and `OutOfShard`.
    /// - `OutOfScratch` if `scratch` is too short; never if it has [`check_length`](Self::check_length) words.
    ///
    /// ```
    /// # #[cfg(feature = "ztensor")] {
    /// # let bytes: &[u8] = include_bytes!("../../tests/fixtures/v1.2/dense_all_dtypes.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// let mut words = vec![0; file.check_length().unwrap_or(0)];
    /// assert!(file.check(&mut words)?.is_empty());
    /// # }
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    pub fn check(&self, scratch: &mut [u32]) -> Result<Warnings> {
        dispatch!(&self.inner, file => file.check(&self.summary, scratch))
    }

    /// Verifies all tensors, as [`Tensor::verify`] does. Reads every byte of each component that has a digest,
    /// repeatedly if components share bytes: the cost is the sum of the component lengths, which may exceed the length
    /// of the file. For untrusted files, add up the lengths first: from
    /// [`Component::extent`](crate::Component::extent), or from
    /// [`Component::decoded_length`](crate::Component::decoded_length) if the digest covers decoded bytes.
    ///
    /// [`requirements`](Self::requirements) returns the length of the scratch memory.
    ///
    /// # Errors
    /// The errors of [`Tensor::verify`], for the first tensor that fails.
    #[inline]
    pub fn verify(&self, options: ReadOptions<'_>) -> Result<Verified> {
        let mut built_in = BuiltIn::default();
        let (decoder, scratch) = options.parts(&mut built_in);
        self.verify_using(decoder, scratch)
    }

    pub(crate) fn verify_using(&self, decoder: &mut dyn Decoder, scratch: &mut [u8]) -> Result<Verified> {
        let mut verified = Verified::default();
        let mut tensors = self.tensors();
        for tensor in tensors.by_ref() {
            verified.add_all(tensor.verify_using(decoder, scratch)?);
        }
        tensors.error().map_or(Ok(verified), Err)
    }
}

impl Source<'_> {
    /// Fills `pieces` with the ranges to fetch in one round after [`File::open_source`] has requested a range, and
    /// returns their number: 1 for the range that was requested, more for the starts of the entries of an NPZ archive.
    /// Returns 0 if the last call requested nothing, or if `pieces` is empty.
    ///
    /// The pieces are in the order of the file, do not overlap, and have their places in memory, one after the other.
    /// Fetch them to their places, at the same time, and add them with [`add_pieces`](Self::add_pieces). Then open the
    /// file again. Fetching one requested range after the other has the same result, in more round trips.
    ///
    /// If `pieces` is too short for all entries, or if an entry begins with more metadata than usual, the missing ranges
    /// are requested one by one.
    ///
    /// ```
    /// use std::ops::Range;
    ///
    /// use tenslice::{File, MAX_SEGMENTS, Opened, Piece, Source};
    ///
    /// let disk = std::fs::read("tests/fixtures/npz/hm_aligned_64.npz")?; // stands for a file on a server
    ///
    /// let mut rounds = vec![([Piece::default(); 64], Vec::new()); MAX_SEGMENTS]; // they outlive the source
    /// let mut unused = rounds.iter_mut();
    /// let mut source = Source::new(disk.len() as u64);
    /// let file = loop {
    ///     if let Opened::File(file) = File::open_source(&source)? {
    ///         break file;
    ///     }
    ///     let (pieces, memory) = unused.next().ok_or("too many rounds")?;
    ///     let count = source.needs(pieces);
    ///     for piece in &pieces[..count] {
    ///         memory.extend(&disk[Range::try_from(piece.extent())?]); // all of them at the same time
    ///     }
    ///     source.add_pieces(&pieces[..count], memory)?;
    /// };
    /// assert_eq!(file.tensor_count(), File::open(&disk)?.tensor_count());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn needs(&self, pieces: &mut [Piece]) -> usize {
        let Some(need) = self.need() else { return 0 };
        let room = pieces.len();
        let mut wanted = Wanted::new(pieces);
        // A list of one range is the requested one: only that is certain to be needed.
        if need.keep && !self.has_list() && room > 1 {
            AnyFile::wanted(self.into(), &mut wanted);
        }
        if wanted.is_empty() {
            wanted.add(need.extent);
        }
        wanted.finish()
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
    // Filled in place, which avoids a second `File` on the stack.
    if let Ok(File { inner, summary }) = &mut opened {
        if let Err(error) = dispatch!(inner, file => file.read(summary)) {
            opened = Err(error);
        }
    }
    opened
}

/// The tensors of a file. See [`File::tensors`].
///
/// The tensors were checked when the file was opened. If the bytes have changed since, the iterator ends early and
/// [`error`](Self::error) returns the reason.
#[derive(Clone, Copy, Debug)]
pub struct Tensors<'a> {
    file: AnyFile<'a>,
    count: u64,
    cursor: Cursor,
    error: Option<Error>,
}

impl<'a> Tensors<'a> {
    /// Returns the reason why the iterator ended early: the bytes have changed since the file was opened.
    #[must_use]
    pub const fn error(&self) -> Option<Error> {
        self.error
    }

    /// Creates a blank tensor to read into.
    #[cfg(feature = "capi")]
    pub(crate) fn blank(&self) -> Tensor<'a> {
        Tensor::blank(self.file)
    }

    /// Reads the next tensor into `tensor`, which must be blank; returns `false` after the last tensor.
    #[cfg(feature = "capi")]
    pub(crate) fn read_next(&mut self, tensor: &mut Tensor<'a>) -> Result<bool> {
        dispatch!(&self.file, file => file.next_tensor(&mut self.cursor, tensor.record_mut()))
    }
}

impl<'a> Iterator for Tensors<'a> {
    type Item = Tensor<'a>;

    /// Inlined on a host to avoid a copy of the tensor, which takes nearly as long as reading the tensor.
    #[cfg_attr(not(small), inline(always))]
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
    /// The bytes of a mapping may change. A tensor that can no longer be read must not be skipped by `verify`.
    #[test]
    #[cfg(feature = "gguf")]
    fn bytes_that_have_changed_are_not_verified() {
        use std::prelude::v1::*;

        use super::{AnyFile, File, FileFormat, ReadOptions};
        use crate::error::ErrorKind;

        let mut bytes = b"GGUF\x03\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
        for name in *b"ab" {
            // One dimension of length 0, `i8`, at offset 0.
            bytes.extend([&[1, 0, 0, 0, 0, 0, 0, 0, name, 1, 0, 0, 0][..], &[0; 8], &[24], &[0; 11]].concat());
        }
        let end = bytes.len();
        bytes.resize(end.next_multiple_of(32), 0);
        let file = File::open(&bytes).unwrap();
        assert_eq!(file.verify(ReadOptions::new()).unwrap().without_digest, 2);
        let gguf = file.as_gguf().unwrap().with_input(bytes[..end - 1].into());
        let error = File { inner: AnyFile::Gguf(gguf), ..file }.verify(ReadOptions::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Truncated);
        // The tensor can be read, but its component cannot.
        let mut tensor = file.find("b").unwrap();
        assert_eq!(tensor.verify(ReadOptions::new()).unwrap().without_digest, 1);
        tensor.record_mut().components = u32::try_from(end - 1).unwrap();
        assert_eq!(tensor.verify(ReadOptions::new()).unwrap_err().kind(), ErrorKind::Truncated);
    }

    #[test]
    fn handles_are_small() {
        assert_eq!(size_of::<crate::Error>(), 16);
        assert!(size_of::<crate::File<'_>>() <= 128, "{}", size_of::<crate::File<'_>>());
        // The keys of a name.
        let most = if cfg!(feature = "pytorch") { 184 + 16 } else { 184 };
        assert!(size_of::<crate::Tensor<'_>>() <= most, "{}", size_of::<crate::Tensor<'_>>());
        assert!(size_of::<crate::Component<'_>>() <= 184, "{}", size_of::<crate::Component<'_>>());
        let most = if cfg!(feature = "pytorch") { 96 + 8 } else { 96 };
        assert!(size_of::<crate::TensorEntry<'_>>() <= most, "{}", size_of::<crate::TensorEntry<'_>>());
    }
}
