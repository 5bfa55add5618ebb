//! Maps errors to the sections of the format specifications.

use tenslice::{Error, ErrorKind, Format, Part};

/// The specification and the section that state the rule behind an error.
pub fn of(error: &Error, bytes: &[u8]) -> Option<String> {
    let item = error.part();
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
        Format::Pytorch if is_of_pickle(item) => ("Python, pickletools", "\"opcodes\""),
        Format::Pytorch => ("PKWARE, APPNOTE.TXT", npz(error.kind(), item)),
        Format::Onnx if is_of_protobuf(error.kind(), item) => ("Protocol Buffers, Encoding", "\"Message Structure\""),
        Format::Onnx if item == Part::Shard => ("ONNX, ExternalData.md", "\"External Tensor Data\""),
        Format::Onnx => ("ONNX, IR.md", onnx(item)),
        Format::Tflite => ("LiteRT, tflite/converter/schema/schema.fbs", tflite(item)),
        Format::Ptd if is_of_header(item) => ("ExecuTorch, docs/source/ptd-file-format.md", "\"Header\""),
        Format::Ptd => ("ExecuTorch, extension/flat_tensor/serialize/flat_tensor.fbs", ptd(item)),
        Format::Tens => ("cc4s, tensor file format", tens(item)),
        Format::Blz => ("BLZ1", blz(item)),
        Format::B2nd => b2nd(item),
        _ => return None,
    };
    Some(format!("{text}, section {section}"))
}

fn ztensor_0(item: Part) -> &'static str {
    match item {
        Part::DType => "\"Supported Data Types\"",
        Part::Encoding => "\"Supported Encodings\"",
        Part::Layout => "\"Layouts\"",
        Part::File | Part::Header | Part::Footer | Part::Manifest => "\"Index Reading\"",
        _ => "\"Tensor Metadata\"",
    }
}

fn ztensor_1(kind: ErrorKind, item: Part) -> &'static str {
    match (kind, item) {
        (ErrorKind::OutOfFile | ErrorKind::OverHeader | ErrorKind::OverManifest, _) => "7.1 Security",
        (
            ErrorKind::MissingComponent | ErrorKind::CountMismatch | ErrorKind::RankMismatch | ErrorKind::IndexType,
            _,
        )
        | (ErrorKind::InvalidRowPointers | ErrorKind::IndexOutOfRange | ErrorKind::PackedLength, _) => {
            "5 Logical Layouts"
        }
        (_, Part::Version) => "6.1 Version Negotiation",
        (_, Part::Header | Part::Footer | Part::File) => "3.1 Header & Footer",
        (_, Part::Manifest | Part::Tensors | Part::Attributes) => "4.1 Root Structure",
        (_, Part::Tensor | Part::Name | Part::Shape | Part::Layout | Part::Components | Part::DType) => {
            "4.2 Tensor Object Schema"
        }
        _ => "4.3 Component Object Schema",
    }
}

fn ztensor_2(item: Part) -> &'static str {
    match item {
        Part::Footer | Part::File => "2.3",
        Part::Header | Part::Alignment | Part::Offset => "2.4",
        Part::Manifest | Part::Version | Part::Tensors => "3.2",
        Part::Tensor | Part::Shape => "3.3",
        Part::Name | Part::Key | Part::Role => "3.5",
        Part::DType | Part::LogicalType => "4.1",
        Part::Layout | Part::Components => "5",
        Part::Shard | Part::Shards => "7",
        _ => "3.4",
    }
}

/// Returns true for an error in the NPY file inside an entry.
fn is_of_npy(kind: ErrorKind, item: Part) -> bool {
    match item {
        Part::Header | Part::Version | Part::Key | Part::DType | Part::Order | Part::Shape => true,
        Part::Data => kind == ErrorKind::Truncated,
        _ => false,
    }
}

fn npz(kind: ErrorKind, item: Part) -> &'static str {
    match (kind, item) {
        (ErrorKind::HeadersDiffer, Part::Footer) => "4.3.14",
        (_, Part::Footer) => "4.3.16",
        (ErrorKind::HeadersDiffer, _) => "4.3.7",
        _ => "4.3.12",
    }
}

/// Returns true for an error in the header of a `.ptd` file.
fn is_of_header(item: Part) -> bool {
    matches!(item, Part::Header | Part::Length | Part::Manifest)
}

/// The table of the schema of a TFLite model.
fn tflite(item: Part) -> &'static str {
    match item {
        Part::Header | Part::Version => "Model",
        Part::Tensors => "SubGraph",
        Part::Data => "Buffer",
        Part::Key | Part::Value => "Metadata",
        Part::Attributes => "QuantizationParameters",
        Part::Layout => "SparsityParameters",
        Part::Shard | Part::Shards => "ExternalBuffer",
        _ => "Tensor",
    }
}

/// The table of the schema of a `.ptd` file.
fn ptd(item: Part) -> &'static str {
    match item {
        Part::Version | Part::Tensors => "FlatTensor",
        Part::Data | Part::Offset => "DataSegment",
        Part::DType | Part::Shape | Part::Order => "TensorLayout",
        _ => "NamedData",
    }
}

fn tens(item: Part) -> &'static str {
    match item {
        Part::Shape | Part::Name => "\"Dimension information\"",
        Part::Chunk => "\"Variable chunks\"",
        Part::Symmetry => "\"Symmetry chunk\"",
        Part::Pairs => "\"Index-value storage\"",
        _ => "\"Header\"",
    }
}

fn blz(item: Part) -> &'static str {
    match item {
        Part::Shape => "\"Shape\"",
        Part::BondDimension => "\"Ranks\"",
        Part::Core => "\"Cores\"",
        _ => "\"Header\"",
    }
}

fn b2nd(item: Part) -> (&'static str, &'static str) {
    match item {
        Part::Shape | Part::ChunkShape | Part::BlockShape | Part::DType => {
            ("c-blosc2, README_B2ND_METALAYER.rst", "\"Blosc2 NDim metalayer\"")
        }
        Part::Chunk | Part::Block | Part::Stream | Part::Codec | Part::Filter => {
            ("c-blosc2, README_CHUNK_FORMAT.rst", "\"Header\"")
        }
        Part::Trailer => ("c-blosc2, README_CFRAME_FORMAT.rst", "\"Trailer\""),
        _ => ("c-blosc2, README_CFRAME_FORMAT.rst", "\"Header\""),
    }
}

/// True if an error of a model is in the encoding of its messages.
fn is_of_protobuf(kind: ErrorKind, item: Part) -> bool {
    matches!(kind, ErrorKind::Malformed | ErrorKind::WrongMarker | ErrorKind::OutOfPlace)
        || (kind, item) == (ErrorKind::UnexpectedType, Part::Value)
}

fn onnx(item: Part) -> &'static str {
    match item {
        Part::Tensors | Part::Name => "\"Names Within a Graph\"",
        Part::Attributes => "\"Attributes\"",
        Part::DType => "\"Tensor Element Types\"",
        _ => "\"Tensors\"",
    }
}

/// True if an error of a checkpoint is in a pickle.
fn is_of_pickle(item: Part) -> bool {
    matches!(
        item,
        Part::Value
            | Part::Key
            | Part::Tensor
            | Part::Component
            | Part::Shape
            | Part::DType
            | Part::Layout
            | Part::Name
    )
}
