//! Any bytes as a file that is verified: the counts are those of the components, one by one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenslice::{BuiltIn, Component, File, Verification};

fuzz_target!(|bytes: &[u8]| {
    let Ok(file) = File::open(bytes) else { return };
    let mut scratch = vec![0; file.verify_scratch_length().unwrap_or(1 << 16) as usize]; // 16 MiB at most
    let mut verify = |component: Component<'_>| component.verify_with(&mut BuiltIn::default(), &mut scratch);
    let states: Vec<_> = file.tensors().flat_map(|t| t.components()).map(&mut verify).collect();
    let count = |state| states.iter().filter(|s| **s == Ok(state)).count() as u64;
    match file.verify_with(&mut BuiltIn::default(), &mut scratch) {
        Ok(all) => {
            assert_eq!(all.verified, count(Verification::Verified));
            assert_eq!(all.without_digest, count(Verification::NoDigest));
            assert_eq!(all.unknown_digest, count(Verification::UnknownDigest));
            assert!(states.iter().all(Result::is_ok));
        }
        Err(error) => {
            // Of a component, or of the indices of a sparse tensor.
            assert!(states.contains(&Err(error)) || file.tensors().any(|t| t.sparse(&mut []).err() == Some(error)));
            assert!(!error.explain(bytes).to_string().is_empty());
        }
    }
});
