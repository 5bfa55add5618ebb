//! Reads a pickle as data: a program for a stack machine, of which nothing is ever imported or called.
//!
//! There is no heap and no recursion. From the bytes to the names of values:
//!
//! ```text
//! op        an opcode and its argument          globals   the names that have a meaning
//! slot      an object: its kind and its place   memo      objects put aside, as far as they are remembered
//! machine   the stack                           recall    objects of the memo that are no longer remembered
//! path      where an object stands in the tree: from the objects below it, and from the opcodes that follow
//! reach     how many of these opcodes may matter
//! frames    the containers around a value in a few bytes, so that a machine continues there
//! trail     the name of a value in a few bytes
//! ```
#![forbid(unsafe_code)]

mod decimal;
pub(crate) mod frames;
pub(crate) mod globals;
pub(crate) mod machine;
mod memo;
pub(crate) mod op;
pub(crate) mod outline;
pub(crate) mod path;
pub(crate) mod reach;
pub(crate) mod slot;
pub(crate) mod recall;
pub(crate) mod trail;

use crate::error::ErrorKind;
use crate::error::origin::Part;

/// A broken rule, and its position in the pickle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    pub(crate) item: Part,
    pub(crate) at: u32,
}

impl Fault {
    pub(crate) const fn new(kind: ErrorKind, item: Part, at: u32) -> Self {
        Self { kind, item, at }
    }
}
