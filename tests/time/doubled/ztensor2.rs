//! zTensor 2 files.

use crate::support::Cbor;
use crate::support::ztensor2::{Object, Stored, file, with_table, xxh3, zstd_frame};

/// Tensors of one byte each, with descending offsets.
pub fn falling_blobs(size: usize) -> Vec<u8> {
    blobs(size, 0, |i| size - i)
}

/// Tensors of one byte each, in file order.
pub fn tensors(size: usize) -> Vec<u8> {
    blobs(size, 0, |i| 1 + i)
}

/// `size` tensors in as many shards.
pub fn shards(size: usize) -> Vec<u8> {
    blobs(size, size, |i| size - i)
}

/// Tensors that alternate between two shards. The first shard has `size` other keys.
pub fn long_shards(size: usize) -> Vec<u8> {
    in_two_shards(size, &[("a".into(), size), ("b".into(), 0)], ["a", "b"])
}

/// Tensors that alternate between two of `size + 3` shards. The first shard, and the one between those two, have
/// `size / 2` other keys.
pub fn long_shards_of_many(size: usize) -> Vec<u8> {
    let others = |i| if i == 0 || i == 2 { size / 2 } else { 0 };
    let shards: Vec<_> = (0..size + 3).map(|i| (format!("{i:06}"), others(i))).collect();
    in_two_shards(size, &shards, ["000001", "000003"])
}

/// Tensors without bytes, which alternate between two of these shards: names and numbers of other keys.
fn in_two_shards(size: usize, shards: &[(String, usize)], names: [&str; 2]) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.map(2).text("shards").map(shards.len() as u64);
    for (name, others) in shards {
        cbor.text(name).map(*others as u64 + 2);
        (0..*others).for_each(|i| {
            cbor.text(&format!("{i:03x}")).array(16).raw(&[0; 16]);
        });
        cbor.text("size").uint(1 << 40).text("digest").text("xxh3:0011223344556677");
    }
    cbor.text("objects").map(size as u64);
    for i in 0..size {
        cbor.text(&format!("{i:06}")).map(3).text("parts").map(1).text("data");
        cbor.map(3).text("blob").array(2).uint(4096).uint(0).text("dtype").text("u8");
        cbor.text("shard").text(names[i % 2]);
        cbor.text("shape").array(1).uint(0).text("layout").text("dense");
    }
    file_2(&cbor.0, 1)
}

/// Tensors with descending offsets. Some have `size / 2` other keys before and after the offset.
pub fn long_part(size: usize) -> Vec<u8> {
    parts_beside_a_long_one(size, false)
}

/// The same, with all tensors in a shard.
pub fn long_part_in_a_shard(size: usize) -> Vec<u8> {
    parts_beside_a_long_one(size, true)
}

fn parts_beside_a_long_one(size: usize, are_in_shard: bool) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.map(1 + u64::from(are_in_shard));
    if are_in_shard {
        let digest = format!("sha256:{:060}", 0);
        cbor.text("shards").map(1).text("a").map(2).text("size").uint(1 << 40).text("digest").text(&digest);
    }
    cbor.text("objects").map(size as u64);
    for i in 0..size {
        // The first tensors to be compared with others if half of them, or all, are looked up at a time.
        let others = if i == size / 4 || i == size / 2 { size / 2 } else { 0 };
        let key = |cbor: &mut Cbor, prefix: char, i: usize| {
            cbor.text(&format!("{prefix}{i:03x}")).array(16).raw(&[0; 16]);
        };
        cbor.text(&format!("{i:06}")).map(3).text("parts").map(1).text("data");
        cbor.map(2 + u64::from(are_in_shard) + others as u64);
        (0..others / 2).for_each(|i| key(&mut cbor, 'a', i));
        cbor.text("blob").array(2).uint(4096 * (size - i) as u64).uint(1);
        (others / 2..others).for_each(|i| key(&mut cbor, 'c', i));
        cbor.text("dtype").text("u8");
        if are_in_shard {
            cbor.text("shard").text("a");
        }
        cbor.text("shape").array(0).text("layout").text("dense");
    }
    file_2(&cbor.0, if are_in_shard { 1 } else { size })
}

/// Tensors, the last of which has a length that does not match its shape.
pub fn spoiled(size: usize) -> Vec<u8> {
    file_2(&manifest(size, 0, &|i| 1 + i, 2), size)
}

/// A zTensor 2 file with `size` tensors of one byte each, on these pages, in as many shards or in none.
fn blobs(size: usize, shards: usize, page: impl Fn(usize) -> usize) -> Vec<u8> {
    file_2(&manifest(size, shards, &page, 1), if shards > 0 { 1 } else { size })
}

fn manifest(size: usize, shards: usize, page: &dyn Fn(usize) -> usize, last_length: u64) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.map(1 + u64::from(shards > 0));
    if shards > 0 {
        cbor.text("shards").map(shards as u64);
        for i in 0..shards {
            cbor.text(&format!("{i:06}")).map(2).text("size").uint(1 << 40).text("digest");
            cbor.text(&format!("sha256:{i:0600}")); // makes the padding of the file negligible
        }
    }
    cbor.text("objects").map(size as u64);
    for i in 0..size {
        let length = if i + 1 == size { last_length } else { 1 };
        cbor.text(&format!("{i:06}")).map(3).text("parts").map(1).text("data");
        cbor.map(2 + u64::from(shards > 0)).text("blob").array(2).uint(4096 * page(i) as u64).uint(length);
        cbor.text("dtype").text("u8");
        if shards > 0 {
            cbor.text("shard").text(&format!("{:06}", i * 7919 % shards));
        }
        cbor.text("shape").array(0).text("layout").text("dense");
    }
    cbor.0
}

/// A zTensor 2 file with pages of data, then this manifest.
fn file_2(manifest: &[u8], pages: usize) -> Vec<u8> {
    let mut file = b"\x89ZT2\r\n\x1a\n".to_vec();
    file.resize(4096 * (pages + 1), 0);
    file.extend(manifest);
    file.extend((4096 * (pages as u64 + 1)).to_le_bytes());
    file.extend((manifest.len() as u64).to_le_bytes());
    file.extend(xxhash_rust::xxh3::xxh3_64(manifest).to_le_bytes());
    file.extend([2, 0, 0, 0, 0, 0, 0, 0]);
    file.extend(b"\x89ZT2\r\n\x1a\n");
    file
}

/// Attributes that are maps with nested maps as keys, to the largest depth.
pub fn nested_keys(size: usize) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.map(2).text("objects").map(0).text("attributes").map(size as u64);
    for i in 0..size {
        cbor.text(&format!("{i:06}")).map(2);
        for last in 0..2 {
            cbor.raw(&[0xa1; 28]).uint(last).raw(&[0; 28]).uint(0);
        }
    }
    file_2(&cbor.0, 0)
}

/// Attributes of the file.
pub fn attributes(size: usize) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.map(2).text("objects").map(0).text("attributes").map(size as u64);
    (0..size).for_each(|i| {
        cbor.text(&format!("{i:06}")).text("text");
    });
    file_2(&cbor.0, 0)
}

/// One tensor of components that all have the same byte.
pub fn components(size: usize) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.map(1).text("objects").map(1).text("t").map(3).text("parts").map(size as u64);
    for i in 0..size {
        cbor.text(&format!("{i:06}")).map(3).text("blob").array(2).uint(4096).uint(1).text("dtype").text("u8");
        cbor.text("digest").text(&format!("xxh3:{:016x}", xxhash_rust::xxh3::xxh3_64(&[0])));
    }
    cbor.text("shape").array(0).text("layout").text("own/1");
    file_2(&cbor.0, 1)
}

pub fn long_digest(size: usize) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.map(1).text("objects").map(1).text("t").map(3).text("parts").map(1).text("data").map(3);
    cbor.text("blob").array(2).uint(4096).uint(1).text("dtype").text("u8");
    cbor.text("digest").text(&format!("{}:{}", "a".repeat(size), "0".repeat(size)));
    cbor.text("shape").array(0).text("layout").text("dense");
    file_2(&cbor.0, 1)
}

/// A tensor with these components: role, dtype, bytes.
fn of_parts(layout: &str, shape: &[u64], parts: &[(&str, &str, Vec<u8>)]) -> Vec<u8> {
    let (mut cbor, mut data) = (Cbor::default(), Vec::new());
    cbor.map(1).text("objects").map(1).text("t").map(3).text("parts").map(parts.len() as u64);
    for (role, dtype, bytes) in parts {
        cbor.text(role).map(3).text("blob").array(2).uint(4096 + data.len() as u64).uint(bytes.len() as u64);
        cbor.text("dtype").text(dtype).text("digest");
        cbor.text(&format!("xxh3:{:016x}", xxhash_rust::xxh3::xxh3_64(bytes)));
        data.extend(bytes);
        data.resize(usize::next_multiple_of(data.len(), 4096), 0);
    }
    cbor.text("shape").array(shape.len() as u64);
    shape.iter().for_each(|length| {
        cbor.uint(*length);
    });
    cbor.text("layout").text(layout);
    let mut file = file_2(&cbor.0, data.len() / 4096);
    file.splice(4096..4096 + data.len(), data);
    file
}

/// Bytes with a digest.
pub fn data(size: usize) -> Vec<u8> {
    of_parts("dense", &[size as u64], &[("data", "u8", vec![7; size])])
}

/// `size` rows and values. All values are in the last row.
pub fn rows(size: usize) -> Vec<u8> {
    let (count, numbers) =
        (size as u64, |all: &mut dyn Iterator<Item = u64>| all.flat_map(u64::to_le_bytes).collect());
    let pointers = numbers(&mut (0..=count).map(|row| if row < count { 0 } else { count }));
    let parts = [("indptr", pointers), ("values", numbers(&mut (0..count))), ("indices", numbers(&mut (0..count)))];
    of_parts("zt.sparse_csr/1", &[count, count], &parts.map(|(role, bytes)| (role, "u64", bytes)))
}

/// A component of these frames, each with the length of its content.
fn file_of_frames(frames: &[(Vec<u8>, usize)]) -> Vec<u8> {
    let length: usize = frames.iter().map(|(_, content)| content).sum();
    let part = Stored {
        role: "data",
        dtype: "u8",
        stored: with_table(frames),
        decoded_length: Some(length),
        digest: Some(xxh3(&vec![7; length])),
        ..Stored::default()
    };
    let shape = vec![length as u64];
    file(&[Object { name: "t", shape, layout: "dense", attributes: serde_json::Value::Null, parts: vec![part] }], &[])
}

pub fn frames_of_a_byte(size: usize) -> Vec<u8> {
    file_of_frames(&vec![(zstd_frame(&[7]), 1); size])
}

pub fn frames_of_nothing(size: usize) -> Vec<u8> {
    let mut frames = vec![(zstd_frame(&[]), 0); size];
    frames.push((zstd_frame(&[7]), 1));
    file_of_frames(&frames)
}

/// A frame of `size` empty blocks and one block of one byte.
pub fn empty_blocks(size: usize) -> Vec<u8> {
    let checksum = *zstd_frame(&[7]).last_chunk::<4>().unwrap();
    let frame = [&[0x28, 0xb5, 0x2f, 0xfd, 4, 0][..], &vec![0; 3 * size], &[9, 0, 0, 7], &checksum].concat();
    file_of_frames(&[(frame, 1)])
}
