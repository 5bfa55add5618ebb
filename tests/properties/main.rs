//! Tests of what holds for every format: the corpus, damage, the shared calls, messages, decoding, checksums.

#[path = "../support/mod.rs"]
mod support;

mod calls;
mod corpus;
mod damage;
mod decode;
mod digests;
mod get;
mod fetched;
mod index;
mod limits;
mod messages;
mod model;
mod numbers;
mod other_files;
mod reading;
mod truncated;
mod without_zstd;
#[cfg(feature = "write")]
mod write;

/// `make test-small` tests nothing new if its build has the code for hosts.
#[test]
fn the_code_is_for_the_requested_machine() {
    let is_requested = std::env::var("TENSLICE_SMALL").is_ok_and(|value| value == "1");
    assert_eq!(cfg!(small), is_requested);
}
