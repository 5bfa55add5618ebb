//! Compares tenslice's Blosc2 reader with c-blosc2 on the same frames: see benches/README.md.

mod data;
mod peer;

use std::env;
use std::hint::black_box;
use std::ops::Range;
use std::process::ExitCode;

use tenslice::{b2nd, ReadOptions};

use peer::{Array, Settings};

const HELP: &str = "\
Compares tenslice's Blosc2 reader with c-blosc2.

    benches/run.sh            all workloads
    benches/run.sh TEXT       those with TEXT in their name, such as smooth or lz4+shuffle

Panics where the two do not read the bytes that were written.";

pub const ROWS: usize = 4096;
pub const COLUMNS: usize = 4096;
const BLOCK_ROWS: usize = 32;
const ROW_BYTES: usize = COLUMNS * 4;

/// Every time is the shortest of this many rounds.
const ROUNDS: usize = 15;
/// The number of openings in one measured time.
const OPENINGS: usize = 200;

type Make = fn() -> Vec<u8>;
const DATA: [(&str, Make); 3] = [("smooth", data::smooth), ("weights", data::weights), ("noisy", data::noisy)];

/// Codec, filter and level are the numbers of blosc2.h.
struct Compression {
    name: &'static str,
    codec: u8,
    filter: u8,
    level: u8,
}

const BLOSCLZ: u8 = 0;
const LZ4: u8 = 1;
const ZLIB: u8 = 4;
const ZSTD: u8 = 5;
const SHUFFLE: u8 = 1;
const BITSHUFFLE: u8 = 2;

const COMPRESSIONS: [Compression; 7] = [
    Compression { name: "memcpyed", codec: LZ4, filter: SHUFFLE, level: 0 },
    Compression { name: "lz4+shuffle", codec: LZ4, filter: SHUFFLE, level: 5 },
    Compression { name: "lz4+bitshuffle", codec: LZ4, filter: BITSHUFFLE, level: 5 },
    Compression { name: "blosclz+shuffle", codec: BLOSCLZ, filter: SHUFFLE, level: 5 },
    Compression { name: "zstd+shuffle", codec: ZSTD, filter: SHUFFLE, level: 5 },
    Compression { name: "zstd+bitshuffle", codec: ZSTD, filter: BITSHUFFLE, level: 5 },
    Compression { name: "zlib+shuffle", codec: ZLIB, filter: SHUFFLE, level: 5 },
];

/// The speed of tenslice divided by that of c-blosc2.
struct Speeds {
    data: &'static str,
    compression: &'static str,
    full: f64,
    row: f64,
    open: f64,
}

/// The required speed for one compression or for all, and the desired speed.
struct Target {
    what: &'static str,
    speed: fn(&Speeds) -> f64,
    compression: Option<&'static str>,
    goal: f64,
    aim: f64,
}

const TARGETS: [Target; 6] = [
    Target { what: "open", speed: |speeds| speeds.open, compression: None, goal: 2.0, aim: 2.0 },
    Target { what: "row", speed: |speeds| speeds.row, compression: Some("memcpyed"), goal: 2.0, aim: 2.0 },
    Target { what: "row", speed: |speeds| speeds.row, compression: Some("lz4+shuffle"), goal: 0.5, aim: 1.0 },
    Target { what: "full", speed: |speeds| speeds.full, compression: Some("memcpyed"), goal: 1.0, aim: 1.0 },
    Target { what: "full", speed: |speeds| speeds.full, compression: Some("lz4+shuffle"), goal: 0.7, aim: 1.0 },
    Target { what: "full", speed: |speeds| speeds.full, compression: Some("blosclz+shuffle"), goal: 0.5, aim: 1.0 },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let filter = match arguments.as_slice() {
        [] => "",
        [option] if option == "--help" || option == "-h" => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        [text] if !text.starts_with('-') => text,
        _ => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
    };
    println!("{ROWS} x {COLUMNS} 32-bit floats, one thread, c-blosc2 {}\n", peer::start());
    println!("{:23}{:>7} |{:^34} |{:^26} |{:^26}", "", "", "full, GB/s", "row, us", "open, ns");
    println!(
        "{:23}{:>7} |{p:>8}{:>8}{o:>8}{r:>10} |{p:>8}{o:>8}{r:>10} |{p:>8}{o:>8}{r:>10}",
        "workload",
        "ratio",
        "chunks",
        p = "peer",
        o = "ours",
        r = "ours/peer",
    );
    let mut all = Vec::new();
    for (data, make) in DATA {
        // Copied data takes the same time, whatever it is.
        let once = |compression: &&Compression| compression.level > 0 || data == DATA[0].0;
        let wanted = |compression: &&Compression| name(data, compression).contains(filter);
        let chosen: Vec<_> = COMPRESSIONS.iter().filter(once).filter(wanted).collect();
        if !chosen.is_empty() {
            let bytes = make();
            all.extend(chosen.into_iter().map(|compression| compare(data, &bytes, compression)));
        }
    }
    if all.is_empty() {
        eprintln!("no workload has {filter} in its name");
        return ExitCode::from(2);
    }
    summarize(&all);
    ExitCode::SUCCESS
}

fn name(data: &str, compression: &Compression) -> String {
    format!("{data} {}", compression.name)
}

/// Checks that both read the same, measures the times, and prints a line.
fn compare(data: &'static str, bytes: &[u8], compression: &Compression) -> Speeds {
    let name = name(data, compression);
    let settings = Settings {
        shape: [ROWS as i64, COLUMNS as i64],
        chunk: [512, 1024],
        block: [BLOCK_ROWS as i32, 1024],
        codec: compression.codec,
        filter: compression.filter,
        level: compression.level,
    };
    let frame = peer::write(bytes, &settings);
    let peer = Array::open(&frame);
    let mut ours = Ours::open(&frame);
    let mut out = vec![0; bytes.len()];
    // One row for each row of a block, from all over the array, each at another position within its block.
    let samples = || (0..BLOCK_ROWS).map(|i| i * (ROWS / BLOCK_ROWS + 1));

    let mut check = |who: &str, rows: Range<usize>, read: Action<'_>| {
        let wanted = &bytes[rows.start * ROW_BYTES..rows.end * ROW_BYTES];
        let out = &mut out[..wanted.len()];
        out.fill(0xAA);
        read(out);
        assert!(out == wanted, "{name}: {who} reads other bytes than were written in rows {rows:?}");
    };
    check("c-blosc2", 0..ROWS, &mut |out| peer.read(out));
    check("tenslice", 0..ROWS, &mut |out| ours.rows(0..ROWS, out));
    for row in samples() {
        check("c-blosc2", row..row + 1, &mut |out| peer.rows(row..row + 1, out));
        check("tenslice", row..row + 1, &mut |out| ours.rows(row..row + 1, out));
    }

    let mut peer_all = |out: &mut [u8]| peer.read(out);
    let mut ours_all = |out: &mut [u8]| ours.rows(0..ROWS, out);
    let mut chunks = |out: &mut [u8]| peer.chunks(out);
    let [peer_full, ours_full, chunks] = fastest(&mut out, [&mut peer_all, &mut ours_all, &mut chunks]);

    let mut peer_rows = |out: &mut [u8]| samples().for_each(|row| peer.rows(row..row + 1, out));
    let mut ours_rows = |out: &mut [u8]| samples().for_each(|row| ours.rows(row..row + 1, out));
    let row_times = fastest(&mut out[..ROW_BYTES], [&mut peer_rows, &mut ours_rows]);
    let [peer_row, ours_row] = row_times.map(|time| time / samples().count() as f64);

    let mut peer_opens = |_: &mut [u8]| (0..OPENINGS).for_each(|_| drop(Array::open(&frame)));
    let mut ours_opens = |_: &mut [u8]| (0..OPENINGS).for_each(|_| _ = black_box(open(black_box(&frame))));
    let open_times = fastest(&mut [], [&mut peer_opens, &mut ours_opens]);
    let [peer_open, ours_open] = open_times.map(|time| time / OPENINGS as f64);

    let rate = |time: f64| bytes.len() as f64 / time; // bytes per nanosecond are GB per second
    let speeds = Speeds {
        data,
        compression: compression.name,
        full: peer_full / ours_full,
        row: peer_row / ours_row,
        open: peer_open / ours_open,
    };
    println!(
        "{name:23}{:7.2} |{:8.2}{:8.2}{:8.2}{:10.2} |{:8.1}{:8.1}{:10.2} |{peer_open:8.0}{ours_open:8.0}{:10.2}",
        bytes.len() as f64 / frame.len() as f64,
        rate(peer_full),
        rate(chunks),
        rate(ours_full),
        speeds.full,
        peer_row / 1000.0,
        ours_row / 1000.0,
        speeds.row,
        speeds.open,
    );
    speeds
}

type Action<'a> = &'a mut dyn FnMut(&mut [u8]);

/// The shortest time of each action in nanoseconds, over rounds in which they take turns.
fn fastest<const N: usize>(out: &mut [u8], mut actions: [Action<'_>; N]) -> [f64; N] {
    let mut times = [u64::MAX; N];
    for _ in 0..ROUNDS {
        for (action, time) in actions.iter_mut().zip(&mut times) {
            let start = peer::nanoseconds();
            action(out);
            *time = (*time).min(peer::nanoseconds() - start);
        }
    }
    times.map(|time| time as f64)
}

/// Prints the slowest workload for each target.
fn summarize(all: &[Speeds]) {
    println!("\n{:22}{:>6}{:>6}{:>9}", "ours/peer", "goal", "aim", "slowest");
    for Target { what, speed, compression, goal, aim } in &TARGETS {
        let meant = all.iter().filter(|speeds| compression.is_none_or(|name| name == speeds.compression));
        let Some(slowest) = meant.min_by(|a, b| speed(a).total_cmp(&speed(b))) else { continue };
        let verdict = match speed(slowest) {
            reached if reached >= *aim => "reached",
            reached if reached >= *goal => "reached, the aim not",
            _ => "MISSED",
        };
        println!(
            "{what:5}{:17}{goal:6.2}{aim:6.2}{:9.2}  {verdict}: {} {}",
            compression.unwrap_or("all"),
            speed(slowest),
            slowest.data,
            slowest.compression
        );
    }
}

fn open(frame: &[u8]) -> b2nd::Frame<'_> {
    let file = tenslice::File::open(frame).unwrap_or_else(|error| panic!("{}", error.explain(frame)));
    file.as_b2nd().expect("a b2nd array")
}

/// An open array with the memory that reading needs.
struct Ours<'a> {
    file: b2nd::Frame<'a>,
    scratch: Vec<u8>,
}

impl<'a> Ours<'a> {
    fn open(frame: &'a [u8]) -> Self {
        let file = open(frame);
        let needed = |rows: usize| file.region_requirements(&[0, 0], &[rows as u64, COLUMNS as u64]);
        let scratch = [1, ROWS].map(|rows| needed(rows).expect("within the array").scratch.unwrap_or(0) as usize);
        Self { file, scratch: vec![0; scratch[0].max(scratch[1])] }
    }

    fn rows(&mut self, rows: Range<usize>, out: &mut [u8]) {
        let (start, stop) = ([rows.start as u64, 0], [rows.end as u64, COLUMNS as u64]);
        self.file.read_region(&start, &stop, out, ReadOptions::new().scratch(&mut self.scratch)).expect("a good frame");
    }
}
