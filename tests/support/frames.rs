//! Writes Blosc2 frames field by field, also in valid ways that no real program uses.

/// A chunk with the longer header. Fields that are not set are 0.
#[derive(Clone, Copy, Default)]
pub struct Chunk<'a> {
    pub length: u32,
    pub block_size: u32,
    pub typesize: u8,
    /// Bits 5 to 7: the codec. Bit 4: not split. Bit 1: copied. Bits 0 and 2, which mark the longer header, are
    /// added.
    pub flags: u8,
    pub filters: [u8; 6],
    pub filters_meta: [u8; 6],
    pub flags2: u8,
    pub flags1: u8,
    pub payload: &'a [u8],
}

/// Not split into one stream for each byte of an element.
pub const NOT_SPLIT: u8 = 0x10;
pub const ZSTD: u8 = 4 << 5;

impl Chunk<'_> {
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![5, 1, self.flags | 5, self.typesize.max(1)];
        bytes.extend([self.length, self.block_size, 32 + self.payload.len() as u32].map(u32::to_le_bytes).concat());
        bytes.extend(self.filters);
        bytes.extend([0; 2]); // no user-defined codec
        bytes.extend(self.filters_meta);
        bytes.extend([self.flags2, self.flags1]);
        bytes.extend(self.payload);
        bytes
    }
}

/// A chunk whose bytes are stored uncompressed.
pub fn copied(bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() as u32;
    Chunk { length, block_size: length.max(1), flags: NOT_SPLIT | 2, payload: bytes, ..Chunk::default() }.bytes()
}

/// A chunk of `length` bytes that repeats one value.
pub fn repeated(value: &[u8], length: u32) -> Vec<u8> {
    let chunk =
        Chunk { length, block_size: 16384, flags: NOT_SPLIT, flags1: 3 << 4, payload: value, ..Chunk::default() };
    chunk.bytes()
}

/// A table in which the offset of each of `count` chunks is that of the first.
pub fn all_first(count: u32) -> Vec<u8> {
    repeated(&[0; 8], 8 * count)
}

/// A compressed chunk whose blocks have one stream each.
pub fn of_streams(chunk: Chunk<'_>, streams: &[&[u8]]) -> Vec<u8> {
    let mut places = Vec::new();
    let mut all = Vec::new();
    for stream in streams {
        places.extend((32 + 4 * streams.len() as u32 + all.len() as u32).to_le_bytes());
        all.extend((stream.len() as u32).to_le_bytes());
        all.extend(*stream);
    }
    Chunk { payload: &[places, all].concat(), ..chunk }.bytes()
}

/// A chunk of uncompressed blocks of different lengths.
pub fn of_variable_blocks(blocks: &[&[u8]]) -> Vec<u8> {
    let mut places = Vec::new();
    let mut all = Vec::new();
    for block in blocks {
        places.extend((32 + 4 * blocks.len() as u32 + all.len() as u32).to_le_bytes());
        all.extend((block.len() as u32).to_le_bytes());
        all.extend(*block);
    }
    let length = blocks.iter().map(|block| block.len() as u32).sum();
    let block_size = blocks.len() as u32; // the number of blocks
    let payload = &[places, all].concat();
    Chunk { length, block_size, flags: NOT_SPLIT, flags2: 1, payload, ..Chunk::default() }.bytes()
}

/// A frame.
#[derive(Clone, Copy, Default)]
pub struct Frame<'a> {
    /// The chunks, and the table of their offsets, which is also a chunk.
    pub chunks: &'a [u8],
    pub table: &'a [u8],
    /// The decoded length of all chunks, and of each chunk: 0 if they differ.
    pub length: u64,
    pub chunk_length: u32,
    /// Shape, chunk shape and block shape of an array of bytes.
    pub array: Option<(&'a [u64], &'a [u32], &'a [u32])>,
    /// Metalayers besides the array's, and those of the trailer: names and contents.
    pub metalayers: &'a [(&'a str, &'a [u8])],
    pub variable_metalayers: &'a [(&'a str, &'a [u8])],
}

impl Frame<'_> {
    pub fn bytes(&self) -> Vec<u8> {
        let array = self.array.map(described);
        let own = array.iter().map(|array| ("b2nd", &array[..]));
        let metalayers = metalayers(87, &own.chain(self.metalayers.iter().copied()).collect::<Vec<_>>());
        let header_length = 87 + metalayers.len() as u32;
        let variable = metalayers_of_trailer(self.variable_metalayers);
        let all = u64::from(header_length) + (self.chunks.len() + self.table.len() + variable.len()) as u64;
        [
            &b"\x9e\xa8b2frame\0\xd2"[..],
            &header_length.to_be_bytes(),
            &[0xcf],
            &all.to_be_bytes(),
            &[0xa4, 0x12, 0, 0, 0, 0xd3], // version 2, offsets of 64 bits
            &self.length.to_be_bytes(),
            &[0xd3],
            &(self.chunks.len() as u64).to_be_bytes(),
            &[0xd2, 0, 0, 0, 1, 0xd2, 0, 0, 0, 0, 0xd2], // element size 1; the block size is in the chunks
            &self.chunk_length.to_be_bytes(),
            &[0xd1, 0, 1, 0xd1, 0, 1, 0xc2 + u8::from(!self.variable_metalayers.is_empty())], // one thread each
            &[0xd8, 6],                                                                       // six filters
            &[0; 16],                                                                         // all of them unused
            &metalayers,
            self.chunks,
            self.table,
            &variable,
        ]
        .concat()
    }
}

/// The metalayer of an array of bytes: its shape, chunk shape and block shape.
fn described((shape, chunks, blocks): (&[u64], &[u32], &[u32])) -> Vec<u8> {
    let rank = shape.len() as u8;
    let mut array = vec![0x97, 0, rank, 0x90 + rank];
    shape.iter().for_each(|length| array.extend([&[0xd3][..], &length.to_be_bytes()].concat()));
    for lengths in [chunks, blocks] {
        array.push(0x90 + rank);
        lengths.iter().for_each(|length| array.extend([&[0xd2][..], &length.to_be_bytes()].concat()));
    }
    array.extend(*b"\0\xdb\0\0\0\x03|u1");
    array
}

/// Metalayers, after `start` bytes of the header or of the trailer.
fn metalayers(start: u32, all: &[(&str, &[u8])]) -> Vec<u8> {
    let count = (all.len() as u16).to_be_bytes();
    let index_length = 7 + all.iter().map(|(name, _)| 6 + name.len()).sum::<usize>();
    let mut at = start + index_length as u32 + 3;
    let mut index = [&[0x93, 0xcd][..], &(index_length as u16).to_be_bytes(), &[0xde], &count].concat();
    let mut contents = [&[0xdc][..], &count].concat();
    for (name, content) in all {
        index.extend([&[0xa0 + name.len() as u8][..], name.as_bytes(), &[0xd2], &at.to_be_bytes()].concat());
        contents.extend([&[0xc6][..], &(content.len() as u32).to_be_bytes(), content].concat());
        at += 5 + content.len() as u32;
    }
    [index, contents].concat()
}

fn metalayers_of_trailer(all: &[(&str, &[u8])]) -> Vec<u8> {
    let metalayers = metalayers(2, all);
    let length = (2 + metalayers.len() as u32 + 23).to_be_bytes();
    [&[0x94, 1][..], &metalayers, &[0xce], &length, &[0xd8, 0], &[0; 16]].concat()
}
