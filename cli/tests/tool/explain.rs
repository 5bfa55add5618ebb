use unicode_width::UnicodeWidthStr;

use crate::support::{files_below, fixture, out, run, run_with};

#[test]
fn a_refused_file() {
    let run = run(&["explain", &fixture("safetensors/bad/st_dtype_F8.safetensors")]);
    assert_eq!((run.status, run.err.as_str()), (1, ""));
    for line in [
        "  message  safetensors: tensor \"a\": the dtype is not defined in this format version: \"F8\" [at byte 22]",
        "  rule     UnknownDType (212): the dtype is not defined in this format version",
        "  part     dtype",
        "  text     safetensors, README, section \"Format\"",
        "  place    byte 22 of 79",
        "  0010  74 79 70 65 22 3a 22 46 38 22 2c 22 73 68 61 70  type\":\"F8\",\"shap",
        "                          ^^ ^^ ^^ ^^",
    ] {
        assert!(run.out.lines().any(|found| found == line), "{line}\n{}", run.out);
    }
}

#[test]
fn metadata_is_no_tensor() {
    let run = run(&["explain", &fixture("safetensors/bad/st_meta_bool.safetensors")]);
    assert_eq!(run.status, 1);
    assert!(
        run.out.contains("\n  metadata its entry begins at byte 9\n") && !run.out.contains("tensor "),
        "{}",
        run.out
    );
}

/// Every refused file has a message, and no file crashes the program.
#[test]
fn every_bad_fixture() {
    let mut refused = 0;
    let mut files = files_below(fixture("").as_ref());
    files.retain(|path| path.iter().any(|part| part == "bad") && path.extension().is_none_or(|e| e != "json"));
    let files: Vec<&str> = files.iter().filter_map(|path| path.to_str()).collect();
    for some in files.chunks(100) {
        let run = run(&["explain", "--width", "40"].into_iter().chain(some.iter().copied()).collect::<Vec<_>>());
        assert!(matches!(run.status, 0 | 1) && run.err.is_empty(), "{}", run.err);
        refused += run.out.matches(": refused\n").count();
        assert_eq!(run.out.matches(": refused\n").count(), run.out.matches("  message  ").count());
        let dump = run.out.lines().filter(|line| line.starts_with("  00") || line.trim_start().starts_with("^^"));
        dump.for_each(|line| assert!(line.width() <= 40, "{line}"));
    }
    assert!(refused > 500, "{refused}");
}

#[test]
fn an_accepted_file() {
    let text = out(&["explain", &fixture("v1.2/digests.zt")]);
    assert!(text.ends_with("digests.zt: accepted, 6 tensors, data not read: --digest reads it\n"), "{text}");
    assert!(out(&["explain", "--digest", &fixture("v1.2/digests.zt")]).contains("all data read"));
    assert!(out(&["explain", &fixture("v1.0/syn_misaligned_offset.zt")]).contains("warning: "));
}

#[test]
fn damage_that_only_reading_shows() {
    let mut bytes = std::fs::read(fixture("v1.2/digests.zt")).unwrap();
    bytes[64] ^= 1;
    let folder = crate::support::Folder::new();
    let file = folder.write("damaged.zt", &bytes);
    assert_eq!(run(&["explain", &file]).status, 0);
    let run = run(&["explain", "--digest", &file]);
    assert!(run.status == 1 && run.out.contains("DigestMismatch (400)"), "{}", run.out);
}

#[test]
fn a_file_that_is_cut_off() {
    let bytes = std::fs::read(fixture("gguf/rank2.gguf")).unwrap();
    let run = run_with(&["explain", "-"], &bytes[..40]);
    assert!(run.status == 1 && run.out.contains("place    byte 8 of 40"), "{}", run.out);
}
