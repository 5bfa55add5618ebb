//! Runs the tool.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The result of a run of the tool.
#[derive(Debug)]
pub struct Run {
    pub status: i32,
    pub out: String,
    pub bytes: Vec<u8>,
    pub err: String,
}

/// Returns the tool as a command that is not running yet.
pub fn tool() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenslice"));
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env("TERM", "xterm");
    command
}

/// Runs the tool.
pub fn run<S: AsRef<OsStr>>(arguments: &[S]) -> Run {
    run_with(arguments, &[])
}

/// Runs the tool with `input` on its standard input.
pub fn run_with<S: AsRef<OsStr>>(arguments: &[S], input: &[u8]) -> Run {
    let mut command = tool();
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writing = std::thread::spawn(move || drop(stdin.write_all(&input))); // the tool may not read it
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

/// An empty folder that is removed when it is dropped.
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

    /// The names of all files, including hidden ones.
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

/// An NPY file.
pub fn npy(descr: &str, is_column_major: bool, shape: &str, items: &[u8]) -> Vec<u8> {
    let order = if is_column_major { "True" } else { "False" };
    let dict = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}");
    let length = (dict.len() + 11).next_multiple_of(64) - 10;
    let head = [&b"\x93NUMPY\x01\x00"[..], &(length as u16).to_le_bytes()].concat();
    [&head, format!("{dict:<0$}\n", length - 1).as_bytes(), items].concat()
}

/// An NPZ archive of NPY files of less than 64 KiB, each stored or as a deflate stream.
pub fn npz(members: &[(&str, &[u8], bool)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content, is_deflated) in members {
        let length = content.len() as u16;
        // A single stored block.
        let block = [&[1][..], &length.to_le_bytes(), &(!length).to_le_bytes(), content].concat();
        let stored: &[u8] = if *is_deflated { &block } else { content };
        let crc = crc32fast::hash(content);
        let method = if *is_deflated { 8_u16 } else { 0 };
        let name = format!("{name}.npy");
        let mut entry = [&[20, 0, 0, 0][..], &method.to_le_bytes(), &[0, 0, 0x21, 0], &crc.to_le_bytes()].concat();
        [stored.len(), content.len()].iter().for_each(|length| entry.extend((*length as u32).to_le_bytes()));
        entry.extend((name.len() as u16).to_le_bytes());
        directory.extend([&b"PK\x01\x02\x14\x00"[..], &entry, &[0; 12]].concat());
        directory.extend((bytes.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        bytes.extend([&b"PK\x03\x04"[..], &entry, &[0, 0], name.as_bytes(), stored].concat());
    }
    let count = (members.len() as u16).to_le_bytes();
    let places = [directory.len() as u32, bytes.len() as u32].map(u32::to_le_bytes).concat();
    [&bytes, &directory, &b"PK\x05\x06\0\0\0\0"[..], &count, &count, &places, &[0, 0]].concat()
}

/// A BLZ file: a train of `f64` with `dimensions` dimensions of length 2, whose cores all have the same numbers. An
/// element is the product of its cores: `rank` to the power of the number of dimensions less one, times the factors of
/// its indices.
pub fn blz(dimensions: usize, rank: u64, factors: [f64; 2]) -> Vec<u8> {
    let mut bonds = vec![rank; dimensions + 1];
    (bonds[0], bonds[dimensions]) = (1, 1);
    let mut bytes = [&b"BLZ1\x01\0"[..], &[dimensions as u8], &[0; 8]].concat();
    bytes.extend([vec![2_u64; dimensions], bonds.clone()].concat().iter().flat_map(|x| x.to_le_bytes()));
    for ends in bonds.windows(2) {
        for _ in 0..ends[0] {
            let rows = factors.iter().flat_map(|x| vec![x.to_le_bytes(); ends[1] as usize]);
            bytes.extend(rows.flatten());
        }
    }
    bytes
}

/// Lists all files below a folder.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

/// Lists the fixtures, also the damaged ones. One with eight million chunks, which take seconds, is left out.
pub fn fixtures() -> Vec<String> {
    let files = files_below(fixture("").as_ref()).into_iter().map(|path| path.to_str().unwrap().to_owned());
    files.filter(|path| !path.ends_with(".json") && !path.ends_with("/bomb_split_table.b2nd")).collect()
}

/// Returns true if a program can be run here.
pub fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    assert!(found || std::env::var_os("TENSLICE_NO_SKIP").is_none(), "{program} is not there");
    found
}

/// Runs a compiler in a folder, which must succeed without a message.
pub fn compile(folder: &Folder, compiler: &str, arguments: &[&str]) {
    let built = Command::new(compiler).current_dir(folder.as_path()).args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success() && text.is_empty(), "{compiler} {arguments:?}: {text}");
}

/// Compiles a program by `cc` as C99, or by `c++`, and returns what it prints.
pub fn printed(folder: &Folder, compiler: &str, program: &str, arguments: &[&str]) -> String {
    let (name, standard) = if compiler == "cc" { ("main.c", "-std=c99") } else { ("main.cpp", "-std=c++17") };
    folder.write(name, program.as_bytes());
    let options = [standard, "-Wall", "-Wextra", "-Werror", "-o", "program", name];
    compile(folder, compiler, &[&options[..], arguments].concat());
    String::from_utf8(Command::new(folder.path("program")).output().unwrap().stdout).unwrap()
}
