use std::process::Command;

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::support::{Folder, files_below, fixture, has, out, run, run_with, tool};

#[test]
fn a_table() {
    let text = out(&["list", &fixture("safetensors/py_tiny_mlp.safetensors")]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].ends_with("safetensors, 4 tensors, 212 parameters, 848 bytes stored, file 1.2 KiB"), "{text}");
    // Columns that say nothing are not shown.
    assert_eq!(lines[9], "  name        dtype  shape     size");
    assert_eq!(lines[11], "  fc1.weight  f32    [16, 8]  512 B");
    assert!(text.contains("  metadata\n    task: demo\n"), "{text}");
    assert!(!text.contains('\x1b'));
}

#[test]
fn digests_are_verified() {
    let text = out(&["list", "--digest", &fixture("v1.2/digests.zt")]);
    assert!(text.contains("crc32c verified") && text.contains("sha256 verified"), "{text}");
}

/// Chunks that were never written are counted. Arrays without values are not read as zeros.
#[test]
fn chunks_without_values() {
    let file = fixture("b2nd/no_values/uninit.b2nd");
    let text = out(&["list", &file]);
    assert!(text.contains("  uninitialised: 2 chunks\n"), "{text}");
    assert!(text.contains("warning: 2 chunks were never written, which read as zeros\n"), "{text}");
    let record: Value = serde_json::from_str(&out(&["list", "--json", &file])).unwrap();
    assert_eq!(record["b2nd"]["uninitialised"], 2);
    assert!(!out(&["list", &fixture("b2nd/good/nd02_lz4_0.b2nd")]).contains("uninitialised"));

    let file = fixture("b2nd/no_values/lazyexpr.b2nd");
    assert!(out(&["list", &file]).contains("  f32    [6, 4]  b2nd.lazy"));
    for arguments in [&["show", &file, ""][..], &["verify", &file], &["list", "--digest", &file]] {
        let run = run(arguments);
        let said = run.out + &run.err;
        assert!(said.contains("it is a lazy expression, to be computed from other arrays"), "{said}");
    }
}

#[test]
fn a_record() {
    let (good, bad) = (fixture("npy/bad"), fixture("v1.2/digests.zt"));
    let refused = files_below(good.as_ref()).into_iter().find(|path| path.extension().unwrap() == "npy").unwrap();
    let run = run(&["list", "--json", "--digest", refused.to_str().unwrap(), &bad]);
    let records: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((run.status, run.err.as_str(), records.len()), (1, "", 2));
    assert!(records[0]["error"]["kind"].is_string() && records[0]["error"]["message"].is_string());
    assert_eq!((&records[1]["format"], records[1]["tensors"].as_array().unwrap().len()), (&"ztensor".into(), 6));
    assert_eq!(records[1]["tensors"][0]["components"][0]["digest_state"], "verified");
    assert_eq!(records[1]["tensors"][0]["data_sha256"].as_str().unwrap().len(), 64);
}

/// Table rows fit the requested width, whatever the file, and no file crashes the program.
#[test]
fn every_fixture_in_40_columns() {
    let files: Vec<String> =
        files_below(fixture("").as_ref()).into_iter().map(|p| p.to_str().unwrap().into()).collect();
    let files: Vec<&String> =
        files.iter().filter(|file| !file.ends_with(".json") && !file.ends_with(".f32")).collect();
    assert!(files.len() > 1000);
    let mut tables = 0;
    for some in files.chunks(200) {
        let arguments: Vec<&str> =
            ["list", "--width", "40"].into_iter().chain(some.iter().map(|s| s.as_str())).collect();
        let run = run(&arguments);
        assert!(matches!(run.status, 0 | 1), "{}", run.err);
        let lines: Vec<&str> = run.out.lines().collect();
        for (i, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("  name ")) {
            let rows = lines[i..].iter().take_while(|row| row.starts_with("  "));
            assert!(rows.clone().count() > 1 && rows.clone().all(|row| row.width() <= 40), "{line}");
            tables += 1;
        }
    }
    assert!(tables > 300, "{tables}");
}

#[test]
fn names_are_whole_in_pipes_and_cut_in_terminals() {
    let file = fixture("safetensors/rs_long_name.safetensors");
    let text = out(&["list", "--json", &file]);
    let name = serde_json::from_str::<Value>(&text).unwrap()["tensors"][0]["name"].as_str().unwrap().to_owned();
    assert!(name.len() > 100);
    assert!(out(&["list", &file]).contains(&name));
    let narrow = out(&["list", "--width", "80", &file]);
    assert!(!narrow.contains(&name) && narrow.contains('…'), "{narrow}");
}

/// One long name does not widen the rows of all other tensors.
#[test]
fn output_is_as_long_as_the_file() {
    let names = [String::from("x").repeat(100_000)].into_iter().chain((0..200).map(|i| i.to_string()));
    let entry = |name: String| format!(r#""{name}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#);
    let header = format!("{{{}}}", names.map(entry).collect::<Vec<_>>().join(","));
    let folder = Folder::new();
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat();
    let file = folder.write("long_name.safetensors", &bytes);
    for command in ["list", "layout"] {
        let text = out(&[command, &file]);
        assert_eq!(text.lines().filter(|line| line.len() > 100_000).count(), 1, "{command}");
        assert!(text.len() < 200_000, "{command}: {}", text.len());
    }
}

#[test]
fn standard_input_is_a_file() {
    let bytes = std::fs::read(fixture("gguf/rank2.gguf")).unwrap();
    let run = run_with(&["list", "-"], &bytes);
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.out.starts_with("-: gguf 3, 1 tensor"), "{}", run.out);
    assert_eq!(run_with(&["list", "-"], b"").status, 1);
}

#[test]
fn folders_are_walked() {
    let folder = Folder::new();
    for name in ["rs_sharded-00001-of-00002.safetensors", "rs_sharded-00002-of-00002.safetensors"] {
        std::fs::copy(fixture(&format!("safetensors/{name}")), folder.path(name)).unwrap();
    }
    let index = "rs_sharded.safetensors.index.json";
    std::fs::copy(fixture(&format!("safetensors/{index}")), folder.path(index)).unwrap();
    std::fs::create_dir(folder.path("below")).unwrap();
    std::fs::copy(fixture("npy/dt_le_f4.npy"), folder.path("below/weights")).unwrap();
    std::fs::copy(fixture("gguf/rank2.gguf"), folder.path("below/known-by-its-bytes")).unwrap();
    folder.write("notes.txt", b"no tensors");
    folder.write("archive.zip", b"PK\x03\x04");
    folder.write(".hidden.npy", b"no array");
    let text = out(&["list", folder.as_path().to_str().unwrap()]);
    // The index represents the files that it names.
    assert!(
        text.contains("safetensors index, ")
            && text.contains("known-by-its-bytes: gguf")
            && text.contains("weights: npy"),
        "{text}"
    );
    assert_eq!(text.matches("rs_sharded-00001-of-00002.safetensors: ").count(), 1, "{text}");
    let empty = Folder::new();
    let run = run(&["list", empty.as_path().to_str().unwrap()]);
    assert_eq!(run.status, 1);
    assert!(run.err.contains("no tensor file"), "{}", run.err);
}

/// A safetensors file with a tensor named `name` and a metadata value, both escaped as JSON.
fn with_texts(name: &str, value: &str) -> Vec<u8> {
    let (name, value) = (Value::from(name), Value::from(value));
    let header =
        format!(r#"{{"__metadata__":{{"key":{value}}},{name}:{{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}}}"#);
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), b"\x07"].concat()
}

/// Only characters that must be escaped are escaped, so that names and values can be copied.
#[test]
fn texts_are_printed_as_they_are() {
    let folder = Folder::new();
    let value = r#"{"ss_tag": "a\b", "n": [1, 2]}"#;
    for name in [r#"with "quotes" and \ and \"#, "<|im_start|>", r"\u{a}", "ü\u{ad}👩\u{200d}🔬"] {
        let file = folder.write("t.safetensors", &with_texts(name, value));
        let text = out(&["list", &file]);
        assert!(text.contains(&format!("  {name}")) && text.contains(&format!("    key: {value}\n")), "{text}");
        assert!(out(&["show", &file, name]).contains(&format!("tensor \"{name}\"")));
        let record: Value = serde_json::from_str(&out(&["list", "--json", &file])).unwrap();
        assert_eq!((&record["tensors"][0]["name"], &record["attributes"]["key"]), (&name.into(), &value.into()));
        let missing = run(&["show", &file, r#"no "such""#]);
        assert!(missing.err.contains(r#": no tensor "no "such"""#), "{}", missing.err);
    }
}

/// Characters that could deceive the reader of a terminal: control characters, also for the text direction.
#[test]
fn control_characters_are_escaped() {
    let folder = Folder::new();
    let name = "a\u{1b}[31m\n\u{9b}\u{7f}\u{202e}\u{61c}b";
    let shown = r"a\u{1b}[31m\u{a}\u{9b}\u{7f}\u{202e}\u{61c}b";
    let file = folder.write("t.safetensors", &with_texts(name, "1\u{1b}2\u{202e}\t3"));
    let text = out(&["list", &file]);
    assert!(
        text.contains(shown) && text.contains("key (control characters are escaped): 1\\u{1b}2\\u{202e}\t3\n"),
        "{text}"
    );
    let record = out(&["list", "--json", &file]);
    assert!(record.chars().all(|c| c == '\n' || !c.is_control() && !"\u{202e}\u{61c}".contains(c)), "{record}");
    assert_eq!(serde_json::from_str::<Value>(&record).unwrap()["tensors"][0]["name"], name);
    // A name is found as it is and as it is printed.
    for name in [name, shown] {
        assert!(out(&["show", &file, name]).contains(shown), "{name}");
    }
    let missing = run(&["show", &file, "no\u{1b}"]);
    assert!(missing.err.contains(r#""no\u{1b}""#), "{}", missing.err);
    // The literal name takes precedence.
    let file = folder.write("t.safetensors", &with_texts(r"\u{41}", ""));
    assert!(out(&["show", &file, r"\u{41}"]).contains(r#"tensor "\u{41}""#));
    assert_eq!(run(&["show", &file, "A"]).status, 1);
}

/// The lines of a template are kept, and none of them looks like a line of the tool.
#[test]
fn values_of_several_lines() {
    let folder = Folder::new();
    let file = folder.write("t.safetensors", &with_texts("a", "{% for m in messages %}\n\t{{ m }}\nwarning: none\n"));
    let text = out(&["list", &file]);
    let expected =
        "\n    key:\n      | {% for m in messages %}\n      | \t{{ m }}\n      | warning: none\n      | \n";
    assert!(text.contains(expected), "{text}");
}

/// Downloads that have not been renamed yet, and files named by their hash.
#[test]
fn files_of_a_folder_are_known_by_their_content() {
    let folder = Folder::new();
    let of = |name: &str| std::fs::read(fixture(name)).unwrap();
    folder.write("ae.sft", &of("safetensors/rs_sharded-00001-of-00002.safetensors"));
    folder.write("model.safetensors.incomplete", &of("safetensors/rs_sharded-00002-of-00002.safetensors"));
    folder.write("0f3a9c", &of("npz/stored.npz"));
    folder.write("weights.part", &of("gguf/rank2.gguf"));
    folder.write("1b2c", &of("v1.2/dense_all_dtypes.zt"));
    folder.write("2c3d", &of("pytorch/views.pt"));
    folder.write("3d4e", &of("pytorch/script_seq.pt"));
    folder.write("4e5f", &of("pytorch/old_p27_checkpoint.pt"));
    folder.write("other.zip", &[&b"PK\x03\x04"[..], &[0; 22], b"\x05\0\0\0a.txt"].concat());
    folder.write("config.json", br#"{"weight_map": 1}"#);
    folder.write("table.zip", &[&b"PK\x03\x04"[..], &[0; 22], b"\x12\0\0\0project/data/a.csv"].concat());
    folder.write("pickle.pkl", b"\x80\x02}q\x00.");
    folder.write("empty", b"");
    let text = out(&["list", folder.as_path().to_str().unwrap()]);
    let listed: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with('/'))
        .map(|line| line.split(": ").next().unwrap().rsplit('/').next().unwrap())
        .collect();
    let of_hash = ["0f3a9c", "1b2c", "2c3d", "3d4e", "4e5f"];
    assert_eq!(
        listed,
        [&of_hash[..], &["ae.sft", "model.safetensors.incomplete", "weights.part"]].concat(),
        "{text}"
    );
    // A checkpoint that is cut off is reported.
    folder.write("5f6a", &of("pytorch/views.pt")[..1500]);
    let refused = run(&["list", folder.as_path().to_str().unwrap()]);
    assert!(refused.status == 1 && refused.err.contains("PyTorch checkpoint"), "{}", refused.err);
}

/// A cache of a hub: the files are named by their hash, and each revision links to them.
#[cfg(unix)]
#[test]
fn a_linked_cache_is_listed_once() {
    let folder = Folder::new();
    for name in ["blobs", "snapshots", "snapshots/1", "snapshots/2"] {
        std::fs::create_dir(folder.path(name)).unwrap();
    }
    let files = [
        ("aa", "safetensors/rs_sharded-00001-of-00002.safetensors", "rs_sharded-00001-of-00002.safetensors"),
        ("bb", "safetensors/rs_sharded-00002-of-00002.safetensors", "rs_sharded-00002-of-00002.safetensors"),
        ("cc", "safetensors/rs_sharded.safetensors.index.json", "rs_sharded.safetensors.index.json"),
        ("dd", "gguf/rank2.gguf", "quantized.gguf"),
    ];
    for (hash, file, name) in files {
        std::fs::copy(fixture(file), folder.path(&format!("blobs/{hash}"))).unwrap();
        for revision in ["1", "2"] {
            let link = folder.path(&format!("snapshots/{revision}/{name}"));
            std::os::unix::fs::symlink(format!("../../blobs/{hash}"), link).unwrap();
        }
    }
    let text = out(&["verify", folder.as_path().to_str().unwrap()]);
    assert_eq!((text.matches(": ok").count(), text.matches("index.json").count()), (2, 1), "{text}");
    assert!(text.contains("snapshots/1/quantized.gguf") && !text.contains("blobs"), "{text}");
    // A broken link is reported.
    let broken = folder.path("snapshots/1/broken.safetensors");
    std::os::unix::fs::symlink("../../blobs/ee", &broken).unwrap();
    let checked = run(&["verify", folder.as_path().to_str().unwrap()]);
    assert_eq!(checked.status, 1);
    assert!(
        checked.err.contains("broken.safetensors: broken symbolic link: ../../blobs/ee is missing"),
        "{}",
        checked.err
    );
    std::fs::remove_file(&broken).unwrap();
    // If the second revision has a different file, it is listed as well.
    std::fs::remove_file(folder.path("snapshots/2/quantized.gguf")).unwrap();
    folder.write("snapshots/2/quantized.gguf", &std::fs::read(fixture("gguf/c_writer.gguf")).unwrap());
    let text = out(&["verify", folder.as_path().to_str().unwrap()]);
    assert_eq!(text.matches("quantized.gguf").count(), 2, "{text}");
}

#[test]
fn models_in_several_files() {
    let index = fixture("safetensors/rs_sharded.safetensors.index.json");
    let record: Value = serde_json::from_str(&out(&["list", "--json", &index])).unwrap();
    assert_eq!((record["files"].as_array().unwrap().len(), &record["format"]), (2, &"safetensors index".into()));
    let folder = Folder::new();
    let alone = folder.path("model.safetensors.index.json");
    std::fs::copy(&index, &alone).unwrap();
    let run = run(&["list", &alone]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    assert!(run.out.contains("warning: rs_sharded-00001-of-00002.safetensors: the file is missing"), "{}", run.out);
}

/// Numbers and short texts are on one line, after the length of the list and the type that GGUF states.
#[test]
fn lists_of_the_metadata_are_short() {
    let text = out(&["list", &fixture("gguf/kv_all_types.gguf")]);
    for list in ["a.uint16: list of 3 u16: 1, 2, 3", "a.bool: list of 3 bool: true, false, true"] {
        assert!(text.contains(&format!("    {list}\n")), "{text}");
    }
    assert!(text.contains("    a.string: list of 4 texts\n      \n      a\n"), "{text}"); // one text is long
    let text = out(&["list", &fixture("gguf/nested_strings.gguf")]);
    assert!(text.contains("    n: list of 2 lists\n      list of 2 texts: \"a\", \"bc\"\n"), "{text}");
    let folder = Folder::new();
    let numbers: Vec<u8> = (0..512_u16).flat_map(u16::to_le_bytes).collect();
    let texts: Vec<u8> = (0..512).flat_map(|number| gguf_text(&format!("<|special_{number}|>"))).collect();
    let long = gguf_text(&"x".repeat(100)).repeat(9);
    let lists = [("k.numbers", 2, 512, numbers), ("k.texts", 8, 512, texts), ("k.long", 8, 9, long)];
    let file = folder.write("m.gguf", &gguf_of_lists(&lists));
    let text = out(&["list", &file]);
    assert!(text.contains("    k.numbers: list of 512 u16: 0, 1, 2, 3, 4, 5, 6, 7, …\n"), "{text}");
    let texts = [0, 1, 2, 3, 4].map(|number| format!("\"<|special_{number}|>\"")).join(", ");
    assert!(text.contains(&format!("    k.texts: list of 512 texts: {texts}, …\n")), "{text}");
    let lines = format!("      {}\n", "x".repeat(100)).repeat(8);
    let long = format!("    k.long: list of 9 texts\n{lines}      ... and 1 more\n");
    assert!(text.contains(&long), "{text}");
    let narrow = out(&["list", "--width", "80", &file]);
    assert!(narrow.contains(": list of 512 texts: \"<|special_0|>\", \"<|special_1|>\", …\n"), "{narrow}");
    let all = out(&["list", "--all", &file]);
    assert!(all.contains("    k.texts: list of 512 texts\n      <|special_0|>\n"), "{all}");
}

fn gguf_text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

/// A GGUF file without tensors, with lists: their keys, the types and the number of their items, and the items.
fn gguf_of_lists(lists: &[(&str, u32, u64, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = [&b"GGUF\x03\0\0\0"[..], &[0; 8], &(lists.len() as u64).to_le_bytes()].concat();
    for (key, kind, count, items) in lists {
        const ARRAY: u32 = 9;
        bytes.extend([gguf_text(key), ARRAY.to_le_bytes().into(), kind.to_le_bytes().into()].concat());
        bytes.extend([&count.to_le_bytes()[..], items].concat());
    }
    bytes
}

#[test]
fn long_lists_are_cut_unless_all_is_wanted() {
    let file = fixture("gguf/hm_many_keys_1500.gguf");
    assert!(out(&["list", &file]).lines().count() > 1500); // keys are not a list
    let tokens = fixture("gguf/nested_strings.gguf");
    let (short, all) = (out(&["list", &tokens]), out(&["list", "--all", &tokens]));
    assert!(short.len() <= all.len() && !all.contains("... and"), "{all}");
}

/// Output to a terminal has colours, except with NO_COLOR, and fits the terminal's width.
#[test]
fn terminals_have_colours_and_a_width() {
    if !has("script") {
        return;
    }
    let file = fixture("v1.2/digests.zt");
    let terminal = |color: &str| {
        let line = format!("stty cols 40 rows 20; {} list {color} {file}", env!("CARGO_BIN_EXE_tenslice"));
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm").env_remove("NO_COLOR");
        command
    };
    let text = |command: &mut Command| String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned();
    let plain = text(&mut terminal(""));
    assert!(plain.contains("\x1b[1m") && !plain.contains("encoding"), "{plain}");
    let no_color = text(terminal("").env("NO_COLOR", "1"));
    assert!(!no_color.contains("\x1b[") && no_color.contains("digests.zt"), "{no_color}");
    assert!(!text(&mut terminal("--color never")).contains("\x1b["));
    assert!(out(&["list", "--color", "always", &file]).contains("\x1b[1m"));
}

/// The reader of the output may close the pipe early.
#[test]
fn a_closed_pipe_ends_it_quietly() {
    use std::io::Read;
    use std::process::Stdio;

    let file = fixture("v1.2/many_tensors.zt");
    let mut command = tool();
    command.arg("list").args([&file; 20]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut some = [0; 100];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{output:?}");
}
