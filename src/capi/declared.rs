//! The declarations of a file to write, as C passes them, and the caller's sink.
//!
//! A declaration is converted and checked whenever the writer asks for it. Only what Rust needs in one piece is
//! converted once, into the scratch memory: the attributes of tensors, and the values inside lists and maps.

use core::ffi::{c_char, c_void};
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use super::super::memory::{Memory, memory, range};
use super::super::status::{ApiError, FfiResult};
use super::super::write::{
    HAS_TRAINS, tenslice_new_attribute, tenslice_new_file, tenslice_new_tensor, tenslice_new_value, tenslice_sink,
};
use super::{Array, Buffer, INVALID_ARGUMENT, In, InfoIn, InfoOut, Length};
use crate::bytes::num::{to_u64, to_usize};
use crate::bytes::utf8::Utf8;
use crate::duplicates::sort_places;
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind, Result};
use crate::write::declaration::{Checked, Declarations, FileOptions, Refusal};
use crate::write::{NewAttribute, NewTensor, NewValue, Sink, SinkError, State, reference_order};
use crate::{DType, Layout, ValueKind};

/// True if a format that is built in has attributes that are not texts.
const HAS_VALUES: bool = cfg!(any(feature = "gguf", feature = "ztensor", feature = "ztensor2"));

/// True if a format that is built in has attributes of tensors.
const HAS_TENSOR_ATTRIBUTES: bool = cfg!(any(feature = "ztensor", feature = "ztensor2"));

/// The maximum depth of values inside values.
const MAX_DEPTH: usize = 32;

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
        Self::with_stride(first, count, size_of::<T>())
    }

    fn with_stride(first: *const T, count: usize, stride: usize) -> FfiResult<Self> {
        range(first.cast(), count, stride, align_of::<T>()).ok_or(INVALID_ARGUMENT)?;
        Ok(Self { first, count, stride })
    }

    /// Returns the address of struct `index`; `None` after the last.
    fn at(self, index: usize) -> Option<*const T> {
        let distance = index.checked_mul(self.stride).filter(|_| index < self.count)?;
        Some(self.first.cast::<u8>().wrapping_add(distance).cast())
    }

    /// Returns struct `index`; `None` after the last.
    fn get(self, index: usize) -> Option<T> {
        let place = self.at(index)?;
        // SAFETY: not NULL, aligned, and inside memory, as `with_stride` found. The header requires that many structs,
        // in place for as long as the writer is used.
        Some(unsafe { place.read() })
    }
}

impl Table<tenslice_new_tensor> {
    /// Wraps `count` tensors. The first one states the size of each.
    fn of_tensors(first: *const tenslice_new_tensor, count: usize) -> FfiResult<Self> {
        let mut stride = size_of::<tenslice_new_tensor>();
        if count != 0 {
            let _ = InfoOut(first.cast_mut(), PhantomData).writable()?; // not NULL, not misaligned, and complete
            // SAFETY: the header requires readable structs, and `writable` has checked the pointer.
            let claimed = unsafe { first.cast::<u32>().read() };
            stride = to_usize(claimed.into()).unwrap_or(usize::MAX);
        }
        if stride & align_of::<tenslice_new_tensor>().wrapping_sub(1) != 0 {
            return Err(INVALID_ARGUMENT);
        }
        Self::with_stride(first, count, stride)
    }
}

/// The declarations of a file, in the memory of the caller.
#[derive(Clone, Copy)]
pub(in super::super) struct Declared {
    file: *const tenslice_new_file,
    /// The attributes of each tensor; `None` if no tensor has any, or before they are converted.
    of_tensors: Option<&'static [&'static [NewAttribute<'static>]]>,
    /// The attributes of the file; `None` if none of them contains other values, or before they are converted.
    of_file: Option<&'static [NewAttribute<'static>]>,
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
        let given = memory(self.scratch, self.words);
        if others.iter().any(|other| other.shares_with(given)) {
            return Err(INVALID_ARGUMENT);
        }
        let scratch = NonNull::new(self.scratch).unwrap_or(NonNull::dangling());
        // SAFETY: `open` has checked the memory and kept this part of it for the writer. The header requires that it
        // stays in place and that no other call uses it at the same time.
        let scratch = unsafe { NonNull::slice_from_raw_parts(scratch, self.words).as_mut() };
        Ok(Working { state: &mut self.state, declared: self.declared, scratch })
    }
}

impl InfoIn<'static, tenslice_new_file> {
    /// Returns the declarations, whose arrays have been checked, but not each declaration.
    pub(in super::super) fn declared(&self) -> FfiResult<Declared> {
        let _ = InfoOut(self.0.cast_mut(), PhantomData).writable()?; // neither NULL nor misaligned, and complete
        let declared = Declared { file: self.0, of_tensors: None, of_file: None };
        declared.tensors()?;
        declared.attributes()?;
        u8::try_from(declared.fields().format).ok().and_then(Format::from_code).ok_or(INVALID_ARGUMENT)?;
        Ok(declared)
    }

    pub(in super::super) fn memory(&self) -> Memory {
        memory(self.0, 1)
    }
}

impl Declared {
    fn fields(&self) -> tenslice_new_file {
        // SAFETY: `declared` found that the caller's struct is large enough. The header requires that it stays in
        // place while the writer is used.
        unsafe { self.file.read() }
    }

    fn tensors(&self) -> FfiResult<Table<tenslice_new_tensor>> {
        let fields = self.fields();
        Table::of_tensors(fields.tensors, fields.tensor_count)
    }

    fn attributes(&self) -> FfiResult<Table<tenslice_new_attribute>> {
        let fields = self.fields();
        Table::new(fields.attributes, fields.attribute_count)
    }

    /// Returns the number of words of scratch memory that a writer of this file needs.
    pub(in super::super) fn scratch_length(mut self) -> Result<usize> {
        let mut room = Room::counting();
        self.convert(&mut room)?;
        let words = State::scratch_length(&self)?.checked_add(room.used);
        words.ok_or(Error::new(ErrorKind::TooMany))
    }

    /// Plans the file. Uses the front of `scratch` for the writer, and the rest for what must be converted.
    pub(in super::super) fn open(mut self, scratch: &'static mut [u64]) -> Result<Held> {
        let count = State::scratch_length(&self)?;
        let (scratch, rest) = scratch.split_at_mut_checked(count).ok_or(Error::new(ErrorKind::OutOfScratch))?;
        self.convert(&mut Room::of(rest))?;
        let state = State::plan(&self, scratch)?;
        Ok(Held { state, declared: self, scratch: scratch.as_mut_ptr(), words: count })
    }

    /// Checks each declaration, and converts what must be in one piece.
    fn convert(&mut self, room: &mut Room) -> Result<()> {
        let (format, mut index) = (self.options().format, 0);
        self.convert_each(room, &mut index).map_err(|refusal| match refusal.kind {
            ErrorKind::OutOfScratch | ErrorKind::TooMany => Error::new(refusal.kind),
            _ => refusal.of(format, index),
        })
    }

    /// Does the work of [`convert`](Self::convert). Sets `index` to that of each declaration before it is converted.
    fn convert_each(&mut self, room: &mut Room, index: &mut u32) -> Checked {
        let refuse = |error: ApiError| Refusal::new(error.kind, Part::Attributes);
        let tensors = self.tensors().map_err(|error| Refusal::new(error.kind, Part::Tensors))?;
        let mut of_tensors: Option<&mut [&[NewAttribute<'_>]]> = None;
        let mut number = 0_usize;
        while let Some(tensor) = tensors.get(number) {
            *index = short(number)?;
            tensor_of(&tensor, tensors.stride)?;
            let attributes = Table::new(tensor.attributes, tensor.attribute_count).map_err(refuse)?;
            if attributes.count > 0 {
                if !HAS_TENSOR_ATTRIBUTES {
                    return Err(Refusal::not_in_format(Part::Attributes));
                }
                let all = match of_tensors.take() {
                    Some(all) => all,
                    None => room.take::<&[NewAttribute<'_>]>(tensors.count, &[])?,
                };
                let converted = room.attributes(attributes, &mut 0).map_err(Refusal::in_attributes)?;
                if let Some(place) = all.get_mut(number) {
                    *place = converted;
                }
                of_tensors = Some(all);
            }
            number = number.saturating_add(1);
        }
        self.of_tensors = of_tensors.map(|all| &*all);
        let attributes = self.attributes().map_err(refuse)?;
        let (mut number, mut contain_others) = (0_usize, false);
        while let Some(attribute) = attributes.get(number) {
            *index = short(number)?;
            text(attribute.key, attribute.key_length, Part::Key)?;
            contain_others |= matches!(single(&attribute.value)?, Shape::Inside(_));
            number = number.saturating_add(1);
        }
        if HAS_VALUES && contain_others {
            self.of_file = Some(room.attributes(attributes, index)?);
        }
        Ok(())
    }
}

/// Returns the index of declaration `number`.
fn short(number: usize) -> Checked<u32> {
    u32::try_from(number).map_err(|_| Refusal::new(ErrorKind::TooMany, Part::Tensors))
}

impl Declarations for Declared {
    fn options(&self) -> FileOptions {
        let fields = self.fields();
        let format = u8::try_from(fields.format).ok().and_then(Format::from_code).unwrap_or(Format::Unknown);
        let alignment = Some(fields.alignment).filter(|alignment| *alignment != 0);
        FileOptions { format, alignment, has_digests: fields.has_digests != 0, frame_length: None }
    }

    fn tensor_count(&self) -> usize {
        self.fields().tensor_count
    }

    fn tensor(&self, index: u32) -> Option<NewTensor<'_>> {
        let (tensors, number) = (self.tensors().ok()?, to_usize(index.into())?);
        let tensor = tensor_of(&tensors.get(number)?, tensors.stride).ok()?;
        let attributes = self.of_tensors.and_then(|all| all.get(number)).copied().unwrap_or_default();
        Some(NewTensor { attributes, ..tensor })
    }

    fn attribute_count(&self) -> usize {
        self.fields().attribute_count
    }

    fn attribute(&self, index: u32) -> Option<NewAttribute<'_>> {
        let number = to_usize(index.into())?;
        match self.of_file {
            Some(all) => all.get(number).copied(),
            None => attribute_of(&self.attributes().ok()?.get(number)?).ok(),
        }
    }
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
    let ranks = match tensor.kind() {
        Some(Layout::TensorTrain) if HAS_TRAINS => lengths(tensor.ranks, tensor.ranks_length, Part::BondDimension)?,
        _ => &[],
    };
    let descr =
        if tensor.descr.is_null() { None } else { Some(text(tensor.descr, tensor.descr_length, Part::DType)?) };
    Ok(NewTensor {
        name: text(tensor.name, tensor.name_length, Part::Name)?,
        shape: lengths(tensor.shape, tensor.rank, Part::Shape)?,
        layout: tensor.layout(ranks, descr)?,
        attributes: &[],
    })
}

/// The values inside a value.
struct Inside {
    values: Table<tenslice_new_value>,
    is_map: bool,
}

/// A value without others, or a list or map.
enum Shape {
    Single(NewValue<'static>),
    Inside(Inside),
}

/// Converts a value that has no values inside it.
fn single(value: &tenslice_new_value) -> Checked<Shape> {
    let refuse = |error: ApiError| Refusal::new(error.kind, Part::Value);
    if !HAS_VALUES && value.value_kind() != Some(ValueKind::Text) {
        return Err(Refusal::not_in_format(Part::Value));
    }
    if let Some(number) = value.number_value()? {
        return Ok(Shape::Single(number));
    }
    let is_map = match value.value_kind() {
        Some(ValueKind::Text) => {
            let text = text(value.data.cast(), value.length, Part::Value)?;
            return Ok(Shape::Single(NewValue::Text(text)));
        }
        Some(ValueKind::Bytes) => {
            let bytes = Array::<c_void>(value.data, PhantomData).with_length(Length(value.length, PhantomData));
            return bytes.map(NewValue::Bytes).map(Shape::Single).map_err(refuse);
        }
        Some(ValueKind::Array) => false,
        Some(ValueKind::Map) => true,
        _ => return Err(Refusal::new(ErrorKind::InvalidArgument, Part::Value)),
    };
    let values = Table::new(value.data.cast(), value.length).map_err(refuse)?;
    match (is_map, values.count) {
        (true, count) if count & 1 != 0 => Err(Refusal::new(ErrorKind::InvalidArgument, Part::Value)),
        (true, 0) => Ok(Shape::Single(NewValue::Map(&[]))),
        (false, 0) => Ok(Shape::Single(NewValue::List(&[]))),
        _ => Ok(Shape::Inside(Inside { values, is_map })),
    }
}

/// Converts an attribute. The values inside it are left out.
fn attribute_of(attribute: &tenslice_new_attribute) -> Checked<NewAttribute<'static>> {
    let key = text(attribute.key, attribute.key_length, Part::Key)?;
    let value = match single(&attribute.value)? {
        Shape::Single(value) => value,
        Shape::Inside(Inside { is_map: true, .. }) => NewValue::Map(&[]),
        Shape::Inside(_) => NewValue::List(&[]),
    };
    Ok(NewAttribute { key, value })
}

/// The part of the scratch memory that takes what is converted; or only a count of the words for it.
struct Room {
    free: *mut u64,
    words: usize,
    used: usize,
    is_counting: bool,
}

/// A list or a map being converted: its place in the scratch memory, and the number of values that are in it.
struct Level {
    place: &'static mut [NewValue<'static>],
    inside: Inside,
    done: usize,
}

impl Room {
    const fn of(words: &'static mut [u64]) -> Self {
        Self { free: words.as_mut_ptr(), words: words.len(), used: 0, is_counting: false }
    }

    /// Counts the words, and writes nothing.
    const fn counting() -> Self {
        Self { free: ptr::null_mut(), words: 0, used: 0, is_counting: true }
    }

    /// Returns memory for `count` values, each set to `value`; no memory if the words are only counted.
    fn take<T: Copy>(&mut self, count: usize, value: T) -> Checked<&'static mut [T]> {
        const { assert!(align_of::<T>() <= align_of::<u64>()) };
        let too_many = Refusal::new(ErrorKind::TooMany, Part::Value);
        let bytes = to_u64(size_of::<T>()).checked_mul(to_u64(count)).ok_or(too_many)?;
        let words = to_usize(bytes.div_ceil(8)).ok_or(too_many)?;
        self.used = self.used.checked_add(words).ok_or(too_many)?;
        if self.is_counting {
            return Ok(&mut []);
        }
        self.words = self.words.checked_sub(words).ok_or(Refusal::new(ErrorKind::OutOfScratch, Part::Value))?;
        let place = NonNull::new(self.free).unwrap_or(NonNull::dangling()).cast::<T>();
        self.free = self.free.wrapping_add(words);
        for number in 0..count {
            // SAFETY: in the memory that `of` was given, of which `words` words were free. It is aligned for words.
            unsafe { place.add(number).write(value) };
        }
        // SAFETY: `count` values have been written there, and the memory is never given out again. The header requires
        // that it stays in place while the writer is used.
        Ok(unsafe { NonNull::slice_from_raw_parts(place, count).as_mut() })
    }

    /// Converts attributes. Sets `index` to that of each attribute before it is converted.
    fn attributes(
        &mut self,
        from: Table<tenslice_new_attribute>,
        index: &mut u32,
    ) -> Checked<&'static [NewAttribute<'static>]> {
        let all = self.take(from.count, NewAttribute { key: "", value: NewValue::Null })?;
        let mut number = 0_usize;
        while let Some(attribute) = from.get(number) {
            *index = short(number)?;
            let key = text(attribute.key, attribute.key_length, Part::Key)?;
            let value = self.value(attribute.value)?;
            if let Some(place) = all.get_mut(number) {
                *place = NewAttribute { key, value };
            }
            number = number.saturating_add(1);
        }
        Ok(all)
    }

    /// Converts a value and all values inside it.
    fn value(&mut self, value: tenslice_new_value) -> Checked<NewValue<'static>> {
        let mut levels = heapless::Vec::<Level, MAX_DEPTH>::new();
        let mut next = value;
        loop {
            let mut done = match single(&next)? {
                Shape::Single(value) => value,
                Shape::Inside(inside) => {
                    let invalid = Refusal::new(ErrorKind::InvalidArgument, Part::Value);
                    next = inside.values.get(0).ok_or(invalid)?;
                    let place = self.take(inside.values.count, NewValue::Null)?;
                    let level = Level { place, inside, done: 0 };
                    levels.push(level).map_err(|_| Refusal::new(ErrorKind::TooDeep, Part::Value))?;
                    continue;
                }
            };
            loop {
                let Some(level) = levels.last_mut() else { return Ok(done) };
                if let Some(place) = level.place.get_mut(level.done) {
                    *place = done;
                }
                level.done = level.done.saturating_add(1);
                if let Some(following) = level.inside.values.get(level.done) {
                    next = following;
                    break;
                }
                let Some(Level { place, inside, .. }) = levels.pop() else { return Ok(done) };
                done = if inside.is_map { NewValue::Map(place) } else { NewValue::List(place) };
            }
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
        let tensors = Table::of_tensors(self.0.cast_const(), count)?;
        let get = |number: usize| {
            let tensor = tensors.get(number).ok_or(Refusal::new(ErrorKind::InvalidArgument, Part::Tensor))?;
            tensor_of(&tensor, tensors.stride)
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
