//! Writes tensor files: declares the tensors, then passes their data in pieces of any size. No heap, no seeking, no I/O.
//!
//! 1. Declare: a [`NewFile`] with a [`NewTensor`] for each tensor, in the caller's memory.
//! 2. Plan: [`Writer::new`] checks everything that the format forbids and computes the [length](Writer::length) of the
//!    file, before a byte is written.
//! 3. [`begin`](Writer::begin) writes the header to a [`Sink`].
//! 4. [`data`](Writer::data) writes the bytes of the tensors, in the order of the declarations. The writer inserts
//!    padding, and computes digests and checksums.
//! 5. [`finish`](Writer::finish) writes what comes last, and fails if data is missing.
//!
//! ```
//! # #[cfg(feature = "safetensors")] {
//! use tenslice::write::{NewFile, NewTensor, SinkError, Writer};
//! use tenslice::{DType, File, Format};
//!
//! let tensors = [NewTensor::dense("w", DType::F32, &[2, 2])];
//! let file = NewFile::new(Format::Safetensors, &tensors);
//! let mut writer = Writer::new(file, &mut [])?;
//!
//! let mut bytes = Vec::new();
//! let mut sink = |_offset: u64, piece: &[u8]| -> Result<(), SinkError> {
//!     bytes.extend_from_slice(piece);
//!     Ok(())
//! };
//! writer.begin(&mut sink)?;
//! for number in [1_f32, 2.0, 3.0, 4.0] {
//!     writer.data(&mut sink, &number.to_le_bytes())?;
//! }
//! writer.finish(&mut sink)?;
//!
//! let file = File::open(&bytes)?;
//! assert!(file.find("w")?.data()?.elements::<f32>()?.eq([1.0, 2.0, 3.0, 4.0]));
//! # }
//! # Ok::<(), tenslice::Error>(())
//! ```
//!
//! The output depends only on the declarations and the data: there are no times, no versions and no hash order in it.
//! After a loss of power, [`resume`](Writer::resume) continues at any byte.
#![forbid(unsafe_code)]

pub(crate) mod declaration;
mod explain;
mod frames;
mod names;
pub(crate) mod out;
mod state;
pub(crate) mod sum;

pub use declaration::{NewAttribute, NewFile, NewLayout, NewTensor, NewValue};
pub use explain::WriteExplanation;
pub use out::{Sink, SinkError};
pub(crate) use state::{State, Step};

use core::cmp::Ordering;

use crate::error::origin::Format;
use crate::error::{Error, Result};
use crate::format::writer_of;

/// The data that a [`Writer`] expects next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// The index of the tensor among the declarations.
    pub tensor: u32,
    /// The index of the component in its tensor; 0 for a dense tensor.
    pub component: u32,
    /// The number of bytes of the component that have been written.
    pub offset: u64,
    /// The number of bytes of the component that are missing, at least 1.
    pub missing: u64,
}

/// Writes a file piece by piece.
///
/// The writer borrows the declarations, and stores only its position. After any error but those of [`new`](Self::new)
/// every call fails with `WrongState`, except [`position`](Self::position).
#[derive(Debug)]
pub struct Writer<'a, 's> {
    file: NewFile<'a>,
    state: State,
    scratch: &'s mut [u64],
}

impl<'a, 's> Writer<'a, 's> {
    /// Plans a file: checks the declarations and computes the length of the file. Writes nothing.
    ///
    /// `scratch` must have at least [`scratch_length`](Self::scratch_length) elements; often none. Linear in the
    /// declarations; if the names are not sorted N log N, on chips quadratic.
    ///
    /// # Errors
    ///
    /// `NotInFormat` if the format cannot hold a tensor or an attribute; `RepeatedName`, `RepeatedKey`; `ShapeOverflow`;
    /// `PartialBlock`; `InvalidAlignment`; `OutOfScratch`; and others for the limits of each format.
    /// [`Error::declaration`] returns the index of the tensor or the attribute in question.
    pub fn new(file: NewFile<'a>, scratch: &'s mut [u64]) -> Result<Self> {
        let mut state = State::START;
        state.plan(&file, scratch)?;
        Ok(Self { file, state, scratch })
    }

    /// Returns the number of elements of scratch memory that a file needs: one for each component with a digest, 42 more
    /// in zTensor 2, or on hosts one for every two names if there are more than 1024 names that are not sorted. For
    /// components in frames, one more for each, and one for every two frames of the longest component in zTensor 2.
    ///
    /// # Errors
    ///
    /// `NotBuiltIn` if the format is not built in; `TooMany` if this machine cannot address that much memory.
    pub fn scratch_length(file: &NewFile<'_>) -> Result<usize> {
        State::scratch_length(file)
    }

    /// Returns the length of the complete file in bytes; `None` if components are stored in frames, whose lengths are not
    /// known before.
    #[must_use]
    pub const fn length(&self) -> Option<u64> {
        self.state.length()
    }

    /// Returns the number of bytes written so far: the offset of the next byte. After `SinkFailed`, the offset of the
    /// piece that the sink refused.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.state.position()
    }

    /// Writes the part of the file before the data.
    ///
    /// # Errors
    ///
    /// `SinkFailed`; `WrongState` if the writer has begun before.
    pub fn begin(&mut self, sink: &mut dyn Sink) -> Result<()> {
        self.resume(sink, 0)
    }

    /// Continues a file of which the first `written` bytes have been written before, by another writer with the same
    /// declarations. Writes what is missing of the part before the data; then [`due`](Self::due) tells which data to
    /// pass. Linear in the declarations.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` if the file is not that long, if it has digests and `written` is beyond the first byte of data, or
    /// if it has frames and `written` is not 0: call [`begin`](Self::begin) with a sink that drops the first `written`
    /// bytes, and pass all data again; `SinkFailed`; `WrongState` if the writer has begun before.
    pub fn resume(&mut self, sink: &mut dyn Sink, written: u64) -> Result<()> {
        self.state.step(&self.file, self.scratch, sink, Step::Resume(written))
    }

    /// Returns the data that is expected next; `None` if all data has been passed, or before the file is begun.
    #[must_use]
    pub fn due(&self) -> Option<Due> {
        self.state.due(&self.file)
    }

    /// Writes the next bytes of the data, in pieces of any size: a piece may end inside an element and span tensors.
    ///
    /// # Errors
    ///
    /// `TooManyBytes` if all tensors are complete; `InvalidElement` if zTensor 2 does not allow the bits of an element,
    /// such as a boolean that is 2; `SinkFailed`; `WrongState`, also if components are stored in frames.
    pub fn data(&mut self, sink: &mut dyn Sink, bytes: &[u8]) -> Result<()> {
        self.state.step(&self.file, self.scratch, sink, Step::Data(bytes))
    }

    /// Writes the next frame of a component that is stored in frames: `encoded`, a complete Zstandard frame, of which
    /// `decoded` is the content. In zTensor 2 the frame must have a checksum. The writer does not decode the frame.
    ///
    /// # Errors
    ///
    /// `WrongState` if the file is not declared with [`frames`](NewFile::frames); `WrongLength` if `decoded` has another
    /// length than a frame must have at this place; `InvalidFrame`; `InvalidElement`; `TooManyBytes`; `SinkFailed`.
    pub fn frame(&mut self, sink: &mut dyn Sink, encoded: &[u8], decoded: &[u8]) -> Result<()> {
        self.state.frame(&self.file, self.scratch, sink, encoded, decoded)
    }

    /// Writes the part of the file after the data. The file is complete.
    ///
    /// # Errors
    ///
    /// `TooFewBytes` if the data of a tensor is missing; `SinkFailed`; `WrongState`.
    pub fn finish(&mut self, sink: &mut dyn Sink) -> Result<()> {
        self.state.step(&self.file, self.scratch, sink, Step::Finish)
    }
}

/// Compares two tensors by the order in which the reference implementation of a format writes them: in safetensors by
/// dtype, then by name; in zTensor by name. In formats without such an order all tensors are equal.
///
/// Sort the declarations by this order, without changing the order of equal ones, to write the file that the reference
/// implementation writes. Of more than 1024 tensors, zTensor requires it.
///
/// # Errors
///
/// `NotBuiltIn` if the format is not built in.
///
/// ```
/// # #[cfg(feature = "safetensors")] {
/// use tenslice::write::{NewTensor, reference_order};
/// use tenslice::{DType, Format};
///
/// let mut tensors = [NewTensor::dense("a", DType::U8, &[4]), NewTensor::dense("b", DType::F64, &[2])];
/// tensors.sort_by(|a, b| reference_order(Format::Safetensors, a, b).unwrap());
/// assert_eq!(tensors[0].name, "b");
/// # }
/// ```
pub fn reference_order(format: Format, a: &NewTensor<'_>, b: &NewTensor<'_>) -> Result<Ordering> {
    let writer = writer_of(format).map_err(|refusal| refusal.of_file(format))?;
    Ok(writer.compare(a, b))
}

impl<'a> NewFile<'a> {
    /// Returns the message of an error of a writer of this file: it names the tensor or the attribute, and says what
    /// would help.
    #[must_use]
    pub fn explain(&self, error: &Error) -> WriteExplanation<'_> {
        WriteExplanation::new(self, *error)
    }
}
