//! Lists of words, packed: on a chip a text of its own takes eight bytes for its place and length.
//!
//! Depends on nothing.
#![forbid(unsafe_code)]

/// A list of words: each stands behind its length, a byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words(&'static [u8]);

/// The [`Words`] of some texts.
macro_rules! words {
    ($($word:expr),* $(,)?) => {{
        const WORDS: &[&str] = &[$($word),*];
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

    /// The words, one after the other.
    pub(crate) fn iter(self) -> impl Iterator<Item = &'static [u8]> {
        let mut rest = self.0;
        core::iter::from_fn(move || {
            let (length, words) = rest.split_first()?;
            let (word, behind) = words.split_at_checked(usize::from(*length))?;
            rest = behind;
            Some(word)
        })
    }

    /// The place of `word` among them, counted from 0.
    #[inline(never)]
    pub(crate) fn place_of(self, word: &[u8]) -> Option<usize> {
        self.iter().position(|known| known == word)
    }

    /// What stands in `values` at the place of `word`.
    pub(crate) fn value_of<T: Copy>(self, word: &str, values: &[T]) -> Option<T> {
        values.get(self.place_of(word.as_bytes())?).copied()
    }
}

/// How many bytes `words` take.
#[allow(clippy::arithmetic_side_effects)] // in constants alone: what overflows does not compile
pub(crate) const fn packed_length(words: &[&str]) -> usize {
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
pub(crate) const fn pack<const N: usize>(words: &[&str]) -> [u8; N] {
    let mut packed = [0; N];
    let mut at = 0;
    let mut rest = words;
    while let [word, behind @ ..] = rest {
        assert!(word.len() <= 0xff);
        packed[at] = word.len() as u8;
        at += 1;
        let mut letters = word.as_bytes();
        while let [letter, others @ ..] = letters {
            packed[at] = *letter;
            at += 1;
            letters = others;
        }
        rest = behind;
    }
    packed
}
