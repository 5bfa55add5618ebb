//! The lengths of a tensor's dimensions: numbers that are packed, not packed, or both.
#![forbid(unsafe_code)]

use super::FORMAT;
use crate::bytes::extent::Extent;
use crate::bytes::num::{Product, to_u64};
use crate::bytes::source::{ParseContext, ParseResult};
use crate::codec::protobuf::{Field, Reader, Schema, Varint, varint, wire};
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::types::shape::{ReadDimension, Shape};

/// The highest rank if some lengths are packed and others are not.
const MOST_MIXED: u32 = 64;

/// The spelling of the lengths.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// One field for each length.
    Single,
    /// One packed run.
    Run,
    /// Several runs, or runs and single lengths.
    Mixed,
}

/// The lengths that a message has so far.
#[derive(Clone, Copy)]
pub(super) struct Dims {
    pub(super) rank: u32,
    pub(super) product: Product,
    /// The last length.
    pub(super) last: u64,
    form: Form,
    /// The first field with a length, and the end of the last one.
    first: Option<Field>,
    end: u64,
}

impl Dims {
    pub(super) const NONE: Self =
        Self { rank: 0, product: Product::ONE, last: 0, form: Form::Single, first: None, end: 0 };

    /// The offset of the first length; `otherwise` without one.
    pub(super) fn at(&self, otherwise: u64) -> u64 {
        self.first.map_or(otherwise, |field| field.at)
    }

    /// Adds the lengths in a field, which `fields` has just read.
    pub(super) fn add(&mut self, fields: &Reader<'_, '_>, field: &Field) -> ParseResult<()> {
        let mut rest: &[u8] = &[];
        let mut next = Some(field.value);
        if field.wire == wire::BYTES {
            rest = fields.bytes(field.extent())?;
            next = None;
            if rest.is_empty() {
                return Ok(());
            }
        }
        loop {
            let length = match next.take() {
                Some(length) => length,
                None if rest.is_empty() => break,
                None => {
                    let Varint::Number(length, after) = varint(rest) else {
                        return Err(fields.fail(ErrorKind::OutOfPlace, Part::Shape, field.at));
                    };
                    rest = after;
                    length
                }
            };
            if length > i64::MAX.unsigned_abs() {
                return Err(fields.fail(ErrorKind::NegativeLength, Part::Shape, field.at));
            }
            self.product.multiply(length);
            self.last = length;
            self.rank = self.rank.saturating_add(1);
        }
        let is_run = field.wire == wire::BYTES;
        self.form = match (self.first, self.form) {
            (None, _) if is_run => Form::Run,
            (None, _) => Form::Single,
            (Some(_), Form::Single) if !is_run => Form::Single,
            _ => Form::Mixed,
        };
        self.first = self.first.or(Some(*field));
        self.end = fields.position();
        Ok(())
    }

    /// Returns the shape. `message` has the lengths in its fields `NUMBER`.
    pub(super) fn shape<'a, const NUMBER: u32>(
        &self,
        opening: &ParseContext<'a>,
        message: Extent,
    ) -> ParseResult<Shape<'a>> {
        let Some(first) = self.first else { return Ok(Shape::SCALAR) };
        let fields = Reader::new(opening, FORMAT, message);
        let (extent, read): (_, ReadDimension) = match self.form {
            Form::Single => (Extent::from(first.at..self.end), read_single::<NUMBER>),
            Form::Run => (first.extent(), read_packed),
            Form::Mixed => {
                let end = super::graphs::end(message);
                // See `mixed`.
                if self.rank > MOST_MIXED || end.saturating_sub(self.end) < self.rank.into() {
                    return Err(fields.fail(ErrorKind::TooMany, Part::Shape, first.at));
                }
                (Extent::from(length_before(&fields, message.offset)?..end), read_mixed::<NUMBER>)
            }
        };
        Ok(Shape::new(fields.bytes(extent)?, self.rank, read))
    }
}

/// Returns the offset of the varint that ends at `end`, the start of a message: the length of the message. The byte before
/// that varint ends the tag, so its top bit is not set.
fn length_before(fields: &Reader<'_, '_>, end: u64) -> ParseResult<u64> {
    let mut at = end.saturating_sub(1);
    while let Some(before) = at.checked_sub(1) {
        if !matches!(fields.bytes(Extent::new(before, 1))?, [0x80..=u8::MAX]) {
            break;
        }
        at = before;
    }
    Ok(at)
}

/// Reads a length of a packed run.
fn read_packed(bytes: &[u8]) -> Option<(u64, &[u8])> {
    match varint(bytes) {
        Varint::Number(length, rest) => Some((length, rest)),
        _ => None,
    }
}

fn read_single<const NUMBER: u32>(bytes: &[u8]) -> Option<(u64, &[u8])> {
    single(bytes, NUMBER)
}

fn read_mixed<const NUMBER: u32>(bytes: &[u8]) -> Option<(u64, &[u8])> {
    mixed(bytes, NUMBER)
}

/// Reads the next length in the fields `number` of a message, which may have others between.
fn single(bytes: &[u8], number: u32) -> Option<(u64, &[u8])> {
    let opening = ParseContext::of(bytes.into());
    let mut fields = Reader::new(&opening, FORMAT, Extent::new(0, to_u64(bytes.len())));
    loop {
        let field = fields.next(Schema::UNKNOWN).ok()??;
        if field.number == number && field.wire == wire::VARINT {
            let after = crate::bytes::num::to_usize(fields.position())?;
            return Some((field.value, bytes.get(after..)?));
        }
    }
}

/// Reads the next length in the fields `number` of a message. A position inside a packed run does not tell where the run
/// ends, so the bytes always begin with the length of the message. Each length that was read is a byte less at their end,
/// behind all lengths.
fn mixed(bytes: &[u8], number: u32) -> Option<(u64, &[u8])> {
    let opening = ParseContext::of(bytes.into());
    let length = to_u64(bytes.len());
    let (message, behind) = whole(bytes)?;
    let mut skipped = behind.checked_sub(length)?;
    let mut fields = Reader::new(&opening, FORMAT, Extent::from(message..length));
    loop {
        let field = fields.next(Schema::UNKNOWN).ok()??;
        if field.number != number {
            continue;
        }
        let mut rest = fields.bytes(Extent::from(field.place..fields.position())).ok()?;
        while !rest.is_empty() {
            let (length, after) = read_packed(rest)?;
            let Some(left) = skipped.checked_sub(1) else {
                return Some((length, bytes.get(..bytes.len().checked_sub(1)?)?));
            };
            (skipped, rest) = (left, after);
        }
    }
}

/// Returns the start and the end of a message, whose length is at the front of `bytes`.
fn whole(bytes: &[u8]) -> Option<(u64, u64)> {
    let Varint::Number(length, rest) = varint(bytes) else { return None };
    let start = to_u64(bytes.len().checked_sub(rest.len())?);
    Some((start, start.checked_add(length)?))
}
