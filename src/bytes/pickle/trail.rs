//! The name of a value in a few bytes, so that it is read again without the pickle before it.
#![forbid(unsafe_code)]

use super::op;
use super::path::{Digits, Path, Piece, decimal, text_at};
use super::reach::Reach;
use crate::bytes::num::to_usize;
use crate::bytes::text::{Joined, Text};

/// The bytes of a trail.
pub(crate) const LENGTH: usize = 14;

/// The keys and places on the way to a value, the outermost first, each as a [number](write). The lowest bit of a place
/// is 1. A key is the distance of its opcode from that of the key before it, or, of the first key, from the start of
/// the bytes that the trail belongs to.
///
/// A way that does not fit is the [position](Self::position) of the value in the pickle, behind bytes that no number
/// has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trail(pub(crate) [u8; LENGTH]);

/// The bytes before a position.
const FAR: [u8; 5] = [0xff; 5];

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

    /// Returns the trail of a path, and the part of the pickle that it belongs to, with the opcodes of all keys. `None`
    /// if the path has more bytes than a trail, or no piece.
    pub(crate) fn of<'a>(pickle: &'a [u8], path: &Path) -> Option<(Self, &'a [u8])> {
        let keys = || {
            path.reversed().iter().filter_map(|piece| match *piece {
                Piece::Text { op, .. } | Piece::Integer(op) => Some(op),
                Piece::Place(_) | Piece::Unnamed => None,
            })
        };
        // A name of places alone needs none of the bytes, but a text that is not empty has some.
        let start = keys().min().unwrap_or(0);
        let mut end = start.checked_add(1)?;
        for key in keys() {
            end = end.max(op::read(pickle, key).ok()?.next);
        }
        let bytes = pickle.get(to_usize(start.into())?..to_usize(end.into())?)?;
        let (mut trail, mut used, mut last) = ([0; LENGTH], 0_usize, start);
        for piece in path.reversed().iter().rev() {
            let number = match *piece {
                Piece::Unnamed => continue,
                Piece::Place(place) => u64::from(place) << 1 | 1,
                Piece::Text { op, .. } | Piece::Integer(op) => distance(core::mem::replace(&mut last, op), op) << 1,
            };
            write(&mut trail, &mut used, number)?;
        }
        Some((Self(trail), bytes)).filter(|(trail, _)| !trail.is_none())
    }

    /// A trail that is the position of the value.
    pub(crate) const fn far(position: u32) -> Self {
        let [a, b, c, d, e] = FAR;
        let [f, g, h, i] = position.to_le_bytes();
        Self([a, b, c, d, e, f, g, h, i, 0, 0, 0, 0, 0])
    }

    /// Returns the position of a value that is too far away for a trail.
    pub(crate) const fn position(&self) -> Option<u32> {
        match self.0 {
            [0xff, 0xff, 0xff, 0xff, 0xff, a, b, c, d, ..] => Some(u32::from_le_bytes([a, b, c, d])),
            _ => None,
        }
    }
}

impl Path {
    /// Returns the name of the value at a position.
    pub(crate) fn text<'a>(&self, pickle: &'a [u8], position: u32, in_constants: bool) -> Text<'a> {
        match self.reversed() {
            [] if !in_constants => return Text::default(),
            [Piece::Text { at, end, .. }] if !in_constants => return Text::new(text_at(pickle, *at, *end), false),
            _ => {}
        }
        let (trail, bytes) = Trail::of(pickle, self).unwrap_or((Trail::far(position), pickle));
        Text::joined(bytes, Joined { trail, in_constants })
    }
}

/// The bytes of a name, piece by piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pieces<'a> {
    bytes: &'a [u8],
    trail: Trail,
    /// The next number of the trail, or the next piece of a value that is far away.
    at: u8,
    /// The position of the last key in the bytes.
    key: u32,
    /// The piece that is read, if it is a number, and its next digit.
    number: Option<i128>,
    digit: u8,
    in_constants: bool,
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

    pub(crate) const fn new(bytes: &'a [u8], trail: Trail, in_constants: bool) -> Self {
        Self { bytes, trail, at: 0, key: 0, number: None, digit: 0, in_constants, step: Step::Prefix }
    }

    /// Returns more bytes of the name; `None` behind the last one.
    pub(crate) fn more(&mut self) -> Option<&'a [u8]> {
        if let Some(number) = self.number {
            return self.one_digit(number);
        }
        match self.step {
            Step::Prefix => {
                self.step = Step::First;
                Some(if self.in_constants { Self::PREFIX } else { &[] })
            }
            Step::Dot => {
                let mut ahead = *self;
                ahead.step = Step::Piece;
                ahead.piece()?;
                self.step = Step::Piece;
                Some(b".")
            }
            Step::First | Step::Piece => {
                let piece = self.piece();
                self.step = Step::Dot;
                piece
            }
        }
    }

    /// Reads the next piece. A number is returned digit by digit, and nothing of it now.
    fn piece(&mut self) -> Option<&'a [u8]> {
        if let Some(position) = self.trail.position() {
            let piece = super::path::path_at(self.bytes, position, Reach::of(self.bytes))?.piece(self.at.into())?;
            self.at = self.at.checked_add(1)?;
            return match piece {
                Piece::Text { op, .. } | Piece::Integer(op) => self.key_at(op),
                Piece::Place(place) => self.begin(place.into()),
                Piece::Unnamed => Some(&[]),
            };
        }
        let number = read(&self.trail.0, &mut self.at)?;
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
