//! The structure of the code: the dependencies between modules, the files with `unsafe`, and the pinned numbers.

use std::fs;
use std::path::{Path, PathBuf};

use tenslice::{
    ByteOrder, Caps, DType, Encoding, ErrorKind, Feature, Format, Layout, Order, Part, ProblemKind, Purpose,
    ValueKind, Warning,
};

fn sources() -> Vec<(String, String)> {
    fn below(folder: &Path, root: &Path, all: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                below(&path, root, all);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
                all.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    below(&root, &root, &mut all);
    assert!(all.len() > 20);
    all.sort();
    all
}

/// The lines of a file, without lines that are comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.starts_with("//"))
}

/// The layer of a module. A module may depend on lower layers, and on its siblings in the same folder.
fn layer(module: &str) -> usize {
    const LAYERS: &[&[&str]] = &[
        &["error/abi_enum"],
        &["error/origin", "error/warning"],
        &["error"],
        &["bytes"],
        &["types"],
        &["types/shape", "types/element", "types/float", "duplicates"],
        &["codec/decoder", "codec/cpu", "codec/crc", "codec/sparse"],
        &["codec", "write/declaration", "write/out", "write/sum"],
        &["attributes"],
        &["format"],
        &["view/component", "view/plan", "write"],
        &["view/tensor"],
        &["view/numbers", "view/index", "view/entry"],
        &["view/file"],
        &["view/requirements"],
        &["view/explain", "write/explain"],
        &["view/get"],
        &["view/model"],
        &["view", "lib", "capi"],
    ];
    let module = module.trim_end_matches(".rs").trim_end_matches("/mod");
    // A file of a folder is on its folder's floor, unless the list names the file.
    let mut parts = module.splitn(3, '/');
    let folder = parts.next().unwrap();
    let file = parts.next().map(|file| format!("{folder}/{file}"));
    let floor = |name: &str| LAYERS.iter().position(|layer| layer.contains(&name));
    let found = file.as_deref().and_then(floor).or_else(|| floor(folder));
    found.unwrap_or_else(|| panic!("{module} has no layer"))
}

#[test]
fn modules_depend_only_on_lower_layers() {
    for (name, text) in sources() {
        // Only the top layers may use the short names that lib.rs re-exports.
        let text = text.split("#[cfg(test)]").next().unwrap();
        for line in code(text).filter(|_| layer(&name) < layer("capi")) {
            for (at, _) in line.match_indices("crate::") {
                let rest = &line[at + "crate::".len()..];
                let mut path =
                    rest.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').next().unwrap().split("::");
                let module = path.next().unwrap();
                assert!(!module.starts_with(char::is_uppercase), "{name} takes {module} from the top: {line}");
                let used = path.next().map_or(module.to_owned(), |file| format!("{module}/{file}"));
                assert!(layer(&used) <= layer(&name), "{name} uses {used}, which is above it: {line}");
                // The table of the formats, in mod.rs, is for the layers above.
                if name.starts_with("format/") && name != "format/mod.rs" && module == "format" {
                    let sub = rest.strip_prefix("format::").unwrap_or(rest);
                    let other = sub.split("::").next().unwrap().trim_start_matches('{');
                    assert!(other.starts_with(char::is_uppercase), "{name} uses the format {other}: {line}");
                }
            }
        }
    }
}

/// In the C ABI `unsafe` is allowed where pointers become references, where the program panics or allocates, and
/// where a library is linked. In three files of `src/codec` it is allowed for instructions that not every machine of a
/// target has.
#[test]
fn unsafe_code_is_only_in_listed_files() {
    let may_have = |name: &str| {
        let of_capi = [
            "pointer",
            "handles",
            "decoder",
            "declared",
            "panic",
            "alloc",
            "tests",
            "get_tests",
            "model_tests",
            "other_tests",
            "write_tests",
            "test_args",
        ];
        let of_codec = ["cpu", "crc", "f16"];
        of_codec.iter().any(|module| name == format!("codec/{module}.rs"))
            || of_capi.iter().any(|module| name == format!("capi/{module}.rs"))
    };
    for (name, text) in sources() {
        // The types of C functions and link declarations do not count.
        let is_code = |line: &&str| !line.contains("unsafe extern \"C\"") && !line.contains("#[unsafe(no_mangle)]");
        let count =
            code(&text).filter(is_code).filter(|line| line.contains("unsafe ") || line.contains("unsafe(")).count();
        assert!(count == 0 || may_have(&name), "{name}");
        let may_allow = may_have(&name) || name.starts_with("capi/") || name == "lib.rs" || name == "codec/mod.rs";
        assert!(may_allow || text.contains("#![forbid(unsafe_code)]"), "{name}");
    }
}

/// Ensures that `make miri` covers the whole C ABI.
#[test]
fn the_tests_for_miri_call_every_function() {
    let (tests, capi): (Vec<_>, Vec<_>) = sources()
        .into_iter()
        .filter(|(name, _)| name.starts_with("capi/"))
        .partition(|(name, _)| name.contains("tests"));
    let calls: String = tests.into_iter().map(|(_, text)| text).collect();
    let mut count = 0;
    for (name, text) in capi {
        for line in code(&text) {
            // The functions for blocks are rows of a macro.
            let row = Some(line).filter(|line| line.starts_with("tenslice_") && line.contains("_to_f32,"));
            let Some(rest) = line.split_once("pub extern \"C\" fn ").map(|(_, rest)| rest).or(row) else { continue };
            let function = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap();
            if function.starts_with("tenslice_") {
                let called = calls.contains(&format!("{function}(")) || calls.contains(&format!("{function}: "));
                assert!(called, "{name}: {function}");
                count += 1;
            }
        }
    }
    assert!(count > 150, "{count}");
}

/// The comment of a C function that can find bytes missing names that error, also if it refers to another function for
/// its errors.
#[test]
fn missing_bytes_are_an_error_of_every_call_that_reads() {
    let mut comments = Vec::new();
    for (_, text) in sources().into_iter().filter(|(name, _)| name.starts_with("capi/")) {
        let mut comment = String::new();
        for line in text.lines() {
            if let Some(words) = line.strip_prefix("/// ") {
                comment = format!("{comment} {words}");
            } else if let Some((_, rest)) = line.split_once("pub extern \"C\" fn ") {
                let (function, _) = rest.split_once(['(', '<']).unwrap();
                comments.push((function.to_string(), std::mem::take(&mut comment)));
            } else if !line.starts_with("#[") && line != "///" {
                comment.clear();
            }
        }
    }
    let reads: Vec<&str> =
        comments.iter().filter(|(_, comment)| comment.contains("NOT_IN_MEMORY")).map(|(name, _)| &**name).collect();
    for (function, comment) in &comments {
        let Some((_, errors)) = comment.split_once("Errors: ") else { continue };
        let inherits = |name: &&str| {
            let word = |c: char| !c.is_ascii_alphanumeric() && c != '_';
            errors.contains("errors of") && errors.split(word).any(|other| other == *name)
        };
        let inherited = reads.iter().find(|name| inherits(name));
        assert!(inherited.is_none() || comment.contains("NOT_IN_MEMORY"), "{function}: {inherited:?}");
    }
    assert!(reads.len() > 25, "{reads:?}");
}

/// Let chains need Rust 1.88, and no lint reports them.
#[test]
fn syntax_is_that_of_the_declared_rust_version() {
    for (name, text) in sources() {
        let mut is_open = false;
        let chain = code(&text).find(|line| {
            let line = line.trim_start();
            // A condition with a pattern, and another one on the same line or on the next.
            let has_pattern = line.starts_with("if let ") || line.starts_with("while let ");
            let is_chain = line.contains("&& let ")
                || has_pattern && line.contains(" && ")
                || is_open && line.starts_with("&& ");
            is_open = (has_pattern || is_open) && !line.ends_with('{');
            is_chain
        });
        assert_eq!(chain, None, "{name}");
    }
}

#[test]
fn files_are_short() {
    for (name, text) in sources() {
        assert!(text.lines().count() < 700, "{name}");
    }
}

/// The numbers are a promise to compiled C programs: changing a line here breaks them.
#[test]
fn the_codes_are_pinned() {
    let mut codes = String::new();
    let mut list = |what: &str, entries: Vec<(&str, u64)>| {
        entries.iter().for_each(|(name, code)| codes += &format!("{what} {name} {code}\n"));
    };
    list("ErrorKind", ErrorKind::ALL.iter().map(|v| (v.name(), v.code().into())).collect());
    list("DType", DType::ALL.iter().map(|(v, name)| (*name, v.code().into())).collect());
    list("Format", Format::ALL.iter().map(|v| (v.name(), v.code().into())).collect());
    list("Part", Part::ALL.iter().map(|v| (v.name(), v.code().into())).collect());
    list("Layout", Layout::ALL.iter().map(|v| (v.name(), v.code().into())).collect());
    list("Order", Order::ALL.iter().map(|v| (v.name(), v.code().into())).collect());
    list("ByteOrder", ByteOrder::ALL.iter().map(|v| (v.name(), v.code().into())).collect());
    list("ProblemKind", ProblemKind::ALL.iter().map(|v| (v.name(), v.code().into())).collect());
    list("Purpose", Purpose::ALL.iter().map(|v| (v.name(), v.code().into())).collect());
    list("Encoding", Encoding::ALL.iter().map(|v| (v.name(), v.code().into())).collect());
    list("ValueKind", ValueKind::ALL.iter().map(|v| (v.name(), v.code().into())).collect());
    list("Feature", Feature::ALL.iter().map(|v| (v.name(), v.code().into())).collect());
    list("Warning", Warning::ALL.iter().map(|v| (v.name(), v.code().into())).collect());
    let none = Caps::default();
    let caps = [
        ("bytes", Caps { bytes: true, ..none }),
        ("range", Caps { range: true, ..none }),
        ("decode", Caps { decode: true, ..none }),
        ("verify", Caps { verify: true, ..none }),
    ];
    list("Caps", caps.iter().map(|(name, caps)| (*name, caps.bits().into())).collect());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/codes.txt");
    let recorded = fs::read_to_string(path).unwrap();
    // Recorded numbers must not change. TENSLICE_UPDATE=1 records additions.
    for line in recorded.lines() {
        assert!(codes.contains(&format!("{line}\n")), "gone or renumbered: {line}");
    }
    if std::env::var_os("TENSLICE_UPDATE").is_some() {
        fs::write(path, &codes).unwrap();
    }
    for line in codes.lines().filter(|_| std::env::var_os("TENSLICE_UPDATE").is_none()) {
        assert!(recorded.contains(&format!("{line}\n")), "tests/codes.txt: add the new code `{line}`");
    }
    assert!(Warning::ALL.iter().all(|warning| warning.code() < 32));
    for (dtype, _) in DType::ALL {
        assert!(
            (dtype.bits().is_power_of_two() || dtype.bits() == 6) && DType::from_code(dtype.code()) == Some(*dtype)
        );
    }
}

/// A format missing from one of several lists would silently be missing from what is shipped or tested. There are two
/// lists: the table, and the feature `formats`, which all builds with explicit features use.
#[test]
fn scripts_have_no_list_of_formats() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    let formats: Vec<String> = crate::every_format::table().into_iter().map(|format| format.feature).collect();
    let manifest = read("Cargo.toml");
    let default = manifest.lines().find(|line| line.starts_with("default = [")).unwrap();
    assert!(default.contains("\"formats\"")); // for the tests, the fuzz targets, the documentation
    for format in &formats {
        assert!(root.join("src/format").join(format).is_dir(), "no folder for {format}");
    }
    // The C library, the panic proofs, the record of its ABI, other machines, the firmware.
    for path in [
        "Makefile",
        ".ci/chips",
        ".ci/tests",
        ".ci/no-panic",
        ".ci/no-panic-zlib",
        ".ci/miri",
        "packaging/abi.sh",
        "packaging/formats.sh",
        "c-tests/targets.sh",
        "examples/firmware/build.sh",
        "examples/firmware/size.sh",
    ] {
        let text = read(path);
        assert!(text.contains("formats"), "{path}");
        let by_hand = text.lines().find(|line| formats.iter().all(|format| line.contains(format.as_str())));
        assert_eq!(by_hand.filter(|line| !line.contains("folders=")), None, "{path}");
    }
}

/// A filter that matches no test would pass without a test.
#[test]
fn filters_of_tests_name_modules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_in = |module: &str, folder: &str| {
        let folder = root.join("tests").join(folder);
        let main = ["main.rs", "mod.rs"].iter().find_map(|file| fs::read_to_string(folder.join(file)).ok());
        let declares = |line: &str| line.trim_start_matches("pub(crate) ") == format!("mod {module};");
        main.is_some_and(|text| text.lines().any(declares)) // the fuzz targets have no folder here
    };
    let mut count = 0;
    let (mut left_out, mut run) = (Vec::new(), Vec::new());
    let texts = ["Makefile", ".ci/coverage", "c-tests/targets.sh"]
        .map(|path| (path, fs::read_to_string(root.join(path)).unwrap().replace("\\\n", " ")));
    for (path, text) in &texts {
        for command in text.lines() {
            let words: Vec<&str> = command.split_whitespace().collect();
            let after = |option: &str| -> Vec<&str> {
                words.windows(2).filter(|two| two[0] == option).map(|two| two[1]).collect()
            };
            let modules: Vec<&str> = words.iter().filter_map(|word| word.strip_suffix("::")).collect();
            let skipped: Vec<&str> = after("--skip").iter().filter_map(|word| word.strip_suffix("::")).collect();
            assert_eq!(skipped.len(), after("--skip").len(), "{path}: a word after --skip is no module: {command}");
            // Filters are the words behind `--` and behind the name of a test, except for options.
            let is_run = ["test", "test_on"].iter().any(|word| words.contains(word)) && !words.contains(&"run");
            let places = words.iter().enumerate().filter(|(_, word)| is_run && matches!(**word, "--" | "--test"));
            for (at, word) in places {
                let first = at + if *word == "--" { 1 } else { 2 };
                let is_cargos = *word == "--test"; // its other options may follow
                let behind = words.iter().skip(first).take_while(|word| !word.contains(['>', '|', ';']));
                for filter in behind.take_while(|word| !(is_cargos && word.starts_with('-'))) {
                    let is_filter = filter.ends_with("::") || *filter == "--skip";
                    assert!(is_filter, "{path}: the filter {filter} is no module: {command}");
                }
            }
            let mut folders = after("--test");
            for filter in after("--lib").into_iter().filter(|word| !word.starts_with('-')) {
                assert!(filter.ends_with("::"), "{path}: the filter {filter} is no module: {command}");
                folders.push("../src/codec"); // the unit tests that are chosen
            }
            if folders.is_empty() {
                folders = vec!["build", "formats", "properties", "reference", "time"]; // a list in a variable
            }
            for module in &modules {
                let is_there = folders.iter().any(|folder| is_in(module, folder));
                assert!(is_there, "{path}: {folders:?} have no module {module}: {command}");
                count += 1;
            }
            // A program whose tests are all filtered out passes.
            let chosen: Vec<&&str> = modules.iter().filter(|module| !skipped.contains(module)).collect();
            for folder in folders.iter().filter(|_| !chosen.is_empty()) {
                let has_one = chosen.iter().any(|module| is_in(module, folder));
                assert!(has_one, "{path}: no filter leaves a test of {folder}: {command}");
            }
            left_out.extend(skipped.clone());
            let is_whole = chosen.is_empty() && (words.contains(&"--test") || words.contains(&"--all-targets"));
            // With other features, or built for a chip, it is another library.
            let is_usual =
                !words.iter().any(|word| *word == "--no-default-features" || word.starts_with("TENSLICE_SMALL"));
            if *path == "Makefile" && is_run && is_whole && is_usual {
                run.push((folders.clone(), skipped.clone()));
            }
        }
    }
    assert!(count > 10, "{count}");
    // A command leaves out a module only if another one runs it.
    for module in &left_out {
        let runs = |(folders, skipped): &(Vec<&str>, Vec<&str>)| {
            !skipped.contains(module) && folders.iter().any(|folder| is_in(module, folder))
        };
        assert!(run.iter().any(runs), "no command of the Makefile runs {module}");
    }
}
