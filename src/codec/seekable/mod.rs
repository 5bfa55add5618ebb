//! Zstandard in frames that are decoded one by one: the encoding `zt.zstd-seekable/1` of zTensor 2.
//!
//! A stream consists of complete frames (RFC 8878), then a skippable frame with the table of their lengths (Zstandard's
//! seekable format). All lengths are stated at least twice, by the table, by the headers of frames and blocks, and by
//! the file. They are compared before anything is decoded. The decoder of a frame compares the content with its
//! checksum, as the built-in decoders do.
#![forbid(unsafe_code)]

use crate::bytes::num::{to_u64, to_usize};
use crate::codec::decoder::{DecodeError, Decoder};
use crate::error::ErrorKind;
use crate::types::Encoding;

/// The error kinds become errors of the component.
type Result<T> = core::result::Result<T, ErrorKind>;

const NO_TABLE: ErrorKind = ErrorKind::InvalidSeekTable;

/// The maximum decoded size of a frame (`zt.zstd-seekable/1`, Rules).
pub(crate) const MAX_CONTENT: u32 = 16 << 20;

/// The maximum decoded size of a block (RFC 8878 section 3.1.1.2.3).
const MAX_BLOCK: u32 = 1 << 17;

/// A stream whose table has been checked: its lengths add up to the frames and to the decoded length.
#[derive(Clone, Copy)]
pub(crate) struct Seekable<'a> {
    frames: Frames<'a>,
    /// The decoded size of all frames, and of the largest frame.
    length: u64,
    largest: u32,
}

/// The frames of a stream, in order.
#[derive(Clone, Copy)]
struct Frames<'a> {
    stored: &'a [u8],
    entries: &'a [u8],
    /// True if each entry of the table has a checksum.
    has_checksums: bool,
    /// The start of the content of the next frame.
    at: u64,
}

/// A frame and its entry in the table.
#[derive(Clone, Copy)]
struct Frame<'a> {
    stored: &'a [u8],
    checksum: Option<u32>,
    /// The start and the length of its content.
    at: u64,
    content: u32,
}

/// The overlap of a frame with a range.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Share {
    All,
    Some,
    None,
}

impl<'a> Seekable<'a> {
    /// Reads and checks the table at the end of `stored`: linear in its entries. Does not read any frame.
    pub(crate) fn open(stored: &'a [u8], decoded_length: Option<u64>) -> Result<Self> {
        let (rest, footer) = stored.split_last_chunk::<9>().ok_or(NO_TABLE)?;
        let [count @ .., 0 | 0x80, 0xb1, 0xea, 0x92, 0x8f] = footer else { return Err(NO_TABLE) };
        let has_checksums = footer.get(4) == Some(&0x80);
        let count = count.iter().rev().fold(0_u64, |count, byte| count << 8 | u64::from(*byte));
        let entries_length = count.wrapping_mul(if has_checksums { 12 } else { 8 }); // below 2^36
        let (frames, entries) = to_usize(entries_length)
            .and_then(|length| rest.len().checked_sub(length))
            .and_then(|at| rest.split_at_checked(at))
            .ok_or(NO_TABLE)?;
        let (frames, head) = frames.split_last_chunk::<8>().ok_or(NO_TABLE)?;
        let &[0x5e, 0x2a, 0x4d, 0x18, a, b, c, d] = head else { return Err(NO_TABLE) };
        if u64::from(u32::from_le_bytes([a, b, c, d])) != entries_length.wrapping_add(9) {
            return Err(NO_TABLE);
        }

        let frames = Frames { stored: frames, entries, has_checksums, at: 0 };
        let (mut rest, mut largest, mut expected) = (frames, 0, None);
        while let Some(frame) = rest.next() {
            let is_last = rest.entries.is_empty();
            if frame.content > MAX_CONTENT || (!is_last && expected.is_some_and(|content| content != frame.content)) {
                return Err(NO_TABLE);
            }
            expected = Some(frame.content);
            largest = frame.content.max(largest);
        }
        if !rest.entries.is_empty() || !rest.stored.is_empty() {
            return Err(NO_TABLE);
        }
        if decoded_length.is_some_and(|length| length != rest.at) {
            return Err(ErrorKind::DecodedLength);
        }
        Ok(Self { frames, length: rest.at, largest })
    }

    /// Returns the decoded size of all frames.
    pub(crate) const fn length(&self) -> u64 {
        self.length
    }

    /// Returns the decoded size of the largest frame: at most 16 MiB.
    pub(crate) fn largest_frame(&self) -> u64 {
        self.largest.into()
    }

    /// Decodes `dst.len()` bytes from `offset` on, which must exist. Frames that overlap the range in part are decoded
    /// into `scratch`. Linear in the table and in the frames that overlap the range. Nothing is decoded until the
    /// headers of all these frames have been checked.
    pub(crate) fn read(
        &self,
        decoder: &mut dyn Decoder,
        offset: u64,
        dst: &mut [u8],
        scratch: &mut [u8],
    ) -> Result<()> {
        let end = offset.checked_add(to_u64(dst.len())).filter(|end| *end <= self.length);
        let end = end.ok_or(ErrorKind::NoSuchElement)?;
        for frame in self.frames {
            let share = frame.share(offset, end);
            if share != Share::None {
                frame.check()?;
            }
            if share == Share::Some && frame.content_length() > scratch.len() {
                return Err(ErrorKind::OutOfScratch);
            }
        }
        for frame in self.frames {
            let length = frame.content_length();
            match frame.share(offset, end) {
                Share::None => {}
                Share::All => {
                    let at = to_usize(frame.at.wrapping_sub(offset)); // the frame begins in the range
                    let dst = at.and_then(|at| dst.get_mut(at..)?.get_mut(..length)).ok_or(NO_TABLE)?;
                    frame.decode(decoder, dst)?;
                }
                Share::Some => {
                    let content = scratch.get_mut(..length).ok_or(ErrorKind::OutOfScratch)?;
                    frame.decode(decoder, content)?;
                    let skipped = to_usize(offset.saturating_sub(frame.at)).unwrap_or(usize::MAX);
                    let wanted = content.get(skipped..).unwrap_or_default();
                    let at = to_usize(frame.at.saturating_sub(offset)).unwrap_or(usize::MAX);
                    let dst = dst.get_mut(at..).unwrap_or_default();
                    dst.iter_mut().zip(wanted).for_each(|(to, from)| *to = *from);
                }
            }
        }
        Ok(())
    }

    /// Decodes all frames, one after the other, into `scratch`, which must have room for the largest frame. Passes each
    /// content to `use_content`, with a flag that is true for the end of the stream.
    pub(crate) fn each(
        &self,
        decoder: &mut dyn Decoder,
        scratch: &mut [u8],
        mut use_content: impl FnMut(&[u8], bool),
    ) -> Result<()> {
        let largest = to_usize(self.largest_frame());
        let scratch = largest.and_then(|length| scratch.get_mut(..length)).ok_or(ErrorKind::OutOfScratch)?;
        for frame in self.frames {
            frame.check()?;
            let content = scratch.get_mut(..frame.content_length()).ok_or(ErrorKind::OutOfScratch)?;
            frame.decode(decoder, content)?;
            use_content(content, frame.at.saturating_add(frame.content.into()) == self.length);
        }
        Ok(())
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    /// Returns the next frame; `None` at the end of the table, or if the frame is longer than the remaining bytes.
    fn next(&mut self) -> Option<Frame<'a>> {
        let (length, entries) = self.entries.split_first_chunk::<4>()?;
        let (content, mut entries) = entries.split_first_chunk::<4>()?;
        let mut checksum = None;
        if self.has_checksums {
            let (sum, rest) = entries.split_first_chunk::<4>()?;
            (checksum, entries) = (Some(u32::from_le_bytes(*sum)), rest);
        }
        let length = to_usize(u64::from(u32::from_le_bytes(*length)))?;
        let (stored, rest) = self.stored.split_at_checked(length)?;
        let frame = Frame { stored, checksum, at: self.at, content: u32::from_le_bytes(*content) };
        let at = self.at.checked_add(frame.content.into())?;
        *self = Self { stored: rest, entries, at, ..*self };
        Some(frame)
    }
}

impl Frame<'_> {
    /// Returns how much of the frame is in `start..end`. An empty frame belongs to any range that it is in or next to.
    fn share(&self, start: u64, end: u64) -> Share {
        let content_end = self.at.saturating_add(self.content.into());
        if self.at >= start && content_end <= end {
            Share::All
        } else if start < end && self.at < end && content_end > start {
            Share::Some
        } else {
            Share::None
        }
    }

    fn content_length(&self) -> usize {
        to_usize(self.content.into()).unwrap_or(usize::MAX)
    }

    /// Checks the headers: this is a single frame, with a checksum and without a dictionary, and its blocks can have
    /// the content length that the table states. Linear in the number of blocks.
    fn check(&self) -> Result<()> {
        self.frame_checksum().ok_or(ErrorKind::InvalidFrame).and_then(|checksum| match self.checksum {
            Some(stated) if stated != checksum => Err(NO_TABLE),
            _ => Ok(()),
        })
    }

    /// Returns the content checksum, if everything else is valid.
    fn frame_checksum(&self) -> Option<u32> {
        let ([0x28, 0xb5, 0x2f, 0xfd, descriptor], rest) = self.stored.split_first_chunk::<5>()? else { return None };
        // Sections 3.1.1.1.1.4 to 6: no reserved bit, a checksum, no dictionary.
        if descriptor & 0x0f != 4 {
            return None;
        }
        let is_single = descriptor & 0x20 != 0;
        let rest = rest.get(usize::from(!is_single)..)?; // the size of the window
        let size_length = match descriptor >> 6 {
            0 => usize::from(is_single),
            log => 1_usize.wrapping_shl(log.into()),
        };
        let (size, mut rest) = rest.split_at_checked(size_length)?;
        let base = if size_length == 2 { 256 } else { 0 };
        let size = size.iter().rev().fold(0_u64, |size, byte| size << 8 | u64::from(*byte));
        if size_length > 0 && size.checked_add(base)? != u64::from(self.content) {
            return None;
        }
        // The minimum and maximum decoded size of the blocks; a compressed block does not state its size.
        let (mut least, mut most) = (0_u64, 0_u64);
        loop {
            let ([a, b, c], blocks) = rest.split_first_chunk::<3>()?;
            let header = u32::from_le_bytes([*a, *b, *c, 0]);
            let size = header >> 3;
            let (stored, content) = match (header >> 1) & 3 {
                0 => (size, size..=size),
                1 => (1, size..=size),
                2 => (size, 0..=MAX_BLOCK),
                _ => return None,
            };
            if size > MAX_BLOCK {
                return None;
            }
            rest = blocks.get(to_usize(stored.into())?..)?;
            least = least.saturating_add((*content.start()).into());
            most = most.saturating_add((*content.end()).into());
            if header & 1 != 0 {
                break;
            }
        }
        let content = u64::from(self.content);
        match rest {
            &[a, b, c, d] if least <= content && content <= most => Some(u32::from_le_bytes([a, b, c, d])),
            _ => None,
        }
    }

    /// Decodes the frame into `dst`, which has the length of its content.
    fn decode(&self, decoder: &mut dyn Decoder, dst: &mut [u8]) -> Result<()> {
        match decoder.decode(Encoding::Zstd, self.stored, dst) {
            Ok(length) if length == dst.len() => Ok(()),
            Ok(_) | Err(DecodeError::DoesNotFit) => Err(NO_TABLE),
            Err(DecodeError::Malformed) => Err(ErrorKind::CorruptStream),
            Err(DecodeError::Checksum) => Err(ErrorKind::ChecksumMismatch),
            Err(DecodeError::Unsupported) => Err(ErrorKind::UnsupportedEncoding),
        }
    }
}

/// Returns true if `stored` is a single frame with a checksum, and its headers allow a content of `length` bytes.
#[cfg(feature = "write")]
pub(crate) fn is_frame(stored: &[u8], length: u64) -> bool {
    u32::try_from(length).is_ok_and(|content| Frame { stored, checksum: None, at: 0, content }.check().is_ok())
}

#[cfg(test)]
pub(crate) mod tests;
