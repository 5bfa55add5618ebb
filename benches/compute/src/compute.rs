//! Compares `read_into` and `read_f32_into` with the same work in hand-written code: see benches/README.md.

mod numbers;
mod random;
mod sparse;
mod train;

use std::env;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tenslice::{File, ReadOptions, Purpose};

const HELP: &str = "\
Compares Tensor::read_into with loops written by hand, in milliseconds, and Tensor::read_f32_into, in GB/s.

    cargo run --release            everything
    cargo run --release -- TEXT    what has TEXT in its name, such as csr, train or F16

Panics where the two do not compute the same.";

/// Every time is the shortest of this many rounds, in which both take turns.
const ROUNDS: usize = 15;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let filter = match arguments.as_slice() {
        [] => "",
        [text] if !text.starts_with('-') => text,
        _ => {
            println!("{HELP}");
            return ExitCode::from(2);
        }
    };
    println!("{:24}{:>10}{:>10}{:>12}", "", "by hand", "ours", "ours/hand");
    sparse::compare_all(filter);
    train::compare_all(filter);
    numbers::compare_all(filter);
    ExitCode::SUCCESS
}

/// Prints how long both take to write the dense tensor of a file. Both must write the same bytes.
fn compare(name: &str, file: &[u8], by_hand: impl Fn(&mut [u8])) {
    let file = File::open(file).expect("a valid file");
    let tensor = file.tensors().next().expect("a tensor");
    let mut scratch = vec![0; tensor.requirements(Purpose::Read).scratch.expect("no codec") as usize];
    let mut dst = vec![0xaa; tensor.requirements(Purpose::Read).output.expect("a dense length") as usize];
    let mut ours = |dst: &mut [u8]| {
        black_box(tensor.read_into(dst, ReadOptions::new().scratch(&mut scratch)).expect("a valid tensor"));
    };
    by_hand(&mut dst);
    let expected = dst.clone();
    dst.fill(0xaa);
    ours(&mut dst);
    assert!(dst == expected, "{name}: the two differ");
    let mut shortest = [Duration::MAX; 2];
    let mut measure = |action: &mut dyn FnMut(&mut [u8]), time: &mut Duration| {
        let start = Instant::now();
        action(black_box(&mut dst));
        *time = (*time).min(start.elapsed());
    };
    for _ in 0..ROUNDS {
        measure(&mut |dst| by_hand(dst), &mut shortest[0]);
        measure(&mut ours, &mut shortest[1]);
    }
    let [by_hand, ours] = shortest.map(|time| time.as_secs_f64() * 1e3);
    println!("{name:24}{by_hand:>10.2}{ours:>10.2}{:>12.2}", ours / by_hand);
}
