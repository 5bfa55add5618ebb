//! The formats, and what each of them gives to the common view.
//!
//! Depends on `place`, `error`, `bytes`, `vocab`, `shape`, `codec`, `decode`, `attributes`. The formats never import each
//! other. To add one takes its folder, a `mod` line, a line in the table of [`formats`] and a feature in Cargo.toml, which
//! `formats` there lists. Its folder has a type that is a file of the format, for which [`FileFormat`] says what to write.
//!
//! A file is positions in the bytes, parsed on demand by the code that checked them. Errors come in three ways, each where
//! it takes the least of a chip: while a file is opened a function gives [`ParseResult`], and the error stays with the
//! [`ParseContext`], which also knows which bytes are missing; a reader of nested records keeps its first fault, and is asked
//! once at the end; all else gives [`Result`].
#![forbid(unsafe_code)]

#[cfg(feature = "b2nd")]
pub mod b2nd;
#[cfg(feature = "blz")]
pub mod blz;
#[cfg(feature = "npy")]
pub mod npy;
#[cfg(feature = "npz")]
pub mod npz;
mod record;
#[cfg(feature = "tens")]
pub mod tens;
#[cfg(feature = "ztensor")]
pub mod ztensor;

pub(crate) use record::{ComponentRecord, Context, Cursor, Summary, TensorRecord};

use crate::attributes::Attributes;
use crate::bytes::extent::Extent;
use crate::bytes::keywords::{Keywords, keywords};
use crate::bytes::source::{Input, ParseContext, ParseResult};
use crate::decode::Decoder;
use crate::error::{Error, ErrorKind, Result};
use crate::place::{Format, Item};
use crate::warning::Warnings;

/// The table of the formats. A line has the feature, the name in [`Format`], the module, the type that is a file of it, the
/// bytes that such files begin with (and after how many others), and how [`File`](crate::File) gives that type.
///
/// `formats!(name! arguments)` calls the macro `name` with the arguments and the table: all that goes through the formats is
/// made that way, so that a format is a line here, a `mod` line above and a feature.
macro_rules! formats {
    ($name:ident! $($arguments:tt)*) => {
        $name! {
            ($($arguments)*)
            "ztensor" Ztensor ztensor::ZtensorFile [0 b"ZTEN0001", 0 b"ZTEN1000"]
                as_ztensor "What only zTensor files have; `None` for the others.";
            // Other formats begin with "BLZ1", too: version and dtype tell most of them, its tables the rest.
            "blz" Blz blz::BlzFile [0 b"BLZ1\x01\x00", 0 b"BLZ1\x01\x01"]
                as_blz "What only BLZ files have; `None` for the others.";
            "tens" Tens tens::TensFile [0 b"TENS"]
                as_tens "What only TENS files have; `None` for the others.";
            "npy" Npy npy::NpyFile [0 b"\x93NUMPY"]
                as_npy "What only NPY files have; `None` for the others.";
            "npz" Npz npz::NpzFile [0 b"PK\x03\x04", 0 b"PK\x05\x06"]
                as_npz "What only NPZ archives have; `None` for the others.";
            "b2nd" B2nd b2nd::Frame [2 b"b2frame\0"]
                as_b2nd "What only Blosc2 frames have, and reading parts of their arrays; `None` for the others.";
        }
    };
}
pub(crate) use formats;

/// What a format gives to the common view; implemented by the type that is a file of it.
///
/// What is read into a [`TensorRecord`] or a [`ComponentRecord`] is read into a blank one: what a format does not set stays as it is there.
pub(crate) trait FileFormat<'a>: Copy {
    /// Which format it is, for errors.
    const FORMAT: Format;

    /// Whether its tensors may be dense or sparse. A library in which none are leaves out what reads those.
    const HAS_STORED_ELEMENTS: bool = true;

    /// Opens a file of which the magic is known to be the format's. Checks its structure in one pass and reads no tensor
    /// data; or stops, and says which bytes it needs first.
    fn open(opening: &ParseContext<'a>) -> ParseResult<Self>;

    /// What the whole file holds. Where that takes another pass over the metadata, all of which [`open`](Self::open) has
    /// asked for, this is where it is checked: in place, since files of many tensors are large for the stack of a chip.
    fn read(&mut self, summary: &mut Summary) -> Result<()>;

    /// The bytes that the file is in.
    fn input(&self) -> Input<'a>;

    /// The version as the file states it.
    fn version(&self) -> Option<&'a str>;

    /// What else the file says about itself.
    fn attributes(&self) -> Attributes<'a> {
        Attributes::NONE
    }

    /// Reads the next tensor into `tensor`, a blank one; `false` after the last. The cursor moves on where it succeeds.
    fn next_tensor(&self, cursor: &mut Cursor, tensor: &mut TensorRecord<'a>) -> Result<bool>;

    /// Reads the first tensor of that name into `tensor`, a blank one, or ends with `NotFound`. A format that can pass over
    /// a tensor without reading it has a faster one.
    fn find(&self, name: &[u8], tensor: &mut TensorRecord<'a>) -> Result<()> {
        let mut cursor = Cursor::START;
        while self.next_tensor(&mut cursor, tensor)? {
            if tensor.name.bytes() == name {
                return Ok(());
            }
            *tensor = TensorRecord::blank();
        }
        Err(Error::new(ErrorKind::NotFound))
    }

    /// Checks with the caller's memory what opening could not without any, as far as its warnings say so: names, roles,
    /// places. `warnings` are those of opening; the result has them as they are then.
    fn check(&self, warnings: Warnings, _scratch: &mut [u32]) -> Result<Warnings> {
        Ok(warnings)
    }

    /// What else the file says about a tensor.
    fn tensor_attributes(&self, _tensor: &TensorRecord<'a>) -> Attributes<'a> {
        Attributes::NONE
    }

    /// Reads the next component of a tensor into `part`, a blank one or the one before; `false` after the last. The cursor
    /// moves on where it succeeds.
    fn next_component(
        &self,
        tensor: &TensorRecord<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool>;

    /// How many bytes [`read_whole`](Self::read_whole) writes; `None` where the file does not say, or where nobody can.
    fn whole_length(&self, _tensor: &TensorRecord<'a>) -> Option<u64> {
        None
    }

    /// How much scratch memory [`read_whole`](Self::read_whole) needs, in bytes.
    fn whole_scratch_length(&self, _tensor: &TensorRecord<'a>) -> Option<u64> {
        None
    }

    /// Writes all elements of a tensor to `dst`; the part written. Asked for layouts that are neither dense nor sparse: their
    /// elements are in no component as numbers, and are computed or decoded by the format.
    fn read_whole<'d>(
        &self,
        tensor: &TensorRecord<'a>,
        _decoder: &mut dyn Decoder,
        _dst: &'d mut [u8],
        _scratch: &mut [u8],
    ) -> Result<&'d mut [u8]> {
        Err(Error::at(ErrorKind::UnsupportedLayout, Self::FORMAT, Item::Tensor, tensor.at))
    }

    /// Reads again, for the message of an error, what is in the file where it happened. Nothing of it is trusted or checked:
    /// whatever cannot be read is left out.
    fn context(input: Input<'a>, error: &Error) -> Context<'a>;
}

/// What follows from the table: the one type that a file of any format is, and how it is opened.
macro_rules! any_file {
    (
        ($d:tt)
        $($feature:literal $variant:ident $module:ident::$file:ident [$($at:literal $magic:literal),*]
            $as:ident $doc:literal;)*
    ) => {
        /// A file of any format.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum AnyFile<'a> {
            $(#[cfg(feature = $feature)] $variant($module::$file<'a>),)*
        }

        /// Evaluates an expression for the file in an [`AnyFile`], of whichever format it is.
        macro_rules! dispatch {
            ($d any:expr, $d file:ident => $d value:expr) => {
                match $d any {
                    $(#[cfg(feature = $feature)] crate::format::AnyFile::$variant($d file) => $d value,)*
                }
            };
        }
        pub(crate) use dispatch;

        impl<'a> AnyFile<'a> {
            /// Opens a file: of a format that is known by how the file begins, and that is built in.
            #[inline]
            pub(crate) fn open(opening: &ParseContext<'a>) -> ParseResult<Self> {
                let length = opening.input.length();
                let head = opening.keep(Extent::new(0, length.min(HEAD)))?;
                Ok(match detect(head, length) {
                    $(#[cfg(feature = $feature)] Format::$variant => Self::$variant($module::$file::open(opening)?),)*
                    other => return Err(opening.stop(not_read(head, other))),
                })
            }

            /// Its kind.
            pub(crate) const fn format(&self) -> Format {
                match self {
                    $(#[cfg(feature = $feature)] Self::$variant(_) => Format::$variant,)*
                }
            }
        }

        /// Whether a format is built in whose tensors may be dense or sparse.
        pub(crate) const HAS_STORED_ELEMENTS: bool = {
            let mut any = false;
            $(#[cfg(feature = $feature)] { any |= <$module::$file<'_> as FileFormat<'_>>::HAS_STORED_ELEMENTS; })*
            any
        };

        /// What is in the file where an error of that format happened.
        pub(crate) fn context<'a>(input: Input<'a>, error: &Error) -> Context<'a> {
            match error.format() {
                $(#[cfg(feature = $feature)] Format::$variant => $module::$file::context(input, error),)*
                Format::Unknown => context_of_unknown(input),
                Format::Zip => Context { hint: Some("no entry of the archive is an array"), ..Context::default() },
                _ => Context::default(),
            }
        }

        /// The kinds of files, by the bytes they begin with: those that are read, and those that are only named.
        const MAGICS: Keywords = keywords![bytes
            $($($magic => Format::$variant.code(),)*)*
            b"\x89ZT2\r\n\x1a\n" => Format::Ztensor2.code(),
            b"GGUF" => Format::Gguf.code(),
            b"\x89HDF\r\n\x1a\n" => Format::Hdf5.code(),
            b"\x28\xb5\x2f\xfd" => Format::Zstd.code(),
            b"\x1f\x8b" => Format::Gzip.code(),
        ];

        /// After how many bytes the magic of a format is, by its code.
        fn magic_at(format: u8) -> usize {
            let mut at = 0;
            $($(if $at > 0 && format == Format::$variant.code() { at = $at; })*)*
            at
        }

        /// Whether there is a module that reads such files, built in or not.
        fn is_read(format: Format) -> bool {
            matches!(format, $(Format::$variant)|*)
        }
    };
}
formats!(any_file! $);

/// How many bytes from the start of a file tell its kind.
pub(crate) const HEAD: u64 = 16;

/// The format whose magic `head` has; or, where a file was `cut`, the start of whose magic it is.
#[inline(never)]
fn of_magic(head: &[u8], cut: bool) -> Format {
    for (magic, format) in MAGICS {
        let at = magic_at(format);
        let is_it = if cut {
            at == 0 && magic.starts_with(head)
        } else {
            head.get(at..).is_some_and(|rest| rest.starts_with(magic))
        };
        if is_it {
            return Format::from_code(format).unwrap_or(Format::Unknown);
        }
    }
    Format::Unknown
}

/// The kind of a file of `length` bytes that begins with `head`: its first [`HEAD`] bytes, or all of them.
pub(crate) fn detect(head: &[u8], length: u64) -> Format {
    let format = of_magic(head, false);
    if format != Format::Unknown {
        return format;
    }
    // safetensors has no magic: the length of a JSON object, then the object.
    if let Some((size, rest)) = head.split_first_chunk::<8>() {
        let available = length.saturating_sub(8);
        if rest.first() == Some(&b'{') && u64::from_le_bytes(*size) <= available {
            return Format::Safetensors;
        }
    }
    Format::Unknown
}

/// What may be said of a file that no module reads.
pub(crate) fn context_of_unknown<'a>(input: Input<'a>) -> Context<'a> {
    let begins_as_blz = input.get(Extent::new(0, 4)) == Some(b"BLZ1");
    let hint = "it begins as a BLZ1 tensor train does, but not with one of version 1 in f64 or c128";
    Context { hint: begins_as_blz.then_some(hint), ..Context::default() }
}

/// The error of a file that no module reads, which begins with `head`.
#[cold]
#[inline(never)]
pub(crate) fn not_read(head: &[u8], format: Format) -> Error {
    let (kind, format, item) = match format {
        _ if head.is_empty() => (ErrorKind::Truncated, Format::Unknown, Item::File),
        format if is_read(format) => (ErrorKind::NotBuiltIn, format, Item::File),
        Format::Unknown => match of_magic(head, true) {
            Format::Unknown => (ErrorKind::UnknownFormat, format, Item::File),
            // A start of one of our own magics, and nothing behind it: the file was cut off.
            cut => (ErrorKind::Truncated, cut, Item::Header),
        },
        _ => (ErrorKind::UnsupportedFormat, format, Item::File),
    };
    Error::at(kind, format, item, 0)
}
