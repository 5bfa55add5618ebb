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
#[cfg(feature = "ztensor")]
use support::{Cbor, component, file_1_2, manifest_1_2};
use tenslice::File;

/// By which factor the work may grow when the size is doubled.
const MOST: f64 = 2.2;

/// The factor for items that are sorted: n log n steps are 2.23 times as many for 900 items as for 450.
const MOST_SORTED: f64 = 2.25;
const SORTED: [&str; 2] = ["entries in falling order", "more entries, compared with memory"];

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
    ("entries whose names do not tell that they are arrays", 450, unnamed_entries, list),
    #[cfg(feature = "npz")]
    ("entries that share a head", 1100, shared_head, open),
    #[cfg(feature = "npz")]
    ("an end of an archive that is not there", 1 << 14, no_end, open),
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
#[cfg(feature = "npz")]
fn check(bytes: &[u8]) {
    let _ = black_box(File::open(bytes).unwrap().check(&mut [0; 4096]).unwrap());
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

fn open(bytes: &[u8]) {
    let _ = black_box(File::open(bytes));
}

fn list(bytes: &[u8]) {
    let file = File::open(bytes).unwrap();
    let components = file.tensors().flat_map(|tensor| tensor.components());
    assert!(components.fold(0, |count, component| count + component.role().len()) > 0);
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

/// As many tensors as their names have bytes, which are the same in all but the last four; the names descend.
#[cfg(feature = "ztensor")]
fn names_alike(size: usize) -> Vec<u8> {
    let start = "x".repeat(size);
    let names: Vec<String> = (0..size).rev().map(|number| format!("{start}{number:04}")).collect();
    file_1_2(&manifest_1_2(names.iter().map(String::as_str)))
}
