//! Names that collide in an index on purpose, and the cost of making the index and of looking all of them up.
//!
//! The hash is a copy of the one in src/view/index/mod.rs, which is not public: an attacker would read it there.

use std::hint::black_box;
use std::time::{Duration, Instant};

use tenslice::File;

use crate::gguf;

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
const LAST_FACTOR: u64 = 0xd6e8_feb8_6659_fd93;

/// The length of every name in bytes: one block of the hash.
const LENGTH: u64 = 16;

/// An operation done once with an index has the shortest time of this many rounds.
const ROUNDS: usize = 20;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 ^ self.0 >> 29
    }
}

fn mixed(state: u64, word: u64) -> u64 {
    (state ^ word).wrapping_mul(FACTOR).rotate_left(32)
}

fn hash(seed: u64, name: &[u8]) -> u64 {
    let [first, second] = [0, 8].map(|at| u64::from_le_bytes(name[at..at + 8].try_into().expect("eight bytes")));
    let states = mixed(mixed(mixed(seed, first), 0), mixed(seed ^ FACTOR, second));
    let hash = (states ^ LENGTH).wrapping_mul(LAST_FACTOR);
    hash ^ hash >> 32
}

/// The inverse of a multiplication by `factor`.
fn inverse(factor: u64) -> u64 {
    // Newton's method: each step doubles the number of correct bits.
    (0..6).fold(factor, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(factor.wrapping_mul(inverse))))
}

/// A name with that hash for that seed: the second half undoes what the first half did.
fn name_of_hash(seed: u64, hash: u64, random: &mut Random) -> String {
    let states = (hash ^ hash >> 32).wrapping_mul(inverse(LAST_FACTOR)) ^ LENGTH;
    let states = states.rotate_right(32).wrapping_mul(inverse(FACTOR));
    loop {
        let first = random.next() & 0x7f7f_7f7f_7f7f_7f7f;
        let second = (mixed(mixed(seed, first), 0) ^ states).rotate_right(32).wrapping_mul(inverse(FACTOR));
        let bytes = [first, second ^ seed ^ FACTOR].map(u64::to_le_bytes).concat();
        if let Some(name) = String::from_utf8(bytes).ok().filter(|name| name.is_ascii()) {
            return name;
        }
    }
}

/// `count` names whose slots are all in the first `part` of the slots.
fn among(count: usize, part: f64, random: &mut Random) -> Vec<String> {
    let names = std::iter::repeat_with(|| format!("{:016x}", random.next()));
    names.filter(|name| ((hash(0, name.as_bytes()) >> 32) as f64) < part * 2_f64.powi(32)).take(count).collect()
}

/// `count` names that all have the same hash for that seed.
fn alike(seed: u64, count: usize, random: &mut Random) -> Vec<String> {
    (0..count).map(|_| name_of_hash(seed, 0x2545_f491_4f6c_dd1d, random)).collect()
}

/// Names that collide with seed 0, and that would collide with the next seed if it depended only on the names.
fn alike_twice(count: usize, random: &mut Random) -> Vec<String> {
    let next = 0x0123_4567_89ab_cdef;
    let mut names = [alike(0, 6, random), alike(next, count - 7, random)].concat();
    let seed = names.iter().fold(0, |seed, name| hash(seed, name.as_bytes()));
    names.push(name_of_hash(seed, next, random));
    names
}

/// Prints a line for each kind of names and size.
pub fn compare(sizes: &[usize]) {
    println!("\n{:>12}{:>10}{:>10}{:>10}{:>14}", "names", "tensors", "index", "hit", "both/ordinary");
    for &size in sizes.iter().filter(|size| **size >= 300) {
        let random = &mut Random(1);
        let kinds = [
            ("ordinary", among(size, 1.0, random), "Slots(0)"),
            // Nine tenths of these slots are taken, which is still accepted.
            ("crowded", among(size, 0.5 / 0.9, random), "Slots("),
            ("alike", alike(0, size, random), "Slots("),
            ("alike twice", alike_twice(size, random), "Slots("),
        ];
        let mut ordinary = None;
        for (kind, names, order) in kinds {
            let (made, found) = times(&names, order);
            let ratio = (made + found) / *ordinary.get_or_insert(made + found);
            println!("{kind:>12}{size:>10}{made:>10.1}{found:>10.1}{ratio:>14.2}");
        }
    }
}

/// Nanoseconds per name for making an index, and for looking all names up in random order.
fn times(names: &[String], order: &str) -> (f64, f64) {
    let bytes = gguf::file(names, 0);
    let file = File::open(&bytes).expect("a valid file");
    let mut words = vec![0; file.index_length().expect("few tensors")];
    let mut shuffled: Vec<&String> = names.iter().collect();
    shuffled.sort_by_key(|name| hash(7, name.as_bytes()));
    let mut shortest = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let index = file.index(black_box(&mut words)).expect("distinct names");
        shortest[0] = shortest[0].min(start.elapsed());
        assert!(format!("{index:?}").contains(&format!("order: {order}")), "no {order}: the hash has changed");
        let start = Instant::now();
        let found = shuffled.iter().filter(|name| black_box(&index).find(black_box(name)).is_ok()).count();
        shortest[1] = shortest[1].min(start.elapsed());
        assert_eq!(found, names.len());
    }
    shortest.map(|time| time.as_nanos() as f64 / names.len() as f64).into()
}
