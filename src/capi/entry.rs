//! The tensors of a file as an array of plain structs.

use super::call::with_details;
use super::file::tenslice_file;
use super::pointer::{Buffer, Capacity, Handle, In, OptionalOut, Out};
use super::status::{OK, tenslice_error, tenslice_status};
use super::tensor::tenslice_tensor;
use super::text::{tenslice_str, to_code};
use crate::TensorEntry;
use crate::bytes::num::to_u64;
use crate::view::entry::list;

/// A tensor in a list that tenslice_file_list has filled.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_entry {
    /// The name.
    pub name: tenslice_str,
    /// The lengths of the first eight dimensions, in the order of the file; 0 for those that the tensor lacks. All
    /// lengths of a tensor with more dimensions: tenslice_tensor_shape.
    pub dimensions: [u64; 8],
    /// The product of all dimensions; UINT64_MAX if it exceeds 64 bits, which is possible for sparse tensors.
    pub elements: u64,
    /// The offset in the file of the first byte, if all elements of a dense tensor, or all blocks of a quantized one,
    /// are stored raw in this file; UINT64_MAX for any other tensor.
    pub offset: u64,
    /// The number of these bytes; 0 for any other tensor.
    pub length: u64,
    /// The number of dimensions; 0 for a scalar.
    pub rank: u32,
    /// The dtype of the elements; 0 if it is unknown.
    pub dtype: u32,
    /// How the components represent the tensor, a TENSLICE_LAYOUT_ code.
    pub layout: u32,
    /// The order of the elements, a TENSLICE_ORDER_ code.
    pub order: u32,
    /// Index among the tensors of the file, from 0.
    pub index: u32,
    /// The place of the tensor, for tenslice_file_tensor.
    pub at: u32,
}

impl From<TensorEntry<'_>> for tenslice_entry {
    fn from(entry: TensorEntry<'_>) -> Self {
        let mut dimensions = [0; 8];
        dimensions.iter_mut().zip(entry.shape()).for_each(|(place, length)| *place = length);
        let (at, index) = entry.place();
        Self {
            name: entry.name().into(),
            dimensions,
            elements: entry.element_count().unwrap_or(u64::MAX),
            offset: entry.extent().map_or(u64::MAX, |extent| extent.offset),
            length: entry.extent().map_or(0, |extent| extent.length),
            rank: entry.shape().rank(),
            dtype: to_code(entry.dtype()),
            layout: entry.layout().code().into(),
            order: entry.order().code().into(),
            index,
            at,
        }
    }
}

/// Fills the first elements of `entries`, an array of `capacity` elements, with the tensors of a file, in the order of
/// the file, and sets `count` to their number. The program may sort the array. The strings in it are those of the file.
/// Linear in the bytes of the metadata; checksums are not verified.
///
/// A program that goes through the tensors several times, or looks for a few names in a file of a few tensors, reads the
/// file once in this way. tenslice_file_tensor returns the whole tensor of an entry.
///
/// Errors: OUT_OF_SCRATCH if `capacity` is less than the number of tensors, which tenslice_file_get_info returns.
/// Another error if the bytes have changed since the file was opened; the contents of `entries` are then unspecified.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_list(
    file: Handle<tenslice_file>,
    entries: Buffer<tenslice_entry>,
    capacity: Capacity,
    count: Out<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let entries = entries.with_capacity(capacity, &[file.memory(), count.memory(), error.memory()])?;
        let (file, count) = (file.get()?, count.writable()?);
        let listed = details.of(list(*file.inner(), file.tensor_count(), entries, tenslice_entry::from))?;
        count.set(to_u64(listed.len()));
        Ok(OK)
    })
}

/// Sets `tensor` to the tensor of an entry that tenslice_file_list has made from this file. Costs as much as reading one
/// tensor.
///
/// Errors: NOT_FOUND or another error if the entry is from another file, or if the bytes have changed since.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_tensor(
    file: Handle<tenslice_file>,
    entry: In<tenslice_entry>,
    tensor: Out<tenslice_tensor>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (file, place, name) = (file.get()?, entry.read()?, entry.name()?);
        let tensor = tensor.writable()?;
        let mut found = file.blank_tensor();
        details.of(file.tensor_into((place.at, place.index), name, &mut found))?;
        tensor.store(&found);
        Ok(OK)
    })
}
