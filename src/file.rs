//! An open file of any format.
//!
//! Depends on `place`, `warning`, `error`, `bytes`, `format`, `tensor`.
#![forbid(unsafe_code)]

use core::iter::FusedIterator;

use crate::attributes::Attributes;
use crate::bytes::extent::Extent;
use crate::bytes::source::{Input, Need, Opening, Parsed, Source};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{self, dispatch, formats, map_both, map_each, one_of_each};
use crate::place::Format;
#[cfg(feature = "digest")]
use crate::tensor::Verified;
use crate::tensor::{Inner as InnerTensor, Tensor};
use crate::warning::Warnings;

/// An open tensor file.
///
/// A value of at most 128 bytes that borrows from the file's bytes; copy it freely, share it between threads.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    input: Input<'a>,
    inner: Inner<'a>,
}

one_of_each! {
    /// The file of its format.
    Inner of File
}

/// What [`File::open_source`] came to.
#[derive(Clone, Copy, Debug)]
pub enum Opened<'a> {
    /// The file is open.
    File(File<'a>),
    /// These bytes have to be fetched and added to the source first.
    Need(Need),
}

impl<'a> File<'a> {
    /// Opens a file that is in memory as a whole: a slice of flash, a mapped file, an embedded asset.
    ///
    /// Checks the whole structure in one pass, linear in the bytes of the metadata, and reads no tensor
    /// data. Nothing is copied or allocated. Any address does.
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
        // A slice has every range that lies in the file, and no other is ever needed.
        open(&Opening::of(bytes.into()))
    }

    /// Opens a file of which only some ranges are in memory: see [`Source`].
    ///
    /// The file, its warnings and its errors are those of [`open`](Self::open) on the whole slice; the sentence of an
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

    /// The same, of which [`Source::need`] tells whether bytes are missing: with them the error says nothing.
    pub(crate) fn open_once(source: &'a Source<'a>) -> Result<Self> {
        if let Some(error) = source.failed() {
            return Err(error);
        }
        let opening = Opening::of_source(source);
        let opened = open(&opening);
        source.note(&opening, opened.as_ref().err().copied());
        opened
    }

    /// The version as the file states it, such as `1.2.0`; `None` where it states none.
    #[must_use]
    pub fn version(&self) -> Option<&'a str> {
        dispatch!(Inner &self.inner, file => file.version())
    }

    /// Length of the file in bytes.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.input.length()
    }

    /// What the format's text says to warn about.
    #[must_use]
    pub fn warnings(&self) -> Warnings {
        dispatch!(Inner &self.inner, file => file.warnings())
    }

    /// How many tensors there are.
    #[must_use]
    pub fn tensor_count(&self) -> u64 {
        dispatch!(Inner &self.inner, file => file.count())
    }

    /// The tensors, in the order of the file.
    #[must_use]
    pub const fn tensors(&self) -> Tensors<'a> {
        Tensors { input: self.input, inner: map_each!(Inner &self.inner, file => InnerTensors file.tensors()) }
    }

    /// The first tensor of that name, compared byte by byte. Linear in the bytes of the metadata.
    ///
    /// # Errors
    /// `NotFound`; or the bytes are not what they were when the file was opened.
    pub fn find(&self, name: &str) -> Result<Tensor<'a>> {
        let mut tensor = self.unread_tensor();
        self.find_into(name.as_bytes(), &mut tensor).map(|()| tensor)
    }

    /// A tensor of which nothing has been read yet.
    pub(crate) fn unread_tensor(&self) -> Tensor<'a> {
        Tensor::new(map_each!(Inner &self.inner, file => InnerTensor file.unread_tensor()), self.input)
    }

    /// Reads the tensor into `tensor`, an unread one of this file: where it is to be, it is large for a chip.
    pub(crate) fn find_into(&self, name: &[u8], tensor: &mut Tensor<'a>) -> Result<()> {
        map_both!(Inner &self.inner, InnerTensor tensor.inner_mut(), file tensor => file.find(name, tensor))
            .unwrap_or(Err(Error::new(ErrorKind::InvalidArgument)))
    }

    /// What else the file says about itself.
    #[must_use]
    pub fn attributes(&self) -> Attributes<'a> {
        dispatch!(Inner &self.inner, file => file.attributes())
    }

    /// Compares all names exactly, and all roles of each tensor, where [`open`](Self::open) could not without memory
    /// ([`NamesUnchecked`](crate::Warning::NamesUnchecked), [`RolesUnchecked`](crate::Warning::RolesUnchecked)). The
    /// warnings as they are then.
    ///
    /// `scratch` may be of any size but empty. With one word a tensor, and as many as a tensor has components, names and
    /// roles are sorted and looked up once; with less the metadata is read once for each part that fits.
    ///
    /// # Errors
    /// `RepeatedName` where the format forbids it, `RepeatedKey` for a role, `OutOfScratch`.
    pub fn check_names(&self, scratch: &mut [u32]) -> Result<Warnings> {
        dispatch!(Inner &self.inner, file => file.check_names(scratch))
    }

    /// Verifies all tensors, as [`Tensor::verify`] does: reads every byte of those that have one, also where
    /// several share their bytes. The work is that of the sum of their lengths, which may exceed the file's.
    ///
    /// # Errors
    /// Those of [`Tensor::verify`], of the first that fails.
    #[cfg(feature = "digest")]
    pub fn verify(&self) -> Result<Verified> {
        let mut verified = Verified::default();
        let mut tensors = self.tensors();
        for tensor in tensors.by_ref() {
            verified.add_all(tensor.verify()?);
        }
        tensors.error().map_or(Ok(verified), Err)
    }
}

macro_rules! of_each_format {
    (
        ()
        several { $($feature:literal $variant:ident $module:ident $magics:tt $as:ident $doc:literal;)* }
        one { $($single:literal $of_one:ident $one:ident $magics_of_one:tt $as_one:ident $doc_of_one:literal;)* }
    ) => {
        impl<'a> File<'a> {
            /// The kind of file.
            #[must_use]
            pub const fn format(&self) -> Format {
                match &self.inner {
                    $(#[cfg(feature = $feature)] Inner::$variant(_) => Format::$variant,)*
                    #[cfg(any($(feature = $single),*))]
                    Inner::Single(file) => file.format(),
                }
            }

            $(
                #[doc = $doc]
                #[cfg(feature = $feature)]
                #[must_use]
                #[allow(unreachable_patterns)] // in a build with one format
                pub const fn $as(&self) -> Option<format::$module::File<'a>> {
                    match self.inner {
                        Inner::$variant(file) => Some(file),
                        _ => None,
                    }
                }
            )*
            $(
                #[doc = $doc_of_one]
                #[cfg(feature = $single)]
                #[must_use]
                #[allow(unreachable_patterns)] // in a build with one format
                pub const fn $as_one(&self) -> Option<format::$one::File<'a>> {
                    match &self.inner {
                        Inner::Single(file) => file.$as_one().copied(),
                        _ => None,
                    }
                }
            )*
        }

        /// Opens a file, but for the tensors of one that has several.
        #[inline]
        fn begin<'a>(opening: &Opening<'a>) -> Parsed<File<'a>> {
            let input = opening.input;
            let head = opening.keep(Extent::new(0, input.length().min(format::HEAD)))?;
            #[cfg(any($(feature = $single),*))]
            let single = |of| Inner::Single(format::single::File::new(of));
            let inner = match format::detect(head, input.length()) {
                $(#[cfg(feature = $feature)] Format::$variant => Inner::$variant(format::$module::begin(opening)?),)*
                $(
                    #[cfg(feature = $single)]
                    Format::$of_one => single(format::single::Of::$of_one(format::$one::open(opening)?)),
                )*
                other => return Err(opening.stop(format::not_read(head, other))),
            };
            Ok(File { input, inner })
        }

        /// The one way in: for slices and for sources.
        fn open<'a>(opening: &Opening<'a>) -> Result<File<'a>> {
            #[allow(unused_mut)] // in a build without a format of several tensors
            let mut opened = begin(opening).map_err(|stop| opening.error(stop));
            $(
                // Read where it will stand: a file on its own would be on the stack besides.
                #[cfg(feature = $feature)]
                if let Ok(File { inner: Inner::$variant(file), .. }) = &mut opened {
                    if let Err(error) = file.read() {
                        opened = Err(error);
                    }
                }
            )*
            opened
        }
    };
}
formats!(of_each_format!);

/// The tensors of a file. See [`File::tensors`].
///
/// What they are was checked when the file was opened. Should the bytes have changed since, the iterator
/// ends early and [`error`](Self::error) says why.
#[derive(Clone, Copy, Debug)]
pub struct Tensors<'a> {
    input: Input<'a>,
    inner: InnerTensors<'a>,
}

one_of_each! { InnerTensors of Tensors }

impl Tensors<'_> {
    /// Why the iterator ended early: the bytes are not what they were when the file was opened.
    #[must_use]
    pub const fn error(&self) -> Option<Error> {
        dispatch!(InnerTensors &self.inner, tensors => tensors.error())
    }
}

impl<'a> Tensors<'a> {
    /// A tensor of which nothing has been read yet.
    pub(crate) fn unread(&self) -> Tensor<'a> {
        Tensor::new(map_each!(InnerTensors &self.inner, tensors => InnerTensor tensors.unread()), self.input)
    }

    /// Reads the next tensor into `tensor`, an unread one; `false` at the end.
    pub(crate) fn advance(&mut self, tensor: &mut Tensor<'a>) -> bool {
        map_both!(InnerTensors &mut self.inner, InnerTensor tensor.inner_mut(), tensors tensor => tensors.advance(tensor))
            .unwrap_or(false)
    }
}

impl<'a> Iterator for Tensors<'a> {
    type Item = Tensor<'a>;

    fn next(&mut self) -> Option<Tensor<'a>> {
        let mut tensor = self.unread();
        self.advance(&mut tensor).then_some(tensor)
    }
}

impl FusedIterator for Tensors<'_> {}

#[cfg(test)]
mod tests {
    #[test]
    fn handles_are_small() {
        assert_eq!(size_of::<crate::Error>(), 16);
        assert!(size_of::<crate::File<'_>>() <= 128, "{}", size_of::<crate::File<'_>>());
        assert!(size_of::<crate::Tensor<'_>>() <= 128, "{}", size_of::<crate::Tensor<'_>>());
        assert!(size_of::<crate::Component<'_>>() <= 128, "{}", size_of::<crate::Component<'_>>());
    }
}
