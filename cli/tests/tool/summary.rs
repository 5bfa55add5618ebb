//! The first lines of a list: the kind of file, if it is complete, its size, its types; and the forms of the table.

use serde_json::Value;

use crate::support::{Folder, fixture, npy, npz, out, run};

/// A safetensors file with tensors of bytes, in the given order. The first number of a shape is the number of bytes.
fn safetensors(metadata: &str, tensors: &[(&str, &str, &str)]) -> Vec<u8> {
    let mut entries = vec![format!(r#""__metadata__":{metadata}"#)];
    let mut end = 0;
    for (name, dtype, shape) in tensors {
        let elements: usize = shape.split(',').map(|length| length.trim().parse::<usize>().unwrap()).product();
        let start = end;
        end += elements * if *dtype == "F32" { 4 } else { 1 };
        entries.push(format!(r#""{name}":{{"dtype":"{dtype}","shape":[{shape}],"data_offsets":[{start},{end}]}}"#));
    }
    let header = format!("{{{}}}", entries.join(","));
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![0; end]].concat()
}

/// The text of a line of the summary.
fn line<'t>(text: &'t str, label: &str) -> &'t str {
    let found = text.lines().find_map(|line| line.strip_prefix(&format!("  {label:<12} ")));
    found.unwrap_or_else(|| panic!("{label}: {text}"))
}

/// The cells of the column `name`.
fn names(text: &str) -> Vec<&str> {
    let rows = text.lines().skip_while(|line| !line.starts_with("  name")).skip(1);
    rows.filter_map(|row| row.split_whitespace().next()).collect()
}

fn layers(folder: &Folder) -> String {
    let mut tensors = vec![("embed.weight".to_owned(), "F32", "8, 4")];
    for layer in [0, 10, 2, 1] {
        tensors.push((format!("model.layers.{layer}.attn.q_proj.weight"), "F32", "4, 4"));
        tensors.push((format!("model.layers.{layer}.norm.weight"), "U8", "4"));
    }
    let tensors: Vec<_> = tensors.iter().map(|(name, dtype, shape)| (&**name, *dtype, *shape)).collect();
    folder.write("layers.safetensors", &safetensors("{}", &tensors))
}

#[test]
fn the_first_lines_say_what_it_is() {
    let folder = Folder::new();
    let file = layers(&folder);
    let text = out(&["list", &file]);
    assert!(
        text.lines()
            .next()
            .unwrap()
            .ends_with("safetensors, 9 tensors, 112 parameters, 400 bytes stored, file 1.2 KiB"),
        "{text}"
    );
    assert_eq!(line(&text, "complete"), "yes");
    assert_eq!(line(&text, "parameters"), "112, 28.57 bits each");
    assert_eq!(line(&text, "dtypes"), "f32 (85.7 %, 5 tensors), u8 (14.3 %, 4 tensors)");
    assert_eq!(line(&text, "checksums"), "none: nothing to verify");
    let record: Value = serde_json::from_str(&out(&["list", "--json", &file])).unwrap();
    let summary = &record["summary"];
    assert_eq!(
        (&summary["parameters"], &summary["bytes"], &summary["complete"]),
        (&112.into(), &400.into(), &true.into())
    );
    assert_eq!(summary["file_bytes"], std::fs::metadata(&file).unwrap().len());
    assert_eq!((&summary["stated_tensors"], &summary["stated_bytes"]), (&Value::Null, &Value::Null));
    assert_eq!((&summary["dtypes"][0]["dtype"], &summary["dtypes"][0]["tensors"]), (&"f32".into(), &5.into()));
    // Arrays have elements, not parameters.
    let text = out(&["list", &fixture("npz/stored.npz")]);
    assert!(text.contains("npz, 2 tensors, 30 elements, 120 bytes stored"), "{text}");
    assert_eq!(line(&text, "checksums"), "2 crc32 (see verify)");
    assert_eq!(line(&out(&["list", &fixture("npz/deflated.npz")]), "checksums"), "2 crc32 (see verify)");
    assert_eq!(line(&out(&["list", &fixture("v1.2/digests.zt")]), "checksums"), "3 crc32c, 3 sha256 (see verify)");
}

/// The names that GGUF files and trainers of adapters state, and quantizations that only the names of tensors show.
#[test]
fn models_are_named() {
    let folder = Folder::new();
    let file = folder.path("m.gguf");
    std::fs::copy(fixture("gguf-blocks/q4_k.gguf"), &file).unwrap();
    out(&["set", &file, "general.name=Tiny", "general.file_type=15"]);
    let text = out(&["list", &file]);
    assert_eq!(line(&text, "model"), "blocks, \"Tiny\"");
    assert_eq!((line(&text, "quantization"), line(&text, "dtypes")), ("Q4_K_M", "q4_k (3 tensors)"));
    assert!(text.contains("    general.file_type: 15 (Q4_K_M)\n"), "{text}");
    let metadata = r#"{"ss_base_model_version":"sdxl_base_v1-0","ss_output_name":"style"}"#;
    let file = folder.write("lora.safetensors", &safetensors(metadata, &[("a.qweight", "U8", "8")]));
    let text = out(&["list", &file]);
    assert_eq!(line(&text, "model"), "sdxl_base_v1-0, \"style\"");
    assert!(line(&text, "quantization").starts_with("GPTQ or AWQ"), "{text}");
}

#[test]
fn files_that_are_missing_are_in_the_first_lines() {
    let folder = Folder::new();
    std::fs::copy(fixture("safetensors/rs_sharded-00001-of-00002.safetensors"), folder.path("1.safetensors"))
        .unwrap();
    let index = br#"{"weight_map":{"enc.b":"1.safetensors","enc.w":"1.safetensors","dec.w":"2.safetensors"}}"#;
    let index = folder.write("model.safetensors.index.json", index);
    let text = out(&["list", &index]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1], "  complete     NO: 1 missing file");
    assert!(lines[2].starts_with("  warning: 2.safetensors: the file is missing"), "{text}");
    assert_eq!(line(&text, "files"), "1 of 2");
    let record: Value = serde_json::from_str(&out(&["list", "--json", &index])).unwrap();
    assert_eq!(record["summary"]["complete"], false);
    assert!(lines[2].ends_with(", and with it 1 tensor of the index; download it into this folder"), "{text}");
    assert!(lines[0].ends_with(": safetensors index, 2 of 3 tensors, 8 parameters, 32 bytes stored, file 192 bytes"));
    // One table, with the file of each tensor.
    assert!(
        text.contains("  name   dtype  shape   size  file\n  enc.b  f32    [2]      8 B  1.safetensors\n"),
        "{text}"
    );
}

/// An index states the number and the size of the tensors, also of those whose files are missing.
#[test]
fn a_remainder_is_compared_with_the_whole() {
    let folder = Folder::new();
    let [index, first, second] =
        [".safetensors.index.json", "-00001-of-00002.safetensors", "-00002-of-00002.safetensors"];
    let place = |name: &str| folder.path(&format!("rs_sharded{name}"));
    let copy = |name: &str| std::fs::copy(fixture(&format!("safetensors/rs_sharded{name}")), place(name)).unwrap();
    let listed = || out(&["list", &place(index)]);
    let head = |text: &str| text.lines().next().unwrap().rsplit_once(": ").unwrap().1.to_owned();
    copy(index);
    let text = listed();
    assert_eq!(head(&text), "safetensors index, 0 of 3 tensors, 0 parameters, 0 bytes of 56 bytes stored");
    assert_eq!((line(&text, "complete"), line(&text, "files")), ("NO: 2 missing files", "0 of 2"));
    copy(first);
    let expected = "safetensors index, 2 of 3 tensors, 8 parameters, 32 bytes of 56 bytes stored, file 192 bytes";
    assert_eq!(head(&listed()), expected);
    let record: Value = serde_json::from_str(&out(&["list", "--json", &place(index)])).unwrap();
    let summary = ["tensors", "stated_tensors", "bytes", "stated_bytes", "file_bytes"];
    assert_eq!(summary.map(|field| record["summary"][field].as_u64()), [2, 3, 32, 56, 192].map(Some));
    copy(second);
    assert_eq!(head(&listed()), "safetensors index, 3 tensors, 14 parameters, 56 bytes stored, files 320 bytes");
}

/// Nothing in a safetensors file says that it is a part of a model. Its name and an index next to it do.
#[test]
fn a_shard_alone_is_not_complete() {
    let folder = Folder::new();
    let bytes = safetensors("{}", &[("a", "U8", "8")]);
    let shard = folder.write("m-00001-of-00003.safetensors", &bytes);
    let complete = |file: &str| line(&out(&["list", file]), "complete").to_owned();
    let of_index = |name: &str| {
        folder
            .write(name, br#"{"weight_map":{"a":"m-00001-of-00003.safetensors","b":"m-00002-of-00003.safetensors"}}"#)
    };
    assert_eq!(complete(&shard), "unknown: by its name part 1 of 3");
    folder.write("a.safetensors.index.json", br#"{"weight_map":{"a":"other.safetensors"}}"#);
    assert_eq!(complete(&shard), "unknown: by its name part 1 of 3");
    of_index("m.safetensors.index.json");
    assert_eq!(complete(&shard), "unknown: by its name part 1 of 3; the model is m.safetensors.index.json");
    let record: Value = serde_json::from_str(&out(&["list", "--json", &shard])).unwrap();
    assert_eq!(record["summary"]["complete"], Value::Null);
    for name in ["m.safetensors", "m-00001-of-00001.safetensors", "m-1-of-3.safetensors"] {
        assert_eq!(complete(&folder.write(name, &bytes)), "yes", "{name}");
    }
}

/// A narrow table cuts the files of the tensors before their names.
#[test]
fn files_leave_room_for_names() {
    let folder = Folder::new();
    let names = [1, 2].map(|part| format!("model-0000{part}-of-00002.safetensors"));
    let tensors = ["gate", "up"].map(|name| format!("model.layers.0.mlp.{name}_proj.weight"));
    for (file, tensor) in names.iter().zip(&tensors) {
        folder.write(file, &safetensors("{}", &[(tensor, "U8", "8")]));
    }
    let [(a, b), (c, d)] = [(&tensors[0], &names[0]), (&tensors[1], &names[1])];
    let index = format!(r#"{{"weight_map":{{"{a}":"{b}","{c}":"{d}"}}}}"#);
    let index = folder.write("model.safetensors.index.json", index.as_bytes());
    let text = out(&["list", "--width", "80", &index]);
    let rows: Vec<Vec<&str>> = text.lines().rev().take(2).map(|row| row.split_whitespace().collect()).collect();
    assert_eq!((rows[1][0], rows[0][0]), (&*tensors[0], &*tensors[1]));
    assert_eq!(
        (rows[1].last(), rows[0].last()),
        (Some(&"…-00001-of-…fetensors"), Some(&"…-00002-of-…fetensors")),
        "{text}"
    );
}

#[test]
fn tensors_are_chosen_and_sorted() {
    let folder = Folder::new();
    let file = layers(&folder);
    let listed = |options: &[&str]| {
        let text = out(&[&["list", &file], options].concat());
        names(&text).into_iter().map(String::from).collect::<Vec<_>>()
    };
    let norms = ["0", "10", "2", "1"].map(|layer| format!("model.layers.{layer}.norm.weight"));
    assert_eq!(listed(&["--filter", "norm"]), norms);
    assert_eq!(listed(&["--filter", "*.norm.*"]), norms);
    assert_eq!(listed(&["--filter", r"/layers\.[12]\.norm/"]), norms[2..]);
    assert_eq!(listed(&["--filter", "norm", "--filter", "embed"]).len(), 5);
    let sorted = ["0", "1", "2", "10"].map(|layer| format!("model.layers.{layer}.norm.weight"));
    assert_eq!(listed(&["--filter", "norm", "--sort", "name"]), sorted);
    assert_eq!(listed(&["--sort", "size"])[0], "embed.weight");
    assert_eq!(listed(&["--sort", "dtype"])[5..], sorted);
    assert_eq!(listed(&["--sort", "offset"])[..2], ["embed.weight", "model.layers.0.attn.q_proj.weight"]);
    let text = out(&["list", &file, "--filter", "norm"]);
    assert!(text.contains("  4 of 9 tensors match\n"), "{text}");
    assert!(out(&["list", &file, "--filter", "nothing"]).ends_with("  0 of 9 tensors match\n"));
    let record: Value =
        serde_json::from_str(&out(&["list", "--json", "--filter", "norm", "--sort", "name", &file])).unwrap();
    let found: Vec<&str> =
        record["tensors"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(found, sorted);
    assert_eq!(run(&["list", &file, "--filter", "/(/"]).status, 2);
}

#[test]
fn columns_for_programs() {
    let folder = Folder::new();
    let file = layers(&folder);
    let text = out(&["list", &file, "--tsv", "--columns", "name,size,offset,elements", "--filter", "embed"]);
    let start = std::fs::read(&file).unwrap().len() - 400;
    assert_eq!(text, format!("name\tsize\toffset\telements\nembed.weight\t128\t{start}\t32\n"));
    let text = out(&["list", &file, &file, "--tsv"]);
    assert_eq!(text.lines().count(), 19);
    assert_eq!(text.lines().nth(1).unwrap(), format!("embed.weight\tf32\t[8, 4]\tdense\t128\traw\t-\t{file}"));
    let text = out(&["list", &file, "--columns", "name,encoding"]);
    assert!(text.contains("  embed.weight                        raw\n"), "{text}");
}

/// Layers that are alike are one line of the tree.
#[test]
fn a_tree_of_names() {
    let folder = Folder::new();
    let file = layers(&folder);
    let text = out(&["list", &file, "--tree"]);
    let tree: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("  name")).collect();
    let expected = [
        "  name                      dtype  shape   tensors  elements   size",
        "  embed.weight              f32    [8, 4]        1        32  128 B",
        "  model.layers.                                  8        80  272 B",
        "    0…2. × 3                                     6        60  204 B",
        "      attn.q_proj.weight    f32    [4, 4]        1        16   64 B",
        "      norm.weight           u8     [4]           1         4    4 B",
        "    10.                                          2        20   68 B",
    ];
    // Layers 3 to 9 are missing, so layer 10 does not belong to the range.
    assert_eq!(
        tree[..7].iter().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect::<Vec<_>>(),
        expected.iter().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect::<Vec<_>>(),
        "{text}"
    );
    assert_eq!(out(&["list", &file, "--tree", "--all"]).matches("q_proj").count(), 4);
    let narrow = out(&["list", &file, "--tree", "--width", "40"]);
    assert!(narrow.contains("f32") && narrow.contains("[4, 4]"), "{narrow}");
}

/// A mistyped name, a name that the table has cut, and an empty name in quotation marks.
#[test]
fn names_can_be_typed_back() {
    let folder = Folder::new();
    let file = layers(&folder);
    let mistyped = run(&["show", &file, "model.layers.2.norm.wieght"]);
    let expected =
        "; the nearest name is \"model.layers.2.norm.weight\"; similar names: \"model.layers.0.norm.weight\"";
    assert!(mistyped.status == 1 && mistyped.err.contains(expected), "{}", mistyped.err);
    let narrow = out(&["list", &file, "--width", "50"]);
    let cut = names(&narrow);
    assert!(cut.len() == 9 && narrow.matches('…').count() > 4, "{narrow}");
    for (cut, name) in cut.iter().zip(names(&out(&["list", &file]))) {
        assert!(out(&["show", &file, cut]).contains(&format!("tensor \"{name}\"")), "{cut}");
    }
    let ambiguous = run(&["show", &file, "model…norm.weight"]).err;
    let expected =
        "several names fit \"model…norm.weight\": model.layers.0.norm.weight, model.layers.10.norm.weight, ";
    assert!(ambiguous.contains(expected) && ambiguous.ends_with(" and 1 more\n"), "{ambiguous}");
    let array = folder.write("a.npz", &npz(&[("", &npy("'<f4'", false, "(1,)", &[0; 4]), false)]));
    assert!(out(&["list", &array]).contains("  \"\"    f32"));
    out(&["show", &array, "\"\""]);
    let several = run(&["show", &file]);
    assert!(several.err.contains("name one of them: embed.weight, "), "{}", several.err);
}

/// A folder with one model is that model; a folder with several says which.
#[test]
fn folders_stand_for_their_only_model() {
    let folder = Folder::new();
    layers(&folder);
    let path = folder.as_path().to_str().unwrap();
    assert!(out(&["show", path, "embed.weight"]).contains("f32 [8, 4]"));
    out(&["extract", path, "embed.weight", "-o", &folder.path("x.bin")]);
    std::fs::copy(fixture("gguf/rank2.gguf"), folder.path("other.gguf")).unwrap();
    for command in [&["show", path, "x"][..], &["extract", path, "x", "-o", "y.npy"]] {
        let run = run(command);
        assert!(
            run.status == 1 && run.err.contains("the folder has several models: pass the path of one of these 2: "),
            "{}",
            run.err
        );
        assert!(run.err.contains("layers.safetensors") && run.err.contains("other.gguf"), "{}", run.err);
    }
    let empty = Folder::new();
    let run = run(&["show", empty.as_path().to_str().unwrap()]);
    assert!(run.status == 1 && run.err.contains("no tensor files in this folder"), "{}", run.err);
}

/// A refused file: a line that names it, and a line that says what to do.
#[test]
fn advice_about_refused_files() {
    let folder = Folder::new();
    let damaged = |name: &str, damage: fn(&mut Vec<u8>)| {
        let mut bytes = std::fs::read(fixture(name)).unwrap();
        damage(&mut bytes);
        folder.write(name.rsplit('/').next().unwrap(), &bytes)
    };
    let says = |args: [&str; 2], what: &str, todo: &str| {
        let refused = run(&args);
        let lines: Vec<&str> = refused.err.lines().collect();
        assert_eq!((refused.status, lines.len()), (1, 2), "{}", refused.err);
        assert!(lines[0].contains(what), "{}", refused.err);
        assert!(lines[1].starts_with(&format!("  download or copy the file again{todo}")), "{}", refused.err);
        assert!(lines[1].contains("tenslice explain"), "{}", refused.err);
    };
    let if_short = ", if its size";
    let cut = damaged("gguf/rank2.gguf", |bytes| bytes.truncate(bytes.len() - 20));
    says(["list", &cut], "12 are missing", if_short);
    // In the list of the tokens, whose count exceeds the bytes left.
    let in_list = damaged("gguf/vocab_601.gguf", |bytes| bytes.truncate(200));
    says(["list", &in_list], "so at least ", if_short);
    let changed = damaged("npz/stored.npz", |bytes| bytes[200] ^= 1);
    says(["verify", &changed], "do not match", ": these are not the bytes");
}
