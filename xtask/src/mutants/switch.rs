//! Part of the copy of the crate that contains the mutants: switches one mutant on, and records which ones a test
//! reaches.

extern crate std;

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU32};
use std::io::Write;
use std::sync::Mutex;

/// The number of mutants.
const COUNT: usize = 0;
const UNKNOWN: u32 = u32::MAX;
const RECORD: u32 = u32::MAX - 1;
const NONE: u32 = u32::MAX - 2;

static ACTIVE: AtomicU32 = AtomicU32::new(UNKNOWN);
static SEEN: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];
static REACHED: Mutex<Option<std::fs::File>> = Mutex::new(None);

/// Returns whether this mutant is switched on, by the environment.
#[inline]
pub fn is(mutant: u32) -> bool {
    let active = ACTIVE.load(Relaxed);
    if active < NONE { active == mutant } else { active != NONE && first_time(mutant) }
}

#[cold]
fn first_time(mutant: u32) -> bool {
    if ACTIVE.load(Relaxed) == UNKNOWN {
        let mut file = REACHED.lock().unwrap();
        if ACTIVE.load(Relaxed) == UNKNOWN {
            let mut active = NONE;
            if let Ok(number) = std::env::var("TENSLICE_MUTANT") {
                active = number.parse().unwrap();
            } else if let Ok(path) = std::env::var("TENSLICE_REACHED") {
                *file = Some(std::fs::File::create(path).unwrap());
                active = RECORD;
            }
            ACTIVE.store(active, Relaxed);
        }
        drop(file);
        return is(mutant);
    }
    // Load before the swap, which is slow.
    let seen = &SEEN[mutant as usize];
    if ACTIVE.load(Relaxed) == RECORD && !seen.load(Relaxed) && !seen.swap(true, Relaxed) {
        let mut file = REACHED.lock().unwrap();
        file.as_mut().unwrap().write_all(&mutant.to_le_bytes()).unwrap();
    }
    false
}
