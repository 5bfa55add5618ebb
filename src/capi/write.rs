//! Writing: the declarations of a file, and the writer. `declared` reads the structs.

use core::ffi::{c_char, c_int, c_void};
use core::fmt::Write;

use super::call::{run, with_details};
#[cfg(feature = "gguf")]
use super::get::FIRST_BLOCK;
use super::pointer::{
    Array, Buffer, Capacity, Handle, HandleMut, Held, In, InfoIn, InfoOut, Length, OptionalOut, Out,
};
use super::status::{END, OK, tenslice_error, tenslice_status};
use super::text::{of_code, write_whole};
use crate::DType;
#[cfg(feature = "gguf")]
use crate::blocks::BlockType;
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind};
use crate::write::declaration::{Checked, Declarations, Refusal};
use crate::write::{NewLayout, NewValue, WriteExplanation};
use crate::write::{State, Step};
use crate::{Layout, ValueKind};

/// A value of an attribute to write: a TENSLICE_VALUE_ code, and the fields that the kind has. All other fields are 0.
/// This struct never changes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_new_value {
    /// The kind: TENSLICE_VALUE_NULL, BOOL, INTEGER, FLOAT, TEXT, BYTES, ARRAY or MAP.
    pub kind: u32,
    /// The type of an integer, TENSLICE_U8 to TENSLICE_I64, or of a floating-point number, TENSLICE_F32 or TENSLICE_F64.
    /// Only GGUF stores it; an integer must fit into it.
    pub dtype: u32,
    /// The integer, or 1 for true. Convert a negative integer: (uint64_t)-3.
    pub integer: u64,
    /// The floating-point number.
    pub real: f64,
    /// The characters of a text in UTF-8, the bytes of a byte string, or the array of tenslice_new_value of a list. A
    /// map is an array, too: each key is followed by its value.
    pub data: *const c_void,
    /// Number of bytes of a text or a byte string, or number of elements of the array. TENSLICE_NUL for a text that ends
    /// before its NUL.
    pub length: usize,
}

/// An attribute to write. This struct never changes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_new_attribute {
    /// The key in UTF-8.
    pub key: *const c_char,
    /// Number of bytes of the key, or TENSLICE_NUL.
    pub key_length: usize,
    /// The value.
    pub value: tenslice_new_value,
}

/// A tensor to write. TENSLICE_NEW_TENSOR sets the fields of a dense tensor. The fields after `rank` are 0, except those
/// that the layout needs.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_new_tensor {
    /// Size of this struct in bytes, set by the caller: the same in all elements of an array. The library takes it as
    /// the distance between two elements.
    pub struct_size: u32,
    /// The type of the elements or of the values: a dtype, or a block type such as TENSLICE_GGML_Q8_0.
    pub dtype: u32,
    /// The name in UTF-8. Formats with a single unnamed tensor ignore it.
    pub name: *const c_char,
    /// Number of bytes of the name, or TENSLICE_NUL.
    pub name_length: usize,
    /// The `rank` lengths of the dimensions, outermost first as in a row-major array.
    pub shape: *const u64,
    /// Number of dimensions; 0 for a scalar.
    pub rank: usize,
    /// The layout: TENSLICE_LAYOUT_DENSE, also for blocks, SPARSE_CSR, SPARSE_COO, INDEX_VALUE (pairs, as in TENS) or
    /// TENSOR_TRAIN.
    pub layout: u32,
    /// The dtype of the column indices of SPARSE_CSR, or of the indices of SPARSE_COO.
    pub indices: u32,
    /// The dtype of the row positions of SPARSE_CSR.
    pub pointers: u32,
    /// Reserved, 0.
    pub reserved: u32,
    /// Number of values or pairs of a sparse tensor.
    pub count: u64,
    /// Size in bytes of an item that no dtype describes.
    pub item_size: u64,
    /// The bond dimensions of a tensor train.
    pub ranks: *const u64,
    /// Number of bond dimensions: `rank` + 1.
    pub ranks_length: usize,
    /// For items that no dtype describes, in NPY and NPZ: their type as NumPy spells it, such as "'<M8[ns]'". Else NULL.
    pub descr: *const c_char,
    /// Number of bytes of `descr`, or TENSLICE_NUL.
    pub descr_length: usize,
    /// The attributes of the tensor, in formats that have them: zTensor.
    pub attributes: *const tenslice_new_attribute,
    /// Number of attributes of the tensor.
    pub attribute_count: usize,
}

/// A file to write. TENSLICE_NEW_FILE sets the fields of a file without attributes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_new_file {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// The format, a TENSLICE_FORMAT_ code.
    pub format: u32,
    /// The tensors. Their data is written in this order.
    pub tensors: *const tenslice_new_tensor,
    /// Number of tensors.
    pub tensor_count: usize,
    /// The attributes of the file.
    pub attributes: *const tenslice_new_attribute,
    /// Number of attributes.
    pub attribute_count: usize,
    /// The alignment of the data in the file, a power of two: of the first tensor in safetensors, of each tensor in the
    /// others. 0 for that of the format: 8 in safetensors, 32 in GGUF, 64 in zTensor 1.2 and NPY, 4096 in zTensor 2.
    pub alignment: u64,
    /// 1 to store a digest of each component, in formats that do not require one: a CRC-32C in zTensor 1.2. Else 0.
    pub has_digests: u32,
    /// Reserved, 0.
    pub reserved: u32,
}

/// A function that takes the bytes of a file being written: stores them in a file or in flash, or sends them. `offset`
/// is the position of the first byte in the file. The offsets increase without gaps from call to call. Pieces of
/// metadata can be as short as one byte: a sink that prefers longer pieces collects them. It returns 0, or any other
/// number if it failed. It must take all bytes, must not use the writer, and must not leave by longjmp or an exception.
pub type tenslice_write =
    Option<unsafe extern "C" fn(context: *mut c_void, offset: u64, bytes: *const c_void, length: usize) -> c_int>;

/// The sink of a writer: takes the bytes of the file. It is called only during the call that it is passed to.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_sink {
    /// The function; not NULL.
    pub write: tenslice_write,
    /// Passed to the function as `context`.
    pub context: *mut c_void,
}

/// The position of a writer in its file: see tenslice_writer_open. If a writer is copied, only one of the two copies may
/// be used from then on.
#[repr(C)]
pub struct tenslice_writer {
    opaque: [u64; 25],
}

/// The data that a writer expects next.
#[repr(C)]
pub struct tenslice_due {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// The index of the tensor among the declarations.
    pub tensor: u32,
    /// The index of the component in its tensor; 0 for a dense tensor. The components are in the order: values, indices,
    /// row positions.
    pub component: u32,
    /// Reserved, 0.
    pub reserved: u32,
    /// Number of bytes of the component that have been written.
    pub offset: u64,
    /// Number of bytes of the component that are missing, at least 1.
    pub missing: u64,
}

/// Sets `words` to the number of elements of scratch memory that tenslice_writer_open needs for a file: one for each
/// component with a digest; on hosts one for every two names if there are more than 1024 names that are not sorted.
/// Without any of these, 0. Linear in the declarations.
///
/// Errors: NOT_BUILT_IN if the library cannot write the format; the errors of tenslice_writer_open for declarations
/// that cannot be read; TOO_MANY if this machine cannot address that many elements.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_writer_scratch_length(
    file: InfoIn<'static, tenslice_new_file>,
    words: Out<usize>,
) -> tenslice_status {
    run(|| {
        let (file, words) = (file.declared()?, words.writable()?);
        file.check().map_err(|refusal| refusal.of_file(file.format()))?;
        words.set(State::scratch_length(&file)?);
        Ok(OK)
    })
}

/// Plans a file: checks all declarations, computes the length of the file, and makes `writer` a writer at its start.
/// Writes nothing. `scratch` is an array of `words` elements; it may be NULL if none are needed. The declarations with
/// everything that they refer to, and the scratch memory, must stay in place, unchanged by the program, while the
/// writer is used. Constants in flash will do. Nothing is allocated, and nothing needs to be closed: a writer can be
/// dropped at any time.
///
/// After an error, tenslice_writer_error_text writes a message that names the tensor or the attribute, and says what
/// would help. Linear in the declarations; if the names are not sorted N log N, on chips quadratic.
///
/// Errors: NOT_IN_FORMAT if the format cannot hold a tensor or an attribute; NOT_BUILT_IN if the library cannot write
/// the format; REPEATED_NAME, REPEATED_KEY; KEY_ORDER if more than 1024 tensors are not in the order of the format:
/// see tenslice_new_tensors_sort; INVALID_UTF8; UNKNOWN_DTYPE; SHAPE_OVERFLOW; PARTIAL_BLOCK; RANK_MISMATCH;
/// INVALID_ALIGNMENT; TOO_DEEP; OUT_OF_SCRATCH if `words` is less than tenslice_writer_scratch_length returns; and others
/// for the limits of each format. INVALID_ARGUMENT also for a declaration with an invalid pointer or code. The contents
/// of the scratch memory are unspecified after an error.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_writer_open(
    writer: Out<tenslice_writer>,
    file: InfoIn<'static, tenslice_new_file>,
    scratch: Buffer<'static, u64>,
    words: Capacity,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let scratch = scratch.with_capacity(words, &[writer.memory(), file.memory(), error.memory()])?;
        let (place, file) = (writer.writable()?, file.declared()?);
        let mut state = State::START;
        details.of(state.plan(&file, scratch))?;
        place.hold::<Held>(file.writer(state, scratch));
        Ok(OK)
    })
}

/// Sets `length` to the length of the complete file in bytes, known before anything is written.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_writer_length(writer: Handle<tenslice_writer>, length: Out<u64>) -> tenslice_status {
    run(|| {
        let (writer, length) = (writer.get::<Held>()?, length.writable()?);
        length.set(writer.state().length().unwrap_or(u64::MAX)); // always known: C declares no frames
        Ok(OK)
    })
}

/// Sets `position` to the number of bytes written so far, which is the offset of the next byte. Also works after an error
/// of the writer.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_writer_position(writer: Handle<tenslice_writer>, position: Out<u64>) -> tenslice_status {
    run(|| {
        let (writer, position) = (writer.get::<Held>()?, position.writable()?);
        position.set(writer.state().position());
        Ok(OK)
    })
}

/// Writes the part of the file before the data to `sink`. Linear in the declarations; in zTensor quadratic if they are
/// not sorted. After an error, only tenslice_writer_position works.
///
/// Errors: SINK_FAILED if the sink failed; `error` has the offset. WRONG_STATE if the writer has begun before.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_writer_begin(
    writer: HandleMut<tenslice_writer>,
    sink: In<tenslice_sink>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    tenslice_writer_resume(writer, sink, 0, error)
}

/// Continues a file of which the first `written` bytes have been written before, by another writer of the same
/// declarations, as after a loss of power. Writes what is missing of the part before the data; tenslice_writer_due then
/// tells which data to pass. Call it instead of tenslice_writer_begin. Linear in the declarations.
///
/// Errors: INVALID_ARGUMENT also if the file is not that long, or if data with a digest has been written: write the file
/// again from its start; SINK_FAILED; WRONG_STATE if the writer has begun before.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_writer_resume(
    writer: HandleMut<tenslice_writer>,
    sink: In<tenslice_sink>,
    written: u64,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    writer.step(sink, Step::Resume(written), Array::none(), error)
}

/// Sets `due` to the data that is expected next. Returns TENSLICE_END if all data has been passed, and before the file
/// is begun. Linear in the tensors without data that come next.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_writer_due(
    writer: Handle<tenslice_writer>,
    due: InfoOut<tenslice_due>,
) -> tenslice_status {
    run(|| {
        let (writer, place) = (writer.get::<Held>()?, due.writable()?);
        let Some(due) = writer.state().due(writer.declared()) else { return Ok(END) };
        let (tensor, component, offset, missing) = (due.tensor, due.component, due.offset, due.missing);
        place.fill(tenslice_due { struct_size: 0, tensor, component, reserved: 0, offset, missing });
        Ok(OK)
    })
}

/// Writes the next `length` bytes of the data, in the order of the declarations, as they are in the file: little-endian.
/// A piece may have any length: it may end inside an element, and span tensors. The writer inserts padding and computes
/// digests. Linear in the length. After an error, only tenslice_writer_position works.
///
/// Errors: TOO_MANY_BYTES if all tensors are complete, after the bytes that belong to them have been written;
/// SINK_FAILED; WRONG_STATE if the writer has not begun, or has finished or failed.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_writer_data(
    writer: HandleMut<tenslice_writer>,
    sink: In<tenslice_sink>,
    bytes: Array<c_void>,
    length: Length,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    writer.step(sink, Step::Data(&[]), (bytes, length), error)
}

/// Writes the part of the file after the data. The file is then complete: tenslice_writer_position equals
/// tenslice_writer_length.
///
/// Errors: TOO_FEW_BYTES if data is missing; SINK_FAILED; WRONG_STATE if the writer has not begun, or has finished or
/// failed.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_writer_finish(
    writer: HandleMut<tenslice_writer>,
    sink: In<tenslice_sink>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    writer.step(sink, Step::Finish, Array::none(), error)
}

/// Writes the message of an error of a writer of `file` to `buffer`, such as `safetensors: tensor 1 "w": the format has
/// no dtype c128; convert the data`. Pass the `error` that the call set.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_writer_error_text(
    file: InfoIn<'static, tenslice_new_file>,
    error: In<tenslice_error>,
    buffer: Buffer<c_char>,
    capacity: Capacity,
    needed: OptionalOut<usize>,
) -> tenslice_status {
    run(|| {
        let buffer = buffer.with_capacity(capacity, &[file.memory(), error.memory(), needed.memory()])?;
        let (file, error) = (file.declared()?, error.read()?.to_rust()?);
        let explained = WriteExplanation::new(&file, error);
        write_whole(buffer, needed.writable()?, |out| {
            let _ = write!(out, "{explained}"); // never fails
        })
    })
}

/// Sorts the `count` declarations at `tensors` in the order in which the reference implementation of `format` writes them:
/// in safetensors by dtype, then by name; in zTensor by name. A file of sorted tensors is the one that the reference
/// implementation writes. In formats without such an order, the declarations stay as they are. Sort before
/// tenslice_writer_open. N log N comparisons; linear if they are sorted already.
///
/// Errors: NOT_BUILT_IN if the library cannot write the format; the errors of tenslice_writer_open for tensors that
/// cannot be read. The array is unchanged after an error.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_new_tensors_sort(
    format: u32,
    tensors: Buffer<tenslice_new_tensor>,
    count: Length,
) -> tenslice_status {
    run(|| {
        let format = u8::try_from(format).ok().and_then(Format::from_code);
        tensors.sort(count, format.ok_or(Error::new(ErrorKind::InvalidArgument))?)?;
        Ok(OK)
    })
}

impl HandleMut<'_, tenslice_writer> {
    /// Writes a part of the file; for [`Step::Data`], these bytes. A single copy, since programs write all parts.
    #[cfg_attr(small, inline(never))]
    fn step(
        self,
        sink: In<tenslice_sink>,
        step: Step<'_>,
        (bytes, length): (Array<c_void>, Length),
        error: OptionalOut<tenslice_error>,
    ) -> tenslice_status {
        with_details(&error, |details| {
            let memory = [sink.memory(), bytes.memory(length), error.memory()];
            let bytes = bytes.with_length_beside(length, self.memory())?;
            let mut sink = sink.sink()?;
            let writer = self.get_mut::<Held>()?.working(&memory)?;
            let step = if let Step::Data(_) = step { Step::Data(bytes) } else { step };
            details.of(writer.state.step(&writer.declared, writer.scratch, &mut sink, step))?;
            Ok(OK)
        })
    }
}

/// True if a format that is built in has the layout.
pub(super) const HAS_ITEMS: bool = cfg!(feature = "npy");
const HAS_SPARSE: bool = cfg!(any(feature = "ztensor", feature = "ztensor2"));
const HAS_PAIRS: bool = cfg!(feature = "tens");
pub(super) const HAS_TRAINS: bool = cfg!(feature = "blz");

/// Returns the dtype with this code.
fn to_dtype(code: u32) -> Checked<DType> {
    of_code(code).ok_or(Refusal::new(ErrorKind::UnknownDType, Part::DType))
}

impl tenslice_new_tensor {
    /// Returns the kind of layout, if there is one with this code; [`Layout::Other`] for large codes.
    pub(super) fn kind(&self) -> Option<Layout> {
        Layout::from_code(u8::try_from(self.layout).unwrap_or(u8::MAX))
    }

    /// Returns the layout. `ranks` are the bond dimensions, `descr` is the type of items.
    pub(super) fn layout<'a>(&self, ranks: &'a [u64], descr: Option<&'a str>) -> Checked<NewLayout<'a>> {
        let (dtype, count) = (self.dtype, self.count);
        Ok(match (self.kind(), descr) {
            (Some(Layout::Dense), Some(descr)) if HAS_ITEMS => NewLayout::Items { descr, size: self.item_size },
            #[cfg(feature = "gguf")]
            (Some(Layout::Dense | Layout::Blocks), None) if dtype >= FIRST_BLOCK => {
                let block = dtype.checked_sub(FIRST_BLOCK).and_then(BlockType::from_ggml);
                NewLayout::Blocks(block.ok_or(Refusal::new(ErrorKind::UnknownDType, Part::DType))?)
            }
            (Some(Layout::Dense), None) => NewLayout::Dense(to_dtype(dtype)?),
            (Some(Layout::SparseCsr), None) if HAS_SPARSE => {
                let (indices, pointers) = (to_dtype(self.indices)?, to_dtype(self.pointers)?);
                NewLayout::Csr { dtype: to_dtype(dtype)?, count, indices, pointers }
            }
            (Some(Layout::SparseCoo), None) if HAS_SPARSE => {
                NewLayout::Coo { dtype: to_dtype(dtype)?, count, indices: to_dtype(self.indices)? }
            }
            (Some(Layout::IndexValue), None) if HAS_PAIRS => NewLayout::Pairs { dtype: to_dtype(dtype)?, count },
            (Some(Layout::TensorTrain), None) if HAS_TRAINS => NewLayout::Train { dtype: to_dtype(dtype)?, ranks },
            (Some(Layout::Dense), Some(_))
            | (Some(Layout::SparseCsr | Layout::SparseCoo | Layout::IndexValue | Layout::TensorTrain), None) => {
                return Err(Refusal::not_in_format(Part::Layout));
            }
            _ => return Err(Refusal::new(ErrorKind::InvalidArgument, Part::Layout)),
        })
    }
}

impl tenslice_new_value {
    /// Returns the kind; `None` if no value to write is of this kind.
    pub(super) fn value_kind(&self) -> Option<ValueKind> {
        u8::try_from(self.kind).ok().and_then(ValueKind::from_code)
    }

    /// Returns the value of a kind without `data`; `None` for the other kinds.
    pub(super) fn number_value<'a>(&self) -> Checked<Option<NewValue<'a>>> {
        let invalid = Refusal::new(ErrorKind::InvalidArgument, Part::Value);
        let signed = i64::from_ne_bytes(self.integer.to_ne_bytes());
        Ok(Some(match (self.value_kind(), of_code(self.dtype)) {
            (Some(ValueKind::Null), _) => NewValue::Null,
            (Some(ValueKind::Bool), _) => match self.integer {
                0 => NewValue::Bool(false),
                1 => NewValue::Bool(true),
                _ => return Err(invalid),
            },
            (Some(ValueKind::Integer), Some(dtype)) => match dtype {
                DType::U8 => NewValue::U8(self.integer.try_into().map_err(|_| invalid)?),
                DType::U16 => NewValue::U16(self.integer.try_into().map_err(|_| invalid)?),
                DType::U32 => NewValue::U32(self.integer.try_into().map_err(|_| invalid)?),
                DType::U64 => NewValue::U64(self.integer),
                DType::I8 => NewValue::I8(signed.try_into().map_err(|_| invalid)?),
                DType::I16 => NewValue::I16(signed.try_into().map_err(|_| invalid)?),
                DType::I32 => NewValue::I32(signed.try_into().map_err(|_| invalid)?),
                DType::I64 => NewValue::I64(signed),
                _ => return Err(invalid),
            },
            (Some(ValueKind::Float), Some(DType::F64)) => NewValue::F64(self.real),
            #[allow(clippy::as_conversions, clippy::cast_possible_truncation)] // C rounds in the same way
            (Some(ValueKind::Float), Some(DType::F32)) => NewValue::F32(self.real as f32),
            (Some(ValueKind::Integer | ValueKind::Float), _) => return Err(invalid),
            _ => return Ok(None),
        }))
    }
}
