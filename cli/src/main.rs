//! `tenslice`: looks into tensor files.
//!
//! `commands` has a module for each subcommand, with its options. They stand on `values` (the numbers of a tensor, piece by
//! piece), `terminal`, `paths`, `progress`, and on `common`, which `examples/inspect` of the library shares.

#![deny(unsafe_code)]

mod commands;
mod common;
mod npy;
mod options;
mod output;
mod paths;
mod progress;
mod terminal;
mod values;

use std::io;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use commands::Command;
use terminal::Terminal;

const EXIT_STATUS: &str = "\
Exit status: 0 all files were accepted, 1 some were refused or could not be read, 2 wrong usage.
For `diff`: 0 no difference, 1 differences, 2 wrong usage, or a file was refused.

A FILE may be `-` for standard input, a folder (all tensor files below it), the index of a model in several
files such as model.safetensors.index.json, or the first part of a split GGUF model.";

/// Looks into tensor files: safetensors, GGUF, NPY, NPZ, zTensor, Blosc2, TENS, BLZ
#[derive(Parser)]
#[command(name = "tenslice", version, after_help = EXIT_STATUS)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,

    /// Colours: by the terminal and NO_COLOR, or as said here
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: Color,

    /// Columns that lines may take; by default those of the terminal, any number in a pipe
    #[arg(long, global = true, value_name = "COLUMNS")]
    width: Option<usize>,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut terminal = Terminal::new(arguments.color, arguments.width);
    match arguments.command.run(&mut terminal).and_then(|status| terminal.flush().map(|()| status)) {
        Ok(status) => ExitCode::from(status),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS, // the reader has seen enough
        Err(error) => {
            terminal.complain(&format!("cannot write: {error}"));
            ExitCode::FAILURE
        }
    }
}
