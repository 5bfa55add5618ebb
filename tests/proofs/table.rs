//! Prints the results of the crate's arithmetic, for tests/proofs/proofs.py to compare with its model.
//!
//! `table FUNCTION` writes 9 bytes for each pair of arguments: 1 or 0 for `Some` or `None`, and the value, little-endian.
//! The real sources are compiled into this program. `--cfg small` selects the code for chips.
#![allow(dead_code)]

#[path = "../../src/bytes"]
mod bytes {
    pub mod extent;
    pub mod num;
}
#[path = "../../src/codec/strided.rs"]
mod strided;

mod types {
    /// A stand-in for the crate's type: elements of one byte.
    pub struct DType;

    impl DType {
        pub fn size(self) -> Option<u64> {
            Some(1)
        }
    }
}

use std::io::Write;

use bytes::extent::Extent;
use bytes::num::{self, Product};

/// The places of an 8-bit value in 64 bits: at the low end, in the middle, at the high end, and around 0 and 2^64.
const PLACES: [fn(u8) -> u64; 4] =
    [|v| v.into(), |v| u64::from(v) << 28, |v| u64::from(v) << 56, |v| i64::from(v.cast_signed()).cast_unsigned()];
/// The places of the two arguments.
const PAIRS: [(usize, usize); 5] = [(0, 0), (3, 3), (1, 1), (2, 3), (3, 0)];

fn low32(n: u64) -> u32 {
    u32::try_from(n & 0xffff_ffff).unwrap()
}

fn product(numbers: &[u64]) -> Option<u64> {
    let mut product = Product::ONE;
    numbers.iter().for_each(|number| product.multiply(*number));
    product.total()
}

fn strided(a: u64, b: u64) -> Option<Extent> {
    strided::extent([(a.max(1), b), (2, a)].into_iter(), b, 4)
}

fn call(function: &str, a: u64, b: u64) -> Option<u64> {
    match function {
        "product" => num::product(Some(a), b),
        "multiply" => product(&[a, b, a & b]),
        "scale_to_bytes" => {
            let mut length = Product::of(a);
            length.scale_to_bytes(low32(b) >> 4);
            length.total()
        }
        "quotient" => Some(num::quotient(a, b)),
        "remainder" => Some(num::remainder(a, b)),
        "count_of" => Some(num::count_of(a, b)),
        "short_count_of" => Some(num::short_count_of(low32(a), low32(b)).into()),
        "align_up" => num::align_up(a, 1 << (b & 31)),
        "padding" => Some(num::padding(a, 1 << (b & 63))),
        "decimal" => num::decimal(format!("{a}{}", b % 10).as_bytes()).map(|(number, _)| number),
        "end" => Extent::new(a, b).end(),
        "is_within" => Some(
            // The exact end, and the numbers around it.
            [u64::MAX, 0, 1].iter().fold(0, |all, delta| {
                let end = a.wrapping_add(b).wrapping_add(*delta);
                all * 2 + u64::from(Extent::new(a, b).is_within(end))
            }),
        ),
        "part" => {
            let memory = [0; 200];
            let found = Extent::new(a, b).of(&memory, 100)?;
            let from = found.as_ptr().addr() - memory.as_ptr().addr();
            Some(num::to_u64(from) << 32 | num::to_u64(found.len()))
        }
        "strided_offset" => strided(a, b).map(|extent| extent.offset),
        "strided_length" => strided(a, b).map(|extent| extent.length),
        "gather" => {
            let data: [u8; 200] = core::array::from_fn(|i| i.to_le_bytes()[0]);
            let lengths = [1 + (a & 3), 1 + (a >> 2 & 3), 1 + (a >> 4 & 3)];
            let strides = [b & 7, b >> 3 & 7, b >> 6];
            let mut dst = vec![0; usize::try_from(lengths.iter().product::<u64>()).unwrap()];
            strided::gather(lengths.into_iter().zip(strides), types::DType, &data, &mut dst)?;
            Some(dst.iter().fold(0, |hash, byte| (hash * 31 + u64::from(*byte)) & 0xffff_ffff))
        }
        _ => panic!("no function {function}"),
    }
}

fn main() {
    let function = std::env::args().nth(1).expect("usage: table FUNCTION");
    let pairs = if function == "gather" { &PAIRS[..1] } else { &PAIRS[..] };
    let mut out = Vec::new();
    for (first, second) in pairs {
        for (a, b) in (0..=u8::MAX).flat_map(|a| (0..=u8::MAX).map(move |b| (a, b))) {
            let result = call(&function, PLACES[*first](a), PLACES[*second](b));
            out.push(u8::from(result.is_some()));
            out.extend(result.unwrap_or(0).to_le_bytes());
        }
    }
    std::io::stdout().write_all(&out).unwrap();
}
