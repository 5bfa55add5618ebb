//! safetensors files, and indices of models in several files.

use std::iter;

use super::half_sorted;

/// An entry of a header: U8 data from `begin`.
fn entry(name: &str, begin: usize, length: usize) -> String {
    let end = begin + length;
    format!(r#""{name}":{{"dtype":"U8","shape":[{length}],"data_offsets":[{begin},{end}]}}"#)
}

/// A file of these entries, each of which has at most one byte.
fn header_of(entries: impl Iterator<Item = String>) -> Vec<u8> {
    let entries: Vec<_> = entries.collect();
    let header = format!("{{{}}}", entries.join(","));
    let data = entries.iter().filter(|entry| entry.contains("[1]")).count();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![0; data]].concat()
}

pub fn tensors(size: usize) -> Vec<u8> {
    header_of((0..size).map(|i| entry(&format!("{i:06}"), i, 1)))
}

/// Descending names and offsets.
pub fn falling_tensors(size: usize) -> Vec<u8> {
    header_of((0..size).rev().map(|i| entry(&format!("{i:06}"), i, 1)))
}

pub fn falling_names(size: usize) -> Vec<u8> {
    header_of((0..size).rev().map(|i| entry(&format!("{i:06}"), 0, 0)))
}

pub fn falling_places(size: usize) -> Vec<u8> {
    header_of((0..size).map(|i| entry(&format!("{i:06}"), size - 1 - i, 1)))
}

/// Tensors, the last of which has an unknown dtype.
pub fn spoiled(size: usize) -> Vec<u8> {
    header_of((0..=size).map(|i| {
        let entry = entry(&format!("{i:06}"), 0, 0);
        if i < size { entry } else { entry.replace("U8", "U9") }
    }))
}

/// Much white space before a name.
pub fn spaced_name(size: usize) -> Vec<u8> {
    header_of(
        (0..size).map(|i| {
            format!("{}{}", " ".repeat(if i == 1 { 60 * size } else { 0 }), entry(&format!("{i:06}"), 0, 0))
        }),
    )
}

/// A name as long as all other entries.
pub fn long_name(size: usize) -> Vec<u8> {
    header_of(half_sorted(size).into_iter().enumerate().map(|(place, rank)| {
        let rest = if place == 1 { "x".repeat(60 * size) } else { String::new() };
        entry(&format!("{rank:06}{rest}"), 0, 0)
    }))
}

/// Offsets, one of which has as much white space as all other entries are long.
pub fn spaced_place(size: usize) -> Vec<u8> {
    header_of(half_sorted(size).into_iter().enumerate().map(|(place, rank)| {
        let entry = entry(&format!("{place:06}"), rank, 1);
        if place == 1 {
            entry.replace("offsets\":[", &format!("offsets\":[{}", " ".repeat(60 * size)))
        } else {
            entry
        }
    }))
}

/// Offsets in descending order, except for the first one, whose end has much white space before it: all others come
/// after it.
pub fn spaced_end(size: usize) -> Vec<u8> {
    let first = entry("000000", 0, 1).replace("[0,1]", &format!("[0,{}1]", " ".repeat(60 * size)));
    let others = (1..size).map(|place| entry(&format!("{place:06}"), size - place, 1));
    header_of(iter::once(first).chain(others))
}

/// Names that begin with the same escapes.
pub fn escapes_alike(size: usize) -> Vec<u8> {
    let start = "\\u00e9".repeat(3);
    header_of((0..size).rev().map(|i| entry(&format!("{start}{i:06}"), 0, 0)))
}

/// A name of `size` escapes.
pub fn name_of_escapes(size: usize) -> Vec<u8> {
    header_of([entry(&"\\ud83d\\ude00".repeat(size), 0, 1)].into_iter())
}

pub fn metadata(size: usize) -> Vec<u8> {
    let entries: Vec<_> = (0..size).map(|i| format!("\"{i}\":\"text\"")).collect();
    header_of([format!("\"__metadata__\":{{{}}}", entries.join(","))].into_iter())
}

pub fn metadata_before_a_tensor(size: usize) -> Vec<u8> {
    let entries: Vec<_> = (0..size).map(|i| format!("\"{i}\":\"text\"")).collect();
    header_of([format!("\"__metadata__\":{{{}}}", entries.join(",")), entry("a", 0, 0)].into_iter())
}

pub fn attribute_of_escapes(size: usize) -> Vec<u8> {
    header_of([format!("\"__metadata__\":{{\"a\":\"{}\"}}", "\\n\\u20ac".repeat(size))].into_iter())
}

/// Tensors, each with a deeply nested unknown field.
pub fn nested_fields(size: usize) -> Vec<u8> {
    let nested = format!("{{\"x\":{}{}{}, \"dtype\"", "[{\"\":".repeat(60), "[]", "}]".repeat(60));
    header_of((0..size).map(|i| entry(&format!("{i:06}"), 0, 0).replace("{\"dtype\"", &nested)))
}

/// A tensor with `size` unknown fields.
pub fn unknown_fields(size: usize) -> Vec<u8> {
    let fields: String = (0..size).map(|i| format!("\"x{i}\":{i},")).collect();
    header_of([entry("a", 0, 0).replace("{\"dtype\"", &format!("{{{fields}\"dtype\""))].into_iter())
}

pub fn lengths(size: usize) -> Vec<u8> {
    header_of(
        [entry("a", 0, 0).replace("[0],", &format!("[0{}],", ",18446744073709551615".repeat(size)))].into_iter(),
    )
}

/// A tensor of `size` bytes.
pub fn data(size: usize) -> Vec<u8> {
    let header = format!("{{{}}}", entry("a", 0, size));
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![7; size]].concat()
}

/// An index with descending names, each with its own file.
pub fn index(size: usize) -> Vec<u8> {
    index_of(size, |i| format!("\"{i:06}\""))
}

/// An index whose values are not file names.
pub fn index_of_maps(size: usize) -> Vec<u8> {
    index_of(size, |_| "{}".into())
}

/// An index whose values, except for the last, are not file names.
pub fn index_of_lists(size: usize) -> Vec<u8> {
    index_of(size, |i| (if i == 0 { "\"a\"" } else { "[]" }).into())
}

/// An index whose names and files are escapes with the same start.
pub fn index_of_escapes(size: usize) -> Vec<u8> {
    let start = "\\u00e9".repeat(3);
    let entries: Vec<_> = (0..size).rev().map(|i| format!("\"{start}{i:06}\":\"{start}{i:06}\"")).collect();
    format!("{{\"weight_map\":{{{}}}}}", entries.join(",")).into_bytes()
}

fn index_of(size: usize, value: fn(usize) -> String) -> Vec<u8> {
    let entries: Vec<_> = (0..size).rev().map(|i| format!("\"{i:06}\":{}", value(i))).collect();
    format!("{{\"weight_map\":{{{}}}}}", entries.join(",")).into_bytes()
}

/// An index with one file name that is as long as all others together.
pub fn long_file_name(size: usize) -> Vec<u8> {
    let entries = half_sorted(size).into_iter().enumerate().map(|(place, rank)| {
        let rest = if place == 1 { "x".repeat(20 * size) } else { String::new() };
        format!("\"{place:06}\":\"{rank:06}{rest}\"")
    });
    format!("{{\"weight_map\":{{{}}}}}", entries.collect::<Vec<_>>().join(",")).into_bytes()
}

/// An index whose metadata has nested lists.
pub fn nested_metadata(size: usize) -> Vec<u8> {
    let nested = format!("{}{}", "[".repeat(100), "]".repeat(100));
    format!("{{\"metadata\":{{\"a\":[{}]}},\"weight_map\":{{}}}}", vec![nested; size].join(",")).into_bytes()
}

/// An index with `size` metadata entries.
pub fn index_metadata(size: usize) -> Vec<u8> {
    let entries: Vec<_> = (0..size).map(|i| format!("\"{i}\":\"text\"")).collect();
    format!("{{\"metadata\":{{{}}},\"weight_map\":{{}}}}", entries.join(",")).into_bytes()
}

/// An index whose last file has an invalid name.
pub fn spoiled_index(size: usize) -> Vec<u8> {
    let entries: Vec<_> = (0..size).map(|i| format!("\"{i:06}\":\"{i:06}\"")).collect();
    format!("{{\"weight_map\":{{{},\"z\":\"\\x\"}}}}", entries.join(",")).into_bytes()
}
