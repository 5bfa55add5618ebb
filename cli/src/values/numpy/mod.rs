//! NumPy types such as `<f4`, `<M8[s]` or a list of fields, and the text form of their elements.

mod code;
mod parser;

use self::code::Code;
use self::parser::Parser;
use super::decimal::LongDouble;
use crate::common::text::printable;

/// The maximum number of items shown in each dimension of an array in an element.
const SHOWN: usize = 64;
/// The maximum number of items shown per element. Without it, an element of zero-size items could show any number.
const SHOWN_IN_ALL: usize = 1 << 12;

/// A NumPy type.
#[derive(Clone, Debug)]
pub enum Type {
    Code(Code),
    /// An array in each element.
    Array(Box<Type>, Vec<usize>),
    Record(Vec<Field>),
}

/// A field of a record.
#[derive(Clone, Debug)]
pub struct Field {
    title: Option<String>,
    name: String,
    of: Type,
}

impl Type {
    /// Parses a type, with or without quotation marks around a code.
    pub fn parse(descr: &str) -> Option<Self> {
        if !descr.starts_with(['\'', '"', '[', '(']) {
            return Code::parse(descr).map(Self::Code);
        }
        Parser::read(descr).filter(|found| found.size().is_some())
    }

    /// The size of an element in bytes.
    pub fn size(&self) -> Option<usize> {
        match self {
            Self::Code(code) => code.bytes(),
            Self::Array(of, lengths) => lengths.iter().try_fold(of.size()?, |size, length| size.checked_mul(*length)),
            Self::Record(fields) => fields.iter().try_fold(0_usize, |size, field| size.checked_add(field.of.size()?)),
        }
    }

    /// The type without byte order, for comparing types.
    pub fn without_order(&self) -> String {
        match self {
            Self::Code(code) => code.without_order(),
            Self::Array(of, lengths) => format!("({}{lengths:?})", of.without_order()),
            Self::Record(fields) => {
                let of_one = |Field { title, name, of }: &Field| {
                    let title = title.as_ref().map(|title| format!("{title:?} titles ")).unwrap_or_default();
                    format!("{title}{name:?}: {}, ", of.without_order())
                };
                format!("[{}]", fields.iter().map(of_one).collect::<String>())
            }
        }
    }

    /// Returns true if elements must be converted to this machine's byte order.
    pub fn is_foreign(&self) -> bool {
        match self {
            Self::Code(code) => code.lane().is_some(),
            Self::Array(of, _) => of.is_foreign(),
            Self::Record(fields) => fields.iter().any(|field| field.of.is_foreign()),
        }
    }

    /// Converts elements to this machine's byte order.
    pub fn to_native(&self, bytes: &mut [u8]) {
        match self {
            Self::Code(code) => {
                if let Some(lane) = code.lane() {
                    bytes.chunks_exact_mut(lane).for_each(<[u8]>::reverse);
                }
            }
            Self::Array(of, _) => of.to_native(bytes),
            Self::Record(fields) => {
                let size = self.size().unwrap_or(0).max(1);
                for element in bytes.chunks_exact_mut(size) {
                    let mut rest = element;
                    for field in fields {
                        let (part, after) = rest.split_at_mut(field.of.size().unwrap_or(0).min(rest.len()));
                        field.of.to_native(part);
                        rest = after;
                    }
                }
            }
        }
    }

    /// Formats an element, given its bytes as stored.
    pub fn text(&self, bytes: &[u8], long: LongDouble) -> String {
        self.text_of_few(bytes, long, &mut { SHOWN_IN_ALL })
    }

    /// Formats an element with at most `left` items of its arrays.
    fn text_of_few(&self, bytes: &[u8], long: LongDouble, left: &mut usize) -> String {
        match self {
            Self::Code(code) => code.text(bytes, long),
            Self::Array(of, lengths) => array_text(of, lengths, bytes, long, left),
            Self::Record(fields) => {
                let mut rest = bytes;
                let mut texts = Vec::new();
                for Field { name, of, .. } in fields {
                    let (part, after) = rest.split_at(of.size().unwrap_or(0).min(rest.len()));
                    rest = after;
                    if !(name.is_empty() && of.is_raw()) {
                        texts.push(format!("{}: {}", printable(name), of.text_of_few(part, long, left)));
                    }
                }
                format!("{{{}}}", texts.join(", "))
            }
        }
    }

    /// Returns true for raw bytes (`V`). In a field without a name, raw bytes are padding.
    fn is_raw(&self) -> bool {
        matches!(self, Self::Code(code) if code.is_raw())
    }

    /// Adds the 16-byte long doubles in an element, in little-endian order, until there are `most`.
    pub fn long_doubles(&self, bytes: &[u8], most: usize, found: &mut Vec<[u8; 16]>) {
        match self {
            _ if found.len() >= most => {}
            Self::Code(code) if code.is_long_double() && code.long_double_size() == 16 => {
                let all = bytes.chunks_exact(16).map(|bytes| <[u8; 16]>::try_from(code.little(bytes)));
                found.extend(all.flatten().take(most - found.len()));
            }
            Self::Code(_) => {}
            Self::Array(of, _) => {
                let size = of.size().unwrap_or(0).max(1);
                for item in bytes.chunks_exact(size) {
                    of.long_doubles(item, most, found);
                    if found.len() >= most {
                        break;
                    }
                }
            }
            Self::Record(fields) => {
                let mut rest = bytes;
                for field in fields {
                    let (part, after) = rest.split_at(field.of.size().unwrap_or(0).min(rest.len()));
                    field.of.long_doubles(part, most, found);
                    rest = after;
                }
            }
        }
    }

    /// Returns true if elements contain long doubles of any size.
    pub fn has_long_doubles(&self) -> bool {
        match self {
            Self::Code(code) => code.is_long_double(),
            Self::Array(of, _) => of.has_long_doubles(),
            Self::Record(fields) => fields.iter().any(|field| field.of.has_long_doubles()),
        }
    }
}

/// Formats the items of an array in brackets, one pair per dimension, with at most `left` items.
fn array_text(of: &Type, lengths: &[usize], bytes: &[u8], long: LongDouble, left: &mut usize) -> String {
    let Some((length, rest)) = lengths.split_first() else {
        *left = left.saturating_sub(1);
        return of.text_of_few(bytes, long, left);
    };
    let size = rest.iter().fold(of.size().unwrap_or(0), |size, length| size.saturating_mul(*length));
    let item = |i: usize| bytes.get(i.saturating_mul(size)..).and_then(|bytes| bytes.get(..size));
    let mut texts = Vec::new();
    for bytes in (0..*length).take(SHOWN).map_while(item) {
        if *left == 0 {
            break;
        }
        texts.push(array_text(of, rest, bytes, long, left));
    }
    if *length > texts.len() {
        texts.push("...".into());
    }
    format!("[{}]", texts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(descr: &str, bytes: &[u8]) -> String {
        let found = Type::parse(descr).unwrap();
        assert_eq!(found.size(), Some(bytes.len()), "{descr}");
        found.text(bytes, LongDouble::X87)
    }

    #[test]
    fn elements_are_formatted_by_type() {
        let ucs4 = |text: &str| text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect::<Vec<u8>>();
        assert_eq!(text("'<U5'", &ucs4("Rex\0\0")), "\"Rex\"");
        assert_eq!(text("'<U3'", &ucs4("a\0é")), "\"a\\u{0}é\"");
        assert_eq!(text("'>U2'", &[0, 0, 0, b'h', 0, 1, 0xf6, 0]), "\"h😀\"");
        assert_eq!(text("'<U3'", &[0, 0xd8, 0, 0, 0, 0, 0x11, 0, b'x', 0, 0, 0]), "\"\\u{d800}\\u{110000}x\"");
        assert_eq!(text("'<U0'", &[]), "\"\"");
        assert_eq!(text("'|S7'", b"ab\xffc\0\n\0"), "b\"ab\\xffc\\x00\\x0a\"");
        assert_eq!(
            text("'|S4'", "hé".as_bytes().iter().chain(&[0]).copied().collect::<Vec<_>>().as_slice()),
            "b\"hé\""
        );
        assert_eq!(text("'|V3'", &[0, 1, 255]), "0001ff");
        assert_eq!(text("'|b1'", &[1]), "true");
        assert_eq!(text("'>i4'", &[0xff, 0xff, 0xff, 0xfe]), "-2");
        assert_eq!(text("'<M8[D]'", &19_782_i64.to_le_bytes()), "2024-02-29");
        assert_eq!(text(">M8[25s]", &3_i64.to_be_bytes()), "1970-01-01T00:01:15");
        assert_eq!(text("'<m8[25s]'", &3_i64.to_le_bytes()), "75s");
        assert_eq!(text("'<M8'", &i64::MIN.to_le_bytes()), "NaT");
        let half = [0, 0, 0, 0, 0, 0, 0, 0x80, 0xfe, 0x3f, 0, 0, 0, 0, 0, 0];
        let big: Vec<u8> = half.iter().rev().copied().collect();
        assert_eq!(text("'<f16'", &half), "0.5");
        assert_eq!(text("'>f16'", &big), "0.5");
        assert_eq!(text("'<f12'", &half[..12]), "0.5");
        assert_eq!(text("'<c32'", &[half, half].concat()), "(0.5, 0.5)");
        assert_eq!(text("'>c24'", &[&big[4..], &big[4..]].concat()), "(0.5, 0.5)");
    }

    #[test]
    fn fields_are_shown_by_name() {
        let bytes = [&[82, 0, 0, 0, 101, 0, 0, 0][..], &9_i32.to_be_bytes(), &1.5_f32.to_le_bytes()].concat();
        let descr = "[('name', '<U2'), ('age', '>i4'), ('weight', '<f4')]";
        assert_eq!(text(descr, &bytes), "{name: \"Re\", age: 9, weight: 1.5}");
        let descr = r#"[(('a title', 'it\'s'), '|i1', (2, 2)), ('', '|V2'), ('in', [('x', '?'), ("\u00e9", ('|u1', (2,)))])]"#;
        assert_eq!(
            text(descr, &[1, 2, 3, 254, 9, 9, 0, 7, 8]),
            "{it's: [[1, 2], [3, -2]], in: {x: false, é: [7, 8]}}"
        );
        assert_eq!(text("[('a', '|u1', (70,))]", &[5; 70]).matches("5, ").count(), 64);
        assert_eq!(text("[('a', '|S0', (100000000000000,)), ('b', '|u1')]", &[5]).matches("b\"\"").count(), 64);
        // Zero-size elements, in arrays of arrays and in records of arrays.
        let shown = |descr: &str| text(descr, &[5]).matches("b\"\"").count();
        assert_eq!(shown("[('a', '|S0', (64, 64, 64, 64, 64, 64, 64)), ('b', '|u1')]"), 4096);
        let deep = (0..6).fold("'|S0'".to_string(), |of, _| format!("[('a', {of}, (64,))]"));
        assert!(shown(&format!("[('a', {deep}), ('b', '|u1')]")) <= 4096);
        assert_eq!(text("[]", &[]), "{}");
    }

    #[test]
    fn invalid_types_are_rejected() {
        for descr in [
            "",
            "'",
            "'|O'",
            "|O",
            "<z4",
            "'<f3'",
            "<i3",
            "<U",
            "<U-1",
            "<U+1",
            "<M8[x]",
            "<M4[s]",
            "<f4[s]",
            "'<f4'x",
            "[",
            "[('a')]",
            "[('a', '<f4'",
            "{'names': ['a']}",
            "float32",
            "é",
            "<é",
            "[('a', '|S9223372036854775807'), ('b', '|S9223372036854775807'), ('c', '|S9223372036854775807')]",
            "<U9223372036854775807",
        ] {
            let found = Type::parse(descr).and_then(|found| found.size());
            assert_eq!(found, None, "{descr}");
        }
    }
}
