//! PyTorch: single opcodes of pickles.
#![cfg(feature = "pytorch")]

use tenslice::{ErrorKind, File, Part};

use crate::pytorch::{MEMO, archive, archive_of, inside, names, tensor, tensor_of_memo, text};
use crate::pytorch_rules::seen;

/// The error of a file with this tree, or the number of its tensors.
fn outcome(tree: &[u8]) -> Result<usize, (ErrorKind, Part)> {
    seen(&archive(tree)).map(|seen| seen.len()).map_err(|(kind, part, _)| (kind, part))
}

/// Each opcode takes objects of its own kinds, as Python does where that can be told without calling anything.
#[test]
fn opcodes_take_what_they_are_for() {
    let wrong = Err((ErrorKind::UnexpectedType, Part::Value));
    let wrong_key = Err((ErrorKind::UnexpectedType, Part::Key));
    let malformed = Err((ErrorKind::Malformed, Part::Value));
    let unknown = Err((ErrorKind::WrongMarker, Part::Value));
    let count = Err((ErrorKind::CountsDiffer, Part::Value));
    let object: &[u8] = b"cmine\nNet\n)\x81";
    let with = |rest: &[u8]| [object, rest].concat();
    let id = [b"(", &text("storage")[..], b"ctorch\nFloatStorage\n", &text("0"), &text("cpu"), b"K\x04t"].concat();
    for (tree, expected) in [
        // Bytes, and sets.
        (b"\x96\x02\0\0\0\0\0\0\0ab".to_vec(), Ok(0)),
        (b"\x8f".to_vec(), Ok(0)),
        (b"\x8f(K\x01K\x02\x90".to_vec(), Ok(0)),
        (b"(K\x01K\x02\x91".to_vec(), Ok(0)),
        (b"(K\x01\x91(K\x02\x90".to_vec(), wrong),
        (b"\x8fK\x01a".to_vec(), wrong),
        (b"\x8f(K\x01e".to_vec(), wrong),
        (b"](K\x01\x90".to_vec(), wrong),
        (b"](K\x01e".to_vec(), Ok(0)),
        (b"}K\x01a".to_vec(), wrong),
        (b"K\x01K\x01a".to_vec(), wrong),
        // Objects may take anything: a class decides what they do.
        (with(b"K\x01a"), Ok(0)),
        (with(b"(K\x01e"), Ok(0)),
        (with(b"(K\x01\x90"), Ok(0)),
        (with(b"K\x01b"), Ok(0)),
        (b"]K\x01b".to_vec(), wrong),
        // Keys.
        (b"}K\x01K\x02s".to_vec(), Ok(0)),
        (b"}]K\x01s".to_vec(), wrong_key),
        (b"}}K\x01s".to_vec(), wrong_key),
        (b"}(]K\x01u".to_vec(), wrong_key),
        (b"}(K\x01u".to_vec(), count),
        (b"](K\x01K\x02u".to_vec(), wrong),
        (b"]K\x01K\x02s".to_vec(), wrong),
        // Calls.
        (b"cmine\nNet\n)}\x92".to_vec(), Ok(0)),
        (b"cmine\nNet\n)K\x01\x92".to_vec(), wrong),
        (b"cmine\nNet\n)(K\x01t\x92".to_vec(), wrong),
        (b"cmine\nNet\nK\x01\x81".to_vec(), wrong),
        (b"K\x01)\x81".to_vec(), wrong),
        (b"K\x01)R".to_vec(), wrong),
        (b"cmine\nmake\nK\x01R".to_vec(), wrong),
        ([&text("mine")[..], &text("Net"), b"\x93)\x81"].concat(), Ok(0)),
        ([&text("mine")[..], b"K\x01\x93"].concat(), wrong),
        ([b"K\x01", &text("Net")[..], b"\x93"].concat(), wrong),
        // The ID of a storage, before its opcode and from the memo.
        ([&id[..], b"Q"].concat(), Ok(0)),
        ([&b"]("[..], &id, b"q\x05h\x05Qe"].concat(), wrong),
        ([&b"](C\x07storageq\x05(h\x05"[..], &id[1 + text("storage").len()..], b"Qe"].concat(), wrong),
        ([&b"("[..], &text("module"), b"K\x01tQ"].concat(), Ok(0)),
        (b")Q".to_vec(), wrong),
        (b"(tQ".to_vec(), wrong),
        // Numbers in text.
        (b"I-12\n".to_vec(), Ok(0)),
        (b"I18446744073709551615\n".to_vec(), Ok(0)),
        (b"I000000000000000000001\n".to_vec(), malformed),
        (b"I1x\n".to_vec(), malformed),
        (b"I1:\n".to_vec(), malformed),
        (b"I-\n".to_vec(), malformed),
        (b"I\n".to_vec(), malformed),
        // Too few objects, and too many.
        (b"}u".to_vec(), malformed),
        (b"t".to_vec(), malformed),
        (b"\x85".to_vec(), malformed),
        (b"(\x85".to_vec(), malformed),
        (b"q\0".to_vec(), malformed),
        (b"(q\0".to_vec(), malformed),
        (b"K\x01K\x02".to_vec(), count),
        (b"K\x01(".to_vec(), count),
        (b"(".to_vec(), count),
        (b"".to_vec(), count),
        // Opcodes that are out of place, or unknown.
        (b"\x80\x02K\x01".to_vec(), unknown),
        (b"\xffK\x01".to_vec(), unknown),
        (b"\x95\x01\0\0\0\0\0\0\0K\x01".to_vec(), Ok(0)),
        (b"\x95\x03\0\0\0\0\0\0\0K\x01".to_vec(), Ok(0)),
        (b"\x95\x04\0\0\0\0\0\0\0K\x01".to_vec(), Err((ErrorKind::Truncated, Part::Value))),
        // The memo.
        (b"]q\x01h\x01a".to_vec(), Ok(0)),
        (b"](K\x01q\x01K\x02q\x01e".to_vec(), Err((ErrorKind::KeyOrder, Part::Value))),
        (b"h\0".to_vec(), Err((ErrorKind::MissingData, Part::Value))),
        (b"]r\xfe\xff\xff\xff".to_vec(), Ok(0)),
        (b"]r\xff\xff\xff\xff".to_vec(), Err((ErrorKind::KeyOrder, Part::Value))),
    ] {
        assert_eq!(outcome(&tree), expected, "{}", tree.escape_ascii());
    }
}

/// The indices of the memo rise, also in calls that are read in one piece.
#[test]
fn indices_of_the_memo_rise() {
    // With an index for the place of the storage, and one for the tensor.
    let piece = |place: u8, made: u8| [tensor_of_memo(&[b'q', place]), vec![b'q', made]].concat();
    let plain = |place: u8, made: u8| {
        let call = tensor();
        let storage = call.windows(7).position(|bytes| bytes == b"storage").unwrap() + 7;
        [&call[..storage], &[b'q', place], &call[storage..], &[b'q', made]].concat()
    };
    let order = Err((ErrorKind::KeyOrder, Part::Value));
    let with: [&dyn Fn(u8, u8) -> Vec<u8>; 2] = [&piece, &plain];
    for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let two = |first: (u8, u8), second: (u8, u8)| {
            let (first, second) = (with[a](first.0, first.1), with[b](second.0, second.1));
            outcome(&[&b"("[..], MEMO, b"}(", &text("a"), &first, &text("b"), &second, b"ut"].concat())
        };
        assert_eq!(two((5, 6), (7, 8)), Ok(2), "{a} {b}");
        for second in [(3, 9), (5, 9), (6, 9), (7, 7), (9, 8)] {
            assert_eq!(two((5, 6), second), order, "{a} {b} {second:?}");
        }
        assert_eq!(two((3, 6), (7, 8)), order, "{a} {b}");
    }
    // Two indices in one call that is read in one piece.
    for (first, second, expected) in [(7, 8, Ok(2)), (8, 7, order), (8, 8, order)] {
        let id = [&b"(h\x01h\x02"[..], &text("0"), &[b'q', first], &text("cpu"), &[b'q', second]].concat();
        let call = [&b"h\0("[..], &id, b"K\x04tQK\0K\x04\x85K\x01\x85\x89h\x03)RtR"].concat();
        let items = [&text("a")[..], &tensor_of_memo(b""), &text("b"), &call].concat();
        assert_eq!(outcome(&[&b"("[..], MEMO, b"}(", &items, b"ut"].concat()), expected, "{first} {second}");
    }
}

/// No key of a mapping is a container, however many items are behind it.
#[test]
fn keys_of_mappings_with_many_items() {
    let with = |first: &[u8]| outcome(&[b"}(", first, &b"K\x01N".repeat(40), b"u"].concat());
    assert_eq!(with(b"NN"), Ok(0));
    assert_eq!(with(b"N]"), Ok(0));
    for key in [b"]", b"}", b"\x8f"] {
        assert_eq!(with(&[key, &b"N"[..]].concat()), Err((ErrorKind::UnexpectedType, Part::Key)));
    }
}

/// Only the items of the metadata itself count, not those of a dictionary in it.
#[test]
fn metadata_in_metadata() {
    let call = tensor();
    let inner = [&b"}(N"[..], &text("conj"), b"\x88Nu"].concat();
    let metadata = [&b"}("[..], &text("a"), &inner, b"u"].concat();
    let tree = [&call[..call.len() - 2], &metadata, b"tR"].concat();
    assert_eq!(seen(&archive(&tree)).unwrap()[0].0, "dense");
}

/// The arguments of a call that makes a tensor, or a size, stand before the call: they are not from the memo.
#[test]
fn arguments_from_the_memo() {
    let wrong = Err((ErrorKind::UnexpectedType, Part::Value));
    let function = b"ctorch._utils\n_rebuild_tensor_v2\n";
    let arguments = &tensor()[function.len()..tensor().len() - 1];
    assert_eq!(outcome(&[b"(", arguments, b"q\0", function, b"h\0Rt"].concat()), wrong);
    assert_eq!(outcome(&[b"(", arguments, b"q\0", function, arguments, b"Rt"].concat()), Ok(1));
    assert_eq!(outcome(b"(K\x04\x85\x85q\0ctorch\nSize\nh\0Rt"), wrong);
    assert_eq!(outcome(b"(K\x04\x85\x85q\0ctorch\nSize\nK\x04\x85\x85Rt"), Ok(0));
}

/// The memo has 128 objects at once. So many are taken from it, again and again, and nothing is read again.
#[test]
fn objects_that_are_remembered() {
    let id = [&b"("[..], &text("storage"), b"ctorch\nFloatStorage\n", &text("0"), &text("cpu"), b"K\x04tQ"].concat();
    let opened = |count: u8| {
        let put: Vec<u8> = (0..count).flat_map(|index| [&id[..], &[b'q', index]].concat()).collect();
        let get: Vec<u8> = (0..count).flat_map(|index| [b'h', index]).collect();
        outcome(&[&b"]("[..], &put, &get, &get, b"e"].concat())
    };
    assert_eq!(opened(128), Ok(0));
    assert_eq!(opened(200), Err((ErrorKind::TooMany, Part::Value)));
}

/// An object that the memo does not remember is looked for once, and then remembered; the next search goes on behind it.
#[test]
fn objects_that_are_looked_for() {
    let again = [&b"("[..], &b"N".repeat(1000), b"K\x01\x85q\0", &b"h\0".repeat(300), b"t"].concat();
    assert_eq!(outcome(&again), Ok(0));
    let get: Vec<u8> = (0..2000_u32).flat_map(|index| [&b"j"[..], &index.to_le_bytes()].concat()).collect();
    assert_eq!(outcome(&[&b"("[..], &b"]\x94".repeat(2000), &get, b"t"].concat()), Ok(0));
    // An object that was itself taken from the memo is not found again.
    assert_eq!(outcome(b"]\x94h\0\x94h\x01\x87"), Err((ErrorKind::TooMany, Part::Value)));
}

/// Texts and names of the memo are looked for once for many values.
#[test]
fn values_with_names_from_the_memo() {
    let count = |tree: &[u8]| {
        let bytes = archive(tree);
        let file = File::open(&bytes).unwrap();
        let mut values = file.attributes();
        (values.by_ref().count(), values.error())
    };
    // Values themselves, in a list.
    let list = [&b"]("[..], &text("a"), b"q\0", &b"h\0".repeat(3000), b"e"].concat();
    assert_eq!(count(&list), (3001, None));
    // A function near the start, of many calls that are passed over at once.
    let calls = [&b"("[..], &b"N".repeat(1900), b"cmine\nmake\nq\0", &b"h\0K\x01\x85R".repeat(2000), b"Nt"];
    assert_eq!(count(&calls.concat()), (1901, None));
    // A key that is far from the start.
    let keys = [&b"("[..], &b"N".repeat(3000), &text("k"), b"q\0", &b"}h\0K\x01s".repeat(3000), b"t"];
    assert_eq!(count(&keys.concat()), (6001, None));
}

/// The stack keeps a place for as many objects behind each mark as an opcode may take later, and for two more.
#[test]
fn groups_in_groups() {
    // An object with ten others above it.
    let ten = [&b"N".repeat(11)[..], &[b'\x87'; 5]].concat();
    let groups = |count: usize, inner: &[u8]| {
        outcome(&[&[b"(", &b"N".repeat(14)[..]].concat().repeat(count), inner, &b"t".repeat(count)].concat())
    };
    assert_eq!(groups(38, &ten), Ok(0));
    assert_eq!(groups(40, &ten), Err((ErrorKind::TooDeep, Part::Value)));
}

/// Calls of functions that make tensors have at most ten arguments, and metadata has few items.
#[test]
fn calls_with_very_much() {
    let call = tensor();
    let [most, one_more] = [4, 5].map(|more| {
        let end = call.len() - 2;
        outcome(&[&call[..end], &vec![b'N'; more], b"tR"].concat())
    });
    assert_eq!(most, Err((ErrorKind::UnexpectedType, Part::Tensor)));
    assert_eq!(one_more, Err((ErrorKind::CountsDiffer, Part::Value)));
    let metadata = |count: usize| {
        let items: Vec<u8> = (0..count).flat_map(|key| [&text(&key.to_string())[..], b"N"].concat()).collect();
        outcome(&[&call[..call.len() - 2], b"}(", &items, b"utR"].concat())
    };
    assert_eq!(metadata(5), Ok(1));
    assert_eq!(metadata(50), Err((ErrorKind::TooMany, Part::Value)));
}

/// The modules and names of code may be texts of the memo.
#[test]
fn code_whose_name_is_in_the_memo() {
    let get = |index: u32| [&b"j"[..], &index.to_le_bytes()].concat();
    let (module, name, other) = (text("torch"), text("FloatStorage"), text("mine"));
    // Each text is put into the memo in another way: with an index of one byte or four, and without one.
    let texts = [&module[..], b"q\0", &name, b"r\x01\0\0\0", &other, b"\x94", &text("Net"), b"\x94"].concat();
    let calls = [
        [&get(0)[..], b"h\x01\x93"].concat(),
        [&get(2)[..], b"h\x03\x93"].concat(),
        [&get(2)[..], &name, b"\x93"].concat(),
        [&module[..], b"\x94", &get(1), b"\x93"].concat(),
        b"ctorch\nLongStorage\n".to_vec(),
    ];
    let tree = [&b"("[..], &texts, &calls.concat(), b"t"].concat();
    let bytes = archive(&tree);
    let file = File::open(&bytes).unwrap().as_pytorch().unwrap();
    let globals = |file: tenslice::pytorch::PytorchFile<'_>| -> Vec<(String, bool, u64)> {
        file.globals().map(|of| (format!("{}.{}", of.module, of.name), of.is_known, of.offset)).collect()
    };
    let start = bytes.windows(tree.len()).position(|bytes| bytes == tree).unwrap() + 1 + texts.len();
    let mut ends = calls.iter().scan(start, |at, call| {
        *at += call.len();
        Some(*at as u64 - 1)
    });
    let mut expected = [
        ("torch.FloatStorage", true),
        ("mine.Net", false),
        ("mine.FloatStorage", false),
        ("torch.FloatStorage", true),
        ("torch.LongStorage", true),
    ]
    .map(|(name, is_known)| (name.to_string(), is_known, ends.next().unwrap()));
    expected[4].2 -= calls[4].len() as u64 - 1;
    assert_eq!(globals(file), expected);
    // The constants of TorchScript are a pickle of their own, behind the first.
    let constants = b"\x80\x02(cmine\nConstant\nt.";
    let pickle = [b"\x80\x02", &tree[..], b"."].concat();
    let bytes = archive_of(&[("p/data.pkl", &pickle), ("p/constants.pkl", constants), ("p/version", b"3\n")]);
    let file = File::open(&bytes).unwrap().as_pytorch().unwrap();
    assert!(!file.is_stream());
    let all = globals(file);
    assert_eq!(all.len(), 6);
    let at = bytes.windows(constants.len()).position(|bytes| bytes == constants).unwrap() as u64;
    assert_eq!(all[5], ("mine.Constant".into(), false, at + 3));
    // Texts alone are no code.
    let bytes = archive(b"(X\x01\0\0\0aX\x01\0\0\0bt");
    let file = File::open(&bytes).unwrap().as_pytorch().unwrap();
    assert_eq!(globals(file), []);
}

/// Bytes, and texts of Python 2 that are not UTF-8, are attributes.
#[test]
fn attributes_of_bytes() {
    let items = [&text("a")[..], b"C\x02\xff\0", &text("b"), b"U\x01\xfe", &text("c"), b"U\x01x"].concat();
    let bytes = archive(&[&b"}("[..], &items, b"u"].concat());
    let file = File::open(&bytes).unwrap();
    let all = file.attributes();
    assert_eq!(["a", "b"].map(|key| all.get(key).unwrap().as_bytes().unwrap()), [&b"\xff\0"[..], b"\xfe"]);
    assert_eq!(all.get_str("c"), Some("x"));
}

/// Behind one key are more tensors than a place counts; and calls of constants are read as those of the tree.
#[test]
fn many_tensors_below_a_key() {
    let list = [&b"]("[..], &tensor().repeat(40), b"e"].concat();
    let tree = [&b"}("[..], &text("a"), &list, &text("b"), &list, &text("c"), &tensor(), b"u"].concat();
    let expected = ["a", "b"].iter().flat_map(|key| (0..40).map(move |place| format!("{key}.{place}")));
    assert_eq!(names(&tree), expected.chain(["c".into()]).collect::<Vec<_>>());

    let items: Vec<u8> = ["x", "y", "z"].iter().flat_map(|key| [text(key), tensor_of_memo(b"")].concat()).collect();
    let constants = [&b"\x80\x02("[..], MEMO, b"}(", &items, b"ut."].concat();
    let entries: [(&str, &[u8]); 4] = [
        ("p/data.pkl", b"\x80\x02}."),
        ("p/constants.pkl", &constants),
        ("p/version", b"3\n"),
        ("p/constants/0", &[7; 16]),
    ];
    let bytes = archive_of(&entries);
    let file = File::open(&bytes).unwrap_or_else(|error| panic!("{}", error.explain(&bytes[..])));
    let mut room = vec![0; file.index_length().unwrap()];
    let index = file.index(&mut room).unwrap();
    let all: Vec<String> = file.tensors().map(|tensor| tensor.name().to_string()).collect();
    assert_eq!(all, ["x", "y", "z"].map(|key| format!("CONSTANTS.c4.{key}")));
    for name in &all {
        for tensor in [file.find(name).unwrap(), index.find(name).unwrap()] {
            assert_eq!(tensor.component("data").unwrap().bytes().unwrap(), [7; 16]);
        }
    }
}

/// Tensors behind texts that are no keys: the items of a list and of a tuple, and keys behind a value.
#[test]
fn tensors_behind_texts() {
    let tensor = tensor_of_memo(b"");
    let items = [&tensor[..], &text("x"), &tensor, &text("y"), &tensor].concat();
    let list = |items: &[u8]| [&b"]("[..], items, b"e"].concat();
    let of = |tree: &[u8]| names(&[&b"("[..], MEMO, tree, b"t"].concat());
    assert_eq!(of(&list(&items)), ["4.0", "4.2", "4.4"]);
    assert_eq!(of(&[&b"("[..], &items, b"t"].concat()), ["4.0", "4.2", "4.4"]);
    let in_mapping = |value: &[u8]| [&b"}("[..], &text("a"), &tensor, &text("b"), value, b"u"].concat();
    assert_eq!(of(&in_mapping(&list(&items))), ["4.a", "4.b.0", "4.b.2", "4.b.4"]);
    // In tuples without a mark.
    let triple = [&text("x")[..], &tensor, &text("y"), b"\x87"].concat();
    assert_eq!(of(&in_mapping(&triple)), ["4.a", "4.b.1"]);
    let nested = [&b"K\x01"[..], &triple, b"\x86"].concat();
    assert_eq!(of(&in_mapping(&nested)), ["4.a", "4.b.1.1"]);
    // In the pairs of an `OrderedDict`.
    let mapping = [&b"}("[..], &text("a"), &tensor, &text("b"), &tensor, &text("c"), &tensor, b"u"].concat();
    let pair = list(&[&text("k")[..], &mapping].concat());
    let pairs = [&b"ccollections\nOrderedDict\n"[..], &list(&pair), b"\x85R"].concat();
    assert_eq!(of(&pairs), ["4.k.a", "4.k.b", "4.k.c"]);
    // The second text is a value, so the tensor behind it is a key.
    let keys =
        [&b"}("[..], &text("a"), &tensor, &text("b"), &text("x"), &tensor, b"K\x01", &text("c"), &tensor, b"u"];
    assert_eq!(of(&keys.concat()), ["4.a", "4.c"]);
}

/// The keys of the dictionaries in a module add nothing to a name, whatever their value is.
#[test]
fn tensors_in_place_of_the_dictionaries_of_a_module() {
    let state = |items: &[&str]| {
        let items: Vec<u8> = items.iter().flat_map(|key| [text(key), tensor_of_memo(b"")].concat()).collect();
        [&b"("[..], MEMO, b"cmine\nNet\n)\x81}(", &items, b"ubt"].concat()
    };
    assert_eq!(names(&state(&["a", "_buffers", "b"])), ["4.a", "4", "4.b"]);
    assert_eq!(names(&state(&["_buffers", "a", "b"])), ["4", "4.a", "4.b"]);
    assert_eq!(names(&state(&["a", "b", "_modules"])), ["4.a", "4.b", "4"]);
    assert_eq!(outcome(&state(&["a", "_buffers", "_modules"])), Err((ErrorKind::RepeatedName, Part::Name)));
    let buffers = [&b"}("[..], &text("a"), &tensor(), &text("b"), &tensor(), b"u"].concat();
    let module = [&b"cmine\nNet\n)\x81}("[..], &text("_buffers"), &buffers, &text("c"), &tensor(), b"ub"].concat();
    assert_eq!(names(&module), ["a", "b", "c"]);
}

/// Containers that names cannot be taken through hide the tensors below them, and no others.
#[test]
fn tensors_without_a_name() {
    let beside = |value: &[u8]| names(&[&b"}("[..], &text("a"), value, &text("b"), &tensor(), b"u"].concat());
    let tensor = tensor();
    for value in [
        // In a set, in a key, in what a function makes, in the state of what is no object.
        [&b"\x8f("[..], &tensor, b"\x90"].concat(),
        [&b"("[..], &tensor, b"\x91"].concat(),
        [&b"}("[..], &tensor, b"K\x01u"].concat(),
        [&b"}"[..], &tensor, b"K\x01s"].concat(),
        [&b"cmine\nmake\n("[..], &tensor, b"tR"].concat(),
        [&b"cmine\nmake\n"[..], &tensor, b"\x85R"].concat(),
        [&b"ctorch.jit._pickle\nbuild_tensor_from_id\n]"[..], &tensor, b"a\x85R"].concat(),
        [&b"cmine\nNet\n("[..], &tensor, b"t\x81"].concat(),
        [&b"cmine\nNet\n)\x81"[..], &tensor, b"b"].concat(),
        [&b"cmine\nNet\n)\x81("[..], &tensor, b"e"].concat(),
        [&b"ccollections\nOrderedDict\n)R"[..], &tensor, b"b"].concat(),
        [&b"cmine\nNet\n)"[..], &[b"}", &text("k")[..], &tensor, b"s"].concat(), b"\x92"].concat(),
        // Behind a tag of TorchScript, and as the tag.
        [&b"ctorch.jit._pickle\nrestore_type_tag\n("[..], &text("x"), &tensor, b"tR"].concat(),
    ] {
        assert_eq!(beside(&value), ["b"], "{}", value.escape_ascii());
    }
    let tagged = [&b"ctorch.jit._pickle\nrestore_type_tag\n("[..], &tensor, &text("tag"), b"tR"].concat();
    assert_eq!(beside(&tagged), ["a", "b"]);
    // Tuples of a single item, each in the next: as many as have a name.
    let wrapped = |depth: usize| [&tensor[..], &vec![b'\x85'; depth]].concat();
    for depth in [1, 3, 7] {
        assert_eq!(names(&wrapped(depth)), [vec!["0"; depth].join(".")], "{depth}");
    }
    for depth in [20, 40] {
        let deep = outcome(&wrapped(depth));
        assert!(matches!(deep, Ok(1) | Err((ErrorKind::TooDeep, _))), "{depth}: {deep:?}");
    }
    // Containers in containers: all have names, or the file is refused.
    for depth in [30, 60, 100, 200, 400, 600] {
        let lists = [&vec![b']'; depth][..], &tensor, &vec![b'a'; depth]].concat();
        let groups = [&b"]("[..]].concat().repeat(depth);
        let groups = [&groups[..], &tensor, &vec![b'e'; depth]].concat();
        let tuples = [&vec![b'('; depth][..], &tensor, &vec![b't'; depth]].concat();
        for tree in [lists, groups, tuples, inside(depth, tensor.clone())] {
            match outcome(&tree) {
                Ok(count) => assert_eq!(names(&tree).len(), count, "{depth}"),
                Err(error) => assert_eq!(error.0, ErrorKind::TooDeep, "{depth}"),
            }
        }
    }
}
