//! PyTorch: archives and streams of torch.save, and TorchScript.
#![cfg(feature = "pytorch")]

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use serde_json::{Value as Json, json};
use tenslice::{ByteOrder, File, Format, Layout, Purpose, ReadOptions, Tensor, Text, Value};

/// The fixtures, each with its side-car.
fn cases() -> Vec<(String, Vec<u8>, Json)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pytorch");
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Some(file) = path.to_str().unwrap().strip_suffix(".json") else { continue };
        let case = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        all.push((file.rsplit('/').next().unwrap().to_owned(), fs::read(file).unwrap(), case));
    }
    assert!(all.len() > 80);
    all
}

/// The bytes with each number in little-endian order.
fn little(bytes: &[u8], order: ByteOrder, size: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if order == ByteOrder::Big {
        bytes.chunks_mut(size).for_each(<[u8]>::reverse);
    }
    bytes
}

/// Compares a tensor with its description in a side-car.
fn check(file: &str, tensor: &Tensor<'_>, expected: &Json) {
    let place = format!("{file}: {}", tensor.name());
    assert_eq!(json!(tensor.layout_name()), expected["layout"], "{place}");
    assert_eq!(json!(tensor.shape().iter().collect::<Vec<_>>()), expected["shape"], "{place}");
    let is_plain = matches!(tensor.layout(), Layout::Dense | Layout::Strided);
    if is_plain {
        assert_eq!(json!(tensor.dtype().map(|dtype| dtype.name())), expected["dtype"], "{place}");
    }
    let Some(length) = expected["data_length"].as_u64() else {
        assert_eq!(tensor.components().count(), 0, "{place}");
        return;
    };
    let data = tensor.component("data").unwrap();
    assert_eq!(data.extent().length, length, "{place}");
    if let Some(offset) = expected["data_offset"].as_u64() {
        assert_eq!(data.extent().offset, offset, "{place}");
    }
    let size = data.dtype().map_or(1, |dtype| dtype.lane_size());
    let stored = crate::support::sha256(&little(data.bytes().unwrap(), data.byte_order(), size));
    if let Some(expected) = expected["stored_sha256"].as_str() {
        assert_eq!(stored, expected, "{place}");
    }
    if let (true, Some(expected)) = (is_plain, expected["data_sha256"].as_str()) {
        let length = tensor.requirements(Purpose::Read).output.unwrap();
        let mut elements = vec![0; usize::try_from(length).unwrap()];
        let elements = tensor.read_into(&mut elements, ReadOptions::new()).unwrap();
        assert_eq!(crate::support::sha256(&little(elements, ByteOrder::NATIVE, size)), expected, "{place}");
    }
}

#[test]
fn fixtures_are_read_as_their_side_cars_say() {
    for (name, bytes, case) in cases() {
        if case["expect"] == "reject" {
            let opened = File::open(&bytes).and_then(|file| {
                file.check(&mut vec![0; file.check_length().unwrap()])?;
                Ok(file)
            });
            let error = opened.map(|file| file.tensor_count()).expect_err(&name);
            // Files of other kinds are recognized as such, or as none.
            // Without its directory, an archive might as well be an NPZ archive.
            let is_cut = ["zip_", "other_"].iter().any(|start| name.starts_with(start));
            assert!(error.format() == Format::Pytorch || is_cut, "{name}: {error}");
            continue;
        }
        let file = File::open(&bytes).unwrap_or_else(|error| panic!("{name}: {}", error.explain(&bytes[..])));
        assert_eq!(file.format(), Format::Pytorch, "{name}");
        assert_eq!(file.warnings().is_empty(), case["expect"] == "accept", "{name}");
        let expected = case["tensors"].as_array().unwrap();
        assert_eq!(file.tensor_count(), expected.len() as u64, "{name}");
        let mut tensors = file.tensors();
        for tensor in tensors.by_ref() {
            let of_name = expected.iter().find(|expected| tensor.name() == expected["name"].as_str().unwrap());
            check(&name, &tensor, of_name.unwrap_or_else(|| panic!("{name}: {}", tensor.name())));
            let found = file.find(&tensor.name().to_string()).unwrap();
            assert_eq!((found.index(), found.shape()), (tensor.index(), tensor.shape()), "{name}");
        }
        assert!(tensors.error().is_none(), "{name}");
    }
}

#[test]
fn attributes_are_the_values_of_the_tree() {
    let mut count = 0;
    for (name, bytes, case) in cases() {
        let Some(expected) = case["attributes"].as_object().filter(|_| case["expect"] != "reject") else { continue };
        let file = File::open(&bytes).unwrap();
        let mut found = serde_json::Map::new();
        for attribute in file.attributes() {
            let Some(Value::Text(key)) = attribute.key else { panic!("{name}") };
            let value = match attribute.value {
                Value::Null => Json::Null,
                Value::Bool(value) => json!(value),
                Value::Integer(value) => {
                    i64::try_from(value).map_or_else(|_| json!(u64::try_from(value).unwrap()), |value| json!(value))
                }
                Value::Float(value) if value.is_finite() => json!(value),
                Value::Float(value) => json!(value.to_string()),
                Value::Text(text) => json!(text.to_string()),
                Value::Bytes(bytes) => {
                    json!({"$bytes": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()})
                }
                other => panic!("{name}: {other:?}"),
            };
            found.insert(key.to_string(), value);
        }
        assert_eq!(&found, expected, "{name}");
        count += found.len();
    }
    assert!(count > 40);
}

/// A view that is transposed has the strides of the file, and is read row after row.
#[test]
fn views_have_their_own_strides() {
    let bytes = crate::support::fixture("pytorch/views.pt");
    let file = File::open(&bytes).unwrap();
    let (whole, turned) = (file.find("whole").unwrap(), file.find("t").unwrap());
    assert_eq!((whole.layout(), turned.layout()), (Layout::Dense, Layout::Strided));
    assert_eq!(turned.strides(&mut [0; 3]).unwrap(), [1, 4, 12]);
    let (mut a, mut b) = ([0.0_f32; 24], [0.0_f32; 24]);
    let a = whole.read_elements(&mut a, ReadOptions::new()).unwrap();
    let b = turned.read_elements(&mut b, ReadOptions::new()).unwrap();
    assert_eq!([b[0], b[1], b[2]], [a[0], a[12], a[4]]);
}

/// The numbers of a file are in the order of bytes that it states, also those of views.
#[test]
fn views_of_big_endian_numbers() {
    let storage = [&text("storage")[..], b"ctorch\nIntStorage\n", &text("0"), &text("cpu"), b"K\x04tQ"].concat();
    let view = |strides: &[u8]| {
        let rest = [b"K\0K\x02K\x02\x86", strides, b"\x86\x89ccollections\nOrderedDict\n)RtR"].concat();
        [b"ctorch._utils\n_rebuild_tensor_v2\n((", &storage[..], &rest].concat()
    };
    let items = [&text("whole")[..], &view(b"K\x02K\x01"), &text("turned"), &view(b"K\x01K\x02")].concat();
    let pickle = [b"\x80\x02}(", &items[..], b"u."].concat();
    let numbers = [1_i32, 2, 3, 0x0102_0304];
    for (order, data) in [("little", numbers.map(i32::to_le_bytes)), ("big", numbers.map(i32::to_be_bytes))] {
        let entries: [(&str, &[u8]); 4] = [
            ("p/data.pkl", &pickle),
            ("p/byteorder", order.as_bytes()),
            ("p/version", b"3\n"),
            ("p/data/0", data.as_flattened()),
        ];
        let bytes = archive_of(&entries);
        let file = File::open(&bytes).unwrap();
        for (name, expected) in [("whole", numbers), ("turned", [1, 3, 2, 0x0102_0304])] {
            let mut room = [0_i32; 4];
            let read = file.find(name).unwrap().read_elements(&mut room, ReadOptions::new()).unwrap();
            assert_eq!(read, expected, "{order} {name}");
        }
    }
}

/// Quantized elements of 4 and 2 bits share bytes.
#[test]
fn elements_that_share_bytes() {
    let opened = |class: &str, count: u8| {
        let storage = [&text("storage")[..], class.as_bytes(), &text("0"), &text("cpu"), b"K\x10tQ"].concat();
        let rest = [b"K\0K", &[count][..], b"\x85K\x01\x85(ctorch\nper_tensor_affine\nK\x01K\0t\x89"].concat();
        let call = [b"ctorch._utils\n_rebuild_qtensor\n((", &storage[..], &rest, b"ccollections\nOrderedDict\n)RtR"];
        let bytes = archive(&[&b"}"[..], &text("q"), &call.concat(), b"s"].concat());
        let file = File::open(&bytes)?;
        let extent = file.find("q").unwrap().components().next().unwrap().extent();
        Ok::<_, tenslice::Error>((extent.length, bytes[usize::try_from(extent.offset).unwrap()..].len() > 16))
    };
    for (class, most) in [("ctorch\nQUInt4x2Storage\n", 32), ("ctorch\nQUInt2x4Storage\n", 64)] {
        assert_eq!((opened(class, 1), opened(class, most)), (Ok((16, true)), Ok((16, true))), "{class}");
        assert_eq!(opened(class, 0).unwrap().0, 0, "{class}");
        assert_eq!(opened(class, most + 1).unwrap_err().kind(), tenslice::ErrorKind::OutOfPlace, "{class}");
    }
}

/// A view has at most 64 dimensions, the most that torch computes with.
#[test]
fn views_of_many_dimensions() {
    let storage = [&text("storage")[..], b"ctorch\nFloatStorage\n", &text("0"), &text("cpu"), b"K\x04tQ"].concat();
    let read = |rank: usize| {
        let sizes = [&b"("[..], &b"K\x01".repeat(rank - 1), b"K\x02t"].concat();
        let strides = [&b"("[..], &b"K\x02".repeat(rank), b"t"].concat();
        let rest = [b"K\0", &sizes[..], &strides, b"\x89ccollections\nOrderedDict\n)RtR"].concat();
        let call = [b"ctorch._utils\n_rebuild_tensor_v2\n((", &storage[..], &rest].concat();
        let bytes = archive(&[&b"}"[..], &text("w"), &call, b"s"].concat());
        let file = File::open(&bytes).unwrap();
        let view = file.find("w").unwrap();
        assert_eq!((view.layout(), view.shape().rank()), (Layout::Strided, rank as _));
        view.read_into(&mut [0; 8], ReadOptions::new()).map(|elements| elements.len()).map_err(|error| error.kind())
    };
    assert_eq!([1, 64, 65].map(read), [Ok(8), Ok(8), Err(tenslice::ErrorKind::TooMany)]);
}

/// Code in a pickle is listed, and nothing else happens to it.
#[test]
fn globals_are_listed() {
    let bytes = crate::support::fixture("pytorch/opaque_b.pt");
    let file = File::open(&bytes).unwrap().as_pytorch().unwrap();
    assert!(file.globals().any(|global| global.is_known && global.name == "_rebuild_tensor_v2"));
    assert!(file.globals().any(|global| !global.is_known));
}

/// A name of several keys behaves as the text that it means, wherever it comes from.
#[test]
fn names_of_several_keys() {
    let hash = |value: &dyn Fn(&mut DefaultHasher)| {
        let mut hasher = DefaultHasher::new();
        value(&mut hasher);
        hasher.finish()
    };
    let mut joined = 0;
    for (path, bytes, _) in cases() {
        let Ok(file) = File::open(&bytes) else { continue };
        let mut room = vec![0; file.index_length().unwrap()];
        let index = file.index(&mut room).unwrap();
        let mut last = None::<(Text<'_>, String)>;
        for tensor in &file {
            let (name, text) = (tensor.name(), tensor.name().to_string());
            assert!(name == text.as_str() && name == Text::from(&*text), "{path}: {text}");
            assert_eq!(name.chars().collect::<String>(), text, "{path}");
            assert_eq!((name.length(), name.is_empty()), (text.len(), text.is_empty()), "{path}: {text}");
            assert_eq!(name.copy_to(&mut vec![0; text.len()]).unwrap(), text, "{path}");
            assert_eq!(hash(&|hasher| name.hash(hasher)), hash(&|hasher| Text::from(&*text).hash(hasher)), "{path}");
            for found in [file.find(&text).unwrap(), index.find(&text).unwrap()] {
                assert_eq!((found.index(), found.name()), (tensor.index(), name), "{path}: {text}");
                assert_eq!(found.components().count(), tensor.components().count(), "{path}: {text}");
            }
            if let Some((other, other_text)) = last {
                assert_eq!(name.cmp(&other), text.cmp(&other_text), "{path}: {text}");
            }
            joined += usize::from(name.as_str().is_none());
            last = Some((name, text));
        }
    }
    assert!(joined > 40, "{joined}");
}

/// A stored archive with this tree and one storage of 4 numbers, without checksums.
pub(super) fn archive(tree: &[u8]) -> Vec<u8> {
    let pickle = [b"\x80\x02", tree, b"."].concat();
    archive_of(&[("p/data.pkl", &pickle), ("p/version", b"3\n"), ("p/data/0", &[0; 16])])
}

/// A stored archive with these entries, without checksums.
pub(super) fn archive_of(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let order: Vec<usize> = (0..entries.len()).collect();
    archive_listed(entries, &order)
}

/// A stored archive whose directory has the entries in another order.
pub(super) fn archive_listed(entries: &[(&str, &[u8])], order: &[usize]) -> Vec<u8> {
    let (mut file, mut records) = (Vec::new(), Vec::new());
    for (name, content) in entries {
        let length = (content.len() as u32).to_le_bytes();
        let about = [&[0; 12][..], &length, &length, &(name.len() as u16).to_le_bytes(), &[0, 0]].concat();
        let at = (file.len() as u32).to_le_bytes();
        file.extend([b"PK\x03\x04\0\0", &about[..], name.as_bytes(), content].concat());
        records.push([b"PK\x01\x02\0\0\0\0", &about[..], &[0; 10], &at, name.as_bytes()].concat());
    }
    let directory: Vec<u8> = order.iter().flat_map(|index| records[*index].clone()).collect();
    let (start, size) = ((file.len() as u32).to_le_bytes(), (directory.len() as u32).to_le_bytes());
    let count = (entries.len() as u16).to_le_bytes();
    file.extend(directory);
    file.extend([&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &size, &start, &[0, 0]].concat());
    file
}

pub(super) fn text(text: &str) -> Vec<u8> {
    [b"X", &(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
}

pub(super) fn tensor() -> Vec<u8> {
    let storage = [&text("storage")[..], b"ctorch\nFloatStorage\n", &text("0"), &text("cpu"), b"K\x04tQ"].concat();
    let rest = b"K\0K\x04\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR";
    [b"ctorch._utils\n_rebuild_tensor_v2\n((", &storage[..], rest].concat()
}

/// Puts what [`tensor_of_memo`] takes into the memo: four objects, at indices from 0 on.
pub(super) const MEMO: &[u8] =
    b"ctorch._utils\n_rebuild_tensor_v2\nq\0X\x07\0\0\0storageq\x01ctorch\nFloatStorage\nq\x02\
    ccollections\nOrderedDict\nq\x03";

/// The same tensor with names and texts of the memo, as all but the first of a file have them. `put` follows the place
/// of the storage. In a mapping it is read in one piece.
pub(super) fn tensor_of_memo(put: &[u8]) -> Vec<u8> {
    let id = [&b"(h\x01h\x02"[..], &text("0"), &text("cpu"), put, b"K\x04tQ"].concat();
    [&b"h\0("[..], &id, b"K\0K\x04\x85K\x01\x85\x89h\x03)RtR"].concat()
}

/// A value in dictionaries of one item, which Python's pickler writes without marks.
pub(super) fn inside(depth: usize, value: Vec<u8>) -> Vec<u8> {
    (0..depth).fold(value, |value, _| [b"}", &text("k")[..], &value, b"s"].concat())
}

pub(super) fn names(tree: &[u8]) -> Vec<String> {
    let bytes = archive(tree);
    let file = File::open(&bytes).unwrap_or_else(|error| panic!("{}", error.explain(&bytes[..])));
    let mut tensors = file.tensors();
    let names: Vec<String> = tensors.by_ref().map(|tensor| tensor.name().to_string()).collect();
    assert_eq!(tensors.error(), None, "{names:?}");
    let mut values = file.attributes();
    values.by_ref().for_each(drop);
    assert_eq!(values.error(), None, "{names:?}");
    let mut room = vec![0; file.index_length().unwrap()];
    let index = file.index(&mut room).unwrap();
    assert!(names.iter().all(|name| file.find(name).is_ok() && index.find(name).is_ok()), "{names:?}");
    names
}

/// Many objects are above one that an opcode takes later, and there may be a mark below them.
#[test]
fn objects_that_are_taken_late() {
    let deep = |depth: usize| inside(depth, b"K\x01".to_vec());
    let k = |depth: usize| vec!["k"; depth].join(".");
    // The tensor is in a pair, and all of the other item is made above it.
    for depth in [1, 4, 5, 20, 60] {
        assert_eq!(names(&[tensor(), deep(depth), b"\x86".to_vec()].concat()), ["0"], "{depth}");
        let pair = [&b"}("[..], &text("a"), &tensor(), &deep(depth), b"\x86", &text("b"), &tensor(), b"u"].concat();
        assert_eq!(names(&pair), ["a.0", "b"], "{depth}");
    }
    // The tensor is deep, beside others.
    for depth in [1, 5, 6, 7, 20, 60] {
        let tree = inside(depth, tensor());
        let beside = [&b"}("[..], &text("a"), &tree, &text("b"), &tensor(), b"u"].concat();
        assert_eq!(names(&beside), [format!("a.{}", k(depth)), "b".into()], "{depth}");
    }
    // Items are set one by one.
    let mut tree = b"}".to_vec();
    for name in ["a", "b", "c"] {
        tree = [&tree[..], &text(name), &inside(6, tensor()), b"s"].concat();
    }
    assert_eq!(names(&tree), ["a", "b", "c"].map(|name| format!("{name}.{}", k(6))));
}

/// Values are in lists that are appended to one by one, in a mapping whose own key is among the last objects that are kept.
#[test]
fn values_below_keys_that_are_nearly_dropped() {
    for depth in 0..40 {
        for value in [text("x"), tensor()] {
            let lists = [&vec![b']'; depth][..], &value, &vec![b'a'; depth]].concat();
            let inner = [&text("k")[..], &lists, b"s"].concat();
            let outer = [&b"("[..], &text("outer"), b"}", &inner, b"u"].concat();
            let module = [&b"c__main__\nNet\n)\x81}"[..], &outer, b"b"].concat();
            let mapping = [&b"}"[..], &outer].concat();
            for tree in [mapping, module] {
                let bytes = archive(&tree);
                let file = File::open(&bytes).unwrap();
                let mut values = file.attributes();
                let count = values.by_ref().count() as u64 + file.tensor_count();
                assert_eq!((count, values.error()), (1, None), "{depth}: {}", tree.escape_ascii());
            }
        }
    }
}

/// Tuples in tuples without marks have many objects above their key. The machine keeps the last ones only, and the tensor
/// has its name.
#[test]
fn keys_below_many_objects() {
    for count in 1..=14 {
        let (pairs, triples) = (count % 2, count / 2);
        let joined = [b"\x87".repeat(triples), b"\x86".repeat(pairs)].concat();
        let tuples = [&b"N".repeat(count)[..], &tensor(), &joined].concat();
        let items = [&text("a")[..], &tensor(), &text("k"), &tuples, &text("z"), &tensor()].concat();
        let name = ["k", &".1".repeat(pairs), &".2".repeat(triples)].concat();
        assert_eq!(names(&[b"}(", &items[..], b"u"].concat()), ["a", &name, "z"], "{count}");
    }
}

/// A list grows by several opcodes, as Python writes lists of more than 1000 items: the places go on.
#[test]
fn lists_that_grow_several_times() {
    let single = [&tensor()[..], b"a"].concat();
    let several = |count: usize| [b"(", &tensor().repeat(count)[..], b"e"].concat();
    let all = [&single[..], &several(2), &several(1), &single, &several(3), &single].concat();
    let expected: Vec<String> = (0..9).map(|place| place.to_string()).collect();
    assert_eq!(names(&[b"]", &all[..]].concat()), expected);
}

/// A call of an object of the memo makes an object, also in a run that starts behind that object.
#[test]
fn objects_of_the_memo_that_are_called() {
    let net = [&b"c__main__\nNet\n)\x81q\x01"[..], &text("one"), b"K\x01"].concat();
    for call in [&b"h\x01)R"[..], b"h\x01K\x07\x85R", b"h\x01)\x81", b"h\x01)R}\x85R"] {
        let called = [&text("two")[..], call, &text("three"), b"K\x03"].concat();
        let bytes = archive(&[&b"}("[..], &text("net"), &net, &called, b"u"].concat());
        let file = File::open(&bytes).unwrap();
        let mut values = file.attributes();
        assert_eq!((values.by_ref().count(), values.error()), (2, None), "{}", call.escape_ascii());
    }
}

/// Each tensor is in more containers than a position in the list of tensors has room for.
#[test]
fn tensors_in_many_containers() {
    // A module whose state has a mapping of one item, and another value behind that.
    let module = |value: &[u8], more: &[u8]| {
        [&b"c__main__\nNet\n)\x81}"[..], &text("_modules"), b"}", &text("m"), value, b"s", more, b"sb"].concat()
    };
    for depth in 0..20 {
        let more = [&text("weight")[..], b"}s"].concat();
        let tree = (0..depth).fold(tensor(), |tree, _| module(&tree, &more));
        let name = vec!["m"; depth].join(".");
        assert_eq!(names(&tree), std::slice::from_ref(&name), "{depth}");
        let pair = [&b"("[..], &tree, b"}t"].concat();
        assert_eq!(names(&pair), [if depth == 0 { "0".into() } else { format!("0.{name}") }], "{depth}");
        let group = [&b"}("[..], &text("a"), &tree, &text("b"), &tensor(), b"u"].concat();
        assert_eq!(names(&group), [format!("a.{name}").trim_end_matches('.').into(), "b".to_string()], "{depth}");
        let list = [&b"]("[..], &tree, &tensor(), b"e"].concat();
        assert_eq!(names(&list).len(), 2, "{depth}");
        // Each module has a tensor more, and all keys are from the memo.
        let more = [b"h\x01", &tensor()[..], b"s"].concat();
        let memo = [&text("m")[..], b"q\0", &text("more"), b"q\x01"].concat();
        let module = |value: &[u8]| {
            [b"c__main__\nNet\n)\x81}", &text("_modules")[..], b"}h\0", value, b"s", &more, b"sb"].concat()
        };
        let tree = (0..depth).fold(tensor(), |tree, _| module(&tree));
        let list = names(&[b"](", &memo[..], &tree, b"e"].concat());
        let inner = [&["2".to_string()][..], &vec!["m".to_string(); depth]].concat();
        let outer = (0..depth).rev().map(|depth| format!("{}.more", inner[..=depth].join(".")));
        assert_eq!(list, std::iter::once(inner.join(".")).chain(outer).collect::<Vec<_>>(), "{depth}");
    }
}

/// Python 2 writes an `OrderedDict` as a list of pairs. Each is read once more for the next, and not the whole list.
#[test]
fn pairs_of_python_2() {
    let pairs = |count: usize, value: &dyn Fn(usize) -> Vec<u8>| {
        let pair = |number| [&b"]("[..], &text(&format!("w{number}")), &value(number), b"e"].concat();
        let all: Vec<u8> = (0..count).flat_map(pair).collect();
        [&b"ccollections\nOrderedDict\n]("[..], &all, b"e\x85R"].concat()
    };
    let expected = |count: usize, before: &str, behind: &str| -> Vec<String> {
        (0..count).map(|number| format!("{before}w{number}{behind}")).collect()
    };
    let many = pairs(400, &|_| tensor());
    assert_eq!(names(&many), expected(400, "", ""));
    let nested = [&b"}("[..], &text("model"), &many, &text("b"), &tensor(), b"u"].concat();
    assert_eq!(names(&nested), [expected(400, "model.", ""), vec!["b".into()]].concat());
    let deep = pairs(100, &|_| inside(1, tensor()));
    assert_eq!(names(&deep), expected(100, "", ".k"));
    let of_pairs = pairs(3, &|_| pairs(2, &|_| tensor()));
    assert_eq!(names(&of_pairs), ["w0.w0", "w0.w1", "w1.w0", "w1.w1", "w2.w0", "w2.w1"]);
    // A list of one pair has no mark.
    let single = |value: &[u8]| [&b"ccollections\nOrderedDict\n]]("[..], &text("w"), value, b"ea\x85R"].concat();
    assert_eq!(names(&single(&tensor())), ["w"]);
    let beside = [&b"}("[..], &text("a"), &single(&tensor()), &text("b"), &tensor(), b"u"].concat();
    assert_eq!(names(&beside), ["a.w", "b"]);
    let two = single(&[&b"}("[..], &text("k"), &tensor(), &text("l"), &tensor(), b"u"].concat());
    assert_eq!(names(&two), ["w.k", "w.l"]);
    assert_eq!(names(&single(b"K\x01")), [] as [&str; 0]);
    // The key of a pair that is written item by item is gone when the value comes. Nobody writes pairs so.
    let bare = [&b"ccollections\nOrderedDict\n]]"[..], &text("w"), b"a", &tensor(), b"aa\x85R"].concat();
    assert_eq!(File::open(&archive(&bare)).unwrap_err().kind(), tenslice::ErrorKind::TooDeep);
}

/// An index of the memo is that of the object before it, wherever the search for it starts.
#[test]
fn objects_from_the_memo() {
    // The module and the name of a class, as protocol 4 writes them: the search goes on behind the module.
    let torch = [&text("torch")[..], b"q\0"].concat();
    let storage = [b"h\0", &text("FloatStorage")[..], b"\x93q\x01"].concat();
    let with = |class: &[u8]| {
        let id = [&text("storage")[..], class, &text("0"), &text("cpu"), b"K\x04tQ"].concat();
        let rest = b"K\0K\x04\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR";
        [b"ctorch._utils\n_rebuild_tensor_v2\n((", &id[..], rest].concat()
    };
    let size = [&text("Size")[..], b"\x93q\x01K\x04\x85\x85R"].concat();
    let by_size = |rest: &[u8]| {
        let view =
            [&text("storage")[..], b"ctorch\nFloatStorage\n", &text("0"), &text("cpu"), b"K\x04tQK\0"].concat();
        [b"ctorch._utils\n_rebuild_tensor_v2\n((", &view[..], rest, b"K\x01\x85\x89ccollections\nOrderedDict\n)RtR"]
            .concat()
    };
    let sizes = [&b"("[..], &torch, &size, b"}(", &text("a"), b"}(K\x01", &by_size(b"h\x01K\x04\x85\x85R"), b"uut"];
    assert_eq!(names(&sizes.concat()), ["1.a.1"]);
    let classes = [&b"("[..], &torch, &with(&storage), &with(b"h\x01"), b"t"].concat();
    assert_eq!(names(&classes), ["1", "2"]);
    // A call that makes a tensor has arguments of its own. An object may share them.
    let call = |module: &str| [b"c", module.as_bytes(), b"\n_rebuild_tensor\n"].concat();
    let arguments = &tensor()["ctorch._utils\n_rebuild_tensor_v2\n".len()..tensor().len() - 1];
    let shared = [b"(", arguments, b"q\0", &call("torch._utils"), b"h\0Rt"].concat();
    assert_eq!(File::open(&archive(&shared)).unwrap_err().kind(), tenslice::ErrorKind::UnexpectedType);
    let shared =
        [b"(", arguments, b"q\0", &call("mine"), b"h\0R", &call("mine"), b"h\0\x81", &tensor(), b"t"].concat();
    assert_eq!(names(&shared), ["3"]);
    // An object of the memo is looked for past such calls.
    let many: Vec<u8> = (2..200_u8).flat_map(|index| [&text("x")[..], &[b'q', index]].concat()).collect();
    let objects = [b"(", arguments, b"q\0", &call("mine"), b"h\0R", b"K\x05\x85q\x01", &many].concat();
    let late = [&objects[..], b"c__main__\nNet\nh\x01R", &tensor(), b"t"].concat();
    assert_eq!(names(&late), ["202"]);
}

/// A key that has no part in names, and one that no name has.
#[test]
fn keys_without_a_name() {
    // The value is made above other objects, so the rest is read from an earlier key.
    let module = |value: &[u8]| [&b"c__main__\nNet\n)\x81}("[..], &text("_parameters"), value, b"ub"].concat();
    let size = b"ctorch\nSize\nK\x03\x85\x85R";
    assert_eq!(names(&module(size)), [] as [&str; 0]);
    let pair = [&b"ctorch.jit._pickle\nrestore_type_tag\n"[..], &tensor(), &text("tag"), b"\x86R"].concat();
    let beside = [&b"}("[..], &text("a"), &module(&pair), &text("b"), &tensor(), b"u"].concat();
    assert_eq!(names(&beside), ["a", "b"]);
    // Whole numbers of more than 128 bits.
    let wide = [&b"\x8a\x11"[..], &[1; 17]].concat();
    let tree = [&b"}("[..], &wide, &tensor(), b"K\0", &tensor(), b"u"].concat();
    assert_eq!(names(&tree), ["0"]);
}

/// Names of more keys than fit in a string are read from the key of a container that is near. Keys are from the memo.
#[test]
fn names_in_many_modules() {
    let put = |key: &str, index: u32| [&text(key)[..], b"r", &index.to_le_bytes()].concat();
    let get = |index: u32| [&b"j"[..], &index.to_le_bytes()].concat();
    let keys = ["_modules", "attention", "self", "query", "weight", "bias", "key", "deep"];
    let all: Vec<u8> = keys.iter().zip(500..).flat_map(|(key, index)| put(key, index)).collect();
    let module = |items: &[(u32, Vec<u8>)]| {
        let items: Vec<u8> = items.iter().flat_map(|(key, value)| [get(500 + key), value.clone()].concat()).collect();
        [&b"c__main__\nNet\n)\x81}"[..], &get(500), b"}(", &items, b"usb"].concat()
    };
    let linear = || module(&[(4, tensor()), (5, tensor())]);
    let layer =
        |_| module(&[(1, module(&[(2, module(&[(3, linear()), (6, linear()), (7, module(&[(7, linear())]))]))]))]);
    let layers: Vec<u8> = (0..16).flat_map(|number| [text(&number.to_string()), layer(number)].concat()).collect();
    let list = [&b"c__main__\nList\n)\x81}"[..], &get(500), b"}(", &layers, b"usb"].concat();
    let outer = ["layer", "encoder", "a model with a long name", "module"].iter().fold(list, |inner, name| {
        [&b"c__main__\nNet\n)\x81}"[..], &get(500), b"}", &text(name), &inner, b"ssb"].concat()
    });
    let inner = ["query.weight", "query.bias", "key.weight", "key.bias", "deep.deep.weight", "deep.deep.bias"];
    // The keys may be far from the start: behind a long text.
    for (before, number) in [(Vec::new(), 8), (text(&"x".repeat(5000)), 9)] {
        let list = names(&[b"](", &before[..], &all, &outer, b"e"].concat());
        let name = |layer: usize, inner: &str| {
            format!("{number}.module.a model with a long name.encoder.layer.{layer}.attention.self.{inner}")
        };
        let expected = (0..16).flat_map(|layer| inner.map(|inner| name(layer, inner)));
        assert_eq!(list, expected.collect::<Vec<_>>());
    }
}

/// A pickle in which an opcode takes an object above a mark with very many others above it is refused, not misread.
#[test]
fn objects_that_are_taken_too_late() {
    let pair = [tensor(), inside(70, b"K\x01".to_vec()), b"\x86".to_vec()].concat();
    assert_eq!(names(&pair), ["0"]);
    let bytes = archive(&[&b"}("[..], &text("a"), &pair, b"u"].concat());
    assert_eq!(File::open(&bytes).unwrap_err().kind(), tenslice::ErrorKind::TooDeep);
}

/// Tuples above an object count as others do, when an opcode takes the object later.
#[test]
fn tuples_above_an_object() {
    for above in [&b"()t"[..], b"(K\x01\x91", b")"] {
        let pair = [&tensor()[..], &above.repeat(31), &[b'\x87'; 15], b"\x86"].concat();
        let tree = [&b"}("[..], &text("a"), &pair, &text("b"), &tensor(), b"u"].concat();
        assert_eq!(names(&tree), ["a.0", "b"], "{}", above.escape_ascii());
    }
}

/// Tuples in tuples, with and without marks: as many as a name has room for.
#[test]
fn tuples_in_tuples() {
    assert_eq!(names(&[&b"(("[..], &tensor(), b"tt"].concat()), ["0.0"]);
    assert_eq!(names(&[&b"((N("[..], &tensor(), b"ttt"].concat()), ["0.1.0"]);
    let last = |depth: usize| [&b"NN".repeat(depth)[..], &tensor(), &b"\x87".repeat(depth)].concat();
    assert_eq!(names(&last(7)), ["2.2.2.2.2.2.2"]);
    let error = File::open(&archive(&last(8))).unwrap_err();
    assert_eq!((error.kind(), error.part()), (tenslice::ErrorKind::TooDeep, tenslice::Part::Name));
    // The mapping is itself in a tuple, or in a call that leaves it as it is.
    let items = [&b"}("[..], &text("x"), &tensor(), &text("y"), &tensor(), b"u"].concat();
    let beside = |value: &[u8]| names(&[&b"}("[..], &text("a"), value, &text("b"), &tensor(), b"u"].concat());
    assert_eq!(beside(&[&items[..], b"\x85"].concat()), ["a.0.x", "a.0.y", "b"]);
    assert_eq!(beside(&[&items[..], b"N\x86"].concat()), ["a.0.x", "a.0.y", "b"]);
    let tagged = |value: &[u8]| {
        beside(&[&b"ctorch.jit._pickle\nrestore_type_tag\n"[..], value, &text("tag"), b"\x86R"].concat())
    };
    assert_eq!(tagged(&items), ["a.x", "a.y", "b"]);
    assert_eq!(tagged(&[b"cmine\nNet\n)\x81", &items[..], b"b"].concat()), ["a.x", "a.y", "b"]);
    let pair = |key: &str| [&b"]("[..], &text(key), &tensor(), b"e"].concat();
    let pairs = [&b"ccollections\nOrderedDict\n]("[..], &pair("x"), &pair("y"), b"e\x85R"].concat();
    assert_eq!(tagged(&pairs), ["a.x", "a.y", "b"]);
}

/// A text and a call behind it are an item of a mapping only if the text is a key.
#[test]
fn texts_that_are_no_keys() {
    let both = [&tensor_of_memo(b"")[..], &text("t"), &tensor_of_memo(b"")].concat();
    let items = [&text("a")[..], b"N", &both, b"\x86\x87", &text("b"), &tensor()].concat();
    assert_eq!(names(&[&b"("[..], MEMO, b"}(", &items, b"ut"].concat()), ["4.a.1", "4.a.2.1", "4.b"]);
}

/// The pairs of an `OrderedDict` are lists in a list. Tuples have places; a list of tuples is refused.
#[test]
fn pairs_that_are_no_lists() {
    let with = |items: &[u8]| [&b"ccollections\nOrderedDict\n"[..], items].concat();
    let pair = [&text("w")[..], &tensor()].concat();
    assert_eq!(names(&with(&[&b"(](]("[..], &pair, b"eetR"].concat())), ["w"]);
    assert_eq!(names(&with(&[&b"(]("[..], &pair, b"e\x85tR"].concat())), ["0.1"]);
    let error = File::open(&archive(&with(&[&b"]("[..], &pair, b"\x86e\x85R"].concat()))).unwrap_err();
    assert_eq!((error.kind(), error.part()), (tenslice::ErrorKind::TooDeep, tenslice::Part::Name));
}

/// Names of more pieces than fit in a string, beside an object that is taken much later: nothing is dropped without marks.
#[test]
fn long_names_without_marks() {
    let late = [inside(70, b"K\x01".to_vec()), b"\x86".to_vec()].concat();
    let lists = [&[b']'; 30][..], &tensor(), &[b'a'; 30]].concat();
    assert_eq!(names(&[&lists[..], &late].concat()), [vec!["0"; 31].join(".")]);
    // The items of a mapping are read in one piece.
    let items: Vec<u8> = ["x", "y", "z"].iter().flat_map(|key| [text(key), tensor_of_memo(b"")].concat()).collect();
    let deep = inside(70, [&b"}("[..], MEMO, &items, b"u"].concat());
    let outer = vec!["k"; 70].join(".");
    assert_eq!(names(&deep), ["x", "y", "z"].map(|key| format!("{outer}.{key}")));
}

/// The constants of TorchScript may be a mapping, too: each name begins as that of any constant.
#[test]
fn constants_in_a_mapping() {
    let constants = [&b"\x80\x02}("[..], &text("x"), &tensor(), &text("y"), &tensor(), b"u."].concat();
    let bytes = archive_of(&[
        ("p/data.pkl", b"\x80\x02}."),
        ("p/constants.pkl", &constants),
        ("p/version", b"3\n"),
        ("p/constants/0", &[7; 16]),
    ]);
    let file = File::open(&bytes).unwrap();
    let all: Vec<String> = file.tensors().map(|tensor| tensor.name().to_string()).collect();
    assert_eq!(all, ["CONSTANTS.cx", "CONSTANTS.cy"]);
    assert!(all.iter().all(|name| file.find(name).is_ok()));
    assert!(file.find("x").is_err());
}

/// A name of 17 places is read from the start of the pickle, once for each eight pieces: as often as 256 times the bytes of
/// the pickle, and a MiB, allow.
#[test]
fn names_that_are_read_from_the_start() {
    let opened = |count: usize| {
        let large = text(&"x".repeat(1 << 16));
        let tree = [&b"](".repeat(16)[..], b"](", &large, &tensor().repeat(count), &b"e".repeat(17)].concat();
        File::open(&archive(&tree)).map(|file| file.tensor_count()).map_err(|error| (error.kind(), error.part()))
    };
    assert_eq!(opened(75), Ok(75));
    assert_eq!(opened(85), Err((tenslice::ErrorKind::TooDeep, tenslice::Part::Name)));
}
