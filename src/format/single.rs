//! The formats whose files hold one tensor, of no name: what is the same for all of them stands here.
//!
//! Depends on `super`, and is what the common view sees of those formats, each of which says in [`OneTensor`] what its
//! tensor is.
#![forbid(unsafe_code)]

use super::{Part, formats};
use crate::attributes::Attributes;
use crate::bytes::extent::Extent;
use crate::bytes::text::Text;
use crate::error::{Error, ErrorKind, Result};
use crate::place::{Format, Item};
use crate::shape::Shape;
use crate::vocab::{DType, Layout, Order};
use crate::warning::Warnings;

/// What a file of such a format says of its tensor.
pub(crate) trait OneTensor<'a> {
    /// The version of the file, as it states it.
    fn version(&self) -> Option<&'a str>;
    fn facts(&self) -> Facts;
    /// Not among the facts: a build with one format knows it, and leaves out what other layouts take.
    fn layout(&self) -> Layout;
    fn shape(&self) -> Shape<'a>;
    /// Puts component `index` into `part`, which has the one before it, if there is one; `false` behind the last.
    fn part(&self, index: u8, part: &mut Part<'a>) -> Result<bool>;
}

/// What is the same for as long as a file is open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) dtype: Option<DType>,
    pub(crate) order: Order,
    /// What there is to warn of the file, and so of the tensor: [`Warning::bit`](crate::Warning::bit)s.
    pub(crate) warnings: u32,
    /// Where an error of the tensor as a whole is.
    pub(crate) at: u64,
}

/// A file of one of these formats.
#[derive(Clone, Copy, Debug)]
pub(crate) struct File<'a> {
    facts: Facts,
    of: Of<'a>,
}

macro_rules! of_one {
    (
        ($d:tt)
        several { $($several:tt)* }
        one { $($feature:literal $variant:ident $module:ident $magics:tt $as:ident $doc:literal;)* }
    ) => {
        /// The file of its format.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum Of<'a> {
            $(#[cfg(feature = $feature)] $variant(super::$module::File<'a>),)*
        }

        /// Asks the file, of whichever format it is.
        macro_rules! ask {
            ($d file:expr, $d question:ident $d(, $d argument:expr)*) => {
                match $d file {
                    $(#[cfg(feature = $feature)] Of::$variant(file) => OneTensor::$d question(file $d(, $d argument)*),)*
                }
            };
        }

        impl<'a> File<'a> {
            $(
                #[cfg(feature = $feature)]
                #[allow(unreachable_patterns)] // in a build with one format
                pub(crate) const fn $as(&self) -> Option<&super::$module::File<'a>> {
                    match &self.of {
                        Of::$variant(file) => Some(file),
                        _ => None,
                    }
                }
            )*

            /// The kind of file.
            pub(crate) const fn format(&self) -> Format {
                match self.of {
                    $(#[cfg(feature = $feature)] Of::$variant(_) => Format::$variant,)*
                }
            }
        }
    };
}
formats!(of_one! $);

impl<'a> File<'a> {
    pub(crate) fn new(of: Of<'a>) -> Self {
        Self { facts: ask!(&of, facts), of }
    }

    pub(crate) fn version(&self) -> Option<&'a str> {
        ask!(&self.of, version)
    }

    pub(crate) const fn warnings(&self) -> Warnings {
        Warnings::of_bits(self.facts.warnings)
    }

    pub(crate) const fn count(&self) -> u64 {
        1
    }

    pub(crate) const fn attributes(&self) -> Attributes<'a> {
        Attributes::NONE
    }

    pub(crate) const fn unread_tensor(&self) -> Tensor<'a> {
        Tensor(*self)
    }

    pub(crate) const fn tensors(&self) -> Tensors<'a> {
        Tensors { tensor: Tensor(*self), is_over: false }
    }

    pub(crate) fn find(&self, name: &[u8], _: &mut Tensor<'a>) -> Result<()> {
        if name.is_empty() { Ok(()) } else { Err(Error::new(ErrorKind::NotFound)) }
    }

    pub(crate) const fn check_names(&self, _: &mut [u32]) -> Result<Warnings> {
        Ok(self.warnings())
    }
}

/// The tensor of a file, to be iterated over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tensors<'a> {
    tensor: Tensor<'a>,
    is_over: bool,
}

impl<'a> Tensors<'a> {
    pub(crate) const fn unread(&self) -> Tensor<'a> {
        self.tensor
    }

    /// Why the iteration ended early: never, here.
    #[allow(clippy::unused_self)] // as for formats of many tensors
    pub(crate) const fn error(&self) -> Option<Error> {
        None
    }

    /// Whether there is a next one: it is the [`unread`](Self::unread) one.
    pub(crate) fn advance(&mut self, _: &mut Tensor<'a>) -> bool {
        !core::mem::replace(&mut self.is_over, true)
    }
}

/// The tensor of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tensor<'a>(pub(crate) File<'a>);

impl<'a> Tensor<'a> {
    pub(crate) const fn format(&self) -> Format {
        self.0.format()
    }

    pub(crate) const fn name(&self) -> Text<'a> {
        Text::of("")
    }

    pub(crate) const fn dtype(&self) -> Option<DType> {
        self.0.facts.dtype
    }

    pub(crate) fn shape(&self) -> Shape<'a> {
        ask!(&self.0.of, shape)
    }

    pub(crate) const fn order(&self) -> Order {
        self.0.facts.order
    }

    pub(crate) fn layout(&self) -> Layout {
        ask!(&self.0.of, layout)
    }

    pub(crate) fn layout_name(&self) -> Text<'a> {
        Text::of(self.layout().text())
    }

    pub(crate) const fn index(&self) -> u64 {
        0
    }

    pub(crate) const fn warnings(&self) -> u32 {
        self.0.facts.warnings
    }

    pub(crate) const fn attributes(&self) -> Attributes<'a> {
        Attributes::NONE
    }

    pub(crate) const fn components(&self) -> Components<'a> {
        Components { file: self.0, index: 0, end: 0, error: None }
    }

    /// Puts the first component of that role into `part`.
    pub(crate) fn part(&self, role: &[u8], part: &mut Part<'a>) -> Result<()> {
        let mut index = 0_u8;
        while ask!(&self.0.of, part, index, part)? {
            if part.is_of(role) {
                return Ok(());
            }
            index = index.saturating_add(1);
        }
        Err(Error::new(ErrorKind::NotFound))
    }

    /// No format of one tensor has indices and values in one blob, as 0.1 of zTensor does.
    pub(crate) const fn is_packed(&self) -> bool {
        false
    }

    pub(crate) const fn error(&self, kind: ErrorKind) -> Error {
        Error::at(kind, self.0.format(), Item::Tensor, self.0.facts.at)
    }
}

/// The components of the tensor, in the order of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Components<'a> {
    file: File<'a>,
    index: u8,
    /// Where the one before ends.
    end: u64,
    /// Why the iteration ended early.
    pub(crate) error: Option<Error>,
}

impl<'a> Components<'a> {
    /// Puts the next one into `part`; `false` at the end, or where there is an error.
    pub(crate) fn advance(&mut self, part: &mut Part<'a>) -> bool {
        if self.error.is_some() {
            return false;
        }
        part.extent = Extent::new(self.end, 0);
        let is_there = ask!(&self.file.of, part, self.index, part);
        self.error = is_there.err();
        self.index = self.index.saturating_add(1);
        self.end = part.extent.end().unwrap_or(u64::MAX);
        is_there.unwrap_or(false)
    }
}
