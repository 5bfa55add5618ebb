//! Enums whose numbers are the codes of the C ABI: pinned, with gaps, never reused.
#![forbid(unsafe_code)]

/// Declares an enum whose variants each have a pinned number, a name and a line of text, and lists the variants.
macro_rules! abi_enum {
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
            /// All values, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the pinned number. The number is the same in C, except that C represents a warning by its bit.
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

            /// Returns the text that describes the value.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The names of all values, each terminated by NUL for C, then the texts.
            ///
            /// All names are in one string: linkers keep either every NUL-terminated string of a library or none of
            /// them.
            #[cfg(feature = "capi")]
            #[allow(dead_code)] // not every enum has both in C
            pub(crate) const NAMES: &'static str = concat!($(stringify!($variant), "\0"),*);
            #[allow(dead_code)] // not every enum is in messages
            pub(crate) const TEXTS: &'static str = concat!($($text, "\0"),*);

            /// Returns the value with the pinned number `code`.
            #[allow(dead_code)] // not every enum is converted back
            pub(crate) const fn from_code(code: $repr) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)* _ => None }
            }
        }
    };
}
pub(crate) use abi_enum;
