//! The checksums of a file are verified before its data is used.

use crate::support::{Folder, fixture, npy, npz, run};

/// Runs every command that uses the data of a file's only tensor. Returns the exit statuses and the number of files
/// written.
fn hand_out(folder: &Folder, file: &str, options: &[&str]) -> (Vec<i32>, usize) {
    let before = folder.names().len();
    let [array, assembly] = ["x.npy", "x.S"].map(|name| folder.path(name));
    let commands: [&[&str]; 5] = [
        &["extract", file, "-o", &array],
        &["embed", file, "-o", &assembly],
        &["diff", file, file],
        &["show", file],
        &["show", file, "--slice", "0"],
    ];
    let status = |command: &&[&str]| {
        let run = run(&command.iter().chain(options).copied().collect::<Vec<_>>());
        assert!(run.status == 0 || (run.err + &run.out).contains("digest"), "{command:?}");
        run.status
    };
    (commands.iter().map(status).collect(), folder.names().len() - before)
}

#[test]
fn damaged_data_is_not_handed_out() {
    let array = npy("'<f4'", false, "(3,)", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    let mut archive = npz(&[("x", &array, false)]);
    let at = archive.windows(3).position(|window| window == [4, 5, 6]).unwrap();
    for is_damaged in [false, true] {
        archive[at] ^= u8::from(is_damaged);
        let folder = Folder::new();
        let file = folder.write("a.npz", &archive);
        let expected = if is_damaged { (vec![1; 5], 0) } else { (vec![0; 5], 3) };
        assert_eq!(hand_out(&folder, &file, &[]), expected);
        let folder = Folder::new();
        let file = folder.write("a.npz", &archive);
        assert_eq!(hand_out(&folder, &file, &["--no-verify"]), (vec![0; 5], 3));
    }
}

/// Digests of zTensor components that are raw, stored in frames, or compressed.
#[test]
fn digests_are_compared() {
    for (name, tensor) in [("v1.2/digests.zt", "a"), ("v1.2/zstd.zt", "noise"), ("v2/zstd_seekable.zt", "")] {
        let record = crate::support::out(&["list", "--json", &fixture(name)]);
        let record: serde_json::Value = serde_json::from_str(&record).unwrap();
        let all = record["tensors"].as_array().unwrap();
        let is_it = |one: &&serde_json::Value| {
            let component = &one["components"][0];
            (tensor.is_empty() || one["name"] == tensor)
                && component["digest"].is_string()
                && component["length"] != 0
        };
        let found = all.iter().find(is_it).unwrap();
        let text = found["components"][0]["digest"].as_str().unwrap();
        let mut bytes = std::fs::read(fixture(name)).unwrap();
        // The last digit of the digest, in the metadata.
        let at = bytes.windows(text.len()).position(|window| window == text.as_bytes()).unwrap() + text.len() - 1;
        bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
        if name.starts_with("v2") {
            let end = bytes.len() - 40;
            let start = u64::from_le_bytes(bytes[end..end + 8].try_into().unwrap()) as usize;
            let hash = xxhash_rust::xxh3::xxh3_64(&bytes[start..end]);
            bytes[end + 16..end + 24].copy_from_slice(&hash.to_le_bytes());
        }
        let folder = Folder::new();
        let file = folder.write("damaged.zt", &bytes);
        let name = found["name"].as_str().unwrap();
        for command in [&["extract", &file, name, "-o", &folder.path("x.npy")][..], &["show", &file, name]] {
            let run = run(command);
            assert!(run.status == 1 && run.err.contains("digest"), "{command:?} {}", run.err);
        }
        assert_eq!(run(&["diff", &file, &file]).status, 1);
        assert_eq!(folder.names(), ["damaged.zt"]);
    }
}

/// Verifying the checksum of a large tensor takes longer than reading a part of it.
#[test]
fn parts_of_large_tensors_are_not_verified_unless_asked_for() {
    let folder = Folder::new();
    let length = (64 << 20) + 1;
    let mut archive = npz(&[("x", &npy("'|u1'", false, &format!("({length},)"), &vec![7; length]), false)]);
    let file = folder.write("a.npz", &archive);
    let part = run(&["show", &file, "--slice", "5:8"]);
    assert_eq!(part.status, 0, "{}", part.err);
    assert!(part.out.ends_with(&format!("7 7 7\n    not verified (3 of {length} bytes read)\n")), "{}", part.out);
    let verified = run(&["show", &file, "--slice", "5:8", "--verify"]);
    assert!(verified.status == 0 && !verified.out.contains("verified"), "{} {}", verified.out, verified.err);
    archive[1 << 20] = 8;
    let file = folder.write("a.npz", &archive);
    assert_eq!(run(&["show", &file, "--slice", "5:8"]).status, 0);
    assert_eq!(run(&["show", &file, "--slice", "5:8", "--verify"]).status, 1);
    assert_eq!(run(&["show", &file, "--verify", "--no-verify"]).status, 2);
}
