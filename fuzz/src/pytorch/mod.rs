//! PyTorch checkpoints: a tree of dictionaries, lists, tuples and modules, with tensors and other values, as a pickle in
//! an archive. All names that were made are listed, in their order. Or one thing in the file is broken.

use tenslice::ErrorKind;

use crate::check;
use crate::choices::Choices;

/// A pickle that is written from the inside to the outside.
struct Tree {
    pickle: Vec<u8>,
    /// The names of the tensors, in the order of the file.
    names: Vec<String>,
    /// The lengths of the storages.
    storages: Vec<usize>,
    memo: u32,
    left: usize,
}

fn text(text: &str) -> Vec<u8> {
    [b"X", &(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
}

fn inside(path: &str, key: &str) -> String {
    if path.is_empty() { key.into() } else { format!("{path}.{key}") }
}

impl Tree {
    /// Writes a tensor: a view of a storage of its own, or of an earlier one.
    fn tensor(&mut self, choices: &mut Choices<'_>, name: String) {
        if self.storages.is_empty() || choices.below(3) > 0 {
            self.storages.push(choices.below(20));
        }
        let number = self.storages.len() - 1;
        let length = self.storages[number];
        let offset = choices.below(length + 1);
        let size = choices.below(length - offset + 1);
        self.pickle.extend(b"ctorch._utils\n_rebuild_tensor_v2\n((");
        self.pickle.extend([text("storage"), b"ctorch\nFloatStorage\n".to_vec()].concat());
        self.pickle.extend([text(&number.to_string()), text("cpu"), vec![b'K', length as u8]].concat());
        self.pickle.extend([b't', b'Q', b'K', offset as u8, b'K', size as u8, 0x85, b'K', 1, 0x85, 0x89]);
        self.pickle.extend(b"ccollections\nOrderedDict\n)RtR");
        self.put(choices);
        self.names.push(name);
    }

    /// Puts the last object into the memo, perhaps.
    fn put(&mut self, choices: &mut Choices<'_>) {
        if choices.below(2) == 1 {
            self.pickle.push(b'r');
            self.pickle.extend(self.memo.to_le_bytes());
            self.memo += 1 + choices.below(2) as u32;
        }
    }

    /// Writes an empty dictionary and its items. Keys are texts or numbers, and never repeated.
    fn dictionary(&mut self, choices: &mut Choices<'_>, path: &str, depth: usize) {
        self.pickle.push(b'}');
        self.put(choices);
        let count = choices.below(4);
        // Without a mark, each item is set alone.
        let has_mark = choices.below(2) == 1;
        if has_mark {
            self.pickle.push(b'(');
        }
        for number in 0..count {
            let key = if choices.one_in(3) {
                self.pickle.extend([b'K', number as u8]);
                number.to_string()
            } else {
                let key = format!("{}{number}", choices.of(&["weight", "", "exp avg", "gr\u{fc}n"]));
                let key = if key == number.to_string() { format!("k{number}") } else { key };
                self.pickle.extend(text(&key));
                key
            };
            self.put(choices);
            self.value(choices, inside(path, &key), depth + 1);
            if !has_mark {
                self.pickle.push(b's');
            }
        }
        if has_mark {
            self.pickle.push(b'u');
        }
    }

    /// Writes a list or a tuple.
    fn sequence(&mut self, choices: &mut Choices<'_>, path: &str, depth: usize) {
        let count = choices.below(4);
        match choices.below(4) {
            0 => {
                self.pickle.extend(b"](");
                (0..count).for_each(|place| self.value(choices, inside(path, &place.to_string()), depth + 1));
                self.pickle.push(b'e');
            }
            1 => {
                self.pickle.push(b']');
                for place in 0..count {
                    self.value(choices, inside(path, &place.to_string()), depth + 1);
                    self.pickle.push(b'a');
                }
            }
            2 => {
                self.pickle.push(b'(');
                (0..count).for_each(|place| self.value(choices, inside(path, &place.to_string()), depth + 1));
                self.pickle.push(b't');
            }
            _ => {
                let count = count.clamp(1, 3);
                for place in 0..count {
                    // A tuple without a mark has few objects before it.
                    self.leaf(choices, inside(path, &place.to_string()));
                }
                self.pickle.push(0x84 + count as u8);
            }
        }
        self.put(choices);
    }

    fn leaf(&mut self, choices: &mut Choices<'_>, path: String) {
        match choices.below(6) {
            0 => self.pickle.push(b'N'),
            1 => self.pickle.extend([b'K', 7]),
            2 => self.pickle.extend(text("a value")),
            _ => self.tensor(choices, path),
        }
    }

    fn value(&mut self, choices: &mut Choices<'_>, path: String, depth: usize) {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 || depth > 12 {
            return self.leaf(choices, path);
        }
        match choices.below(5) {
            0 | 1 => self.dictionary(choices, &path, depth),
            2 => self.sequence(choices, &path, depth),
            3 => {
                // A module: the items of its state, of which `_modules` adds nothing.
                self.pickle.extend(b"c__main__\nNet\n)\x81}");
                self.pickle.extend(text("_modules"));
                self.dictionary(choices, &path, depth);
                self.pickle.extend(b"sb");
            }
            _ => self.leaf(choices, path),
        }
    }
}

/// A stored archive of the pickle and the storages, without checksums.
fn archive(tree: &Tree) -> Vec<u8> {
    let mut entries = vec![("p/data.pkl".into(), tree.pickle.clone()), ("p/version".into(), b"3\n".to_vec())];
    let storages = tree.storages.iter().enumerate();
    entries.extend(storages.map(|(number, length)| (format!("p/data/{number}"), vec![0; 4 * length])));
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in &entries {
        let length = (content.len() as u32).to_le_bytes();
        let about = [&[0; 12][..], &length, &length, &(name.len() as u16).to_le_bytes(), &[0, 0]].concat();
        let at = (file.len() as u32).to_le_bytes();
        file.extend([b"PK\x03\x04\0\0", &about[..], name.as_bytes(), content].concat());
        directory.extend([b"PK\x01\x02\0\0\0\0", &about[..], &[0; 10], &at, name.as_bytes()].concat());
    }
    let (start, count) = ((file.len() as u32).to_le_bytes(), (entries.len() as u16).to_le_bytes());
    let size = (directory.len() as u32).to_le_bytes();
    file.extend(directory);
    file.extend([&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &size, &start, &[0, 0]].concat());
    file
}

pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut tree = Tree { pickle: b"\x80\x02".to_vec(), names: vec![], storages: vec![], memo: 0, left: 40 };
    tree.value(&mut choices, String::new(), 0);
    tree.pickle.push(b'.');
    let mut file = archive(&tree);
    if !choices.is_sound {
        choices.damage(&mut file);
        let _ = check::all(&file);
        return;
    }
    match check::all(&file) {
        Ok(opened) => {
            let names: Vec<String> = opened.tensors().map(|tensor| tensor.name().to_string()).collect();
            assert_eq!(names, tree.names, "{}", tree.pickle.escape_ascii());
        }
        Err(error) => {
            let mut names = tree.names.clone();
            names.sort();
            let is_twice = names.windows(2).any(|two| two[0] == two[1]);
            assert!(is_twice && error.kind() == ErrorKind::RepeatedName, "{}", error.explain(&file[..]));
        }
    }
}
