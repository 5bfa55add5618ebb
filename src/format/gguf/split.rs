//! Models in several files: the statements that parts make about each other, and the names of parts. Each part is a
//! complete file; the first part has the attributes of the model.
#![forbid(unsafe_code)]

use core::fmt;

use super::GgufFile;
use crate::bytes::num::to_u64;
use crate::duplicates::Distinct;
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind};
use crate::format::FileFormat;

/// The keys of the statements.
pub(super) const INDEX: &str = "split.no";
pub(super) const COUNT: &str = "split.count";
const TENSORS: &str = "split.tensors.count";

/// The statements of a part: its attributes `split.no`, `split.count` and `split.tensors.count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// The index of the part, counted from 0.
    pub index: u64,
    /// The number of parts.
    pub count: u64,
    /// The number of tensors in all parts.
    pub tensors: u64,
}

impl GgufFile<'_> {
    /// Returns what the file states as a part of a model; `None` if it is a complete model. Linear in the attributes.
    #[must_use]
    pub fn split(&self) -> Option<Split> {
        let attributes = FileFormat::attributes(self);
        let get = |key| attributes.get_u64(key);
        let split = Split { index: get(INDEX)?, count: get(COUNT)?, tensors: get(TENSORS)? };
        (split.count > 1).then_some(split)
    }

    /// Returns the position of the pair with key `key`.
    pub(super) fn pair_at(&self, key: &str) -> u64 {
        let (mut pairs, mut place) = (self.keys(), (self.pairs_at, self.pairs));
        while let Some((found, at)) = pairs.next(&mut place) {
            if found == key.as_bytes() {
                return at.into();
            }
        }
        self.pairs_at.into()
    }
}

/// Checks that files are the parts of one model, complete and in order: their indices, their number, and the number of
/// their tensors. A single file that is not a part is also a model. Does not check whether a name appears in two parts.
/// Linear in the attributes of all files.
///
/// # Errors The index of the wrong file, and the error: `CountsDiffer`, at the pair with the wrong number, or
/// `MissingKey` if the file is not a part of a model. `InvalidArgument` if there are no files.
///
/// ```
/// # let bytes: &[u8] = include_bytes!("../../../tests/fixtures/gguf/no_tensors.gguf");
/// let parts = [tenslice::File::open(bytes)?]; // and the others
/// let parts = parts.iter().filter_map(|file| file.as_gguf());
/// assert_eq!(tenslice::gguf::check_parts(parts), Ok(()));
/// # Ok::<(), tenslice::Error>(())
/// ```
pub fn check_parts<'a>(files: impl Iterator<Item = GgufFile<'a>> + Clone) -> Result<(), (usize, Error)> {
    let fail = |index, kind, at| Err((index, Error::at(kind, Format::Gguf, Part::Attributes, at)));
    let count = files.clone().count();
    if count == 0 {
        return Err((0, Error::new(ErrorKind::InvalidArgument)));
    }
    let mut tensors = 0_u64;
    for (index, file) in files.clone().enumerate() {
        let Some(split) = file.split() else {
            if count == 1 {
                return Ok(());
            }
            return fail(index, ErrorKind::MissingKey, file.pairs_at.into());
        };
        let wrong = match split {
            Split { index: stated, .. } if stated != to_u64(index) => Some(INDEX),
            Split { count: stated, .. } if stated != to_u64(count) => Some(COUNT),
            _ => None,
        };
        if let Some(key) = wrong {
            return fail(index, ErrorKind::CountsDiffer, file.pair_at(key));
        }
        tensors = tensors.saturating_add(file.tensors.into());
    }
    let differs = |(_, file): &(usize, GgufFile<'a>)| file.split().is_some_and(|split| split.tensors != tensors);
    match files.enumerate().find(differs) {
        Some((index, file)) => fail(index, ErrorKind::CountsDiffer, file.pair_at(TENSORS)),
        None => Ok(()),
    }
}

/// The name of a part of a model, such as `model-00001-of-00003.gguf`, by the convention of llama.cpp. `Display` writes
/// the name.
///
/// ```
/// use tenslice::gguf::PartName;
///
/// let first = PartName::parse("model-00001-of-00003.gguf").ok_or("no part of a model")?;
/// assert_eq!((first.index, first.count), (0, 3));
/// assert_eq!(PartName { index: 2, ..first }.to_string(), "model-00003-of-00003.gguf");
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartName<'a> {
    /// The text before the numbers: `model`.
    pub prefix: &'a str,
    /// The index of the part, counted from 0. (The name counts from 1.)
    pub index: u64,
    /// The number of parts.
    pub count: u64,
}

impl<'a> PartName<'a> {
    /// Parses the name of a part; `None` if `name` is not such a name.
    #[must_use]
    pub fn parse(name: &'a str) -> Option<Self> {
        let (rest, count) = split_number(name.strip_suffix(".gguf")?)?;
        let (prefix, number) = split_number(rest.strip_suffix("-of")?)?;
        let index = number.checked_sub(1).filter(|index| *index < count)?;
        Some(Self { prefix, index, count })
    }
}

/// Splits off a hyphen and a five-digit number.
fn split_number(text: &str) -> Option<(&str, u64)> {
    let (rest, digits) = text.split_at_checked(text.len().checked_sub(5)?)?;
    let number = digits.bytes().try_fold(0_u64, |number, digit| {
        digit.is_ascii_digit().then(|| number.wrapping_mul(10).wrapping_add(u64::from(digit & 15)))
    })?;
    Some((rest.strip_suffix('-')?, number))
}

impl fmt::Display for PartName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:05}-of-{:05}.gguf", self.prefix, self.index.saturating_add(1), self.count)
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::PartName;

    #[test]
    fn names_of_parts() {
        let name = "a-00001-of-00002-00012-of-00345.gguf";
        let part = PartName::parse(name).unwrap();
        assert_eq!((part.prefix, part.index, part.count), ("a-00001-of-00002", 11, 345));
        assert_eq!(part.to_string(), name);
        for other in [
            "model.gguf",
            "a-00001-of-00002",
            "a-1-of-2.gguf",
            "a-00000-of-00002.gguf",
            "a-00003-of-00002.gguf",
            "a-00001-of-0000x.gguf",
            "a-00001-of-\u{e9}002.gguf",
            "00001-of-00002.gguf",
            "a-100001-of-00002.gguf",
        ] {
            assert_eq!(PartName::parse(other), None, "{other}");
        }
    }
}
