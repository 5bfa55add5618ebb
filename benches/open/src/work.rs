//! The measured operations: with tenslice, and with the reader that the format comes from.

use std::hint::black_box;
use std::io::Cursor;
use std::{env, fs, process};

use bytes::Bytes;
use ggus::GGuf;
use safetensors::SafeTensors;
use tenslice::{File, TensorEntry};
use ztensor2::format::validate::image;
use ztensor2::{Source, Vocabulary};

use crate::files::Format;
use crate::{onnx, tflite};

/// An operation on a file of N tensors.
#[derive(Clone, Copy, PartialEq)]
pub enum Mode {
    /// Opens and checks the file.
    Open,
    /// Opens the file and lists its tensors.
    OpenList,
    /// Lists the tensors of an open file: the dtype, the number of elements, the offset of the first byte.
    List,
    /// The same from a table in memory, which was filled before.
    Listed,
    /// Looks up all names of an open file in random order. Ours uses an index.
    Hit,
    /// Looks up all names in a table in memory, by comparing one after the other: for few tensors.
    HitListed,
    /// Looks up as many missing names.
    Miss,
    /// Makes an index.
    Index,
    /// Looks up the last name without an index.
    Find,
}

/// One operation. Returns a number that depends on everything that was read.
pub type Work<'a> = Box<dyn FnMut() -> u64 + 'a>;

impl Mode {
    pub const ALL: [Self; 9] = [
        Self::Open,
        Self::OpenList,
        Self::List,
        Self::Listed,
        Self::Hit,
        Self::HitListed,
        Self::Miss,
        Self::Index,
        Self::Find,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::OpenList => "open-list",
            Self::List => "list",
            Self::Listed => "listed",
            Self::Hit => "hit",
            Self::HitListed => "hit-listed",
            Self::Miss => "miss",
            Self::Index => "index",
            Self::Find => "find",
        }
    }

    /// The title of its row in the table of figures, and the numbers of tensors there.
    pub fn title(self) -> (&'static str, [usize; 2]) {
        match self {
            Self::Open => ("open and check", [300, 30_000]),
            Self::OpenList => ("open and list", [300, 30_000]),
            Self::List => ("list an open file", [300, 30_000]),
            Self::Listed => ("go through a list in memory", [300, 30_000]),
            Self::Hit => ("find a name in an index", [300, 30_000]),
            Self::HitListed => ("find a name in a list of 1, of 10 tensors", [1, 10]),
            Self::Miss => ("look up a missing name", [300, 30_000]),
            Self::Index => ("make an index", [300, 30_000]),
            Self::Find => ("find the last name without an index", [300, 30_000]),
        }
    }

    /// Prepares the operation for such a file.
    pub fn ours<'a>(self, bytes: &'a [u8]) -> Work<'a> {
        let open = move || File::open(black_box(bytes)).expect("a valid file");
        let file = open();
        match self {
            Self::Open => Box::new(move || open().tensor_count()),
            Self::OpenList => Box::new(move || list(&open(), bytes)),
            Self::List => Box::new(move || list(black_box(&file), bytes)),
            Self::Listed => {
                let entries = entries(&file);
                Box::new(move || black_box(entries).iter().map(entry_numbers).sum())
            }
            Self::HitListed => {
                let (names, entries) = (names(bytes, false), entries(&file));
                let find = move |name: &str| black_box(entries).iter().any(|entry| entry.name() == name);
                Box::new(move || count(&names, find))
            }
            Self::Hit | Self::Miss => {
                let names = names(bytes, self == Self::Miss);
                // Must live as long as the index, which lives as long as the operation.
                let words = vec![0; file.index_length().expect("few tensors")].leak();
                let index = file.index(words).expect("distinct names");
                Box::new(move || count(&names, |name| black_box(&index).find(name).is_ok()))
            }
            Self::Index => {
                let mut words = vec![0; file.index_length().expect("few tensors")];
                Box::new(move || u64::from(black_box(file.index(black_box(&mut words))).is_ok()))
            }
            Self::Find => {
                let last = file.tensors().last().expect("a tensor").name().to_string();
                Box::new(move || file.find(black_box(&last)).expect("a name of the file").index())
            }
        }
    }

    /// Prepares the same operation with the peer, if there is one.
    pub fn peer<'a>(self, format: Format, bytes: &'a [u8]) -> Option<Work<'a>> {
        let names = match self {
            Self::Hit | Self::HitListed | Self::Miss => names(bytes, self == Self::Miss),
            Self::Index | Self::Find => return None,
            _ => Vec::new(),
        };
        Some(match format {
            Format::Ztensor1 => {
                let open =
                    move || ztensor1::Reader::new(Cursor::new(black_box(bytes))).expect("what the crate has written");
                let list = |reader: &ztensor1::Reader<_>| reader.tensors().values().map(ztensor1_numbers).sum();
                let reader = open();
                match self {
                    Self::Open => Box::new(move || open().tensors().len() as u64),
                    Self::OpenList => Box::new(move || list(&open())),
                    Self::List | Self::Listed => Box::new(move || list(black_box(&reader))),
                    _ => Box::new(move || count(&names, |name| reader.get(name).is_some())),
                }
            }
            Format::Ztensor2 => {
                let vocabulary = Vocabulary::standard();
                let open = move || {
                    let manifest = image(black_box(bytes), &vocabulary).expect("what the crate has written");
                    manifest.expect("a file with a manifest of its own")
                };
                match self {
                    Self::Open => Box::new(move || open().objects.len() as u64),
                    Self::OpenList => Box::new(move || open().objects.values().map(ztensor2_numbers).sum()),
                    Self::List | Self::Listed => {
                        let manifest = open();
                        Box::new(move || black_box(&manifest).objects.values().map(ztensor2_numbers).sum())
                    }
                    _ => {
                        let path = env::temp_dir().join(format!("tenslice-names-{}.zt", process::id()));
                        fs::write(&path, bytes).expect("a file of our own");
                        let source = Source::open(&path).expect("what the crate has written");
                        let _ = fs::remove_file(&path);
                        Box::new(move || count(&names, |name| source.get(name).is_some()))
                    }
                }
            }
            Format::Safetensors => {
                let open = move || SafeTensors::deserialize(black_box(bytes)).expect("what the crate has written");
                let list = move |file: &SafeTensors<'_>| {
                    file.iter().map(|(_, view)| safetensors_numbers(&view, bytes)).sum()
                };
                let file = open();
                match self {
                    Self::Open => Box::new(move || open().len() as u64),
                    Self::OpenList => Box::new(move || list(&open())),
                    Self::List | Self::Listed => Box::new(move || list(black_box(&file))),
                    _ => Box::new(move || count(&names, |name| file.tensor(name).is_ok())),
                }
            }
            Format::Onnx => {
                let bytes = Bytes::copy_from_slice(bytes);
                let model = onnx::open(&bytes);
                match self {
                    Self::Open => Box::new(move || onnx::open(black_box(&bytes)).tensor_count()),
                    Self::OpenList => Box::new(move || onnx::open(black_box(&bytes)).list(&bytes)),
                    Self::List | Self::Listed => Box::new(move || black_box(&model).list(&bytes)),
                    _ => return None,
                }
            }
            Format::Tflite => {
                let open = move || tflite::open(black_box(bytes));
                let model = open();
                match self {
                    Self::Open => Box::new(move || open().tensor_count()),
                    Self::OpenList => Box::new(move || open().list(bytes)),
                    Self::List | Self::Listed => Box::new(move || black_box(&model).list(bytes)),
                    _ => return None,
                }
            }
            Format::Gguf | Format::Vocabulary => {
                let open = move || GGuf::new(black_box(bytes)).expect("a valid file");
                let list = move |file: &GGuf<'_>| {
                    let start = offset_of(file.data, bytes);
                    file.tensors.values().map(|tensor| start + gguf_numbers(&tensor.to_info())).sum()
                };
                let file = open();
                match self {
                    Self::Open => Box::new(move || open().tensors.len() as u64),
                    Self::OpenList => Box::new(move || list(&open())),
                    Self::List | Self::Listed => Box::new(move || list(black_box(&file))),
                    _ => Box::new(move || count(&names, |name| file.tensors.get(name).is_some())),
                }
            }
        })
    }
}

/// The sum of all element counts and data offsets: the cost of passing them on.
fn list(file: &File<'_>, bytes: &[u8]) -> u64 {
    let numbers = file.tensors().map(|tensor| {
        black_box(tensor.dtype());
        let data = tensor.component("data").expect("data");
        let data = data.bytes().expect("raw data");
        tensor.shape().element_count().expect("few elements") + offset_of(data, bytes)
    });
    numbers.sum()
}

/// A table of all tensors, which must live as long as the operation.
fn entries<'a>(file: &File<'a>) -> &'a [TensorEntry<'a>] {
    let entries = vec![TensorEntry::default(); file.tensor_count() as usize].leak();
    file.list(entries).expect("enough memory")
}

fn entry_numbers(entry: &TensorEntry<'_>) -> u64 {
    black_box(entry.dtype());
    entry.element_count().expect("few elements") + entry.extent().expect("raw data").offset
}

pub fn offset_of(part: &[u8], bytes: &[u8]) -> u64 {
    (part.as_ptr().addr() - bytes.as_ptr().addr()) as u64
}

fn ztensor1_numbers(object: &ztensor1::Object) -> u64 {
    let data = object.components.get("data").expect("dense data");
    black_box(data.dtype);
    object.num_elements().expect("few elements") + data.offset
}

fn ztensor2_numbers(object: &ztensor2::format::Object) -> u64 {
    let data = object.parts.get("data").expect("dense data");
    black_box(data.dtype);
    object.num_elements().expect("few elements") + data.blob.offset
}

fn safetensors_numbers(view: &safetensors::tensor::TensorView<'_>, bytes: &[u8]) -> u64 {
    black_box(view.dtype());
    view.shape().iter().product::<usize>() as u64 + offset_of(view.data(), bytes)
}

fn gguf_numbers(info: &ggus::GGufTensorInfo) -> u64 {
    black_box(info.ty());
    info.shape().iter().product::<u64>() + info.offset() as u64
}

/// The number of names that `find` finds.
fn count(names: &[String], find: impl Fn(&str) -> bool) -> u64 {
    names.iter().filter(|name| find(black_box(name))).count() as u64
}

/// All names of a file in random order, or as many missing names.
fn names(bytes: &[u8], absent: bool) -> Vec<String> {
    let file = File::open(bytes).expect("a valid file");
    let mut names: Vec<String> = file.tensors().map(|tensor| tensor.name().to_string()).collect();
    let mut seed = 1_u64;
    for i in (1..names.len()).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        names.swap(i, (seed >> 33) as usize % (i + 1));
    }
    if absent {
        names.iter_mut().for_each(|name| name.replace_range(name.len() - 1.., "_"));
    }
    names
}
