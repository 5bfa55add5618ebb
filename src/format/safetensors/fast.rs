//! Reads entries in the spelling of the reference implementation, which nearly all files use.
//!
//! On a host, this takes a third of the time of the general parser. A chip needs the flash more. [`Entry::next`] leaves
//! any other spelling to the general parser, which also reports the rule that an entry breaks.
#![forbid(unsafe_code)]

use super::dtypes::{DTYPES, SHORT_DTYPES};
use super::entry::Entry;
use super::header::{HEADER, METADATA, SafetensorsFile};
use crate::bytes::extent::Extent;
use crate::bytes::num::Product;
use crate::bytes::text::Text;
use crate::codec::json::Reader;
use crate::codec::json::fast::{after, bytes_before, count, number, places, string};
use crate::format::TensorRecord;
use crate::types::DType;
use crate::types::shape::{Shape, decimal_dimension};

/// Splits the name and the colon off the next member, which must be a tensor. Returns the name, its position, and the
/// text after the colon.
#[inline(always)]
fn next_name<'a>(reader: &Reader<'a>) -> Option<(&'a [u8], u32, &'a [u8])> {
    // The member follows another one, or the opening brace of the header.
    let last = reader.rest_with_last();
    let rest = last.strip_prefix(b"},\"").or_else(|| last.strip_prefix(b"{\""))?;
    let at = reader.position_of(rest).wrapping_sub(1);
    name(rest).map(|(name, value)| (name, at, value))
}

/// Splits the name of a tensor and the colon off the front of `text`, which begins after the opening quotation mark.
#[inline(always)]
fn name(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, rest) = string(text)?;
    let value = rest.strip_prefix(b":")?;
    (name != METADATA).then_some((name, value))
}

/// A tensor that has been checked, up to its offsets.
struct Checked<'a> {
    name: &'a [u8],
    dtype: DType,
    shape: Shape<'a>,
    /// The text from the offsets on.
    offsets: &'a [u8],
}

impl<'a> Checked<'a> {
    /// Reads the tensor named `name`. Does not check the rules again: opening has rejected invalid numbers.
    #[inline(always)]
    fn read(name: &'a [u8], value: &'a [u8]) -> Option<Self> {
        let (dtype, rest) = dtype(value.strip_prefix(b"{\"dtype\":\"")?)?;
        let lengths = rest.strip_prefix(b",\"shape\":[")?;
        let (rank, rest) = skip_lengths(lengths)?;
        let offsets = rest.strip_prefix(b",\"data_offsets\":")?;
        Some(Self { name, dtype, shape: Shape::new(lengths, rank, dimension), offsets })
    }

    /// The text after the tensor.
    #[inline(always)]
    fn after(&self) -> Option<&'a [u8]> {
        after(self.offsets.strip_prefix(b"[")?, b']')?.strip_prefix(b"}")
    }

    /// Fills in `tensor`, a blank record.
    #[inline(always)]
    fn store(&self, reader: &Reader<'a>, at: u32, tensor: &mut TensorRecord<'a>) {
        tensor.set_name(Text::new(self.name, false));
        tensor.at = HEADER.saturating_add(at.into());
        tensor.dtype = Some(self.dtype);
        tensor.shape = self.shape;
        tensor.components = reader.position_of(self.offsets);
    }
}

/// Reads the next member, which has been checked, into `tensor`, a blank record, and moves past the member. Returns
/// `None` if it is not a tensor in this spelling.
#[inline(always)]
pub(super) fn read_next<'a>(reader: &mut Reader<'a>, tensor: &mut TensorRecord<'a>) -> Option<()> {
    let (name, at, value) = next_name(reader)?;
    let tensor_here = Checked::read(name, value)?;
    let rest = tensor_here.after()?;
    tensor_here.store(reader, at, tensor);
    reader.skip_to(rest);
    Some(())
}

/// Reads the member at the reader's position `at`, which has been checked, into `tensor`, a blank record. Returns
/// `None` if it is not a tensor in this spelling.
#[inline(always)]
pub(super) fn read_alone<'a>(reader: &Reader<'a>, at: u32, tensor: &mut TensorRecord<'a>) -> Option<()> {
    let (name, value) = name(reader.rest().strip_prefix(b"\"")?)?;
    Checked::read(name, value)?.store(reader, at, tensor);
    Some(())
}

/// Skips the next member, which has been read before. Returns its name and the position of the name.
#[inline(always)]
pub(super) fn skip_unchecked<'a>(reader: &mut Reader<'a>) -> Option<(Text<'a>, u32)> {
    let (name, at, value) = next_name(reader)?;
    let rest = after(value.strip_prefix(b"{\"dtype\":\"")?, b'"')?;
    let rest = after(rest.strip_prefix(b",\"shape\":[")?, b']')?;
    let rest = after(rest.strip_prefix(b",\"data_offsets\":[")?, b']')?;
    reader.skip_to(rest.strip_prefix(b"}")?);
    Some((Text::new(name, false), at))
}

/// Skips the lengths of a shape and the closing bracket. Counts the lengths by their commas, eight bytes at a time.
#[inline(always)]
fn skip_lengths(lengths: &[u8]) -> Option<(u32, &[u8])> {
    match lengths.first()? {
        b']' => return Some((0, lengths.get(1..)?)),
        b'0'..=b'9' => {}
        _ => return None, // white space, perhaps in an empty list
    }
    let (mut rank, mut rest) = (1_u64, lengths);
    loop {
        let (bytes, after) = rest.split_first_chunk()?;
        let (ends, commas) = (places(bytes, b']'), places(bytes, b','));
        let before_end = commas & ends.wrapping_sub(1) & !ends;
        rank = rank.wrapping_add(count(before_end));
        if ends != 0 {
            return Some((u32::try_from(rank).ok()?, rest.get(bytes_before(ends).wrapping_add(1)..)?));
        }
        rest = after;
    }
}

/// Reads a length that has been checked. Skips the characters before its digits.
fn dimension(lengths: &[u8]) -> Option<(u64, &[u8])> {
    // The length follows another one, or is the first.
    let digits = lengths.strip_prefix(b",").unwrap_or(lengths);
    let (mut length, mut rest) = (0_u64, digits);
    while let [digit @ b'0'..=b'9', after @ ..] = rest {
        length = length.wrapping_mul(10).wrapping_add(u64::from(digit & 15));
        rest = after;
    }
    if rest.len() < digits.len() { Some((length, rest)) } else { decimal_dimension(lengths) }
}

impl<'a> Entry<'a> {
    /// Reads the next member of the header if it is a valid tensor. Returns the text after the member.
    #[inline(always)]
    pub(super) fn next_fast(&mut self, reader: &Reader<'a>, data_length: u64) -> Option<&'a [u8]> {
        let (name, at, value) = next_name(reader)?;
        self.at = at;
        self.named_fast(reader, name, value, data_length)
    }

    #[inline(always)]
    fn named_fast(
        &mut self,
        reader: &Reader<'a>,
        name: &'a [u8],
        value: &'a [u8],
        data_length: u64,
    ) -> Option<&'a [u8]> {
        self.name = Text::new(name, false);
        self.position = reader.position_of(value);
        let rest = self.read_fast(reader, value)?;
        self.fault(data_length).is_none().then_some(rest)
    }

    /// Reads the object of an entry at the front of `text`, a suffix of the reader's text. Returns the text after the
    /// object.
    #[inline(always)]
    pub(super) fn read_fast(&mut self, reader: &Reader<'a>, text: &'a [u8]) -> Option<&'a [u8]> {
        let (dtype, rest) = dtype(text.strip_prefix(b"{\"dtype\":\"")?)?;
        self.dtype = Some(dtype);
        let rest = rest.strip_prefix(b",\"shape\":")?;
        self.shape_at = reader.position_of(rest);
        let lengths = rest.strip_prefix(b"[")?;
        let (mut rest, mut rank, mut count) = (lengths, 0_u32, Product::ONE);
        if !rest.starts_with(b"]") {
            loop {
                let (length, after) = number(rest)?;
                count.multiply(length);
                rank = rank.wrapping_add(1);
                rest = after;
                let Some(after) = rest.strip_prefix(b",") else { break };
                rest = after;
            }
        }
        (self.shape, self.count) = (Shape::new(lengths, rank, dimension), count.total());
        let at = rest.strip_prefix(b"],\"data_offsets\":")?;
        self.offsets_at = reader.position_of(at);
        let rest;
        ((self.begin, self.end), rest) = offsets(at)?;
        rest.strip_prefix(b"}")
    }
}

/// Reads the extent of a tensor's data, which has been checked.
#[inline(always)]
pub(super) fn read_extent(file: &SafetensorsFile<'_>, tensor: &TensorRecord<'_>) -> Option<Extent> {
    checked_extent(&file.reader(tensor.components), tensor, file.data())
}

/// Returns the extent of a tensor's data, which has been checked, from the offsets at the reader's position. `data` is
/// the extent of all data.
///
/// Checks the length again: C programs compute it from the shape, and the bytes may have changed.
#[inline(always)]
fn checked_extent(reader: &Reader<'_>, tensor: &TensorRecord<'_>, data: Extent) -> Option<Extent> {
    let ((begin, end), _) = offsets(reader.rest())?;
    let length = end.checked_sub(begin)?;
    if end > data.length || tensor.dtype?.byte_length(elements(tensor.shape.bytes())?) != Some(length) {
        return None;
    }
    Some(Extent::new(data.offset.saturating_add(begin), length))
}

/// The number of elements for the lengths before the closing bracket.
#[inline(always)]
fn elements(lengths: &[u8]) -> Option<u64> {
    let (mut count, mut rest) = (Product::ONE, lengths);
    while let Some((length, after)) = number(rest) {
        count.multiply(length);
        match after {
            [b',', after @ ..] => rest = after,
            [b']', ..] => return count.total(),
            _ => return None,
        }
    }
    // A scalar has no lengths. After a comma, a length must follow.
    if rest.len() == lengths.len() && rest.starts_with(b"]") { count.total() } else { None }
}

/// Splits the offsets of a tensor off the front.
#[inline(always)]
pub(super) fn offsets(text: &[u8]) -> Option<((u64, u64), &[u8])> {
    let (begin, rest) = number(text.strip_prefix(b"[")?)?;
    let (end, rest) = number(rest.strip_prefix(b",")?)?;
    Some(((begin, end), rest.strip_prefix(b"]")?))
}

/// Splits the name of a dtype and its closing quotation mark off the front.
#[inline(always)]
fn dtype(text: &[u8]) -> Option<(DType, &[u8])> {
    let word = u64::from_le_bytes(*text.first_chunk()?);
    let short = SHORT_DTYPES.iter().find(|name| (name.word ^ word).wrapping_shl(name.others) == 0);
    match short {
        Some(name) => Some((name.dtype, text.get(name.length..)?)),
        None => long_dtype(text),
    }
}

#[inline(never)]
fn long_dtype(text: &[u8]) -> Option<(DType, &[u8])> {
    let (name, rest) = text.split_at_checked(text.iter().take(12).position(|byte| *byte == b'"')?)?;
    Some((DType::from_keyword(DTYPES.number_of(name))?, rest.strip_prefix(b"\"")?))
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::prelude::v1::*;

    use super::super::header::{START, SafetensorsFile};
    use super::*;
    use crate::bytes::source::ParseContext;
    use crate::format::{ComponentRecord, Cursor, FileFormat as _, NamedTensors as _, Summary};

    /// A list that is no longer valid, because its bytes have changed, has no count.
    #[test]
    fn lengths_that_are_no_list_make_no_count() {
        for (lengths, count) in
            [("]", Some(1)), ("7]", Some(7)), ("2,3],", Some(6)), ("0,]", None), ("2,", None), ("", None)]
        {
            // In a file, at least one more word of bytes follows.
            assert_eq!(elements(&[lengths.as_bytes(), b"~~~~~~~~"].concat()), count, "{lengths}");
        }
    }

    /// Invalid UTF-8 does not match the word of a long dtype name. The header may not have been checked for UTF-8 yet.
    #[test]
    fn names_of_dtypes_are_texts() {
        assert!(dtype(b"F8_E4M3FNUZ\",").is_some_and(|(dtype, rest)| dtype.name() == "f8_e4m3fnuz" && rest == b","));
        for byte in [0, b'"', 0x7f, 0xff] {
            assert!(dtype(&[byte; 16]).is_none(), "{byte:#x}");
        }
    }

    /// Checks that every tensor of a file with this header, if it opens, is read here as by the general parser, or not
    /// at all. Returns the number of tensors.
    fn agree(header: &[u8], data_length: usize) -> usize {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header);
        bytes.resize(bytes.len() + data_length, 0);
        let Ok(mut file) = SafetensorsFile::open(&ParseContext::of(bytes[..].into())) else { return 0 };
        if file.read(&mut Summary::default()).is_err() {
            return 0;
        }
        let (mut cursor, mut named, mut count) = (Cursor::START, Cursor::START, 0);
        loop {
            let at = u32::try_from(cursor.at).unwrap().max(START);
            let [mut tensor, mut expected] = [(); 2].map(|()| TensorRecord::blank());
            let mut general = cursor;
            let is_one = file.next_of_any(at, &mut general, &mut expected).unwrap();
            assert_eq!(file.next_tensor(&mut cursor, &mut tensor), Ok(is_one));
            assert_eq!(format!("{tensor:?} {cursor:?}"), format!("{expected:?} {general:?}"));
            let name = file.name_of_any(u32::try_from(named.at).unwrap().max(START), &mut { named }).unwrap();
            let fast = file.next_name(&mut named).unwrap();
            let [fast, name] =
                [fast, name].map(|named| named.map(|named| (named.name, named.name_at, named.tensor_at)));
            assert_eq!(fast, name);
            assert_eq!(is_one, name.is_some());
            let Some((.., tensor_at)) = name else { return count };
            assert!(tensor.shape.iter().eq(expected.shape.iter()));
            let [mut alone, mut expected] = [(); 2].map(|()| TensorRecord::blank());
            file.tensor_at(tensor_at, 7, &mut alone).unwrap();
            file.any_at(tensor_at, 7, &mut expected).unwrap();
            assert_eq!(format!("{alone:?}"), format!("{expected:?}"));
            let [mut part, mut expected] = [(); 2].map(|()| ComponentRecord::blank());
            file.next_component(&tensor, &mut { Cursor::START }, &mut part).unwrap();
            file.component_of_any(&tensor, &mut { Cursor::START }, &mut expected).unwrap();
            assert_eq!(format!("{part:?}"), format!("{expected:?}"));
            count += 1;
        }
    }

    #[test]
    fn tensors_are_read_as_in_the_general_way() {
        let headers = [
            r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[1,4],"data_offsets":[8,12]}}"#,
            r#"{"__metadata__":{"a":"b"},"a":{"dtype":"F8_E4M3","shape":[],"data_offsets":[0,1]}}"#,
            r#"{"a":{"dtype":"I8","shape":[0,3],"data_offsets":[0,0],"n":[]},"\u0062":{"dtype":"F4","shape":[ 6],"data_offsets":[0, 3]}}"#,
        ];
        let mut tensors = 0;
        for (header, data_length) in headers.into_iter().zip([12, 1, 3]) {
            let header = header.as_bytes();
            assert!(agree(header, data_length) > 0);
            for (at, byte) in (0..header.len()).flat_map(|at| (0..=0xff).map(move |byte| (at, byte))) {
                let mut header = header.to_vec();
                header[at] = byte;
                tensors += agree(&header, data_length);
                header.insert(at, byte);
                tensors += agree(&header, data_length);
            }
        }
        assert!(tensors > 3000, "{tensors}");
    }

    /// Entries as the reference implementation writes them. None is left to the general parser, which takes three times
    /// as long.
    #[test]
    fn the_usual_spelling_is_read_here() {
        let mut text = String::from("{");
        let dtypes = ["F32", "BOOL", "F8_E4M3", "F8_E4M3FNUZ"];
        for (dtype, size) in dtypes.into_iter().zip([4, 1, 1, 1]) {
            for shape in ["", "0", "7", "1,2,3", "12345,0", "1,1,1,1,1,1,1,1,1,1,1,1,3,1"] {
                let count: u64 = shape.split(',').filter_map(|length| length.parse::<u64>().ok()).product();
                let end = 1000 + count * size;
                let entry = format!(r#""{dtype}.[{shape}]":{{"dtype":"{dtype}","shape":[{shape}],"#);
                text += &format!(r#"{entry}"data_offsets":[1000,{end}]}},"#);
            }
        }
        text.pop();
        text += "}        ";
        let text = text.as_bytes();
        let mut readers = [(); 3].map(|()| Reader::new(text, 1));
        for dtype in dtypes {
            for rank in [0, 1, 1, 3, 2, 14] {
                let [next, passed, judged] = &mut readers;
                let mut tensor = TensorRecord::blank();
                read_next(next, &mut tensor).unwrap();
                let (name, at) = skip_unchecked(passed).unwrap();
                assert_eq!((HEADER + u64::from(at), name.raw()), (tensor.at, tensor.name.bytes()));
                assert!(name.raw().starts_with(dtype.as_bytes()));
                assert_eq!(tensor.shape.rank(), rank);
                let mut alone = TensorRecord::blank();
                read_alone(&Reader::new(text, at), at, &mut alone).unwrap();
                assert_eq!(format!("{alone:?}"), format!("{tensor:?}"));
                let offsets = Reader::new(text, tensor.components);
                let extent = checked_extent(&offsets, &tensor, Extent::new(100, 2000)).unwrap();
                let bytes = tensor.dtype.unwrap().byte_length(tensor.shape.element_count().unwrap());
                assert_eq!((extent.offset, Some(extent.length)), (1100, bytes));
                // The data ends with the data section, or after it; then the dtype has changed.
                let end = 1000 + extent.length;
                assert_eq!(checked_extent(&offsets, &tensor, Extent::new(100, end)), Some(extent));
                assert_eq!(checked_extent(&offsets, &tensor, Extent::new(100, end - 1)), None);
                tensor.dtype = Some(DType::C128);
                assert!(extent.length == 0 || checked_extent(&offsets, &tensor, Extent::new(100, 2000)).is_none());
                let rest = Entry::blank().next_fast(judged, 2000).unwrap();
                judged.skip_to(rest);
                assert_eq!([passed.position(), judged.position()], [next.position(); 2]);
            }
        }
    }
}
