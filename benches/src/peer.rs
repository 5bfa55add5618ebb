//! c-blosc2, called through peer.c. All unsafe code is here.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;

unsafe extern "C" {
    safe fn peer_start() -> *const c_char;
    safe fn peer_nanoseconds() -> u64;
    fn peer_write(
        data: *const u8,
        shape: *const i64,
        chunk: *const i32,
        block: *const i32,
        codec: u8,
        filter: u8,
        level: u8,
    ) -> *mut c_void;
    fn peer_frame(array: *const c_void, frame: *mut *const u8) -> i64;
    fn peer_open(frame: *const u8, length: i64) -> *mut c_void;
    fn peer_close(array: *mut c_void);
    fn peer_read(array: *const c_void, buffer: *mut u8, length: i64) -> c_int;
    fn peer_chunks(array: *const c_void, buffer: *mut u8, length: i32) -> c_int;
    fn peer_rows(array: *const c_void, start: i64, stop: i64, buffer: *mut u8, length: i64) -> c_int;
}

/// Must be called first. Returns the version of the loaded library.
pub fn start() -> &'static str {
    // SAFETY: a string literal of the library.
    unsafe { CStr::from_ptr(peer_start()) }.to_str().expect("the version is ASCII")
}

/// CPU time of this process.
pub fn nanoseconds() -> u64 {
    peer_nanoseconds()
}

/// The shape, partition and compression of an array, with the numbers of blosc2.h.
pub struct Settings {
    pub shape: [i64; 2],
    pub chunk: [i32; 2],
    pub block: [i32; 2],
    pub codec: u8,
    pub filter: u8,
    pub level: u8,
}

/// Writes the frame of 32-bit floats.
pub fn write(data: &[u8], settings: &Settings) -> Vec<u8> {
    let Settings { shape, chunk, block, codec, filter, level } = settings;
    assert_eq!(data.len() as i64, shape[0] * shape[1] * 4);
    // SAFETY: the data is as long as the shape says.
    let array =
        unsafe { peer_write(data.as_ptr(), shape.as_ptr(), chunk.as_ptr(), block.as_ptr(), *codec, *filter, *level) };
    let array = Array::of(array);
    let mut frame = std::ptr::null();
    // SAFETY: the frame is copied before its array is freed.
    unsafe {
        let length = peer_frame(array.handle.as_ptr(), &mut frame);
        let length = usize::try_from(length).expect("c-blosc2 gives no frame");
        std::slice::from_raw_parts(frame, length).to_vec()
    }
}

/// An open array.
pub struct Array<'a> {
    handle: NonNull<c_void>,
    frame: PhantomData<&'a [u8]>,
}

impl<'a> Array<'a> {
    fn of(handle: *mut c_void) -> Self {
        Self { handle: NonNull::new(handle).expect("c-blosc2 gives no array"), frame: PhantomData }
    }

    pub fn open(frame: &'a [u8]) -> Self {
        // SAFETY: the frame outlives the array, and is only read.
        Self::of(unsafe { peer_open(frame.as_ptr(), frame.len() as i64) })
    }

    /// Reads everything.
    pub fn read(&self, out: &mut [u8]) {
        // SAFETY: c-blosc2 checks the length.
        check(unsafe { peer_read(self.handle.as_ptr(), out.as_mut_ptr(), out.len() as i64) });
    }

    /// Decodes all chunks to the start of `out`, each over the previous one.
    pub fn chunks(&self, out: &mut [u8]) {
        let length = i32::try_from(out.len()).expect("less than 2 GiB");
        // SAFETY: c-blosc2 checks the length.
        check(unsafe { peer_chunks(self.handle.as_ptr(), out.as_mut_ptr(), length) });
    }

    /// Reads some rows.
    pub fn rows(&self, rows: Range<usize>, out: &mut [u8]) {
        let (start, stop) = (rows.start as i64, rows.end as i64);
        // SAFETY: c-blosc2 checks the length.
        check(unsafe { peer_rows(self.handle.as_ptr(), start, stop, out.as_mut_ptr(), out.len() as i64) });
    }
}

impl Drop for Array<'_> {
    fn drop(&mut self) {
        // SAFETY: the array is open until now.
        unsafe { peer_close(self.handle.as_ptr()) }
    }
}

fn check(status: c_int) {
    assert!(status >= 0, "c-blosc2 reports error {status}");
}
