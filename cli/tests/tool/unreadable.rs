//! A tensor that cannot be read does not hide the others.

use serde_json::Value;

use crate::support::{Folder, fixture, npy, npz, out, run};

/// Files with an unreadable tensor, the name of a readable one, and a word of the message about the unreadable one.
fn files(folder: &Folder) -> Vec<(String, &'static str, &'static str)> {
    let good = npy("'<f4'", false, "(2,)", &[0; 8]);
    let array = |bytes: &[u8]| folder_file(folder, &npz(&[("bad", bytes, false), ("good", &good, false)]));
    vec![
        (fixture("gguf/quirks/type_139_of_a_fork.gguf"), "n", "139"),
        (fixture("npz/quirks/object_among_arrays.npz"), "x", "|O"),
        (array(&npy("'<f1'", false, "(2,)", &[0; 2])), "good", "<f1"),
        (array(&npy("'<f4'", false, "(3,)", &[0; 8])), "good", "longer than its entry"),
        (array(b"no array"), "good", "bad"),
    ]
}

fn folder_file(folder: &Folder, bytes: &[u8]) -> String {
    folder.write(&format!("{}.npz", folder.names().len()), bytes)
}

#[test]
fn the_others_are_read() {
    let folder = Folder::new();
    for (file, good, says) in files(&folder) {
        let text = out(&["list", &file]);
        assert!(text.contains("warning:") && text.contains(says), "{text}");
        let record: Value = serde_json::from_str(&out(&["list", "--json", &file])).unwrap();
        let (tensors, problems) = (record["tensors"].as_array().unwrap(), record["problems"].as_array().unwrap());
        assert_eq!((tensors.len(), problems.len()), (2, 1), "{file}");
        assert_eq!(record["warnings"][0]["kind"], "UnreadableTensor", "{file}");
        let bad = problems[0]["tensor"].as_str().unwrap();
        assert!(problems[0]["message"].as_str().unwrap().contains(says), "{file}");
        let array = folder.path("x.npy");
        assert_eq!(run(&["show", &file, good]).status, 0, "{file}");
        out(&["extract", &file, good, "-o", &array, "--force"]);
        let names = folder.names();
        for command in [
            &["verify", &file][..],
            &["list", "--digest", &file],
            &["show", &file, bad],
            &["extract", &file, bad, "-o", &folder.path("y.npy")],
            &["embed", &file, "-o", &folder.path("y.S")],
        ] {
            let run = run(command);
            assert_eq!(run.status, 1, "{command:?}");
            assert!(run.err.contains(says), "{command:?}: {}", run.err);
        }
        assert_eq!(folder.names(), names);
        let explained = run(&["explain", &file]);
        assert!(explained.status == 1 && explained.out.contains(says), "{}", explained.out);
        let compared = run(&["diff", &file, &file]);
        assert!(compared.out.ends_with("1 tensor the same, 0 differ, 1 not compared\n"), "{}", compared.out);
        let digests = run(&["list", "--digest", "--json", &file]);
        let record: Value = serde_json::from_str(&digests.out).unwrap();
        assert_eq!(
            record["error"],
            serde_json::json!({
                "kind": problems[0]["kind"],
                "message": problems[0]["message"],
                "offset": record["error"]["offset"],
            })
        );
        assert_eq!((digests.status, record["tensors"].as_array().unwrap().len()), (1, 2));
    }
}

/// A lazy expression has neither values nor checksums.
#[test]
fn arrays_without_values_are_never_ok() {
    let folder = Folder::new();
    for name in ["lazyexpr", "lazyudf", "lazyarray", "c2array", "proxy_none", "proxy_part"] {
        let file = fixture(&format!("b2nd/no_values/{name}.b2nd"));
        assert!(out(&["list", &file]).contains("b2nd."), "{name}");
        for command in [
            &["verify", &file][..],
            &["show", &file],
            &["extract", &file, "-o", &folder.path("y.npy")],
            &["embed", &file, "-o", &folder.path("y.S")],
            &["diff", &file, &file],
        ] {
            let run = run(command);
            assert_eq!(run.status, 1, "{command:?}");
            assert!((run.err + &run.out).contains("the values are not in this file"), "{command:?}");
        }
        assert_eq!(folder.names().len(), 0);
    }
}
