//! Runs the commands that write files under a limit on the file size: a write fails after a part of the file has been
//! written, as on a full disk.

use std::fs;
use std::process::Command;

use crate::support::{Folder, fixture};

/// Every command that writes files. `model` is a safetensors file.
const COMMANDS: [&[&str]; 10] = [
    &["convert", "model", "-o", "there.gguf", "--force"],
    &["convert", "model", "-o", "new.npz"],
    &["convert", "model", "-o", "new.zt"],
    &["quantize", "model", "-o", "new.gguf", "--to", "q8_0"],
    &["repack", "model", "-o", "new.safetensors", "--align", "4096"],
    &["split", "model", "-o", "new.safetensors", "--shard-tensors", "1"],
    &["merge", "model", "-o", "new.safetensors"],
    &["extract", "model", "model.layers.0.mlp.gate_proj.weight", "-o", "new.npy"],
    &["embed", "model", "-o", "new.c"],
    &["set", "model", "key=value"],
];

/// The contents of the folder: names with bytes.
fn contents(folder: &Folder) -> Vec<(String, Vec<u8>)> {
    folder.names().into_iter().map(|name| (name.clone(), fs::read(folder.path(&name)).unwrap())).collect()
}

/// A command under a limit either succeeds, or says that it cannot write and leaves the folder as it was.
#[test]
fn nothing_is_half_written() {
    for command in COMMANDS {
        let (mut accepted, mut refused) = (0, 0);
        for limit in [0, 1, 2, 3, 4, 8, 16, 24, 32, 48, 64, 128, 256, 1024, 4096] {
            let folder = Folder::new();
            fs::copy(fixture("safetensors/py_transformer.safetensors"), folder.path("model")).unwrap();
            folder.write("there.gguf", b"kept");
            let before = contents(&folder);
            // In blocks of 512 bytes. By default, a write beyond the limit ends a program by a signal.
            let script = format!("ulimit -f {limit} && exec \"$@\"");
            let mut tool = Command::new("sh");
            tool.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_tenslice")]).args(command);
            let run = tool.current_dir(folder.as_path()).output().unwrap();
            let text = String::from_utf8(run.stderr).unwrap();
            let context = format!("{command:?} with {limit} blocks: {text}");
            if run.status.success() {
                assert!(contents(&folder) != before, "{context}");
                accepted += 1;
                continue;
            }
            assert_eq!(run.status.code(), Some(1), "{context}");
            assert!(text.contains("cannot write ") && text.contains("File too large"), "{context}");
            assert!(contents(&folder) == before, "{context}: {:?}", folder.names());
            refused += 1;
        }
        assert!(accepted > 0 && refused > 0, "{command:?}: {accepted} succeeded, {refused} failed");
    }
}
