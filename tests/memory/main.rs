//! The memory that decoding allocates: none, or with ruzstd memory that is bounded by the size of the output, never by
//! what a stream states.
#![cfg(all(feature = "zstd", not(feature = "zstd-c")))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tenslice::{BuiltIn, DecodeError, Decoder, Encoding};

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: forwards to the system's allocator, and counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Decodes. Also returns the peak allocation besides stream and destination.
fn decode(stored: &[u8], room: &mut [u8]) -> (Result<usize, DecodeError>, usize) {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = BuiltIn::default().decode(Encoding::Zstd, stored, room);
    let peak = PEAK.load(Relaxed) - before;
    // Other threads of the test program may allocate a little at the same time: `c-tests/no_malloc.c` counts exactly.
    assert!(peak < 1024 || cfg!(feature = "zstd-ruzstd"), "{peak}");
    (result, peak)
}

// Only one test: the counters are global to the process.
#[test]
fn memory_is_bounded_by_the_destination() {
    const BLOCK: usize = 1 << 17;
    let compress = |data: &[u8]| zstd::bulk::compress(data, 1).unwrap();
    // A frame that does not state its length, with a window of 128 MiB.
    let streamed = |data: &[u8]| {
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(27).unwrap();
        encoder.write_all(data).unwrap();
        let frame = encoder.finish().unwrap();
        assert_eq!((frame[4] >> 5, frame[5]), (0, 17 << 3)); // no length, and the window
        frame
    };

    // 64 MiB of zeros in a few KiB, for a destination of 384 bytes.
    for bomb in [compress(&vec![0; 64 << 20]), streamed(&vec![0; 64 << 20])] {
        let (result, peak) = decode(&bomb, &mut [0; 384]);
        assert_eq!(result, Err(DecodeError::DoesNotFit));
        assert!(peak < 16 * BLOCK, "{peak}");
    }
    // Two empty frames that declare a window of 128 MiB, into a large destination.
    let empty = [0x28, 0xb5, 0x2f, 0xfd, 0, 17 << 3, 1, 0, 0];
    let (result, peak) = decode(&[empty, empty].concat(), &mut vec![0; 200 << 20]);
    assert_eq!(result, Ok(0));
    assert!(peak < 16 * BLOCK, "{peak}");
    // A stream that really needs a large output: at most twice the smaller of window and output.
    let data: Vec<u8> = (0..20_u32 << 20).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
    let mut room = vec![0; data.len()];
    let (result, peak) = decode(&streamed(&data), &mut room);
    assert_eq!(result, Ok(data.len()));
    assert!(room == data && peak < 2 * (32 << 20) + 16 * BLOCK, "{peak}");
}
