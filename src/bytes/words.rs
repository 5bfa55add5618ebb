//! Lists of words, packed: on a chip a text of its own takes eight bytes for its place and length.
//!
//! Depends on nothing.
#![forbid(unsafe_code)]

/// A list of words: each stands behind its length, a byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words(&'static [u8]);

/// The [`Words`] of some texts, or of some bytes.
macro_rules! words {
    ($($word:literal),* $(,)?) => { words!(bytes $($word.as_bytes()),*) };
    (bytes $($word:expr),* $(,)?) => {{
        const WORDS: &[&[u8]] = &[$($word),*];
        const PACKED: [u8; $crate::bytes::words::packed_length(WORDS)] = $crate::bytes::words::pack(WORDS);
        $crate::bytes::words::Words::packed(&PACKED)
    }};
}
pub(crate) use words;

impl Words {
    /// No words.
    pub(crate) const NONE: Self = Self(&[]);

    /// What [`pack`] has made.
    pub(crate) const fn packed(packed: &'static [u8]) -> Self {
        Self(packed)
    }

    /// The place of `word` among them, counted from 0.
    #[inline(never)]
    pub(crate) fn place_of(mut self, word: &[u8]) -> Option<usize> {
        let mut place = 0_usize;
        while let Some(known) = self.split_first() {
            if known == word {
                return Some(place);
            }
            place = place.saturating_add(1);
        }
        None
    }

    /// Takes the first word away.
    #[inline]
    fn split_first(&mut self) -> Option<&'static [u8]> {
        let (length, words) = self.0.split_first()?;
        let (word, behind) = words.split_at_checked(usize::from(*length))?;
        self.0 = behind;
        Some(word)
    }

    /// What stands in `values` at the place of `word`.
    pub(crate) fn value_of<T: Copy>(self, word: &[u8], values: &[T]) -> Option<T> {
        values.get(self.place_of(word)?).copied()
    }
}

/// The words, one after the other.
impl Iterator for Words {
    type Item = &'static [u8];

    #[inline(never)]
    fn next(&mut self) -> Option<&'static [u8]> {
        self.split_first()
    }
}

/// How many bytes `words` take.
#[allow(clippy::arithmetic_side_effects)] // in constants alone: what overflows does not compile
pub(crate) const fn packed_length(words: &[&[u8]]) -> usize {
    let mut length = 0;
    let mut rest = words;
    while let [word, behind @ ..] = rest {
        length += 1 + word.len();
        rest = behind;
    }
    length
}

/// Puts each of `words` behind its length.
#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)] // in constants alone
pub(crate) const fn pack<const N: usize>(words: &[&[u8]]) -> [u8; N] {
    let mut packed = [0; N];
    let mut at = 0;
    let mut rest = words;
    while let [word, behind @ ..] = rest {
        assert!(word.len() <= 0xff);
        packed[at] = word.len() as u8;
        at += 1;
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
