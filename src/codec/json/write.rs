//! JSON text, written piece by piece.
#![forbid(unsafe_code)]

use crate::write::out::Out;

/// Writes a string with its quotation marks. Escapes what JSON requires and nothing else, in the spelling of
/// `serde_json`, which the reference implementation of safetensors uses.
pub(crate) fn string(text: &str, out: &mut Out<'_>) {
    out.bytes(b"\"");
    let mut rest = text.as_bytes();
    while let Some(next) = rest.iter().position(|byte| escape(*byte) != 0) {
        let (plain, escaped) = rest.split_at_checked(next).unwrap_or((rest, &[]));
        out.bytes(plain);
        let Some((byte, after)) = escaped.split_first() else { break };
        match escape(*byte) {
            b'u' => {
                let digit = |digit: u8| digit.wrapping_add(if digit < 10 { b'0' } else { b'a'.wrapping_sub(10) });
                out.bytes(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
            }
            letter => out.bytes(&[b'\\', letter]),
        }
        rest = after;
    }
    out.bytes(rest);
    out.bytes(b"\"");
}

/// Returns the letter after the backslash; 0 for a byte that is not escaped.
const fn escape(byte: u8) -> u8 {
    match byte {
        b'"' | b'\\' => byte,
        8 => b'b',
        9 => b't',
        10 => b'n',
        12 => b'f',
        13 => b'r',
        0..=0x1f => b'u',
        _ => 0,
    }
}

/// Writes numbers in brackets.
#[cfg_attr(small, inline(never))]
pub(crate) fn numbers(numbers: &[u64], out: &mut Out<'_>) {
    out.bytes(b"[");
    let mut separator: &[u8] = b"";
    for number in numbers {
        out.bytes(separator);
        out.decimal(*number);
        separator = b",";
    }
    out.bytes(b"]");
}
