//! `tenslice list`

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::common::budget::Budget;
use crate::common::failure::Failure;
use crate::common::list::{Options, list, print_tsv_titles};
use crate::common::mapping::is_address;
use crate::common::model::{Mapped, Model};
use crate::common::reading::{Work, to_read};
use crate::common::record;
#[cfg(feature = "url")]
use crate::common::text::{plural, size};
use crate::common::texts;
use crate::options::Limits;
use crate::progress;
#[cfg(feature = "url")]
use crate::remote::{self, Remote};
use crate::terminal::Terminal;

/// List the tensors and attributes of files
#[derive(clap::Args)]
pub struct Arguments {
    /// Files or folders; also https://..., of which only the ranges that are needed are read
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Send this header to the server of an address, such as 'Authorization: Bearer TOKEN'
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    header: Vec<(String, String)>,

    #[command(flatten)]
    options: Options,

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
        let has_records = terminal.json || self.options.tsv || self.options.metadata.is_some();
        terminal.look.all = self.all;
        if self.options.tsv && !terminal.json {
            print_tsv_titles(&mut terminal.out, &self.options)?;
        }
        terminal.each(&self.files, |terminal, path| {
            if !std::mem::take(&mut is_first) && !has_records {
                writeln!(terminal.out)?;
            }
            self.list(terminal, path, &budget)
        })
    }

    fn list(&self, terminal: &mut Terminal, path: &Path, budget: &Budget) -> Result<(), Failure> {
        if is_address(path) {
            return self.list_address(terminal, path, budget);
        }
        self.list_mapped(terminal, &Mapped::new(path)?, budget)
    }

    /// Lists a file on a server.
    #[cfg(feature = "url")]
    fn list_address(&self, terminal: &mut Terminal, path: &Path, budget: &Budget) -> Result<(), Failure> {
        if self.options.digest {
            return Err(Failure::new("InvalidArgument", "--digest reads the whole file: download it"));
        }
        let Remote { host, length, traffic } = remote::open(&path.to_string_lossy(), &self.header)?;
        let result = self.list_mapped(terminal, &Mapped::of_ranges(path, host), budget);
        let (read, requests) = (size(traffic.bytes()), traffic.requests());
        terminal.remark(&format!("read {read} of {} in {requests} request{}", size(length), plural(requests)));
        result
    }

    #[cfg(not(feature = "url"))]
    fn list_address(&self, _: &mut Terminal, _: &Path, _: &Budget) -> Result<(), Failure> {
        let message = "this tool is built without the feature url: cargo install tenslice-cli --features url";
        Err(Failure::new("InvalidArgument", message))
    }

    /// Lists a model.
    fn list_mapped(&self, terminal: &mut Terminal, mapped: &Mapped, budget: &Budget) -> Result<(), Failure> {
        let mut tables = mapped.tables();
        let model = mapped.open(&mut tables)?;
        let file = mapped.path.to_string_lossy();
        if let Some(key) = &self.options.metadata {
            let (key, value) = texts::value_of(&model, key)?;
            if terminal.json {
                let fields = json!({"file": file, "key": key, "value": record::value(&value)});
                return Ok(terminal.record("metadata", fields)?);
            }
            let is_terminal = io::stdout().is_terminal();
            return Ok(texts::print_value(&mut terminal.out, is_terminal, &value)?);
        }
        if let Some(pattern) = &self.options.tokens {
            if terminal.json {
                let fields = json!({"file": file, "tokens": texts::of_tokens(&model, pattern)?});
                return Ok(terminal.record("tokens", fields)?);
            }
            return texts::print_tokens(&mut terminal.out, terminal.look, &model, pattern);
        }
        budget.add_file(model.length());
        let bar = progress::bar(if self.options.digest { total(&model) } else { 0 });
        let work = Work { budget, progress: &|bytes| bar.inc(bytes) };
        let result = list(&mut terminal.out, terminal.look, &self.options, terminal.json, &model, work);
        bar.finish_and_clear();
        result
    }
}

/// Parses `NAME: VALUE`.
fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("a header is NAME: VALUE")?;
    Ok((name.trim().into(), value.trim().into()))
}

/// The number of bytes to read for all data.
pub fn total(model: &Model<'_>) -> u64 {
    model.tensors().map(|(opened, tensor)| to_read(&opened.file, &tensor)).fold(0, u64::saturating_add)
}
