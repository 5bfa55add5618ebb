//! The format and the part of a file that an error refers to.
#![forbid(unsafe_code)]

use crate::error::abi_enum::abi_enum;

abi_enum! {
    /// A kind of file. Some kinds are recognized but cannot be read.
    Format: u8 {
        Unknown = 0, "unknown";
        Ztensor = 1, "ztensor";
        Blz = 2, "blz";
        Tens = 3, "tens";
        B2nd = 4, "b2nd";
        Safetensors = 5, "safetensors";
        Gguf = 6, "gguf";
        Npy = 7, "npy";
        Zip = 8, "zip";
        Gzip = 9, "gzip";
        Ztensor2 = 10, "ztensor 2";
        Hdf5 = 11, "hdf5";
        Zstd = 12, "zstd";
        Npz = 13, "npz";
        SafetensorsIndex = 14, "safetensors index";
        Pytorch = 15, "pytorch";
        Onnx = 16, "onnx";
        Tflite = 17, "tflite";
        Ptd = 18, "ptd";
    }
}

abi_enum! {
    /// The part of a file that an error refers to.
    Part: u8 {
        File = 0, "file";
        Header = 1, "header";
        Footer = 2, "footer";
        Manifest = 3, "manifest";
        Version = 4, "version";
        Attributes = 5, "attributes";
        Tensors = 6, "tensors";
        Tensor = 7, "tensor";
        Name = 8, "name";
        Shape = 9, "shape";
        DType = 10, "dtype";
        Layout = 11, "layout";
        Components = 12, "components";
        Component = 13, "component";
        Role = 14, "role";
        Offset = 15, "offset";
        Length = 16, "length";
        DecodedLength = 17, "decoded length";
        Encoding = 18, "encoding";
        Digest = 19, "digest";
        ByteOrder = 20, "byte order";
        LogicalType = 21, "logical type";
        Key = 22, "key";
        Value = 23, "value";
        NumberType = 24, "number type";
        Flags = 25, "flags";
        Chunk = 26, "chunk";
        Symmetry = 27, "symmetry";
        Data = 28, "data";
        Pairs = 29, "pairs";
        BondDimension = 30, "bond dimension";
        Core = 31, "core";
        Metalayer = 32, "metalayer";
        Trailer = 33, "trailer";
        ChunkShape = 34, "chunk shape";
        BlockShape = 35, "block shape";
        ChunkOffset = 36, "offset of a chunk";
        Block = 37, "block";
        Stream = 38, "stream";
        Codec = 39, "codec";
        Filter = 40, "filter";
        Dictionary = 41, "dictionary";
        Order = 42, "element order";
        Entry = 43, "entry";
        Alignment = 44, "alignment";
        Shard = 45, "shard";
        Shards = 46, "shards";
        Frame = 47, "frame";
        SeekTable = 48, "seek table";
    }
}
