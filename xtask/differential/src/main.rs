//! Reads files and damaged files, and prints one line for each: its number, its group, the outcome of opening, and a
//! hash of everything that the library returns. `cargo run -p xtask -- differential` compares these lines between two
//! builds.
//!
//!     differential SEED FIRST COUNT FOLDER ...       print the lines of COUNT inputs from input FIRST on
//!     differential SEED --show NUMBER FOLDER ...     print the whole text of one input
//!     differential SEED --save NUMBER FILE FOLDER ...   write one input to a file, and print its origin
//!     differential SEED --count FOLDER ...           print the number of undamaged files
//!
//! The inputs are the files in the folders, then mutations of the files. Their numbers and contents depend only on the
//! folders and the seed. Nothing is caught: if the library panics, the program ends.

mod dump;
mod inputs;
mod structure;

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

use inputs::Inputs;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let inputs = |seed: &str, folders: &[&str]| -> Result<Inputs, Box<dyn Error>> {
        Inputs::new(seed.parse()?, folders.iter().map(PathBuf::from))
    };
    match arguments[..] {
        [seed, "--count", ref folders @ ..] => println!("{}", inputs(seed, folders)?.file_count()),
        [seed, "--show", number, ref folders @ ..] => {
            let input = inputs(seed, folders)?.input(number.parse()?)?;
            print!("{}", dump::text(&input.bytes).0);
        }
        [seed, "--save", number, file, ref folders @ ..] => {
            let input = inputs(seed, folders)?.input(number.parse()?)?;
            std::fs::write(file, &input.bytes)?;
            println!("{}", input.origin);
        }
        [seed, first, count, ref folders @ ..] => {
            let inputs = inputs(seed, folders)?;
            let first: u64 = first.parse()?;
            // The standard output is flushed after each line, so no line is lost if the library panics.
            let mut out = std::io::stdout().lock();
            for number in first..first + count.parse::<u64>()? {
                let input = inputs.input(number)?;
                let (text, outcome) = dump::text(&input.bytes);
                let hash = xxhash_rust::xxh3::xxh3_64(text.as_bytes());
                writeln!(out, "{number} {} {outcome} {hash:016x}", input.group)?;
            }
        }
        _ => return Err("the arguments are listed in xtask/differential/src/main.rs".into()),
    }
    Ok(())
}
