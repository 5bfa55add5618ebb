//! Packed keyword lists: on a 32-bit chip, a separate string costs eight bytes for its pointer and length.
#![forbid(unsafe_code)]

#[cfg(feature = "safetensors")]
use super::text::Text;

/// A list of keywords, each with a number. Each keyword is preceded by its length and its number, one byte each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Keywords(&'static [u8]);

/// Builds the [`Keywords`] of strings or byte strings and their numbers.
macro_rules! keywords {
    ($($word:literal: $number:expr),* $(,)?) => { keywords!(bytes $($word.as_bytes() => $number),*) };
    (bytes $($word:expr => $number:expr),* $(,)?) => {{
        const WORDS: &[(&[u8], u8)] = &[$(($word, $number)),*];
        const PACKED: [u8; $crate::bytes::keywords::packed_length(WORDS)] = $crate::bytes::keywords::pack(WORDS);
        $crate::bytes::keywords::Keywords::packed(&PACKED)
    }};
}
pub(crate) use keywords;

impl Keywords {
    /// No keywords.
    pub(crate) const NONE: Self = Self(&[]);

    /// Wraps the output of [`pack`].
    pub(crate) const fn packed(packed: &'static [u8]) -> Self {
        Self(packed)
    }

    /// Looks up `word`.
    #[inline(never)]
    pub(crate) fn find(mut self, word: &[u8]) -> Found {
        let mut place = 0_u32;
        while let Some((known, number)) = self.split_first() {
            if known == word {
                return Found(place | u32::from(number));
            }
            place = place.wrapping_add(0x100);
        }
        Found::NOTHING
    }

    /// Looks up `word`, and removes it and the words before it from the list. Returns `None` if `word` is not in the
    /// list, which is then unchanged.
    #[cfg(feature = "ztensor2")]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn take_until(&mut self, word: &[u8]) -> Option<u8> {
        let mut left = *self;
        while let Some((known, number)) = left.split_first() {
            // The words are short: a call to compare them would take longer.
            if known.len() == word.len() && known.iter().zip(word).all(|(known, byte)| known == byte) {
                *self = left;
                return Some(number);
            }
        }
        None
    }

    /// Returns the number of `word`; [`UNKNOWN`] if `word` is not in the list.
    pub(crate) fn number_of(self, word: &[u8]) -> u8 {
        self.find(word).number()
    }

    /// Returns the number of the decoded `text`; [`UNKNOWN`] if it is not in the list.
    #[cfg(feature = "safetensors")]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn number_of_text(mut self, text: Text<'_>) -> u8 {
        if !text.is_escaped() {
            return self.number_of(text.raw());
        }
        self.find_map(|(word, number)| text.eq_bytes(word).then_some(number)).unwrap_or(UNKNOWN)
    }

    /// Returns the first keyword with a number.
    #[cfg(feature = "write")]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn word_of(mut self, number: u8) -> Option<&'static [u8]> {
        while let Some((word, other)) = self.split_first() {
            if other == number {
                return Some(word);
            }
        }
        None
    }

    /// Removes the first keyword from the list and returns it.
    #[inline]
    fn split_first(&mut self) -> Option<(&'static [u8], u8)> {
        let ([length, number], words) = self.0.split_first_chunk()?;
        let (word, after) = words.split_at_checked(usize::from(*length))?;
        self.0 = after;
        Some((word, *number))
    }
}

/// The number returned for a word that is not in the list; no keyword has this number.
pub(crate) const UNKNOWN: u8 = 0xff;

/// The result of a lookup, packed into a single 32-bit number so that it is returned in one register.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found(u32);

impl Found {
    /// The word is not in the list.
    pub(crate) const NOTHING: Self = Self(u32::MAX);

    /// Returns the keyword's position in the list, counted from 0.
    pub(crate) const fn place(self) -> u32 {
        self.0 >> 8
    }

    /// Returns the keyword's number; [`UNKNOWN`] if the word is not in the list.
    pub(crate) const fn number(self) -> u8 {
        let [number, ..] = self.0.to_le_bytes();
        number
    }
}

/// Iterates over the keywords with their numbers.
impl Iterator for Keywords {
    type Item = (&'static [u8], u8);

    #[cfg_attr(small, inline(never))]
    fn next(&mut self) -> Option<(&'static [u8], u8)> {
        self.split_first()
    }
}

/// Returns the packed size of `words`, in bytes.
#[allow(clippy::arithmetic_side_effects)] // constants only: an overflow does not compile
pub(crate) const fn packed_length(words: &[(&[u8], u8)]) -> usize {
    let mut length = 0;
    let mut rest = words;
    while let [(word, _), after @ ..] = rest {
        length += 2 + word.len();
        rest = after;
    }
    length
}

/// Packs `words`, each preceded by its length and its number.
#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)] // constants only
pub(crate) const fn pack<const N: usize>(words: &[(&[u8], u8)]) -> [u8; N] {
    let mut packed = [0; N];
    let mut at = 0;
    let mut rest = words;
    while let [(word, number), after @ ..] = rest {
        assert!(word.len() <= 0xff && *number != UNKNOWN);
        packed[at] = word.len() as u8;
        packed[at + 1] = *number;
        at += 2;
        let mut letters = *word;
        while let [letter, others @ ..] = letters {
            packed[at] = *letter;
            at += 1;
            letters = others;
        }
        rest = after;
    }
    packed
}
