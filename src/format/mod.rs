//! The formats, and what each of them gives to the common view.
//!
//! Depends on `place`, `error`, `bytes`, `vocab`, `shape`, `codec`. The formats never import each other. To add one
//! takes its folder, a `mod` line, a line in the table of [`formats`] and a feature in Cargo.toml, which `formats`
//! there lists. Each is a module of the same shape:
//!
//! - `open(opening)` checks the whole structure in one pass and gives the format's `File`, or stops and says which
//!   bytes it needs first. Where files hold many tensors it has two halves, so that the file is read where it stands:
//!   `begin(opening)`, then `File::read()`;
//! - `File` has `tensors()`, `find()`, `warnings()`, …, `Tensors` goes through them, `Tensor` is one of them: `name()`,
//!   `dtype()`, `shape()`, …; `Tensor::components()` goes through its [`Part`]s. All are read into an unread one of the
//!   caller's. Where files hold one tensor alone, `File` says in [`single::OneTensor`] what that tensor is, and
//!   [`single`] has the rest, once for all such formats;
//! - `context(input, error)` reads again, for the sentence of an error, what stands where it happened.
//!
//! A `File`, a `Tensor` are positions in the bytes, parsed on demand by the code that checked them.
#![forbid(unsafe_code)]

#[cfg(feature = "b2nd")]
pub mod b2nd;
#[cfg(feature = "blz")]
pub mod blz;
#[cfg(any(feature = "b2nd", feature = "blz", feature = "tens"))]
pub(crate) mod single;
#[cfg(feature = "tens")]
pub mod tens;
#[cfg(feature = "ztensor")]
pub mod ztensor;

use crate::bytes::extent::Extent;
use crate::bytes::source::Input;
use crate::bytes::text::Text;
use crate::bytes::words::{Words, words};
use crate::error::{Error, ErrorKind};
use crate::place::{Format, Item};
use crate::shape::Shape;
use crate::vocab::{ByteOrder, DType, Encoding};

/// The table of the formats: those whose files hold several tensors, and those of one tensor alone. A line has the
/// feature, the name in [`Format`], the module, the bytes that a file begins with (and behind how many others), and what
/// only that format has, as [`File`](crate::File) gives it.
///
/// `formats!(name! arguments)` calls the macro `name` with the arguments and the table: all that goes through the formats is
/// made that way, so that a format is a line here, a `mod` line above and a feature.
macro_rules! formats {
    ($name:ident! $($arguments:tt)*) => {
        $name! {
            ($($arguments)*)
            several {
                "ztensor" Ztensor ztensor [0 b"ZTEN0001", 0 b"ZTEN1000"]
                    as_ztensor "What only zTensor files have; `None` for the others.";
            }
            one {
                // Other formats begin with "BLZ1", too: version and dtype tell most of them, its tables the rest.
                "blz" Blz blz [0 b"BLZ1\x01\x00", 0 b"BLZ1\x01\x01"]
                    as_blz "What only BLZ files have; `None` for the others.";
                "tens" Tens tens [0 b"TENS"]
                    as_tens "What only TENS files have; `None` for the others.";
                "b2nd" B2nd b2nd [2 b"b2frame\0"]
                    as_b2nd "What only Blosc2 frames have, and reading parts of their arrays; `None` for the others.";
            }
        }
    };
}
pub(crate) use formats;

/// What goes through the enums that [`one_of_each`] declares: `Single` stands for all formats of one tensor.
macro_rules! each {
    (
        ($d:tt)
        several { $($feature:literal $variant:ident $module:ident $magics:tt $as:ident $doc:literal;)* }
        one { $($single:literal $of_one:ident $one:ident $magics_of_one:tt $as_one:ident $doc_of_one:literal;)* }
    ) => {
        /// Declares an enum of what each format calls `$object`, and how to ask whichever it is.
        macro_rules! one_of_each {
            ($d(#[$d meta:meta])* $d visible:vis $d name:ident of $d object:ident) => {
                $d(#[$d meta])*
                #[derive(Clone, Copy, Debug)]
                $d visible enum $d name<'a> {
                    $(#[cfg(feature = $feature)] $variant(crate::format::$module::$d object<'a>),)*
                    #[cfg(any($(feature = $single),*))]
                    Single(crate::format::single::$d object<'a>),
                }
            };
        }

        /// Evaluates an expression for the object in an enum of [`one_of_each`].
        macro_rules! dispatch {
            ($d name:ident $d inner:expr, $d object:ident => $d value:expr) => {
                match $d inner {
                    $(#[cfg(feature = $feature)] $d name::$variant($d object) => $d value,)*
                    #[cfg(any($(feature = $single),*))]
                    $d name::Single($d object) => $d value,
                }
            };
        }

        /// Like [`dispatch`], with the result in the variant of the same format of another enum.
        macro_rules! map_each {
            ($d name:ident $d inner:expr, $d object:ident => $d to:ident $d value:expr) => {
                match $d inner {
                    $(#[cfg(feature = $feature)] $d name::$variant($d object) => $d to::$variant($d value),)*
                    #[cfg(any($(feature = $single),*))]
                    $d name::Single($d object) => $d to::Single($d value),
                }
            };
        }

        /// Evaluates an expression for the objects in two such enums; `None` where they are of different formats.
        macro_rules! map_both {
            ($d name:ident $d inner:expr, $d other:ident $d outer:expr, $d object:ident $d with:ident => $d value:expr) => {
                match ($d inner, $d outer) {
                    $(
                        #[cfg(feature = $feature)]
                        ($d name::$variant($d object), $d other::$variant($d with)) => Some($d value),
                    )*
                    #[cfg(any($(feature = $single),*))]
                    ($d name::Single($d object), $d other::Single($d with)) => Some($d value),
                    #[allow(unreachable_patterns)] // in a build with one format
                    _ => None,
                }
            };
        }

        pub(crate) use {dispatch, map_both, map_each, one_of_each};
    };
}
formats!(each! $);

/// How many bytes from the start of a file tell its kind.
pub(crate) const HEAD: u64 = 16;

/// What a format says of a component: where its bytes are and how to read them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    /// Its role, which has its number behind it where there is one: `core` and 7 are `core.7`, a text that stands in no
    /// file.
    pub(crate) role: Text<'a>,
    #[cfg(feature = "blz")]
    pub(crate) number: Option<u8>,
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

impl<'a> Part<'a> {
    /// A component of raw little-endian bytes, of which nothing has been read yet.
    #[inline(never)] // once: it is large
    pub(crate) fn unread() -> Self {
        Self::recorded_at(0, 0)
    }

    /// The same with its record at `at`. (As a constant it would stand in flash, to be copied.)
    #[inline]
    fn recorded_at(at: u64, back: u32) -> Self {
        Self {
            role: Text::of("data"),
            #[cfg(feature = "blz")]
            number: None,
            dtype: None,
            storage: None,
            order: ByteOrder::Little,
            extent: Extent::new(0, 0),
            encoding: Encoding::Raw,
            encoding_name: Text::of("raw"),
            decoded_length: None,
            digest: None,
            warnings: 0,
            at,
            back,
        }
    }

    /// Makes it one of which nothing is known yet but where its record is.
    #[inline(never)] // once, and where it stands
    pub(crate) fn begin(&mut self, at: u64, back: u32) {
        *self = Self::recorded_at(at, back);
    }

    /// Gives it the place of its bytes, which are stored as they are. It has no record of its own: they stand for it.
    #[cfg(any(feature = "b2nd", feature = "blz", feature = "tens"))]
    pub(crate) fn set_place(&mut self, extent: Extent) {
        self.extent = extent;
        self.decoded_length = Some(extent.length);
        self.at = extent.offset;
    }

    /// Its role as a text.
    pub(crate) fn role(&self) -> Text<'a> {
        #[cfg(feature = "blz")]
        if let Some(number) = self.number {
            return Text::of(blz::role(number));
        }
        self.role
    }

    /// Whether it is of that role.
    pub(crate) fn is_of(&self, role: &[u8]) -> bool {
        #[cfg(feature = "blz")]
        if let Some(number) = self.number {
            return is_numbered(role, self.role.bytes(), number);
        }
        self.role.bytes() == role
    }
}

/// Whether `role` is `word` with that number behind a dot.
#[cfg(feature = "blz")]
fn is_numbered(role: &[u8], word: &[u8], number: u8) -> bool {
    let digits = role.strip_prefix(word).and_then(|rest| rest.strip_prefix(b"."));
    let Some(digits @ ([b'0'] | [b'1'..=b'9', ..])) = digits else { return false };
    let value = digits.iter().try_fold(0_u32, |value, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then(|| value.saturating_mul(10).saturating_add(u32::from(digit)))
    });
    value == Some(u32::from(number))
}

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

/// The kinds of files, by the bytes they begin with: those that are read, and those that are only named.
macro_rules! magics {
    (
        ()
        several { $($feature:literal $variant:ident $module:ident [$($at:literal $magic:literal),*] $as:ident $doc:literal;)* }
        one { $($single:literal $of_one:ident $one:ident [$($at_one:literal $of:literal),*] $as_one:ident $doc_of_one:literal;)* }
    ) => {
        const MAGICS: Words = words![bytes
            $($($magic => Format::$variant.code(),)*)*
            $($($of => Format::$of_one.code(),)*)*
            b"\x89ZT2\r\n\x1a\n" => Format::Ztensor2.code(),
            b"GGUF" => Format::Gguf.code(),
            b"\x93NUMPY" => Format::Npy.code(),
            b"PK\x03\x04" => Format::Zip.code(),
            b"\x89HDF\r\n\x1a\n" => Format::Hdf5.code(),
            b"\x28\xb5\x2f\xfd" => Format::Zstd.code(),
            b"\x1f\x8b" => Format::Gzip.code(),
        ];

        /// Behind how many bytes the magic of a format stands, by its code.
        fn magic_at(format: u8) -> usize {
            let mut at = 0;
            $($(if $at > 0 && format == Format::$variant.code() { at = $at; })*)*
            $($(if $at_one > 0 && format == Format::$of_one.code() { at = $at_one; })*)*
            at
        }

        /// Whether there is a module that reads such files, built in or not.
        fn is_read(format: Format) -> bool {
            matches!(format, $(Format::$variant)|* | $(Format::$of_one)|*)
        }
    };
}
formats!(magics!);

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

#[cfg(all(test, feature = "blz"))]
mod tests {
    use std::format;

    use super::{Part, Text};

    #[test]
    fn numbered_roles() {
        let of = |number| Part { role: Text::of("core"), number: Some(number), ..Part::unread() };
        for number in 0..=u8::MAX {
            let part = of(number);
            assert!(part.is_of(part.role().bytes()), "{number}");
            let others = ["core", "core.", "data", "core.256", "core.-1", "core.+1", "core.1 ", "core.4294967296"];
            let others = others.into_iter().map(str::as_bytes);
            assert!(!others.into_iter().any(|role| part.is_of(role)), "{number}");
            for role in [format!("core.0{number}"), format!("core.{number}0"), format!("Core.{number}")] {
                let is_another = part.is_of(role.as_bytes()) && role != format!("core.{number}");
                assert!(!is_another, "{number} {role}");
            }
        }
    }
}
