//! Opening and checking a file, beside the reader that the format comes from: see benches/README.md.

mod gguf;
mod lookup;

use std::env;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ggus::GGuf;
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use tenslice::File;
use ztensor2::format::validate::image;
use ztensor2::{DType, Vocabulary, Writer};

const HELP: &str = "\
Compares how long it takes to open and check files, in nanoseconds per tensor.

    cargo run --release               everything
    cargo run --release -- FORMAT N   opens a file of N tensors 1000 times, and nothing else: to be run under a
                                      profiler. FORMAT is safetensors, gguf, vocabulary (gguf with 32 000 tokens), or
                                      ztensor (zTensor 2)
    cargo run --release -- lookup     looking up by name only
    cargo run --release -- lookup FORMAT N M
                                      looks N names up M times, and nothing else; FORMAT is ztensor, safetensors or gguf";

/// Every time is the shortest of so many, taken in turns.
const ROUNDS: usize = 15;
/// So many tensors are opened as one time.
const TENSORS: usize = 100_000;
const SIZES: [usize; 4] = [1, 300, 3000, 30_000];
/// The vocabulary of Llama 2.
const TOKENS: usize = 32_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => {}
        ["lookup"] => {
            lookup::compare();
            return ExitCode::SUCCESS;
        }
        ["lookup", format, size, times] if size.parse::<usize>().is_ok() && times.parse::<usize>().is_ok() => {
            let size = size.parse().unwrap_or(1);
            let file = match *format {
                "ztensor" => lookup::ztensor1_file(size),
                "safetensors" => safetensors_file(size),
                "gguf" => gguf::file(size, 0),
                _ => return usage(),
            };
            lookup::profile(&file, times.parse().unwrap_or(1));
            return ExitCode::SUCCESS;
        }
        [format, size] if size.parse::<usize>().is_ok() => {
            let size = size.parse().unwrap_or(1);
            let file = match *format {
                "safetensors" => safetensors_file(size),
                "ztensor" => ztensor_file(size),
                "gguf" => gguf::file(size, 0),
                "vocabulary" => gguf::file(size, TOKENS),
                _ => return usage(),
            };
            (0..1000).for_each(|_| ours(&file));
            return ExitCode::SUCCESS;
        }
        ["--help" | "-h"] => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ => return usage(),
    }
    println!("{:>12}{:>8}{:>10}{:>12}{:>10}{:>12}", "format", "tensors", "tokens", "peer", "ours", "peer/ours");
    for size in SIZES {
        let file = safetensors_file(size);
        compare(
            "safetensors",
            size,
            0,
            || drop(black_box(SafeTensors::deserialize(black_box(&file)))),
            || ours(&file),
        );
    }
    let vocabulary = Vocabulary::standard();
    for size in SIZES {
        let file = ztensor_file(size);
        assert!(image(&file, &vocabulary).is_ok_and(|file| file.is_some_and(|file| file.objects.len() == size)));
        compare("ztensor 2", size, 0, || drop(black_box(image(black_box(&file), &vocabulary))), || ours(&file));
    }
    for (size, tokens) in SIZES.map(|size| (size, 0)).into_iter().chain([(300, TOKENS)]) {
        let file = gguf::file(size, tokens);
        assert!(GGuf::new(&file).is_ok_and(|file| file.tensors.len() == size), "ggus reads what was written");
        compare("gguf", size, tokens, || drop(black_box(GGuf::new(black_box(&file)))), || ours(&file));
    }
    lookup::compare();
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("{HELP}");
    ExitCode::from(2)
}

fn ours(file: &[u8]) {
    black_box(File::open(black_box(file)).expect("a valid file"));
}

/// Prints the nanoseconds per tensor of both, for a file of `size` tensors.
fn compare(format: &str, size: usize, tokens: usize, mut peer: impl FnMut(), mut ours: impl FnMut()) {
    let count = if tokens > 0 { 10 } else { (TENSORS / size).max(1) };
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
    println!("{format:>12}{size:>8}{tokens:>10}{peer:>12.1}{ours:>10.1}{:>12.1}", peer / ours);
}

/// The tensors of a layer of Llama.
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

/// Tensors named as in Llama.
fn name(i: usize) -> String {
    format!("model.layers.{}.{}.weight", i / PARTS.len(), PARTS[i % PARTS.len()])
}

/// Tensors of 32 numbers each, in the order in which the crate writes them.
fn safetensors_file(size: usize) -> Vec<u8> {
    let data = [0; 128];
    let view = || TensorView::new(Dtype::F32, vec![4, 8], &data).expect("8 x 4 numbers of 4 bytes");
    serialize((0..size).map(|i| (name(i), view())), None).expect("what can be written")
}

/// The same tensors, of different numbers, by the crate: in the order in which they are added, at multiples of 4096.
fn ztensor_file(size: usize) -> Vec<u8> {
    let path = env::temp_dir().join(format!("tenslice-open-{}.zt", std::process::id()));
    let mut writer = Writer::options().canonical(false).align(4096).create(&path).expect("a file of our own");
    for i in 0..size {
        let data: Vec<u8> = (0..32).flat_map(|k| ((i * 32 + k) as f32).to_le_bytes()).collect();
        writer.add(name(i), [4_u64, 8], DType::F32, &data).expect("what can be written");
    }
    writer.finish().expect("a whole file");
    let file = std::fs::read(&path).expect("what was written");
    let _ = std::fs::remove_file(&path);
    file
}
