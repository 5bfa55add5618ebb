//! Dense tensors of zTensor 1.2 as real programs write them: keys in the order below, and a single component of raw
//! bytes.
//!
//! Only for hosts: chips have no flash to spare for a second parser. It reads only entries without a fault or a
//! warning. For any other entry it returns `None`, and `entry` finds the reason. The rules are those of `layout`.
//!
//! ```text
//! name: {
//!     "shape": [lengths]
//!     "format": "dense"
//!     "components": {
//!         "data": {
//!             "dtype": text of at most 7 bytes
//!             "offset": number
//!             "length": number
//!             "digest": text                      where the map has 4 keys
//!         }
//!     }
//! }
//! ```
#![forbid(unsafe_code)]

use super::layout::{self, short_dtypes};
use super::manifest::{Generation, Manifest};
use crate::bytes::extent::Extent;
use crate::bytes::num::product;
use crate::bytes::utf8::{Utf8, is_utf8};
use crate::codec::cbor::fast::{Rest, key_word, text_word};
use crate::codec::digest;
use crate::format::{ComponentRecord, TensorRecord};
use crate::types::shape::Shape;
use crate::types::{DType, Layout};

/// The bytes between the name and the rank, between the lengths and the component, and between the component and its
/// dtype.
const SHAPE: u64 = key_word(b"\xa3\x65shape");
const COMPONENTS: &[u8; 24] = b"\x66format\x65dense\x6acomponents";
const DATA: &[u8; 13] = b"\xa1\x64data\xa3\x65dtype";
const DATA_WITH_DIGEST: &[u8; 13] = b"\xa1\x64data\xa4\x65dtype";
const OFFSET: u64 = key_word(b"\x66offset");
const LENGTH: u64 = key_word(b"\x66length");
const DIGEST: u64 = key_word(b"\x66digest");

/// Declares a list of dtypes: the name as a word, the dtype, and the size of an element.
macro_rules! words {
    ($($name:literal: $dtype:ident),* $(,)?) => {
        [$((text_word($name), DType::$dtype, DType::$dtype.byte_size())),*]
    };
}
static DTYPES: [(u64, DType, u64); 17] = short_dtypes!(words);

/// An entry of this form, up to the map of its components.
struct Entry<'a> {
    name: &'a [u8],
    /// The lengths and the bytes after them, the rank, and the product of the lengths.
    lengths: &'a [u8],
    rank: u32,
    elements: Option<u64>,
    /// The map of the components and the bytes after it.
    components: Rest<'a>,
}

/// The map of the components, up to the dtype.
struct Start<'a> {
    dtype: DType,
    /// The size of an element.
    size: u64,
    has_digest: bool,
    rest: Rest<'a>,
}

/// The rest of the component after its dtype.
struct Data<'a> {
    extent: Extent,
    digest: Option<&'a [u8]>,
    /// The bytes after the entry.
    rest: Rest<'a>,
}

impl<'a> Entry<'a> {
    /// Reads the entry at `position` in the manifest. Without `IS_PLAIN`, also checks its form.
    #[inline(always)]
    fn at<const IS_PLAIN: bool>(manifest: &Manifest<'a>, position: u32) -> Option<Self> {
        let mut rest = Rest::of(manifest.region.bytes, position)?;
        let name = rest.text()?;
        let head = if IS_PLAIN { rest.checked_key()? } else { rest.key(SHAPE)? };
        if !IS_PLAIN && !matches!(head, 0x80..=0x97) {
            return None;
        }
        let rank = u32::from(head & 0x1f);
        let lengths = rest.bytes();
        let mut elements = Some(1);
        for _ in 0..rank {
            if IS_PLAIN {
                rest.skip_unsigned()?;
            } else {
                elements = product(elements, rest.unsigned()?);
            }
        }
        let components = rest.chunk()?;
        let is_one = IS_PLAIN || components == COMPONENTS;
        is_one.then_some(Self { name, lengths, rank, elements, components: rest })
    }

    /// Fills in `tensor`, a blank record.
    #[inline(always)]
    fn store(&self, manifest: &Manifest<'a>, position: u32, start: &Start<'a>, tensor: &mut TensorRecord<'a>) {
        tensor.dtype = Some(start.dtype);
        tensor.at = manifest.region.start.wrapping_add(position.into()); // offset in the file
        tensor.name = Utf8::known(self.name);
        tensor.shape = Shape::new(self.lengths, self.rank, layout::read_dimension);
        tensor.components = self.components.position_in(manifest.region.bytes);
    }
}

impl<'a> Start<'a> {
    /// Reads the bytes before the dtype. Returns whether the component has a digest.
    #[inline(always)]
    fn has_digest<const IS_PLAIN: bool>(rest: &mut Rest<'a>) -> Option<bool> {
        let start: &[u8; 13] = rest.chunk()?;
        if IS_PLAIN {
            let [_, _, _, _, _, _, head, ..] = start;
            return Some(*head == DATA_WITH_DIGEST[6]);
        }
        let has_digest = start == DATA_WITH_DIGEST;
        (has_digest || start == DATA).then_some(has_digest)
    }

    /// Skips the start of the component without decoding its dtype.
    #[inline(always)]
    fn skip_unchecked<const IS_PLAIN: bool>(mut rest: Rest<'a>) -> Option<Self> {
        let has_digest = Self::has_digest::<IS_PLAIN>(&mut rest)?;
        if IS_PLAIN {
            rest.skip_short_text()?;
        } else {
            rest.short_text()?;
        }
        Some(Self { dtype: DType::U8, size: 1, has_digest, rest })
    }

    /// Skips the rest of a component that [`check`] has accepted. Returns the bytes after the entry.
    #[inline(always)]
    fn skip_data(&self) -> Option<Rest<'a>> {
        let mut rest = self.rest;
        for _ in [OFFSET, LENGTH] {
            rest.take(7)?;
            rest.skip_unsigned()?;
        }
        if self.has_digest {
            let head = rest.checked_key()?;
            rest.text_of(head)?;
        }
        Some(rest)
    }

    #[inline(always)]
    fn read<const IS_PLAIN: bool>(mut rest: Rest<'a>) -> Option<Self> {
        let has_digest = Self::has_digest::<IS_PLAIN>(&mut rest)?;
        let name = rest.short_text()?;
        let (_, dtype, size) = DTYPES.iter().find(|(word, ..)| *word == name)?;
        Some(Self { dtype: *dtype, size: *size, has_digest, rest })
    }
}

impl<'a> Data<'a> {
    #[inline(always)]
    fn read<const IS_PLAIN: bool>(start: &Start<'a>) -> Option<Self> {
        let mut rest = start.rest;
        let key = |rest: &mut Rest<'a>, key| if IS_PLAIN { rest.checked_key() } else { rest.key(key) };
        let offset = key(&mut rest, OFFSET)?;
        let offset = rest.unsigned_of(offset)?;
        let length = key(&mut rest, LENGTH)?;
        let extent = Extent::new(offset, rest.unsigned_of(length)?);
        let mut digest = None;
        if start.has_digest {
            let head = key(&mut rest, DIGEST)?;
            digest = Some(rest.text_of(head)?);
        }
        Some(Self { extent, digest, rest })
    }

    /// Returns true if the data breaks no rule and causes no warning.
    #[inline(always)]
    fn is_sound(&self, manifest: &Manifest<'a>) -> bool {
        layout::check_bounds(manifest, self.extent).is_none()
            && layout::is_aligned(self.extent)
            && self.digest.is_none_or(digest::is_of_known_kind)
    }

    /// Returns true if the data is sound and its length is the one that `entry` requires.
    #[inline(always)]
    fn is_sound_in(&self, manifest: &Manifest<'a>, entry: &Entry<'a>, start: &Start<'a>) -> bool {
        self.is_sound(manifest) && product(entry.elements, start.size) == Some(self.extent.length)
    }
}

/// Checks the entry at `position`. Returns its name and the position after it.
#[inline(always)]
pub(super) fn check<'a>(manifest: &Manifest<'a>, position: u32) -> Option<(&'a [u8], u32)> {
    if manifest.generation != Generation::V1_2 {
        return None;
    }
    let entry = Entry::at::<false>(manifest, position)?;
    let start = Start::read::<false>(entry.components)?;
    let data = Data::read::<false>(&start)?;
    let is_sound = data.is_sound_in(manifest, &entry, &start);
    if !is_sound || !is_utf8(entry.name) || !data.digest.is_none_or(is_utf8) {
        return None;
    }
    Some((entry.name, data.rest.position_in(manifest.region.bytes)))
}

/// The name of the entry at `position`, which has been checked, and the position after the entry. [`read`] explains
/// `IS_PLAIN`.
#[inline(always)]
pub(super) fn skip_unchecked<'a, const IS_PLAIN: bool>(
    manifest: &Manifest<'a>,
    position: u32,
) -> Option<(&'a [u8], u32)> {
    if !IS_PLAIN && manifest.generation != Generation::V1_2 {
        return None;
    }
    let entry = Entry::at::<IS_PLAIN>(manifest, position)?;
    let start = Start::skip_unchecked::<IS_PLAIN>(entry.components)?;
    let rest = if IS_PLAIN { start.skip_data()? } else { Data::read::<false>(&start)?.rest };
    Some((entry.name, rest.position_in(manifest.region.bytes)))
}

/// Reads the entry at `position` into `tensor`, a blank record. Returns the position after it.
///
/// The entry has been checked, perhaps as one that is not plain. With `IS_PLAIN`, [`check`] has accepted it: neither its
/// form nor the rules are checked again.
#[inline(never)]
pub(super) fn read<'a, const IS_PLAIN: bool>(
    manifest: &Manifest<'a>,
    tensor: &mut TensorRecord<'a>,
    position: u32,
) -> Option<u32> {
    if !IS_PLAIN && manifest.generation != Generation::V1_2 {
        return None;
    }
    let entry = Entry::at::<IS_PLAIN>(manifest, position)?;
    let start = Start::read::<IS_PLAIN>(entry.components)?;
    let rest = if IS_PLAIN {
        start.skip_data()?
    } else {
        Data::read::<false>(&start).filter(|data| data.is_sound_in(manifest, &entry, &start))?.rest
    };
    entry.store(manifest, position, &start, tensor);
    Some(rest.position_in(manifest.region.bytes))
}

/// Reads an entry that [`check`] has accepted, only as far as a tensor needs.
#[inline(never)]
pub(super) fn read_alone<'a>(manifest: &Manifest<'a>, tensor: &mut TensorRecord<'a>, position: u32) -> Option<()> {
    let entry = Entry::at::<true>(manifest, position)?;
    let start = Start::read::<true>(entry.components)?;
    entry.store(manifest, position, &start, tensor);
    Some(())
}

/// Reads the only component of `tensor` into `part`, a blank record. Returns the position after it. [`read`] explains `IS_PLAIN`.
#[inline(never)]
pub(super) fn read_data<'a, const IS_PLAIN: bool>(
    manifest: &Manifest<'a>,
    tensor: &TensorRecord<'a>,
    part: &mut ComponentRecord<'a>,
) -> Option<u32> {
    if !IS_PLAIN && (manifest.generation != Generation::V1_2 || tensor.layout != Layout::Dense) {
        return None;
    }
    let rest = Rest::of(manifest.region.bytes, tensor.components)?;
    // In a plain entry, both dtypes are the one that the tensor already has.
    let start = if IS_PLAIN { Start::skip_unchecked::<true>(rest)? } else { Start::read::<false>(rest)? };
    let data = Data::read::<IS_PLAIN>(&start)?;
    if !IS_PLAIN && !data.is_sound(manifest) {
        return None;
    }
    // The role follows the head of the map.
    let at = manifest.region.start.wrapping_add(tensor.components.wrapping_add(1).into());
    part.at = at;
    part.entry_distance = u32::try_from(at.saturating_sub(tensor.at)).unwrap_or(u32::MAX);
    part.dtype = tensor.dtype;
    part.storage = if IS_PLAIN { tensor.dtype } else { Some(start.dtype) };
    part.extent = data.extent;
    part.decoded_length = Some(data.extent.length);
    part.digest = data.digest.map(Utf8::known);
    Some(data.rest.position_in(manifest.region.bytes))
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::prelude::v1::*;

    use super::super::{complete, entry};
    use super::*;
    use crate::bytes::extent::Region;

    /// Checks that all three functions read the same as `entry`, without a fault or a warning. Returns true if they
    /// read the entry.
    fn agree(bytes: &[u8]) -> bool {
        let manifest = Manifest { region: Region { bytes, start: 4096 }, generation: Generation::V1_2 };
        let mut reader = manifest.reader(0);
        let mut expected = TensorRecord::blank();
        entry::entry(&manifest, &mut expected, &mut reader);
        let mut tensor = TensorRecord::blank();
        let after = read::<false>(&manifest, &mut tensor, 0);
        let Some((name, end)) = check(&manifest, 0) else {
            // `read` does not check the encoding of texts, so it may accept an entry with this fault.
            assert!(after.is_none() || reader.found_fault().is_some());
            if reader.found_fault().is_none() {
                agree_if_read(&manifest, &expected, reader.position());
            }
            return false;
        };
        assert!(reader.found_fault().is_none() && expected.warnings == 0, "{bytes:x?}");
        assert_eq!((name, end), (expected.name.bytes(), reader.position()));
        assert_eq!(skip_unchecked::<false>(&manifest, 0), Some((name, end)));
        assert_eq!(skip_unchecked::<true>(&manifest, 0), Some((name, end)));
        assert_eq!((after, format!("{tensor:?}")), (Some(end), format!("{expected:?}")));
        let (mut tensor, mut alone) = (TensorRecord::blank(), TensorRecord::blank());
        assert_eq!(read::<true>(&manifest, &mut tensor, 0), Some(end));
        assert_eq!(read_alone(&manifest, &mut alone, 0), Some(()));
        assert_eq!([&tensor, &alone].map(|tensor| format!("{tensor:?}")), [(); 2].map(|()| format!("{expected:?}")));

        let mut reader = manifest.reader(tensor.components);
        reader.entry = 0;
        reader.map();
        let mut expected = ComponentRecord::blank();
        expected.warnings = 0xff; // must be reset
        entry::component(&manifest, &mut reader, &mut expected);
        for read in [read_data::<false>, read_data::<true>] {
            let mut part = ComponentRecord::blank();
            assert_eq!(read(&manifest, &tensor, &mut part), Some(reader.position()));
            assert_eq!(format!("{part:?}"), format!("{expected:?}"));
        }
        true
    }

    /// Compares the result with `expected` for an entry that `check` rejects and `entry` has read up to `after`. The
    /// entry may not be read at all.
    fn agree_if_read<'a>(manifest: &Manifest<'a>, expected: &TensorRecord<'a>, after: u32) {
        assert!(skip_unchecked::<false>(manifest, 0).is_none_or(|passed| passed == (expected.name.bytes(), after)));
        let mut reader = manifest.reader(expected.components);
        reader.entry = 0;
        reader.map();
        let (mut part, mut expected_part) = (ComponentRecord::blank(), ComponentRecord::blank());
        entry::component(manifest, &mut reader, &mut expected_part);
        complete(manifest.generation, expected, &mut expected_part);
        if let Some(end) = read_data::<false>(manifest, expected, &mut part) {
            assert_eq!((end, format!("{part:?}")), (reader.position(), format!("{expected_part:?}")));
        }
    }

    #[test]
    fn entries_are_read_as_any_others_are() {
        const DENSE: &[u8] = b"fformatedensejcomponents";
        let entries: [[&[u8]; 3]; 8] = [
            [b"aa\xa3eshape\x81\x00", DENSE, b"\xa1ddata\xa3edtypecf32foffset\x00flength\x00"],
            [b"aa\xa3eshape\x81\x01", DENSE, b"\xa1ddata\xa3edtypedboolfoffset\x18\x40flength\x01"],
            [b"aa\xa3eshape\x81\x03", DENSE, b"\xa1ddata\xa3edtypedbf16foffset\x19\x01\x00flength\x06"],
            [b"aa\xa3eshape\x81\x00", DENSE, b"\xa1ddata\xa3edtypegf8_e4m3foffset\x00flength\x00"],
            [
                b"\x78\x05\xc3\xa9\xe2\x82\xac\xa3eshape\x80",
                DENSE,
                b"\xa1ddata\xa3edtypecf32foffset\x18\x40flength\x04",
            ],
            [b"\x60\xa3eshape\x83\x02\x1a\0\0\0\x02\x03", DENSE, b"\xa1ddata\xa3edtypebu8foffset\x18\x80flength\x0c"],
            [
                b"aa\xa3eshape\x81\x00",
                DENSE,
                b"\xa1ddata\xa4edtypecf32foffset\x00flength\x00fdigestqcrc32c:0x00000000",
            ],
            [b"aa\xa3eshape\x81\x00", DENSE, b"\xa1ddata\xa4edtypecf32foffset\x00flength\x00fdigestgsha256:"],
        ];
        let mut changed = 0;
        for entry in entries.map(|parts| parts.concat()) {
            assert!(agree(&entry), "{entry:x?}");
            for length in 0..entry.len() {
                assert!(!agree(&entry[..length]));
            }
            for at in 0..entry.len() {
                for byte in 0..=0xff {
                    let mut entry = entry.clone();
                    entry[at] = byte;
                    changed += u32::from(agree(&entry));
                }
            }
        }
        assert!(changed > 2000, "{changed}"); // names, lengths, offsets, digests
    }
}
