//! `tenslice list`

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::common::budget::Budget;
use crate::common::failure::Failure;
use crate::common::list::{Options, list};
use crate::common::model::{Mapped, Model};
use crate::common::reading::{Work, to_read};
use crate::common::record;
use crate::common::text::json_line;
use crate::options::Limits;
use crate::progress;
use crate::terminal::Terminal;

/// List the tensors and attributes of files
#[derive(clap::Args)]
pub struct Arguments {
    /// Files or folders
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Print one JSON object per line instead of tables
    #[arg(long)]
    json: bool,

    /// Read all data: verify digests, decode, check sparse indices; with --json also print the SHA-256 of the data
    #[arg(long)]
    digest: bool,

    #[command(flatten)]
    limits: Limits,

    /// Print long lists and long texts in full
    #[arg(long)]
    all: bool,
}

impl Arguments {
    pub fn run(&self, terminal: &mut Terminal) -> io::Result<u8> {
        let mut is_first = true;
        let budget = self.limits.budget();
        terminal.look.all = self.all;
        terminal.each(&self.files, |terminal, path| {
            if !std::mem::take(&mut is_first) && !self.json {
                writeln!(terminal.out)?;
            }
            match self.list(terminal, path, &budget) {
                Err(Failure::Refused(kind, message, offset)) if self.json => {
                    let record = record::of_failure(&path.to_string_lossy(), kind, &message, offset);
                    writeln!(terminal.out, "{}", json_line(&record))?;
                    Err(Failure::Reported)
                }
                result => result,
            }
        })
    }

    fn list(&self, terminal: &mut Terminal, path: &Path, budget: &Budget) -> Result<(), Failure> {
        let mapped = Mapped::new(path)?;
        let mut tables = mapped.tables();
        let model = mapped.open(&mut tables)?;
        let options = Options { json: self.json, digest: self.digest };
        budget.add_file(model.length());
        let bar = progress::bar(if self.digest { total(&model) } else { 0 });
        let work = Work { budget, progress: &|bytes| bar.inc(bytes) };
        let result = list(&mut terminal.out, terminal.look, options, &model, work);
        bar.finish_and_clear();
        result
    }
}

/// The number of bytes to read for all data.
pub fn total(model: &Model<'_>) -> u64 {
    model.tensors().map(|(opened, tensor)| to_read(&opened.file, &tensor)).fold(0, u64::saturating_add)
}
