//! Files.

use core::ffi::{c_char, c_void};

use super::attributes::{next, tenslice_cursor};
use super::call::{run, with_details};
use super::pointer::{Array, Handle, HandleMut, InfoOut, Length, OptionalOut, Out, Scratch, ScratchLength};
use super::source::{tenslice_need, tenslice_source};
use super::status::{NEED, OK, tenslice_error, tenslice_status};
use super::tensor::tenslice_tensor;
use super::text::tenslice_str;
use crate::error::warning::{Warning, Warnings};
use crate::error::{Error, ErrorKind};
use crate::{File, Tensors};

/// An open file: a handle.
#[repr(C)]
pub struct tenslice_file {
    opaque: [u64; 24],
}

/// Information about a file.
#[repr(C)]
pub struct tenslice_file_info {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// The kind of file, a TENSLICE_FORMAT_ code.
    pub format: u32,
    /// Length of the file in bytes.
    pub length: u64,
    /// Number of tensors.
    pub tensor_count: u64,
    /// The version that the file states.
    pub version: tenslice_str,
    /// Warnings about the file and its tensors: TENSLICE_WARNING_ bits.
    pub warnings: u32,
    /// Reserved, 0.
    pub reserved: u32,
}

/// Opens the file in the `length` bytes at `data`. The bytes must stay in place while `file` or anything made from it
/// is used. Checks the whole structure in one pass over the metadata; reads no tensor data. The bytes may have any
/// alignment, but a call that returns elements in place returns MISALIGNED if the elements are not aligned.
///
/// Errors: the first rule that the file breaks.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_open(
    file: Out<tenslice_file>,
    data: Array<'static, c_void>,
    length: Length,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (file, bytes) = (file.writable()?, data.with_length_beside(length, file.memory())?);
        file.store_found::<File<'static>>(details, &File::open(bytes))?;
        Ok(OK)
    })
}

/// Opens a file that is only partly in memory. If the call returns TENSLICE_NEED, fetch the range in `need`, add it to
/// the source in one piece with tenslice_source_add, and call again. `file` holds a pointer to `source`.
///
/// Errors: the first rule that the file breaks.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_open_source(
    file: Out<tenslice_file>,
    source: HandleMut<'static, tenslice_source>,
    need: Out<tenslice_need>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (file, need) = (file.writable()?, need.writable()?);
        let source = source.get()?;
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
        file.store_found(details, &found)?;
        Ok(OK)
    })
}

/// Sets `bound` to the same file, whose bytes are looked for in `source`: a copy of the source that `file` was opened
/// from, to which the program has added more ranges. The source must stay in place, unchanged, while `bound` or anything
/// made from it is used, and so must whatever `file` was opened from. `bound` may be the same handle as `file`. Constant
/// cost: nothing is parsed again, except the tree of a PyTorch stream whose numbers have several widths.
///
/// Errors: INVALID_ARGUMENT also if the source describes a file of another length.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_with_source(
    file: Handle<tenslice_file>,
    source: Handle<'static, tenslice_source>,
    bound: Out<tenslice_file>,
) -> tenslice_status {
    run(|| {
        let file = file.get()?.with_source(source.get()?)?;
        bound.writable()?.store::<File<'static>>(&file); // may be the old handle, which has already been read
        Ok(OK)
    })
}

/// Fills `info` with information about a file.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_get_info(
    file: Handle<tenslice_file>,
    info: InfoOut<tenslice_file_info>,
) -> tenslice_status {
    run(|| {
        let file = file.get()?;
        info.writable()?.fill(tenslice_file_info {
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

/// Sets `index` to the position, in the order of the file, of the first tensor that `warning` is about. `warning` is
/// one TENSLICE_WARNING_ bit.
///
/// Errors: NOT_FOUND if the file does not have the warning, or if the warning is not recorded with a tensor (only bits
/// 0 to 5 are).
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_warning_tensor(
    file: Handle<tenslice_file>,
    warning: u32,
    index: Out<u64>,
) -> tenslice_status {
    run(|| {
        let warnings: Warnings = file.get()?.warnings();
        let index = index.writable()?;
        let warning = Warning::ALL.iter().find(|known| known.bit() == warning);
        let first = warning.and_then(|warning| warnings.first_tensor(*warning));
        index.set(first.ok_or(Error::new(ErrorKind::NotFound))?);
        Ok(OK)
    })
}

/// Sets `count` to the number of elements of `scratch` that are always enough for tenslice_file_check; 0 if there is
/// nothing left to compare. Linear in the bytes of the metadata.
///
/// Each item that is left takes one element: names of tensors, roles of one tensor, keys of a GGUF file, byte ranges of
/// safetensors data, entries of an NPZ archive. In zTensor 2 each component and each shard takes two elements. The
/// kinds of items are compared one after the other, so the kind with the most items determines `count`.
///
/// Errors: TOO_MANY if this machine cannot address that many elements.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_check_length(file: Handle<tenslice_file>, count: Out<usize>) -> tenslice_status {
    run(|| {
        let (file, count) = (file.get()?, count.writable()?);
        count.set(file.check_length().ok_or(Error::new(ErrorKind::TooMany))?);
        Ok(OK)
    })
}

/// Compares exactly the items that opening could not compare without memory: names (TENSLICE_WARNING_NAMES_UNCHECKED),
/// the roles within a tensor (TENSLICE_WARNING_ROLES_UNCHECKED), keys (TENSLICE_WARNING_KEYS_UNCHECKED), and the byte
/// ranges of components, entries of an archive, and shards (TENSLICE_WARNING_EXTENTS_UNCHECKED). Sets `warnings` (may
/// be NULL) to the warnings that remain.
///
/// `scratch` is an array of `count` elements. With the count of tenslice_file_check_length, the items are sorted and
/// read once. With fewer elements, the items are compared in parts that fit, and read once for each part, at most eight
/// times. If the file needs more than eight times as many elements, the error is OUT_OF_SCRATCH. In zTensor 2, shards
/// need two elements each, all at once; libraries for 32-bit bare-metal targets need none.
///
/// Errors: REPEATED_NAME if the format forbids repeated names, REPEATED_KEY for a role or a key, OVERLAP; in zTensor 2
/// UNKNOWN_SHARD and OUT_OF_SHARD; OUT_OF_SCRATCH, but never with the count of tenslice_file_check_length.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_check(
    file: Handle<tenslice_file>,
    scratch: Scratch<u32>,
    count: ScratchLength,
    warnings: OptionalOut<u32>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let scratch = scratch.with_length(count, &[file.memory(), warnings.memory()])?;
        let (file, warnings) = (file.get()?, warnings.writable()?);
        let found = details.of(file.check(scratch))?;
        if let Some(warnings) = warnings {
            warnings.set(found.bits());
        }
        Ok(OK)
    })
}

/// Finds the first tensor named `name`, and sets `tensor` to it. Linear in the bytes of the metadata.
///
/// Errors: NOT_FOUND.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_find(
    file: Handle<tenslice_file>,
    name: Array<c_char>,
    length: Length,
    tensor: Out<tenslice_tensor>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (name, file, tensor) = (name.text(length)?, file.get()?, tensor.writable()?);
        let mut found = file.blank_tensor();
        details.of(file.find_into(name, &mut found))?;
        tensor.store(&found);
        Ok(OK)
    })
}

/// Sets `cursor` before the first tensor, for tenslice_tensors_next.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_tensors(
    file: Handle<tenslice_file>,
    cursor: Out<tenslice_cursor>,
) -> tenslice_status {
    run(|| {
        let file = file.get()?;
        cursor.writable()?.store(&file.tensors());
        Ok(OK)
    })
}

/// Reads the next tensor, in the order of the file; returns TENSLICE_END after the last.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensors_next(
    cursor: HandleMut<tenslice_cursor>,
    tensor: Out<tenslice_tensor>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| next(details, cursor, &tensor, Tensors::blank, Tensors::read_next))
}

/// Sets `cursor` before the first attribute of the file, for tenslice_attributes_next.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_attributes(
    file: Handle<tenslice_file>,
    cursor: Out<tenslice_cursor>,
) -> tenslice_status {
    run(|| {
        let file = file.get()?;
        cursor.writable()?.store(&file.attributes());
        Ok(OK)
    })
}
