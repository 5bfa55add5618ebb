//! Reads a pickle as data: a program for a stack machine, of which nothing is ever imported or called.
//!
//! [`Machine`] keeps a bounded stack of the objects that a program has made so far, each as its kind and its place in
//! the bytes. There is no heap and no recursion. [`path`] says where an object stands in the tree, from the objects
//! below it and from the opcodes that follow.
#![forbid(unsafe_code)]

pub(crate) mod frames;
pub(crate) mod globals;
pub(crate) mod machine;
mod memo;
pub(crate) mod op;
pub(crate) mod outline;
pub(crate) mod path;
pub(crate) mod reach;
mod recall;
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
