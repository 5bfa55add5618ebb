//! An allocator over the C library's malloc, for the decoders that need one. Feature `c-alloc`.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;

unsafe extern "C" {
    fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void;
    fn free(place: *mut c_void);
}

struct CLibrary;

// SAFETY: `aligned_alloc` returns memory of the requested size and alignment, or NULL; `free` takes it back.
unsafe impl GlobalAlloc for CLibrary {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // C11 requires a multiple of the alignment, and some libraries at least that of a pointer.
        let alignment = layout.align().max(align_of::<*const ()>());
        let Some(size) = layout.size().checked_next_multiple_of(alignment) else { return core::ptr::null_mut() };
        // SAFETY: the alignment is a power of two, the size a multiple of it.
        unsafe { aligned_alloc(alignment, size).cast() }
    }

    unsafe fn dealloc(&self, place: *mut u8, _: Layout) {
        // SAFETY: the caller guarantees that `alloc` returned it.
        unsafe { free(place.cast()) }
    }
}

#[global_allocator]
static ALLOCATOR: CLibrary = CLibrary;
