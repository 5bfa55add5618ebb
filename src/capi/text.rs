//! Strings of the file, and the messages of errors.

use core::ffi::{c_char, c_void};
use core::mem::MaybeUninit;

use super::call::run;
use super::memory::Memory;
use super::pointer::{Array, Buffer, Capacity, Handle, In, Length, OptionalOut, Writable};
use super::source::tenslice_source;
use super::status::{OK, nth_text, tenslice_error, tenslice_status};
use crate::DType;
use crate::bytes::source::Input;
use crate::bytes::text::Text;
use crate::bytes::utf8::Utf8;
use crate::error::{Error, ErrorKind, Result};
use crate::view::explain::Out;

/// A string of the file: UTF-8, not NUL-terminated. It may be empty or contain any character, NUL included. Print it
/// with printf("%.*s", (int)name.length, name.data). Its bytes are in the file or, if the file relies on a default, in
/// the library.
///
/// In JSON formats, characters may be spelled as escapes: rare in names, usual in attributes that contain JSON
/// themselves. tenslice_str_copy decodes escapes, and tenslice_str_equals compares decoded characters.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_str {
    /// The first byte; NULL if the file has no such string.
    pub data: *const c_char,
    /// Number of bytes.
    pub length: usize,
    /// 1 if characters are spelled as escapes, so that the bytes are not the characters of the string; else 0.
    pub is_escaped: u8,
    /// For this library, if `is_escaped` is 1: zeros, or the keys of a name in a PyTorch checkpoint. Leave them as they
    /// are.
    pub reserved: MaybeUninit<[u8; 15]>, // `MaybeUninit`: most strings need no code that sets them
}

impl From<Text<'_>> for tenslice_str {
    fn from(text: Text<'_>) -> Self {
        let mut new = Self::of_bytes(text.raw());
        new.is_escaped = text.is_escaped().into();
        #[cfg(feature = "pytorch")]
        new.reserved.write(text.trail().0);
        new
    }
}

impl From<Option<&str>> for tenslice_str {
    fn from(text: Option<&str>) -> Self {
        Self::of(text.map(Utf8::new))
    }
}

impl tenslice_str {
    /// The string that stands for a missing one.
    pub(super) const NONE: Self = Self::of_parts(core::ptr::null(), 0);

    const fn of_parts(data: *const u8, length: usize) -> Self {
        Self { data: data.cast(), length, is_escaped: 0, reserved: MaybeUninit::uninit() }
    }

    /// Wraps bytes of the file that are text in any encoding.
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        Self::of_parts(bytes.as_ptr(), bytes.len())
    }

    pub(super) fn of(text: Option<Utf8<'_>>) -> Self {
        let (data, length) = text.map_or((core::ptr::null(), 0), |text| (text.bytes().as_ptr(), text.bytes().len()));
        Self::of_parts(data, length) // a copy of `NONE` would take more flash
    }
}

/// Counts bytes, and writes those that fit.
pub(super) struct Writer<'a> {
    dst: &'a mut [u8],
    length: usize,
}

impl Writer<'_> {
    #[inline(never)] // called for every piece of a message
    fn write_bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if let Some(place) = self.dst.get_mut(self.length) {
                *place = *byte;
            }
            self.length = self.length.saturating_add(1);
        }
    }
}

#[cfg(any(feature = "gguf", feature = "write"))]
impl core::fmt::Write for Writer<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.text(text);
        Ok(())
    }
}

impl Out for Writer<'_> {
    fn text(&mut self, text: &str) {
        self.write_bytes(text.as_bytes());
    }

    fn ascii(&mut self, byte: u8) {
        self.write_bytes(&[byte]);
    }
}

/// Writes a string to `buffer`, with escapes decoded. Its length is `needed` - 1: the string may contain NULs.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_str_copy(
    text: In<tenslice_str>,
    buffer: Buffer<c_char>,
    capacity: Capacity,
    needed: OptionalOut<usize>,
) -> tenslice_status {
    run(|| {
        let (meaning, memory) = text.text()?;
        let buffer = buffer.with_capacity(capacity, &[text.memory(), memory, needed.memory()])?;
        write_whole(buffer, needed.writable()?, |out| {
            if meaning.is_escaped() {
                meaning.chars().for_each(|next| out.text(next.encode_utf8(&mut [0; 4])));
            } else {
                out.write_bytes(meaning.raw()); // need not be UTF-8
            }
        })
    })
}

/// Returns 1 if a string, with escapes decoded, equals the `length` bytes at `other`; else 0, also for an invalid
/// argument. Linear in the length of the string.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_str_equals(text: In<tenslice_str>, other: Array<c_char>, length: Length) -> u32 {
    let both = text.text().and_then(|(text, _)| Ok((text, other.text(length)?)));
    both.map_or(0, |(text, other)| u32::from(text.eq_bytes(other)))
}

/// Writes the message of an error to `buffer`: the broken rule, the tensor, and the byte. The `length` bytes at `data`
/// are the bytes that the file was opened from; the call reads the names and numbers for the message from them again.
/// If `data` is NULL, the message omits the names and numbers.
///
/// Errors: INVALID_ARGUMENT also for an error that this library has not produced.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_error_text(
    error: In<tenslice_error>,
    data: Array<c_void>,
    length: Length,
    buffer: Buffer<c_char>,
    capacity: Capacity,
    needed: OptionalOut<usize>,
) -> tenslice_status {
    run(|| {
        let input = Input::from(data.with_length(length)?);
        write_text(&error, input, data.memory(length), buffer, capacity, &needed)
    })
}

/// Writes the message of an error as tenslice_error_text does, for a file that was opened from a source. The message
/// has the names and numbers that are still in memory.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_error_text_source(
    error: In<tenslice_error>,
    source: Handle<tenslice_source>,
    buffer: Buffer<c_char>,
    capacity: Capacity,
    needed: OptionalOut<usize>,
) -> tenslice_status {
    run(|| {
        let input = Input::from(source.get()?);
        write_text(&error, input, source.memory(), buffer, capacity, &needed)
    })
}

/// Writes the message of an error. `given` is the memory that `input` comes from.
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
    let sentence = error.explain(input);
    write_whole(buffer, needed.writable()?, |out| sentence.write_to(out))
}

/// Writes a string and a NUL to `buffer` if both fit, and the number of bytes of both to `needed`.
pub(super) fn write_whole(
    buffer: &mut [u8],
    needed: Option<Writable<'_, usize>>,
    write: impl Fn(&mut Writer<'_>),
) -> Result<tenslice_status> {
    let mut counter = Writer { dst: &mut [], length: 0 };
    write(&mut counter);
    counter.ascii(0);
    if let Some(needed) = needed {
        needed.set(counter.length);
    }
    if counter.length > buffer.len() {
        return Err(Error::new(ErrorKind::TooSmall));
    }
    let mut writer = Writer { dst: buffer, length: 0 };
    write(&mut writer);
    writer.ascii(0);
    Ok(OK)
}

/// Returns the name of a dtype, such as "f32".
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_dtype_name(dtype: u32) -> *const c_char {
    nth_text(DType::NAMES_FOR_C, of_code(dtype).and_then(DType::place_of_name))
}

/// Returns the size of one element of a dtype in bytes; 0 if it is less than a byte, or if `dtype` is not a dtype.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_dtype_size(dtype: u32) -> usize {
    of_code(dtype).and_then(|dtype| usize::try_from(dtype.size()?).ok()).unwrap_or(0)
}

/// Returns the number of bits of one element of a dtype; 0 if `dtype` is not a dtype. Elements of 4 and 6 bits are
/// packed without gaps.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_dtype_bits(dtype: u32) -> u32 {
    of_code(dtype).and_then(|dtype| u32::try_from(dtype.bits()).ok()).unwrap_or(0)
}

pub(super) fn of_code(dtype: u32) -> Option<DType> {
    u16::try_from(dtype).ok().and_then(DType::from_code)
}

pub(super) fn to_code(dtype: Option<DType>) -> u32 {
    dtype.map_or(0, |dtype| u32::from(dtype.code()))
}
