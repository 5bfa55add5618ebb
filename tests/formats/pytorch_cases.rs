//! PyTorch: rules of calls, archives and streams that one small file shows.
#![cfg(feature = "pytorch")]

use tenslice::{ErrorKind, File, Part, Source, Tensor, Warning};

use crate::pytorch::{MEMO, archive, archive_of, names, tensor, tensor_of_memo, text};
use crate::pytorch_rules::{
    ABOUT, Entry, HOOKS, MAGIC, PROTOCOL, WRONG, call, check_storages, item, list, outcome, seen, stream,
};
use crate::support::open_in_parts;

/// The message of an error says which rule the file breaks.
#[test]
fn messages_name_the_broken_rule() {
    let message = |bytes: &[u8]| File::open(bytes).unwrap_err().explain(bytes).to_string();
    let keys: Vec<String> = (0..8193).map(|key| key.to_string()).collect();
    let keys: Vec<&str> = keys.iter().map(|key| &**key).collect();
    let many = stream(&item("a", "Byte", 1), &list(&keys), &[]);
    let other = [b"\x80\x02K\x01.", &many[MAGIC.len()..]].concat();
    for (bytes, rule) in [
        (many, "the stream has more than 8192 storages"),
        (archive(b"}]K\x01s"), "a dictionary or a list is a key"),
        (other, "this is a pickle of Python, not a stream of torch.save: it begins with another number"),
    ] {
        let message = message(&bytes);
        assert!(message.contains(rule), "{message}");
    }
}

/// The hooks of a tensor are made by a class, not by a mapping of that class.
#[test]
fn hooks_are_made_by_a_class() {
    let opened = |index: u8| {
        let mut call = tensor_of_memo(b"");
        let place = call.len() - 5;
        assert_eq!(call[place..], *b"\x03)RtR");
        call[place] = index;
        let made = b"ccollections\nOrderedDict\n)Rq\x04h\x04";
        outcome(&[&b"("[..], MEMO, made, b"}(", &text("a"), &call, b"ut"].concat())
    };
    assert_eq!(opened(3), Ok(vec!["dense".into()]));
    assert_eq!(opened(4), Err((ErrorKind::UnexpectedType, Part::Value)));
}

/// The bytes of a number are no opcodes, also those before the end of a tuple.
#[test]
fn numbers_that_look_like_opcodes() {
    let (class, count): (&[u8], &[u8]) = (b"ctorch\nByteStorage\n", b"M\x53\x7d");
    let id = [&b"("[..], &text("storage"), class, &text("0"), &text("cpu"), count, b"tQ"].concat();
    let sizes: &[u8] = b"K\x02Kr\x86";
    let strides: &[u8] = b"\x8a\x03\0K\0Kr\x86\x94\x94\x94";
    let view = call("torch._utils\n_rebuild_tensor_v2", &[&id, b"K\0", sizes, strides, b"\x89", HOOKS]);
    let pickle = [b"\x80\x02}(", &text("a")[..], &view, b"u."].concat();
    let data = [0; 0x7d53];
    let bytes = archive_of(&[("p/data.pkl", &pickle), ("p/version", b"3\n"), ("p/data/0", &data)]);
    let all = seen(&bytes).unwrap();
    let (layout, dtype, shape, strides, extent) = &all[0];
    assert_eq!(
        (&**layout, *dtype, &shape[..], &strides[..]),
        ("strided", Some("u8"), &[2, 114][..], &[19200, 114][..])
    );
    assert_eq!(extent.map(|(_, length)| length), Some(0x7d53));
}

/// The byte before a tuple with a mark is not its first opcode, even if it would be the start of a number.
#[test]
fn numbers_before_marks() {
    let class = b"ctorch\nByteStorage\nq\x04";
    let id = [&b"(h\x01h\x04"[..], &text("0"), &text("cpu"), b"M\x53\x7dtQ"].concat();
    let (offset, sizes, strides) = (b"KK", b"(K\x01K\x01K\x01K\x02tqK", b"(K\x02K\x02K\x02K\x01t");
    let view = [&b"h\0("[..], &id, offset, sizes, strides, b"\x89h\x03)RtR"].concat();
    let pickle = [b"\x80\x02(", MEMO, class, b"}(", &text("a"), &view, b"ut."].concat();
    let data = [0; 0x7d53];
    let bytes = archive_of(&[("p/data.pkl", &pickle), ("p/version", b"3\n"), ("p/data/0", &data)]);
    let all = seen(&bytes).unwrap();
    assert_eq!((all.len(), &all[0].2[..]), (1, &[1, 1, 1, 2][..]));
}

/// A tensor behind another one has the same path with another key, if it is an item of the same mapping, and in no tuple.
#[test]
fn names_behind_other_names() {
    let tensor = tensor_of_memo(b"");
    let tree = |items: &[&[u8]]| [&b"("[..], MEMO, b"}(", &items.concat(), b"ut"].concat();
    let of = |items: &[&[u8]]| seen(&archive(&tree(items))).map(|seen| seen.len()).map_err(|(kind, ..)| kind);
    let item = |name: &str| [&text(name)[..], &tensor].concat();
    let mapping = [&text("k")[..], b"}(", &item("a"), b"u"].concat();
    assert_eq!(of(&[&item("k.z"), &mapping, &item("z")]), Ok(3));
    assert_eq!(of(&[&item("k.a"), &mapping, &item("z")]), Err(ErrorKind::RepeatedName));
    assert_eq!(of(&[&item("z"), &mapping, &item("z")]), Err(ErrorKind::RepeatedName));
    assert_eq!(of(&[&item("x"), &item("a"), b"\x85", &item("a.0")]), Err(ErrorKind::RepeatedName));
    assert_eq!(of(&[&item("x"), &item("a"), b"\x85", &item("a.1")]), Ok(3));
    // The names are the same when the tensors are listed.
    let listed = |items: &[&[u8]]| names(&tree(items)).join(" ");
    assert_eq!(listed(&[&item("x"), &item("a"), b"\x85", &item("b")]), "4.x 4.a.0 4.b");
    assert_eq!(listed(&[&item("x"), &item("a"), b"q\x09\x85q\x0a", &item("b")]), "4.x 4.a.0 4.b");
    assert_eq!(listed(&[&item("x"), &item("a"), b"\x85\x85", &item("b")]), "4.x 4.a.0.0 4.b");
    assert_eq!(listed(&[&item("x"), &item("a"), b"K\x07\x86", &item("b")]), "4.x 4.a.0 4.b");
    assert_eq!(listed(&[&item("x"), &item("a"), &tensor, b"\x86", &item("b")]), "4.x 4.a.0 4.a.1 4.b");
    assert_eq!(listed(&[&item("x"), &mapping, &item("z")]), "4.x 4.k.a 4.z");
}

/// The first tensor of a tuple without a mark is no value, also if its class was put into the memo long before.
#[test]
fn tuples_of_tensors_with_a_forgotten_class() {
    let class = b"ctorch\nByteStorage\nq\x04";
    let id = [&b"(h\x01h\x04"[..], &text("0"), &text("cpu"), b"K\x10tQ"].concat();
    let bytes = [&b"h\0("[..], &id, b"K\0K\x10\x85K\x01\x85\x89h\x03)RtR"].concat();
    let floats = tensor_of_memo(b"");
    let put = |index: u8| [&text(&format!("k{index}"))[..], &[b'q', index], b"N"].concat();
    let texts: Vec<u8> = (5..205).flat_map(put).collect();
    let item = |name: &str, value: &[u8]| [&text(name)[..], value].concat();
    for (tuple, expected) in [
        ([&bytes[..], &floats, b"\x86"].concat(), "5.x 5.y 5.a.0 5.a.1 5.z"),
        ([&bytes[..], &text("b"), &floats, b"\x87"].concat(), "5.x 5.y 5.a.0 5.a.2 5.z"),
        ([&bytes[..], b"\x85"].concat(), "5.x 5.y 5.a.0 5.z"),
        (bytes.clone(), "5.x 5.y 5.a 5.z"),
    ] {
        let items = [&item("x", &floats)[..], &texts, &item("y", &floats), &item("a", &tuple), &item("z", &floats)];
        let tree = [&b"("[..], MEMO, class, b"}(", &items.concat(), b"ut"].concat();
        assert_eq!(names(&tree).join(" "), expected);
    }
}

/// A tensor in a tuple without a mark is read, also where many objects are above many marks: here, in the arguments of a
/// function, where it has no name.
#[test]
fn a_tuple_below_many_objects() {
    let tuple = [&b"}("[..], &text("a"), &tensor(), b"\x85u"].concat();
    let lists = (0..32).fold(tuple, |inner, _| [&b"]("[..], &b"K\x01".repeat(130), &inner, b"e"].concat());
    assert_eq!(outcome(&call("mine\nmake", &[&lists])), Ok(vec![]));
}

/// The parts of a sparse tensor are in a tuple, not in what a function makes.
#[test]
fn sparse_parts_are_in_a_tuple() {
    let layout = [&b"ctorch.serialization\n_get_layout\n"[..], &text("torch.sparse_coo"), b"\x85R"].concat();
    let parts = [&tensor()[..], &tensor(), b"K\x04\x85"].concat();
    let sparse = |data: &[u8]| outcome(&call("torch._utils\n_rebuild_sparse_tensor", &[&layout, data]));
    assert_eq!(sparse(&[b"(", &parts[..], b"t"].concat()), Ok(vec!["torch.sparse_coo".into()]));
    assert_eq!(sparse(&call("mine\nmake", &[&parts])), Err(WRONG));
}

/// The ID of a storage has a class, and at most a sixth item, which is `None`.
#[test]
fn ids_of_storages() {
    let opened = |class: &[u8], rest: &[u8]| {
        let id = [&b"("[..], &text("storage"), class, &text("0"), &text("cpu"), b"K\x04", rest, b"tQ"].concat();
        outcome(&call("torch._utils\n_rebuild_tensor_v2", &[&id, b"K\0K\x04\x85K\x01\x85\x89", HOOKS]))
    };
    let class: &[u8] = b"ctorch\nFloatStorage\n";
    let wrong = Err((ErrorKind::UnexpectedType, Part::Component));
    assert_eq!(opened(class, b""), Ok(vec!["dense".into()]));
    assert_eq!(opened(class, b"N"), Ok(vec!["dense".into()]));
    for other in [&b"K\x01"[..], b"\x88", b")", b"X\x01\0\0\0a", b"NN"] {
        assert_eq!(opened(class, other), wrong, "{}", other.escape_ascii());
    }
    assert_eq!(opened(b"ctorch\nFloatStorage\n)R", b""), wrong);
    assert_eq!(opened(b"ctorch\nFloatStorage\n)\x81", b""), wrong);
}

/// A name that no tensor has is not found, in archives and in streams.
#[test]
fn names_that_no_tensor_has() {
    let tree = [&b"}("[..], &text("a"), &item("a", "Byte", 1), b"u"].concat();
    let stream = stream(&tree, &list(&["a"]), b"\x01\0\0\0\0\0\0\0\x07");
    let archive = archive(&[&b"}("[..], &text("a"), &tensor(), b"u"].concat());
    for bytes in [stream, archive] {
        let file = File::open(&bytes).unwrap();
        assert_eq!(file.find("a").unwrap().index(), 0);
        for name in ["b", "", "a.a", "CONSTANTS.c0"] {
            assert_eq!(file.find(name).unwrap_err().kind(), ErrorKind::NotFound, "{name}");
        }
    }
}

/// Names with the same hash differ, and no memory is needed to compare a few names.
#[test]
fn few_names_are_compared_when_opening() {
    // These two have the same hash. The hash of a very long name is not known.
    let equal = [text("060829"), tensor(), text("298174"), tensor()].concat();
    let long = [&text(&"x".repeat(600))[..], b"}(", &text("k"), &tensor(), &text("l"), &tensor(), b"u"].concat();
    let bytes = archive(&[&b"}("[..], &equal, &long, b"u"].concat());
    let file = File::open(&bytes).unwrap();
    assert_eq!((file.tensor_count(), file.warnings().is_empty()), (4, true));
    assert_eq!(file.check_length(), Some(0));
    assert!(file.check(&mut []).unwrap().is_empty());
}

/// Names that rise need no memory, even if entries do.
#[test]
fn memory_for_entries_alone() {
    let items: Vec<u8> = (0..1200).flat_map(|name| [text(&format!("{name:04}")), tensor()].concat()).collect();
    let pickle = [b"\x80\x02}(", &items[..], b"u."].concat();
    let more: Vec<String> = (0..1100).rev().map(|number| format!("p/x/{number}")).collect();
    let mut entries: Vec<Entry<'_>> = vec![("p/data.pkl", &pickle), ("p/version", b"3\n"), ("p/data/0", &[0; 16])];
    entries.extend(more.iter().map(|name| (&**name, &b"a"[..])));
    let bytes = archive_of(&entries);
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.tensor_count(), 1200);
    assert!(file.warnings().contains(Warning::NamesUnchecked));
    assert_eq!(file.check_length(), Some(1103));
}

/// A name occurs twice: in a mapping, and in one around another one. The error is at the second key.
#[test]
fn a_repeated_name_in_a_mapping() {
    let inner = [&text("a")[..], b"}(", &text("x"), &tensor(), b"u"].concat();
    let with = |name: &str| {
        let items = [&text("y")[..], &tensor(), &inner, &text(name), &tensor()].concat();
        archive(&[&b"}("[..], &items, b"u"].concat())
    };
    assert_eq!(seen(&with("z")).unwrap().len(), 3);
    let items = [text("y"), tensor(), text("b"), tensor(), text("y"), tensor()].concat();
    let flat = archive(&[&b"}("[..], &items, b"u"].concat());
    for bytes in [with("y"), flat] {
        let key = bytes.windows(6).rposition(|bytes| bytes == text("y")).unwrap();
        assert_eq!(seen(&bytes).unwrap_err(), (ErrorKind::RepeatedName, Part::Name, Some(key as u64)));
    }
}

/// A key has the name of a constant. The error is behind the constant, which has no key.
#[test]
fn a_key_with_the_name_of_a_constant() {
    let constants = [b"\x80\x02(", &tensor()[..], b"t."].concat();
    let opened = |name: &str| {
        let pickle = [b"\x80\x02}(", &text(name)[..], &tensor(), b"u."].concat();
        let entries: [Entry<'_>; 5] = [
            ("p/data.pkl", &pickle),
            ("p/constants.pkl", &constants),
            ("p/version", b"3\n"),
            ("p/data/0", &[0; 16]),
            ("p/constants/0", &[0; 16]),
        ];
        let bytes = archive_of(&entries);
        let start = bytes.windows(constants.len()).position(|bytes| bytes == constants).unwrap();
        (seen(&bytes).map(|seen| seen.len()), (start + constants.len() - 2) as u64)
    };
    assert_eq!(opened("0").0, Ok(2));
    assert_eq!(opened("CONSTANTS.c1").0, Ok(2));
    let (repeated, end) = opened("CONSTANTS.c0");
    assert_eq!(repeated, Err((ErrorKind::RepeatedName, Part::Name, Some(end))));
}

/// An error about a tensor of the memo that costs too much is behind that tensor.
#[test]
fn the_place_of_a_costly_tensor() {
    let alias = |number: usize| [&text(&format!("{number:02}"))[..], b"h\0"].concat();
    let aliases: Vec<u8> = (0..75).flat_map(alias).collect();
    let large = text(&"x".repeat(1 << 16));
    let bytes = archive(&[&b"}("[..], &text("a"), &large, &text("b"), &tensor(), b"q\0", &aliases, b"u"].concat());
    let (kind, part, at) = seen(&bytes).unwrap_err();
    assert_eq!((kind, part), (ErrorKind::TooDeep, Part::Name));
    let before = &bytes[..usize::try_from(at.unwrap()).unwrap()];
    assert!(before.ends_with(&alias(68)), "{}", before[before.len() - 20..].escape_ascii());
}

/// Names of entries have the signature of a record in them: storages are not found by looking for signatures.
#[test]
fn signatures_in_names_of_entries() {
    const COUNT: usize = 30;
    let contents: Vec<[u8; 16]> = (0..COUNT).map(|key| [key as u8; 16]).collect();
    let names: Vec<String> = (0..COUNT).map(|key| format!("p/data/{key}")).collect();
    let fakes: Vec<String> = (0..40).map(|number| format!("p/x/{number}PK\x01\x02PK\x01\x02")).collect();
    let mut entries: Vec<Entry<'_>> = vec![("p/data.pkl", b""), ("p/version", b"3\n")];
    entries.extend(names.iter().zip(&contents).map(|(name, content)| (&**name, &content[..])));
    entries.extend(fakes.iter().map(|name| (&**name, &[][..])));
    let falling: Vec<usize> = (0..COUNT).rev().collect();
    check_storages(&entries, &falling);
}

/// Tensors refer to many storages in the order of the directory, which is no order of keys: each record is read once.
#[test]
fn many_storages_in_their_own_order() {
    const COUNT: usize = 6300;
    let mut keys: Vec<usize> = (0..COUNT).collect();
    keys.swap(0, 1);
    let names: Vec<String> = keys.iter().map(|key| format!("p/data/{key}")).collect();
    let tensor = |key: &usize| {
        let key = key.to_string();
        let id = [&b"h\0((h\x01h\x02"[..], &text(&key), &text("cpu"), b"K\x04tQ"].concat();
        [&text(&key)[..], &id, b"K\0K\x04\x85K\x01\x85\x89h\x03)RtR"].concat()
    };
    let items: Vec<u8> = keys.iter().flat_map(tensor).collect();
    let pickle = [&b"\x80\x02("[..], MEMO, b"}(", &items, b"ut."].concat();
    let mut entries: Vec<Entry<'_>> = vec![("p/data.pkl", &pickle), ("p/version", b"3\n")];
    entries.extend(names.iter().map(|name| (&**name, &[0; 16][..])));
    let bytes = archive_of(&entries);
    assert_eq!(File::open(&bytes).map(|file| file.tensor_count()), Ok(COUNT as u64));
}

/// Tensors refer to two storages in turn, and many records are before the storages. The records that are read to find the
/// storages are counted: here, 256 times those of the directory, and 2^24.
#[test]
fn records_that_are_read_too_often() {
    const TENSORS: usize = 60_000;
    let others: Vec<String> = (0..300).map(|number| format!("p/x/{number}")).collect();
    let names: Vec<String> = (10..74).map(|key| format!("p/data/{key}")).collect();
    let tensor = |number: usize| {
        let key = if number & 1 == 0 { "10" } else { "73" };
        let id = [&b"h\0((h\x01h\x02"[..], &text(key), &text("cpu"), b"K\x04tQ"].concat();
        [&text(&format!("{number:05}"))[..], &id, b"K\0K\x04\x85K\x01\x85\x89h\x03)RtR"].concat()
    };
    let items: Vec<u8> = (0..TENSORS).flat_map(tensor).collect();
    let before = [&b"\x80\x02("[..], MEMO, b"}("].concat();
    let pickle = [&before[..], &items, b"ut."].concat();
    let mut entries: Vec<Entry<'_>> = vec![("p/data.pkl", &pickle), ("p/version", b"3\n")];
    entries.extend(others.iter().map(|name| (&**name, &[][..])));
    entries.extend(names.iter().map(|name| (&**name, &[0; 16][..])));
    let (kind, part, at) = seen(&archive_of(&entries)).unwrap_err();
    assert_eq!((kind, part), (ErrorKind::TooMany, Part::Entry));
    // The ID of the storage begins behind the name, the function and a mark.
    let in_items = at.unwrap() as usize - (30 + "p/data.pkl".len() + before.len());
    assert_eq!((in_items % tensor(0).len(), in_items / tensor(0).len()), (13, 54160));
}

/// The class of a storage, the width of its elements, and their number.
type Stored = (&'static str, u64, u16);
const BYTE: (&str, u64) = ("Byte", 1);
const SHORT: (&str, u64) = ("Short", 2);
const FLOAT: (&str, u64) = ("Float", 4);
const DOUBLE: (&str, u64) = ("Double", 8);
const COMPLEX: (&str, u64) = ("ComplexDouble", 16);

fn of((class, width): (&'static str, u64), elements: u16) -> Stored {
    (class, width, elements)
}

/// The offset and the length of the data of all tensors.
fn places(file: &File<'_>) -> Vec<(u64, u64)> {
    let extent = |tensor: Tensor<'_>| tensor.component("data").unwrap().extent();
    file.tensors().map(extent).map(|extent| (extent.offset, extent.length)).collect()
}

/// A stream of storages, whose data is `fill` again and again, and the places of their data. The pickle of the tree has at
/// least `length` bytes.
fn stream_of(storages: &[Stored], fill: [u8; 8], length: usize) -> (Vec<u8>, Vec<(u64, u64)>) {
    let (mut data, mut extents, mut items, mut keys) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (place, (class, width, elements)) in storages.iter().enumerate() {
        let (key, length) = (place.to_string(), u64::from(*elements) * width);
        data.extend(u64::from(*elements).to_le_bytes());
        extents.push((data.len() as u64, length));
        data.extend(fill.iter().cycle().take(length as usize));
        items.extend([text(&key), item(&key, class, *elements)].concat());
        keys.push(key);
    }
    let keys: Vec<&str> = keys.iter().map(|key| &**key).collect();
    // Version, the dictionary, the key and the value of a long text, and the end.
    let rest = length.saturating_sub(2 + 2 + items.len() + text("").len() * 2 + 2);
    items.extend([text(""), text(&"x".repeat(rest))].concat());
    let bytes = stream(&[b"}(", &items[..], b"u"].concat(), &list(&keys), &data);
    let start = (bytes.len() - data.len()) as u64;
    (bytes, extents.into_iter().map(|(at, length)| (start + at, length)).collect())
}

/// Bytes that do not look like the number of elements of a storage, and bytes that always do.
const FILLS: [[u8; 8]; 3] = [[7; 8], [0; 8], [1, 0, 0, 0, 0, 0, 0, 0]];

fn check_stream(storages: &[Stored]) {
    for fill in FILLS {
        let (bytes, expected) = stream_of(storages, fill, 0);
        let file = File::open(&bytes).unwrap_or_else(|error| panic!("{}", error.explain(&bytes[..])));
        assert_eq!(places(&file), expected, "{storages:?} {fill:?}");
    }
}

/// The place of a storage depends on all before it: a few with elements of another width, or of many widths.
#[test]
fn places_of_storages_in_streams() {
    check_stream(&[of(FLOAT, 3), of(FLOAT, 3), of(DOUBLE, 3), of(FLOAT, 3), of(SHORT, 3), of(FLOAT, 3)]);
    // The first one has a single element of the width that differs from that of most others.
    check_stream(&[of(FLOAT, 1), of(DOUBLE, 2), of(DOUBLE, 2), of(FLOAT, 2), of(FLOAT, 2)]);
    // Many widths, and more storages than are between two places that are kept.
    let classes = [BYTE, SHORT, FLOAT, DOUBLE, COMPLEX];
    let many: Vec<_> = (0..70).map(|place| of(classes[place * place % 5], 1 + (place % 4) as u16)).collect();
    check_stream(&many);
    // Half of them each, without elements or with one here and there.
    let halves: Vec<_> = (0..70).map(|place| of([FLOAT, SHORT][place % 2], (place * 5 % 17) as u16)).collect();
    check_stream(&halves);
}

/// Where a storage is does not depend on the bytes that are in memory: neither when a file is opened, nor later.
#[test]
fn places_of_storages_with_more_and_less_in_memory() {
    // The start of a file is always in memory, so the first storage is as long.
    let of_classes = |classes: &[(&'static str, u64)]| {
        let rest = classes.iter().cycle().zip(9..30).map(|(class, elements)| of(*class, elements));
        [of(BYTE, u16::MAX)].into_iter().chain(rest).collect::<Vec<_>>()
    };
    let (alike, mixed) = (of_classes(&[FLOAT]), of_classes(&[FLOAT, DOUBLE, SHORT]));
    for (storages, fill) in [&alike, &mixed].into_iter().flat_map(|storages| FILLS.map(|fill| (storages, fill))) {
        let (bytes, expected) = stream_of(storages, fill, 0);
        let mut parts = Source::new(bytes.len() as u64);
        let file = open_in_parts(&bytes, &[], &mut parts).unwrap();
        assert_eq!(places(&file), expected, "{fill:?}");
        let mut all = Source::new(bytes.len() as u64);
        all.add(0, &bytes).unwrap();
        assert_eq!(places(&file.with_source(&all).unwrap()), expected, "{fill:?}");
        let whole = File::open(&bytes).unwrap();
        assert_eq!(places(&whole.with_source(&parts).unwrap()), expected, "{fill:?}");
        // Without the numbers of elements, storages are not found.
        let mut start = Source::new(bytes.len() as u64);
        start.add(0, &bytes[..1 << 16]).unwrap();
        let without = whole.with_source(&start).unwrap();
        let error = without.tensors().nth(9).unwrap().component("data").map(|data| data.extent()).unwrap_err();
        assert_eq!((error.kind(), error.part()), (ErrorKind::NotInMemory, Part::Data), "{fill:?}");
    }
}

/// Where only the tree shows the places of storages, it is read for each tensor. For all tensors together, at most 32 times
/// its length plus 2^25 bytes are read.
#[test]
fn trees_that_are_read_too_often() {
    const TENSORS: usize = 64;
    const MOST: usize = 1 << 20; // 2^25 bytes, divided by the 32 tensors that are too many
    let classes = [FLOAT, DOUBLE, SHORT, BYTE];
    let storages: Vec<Stored> = (0..TENSORS).map(|place| of(classes[place % 4], 16)).collect();
    let (with_numbers, with_others) = (FILLS[2], FILLS[0]);
    let open = |length: usize, fill| {
        let (bytes, _) = stream_of(&storages, fill, length);
        File::open(&bytes).map(|file| file.tensor_count()).map_err(|error| {
            let message = error.explain(&bytes[..]).to_string();
            (error.kind(), error.part(), error.offset(), message)
        })
    };
    let at = (MAGIC.len() + PROTOCOL.len() + ABOUT.len()) as u64;
    assert_eq!(open(MOST, with_numbers), Ok(TENSORS as u64));
    assert_eq!(open(MOST + 1, with_others), Ok(TENSORS as u64));
    let (kind, part, offset, message) = open(MOST + 1, with_numbers).unwrap_err();
    assert_eq!((kind, part, offset), (ErrorKind::TooMany, Part::Data, Some(at)));
    assert!(message.contains("finding the data of a tensor takes reading the whole tree"), "{message}");
    assert!(message.contains("save the file again as an archive"), "{message}");
}

/// A list of keys that has something else is refused for that, however deep it is.
#[test]
fn deep_lists_of_keys() {
    let tree = item("a", "Byte", 1);
    let deep = [&b"]K\x01"[..], &b"K\x01".repeat(130), &[b'\x86'; 130], b"a"].concat();
    let start = (MAGIC.len() + PROTOCOL.len() + ABOUT.len() + 2 + tree.len() + 1) as u64;
    let refused = seen(&stream(&tree, &deep, b"\x01\0\0\0\0\0\0\0\x07")).unwrap_err();
    assert_eq!(refused, (ErrorKind::UnexpectedType, Part::Manifest, Some(start + 3)));
}
