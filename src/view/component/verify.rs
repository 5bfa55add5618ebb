//! Verifying a component against its digest: of its stored bytes or, in zTensor 2, of the decoded ones.
//!
//! Depends on `error`, `bytes`, `vocab`, `codec`, `decode`, `format`.
#![forbid(unsafe_code)]

use super::Component;
use crate::bytes::utf8::Utf8;
use crate::codec::BuiltIn;
use crate::codec::decoder::Decoder;
use crate::codec::digest::{self, Digest, Spelled};
use crate::error::origin::Item;
use crate::error::{ErrorKind, Result};
#[cfg(feature = "ztensor2")]
use crate::format::Contents;
#[cfg(any(feature = "npz", feature = "ztensor2"))]
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

/// What there is to verify.
enum Check<'a> {
    /// Bytes as they are.
    Stored(Digest, &'a [u8]),
    /// What these bytes decode to, where they are encoded; and the outcome if all is as it should be.
    #[cfg(feature = "ztensor2")]
    Decoded(Option<Digest>, Contents, &'a [u8], Verification),
    Nothing(Verification),
}

impl<'a> Component<'a> {
    /// Verifies its bytes against its digest. That of zTensor 2 is one of the decoded bytes, for which
    /// [`verify_with`](Self::verify_with) takes memory. The CRC-32 of compressed NPZ entries is checked by
    /// [`read_into`](Self::read_into) instead.
    ///
    /// Linear in the bytes that the digest is of: [`extent`](Self::extent) has their length, or, where they are decoded
    /// first, [`decoded_length`](Self::decoded_length).
    ///
    /// # Errors
    /// `DigestMismatch` where they do not match, `InvalidDigest` where the digest is misspelled, `NotBuiltIn` where it is of
    /// a kind whose feature is off (`crc32`, `crc32c`, `sha256`), `InShard`, `NotInMemory`, `OutOfScratch` where decoding
    /// takes memory.
    pub fn verify(&self) -> Result<Verification> {
        self.verify_with(&mut BuiltIn::default(), &mut [])
    }

    /// Verifies its bytes as [`verify`](Self::verify) does; where the digest is one of decoded bytes, they are decoded by
    /// `decoder`, a frame at a time, into `scratch`, which has
    /// [`verify_scratch_length`](Self::verify_scratch_length) bytes. Of zTensor 2, the values of booleans and the unused
    /// half of an odd number of 4-bit elements are checked, too.
    ///
    /// # Errors
    /// Those of [`verify`](Self::verify), `InvalidElement`, and those of [`read_into`](Self::read_into).
    pub fn verify_with(&self, decoder: &mut dyn Decoder, scratch: &mut [u8]) -> Result<Verification> {
        let _ = (&decoder, &scratch); // unused without zTensor 2
        match self.verifiable()? {
            Check::Nothing(outcome) => Ok(outcome),
            Check::Stored(digest, stored) if digest.is_of(stored) => Ok(Verification::Verified),
            Check::Stored(..) => Err(self.error(ErrorKind::DigestMismatch, Item::Digest)),
            #[cfg(feature = "ztensor2")]
            Check::Decoded(digest, contents, stored, outcome) => {
                self.verify_decoded(digest, contents, stored, decoder, scratch).map(|()| outcome)
            }
        }
    }

    /// Returns how much memory [`verify_with`](Self::verify_with) needs, in bytes: none for what is stored as it was
    /// digested, else that of the largest frame, at most 16 MiB. `None` where it cannot be verified: its bytes are not in
    /// memory, the table of frames is invalid, or a digest of that kind is not built in. Linear in that table.
    #[must_use]
    pub fn verify_scratch_length(&self) -> Option<u64> {
        match self.verifiable().ok()? {
            #[cfg(feature = "ztensor2")]
            Check::Decoded(_, _, stored, _) if self.record.encoding != Encoding::Raw => {
                Some(self.frames(stored).ok()?.largest_frame())
            }
            _ => Some(0),
        }
    }

    /// Whether there is a digest that is checked.
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

    /// Returns what there is to verify.
    fn verifiable(&self) -> Result<Check<'a>> {
        #[cfg(feature = "npz")]
        if let (Some((sum, extent)), Encoding::Raw, false) = (self.record.crc32, self.record.encoding, self.is_bound)
        {
            let stored = self.input.get(extent);
            let stored = stored.ok_or_else(|| self.error(ErrorKind::NotInMemory, Item::Component))?;
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
            Some(Spelled::Known(digest)) => (Some(self.built_in(digest)?), Verification::Verified),
            Some(Spelled::Unknown) => (None, Verification::UnknownDigest),
            Some(Spelled::Invalid) => return Err(self.error(ErrorKind::InvalidDigest, Item::Digest)),
        };
        #[cfg(feature = "ztensor2")]
        if let Some(contents) = self.record.decoded.filter(|contents| digest.is_some() || *contents != Contents::Any)
        {
            return match self.record.encoding {
                Encoding::Raw | Encoding::ZstdSeekable => {
                    Ok(Check::Decoded(digest, contents, self.stored()?, outcome))
                }
                _ => Err(self.error(ErrorKind::UnsupportedEncoding, Item::Encoding)),
            };
        }
        match digest {
            Some(digest) => Ok(Check::Stored(digest, self.stored()?)),
            None => Ok(Check::Nothing(outcome)),
        }
    }

    /// Returns the digest, if its kind is built in.
    fn built_in(&self, digest: Digest) -> Result<Digest> {
        if digest.is_built_in() { Ok(digest) } else { Err(self.error(ErrorKind::NotBuiltIn, Item::Digest)) }
    }

    /// Verifies what `stored` decodes to, frame by frame, and then that its elements are valid.
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
            return Err(self.error(ErrorKind::DigestMismatch, Item::Digest));
        }
        if !is_valid {
            return Err(self.error(ErrorKind::InvalidElement, Item::Component));
        }
        Ok(())
    }
}
