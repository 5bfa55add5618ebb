//! Attributes, and the values inside them.

use core::mem::MaybeUninit;

use super::pointer::{HandleMut, Holds, InfoIn, InfoOut, OptionalOut, Out, Writable};
use super::status::{Details, END, FfiResult, OK, answer, plain, tenslice_error, tenslice_status};
use super::text::tenslice_str;
use crate::error::{Error, ErrorKind, Result};
use crate::{Attributes, Value};

/// A position among the tensors of a file, the components of a tensor, the values of attributes, the chunks of a TENS
/// file or the entries of an NPZ archive.
#[repr(C)]
pub struct tenslice_cursor {
    opaque: [u64; 32],
}

/// Makes `handle` the next tensor or component. `read_next` reads it in place: returned as a result it would be on
/// the stack twice.
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

/// A value of an attribute. Set `struct_size` to `sizeof` before the call.
#[repr(C)]
pub struct tenslice_value {
    /// Size of this struct in the caller's header.
    pub struct_size: u32,
    /// Its kind, a TENSLICE_VALUE_ code; 0 for the key of a value that has none.
    pub kind: u32,
    /// The text, the bytes of a byte string, the digits of a decimal number. `data` is NULL for the other kinds.
    pub text: tenslice_str,
    /// The magnitude of an integer. That of -2^64, the only one that does not fit, is 0 here, with `negative` set.
    /// Also a boolean (0 or 1), the number of a simple value, the number of a tag.
    pub magnitude: u64,
    /// The floating-point number.
    pub real: f64,
    /// 1 for an integer below 0.
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
    opaque: [MaybeUninit<u64>; 12], // moved as part of a value, and its contents have padding
}

impl tenslice_value {
    /// The value used for a key that does not exist.
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
                // 2^64 does not fit: its low 64 bits are 0, as the header says.
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
            Writable::inside(&mut new).store(&items);
        }
        new
    }
}

/// Reads the next attribute, or the next value inside one: `key` (may be NULL) is set to the key, of kind 0 where
/// there is none, `value` to the value; the caller must have set `struct_size` of both. Returns TENSLICE_END after
/// the last. A key is usually a text, but the formats allow any value.
///
/// Errors: INVALID_HANDLE, INVALID_ARGUMENT; another code where the bytes have changed since the file was opened.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_attributes_next(
    cursor: HandleMut<tenslice_cursor>,
    key: InfoOut<tenslice_value>,
    value: InfoOut<tenslice_value>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
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

/// Sets `cursor` before the first value inside a list, a map, a tagged value, or a text or byte string in chunks, for
/// tenslice_attributes_next.
///
/// Errors: WRONG_TYPE for a value that contains no others, INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_value_items(
    value: InfoIn<tenslice_value>,
    cursor: Out<tenslice_cursor>,
) -> tenslice_status {
    plain(|| {
        let items = value.items()?;
        let cursor = cursor.writable()?;
        cursor.store(items.get().map_err(|_| Error::new(ErrorKind::WrongType))?);
        Ok(OK)
    })
}
