//! The targets that compare with a second reader, on every fixture and on the kept corpora.
#![cfg(feature = "second")]

mod corpus;

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use tenslice_fuzz::second::TARGETS;

fn below(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { below(&path, all) } else { all.push(path) }
    }
}

#[test]
fn every_target_on_the_fixtures() {
    let mut paths = Vec::new();
    below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures"), &mut paths);
    paths.retain(|path| path.extension().is_none_or(|extension| extension != "json" && extension != "md"));
    paths.sort();
    assert!(paths.len() > 1000, "{}", paths.len());
    let mut failed = Vec::new();
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        for target in TARGETS {
            if catch_unwind(|| (target.run)(&bytes)).is_err() {
                failed.push(format!("{}: {}", target.name, path.display()));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn every_target_on_its_corpus() {
    corpus::run(TARGETS);
}
