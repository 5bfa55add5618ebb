//! The panic handler that a C library needs to link. No path leads to it: `make no-panic` proves it.

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    #[cfg(feature = "no-panic-link")]
    {
        unsafe extern "C" {
            fn TENSLICE_PANIC_PATH_REMAINS() -> !;
        }
        // SAFETY: never called. The function exists nowhere, so a program that could come here does not link.
        unsafe { TENSLICE_PANIC_PATH_REMAINS() }
    }
    #[cfg(not(feature = "no-panic-link"))]
    loop {
        core::hint::spin_loop();
    }
}
