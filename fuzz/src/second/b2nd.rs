//! Compares c-blosc2 2.15, which the crate `blosc2-sys` builds, with ours: chunk by chunk, with one thread, since
//! c-blosc2 reads slices wrongly for some filters.
//!
//! c-blosc2 is written in C and has read and written out of bounds on hostile files more than once. It gets only
//! frames that ours has opened, and only chunks that ours has decoded. It is older than some features that ours
//! reads: [`is_newer`]. Files that only c-blosc2 accepts are ignored, since it checks no markers.

use std::ffi::c_void;
use std::sync::Once;

use blosc2_sys as c;
use tenslice::{File, ReadOptions};
use tenslice::b2nd::{Chunk, Content, Frame};

use super::compare_made;
use crate::choices::Choices;

/// The largest chunk that is decoded, in bytes.
const LARGEST: u64 = 1 << 18;

/// Uses any bytes as a file, and as choices from which c-blosc2 makes a file.
pub fn run(bytes: &[u8]) {
    if bytes.starts_with(b"\x9e\xa8b2frame\0") {
        return compare(bytes);
    }
    compare_made(bytes, made, compare);
}

/// A valid frame, written by c-blosc2.
fn made(choices: &mut Choices<'_>) -> Vec<u8> {
    initialise();
    // SAFETY: the functions get structs with their own defaults, and the lengths of the buffers that they read. What
    // they allocate is freed.
    unsafe {
        let mut params = c::blosc2_get_blosc2_cparams_defaults();
        params.compcode = choices.of(&[0, 1, 2, 4, 5]);
        params.clevel = choices.below(10) as u8;
        params.typesize = choices.of(&[1, 2, 3, 4, 7, 8, 12, 16, 24]);
        params.blocksize = choices.of(&[0, 32, 64, 100, 256]);
        params.splitmode = choices.of(&[1, 2, 3, 4]);
        params.nthreads = 1;
        params.filters = [0; 6];
        for _ in 0..choices.below(3) {
            params.filters[choices.below(6)] = choices.of(&[1, 2, 3, 35]);
        }
        let mut storage = c::blosc2_get_blosc2_storage_defaults();
        storage.contiguous = true;
        storage.cparams = &mut params;
        let frame = c::blosc2_schunk_new(&mut storage);
        assert!(!frame.is_null());
        let size = (1 + choices.below(60)) * params.typesize as usize;
        for _ in 0..choices.below(5) {
            let (step, turn) = (choices.any::<u8>(), 1 + choices.below(9));
            let data: Vec<u8> = (0..size).map(|i| ((i / turn) as u8).wrapping_mul(step)).collect();
            c::blosc2_schunk_append_buffer(frame, data.as_ptr().cast(), size as i32);
        }
        let (mut at, mut is_ours) = (std::ptr::null_mut(), false);
        let length = c::blosc2_schunk_to_buffer(frame, &mut at, &mut is_ours);
        let bytes = std::slice::from_raw_parts(at, usize::try_from(length).expect("a frame")).to_vec();
        if is_ours {
            c::libc::free(at.cast());
        }
        c::blosc2_schunk_free(frame);
        bytes
    }
}

fn initialise() {
    static INIT: Once = Once::new();
    // SAFETY: a function without arguments, called once.
    INIT.call_once(|| unsafe { c::blosc2_init() });
}

/// A frame opened by c-blosc2.
struct Opened(*mut c::blosc2_schunk);

impl Opened {
    fn new(frame: &mut [u8]) -> Option<Self> {
        initialise();
        // SAFETY: the frame is not copied, and outlives what is opened from it.
        let opened = unsafe { c::blosc2_schunk_from_buffer(frame.as_mut_ptr(), frame.len() as i64, false) };
        (!opened.is_null()).then(|| {
            // SAFETY: it was opened. We free the frame's memory.
            unsafe { c::blosc2_schunk_avoid_cframe_free(opened, true) };
            Self(opened)
        })
    }

    /// Decodes a chunk. Returns the number of bytes, or an error code of c-blosc2.
    fn chunk(&self, index: u64, room: &mut [u8]) -> i32 {
        let (to, length) = (room.as_mut_ptr().cast::<c_void>(), room.len() as i32);
        // SAFETY: `to` is of that length.
        unsafe { c::blosc2_schunk_decompress_chunk(self.0, index as i64, to, length) }
    }

    fn about(&self) -> &c::blosc2_schunk {
        // SAFETY: it was opened, and is freed with `self`.
        unsafe { &*self.0 }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: it was opened.
        unsafe { c::blosc2_schunk_free(self.0) };
    }
}

fn compare(bytes: &[u8]) {
    let Ok(file) = File::open(bytes) else { return };
    let Some(frame) = file.as_b2nd() else { return };
    // c-blosc2 requires that nothing follows a frame in memory.
    let length = bytes.get(16..24).and_then(|length| length.try_into().ok()).map(u64::from_be_bytes);
    let Some(length) = length.and_then(|length| usize::try_from(length).ok()) else { return };
    let mut copy = bytes[..length].to_vec();
    let table = frame.table_extent().offset as usize;
    if let Some(header) = bytes.get(table..table.saturating_add(32)) {
        // c-blosc2 does not write the memory of a table of offsets that is marked as never written. For tables of one
        // value, see `is_newer`. In a table with items that are not of 8 bytes it looks up offsets wrongly.
        if [3, 4].contains(&(header[31] >> 4 & 7)) || header[3] != 8 || is_newer_header(header) {
            return;
        }
    }
    // Chunks of different lengths were added in a later version.
    if frame.chunk_count() > 64 || frame.defaults().chunk_size == 0 {
        return;
    }
    let Some(theirs) = Opened::new(&mut copy) else {
        // c-blosc2 also sets up a compressor with the filters that the frame states for future chunks. If the length
        // of the data is 0, it expects the trailer right after the header.
        let has_filters = frame.defaults().filters.iter().any(|filter| *filter > 5);
        assert!(has_filters || frame.defaults().decoded == 0, "refused by C alone");
        return;
    };
    let about = theirs.about();
    assert_eq!(about.nchunks as u64, frame.chunk_count());
    let names = frame.metalayers();
    assert_eq!(usize::from(about.nmetalayers), names.count());
    let _ = (0..frame.chunk_count()).all(|index| same_chunk(&frame, &theirs, index, bytes));
}

/// True if c-blosc2 2.15 reads a chunk differently, or not at all: filters of plug-ins, which the crate does not
/// build; an explicit width of the shuffle filter (c-blosc2 used the size of the items until then); delta with
/// another filter; dictionaries; repeated values of more than 255 bytes; blocks of different lengths; and the headers
/// in [`is_newer_header`].
fn is_newer(frame: &Frame<'_>, chunk: &Chunk<'_>, bytes: &[u8]) -> bool {
    let header = header(chunk, bytes);
    let filters = chunk.filters();
    let active = filters.iter().filter(|filter| **filter != 0).count();
    filters.iter().any(|filter| *filter >= 32)
        || filters.contains(&3) && active > 1
        || frame.defaults().filters_meta != [0; 6]
        || frame.defaults().has_dictionary
        || header.is_none_or(is_newer_header)
        || [Content::VariableBlocks, Content::Value].contains(&chunk.content())
}

/// The header of a stored chunk.
fn header<'a>(chunk: &Chunk<'_>, bytes: &'a [u8]) -> Option<&'a [u8]> {
    let at = usize::try_from(chunk.extent()?.offset).ok()?;
    bytes.get(at..at.checked_add(32)?)
}

/// True if a header has a version that c-blosc2 2.15 does not know or that never existed, has flags or parameters of
/// filters, has a dictionary, or states blocks longer than the chunk, which later versions and ours shorten to the
/// chunk.
fn is_newer_header(header: &[u8]) -> bool {
    let number = |at: usize| header[at..at + 4].try_into().map_or(0, u32::from_le_bytes);
    !(2..=5).contains(&header[0]) || header[24..31] != [0; 7] || header[31] & 1 == 1 || number(4) < number(8)
}

/// Compares a chunk. Returns false if c-blosc2 must not be asked for another one.
fn same_chunk(frame: &Frame<'_>, theirs: &Opened, index: u64, bytes: &[u8]) -> bool {
    let Ok(table) = frame.table_scratch_length() else { return true };
    let mut scratch = vec![0; table.min(LARGEST) as usize];
    let Ok(chunk) = frame.chunk(index, ReadOptions::new().scratch(&mut scratch)) else { return true };
    let length = chunk.decoded_length();
    if length > LARGEST || chunk.scratch_length() > 4 * LARGEST || is_newer(frame, &chunk, bytes) {
        return true;
    }
    if chunk.content() == Content::Uninitialised {
        return true; // c-blosc2 leaves memory that was never written unchanged
    }
    let mut room = vec![0xa5; length as usize];
    let mut work = vec![0; chunk.scratch_length() as usize];
    let Ok(ours) = chunk.read_into(&mut room, ReadOptions::new().scratch(&mut work)) else { return true };
    let mut other = vec![0x5a; length as usize];
    let found = theirs.chunk(index, &mut other);
    // Under fuzzing, the inflate crate that ours uses compares no checksums. The Zstandard decoder assumes that
    // reserved bits of a block are zero (RFC 8878, 3.1.1.3.2.1).
    let codec = header(&chunk, bytes).map(|header| header[2] >> 5);
    if found < 0 && (codec == Some(3) && cfg!(fuzzing) || codec == Some(4)) {
        return false; // what c-blosc2 decodes after that may be wrong
    }
    assert_eq!(found, length as i32, "chunk {index}: {:?}, filters {:?}", chunk.content(), chunk.filters());
    assert!(*ours == other[..], "chunk {index}: {:?}, filters {:?}", chunk.content(), chunk.filters());
    true
}
