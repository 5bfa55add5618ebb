//! Only compared digests are reported as verified. In every build, a digest whose algorithm is not built in is an
//! error.
#![cfg(feature = "ztensor")]

use std::collections::BTreeMap;

use crate::support::cases;
use tenslice::{Component, ErrorKind, File, Format, Part, Purpose, ReadOptions, Verification};

/// True if this build computes digests of that kind.
fn is_built_in(kind: &str) -> bool {
    match kind {
        "crc32" => cfg!(feature = "crc32"),
        "crc32c" => cfg!(feature = "crc32c"),
        "sha256" => cfg!(feature = "sha256"),
        _ => kind == "xxh3",
    }
}

fn kind<'a>(file: &File<'_>, component: &Component<'a>) -> &'a str {
    match component.digest() {
        Some(digest) => digest.split(':').next().unwrap(),
        None if matches!(file.format(), Format::Npz | Format::Pytorch) => "crc32",
        None => "none",
    }
}

#[test]
fn reports_only_compared_digests_as_verified() {
    let mut verified = BTreeMap::<_, u32>::new();
    let mut refused = BTreeMap::<_, u32>::new();
    for case in cases() {
        let Ok(file) = File::open(&case.bytes) else { continue };
        let mut is_all_built_in = true;
        for component in file.tensors().flat_map(|tensor| tensor.components()) {
            let kind = kind(&file, &component).to_string();
            match component.verify(ReadOptions::new()) {
                Ok(Verification::Verified) => {
                    assert!(is_built_in(&kind), "{}: {kind}", case.name());
                    *verified.entry(kind).or_default() += 1;
                }
                Err(error) if error.kind() == ErrorKind::NotBuiltIn => {
                    assert!(!is_built_in(&kind) && !component.caps().verify, "{}: {kind}", case.name());
                    assert_eq!(
                        (error.part(), component.requirements(Purpose::Verify).scratch),
                        (Part::Digest, None),
                        "{}",
                        case.name()
                    );
                    is_all_built_in = false;
                    *refused.entry(kind).or_default() += 1;
                }
                _ => {}
            }
        }
        assert!(is_all_built_in || file.verify(ReadOptions::new()).is_err(), "{}", case.name());
    }
    let kinds = ["crc32c", "sha256"].into_iter();
    let kinds = kinds
        .chain(cfg!(any(feature = "npz", feature = "pytorch")).then_some("crc32"))
        .chain(cfg!(feature = "ztensor2").then_some("xxh3"));
    for kind in kinds {
        let counts = [&verified, &refused].map(|counts| counts.get(kind).copied().unwrap_or(0));
        assert_eq!(counts.map(|count| count > 5), [is_built_in(kind), !is_built_in(kind)], "{kind}: {counts:?}");
    }
}

#[cfg(not(feature = "crc32c"))]
#[test]
fn the_message_names_the_digest() {
    let bytes = crate::support::fixture("v1.2/converted_gguf.zt");
    let message = File::open(&bytes).unwrap().verify(ReadOptions::new()).unwrap_err().explain(&bytes[..]).to_string();
    assert!(message.contains(": digest: the library was built without support for this"), "{message}");
}
