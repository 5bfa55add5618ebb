//! Writes the skeleton of a new format: a folder in `src/format` that compiles, and its names in the sources.

use std::error::Error;
use std::fs;
use std::path::Path;

pub const USAGE: &str = "new-format NAME: NAME is the feature, in lower case";

/// The skeleton: `{NAME}` is the feature, `{VARIANT}` the same with a capital, `{MAGIC}` the four bytes of its magic.
const SKELETON: &str = include_str!("new_format/skeleton.txt");

/// The remaining work, in the order in which it is easiest.
const NEXT: &str = "\
next:
  1. src/format/{NAME}/mod.rs: the magic, the header, the tensors. In the table of src/format/mod.rs: the same magic.
     `cargo check --features capi` compiles it.
  2. tests/fixtures/{NAME}, tests/formats/{NAME}.rs: files that real programs wrote, and a test of every field.
  3. `cargo test --features capi --test build` names every other place: the file, and what to add.
  4. `make header`, which adds the code to the C headers, and `make abi-record`. `make lint`.
  5. `make format-check NAME={NAME}`, then `make test`, then `.ci/run`.";

/// Writes the skeleton of the format `name`. Fails, without writing anything, if there is such a format.
pub fn write(root: &Path, name: &str) -> Result<(), Box<dyn Error>> {
    check_name(name)?;
    let folder = root.join("src/format").join(name);
    if folder.exists() {
        return Err(format!("src/format/{name} exists").into());
    }
    let variant = name[..1].to_uppercase() + &name[1..];
    let magic: String = variant.to_uppercase().chars().chain("0000".chars()).take(4).collect();
    let fill = |text: &str| text.replace("{NAME}", name).replace("{VARIANT}", &variant).replace("{MAGIC}", &magic);

    let manifest = edit(root, "Cargo.toml", |text| {
        let (head, rest) = text.split_once("\nformats = [")?;
        let (formats, rest) = rest.split_once(']')?;
        let (before, after) = rest.split_once("# Every checksum that verifying needs.")?;
        Some(format!(
            "{head}\nformats = [{formats}, \"{name}\"]{before}# {variant}.\n{name} = []\n# Every checksum that verifying \
             needs.{after}"
        ))
    })?;
    let table = edit(root, "src/format/mod.rs", |text| {
        let text = add_module(text, name)?;
        let end = text.find("        }\n    };\n}\npub(crate) use formats;")?;
        let line = fill(
            "            \"{NAME}\" {VARIANT} {NAME}::{VARIANT}File [0 b\"{MAGIC}\"]\n                as_{NAME} \"Returns \
             the view specific to {VARIANT}; `None` for a file of another format.\";\n",
        );
        Some([&text[..end], &line, &text[end..]].concat())
    })?;
    let origin = edit(root, "src/error/origin.rs", |text| add_code(text, name, &variant))?;

    fs::create_dir(&folder)?;
    fs::write(folder.join("mod.rs"), fill(SKELETON))?;
    for (path, text) in [manifest, table, origin] {
        fs::write(root.join(path), text)?;
    }
    println!("wrote src/format/{name}/mod.rs, with lines in src/format/mod.rs, src/error/origin.rs and Cargo.toml");
    println!("{}", fill(NEXT));
    Ok(())
}

/// Checks that `name` can be the name of a feature, a module and a function.
fn check_name(name: &str) -> Result<(), String> {
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        && syn::parse_str::<syn::Ident>(name).is_ok();
    let used = ["name", "other", "record", "json_str"]; // files in src/format
    if is_name && !used.contains(&name) { Ok(()) } else { Err(format!("{name:?} cannot be used: {USAGE}")) }
}

/// Returns the path and the changed text of a file.
fn edit<'a>(
    root: &Path,
    path: &'a str,
    change: impl Fn(&str) -> Option<String>,
) -> Result<(&'a str, String), Box<dyn Error>> {
    let text = fs::read_to_string(root.join(path))?;
    let changed = change(&text).ok_or(format!("{path}: the place to change was not found"))?;
    Ok((path, changed))
}

/// Adds the `mod` line, behind the last format whose name is smaller.
fn add_module(text: &str, name: &str) -> Option<String> {
    let mut at = 0;
    let mut place = text.find("#[cfg(feature = ")?;
    for line in text.split_inclusive('\n') {
        at += line.len();
        let module = line.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(";\n"));
        if module.is_some_and(|module| module < name) {
            place = at;
        }
    }
    let (before, after) = text.split_at_checked(place)?;
    Some(format!("{before}#[cfg(feature = \"{name}\")]\npub mod {name};\n{after}"))
}

/// Adds the variant of the enum `Format`, with the next code.
fn add_code(text: &str, name: &str, variant: &str) -> Option<String> {
    let (head, rest) = text.split_once("    Format: u8 {\n")?;
    let (list, rest) = rest.split_once("    }\n")?;
    let codes = list.lines().filter_map(|line| line.split(" = ").nth(1)?.split(',').next()?.parse::<u8>().ok());
    let next = codes.max()?.checked_add(1)?;
    Some(format!("{head}    Format: u8 {{\n{list}        {variant} = {next}, \"{name}\";\n    }}\n{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert!(check_name("tflite").is_ok() && check_name("zt3").is_ok());
        for name in ["", "3d", "TFLite", "a-b", "a_b", "é", "mod", "record"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn modules_stay_sorted() {
        let text =
            "#[cfg(feature = \"b\")]\npub mod b;\nmod name;\n#[cfg(feature = \"tens\")]\npub mod tens;\n\nuse b;\n";
        let line = |name: &str| format!("#[cfg(feature = \"{name}\")]\npub mod {name};\n");
        assert_eq!(add_module(text, "toy"), Some(text.replace("\nuse", &format!("{}\nuse", line("toy")))));
        assert_eq!(add_module(text, "sav"), Some(text.replace("mod name", &format!("{}mod name", line("sav")))));
        assert_eq!(add_module(text, "a"), Some(line("a") + text));
    }

    #[test]
    fn codes_continue() {
        let text = "pinned! {\n    Format: u8 {\n        Npy = 7, \"npy\";\n        Zip = 9, \"zip\";\n    }\n}\n";
        let expected = text.replace("\"zip\";\n", "\"zip\";\n        Toy = 10, \"toy\";\n");
        assert_eq!(add_code(text, "toy", "Toy"), Some(expected));
    }
}
