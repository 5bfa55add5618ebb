//! Zstandard (RFC 8878) into memory of a known size, by our own decoder, by libzstd or by ruzstd.
//!
//! All decode consecutive frames and skip skippable frames. All reject any other data after the last frame, reject
//! dictionaries that were not supplied, and check the data against the frame's own size and checksum. The output is
//! bounded by the destination, never by a size that a frame states.
#![forbid(unsafe_code)]

#[cfg(feature = "zstd-c")]
mod libzstd;
#[cfg(any(test, not(any(feature = "zstd-c", feature = "zstd-ruzstd"))))]
mod ours;
#[cfg(all(feature = "zstd-ruzstd", not(feature = "zstd-c")))]
mod ruzstd;

#[cfg(feature = "zstd-c")]
pub(crate) use self::libzstd::Memory;
#[cfg(not(any(feature = "zstd-c", feature = "zstd-ruzstd")))]
pub(crate) use self::ours::Memory;
#[cfg(all(feature = "zstd-ruzstd", not(feature = "zstd-c")))]
pub(crate) use self::ruzstd::Memory;
