//! How a call reads data, and the memory that it needs.
#![forbid(unsafe_code)]

use core::fmt;

use super::BuiltIn;
use super::decoder::Decoder;
use crate::error::abi_enum::abi_enum;

/// How a call reads data: the decoder and the scratch memory. The default is the built-in decoders and no scratch
/// memory.
///
/// ```
/// # let bytes: &[u8] = include_bytes!("../../tests/fixtures/v1.2/dense_all_dtypes.zt");
/// use tenslice::{BuiltIn, File, ReadOptions};
///
/// let tensor = File::open(bytes)?.find("t.float64")?;
/// let mut dst = [0; 512];
/// tensor.read_into(&mut dst, ReadOptions::new())?;
///
/// let (mut decoder, mut scratch) = (BuiltIn::default(), [0; 1024]); // or a decoder of your own
/// tensor.read_into(&mut dst, ReadOptions::new().decoder(&mut decoder).scratch(&mut scratch))?;
/// # Ok::<(), tenslice::Error>(())
/// ```
#[derive(Default)]
pub struct ReadOptions<'o> {
    decoder: Option<&'o mut dyn Decoder>,
    scratch: &'o mut [u8],
}

impl<'o> ReadOptions<'o> {
    /// Creates the default options: the built-in decoders and no scratch memory.
    #[must_use]
    #[inline]
    pub const fn new() -> Self {
        Self { decoder: None, scratch: &mut [] }
    }

    /// Sets the scratch memory. The method `requirements` of each object returns the number of bytes that a call needs.
    #[must_use]
    #[inline]
    pub fn scratch(mut self, scratch: &'o mut [u8]) -> Self {
        self.scratch = scratch;
        self
    }

    /// Sets the decoder, which the call uses instead of the built-in decoders.
    #[must_use]
    #[inline]
    pub fn decoder(mut self, decoder: &'o mut dyn Decoder) -> Self {
        self.decoder = Some(decoder);
        self
    }

    /// Returns the decoder and the scratch memory. The decoder is `built_in` unless the caller has set one.
    #[inline]
    pub(crate) fn parts<'d>(self, built_in: &'d mut BuiltIn) -> (&'d mut dyn Decoder, &'o mut [u8])
    where
        'o: 'd,
    {
        let decoder: &'d mut dyn Decoder = match self.decoder {
            Some(decoder) => decoder,
            None => built_in,
        };
        (decoder, self.scratch)
    }
}

/// Prints the size of the scratch memory, not its contents.
impl fmt::Debug for ReadOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decoder = if self.decoder.is_some() { "the caller's" } else { "built in" };
        f.debug_struct("ReadOptions").field("decoder", &decoder).field("scratch", &self.scratch.len()).finish()
    }
}

abi_enum! {
    /// The purpose of memory: the call that needs it.
    Purpose: u8 {
        /// The call `read_into`, or `read_elements` of a tensor:
        Read = 0, "reading all elements";
        /// The call `read_f32_into` of a tensor:
        ReadF32 = 1, "reading all elements as f32";
        /// The call `read_range_into` of a component:
        ReadRange = 2, "reading a range of a component";
        /// The call `sparse` of a tensor:
        Sparse = 3, "reading the indices and values of a sparse tensor";
        /// The call `verify`:
        Verify = 4, "verifying digests";
        /// The call `describe` of a tensor:
        Describe = 5, "describing the elements";
        /// The call `get_f32` of a tensor:
        GetF32 = 6, "elements as f32, in place if possible";
    }
}

/// The memory that a call needs. See [`Tensor::requirements`](crate::Tensor::requirements),
/// [`Component::requirements`](crate::Component::requirements) and
/// [`File::requirements`](crate::File::requirements).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Requirements {
    /// The length of the output: a number of elements for [`Purpose::ReadF32`] and [`Purpose::GetF32`], otherwise a
    /// number of bytes; 0 if the call has no output buffer. `None` if the file does not state the length, if the caller
    /// chooses it, or if the call will fail.
    pub output: Option<u64>,
    /// The length of the scratch memory, in bytes. `None` if the file does not state the length, or if the call will
    /// fail.
    pub scratch: Option<u64>,
}

impl Requirements {
    /// The requirements of a call that the object does not have.
    pub(crate) const UNKNOWN: Self = Self { output: None, scratch: None };

    /// Creates the requirements of a call without an output buffer.
    pub(crate) const fn of_scratch(scratch: Option<u64>) -> Self {
        Self { output: Some(0), scratch }
    }

    /// Returns the requirements of two calls that use the same memory one after the other.
    pub(crate) fn max(self, other: Self) -> Self {
        let larger = |one: Option<u64>, two: Option<u64>| Some(one?.max(two?));
        Self { output: larger(self.output, other.output), scratch: larger(self.scratch, other.scratch) }
    }
}
