//! NPY, the arrays of NumPy, versions 1.0, 2.0 and 3.0.
//!
//! The file is a head, which `codec::npy` reads, and the items, one after the other. Writers pad the head so that the
//! items are aligned to 64 bytes in the file, but the format does not require this.
#![forbid(unsafe_code)]

#[cfg(feature = "write")]
mod write;

#[cfg(feature = "write")]
pub(crate) use self::write::NpyWriter;
use super::{ComponentRecord, Context, Cursor, FileFormat, OneTensor, Stated, StoredElements, Summary, TensorRecord};
use crate::bytes::extent::Extent;
use crate::bytes::num::to_u64;
use crate::bytes::source::{Input, ParseContext, ParseResult};
use crate::bytes::text::Text;
use crate::bytes::utf8::Utf8;
use crate::codec::npy::{self, Fault, Header, Names};
use crate::error::origin::Format;
use crate::error::warning::{Warning, Warnings};
use crate::error::{Error, ErrorKind, Result};
use crate::types::Order;

/// An NPY file, which holds a single array.
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
    /// The bytes before the items.
    head: &'a [u8],
    warnings: u32,
}

const fn error((kind, item, at): Fault) -> Error {
    Error::at(kind, Format::Npy, item, at)
}

impl<'a> NpyFile<'a> {
    /// Returns the type of the items as the file spells it, such as `'<f4'` or `[('x', '<i2'), ('y', '<f8', (2,))]`:
    /// UTF-8 in version 3.0, Latin-1 before. Linear in the bytes of the header.
    #[must_use]
    pub fn descr(&self) -> &'a [u8] {
        Header::read(self.head).map(|header| header.descr).unwrap_or_default() // empty if the file has changed since
    }

    /// Reads the header. Also returns the extent of the items and the warnings.
    fn array(&self) -> Result<(Header<'a>, Extent, u32)> {
        let header = Header::read(self.head).map_err(error)?;
        let head = to_u64(self.head.len());
        let (length, warnings) = header.items_length(head, self.input.length()).map_err(error)?;
        Ok((header, Extent::new(head, length), warnings))
    }
}

impl<'a> FileFormat<'a> for NpyFile<'a> {
    const FORMAT: Format = Format::Npy;

    /// Checks everything except the items.
    fn open(opening: &ParseContext<'a>) -> ParseResult<Self> {
        let (input, length) = (opening.input, opening.input.length());
        let start = opening.keep(Extent::new(0, length.min(npy::START)))?;
        let head = npy::head_length(start, length).map_err(|fault| opening.stop(error(fault)))?;
        let mut file = Self { input, head: opening.keep(Extent::new(0, head))?, warnings: 0 };
        (_, _, file.warnings) = file.array().map_err(|error| opening.stop(error))?;
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
        npy::version(self.head).map(|(_, name, _)| name)
    }

    fn next_tensor(&self, cursor: &mut Cursor, tensor: &mut TensorRecord<'a>) -> Result<bool> {
        let (header, items, warnings) = self.array()?;
        tensor.dtype = header.items.dtype;
        tensor.shape = header.shape;
        tensor.order = if header.is_column_major { Order::ColumnMajor } else { Order::RowMajor };
        tensor.warnings = warnings;
        tensor.at = items.offset;
        Ok(cursor.is_first())
    }

    /// Compares the names of fields.
    fn check(&self, summary: &Summary, scratch: &mut [u32]) -> Result<Warnings> {
        if !Names::ARE_COMPARED || !summary.warnings.contains(Warning::NamesUnchecked) {
            return Ok(summary.warnings);
        }
        let (header, ..) = self.array()?;
        header.names.compare(header.descr, scratch)?.map_err(error)?;
        Ok(summary.warnings.without(Warning::NamesUnchecked))
    }

    fn check_length(&self, summary: &Summary) -> u64 {
        if !Names::ARE_COMPARED || !summary.warnings.contains(Warning::NamesUnchecked) {
            return 0;
        }
        self.array().map_or(0, |(header, ..)| header.names.length(header.descr).into())
    }

    fn stated_type(&self, _: &TensorRecord<'a>) -> Option<Stated<'a>> {
        Some(Stated { text: self.descr(), is_latin_1: npy::is_latin_1(self.head) })
    }

    fn next_component(
        &self,
        _: &TensorRecord<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool> {
        let (header, items, _) = self.array()?;
        part.dtype = header.items.dtype;
        part.storage = header.items.dtype;
        part.order = header.items.order;
        part.set_extent(items);
        Ok(cursor.is_first())
    }

    fn context(input: Input<'a>, error: &Error) -> Context<'a> {
        let start = input.get(Extent::new(0, input.length().min(npy::START))).unwrap_or_default();
        // The length of the header follows the version.
        let (version, before) = match npy::version(start) {
            Some((_, name, before)) => (Some(Utf8::new(name)), to_u64(before)),
            None => (None, 10),
        };
        let Some(length) = npy::stated_length(start) else {
            let number = Some(before).filter(|_| error.kind() == ErrorKind::Truncated);
            return Context { version, number, ..Context::default() };
        };
        let head = input.get(Extent::new(0, length)).unwrap_or_default();
        let npy::Explained { rule, text, hint, missing, needed } =
            npy::explain(head, error.kind(), error.part(), error.offset().unwrap_or(0));
        let mut context = Context {
            version,
            rule,
            text: text.map(Text::from),
            hint,
            missing: missing.map(Utf8::new),
            number: needed,
            ..Context::default()
        };
        if error.kind() == ErrorKind::OutOfFile {
            context.offset = Some(before);
            context.length = length.checked_sub(before);
            #[cfg(not(target_os = "none"))]
            {
                context.needed = Some(length);
            }
        }
        context
    }
}

impl StoredElements for NpyFile<'_> {}

impl OneTensor for NpyFile<'_> {}
