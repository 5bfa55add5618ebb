//! `tenslice completions`, `tenslice man`

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{CommandFactory, Parser, ValueHint};
use clap_complete::Shell;

use crate::Arguments;
use crate::terminal::Terminal;

const PLACES: &str = "\
Write the script to a file that the shell reads:
  bash  ~/.local/share/bash-completion/completions/tenslice
  zsh   a file _tenslice in a folder of $fpath
  fish  ~/.config/fish/completions/tenslice.fish";

/// Completes tensor names, and files in place of a command. `compgen -W` would run the commands in a name.
const BASH: &str = r#"
_tenslice_or_tensors() {
    local line=${COMP_LINE:0:COMP_POINT} names name files
    mapfile -t names < <(printf '%s' "${line%"$2"}" | xargs tenslice completions bash -- 2>/dev/null | tail -n +2)
    if [[ ${#names[@]} -gt 0 && $2 != -* ]]; then
        COMPREPLY=()
        for name in "${names[@]}"; do
            printf -v name %q "$name"
            if [[ $name == "$2"* ]]; then COMPREPLY+=("$name"); fi
        done
        return
    fi
    _tenslice "$@"
    if [[ ${COMP_CWORD} -eq 1 ]]; then
        mapfile -t files < <(compgen -f -- "$2")
        COMPREPLY+=("${files[@]}")
        compopt -o filenames 2>/dev/null
    fi
}
complete -F _tenslice_or_tensors -o nosort -o bashdefault -o default tenslice
"#;

const FISH: &str = r#"
function __tenslice_find_names
    set -g __tenslice_names (tenslice completions fish -- (commandline -opc) 2>/dev/null | tail -n +2)
    set -q __tenslice_names[1]
end
complete -c tenslice -n "__fish_tenslice_using_subcommand show extract; and __tenslice_find_names" -f -a '$__tenslice_names'
complete -c tenslice -n __fish_tenslice_needs_command -F
"#;

/// The functions that `ZSH_CHANGES` call. They come before the text of clap, which ends with a call of `_tenslice`.
const ZSH: &str = r#"
_tenslice_tensors() {
    local -a names
    names=(${(f)"$(tenslice completions zsh -- tenslice "${(@Q)words[1,CURRENT-1]}" 2>/dev/null | tail -n +2)"})
    compadd -a names
}

_tenslice_commands_or_files() {
    _alternative 'commands::_tenslice_commands' 'files::_files'
}
"#;
const ZSH_CHANGES: [(&str, &str); 3] = [
    (
        "::name -- The name of the tensor; optional if the file has only one:_default",
        "::name -- The name of the tensor; optional if the file has only one:_tenslice_tensors",
    ),
    ("\":: :_tenslice_commands\"", "\":: :_tenslice_commands_or_files\""),
    // With two colons, zsh completes no options after the first FILE.
    ("\n'*::", "\n'*:"),
];

/// Print completions for a shell
#[derive(clap::Args)]
#[command(after_help = PLACES)]
pub struct Completions {
    shell: Shell,

    /// The words of a command line before the cursor: print the tensor names that can follow. The scripts use this.
    #[arg(last = true, hide = true, value_hint = ValueHint::Other)]
    words: Vec<OsString>,
}

impl Completions {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        if self.words.is_empty() {
            return terminal.out.write_all(self.script().as_bytes()).map(|()| 0);
        }
        let Some(file) = file_before_name(&self.words) else { return Ok(0) };
        let list = ["tenslice", "list", "--tsv", "--columns", "name", "--"].map(OsString::from);
        Arguments::parse_from(list.into_iter().chain([file.into()])).command.run(terminal)
    }

    fn script(&self) -> String {
        let mut tool = Arguments::command();
        let commands: Vec<String> = tool.get_subcommands().map(|command| command.get_name().to_owned()).collect();
        tool = tool.mut_subcommand("man", |man| {
            man.mut_arg("command", |command| command.value_parser(PossibleValuesParser::new(commands)))
        });
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut tool, "tenslice", &mut text);
        let text = String::from_utf8_lossy(&text);
        match self.shell {
            Shell::Bash => format!("{text}{BASH}"),
            Shell::Fish => format!("{text}{}{FISH}", values_in_fish(&tool)),
            Shell::Zsh => changed_for_zsh(&text),
            _ => text.into_owned(),
        }
    }
}

/// Returns the FILE of a command line whose next argument is the NAME of a tensor in that file.
fn file_before_name(words: &[OsString]) -> Option<PathBuf> {
    // The line is not complete: nothing is required.
    let tool = Arguments::command().mut_subcommands(|command| command.mut_args(|arg| arg.required(false)));
    let matches = tool.try_get_matches_from(words).ok()?;
    let ("show" | "extract", arguments) = matches.subcommand()? else { return None };
    let file = arguments.get_one::<PathBuf>("file").filter(|file| *file != Path::new("-"))?;
    if arguments.contains_id("name") {
        return None;
    }
    match (file.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => Some(home.join(rest)),
        _ => Some(file.clone()),
    }
}

/// The values of arguments without an option, such as the shells of `completions`. clap does not complete them in fish.
fn values_in_fish(tool: &clap::Command) -> String {
    let mut text = String::new();
    for command in tool.get_subcommands() {
        for argument in command.get_positionals() {
            let values: Vec<_> = argument.get_possible_values().iter().map(|v| v.get_name().to_owned()).collect();
            if !values.is_empty() {
                let (command, values) = (command.get_name(), values.join(" "));
                let condition = format!("__fish_tenslice_using_subcommand {command}");
                text += &format!("complete -c tenslice -n \"{condition}\" -f -a \"{values}\"\n");
            }
        }
    }
    text
}

fn changed_for_zsh(script: &str) -> String {
    let (first, rest) = script.split_once('\n').unwrap_or_default();
    let mut rest = rest.to_owned();
    for (from, to) in ZSH_CHANGES {
        debug_assert!(rest.contains(from), "clap does not write this any more: {from}");
        rest = rest.replace(from, to);
    }
    format!("{first}\n{ZSH}{rest}")
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
