//! Conversion of elements of any real type to `f32`.
#![forbid(unsafe_code)]

#[cfg(feature = "ztensor2")]
mod microscaling;
#[cfg(feature = "tflite")]
mod quantized;

#[cfg(not(small))]
use zerocopy::{FromBytes, IntoBytes};

#[cfg(feature = "ztensor2")]
use self::microscaling::Scaled;
use crate::bytes::num::{product, to_u64, to_usize};
use crate::codec::BuiltIn;
#[cfg(feature = "gguf")]
use crate::codec::blocks::{self, BlockType};
use crate::codec::decoder::Decoder;
#[cfg(not(small))]
use crate::codec::f16;
use crate::codec::options::{ReadOptions, Requirements};
use crate::error::{ErrorKind, Result};
use crate::types::element::{Element, Elements};
use crate::types::float;
use crate::types::{ByteOrder, DType, Encoding, Layout};
use crate::view::component::Component;
use crate::view::tensor::Tensor;

impl<'a> Tensor<'a> {
    /// Reads the whole tensor as numbers, converted to `f32`, and returns the part of `dst` written: one number for
    /// each element.
    ///
    /// Elements are in the order in which [`read_into`](Self::read_into) writes them. Quantized blocks (in GGUF and
    /// zTensor 2) and microscaling formats (in zTensor 2) are in the order in which the blocks store them. Quantized
    /// integers of TFLite become the numbers that they stand for, by their scales and zero points. Booleans
    /// become 0 or 1. Integers of 32 and 64 bits and `f64` are rounded to the nearest `f32`, ties to even; an `f64`
    /// beyond the range of `f32` becomes infinite.
    ///
    /// [`requirements`](Self::requirements) returns the length of the scratch memory: 0 if nothing is encoded.
    /// The cost is the cost of [`read_into`](Self::read_into), plus a term linear in the elements. Blocks expand to at
    /// most 29 bytes for each byte stored.
    ///
    /// # Errors
    /// - `WrongType` if the elements are not real numbers (complex numbers, several lanes), or have 128 bits.
    /// - `ForeignEndian` for quantized blocks in a big-endian file, if the blocks contain numbers larger than a byte.
    /// - `UnsupportedLayout` for blocks of an unknown type, or of a type whose attributes in zTensor 2 do not match. Also
    ///   for quantized integers of TFLite with other scales or zero points than one for the tensor, or one for each index of
    ///   a dimension, and for those of more than 16 bits with a zero point.
    /// - `TooSmall`, `OutOfScratch`, and the errors of [`read_into`](Self::read_into).
    ///
    /// ```
    /// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/v1.2/dense_all_dtypes.zt");
    /// let file = tenslice::File::open(bytes)?;
    /// let mut numbers = [0.0; 64];
    /// for tensor in &file {
    ///     match tensor.read_f32_into(&mut numbers, tenslice::ReadOptions::new()) {
    ///         Ok(numbers) => println!("{}: {numbers:?}", tensor.name()),
    ///         Err(error) => println!("{}: {error}", tensor.name()),
    ///     }
    /// }
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    #[inline]
    pub fn read_f32_into<'d>(&self, dst: &'d mut [f32], options: ReadOptions<'_>) -> Result<&'d mut [f32]> {
        let mut built_in = BuiltIn::default();
        let (decoder, scratch) = options.parts(&mut built_in);
        self.read_f32_into_using(decoder, dst, scratch)
    }

    pub(crate) fn read_f32_into_using<'d>(
        &self,
        decoder: &mut dyn Decoder,
        dst: &'d mut [f32],
        scratch: &mut [u8],
    ) -> Result<&'d mut [f32]> {
        self.problem().map_or(Ok(()), Err)?;
        self.read_f32_of(self.elements_component().as_ref(), decoder, dst, scratch)
    }

    /// Returns the elements as [`get_f32`](Self::get_f32) does. `elements` is what
    /// [`elements_component`](Self::elements_component) returns, bound to its bytes if they are in another file.
    pub(crate) fn f32_of<'d>(
        &self,
        elements: Option<Component<'a>>,
        decoder: &mut dyn Decoder,
        room: &'d mut [f32],
        scratch: &mut [u8],
    ) -> Result<&'d [f32]>
    where
        'a: 'd,
    {
        match self.in_place(elements.as_ref()) {
            Some(numbers) => Ok(numbers),
            None => self.read_f32_of(elements.as_ref(), decoder, room, scratch).map(|numbers| &*numbers),
        }
    }

    fn read_f32_of<'d>(
        &self,
        elements: Option<&Component<'a>>,
        decoder: &mut dyn Decoder,
        dst: &'d mut [f32],
        scratch: &mut [u8],
    ) -> Result<&'d mut [f32]> {
        if self.is_unknown() {
            return Err(self.error(ErrorKind::UnsupportedLayout));
        }
        // The memory is judged last: a larger one does not help if the elements cannot be converted.
        #[cfg(feature = "ztensor2")]
        if self.layout() == Layout::Microscaling {
            let (scaled, dst) = (Scaled::of(self)?, self.room_in(dst)?);
            scaled.read(decoder, dst, scratch)?;
            return Ok(dst);
        }
        let kind = self.kind()?;
        #[cfg(feature = "tflite")]
        let quantization = self.quantization()?;
        if let Some(elements) = elements {
            let dst = self.room_in(dst)?;
            let mut scratch = &mut *scratch; // reborrowed for this call only
            let bytes = elements.decoded(decoder, &mut scratch)?;
            self.convert(bytes, decoded_order(elements), kind, 0, dst)?;
            #[cfg(feature = "tflite")]
            if let Some(quantization) = quantization {
                self.dequantize(&quantization, 0, dst)?;
            }
            return Ok(dst);
        }
        let length = self.read_length().ok_or_else(|| self.error(ErrorKind::UnsupportedLayout))?;
        let dst = self.room_in(dst)?;
        let out_of_scratch = || self.error(ErrorKind::OutOfScratch);
        let length = to_usize(length).ok_or_else(out_of_scratch)?;
        let (elements, scratch) = scratch.split_at_mut_checked(length).ok_or_else(out_of_scratch)?;
        let elements = self.read_into_using(decoder, elements, scratch)?;
        self.convert(elements, self.written_order(), kind, 0, dst)?;
        Ok(dst)
    }

    /// Returns the part of `dst` that the elements fill.
    fn room_in<'d>(&self, dst: &'d mut [f32]) -> Result<&'d mut [f32]> {
        let count = self.shape().element_count().ok_or_else(|| self.error(ErrorKind::ShapeOverflow))?;
        let dst = to_usize(count).and_then(|count| dst.get_mut(..count));
        dst.ok_or_else(|| self.error(ErrorKind::TooSmall))
    }

    /// Returns the elements if the tensor is dense, and they are stored as `f32`, in this machine's byte order and
    /// aligned.
    fn in_place(&self, elements: Option<&Component<'a>>) -> Option<&'a [f32]> {
        let elements = elements.filter(|_| self.layout() == Layout::Dense)?;
        let numbers: &[f32] = elements.as_slice().ok()?;
        (Some(to_u64(numbers.len())) == self.shape().element_count()).then_some(numbers)
    }

    /// Returns the memory that [`get_f32`](Self::get_f32) needs, for a tensor whose elements are in `elements`.
    pub(crate) fn get_f32_requirements(&self, elements: Option<&Component<'a>>) -> Requirements {
        match self.in_place(elements) {
            Some(_) => Requirements::of_scratch(Some(0)),
            None => self.f32_requirements(),
        }
    }

    /// Returns the memory that [`read_f32_into`](Self::read_f32_into) needs; see [`requirements`](Self::requirements).
    pub(crate) fn f32_requirements(&self) -> Requirements {
        Requirements { output: self.shape().element_count(), scratch: self.f32_scratch() }
    }

    fn f32_scratch(&self) -> Option<u64> {
        #[cfg(feature = "ztensor2")]
        if self.layout() == Layout::Microscaling {
            return Scaled::of(self).ok()?.scratch();
        }
        match self.elements_component() {
            Some(elements) if elements.encoding() == Encoding::Raw => Some(0),
            Some(elements) => elements.decoded_length(),
            None => self.read_length()?.checked_add(self.read_scratch()?),
        }
    }

    /// Reads `dst.len()` elements of a dense or a quantized tensor from element `first` on, in stored order, converted
    /// as in [`read_f32_into`](Self::read_f32_into). Constant cost per element, wherever the elements are.
    ///
    /// # Errors
    /// `NoSuchElement` if the range extends past the last element, `NotDense`, `Encoded`, `WrongType`, `ForeignEndian`,
    /// and the errors of [`Component::bytes`].
    pub fn read_f32_range(&self, first: u64, dst: &mut [f32]) -> Result<()> {
        self.problem().map_or(Ok(()), Err)?;
        let count = self.shape().element_count().unwrap_or(0);
        if first.checked_add(to_u64(dst.len())).is_none_or(|end| end > count) {
            return Err(self.error(ErrorKind::NoSuchElement));
        }
        #[cfg(feature = "ztensor2")]
        if self.layout() == Layout::Microscaling {
            return Scaled::of(self)?.read_range(first, dst);
        }
        let kind = self.kind()?;
        #[cfg(feature = "tflite")]
        let quantization = self.quantization()?;
        let data = self.stored_data()?;
        let bytes = data.bytes()?;
        self.convert(bytes, data.byte_order(), kind, first, dst)?;
        #[cfg(feature = "tflite")]
        if let Some(quantization) = quantization {
            self.dequantize(&quantization, first, dst)?;
        }
        Ok(())
    }

    /// Returns the kind of the elements, if they can be converted.
    fn kind(&self) -> Result<Kind> {
        #[cfg(feature = "gguf")]
        if let Some(block) = self.block_type() {
            #[cfg(feature = "ztensor2")]
            self.check_block(block)?;
            return Ok(Kind::Block(block));
        }
        #[cfg(feature = "ztensor2")]
        if self.layout() == Layout::Blocks {
            return Err(self.error(ErrorKind::UnsupportedLayout)); // an unknown type, or not built in
        }
        let is_real = |dtype: &DType| {
            let is_single = dtype.number() == *dtype;
            is_single && !matches!(*dtype, DType::C64 | DType::C128 | DType::F128 | DType::U128 | DType::I128)
        };
        self.dtype().filter(is_real).map(Kind::Number).ok_or_else(|| self.error(ErrorKind::WrongType))
    }

    /// Returns the component that holds all elements; `None` if they are in several components, or in none.
    pub(crate) fn elements_component(&self) -> Option<Component<'a>> {
        matches!(self.layout(), Layout::Dense | Layout::Blocks).then(|| self.stored_data().ok())?
    }

    /// Converts elements from number `first` on; `bytes` are the bytes of all elements.
    fn convert(&self, bytes: &[u8], order: ByteOrder, kind: Kind, first: u64, dst: &mut [f32]) -> Result<()> {
        let converted = match kind {
            Kind::Number(dtype) => to_f32(bytes, first, dtype, order, dst),
            // No specification states the byte order of the numbers inside blocks of a big-endian file.
            #[cfg(feature = "gguf")]
            Kind::Block(block) if order == ByteOrder::Big && block.has_wide_numbers() => {
                return Err(self.error(ErrorKind::ForeignEndian));
            }
            #[cfg(feature = "gguf")]
            Kind::Block(block) => blocks::dequantize(block, bytes, first, dst),
        };
        converted.ok_or_else(|| self.error(ErrorKind::PartialElement))
    }
}

/// Returns the byte order of the bytes that [`Component::decoded`] returns: decoding converts elements of a dtype.
fn decoded_order(elements: &Component<'_>) -> ByteOrder {
    let is_converted = elements.encoding() != Encoding::Raw && elements.dtype().is_some();
    if is_converted { ByteOrder::NATIVE } else { elements.byte_order() }
}

/// The kind of the elements of a tensor.
#[derive(Clone, Copy)]
enum Kind {
    Number(DType),
    #[cfg(feature = "gguf")]
    Block(BlockType),
}

/// Converts elements from number `first` on to fill `dst`. Returns `None` for dtypes that are not real numbers of at
/// most 64 bits, or if there are too few elements.
fn to_f32(bytes: &[u8], first: u64, dtype: DType, order: ByteOrder, dst: &mut [f32]) -> Option<()> {
    if let Some(size) = dtype.size() {
        let bytes = bytes.get(to_usize(product(Some(first), size)?)?..)?;
        return whole_to_f32(bytes, dtype, order, dst);
    }
    let convert: fn(u8) -> f32 = match dtype {
        DType::F4_E2M1 => float::f4_e2m1_to_f32,
        DType::F6_E2M3 => float::f6_e2m3_to_f32,
        DType::F6_E3M2 => float::f6_e3m2_to_f32,
        DType::UINT4 => |bits| f32::from(bits & 15),
        DType::UINT2 => |bits| f32::from(bits & 3),
        // Shifting the sign to the top of a byte and back extends it.
        DType::INT4 => |bits| f32::from((bits << 4).cast_signed() >> 4),
        _ => |bits| f32::from((bits << 6).cast_signed() >> 6),
    };
    #[cfg(not(small))]
    if dst.len() >= 256 {
        return match dtype.bits() {
            2 => packed_to_f32::<2>(bytes, first, dst, convert),
            4 => packed_to_f32::<4>(bytes, first, dst, convert),
            _ => packed_to_f32::<6>(bytes, first, dst, convert),
        };
    }
    one_by_one(bytes, first, dtype.bits(), dst, convert)
}

/// Converts many elements of less than a byte, eight at a time, with a table of all values, which takes as long to fill
/// as 64 conversions.
#[cfg(not(small))]
fn packed_to_f32<const BITS: usize>(bytes: &[u8], first: u64, dst: &mut [f32], convert: fn(u8) -> f32) -> Option<()> {
    let mut table = [0.0; 64];
    table.iter_mut().zip(0..).for_each(|(value, bits)| *value = convert(bits));
    // Eight elements fill whole bytes, so every eighth element begins with a byte.
    let bits = to_u64(BITS);
    let (before, dst) = dst.split_at_mut_checked(to_usize(first.wrapping_neg() & 7)?)?;
    let (eights, after) = dst.split_at_mut_checked(dst.len() & !7)?;
    let start = first.checked_add(to_u64(before.len()))?;
    let end = start.checked_add(to_u64(eights.len()))?;
    one_by_one(bytes, first, bits, before, convert)?;
    one_by_one(bytes, end, bits, after, convert)?;
    let byte = |element: u64| to_usize(product(Some(element >> 3), bits)?);
    let bytes = <[[u8; BITS]]>::ref_from_bytes(bytes.get(byte(start)?..byte(end)?)?).ok()?;
    let eights = <[[f32; 8]]>::mut_from_bytes(eights.as_mut_bytes()).ok()?;
    for (numbers, bytes) in eights.iter_mut().zip(bytes) {
        let mut word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        for number in numbers {
            let [low, ..] = word.to_le_bytes();
            *number = table.get(usize::from(low & 63)).copied().unwrap_or_default();
            word >>= BITS;
        }
    }
    Some(())
}

/// Converts elements of less than a byte.
fn one_by_one(bytes: &[u8], first: u64, bits: u64, dst: &mut [f32], convert: fn(u8) -> f32) -> Option<()> {
    // The first element is in the lowest bits of the first byte.
    let mut at = product(Some(first), bits)?;
    for number in dst {
        let byte = to_usize(at >> 3)?;
        let (low, high) = (bytes.get(byte)?, bytes.get(byte.checked_add(1)?).unwrap_or(&0));
        let [element, _] = u16::from_le_bytes([*low, *high]).wrapping_shr(u32::try_from(at & 7).ok()?).to_le_bytes();
        *number = convert(element);
        at = at.checked_add(bits)?;
    }
    Some(())
}

/// Converts elements of whole bytes.
fn whole_to_f32(bytes: &[u8], dtype: DType, order: ByteOrder, dst: &mut [f32]) -> Option<()> {
    #[allow(clippy::as_conversions)]
    // number to float: rounds to nearest, ties to even, infinite beyond the range
    match dtype {
        DType::BOOL => each(bytes, order, dst, |byte: u8| f32::from(u8::from(byte != 0))),
        DType::U8 => each(bytes, order, dst, |number: u8| number.into()),
        DType::I8 => each(bytes, order, dst, |number: i8| number.into()),
        DType::U16 => each(bytes, order, dst, |number: u16| number.into()),
        DType::I16 => each(bytes, order, dst, |number: i16| number.into()),
        DType::U32 => each(bytes, order, dst, |number: u32| number as f32),
        DType::I32 => each(bytes, order, dst, |number: i32| number as f32),
        DType::U64 => each(bytes, order, dst, |number: u64| number as f32),
        DType::I64 => each(bytes, order, dst, |number: i64| number as f32),
        DType::F64 => each(bytes, order, dst, |number: f64| number as f32),
        DType::F32 => each(bytes, order, dst, |number: f32| number),
        #[cfg(not(small))]
        DType::F16 => f16::to_f32(bytes, order, dst),
        #[cfg(small)]
        DType::F16 => each(bytes, order, dst, float::f16_to_f32),
        DType::BF16 => each(bytes, order, dst, float::bf16_to_f32),
        DType::F8_E4M3FN => each_f8(bytes, order, dst, float::f8_e4m3fn_to_f32),
        DType::F8_E5M2 => each_f8(bytes, order, dst, float::f8_e5m2_to_f32),
        DType::F8_E4M3FNUZ => each_f8(bytes, order, dst, float::f8_e4m3fnuz_to_f32),
        DType::F8_E5M2FNUZ => each_f8(bytes, order, dst, float::f8_e5m2fnuz_to_f32),
        DType::F8_E8M0 => each(bytes, order, dst, float::f8_e8m0_to_f32),
        _ => None,
    }
}

/// Converts 8-bit floats. Hosts look up many floats in a table, which takes as long to fill as 256 conversions.
fn each_f8(bytes: &[u8], order: ByteOrder, dst: &mut [f32], convert: impl Fn(u8) -> f32) -> Option<()> {
    if cfg!(small) || dst.len() < 1024 {
        return each(bytes, order, dst, convert);
    }
    let mut table = [0.0; 256];
    table.iter_mut().zip(0..=u8::MAX).for_each(|(value, bits)| *value = convert(bits));
    look_up(bytes.get(..dst.len())?, dst, &table);
    Some(())
}

#[inline(never)] // one copy of the loop for all types
fn look_up(bytes: &[u8], dst: &mut [f32], table: &[f32; 256]) {
    let value = |bits: &u8| table.get(usize::from(*bits)).copied().unwrap_or_default();
    dst.iter_mut().zip(bytes).for_each(|(number, bits)| *number = value(bits));
}

/// Converts elements of one type.
fn each<T: Element>(bytes: &[u8], order: ByteOrder, dst: &mut [f32], convert: impl Fn(T) -> f32) -> Option<()> {
    let elements = Elements::<T>::new(bytes, order);
    if elements.len() < dst.len() {
        return None;
    }
    dst.iter_mut().zip(elements).for_each(|(number, element)| *number = convert(element));
    Some(())
}
