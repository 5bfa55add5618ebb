//! A file that is only partly in memory.

use core::ffi::c_void;

use super::call::run;
use super::plan::tenslice_piece;
use super::pointer::{Array, Buffer, Capacity, HandleMut, Length, Out};
use super::status::{OK, tenslice_status};
use crate::Source;
use crate::error::{Error, ErrorKind};

/// A file that is only partly in memory: its length, and the ranges fetched so far (at most TENSLICE_MAX_SEGMENTS). Do
/// not add to a source while anything opened from it is used. Instead, add bytes read later to a copy of the source, for
/// tenslice_tensor_with_source, or pass them to tenslice_component_with_bytes.
#[repr(C)]
pub struct tenslice_source {
    opaque: [u64; 137],
}

/// A range of bytes that must be fetched. It is always shorter than 4 GiB and inside the file.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_need {
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
    /// 1 if the bytes must stay in place while anything opened from the source is used. 0 if they may be overwritten
    /// after the next call of tenslice_file_open_source has returned.
    pub keep: u32,
    /// Reserved, 0.
    pub reserved: u32,
}

/// Makes `source` describe a file of `file_length` bytes, with no bytes in memory yet.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_source_init(source: Out<tenslice_source>, file_length: u64) -> tenslice_status {
    run(|| {
        source.writable()?.store(&Source::new(file_length));
        Ok(OK)
    })
}

/// Adds the `length` bytes at `data`, which are at `offset` in the file. Add each range in one piece, as it was
/// requested or larger. A range that covers earlier ones replaces them; a range that an earlier one covers is ignored.
/// If the last request had `keep` 0, and the bytes contain all of the requested range, the source uses the bytes for
/// the next call of tenslice_file_open_source only.
///
/// Errors: INVALID_ARGUMENT also if the bytes extend past the end of the file; TOO_MANY_SEGMENTS. The source is
/// unchanged after an error.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_source_add(
    source: HandleMut<tenslice_source>,
    offset: u64,
    data: Array<'static, c_void>,
    length: Length,
) -> tenslice_status {
    run(|| {
        let memory = source.memory();
        source.get_mut()?.add(offset, data.with_length_beside(length, memory)?)?;
        Ok(OK)
    })
}

/// Fills `pieces` with the ranges to fetch in one round after tenslice_file_open_source has returned TENSLICE_NEED, and
/// sets `count` to their number, at most `capacity`: 1 for the range that was requested, more for the starts of the
/// entries of an NPZ archive. Sets it to 0 if the last call requested nothing. If `capacity` is too small, later rounds
/// have the rest.
///
/// Fetching one requested range after the other has the same result, in more round trips. Add a single piece with
/// tenslice_source_add. Fetch several with a tenslice_plan, and add them with tenslice_source_add_pieces. Then call
/// tenslice_file_open_source again.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_source_needs(
    source: HandleMut<tenslice_source>,
    pieces: Buffer<tenslice_piece>,
    capacity: Capacity,
    count: Out<usize>,
) -> tenslice_status {
    run(|| {
        let memory = source.memory();
        let source = source.get::<Source<'static>>()?;
        let pieces = pieces.with_capacity(capacity, &[memory, count.memory()])?;
        count.writable()?.set(source.needs(pieces));
        Ok(OK)
    })
}

/// Adds the `count` pieces of a plan, whose reads have filled the `length` bytes at `memory`. The pieces must stay in
/// place, unchanged, as long as the bytes. They take no segment: a source has room for two such lists.
///
/// Errors: INVALID_ARGUMENT also if the pieces are not in the order of the file, if one extends past the end of the
/// file, or if the memory does not have all of them; TOO_MANY_SEGMENTS if there are already two lists. The source is
/// unchanged after an error.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_source_add_pieces(
    source: HandleMut<tenslice_source>,
    pieces: Array<'static, tenslice_piece>,
    count: Length,
    memory: Array<'static, c_void>,
    length: Length,
) -> tenslice_status {
    run(|| {
        let handle = source.memory();
        if pieces.memory(count).shares_with(handle) {
            return Err(Error::new(ErrorKind::InvalidArgument));
        }
        let (pieces, memory) = (pieces.with_length(count)?, memory.with_length_beside(length, handle)?);
        source.get_mut::<Source<'static>>()?.add_pieces(pieces, memory)?;
        Ok(OK)
    })
}
