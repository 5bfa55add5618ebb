//! Maps errors to the sections of the format specifications.

use tenslice::{Error, ErrorKind, Format, Item};

/// The specification and the section that state the rule behind an error.
pub fn of(error: &Error, bytes: &[u8]) -> Option<String> {
    let item = error.item();
    let (text, section) = match error.format() {
        // The error is in a nested format.
        Format::Npz if error.kind() == ErrorKind::CorruptStream => ("RFC 1951 (deflate)", "3.2"),
        Format::Ztensor | Format::Ztensor2 if error.kind() == ErrorKind::CorruptStream => {
            ("RFC 8878 (Zstandard)", "3.1")
        }
        Format::Ztensor if bytes.starts_with(b"ZTEN0001") => ("zTensor 0.1", ztensor_0(item)),
        Format::Ztensor => ("zTensor 1.0", ztensor_1(error.kind(), item)),
        Format::Ztensor2 => ("zTensor 2 (draft 4)", ztensor_2(item)),
        Format::Safetensors => ("safetensors, README", "\"Format\""),
        Format::SafetensorsIndex => ("Hugging Face, index of a model in several files", "\"weight_map\""),
        Format::Gguf => ("ggml, docs/gguf.md", "\"File Structure\""),
        Format::Npy => ("NumPy, numpy.lib.format", "\"Format Version 1.0\""),
        Format::Npz if is_of_npy(error.kind(), item) => ("NumPy, numpy.lib.format", "\"Format Version 1.0\""),
        Format::Npz | Format::Zip => ("PKWARE, APPNOTE.TXT", npz(error.kind(), item)),
        Format::Tens => ("cc4s, tensor file format", tens(item)),
        Format::Blz => ("BLZ1", blz(item)),
        Format::B2nd => b2nd(item),
        _ => return None,
    };
    Some(format!("{text}, section {section}"))
}

fn ztensor_0(item: Item) -> &'static str {
    match item {
        Item::DType => "\"Supported Data Types\"",
        Item::Encoding => "\"Supported Encodings\"",
        Item::Layout => "\"Layouts\"",
        Item::File | Item::Header | Item::Footer | Item::Manifest => "\"Index Reading\"",
        _ => "\"Tensor Metadata\"",
    }
}

fn ztensor_1(kind: ErrorKind, item: Item) -> &'static str {
    match (kind, item) {
        (ErrorKind::OutOfFile | ErrorKind::OverHeader | ErrorKind::OverManifest, _) => "7.1 Security",
        (
            ErrorKind::MissingComponent | ErrorKind::CountMismatch | ErrorKind::RankMismatch | ErrorKind::IndexType,
            _,
        )
        | (ErrorKind::InvalidRowPointers | ErrorKind::IndexOutOfRange | ErrorKind::PackedLength, _) => {
            "5 Logical Layouts"
        }
        (_, Item::Version) => "6.1 Version Negotiation",
        (_, Item::Header | Item::Footer | Item::File) => "3.1 Header & Footer",
        (_, Item::Manifest | Item::Tensors | Item::Attributes) => "4.1 Root Structure",
        (_, Item::Tensor | Item::Name | Item::Shape | Item::Layout | Item::Components | Item::DType) => {
            "4.2 Tensor Object Schema"
        }
        _ => "4.3 Component Object Schema",
    }
}

fn ztensor_2(item: Item) -> &'static str {
    match item {
        Item::Footer | Item::File => "2.3",
        Item::Header | Item::Alignment | Item::Offset => "2.4",
        Item::Manifest | Item::Version | Item::Tensors => "3.2",
        Item::Tensor | Item::Shape => "3.3",
        Item::Name | Item::Key | Item::Role => "3.5",
        Item::DType | Item::LogicalType => "4.1",
        Item::Layout | Item::Components => "5",
        Item::Shard | Item::Shards => "7",
        _ => "3.4",
    }
}

/// Returns true for an error in the NPY file inside an entry.
fn is_of_npy(kind: ErrorKind, item: Item) -> bool {
    match item {
        Item::Header | Item::Version | Item::Key | Item::DType | Item::Order | Item::Shape => true,
        Item::Data => kind == ErrorKind::Truncated,
        _ => false,
    }
}

fn npz(kind: ErrorKind, item: Item) -> &'static str {
    match (kind, item) {
        (ErrorKind::HeadersDiffer, Item::Footer) => "4.3.14",
        (_, Item::Footer) => "4.3.16",
        (ErrorKind::HeadersDiffer, _) => "4.3.7",
        _ => "4.3.12",
    }
}

fn tens(item: Item) -> &'static str {
    match item {
        Item::Shape | Item::Name => "\"Dimension information\"",
        Item::Chunk => "\"Variable chunks\"",
        Item::Symmetry => "\"Symmetry chunk\"",
        Item::Pairs => "\"Index-value storage\"",
        _ => "\"Header\"",
    }
}

fn blz(item: Item) -> &'static str {
    match item {
        Item::Shape => "\"Shape\"",
        Item::BondDimension => "\"Ranks\"",
        Item::Core => "\"Cores\"",
        _ => "\"Header\"",
    }
}

fn b2nd(item: Item) -> (&'static str, &'static str) {
    match item {
        Item::Shape | Item::ChunkShape | Item::BlockShape | Item::DType => {
            ("c-blosc2, README_B2ND_METALAYER.rst", "\"Blosc2 NDim metalayer\"")
        }
        Item::Chunk | Item::Block | Item::Stream | Item::Codec | Item::Filter => {
            ("c-blosc2, README_CHUNK_FORMAT.rst", "\"Header\"")
        }
        Item::Trailer => ("c-blosc2, README_CFRAME_FORMAT.rst", "\"Trailer\""),
        _ => ("c-blosc2, README_CFRAME_FORMAT.rst", "\"Header\""),
    }
}
