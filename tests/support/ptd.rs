//! Writes ExecuTorch's `.ptd` files, valid or not.

use super::flatbuffers::{Slot, Tables};

/// The layout of a tensor: scalar type, sizes, dim_order.
pub type TensorLayout = (i8, Vec<i32>, Vec<u8>);

/// Named data: its key, the number of its segment, and the layout of a tensor.
#[derive(Clone)]
pub struct Named {
    pub key: Vec<u8>,
    pub segment: u32,
    pub layout: Option<TensorLayout>,
}

/// A file. The default has no names and no segments.
#[derive(Clone, Default)]
pub struct Ptd {
    /// The offset and the size of each segment, counted from the start of all data.
    pub segments: Vec<(u64, u64)>,
    pub names: Vec<Named>,
    pub data: Vec<u8>,
}

/// The places in the header.
pub const FLATBUFFER: usize = 16;
pub const DATA: usize = 32;

impl Ptd {
    /// Adds a segment behind the others, and returns its number.
    pub fn segment(&mut self, bytes: &[u8]) -> u32 {
        self.segments.push((self.data.len() as u64, bytes.len() as u64));
        self.data.extend(bytes);
        self.segments.len() as u32 - 1
    }

    /// Adds a name.
    pub fn name(&mut self, key: impl AsRef<[u8]>, segment: u32, layout: Option<TensorLayout>) -> &mut Self {
        self.names.push(Named { key: key.as_ref().into(), segment, layout });
        self
    }

    /// Adds a tensor in a segment of its own.
    pub fn tensor(&mut self, key: impl AsRef<[u8]>, scalar: i8, sizes: &[i32], bytes: &[u8]) -> &mut Self {
        let order = (0..sizes.len()).map(|i| i as u8).collect();
        self.ordered(key, scalar, sizes, order, bytes)
    }

    /// Adds a tensor with an order of its dimensions.
    pub fn ordered(
        &mut self,
        key: impl AsRef<[u8]>,
        scalar: i8,
        sizes: &[i32],
        order: Vec<u8>,
        bytes: &[u8],
    ) -> &mut Self {
        let segment = self.segment(bytes);
        self.name(key, segment, Some((scalar, sizes.to_vec(), order)))
    }

    /// The file, with a header for these tables.
    pub fn bytes(&self) -> Vec<u8> {
        let mut tables = Tables(vec![0; 64]);
        let root = tables.table(0, &[Slot::None, Slot::Offset, Slot::Offset]);
        for (at, (offset, size)) in tables.offsets(root[1], self.segments.len()).into_iter().zip(&self.segments) {
            tables.table(at, &[Slot::U64(*offset), Slot::U64(*size)]);
        }
        for (at, named) in tables.offsets(root[2], self.names.len()).into_iter().zip(&self.names) {
            let layout = if named.layout.is_some() { Slot::Offset } else { Slot::None };
            let table = tables.table(at, &[Slot::Offset, Slot::U32(named.segment), layout]);
            tables.text(table[0], &named.key);
            if let Some((scalar, sizes, order)) = &named.layout {
                let layout = tables.table(table[2], &[Slot::I8(*scalar), Slot::Offset, Slot::Offset]);
                let elements: Vec<u8> = sizes.iter().flat_map(|size| size.to_le_bytes()).collect();
                tables.vector(layout[1], sizes.len(), &elements);
                tables.vector(layout[2], order.len(), order);
            }
        }
        self.around(tables)
    }

    /// The file with these tables, which begin behind 64 bytes.
    pub fn around(&self, tables: Tables) -> Vec<u8> {
        let mut file = tables.0;
        let end = file.len() as u64;
        file.resize(file.len().next_multiple_of(16), 0);
        let data = file.len() as u64;
        file.extend(&self.data);
        file[4..16].copy_from_slice(b"FT01FH01\x28\0\0\0");
        for (at, number) in [(16, 48), (24, end - 48), (32, data), (40, self.data.len() as u64)] {
            file[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        file
    }
}
