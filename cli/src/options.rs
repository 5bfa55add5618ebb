//! Options that several commands share.

use crate::common::budget::Budget;

/// The limits of a command.
#[derive(clap::Args)]
pub struct Limits {
    /// Lift the limits of the command: 1 GiB of decoded data in memory at once, and work of 1 GiB plus 64 times the
    /// file sizes
    #[arg(long)]
    no_limit: bool,
}

impl Limits {
    /// Returns the budget of a single-threaded command.
    pub fn budget(&self) -> Budget {
        Budget::new(!self.no_limit)
    }

    /// Returns a budget for threads that each read a tensor.
    pub fn shared_budget(&self) -> Budget {
        Budget::shared(!self.no_limit)
    }
}

/// Options for verifying checksums before data is used.
#[derive(clap::Args)]
pub struct Checks {
    /// Verify all checksums of a tensor, even if only part of a large tensor is read
    #[arg(long, conflicts_with = "no_verify")]
    verify: bool,

    /// Do not verify checksums; those of compressed NPZ entries are always verified while decoding
    #[arg(long)]
    no_verify: bool,
}

impl Checks {
    /// Returns true if checksums are verified when a whole tensor is read.
    pub fn are_compared(&self) -> bool {
        !self.no_verify
    }

    /// Returns true if checksums are verified when part of a tensor with `stored` bytes in the file is read.
    pub fn are_compared_for_a_part(&self, stored: u64) -> bool {
        const SMALL: u64 = 1 << 26;
        self.verify || self.are_compared() && stored <= SMALL
    }
}
