//! Gets a tensor by its name, compared with what the program expects, in place; explains the difference if they
//! disagree.

use core::ffi::c_char;
use core::mem::MaybeUninit;

use super::call::{Details, run, with_details};
use super::component::tenslice_bytes;
use super::file::{tenslice_file, tenslice_file_find};
use super::index::tenslice_index;
use super::memory::{Memory, memory};
use super::pointer::{Array, Buffer, Capacity, Handle, In, Length, OptionalIn, OptionalOut, Out};
use super::status::{ApiError, FfiResult, OK, tenslice_error, tenslice_status};
use super::tensor::tenslice_tensor;
use super::text::{of_code, write_whole};
#[cfg(feature = "gguf")]
use crate::blocks::BlockType;
use crate::error::ErrorKind;
use crate::{Expected, Order, Tensor};

/// TENSLICE_COLUMN_MAJOR: a bit of the `dtype` of a tenslice_expected.
const COLUMN_MAJOR: u32 = 1 << 31;

/// The first of the TENSLICE_GGML_ codes: ggml's number 0.
#[cfg(feature = "gguf")]
pub(super) const FIRST_BLOCK: u32 = 1 << 16;

/// The tensor that a program expects: its type and its shape. A NULL pointer stands for any dense tensor.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_expected {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// The type in which the elements are stored: a dtype, a block type (TENSLICE_GGML_Q4_0), or TENSLICE_ANY. If a
    /// shape is expected, the elements must be in row-major order or, with TENSLICE_COLUMN_MAJOR combined by `|`, in
    /// column-major order. If at most one dimension is longer than 1, both orders are the same. With TENSLICE_ANY_SHAPE
    /// and without TENSLICE_COLUMN_MAJOR, either order is accepted; tenslice_tensor_strides returns the strides.
    pub dtype: u32,
    /// Number of dimensions; 0 for a scalar; TENSLICE_ANY_SHAPE for any shape.
    pub rank: usize,
    /// The `rank` lengths, in the order of the file. Not read if any shape is accepted.
    pub shape: *const u64,
}

/// Finds the tensor named `name`, compares it with what is `expected`, and sets `bytes` to its bytes, without a copy:
/// the elements of a dense tensor, in this machine's byte order, and aligned; or quantized blocks, little-endian, and
/// aligned to 4 bytes, if a block type is expected. With TENSLICE_ANY as dtype, the bytes are as they are in the file.
/// Linear in the bytes of the metadata; for many tensors, use tenslice_index_get.
///
/// The shape is compared first. A program that accepts several types gets WRONG_SHAPE for each of them.
///
/// After an error, tenslice_file_get_text writes a message that says what the file has instead.
///
/// Errors: NOT_FOUND, WRONG_SHAPE, NOT_DENSE, WRONG_TYPE, WRONG_ORDER, PARTIAL_ELEMENT, FOREIGN_ENDIAN, MISALIGNED,
/// ENCODED, UNSUPPORTED_ENCODING, IN_SHARD, NOT_IN_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_get(
    file: Handle<tenslice_file>,
    name: Array<c_char>,
    length: Length,
    expected: OptionalIn<tenslice_expected>,
    bytes: Out<tenslice_bytes>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let expected = expected_of(&[], &expected)?;
        let mut place = MaybeUninit::uninit();
        // Calls the function that C calls: a second path to the same code would take flash in programs that use only
        // this one.
        let (found, tensor) = Out::inside(&mut place);
        match tenslice_file_find(file, name, length, found, error.again()) {
            OK => get(details, tensor.get()?, &expected, &bytes),
            status => Ok(status),
        }
    })
}

/// Gets a tensor as tenslice_file_get does, from an index. Constant time on average; logarithmic if the names were
/// crafted to collide. After an error, tenslice_file_get_text writes the message.
///
/// Errors: the errors of tenslice_file_get, among them NOT_IN_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_index_get(
    index: Handle<tenslice_index>,
    name: Array<c_char>,
    length: Length,
    expected: OptionalIn<tenslice_expected>,
    bytes: Out<tenslice_bytes>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (index, expected) = (index.get()?, expected_of(&[], &expected)?);
        let tensor = details.of(index.find_bytes(name.text(length)?))?;
        get(details, &tensor, &expected, &bytes)
    })
}

/// Compares a tensor found earlier with what is expected, and sets `bytes` to its bytes: tenslice_file_get without the
/// name. Constant cost.
///
/// Errors: the errors of tenslice_file_get except NOT_FOUND, among them NOT_IN_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_get(
    tensor: Handle<tenslice_tensor>,
    expected: OptionalIn<tenslice_expected>,
    bytes: Out<tenslice_bytes>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let expected = expected_of(&[], &expected)?;
        get(details, tensor.get()?, &expected, &bytes)
    })
}

/// Writes the message of an error to `buffer`: of a call that gets or finds a tensor of this file by its name, or that
/// reads the tensor found. It says which tensor was requested and what the file has instead, such as `tensor
/// "layer1.weight": expected f32 [64, 32]; the file has f16 [64, 16]`, or `no tensor "layer1.wieght"; the nearest name
/// is "layer1.weight"`. Pass the arguments of the call that failed, and the `error` that it set; NULL as `expected`
/// after a call that takes only a name. Reads the metadata once more.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_get_text(
    file: Handle<tenslice_file>,
    name: Array<c_char>,
    length: Length,
    expected: OptionalIn<tenslice_expected>,
    error: In<tenslice_error>,
    buffer: Buffer<c_char>,
    capacity: Capacity,
    needed: OptionalOut<usize>,
) -> tenslice_status {
    run(|| {
        let wanted = expected_of(name.text(length)?, &expected)?;
        let [name, expected, shape] = memory_of(&wanted, &expected);
        let given = [file.memory(), name, expected, shape, error.memory(), needed.memory()];
        let buffer = buffer.with_capacity(capacity, &given)?;
        let sentence = wanted.explain(file.get()?, error.read()?.to_rust()?);
        write_whole(buffer, needed.writable()?, |out| sentence.write_to(out))
    })
}

/// Converts what C expects of the tensor named `name`.
pub(super) fn expected_of<'a>(name: &'a [u8], given: &OptionalIn<'a, tenslice_expected>) -> FfiResult<Expected<'a>> {
    let mut expected = Expected::with_bytes(name);
    let Some((code, shape)) = given.fields()? else { return Ok(expected) };
    if code & COLUMN_MAJOR != 0 {
        expected = expected.order(Order::ColumnMajor);
    }
    let code = code & !COLUMN_MAJOR;
    if code != 0 {
        expected = with_type(expected, code).ok_or(ApiError::new(ErrorKind::InvalidArgument))?;
    }
    Ok(shape.map_or(expected, |shape| expected.shape(shape)))
}

/// Expects elements or blocks with this code; `None` if it is the code of neither.
fn with_type(expected: Expected<'_>, code: u32) -> Option<Expected<'_>> {
    #[cfg(feature = "gguf")]
    if let Some(block) = code.checked_sub(FIRST_BLOCK) {
        return BlockType::from_ggml(block).map(|block| expected.blocks(block));
    }
    of_code(code).map(|dtype| expected.dtype(dtype))
}

/// Returns the memory that `expected` was made from. A buffer of the same call must not overlap it.
pub(super) fn memory_of(expected: &Expected<'_>, given: &OptionalIn<'_, tenslice_expected>) -> [Memory; 3] {
    let of = |shape: &[u64]| memory(shape.as_ptr(), shape.len());
    let (name, given) = (expected.name(), given.memory());
    [memory(name.as_ptr(), name.len()), given, expected.lengths().map_or(given, of)]
}

fn get(
    details: Details<'_>,
    tensor: &Tensor<'static>,
    expected: &Expected<'_>,
    bytes: &Out<'_, tenslice_bytes>,
) -> FfiResult<tenslice_status> {
    let bytes = bytes.writable()?;
    let mut data = tensor.blank_component();
    details.of(expected.check_into(tensor, &mut data))?;
    bytes.set(details.of(expected.bytes_of(&data))?.into());
    Ok(OK)
}
