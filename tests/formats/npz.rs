//! NPZ: archives of many entries, archives larger than memory, and calls specific to the format.
#![cfg(feature = "npz")]

use crate::support::open_in_rounds;
use tenslice::{
    BuiltIn, ByteOrder, DType, DecodeError, Decoder, Encoding, Error, ErrorKind, Extent, File, Format, Opened, Order,
    Part, Purpose, ReadOptions, Source, Tensor, Warning,
};

/// An archive under construction: entries, then the directory.
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    count: u16,
}

const ARRAY: &[u8] = b"\x93NUMPY\x01\0\x38\0{'descr': '|u1', 'fortran_order': False, 'shape': (3,)}\n\x07\x08\x09";

/// The CRC-32 of ZIP, computed bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum: u32, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 })
    })
}

impl Archive {
    /// Adds a stored entry to the bytes.
    fn add(&mut self, name: &str, content: &[u8]) -> &mut Self {
        let at = self.bytes.len() as u32;
        let about = about(name, content);
        self.bytes.extend(b"PK\x03\x04\x14\0");
        self.bytes.extend(&about);
        self.bytes.extend(name.as_bytes());
        self.bytes.extend(content);
        self.list(name, &about, at)
    }

    /// Adds an entry with method deflate whose blocks are stored uncompressed.
    fn add_deflated(&mut self, name: &str, content: &[u8]) -> &mut Self {
        let stream = deflated(content);
        let at = self.bytes.len() as u32;
        let mut about = about(name, content);
        about[2] = 8;
        about[12..16].copy_from_slice(&(stream.len() as u32).to_le_bytes());
        self.bytes.extend(b"PK\x03\x04\x14\0");
        self.bytes.extend(&about);
        self.bytes.extend(name.as_bytes());
        self.bytes.extend(stream);
        self.list(name, &about, at)
    }

    /// Adds an entry to the directory.
    fn list(&mut self, name: &str, about: &[u8], at: u32) -> &mut Self {
        self.directory.extend(b"PK\x01\x02\x14\0\x14\0");
        self.directory.extend(about);
        self.directory.extend([0; 10]);
        self.directory.extend(at.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.count += 1;
        self
    }

    fn finish(&self) -> Vec<u8> {
        let mut file = self.bytes.clone();
        file.extend(&self.directory);
        file.extend(b"PK\x05\x06\0\0\0\0");
        file.extend([self.count.to_le_bytes(), self.count.to_le_bytes()].concat());
        file.extend((self.directory.len() as u32).to_le_bytes());
        file.extend((self.bytes.len() as u32).to_le_bytes());
        file.extend([0; 2]);
        file
    }
}

/// A deflate stream in blocks of at most 100 bytes.
fn deflated(content: &[u8]) -> Vec<u8> {
    let mut stream = Vec::new();
    for block in content.chunks(100) {
        let length = block.len() as u16;
        stream.extend([&[0][..], &length.to_le_bytes(), &(!length).to_le_bytes(), block].concat());
    }
    stream.extend([1, 0, 0, 0xff, 0xff]);
    stream
}

/// The fields that local header and directory share for a stored entry: from the flags to the length of the extra
/// fields.
fn about(name: &str, content: &[u8]) -> Vec<u8> {
    let mut about = vec![0; 8];
    about.extend(crc32(content).to_le_bytes());
    about.extend((content.len() as u32).to_le_bytes());
    about.extend((content.len() as u32).to_le_bytes());
    about.extend((name.len() as u16).to_le_bytes());
    about.extend([0; 2]);
    about
}

#[track_caller]
fn refused(bytes: &[u8]) -> (ErrorKind, Part) {
    let error = File::open(bytes).unwrap_err();
    (error.kind(), error.part())
}

/// The error of a rejected file, or of its first tensor that cannot be read.
#[track_caller]
fn fault(bytes: &[u8]) -> Error {
    File::open(bytes).map_or_else(|error| error, |file| file.tensors().find_map(|tensor| tensor.problem()).unwrap())
}

/// An array that begins with this header, followed by `items` bytes, each 1.
fn array(header: &str, items: usize) -> Vec<u8> {
    [&b"\x93NUMPY\x01\0"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes(), &vec![1; items]].concat()
}

/// An entry that is named like an array but is not one, is incomplete, or is unsupported. Everything else in the
/// archive can be read, wherever that entry is.
#[test]
fn one_bad_entry() {
    let of_type = |descr: &str| array(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (3,)}}\n"), 24);
    let bad: &[(&str, Vec<u8>, ErrorKind, &str)] = &[
        ("pickled", of_type("'|O'"), ErrorKind::UnknownDType, "\"|O\" (Python objects are pickled"),
        ("f1", of_type("'<f1'"), ErrorKind::UnknownDType, "\"<f1\""),
        ("fields", of_type("[('x', '<f4'), ('y', '|O')]"), ErrorKind::UnknownDType, "\"|O\""),
        ("items cut", ARRAY[..ARRAY.len() - 1].to_vec(), ErrorKind::Truncated, "longer than its entry"),
        ("header cut", ARRAY[..30].to_vec(), ErrorKind::OutOfFile, "longer than its entry"),
        ("version cut", ARRAY[..7].to_vec(), ErrorKind::Truncated, ""),
        ("empty", Vec::new(), ErrorKind::Truncated, ""),
        ("text", b"no array at all".to_vec(), ErrorKind::Malformed, "an array begins with"),
        ("version", [b"\x93NUMPY\x09", &ARRAY[7..]].concat(), ErrorKind::UnsupportedVersion, ""),
        ("no shape", array("{'descr': '<f4', 'fortran_order': False}\n", 4), ErrorKind::MissingKey, "\"shape\""),
        (
            "too large",
            array(&format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({},)}}\n", u64::MAX), 8),
            ErrorKind::ShapeOverflow,
            "",
        ),
    ];
    let other = array("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1)}\n", 8);
    for (name, content, kind, says) in bad {
        for place in 0..3 {
            let mut archive = Archive::default();
            for i in 0..3 {
                match i == place {
                    true => archive.add(&format!("{name}.npy"), content),
                    false if i == 1 => archive.add("other.npy", &other),
                    false => archive.add(&format!("good {i}.npy"), ARRAY),
                };
            }
            let bytes = archive.add("last.npy", ARRAY).finish();
            let file = File::open(&bytes).unwrap();
            assert_eq!(file.tensor_count(), 4, "{name}");
            assert!(file.warnings().iter().eq([Warning::UnreadableTensor]), "{name}");
            assert_eq!(file.warnings().first_tensor(Warning::UnreadableTensor), Some(place), "{name}");
            let mut words = vec![0; file.index_length().unwrap()];
            let index = file.index(&mut words).unwrap();
            let mut source = Source::new(bytes.len() as u64);
            let in_parts = crate::support::open_in_parts(&bytes, &[], &mut source).unwrap();
            assert_eq!(crate::support::describe(&file), crate::support::describe(&in_parts), "{name}");
            // The entries before the bad one have a CRC, which verifying the file reaches first.
            let verified = if cfg!(feature = "crc32") || place == 0 { *kind } else { ErrorKind::NotBuiltIn };
            assert_eq!(file.verify(ReadOptions::new()).unwrap_err().kind(), verified, "{name}");
            for (number, tensor) in file.tensors().enumerate() {
                let name_here = tensor.name().to_string();
                let (found, indexed) = (file.find(&name_here).unwrap(), index.find(&name_here).unwrap());
                assert_eq!((found.index(), indexed.index()), (number as u64, number as u64), "{name}");
                for tensor in [tensor, found, indexed] {
                    if number as u64 == place {
                        assert_eq!((tensor.layout_name(), name_here.as_str()), ("npy", *name));
                        let error = crate::support::unreadable(&tensor, content);
                        assert_eq!(error.kind(), *kind, "{name}");
                        let message = error.explain(&bytes[..]).to_string();
                        assert!(message.contains(&format!("tensor {name:?}: ")), "{message}");
                        assert!(message.contains(says), "{message}");
                        continue;
                    }
                    assert!(tensor.problem().is_none() && tensor.warnings().is_empty(), "{name}");
                    let items: &[u8] = if name_here == "other" { &[1; 8] } else { &[7, 8, 9] };
                    assert_eq!(tensor.data().unwrap().bytes(), Ok(items), "{name}");
                    assert!(!cfg!(feature = "crc32") || tensor.verify(ReadOptions::new()).is_ok(), "{name}");
                }
            }
        }
    }
    // An archive of only that entry, and one that also has a text.
    for (name, content, kind, _) in bad {
        for more in [false, true] {
            let mut archive = Archive::default();
            archive.add(&format!("{name}.npy"), content);
            if more {
                archive.add("read me", b"text");
            }
            let bytes = archive.finish();
            let file = File::open(&bytes).unwrap();
            assert_eq!((file.tensor_count(), file.warnings().contains(Warning::NoArray)), (1, more), "{name}");
            assert_eq!(fault(&bytes).kind(), *kind, "{name}");
        }
    }
    // Two bad entries, distinguished by their names. Without the suffix, an entry is an array if it begins like one.
    let mut archive = Archive::default();
    archive.add("a.npy", ARRAY).add("b", &of_type("'|O'")).add("c.npy", b"").add("d", b"\x93NUMPX");
    let bytes = archive.finish();
    let file = File::open(&bytes).unwrap();
    assert!(file.warnings().iter().eq([Warning::UnreadableTensor, Warning::NoArray]));
    assert_eq!(file.warnings().first_tensor(Warning::UnreadableTensor), Some(1));
    let kinds = file.tensors().map(|tensor| tensor.problem().map(|error| error.kind()));
    assert!(kinds.eq([None, Some(ErrorKind::UnknownDType), Some(ErrorKind::Truncated)]));
    // The rules for directory and local headers apply, whatever the entries contain.
    archive.add("c", ARRAY);
    assert_eq!(refused(&archive.finish()), (ErrorKind::RepeatedName, Part::Name));
}

#[test]
fn reads_stored_arrays_in_place() {
    let mut archive = Archive::default();
    archive.add("b.npy", ARRAY).add("folder/", b"").add("a.npy", ARRAY).add("read me", b"text").add("c", ARRAY);
    let bytes = archive.finish();
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.tensors().map(|tensor| tensor.name().to_string()).collect::<Vec<_>>(), ["b", "a", "c"]);
    assert_eq!(file.warnings().iter().collect::<Vec<_>>(), [Warning::NoArray]);
    for (index, name) in ["b", "a", "c"].into_iter().enumerate() {
        let tensor = file.find(name).unwrap();
        assert_eq!(
            (tensor.index(), tensor.data().unwrap().as_slice::<u8>().unwrap()),
            (index as u64, &[7, 8, 9][..])
        );
    }
    assert_eq!(file.find("read me").unwrap_err().kind(), ErrorKind::NotFound);
    let entries: Vec<_> = file.as_npz().unwrap().entries().collect();
    assert_eq!(entries.len(), 5);
    assert_eq!((entries[3].name, entries[3].crc32, entries[3].encoding), ("read me", crc32(b"text"), Encoding::Raw));
    let Extent { offset, length } = entries[3].extent;
    assert_eq!(&bytes[offset as usize..][..length as usize], b"text");
}

#[cfg(feature = "crc32")]
#[test]
fn verifies_checksums() {
    use tenslice::Verification;
    let mut bytes = Archive::default().add("a.npy", ARRAY).finish();
    let verify =
        |bytes: &[u8]| File::open(bytes).unwrap().find("a").unwrap().data().unwrap().verify(ReadOptions::new());
    assert_eq!(verify(&bytes).unwrap(), Verification::Verified);
    // The CRC covers the whole entry, including a space in the header.
    let at = bytes.windows(2).position(|two| two == b": ").unwrap() + 1;
    bytes[at] = b'\t';
    assert_eq!(verify(&bytes).unwrap_err().kind(), ErrorKind::DigestMismatch);
    // Bytes that the caller supplies are those of the items, which have no CRC of their own.
    let file = File::open(&bytes).unwrap();
    let data = file.find("a").unwrap().data().unwrap();
    assert_eq!(data.with_bytes(&[7, 8, 9]).unwrap().verify(ReadOptions::new()).unwrap(), Verification::NoDigest);
}

#[cfg(all(feature = "zlib", feature = "crc32"))]
#[test]
fn verifies_checksums_of_compressed_entries() {
    let mut bytes = crate::support::fixture("npz/deflated_60k.npz");
    let read = |bytes: &[u8]| -> Result<usize, tenslice::Error> {
        let file = File::open(bytes)?;
        let tensor = file.tensors().next().unwrap();
        let data = tensor.components().next().unwrap();
        assert_eq!(data.encoding(), Encoding::Deflate);
        assert_eq!(tensor.data().unwrap_err().kind(), ErrorKind::NotDense);
        let mut array = vec![0; data.decoded_length().unwrap() as usize];
        assert_eq!(data.read_into(&mut array[1..], ReadOptions::new()).unwrap_err().kind(), ErrorKind::TooSmall);
        data.read_into(&mut array, ReadOptions::new()).map(|array| array.len())
    };
    assert!(read(&bytes).unwrap() > 10_000);
    // Both headers have the same CRC, which differs from that of the bytes.
    let local = 14;
    let directory = bytes.windows(4).position(|four| four == b"PK\x01\x02").unwrap() + 16;
    bytes[local] ^= 1;
    assert_eq!(refused(&bytes), (ErrorKind::HeadersDiffer, Part::Digest));
    bytes[directory] ^= 1;
    assert_eq!(read(&bytes).unwrap_err().kind(), ErrorKind::ChecksumMismatch);
}

#[test]
fn compares_names_and_offsets_in_any_order() {
    let mut archive = Archive::default();
    for i in (0..900).rev() {
        archive.add(&format!("{i:04}.npy"), ARRAY);
    }
    assert!(File::open(&archive.finish()).unwrap().warnings().is_empty());
    archive.add("0500.npy", ARRAY);
    assert_eq!(refused(&archive.finish()), (ErrorKind::RepeatedName, Part::Name));
    // A name is the same with and without the suffix.
    let twice = Archive::default().add("b.npy", ARRAY).add("a.npy", ARRAY).add("a", ARRAY).finish();
    assert_eq!(refused(&twice), (ErrorKind::RepeatedName, Part::Name));
}

#[test]
fn rejects_an_entry_inside_another() {
    // An archive as an entry, with its own entry listed, too.
    let inner = Archive::default().add("b.npy", ARRAY).finish();
    let mut archive = Archive::default();
    archive.add("c", &inner).add("d.npy", ARRAY);
    assert!(File::open(&archive.finish()).is_ok());
    let hidden = archive.list("b.npy", &about("b.npy", ARRAY), 31).finish();
    assert_eq!(refused(&hidden), (ErrorKind::Overlap, Part::Entry));
}

/// The extra field before an entry's data belongs to the entry, although the directory does not mention it.
#[test]
fn rejects_entries_that_overlap_by_their_headers() {
    let other = Archive::default().add("b.npy", ARRAY).bytes.clone();
    for shared in [0, 1, 16, 17, 20] {
        let content = [&[0; 20][..], &other[..shared]].concat();
        let about_first = about("a", &content);
        let mut bytes = [b"PK\x03\x04\x14\0", &about_first[..], b"a", b"xx\x0c\0", &[0; 12], &content].concat();
        bytes[28] = 16; // the length of the extra field
        let at = bytes.len() - shared;
        bytes.extend(&other[shared..]);
        bytes.extend([0; 100]); // else the entries would exceed the file
        let mut archive = Archive { bytes, ..Archive::default() };
        // Not in file order, so that they are compared.
        archive.list("b.npy", &about("b.npy", ARRAY), at as u32).list("a", &about_first, 0);
        let found = File::open(&archive.finish()).map(drop).map_err(|error| (error.kind(), error.part()));
        let expected = if shared == 0 { Ok(()) } else { Err((ErrorKind::Overlap, Part::Entry)) };
        assert_eq!(found, expected, "{shared}");
    }
}

#[test]
fn too_many_unsorted_entries_need_memory() {
    let mut archive = Archive::default();
    for i in (0..3000).rev() {
        archive.add(&format!("{i:04}.npy"), ARRAY);
    }
    // The directory is reversed: names ascend and offsets descend.
    let entry = 46 + 8;
    archive.directory = archive.directory.chunks(entry).rev().flatten().copied().collect();
    let bytes = archive.finish();
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.warnings().iter().collect::<Vec<_>>(), [Warning::ExtentsUnchecked]);
    assert_eq!(file.check_length(), Some(3000));
    assert!(crate::support::check_with_any_memory(&file).unwrap().is_empty());
    // An archive as the last entry, with its own entry listed, too.
    let at = archive.bytes.len() as u32;
    archive.add("x", &Archive::default().add("y.npy", ARRAY).finish()).list("y.npy", &about("y.npy", ARRAY), at + 31);
    archive.bytes.extend([0; 1000]); // else the entries would exceed the file
    let bytes = archive.finish();
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.check_length(), Some(3002));
    let error = crate::support::check_with_any_memory(&file).unwrap_err();
    assert_eq!((error.kind(), error.part()), (ErrorKind::Overlap, Part::Entry));

    let mut archive = Archive::default();
    for i in (0..3000).rev() {
        archive.add(&format!("{i:04}.npy"), ARRAY);
    }
    let bytes = archive.finish();
    let file = File::open(&bytes).unwrap();
    assert!(file.warnings().contains(Warning::NamesUnchecked));
    assert!(crate::support::check_with_any_memory(&file).unwrap().is_empty());
    let bytes = archive.add("0007.npy", ARRAY).finish();
    let error = crate::support::check_with_any_memory(&File::open(&bytes).unwrap()).unwrap_err();
    assert_eq!((error.kind(), error.part()), (ErrorKind::RepeatedName, Part::Name));
    assert!(error.explain(&bytes[..]).to_string().contains("tensor \"0007\":"), "{}", error.explain(&bytes[..]));
}

#[test]
fn find_compares_listed_names() {
    let bytes = Archive::default().add("a.npy", ARRAY).add("a.npy.npy", ARRAY).finish();
    let file = File::open(&bytes).unwrap();
    for tensor in &file {
        assert_eq!(file.find(&tensor.name().to_string()).unwrap().index(), tensor.index());
    }
    assert_eq!(file.find("a.npy.npy").unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn rejects_entries_larger_than_the_file() {
    // The same entry many times: an overlap that is detected without comparing pairs.
    let mut archive = Archive::default();
    archive.add("a.npy", ARRAY);
    let about = about("a.npy", ARRAY);
    for _ in 0..3000 {
        archive.list("a.npy", &about, 0);
    }
    assert_eq!(refused(&archive.finish()), (ErrorKind::Overlap, Part::Entry));
}

/// The zip64 field of an entry is searched for repeatedly, so only a few fields may precede it.
#[test]
fn zip64_field_must_be_among_the_first() {
    let archive = |before: usize, after: &[u8]| {
        let mut archive = Archive::default();
        archive.add("a.npy", ARRAY);
        (archive.directory, archive.count) = (Vec::new(), 0);
        let lengths = [(ARRAY.len() as u64).to_le_bytes(); 2].concat();
        let extra = [b"xx\0\0".repeat(before), vec![1, 0, 16, 0], lengths, after.to_vec()].concat();
        let mut about = about("a.npy", ARRAY);
        about[12..20].fill(0xff);
        about[22..].copy_from_slice(&(extra.len() as u16).to_le_bytes());
        archive.list("a.npy", &about, 0).directory.extend(extra);
        archive.finish()
    };
    for (before, after) in [(64, &b""[..]), (0, b"xx\x01\0y")] {
        let bytes = archive(before, after);
        let data = File::open(&bytes).unwrap().find("a").unwrap().data().unwrap();
        assert_eq!(data.bytes(), Ok(&[7, 8, 9][..]));
    }
    assert_eq!(refused(&archive(65, b"")), (ErrorKind::Malformed, Part::Entry));
    // The fields after it must fit, too.
    assert_eq!(refused(&archive(0, b"xx\x02\0y")), (ErrorKind::Malformed, Part::Entry));
}

/// A field after the zip64 field, longer than the rest of the header.
#[test]
fn reads_all_fields_of_a_local_header() {
    let archive = |last: u16| {
        let mut archive = Archive::default();
        let lengths = [(ARRAY.len() as u64).to_le_bytes(); 2].concat();
        let extra = [&[1, 0, 16, 0][..], &lengths, b"xx", &last.to_le_bytes(), b"yy"].concat();
        let mut local = about("a.npy", ARRAY);
        local[12..20].fill(0xff);
        local[22..].copy_from_slice(&(extra.len() as u16).to_le_bytes());
        archive.bytes = [b"PK\x03\x04\x2d\0", &local[..], b"a.npy", &extra, ARRAY].concat();
        archive.list("a.npy", &about("a.npy", ARRAY), 0).finish()
    };
    assert_eq!(File::open(&archive(2)).unwrap().find("a").unwrap().data().unwrap().bytes(), Ok(&[7, 8, 9][..]));
    assert_eq!(refused(&archive(3)), (ErrorKind::HeadersDiffer, Part::Length)); // no zip64 field is found
}

#[test]
fn lists_encrypted_entries() {
    // 12 bytes more than the decoded length, which encryption adds.
    let mut bytes = Archive::default().add("a.npy", &[ARRAY, &[0; 12]].concat()).add("b.npy", ARRAY).finish();
    let directory = bytes.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    for (flags, size) in [(6, 22), (directory + 8, directory + 24)] {
        bytes[flags] |= 1;
        bytes[size..size + 4].copy_from_slice(&(ARRAY.len() as u32).to_le_bytes());
    }
    let file = File::open(&bytes).unwrap();
    let tensor = file.find("a").unwrap();
    let data = tensor.component("data").unwrap();
    assert_eq!((data.encoding(), data.encoding_name()), (Encoding::Other, "encrypted"));
    assert_eq!(data.read_into(&mut [0; 200], ReadOptions::new()).unwrap_err().kind(), ErrorKind::UnsupportedEncoding);
    assert_eq!(file.find("b").unwrap().data().unwrap().bytes().unwrap(), [7, 8, 9]);
}

/// Longer than the space up to the directory, but not longer than everything before the directory.
#[test]
fn data_ends_before_the_directory() {
    let mut archive = Archive::default();
    archive.add("a.npy", ARRAY).add("b.npy", &[ARRAY, &[0; 10]].concat());
    archive.bytes.truncate(archive.bytes.len() - 10);
    archive.directory.rotate_left(46 + 5);
    let error = File::open(&archive.finish()).unwrap_err();
    let expected = (ErrorKind::OutOfPlace, Part::Data, Some(archive.bytes.len() as u64));
    assert_eq!((error.kind(), error.part(), error.offset()), expected);
}

/// The first eight bytes of such an archive and the method of its first entry also look like the length of a
/// safetensors header and its opening brace.
#[test]
fn an_archive_whose_first_entry_has_method_123_is_an_archive() {
    for version in [10, 20, 45, 63] {
        let mut bytes = Archive::default().add("a.npy", ARRAY).finish();
        let record = 30 + 5 + ARRAY.len();
        assert_eq!((&bytes[..4], &bytes[record..record + 4]), (&b"PK\x03\x04"[..], &b"PK\x01\x02"[..]));
        (bytes[4], bytes[8], bytes[record + 6], bytes[record + 10]) = (version, b'{', version, b'{');
        let file = File::open(&bytes).unwrap();
        assert_eq!(file.format(), Format::Npz);
        let data = file.find("a").unwrap().component("data").unwrap();
        assert_eq!((data.encoding(), data.encoding_name()), (Encoding::Other, "unknown method"));
        let message = data.read_into(&mut [0; 200], ReadOptions::new()).unwrap_err().explain(&bytes[..]).to_string();
        assert!(message.contains("\"unknown method\""), "{message}");
    }
}

/// Bit 11 of the flags says that the name is UTF-8. If the two headers disagree, readers disagree about the name.
#[test]
fn both_headers_say_whether_a_name_is_utf_8() {
    let good = crate::support::fixture("npz/hm_utf8_flag.npz");
    let name = File::open(&good).unwrap().tensors().next().unwrap().name().to_string();
    let record = good.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    let with_flags = |places: &[usize]| {
        let mut bytes = good.clone();
        places.iter().for_each(|&at| bytes[at] ^= 1 << 3); // the upper half of the flags
        bytes
    };
    let [local, central] = [7, record + 9];
    for place in [local, central] {
        let bytes = with_flags(&[place]);
        assert_eq!(refused(&bytes), (ErrorKind::HeadersDiffer, Part::Flags));
        let message = File::open(&bytes).unwrap_err().explain(&bytes[..]).to_string();
        assert!(message.contains("names in UTF-8 (bit 11)") && message.contains(&name), "{message}");
    }
    // If neither header sets the bit, names in UTF-8 are still accepted.
    assert!(File::open(&with_flags(&[local, central])).is_ok());
}

/// A decoder for every encoding.
struct Any;

impl Decoder for Any {
    fn decode(&mut self, _: Encoding, _: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError> {
        Ok(dst.len())
    }
}

/// The methods of APPNOTE 4.4.5 that programs may still write.
#[test]
fn methods_have_names() {
    for (method, name) in [
        (1, "shrink"),
        (6, "implode"),
        (8, "deflate"),
        (9, "deflate64"),
        (12, "bzip2"),
        (14, "lzma"),
        (93, "zip zstd"),
        (95, "xz"),
        (98, "ppmd"),
        (99, "unknown method"),
    ] {
        let mut bytes = Archive::default().add("b.npy", ARRAY).add("a.npy", ARRAY).finish();
        let local = 30 + 5 + ARRAY.len();
        let record = 2 * local + 46 + 5;
        (bytes[local + 8], bytes[record + 10]) = (method, method);
        let file = File::open(&bytes).unwrap();
        let tensor = file.find("a").unwrap();
        let data = tensor.component("data").unwrap();
        let encoding = if method == 8 { Encoding::Deflate } else { Encoding::Other };
        assert_eq!((data.encoding_name(), data.encoding()), (name, encoding));
        let error = tensor.data().unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::NotDense, Some(record as u64)));
        let message = data.read_into(&mut [0; 200], ReadOptions::new()).unwrap_err().explain(&bytes[..]).to_string();
        assert!(method == 8 || message.contains(&format!("{name:?}")), "{message}");
        // A decoder is called only for encodings that have an `Encoding` of their own.
        let refused =
            data.read_into(&mut [0; 200], ReadOptions::new().decoder(&mut Any)).err().map(|error| error.kind());
        assert_eq!(refused.is_some(), method != 8 || cfg!(feature = "crc32"), "{name}");
        assert!(method == 8 || refused == Some(ErrorKind::UnsupportedEncoding), "{name}");
    }
}

/// An array of records with a repeated field name cannot be read. Comparing many names needs memory.
#[test]
fn rejects_repeated_field_names_of_an_array() {
    let array = |names: &[String]| {
        let fields: String = names.iter().map(|name| format!("('{name}', '|u1'), ")).collect();
        let header = format!("{{'descr': [{fields}], 'fortran_order': False, 'shape': (0,)}}\n");
        [&b"\x93NUMPY\x01\0"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat()
    };
    let names = |count: usize| (0..count).map(|i| format!("f{i}")).collect::<Vec<_>>();
    let twice = |count: usize| [names(count), vec!["f0".to_string()]].concat();
    let open = |arrays: &[Vec<u8>]| {
        let mut archive = Archive::default();
        for (array, i) in arrays.iter().zip(0..) {
            archive.add(&format!("{i}.npy"), array);
        }
        archive.finish()
    };
    let bytes = open(&[array(&names(3)), array(&twice(3)), ARRAY.to_vec()]);
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.warnings().first_tensor(Warning::UnreadableTensor), Some(1));
    let problem = file.find("1").unwrap().problem().unwrap();
    assert_eq!(file.find("1").unwrap().requirements(Purpose::Describe).scratch, None);
    let at = bytes.windows(4).rposition(|four| four == b"'f0'").unwrap() as u64;
    assert_eq!((problem.kind(), problem.part(), problem.offset()), (ErrorKind::RepeatedName, Part::Name, Some(at)));
    let message = problem.explain(&bytes[..]).to_string();
    assert!(message.contains("\"1\"") && message.contains("the same name or title: \"f0\""), "{message}");
    // The memory is for the largest record, or for the names of the arrays if they need more.
    let bytes = open(&[ARRAY.to_vec(), array(&names(1100)), array(&names(1200)), array(&names(3))]);
    let file = File::open(&bytes).unwrap();
    assert!(file.warnings().contains(Warning::NamesUnchecked));
    assert_eq!(file.check_length(), Some(1200));
    assert!(file.check(&mut [0; 1200]).unwrap().is_empty());
    assert_eq!(file.check(&mut [0; 140]).unwrap_err().kind(), ErrorKind::OutOfScratch);
    let bytes = open(&[array(&names(1100)), array(&twice(1200))]);
    let error = File::open(&bytes).unwrap().check(&mut [0; 1201]).unwrap_err();
    let at = bytes.windows(4).rposition(|four| four == b"'f0'").unwrap() as u64;
    assert_eq!((error.kind(), error.part(), error.offset()), (ErrorKind::RepeatedName, Part::Name, Some(at)));
}

#[test]
fn orders_of_elements_and_of_bytes() {
    let array = |header: &str| {
        [&b"\x93NUMPY\x01\0"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes(), &[1; 12]].concat()
    };
    let [big, native] = [">i2", "=i2"]
        .map(|descr| array(&format!("{{'descr': '{descr}', 'fortran_order': True, 'shape': (2, 3)}}\n")));
    let bytes = Archive::default().add("a.npy", &big).add("b.npy", &native).finish();
    let file = File::open(&bytes).unwrap();
    let warnings = |name| file.find(name).unwrap().warnings().iter().collect::<Vec<_>>();
    assert_eq!((warnings("a"), warnings("b")), (vec![], vec![Warning::UnstatedByteOrder]));
    let tensor = file.find("a").unwrap();
    assert_eq!((tensor.order(), tensor.dtype()), (Order::ColumnMajor, Some(DType::I16)));
    let data = tensor.data().unwrap();
    assert_eq!((data.byte_order(), data.storage_dtype()), (ByteOrder::Big, Some(DType::I16)));
}

/// The zip64 record at the end and the regular one must agree on numbers that both have.
#[test]
fn the_two_end_records_must_agree() {
    let narrow = Archive::default().add("a.npy", ARRAY).finish();
    let end = narrow.len() - 22;
    let (size, start) = (46 + 5, end as u64 - 46 - 5);
    let numbers = [1, 1, size, start].map(u64::to_le_bytes).concat();
    let wide = [b"PK\x06\x06", &44_u64.to_le_bytes()[..], &[0; 12], &numbers].concat();
    let locator = [b"PK\x06\x07\0\0\0\0", &(end as u64).to_le_bytes()[..], &[1, 0, 0, 0]].concat();
    let bytes = [&narrow[..end], &wide, &locator, &narrow[end..]].concat();
    assert_eq!(File::open(&bytes).unwrap().tensor_count(), 1);
    let last = bytes.len() - 22;
    for at in [last + 8, last + 10, last + 12, last + 16] {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        let error = File::open(&bytes).unwrap_err();
        let found = (error.kind(), error.part(), error.offset());
        assert_eq!(found, (ErrorKind::HeadersDiffer, Part::Footer, Some(end as u64)), "{at}");
        bytes[at..at + if at < last + 12 { 2 } else { 4 }].fill(0xff);
        assert_eq!(File::open(&bytes).unwrap().tensor_count(), 1, "{at}");
    }
}

/// The disk number follows the lengths and the offset in the zip64 field.
#[test]
fn the_disk_of_an_entry_may_be_wide() {
    let archive = |disk: u32| {
        let mut archive = Archive::default();
        archive.add("a.npy", ARRAY);
        let length = (ARRAY.len() as u64).to_le_bytes();
        let extra = [&[1, 0, 28, 0][..], &length, &length, &[0; 8], &disk.to_le_bytes()].concat();
        archive.directory[20..28].fill(0xff);
        archive.directory[30..32].copy_from_slice(&(extra.len() as u16).to_le_bytes());
        archive.directory[34..36].fill(0xff);
        archive.directory[42..46].fill(0xff);
        archive.directory.extend(extra);
        archive.finish()
    };
    assert_eq!(File::open(&archive(0)).unwrap().tensor_count(), 1);
    assert_eq!(refused(&archive(1)), (ErrorKind::CountsDiffer, Part::Entry));
}

#[test]
fn sorted_offsets_need_no_memory() {
    let mut archive = Archive::default();
    archive.add("folder/", b"");
    for i in 0..1100 {
        archive.add(&format!("{i:04}.npy"), ARRAY);
    }
    assert!(File::open(&archive.finish()).unwrap().warnings().is_empty());
}

/// NumPy reads an entry's contents whatever its name.
#[test]
fn folders_with_contents() {
    for (contents, warnings, count) in
        [(&b""[..], &[][..], 1), (b"text", &[Warning::NoArray][..], 1), (ARRAY, &[][..], 2)]
    {
        let bytes = Archive::default().add("a.npy", ARRAY).add("folder/", contents).finish();
        let file = File::open(&bytes).unwrap();
        assert_eq!((file.warnings().iter().collect::<Vec<_>>(), file.tensor_count()), (warnings.to_vec(), count));
        assert_eq!(file.find("folder/").is_ok(), count == 2);
    }
}

/// If entries are not in file order, the lengths in the zip64 field are read again for the comparison.
#[test]
fn zip64_numbers_in_any_order() {
    let mut archive = Archive::default();
    archive.add("b.npy", ARRAY).add("a.npy", ARRAY);
    (archive.directory, archive.count) = (Vec::new(), 0);
    let lengths = [(ARRAY.len() as u64).to_le_bytes(); 2].concat();
    let extra = [b"xx\0\0", &[1, 0, 16, 0][..], &lengths].concat();
    for (name, at) in [("a.npy", 30 + 5 + ARRAY.len()), ("b.npy", 0)] {
        let mut about = about(name, ARRAY);
        about[12..20].fill(0xff);
        about[22..].copy_from_slice(&(extra.len() as u16).to_le_bytes());
        archive.list(name, &about, at as u32).directory.extend(&extra);
    }
    let bytes = archive.finish();
    assert!(File::open(&bytes).unwrap().tensors().map(|tensor| tensor.name()).eq(["a", "b"]));
}

#[test]
fn rejects_hidden_entries() {
    let mut archive = Archive::default();
    archive.add("a.npy", ARRAY);
    archive.directory.clear();
    archive.count = 0;
    assert_eq!(refused(&archive.finish()), (ErrorKind::ManifestSize, Part::Footer));
}

#[test]
fn names_archives_without_arrays() {
    let text = Archive::default().add("mimetype", b"application/epub+zip").finish();
    let error = File::open(&text).unwrap_err();
    assert_eq!((error.kind(), error.format().text()), (ErrorKind::UnsupportedFormat, "zip"));
    let none = Archive::default().finish();
    assert_eq!(none.len(), 22);
    assert_eq!(File::open(&none).unwrap().tensor_count(), 0);
}

/// Twelve arrays of a gibibyte each; only the bytes that are requested exist.
#[test]
fn an_archive_larger_than_memory_opens_in_parts() {
    const ITEMS: u64 = 1 << 30;
    let mut pieces: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut directory = Vec::new();
    let mut at = 0;
    for i in 0..12 {
        let name = format!("layer{i:02}.npy");
        let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}\n", ITEMS / 4);
        let mut array = b"\x93NUMPY\x01\0".to_vec();
        array.extend((header.len() as u16).to_le_bytes());
        array.extend(header.as_bytes());
        let length = array.len() as u64 + ITEMS;
        // Flags, method, time, CRC, lengths in the zip64 field.
        let about = |extra: u16| {
            let mut about = vec![0; 12];
            about.extend([0xff; 8]);
            about.extend((name.len() as u16).to_le_bytes());
            about.extend(extra.to_le_bytes());
            about
        };
        let lengths = [length.to_le_bytes(), length.to_le_bytes()].concat();
        let local =
            [&b"PK\x03\x04\x2d\0"[..], &about(20), name.as_bytes(), &[1, 0, 16, 0], &lengths, &array].concat();
        directory
            .extend([&b"PK\x01\x02\x2d\0\x2d\0"[..], &about(28), &[0; 10], &[0xff; 4], name.as_bytes()].concat());
        directory.extend([&[1, 0, 24, 0], &lengths[..], &u64::to_le_bytes(at)].concat());
        let next = at + local.len() as u64 + ITEMS;
        pieces.push((at, local));
        at = next;
    }
    let mut tail = directory.clone();
    let (size, count) = ((directory.len() as u64).to_le_bytes(), 12_u64.to_le_bytes());
    let end_64 = at + directory.len() as u64;
    tail.extend(
        [&b"PK\x06\x06"[..], &44_u64.to_le_bytes(), &[0; 12], &count, &count, &size, &at.to_le_bytes()].concat(),
    );
    tail.extend([&b"PK\x06\x07\0\0\0\0"[..], &end_64.to_le_bytes(), &[1, 0, 0, 0]].concat());
    tail.extend([&b"PK\x05\x06\0\0\0\0"[..], &[0xff; 12], &[0; 2]].concat());
    let length = at + tail.len() as u64;
    pieces.push((at, tail));
    let fetch = |extent: Extent| -> Vec<u8> {
        let mut bytes = vec![0; extent.length as usize];
        for (at, piece) in &pieces {
            for (i, byte) in piece.iter().enumerate() {
                let place = (at + i as u64).checked_sub(extent.offset).filter(|place| *place < extent.length);
                if let Some(place) = place {
                    bytes[place as usize] = *byte;
                }
            }
        }
        bytes
    };

    let (mut fetched, mut calls) = (0, 0);
    let mut source = Source::new(length);
    loop {
        match File::open_source(&source).unwrap_or_else(|error| panic!("{error}")) {
            Opened::File(_) => break,
            Opened::Need(need) => {
                calls += 1;
                fetched += need.extent.length;
                source.add(need.extent.offset, fetch(need.extent).leak()).unwrap();
            }
        }
    }
    assert!(length > 12 << 30 && calls <= 16 && fetched < 1 << 20, "{length} {calls} {fetched}");
    let Opened::File(file) = File::open_source(&source).unwrap() else { panic!() };
    assert_eq!(file.tensor_count(), 12);
    for tensor in file.tensors() {
        let data = tensor.data().unwrap();
        assert_eq!((tensor.shape().dimension(0), data.extent().length), (Some(ITEMS / 4), ITEMS));
        assert_eq!(data.stored().unwrap_err().kind(), ErrorKind::NotInMemory);
    }
}

/// Archives like those that NumPy writes: the header of an array has 128 bytes, or `head` bytes.
fn archive_of(count: usize, items: usize, head: usize, is_deflated: bool) -> Vec<u8> {
    let mut archive = Archive::default();
    let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({items},), }}");
    let header = format!("{header:width$}\n", width = head - 11);
    for i in 0..count {
        let (name, content) = (format!("layer_{i:02}.npy"), array(&header, items));
        if is_deflated {
            archive.add_deflated(&name, &content)
        } else {
            archive.add(&name, &content)
        };
    }
    archive.finish()
}

/// The result of opening an archive in rounds: the number of tensors, or the error; and the numbers of rounds and bytes.
fn in_rounds(bytes: &[u8], room: usize) -> (Result<u64, Error>, usize, u64) {
    let mut source = Source::new(bytes.len() as u64);
    let (file, rounds, fetched) = open_in_rounds(bytes, room, &mut source);
    (file.map(|file| file.tensor_count()), rounds, fetched)
}

#[test]
fn an_archive_opens_in_few_rounds() {
    for (bytes, rounds, most) in [
        (archive_of(40, 8192, 128, false), 3, 40_000),
        (archive_of(40, 8192, 128, true), 3, 40_000),
        (archive_of(40, 8192, 192, false), 3, 40_000),
        (archive_of(40, 1 << 20, 128, false), 3, 80_000),
        (archive_of(300, 64, 128, false), 4, 110_000), // whole, since each gap is short
        (archive_of(1, 1 << 18, 128, false), 3, 17_000),
    ] {
        let expected = File::open(&bytes).unwrap().tensor_count();
        let (result, used, fetched) = in_rounds(&bytes, 64);
        assert_eq!(result, Ok(expected));
        assert!(used <= rounds && fetched <= most, "{} bytes: {used} rounds, {fetched} bytes", bytes.len());
    }
}

/// With room for fewer ranges than entries, and with longer headers, some ranges are requested one by one.
#[test]
fn a_list_need_not_have_all_ranges() {
    for bytes in
        [archive_of(40, 8192, 128, false), archive_of(40, 8192, 1024, false), archive_of(9, 9000, 640, false)]
    {
        let expected = File::open(&bytes).unwrap().tensor_count();
        let (_, one_by_one, _) = in_rounds(&bytes, 1);
        for room in 1..50 {
            let (result, rounds, fetched) = in_rounds(&bytes, room);
            assert_eq!(result, Ok(expected), "{room}");
            // One list, which may have been in vain.
            assert!(
                rounds <= one_by_one + 1 && fetched <= bytes.len() as u64 + 20_000,
                "{room}: {rounds}, {fetched}"
            );
        }
    }
    // 40 headers that the list does not include exceed the segments of a source.
    let bytes = archive_of(40, 1 << 17, 1024, false);
    for room in [1, 7, 64] {
        assert_eq!(in_rounds(&bytes, room).0.unwrap_err().kind(), ErrorKind::TooManySegments, "{room}");
    }
}

/// The entries are in another order than their records, and their ranges overlap or are nested.
#[test]
fn entries_in_any_order() {
    let mut archive = Archive::default();
    let header = format!("{:117}\n", "{'descr': '|u1', 'fortran_order': False, 'shape': (9000,), }");
    for i in 0..30 {
        archive.add(&format!("large_{i}.npy"), &array(&header, 9000)).add(&format!("{i}.npy"), ARRAY);
        archive.add(&format!("a_name_of_many_characters_{i}.npy"), ARRAY).add(&format!("s{i}.npy"), ARRAY);
    }
    let ordered = archive.finish();
    let mut records = Vec::new();
    let mut rest = &archive.directory[..];
    while !rest.is_empty() {
        let (record, next) = rest.split_at(46 + usize::from(rest[28]));
        records.push(record);
        rest = next;
    }
    for step in [1, 7, 119] {
        let mut directory = Vec::new();
        (0..records.len()).for_each(|i| directory.extend(records[(5 + i * step) % records.len()]));
        let shuffled = Archive { bytes: archive.bytes.clone(), directory, count: archive.count }.finish();
        for bytes in [&ordered, &shuffled] {
            let (result, rounds, fetched) = in_rounds(bytes, 120);
            assert_eq!((result, rounds), (Ok(120), 3));
            assert!(fetched < 70_000, "{fetched}");
        }
    }
}

/// Damaged archives have the same error in rounds as in a slice, and no list makes a program fetch much more than the
/// file.
#[test]
fn damaged_archives_in_rounds() {
    let whole = archive_of(3, 9000, 128, false);
    for at in 0..whole.len() {
        if whole[at] == 1 && at % 1000 != 0 {
            continue; // an element
        }
        for flip in [1, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            let expected = File::open(&bytes).map(|file| file.tensor_count());
            let (result, rounds, fetched) = in_rounds(&bytes, 8);
            assert_eq!(result, expected, "byte {at} ^ {flip}");
            assert!(rounds <= 12 && fetched <= 8 * bytes.len() as u64, "byte {at} ^ {flip}: {rounds} {fetched}");
        }
    }
}

/// One wrong field: the part of each error, and the record that it points to: the local header of the entry, its
/// record in the directory, or the record at the end.
#[test]
fn offsets_of_errors() {
    let local = 30 + 5 + ARRAY.len(); // of the second entry
    let directory = 2 * local;
    let record = directory + 46 + 5;
    let end = record + 46 + 5;
    let good = Archive::default().add("a.npy", ARRAY).add("b.npy", ARRAY).finish();
    assert_eq!(good.len(), end + 22);
    type Patch<'a> = (usize, &'a [u8]);
    let patched = |patches: &[Patch<'_>]| {
        let mut bytes = good.clone();
        patches.iter().for_each(|(at, patch)| bytes[*at..at + patch.len()].copy_from_slice(patch));
        bytes
    };
    let (size, stored) = (ARRAY.len() as u32, ARRAY.len() as u32);
    let most = (stored + 1) * 1032; // the largest size that deflate can decode to
    let sizes = |size: u32| size.to_le_bytes();
    let cases: &[(&[Patch<'_>], ErrorKind, Part, usize)] = &[
        (&[(local, b"PK\x03\x05")], ErrorKind::Malformed, Part::Entry, local),
        (&[(local + 6, &[1])], ErrorKind::HeadersDiffer, Part::Flags, local),
        (&[(local + 6, &[1 << 3])], ErrorKind::HeadersDiffer, Part::Flags, local),
        (&[(local + 7, &[1 << 3])], ErrorKind::HeadersDiffer, Part::Flags, local),
        (&[(record + 9, &[1 << 3])], ErrorKind::HeadersDiffer, Part::Flags, local),
        (&[(local + 8, &[8])], ErrorKind::HeadersDiffer, Part::Encoding, local),
        (&[(local + 14, &[0xff])], ErrorKind::HeadersDiffer, Part::Digest, local),
        (&[(local + 18, &sizes(stored - 1))], ErrorKind::HeadersDiffer, Part::Length, local),
        (&[(local + 22, &sizes(size - 1))], ErrorKind::HeadersDiffer, Part::Length, local),
        (&[(local + 26, &[4])], ErrorKind::HeadersDiffer, Part::Name, local),
        (&[(local + 28, &[0xff; 2])], ErrorKind::OutOfPlace, Part::Data, local),
        (&[(local + 30, b"c")], ErrorKind::HeadersDiffer, Part::Name, local),
        (&[(local + 35, b"\x92")], ErrorKind::Malformed, Part::Header, local + 35),
        (&[(local + 41, &[9])], ErrorKind::UnsupportedVersion, Part::Version, local + 41),
        (&[(local + 43, &[0xff; 2])], ErrorKind::OutOfFile, Part::Header, local + 43),
        (&[(record, b"PK\x01\x03")], ErrorKind::Malformed, Part::Entry, record),
        (&[(record + 8, &[1])], ErrorKind::HeadersDiffer, Part::Flags, local),
        (&[(record + 28, &[6])], ErrorKind::Truncated, Part::Entry, record),
        (&[(record + 30, &[1])], ErrorKind::Truncated, Part::Entry, record),
        (&[(record + 32, &[1])], ErrorKind::Truncated, Part::Entry, record),
        (&[(record + 34, &[1])], ErrorKind::CountsDiffer, Part::Entry, record),
        (&[(record + 42, &sizes(directory as u32 - 29))], ErrorKind::OutOfPlace, Part::Offset, record),
        (&[(record + 42, &sizes(0))], ErrorKind::HeadersDiffer, Part::Name, 0),
        (&[(record + 46, &[0xff])], ErrorKind::InvalidUtf8, Part::Name, record),
        (&[(record + 46, &[0])], ErrorKind::InvalidName, Part::Name, record),
        (
            &[(local + 22, &sizes(size + 1)), (record + 24, &sizes(size + 1))],
            ErrorKind::SizeMismatch,
            Part::Length,
            record,
        ),
        (
            &[(local + 18, &sizes(u32::MAX - 1)), (record + 20, &sizes(u32::MAX - 1))],
            ErrorKind::OutOfPlace,
            Part::Data,
            record,
        ),
        (
            &[
                (local + 8, &[8]),
                (record + 10, &[8]),
                (local + 22, &sizes(most + 1)),
                (record + 24, &sizes(most + 1)),
            ],
            ErrorKind::TooMany,
            Part::DecodedLength,
            record,
        ),
        (&[(end + 4, &[1])], ErrorKind::CountsDiffer, Part::Footer, end),
        (&[(end + 6, &[1])], ErrorKind::CountsDiffer, Part::Footer, end),
        (&[(end + 8, &[3])], ErrorKind::CountsDiffer, Part::Footer, end),
        (&[(end + 10, &[3])], ErrorKind::CountsDiffer, Part::Footer, end),
        (&[(end + 8, &[3, 0, 3])], ErrorKind::CountsDiffer, Part::Manifest, directory),
        (&[(end + 8, &[1, 0, 1])], ErrorKind::CountsDiffer, Part::Manifest, directory),
        (&[(end + 12, &[103])], ErrorKind::ManifestSize, Part::Footer, end),
        (&[(end + 16, &sizes(directory as u32 + 1))], ErrorKind::ManifestSize, Part::Footer, end),
        (&[(end + 20, &[1])], ErrorKind::Truncated, Part::Footer, end + 22),
    ];
    for (patches, kind, item, at) in cases {
        let error = fault(&patched(patches));
        let found = (error.kind(), error.part(), error.offset());
        assert_eq!(found, (*kind, *item, Some(*at as u64)), "{patches:x?}");
    }
    for patches in [
        &[(local + 4, &[45][..]), (local + 10, &[7; 4])][..], // version, time
        &[(local + 7, &[8]), (record + 9, &[8])],             // UTF-8
        &[(local + 8, &[8]), (record + 10, &[8]), (local + 22, &sizes(most)), (record + 24, &sizes(most))],
        // Lengths follow the data, so those in the header are ignored.
        &[(local + 6, &[8]), (record + 8, &[8]), (local + 14, &[0; 12])],
    ] {
        assert!(File::open(&patched(patches)).is_ok(), "{patches:x?}");
    }
    let unequal = patched(&[(local + 22, &sizes(size + 1)), (record + 24, &sizes(size + 1))]);
    let message = File::open(&unequal).unwrap_err().explain(&unequal[..]).to_string();
    assert!(message.contains("the two lengths of a stored entry differ"), "{message}");
    let descr = 35 + ARRAY.windows(3).position(|text| text == b"|u1").unwrap();
    let object = patched(&[(local + descr, b"|O8")]);
    let message = fault(&object).explain(&object[..]).to_string();
    assert!(message.contains("\"|O8\""), "{message}");
    // The same with the directory in the other order.
    for (mut turned, name) in [(object, "b"), (patched(&[(descr, b"|O8")]), "a")] {
        turned[directory..end].rotate_left(46 + 5);
        let message = fault(&turned).explain(&turned[..]).to_string();
        assert!(message.contains(&format!("tensor {name:?}")), "{message}");
    }
    let long = patched(&[(local + 35 + ARRAY.len() - 8, b"9")]); // nine numbers in three bytes
    let message = fault(&long).explain(&long[..]).to_string();
    assert!(message.contains("tensor \"b\""), "{message}");
    assert!(message.contains("the array is longer than its entry"), "{message}");
    // The directory record of "b" points into the first entry.
    for offset in [0, 5, 50] {
        let other = patched(&[(record + 42, &sizes(offset))]);
        let message = File::open(&other).unwrap_err().explain(&other[..]).to_string();
        assert!(message.contains("tensor \"b\""), "{offset}: {message}");
    }
    // The local header of "b" begins at the end of the first entry.
    let sum = patched(&[(local + 14, &[0xff])]);
    let message = File::open(&sum).unwrap_err().explain(&sum[..]).to_string();
    assert!(message.contains("tensor \"b\""), "{message}");
    let cut = File::open(&good[..end + 21]).unwrap_err();
    assert_eq!((cut.kind(), cut.part(), cut.offset()), (ErrorKind::Truncated, Part::Footer, Some(end as u64 + 21)));
    for comment in [1, 1000, 0xffff] {
        let mut bytes = patched(&[(end + 20, &(comment as u16).to_le_bytes())]);
        bytes.resize(bytes.len() + comment, b'x');
        assert_eq!(File::open(&bytes).unwrap().tensor_count(), 2, "{comment}");
        bytes.push(b'x');
        assert_eq!(refused(&bytes), (ErrorKind::Truncated, Part::Footer), "{comment}");
    }
}

/// Two records of the directory conflict: the error points to one of them, and its message names it.
#[test]
fn conflicts_point_to_a_record() {
    let mut archive = Archive::default();
    archive.add("c.npy", ARRAY).add("a.npy", ARRAY).add("b.npy", ARRAY).add("a.npy", ARRAY);
    let records = [1, 3].map(|i| Some((archive.bytes.len() + i * (46 + 5)) as u64));
    let bytes = archive.finish();
    let error = File::open(&bytes).unwrap_err();
    assert_eq!((error.kind(), error.part()), (ErrorKind::RepeatedName, Part::Name));
    assert!(records.contains(&error.offset()), "{error}");
    let message = error.explain(&bytes[..]).to_string();
    assert!(message.contains("tensor \"a\": a tensor name appears twice"), "{message}");

    // An archive as an entry, with its contents listed, too.
    let inner = Archive::default().add("b.npy", ARRAY).finish();
    // The entries exceed the file, or just fit and have to be compared.
    for more in [0, 1000] {
        let mut archive = Archive::default();
        archive.add("c", &inner).add("d.npy", ARRAY).list("b.npy", &about("b.npy", ARRAY), 31);
        archive.bytes.resize(archive.bytes.len() + more, 0);
        let at = archive.bytes.len() as u64;
        let records = [at, at + 46 + 1 + 46 + 5].map(Some);
        let bytes = archive.finish();
        let error = File::open(&bytes).unwrap_err();
        assert_eq!((error.kind(), error.part()), (ErrorKind::Overlap, Part::Entry));
        assert!(records.contains(&error.offset()), "{error}");
        let message = error.explain(&bytes[..]).to_string();
        assert!(message.contains("the bytes of two entries overlap"), "{message}");
    }
}

/// An empty entry without a name ends at the start of the directory.
#[test]
fn empty_entry_without_a_name() {
    let bytes = Archive::default().add("a.npy", ARRAY).add("", b"").finish();
    let file = File::open(&bytes).unwrap();
    assert_eq!((file.tensor_count(), file.warnings().iter().collect::<Vec<_>>()), (1, vec![Warning::NoArray]));
    let entries: Vec<_> = file.as_npz().unwrap().entries().collect();
    assert_eq!((entries[1].name, entries[1].extent.length, entries[1].decoded_length), ("", 0, 0));
}

/// A backslash in a name is an ordinary character.
#[test]
fn names_with_backslashes() {
    let mut archive = Archive::default();
    for name in ["a\\u0062.npy", "c\\.npy"] {
        archive.add(name, ARRAY);
    }
    let bytes = archive.finish();
    let file = File::open(&bytes).unwrap();
    let mut words = vec![0; file.index_length().unwrap()];
    let index = file.index(&mut words).unwrap();
    for (name, expected) in [("a\\u0062", Some(0)), ("c\\", Some(1)), ("ab", None)] {
        assert_eq!(index.find(name).ok().map(|tensor| tensor.index()), expected, "{name}");
        assert_eq!(file.find(name).ok().map(|tensor| tensor.index()), expected, "{name}");
    }
}

/// The dtype of a compressed entry is known only after decoding.
#[test]
fn stated_types() {
    let bytes = include_bytes!("../fixtures/npz/mixed_methods.npz");
    let file = File::open(bytes).unwrap();
    assert_eq!(file.find("s").unwrap().stated_type(), Some(&b"'<f4'"[..]));
    assert_eq!(file.find("d").unwrap().stated_type(), None);
    let mut archive = Archive::default();
    let header = "{'descr': [('x', '<M8[s]')], 'fortran_order': False, 'shape': (0,), }\n";
    let array = [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes()].concat();
    archive.add("b.npy", ARRAY).add("a.npy", &array);
    let bytes = archive.finish();
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.find("a").unwrap().stated_type(), Some(&b"[('x', '<M8[s]')]"[..]));
    assert_eq!(file.find("b").unwrap().stated_type(), Some(&b"'|u1'"[..]));
}

/// Padding after an archive, such as a copy to flash or a text editor leaves.
#[test]
fn padding_after_an_archive() {
    let archive = |comment: usize| {
        let mut bytes = Archive::default().add("a.npy", ARRAY).finish();
        let end = bytes.len();
        bytes[end - 2..].copy_from_slice(&(comment as u16).to_le_bytes());
        bytes.resize(end + comment, b'x');
        bytes
    };
    let mixed = [&b"\r\n"[..], &[0; 100], &[0xff; 200]].concat();
    for comment in [0, 3, 0xffff] {
        let plain = archive(comment);
        assert!(File::open(&plain).unwrap().warnings().is_empty());
        for padding in [&b"\n"[..], b"\r\n", &[0], &[0xff; 5], &[0; 4096], &[0xff; 70_000], &[0xff; 3 << 20], &mixed]
        {
            let bytes = [&plain, padding].concat();
            let file = File::open(&bytes).unwrap();
            let what = (comment, padding.len(), padding[0]);
            assert_eq!(file.warnings().iter().collect::<Vec<_>>(), [Warning::TrailingBytes], "{what:?}");
            assert_eq!(file.find("a").unwrap().data().unwrap().bytes().unwrap(), [7, 8, 9]);
            let mut source = Source::new(bytes.len() as u64);
            let in_parts = crate::support::open_in_parts(&bytes, &[], &mut source).unwrap();
            assert_eq!(in_parts.warnings(), file.warnings());
            // Any other byte is rejected, wherever it is.
            for at in [0, padding.len() / 2, padding.len() - 1] {
                for byte in [1, b' ', b'\t', b'P', 0x80, 0xfe] {
                    let mut bytes = bytes.clone();
                    bytes[plain.len() + at] = byte;
                    assert_eq!(refused(&bytes), (ErrorKind::Truncated, Part::Footer), "{what:?} {at} {byte}");
                }
            }
        }
    }
    // An archive whose end is replaced by padding.
    let cut = archive(0);
    for padding in [0, 0xff] {
        let mut bytes = cut[..cut.len() - 22].to_vec();
        bytes.resize(cut.len() + 5000, padding);
        assert_eq!(refused(&bytes), (ErrorKind::Truncated, Part::Footer));
    }
    // The limit of this crate.
    let mut bytes = cut.clone();
    bytes.resize(cut.len() + (17 << 20), 0xff);
    assert_eq!(refused(&bytes), (ErrorKind::Truncated, Part::Footer));
}

/// The description of a tensor, with the dtype as NumPy spells it.
fn described(tensor: &Tensor<'_>, decoder: &mut dyn Decoder) -> Result<String, Error> {
    let mut scratch = [0; 1 << 10];
    let described = tensor.describe(ReadOptions::new().decoder(decoder).scratch(&mut scratch))?;
    let stated = described.stated_type.unwrap_or_default().escape_ascii();
    Ok(format!(
        "{:?} {} {} {} {stated} {} {:?}",
        described.dtype,
        described.shape,
        described.order,
        described.byte_order,
        described.is_latin_1,
        described.warnings.iter().collect::<Vec<_>>()
    ))
}

/// A compressed entry has the same description as the stored one. Nothing after the header is decoded.
#[cfg(feature = "zlib")]
#[test]
fn describes_compressed_entries() {
    let of = |descr: &str, order: &str, shape: &str| {
        format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n")
    };
    let long = format!("[{}]", (0..40).map(|i| format!("('field{i}', '<i4'), ")).collect::<String>());
    let arrays = [
        ("c", array(&of("'<f4'", "False", "(2, 3)"), 24)),
        ("f", array(&of("'>i2'", "True", "(3, 4, 5)"), 120)),
        ("t", array(&of("'<M8[s]'", "False", "()"), 8)),
        ("r", array(&of("[('x', '<U3'), ('y', '<f8')]", "False", "(2,)"), 40)),
        ("l", array(&of("'>c16'", "False", "(0, 9)"), 0)),
        ("n", array(&of("'f4'", "False", "(1,)"), 4)),
        ("more", array(&of("'|u1'", "False", "(3,)"), 5)),
        ("wide", array(&of(&long, "False", "(1,)"), 160)),
    ];
    let mut both = [Archive::default(), Archive::default()];
    let [stored, compressed] = &mut both;
    for (name, array) in &arrays {
        stored.add(&format!("{name}.npy"), array);
        compressed.add_deflated(&format!("{name}.npy"), array);
    }
    let [stored, compressed] = both.map(|archive| archive.finish());
    let (stored, compressed) = (File::open(&stored).unwrap(), File::open(&compressed).unwrap());
    for (name, array) in &arrays {
        let (stored, compressed) = (stored.find(name).unwrap(), compressed.find(name).unwrap());
        assert_eq!((compressed.dtype(), compressed.stated_type()), (None, None));
        let expected = described(&stored, &mut NoDecoder).unwrap();
        assert_eq!(described(&compressed, &mut BuiltIn::default()).as_ref(), Ok(&expected), "{name}");
        assert_eq!(described(&compressed, &mut NoDecoder).unwrap_err().kind(), ErrorKind::NotBuiltIn);
        let head = array.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        assert_eq!(compressed.requirements(Purpose::Describe).scratch, Some(head as u64));
        assert_eq!(stored.requirements(Purpose::Describe).scratch, Some(0));
        assert!(stored.describe(ReadOptions::new().decoder(&mut NoDecoder)).is_ok());
        // Memory for the header is enough, and no more is decoded.
        let mut counting = Counting(0);
        assert!(compressed.describe(ReadOptions::new().decoder(&mut counting).scratch(&mut vec![0; head])).is_ok());
        assert_eq!(counting.0, head);
        let short = compressed.describe(ReadOptions::new().scratch(&mut vec![0; head - 1])).unwrap_err();
        assert_eq!(short.kind(), ErrorKind::OutOfScratch);
        // Verifying a compressed entry gives the warnings that opening gives for a stored one.
        let memory = compressed.requirements(Purpose::Verify).scratch.unwrap() as usize;
        assert!(memory == 0 || memory >= head, "{memory} {head}");
        let verified = compressed.verify(ReadOptions::new().scratch(&mut vec![0; memory])).unwrap();
        assert_eq!(verified.warnings.bits(), stored.warnings().bits(), "{name}");
        if head <= 256 {
            assert_eq!(
                compressed.verify(ReadOptions::new()).unwrap().warnings.bits(),
                stored.warnings().bits(),
                "{name}"
            );
        }
        assert_eq!(compressed.verify(ReadOptions::new().decoder(&mut NoDecoder)).unwrap().warnings.bits(), 0);
    }
    assert!(described(&compressed.find("more").unwrap(), &mut BuiltIn::default()).unwrap().contains("TrailingBytes"));
    assert!(
        described(&compressed.find("n").unwrap(), &mut BuiltIn::default()).unwrap().contains("UnstatedByteOrder")
    );
    let warnings = compressed.verify(ReadOptions::new()).unwrap().warnings;
    assert!(warnings.contains(Warning::TrailingBytes) && warnings.contains(Warning::UnstatedByteOrder));
}

/// A decoder that decodes nothing.
struct NoDecoder;

impl Decoder for NoDecoder {
    fn decode(&mut self, _: Encoding, _: &[u8], _: &mut [u8]) -> Result<usize, DecodeError> {
        Err(DecodeError::Unsupported)
    }
}

/// The built-in decoder, and the largest number of bytes requested from it.
struct Counting(usize);

impl Decoder for Counting {
    fn decode(&mut self, _: Encoding, _: &[u8], _: &mut [u8]) -> Result<usize, DecodeError> {
        Err(DecodeError::Malformed)
    }

    fn decode_start(&mut self, encoding: Encoding, stored: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError> {
        self.0 = self.0.max(dst.len());
        BuiltIn::default().decode_start(encoding, stored, dst)
    }
}

/// A fault in a compressed array is an error of that tensor, and its message names the tensor.
#[cfg(feature = "zlib")]
#[test]
fn checks_headers_of_compressed_entries() {
    let of = |descr: &str, shape: &str| {
        array(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n"), 8)
    };
    let missing = array("{'descr': '<f4', 'fortran_order': False, }\n", 8);
    let cases = [
        (b"\x80\x04pickle, and no array".to_vec(), ErrorKind::Malformed, Part::Header, "no header of an array"),
        (b"\x93NUM".to_vec(), ErrorKind::Truncated, Part::Header, "the array is longer than its entry"),
        (Vec::new(), ErrorKind::Truncated, Part::Header, "the array is longer than its entry"),
        (of("'|O'", "(1,)"), ErrorKind::UnknownDType, Part::DType, "the dtype is not defined"),
        (of("'<f4'", "(3,)"), ErrorKind::Truncated, Part::Data, "the array is longer than its entry"),
        (of("'<f4'", "(3"), ErrorKind::Malformed, Part::Shape, "a shape is a tuple"),
        (missing, ErrorKind::MissingKey, Part::Shape, "\"shape\""),
        (b"\x93NUMPY\x09\0\x01\0{}}}}".to_vec(), ErrorKind::UnsupportedVersion, Part::Version, ""),
    ];
    for (content, kind, item, message) in cases {
        let bytes = Archive::default().add_deflated("good.npy", ARRAY).add_deflated("bad one.npy", &content).finish();
        let file = File::open(&bytes).unwrap();
        let tensor = file.find("bad one").unwrap();
        let error = described(&tensor, &mut BuiltIn::default()).unwrap_err();
        let record = bytes.windows(4).rposition(|four| four == b"PK\x01\x02").unwrap() as u64;
        assert_eq!((error.kind(), error.part(), error.offset()), (kind, item, Some(record)), "{message}");
        let said = error.explain(&*bytes).to_string();
        assert!(said.starts_with("npz: tensor \"bad one\": ") && said.contains(message), "{said}");
        assert_eq!(tensor.verify(ReadOptions::new()).unwrap_err(), error);
        assert_eq!(file.verify(ReadOptions::new()).unwrap_err(), error);
        assert!(described(&file.find("good").unwrap(), &mut BuiltIn::default()).is_ok());
    }
    // The stream ends before the header does, or is not a stream.
    let good = Archive::default().add_deflated("a.npy", b"\x93NUMPY").finish();
    let record = good.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    let patched = |patches: [(usize, u8); 2]| {
        let mut bytes = good.clone();
        patches.into_iter().for_each(|(at, byte)| bytes[at] = byte);
        let file = File::open(&bytes).unwrap();
        described(&file.find("a").unwrap(), &mut BuiltIn::default()).unwrap_err().kind()
    };
    assert_eq!(patched([(22, 100), (record + 24, 100)]), ErrorKind::DecodedLength);
    assert_eq!(patched([(35, 7), (36, 7)]), ErrorKind::CorruptStream);
}

/// From a source: the bytes that opening has fetched of an entry suffice for its header, however long the entry is.
#[cfg(feature = "zlib")]
#[test]
fn describes_compressed_entries_of_a_source() {
    let items = 1 << 20;
    let header = format!("{{'descr': '<f8', 'fortran_order': True, 'shape': (8, {}), }}\n", items >> 6);
    let bytes = Archive::default().add_deflated("a.npy", &array(&header, items)).finish();
    let mut source = Source::new(bytes.len() as u64);
    let mut fetched = 0;
    loop {
        match File::open_source(&source).unwrap() {
            Opened::File(_) => break,
            Opened::Need(need) => {
                fetched += need.extent.length;
                let place = need.extent.offset as usize..need.extent.end().unwrap() as usize;
                source.add(need.extent.offset, &bytes[place]).unwrap();
            }
        }
    }
    assert!(fetched < 1 << 18, "{fetched}");
    let Opened::File(file) = File::open_source(&source).unwrap() else { panic!() };
    let tensor = file.find("a").unwrap();
    let said = described(&tensor, &mut BuiltIn::default()).unwrap();
    assert!(said.starts_with("Some(f64) [8, 16384] column-major little-endian "), "{said}");
    let data = tensor.component("data").unwrap();
    assert_eq!(data.stored().unwrap_err().kind(), ErrorKind::NotInMemory);
    // Without the start of the stream there is no description.
    let mut source = Source::new(bytes.len() as u64);
    let (local, directory) = (35, bytes.len() - 200);
    source.add(0, &bytes[..local]).unwrap();
    source.add(directory as u64, &bytes[directory..]).unwrap();
    let Ok(Opened::File(file)) = File::open_source(&source) else { panic!() };
    let error = described(&file.find("a").unwrap(), &mut BuiltIn::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotInMemory);
}

/// The built-in decoder decodes only the start of deflate streams.
#[test]
fn decodes_the_start_of_deflate_only() {
    let started = BuiltIn::default().decode_start(Encoding::Zstd, &[], &mut []);
    assert_eq!(started, Err(DecodeError::Unsupported));
}

/// If the end of an archive is cut off, not all of the file is searched for it.
#[test]
fn truncated_archives_request_few_bytes() {
    let mut bytes = Archive::default().add("a.npy", ARRAY).bytes.clone();
    bytes.resize(3 << 20, b'x');
    let mut source = Source::new(bytes.len() as u64);
    let mut asked = 0;
    let error = loop {
        match File::open_source(&source) {
            Ok(Opened::Need(need)) => {
                let from = need.extent.offset as usize;
                asked = asked.max(need.extent.length);
                source.add(need.extent.offset, &bytes[from..from + need.extent.length as usize]).unwrap();
            }
            Ok(Opened::File(_)) => panic!("it has no end"),
            Err(error) => break error,
        }
    };
    assert_eq!((error.kind(), asked), (ErrorKind::Truncated, 1 << 17));
}
