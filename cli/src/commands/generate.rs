//! `tenslice completions`, `tenslice man`

use std::io::{self, Write};

use clap::CommandFactory;

use crate::Arguments;
use crate::terminal::Terminal;

/// Print completions for a shell
#[derive(clap::Args)]
pub struct Completions {
    shell: clap_complete::Shell,
}

impl Completions {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "tenslice", &mut text);
        terminal.out.write_all(&text).map(|()| 0)
    }
}

/// Print the manual page of the tool or of one of its commands
#[derive(clap::Args)]
pub struct Man {
    /// The command, such as `list`; by default the tool as a whole
    command: Option<String>,
}

impl Man {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        let mut tool = Arguments::command();
        tool.build();
        let page = match &self.command {
            None => tool,
            Some(name) => match tool.find_subcommand(name) {
                Some(command) => command.clone(),
                None => {
                    terminal.complain(&format!("there is no command \"{name}\""));
                    return Ok(2);
                }
            },
        };
        let mut text = Vec::new();
        clap_mangen::Man::new(page).render(&mut text)?;
        terminal.out.write_all(&text).map(|()| 0)
    }
}
