//! Specific to GGUF files. Absent from libraries built without that format.

use core::ffi::c_char;
use core::fmt::Write;

use super::attributes::tenslice_cursor;
use super::file::tenslice_file;
use super::pointer::{Array, Buffer, Capacity, Handle, HandleMut, InfoOut, Length, OptionalOut, Out};
use super::status::{ApiError, FfiResult, OK, answer, plain, tenslice_error, tenslice_status};
use super::tensor::tenslice_tensor;
use super::text::{tenslice_str, write_whole};
use crate::error::ErrorKind;
use crate::gguf::{GgufFile, Infos, PartName, Split, check_parts};

/// What is particular to a GGUF file.
#[repr(C)]
pub struct tenslice_gguf_file_info {
    /// Its size, set by the caller.
    pub struct_size: u32,
    /// The byte order of its numbers, a TENSLICE_BYTE_ORDER_ code.
    pub byte_order: u32,
    /// The alignment of its tensors in bytes.
    pub alignment: u32,
    /// Reserved, 0.
    pub reserved: u32,
    /// Where its data begins in the file: the offsets of tensors are relative to that.
    pub data_offset: u64,
    /// As a part of a model: its index, counted from 0, the number of parts, and the number of tensors in all parts. All
    /// are 0 where it is a model by itself.
    pub part_index: u64,
    /// See part_index.
    pub part_count: u64,
    /// See part_index.
    pub part_tensors: u64,
}

/// A tensor of a GGUF file as ggml sees it.
#[repr(C)]
pub struct tenslice_gguf_tensor_info {
    /// Its size, set by the caller.
    pub struct_size: u32,
    /// The number of its type in ggml, such as 12 for Q4_K.
    pub ggml_type: u32,
    /// Its name.
    pub name: tenslice_str,
    /// The lengths of its dimensions, the innermost first: the reverse of tenslice_tensor_shape. Those that it does not
    /// have are 1.
    pub ne: [u64; 8],
    /// Where it begins, relative to the data of the file.
    pub offset: u64,
    /// How many dimensions it has.
    pub rank: u32,
    /// Reserved, 0.
    pub reserved: u32,
}

fn of(file: Handle<'_, tenslice_file>) -> FfiResult<GgufFile<'static>> {
    file.get()?.as_gguf().ok_or(ApiError::new(ErrorKind::InvalidArgument))
}

/// Fills `info`. Linear in the attributes of the file.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_gguf_get_info(
    file: Handle<tenslice_file>,
    info: InfoOut<tenslice_gguf_file_info>,
) -> tenslice_status {
    plain(|| {
        let gguf = of(file)?;
        let split = gguf.split().unwrap_or(Split { index: 0, count: 0, tensors: 0 });
        info.writable()?.fill(tenslice_gguf_file_info {
            struct_size: 0,
            byte_order: u32::from(gguf.byte_order().code()),
            alignment: gguf.alignment(),
            reserved: 0,
            data_offset: gguf.data_offset(),
            part_index: split.index,
            part_count: split.count,
            part_tensors: split.tensors,
        });
        Ok(OK)
    })
}

/// Sets `cursor` before the first tensor of a GGUF file, for tenslice_gguf_infos_next.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_gguf_infos(file: Handle<tenslice_file>, cursor: Out<tenslice_cursor>) -> tenslice_status {
    plain(|| {
        let gguf = of(file)?;
        cursor.writable()?.store(&gguf.infos());
        Ok(OK)
    })
}

/// Reads the next tensor as ggml sees it, in the order of the file; returns TENSLICE_END after the last.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_gguf_infos_next(
    cursor: HandleMut<tenslice_cursor>,
    info: InfoOut<tenslice_gguf_tensor_info>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let infos = cursor.get_mut::<Infos<'static>>()?;
        let info = info.writable()?;
        let Some(next) = infos.next() else { return details.end(infos.error()) };
        info.fill(tenslice_gguf_tensor_info {
            struct_size: 0,
            ggml_type: next.ggml_type,
            name: tenslice_str::of_bytes(next.name.as_bytes()),
            ne: next.ne,
            offset: next.offset,
            rank: next.rank,
            reserved: 0,
        });
        Ok(OK)
    })
}

/// Checks that the `count` files at `files` are the parts of one model, all of them and in their order. `failed` (may
/// be NULL) is set to the index of the file that is wrong. A single file that is no part is a model, too. Whether a
/// name appears in two parts is not checked.
///
/// Errors: COUNTS_DIFFER, at the pair of the number that does, or MISSING_KEY for a file that is no part of a model;
/// INVALID_ARGUMENT, also without any file.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_gguf_check_parts(
    files: Array<tenslice_file>,
    count: Length,
    failed: OptionalOut<usize>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let failed = failed.writable()?;
        let handles = files.handles(count)?;
        handles.clone().try_for_each(|file| of(file).map(drop))?;
        let result = check_parts(handles.filter_map(|file| of(file).ok()));
        if let (Err((index, _)), Some(failed)) = (&result, failed) {
            failed.set(*index);
        }
        details.of(result.map_err(|(_, error)| error))?;
        Ok(OK)
    })
}

/// Writes the name of a part of a model to `buffer`: of part `index`, counted from 0, of the model of which `name` is
/// the name of another part, such as "model-00001-of-00003.gguf".
///
/// Errors: NOT_FOUND where `name` is no such name or has no part of that index.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_gguf_part_name(
    name: Array<c_char>,
    length: Length,
    index: u64,
    buffer: Buffer<c_char>,
    capacity: Capacity,
    needed: OptionalOut<usize>,
) -> tenslice_status {
    plain(|| {
        let others = &[name.memory(length), needed.memory()];
        let buffer = buffer.with_capacity(capacity, others)?;
        let name = core::str::from_utf8(name.text(length)?).ok().and_then(PartName::parse);
        let name = name.filter(|name| index < name.count).ok_or(ApiError::new(ErrorKind::NotFound))?;
        let name = PartName { index, ..name };
        write_whole(buffer, needed.writable()?, |out| {
            let _ = write!(out, "{name}"); // cannot fail: `Writer` does not
        })
    })
}

/// Sets `block_type` to the number in ggml of the type of a quantized tensor's blocks, such as 12 for Q4_K, and
/// `elements` and `bytes` to how many of these a block has. Each may be NULL.
///
/// Errors: NOT_FOUND for a tensor that is not in such blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_block(
    tensor: Handle<tenslice_tensor>,
    block_type: OptionalOut<u32>,
    elements: OptionalOut<u64>,
    bytes: OptionalOut<u64>,
) -> tenslice_status {
    plain(|| {
        let block = tensor.get()?.block_type().ok_or(ApiError::new(ErrorKind::NotFound))?;
        let (block_type, elements, bytes) = (block_type.writable()?, elements.writable()?, bytes.writable()?);
        if let Some(block_type) = block_type {
            block_type.set(block.code().into());
        }
        if let Some(elements) = elements {
            elements.set(block.elements());
        }
        if let Some(bytes) = bytes {
            bytes.set(block.bytes());
        }
        Ok(OK)
    })
}
