//! `tenslice merge`

use std::io;
use std::path::PathBuf;

use crate::common::failure::Failure;
use crate::options::Limits;
use crate::terminal::Terminal;
use crate::writing::file::Properties;
use crate::writing::job::{Inputs, Job};
use crate::writing::selection::Selection;

/// Merge the files of a safetensors or GGUF model into one
///
/// All parts must be there, and no two tensors may have the same name.
#[derive(clap::Args)]
pub struct Arguments {
    /// The index of the model, its first part, its folder, or all parts
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,

    /// The file to write
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,

    /// Replace an existing file
    #[arg(long, short)]
    force: bool,

    #[command(flatten)]
    limits: Limits,
}

impl Arguments {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        let result = self.merge(terminal);
        terminal.status_of(self.inputs.first().unwrap_or(&self.output), result)
    }

    fn merge(&self, terminal: &mut Terminal) -> Result<(), Failure> {
        let inputs = Inputs::new(&self.inputs)?;
        let mut tables = inputs.tables();
        let models = inputs.open(&mut tables)?;
        let job = Job::same_format(&models, &Selection::default())?;
        let properties = Properties::like(&models, job.target, self.force);
        job.write(&self.output, properties, None, &job.budget(&self.limits), terminal)
    }
}
