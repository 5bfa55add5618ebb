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

/// The argument of an opcode.
enum Form {
    /// So many bytes.
    Fixed(usize),
    /// A length of so many bytes, and the bytes.
    Counted(usize),
    /// So many lines.
    Lines(usize),
}

/// Returns the form of an opcode's argument; `None` if the opcode is unknown.
const fn form(code: u8) -> Option<Form> {
    Some(match code {
        STOP | MARK | NONE | TRUE | FALSE | EMPTY_DICT | EMPTY_LIST | EMPTY_TUPLE | EMPTY_SET | TUPLE | TUPLE_1
        | TUPLE_2 | TUPLE_3 | SET_ITEM | SET_ITEMS | APPEND | APPENDS | ADD_ITEMS | FROZEN_SET | STACK_GLOBAL
        | REDUCE | NEW_OBJECT | NEW_OBJECT_EX | BUILD | PERSISTENT_ID | MEMOIZE => Form::Fixed(0),
        PROTO | INT_1 | PUT_1 | GET_1 => Form::Fixed(1),
        INT_2 => Form::Fixed(2),
        INT_4 | PUT_4 | GET_4 => Form::Fixed(4),
        FLOAT | FRAME => Form::Fixed(8),
        LONG_1 | TEXT_1 | STRING_1 | BYTES_1 => Form::Counted(1),
        LONG_4 | TEXT_4 | STRING_4 | BYTES_4 => Form::Counted(4),
        TEXT_8 | BYTES_8 | BYTE_ARRAY => Form::Counted(8),
        INT_TEXT => Form::Lines(1),
        GLOBAL => Form::Lines(2),
        _ => return None,
    })
}

/// Reads the opcode at `at`.
pub(crate) fn read(bytes: &[u8], at: u32) -> Result<Op<'_>, Fault> {
    let truncated = Fault::new(ErrorKind::Truncated, Part::Value, at);
    let rest = to_usize(at.into()).and_then(|at| bytes.get(at..)).ok_or(truncated)?;
    let (&code, after) = rest.split_first().ok_or(truncated)?;
    let form = form(code).ok_or(Fault::new(ErrorKind::WrongMarker, Part::Value, at))?;
    let (argument, before) = match form {
        Form::Fixed(size) => (after.get(..size).ok_or(truncated)?, 1_usize),
        Form::Counted(size) => {
            let (length, data) = after.split_at_checked(size).ok_or(truncated)?;
            let length = to_usize(number(length)).ok_or(truncated)?;
            (data.get(..length).ok_or(truncated)?, size.saturating_add(1))
        }
        Form::Lines(count) => {
            let mut ends = after.iter().zip(1_usize..).filter(|(byte, _)| **byte == b'\n').map(|(_, end)| end);
            let end = ends.nth(count.saturating_sub(1)).ok_or(truncated)?;
            (after.get(..end).ok_or(truncated)?, 1)
        }
    };
    let position = |distance: usize| u32::try_from(distance).ok().and_then(|distance| at.checked_add(distance));
    let argument_at = position(before).ok_or(truncated)?;
    let next = position(before.saturating_add(argument.len())).ok_or(truncated)?;
    Ok(Op { code, at, argument_at, next, argument })
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
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Returns the integer that an opcode pushes; `None` if it is wider than 64 bits and a sign, or if the opcode does not
/// push an integer.
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
    let value = digits.iter().try_fold(0_i128, |value, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        value.checked_mul(10)?.checked_add(digit.into())
    })?;
    Some(if is_negative { value.saturating_neg() } else { value })
}

/// Returns true if a line is how Python 2 writes a truth value.
pub(crate) fn is_truth(op: &Op<'_>) -> bool {
    op.code == INT_TEXT && matches!(op.argument, b"00\n" | b"01\n")
}
