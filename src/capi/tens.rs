//! Functions for TENS files. Absent from libraries built without that format.

use core::ffi::c_void;

use super::attributes::tenslice_cursor;
use super::call::{run, with_details};
use super::component::tenslice_bytes;
use super::file::tenslice_file;
use super::pointer::{Array, Buffer, Capacity, Handle, HandleMut, InfoOut, Length, OptionalOut, Out};
use super::status::{ApiError, FfiResult, OK, tenslice_error, tenslice_status};
use super::text::tenslice_str;
use crate::error::{Error, ErrorKind};
use crate::tens::{Symmetry, TensChunk, TensChunks};
use crate::{DType, tens};

/// A dimension of a TENS file.
#[repr(C)]
pub struct tenslice_tens_dimension {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// The length of the dimension.
    pub length: u32,
    /// The name of the dimension's index, a single byte: 'a', 'b' and so on in most files, but any byte is allowed.
    pub name: u8,
    /// 1 if the file marks the dimension as sparse, else 0. Informational only.
    pub is_sparse: u8,
    /// Reserved, 0.
    pub reserved: [u8; 6],
}

/// A chunk of a TENS file.
#[repr(C)]
pub struct tenslice_tens_chunk {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// 1 if the chunk is a symmetry that omits elements from the data, else 0.
    pub is_packed: u32,
    /// The type of the chunk: "SYMMETRY", "DENSDATA", or eight other bytes, unknown to this library.
    pub magic: [u8; 8],
    /// Offset of the chunk in the file.
    pub offset: u64,
    /// Length of the chunk in bytes, including its 16-byte head.
    pub length: u64,
    /// The operation of a symmetry on the elements, such as "-x": free text in an unspecified encoding. `data` is NULL
    /// for other chunks.
    pub operation: tenslice_str,
    /// The names of the indices of a symmetry in their new order, one byte per dimension. `data` is NULL for other
    /// chunks.
    pub map: tenslice_str,
}

/// Returns the TENS file that a handle holds.
fn tens(file: &Handle<'_, tenslice_file>) -> FfiResult<tens::TensFile<'static>> {
    file.get()?.as_tens().ok_or(ApiError::new(ErrorKind::InvalidArgument))
}

/// Fills `dimension` with information about dimension `index`. Dimension 0 varies fastest.
///
/// Errors: NOT_FOUND if there is no such dimension.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tens_get_dimension(
    file: Handle<tenslice_file>,
    index: u32,
    dimension: InfoOut<tenslice_tens_dimension>,
) -> tenslice_status {
    run(|| {
        let tens = tens(&file)?;
        let dimension = dimension.writable()?;
        let found = usize::try_from(index).ok().and_then(|index| tens.dimensions().nth(index));
        let found = found.ok_or(Error::new(ErrorKind::NotFound))?;
        dimension.fill(tenslice_tens_dimension {
            struct_size: 0,
            length: found.length,
            name: found.name,
            is_sparse: u8::from(found.is_sparse),
            reserved: [0; 6],
        });
        Ok(OK)
    })
}

/// Sets `cursor` before the first chunk, for tenslice_tens_chunks_next. A file has no chunks if its data follows the
/// dimensions directly, as in the files of most programs.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tens_chunks(file: Handle<tenslice_file>, cursor: Out<tenslice_cursor>) -> tenslice_status {
    run(|| {
        let tens = tens(&file)?;
        cursor.writable()?.store(&tens.chunks());
        Ok(OK)
    })
}

/// Reads the next chunk, in the order of the file; returns TENSLICE_END after the last.
///
/// Errors: NOT_IN_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tens_chunks_next(
    cursor: HandleMut<tenslice_cursor>,
    chunk: InfoOut<tenslice_tens_chunk>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let chunks = cursor.get_mut::<TensChunks<'static>>()?;
        let chunk = chunk.writable()?;
        match (chunks.next(), chunks.error()) {
            (Some(next), _) => chunk.fill(of_chunk(&next)),
            (None, error) => return details.end(error),
        }
        Ok(OK)
    })
}

fn of_chunk(chunk: &TensChunk<'static>) -> tenslice_tens_chunk {
    let symmetry = chunk.symmetry();
    let text = |of: fn(&Symmetry<'static>) -> &'static [u8]| {
        symmetry.as_ref().map_or(tenslice_str::from(None), |symmetry| tenslice_str::of_bytes(of(symmetry)))
    };
    tenslice_tens_chunk {
        struct_size: 0,
        is_packed: u32::from(symmetry.is_some_and(|symmetry| symmetry.is_packed())),
        magic: chunk.magic,
        offset: chunk.extent.offset,
        length: chunk.extent.length,
        operation: text(Symmetry::operation),
        map: text(Symmetry::map),
    }
}

/// Writes the permutation of the symmetry in the chunk at `offset` to `sources`, an array of `capacity` numbers: for
/// each position, the dimension whose index moves there.
///
/// Errors: NOT_FOUND if there is no symmetry at `offset`, or if dimensions that share a name make it ambiguous;
/// TOO_SMALL if there are more than `capacity` dimensions; NOT_IN_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tens_permutation(
    file: Handle<tenslice_file>,
    offset: u64,
    sources: Buffer<u32>,
    capacity: Capacity,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let mut chunks = tens(&file)?.chunks();
        let sources = sources.with_capacity(capacity, &[file.memory()])?;
        let symmetry = chunks.find(|chunk| chunk.extent.offset == offset).and_then(|chunk| chunk.symmetry());
        let not_found = || chunks.error().unwrap_or(Error::new(ErrorKind::NotFound));
        let symmetry = details.of(symmetry.ok_or_else(not_found))?;
        let places = u32::try_from(symmetry.map().len()).unwrap_or(u32::MAX);
        let sources = sources.get_mut(..symmetry.map().len()).ok_or(ApiError::new(ErrorKind::TooSmall))?;
        if (0..places).any(|place| symmetry.source_of(place).is_none()) {
            return Err(ApiError::new(ErrorKind::NotFound));
        }
        for (slot, place) in sources.iter_mut().zip(0..places) {
            *slot = symmetry.source_of(place).unwrap_or(0); // `Some`, as just checked
        }
        Ok(OK)
    })
}

/// Sets `value` to the bytes of one element. `index` is an array of `rank` indices, one per dimension. The bytes are in
/// the byte order that the component states, at any address: copy them with memcpy. If the file stores pairs and none
/// has this index, the element is 0 and `value` is set to NULL. Each call reads all pairs; to read many elements, use
/// tenslice_tensor_sparse.
///
/// Errors: WRONG_RANK, NO_SUCH_ELEMENT, NOT_IN_MEMORY; UNSUPPORTED_LAYOUT for packed elements.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tens_element(
    file: Handle<tenslice_file>,
    index: Array<u64>,
    rank: Length,
    value: Out<tenslice_bytes>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let tens = tens(&file)?;
        let (index, value) = (index.with_length(rank)?, value.writable()?);
        let element = details.of(tens.element_bytes(index))?;
        let none = tenslice_bytes { data: core::ptr::null::<c_void>(), length: 0 };
        value.set(element.map_or(none, Into::into));
        Ok(OK)
    })
}

/// Returns the double nearest to an IEEE binary128, whose bits are `high` (upper half) and `low` (lower half). Ties go
/// to even.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_binary128_to_double(low: u64, high: u64) -> f64 {
    DType::binary128_to_f64(u128::from(high) << 64 | u128::from(low))
}
