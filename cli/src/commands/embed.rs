//! `tenslice embed`

use std::collections::{HashMap, HashSet};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tenslice::{ByteOrder, Component, DType, Encoding, Extent, Layout, Order, ReadOptions, Tensor};

use crate::common::budget::{Budget, Room};
use crate::common::failure::Failure;
use crate::common::model::{Mapped, Opened};
use crate::common::reading::{is_compressed_array, verify_whole};
use crate::common::text::printable;
use crate::options::{Checks, Limits};
use crate::output::Output;
use crate::terminal::Terminal;
use crate::values::Values;
use crate::values::number::lanes;

/// Write the tensors of a file as assembly, and a C header with their names, shapes and dtypes
///
/// For weights in flash: run `cc -c weights.S`, and #include "weights.h". Bytes that FILE stores as needed are taken
/// from it by .incbin when the assembly is assembled, from the path as given here; all others are written out. Numbers
/// are little-endian. Each component of a sparse or quantized tensor is a separate array. A column-major array stays
/// column-major, as the header says, unless --row-major converts it.
#[derive(clap::Args)]
pub struct Arguments {
    file: PathBuf,

    /// The file to write, ending in .S; the header is written next to it
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    /// Alignment of the arrays, a power of two
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    align: u64,

    /// Prefix of the symbols; by default the name of the output file
    #[arg(long)]
    prefix: Option<String>,

    /// Write column-major arrays in row-major order
    #[arg(long)]
    row_major: bool,

    /// Write out all bytes, so that FILE is not needed later
    #[arg(long)]
    bytes: bool,

    #[command(flatten)]
    checks: Checks,

    #[command(flatten)]
    limits: Limits,

    /// Replace existing files
    #[arg(long, short)]
    force: bool,
}

/// An array of the assembly.
struct Array<'b> {
    symbol: String,
    name: String,
    role: String,
    dtype: Option<DType>,
    dtype_name: String,
    shape: Vec<u64>,
    is_column_major: bool,
    content: Content<'b>,
}

enum Content<'b> {
    /// A range of the file.
    InFile(PathBuf, Extent),
    Bytes(Room<'b>),
}

impl Array<'_> {
    fn length(&self) -> u64 {
        match &self.content {
            Content::InFile(_, extent) => extent.length,
            Content::Bytes(bytes) => bytes.len() as u64,
        }
    }
}

impl Arguments {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        let result = self.embed(terminal);
        terminal.status_of(&self.file, result)
    }

    fn embed(&self, terminal: &mut Terminal) -> Result<(), Failure> {
        let wrong = |message: &str| Err(Failure::new("InvalidArgument", message));
        if !self.align.is_power_of_two() {
            return wrong("--align must be a power of two");
        }
        if self.output.extension().is_none_or(|ending| ending != "S") {
            return wrong("the output name must end in .S, so that `cc -c weights.S` assembles it");
        }
        let mapped = Mapped::new(&self.file)?;
        let mut tables = mapped.tables();
        let model = mapped.open(&mut tables)?;
        let stem = self.output.file_stem().unwrap_or_default().to_string_lossy();
        let prefix = identifier(self.prefix.as_deref().unwrap_or(&stem));
        let mut symbols = Symbols::default();
        for own in ["tensors", "tensor"] {
            symbols.take(format!("{prefix}_{own}"));
        }
        let budget = self.limits.budget();
        budget.add_file(model.length());
        Failure::all(model.problems.clone())?;
        let mut arrays = Vec::new();
        model.files.iter().for_each(|opened| terminal.warn_of_data(opened));
        for (opened, tensor) in model.tensors() {
            verify_whole(opened, &tensor, &budget, self.checks.are_compared())?;
            self.add(&mut arrays, &mut symbols, &prefix, opened, &tensor, &budget)?;
        }
        // Checks that the header can be created, so that a failure leaves no assembly behind.
        let header_path = self.output.with_extension("h");
        drop(Output::create(&header_path, self.force)?);
        let mut assembly = Output::create(&self.output, self.force)?;
        let written = self.write_assembly(&mut BufWriter::new(&mut assembly), &arrays);
        written.map_err(|error| assembly.fail(&error))?;
        assembly.finish()?;
        let mut header = Output::create(&header_path, self.force)?;
        let written = self.write_header(&mut BufWriter::new(&mut header), &prefix, &arrays);
        written.map_err(|error| header.fail(&error))?;
        header.finish()
    }

    /// Adds the arrays of a tensor.
    fn add<'m, 'b>(
        &self,
        arrays: &mut Vec<Array<'b>>,
        symbols: &mut Symbols,
        prefix: &str,
        opened: &'b Opened<'m>,
        tensor: &Tensor<'m>,
        budget: &'b Budget,
    ) -> Result<(), Failure> {
        let name = tensor.name().to_string();
        let mut add = |role: &str, dtype: Option<DType>, dtype_name: String, (shape, order), content: Content<'b>| {
            let shape: Vec<u64> = shape;
            let is_column_major = order == Order::ColumnMajor && shape.len() > 1;
            let parts = [prefix, &name, role];
            let symbol = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_");
            let symbol = symbols.take(identifier(&symbol));
            let (name, role) = (name.clone(), role.into());
            arrays.push(Array { symbol, name, role, dtype, dtype_name, shape, is_column_major, content });
        };
        let of_dtype = |dtype: Option<DType>| dtype.map_or("bytes".into(), |dtype| dtype.name().to_owned());
        let is_transposed =
            self.row_major && tensor.layout() == Layout::Dense && tensor.order() == Order::ColumnMajor;
        if opened.file.as_b2nd().is_some() || is_compressed_array(tensor) || is_transposed {
            let mut values = Values::of(opened, tensor, budget)?;
            if self.row_major {
                values.make_row_major(opened)?;
            }
            let mut all = values.all().map_err(|stop| opened.fail(stop))?;
            to_little_endian(&mut all, values.dtype);
            add("", values.dtype, of_dtype(values.dtype), (values.shape.clone(), values.order), Content::Bytes(all));
            return Ok(());
        }
        let is_one = matches!(tensor.layout(), Layout::Dense | Layout::Blocks);
        for component in tensor.components() {
            let content = self.content(opened, &component, budget)?;
            let length = match &content {
                Content::InFile(_, extent) => extent.length,
                Content::Bytes(bytes) => bytes.len() as u64,
            };
            // Packed elements and blocks are bytes in C.
            let dtype = component.dtype().filter(|dtype| !dtype.is_packed() && tensor.layout() != Layout::Blocks);
            let dtype_name = match tensor.layout() {
                Layout::Blocks => printable(tensor.layout_name()),
                _ => of_dtype(component.dtype()),
            };
            let shape = if is_one {
                (tensor.shape().iter().collect(), tensor.order())
            } else {
                (vec![length / dtype.and_then(DType::size).unwrap_or(1)], Order::RowMajor)
            };
            add(if is_one { "" } else { component.role() }, dtype, dtype_name, shape, content);
        }
        Ok(())
    }

    /// The content of a component: a range of the file if the bytes are stored in the form to embed.
    fn content<'m, 'b>(
        &self,
        opened: &Opened<'m>,
        component: &Component<'m>,
        budget: &'b Budget,
    ) -> Result<Content<'b>, Failure> {
        let is_as_stored = component.encoding() == Encoding::Raw
            && (component.byte_order() == ByteOrder::Little || component.dtype().is_none_or(|d| d.lane_size() == 1));
        if is_as_stored && component.shard().is_none() && !self.bytes && opened.path != Path::new("-") {
            return Ok(Content::InFile(opened.path.into(), component.extent()));
        }
        let bound = opened.with_shard(component).map_err(|error| opened.fail(error))?;
        let bound = bound.ok_or_else(|| opened.without_shard(component))?;
        let read = |room: &mut [u8]| bound.read_into(room, ReadOptions::new()).map(|bytes| bytes.len());
        budget.work(bound.decoded_length().unwrap_or(0)).map_err(Failure::limit)?;
        let (length, mut bytes) = budget.fill(bound.decoded_length(), read).map_err(|stop| opened.fail(stop))?;
        bytes.narrow(0, length);
        to_little_endian(&mut bytes, component.dtype());
        Ok(Content::Bytes(bytes))
    }

    fn write_assembly(&self, out: &mut impl Write, arrays: &[Array<'_>]) -> io::Result<()> {
        writeln!(out, "/* Made by `tenslice embed` from {}. */", in_comment(&self.file))?;
        out.write_all(
            b"#if defined(__APPLE__)\n#define SYMBOL(name) _##name\n    .section __TEXT,__const\n\
            #elif defined(_WIN32)\n#define SYMBOL(name) name\n    .section .rdata,\"dr\"\n\
            #else\n#define SYMBOL(name) name\n    .section .rodata\n#endif\n",
        )?;
        for array in arrays {
            let Array { symbol, content, .. } = array;
            writeln!(out, "\n    .balign {}\n    .globl SYMBOL({symbol})\nSYMBOL({symbol}):", self.align)?;
            match content {
                Content::InFile(path, extent) if extent.length > 0 => {
                    let path = path.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
                    writeln!(out, "    .incbin \"{path}\", {}, {}", extent.offset, extent.length)?;
                }
                Content::InFile(..) => {}
                Content::Bytes(bytes) => {
                    for line in bytes.chunks(16) {
                        let numbers: Vec<String> = line.iter().map(u8::to_string).collect();
                        writeln!(out, "    .byte {}", numbers.join(","))?;
                    }
                }
            }
        }
        // On Linux, declares that the stack is not executable.
        out.write_all(
            b"\n#if defined(__linux__) && defined(__ELF__)\n    .section .note.GNU-stack,\"\",%progbits\n#endif\n",
        )?;
        out.flush()
    }

    fn write_header(&self, out: &mut impl Write, prefix: &str, arrays: &[Array<'_>]) -> io::Result<()> {
        let guard = format!("{}_H", prefix.to_uppercase());
        let rank = arrays.iter().map(|array| array.shape.len()).max().unwrap_or(0).max(1);
        writeln!(out, "/* Made by `tenslice embed` from {}. */", in_comment(&self.file))?;
        writeln!(out, "#ifndef {guard}\n#define {guard}\n\n#include <stddef.h>\n#include <stdint.h>\n")?;
        out.write_all(b"#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n")?;
        for array in arrays {
            let Array { symbol, dtype, dtype_name, shape, is_column_major, .. } = array;
            let order = if *is_column_major { ", column-major" } else { "" };
            let (kind, size) = c_type(*dtype);
            let count = array.length() / size;
            let count = if count > 0 { count.to_string() } else { String::new() };
            writeln!(out, "extern const {kind} {symbol}[{count}]; /* {dtype_name} {shape:?}{order} */")?;
        }
        writeln!(
            out,
            "\nstruct {prefix}_tensor {{\n    const char *name, *role, *dtype;\n    uint32_t rank;\n    uint64_t shape[{rank}];\n    \
             const void *data;\n    uint64_t length; /* in bytes */\n    \
             uint32_t column_major; /* 1: the first index varies fastest in data, 0: the last one */\n}};\n"
        )?;
        writeln!(out, "#define {}_COUNT {}", prefix.to_uppercase(), arrays.len())?;
        if !arrays.is_empty() {
            writeln!(out, "static const struct {prefix}_tensor {prefix}_tensors[] = {{")?;
            for array in arrays {
                let Array { symbol, name, role, dtype_name, shape, .. } = array;
                let lengths: Vec<String> = shape.iter().map(|length| format!("{length}u")).collect();
                let lengths = if lengths.is_empty() { "0".into() } else { lengths.join(", ") };
                writeln!(
                    out,
                    "    {{{}, {}, {}, {}, {{{lengths}}}, {symbol}, {}u, {}u}},",
                    in_quotes(name),
                    in_quotes(if role.is_empty() { "data" } else { role }),
                    in_quotes(dtype_name),
                    shape.len(),
                    array.length(),
                    u32::from(array.is_column_major)
                )?;
            }
            writeln!(out, "}};")?;
        }
        out.write_all(b"\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n")?;
        out.flush()
    }
}

/// Reverses the bytes of each number on a big-endian machine.
fn to_little_endian(bytes: &mut [u8], dtype: Option<DType>) {
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(dtype.map_or(1, DType::lane_size)).for_each(<[u8]>::reverse);
    }
}

/// The C type of an element's numbers, and its size in bytes.
fn c_type(dtype: Option<DType>) -> (&'static str, u64) {
    let lane = dtype.map_or(DType::U8, |dtype| lanes(dtype).0);
    match (lane, lane.lane_size()) {
        (DType::F32, _) => ("float", 4),
        (DType::F64, _) => ("double", 8),
        (DType::I8, _) => ("int8_t", 1),
        (DType::I16, _) => ("int16_t", 2),
        (DType::I32, _) => ("int32_t", 4),
        (DType::I64, _) => ("int64_t", 8),
        (_, 2) => ("uint16_t", 2),
        (_, 4) => ("uint32_t", 4),
        (_, 8 | 16) => ("uint64_t", 8),
        _ => ("uint8_t", 1),
    }
}

/// Converts a name to a C identifier.
fn identifier(name: &str) -> String {
    let allowed = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' });
    let name: String = allowed.collect();
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// The symbols of the output.
#[derive(Default)]
struct Symbols {
    taken: HashSet<String>,
    /// The next number to try after a symbol that is taken, so that no number is tried twice.
    next: HashMap<String, u64>,
}

impl Symbols {
    /// Reserves a symbol. If it is taken, reserves the first free one of `symbol_2`, `symbol_3`, ….
    fn take(&mut self, symbol: String) -> String {
        if self.taken.insert(symbol.clone()) {
            return symbol;
        }
        let next = self.next.entry(symbol.clone()).or_insert(2);
        loop {
            let numbered = format!("{symbol}_{next}");
            *next += 1;
            if self.taken.insert(numbered.clone()) {
                return numbered;
            }
        }
    }
}

/// A path that cannot end a C comment.
fn in_comment(path: &Path) -> String {
    printable(&path.display().to_string()).replace("*/", "* /")
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
    fn names_become_symbols() {
        assert_eq!(["a.b-c", "7", "", "ü"].map(identifier), ["a_b_c", "_7", "_", "_"]);
        let mut symbols = Symbols::default();
        let mut next = |name: &str| symbols.take(identifier(name));
        assert_eq!([next("a.b"), next("a-b"), next("a_b")], ["a_b", "a_b_2", "a_b_3"]);
        // A name that looks numbered reserves its number.
        assert_eq!([next("x_2"), next("x"), next("x"), next("x_2")], ["x_2", "x", "x_3", "x_2_2"]);
    }

    /// Regression test: counting from 2 for each of these names tried 10^10 symbols, which took minutes.
    #[test]
    fn many_names_become_one_symbol() {
        let mut symbols = Symbols::default();
        for i in 0..150_000_u64 {
            symbols.take("w".into());
            symbols.take(format!("w_{}", 2 * i));
        }
        assert_eq!(symbols.taken.len(), 300_000);
    }

    #[test]
    fn any_name_is_a_literal() {
        assert_eq!(in_quotes("a\"\\\n\u{fc}??/"), r#""a\"\\\012\303\274\?\?/""#);
    }
}
