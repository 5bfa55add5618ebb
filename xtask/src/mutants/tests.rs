//! Runs tests against mutants: only the tests that reach a mutant, and first those that have caught the most mutants
//! near it for the time they take.

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

/// The test programs that are run. The others read the sources, or count instructions.
const PROGRAMS: [&str; 4] = ["formats", "memory", "properties", "reference"];

/// The outcome of testing a mutant.
pub enum Outcome {
    /// Caught by this test.
    Caught(String),
    /// Caught because this test took too long.
    CaughtByTime(String),
    /// Passed this many tests.
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
    /// How long the test takes without a mutant.
    time: Duration,
}

pub struct Tests {
    tree: PathBuf,
    programs: Vec<PathBuf>,
    tests: Vec<Test>,
    /// The tests that reach each mutant.
    reached_by: Vec<Vec<usize>>,
    /// The number of mutants that a test has caught so far, by function and by file.
    noticed: Mutex<BTreeMap<(String, usize), u32>>,
}

/// The exit code of `timeout` after a program took too long.
const LATE: i32 = 124;
/// The approximate time it takes to start a program.
const START: Duration = Duration::from_millis(20);

impl Tests {
    /// Builds the tests, and runs each once to record which mutants it reaches. Tests that take longer than `most`
    /// seconds are not used.
    pub fn build(
        tree: &Path,
        features: &str,
        mutants: usize,
        jobs: usize,
        most: Option<usize>,
    ) -> Result<Self, Box<dyn Error>> {
        let mut arguments = vec!["test", "--no-run", "--lib", "--message-format=json", "--features", features];
        arguments.extend(PROGRAMS.iter().flat_map(|program| ["--test", program]));
        let output = super::cargo(tree, &arguments).stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err("the tests do not compile".into());
        }
        let mut programs = Vec::new();
        for line in String::from_utf8(output.stdout)?.lines() {
            let value: Value = serde_json::from_str(line)?;
            if value["profile"]["test"] == true
                && let Some(program) = value["executable"].as_str()
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
        let mut all = Self {
            tree: tree.into(),
            programs,
            tests,
            reached_by: vec![Vec::new(); mutants],
            noticed: Mutex::default(),
        };
        all.see_what_is_reached(jobs, most)?;
        Ok(all)
    }

    fn see_what_is_reached(&mut self, jobs: usize, most: Option<usize>) -> Result<(), Box<dyn Error>> {
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
                            .command(test.program, &[test], most)
                            .env("TENSLICE_REACHED", &path)
                            .stdout(Stdio::null())
                            .stderr(Stdio::null())
                            .status();
                        let is_late = status.as_ref().is_ok_and(|status| status.code() == Some(LATE));
                        let passes = status.is_ok_and(|status| status.success());
                        let reached = fs::read(&path).unwrap_or_default();
                        seen.lock().expect("no panic").insert(index, (passes, is_late, start.elapsed(), reached));
                    }
                });
            }
        });
        let seen = seen.into_inner()?;
        for (index, (passes, is_late, time, reached)) in seen {
            if is_late {
                println!("not shown to any mutant: {}", self.tests[index].name);
                continue;
            }
            if !passes {
                return Err(format!("{} fails without a mutant", self.tests[index].name).into());
            }
            self.tests[index].time = time;
            for number in reached.as_chunks::<4>().0 {
                self.reached_by[u32::from_le_bytes(*number) as usize].push(index);
            }
        }
        println!("{} tests of {} programs", self.tests.len(), self.programs.len());
        Ok(())
    }

    /// Returns a command that runs only these tests of a program, with limited memory, for at most `most` seconds.
    fn command(&self, program: usize, tests: &[&Test], most: Option<usize>) -> Command {
        let mut command = Command::new("sh");
        // Only if there is a limit: `timeout` runs the program as its child, and a kill would end `timeout` instead.
        let limit = most.map_or_else(String::new, |seconds| format!("timeout {seconds} "));
        command
            .current_dir(&self.tree)
            .args(["-c", &format!("ulimit -v 6000000; exec {limit}\"$@\""), "sh"])
            .arg(&self.programs[program])
            .args(["--exact", "--test-threads=1"])
            .args(tests.iter().map(|test| &test.name));
        command
    }

    /// Runs the tests that reach a mutant until one fails. `places` are the function and the file of the mutant.
    pub fn run(&self, mutant: usize, places: [&str; 2]) -> Outcome {
        let reached_by = self.in_order(mutant, places);
        // Starts with few tests, since most mutants are caught at once; then runs more at a time, since each process
        // costs time.
        let (mut from, mut count) = (0, 2);
        while from < reached_by.len() {
            let some = &reached_by[from..reached_by.len().min(from + count)];
            let mut programs: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for &test in some {
                programs.entry(self.tests[test].program).or_default().push(test);
            }
            for (program, tests) in programs {
                if let Some(outcome) = self.run_some(mutant, program, &tests) {
                    let by = match &outcome {
                        Outcome::Caught(name) | Outcome::CaughtByTime(name) => name.split(' ').next(),
                        Outcome::Missed(_) => None,
                    };
                    self.learn(by.unwrap_or_default(), places);
                    return outcome;
                }
            }
            from += count;
            count *= 4;
        }
        Outcome::Missed(reached_by.len())
    }

    /// Records that the test named `name` has caught a mutant.
    pub fn learn(&self, name: &str, places: [&str; 2]) {
        let mut noticed = self.noticed.lock().expect("no panic");
        for test in (0..self.tests.len()).filter(|&test| self.tests[test].name == name) {
            for place in places {
                *noticed.entry((place.to_owned(), test)).or_default() += 1;
            }
        }
    }

    /// Returns the tests that reach a mutant: first those that have caught the most mutants for the time they take.
    fn in_order(&self, mutant: usize, places: [&str; 2]) -> Vec<usize> {
        let noticed = self.noticed.lock().expect("no panic");
        let count = |place: &str, test| f64::from(noticed.get(&(place.to_owned(), test)).copied().unwrap_or(0));
        let mut tests: Vec<(f64, usize)> = self.reached_by[mutant]
            .iter()
            .map(|&test| {
                let hope = 8.0 * count(places[0], test) + count(places[1], test) + 0.5;
                (hope / (self.tests[test].time + START).as_secs_f64(), test)
            })
            .collect();
        tests.sort_by(|one, other| other.0.total_cmp(&one.0));
        tests.into_iter().map(|(_, test)| test).collect()
    }

    /// Runs some tests of one program.
    fn run_some(&self, mutant: usize, program: usize, tests: &[usize]) -> Option<Outcome> {
        let tests: Vec<&Test> = tests.iter().map(|&test| &self.tests[test]).collect();
        let usual: Duration = tests.iter().map(|test| test.time).sum();
        let most = usual * 10 + Duration::from_secs(4);
        let mut child = self
            .command(program, &tests, None)
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
        // The test that was running when the program ended.
        let name =
            || last.strip_prefix("test ").and_then(|line| line.split(' ').next()).unwrap_or_default().to_owned();
        if let Some(test) = failed {
            return Some(Outcome::Caught(test));
        }
        if *is_late.lock().expect("no panic") {
            return Some(Outcome::CaughtByTime(name()));
        }
        (!succeeded).then(|| Outcome::Caught(format!("{} (no result)", name())))
    }
}
