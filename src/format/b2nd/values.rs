//! Whether the values of an array are in its chunks. The metalayers of python-blosc2 say if they are elsewhere, or
//! still to be computed: the chunks then are placeholders, which read as zeros.
//!
//! Depends on `bytes`; `frame` reads the metalayers.
//!
//! ```text
//! header   b2o            an object: {"kind": "lazyexpr", "lazyudf", "c2array" or "remote_array", "version": 1}
//!          LazyArray      an expression or a function, as older versions write it
//!          proxy-source   a proxy: its chunks are those that were fetched from a source
//! trailer  proxy-fetched-blocks   chunks have zeros for blocks that were not fetched
//!          proxy-dirty            a program stopped while it changed the chunks
//! ```
#![forbid(unsafe_code)]

use crate::bytes::keywords::{Keywords, keywords};

/// The name of the metalayer of an object.
pub(super) const OBJECT: &str = "b2o";

/// The metalayers that say where the values are: of several, the least number holds.
pub(super) const NAMES: Keywords = keywords!["b2o": 0, "LazyArray": 0, "proxy-source": 1];

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
    /// What the metalayers of the header say, by the least of their numbers in [`NAMES`].
    pub(super) const fn of_number(number: u8) -> Self {
        match number {
            0 => Self::Lazy,
            1 => Self::Fetched,
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
