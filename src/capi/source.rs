//! A file that is only partly in memory.

use core::ffi::c_void;

use super::call::run;
use super::plan::tenslice_piece;
use super::pointer::{Array, Buffer, Capacity, Handle, HandleMut, Length, Out};
use super::status::{OK, tenslice_status};
use crate::Source;
use crate::error::{Error, ErrorKind};

/// A file that is only partly in memory: its length, and the ranges fetched so far (at most TENSLICE_MAX_SEGMENTS). Do
/// not add to a source while anything opened from it is used. Instead, add bytes read later to a copy of the source, for
/// tenslice_tensor_with_source, or pass them to tenslice_component_with_bytes.
#[repr(C)]
pub struct tenslice_source {
    opaque: [u64; 133],
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
/// entries of an NPZ archive. Sets it to 0 if the last call requested nothing, or if `capacity` is 0.
///
/// The pieces are in the order of the file, do not overlap, and have their places in memory, one after the other: the
/// last one ends at the length of the memory. Fetch them to their places, at the same time, and add them with
/// tenslice_source_add_pieces. Then call tenslice_file_open_source again. Fetching one requested range after the other
/// has the same result, in more round trips.
///
/// If `capacity` is too small for all entries, or if an entry begins with more metadata than usual, the missing ranges
/// are requested one by one.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_source_needs(
    source: Handle<tenslice_source>,
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

/// Adds the `count` pieces that tenslice_source_needs has listed, whose bytes are at their places in the `length` bytes
/// at `memory`. A single piece is added as by tenslice_source_add. Several pieces must stay in place, unchanged, as long
/// as the bytes: they are a list, which takes no segment. A source holds only one list.
///
/// Errors: INVALID_ARGUMENT also if a piece begins or ends before an earlier one, or extends past the end of the file
/// or of the memory; TOO_MANY_SEGMENTS also if there is already a list. The source is unchanged after an error.
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
