//! Tables of finite state entropy (RFC 8878, 4.1): reading their descriptions, and building them.
#![forbid(unsafe_code)]

use super::bits::{Backward, Forward};
use crate::bytes::num::to_usize;

/// The number of symbols of the largest alphabet: the codes of match lengths.
const MOST_SYMBOLS: usize = 53;

/// An alphabet. Its symbols are numbered from 0.
#[derive(Clone, Copy)]
pub(super) enum Alphabet {
    LiteralLengths,
    Offsets,
    MatchLengths,
    /// The weights of a Huffman table.
    Weights,
}

impl Alphabet {
    const fn symbols(self) -> usize {
        match self {
            Self::LiteralLengths => 36,
            Self::Offsets => 32,
            Self::MatchLengths => MOST_SYMBOLS,
            Self::Weights => 12,
        }
    }

    /// Returns the logarithm of the size of the predefined table, and its distribution (section 3.1.1.3.2.2).
    const fn predefined(self) -> (u32, &'static [i16]) {
        match self {
            Self::LiteralLengths => (
                6,
                &[
                    4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
                    -1, -1, -1, -1,
                ],
            ),
            Self::MatchLengths => (
                6,
                &[
                    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
                ],
            ),
            Self::Offsets => {
                (5, &[1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1])
            }
            Self::Weights => (0, &[]),
        }
    }

    /// Returns the lowest value of each code, and the number of bits that are added to it (section 3.1.1.3.2.1.1). Lengths
    /// of matches include the least length, 3.
    fn values(self) -> impl Iterator<Item = (u32, u32)> {
        let first = match self {
            Self::LiteralLengths | Self::Weights => 0,
            Self::Offsets => 1,
            Self::MatchLengths => 3,
        };
        let value = move |base: &mut u32, code| {
            let (lowest, added) = (*base, self.added(code));
            // Each code begins behind the last value of the code before.
            *base = lowest.wrapping_add(1_u32.wrapping_shl(added));
            Some((lowest, added))
        };
        (0_u8..).scan(first, value)
    }

    /// Returns the number of bits that are added to the lowest value of a code.
    fn added(self, code: u8) -> u32 {
        let (plain, added): (u8, &[u8]) = match self {
            Self::Weights => return 0,
            Self::Offsets => return code.into(),
            Self::LiteralLengths => (16, &[1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]),
            Self::MatchLengths => (32, &[1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]),
        };
        let added = code.checked_sub(plain).and_then(|code| added.get(usize::from(code)));
        added.copied().unwrap_or_default().into()
    }
}

/// An entry of a table: a state.
#[derive(Clone, Copy, Default)]
pub(super) struct Entry(u64);

impl Entry {
    /// 0 to 9 bits are read for the next state, and added to the lowest one, `next`.
    fn new(bits: u32, next: u32, (value, added): (u32, u32)) -> Self {
        Self(u64::from(bits) | u64::from(added) << 8 | u64::from(next & 0xffff) << 16 | u64::from(value) << 32)
    }

    /// The number of bits that are read for the next state.
    #[inline(always)]
    pub(super) fn bits(self) -> u32 {
        low(self.0 & 0xff)
    }

    /// The number of bits that are added to the value.
    #[inline(always)]
    pub(super) fn added(self) -> u32 {
        low(self.0 >> 8 & 0xff)
    }

    /// The lowest of the states that may be next.
    #[inline(always)]
    fn next(self) -> u64 {
        self.0 >> 16 & 0xffff
    }

    #[inline(always)]
    pub(super) fn value(self) -> u32 {
        low(self.0 >> 32)
    }
}

/// Returns the lower half.
#[inline(always)]
#[allow(clippy::as_conversions, clippy::cast_possible_truncation)] // the upper half is dropped on purpose
const fn low(word: u64) -> u32 {
    word as u32
}

/// A table of up to `N` states, a power of two: the most that section 3.1.1.3.2.1.1 or 4.2.1.1 permits.
pub(super) struct Table<const N: usize> {
    entries: [Entry; N],
    /// The number of states; 0 before the first table. All fields are zero then, so that nothing is copied to where the
    /// table is on the stack.
    states: u32,
    /// True if the table is the predefined one, which is then not built again.
    is_predefined: bool,
}

impl<const N: usize> Table<N> {
    pub(super) const fn new() -> Self {
        Self { entries: [Entry(0); N], states: 0, is_predefined: false }
    }

    pub(super) fn forget(&mut self) {
        (self.states, self.is_predefined) = (0, false);
    }

    /// Builds the table from its description at the start of `bytes`, and returns what follows.
    pub(super) fn read<'a>(&mut self, alphabet: Alphabet, bytes: &'a [u8]) -> Option<&'a [u8]> {
        self.forget();
        let (log, rest) = read(alphabet, bytes, &mut self.entries)?;
        self.states = 1_u32.wrapping_shl(log);
        Some(rest)
    }

    /// Builds the predefined table.
    pub(super) fn predefine(&mut self, alphabet: Alphabet) -> Option<()> {
        if !self.is_predefined {
            let (log, counts) = alphabet.predefined();
            build(alphabet, log, counts, &mut self.entries)?;
            (self.states, self.is_predefined) = (1_u32.wrapping_shl(log), true);
        }
        Some(())
    }

    /// Makes all states those of one symbol, which takes no bits.
    pub(super) fn repeat(&mut self, alphabet: Alphabet, symbol: u8) -> Option<()> {
        self.forget();
        if usize::from(symbol) >= alphabet.symbols() {
            return None;
        }
        *self.entries.first_mut()? = Entry::new(0, 0, alphabet.values().nth(symbol.into())?);
        self.states = 1;
        Some(())
    }

    /// Reads the first state.
    pub(super) fn start(&self, bits: &mut Backward<'_>) -> Option<Entry> {
        Some(self.entry(bits.read(self.states.checked_ilog2()?)))
    }

    /// Reads the state after `entry`.
    #[inline(always)]
    pub(super) fn after(&self, entry: Entry, bits: &mut Backward<'_>) -> Entry {
        self.entry(entry.next().wrapping_add(bits.read(entry.bits())))
    }

    #[inline(always)]
    #[allow(clippy::as_conversions, clippy::cast_possible_truncation)] // states have 9 bits
    fn entry(&self, state: u64) -> Entry {
        // The mask tells the compiler that no bound need be checked.
        self.entries.get(state as usize & N.wrapping_sub(1)).copied().unwrap_or_default()
    }
}

/// Reads the description of a table (section 4.1.1) and builds the table. Returns the logarithm of its size, and the
/// bytes that follow.
#[inline(never)] // one copy for all sizes of tables
fn read<'a>(alphabet: Alphabet, bytes: &'a [u8], entries: &mut [Entry]) -> Option<(u32, &'a [u8])> {
    let mut bits = Forward::new(bytes);
    let log = (bits.peek() & 15).wrapping_add(5);
    bits.skip(4);
    let mut counts = [0_i16; MOST_SYMBOLS];
    let counts = counts.get_mut(..alphabet.symbols())?;
    let mut unread = counts.iter_mut();
    // The sum of the probabilities that remain.
    let mut left = 1_u32.wrapping_shl(log);
    while left > 0 {
        let count = unread.next()?;
        // A probability takes values from 0 to `left + 1`. The lowest of them take a bit less.
        let most = left.wrapping_add(1);
        let width = u32::BITS.wrapping_sub(most.leading_zeros());
        let half = 1_u32.wrapping_shl(width.wrapping_sub(1));
        let short = half.wrapping_mul(2).wrapping_sub(1).wrapping_sub(most);
        let word = bits.peek();
        let mut value = word & half.wrapping_sub(1);
        if value < short {
            bits.skip(to_usize(u64::from(width))?.checked_sub(1)?);
        } else {
            value = word & half.wrapping_mul(2).wrapping_sub(1);
            if value >= half {
                value = value.wrapping_sub(short);
            }
            bits.skip(to_usize(u64::from(width))?);
        }
        *count = i16::try_from(value).ok()?.wrapping_sub(1);
        left = left.checked_sub(u32::from(count.unsigned_abs()))?;
        if *count == 0 {
            // A number of further zeros follows, in groups of two bits.
            loop {
                let zeros = bits.peek() & 3;
                bits.skip(2);
                for _ in 0..zeros {
                    unread.next()?;
                }
                if zeros < 3 {
                    break;
                }
            }
        }
    }
    build(alphabet, log, counts, entries)?;
    Some((log, bits.rest()?))
}

/// Builds the table of a distribution whose sum is `2^log` (section 4.1.1). -1 is a probability less than 1.
#[inline(never)]
fn build(alphabet: Alphabet, log: u32, counts: &[i16], entries: &mut [Entry]) -> Option<()> {
    let size = 1_usize.checked_shl(log)?;
    let entries = entries.get_mut(..size)?;
    let mask = size.wrapping_sub(1);
    let mut symbols = [Symbol::default(); MOST_SYMBOLS];
    let mut end = size;
    for (((index, count), value), symbol) in (0_u8..).zip(counts).zip(alphabet.values()).zip(&mut symbols) {
        *symbol = Symbol { next: count.unsigned_abs().into(), value };
        if *count < 0 {
            end = end.checked_sub(1)?;
            *entries.get_mut(end)? = Entry(index.into());
        }
    }
    let step = (size >> 1).wrapping_add(size >> 3).wrapping_add(3);
    let mut at = 0_usize;
    for (index, count) in (0_u8..).zip(counts) {
        for _ in 0..*count {
            *entries.get_mut(at)? = Entry(index.into());
            at = at.wrapping_add(step) & mask;
            while at >= end && end > 0 {
                at = at.wrapping_add(step) & mask;
            }
        }
    }
    for entry in entries {
        let symbol = symbols.get_mut(usize::try_from(entry.0).ok()?)?;
        let bits = log.checked_sub(symbol.next.checked_ilog2()?)?;
        let lowest = symbol.next.wrapping_shl(bits).wrapping_sub(1_u32.wrapping_shl(log));
        *entry = Entry::new(bits, lowest, symbol.value);
        symbol.next = symbol.next.wrapping_add(1);
    }
    Some(())
}

/// A symbol whose states are numbered.
#[derive(Clone, Copy, Default)]
struct Symbol {
    /// The number of its next state.
    next: u32,
    value: (u32, u32),
}
