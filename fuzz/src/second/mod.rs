//! Targets that compare tenslice with a second reader of the same bytes.
//!
//! What both accept must have the same names, shapes, dtypes, bytes and attributes. Where only one of them accepts a
//! file, the target holds the cause to be one of its list, each with the reason; anything else stops it. So a finding
//! is a defect of ours, or a row that its list lacks.
//!
//! The second readers are not written for hostile files: some panic, some allocate what a file asks for, some are
//! undefined behaviour on it. Each target says what it keeps from its reader.

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

// A target is a row here, a `[[bin]]` in Cargo.toml, and a program of three lines in `second_targets`.
targets! {
    b2nd "second_b2nd"
    capi "second_capi"
    gguf "second_gguf"
    npy "second_npy"
    npz "second_npz"
    safetensors "second_safetensors"
    ztensor "second_ztensor"
    ztensor2 "second_ztensor2"
}

/// Opens a file and compares with memory what opening could not compare without, as the readers that allocate do.
fn open_and_check(bytes: &[u8]) -> Result<File<'_>, Error> {
    let file = File::open(bytes)?;
    file.check(&mut vec![0; file.tensor_count() as usize + 300])?;
    Ok(file)
}

/// Compares a valid file of the fuzzer's choices, and the same with one thing broken: any bytes hardly ever come as far.
fn compare_made(bytes: &[u8], make: impl FnOnce(&mut Choices<'_>) -> Vec<u8>, compare: impl Fn(&[u8])) {
    let mut choices = Choices::new(bytes);
    let mut file = make(&mut choices);
    compare(&file);
    choices.damage(&mut file);
    compare(&file);
}

thread_local! {
    /// Whether a panic on this thread is that of a second reader, and expected.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Calls a second reader; `None` where it panics. Programs of libFuzzer abort on every panic, from a hook: it is left out
/// for these.
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
