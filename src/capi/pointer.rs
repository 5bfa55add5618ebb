//! From C's pointers to references and back: every check that can be made of a pointer stands here.

use core::ffi::c_void;
use core::ptr::{self, NonNull};

use super::status::{Answer, Details, Refused};
use crate::error::{ErrorKind, Result};
use crate::{Attributes, Component, Components, File, Source, Tensor, Tensors};

/// Length of the words that every handle begins with and that name what it holds.
type Tag = u64;

/// What a handle may hold, each kind with the letters of its own that stand in its tag.
pub(super) trait Held: 'static {
    const KIND: u32;
}

/// The tag of a kind: `tsl`, the number of the layout, and the kind's letters.
const fn tag(kind: u32) -> Tag {
    let [a, b, c, d] = kind.to_be_bytes();
    Tag::from_be_bytes([b't', b's', b'l', b'1', a, b, c, d])
}

macro_rules! held {
    ($($ty:ty = $kind:literal;)*) => { $(impl Held for $ty { const KIND: u32 = u32::from_be_bytes(*$kind); })* };
}

held! {
    File<'static> = b"FILE";
    Tensor<'static> = b"TENS";
    Component<'static> = b"COMP";
    Tensors<'static> = b"EACH";
    Components<'static> = b"PART";
    Attributes<'static> = b"ATTR";
    Source<'static> = b"SRCE";
    super::sparse::SparseCursor = b"SPRS";
}

#[cfg(feature = "tens")]
held! {
    crate::tens::Chunks<'static> = b"CHNK";
}

#[cfg(feature = "blz")]
held! {
    crate::blz::Train<'static> = b"TRAN";
}

/// The layout of a handle: the tag, then what it holds.
#[repr(C)]
struct Slot<T> {
    tag: Tag,
    held: T,
}

/// Whether `T` fits into a handle of type `H`, and may stand where one may; checked when the library is compiled.
const fn fits<H, T>() {
    assert!(size_of::<Slot<T>>() <= size_of::<H>());
    assert!(align_of::<Slot<T>>() <= align_of::<H>());
    assert!(align_of::<Tag>() == align_of::<H>());
}

/// Whether `pointer` can be read or written at all.
fn usable<T>(pointer: *const T) -> bool {
    !pointer.is_null() && pointer.is_aligned()
}

/// Where an output goes, checked before anything is computed.
pub(super) struct Out<T>(*mut T);

/// # Safety
/// A pointer that is neither NULL nor misaligned points to a `T` that may be written.
pub(super) unsafe fn out<T>(pointer: *mut T) -> Answer<Out<T>> {
    if usable(pointer) { Ok(Out(pointer)) } else { Err(Refused::new(ErrorKind::InvalidArgument)) }
}

impl<H> Out<H> {
    /// Writes a plain value.
    pub(super) fn set(self, value: H) {
        // SAFETY: `out` was told that the pointer may be written.
        unsafe { self.0.write(value) }
    }

    /// Makes the output a handle that holds a copy of `value`.
    pub(super) fn hold<T: Held>(self, value: &T) {
        const { fits::<H, T>() };
        let slot = self.0.cast::<Slot<T>>();
        // SAFETY: `out` was told that the pointer may be written; the slot fits into the handle, as checked above.
        unsafe {
            put(self.0.cast(), T::KIND, (&raw mut (*slot).held).cast(), ptr::from_ref(value).cast(), size_of::<T>())
        }
    }

    /// The same for what was found: nothing is written for an error.
    pub(super) fn hold_found<T: Held>(self, details: Details, found: &Result<T>) -> Answer<()> {
        match found {
            Ok(found) => {
                self.hold(found);
                Ok(())
            }
            Err(error) => Err(details.tell(error)),
        }
    }
}

/// Writes a handle: its tag, and what it holds. By address, so that what a call has found is copied once, and by the
/// same few instructions for every kind.
///
/// # Safety
/// `tag_at` may be written, `size` bytes at `from` read, and as many at `to` written, which lie elsewhere.
#[inline(never)]
unsafe fn put(tag_at: *mut Tag, kind: u32, to: *mut u8, from: *const u8, size: usize) {
    // SAFETY: as the caller says.
    unsafe {
        tag_at.write(tag(kind));
        ptr::copy_nonoverlapping(from, to, size);
    }
}

/// Where an info struct goes: it begins with its size in the caller's header, which has been looked at.
pub(super) struct OutInfo<T>(*mut T);

/// The size must be what the first version of the struct had at least, so that nothing is filled by half.
///
/// # Safety
/// As for [`out`], for as many bytes as the struct says at its beginning; `T` is `repr(C)` and begins with
/// that size as a `u32`.
pub(super) unsafe fn out_info<T>(pointer: *mut T) -> Answer<OutInfo<T>> {
    // SAFETY: as the caller says.
    let Out(pointer) = unsafe { out(pointer)? };
    // SAFETY: as the caller says, the size can be read.
    let claimed = unsafe { pointer.cast::<u32>().read() };
    // That of the first version is the size as it is: no struct has grown yet.
    if usize::try_from(claimed).is_ok_and(|claimed| claimed >= size_of::<T>()) {
        Ok(OutInfo(pointer))
    } else {
        Err(Refused::new(ErrorKind::InvalidArgument))
    }
}

impl<T> OutInfo<T> {
    /// Writes all but the size, which stays the caller's.
    pub(super) fn fill(self, value: T) {
        const { assert!(align_of::<T>() >= align_of::<u32>()) }; // so the size is one of whole words
        let from = ptr::from_ref(&value).cast::<u32>();
        let words = size_of::<T>().wrapping_shr(size_of::<u32>().trailing_zeros());
        // SAFETY: `out_info` found that the caller's struct is no smaller than ours. By words, as both are aligned.
        unsafe { ptr::copy_nonoverlapping(from.add(1), self.0.cast::<u32>().add(1), words.wrapping_sub(1)) };
    }
}

/// Where an output goes that the caller may not want: NULL is no place at all.
///
/// # Safety
/// As for [`out`].
pub(super) unsafe fn out_optional<T>(pointer: *mut T) -> Answer<Option<Out<T>>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller says.
    unsafe { out(pointer).map(Some) }
}

/// What a handle holds.
///
/// # Safety
/// A pointer that is neither NULL nor misaligned points to a handle of type `H`, set to zero or last
/// written by this library. What it was made from is still there, unmoved and unchanged.
pub(super) unsafe fn held<'a, T: Held, H>(handle: *const H) -> Answer<&'a T> {
    const { fits::<H, T>() };
    // SAFETY: as the caller says; every handle begins with a tag.
    if unsafe { is_tagged(handle.cast(), T::KIND) } {
        // SAFETY: of what the caller may pass, only a handle written by `hold` has this tag, with a `T` behind it.
        Ok(unsafe { &(*handle.cast::<Slot<T>>()).held })
    } else {
        Err(Refused::new(ErrorKind::InvalidHandle))
    }
}

/// Whether a handle holds what `kind` stands for.
///
/// # Safety
/// A pointer that is neither NULL nor misaligned points to a tag.
#[inline(never)]
unsafe fn is_tagged(handle: *const Tag, kind: u32) -> bool {
    // SAFETY: the tag is a plain number, and is read only where the pointer can be.
    usable(handle) && unsafe { handle.read() } == tag(kind)
}

/// What a handle holds, to be changed.
///
/// # Safety
/// As for [`held`], and nobody else uses the handle meanwhile.
pub(super) unsafe fn held_mut<'a, T: Held, H>(handle: *mut H) -> Answer<&'a mut T> {
    // SAFETY: as the caller says.
    unsafe { held::<T, H>(handle)? };
    // SAFETY: `held` found the tag, so there is a `T` behind it.
    Ok(unsafe { &mut (*handle.cast::<Slot<T>>()).held })
}

/// Memory that a call is given: where it begins, and how many bytes it has.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    at: usize,
    length: usize,
}

/// The `count` values at `data`; where there is no count, one. An absurd count does no harm: `range` refuses it where
/// they are read or written.
pub(super) fn memory<T>(data: *const T, count: usize) -> Memory {
    Memory { at: data.addr(), length: count.wrapping_mul(size_of::<T>()) }
}

impl Memory {
    /// Whether a byte is in both.
    fn shares_with(self, other: Self) -> bool {
        self.has_start_of(other) || other.has_start_of(self)
    }

    /// Whether `other` begins inside. Nothing does that has no bytes.
    fn has_start_of(self, other: Self) -> bool {
        other.length != 0 && other.at.wrapping_sub(self.at) < self.length
    }
}

/// The `count` values of that size and alignment at `data`, if they may stand there at all. NULL is good for none.
#[inline(never)]
fn range(data: *const u8, count: usize, size: usize, alignment: usize) -> Option<NonNull<u8>> {
    if count == 0 {
        return NonNull::new(ptr::without_provenance_mut(alignment));
    }
    let length = isize::try_from(count.checked_mul(size)?).ok()?;
    data.addr().checked_add_signed(length)?;
    NonNull::new(data.cast_mut()).filter(|_| data.addr() & alignment.wrapping_sub(1) == 0)
}

/// As [`range`], if they lie apart from all `others`.
#[inline(never)]
fn range_apart(data: *mut u8, count: usize, size: usize, alignment: usize, others: &[Memory]) -> Option<NonNull<u8>> {
    let first = range(data, count, size, alignment)?;
    let this = Memory { at: data.addr(), length: count.wrapping_mul(size) };
    if others.iter().any(|other| this.shares_with(*other)) { None } else { Some(first) }
}

/// As [`range`] of bytes, if they lie apart from one other: without a list, which would stand on the stack as long as the
/// caller's frame, below all that opens a file.
#[inline(never)]
fn range_beside(data: *const u8, length: usize, other: Memory) -> Option<NonNull<u8>> {
    if memory(data, length).shares_with(other) { None } else { range(data, length, 1, 1) }
}

/// The `count` values at `data`. NULL is good for none at all.
///
/// # Safety
/// Where `count` is not absurd, `data` points to that many values of a type of plain numbers, which stay there for `'a`.
unsafe fn values<'a, T>(data: *const T, count: usize) -> Answer<&'a [T]> {
    let first = range(data.cast(), count, size_of::<T>(), align_of::<T>());
    let first = first.ok_or(Refused::new(ErrorKind::InvalidArgument))?;
    // SAFETY: not NULL, aligned, no longer than memory, and as the caller says.
    Ok(unsafe { NonNull::slice_from_raw_parts(first.cast(), count).as_ref() })
}

/// The bytes at `data`. NULL is good for no bytes at all.
///
/// # Safety
/// Where `length` is not absurd, `data` points to that many bytes, which stay there for `'a`.
pub(super) unsafe fn bytes<'a>(data: *const c_void, length: usize) -> Answer<&'a [u8]> {
    // SAFETY: as the caller says.
    unsafe { values(data.cast(), length) }
}

/// The bytes at `data`, which a handle is going to refer to and must not lie in.
///
/// # Safety
/// As for [`bytes`].
pub(super) unsafe fn bytes_for<'a, H>(handle: *const H, data: *const c_void, length: usize) -> Answer<&'a [u8]> {
    let first = range_beside(data.cast(), length, memory(handle, 1));
    let first = first.ok_or(Refused::new(ErrorKind::InvalidArgument))?;
    // SAFETY: not NULL, no longer than memory, and as the caller says.
    Ok(unsafe { NonNull::slice_from_raw_parts(first, length).as_ref() })
}

/// The `count` numbers at `data`. NULL is good for none at all.
///
/// # Safety
/// As for [`bytes`], for as many numbers.
pub(super) unsafe fn numbers<'a>(data: *const u64, count: usize) -> Answer<&'a [u64]> {
    // SAFETY: as the caller says.
    unsafe { values(data, count) }
}

/// The `count` values at `data`, to be written to. They lie apart from `others`: from all else that the call is given,
/// but for the `error`, which is written when nobody looks at them any more.
///
/// # Safety
/// As for [`bytes`], and nobody but the call uses them for `'a`; `T` is a plain number.
pub(super) unsafe fn room<'a, T>(data: *mut T, count: usize, others: &[Memory]) -> Answer<&'a mut [T]> {
    let first = range_apart(data.cast(), count, size_of::<T>(), align_of::<T>(), others);
    let first = first.ok_or(Refused::new(ErrorKind::InvalidArgument))?;
    // SAFETY: not NULL, aligned, no longer than memory, and as the caller says; the call has no other way to them.
    Ok(unsafe { NonNull::slice_from_raw_parts(first.cast(), count).as_mut() })
}

/// Room for the result of a call, and its scratch memory, which lie apart from each other, too.
///
/// # Safety
/// As for [`room`].
pub(super) unsafe fn rooms<'a>(
    (destination, capacity): (*mut c_void, usize),
    (scratch, scratch_length): (*mut c_void, usize),
    others: &[Memory],
) -> Answer<(&'a mut [u8], &'a mut [u8])> {
    if memory(destination, capacity).shares_with(memory(scratch, scratch_length)) {
        return Err(Refused::new(ErrorKind::InvalidArgument));
    }
    // SAFETY: as the caller says.
    unsafe { Ok((room(destination.cast(), capacity, others)?, room(scratch.cast(), scratch_length, others)?)) }
}
