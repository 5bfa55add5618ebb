//! Edits of GGUF files: single pairs, and names in the infos.
//!
//! The pairs are walked over a second time, for the ranges that the library does not state. If the pairs or the infos
//! change their length, so does the padding before the data.

use std::ops::Range;

use tenslice::ByteOrder;
use tenslice::gguf::{GgufFile, ValueType};

use super::splice::Edits;
use super::value::{Scalar, encode, usual_type};
use super::{Changes, broken, refuse, refuse_value};
use crate::common::failure::Failure;
use crate::common::text::printable;
use crate::writing::carry::is_layout;

/// The longest key, and the longest name of a tensor that ggml reads.
const MAX_KEY: usize = 65535;
const MAX_NAME: usize = 63;

/// The code of the type of arrays.
const ARRAY: u32 = 9;

/// Walks over the head of a file that is valid.
struct Walker<'a> {
    bytes: &'a [u8],
    at: usize,
    is_big: bool,
    /// True in version 1, where counts and lengths have 32 bits.
    is_short: bool,
}

/// The ranges of a pair.
struct Pair<'a> {
    key: &'a [u8],
    whole: Range<usize>,
    kind: u32,
    /// The range of the type and the value.
    typed: Range<usize>,
}

impl<'a> Walker<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn number(&mut self, size: usize) -> Option<u64> {
        let taken = self.take(size)?;
        let push = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Some(if self.is_big { taken.iter().fold(0, push) } else { taken.iter().rev().fold(0, push) })
    }

    fn u32(&mut self) -> Option<u32> {
        self.number(4)?.try_into().ok()
    }

    /// The size of a count or a length.
    fn wide(&self) -> usize {
        if self.is_short { 4 } else { 8 }
    }

    fn length(&mut self) -> Option<usize> {
        self.number(self.wide())?.try_into().ok()
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        self.take(length)
    }

    fn skip(&mut self, kind: u32) -> Option<()> {
        // The kinds and counts of the arrays that are not finished.
        let mut open = vec![(kind, 1_usize)];
        while let Some((kind, left)) = open.last_mut() {
            let kind = *kind;
            let size = match kind {
                0 | 1 | 7 => 1,
                2 | 3 => 2,
                4..=6 => 4,
                10..=12 => 8,
                _ => 0,
            };
            if *left == 0 || size > 0 {
                let length = left.checked_mul(size)?;
                open.pop();
                self.take(length)?;
                continue;
            }
            *left -= 1;
            if kind == ARRAY {
                let item = self.u32()?;
                let count = self.length()?;
                open.push((item, count));
            } else {
                self.string()?;
            }
        }
        Some(())
    }

    fn pair(&mut self) -> Option<Pair<'a>> {
        let start = self.at;
        let key = self.string()?;
        let typed = self.at;
        let kind = self.u32()?;
        self.skip(kind)?;
        Some(Pair { key, whole: start..self.at, kind, typed: typed..self.at })
    }

    /// Returns the name of the next tensor and the range of the name with its length.
    fn info(&mut self) -> Option<(&'a [u8], Range<usize>)> {
        let start = self.at;
        let name = self.string()?;
        let range = start..self.at;
        let rank = usize::try_from(self.u32()?).ok()?;
        self.take(rank.checked_mul(self.wide())?)?;
        self.take(4 + 8)?; // type and offset
        Some((name, range))
    }

    /// Reverses the bytes of a number in a big-endian file.
    fn ordered(&self, mut number: Vec<u8>) -> Vec<u8> {
        if self.is_big {
            number.reverse();
        }
        number
    }

    fn count_bytes(&self, count: usize) -> Vec<u8> {
        let all = (count as u64).to_le_bytes();
        self.ordered(all.get(..self.wide()).unwrap_or_default().to_vec())
    }

    fn string_bytes(&self, text: &[u8]) -> Vec<u8> {
        [&self.count_bytes(text.len()), text].concat()
    }

    /// The bytes of the type and the value of a pair.
    fn typed_bytes(&self, key: &str, text: &str, kind: ValueType) -> Result<Vec<u8>, Failure> {
        let value = encode(text, kind).map_err(|why| refuse_value(key, text, &why))?;
        let value = if kind == ValueType::String { self.string_bytes(&value) } else { self.ordered(value) };
        Ok([self.ordered(kind.code().to_le_bytes().to_vec()), value].concat())
    }
}

/// Returns the edits that make the changes.
pub fn edits(file: &GgufFile<'_>, bytes: &[u8], changes: &Changes) -> Result<Edits, Failure> {
    if let Some(key) = changes.keys().find(|key| is_layout(key)) {
        let message = format!("{} says how the file is laid out: set cannot change it", printable(key));
        return Err(refuse(message));
    }
    let version = bytes.get(4..8).unwrap_or_default();
    let is_big = file.byte_order() == ByteOrder::Big;
    let mut walker = Walker { bytes, at: 8, is_big, is_short: version.starts_with(&[1, 0]) };
    let tensors = walker.length().ok_or_else(broken)?;
    let count_at = walker.at;
    let count = walker.length().ok_or_else(broken)?;
    let count_range = count_at..walker.at;
    let mut pairs = Vec::new();
    for _ in 0..count {
        pairs.push(walker.pair().ok_or_else(broken)?);
    }
    let pairs_end = walker.at;
    let mut edits = Edits::default();
    let new_count = edit_pairs(&walker, &pairs, changes, &mut edits, pairs_end)?;
    if new_count != count {
        edits.replace(count_range, walker.count_bytes(new_count));
    }
    for _ in 0..tensors {
        let (name, range) = walker.info().ok_or_else(broken)?;
        if let Some(new) = changes.new_name(name) {
            if new.len() > MAX_NAME {
                let message =
                    format!("the name \"{}\" has {} bytes: GGUF allows {MAX_NAME}", printable(new), new.len());
                return Err(refuse(message));
            }
            edits.replace(range, walker.string_bytes(new.as_bytes()));
        }
    }
    let (end, data_at) = (walker.at, usize::try_from(file.data_offset()).map_err(|_| broken())?);
    let new_end = edits.moved(end);
    // A file without tensors need not have the padding.
    if new_end != end && data_at <= bytes.len() {
        let alignment = usize::try_from(file.alignment()).unwrap_or(1);
        let padding = new_end.next_multiple_of(alignment) - new_end;
        edits.replace(end..data_at, vec![0; padding]);
    }
    Ok(edits)
}

/// Adds the edits of the pairs, and returns the number of pairs afterwards.
fn edit_pairs(
    walker: &Walker<'_>,
    pairs: &[Pair<'_>],
    changes: &Changes,
    edits: &mut Edits,
    end: usize,
) -> Result<usize, Failure> {
    let mut count = pairs.len();
    for key in &changes.unset {
        let pair = pairs.iter().find(|pair| pair.key == key.as_bytes());
        let pair = pair.ok_or_else(|| super::absent(key))?;
        edits.replace(pair.whole.clone(), Vec::new());
        count -= 1;
    }
    let mut added = Vec::new();
    for (key, text) in &changes.pairs {
        let old = pairs.iter().find(|pair| pair.key == key.as_bytes());
        if let Some(pair) = old {
            let old = ValueType::ALL.iter().copied().find(|kind| kind.code() == pair.kind).ok_or_else(broken)?;
            let kind = if old == ValueType::Array { old } else { changes.kind.unwrap_or(old) };
            edits.replace(pair.typed.clone(), walker.typed_bytes(key, text, kind)?);
            continue;
        }
        if key.is_empty() || key.len() > MAX_KEY {
            return Err(refuse(format!("a key of {} bytes: GGUF allows 1 to {MAX_KEY}", key.len())));
        }
        added.extend(walker.string_bytes(key.as_bytes()));
        added.extend(match changes.kind {
            Some(kind) => walker.typed_bytes(key, text, kind)?,
            None => {
                let why = |why: String| refuse_value(key, text, &why);
                let value = Scalar::guess(text).map_err(why)?;
                let kind = usual_type(&value).map_err(why)?;
                // Without the quotation marks that the user wrote.
                let text = if let Scalar::Text(text) = &value { text } else { text };
                walker.typed_bytes(key, text, kind)?
            }
        });
        count += 1;
    }
    if !added.is_empty() {
        edits.replace(end..end, added);
    }
    Ok(count)
}
