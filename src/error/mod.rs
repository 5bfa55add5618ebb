//! Errors: 16 bytes, `Copy`, without strings, and the same in every build.
#![forbid(unsafe_code)]

pub(crate) mod abi_enum;
pub(crate) mod origin;
pub(crate) mod warning;

use core::fmt;

use crate::error::abi_enum::abi_enum;
use crate::error::origin::{Format, Part};

/// The result of every fallible call.
pub type Result<T> = core::result::Result<T, Error>;

/// The parts of a message besides the text of its kind, packed in a byte.
#[derive(Clone, Copy)]
pub(crate) struct Shown(u8);

impl Shown {
    const PART: u8 = 0x80;
    const ALONE: u8 = 0;

    const fn new(part: u8, detail: Detail) -> Self {
        #[allow(clippy::as_conversions)] // the discriminant of a fieldless enum
        Self(part | detail as u8)
    }

    /// Returns whether the part precedes the text; `false` if the text already mentions it.
    pub(crate) const fn has_part(self) -> bool {
        self.0 & Self::PART != 0
    }

    pub(crate) fn detail(self) -> Detail {
        let mut details = Detail::ALL.into_iter();
        details.nth(usize::from(self.0 & !Self::PART)).unwrap_or(Detail::Nothing)
    }
}

/// The details in a message besides the text of its kind, if they are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    Nothing,
    /// Offset and length, before the text.
    Place,
    /// Lengths, shape and dtype.
    Sizes,
    Encoding,
    /// The name of the missing component or key.
    Missing,
    /// The string or the number found.
    Found,
    /// The number found, a size, compared with the size of the file.
    FileSize,
}

impl Detail {
    const ALL: [Self; 7] =
        [Self::Nothing, Self::Place, Self::Sizes, Self::Encoding, Self::Missing, Self::Found, Self::FileSize];
}

/// Declares the kinds as `pinned` does. A kind may state which parts its message has besides its text; the default is
/// the part.
macro_rules! kinds {
    (shown) => { Shown::new(Shown::PART, Detail::Nothing) };
    (shown $part:ident $detail:ident) => { Shown::new(Shown::$part, Detail::$detail) };
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $code:literal, $text:literal $(, $part:ident $detail:ident)?;)* }) => {
        abi_enum! {
            $(#[$meta])*
            $name: u16 { $($variant = $code, $text;)* }
        }

        impl $name {
            /// Returns the parts of the message besides the text.
            pub(crate) fn shown(self) -> Shown {
                static SHOWN: [Shown; $name::ALL.len()] = [$(kinds!(shown $($part $detail)?)),*];
                SHOWN.get(self.place()).copied().unwrap_or(kinds!(shown))
            }
        }
    };
}

/// Declares all kinds, with those of the writer as arguments.
macro_rules! all_kinds {
    ($($of_writing:tt)*) => {
        kinds! {
            /// The kind of an error: the rule that was broken, or the request that could not be fulfilled.
            ///
            /// 1xx: the caller's mistake; 2xx: the file is malformed; 3xx: unsupported or not built in; 4xx: the data is
            /// invalid; 5xx: a buffer is too small.
            ErrorKind {
                InvalidArgument = 100, "an argument is NULL, too large or otherwise invalid";
                InvalidHandle = 101, "the handle is of another kind than this call takes, or uninitialized";
                NotFound = 102, "the file has nothing with that name or at that position";
                WrongType = 103, "the elements are not of the requested type";
                Misaligned = 104, "the bytes are not aligned for the requested type";
                ForeignEndian = 105, "the elements are stored in the other byte order";
                NotDense = 106, "the tensor is not a single dense array";
                NotInMemory = 107, "the bytes are in none of the segments added";
                WrongLength = 108, "the bytes supplied are not as long as the component";
                Encoded = 109, "the component is stored encoded", PART Encoding;
                WrongRank = 110, "the number of indices differs from the number of dimensions";
                NoSuchElement = 111, "an index is outside its dimension, or a region ends before it begins";
                InShard = 112, "the bytes are in another file, a shard";
                NotInShard = 113, "the bytes are in the file itself, not in a shard";
                WrongShape = 114, "the tensor is of another shape than requested";
                WrongOrder = 115, "the elements are in another order than requested";
                $($of_writing)*

                Truncated = 200, "unexpected end of input", PART FileSize;
                ManifestSize = 201, "the manifest does not fit between header and footer", ALONE FileSize;
                Malformed = 202, "the metadata is not well-formed";
                TrailingBytes = 203, "bytes follow the end of the metadata";
                UnexpectedType = 204, "the value is of the wrong type", PART Found;
                ChunkedText = 205, "the text string is in chunks; it must be in one piece";
                InvalidUtf8 = 206, "the text is not valid UTF-8";
                CountTooLarge = 207, "the item count exceeds the bytes left", PART Found;
                MissingKey = 208, "a required key is missing", ALONE Missing;
                RepeatedKey = 209, "a key appears twice", ALONE Found;
                RepeatedName = 210, "a tensor name appears twice", ALONE Found;
                InvalidVersion = 211, "the version is not in the form MAJOR.MINOR", ALONE Found;
                UnknownDType = 212, "the dtype is not defined in this format version", ALONE Found;
                InvalidByteOrder = 213, "the byte order is neither little nor big", PART Found;
                TypeMismatch = 214, "the logical type cannot be stored in this dtype", PART Found;
                ShapeOverflow = 215, "the product of the shape, in bytes, exceeds 64 bits", ALONE Sizes;
                OutOfFile = 216, "offset + length exceeds the file size", ALONE Place;
                OverHeader = 217, "the bytes overlap the header", ALONE Place;
                OverManifest = 218, "the bytes overlap the manifest", ALONE Place;
                SizeMismatch = 219, "the length does not match the shape and the dtype", ALONE Sizes;
                PartialElement = 220, "the length is not a multiple of the element size", ALONE Sizes;
                MissingComponent = 221, "the layout lacks a component that it requires", ALONE Missing;
                RankMismatch = 222, "the layout does not allow this rank";
                IndexType = 223, "the index component is not of an integer type";
                CountMismatch = 224, "the index component has a wrong number of elements for the layout", PART Sizes;
                NumberType = 225, "the format has no numbers of this type and width", ALONE Found;
                NumberCount = 226, "an element must have 1, 2, 4 or 8 lanes", ALONE Found;
                UnknownFlags = 227, "flags are set that the format does not define", ALONE Found;
                ChunkSize = 228, "a chunk cannot have this size", ALONE Found;
                MissingData = 229, "there is no data", ALONE Nothing;
                UnexpectedData = 230, "the data is not stored as the header states", ALONE Nothing;
                UnknownIndexName = 231, "a symmetry names an index that the tensor does not have", ALONE Nothing;
                NotPermutation = 232, "a symmetry does not permute indices of equal lengths", ALONE Nothing;
                TooManyPairs = 233, "the pair count exceeds the elements of the tensor", ALONE Found;
                BoundaryRank = 234, "the first and the last bond dimension must be 1", ALONE Found;
                ZeroLength = 235, "a length is 0 but must not be";
                WrongMarker = 236, "a value of another type is expected here", PART Found;
                OutOfPlace = 237, "the position is outside the part of the file that it must be in";
                FrameLengths = 238, "header, chunks and trailer do not fit in the frame", ALONE Nothing;
                ChunkGrid = 239, "the chunks do not add up to the shape";
                BlockShape = 240, "chunks and blocks must not be empty, nor a block exceed its chunk";
                SpecialChunk = 241, "there is no such special chunk, or it is not a whole number of its values", ALONE Nothing;
                InvalidRun = 242, "a run of equal bytes is not encoded as one";
                UnevenSplit = 243, "a block is split into streams of different lengths", ALONE Nothing;
                NegativeLength = 244, "a length is negative";
                CountsDiffer = 245, "two counts of the same thing differ";
                TooMany = 246, "there are more than the format allows";
                HeadersDiffer = 247, "two records of the same thing differ";
                Overlap = 248, "the bytes of two entries overlap", ALONE Nothing;
                InvalidName = 249, "a name contains a character that is not allowed", PART Found;
                UnclaimedBytes = 250, "bytes of the file belong to no tensor";
                InvalidAlignment = 251, "the format does not allow this alignment";
                InvalidOffset = 252, "the tensor does not begin where the one before it ends";
                PartialBlock = 253, "the innermost dimension is not a whole number of blocks", ALONE Sizes;
                ManifestHash = 254, "the manifest does not match its hash in the footer", ALONE Nothing;
                NotShortest = 255, "a value is not encoded in the fewest bytes";
                IndefiniteLength = 256, "a length is left open; it must be stated first";
                KeyOrder = 257, "the keys are not in the order of their encoded bytes", ALONE Found;
                Tagged = 258, "a value has a tag; the format allows none";
                UnknownShard = 259, "a component is in a shard that the file does not list", ALONE Found;
                UnexpectedComponent = 260, "the layout does not allow this component", ALONE Found;
                MissingMagic = 261, "the file does not end with the bytes that its format requires", ALONE Nothing;
                MisalignedOffset = 262, "the offset is not a multiple of the alignment", ALONE Place;
                NameLength = 263, "a name is empty, or longer than the format allows", PART Nothing;
                ShardSize = 264, "a shard is smaller than any file of the format", ALONE Found;
                OverFooter = 265, "the bytes overlap the footer", ALONE Place;
                OutOfShard = 266, "the bytes reach past those that the shard has", ALONE Place;

                UnknownFormat = 300, "this is not a known kind of tensor file";
                UnsupportedFormat = 301, "files of this kind are not supported yet";
                NotBuiltIn = 302, "the library was built without support for this";
                UnsupportedVersion = 303, "this version is not supported", ALONE Found;
                UnsupportedEncoding = 304, "there is no decoder for the encoding", PART Encoding;
                TooDeep = 305, "values are nested too deeply";
                ManifestTooLarge = 306, "the metadata is larger than its limit: 1 GiB, in safetensors 100 MB", ALONE FileSize;
                UnsupportedLayout = 307, "the elements of tensors of this layout cannot be read";
                ByteSwapped = 308, "the header was written in the other byte order", ALONE Nothing;
                UnsupportedCodec = 309, "there is no decoder for chunks of this codec", ALONE Found;
                UnsupportedFilter = 310, "this filter is not supported", ALONE Found;
                UnsupportedChunk = 311, "chunks of this kind are not supported", ALONE Nothing;
                SparseFrame = 312, "the chunks are in separate files", ALONE Nothing;
                NoValues = 313, "the values are not in this file", ALONE Nothing;

                DigestMismatch = 400, "the stored bytes do not match the digest";
                InvalidDigest = 401, "the digest has a wrong number of hexadecimal digits for its kind";
                CorruptStream = 402, "the stored bytes cannot be decoded";
                DecodedLength = 403, "the decoded length differs from the one stated";
                ChecksumMismatch = 404, "the decoded bytes do not match their checksum";
                InvalidRowPointers = 405, "the row pointers do not increase from 0 to the number of values";
                IndexOutOfRange = 406, "an index is outside the shape";
                PackedLength = 407, "the length does not match a whole number of indices and values";
                InvalidSeekTable = 408, "there is no seek table, or it contradicts itself or the frames";
                InvalidFrame = 409, "a frame is not as the encoding requires", ALONE Nothing;
                InvalidElement = 410, "an element has bits that its type does not allow";
                IndexOrder = 411, "the indices of a row do not increase";

                TooSmall = 500, "the destination is too small";
                OutOfScratch = 501, "the scratch memory is too small";
                TooManySegments = 502, "the source holds the maximum number of segments";
            }
        }
    };
}

#[cfg(feature = "write")]
all_kinds! {
    NotInFormat = 116, "the format cannot hold this";
    TooManyBytes = 117, "all tensors are complete";
    TooFewBytes = 118, "data is missing";
    WrongState = 119, "the writer is in another state";
    SinkFailed = 120, "the sink failed";
}

// Without the writer, its errors do not occur, and their texts would take flash.
#[cfg(not(feature = "write"))]
all_kinds! {
    NotInFormat = 116, "";
    TooManyBytes = 117, "";
    TooFewBytes = 118, "";
    WrongState = 119, "";
    SinkFailed = 120, "";
}

/// The number of kinds in each hundred of codes. The codes in a hundred are consecutive and start at its first number.
const COUNTS: [u16; 5] = {
    let (mut counts, mut kinds) = ([0_u16; 5], ErrorKind::ALL);
    while let [kind, rest @ ..] = kinds {
        let mut code = kind.code();
        let mut hundreds: &mut [u16] = &mut counts;
        while let [count, rest @ ..] = hundreds {
            code = code.saturating_sub(100);
            if code < 100 {
                *count = count.saturating_add(1);
                break;
            }
            hundreds = rest;
        }
        kinds = rest;
    }
    counts
};

impl ErrorKind {
    /// Returns the index of this kind in [`ALL`](Self::ALL).
    pub(crate) fn place(self) -> usize {
        let mut code = self.code().saturating_sub(100);
        let mut place = 0_u16;
        for count in COUNTS {
            let Some(next) = code.checked_sub(100) else { break };
            (code, place) = (next, place.saturating_add(count));
        }
        place.saturating_add(code).into()
    }
}

/// An error: which rule was broken, by which part of the file, at which byte.
///
/// 16 bytes, `Copy`, and without a string of its own. [`Display`](core::fmt::Display) prints format, rule, part and
/// byte. [`Error::explain`] reads names and numbers from the file again and prints the full message.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Error {
    at: u64,
    entry_distance: u32,
    kind: ErrorKind,
    format: Format,
    part: Part,
}

/// The offset of an error without an offset.
const NOWHERE: u64 = u64::MAX;

/// The distance to the record of a tensor if no tensor is involved.
pub(crate) const NO_ENTRY: u32 = u32::MAX;

impl Error {
    /// Creates an error for a mistake of the caller, without an offset.
    pub(crate) const fn new(kind: ErrorKind) -> Self {
        Self { at: NOWHERE, entry_distance: NO_ENTRY, kind, format: Format::Unknown, part: Part::File }
    }

    /// Creates an error of `part` at byte `at` of a file of kind `format`.
    pub(crate) const fn at(kind: ErrorKind, format: Format, part: Part, at: u64) -> Self {
        Self { at, entry_distance: NO_ENTRY, kind, format, part }
    }

    /// Creates an error of `part` of a file of kind `format` that is being written.
    #[cfg(feature = "write")]
    pub(crate) const fn at_file(kind: ErrorKind, format: Format, part: Part) -> Self {
        Self::at(kind, format, part, NOWHERE)
    }

    /// Creates an error in declaration `index`: of a tensor, or of an attribute if the part is a key or a value.
    #[cfg(feature = "write")]
    pub(crate) const fn declared(kind: ErrorKind, format: Format, part: Part, index: u32) -> Self {
        Self::at(kind, format, part, NOWHERE).after_entry(index)
    }

    /// Sets the number of bytes from the record of the tensor to the error; [`NO_ENTRY`] if no tensor is involved.
    pub(crate) const fn after_entry(self, entry_distance: u32) -> Self {
        Self { entry_distance, ..self }
    }

    /// Returns the kind of the error.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the kind of file, or `Unknown` if it was not known yet.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Returns the part of the file that the error is about.
    #[must_use]
    pub const fn part(&self) -> Part {
        self.part
    }

    /// Returns the offset in the file at which the rule is broken, or at which the component in question is recorded;
    /// `None` if the error is not about a place in the file.
    #[must_use]
    pub const fn offset(&self) -> Option<u64> {
        if self.at == NOWHERE { None } else { Some(self.at) }
    }

    /// Returns the offset of the entry of the tensor in question: of its name or, in manifests that are lists, of its
    /// record. `None` if no tensor is involved.
    #[must_use]
    pub fn entry(&self) -> Option<u64> {
        if self.entry_distance == NO_ENTRY {
            None
        } else {
            self.offset()?.checked_sub(u64::from(self.entry_distance))
        }
    }

    /// Returns the index of the declaration in question if a file cannot be written: of an attribute if
    /// [`part`](Self::part) is `Key` or `Value`, otherwise of a tensor. `None` if no single declaration is involved.
    #[cfg(feature = "write")]
    #[must_use]
    pub const fn declaration(&self) -> Option<u32> {
        if self.at == NOWHERE && self.entry_distance != NO_ENTRY { Some(self.entry_distance) } else { None }
    }

    /// Returns the integers that represent an error across the C boundary: offset, distance, then the three codes.
    #[cfg(feature = "capi")]
    pub(crate) const fn parts(&self) -> (u64, u32, u16, u8, u8) {
        (self.at, self.entry_distance, self.kind.code(), self.format.code(), self.part.code())
    }

    /// Rebuilds an error from the numbers that [`parts`](Self::parts) returned; `None` if no error has these numbers.
    #[cfg(feature = "capi")]
    pub(crate) fn from_parts(at: u64, entry_distance: u32, kind: u16, format: u8, part: u8) -> Option<Self> {
        Some(Self {
            at,
            entry_distance,
            kind: ErrorKind::from_code(kind)?,
            format: Format::from_code(format)?,
            part: Part::from_code(part)?,
        })
    }
}

/// The format that `unwrap` and a failing `main` print.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({self})", self.kind.name())
    }
}

impl core::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_place() {
        for (place, kind) in ErrorKind::ALL.iter().enumerate() {
            assert_eq!(kind.place(), place, "{kind:?}");
        }
        assert_eq!(COUNTS.map(usize::from).iter().sum::<usize>(), ErrorKind::ALL.len());
    }

    #[test]
    fn details_fit_their_bytes() {
        for detail in Detail::ALL {
            let (alone, part) = (Shown::new(Shown::ALONE, detail), Shown::new(Shown::PART, detail));
            assert_eq!((alone.detail(), part.detail()), (detail, detail));
            assert!(!alone.has_part() && part.has_part());
        }
    }
}
