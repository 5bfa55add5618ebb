//! Work on the project that is no part of it.
//!
//!     cargo run -p xtask -- header           write include/tenslice.h
//!     cargo run -p xtask -- header --check   fail if it is not what would be written

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tenslice::{
    ByteOrder, Caps, DType, Encoding, ErrorKind, Format, Item, Layout, MAX_SEGMENTS, Order, ValueKind, Warning,
};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["header"] => header(false),
        ["header", "--check"] => header(true),
        _ => Err("usage: cargo run -p xtask -- header [--check]".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes the C header, or checks that it is up to date.
fn header(check: bool) -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("no workspace")?;
    let path = root.join("include/tenslice.h");
    let mut config = cbindgen::Config::from_file(root.join("include/cbindgen.toml"))?;
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    let version = manifest.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    config.after_includes = Some(codes(version.ok_or("no version in Cargo.toml")?)?);
    let mut text = Vec::new();
    let sources = with_pointers(root)?;
    cbindgen::Builder::new().with_src(sources.join("mod.rs")).with_config(config).generate()?.write(&mut text);
    let foreign = String::from_utf8(text.clone())?;
    let foreign =
        foreign.lines().find(|line| line.contains('(') && line.ends_with(';') && !line.contains("tenslice_"));
    if let Some(line) = foreign.filter(|line| !line.starts_with(' ')) {
        return Err(format!("the header would declare what is not ours: {line}").into());
    }
    if !check {
        fs::write(&path, text)?;
    } else if fs::read(&path)? != text {
        return Err(
            "include/tenslice.h is not up to date: run `cargo run -p xtask -- header` and read the diff".into()
        );
    }
    Ok(())
}

/// A copy of src/capi for cbindgen, in which the functions of a macro are written out, and arguments of the types of
/// pointer.rs are the pointers and lengths that they are to C. cbindgen itself has no way to leave out the name of a
/// `repr(transparent)` type: C would get a typedef for each of them, where a `const tenslice_file *` says more.
fn with_pointers(root: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let sources = root.join("src/capi");
    let definitions = fs::read_to_string(sources.join("pointer.rs"))?;
    let arguments = Argument::all(&definitions)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let copy = target.join("header");
    fs::create_dir_all(&copy)?;
    for entry in fs::read_dir(sources)? {
        let path = entry?.path();
        let text = fs::read_to_string(&path)?;
        let text = written_out(&text).ok_or(format!("not `exported!` as it is written: {}", path.display()))?;
        let text = arguments.iter().fold(text, |text, argument| argument.resolve(&text));
        fs::write(copy.join(path.file_name().ok_or("no name")?), text)?;
    }
    Ok(copy)
}

/// A source with what its macro `exported!` makes: the body of the macro for each row, in which the names stand for what
/// is between the row's commas. In comments, too.
fn written_out(source: &str) -> Option<String> {
    let Some((_, definition)) = source.split_once("macro_rules! exported {\n    ($(") else {
        return Some(source.to_owned());
    };
    let (pattern, definition) = definition.split_once(";)*) => { $(\n")?;
    let (body, _) = definition.split_once("\n    )* };\n")?;
    let (_, rows) = source.split_once("\nexported! {\n")?;
    let (rows, _) = rows.split_once("\n}\n")?;
    let names: Vec<&str> = pattern.split(", ").filter_map(|part| part.split(':').next()).collect();
    let mut out = source.to_owned();
    for row in rows.lines() {
        let values: Vec<&str> = row.trim().strip_suffix(';')?.split(", ").collect();
        if values.len() != names.len() {
            return None;
        }
        out += &names.iter().zip(values).fold(body.to_owned(), |body, (name, value)| body.replace(name, value));
        out += "\n\n";
    }
    Some(out)
}

/// A `repr(transparent)` type of arguments: `pub struct Handle<'a, H>(*const H, PhantomData<&'a H>);`
struct Argument<'a> {
    name: &'a str,
    /// `H`, or nothing.
    parameter: &'a str,
    /// `*const H`
    stands_for: &'a str,
}

impl<'a> Argument<'a> {
    /// Those that a source defines.
    fn all(source: &'a str) -> Result<Vec<Self>, Box<dyn Error>> {
        let mut all = Vec::new();
        for (_, rest) in source.match_indices("#[repr(transparent)]\n").map(|(at, _)| source.split_at(at)) {
            let line = rest.lines().find(|line| !line.starts_with("#[")).unwrap_or_default();
            let parts = line.strip_prefix("pub struct ").and_then(|line| line.split_once('<'));
            let parts = parts.and_then(|(name, rest)| Some((name, rest.split_once(">(")?)));
            let (name, (parameters, fields)) = parts.ok_or(format!("not an argument as they are written: {line}"))?;
            let parameter = parameters.split_once(", ").map_or("", |(_, parameter)| parameter);
            let stands_for = fields.split(", PhantomData").next().unwrap_or_default();
            all.push(Self { name, parameter, stands_for });
        }
        Ok(all)
    }

    /// `file: Handle<tenslice_file>` as `file: *const tenslice_file`, wherever it stands.
    fn resolve(&self, text: &str) -> String {
        let pointer = self.stands_for.strip_suffix(self.parameter).unwrap_or_default();
        let mut text = text.to_owned();
        for end in [",", ")"] {
            text = text.replace(&format!(": {}{end}", self.name), &format!(": {}{end}", self.stands_for));
        }
        let begin = format!(": {}<", self.name);
        let mut parts = text.split(&begin);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for (of, rest) in parts.filter_map(|part| part.split_once('>')) {
            let of = of.split(", ").find(|of| !of.starts_with('\''));
            out += &match of.filter(|_| !self.parameter.is_empty()) {
                Some(of) => format!(": {pointer}{of}{rest}"),
                None => format!(": {}{rest}", self.stands_for),
            };
        }
        out
    }
}

/// What makes calls shorter in C, and what only C needs.
const MACROS: &str = r#"
/** As the length of a string that is passed in: it ends before its NUL. */
#define TENSLICE_NUL SIZE_MAX

/** A string literal as two arguments, its bytes and how many: tenslice_file_find(&file, TENSLICE_STR("w"), ...). */
#define TENSLICE_STR(literal) ("" literal), (sizeof("" literal) - 1)

/** As the rank of a shape that is expected: any shape will do. */
#define TENSLICE_ANY_SHAPE SIZE_MAX

/** Sets struct_size of a struct, before the call that fills it: TENSLICE_INIT(info); */
#define TENSLICE_INIT(info) ((info).struct_size = sizeof(info))
"#;

/// The numbers that C and Rust share, from the crate's own lists.
fn codes(version: &str) -> Result<String, Box<dyn Error>> {
    let mut out = String::new();
    writeln!(
        out,
        "\n/** The ABI version of this header; tenslice_abi_version() returns that of the library. */\n#define TENSLICE_ABI_VERSION 1"
    )?;
    let parts = ["MAJOR", "MINOR", "PATCH"].into_iter().zip(version.split('.'));
    writeln!(out, "\n/** The version of this header; tenslice_version() returns that of the library. */")?;
    for (part, number) in parts {
        writeln!(out, "#define TENSLICE_VERSION_{part} {number}")?;
    }
    out.push_str(MACROS);
    writeln!(
        out,
        "\n/** How many ranges a tenslice_source can keep. */\n#define TENSLICE_MAX_SEGMENTS {MAX_SEGMENTS}"
    )?;
    writeln!(
        out,
        "\n/**\n * The result of a call (tenslice_status). 1xx: the caller's error; 2xx: the file is malformed; 3xx: it is not\n \
         * supported; 4xx: the data is wrong; 5xx: a buffer is too small. Numbers are never reused.\n */\nenum {{"
    )?;
    let kinds = ErrorKind::ALL.iter().map(|kind| (kind.name(), i32::from(kind.code()), kind.text()));
    let success =
        [("Ok", 0, "success"), ("End", 1, "there are no more items"), ("Need", 2, "bytes must be fetched first")];
    list(&mut out, "", success.into_iter().chain(kinds))?;
    writeln!(out, "\n/** The type of an element (uint32_t dtype); 0 is none, or any. */\nenum {{")?;
    writeln!(out, "    TENSLICE_ANY = 0,")?;
    for (dtype, name) in DType::ALL {
        writeln!(out, "    TENSLICE_{name} = {},", dtype.code())?;
    }
    writeln!(out, "}};")?;
    writeln!(
        out,
        "\n/**\n * Combined with the type of a number, the type of an element of several lanes: TENSLICE_F64 | TENSLICE_LANES_4.\n \
         * Two F32 or F64 are TENSLICE_C64 and TENSLICE_C128 instead.\n */\nenum {{"
    )?;
    for lanes in [2, 4, 8] {
        let code = DType::U8.with_lanes(lanes).map(|dtype| dtype.code() ^ DType::U8.code()).ok_or("no such lanes")?;
        writeln!(out, "    TENSLICE_LANES_{lanes} = {code},")?;
    }
    writeln!(out, "}};")?;
    section(
        &mut out,
        "A kind of file. Not every kind that is recognised is supported.",
        "FORMAT_",
        Format::ALL,
        |v| (v.name(), v.code().into(), v.text()),
    )?;
    section(&mut out, "The part of a file that an error is about.", "ITEM_", Item::ALL, |v| {
        (v.name(), v.code().into(), v.text())
    })?;
    section(&mut out, "How the components of a tensor represent it.", "LAYOUT_", Layout::ALL, |v| {
        (v.name(), v.code().into(), v.text())
    })?;
    section(&mut out, "The order of the elements of a dense array.", "ORDER_", Order::ALL, |v| {
        (v.name(), v.code().into(), v.text())
    })?;
    section(&mut out, "The order of the bytes of a number.", "BYTE_ORDER_", ByteOrder::ALL, |v| {
        (v.name(), v.code().into(), v.text())
    })?;
    section(&mut out, "How the bytes of a component are stored.", "ENCODING_", Encoding::ALL, |v| {
        (v.name(), v.code().into(), v.text())
    })?;
    section(&mut out, "The kind of a value of an attribute.", "VALUE_", ValueKind::ALL, |v| {
        (v.name(), v.code().into(), v.text())
    })?;
    writeln!(out, "\n/** What can be done with a component, as bits: tenslice_component_caps. */\nenum {{")?;
    let none = Caps::default();
    for (name, caps, text) in [
        ("BYTES", Caps { bytes: true, ..none }, "tenslice_component_bytes returns its bytes in place"),
        ("RANGE", Caps { range: true, ..none }, "tenslice_component_read_range reads a range of them"),
        ("DECODE", Caps { decode: true, ..none }, "tenslice_component_read_into decodes it, or copies it"),
        ("VERIFY", Caps { verify: true, ..none }, "tenslice_component_verify_with compares it with a digest"),
    ] {
        writeln!(out, "    TENSLICE_CAP_{name} = {}, /**< {text} */", caps.bits())?;
    }
    writeln!(out, "}};")?;
    section(&mut out, "Warnings, as bits: what is not an error, but worth a look.", "WARNING_", Warning::ALL, |v| {
        (v.name(), 1 << v.code(), v.text())
    })?;
    Ok(out)
}

fn section<T>(
    out: &mut String,
    title: &str,
    prefix: &str,
    all: &[T],
    entry: impl Fn(&T) -> (&'static str, i32, &'static str),
) -> Result<(), std::fmt::Error> {
    writeln!(out, "\n/** {title} */\nenum {{")?;
    list(out, prefix, all.iter().map(entry))
}

fn list<'a>(
    out: &mut String,
    prefix: &str,
    entries: impl Iterator<Item = (&'a str, i32, &'a str)>,
) -> Result<(), std::fmt::Error> {
    for (name, code, text) in entries {
        writeln!(out, "    TENSLICE_{prefix}{} = {code}, /**< {text} */", screaming(name))?;
    }
    writeln!(out, "}};")
}

/// `RepeatedName` as `REPEATED_NAME`.
fn screaming(name: &str) -> String {
    let mut out = String::new();
    let mut last = 'A';
    for c in name.chars() {
        if c.is_uppercase() && !last.is_uppercase() {
            out.push('_');
        }
        out.extend(c.to_uppercase());
        last = c;
    }
    out
}
