//! The panic handler that a C library needs to link. No path leads to it: `make no-panic` proves it, for
//! libraries without `zstd`, whose decoder panics where it is out of memory.

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
    #[cfg(all(not(feature = "no-panic-link"), unix))]
    {
        unsafe extern "C" {
            safe fn abort() -> !;
        }
        abort()
    }
    #[cfg(all(not(feature = "no-panic-link"), not(unix)))]
    loop {
        core::hint::spin_loop();
    }
}
