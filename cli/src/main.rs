//! `tenslice`: inspects tensor files.
//!
//! `commands` has one module per subcommand, with its options. Commands use `values` (the numbers of a tensor, piece by
//! piece), `terminal`, `paths`, `progress` and `common`.

#![deny(unsafe_code)]

mod commands;
mod common;
mod editing;
mod npy;
mod options;
mod output;
mod paths;
mod progress;
mod quantizing;
#[cfg(feature = "url")]
mod remote;
mod terminal;
mod values;
mod writing;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{Parser, ValueEnum};

use commands::Command;
use terminal::Terminal;

const EXIT_STATUS: &str = "\
Without a command, `tenslice FILE` is `tenslice list FILE`.

Exit status: 0 if all files are valid, 1 if a file is refused or cannot be read, 2 for wrong usage.
For `diff`: 0 if there is no difference, 1 if there are differences, 2 for wrong usage or a refused file.

A FILE may be `-` (standard input), a folder (all tensor files below it), the index of a model in several files
(such as model.safetensors.index.json), or a part of a split GGUF model.";

/// Inspect tensor files: safetensors, GGUF, NPY, NPZ, zTensor, PyTorch, ONNX, TFLite, ExecuTorch, Blosc2, TENS, BLZ
#[derive(Parser)]
#[command(name = "tenslice", version, after_help = EXIT_STATUS)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,

    /// Print records instead of texts and tables: one JSON object a line
    #[arg(long, global = true)]
    json: bool,

    /// When to use colours; `auto` depends on the terminal and on NO_COLOR
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: Color,

    /// Maximum line width in columns; by default the width of the terminal, unlimited in a pipe
    #[arg(long, global = true, value_name = "COLUMNS")]
    width: Option<usize>,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

/// Parses the command line. Without a command, `tenslice FILE` lists the file.
fn parse(mut line: Vec<OsString>) -> Arguments {
    let error = match Arguments::try_parse_from(&line) {
        Ok(arguments) => return arguments,
        Err(error) => error,
    };
    let is_file = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => word == "-" || Path::new(word).exists() || word.contains(['.', '/']),
        _ => false,
    };
    if !is_file {
        error.exit();
    }
    line.insert(1, "list".into());
    Arguments::parse_from(line)
}

fn main() -> ExitCode {
    let arguments = parse(std::env::args_os().collect());
    let mut terminal = Terminal::new(arguments.color, arguments.width, arguments.json);
    match arguments.command.run(&mut terminal).and_then(|status| terminal.flush().map(|()| status)) {
        Ok(status) => ExitCode::from(status),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS, // the reader closed the pipe
        Err(error) => {
            terminal.complain(&format!("cannot write: {error}"));
            ExitCode::FAILURE
        }
    }
}
