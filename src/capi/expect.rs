//! Finds a tensor and compares it with what the program expects, in one call; explains the difference if they disagree.

use core::ffi::c_char;
use core::mem::MaybeUninit;

use super::call::{Details, run, with_details};
use super::component::{tenslice_bytes, typed_bytes};
use super::file::{tenslice_file, tenslice_file_find};
use super::memory::memory;
use super::pointer::{Array, Buffer, Capacity, Handle, In, Length, OptionalOut, Out};
use super::status::{ApiError, FfiResult, OK, tenslice_error, tenslice_status};
use super::tensor::tenslice_tensor;
use super::text::{of_code, write_whole};
use crate::error::ErrorKind;
use crate::{Expected, Order, Tensor};

/// TENSLICE_COLUMN_MAJOR: a bit of the `dtype` argument.
const COLUMN_MAJOR: u32 = 1 << 31;

/// Finds the tensor named `name`, checks its type and its shape, and sets `bytes` to its bytes, without a copy. The
/// tensor must be dense. Its elements must be of type `dtype`, in this machine's byte order, and aligned. Its shape
/// must be the `rank` lengths at `shape`, in the order of the file. With TENSLICE_ANY as `dtype`, any type is accepted,
/// and the bytes are as they are in the file. With TENSLICE_ANY_SHAPE as `rank`, any shape is accepted, and `shape` is
/// not read. Linear in the bytes of the metadata; for many tensors, use tenslice_index_find and tenslice_tensor_expect
/// instead.
///
/// If a shape is given, the elements must be in row-major order or, with TENSLICE_COLUMN_MAJOR combined with `dtype` by
/// `|`, in column-major order. If at most one dimension is longer than 1, both orders are the same. With
/// TENSLICE_ANY_SHAPE and without TENSLICE_COLUMN_MAJOR, either order is accepted; tenslice_tensor_strides returns the
/// strides.
///
/// After an error, tenslice_expect_text writes a message that says what the file has instead.
///
/// Errors: NOT_FOUND, NOT_DENSE, WRONG_TYPE, WRONG_SHAPE, WRONG_ORDER, PARTIAL_ELEMENT, FOREIGN_ENDIAN, MISALIGNED,
/// ENCODED, UNSUPPORTED_ENCODING, IN_SHARD, NOT_IN_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_expect(
    file: Handle<tenslice_file>,
    name: Array<c_char>,
    length: Length,
    dtype: u32,
    shape: Array<u64>,
    rank: Length,
    bytes: Out<tenslice_bytes>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let expected = expected(&[], dtype, shape.unless_any(rank)?)?;
        let mut place = MaybeUninit::uninit();
        // Calls the function that C calls: a second path to the same code would take flash in programs that use only
        // this one.
        let (found, tensor) = Out::inside(&mut place);
        match tenslice_file_find(file, name, length, found, error.again()) {
            OK => expect(details, tensor.get()?, &expected, dtype, &bytes),
            status => Ok(status),
        }
    })
}

/// Checks that a tensor found earlier is what the program expects, and sets `bytes` to its bytes: tenslice_file_expect
/// without the name. Constant cost.
///
/// Errors: the errors of tenslice_file_expect except NOT_FOUND.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_expect(
    tensor: Handle<tenslice_tensor>,
    dtype: u32,
    shape: Array<u64>,
    rank: Length,
    bytes: Out<tenslice_bytes>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let expected = expected(&[], dtype, shape.unless_any(rank)?)?;
        expect(details, tensor.get()?, &expected, dtype, &bytes)
    })
}

/// Writes the message of an error of tenslice_file_expect, tenslice_tensor_expect, tenslice_file_find or
/// tenslice_index_find to `buffer`. It says which tensor was requested and what the file has instead, such as `tensor
/// "layer1.weight": expected f32 [64, 32]; the file has f16 [64, 16]`, or `no tensor "layer1.wieght"; the nearest name
/// is "layer1.weight"`. Pass the arguments of the call that failed, up to `rank`, and the `error` that it set. After a
/// call that takes only a name, pass TENSLICE_ANY, NULL and TENSLICE_ANY_SHAPE. Reads the metadata once more.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_expect_text(
    file: Handle<tenslice_file>,
    name: Array<c_char>,
    length: Length,
    dtype: u32,
    shape: Array<u64>,
    rank: Length,
    error: In<tenslice_error>,
    buffer: Buffer<c_char>,
    capacity: Capacity,
    needed: OptionalOut<usize>,
) -> tenslice_status {
    run(|| {
        let (name, lengths) = (name.text(length)?, shape.unless_any(rank)?);
        let shape_memory =
            lengths.map_or(memory(name.as_ptr(), 0), |lengths| memory(lengths.as_ptr(), lengths.len()));
        let given = [file.memory(), memory(name.as_ptr(), name.len()), shape_memory, error.memory(), needed.memory()];
        let buffer = buffer.with_capacity(capacity, &given)?;
        let expected = expected(name, dtype, lengths)?;
        let sentence = expected.explain(file.get()?, error.read()?.to_rust()?);
        write_whole(buffer, needed.writable()?, |out| sentence.write_to(out))
    })
}

/// Converts the arguments of C to what is expected.
pub(super) fn expected<'a>(name: &'a [u8], dtype: u32, shape: Option<&'a [u64]>) -> FfiResult<Expected<'a>> {
    let mut expected = Expected::with_bytes(name);
    if dtype & COLUMN_MAJOR != 0 {
        expected = expected.order(Order::ColumnMajor);
    }
    let dtype = of_elements(dtype);
    if dtype != 0 {
        expected = expected.dtype(of_code(dtype).ok_or(ApiError::new(ErrorKind::InvalidArgument))?);
    }
    Ok(shape.map_or(expected, |shape| expected.shape(shape)))
}

/// Returns the `dtype` argument without the bit for the order.
pub(super) const fn of_elements(dtype: u32) -> u32 {
    dtype & !COLUMN_MAJOR
}

fn expect(
    details: Details<'_>,
    tensor: &Tensor<'static>,
    expected: &Expected<'_>,
    dtype: u32,
    bytes: &Out<'_, tenslice_bytes>,
) -> FfiResult<tenslice_status> {
    let bytes = bytes.writable()?;
    let mut data = tensor.blank_component();
    details.of(expected.check_into(tensor, &mut data))?;
    bytes.set(details.of(typed_bytes(&data, of_elements(dtype)))?.into());
    Ok(OK)
}
