//! Reads the file again at the position of an error, for its message. Nothing here is trusted or checked: what cannot
//! be read is omitted. Linked only into programs that request error messages.
#![forbid(unsafe_code)]

use super::{Cores, NUMBER, Tables, role};
use crate::bytes::extent::Extent;
use crate::bytes::source::{Input, ParseContext};
use crate::bytes::utf8::Utf8;
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind};
use crate::format::Context;

/// Reads what the message of `error` may contain.
pub(super) fn context<'a>(input: Input<'a>, error: &Error) -> Context<'a> {
    let mut context = Context { version: Some(Utf8::new("1")), ..Context::default() };
    let Some(at) = error.offset() else { return context };
    if matches!(error.kind(), ErrorKind::BoundaryRank | ErrorKind::RankMismatch) {
        context.hint = Some("other formats begin in the same way: this may be one of them");
    }
    if error.part() == Part::BondDimension {
        let bytes = input.get(Extent::new(at, NUMBER)).and_then(|bytes| bytes.first_chunk::<8>());
        context.number = bytes.map(|bytes| u64::from_le_bytes(*bytes));
    }
    if error.kind() == ErrorKind::OutOfFile {
        core(input, &mut context);
    }
    #[cfg(not(target_os = "none"))]
    if matches!(error.kind(), ErrorKind::OutOfFile | ErrorKind::Truncated) {
        context.needed = needed(input);
    }
    context
}

/// Returns the length of a file with such tables: all cores, or the tables themselves.
#[cfg(not(target_os = "none"))]
fn needed(input: Input<'_>) -> Option<u64> {
    let Ok((tables, at)) = Tables::read(&ParseContext::of(input)) else {
        let Some([dimensions]) = input.get(Extent::new(super::DIMENSIONS_AT, 1)) else { return Some(super::HEADER) };
        return Some(super::position(u32::from(*dimensions).saturating_mul(2).saturating_add(1)));
    };
    let pairs = tables.bonds.iter().zip(tables.bonds.iter().skip(1)).zip(tables.lengths);
    pairs.into_iter().try_fold(at, |end, ((left, right), length)| {
        let count = left.get().checked_mul(length.get())?.checked_mul(right.get())?;
        end.checked_add(count.checked_mul(tables.number_size())?)
    })
}

/// Reads the core that exceeds the file: the first core that cannot be read.
fn core(input: Input<'_>, context: &mut Context<'_>) {
    let Some((tables, at)) = Tables::read(&ParseContext::of(input)).ok() else { return };
    let mut cores = Cores { tables, index: 0, at, end: input.length(), error: None };
    while cores.next().is_some() {}
    let k = usize::from(cores.index);
    let numbers = tables.bonds.get(k).zip(tables.lengths.get(k)).zip(tables.bonds.get(k.saturating_add(1)));
    let Some(((left, length), right)) = numbers else { return };
    let count = left.get().saturating_mul(length.get()).saturating_mul(right.get());
    context.role = Some(Utf8::new(role(cores.index)));
    context.offset = Some(cores.at);
    context.length = Some(count.saturating_mul(tables.number_size()));
}
