//! The files of a model, as the program opened them, in the order of the model.
#![forbid(unsafe_code)]

use core::cmp::Ordering;

use super::path;
use crate::bytes::source::Input;
use crate::bytes::text::Text;
use crate::duplicates::sort_by;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{FileFormat, Split, dispatch};
use crate::view::file::File;

/// A file of a model: its name, and what the program found under this name.
///
/// The name is a path from the folder of the model, with `/` between folders, as in the index of a safetensors model.
/// A shard of a zTensor 2 file has the name that the file lists.
#[derive(Clone, Copy, Debug)]
pub struct ModelFile<'a> {
    name: Text<'a>,
    contents: Contents<'a>,
    /// The statements of the file, or of its name if it could not be opened.
    split: Option<Split>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Contents<'a> {
    File(File<'a>),
    /// The file has this error; its bytes, for the message.
    Invalid(Error, Input<'a>),
    Missing,
    Shard(&'a [u8]),
}

impl<'a> ModelFile<'a> {
    /// An open file.
    #[must_use]
    pub fn new(name: impl Into<Text<'a>>, file: File<'a>) -> Self {
        let split = dispatch!(file.inner(), format => FileFormat::split(format));
        Self { name: name.into(), contents: Contents::File(file), split }
    }

    /// A file that could not be opened because of `error`; `bytes` are its bytes.
    #[must_use]
    pub fn invalid(name: impl Into<Text<'a>>, error: Error, bytes: impl Into<Input<'a>>) -> Self {
        Self::unopened(name.into(), Contents::Invalid(error, bytes.into()))
    }

    /// A file that does not exist, or that the program cannot read.
    #[must_use]
    pub fn missing(name: impl Into<Text<'a>>) -> Self {
        Self::unopened(name.into(), Contents::Missing)
    }

    /// A shard of a zTensor 2 file, whose bytes belong to tensors of that file.
    #[must_use]
    pub fn shard(name: impl Into<Text<'a>>, bytes: &'a [u8]) -> Self {
        Self { name: name.into(), contents: Contents::Shard(bytes), split: None }
    }

    fn unopened(name: Text<'a>, contents: Contents<'a>) -> Self {
        Self { name, contents, split: named_part(name) }
    }

    /// Returns the name.
    #[must_use]
    pub const fn name(&self) -> Text<'a> {
        self.name
    }

    /// Returns the file if it is open.
    #[must_use]
    pub const fn file(&self) -> Option<&File<'a>> {
        match &self.contents {
            Contents::File(file) => Some(file),
            _ => None,
        }
    }

    pub(super) const fn contents(&self) -> &Contents<'a> {
        &self.contents
    }

    /// The statements of the file as a part of a model.
    pub(super) const fn split(&self) -> Option<&Split> {
        self.split.as_ref()
    }

    /// Returns true if the file states another part than its name.
    pub(super) fn is_misnamed(&self) -> bool {
        let part = |split: Split| (split.index, split.count);
        self.file().is_some_and(|_| match (self.split.map(part), named_part(self.name).map(part)) {
            (None, Some((_, count))) => count > 1, // a model in one part states nothing
            (stated, named) => stated != named,
        })
    }

    const fn is_shard(&self) -> bool {
        matches!(self.contents, Contents::Shard(_))
    }
}

/// The part that the name of a file states.
#[cfg(feature = "gguf")]
fn named_part(name: Text<'_>) -> Option<Split> {
    let crate::format::gguf::PartName { index, count, .. } =
        crate::format::gguf::PartName::parse(file_name(name.as_str()?))?;
    Some(Split { index, count, tensors: None })
}

#[cfg(not(feature = "gguf"))]
fn named_part(_: Text<'_>) -> Option<Split> {
    None
}

/// The part of a path after the last folder.
#[cfg(feature = "gguf")]
fn file_name(path: &str) -> &str {
    let after = path.bytes().rposition(|byte| byte == b'/').and_then(|at| at.checked_add(1));
    after.and_then(|after| path.get(after..)).unwrap_or(path)
}

/// Sorts the files of an index by their paths, and shards after them.
///
/// # Errors
/// `InvalidArgument` if two files have the same path.
pub(super) fn sort_by_path(files: &mut [ModelFile<'_>]) -> Result<()> {
    sort(files, |a, b| path::compare(a.name, b.name))
}

/// Sorts files by the numbers of the parts, and others after them by their paths. Of two files that state the same
/// part, the one that has the right name comes first.
///
/// # Errors
/// `InvalidArgument` if two files have the same path.
pub(super) fn sort_by_part(files: &mut [ModelFile<'_>]) -> Result<()> {
    let part = |file: &ModelFile<'_>| file.split.map_or((u64::MAX, 0), |split| (split.index, split.count));
    let is_late = |file: &ModelFile<'_>| file.file().is_none() || file.is_misnamed();
    sort(files, |a, b| {
        let others = || is_late(a).cmp(&is_late(b)).then_with(|| path::compare(a.name, b.name));
        part(a).cmp(&part(b)).then_with(others)
    })
}

fn sort(files: &mut [ModelFile<'_>], order: impl Fn(&ModelFile<'_>, &ModelFile<'_>) -> Ordering) -> Result<()> {
    let whole = |a: &ModelFile<'_>, b: &ModelFile<'_>| a.is_shard().cmp(&b.is_shard()).then_with(|| order(a, b));
    sort_by(files, |a, b| whole(&a, &b).is_lt());
    let is_same = |two: &[ModelFile<'_>]| matches!(two, [a, b] if whole(a, b).is_eq());
    if files.windows(2).any(is_same) { Err(Error::new(ErrorKind::InvalidArgument)) } else { Ok(()) }
}

/// Returns the number of the file at `path`, among files that [`sort_by_path`] has sorted.
pub(super) fn file_named(files: &[ModelFile<'_>], path: Text<'_>) -> Option<usize> {
    among(files.get(..first_shard(files))?, path)
}

/// Returns the number of the file at `path`, among files that are sorted by their paths.
fn among(files: &[ModelFile<'_>], path: Text<'_>) -> Option<usize> {
    let before = files.partition_point(|file| path::compare(file.name, path).is_lt());
    files.get(before).filter(|file| path::compare(file.name, path).is_eq()).map(|_| before)
}

/// Returns the number of the first shard: the shards are after all other files, sorted by their names.
fn first_shard(files: &[ModelFile<'_>]) -> usize {
    files.partition_point(|file| !file.is_shard())
}

/// Returns the bytes of the shard named `name`.
pub(super) fn shard_bytes<'a>(files: &[ModelFile<'a>], name: Text<'_>) -> Option<&'a [u8]> {
    let shards = files.get(first_shard(files)..)?;
    match shards.get(among(shards, name)?)?.contents {
        Contents::Shard(bytes) => Some(bytes),
        _ => None,
    }
}

/// Returns the file before the file numbered `number` that states the same part.
pub(super) fn twin<'p, 'a>(files: &'p [ModelFile<'a>], number: usize) -> Option<&'p ModelFile<'a>> {
    let file = files.get(number).filter(|file| file.file().is_some())?;
    let before = files.get(number.checked_sub(1)?)?;
    let (part, part_before) = (file.split?, before.split?);
    let is_same = (part.index, part.count) == (part_before.index, part_before.count);
    (before.file().is_some() && is_same).then_some(before)
}

/// Returns true if the file numbered `number` states the same part as the file before it: its tensors are not tensors
/// of the model.
pub(super) fn is_spare(files: &[ModelFile<'_>], number: usize) -> bool {
    twin(files, number).is_some()
}

/// Returns true if another file states the same part. `find` then returns the tensors of neither.
pub(super) fn is_ambiguous(files: &[ModelFile<'_>], number: usize) -> bool {
    is_spare(files, number) || number.checked_add(1).is_some_and(|next| is_spare(files, next))
}
