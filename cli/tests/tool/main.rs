//! Runs the tool on real files, and checks its output and its exit status.

#[cfg(feature = "url")]
mod address;
mod checkpoint;
mod checksums;
mod completions;
mod convert;
mod diff;
mod embed;
mod explain;
mod extract;
mod footprint;
#[cfg(unix)]
mod full_disk;
mod json;
mod kinds;
mod large;
mod layout;
mod limits;
mod list;
mod model;
mod networks;
mod onnx;
mod other_files;
mod quantize;
mod set;
mod show;
mod stats;
mod structure;
mod summary;
mod support;
mod texts;
mod unreadable;
mod usage;
mod verify;
