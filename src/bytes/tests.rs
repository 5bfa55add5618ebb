//! Code that the unit tests of several modules share.
#![forbid(unsafe_code)]

/// Returns a function of pseudorandom numbers below a bound. The same seed gives the same numbers.
pub(crate) fn random(mut seed: u64) -> impl FnMut(u64) -> u64 {
    move |bound| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % bound
    }
}
