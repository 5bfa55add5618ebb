//! `tenslice quantize`

mod activations;
mod plan;
mod report;

use std::io;
use std::path::PathBuf;

use clap::ValueEnum;
use globset::GlobMatcher;
use tenslice::blocks::BlockType;
use tenslice::gguf::ValueType;

use crate::common::failure::Failure;
use crate::common::pattern::glob;
use crate::options::Limits;
use crate::terminal::Terminal;
use crate::writing::Target;
use crate::writing::attributes::{Meta, Named};
use crate::writing::file::Properties;
use crate::writing::job::{Inputs, Job};
use crate::writing::permute::Permute;
use crate::writing::selection::{Selection, check_names, is_chosen};
use crate::writing::tensor::Conversion;
use activations::Activations;

/// Quantize the floats of a model: to 8-bit integers, or to the blocks of ggml
///
/// Quantizes floats of two dimensions and more; all other tensors stay as they are. `int8` is symmetric, from -127 to
/// 127: tensor NAME becomes integers, and NAME_scale has the scale, or one for each channel. Block types are written to
/// GGUF and zTensor 2; rows that are not multiples of 32 elements stay, with a warning. Numbers that are not finite and
/// scales that the type cannot hold are refused before anything is written. The error of each tensor is printed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Files of any format, or models in several files
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,

    /// The file to write; its ending decides the format: .safetensors .gguf .zt .npz
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,

    /// The type to quantize to
    #[arg(long, value_name = "TYPE")]
    to: To,

    /// Write this format, whatever the ending of OUT
    #[arg(long, value_name = "FORMAT")]
    format: Option<Target>,

    /// Quantize only tensors whose whole name matches; `*` matches anything
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    only: Vec<GlobMatcher>,

    /// Leave tensors as they are whose whole name matches
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    exclude: Vec<GlobMatcher>,

    /// A scale for each index of dimension AXIS, instead of one for the tensor: for int8. The dimension counts after
    /// --permute
    #[arg(long, value_name = "AXIS", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    per_channel: Option<usize>,

    /// A JSON file with the scales of activations, for int8: {"fc1": {"in": 0.02, "out": 0.1, "weight": "fc1.weight",
    /// "bias": "fc1.bias"}}. The bias becomes int32, and WEIGHT_multiplier and WEIGHT_shift are added, for CMSIS-NN
    #[arg(long, value_name = "FILE")]
    activations: Option<PathBuf>,

    #[command(flatten)]
    permute: Permute,

    /// Replace an existing file
    #[arg(long, short)]
    force: bool,

    #[command(flatten)]
    limits: Limits,
}

/// A type to quantize to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum To {
    Int8,
    #[value(name = "q8_0")]
    Q8,
    #[value(name = "q4_0")]
    Q4,
    #[value(name = "q4_1")]
    Q4WithLeast,
    #[value(name = "q5_0")]
    Q5,
    #[value(name = "q5_1")]
    Q5WithLeast,
}

impl To {
    /// The block type, and its number as `general.file_type` of GGUF; `None` for integers.
    fn block_type(self) -> Option<(BlockType, i128)> {
        match self {
            Self::Int8 => None,
            Self::Q8 => Some((BlockType::Q8_0, 7)),
            Self::Q4 => Some((BlockType::Q4_0, 2)),
            Self::Q4WithLeast => Some((BlockType::Q4_1, 3)),
            Self::Q5 => Some((BlockType::Q5_0, 8)),
            Self::Q5WithLeast => Some((BlockType::Q5_1, 9)),
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  tenslice quantize model.safetensors -o model-q8_0.gguf --to q8_0
  tenslice quantize model.safetensors -o int8.safetensors --to int8 --per-channel --exclude 'head.*'
  tenslice quantize conv.npz -o int8.zt --to int8 --per-channel --permute 0,2,3,1 --activations scales.json";

impl Arguments {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        let result = self.quantize(terminal);
        let path = self.inputs.first().filter(|_| self.inputs.len() == 1).unwrap_or(&self.output);
        terminal.status_of(path, result)
    }

    fn quantize(&self, terminal: &mut Terminal) -> Result<(), Failure> {
        let wrong = |message: &str| Err(Failure::new("InvalidArgument", message));
        let target = Target::of(self.format, &self.output)?;
        if target.is_single() {
            return wrong("this format holds one tensor: write .safetensors, .gguf, .zt or .npz");
        }
        let block_type = self.to.block_type();
        if block_type.is_some() && (self.per_channel.is_some() || self.activations.is_some()) {
            return wrong("--per-channel and --activations are for --to int8: blocks have scales of their own");
        }
        let activations = self.activations.as_deref().map(Activations::read).transpose()?.unwrap_or_default();
        let inputs = Inputs::new(&self.inputs)?;
        let mut tables = inputs.tables();
        let models = inputs.open(&mut tables)?;
        let conversion = Conversion { target, float: None, is_dense: false };
        let mut job = Job::new(&models, &Selection::default(), conversion)?;
        self.permute.apply(&mut job.items)?;
        let budget = job.budget(&self.limits);
        let is_quantized = |name: &str| is_chosen(name, &self.only, &self.exclude) && !activations.has_bias(name);
        let chosen = plan::choose(&job.items, is_quantized);
        match block_type {
            None => {
                plan::to_int8(&mut job.items, &chosen, self.per_channel, &budget)?;
                activations.apply(&mut job.items, &budget)?;
                check_names(job.items.iter().map(|item| item.name.as_str()))?;
            }
            Some((block_type, file_type)) => {
                let kept = plan::to_blocks(&mut job.items, &chosen, block_type, &budget)?;
                report::warn_of_kept(terminal, &kept);
                if target == Target::Gguf {
                    set(&mut job.attributes.kept, "general.quantization_version", 2);
                    set(&mut job.attributes.kept, "general.file_type", file_type);
                }
            }
        }
        if job.items.iter().all(|item| item.errors().is_none()) {
            terminal.warn("no tensor is quantized");
        }
        let like = Properties::like(&models, target, self.force);
        let properties = Properties { alignment: like.alignment.filter(|_| target == Target::Gguf), ..like };
        job.write(&self.output, properties, None, &budget, terminal)?;
        report::print(terminal, &self.output, &job.items)
    }
}

/// Sets an attribute of GGUF to an integer.
fn set(attributes: &mut Vec<Named>, key: &str, integer: i128) {
    let value = Meta::Integer(integer, Some(ValueType::U32));
    match attributes.iter_mut().find(|(other, _)| other == key) {
        Some((_, old)) => *old = value,
        None => attributes.push((key.into(), value)),
    }
}
