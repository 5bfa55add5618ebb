//! Changes attributes and names in files, without decoding or moving anything else.
//!
//! `gguf`, `safetensors` and `ztensor` find the byte ranges to replace, `splice` writes them, and `compare` checks that
//! the tensors stay the same.

pub mod compare;
mod gguf;
mod safetensors;
pub mod splice;
pub mod value;
mod ztensor;

use std::collections::HashSet;
use std::ops::Range;

use tenslice::gguf::ValueType;
use tenslice::ztensor::Generation;
use tenslice::{File, Format};

use self::splice::Edits;
use crate::common::failure::Failure;
use crate::common::text::printable;

/// The requested changes.
pub struct Changes {
    /// Keys and their new values, as the user wrote them.
    pub pairs: Vec<(String, String)>,
    /// The keys of attributes to remove.
    pub unset: Vec<String>,
    /// The old and the new names of tensors.
    pub names: Vec<(String, String)>,
    /// The type of the new values, in GGUF.
    pub kind: Option<ValueType>,
}

impl Changes {
    /// The keys of all attributes that change.
    fn keys(&self) -> impl Iterator<Item = &String> {
        self.pairs.iter().map(|(key, _)| key).chain(&self.unset)
    }

    /// The new name of a tensor, if it gets one.
    pub fn new_name(&self, name: &[u8]) -> Option<&str> {
        self.names.iter().find(|(old, _)| old.as_bytes() == name).map(|(_, new)| new.as_str())
    }

    /// Refuses changes that contradict each other, and names of tensors that do not exist or exist already.
    pub fn check(&self, file: &File<'_>) -> Result<(), Failure> {
        let mut keys = HashSet::new();
        if let Some(key) = self.keys().find(|key| !keys.insert(key.as_str())) {
            return Err(refuse(format!("attribute \"{}\" is changed twice", printable(key))));
        }
        if self.names.is_empty() {
            return Ok(());
        }
        let names: HashSet<String> = file.tensors().map(|tensor| tensor.name().to_string()).collect();
        let mut seen = HashSet::new();
        for (old, _) in &self.names {
            if !names.contains(old) {
                let message = format!("there is no tensor \"{}\"", printable(old));
                return Err(Failure::new("NotFound", message));
            }
            if !seen.insert(old) {
                return Err(refuse(format!("tensor \"{}\" is renamed twice", printable(old))));
            }
        }
        let mut left: HashSet<&str> = names.iter().filter(|name| !seen.contains(name)).map(String::as_str).collect();
        match self.names.iter().find(|(_, new)| !left.insert(new)) {
            Some((old, new)) => {
                let (old, new) = (printable(old), printable(new));
                let message = format!("tensor \"{old}\" cannot be renamed: there is a tensor \"{new}\" already");
                Err(Failure::new("RepeatedName", message))
            }
            None => Ok(()),
        }
    }
}

/// The edits of a file, and the range of the file that has all metadata.
pub struct Plan {
    pub edits: Edits,
    pub metadata: Range<usize>,
}

impl Plan {
    /// Finds the edits that make the changes.
    pub fn new(file: &File<'_>, bytes: &[u8], changes: &Changes) -> Result<Self, Failure> {
        changes.check(file)?;
        let place = |at: u64| usize::try_from(at).map(|at| at.min(bytes.len())).map_err(|_| broken());
        if changes.kind.is_some() && file.as_gguf().is_none() {
            return Err(refuse("--type is for GGUF: no other format states the types of attributes"));
        }
        let (edits, metadata) = if let Some(gguf) = file.as_gguf() {
            (gguf::edits(&gguf, bytes, changes)?, 0..place(gguf.data_offset())?)
        } else if let Some(safetensors) = file.as_safetensors() {
            let data = place(safetensors.data().offset)?;
            (safetensors::edits(bytes, data, changes)?, 0..data)
        } else if let Some(ztensor) = file.as_ztensor().filter(|file| file.generation() == Generation::V1_2) {
            let manifest = place(ztensor.manifest().offset)?..place(ztensor.manifest().end().unwrap_or(u64::MAX))?;
            let version = file.version().unwrap_or_default();
            let rules = if version.starts_with("1.1") { ztensor::Rules::V1_1 } else { ztensor::Rules::V1_2 };
            (ztensor::edits(bytes, manifest.clone(), rules, changes)?, manifest.start..bytes.len())
        } else if let Some(ztensor) = file.as_ztensor2().filter(|file| !file.is_shard()) {
            let manifest = place(ztensor.manifest().offset)?..place(ztensor.manifest().end().unwrap_or(u64::MAX))?;
            (ztensor::edits(bytes, manifest.clone(), ztensor::Rules::V2, changes)?, manifest.start..bytes.len())
        } else {
            let what = match file.format() {
                Format::Ztensor => "zTensor 0.1 and 1.0 files cannot be changed".into(),
                Format::Ztensor2 => "a shard of a zTensor 2 file has no manifest to change".into(),
                format => format!("{format} files have no attributes that can be changed"),
            };
            let message = format!("{what}: set works on GGUF, safetensors, and zTensor 1.1, 1.2 and 2");
            return Err(refuse(message));
        };
        Ok(Self { edits, metadata })
    }
}

fn refuse(message: impl Into<String>) -> Failure {
    Failure::new("InvalidArgument", message)
}

/// The value of an attribute does not fit.
fn refuse_value(key: &str, text: &str, why: &str) -> Failure {
    refuse(format!("attribute \"{}\": \"{}\" {why}", printable(key), printable(text)))
}

/// An attribute that is to be removed does not exist.
fn absent(key: &str) -> Failure {
    Failure::new("NotFound", format!("there is no attribute \"{}\"", printable(key)))
}

/// The file was valid when it was opened.
fn broken() -> Failure {
    Failure::new("Io", "the file changed while it was read")
}
