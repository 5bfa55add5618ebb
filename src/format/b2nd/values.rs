//! Where the values of an array are. The metalayers of python-blosc2 say if the values are elsewhere, or still to be
//! computed. The chunks are then placeholders, which read as zeros. `frame` reads the metalayers.
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

/// The metalayers that say where the values are. If there are several, the smallest number applies.
pub(super) const NAMES: Keywords = keywords!["b2o": 0, "LazyArray": 0, "proxy-source": 1];

/// The place of an array's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(super) enum Values {
    /// In the chunks.
    Here,
    /// In the chunks that have bytes in the file: those that a proxy has fetched. All other chunks are placeholders.
    Fetched,
    /// Not in the file: a program that opens the object computes or fetches them.
    Lazy,
}

impl Values {
    /// Returns what the metalayers of the header say, given the smallest of their numbers in [`NAMES`].
    pub(super) const fn of_number(number: u8) -> Self {
        match number {
            0 => Self::Lazy,
            1 => Self::Fetched,
            _ => Self::Here,
        }
    }

    /// Returns the name of the layout; `None` if the values are in the chunks.
    pub(super) const fn layout_name(self) -> Option<&'static str> {
        match self {
            Self::Here => None,
            Self::Fetched => Some("b2nd.proxy"),
            Self::Lazy => Some("b2nd.lazy"),
        }
    }
}
