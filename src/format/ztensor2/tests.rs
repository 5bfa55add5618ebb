//! Tests iterations in a truncated manifest, as may occur in a mapping that has changed, and to the end of a manifest.
#![forbid(unsafe_code)]

use super::*;

/// A file with this manifest: one byte, then a map of `tensors` tensors.
fn file(manifest: &[u8], tensors: u32) -> Ztensor2File<'_> {
    Ztensor2File {
        input: Input::from(manifest),
        manifest: Manifest { region: Region { bytes: manifest, start: 4096 }, data_end: 1 << 20 },
        shards: 0,
        attributes: 0,
        objects: Keys { at: 1, left: tensors },
        are_plain: AllPlain::new(false),
    }
}

const TENSORS: &[u8] =
    b"\0\x61a\xa3\x65parts\xa1\x64data\xa2\x64blob\x82\x19\x20\0\x01\x65dtype\x62u8\x65shape\x80\x66layout\x65dense\
    \x61b\xa3\x65parts\xa1\x64data\xa2\x64blob\x82\x19\x30\0\x01\x65dtype\x62u8\x65shape\x80\x66layout\x65dense";

#[test]
fn comparing_extents_says_what_cannot_be_read() {
    let compare = |manifest, tensors| file(manifest, tensors).compare(&mut [0; 4]);
    assert_eq!(compare(TENSORS, 2), Ok(()));
    let end = 4096 + to_u64(TENSORS.len());
    let error = compare(TENSORS, 3).unwrap_err();
    let found = (error.kind(), error.format(), error.part(), error.offset());
    assert_eq!(found, (ErrorKind::Truncated, Format::Ztensor2, Part::Manifest, Some(end)));
    let error = compare(&TENSORS[..TENSORS.len() - 2], 2).unwrap_err();
    assert_eq!((error.part(), error.offset()), (Part::Layout, Some(end - 6)));
}

/// An item that cannot be read stays the next one.
#[test]
fn iterations_advance_on_success() {
    let (file, mut cursor) = (file(&TENSORS[..TENSORS.len() - 2], 2), Cursor::START);
    let mut next = || file.next_tensor(&mut cursor, &mut TensorRecord::blank()).map_err(|error| error.offset());
    let cut = Some(4096 + to_u64(TENSORS.len()) - 6);
    assert_eq!([next(), next(), next()], [Ok(true), Err(cut), Err(cut)]);
}

#[test]
fn names_end_with_the_last() {
    let (file, mut cursor) = (file(TENSORS, 2), Cursor::START);
    for (name, at) in [(b"a", 1), (b"b", 56)] {
        let named = file.next_name(&mut cursor).unwrap().unwrap();
        assert!(named.name.eq_bytes(name), "{at}");
        assert_eq!((named.name_at, named.tensor_at), (at, at));
        assert!(file.name_at(at).is(named.name));
        assert_eq!(cursor.index, u32::from(name[0] - b'a') + 1);
    }
    assert!(file.next_name(&mut cursor).unwrap().is_none());
}
