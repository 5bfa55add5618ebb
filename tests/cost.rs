//! What a byte of a file can cost: files made to be expensive, at one size and at twice that size. The instructions
//! may grow by a tenth more than the file does, no further. They are counted by valgrind, so that a busy machine
//! makes no difference: each measurement runs this program again, with the name of a case and a size in the
//! environment.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))] // where valgrind can run

use std::hint::black_box;
use std::process::Command;

mod support;

#[cfg(feature = "b2nd")]
use support::frames::{Chunk, Frame, NOT_SPLIT, all_first, copied, of_variable_blocks, repeated};
#[cfg(feature = "gguf")]
use support::gguf::{ARRAY, Gguf, Meta};
#[cfg(all(feature = "ztensor2", feature = "zstd"))]
use support::ztensor2::{Object, Part, file, with_table, xxh3, zstd_frame};
#[cfg(feature = "ztensor")]
use support::{Cbor, component, file_0_1, file_1_2, manifest_1_2};
use tenslice::File;

/// By which factor the work may grow when the size is doubled.
const MOST: f64 = 2.2;

/// The factor for items that are sorted: n log n steps are 2.23 times as many for 900 items as for 450.
const MOST_SORTED: f64 = 2.25;
const SORTED: [&str; 14] = [
    "a name behind much else, by an index",
    "one name again and again, by an index",
    "entries in falling order",
    "more entries, compared with memory",
    "names of escapes that begin alike",
    "keys in falling order",
    "more keys, compared with memory",
    "tensors in falling order",
    "more tensors, compared with memory",
    "tensors whose names begin alike",
    "blobs in falling order",
    "more blobs, compared with memory",
    "shards that are looked up",
    "more shards, looked up with memory",
];

/// A name, the smaller size, how to make a file of a given size, and the work done with it.
type Case = (&'static str, usize, fn(usize) -> Vec<u8>, fn(&[u8]));

const CASES: &[Case] = &[
    #[cfg(feature = "ztensor")]
    ("roles that fall", 200, falling_roles, open),
    #[cfg(feature = "ztensor")]
    ("more of them than are compared", 1100, falling_roles, open),
    #[cfg(feature = "ztensor")]
    ("roles that fall, listed", 200, falling_roles, list),
    #[cfg(feature = "ztensor")]
    ("names that begin alike", 250, names_alike, open),
    #[cfg(feature = "ztensor")]
    ("names that begin alike, by an index", 250, names_alike, find_all),
    #[cfg(feature = "ztensor")]
    ("a name behind much else, by an index", 450, name_behind, find_all),
    #[cfg(feature = "ztensor")]
    ("one name again and again, by an index", 450, one_name, find_first),
    #[cfg(feature = "b2nd")]
    ("a byte of many chunks that share many blocks", 200, shared_blocks, read_a_byte),
    #[cfg(feature = "b2nd")]
    ("the memory for it", 200, shared_blocks, ask_for_memory),
    #[cfg(feature = "b2nd")]
    ("the memory for all of them", 200, shared_blocks, ask_for_all_memory),
    #[cfg(feature = "b2nd")]
    ("a byte of a million chunks", 1 << 20, one_chunk_again_and_again, read_a_byte),
    #[cfg(feature = "b2nd")]
    ("the memory for all of a million chunks", 1 << 20, one_chunk_again_and_again, ask_for_all_memory),
    #[cfg(feature = "b2nd")]
    ("bytes between empty chunks", 100, empty_chunks, read_between),
    #[cfg(feature = "b2nd")]
    ("elements in long rows of padding", 1 << 12, padding, read_all),
    #[cfg(feature = "npy")]
    ("fields of records", 2000, fields, open),
    #[cfg(feature = "npy")]
    ("lengths of a shape", 2000, lengths, list),
    #[cfg(feature = "npz")]
    ("entries in falling order", 450, falling_entries, open),
    #[cfg(feature = "npz")]
    ("more entries than are compared", 1100, falling_entries, open),
    #[cfg(feature = "npz")]
    ("more entries, compared with memory", 1100, falling_entries, check),
    #[cfg(feature = "npz")]
    ("more entries, by an index", 1100, falling_entries, find_all),
    #[cfg(feature = "npz")]
    ("entries whose names do not tell that they are arrays", 450, unnamed_entries, list),
    #[cfg(feature = "npz")]
    ("entries that share a head", 1100, shared_head, open),
    #[cfg(feature = "npz")]
    ("an end of an archive that is not there", 1 << 14, no_end, open),
    #[cfg(feature = "safetensors")]
    ("names that fall", 450, |size| header_of((0..size).rev().map(|i| entry(&format!("{i:06}"), 0, 0))), open),
    #[cfg(feature = "safetensors")]
    ("places that fall", 450, |size| header_of((0..size).map(|i| entry(&format!("{i:06}"), size - 1 - i, 1))), open),
    #[cfg(feature = "safetensors")]
    ("more names and places than are compared", 1100, falling_tensors, open),
    #[cfg(feature = "safetensors")]
    ("names and places that fall, compared with memory", 1100, falling_tensors, check),
    #[cfg(feature = "safetensors")]
    ("names and places that fall, listed", 1100, falling_tensors, list),
    #[cfg(feature = "safetensors")]
    ("a long name that is compared with many", 450, long_name, open),
    #[cfg(feature = "safetensors")]
    ("a long name that is looked up again and again", 2200, long_name, check_in_parts),
    #[cfg(feature = "safetensors")]
    ("a place that is spelled with much space", 450, spaced_place, open),
    #[cfg(feature = "safetensors")]
    ("names of escapes that begin alike", 450, escapes_alike, open),
    #[cfg(feature = "safetensors")]
    ("a name of escapes", 1 << 12, |size| header_of([entry(&"\\ud83d\\ude00".repeat(size), 0, 1)].into_iter()), find),
    #[cfg(feature = "safetensors")]
    ("entries of the metadata", 2000, metadata, list_attributes),
    #[cfg(feature = "safetensors")]
    ("an attribute of escapes", 1 << 12, attribute_of_escapes, list_attributes),
    #[cfg(feature = "safetensors")]
    ("fields that nest deeply", 100, nested_fields, list),
    #[cfg(feature = "safetensors")]
    ("lengths of a shape in digits", 2000, lengths_in_digits, list),
    #[cfg(feature = "safetensors")]
    ("tensors of an index that fall", 450, |size| index_of(size, |i| format!("\"{i:06}\"")), open_index),
    #[cfg(feature = "safetensors")]
    ("more of an index than are compared", 1100, |size| index_of(size, |i| format!("\"{i:06}\"")), open_index),
    #[cfg(feature = "safetensors")]
    (
        "tensors of an index that fall, compared with memory",
        1100,
        |size| index_of(size, |i| format!("\"{i:06}\"")),
        check_index,
    ),
    #[cfg(feature = "safetensors")]
    ("values of an index that are no files", 2200, |size| index_of(size, |_| "{}".into()), open_index),
    #[cfg(feature = "safetensors")]
    (
        "values of an index that are no files, compared with memory",
        2200,
        |size| index_of(size, |i| (if i == 0 { "\"a\"" } else { "[]" }).into()),
        check_index,
    ),
    #[cfg(feature = "safetensors")]
    ("a long name among others, by an index", 450, long_name, find_all),
    #[cfg(feature = "safetensors")]
    ("names of escapes, by an index", 450, escapes_alike, find_all),
    #[cfg(feature = "safetensors")]
    ("space before a name, by an index", 450, spaced_name, find_all),
    #[cfg(feature = "safetensors")]
    ("files of an index", 1100, |size| index_of(size, |i| format!("\"{i:06}\"")), list_files),
    #[cfg(feature = "safetensors")]
    ("a long file name that is compared with many", 450, long_file_name, list_files),
    #[cfg(feature = "safetensors")]
    ("metadata of an index that nests deeply", 100, nested_metadata, list_metadata),
    #[cfg(feature = "gguf")]
    ("pairs", 2000, pairs, open),
    #[cfg(feature = "gguf")]
    ("pairs, listed", 2000, pairs, walk_attributes),
    #[cfg(feature = "gguf")]
    ("the last of many pairs", 2000, pairs, find_last_key),
    #[cfg(feature = "gguf")]
    ("keys in falling order", 500, falling_keys, open),
    #[cfg(feature = "gguf")]
    ("more keys than are compared", 1100, falling_keys, open),
    #[cfg(feature = "gguf")]
    ("more keys, compared with memory", 1100, falling_keys, check),
    #[cfg(feature = "gguf")]
    ("lists before keys in falling order", 450, lists_and_falling_keys, open),
    #[cfg(feature = "gguf")]
    ("tensors", 2000, tensors, open),
    #[cfg(feature = "gguf")]
    ("tensors, listed", 2000, tensors, list),
    #[cfg(feature = "gguf")]
    ("the last of many tensors", 2000, tensors, find_last_tensor),
    #[cfg(feature = "gguf")]
    ("tensors, by an index", 2000, tensors, find_all),
    #[cfg(feature = "gguf")]
    ("tensors whose names begin alike, by an index", 250, tensors_alike, find_all),
    #[cfg(feature = "gguf")]
    ("tensors in falling order", 450, falling_infos, open),
    #[cfg(feature = "gguf")]
    ("more tensors than are compared", 1100, falling_infos, open),
    #[cfg(feature = "gguf")]
    ("more tensors, compared with memory", 1100, falling_infos, check),
    #[cfg(feature = "gguf")]
    ("tensors whose names begin alike", 250, tensors_alike, open),
    #[cfg(feature = "gguf")]
    ("strings", 1 << 13, strings, open),
    #[cfg(feature = "gguf")]
    ("strings, listed", 1 << 13, strings, walk_attributes),
    #[cfg(feature = "gguf")]
    ("the pair after many strings", 1 << 13, strings, find_last_key),
    #[cfg(feature = "gguf")]
    ("long strings, listed", 1 << 12, long_strings, walk_attributes),
    #[cfg(feature = "gguf")]
    ("truth values", 1 << 14, truths, open),
    #[cfg(feature = "gguf")]
    ("truth values, listed", 1 << 14, truths, walk_attributes),
    #[cfg(feature = "gguf")]
    ("lists in lists", 1 << 11, wide_lists, open),
    #[cfg(feature = "gguf")]
    ("lists in lists, listed", 1 << 11, wide_lists, walk_attributes),
    #[cfg(feature = "gguf")]
    ("empty lists in lists, as deep as they may be", 1 << 11, deep_lists, walk_attributes),
    #[cfg(feature = "gguf")]
    ("pairs, in parts", 1 << 14, pairs, open_in_parts),
    #[cfg(feature = "gguf")]
    ("strings behind pairs, in parts", 1 << 9, strings_behind_pairs, open_in_parts),
    #[cfg(feature = "gguf")]
    ("long lists between pairs, in parts", 1 << 7, lists_between_pairs, open_in_parts),
    #[cfg(all(feature = "ztensor2", feature = "zstd"))]
    ("frames of a byte", 1 << 12, frames_of_a_byte, read_whole),
    #[cfg(all(feature = "ztensor2", feature = "zstd"))]
    ("a byte of many frames", 1 << 12, frames_of_a_byte, read_byte_of_frames),
    #[cfg(all(feature = "ztensor2", feature = "zstd"))]
    ("what can be done with many frames", 1 << 12, frames_of_a_byte, ask_for_caps),
    #[cfg(all(feature = "ztensor2", feature = "zstd", feature = "digest"))]
    ("frames of a byte, verified", 1 << 12, frames_of_a_byte, verify_frames),
    #[cfg(all(feature = "ztensor2", feature = "zstd"))]
    ("frames of nothing", 1 << 12, frames_of_nothing, read_whole),
    #[cfg(feature = "ztensor2")]
    ("blobs in falling order", 450, |size| blobs(size, 0), open),
    #[cfg(feature = "ztensor2")]
    ("more blobs than are compared", 1100, |size| blobs(size, 0), open),
    #[cfg(feature = "ztensor2")]
    ("more blobs, compared with memory", 2100, |size| blobs(size, 0), check),
    #[cfg(feature = "ztensor2")]
    ("shards that are looked up", 450, |size| blobs(size, size), open),
    #[cfg(feature = "ztensor2")]
    ("more shards, looked up with memory", 1100, |size| blobs(size, size), check),
    #[cfg(feature = "ztensor2")]
    ("keys that nest deeply", 1000, nested_keys, open),
    #[cfg(feature = "ztensor2")]
    ("keys that nest deeply, listed", 1000, nested_keys, list_attributes_of_cbor),
    #[cfg(feature = "ztensor2")]
    ("a digest of many digits", 1 << 17, long_digest, open),
    #[cfg(all(feature = "ztensor2", feature = "zstd"))]
    ("a frame of empty blocks", 1 << 14, empty_blocks, read_whole),
    #[cfg(all(feature = "ztensor2", feature = "zstd"))]
    ("a byte of a frame of empty blocks", 1 << 14, empty_blocks, read_byte_of_frames),
];

/// The work that is measured; valgrind looks for this function by name.
#[inline(never)]
fn measured_work(work: fn(&[u8]), bytes: &[u8]) {
    work(black_box(bytes));
}

/// Runs the measured program if the environment names a case; else a test that does nothing.
#[test]
fn run_one() {
    let Ok(name) = std::env::var("TENSLICE_COST_CASE") else { return };
    let size = std::env::var("TENSLICE_COST_SIZE").unwrap().parse().unwrap();
    let &(_, _, make, work) = CASES.iter().find(|(case, ..)| *case == name).unwrap();
    measured_work(work, &make(size));
}

/// The instructions of a case at a size.
fn instructions(name: &str, size: usize) -> f64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*measured_work*"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "run_one", "--test-threads=1"])
        .env("TENSLICE_COST_CASE", name)
        .env("TENSLICE_COST_SIZE", size.to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {said}");
    let collected = said.lines().find_map(|line| line.split_once("Collected : ")).map(|(_, count)| count.trim());
    let count: f64 = collected.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{name}: {said}"));
    assert!(count > 1000.0, "{name}: {said}"); // something was measured
    count
}

#[test]
fn work_grows_as_the_file_does() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        assert!(std::env::var_os("TENSLICE_NO_SKIP").is_none(), "valgrind is not installed");
        println!("skipped: what hostile files cost (valgrind is not installed)");
        return;
    }
    let mut too_much = Vec::new();
    for &(name, size, make, _) in CASES {
        let bytes = [size, 2 * size].map(|size| make(size).len() as f64);
        let work = [size, 2 * size].map(|size| instructions(name, size));
        let [[small, large], [little, much]] = [bytes, work];
        println!("{name}: {small} bytes {little} instructions, {large} bytes {much}");
        let most = if SORTED.contains(&name) { MOST_SORTED } else { MOST };
        if much / little > most * (large / small) / 2.0 {
            too_much.push(format!("{name}: {little} instructions for {small} bytes, {much} for {large}"));
        }
    }
    assert!(too_much.is_empty(), "{too_much:#?}");
}

/// Records of so many fields.
#[cfg(feature = "npy")]
fn fields(size: usize) -> Vec<u8> {
    npy(&format!("[{}]", "('x', '<f4'), ".repeat(size)), "(0,)")
}

/// So many lengths.
#[cfg(feature = "npy")]
fn lengths(size: usize) -> Vec<u8> {
    npy("'|u1'", &format!("(0, {})", "1, ".repeat(size)))
}

/// An array without items.
#[cfg(feature = "npy")]
fn npy(descr: &str, shape: &str) -> Vec<u8> {
    let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}\n");
    [&b"\x93NUMPY\x02\0"[..], &(header.len() as u32).to_le_bytes(), header.as_bytes()].concat()
}

/// Entries whose names and places fall.
#[cfg(feature = "npz")]
fn falling_entries(size: usize) -> Vec<u8> {
    npz(size, ".npy")
}

#[cfg(feature = "npz")]
fn unnamed_entries(size: usize) -> Vec<u8> {
    npz(size, ".dat")
}

/// Entries of empty arrays, in the directory from the last to the first, so that both names and places fall.
#[cfg(feature = "npz")]
fn npz(size: usize, suffix: &str) -> Vec<u8> {
    let array = npy("'|u1'", "(0,)");
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for i in 0..size {
        let name = format!("{i:06}{suffix}");
        let mut about = vec![0; 12]; // flags, method, time, sum
        for number in [array.len() as u32, array.len() as u32, name.len() as u32] {
            about.extend(number.to_le_bytes());
        }
        let at = (bytes.len() as u32).to_le_bytes();
        bytes.extend([b"PK\x03\x04\0\0", &about[..], name.as_bytes(), &array].concat());
        directory.push([b"PK\x01\x02\0\0\0\0", &about[..], &[0; 10], &at, name.as_bytes()].concat());
    }
    directory.reverse();
    let (directory, start, count) = (directory.concat(), bytes.len() as u32, (size as u16).to_le_bytes());
    bytes.extend(&directory);
    bytes.extend([&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &(directory.len() as u32).to_le_bytes()].concat());
    bytes.extend([&start.to_le_bytes()[..], &[0; 2]].concat());
    bytes
}

/// So many entries of the directory for one local header, before a head that is as long.
#[cfg(feature = "npz")]
fn shared_head(size: usize) -> Vec<u8> {
    let name = "a.npy";
    let array = npy(&format!("[{}]", "('x', '<f4'), ".repeat(size)), "(0,)");
    let mut about = vec![0; 12];
    for number in [array.len() as u32, array.len() as u32, name.len() as u32] {
        about.extend(number.to_le_bytes());
    }
    let mut bytes = [b"PK\x03\x04\0\0", &about[..], name.as_bytes(), &array].concat();
    let directory = [b"PK\x01\x02\0\0\0\0", &about[..], &[0; 14], name.as_bytes()].concat().repeat(size);
    let (start, count) = (bytes.len() as u32, (size as u16).to_le_bytes());
    bytes.extend(&directory);
    bytes.extend([&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &(directory.len() as u32).to_le_bytes()].concat());
    bytes.extend([&start.to_le_bytes()[..], &[0; 2]].concat());
    bytes
}

/// What may be a record of the end, again and again, with comments that end too early.
#[cfg(feature = "npz")]
fn no_end(size: usize) -> Vec<u8> {
    let mut bytes = b"PK\x03\x04".to_vec();
    bytes.extend(b"PK\x05\x06".repeat(size));
    bytes
}

/// Compares names and places with memory for all of them.
#[cfg(any(feature = "npz", feature = "safetensors", feature = "gguf"))]
fn check(bytes: &[u8]) {
    let _ = black_box(File::open(bytes).unwrap().check(&mut [0; 4096]).unwrap());
}

/// An entry of a header: bytes from `begin` on.
#[cfg(feature = "safetensors")]
fn entry(name: &str, begin: usize, length: usize) -> String {
    let end = begin + length;
    format!(r#""{name}":{{"dtype":"U8","shape":[{length}],"data_offsets":[{begin},{end}]}}"#)
}

/// A file of those entries, each of which has a byte or none.
#[cfg(feature = "safetensors")]
fn header_of(entries: impl Iterator<Item = String>) -> Vec<u8> {
    let entries: Vec<_> = entries.collect();
    let header = format!("{{{}}}", entries.join(","));
    let data = entries.iter().filter(|entry| entry.contains("[1]")).count();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![0; data]].concat()
}

#[cfg(feature = "safetensors")]
fn falling_tensors(size: usize) -> Vec<u8> {
    header_of((0..size).rev().map(|i| entry(&format!("{i:06}"), i, 1)))
}

/// Much white space before a name.
#[cfg(feature = "safetensors")]
fn spaced_name(size: usize) -> Vec<u8> {
    header_of(
        (0..size).map(|i| {
            format!("{}{}", " ".repeat(if i == 1 { 60 * size } else { 0 }), entry(&format!("{i:06}"), 0, 0))
        }),
    )
}

/// An order of numbers that sorting them takes for half sorted: the second one is compared with half of the others.
#[cfg(any(feature = "safetensors", feature = "ztensor"))]
fn half_sorted(size: usize) -> Vec<usize> {
    let is_right = |mut place: usize| {
        while place > 2 {
            place = (place - 1) / 2;
        }
        place != 1
    };
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by_key(|place| !is_right(*place)); // stable
    let mut ranks = vec![0; size];
    order.iter().zip((0..size).rev()).for_each(|(place, rank)| ranks[*place] = rank);
    ranks
}

/// A name that is as long as all other entries.
#[cfg(feature = "safetensors")]
fn long_name(size: usize) -> Vec<u8> {
    header_of(half_sorted(size).into_iter().enumerate().map(|(place, rank)| {
        let rest = if place == 1 { "x".repeat(60 * size) } else { String::new() };
        entry(&format!("{rank:06}{rest}"), 0, 0)
    }))
}

/// Offsets of which one has as much space as all other entries are long.
#[cfg(feature = "safetensors")]
fn spaced_place(size: usize) -> Vec<u8> {
    header_of(half_sorted(size).into_iter().enumerate().map(|(place, rank)| {
        let entry = entry(&format!("{place:06}"), rank, 1);
        if place == 1 {
            entry.replace("offsets\":[", &format!("offsets\":[{}", " ".repeat(60 * size)))
        } else {
            entry
        }
    }))
}

/// Names that begin with the same escapes.
#[cfg(feature = "safetensors")]
fn escapes_alike(size: usize) -> Vec<u8> {
    let start = "\\u00e9".repeat(20);
    header_of((0..size).rev().map(|i| entry(&format!("{start}{i:06}"), 0, 0)))
}

#[cfg(feature = "safetensors")]
fn metadata(size: usize) -> Vec<u8> {
    let entries: Vec<_> = (0..size).map(|i| format!("\"{i}\":\"text\"")).collect();
    header_of([format!("\"__metadata__\":{{{}}}", entries.join(","))].into_iter())
}

#[cfg(feature = "safetensors")]
fn attribute_of_escapes(size: usize) -> Vec<u8> {
    header_of([format!("\"__metadata__\":{{\"a\":\"{}\"}}", "\\n\\u20ac".repeat(size))].into_iter())
}

#[cfg(feature = "safetensors")]
fn nested_fields(size: usize) -> Vec<u8> {
    let nested = format!("{{\"x\":{}{}{}, \"dtype\"", "[{\"\":".repeat(60), "[]", "}]".repeat(60));
    header_of((0..size).map(|i| entry(&format!("{i:06}"), 0, 0).replace("{\"dtype\"", &nested)))
}

#[cfg(feature = "safetensors")]
fn lengths_in_digits(size: usize) -> Vec<u8> {
    header_of(
        [entry("a", 0, 0).replace("[0],", &format!("[0{}],", ",18446744073709551615".repeat(size)))].into_iter(),
    )
}

/// An index whose names fall.
#[cfg(feature = "safetensors")]
fn index_of(size: usize, value: fn(usize) -> String) -> Vec<u8> {
    let entries: Vec<_> = (0..size).rev().map(|i| format!("\"{i:06}\":{}", value(i))).collect();
    format!("{{\"weight_map\":{{{}}}}}", entries.join(",")).into_bytes()
}

/// An index with the name of a file that is as long as all others together.
#[cfg(feature = "safetensors")]
fn long_file_name(size: usize) -> Vec<u8> {
    let entries = half_sorted(size).into_iter().enumerate().map(|(place, rank)| {
        let rest = if place == 1 { "x".repeat(20 * size) } else { String::new() };
        format!("\"{place:06}\":\"{rank:06}{rest}\"")
    });
    format!("{{\"weight_map\":{{{}}}}}", entries.collect::<Vec<_>>().join(",")).into_bytes()
}

#[cfg(feature = "safetensors")]
fn nested_metadata(size: usize) -> Vec<u8> {
    let nested = format!("{}{}", "[".repeat(100), "]".repeat(100));
    format!("{{\"metadata\":{{\"a\":[{}]}},\"weight_map\":{{}}}}", vec![nested; size].join(",")).into_bytes()
}

/// Compares names and places in two parts.
#[cfg(feature = "safetensors")]
fn check_in_parts(bytes: &[u8]) {
    let file = File::open(bytes).unwrap();
    let _ = black_box(file.check(&mut vec![0; file.tensor_count() as usize / 2 + 1]).unwrap());
}

#[cfg(feature = "safetensors")]
fn find(bytes: &[u8]) {
    let file = File::open(bytes).unwrap();
    let name = file.tensors().next().unwrap().name().to_string();
    black_box(file.find(&name).unwrap());
}

#[cfg(feature = "safetensors")]
fn list_attributes(bytes: &[u8]) {
    let attributes = File::open(bytes).unwrap().attributes();
    assert!(attributes.map(|attribute| attribute.value.as_text().unwrap().length()).sum::<usize>() > 0);
}

#[cfg(feature = "safetensors")]
fn index(text: &[u8]) -> tenslice::safetensors::Index<'_> {
    tenslice::safetensors::Index::open(text).unwrap()
}

#[cfg(feature = "safetensors")]
fn open_index(text: &[u8]) {
    black_box(index(text));
}

#[cfg(feature = "safetensors")]
fn check_index(text: &[u8]) {
    let index = index(text);
    let _ = black_box(index.check(&mut vec![0; index.tensor_count() as usize]).unwrap());
}

#[cfg(feature = "safetensors")]
fn list_files(text: &[u8]) {
    let index = index(text);
    let mut scratch = vec![0; index.tensor_count() as usize];
    assert_eq!(index.files(&mut scratch).unwrap().count() as u64, index.tensor_count());
}

/// Reads all values, and those inside them.
#[cfg(feature = "safetensors")]
fn list_metadata(text: &[u8]) {
    fn walk(attributes: tenslice::Attributes<'_>) -> usize {
        attributes.map(|attribute| 1 + attribute.value.items().map_or(0, walk)).sum()
    }
    assert!(walk(index(text).metadata()) > 1000);
}

/// As many chunks as the one that they all share has blocks. All blocks but the last are empty.
#[cfg(feature = "b2nd")]
fn shared_blocks(size: usize) -> Vec<u8> {
    let bytes = vec![7; size];
    let mut blocks: Vec<&[u8]> = vec![&[]; size - 1];
    blocks.push(&bytes);
    let (chunks, table) = (of_variable_blocks(&blocks), all_first(size as u32));
    Frame { chunks: &chunks, table: &table, length: (size * size) as u64, ..Frame::default() }.bytes()
}

/// That many chunks, all of them the same chunk of one byte, in a frame that states no chunk length.
#[cfg(feature = "b2nd")]
fn one_chunk_again_and_again(size: usize) -> Vec<u8> {
    let (chunks, table) = (copied(&[7]), all_first(size as u32));
    Frame { chunks: &chunks, table: &table, length: size as u64, ..Frame::default() }.bytes()
}

/// Periods of chunks, as many as each has chunks, all but the last of which are empty: more chunks than bytes.
#[cfg(feature = "b2nd")]
fn empty_chunks(size: usize) -> Vec<u8> {
    let chunks = [copied(&[]), copied(&[7])].concat();
    let mut turn = vec![0; 8 * size];
    turn[8 * size - 8] = copied(&[]).len() as u8;
    let table = repeated(&turn, (8 * size * size) as u32);
    Frame { chunks: &chunks, table: &table, length: (size * size) as u64, ..Frame::default() }.bytes()
}

/// Reads as many bytes as there are periods, or finds that they do not add up.
#[cfg(feature = "b2nd")]
fn read_between(bytes: &[u8]) {
    let frame = frame(bytes);
    let turns = (frame.chunk_count() as f64).sqrt() as u64 - 1;
    let mut dst = vec![0; turns as usize];
    let _ = black_box(frame.read_region(&[0], &[turns], &mut dst, &mut [0; 4096]));
}

/// 100 elements, each the first of a row of that length, which is a run of one byte.
#[cfg(feature = "b2nd")]
fn padding(size: usize) -> Vec<u8> {
    let size = size as u32;
    let row = Chunk {
        length: size,
        block_size: size,
        flags: NOT_SPLIT,
        payload: &[36, 0, 0, 0, 0, 0, 0, 0],
        ..Chunk::default()
    };
    let (chunks, table) = (row.bytes(), all_first(100));
    let array = Some((&[100, 1][..], &[1, size][..], &[1, size][..]));
    Frame { chunks: &chunks, table: &table, length: 100 * u64::from(size), chunk_length: size, array }.bytes()
}

#[cfg(feature = "b2nd")]
fn frame(bytes: &[u8]) -> tenslice::b2nd::Frame<'_> {
    tenslice::File::open(bytes).unwrap().as_b2nd().unwrap()
}

/// Reads the byte ten before the last.
#[cfg(feature = "b2nd")]
fn read_a_byte(bytes: &[u8]) {
    let frame = frame(bytes);
    let at = frame.shape().element_count().unwrap() - 10;
    let mut dst = [0];
    frame.read_region(&[at], &[at + 1], &mut dst, &mut [0; 4096]).unwrap();
    assert_eq!(dst, [7]);
}

#[cfg(feature = "b2nd")]
fn ask_for_memory(bytes: &[u8]) {
    let frame = frame(bytes);
    let at = frame.shape().element_count().unwrap() - 10;
    black_box(frame.scratch_length(&[at], &[at + 1]).unwrap());
}

#[cfg(feature = "b2nd")]
fn ask_for_all_memory(bytes: &[u8]) {
    let frame = frame(bytes);
    black_box(frame.scratch_length(&[0], &[frame.shape().element_count().unwrap()]).unwrap());
}

#[cfg(feature = "b2nd")]
fn read_all(bytes: &[u8]) {
    let file = tenslice::File::open(bytes).unwrap();
    let mut dst = [1; 100];
    file.find("").unwrap().read_into(&mut dst, &mut [0xaa; 8192]).unwrap();
    assert_eq!(dst, [0; 100]);
}

/// A zTensor 2 file with `size` tensors of a byte each, in falling order, in as many shards or in none.
#[cfg(feature = "ztensor2")]
fn blobs(size: usize, shards: usize) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.map(1 + u64::from(shards > 0));
    if shards > 0 {
        cbor.text("shards").map(shards as u64);
        for i in 0..shards {
            cbor.text(&format!("{i:06}")).map(2).text("size").uint(1 << 40).text("digest");
            cbor.text(&format!("sha256:{i:0600}")); // so that the padding of the file counts for little
        }
    }
    cbor.text("objects").map(size as u64);
    for i in 0..size {
        cbor.text(&format!("{i:06}")).map(3).text("parts").map(1).text("data");
        cbor.map(2 + u64::from(shards > 0)).text("blob").array(2).uint(4096 * (size - i) as u64).uint(1);
        cbor.text("dtype").text("u8");
        if shards > 0 {
            cbor.text("shard").text(&format!("{:06}", i * 7919 % shards));
        }
        cbor.text("shape").array(0).text("layout").text("dense");
    }
    file_2(&cbor.0, if shards > 0 { 1 } else { size })
}

/// A zTensor 2 file with pages of data, then this manifest.
#[cfg(feature = "ztensor2")]
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

/// Attributes whose values are maps with maps for keys, as deep as they may be.
#[cfg(feature = "ztensor2")]
fn nested_keys(size: usize) -> Vec<u8> {
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

#[cfg(feature = "ztensor2")]
fn list_attributes_of_cbor(bytes: &[u8]) {
    let file = File::open(bytes).unwrap();
    assert!(file.attributes().count() > 0);
}

#[cfg(feature = "ztensor2")]
fn long_digest(size: usize) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.map(1).text("objects").map(1).text("t").map(3).text("parts").map(1).text("data").map(3);
    cbor.text("blob").array(2).uint(4096).uint(1).text("dtype").text("u8");
    cbor.text("digest").text(&format!("{}:{}", "a".repeat(size), "0".repeat(size)));
    cbor.text("shape").array(0).text("layout").text("dense");
    file_2(&cbor.0, 1)
}

fn open(bytes: &[u8]) {
    let _ = black_box(File::open(bytes));
}

fn list(bytes: &[u8]) {
    let file = File::open(bytes).unwrap();
    let components = file.tensors().flat_map(|tensor| tensor.components());
    assert!(components.fold(0, |count, component| count + component.role().len()) > 0);
}

/// Finds every tensor by an index.
fn find_all(bytes: &[u8]) {
    let file = File::open(bytes).unwrap();
    let mut words = vec![0; file.index_length().unwrap()];
    let index = file.index(&mut words).unwrap();
    let names = file.tensors().map(|tensor| tensor.name().to_string());
    assert!(names.fold(0, |count, name| count + index.find(&name).unwrap().index()) < u64::MAX);
}

/// Finds a tensor by an index.
#[cfg(feature = "ztensor")]
fn find_first(bytes: &[u8]) {
    let file = File::open(bytes).unwrap();
    let mut words = vec![0; file.index_length().unwrap()];
    assert_eq!(file.index(&mut words).unwrap().find("000007").unwrap().index(), 0);
}

/// One tensor of a custom layout. Its first component has a long value under an unknown key; the roles of the others
/// descend, so that each has to be compared with those before it.
#[cfg(feature = "ztensor")]
fn falling_roles(size: usize) -> Vec<u8> {
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

/// A list of tensors, one of which has an attribute before its name that is as long as all others.
#[cfg(feature = "ztensor")]
fn name_behind(size: usize) -> Vec<u8> {
    list_of(
        half_sorted(size)
            .into_iter()
            .enumerate()
            .map(|(place, rank)| (if place == 1 { 100 * size } else { 0 }, rank)),
    )
}

/// A list of tensors of one name, which the first has behind an attribute that is as long as all others.
#[cfg(feature = "ztensor")]
fn one_name(size: usize) -> Vec<u8> {
    list_of((0..size).map(|place| (if place == 0 { 100 * size } else { 0 }, 7)))
}

/// A zTensor 0.1 file: for each tensor the length of an attribute before its name, and the number that is its name.
#[cfg(feature = "ztensor")]
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

/// As many tensors as their names have bytes, which are the same in all but the last four; the names descend.
#[cfg(feature = "ztensor")]
fn names_alike(size: usize) -> Vec<u8> {
    let start = "x".repeat(size);
    let names: Vec<String> = (0..size).rev().map(|number| format!("{start}{number:04}")).collect();
    file_1_2(&manifest_1_2(names.iter().map(String::as_str)))
}

#[cfg(feature = "gguf")]
fn pairs(size: usize) -> Vec<u8> {
    let mut file = Gguf::default();
    for i in 0..size {
        file.pair(format!("{i:06}"), &Meta::U32(7));
    }
    file.pair("last", &Meta::U8(7)).bytes()
}

#[cfg(feature = "gguf")]
fn falling_keys(size: usize) -> Vec<u8> {
    let mut file = Gguf::default();
    for i in (0..size).rev() {
        file.pair(format!("{i:06}"), &Meta::U32(7));
    }
    file.bytes()
}

/// Keys that fall, each of a list of strings.
#[cfg(feature = "gguf")]
fn lists_and_falling_keys(size: usize) -> Vec<u8> {
    let mut file = Gguf::default();
    let list = Meta::texts((0..100).map(|i| format!("{i}")));
    for i in (0..size).rev() {
        file.pair(format!("{i:06}"), &list);
    }
    file.bytes()
}

#[cfg(feature = "gguf")]
fn tensors(size: usize) -> Vec<u8> {
    gguf_tensors((0..size).map(|i| format!("{i:06}")))
}

#[cfg(feature = "gguf")]
fn falling_infos(size: usize) -> Vec<u8> {
    gguf_tensors((0..size).rev().map(|i| format!("{i:06}")))
}

/// As many tensors as their names have bytes, which are the same in all but the last four; the names descend.
#[cfg(feature = "gguf")]
fn tensors_alike(size: usize) -> Vec<u8> {
    let start = "x".repeat(size);
    gguf_tensors((0..size).rev().map(|i| format!("{start}{i:04}")))
}

/// Tensors without elements.
#[cfg(feature = "gguf")]
fn gguf_tensors(names: impl Iterator<Item = String>) -> Vec<u8> {
    let mut file = Gguf::default();
    for name in names {
        file.tensor(name, &[0, 1, 1, 1], 0, &[]);
    }
    file.bytes()
}

/// A list, and a pair behind it.
#[cfg(feature = "gguf")]
fn one_list(list: &Meta) -> Vec<u8> {
    Gguf::default().pair("a", list).pair("last", &Meta::U8(7)).bytes()
}

#[cfg(feature = "gguf")]
fn strings(size: usize) -> Vec<u8> {
    one_list(&Meta::texts((0..size).map(|i| format!("{i:06}"))))
}

/// A hundred strings of that length, and characters that take several bytes.
#[cfg(feature = "gguf")]
fn long_strings(size: usize) -> Vec<u8> {
    one_list(&Meta::texts((0..100).map(|_| "\u{e4}".repeat(size / 2))))
}

#[cfg(feature = "gguf")]
fn truths(size: usize) -> Vec<u8> {
    one_list(&Meta::Array(7, vec![Meta::Bool(1); size]))
}

/// So many lists of lists of strings.
#[cfg(feature = "gguf")]
fn wide_lists(size: usize) -> Vec<u8> {
    let inside = Meta::Array(ARRAY, vec![Meta::texts(["a".into(), String::new()].into_iter()); 3]);
    one_list(&Meta::Array(ARRAY, vec![inside; size]))
}

/// So many lists, each of one list, and so on, with an empty list at the end.
#[cfg(feature = "gguf")]
fn deep_lists(size: usize) -> Vec<u8> {
    let inside = (0..6).fold(Meta::Array(0, vec![]), |inside, _| Meta::Array(ARRAY, vec![inside]));
    one_list(&Meta::Array(ARRAY, vec![inside; size]))
}

/// Pairs that take more than a window, and strings behind them that take many.
#[cfg(feature = "gguf")]
fn strings_behind_pairs(size: usize) -> Vec<u8> {
    let mut file = Gguf::default();
    let text = Meta::text("x".repeat(4000));
    for i in 0..size {
        file.pair(format!("{i:06}"), &text);
    }
    file.pair("a", &Meta::texts((0..100 * size).map(|_| "x".repeat(600)))).bytes()
}

/// Lists of numbers, each longer than what is requested after it.
#[cfg(feature = "gguf")]
fn lists_between_pairs(size: usize) -> Vec<u8> {
    let mut file = Gguf::default();
    let list = file.value(&Meta::Array(0, vec![Meta::U8(7); 100_000]));
    for i in 0..size {
        file.raw_pair(format!("{i:06}"), ARRAY, &list);
    }
    file.bytes()
}

/// Opens over a source that is given what it asks for.
#[cfg(feature = "gguf")]
fn open_in_parts(bytes: &[u8]) {
    let mut source = tenslice::Source::new(bytes.len() as u64);
    while let tenslice::Opened::Need(need) = File::open_source(&source).unwrap() {
        let from = need.extent.offset as usize;
        source.add(need.extent.offset, &bytes[from..][..need.extent.length as usize]).unwrap();
    }
}

/// Lists all values, and those in lists.
#[cfg(feature = "gguf")]
fn walk_attributes(bytes: &[u8]) {
    fn count(attributes: tenslice::Attributes<'_>) -> usize {
        attributes.map(|attribute| attribute.value.items().map_or(1, count)).sum()
    }
    assert!(black_box(count(File::open(bytes).unwrap().attributes())) > 0);
}

#[cfg(feature = "gguf")]
fn find_last_key(bytes: &[u8]) {
    assert_eq!(File::open(bytes).unwrap().attributes().get_u64("last"), Some(7));
}

#[cfg(feature = "gguf")]
fn find_last_tensor(bytes: &[u8]) {
    let file = File::open(bytes).unwrap();
    let last = format!("{:06}", file.tensor_count() - 1);
    assert!(file.find(&last).is_ok());
}

/// A component of these frames, each with its content.
#[cfg(all(feature = "ztensor2", feature = "zstd"))]
fn file_of_frames(frames: &[(Vec<u8>, usize)]) -> Vec<u8> {
    let length: usize = frames.iter().map(|(_, content)| content).sum();
    let part = Part {
        role: "data",
        dtype: "u8",
        stored: with_table(frames),
        decoded_length: Some(length),
        digest: Some(xxh3(&vec![7; length])),
        ..Part::default()
    };
    let shape = vec![length as u64];
    file(&[Object { name: "t", shape, layout: "dense", attributes: serde_json::Value::Null, parts: vec![part] }], &[])
}

#[cfg(all(feature = "ztensor2", feature = "zstd"))]
fn frames_of_a_byte(size: usize) -> Vec<u8> {
    file_of_frames(&vec![(zstd_frame(&[7]), 1); size])
}

#[cfg(all(feature = "ztensor2", feature = "zstd"))]
fn frames_of_nothing(size: usize) -> Vec<u8> {
    let mut frames = vec![(zstd_frame(&[]), 0); size];
    frames.push((zstd_frame(&[7]), 1));
    file_of_frames(&frames)
}

/// A frame with as many blocks without a byte, then one of a byte.
#[cfg(all(feature = "ztensor2", feature = "zstd"))]
fn empty_blocks(size: usize) -> Vec<u8> {
    let checksum = *zstd_frame(&[7]).last_chunk::<4>().unwrap();
    let frame = [&[0x28, 0xb5, 0x2f, 0xfd, 4, 0][..], &vec![0; 3 * size], &[9, 0, 0, 7], &checksum].concat();
    file_of_frames(&[(frame, 1)])
}

#[cfg(all(feature = "ztensor2", feature = "zstd"))]
fn of_frames<T>(bytes: &[u8], f: impl FnOnce(&tenslice::Component<'_>, &mut [u8]) -> T) -> T {
    let file = File::open(bytes).unwrap();
    let data = file.find("t").unwrap().data().unwrap();
    let mut room = vec![0; data.decoded_length().unwrap() as usize];
    f(&data, &mut room)
}

#[cfg(all(feature = "ztensor2", feature = "zstd"))]
fn read_whole(bytes: &[u8]) {
    of_frames(bytes, |data, room| assert!(data.read_into(room).unwrap().iter().all(|byte| *byte == 7)));
}

#[cfg(all(feature = "ztensor2", feature = "zstd"))]
fn read_byte_of_frames(bytes: &[u8]) {
    of_frames(bytes, |data, room| data.read_range_into(0, &mut room[..1], &mut [0]).unwrap());
}

#[cfg(all(feature = "ztensor2", feature = "zstd"))]
fn ask_for_caps(bytes: &[u8]) {
    of_frames(bytes, |data, _| {
        assert!(data.caps().range && data.range_scratch_length() == Some(1));
    });
}

#[cfg(all(feature = "ztensor2", feature = "zstd", feature = "digest"))]
fn verify_frames(bytes: &[u8]) {
    let verified = of_frames(bytes, |data, _| data.verify_with(&mut tenslice::BuiltIn::default(), &mut [0]));
    assert_eq!(verified, Ok(tenslice::Verification::Verified));
}
