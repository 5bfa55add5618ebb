//! Functions for BLZ files, and arithmetic on tensor trains. Absent from libraries built without that format.

use core::ffi::c_void;

use super::call::{run, with_details};
use super::decode::report_length;
use super::file::tenslice_file;
use super::pointer::{
    Array, Buffer, Capacity, ComplexOut, Handle, InfoOut, Length, OptionalOut, Out, Scratch, ScratchLength,
};
use super::status::{ApiError, FfiResult, OK, tenslice_error, tenslice_status};
use super::text::to_code;
use crate::blz::{self, Scaled};
use crate::error::{Error, ErrorKind};

/// A tensor train to compute with: references to its tables and to the numbers of its cores.
#[repr(C)]
pub struct tenslice_train {
    opaque: [u64; 12],
}

/// Information about a BLZ file.
#[repr(C)]
pub struct tenslice_blz_info {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// The type of the numbers: TENSLICE_F64 or TENSLICE_C128.
    pub dtype: u32,
    /// Number of cores, one per dimension.
    pub core_count: u32,
    /// Reserved, 0.
    pub reserved: u32,
    /// Offset in the file of the numbers of all cores, which follow each other without gaps.
    pub offset: u64,
    /// Length of the numbers of all cores, in bytes.
    pub length: u64,
    /// Number of numbers in the cores; a complex number counts once.
    pub parameters: u64,
    /// Elements of the tensor divided by the numbers in the cores. Infinite past 10^308 elements.
    pub compression_ratio: f64,
}

/// A core of a tensor train.
#[repr(C)]
pub struct tenslice_blz_core {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// Index of the core in the train, from 0.
    pub index: u32,
    /// Shape, row-major: the bond dimension before the core, the length of the core's dimension, the bond dimension
    /// after the core.
    pub shape: [u64; 3],
    /// Offset of the core's numbers in the file.
    pub offset: u64,
    /// Length of the core's numbers in bytes.
    pub length: u64,
}

/// The scratch memory that calls with a train need, in bytes.
#[repr(C)]
pub struct tenslice_blz_scratch {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// Reserved, 0.
    pub reserved: u32,
    /// Bytes for tenslice_blz_element and tenslice_blz_sum.
    pub element: u64,
    /// Bytes for tenslice_blz_slice.
    pub slice: u64,
    /// Bytes for tenslice_blz_norm.
    pub norm: u64,
}

/// A result that may exceed the range of a double: `real` and `imaginary` times 2^`exponent`. If the result is in that
/// range, its real part is ldexp(real, exponent).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct tenslice_scaled {
    /// The real part.
    pub real: f64,
    /// The imaginary part.
    pub imaginary: f64,
    /// The exponent of the power of two that scales both parts.
    pub exponent: i32,
    /// Reserved, 0.
    pub reserved: u32,
}

impl From<Scaled> for tenslice_scaled {
    fn from(scaled: Scaled) -> Self {
        let [real, imaginary] = scaled.parts;
        Self { real, imaginary, exponent: scaled.exponent, reserved: 0 }
    }
}

/// Returns the BLZ file that a handle holds.
fn blz(file: &Handle<'_, tenslice_file>) -> FfiResult<blz::BlzFile<'static>> {
    file.get()?.as_blz().ok_or(ApiError::new(ErrorKind::InvalidArgument))
}

/// Returns a function from a dimension to its fixed index. C passes UINT64_MAX for a dimension that is not fixed.
fn fixed_of(fixed: &[u64]) -> impl Fn(usize) -> Option<u64> {
    move |core| fixed.get(core).copied().filter(|index| *index != u64::MAX)
}

/// Fills `info` with information about a BLZ file.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_blz_get_info(
    file: Handle<tenslice_file>,
    info: InfoOut<tenslice_blz_info>,
) -> tenslice_status {
    run(|| {
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

/// Fills `core` with information about core `index`.
///
/// Errors: NOT_FOUND if there is no such core.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_blz_get_core(
    file: Handle<tenslice_file>,
    index: u32,
    core: InfoOut<tenslice_blz_core>,
) -> tenslice_status {
    run(|| {
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

/// Makes `train` the tensor train of the file, whose cores must be in memory.
///
/// Errors: NOT_IN_MEMORY; then read the cores from the offset that tenslice_blz_get_info returns, and call
/// tenslice_blz_train_from_bytes.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_blz_train(
    file: Handle<tenslice_file>,
    train: Out<tenslice_train>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let blz = blz(&file)?;
        let train = train.writable()?;
        train.store_found(details, &blz.train())?;
        Ok(OK)
    })
}

/// Makes `train` the tensor train of the file, with its cores in the `length` bytes at `cores`. The caller has read
/// them from the offset that tenslice_blz_get_info returns; they must stay in place while `train` is used.
///
/// Errors: WRONG_LENGTH.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_blz_train_from_bytes(
    file: Handle<tenslice_file>,
    cores: Array<'static, c_void>,
    length: Length,
    train: Out<tenslice_train>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (blz, cores) = (blz(&file)?, cores.with_length_beside(length, train.memory())?);
        train.writable()?.store_found(details, &blz.train_in(cores))?;
        Ok(OK)
    })
}

/// Fills `scratch` with the scratch memory that calls with `train` need.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_blz_get_scratch(
    train: Handle<tenslice_train>,
    scratch: InfoOut<tenslice_blz_scratch>,
) -> tenslice_status {
    run(|| {
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

/// Computes one element and writes its real and imaginary part to the two doubles at `value`. `index` is an array of
/// `count` indices, one per dimension. Scratch memory: the `element` bytes of tenslice_blz_get_scratch. For each core,
/// takes as many multiplications as one matrix of the core has numbers.
///
/// Errors: WRONG_RANK, NO_SUCH_ELEMENT, OUT_OF_SCRATCH.
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
    with_details(&error, |details| {
        let others = &[train.memory(), index.memory(count), value.memory()];
        let scratch = scratch.with_length(scratch_length, others)?;
        let train = train.get()?;
        let index = index.with_length(count)?;
        let value = value.writable()?;
        value.set(details.of(train.element(index, scratch))?);
        Ok(OK)
    })
}

/// Computes a slice: all elements whose indices match the `count` numbers at `fixed`. UINT64_MAX selects all indices of
/// a dimension, as does a dimension beyond `count`. Writes the elements to `destination`, row-major, as doubles or
/// pairs of doubles. Scratch memory: the `slice` bytes of tenslice_blz_get_scratch.
///
/// Takes at most 4 (N (R^2 + R) + N M / L) multiplications for N elements, as does tenslice_tensor_read_into. R is the
/// largest bond dimension, M is the sum over all cores of the numbers in one matrix, and L is the length of the longest
/// dimension that is not fixed, or 1. If it saves three quarters of the multiplications, the last cores are multiplied
/// from the right; the last digits may then differ from those of tenslice_blz_element.
///
/// Errors: TOO_SMALL, WRONG_RANK, NO_SUCH_ELEMENT, SHAPE_OVERFLOW, OUT_OF_SCRATCH; nothing is written in these cases.
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
    with_details(&error, |details| {
        let [train_memory, fixed_memory, length_memory] = [train.memory(), fixed.memory(count), length.memory()];
        let others = &[train_memory, fixed_memory, length_memory, destination.memory(capacity)];
        let scratch = scratch.with_length(scratch_length, others)?;
        let destination = destination.with_capacity(capacity, &[train_memory, fixed_memory, length_memory])?;
        let train = train.get()?;
        let fixed = fixed.with_length(count)?;
        details.of(train.check_rank(fixed.len()))?;
        report_length(details, &length, train.slice_length_with(&fixed_of(fixed)), || {
            train.slice_with(&fixed_of(fixed), destination, scratch).map(|written| written.len())
        })
    })
}

/// Computes the sum of all elements. Takes one multiplication per number in the cores. Scratch memory: the `element`
/// bytes of tenslice_blz_get_scratch.
///
/// Errors: OUT_OF_SCRATCH.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_blz_sum(
    train: Handle<tenslice_train>,
    scratch: Scratch<c_void>,
    scratch_length: ScratchLength,
    sum: Out<tenslice_scaled>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let scratch = scratch.with_length(scratch_length, &[train.memory(), sum.memory()])?;
        let train = train.get()?;
        let sum = sum.writable()?;
        sum.set(details.of(train.sum(scratch))?.into());
        Ok(OK)
    })
}

/// Computes the norm: the square root of the sum of the squared magnitudes of all elements. Scratch memory: the `norm`
/// bytes of tenslice_blz_get_scratch.
///
/// Errors: OUT_OF_SCRATCH.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_blz_norm(
    train: Handle<tenslice_train>,
    scratch: Scratch<c_void>,
    scratch_length: ScratchLength,
    norm: Out<tenslice_scaled>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let scratch = scratch.with_length(scratch_length, &[train.memory(), norm.memory()])?;
        let train = train.get()?;
        let norm = norm.writable()?;
        norm.set(details.of(train.norm(scratch))?.into());
        Ok(OK)
    })
}

/// Computes the inner product of two trains of the same shape and type: the sum of all elements of the first,
/// conjugated, times those of the second. `needed` (may be NULL) is set to the number of bytes of scratch memory
/// needed, even after OUT_OF_SCRATCH: call without scratch memory to query it.
///
/// Errors: OUT_OF_SCRATCH; WRONG_TYPE; INVALID_ARGUMENT also if the shapes differ.
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
    with_details(&error, |details| {
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
