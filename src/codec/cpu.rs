//! Detects instructions that not every machine of a target has, which no suitable crate does without std.
//!
//! The queries to Linux on ARM and to the processor on x86-64 are unsafe. For targets without an operating system nothing
//! is detected on x86-64: they have the instructions that the build enables.

/// Returns true if the machine has the CRC-32C instruction.
#[cfg(all(feature = "crc32c", target_arch = "x86_64"))]
pub(super) fn has_crc32c() -> bool {
    cpufeatures::new!(sse, "sse4.2");
    sse::get()
}

/// Returns true if the machine has the CRC-32C instruction. All Apple machines have it, and their targets enable the
/// feature; cpufeatures cannot detect it.
#[cfg(all(feature = "crc32c", target_arch = "aarch64"))]
pub(super) fn has_crc32c() -> bool {
    #[cfg(all(any(target_os = "linux", target_os = "android"), not(target_feature = "crc")))]
    {
        use core::ffi::c_ulong;
        unsafe extern "C" {
            fn getauxval(which: c_ulong) -> c_ulong;
        }
        const AT_HWCAP: c_ulong = 16;
        const HWCAP_CRC32: c_ulong = 1 << 7;
        // SAFETY: a function of the C library, which accepts any number and has no side effects.
        unsafe { getauxval(AT_HWCAP) & HWCAP_CRC32 != 0 }
    }
    #[cfg(not(all(any(target_os = "linux", target_os = "android"), not(target_feature = "crc"))))]
    {
        cfg!(target_feature = "crc")
    }
}

/// Returns true if the machine has carry-less multiplication.
#[cfg(feature = "crc32c")]
pub(super) fn has_carryless_product() -> bool {
    #[cfg(target_arch = "x86_64")]
    cpufeatures::new!(product, "pclmulqdq");
    #[cfg(target_arch = "aarch64")]
    cpufeatures::new!(product, "aes");
    product::get()
}

/// Returns true if the machine has F16C, which converts `f16` to `f32`. ARMv8 always has such an instruction.
#[cfg(all(feature = "dequantize", target_arch = "x86_64", not(small)))]
pub(super) fn has_f16c() -> bool {
    use core::arch::x86_64::__cpuid;
    use core::sync::atomic::{AtomicU8, Ordering};

    // cpufeatures cannot detect F16C. It detects AVX, which includes that the operating system saves the registers.
    cpufeatures::new!(avx, "avx");
    const F16C: u32 = 1 << 29;
    const UNKNOWN: u8 = 2;
    static FOUND: AtomicU8 = AtomicU8::new(UNKNOWN);

    let found = FOUND.load(Ordering::Relaxed);
    if found != UNKNOWN {
        return found == 1;
    }
    #[allow(unused_unsafe)] // `__cpuid` is safe in newer versions of Rust
    let detect = || {
        // SAFETY: every x86-64 machine has this instruction and this leaf.
        unsafe { __cpuid(1) }.ecx & F16C != 0
    };
    let found = cfg!(target_feature = "f16c") || avx::get() && detect();
    FOUND.store(found.into(), Ordering::Relaxed);
    found
}

#[cfg(test)]
mod tests {
    /// Each is asked twice: the second answer is the remembered one.
    #[test]
    fn detection_is_that_of_std() {
        for _ in 0..2 {
            #[cfg(target_arch = "x86_64")]
            {
                #[cfg(feature = "crc32c")]
                assert_eq!(super::has_crc32c(), std::is_x86_feature_detected!("sse4.2"));
                #[cfg(feature = "crc32c")]
                assert_eq!(super::has_carryless_product(), std::is_x86_feature_detected!("pclmulqdq"));
                #[cfg(all(feature = "dequantize", not(small)))]
                assert_eq!(super::has_f16c(), std::is_x86_feature_detected!("f16c"));
            }
            #[cfg(all(target_arch = "aarch64", feature = "crc32c"))]
            {
                assert_eq!(super::has_crc32c(), std::arch::is_aarch64_feature_detected!("crc"));
                assert_eq!(super::has_carryless_product(), std::arch::is_aarch64_feature_detected!("aes"));
            }
        }
    }
}
