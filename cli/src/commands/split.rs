//! `tenslice split`

use std::io;
use std::path::PathBuf;

use crate::common::failure::Failure;
use crate::options::Limits;
use crate::terminal::Terminal;
use crate::writing::file::Properties;
use crate::writing::job::{Inputs, Job};
use crate::writing::selection::Selection;
use crate::writing::shards::{Shards, parse_size};

/// Split a safetensors or GGUF model into several files
///
/// The tensors keep their order. A safetensors model gets an index, as Hugging Face's libraries write it; the parts of a
/// GGUF model get the keys that say which part they are, and the alignment of the model.
#[derive(clap::Args)]
pub struct Arguments {
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The name of the parts: model.gguf becomes model-00001-of-00003.gguf
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,

    #[command(flatten)]
    size: Size,

    /// Replace existing files
    #[arg(long, short)]
    force: bool,

    #[command(flatten)]
    limits: Limits,
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Size {
    /// At most SIZE bytes of tensors in each file: 5GB, 512MiB, 1000000. A larger tensor gets a file of its own
    #[arg(long = "shard-size", value_name = "SIZE", value_parser = parse_size)]
    bytes: Option<u64>,

    /// At most N tensors in each file
    #[arg(long = "shard-tensors", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    tensors: Option<u64>,
}

impl Arguments {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        let result = self.split(terminal);
        terminal.status_of(&self.input, result)
    }

    fn split(&self, terminal: &mut Terminal) -> Result<(), Failure> {
        let inputs = Inputs::new(std::slice::from_ref(&self.input))?;
        let mut tables = inputs.tables();
        let models = inputs.open(&mut tables)?;
        let job = Job::same_format(&models, &Selection::default())?;
        let shards = match self.size.tensors {
            Some(tensors) => Shards::OfCount(tensors),
            None => Shards::OfSize(self.size.bytes.unwrap_or(u64::MAX)),
        };
        let properties = Properties::like(&models, job.target, self.force);
        job.write(&self.output, properties, Some(shards), &job.budget(&self.limits), terminal)
    }
}
