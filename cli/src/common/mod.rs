//! Opens models and lists them, as tables or as JSON records. Nothing here depends on the rest of the tool.

pub mod budget;
pub mod checkpoint;
pub mod columns;
pub mod details;
pub mod enumerations;
pub mod failure;
pub mod list;
mod lists;
pub mod mapping;
pub mod model;
mod names;
pub mod part;
pub mod pattern;
pub mod problem;
pub mod reading;
pub mod record;
pub mod summary;
pub mod table;
pub mod text;
pub mod texts;
mod tree;
