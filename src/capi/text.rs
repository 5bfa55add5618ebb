//! Strings: those of the file, and the message of an error.

use core::ffi::{c_char, c_void};
use core::fmt::{self, Write};

use super::pointer::{Array, Buffer, Capacity, Handle, In, Length, Memory, OptionalOut};
use super::source::tenslice_source;
use super::status::{OK, nth_text, plain, tenslice_error, tenslice_status};
use crate::DType;
use crate::bytes::source::Input;
use crate::bytes::text::Text;
use crate::error::{Error, ErrorKind, Result};

/// A string of the file: UTF-8, not NUL-terminated; it may be empty or contain any character, NUL included. It is in
/// the bytes that the file was opened from or, where the file relies on a default, in the library. `data` is NULL
/// where the file has no such string.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_str {
    /// The first byte.
    pub data: *const c_char,
    /// Number of bytes.
    pub length: usize,
}

impl From<Option<&str>> for tenslice_str {
    fn from(text: Option<&str>) -> Self {
        Self::of(text.map(Text::new))
    }
}

impl tenslice_str {
    /// Wraps bytes of the file that are text in some encoding.
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr().cast(), length: bytes.len() }
    }

    pub(super) fn of(text: Option<Text<'_>>) -> Self {
        let bytes = text.map(Text::bytes);
        Self {
            data: bytes.map_or(core::ptr::null(), |bytes| bytes.as_ptr().cast()),
            length: bytes.map_or(0, <[u8]>::len),
        }
    }
}

/// Counts bytes, and writes those that fit.
struct Writer<'a> {
    dst: &'a mut [u8],
    length: usize,
}

impl Write for Writer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            if let Some(place) = self.dst.get_mut(self.length) {
                *place = byte;
            }
            self.length = self.length.saturating_add(1);
        }
        Ok(())
    }
}

/// Writes the message of an error, NUL-terminated, to a buffer: names and numbers are read again from the bytes that
/// the file was opened from (`data` may be NULL, then they are omitted). Where the buffer is too small nothing is
/// written. `needed` (may be NULL) is set to the number of bytes needed, the NUL included.
///
/// Errors: TOO_SMALL; INVALID_ARGUMENT, also for an error that this library has not produced.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_error_text(
    error: In<tenslice_error>,
    data: Array<c_void>,
    length: Length,
    buffer: Buffer<c_char>,
    capacity: Capacity,
    needed: OptionalOut<usize>,
) -> tenslice_status {
    plain(|| {
        let input = Input::from(data.with_length(length)?);
        write_text(&error, input, data.memory(length), buffer, capacity, &needed)
    })
}

/// Like tenslice_error_text, for a file that was opened from a source: the message has the names and numbers that are
/// still in memory.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_error_text_source(
    error: In<tenslice_error>,
    source: Handle<tenslice_source>,
    buffer: Buffer<c_char>,
    capacity: Capacity,
    needed: OptionalOut<usize>,
) -> tenslice_status {
    plain(|| {
        let input = Input::from(source.get()?);
        write_text(&error, input, source.memory(), buffer, capacity, &needed)
    })
}

/// `given` is the memory that the input comes from.
fn write_text(
    error: &In<'_, tenslice_error>,
    input: Input<'_>,
    given: Memory,
    buffer: Buffer<'_, c_char>,
    capacity: Capacity<'_>,
    needed: &OptionalOut<'_, usize>,
) -> Result<tenslice_status> {
    let buffer = buffer.with_capacity(capacity, &[given, error.memory(), needed.memory()])?;
    let error = error.read()?.to_rust()?;
    let needed = needed.writable()?;
    let sentence = error.explain(input);
    let mut counter = Writer { dst: &mut [], length: 0 };
    let _ = sentence.write_to(&mut counter).and_then(|()| counter.write_str("\0")); // cannot fail: `Writer` does not
    if let Some(needed) = needed {
        needed.set(counter.length);
    }
    if counter.length > buffer.len() {
        return Err(Error::new(ErrorKind::TooSmall));
    }
    let mut writer = Writer { dst: buffer, length: 0 };
    let _ = sentence.write_to(&mut writer).and_then(|()| writer.write_str("\0"));
    Ok(OK)
}

/// Returns the name of a dtype, such as "f32"; NUL-terminated, valid forever. "?" for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_dtype_name(dtype: u32) -> *const c_char {
    let Some(dtype) = of_code(dtype) else { return nth_text("", None) };
    let place = DType::ALL.iter().position(|(number, _)| *number == dtype.number());
    nth_text(
        DType::NAMES_FOR_C,
        place.and_then(|place| place.checked_mul(4)?.checked_add(usize::try_from(dtype.log2_lanes()).ok()?)),
    )
}

/// Returns the size of one element of a dtype in bytes; 0 for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_dtype_size(dtype: u32) -> usize {
    of_code(dtype).and_then(|dtype| usize::try_from(dtype.size()).ok()).unwrap_or(0)
}

pub(super) fn of_code(dtype: u32) -> Option<DType> {
    u16::try_from(dtype).ok().and_then(DType::from_code)
}

pub(super) fn to_code(dtype: Option<DType>) -> u32 {
    dtype.map_or(0, |dtype| u32::from(dtype.code()))
}
