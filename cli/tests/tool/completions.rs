//! Completes command lines in bash, zsh and fish.

use std::fs;
use std::process::Command;

use crate::support::{Folder, fixture, has, out, run, tool};
use crate::usage::COMMANDS;

/// Lines, and the only completion of their last word. The first TAB of a session loads the script in zsh.
const LINES: [(&str, &str); 20] = [
    ("tenslice show mlp.safetensors fc1.b", "fc1.bias"), // and not the file fc1.bin
    ("tenslice extract mlp.safetensors fc2.w", "fc2.weight"),
    ("tenslice show a\\ b.safetensors fc1.b", "fc1.bias"),
    ("tenslice show ~/mlp.safetensors fc1.b", "fc1.bias"),
    ("tenslice show --no-stats mlp.safetensors fc1.b", "fc1.bias"),
    ("tenslice show mlp.safetensors --no-stats fc1.b", "fc1.bias"),
    ("tenslice --json show --slice 0:1 mlp.safetensors fc1.b", "fc1.bias"),
    ("tenslice show --slice=0:1 mlp.safetensors fc1.b", "fc1.bias"),
    ("tenslice extract -o x.npy mlp.safetensors fc1.b", "fc1.bias"),
    ("tenslice show ml", "mlp.safetensors"),
    ("tenslice show mlp.safetensors --slice fc1.b", "fc1.bin"), // a value of any kind, and no NAME
    ("tenslice ml", "mlp.safetensors"),
    ("tenslice veri", "verify"),
    ("tenslice completions z", "zsh"),
    ("tenslice man ver", "verify"),
    ("tenslice list mlp.safetensors --so", "--sort"),
    ("tenslice list mlp.safetensors --sort si", "size"),
    ("tenslice convert mlp.safetensors --output x.zt --dty", "--dtype"),
    ("tenslice set mlp.safetensors --uns", "--unset"),
    ("tenslice show hostile.safetensors ", "$(touch made)"),
];

const BASH: &str = r#"
. ./script
while IFS= read -r line; do
    read -a words <<< "$line"
    case $line in *" ") words+=("");; esac
    COMP_LINE=$line COMP_POINT=${#line} COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1)) COMPREPLY=()
    _tenslice_or_tensors tenslice "${words[-1]}" "${words[-2]}"
    [ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "${words[-1]}") # complete -o default
    echo "${COMPREPLY[*]}" >> completed
done < lines
"#;

const FISH: &str = r#"
source script
for line in (cat lines)
    echo (complete -C $line | string replace -r '\t.*' '') >> completed
end
"#;

/// Runs an interactive shell, whose first prompt completes the lines.
const ZSH: &str = "zmodload zsh/zpty; zpty shell zsh -d -i; while zpty -r shell; do done";
const ZSHRC: &str = r#"
TMOUT=60 # a shell that waits at the prompt ends
fpath=($PWD $fpath)
autoload -Uz compinit
compinit -u -D
unsetopt automenu
zle-line-init() {
    local line
    for line in "${(@f)$(<lines)}"; do
        BUFFER=$line CURSOR=$#line
        zle complete-word
        print -r -- "$BUFFER" >> completed
    done
    exit
}
zle -N zle-line-init
"#;

/// Checks that each line has the expected completion in a shell.
fn check(shell: &str, arguments: &[&str], script: &str) {
    if !has(shell) {
        return;
    }
    let folder = Folder::new();
    let model = fs::read(fixture("safetensors/py_tiny_mlp.safetensors")).unwrap();
    folder.write("mlp.safetensors", &model);
    folder.write("a b.safetensors", &model);
    folder.write("fc1.bin", b"");
    let header = r#"{"$(touch made)":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#;
    let hostile = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), b"\0"].concat();
    folder.write("hostile.safetensors", &hostile);
    folder.write(script, out(&["completions", shell]).as_bytes());
    folder.write(".zshrc", ZSHRC.as_bytes());
    let lines: Vec<_> = LINES.iter().map(|(line, _)| format!("{line}\n")).collect();
    folder.write("lines", lines.concat().as_bytes());

    let tool = tool();
    let place = std::path::Path::new(tool.get_program()).parent().unwrap();
    let path = format!("{}:{}", place.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(shell);
    command.args(arguments).current_dir(folder.as_path()).env("PATH", path).env("TERM", "xterm");
    command.env("HOME", folder.as_path()).env("ZDOTDIR", folder.as_path());
    let output = command.output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{shell}: {output:?}");

    let completed = fs::read_to_string(folder.path("completed")).unwrap_or_default();
    let completed: Vec<_> = completed.lines().collect();
    for (i, (line, word)) in LINES.iter().enumerate() {
        let before = &line[..=line.rfind(' ').unwrap()];
        let completion = completed[i].strip_prefix(before).unwrap_or(completed[i]).trim_end_matches([' ', '=']);
        assert_eq!(completion.replace('\\', ""), *word, "{shell}: {line}");
        // fish quotes later.
        assert!(shell == "fish" || !word.contains('$') || completion.starts_with("\\$\\("), "{shell}: {completion}");
    }
    assert_eq!(completed.len(), LINES.len(), "{shell}");
    assert!(!folder.names().contains(&"made".into()), "{shell} runs the name of a tensor");
}

#[test]
fn bash_completes() {
    check("bash", &["--norc", "-c", BASH], "script");
}

#[test]
fn zsh_completes() {
    check("zsh", &["-f", "-c", ZSH], "_tenslice");
}

#[test]
fn fish_completes() {
    check("fish", &["--no-config", "-c", FISH], "script");
}

/// The scripts contain every command and what the tool adds to the text of clap, also where a shell is not installed.
#[test]
fn completions_are_scripts() {
    let added =
        [("bash", "_tenslice_or_tensors()"), ("zsh", ":_tenslice_tensors'"), ("fish", "__tenslice_find_names\"")];
    for (shell, text) in added {
        let script = out(&["completions", shell]);
        assert!(COMMANDS.iter().all(|command| script.contains(command)), "{shell}");
        assert!(script.contains(text), "{shell}");
    }
    let zsh = out(&["completions", "zsh"]);
    assert!(zsh.starts_with("#compdef tenslice\n"), "{zsh}");
    assert!(zsh.find("_tenslice_tensors() {") < zsh.find("_tenslice \"$@\""), "{zsh}");
    assert!(zsh.contains("'*:files") && !zsh.contains("'*::"), "{zsh}");
    assert!(zsh.contains("_tenslice_commands_or_files\" \\"), "{zsh}");
}

/// The help of `completions` and the documentation say where the scripts belong.
#[test]
fn scripts_have_places() {
    let help = out(&["completions", "--help"]);
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/tool.md")).unwrap();
    for place in ["bash-completion/completions/tenslice", "_tenslice", "fish/completions/tenslice.fish"] {
        assert!(help.contains(place) && page.contains(place), "{place}");
    }
}

/// Words of a line that has no next NAME print nothing, and standard input is not read.
#[test]
fn other_lines_have_no_names() {
    let file = fixture("safetensors/py_tiny_mlp.safetensors");
    for words in [
        &["show"][..],
        &["list", &file],
        &["show", "-"],
        &["show", &file, "fc1.bias"],
        &["show", &file, "--slice"],
        &["show", &file, "--nothing"],
        &[],
    ] {
        let run = run(&[&["completions", "bash", "--", "tenslice"], words].concat());
        assert_eq!((run.status, run.out.as_str(), run.err.as_str()), (0, "", ""), "{words:?}");
    }
}
