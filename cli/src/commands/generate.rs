//! `tenslice completions`, `tenslice man`

use std::io::{self, Write};

use clap::CommandFactory;
use clap_complete::Shell;

use crate::Arguments;
use crate::terminal::Terminal;

/// Completes the names of the tensors in the file that precedes the name.
const BASH: &str = r#"
_tenslice_or_tensors() {
    if [[ ${COMP_CWORD} -eq 3 && ${COMP_WORDS[1]} == @(show|extract) && ${COMP_WORDS[3]} != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(tenslice list --tsv --columns name -- "${COMP_WORDS[2]}" 2>/dev/null | tail -n +2)" -- "${COMP_WORDS[3]}")
    else
        _tenslice "$@"
    fi
}
complete -F _tenslice_or_tensors -o nosort -o bashdefault -o default tenslice
"#;

const FISH: &str = r#"
function __tenslice_tensors
    set -l words (commandline -opc)
    test (count $words) -eq 3; and tenslice list --tsv --columns name -- $words[3] 2>/dev/null | tail -n +2
end
complete -c tenslice -n "__fish_seen_subcommand_from show extract" -a "(__tenslice_tensors)"
"#;

const ZSH: &str = r#"
_tenslice_tensors() {
    local -a names
    names=("${(@f)$(tenslice list --tsv --columns name -- "${words[2]}" 2>/dev/null | tail -n +2)}")
    compadd -a names
}
"#;
const ZSH_NAME: &str = "::name -- The name of the tensor; optional if the file has only one:_default";
const ZSH_NAME_OF_FILE: &str =
    "::name -- The name of the tensor; optional if the file has only one:_tenslice_tensors";

/// Print completions for a shell
#[derive(clap::Args)]
pub struct Completions {
    shell: Shell,
}

impl Completions {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "tenslice", &mut text);
        let names = match self.shell {
            Shell::Bash => BASH,
            Shell::Fish => FISH,
            Shell::Zsh => {
                // The completion of the argument that is a name.
                let script = String::from_utf8_lossy(&text).replace(ZSH_NAME, ZSH_NAME_OF_FILE);
                text = script.into_bytes();
                ZSH
            }
            _ => "",
        };
        text.extend(names.as_bytes());
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
