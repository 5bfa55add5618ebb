//! Memory and work are limited for the whole command, because a small file can demand unbounded amounts of both.

use serde_json::Value;

use crate::support::{Folder, run};

/// A zTensor 1.2 file whose tensors share one damaged Zstandard stream that states `decoded_length` bytes.
fn shared_stream(tensors: usize, decoded_length: u32) -> Vec<u8> {
    let text = |text: &str| [&[0x60 | text.len() as u8][..], text.as_bytes()].concat();
    let number = |n: u32| [&[0x1a][..], &n.to_be_bytes()].concat();
    let mut manifest =
        [&[0xa2][..], &text("version"), &text("1.2.0"), &text("objects"), &[0xb8, tensors as u8]].concat();
    for i in 0..tensors {
        manifest.extend([text(&format!("t{i:02}")), vec![0xa3]].concat());
        manifest.extend([text("shape"), vec![0x81], number(decoded_length), text("format"), text("dense")].concat());
        manifest
            .extend([text("components"), vec![0xa1], text("data"), vec![0xa5], text("dtype"), text("u8")].concat());
        manifest.extend([text("offset"), number(64), text("length"), number(13)].concat());
        manifest
            .extend([text("uncompressed_length"), number(decoded_length), text("encoding"), text("zstd")].concat());
    }
    let mut bytes = b"ZTEN1000".to_vec();
    bytes.resize(64, 0);
    // The header of a frame, and a block of an invalid type.
    bytes.extend([&[0x28, 0xb5, 0x2f, 0xfd, 0xa0][..], &decoded_length.to_le_bytes(), &[7, 0, 0, 0]].concat());
    bytes.extend(&manifest);
    bytes.extend((manifest.len() as u64).to_le_bytes());
    bytes.extend(b"ZTEN1000");
    bytes
}

/// The first of 30 tensors that decode to 600 MiB each is read. It is damaged, so that reading takes no time.
#[test]
fn work_is_limited_for_the_command() {
    let folder = Folder::new();
    let file = folder.write("shared.zt", &shared_stream(30, 600 << 20));
    for command in [&["verify", "--jobs", "1", &file][..], &["list", "--digest", &file]] {
        let run = run(command);
        let lines: Vec<&str> = run.err.lines().collect();
        assert_eq!((run.status, lines.len()), (1, 3), "{}", run.err);
        assert!(lines[2].starts_with("  `tenslice explain --digest "), "{}", run.err);
        assert!(
            lines[1].contains(
                "tensor \"t01\": work limit: the command needs to read and decode 1258291213 bytes; the limit is"
            ),
            "{}",
            run.err
        );
        assert!(run.err.contains("--no-limit") && run.err.contains("(28 more tensors were not read)"), "{}", run.err);
    }
    let refused = run(&["list", "--digest", "--json", &file]);
    let record: Value = serde_json::from_str(&refused.out).unwrap();
    let problems = record["problems"].as_array().unwrap();
    assert_eq!((problems.len(), &problems[1]["kind"]), (2, &"limit".into()));
    assert!(problems[1]["message"].as_str().unwrap().contains("28 more tensors"), "{problems:?}");
    let all = run(&["verify", "--no-limit", &file]);
    let errors = all.err.lines().filter(|line| line.starts_with("error: ")).count();
    assert!(all.status == 1 && !all.err.contains("limit") && errors == 30, "{}", all.err);
    let compared = run(&["diff", &file, &file]);
    assert_eq!(compared.status, 1);
    assert!(
        compared.out.contains("! t01: not compared: ") && compared.out.contains("work limit"),
        "{}",
        compared.out
    );
    assert!(compared.out.ends_with("0 tensors the same, 0 differ, 30 not compared\n"), "{}", compared.out);
}

/// All files of a command share one limit.
#[test]
fn files_share_the_limits() {
    let folder = Folder::new();
    let files = ["a.zt", "b.zt"].map(|name| folder.write(name, &shared_stream(1, 600 << 20)));
    let both = run(&["verify", &files[0], &files[1]]);
    assert!(both.err.contains("b.zt: tensor \"t00\": work limit"), "{}", both.err);
    assert!(!run(&["verify", &files[1]]).err.contains("limit"));
}
