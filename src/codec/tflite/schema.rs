//! The tables of the schema, and the fields of them that are read.
#![forbid(unsafe_code)]

use crate::codec::flatbuffers::Field;
use crate::error::origin::Part;

/// The fields of the model, the root table.
pub(crate) mod model {
    use super::{Field, Part};

    pub(crate) const VERSION: Field = Field::new(0, Part::Version);
    pub(crate) const SUBGRAPHS: Field = Field::new(2, Part::Tensors);
    pub(crate) const DESCRIPTION: Field = Field::new(3, Part::Attributes);
    pub(crate) const BUFFERS: Field = Field::new(4, Part::Data);
    pub(crate) const METADATA: Field = Field::new(6, Part::Attributes);
    pub(crate) const GROUPS: Field = Field::new(8, Part::Shards);
    pub(crate) const EXTERNAL_BUFFERS: Field = Field::new(9, Part::Shard);
}

/// The tensors of a subgraph, and its name.
pub(crate) const SUBGRAPH_NAME: Field = Field::new(4, Part::Name);
pub(crate) const TENSORS: Field = Field::new(0, Part::Tensors);

/// The fields of a tensor.
pub(crate) mod tensor {
    use super::{Field, Part};

    pub(crate) const SHAPE: Field = Field::new(0, Part::Shape);
    pub(crate) const TYPE: Field = Field::new(1, Part::DType);
    pub(crate) const BUFFER: Field = Field::new(2, Part::Component);
    pub(crate) const NAME: Field = Field::new(3, Part::Name);
    pub(crate) const QUANTIZATION: Field = Field::new(4, Part::Attributes);
    pub(crate) const SPARSITY: Field = Field::new(6, Part::Layout);
    pub(crate) const SHAPE_SIGNATURE: Field = Field::new(7, Part::Attributes);
    pub(crate) const EXTERNAL_BUFFER: Field = Field::new(10, Part::Shard);
}

/// The fields of the quantization of a tensor. Details are a kind, and then a table.
pub(crate) mod quantization {
    use super::{Field, Part};

    pub(crate) const MIN: Field = Field::new(0, Part::Attributes);
    pub(crate) const MAX: Field = Field::new(1, Part::Attributes);
    pub(crate) const SCALE: Field = Field::new(2, Part::Attributes);
    pub(crate) const ZERO_POINT: Field = Field::new(3, Part::Attributes);
    pub(crate) const DETAILS_KIND: Field = Field::new(4, Part::Attributes);
    pub(crate) const DETAILS: Field = Field::new(5, Part::Attributes);
    pub(crate) const DIMENSION: Field = Field::new(6, Part::Attributes);
}

/// The fields of details: bytes of a program, or blocks, or several dimensions.
pub(crate) mod details {
    use super::{Field, Part};

    pub(crate) const CUSTOM_KIND: i8 = 1;
    pub(crate) const BLOCKS_KIND: i8 = 2;
    pub(crate) const DIMENSIONS_KIND: i8 = 3;

    pub(crate) const CUSTOM: Field = Field::new(0, Part::Attributes);
    pub(crate) const SCALES: Field = Field::new(0, Part::Attributes);
    pub(crate) const ZERO_POINTS: Field = Field::new(1, Part::Attributes);
    pub(crate) const BLOCK_SIZE: Field = Field::new(2, Part::Attributes);
    pub(crate) const DIMENSIONS: Field = Field::new(3, Part::Attributes);
}

/// The fields of a buffer: its bytes in the flatbuffer, or their place behind it.
pub(crate) mod buffer {
    use super::{Field, Part};

    pub(crate) const DATA: Field = Field::new(0, Part::Data);
    pub(crate) const OFFSET: Field = Field::new(1, Part::Data);
    pub(crate) const SIZE: Field = Field::new(2, Part::Data);
}

/// The fields of metadata.
pub(crate) mod metadata {
    use super::{Field, Part};

    pub(crate) const NAME: Field = Field::new(0, Part::Key);
    pub(crate) const BUFFER: Field = Field::new(1, Part::Value);
}

/// The name of a group of external buffers: a file.
pub(crate) const GROUP_NAME: Field = Field::new(0, Part::Shards);

/// The fields of an external buffer.
pub(crate) mod external {
    use super::{Field, Part};

    pub(crate) const ID: Field = Field::new(0, Part::Shard);
    pub(crate) const GROUP: Field = Field::new(1, Part::Shard);
    pub(crate) const OFFSET: Field = Field::new(2, Part::Shard);
    pub(crate) const LENGTH: Field = Field::new(3, Part::Shard);
    pub(crate) const PACKING: Field = Field::new(4, Part::Shard);
}

/// The fields of a sparse tensor's description.
pub(crate) mod sparsity {
    use super::{Field, Part};

    pub(crate) const TRAVERSAL_ORDER: Field = Field::new(0, Part::Layout);
    pub(crate) const BLOCK_MAP: Field = Field::new(1, Part::Layout);
    pub(crate) const DIMENSIONS: Field = Field::new(2, Part::Layout);
}

/// The fields of a dimension of a sparse tensor. A vector of indices is its kind, and then a table with the vector.
pub(crate) mod dimension {
    use super::{Field, Part};

    pub(crate) const FORMAT: Field = Field::new(0, Part::Layout);
    pub(crate) const DENSE_SIZE: Field = Field::new(1, Part::Layout);
    pub(crate) const SEGMENTS: [Field; 2] = [Field::new(2, Part::Components), Field::new(3, Part::Components)];
    pub(crate) const INDICES: [Field; 2] = [Field::new(4, Part::Components), Field::new(5, Part::Components)];
    pub(crate) const VALUES: Field = Field::new(0, Part::Components);
}
