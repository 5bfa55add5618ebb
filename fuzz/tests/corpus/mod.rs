//! The kept corpora.

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use flate2::read::GzDecoder;
use tenslice_fuzz::Target;

/// The files of a kept corpus, with their names.
fn files(target: &str) -> Vec<(String, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpus/{target}.tar.gz"));
    let archive = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut archive = tar::Archive::new(GzDecoder::new(archive));
    let entries =
        archive.entries().unwrap().map(Result::unwrap).filter(|entry| entry.header().entry_type().is_file());
    let files = entries.map(|mut entry| {
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (entry.path().unwrap().display().to_string(), bytes)
    });
    files.collect()
}

/// Runs each target on each file of its corpus.
pub fn run(targets: &[Target]) {
    let mut failed = Vec::new();
    for target in targets {
        let files = files(target.name);
        assert!(files.len() > 20, "{}: {} files", target.name, files.len());
        for (name, bytes) in files {
            if catch_unwind(AssertUnwindSafe(|| (target.run)(&bytes))).is_err() {
                failed.push(format!("{}: {name}", target.name));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
