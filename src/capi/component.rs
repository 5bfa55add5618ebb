//! Components.

use core::ffi::c_void;

use super::call::{run, with_details};
use super::pointer::{Array, Handle, InfoOut, Length, OptionalOut, Out};
use super::status::{OK, tenslice_error, tenslice_status};
use super::text::{of_code, tenslice_str, to_code};
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind, Result};
use crate::{ByteOrder, Component};

/// A component of a tensor.
#[repr(C)]
pub struct tenslice_component {
    opaque: [u64; 24],
}

/// Bytes in place: `length` bytes at `data`, without a copy.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_bytes {
    /// The first byte.
    pub data: *const c_void,
    /// Number of bytes.
    pub length: usize,
}

impl From<&[u8]> for tenslice_bytes {
    fn from(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr().cast(), length: bytes.len() }
    }
}

/// Information about a component.
#[repr(C)]
pub struct tenslice_component_info {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// The dtype of the elements; 0 if the format does not specify one.
    pub dtype: u32,
    /// The dtype of the stored elements; differs from `dtype` if the file states a logical type for the elements.
    pub storage_dtype: u32,
    /// The byte order of the elements, a TENSLICE_BYTE_ORDER_ code.
    pub byte_order: u32,
    /// How the bytes are stored, a TENSLICE_ENCODING_ code.
    pub encoding: u32,
    /// Reserved, 0.
    pub reserved: u32,
    /// The role in the tensor, in the terms of the format: "data", "values", "indices", ...
    pub role: tenslice_str,
    /// The name of the encoding, as the file spells it.
    pub encoding_name: tenslice_str,
    /// The digest as the file spells it, not verified.
    pub digest: tenslice_str,
    /// Offset of the bytes in the file, checked to be inside the file. For callers that read the bytes themselves.
    pub offset: u64,
    /// Stored length in bytes.
    pub length: u64,
    /// Decoded length in bytes; UINT64_MAX if the file does not state it.
    pub decoded_length: u64,
}

/// Returns the bytes of `component`, checked to be elements of `dtype`.
pub(super) fn typed_bytes<'a>(component: &Component<'a>, dtype: u32) -> Result<&'a [u8]> {
    if dtype != 0 {
        let dtype = of_code(dtype).ok_or(Error::new(ErrorKind::InvalidArgument))?;
        if component.dtype() != Some(dtype) {
            return Err(component.error(ErrorKind::WrongType, Part::DType));
        }
        return component.aligned_bytes(dtype.alignment(), ByteOrder::NATIVE);
    }
    component.bytes()
}

/// Fills `info` with information about a component.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_component_get_info(
    component: Handle<tenslice_component>,
    info: InfoOut<tenslice_component_info>,
) -> tenslice_status {
    run(|| {
        let component = component.get()?;
        info.writable()?.fill(tenslice_component_info {
            struct_size: 0,
            dtype: to_code(component.dtype()),
            storage_dtype: to_code(component.storage_dtype()),
            byte_order: u32::from(component.byte_order().code()),
            encoding: u32::from(component.encoding().code()),
            reserved: 0,
            role: tenslice_str::of(Some(component.role_text())),
            encoding_name: tenslice_str::of(Some(component.encoding_name_text())),
            digest: tenslice_str::of(component.digest_text()),
            offset: component.extent().offset,
            length: component.extent().length,
            decoded_length: component.decoded_length().unwrap_or(u64::MAX),
        });
        Ok(OK)
    })
}

/// Sets `bytes` to the bytes of a component, without a copy. Checks that they are elements of `dtype`: of this type, in
/// this machine's byte order, and aligned. With TENSLICE_ANY as `dtype`, returns the bytes as they are in the file.
///
/// Errors: WRONG_TYPE, PARTIAL_ELEMENT, FOREIGN_ENDIAN, MISALIGNED, ENCODED, UNSUPPORTED_ENCODING, NOT_IN_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_component_bytes(
    component: Handle<tenslice_component>,
    dtype: u32,
    bytes: Out<tenslice_bytes>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let component = component.get()?;
        bytes.writable()?.set(details.of(typed_bytes(component, dtype))?.into());
        Ok(OK)
    })
}

/// Sets `bytes` to the stored bytes of a component, without a copy. They may be encoded.
///
/// Errors: NOT_IN_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_component_stored(
    component: Handle<tenslice_component>,
    bytes: Out<tenslice_bytes>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let component = component.get()?;
        bytes.writable()?.set(details.of(component.stored())?.into());
        Ok(OK)
    })
}

/// Makes `bound` the same component over the `length` bytes at `data`, which the caller has read from the component's
/// place in the file. The bytes must stay in place while `bound` is used. `bound` may be the same handle as
/// `component`.
///
/// Errors: WRONG_LENGTH if `length` is not the stored length of the component.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_component_with_bytes(
    component: Handle<tenslice_component>,
    data: Array<'static, c_void>,
    length: Length,
    bound: Out<tenslice_component>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (component, data) = (component.get()?, data.with_length_beside(length, bound.memory())?);
        let component = details.of(component.with_bytes(data))?;
        bound.writable()?.store::<Component<'static>>(&component); // may be the old handle, which has already been read
        Ok(OK)
    })
}

/// Sets `caps` to the operations that this library supports for a component: TENSLICE_CAP_ flags. A flag is set if
/// the bytes are in memory and the library can decode them. The operation can still fail, because this call does not
/// check the bytes.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_component_caps(component: Handle<tenslice_component>, caps: Out<u32>) -> tenslice_status {
    run(|| {
        let flags = component.get()?.caps().bits();
        caps.writable()?.set(flags);
        Ok(OK)
    })
}

/// Sets `shard` to the name of the file that holds the bytes of a component, if that is another file; otherwise to NULL
/// and 0. The offset of such a component is in that file. To read it, call tenslice_component_with_shard or
/// tenslice_component_with_bytes first. The name is the one in tenslice_ztensor2_shard.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_component_shard(
    component: Handle<tenslice_component>,
    shard: Out<tenslice_str>,
) -> tenslice_status {
    run(|| {
        let name = tenslice_str::of(component.get()?.shard_text());
        shard.writable()?.set(name);
        Ok(OK)
    })
}

/// Makes `bound` the same component over the `length` bytes at `data`, which must be the complete shard of the
/// component and stay in place while `bound` is used. Constant cost: the shard is not compared with what the file
/// states about it. Check each shard once with tenslice_ztensor2_check_shard.
///
/// Errors: NOT_IN_SHARD; OUT_OF_FILE if the shard is too short.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_component_with_shard(
    component: Handle<tenslice_component>,
    data: Array<'static, c_void>,
    length: Length,
    bound: Out<tenslice_component>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (component, data) = (component.get()?, data.with_length_beside(length, bound.memory())?);
        let component = details.of(component.with_shard(data))?;
        bound.writable()?.store::<Component<'static>>(&component); // may be the old handle, which has already been read
        Ok(OK)
    })
}
