//! Gets a tensor by its name, compared with what a program expects: its elements in place, or as numbers of type `f32`.
//! Explains the difference if they disagree.
#![forbid(unsafe_code)]

use core::fmt;

use crate::bytes::num::to_u64;
use crate::bytes::text::Text;
#[cfg(feature = "dequantize")]
use crate::codec::BuiltIn;
#[cfg(feature = "gguf")]
use crate::codec::blocks::BlockType;
#[cfg(feature = "dequantize")]
use crate::codec::options::ReadOptions;
use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "capi")]
use crate::types::ByteOrder;
use crate::types::{DType, Layout, Order};
use crate::view::component::Component;
use crate::view::explain::{Formatted, Out, kind_text, plain, quoted, shape};
use crate::view::file::File;
use crate::view::index::Index;
use crate::view::tensor::Tensor;

/// The name of a tensor, and what a program expects of it: the type of its elements, a shape, and an order. See
/// [`File::get`].
///
/// ```
/// # #[cfg(feature = "ztensor")] {
/// # let bytes: &[u8] = include_bytes!("../../tests/fixtures/v1.2/dense_all_dtypes.zt");
/// use tenslice::{DType, Expected, File};
///
/// let file = File::open(bytes)?;
/// let weight = Expected::named("t.float64").dtype(DType::F64).shape(&[2, 3]);
/// match file.get(&weight) {
///     Ok(data) => println!("{:?}", data.as_slice::<f64>()),
///     Err(error) => println!("{}", weight.explain(&file, error)),
/// }
/// # }
/// # Ok::<(), tenslice::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Expected<'e> {
    name: &'e [u8],
    stored: Option<Stored>,
    shape: Option<&'e [u64]>,
    order: Option<Order>,
}

/// The type in which the elements of a tensor are stored.
#[derive(Clone, Copy, Debug)]
enum Stored {
    DType(DType),
    #[cfg(feature = "gguf")]
    Blocks(BlockType),
}

impl Stored {
    fn is_of(self, tensor: &Tensor<'_>) -> bool {
        match self {
            Self::DType(dtype) => tensor.dtype() == Some(dtype),
            #[cfg(feature = "gguf")]
            Self::Blocks(block) => tensor.block_type() == Some(block),
        }
    }

    /// Returns the bytes of a component if they have the alignment and the byte order that C needs. Blocks are
    /// little-endian on every machine, as the functions that decode them take them, and need no more than 4 bytes.
    #[cfg(feature = "capi")]
    #[inline(always)] // a program for a chip has one caller
    fn bytes_of<'a>(self, component: &Component<'a>) -> Result<&'a [u8]> {
        let (alignment, order) = match self {
            Self::DType(dtype) => (dtype.alignment(), ByteOrder::NATIVE),
            #[cfg(feature = "gguf")]
            Self::Blocks(_) => (4, ByteOrder::Little),
        };
        component.aligned_bytes(alignment, order)
    }

    fn text(self) -> &'static str {
        match self {
            Self::DType(dtype) => dtype.name_for_c(),
            #[cfg(feature = "gguf")]
            Self::Blocks(block) => block.layout_name(),
        }
    }
}

impl<'e> Expected<'e> {
    /// Expects a tensor named `name`.
    #[must_use]
    pub const fn named(name: &'e str) -> Self {
        Self::with_bytes(name.as_bytes())
    }

    /// Expects a tensor named by these bytes. If they are not UTF-8, no tensor has this name.
    pub(crate) const fn with_bytes(name: &'e [u8]) -> Self {
        Self { name, stored: None, shape: None, order: None }
    }

    /// Expects that the file stores elements of this dtype.
    #[must_use]
    pub const fn dtype(self, dtype: DType) -> Self {
        Self { stored: Some(Stored::DType(dtype)), ..self }
    }

    /// Expects that the file stores the elements in quantized blocks of this type.
    #[cfg(feature = "gguf")]
    #[must_use]
    pub const fn blocks(self, block: BlockType) -> Self {
        Self { stored: Some(Stored::Blocks(block)), ..self }
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

    #[cfg(feature = "capi")]
    pub(crate) const fn lengths(&self) -> Option<&'e [u64]> {
        self.shape
    }

    /// Returns the expected order, if any.
    fn expected_order(&self) -> Option<Order> {
        self.order.or(self.shape.map(|_| Order::RowMajor))
    }

    /// Returns the bytes of the elements as C takes them: of the expected type, in its byte order, and aligned. If no
    /// type is expected, returns them as they are in the file.
    #[cfg(feature = "capi")]
    pub(crate) fn bytes_of<'a>(&self, component: &Component<'a>) -> Result<&'a [u8]> {
        match self.stored {
            Some(stored) => stored.bytes_of(component),
            None => component.bytes(),
        }
    }

    /// Compares the shape. It is compared before everything else, so that a program that accepts several types does not
    /// accept any shape. If the file does not state the shape, the layout is the difference.
    #[inline(always)]
    fn check_shape(&self, tensor: &Tensor<'_>) -> Result<()> {
        let differs = self.shape.is_some_and(|shape| tensor.shape() != *shape);
        if differs && !tensor.is_unknown() { Err(tensor.error(ErrorKind::WrongShape)) } else { Ok(()) }
    }

    /// Compares the type and the order.
    #[inline(always)]
    fn check_elements(&self, tensor: &Tensor<'_>) -> Result<()> {
        if self.stored.is_some_and(|stored| !stored.is_of(tensor)) {
            return Err(tensor.error(ErrorKind::WrongType));
        }
        if self.expected_order().is_some_and(|order| order != tensor.order()) && tensor.shape().has_order() {
            return Err(tensor.error(ErrorKind::WrongOrder));
        }
        Ok(())
    }

    /// Compares a tensor, except its name, with what is expected. Reads the component that holds its elements into
    /// `component`, a blank component of the tensor. Inlined: a program for a chip has one caller.
    #[inline(always)]
    pub(crate) fn check_into<'a>(&self, tensor: &Tensor<'a>, component: &mut Component<'a>) -> Result<()> {
        self.check_shape(tensor)?;
        match self.stored {
            #[cfg(feature = "gguf")]
            Some(Stored::Blocks(_)) if tensor.layout() == Layout::Blocks => {
                tensor.component_into(b"data", component)?;
            }
            _ => tensor.data_into(component)?,
        }
        self.check_elements(tensor)?;
        #[cfg(all(feature = "gguf", feature = "ztensor2"))]
        if let Some(Stored::Blocks(block)) = self.stored {
            tensor.check_block(block)?;
        }
        Ok(())
    }

    /// Returns the message of an error of [`File::get`] or [`File::get_f32`], or of a call that reads the tensor found. It names the
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
    /// Finds a tensor, compares it with what is expected, and returns the component that holds its elements, as
    /// [`Tensor::get`] does. Linear in the bytes of the metadata, as [`find`](Self::find) is.
    ///
    /// # Errors
    /// `NotFound` and the errors of [`Tensor::get`]; another error if the bytes have changed since the file was opened.
    /// [`Expected::explain`] has messages.
    pub fn get(&self, expected: &Expected<'_>) -> Result<Component<'a>> {
        let mut tensor = self.blank_tensor();
        self.find_into(expected.name, &mut tensor)?;
        tensor.get(expected)
    }

    /// Finds a tensor, compares it with what is expected, and returns its elements as `f32`, as [`Tensor::get_f32`]
    /// does. Linear in the bytes of the metadata, as [`find`](Self::find) is, and in the elements if they are converted.
    ///
    /// # Errors
    /// `NotFound` and the errors of [`Tensor::get_f32`], for which [`Expected::explain`] has messages.
    #[cfg(feature = "dequantize")]
    pub fn get_f32<'d>(
        &self,
        expected: &Expected<'_>,
        room: &'d mut [f32],
        options: ReadOptions<'_>,
    ) -> Result<&'d [f32]>
    where
        'a: 'd,
    {
        let mut tensor = self.blank_tensor();
        self.find_into(expected.name, &mut tensor)?;
        tensor.get_f32(expected, room, options)
    }
}

impl<'a> Index<'_, 'a> {
    /// Finds a tensor, compares it with what is expected, and returns the component that holds its elements, as
    /// [`Tensor::get`] does.
    ///
    /// # Errors
    /// The errors of [`find`](Self::find) and of [`Tensor::get`], for which [`Expected::explain`] has messages.
    pub fn get(&self, expected: &Expected<'_>) -> Result<Component<'a>> {
        self.find_bytes(expected.name)?.get(expected)
    }

    /// Finds a tensor, compares it with what is expected, and returns its elements as `f32`, as [`Tensor::get_f32`]
    /// does.
    ///
    /// # Errors
    /// The errors of [`find`](Self::find) and of [`Tensor::get_f32`], for which [`Expected::explain`] has messages.
    #[cfg(feature = "dequantize")]
    pub fn get_f32<'d>(
        &self,
        expected: &Expected<'_>,
        room: &'d mut [f32],
        options: ReadOptions<'_>,
    ) -> Result<&'d [f32]>
    where
        'a: 'd,
    {
        self.find_bytes(expected.name)?.get_f32(expected, room, options)
    }
}

impl<'a> Tensor<'a> {
    /// Compares this tensor, except its name, with what is expected, and returns the component that holds its elements:
    /// of a dense tensor or, if [blocks](Expected::blocks) are expected, of a quantized one. Constant cost.
    ///
    /// The shape is compared first. A program that accepts several types gets `WrongShape` for each of them.
    ///
    /// # Errors
    /// `WrongShape`, `NotDense`, `WrongType`, `WrongOrder`; the tensor's own [`problem`](Self::problem), if it has one.
    pub fn get(&self, expected: &Expected<'_>) -> Result<Component<'a>> {
        let mut component = self.blank_component();
        expected.check_into(self, &mut component).map(|()| component)
    }

    /// Compares this tensor, except its name, with what is expected, and returns its elements as `f32`, whatever their
    /// type, layout and encoding. If they are stored as `f32`, in this machine's byte order and aligned, returns them
    /// in place. Otherwise converts them into `room`, as [`read_f32_into`](Self::read_f32_into) does, and returns the
    /// part of `room` written.
    ///
    /// [`requirements`](Self::requirements) returns the least length of `room` (0 if the elements are returned in
    /// place) and of the scratch memory: [`Purpose::GetF32`](crate::Purpose::GetF32). Constant cost in place, else the
    /// cost of [`read_f32_into`](Self::read_f32_into). If a type is expected, the tensor must be stored in it.
    ///
    /// # Errors
    /// `WrongShape`, `WrongType`, `WrongOrder`, and the errors of [`read_f32_into`](Self::read_f32_into).
    ///
    /// ```
    /// # #[cfg(feature = "ztensor")] {
    /// # let bytes: &[u8] = include_bytes!("../../tests/fixtures/v1.2/dense_all_dtypes.zt");
    /// use tenslice::{Expected, File, ReadOptions};
    ///
    /// let file = File::open(bytes)?;
    /// let mut room = [0.0; 6];
    /// let expected = Expected::named("t.float64").shape(&[2, 3]);
    /// match file.get_f32(&expected, &mut room, ReadOptions::new()) {
    ///     Ok(numbers) => println!("{numbers:?}"),
    ///     Err(error) => println!("{}", expected.explain(&file, error)),
    /// }
    /// # }
    /// # Ok::<(), tenslice::Error>(())
    /// ```
    #[cfg(feature = "dequantize")]
    #[inline]
    pub fn get_f32<'d>(
        &self,
        expected: &Expected<'_>,
        room: &'d mut [f32],
        options: ReadOptions<'_>,
    ) -> Result<&'d [f32]>
    where
        'a: 'd,
    {
        self.check(expected)?;
        let mut built_in = BuiltIn::default();
        let (decoder, scratch) = options.parts(&mut built_in);
        self.f32_of(self.elements_component(), decoder, room, scratch)
    }

    /// Compares this tensor, except its name and its layout, with what is expected.
    #[cfg(feature = "dequantize")]
    pub(crate) fn check(&self, expected: &Expected<'_>) -> Result<()> {
        expected.check_shape(self)?;
        self.problem().map_or(Ok(()), Err)?;
        expected.check_elements(self)
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
        let is_compared = match error.kind() {
            ErrorKind::WrongType => self.stored.is_some_and(|stored| !stored.is_of(tensor)),
            kind => matches!(kind, ErrorKind::NotDense | ErrorKind::WrongShape | ErrorKind::WrongOrder),
        };
        if !is_compared {
            out.text(": ");
            return kind_text(out, error.kind());
        }
        out.text(": expected");
        match self.stored {
            Some(stored) => {
                out.text(" ");
                out.text(stored.text());
            }
            None if error.kind() == ErrorKind::NotDense => out.text(" a dense tensor"),
            None => {}
        }
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
        let longest = "y".repeat(LONGEST);
        assert_eq!((distance(&longest, "z"), distance("z", &longest)), (Some(64), Some(64)));
        assert_eq!(distance("z", &long), None);
    }
}
