//! Files far larger than the memory for reading them. The files are sparse: they occupy almost no disk space.

use std::fs::{self, OpenOptions};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::{Folder, out};

/// A safetensors file with one `f64` tensor of `bytes` bytes of zeros.
fn zeros(folder: &Folder, name: &str, bytes: u64) -> String {
    let header = format!(r#"{{"x":{{"dtype":"F64","shape":[{},1024],"data_offsets":[0,{bytes}]}}}}"#, bytes / 8192);
    let path = folder.write(name, &[&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat());
    let length = fs::metadata(&path).unwrap().len() + bytes;
    OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
    path
}

#[test]
fn twenty_gigabytes_are_listed_at_once() {
    let folder = Folder::new();
    let file = zeros(&folder, "huge.safetensors", 20 << 30);
    let begin = Instant::now();
    assert!(out(&["list", &file]).contains("20.0 GiB stored"));
    assert!(out(&["layout", &file]).contains("21474836480"));
    assert_eq!(out(&["show", "--slice", "-1,-2:", &file]), "    [2621439, 1022:1024] 0.0 0.0\n");
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

/// 128 MiB can be read with 32 MiB of memory for data.
#[test]
#[cfg(target_os = "linux")]
fn values_are_read_in_pieces() {
    let folder = Folder::new();
    let file = zeros(&folder, "large.safetensors", 128 << 20);
    let tool = env!("CARGO_BIN_EXE_tenslice");
    let output = folder.path("x.npy");
    for (command, expected) in [
        (format!("show {file}"), "zeros:   16777216"),
        (format!("diff {file} {file}"), "1 tensor the same"),
        (format!("verify {file}"), "ok (1 tensor"),
        (format!("extract {file} -o {output}"), ""),
    ] {
        let run = Command::new("sh").args(["-c", &format!("ulimit -d 32768 && {tool} {command}")]).output().unwrap();
        assert!(run.status.success(), "{command}: {}", String::from_utf8_lossy(&run.stderr));
        assert!(String::from_utf8_lossy(&run.stdout).contains(expected), "{command}");
    }
    assert_eq!(fs::metadata(&output).unwrap().len(), 128 + (128 << 20));
}
