//! A file that is one part of a model, and that was opened without the other parts.

use std::fs;
use std::path::Path;

use tenslice::Format;
use tenslice::safetensors::Index;
use tenslice_host::is_index_name;

use super::model::Model;
use super::text::printable;

/// A part of a model.
pub struct Part {
    /// The number of the part, counted from 1.
    number: u64,
    /// The number of parts.
    count: u64,
    /// True if the file states its number. Otherwise only its name does.
    is_stated: bool,
    /// The name of the index next to the file that lists the file.
    index: Option<String>,
}

impl Part {
    /// The part that the only file of a model is; `None` if the other parts were looked for, or if there are none.
    pub fn alone(model: &Model<'_>) -> Option<Self> {
        let [opened] = &model.files[..] else { return None };
        if model.has_parts() {
            return None;
        }
        if let Some(gguf) = opened.file.as_gguf() {
            let split = gguf.split().filter(|split| split.count > 1)?;
            let number = split.index.saturating_add(1);
            return Some(Self { number, count: split.count, is_stated: true, index: None });
        }
        // The manifest of a zTensor 2 file lists its other files.
        if opened.file.format() == Format::Ztensor2 {
            return None;
        }
        let name = model.path.file_name()?.to_str()?;
        let (number, count) = numbers(name)?;
        let index = index_of(model.path.parent()?, name);
        Some(Self { number, count, is_stated: false, index })
    }

    /// False, because the file is not a whole model; `None` if only its name says so.
    pub fn is_complete(&self) -> Option<bool> {
        self.is_stated.then_some(false)
    }

    /// Says if the model is complete.
    pub fn completeness(&self) -> String {
        let Self { number, count, is_stated, index } = self;
        let certainty = if *is_stated { "NO: " } else { "unknown: by its name " };
        let index = index.as_ref().map(|index| format!("; the model is {}", printable(index))).unwrap_or_default();
        format!("{certainty}part {number} of {count}{index}")
    }
}

/// The number of a part, and the number of parts, in a name such as `model-00001-of-00003.safetensors`.
fn numbers(name: &str) -> Option<(u64, u64)> {
    const DIGITS: usize = 5;
    let number = |digits: &str| {
        let is_number = digits.len() >= DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u64>().ok().filter(|_| is_number)
    };
    let (before, after) = name.rsplit_once("-of-")?;
    let (_, digits) = before.rsplit_once('-')?;
    let (number, count) = (number(digits)?, number(after.split('.').next()?)?);
    (count > 1 && (1..=count).contains(&number)).then_some((number, count))
}

/// The name of the first index in a folder that lists the file named `name`.
fn index_of(folder: &Path, name: &str) -> Option<String> {
    first_index(folder, |index| {
        let mut scratch = vec![0; usize::try_from(index.tensor_count()).unwrap_or(usize::MAX)];
        index.files(&mut scratch).is_ok_and(|mut files| files.any(|file| file == *name))
    })
}

/// The name of the first index next to a file that lists a tensor in this file.
pub fn index_with(path: &Path, tensor: &str) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    first_index(path.parent()?, |index| index.find(tensor).is_ok_and(|file| file == *name))
}

/// The name of the first index in a folder that meets a condition.
fn first_index(folder: &Path, is_wanted: impl Fn(&Index<'_>) -> bool) -> Option<String> {
    let place = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let names = fs::read_dir(place).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| is_index_name(name)).collect();
    names.sort();
    names.into_iter().find(|name| {
        let text = fs::read(place.join(name)).unwrap_or_default();
        Index::open(&text).is_ok_and(|index| is_wanted(&index))
    })
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn names_of_parts() {
        assert_eq!(numbers("model-00001-of-00003.safetensors"), Some((1, 3)));
        assert_eq!(numbers("best-of-all.fp16-00002-of-00002.bin"), Some((2, 2)));
        assert_eq!(numbers("a-000001-of-000123"), Some((1, 123)));
        let others = ["model.safetensors", "a-00001-of-00001.bin", "a-00000-of-00002.bin", "a-00003-of-00002.bin"];
        let unlike = ["a-1-of-2.bin", "a-00001-of-0000x.bin", "00001-of-00002.bin", "-of-"];
        assert!(others.iter().chain(&unlike).all(|name| numbers(name).is_none()));
    }
}
