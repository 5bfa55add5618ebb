//! Writes FlatBuffers from the front to the back: whatever an offset leads to is written behind it.

/// A field of a table: its number and the bytes that it takes, or the place for an offset.
#[derive(Clone, Copy)]
pub enum Slot {
    None,
    I8(i8),
    U32(u32),
    U64(u64),
    Offset,
}

impl Slot {
    fn bytes(self) -> Vec<u8> {
        match self {
            Self::None => Vec::new(),
            Self::I8(number) => number.to_le_bytes().to_vec(),
            Self::U32(number) => number.to_le_bytes().to_vec(),
            Self::U64(number) => number.to_le_bytes().to_vec(),
            Self::Offset => vec![0; 4],
        }
    }
}

/// The bytes of a file so far.
#[derive(Clone, Default)]
pub struct Tables(pub Vec<u8>);

impl Tables {
    /// Adds zeros up to a multiple of `size`.
    pub fn align(&mut self, size: usize) {
        self.0.resize(self.0.len().next_multiple_of(size), 0);
    }

    /// Sets the offset at `at` to lead to the end of the file, at a multiple of 4.
    pub fn point(&mut self, at: usize) {
        self.align(4);
        self.point_to(at, self.0.len());
    }

    /// Sets the offset at `at` to lead to a position behind it.
    pub fn point_to(&mut self, at: usize, target: usize) {
        self.0[at..at + 4].copy_from_slice(&((target - at) as u32).to_le_bytes());
    }

    /// Adds a table, to which the offset at `at` leads. Returns the positions of its fields; 0 for absent ones.
    pub fn table(&mut self, at: usize, slots: &[Slot]) -> Vec<usize> {
        let (mut places, mut length) = (Vec::new(), 4_usize);
        for slot in slots {
            let width = slot.bytes().len();
            length = length.next_multiple_of(width.max(1));
            places.push(if width > 0 { length } else { 0 });
            length += width;
        }
        self.align(2);
        let vtable = self.0.len();
        for number in [4 + 2 * slots.len(), length].iter().chain(&places) {
            self.0.extend((*number as u16).to_le_bytes());
        }
        self.align(8);
        let table = self.0.len();
        self.point_to(at, table);
        self.0.extend(((table - vtable) as i32).to_le_bytes());
        for (slot, place) in slots.iter().zip(&places).filter(|(_, place)| **place > 0) {
            self.0.resize(table + place, 0);
            self.0.extend(slot.bytes());
        }
        places.iter().map(|place| if *place > 0 { table + place } else { 0 }).collect()
    }

    /// Adds a vector of `count` elements, to which the offset at `at` leads. Returns the position of the first element.
    pub fn vector(&mut self, at: usize, count: usize, elements: &[u8]) -> usize {
        self.point(at);
        self.0.extend((count as u32).to_le_bytes());
        self.0.extend(elements);
        self.0.len() - elements.len()
    }

    /// Adds a vector of offsets, and returns their positions.
    pub fn offsets(&mut self, at: usize, count: usize) -> Vec<usize> {
        let first = self.vector(at, count, &vec![0; 4 * count]);
        (0..count).map(|i| first + 4 * i).collect()
    }

    pub fn text(&mut self, at: usize, text: &[u8]) {
        self.vector(at, text.len(), text);
        self.0.push(0);
    }
}
