//! The element type that a file states, which says more than the size of the elements.

use tenslice::{DType, Layout, Tensor, Warning};

use super::decimal::LongDouble;
use super::numpy::Type;
use super::{Values, number};
use crate::common::failure::Failure;
use crate::common::model::Opened;
use crate::common::text::{descr_text, hex, printable};

/// The maximum number of long doubles to examine.
const TRIED: usize = 1 << 12;

/// The element type that a file states.
#[derive(Clone, Debug)]
pub struct Stated {
    /// The type for display, as stored: `f32`, `<M8[D]`, `gguf.q4_0`.
    pub text: String,
    /// The type in NumPy's notation, as stored, if the library does not read the elements as numbers.
    descr: String,
    /// The type without byte order, for comparing types.
    normal: String,
    /// The parsed NumPy type of elements that the library does not read as numbers.
    found: Option<Type>,
}

impl PartialEq for Stated {
    fn eq(&self, other: &Self) -> bool {
        self.normal == other.normal
    }
}

impl Stated {
    /// The element type of a tensor or, if `values` is given, the type in which `values` reads the elements.
    pub fn of(opened: &Opened<'_>, tensor: &Tensor<'_>, values: Option<&Values<'_>>) -> Self {
        let stored = opened.array(tensor).and_then(|array| array.dtype);
        let dtype = values.map_or(stored, |values| values.dtype);
        let of_dtype = |dtype: Option<DType>| dtype.map_or("-", DType::name);
        // Elements that are converted to f32 keep their original type.
        let plain = match (tensor.layout(), tensor.block_type()) {
            (_, Some(block)) => block.layout_name().to_owned(),
            (Layout::Blocks | Layout::Microscaling, None) => tensor.layout_name().to_owned(),
            _ if tensor.dtype().is_some_and(DType::is_packed) => of_dtype(tensor.dtype()).to_owned(),
            _ if dtype.is_some() => of_dtype(dtype).to_owned(),
            _ => {
                let descr = opened.array(tensor).and_then(|array| array.descr.clone());
                return descr.map_or_else(|| Self::plain("-".into()), |descr| Self::of_numpy(&descr));
            }
        };
        let is_unknown = tensor.warnings().contains(Warning::UnknownLogicalType);
        Self::plain(if is_unknown { format!("an unknown logical type over {plain}") } else { plain })
    }

    fn plain(text: String) -> Self {
        Self { normal: text.clone(), text: printable(&text), descr: String::new(), found: None }
    }

    /// A type in NumPy's notation, with or without quotation marks around it.
    pub fn of_numpy(descr: &str) -> Self {
        let found = Type::parse(descr);
        let normal = found.as_ref().map_or_else(|| descr.into(), Type::without_order);
        Self { text: descr_text(descr), descr: descr.into(), normal, found }
    }

    /// The type as an NPY header spells it. `None` for elements that are read as numbers, unknown types, other sizes.
    pub fn literal(&self, size: Option<u64>) -> Option<String> {
        self.found.as_ref().filter(|_| size.is_none_or(|size| self.size() == Some(size)))?;
        let is_literal = self.descr.starts_with(['\'', '"', '[']);
        Some(if is_literal { self.descr.clone() } else { format!("'{}'", self.descr) })
    }

    /// The size of an element in bytes; `None` if the library reads the elements as numbers, or the type is unknown.
    pub fn size(&self) -> Option<u64> {
        self.found.as_ref()?.size().map(|size| size as u64)
    }

    /// Converts elements to this machine's byte order.
    pub fn to_native(&self, bytes: &mut [u8]) {
        if let Some(found) = self.found.as_ref().filter(|found| found.is_foreign()) {
            found.to_native(bytes);
        }
    }

    /// Formats an element that the library does not read as a number, given its bytes as stored.
    pub fn element(&self, bytes: &[u8], long: LongDouble) -> String {
        let found = self.found.as_ref().filter(|found| found.size() == Some(bytes.len()));
        found.map_or_else(|| hex(bytes), |found| found.text(bytes, long))
    }

    /// Returns true if the elements contain long doubles.
    pub fn has_long_doubles(&self) -> bool {
        self.found.as_ref().is_some_and(Type::has_long_doubles)
    }

    /// Detects the format of the long doubles in `bytes`. Only long doubles of 16 bytes have more than one format.
    pub fn long_double(&self, bytes: &[u8]) -> LongDouble {
        let mut all = Vec::new();
        if let Some((found, size)) = self.found.as_ref().zip(self.size().filter(|size| *size > 0)) {
            bytes.chunks_exact(size as usize).for_each(|element| found.long_doubles(element, TRIED, &mut all));
        }
        LongDouble::of(all.iter())
    }
}

impl Values<'_> {
    /// Determines the element type, once the dtype is known.
    pub(super) fn recognized(mut self, opened: &Opened<'_>, tensor: &Tensor<'_>) -> Result<Self, Failure> {
        // The number of bytes to read to detect the format of long doubles.
        const READ: u64 = 1 << 16;
        self.stated = Stated::of(opened, tensor, Some(&self));
        if self.stated.has_long_doubles() {
            let mut bytes = Vec::new();
            let count = (READ / self.size.max(1)).max(1);
            self.read(0, self.count.min(count), &mut bytes).map_err(|stop| opened.fail(stop))?;
            self.long = self.stated.long_double(&bytes);
        }
        Ok(self)
    }

    /// Formats an element, given its bytes.
    pub fn text(&self, bytes: &[u8]) -> String {
        self.dtype.map_or_else(|| self.stated.element(bytes, self.long), |dtype| number::text(dtype, bytes))
    }

    /// Describes the format in which long doubles are read, if there are any.
    pub fn note(&self) -> Option<&'static str> {
        (self.dtype.is_none() && self.stated.has_long_doubles()).then(|| self.long.note())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_same(a: &str, b: &str) -> bool {
        Stated::of_numpy(a) == Stated::of_numpy(b)
    }

    #[test]
    fn types_that_differ_in_byte_order_or_spelling_are_equal() {
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
    fn different_types_are_unequal() {
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
        // Nested deeper than any file may be.
        let deep = format!("{}'<i4'{}", "[('a', ".repeat(10_000), ")]".repeat(10_000));
        assert!(Stated::of_numpy(&deep).found.is_none());
    }

    #[test]
    fn lanes_are_converted_to_native_order() {
        let (big, little) = if cfg!(target_endian = "big") { ('<', '>') } else { ('>', '<') };
        let descr = format!("[('a', '|S2'), ('b', '{big}u2', (2,)), ('c', [('d', '{big}c8'), ('e', '{little}i4')])]");
        let mut bytes: Vec<u8> = (0..36).collect();
        Stated::of_numpy(&descr).to_native(&mut bytes);
        let element = [0, 1, 3, 2, 5, 4, 9, 8, 7, 6, 13, 12, 11, 10, 14, 15, 16, 17];
        assert_eq!(bytes[..18], element);
        assert_eq!(bytes[18..], element.map(|x| x + 18));
    }
}
