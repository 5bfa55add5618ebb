//! Compares dequantizing rows with ggml: see benches/README.md.

use std::env;
use std::ffi::c_int;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tenslice::blocks::{BlockType, dequantize};

const HELP: &str = "\
Compares how long it takes to dequantize rows, in nanoseconds per 1000 numbers.

    benches/dequantize.sh             all types
    benches/dequantize.sh Q4_K Q6_K   these";

/// Every time is the shortest of this many rounds, in which all take turns. A round lasts for microseconds, so most
/// rounds are not interrupted. CPU time of the thread is not used: on a virtual machine it is sometimes half of the
/// real time, and such a round would be the shortest.
const ROUNDS: usize = 1000;
/// Rows per round, and numbers per row.
const ROWS: usize = 20;
const NUMBERS: usize = 8192;

/// A function of peer.c. Arguments: number of the type, blocks, numbers, their count.
type Peer = unsafe extern "C" fn(c_int, *const u8, *mut f32, i64) -> c_int;

unsafe extern "C" {
    fn scalar(number: c_int, blocks: *const u8, numbers: *mut f32, n: i64) -> c_int;
    fn native(number: c_int, blocks: *const u8, numbers: *mut f32, n: i64) -> c_int;
}

fn main() -> ExitCode {
    let names: Vec<String> = env::args().skip(1).collect();
    if names.iter().any(|name| !BlockType::ALL.iter().any(|of| of.name() == name)) {
        println!("{HELP}");
        return ExitCode::from(2);
    }
    println!("{:8}{:>10}{:>10}{:>10}{:>14}{:>14}", "type", "scalar", "native", "ours", "scalar/ours", "native/ours");
    for block_type in BlockType::ALL {
        if names.is_empty() || names.iter().any(|name| name == block_type.name()) {
            compare(*block_type);
        }
    }
    ExitCode::SUCCESS
}

/// Prints a line of the table.
fn compare(block_type: BlockType) {
    let blocks = blocks(block_type);
    let mut numbers = [vec![0.0; NUMBERS], vec![0.0; NUMBERS], vec![0.0; NUMBERS]];
    let [by_scalar, by_native, by_us] = &mut numbers;
    if !run(scalar, block_type, &blocks, by_scalar) || !run(native, block_type, &blocks, by_native) {
        println!("{:8}  not in ggml", block_type.name());
        return;
    }
    let mut shortest = [Duration::MAX; 3];
    for _ in 0..ROUNDS {
        let times = [
            time(|| run(scalar, block_type, black_box(&blocks), black_box(by_scalar))),
            time(|| run(native, block_type, black_box(&blocks), black_box(by_native))),
            time(|| dequantize(block_type, black_box(&blocks), 0, black_box(by_us)).is_some()),
        ];
        shortest.iter_mut().zip(times).for_each(|(shortest, time)| *shortest = time.min(*shortest));
    }
    let is_same = by_scalar.iter().zip(by_us).all(|(a, b)| a.to_bits() == b.to_bits());
    assert!(is_same, "{block_type}: the numbers are those of ggml");
    let [scalar, native, ours] = shortest.map(|time| time.as_nanos() as f64 * 1000.0 / (ROWS * NUMBERS) as f64);
    let name = block_type.name();
    println!("{name:8}{scalar:>10.0}{native:>10.0}{ours:>10.0}{:>14.2}{:>14.2}", scalar / ours, native / ours);
}

/// The time of `ROWS` rows.
fn time(mut row: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    let is_done = (0..ROWS).fold(true, |is_done, _| row() && is_done);
    let time = start.elapsed();
    assert!(is_done, "a row that was decoded");
    time
}

/// Decodes all blocks with ggml.
fn run(peer: Peer, block_type: BlockType, blocks: &[u8], numbers: &mut [f32]) -> bool {
    // SAFETY: there are as many blocks as the numbers need, and they have this type.
    unsafe { peer(block_type.code().into(), blocks.as_ptr(), numbers.as_mut_ptr(), NUMBERS as i64) != 0 }
}

/// Random blocks for a row. Some bits are cleared, so that no scale is infinite or NaN.
fn blocks(block_type: BlockType) -> Vec<u8> {
    let (elements, bytes) = (block_type.elements() as usize, block_type.bytes() as usize);
    let mut seed = 1_u64;
    let random = |_| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u8 & 0xbb
    };
    (0..NUMBERS / elements * bytes).map(random).collect()
}
