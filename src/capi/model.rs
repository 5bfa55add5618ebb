//! A model: one file or several, with one table of names.

use core::ffi::{c_char, c_void};

use super::call::{run, with_details};
use super::component::{tenslice_bytes, tenslice_component};
use super::file::tenslice_file;
use super::get::{expected_of, memory_of, tenslice_expected};
use super::memory::memory;
use super::pointer::{
    Array, Buffer, Capacity, Handle, HandleMut, In, InfoOut, Length, OptionalIn, OptionalOut, Out, Scratch,
    ScratchLength, Writable,
};
use super::status::{ApiError, END, FfiResult, OK, tenslice_error, tenslice_status};
use super::tensor::tenslice_tensor;
use super::text::{tenslice_str, write_whole};
use crate::bytes::num::{to_u64, to_usize};
use crate::bytes::text::Text;
use crate::error::{Error, ErrorKind};
use crate::view::model::table;
use crate::{Component, File, Model, ModelFile, ModelTensors, Problem, Problems};

/// A file of a model: its name, and what the program found under this name. Make it with a tenslice_model_file_
/// function.
#[repr(C)]
pub struct tenslice_model_file {
    opaque: [u64; 32],
}

/// A model: one file or several, with one table of names.
#[repr(C)]
pub struct tenslice_model {
    opaque: [u64; 22],
}

/// A position among the tensors of a model.
#[repr(C)]
pub struct tenslice_model_tensors {
    opaque: [u64; 56],
}

/// A position among the problems of a model.
#[repr(C)]
pub struct tenslice_model_problems {
    opaque: [u64; 56],
}

/// A problem of a model.
#[repr(C)]
pub struct tenslice_problem {
    opaque: [u64; 34],
}

/// Information about a problem.
#[repr(C)]
pub struct tenslice_problem_info {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// The kind of the problem, a TENSLICE_PROBLEM_ code. From 64 on: every tensor of the model can be read all the
    /// same.
    pub kind: u32,
    /// The number of the file, for tenslice_model_get_file; UINT64_MAX if the problem is about the model as a whole, or
    /// about a file that the program did not provide.
    pub file: u64,
    /// The name of the tensor; its `data` is NULL if the problem is not about a tensor.
    pub tensor: tenslice_str,
    /// The error of the file or of the tensor, if that is the problem; else its `kind` is 0.
    pub error: tenslice_error,
    /// The index of the first of the parts that are missing, from 0; UINT64_MAX if that is not the problem.
    pub first_part: u64,
    /// The index of the last of the parts that are missing.
    pub last_part: u64,
}

/// Makes `model_file` an open file. `name` is a path from the folder of the model, with `/` between folders. The name
/// must stay in place in the same way as the bytes of the file.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_model_file_opened(
    model_file: Out<tenslice_model_file>,
    name: Array<'static, c_char>,
    length: Length,
    file: Handle<tenslice_file>,
) -> tenslice_status {
    run(|| {
        let name = name_beside(&name, length, &model_file)?;
        let (file, place) = (*file.get::<File<'static>>()?, model_file.writable()?);
        place.store(&ModelFile::new(name, file));
        Ok(OK)
    })
}

/// Makes `model_file` a file that does not exist, or that the program cannot read. The name must stay in place.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_model_file_missing(
    model_file: Out<tenslice_model_file>,
    name: Array<'static, c_char>,
    length: Length,
) -> tenslice_status {
    run(|| {
        let (name, place) = (name_beside(&name, length, &model_file)?, model_file.writable()?);
        place.store(&ModelFile::missing(name));
        Ok(OK)
    })
}

/// Makes `model_file` a file that could not be opened because of `error`. The `size` bytes at `data` are those of the
/// file. They and the name must stay in place.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_model_file_invalid(
    model_file: Out<tenslice_model_file>,
    name: Array<'static, c_char>,
    length: Length,
    error: In<tenslice_error>,
    data: Array<'static, c_void>,
    size: Length,
) -> tenslice_status {
    run(|| {
        let bytes = data.with_length_beside(size, model_file.memory())?;
        let (name, error) = (name_beside(&name, length, &model_file)?, error.read()?.to_rust()?);
        model_file.writable()?.store(&ModelFile::invalid(name, error, bytes));
        Ok(OK)
    })
}

/// Makes `model_file` a shard of a zTensor 2 file: the `size` bytes at `data`. `name` is the name that the file lists.
/// The bytes and the name must stay in place.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_model_file_shard(
    model_file: Out<tenslice_model_file>,
    name: Array<'static, c_char>,
    length: Length,
    data: Array<'static, c_void>,
    size: Length,
) -> tenslice_status {
    run(|| {
        let bytes = data.with_length_beside(size, model_file.memory())?;
        let (name, place) = (name_beside(&name, length, &model_file)?, model_file.writable()?);
        place.store(&ModelFile::shard(name, bytes));
        Ok(OK)
    })
}

/// Sets `words` to the number of words that tenslice_model_open needs for the `count` files at `files`: six for each
/// tensor.
///
/// Errors: TOO_MANY if this machine cannot address that many words.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_model_length(
    files: Array<tenslice_model_file>,
    count: Length,
    words: Out<usize>,
) -> tenslice_status {
    run(|| {
        let words = words.writable()?;
        let mut tensors = 0_u64;
        for file in files.each(count)? {
            tensors = tensors.saturating_add(file?.file().map_or(0, File::tensor_count));
        }
        words.set(table::length(tensors).ok_or(Error::new(ErrorKind::TooMany))?);
        Ok(OK)
    })
}

/// Makes `model` a model of the `count` files at `files`, without an index. Sorts the files: by the numbers that they
/// state as parts of a model, as GGUF files do, or by their names.
///
/// Afterwards the array is the memory of the model, together with the `capacity` words at `words`: both must stay in
/// place, unchanged, while the model or anything made from it is used. The handles in the array cannot be used again.
/// After an error, their contents and those of the words are unspecified.
///
/// Linear in the names. A problem with a part of the model is not an error: see tenslice_model_get_problems.
///
/// Errors: INVALID_ARGUMENT also if two files have the same name; OUT_OF_SCRATCH if `capacity` is less than
/// tenslice_model_length returns.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_model_open(
    model: Out<tenslice_model>,
    files: Buffer<'static, tenslice_model_file>,
    count: Length,
    words: Buffer<'static, u32>,
    capacity: Capacity,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let words = words.with_capacity(capacity, &[model.memory(), error.memory(), files.memory_of(count)])?;
        let place = model.writable()?;
        let files = files.take(count, &[model.memory(), error.memory()])?;
        place.store(&details.of(Model::new(files, words))?);
        Ok(OK)
    })
}

/// Finds a tensor by its name. Sets `file` (may be NULL) to the number of its file, for tenslice_model_get_file.
/// Constant time on average; logarithmic if the names were crafted to collide.
///
/// After an error, tenslice_model_get_text writes a message that names the file concerned.
///
/// Errors: NOT_FOUND, also if the file is missing, cannot be opened, or does not have the tensor; REPEATED_NAME if two
/// files have a tensor of this name, or two files state the same part of the model.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_model_find(
    model: Handle<tenslice_model>,
    name: Array<c_char>,
    length: Length,
    tensor: Out<tenslice_tensor>,
    file: OptionalOut<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (model, tensor, file) = (model.get::<Model<'static, 'static>>()?, tensor.writable()?, file.writable()?);
        let (number, found) = details.of(model.find_bytes(name.text(length)?))?;
        tensor.store(&found);
        set_number(file, number);
        Ok(OK)
    })
}

/// Finds the tensor named `name`, compares it with what is `expected`, and sets `bytes` to its bytes, without a copy, as
/// tenslice_file_get does. If the bytes are in a shard, sets `bytes` to those of the shard. Constant time on average.
///
/// After an error, tenslice_model_get_text writes a message that says what the model has instead.
///
/// Errors: the errors of tenslice_model_find and tenslice_file_get, among them NOT_IN_MEMORY; IN_SHARD if the shard is
/// missing, OUT_OF_FILE if it is too short.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_model_get(
    model: Handle<tenslice_model>,
    name: Array<c_char>,
    length: Length,
    expected: OptionalIn<tenslice_expected>,
    bytes: Out<tenslice_bytes>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let expected = expected_of(name.text(length)?, &expected)?;
        let (model, bytes) = (model.get::<Model<'static, 'static>>()?, bytes.writable()?);
        let data = details.of(model.get(&expected))?;
        bytes.set(details.of(expected.bytes_of(&data))?.into());
        Ok(OK)
    })
}

/// Writes the message of an error to `buffer`, as tenslice_file_get_text does, of a call that gets or finds a tensor of
/// this model by its name, or that reads the tensor found. It names the file concerned. If no tensor has the name, it
/// suggests the nearest name of all files.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_model_get_text(
    model: Handle<tenslice_model>,
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
        let given = [model.memory(), name, expected, shape, error.memory(), needed.memory()];
        let buffer = buffer.with_capacity(capacity, &given)?;
        let sentence = model.get::<Model<'static, 'static>>()?.explain(&wanted, error.read()?.to_rust()?);
        write_whole(buffer, needed.writable()?, |out| sentence.write_to(out))
    })
}

/// Sets `count` to the number of elements of `scratch` that are always enough for tenslice_model_check. Linear in the
/// metadata of all files.
///
/// Errors: TOO_MANY if this machine cannot address that many elements.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_model_check_length(model: Handle<tenslice_model>, count: Out<usize>) -> tenslice_status {
    run(|| {
        let (model, count) = (model.get::<Model<'static, 'static>>()?, count.writable()?);
        count.set(model.check_length().ok_or(Error::new(ErrorKind::TooMany))?);
        Ok(OK)
    })
}

/// Compares in each file what opening it could not compare without memory: tenslice_file_check. If a file has an error,
/// sets `file` (may be NULL) to its number, for tenslice_model_get_file.
///
/// Errors: the errors of tenslice_file_check.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_model_check(
    model: Handle<tenslice_model>,
    scratch: Scratch<u32>,
    count: ScratchLength,
    file: OptionalOut<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let scratch = scratch.with_length(count, &[model.memory(), file.memory()])?;
        let (model, file) = (model.get::<Model<'static, 'static>>()?, file.writable()?);
        match model.check(scratch) {
            Ok(()) => Ok(OK),
            Err((number, found)) => {
                set_number(file, number);
                details.of(Err(found))
            }
        }
    })
}

/// Sets `bound` to the component `component` of a tensor of this model, over its bytes: a component in a shard is bound
/// to the bytes of the shard. `bound` may be the same handle as `component`. Verifies no digest.
///
/// Errors: IN_SHARD if the shard is missing, OUT_OF_FILE if it is too short.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_model_component(
    model: Handle<tenslice_model>,
    component: Handle<tenslice_component>,
    bound: Out<tenslice_component>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (model, component) = (model.get::<Model<'static, 'static>>()?, *component.get::<Component<'static>>()?);
        let bound = bound.writable()?;
        bound.store(&details.of(model.with_shard(component))?);
        Ok(OK)
    })
}

/// Sets `count` to the number of files.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_model_file_count(model: Handle<tenslice_model>, count: Out<u64>) -> tenslice_status {
    run(|| {
        let files = model.get::<Model<'static, 'static>>()?.files();
        count.writable()?.set(to_u64(files.len()));
        Ok(OK)
    })
}

/// Sets `name` to the name of file `number`, counted from 0 in the order of the model, and `file` to the open file.
/// Either may be NULL.
///
/// Errors: NOT_FOUND if there is no such file, or if `file` is not NULL and the file is not open.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_model_get_file(
    model: Handle<tenslice_model>,
    number: u64,
    name: OptionalOut<tenslice_str>,
    file: OptionalOut<tenslice_file>,
) -> tenslice_status {
    run(|| {
        let files = model.get::<Model<'static, 'static>>()?.files();
        let (name, file) = (name.writable()?, file.writable()?);
        let not_found = Error::new(ErrorKind::NotFound);
        let found = to_usize(number).and_then(|number| files.get(number)).ok_or(not_found)?;
        if let Some(file) = file {
            file.store(found.file().ok_or(not_found)?);
        }
        if let Some(name) = name {
            name.set(found.name().into());
        }
        Ok(OK)
    })
}

/// Sets `tensors` before the first tensor of the model, for tenslice_model_next_tensor.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_model_get_tensors(
    model: Handle<tenslice_model>,
    tensors: Out<tenslice_model_tensors>,
) -> tenslice_status {
    run(|| {
        let model = model.get::<Model<'static, 'static>>()?;
        tensors.writable()?.store(&model.tensors());
        Ok(OK)
    })
}

/// Reads the next tensor that can be read, in the order of the files; returns TENSLICE_END after the last. Sets `file`
/// (may be NULL) to the number of its file. With an index, one look-up for each tensor of the files.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_model_next_tensor(
    tensors: HandleMut<tenslice_model_tensors>,
    tensor: Out<tenslice_tensor>,
    file: OptionalOut<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let tensors = tensors.get_mut::<ModelTensors<'static, 'static>>()?;
        let (tensor, file) = (tensor.writable()?, file.writable()?);
        let Some((number, next)) = tensors.next() else {
            return details.end(tensors.error().map(|(_, error)| error));
        };
        tensor.store(&next);
        set_number(file, number);
        Ok(OK)
    })
}

/// Sets `problems` before the first problem of the model, for tenslice_model_next_problem.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_model_get_problems(
    model: Handle<tenslice_model>,
    problems: Out<tenslice_model_problems>,
) -> tenslice_status {
    run(|| {
        let model = model.get::<Model<'static, 'static>>()?;
        problems.writable()?.store(&model.problems());
        Ok(OK)
    })
}

/// Finds the next problem of the model; returns TENSLICE_END after the last. All calls together are linear in the
/// metadata of all files.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_model_next_problem(
    problems: HandleMut<tenslice_model_problems>,
    problem: Out<tenslice_problem>,
) -> tenslice_status {
    run(|| {
        let problems = problems.get_mut::<Problems<'static, 'static>>()?;
        let problem = problem.writable()?;
        let Some(next) = problems.next() else { return Ok(END) };
        problem.store(&next);
        Ok(OK)
    })
}

/// Fills `info` with information about a problem.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_problem_get_info(
    problem: Handle<tenslice_problem>,
    info: InfoOut<tenslice_problem_info>,
) -> tenslice_status {
    run(|| {
        let problem = problem.get::<Problem<'static, 'static>>()?;
        let (first_part, last_part) = problem.parts().unwrap_or((u64::MAX, u64::MAX));
        info.writable()?.fill(tenslice_problem_info {
            struct_size: 0,
            kind: problem.kind().code().into(),
            file: problem.file().map_or(u64::MAX, to_u64),
            tensor: problem.tensor().map_or(tenslice_str::NONE, tenslice_str::from),
            error: problem.error().map_or(tenslice_error::NONE, |error| {
                let (offset, entry_distance, kind, format, part) = error.parts();
                tenslice_error { offset, entry_distance, kind, format, part }
            }),
            first_part,
            last_part,
        });
        Ok(OK)
    })
}

/// Writes the sentence of a problem to `buffer`, with the name of the file. Linear in the metadata at most.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_problem_text(
    problem: Handle<tenslice_problem>,
    buffer: Buffer<c_char>,
    capacity: Capacity,
    needed: OptionalOut<usize>,
) -> tenslice_status {
    run(|| {
        let buffer = buffer.with_capacity(capacity, &[problem.memory(), needed.memory()])?;
        let problem = problem.get::<Problem<'static, 'static>>()?;
        write_whole(buffer, needed.writable()?, |out| problem.write_to(out))
    })
}

/// Returns the name of a file, which the handle is going to refer to. It must not overlap the handle.
fn name_beside(
    name: &Array<'static, c_char>,
    length: Length,
    handle: &Out<'_, tenslice_model_file>,
) -> FfiResult<Text<'static>> {
    let name = name.text(length)?;
    let overlaps = memory(name.as_ptr(), name.len()).shares_with(handle.memory());
    if overlaps { Err(ApiError::new(ErrorKind::InvalidArgument)) } else { Ok(Text::new(name, false)) }
}

/// Sets the number of a file, if the caller wants it.
fn set_number(place: Option<Writable<'_, u64>>, number: usize) {
    if let Some(place) = place {
        place.set(to_u64(number));
    }
}
