//! Decodes Zstandard for the web module: `begin` allocates memory, JavaScript copies the stream there, `decode` decodes
//! it, `output` and `length` return the place of the result.
//!
//! Memory is allocated upwards. The next `begin` releases all of it, because a call decodes one stream.
#![no_std]

extern crate alloc;

use alloc::vec::Vec;
use core::alloc::{GlobalAlloc, Layout};
use core::arch::wasm32;
use core::cell::UnsafeCell;
use core::ptr;

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ruzstd::io::Read;

/// Status codes of the C library.
const OK: i32 = 0;
const CORRUPT_STREAM: i32 = 402;
const CHECKSUM_MISMATCH: i32 = 404;
const TOO_SMALL: i32 = 500;

const PAGE: usize = 65536;

/// Allocates memory upwards from the end of the program.
struct Upwards {
    end: UnsafeCell<usize>,
}

// SAFETY: a WebAssembly module without shared memory has one thread.
unsafe impl Sync for Upwards {}

impl Upwards {
    fn reset(&self) {
        // SAFETY: one thread, and no reference to the number is kept.
        unsafe { *self.end.get() = 0 };
    }
}

// SAFETY: allocated ranges follow each other, aligned, inside the memory.
unsafe impl GlobalAlloc for Upwards {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        unsafe extern "C" {
            static __heap_base: u8;
        }
        // SAFETY: as in `reset`.
        let end = unsafe { &mut *self.end.get() };
        let from = if *end == 0 { ptr::addr_of!(__heap_base).addr() } else { *end };
        let Some(at) = from.checked_next_multiple_of(layout.align()) else { return ptr::null_mut() };
        let Some(next) = at.checked_add(layout.size()) else { return ptr::null_mut() };
        let missing = next.div_ceil(PAGE).saturating_sub(wasm32::memory_size(0));
        if missing > 0 && wasm32::memory_grow(0, missing) == usize::MAX {
            return ptr::null_mut();
        }
        *end = next;
        ptr::with_exposed_provenance_mut(at)
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static MEMORY: Upwards = Upwards { end: UnsafeCell::new(0) };

struct Job {
    stored: Vec<u8>,
    decoded: Vec<u8>,
}

struct Slot(UnsafeCell<Option<Job>>);

// SAFETY: as for `Upwards`.
unsafe impl Sync for Slot {}

static JOB: Slot = Slot(UnsafeCell::new(None));

fn job() -> &'static mut Option<Job> {
    // SAFETY: one thread, and each of the functions below takes the reference once.
    unsafe { &mut *JOB.0.get() }
}

/// Allocates memory for a stream and for its decoded bytes, and returns the address for the stream; 0 without memory.
#[unsafe(no_mangle)]
pub extern "C" fn begin(stored: usize, capacity: usize) -> *mut u8 {
    // The previous job is not dropped: `reset` releases its memory.
    if let Some(before) = job().take() {
        core::mem::forget(before);
    }
    MEMORY.reset();
    let (mut stream, mut decoded) = (Vec::new(), Vec::new());
    if stream.try_reserve_exact(stored).is_err() || decoded.try_reserve_exact(capacity).is_err() {
        return ptr::null_mut();
    }
    stream.resize(stored, 0);
    decoded.resize(capacity, 0);
    job().insert(Job { stored: stream, decoded }).stored.as_mut_ptr()
}

/// Decodes the stream, and returns the status.
#[unsafe(no_mangle)]
pub extern "C" fn decode() -> i32 {
    let Some(job) = job() else { return CORRUPT_STREAM };
    match frames(&job.stored, &mut job.decoded) {
        Ok(length) => {
            job.decoded.truncate(length);
            OK
        }
        Err(status) => status,
    }
}

/// The address of the decoded bytes.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    job().as_ref().map_or(ptr::null(), |job| job.decoded.as_ptr())
}

/// The number of decoded bytes.
#[unsafe(no_mangle)]
pub extern "C" fn length() -> usize {
    job().as_ref().map_or(0, |job| job.decoded.len())
}

/// Decodes one frame after the other.
fn frames(mut stored: &[u8], dst: &mut [u8]) -> Result<usize, i32> {
    let mut written = 0;
    while !stored.is_empty() {
        let mut decoder = FrameDecoder::new();
        match decoder.init(&mut stored) {
            Ok(()) => written += frame(&mut decoder, &mut stored, &mut dst[written..])?,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                stored =
                    usize::try_from(length).ok().and_then(|length| stored.get(length..)).ok_or(CORRUPT_STREAM)?;
            }
            Err(_) => return Err(CORRUPT_STREAM),
        }
    }
    Ok(written)
}

fn frame(decoder: &mut FrameDecoder, stored: &mut &[u8], dst: &mut [u8]) -> Result<usize, i32> {
    let mut written = 0;
    while !decoder.is_finished() {
        decoder.decode_blocks(&mut *stored, BlockDecodingStrategy::UptoBlocks(8)).map_err(|_| CORRUPT_STREAM)?;
        written += decoder.read(&mut dst[written..]).map_err(|_| CORRUPT_STREAM)?;
        if decoder.can_collect() > 0 {
            return Err(TOO_SMALL);
        }
    }
    match (decoder.get_checksum_from_data(), decoder.get_calculated_checksum()) {
        (Some(stated), calculated) if calculated != Some(stated) => Err(CHECKSUM_MISMATCH),
        _ => Ok(written),
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    wasm32::unreachable()
}
