//! Writes NPY, byte for byte as `np.save` does: the head, and the items.
#![forbid(unsafe_code)]

use crate::codec::npy::write as npy;
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::format::FormatWriter;
use crate::write::declaration::{Checked, Declarations, NewTensor, Refusal, tensors};
use crate::write::out::Out;

/// The smallest alignment that a version of NumPy has written, and the largest power of two with which `np.load` reads
/// the header: it refuses headers of more than 10 000 bytes.
const MIN_ALIGNMENT: u64 = 16;
const MAX_ALIGNMENT: u64 = 8192;

pub(crate) struct NpyWriter;

impl FormatWriter for NpyWriter {
    fn check_file(&self, file: &dyn Declarations) -> Checked {
        let alignment = alignment(file);
        if !alignment.is_power_of_two() || !(MIN_ALIGNMENT..=MAX_ALIGNMENT).contains(&alignment) {
            return Err(Refusal::new(ErrorKind::InvalidAlignment, Part::Alignment));
        }
        match file.tensor_count() {
            0 => Err(Refusal::new(ErrorKind::MissingData, Part::Tensors)),
            1 => Ok(()),
            _ => Err(Refusal::new(ErrorKind::TooMany, Part::Tensors)),
        }
    }

    fn check_tensor(&self, _: &dyn Declarations, _: u32, tensor: &NewTensor<'_>) -> Checked {
        npy::check(tensor)
    }

    fn head(&self, file: &dyn Declarations, out: &mut Out<'_>) {
        for (_, tensor) in tensors(file) {
            npy::head(&tensor, alignment(file), out);
        }
    }
}

fn alignment(file: &dyn Declarations) -> u64 {
    file.alignment_or(npy::ALIGNMENT)
}
