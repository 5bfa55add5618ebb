//! Verification of a component against its digest, which covers the stored bytes or, in zTensor 2, the decoded bytes.
#![forbid(unsafe_code)]

use super::Component;
use crate::bytes::utf8::Utf8;
use crate::codec::BuiltIn;
use crate::codec::decoder::Decoder;
use crate::codec::digest::{self, Digest, DigestSpec};
use crate::codec::options::ReadOptions;
use crate::error::origin::Part;
use crate::error::{ErrorKind, Result};
#[cfg(feature = "ztensor2")]
use crate::format::Contents;
#[cfg(any(feature = "npz", feature = "pytorch", feature = "ztensor2"))]
use crate::types::Encoding;

/// The outcome of verifying a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verification {
    /// The bytes match the digest.
    Verified,
    /// The file states no digest for the component.
    NoDigest,
    /// The digest is of an unknown kind.
    UnknownDigest,
}

/// The check that verification has to do.
enum Check<'a> {
    /// A digest of the stored bytes.
    Stored(Digest, &'a [u8]),
    /// A digest and the valid contents of the decoded bytes, the stored bytes, and the outcome if all checks pass.
    #[cfg(feature = "ztensor2")]
    Decoded(Option<Digest>, Contents, &'a [u8], Verification),
    Nothing(Verification),
}

impl<'a> Component<'a> {
    /// Verifies the bytes against the digest. A digest of zTensor 2 covers the decoded bytes: the decoder decodes them,
    /// one frame at a time, into the scratch memory, whose length [`requirements`](Self::requirements) returns. In
    /// zTensor 2 this also checks the values of booleans, and the unused half byte after an odd number of 4-bit
    /// elements. The CRC-32 of compressed NPZ entries is checked by [`read_into`](Self::read_into) instead.
    ///
    /// Linear in the bytes that the digest covers: the length of [`extent`](Self::extent), or
    /// [`decoded_length`](Self::decoded_length) if they are decoded first.
    ///
    /// # Errors
    /// - `DigestMismatch` if the bytes do not match, `InvalidDigest` if the digest is misspelled.
    /// - `NotBuiltIn` if the feature for the digest is off (`crc32`, `crc32c`, `sha256`).
    /// - `InShard`, `NotInMemory`, and `OutOfScratch` if decoding needs memory.
    /// - In zTensor 2 `InvalidElement`, and the errors of [`read_into`](Self::read_into).
    #[inline]
    pub fn verify(&self, options: ReadOptions<'_>) -> Result<Verification> {
        let mut built_in = BuiltIn::default();
        let (decoder, scratch) = options.parts(&mut built_in);
        self.verify_using(decoder, scratch)
    }

    pub(crate) fn verify_using(&self, decoder: &mut dyn Decoder, scratch: &mut [u8]) -> Result<Verification> {
        let _ = (&decoder, &scratch); // unused without zTensor 2
        match self.verifiable()? {
            Check::Nothing(outcome) => Ok(outcome),
            Check::Stored(digest, stored) if digest.is_of(stored) => Ok(Verification::Verified),
            Check::Stored(..) => Err(self.error(ErrorKind::DigestMismatch, Part::Digest)),
            #[cfg(feature = "ztensor2")]
            Check::Decoded(digest, contents, stored, outcome) => {
                self.verify_decoded(digest, contents, stored, decoder, scratch).map(|()| outcome)
            }
        }
    }

    /// Returns the scratch memory that [`verify`](Self::verify) needs, in bytes; see
    /// [`requirements`](Self::requirements).
    pub(crate) fn verify_scratch(&self) -> Option<u64> {
        match self.verifiable().ok()? {
            #[cfg(feature = "ztensor2")]
            Check::Decoded(_, _, stored, _) if self.record.encoding != Encoding::Raw => {
                Some(self.frames(stored).ok()?.largest_frame())
            }
            _ => Some(0),
        }
    }

    /// True if there is a digest that [`verify`](Self::verify) checks.
    pub(super) fn is_verified(&self) -> bool {
        match self.verifiable() {
            Ok(Check::Stored(..)) => true,
            #[cfg(feature = "ztensor2")]
            Ok(Check::Decoded(Some(_), ..)) => {
                self.record.encoding == Encoding::Raw || BuiltIn::decodes(Encoding::Zstd)
            }
            _ => false,
        }
    }

    /// Returns the check that verification has to do.
    fn verifiable(&self) -> Result<Check<'a>> {
        #[cfg(any(feature = "npz", feature = "pytorch"))]
        if let (Some((sum, extent)), Encoding::Raw, false) = (self.record.crc32, self.record.encoding, self.is_bound)
        {
            let stored = self.input.get(extent);
            let stored = stored.ok_or_else(|| self.error(ErrorKind::NotInMemory, Part::Component))?;
            return Ok(Check::Stored(self.built_in(Digest::Crc32(sum))?, stored));
        }
        let spelled = |text: Utf8<'_>| {
            #[cfg(feature = "ztensor2")]
            if self.record.decoded.is_some() {
                return digest::spelled_strictly(text.bytes());
            }
            digest::spelled(text.bytes())
        };
        let (digest, outcome) = match self.record.digest.map(spelled) {
            None => (None, Verification::NoDigest),
            Some(DigestSpec::Known(digest)) => (Some(self.built_in(digest)?), Verification::Verified),
            Some(DigestSpec::Unknown) => (None, Verification::UnknownDigest),
            Some(DigestSpec::Invalid) => return Err(self.error(ErrorKind::InvalidDigest, Part::Digest)),
        };
        #[cfg(feature = "ztensor2")]
        if let Some(contents) = self.record.decoded.filter(|contents| digest.is_some() || *contents != Contents::Any)
        {
            return match self.record.encoding {
                Encoding::Raw | Encoding::ZstdSeekable => {
                    Ok(Check::Decoded(digest, contents, self.stored()?, outcome))
                }
                _ => Err(self.error(ErrorKind::UnsupportedEncoding, Part::Encoding)),
            };
        }
        match digest {
            Some(digest) => Ok(Check::Stored(digest, self.stored()?)),
            None => Ok(Check::Nothing(outcome)),
        }
    }

    /// Returns the digest if its kind is built in.
    fn built_in(&self, digest: Digest) -> Result<Digest> {
        if digest.is_built_in() { Ok(digest) } else { Err(self.error(ErrorKind::NotBuiltIn, Part::Digest)) }
    }

    /// Verifies the bytes that `stored` decodes to, frame by frame, and then that their elements are valid.
    #[cfg(feature = "ztensor2")]
    fn verify_decoded(
        &self,
        digest: Option<Digest>,
        contents: Contents,
        stored: &[u8],
        decoder: &mut dyn Decoder,
        scratch: &mut [u8],
    ) -> Result<()> {
        let mut is_valid = true;
        let mut check = |part: &[u8], is_last: bool| {
            is_valid &= match contents {
                Contents::Any => true,
                Contents::Bools => part.iter().all(|byte| *byte <= 1),
                Contents::OddHalves => !is_last || part.last().is_none_or(|byte| *byte < 16),
            }
        };
        let is_same = if self.record.encoding == Encoding::Raw {
            check(stored, true);
            digest.is_none_or(|digest| digest.is_of(stored))
        } else {
            let mut running = digest.as_ref().map(digest::Running::like);
            let read = self.frames(stored)?.each(decoder, scratch, |content, is_last| {
                check(content, is_last);
                if let Some(running) = &mut running {
                    running.add(content);
                }
            });
            read.map_err(|kind| self.frame_error(kind))?;
            match (running, digest) {
                (Some(running), Some(digest)) => running.is(&digest),
                _ => true,
            }
        };
        if !is_same {
            return Err(self.error(ErrorKind::DigestMismatch, Part::Digest));
        }
        if !is_valid {
            return Err(self.error(ErrorKind::InvalidElement, Part::Component));
        }
        Ok(())
    }
}
