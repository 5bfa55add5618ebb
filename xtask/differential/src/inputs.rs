//! The inputs: files, and mutations of them that depend only on a seed and a number.

use std::error::Error;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::structure::{Container, Head, Structure, cbor_head, write_cbor_head};

/// Larger files are skipped, so that no single input takes long.
const MAX_LENGTH: usize = 1 << 20;
/// The length of the metadata, at the start or the end of a file, if nothing states it.
const USUAL_METADATA: usize = 4096;

/// The magic of zTensor 2, and the length of the footer that ends in the magic.
const MAGIC_2: &[u8] = b"\x89ZT2\r\n\x1a\n";
const FOOTER_2: usize = 40;

/// Numbers that are likely to reach a limit.
const EDGES: [u64; 12] = [0, 1, 2, 7, 64, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, i64::MAX as u64, u64::MAX];
/// Bytes with a meaning in CBOR, MessagePack or JSON.
const MARKERS: &[u8] = b"\0\t\x1f\x7f\x17\x18\x1b\x20\x40\x60\x78\x80\x9f\xa0\xbf\xc0\xd2\xf6\xff\"\\{}[]:, \n0-.e";

pub struct Inputs {
    seed: u64,
    /// Every group has files.
    groups: Vec<(&'static str, Vec<PathBuf>)>,
}

pub struct Input {
    pub group: &'static str,
    /// The file that was read, and how it was damaged.
    pub origin: String,
    pub bytes: Vec<u8>,
}

impl Inputs {
    /// Lists the files in `folders`, in groups by format.
    pub fn new(seed: u64, folders: impl Iterator<Item = PathBuf>) -> Result<Self, Box<dyn Error>> {
        let mut groups: Vec<(_, Vec<_>)> = Vec::new();
        for folder in folders {
            let mut paths = Vec::new();
            files_below(&folder, &mut paths)?;
            for path in paths {
                let Some(group) = group(&path)? else { continue };
                match groups.iter_mut().find(|(other, _)| *other == group) {
                    Some((_, files)) => files.push(path),
                    None => groups.push((group, vec![path])),
                }
            }
        }
        if groups.is_empty() {
            return Err("the folders contain no tensor files".into());
        }
        groups.sort();
        Ok(Self { seed, groups })
    }

    pub fn file_count(&self) -> usize {
        self.groups.iter().map(|(_, files)| files.len()).sum()
    }

    /// The files come first, then the mutations: each group in turn, and a random file of the group.
    pub fn input(&self, number: u64) -> Result<Input, Box<dyn Error>> {
        let mut left = usize::try_from(number)?;
        for (group, files) in &self.groups {
            if let Some(path) = files.get(left) {
                return Ok(Input { group, origin: path.display().to_string(), bytes: fs::read(path)? });
            }
            left -= files.len();
        }
        let mut random = Random::of(self.seed, number);
        let (group, files) = &self.groups[left % self.groups.len()];
        // Most damage to a malformed file has no effect, so such files are selected less often.
        let is_bad = |path: &Path| path.components().any(|part| part.as_os_str() == "bad");
        let mut path = random.one_of(files);
        for _ in 0..2 {
            if is_bad(path) {
                path = random.one_of(files);
            }
        }
        let donor = fs::read(random.one_of(files))?;
        let mut mutation = Mutation::new(fs::read(path)?, random);
        mutation.damage(&donor);
        mutation.repair();
        let Mutation { mut bytes, steps, .. } = mutation;
        bytes.truncate(MAX_LENGTH);
        Ok(Input { group, origin: format!("{}: {}", path.display(), steps.join(", ")), bytes })
    }
}

fn files_below(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut entries = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files_below(&path, paths)?;
        } else {
            paths.push(path);
        }
    }
    Ok(())
}

/// Returns the group of a file; `None` if the file is not read.
fn group(path: &Path) -> Result<Option<&'static str>, Box<dyn Error>> {
    if fs::metadata(path)?.len() > MAX_LENGTH as u64 {
        return Ok(None);
    }
    Ok(match path.extension().and_then(|ending| ending.to_str()) {
        Some("zt") => {
            let bytes = fs::read(path)?;
            Some(match () {
                () if bytes.starts_with(MAGIC_2) || bytes.ends_with(MAGIC_2) => "ztensor-2",
                () if bytes.starts_with(b"ZTEN0001") => "ztensor-0",
                () => "ztensor-1",
            })
        }
        Some("b2nd" | "b2frame") => Some("b2nd"),
        Some("npy") => Some("npy"),
        Some("npz") => Some("npz"),
        Some("pt") => Some("pytorch"),
        Some("onnx") => Some("onnx"),
        Some("ptd") => Some("ptd"),
        Some("tflite") => Some("tflite"),
        Some("safetensors") => Some("safetensors"),
        Some("gguf") => Some("gguf"),
        Some("tens") => Some("tens"),
        Some("blz") => Some("blz"),
        _ => None,
    })
}

/// A file that is being damaged.
struct Mutation {
    bytes: Vec<u8>,
    random: Random,
    /// The metadata, as far as it can be found without a parser. Moves with insertions and removals.
    metadata: Range<usize>,
    /// The steps, for reports.
    steps: Vec<String>,
}

impl Mutation {
    fn new(bytes: Vec<u8>, random: Random) -> Self {
        let metadata = metadata(&bytes).unwrap_or(0..bytes.len().min(USUAL_METADATA));
        Self { bytes, random, metadata, steps: Vec::new() }
    }

    /// Applies one to three changes. `donor` is another file of the format.
    fn damage(&mut self, donor: &[u8]) {
        let count = [1, 1, 1, 1, 2, 3][self.random.below(6)];
        for _ in 0..count {
            let name = if self.has_structure() && self.random.below(2) == 0 { self.change_structure() } else { None };
            if let Some((name, at)) = name {
                self.steps.push(format!("{name} at {at}"));
                continue;
            }
            if self.bytes.starts_with(b"GGUF") && self.random.below(40) == 0 {
                self.add_pairs();
                continue;
            }
            let at = self.position();
            let (name, at) = self.change(at, donor);
            self.steps.push(format!("{name} at {at}"));
        }
    }

    /// Inserts many pairs at the front of a little-endian GGUF file, and in half of the cases one key twice.
    fn add_pairs(&mut self) {
        const COUNT_AT: Range<usize> = 16..24;
        let Some(field) = self.bytes.get(COUNT_AT) else { return };
        // Each pair has 32 bytes, which keeps the alignment of the data: the length of the key, the key, the type, a byte.
        let count = [40, 200, 900, 1100][self.random.below(4)];
        let mut keys: Vec<_> = (0..count).map(|_| format!("{:019}", self.random.below(1 << 40))).collect();
        if self.random.below(2) == 0 {
            keys[self.random.below(count)] = keys[self.random.below(count)].clone();
        }
        if self.random.below(2) == 0 {
            keys.sort();
        }
        let pair = |key: &String| [&19_u64.to_le_bytes(), key.as_bytes(), &[0, 0, 0, 0, 7]].concat();
        let pairs: Vec<u8> = keys.iter().flat_map(pair).collect();
        let stated = field.iter().rev().fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte));
        self.bytes[COUNT_AT].copy_from_slice(&stated.wrapping_add(count as u64).to_le_bytes());
        self.replace(COUNT_AT.end..COUNT_AT.end, &pairs);
        self.steps.push(format!("{count} pairs added"));
    }

    /// Selects a position, mostly in the metadata.
    fn position(&mut self) -> usize {
        let length = self.bytes.len();
        match self.random.below(10) {
            0..6 => self.metadata.start + self.random.below(self.metadata.len()),
            6 => self.random.below(length.min(USUAL_METADATA)),
            7..9 => length.saturating_sub(1 + self.random.below(length.min(USUAL_METADATA))),
            _ => self.random.below(length),
        }
    }

    /// Makes one change at a position, and returns its name.
    fn change(&mut self, at: usize, donor: &[u8]) -> (&'static str, usize) {
        if at >= self.bytes.len() {
            self.replace(at..at, &[0]);
            return ("a byte appended", at);
        }
        let byte = self.bytes[at];
        let mut set = |to: u8| self.bytes[at] = to;
        let name = match self.random.below(28) {
            0..4 => {
                set(byte ^ 1 << self.random.below(8));
                "a bit flipped"
            }
            4 => {
                set(0);
                "0"
            }
            5 => {
                set(0xff);
                "0xff"
            }
            6 => {
                set(self.random.next() as u8);
                "a random byte"
            }
            7..9 => {
                set(self.random.one_of(MARKERS).to_owned());
                "a marker"
            }
            9..11 => {
                set(if self.random.below(2) == 0 { byte.wrapping_add(1) } else { byte.wrapping_sub(1) });
                "one more or less"
            }
            11..13 => {
                self.set_number(at);
                "a number set"
            }
            13..15 => {
                let inserted: Vec<u8> = (0..self.short_length()).map(|_| self.random.next() as u8).collect();
                self.replace(at..at, &inserted);
                "random bytes inserted"
            }
            15..17 => {
                let copied = self.range(at);
                let copied = self.bytes[copied].to_vec();
                let to = self.position().min(self.bytes.len());
                self.replace(to..to, &copied);
                "a range duplicated"
            }
            17..19 => {
                let removed = self.range(at);
                self.replace(removed, &[]);
                "a range removed"
            }
            19 => {
                let length = self.bytes.len();
                let end = if self.random.below(4) == 0 { at } else { length - self.random.below(64).min(length) };
                self.replace(end..length, &[]);
                "truncated"
            }
            20 => {
                self.swap_ranges(at);
                "ranges swapped"
            }
            21 => {
                let (from, to) = (self.range(at), self.position());
                let copied = self.bytes[from].to_vec();
                let end = (to + copied.len()).min(self.bytes.len());
                self.replace(to.min(end)..end, &copied);
                "a range copied over another"
            }
            22 => {
                let length = self.short_length();
                let from = at.min(donor.len())..(at + length).min(donor.len());
                let end = (at + length).min(self.bytes.len());
                self.replace(at..end, &donor[from]);
                "a range of another file"
            }
            23..26 => {
                self.bytes[at] = self.similar(byte);
                "a similar character"
            }
            26 => {
                let space = vec![*self.random.one_of(b" \n"); self.short_length()];
                self.replace(at..at, &space);
                "space inserted"
            }
            _ => {
                self.rename(at);
                "all copies of a string changed"
            }
        };
        (name, at)
    }

    /// True if the metadata is CBOR or JSON.
    fn has_structure(&self) -> bool {
        !matches!(footer(&self.bytes), None | Some(Footer::Npy))
    }

    /// Another digit for a digit, another letter for a letter.
    fn similar(&mut self, byte: u8) -> u8 {
        match byte {
            b'0'..=b'9' => b'0' + self.random.below(10) as u8,
            b'a'..=b'z' => b'a' + self.random.below(26) as u8,
            b'A'..=b'Z' => b'A' + self.random.below(26) as u8,
            _ => byte ^ 1,
        }
    }

    /// Changes a list, a map or a value of CBOR or JSON, and returns the name of the change.
    fn change_structure(&mut self) -> Option<(&'static str, usize)> {
        let Structure { is_json, containers, values } = Structure::of(&self.bytes, self.metadata.clone());
        if values.is_empty() {
            return None;
        }
        if !containers.is_empty() && self.random.below(2) == 0 {
            // The outer containers, which are last, have the names of tensors.
            let is_multiplied = self.random.below(8) == 0;
            let count = if is_multiplied { containers.len().min(3) } else { containers.len() };
            let container = &containers[containers.len() - 1 - self.random.below(count)];
            return Some((self.change_container(container, is_multiplied), container.range.start));
        }
        let value = values[self.random.below(values.len())].clone();
        let at = value.start;
        let name = if is_json { self.change_json(value) } else { self.change_cbor(value)? };
        Some((name, at))
    }

    fn change_container(&mut self, container: &Container, is_multiplied: bool) -> &'static str {
        let mut entries: Vec<_> = container.entries.iter().map(|range| self.bytes[range.clone()].to_vec()).collect();
        let (one, other) = (self.random.below(entries.len()), self.random.below(entries.len()));
        let name = match self.random.below(5) {
            _ if entries.is_empty() => "an empty container written again",
            _ if is_multiplied => {
                self.multiply(container.head, &mut entries, one);
                "an entry multiplied"
            }
            0 | 1 => {
                entries.swap(one, other);
                "entries swapped"
            }
            2 => {
                entries.insert(other, entries[one].clone());
                "an entry duplicated"
            }
            3 => {
                entries.remove(one);
                "an entry removed"
            }
            _ => "a container written again",
        };
        let written = match container.head {
            Head::Cbor(major) if self.random.below(6) == 0 => {
                [vec![major << 5 | 31], entries.concat(), vec![0xff]].concat()
            }
            Head::Cbor(major) => {
                let longer = if self.random.below(4) == 0 { self.random.below(5) } else { 0 };
                [write_cbor_head(major, entries.len() as u64, longer), entries.concat()].concat()
            }
            Head::Json(opening) => {
                let space = vec![b' '; if self.random.below(3) == 0 { self.short_length() } else { 0 }];
                let between = [b",", &space[..]].concat();
                [&[opening], &entries.join(&between[..])[..], &space, &[opening + 2]].concat()
            }
        };
        self.replace(container.range.clone(), &written);
        name
    }

    /// Adds many copies of an entry with other keys, and in half of the cases one key twice, to reach the limits for items that are compared without
    /// memory.
    fn multiply(&mut self, head: Head, entries: &mut Vec<Vec<u8>>, one: usize) {
        let entry = entries[one].clone();
        let count = [40, 200, 900, 1100, 2100][self.random.below(5)].min(MAX_LENGTH / 4 / (entry.len() + 4));
        for number in 0..count {
            // The factor permutes the numbers of four digits.
            let digits = format!("{:04}", number * 7919 % 10_000);
            entries.push(match (head, cbor_head(&entry, 0)) {
                (Head::Json(b'{'), _) => [&entry[..1], digits.as_bytes(), &entry[1..]].concat(),
                (Head::Cbor(5), Some((3, Some(length), start))) => {
                    [write_cbor_head(3, length + 4, 0), digits.into(), entry[start..].to_vec()].concat()
                }
                _ => entry.clone(),
            });
        }
        if self.random.below(2) == 0 {
            let (from, to) = (self.random.below(entries.len()), self.random.below(entries.len()));
            entries.insert(to, entries[from].clone());
        }
        // Keys in order are often required, and often a shortcut.
        if self.random.below(2) == 0 {
            entries.sort();
        }
    }

    fn change_cbor(&mut self, value: Range<usize>) -> Option<&'static str> {
        let (major, argument, start) = cbor_head(&self.bytes, value.start)?;
        let mut argument = argument?;
        let mut content = self.bytes[start..value.end].to_vec();
        let longer = if self.random.below(4) == 0 { self.random.below(5) } else { 0 };
        let name = match major {
            2 | 3 => {
                let at = self.random.below(content.len());
                match self.random.below(4) {
                    0 => content.insert(at, b'a'),
                    _ if content.is_empty() => {}
                    1 => drop(content.remove(at)),
                    _ => content[at] = self.similar(content[at]),
                }
                argument = content.len() as u64;
                "a string changed"
            }
            _ if self.random.below(3) == 0 => "a number written again",
            _ => {
                argument = self.number_near(argument);
                "a number changed"
            }
        };
        let written = [write_cbor_head(major, argument, longer), content].concat();
        self.replace(value, &written);
        Some(name)
    }

    fn change_json(&mut self, value: Range<usize>) -> &'static str {
        let old = self.bytes[value.clone()].to_vec();
        if old[0] != b'"' {
            let number = std::str::from_utf8(&old).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
            let number = self.number_near(number).to_string();
            self.replace(value, number.as_bytes());
            return "a number changed";
        }
        let at = value.start + 1 + self.random.below(old.len() - 2);
        match (self.random.below(5), self.bytes[at]) {
            (0, _) => self.replace(at..at, b"a"),
            (_, b'"') => {}
            (1 | 2, byte) => {
                let escaped = format!("\\u{byte:04x}");
                self.replace(at..at + 1, escaped.as_bytes());
            }
            (3, _) => self.replace(at..at + 1, b""),
            (_, byte) => self.bytes[at] = self.similar(byte),
        }
        "a string changed"
    }

    fn number_near(&mut self, old: u64) -> u64 {
        match self.random.below(4) {
            0 => old.wrapping_add(1 << self.random.below(8)),
            1 => old.wrapping_sub(1 << self.random.below(8)),
            2 => self.random.one_of(&EDGES).wrapping_sub(self.random.next() & 1),
            _ => self.bytes.len() as u64,
        }
    }

    /// A short length, rarely a longer one.
    fn short_length(&mut self) -> usize {
        match self.random.below(8) {
            0 => 1 + self.random.below(400),
            1..4 => 1 + self.random.below(40),
            _ => 1 + self.random.below(9),
        }
    }

    /// A short range that begins at `at`.
    fn range(&mut self, at: usize) -> Range<usize> {
        let length = self.short_length();
        at..(at + length).min(self.bytes.len())
    }

    /// Writes a number of 2, 4 or 8 bytes in either byte order: one near the number that was there, or an extreme one.
    fn set_number(&mut self, at: usize) {
        let Some(field) = self.bytes.get(at..at + [2, 4, 8][self.random.below(3)]) else { return };
        let length = field.len();
        let mut number = [0; 8];
        number[..length].copy_from_slice(field);
        let is_big = self.random.below(2) == 0;
        if is_big {
            number[..length].reverse();
        }
        let old = u64::from_le_bytes(number);
        let new = self.number_near(old);
        number = new.to_le_bytes();
        if is_big {
            number[..length].reverse();
        }
        self.bytes[at..at + length].copy_from_slice(&number[..length]);
    }

    fn swap_ranges(&mut self, at: usize) {
        let (mut one, mut other) = (self.range(at), self.position());
        if other < one.start {
            other = std::mem::replace(&mut one.start, other);
            one.end = (one.start + self.short_length()).min(other);
        }
        let other = other.max(one.end).min(self.bytes.len());
        let other = self.range(other);
        let between = self.bytes[one.end..other.start].to_vec();
        let swapped = [&self.bytes[other.clone()], &between, &self.bytes[one.clone()]].concat();
        self.replace(one.start..other.end, &swapped);
    }

    /// Changes one byte of a short string in all its copies: a name stays the same everywhere it is stored.
    fn rename(&mut self, at: usize) {
        let range = at..(at + 2 + self.random.below(7)).min(self.bytes.len());
        let old = self.bytes[range].to_vec();
        let mut new = old.clone();
        let changed = self.random.below(old.len());
        new[changed] = match self.random.below(3) {
            0 => old[changed] ^ 1,
            1 => old[self.random.below(old.len())],
            _ => *self.random.one_of(MARKERS),
        };
        let mut from = 0;
        while let Some(next) = self.bytes[from..].windows(old.len()).position(|window| window == old) {
            self.bytes[from + next..][..new.len()].copy_from_slice(&new);
            from += next + new.len();
        }
    }

    fn replace(&mut self, range: Range<usize>, new: &[u8]) {
        let moved = |at: usize| if at > range.start { (at + new.len()).saturating_sub(range.len()) } else { at };
        let (start, end) = (moved(self.metadata.start), moved(self.metadata.end));
        // An insertion at the end of the metadata belongs to it.
        let end = if range.start == self.metadata.end { end + new.len() } else { end };
        self.bytes.splice(range, new.iter().copied());
        self.metadata = start.min(self.bytes.len())..end.max(start).min(self.bytes.len());
    }

    /// Mostly corrects the length and the hash of the metadata. Otherwise nearly all damage would be detected by them,
    /// and nothing behind them would be tested.
    fn repair(&mut self) {
        if self.random.below(8) == 0 {
            return;
        }
        let Range { start, end } = self.metadata.clone();
        let length = ((end - start) as u64).to_le_bytes();
        let hash = xxh3_64(&self.bytes[start..end]).to_le_bytes();
        let before_end = |distance| self.bytes.len().checked_sub(distance);
        let (at, fields) = match footer(&self.bytes) {
            Some(Footer::Ztensor2) => {
                (before_end(FOOTER_2), [(start as u64).to_le_bytes(), length, hash].as_flattened().to_vec())
            }
            Some(Footer::Ztensor1) => (before_end(16), length.to_vec()),
            Some(Footer::Ztensor0) => (before_end(8), length.to_vec()),
            Some(Footer::Safetensors) => (Some(0), length.to_vec()),
            Some(Footer::Npy) => (Some(8), length[..if start == 10 { 2 } else { 4 }].to_vec()),
            None => return,
        };
        if let Some(found) = at.and_then(|at| self.bytes.get_mut(at..at + fields.len())) {
            found.copy_from_slice(&fields);
        }
        self.steps.push("lengths and hash corrected".into());
    }
}

/// The formats that state where their metadata is.
enum Footer {
    Ztensor0,
    Ztensor1,
    Ztensor2,
    Safetensors,
    Npy,
}

fn footer(bytes: &[u8]) -> Option<Footer> {
    match bytes {
        _ if bytes.ends_with(MAGIC_2) => Some(Footer::Ztensor2),
        _ if bytes.ends_with(b"ZTEN1000") => Some(Footer::Ztensor1),
        // 1.0 also ends in the length.
        _ if bytes.starts_with(b"ZTEN") => Some(Footer::Ztensor0),
        _ if bytes.starts_with(b"\x93NUMPY") => Some(Footer::Npy),
        [_, _, _, _, 0, 0, 0, 0, b'{', ..] => Some(Footer::Safetensors),
        _ => None,
    }
}

/// Returns the range of the metadata without the fields that `repair` corrects.
fn metadata(bytes: &[u8]) -> Option<Range<usize>> {
    let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let before = |end: usize, length_at: usize| {
        let length = usize::try_from(number(length_at)?).ok()?;
        Some(end.checked_sub(length)?..end)
    };
    let end = |distance: usize| bytes.len().checked_sub(distance);
    let range = match footer(bytes)? {
        Footer::Ztensor2 => before(end(FOOTER_2)?, end(FOOTER_2 - 8)?),
        Footer::Ztensor1 => before(end(16)?, end(16)?),
        Footer::Ztensor0 => before(end(8)?, end(8)?),
        Footer::Safetensors => Some(8..8_usize.checked_add(usize::try_from(number(0)?).ok()?)?),
        Footer::Npy if bytes.get(6) == Some(&1) => Some(10..10 + usize::from(*bytes.get(8)?)),
        Footer::Npy => Some(12..12 + usize::from(*bytes.get(8)?)),
    };
    range.filter(|range| !range.is_empty() && range.end <= bytes.len())
}

/// A pseudo-random number generator (SplitMix64).
struct Random(u64);

impl Random {
    fn of(seed: u64, number: u64) -> Self {
        let mut random = Self(seed);
        let start = random.next() ^ number;
        Self(Self(start).next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn one_of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}
