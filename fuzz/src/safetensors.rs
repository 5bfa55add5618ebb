//! A valid safetensors file from arbitrary choices, with any spelling that JSON allows, or with one thing broken; the
//! index of a model in the same way, and any bytes as an index. A valid file is listed as it was made. Opening whole
//! and in parts gives the same result. The tensors of an accepted file cover the data, each byte once.

use std::io::Write;

use tenslice::safetensors::Index;
use tenslice::{Attributes, DType, ErrorKind, File};

use crate::check;
use crate::choices::Choices;

const DTYPES: [(&str, DType); 22] = [
    ("BOOL", DType::BOOL), ("U8", DType::U8), ("I8", DType::I8), ("F4", DType::F4_E2M1), ("F6_E2M3", DType::F6_E2M3),
    ("F6_E3M2", DType::F6_E3M2), ("F8_E4M3", DType::F8_E4M3FN), ("F8_E5M2", DType::F8_E5M2),
    ("F8_E8M0", DType::F8_E8M0), ("F8_E4M3FNUZ", DType::F8_E4M3FNUZ), ("F8_E5M2FNUZ", DType::F8_E5M2FNUZ),
    ("U16", DType::U16), ("I16", DType::I16), ("F16", DType::F16), ("BF16", DType::BF16), ("F32", DType::F32),
    ("U32", DType::U32), ("I32", DType::I32), ("C64", DType::C64), ("F64", DType::F64), ("U64", DType::U64),
    ("I64", DType::I64),
];

/// Numbers that a reader may handle wrongly.
const NUMBERS: [&str; 16] = [
    "0", "1", "2", "7", "8", "18446744073709551615", "18446744073709551616", "9223372036854775808", "4294967296",
    "-0", "-1", "00", "01", "1.0", "1e1", "99999999999999999999",
];

const CHARACTERS: [char; 12] = ['a', '.', '_', '"', '\\', '/', '\0', '\u{1f}', '\u{7f}', 'é', '\u{ffff}', '\u{1f600}'];

struct Tensor {
    name: String,
    dtype: (&'static str, DType),
    shape: Vec<u64>,
    begin: u64,
    length: u64,
}

/// Writes JSON with spellings that the fuzzer chooses.
struct Writer<'b> {
    choices: Choices<'b>,
    json: Vec<u8>,
}

/// A valid file and its tensors, and the file with one thing broken.
fn made(writer: &mut Writer<'_>) -> (Vec<u8>, Vec<Tensor>, Vec<u8>) {
    let (tensors, length) = writer.tensors();
    writer.header(&tensors);
    let mut header = std::mem::take(&mut writer.json);
    let valid = file(&header, length);
    writer.break_text(&mut header);
    let mut broken = file(&header, length);
    if writer.one_in(4) {
        let at = writer.below(broken.len());
        match writer.below(4) {
            0 => broken.truncate(at),
            1 => broken.push(0),
            2 => broken[at % 8] ^= 1 << writer.below(8),
            _ => drop(broken.remove(at)),
        }
    }
    (valid, tensors, broken)
}

/// A valid file, and one with one thing broken.
#[cfg(feature = "second")]
pub(crate) fn files(bytes: &[u8]) -> [Vec<u8>; 2] {
    let (valid, _, broken) = made(&mut Writer { choices: Choices::new(bytes), json: Vec::new() });
    [valid, broken]
}

pub fn run(bytes: &[u8]) {
    let mut writer = Writer { choices: Choices::new(bytes), json: Vec::new() };
    let is_sound = writer.choices.is_sound;
    if writer.one_in(3) {
        return index(&mut writer, is_sound, bytes);
    }
    let (valid, tensors, broken) = made(&mut writer);
    if is_sound { open_as(&valid, Some(&tensors)) } else { open_as(&broken, None) }
}

/// The index of a model in several files, valid or broken, and any bytes as an index.
fn index(writer: &mut Writer<'_>, is_sound: bool, bytes: &[u8]) {
    let (tensors, _) = writer.tensors();
    let files: Vec<String> = tensors.iter().map(|_| format!("{}.safetensors", writer.below(3))).collect();
    writer.index(&tensors, &files);
    let mut index = std::mem::take(&mut writer.json);
    if is_sound {
        let expected: Vec<_> = tensors.iter().map(|tensor| tensor.name.clone()).zip(files).collect();
        open_index_as(&index, Some(&expected));
    } else {
        writer.break_text(&mut index);
        open_index_as(&index, None);
        open_index_as(bytes, None);
    }
}

/// A file with that header and data of that length.
fn file(header: &[u8], length: u64) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header, &vec![0; length as usize]].concat()
}

/// Opens a file whole and in parts. `expected` has its tensors if it is valid.
fn open_as(bytes: &[u8], expected: Option<&[Tensor]>) {
    match check::all(bytes) {
        Ok(file) => list(&file, expected),
        Err(error) => assert!(expected.is_none(), "{}", error.explain(bytes)),
    }
}

/// Lists everything. The tensors cover the data, each byte once.
fn list(file: &File<'_>, expected: Option<&[Tensor]>) {
    let Some(inner) = file.as_safetensors() else {
        assert!(expected.is_none());
        return;
    };
    assert!(file.warnings().is_empty()); // there are few tensors
    walk(file.attributes(), 0);
    let mut extents = Vec::new();
    let mut tensors = file.tensors();
    for (index, tensor) in (0..).zip(tensors.by_ref()) {
        let name = tensor.name().to_string();
        assert_eq!((tensor.index(), file.find(&name).unwrap().index()), (index, index));
        assert_eq!(tensor.name().length(), name.len());
        let extent = tensor.data().unwrap().extent();
        assert_eq!(tensor.data().unwrap().bytes().unwrap().len() as u64, extent.length);
        let count = tensor.shape().element_count().unwrap();
        assert_eq!(u128::from(count) * u128::from(tensor.dtype().unwrap().bits()), u128::from(extent.length) * 8);
        extents.push(extent);
        if let Some(expected) = expected.map(|expected| &expected[index as usize]) {
            assert_eq!((name, tensor.dtype()), (expected.name.clone(), Some(expected.dtype.1)));
            assert_eq!(tensor.shape(), expected.shape[..]);
            assert_eq!((extent.offset - inner.data().offset, extent.length), (expected.begin, expected.length));
        }
    }
    assert_eq!(tensors.error(), None);
    assert_eq!(extents.len() as u64, file.tensor_count());
    assert!(expected.is_none_or(|expected| expected.len() == extents.len()));
    let (start, end) = (inner.data().offset, file.length());
    assert!(extents.iter().all(|extent| extent.offset >= start && extent.offset <= end));
    extents.retain(|extent| extent.length > 0);
    extents.sort_by_key(|extent| extent.offset);
    assert_eq!(extents.iter().fold(start, |at, extent| {
        assert_eq!(extent.offset, at);
        at + extent.length
    }), end);
}

/// Opens an index, and lists it. `expected` has the names of tensors and files if it is valid.
fn open_index_as(text: &[u8], expected: Option<&[(String, String)]>) {
    let index = match Index::open(text) {
        Ok(index) => index,
        Err(error) => {
            assert!(expected.is_none(), "{}", error.explain(text));
            assert!(error.offset().is_some_and(|at| at <= text.len() as u64));
            assert!(!error.explain(text).to_string().is_empty());
            return;
        }
    };
    walk(index.metadata(), 0);
    let mut entries = index.entries();
    let found: Vec<_> = entries.by_ref().map(|entry| (entry.name.to_string(), entry.file.to_string())).collect();
    assert_eq!((entries.error(), found.len() as u64), (None, index.tensor_count()));
    assert!(expected.is_none_or(|expected| expected == found));
    for (name, file) in &found {
        assert_eq!(index.find(name).unwrap(), file.as_str());
        // The path is below the folder.
        let names: Vec<&str> = file.split('/').collect();
        assert!(!file.starts_with('/') && !file.contains(['\\', ':', '\0']) && !names.contains(&".."), "{file}");
        assert!(!["", "."].contains(names.last().unwrap()), "{file}");
    }
    let mut scratch = vec![0; found.len()];
    let files: Vec<_> = index.files(&mut scratch).unwrap().map(|file| file.to_string()).collect();
    let mut expected: Vec<_> = found.iter().map(|(_, file)| file.clone()).collect();
    expected.sort();
    expected.dedup();
    assert_eq!(files, expected);
    if let Some(less) = found.len().checked_sub(1) {
        assert_eq!(index.files(&mut scratch[..less]).unwrap_err().kind(), ErrorKind::OutOfScratch);
        assert!(index.check(&mut scratch[..found.len().div_ceil(8)]).unwrap().is_empty());
    }
}

/// Reads all attributes, and the values inside them.
fn walk(attributes: Attributes<'_>, depth: usize) {
    assert!(depth < 200);
    let mut all = attributes;
    for attribute in all.by_ref() {
        match attribute.value.items() {
            Some(items) => walk(items, depth + 1),
            None => drop(format!("{:?}", attribute.value)),
        }
    }
    assert_eq!(all.error(), None);
}

impl Writer<'_> {
    /// A choice. It is 0 when the fuzzer's bytes are used up.
    fn below(&mut self, bound: usize) -> usize {
        self.choices.below(bound)
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 1
    }

    /// Tensors that cover the data in any order, and the length of the data.
    fn tensors(&mut self) -> (Vec<Tensor>, u64) {
        let count = self.below(9);
        let mut tensors: Vec<Tensor> = (0..count).map(|i| self.tensor(i)).collect();
        let mut order: Vec<usize> = (0..count).collect();
        if self.one_in(2) {
            for i in 0..count {
                order.swap(i, self.below(count));
            }
        }
        let mut end = 0;
        for i in order {
            tensors[i].begin = end;
            end += tensors[i].length;
        }
        for tensor in tensors.iter_mut().filter(|tensor| tensor.length == 0) {
            tensor.begin = self.below(end as usize + 1) as u64; // anywhere
        }
        (tensors, end)
    }

    fn tensor(&mut self, index: usize) -> Tensor {
        let mut name: String = (0..self.below(6)).map(|_| CHARACTERS[self.below(CHARACTERS.len())]).collect();
        name.insert_str(if self.one_in(2) { 0 } else { name.len() }, &index.to_string());
        let dtype = DTYPES[self.below(DTYPES.len())];
        let mut shape: Vec<u64> = (0..self.below(5)).map(|_| self.below(4) as u64).collect();
        if dtype.1.is_packed() {
            shape.push(4);
        }
        let elements: u64 = shape.iter().product();
        if elements == 0 {
            shape.extend([u64::MAX, 1 << 32].iter().take(self.below(3)));
        }
        Tensor { name: name + "~", dtype, shape, begin: 0, length: elements * dtype.1.bits() / 8 }
    }

    fn token(&mut self, token: &str) {
        self.space();
        self.json.extend(token.as_bytes());
        self.space();
    }

    fn space(&mut self) {
        if !self.json.is_empty() && self.one_in(8) {
            let space = [b' ', b'\t', b'\n', b'\r'][self.below(4)];
            self.json.push(space);
        }
    }

    fn string(&mut self, text: &str) {
        self.space();
        self.json.push(b'"');
        for character in text.chars() {
            let escape = self.below(8);
            match character {
                '"' | '\\' | '/' if escape == 1 => self.json.extend([b'\\', character as u8]),
                '"' | '\\' | '\0'..='\u{1f}' => write!(self.json, "\\u{:04x}", u32::from(character)).unwrap(),
                _ if escape == 2 => {
                    let mut units = [0; 2];
                    for unit in character.encode_utf16(&mut units) {
                        write!(self.json, "\\u{unit:04X}").unwrap();
                    }
                }
                _ => self.json.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        self.json.push(b'"');
        self.space();
    }

    /// Any value, nested less than `depth` deep.
    fn value(&mut self, depth: usize) {
        match self.below(if depth > 0 { 8 } else { 4 }) {
            0 => self.token("null"),
            1 => {
                let words = ["true", "false", "0", "-0", "-12.5E-3", "18446744073709551616"];
                let word = words[self.below(6)];
                self.token(word);
            },
            2 => self.token("1e999"),
            3 => self.string("a\"\u{1f600}"),
            end @ (4 | 5) => {
                let (begin, end) = if end == 4 { ("[", "]") } else { ("{", "}") };
                self.token(begin);
                for i in 0..self.below(4) {
                    if i > 0 {
                        self.token(",");
                    }
                    if end == "}" {
                        self.string("\\k");
                        self.token(":");
                    }
                    self.value(depth - 1);
                }
                self.token(end);
            }
            deep => {
                let depth = self.below(110);
                let [begin, end] = if deep == 6 { ["[", "]"] } else { ["{\"\":", "}"] };
                let value = [&*begin.repeat(depth), "1", &*end.repeat(depth)].concat();
                self.token(&value);
            }
        }
    }

    fn header(&mut self, tensors: &[Tensor]) {
        let metadata = self.below(2 * tensors.len() + 2);
        self.json.push(b'{');
        let mut is_first = true;
        for place in 0..=tensors.len() {
            if place == metadata {
                self.comma(&mut is_first);
                self.string("__metadata__");
                self.token(":");
                self.token("{");
                let mut is_first = true;
                for _ in 0..self.below(4) {
                    self.comma(&mut is_first);
                    self.string("k/");
                    self.token(":");
                    self.string("\u{7f}é\n");
                }
                self.token("}");
            }
            if let Some(tensor) = tensors.get(place) {
                self.comma(&mut is_first);
                self.string(&tensor.name);
                self.token(":");
                self.entry(tensor);
            }
        }
        self.token("}");
    }

    fn entry(&mut self, tensor: &Tensor) {
        let turn = self.below(6);
        self.token("{");
        let mut is_first = true;
        for field in 0..3 {
            if self.one_in(6) {
                self.comma(&mut is_first);
                self.string("shape ");
                self.token(":");
                self.value(3);
            }
            self.comma(&mut is_first);
            match (field + turn) % 3 {
                0 => {
                    self.string("dtype");
                    self.token(":");
                    self.string(tensor.dtype.0);
                }
                1 => {
                    self.string("shape");
                    self.token(":");
                    self.numbers(&tensor.shape);
                }
                _ => {
                    self.string("data_offsets");
                    self.token(":");
                    self.numbers(&[tensor.begin, tensor.begin + tensor.length]);
                }
            }
        }
        self.token("}");
    }

    fn comma(&mut self, is_first: &mut bool) {
        if !std::mem::take(is_first) {
            self.token(",");
        }
    }

    fn numbers(&mut self, numbers: &[u64]) {
        self.token("[");
        let mut is_first = true;
        for number in numbers {
            self.comma(&mut is_first);
            self.token(&number.to_string());
        }
        self.token("]");
    }

    fn index(&mut self, tensors: &[Tensor], files: &[String]) {
        let map = self.below(3);
        self.token("{");
        let mut is_first = true;
        for field in 0..3 {
            self.comma(&mut is_first);
            if field != map {
                self.string(["metadata", "other", "other"][field]);
                self.token(":");
                self.value(4);
                continue;
            }
            self.string("weight_map");
            self.token(":");
            self.token("{");
            let mut is_first = true;
            for (tensor, file) in tensors.iter().zip(files) {
                self.comma(&mut is_first);
                self.string(&tensor.name);
                self.token(":");
                self.string(file);
            }
            self.token("}");
        }
        self.token("}");
    }

    /// Breaks one thing.
    fn break_text(&mut self, text: &mut Vec<u8>) {
        let (at, other) = (self.below(text.len()), self.below(text.len()));
        let (from, to) = (at.min(other), at.max(other).min(at.min(other) + 80));
        let byte = b"\"\\{}[],:0-eu\0\x80\xff/"[self.below(16)];
        match self.below(8) {
            0 => text[at] = byte,
            1 => text.insert(at, byte),
            2 => drop(text.remove(at)),
            3 => drop(text.drain(from..to)),
            4 => {
                let part = text[from..to].to_vec();
                text.splice(from..from, part);
            }
            5 => text[at] ^= 1 << self.below(8),
            6 => text.swap(at, other),
            _ => {
                let number = |byte: &u8| byte.is_ascii_digit();
                let Some(start) = text[at..].iter().position(number).map(|start| at + start) else { return };
                let length = text[start..].iter().take_while(|byte| number(byte)).count();
                let new = NUMBERS[self.below(NUMBERS.len())];
                text.splice(start..start + length, new.bytes());
            }
        }
    }
}
