//! The subcommands.

mod convert;
mod diff;
mod embed;
mod explain;
mod extract;
mod footprint;
mod generate;
mod layout;
mod list;
mod merge;
mod quantize;
mod repack;
mod set;
mod show;
mod split;
mod stats;
mod verify;

use std::io;

use clap::Subcommand;

use crate::terminal::Terminal;

#[derive(Subcommand)]
pub enum Command {
    List(list::Arguments),
    Show(show::Arguments),
    Stats(stats::Arguments),
    Verify(verify::Arguments),
    Diff(diff::Arguments),
    Extract(extract::Arguments),
    Layout(layout::Arguments),
    Explain(explain::Arguments),
    Embed(embed::Arguments),
    Footprint(footprint::Arguments),
    Convert(convert::Arguments),
    Quantize(quantize::Arguments),
    Repack(repack::Arguments),
    Split(split::Arguments),
    Merge(merge::Arguments),
    Set(set::Arguments),
    Completions(generate::Completions),
    Man(generate::Man),
}

impl Command {
    /// Runs the command and returns the exit status.
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        match self {
            Self::List(arguments) => arguments.run(terminal),
            Self::Show(arguments) => arguments.run(terminal),
            Self::Stats(arguments) => arguments.run(terminal),
            Self::Verify(arguments) => arguments.run(terminal),
            Self::Diff(arguments) => arguments.run(terminal),
            Self::Extract(arguments) => arguments.run(terminal),
            Self::Layout(arguments) => arguments.run(terminal),
            Self::Explain(arguments) => arguments.run(terminal),
            Self::Embed(arguments) => arguments.run(terminal),
            Self::Footprint(arguments) => arguments.run(terminal),
            Self::Convert(arguments) => arguments.run(terminal),
            Self::Quantize(arguments) => arguments.run(terminal),
            Self::Repack(arguments) => arguments.run(terminal),
            Self::Split(arguments) => arguments.run(terminal),
            Self::Merge(arguments) => arguments.run(terminal),
            Self::Set(arguments) => arguments.run(terminal),
            Self::Completions(arguments) => arguments.run(terminal),
            Self::Man(arguments) => arguments.run(terminal),
        }
    }
}
