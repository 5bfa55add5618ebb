use std::fs;
use std::path::Path;

use crate::support::{Folder, fixture, out, run};

const FORMATS: [&str; 9] = ["safetensors", "gguf", "ztensor-2", "ztensor-1.2", "npy", "npz", "tens", "blz", "b2nd"];

/// The rows of a table, without the titles: the last five words.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let words = |line| str::split_whitespace(line).collect::<Vec<_>>();
    let last = |words: Vec<_>| words[words.len() - 5..].to_vec();
    text.lines().skip(1).map(|line| last(words(line))).collect()
}

#[test]
fn the_table_adds_up() {
    let text = out(&["footprint", &fixture("safetensors/py_tiny_mlp.safetensors"), "--chip", "m0"]);
    assert!(text.contains("  arrays, by embed ") && text.contains("  a file, safetensors "), "{text}");
    let rows = rows(&text);
    assert_eq!(rows.len(), 2, "{text}");
    for row in rows {
        let number = |column: usize| row[column].parse::<u64>().unwrap();
        assert_eq!(number(0) + number(1), number(2), "{text}");
        assert_eq!(number(1) > 0, number(4) > 0, "{text}");
    }
}

/// The weights are as long as what `embed` and `convert` write.
#[test]
fn weights_are_those_of_the_other_commands() {
    let folder = Folder::new();
    for name in [
        "safetensors/py_tiny_mlp.safetensors",
        "gguf-blocks/q4_k.gguf",
        "v1.2/zstd.zt",
        "b2nd/good/many_tiny_chunks_0.b2nd",
    ] {
        let model = fixture(name);
        let embed = run(&["embed", &model, "-o", &folder.path("w.S"), "--max-bytes", "1"]);
        for format in FORMATS {
            let path = folder.path(format);
            let converted = run(&["convert", &model, "-o", &path, "--format", format, "--force"]);
            let measured = run(&["footprint", &model, "--formats", format]);
            assert_eq!(measured.status, converted.status, "{name} {format}: {}", measured.err);
            if converted.status == 0 {
                let rows = rows(&measured.out);
                assert!(
                    embed.err.contains(&format!("the arrays take {} bytes", rows[0][0])),
                    "{name}: {}",
                    embed.err
                );
                assert_eq!(rows[1][0], fs::metadata(&path).unwrap().len().to_string(), "{name} {format}");
            }
        }
    }
}

#[test]
fn formats_by_default() {
    let text = |name: &str| out(&["footprint", &fixture(name)]);
    assert!(text("gguf-blocks/q4_k.gguf").contains("a file, gguf"));
    assert!(text("v0.1/big_endian.zt").contains("a file, ztensor-1.2"));
    let both =
        out(&["footprint", &fixture("gguf-blocks/q4_k.gguf"), "--formats", "gguf,ztensor-2", "--chip", "rv32"]);
    assert_eq!(both.lines().count(), 4, "{both}");
    assert_eq!(run(&["footprint", &fixture("gguf-blocks/q4_k.gguf"), "--chip", "z80"]).status, 2);
}

/// The figures of the tool are those that `make size` checks. `TENSLICE_UPDATE=1` writes them again.
#[test]
fn sizes_are_the_limits() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // limits.txt has the stack for these files, which contain tensors of all kinds that the format has.
    let models = [
        ("ztensor", "digits-zt"),
        ("ztensor2", "digits2-zt"),
        ("safetensors", "digits-safetensors"),
        ("gguf", "digits-gguf"),
        ("tens", "digits-tens"),
        ("b2nd", "nd02_lz4_0-b2nd"),
    ];
    let limits = fs::read_to_string(root.join("../examples/firmware/limits.txt")).unwrap();
    let limit = |row: &str| {
        let mut lines = limits.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(name, _)| *name == row).map(|(_, number)| number.trim().parse::<u64>().unwrap())
    };
    let mut sizes = Vec::new();
    for chip in ["m4", "m0", "rv32"] {
        for feature in ["safetensors", "gguf", "ztensor2", "ztensor", "npy", "npz", "tens", "blz", "b2nd"] {
            let of = |what: &str| limit(&format!("{chip}.{feature}.{what}")).unwrap();
            let model = models.iter().find(|(of, _)| *of == feature).map(|(_, model)| *model);
            let stack = model.and_then(|model| {
                ["open", "find", "read"]
                    .into_iter()
                    .map(|call| limit(&format!("{chip}.{model}.{call}.stack")))
                    .max()?
            });
            assert_eq!(stack.is_some(), model.is_some(), "{chip} {feature}");
            let (code, ram) = (of("flash"), of("ram"));
            sizes.push(format!("    size(\"{chip}\", \"{feature}\", {code}, {ram}, {stack:?}),\n"));
        }
    }
    let path = root.join("src/commands/footprint/sizes.rs");
    let text = fs::read_to_string(&path).unwrap();
    let (head, _) = text.split_once("pub const SIZES").unwrap();
    let expected = format!("{head}pub const SIZES: [Size; {}] = [\n{}];\n", sizes.len(), sizes.concat());
    if std::env::var_os("TENSLICE_UPDATE").is_some() {
        fs::write(&path, expected).unwrap();
    } else {
        assert!(text == expected, "TENSLICE_UPDATE=1 cargo test -p tenslice-cli sizes_are_the_limits");
    }
}
