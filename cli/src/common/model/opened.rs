//! An open file of a model: its tensors, its warnings and problems, its shards.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use tenslice::{Component, Error, ErrorKind, Expected, File, Input, Model, ReadOptions, Tensor, Warning, Warnings};

use tenslice_host::HostFile;

use super::array::{Array, Arrays, compressed};
use super::problems::Lacking;
use crate::common::budget::Stop;
use crate::common::details::uninitialised_chunks;
use crate::common::failure::Failure;
use crate::common::problem::Problem;
use crate::common::reading::{is_compressed_array, stored};
use crate::common::text::printable;

/// An open file of a model.
pub struct Opened<'m> {
    pub path: &'m Path,
    /// The name of the file in the index or among the parts; `None` for the file that the user named.
    pub name: Option<&'m str>,
    /// The bytes of the file; none if only ranges of it are in memory.
    pub bytes: &'m [u8],
    /// The bytes or the ranges.
    pub input: Input<'m>,
    pub file: File<'m>,
    /// The warnings of the file, after a check of all names.
    pub warnings: Warnings,
    /// The number of the file in the model.
    pub number: usize,
    model: Model<'m, 'm>,
    lacking: Lacking,
    /// The indices of the tensors of the file that are part of the model; `None` for all.
    listed: Option<HashSet<u64>>,
    /// The number of chunks of a Blosc2 array that were never written.
    pub uninitialised_chunks: u64,
    /// The descriptions of compressed arrays.
    pub arrays: Arrays,
}

impl<'m> Opened<'m> {
    /// File `number` of a model, with its name and bytes, its warnings, and the shards that it lacks.
    pub fn new(
        (model, number): (Model<'m, 'm>, usize),
        file: File<'m>,
        (name, of_host): (Option<&'m str>, &'m HostFile),
        warnings: Warnings,
        lacking: Lacking,
    ) -> Self {
        let uninitialised_chunks = uninitialised_chunks(&file).unwrap_or(0);
        let (path, bytes) = (of_host.path(), of_host.bytes().unwrap_or_default());
        let input = of_host.input().unwrap_or(bytes.into());
        let arrays = compressed(&file, name, input);
        let listed = None;
        Self {
            path,
            name,
            bytes,
            input,
            file,
            warnings,
            number,
            model,
            lacking,
            listed,
            uninitialised_chunks,
            arrays,
        }
    }

    /// Notes which tensors of the files an index lists.
    pub fn select(files: &mut [Self], model: &Model<'m, 'm>) {
        let mut listed: HashMap<usize, HashSet<u64>> = HashMap::new();
        for (number, tensor) in model {
            listed.entry(number).or_default().insert(tensor.index());
        }
        for opened in files {
            let listed = listed.remove(&opened.number).unwrap_or_default();
            opened.listed = Some(listed).filter(|listed| listed.len() as u64 != opened.file.tensor_count());
        }
    }

    /// Returns true if a tensor of the file is part of the model.
    pub fn is_listed(&self, tensor: &Tensor<'_>) -> bool {
        self.listed.as_ref().is_none_or(|listed| listed.contains(&tensor.index()))
    }

    /// The tensors of the file that are part of the model.
    pub fn tensors(&self) -> impl Iterator<Item = Tensor<'m>> {
        self.file.tensors().filter(|tensor| self.is_listed(tensor))
    }

    /// The number of bytes that these tensors occupy in the file.
    pub fn stored(&self) -> u64 {
        self.tensors().map(|tensor| stored(&tensor)).fold(0, u64::saturating_add)
    }

    /// The number of these tensors.
    pub fn tensor_count(&self) -> u64 {
        self.listed.as_ref().map_or(self.file.tensor_count(), |listed| listed.len() as u64)
    }

    /// The tensors of the file that cannot be read.
    pub fn problems(&self) -> Vec<Problem> {
        let is_unreadable = self.arrays.values().any(Result::is_err);
        if !self.warnings.contains(Warning::UnreadableTensor) && !is_unreadable {
            return Vec::new();
        }
        self.tensors().filter_map(|tensor| self.problem(&tensor)).collect()
    }

    /// The reason why a tensor of the file cannot be read.
    pub fn problem(&self, tensor: &Tensor<'_>) -> Option<Problem> {
        if let Some(array) = self.arrays.get(&tensor.index()) {
            return array.as_ref().err().map(|unreadable| unreadable.problem.clone());
        }
        tensor.problem().map(|error| Problem::of_error(self.name, tensor, error, self.input))
    }

    /// The name of a tensor's layout; for a compressed entry that can be read, the layout of the array inside.
    pub fn layout_name(&self, tensor: &Tensor<'m>) -> &'m str {
        let is_readable = is_compressed_array(tensor) && self.problem(tensor).is_none();
        if is_readable { "dense" } else { tensor.layout_name() }
    }

    /// Describes the elements of a tensor; `None` if its header cannot be read.
    pub fn array(&self, tensor: &Tensor<'_>) -> Option<Cow<'_, Array>> {
        match self.arrays.get(&tensor.index()) {
            Some(array) => array.as_ref().ok().map(Cow::Borrowed),
            None => Array::of(tensor).map(Cow::Owned),
        }
    }

    /// An error of this file, or a limit that was reached in it.
    pub fn fail(&self, stop: impl Into<Stop>) -> Failure {
        let failure = Failure::of(stop, self.input);
        if let Some(name) = self.name { failure.in_file(name) } else { failure }
    }

    /// The warnings of this file. `of_data` has the warnings from reading data, as bits.
    pub fn warnings(&self, of_data: u32) -> Vec<Problem> {
        let of_arrays = self.arrays.values().flatten().fold(0, |bits, array| bits | array.warnings);
        let of_data = (of_data | of_arrays) & !Warning::Uninitialised.bit(); // counted below
        let mut all = Problem::of_warnings(&self.file, self.name, self.warnings, of_data);
        if let Some(more) = self.more_arrays() {
            let repeated = all.iter_mut().filter(|warning| warning.kind == Warning::TrailingBytes.name());
            repeated.for_each(|warning| warning.message += &more);
        }
        all.extend(self.unlisted_values());
        let count = self.uninitialised_chunks;
        if count > 0 {
            let message = format!(
                "{count} chunk{} never written, which read as zeros",
                if count == 1 { " was" } else { "s were" }
            );
            let file = self.name.map(Into::into);
            all.push(Problem { file, ..Problem::new(Warning::Uninitialised.name(), message) });
        }
        all
    }

    /// Says why not all values of a checkpoint's tree are listed, if that is so. The attributes of other formats are whole.
    fn unlisted_values(&self) -> Option<Problem> {
        self.file.as_pytorch()?;
        let mut values = self.file.attributes();
        let count = values.by_ref().count();
        let error = values.error()?;
        let message = format!("only {count} values of the tree are listed: {}", error.explain(self.bytes));
        let file = self.name.map(Into::into);
        Some(Problem { file, offset: error.offset(), ..Problem::new(error.kind().name(), message) })
    }

    /// Describes the arrays after the first one of an NPY file, if there are any: np.save appends one at each call.
    fn more_arrays(&self) -> Option<String> {
        const MAGIC: &[u8] = b"\x93NUMPY";
        self.file.as_npy()?;
        let end = |bytes: &[u8]| {
            let file = File::open(bytes).ok()?;
            usize::try_from(file.find("").ok()?.data().ok()?.extent().end()?).ok()
        };
        let first_end = end(self.bytes)?;
        let mut rest = self.bytes.get(first_end..)?;
        let mut count = 0;
        while let Some(end) = end(rest).filter(|_| rest.starts_with(MAGIC)) {
            count += 1;
            rest = rest.get(end..).unwrap_or_default();
        }
        let more = if count == 1 { "array follows" } else { "arrays follow" };
        (count > 0).then(|| {
            format!(": the first array ends at byte {first_end}, and {count} more {more}, as np.save appends them; they are not read")
        })
    }

    /// The warnings that concern every user of the data.
    pub fn warnings_of_data(&self) -> Vec<Problem> {
        let kinds = [Warning::Uninitialised, Warning::UnknownDigest].map(Warning::name);
        self.warnings(0).into_iter().filter(|warning| kinds.contains(&warning.kind)).collect()
    }

    /// Explains why the bytes of a component are missing.
    pub fn without_shard(&self, component: &Component<'_>) -> Failure {
        let name = component.shard().unwrap_or_default();
        let why = self.lacking.get(name).map(|why| format!(": {why}")).unwrap_or_default();
        Failure::new(ErrorKind::InShard.name(), format!("the bytes are in shard \"{}\"{why}", printable(name)))
    }

    /// Reads the elements of a tensor as numbers, also if they are in a shard.
    pub fn read_f32(&self, tensor: &Tensor<'m>, dst: &mut [f32], options: ReadOptions<'_>) -> Result<(), Error> {
        let is_here = tensor.components().all(|component| component.shard().is_none());
        let name = tensor.name().to_string();
        // The model reads the first of several tensors with one name.
        let (number, first) = self.model.find(&name)?;
        if is_here || (number, first.index()) != (self.number, tensor.index()) {
            return tensor.read_f32_into(dst, options).map(drop);
        }
        self.model.get_f32(&Expected::named(&name), dst, options).map(drop)
    }

    /// Adds the bytes of a component that is in a shard; `None` if the shard is missing or invalid.
    pub fn with_shard(&self, component: &Component<'m>) -> Result<Option<Component<'m>>, Error> {
        match component.shard() {
            Some(name) if self.lacking.contains_key(name) => Ok(None),
            _ => self.model.with_shard(*component).map(Some),
        }
    }
}
