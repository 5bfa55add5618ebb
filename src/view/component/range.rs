//! Ranges of the bytes of a component, and what can be done with it.
//!
//! Depends on `error`, `bytes`, `vocab`, `codec`, `decode`.
#![forbid(unsafe_code)]

use super::Component;
use crate::bytes::num::{to_u64, to_usize};
use crate::codec::BuiltIn;
use crate::codec::decoder::Decoder;
#[cfg(feature = "ztensor2")]
use crate::codec::seekable::Seekable;
#[cfg(feature = "ztensor2")]
use crate::error::Error;
use crate::error::origin::Item;
use crate::error::{ErrorKind, Result};
use crate::types::Encoding;

/// What can be done with a component here and now, with what this build has: a flag for each operation, which is true
/// where the operation gets as far as reading the component's bytes. They may still turn out to be damaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Caps {
    /// [`Component::bytes`] returns its bytes in place.
    pub bytes: bool,
    /// [`Component::read_range_into`] reads a range without decoding what is before it.
    pub range: bool,
    /// [`Component::read_into`] decodes it, or copies it.
    pub decode: bool,
    /// [`Component::verify_with`] compares it with a digest, rather than report that there is none.
    pub verify: bool,
}

impl Caps {
    /// Returns the flags as they are in C, pinned: 1, 2, 4 and 8, in the order of the fields.
    #[must_use]
    pub fn bits(self) -> u32 {
        let flags = [self.verify, self.decode, self.range, self.bytes];
        flags.iter().fold(0, |bits, flag| bits << 1 | u32::from(*flag))
    }
}

impl<'a> Component<'a> {
    /// Returns what can be done with it: by the predicates of the operations themselves. Constant cost; a caller's decoder
    /// may decode more than what is built in.
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../tests/fixtures/v1.2/dense_all_dtypes.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// let caps = file.find("t.float64")?.data()?.caps();
    /// assert!(caps.bytes && caps.range && caps.decode);
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    #[must_use]
    pub fn caps(&self) -> Caps {
        let is_decoded = match self.record.encoding {
            Encoding::Raw => true,
            Encoding::ZstdSeekable => BuiltIn::decodes(Encoding::Zstd),
            encoding => BuiltIn::decodes(encoding),
        };
        Caps {
            bytes: self.bytes().is_ok(),
            range: is_decoded && self.ranged().is_ok(),
            decode: is_decoded && self.decodable().is_ok(),
            verify: self.is_verified(),
        }
    }

    /// Reads a range of what [`read_into`](Self::read_into) writes: as many bytes as `dst` has, from byte `offset` on. Raw
    /// bytes are copied; of `zt.zstd-seekable/1` only the frames are decoded that have a share in the range, those that
    /// are wanted in part into `scratch`, which has [`range_scratch_length`](Self::range_scratch_length) bytes.
    ///
    /// The cost is linear in `dst`, in the frames that are decoded (at most 16 MiB more than `dst`), and in the table of
    /// all frames, 8 or 12 bytes each.
    ///
    /// # Errors
    /// `NoSuchElement` where there are not as many bytes; `PartialElement` where the range begins or ends within a number:
    /// numbers are converted to this machine's byte order. `Encoded` where the encoding has no ranges,
    /// `UnsupportedEncoding`, `InShard`, `NotInMemory`, `OutOfScratch`. `dst` is as it was then. `InvalidSeekTable`,
    /// `InvalidFrame`, `DecodedLength`, `CorruptStream`, `ChecksumMismatch`: the contents of `dst` are unspecified.
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../tests/fixtures/v1.2/dense_all_dtypes.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// let data = file.find("t.int32")?.data()?;
    /// let mut two = [0; 8];
    /// data.read_range_into(4, &mut two, &mut [])?; // elements 1 and 2
    /// assert_eq!(Some(i32::from_ne_bytes([two[0], two[1], two[2], two[3]])), data.elements::<i32>()?.nth(1));
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    pub fn read_range_into(&self, offset: u64, dst: &mut [u8], scratch: &mut [u8]) -> Result<()> {
        self.read_range_into_with(&mut BuiltIn::default(), offset, dst, scratch)
    }

    /// Like [`read_range_into`](Self::read_range_into), with a caller-supplied decoder, which is asked for
    /// [`Encoding::Zstd`], a frame at a time, and should check the frame's checksum.
    ///
    /// # Errors
    /// Those of [`read_range_into`](Self::read_range_into).
    pub fn read_range_into_with(
        &self,
        decoder: &mut dyn Decoder,
        offset: u64,
        dst: &mut [u8],
        scratch: &mut [u8],
    ) -> Result<()> {
        let _ = (&decoder, &scratch); // unused without zTensor 2
        let stored = self.ranged()?;
        let lane = self.record.dtype.map_or(1, |dtype| to_u64(dtype.lane_size())); // a power of two
        if (offset | to_u64(dst.len())) & lane.wrapping_sub(1) != 0 {
            return Err(self.error(ErrorKind::PartialElement, Item::Length));
        }
        match self.record.encoding {
            #[cfg(feature = "ztensor2")]
            Encoding::ZstdSeekable => {
                let frames = self.frames(stored)?;
                frames.read(decoder, offset, dst, scratch).map_err(|kind| self.frame_error(kind))?;
            }
            _ => {
                let wanted = to_usize(offset).and_then(|at| stored.get(at..)?.get(..dst.len()));
                let wanted = wanted.ok_or_else(|| self.error(ErrorKind::NoSuchElement, Item::Length))?;
                dst.iter_mut().zip(wanted).for_each(|(to, from)| *to = *from);
            }
        }
        if let Some(dtype) = self.record.dtype {
            self.record.order.to_native(dst, dtype);
        }
        Ok(())
    }

    /// Returns how much scratch memory [`read_range_into`](Self::read_range_into) needs at most, in bytes: none for raw
    /// bytes, else that of the largest frame, at most 16 MiB. `None` where no range can be read: another encoding, bytes
    /// that are not in memory, an invalid table of frames. Linear in that table.
    #[must_use]
    pub fn range_scratch_length(&self) -> Option<u64> {
        let stored = self.ranged().ok()?;
        match self.record.encoding {
            #[cfg(feature = "ztensor2")]
            Encoding::ZstdSeekable => Some(self.frames(stored).ok()?.largest_frame()),
            _ => {
                let _ = stored;
                Some(0)
            }
        }
    }

    /// Returns its stored bytes, if ranges of what they decode to can be read.
    fn ranged(&self) -> Result<&'a [u8]> {
        match self.record.encoding {
            Encoding::Raw => self.stored(),
            #[cfg(feature = "ztensor2")]
            Encoding::ZstdSeekable => self.stored(),
            Encoding::Other => Err(self.error(ErrorKind::UnsupportedEncoding, Item::Encoding)),
            _ => Err(self.error(ErrorKind::Encoded, Item::Component)),
        }
    }

    /// Decodes all frames into `dst`, and returns how many bytes that are.
    #[cfg(feature = "ztensor2")]
    pub(super) fn read_frames(&self, decoder: &mut dyn Decoder, stored: &[u8], dst: &mut [u8]) -> Result<usize> {
        let frames = self.frames(stored)?;
        let dst = to_usize(frames.length()).and_then(|length| dst.get_mut(..length));
        let dst = dst.ok_or_else(|| self.error(ErrorKind::TooSmall, Item::Component))?;
        frames.read(decoder, 0, dst, &mut []).map_err(|kind| self.frame_error(kind))?;
        Ok(dst.len())
    }

    /// Returns the frames of its stored bytes.
    #[cfg(feature = "ztensor2")]
    pub(super) fn frames<'s>(&self, stored: &'s [u8]) -> Result<Seekable<'s>> {
        Seekable::open(stored, self.record.decoded_length).map_err(|kind| self.frame_error(kind))
    }

    /// An error of its frames.
    #[cfg(feature = "ztensor2")]
    #[cold]
    pub(super) fn frame_error(&self, kind: ErrorKind) -> Error {
        let item = match kind {
            ErrorKind::InvalidSeekTable => Item::SeekTable,
            ErrorKind::InvalidFrame => Item::Frame,
            ErrorKind::UnsupportedEncoding => Item::Encoding,
            ErrorKind::NoSuchElement => Item::Length,
            _ => Item::Component,
        };
        self.error(kind, item)
    }
}
