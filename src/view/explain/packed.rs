//! The texts of kinds, parts and formats, packed to half their bytes for the flash of chips: the most frequent pair of
//! adjacent bytes becomes one byte, repeatedly. The compiler packs the texts, so the sources contain each text once, in
//! full.
#![forbid(unsafe_code)]

use super::Out;
use crate::error::ErrorKind;
use crate::error::origin::{Format, Part};

/// The texts to pack: lists of NUL-terminated texts, one after the other.
const LISTS: [&str; 3] = [ErrorKind::TEXTS, Part::TEXTS, Format::TEXTS];
const LENGTH: usize = LISTS[0].len().saturating_add(LISTS[1].len()).saturating_add(LISTS[2].len());

/// The first byte that is not a character: it stands for the first pair, the next byte for the second pair, and so on.
const FIRST_PAIR: u8 = 0x80;
const MOST_PAIRS: usize = 0x80;

/// The maximum number of bytes that are pending while a byte is expanded. Pairs are nested less deeply, as the tests
/// check.
const DEEPEST: usize = 16;

/// The minimum number of uses of a pair, which itself takes two bytes.
const LEAST_USES: usize = 4;

/// The state of packing, which the compiler computes in every build. To save time, pairs are searched only at the
/// occurrences of their first byte, and counted only where something changes.
struct Packed {
    /// The texts. The second byte of a replaced pair is no longer used: `next` links the bytes that are.
    texts: [u8; LENGTH],
    length: usize,
    next: [usize; LENGTH],
    before: [usize; LENGTH],
    /// The first and the last position of each byte, and for each position the next position of the same byte.
    first: [usize; 256],
    last: [usize; 256],
    again: [usize; LENGTH],
    /// The number of uses of each pair within texts, and the pairs that have ever been used [`LEAST_USES`] times.
    uses: [[usize; 256]; 256],
    usual: [[u8; 2]; LENGTH],
    usual_count: usize,
    pairs: [[u8; 2]; MOST_PAIRS],
    count: usize,
}

const PACKED: Packed = Packed::of_lists();
#[allow(clippy::unwrap_used)] // evaluated by the compiler
static TEXTS: [u8; PACKED.length] = *PACKED.texts.first_chunk().unwrap();
#[allow(clippy::unwrap_used)] // evaluated by the compiler
static PAIRS: [[u8; 2]; PACKED.count] = *PACKED.pairs.first_chunk().unwrap();

#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::as_conversions)] // evaluated by the compiler
impl Packed {
    const fn of_lists() -> Self {
        let mut packed = Self {
            texts: [0; LENGTH],
            length: 0,
            next: [LENGTH; LENGTH],
            before: [LENGTH; LENGTH],
            first: [LENGTH; 256],
            last: [LENGTH; 256],
            again: [LENGTH; LENGTH],
            uses: [[0; 256]; 256],
            usual: [[0; 2]; LENGTH],
            usual_count: 0,
            pairs: [[0; 2]; MOST_PAIRS],
            count: 0,
        };
        let mut list = 0;
        while list < LISTS.len() {
            let mut at = 0;
            while at < LISTS[list].len() {
                packed.push(LISTS[list].as_bytes()[at]);
                at += 1;
            }
            list += 1;
        }
        while packed.count < MOST_PAIRS {
            let pair = packed.most_usual();
            if packed.uses[pair[0] as usize][pair[1] as usize] < LEAST_USES {
                break;
            }
            packed.replace(pair);
        }
        packed.close_up();
        packed
    }

    const fn push(&mut self, byte: u8) {
        assert!(byte < FIRST_PAIR);
        let at = self.length;
        self.put(at, byte);
        if at > 0 {
            (self.next[at - 1], self.before[at]) = (at, at - 1);
            self.add(self.texts[at - 1], byte);
        }
        self.length += 1;
    }

    /// Stores `byte` at `at`, which becomes the last position of that byte.
    const fn put(&mut self, at: usize, byte: u8) {
        self.texts[at] = byte;
        self.again[at] = LENGTH;
        let last = self.last[byte as usize];
        if last < LENGTH {
            self.again[last] = at;
        } else {
            self.first[byte as usize] = at;
        }
        self.last[byte as usize] = at;
    }

    /// Counts a pair, unless it spans the end of a text.
    const fn add(&mut self, first: u8, second: u8) {
        if first != 0 && second != 0 {
            let uses = &mut self.uses[first as usize][second as usize];
            *uses += 1;
            if *uses == LEAST_USES {
                self.usual[self.usual_count] = [first, second];
                self.usual_count += 1;
            }
        }
    }

    const fn take(&mut self, first: u8, second: u8) {
        if first != 0 && second != 0 {
            self.uses[first as usize][second as usize] -= 1;
        }
    }

    /// Returns the pair that occurs most often.
    const fn most_usual(&self) -> [u8; 2] {
        let (mut most, mut pair, mut at) = (0, [0; 2], 0);
        while at < self.usual_count {
            let [first, second] = self.usual[at];
            let uses = self.uses[first as usize][second as usize];
            if uses > most {
                (most, pair) = (uses, [first, second]);
            }
            at += 1;
        }
        pair
    }

    /// Replaces every occurrence of the pair with one byte.
    const fn replace(&mut self, [first, second]: [u8; 2]) {
        let byte = FIRST_PAIR + self.count as u8;
        let mut at = self.first[first as usize];
        (self.first[first as usize], self.last[first as usize]) = (LENGTH, LENGTH);
        while at < LENGTH {
            let (next, again) = (self.next[at], self.again[at]);
            if self.texts[at] == first && next < LENGTH && self.texts[next] == second {
                self.take(first, second);
                let (before, after) = (self.before[at], self.next[next]);
                if before < LENGTH {
                    self.take(self.texts[before], first);
                    self.add(self.texts[before], byte);
                }
                if after < LENGTH {
                    self.take(second, self.texts[after]);
                    self.add(byte, self.texts[after]);
                    self.before[after] = at;
                }
                (self.texts[next], self.next[at]) = (0, after);
                self.put(at, byte);
            } else if self.texts[at] == first {
                self.put(at, first);
            }
            at = again;
        }
        self.pairs[self.count] = [first, second];
        self.count += 1;
    }

    /// Moves the bytes that are still used to the front.
    const fn close_up(&mut self) {
        let (mut from, mut to) = (0, 0);
        while from < LENGTH {
            self.texts[to] = self.texts[from];
            from = self.next[from];
            to += 1;
        }
        self.length = to;
    }
}

/// Writes the text of a kind.
pub(super) fn kind(out: &mut impl Out, kind: ErrorKind) {
    write(out, kind.place());
}

/// Writes the text of a part.
pub(super) fn item(out: &mut impl Out, item: Part) {
    write(out, ErrorKind::ALL.len().saturating_add(item.code().into()));
}

/// Writes the text of a format.
pub(super) fn format(out: &mut impl Out, format: Format) {
    write(out, ErrorKind::ALL.len().saturating_add(Part::ALL.len()).saturating_add(format.code().into()));
}

#[inline(never)]
fn write(out: &mut impl Out, which: usize) {
    let packed = TEXTS.split(|byte| *byte == 0).nth(which);
    for byte in packed.unwrap_or_default() {
        // The bytes that are pending, the last to be written first. Both bytes of a pair may be pairs themselves.
        let mut left = [*byte; DEEPEST];
        let mut count = 1_usize;
        while let Some(place) = count.checked_sub(1).and_then(|last| left.get_mut(last..)) {
            let pair = place.first().and_then(|byte| PAIRS.get(usize::from(byte.checked_sub(FIRST_PAIR)?)));
            match (pair, place) {
                (Some([first, second]), [place, next, ..]) => {
                    (*place, *next) = (*second, *first);
                    count = count.saturating_add(1);
                }
                (_, place) => {
                    place.first().into_iter().for_each(|byte| out.ascii(*byte));
                    count = count.saturating_sub(1);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::string::String;

    use super::*;

    impl Out for String {
        fn text(&mut self, text: &str) {
            self.push_str(text);
        }
        fn ascii(&mut self, byte: u8) {
            self.push(byte.into());
        }
    }

    fn written(write: impl FnOnce(&mut String)) -> String {
        let mut text = String::new();
        write(&mut text);
        text
    }

    #[test]
    fn every_text_is_what_it_was() {
        for of in ErrorKind::ALL {
            assert_eq!(written(|out| kind(out, *of)), of.text());
        }
        for of in Part::ALL {
            assert_eq!(written(|out| item(out, *of)), of.text());
        }
        for of in Format::ALL {
            assert_eq!(written(|out| format(out, *of)), of.text());
        }
    }

    #[test]
    fn half_the_bytes_are_left() {
        assert!((TEXTS.len() + 2 * PAIRS.len()) * 2 < LENGTH + 200, "{} of {LENGTH}", TEXTS.len() + 2 * PAIRS.len());
    }
}
