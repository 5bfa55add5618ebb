//! The indices and values of sparse tensors, one at a time.

use super::call::{run, with_details};
use super::component::tenslice_bytes;
use super::options::tenslice_read_options;
use super::pointer::{Buffer, Capacity, Handle, HandleMut, InfoOut, OptionalIn, OptionalOut, Out};
use super::status::{ApiError, END, OK, tenslice_error, tenslice_status};
use super::tensor::tenslice_tensor;
use super::text::to_code;
use crate::codec::sparse::Sparse;
use crate::error::ErrorKind;

/// A sparse tensor whose indices have been checked, and a position among its values: a handle.
#[repr(C)]
pub struct tenslice_sparse {
    opaque: [u64; 32],
}

/// The contents of a `tenslice_sparse`.
pub(super) struct SparseCursor {
    sparse: Sparse<'static>,
    /// The index of the next value, and a row at or before that value.
    next: u64,
    row: u64,
}

/// Information about a sparse tensor.
#[repr(C)]
pub struct tenslice_sparse_info {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// The dtype of the values.
    pub dtype: u32,
    /// Number of stored values, zeros and duplicate indices included.
    pub stored: u64,
    /// Number of dimensions.
    pub rank: u32,
    /// The layout, a TENSLICE_LAYOUT_ code.
    pub layout: u32,
    /// Warnings that the check produced: TENSLICE_WARNING_ bits.
    pub warnings: u32,
    /// The byte order of the values, a TENSLICE_BYTE_ORDER_ code.
    pub byte_order: u32,
}

/// Checks the indices of a sparse tensor (rows, coordinates, or pairs of index and value) in one pass, and sets
/// `sparse` before the first value. Encoded components are decoded into the scratch memory (TENSLICE_PURPOSE_SPARSE),
/// which must stay in place while `sparse` is used. Linear in the number of indices.
///
/// Errors: UNSUPPORTED_LAYOUT if the tensor is not sparse, or if the dtype of its values is unknown or takes less than a
/// byte; INVALID_ROW_POINTERS, INDEX_OUT_OF_RANGE, INDEX_ORDER, COUNT_MISMATCH, PACKED_LENGTH; OUT_OF_SCRATCH,
/// NOT_IN_MEMORY, the errors of tenslice_component_read_into.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_sparse(
    tensor: Handle<tenslice_tensor>,
    options: OptionalIn<'static, tenslice_read_options>,
    sparse: Out<tenslice_sparse>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (mut decoder, scratch) = options.apart_from(&[tensor.memory(), sparse.memory()])?;
        let tensor = *tensor.get()?; // a copy: the decoder may use the handle
        let sparse = sparse.writable()?;
        let found = details.of(tensor.sparse_using(&mut decoder, scratch))?;
        sparse.store(&SparseCursor { sparse: found, next: 0, row: 0 });
        Ok(OK)
    })
}

/// Fills `info` with information about a sparse tensor.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_sparse_get_info(
    sparse: Handle<tenslice_sparse>,
    info: InfoOut<tenslice_sparse_info>,
) -> tenslice_status {
    run(|| {
        let SparseCursor { sparse, .. } = sparse.get()?;
        info.writable()?.fill(tenslice_sparse_info {
            struct_size: 0,
            dtype: to_code(Some(sparse.dtype())),
            stored: sparse.stored(),
            rank: sparse.shape().rank(),
            layout: u32::from(sparse.layout().code()),
            warnings: sparse.warnings().bits(),
            byte_order: u32::from(sparse.byte_order().code()),
        });
        Ok(OK)
    })
}

/// Reads the next value, in stored order. Writes its index in each dimension to `index`, an array of `capacity`
/// numbers, and sets `value` to its bytes. The bytes are in the file or, if they had to be decoded, in the scratch
/// memory of tenslice_tensor_sparse. They are in the byte order that tenslice_sparse_info states, at any address: copy
/// them with memcpy. Returns TENSLICE_END after the last value.
///
/// Errors: TOO_SMALL if there are more than `capacity` dimensions; the position does not advance.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_sparse_next(
    sparse: HandleMut<tenslice_sparse>,
    index: Buffer<u64>,
    capacity: Capacity,
    value: Out<tenslice_bytes>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |_| {
        let index = index.with_capacity(capacity, &[sparse.memory(), value.memory()])?;
        let cursor = sparse.get_mut::<SparseCursor>()?;
        let value = value.writable()?;
        let rank = cursor.sparse.shape().rank();
        if usize::try_from(rank).is_ok_and(|rank| rank > index.len()) {
            return Err(ApiError::new(ErrorKind::TooSmall));
        }
        let mut rest = cursor.sparse.iter_from(cursor.next, cursor.row);
        let Some(entry) = rest.next() else { return Ok(END) };
        let changed = ApiError::new(ErrorKind::IndexOutOfRange);
        entry.indices(index).ok_or(changed)?;
        value.set(entry.bytes().ok_or(changed)?.into());
        (cursor.next, cursor.row) = rest.position();
        Ok(OK)
    })
}
