//! Output files that appear complete or not at all.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once};

use tempfile::{Builder, NamedTempFile};

use crate::common::failure::Failure;

/// The files being written, which are removed if the program is interrupted.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// The files that were written, for the record of the command.
static WRITTEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static HANDLER: Once = Once::new();

/// A file that is written under a temporary name in the target folder and renamed when it is finished. Dropping it
/// earlier removes it.
pub struct Output {
    file: NamedTempFile,
    path: PathBuf,
    may_replace: bool,
}

impl Output {
    /// Creates a file. Replaces an existing file only if `by_force` is true; a link stays, and its target is replaced.
    pub fn create(path: &Path, by_force: bool) -> Result<Self, Failure> {
        let there = path.metadata().ok();
        let is_link = path.symlink_metadata().is_ok_and(|link| link.is_symlink());
        match &there {
            Some(metadata) if by_force && !metadata.is_file() => return Err(fail(path, "not a regular file")),
            Some(_) if !by_force => return Err(there_is_one(path)),
            None if is_link => return Err(fail(path, "the target of the link does not exist")),
            _ => {}
        }
        let path = match is_link {
            true => &path.canonicalize().map_err(|error| fail(path, &error.to_string()))?,
            false => path,
        };
        HANDLER.call_once(|| {
            // A handled signal makes the write fail.
            #[cfg(unix)]
            let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
            let _ = ctrlc::set_handler(|| {
                let all = UNFINISHED.lock().map(|mut all| std::mem::take(&mut *all)).unwrap_or_default();
                all.iter().for_each(|path| drop(std::fs::remove_file(path)));
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
        {
            use std::os::unix::fs::PermissionsExt;
            // A new file gets these permissions minus the umask; a replaced file keeps its own: see below.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        // The lock is held until the file is registered, so the handler cannot miss the file.
        let mut unfinished =
            UNFINISHED.lock().map_err(|_| fail(path, "another thread panicked while it created a file"))?;
        let file = builder.tempfile_in(folder).map_err(|error| fail(path, &error.to_string()))?;
        if let Some(metadata) = there {
            file.as_file().set_permissions(metadata.permissions()).map_err(|error| fail(path, &error.to_string()))?;
        }
        unfinished.push(file.path().into());
        Ok(Self { file, path: path.into(), may_replace: by_force })
    }

    /// Completes the file: flushes it to the disk, and renames it to its final path.
    pub fn finish(self) -> Result<(), Failure> {
        self.publish().map(drop)
    }

    /// Does the same as [`finish`](Self::finish), and returns the final path.
    fn publish(self) -> Result<PathBuf, Failure> {
        let Self { mut file, path, may_replace } = self;
        let flushed = file.flush().and_then(|()| file.as_file().sync_all());
        flushed.map_err(|error| fail(&path, &error.to_string()))?;
        let temporary = file.path().to_owned();
        let result = if may_replace { file.persist(&path) } else { file.persist_noclobber(&path) };
        if let Ok(mut unfinished) = UNFINISHED.lock() {
            unfinished.retain(|other| *other != temporary);
        }
        match result {
            Ok(_) => {
                note_written(&path);
                Ok(path)
            }
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(there_is_one(&path)),
            Err(error) => Err(fail(&path, &error.error.to_string())),
        }
    }

    /// Appends up to `most` bytes of another file, from its current position. Returns their number. The system copies
    /// them if it can.
    pub fn copy_from(&mut self, file: &mut File, most: u64) -> io::Result<u64> {
        io::copy(&mut file.take(most), self.file.as_file_mut())
    }

    /// The path under which the file is being written.
    pub fn temporary(&self) -> &Path {
        self.file.path()
    }

    /// Converts an I/O error from writing this file to a failure that names the path.
    pub fn fail(&self, error: &io::Error) -> Failure {
        fail(&self.path, &error.to_string())
    }
}

/// Completes several files. If one cannot get its name, removes those that have theirs already.
pub fn publish_all(outputs: Vec<Output>) -> Result<(), Failure> {
    let mut done: Vec<PathBuf> = Vec::new();
    for output in outputs {
        match output.publish() {
            Ok(path) => done.push(path),
            Err(failure) => {
                done.iter().for_each(|path| drop(std::fs::remove_file(path)));
                return Err(failure);
            }
        }
    }
    Ok(())
}

/// Notes that a file was written.
pub fn note_written(path: &Path) {
    if let Ok(mut written) = WRITTEN.lock() {
        written.push(path.into());
    }
}

/// The files that were written since the last call.
pub fn take_written() -> Vec<PathBuf> {
    WRITTEN.lock().map(|mut written| std::mem::take(&mut *written)).unwrap_or_default()
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
