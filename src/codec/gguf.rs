//! The metadata of GGUF: numbers, strings and arrays, one after the other.
//!
//! Arrays do not state their length in bytes: numbers are skipped by their count, strings one by one. An array that is
//! not in memory is walked in pieces that need not be kept.
#![forbid(unsafe_code)]

use crate::bytes::extent::Extent;
use crate::bytes::num::{product, to_u64, to_usize};
use crate::bytes::source::{Input, Interrupted, ParseContext, ParseResult, Walk};
use crate::error::abi_enum::abi_enum;
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind, NO_ENTRY};

/// The maximum nesting depth of arrays.
pub(crate) const MAX_DEPTH: usize = 8;

/// The largest header that is read: a limit of this library, as for the metadata of other formats.
pub(crate) const MAX_HEADER: u64 = 1 << 30;

/// True on a chip, which reads from a card into little memory. On a host, a request costs more than its bytes.
const IS_CHIP: bool = cfg!(target_os = "none");

/// The minimum and maximum size of a request for missing bytes. In between, a request is as large as the bytes already
/// in memory: a large header then takes few requests, and the bytes in memory are rarely read again.
const LEAST: u64 = if IS_CHIP { 512 } else { 1 << 16 };
const MOST: u64 = if IS_CHIP { 4096 } else { 1 << 24 };
/// A value of `LONG` bytes or more need not be in memory. An array of `LONG` or more strings or booleans is walked in
/// windows of at least `WINDOW` bytes.
const LONG: u64 = if IS_CHIP { 512 } else { 4096 };
const WINDOW: u64 = if IS_CHIP { 512 } else { 1 << 20 };

/// The types of values.
pub(crate) mod kind {
    pub(crate) const U8: u32 = 0;
    pub(crate) const I8: u32 = 1;
    pub(crate) const U16: u32 = 2;
    pub(crate) const I16: u32 = 3;
    pub(crate) const U32: u32 = 4;
    pub(crate) const I32: u32 = 5;
    pub(crate) const F32: u32 = 6;
    pub(crate) const BOOL: u32 = 7;
    pub(crate) const STRING: u32 = 8;
    pub(crate) const ARRAY: u32 = 9;
    pub(crate) const U64: u32 = 10;
    pub(crate) const I64: u32 = 11;
    pub(crate) const F64: u32 = 12;
}

abi_enum! {
    /// The type of a value in the metadata. Its [code](ValueType::code) is ggml's number.
    ValueType: u32 {
        U8 = 0, "u8";
        I8 = 1, "i8";
        U16 = 2, "u16";
        I16 = 3, "i16";
        U32 = 4, "u32";
        I32 = 5, "i32";
        F32 = 6, "f32";
        Bool = 7, "bool";
        String = 8, "string";
        Array = 9, "array";
        U64 = 10, "u64";
        I64 = 11, "i64";
        F64 = 12, "f64";
    }
}

/// The encoding of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(crate) is_big: bool,
    /// True if counts and lengths have 32 bits, as in version 1.
    pub(crate) is_short: bool,
}

impl Encoding {
    /// Little-endian, with 64-bit counts, as in nearly all files.
    pub(crate) const USUAL: Self = Self { is_big: false, is_short: false };

    #[inline]
    const fn u32(self, bytes: [u8; 4]) -> u32 {
        if self.is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    #[inline]
    const fn u64(self, bytes: [u8; 8]) -> u64 {
        if self.is_big { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
    }

    /// Splits a 32-bit number off the front.
    #[inline]
    pub(crate) fn split_u32(self, bytes: &[u8]) -> Option<(u32, &[u8])> {
        let (number, rest) = bytes.split_first_chunk()?;
        Some((self.u32(*number), rest))
    }

    /// Splits a 64-bit number off the front.
    #[inline]
    pub(crate) fn split_u64(self, bytes: &[u8]) -> Option<(u64, &[u8])> {
        let (number, rest) = bytes.split_first_chunk()?;
        Some((self.u64(*number), rest))
    }

    /// Returns the size of a count or a length in bytes.
    pub(crate) const fn count_size(self) -> u64 {
        if self.is_short { 4 } else { 8 }
    }

    /// Calls a function with the encoding. On hosts, the usual encoding is passed as a constant, so that the compiler
    /// generates a copy of the function without byte orders.
    #[inline(always)]
    pub(crate) fn specialized<T>(self, call: impl Fn(Self) -> T) -> T {
        if cfg!(not(small)) && self == Self::USUAL { call(Self::USUAL) } else { call(self) }
    }

    /// Skips at most `count` strings, as far as they are complete. Returns the remaining bytes and the number of
    /// strings left.
    #[cfg_attr(not(small), inline(always))]
    fn after_strings(self, bytes: &[u8], count: u64) -> (&[u8], u64) {
        let (mut rest, mut left) = (bytes, count);
        // Each length is loaded as soon as the previous length is known, so a string costs the latency of one load.
        // Loading it at the start of the loop adds an addition to the latency, and a third to the time.
        let mut next = self.split_count(rest).filter(|_| left > 0);
        while let Some((length, after)) = next {
            let Some(after) = to_usize(length).and_then(|length| after.get(length..)) else { break };
            rest = after;
            left = left.wrapping_sub(1);
            next = if left > 0 { self.split_count(rest) } else { None };
        }
        (rest, left)
    }

    /// Splits a count or a length off the front.
    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn split_count(self, bytes: &[u8]) -> Option<(u64, &[u8])> {
        if self.is_short {
            return self.split_u32(bytes).map(|(count, rest)| (count.into(), rest));
        }
        self.split_u64(bytes)
    }
}

/// The start of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array {
    pub(crate) kind: u32,
    pub(crate) count: u64,
}

/// Reads from the bytes of a file, or stops.
pub(crate) struct Reader<'o, 'a> {
    opening: &'o ParseContext<'a>,
    pub(crate) encoding: Encoding,
    /// The position in the file, at most its length, and the bytes in memory from that position on.
    at: u64,
    window: &'a [u8],
    /// The part of the file being read, and the start of its record.
    pub(crate) item: Part,
    pub(crate) record: Option<u64>,
}

impl<'o, 'a> Reader<'o, 'a> {
    pub(crate) fn new(opening: &'o ParseContext<'a>, encoding: Encoding, at: u64) -> Self {
        let window = opening.input.available_from(at);
        Self { opening, encoding, at, window, item: Part::Header, record: None }
    }

    #[cfg(not(small))]
    pub(crate) const fn opening(&self) -> &'o ParseContext<'a> {
        self.opening
    }

    fn input(&self) -> Input<'a> {
        self.opening.input
    }

    /// Returns the position of the next byte.
    pub(crate) const fn position(&self) -> u64 {
        self.at
    }

    /// Returns the bytes in memory from the current position on.
    pub(crate) const fn window(&self) -> &'a [u8] {
        self.window
    }

    /// Advances to `rest`, which ends at the end of the bytes in memory.
    #[inline]
    pub(crate) const fn advance_to(&mut self, rest: &'a [u8]) {
        self.at = self.at.wrapping_add(to_u64(self.window.len().wrapping_sub(rest.len())));
        self.window = rest;
    }

    /// Loads `count` bytes into memory and keeps them. `kind` is the error if the file is shorter: `CountTooLarge` if a
    /// count at this position is the cause, otherwise `Truncated`.
    #[cfg(not(small))]
    #[inline]
    pub(crate) fn require(&mut self, count: u64, kind: ErrorKind) -> ParseResult<()> {
        // A function without `self`, for the same reason as in `fail`.
        self.window = required(self.opening, (self.at, count), (kind, self.item), self.record)?;
        Ok(())
    }

    /// See above.
    #[cfg(small)]
    #[cold]
    #[inline(never)]
    pub(crate) fn require(&mut self, count: u64, kind: ErrorKind) -> ParseResult<()> {
        self.require_here(count, kind)
    }

    #[inline(always)]
    fn require_here(&mut self, count: u64, kind: ErrorKind) -> ParseResult<()> {
        if kind == ErrorKind::CountTooLarge {
            self.check_room(Some(count), self.at)?;
        }
        self.refill(count, None)
    }

    /// Returns the number of bytes left in the file.
    pub(crate) fn left(&self) -> u64 {
        self.input().length().saturating_sub(self.at)
    }

    /// Stops with an error at `at`.
    #[inline]
    pub(crate) fn fail<T>(&self, kind: ErrorKind, at: u64) -> ParseResult<T> {
        // Does not borrow the reader, so that a host can keep the reader in registers.
        #[cfg(not(small))]
        return Err(stop(self.opening, (kind, self.item), self.record, at));
        #[cfg(small)]
        Err(self.stop(kind, at))
    }

    #[cfg(small)]
    #[cold]
    #[inline(never)]
    fn stop(&self, kind: ErrorKind, at: u64) -> Interrupted {
        stop(self.opening, (kind, self.item), self.record, at)
    }

    /// Reads bytes and keeps them in memory.
    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn take(&mut self, count: u64) -> ParseResult<&'a [u8]> {
        if to_u64(self.window.len()) < count {
            self.refill(count, None)?;
        }
        self.take_available(count)
    }

    #[inline]
    fn take_available(&mut self, count: u64) -> ParseResult<&'a [u8]> {
        let Some((head, rest)) = to_usize(count).and_then(|count| self.window.split_at_checked(count)) else {
            return self.fail(ErrorKind::Truncated, self.input().length());
        };
        self.window = rest;
        self.at = self.at.wrapping_add(count);
        Ok(head)
    }

    /// Loads `count` bytes into memory, to be kept or only to be walked.
    #[cold]
    #[inline(never)]
    fn refill(&mut self, count: u64, walked: Option<Walk>) -> ParseResult<()> {
        if count > self.left() {
            return self.fail(ErrorKind::Truncated, self.input().length());
        }
        self.window = self.input().available_from(self.at);
        if to_u64(self.window.len()) < count {
            self.window = match walked {
                Some(walk) => {
                    self.opening.set_walk(walk);
                    // Doubles with the bytes that were walked over so far, so that a long array takes few requests.
                    let [start, ..] = walk.memory;
                    let least = if IS_CHIP { WINDOW } else { WINDOW.max(self.at.saturating_sub(start)).min(MOST) };
                    self.opening.transient(self.following(least, count))?
                }
                None => self.opening.keep(self.following(LEAST, count))?,
            };
        }
        Ok(())
    }

    /// Returns the range to request from here on, of at least `least` and `count` bytes.
    fn following(&self, least: u64, count: u64) -> Extent {
        Extent::new(self.at, self.input().held().clamp(least, MOST).max(count).min(self.left()))
    }

    /// Skips the bytes of a value, which are inside the file. Many bytes are not read; few bytes are kept in memory.
    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))]
    fn skip(&mut self, count: u64) -> ParseResult<()> {
        if count < LONG {
            return self.take(count).map(drop);
        }
        self.pass(count);
        Ok(())
    }

    /// Skips bytes that are inside the file, without reading them.
    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))]
    fn pass(&mut self, count: u64) {
        self.window = to_usize(count).and_then(|count| self.window.get(count..)).unwrap_or_default();
        self.at = self.at.saturating_add(count);
    }

    /// Moves to a position.
    pub(crate) fn go_to(&mut self, at: u64) {
        self.at = at;
        self.window = self.input().available_from(at);
    }

    /// Reads `N` bytes.
    #[inline]
    pub(crate) fn bytes<const N: usize>(&mut self) -> ParseResult<[u8; N]> {
        let bytes = self.take(to_u64(N))?;
        Ok(bytes.first_chunk().copied().unwrap_or([0; N])) // the length is `N`
    }

    /// Reads a number of `N` bytes; returns the bytes in little-endian order.
    pub(crate) fn number<const N: usize>(&mut self) -> ParseResult<[u8; N]> {
        let mut number = self.bytes()?;
        if self.encoding.is_big {
            number.reverse();
        }
        Ok(number)
    }

    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn u32(&mut self) -> ParseResult<u32> {
        let bytes = self.bytes()?;
        Ok(self.encoding.u32(bytes))
    }

    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn u64(&mut self) -> ParseResult<u64> {
        let bytes = self.bytes()?;
        Ok(self.encoding.u64(bytes))
    }

    /// Reads a count or a length.
    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn count(&mut self) -> ParseResult<u64> {
        if self.encoding.is_short { self.u32().map(u64::from) } else { self.u64() }
    }

    /// Reads the length of a string and checks that the string fits in the file.
    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn string_length(&mut self) -> ParseResult<u64> {
        let at = self.at;
        let length = self.count()?;
        self.check_room(Some(length), at)?;
        Ok(length)
    }

    /// Checks that `bytes` bytes fit in the rest of the file and within the header limit. The number is stated at `at`.
    #[inline]
    fn check_room(&self, bytes: Option<u64>, at: u64) -> ParseResult<()> {
        let bytes = bytes.unwrap_or(u64::MAX);
        if bytes > self.left() {
            return self.fail(ErrorKind::CountTooLarge, at);
        }
        if bytes > MAX_HEADER.saturating_sub(self.at) {
            return self.fail(ErrorKind::ManifestTooLarge, at);
        }
        Ok(())
    }

    /// Reads a string, which may contain any bytes.
    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn string(&mut self) -> ParseResult<&'a [u8]> {
        let length = self.string_length()?;
        self.take(length)
    }

    /// Reads the type of a value.
    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn kind(&mut self) -> ParseResult<u32> {
        let at = self.at;
        let kind = self.u32()?;
        if kind > kind::F64 { self.fail(ErrorKind::UnexpectedType, at) } else { Ok(kind) }
    }

    /// Returns the key of the next pair and the bytes after the pair, if it has the form of nearly all pairs: the usual
    /// encoding, a key of 1 to `longest` bytes, a value that is a number or a string, and all of it in memory. Returns
    /// `None` for a pair of another form, and for an invalid pair.
    ///
    /// Only for hosts, where reading a pair this way takes half the time.
    #[cfg(not(small))]
    #[inline(always)]
    pub(crate) fn usual_pair(&self, longest: u64) -> Option<(&'a [u8], &'a [u8])> {
        if self.encoding != Encoding::USUAL {
            return None;
        }
        let (length, rest) = Encoding::USUAL.split_u64(self.window)?;
        let (key, rest) = rest.split_at_checked(to_usize(length).filter(|_| length.wrapping_sub(1) < longest)?)?;
        let (kind, value) = Encoding::USUAL.split_u32(rest)?;
        let rest = match kind {
            kind::STRING => {
                let (length, text) = Encoding::USUAL.split_u64(value)?;
                text.get(to_usize(length)?..)?
            }
            kind::BOOL => return None, // has only two values
            kind => value.get(to_usize(size_of_kind(kind)).filter(|size| *size > 0)?..)?,
        };
        let end = self.at.saturating_add(to_u64(self.window.len().wrapping_sub(rest.len())));
        (end <= MAX_HEADER).then_some((key, rest))
    }

    /// Reads the start of an array and checks that its elements fit in the file.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn array(&mut self) -> ParseResult<Array> {
        let kind = self.kind()?;
        let at = self.at;
        let count = self.count()?;
        let smallest = match kind {
            kind::STRING => self.encoding.count_size(),
            kind::ARRAY => self.encoding.count_size().saturating_add(4),
            _ => size_of_kind(kind),
        };
        self.check_room(product(Some(count), smallest), at)?;
        Ok(Array { kind, count })
    }

    /// Skips a value.
    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn skip_value(&mut self, kind: u32) -> ParseResult<()> {
        match kind {
            kind::STRING => {
                let length = self.string_length()?;
                self.skip(length)
            }
            kind::ARRAY => self.skip_array(),
            kind::BOOL => self.boolean().map(drop),
            _ => self.skip(size_of_kind(kind)),
        }
    }

    /// Reads a boolean.
    pub(crate) fn boolean(&mut self) -> ParseResult<bool> {
        let at = self.at;
        match self.take(1)? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => self.fail(ErrorKind::UnexpectedType, at),
        }
    }

    /// Skips an array. If an earlier walk was interrupted in the array, continues there.
    #[inline(never)]
    pub(crate) fn skip_array(&mut self) -> ParseResult<()> {
        let start = self.at;
        if let Some(end) = self.input().skipped_end(start) {
            self.go_to(end);
            return Ok(());
        }
        // The arrays around the current array, each with the number of elements left.
        let mut around = heapless::Vec::<Array, MAX_DEPTH>::new();
        let mut array = self.array()?;
        loop {
            match array.kind {
                kind::ARRAY if array.count > 0 => {
                    let at = self.at;
                    let inside = self.array()?;
                    let rest = Array { count: array.count.saturating_sub(1), ..array };
                    // The array itself also counts.
                    if around.len().saturating_add(1) >= MAX_DEPTH || around.push(rest).is_err() {
                        return self.fail(ErrorKind::TooDeep, at);
                    }
                    array = inside;
                    continue;
                }
                kind::ARRAY => {}
                kind::STRING | kind::BOOL => {
                    let is_outermost = around.is_empty();
                    self.walk(start, array, is_outermost)?;
                }
                // `array` has checked that the elements are inside the file.
                kind => self.skip(product(Some(array.count), size_of_kind(kind)).unwrap_or(u64::MAX))?,
            }
            match around.pop() {
                Some(outer) => array = outer,
                None => return Ok(()),
            }
        }
    }

    /// Skips at most `count` strings, as long as they are in memory; returns the number of strings left.
    fn skip_strings(&mut self, count: u64) -> u64 {
        let (rest, left) = self.encoding.specialized(|encoding| encoding.after_strings(self.window, count));
        self.advance_to(rest);
        left
    }

    /// Walks over the strings or booleans of an array that begins at `start`. If the array is long and outermost,
    /// missing bytes are requested without being kept.
    #[cfg_attr(small, inline(never))]
    fn walk(&mut self, start: u64, array: Array, is_outermost: bool) -> ParseResult<()> {
        let Array { kind, count: mut left } = array;
        let can_skip = is_outermost && array.count >= LONG && self.input().can_skip();
        let mut is_walked = false;
        let Walk { at, memory: [of, walked_left, _] } = self.opening.walk();
        if can_skip && of == start {
            self.go_to(at);
            left = walked_left;
            is_walked = true;
        }
        let size = if kind == kind::STRING { self.encoding.count_size() } else { 1 };
        loop {
            if kind == kind::STRING {
                left = self.skip_strings(left);
            }
            if left == 0 {
                break;
            }
            if to_u64(self.window.len()) < size {
                let walk = Walk { at: self.at, memory: [start, left, 0] };
                self.refill(size, can_skip.then_some(walk))?;
                is_walked = true;
            }
            if can_skip && kind == kind::STRING {
                let length = self.string_length()?;
                self.pass(length);
            } else {
                self.skip_value(kind)?;
            }
            left = left.saturating_sub(1);
        }
        if can_skip && is_walked {
            // If nothing follows, one byte is requested anyway: the source records the end when bytes are added.
            let last = Extent::new(self.at.saturating_sub(1), 1);
            let next = if self.left() == 0 { last } else { self.following(LEAST, 0) };
            return self.opening.skip(start, self.at, next);
        }
        Ok(())
    }
}

/// Stops with an error at `at`, in a record.
#[cfg_attr(not(small), cold, inline(never))]
fn stop(opening: &ParseContext<'_>, (kind, item): (ErrorKind, Part), record: Option<u64>, at: u64) -> Interrupted {
    let distance = record.and_then(|record| u32::try_from(at.checked_sub(record)?).ok());
    let error = Error::at(kind, Format::Gguf, item, at).after_entry(distance.unwrap_or(NO_ENTRY));
    opening.stop(error)
}

/// Loads `count` bytes from `at` on into memory. See [`Reader::require`].
#[cfg(not(small))]
#[cold]
#[inline(never)]
fn required<'a>(
    opening: &ParseContext<'a>,
    (at, count): (u64, u64),
    (kind, item): (ErrorKind, Part),
    record: Option<u64>,
) -> ParseResult<&'a [u8]> {
    // No number is read, so the encoding does not matter.
    let mut reader = Reader { item, record, ..Reader::new(opening, Encoding::USUAL, at) };
    reader.require_here(count, kind)?;
    Ok(reader.window)
}

/// Returns the size of a value of type `kind` in bytes; 0 for strings and arrays.
pub(crate) const fn size_of_kind(kind: u32) -> u64 {
    match kind {
        kind::U8 | kind::I8 | kind::BOOL => 1,
        kind::U16 | kind::I16 => 2,
        kind::U32 | kind::I32 | kind::F32 => 4,
        kind::U64 | kind::I64 | kind::F64 => 8,
        _ => 0,
    }
}

#[cfg(all(test, not(small)))]
mod tests {
    use std::prelude::v1::*;

    use super::*;

    const LONGEST: u64 = 9;

    /// Reads a pair in the general way.
    fn any_pair<'a>(reader: &mut Reader<'_, 'a>) -> ParseResult<(&'a [u8], u32)> {
        let key = reader.string()?;
        let kind = reader.kind()?;
        reader.skip_value(kind)?;
        Ok((key, kind))
    }

    /// Checks that a usual pair is read as in the general way, and that only the pairs that `usual_pair` lists are left
    /// out. Returns true if the pair is usual.
    fn agree(bytes: &[u8]) -> bool {
        let opening = ParseContext::of(bytes.into());
        let mut reader = Reader::new(&opening, Encoding::USUAL, 0);
        let usual = reader.usual_pair(LONGEST);
        let any = any_pair(&mut reader);
        if let Some((key, after)) = usual {
            assert_eq!(any.map(|(key, _)| key).unwrap(), key);
            assert_eq!(reader.window(), after);
            assert!((1..=LONGEST).contains(&to_u64(key.len())));
        } else if let Ok((key, kind)) = any {
            let is_usual = (1..=LONGEST).contains(&to_u64(key.len()));
            assert!(!is_usual || matches!(kind, kind::BOOL | kind::ARRAY), "{bytes:x?}");
        }
        usual.is_some()
    }

    #[test]
    fn usual_pairs_are_read_as_any_others_are() {
        let mut usual = 0;
        for kind in 0..=kind::F64 + 1 {
            let value = match kind {
                kind::STRING => [&3_u64.to_le_bytes()[..], b"abc"].concat(),
                kind::ARRAY => [&kind::U8.to_le_bytes()[..], &2_u64.to_le_bytes(), b"ab"].concat(),
                kind => vec![1; usize::try_from(size_of_kind(kind)).unwrap()],
            };
            let pair = [&3_u64.to_le_bytes()[..], b"key", &kind.to_le_bytes(), &value, b"what follows"].concat();
            assert_eq!(agree(&pair), !matches!(kind, kind::BOOL | kind::ARRAY | 13));
            for length in 0..pair.len() {
                agree(&pair[..length]);
            }
            for (at, byte) in (0..pair.len()).flat_map(|at| (0..=0xff).map(move |byte| (at, byte))) {
                let mut pair = pair.clone();
                pair[at] = byte;
                usual += u32::from(agree(&pair));
            }
            for (is_big, is_short) in [(true, false), (false, true)] {
                let opening = ParseContext::of(pair[..].into());
                assert!(Reader::new(&opening, Encoding { is_big, is_short }, 0).usual_pair(LONGEST).is_none());
            }
        }
        assert!(usual > 50_000, "{usual}");
    }
}
