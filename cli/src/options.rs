//! Options that several commands have.

use crate::common::budget::Budget;

/// The limits of a command.
#[derive(clap::Args)]
pub struct Limits {
    /// Remove the limits of the command: 1 GiB of decoded data in memory at once, and work of 1 GiB plus 64 times the size of
    /// the files
    #[arg(long)]
    no_limit: bool,
}

impl Limits {
    /// For a command of one thread.
    pub fn budget(&self) -> Budget {
        Budget::new(!self.no_limit)
    }

    /// For threads that read a tensor each.
    pub fn shared_budget(&self) -> Budget {
        Budget::shared(!self.no_limit)
    }
}

/// Options for comparing checksums before data is handed out.
#[derive(clap::Args)]
pub struct Checks {
    /// Compare all checksums of a tensor, even if only a part of a large one is read
    #[arg(long, conflicts_with = "no_verify")]
    verify: bool,

    /// Do not compare checksums, except of compressed NPZ entries, which are compared while they are decoded
    #[arg(long)]
    no_verify: bool,
}

impl Checks {
    /// Returns true if the checksums of a tensor that is read as a whole are compared.
    pub fn are_compared(&self) -> bool {
        !self.no_verify
    }

    /// Returns true if they are compared when only a part is read, of a tensor with `stored` bytes in the file.
    pub fn are_compared_for_a_part(&self, stored: u64) -> bool {
        const SMALL: u64 = 1 << 26;
        self.verify || self.are_compared() && stored <= SMALL
    }
}
