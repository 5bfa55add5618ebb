//! Finds lists, maps and values in CBOR and JSON, so that a mutation can change one of them and leave the rest
//! readable.

use std::ops::Range;

/// A list or a map.
pub struct Container {
    pub range: Range<usize>,
    pub head: Head,
    /// The entries; those of a map are keys with their values.
    pub entries: Vec<Range<usize>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Head {
    /// The major type.
    Cbor(u8),
    /// The opening bracket.
    Json(u8),
}

/// The contents of some metadata.
#[derive(Default)]
pub struct Structure {
    pub is_json: bool,
    pub containers: Vec<Container>,
    /// Numbers, strings and words.
    pub values: Vec<Range<usize>>,
}

const MAX_DEPTH: usize = 32;

impl Structure {
    /// Finds everything up to the first byte that is not understood.
    pub fn of(bytes: &[u8], metadata: Range<usize>) -> Self {
        let mut structure = Self::default();
        let Some(known) = bytes.get(..metadata.end) else { return structure };
        structure.is_json = known.get(metadata.start) == Some(&b'{');
        if structure.is_json {
            structure.json(known, metadata.start, MAX_DEPTH);
        } else {
            structure.cbor(known, metadata.start, MAX_DEPTH);
        }
        structure
    }

    /// Returns the end of the item at `at`.
    fn cbor(&mut self, bytes: &[u8], at: usize, depth: usize) -> Option<usize> {
        let (major, argument, mut next) = cbor_head(bytes, at)?;
        let is_container = matches!(major, 4 | 5);
        match argument {
            Some(length) if matches!(major, 2 | 3) => {
                next = next.checked_add(usize::try_from(length).ok()?)?;
                bytes.get(at..next)?;
            }
            Some(_) if major == 6 => return self.cbor(bytes, next, depth.checked_sub(1)?),
            _ if is_container => {
                let depth = depth.checked_sub(1)?;
                let mut entries = Vec::new();
                let is_left = |count: usize, next| match argument {
                    Some(argument) => (count as u64) < argument,
                    None => bytes.get(next) != Some(&0xff),
                };
                while is_left(entries.len(), next) {
                    let start = next;
                    for _ in 4..=major {
                        next = self.cbor(bytes, next, depth)?;
                    }
                    entries.push(start..next);
                }
                next += usize::from(argument.is_none());
                self.containers.push(Container { range: at..next, head: Head::Cbor(major), entries });
                return Some(next);
            }
            None => return None,
            Some(_) => {}
        }
        self.values.push(at..next);
        Some(next)
    }

    fn json(&mut self, bytes: &[u8], at: usize, depth: usize) -> Option<usize> {
        let at = after_space(bytes, at);
        let opening = *bytes.get(at)?;
        if !matches!(opening, b'{' | b'[') {
            let end = json_value(bytes, at)?;
            self.values.push(at..end);
            return Some(end);
        }
        let depth = depth.checked_sub(1)?;
        let (mut entries, mut next) = (Vec::new(), after_space(bytes, at + 1));
        while !matches!(bytes.get(next)?, b'}' | b']') {
            let start = next;
            if opening == b'{' {
                next = after_space(bytes, self.json(bytes, next, 0)?);
                next += usize::from(*bytes.get(next)? == b':');
            }
            next = self.json(bytes, next, depth)?;
            entries.push(start..next);
            next = after_space(bytes, next);
            if *bytes.get(next)? == b',' {
                next = after_space(bytes, next + 1);
            }
        }
        self.containers.push(Container { range: at..next + 1, head: Head::Json(opening), entries });
        Some(next + 1)
    }
}

/// Returns the major type, the argument, and the end of the head; no argument for an indefinite length.
pub fn cbor_head(bytes: &[u8], at: usize) -> Option<(u8, Option<u64>, usize)> {
    let first = *bytes.get(at)?;
    let length = match first & 31 {
        short @ 0..24 => return Some((first >> 5, Some(short.into()), at + 1)),
        31 => return Some((first >> 5, None, at + 1)),
        code @ 24..28 => 1_usize << (code - 24),
        _ => return None,
    };
    let argument = bytes.get(at + 1..at + 1 + length)?.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    Some((first >> 5, Some(argument), at + 1 + length))
}

/// Writes a head with an argument of 0, 1, 2, 4 or 8 bytes: the shortest, or one that is `longer` steps longer.
pub fn write_cbor_head(major: u8, argument: u64, longer: usize) -> Vec<u8> {
    let shortest = match argument {
        0..24 => 0,
        24..0x100 => 1,
        0x100..0x1_0000 => 2,
        0x1_0000..0x1_0000_0000 => 3,
        _ => 4,
    };
    match (shortest + longer).min(4) {
        0 => vec![major << 5 | argument as u8],
        step => {
            let length = 1 << (step - 1);
            let mut head = vec![major << 5 | (23 + step) as u8];
            head.extend(&argument.to_be_bytes()[8 - length..]);
            head
        }
    }
}

fn after_space(bytes: &[u8], at: usize) -> usize {
    at + bytes[at.min(bytes.len())..].iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Returns the end of a string, a number or a word.
fn json_value(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes[at] != b'"' {
        let is_inside = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let length = bytes[at..].iter().take_while(is_inside).count();
        return (length > 0).then_some(at + length);
    }
    let mut next = at + 1;
    loop {
        match bytes.get(next)? {
            b'"' => return Some(next + 1),
            b'\\' => next += 2,
            _ => next += 1,
        }
    }
}
