//! The memory that the calls of a tensor and of a file need.
#![forbid(unsafe_code)]

use crate::codec::options::{Purpose, Requirements};
use crate::view::file::File;
use crate::view::tensor::Tensor;

impl Tensor<'_> {
    /// Returns the memory that a call of this tensor needs: every [`Purpose`] except
    /// [`ReadRange`](Purpose::ReadRange), which only a component has.
    ///
    /// - `Read`: the output of [`read_into`](Self::read_into). Scratch memory: for sparse tensors the decoded size of
    ///   the encoded components, for tensor trains the vectors along the train, for chunked arrays one or two blocks.
    /// - `ReadF32`: the number of elements. Scratch memory: none for dense data and blocks that are stored raw, the
    ///   decoded length of encoded blocks, otherwise the output and the scratch memory of `Read`.
    /// - `GetF32`: nothing if the elements are returned in place, otherwise as `ReadF32`.
    /// - `Sparse`: the decoded size of the encoded components; `None` for a tensor that is not sparse.
    /// - `Verify`: the maximum over the components, the table of chunks and the header of a compressed array; `None` if
    ///   a component [cannot be verified](crate::Component::requirements).
    /// - `Describe`: the length of the header of a compressed entry of an NPZ archive, found by decoding the first 12
    ///   bytes of the entry; 0 for any other tensor. `None` if [`describe`](Self::describe) fails, and in builds without
    ///   `zlib`: a caller with another decoder tries some length, and a larger one after `OutOfScratch`.
    ///
    /// For a chunked array, `Read`, `ReadF32` and `GetF32` read the headers of all chunks; the scratch memory is also
    /// `None` if a chunk is malformed or not in memory. Otherwise linear in the number of components and the tables of
    /// frames.
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../tests/fixtures/v1.2/objects_sparse_quant_logical.zt");
    /// use tenslice::{File, Purpose, ReadOptions};
    ///
    /// let file = File::open(bytes)?;
    /// let tensor = file.find("csr_i32")?;
    /// let needed = tensor.requirements(Purpose::Read);
    /// let mut dst = vec![0; needed.output.ok_or("unknown length")? as usize];
    /// let mut scratch = vec![0; needed.scratch.ok_or("unknown length")? as usize];
    /// tensor.read_into(&mut dst, ReadOptions::new().scratch(&mut scratch))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn requirements(&self, purpose: Purpose) -> Requirements {
        match purpose {
            Purpose::Read => Requirements { output: self.read_length(), scratch: self.read_scratch() },
            #[cfg(feature = "dequantize")]
            Purpose::ReadF32 => self.f32_requirements(),
            #[cfg(feature = "dequantize")]
            Purpose::GetF32 => self.get_f32_requirements(self.elements_component().as_ref()),
            Purpose::Sparse => Requirements::of_scratch(self.sparse_scratch()),
            Purpose::Verify => Requirements::of_scratch(self.verify_scratch()),
            Purpose::Describe => Requirements::of_scratch(self.describe_scratch()),
            _ => Requirements::UNKNOWN,
        }
    }
}

impl File<'_> {
    /// Returns the memory that a call needs if it is made for all tensors, one after the other: the maximum over the
    /// [requirements](Tensor::requirements) of the tensors. For [`Verify`](Purpose::Verify) this is the memory that
    /// [`verify`](Self::verify) needs. `None` if it is `None` for one tensor.
    #[must_use]
    #[inline]
    pub fn requirements(&self, purpose: Purpose) -> Requirements {
        self.tensors().fold(Requirements::of_scratch(Some(0)), |most, tensor| most.max(tensor.requirements(purpose)))
    }
}
