//! Zstandard (RFC 8878) into memory of a known size, by ruzstd or by libzstd.
//!
//! Depends on `decode` for the names of errors. Both decode frames one after the other, pass skippable
//! ones, refuse dictionaries and whatever follows the last frame, and hold the data to the frame's own
//! size and checksum. The output is bounded by the room, never by what a frame says of itself.
#![forbid(unsafe_code)]

use crate::decode::DecodeError;

#[cfg(feature = "zstd-c")]
pub(crate) use by_libzstd::decode;
#[cfg(not(feature = "zstd-c"))]
pub(crate) use by_ruzstd::decode;

#[cfg(feature = "zstd-c")]
mod by_libzstd {
    use super::DecodeError;

    pub(crate) fn decode(stored: &[u8], room: &mut [u8]) -> Result<usize, DecodeError> {
        // The safe interface gives an error's name, not its number.
        zstd_safe::decompress(room, stored).map_err(|code| match zstd_safe::get_error_name(code) {
            "Destination buffer is too small" => DecodeError::DoesNotFit,
            "Restored data doesn't match checksum" => DecodeError::Checksum,
            _ => DecodeError::Malformed,
        })
    }
}

#[cfg(all(feature = "zstd", not(feature = "zstd-c")))]
mod by_ruzstd {
    use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
    use ruzstd::io::Read;

    use super::DecodeError;
    use crate::bytes::num::{to_u64, to_usize};

    /// Decoded at most before what is there is moved to the room. Bounds the memory beside the window.
    const STEP: usize = 1 << 17;

    /// RFC 8878 section 3.1.1.1.2: the smallest window, and what a window must have for blocks of any size.
    const MIN_WINDOW_LOG: u32 = 10;
    const BLOCK_LOG: u32 = 17;

    /// What the library needs to know of the header of a frame (section 3.1.1.1).
    struct Header {
        /// The header itself, its window cut to what the output can need.
        bytes: [u8; 18],
        length: usize,
        /// The size of the content, where the frame states it.
        content: Option<u64>,
    }

    impl Header {
        /// Reads the header of the frame that `stored` begins with, which decodes to `room` bytes at most.
        fn read(stored: &[u8], room: u64) -> Result<Self, DecodeError> {
            let cut = DecodeError::Malformed;
            let descriptor = *stored.get(4).ok_or(cut)?;
            if descriptor & 0x08 != 0 {
                return Err(DecodeError::Malformed); // reserved, and zero
            }
            let is_single = descriptor & 0x20 != 0;
            let window_length = usize::from(!is_single);
            let dictionary_length = match descriptor & 3 {
                3 => 4,
                length => usize::from(length),
            };
            let content_length = match descriptor >> 6 {
                0 => usize::from(is_single),
                1 => 2,
                2 => 4,
                _ => 8,
            };
            // 4 + 1 + 1 + 4 + 8 at most
            let content_at = window_length.saturating_add(dictionary_length).saturating_add(5);
            let length = content_at.saturating_add(content_length);
            let header = stored.get(..length).ok_or(cut)?;
            let mut bytes = [0; 18];
            bytes.iter_mut().zip(header).for_each(|(to, from)| *to = *from);
            let mut content = [0; 8];
            content.iter_mut().zip(header.get(content_at..).unwrap_or_default()).for_each(|(to, from)| *to = *from);
            let content = u64::from_le_bytes(content).saturating_add(if content_length == 2 { 256 } else { 0 });
            // Matches never reach behind the start of the output, so a window as large as the output is
            // enough for any stream that fits (and for a whole block), and bounds the memory of others.
            if let (false, Some(window)) = (is_single, bytes.get_mut(5)) {
                let log = u64::BITS.saturating_sub(room.saturating_sub(1).leading_zeros()).max(BLOCK_LOG);
                let enough = log.saturating_sub(MIN_WINDOW_LOG).wrapping_shl(3);
                *window = u8::try_from(enough).map_or(*window, |enough| enough.min(*window));
            }
            Ok(Self { bytes, length, content: (content_length > 0).then_some(content) })
        }
    }

    pub(crate) fn decode(mut stored: &[u8], room: &mut [u8]) -> Result<usize, DecodeError> {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(u64::MAX); // cut down in the header
        let mut written = 0_usize;
        while !stored.is_empty() {
            if let Some(rest) = behind_skippable(stored)? {
                stored = rest;
                continue;
            }
            let room = room.get_mut(written..).unwrap_or_default();
            let header = Header::read(stored, to_u64(room.len()))?;
            if header.content.is_some_and(|content| content > to_u64(room.len())) {
                return Err(DecodeError::DoesNotFit);
            }
            decoder
                .reset(header.bytes.get(..header.length).unwrap_or_default())
                .map_err(|_| DecodeError::Malformed)?;
            stored = stored.get(header.length..).unwrap_or_default();
            let length = frame(&mut decoder, &mut stored, room)?;
            if header.content.is_some_and(|content| content != to_u64(length)) {
                return Err(DecodeError::Malformed);
            }
            written = written.saturating_add(length);
        }
        Ok(written)
    }

    /// What follows the skippable frame that `stored` begins with (section 3.1.2), if it does.
    fn behind_skippable(stored: &[u8]) -> Result<Option<&[u8]>, DecodeError> {
        match stored {
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, rest @ ..] => {
                let (length, rest) = rest.split_first_chunk::<4>().ok_or(DecodeError::Malformed)?;
                let length = to_usize(u64::from(u32::from_le_bytes(*length)));
                length.and_then(|length| rest.get(length..)).map(Some).ok_or(DecodeError::Malformed)
            }
            _ => Ok(None),
        }
    }

    /// Decodes the blocks of a frame whose header has been read.
    fn frame(decoder: &mut FrameDecoder, stored: &mut &[u8], room: &mut [u8]) -> Result<usize, DecodeError> {
        let mut written = 0_usize;
        loop {
            let done = decoder
                .decode_blocks(&mut *stored, BlockDecodingStrategy::UptoBytes(STEP))
                .map_err(|_| DecodeError::Malformed)?;
            loop {
                let rest = room.get_mut(written..).unwrap_or_default();
                let read = decoder.read(rest).map_err(|_| DecodeError::Malformed)?;
                written = written.saturating_add(read);
                if read == 0 {
                    break;
                }
            }
            if decoder.can_collect() > 0 {
                return Err(DecodeError::DoesNotFit);
            }
            if done {
                break;
            }
        }
        match (decoder.get_checksum_from_data(), decoder.get_calculated_checksum()) {
            (Some(stated), calculated) if calculated != Some(stated) => Err(DecodeError::Checksum),
            _ => Ok(written),
        }
    }
}
