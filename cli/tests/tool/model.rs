//! Models in several files: files that belong together, missing files, and files that do not belong.

use serde_json::Value;

use crate::support::{Folder, fixture, out, run, run_with};

/// A safetensors file with tensors of one `f32` each.
fn safetensors(tensors: &[(&str, f32)]) -> Vec<u8> {
    let entry = |(i, (name, _)): (usize, &(&str, f32))| {
        format!(r#""{name}":{{"dtype":"F32","shape":[1],"data_offsets":[{},{}]}}"#, 4 * i, 4 * i + 4)
    };
    let header = format!("{{{}}}", tensors.iter().enumerate().map(entry).collect::<Vec<_>>().join(","));
    let data = tensors.iter().flat_map(|(_, number)| number.to_le_bytes());
    (header.len() as u64).to_le_bytes().into_iter().chain(header.into_bytes()).chain(data).collect()
}

fn index(map: &[(&str, &str)]) -> Vec<u8> {
    let entries: Vec<String> = map.iter().map(|(name, file)| format!(r#""{name}":"{file}""#)).collect();
    format!(r#"{{"metadata":{{}},"weight_map":{{{}}}}}"#, entries.join(",")).into_bytes()
}

/// A GGUF file with tensors of eight `f32` each. `split` makes it a part of a model, and has the number of the part,
/// the number of parts, and the total number of tensors.
fn gguf(split: Option<(u16, u16, i32)>, tensors: &[&str]) -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let pairs = split.map_or_else(Vec::new, |(number, count, all)| {
        let short = |key: &str, n: u16| [text(key), 2_u32.to_le_bytes().to_vec(), n.to_le_bytes().to_vec()].concat();
        let sum = [text("split.tensors.count"), 5_u32.to_le_bytes().to_vec(), all.to_le_bytes().to_vec()].concat();
        vec![short("split.no", number), short("split.count", count), sum]
    });
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend((tensors.len() as u64).to_le_bytes());
    bytes.extend((pairs.len() as u64).to_le_bytes());
    bytes.extend(pairs.concat());
    for (name, i) in tensors.iter().zip(0_u64..) {
        bytes.extend(text(name));
        bytes.extend([&1_u32.to_le_bytes()[..], &8_u64.to_le_bytes(), &[0; 4], &(32 * i).to_le_bytes()].concat());
    }
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    bytes.resize(bytes.len() + 32 * tensors.len(), 0);
    bytes
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&out(arguments)).unwrap()
}

fn names(record: &Value) -> Vec<&str> {
    record["tensors"].as_array().unwrap().iter().map(|tensor| tensor["name"].as_str().unwrap()).collect()
}

/// The kinds, files and tensors of the warnings or problems in a record.
fn kinds<'r>(record: &'r Value, list: &str) -> Vec<(&'r str, Option<&'r str>, Option<&'r str>)> {
    let of = |one: &'r Value| (one["kind"].as_str().unwrap(), one["file"].as_str(), one["tensor"].as_str());
    record[list].as_array().unwrap().iter().map(of).collect()
}

/// A stale tensor in a file that precedes the file that the index names.
fn overlay() -> (Folder, String) {
    let folder = Folder::new();
    folder.write("1-base.safetensors", &safetensors(&[("a", 1.0), ("w", 2.0), ("old", 3.0)]));
    folder.write("2-overlay.safetensors", &safetensors(&[("w", 9.0)]));
    let map = index(&[("a", "1-base.safetensors"), ("w", "2-overlay.safetensors")]);
    let index = folder.write("model.safetensors.index.json", &map);
    (folder, index)
}

#[test]
fn the_index_says_what_the_tensors_are() {
    let (folder, index) = overlay();
    let record = json(&["list", "--json", &index]);
    assert_eq!(names(&record), ["a", "w"]);
    assert_eq!(record["tensors"][1]["file"], "2-overlay.safetensors");
    let expected = ["w", "old"].map(|tensor| ("UnlistedTensor", Some("1-base.safetensors"), Some(tensor)));
    assert_eq!(kinds(&record, "warnings"), expected);
    assert_eq!(kinds(&record, "problems"), []);
    let text = out(&["list", &index]);
    assert!(
        text.contains("safetensors index, 2 tensors, 2 parameters") && text.contains("  files        2 of 2\n"),
        "{text}"
    );
    let text = out(&["verify", &index]);
    assert!(text.contains("ok (2 tensors") && text.contains("tensor \"old\" is not a tensor of the model"), "{text}");
    assert!(out(&["show", &index, "w"]).contains("9.0"));
    let file = folder.path("w.npy");
    out(&["extract", &index, "w", "-o", &file]);
    assert!(std::fs::read(&file).unwrap().ends_with(&9_f32.to_le_bytes()));
    assert_eq!(run(&["show", &index, "old"]).status, 1);
    // The model as a single file has no differences.
    let whole = folder.write("whole.safetensors", &safetensors(&[("a", 1.0), ("w", 9.0)]));
    out(&["diff", &index, &whole]);
    let assembly = folder.path("w.S");
    out(&["embed", &index, "-o", &assembly]);
    let header = std::fs::read_to_string(folder.path("w.h")).unwrap();
    assert!(header.contains("W_COUNT 2"), "{header}");
}

#[test]
fn missing_files_are_all_named_and_hide_no_other() {
    let folder = Folder::new();
    folder.write("1.safetensors", &safetensors(&[("a", 1.0), ("b", 2.0)]));
    folder.write("3.safetensors", b"no tensor file");
    let files = [("a", "1"), ("lacking", "1"), ("c", "2"), ("d", "2"), ("e", "3"), ("f", "4")];
    let files = files.map(|(name, file)| (name, format!("{file}.safetensors")));
    let files = files.each_ref().map(|(name, file)| (*name, file.as_str()));
    let index = folder.write("m.safetensors.index.json", &index(&files));
    let record = json(&["list", "--json", &index]);
    assert_eq!(names(&record), ["a"]);
    let file = |name: &'static str| Some(name);
    let expected = [
        ("MissingFile", file("2.safetensors"), None),
        ("UnknownFormat", file("3.safetensors"), None),
        ("MissingFile", file("4.safetensors"), None),
        ("MissingTensor", file("1.safetensors"), Some("lacking")),
    ];
    assert_eq!(kinds(&record, "problems"), expected);
    assert!(record.get("error").is_none());
    let text = out(&["list", &index]);
    assert_eq!(text.matches("warning:").count(), 5, "{text}"); // one of them says that "b" is not in the index
    for command in ["verify", "layout", "explain"] {
        let run = run(&[command, &index]);
        assert_eq!((run.status, run.err.matches("error:").count()), (1, 4), "{command}: {}", run.err);
    }
    let run_of = |arguments: &[&str]| run(arguments);
    let refused = run_of(&["list", "--digest", &index]);
    assert_eq!((refused.status, refused.err.lines().count()), (1, 4), "{}", refused.err);
    let refused = run_of(&["list", "--digest", "--json", &index]);
    let record: Value = serde_json::from_str(&refused.out).unwrap();
    assert_eq!((refused.status, &record["error"]["kind"]), (1, &"UnknownFormat".into()));
    assert_eq!(names(&record), ["a"]);
    assert_eq!(run_of(&["show", &index, "a"]).status, 0);
    let shown = run_of(&["show", &index, "c"]);
    assert!(shown.status == 1 && shown.err.contains("2.safetensors: the file is missing"), "{}", shown.err);
    let compared = run_of(&["diff", &index, &index]);
    let summary = compared.out.lines().last().unwrap();
    assert_eq!((compared.status, summary), (1, "1 tensor the same, 0 differ, 8 not compared"), "{}", compared.out);
    let embedded = run_of(&["embed", &index, "-o", &folder.path("m.S")]);
    assert_eq!((embedded.status, folder.names().len()), (1, 3), "{}", embedded.err);
}

#[test]
fn parts_are_known_by_their_content() {
    let folder = Folder::new();
    let first = gguf(Some((0, 3, 3)), &["a"]);
    folder.write("m-00002-of-00003.gguf", &first);
    folder.write("m-00001-of-00003.gguf", &gguf(Some((1, 3, 3)), &["b"]));
    folder.write("rest", &gguf(Some((2, 3, 3)), &["c"]));
    folder.write("other-00002-of-00003.gguf", &gguf(None, &["x"])); // named like a part
    let path = folder.as_path().to_str().unwrap();
    let text = out(&["verify", path]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 7, "{text}");
    assert_eq!(lines[1], "  files: m-00002-of-00003.gguf, m-00001-of-00003.gguf, rest");
    assert!(
        lines[0].ends_with("m-00002-of-00003.gguf: ok (3 tensors, 96 bytes, nothing to verify: no checksums)"),
        "{text}"
    );
    for (line, name) in lines[2..].iter().zip(["m-00002-of-00003.gguf", "m-00001-of-00003.gguf", "rest"]) {
        assert!(line.contains("warning:") && line.contains(name), "{text}");
    }
    assert!(lines[5].contains("other-00002-of-00003.gguf: ok (1 tensor"), "{text}");
    assert!(lines[6].contains("not a part of a model, and its name states that it is"), "{text}");
    // Any part represents all parts.
    for part in ["m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "rest"] {
        let record = json(&["list", "--json", &folder.path(part)]);
        assert_eq!(names(&record), ["a", "b", "c"]);
        assert_eq!(record["files"].as_array().unwrap().len(), 3);
        let misnamed = |file| ("MisnamedPart", Some(file), None);
        let expected = ["m-00002-of-00003.gguf", "m-00001-of-00003.gguf", "rest"].map(misnamed);
        assert_eq!((kinds(&record, "warnings"), kinds(&record, "problems")), (expected.to_vec(), vec![]));
    }
    // The other parts cannot be found for standard input.
    let part = gguf(Some((2, 3, 3)), &["c"]);
    let listed = run_with(&["list", "--json", "-"], &part);
    let record: Value = serde_json::from_str(&listed.out).unwrap();
    assert_eq!((names(&record), kinds(&record, "warnings")), (vec!["c"], vec![("PartAlone", None, None)]));
}

#[test]
fn parts_are_missing_or_stored_twice() {
    let check = |files: &[(&str, Vec<u8>)], expected: &[&str]| {
        let folder = Folder::new();
        files.iter().for_each(|(name, bytes)| drop(folder.write(name, bytes)));
        let path = folder.as_path().to_str().unwrap();
        let run_of = |arguments: &[&str]| run(arguments);
        let run = run_of(&["verify", path]);
        assert_eq!(run.status, 1, "{expected:?}: {}", run.out);
        for words in expected {
            assert!(run.err.contains(words), "{words}: {}", run.err);
        }
        assert_eq!(run_of(&["list", path]).status, 0, "{expected:?}");
    };
    let part = |number: u16, name: &str| gguf(Some((number, 3, 3)), &[name]);
    let names = ["m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"];
    let [one, two, three] = names;
    let (a, b, c) = (part(0, "a"), part(1, "b"), part(2, "c"));
    check(&[(one, a.clone()), (three, c.clone())], &["m-00002-of-00003.gguf: part 2 of 3 is missing"]);
    check(&[(two, b.clone()), (three, c.clone())], &["m-00001-of-00003.gguf: part 1 of 3 is missing"]);
    check(&[(one, a.clone())], &["parts 2-3 of 3 are missing: m-00002-of-00003.gguf to m-00003-of-00003.gguf"]);
    let twice = [
        "m-00003-of-00003.gguf: this is part 2 of 3 (split.no 1), and so is \"m-00002-of-00003.gguf\"",
        "m-00003-of-00003.gguf: part 3 of 3 is missing",
    ];
    check(&[(one, a.clone()), (two, b.clone()), (three, b.clone())], &twice);
    let whole = [
        "m-00002-of-00003.gguf: part 2 of 3 is missing",
        "m-00002-of-00003.gguf: the file does not state that it is a part of a model, but other files do",
    ];
    check(&[(one, a.clone()), (two, gguf(None, &["b"])), (three, c.clone())], &whole);
    let name = ["m-00003-of-00003.gguf: tensor \"b\" is also in \"m-00002-of-00003.gguf\""];
    check(&[(one, a.clone()), (two, b.clone()), (three, part(2, "b"))], &name);
    // Nothing says which of two tensors is the right one.
    let twice = [[(one, &a), (two, &b), (three, &part(2, "b"))], [(one, &a), (two, &b), (three, &b)]];
    for (files, why) in
        twice.into_iter().zip(["tensor \"b\" is also in ", "this is part 2 of 3 (split.no 1), and so is "])
    {
        let folder = Folder::new();
        let paths = files.map(|(name, bytes)| folder.write(name, bytes));
        for command in [&["show", &paths[0], "b"][..], &["extract", &paths[0], "b", "-o", &folder.path("b.npy")]] {
            let run = run(command);
            assert!(run.status == 1 && run.err.contains(why), "{}", run.err);
        }
        assert_eq!((run(&["show", &paths[0], "a"]).status, folder.names().len()), (0, 3));
    }
    let copy = [("copy.gguf", b.clone())];
    let whole = [(one, a.clone()), (two, b.clone()), (three, c.clone())];
    check(
        &[&whole[..], &copy].concat(),
        &["copy.gguf: this is part 2 of 3 (split.no 1), and so is \"m-00002-of-00003.gguf\""],
    );
    let sum = ["split.tensors.count is 3; the parts have 4 tensors together"];
    check(&[(one, a), (two, b), (three, gguf(Some((2, 3, 3)), &["c", "d"]))], &sum);
}

/// Missing parts count as files and as tensors of the model.
#[test]
fn the_summary_counts_missing_parts() {
    let folder = Folder::new();
    let part = |number: u16, name: &str| {
        folder.write(&format!("m-0000{}-of-00003.gguf", number + 1), &gguf(Some((number, 3, 3)), &[name]))
    };
    let first = part(0, "a");
    let has = |head: &str, complete: &str, files: &str, missing: &str| {
        let text = out(&["list", &first]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains(head) && lines[1] == format!("  complete     {complete}"), "{text}");
        assert!(text.contains(&format!("  files        {files}\n")), "{text}");
        assert!(text.contains(missing), "{text}");
    };
    let both = "parts 2-3 of 3 are missing: m-00002-of-00003.gguf to m-00003-of-00003.gguf; download them into this";
    has("gguf 3, 1 of 3 tensors, 8 parameters, 32 bytes stored", "NO: 2 missing files", "1 of 3", both);
    part(2, "c");
    let two = "m-00002-of-00003.gguf: part 2 of 3 is missing; download it into this folder\n";
    has("gguf 3, 2 of 3 tensors, 16 parameters, 64 bytes stored", "NO: 1 missing file", "2 of 3", two);
    // A copy of a part is not a file of the model.
    std::fs::copy(&first, folder.path("copy.gguf")).unwrap();
    has("gguf 3, 2 of 3 tensors", "NO: 1 missing file, 1 problem", "2 of 3", two);
    part(1, "b");
    std::fs::remove_file(folder.path("copy.gguf")).unwrap();
    has("gguf 3, 3 tensors, 24 parameters, 96 bytes stored", "yes", "3 of 3", "");
    // Other files are not looked for on standard input.
    let alone = run_with(&["list", "-"], &std::fs::read(&first).unwrap()).out;
    let start =
        "-: gguf 3, 1 of 3 tensors, 8 parameters, 32 bytes stored, file 192 bytes\n  complete     NO: part 1 of 3\n";
    assert!(alone.starts_with(start), "{alone}");
}

/// A damaged first part is a problem of the model, which the next part represents.
#[test]
fn a_damaged_first_part_hides_no_other() {
    let folder = Folder::new();
    let part = |number, name| gguf(Some((number, 2, 2)), &[name]);
    let first = folder.write("m-00001-of-00002.gguf", &part(0, "a")[..40]);
    let second = folder.write("m-00002-of-00002.gguf", &part(1, "b"));
    for path in [folder.as_path().to_str().unwrap(), &*second] {
        let record = json(&["list", "--json", path]);
        assert_eq!((names(&record), record["file"].as_str()), (vec!["b"], Some(&*second)));
        let problems = kinds(&record, "problems");
        assert_eq!(problems.iter().map(|(_, file, _)| *file).collect::<Vec<_>>(), [Some("m-00001-of-00002.gguf")]);
    }
    assert_eq!(run(&["list", &first]).status, 1);
}

/// An index in a folder represents its files, even if its name has more parts.
#[test]
fn indices_in_a_folder() {
    let folder = Folder::new();
    folder.write("1.safetensors", &safetensors(&[("a", 1.0)]));
    folder.write("model.safetensors.index.fp16.json", &index(&[("a", "1.safetensors"), ("b", "2.safetensors")]));
    folder.write("by-hand.safetensors.index.json", br#"{"weight_map":{"a":"1.safetensors","b":null,"c":["x"]}}"#);
    let checked = run(&["verify", folder.as_path().to_str().unwrap()]);
    assert_eq!(checked.status, 1);
    assert!(checked.err.contains("2.safetensors: the file is missing"), "{}", checked.err);
    for name in ["tensor \"b\" of the index has null instead of a file name", "tensor \"c\" of the index"] {
        assert!(checked.err.contains(name), "{}", checked.err);
    }
    assert_eq!((checked.out.as_str(), checked.err.lines().count()), ("", 3), "{}", checked.out);
}

/// Paths with folders, and two spellings of the same path.
#[test]
fn files_below_an_index() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("shards")).unwrap();
    folder.write("shards/1.safetensors", &safetensors(&[("a", 1.0), ("c", 3.0)]));
    folder.write("2.safetensors", &safetensors(&[("b", 2.0), ("d", 4.0)]));
    let map = [
        ("a", "shards/1.safetensors"),
        ("b", "./2.safetensors"),
        ("c", "./shards//1.safetensors"),
        ("d", "2.safetensors"),
    ];
    let index = folder.write("model.safetensors.index.json", &index(&map));
    for path in [&index, folder.as_path().to_str().unwrap()] {
        let record = json(&["list", "--json", path]);
        assert_eq!(names(&record), ["b", "d", "a", "c"], "{record}");
        assert_eq!((kinds(&record, "warnings"), kinds(&record, "problems")), (vec![], vec![]));
        let files: Vec<_> = record["files"].as_array().unwrap().iter().map(|file| file["file"].as_str()).collect();
        assert_eq!(files.len(), 2, "{record}");
    }
    for (name, value) in [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")] {
        assert!(out(&["show", &index, name]).contains(value), "{name}");
    }
    // A path that leads out of the folder is refused.
    let index = folder.write("out.safetensors.index.json", br#"{"weight_map":{"a":"shards/../../1.safetensors"}}"#);
    let refused = run(&["list", &index]);
    assert_eq!(refused.status, 1);
    assert!(refused.err.contains("must stay in the folder"), "{}", refused.err);
}

/// A folder with one model is a model for every command. Shards are not models of their own.
#[test]
fn a_folder_with_one_model() {
    let (folder, first) = overlay();
    let path = folder.as_path().to_str().unwrap();
    assert!(out(&["show", path, "w"]).contains("9.0"));
    out(&["diff", path, &first]);
    folder.write("b.safetensors.index.json", &index(&[("a", "1-base.safetensors")]));
    let refused = run(&["show", path, "w"]);
    assert!(
        refused.status == 1 && refused.err.contains("the folder has several models: pass the path"),
        "{}",
        refused.err
    );

    let folder = Folder::new();
    let path = folder.as_path().to_str().unwrap();
    for name in ["shards.zt", "shards-base.zt"] {
        folder.write(name, &std::fs::read(fixture(&format!("v2/{name}"))).unwrap());
    }
    let record = json(&["list", "--json", path]); // one line
    assert_eq!((names(&record), kinds(&record, "problems")), (vec!["local", "base.b", "base.w"], vec![]));
    out(&["verify", path]);
    std::fs::remove_file(folder.path("shards-base.zt")).unwrap();
    let record = json(&["list", "--json", path]);
    assert_eq!(kinds(&record, "problems"), [("MissingShard", Some("shards-base.zt"), None)]);
    let shown = run(&["verify", path]);
    assert!(shown.err.contains("shards-base.zt: shard \"base\" of 12519 bytes is missing"), "{}", shown.err);
}

/// Two quantizations of a model have the same split metadata.
#[test]
fn models_in_one_folder_are_told_apart() {
    let folder = Folder::new();
    for prefix in ["q4", "q8"] {
        for (i, name) in [(0, "a"), (1, "b")] {
            folder.write(&format!("{prefix}-0000{}-of-00002.gguf", i + 1), &gguf(Some((i, 2, 2)), &[name]));
        }
    }
    let text = out(&["verify", folder.as_path().to_str().unwrap()]);
    assert_eq!((text.lines().count(), text.matches("ok (2 tensors").count()), (4, 2), "{text}");
}
