//! The arguments that C passes, and every check that can be made of a pointer. All unsafe code of the C ABI is here and
//! in the files of this module, `handles`, `decoder` and `declared`, except the panic handler and the allocator.
//!
//! The exported functions take the types below as their arguments. Each type is `repr(transparent)` over a pointer or a
//! length, so the C prototypes have exactly these pointers and lengths, and `xtask` writes them into the header. The
//! fields are private: only a call from C creates such a value (and the tests, through an unsafe function). Hence the
//! methods may rely on what the header requires of the argument, and are safe to call: a function between C and this
//! file can only reject a pointer or use it after the check.
//!
//! - The lifetime of an argument is that of the call, during which C must not touch what it passes. The functions are
//!   generic over the lifetime, so they cannot keep a reference. `'static` is used if the header requires more: bytes
//!   that stay in place while anything made from them is used. What is made from these bytes outlives the call only
//!   inside handles.
//! - Each kind of memory has its own type of length, so no pointer is combined with the length of another.
//! - The pairs of a handle type and a type that it may hold are listed once, in `handles`, and a function cannot read
//!   or write another pair.
//!
//! The types cannot check one rule: if C may pass the same handle as input and output, as to
//! `tenslice_component_with_bytes`, the function must have read the input before it writes the output.

use core::ffi::{c_char, c_void};
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

use super::get::tenslice_expected;
use super::memory::{Memory, memory, range, range_apart, range_beside};
use super::status::{ApiError, FfiResult};
use crate::error::ErrorKind;

#[cfg(feature = "write")]
#[path = "declared.rs"] // beside this file, as all modules of the C ABI
mod declared;
#[path = "decoder.rs"]
mod decoder;
#[path = "handles.rs"]
mod handles;
/// Arguments for tests.
#[cfg(test)]
#[path = "test_args.rs"]
pub(super) mod test_args;

#[cfg(feature = "write")]
pub(super) use declared::Held;
pub(super) use decoder::{Chosen, buffers};

/// A handle that the call reads.
#[repr(transparent)]
pub struct Handle<'a, H>(*const H, PhantomData<&'a H>);

/// A handle that the call changes.
#[repr(transparent)]
pub struct HandleMut<'a, H>(*mut H, PhantomData<&'a mut H>);

/// A struct or number that the call reads.
#[repr(transparent)]
pub struct In<'a, T>(*const T, PhantomData<&'a T>);

/// A struct or number that the call reads; may be NULL.
#[repr(transparent)]
pub struct OptionalIn<'a, T>(*const T, PhantomData<&'a T>);

/// A struct that begins with its size, which the call reads.
#[repr(transparent)]
pub struct InfoIn<'a, T>(*const T, PhantomData<&'a T>);

/// A struct, number or handle that the call writes.
#[repr(transparent)]
pub struct Out<'a, T>(*mut T, PhantomData<&'a mut T>);

/// A struct, number or handle that the call writes; may be NULL.
#[repr(transparent)]
pub struct OptionalOut<'a, T>(*mut T, PhantomData<&'a mut T>);

/// A `repr(C)` struct that the call writes. It begins with its size, which the caller has set.
#[repr(transparent)]
pub struct InfoOut<'a, T>(*mut T, PhantomData<&'a mut T>);

/// Two doubles that the call writes: the parts of a complex number.
#[repr(transparent)]
pub struct ComplexOut<'a>(*mut f64, PhantomData<&'a mut f64>);

/// A pointer to bytes or numbers that the call reads. Their number is the [`Length`] of the same call.
#[repr(transparent)]
pub struct Array<'a, E>(*const E, PhantomData<&'a E>);

/// The number of bytes or numbers in an [`Array`].
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Length<'a>(usize, PhantomData<&'a ()>);

/// A pointer to bytes or numbers that the call writes as its result. Their number is the [`Capacity`] of the same call.
#[repr(transparent)]
pub struct Buffer<'a, E>(*mut E, PhantomData<&'a mut E>);

/// The number of bytes or numbers in a [`Buffer`].
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Capacity<'a>(usize, PhantomData<&'a ()>);

/// A pointer to scratch memory. Its number of bytes or numbers is the [`ScratchLength`] of the same call.
#[repr(transparent)]
pub struct Scratch<'a, E>(*mut E, PhantomData<&'a mut E>);

/// The number of bytes or numbers in a [`Scratch`].
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct ScratchLength<'a>(usize, PhantomData<&'a ()>);

/// TENSLICE_NUL: the length of a string that ends before its NUL. No real string has this length.
const NUL_CLOSES: usize = usize::MAX;

/// TENSLICE_ANY_SHAPE: the rank that stands for any shape. No real shape has as many dimensions.
const ANY_SHAPE: usize = usize::MAX;

/// The integer at the start of every handle, which identifies what the handle holds.
type Tag = u64;

/// States that a handle of type `Self` may hold a `T`.
///
/// # Safety
/// No other type has the same letters.
pub(super) unsafe trait Holds<T: 'static> {
    /// The letters in the tag of a handle that holds a `T`.
    const KIND: u32;
}

/// Returns the tag of a kind: `tsl`, the version of the handle layout, and the letters of the kind.
const fn tag(kind: u32) -> Tag {
    let [a, b, c, d] = kind.to_be_bytes();
    Tag::from_be_bytes([b't', b's', b'l', b'1', a, b, c, d])
}

/// The memory layout of a handle: the tag, then what the handle holds.
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
        // SAFETY: NULL and misaligned pointers are rejected. The header requires that any other pointer is to a handle
        // that is zeroed or was last written by this library, and every handle begins with a tag.
        if unsafe { is_tagged(self.0.cast(), H::KIND) } {
            // SAFETY: only a handle written by `store` has this tag, followed by a `T`. The header requires that what
            // the handle was made from is still in place, unmoved and unchanged.
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

    /// Returns what the handle holds, for changing it.
    pub(super) fn get_mut<T: 'static>(self) -> FfiResult<&'a mut T>
    where
        H: Holds<T>,
    {
        Handle(self.0, PhantomData).get()?;
        // SAFETY: `get` found the tag, so a `T` follows it. The header requires that nobody else uses the handle during
        // the call. The call has no other path to the handle, since `self` is consumed.
        Ok(unsafe { &mut (*self.0.cast::<Slot<T>>()).held })
    }

    pub(super) fn memory(&self) -> Memory {
        memory(self.0, 1)
    }
}

/// Returns whether a handle has the tag of `kind`.
///
/// # Safety
/// If the pointer is neither NULL nor misaligned, it points to a tag.
#[inline(never)]
unsafe fn is_tagged(handle: *const Tag, kind: u32) -> bool {
    // SAFETY: the tag is a plain number, and is read only if the pointer is usable.
    usable(handle) && unsafe { handle.read() } == tag(kind)
}

impl<T: Copy> In<'_, T> {
    pub(super) fn read(&self) -> FfiResult<T> {
        // SAFETY: NULL and misaligned pointers are rejected. The header requires that any other pointer is to a
        // readable `T`.
        if usable(self.0) { Ok(unsafe { self.0.read() }) } else { Err(INVALID_ARGUMENT) }
    }

    pub(super) fn memory(&self) -> Memory {
        memory(self.0, 1)
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
    /// Wraps a variable of the library for an exported function that the library calls itself: first the output, then
    /// the input that reads it.
    pub(super) fn inside(variable: &'a mut MaybeUninit<H>) -> (Self, Handle<'a, H>) {
        *variable = MaybeUninit::zeroed(); // no tag
        let place = variable.as_mut_ptr();
        (Self(place, PhantomData), Handle(place, PhantomData))
    }
}

impl<'a, T> OptionalOut<'a, T> {
    /// Returns this argument again, for another exported function.
    pub(super) fn again(&self) -> Self {
        Self(self.0, PhantomData)
    }

    /// Returns the destination; `None` if the pointer is NULL.
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
        // SAFETY: as for `set`; the contents fit into the handle, as asserted above.
        unsafe {
            put(slot.cast(), H::KIND, (&raw mut (*slot).held).cast(), ptr::from_ref(value).cast(), size_of::<T>())
        }
    }
}

#[cfg(feature = "write")]
impl<H> Writable<'_, H> {
    /// Makes the output a handle that holds `value`, which is built in place.
    pub(super) fn hold<T: 'static>(self, value: T)
    where
        H: Holds<T>,
    {
        const { fits::<H, T>() };
        // SAFETY: as for `set`; the contents fit into the handle, as asserted above.
        unsafe { self.0.cast::<Slot<T>>().write(Slot { tag: tag(H::KIND), held: value }) }
    }
}

/// Writes a handle: its tag and its contents. The contents are passed by address, so the result of a call is copied
/// only once, by the same few instructions for every kind.
///
/// # Safety
/// `tag_at` and the `size` bytes at `to` are writable, and the `size` bytes at `from` are readable and do not overlap
/// them.
#[inline(never)]
unsafe fn put(tag_at: *mut Tag, kind: u32, to: *mut u8, from: *const u8, size: usize) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        tag_at.write(tag(kind));
        ptr::copy_nonoverlapping(from, to, size);
    }
}

/// The destination of an info struct. The struct begins with its size in the caller's header, which has been checked.
pub(super) struct WritableInfo<'a, T>(NonNull<T>, PhantomData<&'a mut T>);

impl<'a, T> InfoOut<'a, T> {
    /// Returns the destination. Rejects a size below that of the first version of the struct, so that no struct is
    /// filled in part.
    pub(super) fn writable(&self) -> FfiResult<WritableInfo<'a, T>> {
        let place = Out(self.0, PhantomData).writable()?.0;
        // SAFETY: the header requires a struct that begins with its size, and the pointer has been checked.
        let claimed = unsafe { place.cast::<u32>().read() };
        // The size of the first version is the current size: no struct has grown yet.
        if usize::try_from(claimed).is_ok_and(|claimed| claimed >= size_of::<T>()) {
            Ok(WritableInfo(place, PhantomData))
        } else {
            Err(INVALID_ARGUMENT)
        }
    }

    /// Returns the destination as [`writable`](Self::writable) does; `None` if the pointer is NULL, which the header
    /// allows.
    pub(super) fn writable_or_null(&self) -> FfiResult<Option<WritableInfo<'a, T>>> {
        if self.0.is_null() { Ok(None) } else { self.writable().map(Some) }
    }

    pub(super) fn memory(&self) -> Memory {
        memory(self.0, 1)
    }
}

impl<T> WritableInfo<'_, T> {
    /// Writes everything except the size, which the caller has set.
    pub(super) fn fill(self, value: T) {
        const { assert!(align_of::<T>() >= align_of::<u32>()) }; // so the size is a multiple of 4
        let from = ptr::from_ref(&value).cast::<u32>();
        let words = size_of::<T>().wrapping_shr(size_of::<u32>().trailing_zeros());
        // SAFETY: `writable` found that the caller's struct is no smaller than ours. Copies whole words, since both
        // structs are aligned.
        unsafe {
            ptr::copy_nonoverlapping(from.add(1), self.0.as_ptr().cast::<u32>().add(1), words.wrapping_sub(1));
        }
    }
}

/// An element type of C's arrays, and the Rust type for it.
///
/// # Safety
/// `Number` has the size and alignment of the C type, and any bit pattern is a valid `Number`.
pub(super) unsafe trait Plain {
    type Number;
}

macro_rules! plain {
    ($($element:ty: $number:ty),*) => { $(
        // SAFETY: void and char of C are bytes here; the others are the same type.
        unsafe impl Plain for $element { type Number = $number; }
    )* };
}

plain!(c_void: u8, c_char: u8, u32: u32, f32: f32, u64: u64);

impl<'a, E: Plain> Array<'a, E> {
    /// Returns the `length` numbers. Accepts NULL only if `length` is 0.
    pub(super) fn with_length(&self, Length(length, _): Length<'_>) -> FfiResult<&'a [E::Number]> {
        let first = range(self.0.cast(), length, size_of::<E::Number>(), align_of::<E::Number>());
        let first = first.ok_or(INVALID_ARGUMENT)?;
        // SAFETY: not NULL, aligned, and no longer than memory. The header requires that many numbers, in place for
        // `'a`.
        Ok(unsafe { NonNull::slice_from_raw_parts(first.cast(), length).as_ref() })
    }

    pub(super) fn memory(&self, Length(length, _): Length<'_>) -> Memory {
        memory(self.0, length)
    }
}

/// The code of an expected type, and the expected shape.
type ExpectedFields<'a> = (u32, Option<&'a [u64]>);

impl<'a> OptionalIn<'a, tenslice_expected> {
    /// Returns the code of the type, and the shape, which is `None` for TENSLICE_ANY_SHAPE. Returns `None` if the
    /// pointer is NULL.
    pub(super) fn fields(&self) -> FfiResult<Option<ExpectedFields<'a>>> {
        if self.0.is_null() {
            return Ok(None);
        }
        let _ = InfoOut(self.0.cast_mut(), PhantomData).writable()?; // not misaligned, and complete
        // SAFETY: not NULL, and `writable` found that the caller's struct is large enough.
        let tenslice_expected { dtype, rank, shape, .. } = unsafe { self.0.read() };
        let shape = match rank {
            ANY_SHAPE => None,
            rank => Some(Array(shape, PhantomData).with_length(Length(rank, PhantomData))?),
        };
        Ok(Some((dtype, shape)))
    }

    pub(super) fn memory(&self) -> Memory {
        memory(self.0, usize::from(!self.0.is_null()))
    }
}

impl<'a> Array<'a, c_char> {
    /// Returns the bytes of a string that the caller passes: `length` bytes or, with TENSLICE_NUL, those before its
    /// NUL.
    #[inline(always)] // programs for a chip call few functions that take a string
    pub(super) fn text(&self, length: Length<'_>) -> FfiResult<&'a [u8]> {
        let mut count = length.0;
        if count == NUL_CLOSES {
            let first = NonNull::new(self.0.cast_mut()).ok_or(INVALID_ARGUMENT)?;
            count = 0;
            // SAFETY: not NULL. The header requires that a NUL ends the string, so there are bytes up to it. They are
            // counted here, since `strlen` of the C library takes more flash.
            while unsafe { first.add(count).read_volatile() } != 0 {
                count = count.wrapping_add(1);
            }
        }
        self.with_length(Length(count, PhantomData))
    }
}

impl<'a> Array<'a, c_void> {
    /// No bytes, for a call that passes none.
    #[cfg(feature = "write")]
    pub(super) const fn none() -> (Self, Length<'a>) {
        (Self(ptr::null(), PhantomData), Length(0, PhantomData))
    }

    /// Returns the `length` bytes, which a handle is going to refer to. They must not overlap `handle`, the memory of
    /// that handle.
    pub(super) fn with_length_beside(&self, Length(length, _): Length<'_>, handle: Memory) -> FfiResult<&'a [u8]> {
        let first = range_beside(self.0.cast(), length, handle).ok_or(INVALID_ARGUMENT)?;
        // SAFETY: not NULL, and no longer than memory. The header requires that many bytes, in place for `'a`.
        Ok(unsafe { NonNull::slice_from_raw_parts(first, length).as_ref() })
    }
}

/// Returns the `count` numbers at `data`, to be written to. They must not overlap `others`: everything else passed to
/// the call except `error`, which is written only when the numbers are no longer used.
///
/// # Safety
/// Unless `count` is absurd, `data` points to `count` numbers, and only this call uses them for `'a`.
unsafe fn buffer<'a, E: Plain>(data: *mut E, count: usize, others: &[Memory]) -> FfiResult<&'a mut [E::Number]> {
    let first = range_apart(data.cast(), count, size_of::<E::Number>(), align_of::<E::Number>(), others);
    let first = first.ok_or(INVALID_ARGUMENT)?;
    // SAFETY: not NULL, aligned, no longer than memory, and guaranteed by the caller. The call has no other path to the
    // numbers.
    Ok(unsafe { NonNull::slice_from_raw_parts(first.cast(), count).as_mut() })
}

impl<'a, E: Plain> Buffer<'a, E> {
    pub(super) fn memory(&self, Capacity(capacity, _): Capacity<'_>) -> Memory {
        memory(self.0, capacity)
    }

    /// Returns the numbers. They must not overlap `others`: everything else passed to the call except `error`. Accepts
    /// NULL only if the capacity is 0.
    pub(super) fn with_capacity(
        self,
        Capacity(capacity, _): Capacity<'_>,
        others: &[Memory],
    ) -> FfiResult<&'a mut [E::Number]> {
        // SAFETY: the header requires that the numbers are writable and share no byte with anything else. `self`, the
        // only path to them, is consumed.
        unsafe { buffer(self.0, capacity, others) }
    }
}

impl<'a, E: Plain> Scratch<'a, E> {
    /// Returns the scratch memory, on the same conditions as [`Buffer::with_capacity`].
    pub(super) fn with_length(
        self,
        ScratchLength(length, _): ScratchLength<'_>,
        others: &[Memory],
    ) -> FfiResult<&'a mut [E::Number]> {
        // SAFETY: as for `Buffer`.
        unsafe { buffer(self.0, length, others) }
    }
}
