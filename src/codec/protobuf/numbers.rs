//! Decodes the numbers of a repeated field.
//!
//! A field of numbers appears once for each number, or with a packed run of several, or both ways in one message.
#![forbid(unsafe_code)]

use super::{Reader, Schema, Varint, varint};
use crate::bytes::extent::Extent;
use crate::bytes::num::{to_u64, to_usize};
use crate::bytes::source::ParseContext;
use crate::error::ErrorKind;
use crate::error::origin::Format;
use crate::types::{DType, Encoding};

/// The numbers that a component is decoded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// The number of numbers that there must be.
    pub(crate) count: u32,
    /// The field of the message that has them; 0 if the bytes are a single packed run.
    pub(crate) field: u32,
}

impl Numbers {
    /// No numbers: the component is not encoded in this way.
    pub(crate) const NONE: Self = Self { count: 0, field: 0 };

    /// Decodes the numbers in `stored` to elements of type `dtype`, in little-endian order. They fill all of `dst`.
    pub(crate) fn decode(
        self,
        encoding: Encoding,
        stored: &[u8],
        dtype: DType,
        dst: &mut [u8],
    ) -> Result<(), ErrorKind> {
        let mut elements = Elements::of(dtype, dst);
        self.each(encoding, stored, dtype, |number| elements.add(number))?;
        elements.finish()
    }

    /// Calls `f` with the bits of each number, if they are in the range of `dtype`.
    pub(crate) fn each(
        self,
        encoding: Encoding,
        stored: &[u8],
        dtype: DType,
        mut f: impl FnMut(u64) -> Result<(), ErrorKind>,
    ) -> Result<(), ErrorKind> {
        let mut left = self.count;
        // A complex number is two floats.
        let width = dtype.lane_size();
        self.each_run(stored, |run| {
            let mut rest = run;
            while !rest.is_empty() {
                let number;
                (number, rest) = if encoding == Encoding::Varint {
                    let Varint::Number(number, rest) = varint(rest) else { return Err(ErrorKind::CorruptStream) };
                    (element(number, dtype).ok_or(ErrorKind::InvalidElement)?, rest)
                } else {
                    let (bytes, rest) = rest.split_at_checked(width).ok_or(ErrorKind::CorruptStream)?;
                    (bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)), rest)
                };
                left = left.checked_sub(1).ok_or(ErrorKind::DecodedLength)?;
                f(number)?;
            }
            Ok(())
        })?;
        if left == 0 { Ok(()) } else { Err(ErrorKind::DecodedLength) }
    }

    /// Calls `f` with each run of numbers. A number that is not packed is a run of its own.
    fn each_run(self, stored: &[u8], mut f: impl FnMut(&[u8]) -> Result<(), ErrorKind>) -> Result<(), ErrorKind> {
        if self.field == 0 {
            return f(stored);
        }
        let opening = ParseContext::of(stored.into());
        let changed = |_| ErrorKind::CorruptStream; // the message was checked when the file was opened
        let mut fields = Reader::new(&opening, Format::Unknown, Extent::new(0, to_u64(stored.len())));
        while let Some(field) = fields.next(Schema::UNKNOWN).map_err(changed)? {
            if field.number == self.field {
                let length = fields.position().saturating_sub(field.place);
                f(fields.bytes(Extent::new(field.place, length)).map_err(changed)?)?;
            }
        }
        Ok(())
    }
}

/// Returns the bits of an element that a varint stands for; `None` if the number does not fit the type. Elements of less
/// than a byte share a number of 8 bits, except those of 6 bits.
fn element(number: u64, dtype: DType) -> Option<u64> {
    // The numbers of the narrow types are those of a 32-bit integer, of which a negative one takes five or ten bytes.
    let narrow = || {
        let positive = u32::try_from(number).ok().map(u32::cast_signed);
        positive.or_else(|| i32::try_from(number.cast_signed()).ok())
    };
    match dtype {
        DType::I64 | DType::U64 => return Some(number),
        DType::U32 => return u32::try_from(number).ok().map(u64::from),
        DType::I32 => return narrow().map(|number| number.cast_unsigned().into()),
        DType::I16 => {
            return narrow().and_then(|number| i16::try_from(number).ok()).map(|n| n.cast_unsigned().into());
        }
        DType::I8 => return narrow().and_then(|number| i8::try_from(number).ok()).map(|n| n.cast_unsigned().into()),
        _ => {}
    }
    let most = match dtype {
        DType::BOOL => 1,
        DType::F6_E2M3 | DType::F6_E3M2 => 0x3f,
        DType::U16 | DType::F16 | DType::BF16 => 0xffff,
        _ => 0xff,
    };
    (number <= most).then_some(number)
}

/// The elements that were decoded so far.
struct Elements<'d> {
    rest: &'d mut [u8],
    /// The bits of a number: those of an element, or of a byte that elements share.
    bits: u32,
    /// The bits that do not fill a byte yet, and their number.
    pending: u64,
    pending_bits: u32,
}

impl<'d> Elements<'d> {
    fn of(dtype: DType, dst: &'d mut [u8]) -> Self {
        let bits = match dtype {
            DType::F6_E2M3 | DType::F6_E3M2 => 6,
            _ => u32::try_from(dtype.lane_size()).unwrap_or(0).wrapping_shl(3),
        };
        Self { rest: dst, bits, pending: 0, pending_bits: 0 }
    }

    fn add(&mut self, number: u64) -> Result<(), ErrorKind> {
        if self.bits == 6 {
            self.pending |= number.wrapping_shl(self.pending_bits);
            self.pending_bits = self.pending_bits.saturating_add(self.bits);
            while self.pending_bits >= 8 {
                let [byte, ..] = self.pending.to_le_bytes();
                self.put(&[byte])?;
                (self.pending, self.pending_bits) = (self.pending >> 8, self.pending_bits.saturating_sub(8));
            }
            return Ok(());
        }
        let bytes = number.to_le_bytes();
        let length = to_usize(u64::from(self.bits >> 3)).unwrap_or(0);
        self.put(bytes.get(..length).unwrap_or(&bytes))
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), ErrorKind> {
        let rest = core::mem::take(&mut self.rest);
        let (to, rest) = rest.split_at_mut_checked(bytes.len()).ok_or(ErrorKind::DecodedLength)?;
        to.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        self.rest = rest;
        Ok(())
    }

    /// Writes the bits that are left.
    fn finish(mut self) -> Result<(), ErrorKind> {
        if self.pending_bits > 0 {
            let [byte, ..] = self.pending.to_le_bytes();
            self.put(&[byte])?;
        }
        if self.rest.is_empty() { Ok(()) } else { Err(ErrorKind::DecodedLength) }
    }
}
