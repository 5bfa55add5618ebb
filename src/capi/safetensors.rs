//! The index of a safetensors model in several files. Absent from libraries built without that format.

use core::ffi::{c_char, c_void};

use super::attributes::tenslice_cursor;
use super::call::{run, with_details};
use super::model::{tenslice_model, tenslice_model_file};
use super::pointer::{Array, Buffer, Capacity, Handle, HandleMut, Length, OptionalOut, Out, Scratch, ScratchLength};
use super::status::{OK, tenslice_error, tenslice_status};
use super::text::tenslice_str;
use crate::Model;
use crate::error::{Error, ErrorKind};
use crate::safetensors::{Index, IndexEntries};

/// An index that maps each tensor of a model to its file: model.safetensors.index.json.
#[repr(C)]
pub struct tenslice_safetensors_index {
    opaque: [u64; 16],
}

/// Opens the index in the `length` bytes at `data`, and checks all of it. The bytes must stay in place while `index` or
/// anything made from it is used.
///
/// Errors: the first rule that the text breaks, with its offset.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_safetensors_index_open(
    index: Out<tenslice_safetensors_index>,
    data: Array<'static, c_void>,
    length: Length,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let bytes = data.with_length_beside(length, index.memory())?;
        let index = index.writable()?;
        index.store(&details.of(Index::open(bytes))?);
        Ok(OK)
    })
}

/// Sets `count` to the number of tensors.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_safetensors_index_count(
    index: Handle<tenslice_safetensors_index>,
    count: Out<u64>,
) -> tenslice_status {
    run(|| {
        let tensors = index.get()?.tensor_count();
        count.writable()?.set(tensors);
        Ok(OK)
    })
}

/// Compares all names exactly. Opening does not do this if the names are unsorted and more than 1024. `scratch` is an
/// array of `count` elements; the number of tensors is always enough. With fewer, the names are read once for each part
/// that fits, at most eight times.
///
/// Errors: REPEATED_NAME; OUT_OF_SCRATCH if there are more than eight times as many names as elements.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_safetensors_index_check(
    index: Handle<tenslice_safetensors_index>,
    scratch: Scratch<u32>,
    count: ScratchLength,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let scratch = scratch.with_length(count, &[index.memory()])?;
        details.of(index.get()?.check(scratch))?;
        Ok(OK)
    })
}

/// Sets `file` to the name of the file that has the tensor named `name`. Linear in the bytes of the index.
///
/// Errors: NOT_FOUND.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_safetensors_index_find(
    index: Handle<tenslice_safetensors_index>,
    name: Array<c_char>,
    length: Length,
    file: Out<tenslice_str>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (index, file) = (index.get()?, file.writable()?);
        file.set(details.of(index.find_bytes(name.text(length)?))?.into());
        Ok(OK)
    })
}

/// Sets `cursor` before the first tensor, for tenslice_safetensors_index_next.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_safetensors_index_entries(
    index: Handle<tenslice_safetensors_index>,
    cursor: Out<tenslice_cursor>,
) -> tenslice_status {
    run(|| {
        let index = index.get()?;
        cursor.writable()?.store(&index.entries());
        Ok(OK)
    })
}

/// Reads the next tensor, in the order of the index: sets `name` to its name and `file` to the name of its file. Either
/// may be NULL. Returns TENSLICE_END after the last tensor.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_safetensors_index_next(
    cursor: HandleMut<tenslice_cursor>,
    name: OptionalOut<tenslice_str>,
    file: OptionalOut<tenslice_str>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let entries = cursor.get_mut::<IndexEntries<'static>>()?;
        let (name, file) = (name.writable()?, file.writable()?);
        let Some(entry) = entries.next() else { return details.end(entries.error()) };
        if let Some(name) = name {
            name.set(entry.name.into());
        }
        if let Some(file) = file {
            file.set(entry.file.into());
        }
        Ok(OK)
    })
}

/// Writes one number per file to `files`, in the alphabetical order of the file names, and sets `count` to the number
/// of files. tenslice_safetensors_index_file returns the name for a number. `capacity` must be at least the number of
/// tensors, although there are fewer files: they are found by sorting.
///
/// Errors: OUT_OF_SCRATCH if `capacity` is too small.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_safetensors_index_files(
    index: Handle<tenslice_safetensors_index>,
    files: Buffer<u32>,
    capacity: Capacity,
    count: Out<usize>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let files = files.with_capacity(capacity, &[index.memory(), count.memory()])?;
        let (index, count) = (index.get()?, count.writable()?);
        count.set(details.of(index.files(files))?.len());
        Ok(OK)
    })
}

/// Sets `name` to the name of file `file`, a number written by tenslice_safetensors_index_files.
///
/// Errors: NOT_FOUND if the index has no file with this number.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_safetensors_index_file(
    index: Handle<tenslice_safetensors_index>,
    file: u32,
    name: Out<tenslice_str>,
) -> tenslice_status {
    run(|| {
        let (index, place) = (index.get()?, name.writable()?);
        place.set(index.file_at(file).ok_or(Error::new(ErrorKind::NotFound))?.into());
        Ok(OK)
    })
}

/// Sets `words` to the number of words that tenslice_safetensors_model_open needs: six for each tensor of the index.
///
/// Errors: TOO_MANY if this machine cannot address that many words.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_safetensors_model_length(
    index: Handle<tenslice_safetensors_index>,
    words: Out<usize>,
) -> tenslice_status {
    run(|| {
        let (index, words) = (index.get()?, words.writable()?);
        words.set(Model::length_with_index(index).ok_or(Error::new(ErrorKind::TooMany))?);
        Ok(OK)
    })
}

/// Makes `model` a model of the `count` files at `files`, whose tensors are those that the index lists, in the files
/// that it names. A file that the index names and that is not among `files` is missing. Sorts the files by their names.
/// The text of the index must stay in place, and the array and the words as tenslice_model_open requires; `index` need
/// not.
///
/// Errors: the errors of tenslice_model_open; REPEATED_NAME if the index lists a tensor twice.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_safetensors_model_open(
    model: Out<tenslice_model>,
    index: Handle<tenslice_safetensors_index>,
    files: Buffer<'static, tenslice_model_file>,
    count: Length,
    words: Buffer<'static, u32>,
    capacity: Capacity,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let others = [model.memory(), error.memory(), index.memory()];
        let words = words.with_capacity(capacity, &[others[0], others[1], others[2], files.memory_of(count)])?;
        let place = model.writable()?;
        let files = files.take(count, &others)?;
        let index = *index.get::<Index<'static>>()?;
        place.store(&details.of(Model::with_index(index, files, words))?);
        Ok(OK)
    })
}

/// Sets `cursor` before the first value of the metadata, such as total_size, for tenslice_attributes_next.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_safetensors_index_metadata(
    index: Handle<tenslice_safetensors_index>,
    cursor: Out<tenslice_cursor>,
) -> tenslice_status {
    run(|| {
        let index = index.get()?;
        cursor.writable()?.store(&index.metadata());
        Ok(OK)
    })
}
