//! Writes an array of b2nd without compression: the header, the chunks, the table of their offsets, and the trailer.
//!
//! A chunk is one block with whole rows, so the elements are in the file in row-major order. The last chunk is filled
//! up with zeros. These are the bytes that c-blosc2 writes for level 0, chunks and blocks of this shape, and one thread.
#![forbid(unsafe_code)]

use super::MAX_RANK;
use super::chunk::{LONG, MAX_BLOCKSIZE};
use super::frame::HEADER;
use crate::bytes::num::{count_of, product, quotient, remainder};
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::format::{FormatWriter, Stage, check_single};
use crate::types::DType;
use crate::write::declaration::{Checked, Declarations, NewLayout, NewTensor, Refusal};
use crate::write::out::Out;
use crate::write::sum::{Sum, Sums};

/// The length that a chunk does not exceed, unless a single row is longer.
const CHUNK: u64 = 4 << 20;

/// The length of the trailer, without metalayers.
const TRAILER: u32 = 35;

pub(crate) struct B2ndWriter;

impl FormatWriter for B2ndWriter {
    fn check_file(&self, file: &dyn Declarations) -> Checked {
        check_single(file)
    }

    fn check_tensor(&self, _: &dyn Declarations, _: u32, tensor: &NewTensor<'_>) -> Checked {
        let NewLayout::Dense(dtype) = tensor.layout else { return Err(Refusal::not_in_format(Part::Layout)) };
        if name_of(dtype).is_none() {
            return Err(Refusal::not_in_format(Part::DType));
        }
        let is_long = |length: &u64| i64::try_from(*length).is_err();
        if tensor.shape.len() > MAX_RANK || tensor.shape.iter().any(is_long) {
            return Err(Refusal::not_in_format(Part::Shape));
        }
        tensor.check_running_product()?;
        let grid = Grid::of(tensor).ok_or(Refusal::new(ErrorKind::ShapeOverflow, Part::Shape))?;
        // A chunk is a block, and the table of offsets as well.
        let most = u64::from(MAX_BLOCKSIZE.unsigned_abs());
        if grid.chunk > most || grid.count > quotient(most, 8) {
            return Err(Refusal::not_in_format(Part::Shape));
        }
        Ok(())
    }

    fn head(&self, file: &dyn Declarations, out: &mut Out<'_>) {
        let Ok(tensor) = file.tensor(0) else { return };
        let Some((dtype, grid)) = parts_of(&tensor) else { return };
        let name = name_of(dtype).unwrap_or_default().as_bytes();
        let rank = u32::try_from(tensor.shape.len()).unwrap_or(u32::MAX);
        let content =
            rank.saturating_mul(19).saturating_add(12).saturating_add(u32::try_from(name.len()).unwrap_or(0));
        let header = content.saturating_add(HEADER_TO_CONTENT);
        let (nbytes, cbytes) = (grid.count.saturating_mul(grid.chunk), grid.count.saturating_mul(grid.stored()));
        let offsets = if grid.count == 0 { 0 } else { grid.count.saturating_mul(8).saturating_add(LONG) };
        let frame = u64::from(header).saturating_add(cbytes).saturating_add(offsets).saturating_add(TRAILER.into());
        let chunk = u32::try_from(grid.chunk).unwrap_or(u32::MAX);

        out.bytes(b"\x9e\xa8b2frame\0");
        marked_u32(0xd2, header, out);
        marked_u64(0xcf, frame, out);
        // The version and 64-bit offsets; a contiguous frame; LZ4 at level 0; blocks that are split if that helps.
        out.bytes(&[0xa4, 0x12, 0, 1, 2]);
        marked_u64(0xd3, nbytes, out);
        marked_u64(0xd3, cbytes, out);
        marked_u32(0xd2, u32::try_from(dtype.byte_size()).unwrap_or(1), out);
        marked_u32(0xd2, chunk, out);
        marked_u32(0xd2, chunk, out);
        // The numbers of threads, no metalayers in the trailer, no filters, and the codec again.
        out.bytes(&[0xd1, 0, 0, 0xd1, 0, 1, 0xc2, 0xd8, 6]);
        out.zeros(6);
        out.bytes(&[1]);
        out.zeros(9);

        out.bytes(b"\x93\xcd\0\x11\xde\0\x01\xa4b2nd");
        marked_u32(0xd2, HEADER_TO_CONTENT.saturating_sub(5), out);
        out.bytes(b"\xdc\0\x01");
        marked_u32(0xc6, content, out);
        let rank = u8::try_from(rank).unwrap_or(u8::MAX);
        let dimensions = 0x90_u8.saturating_add(rank);
        out.bytes(&[0x97, 0, rank, dimensions]);
        tensor.shape.iter().for_each(|length| marked_u64(0xd3, *length, out));
        for _ in 0..2 {
            out.bytes(&[dimensions]);
            for (index, length) in tensor.shape.iter().enumerate() {
                let length = if index == grid.dimension { grid.rows } else { *length };
                // Before the dimension that is cut, all lengths are 1.
                marked_u32(0xd2, u32::try_from(if grid.count == 0 { 1 } else { length }).unwrap_or(u32::MAX), out);
            }
        }
        out.bytes(&[0]);
        marked_u32(0xdb, u32::try_from(name.len()).unwrap_or(0), out);
        out.bytes(name);
    }

    fn before(&self, file: &dyn Declarations, _: Stage, _: &mut Sum, out: &mut Out<'_>) {
        if file.tensor(0).ok().and_then(|tensor| tensor.length()).is_some_and(|length| length > 0) {
            self.between(file, out);
        }
    }

    fn run_length(&self, file: &dyn Declarations) -> Option<u64> {
        Some(parts_of(&file.tensor(0).ok()?)?.1.chunk)
    }

    fn between(&self, file: &dyn Declarations, out: &mut Out<'_>) {
        let Some((dtype, grid)) = file.tensor(0).ok().as_ref().and_then(parts_of) else { return };
        let [size, ..] = dtype.byte_size().to_le_bytes();
        chunk_header(size, grid.chunk, [0; 6], 1, out);
    }

    fn after(&self, file: &dyn Declarations, _: Stage, _: &Sum, out: &mut Out<'_>) {
        let Ok(tensor) = file.tensor(0) else { return };
        let Some((_, grid)) = parts_of(&tensor) else { return };
        // A chunk may have any length.
        let rest = remainder(tensor.length().unwrap_or(0), grid.chunk);
        out.zeros(if rest == 0 { 0 } else { grid.chunk.saturating_sub(rest) });
    }

    fn tail(&self, file: &dyn Declarations, _: &Sums<'_>, out: &mut Out<'_>) {
        let Some((_, grid)) = file.tensor(0).ok().as_ref().and_then(parts_of) else { return };
        if grid.count > 0 {
            // Writers name a shuffle here, which has no effect on bytes that are only copied.
            chunk_header(8, grid.count.saturating_mul(8), [0, 0, 0, 0, 0, 1], 0, out);
            (0..grid.count).for_each(|index| out.u64(index.saturating_mul(grid.stored())));
        }
        out.bytes(b"\x94\x01\x93\xcd\0\x06\xde\0\0\xdc\0\0");
        marked_u32(0xce, TRAILER, out);
        out.bytes(&[0xd8, 0]);
        out.zeros(16);
    }
}

/// The length of what precedes the content of the metalayer: the fixed header, the index of the metalayers, the head of
/// the list of contents, and the head of the content.
const HEADER_TO_CONTENT: u32 = 87 + 17 + 3 + 5;
const _: () = assert!(HEADER == 87);

/// The chunks of an array.
#[derive(Clone, Copy)]
struct Grid {
    /// The dimension that is cut: the first one that is not 1. All later ones are whole.
    dimension: usize,
    /// The length of a chunk in this dimension.
    rows: u64,
    /// The length of a chunk in bytes.
    chunk: u64,
    /// The number of chunks; 0 if the array has no elements.
    count: u64,
}

impl Grid {
    /// Returns the chunks of a dense array; `None` if the array exceeds 63 bits.
    fn of(tensor: &NewTensor<'_>) -> Option<Self> {
        let NewLayout::Dense(dtype) = tensor.layout else { return None };
        let item = dtype.byte_size();
        let dimension = tensor.shape.iter().position(|length| *length != 1).unwrap_or(0);
        let total = tensor.length().filter(|length| i64::try_from(*length).is_ok())?;
        if total == 0 {
            return Some(Self { dimension, rows: 1, chunk: item, count: 0 });
        }
        let length = tensor.shape.get(dimension).copied().unwrap_or(1);
        let row = quotient(total, length);
        let rows = quotient(CHUNK, row).min(length).max(1);
        let chunk = rows.checked_mul(row)?;
        let count = count_of(length, rows);
        product(Some(count), chunk.checked_add(LONG)?).filter(|length| i64::try_from(*length).is_ok())?;
        Some(Self { dimension, rows, chunk, count })
    }

    /// Returns the length of a chunk with its header.
    const fn stored(&self) -> u64 {
        self.chunk.saturating_add(LONG)
    }
}

fn parts_of(tensor: &NewTensor<'_>) -> Option<(DType, Grid)> {
    let NewLayout::Dense(dtype) = tensor.layout else { return None };
    Some((dtype, Grid::of(tensor)?))
}

/// Writes the header of a chunk whose bytes are copied.
fn chunk_header(size: u8, length: u64, filters: [u8; 6], codec: u8, out: &mut Out<'_>) {
    let short = |length: u64| u32::try_from(length).unwrap_or(u32::MAX);
    out.bytes(&[5, 1, 7, size]);
    out.u32(short(length));
    out.u32(short(length));
    out.u32(short(length.saturating_add(LONG)));
    out.bytes(&filters);
    out.bytes(&[codec]);
    out.zeros(9);
}

/// Writes a marker of MessagePack and a number in big-endian byte order.
fn marked_u32(marker: u8, number: u32, out: &mut Out<'_>) {
    out.bytes(&[marker]);
    out.bytes(&number.to_be_bytes());
}

fn marked_u64(marker: u8, number: u64, out: &mut Out<'_>) {
    out.bytes(&[marker]);
    out.bytes(&number.to_be_bytes());
}

/// Returns a dtype in NumPy's spelling; `None` if NumPy does not have the dtype.
fn name_of(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::BOOL => "|b1",
        DType::U8 => "|u1",
        DType::I8 => "|i1",
        DType::U16 => "<u2",
        DType::U32 => "<u4",
        DType::U64 => "<u8",
        DType::I16 => "<i2",
        DType::I32 => "<i4",
        DType::I64 => "<i8",
        DType::F16 => "<f2",
        DType::F32 => "<f4",
        DType::F64 => "<f8",
        DType::C64 => "<c8",
        DType::C128 => "<c16",
        _ => return None,
    })
}
