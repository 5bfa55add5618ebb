//! PyTorch checkpoints: archives and streams, whose trees have dictionaries, lists, tuples, modules, calls, tensors of
//! every kind and other values, written with all opcodes and with the memo. All tensors that were made are listed, in
//! their order, with their bytes, and so are the other values. Or one thing is broken: in a pickle, or in the file.

mod pickle;

use tenslice::{ErrorKind, File};

use self::pickle::{Pickle, Tensor, Value};
use crate::check;
use crate::choices::Choices;

const CRC32: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);

/// The pickles and how the file is written.
struct Made {
    pickles: Vec<Pickle>,
    is_stream: bool,
    is_big: bool,
}

impl Made {
    fn new(choices: &mut Choices<'_>) -> Self {
        let is_stream = choices.one_in(4);
        let mut pickles = vec![Pickle::new(choices, is_stream, false)];
        if !is_stream && choices.one_in(6) {
            pickles.push(Pickle::new(choices, false, true));
        }
        let is_big = !is_stream && choices.one_in(5);
        Self { pickles, is_stream, is_big }
    }

    fn write(&self, choices: &mut Choices<'_>) -> Vec<u8> {
        if self.is_stream { self.stream(choices) } else { self.archive(choices) }
    }

    /// A stored archive of the pickles and the storages.
    fn archive(&self, choices: &mut Choices<'_>) -> Vec<u8> {
        let mut entries = vec![("data.pkl".to_string(), self.pickles[0].bytes.clone())];
        if self.is_big || choices.below(2) == 0 {
            entries.push(("byteorder".into(), if self.is_big { b"big".to_vec() } else { b"little".to_vec() }));
        }
        entries.push(("version".into(), b"3\n".to_vec()));
        let mut storages: Vec<(String, Vec<u8>)> = Vec::new();
        for (pickle, folder) in self.pickles.iter().zip(["data", "constants"]) {
            let numbered = pickle.storages.iter().enumerate();
            storages.extend(numbered.map(|(number, (_, bytes))| (format!("{folder}/{number}"), bytes.clone())));
        }
        match choices.below(4) {
            2 => storages.reverse(),
            3 => storages.sort(),
            _ => {}
        }
        if choices.one_in(4) {
            storages.extend(entries);
            entries = storages;
        } else {
            entries.extend(storages);
        }
        if let Some(constants) = self.pickles.get(1) {
            entries.push(("constants.pkl".into(), constants.bytes.clone()));
        }
        let folder = choices.of(&["archive", "p", "a.b"]);
        let (has_descriptors, is_aligned, has_crc) =
            (choices.below(2) == 1, choices.below(2) == 1, choices.below(2) == 1);
        let (mut file, mut directory) = (Vec::new(), Vec::new());
        for (name, content) in &entries {
            let name = format!("{folder}/{name}");
            let crc = if has_crc { CRC32.checksum(content) } else { 0 };
            let length = (content.len() as u32).to_le_bytes();
            let at = file.len() as u32;
            let flags: u16 = if has_descriptors { 0x808 } else { 0x800 };
            let about = [&crc.to_le_bytes()[..], &length, &length].concat();
            let local = if has_descriptors { &[0; 12][..] } else { &about };
            let start = file.len() + 30 + name.len();
            let padding = if is_aligned { (start + 4).next_multiple_of(64) - start } else { 0 };
            let extra = (padding as u16).to_le_bytes();
            file.extend([b"PK\x03\x04\0\0", &flags.to_le_bytes()[..], &[0; 6], local].concat());
            file.extend([&(name.len() as u16).to_le_bytes()[..], &extra, name.as_bytes()].concat());
            if is_aligned {
                file.extend([b"FB", &(padding as u16 - 4).to_le_bytes()[..]].concat());
                file.resize(start + padding, b'Z');
            }
            file.extend(content);
            if has_descriptors {
                file.extend([b"PK\x07\x08", &about[..]].concat());
            }
            directory.extend([b"PK\x01\x02\0\0\0\0", &flags.to_le_bytes()[..], &[0; 6], &about].concat());
            directory.extend([&(name.len() as u16).to_le_bytes()[..], &[0; 12], &at.to_le_bytes()].concat());
            directory.extend(name.as_bytes());
        }
        let (start, count) = (file.len() as u32, entries.len() as u16);
        let size = directory.len() as u32;
        file.extend(directory);
        if choices.below(2) == 1 {
            let end = file.len() as u64;
            let wide = [u64::from(count), count.into(), size.into(), start.into()].map(u64::to_le_bytes).concat();
            file.extend([&b"PK\x06\x06\x2c\0\0\0\0\0\0\0\x1e\x03\x2d\0\0\0\0\0\0\0\0\0"[..], &wide].concat());
            file.extend([b"PK\x06\x07\0\0\0\0", &end.to_le_bytes()[..], &[1, 0, 0, 0]].concat());
        }
        let counts = [count.to_le_bytes(), count.to_le_bytes()].concat();
        file.extend(
            [b"PK\x05\x06\0\0\0\0", &counts[..], &size.to_le_bytes(), &start.to_le_bytes(), &[0, 0]].concat(),
        );
        file
    }

    /// The stream of five pickles, and the storages.
    fn stream(&self, choices: &mut Choices<'_>) -> Vec<u8> {
        let tree = &self.pickles[0];
        let mut file = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}(".to_vec();
        file.extend(b"X\x10\0\0\0protocol_versionM\xe9\x03X\x0d\0\0\0little_endian\x88u.");
        file.extend(&tree.bytes);
        let mut order: Vec<usize> = (0..tree.storages.len()).collect();
        if choices.below(2) == 1 {
            order.reverse();
        }
        file.extend(b"\x80\x02]q\0(");
        for number in &order {
            let key = number.to_string();
            file.extend([b"X", &(key.len() as u32).to_le_bytes()[..], key.as_bytes()].concat());
        }
        file.extend(b"e.");
        for number in &order {
            let bytes = &tree.storages[*number].1;
            let count = bytes.len() / tree.size_of(*number);
            file.extend([&(count as u64).to_le_bytes()[..], bytes].concat());
        }
        file.resize(file.len() + choices.of(&[0, 0, 0, 3]), 0);
        file
    }

    fn tensors(&self) -> impl Iterator<Item = (&Pickle, &String, &Tensor)> {
        self.pickles.iter().flat_map(|of| of.tensors.iter().map(move |(name, tensor)| (of, name, tensor)))
    }

    /// Compares all that is listed.
    fn compare(&self, file: &File<'_>) {
        let context = self.pickles[0].bytes.escape_ascii();
        let mut listed = file.tensors();
        for (pickle, name, tensor) in self.tensors() {
            let found = listed.next().unwrap_or_else(|| panic!("{name} is missing: {context}"));
            assert_eq!(found.name(), name[..], "{context}");
            assert_eq!(found.dtype(), tensor.dtype, "{name}: {context}");
            assert!(found.shape().iter().eq(tensor.shape.iter().map(|length| *length as u64)), "{name}: {context}");
            let layout = match &tensor.layout[..] {
                "" if tensor.is_dense() => "dense",
                "" => "strided",
                layout => layout,
            };
            assert_eq!(found.layout_name(), layout, "{name}: {context}");
            self.compare_bytes(pickle, tensor, &found);
        }
        assert!(listed.next().is_none(), "{context}");
        let mut values = file.attributes();
        for (path, value) in self.pickles.iter().flat_map(|pickle| &pickle.values) {
            let found = values.next().unwrap_or_else(|| panic!("{path} is missing: {context}"));
            assert!(matches!(found.key, Some(tenslice::Value::Text(key)) if key == path[..]), "{path}: {context}");
            let is_it = match (value, found.value) {
                (Value::Null, tenslice::Value::Null) => true,
                (Value::Bool(made), tenslice::Value::Bool(found)) => *made == found,
                (Value::Integer(made), tenslice::Value::Integer(found)) => *made == found,
                (Value::Float(made), tenslice::Value::Float(found)) => *made == found.to_bits(),
                (Value::Text(made), tenslice::Value::Text(found)) => found == made[..],
                (Value::Bytes(made), tenslice::Value::Bytes(found)) => found == &made[..],
                _ => false,
            };
            assert!(is_it, "{path} is {value:?}, not {:?}: {context}", found.value);
        }
        assert!(values.next().is_none() && values.error().is_none(), "{context}");
        let globals = file.as_pytorch().unwrap().globals();
        let made = self.pickles.iter().flat_map(|pickle| &pickle.globals);
        assert!(globals.map(|of| (of.module, of.name)).eq(made.map(|(module, name)| (&module[..], &name[..]))));
    }

    fn compare_bytes(&self, pickle: &Pickle, tensor: &Tensor, found: &tenslice::Tensor<'_>) {
        let Some(view) = &tensor.view else {
            return assert!(found.components().next().is_none());
        };
        let storage = &pickle.storages[view.storage].1;
        let elements = tensor.elements();
        let bytes = match (elements.iter().min(), elements.iter().max()) {
            (Some(first), Some(last)) => &storage[*first..*last + view.size],
            _ => &[],
        };
        assert_eq!(found.components().next().unwrap().stored().unwrap(), bytes);
        let Some(dtype) = tensor.dtype else { return };
        let mut strides = [0; 8];
        let strides = found.strides(&mut strides).unwrap();
        if !tensor.is_dense() {
            assert!(strides.iter().eq(view.strides.iter().map(|stride| *stride as u64).collect::<Vec<_>>().iter()));
        }
        let mut made: Vec<u8> = elements.iter().flat_map(|at| &storage[*at..at + view.size]).copied().collect();
        if self.is_big != cfg!(target_endian = "big") {
            made.chunks_mut(dtype.lane_size()).for_each(<[u8]>::reverse);
        }
        assert_eq!(check::dense(found).unwrap(), made);
    }
}

pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut made = Made::new(&mut choices);
    if !choices.is_sound {
        // In a pickle of a sound file, or anywhere.
        if choices.below(4) > 0 {
            let which = choices.below(made.pickles.len());
            for _ in 0..1 + choices.below(2) {
                choices.damage(&mut made.pickles[which].bytes);
            }
            let _ = check::all(&made.write(&mut choices));
        } else {
            let mut file = made.write(&mut choices);
            choices.damage(&mut file);
            let _ = check::all(&file);
        }
        return;
    }
    let file = made.write(&mut choices);
    let given: Vec<_> = (0..choices.below(4))
        .map(|_| {
            let from = choices.below(file.len());
            (from, from + choices.below((file.len() - from).min(100) + 1))
        })
        .collect();
    match check::open_given(&file, &given) {
        Ok(opened) => {
            made.compare(&opened);
            check::verify(&opened, &file);
            opened.tensors().for_each(|tensor| check::read(&tensor));
        }
        Err(error) => {
            let mut names: Vec<&String> = made.tensors().map(|(_, name, _)| name).collect();
            names.sort();
            let is_twice = names.windows(2).any(|two| two[0] == two[1]);
            let context = made.pickles[0].bytes.escape_ascii();
            assert!(is_twice && error.kind() == ErrorKind::RepeatedName, "{}: {context}", error.explain(&file[..]));
        }
    }
}
