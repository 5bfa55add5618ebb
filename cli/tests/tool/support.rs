//! Running the tool.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a run of the tool left.
#[derive(Debug)]
pub struct Run {
    pub status: i32,
    pub out: String,
    pub bytes: Vec<u8>,
    pub err: String,
}

/// The tool, not run yet.
pub fn tool() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenslice"));
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env("TERM", "xterm");
    command
}

/// Runs the tool.
pub fn run<S: AsRef<OsStr>>(arguments: &[S]) -> Run {
    run_with(arguments, &[])
}

/// Runs the tool with that on its standard input.
pub fn run_with<S: AsRef<OsStr>>(arguments: &[S], input: &[u8]) -> Run {
    let mut command = tool();
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writing = std::thread::spawn(move || drop(stdin.write_all(&input))); // it may not be read
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    Run {
        status: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        bytes: output.stdout,
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs the tool, which must succeed, and returns what it printed.
pub fn out<S: AsRef<OsStr> + std::fmt::Debug>(arguments: &[S]) -> String {
    let run = run(arguments);
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{arguments:?}: {}", run.out);
    run.out
}

/// A file of the library's tests.
pub fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures").join(name);
    assert!(path.exists(), "{name}");
    path.canonicalize().unwrap().to_str().unwrap().into()
}

/// An empty folder that is removed in the end.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().into()
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The names of all files, those that are hidden too.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn as_path(&self) -> &Path {
        self.0.path()
    }
}

/// All files below a folder.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

/// Whether a program can be run here.
pub fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    assert!(found || std::env::var_os("TENSLICE_NO_SKIP").is_none(), "{program} is not there");
    found
}
