//! The problems of a model, found one after the other while the iterator runs.
#![forbid(unsafe_code)]

use core::fmt;
use core::iter::FusedIterator;

use super::files::{Contents, ModelFile, shard_bytes, twin};
use super::table::Entry;
use super::{Model, is_spare};
use crate::bytes::num::to_u64;
use crate::bytes::text::Text;
use crate::error::abi_enum::abi_enum;
use crate::error::warning::Warning;
use crate::error::{Error, Result};
use crate::format::{Cursor, FileFormat, ListedShard, Split, dispatch};
use crate::view::explain::{Formatted, Out, number, plain, quoted};
use crate::view::file::{File, Tensors};
use crate::view::tensor::Tensor;

abi_enum! {
    /// The kind of a problem of a model. From 64 on: a warning, after which every tensor of the model can be read.
    ProblemKind: u8 {
        MissingFile = 1, "the file is missing";
        InvalidFile = 2, "the file cannot be opened";
        MissingPart = 3, "a part of the model is missing";
        RepeatedPart = 4, "two files state the same part";
        InvalidPart = 5, "the file does not state that it is a part of this model";
        CountsDiffer = 6, "the files do not have as many tensors as a part states";
        MissingTensor = 7, "the file does not have a tensor that the index lists";
        RepeatedTensor = 8, "two tensors have the same name";
        UnreadableTensor = 9, "the elements of a tensor cannot be read";
        MissingShard = 10, "a shard is missing";
        WrongShard = 11, "a shard is not as long as its file states";

        UnlistedTensor = 64, "a tensor in a file is not a tensor of the model";
        MisnamedPart = 65, "the name of a file states another part than the file";
        UncountedTensors = 66, "the parts do not state the number of tensors";
    }
}

impl ProblemKind {
    /// Returns whether every tensor of the model can be read all the same.
    #[must_use]
    pub const fn is_warning(self) -> bool {
        self.code() >= 64
    }
}

/// A problem of a model: what is wrong, and with which file and tensor. `Display` writes a sentence with the name of the
/// file.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'m, 'a> {
    model: Model<'m, 'a>,
    kind: ProblemKind,
    file: Option<usize>,
    tensor: Option<Text<'a>>,
    details: Details<'a>,
}

/// The details that the sentence of a problem needs besides the file and the tensor.
#[derive(Clone, Copy, Debug)]
enum Details<'a> {
    None,
    Error(Error),
    /// Two numbers that the sentence states.
    Numbers(u64, u64),
    /// The name of a file or of a shard, and the length that it should have; 0 if that is not stated.
    Name(Text<'a>, u64),
}

impl<'m, 'a> Problem<'m, 'a> {
    const fn new(model: Model<'m, 'a>, kind: ProblemKind, file: Option<usize>) -> Self {
        Self { model, kind, file, tensor: None, details: Details::None }
    }

    const fn with(self, details: Details<'a>) -> Self {
        Self { details, ..self }
    }

    const fn about(self, tensor: Text<'a>) -> Self {
        Self { tensor: Some(tensor), ..self }
    }

    /// Returns the kind.
    #[must_use]
    pub const fn kind(&self) -> ProblemKind {
        self.kind
    }

    /// Returns the number of the file in [`Model::files`]; `None` if the problem is about the model as a whole, or
    /// about a file that the program did not provide.
    #[must_use]
    pub const fn file(&self) -> Option<usize> {
        self.file
    }

    /// Returns the name of the tensor, if the problem is about one.
    #[must_use]
    pub const fn tensor(&self) -> Option<Text<'a>> {
        self.tensor
    }

    /// Returns the error of the file or of the tensor, if that is the problem.
    #[must_use]
    pub const fn error(&self) -> Option<Error> {
        match self.details {
            Details::Error(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the indices of the first and the last of the parts that are missing, if that is the problem. The first
    /// part of a model has index 0.
    #[must_use]
    pub const fn parts(&self) -> Option<(u64, u64)> {
        match (self.kind, self.details) {
            (ProblemKind::MissingPart, Details::Numbers(first, last)) => Some((first, last)),
            _ => None,
        }
    }

    fn opened(&self) -> Option<&'m ModelFile<'a>> {
        self.model.files().get(self.file?)
    }
}

impl fmt::Display for Problem<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Formatted::write(f, |out| self.write_to(out))
    }
}

impl<'a> Problem<'_, 'a> {
    pub(crate) fn write_to(&self, out: &mut impl Out) {
        let file = self.opened();
        if let Some(file) = file {
            plain(out, file.name());
            out.text(": ");
        }
        // The explanation of an error names the tensor itself.
        if let Some(tensor) = self.tensor.filter(|_| self.error().is_none()) {
            quoted(out, "tensor ", tensor);
        }
        match self.kind {
            ProblemKind::MissingFile => match self.details {
                Details::Name(name, _) => {
                    quoted(out, " is in ", name);
                    out.text(", and that file is missing");
                }
                _ => self.write_missing(out),
            },
            ProblemKind::InvalidFile => self.write_error(out, "the file cannot be opened"),
            ProblemKind::MissingPart => self.write_parts(out),
            ProblemKind::RepeatedPart => {
                self.write_part(out);
                if let Some(first) = self.file.and_then(|number| twin(self.model.files(), number)) {
                    quoted(out, ", and so is ", first.name());
                }
            }
            ProblemKind::InvalidPart => match file.and_then(ModelFile::split) {
                Some(split) => {
                    number(out, "split.no is ", split.index);
                    number(out, " and split.count is ", split.count);
                    self.write_count(out, "; the model has ");
                    out.text(" parts");
                }
                None => out.text("the file does not state that it is a part of a model, but other files do"),
            },
            ProblemKind::CountsDiffer => {
                let Details::Numbers(stated, found) = self.details else { return };
                number(out, "split.tensors.count is ", stated);
                number(out, "; the parts have ", found);
                out.text(if found == 1 { " tensor together" } else { " tensors together" });
            }
            ProblemKind::MissingTensor => out.text(" is missing; the index lists it in this file"),
            ProblemKind::RepeatedTensor => match self.other_file() {
                Some(name) if file.is_none_or(|file| file.name() != name) => quoted(out, " is also in ", name),
                _ => out.text(" is in the file twice"),
            },
            ProblemKind::UnreadableTensor => self.write_error(out, "a tensor cannot be read"),
            ProblemKind::MissingShard => {
                let Details::Name(name, length) = self.details else { return };
                quoted(out, "shard ", name);
                if length > 0 {
                    number(out, " of ", length);
                    out.text(" bytes");
                }
                out.text(" is missing");
            }
            ProblemKind::WrongShard => {
                let Details::Name(name, length) = self.details else { return };
                quoted(out, "shard ", name);
                let found = shard_bytes(self.model.files(), name).map_or(0, <[u8]>::len);
                number(out, " has ", to_u64(found));
                number(out, " bytes; the file states ", length);
            }
            ProblemKind::UnlistedTensor => match self.details {
                Details::Name(name, _) => quoted(out, " is not a tensor of the model: the index lists it in ", name),
                _ => out.text(" is not a tensor of the model: the index does not list it"),
            },
            ProblemKind::MisnamedPart => match file.and_then(ModelFile::split) {
                Some(_) => {
                    self.write_part(out);
                    out.text(", and its name states another");
                }
                None => out.text("this is not a part of a model, and its name states that it is"),
            },
            ProblemKind::UncountedTensors => out.text("split.tensors.count is missing: the parts may lack tensors"),
        }
    }

    /// Writes that a file is missing, and the number of tensors that the index lists in it. The number is left out if an
    /// index names many files: counting takes one pass over all tensors for each file.
    fn write_missing(&self, out: &mut impl Out) {
        const MOST_FILES: usize = 1024;
        out.text("the file is missing");
        if self.model.files().len() > MOST_FILES {
            return;
        }
        let is_in_it = |entry: &&Entry| entry.file() == self.file;
        let count = to_u64(self.model.table.entries.iter().filter(is_in_it).count());
        if count > 0 {
            number(out, ", and with it ", count);
            out.text(if count == 1 { " tensor of the index" } else { " tensors of the index" });
        }
    }

    /// Writes the error of a file or of a tensor, explained from the bytes of the file.
    fn write_error(&self, out: &mut impl Out, otherwise: &str) {
        let input = self.opened().and_then(|file| match file.contents() {
            Contents::Invalid(_, input) => Some(*input),
            Contents::File(file) => Some(dispatch!(file.inner(), format => format.input())),
            _ => None,
        });
        match (self.error(), input) {
            (Some(error), Some(input)) => error.explain(input).write_to(out),
            _ => out.text(otherwise),
        }
    }

    /// The other file that has the tensor. Linear in the names if the problem does not say it.
    fn other_file(&self) -> Option<Text<'a>> {
        if let Details::Name(name, _) = self.details {
            return Some(name);
        }
        let is_other = |(file, tensor): &(usize, Tensor<'a>)| {
            Some(*file) != self.file && self.tensor.is_some_and(|name| name == tensor.name())
        };
        let (file, _) = self.model.tensors().find(is_other)?;
        self.model.files().get(file).map(ModelFile::name)
    }

    /// Writes which part a file states.
    fn write_part(&self, out: &mut impl Out) {
        let Some(Split { index, count, .. }) = self.opened().and_then(ModelFile::split) else { return };
        number(out, "this is part ", index.saturating_add(1));
        number(out, " of ", *count);
        number(out, " (split.no ", *index);
        out.text(")");
    }

    /// Writes which parts are missing.
    fn write_parts(&self, out: &mut impl Out) {
        let Details::Numbers(first, last) = self.details else { return };
        number(out, if first == last { "part " } else { "parts " }, first.saturating_add(1));
        if first != last {
            number(out, "-", last.saturating_add(1));
        }
        self.write_count(out, " of ");
        out.text(if first == last { " is missing" } else { " are missing" });
    }

    /// Writes the number of parts that the model has: at least two.
    fn write_count(&self, out: &mut impl Out, before: &str) {
        number(out, before, self.model.part_count().unwrap_or(0));
    }
}

impl<'m, 'a> Model<'m, 'a> {
    /// The number of parts that the first part states; `None` if no file states that it is a part.
    fn part_count(&self) -> Option<u64> {
        if self.names.listing.is_some() {
            return None;
        }
        self.files().iter().find_map(|file| file.file().and_then(|_| file.split())).map(|split| split.count)
    }

    /// The index of the part that a file is, if it states as many parts as the model has, or its name does.
    fn part(&self, number: usize) -> Option<u64> {
        let (split, count) = (self.files().get(number)?.split()?, self.part_count()?);
        (split.count == count && split.index < count).then_some(split.index)
    }

    /// The reason why the tensor of an entry cannot be found, if there is one.
    pub(super) fn problem_of(&self, entry: &Entry) -> Option<Problem<'m, 'a>> {
        let file = entry.file();
        let problem = |kind| Problem::new(*self, kind, file);
        if entry.is_missing() {
            let (name, path) = self.names.listing?.at(entry.name_in_index())?;
            let Some(file) = file.and_then(|number| self.files().get(number)) else {
                let details = Details::Name(path, 0);
                return Some(problem(ProblemKind::MissingFile).about(name).with(details));
            };
            return Some(match file.contents() {
                Contents::File(_) => problem(ProblemKind::MissingTensor).about(name),
                Contents::Invalid(error, _) => problem(ProblemKind::InvalidFile).with(Details::Error(*error)),
                _ => problem(ProblemKind::MissingFile),
            });
        }
        if entry.is_repeated() {
            return Some(problem(ProblemKind::RepeatedTensor).about(entry.tensor(self.files())?.ok()?.name()));
        }
        let number = file.filter(|number| self.is_ambiguous(*number))?;
        // The second of two files that state the same part names the first.
        let second = if is_spare(self.files(), number) { number } else { number.saturating_add(1) };
        Some(Problem::new(*self, ProblemKind::RepeatedPart, Some(second)))
    }
}

/// The problems of a model. See [`Model::problems`].
#[derive(Clone, Copy, Debug)]
pub struct Problems<'m, 'a> {
    model: Model<'m, 'a>,
    stage: Stage,
    /// The number of the next file or entry of the stage, and the positions in that file.
    next: usize,
    progress: Progress<'a>,
}

/// The position in a file.
#[derive(Clone, Copy, Debug)]
enum Progress<'a> {
    Start,
    Tensors(Tensors<'a>),
    Shards(Cursor),
}

/// The things to look at, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Files,
    Parts,
    Gaps,
    Names,
    Total,
    Entries,
    Tensors,
    Shards,
    End,
}

impl<'m, 'a> Problems<'m, 'a> {
    pub(super) const fn new(model: Model<'m, 'a>) -> Self {
        Self { model, stage: Stage::Files, next: 0, progress: Progress::Start }
    }

    const fn problem(&self, kind: ProblemKind, file: usize) -> Problem<'m, 'a> {
        Problem::new(self.model, kind, Some(file))
    }

    /// Looks at one item of the stage. Returns `None` after the last item, otherwise the item's problem, if any.
    fn step(&mut self) -> Option<Option<Problem<'m, 'a>>> {
        let number = self.next;
        self.next = number.saturating_add(1);
        let files = self.model.files();
        match self.stage {
            Stage::Files => files.get(number).map(|file| self.of_file(number, file)),
            Stage::Parts => files.get(number).map(|file| self.of_part(number, file)),
            Stage::Gaps => (number <= files.len()).then(|| self.of_gap(number)),
            Stage::Names => files.get(number).map(|file| self.of_name(number, file)),
            Stage::Total => (number == 0).then(|| self.of_total()),
            Stage::Entries => self.model.table.entries.get(number).map(|entry| self.of_entry(entry)),
            Stage::Tensors => files.get(number).map(|file| self.of_next_tensor(number, file.file()?)),
            Stage::Shards => files.get(number).map(|file| self.of_next_shard(number, file.file()?)),
            Stage::End => None,
        }
    }

    /// A file that could not be opened.
    fn of_file(&self, number: usize, file: &ModelFile<'a>) -> Option<Problem<'m, 'a>> {
        match file.contents() {
            Contents::Missing => Some(self.problem(ProblemKind::MissingFile, number)),
            Contents::Invalid(error, _) => {
                Some(self.problem(ProblemKind::InvalidFile, number).with(Details::Error(*error)))
            }
            _ => None,
        }
    }

    /// A file whose statements as a part contradict those of the other files.
    fn of_part(&self, number: usize, file: &ModelFile<'a>) -> Option<Problem<'m, 'a>> {
        file.file().and_then(|_| self.model.part_count())?;
        if twin(self.model.files(), number).is_some() {
            return Some(self.problem(ProblemKind::RepeatedPart, number));
        }
        self.model.part(number).is_none().then(|| self.problem(ProblemKind::InvalidPart, number))
    }

    /// The parts that are missing before a file that is a part, or after the last part.
    fn of_gap(&self, number: usize) -> Option<Problem<'m, 'a>> {
        let end = if number == self.model.files().len() { self.model.part_count() } else { self.model.part(number) }?;
        // Passes over files that are no parts of this model, so all calls together are linear.
        let before = (0..number).rev().find_map(|before| self.model.part(before));
        let first = before.map_or(0, |index| index.saturating_add(1));
        let details = Details::Numbers(first, end.saturating_sub(1));
        (first < end).then(|| Problem::new(self.model, ProblemKind::MissingPart, None).with(details))
    }

    fn of_name(&self, number: usize, file: &ModelFile<'a>) -> Option<Problem<'m, 'a>> {
        let is_part = self.model.names.listing.is_none() && file.is_misnamed();
        is_part.then(|| self.problem(ProblemKind::MisnamedPart, number))
    }

    /// The number of all tensors, which each part states.
    fn of_total(&self) -> Option<Problem<'m, 'a>> {
        let count = self.model.part_count()?;
        let files = self.model.files();
        let stated = |(number, file): (usize, &ModelFile<'a>)| {
            self.model.part(number).and_then(|_| Some((number, file.file().and(file.split())?.tensors)))
        };
        let mut all = files.iter().enumerate().filter_map(stated);
        let (number, first) = all.next()?;
        let Some(first) = first else {
            return Some(Problem::new(self.model, ProblemKind::UncountedTensors, None));
        };
        let found = to_u64(self.model.table.entries.len());
        let parts = (0..files.len()).filter(|number| !is_spare(files, *number));
        let parts = parts.filter(|number| files.get(*number).is_some_and(|file| file.file().is_some()));
        let differs = |number, stated| {
            Some(self.problem(ProblemKind::CountsDiffer, number).with(Details::Numbers(stated, found)))
        };
        if let Some((number, stated)) = all.find(|(_, stated)| *stated != Some(first)) {
            return differs(number, stated.unwrap_or(0));
        }
        if to_u64(parts.count()) == count && first != found { differs(number, first) } else { None }
    }

    /// A tensor of the index that no file has.
    fn of_entry(&self, entry: &Entry) -> Option<Problem<'m, 'a>> {
        let problem = self.model.problem_of(entry).filter(|_| entry.is_missing())?;
        // A file that could not be opened is one problem, not one for each of its tensors.
        problem.tensor.map(|_| problem)
    }

    /// The next tensor of a file that has a problem.
    fn of_next_tensor(&mut self, number: usize, file: &File<'a>) -> Option<Problem<'m, 'a>> {
        let mut tensors = match core::mem::replace(&mut self.progress, Progress::Start) {
            Progress::Tensors(tensors) => tensors,
            _ => file.tensors(),
        };
        for tensor in tensors.by_ref() {
            if let Some(problem) = self.of_tensor(number, file, &tensor) {
                (self.progress, self.next) = (Progress::Tensors(tensors), number);
                return Some(problem);
            }
        }
        tensors.error().map(|error| self.problem(ProblemKind::InvalidFile, number).with(Details::Error(error)))
    }

    fn of_tensor(&self, number: usize, file: &File<'a>, tensor: &Tensor<'a>) -> Option<Problem<'m, 'a>> {
        let problem = |kind| self.problem(kind, number).about(tensor.name());
        let entry = if self.model.is_alone(number, tensor) { None } else { self.model.entry_of(tensor) };
        let name_of = |number: usize| self.model.files().get(number).map(ModelFile::name);
        if self.model.names.listing.is_some() && !entry.is_some_and(|entry| entry.is_at(number, tensor.index())) {
            let other = entry.and_then(Entry::file).filter(|other| *other != number).and_then(name_of);
            let details = other.map_or(Details::None, |name| Details::Name(name, 0));
            return Some(problem(ProblemKind::UnlistedTensor).with(details));
        }
        let first = entry.filter(|entry| entry.is_repeated() && !entry.is_at(number, tensor.index()));
        if let Some(first) = first {
            let name = first.file().and_then(name_of)?;
            return Some(problem(ProblemKind::RepeatedTensor).with(Details::Name(name, 0)));
        }
        if file.warnings().contains(Warning::UnreadableTensor) {
            return Some(problem(ProblemKind::UnreadableTensor).with(Details::Error(tensor.problem()?)));
        }
        None
    }

    /// The next shard of a file that is missing, or has another length.
    fn of_next_shard(&mut self, number: usize, file: &File<'a>) -> Option<Problem<'m, 'a>> {
        let mut shards = match core::mem::replace(&mut self.progress, Progress::Start) {
            Progress::Shards(shards) => shards,
            _ => Cursor::START,
        };
        loop {
            let next: Result<Option<ListedShard<'a>>> =
                dispatch!(file.inner(), format => format.next_shard(&mut shards));
            let Ok(Some(ListedShard { name, size })) = next else { return None };
            let kind = match shard_bytes(self.model.files(), name.into()) {
                None => ProblemKind::MissingShard,
                Some(bytes) if size.is_some_and(|size| size != to_u64(bytes.len())) => ProblemKind::WrongShard,
                Some(_) => continue,
            };
            (self.progress, self.next) = (Progress::Shards(shards), number);
            return Some(self.problem(kind, number).with(Details::Name(name.into(), size.unwrap_or(0))));
        }
    }
}

impl<'m, 'a> Iterator for Problems<'m, 'a> {
    type Item = Problem<'m, 'a>;

    fn next(&mut self) -> Option<Problem<'m, 'a>> {
        loop {
            match self.step() {
                Some(Some(problem)) => return Some(problem),
                Some(None) => {}
                None if self.stage == Stage::End => return None,
                None => {
                    self.next = 0;
                    self.stage = match self.stage {
                        Stage::Files => Stage::Parts,
                        Stage::Parts => Stage::Gaps,
                        Stage::Gaps => Stage::Names,
                        Stage::Names => Stage::Total,
                        Stage::Total => Stage::Entries,
                        Stage::Entries => Stage::Tensors,
                        Stage::Tensors => Stage::Shards,
                        Stage::Shards | Stage::End => Stage::End,
                    };
                }
            }
        }
    }
}

impl FusedIterator for Problems<'_, '_> {}
