//! Models in several files: the statements of a part about the model, and the names of parts. Each part is a complete
//! file; the first part has the attributes of the model. [`Model`](crate::Model) compares the parts.
#![forbid(unsafe_code)]

use core::fmt;

use super::{FileFormat, GgufFile, Split};

impl GgufFile<'_> {
    /// Returns what the file states as a part of a model, in its attributes `split.no`, `split.count` and
    /// `split.tensors.count`; `None` if it is a complete model. Linear in the attributes.
    #[must_use]
    pub fn split(&self) -> Option<Split> {
        let attributes = FileFormat::attributes(self);
        let get = |key| attributes.get_u64(key);
        let split =
            Split { index: get("split.no")?, count: get("split.count")?, tensors: get("split.tensors.count") };
        (split.count > 1).then_some(split)
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
