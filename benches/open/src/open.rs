//! Opening and checking a file, beside the reader that the format comes from: see benches/README.md.

use std::env;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};

const HELP: &str = "\
Compares how long it takes to open and check files, in nanoseconds per tensor.

    cargo run --release          everything
    cargo run --release -- N     opens a safetensors file of N tensors 1000 times, and nothing else:
                                 to be run under a profiler";

/// Every time is the shortest of so many, taken in turns.
const ROUNDS: usize = 15;
/// So many tensors are opened as one time.
const TENSORS: usize = 100_000;
const SIZES: [usize; 4] = [1, 300, 3000, 30_000];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => {}
        [size] if size.parse::<usize>().is_ok() => {
            let file = safetensors_file(size.parse().unwrap_or(1));
            (0..1000).for_each(|_| ours(&file));
            return ExitCode::SUCCESS;
        }
        [option] if option == "--help" || option == "-h" => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
    }
    println!("{:>12}{:>8}{:>18}{:>8}{:>12}", "format", "tensors", "peer", "ours", "peer/ours");
    for size in SIZES {
        let file = safetensors_file(size);
        let (peer, ours) = times(size, || peer(&file), || ours(&file));
        println!("{:>12}{size:>8}{:>18}{ours:>8.1}{:>12.1}", "safetensors", format!("{peer:.1}"), peer / ours);
    }
    ExitCode::SUCCESS
}

fn ours(file: &[u8]) {
    black_box(tenslice::File::open(black_box(file)).expect("a valid file"));
}

fn peer(file: &[u8]) {
    black_box(SafeTensors::deserialize(black_box(file)).expect("a valid file"));
}

/// Nanoseconds per tensor of both, for a file of `size` tensors.
fn times(size: usize, mut peer: impl FnMut(), mut ours: impl FnMut()) -> (f64, f64) {
    let count = (TENSORS / size).max(1);
    let measure = |open: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..count).for_each(|_| open());
        start.elapsed()
    };
    let mut shortest = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        shortest = [shortest[0].min(measure(&mut peer)), shortest[1].min(measure(&mut ours))];
    }
    let [peer, ours] = shortest.map(|time| time.as_nanos() as f64 / (count * size) as f64);
    (peer, ours)
}

/// Tensors named as in Llama, 32 numbers each, in the order in which the crate writes them.
fn safetensors_file(size: usize) -> Vec<u8> {
    const PARTS: [&str; 9] = [
        "input_layernorm",
        "mlp.down_proj",
        "mlp.gate_proj",
        "mlp.up_proj",
        "post_attention_layernorm",
        "self_attn.k_proj",
        "self_attn.o_proj",
        "self_attn.q_proj",
        "self_attn.v_proj",
    ];
    let data = [0; 128];
    let name = |i: usize| format!("model.layers.{}.{}.weight", i / PARTS.len(), PARTS[i % PARTS.len()]);
    let view = || TensorView::new(Dtype::F32, vec![4, 8], &data).expect("8 x 4 numbers of 4 bytes");
    serialize((0..size).map(|i| (name(i), view())), None).expect("what can be written")
}
