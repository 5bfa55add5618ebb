//! NPZ archives.

use super::half_sorted;
use super::npy::npy;

/// An entry of an archive.
struct Entry {
    name: String,
    content: Vec<u8>,
    /// Extra fields of the directory record, and the length of its comment.
    extra: Vec<u8>,
    comment: usize,
    /// True if the numbers are in a zip64 extra field.
    is_wide: bool,
    /// The stored content if it is compressed.
    stored: Option<Vec<u8>>,
}

impl Entry {
    fn new(name: String) -> Self {
        Self { name, content: npy("'|u1'", "(0,)", &[]), extra: vec![], comment: 0, is_wide: false, stored: None }
    }
}

/// An archive of these entries. The directory has them in the order of `order`.
fn archive(entries: &[Entry], order: impl Iterator<Item = usize>, comment: &[u8]) -> Vec<u8> {
    let (mut bytes, mut records) = (Vec::new(), Vec::new());
    for Entry { name, content, extra, comment, is_wide, stored } in entries {
        let sum = crc32(content);
        let about = |[stored_length, length]: [u32; 2], extra: usize| {
            let mut about = vec![0, 0, if stored.is_some() { 8 } else { 0 }, 0, 0, 0, 0, 0]; // flags, method, time
            [sum, stored_length, length].iter().for_each(|number| about.extend(number.to_le_bytes()));
            about.extend([(name.len() as u16).to_le_bytes(), (extra as u16).to_le_bytes()].concat());
            about
        };
        let (at, bytes_there) = (bytes.len(), stored.as_ref().unwrap_or(content));
        let lengths = [bytes_there, content].map(|bytes| bytes.len() as u32);
        bytes.extend([b"PK\x03\x04\0\0", &about(lengths, 0)[..], name.as_bytes(), bytes_there].concat());
        let numbers = [content.len() as u64, bytes_there.len() as u64, at as u64].map(u64::to_le_bytes).concat();
        let zip64 = if *is_wide { [&[1, 0, 24, 0][..], &numbers].concat() } else { vec![] };
        let (lengths, at) = if *is_wide { ([u32::MAX; 2], u32::MAX) } else { (lengths, at as u32) };
        let mut record = [b"PK\x01\x02\0\0\0\0", &about(lengths, extra.len() + zip64.len())[..]].concat();
        record.extend([&(*comment as u16).to_le_bytes()[..], &[0; 8], &at.to_le_bytes(), name.as_bytes()].concat());
        record.extend([&zip64[..], extra, &vec![b'x'; *comment]].concat());
        records.push(record);
    }
    let directory: Vec<u8> = order.flat_map(|i| records[i].clone()).collect();
    let (start, count) = (bytes.len() as u32, (entries.len() as u16).to_le_bytes());
    bytes.extend(&directory);
    bytes.extend([&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &(directory.len() as u32).to_le_bytes()].concat());
    bytes.extend([&start.to_le_bytes()[..], &(comment.len() as u16).to_le_bytes(), comment].concat());
    bytes
}

/// The CRC-32 of ZIP, computed bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum: u32, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 })
    })
}

/// Entries of a thousand bytes each, several of which are fetched at a time.
pub fn long_entries(size: usize) -> Vec<u8> {
    let content = npy("'|u1'", "(1000,)", &[7; 1000]);
    let entry = |i| Entry { content: content.clone(), ..Entry::new(format!("{i:06}.npy")) };
    archive(&(0..size).map(entry).collect::<Vec<_>>(), 0..size, &[])
}

pub fn entries(size: usize) -> Vec<u8> {
    archive(&(0..size).map(|i| Entry::new(format!("{i:06}.npy"))).collect::<Vec<_>>(), 0..size, &[])
}

/// Entries with descending names and offsets.
pub fn falling_entries(size: usize) -> Vec<u8> {
    archive(&(0..size).map(|i| Entry::new(format!("{i:06}.npy"))).collect::<Vec<_>>(), (0..size).rev(), &[])
}

/// Entries whose names do not say that they are arrays.
pub fn unnamed_entries(size: usize) -> Vec<u8> {
    archive(&(0..size).map(|i| Entry::new(format!("{i:06}.dat"))).collect::<Vec<_>>(), (0..size).rev(), &[])
}

/// Entries, the second of which has extra fields half as long as the directory, in an order that compares it with
/// half of them.
pub fn extra_fields(size: usize) -> Vec<u8> {
    with_extra_fields(size, false)
}

/// The same, with the numbers of the second entry in a zip64 field.
pub fn wide_extra_fields(size: usize) -> Vec<u8> {
    with_extra_fields(size, true)
}

fn with_extra_fields(size: usize, is_wide: bool) -> Vec<u8> {
    let ranks = half_sorted(size);
    let mut entries: Vec<_> = (0..size).map(|i| Entry::new(format!("{i:06}.npy"))).collect();
    entries[ranks[1]].extra = b"xx\0\0".repeat(7 * size); // at most 64 KiB
    entries[ranks[1]].is_wide = is_wide;
    archive(&entries, ranks.into_iter(), &[])
}

/// Entries with a comment each, and an archive comment that looks like records of its end.
pub fn comments(size: usize) -> Vec<u8> {
    let mut entries: Vec<_> = (0..size).map(|i| Entry::new(format!("{i:06}.npy"))).collect();
    entries.iter_mut().for_each(|entry| entry.comment = 100);
    archive(&entries, 0..size, &b"PK\x05\x06".repeat(20 * size))
}

/// An archive whose last directory record has another name than the entry.
pub fn spoiled(size: usize) -> Vec<u8> {
    let mut bytes = entries(size);
    let at = bytes.len() - 23;
    bytes[at] = b'x';
    bytes
}

/// `size` directory entries for one local header, before a NPY header that is as long.
pub fn shared_head(size: usize) -> Vec<u8> {
    let mut one = Entry::new("a.npy".into());
    one.content = npy(&format!("[{}]", "('x', '<f4'), ".repeat(size)), "(0,)", &[]);
    let mut bytes = archive(&[one], std::iter::repeat_n(0, size), &[]);
    let (at, count) = (bytes.len() - 14, (size as u16).to_le_bytes());
    bytes[at..at + 4].copy_from_slice(&[count, count].concat());
    bytes
}

/// Repeated bytes that look like a record of the end, with comments that end too early.
pub fn no_end(size: usize) -> Vec<u8> {
    let mut bytes = b"PK\x03\x04".to_vec();
    bytes.extend(b"PK\x05\x06".repeat(size));
    bytes
}

/// An array of `size` bytes.
pub fn data(size: usize) -> Vec<u8> {
    let content = npy("'|u1'", &format!("({size},)"), &vec![7; size]);
    archive(&[Entry { content, ..Entry::new("a.npy".into()) }], 0..1, &[])
}

/// An array of `size` lengths.
pub fn rank(size: usize) -> Vec<u8> {
    let content = npy("'|u1'", &format!("(0, {})", "1, ".repeat(size)), &[]);
    archive(&[Entry { content, ..Entry::new("a.npy".into()) }], 0..1, &[])
}

/// An array of `size` bytes, in stored deflate blocks.
pub fn deflated(size: usize) -> Vec<u8> {
    let content = npy("'|u1'", &format!("({size},)"), &vec![7; size]);
    let blocks = content.chunks(1000).map(|block| {
        let length = block.len() as u16;
        [&[0][..], &length.to_le_bytes(), &(!length).to_le_bytes(), block].concat()
    });
    let stored = [blocks.collect::<Vec<_>>().concat(), vec![1, 0, 0, 0xff, 0xff]].concat();
    archive(&[Entry { content, stored: Some(stored), ..Entry::new("a.npy".into()) }], 0..1, &[])
}

/// Entries, the second of which has a name half as long as the directory, in an order that compares it with half of
/// them.
pub fn long_name(size: usize) -> Vec<u8> {
    let ranks = half_sorted(size).into_iter().enumerate();
    let name = |(place, rank)| format!("{rank:06}{}.npy", "x".repeat(if place == 1 { 28 * size } else { 0 }));
    archive(&ranks.map(|one| Entry::new(name(one))).collect::<Vec<_>>(), 0..size, &[])
}
