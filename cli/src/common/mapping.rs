//! The bytes of files.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use tenslice_host::Mapping;

/// Returns true if the bytes come from a stream: `-` is standard input; anything that cannot be mapped, such as a pipe,
/// is read.
pub fn is_stream(path: &Path) -> bool {
    path == Path::new("-") || fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Returns true for an address on the web.
pub fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.starts_with("https://") || text.starts_with("http://"))
}

/// Maps a file, or reads a stream.
pub fn map(path: &Path) -> io::Result<Mapping> {
    if !is_stream(path) {
        return tenslice_host::map(path).map_err(|error| explained(path, error));
    }
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().lock().read_to_end(&mut bytes)?;
    } else {
        File::open(path)?.read_to_end(&mut bytes)?;
    }
    Ok(bytes.into())
}

/// Says that a link is broken, if that is the reason why a file was not found.
pub fn explained(path: &Path, error: io::Error) -> io::Error {
    match path.read_link() {
        Ok(target) if error.kind() == io::ErrorKind::NotFound => {
            io::Error::new(error.kind(), format!("broken symbolic link: {} is missing", target.display()))
        }
        _ => error,
    }
}
