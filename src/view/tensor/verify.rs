//! Verifies the components of a tensor against their digests.
#![forbid(unsafe_code)]

use super::Tensor;
use crate::codec::BuiltIn;
use crate::codec::decoder::Decoder;
use crate::codec::options::ReadOptions;
use crate::error::warning::{Warning, Warnings};
use crate::error::{ErrorKind, Result};
use crate::format::{FileFormat, dispatch};
use crate::view::component::Verification;

impl Tensor<'_> {
    /// Verifies the components against their digests. Also checks:
    ///
    /// - the indices of a sparse tensor without encoded components, as [`sparse`](Self::sparse) does, unless the dtype
    ///   of the values is unknown or takes less than a byte. If a logical type is unknown, a wrong number of indices is
    ///   not reported;
    /// - the chunks of a chunked array: warns if one of the first 2^24 chunks was never written;
    /// - the header of a compressed NPZ entry: returns its warnings, such as bytes after the array.
    ///
    /// Scratch memory is needed for components whose digest covers decoded bytes, for the table of chunks, and for the
    /// header of a compressed NPZ entry; [`requirements`](Self::requirements) returns its length. With less memory,
    /// warnings about the chunks and the header may be missing.
    ///
    /// The cost is the sum of the costs of [`Component::verify`](crate::Component::verify) for each component, even if
    /// components share bytes, and is linear in the number of chunks.
    ///
    /// # Errors
    /// The errors of [`Component::verify`](crate::Component::verify) for the first component that fails, and of
    /// [`sparse`](Self::sparse). `NoValues`. The errors of an invalid header in a compressed NPZ entry.
    #[inline]
    pub fn verify(&self, options: ReadOptions<'_>) -> Result<Verified> {
        let mut built_in = BuiltIn::default();
        let (decoder, scratch) = options.parts(&mut built_in);
        self.verify_using(decoder, scratch)
    }

    pub(crate) fn verify_using(&self, decoder: &mut dyn Decoder, scratch: &mut [u8]) -> Result<Verified> {
        self.problem().map_or(Ok(()), Err)?;
        let mut verified = Verified::default();
        let mut components = self.components();
        for component in components.by_ref() {
            verified.add(component.verify_using(decoder, scratch)?);
        }
        if let Some(error) = components.error() {
            return Err(error);
        }
        if self.sparse_roles().is_some_and(|roles| self.encoded(roles).next().is_none()) {
            match self.sparse_using(&mut BuiltIn::default(), &mut []) {
                Ok(sparse) => verified.warnings = sparse.warnings(),
                Err(error) if self.may_differ_in_count(error.kind()) => {}
                Err(error) => return Err(error),
            }
        }
        if self.is_verified_as_a_whole() {
            verified.warnings = dispatch!(&self.file, file => file.verify_whole(&self.record, decoder, scratch))?;
        }
        Ok(verified)
    }

    /// Returns true if `fault` may be valid because a logical type is unknown: an element may take several stored
    /// elements, or part of one. Opening rejects lengths that are wrong for every logical type.
    fn may_differ_in_count(&self, fault: ErrorKind) -> bool {
        matches!(fault, ErrorKind::CountMismatch | ErrorKind::PartialElement)
            && self.warnings().contains(Warning::UnknownLogicalType)
    }

    /// Returns the scratch memory that [`verify`](Self::verify) needs, in bytes: the maximum over the components, the
    /// table of chunks and the header of a compressed array. `None` if a component cannot be verified.
    pub(crate) fn verify_scratch(&self) -> Option<u64> {
        let whole = dispatch!(&self.file, file => file.verify_scratch(&self.record));
        self.components().try_fold(whole, |most: u64, component| Some(component.verify_scratch()?.max(most)))
    }
}

/// The outcome of verifying components against their digests, as counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Components whose bytes match their digest.
    pub verified: u64,
    /// Components for which the file states no digest.
    pub without_digest: u64,
    /// Components whose digest is of an unknown kind.
    pub unknown_digest: u64,
    /// Warnings about the data.
    pub warnings: Warnings,
}

impl Verified {
    fn add(&mut self, verification: Verification) {
        let count = match verification {
            Verification::Verified => &mut self.verified,
            Verification::NoDigest => &mut self.without_digest,
            Verification::UnknownDigest => &mut self.unknown_digest,
        };
        *count = count.saturating_add(1);
    }

    pub(crate) fn add_all(&mut self, other: Self) {
        self.verified = self.verified.saturating_add(other.verified);
        self.without_digest = self.without_digest.saturating_add(other.without_digest);
        self.unknown_digest = self.unknown_digest.saturating_add(other.unknown_digest);
        self.warnings = Warnings::from_bits(self.warnings.bits() | other.warnings.bits());
    }
}
