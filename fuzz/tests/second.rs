//! Replays the targets that compare with a second reader, on their kept corpora and on the fixtures.
#![cfg(feature = "second")]

mod corpus;

use tenslice_fuzz::second::TARGETS;

#[test]
fn every_target_on_what_is_kept() {
    corpus::run(TARGETS);
}
