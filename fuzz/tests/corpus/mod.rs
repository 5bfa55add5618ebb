//! The inputs for replaying the targets: the kept corpora and the fixtures of the project.

use std::fs::{self, File};
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use tenslice_fuzz::Target;

/// Files, with their names.
type Files = Vec<(String, Vec<u8>)>;

fn corpus(target: &str) -> Files {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpus/{target}.tar.gz"));
    let archive = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
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

/// The files below `tests/fixtures`, without the side-cars.
fn fixtures() -> Files {
    let mut paths = Vec::new();
    below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures"), &mut paths);
    paths.retain(|path| path.extension().is_none_or(|extension| extension != "json" && extension != "md"));
    paths.sort();
    paths.iter().map(|path| (path.display().to_string(), fs::read(path).unwrap())).collect()
}

fn below(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { below(&path, all) } else { all.push(path) }
    }
}

/// Runs each target on each file of its corpus, and on each fixture, since the corpora do not have the fixtures.
pub fn run(targets: &[Target]) {
    let fixtures = fixtures();
    assert!(fixtures.len() > 1000, "{}", fixtures.len());
    let mut failed = Vec::new();
    for target in targets {
        let corpus = corpus(target.name);
        assert!(corpus.len() > 20, "{}: {} files", target.name, corpus.len());
        for (name, bytes) in corpus.iter().chain(&fixtures) {
            if catch_unwind(AssertUnwindSafe(|| (target.run)(bytes))).is_err() {
                failed.push(format!("{}: {name}", target.name));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
