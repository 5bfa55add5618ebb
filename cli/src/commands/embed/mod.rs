//! `tenslice embed`

mod arrays;
mod assembly;
mod c;
mod index;
mod number;
mod rust;
mod symbols;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use globset::GlobMatcher;

use crate::common::budget::Budget;
use crate::common::failure::Failure;
use crate::common::model::{Mapped, Model};
use crate::common::pattern::glob;
use crate::common::problem::Problem;
use crate::common::reading::verify_whole;
use crate::common::text::printable;
use crate::options::{Checks, Limits};
use crate::output::{Output, publish_all};
use crate::terminal::Terminal;
use crate::writing::selection::is_chosen;
use crate::writing::shards::parse_size;
use arrays::{Array, Arrays, Style};
use index::Index;
use symbols::identifier;

/// The default alignment.
const ALIGN: u64 = 64;

/// Write the tensors of a file as assembly, C or Rust, to link them into a program
///
/// For weights in flash: run `cc -c weights.S`, and #include "weights.h", which has their names, shapes and dtypes. The
/// ending of OUT decides: `.S` is assembly, `.c` is C for programs without an assembler, `.h` a header that contains the
/// arrays, and `.rs` a Rust module. Each array has a section of its own, so that the linker drops unused ones.
///
/// Bytes that FILE stores as needed are taken from it by .incbin when the assembly is assembled; all others are written
/// out. Numbers are little-endian in assembly. Each component of a sparse or quantized tensor is a separate array. A
/// column-major array stays column-major, as its comment says, unless --row-major converts it.
#[derive(clap::Args)]
pub struct Arguments {
    file: PathBuf,

    /// The file to write, ending in .S, .c, .h or .rs; next to .S and .c, a header is written
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,

    /// Alignment of the arrays, a power of two
    #[arg(long, value_name = "BYTES", default_value_t = ALIGN)]
    align: u64,

    /// Prefix of the symbols; by default the name of the output file
    #[arg(long)]
    prefix: Option<String>,

    /// Embed only tensors whose whole name matches; `*` matches anything
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    only: Vec<GlobMatcher>,

    /// Section of the arrays in ELF files: each is in NAME.SYMBOL
    #[arg(long, value_name = "NAME", default_value = ".rodata", value_parser = parse_section)]
    section: String,

    /// Write a table that finds tensors by name without a search, and the C function that uses it
    #[arg(long)]
    index: bool,

    /// Refuse arrays that take more than SIZE bytes with their alignment: 256KiB, 1000000
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_bytes: Option<u64>,

    /// Write column-major arrays in row-major order
    #[arg(long)]
    row_major: bool,

    /// Write out all bytes, so that FILE is not needed later
    #[arg(long)]
    bytes: bool,

    /// Write the dependencies of OUT to this file, for make and ninja
    #[arg(long, value_name = "FILE")]
    depfile: Option<PathBuf>,

    #[command(flatten)]
    checks: Checks,

    #[command(flatten)]
    limits: Limits,

    /// Replace existing files
    #[arg(long, short)]
    force: bool,
}

/// Parses the name of a section.
fn parse_section(name: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '$');
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err("write letters, digits, `.`, `_` and `$`".into());
    }
    Ok(name.into())
}

/// The arrays, and what the writers need to know about them.
struct Embedded<'b> {
    arrays: Vec<Array<'b>>,
    index: Option<Index>,
    prefix: String,
    section: String,
    align: u64,
    /// The path of the file, for comments.
    source: String,
    /// The name of the header.
    header: String,
}

/// The kind of output.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Assembly,
    C,
    Header,
    Rust,
}

impl Arguments {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        let result = self.embed(terminal);
        terminal.status_of(&self.file, result)
    }

    fn embed(&self, terminal: &mut Terminal) -> Result<(), Failure> {
        let kind = self.kind()?;
        let mapped = Mapped::new(&self.file)?;
        let mut tables = mapped.tables();
        let model = mapped.open(&mut tables)?;
        let stem = self.output.file_stem().unwrap_or_default().to_string_lossy();
        let prefix = identifier(self.prefix.as_deref().unwrap_or(&stem));
        let budget = self.limits.budget();
        budget.add_file(model.length());
        let is_chosen = |name: &str| is_chosen(name, &self.only, &[]);
        let is_wanted = |problem: &Problem| problem.tensor.as_deref().is_none_or(is_chosen);
        Failure::all(model.problems.iter().filter(|problem| is_wanted(problem)).cloned().collect())?;
        let style = Style {
            is_upper: kind == Kind::Rust,
            is_row_major: self.row_major,
            may_refer: kind == Kind::Assembly && !self.bytes,
        };
        let mut arrays = Arrays::new(&prefix, style, &budget);
        model.files.iter().for_each(|opened| terminal.warn_of_data(opened));
        for (opened, tensor) in model.tensors() {
            if is_chosen(&tensor.name().to_string()) {
                verify_whole(opened, &tensor, &budget, self.checks.are_compared())?;
                arrays.add(opened, &tensor)?;
            }
        }
        arrays.put_scales_beside();
        self.check(kind, &arrays.all)?;
        warn(terminal, kind, &arrays);
        let arrays = arrays.all;
        let header_path = self.output.with_extension("h");
        let index = match self.index {
            false => None,
            true => {
                let index = Index::new(arrays.iter().map(|array| array.name.as_str()));
                let failure = || Failure::new("TooMany", "--index: there is no table for these names");
                Some(index.ok_or_else(failure)?)
            }
        };
        let embedded = Embedded {
            index,
            arrays,
            prefix,
            section: self.section.clone(),
            align: self.align,
            source: in_comment(&self.file),
            header: header_path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        };
        // All files are written before the first one gets its name, so that a failure leaves nothing behind.
        let mut outputs = vec![self.write(&self.output, |out| match kind {
            Kind::Assembly => assembly::write(out, &embedded),
            Kind::C => c::write_source(out, &embedded),
            Kind::Header => c::write_header(out, &embedded, true),
            Kind::Rust => rust::write(out, &embedded),
        })?];
        if matches!(kind, Kind::Assembly | Kind::C) {
            outputs.push(self.write(&header_path, |out| c::write_header(out, &embedded, false))?);
        }
        if let Some(path) = &self.depfile {
            outputs.push(self.write(path, |out| self.write_dependencies(out, &model))?);
        }
        publish_all(outputs)
    }

    /// The kind of output that the ending of its name states.
    fn kind(&self) -> Result<Kind, Failure> {
        let wrong = |message: &str| Err(Failure::new("InvalidArgument", message));
        if !self.align.is_power_of_two() {
            return wrong("--align must be a power of two");
        }
        match self.output.extension().and_then(|ending| ending.to_str()) {
            Some("S") => Ok(Kind::Assembly),
            Some("c") => Ok(Kind::C),
            Some("h") => Ok(Kind::Header),
            Some("rs") if self.index => wrong("--index is for C: write .S, .c or .h"),
            Some("rs") => Ok(Kind::Rust),
            _ => wrong("the name of the output must end in .S (assembly), .c, .h or .rs"),
        }
    }

    /// Fails if the arrays need too many bytes, or cannot be written as text.
    fn check(&self, kind: Kind, arrays: &[Array<'_>]) -> Result<(), Failure> {
        let length = |array: &Array<'_>| array.bytes().len() as u64;
        let total = total(arrays, self.align);
        if let Some(most) = self.max_bytes.filter(|most| total > *most) {
            let largest = arrays.iter().max_by_key(|array| length(array));
            let largest = largest.map(|array| (printable(&array.name), length(array))).unwrap_or_default();
            let message = format!(
                "the arrays take {total} bytes, more than --max-bytes {most}; the largest is tensor \"{}\" with {} bytes",
                largest.0, largest.1
            );
            return Err(Failure::new("TooLarge", message));
        }
        if matches!(kind, Kind::C | Kind::Header) {
            for array in arrays {
                let mut numbers = array.bytes().chunks_exact(array.number.size());
                if let Some(element) = numbers.position(|bytes| array.number.in_c(bytes).is_none()) {
                    let component = match array.role.as_str() {
                        "" => String::new(),
                        role => format!(", component \"{}\"", printable(role)),
                    };
                    let message = format!(
                        "tensor \"{}\"{component}: number {element} is NaN or infinite, for which C has no literal; write .S",
                        printable(&array.name)
                    );
                    return Err(Failure::new("WrongType", message));
                }
            }
        }
        Ok(())
    }

    /// Writes a file, which does not have its name yet.
    fn write(&self, path: &Path, f: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Output, Failure> {
        let mut output = Output::create(path, self.force)?;
        let mut buffered = BufWriter::new(&mut output);
        let written = f(&mut buffered).and_then(|()| buffered.flush());
        drop(buffered);
        written.map_err(|error| output.fail(&error))?;
        Ok(output)
    }

    /// Writes a rule for make: the output depends on all files of the model.
    fn write_dependencies(&self, out: &mut dyn Write, model: &Model<'_>) -> io::Result<()> {
        let mut paths: Vec<&Path> = model.files.iter().map(|opened| opened.path).collect();
        if !paths.contains(&&*self.file) {
            paths.push(&self.file);
        }
        let escaped = |path: &Path| {
            let mut text = String::new();
            for c in path.display().to_string().chars() {
                match c {
                    ' ' | '#' => text.extend(['\\', c]),
                    '$' => text += "$$",
                    _ => text.push(c),
                }
            }
            text
        };
        let paths: Vec<String> = paths.into_iter().map(escaped).collect();
        writeln!(out, "{}: {}", escaped(&self.output), paths.join(" "))
    }
}

/// The bytes that the arrays of a model take, with the default alignment.
pub fn length(model: &Model<'_>, budget: &Budget) -> Result<u64, Failure> {
    let style = Style { is_upper: false, is_row_major: false, may_refer: true };
    let mut arrays = Arrays::new("", style, budget);
    for (opened, tensor) in model.tensors() {
        arrays.add(opened, &tensor)?;
    }
    Ok(total(&arrays.all, ALIGN))
}

/// The bytes that arrays take with their alignment.
fn total(arrays: &[Array<'_>], align: u64) -> u64 {
    arrays.iter().map(|array| (array.bytes().len() as u64).next_multiple_of(align)).sum()
}

/// Warns of symbols with numbers, and of text that takes a compiler long.
fn warn(terminal: &mut Terminal, kind: Kind, arrays: &Arrays<'_>) {
    const LARGE: usize = 1_000_000;
    if let Some(collision) = &arrays.collision {
        let first = collision.first.as_ref();
        let first = first.map_or("the header".into(), |first| format!("tensor \"{}\"", printable(first)));
        let (name, symbol, more) = (printable(&collision.name), &collision.symbol, arrays.more_collisions);
        let others = if more > 0 { format!("; {more} more got numbers") } else { String::new() };
        terminal.warn(&format!(
            "the symbol of tensor \"{name}\" is {symbol}, since {first} has the one without number{others}"
        ));
    }
    let total: usize = arrays.all.iter().map(|array| array.bytes().len()).sum();
    if kind != Kind::Assembly && total > LARGE {
        let message = format!("{total} bytes as text take a compiler long: write .S, which includes the file itself");
        terminal.warn(&message);
    }
}

/// A path that cannot end a comment.
fn in_comment(path: &Path) -> String {
    printable(&path.display().to_string()).replace("*/", "* /")
}
