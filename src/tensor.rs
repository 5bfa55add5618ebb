//! A tensor as every format shows it.
//!
//! Depends on `error`, `bytes`, `vocab`, `shape`, `format`, `component`.
#![forbid(unsafe_code)]

use core::iter::FusedIterator;

use crate::bytes::source::Input;
use crate::codec::cbor::Attributes;
use crate::component::Component;
use crate::error::{Error, ErrorKind, Format, Result};
use crate::format;
use crate::shape::Shape;
use crate::vocab::{DType, Layout, Order};

/// A tensor of an open file: what it is, and the components that it is made of.
///
/// A value of at most 128 bytes that borrows from the file's bytes; copy it freely.
#[derive(Clone, Copy, Debug)]
pub struct Tensor<'a> {
    input: Input<'a>,
    inner: Inner<'a>,
}

/// The tensor of the format it comes from.
#[derive(Clone, Copy, Debug)]
enum Inner<'a> {
    #[cfg(feature = "ztensor")]
    Ztensor(format::ztensor::Tensor<'a>),
}

/// Evaluates an expression for the format's own object, whichever format it is of.
macro_rules! dispatch {
    ($inner:expr, $object:ident => $value:expr) => {
        match $inner {
            #[cfg(feature = "ztensor")]
            Inner::Ztensor($object) => $value,
        }
    };
}

impl<'a> Tensor<'a> {
    /// Its name, which may be empty or hold any character.
    #[must_use]
    pub const fn name(&self) -> &'a str {
        dispatch!(&self.inner, tensor => tensor.name)
    }

    /// The type of its elements: that of `data` or `values`, else of its only component, else `None`.
    #[must_use]
    pub const fn dtype(&self) -> Option<DType> {
        dispatch!(&self.inner, tensor => tensor.dtype)
    }

    /// Its dimensions, outermost first.
    #[must_use]
    pub fn shape(&self) -> Shape<'a> {
        dispatch!(&self.inner, tensor => tensor.shape())
    }

    /// The order of the elements of a dense array.
    #[must_use]
    pub const fn order(&self) -> Order {
        match self.inner {
            #[cfg(feature = "ztensor")]
            Inner::Ztensor(_) => Order::RowMajor, // 1.0 section 2
        }
    }

    /// How its components add up to it.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        dispatch!(&self.inner, tensor => tensor.layout)
    }

    /// The name of the layout, as the file spells it.
    #[must_use]
    pub const fn layout_name(&self) -> &'a str {
        dispatch!(&self.inner, tensor => tensor.layout_name)
    }

    /// Its place among the tensors of the file, from 0.
    #[must_use]
    pub fn index(&self) -> u64 {
        dispatch!(&self.inner, tensor => u64::from(tensor.index))
    }

    /// What there is to warn of it, as bits: [`Warning::bit`](crate::Warning::bit) each.
    #[must_use]
    pub fn warnings(&self) -> u32 {
        dispatch!(&self.inner, tensor => u32::from(tensor.warnings))
    }

    /// What else the file says about it.
    #[must_use]
    pub fn attributes(&self) -> Attributes<'a> {
        dispatch!(&self.inner, tensor => tensor.attributes())
    }

    /// Its components, in the order of the file.
    #[must_use]
    pub fn components(&self) -> Components<'a> {
        Components { input: self.input, inner: dispatch!(&self.inner, tensor => tensor.components().into()) }
    }

    /// The first component of that role. Linear in the number of components.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn component(&self, role: &str) -> Result<Component<'a>> {
        let mut all = self.components();
        let found = all.find(|component| component.role() == role);
        found.ok_or_else(|| all.error().unwrap_or(Error::new(ErrorKind::NotFound)))
    }

    /// The component that holds a dense tensor, all of it.
    ///
    /// # Errors
    /// `NotDense` for any other layout.
    pub fn data(&self) -> Result<Component<'a>> {
        if self.layout() != Layout::Dense {
            return Err(self.error(ErrorKind::NotDense));
        }
        self.component("data")
    }

    fn error(&self, kind: ErrorKind) -> Error {
        dispatch!(&self.inner, tensor => tensor.error(kind))
    }
}

#[cfg(feature = "ztensor")]
impl<'a> Tensor<'a> {
    pub(crate) const fn ztensor(tensor: format::ztensor::Tensor<'a>, input: Input<'a>) -> Self {
        Self { input, inner: Inner::Ztensor(tensor) }
    }
}

/// The components of a tensor. See [`Tensor::components`].
///
/// What they are was checked when the file was opened. Should the bytes have changed since, the iterator
/// ends early and [`error`](Self::error) says why.
#[derive(Clone, Copy, Debug)]
pub struct Components<'a> {
    input: Input<'a>,
    inner: InnerComponents<'a>,
}

#[derive(Clone, Copy, Debug)]
enum InnerComponents<'a> {
    #[cfg(feature = "ztensor")]
    Ztensor(format::ztensor::Components<'a>),
}

#[cfg(feature = "ztensor")]
impl<'a> From<format::ztensor::Components<'a>> for InnerComponents<'a> {
    fn from(components: format::ztensor::Components<'a>) -> Self {
        Self::Ztensor(components)
    }
}

impl Components<'_> {
    /// Why the iterator ended early: the bytes are not what they were when the file was opened.
    #[must_use]
    pub const fn error(&self) -> Option<Error> {
        match &self.inner {
            #[cfg(feature = "ztensor")]
            InnerComponents::Ztensor(components) => components.error,
        }
    }
}

impl<'a> Iterator for Components<'a> {
    type Item = Component<'a>;

    fn next(&mut self) -> Option<Component<'a>> {
        match &mut self.inner {
            #[cfg(feature = "ztensor")]
            InnerComponents::Ztensor(components) => {
                Some(Component::new(components.next()?, self.input, Format::Ztensor))
            }
        }
    }
}

impl FusedIterator for Components<'_> {}
