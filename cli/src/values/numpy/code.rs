//! NumPy types without fields: byte order, kind, size, unit.

use tenslice::{ByteOrder, DType};

use crate::common::text::{hex, printable};
use crate::values::decimal::LongDouble;
use crate::values::number;
use crate::values::time::Unit;

/// A type without fields.
#[derive(Clone, Debug)]
pub struct Code {
    order: ByteOrder,
    /// NumPy's letter of the kind; `b` is boolean.
    kind: char,
    /// The number in the code: characters for UCS-4 text, otherwise bytes.
    size: usize,
    unit: Unit,
    /// The unit as the type spells it.
    unit_text: String,
}

impl Code {
    /// Parses byte order, kind, size and unit.
    pub fn parse(code: &str) -> Option<Self> {
        let (order, code) = match code.chars().next()? {
            '<' => (ByteOrder::Little, &code[1..]),
            '>' => (ByteOrder::Big, &code[1..]),
            // The library reads numbers of unstated order as little-endian.
            '=' | '|' => (ByteOrder::Little, &code[1..]),
            _ => (ByteOrder::Little, code),
        };
        let code = if code == "?" { "b1" } else { code };
        let kind = code.chars().next().filter(char::is_ascii_alphabetic)?;
        let (digits, unit_text) = code[1..].split_at(code[1..].find('[').unwrap_or(code.len() - 1));
        let size: usize = digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        let kind = if kind == 'a' { 'S' } else { kind };
        let is_known = match kind {
            'S' | 'V' | 'U' | 'b' => true,
            'i' | 'u' => matches!(size, 1 | 2 | 4 | 8),
            'f' => matches!(size, 2 | 4 | 8 | 12 | 16),
            'c' => matches!(size, 8 | 16 | 24 | 32),
            'M' | 'm' => size == 8,
            _ => false,
        };
        let is_time = matches!(kind, 'M' | 'm');
        let unit = Unit::parse(unit_text).filter(|_| is_time || unit_text.is_empty())?;
        is_known.then(|| Self { order, kind, size, unit, unit_text: unit_text.into() })
    }

    pub fn without_order(&self) -> String {
        let Self { kind, size, unit_text, .. } = self;
        format!("{kind}{size}{unit_text}")
    }

    /// Returns true for bytes without a meaning (`V`).
    pub fn is_raw(&self) -> bool {
        self.kind == 'V'
    }

    /// The size of an element in bytes.
    pub fn bytes(&self) -> Option<usize> {
        if self.kind == 'U' { self.size.checked_mul(4) } else { Some(self.size) }
    }

    /// The number of bytes to reverse together for this machine's byte order; `None` if nothing is reversed.
    pub fn lane(&self) -> Option<usize> {
        let lane = match self.kind {
            'U' => 4,
            'c' => self.size / 2,
            'M' | 'm' | 'i' | 'u' | 'f' => self.size,
            _ => 1,
        };
        (lane > 1 && self.order != ByteOrder::NATIVE).then_some(lane)
    }

    pub fn is_long_double(&self) -> bool {
        matches!((self.kind, self.size), ('f', 12 | 16) | ('c', 24 | 32))
    }

    pub fn long_double_size(&self) -> usize {
        if self.kind == 'c' { self.size / 2 } else { self.size }
    }

    /// Converts one number to little-endian order.
    pub fn little(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        if self.order == ByteOrder::Big {
            bytes.reverse();
        }
        bytes
    }

    pub fn text(&self, bytes: &[u8], long: LongDouble) -> String {
        let steps = |bytes: &[u8]| <[u8; 8]>::try_from(self.little(bytes)).map_or(i64::MIN, i64::from_le_bytes);
        match self.kind {
            'S' => format!("b\"{}\"", bytes_text(trimmed(bytes, 1))),
            'U' => format!("\"{}\"", self.characters(bytes)),
            'M' => self.unit.point(steps(bytes)),
            'm' => self.unit.duration(steps(bytes)),
            _ if self.is_long_double() => {
                let of_one = |bytes: &[u8]| long.text(&self.little(bytes)).unwrap_or_else(|| hex(bytes));
                let texts: Vec<String> = bytes.chunks_exact(self.long_double_size()).map(of_one).collect();
                if self.kind == 'c' { format!("({})", texts.join(", ")) } else { texts.concat() }
            }
            _ => match self.dtype() {
                Some(dtype) => {
                    let mut bytes = bytes.to_vec();
                    if let Some(lane) = self.lane() {
                        bytes.chunks_exact_mut(lane).for_each(<[u8]>::reverse);
                    }
                    number::text(dtype, &bytes)
                }
                None => hex(bytes),
            },
        }
    }

    fn dtype(&self) -> Option<DType> {
        Some(match (self.kind, self.size) {
            ('b', 1) => DType::BOOL,
            ('i', 1) => DType::I8,
            ('i', 2) => DType::I16,
            ('i', 4) => DType::I32,
            ('i', 8) => DType::I64,
            ('u', 1) => DType::U8,
            ('u', 2) => DType::U16,
            ('u', 4) => DType::U32,
            ('u', 8) => DType::U64,
            ('f', 2) => DType::F16,
            ('f', 4) => DType::F32,
            ('f', 8) => DType::F64,
            ('c', 8) => DType::C64,
            ('c', 16) => DType::C128,
            _ => return None,
        })
    }

    /// Formats UCS-4 text without its trailing NULs. Invalid characters are escaped: `\u{d800}`.
    fn characters(&self, bytes: &[u8]) -> String {
        let mut shown = String::new();
        for character in trimmed(bytes, 4).chunks_exact(4) {
            let code = <[u8; 4]>::try_from(self.little(character)).map_or(0, u32::from_le_bytes);
            match char::from_u32(code) {
                Some(c) => shown += &printable(c.encode_utf8(&mut [0; 4])),
                None => shown += &format!("\\u{{{code:x}}}"),
            }
        }
        shown
    }
}

/// Strips trailing zero units of `unit` bytes.
fn trimmed(bytes: &[u8], unit: usize) -> &[u8] {
    let used = bytes.chunks_exact(unit).rposition(|unit| unit.iter().any(|byte| *byte != 0));
    bytes.get(..used.map_or(0, |last| (last + 1) * unit)).unwrap_or(bytes)
}

/// Bytes as UTF-8 text. Other bytes are escaped: `\xff`.
fn bytes_text(bytes: &[u8]) -> String {
    let of_one = |chunk: std::str::Utf8Chunk<'_>| {
        let invalid: String = chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")).collect();
        let of_char = |c: char| match c {
            c if c.is_ascii_control() => format!("\\x{:02x}", u32::from(c)),
            c => printable(c.encode_utf8(&mut [0; 4])),
        };
        chunk.valid().chars().map(of_char).collect::<String>() + &invalid
    };
    bytes.utf8_chunks().map(of_one).collect()
}
