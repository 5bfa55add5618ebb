//! Writes TFLite models, valid or not.

use super::flatbuffers::{Slot, Tables};

/// The bytes of a buffer, or their place in the file.
#[derive(Clone)]
pub enum Held {
    Inside(Vec<u8>),
    Outside(u64, u64),
}

/// The quantization of a tensor: scales, zero points, the dimension, and the kind of details, if there are any.
#[derive(Clone, Default)]
pub struct Quantized {
    pub scale: Vec<f32>,
    pub zero_point: Vec<i64>,
    pub dimension: i32,
    pub details: i8,
}

/// A dimension of a sparse tensor: its size, or segments and indices.
#[derive(Clone)]
pub enum Dimension {
    Dense(i32),
    Csr(Vec<i32>, Vec<i32>),
}

/// The description of a sparse tensor: the order, the blocks, the dimensions.
pub type Sparse = (Vec<i32>, Vec<i32>, Vec<Dimension>);

/// A tensor.
#[derive(Clone, Default)]
pub struct Made {
    pub name: Vec<u8>,
    pub shape: Vec<i32>,
    pub kind: i8,
    pub buffer: u32,
    pub external: u32,
    pub quantized: Option<Quantized>,
    pub sparse: Option<Sparse>,
}

/// An external buffer: ID, group, offset, length, packing.
pub type External = (u32, u32, u64, u64, &'static [u8]);

/// A model. The default has one empty subgraph, and buffer 0.
#[derive(Clone)]
pub struct Tflite {
    pub version: u32,
    pub description: Vec<u8>,
    pub subgraphs: Vec<Vec<Made>>,
    pub buffers: Vec<Held>,
    pub metadata: Vec<(Vec<u8>, u32)>,
    pub groups: Vec<Vec<u8>>,
    pub external: Vec<External>,
    /// The bytes behind the flatbuffer.
    pub rest: Vec<u8>,
}

impl Default for Tflite {
    fn default() -> Self {
        Self {
            version: 3,
            description: Vec::new(),
            subgraphs: vec![Vec::new()],
            buffers: vec![Held::Inside(Vec::new())],
            metadata: Vec::new(),
            groups: Vec::new(),
            external: Vec::new(),
            rest: Vec::new(),
        }
    }
}

fn numbers(list: &[i32]) -> Vec<u8> {
    list.iter().flat_map(|number| number.to_le_bytes()).collect()
}

impl Tflite {
    /// Adds a buffer, and returns its number.
    pub fn buffer(&mut self, held: Held) -> u32 {
        self.buffers.push(held);
        self.buffers.len() as u32 - 1
    }

    /// Adds a tensor with a buffer of its own to the last subgraph.
    pub fn tensor(&mut self, name: impl AsRef<[u8]>, kind: i8, shape: &[i32], bytes: &[u8]) -> &mut Self {
        let buffer = self.buffer(Held::Inside(bytes.to_vec()));
        let made = Made { name: name.as_ref().into(), shape: shape.into(), kind, buffer, ..Made::default() };
        self.add(made)
    }

    /// Adds a tensor to the last subgraph.
    pub fn add(&mut self, made: Made) -> &mut Self {
        self.subgraphs.last_mut().unwrap().push(made);
        self
    }

    /// The last tensor of the last subgraph.
    pub fn last(&mut self) -> &mut Made {
        self.subgraphs.last_mut().unwrap().last_mut().unwrap()
    }

    /// The bytes of the model. Tables come first, then the bytes of buffers.
    pub fn bytes(&self) -> Vec<u8> {
        use Slot::{None, Offset, U32};
        let mut tables = Tables(b"\0\0\0\0TFL3".to_vec());
        let of = |is_there: bool| if is_there { Offset } else { None };
        let root = tables.table(
            0,
            &[
                U32(self.version),
                None,
                Offset,
                of(!self.description.is_empty()),
                Offset,
                None,
                of(!self.metadata.is_empty()),
                None,
                of(!self.groups.is_empty()),
                of(!self.external.is_empty()),
            ],
        );
        for (at, tensors) in tables.offsets(root[2], self.subgraphs.len()).into_iter().zip(&self.subgraphs) {
            let subgraph = tables.table(at, &[Offset, None, None, None, Offset]);
            tables.text(subgraph[4], b"graph");
            for (at, made) in tables.offsets(subgraph[0], tensors.len()).into_iter().zip(tensors) {
                made.write(&mut tables, at);
            }
        }
        if !self.description.is_empty() {
            tables.text(root[3], &self.description);
        }
        if !self.metadata.is_empty() {
            for (at, (name, buffer)) in tables.offsets(root[6], self.metadata.len()).into_iter().zip(&self.metadata) {
                let table = tables.table(at, &[Offset, U32(*buffer)]);
                tables.text(table[0], name);
            }
        }
        if !self.groups.is_empty() {
            for (at, name) in tables.offsets(root[8], self.groups.len()).into_iter().zip(&self.groups) {
                let table = tables.table(at, &[Offset]);
                tables.text(table[0], name);
            }
        }
        if !self.external.is_empty() {
            for (at, made) in tables.offsets(root[9], self.external.len()).into_iter().zip(&self.external) {
                let (id, group, offset, length, packing) = *made;
                let slots = [U32(id), U32(group), Slot::U64(offset), Slot::U64(length), of(!packing.is_empty())];
                let table = tables.table(at, &slots);
                if !packing.is_empty() {
                    tables.text(table[4], packing);
                }
            }
        }
        let mut data = Vec::new();
        for (at, held) in tables.offsets(root[4], self.buffers.len()).into_iter().zip(&self.buffers) {
            match held {
                Held::Inside(bytes) => data.push((tables.table(at, &[of(!bytes.is_empty())])[0], bytes)),
                Held::Outside(offset, size) => {
                    tables.table(at, &[None, Slot::U64(*offset), Slot::U64(*size)]);
                }
            }
        }
        for (at, bytes) in data.into_iter().filter(|(_, bytes)| !bytes.is_empty()) {
            tables.vector(at, bytes.len(), bytes);
        }
        tables.0.extend(&self.rest);
        tables.0
    }
}

impl Made {
    fn write(&self, tables: &mut Tables, at: usize) {
        use Slot::{I8, None, Offset, U32};
        let quantized = if self.quantized.is_some() { Offset } else { None };
        let sparse = if self.sparse.is_some() { Offset } else { None };
        let slots = [Offset, I8(self.kind), U32(self.buffer), Offset, quantized, None, sparse, None, None, None];
        let table = tables.table(at, &[&slots[..], &[U32(self.external)]].concat());
        tables.vector(table[0], self.shape.len(), &numbers(&self.shape));
        tables.text(table[3], &self.name);
        if let Some(Quantized { scale, zero_point, dimension, details }) = &self.quantized {
            let slots = [None, None, Offset, Offset, I8(*details)];
            let of_details = if *details > 0 { Offset } else { None };
            let parts = tables.table(table[4], &[&slots[..], &[of_details, U32(*dimension as u32)]].concat());
            let scales: Vec<u8> = scale.iter().flat_map(|number| number.to_le_bytes()).collect();
            tables.vector(parts[2], scale.len(), &scales);
            let points: Vec<u8> = zero_point.iter().flat_map(|number| number.to_le_bytes()).collect();
            tables.vector(parts[3], zero_point.len(), &points);
            if *details > 0 {
                tables.table(parts[5], &[None, None, None]);
            }
        }
        if let Some((order, blocks, dimensions)) = &self.sparse {
            let parts = tables.table(table[6], &[Offset, Offset, Offset]);
            tables.vector(parts[0], order.len(), &numbers(order));
            tables.vector(parts[1], blocks.len(), &numbers(blocks));
            for (at, dimension) in tables.offsets(parts[2], dimensions.len()).into_iter().zip(dimensions) {
                match dimension {
                    Dimension::Dense(size) => {
                        tables.table(at, &[I8(0), U32(*size as u32)]);
                    }
                    Dimension::Csr(segments, indices) => {
                        let table = tables.table(at, &[I8(1), None, I8(1), Offset, I8(1), Offset]);
                        for (at, list) in [(table[3], segments), (table[5], indices)] {
                            let inside = tables.table(at, &[Offset]);
                            tables.vector(inside[0], list.len(), &numbers(list));
                        }
                    }
                }
            }
        }
    }
}
