//! NPZ.

use super::half_sorted;
use super::npy::npy;

/// An entry of an archive.
struct Entry {
    name: String,
    content: Vec<u8>,
    /// Extra fields of its record in the directory, and a comment there.
    extra: Vec<u8>,
    comment: usize,
    /// Whether its numbers are in an extra field of zip64.
    is_wide: bool,
    /// The content as it is stored, if it is compressed.
    stored: Option<Vec<u8>>,
}

impl Entry {
    fn new(name: String) -> Self {
        Self { name, content: npy("'|u1'", "(0,)", &[]), extra: vec![], comment: 0, is_wide: false, stored: None }
    }
}

/// An archive of those entries, in the directory in the order of `order`.
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

/// CRC-32 as in ZIP, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum: u32, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 })
    })
}

/// Entries of a thousand bytes each, of which some are fetched at a time.
pub fn long_entries(size: usize) -> Vec<u8> {
    let content = npy("'|u1'", "(1000,)", &[7; 1000]);
    let entry = |i| Entry { content: content.clone(), ..Entry::new(format!("{i:06}.npy")) };
    archive(&(0..size).map(entry).collect::<Vec<_>>(), 0..size, &[])
}

pub fn entries(size: usize) -> Vec<u8> {
    archive(&(0..size).map(|i| Entry::new(format!("{i:06}.npy"))).collect::<Vec<_>>(), 0..size, &[])
}

/// Entries whose names and places fall.
pub fn falling_entries(size: usize) -> Vec<u8> {
    archive(&(0..size).map(|i| Entry::new(format!("{i:06}.npy"))).collect::<Vec<_>>(), (0..size).rev(), &[])
}

/// Entries whose names do not tell that they are arrays.
pub fn unnamed_entries(size: usize) -> Vec<u8> {
    archive(&(0..size).map(|i| Entry::new(format!("{i:06}.dat"))).collect::<Vec<_>>(), (0..size).rev(), &[])
}

/// Entries of which the second has extra fields half as long as the directory, in an order that compares it with half of them.
pub fn extra_fields(size: usize) -> Vec<u8> {
    with_extra_fields(size, false)
}

/// Entries of which the second has its numbers in a field of zip64, too.
pub fn wide_extra_fields(size: usize) -> Vec<u8> {
    with_extra_fields(size, true)
}

fn with_extra_fields(size: usize, is_wide: bool) -> Vec<u8> {
    let ranks = half_sorted(size);
    let mut entries: Vec<_> = (0..size).map(|i| Entry::new(format!("{i:06}.npy"))).collect();
    entries[ranks[1]].extra = b"xx\0\0".repeat(7 * size); // 64 KiB at most
    entries[ranks[1]].is_wide = is_wide;
    archive(&entries, ranks.into_iter(), &[])
}

/// Entries with a comment each, and a comment of the archive that looks like records of its end.
pub fn comments(size: usize) -> Vec<u8> {
    let mut entries: Vec<_> = (0..size).map(|i| Entry::new(format!("{i:06}.npy"))).collect();
    entries.iter_mut().for_each(|entry| entry.comment = 100);
    archive(&entries, 0..size, &b"PK\x05\x06".repeat(20 * size))
}

/// Archives of which the last record of the directory has another name than the entry.
pub fn spoiled(size: usize) -> Vec<u8> {
    let mut bytes = entries(size);
    let at = bytes.len() - 23;
    bytes[at] = b'x';
    bytes
}

/// So many entries of the directory for one local header, before a head that is as long.
pub fn shared_head(size: usize) -> Vec<u8> {
    let mut one = Entry::new("a.npy".into());
    one.content = npy(&format!("[{}]", "('x', '<f4'), ".repeat(size)), "(0,)", &[]);
    let mut bytes = archive(&[one], std::iter::repeat_n(0, size), &[]);
    let (at, count) = (bytes.len() - 14, (size as u16).to_le_bytes());
    bytes[at..at + 4].copy_from_slice(&[count, count].concat());
    bytes
}

/// What may be a record of the end, again and again, with comments that end too early.
pub fn no_end(size: usize) -> Vec<u8> {
    let mut bytes = b"PK\x03\x04".to_vec();
    bytes.extend(b"PK\x05\x06".repeat(size));
    bytes
}

/// An array of so many bytes.
pub fn data(size: usize) -> Vec<u8> {
    let content = npy("'|u1'", &format!("({size},)"), &vec![7; size]);
    archive(&[Entry { content, ..Entry::new("a.npy".into()) }], 0..1, &[])
}

/// An array of so many lengths.
pub fn rank(size: usize) -> Vec<u8> {
    let content = npy("'|u1'", &format!("(0, {})", "1, ".repeat(size)), &[]);
    archive(&[Entry { content, ..Entry::new("a.npy".into()) }], 0..1, &[])
}

/// An array of so many bytes, in blocks of `deflate` that are stored as they are.
pub fn deflated(size: usize) -> Vec<u8> {
    let content = npy("'|u1'", &format!("({size},)"), &vec![7; size]);
    let blocks = content.chunks(1000).map(|block| {
        let length = block.len() as u16;
        [&[0][..], &length.to_le_bytes(), &(!length).to_le_bytes(), block].concat()
    });
    let stored = [blocks.collect::<Vec<_>>().concat(), vec![1, 0, 0, 0xff, 0xff]].concat();
    archive(&[Entry { content, stored: Some(stored), ..Entry::new("a.npy".into()) }], 0..1, &[])
}

/// Entries of which the second has a name half as long as the directory, in an order that compares it with half of them.
pub fn long_name(size: usize) -> Vec<u8> {
    let ranks = half_sorted(size).into_iter().enumerate();
    let name = |(place, rank)| format!("{rank:06}{}.npy", "x".repeat(if place == 1 { 28 * size } else { 0 }));
    archive(&ranks.map(|one| Entry::new(name(one))).collect::<Vec<_>>(), 0..size, &[])
}
