//! `tenslice footprint`

mod sizes;

use std::io;
use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::{Value as Json, json};

use super::embed;
use crate::common::failure::Failure;
use crate::common::model::Model;
use crate::common::table::{Fit, print};
use crate::options::Limits;
use crate::terminal::Terminal;
use crate::writing::Target;
use crate::writing::file::{self, Properties};
use crate::writing::job::{Inputs, Job};
use crate::writing::selection::Selection;
use crate::writing::tensor::Conversion;
use sizes::SIZES;

/// Print the flash and RAM that a model takes on a chip: as arrays, and as a file with the library
///
/// Arrays are those that `embed` writes; they need no code. A file is the one that `convert` writes, with its data in flash
/// and used in place. Its code is that of the library for one format, which opens the file from flash and in parts, lists
/// and finds tensors, and returns their bytes. Code and stack are at most as stated; your own program comes on top. For a
/// Cortex-M4F, take m4.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A file of any format, or a model in several files
    #[arg(value_name = "MODEL")]
    file: PathBuf,

    /// The chip: Cortex-M4, Cortex-M0 or RV32IMAC
    #[arg(long, value_name = "CHIP", default_value = "m4")]
    chip: Chip,

    /// The formats of the file, separated by commas; by default that of MODEL
    #[arg(long, value_name = "FORMATS", value_delimiter = ',')]
    formats: Vec<Target>,

    #[command(flatten)]
    limits: Limits,
}

const EXAMPLES: &str = "\
Examples:
  tenslice footprint model.safetensors
  tenslice footprint model.npz --chip m0 --formats safetensors,gguf";

#[derive(Clone, Copy, ValueEnum)]
enum Chip {
    M4,
    M0,
    Rv32,
}

impl Arguments {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        let result = self.footprint(terminal);
        terminal.status_of(&self.file, result)
    }

    fn footprint(&self, terminal: &mut Terminal) -> Result<(), Failure> {
        let inputs = Inputs::new(std::slice::from_ref(&self.file))?;
        let mut tables = inputs.tables();
        let models = inputs.open(&mut tables)?;
        let budget = self.limits.budget();
        models.iter().for_each(|model| budget.add_file(model.length()));
        let mut arrays = 0;
        for model in &models {
            Failure::all(model.problems.clone())?;
            arrays += embed::length(model, &budget)?;
        }
        let chip = name(self.chip);
        let mut rows = vec![row("arrays, by embed", arrays, (0, 0), Some(0))];
        for target in self.formats(&models) {
            let job = Job::new(&models, &Selection::default(), Conversion { target, float: None, is_dense: false })?;
            let like = Properties::like(&models, target, false);
            let properties = Properties { alignment: like.alignment.filter(|_| target == Target::Gguf), ..like };
            let length = file::length(properties, job.items.iter().collect(), &job.attributes.kept, &budget)?;
            let name = name(target);
            let size = SIZES.iter().find(|size| size.chip == chip && size.feature == feature(target));
            let size =
                size.ok_or_else(|| Failure::new("NotFound", format!("the code of {name} was not measured")))?;
            rows.push(row(&format!("a file, {name}"), length, (size.code, size.ram), size.stack));
        }
        if terminal.json {
            let fields = json!({
                "file": self.file.to_string_lossy(),
                "chip": chip,
                "ways": rows.iter().map(record).collect::<Json>(),
            });
            return Ok(terminal.record("footprint", fields)?);
        }
        let titles = ["in bytes", "weights", "code", "flash", "RAM", "stack"].map(|title| (title, Fit::Whole));
        Ok(print(&mut terminal.out, terminal.look, &titles, &rows)?)
    }

    /// The requested formats, or that of the model. A format that is only read becomes safetensors.
    fn formats(&self, models: &[Model<'_>]) -> Vec<Target> {
        if !self.formats.is_empty() {
            return self.formats.clone();
        }
        let own = models.iter().flat_map(|model| &model.files).next();
        let own = own.and_then(|opened| Target::of_format(opened.file.format()));
        vec![own.unwrap_or(Target::Safetensors)]
    }
}

/// A row of the table. A stack that was not measured is `-`.
fn row(name: &str, weights: u64, (code, ram): (u64, u64), stack: Option<u64>) -> [String; 6] {
    let [weights, code, flash, ram] =
        [weights, code, weights.saturating_add(code), ram].map(|bytes| bytes.to_string());
    [name.into(), weights, code, flash, ram, stack.map_or("-".into(), |stack| stack.to_string())]
}

/// The record of a row.
fn record(row: &[String; 6]) -> Json {
    let [name, numbers @ ..] = row;
    let [weights, code, flash, ram, stack] = numbers.each_ref().map(|text| text.parse::<u64>().ok());
    json!({"name": name, "weights": weights, "code": code, "flash": flash, "ram": ram, "stack": stack})
}

/// The name of an option's value.
fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// The feature of the library for a format.
fn feature(target: Target) -> &'static str {
    match target {
        Target::Safetensors => "safetensors",
        Target::Gguf => "gguf",
        Target::Ztensor2 => "ztensor2",
        Target::Ztensor12 => "ztensor",
        Target::Npy => "npy",
        Target::Npz => "npz",
        Target::Tens => "tens",
        Target::Blz => "blz",
        Target::B2nd => "b2nd",
    }
}
