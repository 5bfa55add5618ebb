//! Looking tensors up by name, beside the tables that the readers of the formats make on the heap.

use std::fs;
use std::hint::black_box;
use std::io::Cursor;
use std::time::{Duration, Instant};

use ggus::GGuf;
use safetensors::SafeTensors;
use tenslice::File;

use crate::{ROUNDS, SIZES, gguf, safetensors_file};

/// Prints a line for each format and size, in nanoseconds per name: what a name that is there takes and one that is not,
/// by the peer and by ours; and what making our index takes, and our `find` without one.
pub fn compare() {
    println!(
        "\n{:>12}{:>8}{:>10}{:>10}{:>7}{:>10}{:>10}{:>7}{:>10}{:>10}",
        "look-up", "tensors", "peer hit", "ours", "p/o", "peer miss", "ours", "p/o", "index", "find"
    );
    for size in SIZES.into_iter().filter(|size| *size > 1) {
        let file = ztensor1_file(size);
        let peer = ztensor1::Reader::new(Cursor::new(&file)).expect("what it has written");
        line("ztensor 1.2", &file, |name| peer.get(name).is_some());
        let path = std::env::temp_dir().join(format!("tenslice-lookup-{}.zt", std::process::id()));
        let file = crate::ztensor_file(size);
        fs::write(&path, &file).expect("a file of our own");
        let peer = ztensor2::Source::open(&path).expect("what it has written");
        line("ztensor 2", &file, |name| peer.get(name).is_some());
        drop(peer);
        fs::remove_file(&path).expect("what was written");
        let file = safetensors_file(size);
        let peer = SafeTensors::deserialize(&file).expect("what it has written");
        line("safetensors", &file, |name| peer.tensor(name).is_ok());
        let file = gguf::file(size, 0);
        let peer = GGuf::new(&file).expect("a valid file");
        line("gguf", &file, |name| peer.tensors.get(name).is_some());
    }
}

fn line(format: &str, bytes: &[u8], peer: impl Fn(&str) -> bool) {
    let file = File::open(bytes).expect("a valid file");
    let mut words = vec![0; file.index_length().expect("few tensors")];
    let mut names: Vec<String> = file.tensors().map(|tensor| tensor.name().to_string()).collect();
    shuffle(&mut names);
    let misses: Vec<String> = names.iter().map(|name| format!("{}_", &name[..name.len() - 1])).collect();
    let times = (100_000 / names.len()).max(1);
    let nanos = |time: Duration, times: usize| time.as_nanos() as f64 / (times * names.len()) as f64;
    let build = shortest(|| {
        (0..times).for_each(|_| assert!(black_box(black_box(&file).index(&mut words)).is_ok()));
    });
    let index = file.index(&mut words).expect("distinct names");
    let all = |names: &[String], is_there: bool, find: &dyn Fn(&str) -> bool| {
        (0..times).for_each(|_| assert!(names.iter().all(|name| find(black_box(name)) == is_there)));
    };
    let ours = |name: &str| black_box(index.find(name)).is_ok();
    let peer = |name: &str| black_box(peer(name));
    let mut found = [Duration::MAX; 4];
    for _ in 0..ROUNDS {
        let round = [
            time(|| all(&names, true, &peer)),
            time(|| all(&names, true, &ours)),
            time(|| all(&misses, false, &peer)),
            time(|| all(&misses, false, &ours)),
        ];
        found.iter_mut().zip(round).for_each(|(least, time)| *least = (*least).min(time));
    }
    let [hit, our_hit, miss, our_miss] = found.map(|time| nanos(time, times));
    let some = names.len().min(100);
    let find = time(|| assert!(names.iter().take(some).all(|name| file.find(name).is_ok())));
    println!(
        "{format:>12}{:>8}{hit:>10.1}{our_hit:>10.1}{:>7.2}{miss:>10.1}{our_miss:>10.1}{:>7.2}{:>10.1}{:>10.0}",
        names.len(),
        hit / our_hit,
        miss / our_miss,
        nanos(build, times),
        find.as_nanos() as f64 / some as f64,
    );
}

/// Looks all names of a file up again and again, for a profiler.
pub fn profile(bytes: &[u8], times: usize) {
    let file = File::open(bytes).expect("a valid file");
    let mut words = vec![0; file.index_length().expect("few tensors")];
    let mut names: Vec<String> = file.tensors().map(|tensor| tensor.name().to_string()).collect();
    shuffle(&mut names);
    let index = file.index(&mut words).expect("distinct names");
    (0..times).for_each(|_| assert!(names.iter().all(|name| black_box(index.find(name)).is_ok())));
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn shortest(mut work: impl FnMut()) -> Duration {
    (0..ROUNDS).map(|_| time(&mut work)).min().unwrap_or_default()
}

fn shuffle(names: &mut [String]) {
    let mut seed = 1_u64;
    for i in (1..names.len()).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        names.swap(i, (seed >> 33) as usize % (i + 1));
    }
}

pub fn ztensor1_file(size: usize) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let mut writer = ztensor1::Writer::new(&mut bytes).expect("memory");
    (0..size).for_each(|i| writer.add(&crate::name(i), &[4, 8], &[0_f32; 32]).expect("what can be written"));
    writer.finish().expect("memory");
    bytes.into_inner()
}
