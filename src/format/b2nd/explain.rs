//! Reads the file again at the position of an error, for its message. Nothing here is trusted or checked: what cannot
//! be read is omitted. Linked only into programs that request error messages.
#![forbid(unsafe_code)]

use super::chunk::{codec_name, filter_name};
use super::{frame, version};
use crate::bytes::extent::Extent;
#[cfg(not(target_os = "none"))]
use crate::bytes::num::count_of;
use crate::bytes::source::Input;
#[cfg(not(target_os = "none"))]
use crate::bytes::text::Phrase;
use crate::bytes::text::Text;
use crate::bytes::utf8::Utf8;
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind};
use crate::format::Context;

/// Reads what the message of `error` may contain.
pub(super) fn context<'a>(input: Input<'a>, error: &Error) -> Context<'a> {
    let mut context = Context::default();
    let Some(at) = error.offset() else { return context };
    let header = input.get(Extent::new(0, frame::HEADER)).and_then(frame::Header::of);
    context.version = header.and_then(|header| version(header.version())).map(Utf8::new);
    let byte = || input.get(Extent::new(at, 1)).and_then(<[u8]>::first).copied();
    match (error.kind(), error.part()) {
        #[cfg(not(target_os = "none"))]
        (ErrorKind::Truncated, Part::Header) => context.needed = Some(frame::HEADER),
        (ErrorKind::WrongMarker, _) => {
            context.number = byte().map(u64::from);
            context.rule = Some("this is not the MessagePack marker that must be here");
        }
        (ErrorKind::UnknownFlags, _) => context.number = byte().map(u64::from),
        (ErrorKind::UnsupportedVersion, Part::Version) => context.number = byte().map(|byte| u64::from(byte & 0x0f)),
        (ErrorKind::UnsupportedVersion, _) => context.number = byte().map(u64::from),
        (ErrorKind::UnsupportedFilter, _) => {
            context.number = byte().map(u64::from);
            context.text = byte().and_then(filter_name).map(Text::from);
        }
        // The error points to the flags of a chunk. Their last bits are the codec, or say that its number is in another
        // field.
        (ErrorKind::UnsupportedCodec, _) => {
            let format = byte().map(|flags| flags >> 5);
            let user = input.get(Extent::new(at.saturating_add(20), 1)).and_then(<[u8]>::first).copied();
            let codec = match format {
                Some(6) => user,
                Some(format @ (3 | 4)) => Some(format.saturating_add(1)),
                _ => None, // there is no such format, or it is read without a decoder
            };
            context.number = codec.or(format).map(u64::from);
            context.text = codec.and_then(codec_name).map(Text::from);
            context.hint = match codec {
                Some(4) => Some("build with the feature `zlib`, or pass a decoder"),
                Some(5) => Some("build with the feature `zstd`, or pass a decoder; so for a dictionary"),
                Some(6..) => Some("it is a plug-in codec of the program that wrote the file"),
                _ => None,
            };
        }
        // The length that the frame states, to compare with the actual length.
        (ErrorKind::Truncated, Part::File) => {
            let bytes = input.get(Extent::new(at, 8)).and_then(|bytes| bytes.first_chunk::<8>());
            context.number = bytes.map(|bytes| u64::from_be_bytes(*bytes));
        }
        // The part distinguishes the two errors of proxies from the error of an object; see `Frame::check_values`.
        (ErrorKind::NoValues, item) => {
            (context.rule, context.hint) = match item {
                Part::Chunk => (
                    Some(
                        "the values are not in this file: it is a proxy of another array, and this chunk was not fetched",
                    ),
                    Some("read the array itself, or fetch all of it with python-blosc2"),
                ),
                Part::Component => (
                    Some("the values are not in this file: it is a proxy of another array, with parts of its chunks"),
                    Some("read the array itself, or save a copy of it with python-blosc2"),
                ),
                _ => why_lazy(input),
            };
        }
        #[cfg(not(target_os = "none"))]
        (ErrorKind::CountsDiffer, item) => context.phrase = counts(input, item, at),
        (ErrorKind::SparseFrame, _) => context.hint = Some("only contiguous, single-file frames are read"),
        _ => {}
    }
    context
}

/// Describes the counts that differ.
#[cfg(not(target_os = "none"))]
fn counts(input: Input<'_>, item: Part, at: u64) -> Option<Phrase> {
    if item == Part::Metalayer {
        let found = input.get(Extent::new(at, 2))?.first_chunk::<2>()?;
        return Some([
            ("the index has ", frame::indexed_at(input, at)),
            (" metalayers, but ", Some(u16::from_be_bytes(*found).into())),
            (" contents follow", None),
        ]);
    }
    let found = input.get(Extent::new(at, 4))?.first_chunk::<4>()?;
    let found = u64::from(u32::from_le_bytes(*found));
    let header = input.get(Extent::new(0, frame::HEADER)).and_then(frame::Header::of)?;
    let table = ("the table of chunk offsets has ", Some(found));
    let chunk = Some(header.chunksize()).filter(|size| *size > 0)?;
    let count = count_of(header.nbytes(), chunk);
    let counted = (" bytes, but the header says that there are ", Some(count));
    let differs = count.checked_mul(8) != Some(found);
    differs.then_some([table, counted, (" chunks, each with an offset of 8 bytes", None)])
}

/// Returns the reason why an object has no values, and what to do about it.
fn why_lazy(input: Input<'_>) -> (Option<&'static str>, Option<&'static str>) {
    let kind = frame::metalayers_of(input).map(frame::Metalayers::kind);
    match kind {
        // Without the metalayer of an object, there is the metalayer of an older version.
        Some(None | Some([b'l', b'a', b'z', b'y', ..])) => (
            Some("the values are not in this file: it is a lazy expression, to be computed from other arrays"),
            Some("compute it with python-blosc2 where those are, and save the result"),
        ),
        Some(Some([b'c', b'2', ..] | [b'r', b'e', b'm', b'o', b't', b'e', ..])) => (
            Some("the values are not in this file: it refers to an array on a server (metalayer b2o)"),
            Some("open it with python-blosc2, and save a copy"),
        ),
        _ => (
            Some("the values are not in this file: its metalayer b2o makes it an object of an unknown kind"),
            Some("open it with python-blosc2, and save the values"),
        ),
    }
}
