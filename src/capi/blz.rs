//! What only BLZ files have, and computing with tensor trains. Not in libraries that were built without that
//! format.

use core::ffi::c_void;

use super::decode::report_length;
use super::file::tenslice_file;
use super::pointer::{
    Array, Buffer, Capacity, ComplexOut, Handle, InfoOut, Length, OptionalOut, Out, Scratch, ScratchLength, buffers,
};
use super::status::{ApiError, FfiResult, OK, answer, plain, tenslice_error, tenslice_status};
use super::text::to_code;
use crate::blz::{self, Scaled};
use crate::error::{Error, ErrorKind};

/// A tensor train to compute with: its tables and the numbers of its cores, wherever they lie.
#[repr(C)]
pub struct tenslice_train {
    opaque: [u64; 12],
}

/// What there is to know of a BLZ file. Set `struct_size` to `sizeof` before the call.
#[repr(C)]
pub struct tenslice_blz_info {
    /// Size of this struct in the caller's header.
    pub struct_size: u32,
    /// The type of the numbers: TENSLICE_F64 or TENSLICE_C128.
    pub dtype: u32,
    /// How many cores there are: one for each dimension.
    pub core_count: u32,
    /// 0.
    pub reserved: u32,
    /// Where the numbers of all cores stand in the file, one core after the other.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
    /// How many numbers the cores have, a complex one counted once.
    pub parameters: u64,
    /// How many elements the tensor has for each of them. Infinite beyond 10^308 elements.
    pub compression_ratio: f64,
}

/// A core. Set `struct_size` to `sizeof` before the call.
#[repr(C)]
pub struct tenslice_blz_core {
    /// Size of this struct in the caller's header.
    pub struct_size: u32,
    /// Its place in the train, from 0.
    pub index: u32,
    /// Its shape, row-major: the bond dimension before it, the length of its dimension, the bond behind it.
    pub shape: [u64; 3],
    /// Where its numbers begin in the file.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
}

/// How much scratch memory calls with a train need, in bytes. Set `struct_size` to `sizeof` before the call.
#[repr(C)]
pub struct tenslice_blz_scratch {
    /// Size of this struct in the caller's header.
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    /// For tenslice_blz_element and tenslice_blz_sum.
    pub element: u64,
    /// For tenslice_blz_slice.
    pub slice: u64,
    /// For tenslice_blz_norm.
    pub norm: u64,
}

/// A result that may lie beyond the range of a double: `real` and `imaginary` times 2^`exponent`, which is
/// ldexp(real, exponent) where it is not.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_scaled {
    /// The real part.
    pub real: f64,
    /// The imaginary part.
    pub imaginary: f64,
    /// The power of two that both have to be multiplied by.
    pub exponent: i32,
    /// 0.
    pub reserved: u32,
}

impl From<Scaled> for tenslice_scaled {
    fn from(scaled: Scaled) -> Self {
        let [real, imaginary] = scaled.parts;
        Self { real, imaginary, exponent: scaled.exponent, reserved: 0 }
    }
}

/// The BLZ file that a handle holds.
fn blz(file: &Handle<'_, tenslice_file>) -> FfiResult<blz::BlzFile<'static>> {
    file.get()?.as_blz().ok_or(ApiError::new(ErrorKind::InvalidArgument))
}

/// The index that is asked for, where C has UINT64_MAX for all.
fn fixed_of(fixed: &[u64]) -> impl Fn(usize) -> Option<u64> {
    move |core| fixed.get(core).copied().filter(|index| *index != u64::MAX)
}

/// Fills `info`, of which the caller has set `struct_size`.
///
/// Errors: INVALID_ARGUMENT, also for a file of another format; INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_blz_get_info(
    file: Handle<tenslice_file>,
    info: InfoOut<tenslice_blz_info>,
) -> tenslice_status {
    plain(|| {
        let blz = blz(&file)?;
        info.writable()?.fill(tenslice_blz_info {
            struct_size: 0,
            dtype: to_code(Some(blz.dtype())),
            core_count: u32::try_from(blz.cores().len()).unwrap_or(u32::MAX),
            reserved: 0,
            offset: blz.extent().offset,
            length: blz.extent().length,
            parameters: blz.parameters(),
            compression_ratio: blz.compression_ratio(),
        });
        Ok(OK)
    })
}

/// Fills `core`, of which the caller has set `struct_size`, with what there is to know of core `index`.
///
/// Errors: NOT_FOUND beyond the last; INVALID_ARGUMENT, also for a file of another format; INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_blz_get_core(
    file: Handle<tenslice_file>,
    index: u32,
    core: InfoOut<tenslice_blz_core>,
) -> tenslice_status {
    plain(|| {
        let blz = blz(&file)?;
        let core = core.writable()?;
        let found = usize::try_from(index).ok().and_then(|index| blz.cores().nth(index));
        let found = found.ok_or(Error::new(ErrorKind::NotFound))?;
        core.fill(tenslice_blz_core {
            struct_size: 0,
            index: u32::from(found.index),
            shape: found.shape,
            offset: found.extent.offset,
            length: found.extent.length,
        });
        Ok(OK)
    })
}

/// Makes `train` the train of the file, the cores of which are in memory.
///
/// Errors: NOT_IN_MEMORY: read them from where tenslice_blz_get_info says, and use tenslice_blz_train_in.
/// INVALID_ARGUMENT, also for a file of another format; INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_blz_train(
    file: Handle<tenslice_file>,
    train: Out<tenslice_train>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let blz = blz(&file)?;
        let train = train.writable()?;
        train.store_found(details, &blz.train())?;
        Ok(OK)
    })
}

/// The same over the `length` bytes at `cores`, which the caller read from where tenslice_blz_get_info says.
///
/// Errors: WRONG_LENGTH; INVALID_ARGUMENT, also for a file of another format; INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_blz_train_in(
    file: Handle<tenslice_file>,
    cores: Array<'static, c_void>,
    length: Length,
    train: Out<tenslice_train>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let (blz, cores) = (blz(&file)?, cores.with_length_beside(length, train.memory())?);
        train.writable()?.store_found(details, &blz.train_in(cores))?;
        Ok(OK)
    })
}

/// Fills `scratch`, of which the caller has set `struct_size`.
///
/// Errors: INVALID_HANDLE, INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_blz_get_scratch(
    train: Handle<tenslice_train>,
    scratch: InfoOut<tenslice_blz_scratch>,
) -> tenslice_status {
    plain(|| {
        let train = train.get()?;
        scratch.writable()?.fill(tenslice_blz_scratch {
            struct_size: 0,
            reserved: 0,
            element: train.element_scratch(),
            slice: train.slice_scratch(),
            norm: train.inner_scratch(train),
        });
        Ok(OK)
    })
}

/// The element of that index, `count` numbers at `index`: its real and imaginary part are written to the two
/// doubles at `value`. Takes as many multiplications as one matrix of each core has numbers.
///
/// Errors: WRONG_RANK, NO_SUCH_ELEMENT, OUT_OF_SCRATCH, INVALID_HANDLE, INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_blz_element(
    train: Handle<tenslice_train>,
    index: Array<u64>,
    count: Length,
    scratch: Scratch<c_void>,
    scratch_length: ScratchLength,
    value: ComplexOut,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let others = &[train.memory(), index.memory(count), value.memory()];
        let scratch = scratch.with_length(scratch_length, others)?;
        let train = train.get()?;
        let index = index.with_length(count)?;
        let value = value.writable()?;
        value.set(details.of(train.element(index, scratch))?);
        Ok(OK)
    })
}

/// Writes the elements whose indices are as the `count` numbers at `fixed` say, UINT64_MAX standing for all of
/// a dimension, as does a dimension for which there is no number: row-major, to the `capacity` bytes at
/// `destination`, doubles or pairs of them. `length` (may be NULL) gets the number of bytes written or, with
/// TOO_SMALL, needed.
///
/// Takes at most 4 (N (R^2 + R) + N M / L) multiplications for N elements, where R is the largest bond dimension, M the
/// sum over all cores of how many numbers one matrix has, and L the length of the longest dimension that is not fixed,
/// or 1; tenslice_tensor_read_into takes as many. Where it saves three quarters of them, the last cores are multiplied
/// from the right: the last digits may differ from those of tenslice_blz_element.
///
/// Errors: TOO_SMALL, WRONG_RANK, NO_SUCH_ELEMENT, SHAPE_OVERFLOW, OUT_OF_SCRATCH: nothing is written
/// then. INVALID_HANDLE, INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_blz_slice(
    train: Handle<tenslice_train>,
    fixed: Array<u64>,
    count: Length,
    destination: Buffer<c_void>,
    capacity: Capacity,
    scratch: Scratch<c_void>,
    scratch_length: ScratchLength,
    length: OptionalOut<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let others = &[train.memory(), fixed.memory(count), length.memory()];
        let (destination, scratch) = buffers((destination, capacity), (scratch, scratch_length), others)?;
        let train = train.get()?;
        let fixed = fixed.with_length(count)?;
        details.of(train.check_rank(fixed.len()))?;
        report_length(details, &length, train.slice_len_by(&fixed_of(fixed)), || {
            train.slice_by(&fixed_of(fixed), destination, scratch).map(|written| written.len())
        })
    })
}

/// The sum of all elements. Takes a multiplication for each number of the cores.
///
/// Errors: OUT_OF_SCRATCH, INVALID_HANDLE, INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_blz_sum(
    train: Handle<tenslice_train>,
    scratch: Scratch<c_void>,
    scratch_length: ScratchLength,
    sum: Out<tenslice_scaled>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let scratch = scratch.with_length(scratch_length, &[train.memory(), sum.memory()])?;
        let train = train.get()?;
        let sum = sum.writable()?;
        sum.set(details.of(train.sum(scratch))?.into());
        Ok(OK)
    })
}

/// The norm: the square root of the sum of the squared magnitudes of all elements.
///
/// Errors: OUT_OF_SCRATCH, INVALID_HANDLE, INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_blz_norm(
    train: Handle<tenslice_train>,
    scratch: Scratch<c_void>,
    scratch_length: ScratchLength,
    norm: Out<tenslice_scaled>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let scratch = scratch.with_length(scratch_length, &[train.memory(), norm.memory()])?;
        let train = train.get()?;
        let norm = norm.writable()?;
        norm.set(details.of(train.norm(scratch))?.into());
        Ok(OK)
    })
}

/// The inner product of two trains of the same shape and type: the sum of all elements of the first,
/// conjugated, times those of the second. `needed` (may be NULL) gets how much scratch memory that takes, in any
/// case: with none it can be asked for.
///
/// Errors: OUT_OF_SCRATCH; WRONG_TYPE; INVALID_ARGUMENT, also for trains of different shapes; INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_blz_inner(
    train: Handle<tenslice_train>,
    other: Handle<tenslice_train>,
    scratch: Scratch<c_void>,
    scratch_length: ScratchLength,
    inner: Out<tenslice_scaled>,
    needed: OptionalOut<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    answer(&error, |details| {
        let others = &[train.memory(), other.memory(), inner.memory(), needed.memory()];
        let scratch = scratch.with_length(scratch_length, others)?;
        let train = train.get()?;
        let other = other.get()?;
        let inner = inner.writable()?;
        if let Some(needed) = needed.writable()? {
            needed.set(train.inner_scratch(other));
        }
        inner.set(details.of(train.inner(other, scratch))?.into());
        Ok(OK)
    })
}
