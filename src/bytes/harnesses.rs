//! Harnesses for Kani, a model checker for Rust: `cargo kani`. No check of this project runs them, so they prove nothing
//! until somebody does. `make proofs` proves the same statements with z3, about a model of the code.
#![forbid(unsafe_code)]

use super::extent::Extent;
use super::num::{Product, count_of, product, remainder};

/// Returns the number if it fits in 64 bits.
fn exact(n: u128) -> Option<u64> {
    u64::try_from(n).ok()
}

#[kani::proof]
fn product_of_two() {
    let (a, b): (u64, u64) = (kani::any(), kani::any());
    assert_eq!(product(Some(a), b), exact(u128::from(a) * u128::from(b)));
}

#[kani::proof]
fn zero_ends_every_product() {
    let mut all = Product::of(kani::any());
    all.multiply(kani::any());
    all.multiply(0);
    assert_eq!(all.total(), Some(0));
}

#[kani::proof]
fn bytes_of_elements() {
    let (count, bits): (u64, u32) = (kani::any(), kani::any());
    kani::assume(bits <= 1024);
    let mut length = Product::of(count);
    length.scale_to_bytes(bits);
    assert_eq!(length.total(), exact((u128::from(count) * u128::from(bits)).div_ceil(8)));
}

#[kani::proof]
fn parts_and_remainders() {
    let (length, part): (u64, u64) = (kani::any(), kani::any());
    kani::assume(part > 0);
    assert_eq!(count_of(length, part), length.div_ceil(part));
    assert_eq!(remainder(length, part), length % part);
}

#[kani::proof]
fn extents() {
    let (offset, length, limit): (u64, u64, u64) = (kani::any(), kani::any(), kani::any());
    let end = u128::from(offset) + u128::from(length);
    let extent = Extent::new(offset, length);
    assert_eq!(extent.end(), exact(end));
    assert_eq!(extent.is_within(limit), end <= u128::from(limit));
}
