//! The header of a NumPy array, in a file of its own or in an archive.
//!
//! ```text
//! 0        "\x93NUMPY", major and minor version, a byte each
//! 8        length of the header, little-endian: u16 in 1.0, u32 in 2.0 and 3.0
//! 10, 12   header, a Python dict: UTF-8 in 3.0, Latin-1 before
//! ```
//!
//! NumPy accepts any literal as the header. This reader accepts only what writers emit: a closed grammar is
//! unambiguous. White space is allowed between any two tokens:
//!
//! ```text
//! "{" entry ("," entry)* [","] "}"           entry: "'descr':" type | "'fortran_order':" bool | "'shape':" shape
//! type   "'<f4'" | "[" [field ("," field)* [","]] "]"
//! field  "(" name "," inner ["," shape] ")"   name: text | "(" title "," name ")"
//! inner  type | "(" inner ["," shape] ")"
//! shape  "()" | "(" int "," [int ("," int)* [","]] ")"
//! ```
//!
//! The names in a record must differ: see `fields`.
#![forbid(unsafe_code)]

#[cfg(not(target_os = "none"))]
mod fields;
#[cfg(target_os = "none")]
#[path = "any_fields.rs"]
mod fields;
#[cfg(feature = "write")]
pub(crate) mod write;

pub(crate) use self::fields::Names;
use crate::bytes::keywords::keywords;
use crate::bytes::num::{decimal, product, to_u64, to_usize};
use crate::bytes::utf8::is_utf8;
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::error::warning::Warning;
use crate::types::shape::{Shape, decimal_dimension};
use crate::types::{ByteOrder, DType};

/// The maximum nesting depth of record fields and of subarrays in them.
const MAX_DEPTH: usize = 32;

pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// The largest head that is read: a limit of this library, as for the metadata of other formats.
const MAX_HEAD: u64 = 1 << 30;

/// The number of bytes at the start of an array that determine the length of its head, which precedes the items.
pub(crate) const START: u64 = 12;

/// Returns the version of an array that begins with `head`, the name of the version, and the number of bytes before the
/// header.
pub(crate) fn version(head: &[u8]) -> Option<(u8, &'static str, usize)> {
    match head.get(MAGIC.len()..)? {
        [1, 0, ..] => Some((1, "1.0", 10)),
        [2, 0, ..] => Some((2, "2.0", 12)),
        [3, 0, ..] => Some((3, "3.0", 12)),
        _ => None,
    }
}

/// Returns whether the header of an array that begins with `head` is Latin-1 rather than UTF-8.
pub(crate) fn is_latin_1(head: &[u8]) -> bool {
    version(head).is_some_and(|(version, ..)| version < 3)
}

/// Returns the number of bytes before the items, for an array of `length` bytes in total that begins with `start`.
/// `start` has [`START`] bytes, or the whole array if it is shorter.
pub(crate) fn head_length(start: &[u8], length: u64) -> Result<u64, Fault> {
    let truncated = (ErrorKind::Truncated, Part::Header, length);
    let is_array = start.get(..MAGIC.len()).ok_or(truncated)? == MAGIC;
    if !is_array {
        return Err((ErrorKind::Malformed, Part::Header, 0));
    }
    start.get(..8).ok_or(truncated)?;
    version(start).ok_or((ErrorKind::UnsupportedVersion, Part::Version, 6))?;
    let head = stated_length(start).ok_or(truncated)?;
    if head > length {
        return Err((ErrorKind::OutOfFile, Part::Header, 8));
    }
    if head > MAX_HEAD {
        return Err((ErrorKind::ManifestTooLarge, Part::Header, 8));
    }
    Ok(head)
}

/// Returns the number of bytes before the items, as stated at the start of an array.
pub(crate) fn stated_length(start: &[u8]) -> Option<u64> {
    let (_, _, before) = version(start)?;
    let header = start.get(8..before)?.iter().rev().fold(0_u64, |length, byte| length << 8 | u64::from(*byte));
    Some(to_u64(before).saturating_add(header))
}

/// The contents of a header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header<'a> {
    /// The type as spelled in the header.
    pub(crate) descr: &'a [u8],
    pub(crate) items: Items,
    pub(crate) is_column_major: bool,
    pub(crate) shape: Shape<'a>,
    /// The names of the fields in `descr`.
    pub(crate) names: Names,
    /// The position of the shape, counted from the start of the array.
    shape_at: u64,
}

/// The type of the items of an array, or of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Items {
    /// `None` for strings, times, records and other types whose bytes are exposed unchanged.
    pub(crate) dtype: Option<DType>,
    pub(crate) order: ByteOrder,
    /// True if multi-byte numbers have an unstated byte order: that of the machine that wrote them.
    pub(crate) is_native: bool,
    /// The number of bytes per item.
    size: u64,
}

/// An error in an array, and its position, counted from the start of the array.
pub(crate) type Fault = (ErrorKind, Part, u64);

impl<'a> Header<'a> {
    /// Reads everything before the items.
    pub(crate) fn read(head: &'a [u8]) -> Result<Self, Fault> {
        let (version, _, before) = version(head).ok_or((ErrorKind::UnsupportedVersion, Part::Version, 6))?;
        let text = head.get(before..).unwrap_or_default();
        let before = to_u64(before);
        if version == 3 && !is_utf8(text) {
            return Err((ErrorKind::InvalidUtf8, Part::Header, before));
        }
        // Python 2 wrote its long integers with an `L`, but never in 3.0.
        let mut reader = Reader::new(text, version < 3);
        let Some(mut header) = Self::of(&mut reader) else {
            let (kind, item, at) = reader.fault;
            return Err((kind, item, before.saturating_add(at)));
        };
        header.shape_at = header.shape_at.saturating_add(before);
        header.names = header.names.compared(header.descr, before, version == 3)?;
        Ok(header)
    }

    fn of(reader: &mut Reader<'a>) -> Option<Self> {
        let (mut descr, mut order, mut shape, mut shape_at, mut names) = (None, None, None, 0, Names::default());
        reader.expect(b'{')?;
        while !reader.take(b'}') {
            reader.item = Part::Key;
            let key = reader.rest;
            let number = keywords!["descr": 0, "fortran_order": 1, "shape": 2].number_of(reader.text()?);
            let is_repeated = match number {
                0 => descr.is_some(),
                1 => order.is_some(),
                2 => shape.is_some(),
                _ => return reader.stop_at(key, ErrorKind::Malformed),
            };
            if is_repeated {
                return reader.stop_at(key, ErrorKind::RepeatedKey);
            }
            reader.expect(b':')?;
            match number {
                0 => {
                    names = Names::before(reader);
                    descr = Some(reader.descr()?);
                }
                1 => order = Some(reader.boolean()?),
                _ => {
                    reader.skip_space();
                    shape_at = to_u64(reader.text.len()).saturating_sub(to_u64(reader.rest.len()));
                    shape = Some(reader.shape()?);
                }
            }
            reader.item = Part::Header;
            if !reader.take(b',') && !reader.rest.starts_with(b"}") {
                return reader.stop(ErrorKind::Malformed);
            }
        }
        reader.skip_space();
        if !reader.rest.is_empty() {
            return reader.stop(ErrorKind::TrailingBytes);
        }
        let (Some((items, descr)), Some(is_column_major), Some(shape)) = (descr, order, shape) else {
            reader.item = match (descr, order) {
                (None, _) => Part::DType,
                (_, None) => Part::Order,
                _ => Part::Shape,
            };
            return reader.stop_at(reader.text, ErrorKind::MissingKey);
        };
        Some(Self { descr, items, is_column_major, shape, names, shape_at })
    }

    /// Returns the number of bytes in the items, for an array with `head` bytes before them and `length` bytes in
    /// total; also returns the warnings, as bits.
    pub(crate) fn items_length(&self, head: u64, length: u64) -> Result<(u64, u32), Fault> {
        let overflow = (ErrorKind::ShapeOverflow, Part::Shape, self.shape_at);
        let rest = length.saturating_sub(head);
        let items = self.size().ok_or(overflow)?;
        if items > rest {
            return Err((ErrorKind::Truncated, Part::Data, length));
        }
        let trailing = if items < rest { Warning::TrailingBytes.bit() } else { 0 };
        let native = if self.items.is_native { Warning::UnstatedByteOrder.bit() } else { 0 };
        Ok((items, trailing | native | self.names.warnings()))
    }

    /// Returns the number of bytes in the items; `None` beyond 64 bits; 0 if there are no items, or if items have no
    /// bytes.
    fn size(&self) -> Option<u64> {
        if self.items.size == 0 { Some(0) } else { product(self.shape.element_count(), self.items.size) }
    }
}

/// Returns the details of the message of an error at byte `at` of an array that begins with `head`: the rule in the
/// terms of this format, the string found, a hint.
pub(crate) fn explain<'a>(head: &'a [u8], kind: ErrorKind, item: Part, at: u64) -> Explained<'a> {
    let mut explained = Explained::default();
    match (kind, item) {
        (ErrorKind::Malformed, item) => {
            explained.rule = Some(match item {
                Part::Key => "the keys are 'descr', 'fortran_order' and 'shape'",
                Part::Shape => "a shape is a tuple of lengths, such as (3, 4) or (3,)",
                Part::Order => "this is neither True nor False",
                Part::DType => "a type is a string such as '<f4', or a list of fields such as ('x', '<f4')",
                _ if at == 0 => "an array begins with \\x93NUMPY",
                _ => "this is not a Python dict of the form that NumPy writes",
            });
        }
        (ErrorKind::RepeatedName, _) => {
            explained.rule = Some("two fields of a record have the same name or title");
            let rest = to_usize(at).and_then(|at| head.get(at..)).unwrap_or_default();
            explained.text = Reader::new(rest, true).quoted().and_then(|text| core::str::from_utf8(text).ok());
        }
        (ErrorKind::UnknownDType, _) => {
            let rest = to_usize(at).and_then(|at| head.get(at..)).unwrap_or_default();
            explained.text = Reader::new(rest, true).text().and_then(|text| core::str::from_utf8(text).ok());
            let name = explained.text.unwrap_or_default().trim_start_matches(['<', '>', '|', '=']);
            (explained.rule, explained.hint) = why_unknown(name);
        }
        (ErrorKind::MissingKey, item) => {
            explained.missing = Some(match item {
                Part::DType => "descr",
                Part::Order => "fortran_order",
                _ => "shape",
            });
        }
        (ErrorKind::Truncated, Part::Data) => {
            let items = Header::read(head).ok().and_then(|header| header.size());
            explained.needed = items.and_then(|items| items.checked_add(to_u64(head.len())));
        }
        _ => {}
    }
    explained
}

/// Returns why the type named `name`, without byte order, is unknown, and a hint. `np.save` writes `O` for objects and
/// for texts of variable width, `f1` for the float8_e5m2 of ml_dtypes, and `W4` for its complex32 and bcomplex32.
fn why_unknown(name: &str) -> (Option<&'static str>, Option<&'static str>) {
    let is_object =
        name.strip_prefix('O').is_some_and(|size| size.bytes().all(|byte| byte.is_ascii_digit())) || name == "object";
    let is_of_ml_dtypes = ["bfloat16", "float8_", "float6_", "float4_"].iter().any(|start| name.starts_with(start))
        || matches!(name, "int2" | "int4" | "uint2" | "uint4");
    let (rule, hint) = if is_object {
        let hint = "Python objects are pickled, and are not supported: store them as arrays of numbers or texts";
        ("the elements are Python objects", hint)
    } else if matches!(name, "f1" | "W4") {
        ("this is a type of ml_dtypes that NumPy writes, but does not read", "save a view of it as unsigned integers")
    } else if is_of_ml_dtypes {
        ("this is the name of a type of ml_dtypes", "NumPy writes its elements as bytes, such as '<V2'")
    } else {
        let hint = "NumPy writes byte order, kind and size, such as '<f4'";
        ("NumPy has no such type, or spells it otherwise", hint)
    };
    (Some(rule), Some(hint))
}

/// See [`explain`].
#[derive(Default)]
pub(crate) struct Explained<'a> {
    pub(crate) rule: Option<&'static str>,
    pub(crate) text: Option<&'a str>,
    pub(crate) hint: Option<&'static str>,
    pub(crate) missing: Option<&'static str>,
    /// The length in bytes that the array should have.
    pub(crate) needed: Option<u64>,
}

/// Reads token by token. If a call returns `None`, the reader holds the error, since passing errors from call to call
/// would take more code than the checks.
struct Reader<'a> {
    text: &'a [u8],
    rest: &'a [u8],
    /// The part of the file being read.
    item: Part,
    has_long: bool,
    fault: Fault,
}

impl<'a> Reader<'a> {
    fn new(text: &'a [u8], has_long: bool) -> Self {
        Self { text, rest: text, item: Part::Header, has_long, fault: (ErrorKind::Malformed, Part::Header, 0) }
    }

    /// Stops with an error at the next token.
    #[inline]
    fn stop<T>(&mut self, kind: ErrorKind) -> Option<T> {
        self.skip_space();
        self.stop_at(self.rest, kind)
    }

    /// Stops with an error at the start of `rest`.
    #[inline]
    fn stop_at<T>(&mut self, rest: &[u8], kind: ErrorKind) -> Option<T> {
        self.fail(to_u64(rest.len()), kind);
        None
    }

    #[cold]
    #[inline(never)]
    fn fail(&mut self, left: u64, kind: ErrorKind) {
        self.fault = (kind, self.item, to_u64(self.text.len()).saturating_sub(left));
    }

    #[inline(never)]
    fn skip_space(&mut self) {
        while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// Returns whether the next token is `byte`, and consumes it if so.
    fn take(&mut self, byte: u8) -> bool {
        self.skip_space();
        let Some((_, rest)) = self.rest.split_first().filter(|(first, _)| **first == byte) else { return false };
        self.rest = rest;
        true
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        if self.take(byte) { Some(()) } else { self.stop(ErrorKind::Malformed) }
    }

    /// Reads a quoted string without escapes.
    fn text(&mut self) -> Option<&'a [u8]> {
        let start = self.rest;
        let text = self.quoted()?;
        if text.contains(&b'\\') { self.stop_at(start, ErrorKind::Malformed) } else { Some(text) }
    }

    /// Reads a quoted string. Escapes are skipped, not decoded: they occur only in field names, which `fields`
    /// compares.
    fn quoted(&mut self) -> Option<&'a [u8]> {
        self.skip_space();
        let Some((quote @ (b'\'' | b'"'), text)) = self.rest.split_first() else {
            return self.stop(ErrorKind::Malformed);
        };
        let (mut rest, mut length) = (text, 0_usize);
        while let [byte, after @ ..] = rest {
            if byte == quote {
                self.rest = after;
                return text.get(..length);
            }
            let (passed, after) = match rest {
                // No writer uses Unicode character names.
                [b'\\', b'N', ..] if Names::ARE_COMPARED => break,
                [b'\n' | b'\r' | 0, ..] => break,
                [b'\\', _, after @ ..] => (2, after),
                _ => (1, after),
            };
            rest = after;
            length = length.saturating_add(passed);
        }
        self.stop(ErrorKind::Malformed)
    }

    fn boolean(&mut self) -> Option<bool> {
        self.item = Part::Order;
        self.skip_space();
        for (word, value) in [(&b"True"[..], true), (b"False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Some(value);
            }
        }
        self.stop(ErrorKind::Malformed)
    }

    fn shape(&mut self) -> Option<Shape<'a>> {
        self.item = Part::Shape;
        self.expect(b'(')?;
        let (lengths, mut rank) = (self.rest, 0_u32);
        while !self.take(b')') {
            let Some((_, rest)) = decimal(self.rest) else { return self.stop(ErrorKind::Malformed) };
            self.rest = if self.has_long { rest.strip_prefix(b"L").unwrap_or(rest) } else { rest };
            rank = rank.saturating_add(1);
            // The comma makes a tuple of a single length.
            if !self.take(b',') && (rank == 1 || !self.rest.starts_with(b")")) {
                return self.stop(ErrorKind::Malformed);
            }
        }
        Some(Shape::new(lengths, rank, decimal_dimension))
    }

    /// Reads the type of the items, and also returns its spelling.
    fn descr(&mut self) -> Option<(Items, &'a [u8])> {
        self.skip_space();
        let text = self.rest;
        let items = self.items()?;
        Some((items, text.get(..text.len().saturating_sub(self.rest.len())).unwrap_or_default()))
    }

    /// Reads a type, or the fields of records. Keeps the sizes of the records and subarrays around the current type,
    /// from the outermost on, and a bit for each that is set for subarrays.
    fn items(&mut self) -> Option<Items> {
        let mut around = heapless::Vec::<u64, MAX_DEPTH>::new();
        let mut subarrays = 0_u32;
        let mut items = Items { dtype: None, order: ByteOrder::Little, is_native: false, size: 0 };
        loop {
            self.item = Part::DType;
            let is_subarray = !around.is_empty() && self.take(b'(');
            // True if a record has begun or a field of a record has ended; and true if another field may follow.
            let (mut is_between, mut is_more) = (!is_subarray && self.take(b'['), true);
            if is_subarray || is_between {
                if around.push(0).is_err() {
                    return self.stop(ErrorKind::TooDeep);
                }
                subarrays = subarrays << 1 | u32::from(is_subarray);
                if is_subarray {
                    continue;
                }
            } else {
                self.skip_space();
                let start = self.rest;
                let Some(found) = Items::of(self.text()?) else {
                    return self.stop_at(start, ErrorKind::UnknownDType);
                };
                items = Items { is_native: items.is_native | found.is_native, ..found };
            }
            loop {
                if is_between {
                    if self.take(b']') {
                        let size = around.pop().unwrap_or(0);
                        items = Items { dtype: None, order: ByteOrder::Little, size, ..items };
                        subarrays >>= 1;
                    } else if is_more {
                        self.field_name()?;
                        break;
                    } else {
                        return self.stop(ErrorKind::Malformed);
                    }
                }
                // Ends the field or the subarray that has this type.
                let Some(record) = around.last_mut() else { return Some(items) };
                if self.take(b',') {
                    let shape = self.shape()?;
                    items.size =
                        if items.size == 0 { 0 } else { self.sized(product(shape.element_count(), items.size))? };
                }
                self.item = Part::DType;
                self.expect(b')')?;
                is_between = subarrays & 1 == 0;
                if is_between {
                    *record = self.sized(record.checked_add(items.size))?;
                    is_more = self.take(b',');
                } else {
                    around.pop();
                    subarrays >>= 1;
                }
            }
        }
    }

    /// Reads the start of a field: its name, possibly after a title.
    fn field_name(&mut self) -> Option<()> {
        self.expect(b'(')?;
        if self.take(b'(') {
            self.quoted()?;
            self.expect(b',')?;
            self.quoted()?;
            self.expect(b')')?;
        } else {
            self.quoted()?;
        }
        self.expect(b',')
    }

    fn sized(&mut self, size: Option<u64>) -> Option<u64> {
        size.or_else(|| self.stop(ErrorKind::ShapeOverflow))
    }
}

impl Items {
    /// Parses a type: byte order, kind, size.
    fn of(text: &[u8]) -> Option<Self> {
        let (order, name) = match text {
            [b'<', name @ ..] => (Some(ByteOrder::Little), name),
            [b'>', name @ ..] => (Some(ByteOrder::Big), name),
            [b'|' | b'=', name @ ..] => (None, name),
            name => (None, name),
        };
        let dtype = DType::from_numpy(name);
        let count = |digits| decimal(digits).filter(|(_, rest)| rest.is_empty()).map(|(count, _)| count);
        // The size of an item, and the size of one of its lanes.
        let (size, width) = match (dtype, name) {
            (Some(dtype), _) => (dtype.byte_size(), dtype.lane_size()),
            // Wider than a double: x87, double-double or binary128, depending on the machine that wrote the array.
            (_, b"f12" | b"c24") => (count(name.get(1..)?)?, 12),
            (_, b"f16" | b"c32") => (count(name.get(1..)?)?, 16),
            (_, [b'S' | b'V', digits @ ..]) => (count(digits)?, 1),
            (_, [b'U', digits @ ..]) => (count(digits)?.checked_mul(4)?, 4),
            (_, [b'M' | b'm', b'8', unit @ ..]) if is_unit(unit) => (8, 8),
            _ => return None,
        };
        let is_native = order.is_none() && width > 1 && size > 0;
        Some(Self { dtype, order: order.unwrap_or(ByteOrder::Little), is_native, size })
    }
}

/// Returns whether `unit` is empty or the unit of a time, such as `[25us]`.
fn is_unit(unit: &[u8]) -> bool {
    let Some(unit) = unit.strip_prefix(b"[").and_then(|unit| unit.strip_suffix(b"]")) else { return unit.is_empty() };
    let name = decimal(unit).map_or(unit, |(_, name)| name);
    matches!(name, b"Y" | b"M" | b"W" | b"D" | b"h" | b"m" | b"s" | b"ms" | b"us" | b"ns" | b"ps" | b"fs" | b"as")
}
