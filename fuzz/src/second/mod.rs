//! Targets that compare tenslice with a second reader of the same bytes.
//!
//! If both accept a file, it must have the same names, shapes, dtypes, bytes and attributes. If only one of them
//! accepts it, the cause must be in the target's list, which states a reason for each; anything else stops the
//! target. So a finding is a defect of ours, or a row that the list lacks.
//!
//! The second readers are not written for hostile files: some panic, some allocate what a file asks for, some have
//! undefined behaviour. Each target documents what it keeps from its reader.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use tenslice::{Error, File};

use crate::Target;
use crate::choices::Choices;

/// Declares the modules of the targets, and the table of them.
macro_rules! targets {
    ($($name:ident $target:literal)*) => {
        $(pub mod $name;)*

        /// All targets.
        pub const TARGETS: &[Target] = &[$(Target { name: $target, run: $name::run }),*];
    };
}

// A target has a row here, a `[[bin]]` in Cargo.toml, and a program of three lines in `second_targets`.
targets! {
    b2nd "second_b2nd"
    capi "second_capi"
    gguf "second_gguf"
    npy "second_npy"
    npz "second_npz"
    safetensors "second_safetensors"
    ztensor "second_ztensor"
    ztensor2 "second_ztensor2"
    zstd "second_zstd"
}

/// Opens a file, and uses memory for the comparisons that opening has skipped, as allocating readers do.
fn open_and_check(bytes: &[u8]) -> Result<File<'_>, Error> {
    let file = File::open(bytes)?;
    file.check(&mut vec![0; file.tensor_count() as usize + 300])?;
    Ok(file)
}

/// Compares a valid file made from the fuzzer's choices, and the same file with one thing broken. Arbitrary bytes
/// rarely get that far.
fn compare_made(bytes: &[u8], make: impl FnOnce(&mut Choices<'_>) -> Vec<u8>, compare: impl Fn(&[u8])) {
    let mut choices = Choices::new(bytes);
    let mut file = make(&mut choices);
    compare(&file);
    choices.damage(&mut file);
    compare(&file);
}

thread_local! {
    /// True if a panic on this thread comes from a second reader and is expected.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Calls a second reader. Returns `None` if it panics. libFuzzer programs abort on every panic in a hook, which is
/// bypassed for these.
fn guarded<T>(read: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_GUARDED.get() {
                before(info);
            }
        }));
    });
    IS_GUARDED.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(read)).ok();
    IS_GUARDED.set(false);
    result
}
