//! Errors: 16 bytes, `Copy`, no text inside, the same in every build.
//!
//! Depends on `pinned`, `place`.
#![forbid(unsafe_code)]

use core::fmt;

use crate::pinned::pinned;
use crate::place::{Format, Item};

/// What every fallible call returns.
pub type Result<T> = core::result::Result<T, Error>;

/// What a message has beside the text of its kind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Whether the item comes before it; not where the text says it already.
    pub(crate) item: bool,
    pub(crate) detail: Detail,
}

impl Shown {
    const ITEM: bool = true;
    const ALONE: bool = false;
}

/// What follows the text of a kind, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    Nothing,
    /// Offset and length, before the text.
    Place,
    /// Lengths, shape and dtype.
    Sizes,
    Encoding,
    /// What is missing.
    Missing,
    /// The text or the number that is there.
    Found,
    /// The number that is there, as a size held against that of the file.
    FileSize,
}

/// The kinds, as `pinned` has them, with what a message has beside their text where it is more than the item.
macro_rules! kinds {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $code:literal, $text:literal $(, $item:ident $detail:ident)?;)* }) => {
        pinned! {
            $(#[$meta])*
            $name: u16 { $($variant = $code, $text;)* }
        }

        impl $name {
            /// What a message has beside the text.
            pub(crate) const fn shown(self) -> Shown {
                match self {
                    $($(Self::$variant => Shown { item: Shown::$item, detail: Detail::$detail },)?)*
                    _ => Shown { item: Shown::ITEM, detail: Detail::Nothing },
                }
            }
        }
    };
}

kinds! {
    /// What went wrong: the rule that was broken, or what the caller asked for in vain.
    ///
    /// 1xx the caller's, 2xx malformed, 3xx unsupported or not built in, 4xx the data is
    /// not what it should be, 5xx too little room.
    ErrorKind {
        InvalidArgument = 100, "an argument is NULL, too large or otherwise unusable";
        InvalidHandle = 101, "the handle is not of the kind that this call takes, or was never set";
        NotFound = 102, "there is nothing of that name or at that place in the file";
        WrongType = 103, "the elements are not of the type asked for";
        Misaligned = 104, "the bytes are not aligned for the type asked for";
        ForeignEndian = 105, "the elements are stored in the other byte order";
        NotDense = 106, "the tensor is not one dense array";
        NotInMemory = 107, "the bytes are in none of the segments given";
        WrongLength = 108, "the bytes given are not as long as the component";
        Encoded = 109, "the component is stored encoded", ITEM Encoding;
        WrongRank = 110, "another number of indices is given than there are dimensions";
        NoSuchElement = 111, "an index lies outside its dimension, or a region ends before it begins";

        Truncated = 200, "the bytes end too early", ITEM FileSize;
        ManifestSize = 201, "the manifest does not fit between header and footer", ALONE FileSize;
        Malformed = 202, "the metadata is not well-formed";
        TrailingBytes = 203, "bytes follow where the manifest ends";
        UnexpectedType = 204, "the value is of the wrong type", ITEM Found;
        ChunkedText = 205, "the text is in chunks; it must be one piece";
        InvalidUtf8 = 206, "the text is not UTF-8";
        CountTooLarge = 207, "more items are announced than bytes are left", ITEM Found;
        MissingKey = 208, "a required key is missing", ALONE Missing;
        RepeatedKey = 209, "a key stands twice", ALONE Found;
        RepeatedName = 210, "a tensor name stands twice", ALONE Found;
        InvalidVersion = 211, "the version is not of the form MAJOR.MINOR", ALONE Found;
        UnknownDType = 212, "the dtype is not in the list of this format version", ALONE Found;
        InvalidByteOrder = 213, "the byte order is neither little nor big", ITEM Found;
        TypeMismatch = 214, "the logical type cannot be stored in this dtype", ITEM Found;
        ShapeOverflow = 215, "the product of the shape, in bytes, exceeds 64 bits", ALONE Sizes;
        OutOfFile = 216, "offset + length exceeds the file", ALONE Place;
        OverHeader = 217, "the bytes would lie over the header", ALONE Place;
        OverManifest = 218, "the bytes would lie over the manifest", ALONE Place;
        SizeMismatch = 219, "the length does not match the shape and the dtype", ALONE Sizes;
        PartialElement = 220, "the length is not a multiple of the element size", ALONE Sizes;
        MissingComponent = 221, "the layout lacks a component that it requires", ALONE Missing;
        RankMismatch = 222, "the layout does not go with this rank";
        IndexType = 223, "the index component is not of an integer type";
        CountMismatch = 224, "the index component has not as many elements as the layout requires", ITEM Sizes;
        NumberType = 225, "the format has no numbers of this type and width", ALONE Found;
        NumberCount = 226, "an element has 1, 2, 4 or 8 numbers", ALONE Found;
        UnknownFlags = 227, "flags are set that the format does not define", ALONE Found;
        ChunkSize = 228, "a chunk cannot be of this size", ALONE Found;
        MissingData = 229, "there is no data", ALONE Nothing;
        UnexpectedData = 230, "the data is not stored in the way that the header announces", ALONE Nothing;
        UnknownIndexName = 231, "a symmetry names an index that the tensor does not have", ALONE Nothing;
        NotPermutation = 232, "a symmetry does not permute indices of equal lengths", ALONE Nothing;
        TooManyPairs = 233, "more pairs are announced than the tensor has elements", ALONE Found;
        BoundaryRank = 234, "the first and the last bond dimension must be 1", ALONE Found;
        ZeroLength = 235, "a length is 0 that must not be";
        WrongMarker = 236, "a value of another type must be here", ITEM Found;
        OutOfPlace = 237, "the place lies outside the part of the file that it must be in";
        FrameLengths = 238, "header, chunks and trailer do not fit into the frame", ALONE Nothing;
        ChunkGrid = 239, "the chunks do not add up to the shape";
        BlockShape = 240, "chunks and blocks have elements, and a block no more than its chunk";
        SpecialChunk = 241, "there is no such special chunk, or its value does not fill it", ALONE Nothing;
        InvalidRun = 242, "a run of equal bytes is not written as one";
        UnevenSplit = 243, "a block is split into streams of different lengths", ALONE Nothing;
        NegativeLength = 244, "a length is negative";
        CountsDiffer = 245, "two counts of the same things differ";
        TooMany = 246, "there are more of them than the format allows";
        HeadersDiffer = 247, "two records of the same thing differ";
        Overlap = 248, "the bytes of two of them overlap", ALONE Nothing;
        InvalidName = 249, "a name has a character that it must not have";

        UnknownFormat = 300, "this is not a tensor file of a kind known here";
        UnsupportedFormat = 301, "files of this kind are not read yet";
        NotBuiltIn = 302, "the library was built without this";
        UnsupportedVersion = 303, "this version is not read", ALONE Found;
        UnsupportedEncoding = 304, "the encoding cannot be decoded here", ITEM Encoding;
        TooDeep = 305, "values are nested too deeply";
        ManifestTooLarge = 306, "the metadata is larger than 1 GiB", ALONE FileSize;
        UnsupportedLayout = 307, "the elements of tensors of this layout cannot be read";
        ByteSwapped = 308, "the header was written in the other byte order", ALONE Nothing;
        UnsupportedCodec = 309, "chunks of this codec cannot be decoded here", ALONE Found;
        UnsupportedFilter = 310, "this filter cannot be undone here", ALONE Found;
        UnsupportedChunk = 311, "chunks of this kind are not read", ALONE Nothing;
        SparseFrame = 312, "the chunks lie in files of their own, beside this one", ALONE Nothing;

        DigestMismatch = 400, "the stored bytes are not those that the digest was made of";
        InvalidDigest = 401, "the digest has not as many hexadecimal digits as its kind";
        CorruptStream = 402, "the stored bytes do not decode";
        DecodedLength = 403, "the stored bytes decode to another length than stated";
        ChecksumMismatch = 404, "the stored bytes decode to others than their checksum was made of";
        InvalidRowPointers = 405, "the row pointers do not rise from 0 to the number of values";
        IndexOutOfRange = 406, "an index lies outside the shape";
        PackedLength = 407, "the length does not come out even as indices and values";

        TooSmall = 500, "the destination is too small";
        OutOfScratch = 501, "the scratch memory is too small";
        TooManySegments = 502, "the source holds as many segments as it can";
    }
}

/// An error: what rule was broken, by which part of the file, at which byte.
///
/// 16 bytes, `Copy`, and without text of its own: [`Display`](core::fmt::Display) names format, rule, item
/// and byte; [`Error::explain`] reads names and numbers from the file again and says the full sentence.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Error {
    at: u64,
    entry_distance: u32,
    kind: ErrorKind,
    format: Format,
    item: Item,
}

/// The offset of an error that has none.
const NOWHERE: u64 = u64::MAX;

/// The distance to the record of a tensor where no tensor is concerned.
pub(crate) const NO_ENTRY: u32 = u32::MAX;

impl Error {
    /// An error of the caller's, at no byte.
    pub(crate) const fn new(kind: ErrorKind) -> Self {
        Self { at: NOWHERE, entry_distance: NO_ENTRY, kind, format: Format::Unknown, item: Item::File }
    }

    /// An error of `item` at byte `at` of a file of kind `format`.
    pub(crate) const fn at(kind: ErrorKind, format: Format, item: Item, at: u64) -> Self {
        Self { at, entry_distance: NO_ENTRY, kind, format, item }
    }

    /// Says how many bytes before the error the record of its tensor begins; [`NO_ENTRY`] where it has none.
    pub(crate) const fn after_entry(self, entry_distance: u32) -> Self {
        Self { entry_distance, ..self }
    }

    /// What went wrong.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The kind of file, as far as it was known.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }

    /// The part of the file that is concerned.
    #[must_use]
    pub const fn item(&self) -> Item {
        self.item
    }

    /// The byte of the file at which the rule is broken, or at which the component concerned is recorded, counted
    /// from 0; `None` where no place in the file is concerned.
    #[must_use]
    pub const fn offset(&self) -> Option<u64> {
        if self.at == NOWHERE { None } else { Some(self.at) }
    }

    /// Where the entry of the tensor concerned begins (its name, or in list-like manifests its record).
    #[must_use]
    pub fn entry(&self) -> Option<u64> {
        if self.entry_distance == NO_ENTRY { None } else { self.at.checked_sub(u64::from(self.entry_distance)) }
    }

    /// The words that an error is stored in across the C boundary: offset, distance, then the three codes.
    #[cfg(feature = "capi")]
    pub(crate) const fn parts(&self) -> (u64, u32, u16, u8, u8) {
        (self.at, self.entry_distance, self.kind.code(), self.format.code(), self.item.code())
    }

    /// The error that [`parts`](Self::parts) took apart; `None` for numbers that no error has.
    #[cfg(feature = "capi")]
    pub(crate) fn from_parts(at: u64, entry_distance: u32, kind: u16, format: u8, item: u8) -> Option<Self> {
        Some(Self {
            at,
            entry_distance,
            kind: ErrorKind::from_code(kind)?,
            format: Format::from_code(format)?,
            item: Item::from_code(item)?,
        })
    }
}

/// What `unwrap` and a failing `main` print.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({self})", self.kind.name())
    }
}

impl core::error::Error for Error {}
