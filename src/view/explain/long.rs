//! The parts of a message besides the rule: sentences with several numbers, the missing bytes of a truncated file,
//! advice.
//!
//! Programs for chips use `short.rs` instead, which omits these parts.
#![forbid(unsafe_code)]

use super::{Out, bytes, colon, is_out_of_file, number, quoted};
use crate::bytes::extent::Extent;
use crate::bytes::num::to_u64;
use crate::bytes::source::Input;
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind};
use crate::format::{self, Context};

/// Writes the key of the attribute concerned, if there is one.
pub(super) fn attribute(out: &mut impl Out, context: &Context<'_>) {
    if let Some(key) = context.attribute {
        quoted(out, "attribute ", key);
        colon(out);
    }
}

/// Writes the sentence that replaces the rule; returns `false` if there is none.
pub(super) fn phrase(out: &mut impl Out, context: &Context<'_>) -> bool {
    for (text, of_it) in context.phrase.iter().flatten() {
        match of_it {
            Some(of_it) => number(out, text, *of_it),
            None => out.text(text),
        }
    }
    context.phrase.is_some()
}

/// Returns the minimum length of the complete file if the file is truncated and that length is known. A number above
/// 2^50 is ignored: it is more likely a wrong number in the file than a length.
pub(super) fn needed(error: &Error, context: &Context<'_>) -> Option<u64> {
    const LONGEST: u64 = 1 << 50;
    let of_truncated = context.number.filter(|_| error.kind() == ErrorKind::Truncated);
    context.needed.or(of_truncated).filter(|needed| *needed <= LONGEST)
}

/// Writes the minimum length of a truncated file, and the number of missing bytes.
pub(super) fn truncation(out: &mut impl Out, error: &Error, context: &Context<'_>, file_length: Option<u64>) {
    let (Some(needed), Some(length)) = (needed(error, context), file_length) else { return };
    if let Some(missing @ 1..) = needed.checked_sub(length) {
        // The count may be wrong instead, and so may an offset in a flatbuffer, which leads to any place. The place of data
        // is hardly wrong if everything before it is correct.
        let is_offset = error.format() == Format::Tflite && error.kind() != ErrorKind::OutOfFile;
        out.text(match error.kind() {
            ErrorKind::CountTooLarge => "; unless the count is wrong, the file is truncated: it ",
            _ if is_offset => "; unless the offset is wrong, the file is truncated: it ",
            _ => "; the file is truncated: it ",
        });
        let is_out_of_file = is_out_of_file(error);
        if !(is_out_of_file && context.offset.is_some()) {
            bytes(out, "has ", length);
            out.text(" and ");
        }
        bytes(out, "should have at least ", needed);
        // Where the end of the last data is unknown, far more may be missing.
        number(out, if is_out_of_file { ", " } else { ", so at least " }, missing);
        out.text(if missing == 1 { " is missing" } else { " are missing" });
    }
}

/// Returns advice to the caller that does not depend on the format.
pub(super) fn advice(error: &Error, context: &Context<'_>) -> Option<&'static str> {
    let encoding = context.encoding.map(|encoding| encoding.as_str());
    match (error.kind(), error.part()) {
        (ErrorKind::OutOfScratch, _) => {
            Some("other calls say how much is enough: those that end in requirements, _scratch or _length")
        }
        (ErrorKind::UnsupportedEncoding, _) | (ErrorKind::NotBuiltIn, Part::Encoding) => Some(match encoding {
            Some("zstd" | "zstd-seekable") => "build with the feature `zstd`, or pass a decoder",
            Some("zlib" | "deflate") => "build with the feature `zlib`, or pass a decoder",
            _ => "pass a decoder that knows it",
        }),
        (ErrorKind::NotBuiltIn, Part::Digest) => {
            Some("build with the feature `digest`, or with that of one kind: `sha256`, `crc32c`, `crc32`")
        }
        (ErrorKind::NotBuiltIn, Part::File) => format::feature(error.format()),
        (ErrorKind::Misaligned, _) => Some(
            "copy them with read_into, or place the file at another address; in Rust, `elements` reads them one by one",
        ),
        (ErrorKind::Encoded, _) => Some("read_into decodes it"),
        _ => None,
    }
}

/// Writes the address of misaligned bytes, if the error is about alignment.
pub(super) fn address(out: &mut impl Out, input: Input<'_>, error: &Error) {
    if error.kind() != ErrorKind::Misaligned {
        return;
    }
    let Some((offset, size)) = format::elements_at(input, error) else { return };
    let Some(bytes) = input.get(Extent::new(offset, 1)) else { return };
    let address = bytes.as_ptr().addr();
    // If the bytes are aligned here, the caller has read them to another place.
    if address & size.wrapping_sub(1) != 0 {
        out.text(": they begin at address 0x");
        hexadecimal(out, to_u64(address));
        number(out, ", which is byte ", offset);
        out.text(" of the file");
    }
}

/// Writes a number in hexadecimal digits.
fn hexadecimal(out: &mut impl Out, number: u64) {
    let digits = 16_u32.saturating_sub((number | 1).leading_zeros() >> 2);
    for place in (0..digits).rev() {
        let digit = u32::try_from(number.wrapping_shr(place.wrapping_mul(4)) & 0xf).unwrap_or(0);
        out.text(char::from_digit(digit, 16).unwrap_or('?').encode_utf8(&mut [0; 4]));
    }
}
