//! The interface between the formats and the writer: what a format implements to be written.
#![forbid(unsafe_code)]

use core::cmp::Ordering;

use crate::bytes::num::padding;
use crate::duplicates::MAX_COMPARED;
use crate::error::ErrorKind;
use crate::error::origin::{Format, Part};
use crate::write::declaration::{Attribute, Checked, Declarations, NewTensor, Refusal, requested_alignment, tensors};
use crate::write::out::Out;
use crate::write::sum::{Kept, Sum, SumKind, Sums};

/// A component of a file being written: its tensor, its index in the tensor, and its number in the file.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code)] // depends on the formats that are built in
pub(crate) struct Stage {
    pub(crate) tensor: u32,
    pub(crate) component: u32,
    pub(crate) number: u32,
}

/// Writes a format. What is written depends only on the declarations, so it can be counted first and written then.
pub(crate) trait FormatWriter: Sync {
    /// Fails if the format cannot hold the file, by its alignment or its number of tensors.
    fn check_file(&self, file: &dyn Declarations) -> Checked;

    /// Fails if the format cannot hold an attribute of the file. The default is for formats without attributes.
    fn check_attribute(&self, _attribute: &Attribute<'_>) -> Checked {
        Err(Refusal::not_in_format(Part::Key))
    }

    /// True if tensors have attributes in the format.
    fn has_tensor_attributes(&self) -> bool {
        false
    }

    /// Fails if the format cannot hold tensor `index`, by its name, its layout, its dtype, its shape or its attributes.
    fn check_tensor(&self, file: &dyn Declarations, index: u32, tensor: &NewTensor<'_>) -> Checked;

    /// The kind of digest that is stored for each component.
    fn sum(&self, _file: &dyn Declarations) -> SumKind {
        SumKind::None
    }

    /// The contents of the scratch memory for each component.
    fn kept(&self, file: &dyn Declarations) -> Kept {
        Kept { kind: self.sum(file), has_lengths: self.max_frame().is_some() && file.frame_length().is_some() }
    }

    /// The decoded length of the longest Zstandard frame; `None` if the format has no components in frames.
    fn max_frame(&self) -> Option<u64> {
        None
    }

    /// True if a table of the frames follows the frames of a component.
    fn has_seek_table(&self) -> bool {
        false
    }

    /// Fails if the format does not allow a frame, whose content has `length` bytes.
    fn check_frame(&self, _frame: &[u8], _length: u64) -> Checked {
        Ok(())
    }

    /// The alignment of the data of each component; 1 if there is no padding between components.
    fn alignment(&self, _file: &dyn Declarations) -> u64 {
        1
    }

    /// Fails if elements have bits that the format does not allow. `bytes` come next in a component, of which `missing`
    /// bytes are missing.
    fn check_data(&self, _file: &dyn Declarations, _stage: Stage, _missing: u64, _bytes: &[u8]) -> Checked {
        Ok(())
    }

    /// Writes what precedes all data.
    fn head(&self, _file: &dyn Declarations, _out: &mut Out<'_>) {}

    /// Writes what precedes the data of a component, after the padding. What belongs to the digest is added to `sum`.
    fn before(&self, _file: &dyn Declarations, _stage: Stage, _sum: &mut Sum, _out: &mut Out<'_>) {}

    /// The number of bytes of a component after which the format writes something between them; `None` if the bytes are
    /// in one piece.
    #[cfg(feature = "b2nd")]
    fn run_length(&self, _file: &dyn Declarations) -> Option<u64> {
        None
    }

    /// Writes what stands between two runs of a component's bytes.
    #[cfg(feature = "b2nd")]
    fn between(&self, _file: &dyn Declarations, _out: &mut Out<'_>) {}

    /// Writes what follows the data of a component, whose digest is `sum`.
    fn after(&self, _file: &dyn Declarations, _stage: Stage, _sum: &Sum, _out: &mut Out<'_>) {}

    /// Writes what follows all data.
    fn tail(&self, _file: &dyn Declarations, _sums: &Sums<'_>, _out: &mut Out<'_>) {}

    /// The order of the tensors that the reference implementation writes.
    fn compare(&self, _a: &NewTensor<'_>, _b: &NewTensor<'_>) -> Ordering {
        Ordering::Equal
    }
}

/// Returns the writer of a format.
pub(crate) fn writer_of(format: Format) -> Checked<&'static dyn FormatWriter> {
    match format {
        #[cfg(feature = "safetensors")]
        Format::Safetensors => Ok(&super::safetensors::SafetensorsWriter),
        #[cfg(feature = "gguf")]
        Format::Gguf => Ok(&super::gguf::GgufWriter),
        #[cfg(feature = "npy")]
        Format::Npy => Ok(&super::npy::NpyWriter),
        // An archive without checksums would be damaged.
        #[cfg(all(feature = "npz", feature = "crc32"))]
        Format::Npz => Ok(&super::npz::NpzWriter),
        #[cfg(feature = "ztensor")]
        Format::Ztensor => Ok(&super::ztensor::ZtensorWriter),
        #[cfg(feature = "ztensor2")]
        Format::Ztensor2 => Ok(&super::ztensor2::Ztensor2Writer),
        #[cfg(feature = "tens")]
        Format::Tens => Ok(&super::tens::TensWriter),
        #[cfg(feature = "blz")]
        Format::Blz => Ok(&super::blz::BlzWriter),
        #[cfg(feature = "b2nd")]
        Format::B2nd => Ok(&super::b2nd::B2ndWriter),
        _ => Err(Refusal::new(ErrorKind::NotBuiltIn, Part::File)),
    }
}

/// Fails if a file of a format with a single tensor has another number of tensors, or an alignment, which the format
/// does not have.
#[allow(dead_code)] // depends on the formats that are built in
pub(crate) fn check_single(file: &dyn Declarations) -> Checked {
    if file.tensor_count() != 1 {
        return Err(Refusal::not_in_format(Part::Tensors));
    }
    let has_alignment = requested_alignment(file).is_some();
    if has_alignment { Err(Refusal::not_in_format(Part::Alignment)) } else { Ok(()) }
}

/// The position of a component in a file whose blobs follow each other, and its number.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// The end of the blob before the component. The component begins at the next multiple of the alignment.
    pub(crate) at: u64,
    pub(crate) number: u32,
}

impl Place {
    /// Moves past the components of a tensor.
    fn pass(&mut self, tensor: &NewTensor<'_>, alignment: u64, sums: &Sums<'_>) {
        for index in 0..tensor.component_count() {
            let Ok(length) = tensor.component_length(index) else { return };
            let start = self.at.saturating_add(padding(self.at, alignment));
            self.at = start.saturating_add(sums.stored_length(self.number, length));
            self.number = self.number.saturating_add(1);
        }
    }
}

/// Fails if two attributes of tensor `index` have the same key, or if `check` fails for one. Quadratic in the
/// attributes, which are few.
#[allow(dead_code)] // depends on the formats that are built in
pub(crate) fn check_attributes(
    file: &dyn Declarations,
    index: u32,
    check: impl Fn(&Attribute<'_>) -> Checked,
) -> Checked {
    let attribute = |number: u32| file.tensor_attribute(index, number).map_err(Refusal::in_attributes);
    let count = u32::try_from(file.tensor_attribute_count(index)).unwrap_or(u32::MAX);
    for number in 0..count {
        let checked = attribute(number)?;
        check(&checked).map_err(Refusal::in_attributes)?;
        for other in 0..number {
            if attribute(other)?.key == checked.key {
                return Err(Refusal::new(ErrorKind::RepeatedKey, Part::Attributes));
            }
        }
    }
    Ok(())
}

/// Calls `each` for the attributes in the order of their keys, which differ. Quadratic in the attributes.
pub(crate) fn each_attribute_sorted<'a>(
    attribute: impl Fn(u32) -> Option<Attribute<'a>>,
    order: NameOrder,
    mut each: impl FnMut(&Attribute<'a>),
) {
    let mut last: Option<&str> = None;
    loop {
        let is_after = |key: &str| last.is_none_or(|last| order(last, key).is_lt());
        let rest = (0..).map_while(&attribute).filter(|attribute| is_after(attribute.key));
        let Some(next) = rest.min_by(|a, b| order(a.key, b.key)) else { return };
        each(&next);
        last = Some(next.key);
    }
}

/// The order of two names.
pub(crate) type NameOrder = fn(&str, &str) -> Ordering;

/// True if the tensors are declared in the order of their names.
fn are_sorted(file: &dyn Declarations, order: NameOrder) -> bool {
    let mut last: Option<&str> = None;
    tensors(file).all(|(_, tensor)| {
        let is_next = last.is_none_or(|last| order(last, tensor.name).is_lt());
        last = Some(tensor.name);
        is_next
    })
}

/// Fails if there are too many tensors to list them by name in another order than that of their declarations.
pub(crate) fn check_sorted(file: &dyn Declarations, order: NameOrder) -> Checked {
    let is_short = u32::try_from(file.tensor_count()).is_ok_and(|count| count <= MAX_COMPARED);
    if is_short || are_sorted(file, order) { Ok(()) } else { Err(Refusal::new(ErrorKind::KeyOrder, Part::Name)) }
}

/// Calls `each` for the tensors in the order of their names, with the index of the tensor and the place of its first
/// component. `start` is the place of the first component in the file. Quadratic in the tensors if they are not declared
/// in that order.
pub(crate) fn each_sorted(
    file: &dyn Declarations,
    order: NameOrder,
    start: Place,
    alignment: u64,
    sums: &Sums<'_>,
    mut each: impl FnMut(u32, &NewTensor<'_>, Place),
) {
    if are_sorted(file, order) {
        let mut place = start;
        for (index, tensor) in tensors(file) {
            each(index, &tensor, place);
            place.pass(&tensor, alignment, sums);
        }
        return;
    }
    let mut last: Option<&str> = None;
    loop {
        let (mut place, mut next) = (start, None::<(u32, NewTensor<'_>, Place)>);
        for (index, tensor) in tensors(file) {
            let is_after = last.is_none_or(|last| order(last, tensor.name).is_lt());
            if is_after && next.is_none_or(|(_, next, _)| order(tensor.name, next.name).is_lt()) {
                next = Some((index, tensor, place));
            }
            place.pass(&tensor, alignment, sums);
        }
        let Some((index, tensor, place)) = next else { return };
        each(index, &tensor, place);
        last = Some(tensor.name);
    }
}
