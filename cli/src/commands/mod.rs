//! The subcommands.

mod generate;
mod list;
mod show;
mod verify;

use std::io;

use clap::Subcommand;

use crate::terminal::Terminal;

#[derive(Subcommand)]
pub enum Command {
    List(list::Arguments),
    Show(show::Arguments),
    Verify(verify::Arguments),
    Completions(generate::Completions),
    Man(generate::Man),
}

impl Command {
    /// Does what was asked for, and returns the exit status.
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        match self {
            Self::List(arguments) => arguments.run(terminal),
            Self::Show(arguments) => arguments.run(terminal),
            Self::Verify(arguments) => arguments.run(terminal),
            Self::Completions(arguments) => arguments.run(terminal),
            Self::Man(arguments) => arguments.run(terminal),
        }
    }
}
