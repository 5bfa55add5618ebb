//! The problems of a model as records, and the checks that only the tool makes: the digests of shards, and values of an
//! index that are not file names.

use std::collections::{HashMap, HashSet};
use std::io;

use serde_json::Value as Json;
use tenslice::gguf::PartName;
use tenslice::{ErrorKind, File, Format, Model, ModelFile, ProblemKind};
use tenslice_host::{Host, HostFile, shard_file_name};

use crate::common::problem::Problem;
use crate::common::text::printable;

/// The files of a model by their names in it.
pub(super) struct Files<'h> {
    files: HashMap<&'h str, &'h HostFile>,
    shards: HashMap<&'h str, &'h HostFile>,
    /// The name of a part, if any file has one.
    part: Option<PartName<'h>>,
    /// The only file was read from a stream or a server, so that no other files can be found.
    is_stream: bool,
}

impl<'h> Files<'h> {
    pub fn of(host: &'h Host, is_stream: bool) -> Self {
        let (shards, files): (Vec<_>, Vec<_>) = host.files().iter().partition(|file| file.is_shard());
        let part = files.iter().find_map(|file| PartName::parse(file.name()));
        let [files, shards] = [files, shards].map(|all| all.into_iter().map(|file| (file.name(), file)).collect());
        Self { files, shards, part, is_stream }
    }

    /// Returns the mapped file that a file of the model is.
    pub fn get(&self, file: &ModelFile<'_>) -> Option<&'h HostFile> {
        self.files.get(&*file.name().to_string()).copied()
    }

    /// The record of a problem, in the words of the library.
    fn record(&self, model: &Model<'_, '_>, problem: &tenslice::Problem<'_, '_>) -> Problem {
        let file = problem.file().and_then(|number| model.files().get(number));
        let error = problem.error();
        let mut record = Problem {
            kind: error.map_or(problem.kind().name(), |error| error.kind().name()),
            file: file.map(|file| file.name().to_string()),
            tensor: problem.tensor().map(|tensor| tensor.to_string()),
            message: without_name(file, &problem.to_string()).into(),
            offset: error.and_then(|error| error.offset()),
            missing_files: match problem.kind() {
                ProblemKind::MissingFile | ProblemKind::MissingShard => 1,
                ProblemKind::MissingPart => {
                    problem.parts().map_or(1, |(first, last)| last.saturating_sub(first).saturating_add(1))
                }
                _ => 0,
            },
        };
        if let (Some((first, last)), Some(part)) = (problem.parts(), self.part) {
            let name = |index| PartName { index, ..part }.to_string();
            if first == last {
                record.file = Some(name(first));
            } else {
                record.message += &format!(": {} to {}", printable(&name(first)), printable(&name(last)));
            }
        }
        let unreadable = file.and_then(|file| self.get(file)?.input().err());
        if let Some(error) = unreadable.filter(|error| error.kind() != io::ErrorKind::NotFound) {
            (record.kind, record.message) = ("Io", format!("the file cannot be read: {error}"));
            record.missing_files = 0;
        }
        match record.missing_files {
            0 => {}
            _ if self.is_stream => {}
            1 => record.message += "; download it into this folder",
            _ => record.message += "; download them into this folder",
        }
        record
    }
}

/// The problems of a model, sorted by what they mean for the tool.
#[derive(Default)]
pub(super) struct Found {
    pub problems: Vec<Problem>,
    pub warnings: Vec<Problem>,
    /// The numbers of files that state the same part as another file. Their tensors are not tensors of the model.
    pub spare: HashSet<usize>,
}

impl Found {
    pub fn of(model: &Model<'_, '_>, files: &Files<'_>) -> Self {
        let mut found = Self::default();
        for problem in model.problems() {
            let record = files.record(model, &problem);
            match problem.kind() {
                ProblemKind::UnreadableTensor => {} // `Opened::problems` has more about it
                ProblemKind::MisnamedPart if files.is_stream => {}
                ProblemKind::MissingPart if files.is_stream => {
                    let message = format!("{}: this file is one part of a model", record.message);
                    found.warnings.push(Problem::new("PartAlone", message));
                }
                ProblemKind::MissingShard if files.is_stream => {
                    let hint = "shards are found only beside a file: pass its path";
                    found.problems.push(Problem { message: format!("{}: {hint}", record.message), ..record });
                }
                kind if kind.is_warning() => found.warnings.push(record),
                kind => {
                    found.spare.extend(problem.file().filter(|_| kind == ProblemKind::RepeatedPart));
                    found.problems.push(record);
                }
            }
        }
        found
    }
}

/// The sentence of a problem without the name of the file at its start.
fn without_name<'s>(file: Option<&ModelFile<'_>>, sentence: &'s str) -> &'s str {
    let prefix = file.map(|file| format!("{}: ", printable(&file.name().to_string())));
    prefix.and_then(|prefix| sentence.strip_prefix(&prefix)).unwrap_or(sentence)
}

/// Returns true if the files of a model are named in its messages: there are several files, or there should be.
pub(super) fn has_parts(model: &Model<'_, '_>, has_index: bool) -> bool {
    let is_part = |file: &ModelFile<'_>| file.file().and_then(|file| file.as_gguf()?.split()).is_some();
    has_index || model.files().iter().any(is_part)
}

/// Verifies the shards of a zTensor 2 file, and finds those of an ONNX or a TFLite model. Returns the reasons why shards cannot be
/// used, by name. `problems` has the shards that are missing or have another length, to which it adds those with another
/// digest.
pub(super) fn lacking(file: &File<'_>, name: &str, files: &Files<'_>, problems: &mut Vec<Problem>) -> Lacking {
    let mut lacking = Lacking::new();
    if matches!(file.format(), Format::Onnx | Format::Tflite) {
        // The library may list a file more than once.
        let mut seen = HashSet::new();
        problems.retain(|problem| !problem.is_missing_file() || seen.insert(problem.message.clone()));
        let components = file.tensors().flat_map(|tensor| tensor.components());
        let names = components.filter_map(|component| component.shard());
        let missing = names.filter(|name| !files.shards.contains_key(name));
        lacking.extend(missing.map(|name| (name.to_owned(), "the file is missing".into())));
        return lacking;
    }
    let Some(file) = file.as_ztensor2() else { return lacking };
    let kinds = [ProblemKind::MissingShard, ProblemKind::WrongShard].map(ProblemKind::name);
    let mut wrong = Vec::new();
    let is_of_file = |problem: &&mut Problem| {
        kinds.contains(&problem.kind) && problem.file.as_deref().is_none_or(|file| file == name)
    };
    let mut known = problems.iter_mut().filter(is_of_file);
    for shard in file.shards() {
        let found = files.shards.get(shard.name).and_then(|found| found.bytes().ok());
        let error = match found.filter(|bytes| bytes.len() as u64 == shard.size) {
            None => None,
            Some(bytes) => match file.check_shard(shard.name, bytes) {
                Ok(_) => continue,
                Err(error) => Some(error),
            },
        };
        let file = shard_file_name(name, shard.name);
        let why = match error {
            Some(error) => {
                let message = format!("the shard does not match the manifest: {}", error.kind().text());
                wrong.push(Problem::of_file(error.kind().name(), &file, message));
                wrong.last().map(Problem::line)
            }
            None => known.next().map(|known| {
                known.file = Some(file).filter(|_| !files.is_stream);
                known.line()
            }),
        };
        lacking.insert(shard.name.into(), why.unwrap_or_default());
    }
    problems.extend(wrong);
    lacking
}

/// The reasons why shards cannot be used, by name.
pub(super) type Lacking = HashMap<String, String>;

/// Tensors of an index that have no file because their value is not a string, as in an index written by hand.
pub(super) fn without_file(text: &[u8]) -> Vec<Problem> {
    let index: Json = serde_json::from_slice(text).unwrap_or_default();
    let map = index.get("weight_map").and_then(Json::as_object).into_iter().flatten();
    let of_one = |(tensor, file): (&String, &Json)| {
        let message = format!("tensor \"{}\" of the index has {file} instead of a file name", printable(tensor));
        Problem::of_tensor(ErrorKind::UnexpectedType.name(), None, tensor, message)
    };
    map.filter(|(_, file)| !file.is_string()).map(of_one).collect()
}
