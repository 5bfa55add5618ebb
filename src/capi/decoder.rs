//! The decoder and the scratch memory that C passes in a tenslice_read_options.

use core::marker::PhantomData;
use core::ptr;

use super::super::memory::{Memory, memory};
use super::super::options::{tenslice_decoder, tenslice_read_options};
use super::super::status::{FfiResult, OK, tenslice_status};
use super::{Buffer, Capacity, INVALID_ARGUMENT, In, InfoOut, OptionalIn, Plain, buffer};
use crate::error::ErrorKind;
use crate::types::Encoding;
use crate::{BuiltIn, DecodeError, Decoder};

impl<'a> OptionalIn<'a, tenslice_read_options> {
    /// Returns the decoder and the scratch memory. The scratch memory must overlap neither the options, nor the
    /// decoder, nor `others`.
    pub(in super::super) fn apart_from(self, others: &[Memory]) -> FfiResult<(Chosen, &'a mut [u8])> {
        self.read(None, others)
    }

    /// Returns the decoder and the scratch memory as [`apart_from`](Self::apart_from) does. `destination` must overlap
    /// none of the options, the decoder and the scratch memory.
    #[inline(never)] // the copy of the options is on its own stack frame
    fn read(self, destination: Option<Memory>, others: &[Memory]) -> FfiResult<(Chosen, &'a mut [u8])> {
        let (mut decoder, mut scratch, mut length) = (ptr::null(), ptr::null_mut(), 0);
        if !self.0.is_null() {
            let _ = InfoOut(self.0.cast_mut(), PhantomData).writable()?; // not misaligned, and complete
            // SAFETY: not NULL, and `writable` found that the caller's struct is large enough. The header requires that
            // these fields are set; the caller may leave the reserved one unset.
            (decoder, scratch, length) = unsafe { ((*self.0).decoder, (*self.0).scratch, (*self.0).scratch_length) };
        }
        let given = memory(scratch.cast::<u8>(), length);
        let inputs = [memory(self.0, 1), memory(decoder, 1)];
        let overlaps = |other: Memory| inputs.iter().any(|input| input.shares_with(other));
        if overlaps(given) || destination.is_some_and(|other| other.shares_with(given) || overlaps(other)) {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: as for `Buffer`. `self`, the only path to the scratch memory, is consumed.
        let scratch = unsafe { buffer(scratch, length, others) }?;
        Ok((OptionalIn(decoder, PhantomData).read()?.into(), scratch))
    }
}

/// Returns the buffer for the result of a call and the scratch memory, and sets `decoder`. The buffer and the scratch
/// memory must not overlap each other, nor anything else that is passed: the options, the decoder and `others`.
#[inline(never)] // its results are on the caller's stack once
pub(in super::super) fn buffers<'a, E: Plain>(
    (destination, capacity): (Buffer<'a, E>, Capacity<'_>),
    options: OptionalIn<'a, tenslice_read_options>,
    others: &[Memory],
    decoder: &mut Chosen, // set in place, which saves a copy on the stack
) -> FfiResult<(&'a mut [E::Number], &'a mut [u8])> {
    let (chosen, scratch) = options.read(Some(destination.memory(capacity)), others)?;
    *decoder = chosen;
    Ok((destination.with_capacity(capacity, others)?, scratch))
}

/// The caller's decoder, or the built-in one if the caller passes none.
pub(in super::super) enum Chosen {
    Callers(CallersDecoder),
    BuiltIn(BuiltIn),
}

impl Default for Chosen {
    fn default() -> Self {
        Self::BuiltIn(BuiltIn::default())
    }
}

impl From<Option<CallersDecoder>> for Chosen {
    fn from(decoder: Option<CallersDecoder>) -> Self {
        match decoder {
            Some(decoder) => Self::Callers(decoder),
            None => Self::default(),
        }
    }
}

impl Decoder for Chosen {
    fn decode(&mut self, encoding: Encoding, stored: &[u8], destination: &mut [u8]) -> Result<usize, DecodeError> {
        match self {
            Self::BuiltIn(built_in) => built_in.decode(encoding, stored, destination),
            Self::Callers(decoder) => came_to(decoder.decode(encoding, stored, destination), destination.len()),
        }
    }

    fn decode_start(
        &mut self,
        encoding: Encoding,
        stored: &[u8],
        destination: &mut [u8],
    ) -> Result<usize, DecodeError> {
        match self {
            Self::BuiltIn(built_in) => built_in.decode_start(encoding, stored, destination),
            Self::Callers(decoder) => {
                let capacity = destination.len();
                let answer = decoder.decode(encoding, stored, destination);
                let is_full = answer == Some((tenslice_status::from(ErrorKind::TooSmall.code()), capacity));
                match came_to(answer, capacity) {
                    Err(DecodeError::DoesNotFit) if is_full => Ok(capacity),
                    Err(DecodeError::DoesNotFit) => Err(DecodeError::Unsupported),
                    decoded => decoded,
                }
            }
        }
    }

    fn decode_with_dictionary(
        &mut self,
        encoding: Encoding,
        dictionary: &[u8],
        stored: &[u8],
        destination: &mut [u8],
    ) -> Result<usize, DecodeError> {
        match self {
            Self::BuiltIn(built_in) => built_in.decode_with_dictionary(encoding, dictionary, stored, destination),
            Self::Callers(decoder) => {
                let answer = decoder.decode_with_dictionary(encoding, dictionary, stored, destination);
                came_to(answer, destination.len())
            }
        }
    }
}

/// Interprets the status and the length that a caller's decoder returned.
fn came_to(answer: Option<(tenslice_status, usize)>, capacity: usize) -> Result<usize, DecodeError> {
    let Some((status, length)) = answer else { return Err(DecodeError::Unsupported) };
    let is = |kind: ErrorKind| status == tenslice_status::from(kind.code());
    if status == OK && length <= capacity {
        Ok(length)
    } else if is(ErrorKind::TooSmall) {
        Err(DecodeError::DoesNotFit)
    } else if is(ErrorKind::UnsupportedEncoding) {
        Err(DecodeError::Unsupported)
    } else if is(ErrorKind::ChecksumMismatch) {
        Err(DecodeError::Checksum)
    } else {
        Err(DecodeError::Malformed)
    }
}

/// A decoder that the caller supplies.
pub(in super::super) struct CallersDecoder {
    functions: tenslice_decoder,
}

impl OptionalIn<'_, tenslice_decoder> {
    /// Returns the decoder; `None` if the pointer is NULL. Returns a copy, since the caller's function may change its
    /// struct while it runs.
    fn read(&self) -> FfiResult<Option<CallersDecoder>> {
        if self.0.is_null() {
            return Ok(None);
        }
        match In(self.0, PhantomData).read()? {
            tenslice_decoder { decode: None, .. } => Err(INVALID_ARGUMENT),
            functions => Ok(Some(CallersDecoder { functions })),
        }
    }
}

impl CallersDecoder {
    /// Calls the caller's function. Returns its status and the number of bytes that it reports as written, or `None` if
    /// there is no function.
    pub(in super::super) fn decode(
        &self,
        encoding: Encoding,
        stored: &[u8],
        dst: &mut [u8],
    ) -> Option<(tenslice_status, usize)> {
        let decode = self.functions.decode?;
        let mut length = 0;
        // SAFETY: the header requires that the function does what its type states.
        let status = unsafe {
            decode(
                self.functions.user,
                u32::from(encoding.code()),
                stored.as_ptr().cast(),
                stored.len(),
                dst.as_mut_ptr().cast(),
                dst.len(),
                &raw mut length,
            )
        };
        Some((status, length))
    }

    /// Decodes as [`decode`](Self::decode) does, for a stream that was compressed with `dictionary`.
    pub(in super::super) fn decode_with_dictionary(
        &self,
        encoding: Encoding,
        dictionary: &[u8],
        stored: &[u8],
        dst: &mut [u8],
    ) -> Option<(tenslice_status, usize)> {
        let decode = self.functions.decode_with_dictionary?;
        let mut length = 0;
        // SAFETY: the header requires that the function does what its type states.
        let status = unsafe {
            decode(
                self.functions.user,
                u32::from(encoding.code()),
                dictionary.as_ptr().cast(),
                dictionary.len(),
                stored.as_ptr().cast(),
                stored.len(),
                dst.as_mut_ptr().cast(),
                dst.len(),
                &raw mut length,
            )
        };
        Some((status, length))
    }
}
