//! Whether the values of an array are in its chunks. The metalayers of python-blosc2 say if they are elsewhere, or
//! still to be computed: the chunks then are placeholders, which read as zeros.
//!
//! Depends on `bytes`, and on `frame`.
//!
//! ```text
//! header   b2o            an object: {"kind": "lazyexpr", "lazyudf", "c2array" or "remote_array", "version": 1}
//!          LazyArray      an expression or a function, as older versions write it
//!          proxy-source   a proxy: its chunks are those that were fetched from a source
//! trailer  proxy-fetched-blocks   chunks have zeros for blocks that were not fetched
//!          proxy-dirty            a program stopped while it changed the chunks
//! ```
#![forbid(unsafe_code)]

use super::frame::{Metalayers, Parts};
use crate::bytes::source::ParseContext;

/// Where the values of an array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(super) enum Values {
    /// In the chunks.
    Here,
    /// In the chunks that have bytes in the file: those that a proxy has fetched. All others are placeholders.
    Fetched,
    /// Not in the file: whoever opens the object computes or fetches them.
    Lazy,
}

impl Values {
    /// The name of the layout; `None` if the values are in the chunks.
    pub(super) const fn layout_name(self) -> Option<&'static str> {
        match self {
            Self::Here => None,
            Self::Fetched => Some("b2nd.proxy"),
            Self::Lazy => Some("b2nd.lazy"),
        }
    }
}

/// Reads from the metalayers of the header where the values are.
#[inline(never)] // keeps its stack frame out of the others
pub(super) fn of<'a>(opening: &ParseContext<'a>, parts: &Parts<'a>) -> Values {
    static NAMES: [(&[u8], Values); 3] =
        [(OBJECT, Values::Lazy), (b"LazyArray", Values::Lazy), (b"proxy-source", Values::Fetched)];
    let metalayers = parts.metalayers();
    let found = NAMES.iter().find(|(name, _)| metalayers.content_of(opening, name).is_some());
    found.map_or(Values::Here, |(_, values)| *values)
}

/// The name of the metalayer of an object.
const OBJECT: &[u8] = b"b2o";

/// The letters by which the kind of an object begins, for its message; `None` if the array is none, or its metalayer is
/// not the map of MessagePack that python-blosc2 writes, whose first key is `kind`.
pub(super) fn kind<'a>(opening: &ParseContext<'a>, header: Metalayers<'a>) -> Option<&'a [u8]> {
    let (content, _) = header.content_of(opening, OBJECT)?;
    content.strip_prefix(b"\x82\xa4kind")?.get(1..)
}

/// Whether a proxy does not tell which of the values in its chunks were fetched.
pub(super) fn are_mixed<'a>(opening: &ParseContext<'a>, parts: &Parts<'a>) -> bool {
    let trailer = parts.variable_metalayers(opening.input);
    [&b"proxy-fetched-blocks"[..], b"proxy-dirty"].iter().any(|name| trailer.content_of(opening, name).is_some())
}
