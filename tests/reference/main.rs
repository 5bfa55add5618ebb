//! Tests against the reference readers of the formats.

#[path = "../support/mod.rs"]
mod support;

mod peers;
mod safetensors;
mod ztensor2;
