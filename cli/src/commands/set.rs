//! `tenslice set`

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use clap::ArgGroup;
use tenslice::File;
use tenslice::gguf::ValueType;
use tenslice::safetensors::Index;

use crate::common::failure::Failure;
use crate::common::mapping::{is_stream, map};
use crate::common::model::checked;
use crate::common::part::index_with;
use crate::common::text::printable;
use crate::editing::compare::{compare_in_place, compare_written};
use crate::editing::value::value_type;
use crate::editing::{Changes, Plan};
use crate::output::{Output, note_written};
use crate::progress;
use crate::terminal::Terminal;

/// Change attributes and names of tensors: GGUF, safetensors, zTensor 1.1, 1.2 and 2
///
/// Tensors are never decoded, and keep their bytes. A value of the same length is written in place; any other change
/// writes a copy under a temporary name, which replaces the file when it is complete. The result is checked first: if
/// it is not valid, or if the command is interrupted, the file stays as it is.
///
/// An attribute that is there keeps its type, and a value that does not fit is refused. A new attribute is true or
/// false, an integer, a number with `.` or `e`, or else a text. In safetensors all attributes are texts.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, group = ArgGroup::new("change").required(true).multiple(true))]
pub struct Arguments {
    /// The file to change; of a model in several files, one of the files
    file: PathBuf,

    /// Attributes and their new values. `"..."` is always a text, with the escapes of JSON, if the attribute is new
    #[arg(value_name = "KEY=VALUE", value_parser = pair, group = "change")]
    pairs: Vec<(String, String)>,

    /// Remove an attribute
    #[arg(long, value_name = "KEY", group = "change")]
    unset: Vec<String>,

    /// Rename a tensor
    #[arg(long, value_name = "OLD=NEW", value_parser = pair, group = "change")]
    rename_tensor: Vec<(String, String)>,

    /// The type of the values in GGUF: u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 bool string. By default the type that the
    /// attribute has; for a new one u32, i32, u64 or i64, whichever is the first that fits, and f32 if it is exact,
    /// else f64
    #[arg(long = "type", value_name = "TYPE", value_parser = value_type)]
    kind: Option<ValueType>,

    /// Write a copy to OUT, and leave FILE as it is
    #[arg(long, short, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Replace OUT if it exists
    #[arg(long, short, requires = "output")]
    force: bool,
}

const EXAMPLES: &str = "\
Examples:
  tenslice set model.gguf general.name='My model' --unset general.url
  tenslice set model.gguf my.scale=0.1 --type f32 -o changed.gguf
  tenslice set model.safetensors license=mit
  tenslice set model.zt --rename-tensor fc1.weight=layers.0.weight";

/// Parses `KEY=VALUE`, where only the value can contain `=`.
fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("there is no =")?;
    Ok((key.into(), value.into()))
}

impl Arguments {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        let result = self.set();
        if result.is_ok() {
            self.warn_of_index(terminal);
        }
        terminal.status_of(&self.file, result)
    }

    /// Warns if an index still lists a tensor in this file by its old name: the model is then incomplete.
    fn warn_of_index(&self, terminal: &mut Terminal) {
        if self.output.is_some() {
            return;
        }
        let is_new = |name: &String| self.rename_tensor.iter().any(|(_, new)| new == name);
        let mut gone = self.rename_tensor.iter().map(|(old, _)| old).filter(|old| !is_new(old));
        if let Some((tensor, index)) = gone.find_map(|old| Some((old, index_with(&self.file, old)?))) {
            terminal.warn(&format!(
                "{} still lists tensor \"{}\" in this file: update the index, or rename with `convert --rename` instead",
                printable(&index),
                printable(tensor)
            ));
        }
    }

    fn set(&self) -> Result<(), Failure> {
        let path = &self.file;
        if is_stream(path) || path.is_dir() {
            return Err(Failure::new("InvalidArgument", "set changes a file: pass the path of a regular file"));
        }
        let bytes = map(path).map_err(|error| Failure::unreadable(&error))?;
        let file = open(&bytes)?;
        let changes = Changes {
            pairs: self.pairs.clone(),
            unset: self.unset.clone(),
            names: self.rename_tensor.clone(),
            kind: self.kind,
        };
        let plan = Plan::new(&file, &bytes, &changes)?;
        if self.output.is_none() {
            // A file that cannot be written is not replaced, either.
            OpenOptions::new().write(true).open(path).map_err(|error| unwritable(path, &error))?;
            if let Some(patch) = plan.edits.patch(&bytes) {
                if compare_in_place(&file, &bytes, &plan, &changes)? {
                    drop(bytes);
                    patch.write(path).map_err(|error| unwritable(path, &error))?;
                    note_written(path);
                    return Ok(());
                }
            }
        }
        let target = self.output.as_ref().unwrap_or(path);
        let mut output = Output::create(target, self.force || self.output.is_none())?;
        let length = bytes.len() as u64;
        let bar = progress::bar(length);
        let mut source = fs::File::open(path).map_err(|error| Failure::unreadable(&error))?;
        let copied = plan.edits.copy(&mut source, length, &mut output, &bar);
        bar.finish_and_clear();
        copied.map_err(|error| output.fail(&error))?;
        let written = map(output.temporary()).map_err(|error| output.fail(&error))?;
        compare_written(&file, &written, &plan, &changes)?;
        // A mapped file cannot be replaced everywhere.
        drop((bytes, written));
        output.finish()
    }
}

/// Opens a file and checks all names in it.
fn open(bytes: &[u8]) -> Result<File<'_>, Failure> {
    let opened = File::open(bytes).and_then(|file| checked(&file).map(|_| file));
    opened.map_err(|error| {
        if Index::open(bytes).is_ok() {
            let message = "an index has no attributes: pass the path of one of its files";
            return Failure::new("InvalidArgument", message);
        }
        Failure::of(error, bytes)
    })
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::new("Io", format!("cannot write {}: {error}", path.display()))
}
