//! Files.

use core::ffi::{c_char, c_void};

use super::attributes::tenslice_cursor;
use super::pointer::{bytes, bytes_for, held, held_mut, memory, out, out_info, out_optional, room};
use super::source::{tenslice_need, tenslice_source};
use super::status::{END, NEED, OK, answer, plain, tenslice_error, tenslice_status};
use super::tensor::tenslice_tensor;
use super::text::tenslice_str;
use crate::error::{Error, ErrorKind};
use crate::warning::{Warning, Warnings};
use crate::{File, Source, Tensors};

/// An open file.
#[repr(C)]
pub struct tenslice_file {
    opaque: [u64; 24],
}

/// What there is to know of a file. Set `struct_size` to `sizeof` before the call.
#[repr(C)]
pub struct tenslice_file_info {
    /// Size of this struct in the caller's header.
    pub struct_size: u32,
    /// The kind of file, a TENSLICE_FORMAT_ code.
    pub format: u32,
    /// Length of the file in bytes.
    pub length: u64,
    /// How many tensors there are.
    pub tensor_count: u64,
    /// The version as the file states it.
    pub version: tenslice_str,
    /// What the format's text says to warn about: TENSLICE_WARNING_ bits.
    pub warnings: u32,
    /// 0.
    pub reserved: u32,
}

/// Opens a file that is in memory as a whole: `length` bytes at `data`, of any alignment, which stay
/// there unchanged for as long as anything made from `file` is used. Checks the whole structure in one
/// pass over the metadata and reads no tensor data.
///
/// Errors: the first rule that the file breaks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenslice_file_open(
    file: *mut tenslice_file,
    data: *const c_void,
    length: usize,
    error: *mut tenslice_error,
) -> tenslice_status {
    // SAFETY: as the header asks; the bytes outlive the handle, which is all that its 'static stands for.
    unsafe {
        answer(error, |details| {
            let (file, bytes) = (out(file)?, bytes_for(file, data, length)?);
            file.hold_found::<File<'static>>(details, &File::open(bytes))?;
            Ok(OK)
        })
    }
}

/// Opens a file of which only some ranges are in memory. TENSLICE_NEED asks for another range: fetch just
/// that, add it to the source, call again. `file` holds a pointer to the source.
///
/// Errors: the first rule that the file breaks; INVALID_HANDLE for a source that was not initialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenslice_file_open_source(
    file: *mut tenslice_file,
    source: *mut tenslice_source,
    need: *mut tenslice_need,
    error: *mut tenslice_error,
) -> tenslice_status {
    // SAFETY: as the header asks; the source outlives the handle.
    unsafe {
        answer(error, |details| {
            let (file, need) = (out(file)?, out(need)?);
            let source = held::<Source<'static>, _>(source)?;
            let found = File::open_once(source);
            if let Some(range) = source.need() {
                need.set(tenslice_need {
                    offset: range.extent.offset,
                    length: range.extent.length,
                    keep: u32::from(range.keep),
                    reserved: 0,
                });
                return Ok(NEED);
            }
            file.hold_found(details, &found)?;
            Ok(OK)
        })
    }
}

/// Fills `info`, of which the caller has set `struct_size`.
///
/// Errors: INVALID_HANDLE, INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenslice_file_get_info(
    file: *const tenslice_file,
    info: *mut tenslice_file_info,
) -> tenslice_status {
    // SAFETY: as the header asks.
    unsafe {
        plain(|| {
            let file = held::<File<'static>, _>(file)?;
            out_info(info)?.fill(tenslice_file_info {
                struct_size: 0,
                format: u32::from(file.format().code()),
                length: file.length(),
                tensor_count: file.tensor_count(),
                version: file.version().into(),
                warnings: file.warnings().bits(),
                reserved: 0,
            });
            Ok(OK)
        })
    }
}

/// The index, in the order of the file, of the first tensor that a warning (one TENSLICE_WARNING_ bit)
/// concerns.
///
/// Errors: INVALID_HANDLE, INVALID_ARGUMENT, NOT_FOUND where the warning is not given or concerns the
/// whole file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenslice_file_warning_tensor(
    file: *const tenslice_file,
    warning: u32,
    index: *mut u64,
) -> tenslice_status {
    // SAFETY: as the header asks.
    unsafe {
        plain(|| {
            let warnings: Warnings = held::<File<'static>, _>(file)?.warnings();
            let index = out(index)?;
            let warning = Warning::ALL.iter().find(|known| known.bit() == warning);
            let first = warning.and_then(|warning| warnings.first_tensor(*warning));
            index.set(first.ok_or(Error::new(ErrorKind::NotFound))?);
            Ok(OK)
        })
    }
}

/// Compares all names exactly, and all roles of each tensor, where opening could not without memory
/// (TENSLICE_WARNING_NAMES_UNCHECKED, TENSLICE_WARNING_ROLES_UNCHECKED). `scratch` has `count` words of the caller's, at
/// least 1. With one for each tensor, and as many as a tensor has components, names and roles are sorted and looked up
/// once; with less the metadata is read once for each part that fits. `warnings` (may be NULL) gets the file's warnings
/// as they are then.
///
/// Errors: REPEATED_NAME where the format forbids it, REPEATED_KEY for a role, OUT_OF_SCRATCH, INVALID_HANDLE,
/// INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenslice_file_check(
    file: *const tenslice_file,
    scratch: *mut u32,
    count: usize,
    warnings: *mut u32,
    error: *mut tenslice_error,
) -> tenslice_status {
    // SAFETY: as the header asks.
    unsafe {
        answer(error, |details| {
            let scratch = room(scratch, count, &[memory(file, 1), memory(warnings, 1)])?;
            let (file, warnings) = (held::<File<'static>, _>(file)?, out_optional(warnings)?);
            let found = details.of(file.check(scratch))?;
            if let Some(warnings) = warnings {
                warnings.set(found.bits());
            }
            Ok(OK)
        })
    }
}

/// Finds the first tensor of that name: `length` bytes at `name`, compared byte by byte. Linear in the
/// bytes of the metadata.
///
/// Errors: NOT_FOUND, INVALID_HANDLE, INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenslice_file_find(
    file: *const tenslice_file,
    name: *const c_char,
    length: usize,
    tensor: *mut tenslice_tensor,
    error: *mut tenslice_error,
) -> tenslice_status {
    // SAFETY: as the header asks.
    unsafe {
        answer(error, |details| {
            let file = held::<File<'static>, _>(file)?;
            let tensor = out(tensor)?;
            let mut found = file.blank_tensor();
            details.of(file.find_into(bytes(name.cast(), length)?, &mut found))?;
            tensor.hold(&found);
            Ok(OK)
        })
    }
}

/// Sets `cursor` before the first tensor, for tenslice_tensors_next.
///
/// Errors: INVALID_HANDLE, INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenslice_file_tensors(
    file: *const tenslice_file,
    cursor: *mut tenslice_cursor,
) -> tenslice_status {
    // SAFETY: as the header asks.
    unsafe {
        plain(|| {
            let file = held::<File<'static>, _>(file)?;
            out(cursor)?.hold(&file.tensors());
            Ok(OK)
        })
    }
}

/// The next tensor, in the order of the file; TENSLICE_END behind the last.
///
/// Errors: INVALID_HANDLE, INVALID_ARGUMENT; another one where the bytes are not what they were when the
/// file was opened.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenslice_tensors_next(
    cursor: *mut tenslice_cursor,
    tensor: *mut tenslice_tensor,
    error: *mut tenslice_error,
) -> tenslice_status {
    // SAFETY: as the header asks.
    unsafe {
        answer(error, |details| {
            let (tensors, tensor) = (held_mut::<Tensors<'static>, _>(cursor)?, out(tensor)?);
            let mut next = tensors.blank();
            if !details.of(tensors.read_next(&mut next))? {
                return Ok(END);
            }
            tensor.hold(&next);
            Ok(OK)
        })
    }
}

/// Sets `cursor` before the first attribute of the file, for tenslice_attributes_next.
///
/// Errors: INVALID_HANDLE, INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenslice_file_attributes(
    file: *const tenslice_file,
    cursor: *mut tenslice_cursor,
) -> tenslice_status {
    // SAFETY: as the header asks.
    unsafe {
        plain(|| {
            let file = held::<File<'static>, _>(file)?;
            out(cursor)?.hold(&file.attributes());
            Ok(OK)
        })
    }
}
