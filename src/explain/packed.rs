//! The texts of kinds, items and formats in half their bytes, for the flash of chips: the two bytes that follow each other
//! most often become one, again and again. The compiler does it, so that each text stands in the sources once, in full.
//!
//! Depends on `place`, `error`.
#![forbid(unsafe_code)]

use super::Out;
use crate::error::ErrorKind;
use crate::place::{Format, Item};

/// What is packed: NUL-terminated texts, one list after the other.
const LISTS: [&str; 3] = [ErrorKind::TEXTS, Item::TEXTS, Format::TEXTS];
const LENGTH: usize = LISTS[0].len().saturating_add(LISTS[1].len()).saturating_add(LISTS[2].len());

/// The first byte that is no character: it stands for the first of the pairs, and so on.
const FIRST_PAIR: u8 = 0x80;
const MOST_PAIRS: usize = 0x80;

/// How many bytes may be left to write of one: more than pairs are in pairs, which the tests see.
const DEEPEST: usize = 16;

/// What the compiler works on.
struct Packed {
    texts: [u8; LENGTH],
    length: usize,
    pairs: [[u8; 2]; MOST_PAIRS],
    count: usize,
}

#[allow(long_running_const_eval)] // for half a second
const PACKED: Packed = Packed::of_lists();
#[allow(clippy::unwrap_used)] // seen by the compiler
static TEXTS: [u8; PACKED.length] = *PACKED.texts.first_chunk().unwrap();
#[allow(clippy::unwrap_used)] // seen by the compiler
static PAIRS: [[u8; 2]; PACKED.count] = *PACKED.pairs.first_chunk().unwrap();

#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::as_conversions)] // seen by the compiler
impl Packed {
    const fn of_lists() -> Self {
        let mut packed = Self { texts: [0; LENGTH], length: 0, pairs: [[0; 2]; MOST_PAIRS], count: 0 };
        let mut list = 0;
        while list < LISTS.len() {
            let mut at = 0;
            while at < LISTS[list].len() {
                assert!(LISTS[list].as_bytes()[at] < FIRST_PAIR);
                packed.texts[packed.length] = LISTS[list].as_bytes()[at];
                packed.length += 1;
                at += 1;
            }
            list += 1;
        }
        // A pair takes two bytes itself.
        while packed.count < MOST_PAIRS {
            let (pair, uses) = packed.most_usual();
            if uses < 4 {
                break;
            }
            packed.replace(pair);
        }
        packed
    }

    /// Returns the pair that occurs most often within texts, and how often.
    const fn most_usual(&self) -> ([u8; 2], u16) {
        let mut uses = [[0_u16; 256]; 256];
        let (mut most, mut pair, mut at) = (0, [0; 2], 1);
        while at < self.length {
            let [first, second] = [self.texts[at - 1], self.texts[at]];
            if first != 0 && second != 0 {
                let uses = &mut uses[first as usize][second as usize];
                *uses += 1;
                if *uses > most {
                    (most, pair) = (*uses, [first, second]);
                }
            }
            at += 1;
        }
        (pair, most)
    }

    /// Makes each such pair one byte.
    const fn replace(&mut self, pair: [u8; 2]) {
        let (mut from, mut to) = (0, 0);
        while from < self.length {
            let is_pair = from + 1 < self.length && self.texts[from] == pair[0] && self.texts[from + 1] == pair[1];
            self.texts[to] = if is_pair { FIRST_PAIR + self.count as u8 } else { self.texts[from] };
            from += if is_pair { 2 } else { 1 };
            to += 1;
        }
        self.length = to;
        self.pairs[self.count] = pair;
        self.count += 1;
    }
}

/// Writes the text of a kind.
pub(super) fn kind(out: &mut impl Out, kind: ErrorKind) {
    write(out, kind.place());
}

/// Writes the text of an item.
pub(super) fn item(out: &mut impl Out, item: Item) {
    write(out, ErrorKind::ALL.len().saturating_add(item.code().into()));
}

/// Writes the text of a format.
pub(super) fn format(out: &mut impl Out, format: Format) {
    write(out, ErrorKind::ALL.len().saturating_add(Item::ALL.len()).saturating_add(format.code().into()));
}

#[inline(never)]
fn write(out: &mut impl Out, which: usize) {
    let packed = TEXTS.split(|byte| *byte == 0).nth(which);
    for byte in packed.unwrap_or_default() {
        // What is left to write, the last first. Of a pair, each may be one again.
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
        for of in Item::ALL {
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
