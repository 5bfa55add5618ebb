//! `tenslice extract`

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tenslice::{DType, Layout, Order};

use crate::common::failure::Failure;
use crate::common::model::Mapped;
use crate::common::reading::verify_whole;
use crate::common::text::printable;
use crate::npy;
use crate::options::{Checks, Limits};
use crate::output::Output;
use crate::paths;
use crate::progress;
use crate::terminal::Terminal;
use crate::values::Values;
use crate::values::number::{lanes, to_f32};

/// Write a tensor as a dense array: NPY or raw bytes
///
/// Numbers are decoded, in this machine's byte order. Texts, times, records and long doubles keep their type and
/// their bytes, so that NumPy reads the same array. A column-major array stays column-major, as the NPY header says,
/// unless --row-major converts it. The file is written under a temporary name and renamed when it is complete: a
/// failure or an interrupt leaves nothing behind.
#[derive(clap::Args)]
pub struct Arguments {
    file: PathBuf,

    /// The name of the tensor; optional if the file has only one
    name: Option<String>,

    /// The file to write, ending in .npy or .bin; `-` is standard output and needs --format
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    /// Write NPY or raw bytes, whatever the file name; by default the ending of the name decides
    #[arg(long)]
    format: Option<Format>,

    /// Convert the elements to f32: quantized elements, integers, floats of other widths
    #[arg(long)]
    f32: bool,

    /// Write a column-major array in row-major order
    #[arg(long)]
    row_major: bool,

    /// Replace an existing file
    #[arg(long, short)]
    force: bool,

    #[command(flatten)]
    checks: Checks,

    #[command(flatten)]
    limits: Limits,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Format {
    Npy,
    Bin,
}

impl Arguments {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        let result = self.extract(terminal);
        terminal.status_of(&self.file, result)
    }

    /// The format to write: the requested one, or the one that the output name ends in.
    fn format(&self) -> Result<Format, Failure> {
        let ending = self.output.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let message = match (self.format, ending.as_deref()) {
            (Some(format), _) => return Ok(format),
            (None, Some("npy")) => return Ok(Format::Npy),
            (None, Some("bin")) => return Ok(Format::Bin),
            (None, Some(ending)) => format!("cannot write a .{} file", printable(ending)),
            (None, None) if self.output == Path::new("-") => {
                "standard output has no name to derive the format from".into()
            }
            (None, None) => format!("{} does not end in .npy or .bin", self.output.display()),
        };
        let choices = "write NPY (.npy) or the bytes of the elements (.bin), or pass --format npy or --format bin";
        Err(Failure::new("InvalidArgument", format!("{message}: {choices}")))
    }

    fn extract(&self, terminal: &mut Terminal) -> Result<(), Failure> {
        let format = self.format()?;
        if terminal.json && self.output == Path::new("-") {
            let message = "--json would mix a record with the array on standard output: write to a file";
            return Err(Failure::new("InvalidArgument", message));
        }
        let mapped = Mapped::new(&paths::only(&self.file)?)?;
        let mut tables = mapped.tables();
        let model = mapped.open(&mut tables)?;
        let (opened, tensor) = model.find(self.name.as_deref())?;
        terminal.warn_of_data(opened);
        let budget = self.limits.budget();
        budget.add_file(model.length());
        verify_whole(opened, &tensor, &budget, self.checks.are_compared())?;
        let mut values = if self.f32 { Values::of } else { Values::stored }(opened, &tensor, &budget)?;
        if !self.f32 && values.dtype == Some(DType::F32) && tensor.dtype() != values.dtype && is_converted(&tensor) {
            let what = tensor.dtype().map_or_else(|| tensor.layout_name().into(), |dtype| dtype.name().to_owned());
            return Err(Failure::new("WrongType", format!("the elements are {what}: pass --f32 to convert them")));
        }
        if self.row_major {
            values.make_row_major(opened)?;
        }
        let is_column_major = values.order == Order::ColumnMajor && values.shape.len() > 1;
        let conversion = match (self.f32, values.dtype.map(lanes)) {
            (false, _) | (_, Some((DType::F32, 1))) => None,
            (true, Some((lane, 1))) => Some(lane),
            _ => {
                let message = format!("--f32 cannot convert elements of {}", values.stated.text);
                return Err(Failure::new("WrongType", message));
            }
        };
        let dtype = if conversion.is_some() { Some(DType::F32) } else { values.dtype };
        let header = match (format, dtype) {
            (Format::Bin, _) => Vec::new(),
            (Format::Npy, dtype) => {
                let header = match dtype {
                    Some(dtype) => npy::header(dtype, &values.shape, values.order),
                    None => {
                        let size = (values.count > 0).then_some(values.size);
                        values.stated.literal(size).map(|descr| npy::header_of(&descr, &values.shape, values.order))
                    }
                };
                header.ok_or_else(|| {
                    let hint = match dtype {
                        Some(_) if is_column_major => "use --f32, or --row-major, or write a .bin file",
                        Some(_) => "use --f32, or write a .bin file",
                        None => "write a .bin file",
                    };
                    let what = match &*values.stated.text {
                        "-" => "elements of unknown type",
                        text => &format!("elements of {text}"),
                    };
                    Failure::new("WrongType", format!("NPY has no type for {what}: {hint}"))
                })?
            }
        };
        let bar = progress::bar(values.count.saturating_mul(values.size));
        let mut write = |out: &mut dyn Write| -> Result<(), Written> {
            out.write_all(&header).map_err(Written::Out)?;
            let mut failed = None;
            let result = values.each(|_, bytes| {
                bar.inc(bytes.len() as u64);
                let written = match conversion.and_then(|lane| to_f32(lane, bytes)) {
                    None => out.write_all(bytes),
                    Some(numbers) => {
                        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
                        out.write_all(&bytes)
                    }
                };
                written.map_err(|error| {
                    failed = Some(error);
                    Failure::Reported
                })
            });
            match (failed, result) {
                (Some(error), _) => Err(Written::Out(error)),
                (None, Err(stopped)) => Err(Written::In(stopped.in_file(opened))),
                (None, Ok(())) => out.flush().map_err(Written::Out),
            }
        };
        if format == Format::Bin && is_column_major {
            // The output itself does not state the order.
            let _ = writeln!(
                io::stderr(),
                "note: {}: the elements are written in column-major order; --row-major converts them",
                self.file.display()
            );
        }
        if self.output == Path::new("-") {
            let written = write(&mut terminal.out);
            bar.finish_and_clear();
            return match written {
                Err(Written::Out(error)) => Err(Failure::Output(error)),
                Err(Written::In(failure)) => Err(failure),
                Ok(()) => Ok(()),
            };
        }
        let mut output = Output::create(&self.output, self.force)?;
        let written = write(&mut BufWriter::with_capacity(1 << 16, &mut output));
        bar.finish_and_clear();
        match written {
            Err(Written::Out(error)) => Err(output.fail(&error)),
            Err(Written::In(failure)) => Err(failure),
            Ok(()) => output.finish(),
        }
    }
}

/// Returns true if the elements are always read as `f32`.
fn is_converted(tensor: &tenslice::Tensor<'_>) -> bool {
    matches!(tensor.layout(), Layout::Blocks | Layout::Microscaling) || tensor.dtype().is_some_and(DType::is_packed)
}

/// The reason why a file was not written.
enum Written {
    Out(io::Error),
    In(Failure),
}
