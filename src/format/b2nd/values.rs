//! Whether the values of an array are in its chunks. The metalayers of python-blosc2 say if they are elsewhere, or
//! still to be computed: the chunks then are placeholders, which read as zeros.
//!
//! Depends on `bytes`, and on `frame`.
//!
//! ```text
//! header   b2o            an object: {"kind": "lazyexpr", "lazyudf", "c2array", "remote_array", "version": 1}
//!          LazyArray      an expression or a function, as older versions write it
//!          proxy-source   a proxy: its chunks are those that were fetched from a source
//! trailer  proxy-fetched-blocks   chunks have zeros for blocks that were not fetched
//!          proxy-dirty            a program stopped while it changed the chunks
//! ```
#![forbid(unsafe_code)]

use super::frame::Parts;
use crate::bytes::source::ParseContext;

/// Where the values of an array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// In the chunks.
    Here,
    /// In the chunks that have bytes in the file: those that a proxy has fetched. All others are placeholders.
    Fetched,
    /// In another file or on a server: chunks cannot tell which of their values were fetched.
    Elsewhere,
    /// Nowhere: they are the result of an expression or a function.
    Lazy,
    /// Unknown: an object of an unknown kind.
    Unknown,
}

impl Values {
    /// The name of the layout; `None` if the values are in the chunks.
    pub(super) const fn layout_name(self) -> Option<&'static str> {
        match self {
            Self::Here => None,
            Self::Fetched | Self::Elsewhere => Some("b2nd.proxy"),
            Self::Lazy => Some("b2nd.lazy"),
            Self::Unknown => Some("b2nd.object"),
        }
    }
}

/// Reads from the metalayers where the values are.
pub(super) fn of(opening: &ParseContext<'_>, parts: &Parts<'_>) -> Values {
    let header = parts.metalayers();
    let kind = header.content_of(opening, b"b2o").map(|(content, _)| kind(content));
    match kind {
        Some(b"lazyexpr" | b"lazyudf") => return Values::Lazy,
        Some(b"c2array" | b"remote_array") => {}
        Some(_) => return Values::Unknown,
        None if header.content_of(opening, b"LazyArray").is_some() => return Values::Lazy,
        None if header.content_of(opening, b"proxy-source").is_some() => {}
        None => return Values::Here,
    }
    let trailer = parts.variable_metalayers(opening.input);
    let has = |name: &[u8]| trailer.content_of(opening, name).is_some();
    if has(b"proxy-fetched-blocks") || has(b"proxy-dirty") { Values::Elsewhere } else { Values::Fetched }
}

/// The kind of an object: the first value of a MessagePack map, whose key is `kind`. Empty if the map is another.
fn kind(content: &[u8]) -> &[u8] {
    match content.strip_prefix(b"\x82\xa4kind") {
        Some([length @ 0xa0..=0xbf, rest @ ..]) => rest.get(..usize::from(length & 0x1f)).unwrap_or_default(),
        _ => &[],
    }
}
