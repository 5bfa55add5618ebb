//! Replays the targets on their kept corpora and on the fixtures.

mod corpus;

use tenslice_fuzz::TARGETS;

#[test]
fn every_target_on_what_is_kept() {
    corpus::run(TARGETS);
}

/// Every target has its program.
#[test]
fn programs() {
    for target in TARGETS {
        let program = format!("{}/fuzz_targets/{}.rs", env!("CARGO_MANIFEST_DIR"), target.name);
        let text = std::fs::read_to_string(&program).unwrap_or_else(|error| panic!("{program}: {error}"));
        assert!(text.contains(&format!("tenslice_fuzz::{}::run(bytes)", target.name)), "{program}");
    }
}
