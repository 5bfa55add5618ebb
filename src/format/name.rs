//! The names of tensors, for an index of them.
#![forbid(unsafe_code)]

use core::cmp::Ordering;

#[cfg(feature = "safetensors")]
use super::JsonStr;
use crate::bytes::text::Text;
#[cfg(feature = "safetensors")]
use crate::duplicates::Entry as _;

/// A tensor as an index reads it: its name, and the positions that [`NamedTensors::name_at`](super::NamedTensors::name_at)
/// and [`NamedTensors::tensor_at`](super::NamedTensors::tensor_at) take.
#[derive(Clone, Copy)]
pub(crate) struct Named<'a> {
    pub(crate) name: Text<'a>,
    pub(crate) name_at: u32,
    /// The same as `name_at` in most formats.
    pub(crate) tensor_at: u32,
}

/// A name as the file spells it. A comparison reads a name only up to the first difference, since a name as long as the
/// file may be compared with every other.
#[derive(Clone, Copy)]
pub(crate) enum Name<'a> {
    Plain(&'a [u8]),
    #[cfg(feature = "safetensors")]
    Json(JsonStr<'a>),
    /// The path to a value of a pickle.
    #[cfg(feature = "pytorch")]
    Joined(Text<'a>),
}

impl<'a> From<Text<'a>> for Name<'a> {
    fn from(text: Text<'a>) -> Self {
        #[cfg(feature = "pytorch")]
        if text.is_joined() {
            return Self::Joined(text);
        }
        #[cfg(feature = "safetensors")]
        if text.is_escaped() {
            return Self::Json(JsonStr::of(text));
        }
        Self::Plain(text.raw())
    }
}

impl<'n> Name<'n> {
    /// Compares the decoded names in the byte order of UTF-8.
    pub(crate) fn order(self, other: Self) -> Ordering {
        match (self, other) {
            #[cfg(feature = "safetensors")]
            (Self::Json(a), Self::Json(b)) => a.order(b),
            #[cfg(feature = "safetensors")]
            (Self::Plain(a), Self::Json(b)) => b.compare(a).reverse(),
            (a, Self::Plain(b)) => a.compare(b),
            #[cfg(feature = "pytorch")]
            (a, b) => a.text().cmp(&b.text()),
        }
    }

    /// Compares the decoded name with UTF-8 bytes.
    #[inline]
    pub(crate) fn compare(self, other: &[u8]) -> Ordering {
        match self {
            Self::Plain(name) => name.cmp(other),
            #[cfg(feature = "safetensors")]
            Self::Json(name) => name.compare(other),
            #[cfg(feature = "pytorch")]
            Self::Joined(name) => name.chars().cmp(Text::new(other, false).chars()),
        }
    }

    /// The name as a string.
    #[cfg(feature = "pytorch")]
    const fn text(self) -> Text<'n> {
        match self {
            Self::Plain(name) => Text::new(name, false),
            #[cfg(feature = "safetensors")]
            Self::Json(name) => name.text(),
            Self::Joined(name) => name,
        }
    }

    /// Returns true if the decoded names are equal.
    pub(crate) fn is(self, other: Text<'_>) -> bool {
        #[cfg(feature = "safetensors")]
        if other.is_escaped() {
            return match self {
                Self::Plain(name) => other.eq_bytes(name),
                #[cfg(feature = "pytorch")]
                _ if other.is_joined() => self.text() == other,
                Self::Json(name) => name.clashes_with(JsonStr::of(other)),
                #[cfg(feature = "pytorch")]
                Self::Joined(name) => name == other,
            };
        }
        self.compare(other.raw()).is_eq()
    }
}
