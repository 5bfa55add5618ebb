//! What is in a tensor file, or why it is refused. `cargo run --example inspect -- --help`
//!
//! Maps each file and prints what the library says of it; decides nothing by itself.

use std::fs::File as Handle;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};
use tenslice::{
    Attributes, ByteOrder, Component, DType, Element, Encoding, Error, ErrorKind, File, Layout, Order, Tensor, Value,
    Warning,
};

const HELP: &str = "\
Shows what is in tensor files, or why they are refused.

    inspect FILE...                 a table of the tensors
    inspect --tensor NAME FILE...   one tensor: its components, attributes and first values
    inspect --json FILE...          one JSON object a line
    inspect --json --digest FILE... the same with the SHA-256 of the data

    --help, --version

Exit status: 0 all files accepted, 1 some refused or unreadable, 2 wrong usage.";

#[derive(Default)]
struct Options {
    json: bool,
    digest: bool,
    tensor: Option<String>,
    files: Vec<String>,
}

/// Why nothing can be said of a file.
enum Refusal {
    Io(io::Error),
    File { error: Error, sentence: String },
}

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => return ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("inspect: {message}\nTry inspect --help.");
            return ExitCode::from(2);
        }
    };
    let mut out = BufWriter::new(io::stdout().lock());
    let mut all_accepted = true;
    for (i, path) in options.files.iter().enumerate() {
        let result = map(Path::new(path)).map_err(Refusal::Io).and_then(|bytes| {
            let refusal = |error: Error| Refusal::File { error, sentence: error.explain(&bytes[..]).to_string() };
            inspect(&mut out, path, &bytes, &options, i > 0).map_err(|failure| match failure {
                Failure::Refused(error) => refusal(error),
                Failure::Io(error) => Refusal::Io(error),
            })
        });
        if let Err(refusal) = result {
            if matches!(&refusal, Refusal::Io(error) if error.kind() == io::ErrorKind::BrokenPipe) {
                return ExitCode::SUCCESS; // the reader has seen enough
            }
            all_accepted = false;
            if report(&mut out, path, &refusal, options.json).is_err() {
                return ExitCode::FAILURE;
            }
        }
    }
    if out.flush().is_err() {
        return ExitCode::SUCCESS;
    }
    if all_accepted { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The options; `None` where the answer has been given already.
fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let mut options = Options::default();
    let mut only_files = false;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            _ if only_files => options.files.push(argument),
            "--" => only_files = true,
            "--help" | "-h" => {
                println!("{HELP}");
                return Ok(None);
            }
            "--version" | "-V" => {
                println!("inspect (tenslice {})", env!("CARGO_PKG_VERSION"));
                return Ok(None);
            }
            "--json" => options.json = true,
            "--digest" => options.digest = true,
            "--tensor" => options.tensor = Some(arguments.next().ok_or("--tensor takes a name")?),
            other if other.starts_with("--") => return Err(format!("unknown option {other}")),
            _ => options.files.push(argument),
        }
    }
    if options.files.is_empty() {
        return Err("no file given".into());
    }
    if options.digest && !options.json {
        return Err("--digest goes with --json".into());
    }
    if options.json && options.tensor.is_some() {
        return Err("--tensor does not go with --json".into());
    }
    Ok(Some(options))
}

/// The bytes of a file, mapped into memory.
fn map(path: &Path) -> io::Result<Mapping> {
    let handle = Handle::open(path)?;
    if handle.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "this is a folder"));
    }
    if handle.metadata()?.len() == 0 {
        return Ok(Mapping(None)); // no bytes cannot be mapped
    }
    // SAFETY: the library never trusts that bytes stay as they are; a file that is cut short while it is
    // mapped ends the program with a signal, as it does with any program that maps files.
    unsafe { memmap2::Mmap::map(&handle) }.map(|map| Mapping(Some(map)))
}

struct Mapping(Option<memmap2::Mmap>);

impl std::ops::Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

/// What ended the work on a file.
enum Failure {
    Refused(Error),
    Io(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn inspect(out: &mut impl Write, path: &str, bytes: &[u8], options: &Options, is_next: bool) -> Result<(), Failure> {
    let file = File::open(bytes)?;
    let mut warnings = file.warnings();
    if warnings.contains(Warning::NamesUnchecked) {
        let words = usize::try_from(file.tensor_count()).unwrap_or(usize::MAX).max(1);
        warnings = file.check_names(&mut vec![0; words])?;
    }
    if options.json {
        let record = json!({
            "file": path,
            "format": file.format().text(),
            "version": file.version(),
            "warnings": warnings.iter().map(Warning::text).collect::<Vec<_>>(),
            "tensors": file.tensors().map(|t| tensor_json(&t, options.digest)).collect::<Result<Vec<_>, _>>()?,
        });
        writeln!(out, "{record}")?;
        return Ok(());
    }
    if is_next {
        writeln!(out)?;
    }
    match &options.tensor {
        Some(name) => details(out, path, &file.find(name)?)?,
        None => table(out, path, &file)?,
    }
    for warning in warnings.iter() {
        let first = warnings.first_tensor(warning).and_then(|i| file.tensors().nth(usize::try_from(i).ok()?));
        let first = first.map(|tensor| format!(" (first: tensor \"{}\")", printable(tensor.name())));
        writeln!(out, "warning: {}{}", warning.text(), first.unwrap_or_default())?;
    }
    Ok(())
}

fn report(out: &mut impl Write, path: &str, refusal: &Refusal, as_json: bool) -> io::Result<()> {
    let (kind, message, offset) = match refusal {
        Refusal::Io(error) => ("Io", error.to_string(), None),
        Refusal::File { error, sentence } => (error.kind().name(), sentence.clone(), error.offset()),
    };
    if as_json {
        return writeln!(
            out,
            "{}",
            json!({"file": path, "error": {"kind": kind, "message": message, "offset": offset}})
        );
    }
    out.flush()?;
    writeln!(io::stderr(), "error: {path}: {message}")
}

fn tensor_json(tensor: &Tensor<'_>, digest: bool) -> Result<Json, Error> {
    let data = if digest && tensor.layout() == Layout::Dense { Some(sha256(&tensor.data()?)?) } else { None };
    if digest {
        tensor.verify()?;
        if matches!(tensor.layout(), Layout::SparseCsr | Layout::SparseCoo) {
            with_room(tensor.scratch_len(), |scratch| tensor.sparse(scratch).map(drop))?;
        }
    }
    let order = match tensor.order() {
        Order::ColumnMajor => "column-major",
        _ => "row-major",
    };
    Ok(json!({
        "name": tensor.name(),
        "dtype": tensor.dtype().map(DType::name),
        "shape": tensor.shape().iter().collect::<Vec<_>>(),
        "layout": tensor.layout_name(),
        "order": order,
        "data_sha256": data,
        "components": tensor.components().map(|c| component_json(&c, digest)).collect::<Result<Vec<_>, _>>()?,
    }))
}

fn component_json(component: &Component<'_>, digest: bool) -> Result<Json, Error> {
    Ok(json!({
        "role": component.role(),
        "dtype": component.dtype().map(DType::name),
        "offset": component.extent().offset,
        "length": component.extent().length,
        "encoding": component.encoding_name(),
        "decoded_length": component.decoded_length(),
        "digest": component.digest(),
        "sha256": if digest { Some(sha256(component)?) } else { None },
    }))
}

/// SHA-256 of the elements, decoded, in little-endian order.
fn sha256(component: &Component<'_>) -> Result<String, Error> {
    let hex = |hash: &[u8]| hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let size = component.dtype().map_or(1, |dtype| usize::try_from(dtype.size()).unwrap_or(1));
    // Where the file has them as they are to be hashed, they need not be copied.
    if component.encoding() == Encoding::Raw && (component.byte_order() == ByteOrder::Little || size == 1) {
        return Ok(hex(&Sha256::digest(component.bytes()?)));
    }
    with_room(component.decoded_length(), |room| {
        let elements = component.read_into(room)?;
        if cfg!(target_endian = "big") {
            elements.chunks_mut(size).for_each(<[u8]>::reverse);
        }
        Ok(hex(&Sha256::digest(elements)))
    })
}

/// Calls `f` with as much memory as it needs; where that is not known, with more and more.
fn with_room<T>(length: Option<u64>, mut f: impl FnMut(&mut [u8]) -> Result<T, Error>) -> Result<T, Error> {
    const FIRST: u64 = 1 << 16;
    const LARGEST: u64 = 1 << 34;
    let mut length_now = length.unwrap_or(FIRST);
    loop {
        // Zeroed pages cost nothing until they are written: a length that lies is found out before.
        let mut room = vec![0; usize::try_from(length_now).unwrap_or(usize::MAX)];
        match f(&mut room) {
            Err(error)
                if length.is_none()
                    && length_now < LARGEST
                    && matches!(error.kind(), ErrorKind::TooSmall | ErrorKind::OutOfScratch) =>
            {
                length_now *= 4;
            }
            result => return result,
        }
    }
}

fn table(out: &mut impl Write, path: &str, file: &File<'_>) -> Result<(), Failure> {
    let stored = |tensor: &Tensor<'_>| tensor.components().map(|c| c.extent().length).sum::<u64>();
    let total: u64 = file.tensors().map(|tensor| stored(&tensor)).sum();
    let version = file.version().map(|version| format!(" {}", printable(version))).unwrap_or_default();
    let count = file.tensor_count();
    let s = if count == 1 { "" } else { "s" };
    writeln!(out, "{path}: {}{version}, {count} tensor{s}, {} of data", file.format(), size(total))?;
    if count == 0 {
        return Ok(());
    }
    let mut rows = vec![["name", "dtype", "shape", "layout", "bytes", "encoding", "digest"].map(String::from)];
    for tensor in file.tensors() {
        rows.push([
            if tensor.name().is_empty() { "\"\"".into() } else { shortened(&printable(tensor.name())) },
            tensor.dtype().map_or("-", DType::name).into(),
            tensor.shape().to_string(),
            printable(tensor.layout_name()),
            stored(&tensor).to_string(),
            distinct(tensor.components().map(|c| printable(c.encoding_name()))),
            distinct(tensor.components().map(|c| c.digest().map_or("-".into(), digest_kind))),
        ]);
    }
    print_rows(out, &rows)?;
    Ok(())
}

/// The kind of a digest: what stands before the colon.
fn digest_kind(digest: &str) -> String {
    printable(digest.split(':').next().unwrap_or(digest))
}

fn details(out: &mut impl Write, path: &str, tensor: &Tensor<'_>) -> Result<(), Failure> {
    writeln!(out, "{path}: tensor \"{}\"", printable(tensor.name()))?;
    let dtype = tensor.dtype().map_or("-", DType::name);
    writeln!(out, "  {dtype} {}, {}, {}", tensor.shape(), printable(tensor.layout_name()), tensor.order().text())?;
    let mut rows = vec![["component", "dtype", "offset", "length", "encoding", "digest"].map(String::from)];
    for component in tensor.components() {
        rows.push([
            printable(component.role()),
            component.dtype().map_or("-", DType::name).into(),
            component.extent().offset.to_string(),
            component.extent().length.to_string(),
            printable(component.encoding_name()),
            component.digest().map_or("-".into(), printable),
        ]);
    }
    print_rows(out, &rows)?;
    if tensor.attributes().next().is_some() {
        writeln!(out, "  attributes")?;
        attributes(out, tensor.attributes(), 4)?;
    }
    for component in tensor.components() {
        match first_values(&component) {
            Ok(values) => writeln!(out, "  {}: {values}", printable(component.role()))?,
            Err(error) => writeln!(out, "  {}: {error}", printable(component.role()))?,
        }
    }
    Ok(())
}

/// The first elements of a component, or why they cannot be shown.
fn first_values(component: &Component<'_>) -> Result<String, Error> {
    fn show<T: Element + std::fmt::Debug>(component: &Component<'_>) -> Result<String, Error> {
        const SHOWN: usize = 8;
        let elements = component.elements::<T>()?;
        let more = if elements.len() > SHOWN { ", …" } else { "" };
        Ok(elements.take(SHOWN).map(|x| format!("{x:?}")).collect::<Vec<_>>().join(", ") + more)
    }
    match component.dtype() {
        Some(DType::F64) => show::<f64>(component),
        Some(DType::F32) => show::<f32>(component),
        Some(DType::I8) => show::<i8>(component),
        Some(DType::I16) => show::<i16>(component),
        Some(DType::I32) => show::<i32>(component),
        Some(DType::I64) => show::<i64>(component),
        Some(DType::U16) => show::<u16>(component),
        Some(DType::U32) => show::<u32>(component),
        Some(DType::U64) => show::<u64>(component),
        Some(DType::U8 | DType::BOOL) => show::<u8>(component),
        Some(DType::C64) => show::<[f32; 2]>(component),
        Some(DType::C128) => show::<[f64; 2]>(component),
        _ if component.encoding() == Encoding::Raw => Ok("(values of this type are not printed)".into()),
        _ => component.bytes().map(|_| String::new()),
    }
}

fn attributes(out: &mut impl Write, all: Attributes<'_>, indent: usize) -> Result<(), Failure> {
    for attribute in all {
        let key = attribute.key.map(|key| format!("{}: ", scalar(&key))).unwrap_or_default();
        writeln!(out, "{:indent$}{key}{}", "", scalar(&attribute.value))?;
        if let Some(items) = attribute.value.items()
            && indent < 40
        {
            attributes(out, items, indent + 2)?;
        }
    }
    Ok(())
}

/// A value in a line; of one that has others inside, its kind.
fn scalar(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => printable(text),
        Value::Bool(truth) => truth.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Bytes(bytes) => format!("{} bytes", bytes.len()),
        other => other.kind().text().into(),
    }
}

/// Columns as wide as they need to be; numbers to the right.
fn print_rows<const N: usize>(out: &mut impl Write, rows: &[[String; N]]) -> io::Result<()> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    for (i, row) in rows.iter().enumerate() {
        let mut line = String::from(" ");
        for (column, cell) in row.iter().enumerate() {
            let is_number = rows.len() > 1 && rows[1][column].bytes().all(|b| b.is_ascii_digit());
            let pad = " ".repeat(widths[column] - cell.chars().count());
            line += &if is_number { format!(" {pad}{cell} ") } else { format!(" {cell}{pad} ") };
        }
        let line = line.trim_end();
        let is_bold = i == 0 && io::stdout().is_terminal();
        if is_bold { writeln!(out, "\x1b[1m{line}\x1b[0m")? } else { writeln!(out, "{line}")? }
    }
    Ok(())
}

/// The different ones of some texts, in the order in which they come.
fn distinct(texts: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for text in texts {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    if all.is_empty() { "-".into() } else { all.join("+") }
}

/// A text of the file with its control characters escaped, those that turn a line around among them.
fn printable(text: &str) -> String {
    let turns = |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars()
        .map(|c| if c.is_control() || turns(c) { c.escape_unicode().to_string() } else { c.to_string() })
        .collect()
}

/// A name cut to what fits into a table.
fn shortened(name: &str) -> String {
    const WIDEST: usize = 60;
    if name.chars().count() <= WIDEST {
        return name.into();
    }
    name.chars().take(WIDEST - 1).chain(['…']).collect()
}

/// A number of bytes for reading.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut amount = bytes as f64 / 1024.0;
    let mut unit = 0;
    while amount >= 1024.0 {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{amount:.1} {}", UNITS[unit])
}
