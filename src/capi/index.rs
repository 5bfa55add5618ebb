//! An index of the names in a file, in memory that the program gives.

use core::ffi::c_char;

use super::file::tenslice_file;
use super::pointer::{Array, Buffer, Capacity, Handle, Length, OptionalOut, Out};
use super::status::{OK, answer, plain, tenslice_error, tenslice_status};
use super::tensor::tenslice_tensor;
use crate::Index;
use crate::error::{Error, ErrorKind};

/// An index of the names in a file: see tenslice_file_index.
#[repr(C)]
pub struct tenslice_index {
    opaque: [u64; 28],
}

/// Sets `count` to how many words tenslice_file_index needs: three for each tensor, none for a single one.
///
/// Errors: TOO_MANY where this machine could not address so many.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_index_length(file: Handle<tenslice_file>, count: Out<usize>) -> tenslice_status {
    plain(|| {
        let (file, count) = (file.get()?, count.writable()?);
        count.set(file.index_length().ok_or(Error::new(ErrorKind::TooMany))?);
        Ok(OK)
    })
}

/// Makes an index of the names in the file, so that tenslice_index_find takes no longer in a file of many tensors:
/// tenslice_file_find is linear. Compares all names exactly, as tenslice_file_check does. `words` is an array of
/// `count` elements, which must stay there unchanged for as long as `index` is used, and so must what the file was
/// opened from; `file` need not. Linear in the bytes of the metadata. Names that were made to collide are hashed once
/// more, with a seed that depends on all of them and on the address of `words`, and where that is no better they are
/// sorted: N log N comparisons.
/// Nothing is allocated, and nothing needs to be closed.
///
/// Errors: OUT_OF_SCRATCH where there are fewer words than tenslice_file_index_length says; REPEATED_NAME where the
/// format forbids that (in zTensor 0.1, which allows it, the index has the first one); those of tenslice_file_check.
/// The contents of `words` are unspecified after an error.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_file_index(
    file: Handle<tenslice_file>,
    words: Buffer<'static, u32>,
    count: Capacity,
    index: Out<tenslice_index>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let words = words.with_capacity(count, &[file.memory(), index.memory(), error.memory()])?;
        let (file, index) = (file.get()?, index.writable()?);
        index.store_found::<Index<'static, 'static>>(details, &file.index(words))?;
        Ok(OK)
    })
}

/// Finds the first tensor with the name of `length` bytes at `name`, as tenslice_file_find does, in time that hardly
/// depends on how many tensors there are.
///
/// Errors: NOT_FOUND, also where the bytes have changed since the index was made and another name is where this one
/// was.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_index_find(
    index: Handle<tenslice_index>,
    name: Array<c_char>,
    length: Length,
    tensor: Out<tenslice_tensor>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let (index, tensor) = (index.get()?, tensor.writable()?);
        tensor.store_found(details, &index.find_bytes(name.text(length)?))?;
        Ok(OK)
    })
}
