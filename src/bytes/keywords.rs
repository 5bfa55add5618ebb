//! Lists of words, packed: on a chip a text of its own takes eight bytes for its place and length.
//!
//! Depends on nothing.
#![forbid(unsafe_code)]

/// A list of words, with a number for each: a word stands behind its length and its number, a byte each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keywords(&'static [u8]);

/// The [`Keywords`] of some texts or bytes, and their numbers.
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
    /// No words.
    pub(crate) const NONE: Self = Self(&[]);

    /// What [`pack`] has made.
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

    /// The number of `word`; [`UNKNOWN`] where it is none of them.
    pub(crate) fn number_of(self, word: &[u8]) -> u8 {
        self.find(word).number()
    }

    /// Takes the first word away.
    #[inline]
    fn split_first(&mut self) -> Option<(&'static [u8], u8)> {
        let ([length, number], words) = self.0.split_first_chunk()?;
        let (word, behind) = words.split_at_checked(usize::from(*length))?;
        self.0 = behind;
        Some((word, *number))
    }
}

/// The number of what is no word of a list: no word has it.
pub(crate) const UNKNOWN: u8 = 0xff;

/// A word that was looked up: one number of 32 bits, which a call of a chip gives back in a register.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found(u32);

impl Found {
    /// None of the words.
    pub(crate) const NOTHING: Self = Self(u32::MAX);

    /// Its place among them, counted from 0.
    pub(crate) const fn place(self) -> u32 {
        self.0.wrapping_shr(8)
    }

    /// Its number; [`UNKNOWN`] for none of them.
    pub(crate) const fn number(self) -> u8 {
        let [number, ..] = self.0.to_le_bytes();
        number
    }
}

/// The words, one after the other, with their numbers.
impl Iterator for Keywords {
    type Item = (&'static [u8], u8);

    #[inline(never)]
    fn next(&mut self) -> Option<(&'static [u8], u8)> {
        self.split_first()
    }
}

/// How many bytes `words` take.
#[allow(clippy::arithmetic_side_effects)] // in constants alone: what overflows does not compile
pub(crate) const fn packed_length(words: &[(&[u8], u8)]) -> usize {
    let mut length = 0;
    let mut rest = words;
    while let [(word, _), behind @ ..] = rest {
        length += 2 + word.len();
        rest = behind;
    }
    length
}

/// Puts each of `words` behind its length and its number.
#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)] // in constants alone
pub(crate) const fn pack<const N: usize>(words: &[(&[u8], u8)]) -> [u8; N] {
    let mut packed = [0; N];
    let mut at = 0;
    let mut rest = words;
    while let [(word, number), behind @ ..] = rest {
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
        rest = behind;
    }
    packed
}
