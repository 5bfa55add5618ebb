//! Finds a tensor and compares it with what a program expects, in one call; explains the difference if they disagree.
#![forbid(unsafe_code)]

use core::fmt;

use crate::bytes::num::to_u64;
use crate::bytes::text::Text;
use crate::error::{Error, ErrorKind, Result};
use crate::types::{DType, Layout, Order};
use crate::view::component::Component;
use crate::view::explain::{Formatted, Out, kind_text, plain, quoted, shape};
use crate::view::file::File;
use crate::view::tensor::Tensor;

/// The name of a tensor, and what a program expects of it: a dense tensor with a dtype, a shape and an order. See
/// [`File::expect`].
///
/// ```
/// # #[cfg(feature = "ztensor")] {
/// # let bytes: &[u8] = include_bytes!("../../tests/fixtures/v1.2/dense_all_dtypes.zt");
/// use tenslice::{DType, Expected, File};
///
/// let file = File::open(bytes)?;
/// let weight = Expected::named("t.float64").dtype(DType::F64).shape(&[2, 3]);
/// match file.expect(&weight) {
///     Ok(data) => println!("{:?}", data.as_slice::<f64>()),
///     Err(error) => println!("{}", weight.explain(&file, error)),
/// }
/// # }
/// # Ok::<(), tenslice::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Expected<'e> {
    name: &'e [u8],
    dtype: Option<DType>,
    shape: Option<&'e [u64]>,
    order: Option<Order>,
}

impl<'e> Expected<'e> {
    /// Expects a dense tensor named `name`.
    #[must_use]
    pub const fn named(name: &'e str) -> Self {
        Self::with_bytes(name.as_bytes())
    }

    /// Expects a dense tensor named by these bytes. If they are not UTF-8, no tensor has this name.
    pub(crate) const fn with_bytes(name: &'e [u8]) -> Self {
        Self { name, dtype: None, shape: None, order: None }
    }

    /// Expects elements of this dtype.
    #[must_use]
    pub const fn dtype(self, dtype: DType) -> Self {
        Self { dtype: Some(dtype), ..self }
    }

    /// Expects this shape, in the order of the file; `&[]` for a scalar. Also expects elements in row-major order,
    /// unless another [`order`](Self::order) is set.
    #[must_use]
    pub const fn shape(self, shape: &'e [u64]) -> Self {
        Self { shape: Some(shape), ..self }
    }

    /// Expects elements in this order. The order makes a difference only if at least two dimensions are longer than 1.
    #[must_use]
    pub const fn order(self, order: Order) -> Self {
        Self { order: Some(order), ..self }
    }

    pub(crate) const fn name(&self) -> &'e [u8] {
        self.name
    }

    /// Returns the expected order, if any.
    fn expected_order(&self) -> Option<Order> {
        self.order.or(self.shape.map(|_| Order::RowMajor))
    }

    /// Compares a tensor, except its name, with what is expected. Reads the component that holds its elements into
    /// `component`, a blank component of the tensor. Inlined: a program for a chip has one caller.
    #[inline(always)]
    pub(crate) fn check_into<'a>(&self, tensor: &Tensor<'a>, component: &mut Component<'a>) -> Result<()> {
        tensor.data_into(component)?;
        if self.dtype.is_some_and(|dtype| tensor.dtype() != Some(dtype)) {
            return Err(tensor.error(ErrorKind::WrongType));
        }
        if self.shape.is_some_and(|shape| tensor.shape() != *shape) {
            return Err(tensor.error(ErrorKind::WrongShape));
        }
        if self.expected_order().is_some_and(|order| order != tensor.order()) && tensor.shape().has_order() {
            return Err(tensor.error(ErrorKind::WrongOrder));
        }
        Ok(())
    }

    /// Returns the message of an error of [`File::expect`], or of a call that reads the tensor found: it names the
    /// tensor, what was expected, and what the file has instead. If there is no tensor of this name, the message
    /// suggests the nearest name in the file, if that differs in no more than about a quarter of its bytes.
    ///
    /// Nothing is allocated; the metadata is read while the message is printed.
    #[must_use]
    pub const fn explain<'a>(&self, file: &'e File<'a>, error: Error) -> Mismatch<'e, 'a> {
        Mismatch { expected: *self, file, error }
    }
}

impl<'a> File<'a> {
    /// Finds a tensor, compares it with what is expected, and returns the component that holds its elements. Linear in
    /// the bytes of the metadata, as [`find`](Self::find) is.
    ///
    /// # Errors
    /// `NotFound`, `NotDense`, `WrongType`, `WrongShape`, `WrongOrder`, for which [`Expected::explain`] has messages;
    /// another error if the bytes have changed since the file was opened.
    pub fn expect(&self, expected: &Expected<'_>) -> Result<Component<'a>> {
        let mut tensor = self.blank_tensor();
        self.find_into(expected.name, &mut tensor)?;
        tensor.expect(expected)
    }
}

impl<'a> Tensor<'a> {
    /// Compares this tensor, except its name, with what is expected, and returns the component that holds its elements.
    ///
    /// # Errors
    /// `NotDense`, `WrongType`, `WrongShape`, `WrongOrder`.
    pub fn expect(&self, expected: &Expected<'_>) -> Result<Component<'a>> {
        let mut component = self.blank_component();
        expected.check_into(self, &mut component).map(|()| component)
    }
}

/// The message of an error about an expected tensor: see [`Expected::explain`].
#[derive(Clone, Copy, Debug)]
pub struct Mismatch<'e, 'a> {
    expected: Expected<'e>,
    file: &'e File<'a>,
    error: Error,
}

impl fmt::Display for Mismatch<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Formatted::write(f, |out| self.write_to(out))
    }
}

impl Mismatch<'_, '_> {
    pub(crate) fn write_to(&self, out: &mut impl Out) {
        match search(self.file, self.expected.name) {
            Ok(tensor) => self.expected.write_difference(out, self.error, &tensor),
            Err(nearest) => self.expected.write_absence(out, nearest),
        }
    }
}

impl Expected<'_> {
    /// Writes that no tensor has the name, and the nearest name.
    #[inline(always)]
    pub(crate) fn write_absence(&self, out: &mut impl Out, nearest: Option<Text<'_>>) {
        name(out, "no tensor \"", self.name);
        if let Some(nearest) = nearest {
            quoted(out, "; the nearest name is ", nearest);
        }
    }

    /// Writes in what the tensor found differs from what is expected.
    #[inline(always)] // a program for a chip has one caller
    pub(crate) fn write_difference(&self, out: &mut impl Out, error: Error, tensor: &Tensor<'_>) {
        name(out, "tensor \"", self.name);
        out.text(": ");
        let is_compared = matches!(
            error.kind(),
            ErrorKind::NotDense | ErrorKind::WrongType | ErrorKind::WrongShape | ErrorKind::WrongOrder
        );
        if !is_compared {
            return kind_text(out, error.kind());
        }
        out.text("expected ");
        out.text(self.dtype.map_or("a dense tensor", DType::name_for_c));
        if let Some(lengths) = self.shape {
            shape(out, lengths.iter().copied());
        }
        if error.kind() == ErrorKind::WrongOrder {
            in_order(out, self.expected_order().unwrap_or(Order::RowMajor));
            out.text("; the file has it");
            in_order(out, tensor.order());
            return out.text(": expect that order");
        }
        out.text("; the file has ");
        out.text(tensor.dtype().map_or("numbers", DType::name_for_c));
        shape(out, tensor.shape().iter());
        if tensor.order() == Order::ColumnMajor && tensor.shape().has_order() {
            in_order(out, tensor.order());
        }
        if tensor.layout() != Layout::Dense {
            quoted(out, " in the layout ", tensor.layout_name().into());
        }
    }
}

/// Writes ` in row-major order`.
#[inline(never)]
fn in_order(out: &mut impl Out, order: Order) {
    out.text(" in ");
    out.text(order.text());
    out.text(" order");
}

/// Writes `before`, the requested name and a quotation mark. Parts of the name that are not UTF-8 are written as
/// U+FFFD.
fn name(out: &mut impl Out, before: &str, name: &[u8]) {
    out.text(before);
    for chunk in name.utf8_chunks() {
        plain(out, chunk.valid().into());
        if !chunk.invalid().is_empty() {
            out.text("\u{fffd}");
        }
    }
    out.text("\"");
}

/// The maximum length of the parts of two names that are compared byte by byte: it limits the cost to this many steps
/// per byte of a name.
const LONGEST: usize = 64;

/// Returns the first tensor named `name`. If there is none, returns the nearest name that is near enough.
fn search<'a>(file: &File<'a>, name: &[u8]) -> core::result::Result<Tensor<'a>, Option<Text<'a>>> {
    let (mut limit, mut nearest) = (nearest_limit(name), None);
    for tensor in file.tensors() {
        let other = tensor.name();
        if other.eq_bytes(name) {
            return Ok(tensor);
        }
        consider(name, other, &mut limit, &mut nearest);
    }
    Err(nearest)
}

/// Returns the largest distance at which a name is near enough to `name`.
#[inline(always)]
pub(crate) fn nearest_limit(name: &[u8]) -> u64 {
    to_u64(name.len()).saturating_add(2) >> 2
}

/// Makes `other` the nearest name if it is not farther than `limit`, and lowers the limit. Among names that are equally
/// near, the first one counts.
#[inline(always)]
pub(crate) fn consider<'a>(name: &[u8], other: Text<'a>, limit: &mut u64, nearest: &mut Option<Text<'a>>) {
    if let Some(distance) = distance(name, other.raw()).filter(|distance| *distance <= *limit) {
        (*limit, *nearest) = (distance.saturating_sub(1), Some(other));
    }
}

/// Returns the Levenshtein distance of two names: the number of bytes to change, insert or delete to make one of the
/// other. `None` if the parts between the first and the last difference are longer than [`LONGEST`].
#[inline(always)] // a program for a chip has one caller
fn distance(name: &[u8], other: &[u8]) -> Option<u64> {
    let common = name.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (name, other) = (name.get(common..)?, other.get(common..)?);
    let common = name.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    let name = name.get(..name.len().checked_sub(common)?)?;
    let other = other.get(..other.len().checked_sub(common)?)?;
    if name.len() > LONGEST || other.len() > LONGEST {
        return None;
    }
    // After each byte of `name`: the distances from what has been read of `name` to each prefix of `other`.
    let mut to_nothing = 0_u64;
    let mut row = [0_u64; LONGEST];
    let row = row.get_mut(..other.len())?;
    row.iter_mut().zip(1..).for_each(|(cell, length)| *cell = length);
    for byte in name {
        let mut diagonal = to_nothing;
        to_nothing = to_nothing.saturating_add(1);
        let mut left = to_nothing;
        for (cell, other) in row.iter_mut().zip(other) {
            let changed = diagonal.saturating_add(u64::from(byte != other));
            diagonal = *cell;
            left = changed.min(left.saturating_add(1)).min(cell.saturating_add(1));
            *cell = left;
        }
    }
    Some(row.last().copied().unwrap_or(to_nothing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_levenshteins() {
        let distance = |a: &str, b: &str| distance(a.as_bytes(), b.as_bytes());
        for (a, b, expected) in [
            ("", "", 0),
            ("a", "", 1),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("layer1.weight", "layer1.wieght", 2),
            ("layer1.weight", "layer12.weight", 1),
            ("flaw", "lawn", 2),
            ("aa", "aaa", 1),
        ] {
            assert_eq!((distance(a, b), distance(b, a)), (Some(expected), Some(expected)), "{a} {b}");
        }
        let long = std::format!("{}x", "y".repeat(LONGEST));
        assert_eq!(distance(&long, "z"), None);
        assert_eq!(distance(&long, long.trim_end_matches("x")), Some(1));
    }
}
