//! Compares the crate `zip` with ours: NumPy archives are ZIP files.
//!
//! The crate decodes without a bound, so it is asked only for entries that ours has decoded. It uses only the
//! directory, and so accepts more: [`LAXER`] has the rules, each with the reason.

use std::io::{Cursor, Read, Write};

use tenslice::{Encoding, Error, ErrorKind, File, Format, ReadOptions};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::{compare_made, guarded, open_and_check};
use crate::choices::Choices;

/// Rules that ours enforces and the crate does not check.
const LAXER: &[(ErrorKind, &str)] = &[
    (ErrorKind::HeadersDiffer, "a local header says what the directory says: readers that stream see the other"),
    (ErrorKind::Overlap, "entries do not share bytes: an archive may else expand without a bound"),
    (ErrorKind::CountsDiffer, "the end of the directory states its length and the number of entries"),
    (ErrorKind::RepeatedName, "two arrays have no one name: the crate keeps the last"),
    (ErrorKind::InvalidUtf8, "a name is UTF-8: the crate reads others as code page 437"),
    (ErrorKind::InvalidName, "a name has no NUL"),
    (ErrorKind::UnsupportedFormat, "an archive without arrays is no NPZ"),
    (ErrorKind::OutOfFile, "an entry lies before the directory, and the items of an array inside their entry"),
    (ErrorKind::ManifestSize, "the directory ends where its end begins: what is between is described by nothing"),
    (ErrorKind::UnknownFormat, "an archive begins with an entry, or with its end: not with the mark of a split one"),
    (ErrorKind::TooMany, "no stream of deflate expands more than 1032 times"),
    (ErrorKind::OutOfPlace, "the directory ends where its end begins: what is between is described by nothing"),
    (ErrorKind::TrailingBytes, "nothing follows the end of the directory, or the last of its entries"),
    (ErrorKind::DecodedLength, "no stream of deflate expands more than 1032 times"),
    (ErrorKind::SizeMismatch, "a stored entry is as long as what it decodes to"),
    (ErrorKind::Malformed, "an array begins with a header of NPY; extra fields lie inside their entry"),
    (ErrorKind::Truncated, "the same, cut short"),
    (ErrorKind::UnsupportedVersion, "an array is of a version that there is"),
    (ErrorKind::UnknownDType, "its type is one of NumPy's"),
    (ErrorKind::UnexpectedType, "the same for the other keys of its header"),
    (ErrorKind::MissingKey, "the same"),
    (ErrorKind::RepeatedKey, "the same"),
    (ErrorKind::ShapeOverflow, "the same"),
    (ErrorKind::TooDeep, "the same"),
];

/// Uses any bytes as a file, and as choices from which a file is made.
pub fn run(bytes: &[u8]) {
    if bytes.starts_with(b"PK") {
        return compare(bytes);
    }
    compare_made(bytes, made, compare);
}

/// A valid archive, written by the crate.
fn made(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for i in 0..choices.below(4) {
        let method = choices.of(&[CompressionMethod::Stored, CompressionMethod::Deflated]);
        let options = SimpleFileOptions::default().compression_method(method).large_file(choices.one_in(3));
        let name = format!("{i}{}", choices.of(&[".npy", "/b.npy", "", ".txt"]));
        archive.start_file(name, options).expect("another name");
        let bytes = if choices.one_in(4) { choices.bytes(40) } else { super::npy::made(choices) };
        archive.write_all(&bytes).expect("in memory");
    }
    archive.set_raw_comment(choices.bytes(9).into());
    archive.finish().expect("in memory").into_inner()
}

fn compare(bytes: &[u8]) {
    if !bytes.starts_with(b"PK") {
        return;
    }
    let ours = open_and_check(bytes);
    if ours.as_ref().map_or_else(Error::format, File::format) == Format::Pytorch {
        return; // an archive too, with other rules
    }
    let theirs = guarded(|| ZipArchive::new(Cursor::new(bytes)));
    match (ours, theirs) {
        (Ok(ours), Some(Ok(theirs))) => same(&ours, theirs),
        (Ok(_), Some(Err(error))) => {
            // Extra fields of an entry (4.5 of APPNOTE) that do not concern lengths. Ours skips them.
            let text = error.to_string();
            assert!(text.contains("extra") || text.contains("timestamp"), "refused by the crate alone: {text}");
        }
        (Ok(_), None) => panic!("refused by the crate alone, by a panic"),
        (Err(error), Some(Ok(_))) => {
            let is_known = LAXER.iter().any(|(kind, _)| *kind == error.kind());
            assert!(is_known, "refused by ours alone: {error:?} {}", error.explain(bytes));
        }
        (Err(_), _) => {}
    }
}

fn same(ours: &File<'_>, mut theirs: ZipArchive<Cursor<&[u8]>>) {
    let mut entries = ours.as_npz().expect("an NPZ file").entries();
    let listed: Vec<_> = entries.by_ref().collect();
    assert_eq!(entries.error(), None);
    let mut names: Vec<_> = listed.iter().map(|entry| entry.name).collect();
    names.sort();
    names.dedup();
    assert_eq!(theirs.len(), names.len());
    if names.len() < listed.len() {
        return; // two entries that are not arrays may have one name: the crate keeps the last
    }
    for (i, entry) in listed.iter().enumerate() {
        let name = entry.name;
        let Some(found) = guarded(|| theirs.by_index_raw(i).map(|found| {
            let method = found.compression();
            let is_raw = method == CompressionMethod::Stored && !found.encrypted();
            let is_deflated = method == CompressionMethod::Deflated && !found.encrypted();
            (found.name().to_string(), found.compressed_size(), found.size(), found.crc32(), found.data_start(), is_raw, is_deflated)
        })) else { panic!("{name}: a panic") };
        let (their_name, stored, decoded, crc32, at, is_raw, is_deflated) = found.expect("listed");
        assert_eq!((name, entry.decoded_length, entry.crc32), (&their_name[..], decoded, crc32));
        assert_eq!((entry.extent.length, Some(entry.extent.offset)), (stored, at), "{name}");
        // The crate does not know the flags of patched and of masked entries, which ours cannot read.
        assert!(is_raw || entry.encoding != Encoding::Raw, "{name}");
        assert!(is_deflated || entry.encoding != Encoding::Deflate, "{name}");
    }
    // The arrays, decoded. Opening has compared the header of stored arrays; our data begins after the header.
    for tensor in ours.tensors() {
        let Some(part) = tensor.components().next().filter(|part| part.encoding() == Encoding::Deflate) else { continue };
        let i = listed.iter().position(|entry| entry.extent == part.extent()).expect("an entry");
        let Some(length) = part.decoded_length().filter(|length| *length <= 1 << 18) else { continue };
        let mut room = vec![0; length as usize];
        let read = guarded(|| {
            let mut bytes = Vec::new();
            let limited = theirs.by_index(i).map(|entry| entry.take(length + 1).read_to_end(&mut bytes).map(|_| bytes));
            limited.map_err(std::io::Error::other).flatten()
        });
        match (part.read_into(&mut room, ReadOptions::new()), read) {
            (Ok(ours), Some(Ok(theirs))) => assert!(*ours == theirs[..], "{}", tensor.name()),
            (Ok(_), theirs) => panic!("{}: read by ours alone: {theirs:?}", tensor.name()),
            // Ours requires that the stream ends exactly with the entry and has exactly the length that the directory
            // states. The crate stops early.
            (Err(error), Some(Ok(_))) => {
                let kinds = [ErrorKind::CorruptStream, ErrorKind::DecodedLength];
                assert!(kinds.contains(&error.kind()), "{}: {error:?}", tensor.name());
            }
            (Err(_), _) => {}
        }
    }
}
