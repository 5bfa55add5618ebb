//! Compares decoding Zstandard with libzstd: see benches/README.md.

use std::env;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tenslice::{BuiltIn, Decoder, Encoding};
use zstd::bulk::Decompressor;

/// Every time is the shortest of this many rounds, in which both take turns.
const ROUNDS: usize = 11;
/// The bytes of each kind of data: more than most caches have, and with level 19 one window.
const SIZE: usize = 8 << 20;
const LEVELS: [i32; 4] = [1, 3, 9, 19];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let kinds = [("f32", floats()), ("int8", bytes()), ("text", text())];
    match &arguments[..] {
        [] => {
            println!("{:12}{:>8}{:>10}{:>10}{:>12}", "GB/s", "stored", "peer", "ours", "ours/peer");
            for (name, data) in &kinds {
                LEVELS.into_iter().for_each(|level| compare(name, data, level));
            }
        }
        [kind, level, times] => {
            let data = kinds.iter().find(|(name, _)| name == kind).map(|(_, data)| data);
            let (Some(data), Ok(level), Ok(times)) = (data, level.parse(), times.parse::<usize>()) else {
                return usage();
            };
            let (stored, mut out) = (zstd::bulk::compress(data, level).expect("memory"), vec![0; data.len()]);
            (0..times).for_each(|_| ours(&stored, &mut out));
        }
        _ => return usage(),
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!(
        "usage: zstd                             compare the speed with that of libzstd\n       zstd f32|int8|text LEVEL TIMES   decode one stream TIMES times, to be run under a profiler"
    );
    ExitCode::from(2)
}

fn ours(stored: &[u8], out: &mut [u8]) {
    let written = BuiltIn::default().decode(Encoding::Zstd, black_box(stored), black_box(out));
    assert_eq!(written, Ok(out.len()));
}

fn compare(name: &str, data: &[u8], level: i32) {
    let stored = zstd::bulk::compress(data, level).expect("memory");
    let (mut peer, mut out) = (Decompressor::new().expect("memory"), vec![0_u8; data.len()]);
    let mut shortest = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        let start = Instant::now();
        peer.decompress_to_buffer(black_box(&stored), black_box(&mut out[..])).expect("a valid stream");
        shortest[0] = shortest[0].min(start.elapsed());
        out.fill(0);
        let start = Instant::now();
        ours(&stored, &mut out);
        shortest[1] = shortest[1].min(start.elapsed());
        assert!(out == data, "other bytes");
    }
    let [peer, ours] = shortest.map(|time| data.len() as f64 / time.as_nanos() as f64);
    let share = stored.len() as f64 / data.len() as f64;
    println!("{:12}{share:>8.2}{peer:>10.2}{ours:>10.2}{:>12.2}", format!("{name} {level}"), ours / peer);
}

/// Random numbers, the same in each run (xorshift64*).
fn numbers() -> impl Iterator<Item = u64> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    std::iter::repeat_with(move || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    })
}

/// Sums of twelve random numbers, nearly a normal distribution with a variance of 1.
fn normal() -> impl Iterator<Item = f32> {
    let mut numbers = numbers();
    std::iter::repeat_with(move || {
        numbers.by_ref().take(12).map(|number| (number >> 40) as f32 / (1 << 24) as f32).sum::<f32>() - 6.0
    })
}

fn floats() -> Vec<u8> {
    normal().take(SIZE / 4).flat_map(|number| (number * 0.02).to_le_bytes()).collect()
}

fn bytes() -> Vec<u8> {
    normal().take(SIZE).map(|number| (number * 24.0).round().clamp(-127.0, 127.0) as i8 as u8).collect()
}

/// The texts of this repository, one after the other, then from the beginning.
fn text() -> Vec<u8> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = ["docs", "include", "src", "tests"].map(|name| top.join(name)).to_vec();
    let mut texts = Vec::new();
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<_> =
            fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path()).collect();
        entries.sort();
        for path in entries {
            match path.extension().and_then(|extension| extension.to_str()) {
                None if path.is_dir() => folders.push(path),
                Some("rs" | "md" | "h" | "hpp") => texts.extend(fs::read(path).expect("a file")),
                _ => {}
            }
        }
    }
    texts.iter().copied().cycle().take(SIZE).collect()
}
