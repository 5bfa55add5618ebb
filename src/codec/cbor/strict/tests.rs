//! Values in the deterministic encoding, and in other encodings.
#![forbid(unsafe_code)]

use std::prelude::v1::*;

use super::*;
use crate::bytes::keywords::keywords;

/// Skips a value that should take all of the bytes; returns the kind of the error, if any.
fn skip(bytes: &[u8]) -> Result<(), ErrorKind> {
    let mut reader = Reader::new(bytes, 0);
    match reader.skip_value(1) {
        Some(()) if reader.rest().is_empty() => Ok(()),
        Some(()) => Err(ErrorKind::TrailingBytes),
        None => Err(reader.fault.unwrap().kind),
    }
}

#[test]
fn values_have_one_encoding() {
    use ErrorKind::*;
    let all: &[(&[u8], Result<(), ErrorKind>)] = &[
        (b"\x17", Ok(())),
        (b"\x18\x17", Err(NotShortest)),
        (b"\x18\x18", Ok(())),
        (b"\x19\x00\xff", Err(NotShortest)),
        (b"\x19\x01\x00", Ok(())),
        (b"\x1a\x00\x00\xff\xff", Err(NotShortest)),
        (b"\x1a\x00\x01\x00\x00", Ok(())),
        (b"\x1b\x00\x00\x00\x00\xff\xff\xff\xff", Err(NotShortest)),
        (b"\x1b\x00\x00\x00\x01\x00\x00\x00\x00", Ok(())),
        (b"\x1b\xff\xff\xff\xff\xff\xff\xff\xff", Ok(())),
        (b"\x38\x17", Err(NotShortest)),
        (b"\x78\x01a", Err(NotShortest)),
        (b"\x61a", Ok(())),
        (b"\x61\xff", Err(InvalidUtf8)),
        (b"\x41\xff", Ok(())),
        (b"\x42\xff", Err(Truncated)),
        (b"", Err(Truncated)),
        (b"\x19\x01", Err(Truncated)),
        (b"\x5f\x41a\xff", Err(IndefiniteLength)),
        (b"\x7f\x61a\xff", Err(IndefiniteLength)),
        (b"\x9f\xff", Err(IndefiniteLength)),
        (b"\xbf\xff", Err(IndefiniteLength)),
        (b"\xff", Err(Malformed)),
        (b"\x1f", Err(Malformed)),
        (b"\x1c", Err(Malformed)),
        (b"\xc0\x00", Err(Tagged)),
        (b"\xf4", Ok(())),
        (b"\xf5", Ok(())),
        (b"\xf6", Ok(())),
        (b"\xf7", Err(UnexpectedType)),
        (b"\xe0", Err(UnexpectedType)),
        (b"\xf8\xff", Err(Malformed)),
        (b"\xf9\x7e\x00", Ok(())),
        (b"\xf9\x7e\x01", Err(NotShortest)),
        (b"\xf9\xfe\x00", Err(NotShortest)),
        (b"\xf9\x7c\x00", Ok(())),
        (b"\xf9\x7c\x01", Err(NotShortest)),
        (b"\xfa\x7f\xc0\x00\x00", Err(NotShortest)),
        (b"\xfa\x7f\x80\x00\x00", Err(NotShortest)),
        (b"\x82\x00", Err(CountTooLarge)),
        (b"\x82\x00\x00", Ok(())),
        (b"\xa1\x00", Err(CountTooLarge)),
        (b"\xa2\x00\x00\x01\x00", Ok(())),
        (b"\xa2\x01\x00\x00\x00", Err(KeyOrder)),
        (b"\xa2\x00\x00\x00\x00", Err(RepeatedKey)),
        (b"\xa2\x61a\x00\x80\x00", Ok(())), // a text string, then a list
        (b"\xa2\x82\x01\x02\x00\x82\x01\x01\x00", Err(KeyOrder)), // lists as keys
        (b"\xa2\x82\x01\x01\xa1\x01\x00\x82\x01\x02\x00", Ok(())), // a map between them
        (b"\xa2\x61b\x00\x61a\x00", Err(KeyOrder)),
        (b"\xa2\x61b\x00\x62aa\x00", Ok(())),
        (b"\x81\xa2\x61b\x00\x61b\x00", Err(RepeatedKey)),
    ];
    for (bytes, expected) in all {
        assert_eq!(skip(bytes), *expected, "{bytes:x?}");
    }
}

#[test]
fn values_are_nested_no_deeper_than_32() {
    for (levels, expected) in [(31, Ok(())), (32, Err(ErrorKind::TooDeep)), (1000, Err(ErrorKind::TooDeep))] {
        let mut lists = vec![0x81; levels];
        lists.push(0);
        assert_eq!(skip(&lists), expected, "{levels}");
        let mut maps = [0xa1, 0].repeat(levels);
        maps.push(0);
        assert_eq!(skip(&maps), expected, "{levels}");
        let keys = [vec![0xa1; levels], vec![0; levels + 1]].concat();
        assert_eq!(skip(&keys), expected, "{levels}");
    }
}

/// Every 16-bit number, widened, and the numbers next to each.
#[test]
fn floats_have_the_shortest_form_that_keeps_their_value() {
    let mut count = 0;
    let mut check = |bits: u64| {
        let wide = f64::from_bits(bits);
        let single = wide as f32;
        let is_single = f64::from(single) == wide;
        let half = half::f16::from_f32(single);
        let is_half = half.to_f32() == single;
        let encoded = [&[DOUBLE][..], &bits.to_be_bytes()].concat();
        let expected = if is_single || wide.is_nan() { Err(ErrorKind::NotShortest) } else { Ok(()) };
        assert_eq!(skip(&encoded), expected, "{wide:e}");
        if is_single {
            let encoded = [&[SINGLE][..], &single.to_bits().to_be_bytes()].concat();
            let expected = if is_half { Err(ErrorKind::NotShortest) } else { Ok(()) };
            assert_eq!(skip(&encoded), expected, "{single:e}");
            count += 1;
        }
    };
    for bits in 0..=u16::MAX {
        let wide = half::f16::from_bits(bits).to_f64().to_bits();
        for other in [0, 1, 1 << 28, 1 << 29, 1 << 30, 1 << 41, 1 << 42, 1 << 43, 1 << 51] {
            check(wide);
            check(wide ^ other);
            check(wide.wrapping_add(other));
        }
    }
    for exponent in 0..2048 {
        for fraction in [0, 1, 1 << 28, 1 << 29, 1 << 42, 1 << 51, (1 << 52) - 1] {
            check(exponent << 52 | fraction);
            check(1 << 63 | exponent << 52 | fraction);
        }
    }
    assert!(count > 100_000, "{count}");
}

/// Calls `read`. Returns its result, or the kind and position of the error; then the position of the reader.
fn by<'a, T>(bytes: &'a [u8], read: impl FnOnce(&mut Reader<'a>) -> Option<T>) -> (Result<T, (ErrorKind, u32)>, u32) {
    let mut reader = Reader::new(bytes, 0);
    let value = read(&mut reader);
    let fault = reader.fault.map(|fault| (fault.kind, fault.at));
    (value.ok_or_else(|| fault.unwrap()), reader.position())
}

/// Returns a head with its number in `width` bytes.
fn head(of: u8, number: u64, width: usize) -> Vec<u8> {
    [&[of | (24 + width.trailing_zeros() as u8)], &number.to_be_bytes()[8 - width..]].concat()
}

/// Numbers and lengths of all widths, whole and truncated, with and without bytes after them: reading and skipping
/// agree.
#[test]
fn what_is_read_has_one_encoding_too() {
    let numbers =
        [0, 1, 23, 24, 0xfe, 0xff, 0x100, 0x1ff, 0xffff, 0x1_0000, 0xff_ffff, 0xffff_ffff, 1 << 32, u64::MAX];
    let widths = [(1, 24, 0xff), (2, 0x100, 0xffff), (4, 0x1_0000, 0xffff_ffff), (8, 1 << 32, u64::MAX)];
    for (number, (width, least, most)) in numbers.into_iter().flat_map(|n| widths.map(|width| (n, width))) {
        if number > most {
            continue;
        }
        for after in 0..10 {
            let bytes = [head(UNSIGNED, number, width), std::vec![0xff; after]].concat();
            let outcome = if number < least { Err((ErrorKind::NotShortest, 0)) } else { Ok(number) };
            let end = if number < least { 0 } else { 1 + width as u32 };
            assert_eq!(by(&bytes, Reader::unsigned), (outcome, end), "{bytes:x?}");
            assert_eq!(by(&bytes, |reader| reader.skip_value(0)).0, outcome.map(|_| ()), "{bytes:x?}");
            for cut in 0..=width {
                let truncated = Err((ErrorKind::Truncated, 0));
                assert_eq!(by(&bytes[..cut], Reader::unsigned), (truncated, 0), "{cut} of {bytes:x?}");
            }
        }
        if number < 100_000 {
            let letters = std::vec![b'a'; number as usize];
            let bytes = [head(TEXT, number, width), letters.clone(), std::vec![0xff]].concat();
            let text = by(&bytes, |reader| reader.text().map(|text| text.bytes().len() as u64));
            let outcome = if number < least { Err((ErrorKind::NotShortest, 0)) } else { Ok(number) };
            assert_eq!(text.0, outcome, "{number} by {width}");
            let short = [head(TEXT, number + 1, width), letters].concat();
            let short = by(&short, |reader| reader.text_bytes().map(drop)).0;
            assert!(short.is_err() || number == most, "{number} by {width}"); // one more may wrap to 0
        }
    }
}

/// A value of another type is reported at its start; a tag has an error kind of its own.
#[test]
fn values_of_other_types() {
    use ErrorKind::*;
    for (bytes, kind) in [
        (&b"\x20"[..], UnexpectedType),
        (b"\x41\x00", UnexpectedType),
        (b"\x61a", UnexpectedType),
        (b"\x81\x00", UnexpectedType),
        (b"\xa1\x00\x00", UnexpectedType),
        (b"\xf6", UnexpectedType),
        (b"\xc1\x00", Tagged),
        (b"\x18\x17", NotShortest),
        (b"\x9f\xff", IndefiniteLength),
        (b"\xff", Malformed),
    ] {
        let at_1 = [b"\x00", bytes].concat();
        for (of, read) in [
            (UNSIGNED, (|reader| reader.unsigned().map(drop)) as fn(&mut Reader<'_>) -> Option<()>),
            (TEXT, |reader| reader.text().map(drop)),
            (TEXT, |reader| reader.text_bytes().map(drop)),
            (ARRAY, |reader| reader.array().map(drop)),
            (MAP, |reader| reader.map().map(drop)),
        ] {
            if kind == UnexpectedType && major(bytes[0]) == of {
                continue;
            }
            let found = by(&at_1, |reader| reader.unsigned().and_then(|_| read(reader)));
            assert_eq!(found, (Err((kind, 1)), 1), "{bytes:x?}");
        }
    }
    assert_eq!(by(b"\x61\xff", Reader::text).0, Err((InvalidUtf8, 0)));
    assert_eq!(by(b"\x61\xff", Reader::text_bytes).0, Ok(&b"\xff"[..]));
    assert_eq!(
        (by(b"\x82\x00\x00", Reader::array).0, by(b"\x82\x00", Reader::array).0),
        (Ok(2), Err((CountTooLarge, 0)))
    );
    assert_eq!(by(b"\xa2\x00\x00\x00\x00", Reader::map).0, Ok(2));
    assert_eq!(by(b"\xa2\x00\x00\x00", Reader::map).0, Err((CountTooLarge, 0)));
}

/// An error is at the start of the invalid item, wherever the item is; an error in a key is at the key.
#[test]
fn places_of_faults() {
    use ErrorKind::*;
    for (bytes, kind, at) in [
        (&b"\x82\x00\x18\x17"[..], NotShortest, 2),
        (b"\x82\x00\x19\x00", Truncated, 2),
        (b"\x82\x00\x62a", Truncated, 2),
        (b"\x82\x00\x61\xff", InvalidUtf8, 2),
        (b"\x82\x00\x83\x00\x00", CountTooLarge, 2),
        (b"\x82\x00\xc1\x00", Tagged, 2),
        (b"\x82\x00\xf7", UnexpectedType, 2),
        (b"\x82\x00\xf8\x20", Malformed, 2),
        (b"\x82\x00\xfb\x3f\xf0\x00\x00\x00\x00\x00\x00", NotShortest, 2),
        (b"\x82\x00\x5f\xff", IndefiniteLength, 2),
        (b"\xa2\x01\x00\x01\x00", RepeatedKey, 3),
        (b"\xa2\x02\x00\x01\x00", KeyOrder, 3),
        (b"\xa3\x00\x00\x02\x00\x01\x00", KeyOrder, 5),
        (b"\x81\xa2\x00\xa2\x01\x00\x01\x00\x02\x00", RepeatedKey, 6),
        (b"\xa2\x61b\x80\x61a\x00", KeyOrder, 4),
    ] {
        assert_eq!(by(bytes, |reader| reader.skip_value(0)).0, Err((kind, at)), "{bytes:x?}");
        let mut reader = Reader::new(bytes, 0);
        (reader.item, reader.entry) = (Part::Shape, 0);
        assert!(reader.skip_value(0).is_none());
        let error = reader.error(Format::Ztensor2, 1000);
        assert_eq!((error.kind(), error.part(), error.offset()), (kind, Part::Shape, Some(1000 + u64::from(at))));
    }
}

/// Keys of several lengths, some with common prefixes.
const FIELDS: &Fields = &fields!({
    "of": Role,
    "size": Length,
    "shape": Shape,
    "attribute": Attributes,
    "decoded_length": DecodedLength,
} required Length Attributes);

/// Records of known and unknown keys in any order, at the end of the bytes and before other bytes.
#[test]
fn records() {
    let keys: [(&str, Option<Part>); 12] = [
        ("a", None),
        ("of", Some(Part::Role)),
        ("og", None),
        ("size", Some(Part::Length)),
        ("sizf", None),
        ("shape", Some(Part::Shape)),
        ("shapes", None),
        ("attribut\x7f", None),
        ("attribute", Some(Part::Attributes)),
        ("decoded_lengtg", None),
        ("decoded_length", Some(Part::DecodedLength)),
        ("decoded_length_", None),
    ];
    let mut random_of = crate::bytes::tests::random(1);
    let mut below = |bound: usize| random_of(bound as u64) as usize;
    let encoded = |key: &str| [&[TEXT | key.len() as u8], key.as_bytes()].concat();
    let mut outcomes = std::collections::BTreeMap::<_, u32>::new();
    for _ in 0..20_000 {
        let mut chosen: Vec<_> = keys.iter().filter(|_| below(3) > 0).collect();
        chosen.sort_by_key(|(key, _)| encoded(key));
        if chosen.len() > 1 && below(3) == 0 {
            let (from, to) = (below(chosen.len()), below(chosen.len()));
            if below(2) == 0 { chosen[from] = chosen[to] } else { chosen.swap(from, to) }
        }
        let mut bytes = std::vec![MAP | chosen.len() as u8];
        let mut places = Vec::new();
        for (number, (key, _)) in chosen.iter().enumerate() {
            places.push(bytes.len() as u32);
            bytes.extend([encoded(key), std::vec![number as u8]].concat());
        }
        let end = bytes.len() as u32;
        bytes.extend(std::vec![0xff; below(12)]);
        // The first key that does not come after the previous key.
        let wrong = (1..chosen.len()).find(|at| encoded(chosen[*at].0) <= encoded(chosen[at - 1].0));
        let expected: Vec<_> = (0..wrong.unwrap_or(chosen.len()))
            .filter_map(|number| chosen[number].1.map(|item| (item, number as u64)))
            .collect();
        let has = |item: Part| expected.iter().any(|(other, _)| *other == item);
        let outcome = match wrong {
            Some(at) if chosen[at].0 == chosen[at - 1].0 => Err((ErrorKind::RepeatedKey, Part::Key, places[at])),
            Some(at) => Err((ErrorKind::KeyOrder, Part::Key, places[at])),
            None => match [Part::Length, Part::Attributes]
                .into_iter()
                .filter(|item| !has(*item))
                .min_by_key(|item| item.code())
            {
                Some(missing) => Err((ErrorKind::MissingKey, missing, 0)),
                None => Ok(end),
            },
        };
        let (mut reader, mut record, mut found) = (Reader::new(&bytes, 0), Record::default(), Vec::new());
        reader.record(&mut record, FIELDS).unwrap();
        let last = loop {
            match reader.field(&mut record, 1) {
                Some(Part::File) => break Ok(reader.position()),
                Some(item) => {
                    assert_eq!(reader.item, item);
                    found.push((item, reader.unsigned().unwrap()));
                }
                None => break Err(reader.fault.map(|fault| (fault.kind, fault.item, fault.at)).unwrap()),
            }
        };
        assert_eq!((found, last), (expected, outcome), "{chosen:?}");
        *outcomes
            .entry(std::format!("{:?}", outcome.map(drop).map_err(|(kind, item, _)| (kind, item))))
            .or_default() += 1;
    }
    assert!(outcomes.len() == 5 && outcomes.values().all(|count| *count > 500), "{outcomes:?}");
}

/// An unknown key and its value count at their depth in the manifest.
#[test]
fn unknown_values_of_records_are_no_deeper_than_others() {
    for depth in [0, 2, 4] {
        let deepest = 32 - depth - 1;
        for (levels, is_good) in [(deepest, true), (deepest + 1, false)] {
            let nested = [std::vec![0x81; levels], std::vec![0]].concat();
            let as_value = [&b"\xa1\x00"[..], &nested].concat();
            let as_key = [&b"\xa1"[..], &nested, b"\x00"].concat();
            for bytes in [as_value, as_key] {
                let (mut reader, mut record) = (Reader::new(&bytes, 0), Record::default());
                reader.record(&mut record, FIELDS).unwrap();
                assert!(reader.field(&mut record, depth).is_none());
                let kind = reader.fault.unwrap().kind;
                assert_eq!(kind == ErrorKind::TooDeep, !is_good, "{levels} in {depth}: {kind}");
            }
        }
    }
}

/// An error in an unknown key is reported for the key, and an error in its value for the value.
#[test]
fn faults_of_unknown_fields() {
    for (bytes, item, at) in [
        (&b"\xa1\x18\x17\x00"[..], Part::Key, 1),
        (b"\xa1\x00\x18\x17", Part::Value, 2),
        (b"\xa2\x00\x00\x18\x17\x00", Part::Key, 3),
        (b"\xa2\x62of\x00\x62og\x18\x17", Part::Value, 8),
    ] {
        let (mut reader, mut record) = (Reader::new(bytes, 0), Record::default());
        reader.record(&mut record, FIELDS).unwrap();
        while reader.field(&mut record, 0).is_some() {
            reader.unsigned().unwrap();
        }
        let found = reader.fault.map(|fault| (fault.kind, fault.item, fault.at));
        assert_eq!(found, Some((ErrorKind::NotShortest, item, at)), "{bytes:x?}");
    }
}

/// The keys of a map of tensors, in the order of their encoded bytes.
#[test]
fn keys_that_are_texts() {
    use ErrorKind::*;
    let encoded = b"\x61b\x62aa\x62ab\x61c";
    let mut reader = Reader::new(encoded, 0);
    let mut last = &b""[..];
    for expected in [&b"b"[..], b"aa", b"ab"] {
        assert_eq!((reader.key_bytes(&mut last), last), (Some(expected), expected));
    }
    assert_eq!(reader.key_bytes(&mut last), None);
    assert_eq!(reader.fault.map(|fault| (fault.kind, fault.at)), Some((KeyOrder, 8)));
    for (item, kind) in [(Part::Name, RepeatedName), (Part::Role, RepeatedKey)] {
        let (mut reader, mut last) = (Reader::new(b"\x61a\x61a", 0), &b""[..]);
        reader.item = item;
        reader.key_bytes(&mut last).unwrap();
        assert_eq!(reader.key_bytes(&mut last), None);
        assert_eq!(reader.fault.map(|fault| (fault.kind, fault.at)), Some((kind, 2)));
    }
}

/// An encoding error takes precedence over any other error.
#[test]
fn faults_of_the_encoding_come_first() {
    for (bytes, expected) in [
        (&b"\x82\x00\x00"[..], (ErrorKind::UnexpectedType, Part::Shape, 0)),
        (b"\x82\x00\x18\x17", (ErrorKind::NotShortest, Part::Manifest, 2)),
        (b"\x82\x00\x00\x00", (ErrorKind::TrailingBytes, Part::Manifest, 3)),
        (b"\x82\x00", (ErrorKind::CountTooLarge, Part::Manifest, 0)),
    ] {
        let mut reader = Reader::new(bytes, 0);
        reader.item = Part::Shape;
        assert!(reader.unsigned().is_none());
        reader.prefer_fault_of_encoding();
        assert_eq!(reader.fault.map(|fault| (fault.kind, fault.item, fault.at)), Some(expected), "{bytes:x?}");
    }
    // Also if no error has been found so far.
    let mut reader = Reader::new(b"\x18\x17", 0);
    reader.prefer_fault_of_encoding();
    assert_eq!(reader.fault.map(|fault| (fault.kind, fault.item)), Some((ErrorKind::NotShortest, Part::Manifest)));
    // The same error is unchanged.
    let mut reader = Reader::new(b"\x18\x17", 0);
    reader.item = Part::Shape;
    assert!(reader.unsigned().is_none());
    reader.prefer_fault_of_encoding();
    assert_eq!(reader.fault.map(|fault| (fault.kind, fault.item)), Some((ErrorKind::NotShortest, Part::Shape)));
}
