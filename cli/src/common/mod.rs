//! Opens models and lists them, as tables or as JSON records. Nothing here depends on the rest of the tool.

pub mod budget;
pub mod details;
pub mod failure;
pub mod list;
pub mod mapping;
pub mod model;
pub mod names;
pub mod problem;
pub mod reading;
pub mod record;
pub mod table;
pub mod text;
