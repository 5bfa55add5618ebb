//! Tensors of texts.
//!
//! ```text
//! 0    i32 the number n of texts
//! 4    i32 n + 1 places, counted from the first byte of the buffer: of each text, and the end
//!      the texts
//! ```
#![forbid(unsafe_code)]

use core::iter::FusedIterator;

use super::TfliteFile;
use crate::bytes::num::{to_u64, to_usize};
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{ComponentRecord, Cursor, TensorRecord};

pub(super) const LAYOUT: &[u8] = Texts::LAYOUT.as_bytes();

/// The texts in the bytes of a tensor of the layout `tflite.string`: an iterator. They need not be UTF-8.
///
/// ```
/// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/tflite/py_strings.tflite");
/// use tenslice::tflite::Texts;
///
/// let file = tenslice::File::open(bytes)?;
/// let words = file.find("words")?;
/// for text in Texts::new(words.component("data")?.stored()?).ok_or("invalid")? {
///     println!("{}", text.escape_ascii());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    bytes: &'a [u8],
    /// The places that are left, with the end.
    places: &'a [u8],
}

impl<'a> Texts<'a> {
    /// The layout of tensors of texts.
    pub const LAYOUT: &'static str = "tflite.string";

    /// Returns the texts in the bytes of a tensor; `None` if the places do not rise from the end of the places to the end
    /// of the bytes. Linear in the number of texts.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let (count, places) = bytes.split_first_chunk()?;
        let count = u32::try_from(i32::from_le_bytes(*count)).ok()?;
        let length = u64::from(count).checked_add(1)?.checked_mul(4)?;
        let texts = Self { bytes, places: places.get(..to_usize(length)?)? };
        let mut last = length.checked_add(4)?;
        let mut rest = texts.places;
        let is_first = place(&mut { rest })? == last;
        while let Some(next) = place(&mut rest) {
            if next < last {
                return None;
            }
            last = next;
        }
        (is_first && last == to_u64(bytes.len())).then_some(texts)
    }
}

/// Takes a place from the front of a list.
fn place(list: &mut &[u8]) -> Option<u64> {
    let (place, rest) = list.split_first_chunk()?;
    *list = rest;
    u64::try_from(i32::from_le_bytes(*place)).ok()
}

impl<'a> Iterator for Texts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = place(&mut self.places)?;
        let end = place(&mut { self.places })?;
        self.bytes.get(to_usize(start)?..to_usize(end)?)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.places.len() >> 2).saturating_sub(1);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Texts<'_> {}
impl FusedIterator for Texts<'_> {}

impl<'a> TfliteFile<'a> {
    /// Checks the places of texts, and that there are as many texts as elements.
    pub(super) fn verify_texts(&self, tensor: &TensorRecord<'a>) -> Result<()> {
        let mut part = ComponentRecord::blank();
        self.component(tensor, &mut { Cursor::START }, &mut part)?;
        let fail = |kind| Error::at(kind, Format::Tflite, Part::Data, part.extent.offset);
        let bytes = self.model.input.get(part.extent).ok_or(fail(ErrorKind::NotInMemory))?;
        let count = Texts::new(bytes).map(|texts| to_u64(texts.len()));
        let is_right = count.is_some() && count == tensor.shape.element_count();
        if is_right { Ok(()) } else { Err(fail(ErrorKind::CorruptStream)) }
    }
}
