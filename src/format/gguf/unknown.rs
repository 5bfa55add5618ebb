//! ggml types whose tensors cannot be read: removed types and types of forks.
#![forbid(unsafe_code)]

#[cfg(not(target_os = "none"))]
use crate::bytes::num::to_usize;

/// The types that were removed from ggml: number, name, and name in lower case. ggml does not reuse numbers.
macro_rules! removed {
    ($($number:literal $name:literal $lower:literal;)*) => {
        /// Returns the layout name of a removed type.
        #[cfg(not(target_os = "none"))]
        const fn layout_name_of_removed(number: u32) -> Option<&'static str> {
            match number {
                $($number => Some(concat!("gguf.", $lower)),)*
                _ => None,
            }
        }

        /// Returns what an error message says about a removed type.
        pub(super) const fn rule_of_removed(number: u32) -> Option<&'static str> {
            match number {
                $($number => Some(concat!("type ", $number, " of ggml (", $name, ") was removed")),)*
                _ => None,
            }
        }
    };
}

removed! {
    4 "Q4_2" "q4_2";
    5 "Q4_3" "q4_3";
    31 "Q4_0_4_4" "q4_0_4_4";
    32 "Q4_0_4_8" "q4_0_4_8";
    33 "Q4_0_8_8" "q4_0_8_8";
    36 "IQ4_NL_4_4" "iq4_nl_4_4";
    37 "IQ4_NL_4_8" "iq4_nl_4_8";
    38 "IQ4_NL_8_8" "iq4_nl_8_8";
}

/// Returns the layout name of an unknown type: `gguf.139`, or the name of the type if it was removed. Numbers of more
/// than nine bits are not spelled out: `gguf.unknown`.
#[cfg(not(target_os = "none"))]
pub(super) fn layout_name(number: u32) -> &'static str {
    layout_name_of_removed(number).or_else(|| spelled(number)).unwrap_or("gguf.unknown")
}

/// Bare-metal programs spell out no numbers, because the names take 4 KiB of flash.
#[cfg(target_os = "none")]
pub(super) const fn layout_name(_number: u32) -> &'static str {
    "gguf.unknown"
}

/// Returns `gguf.0` to `gguf.511`.
#[cfg(not(target_os = "none"))]
fn spelled(number: u32) -> Option<&'static str> {
    /// The names, eight bytes each, padded with zeros. (The number in the file is not text.)
    static NAMES: [[u8; 8]; 512] = {
        #[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::integer_division)]
        #[allow(clippy::as_conversions)] // evaluated at compile time
        {
            let mut names = [*b"gguf.\0\0\0"; 512];
            let mut number = 0;
            while number < names.len() {
                let digits = [number / 100, number / 10 % 10, number % 10];
                let mut k = if number < 10 {
                    2
                } else if number < 100 {
                    1
                } else {
                    0
                };
                let mut place = 5;
                while k < digits.len() {
                    names[number][place] = b'0' + digits[k] as u8;
                    place += 1;
                    k += 1;
                }
                number += 1;
            }
            names
        }
    };
    let name = to_usize(number.into()).and_then(|number| NAMES.get(number))?;
    let padding = name.iter().rev().take_while(|byte| **byte == 0).count();
    core::str::from_utf8(name.get(..name.len().checked_sub(padding)?)?).ok()
}

#[cfg(test)]
mod tests {
    use std::format;

    use super::{layout_name, rule_of_removed};

    #[test]
    fn names_of_layouts() {
        for number in (0..=511).filter(|number| rule_of_removed(*number).is_none()) {
            assert_eq!(layout_name(number), format!("gguf.{number}"));
        }
        for number in [512, 1000, u32::MAX] {
            assert_eq!((layout_name(number), rule_of_removed(number)), ("gguf.unknown", None));
        }
    }
}
