//! The rows and columns of a table of tensors.

use std::cmp::Ordering;

use tenslice::{Component, Layout, Order, Tensor};

use super::model::{Array, Model, Opened};
use super::pattern::Pattern;
use super::reading::{Reading, stored};
use super::table::{Fit, NOTHING};
use super::text::{descr_text, distinct, dtype, plain_name, printable, short_size, shortened};

/// A column of a table of tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Column {
    Name,
    Dtype,
    Shape,
    Layout,
    /// The number of elements.
    Elements,
    /// The number of bytes in the file.
    Size,
    /// The place of the first byte in the file.
    Offset,
    Encoding,
    Digest,
    /// The file of the model.
    File,
}

/// The columns of a table, unless others are requested.
pub const USUAL: [Column; 8] = [
    Column::Name,
    Column::Dtype,
    Column::Shape,
    Column::Layout,
    Column::Size,
    Column::Encoding,
    Column::Digest,
    Column::File,
];

impl Column {
    pub fn title(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Dtype => "dtype",
            Self::Shape => "shape",
            Self::Layout => "layout",
            Self::Elements => "elements",
            Self::Size => "size",
            Self::Offset => "offset",
            Self::Encoding => "encoding",
            Self::Digest => "digest",
            Self::File => "file",
        }
    }

    pub fn fit(self) -> Fit {
        match self {
            Self::Name => Fit::Name,
            Self::Dtype | Self::Shape => Fit::Cut,
            Self::Size => Fit::LeftOut(1),
            Self::Layout | Self::Elements | Self::Offset => Fit::LeftOut(2),
            Self::Digest => Fit::LeftOut(3),
            Self::Encoding => Fit::LeftOut(4),
            Self::File => Fit::Secondary(5),
        }
    }

    /// Returns true for a cell that is as in most tensors of most files. A column of such cells is not shown.
    pub fn is_usual(self, cell: &str) -> bool {
        match self {
            Self::Name | Self::Dtype | Self::Shape | Self::Size => false,
            Self::Layout => matches!(cell, "dense" | NOTHING),
            Self::Encoding => cell == "raw",
            _ => cell == NOTHING,
        }
    }
}

/// A tensor of a table.
pub struct Row<'f, 'm> {
    pub opened: &'f Opened<'m>,
    pub tensor: Tensor<'m>,
    pub name: String,
    /// The result of reading the tensor, if it was read.
    pub reading: Option<Reading>,
}

/// The tensors of a model whose names match one of the patterns; without patterns, all tensors. None has been read.
pub fn rows<'f, 'm>(model: &'f Model<'m>, patterns: &[Pattern]) -> Vec<Row<'f, 'm>> {
    let row = |(opened, tensor): (&'f Opened<'m>, Tensor<'m>)| Row {
        opened,
        tensor,
        name: tensor.name().to_string(),
        reading: None,
    };
    let is_wanted =
        |row: &Row<'_, '_>| patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(&row.name));
    model.tensors().map(row).filter(is_wanted).collect()
}

/// The longest type of a record that a table shows in full.
const LONGEST_TYPE: usize = 100;

impl Row<'_, '_> {
    /// The text of a cell: for readers, or `exact` for programs.
    pub fn cell(&self, column: Column, all: bool, exact: bool) -> String {
        let Self { opened, tensor, .. } = self;
        let bytes = |bytes: u64| if exact { bytes.to_string() } else { short_size(bytes) };
        match column {
            Column::Name => plain_name(&self.name),
            Column::Dtype => {
                let text = type_name(opened, tensor);
                if all || exact { text } else { shortened(&text, LONGEST_TYPE) }
            }
            Column::Shape => match opened.array(tensor) {
                Some(array) => format!("{:?}", array.shape),
                None if opened.problem(tensor).is_none() => "compressed".into(),
                None => NOTHING.into(),
            },
            Column::Layout => {
                let layout = if is_blocks(tensor) { NOTHING } else { opened.layout_name(tensor) };
                printable(layout) + order(opened.array(tensor).as_deref())
            }
            Column::Elements => elements(opened, tensor).map_or(NOTHING.into(), |count| count.to_string()),
            Column::Size => bytes(stored(tensor)),
            Column::Offset => self.offset().map_or(NOTHING.into(), |offset| offset.to_string()),
            Column::Encoding => distinct(tensor.components().map(|c| printable(c.encoding_name()))),
            Column::Digest => {
                let state = |i: usize| self.reading.as_ref().map_or("", |reading| reading.digests[i]);
                distinct(tensor.components().enumerate().map(|(i, c)| digest(&c, state(i))))
            }
            Column::File if exact => printable(&opened.path.display().to_string()),
            Column::File => opened.name.map_or(NOTHING.into(), printable),
        }
    }

    /// The place of the first stored byte, if it is in this file.
    fn offset(&self) -> Option<u64> {
        self.tensor.components().filter(|one| one.shard().is_none()).map(|one| one.extent().offset).min()
    }
}

/// The order of the rows of a table.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Sort {
    /// By name, in natural order: layer 2 before layer 10
    Name,
    /// By the number of stored bytes, the largest first
    Size,
    /// By type, and by name
    Dtype,
    /// By place in the file
    Offset,
}

impl Sort {
    pub fn apply(self, rows: &mut [Row<'_, '_>]) {
        let by_name = |a: &Row<'_, '_>, b: &Row<'_, '_>| natural(&a.name, &b.name);
        match self {
            Self::Name => rows.sort_by(by_name),
            Self::Size => rows.sort_by_cached_key(|row| std::cmp::Reverse(stored(&row.tensor))),
            Self::Dtype => {
                rows.sort_by(by_name);
                rows.sort_by_cached_key(|row| type_name(row.opened, &row.tensor));
            }
            Self::Offset => rows.sort_by_cached_key(|row| (row.opened.number, row.offset())),
        }
    }
}

/// Compares names so that numbers in them are in the order of their values.
pub fn natural(a: &str, b: &str) -> Ordering {
    alphanumeric_sort::compare_str(a, b).then_with(|| a.cmp(b))
}

/// The number of elements; `None` if it is unknown, or beyond 64 bits.
pub fn elements(opened: &Opened<'_>, tensor: &Tensor<'_>) -> Option<u64> {
    let array = opened.array(tensor)?;
    array.shape.iter().try_fold(1_u64, |count, length| count.checked_mul(*length))
}

/// Returns true if the elements are in blocks, whose type is the type of the tensor.
fn is_blocks(tensor: &Tensor<'_>) -> bool {
    matches!(tensor.layout(), Layout::Blocks | Layout::Microscaling) || tensor.block_type().is_some()
}

/// The type of the elements: a dtype, the type of blocks, or the type in NumPy's notation.
pub fn type_name(opened: &Opened<'_>, tensor: &Tensor<'_>) -> String {
    if is_blocks(tensor) {
        let name = tensor.block_type().map_or_else(|| tensor.layout_name(), |block| block.layout_name());
        return printable(name.strip_prefix("gguf.").unwrap_or(name));
    }
    opened.array(tensor).as_deref().map(type_text).unwrap_or_else(|| NOTHING.into())
}

/// The dtype, or else the type in NumPy's notation.
fn type_text(array: &Array) -> String {
    match (array.dtype, &array.descr) {
        (None, Some(descr)) => descr_text(descr),
        (of, _) => dtype(of, array.is_big),
    }
}

/// The element order, if it is not row-major.
fn order(array: Option<&Array>) -> &'static str {
    let is_unusual = |array: &Array| array.order == Order::ColumnMajor && array.shape.len() > 1;
    if array.is_some_and(is_unusual) { ", column-major" } else { "" }
}

/// The kind of a digest, which precedes the colon, and the result of verifying it.
fn digest(component: &Component<'_>, state: &str) -> String {
    let kind = component.digest().map_or(NOTHING, digest_kind);
    format!("{} {state}", printable(kind)).trim_end().into()
}

/// The kind of a digest, such as `crc32c`.
pub fn digest_kind(digest: &str) -> &str {
    digest.split(':').next().unwrap_or(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_in_their_order() {
        let mut names = ["layers.10.w", "layers.2.w", "a", "layers.2.b", "layers.02.b", "B"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["B", "a", "layers.2.b", "layers.02.b", "layers.2.w", "layers.10.w"]);
    }
}
