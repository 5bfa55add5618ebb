//! BLZ1, the tensor trains of Blaze.
//!
//! ```text
//! 0        header, 15 bytes: "BLZ1", version 1, dtype, number of dimensions N, 8 bytes of 0
//! 15       N lengths, u64
//! 15+8N    N+1 bond dimensions, u64; the first and the last are 1
//! 23+16N   N cores; core k has the shape (bond k, length k, bond k+1), row-major
//! ```
//!
//! Everything is little-endian and unaligned: the cores begin at 7 modulo 8. The number of elements may far exceed 64
//! bits, as for the states of many qubits. Only the cores have to fit into the file.
#![forbid(unsafe_code)]

mod explain;
mod slice;
mod train;
#[cfg(feature = "write")]
mod write;

pub use train::{Scaled, Train};
#[cfg(feature = "write")]
pub(super) use write::BlzWriter;

use zerocopy::little_endian::U64;
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::{ComponentRecord, Computed, Context, Cursor, FileFormat, OneTensor, Summary, TensorRecord};
use crate::bytes::extent::Extent;
use crate::bytes::num::{product, to_u64};
use crate::bytes::source::{Input, ParseContext, ParseResult};
use crate::bytes::utf8::Utf8;
use crate::codec::decoder::Decoder;
use crate::error::origin::{Format, Part};
use crate::error::warning::Warning;
use crate::error::{Error, ErrorKind, Result};
use crate::types::shape::Shape;
use crate::types::{DType, Layout};

/// Section "Header". The version and the dtype are already known, because they are part of the recognized magics.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    magic: [u8; 4],
    version: u8,
    dtype: u8,
    dimensions: u8,
    reserved: [u8; 8],
}

const HEADER: u64 = 15;
const DTYPE_AT: u64 = 5;
const DIMENSIONS_AT: u64 = 6;
/// The size in bytes of a length and of a bond dimension.
const NUMBER: u64 = 8;

/// Returns the position in the file of number `index` of the tables. There are up to 511 numbers, so 32 bits suffice.
fn position(index: u32) -> u64 {
    index.wrapping_mul(8).wrapping_add(15).into()
}

const fn fail(kind: ErrorKind, item: Part, at: u64) -> Error {
    Error::at(kind, Format::Blz, item, at)
}

/// A BLZ1 file: a single tensor, stored as a product of cores.
///
/// ```
/// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/blz/good/identity_matrix_f64.blz");
/// let file = tenslice::File::open(bytes)?;
/// let blz = file.as_blz().ok_or("another format")?;
/// println!("{} numbers stand for {} times as many", blz.parameters(), blz.compression_ratio());
///
/// let train = blz.train()?;
/// let mut scratch = vec![0; train.element_scratch() as usize];
/// let [real, _imaginary] = train.element(&vec![0; blz.cores().len()], &mut scratch)?;
/// # assert_eq!(real, 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BlzFile<'a> {
    input: Input<'a>,
    tables: Tables<'a>,
    warnings: u32,
    /// The extent of all cores, one after the other.
    cores: Extent,
}

/// The lengths of the dimensions, the bond dimensions, and the dtype.
#[derive(Clone, Copy, Debug)]
struct Tables<'a> {
    dtype: DType,
    lengths: &'a [U64],
    bonds: &'a [U64],
}

impl<'a> Tables<'a> {
    /// Reads the header and the tables; also returns the position of the first core.
    fn read(opening: &ParseContext<'a>) -> ParseResult<(Self, u64)> {
        let length = opening.input.length();
        let stop = |kind, item, at| opening.fail((kind, Format::Blz, item), at);
        let truncated = |item| stop(ErrorKind::Truncated, item, length);
        let header: &Header = opening.read(0, (ErrorKind::Truncated, Format::Blz, Part::Header))?;
        let dtype = match header.dtype {
            0 => DType::F64,
            1 => DType::C128,
            _ => return Err(stop(ErrorKind::UnknownDType, Part::DType, DTYPE_AT)),
        };
        // The specification allows 2 to 255 dimensions, but its own program also writes 1.
        if header.dimensions == 0 {
            return Err(stop(ErrorKind::RankMismatch, Part::Shape, DIMENSIONS_AT));
        }
        let dimensions = u32::from(header.dimensions);
        let bonds_at = position(dimensions);
        let cores_at = position(dimensions.wrapping_mul(2).wrapping_add(1));
        if length < cores_at {
            return Err(truncated(if length < bonds_at { Part::Shape } else { Part::BondDimension }));
        }
        let bytes = opening.keep(Extent::new(0, cores_at))?.get(15..).unwrap_or_default();
        let lengths = <[U64]>::ref_from_prefix_with_elems(bytes, header.dimensions.into());
        let tables = lengths.ok().and_then(|(lengths, rest)| {
            let bonds = <[U64]>::ref_from_bytes(rest).ok()?;
            Some((Self { dtype, lengths, bonds }, cores_at))
        });
        tables.ok_or_else(|| truncated(Part::Shape)) // that many bytes were requested
    }
}

/// A core of a tensor train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core {
    /// The position of the core in the train, from 0.
    pub index: u8,
    /// The shape, row-major: the bond dimension before the core, the length of the dimension, the bond dimension after
    /// the core.
    pub shape: [u64; 3],
    /// The extent of the core's numbers in the file.
    pub extent: Extent,
}

/// An iterator over the cores of a tensor train, from the first to the last.
#[derive(Clone, Copy, Debug)]
pub struct Cores<'a> {
    tables: Tables<'a>,
    index: u8,
    /// The position of the next core.
    at: u64,
    /// The end of the last core.
    end: u64,
    /// The reason why the iteration ended early.
    pub(crate) error: Option<Error>,
}

impl Cores<'_> {
    /// Reads the next core and checks that it fits. Opening and reading need no further checks.
    fn read(&mut self) -> Result<Option<Core>> {
        let k = usize::from(self.index);
        let bonds = self.tables.bonds;
        let numbers = (bonds.get(k), self.tables.lengths.get(k), bonds.get(k.saturating_add(1)));
        let (Some(left), Some(length), Some(right)) = numbers else { return Ok(None) };
        let shape @ [left, length, right] = [left.get(), length.get(), right.get()];
        if length == 0 {
            return Err(fail(ErrorKind::ZeroLength, Part::Shape, self.tables.length_at(self.index)));
        }
        let bond_at = self.tables.bond_at(self.index);
        // The first bond dimension is 1, and every other bond dimension is after a core.
        if right == 0 {
            return Err(fail(ErrorKind::ZeroLength, Part::BondDimension, bond_at.saturating_add(NUMBER)));
        }
        let numbers = product(product(Some(left), length), right);
        let Some(bytes) = product(numbers, self.tables.number_size()) else {
            return Err(fail(ErrorKind::ShapeOverflow, Part::Core, bond_at));
        };
        let core = Core { index: self.index, shape, extent: Extent::new(self.at, bytes) };
        if !core.extent.is_within(self.end) {
            return Err(fail(ErrorKind::OutOfFile, Part::Core, bond_at));
        }
        self.index = self.index.wrapping_add(1); // up to 255
        self.at = self.at.wrapping_add(bytes); // within the file
        Ok(Some(core))
    }
}

impl Iterator for Cores<'_> {
    type Item = Core;

    fn next(&mut self) -> Option<Core> {
        if self.error.is_some() {
            return None;
        }
        self.read().unwrap_or_else(|error| {
            self.error = Some(error);
            None
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.tables.lengths.len().saturating_sub(usize::from(self.index));
        (left, Some(left))
    }
}

impl ExactSizeIterator for Cores<'_> {}

impl Tables<'_> {
    /// Returns the offset of a length in the file; `bond_at` returns the offset of a bond dimension.
    fn length_at(&self, index: u8) -> u64 {
        position(index.into())
    }

    fn bond_at(&self, index: u8) -> u64 {
        let rank = u32::try_from(self.lengths.len()).unwrap_or(u32::MAX);
        position(rank.wrapping_add(index.into()))
    }

    /// Returns the size of a number of the cores in bytes.
    fn number_size(&self) -> u64 {
        if self.dtype == DType::F64 { 8 } else { 16 }
    }

    /// Returns the largest bond dimension.
    fn largest_bond(&self) -> u64 {
        self.bonds.iter().map(|bond| bond.get()).max().unwrap_or(0)
    }
}

impl<'a> BlzFile<'a> {
    /// Checks the tables: the bond dimensions at both ends, and every core.
    fn check_tables(&mut self) -> Result<()> {
        let tables = self.tables;
        // This also detects tensor rings, tables in the other byte order, and other formats that begin in the same way.
        for (bond, index) in tables.bonds.iter().zip(0..=u8::MAX) {
            let is_end = index == 0 || usize::from(index) == tables.lengths.len();
            if is_end && bond.get() != 1 {
                return Err(fail(ErrorKind::BoundaryRank, Part::BondDimension, tables.bond_at(index)));
            }
        }
        let mut cores = self.cores();
        while cores.read()?.is_some() {}
        self.cores.length = cores.at.saturating_sub(self.cores.offset);
        if cores.at < self.input.length() {
            self.warnings |= Warning::TrailingBytes.bit();
        }
        Ok(())
    }

    /// Returns the dtype of the tensor and its cores: `f64` or `c128`.
    #[must_use]
    pub const fn dtype(&self) -> DType {
        self.tables.dtype
    }

    /// Returns the bond dimensions (ranks). There is one more than there are dimensions; the first and the last are 1.
    #[must_use]
    pub fn bond_dimensions(&self) -> impl ExactSizeIterator<Item = u64> + use<'a> {
        self.tables.bonds.iter().map(|bond| bond.get())
    }

    /// Returns the cores, from the first to the last.
    #[must_use]
    pub fn cores(&self) -> Cores<'a> {
        let end = self.cores.end().unwrap_or(u64::MAX);
        Cores { tables: self.tables, index: 0, at: self.cores.offset, end, error: None }
    }

    /// Returns the extent of all cores in the file; cores follow one another without gaps.
    #[must_use]
    pub const fn extent(&self) -> Extent {
        self.cores
    }

    /// Returns the number of stored numbers in all cores; a complex number counts once.
    #[must_use]
    pub fn parameters(&self) -> u64 {
        self.cores.length.wrapping_shr(self.tables.dtype.log2_size())
    }

    /// Returns the number of elements per stored number. Infinite beyond 10^308 elements.
    #[must_use]
    pub fn compression_ratio(&self) -> f64 {
        #[allow(clippy::as_conversions)] // rounded to the nearest
        let float = |n: u64| n as f64;
        let elements = self.tables.lengths.iter().fold(1.0, |product, length| product * float(length.get()));
        elements / float(self.parameters())
    }

    /// Returns the tensor train for computing.
    ///
    /// # Errors
    /// `NotInMemory` if the file was opened over a source in which no segment contains all cores. In that case, read
    /// [`extent`](Self::extent) and use [`train_in`](Self::train_in).
    pub fn train(&self) -> Result<Train<'a>> {
        let cores = self.input.get(self.cores);
        self.train_in(cores.ok_or_else(|| fail(ErrorKind::NotInMemory, Part::Core, self.cores.offset))?)
    }

    /// Does the same as [`train`](Self::train) with bytes that the caller has read from [`extent`](Self::extent).
    ///
    /// # Errors
    /// `WrongLength` if the length of `cores` differs from that of the extent.
    pub fn train_in<'b>(&self, cores: &'b [u8]) -> Result<Train<'b>>
    where
        'a: 'b,
    {
        if to_u64(cores.len()) != self.cores.length {
            return Err(fail(ErrorKind::WrongLength, Part::Core, self.cores.offset));
        }
        Ok(Train::new(self.tables, cores))
    }
}

fn read_dimension(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (length, rest) = U64::ref_from_prefix(bytes).ok()?;
    Some((length.get(), rest))
}

impl<'a> FileFormat<'a> for BlzFile<'a> {
    const FORMAT: Format = Format::Blz;
    const HAS_DENSE: bool = false;

    /// Checks everything except the numbers.
    fn open(opening: &ParseContext<'a>) -> ParseResult<Self> {
        let input = opening.input;
        let (tables, start) = Tables::read(opening)?;
        let mut file =
            Self { input, tables, warnings: 0, cores: Extent::new(start, input.length().saturating_sub(start)) };
        file.check_tables().map_err(|error| opening.stop(error))?;
        // The reserved bytes precede the lengths.
        if opening.keep(Extent::new(0, HEADER))?.last_chunk() != Some(&[0_u8; 8]) {
            file.warnings |= Warning::ReservedBytes.bit();
        }
        if tables.lengths.len() == 1 {
            file.warnings |= Warning::OneDimension.bit();
        }
        Ok(file)
    }

    fn read(&mut self, summary: &mut Summary) -> Result<()> {
        *summary = Summary::of_one(self.warnings);
        Ok(())
    }

    fn input(&self) -> Input<'a> {
        self.input
    }

    fn with_input(self, input: Input<'a>) -> Self {
        Self { input, ..self }
    }

    fn version(&self) -> Option<&'a str> {
        Some("1")
    }

    fn next_tensor(&self, cursor: &mut Cursor, tensor: &mut TensorRecord<'a>) -> Result<bool> {
        let lengths = self.tables.lengths;
        let rank = u32::try_from(lengths.len()).unwrap_or(u32::MAX);
        tensor.dtype = Some(self.tables.dtype);
        tensor.shape = Shape::new(zerocopy::IntoBytes::as_bytes(lengths), rank, read_dimension);
        tensor.set_layout(Layout::TensorTrain);
        tensor.warnings = self.warnings;
        tensor.at = self.cores.offset;
        Ok(cursor.is_first())
    }

    /// Lists the cores, one after the other.
    fn next_component(
        &self,
        _: &TensorRecord<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool> {
        let mut cores = self.cores();
        cores.index = u8::try_from(cursor.index).unwrap_or(u8::MAX);
        cores.at = cores.at.max(cursor.at);
        let Some(core) = cores.read()? else { return Ok(false) };
        *cursor = Cursor { at: cores.at, index: cores.index.into(), ..*cursor };
        part.role = Utf8::new("core");
        part.number = Some(core.index);
        part.dtype = Some(self.tables.dtype);
        part.storage = part.dtype;
        part.set_extent(core.extent);
        Ok(true)
    }

    fn context(input: Input<'a>, error: &Error) -> Context<'a> {
        explain::context(input, error)
    }
}

impl OneTensor for BlzFile<'_> {}

impl<'a> Computed<'a> for BlzFile<'a> {
    fn whole_length(&self, _: &TensorRecord<'a>) -> Option<u64> {
        let elements =
            self.tables.lengths.iter().try_fold(1, |product: u64, length| product.checked_mul(length.get()));
        elements?.checked_mul(self.tables.number_size()) // no length is 0
    }

    fn whole_scratch(&self, _: &TensorRecord<'a>) -> Option<u64> {
        Some(Train::new(self.tables, &[]).slice_scratch())
    }

    /// Writes all elements, row-major.
    fn read_whole<'d>(
        &self,
        _: &TensorRecord<'a>,
        _: &mut dyn Decoder,
        dst: &'d mut [u8],
        scratch: &mut [u8],
    ) -> Result<&'d mut [u8]> {
        self.train()?.slice(&[], dst, scratch)
    }
}

/// Returns the name of core `index`: `core.0` to `core.254`.
pub(crate) fn role(index: u8) -> &'static str {
    /// The names, eight bytes each, padded with zeros. No file contains these names, so they are made here.
    static ROLES: [[u8; 8]; 256] = {
        #[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::integer_division)]
        #[allow(clippy::as_conversions)] // evaluated at compile time
        {
            let mut roles = [*b"core.\0\0\0"; 256];
            let mut index = 0;
            while index < roles.len() {
                let digits = [index / 100, index / 10 % 10, index % 10];
                let mut place = 5;
                let mut k = if index < 10 {
                    2
                } else if index < 100 {
                    1
                } else {
                    0
                };
                while k < digits.len() {
                    roles[index][place] = b'0' + digits[k] as u8;
                    place += 1;
                    k += 1;
                }
                index += 1;
            }
            roles
        }
    };
    let length = match index {
        0..10 => 6,
        10..100 => 7,
        _ => 8,
    };
    let role = ROLES.get(usize::from(index)).and_then(|role| role.get(..length)).unwrap_or_default();
    core::str::from_utf8(role).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::format;

    #[test]
    fn roles() {
        for index in 0..=255 {
            assert_eq!(super::role(index), format!("core.{index}"));
        }
    }
}
