//! The fields of the messages that are read, by their numbers (onnx.proto).
#![forbid(unsafe_code)]

use crate::codec::protobuf::Schema;

const ANY: u8 = Schema::ANY;
const NUMBER: u8 = Schema::NUMBER;
const BYTES: u8 = Schema::BYTES;

pub(super) mod model {
    pub(in super::super) const IR_VERSION: u32 = 1;
    pub(in super::super) const PRODUCER_NAME: u32 = 2;
    pub(in super::super) const PRODUCER_VERSION: u32 = 3;
    pub(in super::super) const GRAPH: u32 = 7;
    pub(in super::super) const OPSET_IMPORT: u32 = 8;
    pub(in super::super) const METADATA: u32 = 14;
}

/// The numbers beyond 14 are texts and messages of newer versions, which [`is_model`](super::is_model) does not need.
pub(super) const MODEL: Schema = Schema(&[
    ANY, NUMBER, BYTES, BYTES, BYTES, NUMBER, BYTES, BYTES, BYTES, ANY, ANY, ANY, ANY, ANY, BYTES, ANY, ANY, ANY,
    ANY, ANY, BYTES, ANY, ANY, ANY, ANY, BYTES, BYTES,
]);

pub(super) mod opset {
    pub(in super::super) const DOMAIN: u32 = 1;
    pub(in super::super) const VERSION: u32 = 2;
}

pub(super) const OPSET: Schema = Schema(&[ANY, BYTES, NUMBER]);

pub(super) mod graph {
    pub(in super::super) const NODE: u32 = 1;
    pub(in super::super) const NAME: u32 = 2;
    pub(in super::super) const INITIALIZER: u32 = 5;
    pub(in super::super) const SPARSE_INITIALIZER: u32 = 15;
}

pub(super) const GRAPH: Schema = Schema(&[
    ANY, BYTES, BYTES, ANY, ANY, BYTES, ANY, ANY, ANY, ANY, BYTES, BYTES, BYTES, BYTES, BYTES, BYTES, BYTES,
]);

pub(super) mod node {
    pub(in super::super) const OUTPUT: u32 = 2;
    pub(in super::super) const OP_TYPE: u32 = 4;
    pub(in super::super) const ATTRIBUTE: u32 = 5;
    pub(in super::super) const DOMAIN: u32 = 7;
}

pub(super) const NODE: Schema = Schema(&[ANY, BYTES, BYTES, BYTES, BYTES, BYTES, BYTES, BYTES, BYTES, BYTES, BYTES]);

pub(super) mod attribute {
    pub(in super::super) const NAME: u32 = 1;
    pub(in super::super) const TENSOR: u32 = 5;
    pub(in super::super) const GRAPH: u32 = 6;
    pub(in super::super) const GRAPHS: u32 = 11;
    pub(in super::super) const SPARSE_TENSOR: u32 = 22;
}

pub(super) const ATTRIBUTE: Schema = Schema(&[
    ANY,
    BYTES,
    Schema::FLOAT,
    NUMBER,
    BYTES,
    BYTES,
    BYTES,
    Schema::FLOATS,
    Schema::NUMBERS,
    BYTES,
    BYTES,
    BYTES,
    ANY,
    BYTES,
    BYTES,
    BYTES,
    ANY,
    ANY,
    ANY,
    ANY,
    NUMBER,
    BYTES,
    BYTES,
    BYTES,
]);

pub(super) mod tensor {
    pub(in super::super) const DIMS: u32 = 1;
    pub(in super::super) const DATA_TYPE: u32 = 2;
    pub(in super::super) const SEGMENT: u32 = 3;
    pub(in super::super) const FLOAT_DATA: u32 = 4;
    pub(in super::super) const INT32_DATA: u32 = 5;
    pub(in super::super) const STRING_DATA: u32 = 6;
    pub(in super::super) const INT64_DATA: u32 = 7;
    pub(in super::super) const NAME: u32 = 8;
    pub(in super::super) const RAW_DATA: u32 = 9;
    pub(in super::super) const DOUBLE_DATA: u32 = 10;
    pub(in super::super) const UINT64_DATA: u32 = 11;
    pub(in super::super) const EXTERNAL_DATA: u32 = 13;
    pub(in super::super) const DATA_LOCATION: u32 = 14;
    pub(in super::super) const METADATA: u32 = 16;
}

pub(super) const TENSOR: Schema = Schema(&[
    ANY,
    Schema::NUMBERS,
    NUMBER,
    BYTES,
    Schema::FLOATS,
    Schema::NUMBERS,
    BYTES,
    Schema::NUMBERS,
    BYTES,
    BYTES,
    Schema::DOUBLES,
    Schema::NUMBERS,
    BYTES,
    BYTES,
    NUMBER,
    ANY,
    BYTES,
]);

pub(super) mod sparse {
    pub(in super::super) const VALUES: u32 = 1;
    pub(in super::super) const INDICES: u32 = 2;
    pub(in super::super) const DIMS: u32 = 3;
}

pub(super) const SPARSE: Schema = Schema(&[ANY, BYTES, BYTES, Schema::NUMBERS]);

/// An entry of `external_data` and `metadata_props`.
pub(super) const ENTRY: Schema = Schema(&[ANY, BYTES, BYTES]);

pub(super) mod entry {
    pub(in super::super) const KEY: u32 = 1;
    pub(in super::super) const VALUE: u32 = 2;
}
