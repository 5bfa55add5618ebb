//! Edits: byte ranges of a file that get other bytes. All other bytes stay as they are, and are never decoded.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

use indicatif::ProgressBar;

use crate::output::Output;

/// The longest range that is changed in place, with a single write.
const LONGEST_PATCH: usize = 4096;

/// The number of bytes that are copied between two updates of the progress bar.
const STEP: u64 = 1 << 26;

/// A range of a file, and the bytes that replace it.
struct Edit {
    old: Range<usize>,
    new: Vec<u8>,
}

/// The edits of a file, which do not overlap, in the order of their ranges.
#[derive(Default)]
pub struct Edits(Vec<Edit>);

/// Bytes that are written over those of the file.
#[derive(Debug, PartialEq)]
pub struct Patch {
    at: usize,
    bytes: Vec<u8>,
}

impl Edits {
    /// Adds an edit. An insertion comes before an edit of the bytes at the same position.
    pub fn replace(&mut self, old: Range<usize>, new: Vec<u8>) {
        self.0.push(Edit { old, new });
        self.0.sort_by_key(|edit| (edit.old.start, edit.old.end));
    }

    /// Adds the edits of a part of the file that begins at `start`.
    pub fn add_part(&mut self, start: usize, part: Self) {
        for Edit { old, new } in part.0 {
            self.replace(old.start + start..old.end + start, new);
        }
    }

    /// The position in the new file of the bytes at `at` in the old one.
    pub fn moved(&self, at: usize) -> usize {
        let before = self.0.iter().filter(|edit| edit.old.end <= at);
        before.fold(at, |at, edit| at + edit.new.len() - edit.old.len())
    }

    /// The new bytes of a part of the file. No edit crosses its borders.
    pub fn apply(&self, bytes: &[u8], part: Range<usize>) -> Vec<u8> {
        let (mut new, mut at) = (Vec::new(), part.start);
        for edit in self.0.iter().filter(|edit| part.start <= edit.old.start && edit.old.end <= part.end) {
            new.extend_from_slice(bytes.get(at..edit.old.start).unwrap_or_default());
            new.extend_from_slice(&edit.new);
            at = edit.old.end;
        }
        new.extend_from_slice(bytes.get(at..part.end).unwrap_or_default());
        new
    }

    /// Returns the edits as a single short write, if no byte of the file moves and all changes are close together.
    pub fn patch(&self, bytes: &[u8]) -> Option<Patch> {
        let mut changed: Option<Range<usize>> = None;
        for edit in &self.0 {
            if edit.new.len() != edit.old.len() {
                return None;
            }
            let old = bytes.get(edit.old.clone()).unwrap_or_default();
            let differs = |(old, new): (&u8, &u8)| old != new;
            let first = old.iter().zip(&edit.new).position(differs);
            let last = old.iter().zip(&edit.new).rposition(differs);
            if let (Some(first), Some(last)) = (first, last) {
                let start = changed.map_or(edit.old.start + first, |changed| changed.start);
                changed = Some(start..edit.old.start + last + 1);
            }
        }
        let part = changed.unwrap_or_default();
        if part.len() > LONGEST_PATCH {
            return None;
        }
        let mut patch = bytes.get(part.clone()).unwrap_or_default().to_vec();
        for edit in &self.0 {
            for (at, byte) in edit.old.clone().zip(&edit.new) {
                if let Some(target) = at.checked_sub(part.start).and_then(|at| patch.get_mut(at)) {
                    *target = *byte;
                }
            }
        }
        Some(Patch { at: part.start, bytes: patch })
    }

    /// Writes the new file: copies all ranges of the old one that stay.
    pub fn copy(&self, file: &mut File, length: u64, output: &mut Output, bar: &ProgressBar) -> io::Result<()> {
        let mut at = 0;
        for edit in &self.0 {
            copy(file, at..edit.old.start as u64, output, bar)?;
            output.write_all(&edit.new)?;
            at = edit.old.end as u64;
        }
        copy(file, at..length, output, bar)
    }
}

/// Copies a range of a file.
fn copy(file: &mut File, range: Range<u64>, output: &mut Output, bar: &ProgressBar) -> io::Result<()> {
    let mut at = range.start;
    file.seek(SeekFrom::Start(at))?;
    while at < range.end {
        let copied = output.copy_from(file, STEP.min(range.end - at))?;
        if copied == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter while it was copied"));
        }
        bar.inc(copied);
        at += copied;
    }
    Ok(())
}

impl Patch {
    /// Writes the bytes to the file and waits until they are on the disk.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.seek(SeekFrom::Start(self.at as u64))?;
        file.write_all(&self.bytes)?;
        file.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_in_any_order() {
        let mut edits = Edits::default();
        edits.replace(4..6, b"XY".to_vec());
        edits.replace(2..4, Vec::new());
        edits.replace(4..4, b"new".to_vec());
        assert_eq!(edits.apply(b"0123456789", 0..10), b"01newXY6789");
        assert_eq!(edits.apply(b"0123456789", 4..8), b"newXY67");
        assert_eq!([0, 2, 4, 9].map(|at| edits.moved(at)), [0, 2, 5, 10]);
        assert_eq!(edits.patch(b"0123456789"), None);
    }

    #[test]
    fn a_patch_has_only_what_differs() {
        let mut edits = Edits::default();
        edits.replace(6..9, b"6X8".to_vec());
        edits.replace(1..4, b"1Y3".to_vec());
        let patch = edits.patch(b"0123456789");
        assert_eq!(patch, Some(Patch { at: 2, bytes: b"Y3456X".to_vec() }));
        let mut same = Edits::default();
        same.replace(1..2, b"1".to_vec());
        assert_eq!(same.patch(b"0123"), Some(Patch { at: 0, bytes: Vec::new() }));
        for (last, is_short) in [(LONGEST_PATCH, true), (LONGEST_PATCH + 1, false)] {
            let mut far = Edits::default();
            far.replace(0..1, vec![1]);
            far.replace(last - 1..last, vec![1]);
            assert_eq!(far.patch(&[0; 2 * LONGEST_PATCH]).is_some(), is_short);
        }
    }
}
