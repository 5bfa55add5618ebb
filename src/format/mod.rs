//! The formats, and the interface between them and the format-independent API.
//!
//! The formats never import each other. A new format needs a folder, a `mod` line, a line in the table of [`formats`],
//! and a feature in Cargo.toml that is listed in `formats` there: `cargo run -p xtask -- new-format NAME` writes them.
//! The folder defines a type that represents a file of the format and implements [`FileFormat`], with the two traits
//! that it requires: `contract` explains them.
//!
//! A file is stored as positions in its bytes. The code that checked the bytes also parses them on demand. Errors are
//! reported in three ways, each used where it takes the least code on a microcontroller. Functions that run while a
//! file is opened return [`ParseResult`]: the [`ParseContext`] keeps the error, and also knows which bytes are missing.
//! A reader of nested records keeps its first fault, and its caller asks for the fault once at the end. Everything
//! else returns [`Result`].
#![forbid(unsafe_code)]

#[cfg(feature = "b2nd")]
pub mod b2nd;
#[cfg(feature = "blz")]
pub mod blz;
mod contract;
#[cfg(feature = "gguf")]
pub mod gguf;
#[cfg(feature = "npy")]
pub mod npy;
#[cfg(feature = "npz")]
pub mod npz;
mod name;
#[cfg(not(target_os = "none"))]
mod other;
#[cfg(feature = "ptd")]
pub mod ptd;
mod record;
#[cfg(feature = "onnx")]
pub mod onnx;
#[cfg(feature = "pytorch")]
pub mod pytorch;
#[cfg(feature = "safetensors")]
pub mod safetensors;
#[cfg(feature = "safetensors")]
mod json_str;
#[cfg(feature = "tens")]
pub mod tens;
#[cfg(feature = "tflite")]
pub mod tflite;
#[cfg(feature = "ztensor")]
pub mod ztensor;
mod wanted;
#[cfg(feature = "write")]
mod write;
#[cfg(feature = "ztensor2")]
pub mod ztensor2;

pub(crate) use contract::{Computed, FileFormat, NamedTensors};
#[allow(unused_imports)] // depends on the formats that are built in
pub(crate) use contract::{OneTensor, StoredElements};
#[cfg(feature = "safetensors")]
pub(crate) use json_str::JsonStr;
pub(crate) use name::{Name, Named};
#[cfg(feature = "ztensor2")]
#[allow(unused_imports)] // unused if zTensor 2 is the only format built in
pub(crate) use record::Contents;
#[cfg(all(feature = "tflite", feature = "dequantize"))]
pub(crate) use record::Quantization;
pub(crate) use record::{
    ComponentCursor, ComponentRecord, Context, Cursor, ListedShard, Stated, Summary, TensorRecord,
};
pub use record::{Described, Split};
pub(crate) use wanted::Wanted;

#[cfg(feature = "write")]
#[allow(unused_imports)] // depends on the formats that are built in
pub(crate) use write::{
    FormatWriter, Place, Stage, check_attributes, check_single, check_sorted, each_attribute_sorted, each_sorted,
    writer_of,
};

use crate::bytes::extent::Extent;
use crate::bytes::keywords::{Keywords, keywords};
use crate::bytes::source::{Input, ParseContext, ParseResult, Source};
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind, Result};

/// The table of formats. A line has the feature, the name in [`Format`], the module, the type that represents a file,
/// the magics (each after its offset), and the accessor of [`File`](crate::File) that returns that type, with its
/// documentation.
///
/// `formats!(name! arguments)` calls the macro `name` with the arguments and the table. All code that covers every
/// format is generated this way: a new format needs only a line here, a `mod` line above and a feature.
macro_rules! formats {
    ($name:ident! $($arguments:tt)*) => {
        $name! {
            ($($arguments)*)
            // Magics are compared in this order.
            "ztensor" Ztensor ztensor::ZtensorFile [0 b"ZTEN1000", 0 b"ZTEN0001"]
                as_ztensor "Returns the zTensor-specific view; `None` for a file of another format.";
            "tens" Tens tens::TensFile [0 b"TENS"]
                as_tens "Returns the TENS-specific view; `None` for a file of another format.";
            // Other formats also begin with "BLZ1". The version and dtype rule out most of them, the check of the
            // tables the rest.
            "blz" Blz blz::BlzFile [0 b"BLZ1\x01\x00", 0 b"BLZ1\x01\x01"]
                as_blz "Returns the BLZ-specific view; `None` for a file of another format.";
            "ztensor2" Ztensor2 ztensor2::Ztensor2File [0 b"\x89ZT2\r\n\x1a\n"]
                as_ztensor2 "Returns the view specific to zTensor 2; `None` for a file of another format.";
            "npy" Npy npy::NpyFile [0 b"\x93NUMPY"]
                as_npy "Returns the NPY-specific view; `None` for a file of another format.";
            "npz" Npz npz::NpzFile [0 b"PK\x03\x04", 0 b"PK\x05\x06"]
                as_npz "Returns the NPZ-specific view; `None` for a file of another format.";
            // No magic: `detect` uses the header length and the header's first byte.
            "safetensors" Safetensors safetensors::SafetensorsFile []
                as_safetensors "Returns the safetensors-specific view; `None` for a file of another format.";
            "b2nd" B2nd b2nd::Frame [2 b"b2frame\0"]
                as_b2nd "Returns the Blosc2-specific view, which reads regions; `None` for a file of another format.";
            "gguf" Gguf gguf::GgufFile [0 b"GGUF"]
                as_gguf "Returns the GGUF-specific view; `None` for a file of another format.";
            // An archive, as NPZ is, or a pickle: `AnyFile::open` and `detect` tell.
            "pytorch" Pytorch pytorch::PytorchFile []
                as_pytorch "Returns the view specific to PyTorch; `None` for a file of another format.";
            // No magic: `AnyFile::open` walks the fields of a file that no other format has taken.
            "onnx" Onnx onnx::OnnxFile []
                as_onnx "Returns the view specific to ONNX; `None` for a file of another format.";
            "tflite" Tflite tflite::TfliteFile [4 b"TFL3"]
                as_tflite "Returns the view specific to TFLite; `None` for a file of another format.";
            "ptd" Ptd ptd::PtdFile [4 b"FT01"]
                as_ptd "Returns the view specific to ExecuTorch; `None` for a file of another format.";
        }
    };
}
pub(crate) use formats;

/// The code generated from the table: the type that represents a file of any format, and the function that opens one.
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

        /// Evaluates an expression for the file in an [`AnyFile`], whatever its format.
        macro_rules! dispatch {
            ($d any:expr, $d file:ident => $d value:expr) => {
                match $d any {
                    $(#[cfg(feature = $feature)] crate::format::AnyFile::$variant($d file) => $d value,)*
                }
            };
        }
        pub(crate) use dispatch;

        impl<'a> AnyFile<'a> {
            /// Opens a file. Its first bytes determine the format, which must be built in.
            #[inline]
            pub(crate) fn open(opening: &ParseContext<'a>) -> ParseResult<Self> {
                let length = opening.input.length();
                let head = opening.keep(Extent::new(0, length.min(HEAD)))?;
                let format = detect(head);
                #[cfg(feature = "pytorch")]
                let is_checkpoint = format == Format::Npz && pytorch::is_checkpoint(opening)?;
                #[cfg(feature = "pytorch")]
                let format = if is_checkpoint { Format::Pytorch } else { format };
                #[cfg(feature = "onnx")]
                let is_model = format == Format::Unknown && onnx::is_model(opening)?;
                #[cfg(feature = "onnx")]
                let format = if is_model { Format::Onnx } else { format };
                Ok(match format {
                    $(#[cfg(feature = $feature)] Format::$variant => Self::$variant($module::$file::open(opening)?),)*
                    format => {
                        #[cfg(not(target_os = "none"))]
                        if format == Format::Unknown {
                            opening.keep(Extent::new(0, length.min(other::START)))?;
                        }
                        return Err(opening.stop(not_read(head, format)));
                    }
                })
            }

            /// Lists ranges that [`open`](Self::open) is going to request.
            pub(crate) fn wanted(input: Input<'a>, wanted: &mut Wanted<'_>) {
                let head = input.get(Extent::new(0, input.length().min(HEAD)));
                let format = detect(head.unwrap_or_default());
                #[cfg(feature = "pytorch")]
                let is_checkpoint =
                    format == Format::Npz && pytorch::is_checkpoint(&ParseContext::of(input)).unwrap_or(false);
                #[cfg(feature = "pytorch")]
                let format = if is_checkpoint { Format::Pytorch } else { format };
                match format {
                    $(#[cfg(feature = $feature)] Format::$variant => $module::$file::wanted(input, wanted),)*
                    _ => {}
                }
            }

            /// Returns the same file, with the bytes of `source`. Fails if the source describes a file of another
            /// length.
            pub(crate) fn with_source(mut self, source: &'a Source<'_>) -> Result<Self> {
                let length = dispatch!(&self, file => file.input()).length();
                if length != source.length() {
                    return Err(Error::new(ErrorKind::InvalidArgument));
                }
                dispatch!(&mut self, file => *file = file.with_input(source.into()));
                Ok(self)
            }

            /// The format.
            pub(crate) const fn format(&self) -> Format {
                match self {
                    $(#[cfg(feature = $feature)] Self::$variant(_) => Format::$variant,)*
                }
            }
        }

        /// True if any built-in format has dense tensors.
        pub(crate) const HAS_DENSE: bool = {
            let mut any = false;
            $(#[cfg(feature = $feature)] { any |= <$module::$file<'_> as FileFormat<'_>>::HAS_DENSE; })*
            any
        };

        /// True if any built-in format has sparse tensors.
        pub(crate) const HAS_SPARSE: bool = {
            let mut any = false;
            $(#[cfg(feature = $feature)] { any |= <$module::$file<'_> as FileFormat<'_>>::HAS_SPARSE; })*
            any
        };

        /// Describes the place in the file where an error occurred, if the format of the error is built in.
        pub(crate) fn context<'a>(input: Input<'a>, error: &Error) -> Context<'a> {
            let hint = match error.format() {
                $(#[cfg(feature = $feature)] Format::$variant => return $module::$file::context(input, error),)*
                #[cfg(feature = "safetensors")]
                Format::SafetensorsIndex => return safetensors::Index::context(input, error),
                Format::Unknown if error.kind() == ErrorKind::UnknownFormat => hint_of_unknown(input),
                Format::Zip => Some("no entry of the archive is an array"),
                _ => None,
            };
            Context { hint, ..Context::default() }.of_other(input, error)
        }

        /// The advice to build with the feature that a format needs.
        #[cfg(not(target_os = "none"))]
        pub(crate) const fn feature(format: Format) -> Option<&'static str> {
            match format {
                $(Format::$variant => Some(concat!("build with the feature `", $feature, "`")),)*
                _ => None,
            }
        }

        /// The magics of all known kinds of files, including those that are only recognized to report a better error.
        const MAGICS: Keywords = keywords![bytes
            $($($magic => Format::$variant.code(),)*)*
            b"\x89HDF\r\n\x1a\n" => Format::Hdf5.code(),
            b"\x28\xb5\x2f\xfd" => Format::Zstd.code(),
            b"\x1f\x8b\x08" => Format::Gzip.code(),
        ];

        /// The offset of the magic of a format, by the format's code.
        fn magic_at(format: u8) -> usize {
            let mut at = 0;
            $($(if $at > 0 && format == Format::$variant.code() { at = $at; })*)*
            at
        }

        /// True if this library can read such files, in this build or another.
        fn is_read(format: Format) -> bool {
            matches!(format, $(Format::$variant)|*)
        }
    };
}
formats!(any_file! $);

/// The number of bytes at the start of a file that determine its kind.
pub(crate) const HEAD: u64 = 16;

/// Returns the format whose magic is in `head`. If the file was `cut`, returns the format whose magic begins with
/// `head`.
#[inline(never)]
fn of_magic(head: &[u8], cut: bool) -> Format {
    for (magic, format) in MAGICS {
        let at = magic_at(format);
        // Most magics differ in the first byte. Comparing it here saves the longer call that compares the rest.
        if cfg!(not(small)) && !cut && head.get(at) != magic.first() {
            continue;
        }
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

/// True if a file begins like a stream of PyTorch: with a pickle of an integer. From protocol 4 on, the length of a frame
/// precedes it.
#[cfg(feature = "pytorch")]
fn is_pytorch_stream(head: &[u8]) -> bool {
    let [0x80, 2..=5, rest @ ..] = head else { return false };
    let framed = match rest {
        [0x95, length @ ..] if length.iter().skip(1).take(7).any(|byte| *byte != 0) => return false, // not a number
        [0x95, length @ ..] => Some(length.get(8..).unwrap_or_default()),
        _ => None,
    };
    // INT, BININT, BININT1, BININT2, LONG1, LONG4. A cut file may end before.
    framed.unwrap_or(rest).first().is_none_or(|code| b"IJKM\x8a\x8b".contains(code))
}

/// Detects the kind of a file from `head`: its first [`HEAD`] bytes, or all of them.
#[cfg_attr(small, inline(always))] // most programs for a chip call it once
pub(crate) fn detect(head: &[u8]) -> Format {
    let is_host = cfg!(not(small));
    // safetensors has no magic: the file starts with the length of a JSON object, then the object. This test detects
    // nearly all such files without comparing magics. Read as a length, every magic is larger, except those of gzip and
    // ZIP, for which the rule below gives the same result.
    if is_host && matches!(head, [_, _, _, 0..=7, 0, 0, 0, 0, b'{', ..]) {
        return Format::Safetensors;
    }
    // Comparing all magics takes a tenth of the time that a GGUF file with one tensor takes to open.
    if is_host && matches!(head, [b'G', b'G', b'U', b'F', ..]) {
        return Format::Gguf;
    }
    let format = of_magic(head, false);
    #[cfg(feature = "pytorch")]
    if format == Format::Unknown && is_pytorch_stream(head) {
        return Format::Pytorch;
    }
    let most = match format {
        // The file may be truncated, so its length is no limit. In a length below this bound, bytes 5 to 7 are zeros,
        // which are not in the first bytes of any text.
        Format::Unknown => 1 << 40,
        // The magic of gzip or ZIP may be the length of a header, although one too large for chips. Four zeros follow
        // in such a length. In a ZIP archive, one of these bytes is the version needed to extract the entry, at least
        // 1.0, stored as 10 (APPNOTE 4.4.3). gzip has no `{` as byte 8.
        Format::Gzip | Format::Npz if is_host => 1 << 32,
        _ => return format,
    };
    match head.split_first_chunk::<8>() {
        Some((length, [b'{', ..])) if u64::from_le_bytes(*length) < most => Format::Safetensors,
        _ => format,
    }
}

impl Context<'_> {
    /// Adds a description of the file, if its first bytes reveal what it is.
    #[cfg(not(target_os = "none"))]
    fn of_other(self, input: Input<'_>, error: &Error) -> Self {
        let phrase = match (error.format(), error.kind()) {
            (Format::Unknown, ErrorKind::UnknownFormat) => other::describe(input),
            (Format::Unknown, ErrorKind::Truncated) if input.length() == 0 => Some(other::EMPTY),
            (Format::Zip, ErrorKind::UnsupportedFormat) => other::describe_archive(input),
            (format, _) => return Self { hint: other::advice(format).or(self.hint), ..self },
        };
        Self { hint: self.hint.filter(|_| phrase.is_none()), phrase, ..self }
    }

    /// Does nothing: programs for chips omit these messages.
    #[cfg(target_os = "none")]
    const fn of_other(self, _: Input<'_>, _: &Error) -> Self {
        self
    }
}

/// Returns the file offset of the component that an error points to, and the lane size of its elements. Returns `None`
/// for a component in a shard.
#[cfg(not(target_os = "none"))]
pub(crate) fn elements_at(input: Input<'_>, error: &Error) -> Option<(u64, usize)> {
    let mut file = AnyFile::open(&ParseContext::of(input)).ok()?;
    dispatch!(&mut file, file => file.read(&mut Summary::default())).ok()?;
    dispatch!(&file, file => elements_in(file, error.offset()?))
}

#[cfg(not(target_os = "none"))]
fn elements_in<'a, F: FileFormat<'a>>(file: &F, at: u64) -> Option<(u64, usize)> {
    let mut tensors = Cursor::START;
    loop {
        let mut tensor = TensorRecord::blank();
        if !file.next_tensor(&mut tensors, &mut tensor).ok()? {
            return None;
        }
        let (mut components, mut part) = (Cursor::START, ComponentRecord::blank());
        while file.next_component(&tensor, &mut components, &mut part).ok()? {
            if part.at == at {
                #[cfg(any(feature = "ztensor2", feature = "onnx"))]
                if part.shard.is_some() {
                    return None;
                }
                return Some((part.extent.offset, part.dtype?.lane_size()));
            }
        }
    }
}

/// A hint for the user of a file in an unknown format.
fn hint_of_unknown(input: Input<'_>) -> Option<&'static str> {
    match input.get(Extent::new(0, HEAD.min(input.length()))) {
        Some([b'B', b'L', b'Z', b'1', ..]) => {
            Some("it begins like a BLZ1 tensor train, but not like one of version 1 in f64 or c128")
        }
        Some([_, _, _, _, _, _, 0, 0, b' ' | b'\t' | b'\n' | b'\r', ..]) => {
            Some("if this is safetensors: its header must begin with `{`, without white space before it")
        }
        _ => None,
    }
}

/// The error for a file that begins with `head` and cannot be read.
#[cold]
#[inline(never)]
pub(crate) fn not_read(head: &[u8], format: Format) -> Error {
    let (kind, format, item) = match format {
        _ if head.is_empty() => (ErrorKind::Truncated, Format::Unknown, Part::File),
        format if is_read(format) => (ErrorKind::NotBuiltIn, format, Part::File),
        Format::Unknown => match of_magic(head, true) {
            Format::Unknown => (ErrorKind::UnknownFormat, format, Part::File),
            // The file ends within one of our own magics: it was truncated.
            cut => (ErrorKind::Truncated, cut, Part::Header),
        },
        _ => (ErrorKind::UnsupportedFormat, format, Part::File),
    };
    Error::at(kind, format, item, 0)
}
