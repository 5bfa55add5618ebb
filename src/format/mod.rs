//! The formats, and what each of them gives to the common view.
//!
//! Depends on `error`, `bytes`, `vocab`, `shape`, `codec`. The formats never import each other. Each is a
//! module of the same shape:
//!
//! - `open(opening)` checks the whole structure in one pass and gives the format's `File`, or says which
//!   bytes it needs first;
//! - `File` has `tensors()`, `find()`, `warnings()`, …, `Tensors` is its iterator ([`Single`] where there is
//!   one alone), `Tensor` one of its tensors: `name()`, `dtype()`, `shape()`, …;
//! - `Tensor::components()` iterates over its [`Part`]s;
//! - `context(input, error)` reads again, for the sentence of an error, what stands where it happened.
//!
//! A `File`, a `Tensor` are positions in the bytes, parsed on demand by the code that checked them.
#![forbid(unsafe_code)]

#[cfg(feature = "b2nd")]
pub mod b2nd;
#[cfg(feature = "blz")]
pub mod blz;
#[cfg(feature = "tens")]
pub mod tens;
#[cfg(feature = "ztensor")]
pub mod ztensor;

use crate::bytes::extent::Extent;
use crate::bytes::source::Input;
use crate::bytes::text::Text;
use crate::bytes::words::{Words, words};
use crate::error::{Error, ErrorKind, Format, Item};
use crate::shape::Shape;
use crate::vocab::{ByteOrder, DType, Encoding};

/// Declares an enum of what each format calls `$object`, and how to ask whichever it is.
macro_rules! one_of_each {
    ($(#[$meta:meta])* $visible:vis $name:ident of $object:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        $visible enum $name<'a> {
            #[cfg(feature = "ztensor")]
            Ztensor(format::ztensor::$object<'a>),
            #[cfg(feature = "blz")]
            Blz(format::blz::$object<'a>),
            #[cfg(feature = "b2nd")]
            B2nd(format::b2nd::$object<'a>),
            #[cfg(feature = "tens")]
            Tens(format::tens::$object<'a>),
        }
    };
}
pub(crate) use one_of_each;

/// Evaluates an expression for the object in an enum of [`one_of_each`].
macro_rules! dispatch {
    ($name:ident $inner:expr, $object:ident => $value:expr) => {
        match $inner {
            #[cfg(feature = "ztensor")]
            $name::Ztensor($object) => $value,
            #[cfg(feature = "blz")]
            $name::Blz($object) => $value,
            #[cfg(feature = "b2nd")]
            $name::B2nd($object) => $value,
            #[cfg(feature = "tens")]
            $name::Tens($object) => $value,
        }
    };
}
pub(crate) use dispatch;

/// The same, with the result in the variant of the same format of another enum.
macro_rules! map_each {
    ($name:ident $inner:expr, $object:ident => $to:ident $value:expr) => {
        match $inner {
            #[cfg(feature = "ztensor")]
            $name::Ztensor($object) => $to::Ztensor($value),
            #[cfg(feature = "blz")]
            $name::Blz($object) => $to::Blz($value),
            #[cfg(feature = "b2nd")]
            $name::B2nd($object) => $to::B2nd($value),
            #[cfg(feature = "tens")]
            $name::Tens($object) => $to::Tens($value),
        }
    };
}
pub(crate) use map_each;

/// How many bytes from the start of a file tell its kind.
pub(crate) const HEAD: u64 = 16;

/// What a format says of a component: where its bytes are and how to read them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) role: Text<'a>,
    /// The type of its elements; `None` where the format does not say.
    pub(crate) dtype: Option<DType>,
    /// The type that they are stored as; another one where the file states a logical type over it.
    pub(crate) storage: Option<DType>,
    pub(crate) order: ByteOrder,
    pub(crate) extent: Extent,
    pub(crate) encoding: Encoding,
    pub(crate) encoding_name: Text<'a>,
    /// How many bytes it decodes to; `None` where the file does not say.
    pub(crate) decoded_length: Option<u64>,
    /// As the file spells it.
    pub(crate) digest: Option<Text<'a>>,
    /// `Warning::tensor_bit`s.
    pub(crate) warnings: u8,
    /// Where its record stands in the file, and how far behind the start of its tensor's entry.
    pub(crate) at: u64,
    pub(crate) back: u32,
}

/// An iterator over one thing: the tensor of a file that holds one, the component of a tensor that has one.
#[cfg(any(feature = "b2nd", feature = "blz", feature = "tens"))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Single<T> {
    pub(crate) item: Option<T>,
    /// Why the iteration ended early: never, here.
    pub(crate) error: Option<Error>,
}

#[cfg(any(feature = "b2nd", feature = "blz", feature = "tens"))]
impl<T> Single<T> {
    pub(crate) const fn new(item: T) -> Self {
        Self { item: Some(item), error: None }
    }
}

#[cfg(any(feature = "b2nd", feature = "blz", feature = "tens"))]
impl<T> Iterator for Single<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.item.take()
    }
}

/// What is the same for all formats whose files hold one tensor, of no name: asks for `File` and `Tensor(File)`,
/// and for the file's `warnings` as bits.
#[cfg(any(feature = "b2nd", feature = "blz", feature = "tens"))]
macro_rules! holds_one_tensor {
    () => {
        pub(crate) type Tensors<'a> = crate::format::Single<Tensor<'a>>;

        impl<'a> File<'a> {
            pub(crate) const fn warnings(&self) -> Warnings {
                Warnings::of_bits(self.warnings)
            }

            pub(crate) const fn count(&self) -> u64 {
                1
            }

            pub(crate) const fn attributes(&self) -> Attributes<'a> {
                Attributes::NONE
            }

            pub(crate) const fn tensors(&self) -> Tensors<'a> {
                crate::format::Single::new(Tensor(*self))
            }

            pub(crate) fn find(&self, name: &[u8]) -> Result<Tensor<'a>> {
                if name.is_empty() { Ok(Tensor(*self)) } else { Err(Error::new(ErrorKind::NotFound)) }
            }

            pub(crate) const fn check_names(&self, _: &mut [u32]) -> Result<Warnings> {
                Ok(self.warnings())
            }
        }

        impl<'a> Tensor<'a> {
            pub(crate) const fn name(&self) -> crate::bytes::text::Text<'a> {
                crate::bytes::text::Text::of("")
            }

            pub(crate) const fn layout_name(&self) -> crate::bytes::text::Text<'a> {
                crate::bytes::text::Text::of(self.layout().text())
            }

            /// The first component of that role.
            pub(crate) fn part(&self, role: &[u8]) -> Result<crate::format::Part<'a>> {
                let mut all = self.components();
                let found = all.find(|part| part.role.bytes() == role);
                found.ok_or_else(|| all.error.unwrap_or(Error::new(ErrorKind::NotFound)))
            }

            pub(crate) const fn index(&self) -> u64 {
                0
            }

            pub(crate) const fn warnings(&self) -> u32 {
                self.0.warnings
            }

            pub(crate) const fn attributes(&self) -> Attributes<'a> {
                Attributes::NONE
            }

            /// No format of one tensor has indices and values in one blob, as 0.1 of zTensor does.
            pub(crate) const fn is_packed(&self) -> bool {
                false
            }
        }
    };
}
#[cfg(any(feature = "b2nd", feature = "blz", feature = "tens"))]
pub(crate) use holds_one_tensor;

/// What stands in a file where an error happened, as far as it can still be read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Context<'a> {
    /// The version that the file states.
    pub(crate) version: Option<&'a str>,
    /// The name of the tensor concerned.
    pub(crate) tensor: Option<&'a str>,
    /// The role of the component concerned.
    pub(crate) role: Option<&'a str>,
    pub(crate) offset: Option<u64>,
    pub(crate) length: Option<u64>,
    pub(crate) decoded_length: Option<u64>,
    pub(crate) encoding: Option<&'a str>,
    pub(crate) shape: Option<Shape<'a>>,
    pub(crate) dtype: Option<&'a str>,
    /// How many bytes the shape and the dtype ask for.
    pub(crate) expected_length: Option<u64>,
    /// The key or the role that is missing.
    pub(crate) missing: Option<&'a str>,
    /// The text or number at the offset of the error.
    pub(crate) text: Option<&'a str>,
    pub(crate) number: Option<u64>,
    /// What a user should know besides.
    pub(crate) hint: Option<&'static str>,
}

/// Declares the kinds of files, by the bytes they begin with.
macro_rules! magics {
    ($($magic:literal: $format:ident),* $(,)?) => {
        const MAGICS: Words = words![bytes $($magic),*];
        const FORMATS: &[Format] = &[$(Format::$format),*];
    };
}

magics! {
    b"ZTEN0001": Ztensor,
    b"ZTEN1000": Ztensor,
    b"\x89ZT2\r\n\x1a\n": Ztensor2,
    // Other formats begin with "BLZ1", too: version and dtype tell most of them, its tables the rest.
    b"BLZ1\x01\x00": Blz,
    b"BLZ1\x01\x01": Blz,
    b"TENS": Tens,
    b"b2frame\0": B2nd,
    b"GGUF": Gguf,
    b"\x93NUMPY": Npy,
    b"PK\x03\x04": Zip,
    b"\x89HDF\r\n\x1a\n": Hdf5,
    b"\x28\xb5\x2f\xfd": Zstd,
    b"\x1f\x8b": Gzip,
}

/// The format whose magic `head` has; or, where a file was `cut`, the start of whose magic it is.
#[inline(never)]
fn of_magic(head: &[u8], cut: bool) -> Format {
    let mut formats = FORMATS.iter();
    for magic in MAGICS {
        let Some(&format) = formats.next() else { break };
        let at = if format == Format::B2nd { 2 } else { 0 };
        let is_it = if cut {
            at == 0 && magic.starts_with(head)
        } else {
            head.get(at..).is_some_and(|rest| rest.starts_with(magic))
        };
        if is_it {
            return format;
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
        let room = length.saturating_sub(8);
        if rest.first() == Some(&b'{') && u64::from_le_bytes(*size) <= room {
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
        Format::Ztensor | Format::Blz | Format::Tens | Format::B2nd => (ErrorKind::NotBuiltIn, format, Item::File),
        Format::Unknown => match of_magic(head, true) {
            Format::Unknown => (ErrorKind::UnknownFormat, format, Item::File),
            // A start of one of our own magics, and nothing behind it: the file was cut off.
            cut => (ErrorKind::Truncated, cut, Item::Header),
        },
        _ => (ErrorKind::UnsupportedFormat, format, Item::File),
    };
    Error::at(kind, format, item, 0)
}
