//! Whether the values of an array are in its chunks. The metalayers of python-blosc2 say if they are elsewhere, or
//! still to be computed: the chunks then are placeholders, which read as zeros.
//!
//! Depends on nothing; `frame` reads the metalayers.
//!
//! ```text
//! header   b2o            an object: {"kind": "lazyexpr", "lazyudf", "c2array" or "remote_array", "version": 1}
//!          LazyArray      an expression or a function, as older versions write it
//!          proxy-source   a proxy: its chunks are those that were fetched from a source
//! trailer  proxy-fetched-blocks   chunks have zeros for blocks that were not fetched
//!          proxy-dirty            a program stopped while it changed the chunks
//! ```
#![forbid(unsafe_code)]

/// The name of the metalayer of an object.
pub(super) const OBJECT: &[u8] = b"b2o";

/// Where the values of an array are. Of what several metalayers say, the greatest holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Values {
    /// In the chunks.
    Here,
    /// In the chunks that have bytes in the file: those that a proxy has fetched. All others are placeholders.
    Fetched,
    /// Not in the file: whoever opens the object computes or fetches them.
    Lazy,
}

impl Values {
    /// What a metalayer of that name says in the header.
    pub(super) fn of_name(name: &[u8]) -> Self {
        match name {
            OBJECT | b"LazyArray" => Self::Lazy,
            b"proxy-source" => Self::Fetched,
            _ => Self::Here,
        }
    }

    /// The name of the layout; `None` if the values are in the chunks.
    pub(super) const fn layout_name(self) -> Option<&'static str> {
        match self {
            Self::Here => None,
            Self::Fetched => Some("b2nd.proxy"),
            Self::Lazy => Some("b2nd.lazy"),
        }
    }
}
