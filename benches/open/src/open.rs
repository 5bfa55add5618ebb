//! Compares opening, listing and looking up with the original readers of the formats: see benches/README.md.

mod collisions;
mod files;
mod gguf;
mod onnx;
mod tflite;
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
    cargo run --release -- MODE                     a part of it: open, open-list, list, listed, hit,
                                                    hit-listed, miss, index, find
    cargo run --release -- collisions               making and using an index of names that were made to collide
    cargo run --release -- MODE FORMAT N TIMES      does that to a file of N tensors so many times and nothing else,
                                                    after the same preparations for any number of TIMES: to be run
                                                    under a profiler. FORMAT is ztensor1 (1.2), ztensor2, safetensors,
                                                    gguf, onnx, tflite, or vocabulary (gguf with 32 000 tokens)
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
            let all: Vec<Row> = Mode::ALL.into_iter().flat_map(compare).collect();
            collisions::compare(&SIZES);
            print_table(&all);
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
        [mode] => mode_of(mode).map(|mode| print_table(&compare(mode))),
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

/// A measurement: nanoseconds per tensor.
struct Row {
    mode: Mode,
    format: Format,
    size: usize,
    ours: f64,
    /// `None` if there is no peer.
    peer: Option<f64>,
}

/// Prints the measurements as the table of `docs/features-and-figures.md`: in each cell the times with the two sizes, and
/// how many times as fast as the peer that is.
fn print_table(rows: &[Row]) {
    let digits = |number: f64| if number < 9.95 { format!("{number:.1}") } else { format!("{number:.0}") };
    println!("\n| | zTensor 1.2 | zTensor 2 | safetensors | GGUF | ONNX | TFLite |\n|---|---|---|---|---|---|---|");
    for mode in Mode::ALL {
        let (title, sizes) = mode.title();
        let cells = Format::IN_TABLE.map(|format| {
            let of_size = |size| rows.iter().find(|row| row.mode == mode && row.format == format && row.size == size);
            let rows: Vec<&Row> = sizes.iter().filter_map(|size| of_size(*size)).collect();
            let join = |numbers: Vec<String>| numbers.join(", ");
            let ours = join(rows.iter().map(|row| format!("{:.0}", row.ours)).collect());
            let times = join(rows.iter().filter_map(|row| Some(digits(row.peer? / row.ours))).collect());
            if times.is_empty() { ours } else { format!("{ours}: {times}") }
        });
        if cells.iter().any(|cell| !cell.is_empty()) {
            println!("| {title} | {} |", cells.join(" | "));
        }
    }
}

/// Prints a line for each format and size, with the times in nanoseconds per tensor.
fn compare(mode: Mode) -> Vec<Row> {
    let mut rows = Vec::new();
    println!("\n{:>12}{:>10}{:>10}{:>10}{:>12}", mode.name(), "tensors", "peer", "ours", "peer/ours");
    for format in Format::ALL {
        let sizes = match mode {
            _ if format == Format::Vocabulary => &[300][..],
            Mode::HitListed => &[1, 10],
            _ => &SIZES,
        };
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
            rows.push(Row { mode, format, size, ours, peer: peer.is_some().then_some(theirs) });
            print!("{:>12}{size:>10}", format.name());
            match peer {
                Some(_) => println!("{theirs:>10.1}{ours:>10.1}{:>12.2}", theirs / ours),
                None => println!("{:>10}{ours:>10.1}", ""),
            }
        }
    }
    rows
}

fn time(work: &mut Work<'_>, count: usize) -> Duration {
    let start = Instant::now();
    (0..count).for_each(|_| {
        black_box(work());
    });
    start.elapsed()
}
