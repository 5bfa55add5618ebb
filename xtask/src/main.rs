//! Work on the project that is no part of it.
//!
//!     cargo run -p xtask -- header           write include/tenslice.h
//!     cargo run -p xtask -- header --check   fail if it is not what would be written

use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use tenslice::{
    ByteOrder, DType, Encoding, ErrorKind, Format, Item, Layout, MAX_SEGMENTS, Order, ValueKind, Warning,
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
    config.after_includes = Some(codes()?);
    let mut text = Vec::new();
    cbindgen::Builder::new().with_crate(root).with_config(config).generate()?.write(&mut text);
    let foreign = String::from_utf8(text.clone())?;
    let foreign =
        foreign.lines().find(|line| line.contains('(') && line.ends_with(';') && !line.contains("tenslice_"));
    if let Some(line) = foreign.filter(|line| !line.starts_with(' ')) {
        return Err(format!("the header would declare what is not ours: {line}").into());
    }
    if !check {
        std::fs::write(&path, text)?;
    } else if std::fs::read(&path)? != text {
        return Err(
            "include/tenslice.h is not up to date: run `cargo run -p xtask -- header` and read the diff".into()
        );
    }
    Ok(())
}

/// The numbers that C and Rust share, from the crate's own lists.
fn codes() -> Result<String, Box<dyn Error>> {
    let mut out = String::new();
    writeln!(
        out,
        "\n/** Of this header; tenslice_abi_version() gives that of the library. */\n#define TENSLICE_ABI_VERSION 1"
    )?;
    writeln!(out, "\n/** How many ranges a tenslice_source holds. */\n#define TENSLICE_MAX_SEGMENTS {MAX_SEGMENTS}")?;
    writeln!(
        out,
        "\n/**\n * What a call came to (tenslice_status). 1xx: the caller's; 2xx: the file is malformed; 3xx: it is not\n \
         * supported here; 4xx: the data is not what it should be; 5xx: too little room. Numbers are never used again.\n */\nenum {{"
    )?;
    let kinds = ErrorKind::ALL.iter().map(|kind| (kind.name(), i32::from(kind.code()), kind.text()));
    let success =
        [("Ok", 0, "success"), ("End", 1, "there is no further one"), ("Need", 2, "bytes have to be fetched first")];
    list(&mut out, "", success.into_iter().chain(kinds))?;
    writeln!(out, "\n/** The type of an element (uint32_t dtype); 0 is none, or any. */\nenum {{")?;
    writeln!(out, "    TENSLICE_ANY = 0,")?;
    for (dtype, name) in DType::ALL {
        writeln!(out, "    TENSLICE_{name} = {},", dtype.code())?;
    }
    writeln!(out, "}};")?;
    writeln!(
        out,
        "\n/**\n * Added to the type of a number, that of an element of so many of them: TENSLICE_F64 | TENSLICE_LANES_4.\n \
         * Two F32 or F64 are TENSLICE_C64 and TENSLICE_C128 instead.\n */\nenum {{"
    )?;
    for lanes in [2, 4, 8] {
        let code = DType::U8.with_lanes(lanes).map(|dtype| dtype.code() ^ DType::U8.code()).ok_or("no such lanes")?;
        writeln!(out, "    TENSLICE_LANES_{lanes} = {code},")?;
    }
    writeln!(out, "}};")?;
    section(&mut out, "A kind of file. Not every kind that is recognised is read.", "FORMAT_", Format::ALL, |v| {
        (v.name(), v.code().into(), v.text())
    })?;
    section(&mut out, "The part of a file that an error is about.", "ITEM_", Item::ALL, |v| {
        (v.name(), v.code().into(), v.text())
    })?;
    section(&mut out, "How the components of a tensor add up to it.", "LAYOUT_", Layout::ALL, |v| {
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
    section(&mut out, "What a format's text says to warn about, as bits.", "WARNING_", Warning::ALL, |v| {
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
