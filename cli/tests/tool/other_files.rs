//! Messages for files that are not tensor files, and for JSON that is not an index.

use crate::support::{Folder, npy, out, run, run_with};

/// The message for a file that is refused.
fn refusal(file: &str) -> String {
    let run = run(&["list", file]);
    assert_eq!((run.status, run.out.as_str()), (1, ""), "{}", run.err);
    run.err
}

#[test]
fn they_are_named() {
    let folder = Folder::new();
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n";
    for (name, bytes, says) in [
        ("a.safetensors", &pointer[..], "git lfs pull"),
        ("b.gguf", b"<!doctype html><html>", "web page (HTML)"),
        ("c.gguf", b"", "the file is empty"),
        ("d.gguf", &[0; 4096], "only zeros: all of its 4096 bytes are 0"),
        ("e.npy", b"\x80\x04\x95\x0a\0\0\0\0\0\0\0}\x94\x8c\x01a\x94K\x01s.", "pickle of Python (protocol 4)"),
        ("f.bin", b"tjgg\x03\0\0\0\0\x7d\0\0", "GGJT version 3"),
    ] {
        let file = folder.write(name, bytes);
        let message = refusal(&file);
        assert!(message.contains(says), "{message}");
        for command in ["verify", "show", "layout"] {
            let run = run(&[command, &file]);
            assert!(run.status == 1 && run.err.contains(says), "{command}: {}", run.err);
        }
    }
}

#[test]
fn json_is_an_index_only_with_a_weight_map() {
    let folder = Folder::new();
    let neither = "begins like JSON, and has no \"weight_map\": it is neither a tensor file nor the index of a model";
    for (name, text) in [
        ("config.json", r#"{"architectures": ["LlamaForCausalLM"], "hidden_size": 4096}"#),
        ("tokenizer.json", r#"{"version": "1.0", "model": {"vocab": {"#),
        ("model.safetensors.index.json", r#"{"metadata": {"total_size": 24}}"#),
    ] {
        let message = refusal(&folder.write(name, text.as_bytes()));
        assert!(message.contains(neither) && !message.contains("safetensors index:"), "{message}");
    }
    // The word alone does not make an index. A damaged text that has the key is a damaged index.
    let message = refusal(&folder.write("word.json", br#"{"a": "weight_map", "b": {"weight_map": 1}}"#));
    assert!(message.contains("begins like JSON"), "{message}");
    let message = refusal(&folder.write("cut.index.json", br#"{"weight_map": {"a": "1.safetensors""#));
    assert!(message.contains("safetensors index: ") && message.contains("it is truncated"), "{message}");
    let run = run_with(&["list", "-"], br#"{"hidden_size": 4096}"#);
    assert!(run.status == 1 && run.err.contains(neither), "{}", run.err);
}

/// Each call of np.save on an open file appends an array. A reader returns the first one.
#[test]
fn several_arrays_in_one_file() {
    let folder = Folder::new();
    let array = npy("'<f4'", false, "(2,)", &[0; 8]);
    let end = array.len();
    for (count, says) in [(2, "1 more array follows"), (4, "3 more arrays follow")] {
        let file = folder.write("a.npy", &array.repeat(count));
        let text = out(&["list", &file]);
        assert!(text.contains(&format!("the first array ends at byte {end}, and {says}")), "{text}");
    }
    let file = folder.write("b.npy", &[&array[..], b"\x93NUMPY is not one"].concat());
    assert!(!out(&["list", &file]).contains("more array"));
    let file = folder.write("c.npy", &[&array[..], b"other bytes"].concat());
    assert!(!out(&["list", &file]).contains("follow, "));
}
