//! JSON text, written piece by piece.
#![forbid(unsafe_code)]

use crate::write::out::Out;

/// Writes a string with its quotation marks. Escapes what JSON requires and nothing else, in the spelling of
/// `serde_json`, which the reference implementation of safetensors uses.
pub(crate) fn string(text: &str, out: &mut Out<'_>) {
    out.byte(b'"');
    let mut rest = text.as_bytes();
    loop {
        let plain = rest.iter().position(|byte| escape(*byte) != 0).unwrap_or(rest.len());
        let (plain, escaped) = rest.split_at_checked(plain).unwrap_or_default();
        out.bytes(plain);
        let Some((byte, after)) = escaped.split_first() else { break };
        let (letter, low) = (escape(*byte), *byte & 15);
        let digit = low.wrapping_add(if low < 10 { b'0' } else { b'a'.wrapping_sub(10) });
        let spelled = [b'\\', letter, b'0', b'0', b'0'.wrapping_add(*byte >> 4), digit];
        out.bytes(if letter == b'u' { &spelled } else { spelled.first_chunk::<2>().map_or(&[], |pair| pair) });
        rest = after;
    }
    out.byte(b'"');
}

/// Returns the letter after the backslash; 0 for a byte that is not escaped.
#[cfg_attr(small, inline(never))]
fn escape(byte: u8) -> u8 {
    match b"btnufr".get(usize::from(byte.wrapping_sub(8))) {
        Some(letter) => *letter,
        None if byte < 0x20 => b'u',
        None if byte == b'"' || byte == b'\\' => byte,
        None => 0,
    }
}

/// Writes numbers with commas between them.
#[cfg_attr(small, inline(never))]
pub(crate) fn numbers(numbers: &[u64], out: &mut Out<'_>) {
    let mut rest = numbers;
    while let Some((number, after)) = rest.split_first() {
        out.decimal(*number);
        if !after.is_empty() {
            out.byte(b',');
        }
        rest = after;
    }
}
