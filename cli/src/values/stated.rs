//! What a file says that elements are: more than their size and their bytes.

use std::borrow::Cow;

use tenslice::{ByteOrder, DType, Layout, Tensor, Warning};

use super::Values;
use crate::common::text::printable;

/// How deeply the types of fields may be nested: more than the library accepts.
const DEEPEST: usize = 32;
/// Arrays in fields, and fields, are told apart up to so many lanes of an element.
const MOST_LANES: usize = 1 << 12;

/// The type of elements as their file states it.
#[derive(Clone, Debug)]
pub struct Stated {
    /// For a person, as it is stored: `f32`, `<M8[D]`, `gguf.q4_0`.
    pub text: String,
    /// The same without byte order: two types are the same if these are.
    normal: String,
    /// Of elements that are no numbers to the library: the bytes of each lane, if they must be reversed to be in this
    /// machine's byte order. Empty if nothing must be.
    lanes: Vec<(usize, bool)>,
}

impl PartialEq for Stated {
    fn eq(&self, other: &Self) -> bool {
        self.normal == other.normal
    }
}

impl Stated {
    /// The type of the elements of a tensor: as `values` gives them, if they have been prepared.
    pub fn of(tensor: &Tensor<'_>, values: Option<&Values<'_>>) -> Self {
        let dtype = values.map_or(tensor.dtype(), |values| values.dtype);
        let of_dtype = |dtype: Option<DType>| dtype.map_or("-", DType::name);
        // Elements that are converted to f32 are those of another type.
        let plain = match (tensor.layout(), tensor.block_type()) {
            (_, Some(block)) => block.layout_name().to_owned(),
            (Layout::Blocks | Layout::Microscaling, None) => tensor.layout_name().to_owned(),
            _ if tensor.dtype().is_some_and(DType::is_packed) => of_dtype(tensor.dtype()).to_owned(),
            _ if dtype.is_some() => of_dtype(dtype).to_owned(),
            _ => {
                let descr = values.and_then(|values| values.descr.clone()).or_else(|| descr_of(tensor));
                return descr.map_or_else(|| Self::plain("-".into()), |descr| Self::of_numpy(&descr));
            }
        };
        let is_unknown = tensor.warnings().contains(Warning::UnknownLogicalType);
        Self::plain(if is_unknown { format!("an unknown logical type over {plain}") } else { plain })
    }

    fn plain(text: String) -> Self {
        Self { normal: text.clone(), text: printable(&text), lanes: Vec::new() }
    }

    /// A type in the words of NumPy, with or without quotation marks around it.
    fn of_numpy(descr: &str) -> Self {
        let text = printable(descr.trim_matches('\''));
        let mut parser = Parser { rest: descr, normal: String::new() };
        let lanes = if descr.starts_with(['\'', '"', '[', '(']) { parser.item(DEEPEST) } else { parser.code(descr) };
        match lanes.filter(|_| parser.rest.trim().is_empty() || !descr.starts_with(['\'', '"', '[', '('])) {
            Some(lanes) if lanes.iter().any(|(_, is_reversed)| *is_reversed) => {
                Self { text, normal: parser.normal, lanes }
            }
            Some(_) => Self { text, normal: parser.normal, lanes: Vec::new() },
            None => Self { text, normal: descr.into(), lanes: Vec::new() },
        }
    }

    /// Turns the lanes of elements into this machine's byte order.
    pub fn to_native(&self, bytes: &mut [u8]) {
        let size: usize = self.lanes.iter().map(|(size, _)| size).sum();
        if size == 0 {
            return;
        }
        for element in bytes.chunks_exact_mut(size) {
            let mut rest = element;
            for (size, is_reversed) in &self.lanes {
                let (lane, after) = rest.split_at_mut(*size);
                if *is_reversed {
                    lane.reverse();
                }
                rest = after;
            }
        }
    }
}

/// The type of the elements in the words of NumPy, if the file has it: UTF-8, or Latin-1 in older versions of NPY.
pub fn descr_of(tensor: &Tensor<'_>) -> Option<String> {
    let descr = tensor.stated_type()?;
    Some(match std::str::from_utf8(descr) {
        Ok(text) => text.into(),
        Err(_) => descr.iter().map(|byte| char::from(*byte)).collect(),
    })
}

/// Reads a type in the words of NumPy: a code such as `'<f4'`, a list of fields, or a pair of a type and a shape.
struct Parser<'t> {
    rest: &'t str,
    /// What has been read, without byte order.
    normal: String,
}

type Lanes = Vec<(usize, bool)>;

impl<'t> Parser<'t> {
    /// Takes that character, if it is the next one after white space.
    fn take(&mut self, c: char) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(c)?;
        Some(())
    }

    /// Takes a string, and returns it as it is written, without the quotation marks.
    fn string(&mut self) -> Option<&'t str> {
        let text = self.rest.trim_start();
        let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let mut is_escaped = false;
        for (at, c) in text.char_indices().skip(1) {
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                c if c == quote => {
                    self.rest = text.get(at + 1..)?;
                    return text.get(1..at);
                }
                _ => {}
            }
        }
        None
    }

    fn item(&mut self, depth: usize) -> Option<Lanes> {
        let depth = depth.checked_sub(1)?;
        let start = self.rest.trim_start().chars().next()?;
        match start {
            '[' => self.fields(depth),
            '(' => {
                self.take('(')?;
                self.normal.push('(');
                let lanes = self.item(depth)?;
                self.take(',')?;
                let lanes = self.repeated(lanes)?;
                _ = self.take(',');
                self.take(')')?;
                self.normal.push(')');
                Some(lanes)
            }
            _ => {
                let code = self.string()?;
                self.code(code)
            }
        }
    }

    /// Fields in brackets, each with a name or a title and a name, a type, and perhaps a shape.
    fn fields(&mut self, depth: usize) -> Option<Lanes> {
        let mut all = Lanes::new();
        self.take('[')?;
        self.normal.push('[');
        while self.take(']').is_none() {
            self.take('(')?;
            if self.take('(').is_some() {
                let title = self.string()?;
                self.take(',')?;
                self.normal += &format!("{title:?} titles ");
                let name = self.string()?;
                self.normal += &format!("{name:?}: ");
                self.take(')')?;
            } else {
                let name = self.string()?;
                self.normal += &format!("{name:?}: ");
            }
            self.take(',')?;
            let mut lanes = self.item(depth)?;
            if self.take(',').is_some() && !self.rest.trim_start().starts_with(')') {
                lanes = self.repeated(lanes)?;
                _ = self.take(',');
            }
            self.take(')')?;
            self.normal += ", ";
            all.extend(lanes);
            if all.len() > MOST_LANES {
                return None;
            }
            if self.take(',').is_none() {
                self.take(']')?;
                break;
            }
        }
        self.normal.push(']');
        Some(all)
    }

    /// Takes the shape of an array in each element, and returns the lanes of all.
    fn repeated(&mut self, lanes: Lanes) -> Option<Lanes> {
        let text = self.rest.trim_start();
        let end = if text.starts_with('(') { text.find(')')? + 1 } else { text.find([',', ')'])? };
        let (shape, rest) = text.split_at(end);
        self.rest = rest;
        let lengths = shape.trim_matches(['(', ')']).split(',').map(str::trim).filter(|length| !length.is_empty());
        let lengths: Vec<usize> = lengths.map(|length| length.parse().ok()).collect::<Option<_>>()?;
        self.normal += &format!("{lengths:?}");
        let count = lengths.iter().try_fold(1_usize, |product, length| product.checked_mul(*length))?;
        // Bytes that are not numbers need not be told apart.
        if let [(size, false)] = lanes[..] {
            return Some(vec![(size.checked_mul(count)?, false)]);
        }
        let total = lanes.len().checked_mul(count).filter(|total| *total <= MOST_LANES)?;
        Some(lanes.into_iter().cycle().take(total).collect())
    }

    /// A code: byte order, kind, size, unit.
    fn code(&mut self, code: &str) -> Option<Lanes> {
        let (order, code) = match code.chars().next()? {
            '<' => (ByteOrder::Little, &code[1..]),
            '>' => (ByteOrder::Big, &code[1..]),
            '=' | '|' => (ByteOrder::NATIVE, &code[1..]),
            _ => (ByteOrder::NATIVE, code),
        };
        let code: Cow<'_, str> = match code.strip_prefix('a') {
            Some(size) => format!("S{size}").into(),
            None if code == "?" => "b1".into(),
            None => code.into(),
        };
        let kind = code.chars().next().filter(char::is_ascii_alphabetic)?;
        let (digits, unit) = code[1..].split_at(code[1..].find('[').unwrap_or(code.len() - 1));
        let size: usize = digits.parse().ok()?;
        let (count, lane) = match kind {
            'U' => (size, 4),
            'c' => (2, size / 2),
            'M' | 'm' | 'i' | 'u' | 'f' => (1, size),
            'S' | 'V' | 'b' | 'B' => (1, size),
            _ => return None,
        };
        let has_order = matches!(kind, 'U' | 'c' | 'M' | 'm' | 'i' | 'u' | 'f') && lane > 1;
        self.normal += &format!("{kind}{size}{unit}");
        let is_reversed = has_order && order != ByteOrder::NATIVE;
        if !is_reversed {
            return Some(vec![(count.checked_mul(lane)?, false)]);
        }
        (count <= MOST_LANES).then(|| vec![(lane, true); count])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_same(a: &str, b: &str) -> bool {
        Stated::of_numpy(a) == Stated::of_numpy(b)
    }

    #[test]
    fn byte_order_and_spelling_are_no_difference() {
        for (a, b) in [
            ("'<M8[D]'", "'>M8[D]'"),
            ("'<U10'", ">U10"),
            ("|S4", "'S4'"),
            ("'a4'", "'|S4'"),
            ("[('a', '<i4'), ('b', '|u1')]", "[(\"a\",'>i4'),('b','u1'),]"),
            ("[('a', '?')]", "[('a', '|b1')]"),
            ("[('a', '<f4', (2,))]", "[('a', '>f4', 2)]"),
            ("[('a', [('b', '<c8', (2, 3))], (1,))]", "[('a', [('b', '>c8', (2,3))], (1,))]"),
            ("('<f4', (2,))", "('>f4', (2,))"),
        ] {
            assert!(is_same(a, b), "{a} {b}");
        }
    }

    #[test]
    fn other_elements_are_a_difference() {
        let all = [
            "'<M8[D]'",
            "'<M8[s]'",
            "'<M8[25s]'",
            "'<m8[s]'",
            "'<U1'",
            "'|S4'",
            "'|V4'",
            "[('a', '<i4'), ('b', '<f4')]",
            "[('b', '<f4'), ('a', '<i4')]",
            "[('a', '<i4'), ('c', '<f4')]",
            "[(('title', 'a'), '<i4'), ('b', '<f4')]",
            "[('a', '<i4', (2,))]",
            "[('a', '<i4', (1, 2))]",
            "[('a', [('b', '<i4', (2,))])]",
            "[('a', '<i4', (2,)), ]x",
            "{'names': ['a'], 'formats': ['<i4']}",
        ];
        for (i, a) in all.iter().enumerate() {
            for (j, b) in all.iter().enumerate() {
                assert_eq!(is_same(a, b), i == j, "{a} {b}");
            }
        }
        // Deeper than any file may be.
        let deep = format!("{}'<i4'{}", "[('a', ".repeat(10_000), ")]".repeat(10_000));
        assert!(Stated::of_numpy(&deep).lanes.is_empty());
    }

    #[test]
    fn lanes_are_turned_into_this_order() {
        let (big, little) = if cfg!(target_endian = "big") { ('<', '>') } else { ('>', '<') };
        let descr = format!("[('a', '|S2'), ('b', '{big}u2', (2,)), ('c', [('d', '{big}c8'), ('e', '{little}i4')])]");
        let mut bytes: Vec<u8> = (0..36).collect();
        Stated::of_numpy(&descr).to_native(&mut bytes);
        let element = [0, 1, 3, 2, 5, 4, 9, 8, 7, 6, 13, 12, 11, 10, 14, 15, 16, 17];
        assert_eq!(bytes[..18], element);
        assert_eq!(bytes[18..], element.map(|x| x + 18));
    }
}
