//! Gets the numbers of a tensor by its name, compared with what the program expects: in place, or converted to `float`.
//! Absent from libraries built without the feature `dequantize`.

use core::ffi::c_char;

use super::call::{Details, with_details};
use super::file::tenslice_file;
use super::get::{expected_of, memory_of, tenslice_expected};
use super::index::tenslice_index;
use super::memory::Memory;
use super::model::tenslice_model;
use super::options::{tenslice_read_options, tenslice_requirements};
use super::pointer::{
    Array, Buffer, Capacity, Chosen, Handle, InfoOut, Length, OptionalIn, OptionalOut, Out, buffers,
};
use super::status::{FfiResult, OK, tenslice_error, tenslice_status};
use super::tensor::tenslice_tensor;
use crate::error::Result;
use crate::{Component, Expected, Model, Tensor};

/// Numbers in place or converted: `length` numbers at `data`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_floats {
    /// The first number.
    pub data: *const f32,
    /// Number of numbers.
    pub length: usize,
}

/// Finds the tensor named `name`, compares it with what is `expected`, and sets `numbers` to its elements as floats,
/// whatever their type, layout and encoding. If they are stored as floats, in this machine's byte order and aligned,
/// `numbers` is in the file. Otherwise they are converted into the `capacity` floats at `room`, as by
/// tenslice_tensor_read_f32_into. If `expected` states a type, the tensor must be stored in it.
///
/// Sets `needed` (may be NULL) to the memory that the call needs, also if the call fails, unless the tensor is not as
/// expected: first call it with NULL and 0 as `room`, then with `needed.output` floats (0 if the elements are in place)
/// and with `needed.scratch` bytes of scratch memory (0 unless the tensor is encoded or sparse; UINT64_MAX if the length
/// is unknown or the call will fail).
///
/// Linear in the bytes of the metadata, and in the elements if they are converted. After an error,
/// tenslice_file_get_text writes a message that says what the file has instead.
///
/// Errors: NOT_FOUND, WRONG_SHAPE, WRONG_TYPE, WRONG_ORDER, TOO_SMALL, OUT_OF_SCRATCH, NOT_IN_MEMORY, and the other
/// errors of tenslice_tensor_read_f32_into.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_get_f32(
    file: Handle<tenslice_file>,
    name: Array<c_char>,
    length: Length,
    expected: OptionalIn<tenslice_expected>,
    room: Buffer<f32>,
    capacity: Capacity,
    options: OptionalIn<tenslice_read_options>,
    numbers: Out<tenslice_floats>,
    needed: InfoOut<tenslice_requirements>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (name, outputs) = (name.text(length)?, (&numbers, &needed));
        get_f32(details, file.memory(), (name, &expected), (room, capacity, options), outputs, |expected| {
            let mut tensor = file.get()?.blank_tensor();
            details.of(file.get()?.find_into(name, &mut tensor))?;
            details.of(checked(tensor, expected))
        })
    })
}

/// Gets the numbers of a tensor as tenslice_file_get_f32 does, from an index. Constant time on average, and linear in
/// the elements if they are converted. After an error, tenslice_file_get_text writes the message.
///
/// Errors: the errors of tenslice_file_get_f32, among them NOT_IN_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_index_get_f32(
    index: Handle<tenslice_index>,
    name: Array<c_char>,
    length: Length,
    expected: OptionalIn<tenslice_expected>,
    room: Buffer<f32>,
    capacity: Capacity,
    options: OptionalIn<tenslice_read_options>,
    numbers: Out<tenslice_floats>,
    needed: InfoOut<tenslice_requirements>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (name, outputs) = (name.text(length)?, (&numbers, &needed));
        get_f32(details, index.memory(), (name, &expected), (room, capacity, options), outputs, |expected| {
            details.of(index.get()?.find_bytes(name).and_then(|tensor| checked(tensor, expected)))
        })
    })
}

/// Gets the numbers of a tensor as tenslice_file_get_f32 does, from a model; also if they are in a shard, unless the
/// tensor has several components. Constant time on average, and linear in the elements if they are converted. After an
/// error, tenslice_model_get_text writes the message.
///
/// Errors: the errors of tenslice_model_find and of tenslice_file_get_f32; IN_SHARD if the shard is missing, or if one
/// of several components is in a shard; OUT_OF_FILE if the shard is too short; NOT_IN_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_model_get_f32(
    model: Handle<tenslice_model>,
    name: Array<c_char>,
    length: Length,
    expected: OptionalIn<tenslice_expected>,
    room: Buffer<f32>,
    capacity: Capacity,
    options: OptionalIn<tenslice_read_options>,
    numbers: Out<tenslice_floats>,
    needed: InfoOut<tenslice_requirements>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (name, outputs) = (name.text(length)?, (&numbers, &needed));
        get_f32(details, model.memory(), (name, &expected), (room, capacity, options), outputs, |expected| {
            details.of(model.get::<Model<'static, 'static>>()?.checked(expected))
        })
    })
}

/// Gets the numbers of a tensor found earlier: tenslice_file_get_f32 without the name.
///
/// Errors: the errors of tenslice_file_get_f32 except NOT_FOUND, among them NOT_IN_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_get_f32(
    tensor: Handle<tenslice_tensor>,
    expected: OptionalIn<tenslice_expected>,
    room: Buffer<f32>,
    capacity: Capacity,
    options: OptionalIn<tenslice_read_options>,
    numbers: Out<tenslice_floats>,
    needed: InfoOut<tenslice_requirements>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let outputs = (&numbers, &needed);
        get_f32(details, tensor.memory(), (&[], &expected), (room, capacity, options), outputs, |expected| {
            details.of(checked(*tensor.get()?, expected)) // a copy: the decoder may use the handle
        })
    })
}

/// A tensor that is as expected, and the component that holds its elements, if it is a single one.
type Checked = (Tensor<'static>, Option<Component<'static>>);

fn checked(tensor: Tensor<'static>, expected: &Expected<'_>) -> Result<Checked> {
    tensor.check(expected).map(|()| (tensor, tensor.elements_component()))
}

/// Gets the numbers of the tensor that `find` returns. `from` is the memory of the handle that it reads.
fn get_f32<'a>(
    details: Details<'_>,
    from: Memory,
    (name, given): (&[u8], &OptionalIn<'_, tenslice_expected>),
    (room, capacity, options): (Buffer<'a, f32>, Capacity<'_>, OptionalIn<'a, tenslice_read_options>),
    (numbers, needed): (&Out<'_, tenslice_floats>, &InfoOut<'_, tenslice_requirements>),
    find: impl FnOnce(&Expected<'_>) -> FfiResult<Checked>,
) -> FfiResult<tenslice_status> {
    let expected = expected_of(name, given)?;
    let [name, given, shape] = memory_of(&expected, given);
    let others = [from, name, given, shape, numbers.memory(), needed.memory()];
    let mut decoder = Chosen::default();
    let (room, scratch) = buffers((room, capacity), options, &others, &mut decoder)?;
    let (numbers, needed) = (numbers.writable()?, needed.writable_or_null()?);
    let (tensor, elements) = find(&expected)?;
    if let Some(needed) = needed {
        needed.fill(tensor.get_f32_requirements(elements.as_ref()).into());
    }
    let found = details.of(tensor.f32_of(elements, &mut decoder, room, scratch))?;
    numbers.set(tenslice_floats { data: found.as_ptr(), length: found.len() });
    Ok(OK)
}
