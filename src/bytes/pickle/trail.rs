//! The name of a value in a few bytes, so that it is read again without the pickle before it.
#![forbid(unsafe_code)]

use super::decimal::{Digits, decimal};
use super::frames::{Frames, Level};
use super::machine::Machine;
use super::op;
use super::outline::Outline;
use super::path::{Path, Piece, run_to, text_at};
use super::reach::Reach;
use crate::bytes::num::to_usize;
use crate::bytes::text::Text;

/// The bytes of a trail.
const LENGTH: usize = 15;
/// The bytes of its numbers. The last byte has the flags.
const NUMBERS: usize = 14;

/// The keys and places on the way to a value, the outermost first, each as a [number](write). The lowest bit of a place
/// is 1. A key is the distance of its opcode from that of the key before it, or, of the first key, from the start of
/// the bytes that the trail belongs to.
///
/// If a way does not fit, the trail belongs to the whole pickle, and its last two numbers lead to the rest: the distance
/// to the start of a key, and from there to the end of the value. The pickle between the two has the other keys and
/// places, the key itself among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trail(pub(crate) [u8; LENGTH]);

/// The name is that of a constant.
const IN_CONSTANTS: u8 = 1;
/// The last two numbers lead to the rest.
const HAS_REST: u8 = 2;
/// The key of the rest is in a mapping that takes one item without a mark.
const IS_ONE: u8 = 4;
/// The reach of the pickle, in so many.
const REACH_AT: u32 = 3;

/// Writes a number at `used`, which moves behind it: the number plus 1, seven bits a byte, the lowest bits first. So a 0
/// is the end. `None` if it does not fit.
pub(super) fn write(bytes: &mut [u8], used: &mut usize, number: u64) -> Option<()> {
    let mut rest = number.checked_add(1)?;
    loop {
        let low = u8::try_from(rest & 0x7f).unwrap_or(0);
        rest >>= 7;
        *bytes.get_mut(*used)? = if rest > 0 { low | 0x80 } else { low };
        *used = used.checked_add(1)?;
        if rest == 0 {
            return Some(());
        }
    }
}

/// Reads a number at `at`, which moves behind it; `None` at the end.
pub(super) fn read(bytes: &[u8], at: &mut u8) -> Option<u64> {
    let (mut number, mut shift) = (0_u64, 0_u32);
    loop {
        let byte = *bytes.get(usize::from(*at))?;
        *at = at.saturating_add(1);
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return number.checked_sub(1);
        }
        shift = shift.saturating_add(7);
    }
}

/// Returns a distance as a number: twice as much, and 1 more if it goes back.
pub(super) fn distance(from: u32, to: u32) -> u64 {
    let length = u64::from(from.abs_diff(to)) << 1;
    if to < from { length | 1 } else { length }
}

/// Returns the position at a [`distance`].
pub(super) fn moved(from: u32, distance: u64) -> Option<u32> {
    let length = u32::try_from(distance >> 1).ok()?;
    if distance & 1 == 0 { from.checked_add(length) } else { from.checked_sub(length) }
}

impl Trail {
    pub(crate) const NONE: Self = Self([0; LENGTH]);

    pub(crate) const fn is_none(&self) -> bool {
        matches!(self.0, [0, ..])
    }

    const fn has(&self, flag: u8) -> bool {
        let [.., flags] = self.0;
        flags & flag != 0
    }

    /// True if a part of the pickle is read for the name.
    pub(crate) const fn has_rest(&self) -> bool {
        self.has(HAS_REST)
    }

    /// A trail of these numbers.
    fn with(numbers: [u8; NUMBERS], flags: u8) -> Self {
        let mut trail = [0; LENGTH];
        trail.iter_mut().zip(numbers).for_each(|(to, from)| *to = from);
        if let Some(last) = trail.last_mut() {
            *last = flags;
        }
        Self(trail)
    }

    /// Returns the trail of pieces, and the part of the pickle that it belongs to, with the opcodes of all keys. `None`
    /// if they have more bytes than a trail, or if there is none.
    fn of_keys<'a, 'p>(
        pickle: &'a [u8],
        pieces: impl Iterator<Item = &'p Piece> + Clone,
        flags: u8,
    ) -> Option<(Self, &'a [u8])> {
        let keys = || {
            pieces.clone().filter_map(|piece| match *piece {
                Piece::Text { op, .. } | Piece::Integer(op) => Some(op),
                Piece::Place(_) | Piece::Unnamed => None,
            })
        };
        // A name of places alone needs none of the bytes, but a text that is not empty has some.
        let start = keys().min().unwrap_or(0);
        let last = keys().max().unwrap_or(0);
        let end = if keys().next().is_some() { op::read(pickle, last).ok()?.next } else { 1 };
        let bytes = pickle.get(to_usize(start.into())?..to_usize(end.into())?)?;
        let (mut numbers, mut used) = ([0; NUMBERS], 0);
        write_pieces(&mut numbers, &mut used, start, pieces)?;
        Some((Self::with(numbers, flags), bytes)).filter(|(trail, _)| !trail.is_none())
    }

    /// Returns the trail of a path whose rest begins at a key in this container. `None` if it does not fit.
    fn with_rest(level: &Level, path: &Path, position: u32, flags: u8) -> Option<Self> {
        let inner = usize::from(level.pieces?);
        let outer = path.reversed().get(inner.checked_add(1)?..)?;
        let (mut numbers, mut used) = ([0; NUMBERS], 0);
        let last = write_pieces(&mut numbers, &mut used, 0, outer.iter().rev())?;
        write(&mut numbers, &mut used, distance(last, level.at))?;
        write(&mut numbers, &mut used, position.checked_sub(level.at)?.into())?;
        let is_one = if level.kind & 7 == Level::MAP_ONE { IS_ONE } else { 0 };
        Some(Self::with(numbers, flags | HAS_REST | is_one))
    }

    /// Returns the trail of the value that ends at `position`, and the bytes that the trail belongs to.
    fn of<'a>(pickle: &'a [u8], path: &Path, position: u32, reach: Reach, in_constants: bool) -> (Self, &'a [u8]) {
        let flags = if in_constants { IN_CONSTANTS } else { 0 };
        if let Some(found) = Self::of_keys(pickle, path.reversed().iter().rev(), flags) {
            return found;
        }
        let flags = flags | reach.eighths().wrapping_shl(REACH_AT);
        let mut levels = path.levels().iter();
        let trail = levels.find_map(|level| Self::with_rest(level, path, position, flags)).unwrap_or_else(|| {
            let (mut numbers, mut used) = ([0; NUMBERS], 0);
            let _ = write(&mut numbers, &mut used, 0);
            let _ = write(&mut numbers, &mut used, position.into());
            Self::with(numbers, flags | HAS_REST)
        });
        (trail, pickle)
    }

    /// Reads the rest of a name, behind a key and before a place that the last two numbers lead to, from the key `last`
    /// on. Also returns the bytes that were read. `None` if the bytes have changed.
    fn rest(&self, pickle: &[u8], last: u32, mut at: u8) -> Option<(Path, u64)> {
        let start = moved(last, self.number(&mut at)?)?;
        let length = u32::try_from(self.number(&mut at)?).ok()?;
        let [.., flags] = self.0;
        let outline = &Outline::of(Reach::of_eighths(flags.wrapping_shr(REACH_AT)));
        let kind = if self.has(IS_ONE) { Level::MAP_ONE } else { Level::MAP };
        let mut machine = match start {
            0 => Machine::new(pickle, outline),
            key => Frames::at_key(kind, key)?.machine(pickle, outline, key),
        };
        run_to(&mut machine, start.checked_add(length)?).ok()?;
        let mut path = Path::EMPTY;
        if !machine.path(&mut path).ok()? {
            return None;
        }
        Some((path, machine.work().saturating_add(length.into())))
    }

    /// Reads a number at `at`, which moves behind it; `None` at the end.
    fn number(&self, at: &mut u8) -> Option<u64> {
        read(self.0.get(..NUMBERS)?, at)
    }

    /// True if the numbers from `at` on are those that lead to the rest.
    fn is_rest(&self, mut at: u8) -> bool {
        let mut left = 0_u8;
        while self.has_rest() && left < 3 && self.number(&mut at).is_some() {
            left = left.saturating_add(1);
        }
        left == 2
    }
}

/// Writes pieces, the outermost first. Returns the position of the last key.
fn write_pieces<'p>(
    bytes: &mut [u8],
    used: &mut usize,
    start: u32,
    pieces: impl Iterator<Item = &'p Piece>,
) -> Option<u32> {
    let mut last = start;
    for piece in pieces {
        let number = match *piece {
            Piece::Unnamed => continue,
            Piece::Place(place) => u64::from(place) << 1 | 1,
            Piece::Text { op, .. } | Piece::Integer(op) => distance(core::mem::replace(&mut last, op), op) << 1,
        };
        write(bytes, used, number)?;
    }
    Some(last)
}

/// Returns the name of these pieces, the outermost first, if it fits in a trail.
pub(super) fn name_of<'a, 'p>(
    pickle: &'a [u8],
    mut pieces: impl Iterator<Item = &'p Piece> + Clone,
    in_constants: bool,
) -> Option<Text<'a>> {
    let all = pieces.clone();
    if let (Some(Piece::Text { at, end, .. }), None, false) = (pieces.next(), pieces.next(), in_constants) {
        return Some(Text::new(text_at(pickle, *at, *end), false));
    }
    let flags = if in_constants { IN_CONSTANTS } else { 0 };
    Trail::of_keys(pickle, all, flags).map(|(trail, bytes)| Text::joined(bytes, trail))
}

impl Path {
    /// Returns the name of the value that ends at a position.
    pub(crate) fn text<'a>(&self, pickle: &'a [u8], position: u32, reach: Reach, in_constants: bool) -> Text<'a> {
        match self.reversed() {
            [] if !in_constants => return Text::default(),
            [Piece::Text { at, end, .. }] if !in_constants => return Text::new(text_at(pickle, *at, *end), false),
            _ => {}
        }
        let (trail, bytes) = Trail::of(pickle, self, position, reach, in_constants);
        Text::joined(bytes, trail)
    }

    /// Returns the bytes that are read for a name which [`text`](Self::text) has returned. `None` if they have another
    /// name.
    pub(crate) fn text_cost(&self, pickle: &[u8], name: &Text<'_>) -> Option<u64> {
        let mut pieces = Pieces::new(pickle, name.trail());
        if !name.trail().has_rest() {
            return Some(0);
        }
        let mut outer = 0_usize;
        while !pieces.trail.is_rest(pieces.at) {
            pieces.piece()?;
            outer = outer.checked_add(1)?;
        }
        let (path, cost) = pieces.trail.rest(pickle, pieces.key, pieces.at)?;
        let inner = self.reversed().len().checked_sub(outer)?;
        let are_same = self.reversed().get(..inner)?.iter().eq(path.reversed().iter());
        let times = path.reversed().len().checked_shr(REST_BITS)?.checked_add(1)?;
        are_same.then_some(cost.saturating_mul(u64::try_from(times).ok()?))
    }
}

/// The pieces of the rest that are read at once.
const REST: usize = 1 << REST_BITS;
const REST_BITS: u32 = 3;

/// The bytes of a name, piece by piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pieces<'a> {
    bytes: &'a [u8],
    trail: Trail,
    /// The next number of the trail.
    at: u8,
    /// The position of the last key in the bytes.
    key: u32,
    /// Pieces of the rest, and the number of those that were returned.
    rest: [Option<Piece>; REST],
    of_rest: u8,
    /// The piece that follows, if it is a text.
    text: &'a [u8],
    /// The piece that follows, if it is a number, and its next digit.
    number: Option<i128>,
    digit: u8,
    step: Step,
}

/// The next part of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Prefix,
    First,
    Dot,
    Piece,
}

impl<'a> Pieces<'a> {
    /// The beginning of a name in a pickle of constants.
    const PREFIX: &'static [u8] = b"CONSTANTS.c";

    pub(crate) const fn new(bytes: &'a [u8], trail: Trail) -> Self {
        Self {
            bytes,
            trail,
            at: 0,
            key: 0,
            rest: [None; REST],
            of_rest: 0,
            text: &[],
            number: None,
            digit: 0,
            step: Step::Prefix,
        }
    }

    /// Returns more bytes of the name; `None` behind the last one.
    pub(crate) fn more(&mut self) -> Option<&'a [u8]> {
        if let Some(number) = self.number {
            return self.one_digit(number);
        }
        match self.step {
            Step::Prefix => {
                self.step = Step::First;
                Some(if self.trail.has(IN_CONSTANTS) { Self::PREFIX } else { &[] })
            }
            Step::First => {
                self.text = self.piece()?;
                self.step = Step::Piece;
                Some(&[])
            }
            Step::Dot => {
                self.text = self.piece()?;
                self.step = Step::Piece;
                Some(b".")
            }
            Step::Piece => {
                self.step = Step::Dot;
                Some(self.text)
            }
        }
    }

    /// Reads the next piece. A number is returned digit by digit, and nothing of it now.
    fn piece(&mut self) -> Option<&'a [u8]> {
        if self.of_rest > 0 || self.trail.is_rest(self.at) {
            let of_block = usize::from(self.of_rest) & (REST - 1);
            if of_block == 0 {
                let (path, _) = self.trail.rest(self.bytes, self.key, self.at)?;
                let pieces = usize::from(self.of_rest)..;
                self.rest.iter_mut().zip(pieces).for_each(|(to, number)| *to = path.piece(number));
            }
            let piece = (*self.rest.get(of_block)?)?;
            self.of_rest = self.of_rest.checked_add(1)?;
            return match piece {
                Piece::Text { op, .. } | Piece::Integer(op) => self.key_at(op),
                Piece::Place(place) => self.begin(place.into()),
                Piece::Unnamed => Some(&[]),
            };
        }
        let number = self.trail.number(&mut self.at)?;
        if number & 1 != 0 {
            return self.begin((number >> 1).into());
        }
        self.key = moved(self.key, number >> 1)?;
        self.key_at(self.key)
    }

    fn key_at(&mut self, at: u32) -> Option<&'a [u8]> {
        let key = op::read(self.bytes, at).ok()?;
        match op::integer(&key) {
            Some(number) => self.begin(number),
            None => Some(key.argument),
        }
    }

    fn begin(&mut self, number: i128) -> Option<&'a [u8]> {
        (self.number, self.digit) = (Some(number), 0);
        Some(&[])
    }

    /// Returns a digit: digits are not in the file.
    fn one_digit(&mut self, number: i128) -> Option<&'a [u8]> {
        const ALL: &[u8] = b"0123456789-";
        let mut digits: Digits = [0; 40];
        let start = decimal(number, &mut digits);
        let all = digits.get(start..)?;
        let digit = *all.get(usize::from(self.digit))?;
        self.digit = self.digit.saturating_add(1);
        if usize::from(self.digit) >= all.len() {
            self.number = None;
        }
        let place = ALL.iter().position(|other| *other == digit)?;
        ALL.get(place..place.saturating_add(1))
    }
}
