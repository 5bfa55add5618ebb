//! PyTorch: single rules of calls, archives and streams, in files built byte by byte.
#![cfg(feature = "pytorch")]

use tenslice::{ErrorKind, File, Format, Part, Warning};

use crate::pytorch::{MEMO, archive, archive_listed, archive_of, tensor, tensor_of_memo, text};

/// A tensor: its layout, dtype, shape, strides, and the extent of its data.
pub(super) type Seen = (String, Option<&'static str>, Vec<u64>, Vec<u64>, Option<(u64, u64)>);
/// An entry of an archive: its name and its bytes.
pub(super) type Entry<'a> = (&'a str, &'a [u8]);
/// A broken rule, and its offset in the file.
pub(super) type Broken = (ErrorKind, Part, Option<u64>);

fn broken(error: tenslice::Error) -> Broken {
    (error.kind(), error.part(), error.offset())
}

/// Opens a file, and describes all tensors. The message of an error names the format.
pub(super) fn seen(bytes: &[u8]) -> Result<Vec<Seen>, Broken> {
    let file = File::open(bytes).map_err(|error| {
        let text = error.explain(bytes).to_string();
        assert!(text.starts_with("pytorch: "), "{text}");
        broken(error)
    })?;
    assert_eq!(file.format(), Format::Pytorch);
    let mut tensors = file.tensors();
    let of = |tensor: tenslice::Tensor<'_>| {
        let mut room = [0; 64];
        let strides = tensor.strides(&mut room).map(|strides| strides.to_vec()).unwrap_or_default();
        let extent = tensor.component("data").ok().map(|data| (data.extent().offset, data.extent().length));
        let dtype = tensor.dtype().map(|dtype| dtype.name());
        (tensor.layout_name().to_string(), dtype, tensor.shape().iter().collect(), strides, extent)
    };
    let all = tensors.by_ref().map(of).collect();
    assert_eq!(tensors.error(), None);
    Ok(all)
}

/// The kind and the part of the error, or the layouts of the tensors.
pub(super) fn outcome(tree: &[u8]) -> Result<Vec<String>, (ErrorKind, Part)> {
    let seen = seen(&archive(tree)).map_err(|(kind, part, _)| (kind, part))?;
    Ok(seen.into_iter().map(|(layout, ..)| layout).collect())
}

pub(super) const WRONG: (ErrorKind, Part) = (ErrorKind::UnexpectedType, Part::Tensor);
pub(super) const HOOKS: &[u8] = b"ccollections\nOrderedDict\n)R";

/// A storage of `count` elements: the only storage of [`archive`] has 16 bytes.
fn storage(class: &str, count: u8) -> Vec<u8> {
    [&b"("[..], &text("storage"), class.as_bytes(), &text("0"), &text("cpu"), &[b'K', count], b"tQ"].concat()
}

pub(super) fn call(function: &str, arguments: &[&[u8]]) -> Vec<u8> {
    [b"c", function.as_bytes(), b"\n(", &arguments.concat(), b"tR"].concat()
}

/// A call in a mapping is read in one piece, and any other by a machine. Both accept the same calls, and read the same.
#[test]
fn calls_in_mappings_and_in_lists_are_the_same() {
    let pieces: [&[u8]; 19] = [
        b"ctorch._utils\n_rebuild_tensor_v2\n",
        b"(",
        b"(",
        b"X\x07\0\0\0storage",
        b"ctorch\nFloatStorage\n",
        b"X\x01\0\0\x000",
        b"X\x03\0\0\0cpu",
        b"K\x04",
        b"t",
        b"Q",
        b"K\x01",
        b"K\x02\x85",
        b"K\x01\x85",
        b"\x89",
        b"ccollections\nOrderedDict\n",
        b")",
        b"R",
        b"t",
        b"R",
    ];
    // Objects of the memo: five of the above, and of other kinds.
    let memo: Vec<u8> = [
        pieces[0],
        pieces[3],
        pieces[4],
        pieces[5],
        pieces[6],
        pieces[14],
        b"K\x04",
        b"K\x02\x85",
        b")",
        b"\x89",
        b"N",
    ]
    .iter()
    .zip(0_u8..)
    .flat_map(|(object, index)| [object, &[b'q', index][..]].concat())
    .collect();
    let mut others: Vec<Vec<u8>> = (0..11).map(|index| vec![b'h', index]).collect();
    let plain: [&[u8]; 19] = [
        b"",
        b"N",
        b"\x88",
        b"K\x01",
        b"K\0",
        b"M\0\x01",
        b"\x8a\x01\xff",
        b"I01\n",
        b"I2\n",
        b"X\x01\0\0\0a",
        b"]",
        b")",
        b"}",
        b"t",
        b"R",
        b"Q",
        b"C\x01a",
        b"ctorch\nLongStorage\n",
        b"(K\x02K\x01t",
    ];
    others.extend(plain.map(<[u8]>::to_vec));
    others.push(b"q\x20".to_vec());
    // The same call with names and texts of the memo, as all calls but the first have them.
    let mut shared = pieces;
    for (place, get) in [(0, b"h\0"), (3, b"h\x01"), (4, b"h\x02"), (5, b"h\x03"), (6, b"h\x04"), (14, b"h\x05")] {
        shared[place] = get;
    }
    let mut counts = [0; 3];
    let places = [pieces, shared].into_iter().flat_map(|pieces| (0..pieces.len()).map(move |place| (pieces, place)));
    for (call, place) in places {
        let piece = call[place];
        for other in others.iter().cloned().chain([[piece, piece].concat(), [piece, &b"q\x20"[..]].concat()]) {
            let changed = [&call[..place].concat()[..], &other, &call[place + 1..].concat()].concat();
            // The call behind another one, which the mapping has with and without words of the memo.
            for before in [&pieces.concat(), &shared.concat()] {
                let with = |opened: &[u8], closed: &[u8]| {
                    let items = [&text("a")[..], before, &text("b"), &changed].concat();
                    let pickle = [&b"\x80\x02("[..], &memo, opened, &items, closed, b"t."].concat();
                    let entries: [Entry<'_>; 4] = [
                        ("p/data.pkl", &pickle),
                        ("p/version", b"3\n"),
                        ("p/data/0", &[0; 16]),
                        ("p/data/ctorch\nFloatStorage\n", &[0; 16]), // no text
                    ];
                    seen(&archive_of(&entries))
                };
                let (mapping, list) = (with(b"}(", b"u"), with(b"](", b"e"));
                let what = format!("{place} {}", other.escape_ascii());
                match (mapping, list) {
                    (Ok(mapping), Ok(list)) => {
                        assert_eq!(mapping, list, "{what}");
                        counts[0] += 1;
                    }
                    // A mapping has rules of its own: about its keys, and their number.
                    (Err(mapping), Ok(_)) => {
                        assert!(matches!(mapping.1, Part::Value | Part::Key), "{what}: {mapping:?}");
                        counts[1] += 1;
                    }
                    (Err(mapping), Err(list)) => {
                        assert!(mapping == list || mapping.1 == Part::Value, "{what}: {mapping:?} {list:?}");
                        counts[2] += 1;
                    }
                    (Ok(_), Err(list)) => panic!("{what}: {list:?}"),
                }
            }
        }
    }
    assert!(counts.iter().all(|count| *count > 5), "{counts:?}");
}

/// Each function takes arguments of these kinds and this number.
#[test]
fn arguments_of_functions() {
    let view: &[u8] = b"K\0K\x04\x85K\x01\x85";
    let (float, untyped) = (storage("ctorch\nFloatStorage\n", 4), storage("ctorch.storage\nUntypedStorage\n", 16));
    let quantized = storage("ctorch\nQInt8Storage\n", 16);
    let dense: Result<Vec<String>, _> = Ok(vec!["dense".into()]);
    let layout = |name: &str| Ok(vec![name.to_string()]);
    let (one, two, three) =
        ("torch._utils\n_rebuild_tensor", "torch._utils\n_rebuild_tensor_v2", "torch._utils\n_rebuild_tensor_v3");
    let (flag, none, number): (&[u8], &[u8], &[u8]) = (b"\x89", b"N", b"K\x01");
    let dtype: &[u8] = b"ctorch\nint8\n";
    for (function, arguments, expected) in [
        (one, &[&float[..], view][..], dense.clone()),
        (one, &[&float, b"K\0K\x04\x85"], Err(WRONG)),
        (one, &[&float, view, flag], Err(WRONG)),
        (two, &[&float, view, flag, HOOKS], dense.clone()),
        (two, &[&float, view, flag], Err(WRONG)),
        (two, &[&float, view, flag, HOOKS, none], dense.clone()),
        (two, &[&float, view, flag, HOOKS, number], Err(WRONG)),
        (two, &[&float, view, flag, HOOKS, none, none], Err(WRONG)),
        (two, &[&float, view, none, HOOKS], Err(WRONG)),
        (two, &[&untyped, view, flag, HOOKS], Err(WRONG)),
        (two, &[&quantized, view, flag, HOOKS], Err(WRONG)),
        (two, &[none, view, flag, HOOKS], Err(WRONG)),
        // No elements, beyond the storage.
        (two, &[&float, b"K\x64K\0\x85K\x01\x85", flag, HOOKS], dense.clone()),
        (two, &[&float, b"K\x64K\x01\x85K\x01\x85", flag, HOOKS], Err((ErrorKind::OutOfPlace, Part::Data))),
        (two, &[&float, b"NK\x04\x85K\x01\x85", flag, HOOKS], Err(WRONG)),
        (two, &[&float, b"K\0NK\x01\x85", flag, HOOKS], Err(WRONG)),
        (two, &[&float, b"K\0K\x04\x85N", flag, HOOKS], Err(WRONG)),
        (two, &[&float, b"K\0K\x04\x85I01\n\x85", flag, HOOKS], Err(WRONG)),
        (three, &[&untyped, view, flag, HOOKS, dtype], dense.clone()),
        (three, &[&untyped, view, flag, HOOKS, dtype, none], dense.clone()),
        (three, &[&untyped, view, flag, HOOKS, dtype, none, none], Err(WRONG)),
        (three, &[&untyped, view, flag, HOOKS], Err(WRONG)),
        (three, &[&untyped, view, flag, HOOKS, none], Err(WRONG)),
        (three, &[&untyped, view, flag, HOOKS, b"cmine\nint8\n"], Err(WRONG)),
        (three, &[&untyped, view, flag, HOOKS, number], Err(WRONG)),
        (three, &[&untyped, view, none, HOOKS, dtype], Err(WRONG)),
        (three, &[&float, view, flag, HOOKS, dtype], Err(WRONG)),
        ("torch._utils\n_rebuild_qtensor", &[&quantized, view, b")", flag, HOOKS], layout("torch.quantized")),
        ("torch._utils\n_rebuild_qtensor", &[&quantized, view, none, flag, HOOKS], Err(WRONG)),
        ("torch._utils\n_rebuild_qtensor", &[&untyped, view, b")", flag, dtype], Err(WRONG)),
        ("torch._utils\n_rebuild_qtensor", &[&quantized, view, b")", flag], Err(WRONG)),
        ("torch._utils\n_rebuild_qtensor", &[&quantized, view, b")", flag, HOOKS, none], Err(WRONG)),
        ("torch._utils\n_rebuild_parameter", &[&tensor(), flag, HOOKS], dense.clone()),
        ("torch._utils\n_rebuild_parameter", &[&tensor(), none, HOOKS], Err(WRONG)),
        ("torch._utils\n_rebuild_parameter", &[none, flag, HOOKS], Err(WRONG)),
        ("torch._utils\n_rebuild_parameter", &[&tensor(), flag], Err(WRONG)),
        ("torch._utils\n_rebuild_parameter", &[&tensor(), flag, HOOKS, none], Err(WRONG)),
        ("torch._utils\n_rebuild_parameter_with_state", &[&tensor(), flag, HOOKS, none], dense.clone()),
        ("torch._utils\n_rebuild_parameter_with_state", &[&tensor(), none, HOOKS, none], Err(WRONG)),
        ("torch._utils\n_rebuild_parameter_with_state", &[none, flag, HOOKS, none], Err(WRONG)),
        ("torch._utils\n_rebuild_parameter_with_state", &[&tensor(), flag, HOOKS], Err(WRONG)),
        (
            "torch._utils\n_rebuild_meta_tensor_no_storage",
            &[dtype, b"K\x02\x85", b"K\x01\x85", flag],
            layout("torch.meta"),
        ),
        ("torch._utils\n_rebuild_meta_tensor_no_storage", &[dtype, none, b"K\x01\x85", flag], Err(WRONG)),
        ("torch._utils\n_rebuild_meta_tensor_no_storage", &[dtype], Err(WRONG)),
        ("torch._utils\n_rebuild_wrapper_subclass", &[number, dtype, b"K\x02\x85"], layout("torch.wrapper_subclass")),
        ("torch._utils\n_rebuild_wrapper_subclass", &[number, b"K\x02\x85"], Err(WRONG)),
    ] {
        let tree = call(function, arguments);
        // Bare, and as the value of a key.
        assert_eq!(outcome(&tree), expected, "{}", tree.escape_ascii());
        let item = [&b"}"[..], &text("w"), &tree, b"s"].concat();
        assert_eq!(outcome(&item), expected, "{}", tree.escape_ascii());
    }
    // Sizes of a tensor without data.
    let sizes = |sizes: &[u8]| {
        let tree = call("torch._utils\n_rebuild_meta_tensor_no_storage", &[dtype, sizes]);
        seen(&archive(&tree)).map(|seen| seen[0].2.clone()).map_err(|(kind, part, _)| (kind, part))
    };
    assert_eq!(sizes(b"ctorch\nSize\nK\x02K\x03\x86\x85R"), Ok(vec![2, 3]));
    assert_eq!(sizes(b"ctorch\nSize\nK\x02K\x03\x86R"), Err(WRONG));
    assert_eq!(sizes(b"ctorch\nSize\nctorch\nSize\nK\x02\x85\x85R\x85R"), Err(WRONG));
    assert_eq!(sizes(b"ctorch\nSize\n)R"), Err(WRONG));
    assert_eq!(sizes(b"(K\x02q\0K\x03q\x01t"), Ok(vec![2, 3]));
    assert_eq!(sizes(b"K\x02X\x01\0\0\x003\x86"), Err(WRONG));
    assert_eq!(sizes(b"\x8a\x01\xff\x85"), Err((ErrorKind::NegativeLength, Part::Shape)));
    assert_eq!(sizes(b"\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\0\x85"), Ok(vec![u64::MAX]));
    assert_eq!(sizes(b"\x8a\x09\0\0\0\0\0\0\0\0\x01\x85"), Err((ErrorKind::ShapeOverflow, Part::Shape)));
}

/// A subclass is made by a function of another class, from a tuple.
#[test]
fn tensors_of_subclasses() {
    let plain: &[u8] = b"ctorch._utils\n_rebuild_tensor_v2\n";
    let arguments = [&storage("ctorch\nFloatStorage\n", 4)[..], b"K\0K\x04\x85K\x01\x85\x89", HOOKS].concat();
    let (tuple, list) = ([b"(", &arguments[..], b"t"].concat(), [b"](", &arguments[..], b"e"].concat());
    let from = |function: &[u8], class: &[u8], arguments: &[u8]| {
        outcome(&call("torch._tensor\n_rebuild_from_type_v2", &[function, class, arguments, b"N"]))
    };
    let layout = |name: &str| Ok(vec![name.to_string()]);
    for class in [&b"ctorch\nTensor\n"[..], b"ctorch.nn.parameter\nParameter\n", b"ctorch.nn.parameter\nBuffer\n"] {
        assert_eq!(from(plain, class, &tuple), layout("dense"));
    }
    assert_eq!(from(plain, b"cmine\nTensor\n", &tuple), layout("torch.subclass"));
    assert_eq!(from(plain, b"ctorch\nTensor\n", &list), Err(WRONG));
    // Another function makes an object from the arguments.
    let made = call("mine\nmake", &[&arguments]);
    assert_eq!(from(plain, b"ctorch\nTensor\n", &made), Err(WRONG));
    assert_eq!(from(plain, b"N", &tuple), Err(WRONG));
    assert_eq!(from(b"cmine\nmake\n", b"ctorch\nTensor\n", &tuple), Err(WRONG));
    assert_eq!(from(b"N", b"ctorch\nTensor\n", &tuple), Err(WRONG));
    let short = call("torch._tensor\n_rebuild_from_type_v2", &[plain, b"ctorch\nTensor\n", &tuple]);
    assert_eq!(outcome(&short), Err(WRONG));
    // Functions in functions.
    let around = |depth: usize| {
        (0..depth).fold(tensor(), |inner, _| call("torch._utils\n_rebuild_parameter", &[&inner, b"\x88", HOOKS]))
    };
    assert_eq!(outcome(&around(4)), layout("dense"));
    assert_eq!(outcome(&around(5)), Err((ErrorKind::TooDeep, Part::Tensor)));
}

/// The metadata of a tensor may state that its values are the conjugates or the negatives of its bytes.
#[test]
fn metadata() {
    let with = |items: &[&[u8]]| {
        let metadata = [&b"}("[..], &items.concat(), b"u"].concat();
        let view: &[u8] = b"K\0K\x04\x85K\x01\x85\x89";
        let float = storage("ctorch\nFloatStorage\n", 4);
        let layouts = outcome(&call("torch._utils\n_rebuild_tensor_v2", &[&float, view, HOOKS, &metadata]));
        layouts.map(|layouts| layouts.concat())
    };
    let (conj, neg) = (&text("conj")[..], &text("neg")[..]);
    for (items, expected) in [
        (&[conj, b"\x88"][..], Ok("torch.conj")),
        (&[conj, b"\x89"], Ok("dense")),
        (&[neg, b"\x88"], Ok("torch.neg")),
        (&[neg, b"\x89"], Ok("dense")),
        (&[neg, b"I01\n"], Ok("torch.neg")),
        (&[neg, b"I00\n"], Ok("dense")),
        (&[conj, b"I01\n"], Ok("torch.conj")),
        (&[conj, b"I00\n"], Ok("dense")),
        (&[conj, b"\x88", neg, b"\x88"], Ok("torch.conj")),
        (&[neg, b"\x88", conj, b"\x88"], Ok("torch.conj")),
        (&[neg, b"\x88", conj, b"\x89"], Ok("torch.neg")),
        (&[b"C\x04conj", b"\x88"], Ok("dense")),
        (&[b"C\x03neg", b"\x88"], Ok("dense")),
        (&[b"C\x03neg", b"N"], Ok("dense")),
        (&[conj, b"N"], Err(WRONG)),
        (&[neg, b"K\x01"], Err(WRONG)),
        (&[&text("other"), b"K\x01"], Ok("dense")),
        (&[&text("other"), b"\x88"], Ok("dense")),
    ] {
        assert_eq!(with(items), expected.map(str::to_string), "{}", items.concat().escape_ascii());
    }
}

/// A sparse tensor has a layout, and a tuple of its parts and its sizes.
#[test]
fn sparse_tensors() {
    let sparse = |layout: &[u8], data: &[u8]| {
        outcome(&call("torch._utils\n_rebuild_sparse_tensor", &[layout, data])).map(|layouts| layouts.concat())
    };
    let named = |name: &str| [&b"ctorch.serialization\n_get_layout\n"[..], &text(name), b"\x85R"].concat();
    let data = |parts: usize, sizes: &[u8]| [b"(", &tensor().repeat(parts)[..], sizes, b"t"].concat();
    let sizes: &[u8] = b"K\x04\x85";
    for (name, parts, most) in [
        ("torch.sparse_coo", 2, 1),
        ("torch.sparse_csr", 3, 0),
        ("torch.sparse_csc", 3, 0),
        ("torch.sparse_bsr", 3, 0),
        ("torch.sparse_bsc", 3, 0),
    ] {
        let of = |parts: usize, rest: &[u8]| sparse(&named(name), &data(parts, &[sizes, rest].concat()));
        assert_eq!(of(parts, b""), Ok(name.into()), "{name}");
        assert_eq!(of(parts - 1, b""), Err(WRONG), "{name}");
        assert_eq!(of(parts + 1, b""), Err(WRONG), "{name}");
        assert_eq!(of(parts, b"\x88"), if most == 1 { Ok(name.into()) } else { Err(WRONG) }, "{name}");
        assert_eq!(of(parts, b"\x88\x88"), Err(WRONG), "{name}");
        assert_eq!(sparse(&named(name), &data(parts, b"")), Err(WRONG), "{name}");
        assert_eq!(sparse(&named(name), &data(parts, b"N")), Err(WRONG), "{name}");
        let mixed = [b"(", &tensor().repeat(parts - 1)[..], b"N", sizes, b"t"].concat();
        assert_eq!(sparse(&named(name), &mixed), Err(WRONG), "{name}");
    }
    let coo = data(2, sizes);
    assert_eq!(sparse(&named("torch.sparse"), &coo), Err(WRONG));
    assert_eq!(sparse(&text("torch.sparse_coo"), &coo), Err(WRONG));
    assert_eq!(sparse(b"ctorch.serialization\n_get_layout\nC\x10torch.sparse_coo\x85R", &coo), Err(WRONG));
    assert_eq!(sparse(&named("torch.sparse_coo"), b"N"), Err(WRONG));
    assert_eq!(
        sparse(&named("torch.sparse_coo"), &[b"](", &tensor().repeat(2)[..], sizes, b"e"].concat()),
        Err(WRONG)
    );
    let more = call("torch._utils\n_rebuild_sparse_tensor", &[&named("torch.sparse_coo"), &coo, b"N"]);
    assert_eq!(outcome(&more), Err(WRONG));
}

/// The bytes of the numbers of a file with `storages`, each with its number in all of its bytes. The tensor of a key has
/// the name of the key.
pub(super) fn check_storages(entries: &[Entry<'_>], keys: &[usize]) {
    let item = |key: &usize| {
        let name = text(&key.to_string());
        let id = [&b"("[..], &text("storage"), b"ctorch\nFloatStorage\n", &name, &text("cpu"), b"K\x04tQ"].concat();
        [&name[..], &call("torch._utils\n_rebuild_tensor_v2", &[&id, b"K\0K\x04\x85K\x01\x85\x89", HOOKS])].concat()
    };
    let items: Vec<u8> = keys.iter().flat_map(item).collect();
    let pickle = [b"\x80\x02}(", &items[..], b"u."].concat();
    let entries: Vec<Entry<'_>> = entries
        .iter()
        .map(|(name, content)| (*name, if *name == "p/data.pkl" { &pickle } else { *content }))
        .collect();
    let what: Vec<&str> = entries.iter().map(|(name, _)| *name).collect();
    let bytes = archive_of(&entries);
    let file = File::open(&bytes).unwrap_or_else(|error| panic!("{what:?}: {}", error.explain(&bytes[..])));
    assert_eq!(file.tensor_count(), keys.len() as u64);
    for tensor in &file {
        let key: u8 = tensor.name().to_string().parse().unwrap();
        for tensor in [tensor, file.find(&key.to_string()).unwrap()] {
            assert_eq!(tensor.component("data").unwrap().bytes().unwrap(), [key; 16], "{what:?}");
        }
    }
}

/// Storages are found in a directory in any order, with other entries anywhere.
#[test]
fn storages_in_directories_of_any_order() {
    const COUNT: usize = 30;
    let contents: Vec<[u8; 16]> = (0..COUNT).map(|key| [key as u8; 16]).collect();
    let names: Vec<String> = (0..COUNT).map(|key| format!("p/data/{key}")).collect();
    let storage = |key: usize| (&*names[key], &contents[key][..]);
    let others: [Entry<'_>; 3] = [("p/data.pkl", b""), ("p/version", b"3\n"), ("p/byteorder", b"little")];
    let numbers: Vec<usize> = (0..COUNT).collect();
    let falling: Vec<usize> = (0..COUNT).rev().collect();
    let mut texts = numbers.clone();
    texts.sort_by_key(usize::to_string);
    let mixed: Vec<usize> = (0..COUNT).map(|key| key * 7 % COUNT).collect();
    let mut swapped = texts.clone();
    swapped.swap(20, 21);
    let orders = [&numbers, &falling, &texts, &mixed, &swapped];
    for order in orders {
        for place in [0, 1, 10, 15, 16, 29, 30] {
            // All others at one place, and one of them there.
            let mut entries: Vec<Entry<'_>> = order.iter().map(|key| storage(*key)).collect();
            entries.splice(place..place, others);
            for keys in orders {
                check_storages(&entries, keys);
            }
            let mut entries: Vec<Entry<'_>> = order.iter().map(|key| storage(*key)).collect();
            entries.insert(place, others[1]);
            let ends = [&others[..1], &entries, &others[2..]].concat();
            orders.iter().for_each(|keys| check_storages(&ends, keys));
        }
    }
    // An entry between storages, which are in order besides.
    for (count, place) in (2..12).flat_map(|count| (1..count).map(move |place| (count, place))) {
        let mut entries: Vec<Entry<'_>> = numbers[..count].iter().map(|key| storage(*key)).collect();
        entries.insert(place, others[1]);
        let entries = [&others[..1], &entries].concat();
        for key in 0..count {
            check_storages(&entries, &[key]);
        }
    }
    // A record that is longer than those of storages.
    let long = format!("p/x/{}", "n".repeat(1000));
    let entries: Vec<Entry<'_>> = numbers.iter().map(|key| storage(*key)).collect();
    for place in [0, 10, 30] {
        let mut entries = [&entries[..place], &[(&*long, &b""[..])], &entries[place..]].concat();
        entries.extend(others);
        orders.iter().for_each(|keys| check_storages(&entries, keys));
    }
    // Names that have the signature of a record in them, behind the storages and before.
    let fakes: Vec<String> = (0..40).map(|number| format!("p/x/{number}PK\x01\x02PK\x01\x02")).collect();
    let fakes: Vec<Entry<'_>> = fakes.iter().map(|name| (&**name, &[][..])).collect();
    let entries: Vec<Entry<'_>> = numbers.iter().map(|key| storage(*key)).collect();
    for entries in [[&others[..], &entries, &fakes].concat(), [&others[..], &fakes, &entries].concat()] {
        orders.iter().for_each(|keys| check_storages(&entries, keys));
    }
}

/// An archive has a tree and a version, and the tree has storages of its own length.
#[test]
fn entries_that_must_be_there() {
    let pickle = [&b"\x80\x02"[..], &tensor(), b"."].concat();
    let (tree, version): (Entry<'_>, Entry<'_>) = (("p/data.pkl", &pickle), ("p/version", b"3\n"));
    let data: Entry<'_> = ("p/data/0", &[0; 16]);
    let of = |entries: &[Entry<'_>]| {
        seen(&archive_of(entries)).map(|seen| seen.len()).map_err(|(kind, part, _)| (kind, part))
    };
    assert_eq!(of(&[tree, version, data]), Ok(1));
    assert_eq!(of(&[tree, data]), Err((ErrorKind::MissingData, Part::Version)));
    assert_eq!(of(&[tree, version]), Err((ErrorKind::MissingData, Part::Data)));
    assert_eq!(of(&[tree, version, ("p/data/00", &[0; 16])]), Err((ErrorKind::MissingData, Part::Data)));
    assert_eq!(of(&[tree, version, ("p/data/0", &[0; 15])]), Err((ErrorKind::SizeMismatch, Part::Length)));
    assert_eq!(of(&[tree, version, ("p/data/0", &[0; 17])]), Err((ErrorKind::SizeMismatch, Part::Length)));
    assert_eq!(of(&[tree, version, data, ("q/a", b"")]), Err((ErrorKind::InvalidName, Part::Name)));
    assert_eq!(of(&[tree, version, data, ("a", b"")]), Err((ErrorKind::InvalidName, Part::Name)));
    assert_eq!(
        of(&[tree, version, data, ("p/byteorder", b"small")]),
        Err((ErrorKind::InvalidByteOrder, Part::ByteOrder))
    );
    for (text, is_known) in
        [("1", true), ("10\n", true), ("11", false), ("0", false), ("", false), ("3\n\n", false), ("3a", false)]
    {
        let expected = if is_known { Ok(1) } else { Err((ErrorKind::UnsupportedVersion, Part::Version)) };
        assert_eq!(of(&[tree, ("p/version", text.as_bytes()), data]), expected, "{text:?}");
    }
    // With an array as its first entry, an archive is NPZ, whatever follows. Without a tree in a folder, it is no checkpoint.
    let array = crate::support::fixture("npy/dt_be_f4.npy");
    let format = |entries: &[Entry<'_>]| {
        File::open(&archive_of(entries)).map_or_else(|error| error.format(), |file| file.format())
    };
    assert_eq!(format(&[("a.npy", &array), tree, version, data]), Format::Npz);
    assert_eq!(format(&[("p/q/data.pkl", &pickle), ("p/version", b"3\n")]), Format::Zip);
    assert_eq!(format(&[version, data, tree]), Format::Pytorch);
}

pub(super) const MAGIC: &[u8] = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.";
pub(super) const PROTOCOL: &[u8] = b"\x80\x02M\xe9\x03.";
pub(super) const ABOUT: &[u8] = b"\x80\x02}X\x0d\0\0\0little_endian\x88s.";

/// A stream with this tree, list of keys and data.
pub(super) fn stream(tree: &[u8], keys: &[u8], data: &[u8]) -> Vec<u8> {
    [MAGIC, PROTOCOL, ABOUT, b"\x80\x02", tree, b".\x80\x02", keys, b".", data].concat()
}

/// A tensor of a stream.
pub(super) fn item(key: &str, class: &str, count: u16) -> Vec<u8> {
    let count = [b"M", &count.to_le_bytes()[..]].concat();
    let class = ["ctorch\n", class, "Storage\n"].concat();
    let id = [&b"("[..], &text("storage"), class.as_bytes(), &text(key), &text("cpu"), &count, b"NtQ"].concat();
    call("torch._utils\n_rebuild_tensor_v2", &[&id, b"K\0", &count, b"\x85K\x01\x85\x89", HOOKS])
}

/// A list of texts.
pub(super) fn list(keys: &[&str]) -> Vec<u8> {
    [&b"]("[..], &keys.iter().flat_map(|key| text(key)).collect::<Vec<u8>>(), b"e"].concat()
}

fn bytes(elements: &[u8]) -> Vec<u8> {
    [&(elements.len() as u64).to_le_bytes()[..], elements].concat()
}

/// Padding behind an archive is a warning.
#[test]
fn padding_after_an_archive() {
    let plain = archive(&tensor());
    assert!(File::open(&plain).unwrap().warnings().is_empty());
    let padded = [&plain[..], &[0; 5]].concat();
    assert_eq!(File::open(&padded).unwrap().warnings().iter().collect::<Vec<_>>(), [Warning::TrailingBytes]);
}

/// The pickles before the tree state the magic, the protocol and the order of bytes.
#[test]
fn heads_of_streams() {
    let rest = stream(&item("a", "Byte", 3), &list(&["a"]), &bytes(&[7; 3]))
        [MAGIC.len() + PROTOCOL.len() + ABOUT.len()..]
        .to_vec();
    let of = |magic: &[u8], protocol: &[u8], about: &[u8]| {
        seen(&[magic, protocol, about, &rest].concat()).map(|seen| seen.len())
    };
    let (second, third) = (MAGIC.len() as u64, (MAGIC.len() + PROTOCOL.len()) as u64);
    assert_eq!(of(MAGIC, PROTOCOL, ABOUT), Ok(1));
    assert!(matches!(
        of(b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x1a.", PROTOCOL, ABOUT),
        Err((ErrorKind::UnsupportedFormat, ..))
    ));
    let version = Err((ErrorKind::UnsupportedVersion, Part::Version, Some(second)));
    assert_eq!(of(MAGIC, b"\x80\x02M\xea\x03.", ABOUT), version);
    assert_eq!(of(MAGIC, b"\x80\x02N.", ABOUT), version);
    let header = Err((ErrorKind::UnexpectedType, Part::Header, Some(third)));
    assert_eq!(of(MAGIC, PROTOCOL, b"\x80\x02]."), header);
    let big = Err((ErrorKind::InvalidByteOrder, Part::ByteOrder, Some(third)));
    for (pairs, expected) in [
        (&[&text("little_endian")[..], b"\x89"][..], big),
        (&[&text("little_endian"), b"I00\n"], big),
        (&[&text("little_endian"), b"I01\n"], Ok(1)),
        (&[&text("little_endian"), b"I0\n"], Ok(1)),
        (&[&text("little_endian"), b"K\0"], Ok(1)),
        (&[&text("little_endian"), b"N"], Ok(1)),
        (&[&text("big_endian"), b"\x89"], Ok(1)),
        (&[&text("little_endian"), b"\x89", &text("a"), b"\x88"], big),
        (&[&text("a"), b"\x88", &text("little_endian"), b"\x89"], big),
        (&[], Ok(1)),
    ] {
        let about = [&b"\x80\x02}("[..], &pairs.concat(), b"u."].concat();
        assert_eq!(of(MAGIC, PROTOCOL, &about), expected, "{}", about.escape_ascii());
    }
}

/// The list of keys consists of texts, which differ. Each has a storage, and each storage is in the list.
#[test]
fn keys_of_streams() {
    let tree = |keys: &[&str]| {
        [&b"("[..], &keys.iter().flat_map(|key| item(key, "Byte", 1)).collect::<Vec<u8>>(), b"t"].concat()
    };
    let of = |tree: &[u8], keys: &[u8]| seen(&stream(tree, keys, &bytes(&[7]).repeat(8))).map(|seen| seen.len());
    let data = |count: usize| bytes(&[7]).repeat(count);
    let before = |tree: &[u8]| (MAGIC.len() + PROTOCOL.len() + ABOUT.len() + 2 + tree.len() + 1) as u64;
    let abc = tree(&["a", "b", "c"]);
    for keys in [["a", "b", "c"], ["c", "b", "a"], ["b", "a", "c"]] {
        assert_eq!(seen(&stream(&abc, &list(&keys), &data(3))).map(|seen| seen.len()), Ok(3));
    }
    let at = before(&abc);
    for keys in [["a", "a", "b"], ["b", "a", "b"], ["b", "a", "a"]] {
        assert_eq!(of(&abc, &list(&keys)), Err((ErrorKind::RepeatedKey, Part::Key, Some(at))), "{keys:?}");
    }
    assert_eq!(of(&tree(&["a", "b"]), &list(&["a", "b", "c"])).unwrap_err().0, ErrorKind::UnclaimedBytes);
    let missing = of(&abc, &list(&["a", "b"])).unwrap_err();
    assert_eq!((missing.0, missing.1), (ErrorKind::MissingData, Part::Data));
    let wrong = |item: u64| Err((ErrorKind::UnexpectedType, Part::Manifest, Some(at + item)));
    assert_eq!(of(&abc, b"(X\x01\0\0\0aX\x01\0\0\0bX\x01\0\0\0ct"), wrong(0));
    assert_eq!(of(&abc, b"](X\x01\0\0\0aX\x01\0\0\0bK\x01e"), wrong(16));
    assert_eq!(of(&abc, b"](X\x01\0\0\0aq\0h\0h\0e"), wrong(9));
    assert_eq!(of(&abc, b"](X\x01\0\0\0aX\x01\0\0\0b]e"), wrong(16));
    assert_eq!(of(&abc, b"](]X\x01\0\0\0aX\x01\0\0\0bX\x01\0\0\0ce"), wrong(4));
    // A list, also if there are no keys.
    assert_eq!(of(b"}", b"]"), Ok(0));
    for no_list in [b")", b"}", b"N"] {
        let expected = Err((ErrorKind::UnexpectedType, Part::Manifest, Some(before(b"}"))));
        assert_eq!(of(b"}", no_list), expected, "{}", no_list.escape_ascii());
    }
    // At most 8192.
    let many: Vec<String> = (0..8193).map(|key| key.to_string()).collect();
    let many: Vec<&str> = many.iter().map(|key| &**key).collect();
    assert_eq!(of(&abc, &list(&many)), Err((ErrorKind::TooMany, Part::Key, Some(at))));
    assert_eq!(of(&abc, &list(&many[1..])).unwrap_err().0, ErrorKind::MissingData);
    // Two references to a storage, of which both must be there in all of their items.
    let two = |a: &[u8], b: &[u8]| {
        let tree = [&b"("[..], a, b, b"t"].concat();
        let opened = seen(&stream(&tree, &list(&["a"]), &bytes(&[7; 4]))).map(|seen| seen.len());
        opened.map_err(|(kind, part, _)| (kind, part))
    };
    let byte = item("a", "Byte", 4);
    assert_eq!(two(&byte, &byte), Ok(2));
    assert_eq!(two(&byte, &item("a", "Char", 4)), Ok(2));
    assert_eq!(two(&byte, &item("a", "Short", 2)), Err((ErrorKind::SizeMismatch, Part::Length)));
    assert_eq!(two(&byte, &item("a", "Byte", 3)), Err((ErrorKind::SizeMismatch, Part::Length)));
    let none = byte.windows(3).position(|bytes| bytes == b"NtQ").unwrap();
    let short = [&byte[..none], &byte[none + 1..]].concat();
    assert_eq!(two(&byte, &short), Err((ErrorKind::CountsDiffer, Part::Component)));
    assert_eq!(two(&short, &byte), Err((ErrorKind::CountsDiffer, Part::Component)));
}

/// A storage is behind all those before it in the list, whose elements may differ in width.
#[test]
fn storages_of_streams() {
    let classes = [("Byte", 1), ("Short", 2), ("Float", 4), ("Double", 8), ("ComplexDouble", 16)];
    let check = |count: usize, step: usize, class: &dyn Fn(usize) -> usize, elements: &dyn Fn(usize) -> u16| {
        let key = |place: usize| (place * step % count).to_string();
        let (mut data, mut offsets, mut items) = (Vec::new(), Vec::new(), Vec::new());
        for place in 0..count {
            let ((class, width), elements) = (classes[class(place)], elements(place));
            data.extend(u64::from(elements).to_le_bytes());
            offsets.push((data.len() as u64, u64::from(elements) * width));
            data.extend(vec![7; usize::from(elements) * width as usize]);
            items.extend([text(&key(place)), item(&key(place), class, elements)].concat());
        }
        let keys: Vec<String> = (0..count).map(key).collect();
        let keys = list(&keys.iter().map(|key| &**key).collect::<Vec<_>>());
        let mut file = stream(&[b"}(", &items[..], b"u"].concat(), &keys, &data);
        let start = (file.len() - data.len()) as u64;
        let check = |file: &File<'_>| {
            assert_eq!(file.tensor_count(), count as u64);
            for (tensor, (offset, length)) in file.tensors().zip(&offsets) {
                let extent = tensor.component("data").unwrap().extent();
                let expected = if *length == 0 { 0 } else { start + offset };
                assert_eq!(
                    (extent.length, if *length == 0 { 0 } else { extent.offset }),
                    (*length, expected),
                    "{}",
                    tensor.name()
                );
            }
        };
        let opened = File::open(&file).unwrap();
        assert!(opened.warnings().is_empty());
        check(&opened);
        // Bytes that belong to nothing, and a byte that is missing.
        file.push(0);
        let padded = File::open(&file).unwrap();
        assert!(padded.warnings().contains(Warning::TrailingBytes));
        check(&padded);
        file.truncate(file.len() - 2);
        let error = File::open(&file).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::OutOfFile | ErrorKind::Truncated), "{error}");
    };
    let one = |_: usize| 1;
    for count in [1, 2, 17, 70] {
        let step = if count % 7 == 0 { 11 } else { 7 };
        check(count, step, &|_| 2, &one);
        check(count, step, &|place| place % 5, &|place| (place % 4) as u16);
        for others in 0..5 {
            // The last ones differ from most.
            let class = |place: usize| if place + others >= count { 4 } else { 2 };
            check(count, 1, &class, &|_| 3);
            check(count, step, &class, &|place| 1 + (place % 2) as u16);
            let class = |place: usize| if place < others { place } else { 3 };
            check(count, step, &class, &one);
            check(count, step, &class, &|place| (place % 3) as u16);
        }
    }
    check(150, 7, &|place| place * place % 5, &|place| (place % 5) as u16);
    // A storage of bytes.
    let id =
        [&b"("[..], &text("storage"), b"ctorch.storage\nUntypedStorage\n", &text("a"), &text("cpu"), b"K\x03NtQ"];
    let arguments = [&id.concat()[..], b"K\0K\x03\x85K\x01\x85\x89", HOOKS, b"ctorch\nint8\n"];
    let tree = call("torch._utils\n_rebuild_tensor_v3", &arguments);
    assert_eq!(seen(&stream(&tree, &list(&["a"]), &bytes(&[7; 3]))).map(|seen| seen.len()), Ok(1));
    let short = seen(&stream(&tree, &list(&["a"]), &bytes(&[7; 2]))).map_err(|(kind, part, _)| (kind, part));
    assert_eq!(short.map(|seen| seen.len()), Err((ErrorKind::SizeMismatch, Part::Length)));
}

/// Lists items with these names.
fn named(names: &[String]) -> Vec<u8> {
    let items: Vec<u8> = names.iter().flat_map(|name| [text(name), tensor()].concat()).collect();
    archive(&[b"}(", &items[..], b"u"].concat())
}

/// A repeated name is found when the file is opened, if there are up to 1024. The names of more are compared with memory of
/// the caller, which has room for an eighth of them at least.
#[test]
fn repeated_names() {
    let repeated = |kind: &Broken| (kind.0, kind.1) == (ErrorKind::RepeatedName, Part::Name);
    // The offset of the second key.
    let place = |bytes: &[u8], name: &str| {
        let name = text(name);
        bytes.windows(name.len()).rposition(|bytes| bytes == name).unwrap() as u64
    };
    let names = |count: usize| -> Vec<String> { (0..count).rev().map(|number| format!("w{number:04}")).collect() };
    let mut some = names(20);
    assert_eq!(seen(&named(&some)).unwrap().len(), 20);
    some[17] = some[3].clone();
    let bytes = named(&some);
    let error = seen(&bytes).unwrap_err();
    assert!(repeated(&error));
    assert_eq!(error.2, Some(place(&bytes, &some[17])));

    const MANY: usize = 1200;
    let all = names(MANY);
    let bytes = named(&all);
    let file = File::open(&bytes).unwrap();
    assert!(file.warnings().contains(Warning::NamesUnchecked));
    assert_eq!(file.check_length(), Some(MANY));
    for words in [MANY / 8, MANY / 8 + 1, MANY / 2, MANY, MANY + 1] {
        assert!(file.check(&mut vec![0; words]).unwrap().is_empty(), "{words}");
    }
    assert_eq!(file.check(&mut [0; MANY / 8 - 1]).unwrap_err().kind(), ErrorKind::OutOfScratch);
    for (first, second) in [(0, 1), (5, 1199), (1198, 1199), (149, 150), (150, 299), (100, 700)] {
        let mut all = all.clone();
        all[second] = all[first].clone();
        let bytes = named(&all);
        let file = File::open(&bytes).unwrap();
        for words in [MANY / 8, MANY] {
            let error = broken(file.check(&mut vec![0; words]).unwrap_err());
            assert!(repeated(&error), "{first} {second}: {error:?}");
            assert_eq!(error.2, Some(place(&bytes, &all[second])), "{first} {second}");
        }
    }
    // The offset is that of a key in the mapping that most tensors are in, or that their mappings are in.
    let items = |names: &[&str], value: &[u8]| -> Vec<u8> {
        let items: Vec<u8> = names.iter().flat_map(|name| [&text(name)[..], value].concat()).collect();
        [&b"}("[..], &items, b"u"].concat()
    };
    let inner = items(&["outer"], &items(&["key", "b", "key"], &tensor()));
    let outer = items(&["key", "b", "c", "key"], &items(&["inner"], &tensor()));
    for tree in [inner, outer] {
        let bytes = archive(&tree);
        let error = seen(&bytes).unwrap_err();
        assert!(repeated(&error));
        assert_eq!(error.2, Some(place(&bytes, "key")), "{}", tree.escape_ascii());
    }
    // A key with a dot is the same name as two keys.
    let nested = [&b"}("[..], &text("a"), b"}(", &text("k"), &tensor(), b"u", &text("a.k"), &tensor(), b"u"].concat();
    assert!(repeated(&seen(&archive(&nested)).unwrap_err()));
    // The first of two repetitions.
    let mut all = all;
    (all[700], all[1000]) = (all[600].clone(), all[0].clone());
    let bytes = named(&all);
    let file = File::open(&bytes).unwrap();
    for words in [MANY / 8, MANY / 4, MANY] {
        let error = broken(file.check(&mut vec![0; words]).unwrap_err());
        assert_eq!(error.2, Some(place(&bytes, &all[700])), "{words}");
    }
}

/// A mapping whose key occurs twice, between others: calls in one piece do not hide it, and neither do those behind them.
#[test]
fn repeated_names_in_two_mappings() {
    let piece = tensor_of_memo(b"");
    let of = |mappings: &[(&str, &str, &[u8])]| {
        let mapping = |(outer, inner, tensor): &(&str, &str, &[u8])| {
            [&text(outer)[..], b"}(", &text(inner), tensor, b"u"].concat()
        };
        let all: Vec<u8> = mappings.iter().flat_map(mapping).collect();
        seen(&archive(&[&b"("[..], MEMO, b"}(", &all, b"ut"].concat())).map(|seen| seen.len())
    };
    let repeated = |opened: Result<usize, Broken>| {
        let error = opened.unwrap_err();
        assert_eq!((error.0, error.1), (ErrorKind::RepeatedName, Part::Name));
    };
    let machine = tensor();
    for (a, b) in [(&piece, &machine), (&machine, &piece), (&piece, &piece), (&machine, &machine)] {
        assert_eq!(of(&[("a", "x", &piece), ("b", "x", a), ("c", "x", b), ("d", "y", a)]), Ok(4));
        repeated(of(&[("a", "x", &piece), ("b", "y", a), ("c", "z", b), ("b", "y", a)]));
        repeated(of(&[("a", "x", a), ("b", "x", a), ("c", "x", b), ("b", "x", b)]));
    }
}

/// The start of each entry is requested at once.
#[test]
fn archives_are_opened_in_few_rounds() {
    let pickle = [&b"\x80\x02"[..], &tensor(), b"."].concat();
    let names: Vec<String> = (0..20).map(|key| format!("p/data/{key}")).collect();
    let large = [0; 5000];
    let mut entries: Vec<Entry<'_>> = vec![("p/data.pkl", &pickle), ("p/version", b"3\n")];
    entries.extend(names.iter().map(|name| (&**name, if name == "p/data/0" { &large[..16] } else { &large })));
    let bytes = archive_of(&entries);
    let rounds = |room| {
        let mut source = tenslice::Source::new(bytes.len() as u64);
        let (file, rounds, _) = crate::support::open_in_rounds(&bytes, room, &mut source);
        assert_eq!(file.unwrap().tensor_count(), 1);
        rounds
    };
    assert!(rounds(64) * 2 < rounds(1), "{} {}", rounds(64), rounds(1));
}

/// The names of entries differ. They are compared when the file is opened, if there are up to 1024.
#[test]
fn repeated_entries() {
    let pickle = [&b"\x80\x02"[..], &tensor(), b"."].concat();
    let of = |names: &[String]| {
        let mut entries: Vec<Entry<'_>> =
            vec![("p/data.pkl", &pickle), ("p/version", b"3\n"), ("p/data/0", &[0; 16])];
        entries.extend(names.iter().map(|name| (&**name, &b"a"[..])));
        archive_of(&entries)
    };
    let repeated = |error: tenslice::Error| (error.kind(), error.part()) == (ErrorKind::RepeatedName, Part::Entry);
    let names = |count: usize| -> Vec<String> { (0..count).rev().map(|number| format!("p/x/{number}")).collect() };
    let mut few = names(20);
    few[11] = few[7].clone();
    assert!(repeated(File::open(&of(&few)).unwrap_err()));
    const MANY: usize = 1100;
    let mut many = names(MANY);
    let bytes = of(&many);
    let file = File::open(&bytes).unwrap();
    assert!(file.warnings().contains(Warning::NamesUnchecked));
    assert_eq!(file.check_length(), Some(MANY + 3));
    assert!(file.check(&mut [0; (MANY + 3).div_ceil(8)]).unwrap().is_empty());
    assert_eq!(file.check(&mut [0; (MANY + 3) / 8]).unwrap_err().kind(), ErrorKind::OutOfScratch);
    many[900] = many[7].clone();
    let bytes = of(&many);
    let file = File::open(&bytes).unwrap();
    assert!(repeated(file.check(&mut [0; MANY + 3]).unwrap_err()));
    let few = File::open(&bytes).unwrap();
    assert!(repeated(few.check(&mut [0; (MANY + 3).div_ceil(8)]).unwrap_err()));
}

/// The bytes of entries do not overlap, in whatever order they are listed. Those of many are compared with memory of the
/// caller.
#[test]
fn entries_that_share_bytes() {
    let pickle = [&b"\x80\x02"[..], &tensor(), b"."].concat();
    let names: Vec<String> = (0..1100).map(|number| format!("p/x/{number}")).collect();
    // The whole record of an entry is the content of another one.
    let inner: Entry<'_> = ("p/inner", b"ab");
    let alone = archive_of(&[inner]);
    let record = &alone[..30 + inner.0.len() + inner.1.len()];
    for count in [20, 1100] {
        let mut entries: Vec<Entry<'_>> =
            vec![("p/data.pkl", &pickle), ("p/version", b"3\n"), ("p/data/0", &[0; 16]), ("p/outer", record), inner];
        entries.extend(names[..count].iter().map(|name| (&**name, &b"ab"[..])));
        let order: Vec<usize> = [0, 1, 2].into_iter().chain((3..entries.len()).rev()).collect();
        let mut bytes = archive_listed(&entries, &order);
        let check = |bytes: &[u8]| {
            let file = File::open(bytes).map_err(broken)?;
            assert_eq!(file.warnings().contains(Warning::ExtentsUnchecked), count > 1024);
            file.check(&mut vec![0; file.check_length().unwrap()]).map(|left| left.is_empty()).map_err(broken)
        };
        assert_eq!(check(&bytes), Ok(true));
        // The directory says that the entry is there.
        let place = |what: &[u8]| bytes.windows(what.len()).position(|bytes| bytes == what).unwrap();
        let (outer, listed) = (place(record), bytes.windows(7).rposition(|name| name == b"p/inner").unwrap());
        bytes[listed - 4..listed].copy_from_slice(&(outer as u32).to_le_bytes());
        let error = check(&bytes).unwrap_err();
        assert_eq!((error.0, error.1), (ErrorKind::Overlap, Part::Entry));
    }
}

/// Names with the same hash are compared themselves. If too many have the same hash, another one is tried.
#[test]
fn names_with_equal_hashes() {
    let hash = |name: &str| {
        let add = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(27);
        name.bytes().fold(0, add).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 33
    };
    let (mut first, mut pairs) = (std::collections::HashMap::<u64, String>::new(), Vec::new());
    for name in (0..800_000).map(|number| format!("{number:06}")) {
        match first.entry(hash(&name)) {
            std::collections::hash_map::Entry::Occupied(other) => pairs.push([other.get().clone(), name]),
            std::collections::hash_map::Entry::Vacant(free) => _ = free.insert(name),
        }
    }
    assert!(pairs.len() > 70, "{}", pairs.len());
    // The names that follow make the hashes unchecked when the file is opened, for there are more than 1024.
    let more = (0..1100).rev().map(|number| format!("w{number:04}"));
    for count in [1, 3, 64, 65, 70] {
        let mut names: Vec<String> = pairs[..count].concat().into_iter().chain(more.clone()).collect();
        let check = |names: &[String], words: usize| {
            let bytes = named(names);
            let file = File::open(&bytes).unwrap();
            file.check(&mut vec![0; words]).map(|warnings| warnings.is_empty()).map_err(|error| error.kind())
        };
        for words in [160, 700, 1300] {
            assert_eq!(check(&names, words), Ok(true), "{count} {words}");
        }
        *names.last_mut().unwrap() = names[1].clone();
        for words in [160, 700, 1300] {
            assert_eq!(check(&names, words), Err(ErrorKind::RepeatedName), "{count} {words}");
        }
    }
}

/// A tensor from the memo is made once more for each name, from the start of the pickle: as often as 256 times the bytes of
/// the pickle, and a MiB, allow.
#[test]
fn tensors_of_the_memo() {
    let opened = |count: usize| {
        let large = text(&"x".repeat(1 << 16));
        let alias = |number: usize| [&text(&format!("{number:02}"))[..], b"h\0"].concat();
        let aliases: Vec<u8> = (0..count).flat_map(alias).collect();
        let tree = [&b"}("[..], &text("a"), &large, &text("b"), &tensor(), b"q\0", &aliases, b"u"].concat();
        seen(&archive(&tree)).map(|seen| seen.len()).map_err(|(kind, part, _)| (kind, part))
    };
    assert_eq!(opened(60), Ok(61));
    assert_eq!(opened(75), Err((ErrorKind::TooDeep, Part::Name)));
}
