//! The bytes of files, mapped into memory.

use std::fs::{self, File};
use std::io;
use std::ops::Deref;
use std::path::Path;

/// The bytes of a file.
#[derive(Debug)]
pub struct Mapping(Bytes);

#[derive(Debug)]
enum Bytes {
    Mapped(memmap2::Mmap),
    Read(Vec<u8>),
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Mapped(map) => map,
            Bytes::Read(bytes) => bytes,
        }
    }
}

impl From<Vec<u8>> for Mapping {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Bytes::Read(bytes))
    }
}

/// Maps a file. Nothing is read before it is used. The file must not be changed: see [`Host`](crate::Host).
///
/// # Errors
/// The error of the system; `InvalidInput` if `path` is not that of a file, such as a pipe.
#[allow(unsafe_code)]
pub fn map(path: &Path) -> io::Result<Mapping> {
    if !fs::metadata(path)?.is_file() {
        // Before opening, which would wait for the other end of a pipe.
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "Invalid argument"));
    }
    let file = File::open(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(Vec::new().into()); // an empty file cannot be mapped
    }
    // SAFETY: the library never assumes that bytes stay the same: it validates every range on each access.
    // `Host` documents the effect of another program that changes the file.
    unsafe { memmap2::Mmap::map(&file) }.map(|map| Mapping(Bytes::Mapped(map)))
}
