//! `tenslice repack`

use std::io;
use std::path::PathBuf;

use clap::ValueEnum;

use crate::common::failure::Failure;
use crate::options::Limits;
use crate::terminal::Terminal;
use crate::writing::file::Properties;
use crate::writing::job::{Inputs, Job};
use crate::writing::selection::Selection;

/// Write a file again with another alignment or order of its data: for mapping, and for flash
///
/// The format stays. zTensor 0.1 to 1.1 becomes 1.2, and compressed data becomes raw. In GGUF, zTensor and NPZ each
/// tensor is aligned; in safetensors and NPY the start of the data.
#[derive(clap::Args)]
pub struct Arguments {
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The file to write
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,

    /// Begin the data at multiples of N bytes, a power of two: 64 for vector instructions, 4096 for pages
    #[arg(long, value_name = "N")]
    align: Option<u64>,

    /// The order of the data
    #[arg(long, value_name = "ORDER", default_value = "given")]
    order: By,

    /// Replace an existing file
    #[arg(long, short)]
    force: bool,

    #[command(flatten)]
    limits: Limits,
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    /// The order of IN
    Given,
    /// By name
    Name,
    /// The largest tensors first
    Size,
}

impl Arguments {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        let result = self.repack(terminal);
        terminal.status_of(&self.input, result)
    }

    fn repack(&self, terminal: &mut Terminal) -> Result<(), Failure> {
        let inputs = Inputs::new(std::slice::from_ref(&self.input))?;
        let mut tables = inputs.tables();
        let models = inputs.open(&mut tables)?;
        let mut job = Job::same_format(&models, &Selection::default())?;
        match self.order {
            By::Given => {}
            By::Name => job.items.sort_by(|a, b| a.name.cmp(&b.name)),
            By::Size => job.items.sort_by_key(|item| std::cmp::Reverse(item.length())),
        }
        let like = Properties::like(&models, job.target, self.force);
        let properties = Properties { alignment: self.align.or(like.alignment), keeps_order: true, ..like };
        job.write(&self.output, properties, None, &job.budget(&self.limits), terminal)
    }
}
