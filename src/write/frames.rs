//! Components stored in Zstandard frames, which the caller compresses: the limits, and the table of the frames.
//!
//! The table follows the last frame of a component, so the stored lengths of its frames are kept until then, at the end
//! of the scratch memory, from the last number to the first.
#![forbid(unsafe_code)]

use zerocopy::{FromBytes, IntoBytes};

use super::declaration::{Checked, Declarations, Refusal};
use super::out::Out;
#[cfg(feature = "ztensor2")]
use crate::bytes::num::count_of;
use crate::bytes::num::{to_u64, to_usize};
#[cfg(feature = "ztensor2")]
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::format::FormatWriter;

/// The largest number of frames in a table, so that its length has 32 bits.
#[cfg(feature = "ztensor2")]
const MAX_FRAMES: u64 = 1 << 27;

/// Fails if the format has no frames of the requested length, or if a component has too many of them.
/// Sets `index` to that of its tensor.
pub(super) fn check(file: &dyn Declarations, writer: &dyn FormatWriter, index: &mut u32) -> Checked {
    let _ = &index; // unused without tables
    let Some(length) = file.frame_length() else { return Ok(()) };
    let Some(most) = writer.max_frame() else { return Err(Refusal::not_in_format(Part::Encoding)) };
    if length == 0 || length > most {
        return Err(Refusal::not_in_format(Part::Frame));
    }
    #[cfg(feature = "ztensor2")] // the only format with a table
    for (number, tensor) in super::declaration::tensors(file) {
        if writer.has_seek_table() && count_of(tensor.length().unwrap_or(u64::MAX), length) > MAX_FRAMES {
            *index = number;
            return Err(Refusal::new(ErrorKind::TooMany, Part::Frame));
        }
    }
    Ok(())
}

/// Returns the number of words for the stored lengths of the frames of a component of `length` bytes.
#[cfg(feature = "ztensor2")]
pub(super) fn words(file: &dyn Declarations, writer: &dyn FormatWriter, length: u64) -> u64 {
    match file.frame_length() {
        Some(frame) if writer.has_seek_table() => count_of(count_of(length, frame), 2),
        _ => 0,
    }
}

/// Keeps the stored length of frame `index` of a component, if it will be in a table, and returns it. `None` if it
/// exceeds 32 bits.
pub(super) fn remember(index: u64, encoded: &[u8], writer: &dyn FormatWriter, scratch: &mut [u64]) -> Option<u64> {
    if writer.has_seek_table() {
        let lengths = <[u32]>::mut_from_bytes(scratch.as_mut_bytes()).ok()?;
        let place = lengths.iter_mut().nth_back(to_usize(index)?)?;
        *place = u32::try_from(encoded.len()).ok()?;
    }
    Some(to_u64(encoded.len()))
}

/// Writes the table of frames 0 to `last`: a skippable frame with the stored and the decoded length of each frame. All
/// but the last have `frame_length` bytes decoded, and the last `last_length`.
pub(super) fn seek_table(last: u64, frame_length: u64, last_length: u64, scratch: &[u64], out: &mut Out<'_>) {
    let lengths = <[u32]>::ref_from_bytes(scratch.as_bytes()).unwrap_or_default();
    // At most 16 MiB a frame, and 2^27 frames.
    let short = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let count = last.saturating_add(1);
    out.u32(0x184d_2a5e);
    out.u32(short(count.saturating_mul(8).saturating_add(9)));
    for (index, stored) in (0..count).zip(lengths.iter().rev()) {
        out.u32(*stored);
        out.u32(short(if index == last { last_length } else { frame_length }));
    }
    out.u32(short(count));
    out.bytes(&[0]);
    out.u32(0x8f92_eab1);
}
