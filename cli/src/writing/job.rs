//! The tensors and attributes of open models that are to be written, in order.

use std::path::{Path, PathBuf};

use tenslice_host::Tables;

use super::Target;
use super::attributes;
use super::carry::{Carried, carry, merge};
use super::file::{Properties, write};
use super::selection::{Selection, check_names};
use super::shards::{self, Shards};
use super::tensor::{Conversion, Item};
use crate::common::budget::Budget;
use crate::common::failure::Failure;
use crate::common::model::{Mapped, Model};
use crate::common::problem::Problem;
use crate::common::text::{plural, printable};
use crate::options::Limits;
use crate::progress;
use crate::terminal::Terminal;

/// The mapped models that are read.
pub struct Inputs(Vec<Mapped>);

impl Inputs {
    pub fn new(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut all: Vec<Mapped> = Vec::new();
        for path in paths {
            // The other parts of a model that one part has brought along.
            if !all.iter().any(|mapped| mapped.has_part(path)) {
                all.push(Mapped::new(path).map_err(|failure| in_input(failure, path, paths.len()))?);
            }
        }
        Ok(Self(all))
    }

    /// Memory for [`open`](Self::open).
    pub fn tables(&self) -> Vec<Tables<'_>> {
        self.0.iter().map(Mapped::tables).collect()
    }

    /// Opens all models. A model that is not complete is refused.
    pub fn open<'m>(&'m self, tables: &'m mut [Tables<'m>]) -> Result<Vec<Model<'m>>, Failure> {
        let mut models = Vec::new();
        for (mapped, tables) in self.0.iter().zip(tables) {
            let opened = mapped.open(tables).and_then(|mut model| {
                // An unreadable tensor is refused only if it is chosen.
                let of_files = model.problems.extract_if(.., |problem| problem.tensor.is_none());
                Failure::all(of_files.collect()).map(|()| model)
            });
            models.push(opened.map_err(|failure| in_input(failure, &mapped.path, self.0.len()))?);
        }
        Ok(models)
    }
}

/// Names the input if there are several.
fn in_input(failure: Failure, path: &Path, count: usize) -> Failure {
    if count > 1 { failure.in_file(&path.to_string_lossy()) } else { failure }
}

/// The tensors and attributes to write.
pub struct Job<'m> {
    pub items: Vec<Item<'m>>,
    pub attributes: Carried,
    pub target: Target,
    /// The total length of the models in bytes.
    length: u64,
}

impl<'m> Job<'m> {
    /// Chooses tensors, in the order of the models, and carries the attributes of the models.
    pub fn new(models: &'m [Model<'m>], selection: &Selection, conversion: Conversion) -> Result<Self, Failure> {
        let target = conversion.target;
        let (mut items, mut carried) = (Vec::new(), Carried::default());
        for model in models {
            // A tensor without a name takes the stem of its file.
            let stem = model.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            let is_chosen =
                |problem: &&Problem| problem.tensor.as_ref().is_some_and(|name| selection.name_of(name).is_some());
            Failure::all(model.problems.iter().filter(is_chosen).cloned().collect())?;
            for (opened, tensor) in model.tensors() {
                let is_single = Target::of_format(opened.file.format()).is_some_and(Target::is_single);
                let name = if is_single { stem.clone() } else { tensor.name().to_string() };
                let Some(name) = selection.name_of(&name) else { continue };
                items.push(Item::new((opened, tensor), name, conversion)?);
            }
            for opened in &model.files {
                let of_file = attributes::all(opened.file.attributes());
                merge(&mut carried, carry(of_file, opened.file.format(), target));
            }
        }
        check_names(items.iter().map(|item| item.name.as_str()))?;
        if target.is_single() && items.len() != 1 {
            let message = format!("this format holds one tensor, not {}: choose it with --only", items.len());
            return Err(Failure::new("InvalidArgument", message));
        }
        let length = models.iter().map(Model::length).fold(0, u64::saturating_add);
        Ok(Self { items, attributes: carried, target, length })
    }

    /// Prepares to write models in their own format, which must be the same for all.
    pub fn same_format(models: &'m [Model<'m>], selection: &Selection) -> Result<Self, Failure> {
        let mut formats = models.iter().flat_map(|model| &model.files).map(|opened| opened.file.format());
        let format = formats.next().ok_or_else(|| Failure::new("NotFound", "there are no files"))?;
        if let Some(other) = formats.find(|other| *other != format) {
            let message = format!("the files are of different formats, {format} and {other}: use convert");
            return Err(Failure::new("InvalidArgument", message));
        }
        let message = format!("files of format {format} cannot be written: use convert");
        let unwritable = || Failure::new("UnsupportedFormat", message);
        let target = Target::of_format(format).ok_or_else(unwritable)?;
        Self::new(models, selection, Conversion { target, float: None, is_dense: false })
    }

    /// The budget for reading the models.
    pub fn budget(&self, limits: &Limits) -> Budget {
        let budget = limits.budget();
        budget.add_file(self.length);
        budget
    }

    /// Writes the model to one file, or to several.
    pub fn write(
        &self,
        path: &Path,
        properties: Properties,
        shards: Option<Shards>,
        budget: &Budget,
        terminal: &mut Terminal,
    ) -> Result<(), Failure> {
        self.warn(terminal);
        let total = self.items.iter().map(Item::length).fold(0, u64::saturating_add);
        let bar = progress::bar(total);
        let items: Vec<&Item<'m>> = self.items.iter().collect();
        let written = match shards {
            Some(shards) => {
                shards::write_all(path, properties, &items, &self.attributes.kept, shards, (budget, &bar))
            }
            None => {
                write(path, properties, items, &self.attributes.kept, budget, &bar).and_then(|output| output.finish())
            }
        };
        bar.finish_and_clear();
        written
    }

    /// Warns of everything that is left out.
    fn warn(&self, terminal: &mut Terminal) {
        for key in &self.attributes.lost {
            terminal.warn(&format!("attribute \"{}\" is left out: the format cannot hold it", printable(key)));
        }
        let mut losing = self.items.iter().filter(|item| item.loses_attributes(self.target));
        if let Some(first) = losing.next() {
            let more = losing.count() as u64;
            let others =
                if more > 0 { format!(" and of {more} other tensor{}", plural(more)) } else { String::new() };
            let name = printable(&first.name);
            terminal.warn(&format!("the attributes of tensor \"{name}\"{others} are left out: the format has none"));
        }
        let lose_scales = |item: &&Item<'_>| item.is_without_scales() && item.loses_attributes(self.target);
        if let Some(first) = self.items.iter().find(lose_scales) {
            terminal.warn(&format!(
                "the integers of tensor \"{}\" have scales, without which they are not its numbers: --dtype writes the numbers",
                printable(&first.name)
            ));
        }
        if self.items.is_empty() {
            terminal.warn("no tensor is chosen: the file has none");
        }
    }
}
