//! Describes the elements of a tensor; for a compressed entry of an NPZ archive, from the header inside the entry.

use std::collections::HashMap;

use tenslice::{
    ByteOrder, DType, Described, Error, ErrorKind, File, Format, Input, Order, Purpose, ReadOptions, Tensor,
};

use crate::common::problem::Problem;
use crate::common::reading::{is_compressed_array, is_without_header};
use crate::common::text::{header_text, printable};

/// The maximum length of a header to decode. By default NumPy reads headers of at most 10 000 bytes.
const LONGEST_HEADER: u64 = 1 << 20;
/// The maximum total length of the headers to decode per file, because the descriptions stay in memory.
const MOST_HEADERS: u64 = 1 << 25;

/// The elements of a tensor.
#[derive(Clone, Debug)]
pub struct Array {
    pub dtype: Option<DType>,
    pub is_big: bool,
    pub shape: Vec<u64>,
    pub order: Order,
    /// The type in NumPy's notation, if the file states it.
    pub descr: Option<String>,
    /// The warnings about the tensor, as bits.
    pub warnings: u32,
}

impl From<Described<'_>> for Array {
    fn from(described: Described<'_>) -> Self {
        Self {
            dtype: described.dtype,
            is_big: described.byte_order == ByteOrder::Big,
            shape: described.shape.iter().collect(),
            order: described.order,
            descr: described.stated_type.map(|text| header_text(text, described.is_latin_1)),
            warnings: described.warnings.bits(),
        }
    }
}

impl Array {
    /// Describes a tensor without decoding anything; `None` for an array whose header is compressed or invalid.
    pub fn of(tensor: &Tensor<'_>) -> Option<Self> {
        if is_without_header(tensor) {
            return None;
        }
        let described = tensor.describe(ReadOptions::new());
        // A tensor whose values cannot be read still has a dtype and a shape.
        Some(described.map_or_else(
            |_| Self {
                dtype: tensor.dtype(),
                is_big: tensor.components().any(|component| component.byte_order() == ByteOrder::Big),
                shape: tensor.shape().iter().collect(),
                order: tensor.order(),
                descr: tensor.stated_type().map(|text| String::from_utf8_lossy(text).into_owned()),
                warnings: tensor.warnings().bits(),
            },
            Self::from,
        ))
    }
}

/// The compressed arrays of a file, by tensor index.
pub type Arrays = HashMap<u64, Result<Array, Unreadable>>;

/// The reason why the header of a compressed array cannot be read.
#[derive(Debug)]
pub struct Unreadable {
    pub problem: Problem,
    /// The error that the archive reports.
    pub error: Error,
    /// The error in the decoded header, and the bytes of the header, if these are more specific.
    pub inside: Option<(Error, Vec<u8>)>,
}

/// Decodes the headers of the compressed arrays of an archive. Omits arrays with an unknown compression method or a
/// header that is too long.
pub fn compressed(file: &File<'_>, name: Option<&str>, input: Input<'_>) -> Arrays {
    let mut arrays = Arrays::new();
    if file.as_npz().is_none() {
        return arrays;
    }
    let mut left = MOST_HEADERS;
    for tensor in file.tensors().filter(is_compressed_array) {
        let array = match describe(&tensor, &mut left) {
            Ok(array) => Ok(array),
            Err(Fault::NotDescribed) => continue,
            Err(Fault::Error(error, head)) => Err(unreadable(name, &tensor, error, head, input)),
        };
        arrays.insert(tensor.index(), array);
    }
    arrays
}

/// The reason why a compressed array is not described.
enum Fault {
    /// The compression method is unknown, or the header is too long.
    NotDescribed,
    /// The error, and the header if it was decoded.
    Error(Error, Vec<u8>),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::UnsupportedEncoding | ErrorKind::NotBuiltIn => Self::NotDescribed,
            _ => Self::Error(error, Vec::new()),
        }
    }
}

/// Describes a compressed array whose header has at most `left` bytes.
fn describe(tensor: &Tensor<'_>, left: &mut u64) -> Result<Array, Fault> {
    // Reports why the length is unknown: describing the tensor fails for the same reason.
    let Some(length) = tensor.requirements(Purpose::Describe).scratch else {
        return Ok(tensor.describe(ReadOptions::new())?.into());
    };
    *left = left.checked_sub(length).filter(|_| length <= LONGEST_HEADER).ok_or(Fault::NotDescribed)?;
    let mut head = vec![0; length as usize];
    match tensor.describe(ReadOptions::new().scratch(&mut head)) {
        Ok(described) => Ok(described.into()),
        Err(error) => Err(match error.into() {
            Fault::Error(error, _) => Fault::Error(error, head),
            other => other,
        }),
    }
}

/// The problem, explained from the decoded header if its own error is the same.
fn unreadable(file: Option<&str>, tensor: &Tensor<'_>, error: Error, head: Vec<u8>, input: Input<'_>) -> Unreadable {
    let mut problem = Problem::of_error(file, tensor, error, input);
    let inside = File::open(&head).err().filter(|inside| {
        inside.format() == Format::Npy && (inside.kind(), inside.part()) == (error.kind(), error.part())
    });
    // The data after the header is not decoded, so it is always missing.
    let inside = inside.filter(|inside| inside.kind() != ErrorKind::Truncated);
    if let Some(inside) = inside {
        let text = inside.explain(&*head).to_string();
        let (_, text) = text.split_once(": ").unwrap_or(("", &text));
        let placed = text.strip_suffix(']').map(|text| format!("{text} of what the entry decodes to]"));
        problem.message = about(tensor, placed.as_deref().unwrap_or(text));
    }
    Unreadable { problem, error, inside: inside.map(|inside| (inside, head)) }
}

/// A message in the wording of the library.
fn about(tensor: &Tensor<'_>, message: &str) -> String {
    format!("npz: tensor \"{}\": {message}", printable(&tensor.name().to_string()))
}
