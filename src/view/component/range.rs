//! Reading byte ranges of a component, and the operations that a component supports.
#![forbid(unsafe_code)]

use super::Component;
use crate::bytes::num::{to_u64, to_usize};
use crate::codec::BuiltIn;
use crate::codec::decoder::Decoder;
use crate::codec::options::ReadOptions;
#[cfg(feature = "ztensor2")]
use crate::codec::seekable::Seekable;
#[cfg(feature = "ztensor2")]
use crate::error::Error;
use crate::error::origin::Part;
use crate::error::{ErrorKind, Result};
use crate::types::Encoding;

/// The operations that a component supports in this build. A flag is true if the operation gets as far as reading the
/// component's bytes, which may still turn out to be damaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Caps {
    /// [`Component::bytes`] returns the bytes in place.
    pub bytes: bool,
    /// [`Component::read_range_into`] reads a range without decoding the bytes before it.
    pub range: bool,
    /// [`Component::read_into`] decodes or copies the component.
    pub decode: bool,
    /// [`Component::verify`] compares the component with a digest, and does not report that there is no digest.
    pub verify: bool,
}

impl Caps {
    /// Returns the flags as the C ABI encodes them: 1, 2, 4 and 8, in the order of the fields.
    #[must_use]
    pub fn bits(self) -> u32 {
        let flags = [self.verify, self.decode, self.range, self.bytes];
        flags.iter().fold(0, |bits, flag| bits << 1 | u32::from(*flag))
    }
}

impl<'a> Component<'a> {
    /// Returns the operations that the component supports, using the operations' own checks. Constant cost. A caller's
    /// decoder may decode more than the built-in decoders.
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/v1.2/dense_all_dtypes.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// let caps = file.find("t.float64")?.data()?.caps();
    /// assert!(caps.bytes && caps.range && caps.decode);
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    #[must_use]
    pub fn caps(&self) -> Caps {
        let is_decoded = match self.record.encoding {
            Encoding::Raw => true,
            Encoding::Varint | Encoding::Fixed => cfg!(feature = "onnx"),
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

    /// Reads a range of the output of [`read_into`](Self::read_into): `dst.len()` bytes from byte `offset` on. Raw
    /// bytes are copied. In `zt.zstd-seekable/1` only the frames that overlap the range are decoded; frames that
    /// overlap it in part are decoded into the scratch memory, whose length [`requirements`](Self::requirements)
    /// returns. The decoder is called with [`Encoding::Zstd`] for one frame at a time, and should check the frame's
    /// checksum.
    ///
    /// The cost is linear in `dst`, in the frames that are decoded (at most 16 MiB more than `dst`), and in the table
    /// of all frames, 8 or 12 bytes each.
    ///
    /// # Errors
    /// `dst` is unchanged after these errors:
    ///
    /// - `NoSuchElement` if the range extends past the end.
    /// - `PartialElement` if the range begins or ends within a number: numbers are converted to this machine's byte
    ///   order.
    /// - `Encoded` if the encoding has no ranges.
    /// - `UnsupportedEncoding`, `InShard`, `NotInMemory`, `OutOfScratch`.
    ///
    /// After `InvalidSeekTable`, `InvalidFrame`, `DecodedLength`, `CorruptStream` and `ChecksumMismatch` the contents
    /// of `dst` are unspecified.
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/v1.2/dense_all_dtypes.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// let data = file.find("t.int32")?.data()?;
    /// let mut two = [0; 8];
    /// data.read_range_into(4, &mut two, tenslice::ReadOptions::new())?; // elements 1 and 2
    /// assert_eq!(Some(i32::from_ne_bytes([two[0], two[1], two[2], two[3]])), data.elements::<i32>()?.nth(1));
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    #[inline]
    pub fn read_range_into(&self, offset: u64, dst: &mut [u8], options: ReadOptions<'_>) -> Result<()> {
        let mut built_in = BuiltIn::default();
        let (decoder, scratch) = options.parts(&mut built_in);
        self.read_range_into_using(decoder, offset, dst, scratch)
    }

    pub(crate) fn read_range_into_using(
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
            return Err(self.error(ErrorKind::PartialElement, Part::Length));
        }
        match self.record.encoding {
            #[cfg(feature = "ztensor2")]
            Encoding::ZstdSeekable => {
                let frames = self.frames(stored)?;
                frames.read(decoder, offset, dst, scratch).map_err(|kind| self.frame_error(kind))?;
            }
            _ => {
                let wanted = to_usize(offset).and_then(|at| stored.get(at..)?.get(..dst.len()));
                let wanted = wanted.ok_or_else(|| self.error(ErrorKind::NoSuchElement, Part::Length))?;
                dst.iter_mut().zip(wanted).for_each(|(to, from)| *to = *from);
            }
        }
        if let Some(dtype) = self.record.dtype {
            self.record.order.to_native(dst, dtype);
        }
        Ok(())
    }

    /// Returns the scratch memory that [`read_range_into`](Self::read_range_into) needs at most, in bytes; see
    /// [`requirements`](Self::requirements).
    pub(super) fn range_scratch(&self) -> Option<u64> {
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

    /// Returns the stored bytes, if their encoding allows reading ranges.
    fn ranged(&self) -> Result<&'a [u8]> {
        match self.record.encoding {
            Encoding::Raw => self.stored(),
            #[cfg(feature = "ztensor2")]
            Encoding::ZstdSeekable => self.stored(),
            Encoding::Other => Err(self.error(ErrorKind::UnsupportedEncoding, Part::Encoding)),
            _ => Err(self.error(ErrorKind::Encoded, Part::Component)),
        }
    }

    /// Decodes all frames into `dst`, and returns the number of decoded bytes.
    #[cfg(feature = "ztensor2")]
    pub(super) fn read_frames(&self, decoder: &mut dyn Decoder, stored: &[u8], dst: &mut [u8]) -> Result<usize> {
        let frames = self.frames(stored)?;
        let dst = to_usize(frames.length()).and_then(|length| dst.get_mut(..length));
        let dst = dst.ok_or_else(|| self.error(ErrorKind::TooSmall, Part::Component))?;
        frames.read(decoder, 0, dst, &mut []).map_err(|kind| self.frame_error(kind))?;
        Ok(dst.len())
    }

    /// Returns the frames of the stored bytes.
    #[cfg(feature = "ztensor2")]
    pub(super) fn frames<'s>(&self, stored: &'s [u8]) -> Result<Seekable<'s>> {
        Seekable::open(stored, self.record.decoded_length).map_err(|kind| self.frame_error(kind))
    }

    /// Creates an error in the frames of this component.
    #[cfg(feature = "ztensor2")]
    #[cold]
    pub(super) fn frame_error(&self, kind: ErrorKind) -> Error {
        let item = match kind {
            ErrorKind::InvalidSeekTable => Part::SeekTable,
            ErrorKind::InvalidFrame => Part::Frame,
            ErrorKind::UnsupportedEncoding => Part::Encoding,
            ErrorKind::NoSuchElement => Part::Length,
            _ => Part::Component,
        };
        self.error(kind, item)
    }
}
