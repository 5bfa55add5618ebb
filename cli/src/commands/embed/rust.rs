//! Writes a Rust module.

use std::io::{self, Write};

use super::Embedded;
use super::c::write_list;
use super::symbols::{dimensions, value};

pub fn write(out: &mut dyn Write, embedded: &Embedded<'_>) -> io::Result<()> {
    let Embedded { arrays, source, section, align, .. } = embedded;
    writeln!(out, "// Made by `tenslice embed` from {source}.\n#![allow(dead_code, clippy::all)]\n")?;
    writeln!(out, "/// An aligned array.\n#[repr(C, align({align}))]\npub struct Aligned<T>(pub T);")?;
    for array in arrays {
        let (symbol, kind, count) = (&array.symbol, array.number.rust_type(), array.count());
        writeln!(out, "\n/// {}", array.description())?;
        writeln!(
            out,
            "#[cfg_attr(not(any(target_vendor = \"apple\", windows)), unsafe(link_section = \"{section}.{symbol}\"))]"
        )?;
        writeln!(out, "pub static {symbol}: Aligned<[{kind}; {count}]> = Aligned([")?;
        let size = array.number.size();
        write_list(out, array.bytes().chunks_exact(size).map(|bytes| array.number.in_rust(bytes)))?;
        writeln!(out, "]);")?;
        writeln!(out, "pub const {}: [usize; {}] = {:?};", dimensions(symbol), array.shape.len(), array.shape)?;
        if count == 1 {
            writeln!(out, "pub const {}: {kind} = {};", value(symbol), array.number.in_rust(array.bytes()))?;
        }
    }
    Ok(())
}
