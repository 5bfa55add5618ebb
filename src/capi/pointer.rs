//! The arguments that C passes, and every check that can be made of a pointer. All unsafe code of the C ABI is here,
//! except for the panic handler and the allocator.
//!
//! The exported functions take the types below as their arguments. Each is `repr(transparent)` over a pointer or a
//! length, so that C's prototypes have exactly these, and `xtask` writes them so into the header. The fields are
//! private: only a call from C creates such a value (and the tests, through an unsafe function). Hence the methods
//! may rely on what the header requires of the argument, and are safe to call: a function between C and this file can
//! only reject a pointer or use it as checked.
//!
//! - The lifetime is that of the call, during which C leaves alone what it passes. The functions are generic over it,
//!   so they cannot keep a reference. `'static` is used where the header requires more: bytes that stay for as long
//!   as anything made from them is used. What is made from them outlives the call only inside handles.
//! - Each kind of memory has its own type of length, so that no pointer is combined with the length of another.
//! - Which kinds of handles hold which types is listed once, and a function can neither read nor write another pair.
//!
//! One thing the types leave to the functions: where C may pass the same handle for an input and an output, as to
//! `tenslice_component_with_bytes`, the input must have been read when the output is written.

use core::ffi::{c_char, c_void};
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

use super::attributes::{tenslice_cursor, tenslice_items, tenslice_value};
use super::component::tenslice_component;
use super::decode::tenslice_decoder;
use super::file::tenslice_file;
use super::index::tenslice_index;
use super::memory::{Memory, memory, range, range_apart, range_beside};
use super::source::tenslice_source;
use super::sparse::{SparseCursor, tenslice_sparse};
use super::status::{ApiError, Details, FfiResult, tenslice_status};
use super::tensor::tenslice_tensor;
use super::text::tenslice_str;
use crate::bytes::text::Text;
use crate::error::{ErrorKind, Result};
use crate::types::Encoding;
use crate::{Attributes, Component, Components, File, Index, Source, Tensor, Tensors};

/// A handle that is read.
#[repr(transparent)]
pub struct Handle<'a, H>(*const H, PhantomData<&'a H>);

/// A handle that is changed.
#[repr(transparent)]
pub struct HandleMut<'a, H>(*mut H, PhantomData<&'a mut H>);

/// A struct or number that is read.
#[repr(transparent)]
pub struct In<'a, T>(*const T, PhantomData<&'a T>);

/// Like [`In`], or NULL.
#[repr(transparent)]
pub struct OptionalIn<'a, T>(*const T, PhantomData<&'a T>);

/// A struct that begins with its size and that an earlier call has filled.
#[repr(transparent)]
pub struct InfoIn<'a, T>(*const T, PhantomData<&'a T>);

/// A struct, number or handle that is written.
#[repr(transparent)]
pub struct Out<'a, T>(*mut T, PhantomData<&'a mut T>);

/// Like [`Out`], or NULL.
#[repr(transparent)]
pub struct OptionalOut<'a, T>(*mut T, PhantomData<&'a mut T>);

/// A struct that begins with its size, which the caller has set, and that is written; `repr(C)`.
#[repr(transparent)]
pub struct InfoOut<'a, T>(*mut T, PhantomData<&'a mut T>);

/// Two doubles that are written: the parts of a complex number.
#[repr(transparent)]
pub struct ComplexOut<'a>(*mut f64, PhantomData<&'a mut f64>);

/// A pointer to bytes or numbers that are read: as many as the [`Length`] of the same call states.
#[repr(transparent)]
pub struct Array<'a, E>(*const E, PhantomData<&'a E>);

/// How many bytes or numbers an [`Array`] has.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Length<'a>(usize, PhantomData<&'a ()>);

/// A pointer to bytes or numbers that are written, the result of the call: as many as the [`Capacity`] of the same
/// call.
#[repr(transparent)]
pub struct Buffer<'a, E>(*mut E, PhantomData<&'a mut E>);

/// How many bytes or numbers a [`Buffer`] has.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Capacity<'a>(usize, PhantomData<&'a ()>);

/// A pointer to scratch memory: as many bytes or numbers as the [`ScratchLength`] of the same call states.
#[repr(transparent)]
pub struct Scratch<'a, E>(*mut E, PhantomData<&'a mut E>);

/// How many bytes or numbers a [`Scratch`] has.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct ScratchLength<'a>(usize, PhantomData<&'a ()>);

/// The length of a string that a NUL closes: TENSLICE_NUL. No string is as long.
const NUL_CLOSES: usize = usize::MAX;

/// The rank of a shape that may be any: TENSLICE_ANY_SHAPE. No shape has as many dimensions.
const ANY_SHAPE: usize = usize::MAX;

/// The integer at the start of every handle, which identifies what the handle holds.
type Tag = u64;

/// States that a handle of this type may hold a `T`.
///
/// # Safety
/// No other type has the same letters.
pub(super) unsafe trait Holds<T: 'static> {
    /// The letters in the tag of such a handle.
    const KIND: u32;
}

/// Returns the tag of a kind: `tsl`, the number of the layout, and the kind's letters.
const fn tag(kind: u32) -> Tag {
    let [a, b, c, d] = kind.to_be_bytes();
    Tag::from_be_bytes([b't', b's', b'l', b'1', a, b, c, d])
}

macro_rules! held {
    ($($handle:ty: $ty:ty = $kind:literal;)*) => { $(
        // SAFETY: each type has letters of its own in the lists below.
        unsafe impl Holds<$ty> for $handle { const KIND: u32 = u32::from_be_bytes(*$kind); }
    )* };
}

held! {
    tenslice_file: File<'static> = b"FILE";
    tenslice_tensor: Tensor<'static> = b"TENS";
    tenslice_component: Component<'static> = b"COMP";
    tenslice_cursor: Tensors<'static> = b"EACH";
    tenslice_cursor: Components<'static> = b"PART";
    tenslice_cursor: Attributes<'static> = b"ATTR";
    tenslice_items: Attributes<'static> = b"ATTR";
    tenslice_source: Source<'static> = b"SRCE";
    tenslice_sparse: SparseCursor = b"SPRS";
    tenslice_index: Index<'static, 'static> = b"INDX";
}

#[cfg(feature = "safetensors")]
held! {
    super::safetensors::tenslice_safetensors_index: crate::safetensors::Index<'static> = b"STIX";
    tenslice_cursor: crate::safetensors::IndexEntries<'static> = b"STIE";
}

#[cfg(feature = "gguf")]
held! {
    tenslice_cursor: crate::gguf::Infos<'static> = b"GGIN";
}

#[cfg(feature = "ztensor2")]
held! {
    tenslice_cursor: crate::ztensor2::Shards<'static> = b"ZTSH";
}

#[cfg(feature = "tens")]
held! {
    tenslice_cursor: crate::tens::TensChunks<'static> = b"CHNK";
}

#[cfg(feature = "npz")]
held! {
    tenslice_cursor: crate::npz::ArchiveEntries<'static> = b"NPZE";
}

#[cfg(feature = "blz")]
held! {
    super::blz::tenslice_train: crate::blz::Train<'static> = b"TRAN";
}

/// The layout of a handle: the tag, then what it holds.
#[repr(C)]
struct Slot<T> {
    tag: Tag,
    held: T,
}

/// Asserts that `T` fits into a handle of type `H`, in size and alignment; checked at compile time.
const fn fits<H, T>() {
    assert!(size_of::<Slot<T>>() <= size_of::<H>());
    assert!(align_of::<Slot<T>>() <= align_of::<H>());
    assert!(align_of::<Tag>() == align_of::<H>());
}

/// Returns whether `pointer` is neither NULL nor misaligned.
fn usable<T>(pointer: *const T) -> bool {
    !pointer.is_null() && pointer.is_aligned()
}

const INVALID_ARGUMENT: ApiError = ApiError::new(ErrorKind::InvalidArgument);

impl<'a, H> Handle<'a, H> {
    /// Returns what the handle holds.
    pub(super) fn get<T: 'static>(&self) -> FfiResult<&'a T>
    where
        H: Holds<T>,
    {
        const { fits::<H, T>() };
        // SAFETY: apart from NULL and misaligned pointers, which are checked, the header requires a handle that is
        // zeroed or was last written by this library. Every handle begins with a tag.
        if unsafe { is_tagged(self.0.cast(), H::KIND) } {
            // SAFETY: only a handle written by `store` has this tag, followed by a `T`. The header requires that what
            // it was made from is still there, unmoved and unchanged.
            Ok(unsafe { &(*self.0.cast::<Slot<T>>()).held })
        } else {
            Err(ApiError::new(ErrorKind::InvalidHandle))
        }
    }

    pub(super) fn memory(&self) -> Memory {
        memory(self.0, 1)
    }
}

impl<'a, H> HandleMut<'a, H> {
    /// Returns what the handle holds, for reading only.
    pub(super) fn get<T: 'static>(self) -> FfiResult<&'a T>
    where
        H: Holds<T>,
    {
        Handle(self.0, PhantomData).get()
    }

    /// Returns what the handle holds, to be changed.
    pub(super) fn get_mut<T: 'static>(self) -> FfiResult<&'a mut T>
    where
        H: Holds<T>,
    {
        Handle(self.0, PhantomData).get()?;
        // SAFETY: `get` found the tag, so a `T` follows it. The header requires that nobody else uses the handle
        // meanwhile, and the call has no other path to it: this one is consumed.
        Ok(unsafe { &mut (*self.0.cast::<Slot<T>>()).held })
    }

    pub(super) fn memory(&self) -> Memory {
        memory(self.0, 1)
    }
}

/// Returns whether a handle holds what `kind` identifies.
///
/// # Safety
/// A pointer that is neither NULL nor misaligned points to a tag.
#[inline(never)]
unsafe fn is_tagged(handle: *const Tag, kind: u32) -> bool {
    // SAFETY: the tag is a plain number, and is read only where the pointer allows it.
    usable(handle) && unsafe { handle.read() } == tag(kind)
}

impl<T: Copy> In<'_, T> {
    pub(super) fn read(&self) -> FfiResult<T> {
        // SAFETY: apart from NULL and misaligned pointers, which are checked, the header requires a readable `T`.
        if usable(self.0) { Ok(unsafe { self.0.read() }) } else { Err(INVALID_ARGUMENT) }
    }

    pub(super) fn memory(&self) -> Memory {
        memory(self.0, 1)
    }
}

impl<'a> InfoIn<'a, tenslice_value> {
    /// Returns the handle inside a value.
    pub(super) fn items(&self) -> FfiResult<Handle<'a, tenslice_items>> {
        let _ = InfoOut(self.0.cast_mut(), PhantomData).writable()?; // neither NULL nor misaligned, and complete
        // SAFETY: the header requires a readable value, and `writable` found that it is large enough.
        Ok(Handle(unsafe { &raw const (*self.0).items }, PhantomData))
    }
}

/// The destination of an output, checked before anything is computed.
#[derive(Clone, Copy)]
pub(super) struct Writable<'a, T>(NonNull<T>, PhantomData<&'a mut T>);

impl<'a, T> Out<'a, T> {
    pub(super) fn writable(&self) -> FfiResult<Writable<'a, T>> {
        match NonNull::new(self.0) {
            Some(place) if place.is_aligned() => Ok(Writable(place, PhantomData)),
            _ => Err(INVALID_ARGUMENT),
        }
    }

    pub(super) fn memory(&self) -> Memory {
        memory(self.0, 1)
    }
}

impl<'a, H> Out<'a, H> {
    /// Wraps a variable of the library's own for a function that C calls, too: to be written, then to be read.
    pub(super) fn inside(variable: &'a mut MaybeUninit<H>) -> (Self, Handle<'a, H>) {
        *variable = MaybeUninit::zeroed(); // no tag
        let place = variable.as_mut_ptr();
        (Self(place, PhantomData), Handle(place, PhantomData))
    }
}

impl<'a, T> OptionalOut<'a, T> {
    /// Returns this argument, for another function that C calls, too.
    pub(super) fn again(&self) -> Self {
        Self(self.0, PhantomData)
    }

    /// Returns the destination; `None` for NULL.
    pub(super) fn writable(&self) -> FfiResult<Option<Writable<'a, T>>> {
        if self.0.is_null() { Ok(None) } else { Out(self.0, PhantomData).writable().map(Some) }
    }

    pub(super) fn memory(&self) -> Memory {
        memory(self.0, 1)
    }
}

impl<'a> ComplexOut<'a> {
    pub(super) fn writable(&self) -> FfiResult<Writable<'a, [f64; 2]>> {
        Out(self.0.cast(), PhantomData).writable()
    }

    pub(super) fn memory(&self) -> Memory {
        memory(self.0, 2)
    }
}

impl<'a> Writable<'a, tenslice_items> {
    /// Wraps a variable of the library's own, which becomes part of an output.
    pub(super) fn inside(value: &'a mut tenslice_value) -> Self {
        Self(NonNull::from(&mut value.items), PhantomData)
    }
}

impl<H> Writable<'_, H> {
    /// Writes a plain value.
    pub(super) fn set(self, value: H) {
        // SAFETY: the header requires a writable `H`, and the pointer has been checked.
        unsafe { self.0.write(value) }
    }

    /// Makes the output a handle that holds a copy of `value`.
    pub(super) fn store<T: 'static>(self, value: &T)
    where
        H: Holds<T>,
    {
        const { fits::<H, T>() };
        let slot = self.0.cast::<Slot<T>>().as_ptr();
        // SAFETY: as for `set`; the contents fit into the handle, as checked above.
        unsafe {
            put(slot.cast(), H::KIND, (&raw mut (*slot).held).cast(), ptr::from_ref(value).cast(), size_of::<T>())
        }
    }

    /// Like [`store`](Self::store), for a result: nothing is written for an error.
    pub(super) fn store_found<T: 'static>(self, details: Details<'_>, found: &Result<T>) -> FfiResult<()>
    where
        H: Holds<T>,
    {
        match found {
            Ok(found) => {
                self.store(found);
                Ok(())
            }
            Err(error) => Err(details.report(error)),
        }
    }
}

/// Writes a handle: its tag and its contents. By address, so that the result of a call is copied only once, and by
/// the same few instructions for every kind.
///
/// # Safety
/// `tag_at` and the `size` bytes at `to` are writable, the `size` bytes at `from` are readable and do not overlap
/// them.
#[inline(never)]
unsafe fn put(tag_at: *mut Tag, kind: u32, to: *mut u8, from: *const u8, size: usize) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        tag_at.write(tag(kind));
        ptr::copy_nonoverlapping(from, to, size);
    }
}

/// The destination of an info struct: it begins with its size in the caller's header, which has been checked.
pub(super) struct WritableInfo<'a, T>(NonNull<T>, PhantomData<&'a mut T>);

impl<'a, T> InfoOut<'a, T> {
    /// Returns the destination. The size must be at least that of the first version of the struct, so that nothing is
    /// filled by half.
    pub(super) fn writable(&self) -> FfiResult<WritableInfo<'a, T>> {
        let place = Out(self.0, PhantomData).writable()?.0;
        // SAFETY: the header requires a struct that begins with its size, and the pointer has been checked.
        let claimed = unsafe { place.cast::<u32>().read() };
        // The first version's size is the current one: no struct has grown yet.
        if usize::try_from(claimed).is_ok_and(|claimed| claimed >= size_of::<T>()) {
            Ok(WritableInfo(place, PhantomData))
        } else {
            Err(INVALID_ARGUMENT)
        }
    }

    /// Like [`writable`](Self::writable), where the header allows NULL: `None` for it.
    pub(super) fn writable_or_null(&self) -> FfiResult<Option<WritableInfo<'a, T>>> {
        if self.0.is_null() { Ok(None) } else { self.writable().map(Some) }
    }

    pub(super) fn memory(&self) -> Memory {
        memory(self.0, 1)
    }
}

impl<T> WritableInfo<'_, T> {
    /// Writes everything but the size, which stays the caller's.
    pub(super) fn fill(self, value: T) {
        const { assert!(align_of::<T>() >= align_of::<u32>()) }; // so its size is a multiple of 4
        let from = ptr::from_ref(&value).cast::<u32>();
        let words = size_of::<T>().wrapping_shr(size_of::<u32>().trailing_zeros());
        // SAFETY: `writable` found that the caller's struct is no smaller than ours. In whole words, as both are
        // aligned.
        unsafe {
            ptr::copy_nonoverlapping(from.add(1), self.0.as_ptr().cast::<u32>().add(1), words.wrapping_sub(1));
        }
    }
}

/// The element types of C's arrays, and the Rust types for them.
///
/// # Safety
/// `Number` has the size and alignment of the C type, and any bit pattern is a valid one.
pub(super) unsafe trait Plain {
    type Number;
}

// SAFETY: what C calls void are bytes here, and its chars are.
unsafe impl Plain for c_void {
    type Number = u8;
}

// SAFETY: a char is a byte.
unsafe impl Plain for c_char {
    type Number = u8;
}

// SAFETY: the same type.
unsafe impl Plain for u32 {
    type Number = Self;
}

// SAFETY: the same type.
unsafe impl Plain for f32 {
    type Number = Self;
}

// SAFETY: the same type.
unsafe impl Plain for u64 {
    type Number = Self;
}

impl<'a, E: Plain> Array<'a, E> {
    /// Returns the `length` numbers. NULL is accepted only where `length` is 0.
    pub(super) fn with_length(&self, Length(length, _): Length<'_>) -> FfiResult<&'a [E::Number]> {
        let first = range(self.0.cast(), length, size_of::<E::Number>(), align_of::<E::Number>());
        let first = first.ok_or(INVALID_ARGUMENT)?;
        // SAFETY: not NULL, aligned, no longer than memory. The header requires that many, to stay for `'a`.
        Ok(unsafe { NonNull::slice_from_raw_parts(first.cast(), length).as_ref() })
    }

    pub(super) fn memory(&self, Length(length, _): Length<'_>) -> Memory {
        memory(self.0, length)
    }
}

impl<'a> Array<'a, u64> {
    /// Returns the `rank` lengths of a shape; `None` with TENSLICE_ANY_SHAPE.
    pub(super) fn unless_any(&self, rank: Length<'_>) -> FfiResult<Option<&'a [u64]>> {
        if rank.0 == ANY_SHAPE { Ok(None) } else { self.with_length(rank).map(Some) }
    }
}

impl<'a> Array<'a, c_char> {
    /// Returns the bytes of a string of the caller's: `length` of them or, with TENSLICE_NUL, those before its NUL.
    #[inline(always)] // a program for a chip calls few functions that take a string
    pub(super) fn text(&self, length: Length<'_>) -> FfiResult<&'a [u8]> {
        let mut count = length.0;
        if count == NUL_CLOSES {
            let first = NonNull::new(self.0.cast_mut()).ok_or(INVALID_ARGUMENT)?;
            count = 0;
            // SAFETY: not NULL. The header requires that a NUL closes the string: up to it there are bytes. Counted here,
            // since the C library's `strlen` takes more flash than this.
            while unsafe { first.add(count).read_volatile() } != 0 {
                count = count.wrapping_add(1);
            }
        }
        self.with_length(Length(count, PhantomData))
    }
}

impl<'a> In<'a, tenslice_str> {
    /// Returns the string, and the memory that it is in.
    pub(super) fn text(&self) -> FfiResult<(Text<'a>, Memory)> {
        let tenslice_str { data, length, is_escaped, .. } = self.read()?;
        let (bytes, length) = (Array(data, PhantomData), Length(length, PhantomData));
        Ok((Text::new(bytes.with_length(length)?, is_escaped != 0), bytes.memory(length)))
    }
}

#[cfg(feature = "gguf")]
impl<'a> Array<'a, tenslice_file> {
    /// Returns the `length` handles.
    pub(super) fn handles(
        &self,
        Length(length, _): Length<'_>,
    ) -> FfiResult<impl Iterator<Item = Handle<'a, tenslice_file>> + Clone + use<'a>> {
        let first = self.0;
        range(first.cast(), length, size_of::<tenslice_file>(), align_of::<tenslice_file>())
            .ok_or(INVALID_ARGUMENT)?;
        Ok((0..length).map(move |index| Handle(first.wrapping_add(index), PhantomData)))
    }
}

impl<'a> Array<'a, c_void> {
    /// Returns the `length` bytes, to which a handle is going to refer and which must not overlap that handle.
    pub(super) fn with_length_beside(&self, Length(length, _): Length<'_>, handle: Memory) -> FfiResult<&'a [u8]> {
        let first = range_beside(self.0.cast(), length, handle).ok_or(INVALID_ARGUMENT)?;
        // SAFETY: not NULL, no longer than memory. The header requires that many, to stay for `'a`.
        Ok(unsafe { NonNull::slice_from_raw_parts(first, length).as_ref() })
    }
}

/// Returns the `count` numbers at `data`, to be written to. They must not overlap `others`: everything else passed to
/// the call except `error`, which is written when they are no longer used.
///
/// # Safety
/// Unless `count` is absurd, `data` points to that many, and only the call uses them for `'a`.
unsafe fn buffer<'a, E: Plain>(data: *mut E, count: usize, others: &[Memory]) -> FfiResult<&'a mut [E::Number]> {
    let first = range_apart(data.cast(), count, size_of::<E::Number>(), align_of::<E::Number>(), others);
    let first = first.ok_or(INVALID_ARGUMENT)?;
    // SAFETY: not NULL, aligned, no longer than memory, and guaranteed by the caller; the call has no other path to
    // them.
    Ok(unsafe { NonNull::slice_from_raw_parts(first.cast(), count).as_mut() })
}

impl<'a, E: Plain> Buffer<'a, E> {
    /// Returns the numbers, which must not overlap `others`: everything else passed to the call except `error`. NULL
    /// is accepted only where there are none.
    pub(super) fn with_capacity(
        self,
        Capacity(capacity, _): Capacity<'_>,
        others: &[Memory],
    ) -> FfiResult<&'a mut [E::Number]> {
        // SAFETY: the header requires that many to be writable, and to share no byte with anything else. This path to
        // them is consumed.
        unsafe { buffer(self.0, capacity, others) }
    }
}

impl<'a, E: Plain> Scratch<'a, E> {
    #[cfg(feature = "dequantize")]
    pub(super) fn memory(&self, ScratchLength(length, _): ScratchLength<'_>) -> Memory {
        memory(self.0, length)
    }

    /// Like [`Buffer::with_capacity`].
    pub(super) fn with_length(
        self,
        ScratchLength(length, _): ScratchLength<'_>,
        others: &[Memory],
    ) -> FfiResult<&'a mut [E::Number]> {
        // SAFETY: as for `Buffer`.
        unsafe { buffer(self.0, length, others) }
    }
}

/// Returns the buffer for the result of a call and its scratch memory, which must not overlap each other, either.
pub(super) fn buffers<'a, E: Plain>(
    (destination, capacity): (Buffer<'a, E>, Capacity<'_>),
    (scratch, length): (Scratch<'a, c_void>, ScratchLength<'_>),
    others: &[Memory],
) -> FfiResult<(&'a mut [E::Number], &'a mut [u8])> {
    if memory(destination.0, capacity.0).shares_with(memory(scratch.0, length.0)) {
        return Err(INVALID_ARGUMENT);
    }
    Ok((destination.with_capacity(capacity, others)?, scratch.with_length(length, others)?))
}

/// A caller-supplied decoder, with the dictionary for the following streams: bytes of the file, which stay in place
/// during the call.
pub(super) struct CallersDecoder {
    functions: tenslice_decoder,
    dictionary: *const [u8],
}

impl OptionalIn<'_, tenslice_decoder> {
    /// Returns the decoder; `None` for NULL. A copy, since the function may change its struct while it runs.
    pub(super) fn read(&self) -> FfiResult<Option<CallersDecoder>> {
        if self.0.is_null() {
            return Ok(None);
        }
        match In(self.0, PhantomData).read()? {
            tenslice_decoder { decode: None, .. } => Err(INVALID_ARGUMENT),
            functions => Ok(Some(CallersDecoder { functions, dictionary: &[] })),
        }
    }

    pub(super) fn memory(&self) -> Memory {
        memory(self.0, 1)
    }
}

impl CallersDecoder {
    /// Calls the caller's function; returns its status and the number of bytes it reports as written, or `None` where
    /// there is no function.
    pub(super) fn decode(
        &self,
        encoding: Encoding,
        stored: &[u8],
        dst: &mut [u8],
    ) -> Option<(tenslice_status, usize)> {
        let decode = self.functions.decode?;
        let mut length = 0;
        // SAFETY: the header requires that the function does what its type states.
        let status = unsafe {
            decode(
                self.functions.user,
                u32::from(encoding.code()),
                stored.as_ptr().cast(),
                stored.len(),
                dst.as_mut_ptr().cast(),
                dst.len(),
                &raw mut length,
            )
        };
        Some((status, length))
    }

    pub(super) fn set_dictionary(&mut self, new: &[u8]) {
        self.dictionary = new;
    }

    /// Like [`decode`](Self::decode), for a stream that was compressed with the dictionary set last.
    pub(super) fn decode_with_dictionary(
        &self,
        encoding: Encoding,
        stored: &[u8],
        dst: &mut [u8],
    ) -> Option<(tenslice_status, usize)> {
        let decode = self.functions.decode_with_dictionary?;
        let mut length = 0;
        // SAFETY: the header requires that the function does what its type states. The dictionary is bytes of the
        // file, which stay in place during the call.
        let status = unsafe {
            decode(
                self.functions.user,
                u32::from(encoding.code()),
                self.dictionary.cast(),
                self.dictionary.len(),
                stored.as_ptr().cast(),
                stored.len(),
                dst.as_mut_ptr().cast(),
                dst.len(),
                &raw mut length,
            )
        };
        Some((status, length))
    }
}

/// Arguments for tests.
#[cfg(test)]
#[path = "from_c.rs"] // beside this file, since only files are in this folder
pub(super) mod from_c;
