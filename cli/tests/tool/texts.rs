//! Single values of the metadata, and tokens.

use serde_json::Value;

use crate::support::{Folder, fixture, out, run};

/// A safetensors file without tensors, and with these texts.
fn with_texts(folder: &Folder, texts: &[(&str, &str)]) -> String {
    let pairs: Vec<String> =
        texts.iter().map(|(key, text)| format!("{}:{}", Value::from(*key), Value::from(*text))).collect();
    let header = format!(r#"{{"__metadata__":{{{}}}}}"#, pairs.join(","));
    folder.write("t.safetensors", &[&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat())
}

#[test]
fn a_value_is_printed_as_it_is() {
    let folder = Folder::new();
    let template = "{% for m in messages %}\n\t\"{{ m }}\"\u{1b}[0m\n";
    let file = with_texts(
        &folder,
        &[("tokenizer.chat_template", template), ("ss_tag_frequency", r#"{"a": 1}"#), ("ss_seed", "7")],
    );
    assert_eq!(out(&["list", &file, "--metadata", "tokenizer.chat_template"]), format!("{template}\n"));
    assert_eq!(out(&["list", &file, "--metadata", "chat_template"]), format!("{template}\n"));
    assert_eq!(out(&["list", &file, "--metadata", "ss_tag*"]), "{\"a\": 1}\n");
    let several = run(&["list", &file, "--metadata", "ss_*"]);
    assert!(several.status == 1 && several.err.contains("name one of ss_tag_frequency, ss_seed"), "{}", several.err);
    let mistyped = run(&["list", &file, "--metadata", "ss_sed"]);
    assert!(mistyped.status == 1 && mistyped.err.contains("did you mean ss_seed?"), "{}", mistyped.err);
    let record: Value = serde_json::from_str(&out(&["list", "--json", &file, "--metadata", "ss_seed"])).unwrap();
    assert_eq!((&record["key"], &record["value"]), (&"ss_seed".into(), &"7".into()));
    // Lists: one item a line. Numbers as they are.
    let gguf = fixture("gguf/c_writer.gguf");
    assert_eq!(out(&["list", &gguf, "--metadata", "a.str"]), "alpha\n\ngamma\n");
    assert_eq!(out(&["list", &gguf, "--metadata", "k.f32"]), "0.1\n");
}

#[test]
fn tokens_are_found() {
    let file = fixture("gguf/vocab_601.gguf");
    let all: Value = serde_json::from_str(&out(&["list", "--json", "--tokens", "*", &file])).unwrap();
    let all = all["tokens"].as_array().unwrap();
    assert!(all.len() >= 601, "{}", all.len());
    let text = all[600]["text"].as_str().unwrap();
    let found = out(&["list", "--tokens", &format!("/^{text}$/"), &file]);
    assert!(found.contains("  token  ") && found.contains(&format!("\"{text}\"")), "{found}");
    assert_eq!(out(&["list", "--tokens", "no such token", &file]), "  no token matches\n");
    let none = run(&["list", "--tokens", "a", &fixture("gguf/rank2.gguf")]);
    assert!(none.status == 1 && none.err.contains("no vocabulary"), "{}", none.err);
}

/// Floats of 32 bits have the digits of 32 bits, and known numbers have names.
#[test]
fn numbers_are_named_and_short() {
    let folder = Folder::new();
    let file = folder.path("m.gguf");
    std::fs::copy(fixture("gguf-blocks/q4_k.gguf"), &file).unwrap();
    out(&["set", &file, "blocks.pooling_type=3", "blocks.eps=0.00001"]);
    out(&["set", &file, "--type", "f32", "blocks.scale=0.1"]);
    let text = out(&["list", &file]);
    assert!(text.contains("blocks.pooling_type: 3 (last)\n") && text.contains("blocks.scale: 0.1\n"), "{text}");
}
