use std::fs;
use std::path::Path;

use tenslice::File;
use xxhash_rust::xxh3::xxh3_64;

use crate::support::{Folder, files_below, fixture, npy, out, run, run_with, tool};

/// Copies a file of the library's tests.
fn copy(folder: &Folder, name: &str) -> String {
    let ending = Path::new(name).extension().unwrap().to_str().unwrap();
    folder.write(&format!("model.{ending}"), &fs::read(fixture(name)).unwrap())
}

/// Runs `set`, which must succeed without a word.
fn set(path: &str, changes: &[&str]) {
    assert_eq!(out(&[&["set", path], changes].concat()), "", "{changes:?}");
}

/// Runs `set`, which must refuse, leave the file as it is and leave nothing beside it. Returns the message.
fn refused(folder: &Folder, path: &str, changes: &[&str]) -> String {
    let (before, names) = (fs::read(path).unwrap(), folder.names());
    let run = run(&[&["set", path], changes].concat());
    assert_eq!((run.status, run.out.as_str()), (1, ""), "{changes:?}: {}", run.err);
    assert!(fs::read(path).unwrap() == before && folder.names() == names, "{changes:?}");
    assert!(run.err.starts_with("error: ") && run.err.contains(path), "{}", run.err);
    run.err
}

/// The attributes of a file as `list --json` shows them.
fn attributes(path: &str) -> serde_json::Value {
    let record: serde_json::Value = serde_json::from_str(&out(&["list", "--json", path])).unwrap();
    record["attributes"].clone()
}

/// The attributes of a file in their order: key, value, type in GGUF.
fn typed(path: &str) -> Vec<(String, String, String)> {
    let bytes = fs::read(path).unwrap();
    let mut attributes = File::open(&bytes).unwrap().attributes();
    let mut all = Vec::new();
    loop {
        let kind = attributes.value_type().map(|kind| kind.to_string()).unwrap_or_default();
        let Some(attribute) = attributes.next() else { return all };
        let key = attribute.key.unwrap().as_text().unwrap().to_string();
        let value = match attribute.value.as_text() {
            Some(text) => text.to_string(),
            None => format!("{:?}", attribute.value),
        };
        all.push((key, value, kind));
    }
}

fn find(path: &str, key: &str) -> (String, String) {
    typed(path).into_iter().find(|(found, ..)| found == key).map(|(_, value, kind)| (value, kind)).unwrap()
}

#[cfg(unix)]
fn inode(path: &str) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap())
}

/// The names of the tensors, and the bytes of each.
fn tensors(bytes: &[u8]) -> Vec<(String, Vec<Vec<u8>>)> {
    let file = File::open(bytes).unwrap();
    let parts =
        |tensor: tenslice::Tensor<'_>| tensor.components().map(|part| part.stored().unwrap().into()).collect();
    let mut all: Vec<_> = file.tensors().map(|tensor| (tensor.name().to_string(), parts(tensor))).collect();
    all.sort();
    all
}

/// Adding, changing and removing an attribute, in all files of the formats that have attributes.
#[test]
fn every_file_keeps_its_tensors() {
    let folder = Folder::new();
    let (mut checked, mut restored) = (0, 0);
    for name in ["gguf", "safetensors", "v1.1", "v1.2", "v2"] {
        for source in files_below(Path::new(&fixture(name))) {
            let source = source.to_str().unwrap();
            let original = fs::read(source).unwrap();
            let is_json = source.ends_with(".json") || source.ends_with("shards-base.zt");
            let Ok(file) = File::open(&original) else { continue };
            if is_json
                || source.contains("/bad/")
                || file.tensors().any(|tensor| tensor.components().any(|part| part.shard().is_some()))
            {
                continue;
            }
            let before = tensors(&original);
            let path = folder.write("model", &original);
            set(&path, &["a new.key=text"]);
            assert_eq!(find(&path, "a new.key").0, "text", "{source}");
            assert!(tensors(&fs::read(&path).unwrap()) == before, "{source}");
            #[cfg(unix)]
            let number = inode(&path);
            set(&path, &["a new.key=good"]);
            #[cfg(unix)]
            assert_eq!(number, inode(&path), "{source}");
            assert_eq!(find(&path, "a new.key").0, "good", "{source}");
            set(&path, &["--unset", "a new.key"]);
            let after = fs::read(&path).unwrap();
            assert!(tensors(&after) == before, "{source}");
            checked += 1;
            restored += u32::from(after == original);
        }
    }
    // Handmade headers of safetensors are not padded, as they are afterwards.
    assert!(checked > 180 && checked - restored < 40, "{checked} {restored}");
    assert_eq!(folder.names(), ["model"]);
}

#[test]
fn types_of_gguf_stay() {
    let folder = Folder::new();
    let path = copy(&folder, "gguf/kv_all_types.gguf");
    let kinds: Vec<_> = typed(&path).into_iter().map(|(key, _, kind)| (key, kind)).collect();
    let values =
        ["k.u8=255", "k.i8=-128", "k.u16=65535", "k.i16=-1", "k.u32=0", "k.i32=-5", "k.u64=18446744073709551615"];
    set(&path, &values);
    set(&path, &["k.i64=-9223372036854775808", "k.f32=1.25", "k.f64=-1e300", "k.true=false", "k.str=\"quoted\""]);
    assert_eq!(typed(&path).into_iter().map(|(key, _, kind)| (key, kind)).collect::<Vec<_>>(), kinds);
    let all = attributes(&path);
    assert_eq!(all["k.u64"].to_string().trim_matches('"'), u64::MAX.to_string());
    assert_eq!(all["k.i64"].to_string().trim_matches('"'), i64::MIN.to_string());
    assert_eq!((&all["k.u8"], &all["k.i8"], &all["k.true"]), (&255.into(), &(-128).into(), &false.into()));
    assert_eq!((&all["k.f32"], &all["k.f64"], &all["k.str"]), (&1.25.into(), &(-1e300).into(), &"\"quoted\"".into()));
    for (wrong, words) in [
        ("k.u8=256", "u8 holds 0 to 255"),
        ("k.i8=-129", "i8 holds -128 to 127"),
        ("k.u32=many", "\"many\" is not an integer"),
        ("k.u32=1.0", "not an integer"),
        ("k.u64=18446744073709551616", "u64 holds"),
        ("k.f32=1e39", "too large for f32"),
        ("k.f64=1e999", "too large"),
        ("k.f64=", "not a number"),
        ("k.true=1", "neither true nor false"),
        ("general.alignment=64", "laid out"),
        ("split.no=1", "laid out"),
        ("=1", "0 bytes"),
    ] {
        // The first change is fine by itself.
        let message = refused(&folder, &path, &["k.i16=5", wrong]);
        assert!(message.contains(words), "{wrong}: {message}");
    }
    let array = typed(&path).into_iter().find(|(.., kind)| kind == "array").unwrap().0;
    assert!(refused(&folder, &path, &[&format!("{array}=1"), "--type", "u8"]).contains("arrays cannot be set"));
    assert!(refused(&folder, &path, &["--unset", "absent"]).contains("no attribute \"absent\""));
    assert!(refused(&folder, &path, &["--unset", "general.alignment"]).contains("laid out"));
    assert!(refused(&folder, &path, &["k.u8=1", "--unset", "k.u8"]).contains("changed twice"));
}

#[test]
fn new_values_of_gguf_get_types() {
    let folder = Folder::new();
    let path = copy(&folder, "gguf/hm_plain.gguf");
    let before: Vec<String> = typed(&path).into_iter().map(|(key, ..)| key).collect();
    let cases = [
        ("12", "Integer(12)", "u32"),
        ("-12", "Integer(-12)", "i32"),
        ("4294967296", "Integer(4294967296)", "u64"),
        ("-4294967296", "Integer(-4294967296)", "i64"),
        ("true", "Bool(true)", "bool"),
        ("0.5", "Float(0.5)", "f32"),
        ("0.1", "Float(0.1)", "f64"),
        ("1.2.3", "1.2.3", "string"),
        ("", "", "string"),
        ("\"12\"", "12", "string"),
        ("\"a\\n\u{e9}\"", "a\n\u{e9}", "string"),
    ];
    for (number, (value, shown, kind)) in cases.into_iter().enumerate() {
        let key = format!("new.{number}");
        set(&path, &[&format!("{key}={value}")]);
        assert_eq!(find(&path, &key), (shown.into(), kind.into()), "{value}");
    }
    let keys: Vec<String> = typed(&path).into_iter().map(|(key, ..)| key).collect();
    let added = (0..cases.len()).map(|number| format!("new.{number}"));
    assert_eq!(keys, before.into_iter().chain(added).collect::<Vec<_>>(), "new ones come last");
    for (kind, value, shown) in [("u8", "7", "Integer(7)"), ("f32", "0.1", "0.10000000149"), ("string", "1", "1")] {
        set(&path, &[&format!("typed={value}"), "new.0=1", "--type", kind]);
        assert!(find(&path, "typed").0.contains(shown) && find(&path, "typed").1 == kind, "{kind}");
        assert_eq!(find(&path, "new.0").1, kind);
    }
    assert!(refused(&folder, &path, &["x=\"open"]).contains("no string of JSON"));
    assert!(refused(&folder, &path, &["x=18446744073709551616"]).contains("64 bits"));
    assert_eq!(run(&["set", &path, "x=1", "--type", "array"]).status, 2);
}

/// The bytes of a big-endian file and of a version 1 file: their numbers have another order and another width.
#[test]
fn all_versions_of_gguf() {
    let folder = Folder::new();
    for name in ["be_all_values", "be_align64_q8", "hm_v1", "hm_v2_values"] {
        let path = copy(&folder, &format!("gguf/{name}.gguf"));
        set(&path, &["new.text=hello", "new.number=-3"]);
        set(&path, &["new.wide=0.1"]);
        assert_eq!(find(&path, "new.text").0, "hello");
        assert_eq!(find(&path, "new.number").0, "Integer(-3)");
        assert_eq!(find(&path, "new.wide").0, "Float(0.1)");
        let bytes = fs::read(&path).unwrap();
        let at = bytes.windows(10).position(|found| found == b"new.number").unwrap() + 10;
        let number: &[u8] = if name.starts_with("be") {
            &[0, 0, 0, 5, 0xff, 0xff, 0xff, 0xfd]
        } else {
            &[5, 0, 0, 0, 0xfd, 0xff, 0xff, 0xff]
        };
        assert_eq!(&bytes[at..at + 8], number, "{name}");
    }
}

/// A value of the same length: one write into the file, which changes nothing else.
#[test]
#[cfg(unix)]
fn in_place() {
    let folder = Folder::new();
    for (name, key, value, differing) in [
        ("gguf/kv_all_types.gguf", "k.u32", "77", 1..5),
        ("safetensors/py_transformer.safetensors", "format", "pt", 1..3),
        ("v1.2/file_attributes.zt", "framework", "jaxon", 1..20),
        ("v2/file_attributes.zt", "framework", "jaxon", 1..60),
    ] {
        let path = copy(&folder, name);
        let old = find(&path, key).0;
        // The new value has the length of the old one.
        let value: String =
            if old.starts_with("Integer") { value.into() } else { value.chars().cycle().take(old.len()).collect() };
        let (before, number) = (fs::read(&path).unwrap(), inode(&path));
        let link = folder.path("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        set(&link, &[&format!("{key}={value}")]);
        let after = fs::read(&path).unwrap();
        assert_eq!((number, before.len()), (inode(&path), after.len()), "{name}");
        assert!(differing.contains(&before.iter().zip(&after).filter(|(a, b)| a != b).count()), "{name}");
        assert_ne!(find(&path, key).0, old, "{name}");
        // Nothing to do.
        set(&path, &[&format!("{key}={value}")]);
        assert!(fs::read(&path).unwrap() == after && inode(&path) == number);
        fs::remove_file(&link).unwrap();
        fs::remove_file(&path).unwrap();
    }
}

/// A zTensor 2 file with unused bytes before its manifest.
fn large_ztensor2() -> Vec<u8> {
    let mut bytes = fs::read(fixture("v2/file_attributes.zt")).unwrap();
    let footer = bytes.len() - 40;
    let manifest = u64::from_le_bytes(bytes[footer..footer + 8].try_into().unwrap());
    bytes[footer..footer + 8].copy_from_slice(&(manifest + (1 << 18)).to_le_bytes());
    bytes.splice(manifest as usize..manifest as usize, vec![0; 1 << 18]);
    bytes
}

/// The metadata of a larger file are checked in memory, without the data.
#[test]
#[cfg(unix)]
fn large_files_in_place() {
    let folder = Folder::new();
    folder.write("x.zt", &large_ztensor2());
    let source = folder.write("x.npy", &npy("'|i1'", false, "(262144,)", &[7; 1 << 18]));
    for (target, format) in
        [("x.zt", None), ("old.zt", Some("ztensor-1.2")), ("x.gguf", None), ("x.safetensors", None)]
    {
        let path = folder.path(target);
        if target != "x.zt" {
            let format = format.map(|format| ["--format", format]).into_iter().flatten();
            out(&["convert", &source, "-o", &path].into_iter().chain(format).collect::<Vec<_>>());
        }
        set(&path, &["k=one"]);
        let (before, number) = (fs::read(&path).unwrap(), inode(&path));
        set(&path, &["k=two"]);
        let after = fs::read(&path).unwrap();
        assert_eq!((number, find(&path, "k").0.as_str()), (inode(&path), "two"), "{target}");
        assert!(before.iter().zip(&after).filter(|(a, b)| a != b).count() <= 3 + 8, "{target}");
        assert!(tensors(&before) == tensors(&after));
        let long = format!("k={}", "long ".repeat(2000));
        set(&path, &[&long]);
        assert!(number != inode(&path) && tensors(&fs::read(&path).unwrap()) == tensors(&before), "{target}");
        // More bytes than a single short write.
        let number = inode(&path);
        set(&path, &[&long.to_uppercase().replace("K=", "k=")]);
        assert_ne!(number, inode(&path), "{target}");
    }
}

/// Everything but a value of the same length is a new file, which keeps the mode and the place of the old one.
#[test]
#[cfg(unix)]
fn a_copy_replaces_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let path = copy(&folder, "gguf/align_64.gguf");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let link = folder.path("link.gguf");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let (before, number) = (fs::read(&path).unwrap(), inode(&path));
    set(&link, &["a.long.key=a text that is longer than the padding of this file, so that its data move"]);
    let after = fs::read(&path).unwrap();
    assert!(inode(&path) != number && after.len() > before.len());
    assert_eq!(after.len() % 64, before.len() % 64, "the alignment of the file");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(tensors(&before) == tensors(&after));
    assert_eq!(folder.names(), ["link.gguf", "model.gguf"]);
}

#[test]
fn to_another_file() {
    let folder = Folder::new();
    let path = copy(&folder, "gguf/kv_all_types.gguf");
    let other = folder.path("other.gguf");
    let before = fs::read(&path).unwrap();
    set(&path, &["k.u32=77", "-o", &other]);
    assert!(fs::read(&path).unwrap() == before);
    assert_eq!(find(&other, "k.u32").0, "Integer(77)");
    let message = refused(&folder, &path, &["k.u32=78", "-o", &other]);
    assert!(message.contains("--force"), "{message}");
    set(&path, &["k.u32=78", "-o", &other, "--force"]);
    assert_eq!(find(&other, "k.u32").0, "Integer(78)");
    // The file itself, which is mapped while it is replaced.
    set(&path, &["k.u32=79", "-o", &path, "--force"]);
    assert_eq!(find(&path, "k.u32").0, "Integer(79)");
    refused(&folder, &path, &["k.u32=1", "-o", &folder.path("no/such/x.gguf")]);
}

/// The text of the header, whose other entries keep their bytes.
#[test]
fn headers_of_safetensors() {
    let folder = Folder::new();
    let header = |path: &str| {
        let bytes = fs::read(path).unwrap();
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        assert_eq!(&bytes[8 + length..], [1, 2]);
        String::from_utf8(bytes[8..8 + length].into()).unwrap()
    };
    let file = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes(), &[1, 2]].concat();
    let tensor = r#""\u0061":{ "dtype":"U8","shape":[2],"data_offsets":[0,2]}"#;
    let renamed = &tensor.replace("\\u0061", "\u{e9}\\\"b");
    let to = |text: String, length: usize| text.clone() + &" ".repeat(length - text.len());
    let padded = |text: String| to(text.clone(), text.len().next_multiple_of(8));
    let wide = |text: String| to(text.clone(), (text.len() + 24).next_multiple_of(64) - 8);
    let (none, one) = (format!("{{{tensor}}}"), format!("{{{tensor}, \"__metadata__\" : {{\"k\" : \"v\"}} }}"));
    let meta = |pairs: &str| padded(format!("{{\"__metadata__\":{{{pairs}}},{tensor}}}"));
    for (before, changes, after) in [
        (padded(none.clone()), &["n=1"][..], meta(r#""n":"1""#)),
        (padded(none.clone()), &["q=a\"\\/\u{1}\n\u{7f}\u{e9}"], meta("\"q\":\"a\\\"\\\\/\\u0001\\n\u{7f}\u{e9}\"")),
        (meta(r#""k":"v","l":"w""#), &["l=", "m==", "k=true"], meta(r#""k":"true","l":"","m":"=""#)),
        (meta(r#""k":"v","l":"w""#), &["--unset", "k"], meta(r#""l":"w""#)),
        (meta(r#""k":"v""#), &["--unset", "k"], padded(none.clone())),
        (padded(one.clone()), &["--unset", "k"], padded(format!("{{{tensor} }}"))),
        (padded(one.clone()), &["k=longer"], padded(one.replace("\"v\"", "\"longer\""))),
        (padded(one.clone()), &["k2=w"], padded(one.replace("{\"k\" : \"v\"}", "{\"k\":\"v\",\"k2\":\"w\"}"))),
        (padded(none.clone()), &["--rename-tensor", "a=\u{e9}\"b"], padded(format!("{{{renamed}}}"))),
        // The data stay at a multiple of 64.
        (wide(none.clone()), &["key=value"], wide(meta("\"key\":\"value\"").trim_end().into())),
    ] {
        let path = folder.write("x.safetensors", &file(&before));
        set(&path, changes);
        assert_eq!(header(&path), after, "{changes:?}");
    }
    let path = folder.write("x.safetensors", &file(&padded(one)));
    assert!(refused(&folder, &path, &["--rename-tensor", "a=__metadata__"]).contains("__metadata__"));
    assert!(refused(&folder, &path, &["--rename-tensor", "b=c"]).contains("no tensor \"b\""));
    assert!(refused(&folder, &path, &["k=1", "--type", "u8"]).contains("GGUF"));
}

#[test]
fn manifests_of_ztensor() {
    let folder = Folder::new();
    for name in ["v1.1/digests_attributes.zt", "v1.2/file_attributes.zt", "v2/file_attributes.zt"] {
        let path = copy(&folder, name);
        let (before, original) = (typed(&path), tensors(&fs::read(&path).unwrap()));
        set(&path, &["zz=-7", "b=0.1", "c=1.5", "aaaa=true", "d=\"1\"", "e=100000.0"]);
        let text = |value: &str, of_text: &str| if name.contains("1.1") { of_text.into() } else { value.to_owned() };
        for (key, value) in [
            ("zz", text("Integer(-7)", "-7")),
            ("b", text("Float(0.1)", "0.1")),
            ("c", text("Float(1.5)", "1.5")),
            ("aaaa", text("Bool(true)", "true")),
            ("d", text("1", "\"1\"")),
            ("e", text("Float(100000.0)", "100000.0")),
        ] {
            assert_eq!(find(&path, key).0, value, "{name} {key}");
        }
        let bytes = fs::read(&path).unwrap();
        assert!(tensors(&bytes) == original, "{name}");
        let has = |encoded: &[u8]| bytes.windows(encoded.len()).any(|found| found == encoded);
        if !name.contains("1.1") {
            // The shortest floats that are exact: 16, 32 and 64 bits.
            assert!(has(b"ac\xf9\x3e\x00") && has(b"ae\xfa\x47\xc3\x50\x00") && has(b"ab\xfb\x3f\xb9\x99"), "{name}");
        }
        let keys: Vec<String> = typed(&path).into_iter().map(|(key, ..)| key).collect();
        let mut expected: Vec<String> = before.iter().map(|(key, ..)| key.clone()).collect();
        expected.extend(["zz", "b", "c", "aaaa", "d", "e"].map(String::from));
        if name.contains("v2") {
            expected.sort_by_key(|key| (key.len(), key.clone()));
        }
        assert_eq!(keys, expected, "{name}");
        let unset: Vec<&str> = keys.iter().flat_map(|key| ["--unset", key]).collect();
        set(&path, &unset);
        assert!(typed(&path).is_empty() && tensors(&fs::read(&path).unwrap()) == original);
        fs::remove_file(&path).unwrap();
    }
    let path = copy(&folder, "v2/file_attributes.zt");
    let bytes = fs::read(&path).unwrap();
    set(&path, &["n=12"]);
    let changed = fs::read(&path).unwrap();
    let at = |number: usize| u64::from_le_bytes(changed[changed.len() - 40 + number..][..8].try_into().unwrap());
    assert_eq!(at(0), u64::from_le_bytes(bytes[bytes.len() - 40..][..8].try_into().unwrap()));
    assert_eq!(at(16), xxh3_64(&changed[at(0) as usize..][..at(8) as usize]));
    for (wrong, words) in [
        (["n=text"], "not an integer"),
        (["=1"], "has 0 bytes"),
        ([format!("{}=1", "k".repeat(1025)).as_str()], "1025 bytes"),
        (["new=18446744073709551616"], "2^64"),
    ] {
        let message = refused(&folder, &path, &wrong);
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn tensors_get_other_names() {
    let folder = Folder::new();
    for (name, first, second) in [
        ("gguf/align_16.gguf", None, None),
        ("gguf/be_plain_types.gguf", None, None),
        ("gguf/hm_v1.gguf", None, None),
        ("safetensors/py_tiny_mlp.safetensors", Some("fc1.weight"), Some("fc1.bias")),
        ("v1.1/dense_all_dtypes.zt", None, None),
        ("v1.2/dense_all_dtypes.zt", None, None),
        ("v2/dense_all_dtypes_4k.zt", None, None),
    ] {
        let path = copy(&folder, name);
        let bytes = fs::read(&path).unwrap();
        let before = tensors(&bytes);
        let first = first.unwrap_or(&before[0].0);
        let second = second.or(before.get(1).map(|(name, _)| name.as_str()));
        let data_of = |bytes: &[u8], name: &str| {
            tensors(bytes).into_iter().find(|(found, _)| found == name).map(|(_, data)| data)
        };
        // Between and behind all others.
        for new in ["m", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"] {
            set(&path, &["--rename-tensor", &format!("{first}={new}")]);
            let changed = fs::read(&path).unwrap();
            assert_eq!(data_of(&changed, new), data_of(&bytes, first), "{name}");
            assert!(data_of(&changed, first).is_none() && File::open(&changed).unwrap().find(new).is_ok());
            set(&path, &["--rename-tensor", &format!("{new}={first}")]);
            assert!(fs::read(&path).unwrap() == bytes, "{name} {new}");
        }
        if let Some(second) = second {
            let (there, back) = (format!("{first}={second}"), format!("{second}={first}"));
            assert!(refused(&folder, &path, &["--rename-tensor", &there]).contains("already"), "{name}");
            set(&path, &["--rename-tensor", &there, "--rename-tensor", &back]);
            let changed = fs::read(&path).unwrap();
            assert_eq!(data_of(&changed, first), data_of(&bytes, second), "{name}");
            assert_eq!(data_of(&changed, second), data_of(&bytes, first), "{name}");
            let twice = ["--rename-tensor", &there, "--rename-tensor", &format!("{first}=x")];
            assert!(refused(&folder, &path, &twice).contains("renamed twice"));
        }
        if name.contains("gguf") {
            let [longest, longer] = [63, 64].map(|length| format!("{first}={}", "n".repeat(length)));
            assert!(refused(&folder, &path, &["--rename-tensor", &longer]).contains("64 bytes"), "{name}");
            set(&path, &["--rename-tensor", &longest]);
        }
        if name.contains("v2") {
            assert!(refused(&folder, &path, &["--rename-tensor", &format!("{first}=")]).contains("0 bytes"));
        }
    }
}

#[test]
fn what_cannot_be_changed() {
    let folder = Folder::new();
    for (name, words) in [
        ("npy/dt_le_f4.npy", "npy files have no attributes"),
        ("npz/stored.npz", "npz files have no attributes"),
        ("v1.0/zstd.zt", "1.1, 1.2 and 2"),
        ("v0.1/zstd.zt", "1.1, 1.2 and 2"),
        ("safetensors/rs_sharded.safetensors.index.json", "one of its files"),
    ] {
        let path = copy(&folder, name);
        let message = refused(&folder, &path, &["a=b"]);
        assert!(message.contains(words), "{name}: {message}");
    }
    for path in ["-", folder.path("").as_str()] {
        let run = run_with(&["set", path, "a=b"], b"");
        assert!(run.status == 1 && run.err.contains("regular file"), "{}", run.err);
    }
    let path = copy(&folder, "gguf/rank1.gguf");
    for wrong in [&[][..], &["key"], &["--rename-tensor", "name"], &["a=b", "--force"], &["a=b", "--type", "f8"]] {
        let run = run(&[&["set", &path], wrong].concat());
        assert_eq!(run.status, 2, "{wrong:?}: {}", run.err);
    }
}

/// One part of a model of several files is changed by itself.
#[test]
fn a_part_of_a_model() {
    let folder = Folder::new();
    let path = copy(&folder, "gguf/split_00001.gguf");
    set(&path, &["general.name=a part"]);
    assert_eq!(find(&path, "general.name").0, "a part");
    let shard = copy(&folder, "safetensors/rs_sharded-00002-of-00002.safetensors");
    set(&shard, &["k=v"]);
    assert_eq!(find(&shard, "k").0, "v");
    // No index lists this file.
    set(&shard, &["--rename-tensor", "dec.w=w"]);
}

#[test]
fn warns_of_an_index_that_lists_the_old_name() {
    let folder = Folder::new();
    let [shard, index] = ["rs_sharded-00002-of-00002.safetensors", "rs_sharded.safetensors.index.json"];
    for name in [shard, index] {
        fs::copy(fixture(&format!("safetensors/{name}")), folder.path(name)).unwrap();
    }
    let path = folder.path(shard);
    let again = folder.path("copy.safetensors");
    set(&path, &["--rename-tensor", "dec.w=w", "-o", &again]);
    set(&path, &["k=v"]);
    // The path of a file may have no folder.
    let mut command = tool();
    command.args(["set", shard, "--rename-tensor", "dec.w=w"]).current_dir(folder.as_path());
    let renamed = command.output().unwrap();
    let text = String::from_utf8(renamed.stderr).unwrap();
    assert!(renamed.status.success(), "{text}");
    assert!(text.starts_with(&format!("warning: {index} still lists tensor \"dec.w\" in this file")), "{text}");
    // The file agrees with the index again.
    set(&path, &["--rename-tensor", "w=dec.w"]);
}
