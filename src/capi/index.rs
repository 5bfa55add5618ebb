//! An index of the names in a file, in memory that the caller provides.

use core::ffi::c_char;

use super::call::{run, with_details};
use super::file::tenslice_file;
use super::pointer::{Array, Buffer, Capacity, Handle, Length, OptionalOut, Out};
use super::status::{OK, tenslice_error, tenslice_status};
use super::tensor::tenslice_tensor;
use crate::Index;
use crate::error::{Error, ErrorKind};

/// An index of the names in a file: see tenslice_file_index.
#[repr(C)]
pub struct tenslice_index {
    opaque: [u64; 28],
}

/// Sets `count` to the number of elements of `words` that tenslice_file_index needs: three for each tensor, none for a
/// file of one tensor.
///
/// Errors: TOO_MANY if this machine cannot address that many elements.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_index_length(file: Handle<tenslice_file>, count: Out<usize>) -> tenslice_status {
    run(|| {
        let (file, count) = (file.get()?, count.writable()?);
        count.set(file.index_length().ok_or(Error::new(ErrorKind::TooMany))?);
        Ok(OK)
    })
}

/// Builds `index`, an index of the names in the file, for tenslice_index_find. Compares all names exactly, as
/// tenslice_file_check does. `words` is an array of `count` elements. It must stay in place, unchanged, while `index` is
/// used, and so must the bytes or the source that the file was opened from; `file` need not. Nothing is allocated, and
/// nothing needs to be closed.
///
/// Linear in the bytes of the metadata. If names were crafted to collide, they are hashed once more, with a seed that
/// depends on all names and on the address of `words`. If they still collide, they are sorted: N log N comparisons.
///
/// Errors: OUT_OF_SCRATCH if `count` is less than tenslice_file_index_length returns; REPEATED_NAME if a name
/// repeats (not in zTensor 0.1, which allows repeated names: the index has the first tensor); the errors of
/// tenslice_file_check. The contents of `words` are unspecified after an error.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_index(
    file: Handle<tenslice_file>,
    words: Buffer<'static, u32>,
    count: Capacity,
    index: Out<tenslice_index>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let words = words.with_capacity(count, &[file.memory(), index.memory(), error.memory()])?;
        let (file, index) = (file.get()?, index.writable()?);
        index.store_found::<Index<'static, 'static>>(details, &file.index(words))?;
        Ok(OK)
    })
}

/// Finds the first tensor whose name is the `length` bytes at `name`, as tenslice_file_find does. Constant time on
/// average; logarithmic if the names were crafted to collide.
///
/// Errors: NOT_FOUND; also if the bytes have changed since the index was built, and the tensor now has another name.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_index_find(
    index: Handle<tenslice_index>,
    name: Array<c_char>,
    length: Length,
    tensor: Out<tenslice_tensor>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (index, tensor) = (index.get()?, tensor.writable()?);
        tensor.store_found(details, &index.find_bytes(name.text(length)?))?;
        Ok(OK)
    })
}
