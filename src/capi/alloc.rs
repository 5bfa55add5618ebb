//! An allocator on top of the C library's malloc, for decoders that allocate. Feature `c-alloc`.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;

unsafe extern "C" {
    fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void;
    fn free(place: *mut c_void);
}

struct CLibrary;

// SAFETY: `aligned_alloc` returns memory of the requested size and alignment, or NULL; `free` releases it.
unsafe impl GlobalAlloc for CLibrary {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // C11 requires a multiple of the alignment. Some libraries require an alignment of at least a pointer's.
        let alignment = layout.align().max(align_of::<*const ()>());
        let Some(size) = layout.size().checked_next_multiple_of(alignment) else { return core::ptr::null_mut() };
        // SAFETY: the alignment is a power of two, and the size is a multiple of the alignment.
        unsafe { aligned_alloc(alignment, size).cast() }
    }

    unsafe fn dealloc(&self, place: *mut u8, _: Layout) {
        // SAFETY: the caller guarantees that `alloc` returned this pointer.
        unsafe { free(place.cast()) }
    }
}

#[global_allocator]
static ALLOCATOR: CLibrary = CLibrary;
