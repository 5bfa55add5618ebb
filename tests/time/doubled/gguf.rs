//! GGUF files.

use crate::support::gguf::{ARRAY, Gguf, Meta};

pub fn pairs(size: usize) -> Vec<u8> {
    let mut file = Gguf::default();
    for i in 0..size {
        file.pair(format!("{i:06}"), &Meta::U32(7));
    }
    file.pair("last", &Meta::U8(7)).bytes()
}

pub fn falling_keys(size: usize) -> Vec<u8> {
    let mut file = Gguf::default();
    for i in (0..size).rev() {
        file.pair(format!("{i:06}"), &Meta::U32(7));
    }
    file.bytes()
}

/// Descending keys, each with a list of strings.
pub fn lists_and_falling_keys(size: usize) -> Vec<u8> {
    let mut file = Gguf::default();
    let list = Meta::texts((0..100).map(|i| format!("{i}")));
    for i in (0..size).rev() {
        file.pair(format!("{i:06}"), &list);
    }
    file.bytes()
}

pub fn tensors(size: usize) -> Vec<u8> {
    of_names((0..size).map(|i| format!("{i:06}")))
}

pub fn falling_tensors(size: usize) -> Vec<u8> {
    of_names((0..size).rev().map(|i| format!("{i:06}")))
}

/// `size` tensors with names of `size` bytes and four digits. The names differ only in the digits and descend.
pub fn tensors_alike(size: usize) -> Vec<u8> {
    let start = "x".repeat(size);
    of_names((0..size).rev().map(|i| format!("{start}{i:04}")))
}

/// Tensors without elements.
fn of_names(names: impl Iterator<Item = String>) -> Vec<u8> {
    let mut file = Gguf::default();
    for name in names {
        file.tensor(name, &[0, 1, 1, 1], 0, &[]);
    }
    file.bytes()
}

/// Tensors, the last of which has an offset that is not aligned.
pub fn spoiled(size: usize) -> Vec<u8> {
    let mut file = Gguf::default();
    for i in 0..size {
        file.tensor(format!("{i:06}"), &[0, 1, 1, 1], 0, &[]);
    }
    file.info("last", &[0], 0, 1).bytes()
}

/// A list, followed by a pair.
fn one_list(list: &Meta) -> Vec<u8> {
    Gguf::default().pair("a", list).pair("last", &Meta::U8(7)).bytes()
}

pub fn strings(size: usize) -> Vec<u8> {
    one_list(&Meta::texts((0..size).map(|i| format!("{i:06}"))))
}

/// A hundred strings of that length, with characters of several bytes.
pub fn long_strings(size: usize) -> Vec<u8> {
    one_list(&Meta::texts((0..100).map(|_| "\u{e4}".repeat(size / 2))))
}

pub fn truths(size: usize) -> Vec<u8> {
    one_list(&Meta::Array(7, vec![Meta::Bool(1); size]))
}

pub fn numbers(size: usize) -> Vec<u8> {
    one_list(&Meta::Array(4, vec![Meta::U32(7); size]))
}

/// `size` lists of lists of strings.
pub fn wide_lists(size: usize) -> Vec<u8> {
    let inside = Meta::Array(ARRAY, vec![Meta::texts(["a".into(), String::new()].into_iter()); 3]);
    one_list(&Meta::Array(ARRAY, vec![inside; size]))
}

/// `size` lists, each nested to the largest depth, with an empty list at the end.
pub fn deep_lists(size: usize) -> Vec<u8> {
    let inside = (0..6).fold(Meta::Array(0, vec![]), |inside, _| Meta::Array(ARRAY, vec![inside]));
    one_list(&Meta::Array(ARRAY, vec![inside; size]))
}

/// Pairs that exceed a window, followed by strings that take many.
pub fn strings_behind_pairs(size: usize) -> Vec<u8> {
    let mut file = Gguf::default();
    let text = Meta::text("x".repeat(4000));
    for i in 0..size {
        file.pair(format!("{i:06}"), &text);
    }
    file.pair("a", &Meta::texts((0..100 * size).map(|_| "x".repeat(600)))).bytes()
}

/// Lists of numbers, each longer than the range that is requested after it.
pub fn lists_between_pairs(size: usize) -> Vec<u8> {
    let mut file = Gguf::default();
    let list = file.value(&Meta::Array(0, vec![Meta::U8(7); 100_000]));
    for i in 0..size {
        file.raw_pair(format!("{i:06}"), ARRAY, &list);
    }
    file.bytes()
}

/// A tensor of `size` blocks.
pub fn blocks(size: usize) -> Vec<u8> {
    Gguf::default().tensor("a", &[32 * size as u64], 8, &vec![7; 34 * size]).bytes()
}
