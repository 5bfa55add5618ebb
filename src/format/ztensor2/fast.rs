//! Dense tensors of zTensor 2 as real programs write them: a single component of raw bytes of a stored dtype, in this
//! file, and no attributes. The format fixes the order of the keys.
//!
//! Only for hosts: chips have no flash to spare for a second parser. It reads only entries without a fault or a
//! warning. For any other entry it returns `None`, and `entry` finds the reason. The rules are those of `entry` and
//! `layout`.
//!
//! ```text
//! name: {
//!     "parts": {
//!         "data": {
//!             "blob": [offset, length]
//!             "dtype": text of at most 7 bytes
//!             "digest": "xxh3:" and 16 digits     where the map has 3 keys
//!         }
//!     }
//!     "shape": [lengths]
//!     "layout": "dense"
//! }
//! ```
//!
//! Opening rejects an entry of this form that breaks a rule, so reading does not check the rules again. A warning does
//! not keep a file from opening, so no entry that causes a warning may have this form. The only such warning is about
//! the kind of the digest, which is therefore part of the form.
#![forbid(unsafe_code)]

use core::cmp::Ordering;

use super::entry;
use super::layout::{self, storage_dtypes};
use super::manifest::{MAX_NAME, Manifest, is_aligned};
use crate::bytes::extent::Extent;
use crate::bytes::num::product;
use crate::bytes::utf8::{Utf8, is_utf8};
use crate::codec::cbor::fast::{Rest, is_shortest, key_word, text_word};
use crate::codec::cbor::strict::key_order;
use crate::format::{ComponentRecord, Contents, TensorRecord};
use crate::types::DType;
use crate::types::shape::Shape;

/// The bytes between the name and the components, between their head and the extent, between the extent and the dtype,
/// and so on.
const PARTS: &[u8; 7] = b"\xa3\x65parts";
const DATA: &[u8; 13] = b"\xa1\x64data\xa2\x64blob\x82";
const DATA_WITH_DIGEST: &[u8; 13] = b"\xa1\x64data\xa3\x64blob\x82";
const DTYPE: &[u8; 6] = b"\x65dtype";
const DIGEST: u64 = key_word(b"\x66digest");
/// The head of a digest, and the start of its text.
const DIGEST_HEAD: u8 = 0x75;
const XXH3: &[u8; 5] = b"xxh3:";
const SHAPE: &[u8; 6] = b"\x65shape";
const LAYOUT: &[u8; 13] = b"\x66layout\x65dense";

/// Declares a list of dtypes: the name as a word, the dtype, and the size of an element.
macro_rules! words {
    ($($name:literal: $dtype:ident),* $(,)?) => {
        [$((text_word($name), DType::$dtype, DType::$dtype.byte_size())),*]
    };
}
static DTYPES: [(u64, DType, u64); 12] = storage_dtypes!(words);

/// The map of components.
struct Data<'a> {
    extent: Extent,
    dtype: DType,
    /// The size of an element.
    size: u64,
    digest: Option<&'a [u8; 21]>,
    /// True if all numbers have their shortest encoding.
    is_shortest: bool,
    rest: Rest<'a>,
}

/// An entry of this form.
struct Entry<'a> {
    name: &'a [u8],
    /// The map of the components and the bytes after it.
    components: Rest<'a>,
    data: Data<'a>,
    /// The lengths and the bytes after them, the rank, and the product of the lengths.
    lengths: &'a [u8],
    rank: u32,
    elements: Option<u64>,
    /// True if all numbers have their shortest encoding.
    is_shortest: bool,
    rest: Rest<'a>,
}

/// An entry that has been checked.
pub(super) struct Checked<'a> {
    pub(super) name: &'a [u8],
    pub(super) extent: Extent,
    /// The position after the entry.
    pub(super) after: u32,
}

impl<'a> Data<'a> {
    /// Reads the map. Without `IS_PLAIN`, also checks its form.
    #[inline(always)]
    fn read<const IS_PLAIN: bool>(mut rest: Rest<'a>) -> Option<Self> {
        let start: &[u8; 13] = rest.chunk()?;
        let [_, _, _, _, _, _, head, ..] = start;
        let has_digest = if IS_PLAIN { *head == DATA_WITH_DIGEST[6] } else { start == DATA_WITH_DIGEST };
        if !IS_PLAIN && !has_digest && start != DATA {
            return None;
        }
        let (offset, is_offset_shortest) = number(&mut rest)?;
        let (length, is_length_shortest) = number(&mut rest)?;
        if rest.chunk()? != DTYPE && !IS_PLAIN {
            return None;
        }
        let name = rest.short_text()?;
        let (_, dtype, size) = DTYPES.iter().find(|(word, ..)| *word == name)?;
        let mut digest = None;
        if has_digest {
            if rest.key(DIGEST)? != DIGEST_HEAD {
                return None;
            }
            digest = Some(rest.chunk()?).filter(|text| IS_PLAIN || text.starts_with(XXH3));
            digest?;
        }
        Some(Self {
            extent: Extent::new(offset, length),
            dtype: *dtype,
            size: *size,
            digest,
            is_shortest: is_offset_shortest & is_length_shortest,
            rest,
        })
    }
}

impl<'a> Entry<'a> {
    /// Reads the entry at `position` in the manifest. Without `IS_PLAIN`, also checks its form.
    #[inline(always)]
    fn at<const IS_PLAIN: bool>(manifest: &Manifest<'a>, position: u32) -> Option<Self> {
        let mut rest = Rest::of(manifest.region.bytes, position)?;
        let (name, mut are_shortest) = rest.text_and_is_shortest()?;
        if rest.chunk()? != PARTS && !IS_PLAIN {
            return None;
        }
        let components = rest;
        let data = Data::read::<IS_PLAIN>(rest)?;
        rest = data.rest;
        if rest.chunk()? != SHAPE && !IS_PLAIN {
            return None;
        }
        let head = rest.byte()?;
        if !IS_PLAIN && !matches!(head, 0x80..=0x97) {
            return None;
        }
        let rank = u32::from(head & 0x1f);
        let lengths = rest.bytes();
        let mut elements = Some(1);
        for _ in 0..rank {
            if IS_PLAIN {
                rest.skip_unsigned()?;
                continue;
            }
            let (length, is_shortest) = number(&mut rest)?;
            elements = product(elements, length);
            are_shortest &= is_shortest;
        }
        if rest.chunk()? != LAYOUT && !IS_PLAIN {
            return None;
        }
        let is_shortest = are_shortest & data.is_shortest;
        Some(Self { name, components, data, lengths, rank, elements, is_shortest, rest })
    }
}

/// Reads a number. The flag is true if the number has its shortest encoding.
#[inline(always)]
fn number(rest: &mut Rest<'_>) -> Option<(u64, bool)> {
    let head = rest.byte()?;
    let number = rest.unsigned_of(head)?;
    Some((number, is_shortest(head, number)))
}

/// Returns true if `name` follows the rules for names.
#[inline(always)]
fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME && (is_ascii_without_nul(name) || !name.contains(&0) && is_utf8(name))
}

/// Returns true if all bytes are from 1 to 0x7f. Tests eight bytes at a time.
#[inline(always)]
fn is_ascii_without_nul(bytes: &[u8]) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // The high bit of a byte is set in the result if it is clear in the byte and set in the sum: the byte is from 1 to
    // 0x7f. Only bytes above 0x80 carry into the next one, and they fail the test themselves.
    let bits = |word: u64| word.wrapping_add(!HIGH) & !word;
    let mut all = HIGH;
    let mut rest = bytes;
    while let Some((word, after)) = rest.split_first_chunk() {
        all &= bits(u64::from_le_bytes(*word));
        rest = after;
    }
    match bytes.last_chunk() {
        Some(word) => all &= bits(u64::from_le_bytes(*word)), // tests some bytes twice
        None => return rest.iter().all(|byte| matches!(byte, 1..=0x7f)),
    }
    all == HIGH
}

/// Returns true if a digest that begins with [`XXH3`] has only hexadecimal digits after it.
#[inline(always)]
fn is_digest(text: &[u8; 21]) -> bool {
    let digits = text.get(XXH3.len()..).unwrap_or_default();
    digits.iter().fold(true, |all, digit| all & matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

/// Checks the entry at `position`, whose name must come after `last`. For the first entry, `last` is empty.
#[inline(always)]
pub(super) fn check<'a>(manifest: &Manifest<'a>, position: u32, last: &[u8]) -> Option<Checked<'a>> {
    let entry = Entry::at::<false>(manifest, position)?;
    let Entry { name, data, .. } = &entry;
    let is_sound = entry.is_shortest
        && is_aligned(data.extent.offset)
        && entry::check_bounds(manifest, data.extent).is_none()
        && product(entry.elements, data.size) == Some(data.extent.length)
        && data.digest.is_none_or(is_digest)
        && is_name(name)
        && key_order(last, name) == Ordering::Less;
    let after = entry.rest.position_in(manifest.region.bytes);
    is_sound.then_some(Checked { name, extent: data.extent, after })
}

/// The name of the entry at `position`, plain or not.
#[inline(always)]
pub(super) fn name<'a>(manifest: &Manifest<'a>, position: u32) -> Option<&'a [u8]> {
    Some(Rest::of(manifest.region.bytes, position)?.text_and_is_shortest()?.0)
}

/// The name of the entry at `position`, which has been checked, and the position after the entry. [`read`] explains
/// `IS_PLAIN`.
#[inline(always)]
pub(super) fn skip_unchecked<'a, const IS_PLAIN: bool>(
    manifest: &Manifest<'a>,
    position: u32,
) -> Option<(&'a [u8], u32)> {
    let entry = Entry::at::<IS_PLAIN>(manifest, position)?;
    Some((entry.name, entry.rest.position_in(manifest.region.bytes)))
}

/// Reads the entry at `position`, which has been checked, into `tensor`, a blank record. Returns the position after it.
///
/// With `IS_PLAIN`, [`check`] has accepted the entry, and its form is not checked again.
#[inline(never)]
pub(super) fn read<'a, const IS_PLAIN: bool>(
    manifest: &Manifest<'a>,
    tensor: &mut TensorRecord<'a>,
    position: u32,
) -> Option<u32> {
    let entry = Entry::at::<IS_PLAIN>(manifest, position)?;
    tensor.dtype = Some(entry.data.dtype);
    tensor.at = manifest.offset(position);
    tensor.name = Utf8::known(entry.name);
    tensor.shape = Shape::new(entry.lengths, entry.rank, layout::read_dimension);
    tensor.components = entry.components.position_in(manifest.region.bytes);
    Some(entry.rest.position_in(manifest.region.bytes))
}

/// Reads an entry that [`check`] has accepted, only as far as a tensor needs.
#[inline(never)]
pub(super) fn read_alone<'a>(manifest: &Manifest<'a>, tensor: &mut TensorRecord<'a>, position: u32) -> Option<()> {
    let mut rest = Rest::of(manifest.region.bytes, position)?;
    let (name, _) = rest.text_and_is_shortest()?;
    rest.take(PARTS.len())?;
    let components = rest.position_in(manifest.region.bytes);
    let data = Data::read::<true>(rest)?;
    rest = data.rest;
    rest.take(SHAPE.len())?;
    let rank = u32::from(rest.byte()? & 0x1f);
    tensor.dtype = Some(data.dtype);
    tensor.at = manifest.offset(position);
    tensor.components = components;
    tensor.name = Utf8::known(name);
    tensor.shape = Shape::new(rest.bytes(), rank, layout::read_dimension);
    Some(())
}

/// Reads the only component of `tensor`, which has been checked, into `part`, a blank record. Returns the position after
/// it. [`read`] explains `IS_PLAIN`.
#[inline(never)]
pub(super) fn read_data<'a, const IS_PLAIN: bool>(
    manifest: &Manifest<'a>,
    tensor: &TensorRecord<'a>,
    part: &mut ComponentRecord<'a>,
) -> Option<u32> {
    let data = Data::read::<IS_PLAIN>(Rest::of(manifest.region.bytes, tensor.components)?)?;
    // The role follows the head of the map.
    let at = manifest.offset(tensor.components.wrapping_add(1));
    part.at = at;
    part.entry_distance = u32::try_from(at.saturating_sub(tensor.at)).unwrap_or(u32::MAX);
    part.dtype = Some(data.dtype);
    part.storage = Some(data.dtype);
    part.extent = data.extent;
    part.decoded_length = Some(data.extent.length);
    part.decoded = Some(Contents::Any);
    part.digest = data.digest.map(|digest| Utf8::known(digest));
    Some(data.rest.position_in(manifest.region.bytes))
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::prelude::v1::*;

    use super::super::entry;
    use super::*;
    use crate::bytes::extent::Region;
    use crate::codec::cbor::strict::Reader;
    use crate::error::origin::Part;

    /// Checks that this module reads the same as `entry`, without a fault or a warning. Returns true if it reads the
    /// entry. An entry that `check` rejects and `entry` accepts, perhaps with a warning, must be read the same or not
    /// at all.
    fn agree(bytes: &[u8], last: &[u8]) -> bool {
        let manifest = Manifest { region: Region { bytes, start: 1 << 20 }, data_end: (1 << 20) + 8192 };
        let mut reader = manifest.reader(0);
        let mut expected = TensorRecord::blank();
        let object = read_any(&manifest, &mut reader, last, &mut expected);
        let Some(checked) = check(&manifest, 0, last) else {
            if object.is_some() {
                agree_if_read(&manifest, &expected, reader.position());
            }
            return false;
        };
        assert!(object.is_some() && expected.warnings == 0, "{bytes:x?}");
        assert_eq!((checked.name, checked.after), (expected.name.bytes(), reader.position()));
        assert_eq!(skip_unchecked::<false>(&manifest, 0), Some((checked.name, checked.after)));
        assert_eq!(skip_unchecked::<true>(&manifest, 0), Some((checked.name, checked.after)));
        let [mut plain, mut tensor] = [(); 2].map(|()| TensorRecord::blank());
        assert_eq!(read::<true>(&manifest, &mut plain, 0), Some(checked.after));
        assert_eq!(read::<false>(&manifest, &mut tensor, 0), Some(checked.after));
        assert_eq!([&plain, &tensor].map(|tensor| format!("{tensor:?}")), [(); 2].map(|()| format!("{expected:?}")));
        assert!(plain.shape.iter().eq(expected.shape.iter()));
        assert!(tensor.shape.iter().eq(expected.shape.iter()));
        let mut alone = TensorRecord::blank();
        assert_eq!(read_alone(&manifest, &mut alone, 0), Some(()));
        assert_eq!(format!("{alone:?}"), format!("{expected:?}"));

        let mut reader = manifest.reader(tensor.components);
        reader.entry = 0;
        let mut expected = ComponentRecord::blank();
        expected.warnings = 0xff; // must be reset
        assert_eq!(reader.map(), Some(1));
        entry::component(&manifest, &mut reader, &mut &[][..], &mut expected).unwrap();
        for read in [read_data::<false>, read_data::<true>] {
            let mut part = ComponentRecord::blank();
            assert_eq!(read(&manifest, &tensor, &mut part), Some(reader.position()));
            assert_eq!(format!("{part:?}"), format!("{expected:?}"));
            assert_eq!(part.extent, checked.extent);
        }
        true
    }

    /// Compares the result with `expected`, which `entry` has read up to `after`. The entry may not be read at all.
    fn agree_if_read<'a>(manifest: &Manifest<'a>, expected: &TensorRecord<'a>, after: u32) {
        assert!(skip_unchecked::<false>(manifest, 0).is_none_or(|passed| passed == (expected.name.bytes(), after)));
        let mut tensor = TensorRecord::blank();
        if let Some(end) = read::<false>(manifest, &mut tensor, 0) {
            assert_eq!((end, format!("{tensor:?}")), (after, format!("{expected:?}")));
        }
        let mut reader = manifest.reader(expected.components);
        reader.entry = 0;
        reader.map().unwrap();
        let (mut part, mut expected_part) = (ComponentRecord::blank(), ComponentRecord::blank());
        entry::component(manifest, &mut reader, &mut &[][..], &mut expected_part).unwrap();
        layout::complete(expected, &mut expected_part);
        if let Some(end) = read_data::<false>(manifest, expected, &mut part) {
            assert_eq!((end, format!("{part:?}")), (reader.position(), format!("{expected_part:?}")));
        }
    }

    /// Reads an entry with the general parser.
    fn read_any<'a>(
        manifest: &Manifest<'a>,
        reader: &mut Reader<'a>,
        mut last: &'a [u8],
        tensor: &mut TensorRecord<'a>,
    ) -> Option<()> {
        tensor.at = manifest.offset(0);
        reader.entry = 0;
        tensor.name = entry::name(reader, Part::Name, &mut last)?;
        entry::object(manifest, reader, tensor, None)
    }

    #[test]
    fn entries_are_read_as_any_others_are() {
        const DATA: &[u8] = b"\xa3eparts\xa1ddata\xa2dblob\x82";
        const VERIFIED: &[u8] = b"\xa3eparts\xa1ddata\xa3dblob\x82";
        const DENSE: &[u8] = b"flayoutedense";
        let entries: [[&[u8]; 4]; 9] = [
            [b"aa", DATA, b"\x19\x10\x00\x00edtypecf32eshape\x81\x00", DENSE],
            [b"ab", DATA, b"\x19\x20\x00\x04edtypecf32eshape\x80", DENSE],
            [b"aa", DATA, b"\x19\xf0\x00\x0cedtypedbf16eshape\x82\x02\x03", DENSE],
            [b"aa", DATA, b"\x1a\x00\x0f\xf0\x00\x18\x18edtypebu8eshape\x81\x18\x18", DENSE],
            [b"aa", DATA, b"\x1a\x00\x10\x10\x00\x18\x18edtypebu8eshape\x81\x18\x18", DENSE],
            [b"aa", DATA, b"\x19\x10\x00\x19\x01\x00edtypebi8eshape\x82\x01\x19\x01\x00", DENSE],
            [b"aa", VERIFIED, b"\x19\x10\x00\x08edtypecf64fdigestuxxh3:0123456789abcdefeshape\x81\x01", DENSE],
            [b"j\xe2\x82\xac.weight", DATA, b"\x19\x10\x00\x02edtypecf16eshape\x81\x01", DENSE],
            [b"x\x1blayers.12.attention.weight!", DATA, b"\x19\x10\x00\x02edtypecf16eshape\x81\x01", DENSE],
        ];
        let mut changed = 0;
        for entry in entries.map(|parts| parts.concat()) {
            assert!(agree(&entry, b""), "{entry:x?}");
            for length in 0..entry.len() {
                assert!(!agree(&entry[..length], b""));
            }
            for last in [&b""[..], b"a", b"b", b"bb", b"layers.12.attention.weight "] {
                // Every byte, or the first ten, which include the name.
                for at in 0..if last.is_empty() { entry.len() } else { 10 } {
                    for byte in 0..=0xff {
                        let mut entry = entry.clone();
                        entry[at] = byte;
                        changed += u32::from(agree(&entry, last));
                    }
                }
            }
        }
        assert!(changed > 10_000, "{changed}"); // names, lengths, offsets, digests
    }
}
