//! A writer of GGUF files: valid ones unless invalid values are given.
#![allow(dead_code)] // each test uses only a part

/// A value of the metadata.
#[derive(Clone, Debug)]
pub enum Meta {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    /// A boolean, as its byte.
    Bool(u8),
    Text(Vec<u8>),
    /// The type of the elements, and the elements.
    Array(u32, Vec<Meta>),
    U64(u64),
    I64(i64),
    F64(f64),
}

pub const TEXT: u32 = 8;
pub const ARRAY: u32 = 9;

impl Meta {
    pub fn text(text: impl AsRef<[u8]>) -> Self {
        Self::Text(text.as_ref().to_vec())
    }

    /// A list of strings.
    pub fn texts(texts: impl Iterator<Item = String>) -> Self {
        Self::Array(TEXT, texts.map(Meta::text).collect())
    }

    pub fn kind(&self) -> u32 {
        match self {
            Self::U8(_) => 0,
            Self::I8(_) => 1,
            Self::U16(_) => 2,
            Self::I16(_) => 3,
            Self::U32(_) => 4,
            Self::I32(_) => 5,
            Self::F32(_) => 6,
            Self::Bool(_) => 7,
            Self::Text(_) => TEXT,
            Self::Array(..) => ARRAY,
            Self::U64(_) => 10,
            Self::I64(_) => 11,
            Self::F64(_) => 12,
        }
    }
}

/// The encoding of numbers.
#[derive(Clone, Copy)]
struct Order {
    /// True if counts and lengths have 32 bits.
    is_short: bool,
    is_big: bool,
}

impl Order {
    /// Writes a number, given its bytes in little-endian order.
    fn number<const N: usize>(self, mut bytes: [u8; N], out: &mut Vec<u8>) {
        if self.is_big {
            bytes.reverse();
        }
        out.extend_from_slice(&bytes);
    }

    /// A count or a length.
    fn count(self, n: u64, out: &mut Vec<u8>) {
        if self.is_short { self.number((n as u32).to_le_bytes(), out) } else { self.number(n.to_le_bytes(), out) }
    }

    fn string(self, bytes: &[u8], out: &mut Vec<u8>) {
        self.count(bytes.len() as u64, out);
        out.extend_from_slice(bytes);
    }

    fn value(self, value: &Meta, out: &mut Vec<u8>) {
        match value {
            Meta::U8(n) => out.push(*n),
            Meta::I8(n) => self.number(n.to_le_bytes(), out),
            Meta::U16(n) => self.number(n.to_le_bytes(), out),
            Meta::I16(n) => self.number(n.to_le_bytes(), out),
            Meta::U32(n) => self.number(n.to_le_bytes(), out),
            Meta::I32(n) => self.number(n.to_le_bytes(), out),
            Meta::F32(n) => self.number(n.to_le_bytes(), out),
            Meta::Bool(byte) => out.push(*byte),
            Meta::Text(bytes) => self.string(bytes, out),
            Meta::Array(kind, items) => {
                self.number(kind.to_le_bytes(), out);
                self.count(items.len() as u64, out);
                items.iter().for_each(|item| self.value(item, out));
            }
            Meta::U64(n) => self.number(n.to_le_bytes(), out),
            Meta::I64(n) => self.number(n.to_le_bytes(), out),
            Meta::F64(n) => self.number(n.to_le_bytes(), out),
        }
    }
}

/// A file under construction.
#[derive(Clone)]
pub struct Gguf {
    pub version: u32,
    pub is_big: bool,
    pub alignment: usize,
    pub pair_count: u64,
    pub pairs: Vec<u8>,
    pub tensor_count: u64,
    pub infos: Vec<u8>,
    pub data: Vec<u8>,
}

impl Default for Gguf {
    fn default() -> Self {
        Self::new(3, false)
    }
}

impl Gguf {
    pub fn new(version: u32, is_big: bool) -> Self {
        let (pairs, infos, data) = Default::default();
        Self { version, is_big, alignment: 32, pair_count: 0, pairs, tensor_count: 0, infos, data }
    }

    fn order(&self) -> Order {
        Order { is_short: self.version == 1, is_big: self.is_big }
    }

    pub fn value(&self, value: &Meta) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.order().value(value, &mut bytes);
        bytes
    }

    pub fn pair(&mut self, key: impl AsRef<[u8]>, value: &Meta) -> &mut Self {
        self.raw_pair(key, value.kind(), &[]);
        self.order().value(value, &mut self.pairs);
        self
    }

    /// Adds a pair whose value is these bytes.
    pub fn raw_pair(&mut self, key: impl AsRef<[u8]>, kind: u32, value: &[u8]) -> &mut Self {
        let (order, out) = (self.order(), &mut self.pairs);
        order.string(key.as_ref(), out);
        order.number(kind.to_le_bytes(), out);
        out.extend_from_slice(value);
        self.pair_count += 1;
        self
    }

    /// Adds the info of a tensor, without data.
    pub fn info(&mut self, name: impl AsRef<[u8]>, ne: &[u64], ggml_type: u32, offset: u64) -> &mut Self {
        let (order, out) = (self.order(), &mut self.infos);
        order.string(name.as_ref(), out);
        order.number((ne.len() as u32).to_le_bytes(), out);
        ne.iter().for_each(|length| order.count(*length, out));
        order.number(ggml_type.to_le_bytes(), out);
        // 64 bits in version 1, too.
        order.number(offset.to_le_bytes(), out);
        self.tensor_count += 1;
        self
    }

    /// Adds a tensor after those before it.
    pub fn tensor(&mut self, name: impl AsRef<[u8]>, ne: &[u64], ggml_type: u32, bytes: &[u8]) -> &mut Self {
        self.data.resize(self.data.len().next_multiple_of(self.alignment), 0);
        self.info(name, ne, ggml_type, self.data.len() as u64);
        self.data.extend(bytes);
        self
    }

    /// The bytes before the data, padded.
    pub fn head(&self) -> Vec<u8> {
        let (order, mut bytes) = (self.order(), Vec::with_capacity(64 + self.pairs.len() + self.infos.len()));
        bytes.extend_from_slice(b"GGUF");
        order.number(self.version.to_le_bytes(), &mut bytes);
        order.count(self.tensor_count, &mut bytes);
        order.count(self.pair_count, &mut bytes);
        bytes.extend_from_slice(&self.pairs);
        bytes.extend_from_slice(&self.infos);
        bytes.resize(bytes.len().next_multiple_of(self.alignment), 0);
        bytes
    }

    pub fn bytes(&self) -> Vec<u8> {
        [&self.head()[..], &self.data].concat()
    }
}
