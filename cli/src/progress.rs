//! Progress bars for long operations.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The minimum number of bytes for which a bar is shown.
const WORTH_SHOWING: u64 = 1 << 26;

/// A bar on standard error with bytes and remaining time; hidden without a terminal or if there is little to do.
pub fn bar(total: u64) -> ProgressBar {
    if total < WORTH_SHOWING {
        return ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template("{wide_bar} {bytes} of {total_bytes}, {eta} left");
    ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
