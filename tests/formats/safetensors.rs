//! safetensors: the meaning of names, the requested bytes, every rule with its error message, and the index of a
//! model in several files.
#![cfg(feature = "safetensors")]

use crate::support::{Random, cases_of, check_with_any_memory};
use tenslice::safetensors::Index;
use tenslice::{
    Attributes, DType, ErrorKind, Extent, File, Format, Opened, Part, Purpose, ReadOptions, Source, Value, Warning,
};

/// A file with that header and `data` bytes of data.
fn file(header: &str, data: usize) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![7; data]].concat()
}

/// An entry of a U8 tensor.
fn entry(name: &str, begin: u64, end: u64) -> String {
    let length = end - begin;
    format!(r#""{name}":{{"dtype":"U8","shape":[{length}],"data_offsets":[{begin},{end}]}}"#)
}

/// A file with U8 tensors: name, begin, end.
fn file_of(entries: &[(&str, u64, u64)], data: usize) -> Vec<u8> {
    let entries: Vec<_> = entries.iter().map(|(name, begin, end)| entry(name, *begin, *end)).collect();
    file(&format!("{{{}}}", entries.join(",")), data)
}

/// The error of a file: the kind, the part, and the text at its offset.
#[track_caller]
fn refused(bytes: &[u8]) -> (ErrorKind, Part, &str) {
    let error = File::open(bytes).unwrap_err();
    (error.kind(), error.part(), text_at(bytes, error.offset().unwrap()))
}

/// The next bytes of a text, at most eight.
fn text_at(bytes: &[u8], at: u64) -> &str {
    let rest = &bytes[at as usize..];
    std::str::from_utf8(&rest[..rest.len().min(8)]).unwrap()
}

#[test]
fn names_are_decoded() {
    let names = [
        (r"a\u002eb", "a.b"),
        (r"\ud83d\ude00", "\u{1f600}"),
        (r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r"n\u0000", "n\0"),
        ("n", "n"),
        ("", ""),
        ("gr\u{fc}n", "gr\u{fc}n"),
        (r"__metadata\u005f_\u0020", "__metadata__ "),
        ("\u{7f}", "\u{7f}"),
    ];
    let entries: Vec<_> = names.iter().zip(0..).map(|((spelled, _), i)| (*spelled, i, i + 1)).collect();
    let bytes = file_of(&entries, names.len());
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.tensor_count(), names.len() as u64);
    for ((tensor, index), (spelled, name)) in file.tensors().zip(0..).zip(names) {
        assert_eq!((tensor.name(), tensor.index()), (name.into(), index));
        assert_eq!((tensor.name().to_string(), format!("{:?}", tensor.name())), (name.into(), format!("{name:?}")));
        assert_eq!(tensor.name().raw(), spelled.as_bytes());
        assert_eq!(tensor.name().as_str(), Some(name).filter(|name| *name == spelled));
        assert_eq!(file.find(name).unwrap().index(), tensor.index());
        if name != spelled {
            assert_eq!(file.find(spelled).unwrap_err().kind(), ErrorKind::NotFound);
        }
    }
}

/// The magics of gzip and ZIP are also valid header lengths.
#[test]
fn header_lengths_that_look_like_magics() {
    let large: &[usize] = if cfg!(not(small)) { &[0x08_8b1f, 0x0403_4b50] } else { &[] };
    for &length in [0x8b1f, 0x1_8b1f].iter().chain(large) {
        let header = format!("{{{}}}", entry("a", 0, 1));
        let bytes = file(&(header.clone() + &" ".repeat(length - header.len())), 1);
        assert!([&b"\x1f\x8b"[..], b"PK\x03\x04"].iter().any(|magic| bytes.starts_with(magic)));
        let opened = File::open(&bytes).unwrap();
        assert_eq!((opened.format(), opened.tensor_count()), (Format::Safetensors, 1));
    }
    // Other files, including ZIP with a first entry of method 123 and GGUF with 123 tensors: byte 8 of both is `{`.
    for (head, format) in [
        (&b"\x1f\x8b\x08\0\0\0\0\0\x02\x03"[..], Format::Gzip),
        (b"PK\x03\x04\0\0\0\0\x08", Format::Npz),
        (b"PK\x03\x04\x0a\0\0\0{\0\0\0\0\0\0\0", Format::Npz),
        (b"GGUF\x03\0\0\0{\0\0\0\0\0\0\0", Format::Gguf),
    ] {
        assert_eq!(File::open(head).unwrap_err().format(), format);
    }
}

#[test]
fn rejects_two_spellings_of_one_name() {
    for (first, second) in [("a.b", r"a\u002eb"), (r"\u0061", r"a"), (r"\/", "/"), (r"\u00e9", "\u{e9}"), ("x", "x")]
    {
        let bytes = file_of(&[(first, 0, 1), ("m", 1, 2), (second, 2, 3), ("k", 3, 4)], 4);
        let (kind, item, text) = refused(&bytes);
        assert_eq!((kind, item), (ErrorKind::RepeatedName, Part::Name));
        assert!(text.starts_with(&format!("\"{second}")[..4.min(second.len() + 1)]), "{text}");
        let name = File::open(&file_of(&[(second, 0, 0)], 0)).unwrap().tensors().next().unwrap().name().to_string();
        let message = File::open(&bytes).unwrap_err().explain(&*bytes).to_string();
        assert!(message.starts_with(&format!("safetensors: a tensor name appears twice: {name:?} [at")), "{message}");
    }
    // The keys of an entry, and the name of the metadata.
    for (header, item, text) in [
        (r#"{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1],"dty\u0070e":"U8"}}"#, Part::Key, "\"dty\\u00"),
        (r#"{"__metadata__":{},"\u005f_metadata__":{}}"#, Part::Name, "\"\\u005f_"),
    ] {
        assert_eq!(refused(&file(header, 1)), (ErrorKind::RepeatedKey, item, text));
    }
    let bytes = file(r#"{"a":{"\u0064type":"\u00558","sh\u0061pe":[ ],"data_\u006fffsets":[0,1]}}"#, 1);
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.find("a").unwrap().dtype(), Some(DType::U8));
}

#[test]
fn attributes_are_texts() {
    let header = r#"{"__met\u0061data__":{"k\n":"{\"a\": 1}","":"","k\n":"\ud83d\ude00","p":"plain"}}"#;
    let bytes = file(header, 0);
    let file = File::open(&bytes).unwrap();
    let all: Vec<_> = file.attributes().map(|attribute| (attribute.key.unwrap(), attribute.value)).collect();
    let text = |value: &Value<'_>| value.as_text().unwrap().to_string();
    let all: Vec<_> = all.iter().map(|(key, value)| (text(key), text(value))).collect();
    let expected = [("k\n", "{\"a\": 1}"), ("", ""), ("k\n", "\u{1f600}"), ("p", "plain")];
    assert!(all.iter().map(|(key, text)| (&**key, &**text)).eq(expected), "{all:?}");
    assert_eq!(file.attributes().get("k\n").unwrap().as_text().unwrap(), "{\"a\": 1}");
    assert_eq!(file.attributes().get("k\n").unwrap().as_str(), None);
    assert_eq!(file.attributes().get("p").unwrap().as_str(), Some("plain"));
    assert!(file.attributes().get("k").is_none());
    assert_eq!(file.tensor_count(), 0);
    assert!(File::open(&self::file("{}", 0)).unwrap().attributes().next().is_none());
}

#[test]
fn metadata_is_not_a_tensor() {
    let header = format!("{{{},\"__metadata__\":{{}},{}}}", entry("a", 0, 1), entry("b", 1, 3));
    let bytes = file(&header, 3);
    let file = File::open(&bytes).unwrap();
    let mut words = [0; 6];
    let index = file.index(&mut words).unwrap();
    assert_eq!(["a", "b"].map(|name| index.find(name).unwrap().index()), [0, 1]);
    let error = index.find("b").unwrap().sparse(ReadOptions::new()).unwrap_err();
    assert_eq!(error.offset(), Some(8 + header.find("\"b\"").unwrap() as u64));
    let data = index.find("b").unwrap().data().unwrap();
    assert_eq!((data.dtype(), data.storage_dtype()), (Some(DType::U8), Some(DType::U8)));
    assert_eq!(index.find("__metadata__").unwrap_err().kind(), ErrorKind::NotFound);
}

/// Names before the metadata are compared with those after it, sorted or not.
#[test]
fn names_on_both_sides_of_the_metadata() {
    for entries in [
        [entry("a", 0, 1), r#""__metadata__":{}"#.to_string(), entry("a", 1, 2), entry("b", 2, 3)],
        [entry("b", 0, 1), r#""__metadata__":{}"#.to_string(), entry("a", 1, 2), entry("b", 2, 3)],
    ] {
        let header = format!("{{{}}}", entries.join(","));
        let error = File::open(&file(&header, 3)).unwrap_err();
        assert_eq!((error.kind(), error.part()), (ErrorKind::RepeatedName, Part::Name), "{header}");
    }
}

#[test]
fn sorted_names_and_offsets_need_no_memory() {
    for (is_name_falling, is_place_falling) in [(false, false), (true, false), (false, true)] {
        let bytes = file_of_bytes(&unsorted(1100, is_name_falling, is_place_falling));
        let warnings = File::open(&bytes).unwrap().warnings();
        assert_eq!(warnings.contains(Warning::NamesUnchecked), is_name_falling);
        assert_eq!(warnings.contains(Warning::ExtentsUnchecked), is_place_falling);
    }
}

#[test]
fn white_space_anywhere_in_a_shape() {
    for shape in ["[2,3]", "[ 2,3]", "[2 ,3]", "[2, 3]", "[2,3 ]", "[\t2\r,\n3 ]"] {
        let a = format!("\"a\": {{\"dtype\":\"I8\",\"shape\":{shape},\"data_offsets\":[0,6]}}");
        for header in [format!("{{{a},{}}}", entry("b", 6, 7)), format!("{{{}}}", a.replace(": {", ":{"))] {
            let bytes = file(&header, if header.contains("\"b\"") { 7 } else { 6 });
            let file = File::open(&bytes).unwrap();
            let mut words = [0; 6];
            let index = file.index(&mut words).unwrap();
            for tensor in [file.find("a").unwrap(), index.find("a").unwrap()] {
                assert_eq!(tensor.shape(), [2, 3][..], "{header}");
                assert_eq!(tensor.strides(&mut []).unwrap_err().offset(), Some(9), "{header}");
                let data = tensor.data().unwrap();
                assert_eq!((data.dtype(), data.storage_dtype()), (Some(DType::I8), Some(DType::I8)), "{header}");
            }
        }
    }
}

#[test]
fn every_dtype_and_its_bits() {
    let dtypes = [
        ("BOOL", DType::BOOL, 8),
        ("U8", DType::U8, 8),
        ("I8", DType::I8, 8),
        ("F4", DType::F4_E2M1, 4),
        ("F6_E2M3", DType::F6_E2M3, 6),
        ("F6_E3M2", DType::F6_E3M2, 6),
        ("F8_E4M3", DType::F8_E4M3FN, 8),
        ("F8_E5M2", DType::F8_E5M2, 8),
        ("F8_E8M0", DType::F8_E8M0, 8),
        ("F8_E4M3FNUZ", DType::F8_E4M3FNUZ, 8),
        ("F8_E5M2FNUZ", DType::F8_E5M2FNUZ, 8),
        ("U16", DType::U16, 16),
        ("I16", DType::I16, 16),
        ("F16", DType::F16, 16),
        ("BF16", DType::BF16, 16),
        ("F32", DType::F32, 32),
        ("U32", DType::U32, 32),
        ("I32", DType::I32, 32),
        ("C64", DType::C64, 64),
        ("F64", DType::F64, 64),
        ("U64", DType::U64, 64),
        ("I64", DType::I64, 64),
    ];
    for (name, dtype, bits) in dtypes {
        assert_eq!((dtype.bits(), dtype.size()), (bits, (bits >= 8).then_some(bits / 8)), "{name}");
        for count in 0..=9_u64 {
            let length = (count * bits).div_ceil(8);
            let header = format!(r#"{{"a":{{"dtype":"{name}","shape":[1,{count}],"data_offsets":[0,{length}]}}}}"#);
            let bytes = file(&header, length as usize);
            if count * bits % 8 != 0 {
                assert_eq!(refused(&bytes).0, ErrorKind::SizeMismatch, "{name} {count}");
                continue;
            }
            let file = File::open(&bytes).unwrap();
            let tensor = file.find("a").unwrap();
            assert_eq!((tensor.dtype(), tensor.shape().dims()), (Some(dtype), Some([1, count])), "{name}");
            assert_eq!(tensor.data().unwrap().bytes().unwrap(), vec![7; length as usize], "{name}");
            assert_eq!(tensor.requirements(Purpose::Read).output, Some(length), "{name}");
            assert_eq!(
                tensor.read_into(&mut vec![0; length as usize], ReadOptions::new()).unwrap().len() as u64,
                length
            );
        }
    }
}

/// The extents that opening requests, in order.
fn asked(bytes: &[u8]) -> Vec<Extent> {
    let mut source = Source::new(bytes.len() as u64);
    let mut asked = Vec::new();
    while let Ok(Opened::Need(need)) = File::open_source(&source) {
        asked.push(need.extent);
        let from = need.extent.offset as usize;
        source.add(need.extent.offset, &bytes[from..from + need.extent.length as usize]).unwrap();
    }
    asked
}

#[test]
fn opening_requests_only_the_header() {
    for case in cases_of("safetensors") {
        let length = case.bytes.len() as u64;
        let head = Extent::new(0, length.min(16));
        let size = case.bytes.first_chunk().map_or(0, |size| u64::from_le_bytes(*size));
        let is_known = File::open(&case.bytes).map_or_else(|error| error.format(), |file| file.format());
        let mut expected = vec![head];
        expected.retain(|head| head.length > 0);
        if is_known == Format::Safetensors && size <= 100_000_000 && size <= length - 8 && 8 + size > 16 {
            expected.push(Extent::new(8, size));
        }
        if is_known == Format::Unknown && length > 16 {
            expected.push(Extent::new(0, length.min(4096))); // for the message
        }
        assert_eq!(asked(&case.bytes), expected, "{}", case.name());
    }
    assert_eq!(asked(&file("{}", 0)), [Extent::new(0, 10)]);
    assert_eq!(asked(&file_of(&[("a", 0, 9000)], 9000)), [Extent::new(0, 16), Extent::new(8, 59)]);
}

#[test]
fn distinguishes_truncated_and_unknown_files() {
    for case in cases_of("safetensors").iter().filter(|case| case.expect() == "accept" && case.bytes.len() < 20_000) {
        let size = u64::from_le_bytes(*case.bytes.first_chunk().unwrap()) as usize;
        // Shorter prefixes may look like other formats.
        for length in 9..case.bytes.len() {
            let error = File::open(&case.bytes[..length]).unwrap_err();
            let is_cut = length < 8 + size; // else the data is missing
            let expected = if is_cut { ErrorKind::Truncated } else { ErrorKind::OutOfFile };
            let context = format!("{length} bytes of {}", case.name());
            assert_eq!((error.kind(), error.format()), (expected, Format::Safetensors), "{context}");
            assert!(!is_cut || error.offset() == Some(length as u64), "{context}");
        }
    }
}

/// `count` tensors of one byte, with names and offsets that ascend or descend.
fn unsorted(count: u64, is_name_falling: bool, is_place_falling: bool) -> Vec<(String, u64)> {
    let place = |is_falling: bool, i| if is_falling { count - 1 - i } else { i };
    (0..count).map(|i| (format!("{:05}", place(is_name_falling, i)), place(is_place_falling, i))).collect()
}

fn file_of_bytes(tensors: &[(String, u64)]) -> Vec<u8> {
    let entries: Vec<_> = tensors.iter().map(|(name, at)| (&**name, *at, *at + 1)).collect();
    file_of(&entries, tensors.len())
}

#[test]
fn compares_names_and_offsets_in_any_order() {
    for count in [2, 3, 900, 1024, 1025, 3000] {
        for (is_name_falling, is_place_falling) in [(true, false), (false, true), (true, true)] {
            let context = format!("{count} {is_name_falling} {is_place_falling}");
            let good = unsorted(count, is_name_falling, is_place_falling);
            let bytes = file_of_bytes(&good);
            let file = File::open(&bytes).unwrap();
            let mut expected = Vec::new();
            if count > 1024 {
                expected.extend(is_name_falling.then_some(Warning::NamesUnchecked));
                expected.extend(is_place_falling.then_some(Warning::ExtentsUnchecked));
            }
            assert_eq!(file.warnings().iter().collect::<Vec<_>>(), expected, "{context}");
            assert_eq!(file.check_length(), Some(if expected.is_empty() { 0 } else { count as usize }), "{context}");
            assert!(check_with_any_memory(&file).unwrap().is_empty(), "{context}");
            // A repeated name, then a repeated offset. In both cases the second is reported.
            let (first, second) = (good.len() / 3, good.len() - 1);
            let mut names = good.clone();
            names[second].0 = good[first].0.clone();
            let mut places = good.clone();
            places[second].1 = places[first].1;
            for (tensors, kind) in [(names, ErrorKind::RepeatedName), (places, ErrorKind::Overlap)] {
                let bytes = file_of_bytes(&tensors);
                let at = bytes.windows(7).rposition(|text| text.starts_with(b"\"0")).unwrap() as u64;
                let is_right = |error: tenslice::Error| {
                    let expected = if kind == ErrorKind::Overlap { "[" } else { "\"0" };
                    let text = text_at(&bytes, error.offset().unwrap());
                    (error.kind(), text.starts_with(expected)) == (kind, true) && error.offset() >= Some(at)
                };
                match File::open(&bytes) {
                    Err(error) => assert!(is_right(error), "{context}: {error:?}"),
                    Ok(file) => {
                        assert!(count > 1024, "{context}");
                        let error = check_with_any_memory(&file).unwrap_err();
                        assert!(is_right(error), "{context}: {error:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn offsets_in_any_order_must_tile_the_data() {
    let mut random = Random(0x7113_d0f5);
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..5000 {
        let mut spans = Vec::new();
        let mut end = 0;
        for _ in 0..2 + random.below(12) {
            let length = random.below(4) as u64;
            spans.push((end, end + length));
            end += length;
        }
        let count = spans.len();
        for i in 0..count {
            spans.swap(i, random.below(count));
        }
        if round % 2 == 0 {
            // Moves one of them, without changing its length.
            let (begin, last) = spans[random.below(spans.len())];
            let to = random.below((end - (last - begin)) as usize + 1) as u64;
            spans.iter_mut().filter(|span| **span == (begin, last)).for_each(|span| *span = (to, to + last - begin));
        }
        let is_in_one = |at| spans.iter().filter(|(begin, end)| (*begin..*end).contains(&at)).count() == 1;
        let is_tiled = (0..end).all(is_in_one);
        let entries: Vec<_> =
            (0..).zip(&spans).map(|(i, (begin, end))| entry(&format!("{i:02}"), *begin, *end)).collect();
        let space = ["", " ", "\n\n"][random.below(3)];
        let header = format!("{{{}}}", entries.join(",")).replace('[', &format!("[{space}"));
        let bytes = file(&header, end as usize);
        match File::open(&bytes) {
            Ok(file) => {
                assert!(is_tiled, "{header}");
                assert!(check_with_any_memory(&file).unwrap().is_empty());
                accepted += 1;
            }
            Err(error) => {
                assert!(!is_tiled, "{header}: {error:?}");
                let at = text_at(&bytes, error.offset().unwrap());
                assert!((error.kind(), at.starts_with('[')) == (ErrorKind::Overlap, true), "{header}: {error:?}");
                refused += 1;
            }
        }
    }
    assert!(accepted > 1000 && refused > 1000, "{accepted} {refused}");
}

#[test]
fn every_byte_is_in_one_tensor() {
    let refused = |entries: &[(&str, u64, u64)], data| {
        let bytes = file_of(entries, data);
        let error = File::open(&bytes).unwrap_err();
        let start = bytes.len() - data;
        (error.kind(), error.part(), error.offset().unwrap().checked_sub(start as u64))
    };
    let unclaimed = |at| (ErrorKind::UnclaimedBytes, Part::Data, Some(at));
    let overlap = (ErrorKind::Overlap, Part::Offset, None); // in the header
    // The error points to the first unclaimed byte.
    assert_eq!(refused(&[], 1), unclaimed(0));
    assert_eq!(refused(&[("a", 1, 3)], 3), unclaimed(0));
    assert_eq!(refused(&[("a", 0, 3)], 4), unclaimed(3));
    assert_eq!(refused(&[("a", 0, 2), ("b", 3, 5)], 5), unclaimed(2));
    assert_eq!(refused(&[("a", 0, 2), ("b", 2, 2), ("c", 2, 4)], 5), unclaimed(4));
    assert_eq!(refused(&[("a", 2, 2)], 2), unclaimed(0));
    assert_eq!(refused(&[("a", 0, 2), ("b", 1, 3)], 3), overlap);
    assert_eq!(refused(&[("a", 0, 2), ("b", 0, 2)], 2), overlap);
    assert_eq!(refused(&[("a", 0, 4), ("b", 1, 3)], 4), overlap);
    // The lengths add up, so only a comparison detects the overlap.
    assert_eq!(refused(&[("a", 2, 4), ("b", 0, 1), ("c", 2, 3)], 4), overlap);
    assert_eq!(refused(&[("a", 1, 3), ("b", 1, 3)], 4), overlap);
    for (entries, name) in [(&[("a", 2, 4), ("b", 0, 1), ("c", 2, 3)][..], "c"), (&[("a", 1, 3), ("b", 1, 3)], "b")] {
        let bytes = file_of(entries, 4);
        let message = File::open(&bytes).unwrap_err().explain(&bytes[..]).to_string();
        assert!(message.contains(&format!("tensor {name:?}: ")), "{message}");
    }
    // If the data is not in the order of the entries, only the presence of unclaimed bytes is known.
    assert_eq!(refused(&[("d", 6, 8), ("c", 2, 4), ("b", 0, 2)], 8), unclaimed(0));
    assert_eq!(refused(&[("b", 4, 8), ("a", 0, 4)], 9), unclaimed(0));
    // More bytes than the data has.
    assert_eq!(refused(&[("a", 1, 3), ("b", 0, 3)], 3), (ErrorKind::Overlap, Part::Data, Some(0)));
    // Empty tensors may be anywhere inside of the data.
    for at in 0..=4 {
        assert!(File::open(&file_of(&[("a", 2, 4), ("b", at, at), ("c", 0, 2)], 4)).is_ok());
    }
    assert_eq!(refused(&[("a", 0, 4), ("b", 5, 5)], 4).0, ErrorKind::OutOfFile);
}

/// Checks that a file with that header is rejected with this kind, part, text at the offset, and message.
#[track_caller]
fn says(header: &str, data: usize, kind: ErrorKind, item: Part, at: &str, message: &str) {
    let bytes = file(header, data);
    assert_eq!(refused(&bytes), (kind, item, at), "{header}");
    let error = File::open(&bytes).unwrap_err();
    let expected = format!("safetensors: {message} [at byte {}]", error.offset().unwrap());
    assert_eq!(error.explain(&*bytes).to_string(), expected, "{header}");
}

/// ST1 to ST3, ST5 and ST11 have tests of their own.
#[test]
fn every_rule_has_its_error() {
    use ErrorKind::*;
    let of = |dtype: &str, shape: &str, offsets: &str| {
        format!(r#"{{"a":{{"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}}}}}"#)
    };
    let a = r#"tensor "a""#;

    // ST4
    says("{\"a\"", 0, Malformed, Part::Name, "", "name: this is not well-formed JSON");
    says("{,}", 0, Malformed, Part::Name, ",}", "name: this is not well-formed JSON");
    let only_space = "header: only white space may follow the JSON object";
    let trailing = format!("{} x", of("\"U8\"", "[1]", "[0,1]"));
    says(&trailing, 1, TrailingBytes, Part::Header, "x\u{7}", only_space);
    // The first error is in no entry, unlike the second.
    let entry = |header: &str| File::open(&file(header, 1)).unwrap_err().entry();
    assert_eq!((entry(&trailing), entry("{\"a\":1}")), (None, Some(9)));
    let deep = |depth| format!(r#"{{"a":{{"x":{}{}}}}}"#, "[".repeat(depth), "]".repeat(depth));
    let too_deep = format!("{a}: key: values are nested too deeply");
    says(&deep(126), 0, TooDeep, Part::Key, "[]]]]]]]", &too_deep);
    let no_dtype = format!("{a}: a required key is missing: \"dtype\"");
    says(&deep(125), 0, MissingKey, Part::DType, "{\"x\":[[[", &no_dtype);

    // ST6
    for (entry, at) in
        [("[\"U8\",[1],[0,1]]", "[\"U8\",[1"), ("1", "1}\u{7}"), ("null", "null}\u{7}"), ("\"\"", "\"\"}\u{7}")]
    {
        let message = format!("{a}: an entry must be an object");
        says(&format!("{{\"a\":{entry}}}"), 1, UnexpectedType, Part::Tensor, at, &message);
    }
    says("{\"a\":{}}", 0, MissingKey, Part::DType, "{}}", &no_dtype);
    let no_shape = format!("{a}: a required key is missing: \"shape\"");
    let header = r#"{"a":{"dtype":"U8","data_offsets":[0,1]}}"#;
    says(header, 1, MissingKey, Part::Shape, "{\"dtype\"", &no_shape);
    let no_offsets = format!("{a}: a required key is missing: \"data_offsets\"");
    says(r#"{"a":{"dtype":"U8","shape":[]}}"#, 1, MissingKey, Part::Offset, "{\"dtype\"", &no_offsets);

    // ST7
    for dtype in ["u8", "F8", "F8_E4M3FN", "C128", "U4", ""] {
        let message = format!("{a}: the dtype is not defined in this format version: {dtype:?}");
        let at = format!("\"{dtype}\",\"shape\"");
        says(&of(&format!("{dtype:?}"), "[1]", "[0,1]"), 1, UnknownDType, Part::DType, &at[..8], &message);
    }
    for dtype in ["null", "8", "[\"U8\"]", "{\"U8\":null}"] {
        let at = format!("{dtype},\"shape\"");
        let message = format!("{a}: dtype: a dtype must be a string");
        says(&of(dtype, "[1]", "[0,1]"), 1, UnexpectedType, Part::DType, &at[..8], &message);
    }

    // ST8 and ST9: anything but plain integers.
    let shape = format!("{a}: shape: a shape must be a list of plain integers from 0 to 2^64 - 1");
    let offsets = format!("{a}: offset: the offsets must be two plain integers from 0 to 2^64 - 1");
    for number in ["-1", "-0", "1.0", "1e0", "01", "+1", "\"1\"", "true", "null", "[1]", "18446744073709551616"] {
        let at = format!("{number}],\"data_offsets\"");
        says(&of("\"U8\"", &format!("[1,{number}]"), "[0,1]"), 1, UnexpectedType, Part::Shape, &at[..8], &shape);
        let at = format!("{number}]}}}}\u{7}");
        let header = of("\"U8\"", "[1]", &format!("[0,{number}]"));
        says(&header, 1, UnexpectedType, Part::Offset, &at[..at.len().min(8)], &offsets);
    }
    says(&of("\"U8\"", "1", "[0,1]"), 1, UnexpectedType, Part::Shape, "1,\"data_", &shape);
    says(&of("\"U8\"", "[1]", "[0]"), 1, UnexpectedType, Part::Offset, "]}}\u{7}", &offsets);
    says(&of("\"U8\"", "[1]", "[0,1,1]"), 1, UnexpectedType, Part::Offset, ",1]}}\u{7}", &offsets);
    let reversed = format!("{a}: offset: the data ends before it begins");
    says(&of("\"U8\"", "[1]", "[1,0]"), 1, NegativeLength, Part::Offset, "[1,0]}}\u{7}", &reversed);
    let outside = format!(
        "{a}: 2 bytes at offset 61 extend past the end of the file (62 bytes); the file is truncated: it should have at least 63 bytes, 1 is missing"
    );
    says(&of("\"U8\"", "[2]", "[0,2]"), 1, OutOfFile, Part::Offset, "[0,2]}}\u{7}", &outside);
    let outside = format!(
        "{a}: 2 bytes at offset 64 extend past the end of the file (64 bytes); the file is truncated: it should have at least 66 bytes, 2 are missing"
    );
    says(&of("\"U8\"", "[2]", "[3,5]"), 3, OutOfFile, Part::Offset, "[3,5]}}\u{7}", &outside);

    // ST10
    let differs = "the length does not match the shape and the dtype";
    let message = format!("{a}: {differs}: length 5, shape [2, 3], dtype u8, which takes 6");
    says(&of("\"U8\"", "[2,3]", "[0,5]"), 5, SizeMismatch, Part::Offset, "[0,5]}}\u{7}", &message);
    let message =
        format!("{a}: the elements do not fill whole bytes: length 2, shape [3], dtype f4_e2m1, which takes 2");
    says(&of("\"F4\"", "[3]", "[0,2]"), 2, SizeMismatch, Part::Offset, "[0,2]}}\u{7}", &message);
    let overflow = "the product of the shape, in bytes, exceeds 64 bits";
    let message = format!("{a}: {overflow}: length 0, shape [4294967296, 4294967296], dtype u8");
    let header = of("\"U8\"", "[4294967296,4294967296]", "[0,0]");
    says(&header, 0, ShapeOverflow, Part::Shape, "[4294967", &message);
    assert!(File::open(&file(&of("\"U8\"", "[4294967296,4294967296,0]", "[0,0]"), 0)).is_ok());

    // ST12
    for metadata in ["[]", "\"\"", "1"] {
        let message = "attributes: the metadata must be an object";
        let header = format!("{{\"__metadata__\":{metadata}}}");
        says(&header, 0, UnexpectedType, Part::Attributes, &format!("{metadata}}}"), message);
    }
    assert_eq!(refused(&file(r#"{"__metadata__":{1:""}}"#, 0)), (Malformed, Part::Key, "1:\"\"}}"));
    for value in ["null", "[]", "{}", "1"] {
        let message = "attribute \"a\": value: values of the metadata must be strings";
        let header = format!("{{\"__metadata__\":{{\"a\":{value}}}}}");
        says(&header, 0, UnexpectedType, Part::Value, &format!("{value}}}}}"), message);
    }
}

/// MLX writes null metadata into files that have none.
#[test]
fn metadata_that_is_null() {
    let entry = r#""a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}"#;
    for header in [
        format!(r#"{{"__metadata__":null,{entry}}}"#),
        format!(r#"{{{entry},"__metadata__" : null }}"#),
        format!(r#"{{"\u005f_metadata__":null,{entry}}}"#),
    ] {
        let bytes = file(&header, 1);
        let file = File::open(&bytes).unwrap();
        assert_eq!(file.warnings().iter().collect::<Vec<_>>(), [Warning::NullMetadata], "{header}");
        assert_eq!(file.check(&mut []).unwrap(), file.warnings());
        assert_eq!((file.attributes().count(), file.attributes().error()), (0, None));
        assert_eq!((file.tensor_count(), file.tensors().count()), (1, 1));
        assert_eq!(file.find("a").unwrap().data().unwrap().bytes().unwrap(), &bytes[bytes.len() - 1..]);
    }
    let plain = file(&format!("{{{entry}}}"), 1);
    assert!(File::open(&plain).unwrap().warnings().is_empty());
    for other in ["null", "{}", r#"{"a":"b"}"#] {
        for header in [
            format!(r#"{{"__metadata__":null,"__metadata__":{other}}}"#),
            format!(r#"{{"__metadata__":{other},"__metadata__":null}}"#),
        ] {
            assert_eq!(refused(&file(&header, 0)).0, ErrorKind::RepeatedKey, "{header}");
        }
    }
    for word in ["nul", "nulL", "none", "null1", "nullnull"] {
        assert_eq!(refused(&file(&format!(r#"{{"__metadata__":{word}}}"#), 0)).0, ErrorKind::Malformed, "{word}");
    }
}

#[test]
fn the_length_of_the_header() {
    let good = [&file_of(&[("a", 0, 1)], 1)[..], b"7"].concat();
    let with_size = |size: u64| [&size.to_le_bytes()[..], &good[8..]].concat();
    let size = good.len() as u64 - 10;
    for (size, kind, format, at) in [
        (size + 3, ErrorKind::Truncated, Format::Safetensors, good.len() as u64),
        (100_000_000, ErrorKind::Truncated, Format::Safetensors, good.len() as u64),
        (100_000_001, ErrorKind::ManifestTooLarge, Format::Safetensors, 0),
        ((1 << 40) - 1, ErrorKind::ManifestTooLarge, Format::Safetensors, 0),
        (1 << 40, ErrorKind::UnknownFormat, Format::Unknown, 0),
        (u64::MAX, ErrorKind::UnknownFormat, Format::Unknown, 0),
        (size + 1, ErrorKind::TrailingBytes, Format::Safetensors, 8 + size),
        (size - 1, ErrorKind::Malformed, Format::Safetensors, 7 + size),
        (1, ErrorKind::Malformed, Format::Safetensors, 9),
        (0, ErrorKind::UnexpectedType, Format::Safetensors, 8),
    ] {
        let error = File::open(&with_size(size)).map(drop).unwrap_err();
        assert_eq!((error.kind(), error.format(), error.offset()), (kind, format, Some(at)), "{size}");
    }
    // ST2: bytes in front of the object, or instead of it.
    for start in [" ", "\n", "[", "\u{feff}", "\"", "n"] {
        let header = format!("{start}{{}}");
        let error = File::open(&file(&header, 0)).map(drop).unwrap_err();
        assert_eq!((error.kind(), error.format()), (ErrorKind::UnknownFormat, Format::Unknown), "{start:?}");
    }
    let bytes = file(" {}", 0);
    let message = File::open(&bytes).unwrap_err().explain(&*bytes).to_string();
    assert!(message.contains("its header must begin with `{`"), "{message}");
}

#[test]
fn only_utf8_is_a_header() {
    // In a name, a key, an unknown field and the metadata: surrogates, overlong forms, code points above U+10FFFF,
    // truncated characters.
    let headers = [
        r#"{"~":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}"#,
        r#"{"a":{"dtype":"U8","~":1,"shape":[],"data_offsets":[0,1]}}"#,
        r#"{"a":{"dtype":"U8","shape":[],"x":[{"":"~"}],"data_offsets":[0,1]}}"#,
        r#"{"__metadata__":{"~":""},"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}"#,
        r#"{"__metadata__":{"":"~"},"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}"#,
    ];
    let invalid: [&[u8]; 7] =
        [b"\xff", b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc3", b"ok\x80"];
    for header in headers {
        for (text, is_valid) in invalid.iter().map(|text| (*text, false)).chain([(&b"\xf4\x8f\xbf\xbf"[..], true)]) {
            let place = header.find('~').unwrap();
            let header = [&header.as_bytes()[..place], text, &header.as_bytes()[place + 1..]].concat();
            let bytes = [&(header.len() as u64).to_le_bytes()[..], &header, &[0]].concat();
            let result = File::open(&bytes).map_err(|error| (error.kind(), error.offset()));
            if is_valid {
                assert!(result.is_ok(), "{result:?}");
            } else {
                assert_eq!(result.unwrap_err(), (ErrorKind::InvalidUtf8, Some(7 + place as u64)));
            }
        }
    }
}

/// Bytes that are not text instead of a dtype, in an entry that is otherwise written in the usual way.
#[test]
fn rejects_dtypes_that_are_not_texts() {
    let end = b",\"shape\":[1],\"data_offsets\":[0,1]}}        ";
    for byte in [0xff, 0x7f, b'x'] {
        for length in 1..20 {
            let header = [&b"{\"a\":{\"dtype\":\""[..], &vec![byte; length], end].concat();
            let bytes = [&(header.len() as u64).to_le_bytes()[..], &header, &[0]].concat();
            let error = File::open(&bytes).unwrap_err();
            if byte == 0xff {
                assert_eq!((error.kind(), error.offset()), (ErrorKind::InvalidUtf8, Some(8 + 14)), "{length}");
            }
        }
    }
}

/// The error of an index: the kind, the part, and the text at its offset.
#[track_caller]
fn refused_index(text: &str) -> (ErrorKind, Part, &str) {
    let error = Index::open(text.as_bytes()).unwrap_err();
    assert_eq!(error.format(), Format::SafetensorsIndex);
    (error.kind(), error.part(), text_at(text.as_bytes(), error.offset().unwrap()))
}

fn files_of(index: &Index<'_>) -> Vec<String> {
    let mut scratch = vec![0; index.tensor_count() as usize];
    index.files(&mut scratch).unwrap().map(|file| file.to_string()).collect()
}

#[test]
fn forms_of_an_index() {
    let text = r#" {
        "metadata": {"total_size": 18446744073709551615, "total_parameters": 1.5, "format": "\u0070t", "x": [null, -1]},
        "weight_map": {"b": "model-00002-of-00002.safetensors", "a\u002e": "model-00001-of-00002.safetensors",
                       "c": "model-0000\u0031-of-00002.safetensors"},
        "more": [{}]
    } "#;
    let index = Index::open(text.as_bytes()).unwrap();
    let entries: Vec<_> = index.entries().map(|entry| (entry.name.to_string(), entry.file.to_string())).collect();
    let [first, second] = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    assert_eq!(entries, [("b", second), ("a.", first), ("c", first)].map(|(a, b)| (a.to_string(), b.to_string())));
    assert_eq!(index.tensor_count(), 3);
    assert_eq!(index.find("a.").unwrap(), first);
    assert_eq!(index.find(r"a\u002e").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(files_of(&index), [first, second]);
    for words in 0..3 {
        assert_eq!(index.files(&mut vec![0; words]).unwrap_err().kind(), ErrorKind::OutOfScratch);
    }
    assert_eq!(index.files(&mut [0; 9]).unwrap().len(), 2);

    assert_eq!(index.metadata().get("total_size").unwrap().as_u64(), Some(u64::MAX));
    assert!(matches!(index.metadata().get("total_parameters"), Some(Value::Decimal(text)) if text == "1.5"));
    assert_eq!(index.metadata().get("format").unwrap().as_text().unwrap(), "pt");
    let list: Vec<_> = index.metadata().get("x").unwrap().items().unwrap().collect();
    assert!(matches!((list[0].value, list[0].key), (Value::Null, None)));
    assert_eq!(list[1].value.as_i64(), Some(-1));

    // The map first, alone, and empty. The metadata is not an object.
    for (text, count) in [
        (r#"{"weight_map":{}}"#, 0),
        (r#"{"weight_map":{"a":"f"},"metadata":{}}"#, 1),
        (r#"{"\u0077eight_map":{"a":"f"},"metadata":null}"#, 1),
        (r#"{"metadata":[1],"weight_map":{"":"f"}}"#, 1),
        (r#"{"weight_map":{"b":"f","a":"f"},"a":"a key beside the map"}"#, 2),
    ] {
        let index = Index::open(text.as_bytes()).unwrap();
        let mut entries = index.entries();
        assert_eq!((index.tensor_count(), entries.by_ref().count() as u64), (count, count));
        assert!(entries.next().is_none() && entries.error().is_none()); // nothing follows the map
        assert!(index.metadata().next().is_none());
    }
}

#[test]
fn metadata_of_an_index_has_values_of_all_kinds() {
    let text = r#"{"weight_map":{},"metadata":{"a":true,"b":false,"c":null,"d":-0,"e":-18446744073709551615,
        "f":18446744073709551616,"g":1e999,"h":0,"i":"\"","j":{"k":[[],{}]},"l":0.1}}"#;
    let index = Index::open(text.as_bytes()).unwrap();
    fn walk(out: &mut String, mut attributes: Attributes<'_>) {
        for attribute in attributes.by_ref() {
            *out += &attribute.key.map_or(String::new(), |key| format!("{}=", key.as_text().unwrap()));
            match attribute.value {
                Value::Decimal(text) => *out += &format!("{text} "),
                Value::Integer(number) => *out += &format!("integer {number} "),
                value => match value.items() {
                    Some(items) => {
                        *out += &format!("{}( ", value.kind());
                        walk(out, items);
                        *out += ") ";
                    }
                    None => *out += &format!("{value:?} "),
                },
            }
        }
        assert_eq!(attributes.error(), None);
    }
    let mut out = String::new();
    walk(&mut out, index.metadata());
    assert_eq!(
        out,
        "a=Bool(true) b=Bool(false) c=Null d=-0 e=integer -18446744073709551615 f=18446744073709551616 g=1e999 \
         h=integer 0 i=Text(\"\\\"\") j=map( k=list( list( ) map( ) ) ) l=0.1 "
    );
}

#[test]
fn rejected_indices() {
    for file in [
        r"a\\b",
        r"..\\b",
        "C:x",
        "..",
        ".",
        "",
        r"\u002f",
        r"\u002e.",
        r"a\u0000",
        r"\u005c",
        "/a",
        "a/",
        "./",
        "a/.",
        "a/..",
        "../a",
        "a/../b",
        "./../a",
        r"a/\u002e./b",
        "//a",
        r"\u002fa",
        "/",
        "a/b/..",
        "../../a",
        "a//../../b",
    ] {
        let text = format!(r#"{{"weight_map":{{"a":"f","b":"{file}"}}}}"#);
        let (kind, item, at) = refused_index(&text);
        assert_eq!((kind, item), (ErrorKind::InvalidName, Part::Value), "{file}");
        assert!(text.ends_with(&format!("{file}\"}}}}")) && at.starts_with('"') && !at.starts_with("\"f"), "{at}");
        let message = Index::open(text.as_bytes()).unwrap_err().explain(text.as_bytes()).to_string();
        assert!(message.contains("the path of a file must stay in the folder"), "{message}");
    }
    for file in [
        "...", "..a", "a..", " ", "~", "a b", "\u{e9}", "C", "a/b", "./a", "./a/./b", "a//b", ".../a", "a/..b",
        ".a/b", "a/b../c",
    ] {
        let text = format!(r#"{{"weight_map":{{"a":"{file}"}}}}"#);
        assert_eq!(files_of(&Index::open(text.as_bytes()).unwrap()), [file]);
    }
    for (text, kind, item, at) in [
        ("", ErrorKind::UnexpectedType, Part::Header, ""),
        ("[]", ErrorKind::UnexpectedType, Part::Header, "[]"),
        ("{}", ErrorKind::MissingKey, Part::Tensors, "{}"),
        (r#"{"weight_map":{1:"f"}}"#, ErrorKind::Malformed, Part::Name, "1:\"f\"}}"),
        (r#"{"weight_map":{"a":"f" "b"}}"#, ErrorKind::Malformed, Part::Value, "\"b\"}}"),
        (r#"{"metadata":{}}"#, ErrorKind::MissingKey, Part::Tensors, "{\"metada"),
        (r#"{"weight_map":[]}"#, ErrorKind::UnexpectedType, Part::Tensors, "[]}"),
        (r#"{"weight_map":{}}}"#, ErrorKind::TrailingBytes, Part::Header, "}"),
        (r#"{"weight_map":{}"#, ErrorKind::Malformed, Part::Header, ""),
        (r#"{"weight_map":{"a":"f","a":"f"}}"#, ErrorKind::RepeatedName, Part::Name, "\"a\":\"f\"}"),
        (r#"{"weight_map":{"\u0061":"f","b":"f","a":"g"}}"#, ErrorKind::RepeatedName, Part::Name, "\"a\":\"g\"}"),
        (r#"{"weight_map":{},"weight\u005fmap":{}}"#, ErrorKind::RepeatedKey, Part::Key, "\"weight\\"),
        (r#"{"metadata":{},"weight_map":{},"metadata":1}"#, ErrorKind::RepeatedKey, Part::Key, "\"metadat"),
        (r#"{"metadata":1,"weight_map":{},"metadata":{}}"#, ErrorKind::RepeatedKey, Part::Key, "\"metadat"),
    ] {
        assert_eq!(refused_index(text), (kind, item, at), "{text}");
    }
    for (text, message) in [
        ("[]", "safetensors index: header: the text must be a JSON object [at byte 0]"),
        ("{}", "safetensors index: a required key is missing: \"weight_map\" [at byte 0]"),
        (
            r#"{"weight_map":{"a":"f","\u0061":"f"}}"#,
            "safetensors index: a tensor name appears twice: \"a\" [at byte 23]",
        ),
    ] {
        assert_eq!(Index::open(text.as_bytes()).unwrap_err().explain(text.as_bytes()).to_string(), message);
    }
}

#[test]
fn skips_map_values_that_are_not_files() {
    let text = r#"{"weight_map":{"b":{"a":"../x","b":[]},"c":"f","d":["g"],"b":1,"a":"e","e":null}}"#;
    let index = Index::open(text.as_bytes()).unwrap();
    let entries: Vec<_> = index.entries().map(|entry| entry.name.to_string()).collect();
    assert_eq!((entries, index.tensor_count()), (vec!["c".to_string(), "a".to_string()], 2));
    assert_eq!(files_of(&index), ["e", "f"]);
    assert_eq!(index.find("b").unwrap_err().kind(), ErrorKind::NotFound);
    assert!(index.check(&mut [0]).unwrap().is_empty());
}

#[test]
fn too_many_unsorted_names_of_an_index_need_memory() {
    let text = |names: &[String]| {
        let entries: Vec<_> = names.iter().map(|name| format!("\"{name}\":\"f\"")).collect();
        format!("{{\"weight_map\":{{{}}}}}", entries.join(",")).into_bytes()
    };
    for count in [1000, 3000] {
        let mut names: Vec<_> = (0..count).rev().map(|i| format!("{i:04}")).collect();
        let good = text(&names);
        let index = Index::open(&good).unwrap();
        let warnings: Vec<_> = index.warnings().iter().collect();
        assert_eq!(warnings, if count > 1024 { vec![Warning::NamesUnchecked] } else { vec![] });
        for words in [count / 8, 1000, 4000] {
            assert!(index.check(&mut vec![0; words]).unwrap().is_empty());
        }
        for words in [0, 1, count / 8 - 1] {
            assert_eq!(index.check(&mut vec![0; words]).unwrap_err().kind(), ErrorKind::OutOfScratch);
        }
        names.push(r"\u0030005".into());
        let bad = text(&names);
        let found = Index::open(&bad).and_then(|index| {
            assert!(count > 1024);
            index.check(&mut [0; 7]).unwrap_err();
            index.check(&mut [0; 4000])
        });
        let error = found.unwrap_err();
        assert_eq!((error.kind(), text_at(&bad, error.offset().unwrap())), (ErrorKind::RepeatedName, "\"\\u00300"));
    }
}

#[test]
fn sorted_names_of_an_index_need_no_memory() {
    let entries: Vec<_> = (0..1100).map(|i| format!("\"{i:04}\":\"f\"")).collect();
    let text = format!("{{\"weight_map\":{{{}}}}}", entries.join(","));
    assert!(Index::open(text.as_bytes()).unwrap().warnings().is_empty());
}

/// The value of a key beside the map may be nested as deeply as any other. The object around it counts.
#[test]
fn deep_values_beside_the_map_of_an_index() {
    let opened = |depth: usize| {
        let text = format!(r#"{{"x":{}{},"weight_map":{{}}}}"#, "[".repeat(depth), "]".repeat(depth));
        let found = Index::open(text.as_bytes()).map(|index| index.tensor_count());
        found.map_err(|error| (error.kind(), error.part(), error.offset()))
    };
    assert_eq!(opened(126), Ok(0));
    assert_eq!(opened(127), Err((ErrorKind::TooDeep, Part::Key, Some(5 + 126))));
}

/// An unknown field at the largest depth does not affect an index of the names.
#[test]
fn deep_fields_among_names() {
    let bytes = |depth: usize| {
        let deep = format!("\"x\":{}{},", "[".repeat(depth), "]".repeat(depth));
        file(&format!("{{{},{}}}", entry("a", 0, 1).replace("\"shape\"", &(deep + "\"shape\"")), entry("b", 1, 2)), 2)
    };
    let deepest = (1..200).take_while(|depth| File::open(&bytes(*depth)).is_ok()).last().unwrap();
    let bytes = bytes(deepest);
    let (file, mut words) = (File::open(&bytes).unwrap(), [0; 6]);
    assert_eq!(file.index(&mut words).unwrap().find("b").unwrap().index(), 1);
}

#[test]
fn a_damaged_index() {
    /// Opens an index and lists everything.
    fn open(text: &[u8]) -> bool {
        let index = match Index::open(text) {
            Ok(index) => index,
            Err(error) => {
                assert!(error.offset().is_some_and(|at| at <= text.len() as u64), "{error:?}");
                assert!(error.explain(text).to_string().len() > 10);
                return false;
            }
        };
        let entries: Vec<_> = index.entries().collect();
        assert_eq!(entries.len() as u64, index.tensor_count());
        for entry in entries {
            assert_eq!(index.find(&entry.name.to_string()).unwrap(), entry.file);
        }
        assert!(files_of(&index).is_sorted());
        for attribute in index.metadata() {
            assert!(!format!("{:?}", attribute.value).is_empty());
        }
        true
    }
    let text = br#"{"metadata":{"total_size":123,"x":["a",{"y":-1.5e3}]},
        "weight_map":{"a\u002eb":"m-1.st","a":"m-2.st","\ud83d\ude00":"m-1.st","":{}},"z":null}"#;
    assert!(open(text));
    for length in 0..text.len() {
        assert!(!open(&text[..length]), "{length}");
    }
    let mut random = Random(0x1de0_0000_5afe_7e45);
    let mut accepted = 0;
    for _ in 0..20_000 {
        let mut text = text.to_vec();
        for _ in 0..=random.below(3) {
            let (at, other) = (random.below(text.len()), random.below(text.len()));
            let byte = b"\"\\{}[]:,0.-eu/ \xff\x80\0"[random.below(18)];
            match random.below(6) {
                0 => text[at] = byte,
                1 => text.insert(at, byte),
                2 => drop(text.remove(at)),
                3 => text.swap(at, other),
                4 => {
                    let part = text[at.min(other)..at.max(other)].to_vec();
                    drop(text.splice(at..at, part));
                }
                _ => text[at] ^= 1 << random.below(8),
            }
        }
        accepted += usize::from(open(&text));
    }
    assert!((1000..19_000).contains(&accepted), "{accepted}");
}
