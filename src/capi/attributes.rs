//! Attributes, and the values inside them.

use core::ffi::c_char;
use core::mem::MaybeUninit;

use super::call::{Details, run, with_details};
use super::pointer::{Array, Handle, HandleMut, Holds, InfoIn, InfoOut, Length, OptionalOut, Out, Writable};
use super::status::{ApiError, END, FfiResult, OK, tenslice_error, tenslice_status};
use super::text::tenslice_str;
use crate::attributes::Nested;
use crate::error::{Error, ErrorKind, Result};
use crate::{Attributes, Value};

/// A position in a sequence, such as the tensors of a file, the components of a tensor, the values of attributes or the
/// entries of an archive. Each function that sets a cursor names the function that reads from it.
#[repr(C)]
pub struct tenslice_cursor {
    opaque: [u64; 32],
}

/// Stores the next tensor or component in `handle`. `read_next` reads the item in place: an item returned by value
/// would be on the stack twice.
pub(super) fn next<C: 'static, T: 'static, H>(
    details: Details<'_>,
    cursor: HandleMut<'_, tenslice_cursor>,
    handle: &Out<'_, H>,
    blank: impl FnOnce(&C) -> T,
    read_next: impl FnOnce(&mut C, &mut T) -> Result<bool>,
) -> FfiResult<tenslice_status>
where
    tenslice_cursor: Holds<C>,
    H: Holds<T>,
{
    let (cursor, handle) = (cursor.get_mut()?, handle.writable()?);
    let mut next = blank(cursor);
    if !details.of(read_next(cursor, &mut next))? {
        return Ok(END);
    }
    handle.store(&next);
    Ok(OK)
}

/// A value of an attribute.
#[repr(C)]
pub struct tenslice_value {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// The kind, a TENSLICE_VALUE_ code; 0 for the key of a value without a key.
    pub kind: u32,
    /// The text, the bytes of a byte string, or the digits of a decimal number. `data` is NULL for other kinds.
    pub text: tenslice_str,
    /// The magnitude of an integer; also a boolean (0 or 1), the number of a simple value, or the number of a tag. The
    /// magnitude of -2^64 does not fit: it is 0, with `negative` set.
    pub magnitude: u64,
    /// The floating-point number.
    pub real: f64,
    /// 1 for a negative integer, else 0.
    pub negative: u32,
    /// Reserved, 0.
    pub reserved: u32,
    /// The values inside this value, for tenslice_value_items.
    pub items: tenslice_items,
}

/// The values inside a value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_items {
    opaque: [MaybeUninit<u64>; 12], // `MaybeUninit`: it is moved as part of a value, and its contents have padding
}

impl tenslice_value {
    /// The value that stands for a missing key.
    const NONE: Self = Self {
        struct_size: 0,
        kind: 0,
        text: tenslice_str::NONE,
        magnitude: 0,
        real: 0.0,
        negative: 0,
        reserved: 0,
        items: tenslice_items { opaque: [MaybeUninit::new(0); 12] },
    };

    fn new(value: Option<Value<'static>>) -> Self {
        let Some(value) = value else { return Self::NONE };
        let mut new = Self { kind: u32::from(value.kind().code()), ..Self::NONE };
        match value {
            Value::Bool(truth) => new.magnitude = u64::from(truth),
            Value::Integer(number) => {
                new.negative = u32::from(number < 0);
                // 2^64 does not fit: its low 64 bits are 0, as the header states.
                new.magnitude = u64::try_from(number.unsigned_abs()).unwrap_or(0);
            }
            Value::Float(number) => new.real = number,
            Value::Simple(number) => new.magnitude = u64::from(number),
            Value::Text(text) | Value::Decimal(text) => new.text = text.into(),
            Value::Bytes(bytes) => new.text = tenslice_str::of_bytes(bytes),
            Value::Tagged(tag, _) => new.magnitude = tag,
            _ => {}
        }
        if let Some(items) = value.items() {
            Writable::inside(&mut new).store(&Nested::from(items));
        }
        new
    }
}

/// Reads the next attribute, or the next value inside a value. Sets `value` to the value and `key` (may be NULL) to its
/// key. The kind of `key` is 0 if the value has no key. Returns TENSLICE_END after the last value. A key is usually a
/// text, but the formats allow any value.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_attributes_next(
    cursor: HandleMut<tenslice_cursor>,
    key: InfoOut<tenslice_value>,
    value: InfoOut<tenslice_value>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let attributes = cursor.get_mut::<Attributes<'static>>()?;
        let key_out = key.writable_or_null()?;
        let value_out = value.writable()?;
        let (key, value) = match (attributes.next(), attributes.error()) {
            (Some(next), _) => (tenslice_value::new(next.key), tenslice_value::new(Some(next.value))),
            (None, error) => return details.end(error),
        };
        if let Some(key_out) = key_out {
            key_out.fill(key);
        }
        value_out.fill(value);
        Ok(OK)
    })
}

/// Sets `cursor` before the first value inside `value`: a list, a map, a tagged value, or a text or byte string in
/// chunks. Read the values with tenslice_attributes_next.
///
/// Errors: WRONG_TYPE if `value` contains no other values.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_value_items(
    value: InfoIn<tenslice_value>,
    cursor: Out<tenslice_cursor>,
) -> tenslice_status {
    run(|| {
        let items = value.items()?;
        let cursor = cursor.writable()?;
        let items = items.get().map_err(|_| Error::new(ErrorKind::WrongType))?;
        cursor.store(&Attributes::from(*items));
        Ok(OK)
    })
}

/// Sets `count` to the number of values left, if this number is known without reading the values: in GGUF, and in
/// formats without attributes, where it is 0.
///
/// Errors: NOT_FOUND in other formats.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_attributes_length(cursor: Handle<tenslice_cursor>, count: Out<u64>) -> tenslice_status {
    run(|| {
        let length = cursor.get::<Attributes<'static>>()?.length();
        count.writable()?.set(length.ok_or(Error::new(ErrorKind::NotFound))?);
        Ok(OK)
    })
}

/// Sets `offset` and `length` to the range of the file that holds the remaining values of a list. In a GGUF file opened
/// from a source, the values of a long list may be missing, and tenslice_attributes_next returns NOT_IN_MEMORY. Then
/// fetch this range, add it to the source, and open the file again.
///
/// Errors: NOT_FOUND for values that are always in memory: all but the lists of GGUF.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_attributes_extent(
    cursor: Handle<tenslice_cursor>,
    offset: Out<u64>,
    length: Out<u64>,
) -> tenslice_status {
    run(|| {
        let extent = cursor.get::<Attributes<'static>>()?.extent().ok_or(Error::new(ErrorKind::NotFound))?;
        let (offset, length) = (offset.writable()?, length.writable()?);
        offset.set(extent.offset);
        length.set(extent.length);
        Ok(OK)
    })
}

/// Sets `value` to the first attribute at or after `cursor` whose key is the `length` bytes at `key`. The cursor does
/// not move. Linear in the bytes before the attribute.
///
/// Errors: NOT_FOUND.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_attributes_get(
    cursor: Handle<tenslice_cursor>,
    key: Array<c_char>,
    length: Length,
    value: InfoOut<tenslice_value>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let found = find(details, cursor, key, length)?;
        value.writable()?.fill(tenslice_value::new(Some(found)));
        Ok(OK)
    })
}

/// Sets `number` to the integer with this key, as tenslice_attributes_get does.
///
/// Errors: NOT_FOUND; WRONG_TYPE if the value is of another kind or does not fit.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_attributes_get_u64(
    cursor: Handle<tenslice_cursor>,
    key: Array<c_char>,
    length: Length,
    number: Out<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| set(find(details, cursor, key, length)?.as_u64(), &number))
}

/// Sets `number` to the integer with this key, as tenslice_attributes_get does.
///
/// Errors: NOT_FOUND; WRONG_TYPE if the value is of another kind or does not fit.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_attributes_get_i64(
    cursor: Handle<tenslice_cursor>,
    key: Array<c_char>,
    length: Length,
    number: Out<i64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| set(find(details, cursor, key, length)?.as_i64(), &number))
}

/// Sets `number` to the floating-point number with this key, as tenslice_attributes_get does.
///
/// Errors: NOT_FOUND; WRONG_TYPE if the value is of another kind, such as an integer.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_attributes_get_f64(
    cursor: Handle<tenslice_cursor>,
    key: Array<c_char>,
    length: Length,
    number: Out<f64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| set(find(details, cursor, key, length)?.as_f64(), &number))
}

/// Sets `truth` to the boolean with this key, 0 or 1, as tenslice_attributes_get does.
///
/// Errors: NOT_FOUND; WRONG_TYPE if the value is of another kind.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_attributes_get_bool(
    cursor: Handle<tenslice_cursor>,
    key: Array<c_char>,
    length: Length,
    truth: Out<u32>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| set(find(details, cursor, key, length)?.as_bool().map(u32::from), &truth))
}

/// Sets `text` to the text with this key, as tenslice_attributes_get does.
///
/// Errors: NOT_FOUND; WRONG_TYPE if the value is of another kind.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_attributes_get_str(
    cursor: Handle<tenslice_cursor>,
    key: Array<c_char>,
    length: Length,
    text: Out<tenslice_str>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| set(find(details, cursor, key, length)?.as_text().map(tenslice_str::from), &text))
}

/// Returns the value whose key is `key`.
fn find(
    details: Details<'_>,
    cursor: Handle<'_, tenslice_cursor>,
    key: Array<'_, c_char>,
    length: Length<'_>,
) -> FfiResult<Value<'static>> {
    let mut all = *cursor.get::<Attributes<'static>>()?;
    let key = key.text(length)?;
    match (all.find_bytes(key), all.error()) {
        (Some(value), _) => Ok(value),
        (None, Some(error)) => Err(details.report(&error)),
        (None, None) => Err(ApiError::new(ErrorKind::NotFound)),
    }
}

/// Stores a converted value; `None` means that the value is of another kind than requested.
fn set<T>(value: Option<T>, place: &Out<'_, T>) -> FfiResult<tenslice_status> {
    let place = place.writable()?;
    place.set(value.ok_or(ApiError::new(ErrorKind::WrongType))?);
    Ok(OK)
}
