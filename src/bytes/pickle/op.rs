//! The opcodes of a pickle, with their arguments.
//!
//! Only the opcodes that torch and Python's picklers write in protocols 2 to 5 are known; any other is refused.
#![forbid(unsafe_code)]

use super::Fault;
use crate::bytes::num::to_usize;
use crate::error::ErrorKind;
use crate::error::origin::Part;

pub(crate) const PROTO: u8 = 0x80;
pub(crate) const FRAME: u8 = 0x95;
pub(crate) const STOP: u8 = b'.';
pub(crate) const MARK: u8 = b'(';
pub(crate) const NONE: u8 = b'N';
pub(crate) const TRUE: u8 = 0x88;
pub(crate) const FALSE: u8 = 0x89;
pub(crate) const INT_TEXT: u8 = b'I';
pub(crate) const INT_1: u8 = b'K';
pub(crate) const INT_2: u8 = b'M';
pub(crate) const INT_4: u8 = b'J';
pub(crate) const LONG_1: u8 = 0x8a;
pub(crate) const LONG_4: u8 = 0x8b;
pub(crate) const FLOAT: u8 = b'G';
pub(crate) const TEXT_1: u8 = 0x8c;
pub(crate) const TEXT_4: u8 = b'X';
pub(crate) const TEXT_8: u8 = 0x8d;
/// A string of Python 2, which is a text if it is UTF-8.
pub(crate) const STRING_1: u8 = b'U';
pub(crate) const STRING_4: u8 = b'T';
pub(crate) const BYTES_1: u8 = b'C';
pub(crate) const BYTES_4: u8 = b'B';
pub(crate) const BYTES_8: u8 = 0x8e;
pub(crate) const BYTE_ARRAY: u8 = 0x96;
pub(crate) const EMPTY_DICT: u8 = b'}';
pub(crate) const EMPTY_LIST: u8 = b']';
pub(crate) const EMPTY_TUPLE: u8 = b')';
pub(crate) const EMPTY_SET: u8 = 0x8f;
pub(crate) const TUPLE: u8 = b't';
pub(crate) const TUPLE_1: u8 = 0x85;
pub(crate) const TUPLE_2: u8 = 0x86;
pub(crate) const TUPLE_3: u8 = 0x87;
pub(crate) const SET_ITEM: u8 = b's';
pub(crate) const SET_ITEMS: u8 = b'u';
pub(crate) const APPEND: u8 = b'a';
pub(crate) const APPENDS: u8 = b'e';
pub(crate) const ADD_ITEMS: u8 = 0x90;
pub(crate) const FROZEN_SET: u8 = 0x91;
pub(crate) const GLOBAL: u8 = b'c';
pub(crate) const STACK_GLOBAL: u8 = 0x93;
pub(crate) const REDUCE: u8 = b'R';
pub(crate) const NEW_OBJECT: u8 = 0x81;
pub(crate) const NEW_OBJECT_EX: u8 = 0x92;
pub(crate) const BUILD: u8 = b'b';
pub(crate) const PERSISTENT_ID: u8 = b'Q';
pub(crate) const PUT_1: u8 = b'q';
pub(crate) const PUT_4: u8 = b'r';
pub(crate) const MEMOIZE: u8 = 0x94;
pub(crate) const GET_1: u8 = b'h';
pub(crate) const GET_4: u8 = b'j';

/// An opcode and its argument.
#[derive(Clone, Copy)]
pub(crate) struct Op<'a> {
    pub(crate) code: u8,
    /// The position of the opcode, of its argument without a length before it, and of the next opcode.
    pub(crate) at: u32,
    pub(crate) argument_at: u32,
    pub(crate) next: u32,
    pub(crate) argument: &'a [u8],
}

/// The argument of an opcode, by a number: of so many bytes, if it is at most eight.
type Form = u8;

/// A length of 1, 4 or 8 bytes, and the bytes.
const COUNTED: Form = 0x10;
const COUNTED_1: Form = COUNTED | 1;
const COUNTED_4: Form = COUNTED | 4;
const COUNTED_8: Form = COUNTED | 8;
/// No argument, and the opcode begins or ends a group of objects, or ends the pickle.
const GROUP: Form = 0x40;
/// A line, or two.
const LINE: Form = 0x20;
const LINES: Form = 0x21;
const UNKNOWN: Form = 0xff;

/// The forms of the arguments of all opcodes.
static FORMS: [Form; 256] = {
    let mut forms = [UNKNOWN; 256];
    let (mut rest, mut code): (&mut [Form], u8) = (&mut forms, 0);
    while let Some((first, after)) = rest.split_first_mut() {
        *first = form(code);
        (rest, code) = (after, code.wrapping_add(1));
    }
    forms
};

/// Returns the form of an opcode's argument.
const fn form(code: u8) -> Form {
    match code {
        MARK | STOP => GROUP,
        code if closes_mark(code) => GROUP,
        NONE | TRUE | FALSE | EMPTY_DICT | EMPTY_LIST | EMPTY_TUPLE | EMPTY_SET | TUPLE_1 | TUPLE_2 | TUPLE_3
        | SET_ITEM | APPEND | STACK_GLOBAL | REDUCE | NEW_OBJECT | NEW_OBJECT_EX | BUILD | PERSISTENT_ID
        | MEMOIZE => 0,
        PROTO | INT_1 | PUT_1 | GET_1 => 1,
        INT_2 => 2,
        INT_4 | PUT_4 | GET_4 => 4,
        FLOAT | FRAME => 8,
        LONG_1 | TEXT_1 | STRING_1 | BYTES_1 => COUNTED_1,
        LONG_4 | TEXT_4 | STRING_4 | BYTES_4 => COUNTED_4,
        TEXT_8 | BYTES_8 | BYTE_ARRAY => COUNTED_8,
        INT_TEXT => LINE,
        GLOBAL => LINES,
        _ => UNKNOWN,
    }
}

/// Reads a whole number that is not negative, as most are: of one, two or four bytes. Returns the position of the next
/// opcode as well.
pub(crate) fn whole(bytes: &[u8], at: u32) -> Option<(u64, u32)> {
    let rest = bytes.get(to_usize(at.into())?..)?;
    let (number, length) = match *rest {
        [INT_1, a, ..] => (u32::from(a), 2),
        [INT_2, a, b, ..] => (u16::from_le_bytes([a, b]).into(), 3),
        [INT_4, a, b, c, d @ 0..=0x7f, ..] => (u32::from_le_bytes([a, b, c, d]), 5),
        _ => return None,
    };
    Some((number.into(), at.checked_add(length)?))
}

/// Returns the index at which an opcode puts an object into the memo, and the position of the next opcode. `None` for
/// other opcodes, and for one without an index.
pub(crate) fn put(bytes: &[u8], at: u32) -> Option<(u32, u32)> {
    let rest = bytes.get(to_usize(at.into())?..)?;
    let (index, length) = match *rest {
        [PUT_1, a, ..] => (a.into(), 2),
        [PUT_4, a, b, c, d, ..] => (u32::from_le_bytes([a, b, c, d]), 5),
        _ => return None,
    };
    Some((index, at.checked_add(length)?))
}

/// Returns the first opcode, the form of its argument, and the bytes behind the two. As [`read`], without the argument.
#[inline]
fn split(bytes: &[u8]) -> Option<(u8, Form, &[u8])> {
    let (&code, after) = bytes.split_first()?;
    let form = FORMS.get(usize::from(code)).copied()?;
    let length = match form {
        GROUP => 0,
        size @ 0..=8 => usize::from(size),
        COUNTED_1 => usize::from(*after.first()?).checked_add(1)?,
        COUNTED_4 => to_usize(u32::from_le_bytes(*after.first_chunk()?).into())?.checked_add(4)?,
        _ => to_usize(read(bytes, 0).ok()?.next.into())?.checked_sub(1)?,
    };
    Some((code, form, after.get(length..)?))
}

/// The position of the bytes `after`, the last ones of `bytes`.
fn position(bytes: &[u8], after: &[u8]) -> Option<u32> {
    u32::try_from(bytes.len().checked_sub(after.len())?).ok()
}

/// Returns the opcode at `at`, and the position of the next one.
#[inline]
pub(crate) fn skip(bytes: &[u8], at: u32) -> Option<(u8, u32)> {
    let (code, _, after) = split(bytes.get(to_usize(at.into())?..)?)?;
    Some((code, position(bytes, after)?))
}

/// Returns the first text, without its opcode and its length, and the bytes behind it.
pub(crate) fn first_text(mut bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    loop {
        let (code, form, after) = split(bytes)?;
        if matches!(code, TEXT_1 | TEXT_4 | TEXT_8 | STRING_1 | STRING_4) {
            let before = usize::from(form & !COUNTED).checked_add(1)?;
            return Some((bytes.get(before..bytes.len().checked_sub(after.len())?)?, after));
        }
        bytes = after;
    }
}

/// Returns the opcode from `at` on that takes all objects above a mark, and the position behind it. `open` is the number
/// of marks above that mark; the first opcode that ends the pickle is returned as well. Adds the number of opcodes to
/// `count`.
pub(crate) fn end_of_group(bytes: &[u8], at: u32, mut open: usize, count: &mut u32) -> Option<(u8, u32)> {
    let mut rest = bytes.get(to_usize(at.into())?..)?;
    loop {
        let (code, form, after) = split(rest)?;
        *count = count.saturating_add(1);
        if form == GROUP {
            if code == MARK {
                open = open.saturating_add(1);
            } else if code == STOP || open == 0 {
                return Some((code, position(bytes, after)?));
            } else {
                open = open.saturating_sub(1);
            }
        }
        rest = after;
    }
}

/// Reads the opcode at `at`.
#[inline]
pub(crate) fn read(bytes: &[u8], at: u32) -> Result<Op<'_>, Fault> {
    let truncated = Fault::new(ErrorKind::Truncated, Part::Value, at);
    let rest = to_usize(at.into()).and_then(|at| bytes.get(at..)).ok_or(truncated)?;
    let (&code, after) = rest.split_first().ok_or(truncated)?;
    let (before, length) = match FORMS.get(usize::from(code)).copied().unwrap_or(UNKNOWN) {
        UNKNOWN => return Err(Fault::new(ErrorKind::WrongMarker, Part::Value, at)),
        GROUP => (0, 0),
        LINE => (0, line(after).ok_or(truncated)?),
        LINES => {
            let first = line(after).ok_or(truncated)?;
            let second = after.get(first..).and_then(line).ok_or(truncated)?;
            (0, first.saturating_add(second))
        }
        counted if counted & COUNTED != 0 => {
            let size = usize::from(counted & !COUNTED);
            (size, to_usize(number(after.get(..size).ok_or(truncated)?)).ok_or(truncated)?)
        }
        size => (0, usize::from(size)),
    };
    let argument = after.get(before..).and_then(|data| data.get(..length)).ok_or(truncated)?;
    let position = |distance: usize| u32::try_from(distance).ok().and_then(|distance| at.checked_add(distance));
    let argument_at = position(before.saturating_add(1)).ok_or(truncated)?;
    let next = position(before.saturating_add(length).saturating_add(1)).ok_or(truncated)?;
    Ok(Op { code, at, argument_at, next, argument })
}

/// Returns the length of a line, with its end.
fn line(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')?.checked_add(1)
}

/// True for opcodes that take all objects above a mark, and the mark.
pub(crate) const fn closes_mark(code: u8) -> bool {
    matches!(code, TUPLE | FROZEN_SET | SET_ITEMS | APPENDS | ADD_ITEMS)
}

/// True for opcodes that neither take nor leave an object.
pub(crate) const fn is_note(code: u8) -> bool {
    matches!(code, PUT_1 | PUT_4 | MEMOIZE | FRAME | PROTO)
}

/// The number of objects that an opcode takes, if it takes a few and leaves one; 0 if it only leaves one.
pub(crate) const fn takes(code: u8) -> u32 {
    match code {
        TUPLE_1 | PERSISTENT_ID => 1,
        TUPLE_2 | REDUCE | NEW_OBJECT | STACK_GLOBAL | BUILD | APPEND => 2,
        TUPLE_3 | NEW_OBJECT_EX | SET_ITEM => 3,
        _ => 0,
    }
}

/// True for opcodes that leave the first of the objects that they take.
pub(crate) const fn adds(code: u8) -> bool {
    matches!(code, BUILD | APPEND | SET_ITEM)
}

/// Returns a little-endian number of at most 8 bytes.
pub(crate) fn number(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => return a.into(),
        [a, b, c, d] => return u32::from_le_bytes([a, b, c, d]).into(),
        _ => {}
    }
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Returns the integer that an opcode pushes; `None` if it needs more than 16 bytes, or its line more than 20 digits, or if
/// the opcode does not push an integer.
pub(crate) fn integer(op: &Op<'_>) -> Option<i128> {
    Some(match op.code {
        INT_1 | INT_2 => number(op.argument).into(),
        INT_4 | LONG_1 | LONG_4 => signed(op.argument)?,
        INT_TEXT => decimal(op.argument)?,
        _ => return None,
    })
}

/// Reads two's complement. Bytes beyond the 16th must only repeat the sign.
fn signed(bytes: &[u8]) -> Option<i128> {
    let is_negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
    let sign = if is_negative { 0xff } else { 0 };
    let (low, high) = bytes.split_at_checked(16).unwrap_or((bytes, &[]));
    let mut all = [sign; 16];
    all.iter_mut().zip(low).for_each(|(to, from)| *to = *from);
    let value = i128::from_le_bytes(all);
    (high.iter().all(|byte| *byte == sign) && (value < 0) == is_negative).then_some(value)
}

/// Reads a line with a decimal number: at most 20 digits, and a sign.
fn decimal(line: &[u8]) -> Option<i128> {
    let text = line.strip_suffix(b"\n")?;
    let (digits, is_negative) = text.strip_prefix(b"-").map_or((text, false), |digits| (digits, true));
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    // Shifts: for a checked product of 128 bits, a program in C needs a function that its compiler may lack.
    let value = digits.iter().try_fold(0_i128, |value, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        (value << 3).checked_add(value << 1)?.checked_add(digit.into())
    })?;
    Some(if is_negative { value.saturating_neg() } else { value })
}

/// Returns true if a line is how Python 2 writes a truth value.
pub(crate) fn is_truth(op: &Op<'_>) -> bool {
    op.code == INT_TEXT && matches!(op.argument, b"00\n" | b"01\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_four_bytes_are_little_endian() {
        let put = [PUT_4, 0x12, 0x34, 0x56, 0x78];
        assert_eq!(super::put(&put, 0), Some((0x7856_3412, 5)));
        assert_eq!(whole(&[INT_4, 0x12, 0x34, 0x56, 0x78], 0), Some((0x7856_3412, 5)));
        assert_eq!(number(&put[1..]), 0x7856_3412);
    }

    #[test]
    fn lines_have_at_most_20_digits() {
        for (line, expected) in [
            ("0", Some(0)),
            ("-0", Some(0)),
            ("007", Some(7)),
            ("-1234567890", Some(-1_234_567_890)),
            ("18446744073709551616", Some(i128::from(u64::MAX) + 1)),
            ("99999999999999999999", Some(99_999_999_999_999_999_999)),
            ("-99999999999999999999", Some(-99_999_999_999_999_999_999)),
            ("000000000000000000000", None),
            ("", None),
            ("-", None),
            ("--1", None),
            ("1/", None),
            ("1:", None),
        ] {
            let line = std::format!("I{line}\n");
            assert_eq!(integer(&read(line.as_bytes(), 0).unwrap()), expected, "{line}");
        }
    }

    /// Groups in groups are skipped, and all opcodes are counted.
    #[test]
    fn the_end_of_a_group_is_found() {
        let opcodes = [NONE, MARK, TEXT_1, 2, MARK, TUPLE, MARK, TUPLE, TUPLE, SET_ITEMS, STOP];
        for (open, count, expected) in
            [(0, 7, Some((SET_ITEMS, 10))), (1, 8, Some((STOP, 11))), (2, 8, Some((STOP, 11)))]
        {
            let mut counted = 0;
            assert_eq!(end_of_group(&opcodes, 0, open, &mut counted), expected, "{open}");
            assert_eq!(counted, count, "{open}");
        }
        assert_eq!(end_of_group(&opcodes[..10], 0, 1, &mut 0), None);
    }
}
