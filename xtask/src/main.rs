//! Development tasks.
//!
//!     cargo run -p xtask -- header           write the C headers and their reference page
//!     cargo run -p xtask -- header --check   fail if the headers or the page are out of date
//!     cargo run -p xtask -- mutants          mutation testing: change the sources, and see if a test fails
//!     cargo run -p xtask -- differential     compare what hosts and chips return for damaged files
//!     cargo run -p xtask -- english          the lint for plain English: how texts begin
//!     cargo run -p xtask -- measures         count lines, conditions and arithmetic in src, against their limits
//!     cargo run -p xtask -- new-format NAME  write the skeleton of a new format in src/format/NAME

mod codes;
mod contents;
mod differential;
mod english;
mod item;
mod measures;
mod mutants;
mod new_format;
mod pointers;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["header"] => header(false),
        ["header", "--check"] => header(true),
        ["english"] => root().and_then(english::check),
        ["measures"] => root().and_then(measures::check),
        ["differential", "--help"] => {
            println!("{}", differential::USAGE);
            Ok(())
        }
        ["differential", ref options @ ..] => root().and_then(|root| differential::run(root, options)),
        ["new-format", name] => root().and_then(|root| new_format::write(root, name)),
        ["mutants", "--help"] => {
            println!("{}", mutants::USAGE);
            Ok(())
        }
        ["mutants", ref options @ ..] => root().and_then(|root| mutants::run(root, options)),
        _ => Err(format!(
            "usage: cargo run -p xtask -- header [--check] | english | measures\n       {}\n       {}\n       {}",
            differential::USAGE,
            new_format::USAGE,
            mutants::USAGE
        )
        .into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The root folder of the project.
fn root() -> Result<&'static Path, Box<dyn Error>> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("no workspace".into())
}

/// Writes the C headers and their reference page, or checks that they are up to date. Fails if there are other headers.
fn header(check: bool) -> Result<(), Box<dyn Error>> {
    let root = root()?;
    let items = item::all(root)?;
    let contents = fs::read_to_string(root.join("include/contents.md"))?;
    let files = contents::files(&contents, &items)?;
    let mut wrong = Vec::new();
    for (name, text) in &files {
        let path = root.join(name);
        if !check {
            fs::create_dir_all(path.parent().ok_or("no folder")?)?;
            fs::write(path, text)?;
        } else if !fs::read_to_string(path).is_ok_and(|there| there == *text) {
            wrong.push(format!("{name} is not up to date"));
        }
    }
    for entry in fs::read_dir(root.join("include/tenslice"))? {
        let name = format!("include/tenslice/{}", entry?.file_name().to_string_lossy());
        if !files.iter().any(|(file, _)| *file == name) {
            wrong.push(format!("{name} should not be there: include/contents.md has no such header"));
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    if check {
        wrong.push("run `cargo run -p xtask -- header` and read the diff".into());
    }
    Err(wrong.join("\n       ").into())
}
