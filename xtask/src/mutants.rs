//! Mutation testing: makes one small change to the sources at a time, and sees if a test fails. A change that no test
//! detects points to a missing test, or is listed in tests/mutants.txt with the reason why no test could detect it.
//!
//! All mutants are compiled at once, each behind a switch that is read from the environment, and each is run only with
//! the tests that reach it. Compiling the crate and its tests for each mutant would take a hundred times as long.

mod copy;
mod sites;
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::Value;
use syn::{Meta, Token};

use sites::{Change, ConstFn, Mutation};
use tests::{Outcome, Tests};

pub const USAGE: &str = "cargo run -p xtask -- mutants [--sample N] [--jobs N] [--missed] [--list] [PATH ...]

Makes small changes (mutants) to the sources of the library, one at a time, and sees if a test fails. Each PATH is a file
or folder below src; the default is SCOPE in xtask/src/mutants.rs. Outcomes are stored in target/mutants/outcomes.txt, so
an interrupted run can continue. If a source or a test is newer than that file, missed mutants are tested again.

  --sample N   test a random sample of N mutants; the same mutants each time, unless the code changes
  --seed N     with --sample: select another sample (default: 0)
  --only FILE  test only the mutants listed in FILE, one per line, as printed by --list
  --jobs N     run N tests at once (default: 2)
  --most N     skip tests that take longer than N seconds
  --missed     test again the mutants that no test caught before
  --list       list the mutants";

/// The paths that are mutated if the command names none.
const SCOPE: [&str; 15] = [
    "format",
    "codec",
    "bytes",
    "types/element.rs",
    "capi/pointer.rs",
    "capi/handles.rs",
    "capi/decoder.rs",
    "attributes",
    "duplicates",
    "view/component",
    "view/file.rs",
    "view/index",
    "view/numbers",
    "view/plan.rs",
    "view/tensor",
];
/// Compiled in place of another file on chips or with another feature: no test here can reach these files.
const REPLACEMENTS: [&str; 9] = [
    "src/codec/zstd/libzstd.rs",
    "src/codec/zstd/ruzstd.rs",
    "src/codec/sparse/one_by_one.rs",
    "src/codec/npy/any_fields.rs",
    "src/codec/cbor/fast_none.rs",
    "src/format/safetensors/fast_none.rs",
    "src/format/ztensor/fast_none.rs",
    "src/format/ztensor2/fast_none.rs",
    "src/format/ztensor2/remembered_small.rs",
];
/// The list of mutants that no test detects, with reasons.
const LIST: &str = "tests/mutants.txt";
/// The features that the tests are built with.
const FEATURES: &str = "capi";

/// A source file, with the `const` functions in it.
struct Source {
    /// The path from the root of the project.
    name: String,
    text: String,
    consts: Vec<ConstFn>,
}

/// A mutation and its source file.
struct Mutant {
    source: usize,
    mutation: Mutation,
}

struct Options {
    sample: Option<usize>,
    seed: u64,
    only: Option<BTreeSet<String>>,
    jobs: usize,
    most: Option<usize>,
    missed: bool,
    list: bool,
    paths: Vec<String>,
}

pub fn run(root: &Path, arguments: &[&str]) -> Result<(), Box<dyn Error>> {
    let options = Options::of(arguments)?;
    let (sources, mut mutants) = all(root, &options.paths)?;
    let names: Vec<String> = mutants.iter().map(|mutant| mutant.name(&sources)).collect();
    if options.list {
        for name in &names {
            println!("{name}");
        }
        return Ok(());
    }
    let all_names: BTreeSet<String> = names.iter().cloned().collect();
    if let Some(only) = &options.only {
        mutants.retain(|mutant| only.contains(&mutant.name(&sources)));
    }
    if let Some(count) = options.sample.filter(|count| *count < mutants.len()) {
        let in_sample = |mutant: &Mutant| place(&mutant.name(&sources), options.seed);
        let mut places: Vec<u64> = mutants.iter().map(in_sample).collect();
        places.sort_unstable();
        mutants.retain(|mutant| in_sample(mutant) < places[count]);
        println!("a sample of {count}: make mutants MUTANTS=\"--sample {count} --seed {}\"", options.seed);
    }
    let names: Vec<String> = mutants.iter().map(|mutant| mutant.name(&sources)).collect();
    let folder = root.join("target/mutants");
    let tree = folder.join("tree");
    copy_project(root, &tree)?;
    let viable = compile(&tree, &sources, &mutants, options.paths != SCOPE)?;
    println!("{} mutants, {} of them compile", mutants.len(), viable.len());
    let tests = Tests::build(&tree, FEATURES, mutants.len(), options.jobs, options.most)?;

    let log = folder.join("outcomes.txt");
    let mut known = outcomes(&log)?;
    if options.missed || is_older(&log, &[root.join("src"), root.join("tests")])? {
        known.retain(|_, outcome| outcome.starts_with("caught")); // a test may detect the others by now
        let lines: String = known.iter().map(|(name, outcome)| format!("{outcome}\t{name}\n")).collect();
        fs::write(&log, lines)?;
    }
    let mut open: Vec<usize> = viable.iter().copied().filter(|&number| !known.contains_key(&names[number])).collect();
    open.sort_by_key(|&number| place(&names[number], options.seed));
    println!("{} to test, {} tested before", open.len(), viable.len() - open.len());
    for (name, outcome) in &known {
        if let Some((_, by)) = outcome.split_once(" by ") {
            tests.learn(by.trim_start_matches("time in ").split([' ', ',']).next().unwrap_or_default(), places(name));
        }
    }
    let (next, done) = (AtomicUsize::new(0), Mutex::new((known, 0)));
    std::thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                while let Some(&number) = open.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let start = Instant::now();
                    let outcome = tests.run(number, places(&names[number]));
                    let mut done = done.lock().expect("no thread has panicked");
                    let line = format!("{outcome}, {:.1} s\t{}\n", start.elapsed().as_secs_f64(), names[number]);
                    append(&log, &line).expect("the outcome is written");
                    done.0.insert(names[number].clone(), outcome.to_string());
                    done.1 += 1;
                    if matches!(outcome, Outcome::Missed(_)) || done.1 % 100 == 0 {
                        print!("{}/{} {line}", done.1, open.len());
                    }
                }
            });
        }
    });
    let known = done.into_inner()?.0;
    let tested: Vec<&str> = viable.iter().map(|&number| &names[number][..]).collect();
    report(root, &sources, &tested, &all_names, &known)
}

impl Options {
    fn of(arguments: &[&str]) -> Result<Self, Box<dyn Error>> {
        let mut options = Self {
            sample: None,
            seed: 0,
            only: None,
            jobs: 2,
            most: None,
            missed: false,
            list: false,
            paths: Vec::new(),
        };
        let mut arguments = arguments.iter();
        while let Some(&argument) = arguments.next() {
            let mut number = || arguments.next().and_then(|number| number.parse().ok()).ok_or(USAGE);
            match argument {
                "--sample" => options.sample = Some(number()?),
                "--seed" => options.seed = number()? as u64,
                "--jobs" => options.jobs = number()?,
                "--most" => options.most = Some(number()?),
                "--only" => {
                    let text = fs::read_to_string(arguments.next().ok_or(USAGE)?)?;
                    options.only = Some(text.lines().map(str::to_owned).collect());
                }
                "--missed" => options.missed = true,
                "--list" => options.list = true,
                _ if argument.starts_with('-') => return Err(USAGE.into()),
                _ => options.paths.push(argument.trim_start_matches("src/").into()),
            }
        }
        if options.paths.is_empty() {
            options.paths = SCOPE.map(String::from).into();
        }
        Ok(options)
    }
}

impl Mutant {
    fn name(&self, sources: &[Source]) -> String {
        format!("{} | {} | {}", sources[self.source].name, self.mutation.function, self.mutation.what)
    }
}

/// Returns the position of a mutant in the order of testing: FNV-1a of its name and the seed. The order looks random,
/// so the results of an interrupted run are a sample. The position of a mutant does not depend on other changes, so a
/// small sample stays the same.
fn place(name: &str, seed: u64) -> u64 {
    let mix = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, mix)
}

/// Returns the function of a mutant, with its file, and the file, both from the name of the mutant.
fn places(name: &str) -> [&str; 2] {
    let mut parts = name.rsplitn(2, " | ");
    let function = parts.nth(1).unwrap_or_default();
    [function, function.split(" | ").next().unwrap_or_default()]
}

/// Returns all sources at the paths, and their mutants.
fn all(root: &Path, paths: &[String]) -> Result<(Vec<Source>, Vec<Mutant>), Box<dyn Error>> {
    let mut files = Vec::new();
    for path in paths {
        files_below(&root.join("src").join(path), &mut files)?;
    }
    files.sort();
    let (mut sources, mut mutants) = (Vec::new(), Vec::new());
    for file in files.iter().filter(|file| !file.ends_with("tests.rs")) {
        let name = file.strip_prefix(root)?.to_string_lossy().into_owned();
        if REPLACEMENTS.contains(&&name[..]) {
            continue;
        }
        let text = fs::read_to_string(file)?;
        let (mutations, consts) = sites::of(&text, &is_on).map_err(|error| format!("{name}: {error}"))?;
        mutants.extend(mutations.into_iter().map(|mutation| Mutant { source: sources.len(), mutation }));
        sources.push(Source { name, text, consts });
    }
    Ok((sources, mutants))
}

fn files_below(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    if path.is_file() {
        files.push(path.into());
        return Ok(());
    }
    for entry in fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))? {
        files_below(&entry?.path(), files)?;
    }
    Ok(())
}

/// Returns whether code under this condition is compiled here: on a 64-bit machine with an operating system, with every
/// feature except those that replace another one.
fn is_on(condition: &Meta) -> bool {
    let inner = |list: &syn::MetaList| {
        list.parse_args_with(syn::punctuated::Punctuated::<Meta, Token![,]>::parse_terminated).unwrap_or_default()
    };
    let text = match condition {
        Meta::List(list) if list.path.is_ident("not") => return !inner(list).iter().all(is_on),
        Meta::List(list) if list.path.is_ident("all") => return inner(list).iter().all(is_on),
        Meta::List(list) if list.path.is_ident("any") => return inner(list).iter().any(is_on),
        Meta::NameValue(pair) => match &pair.value {
            syn::Expr::Lit(literal) => match &literal.lit {
                syn::Lit::Str(value) => value.value(),
                _ => return false,
            },
            _ => return false,
        },
        _ => return false, // `test`, `docsrs`
    };
    !["32", "big", "aarch64", "zstd-c", "zstd-ruzstd", "c-alloc", "panic-handler", "no-panic-link", "none"]
        .contains(&&text[..])
}

/// Copies the code that the tests are built from, and links to the files that the tests read.
fn copy_project(root: &Path, tree: &Path) -> Result<(), Box<dyn Error>> {
    if tree.exists() {
        fs::remove_dir_all(tree)?;
    }
    fs::create_dir_all(tree)?;
    for name in ["Cargo.toml", "Cargo.lock", "build.rs", "README.md", "src", "cli", "host", "xtask", "examples"] {
        let status = Command::new("cp").arg("-r").arg(root.join(name)).arg(tree).status()?;
        if !status.success() {
            return Err(format!("{name} cannot be copied").into());
        }
    }
    for name in ["tests", "docs", "include", "c-tests"] {
        std::os::unix::fs::symlink(root.join(name), tree.join(name))?;
    }
    // Cargo identifies a package by name, version and place in the workspace, which the copy shares with the project
    // itself. A setting that differs keeps Cargo from using the artifacts built here for the project's own tests.
    let manifest = tree.join("Cargo.toml");
    let text = fs::read_to_string(&manifest)?;
    fs::write(manifest, text + "\n[profile.dev.package.tenslice]\ncodegen-units = 2\n")?;
    let lib = tree.join("src/lib.rs");
    let text = fs::read_to_string(&lib)?;
    // Turn off all lints.
    let text = text.replace("#![deny(", "#![allow(").replace("#![warn(", "#![allow(");
    fs::write(lib, format!("#![allow(warnings)]\n{text}\n#[doc(hidden)]\npub mod mutant;\n"))?;
    Ok(())
}

/// Writes the mutants into the copy, removes those that do not compile, and returns the numbers of the others. `with_tests`
/// if the tests may need functions that are no longer `const` in the copy.
fn compile(
    tree: &Path,
    sources: &[Source],
    mutants: &[Mutant],
    with_tests: bool,
) -> Result<Vec<usize>, Box<dyn Error>> {
    let switch =
        include_str!("mutants/switch.rs").replace("COUNT: usize = 0", &format!("COUNT: usize = {}", mutants.len()));
    fs::write(tree.join("src/mutant.rs"), switch)?;
    let mut left_out = BTreeSet::new();
    let mut kept_const = BTreeSet::new();
    loop {
        let mut written = BTreeMap::new();
        for (index, source) in sources.iter().enumerate() {
            let (kept, free): (Vec<_>, Vec<_>) = source.consts.iter().partition(|it| kept_const.contains(&it.name));
            let numbered: Vec<(usize, &Mutation)> = mutants
                .iter()
                .enumerate()
                .filter(|(number, mutant)| mutant.source == index && !left_out.contains(number))
                .filter(|(_, mutant)| !kept.iter().any(|it| it.body.contains(&mutant.mutation.range.start)))
                .map(|(number, mutant)| (number, &mutant.mutation))
                .collect();
            let instrumented = copy::instrument(&source.text, &numbered, &free);
            fs::write(tree.join(&source.name), &instrumented.text)?;
            written.insert(&source.name[..], instrumented.places);
        }
        let mut errors = check(tree, "--lib")?;
        if errors.is_empty() && with_tests {
            errors = check(tree, "--tests")?;
        }
        if errors.is_empty() {
            let mut viable: Vec<usize> = written.into_values().flatten().map(|(_, number)| number).collect();
            viable.sort_unstable();
            return Ok(viable);
        }
        println!("{} errors: what they come from is left out", errors.len());
        let before = (left_out.len(), kept_const.len());
        for error in &errors {
            if error.code == "E0015"
                && let Some(name) = error.message.split('`').nth(1)
            {
                // The last name of the path, before generic arguments.
                kept_const.extend(name.rsplit("::").find(|part| !part.starts_with('<')).map(str::to_owned));
                continue;
            }
            let places = written.get(&error.file[..]).map_or(&[][..], Vec::as_slice);
            let contains = |(place, _): &&(Range<usize>, usize)| place.contains(&error.place.start);
            let is_within = |(place, _): &&(Range<usize>, usize)| {
                error.place.start <= place.start && place.end <= error.place.end
            };
            if let Some((_, number)) = places.iter().find(contains) {
                left_out.insert(*number);
            } else if places.iter().any(|place| is_within(&place)) {
                left_out.extend(places.iter().filter(is_within).map(|(_, number)| *number)); // removed exits
            } else {
                // An error outside all mutants is caused by a removed statement: the function needs what the statement
                // sets or returns somewhere else.
                let before = places.iter().rfind(|(place, _)| place.end <= error.place.start);
                let behind = places.iter().find(|(place, _)| place.start >= error.place.end);
                for near in [before, behind].into_iter().flatten().map(|(_, number)| &mutants[*number]) {
                    left_out.extend(places.iter().map(|(_, number)| *number).filter(|&number| {
                        let Mutation { change, function, .. } = &mutants[number].mutation;
                        matches!(change, Change::Statement(_)) && *function == near.mutation.function
                    }));
                }
            }
        }
        if before == (left_out.len(), kept_const.len()) {
            return Err(format!("{}: {}", errors[0].file, errors[0].message).into());
        }
    }
}

/// An error of the compiler.
struct CompileError {
    code: String,
    message: String,
    file: String,
    place: Range<usize>,
}

fn check(tree: &Path, what: &str) -> Result<Vec<CompileError>, Box<dyn Error>> {
    let output = cargo(tree, &["check", what, "--message-format=json", "--features", FEATURES])
        .stderr(Stdio::piped())
        .output()?;
    let mut errors = Vec::new();
    for line in String::from_utf8(output.stdout)?.lines() {
        let value: Value = serde_json::from_str(line)?;
        let message = &value["message"];
        if message["level"] != "error" {
            continue;
        }
        let mut spans = message["spans"].as_array().into_iter().flatten();
        let Some(span) = spans.find(|span| span["is_primary"] == true) else { continue };
        let number = |name| span[name].as_u64().and_then(|at: u64| at.try_into().ok()).unwrap_or(0);
        errors.push(CompileError {
            code: message["code"]["code"].as_str().unwrap_or_default().into(),
            message: message["message"].as_str().unwrap_or_default().into(),
            file: span["file_name"].as_str().unwrap_or_default().into(),
            place: number("byte_start")..number("byte_end"),
        });
    }
    if errors.is_empty() && !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(errors)
}

/// Returns a Cargo command in the copy. Dependencies are built once, for the copy and for the project's own tests.
fn cargo(tree: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.current_dir(tree).args(arguments).env("CARGO_TARGET_DIR", tree.ancestors().nth(2).unwrap_or(tree));
    command
}

/// Reads the outcomes of earlier runs, by the name of the mutant.
fn outcomes(log: &Path) -> Result<BTreeMap<String, String>, Box<dyn Error>> {
    if !log.exists() {
        return Ok(BTreeMap::new());
    }
    let text = fs::read_to_string(log)?;
    let pairs = text.lines().filter_map(|line| line.split_once('\t'));
    Ok(pairs.map(|(outcome, name)| (name.to_owned(), outcome.to_owned())).collect())
}

/// Returns whether any file in the folders, except the list, is newer than `file`; false if `file` does not exist.
fn is_older(file: &Path, folders: &[PathBuf]) -> Result<bool, Box<dyn Error>> {
    let Ok(written) = fs::metadata(file) else { return Ok(false) };
    let written = written.modified()?;
    let mut files = Vec::new();
    for folder in folders {
        files_below(folder, &mut files)?;
    }
    for file in files.iter().filter(|file| !file.ends_with(LIST)) {
        if fs::metadata(file)?.modified()? > written {
            return Ok(true);
        }
    }
    Ok(false)
}

fn append(path: &Path, line: &str) -> Result<(), std::io::Error> {
    use std::io::Write;
    fs::OpenOptions::new().create(true).append(true).open(path)?.write_all(line.as_bytes())
}

/// Prints the number of mutants caught, and compares the missed ones with the list.
fn report(
    root: &Path,
    sources: &[Source],
    tested: &[&str],
    all: &BTreeSet<String>,
    known: &BTreeMap<String, String>,
) -> Result<(), Box<dyn Error>> {
    let list = fs::read_to_string(root.join(LIST))?;
    let explained: BTreeSet<&str> = list.lines().filter_map(|line| line.strip_prefix("- ")).collect();
    let missed: Vec<&str> = tested.iter().copied().filter(|name| known[*name].starts_with("missed")).collect();
    // If paths are given, the mutants of other files have not been tested.
    let is_in_scope = |name: &str| {
        let file = name.split(' ').next().unwrap_or_default();
        sources.iter().any(|source| source.name == file) || !root.join(file).exists()
    };
    let mut wrong = String::new();
    for name in missed.iter().filter(|name| !explained.contains(**name)) {
        let _ = write!(wrong, "\nno test notices: {name}");
    }
    for name in &explained {
        // On a busy machine any test may time out.
        let is_noticed = |outcome: &String| outcome.starts_with("caught") && !outcome.contains("by time");
        if known.get(*name).is_some_and(is_noticed) && tested.contains(name) {
            let _ = write!(wrong, "\na test does notice: {name}");
        } else if !all.contains(*name) && is_in_scope(name) {
            let _ = write!(wrong, "\nthere is no such mutant any more: {name}");
        }
    }
    let caught = tested.len() - missed.len();
    let share = 100.0 * caught as f64 / tested.len().max(1) as f64;
    println!("{} tested: {caught} caught ({share:.1} %), {} missed", tested.len(), missed.len());
    if wrong.is_empty() { Ok(()) } else { Err(format!("{LIST}:{wrong}").into()) }
}
