//! Zstandard by ruzstd, which allocates.
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::boxed::Box;

use ruzstd::decoding::{self, BlockDecodingStrategy, FrameDecoder};
use ruzstd::io::Read;

use crate::bytes::num::{to_u64, to_usize};
use crate::codec::decoder::DecodeError;

/// RFC 8878 section 3.1.1.2.3: no block decodes to more bytes.
const LARGEST_BLOCK: u64 = 1 << 17;

/// RFC 8878 section 3.1.1.1.2: the smallest window.
const MIN_WINDOW_LOG: u32 = 10;

/// Returns the logarithm of a window for `dst` bytes. Matches never reach back before the start of the output, so a
/// window as large as the output is enough for any stream that fits, and bounds the memory of any other stream. The
/// window is one block larger, so that a block that begins inside the destination can refer to everything it needs.
fn enough_log(dst: u64) -> u32 {
    let enough = dst.saturating_add(LARGEST_BLOCK);
    u64::BITS.saturating_sub(enough.saturating_sub(1).leading_zeros())
}

/// The fields of a frame header that the library needs (section 3.1.1.1).
struct Header {
    /// The header itself, with its window reduced to the size that the output can need.
    bytes: [u8; 18],
    length: usize,
    /// The size of the content, if the frame states it.
    content: Option<u64>,
    /// True if the window was reduced.
    is_cut: bool,
    /// True if the frame states its dictionary.
    has_dictionary: bool,
}

impl Header {
    /// Reads the header of the frame at the start of `stored`, which must decode to at most `dst` bytes.
    fn read(stored: &[u8], dst: u64) -> Result<Self, DecodeError> {
        let descriptor = *stored.get(4).ok_or(DecodeError::Malformed)?;
        if descriptor & 0x08 != 0 {
            return Err(DecodeError::Malformed); // reserved bit, must be zero
        }
        let is_single = descriptor & 0x20 != 0;
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
        // at most 4 + 1 + 1 + 4 + 8
        let content_at = usize::from(!is_single).saturating_add(dictionary_length).saturating_add(5);
        let length = content_at.saturating_add(content_length);
        let header = stored.get(..length).ok_or(DecodeError::Malformed)?;
        let mut bytes = [0; 18];
        bytes.iter_mut().zip(header).for_each(|(to, from)| *to = *from);
        let mut content = [0; 8];
        content.iter_mut().zip(header.get(content_at..).unwrap_or_default()).for_each(|(to, from)| *to = *from);
        let content = u64::from_le_bytes(content).saturating_add(if content_length == 2 { 256 } else { 0 });

        let log = enough_log(dst);
        let mut is_cut = false;
        if is_single {
            // The content is the window. A content larger than our window is stated in at least four bytes.
            let window = 1_u64.checked_shl(log).unwrap_or(u64::MAX);
            if content > window {
                is_cut = true;
                let field = bytes.get_mut(content_at..length).unwrap_or_default();
                field.iter_mut().zip(window.to_le_bytes()).for_each(|(to, from)| *to = from);
            }
        } else if let Some(window) = bytes.get_mut(5) {
            let enough = u8::try_from(log.saturating_sub(MIN_WINDOW_LOG) << 3).unwrap_or(u8::MAX);
            is_cut = enough < *window;
            *window = enough.min(*window);
        }
        let content = (content_length > 0).then_some(content);
        Ok(Self { bytes, length, content, is_cut, has_dictionary: dictionary_length > 0 })
    }
}

/// No memory is kept from stream to stream.
#[derive(Debug, Default)]
pub(crate) struct Memory;

impl Memory {
    #[allow(clippy::unused_self)] // libzstd uses it
    pub(crate) fn decode(&mut self, stored: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError> {
        frames(None, stored, dst)
    }

    /// Parses the dictionary each time.
    #[allow(clippy::unused_self)] // see above
    pub(crate) fn decode_with_dictionary(
        &mut self,
        dictionary: &[u8],
        stored: &[u8],
        dst: &mut [u8],
    ) -> Result<usize, DecodeError> {
        frames(Some(&mut Dictionary::read(dictionary)?), stored, dst)
    }
}

/// A parsed dictionary, in a decoder that keeps it from frame to frame.
struct Dictionary {
    id: u32,
    decoder: Box<FrameDecoder>,
}

impl Dictionary {
    fn read(dictionary: &[u8]) -> Result<Self, DecodeError> {
        let dictionary = decoding::Dictionary::decode_dict(dictionary).map_err(|_| DecodeError::Malformed)?;
        let (id, mut decoder) = (dictionary.id, Box::new(new_decoder()));
        decoder.add_dict(dictionary).map_err(|_| DecodeError::Malformed)?;
        Ok(Self { id, decoder })
    }
}

fn new_decoder() -> FrameDecoder {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(u64::MAX); // the header is reduced instead
    decoder
}

fn frames(mut dictionary: Option<&mut Dictionary>, mut stored: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError> {
    let mut written = 0_usize;
    while !stored.is_empty() {
        if let Some(rest) = behind_skippable(stored)? {
            stored = rest;
            continue;
        }
        let dst = dst.get_mut(written..).unwrap_or_default();
        let header = Header::read(stored, to_u64(dst.len()))?;
        stored = stored.get(header.length..).unwrap_or_default();
        let length = match &mut dictionary {
            Some(dictionary) => frame(&mut dictionary.decoder, Some(dictionary.id), &header, &mut stored, dst),
            // A new decoder for each frame: a reused decoder allocates the whole window at once.
            None => frame(&mut new_decoder(), None, &header, &mut stored, dst),
        }?;
        if header.content.is_some_and(|content| content != to_u64(length)) {
            return Err(DecodeError::Malformed);
        }
        written = written.saturating_add(length);
    }
    Ok(written)
}

/// Returns the bytes after the skippable frame at the start of `stored` (section 3.1.2), if there is one.
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

/// Decodes a frame block by block.
fn frame(
    decoder: &mut FrameDecoder,
    dictionary: Option<u32>,
    header: &Header,
    stored: &mut &[u8],
    dst: &mut [u8],
) -> Result<usize, DecodeError> {
    decoder.reset(header.bytes.get(..header.length).unwrap_or_default()).map_err(|_| DecodeError::Malformed)?;
    if let (Some(dictionary), false) = (dictionary, header.has_dictionary) {
        decoder.force_dict(dictionary).map_err(|_| DecodeError::Malformed)?;
    }
    let mut written = 0_usize;
    loop {
        // The decoder reports only the number of blocks, not the number of bytes that it has decoded. Past the end
        // of the destination, a match may reach back beyond a reduced window: the error is then `DoesNotFit`, since
        // only a larger destination can show the real error.
        let most = to_u64(decoder.blocks_decoded()).saturating_mul(LARGEST_BLOCK);
        let blame = match header.is_cut && most > to_u64(dst.len()) {
            true => DecodeError::DoesNotFit,
            false => DecodeError::Malformed,
        };
        let is_done = decoder.decode_blocks(&mut *stored, BlockDecodingStrategy::UptoBlocks(1)).map_err(|_| blame)?;
        loop {
            let rest = dst.get_mut(written..).unwrap_or_default();
            let read = decoder.read(rest).map_err(|_| DecodeError::Malformed)?;
            written = written.saturating_add(read);
            if read == 0 {
                break;
            }
        }
        if decoder.can_collect() > 0 {
            return Err(DecodeError::DoesNotFit);
        }
        if is_done {
            break;
        }
    }
    match (decoder.get_checksum_from_data(), decoder.get_calculated_checksum()) {
        (Some(stated), calculated) if calculated != Some(stated) => Err(DecodeError::Checksum),
        _ => Ok(written),
    }
}

#[cfg(test)]
mod tests {
    use std::prelude::v1::*;

    use super::*;

    /// Returns a frame with a window of `2^log` bytes and these blocks.
    fn of_blocks(log: u8, blocks: &[&[u8]]) -> Vec<u8> {
        [&[0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3][..], &blocks.concat()].concat()
    }

    /// If exactly as many bytes as fit have been decoded, the output has not exceeded the destination: an error in
    /// the next block is an error for any destination.
    #[test]
    fn a_reduced_window_is_to_blame_past_the_room() {
        let (run, unknown) = (&[2, 0, 0x10, 7][..], &[7, 0, 0][..]); // 2^17 bytes; a reserved type
        for (blocks, room, expected) in [
            (&[unknown][..], 0, DecodeError::Malformed),
            (&[run, unknown], 1 << 17, DecodeError::Malformed),
            (&[run, run, unknown], 1 << 17, DecodeError::DoesNotFit),
        ] {
            let stored = of_blocks(30, blocks);
            assert_eq!(Memory.decode(&stored, &mut vec![0; room]), Err(expected), "{blocks:x?}");
        }
    }

    /// By default ruzstd rejects windows of more than 128 MiB. Destination memory that is not written to is never
    /// allocated.
    #[test]
    #[cfg_attr(miri, ignore = "takes too much memory")]
    fn windows_may_be_large() {
        let mut room = vec![0; 140 << 20];
        assert_eq!(Memory.decode(&of_blocks(28, &[&[0x19, 0, 0, 7, 8, 9]]), &mut room), Ok(3));
        assert_eq!(room[..4], [7, 8, 9, 0]);
    }

    /// The decoder receives a window no larger than the destination can need: a power of two.
    #[test]
    fn windows_are_cut_to_the_room() {
        let read = |header: &[u8], room| {
            let stored = [&[0x28, 0xb5, 0x2f, 0xfd], header].concat();
            Header::read(&stored, room).map(|header| (header.bytes, header.is_cut, header.content)).unwrap()
        };
        for (room, stated, told) in [
            (10, 200_000_u64, 200_000),
            (10, 1 << 18, 1 << 18),
            (10, (1 << 18) + 1, 1 << 18),
            (1 << 17, 1 << 40, 1 << 18),
            ((1 << 17) + 1, 1 << 40, 1 << 19),
            (u64::MAX, 1 << 40, 1_u64 << 40),
        ] {
            let (bytes, is_cut, content) = read(&[&[0xe0], &stated.to_le_bytes()[..]].concat(), room);
            assert_eq!(bytes[5..13], told.to_le_bytes(), "{room} {stated}");
            assert_eq!((is_cut, content), (told < stated, Some(stated)), "{room} {stated}");
        }
        // A size in two bytes is stored minus 256.
        assert_eq!(read(&[0x60, 0, 1], 10).2, Some(512));
        // A dictionary is stated together with a window or a size.
        assert_eq!(read(&[0x01, 0x3f, 7], 10).2, None);
        assert_eq!(read(&[0x21, 7, 9], 10).2, Some(9));
        // An explicit window: the exponent above 10 is in the upper five bits.
        for (room, stated, told) in
            [(10, 0x3f, 0x3f), (10, 0x40, 0x40), (10, 0x41, 0x40), (1 << 18, 0xff, 0x48), (u64::MAX, 0xff, 0xff)]
        {
            let (bytes, is_cut, content) = read(&[0, stated], room);
            assert_eq!((bytes[5], is_cut, content), (told, told < stated, None), "{room} {stated:x}");
        }
    }
}
