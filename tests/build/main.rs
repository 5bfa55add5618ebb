//! Tests of the sources: layers, unsafe code, pinned numbers, lists of formats.

mod every_format;
mod structure;
