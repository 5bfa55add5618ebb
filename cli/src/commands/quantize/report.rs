//! Prints the errors of quantized tensors.

use std::path::Path;

use serde_json::json;

use crate::common::failure::Failure;
use crate::common::table::{self, Fit};
use crate::common::text::{plural, printable};
use crate::output;
use crate::terminal::Terminal;
use crate::writing::tensor::Item;

/// Prints the errors as a table, or as a record, which also names the files that were written.
pub fn print(terminal: &mut Terminal, path: &Path, items: &[Item<'_>]) -> Result<(), Failure> {
    let all = items.iter().filter_map(|item| item.errors().map(|(quantizer, errors)| (item, quantizer, errors)));
    if terminal.json {
        let of_one = all.map(|(item, quantizer, errors)| {
            json!({
                "name": item.name,
                "type": quantizer.name(),
                "shape": item.shape,
                "largest_error": errors.largest,
                "rms_error": errors.rms,
                "cosine": errors.cosine,
                "worst_row": { "index": errors.worst.index, "relative_rms_error": errors.worst.relative },
            })
        });
        let written: Vec<_> = output::take_written().iter().map(|path| json!(path.to_string_lossy())).collect();
        let tensors = of_one.collect::<Vec<_>>();
        let record = json!({ "file": path.to_string_lossy(), "tensors": tensors, "written": written });
        return Ok(terminal.record("quantize", record)?);
    }
    let rows: Vec<_> = all
        .map(|(item, quantizer, errors)| {
            [
                printable(&item.name),
                quantizer.name().into(),
                format!("{:.2e}", errors.largest),
                format!("{:.2e}", errors.rms),
                format!("{:.6}", errors.cosine),
                format!("{} ({:.2} %)", errors.worst.index, errors.worst.relative * 100.0),
            ]
        })
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    let titles = [
        ("tensor", Fit::Name),
        ("type", Fit::LeftOut(1)),
        ("largest error", Fit::Whole),
        ("RMS error", Fit::Whole),
        ("cosine", Fit::Whole),
        ("worst row", Fit::LeftOut(2)),
    ];
    Ok(table::print(&mut terminal.out, terminal.look, &titles, &rows)?)
}

/// Warns of tensors that stay as they are because a row has no whole blocks.
pub fn warn_of_kept(terminal: &mut Terminal, names: &[String]) {
    if names.is_empty() {
        return;
    }
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{}\"", printable(name))).collect();
    let (s, all) = (plural(names.len() as u64), quoted.join(", "));
    terminal.warn(&format!("not quantized, because rows are not multiples of 32 elements: tensor{s} {all}"));
}
