//! Tests of what holds for every format: the corpus, damage, the shared calls, messages, decoding, checksums.

#[path = "../support/mod.rs"]
mod support;

mod calls;
mod corpus;
mod damage;
mod decode;
mod digests;
mod index;
mod limits;
mod messages;
mod numbers;
mod other_files;
mod reading;
mod truncated;
mod without_zstd;
