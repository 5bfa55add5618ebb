use crate::support::{Folder, fixture, out, run};

#[test]
fn files_that_are_as_they_should_be() {
    let text = out(&["verify", &fixture("v1.2/digests.zt"), &fixture("npz/deflated.npz")]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].ends_with("digests.zt: ok (6 tensors, 338 bytes, 6 checksums verified)"), "{text}");
    assert!(lines[1].contains("deflated.npz: ok (") && lines[1].contains("checksums verified)"), "{text}");
    let text = out(&["verify", &fixture("npy/dt_le_f4.npy")]);
    assert!(text.ends_with("nothing to verify: no checksums)\n"), "{text}");
    assert_eq!(out(&["verify", "--quiet", &fixture("v1.2/digests.zt")]), "");
}

#[test]
fn all_that_is_wrong_is_said_by_any_number_of_threads() {
    let folder = Folder::new();
    let mut bytes = std::fs::read(fixture("v1.2/digests.zt")).unwrap();
    for at in [64, 256, 640] {
        bytes[at] ^= 1; // a, b, c.sha
    }
    let damaged = folder.write("damaged.zt", &bytes);
    let runs = ["1", "2", "16"].map(|jobs| run(&["verify", "--jobs", jobs, &damaged]));
    for run in &runs {
        let lines: Vec<&str> = run.err.lines().collect();
        assert_eq!((run.status, run.out.as_str(), lines.len()), (1, "", 4), "{}", run.err);
        let (advice, errors) = lines.split_last().unwrap();
        assert!(errors.iter().all(|line| line.contains("damaged.zt: ") && line.contains("digest")), "{}", run.err);
        assert!(advice.starts_with("  download or copy the file again: "), "{}", run.err);
    }
    assert!(runs[0].err == runs[1].err && runs[0].err == runs[2].err);
    assert_eq!(run(&["verify", "--jobs", "0", &damaged]).status, 2);
}

#[test]
fn what_decodes_to_too_much_is_refused() {
    let folder = Folder::new();
    let [npy, assembly] = ["x.npy", "x.S"].map(|name| folder.path(name));
    // The stated shape and length of the last tensor, 400 000 bytes in Zstandard, are changed to 2 GiB.
    let mut zstd = std::fs::read(fixture("v1.2/zstd.zt")).unwrap();
    for at in [0x9a0, 0x9f4] {
        assert_eq!(zstd[at..at + 4], 400_000_u32.to_be_bytes());
        zstd[at..at + 4].copy_from_slice(&(1_u32 << 31).to_be_bytes());
    }
    let zstd = folder.write("zstd.zt", &zstd);
    for command in [
        &["list", "--digest", &zstd][..],
        &["verify", &zstd],
        &["explain", "--digest", &zstd],
        &["extract", &zstd, "sparse_bytes", "-o", &npy],
    ] {
        let run = run(command);
        assert_eq!(run.status, 1, "{command:?}");
        assert!(run.err.contains("--no-limit"), "{command:?} {}", run.err);
    }
    for bomb in ["b2nd/bad/bomb_2gib_zeros_0.b2nd", "b2nd/bad/bomb_nchunks_0.b2nd"].map(fixture) {
        for command in [
            &["list", "--digest", &bomb][..],
            &["verify", &bomb],
            &["explain", "--digest", &bomb],
            &["extract", &bomb, "-o", &npy],
            &["embed", &bomb, "-o", &assembly],
        ] {
            let run = run(command);
            assert_eq!(run.status, 1, "{command:?}");
            assert!(run.err.contains("--no-limit"), "{command:?} {}", run.err);
        }
        let shown = run(&["show", &bomb]);
        assert!(shown.status == 1 && shown.err.contains("--no-limit"), "{} {}", shown.out, shown.err);
    }
}

/// Sparse tensors whose values have an unknown size: two bytes for one pair of indices.
#[test]
fn values_of_an_unknown_type_are_not_wrong() {
    let folder = Folder::new();
    let manifest = b"\xa2\x67version\x651.2.0\x67objects\xa1\x61t\xa3\x65shape\x82\x03\x03\x66format\x6asparse_coo\
        \x6acomponents\xa2\x66coords\xa3\x65dtype\x63u64\x66offset\x18\x40\x66length\x10\
        \x66values\xa4\x65dtype\x62u8\x64type\x66future\x66offset\x18\x80\x66length\x02";
    let mut old = b"ZTEN1000".to_vec();
    old.resize(192, 0);
    old.extend(manifest);
    old.extend((manifest.len() as u64).to_le_bytes());
    old.extend(b"ZTEN1000");
    let manifest =
        b"\xa1\x67objects\xa1\x61t\xa3\x65parts\xa2\x66coords\xa2\x64blob\x82\x19\x10\0\x08\x65dtype\x63u32\
        \x66values\xa3\x64blob\x82\x19\x20\0\x02\x64type\x66future\x65dtype\x62u8\
        \x65shape\x82\x03\x03\x66layout\x6fzt.sparse_coo/1";
    let mut new = b"\x89ZT2\r\n\x1a\n".to_vec();
    new.resize(3 * 4096, 0);
    new.extend(manifest);
    for number in [3 * 4096, manifest.len() as u64, xxhash_rust::xxh3::xxh3_64(manifest), 2] {
        new.extend(number.to_le_bytes());
    }
    new.extend(b"\x89ZT2\r\n\x1a\n");
    for file in [folder.write("old.zt", &old), folder.write("new.zt", &new)] {
        let text = out(&["verify", &file]);
        assert!(text.contains(": ok (1 tensor, "), "{text}");
        let text = out(&["list", "--json", "--digest", &file]);
        assert!(text.contains("logical type is unknown"), "{text}");
    }
    // Without the unknown type, there are too many values.
    let at = old.windows(4).position(|window| window == b"type").unwrap();
    old[at..at + 4].copy_from_slice(b"kind");
    assert_eq!(run(&["verify", &folder.write("wrong.zt", &old)]).status, 1);
}
