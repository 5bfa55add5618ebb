//! Output files that appear complete or not at all.

use std::fs::Metadata;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once};

use tempfile::{Builder, NamedTempFile};

use crate::common::failure::Failure;

/// The file being written, which is removed if the program is interrupted.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);
static HANDLER: Once = Once::new();

/// A file that is written under a temporary name in the target folder and renamed when it is finished. Dropping it
/// earlier removes it.
pub struct Output {
    file: NamedTempFile,
    path: PathBuf,
    may_replace: bool,
}

impl Output {
    /// Creates a file. Replaces an existing file only if `by_force` is true.
    pub fn create(path: &Path, by_force: bool) -> Result<Self, Failure> {
        let is_file = |metadata: &Metadata| metadata.is_file();
        match path.symlink_metadata() {
            Ok(metadata) if by_force && !is_file(&metadata) => return Err(fail(path, "not a regular file")),
            Ok(_) if !by_force => return Err(there_is_one(path)),
            _ => {}
        }
        HANDLER.call_once(|| {
            let _ = ctrlc::set_handler(|| {
                if let Some(path) = UNFINISHED.lock().ok().and_then(|mut path| path.take()) {
                    let _ = std::fs::remove_file(path);
                }
                std::process::exit(130); // the status that shells report for an interrupt
            });
        });
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return Err(fail(path, &format!("there is no folder {}", folder.display())));
        }
        let mut builder = Builder::new();
        builder.prefix(".tenslice-");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // minus the umask
        // The lock is held until the file is registered, so the handler cannot miss the file.
        let mut unfinished =
            UNFINISHED.lock().map_err(|_| fail(path, "another thread panicked while it created a file"))?;
        let file = builder.tempfile_in(folder).map_err(|error| fail(path, &error.to_string()))?;
        *unfinished = Some(file.path().into());
        Ok(Self { file, path: path.into(), may_replace: by_force })
    }

    /// Completes the file: flushes it, and renames it to its final path.
    pub fn finish(self) -> Result<(), Failure> {
        let Self { mut file, path, may_replace } = self;
        file.flush().map_err(|error| fail(&path, &error.to_string()))?;
        let result = if may_replace { file.persist(&path) } else { file.persist_noclobber(&path) };
        if let Ok(mut unfinished) = UNFINISHED.lock() {
            *unfinished = None;
        }
        match result {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(there_is_one(&path)),
            Err(error) => Err(fail(&path, &error.error.to_string())),
        }
    }

    /// Converts an I/O error from writing this file to a failure that names the path.
    pub fn fail(&self, error: &io::Error) -> Failure {
        fail(&self.path, &error.to_string())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn fail(path: &Path, message: &str) -> Failure {
    Failure::new("Io", format!("cannot write {}: {message}", path.display()))
}

fn there_is_one(path: &Path) -> Failure {
    fail(path, "the file exists; pass --force to replace it")
}
