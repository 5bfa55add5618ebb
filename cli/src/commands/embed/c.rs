//! Writes C: the header of all outputs, and arrays as text.

use std::io::{self, Write};

use super::Embedded;
use super::arrays::Array;
use super::symbols::{dimension, value};

/// Writes the header. If it is the only file, the header defines the arrays; otherwise it declares them.
pub fn write_header(out: &mut dyn Write, embedded: &Embedded<'_>, is_whole: bool) -> io::Result<()> {
    let Embedded { prefix, arrays, source, index, .. } = embedded;
    let upper = prefix.to_uppercase();
    let rank = arrays.iter().map(|array| array.shape.len()).max().unwrap_or(0).max(1);
    writeln!(out, "/* Made by `tenslice embed` from {source}. */")?;
    writeln!(out, "#ifndef {upper}_H\n#define {upper}_H\n\n#include <stddef.h>\n#include <stdint.h>\n")?;
    write_alignment(out, embedded)?;
    if is_whole {
        write_section(out, embedded)?;
    }
    out.write_all(b"#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n")?;
    for array in arrays {
        if is_whole {
            write_array(out, embedded, array, "static ")?;
        } else {
            let count = if array.count() > 0 { array.count().to_string() } else { String::new() };
            let (kind, symbol) = (array.number.c_type(), &array.symbol);
            writeln!(out, "{upper}_ALIGNED extern const {kind} {symbol}[{count}]; /* {} */", array.description())?;
        }
        write_constants(out, array)?;
    }
    writeln!(
        out,
        "\nstruct {prefix}_tensor {{\n    const char *name, *role, *dtype;\n    uint32_t rank;\n    uint64_t shape[{rank}];\n    \
         const void *data;\n    uint64_t length; /* in bytes */\n    \
         uint32_t column_major; /* 1: the first index varies fastest in data, 0: the last one */\n    \
         uint32_t name_length;\n}};\n"
    )?;
    writeln!(out, "#define {upper}_COUNT {}", arrays.len())?;
    if !arrays.is_empty() {
        writeln!(out, "static const struct {prefix}_tensor {prefix}_tensors[] = {{")?;
        arrays.iter().try_for_each(|array| write_row(out, array))?;
        writeln!(out, "}};")?;
    }
    if let Some(index) = index {
        index.write(out, prefix)?;
    }
    out.write_all(b"\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n")
}

/// Writes the definitions of the arrays, for a file next to the header.
pub fn write_source(out: &mut dyn Write, embedded: &Embedded<'_>) -> io::Result<()> {
    let Embedded { header, arrays, source, .. } = embedded;
    writeln!(out, "/* Made by `tenslice embed` from {source}. */\n#include \"{header}\"\n")?;
    write_section(out, embedded)?;
    arrays.iter().try_for_each(|array| write_array(out, embedded, array, ""))
}

/// Defines the macro of the alignment.
fn write_alignment(out: &mut dyn Write, Embedded { prefix, align, .. }: &Embedded<'_>) -> io::Result<()> {
    let macro_name = format!("{}_ALIGNED", prefix.to_uppercase());
    writeln!(
        out,
        "#if defined(__GNUC__)\n#define {macro_name} __attribute__((aligned({align})))\n\
         #elif defined(_MSC_VER)\n#define {macro_name} __declspec(align({align}))\n\
         #elif defined(__cplusplus)\n#define {macro_name} alignas({align})\n\
         #else\n#define {macro_name} _Alignas({align})\n#endif\n"
    )
}

/// Defines the macro that gives an array a section of its own, so that the linker drops unused arrays.
fn write_section(out: &mut dyn Write, Embedded { prefix, section, .. }: &Embedded<'_>) -> io::Result<()> {
    let macro_name = format!("{}_SECTION", prefix.to_uppercase());
    writeln!(
        out,
        "#if defined(__ELF__)\n#define {macro_name}(symbol) __attribute__((section(\"{section}.\" #symbol)))\n\
         #else\n#define {macro_name}(symbol)\n#endif\n"
    )
}

fn write_array(out: &mut dyn Write, embedded: &Embedded<'_>, array: &Array<'_>, storage: &str) -> io::Result<()> {
    let upper = embedded.prefix.to_uppercase();
    let (kind, symbol, count) = (array.number.c_type(), &array.symbol, array.count().max(1));
    writeln!(out, "/* {} */", array.description())?;
    writeln!(out, "{upper}_ALIGNED {storage}{upper}_SECTION({symbol}) const {kind} {symbol}[{count}] = {{")?;
    let literals = array.bytes().chunks_exact(array.number.size()).map(|bytes| array.number.in_c(bytes));
    write_list(out, literals.map(Option::unwrap_or_default))?;
    if array.count() == 0 {
        writeln!(out, "    0 /* no elements */")?;
    }
    writeln!(out, "}};\n")
}

/// Writes literals in lines.
pub fn write_list(out: &mut dyn Write, literals: impl Iterator<Item = String>) -> io::Result<()> {
    const WIDEST: usize = 110;
    let mut line = String::from("   ");
    for literal in literals {
        if line.len() + literal.len() + 2 > WIDEST {
            writeln!(out, "{line}")?;
            line.truncate(3);
        }
        line += " ";
        line += &literal;
        line += ",";
    }
    if line.len() > 3 { writeln!(out, "{line}") } else { Ok(()) }
}

/// Writes the lengths of the dimensions, and the value of a single element, as macros.
fn write_constants(out: &mut dyn Write, array: &Array<'_>) -> io::Result<()> {
    for (number, length) in array.shape.iter().enumerate() {
        writeln!(out, "#define {} {length}", dimension(&array.symbol, number))?;
    }
    if array.count() == 1 {
        if let Some(literal) = array.number.in_c(array.bytes()) {
            writeln!(out, "#define {} {literal}", value(&array.symbol))?;
        }
    }
    Ok(())
}

fn write_row(out: &mut dyn Write, array: &Array<'_>) -> io::Result<()> {
    let lengths: Vec<String> = array.shape.iter().map(|length| format!("{length}u")).collect();
    let lengths = if lengths.is_empty() { "0".into() } else { lengths.join(", ") };
    writeln!(
        out,
        "    {{{}, {}, {}, {}, {{{lengths}}}, {}, {}u, {}u, {}u}},",
        in_quotes(&array.name),
        in_quotes(if array.role.is_empty() { "data" } else { &array.role }),
        in_quotes(&array.dtype_name),
        array.shape.len(),
        array.symbol,
        array.bytes().len(),
        u32::from(array.is_column_major),
        array.name.len(),
    )
}

/// A C string literal.
fn in_quotes(text: &str) -> String {
    let mut literal = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'?' => literal.extend(['\\', byte as char]),
            b' '..=b'~' => literal.push(byte as char),
            _ => literal += &format!("\\{byte:03o}"),
        }
    }
    literal + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_is_a_literal() {
        assert_eq!(in_quotes("a\"\\\n\u{fc}??/"), r#""a\"\\\012\303\274\?\?/""#);
    }

    #[test]
    fn lists_have_lines() {
        let lines = |count: usize| {
            let mut out = Vec::new();
            write_list(&mut out, (0..count).map(|_| "1234567".into())).unwrap();
            String::from_utf8(out).unwrap().lines().map(str::len).collect::<Vec<_>>()
        };
        assert_eq!([lines(0), lines(11), lines(12), lines(13)], [vec![], vec![102], vec![102, 12], vec![102, 21]]);
    }
}
