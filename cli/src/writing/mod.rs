//! Writes models: from the tensors of open files to new files, piece by piece.
//!
//! `selection` chooses and renames tensors, `tensor` describes what is written of each and `read` reads it, `carry`
//! converts attributes between formats, and `file` writes a file.

pub mod attributes;
pub mod carry;
pub mod file;
pub mod float;
pub mod job;
pub mod permute;
mod read;
pub mod selection;
pub mod shards;
pub mod tensor;

use std::path::Path;

use clap::ValueEnum;
use tenslice::Format;

use crate::common::failure::Failure;
use crate::common::text::printable;

/// A format that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    Safetensors,
    Gguf,
    #[value(name = "ztensor-2")]
    Ztensor2,
    #[value(name = "ztensor-1.2")]
    Ztensor12,
    Npy,
    Npz,
    Tens,
    Blz,
    B2nd,
}

impl Target {
    /// The endings of file names, and the formats that they stand for.
    const ENDINGS: [(&'static str, Self); 8] = [
        ("safetensors", Self::Safetensors),
        ("gguf", Self::Gguf),
        ("zt", Self::Ztensor2),
        ("npy", Self::Npy),
        ("npz", Self::Npz),
        ("tens", Self::Tens),
        ("blz", Self::Blz),
        ("b2nd", Self::B2nd),
    ];

    /// Returns the requested format, or the one that the name of the file ends in.
    pub fn of(requested: Option<Self>, path: &Path) -> Result<Self, Failure> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let known =
            Self::ENDINGS.iter().find(|(known, _)| Some(*known) == ending.as_deref()).map(|(_, target)| *target);
        requested.or(known).ok_or_else(|| {
            let endings: Vec<String> = Self::ENDINGS.iter().map(|(ending, _)| format!(".{ending}")).collect();
            let name = printable(&path.to_string_lossy());
            let message = format!("{name} ends in none of {}: pass --format", endings.join(" "));
            Failure::new("InvalidArgument", message)
        })
    }

    pub fn format(self) -> Format {
        match self {
            Self::Safetensors => Format::Safetensors,
            Self::Gguf => Format::Gguf,
            Self::Ztensor2 => Format::Ztensor2,
            Self::Ztensor12 => Format::Ztensor,
            Self::Npy => Format::Npy,
            Self::Npz => Format::Npz,
            Self::Tens => Format::Tens,
            Self::Blz => Format::Blz,
            Self::B2nd => Format::B2nd,
        }
    }

    /// The format in which a file of this kind is written again; `None` for a format that is only read.
    pub fn of_format(format: Format) -> Option<Self> {
        Self::value_variants().iter().find(|target| target.format() == format).copied()
    }

    /// True if a file has one tensor, without a name.
    pub fn is_single(self) -> bool {
        matches!(self, Self::Npy | Self::Tens | Self::Blz | Self::B2nd)
    }

    /// True if tensors have attributes.
    pub fn has_tensor_attributes(self) -> bool {
        matches!(self, Self::Ztensor2 | Self::Ztensor12)
    }
}
