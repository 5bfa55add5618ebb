//! What only BLZ files have, and computing with tensor trains. Not in libraries that were built without that
//! format.

use core::ffi::c_void;

use super::decode::report;
use super::file::tenslice_file;
use super::pointer::{bytes_for, held, memory, numbers, out, out_info, out_optional, room, rooms};
use super::status::{Answer, OK, Refused, answer, plain, tenslice_error, tenslice_status};
use super::text::to_code;
use crate::File;
use crate::blz::{self, Scaled, Train};
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
///
/// # Safety
/// As for `held`.
unsafe fn blz(file: *const tenslice_file) -> Answer<blz::BlzFile<'static>> {
    // SAFETY: as the caller says.
    let file = unsafe { held::<File<'static>, _>(file)? };
    file.as_blz().ok_or(Refused::new(ErrorKind::InvalidArgument))
}

/// The index that is asked for, where C has UINT64_MAX for all.
fn fixed_of(fixed: &[u64]) -> impl Fn(usize) -> Option<u64> {
    move |core| fixed.get(core).copied().filter(|index| *index != u64::MAX)
}

/// Fills `info`, of which the caller has set `struct_size`.
///
/// Errors: INVALID_ARGUMENT, also for a file of another format; INVALID_HANDLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenslice_blz_get_info(
    file: *const tenslice_file,
    info: *mut tenslice_blz_info,
) -> tenslice_status {
    // SAFETY: as the header asks.
    unsafe {
        plain(|| {
            let blz = blz(file)?;
            out_info(info)?.fill(tenslice_blz_info {
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
}

/// Fills `core`, of which the caller has set `struct_size`, with what there is to know of core `index`.
///
/// Errors: NOT_FOUND beyond the last; INVALID_ARGUMENT, also for a file of another format; INVALID_HANDLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenslice_blz_get_core(
    file: *const tenslice_file,
    index: u32,
    core: *mut tenslice_blz_core,
) -> tenslice_status {
    // SAFETY: as the header asks.
    unsafe {
        plain(|| {
            let blz = blz(file)?;
            let core = out_info(core)?;
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
}

/// Makes `train` the train of the file, the cores of which are in memory.
///
/// Errors: NOT_IN_MEMORY: read them from where tenslice_blz_get_info says, and use tenslice_blz_train_in.
/// INVALID_ARGUMENT, also for a file of another format; INVALID_HANDLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenslice_blz_train(
    file: *const tenslice_file,
    train: *mut tenslice_train,
    error: *mut tenslice_error,
) -> tenslice_status {
    // SAFETY: as the header asks.
    unsafe {
        answer(error, |details| {
            let blz = blz(file)?;
            let train = out(train)?;
            train.hold_found(details, &blz.train())?;
            Ok(OK)
        })
    }
}

/// The same over the `length` bytes at `cores`, which the caller read from where tenslice_blz_get_info says.
///
/// Errors: WRONG_LENGTH; INVALID_ARGUMENT, also for a file of another format; INVALID_HANDLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenslice_blz_train_in(
    file: *const tenslice_file,
    cores: *const c_void,
    length: usize,
    train: *mut tenslice_train,
    error: *mut tenslice_error,
) -> tenslice_status {
    // SAFETY: as the header asks; the cores outlive the train, which is all that the 'static of a handle
    // stands for.
    unsafe {
        answer(error, |details| {
            let (blz, cores) = (blz(file)?, bytes_for(train, cores, length)?);
            out(train)?.hold_found(details, &blz.train_in(cores))?;
            Ok(OK)
        })
    }
}

/// Fills `scratch`, of which the caller has set `struct_size`.
///
/// Errors: INVALID_HANDLE, INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenslice_blz_get_scratch(
    train: *const tenslice_train,
    scratch: *mut tenslice_blz_scratch,
) -> tenslice_status {
    // SAFETY: as the header asks.
    unsafe {
        plain(|| {
            let train = held::<Train<'static>, _>(train)?;
            out_info(scratch)?.fill(tenslice_blz_scratch {
                struct_size: 0,
                reserved: 0,
                element: train.element_scratch(),
                slice: train.slice_scratch(),
                norm: train.inner_scratch(train),
            });
            Ok(OK)
        })
    }
}

/// The element of that index, `count` numbers at `index`: its real and imaginary part are written to the two
/// doubles at `value`. Takes as many multiplications as one matrix of each core has numbers.
///
/// Errors: WRONG_RANK, NO_SUCH_ELEMENT, OUT_OF_SCRATCH, INVALID_HANDLE, INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenslice_blz_element(
    train: *const tenslice_train,
    index: *const u64,
    count: usize,
    scratch: *mut c_void,
    scratch_length: usize,
    value: *mut f64,
    error: *mut tenslice_error,
) -> tenslice_status {
    // SAFETY: as the header asks.
    unsafe {
        answer(error, |details| {
            let others = &[memory(train, 1), memory(index, count), memory(value, 2)];
            let scratch = room(scratch.cast::<u8>(), scratch_length, others)?;
            let train = held::<Train<'static>, _>(train)?;
            let index = numbers(index, count)?;
            let value = out(value.cast::<[f64; 2]>())?;
            value.set(details.of(train.element(index, scratch))?);
            Ok(OK)
        })
    }
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
pub unsafe extern "C" fn tenslice_blz_slice(
    train: *const tenslice_train,
    fixed: *const u64,
    count: usize,
    destination: *mut c_void,
    capacity: usize,
    scratch: *mut c_void,
    scratch_length: usize,
    length: *mut u64,
    error: *mut tenslice_error,
) -> tenslice_status {
    // SAFETY: as the header asks.
    unsafe {
        answer(error, |details| {
            let others = &[memory(train, 1), memory(fixed, count), memory(length, 1)];
            let (destination, scratch) = rooms((destination, capacity), (scratch, scratch_length), others)?;
            let train = held::<Train<'static>, _>(train)?;
            let fixed = numbers(fixed, count)?;
            details.of(train.check_rank(fixed.len()))?;
            report(details, length, train.slice_len_by(&fixed_of(fixed)), || {
                train.slice_by(&fixed_of(fixed), destination, scratch).map(|written| written.len())
            })
        })
    }
}

/// The sum of all elements. Takes a multiplication for each number of the cores.
///
/// Errors: OUT_OF_SCRATCH, INVALID_HANDLE, INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenslice_blz_sum(
    train: *const tenslice_train,
    scratch: *mut c_void,
    scratch_length: usize,
    sum: *mut tenslice_scaled,
    error: *mut tenslice_error,
) -> tenslice_status {
    // SAFETY: as the header asks.
    unsafe {
        answer(error, |details| {
            let scratch = room(scratch.cast::<u8>(), scratch_length, &[memory(train, 1), memory(sum, 1)])?;
            let train = held::<Train<'static>, _>(train)?;
            let sum = out(sum)?;
            sum.set(details.of(train.sum(scratch))?.into());
            Ok(OK)
        })
    }
}

/// The norm: the square root of the sum of the squared magnitudes of all elements.
///
/// Errors: OUT_OF_SCRATCH, INVALID_HANDLE, INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenslice_blz_norm(
    train: *const tenslice_train,
    scratch: *mut c_void,
    scratch_length: usize,
    norm: *mut tenslice_scaled,
    error: *mut tenslice_error,
) -> tenslice_status {
    // SAFETY: as the header asks.
    unsafe {
        answer(error, |details| {
            let scratch = room(scratch.cast::<u8>(), scratch_length, &[memory(train, 1), memory(norm, 1)])?;
            let train = held::<Train<'static>, _>(train)?;
            let norm = out(norm)?;
            norm.set(details.of(train.norm(scratch))?.into());
            Ok(OK)
        })
    }
}

/// The inner product of two trains of the same shape and type: the sum of all elements of the first,
/// conjugated, times those of the second. `needed` (may be NULL) gets how much scratch memory that takes, in any
/// case: with none it can be asked for.
///
/// Errors: OUT_OF_SCRATCH; WRONG_TYPE; INVALID_ARGUMENT, also for trains of different shapes; INVALID_HANDLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenslice_blz_inner(
    train: *const tenslice_train,
    other: *const tenslice_train,
    scratch: *mut c_void,
    scratch_length: usize,
    inner: *mut tenslice_scaled,
    needed: *mut u64,
    error: *mut tenslice_error,
) -> tenslice_status {
    // SAFETY: as the header asks.
    unsafe {
        answer(error, |details| {
            let others = &[memory(train, 1), memory(other, 1), memory(inner, 1), memory(needed, 1)];
            let scratch = room(scratch.cast::<u8>(), scratch_length, others)?;
            let train = held::<Train<'static>, _>(train)?;
            let other = held::<Train<'static>, _>(other)?;
            let inner = out(inner)?;
            if let Some(needed) = out_optional(needed)? {
                needed.set(train.inner_scratch(other));
            }
            inner.set(details.of(train.inner(other, scratch))?.into());
            Ok(OK)
        })
    }
}
