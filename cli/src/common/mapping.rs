//! The bytes of files, mapped into memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The bytes of a file.
pub enum Mapping {
    Mapped(memmap2::Mmap),
    /// The contents of a stream, or of an empty file, which cannot be mapped.
    Read(Vec<u8>),
}

impl std::ops::Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Read(bytes) => bytes,
        }
    }
}

/// Maps a file; `-` is standard input. Anything that cannot be mapped, such as a pipe, is read.
#[allow(unsafe_code)]
pub fn map(path: &Path) -> io::Result<Mapping> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().lock().read_to_end(&mut bytes)?;
        return Ok(Mapping::Read(bytes));
    }
    let mut file = File::open(path).map_err(|error| match path.read_link() {
        Ok(target) if error.kind() == io::ErrorKind::NotFound => {
            io::Error::new(error.kind(), format!("broken symbolic link: {} is missing", target.display()))
        }
        _ => error,
    })?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "this is a folder"));
    }
    if !metadata.is_file() || metadata.len() == 0 {
        file.read_to_end(&mut bytes)?;
        return Ok(Mapping::Read(bytes));
    }
    // SAFETY: the library never assumes that bytes stay the same. If the file is truncated while it is mapped, a signal
    // ends the program, as with any program that maps files.
    unsafe { memmap2::Mmap::map(&file) }.map(Mapping::Mapped)
}
