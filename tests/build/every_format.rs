//! Every place that a new format needs, besides its folder in `src/format`.
//!
//! The list of formats is the table in `src/format/mod.rs`. Each test stands for one place and reports every format
//! that lacks the place: the file, and what to add to it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

/// Names of a format that differ from the name of its feature. A new format needs a line here only for such a name.
///
/// - `ending`: the endings of its files, without the dot.
/// - `title`: the name in texts, in any case.
/// - `page`: the page in docs, and the section of the page if the page describes several formats.
/// - `tests`: the module in tests/formats.
/// - `folder`: the folder of fixtures.
/// - `time`: the column in the table of tests/time.
const OTHER_NAMES: &[(&str, &str, &str)] = &[
    ("ztensor", "ending", "zt"),
    ("ztensor", "tests", "manifest"),
    ("ztensor", "folder", "v1.0"),
    ("ztensor", "time", "zt1"),
    ("ztensor2", "ending", "zt"),
    ("ztensor2", "title", "zTensor 2"),
    ("ztensor2", "folder", "v2"),
    ("ztensor2", "time", "zt2"),
    ("b2nd", "ending", "b2nd b2frame"),
    ("b2nd", "title", "Blosc2"),
    ("npz", "page", "npy.md#npz"),
    ("pytorch", "ending", "pt"),
    ("ptd", "title", "ExecuTorch"),
];

/// Formats that lack a place, and the reason. The place is the name of a test below.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("safetensors", "detection", "it has no magic: `detect` reads the length of the header and its first byte"),
    (
        "pytorch",
        "detection",
        "it has no magic: `detect` looks for a `data.pkl` in an archive, or the start of a stream",
    ),
    (
        "onnx",
        "detection",
        "it has no magic: `AnyFile::open` walks the fields of a file that no other format has taken",
    ),
    (
        "onnx",
        "truncation_test",
        "a truncated model is a file of no format: `other` in src/format says how many bytes are missing",
    ),
    ("ztensor2", "damage_tests", "its files are too large: tests/formats/ztensor2.rs has tests of its own"),
    ("ztensor2", "tool_help", "it is listed as zTensor"),
    ("ztensor", "c_functions", "all of it is in the common functions"),
    ("ztensor", "cpp_accessor", "it has no C functions of its own"),
    ("ztensor", "differential", "its files are grouped by version"),
    ("ztensor2", "differential", "its files are grouped by version"),
];

/// A line of the table in `src/format/mod.rs`.
pub struct Format {
    pub feature: String,
    variant: String,
    has_magic: bool,
    accessor: String,
}

impl Format {
    /// The names of `kind` in [`OTHER_NAMES`], or the feature.
    fn names(&self, kind: &str) -> Vec<&str> {
        let other = OTHER_NAMES.iter().find(|(feature, of, _)| *feature == self.feature && *of == kind);
        match other {
            Some((_, "ending", names)) => names.split(' ').collect(),
            Some((.., name)) => vec![name],
            None => vec![&self.feature],
        }
    }

    fn name(&self, kind: &str) -> &str {
        self.names(kind)[0]
    }

    /// The page in docs, and its section.
    fn page(&self) -> (String, Option<String>) {
        match self.name("page").split_once('#') {
            Some((page, section)) => (page.to_owned(), Some(section.to_owned())),
            None => (format!("{}.md", self.feature), None),
        }
    }

    /// True if a file of the format's folder in src contains `text`.
    fn source_has(&self, text: &str) -> bool {
        let folder = root().join("src/format").join(&self.feature);
        files_below(&folder).iter().any(|path| fs::read_to_string(path).unwrap().contains(text))
    }
}

/// The formats in the table of `src/format/mod.rs`.
pub fn table() -> Vec<Format> {
    let text = read("src/format/mod.rs");
    let table = text.split("macro_rules! formats").nth(1).unwrap().split("pub(crate) use formats").next().unwrap();
    let mut lines = table.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    let mut all = Vec::new();
    while let Some(line) = lines.by_ref().find(|line| line.starts_with('"')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let accessor = words.iter().find(|word| word.starts_with("as_")).copied();
        all.push(Format {
            feature: words[0].trim_matches('"').to_owned(),
            variant: words[1].to_owned(),
            has_magic: !line.contains("[]"),
            accessor: accessor.or_else(|| lines.next()?.split_whitespace().next()).unwrap().to_owned(),
        });
    }
    assert!(!all.is_empty(), "src/format/mod.rs: the table was not found");
    all
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The text of a file of the project; empty if there is no such file.
fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_default()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files
}

/// True if `text` contains `word`, with no letter, digit or underscore next to it.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
}

/// The message about a place that a format lacks: the file, and what to add to it. `None` if the place is there.
fn unless(is_there: bool, path: &str, advice: String) -> Option<String> {
    (!is_there).then(|| format!("{path}: {advice}"))
}

/// Fails with the messages of `missing` for all formats, except the [`EXCEPTIONS`]. Also fails for an exception that is
/// no longer needed.
fn every_format_has<const N: usize>(place: &str, missing: impl Fn(&Format) -> [Option<String>; N]) {
    let mut messages = Vec::new();
    for format in table() {
        let missing: Vec<String> = missing(&format).into_iter().flatten().collect();
        let is_exception = EXCEPTIONS.iter().any(|(feature, at, _)| *feature == format.feature && *at == place);
        if is_exception && missing.is_empty() {
            messages.push(format!(
                "tests/build/every_format.rs: remove {} and {place} from EXCEPTIONS: the place is there",
                format.feature
            ));
        } else if !is_exception {
            messages.extend(missing);
        }
    }
    assert!(messages.is_empty(), "some formats lack the place `{place}`:\n  {}\n", messages.join("\n  "));
}

/// The feature, and its name in the feature `formats`, which the Makefile, the scripts and CI build.
#[test]
fn cargo_feature() {
    let manifest = read("Cargo.toml");
    let formats = manifest.lines().find(|line| line.starts_with("formats = [")).unwrap();
    every_format_has("cargo_feature", |format| {
        let feature = &format.feature;
        let is_feature = manifest.lines().any(|line| line.starts_with(&format!("{feature} = [")));
        [
            unless(is_feature, "Cargo.toml", format!("add `{feature} = []` to [features]")),
            unless(
                formats.contains(&format!("\"{feature}\"")),
                "Cargo.toml",
                format!("add \"{feature}\" to `formats`"),
            ),
        ]
    });
    for listed in formats.split('"').skip(1).step_by(2) {
        let is_format = table().iter().any(|format| format.feature == listed);
        assert!(
            is_format,
            "src/format/mod.rs: the table has no line for {listed}, which Cargo.toml lists in `formats`"
        );
    }
}

/// The code by which a C program asks if the format is built in.
#[test]
fn feature_code() {
    let list = read("src/types/feature.rs");
    every_format_has("feature_code", |format| {
        let line = format!(", \"{}\", ", format.feature);
        let advice = format!("add `{} = NEXT{line}…;`", format.variant);
        [unless(list.contains(&line), "src/types/feature.rs", advice)]
    });
}

#[test]
fn tests_of_the_format() {
    let modules = read("tests/formats/main.rs");
    every_format_has("tests_of_the_format", |format| {
        let name = format.name("tests");
        let path = format!("tests/formats/{name}.rs");
        let has_module = modules.lines().any(|line| line == format!("mod {name};"));
        [
            unless(!read(&path).is_empty(), &path, "add this file: a test of every field and every rule".into()),
            unless(has_module, "tests/formats/main.rs", format!("add `mod {name};`")),
        ]
    });
}

/// The tests find a fixture by its ending, and skip it if its format is not built in.
#[test]
fn test_support() {
    let path = "tests/support/mod.rs";
    let text = read(path);
    let endings = text.split("const ENDINGS").nth(1).unwrap().split("];").next().unwrap();
    every_format_has("test_support", |format| {
        let feature = &format.feature;
        let is_listed = text.contains(&format!("(\"{feature}\", cfg!(feature = \"{feature}\"))"));
        let missing: Vec<&str> =
            format.names("ending").into_iter().filter(|ending| !endings.contains(&format!("\"{ending}\""))).collect();
        [
            unless(missing.is_empty(), path, format!("add {missing:?} to ENDINGS")),
            unless(is_listed, path, format!("add (\"{feature}\", cfg!(feature = \"{feature}\")) to `is_built_in`")),
        ]
    });
}

/// The side-cars of the fixtures of a format, each with the path of its file.
fn side_cars(format: &Format) -> Vec<(PathBuf, Json)> {
    let mut all = Vec::new();
    for path in files_below(&root().join("tests/fixtures")) {
        let is_of_format = |file: &Path| {
            format.names("ending").iter().any(|ending| file.extension().is_some_and(|found| found == *ending))
        };
        if !is_of_format(&path) {
            continue;
        }
        let names = [PathBuf::from(format!("{}.json", path.display())), path.with_extension("json")];
        let Some(text) = names.iter().find_map(|name| fs::read_to_string(name).ok()) else { continue };
        let side_car: Json = serde_json::from_str(&text).unwrap();
        let feature = match (side_car["format"].as_str(), side_car["generation"].as_str()) {
            (Some("ztensor"), Some("2")) => "ztensor2",
            (Some("b2frame"), _) => "b2nd", // a frame without an array
            (Some(name), _) => name,
            (None, _) => continue,
        };
        if feature == format.feature {
            all.push((path, side_car));
        }
    }
    all
}

#[test]
fn fixtures() {
    let readme = read("tests/fixtures/README.md");
    every_format_has("fixtures", |format| {
        let expected: Vec<Json> =
            side_cars(format).into_iter().map(|(_, side_car)| side_car["expect"].clone()).collect();
        let has = |expect: &str| expected.iter().any(|found| found == expect);
        let folder = format.name("folder");
        let path = format!("tests/fixtures/{folder}");
        let advice = |verdict: &str| {
            let (feature, ending) = (&format.feature, format.name("ending"));
            format!(
                "add files below 8 KiB, together more than 1000 bytes: NAME.{ending} with the side-car \
                 NAME.{ending}.json: {{\"format\": \"{feature}\", \"expect\": \"{verdict}\", \"tensors\": […]}}, \
                 as in tests/fixtures/v1.0"
            )
        };
        [
            unless(has("accept"), &path, advice("accept")),
            unless(has("reject"), &path, advice("reject")),
            unless(
                readme.contains(&format!("`{folder}`")),
                "tests/fixtures/README.md",
                format!("add `{folder}`: the programs that wrote the files"),
            ),
        ]
    });
}

/// A format has a magic, and its fixtures are detected.
#[test]
fn detection() {
    every_format_has("detection", |format| {
        let feature = &format.feature;
        let advice = format!("{feature} has no magic: add a rule to `detect`, and a line to EXCEPTIONS of this test");
        [unless(format.has_magic, "src/format/mod.rs", advice)]
    });
    if cfg!(feature = "formats") {
        for format in table() {
            for (path, _) in side_cars(&format).iter().filter(|(_, side_car)| side_car["expect"] == "accept") {
                let bytes = fs::read(path).unwrap();
                let found =
                    tenslice::File::open(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                assert_eq!(found.format().name(), format.variant, "{}", path.display());
            }
        }
    }
}

#[test]
fn damage_tests() {
    let path = "tests/properties/damage.rs";
    let text = read(path);
    let list = text.split("of_each_format!(").nth(1).unwrap().split(')').next().unwrap();
    every_format_has("damage_tests", |format| {
        let feature = &format.feature;
        [unless(has_word(list, feature), path, format!("add `{feature}` to `of_each_format!`"))]
    });
}

#[test]
fn truncation_test() {
    let path = "tests/properties/truncated.rs";
    let text = read(path);
    every_format_has("truncation_test", |format| {
        let name = format!("Format::{}", format.variant);
        let advice = format!(
            "add {name} to the formats that state the number of missing bytes, which `Context::needed` gives"
        );
        [unless(has_word(&text, &name), path, advice)]
    });
}

#[test]
fn time_tests() {
    let text = read("tests/time/main.rs");
    let columns = text.lines().find(|line| line.trim().starts_with("dimension ")).unwrap();
    let cases = text.split("const CASES").nth(1).unwrap().split("\n];").next().unwrap();
    every_format_has("time_tests", |format| {
        let column = format.name("time");
        let has_case = cases.contains(&format!("\", \"{column}\", \""));
        let advice =
            format!("add cases of {column} to CASES, and tests/time/doubled/{}.rs to make files", format.feature);
        [
            unless(has_word(columns, column), "tests/time/main.rs", format!("add a column `{column}` to TABLE")),
            unless(has_case, "tests/time/main.rs", advice),
        ]
    });
}

/// A format whose files or tensors have attributes is tested with attributes.
#[test]
fn attributes() {
    every_format_has("attributes", |format| {
        let path = format!("tests/formats/{}.rs", format.name("tests"));
        let has_any = format.source_has("fn attributes(&self) ") || format.source_has("fn tensor_attributes(&self");
        let advice = "add a test that reads attributes: `file.attributes()` or `tensor.attributes()`".into();
        [unless(!has_any || read(&path).contains(".attributes()"), &path, advice)]
    });
}

/// The endings by which the tool and the helpers for Rust and C find files in a folder.
#[test]
fn tool_endings() {
    let paths = ["host/src/names.rs", "host/tenslice_host.c"];
    let texts = paths.map(read);
    every_format_has("tool_endings", |format| {
        let endings: Vec<String> = format.names("ending").iter().map(|ending| format!(".{ending}")).collect();
        [0, 1].map(|i| {
            let is_missing = |ending: &&String| !texts[i].contains(&format!("\"{ending}\""));
            let missing: Vec<&String> = endings.iter().filter(is_missing).collect();
            unless(missing.is_empty(), paths[i], format!("add {missing:?} to the endings"))
        })
    });
}

/// The sections of the specification that `tenslice explain` prints.
#[test]
fn tool_sections() {
    let path = "cli/src/commands/explain/sections.rs";
    let text = read(path);
    every_format_has("tool_sections", |format| {
        let name = format!("Format::{}", format.variant);
        [unless(has_word(&text, &name), path, format!("add an arm for {name}: the specification and its section"))]
    });
}

#[test]
fn tool_help() {
    let (main, manifest) = (read("cli/src/main.rs"), read("cli/Cargo.toml"));
    let help = main.lines().find(|line| line.starts_with("/// Inspect tensor files:")).unwrap().to_lowercase();
    let package = manifest.lines().find(|line| line.starts_with("description = ")).unwrap().to_lowercase();
    every_format_has("tool_help", |format| {
        let title = format.name("title");
        let lower = title.to_lowercase();
        [
            unless(
                has_word(&help, &lower),
                "cli/src/main.rs",
                format!("add {title} to the help: `Inspect tensor files:`"),
            ),
            unless(has_word(&package, &lower), "cli/Cargo.toml", format!("add {title} to the description")),
        ]
    });
}

#[test]
fn readme_row() {
    let text = read("README.md");
    every_format_has("readme_row", |format| {
        let page = format.page();
        let link = format!("](docs/{})", page.1.map_or(page.0.clone(), |section| format!("{}#{section}", page.0)));
        let has_row = text.lines().any(|line| line.starts_with("| [") && line.contains(&link));
        [unless(has_row, "README.md", format!("add a row to the table of formats, with the link {link}"))]
    });
}

#[test]
fn docs_page() {
    every_format_has("docs_page", |format| {
        let (page, section) = format.page();
        let path = format!("docs/{page}");
        let text = read(&path).to_lowercase();
        let has_section = section.is_none_or(|section| text.lines().any(|line| line == format!("## {section}")));
        [
            unless(!text.is_empty(), &path, "add this page: what it reads, with a runnable example".into()),
            unless(has_section, &path, format!("add a section for {}", format.feature)),
        ]
    });
}

/// The examples of the page run as tests.
#[test]
fn docs_page_is_tested() {
    let text = read("src/lib.rs");
    every_format_has("docs_page_is_tested", |format| {
        let path = format!("\"../docs/{}\"", format.page().0);
        let advice = format!("add `{} {path}` to `pages!`, so that the examples are tests", format.feature);
        [unless(text.contains(&path), "src/lib.rs", advice)]
    });
}

#[test]
fn docs_row() {
    let text = read("docs/README.md");
    every_format_has("docs_row", |format| {
        let (link, feature) = (format!("]({})", format.page().0), format!("`{}`", format.feature));
        let has_row = text.lines().any(|line| line.contains(&link) && line.contains(&feature));
        [unless(has_row, "docs/README.md", format!("add a row to the table by format: {link}, {feature}"))]
    });
}

#[test]
fn docs_feature_row() {
    let path = "docs/features-and-figures.md";
    let text = read(path);
    every_format_has("docs_feature_row", |format| {
        let row = format!("| `{}` (default) |", format.feature);
        let has_row = text.lines().any(|line| line.starts_with(&row));
        [unless(has_row, path, format!("add a row to the table of features: {row}"))]
    });
}

/// The page of the crate on docs.rs.
#[test]
fn crate_docs() {
    let text = read("src/lib.rs");
    let intro = text.split("//! # First program").next().unwrap().to_lowercase();
    let features = text.lines().find(|line| line.ends_with("| enables one format |")).unwrap();
    every_format_has("crate_docs", |format| {
        let (feature, title) = (&format.feature, format.name("title"));
        let title_is_there = intro.contains(&title.to_lowercase());
        let module = format!("[`File::{}`]", format.accessor);
        [
            unless(title_is_there, "src/lib.rs", format!("add {title} to the introduction: `The formats are`")),
            unless(text.contains(&module), "src/lib.rs", format!("add {module} to the format-specific modules")),
            unless(
                features.contains(&format!("`{feature}`")),
                "src/lib.rs",
                format!("add `{feature}` to the row `enables one format` of the table of features"),
            ),
        ]
    });
}

#[test]
fn fuzz_target() {
    let (library, manifest, readme) = (read("fuzz/src/lib.rs"), read("fuzz/Cargo.toml"), read("fuzz/README.md"));
    let targets = library.split("targets! {\n").nth(1).unwrap();
    every_format_has("fuzz_target", |format| {
        let feature = &format.feature;
        let (module, program) = (format!("fuzz/src/{feature}.rs"), format!("fuzz/fuzz_targets/{feature}.rs"));
        let is_listed = targets.lines().any(|line| line.trim() == feature);
        let is_binary = manifest.contains(&format!("name = \"{feature}\"\n"));
        let has_row = readme.lines().any(|line| line.starts_with(&format!("| `{feature}` |")));
        [
            unless(
                !read(&module).is_empty(),
                &module,
                "add this file: a target that makes files of the format".into(),
            ),
            unless(is_listed, "fuzz/src/lib.rs", format!("add `{feature}` to `targets!`")),
            unless(!read(&program).is_empty(), &program, "add this program of three lines".into()),
            unless(is_binary, "fuzz/Cargo.toml", format!("add a [[bin]] named {feature}")),
            unless(
                has_row,
                "fuzz/README.md",
                format!("add a row `{feature}` to the table of targets that make files"),
            ),
        ]
    });
}

#[test]
fn fuzz_corpus() {
    every_format_has("fuzz_corpus", |format| {
        let feature = &format.feature;
        let path = format!("fuzz/corpus/{feature}.tar.gz");
        let advice = format!("add this corpus: `make fuzz TARGETS={feature} SECONDS=600` writes it");
        [unless(root().join(&path).is_file(), &path, advice)]
    });
}

/// The kept corpora of all targets stay small, because every clone of the repository has them.
#[test]
fn fuzz_corpora_are_small() {
    const MOST: u64 = 6_000_000;
    let corpora = files_below(&root().join("fuzz/corpus"));
    let kept = corpora.iter().filter(|path| path.extension().is_some_and(|ending| ending == "gz"));
    let bytes: u64 = kept.map(|path| fs::metadata(path).unwrap().len()).sum();
    assert!(bytes > 0 && bytes <= MOST, "fuzz/corpus: {bytes} bytes, at most {MOST}");
}

/// The words of a format for a fuzzer: one string a line, in the syntax of libFuzzer.
#[test]
fn fuzz_dictionary() {
    every_format_has("fuzz_dictionary", |format| {
        let path = format!("fuzz/dictionaries/{}.dict", format.feature);
        let text = read(&path);
        let mut words = text.lines().filter(|line| !line.starts_with('#')).peekable();
        let is_there = words.peek().is_some() && words.all(is_dictionary_word);
        let advice = "add this dictionary: the magics and keys of the format, one \"WORD\" a line".into();
        [unless(is_there, &path, advice)]
    });
}

/// True for a string in quotes that libFuzzer reads: escapes are `\\`, `\"` and `\xAB`.
fn is_dictionary_word(line: &str) -> bool {
    let Some(word) = line.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return false };
    let mut rest = word.as_bytes();
    loop {
        rest = match rest {
            [] => return !word.is_empty(),
            [b'\\', b'\\' | b'"', after @ ..] => after,
            [b'\\', b'x', high, low, after @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => after,
            [b' ' | b'!' | b'#'..=b'[' | b']'..=b'~', after @ ..] => after,
            _ => return false,
        };
    }
}

/// Files that demand as much work as they can.
#[test]
fn hostile_files() {
    let readme = read("fuzz/hostile/README.md");
    every_format_has("hostile_files", |format| {
        let name = format!("{}.py", format.feature);
        let path = format!("fuzz/hostile/{name}");
        [
            unless(root().join(&path).is_file(), &path, "add this script: files that demand much work".into()),
            unless(
                readme.contains(&format!("`{name}`")),
                "fuzz/hostile/README.md",
                format!("add a section `{name}`"),
            ),
        ]
    });
}

#[test]
fn flash_limits() {
    let path = "examples/firmware/limits.txt";
    let text = read(path);
    every_format_has("flash_limits", |format| {
        let all = ["m4.flash", "m4.ram", "m0.flash", "m0.ram", "rv32.flash", "rv32.ram"];
        all.map(|row| {
            let row = row.replace('.', &format!(".{}.", format.feature));
            let has_row = text.lines().any(|line| line.split_whitespace().next() == Some(&row));
            let advice = format!("add {row}, a little above what `make size` measures (tools: `make deps-firmware`)");
            unless(has_row, path, advice)
        })
    });
}

/// A file with which `make size-calls FORMAT=NAME` measures.
#[test]
fn firmware_model() {
    let path = "examples/firmware/calls.sh";
    let text = read(path);
    every_format_has("firmware_model", |format| {
        let feature = &format.feature;
        let model = format!("examples/firmware/model/digits.{feature}");
        let is_named = text.contains(&format!("\n{feature}) default="));
        let advice = format!("add `{feature}) default=FILE ;;`, a file of the format, or the file {model}");
        [unless(is_named || root().join(&model).is_file(), path, advice)]
    });
}

/// The C functions that only this format has, with their header and tests.
#[test]
fn c_functions() {
    let contents = read("include/contents.md");
    let sources =
        files_below(&root().join("c-tests")).into_iter().filter(|path| path.extension().is_some_and(|e| e == "c"));
    let tests: String = sources.map(|path| fs::read_to_string(path).unwrap()).collect();
    every_format_has("c_functions", |format| {
        let start = format!("tenslice_{}_", format.feature);
        let path = format!("src/capi/{}.rs", format.feature);
        let is_listed = contents.contains(&format!("- {start}"));
        let advice = format!(
            "add the functions that do in C what `File::{}` does, or a line to EXCEPTIONS of this test",
            format.accessor
        );
        [
            unless(!read(&path).is_empty(), &path, advice),
            unless(is_listed, "include/contents.md", format!("add the functions {start}… to a header")),
            unless(tests.contains(&start), "c-tests/formats.c", format!("add tests of {start}…")),
        ]
    });
}

#[test]
fn cpp_accessor() {
    let path = "include/tenslice.hpp";
    let text = read(path);
    every_format_has("cpp_accessor", |format| {
        let start = format!("tenslice_{}_", format.feature);
        let advice = format!(
            "add a method to `class file` that calls {start}…, as `File::{}` in Rust, or a line to EXCEPTIONS of \
                 this test",
            format.accessor
        );
        [unless(text.contains(&start), path, advice)]
    });
}

/// The tables of the docs that make promises about each format: the ranges that opening requests, and the work per byte.
#[test]
fn docs_tables() {
    let (parts, promises) = (read("docs/parts.md"), read("docs/promises.md"));
    let titles: Vec<String> = table().iter().map(|format| format.name("title").to_lowercase()).collect();
    let row = |text: &str, section: &str, title: &str| {
        let table = text.split(section).nth(1).unwrap().split("\n\n").find(|part| part.starts_with("| format |"));
        // A title may begin with another one: zTensor 2.
        let longer =
            |formats: &str| titles.iter().any(|t| t.starts_with(&format!("{title} ")) && has_word(formats, t));
        let rows: Vec<String> = table.unwrap().lines().map(str::to_lowercase).collect();
        let mut formats = rows.iter().filter_map(|row| row.split('|').nth(1));
        formats.any(|formats| has_word(formats, title) && !longer(formats))
    };
    every_format_has("docs_tables", |format| {
        let title = format.name("title");
        // The version follows the name: BLZ1.
        let is_in = |text: &str, section: &str| {
            row(text, section, &title.to_lowercase()) || row(text, section, &format!("{}1", title.to_lowercase()))
        };
        [
            unless(
                is_in(&parts, "## Requested ranges"),
                "docs/parts.md",
                format!("add a row for {title}: the ranges that opening requests"),
            ),
            unless(
                is_in(&promises, "**Data: a few bytes can represent many.**"),
                "docs/promises.md",
                format!("add a row for {title}: the work per byte of the file"),
            ),
        ]
    });
}

/// The files that `make differential` damages.
#[test]
fn differential() {
    let path = "xtask/differential/src/inputs.rs";
    let text = read(path);
    every_format_has("differential", |format| {
        let feature = &format.feature;
        let is_listed = text.contains(&format!("=> Some(\"{feature}\")"));
        [unless(is_listed, path, format!("add the endings of {feature} to `group`"))]
    });
}

/// A line of the lists above that names no format, or no test, has no effect.
#[test]
fn names_and_exceptions_refer_to_formats() {
    let (formats, source) = (table(), read("tests/build/every_format.rs"));
    let is_format = |feature: &str| formats.iter().any(|format| format.feature == feature);
    for (feature, kind, _) in OTHER_NAMES {
        let is_used = source.contains(&format!("name(\"{kind}\")")) || source.contains(&format!("names(\"{kind}\")"));
        assert!(is_format(feature) && is_used, "OTHER_NAMES: {feature}, {kind}");
    }
    for (feature, place, _) in EXCEPTIONS {
        let is_test = source.contains(&format!("\nfn {place}() {{"));
        assert!(is_format(feature) && is_test, "EXCEPTIONS: {feature}, {place}");
    }
}
