//! The panic handler that a C library needs to link. `make no-panic` proves that it is unreachable in libraries without
//! `zstd-c`, `zstd-ruzstd` and `zlib`.

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    #[cfg(feature = "no-panic-link")]
    {
        unsafe extern "C" {
            fn TENSLICE_PANIC_PATH_REMAINS() -> !;
        }
        // SAFETY: never called. The function is defined nowhere, so a program in which the call is reachable does not
        // link.
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
