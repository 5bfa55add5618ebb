//! `tenslice convert`

use std::io;
use std::path::PathBuf;

use crate::common::failure::Failure;
use crate::options::Limits;
use crate::terminal::Terminal;
use crate::writing::Target;
use crate::writing::file::Properties;
use crate::writing::float::Float;
use crate::writing::job::{Inputs, Job};
use crate::writing::permute::Permute;
use crate::writing::selection::Selection;
use crate::writing::shards::{Shards, parse_size};
use crate::writing::tensor::Conversion;

/// Convert models: every readable file to every format that can be written
///
/// Numbers, names, shapes and attributes are kept. What the target cannot hold is refused (a tensor) or left out with a
/// warning (an attribute). Checksums are verified first. The file is written under a temporary name and renamed when it
/// is complete: a failure or an interrupt leaves nothing behind.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Files of any format, or models in several files
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,

    /// The file to write; its ending decides the format: .safetensors .gguf .zt .npy .npz .tens .blz .b2nd
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,

    /// Write this format, whatever the ending of OUT
    #[arg(long, value_name = "FORMAT")]
    format: Option<Target>,

    /// Begin the data at multiples of N bytes, a power of two: for mapped files and flash
    #[arg(long, value_name = "N")]
    align: Option<u64>,

    /// Convert all floats, quantized blocks, and quantized integers of TFLite to this type
    #[arg(long, value_name = "FLOAT")]
    dtype: Option<Float>,

    /// Write tensors as dense arrays if the target cannot hold them as they are: sparse tensors, tensor trains
    #[arg(long)]
    dense: bool,

    /// Compress the components of a zTensor file with Zstandard, from level 1 (fast) to 22 (small)
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(i32).range(1..=22))]
    zstd: Option<i32>,

    #[command(flatten)]
    selection: Selection,

    #[command(flatten)]
    permute: Permute,

    /// Write several files of at most SIZE bytes of tensors each: 5GB, 512MiB, 1000000. For safetensors and GGUF
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    shard_size: Option<u64>,

    /// Replace an existing file
    #[arg(long, short)]
    force: bool,

    #[command(flatten)]
    limits: Limits,
}

const EXAMPLES: &str = "\
Examples:
  tenslice convert model.gguf -o model.safetensors --dtype bf16
  tenslice convert model.safetensors.index.json -o model.zt
  tenslice convert model.safetensors -o fc1.npy --only fc1.weight
  tenslice convert a.npy b.npy -o both.npz";

impl Arguments {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        let result = self.convert(terminal);
        let path = self.inputs.first().filter(|_| self.inputs.len() == 1).unwrap_or(&self.output);
        terminal.status_of(path, result)
    }

    fn convert(&self, terminal: &mut Terminal) -> Result<(), Failure> {
        let target = Target::of(self.format, &self.output)?;
        let inputs = Inputs::new(&self.inputs)?;
        let mut tables = inputs.tables();
        let models = inputs.open(&mut tables)?;
        let conversion = Conversion { target, float: self.dtype, is_dense: self.dense };
        let mut job = Job::new(&models, &self.selection, conversion)?;
        self.permute.apply(&mut job.items)?;
        // A GGUF file that is made from GGUF files keeps their alignment.
        let like = Properties::like(&models, target, self.force);
        let alignment = self.align.or(like.alignment.filter(|_| target == Target::Gguf));
        let properties = Properties { alignment, zstd: self.zstd, ..like };
        let shards = self.shard_size.map(Shards::OfSize);
        job.write(&self.output, properties, shards, &job.budget(&self.limits), terminal)
    }
}
