//! What the tests share: the files with known results, sources that hold little, and a writer of CBOR.
#![allow(dead_code)] // each test uses its part

use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use tenslice::{Error, File, Opened, Source};

/// A file with its side-car.
pub struct Case {
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    pub expected: Json,
}

impl Case {
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    pub fn expect(&self) -> &str {
        self.expected["expect"].as_str().expect("a side-car states what to expect")
    }

    /// Whether a reader that decodes no data can see what is wrong.
    pub fn is_seen_at_open(&self) -> bool {
        self.expected["level"].as_str().is_none_or(|level| level == "open")
    }
}

/// The fixtures and, where `TENSLICE_CORPUS` names a folder, all files below it that have a side-car.
/// zTensor 2 is not read yet.
pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"), &mut all);
    assert!(all.len() > 100, "the fixtures are not there: {}", all.len());
    if let Some(corpus) = std::env::var_os("TENSLICE_CORPUS") {
        let before = all.len();
        below(Path::new(&corpus), &mut all);
        assert!(all.len() > before, "no files below {}", corpus.display());
    }
    all.retain(|case| case.expected["format"] == "ztensor" && case.expected["generation"] != "2");
    all.retain(|case| !case.expected["generation"].as_str().is_none_or(|generation| generation.starts_with('2')));
    all
}

fn below(folder: &Path, all: &mut Vec<Case>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            below(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "zt") {
            let side_car = PathBuf::from(format!("{}.json", path.display()));
            let expected = serde_json::from_slice(&std::fs::read(side_car).unwrap()).unwrap();
            all.push(Case { bytes: std::fs::read(&path).unwrap(), path, expected });
        }
    }
}

pub fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)).unwrap()
}

/// Opens `bytes` over a source that is given just the ranges it asks for, after `first`.
/// Panics where it asks for a range again, or for too many.
pub fn open_in_parts<'s, 'a>(
    bytes: &'a [u8],
    first: &[(usize, usize)],
    source: &'s mut Source<'a>,
) -> Result<File<'s>, Error> {
    for &(from, to) in first {
        source.add(from as u64, &bytes[from..to]).unwrap();
    }
    let mut asked = Vec::new();
    loop {
        match File::open_source(source)? {
            Opened::File(_) => break,
            Opened::Need(need) => {
                assert!(!asked.contains(&need), "asked again for {need:?}");
                assert!(need.extent.is_within(bytes.len() as u64), "{need:?} lies outside");
                assert!(need.extent.length < 1 << 32);
                asked.push(need);
                let from = need.extent.offset as usize;
                source.add(need.extent.offset, &bytes[from..from + need.extent.length as usize]).unwrap();
            }
        }
    }
    match File::open_source(source)? {
        Opened::File(file) => Ok(file),
        Opened::Need(need) => panic!("open, and then {need:?}"),
    }
}

/// All that can be asked of a file, as text: two files that give the same text are the same to a user.
pub fn describe(file: &File<'_>) -> String {
    use std::fmt::Write;
    let mut out = format!("{} {:?} {:?} {}\n", file.format(), file.version(), file.warnings(), file.tensor_count());
    describe_attributes(&mut out, file.attributes(), 0);
    for tensor in file.tensors() {
        let _ = writeln!(
            out,
            "{:?} {:?} {} {:?} {} {:?} {}",
            tensor.name(),
            tensor.dtype(),
            tensor.shape(),
            tensor.layout(),
            tensor.layout_name(),
            tensor.order(),
            tensor.warnings()
        );
        describe_attributes(&mut out, tensor.attributes(), 1);
        for c in tensor.components() {
            let _ = writeln!(
                out,
                "  {:?} {:?} {:?} {:?} {:?} {} {:?} {:?}",
                c.role(),
                c.dtype(),
                c.storage_dtype(),
                c.byte_order(),
                c.extent(),
                c.encoding_name(),
                c.decoded_length(),
                c.digest()
            );
        }
    }
    assert_eq!(file.tensors().error(), None);
    out
}

fn describe_attributes(out: &mut String, attributes: tenslice::Attributes<'_>, depth: usize) {
    use std::fmt::Write;
    for attribute in attributes {
        let key = attribute.key.map(|key| format!("{key:?}"));
        let inside = attribute.value.items();
        let value =
            if inside.is_some() { attribute.value.kind().text().into() } else { format!("{:?}", attribute.value) };
        let _ = writeln!(out, "{:depth$}{key:?} = {value}", "");
        if let Some(items) = inside {
            describe_attributes(out, items, depth + 1);
        }
    }
}

/// A generator of numbers that look random: the same at every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// Writes CBOR, item by item.
#[derive(Default)]
pub struct Cbor(pub Vec<u8>);

impl Cbor {
    pub fn head(&mut self, major: u8, n: u64) -> &mut Self {
        let major = major << 5;
        match n {
            0..24 => self.0.push(major | n as u8),
            24..0x100 => self.0.extend([major | 24, n as u8]),
            0x100..0x1_0000 => {
                self.0.push(major | 25);
                self.0.extend((n as u16).to_be_bytes());
            }
            0x1_0000..0x1_0000_0000 => {
                self.0.push(major | 26);
                self.0.extend((n as u32).to_be_bytes());
            }
            _ => {
                self.0.push(major | 27);
                self.0.extend(n.to_be_bytes());
            }
        }
        self
    }

    pub fn uint(&mut self, n: u64) -> &mut Self {
        self.head(0, n)
    }

    pub fn text(&mut self, text: &str) -> &mut Self {
        self.head(3, text.len() as u64);
        self.raw(text.as_bytes())
    }

    pub fn array(&mut self, count: u64) -> &mut Self {
        self.head(4, count)
    }

    pub fn map(&mut self, count: u64) -> &mut Self {
        self.head(5, count)
    }

    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend(bytes);
        self
    }
}

/// A component of four bytes at offset 64, as 1.1 and 1.2 write it.
pub fn component(cbor: &mut Cbor) {
    cbor.map(3).text("dtype").text("f32").text("offset").uint(64).text("length").uint(4);
}

/// A dense tensor of one `f32`, as 1.1 and 1.2 write it.
pub fn tensor(cbor: &mut Cbor, name: &str) {
    cbor.text(name).map(3).text("shape").array(0).text("format").text("dense").text("components");
    cbor.map(1).text("data");
    component(cbor);
}

/// A file of 1.2: 4 bytes of data at 64, then the manifest.
pub fn file_1_2(manifest: &[u8]) -> Vec<u8> {
    let mut file = b"ZTEN1000".to_vec();
    file.resize(64, 0);
    file.extend(1.5_f32.to_le_bytes());
    file.extend(manifest);
    file.extend((manifest.len() as u64).to_le_bytes());
    file.extend(b"ZTEN1000");
    file
}

/// A file of 0.1: the same.
pub fn file_0_1(manifest: &[u8]) -> Vec<u8> {
    let mut file = b"ZTEN0001".to_vec();
    file.resize(64, 0);
    file.extend(1.5_f32.to_le_bytes());
    file.extend(manifest);
    file.extend((manifest.len() as u64).to_le_bytes());
    file
}

/// A manifest of 1.2 with these tensors, each of one `f32`.
pub fn manifest_1_2<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.map(2).text("version").text("1.2.0").text("objects").map(names.len() as u64);
    for name in names {
        tensor(&mut cbor, name);
    }
    cbor.0
}

/// An entry of 0.1.
pub fn entry_0_1(cbor: &mut Cbor, name: &str) {
    cbor.map(7).text("name").text(name).text("offset").uint(64).text("size").uint(4);
    cbor.text("dtype").text("float32").text("layout").text("dense").text("shape").array(0);
    cbor.text("encoding").text("raw");
}
