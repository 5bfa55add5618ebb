//! NPZ archives of any arrays, stored or deflated, with or without zip64, data descriptors, extra fields, comments
//! and other entries. What was made is listed, verified and read back. Or one thing is broken; if it is in an array,
//! the checksum is corrected.

use tenslice::{Encoding, ErrorKind, File, Verification, ReadOptions};

use crate::check;
use crate::choices::Choices;
use crate::npy::Array;

const CRC32: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);

enum Content {
    Array(Array),
    Other(Vec<u8>),
}

struct Entry {
    name: String,
    content: Content,
    method: u16,
    /// The length and the checksum follow the data.
    has_descriptor: bool,
    is_zip64: bool,
    /// Deflated in stored blocks.
    is_plain: bool,
    /// An extra field without meaning.
    extra: Vec<u8>,
}

impl Entry {
    fn new(choices: &mut Choices<'_>, number: usize) -> Self {
        let is_array = number == 0 || !choices.one_in(6);
        let content = if is_array {
            Content::Array(Array::new(choices))
        } else {
            // An entry that begins like an array is read as one, whatever its name.
            let bytes = choices.bytes(20);
            Content::Other(if bytes.starts_with(b"\x93NUMPY") { Vec::new() } else { bytes })
        };
        // Few names, so that some are repeated.
        let name = match &content {
            Content::Array(_) => format!("{}.npy", choices.below(100)),
            Content::Other(_) => choices.of(&["notes.txt", "folder/", "a"]).into(),
        };
        let extra = if choices.one_in(4) { vec![0x99, 0x88, 2, 0, 1, 2] } else { Vec::new() };
        Self {
            name,
            content,
            method: choices.of(&[0, 8]),
            has_descriptor: choices.one_in(6),
            is_zip64: choices.one_in(4),
            is_plain: choices.below(2) == 1,
            extra,
        }
    }

    fn content(&self) -> &[u8] {
        match &self.content {
            Content::Array(array) => &array.bytes,
            Content::Other(bytes) => bytes,
        }
    }
}

/// A deflate stream of stored blocks, or of one block of fixed codes in which runs are matches. A real compressor
/// would dominate the time.
fn deflate(bytes: &[u8], is_stored: bool) -> Vec<u8> {
    let mut stream = Vec::new();
    if is_stored {
        let mut rest = bytes;
        loop {
            let (block, after) = rest.split_at(rest.len().min(0xffff));
            let length = (block.len() as u16).to_le_bytes();
            stream.extend([&[u8::from(after.is_empty())], &length[..], &length.map(|byte| !byte), block].concat());
            if after.is_empty() {
                return stream;
            }
            rest = after;
        }
    }
    let mut bits = 0;
    let mut put = |code: u32, length: u32| {
        // Codes begin with their highest bit.
        for bit in (0..length).rev() {
            if bits % 8 == 0 {
                stream.push(0);
            }
            *stream.last_mut().unwrap() |= ((code >> bit & 1) as u8) << (bits % 8);
            bits += 1;
        }
    };
    put(0b110, 3); // the last block, of fixed codes
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let run = bytes[at..].iter().take(10).take_while(|other| **other == byte).count();
        if at > 0 && bytes[at - 1] == byte && run >= 3 {
            put(run as u32 - 2, 7); // the length of the match
            put(0, 5); // at distance 1
            at += run;
        } else {
            match byte {
                0..144 => put(0x30 + u32::from(byte), 8),
                _ => put(0x190 + u32::from(byte) - 144, 9),
            }
            at += 1;
        }
    }
    put(0, 7);
    stream
}

/// Writes the archive. `contents` are those of the entries, in the same order.
fn archive(entries: &[Entry], contents: &[&[u8]], comment: &[u8], is_zip64: bool) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (entry, content) in entries.iter().zip(contents) {
        let at = file.len();
        let stored = if entry.method == 8 { deflate(content, entry.is_plain) } else { content.to_vec() };
        let crc = CRC32.checksum(content);
        let lengths = [stored.len(), content.len()];
        let flags: u16 = if entry.has_descriptor { 1 << 3 } else { 0 };
        // If the lengths follow the data, the local header does not have them.
        let mut local = b"PK\x03\x04\x2d\0".to_vec();
        let mut record = b"PK\x01\x02\x2d\0\x2d\0".to_vec();
        for (header, is_local) in [(&mut local, true), (&mut record, false)] {
            let is_unknown = is_local && entry.has_descriptor;
            header.extend([flags.to_le_bytes(), entry.method.to_le_bytes()].concat());
            header.extend([0; 4]);
            header.extend(if is_unknown { [0; 4] } else { crc.to_le_bytes() });
            let mut extra = entry.extra.clone();
            if entry.is_zip64 {
                header.extend([0xff; 8]);
                extra.extend([1, 0, 16, 0]);
                let [stored, size] = if is_unknown { [0, 0] } else { lengths.map(|length| length as u64) };
                extra.extend([size.to_le_bytes(), stored.to_le_bytes()].concat());
            } else {
                let [stored, size] = if is_unknown { [0, 0] } else { lengths.map(|length| length as u32) };
                header.extend([stored.to_le_bytes(), size.to_le_bytes()].concat());
            }
            header.extend([(entry.name.len() as u16).to_le_bytes(), (extra.len() as u16).to_le_bytes()].concat());
            if !is_local {
                header.extend([0; 10]);
                header.extend((at as u32).to_le_bytes());
            }
            header.extend(entry.name.bytes());
            header.extend(extra);
        }
        file.extend(local);
        file.extend(&stored);
        if entry.has_descriptor {
            file.extend(b"PK\x07\x08");
            file.extend(crc.to_le_bytes());
            lengths.iter().for_each(|length| file.extend((*length as u32).to_le_bytes()));
        }
        directory.extend(record);
    }
    let (start, length, count) = (file.len(), directory.len(), entries.len());
    file.extend(directory);
    if is_zip64 {
        let at = file.len() as u64;
        file.extend(b"PK\x06\x06");
        file.extend(44_u64.to_le_bytes());
        file.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        [count, count, length, start].iter().for_each(|number| file.extend((*number as u64).to_le_bytes()));
        file.extend(b"PK\x06\x07\0\0\0\0");
        file.extend(at.to_le_bytes());
        file.extend(1_u32.to_le_bytes());
    }
    file.extend(b"PK\x05\x06\0\0\0\0");
    if is_zip64 {
        file.extend([0xff; 12]);
    } else {
        [count, count].iter().for_each(|number| file.extend((*number as u16).to_le_bytes()));
        [length, start].iter().for_each(|number| file.extend((*number as u32).to_le_bytes()));
    }
    file.extend((comment.len() as u16).to_le_bytes());
    file.extend(comment);
    file
}

pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let entries: Vec<Entry> = (0..1 + choices.below(4)).map(|number| Entry::new(&mut choices, number)).collect();
    let comment = choices.of(&[&b""[..], b"", b"a comment"]);
    let is_zip64 = choices.one_in(4);
    let contents: Vec<&[u8]> = entries.iter().map(Entry::content).collect();
    let mut file = archive(&entries, &contents, comment, is_zip64);
    if choices.is_sound {
        return match check::all(&file) {
            Ok(opened) => compare(&opened, &entries),
            Err(error) => {
                let names = entries.iter().map(|entry| &entry.name).filter(|name| name.ends_with(".npy"));
                let names: Vec<_> = names.collect();
                let is_twice = (1..names.len()).any(|k| names[..k].contains(&names[k]));
                assert!(is_twice && error.kind() == ErrorKind::RepeatedName, "{}", error.explain(&file[..]));
            }
        };
    }
    // In an array, so that the archive is valid, or anywhere.
    if choices.below(2) == 0 {
        let which = choices.below(entries.len());
        let mut broken = contents[which].to_vec();
        choices.damage(&mut broken);
        let mut contents = contents.clone();
        contents[which] = &broken;
        file = archive(&entries, &contents, comment, is_zip64);
    } else {
        choices.damage(&mut file);
    }
    let _ = check::all(&file);
}

fn compare(file: &File<'_>, entries: &[Entry]) {
    let mut listed = file.as_npz().unwrap().entries();
    let mut tensors = file.tensors();
    for entry in entries {
        let found = listed.next().unwrap();
        let content = entry.content();
        assert_eq!((found.name, found.decoded_length), (&entry.name[..], content.len() as u64));
        assert_eq!(found.crc32, CRC32.checksum(content));
        assert_eq!(found.encoding, if entry.method == 8 { Encoding::Deflate } else { Encoding::Raw });
        let Content::Array(array) = &entry.content else { continue };
        let tensor = tensors.next().unwrap();
        assert_eq!(tensor.name(), entry.name.strip_suffix(".npy").unwrap());
        let component = tensor.components().next().unwrap();
        if entry.method == 0 {
            array.compare(&tensor);
            assert_eq!(component.verify(ReadOptions::new()), Ok(Verification::Verified));
        } else {
            // The decoded bytes are an NPY file.
            let mut room = vec![0; content.len()];
            assert_eq!(component.read_into(&mut room, ReadOptions::new()).unwrap(), content);
            array.compare(&File::open(&room).unwrap().find("").unwrap());
        }
    }
    assert!(listed.next().is_none() && listed.error().is_none() && tensors.next().is_none());
}
