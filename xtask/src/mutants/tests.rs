//! The tests that the mutants are shown to.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Not run: they read the sources, or count instructions.
const OTHERS: [&str; 2] = ["structure", "time"];

/// What became of a mutant.
pub enum Outcome {
    /// By that test.
    Caught(String),
    /// A test took too long, and so failed.
    CaughtByTime(String),
    /// That many tests passed with it.
    Missed(usize),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caught(test) => write!(f, "caught by {test}"),
            Self::CaughtByTime(test) => write!(f, "caught by time in {test}"),
            Self::Missed(count) => write!(f, "missed by {count} tests"),
        }
    }
}

/// One test.
struct Test {
    program: usize,
    name: String,
    /// What it takes without a mutant.
    time: Duration,
}

pub struct Tests {
    tree: PathBuf,
    programs: Vec<PathBuf>,
    tests: Vec<Test>,
    /// For each mutant the tests that reach it, the fastest first.
    reached_by: Vec<Vec<usize>>,
}

impl Tests {
    /// Builds the tests, and runs each of them once to see which mutants it reaches.
    pub fn build(tree: &Path, features: &str, mutants: usize, jobs: usize) -> Result<Self, Box<dyn Error>> {
        let arguments = ["test", "--no-run", "--lib", "--tests", "--message-format=json", "--features", features];
        let output = super::cargo(tree, &arguments).stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err("the tests do not compile".into());
        }
        let mut programs = Vec::new();
        for line in String::from_utf8(output.stdout)?.lines() {
            let value: Value = serde_json::from_str(line)?;
            if value["profile"]["test"] == true
                && let Some(program) = value["executable"].as_str()
                && !OTHERS.iter().any(|other| value["target"]["name"] == *other)
            {
                programs.push(PathBuf::from(program));
            }
        }
        let mut tests = Vec::new();
        for (index, program) in programs.iter().enumerate() {
            let output = Command::new(program).current_dir(tree).args(["--list", "--format", "terse"]).output()?;
            for line in String::from_utf8(output.stdout)?.lines() {
                if let Some(name) = line.strip_suffix(": test") {
                    tests.push(Test { program: index, name: name.into(), time: Duration::ZERO });
                }
            }
        }
        let mut all = Self { tree: tree.into(), programs, tests, reached_by: vec![Vec::new(); mutants] };
        all.see_what_is_reached(jobs)?;
        Ok(all)
    }

    fn see_what_is_reached(&mut self, jobs: usize) -> Result<(), Box<dyn Error>> {
        let (next, seen) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        let this = &*self;
        std::thread::scope(|scope| {
            for job in 0..jobs {
                let (next, seen) = (&next, &seen);
                scope.spawn(move || {
                    let path = this.tree.with_file_name(format!("reached.{job}"));
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(test) = this.tests.get(index) else { break };
                        let _ = fs::remove_file(&path);
                        let start = Instant::now();
                        let status = this
                            .command(test.program, &[test])
                            .env("TENSLICE_REACHED", &path)
                            .stdout(Stdio::null())
                            .stderr(Stdio::null())
                            .status();
                        let passes = status.is_ok_and(|status| status.success());
                        let reached = fs::read(&path).unwrap_or_default();
                        seen.lock().expect("no panic").insert(index, (passes, start.elapsed(), reached));
                    }
                });
            }
        });
        let seen = seen.into_inner()?;
        let mut order: Vec<usize> = (0..self.tests.len()).collect();
        order.sort_by_key(|index| seen[index].1);
        for index in order {
            let (passes, time, reached) = &seen[&index];
            if !passes {
                return Err(format!("{} fails without a mutant", self.tests[index].name).into());
            }
            self.tests[index].time = *time;
            for number in reached.as_chunks::<4>().0 {
                self.reached_by[u32::from_le_bytes(*number) as usize].push(index);
            }
        }
        println!("{} tests of {} programs", self.tests.len(), self.programs.len());
        Ok(())
    }

    /// A program of tests with those tests alone, in little memory.
    fn command(&self, program: usize, tests: &[&Test]) -> Command {
        let mut command = Command::new("sh");
        command
            .current_dir(&self.tree)
            .args(["-c", "ulimit -v 6000000; exec \"$@\"", "sh"])
            .arg(&self.programs[program])
            .args(["--exact", "--test-threads=1"])
            .args(tests.iter().map(|test| &test.name));
        command
    }

    /// Runs the tests that reach a mutant, the fastest first, until one fails.
    pub fn run(&self, mutant: usize) -> Outcome {
        let reached_by = &self.reached_by[mutant];
        // Few at first, since most mutants are caught at once; then more, since a process has its price.
        let (mut from, mut count) = (0, 2);
        while from < reached_by.len() {
            let some = &reached_by[from..reached_by.len().min(from + count)];
            let mut programs: BTreeMap<usize, Vec<&Test>> = BTreeMap::new();
            for test in some.iter().map(|&index| &self.tests[index]) {
                programs.entry(test.program).or_default().push(test);
            }
            for (program, tests) in programs {
                if let Some(outcome) = self.run_some(mutant, program, &tests) {
                    return outcome;
                }
            }
            from += count;
            count *= 4;
        }
        Outcome::Missed(reached_by.len())
    }

    fn run_some(&self, mutant: usize, program: usize, tests: &[&Test]) -> Option<Outcome> {
        let usual: Duration = tests.iter().map(|test| test.time).sum();
        let most = usual * 10 + Duration::from_secs(4);
        let mut child = self
            .command(program, tests)
            .env("TENSLICE_MUTANT", mutant.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a test starts");
        let stdout = child.stdout.take().expect("its output is a pipe");
        let child = Mutex::new(child);
        let (ended, is_late) = (Mutex::new(false), Mutex::new(false));
        let (mut failed, mut last) = (None, String::new());
        let signal = std::sync::Condvar::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let guard = ended.lock().expect("no panic");
                let (guard, _) = signal.wait_timeout_while(guard, most, |ended| !*ended).expect("no panic");
                if !*guard {
                    *is_late.lock().expect("no panic") = true;
                    let _ = child.lock().expect("no panic").kill();
                }
            });
            for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).into_owned();
                if let Some(test) = line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... FAILED")) {
                    failed = Some(test.to_owned());
                    let _ = child.lock().expect("no panic").kill();
                    break;
                }
                last = line;
            }
            *ended.lock().expect("no panic") = true;
            signal.notify_all();
        });
        let succeeded = child.lock().expect("no panic").wait().is_ok_and(|status| status.success());
        let name = || tests.first().map_or_else(String::new, |test| test.name.clone());
        if let Some(test) = failed {
            return Some(Outcome::Caught(test));
        }
        if *is_late.lock().expect("no panic") {
            return Some(Outcome::CaughtByTime(name()));
        }
        (!succeeded).then(|| Outcome::Caught(format!("{} ({last})", name())))
    }
}
