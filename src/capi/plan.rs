//! The reads that fetch many ranges of a file.

use super::attributes::tenslice_cursor;
use super::call::run;
use super::pointer::{Buffer, Capacity, Handle, HandleMut, Out};
use super::status::{END, OK, tenslice_status};
use crate::{Plan, PlanOptions, PlannedReads};

/// A range of bytes of a file that a program wants in memory, usually the bytes of one component.
#[repr(C)]
pub struct tenslice_piece {
    /// A number that the caller chooses, to recognize the piece after tenslice_plan_open has sorted the pieces: usually
    /// the number of a tensor.
    pub key: u64,
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
    /// Set by tenslice_plan_open and tenslice_source_needs: the offset of the first byte from the start of the memory; 0
    /// for an empty piece.
    pub at: u64,
}

/// The reads that fetch many pieces of a file into one region of memory.
#[repr(C)]
pub struct tenslice_plan {
    opaque: [u64; 12],
}

/// A read: a range of the file, and its place in memory. All but `length` are multiples of the alignment.
#[repr(C)]
pub struct tenslice_planned_read {
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Number of bytes. Less than `room` only at the end of the file.
    pub length: u64,
    /// Offset of the first byte from the start of the memory.
    pub at: u64,
    /// Number of bytes that the memory has for this read: `length`, rounded up to a multiple of the alignment. Direct
    /// I/O requires that the program requests this many bytes; at the end of the file it gets fewer.
    pub room: u64,
}

/// Plans the reads of the `count` pieces at `pieces`, which are ranges of a file of `file_length` bytes. Sorts the
/// pieces in the order of the file, N log N comparisons, and sets their `at`. The array must stay in place, unchanged,
/// while the plan is used.
///
/// Each read begins at a multiple of `alignment`, in the file and in memory. Direct I/O requires the size of a block of
/// the device; 4096 is a good choice for most files. A gap of at most `gap` bytes between two pieces is read as well, so
/// that one read fetches both; 65536 is a good choice for a disk, and a million for a server. Pieces may overlap and
/// repeat: their bytes are read once, and they share memory.
///
/// Errors: INVALID_ARGUMENT also if `alignment` is no power of two, or if the length of the file, rounded up to a
/// multiple of the alignment, exceeds 64 bits; OUT_OF_FILE if a piece extends past the end of the file. The pieces are
/// unchanged after an error.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_plan_open(
    plan: Out<tenslice_plan>,
    pieces: Buffer<'static, tenslice_piece>,
    count: Capacity,
    file_length: u64,
    alignment: u64,
    gap: u64,
) -> tenslice_status {
    run(|| {
        let pieces = pieces.with_capacity(count, &[plan.memory()])?;
        let options = PlanOptions::new().alignment(alignment).gap(gap);
        let place = plan.writable()?;
        place.store(&Plan::new(pieces, file_length, options)?);
        Ok(OK)
    })
}

/// Sets `length` to the number of bytes of memory that all reads of a plan need together. Allocate this many bytes,
/// aligned as the reads are. After all reads the bytes of each piece are at its `at`, without a copy.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_plan_length(plan: Handle<tenslice_plan>, length: Out<u64>) -> tenslice_status {
    run(|| {
        let plan = plan.get::<Plan<'static>>()?;
        length.writable()?.set(plan.length());
        Ok(OK)
    })
}

/// Sets `cursor` before the first read of a plan, for tenslice_reads_next. Each read has at most `longest` bytes,
/// rounded down to a multiple of the alignment, but at least one such multiple. Reads of a few MiB keep a disk busy if
/// several are under way at the same time. With UINT64_MAX each read is a whole run of pieces, which can be added to a
/// source.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_plan_reads(
    plan: Handle<tenslice_plan>,
    longest: u64,
    cursor: Out<tenslice_cursor>,
) -> tenslice_status {
    run(|| {
        let plan = plan.get::<Plan<'static>>()?;
        cursor.writable()?.store(&plan.reads(longest));
        Ok(OK)
    })
}

/// Computes the next read, in the order of the file; returns TENSLICE_END after the last. The program may execute the
/// reads in any order, and at the same time: no byte is in two of them. All calls together are linear in the number of
/// pieces and of reads.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_reads_next(
    cursor: HandleMut<tenslice_cursor>,
    read: Out<tenslice_planned_read>,
) -> tenslice_status {
    run(|| {
        let reads = cursor.get_mut::<PlannedReads<'static>>()?;
        let read = read.writable()?;
        let Some(next) = reads.next() else { return Ok(END) };
        let (offset, length) = (next.extent.offset, next.extent.length);
        read.set(tenslice_planned_read { offset, length, at: next.at, room: next.room });
        Ok(OK)
    })
}
