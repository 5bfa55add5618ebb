//! The declarations of a file to write, as C passes them, and the caller's sink.
//!
//! A declaration is converted and checked whenever the writer asks for it.

use core::ffi::{c_char, c_void};
use core::marker::PhantomData;
use core::ptr;

use super::super::memory::{Memory, memory, range};
use super::super::status::{ApiError, FfiResult};
use super::super::write::{
    HAS_ITEMS, HAS_TRAINS, tenslice_new_attribute, tenslice_new_file, tenslice_new_tensor, tenslice_new_value,
    tenslice_sink,
};
use super::{Array, Buffer, INVALID_ARGUMENT, In, InfoIn, InfoOut, Length, buffer};
use crate::bytes::num::to_usize;
use crate::bytes::utf8::Utf8;
use crate::duplicates::sort_places;
use crate::error::origin::{Format, Part};
use crate::error::{ErrorKind, Result};
use crate::write::declaration::{Attribute, Checked, Declarations, Refusal, Value, check_value};
use crate::write::{NewTensor, NewValue, Sink, SinkError, State, reference_order};
use crate::{DType, Layout, ValueKind};

/// True if a format that is built in has attributes that are not texts.
const HAS_VALUES: bool = cfg!(any(feature = "gguf", feature = "ztensor", feature = "ztensor2"));

/// True if a format that is built in has attributes of tensors.
const HAS_TENSOR_ATTRIBUTES: bool = cfg!(any(feature = "ztensor", feature = "ztensor2"));

/// An array of C structs. The distance between two of them is the size that C has stated.
struct Table<T> {
    first: *const T,
    count: usize,
    stride: usize,
}

impl<T> Clone for Table<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Table<T> {}

impl<T: Copy> Table<T> {
    /// Wraps `count` structs of a size that never changes.
    fn new(first: *const T, count: usize) -> FfiResult<Self> {
        range(first.cast(), count, size_of::<T>(), align_of::<T>()).ok_or(INVALID_ARGUMENT)?;
        Ok(Self { first, count, stride: size_of::<T>() })
    }

    /// Returns the address of struct `index`; `None` after the last.
    fn at(self, index: usize) -> Option<*const T> {
        if index >= self.count {
            return None;
        }
        // The whole array is inside memory, so the distance does not overflow.
        Some(self.first.cast::<u8>().wrapping_add(index.wrapping_mul(self.stride)).cast())
    }

    /// Returns struct `index`; `None` after the last.
    fn get(self, index: usize) -> Option<&'static T> {
        let place = self.at(index)?;
        // SAFETY: not NULL, aligned, and inside memory, as has been checked. The header requires that many structs,
        // in place and unchanged for as long as the writer is used.
        Some(unsafe { &*place })
    }
}

impl Table<tenslice_new_tensor> {
    /// Checks the array of `count` tensors. The first one states the size of each.
    fn check_tensors(first: *const tenslice_new_tensor, count: usize) -> FfiResult<()> {
        if count != 0 {
            let _ = InfoOut(first.cast_mut(), PhantomData).writable()?; // not NULL, not misaligned, and complete
            // SAFETY: the header requires readable structs, and `writable` has checked the pointer.
            let stride = unsafe { Self::checked_tensors(first, count) }.stride;
            if stride & align_of::<tenslice_new_tensor>().wrapping_sub(1) != 0 {
                return Err(INVALID_ARGUMENT);
            }
            range(first.cast(), count, stride, align_of::<tenslice_new_tensor>()).ok_or(INVALID_ARGUMENT)?;
        }
        Ok(())
    }

    /// Wraps `count` tensors that have been [checked](Self::check_tensors).
    ///
    /// # Safety
    /// Unless `count` is 0, `first` points to a tensor.
    const unsafe fn checked_tensors(first: *const tenslice_new_tensor, count: usize) -> Self {
        // SAFETY: guaranteed by the caller.
        let stride = if count == 0 { 0 } else { unsafe { (*first).struct_size } };
        #[allow(clippy::as_conversions)] // all targets have at least 32 bits
        Self { first, count, stride: stride as usize }
    }
}

/// The declarations of a file, in the memory of the caller.
#[derive(Clone, Copy)]
pub(in super::super) struct Declared {
    /// Checked by `declared`.
    file: *const tenslice_new_file,
}

/// The contents of a tenslice_writer. The scratch memory is a pointer, since a copy of the writer has the same.
#[derive(Clone, Copy)]
pub(in super::super) struct Held {
    state: State,
    declared: Declared,
    scratch: *mut u64,
    words: usize,
}

/// The parts of a writer, for one call.
pub(in super::super) struct Working<'a> {
    pub(in super::super) state: &'a mut State,
    pub(in super::super) declared: Declared,
    pub(in super::super) scratch: &'a mut [u64],
}

impl Held {
    pub(in super::super) const fn state(&self) -> &State {
        &self.state
    }

    pub(in super::super) const fn declared(&self) -> &Declared {
        &self.declared
    }

    /// Returns the parts of a writer for a call that must not overlap `others`.
    pub(in super::super) fn working(&mut self, others: &[Memory]) -> FfiResult<Working<'_>> {
        // SAFETY: `open` has checked the memory and kept this part of it for the writer. The header requires that it
        // stays in place and that no other call uses it at the same time.
        let scratch = unsafe { buffer::<u64>(self.scratch, self.words, others)? };
        Ok(Working { state: &mut self.state, declared: self.declared, scratch })
    }
}

impl InfoIn<'static, tenslice_new_file> {
    /// Returns the declarations, whose arrays have been checked, but not each declaration.
    pub(in super::super) fn declared(&self) -> FfiResult<Declared> {
        let _ = InfoOut(self.0.cast_mut(), PhantomData).writable()?; // neither NULL nor misaligned, and complete
        // SAFETY: just checked. The header requires that the struct stays in place while the writer is used.
        let file = unsafe { &*self.0 };
        Table::check_tensors(file.tensors, file.tensor_count)?;
        Table::new(file.attributes, file.attribute_count)?;
        format_of(file.format).ok_or(INVALID_ARGUMENT)?;
        Ok(Declared { file: self.0 })
    }

    pub(in super::super) fn memory(&self) -> Memory {
        memory(self.0, 1)
    }
}

impl Declared {
    const fn fields(&self) -> &'static tenslice_new_file {
        // SAFETY: `declared` found that the caller's struct is large enough. The header requires that it stays in
        // place while the writer is used.
        unsafe { &*self.file }
    }

    fn tensors(&self) -> Table<tenslice_new_tensor> {
        let fields = self.fields();
        // SAFETY: `declared` has checked the pointer.
        unsafe { Table::checked_tensors(fields.tensors, fields.tensor_count) }
    }

    /// Returns the attributes of the file, which `declared` has checked.
    const fn attributes(&self) -> Table<tenslice_new_attribute> {
        let fields = self.fields();
        let stride = size_of::<tenslice_new_attribute>();
        Table { first: fields.attributes, count: fields.attribute_count, stride }
    }

    /// Returns the struct of tensor `index`.
    #[cfg_attr(small, inline(never))]
    fn tensor_at(&self, index: u32) -> Option<&'static tenslice_new_tensor> {
        self.tensors().get(to_usize(index.into())?)
    }

    /// Fails if a declaration cannot be read.
    pub(in super::super) fn check(&self) -> Checked {
        for tensor in (0..).map_while(|index| self.tensors().get(index)) {
            tensor_of(tensor, self.tensors().stride)?;
            if !HAS_TENSOR_ATTRIBUTES && tensor.attribute_count > 0 {
                return Err(Refusal::not_in_format(Part::Attributes));
            }
            check_attributes(attributes_of(tensor)?)?;
        }
        check_attributes(self.attributes())
    }

    /// Returns a writer of the file, which is in state `state`.
    pub(in super::super) const fn writer(self, state: State, scratch: &'static mut [u64]) -> Held {
        let words = scratch.len();
        Held { state, declared: self, scratch: scratch.as_mut_ptr(), words }
    }
}

/// Returns the format with this code.
#[cfg_attr(small, inline(never))]
fn format_of(code: u32) -> Option<Format> {
    u8::try_from(code).ok().and_then(Format::from_code)
}

impl Declarations for Declared {
    fn format(&self) -> Format {
        format_of(self.fields().format).unwrap_or(Format::Unknown) // known, as `declared` found
    }

    fn alignment_or(&self, default: u64) -> u64 {
        let alignment = self.fields().alignment;
        if alignment == 0 { default } else { alignment }
    }

    fn has_digests(&self) -> bool {
        self.fields().has_digests != 0
    }

    fn frame_length(&self) -> Option<u64> {
        None
    }

    fn tensor_count(&self) -> usize {
        self.fields().tensor_count
    }

    fn tensor(&self, index: u32) -> Checked<NewTensor<'_>> {
        let tensor = self.tensor_at(index).ok_or(Refusal::new(ErrorKind::InvalidArgument, Part::Tensor))?;
        tensor_of(tensor, self.tensors().stride)
    }

    fn attribute_count(&self) -> usize {
        self.fields().attribute_count
    }

    fn attribute(&self, index: u32) -> Checked<Attribute<'_>> {
        attribute_of(self.attributes(), index)
    }

    fn tensor_attribute_count(&self, tensor: u32) -> usize {
        self.tensor_at(tensor).map_or(0, |tensor| tensor.attribute_count)
    }

    fn tensor_attribute(&self, tensor: u32, index: u32) -> Checked<Attribute<'_>> {
        if !HAS_TENSOR_ATTRIBUTES {
            return Err(Refusal::not_in_format(Part::Attributes));
        }
        let tensor = self.tensor_at(tensor).ok_or(Refusal::new(ErrorKind::InvalidArgument, Part::Tensor))?;
        attribute_of(attributes_of(tensor)?, index)
    }
}

/// Fails if an attribute cannot be read.
fn check_attributes(all: Table<tenslice_new_attribute>) -> Checked {
    for index in 0..u32::try_from(all.count).map_err(|_| Refusal::new(ErrorKind::TooMany, Part::Attributes))? {
        check_value(attribute_of(all, index)?.value)?;
    }
    Ok(())
}

/// Returns the attributes of a tensor.
fn attributes_of(tensor: &tenslice_new_tensor) -> Checked<Table<tenslice_new_attribute>> {
    Table::new(tensor.attributes, tensor.attribute_count).map_err(|error| Refusal::new(error.kind, Part::Attributes))
}

/// Returns attribute `index` of `all` attributes.
fn attribute_of(all: Table<tenslice_new_attribute>, index: u32) -> Checked<Attribute<'static>> {
    let attribute = to_usize(index.into()).and_then(|index| all.get(index));
    let attribute = attribute.ok_or(Refusal::new(ErrorKind::InvalidArgument, Part::Value))?;
    Ok(Attribute { key: text(attribute.key, attribute.key_length, Part::Key)?, value: &attribute.value })
}

/// Returns a text: `length` bytes or, with TENSLICE_NUL, those before the NUL.
fn text(data: *const c_char, length: usize, part: Part) -> Checked<&'static str> {
    let refuse = |error: ApiError| Refusal::new(error.kind, part);
    let bytes = Array::<c_char>(data, PhantomData).text(Length(length, PhantomData)).map_err(refuse)?;
    if Utf8::checked(bytes).is_none() {
        return Err(Refusal::new(ErrorKind::InvalidUtf8, part));
    }
    // SAFETY: just checked. The check in `core` takes 620 bytes of flash.
    Ok(unsafe { core::str::from_utf8_unchecked(bytes) })
}

/// Returns an array of numbers.
fn lengths(data: *const u64, count: usize, part: Part) -> Checked<&'static [u64]> {
    let numbers = Array::<u64>(data, PhantomData).with_length(Length(count, PhantomData));
    numbers.map_err(|error| Refusal::new(error.kind, part))
}

/// Converts a tensor of `size` bytes, without its attributes.
fn tensor_of(tensor: &tenslice_new_tensor, size: usize) -> Checked<NewTensor<'static>> {
    if to_usize(tensor.struct_size.into()) != Some(size) {
        return Err(Refusal::new(ErrorKind::InvalidArgument, Part::Tensor));
    }
    attributes_of(tensor)?;
    let ranks = match tensor.kind() {
        Some(Layout::TensorTrain) if HAS_TRAINS => lengths(tensor.ranks, tensor.ranks_length, Part::BondDimension)?,
        _ => &[],
    };
    let descr = match tensor.descr.is_null() {
        true => None,
        false if HAS_ITEMS => Some(text(tensor.descr, tensor.descr_length, Part::DType)?),
        false => return Err(Refusal::not_in_format(Part::Layout)),
    };
    Ok(NewTensor {
        name: text(tensor.name, tensor.name_length, Part::Name)?,
        shape: lengths(tensor.shape, tensor.rank, Part::Shape)?,
        layout: tensor.layout(ranks, descr)?,
        attributes: &[],
    })
}

impl Value for tenslice_new_value {
    fn get(&self) -> Checked<NewValue<'_>> {
        let refuse = |error: ApiError| Refusal::new(error.kind, Part::Value);
        if !HAS_VALUES && self.value_kind() != Some(ValueKind::Text) {
            return Err(Refusal::not_in_format(Part::Value));
        }
        if let Some(number) = self.number_value()? {
            return Ok(number);
        }
        match self.value_kind() {
            Some(ValueKind::Text) => text(self.data.cast(), self.length, Part::Value).map(NewValue::Text),
            Some(ValueKind::Bytes) => {
                let bytes = Array::<c_void>(self.data, PhantomData).with_length(Length(self.length, PhantomData));
                bytes.map(NewValue::Bytes).map_err(refuse)
            }
            Some(ValueKind::Array) => self.items().map(|_| NewValue::List(&[])).map_err(refuse),
            Some(ValueKind::Map) => self.items().map(|_| NewValue::Map(&[])).map_err(refuse),
            _ => Err(Refusal::new(ErrorKind::InvalidArgument, Part::Value)),
        }
    }

    fn count(&self) -> usize {
        self.items().map_or(0, |items| items.count)
    }

    fn inner(&self, index: usize) -> Option<&dyn Value> {
        self.items().ok()?.get(index).map(|value| -> &dyn Value { value })
    }
}

impl tenslice_new_value {
    /// Returns the values in a list or map.
    fn items(&self) -> FfiResult<Table<Self>> {
        match self.value_kind() {
            Some(ValueKind::Array | ValueKind::Map) if HAS_VALUES => Table::new(self.data.cast(), self.length),
            _ => Err(INVALID_ARGUMENT),
        }
    }
}

/// The caller's sink. A copy, since the caller's function may change its struct while it runs.
pub(in super::super) struct CallersSink(tenslice_sink);

impl In<'_, tenslice_sink> {
    pub(in super::super) fn sink(&self) -> FfiResult<CallersSink> {
        match self.read()? {
            tenslice_sink { write: None, .. } => Err(INVALID_ARGUMENT),
            sink => Ok(CallersSink(sink)),
        }
    }
}

impl Sink for CallersSink {
    fn write(&mut self, offset: u64, bytes: &[u8]) -> core::result::Result<(), SinkError> {
        let write = self.0.write.ok_or(SinkError)?;
        // SAFETY: the header requires that the function does what its type states.
        let status = unsafe { write(self.0.context, offset, bytes.as_ptr().cast(), bytes.len()) };
        if status == 0 { Ok(()) } else { Err(SinkError) }
    }
}

impl Buffer<'_, tenslice_new_tensor> {
    /// Sorts tensors by the order of the reference implementation of a format. Leaves them alone if they are sorted.
    pub(in super::super) fn sort(self, Length(count, _): Length<'_>, format: Format) -> Result<()> {
        Table::check_tensors(self.0.cast_const(), count)?;
        // SAFETY: just checked.
        let tensors = unsafe { Table::checked_tensors(self.0.cast_const(), count) };
        let get = |number: usize| {
            let tensor = tensors.get(number).ok_or(Refusal::new(ErrorKind::InvalidArgument, Part::Tensor))?;
            tensor_of(tensor, tensors.stride)
        };
        for (number, index) in (0..count).zip(0_u32..) {
            get(number).map_err(|refusal| refusal.of(format, index))?;
        }
        let is_less = |a: usize, b: usize| match (get(a), get(b)) {
            (Ok(a), Ok(b)) => reference_order(format, &a, &b).is_ok_and(core::cmp::Ordering::is_lt),
            _ => false,
        };
        let none = NewTensor::dense("", DType::U8, &[]);
        reference_order(format, &none, &none)?; // the format is built in
        if (1..count).all(|number| !is_less(number, number.wrapping_sub(1))) {
            return Ok(());
        }
        let swap = |a: usize, b: usize| {
            let (Some(a), Some(b)) = (tensors.at(a), tensors.at(b)) else { return };
            if a != b {
                let (a, b) = (a.cast::<u64>().cast_mut(), b.cast::<u64>().cast_mut());
                // SAFETY: two different structs of the array, which the header requires to be writable. `self`, the
                // only path to them, is consumed. Their size is a multiple of the alignment.
                unsafe { ptr::swap_nonoverlapping(a.cast::<u8>(), b.cast::<u8>(), tensors.stride) };
            }
        };
        sort_places(count, is_less, swap);
        Ok(())
    }
}
