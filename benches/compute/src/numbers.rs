//! Elements of every real type in safetensors files, and big-endian `f16` in an NPY file, converted to `f32`.
//!
//! The hand-written code is a loop over the elements: the conversion that Rust's `as` or a shift does, the F16C
//! instruction for `f16` if the machine has it, and a table of all values for floats of 8 bits and less.

use std::hint::black_box;
use std::time::{Duration, Instant};

use tenslice::{File, Purpose, ReadOptions, float};

use crate::ROUNDS;
use crate::random::Random;

/// The numbers of a tensor that stays in the second cache with its `f32`, and of one that exceeds every cache.
const COUNTS: [usize; 2] = [1 << 15, 1 << 24];

type Convert<'a> = &'a dyn Fn(&[u8], &mut [f32]);

pub fn compare_all(filter: &str) {
    println!("\n{:24}{:>10}{:>10}{:>12}  (GB/s of f32)", "", "by hand", "ours", "ours/hand");
    let run = |name: &str, bits: usize, by_hand: Convert<'_>| {
        let (dtype, is_npy) = name.split_once(' ').map_or((name, false), |(dtype, _)| (dtype, true));
        for count in COUNTS {
            let name = format!("{name} {}", if count == COUNTS[0] { "cached" } else { "memory" });
            if name.contains(filter) {
                let mut random = Random(1);
                let data: Vec<u8> = (0..count * bits / 8).map(|_| random.next() as u8).collect();
                let file = if is_npy { npy(count, &data) } else { safetensors(dtype, count, &data) };
                // Both read the same bytes: their alignment matters.
                let data = &file[file.len() - data.len()..];
                compare(&name, &file, count, |dst| by_hand(data, dst));
            }
        }
    };
    run("BOOL", 8, &|data, dst| each(data, dst, |[byte]| f32::from(byte != 0)));
    run("U8", 8, &|data, dst| each(data, dst, |[byte]| f32::from(byte)));
    run("I8", 8, &|data, dst| each(data, dst, |byte| f32::from(i8::from_le_bytes(byte))));
    run("U16", 16, &|data, dst| each(data, dst, |bytes| f32::from(u16::from_le_bytes(bytes))));
    run("I16", 16, &|data, dst| each(data, dst, |bytes| f32::from(i16::from_le_bytes(bytes))));
    run("U32", 32, &|data, dst| each(data, dst, |bytes| u32::from_le_bytes(bytes) as f32));
    run("I32", 32, &|data, dst| each(data, dst, |bytes| i32::from_le_bytes(bytes) as f32));
    run("U64", 64, &|data, dst| each(data, dst, |bytes| u64::from_le_bytes(bytes) as f32));
    run("I64", 64, &|data, dst| each(data, dst, |bytes| i64::from_le_bytes(bytes) as f32));
    run("F64", 64, &|data, dst| each(data, dst, |bytes| f64::from_le_bytes(bytes) as f32));
    run("F32", 32, &|data, dst| each(data, dst, f32::from_le_bytes));
    run("BF16", 16, &|data, dst| each(data, dst, |bytes| f32::from_bits(u32::from(u16::from_le_bytes(bytes)) << 16)));
    run("F16", 16, &|data, dst| f16(data, dst, false));
    run("F16 big-endian", 16, &|data, dst| f16(data, dst, true));
    let small: [(&str, usize, fn(u8) -> f32); 8] = [
        ("F8_E4M3", 8, float::f8_e4m3fn_to_f32),
        ("F8_E5M2", 8, float::f8_e5m2_to_f32),
        ("F8_E4M3FNUZ", 8, float::f8_e4m3fnuz_to_f32),
        ("F8_E5M2FNUZ", 8, float::f8_e5m2fnuz_to_f32),
        ("F8_E8M0", 8, float::f8_e8m0_to_f32),
        ("F6_E2M3", 6, float::f6_e2m3_to_f32),
        ("F6_E3M2", 6, float::f6_e3m2_to_f32),
        ("F4", 4, float::f4_e2m1_to_f32),
    ];
    for (name, bits, convert) in small {
        let mut table = [0.0; 256];
        (0..=255).zip(&mut table).for_each(|(byte, value)| *value = convert(byte));
        run(name, bits, &|data, dst| match bits {
            8 => each(data, dst, |[byte]| table[usize::from(byte)]),
            6 => packed_6(data, dst, &table),
            _ => packed_4(data, dst, &table),
        });
    }
}

/// Prints the speed of both. Both must write the same bits.
fn compare(name: &str, file: &[u8], count: usize, by_hand: impl Fn(&mut [f32])) {
    let file = File::open(file).expect("a valid file");
    let tensor = file.tensors().next().expect("a tensor");
    assert_eq!(tensor.requirements(Purpose::ReadF32).output, Some(count as u64), "{name}");
    let mut dst = vec![0.5; count];
    let ours = |dst: &mut [f32]| {
        black_box(tensor.read_f32_into(dst, ReadOptions::new()).expect("a valid tensor"));
    };
    let bits = |dst: &[f32]| dst.iter().map(|number| number.to_bits()).collect::<Vec<u32>>();
    by_hand(&mut dst);
    let expected = bits(&dst);
    dst.fill(0.5);
    ours(&mut dst);
    assert!(bits(&dst) == expected, "{name}: the two differ");
    let repeats = COUNTS[1] / count;
    let mut shortest = [Duration::MAX; 2];
    let mut measure = |action: &dyn Fn(&mut [f32]), time: &mut Duration| {
        let start = Instant::now();
        (0..repeats).for_each(|_| action(black_box(&mut dst)));
        *time = (*time).min(start.elapsed());
    };
    for _ in 0..ROUNDS {
        measure(&by_hand, &mut shortest[0]);
        measure(&ours, &mut shortest[1]);
    }
    let [by_hand, ours] = shortest.map(|time| (count * repeats * 4) as f64 / time.as_secs_f64() / 1e9);
    println!("{name:24}{by_hand:>10.2}{ours:>10.2}{:>12.2}", ours / by_hand);
}

fn each<const SIZE: usize>(data: &[u8], dst: &mut [f32], convert: impl Fn([u8; SIZE]) -> f32) {
    for (number, bytes) in dst.iter_mut().zip(data.as_chunks().0) {
        *number = convert(*bytes);
    }
}

fn packed_4(data: &[u8], dst: &mut [f32], table: &[f32; 256]) {
    for (numbers, byte) in dst.as_chunks_mut().0.iter_mut().zip(data) {
        *numbers = [byte & 15, byte >> 4].map(|bits| table[usize::from(bits)]);
    }
}

fn packed_6(data: &[u8], dst: &mut [f32], table: &[f32; 256]) {
    for (numbers, bytes) in dst.as_chunks_mut().0.iter_mut().zip(data.as_chunks().0) {
        let [a, b, c] = *bytes;
        let four = u32::from_le_bytes([a, b, c, 0]);
        *numbers = [0, 6, 12, 18].map(|at| table[(four >> at & 63) as usize]);
    }
}

fn f16(data: &[u8], dst: &mut [f32], is_big_endian: bool) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx") && is_x86_feature_detected!("f16c") {
        // SAFETY: the machine has both.
        return unsafe { f16c(data, dst, is_big_endian) };
    }
    let order = if is_big_endian { u16::from_be_bytes } else { u16::from_le_bytes };
    each(data, dst, |bytes| float::f16_to_f32(order(bytes)));
}

/// Needs a multiple of eight numbers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx,f16c")]
fn f16c(data: &[u8], dst: &mut [f32], is_big_endian: bool) {
    use std::arch::x86_64::{
        _mm_loadu_si128, _mm_or_si128, _mm_slli_epi16, _mm_srli_epi16, _mm256_cvtph_ps, _mm256_storeu_ps,
    };
    for (numbers, bytes) in dst.as_chunks_mut::<8>().0.iter_mut().zip(data.as_chunks::<16>().0) {
        // SAFETY: the pointers are those of 16 and of 32 bytes.
        unsafe {
            let mut halves = _mm_loadu_si128(bytes.as_ptr().cast());
            if is_big_endian {
                halves = _mm_or_si128(_mm_slli_epi16::<8>(halves), _mm_srli_epi16::<8>(halves));
            }
            _mm256_storeu_ps(numbers.as_mut_ptr(), _mm256_cvtph_ps(halves));
        }
    }
}

/// A safetensors file with one tensor. The data begin at byte 128, as in an NPY file.
fn safetensors(dtype: &str, count: usize, data: &[u8]) -> Vec<u8> {
    let length = data.len();
    let header = format!(r#"{{"t":{{"dtype":"{dtype}","shape":[{count}],"data_offsets":[0,{length}]}}}}"#);
    let header = format!("{header:120}");
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

/// An NPY file of big-endian `f16`.
fn npy(count: usize, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '>f2', 'fortran_order': False, 'shape': ({count},), }}");
    let header = format!("{header:117}\n");
    [b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes(), data].concat()
}
