//! zTensor 0.1 to 1.2 files.

use super::half_sorted;
use crate::support::{Cbor, component, file_0_1, file_1_2, manifest_1_2, tensor};

/// The file with this data instead of its four bytes of data.
fn with_data(mut file: Vec<u8>, data: &[u8]) -> Vec<u8> {
    file.splice(64..68, data.iter().copied());
    file
}

pub fn tensors(size: usize) -> Vec<u8> {
    named((0..size).map(|i| format!("{i:06}")))
}

pub fn falling_names(size: usize) -> Vec<u8> {
    named((0..size).rev().map(|i| format!("{i:06}")))
}

/// `size` tensors with names of `size` bytes and four digits. The names differ only in the digits and descend.
pub fn names_alike(size: usize) -> Vec<u8> {
    let start = "x".repeat(size);
    named((0..size).rev().map(|number| format!("{start}{number:04}")))
}

/// Names, one of which is as long as all others together.
pub fn long_name(size: usize) -> Vec<u8> {
    let ranks = half_sorted(size).into_iter().enumerate();
    named(ranks.map(|(place, rank)| format!("{rank:06}{}", "x".repeat(if place == 1 { 60 * size } else { 0 }))))
}

fn named(names: impl Iterator<Item = String>) -> Vec<u8> {
    let names: Vec<String> = names.collect();
    file_1_2(&manifest_1_2(names.iter().map(String::as_str)))
}

/// Tensors, the last of which has a length that does not match its shape.
pub fn spoiled(size: usize) -> Vec<u8> {
    let mut file = tensors(size);
    let at = file.len() - 17;
    file[at] = 5;
    file
}

/// A list of tensors, one of which has an attribute as long as all others before its name.
pub fn name_behind(size: usize) -> Vec<u8> {
    let ranks = half_sorted(size).into_iter().enumerate();
    list_of(ranks.map(|(place, rank)| (if place == 1 { 100 * size } else { 0 }, rank)))
}

/// A list of tensors with one name. The first tensor has an attribute as long as all others before its name.
pub fn one_name(size: usize) -> Vec<u8> {
    list_of((0..size).map(|place| (if place == 0 { 100 * size } else { 0 }, 7)))
}

/// A zTensor 0.1 file of tensors in descending order.
pub fn list(size: usize) -> Vec<u8> {
    list_of((0..size).rev().map(|name| (0, name)))
}

/// A zTensor 0.1 file. For each tensor: the length of an attribute before its name, and the number that is its name.
fn list_of(tensors: impl ExactSizeIterator<Item = (usize, usize)>) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.array(tensors.len() as u64);
    for (length, name) in tensors {
        cbor.map(7).text("own").array(length as u64).raw(&vec![0; length]).text("name").text(&format!("{name:06}"));
        cbor.text("offset").uint(64).text("size").uint(0).text("dtype").text("uint8");
        cbor.text("shape").array(1).uint(0).text("encoding").text("raw");
    }
    file_0_1(&cbor.0)
}

/// One tensor of a custom layout. Its first component has a long value under an unknown key. The roles of the others
/// descend, so that each has to be compared with those before it.
pub fn falling_roles(size: usize) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.map(2).text("version").text("1.2.0").text("objects").map(1).text("w").map(3);
    cbor.text("shape").array(0).text("format").text("own").text("components").map(size as u64 + 1);
    cbor.text("z").map(4).text("x").array(20 * size as u64).raw(&vec![0; 20 * size]);
    cbor.text("dtype").text("u8").text("offset").uint(64).text("length").uint(0);
    for role in (0..size).rev() {
        cbor.text(&format!("a{role:07}"));
        component(&mut cbor);
    }
    file_1_2(&cbor.0)
}

/// One tensor of components with ascending roles, each with a digest of empty data.
pub fn components(size: usize) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.map(2).text("version").text("1.2.0").text("objects").map(1).text("w").map(3);
    cbor.text("shape").array(0).text("format").text("own").text("components").map(size as u64);
    for role in 0..size {
        cbor.text(&format!("a{role:07}")).map(4).text("dtype").text("u8").text("offset").uint(64);
        cbor.text("length").uint(0).text("digest").text("crc32c:0x00000000");
    }
    file_1_2(&cbor.0)
}

/// Attributes of the file, and of a tensor.
pub fn attributes(size: usize) -> Vec<u8> {
    with_attributes(size, |cbor, i| {
        cbor.text(&format!("{i}"));
    })
}

/// Attributes that are lists nested to the largest depth.
pub fn deep_attributes(size: usize) -> Vec<u8> {
    with_attributes(size, |cbor, _| {
        cbor.raw(&[0x81; 26]).uint(0);
    })
}

/// An attribute that is a text of `size` chunks.
pub fn pieces(size: usize) -> Vec<u8> {
    with_attributes(1, |cbor, _| {
        cbor.raw(&[0x7f]);
        (0..size).for_each(|_| {
            cbor.text("\u{e4}");
        });
        cbor.raw(&[0xff]);
    })
}

/// Nested lists of indefinite length.
pub fn open_ended(size: usize) -> Vec<u8> {
    with_attributes(size, |cbor, _| {
        cbor.raw(&[0x9f, 0x9f, 0x9f, 0, 0xff, 0xff, 0xff]);
    })
}

fn with_attributes(size: usize, value: impl Fn(&mut Cbor, usize)) -> Vec<u8> {
    let mut cbor = Cbor::default();
    let all = |cbor: &mut Cbor| {
        cbor.text("attributes").map(size as u64);
        for i in 0..size {
            cbor.text(&format!("{i:06}"));
            value(cbor, i);
        }
    };
    cbor.map(3).text("version").text("1.2.0");
    all(&mut cbor);
    cbor.text("objects").map(1).text("w").map(4).text("shape").array(0).text("format").text("dense");
    all(&mut cbor);
    cbor.text("components").map(1).text("data");
    component(&mut cbor);
    file_1_2(&cbor.0)
}

/// Unknown keys in the manifest and in a tensor, before the known ones.
pub fn unknown_keys(size: usize) -> Vec<u8> {
    let mut cbor = Cbor::default();
    let unknown = |cbor: &mut Cbor| {
        (0..size).for_each(|i| {
            cbor.text(&format!("x{i:06}")).array(2).text("x").map(0);
        });
    };
    cbor.map(2 + size as u64);
    unknown(&mut cbor);
    cbor.text("version").text("1.2.0").text("objects").map(1).text("w").map(3 + size as u64);
    unknown(&mut cbor);
    cbor.text("shape").array(0).text("format").text("dense").text("components").map(1).text("data");
    component(&mut cbor);
    file_1_2(&cbor.0)
}

/// A shape of that rank.
pub fn rank(size: usize) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.map(2).text("version").text("1.2.0").text("objects").map(1).text("w").map(3);
    cbor.text("shape").array(size as u64).raw(&vec![1; size]).text("format").text("dense");
    cbor.text("components").map(1).text("data");
    component(&mut cbor);
    file_1_2(&cbor.0)
}

/// A name of that length.
pub fn one_long_name(size: usize) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.map(2).text("version").text("1.2.0").text("objects").map(1);
    tensor(&mut cbor, &"\u{e4}".repeat(size / 2));
    file_1_2(&cbor.0)
}

/// A tensor with these components: role, dtype, bytes, digest.
fn of_parts(layout: &str, shape: &[u64], parts: &[(&str, &str, Vec<u8>, String)]) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.map(2).text("version").text("1.2.0").text("objects").map(1).text("w").map(3);
    cbor.text("shape").array(shape.len() as u64);
    shape.iter().for_each(|length| {
        cbor.uint(*length);
    });
    cbor.text("format").text(layout).text("components").map(parts.len() as u64);
    let mut data = Vec::new();
    for (role, dtype, bytes, digest) in parts {
        data.resize(usize::next_multiple_of(data.len(), 64), 0);
        cbor.text(role).map(4).text("dtype").text(dtype).text("digest").text(digest);
        cbor.text("offset").uint(64 + data.len() as u64).text("length").uint(bytes.len() as u64);
        data.extend(bytes);
    }
    with_data(file_1_2(&cbor.0), &data)
}

fn numbers(numbers: impl Iterator<Item = u64>) -> Vec<u8> {
    numbers.flat_map(u64::to_le_bytes).collect()
}

/// Bytes with a digest.
pub fn data(size: usize) -> Vec<u8> {
    let bytes = vec![7; size];
    let digest = format!("sha256:{}", crate::support::sha256(&bytes));
    of_parts("dense", &[size as u64], &[("data", "u8", bytes, digest)])
}

/// Bytes compressed as one stream.
pub fn stream(size: usize) -> Vec<u8> {
    let mut random = crate::support::Random(7);
    let bytes: Vec<u8> = (0..size).map(|_| random.next() as u8 & 0x1f).collect();
    let stored = zstd::bulk::compress(&bytes, 1).unwrap();
    let mut cbor = Cbor::default();
    cbor.map(2).text("version").text("1.2.0").text("objects").map(1).text("w").map(3);
    cbor.text("shape").array(1).uint(size as u64).text("format").text("dense").text("components").map(1).text("data");
    cbor.map(5).text("dtype").text("u8").text("encoding").text("zstd").text("uncompressed_length").uint(size as u64);
    cbor.text("offset").uint(64).text("length").uint(stored.len() as u64);
    with_data(file_1_2(&cbor.0), &stored)
}

/// `size` rows and values. All values are in the last row.
pub fn rows(size: usize) -> Vec<u8> {
    let count = size as u64;
    let pointers = numbers((0..=count).map(|row| if row < count { 0 } else { count }));
    let parts = [("indices", numbers(0..count)), ("indptr", pointers), ("values", numbers(0..count))];
    of_parts("sparse_csr", &[count, count.max(1)], &parts.map(|(role, bytes)| (role, "u64", bytes, String::new())))
}

/// Rows of one value each.
pub fn short_rows(size: usize) -> Vec<u8> {
    let count = size as u64;
    let parts =
        [("indices", numbers((0..count).map(|_| 0))), ("indptr", numbers(0..=count)), ("values", numbers(0..count))];
    of_parts("sparse_csr", &[count, 1], &parts.map(|(role, bytes)| (role, "u64", bytes, String::new())))
}

/// Coordinates in descending order.
pub fn coordinates(size: usize) -> Vec<u8> {
    let count = size as u64;
    let coordinates = numbers((0..count).rev().chain((0..count).map(|_| 0)));
    let parts = [("coords", coordinates), ("values", numbers(0..count))];
    of_parts("sparse_coo", &[count, 1], &parts.map(|(role, bytes)| (role, "u64", bytes, String::new())))
}

/// A hundred values with `size` coordinates each.
pub fn wide_coordinates(size: usize) -> Vec<u8> {
    let shape: Vec<u64> = [100].into_iter().chain(std::iter::repeat_n(1, size - 1)).collect();
    let coordinates = numbers((0..100).chain(std::iter::repeat_n(0, 100 * (size - 1))));
    let parts = [("coords", coordinates), ("values", numbers(0..100))];
    of_parts("sparse_coo", &shape, &parts.map(|(role, bytes)| (role, "u64", bytes, String::new())))
}

/// Values and coordinates interleaved in a list.
pub fn packed(size: usize) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.array(1).map(7).text("name").text("w").text("offset").uint(64).text("size").uint(16 * size as u64);
    cbor.text("dtype").text("uint64").text("layout").text("sparsecoo").text("shape").array(1).uint(size as u64);
    cbor.text("encoding").text("raw");
    with_data(file_0_1(&cbor.0), &numbers((0..size as u64).flat_map(|i| [size as u64 - 1 - i, i])))
}
