//! Functions for GGUF files. Absent from libraries built without that format.

use core::ffi::c_char;
use core::fmt::Write;

use super::attributes::tenslice_cursor;
use super::call::{run, with_details};
use super::file::tenslice_file;
use super::get::FIRST_BLOCK;
use super::memory::memory;
use super::pointer::{Array, Buffer, Capacity, Handle, HandleMut, InfoOut, Length, OptionalOut, Out};
use super::status::{ApiError, FfiResult, OK, tenslice_error, tenslice_status};
use super::tensor::tenslice_tensor;
use super::text::{tenslice_str, write_whole};
use crate::Split;
use crate::error::ErrorKind;
use crate::gguf::{GgufFile, Infos, PartName};

/// Information about a GGUF file.
#[repr(C)]
pub struct tenslice_gguf_file_info {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// The byte order of the numbers in the file, a TENSLICE_BYTE_ORDER_ code.
    pub byte_order: u32,
    /// The alignment of the tensors in bytes.
    pub alignment: u32,
    /// Reserved, 0.
    pub reserved: u32,
    /// Offset in the file at which the data begins; the offsets of tensors are relative to it.
    pub data_offset: u64,
    /// If the file is a part of a model: the index of the part, from 0. `part_index`, `part_count` and `part_tensors`
    /// are 0 if the file is a complete model.
    pub part_index: u64,
    /// The number of parts of the model.
    pub part_count: u64,
    /// The number of tensors in all parts; 0 if the file does not state it.
    pub part_tensors: u64,
}

/// A tensor of a GGUF file as ggml sees it.
#[repr(C)]
pub struct tenslice_gguf_tensor_info {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// The number of the type in ggml, such as 12 for Q4_K.
    pub ggml_type: u32,
    /// The name.
    pub name: tenslice_str,
    /// The lengths of the dimensions, the innermost first: the reverse of tenslice_tensor_shape. Lengths past `rank`
    /// are 1.
    pub ne: [u64; 8],
    /// Offset of the tensor, relative to the data of the file.
    pub offset: u64,
    /// Number of dimensions.
    pub rank: u32,
    /// Reserved, 0.
    pub reserved: u32,
}

fn of(file: Handle<'_, tenslice_file>) -> FfiResult<GgufFile<'static>> {
    file.get()?.as_gguf().ok_or(ApiError::new(ErrorKind::InvalidArgument))
}

/// Fills `info` with information about a GGUF file. Linear in the attributes of the file.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_gguf_get_info(
    file: Handle<tenslice_file>,
    info: InfoOut<tenslice_gguf_file_info>,
) -> tenslice_status {
    run(|| {
        let gguf = of(file)?;
        let split = gguf.split().unwrap_or(Split { index: 0, count: 0, tensors: None });
        info.writable()?.fill(tenslice_gguf_file_info {
            struct_size: 0,
            byte_order: u32::from(gguf.byte_order().code()),
            alignment: gguf.alignment(),
            reserved: 0,
            data_offset: gguf.data_offset(),
            part_index: split.index,
            part_count: split.count,
            part_tensors: split.tensors.unwrap_or(0),
        });
        Ok(OK)
    })
}

/// Sets `cursor` before the first tensor of a GGUF file, for tenslice_gguf_infos_next.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_gguf_infos(file: Handle<tenslice_file>, cursor: Out<tenslice_cursor>) -> tenslice_status {
    run(|| {
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
    with_details(&error, |details| {
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

/// Writes the file name of part `index`, counted from 0, of a model to `buffer`. `name` is the file name of any part of
/// the model, such as "model-00001-of-00003.gguf".
///
/// Errors: NOT_FOUND if `name` is not such a name, or the model has no part `index`.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_gguf_part_name(
    name: Array<c_char>,
    length: Length,
    index: u64,
    buffer: Buffer<c_char>,
    capacity: Capacity,
    needed: OptionalOut<usize>,
) -> tenslice_status {
    run(|| {
        let name = name.text(length)?;
        let buffer = buffer.with_capacity(capacity, &[memory(name.as_ptr(), name.len()), needed.memory()])?;
        let name = core::str::from_utf8(name).ok().and_then(PartName::parse);
        let name = name.filter(|name| index < name.count).ok_or(ApiError::new(ErrorKind::NotFound))?;
        let name = PartName { index, ..name };
        write_whole(buffer, needed.writable()?, |out| {
            let _ = write!(out, "{name}"); // cannot fail, since `Writer` cannot
        })
    })
}

/// Sets `block_type` to the block type of a quantized tensor, a TENSLICE_GGML_ code, and `elements` and `bytes` to the
/// number of elements and of bytes in a block. Each may be NULL.
///
/// Errors: NOT_FOUND if the tensor is not stored in such blocks.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_block(
    tensor: Handle<tenslice_tensor>,
    block_type: OptionalOut<u32>,
    elements: OptionalOut<u64>,
    bytes: OptionalOut<u64>,
) -> tenslice_status {
    run(|| {
        let block = tensor.get()?.block_type().ok_or(ApiError::new(ErrorKind::NotFound))?;
        let (block_type, elements, bytes) = (block_type.writable()?, elements.writable()?, bytes.writable()?);
        if let Some(block_type) = block_type {
            block_type.set(FIRST_BLOCK | u32::from(block.code()));
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
