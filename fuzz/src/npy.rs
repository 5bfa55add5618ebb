//! NPY arrays of any type, with any spelling of their header that the grammar allows. What was made is listed and
//! read back. Or one thing is broken, in the header or anywhere.

use tenslice::{ByteOrder, DType, Order, Tensor, ReadOptions};

use crate::check;
use crate::choices::Choices;

/// An array and its expected contents.
pub struct Array {
    pub bytes: Vec<u8>,
    /// The offset of the items.
    pub head: usize,
    dtype: Option<DType>,
    is_big: bool,
    shape: Vec<u64>,
    is_column_major: bool,
    descr: String,
}

/// Writes a header.
struct Writer<'c, 'b> {
    choices: &'c mut Choices<'b>,
    text: String,
    version: u8,
}

impl Writer<'_, '_> {
    fn token(&mut self, token: &str) {
        for part in [token, self.choices.of(&["", "", "", "", "", " ", "\t", "\r\n "])] {
            self.text += part;
        }
    }

    fn quoted(&mut self, text: &str) {
        let quote = self.choices.of(&["'", "'", "\""]);
        self.token(&format!("{quote}{text}{quote}"));
    }

    fn shape(&mut self, shape: &[u64]) {
        self.token("(");
        for (k, length) in shape.iter().enumerate() {
            let is_long = self.version < 3 && self.choices.one_in(8);
            self.token(&format!("{length}{}", if is_long { "L" } else { "" }));
            if k + 1 < shape.len() || k == 0 || self.choices.one_in(8) {
                self.token(",");
            }
        }
        self.token(")");
    }

    /// Writes the type in a field or, with its shape, in a subarray. Returns its size.
    fn inner(&mut self, depth: usize, has_shape: bool) -> u64 {
        let mut size = if depth < 3 && self.choices.one_in(8) {
            self.token("(");
            let size = self.inner(depth + 1, true);
            self.token(")");
            size
        } else {
            self.descr(depth + 1).2
        };
        if has_shape {
            self.token(",");
            let shape: Vec<u64> = (0..self.choices.below(3)).map(|_| self.choices.below(3) as u64).collect();
            self.shape(&shape);
            size *= shape.iter().product::<u64>();
        }
        size
    }

    /// Writes a type. Returns the dtype, whether it is big-endian, and the size of an item.
    fn descr(&mut self, depth: usize) -> (Option<DType>, bool, u64) {
        if depth < 3 && self.choices.one_in(6) {
            let mut size = 0;
            self.token("[");
            let count = self.choices.below(4);
            for k in 0..count {
                if k > 0 {
                    self.token(",");
                }
                self.token("(");
                // Field names must differ.
                if self.choices.one_in(6) {
                    self.token("(");
                    self.quoted(&format!("a title{k}"));
                    self.token(",");
                    self.quoted(&format!("x\\'y{k}"));
                    self.token(")");
                } else {
                    let name = self.choices.of(&["x", "", "f0", "\\x41\\n"]);
                    self.quoted(&if k > 0 { format!("{name}{k}") } else { name.into() });
                }
                self.token(",");
                let has_shape = self.choices.one_in(3);
                size += self.inner(depth, has_shape);
                self.token(")");
            }
            if count > 0 && self.choices.one_in(4) {
                self.token(",");
            }
            self.token("]");
            return (None, false, size);
        }
        const NUMBERS: [(&str, DType); 14] = [
            ("b1", DType::BOOL), ("u1", DType::U8), ("u2", DType::U16), ("u4", DType::U32), ("u8", DType::U64),
            ("i1", DType::I8), ("i2", DType::I16), ("i4", DType::I32), ("i8", DType::I64), ("f2", DType::F16),
            ("f4", DType::F32), ("f8", DType::F64), ("c8", DType::C64), ("c16", DType::C128),
        ];
        const OTHERS: [(&str, u64); 12] = [
            ("S3", 3), ("V5", 5), ("U2", 8), ("S0", 0), ("M8[ns]", 8), ("m8[25us]", 8), ("M8", 8), ("f16", 16),
            ("f12", 12), ("c32", 32), ("c24", 24), ("V0", 0),
        ];
        let order = self.choices.of(&["<", ">", "|", "=", ""]);
        let (name, dtype, size) = if self.choices.one_in(4) {
            let (name, size) = self.choices.of(&OTHERS);
            (name, None, size)
        } else {
            let (name, dtype) = self.choices.of(&NUMBERS);
            (name, Some(dtype), dtype.size().unwrap())
        };
        self.quoted(&format!("{order}{name}"));
        (dtype, order == ">", size)
    }
}

impl Array {
    pub fn new(choices: &mut Choices<'_>) -> Self {
        let version = choices.of(&[1, 1, 2, 3]);
        let is_column_major = choices.below(2) == 1;
        let mut shape: Vec<u64> = (0..choices.below(5)).map(|_| choices.below(4) as u64).collect();
        if shape.contains(&0) && choices.one_in(4) {
            shape.push(u64::MAX); // no items
        }
        let turn = choices.below(6);
        let mut writer = Writer { choices, text: String::new(), version };
        let (mut items, mut descr) = ((None, false, 0), String::new());
        writer.token("{");
        for place in 0..3 {
            // The keys may be in any order.
            let field = [[0, 1, 2], [1, 0, 2], [2, 1, 0], [0, 2, 1], [1, 2, 0], [2, 0, 1]][turn][place];
            writer.quoted(["descr", "fortran_order", "shape"][field]);
            writer.token(":");
            match field {
                0 => {
                    let start = writer.text.len();
                    items = writer.descr(0);
                    descr = writer.text[start..].trim_end().to_string();
                }
                1 => writer.token(if is_column_major { "True" } else { "False" }),
                _ => writer.shape(&shape),
            }
            if place < 2 || writer.choices.below(2) == 0 {
                writer.token(",");
            }
        }
        writer.token("}");
        let mut text = writer.text;
        let before = if version == 1 { 10 } else { 12 };
        let is_padded = choices.below(2) == 0;
        let padded = (before + text.len() + 1).next_multiple_of(64) - before;
        let length = if is_padded { padded } else { text.len() };
        text += &" ".repeat(length - text.len());
        let mut bytes = b"\x93NUMPY".to_vec();
        bytes.extend([version, 0]);
        bytes.extend(&(text.len() as u32).to_le_bytes()[..before - 8]);
        bytes.extend(text.bytes());
        let (head, seed) = (bytes.len(), choices.any::<u8>());
        let elements = if shape.contains(&0) { 0 } else { shape.iter().product() };
        bytes.extend((0..elements * items.2).map(|i| seed.wrapping_add((i * i) as u8)));
        Self { bytes, head, dtype: items.0, is_big: items.1, shape, is_column_major, descr }
    }

    /// Compares a tensor with what was made.
    pub fn compare(&self, tensor: &Tensor<'_>) {
        assert_eq!(tensor.dtype(), self.dtype);
        assert_eq!(tensor.shape(), self.shape[..]);
        assert_eq!(tensor.order(), if self.is_column_major { Order::ColumnMajor } else { Order::RowMajor });
        let data = tensor.data().unwrap();
        let stored = &self.bytes[self.head..];
        assert_eq!(data.bytes().unwrap(), stored);
        let Some(dtype) = self.dtype else { return };
        let lane = dtype.lane_size();
        if lane > 1 {
            assert_eq!(data.byte_order() == ByteOrder::Big, self.is_big);
        }
        // In native byte order.
        let native: Vec<u8> = match (self.is_big, cfg!(target_endian = "big")) {
            (true, false) | (false, true) => stored.chunks(lane).flat_map(|lane| lane.iter().rev().copied()).collect(),
            _ => stored.to_vec(),
        };
        let mut room = vec![0; stored.len()];
        assert_eq!(tensor.read_into(&mut room, ReadOptions::new()).unwrap(), native);
    }
}

pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let made = Array::new(&mut choices);
    if choices.is_sound {
        let file = check::sound(&made.bytes);
        made.compare(&file.find("").unwrap());
        assert_eq!(file.as_npy().unwrap().descr(), made.descr.as_bytes());
        return;
    }
    // In the header alone, whose length is then corrected, or anywhere.
    let mut broken = made.bytes.clone();
    if choices.below(2) == 0 {
        let before = if broken[6] == 1 { 10 } else { 12 };
        let mut text = broken[before..made.head].to_vec();
        choices.damage(&mut text);
        broken.splice(before..made.head, text.iter().copied());
        broken[8..before].copy_from_slice(&(text.len() as u32).to_le_bytes()[..before - 8]);
    } else {
        choices.damage(&mut broken);
    }
    let _ = check::all(&broken);
}
