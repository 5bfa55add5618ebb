//! Enums whose numbers are the codes of the C ABI: pinned, gapped, never reused.
//!
//! Depends on nothing.
#![forbid(unsafe_code)]

/// Declares an enum whose variants carry a pinned number, a name and a line of text, and lists the variants.
macro_rules! pinned {
    ($(#[$meta:meta])* $name:ident: $repr:ident { $($(#[$doc:meta])* $variant:ident = $code:literal, $text:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[repr($repr)]
        pub enum $name { $($(#[$doc])* #[doc = $text] $variant = $code,)* }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.text())
            }
        }

        impl $name {
            /// Every value, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the pinned number; the same in C, except that a warning is represented by its bit there.
            #[must_use]
            pub const fn code(self) -> $repr {
                #[allow(clippy::as_conversions)] // the discriminant of a fieldless enum
                { self as $repr }
            }

            /// Returns the name of the variant.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)* }
            }

            /// Returns the text that describes it.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The names of all values, each NUL-terminated as C takes them, then the texts.
            ///
            /// One string for all: linkers keep either every NUL-terminated string of a library or none of them.
            #[cfg(feature = "capi")]
            #[allow(dead_code)] // not every enum has both in C
            pub(crate) const NAMES: &'static str = concat!($(stringify!($variant), "\0"),*);
            #[allow(dead_code)] // not every enum is in messages
            pub(crate) const TEXTS: &'static str = concat!($($text, "\0"),*);

            /// Returns the value with that pinned number.
            #[allow(dead_code)] // not every enum is converted back
            pub(crate) const fn from_code(code: $repr) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)* _ => None }
            }
        }
    };
}
pub(crate) use pinned;
