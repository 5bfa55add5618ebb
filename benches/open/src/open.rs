//! Compares opening, listing and looking up with the original readers of the formats: see benches/README.md.

mod collisions;
mod files;
mod gguf;
mod work;

use std::env;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::files::Format;
use crate::work::{Mode, Work};

const HELP: &str = "\
Compares how long it takes to open, to list and to look up, in nanoseconds per tensor.

    cargo run --release                             everything
    cargo run --release -- MODE                     a part of it: open, open-list, list, hit, miss, index, find
    cargo run --release -- collisions               making and using an index of names that were made to collide
    cargo run --release -- MODE FORMAT N TIMES      does that to a file of N tensors so many times and nothing else,
                                                    after the same preparations for any number of TIMES: to be run
                                                    under a profiler. FORMAT is ztensor1 (1.2), ztensor2, safetensors,
                                                    gguf, or vocabulary (gguf with 32 000 tokens)
    cargo run --release -- MODE FORMAT N TIMES peer
                                                    the same by what ours is compared with";

/// The number of rounds. Each round times the peer, then this library. Each printed time is the shortest of all rounds.
const ROUNDS: usize = 75;
/// The number of tensors in one measurement: few, so that some measurements are not interrupted.
const TENSORS: usize = 10_000;
const SIZES: [usize; 5] = [1, 10, 300, 3000, 30_000];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let is_done = match *arguments {
        [] => {
            Mode::ALL.into_iter().for_each(compare);
            collisions::compare(&SIZES);
            Some(())
        }
        ["--help" | "-h"] => {
            println!("{HELP}");
            Some(())
        }
        ["collisions"] => {
            collisions::compare(&SIZES);
            Some(())
        }
        [mode] => mode_of(mode).map(compare),
        [mode, format, size, times] => repeat(mode, format, size, times, false),
        [mode, format, size, times, "peer"] => repeat(mode, format, size, times, true),
        _ => None,
    };
    if is_done.is_none() {
        eprintln!("{HELP}");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}

fn mode_of(name: &str) -> Option<Mode> {
    Mode::ALL.into_iter().find(|mode| mode.name() == name)
}

/// Repeats an operation `times` times. Returns `None` if there is no such operation.
fn repeat(mode: &str, format: &str, size: &str, times: &str, peer: bool) -> Option<()> {
    let mode = mode_of(mode)?;
    let format = Format::ALL.into_iter().find(|known| known.name() == format)?;
    let (size, times) = (size.parse().ok().filter(|size| *size > 0)?, times.parse::<usize>().ok()?);
    let file = format.file(size);
    let mut work = if peer { mode.peer(format, &file)? } else { mode.ours(&file) };
    (0..times).for_each(|_| {
        black_box(work());
    });
    Some(())
}

/// Prints a line for each format and size, with the times in nanoseconds per tensor.
fn compare(mode: Mode) {
    println!("\n{:>12}{:>10}{:>10}{:>10}{:>12}", mode.name(), "tensors", "peer", "ours", "peer/ours");
    for format in Format::ALL {
        let sizes = if format == Format::Vocabulary { &[300][..] } else { &SIZES };
        for &size in sizes {
            let file = format.file(size);
            let (mut ours, mut peer) = (mode.ours(&file), mode.peer(format, &file));
            if let Some(peer) = &mut peer {
                assert_eq!(ours(), peer(), "{} {}", mode.name(), format.name());
            }
            // A vocabulary takes much longer than its tensors.
            let tensors = if format == Format::Vocabulary { 2 * size } else { TENSORS };
            let count = (tensors / size).max(1);
            let mut shortest = [Duration::MAX; 2];
            for _ in 0..ROUNDS {
                let peer = peer.as_mut().map_or(Duration::MAX, |peer| time(peer, count));
                shortest = [shortest[0].min(peer), shortest[1].min(time(&mut ours, count))];
            }
            let [theirs, ours] = shortest.map(|time| time.as_nanos() as f64 / (count * size) as f64);
            print!("{:>12}{size:>10}", format.name());
            match peer {
                Some(_) => println!("{theirs:>10.1}{ours:>10.1}{:>12.2}", theirs / ours),
                None => println!("{:>10}{ours:>10.1}", ""),
            }
        }
    }
}

fn time(work: &mut Work<'_>, count: usize) -> Duration {
    let start = Instant::now();
    (0..count).for_each(|_| {
        black_box(work());
    });
    start.elapsed()
}
