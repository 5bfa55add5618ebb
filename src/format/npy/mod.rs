//! NPY, the arrays of NumPy, versions 1.0, 2.0 and 3.0.
//!
//! Depends on `place`, `warning`, `error`, `bytes`, `shape`, `codec::npy`, and the contract of `format`.
//!
//! ```text
//! 0        "\x93NUMPY", major and minor version, a byte each
//! 8        length of the header, little-endian: u16 in 1.0, u32 in 2.0 and 3.0
//! 10, 12   header, a Python dict: type, order and shape (codec/npy.rs); UTF-8 in 3.0, Latin-1 before
//!          items, one after the other
//! ```
//!
//! Writers pad the header, so that the items are aligned to 64 bytes of the file; nothing asks for it.
#![forbid(unsafe_code)]

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{ComponentRecord, Context, Cursor, FileFormat, Summary, TensorRecord};
use crate::bytes::extent::Extent;
use crate::bytes::num::{to_u64, to_usize};
use crate::bytes::source::{Input, Opening, Parsed};
use crate::bytes::text::is_utf8;
use crate::codec::npy::{Fault, Header};
use crate::error::{Error, ErrorKind, Result};
use crate::place::{Format, Item};
use crate::vocab::Order;
use crate::warning::{Warning, Warnings};

/// What every version begins with.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Start {
    magic: [u8; 6],
    version: [u8; 2],
}

const LENGTH_AT: u64 = 8;

/// An NPY file: the one array that it holds.
///
/// ```
/// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/npy/struct_nested_4.npy");
/// let file = tenslice::File::open(bytes)?;
/// let npy = file.as_npy().ok_or("another format")?;
/// println!("{} items of {}", file.find("")?.shape(), npy.descr().escape_ascii());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NpyFile<'a> {
    input: Input<'a>,
    /// All that comes before the items.
    head: &'a [u8],
    warnings: u32,
}

const fn fail(kind: ErrorKind, item: Item, at: u64) -> Error {
    Error::at(kind, Format::Npy, item, at)
}

/// The version of a file that begins with `head`, what it is called, and how many bytes come before its header.
fn version(head: &[u8]) -> Option<(u8, &'static str, usize)> {
    let start = Start::ref_from_prefix(head).ok()?.0;
    match start.version {
        [1, 0] => Some((1, "1.0", 10)),
        [2, 0] => Some((2, "2.0", 12)),
        [3, 0] => Some((3, "3.0", 12)),
        _ => None,
    }
}

impl<'a> NpyFile<'a> {
    /// The type of the items as the file writes it, such as `'<f4'` or `[('x', '<i2'), ('y', '<f8', (2,))]`: UTF-8 in
    /// version 3.0, Latin-1 before.
    ///
    /// Linear in the bytes of the header.
    #[must_use]
    pub fn descr(&self) -> &'a [u8] {
        self.header().map(|header| header.descr).unwrap_or_default() // of no bytes if the file has changed since
    }

    /// Reads the header, as every call that says what is in it does.
    fn header(&self) -> Result<Header<'a>> {
        let (version, _, start) = version(self.head).ok_or(fail(ErrorKind::UnsupportedVersion, Item::Version, 6))?;
        let text = self.head.get(start..).unwrap_or_default();
        if version == 3 && !is_utf8(text) {
            return Err(fail(ErrorKind::InvalidUtf8, Item::Header, to_u64(start)));
        }
        let in_file = |(kind, item, at): Fault| fail(kind, item, to_u64(start).saturating_add(at));
        Header::read(text, version < 3).map_err(in_file)
    }

    /// Where the items are.
    fn data(&self, header: &Header<'_>) -> Result<Extent> {
        let length = header.data_length().ok_or(fail(ErrorKind::ShapeOverflow, Item::Shape, LENGTH_AT))?;
        Ok(Extent::new(to_u64(self.head.len()), length))
    }

    /// Holds the header to the length of the file.
    fn check_header(&mut self) -> Result<()> {
        let header = self.header()?;
        let data = self.data(&header)?;
        let length = self.input.length();
        if !data.is_within(length) {
            return Err(fail(ErrorKind::Truncated, Item::Data, length));
        }
        if data.end() != Some(length) {
            self.warnings |= Warning::TrailingBytes.bit();
        }
        if header.items.is_native {
            self.warnings |= Warning::UnstatedByteOrder.bit();
        }
        Ok(())
    }
}

impl<'a> FileFormat<'a> for NpyFile<'a> {
    const FORMAT: Format = Format::Npy;

    /// Everything is checked when a file is opened but the items.
    fn open(opening: &Opening<'a>) -> Parsed<Self> {
        let rule = (ErrorKind::Truncated, Format::Npy, Item::Header);
        let head = opening.read::<Start>(0, rule)?.as_bytes();
        let Some((_, _, start)) = version(head) else {
            return Err(opening.fail((ErrorKind::UnsupportedVersion, Format::Npy, Item::Version), 6));
        };
        let length = if start == 10 {
            u32::from(opening.read::<U16>(LENGTH_AT, rule)?.get())
        } else {
            opening.read::<U32>(LENGTH_AT, rule)?.get()
        };
        let head = Extent::new(0, to_u64(start).saturating_add(length.into()));
        if !head.is_within(opening.input.length()) {
            return Err(opening.fail((ErrorKind::OutOfFile, Format::Npy, Item::Header), LENGTH_AT));
        }
        let mut file = Self { input: opening.input, head: opening.keep(head)?, warnings: 0 };
        file.check_header().map_err(|error| opening.stop(error))?;
        Ok(file)
    }

    fn read(&mut self, summary: &mut Summary) -> Result<()> {
        *summary = Summary { warnings: Warnings::of_bits(self.warnings), tensor_count: 1 };
        Ok(())
    }

    fn input(&self) -> Input<'a> {
        self.input
    }

    fn version(&self) -> Option<&'a str> {
        version(self.head).map(|(_, name, _)| name)
    }

    fn next_tensor(&self, cursor: &mut Cursor, tensor: &mut TensorRecord<'a>) -> Result<bool> {
        let header = self.header()?;
        tensor.dtype = header.items.dtype;
        tensor.shape = header.shape;
        tensor.order = if header.is_column_major { Order::ColumnMajor } else { Order::RowMajor };
        tensor.warnings = self.warnings;
        tensor.at = to_u64(self.head.len());
        Ok(cursor.is_first())
    }

    fn next_component(
        &self,
        _: &TensorRecord<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool> {
        let header = self.header()?;
        part.dtype = header.items.dtype;
        part.storage = header.items.dtype;
        part.order = header.items.order;
        part.set_extent(self.data(&header)?);
        Ok(cursor.is_first())
    }

    fn context(input: Input<'a>, error: &Error) -> Context<'a> {
        let mut context = Context::default();
        let head = input.get(Extent::new(0, LENGTH_AT)).unwrap_or_default();
        let Some((_, name, start)) = version(head) else { return context };
        context.version = Some(name);
        let all = |length| input.get(Extent::new(0, to_u64(start).saturating_add(length)));
        let length = all(0)
            .and_then(|head| head.get(8..))
            .map(|bytes| bytes.iter().rev().fold(0_u64, |length, byte| length.wrapping_shl(8) | u64::from(*byte)));
        let text = length.and_then(all).and_then(|head| head.get(start..));
        match error.kind() {
            ErrorKind::OutOfFile => (context.offset, context.length) = (Some(to_u64(start)), length),
            ErrorKind::Malformed => {
                context.rule = Some(match error.item() {
                    Item::Key => "the keys are 'descr', 'fortran_order' and 'shape'",
                    Item::Shape => "a shape is a tuple of lengths, such as (3, 4) or (3,)",
                    Item::Order => "this is neither True nor False",
                    Item::DType => "a type is a text such as '<f4', or a list of fields such as ('x', '<f4')",
                    _ => "this is not a Python dict of the form that NumPy writes",
                });
            }
            ErrorKind::UnknownDType => {
                context.rule = Some("this is not a type as NumPy writes it");
                let at = error.offset().and_then(|at| to_usize(at)?.checked_sub(start));
                context.text = text.zip(at).and_then(|(text, at)| Header::text_at(text, at));
                let is_object = context.text.is_some_and(|descr| descr.ends_with('O'));
                context.hint = is_object.then_some("Python objects are pickled, and are not read");
            }
            ErrorKind::Truncated if error.item() == Item::Data => {
                let needed = text.and_then(|text| Header::read(text, true).ok()?.data_length());
                let head = length.map(|length| to_u64(start).saturating_add(length));
                context.number = needed.zip(head).and_then(|(needed, head)| needed.checked_add(head));
            }
            _ => {}
        }
        context
    }
}
