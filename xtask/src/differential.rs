//! Differential testing of the two ways to build the library: as hosts build it, and as chips do (`TENSLICE_SMALL=1`).
//!
//! Both builds read the same files and the same damaged files, and must return the same. The program that reads them is
//! `xtask/differential`. Comparing the builds needs no expected results, so it scales to any number of files.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

pub const USAGE: &str = "cargo run -p xtask -- differential [--mutations N] [--seed S]

Builds the library as hosts do and as chips do, and compares what both return for the fixtures, for the files in the
folder TENSLICE_CORPUS if it is set, and for mutations of all these files. Prints the first lines that differ, and saves
the inputs in target/differential.

  --mutations N   compare N mutations (default: 100000)
  --seed S        other mutations for each S (default: 1)
  --input N       print what both builds return for one input";

/// The builds: the name of the folder, and the value of `TENSLICE_SMALL`.
const BUILDS: [(&str, &str); 2] = [("host", "0"), ("chip", "1")];
const PROFILE: &str = "differential";
/// The number of differences after which the comparison ends.
const MAX_DIFFERENCES: usize = 10;
/// The lines of each build that are printed for a difference.
const MAX_LINES: usize = 5;
const BETWEEN_REPORTS: Duration = Duration::from_secs(5);

/// A difference that the documentation states.
struct Permitted {
    reason: &'static str,
    /// Returns true if this explains all differences between the texts of the host and of the chip.
    explains: fn(&str, &str) -> bool,
}

/// The permitted differences. The program itself leaves out two more: the memory that `check_length` states for a file
/// with shards, and the bits of a computed NaN.
const PERMITTED: [Permitted; 1] = [Permitted {
    reason: "zTensor 2: chips compare fewer extents and look up fewer shards on opening, then `check` does (docs/ztensor2.md)",
    explains: compared_later,
}];

struct Options {
    mutations: u64,
    seed: u64,
    input: Option<u64>,
}

pub fn run(root: &Path, arguments: &[&str]) -> Result<(), Box<dyn Error>> {
    let options = Options::of(arguments)?;
    let programs = build(root)?;
    let corpus = std::env::var_os("TENSLICE_CORPUS").map(|folder| root.join(folder));
    let folders: Vec<PathBuf> = [root.join("tests/fixtures")].into_iter().chain(corpus).collect();
    let inputs = Inputs { programs, seed: options.seed.to_string(), folders };
    if let Some(number) = options.input {
        let (texts, origin) = (inputs.texts(number)?, inputs.save(number, &root.join("target/differential"))?);
        println!("{origin}\n\n{}", texts[0]);
        print_difference(&texts);
        return Ok(());
    }
    let files: u64 = inputs.output(0, &["--count"])?.trim().parse()?;
    println!("{files} files and {} mutations, seed {}", options.mutations, options.seed);
    let compared = compare(&inputs, files + options.mutations, &root.join("target/differential"));
    if compared.is_err() {
        let corpus = std::env::var("TENSLICE_CORPUS").map(|folder| format!("TENSLICE_CORPUS={folder} "));
        eprintln!(
            "To run this again: {}cargo run -p xtask -- differential --mutations {} --seed {}",
            corpus.unwrap_or_default(),
            options.mutations,
            options.seed
        );
    }
    compared
}

impl Options {
    fn of(arguments: &[&str]) -> Result<Self, Box<dyn Error>> {
        let mut options = Self { mutations: 100_000, seed: 1, input: None };
        for pair in arguments.chunks(2) {
            let [name, value] = pair else { return Err(USAGE.into()) };
            let value = value.parse().map_err(|_| format!("{name} needs a number, and not `{value}`"))?;
            match *name {
                "--mutations" => options.mutations = value,
                "--seed" => options.seed = value,
                "--input" => options.input = Some(value),
                _ => return Err(USAGE.into()),
            }
        }
        Ok(options)
    }
}

/// Builds the program both ways, and returns the paths. The folders are separate, so that neither build replaces the
/// other.
fn build(root: &Path) -> Result<[PathBuf; 2], Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let mut programs = [PathBuf::new(), PathBuf::new()];
    for ((name, small), program) in BUILDS.into_iter().zip(&mut programs) {
        let folder = root.join("target/differential").join(name);
        eprintln!("building as a {name} does");
        let mut command = Command::new(&cargo);
        command.current_dir(root).args(["build", "--quiet", "-p", "differential", "--profile", PROFILE]);
        command.arg("--target-dir").arg(&folder).env("TENSLICE_SMALL", small);
        if !command.status()?.success() {
            return Err(format!("the build as a {name} does failed").into());
        }
        *program = folder.join(PROFILE).join("differential");
    }
    Ok(programs)
}

/// The inputs, as both programs number them.
struct Inputs {
    programs: [PathBuf; 2],
    seed: String,
    folders: Vec<PathBuf>,
}

impl Inputs {
    fn command(&self, program: usize, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.programs[program]);
        command.arg(&self.seed).args(arguments).args(&self.folders);
        command
    }

    fn output(&self, program: usize, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
        let output = self.command(program, arguments).stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err(format!("the {} ended with {}: {arguments:?}", BUILDS[program].0, output.status).into());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Returns what both builds return for an input.
    fn texts(&self, number: u64) -> Result<[String; 2], Box<dyn Error>> {
        let arguments = ["--show", &number.to_string()];
        Ok([self.output(0, &arguments)?, self.output(1, &arguments)?])
    }

    /// Writes an input to a file in `folder`, and returns the path and the origin of the input.
    fn save(&self, number: u64, folder: &Path) -> Result<String, Box<dyn Error>> {
        let path = folder.join(format!("input-{}-{number}", self.seed)).display().to_string();
        let origin = self.output(0, &["--save", &number.to_string(), &path])?;
        Ok(format!("input {number}, {path}\n{}", origin.trim()))
    }

    /// Starts a program that prints one line for each input.
    fn start(&self, program: usize, count: u64) -> Result<Running, Box<dyn Error>> {
        let mut command = self.command(program, &["0", &count.to_string()]);
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().ok_or("no output")?;
        Ok(Running { child, lines: BufReader::new(out).lines() })
    }
}

struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

/// Ends the program if the comparison ends early.
impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn compare(inputs: &Inputs, count: u64, folder: &Path) -> Result<(), Box<dyn Error>> {
    let (began, mut reported) = (Instant::now(), Instant::now());
    let mut running = [inputs.start(0, count)?, inputs.start(1, count)?];
    let mut outcomes: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    let (mut differences, mut permitted) = (0, [0_u64; PERMITTED.len()]);
    for number in 0..count {
        let [host, chip] = &mut running;
        let lines = [host.lines.next().transpose()?, chip.lines.next().transpose()?];
        for (line, (build, _)) in lines.iter().zip(BUILDS) {
            if line.is_none() {
                let origin = inputs.save(number, folder)?;
                return Err(format!("the {build} panicked or was killed: {origin}").into());
            }
        }
        let [Some(host), Some(chip)] = lines else { continue };
        let mut words = host.split(' ').skip(1);
        if let (Some(group), Some(outcome)) = (words.next(), words.next()) {
            let [opened, refused] = outcomes.entry(group.to_owned()).or_default();
            *if outcome == "opened" { opened } else { refused } += 1;
        }
        if host != chip {
            let texts = inputs.texts(number)?;
            match PERMITTED.iter().position(|permitted| (permitted.explains)(&texts[0], &texts[1])) {
                Some(index) => permitted[index] += 1,
                None => {
                    differences += 1;
                    println!("\n{}", inputs.save(number, folder)?);
                    print_difference(&texts);
                }
            }
            if differences == MAX_DIFFERENCES {
                break;
            }
        }
        if reported.elapsed() > BETWEEN_REPORTS {
            reported = Instant::now();
            eprintln!("{:>5} s: {number} of {count} inputs", began.elapsed().as_secs());
        }
    }
    for (group, [opened, refused]) in outcomes {
        println!("{group:>12}: {opened:>8} opened {refused:>8} refused");
    }
    for (Permitted { reason, .. }, count) in PERMITTED.iter().zip(permitted) {
        println!("{count} permitted differences: {reason}");
    }
    println!("{differences} differences, {} s", began.elapsed().as_secs());
    if differences > 0 { Err("hosts and chips return different results".into()) } else { Ok(()) }
}

/// Prints the first lines that differ.
fn print_difference([host, chip]: &[String; 2]) {
    let (mut host, mut chip) = (host.lines(), chip.lines());
    let mut left = MAX_LINES;
    for number in 1.. {
        let lines = (host.next(), chip.next());
        if left == 0 || lines == (None, None) {
            return;
        }
        if lines.0 != lines.1 {
            println!("line {number}\n  host: {}\n  chip: {}", lines.0.unwrap_or("-"), lines.1.unwrap_or("-"));
            left -= 1;
        }
    }
}

/// The rule of the first [`PERMITTED`] difference. Either the host has refused the file for what `check` finds on the
/// chip, or the texts differ only in the warning and in the lines that depend on it.
fn compared_later(host: &str, chip: &str) -> bool {
    let finds = |text: &str, start: &str| {
        let found = |kind: &str| text.lines().any(|line| line.starts_with(&format!("{start}: error {kind},")));
        ["Overlap", "UnknownShard", "OutOfShard"].into_iter().find(|kind| found(kind))
    };
    let others = |text: &str| {
        let mut is_other = true;
        let is_kept = |line: &&str| {
            let depends = ["warnings:", "check", "in parts:"].iter().any(|start| line.starts_with(start));
            // The message of an error is on two more lines.
            is_other = !depends && (is_other || !line.starts_with("  "));
            is_other
        };
        text.lines().filter(is_kept).map(str::to_owned).collect::<Vec<_>>()
    };
    let is_unchecked = chip.starts_with("open: (Ztensor2") && chip.contains("\nwarnings: [(ExtentsUnchecked");
    is_unchecked
        && match finds(host, "open") {
            Some(refused) => finds(chip, "check") == Some(refused),
            None => others(host) == others(chip) && finds(host, "check") == finds(chip, "check"),
        }
}
