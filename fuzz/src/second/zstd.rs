//! Compares libzstd 1.5 with our decoder of Zstandard.
//!
//! Both decode into a destination of the same length. If both accept a stream, the bytes are equal. Ours accepts only one
//! kind of stream that libzstd refuses: with a window of more than 2 GiB, for which ours needs no memory. If only libzstd
//! accepts a stream, it breaks one of three rules of RFC 8878 that libzstd does not check, and our error is `Malformed`:
//!
//! - a block has no more bytes than the window (3.1.1.2.4);
//! - Huffman-coded literals use up their bits (4.2.2);
//! - a stream of sequences uses up its bits (4.1).

use tenslice::{BuiltIn, DecodeError, Decoder, Encoding};
use zstd::zstd_safe::{CCtx, CParameter, DCtx, get_error_name};

use crate::choices::Choices;

/// The first bytes of the window, for frames with a dictionary. It has no tables: any bytes are one.
const DICTIONARY: &[u8] = b"layer1.weight layer1.bias layer2.weight layer2.bias attention.query.weight";

/// Uses any bytes as a stream; and as choices from which a stream is made.
pub fn run(bytes: &[u8]) {
    if bytes.starts_with(b"\x28\xb5\x2f\xfd") {
        return compare(bytes, &[], 1 << 16);
    }
    let mut choices = Choices::new(bytes);
    let dictionary = choices.of(&[&[][..], DICTIONARY]);
    let (mut stream, mut length) = (Vec::new(), 0);
    for _ in 0..1 + choices.below(3) {
        if choices.one_in(4) {
            let skipped = choices.bytes(20);
            stream.extend([0x50 + choices.below(16) as u8, 0x2a, 0x4d, 0x18]);
            stream.extend((skipped.len() as u32).to_le_bytes());
            stream.extend(skipped);
        }
        let content = content(&mut choices);
        length += content.len();
        stream.extend(frame(&mut choices, &content, dictionary));
    }
    if choices.is_sound {
        assert_eq!(ours(&stream, dictionary, length).map(|decoded| decoded.len()), Ok(length));
    }
    compare(&stream, dictionary, length + choices.of(&[0, 0, 1, 40, 70_000]));
    if let Some(shorter) = length.checked_sub(1 + choices.below(20)) {
        compare(&stream, dictionary, shorter);
    }
    for _ in 0..1 + choices.below(3) {
        choices.damage(&mut stream);
    }
    compare(&stream, dictionary, length + choices.of(&[0, 100, 140_000]));
}

/// Bytes that repeat themselves in some way.
fn content(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut content = choices.bytes(60);
    for _ in 0..choices.below(20) {
        let from = choices.below(content.len() + 1);
        let mut part = content[from..].to_vec();
        part.truncate(1 + choices.below(200));
        match choices.below(4) {
            0 => part = DICTIONARY[choices.below(DICTIONARY.len())..].to_vec(),
            1 => part.iter_mut().for_each(|byte| *byte = byte.wrapping_mul(3).wrapping_add(1)),
            2 => part = vec![choices.any(); choices.below(3000)],
            _ => {}
        }
        content.extend(part);
    }
    content
}

/// Compresses as libzstd does with these choices.
fn frame(choices: &mut Choices<'_>, content: &[u8], dictionary: &[u8]) -> Vec<u8> {
    let mut context = CCtx::create();
    let settings = [
        CParameter::CompressionLevel(choices.of(&[3, 1, -5, 9, 19])),
        CParameter::ChecksumFlag(choices.below(2) == 0),
        CParameter::ContentSizeFlag(choices.below(2) == 0),
        CParameter::WindowLog(choices.of(&[17, 10, 12])),
    ];
    for setting in settings {
        context.set_parameter(setting).expect("a valid setting");
    }
    context.load_dictionary(dictionary).expect("raw bytes");
    let mut stored = Vec::with_capacity(zstd::zstd_safe::compress_bound(content.len()));
    context.compress2(&mut stored, content).expect("enough room");
    stored
}

fn ours(stream: &[u8], dictionary: &[u8], length: usize) -> Result<Vec<u8>, DecodeError> {
    let mut out = vec![0x55; length];
    let written = BuiltIn::default().decode_with_dictionary(Encoding::Zstd, dictionary, stream, &mut out)?;
    out.truncate(written);
    Ok(out)
}

/// An error is libzstd's message.
fn theirs(stream: &[u8], dictionary: &[u8], length: usize) -> Result<Vec<u8>, &'static str> {
    let mut out = Vec::with_capacity(length);
    match DCtx::create().decompress_using_dict(&mut out, stream, dictionary) {
        Ok(_) => Ok(out),
        Err(code) => Err(get_error_name(code)),
    }
}

fn compare(stream: &[u8], dictionary: &[u8], length: usize) {
    match (ours(stream, dictionary, length), theirs(stream, dictionary, length)) {
        (Ok(ours), Ok(theirs)) => assert!(ours == theirs, "other bytes than libzstd"),
        (Ok(_), Err("Frame requires too much memory for decoding")) => {}
        (Ok(_), Err(message)) => panic!("accepted, but not by libzstd: {message}"),
        (Err(error), Ok(_)) => assert_eq!(error, DecodeError::Malformed, "accepted only by libzstd"),
        (Err(_), Err(_)) => {}
    }
}
