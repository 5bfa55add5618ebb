//! Tensors.

use core::ffi::c_char;

use super::attributes::{next, tenslice_cursor};
use super::call::{run, with_details};
use super::component::{tenslice_bytes, tenslice_component, typed_bytes};
use super::memory::Memory;
use super::pointer::{Array, Buffer, Capacity, Handle, HandleMut, InfoOut, Length, OptionalOut, Out};
use super::source::tenslice_source;
use super::status::{ApiError, FfiResult, OK, tenslice_error, tenslice_status};
use super::text::{tenslice_str, to_code};
use crate::error::ErrorKind;
use crate::{Components, Shape, Tensor};

/// A tensor of an open file: a handle.
#[repr(C)]
pub struct tenslice_tensor {
    opaque: [u64; 26],
}

/// Information about a tensor.
#[repr(C)]
pub struct tenslice_tensor_info {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// The dtype of the elements; 0 if it is unknown.
    pub dtype: u32,
    /// The name.
    pub name: tenslice_str,
    /// How the components represent the tensor, a TENSLICE_LAYOUT_ code.
    pub layout: u32,
    /// The order of the elements of a dense array, a TENSLICE_ORDER_ code.
    pub order: u32,
    /// The name of the layout, as the file spells it.
    pub layout_name: tenslice_str,
    /// Index among the tensors of the file, from 0.
    pub index: u64,
    /// The product of the dimensions; UINT64_MAX if it exceeds 64 bits, which is possible for sparse tensors.
    pub elements: u64,
    /// Number of dimensions; 0 for a scalar.
    pub rank: u32,
    /// Warnings about the tensor: TENSLICE_WARNING_ bits.
    pub warnings: u32,
}

/// Fills `info` with information about a tensor.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_get_info(
    tensor: Handle<tenslice_tensor>,
    info: InfoOut<tenslice_tensor_info>,
) -> tenslice_status {
    run(|| {
        let tensor = tensor.get()?;
        let shape = tensor.shape();
        info.writable()?.fill(tenslice_tensor_info {
            struct_size: 0,
            dtype: to_code(tensor.dtype()),
            name: tensor.name().into(),
            layout: u32::from(tensor.layout().code()),
            order: u32::from(tensor.order().code()),
            layout_name: tenslice_str::of(Some(tensor.layout_name_text())),
            index: tensor.index(),
            elements: shape.element_count().unwrap_or(u64::MAX),
            rank: shape.rank(),
            warnings: tensor.warnings().bits(),
        });
        Ok(OK)
    })
}

/// Returns why the elements of a tensor cannot be read, if it has TENSLICE_WARNING_UNREADABLE_TENSOR: its type is
/// unknown, its header is invalid, or its values are not in the file. Otherwise returns TENSLICE_OK. Each call that
/// reads the elements returns the same error; tenslice_component_stored returns the stored bytes.
///
/// Errors: UNKNOWN_DTYPE, NO_VALUES; for an array of an NPZ archive the errors of an invalid NPY file.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_problem(
    tensor: Handle<tenslice_tensor>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| details.of(tensor.get()?.problem().map_or(Ok(OK), Err)))
}

/// Sets `bound` to the same tensor, whose data is looked for in `source`: a copy of the source that the file was opened
/// from, to which the program has added the data. The source must stay in place, unchanged, while `bound` is used, and
/// so must whatever the file was opened from. `bound` may be the same handle as `tensor`. Constant cost: nothing is
/// parsed again, except the tree of a PyTorch stream whose numbers have several widths. All calls that read elements then
/// find the data, whatever the layout.
///
/// Errors: INVALID_ARGUMENT also if the source describes a file of another length.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_with_source(
    tensor: Handle<tenslice_tensor>,
    source: Handle<'static, tenslice_source>,
    bound: Out<tenslice_tensor>,
) -> tenslice_status {
    run(|| {
        let tensor = tensor.get()?.with_source(source.get()?)?;
        bound.writable()?.store::<Tensor<'static>>(&tensor); // may be the old handle, which has already been read
        Ok(OK)
    })
}

/// Returns the name of a tensor; empty for an invalid handle.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_name(tensor: Handle<tenslice_tensor>) -> tenslice_str {
    tensor.get().map_or(tenslice_str::NONE, |tensor| tensor.name().into())
}

/// Returns the dtype of the elements of a tensor; 0 if it is unknown, or for an invalid handle.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_dtype(tensor: Handle<tenslice_tensor>) -> u32 {
    tensor.get().map_or(0, |tensor| to_code(tensor.dtype()))
}

/// Returns the type of the elements as the file spells it. For texts, times and records,
/// this spelling says more than the dtype.
///
/// For NPY and for stored entries of NPZ this is the `descr`, in quotation marks if it is a string ("'<M8[s]'"), in
/// UTF-8 in version 3.0 and in Latin-1 before. For Blosc2 arrays it is the dtype ("<M8[s]"). `data` is NULL for other
/// formats, for compressed entries of NPZ (see tenslice_tensor_describe), if the file states no type, and for an
/// invalid handle. Linear in the bytes of the header.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_stated_type(tensor: Handle<tenslice_tensor>) -> tenslice_str {
    let stated = tensor.get().ok().and_then(|tensor| tensor.stated_type());
    stated.map_or(tenslice_str::NONE, tenslice_str::of_bytes)
}

/// Returns the number of dimensions of a tensor; 0 for a scalar or an invalid handle.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_rank(tensor: Handle<tenslice_tensor>) -> u32 {
    tensor.get().map_or(0, |tensor| tensor.shape().rank())
}

/// Returns the length of dimension `index` of a tensor, counted from 0. Dimension 0 is the outermost of a row-major
/// array. Returns 0 if there is no such dimension, or for an invalid handle. Linear in `index`.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_dimension(tensor: Handle<tenslice_tensor>, index: u32) -> u64 {
    tensor.get().ok().and_then(|tensor| tensor.shape().dimension(index)).unwrap_or(0)
}

/// Returns the product of the dimensions of a tensor; UINT64_MAX if it exceeds 64 bits, which is possible for sparse
/// tensors; 0 for an invalid handle.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_element_count(tensor: Handle<tenslice_tensor>) -> u64 {
    tensor.get().map_or(0, |tensor| tensor.shape().element_count().unwrap_or(u64::MAX))
}

/// Returns how the components of a tensor represent it, a TENSLICE_LAYOUT_ code; UINT32_MAX for an invalid handle.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_layout(tensor: Handle<tenslice_tensor>) -> u32 {
    tensor.get().map_or(u32::MAX, |tensor| u32::from(tensor.layout().code()))
}

/// Writes the shape, in the order of the file, to `dimensions`, an array of `capacity` lengths. `rank` (may be NULL) is
/// set to the number of dimensions, even after TOO_SMALL: call with a capacity of 0 to query it.
///
/// Errors: TOO_SMALL.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_shape(
    tensor: Handle<tenslice_tensor>,
    dimensions: Buffer<u64>,
    capacity: Capacity,
    rank: OptionalOut<u32>,
) -> tenslice_status {
    run(|| {
        let shape = tensor.get()?.shape();
        write_shape(shape, tensor.memory(), dimensions, capacity, &rank)?;
        Ok(OK)
    })
}

/// Writes the lengths and the rank of a shape to C. `handle` is the memory of the handle that has the shape.
pub(super) fn write_shape(
    shape: Shape<'_>,
    handle: Memory,
    dimensions: Buffer<'_, u64>,
    capacity: Capacity<'_>,
    rank: &OptionalOut<'_, u32>,
) -> FfiResult<()> {
    let dimensions = dimensions.with_capacity(capacity, &[handle, rank.memory()])?;
    let rank = rank.writable()?;
    if let Some(rank) = rank {
        rank.set(shape.rank());
    }
    let places = usize::try_from(shape.rank()).ok().and_then(|rank| dimensions.get_mut(..rank));
    let mut lengths = shape.into_iter();
    for place in places.ok_or(ApiError::new(ErrorKind::TooSmall))? {
        *place = lengths.next().ok_or(ApiError::new(ErrorKind::Malformed))?; // the bytes have changed since
    }
    Ok(())
}

/// Writes the strides to `strides`, an array of `capacity` numbers, one per dimension. A stride is the distance, in
/// elements, between elements whose indices differ by one in that dimension: in a stored dense tensor, or in what
/// tenslice_tensor_read_into writes.
///
/// Errors: TOO_SMALL if there are more than `capacity` dimensions; SHAPE_OVERFLOW if a tensor without elements has
/// lengths whose product exceeds 64 bits; the contents of `strides` are then unspecified.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_strides(
    tensor: Handle<tenslice_tensor>,
    strides: Buffer<u64>,
    capacity: Capacity,
) -> tenslice_status {
    run(|| {
        tensor.get()?.strides(strides.with_capacity(capacity, &[tensor.memory()])?)?;
        Ok(OK)
    })
}

/// Sets `bytes` to the bytes of a dense tensor, without a copy. Checks that they are elements of `dtype`: of this type,
/// in this machine's byte order, and aligned. With TENSLICE_ANY as `dtype`, returns the bytes as they are in the file.
///
/// Errors: NOT_DENSE, WRONG_TYPE, PARTIAL_ELEMENT, FOREIGN_ENDIAN, MISALIGNED, ENCODED, UNSUPPORTED_ENCODING,
/// NOT_IN_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_bytes(
    tensor: Handle<tenslice_tensor>,
    dtype: u32,
    bytes: Out<tenslice_bytes>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (tensor, bytes) = (tensor.get()?, bytes.writable()?);
        let mut data = tensor.blank_component();
        details.of(tensor.data_into(&mut data))?;
        bytes.set(details.of(typed_bytes(&data, dtype))?.into());
        Ok(OK)
    })
}

/// Makes `component` the component that holds all elements of a dense tensor.
///
/// Errors: NOT_DENSE.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_data(
    tensor: Handle<tenslice_tensor>,
    component: Out<tenslice_component>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let data = details.of(tensor.get()?.data())?;
        component.writable()?.store(&data);
        Ok(OK)
    })
}

/// Finds the first component whose role is the `length` bytes at `role`, such as "indices".
///
/// Errors: NOT_FOUND.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_component(
    tensor: Handle<tenslice_tensor>,
    role: Array<c_char>,
    length: Length,
    component: Out<tenslice_component>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let tensor = tensor.get()?;
        let component = component.writable()?;
        let mut found = tensor.blank_component();
        details.of(tensor.component_into(role.text(length)?, &mut found))?;
        component.store(&found);
        Ok(OK)
    })
}

/// Sets `cursor` before the first component, for tenslice_components_next.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_components(
    tensor: Handle<tenslice_tensor>,
    cursor: Out<tenslice_cursor>,
) -> tenslice_status {
    run(|| {
        let tensor = tensor.get()?;
        cursor.writable()?.store(&tensor.components());
        Ok(OK)
    })
}

/// Reads the next component, in the order of the file; returns TENSLICE_END after the last.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_components_next(
    cursor: HandleMut<tenslice_cursor>,
    component: Out<tenslice_component>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| next(details, cursor, &component, Components::blank, Components::read_next))
}

/// Sets `cursor` before the first attribute of the tensor, for tenslice_attributes_next.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_attributes(
    tensor: Handle<tenslice_tensor>,
    cursor: Out<tenslice_cursor>,
) -> tenslice_status {
    run(|| {
        let tensor = tensor.get()?;
        cursor.writable()?.store(&tensor.attributes());
        Ok(OK)
    })
}
