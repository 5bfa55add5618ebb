//! Warnings that the specification of a format calls for, and the set of warnings of a file.
#![forbid(unsafe_code)]

use crate::error::abi_enum::abi_enum;

abi_enum! {
    /// A warning that the specification of a format calls for. Its number is its bit in [`Warnings`].
    ///
    /// Bits 0 to 7 are warnings about a tensor, and the first tensor concerned is recorded. The others are about the
    /// file.
    Warning: u8 {
        MisalignedOffset = 0, "an offset is not a multiple of the format's alignment";
        UnknownLogicalType = 1, "a logical type is unknown; only the storage dtype is known";
        UnknownDigest = 2, "a digest is of a kind that cannot be verified";
        RepeatedName = 3, "a tensor name appears twice; find returns the first";
        RolesUnchecked = 4, "a tensor has too many unsorted roles to compare without memory; check does";
        UnreadableTensor = 5, "the elements of a tensor cannot be read; its own error says why";
        NewerMinor = 8, "the file has a newer minor version; new features may be missed";
        NoMinor = 9, "the version has no minor number; read as 0";
        NamesUnchecked = 10, "too many unsorted names to compare without memory; check does";
        TrailingBytes = 11, "bytes follow that belong to nothing";
        ReservedBytes = 12, "bytes that must be 0 are not";
        LegacyLayout = 13, "the data is not in a chunk, as programs write it contrary to the specification";
        LegacyComplexWidth = 14, "the number width was stated as that of a complex number; the file length shows it";
        LegacyVersion = 15, "the file has chunks in a version that defines none";
        ChunkLength = 16, "a chunk is not as long as its contents require";
        UnclearSymmetry = 17, "a symmetry has no operation, or permutes indices that share a name";
        OpaqueOrder = 18, "the elements are packed in an order that the format does not define";
        UnsortedIndices = 19, "the indices are not sorted";
        RepeatedIndices = 20, "an index appears twice; the last value counts";
        OneDimension = 21, "a tensor train of one core, which the specification does not foresee";
        UnstatedByteOrder = 22, "numbers are in the byte order of the machine that wrote them; read as little-endian";
        NoArray = 23, "an entry of the archive is not an array";
        ExtentsUnchecked = 24, "too many unsorted byte ranges to compare without memory; check does";
        KeysUnchecked = 25, "too many unsorted keys to compare without memory; check does";
        Uninitialised = 26, "chunks were never written; they read as zeros";
        NullMetadata = 27, "the metadata is null, as MLX writes it; read as none";
        ManyDimensions = 28, "a tensor has more than 4 dimensions, which ggml does not read";
    }
}

impl Warning {
    /// Returns the bit of this warning.
    #[must_use]
    pub fn bit(self) -> u32 {
        1_u32.wrapping_shl(u32::from(self.code())) // at most 31: pinned above, checked by a test
    }

    /// Returns the bit of a warning about a tensor, within the warnings of a tensor.
    pub(crate) fn tensor_bit(self) -> u8 {
        1_u8.wrapping_shl(u32::from(self.code())) // below 8: called only for warnings about a tensor
    }
}

/// The number of warnings for which the first tensor is recorded: bits `0..TENSOR_WARNINGS`. A file is on the stack of
/// a chip, so [`Warning::UnreadableTensor`], the last bit, takes no space in builds in which no format of several
/// tensors has it.
const TENSOR_WARNINGS: usize = if cfg!(any(feature = "gguf", feature = "npz")) { 6 } else { 5 };

/// The warnings of a file: a set and, for each warning about a tensor, the first tensor concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Warnings {
    bits: u32,
    first: [u32; TENSOR_WARNINGS],
}

impl Warnings {
    /// Returns the set as bits: the [`Warning::bit`] of each warning.
    #[must_use]
    pub const fn bits(&self) -> u32 {
        self.bits
    }

    /// Returns whether there are no warnings.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bits == 0
    }

    /// Returns whether `warning` is in the set.
    #[must_use]
    pub fn contains(&self, warning: Warning) -> bool {
        self.bits & warning.bit() != 0
    }

    /// Returns an iterator over the warnings, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = Warning> + use<> {
        let set = *self;
        Warning::ALL.iter().copied().filter(move |&warning| set.contains(warning))
    }

    /// Returns the index, in the order of the file, of the first tensor that `warning` is about. `None` if the warning
    /// is not in the set, or is not recorded with a tensor (only bits 0 to 5 are). For any other tensor,
    /// [`Tensor::warnings`](crate::Tensor::warnings) returns the warnings about it.
    #[must_use]
    pub fn first_tensor(&self, warning: Warning) -> Option<u64> {
        let first = self.first.get(usize::from(warning.code())).copied();
        // A warning that is not recorded is in a file of one tensor.
        let index = first.or((warning == Warning::UnreadableTensor).then_some(0))?;
        self.contains(warning).then_some(u64::from(index))
    }

    /// Creates the warnings of a file from bits, none of which is about a tensor.
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self { bits, first: [0; TENSOR_WARNINGS] }
    }

    /// Adds a warning about the file.
    pub(crate) fn add(&mut self, warning: Warning) {
        self.bits |= warning.bit();
    }

    /// Returns this set without `warning`.
    pub(crate) fn without(mut self, warning: Warning) -> Self {
        self.bits &= !warning.bit();
        self
    }

    /// Returns only `warning`, if it is in the set.
    pub(crate) fn only(self, warning: Warning) -> Self {
        Self::from_bits(self.bits & warning.bit())
    }

    /// Adds [`UnreadableTensor`](Warning::UnreadableTensor), which concerns tensor `first` and possibly later ones.
    /// Does nothing if `first` is `u32::MAX`, which is no index of a tensor.
    #[cfg(any(feature = "gguf", feature = "npz"))]
    pub(crate) fn add_unreadable(&mut self, first: u32) {
        let place = self.first.get_mut(usize::from(Warning::UnreadableTensor.code()));
        if let Some(place) = place.filter(|_| first < u32::MAX) {
            *place = first;
            self.bits |= Warning::UnreadableTensor.bit();
        }
    }

    /// Adds the warnings of tensor `index`, given as the sum of their [`Warning::bit`]s.
    pub(crate) fn add_tensor(&mut self, bits: u32, index: u32) {
        let new = bits & !self.bits;
        if new == 0 {
            return;
        }
        for (first, bit) in self.first.iter_mut().zip(0_u32..) {
            if new.wrapping_shr(bit) & 1 != 0 {
                *first = index;
            }
        }
        self.bits |= new;
    }
}

#[cfg(test)]
mod tests {
    use super::{TENSOR_WARNINGS, Warning, Warnings};

    #[test]
    fn warnings_of_tensors_have_a_place() {
        for &warning in Warning::ALL {
            assert!(warning.code() < 32);
            let is_possible = TENSOR_WARNINGS > 5 || warning != Warning::UnreadableTensor;
            if warning.code() < 8 && is_possible {
                assert!(usize::from(warning.code()) < TENSOR_WARNINGS, "{warning:?}");
                let mut warnings = Warnings::default();
                warnings.add_tensor(warning.bit(), 5);
                warnings.add_tensor(warning.bit(), 7);
                assert_eq!(warnings.first_tensor(warning), Some(5), "{warning:?}");
            }
        }
    }
}
