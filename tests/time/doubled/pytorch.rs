//! PyTorch checkpoints.

/// A stored archive of these entries, in a folder, without checksums. The directory may have them in descending order.
fn archive(entries: &[(String, Vec<u8>)], is_falling: bool) -> Vec<u8> {
    let (mut bytes, mut records) = (Vec::new(), Vec::new());
    for (name, content) in entries {
        let (name, length) = (format!("p/{name}"), (content.len() as u32).to_le_bytes());
        let about = [&[0; 12][..], &length, &length, &(name.len() as u16).to_le_bytes(), &[0, 0]].concat();
        let at = (bytes.len() as u32).to_le_bytes();
        bytes.extend([b"PK\x03\x04\0\0", &about[..], name.as_bytes(), content].concat());
        records.push([b"PK\x01\x02\0\0\0\0", &about[..], &[0; 10], &at, name.as_bytes()].concat());
    }
    if is_falling {
        records.reverse();
    }
    let (directory, start) = (records.concat(), bytes.len() as u32);
    let count = (entries.len() as u16).to_le_bytes();
    bytes.extend(&directory);
    bytes.extend([&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &(directory.len() as u32).to_le_bytes()].concat());
    bytes.extend([&start.to_le_bytes()[..], &[0, 0]].concat());
    bytes
}

/// A checkpoint with this tree, and `count` storages of `length` numbers.
fn checkpoint(tree: &[u8], count: usize, length: usize, is_falling: bool) -> Vec<u8> {
    let keys = (0..count).map(|number| number.to_string());
    with_storages(tree, keys, length, is_falling)
}

/// The same, with storages of these keys.
fn with_storages(tree: &[u8], keys: impl Iterator<Item = String>, length: usize, is_falling: bool) -> Vec<u8> {
    let mut entries = vec![("data.pkl".into(), [b"\x80\x02", tree, b"."].concat())];
    entries.extend(keys.map(|key| (format!("data/{key}"), vec![0; 4 * length])));
    entries.push(("version".into(), b"3\n".to_vec()));
    archive(&entries, is_falling)
}

fn text(text: &str) -> Vec<u8> {
    [b"X", &(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
}

/// A tensor of one dimension, over the storage with this number.
fn tensor(number: usize, length: usize) -> Vec<u8> {
    let size = [b"J", &(length as u32).to_le_bytes()[..]].concat();
    let storage =
        [b"(", &text("storage")[..], b"ctorch\nFloatStorage\n", &text(&number.to_string()), &text("cpu"), &size];
    let storage = [&storage.concat()[..], b"tQ"].concat();
    let rest = [b"K\0", &size[..], b"\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR"].concat();
    [b"ctorch._utils\n_rebuild_tensor_v2\n(", &storage[..], &rest].concat()
}

/// A dictionary whose items are these keys, and a value for each number.
fn dictionary(count: usize, key: impl Fn(usize) -> Vec<u8>, value: impl Fn(usize) -> Vec<u8>) -> Vec<u8> {
    let items: Vec<u8> = (0..count).flat_map(|number| [key(number), value(number)].concat()).collect();
    [b"}(", &items[..], b"u"].concat()
}

/// A value in dictionaries of one item, the innermost key first.
fn inside(keys: &[&str], value: Vec<u8>) -> Vec<u8> {
    keys.iter().fold(value, |value, key| [b"}", &text(key)[..], &value, b"s"].concat())
}

fn name(number: usize) -> Vec<u8> {
    text(&format!("layer.{number}.weight"))
}

/// The tensors are the items of the tree.
pub fn tensors(size: usize) -> Vec<u8> {
    checkpoint(&dictionary(size, name, |number| tensor(number, 1)), size, 1, false)
}

/// The tensors are in a dictionary in the tree, and their names are not sorted.
pub fn nested_tensors(size: usize) -> Vec<u8> {
    let tree = dictionary(size, |number| name(number * 7919 % 10007), |number| tensor(number, 1));
    checkpoint(&inside(&["state_dict"], tree), size, 1, false)
}

/// Each tensor is in a dictionary of its own with a number, as the states of an optimizer.
pub fn states(size: usize) -> Vec<u8> {
    let key = |number: usize| [b"J", &(number as u32).to_le_bytes()[..]].concat();
    let step = [text("step"), b"K\x01".to_vec()].concat();
    let tensor = |number| [text("momentum_buffer"), tensor(number, 1)].concat();
    let state = |number| [b"}(", &step[..], &tensor(number), b"u"].concat();
    let tree = dictionary(size, key, state);
    checkpoint(&inside(&["state", "optimizer"], tree), size, 1, false)
}

/// Writes keys as Python does: the first time as a text that the memo keeps, then from the memo.
#[derive(Default)]
struct Keys(Vec<String>);

impl Keys {
    fn key(&mut self, key: &str) -> Vec<u8> {
        match self.0.iter().position(|other| other == key) {
            Some(index) => [&b"j"[..], &(index as u32).to_le_bytes()].concat(),
            None => {
                self.0.push(key.into());
                [&text(key)[..], b"r", &(self.0.len() as u32 - 1).to_le_bytes()].concat()
            }
        }
    }
}

/// The states of an optimizer behind as many weights: their keys are from the memo, and far from the start.
pub fn states_behind(size: usize) -> Vec<u8> {
    let mut keys = Keys::default();
    let weights: Vec<u8> = (0..size)
        .flat_map(|number| [keys.key(&format!("layer.{number}.weight")), tensor(number, 1)].concat())
        .collect();
    let mut state = |number: usize| {
        let both = ["exp_avg", "exp_avg_sq"].map(|key| [keys.key(key), tensor(number, 1)].concat());
        [&b"J"[..], &(number as u32).to_le_bytes(), b"}(", &both.concat(), b"u"].concat()
    };
    let states: Vec<u8> = (0..size).flat_map(&mut state).collect();
    let all =
        [text("model"), b"}(".to_vec(), weights, b"u".to_vec(), text("state"), b"}(".to_vec(), states, b"u".to_vec()];
    checkpoint(&[b"}(", &all.concat()[..], b"u"].concat(), size, 1, false)
}

/// A whole module: each tensor is seven modules deep.
pub fn modules(size: usize) -> Vec<u8> {
    let mut keys = Keys::default();
    let mut layer = |number: usize| {
        let mut bytes = text(&number.to_string());
        for name in ["attention", "self", "query"] {
            let [training, modules, name] = ["training", "_modules", name].map(|key| keys.key(key));
            bytes.extend([&b"c__main__\nNet\n)\x81}("[..], &training, b"\x88", &modules, b"}(", &name].concat());
        }
        let parameters = keys.key("_parameters");
        let pair =
            [("weight", 0), ("bias", 1)].map(|(key, place)| [keys.key(key), tensor(2 * number + place, 1)].concat());
        bytes.extend([&b"c__main__\nLinear\n)\x81}("[..], &parameters, b"}(", &pair.concat(), b"uub"].concat());
        bytes.extend(b"uub".repeat(3));
        bytes
    };
    let layers: Vec<u8> = (0..size / 2).flat_map(&mut layer).collect();
    let list = [&b"c__main__\nList\n)\x81}"[..], &text("_modules"), b"}(", &layers, b"usb"].concat();
    let all = ["layer", "encoder", "bert"].iter().fold(list, |inner, name| {
        [&b"c__main__\nNet\n)\x81}"[..], &text("_modules"), b"}", &text(name), &inner, b"ssb"].concat()
    });
    checkpoint(&all, size, 1, false)
}

/// A stream of torch.save before 1.6: each storage has a number of elements before it. `class` gives the class of a
/// storage and the width of its elements.
fn stream_of(size: usize, class: impl Fn(usize) -> (&'static str, usize)) -> Vec<u8> {
    let pickle = |tree: &[u8]| [b"\x80\x02", tree, b"."].concat();
    let key = |number: usize| format!("{:08}", number * 7919 % 100_003);
    let tensor = |number: usize| {
        let class = format!("ctorch\n{}Storage\n", class(number).0);
        let storage = [b"(", &text("storage")[..], class.as_bytes(), &text(&key(number)), &text("cpu"), b"K\x02NtQ"];
        let rest = b"K\0K\x02\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR";
        [b"ctorch._utils\n_rebuild_tensor_v2\n(", &storage.concat()[..], rest].concat()
    };
    let mut sorted: Vec<usize> = (0..size).collect();
    sorted.sort_by_key(|number| key(*number));
    let keys: Vec<u8> = sorted.iter().flat_map(|number| text(&key(*number))).collect();
    // Zeros, and large numbers.
    let data = |number: &usize| {
        let elements = [[0, 0xff][number % 2]].repeat(2 * class(*number).1);
        [&2_u64.to_le_bytes()[..], &elements].concat()
    };
    let parts = [
        b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.".to_vec(),
        pickle(&[b"}", &text("little_endian")[..], b"\x88s"].concat()),
        pickle(&dictionary(size, name, tensor)),
        pickle(&[b"](", &keys[..], b"e"].concat()),
        sorted.iter().flat_map(data).collect(),
    ];
    parts.concat()
}

pub fn stream(size: usize) -> Vec<u8> {
    stream_of(size, |_| ("Float", 4))
}

/// The elements have many widths.
pub fn mixed_stream(size: usize) -> Vec<u8> {
    let classes = [("Float", 4), ("Double", 8), ("Half", 2), ("Byte", 1)];
    stream_of(size, |number| classes[number / 2 % 4])
}

/// Each tensor is eight dictionaries deep.
pub fn deep_tensors(size: usize) -> Vec<u8> {
    let value = |number| inside(&["a", "b", "c", "d", "e", "f", "g", "h"], tensor(number, 1));
    checkpoint(&dictionary(size, name, value), size, 1, false)
}

/// The tensors are in pairs.
pub fn pairs(size: usize) -> Vec<u8> {
    let value = |number| [&tensor(2 * number, 1)[..], &tensor(2 * number + 1, 1), b"\x86"].concat();
    checkpoint(&dictionary(size, name, value), 2 * size, 1, false)
}

/// The directory has the storages in descending order.
pub fn falling_storages(size: usize) -> Vec<u8> {
    checkpoint(&dictionary(size, name, |number| tensor(number, 1)), size, 1, true)
}

/// The storages are in the order of their keys as texts.
pub fn storages_as_texts(size: usize) -> Vec<u8> {
    let mut keys: Vec<String> = (0..size).map(|number| number.to_string()).collect();
    keys.sort();
    with_storages(&dictionary(size, name, |number| tensor(number, 1)), keys.into_iter(), 1, false)
}

/// One name is as long as all others.
pub fn long_name(size: usize) -> Vec<u8> {
    let key = |number| if number == 0 { text(&"n".repeat(20 * size)) } else { name(number) };
    checkpoint(&dictionary(size, key, |number| tensor(number, 1)), size, 1, false)
}

/// Numbers, texts and tuples.
pub fn attributes(size: usize) -> Vec<u8> {
    let value = |number: usize| match number % 3 {
        0 => text("a text"),
        1 => b"K\x01K\x02\x86".to_vec(),
        _ => b"G\x3f\xf0\0\0\0\0\0\0".to_vec(),
    };
    checkpoint(&inside(&["options"], dictionary(size, name, value)), 0, 1, false)
}

/// Objects that are put into the memo, and some of them taken from it long after.
pub fn memo(size: usize) -> Vec<u8> {
    let put = |number: usize| [&text("a text")[..], b"r", &(number as u32).to_le_bytes()].concat();
    checkpoint(
        &[b"](", &(0..size).flat_map(put).collect::<Vec<u8>>()[..], &b"h\0".repeat(32), b"e"].concat(),
        0,
        1,
        false,
    )
}

pub fn rank(size: usize) -> Vec<u8> {
    let [sizes, strides] = [b"K\x01".repeat(size), b"K\x01".repeat(size)];
    let storage =
        [b"(", &text("storage")[..], b"ctorch\nFloatStorage\n", &text("0"), &text("cpu"), b"K\x01tQK\0("].concat();
    let rest = [&sizes[..], b"t(", &strides, b"t\x89ccollections\nOrderedDict\n)RtR"].concat();
    let tree = [b"ctorch._utils\n_rebuild_tensor_v2\n(", &storage[..], &rest].concat();
    checkpoint(&[b"}", &text("t")[..], &tree, b"s"].concat(), 1, 1, false)
}

/// Storages that no tensor uses.
pub fn unused_storages(size: usize) -> Vec<u8> {
    checkpoint(b"}", size, 1, false)
}

pub fn data(size: usize) -> Vec<u8> {
    checkpoint(&[b"}", &text("t")[..], &tensor(0, size), b"s"].concat(), 1, size, false)
}

/// The last opcode is none that torch writes.
pub fn spoiled(size: usize) -> Vec<u8> {
    let tree = dictionary(size, name, |number| tensor(number, 1));
    checkpoint(&[&tree[..], b"\0"].concat(), size, 1, false)
}
