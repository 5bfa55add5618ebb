//! Code that the tests share: the files with known contents, sources for opening in parts, and a CBOR writer.
#![allow(dead_code)] // each test uses only a part

pub mod flatbuffers;
pub mod frames;
pub mod gguf;
pub mod protobuf;
pub mod ptd;
pub mod tflite;
#[cfg(feature = "ztensor2")]
pub mod ztensor2;

use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use tenslice::{
    ByteOrder, Encoding, Error, ErrorKind, Expected, File, Layout, Opened, Piece, Purpose, ReadOptions, Source,
    Tensor, Warning, Warnings,
};

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

    pub fn format(&self) -> &str {
        self.expected["format"].as_str().expect("a side-car states the format")
    }

    /// True if a reader that reads no data can detect the fault, or the reason for a warning.
    pub fn is_seen_at_open(&self) -> bool {
        let level = self.expected["level"].as_str().or(self.expected["reject"]["stage"].as_str());
        let level = level.or(self.expected["stage"].as_str());
        let mut warnings = self.expected["warnings"].as_array().into_iter().flatten().peekable();
        let of_pairs = warnings.peek().is_some() && warnings.all(|w| w.as_str().unwrap().starts_with("ix_"));
        level.is_none_or(|level| level == "open") && !of_pairs
    }
}

/// The folders of files with known contents: the fixtures and, if `TENSLICE_CORPUS` names one, a corpus.
pub fn folders() -> Vec<PathBuf> {
    let corpus = std::env::var_os("TENSLICE_CORPUS").map(PathBuf::from);
    [Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")].into_iter().chain(corpus).collect()
}

/// All files in these folders that have a side-car and whose format is built in.
pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for folder in folders() {
        let before = all.len();
        below(&folder, &mut all);
        assert!(all.len() > before + 20, "no files below {}", folder.display());
    }
    all
}

/// The cases of one format.
pub fn cases_of(format: &str) -> Vec<Case> {
    let mut all = cases();
    // A frame without an array has the same format.
    all.retain(|case| case.format() == format || (format, case.format()) == ("b2nd", "b2frame"));
    assert!(!all.is_empty(), "no files of {format}");
    all
}

/// The tensors of a file; of many, some hundred throughout the file, for tests whose time is quadratic in their number.
pub fn some_hundred<'a>(file: &File<'a>) -> impl Iterator<Item = Tensor<'a>> + use<'a> {
    file.tensors().step_by(1 + (file.tensor_count() / 100) as usize)
}

/// True if the format is built in.
pub fn is_built_in(format: &str) -> bool {
    let formats = [
        ("ztensor", cfg!(feature = "ztensor")),
        ("tens", cfg!(feature = "tens")),
        ("blz", cfg!(feature = "blz")),
        ("b2nd", cfg!(feature = "b2nd")),
        ("npy", cfg!(feature = "npy")),
        ("npz", cfg!(feature = "npz")),
        ("safetensors", cfg!(feature = "safetensors")),
        ("gguf", cfg!(feature = "gguf")),
        ("ztensor2", cfg!(feature = "ztensor2")),
        ("pytorch", cfg!(feature = "pytorch")),
        ("onnx", cfg!(feature = "onnx")),
        ("ptd", cfg!(feature = "ptd")),
        ("tflite", cfg!(feature = "tflite")),
    ];
    formats.contains(&(format, true))
}

/// Files whose side-car in a corpus contradicts other files of the format. The side-cars of the fixtures are right.
/// Tensors of five dimensions are published and are read by gguf-py.
const CONTRADICTED: [&str; 1] = ["gg_rank5.gguf"];

/// A file that is malformed as an archive of NumPy, and a checkpoint if that format is built in.
pub const CHECKPOINT: &str = "np_torch_like.npz";

/// The endings of the files that have side-cars.
const ENDINGS: &[&str] =
    &["zt", "b2nd", "b2frame", "npy", "npz", "safetensors", "gguf", "tens", "blz", "pt", "onnx", "ptd", "tflite"];

fn below(folder: &Path, all: &mut Vec<Case>) {
    for path in entries(folder) {
        if path.is_dir() {
            below(&path, all);
            continue;
        }
        if !path.extension().is_some_and(|found| ENDINGS.iter().any(|ending| found == *ending)) {
            continue;
        }
        if is_built_in("pytorch") && path.ends_with(CHECKPOINT) {
            continue;
        }
        let is_fixture = path.starts_with(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures"));
        if !is_fixture && CONTRADICTED.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        // `a.zt.json` beside `a.zt`; some folders have `a.json` beside `a.blz`.
        let side_cars = [PathBuf::from(format!("{}.json", path.display())), path.with_extension("json")];
        let Some(side_car) = side_cars.iter().find_map(|path| std::fs::read(path).ok()) else { continue };
        let expected: Json = serde_json::from_slice(&side_car).unwrap();
        let is_read = match expected["format"].as_str() {
            Some("ztensor") if expected["generation"] == "2" => is_built_in("ztensor2"),
            Some("b2frame") => is_built_in("b2nd"),
            Some(format) => is_built_in(format),
            None => false,
        };
        if is_read {
            all.push(Case { bytes: std::fs::read(&path).unwrap(), path, expected });
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

/// A damaged file: its name, its bytes, and the expected outcome.
pub struct Damaged {
    pub name: String,
    pub bytes: Vec<u8>,
    pub expect: String,
    /// The codes of the faults or warnings.
    pub codes: String,
}

/// The tables of prefixes and mutations of the files of one format.
pub fn damaged(format: &str) -> Vec<Damaged> {
    fn tables(folder: &Path, format: &str, all: &mut Vec<Damaged>) {
        for path in entries(folder) {
            if path.is_dir() {
                tables(&path, format, all);
            } else if folder.ends_with(format)
                && path.file_name().is_some_and(|name| name == "prefixes.json" || name == "mutations.json")
            {
                let table: Json = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
                for series in table["series"].as_array().unwrap() {
                    let base = series["base"].as_str().unwrap();
                    let bytes = std::fs::read(folder.join(base)).unwrap();
                    for row in series["prefixes"].as_array().into_iter().flatten() {
                        let length = row[0].as_u64().unwrap() as usize;
                        all.push(one(
                            format!("{length} bytes of {base}"),
                            bytes[..length].to_vec(),
                            &row[1],
                            &row[2],
                        ));
                    }
                    for row in series["mutations"].as_array().into_iter().flatten() {
                        let (at, patch) = (row[0].as_u64().unwrap() as usize, row[1].as_str().unwrap());
                        let mut bytes = bytes.clone();
                        for (i, byte) in unhex(patch).into_iter().enumerate() {
                            bytes[at + i] = byte;
                        }
                        all.push(one(format!("{base} with {patch} at {at}"), bytes, &row[2], &row[3]));
                    }
                }
            }
        }
    }
    fn one(name: String, bytes: Vec<u8>, expect: &Json, codes: &Json) -> Damaged {
        Damaged { name, bytes, expect: expect.as_str().unwrap().into(), codes: codes.to_string() }
    }
    let mut all = Vec::new();
    folders().iter().for_each(|folder| tables(folder, format, &mut all));
    assert!(all.len() > 100, "{format}: only {} damaged files", all.len());
    all
}

pub fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

pub fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of numbers of `size` bytes each, converted to little-endian.
pub fn little(bytes: &[u8], order: ByteOrder, size: usize) -> Vec<u8> {
    match order {
        ByteOrder::Big => bytes.chunks(size).flat_map(|number| number.iter().rev().copied()).collect(),
        _ => bytes.to_vec(),
    }
}

pub fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)).unwrap()
}

/// Opens `bytes` over a source that is given `first` and then only the requested ranges. Panics if a range is
/// requested twice, or if there are too many requests.
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

/// Opens `bytes` in rounds, each of up to `room` ranges. Returns also the numbers of rounds and of bytes that were
/// fetched.
pub fn open_in_rounds<'s>(
    bytes: &[u8],
    room: usize,
    source: &'s mut Source<'static>,
) -> (Result<File<'s>, Error>, usize, u64) {
    let (mut rounds, mut fetched) = (0, 0);
    while let Ok(Opened::Need(_)) = File::open_source(source) {
        let mut pieces = vec![Piece::default(); room];
        let count = source.needs(&mut pieces);
        assert!(count > 0);
        pieces.truncate(count);
        let mut memory = Vec::new();
        for piece in &pieces {
            assert_eq!(piece.at(), memory.len() as u64);
            memory.extend(&bytes[std::ops::Range::try_from(piece.extent()).unwrap()]);
        }
        rounds += 1;
        fetched += memory.len() as u64;
        if let Err(error) = source.add_pieces(pieces.leak(), memory.leak()) {
            return (Err(error), rounds, fetched);
        }
    }
    let file = File::open_source(source).map(|opened| match opened {
        Opened::File(file) => file,
        Opened::Need(need) => panic!("open, and then {need:?}"),
    });
    (file, rounds, fetched)
}

/// Opens a file, and uses memory for the comparisons that opening has skipped.
pub fn open_and_check(bytes: &[u8]) -> Result<File<'_>, Error> {
    let file = File::open(bytes)?;
    if file.warnings().iter().any(|warning| warning.text().ends_with("check does")) {
        file.check(&mut vec![0; file.check_length().unwrap()])?;
    }
    Ok(file)
}

/// Returns the result of `check` with the memory that `check_length` states. Checks that the result is the same with
/// less memory, down to an eighth, and that it is otherwise the same or `OutOfScratch`. Shards always need two words
/// each.
pub fn check_with_any_memory(file: &File<'_>) -> Result<Warnings, Error> {
    let enough = file.check_length().unwrap();
    let checked = file.check(&mut vec![0; enough]);
    #[cfg(feature = "ztensor2")]
    let shards = file.as_ztensor2().map_or(0, |file| 2 * file.shards().count());
    #[cfg(not(feature = "ztensor2"))]
    let shards = 0;
    let least = (enough.div_ceil(8) + 1).max(shards); // in zTensor 2, two words are one position
    for words in
        [0, 1, 2, 7, 100, enough / 8, least, enough / 2, enough.saturating_sub(1), enough + 1, 2 * enough + 5]
    {
        let found = file.check(&mut vec![0; words]);
        let is_refused = found.err().is_some_and(|error| error.kind() == ErrorKind::OutOfScratch);
        assert!(!is_refused || words < least, "{words} of {enough}");
        assert!(is_refused || words > 0 || enough == 0, "{words} of {enough}");
        if !is_refused {
            assert_eq!(
                found.map_err(|error| error.kind()),
                checked.map_err(|error| error.kind()),
                "{words} of {enough}"
            );
        }
    }
    checked
}

/// Everything that can be read from a file, as text: files with the same text are equal to a user.
pub fn describe(file: &File<'_>) -> String {
    use std::fmt::Write;
    let mut out = format!("{} {:?} {:?} {}\n", file.format(), file.version(), file.warnings(), file.tensor_count());
    describe_attributes(&mut out, file.attributes(), 0);
    for tensor in file.tensors() {
        let _ = writeln!(
            out,
            "{:?} {:?} {} {:?} {} {:?} {:?} {:?}",
            tensor.name(),
            tensor.dtype(),
            tensor.shape(),
            tensor.layout(),
            tensor.layout_name(),
            tensor.order(),
            tensor.warnings(),
            tensor.problem()
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

/// Checks that each call that reads the elements of a tensor returns the tensor's own error, and that its stored
/// bytes can be read. Returns the error.
pub fn unreadable(tensor: &Tensor<'_>, stored: &[u8]) -> Error {
    let name = tensor.name();
    let problem = tensor.problem().unwrap_or_else(|| panic!("{name}: no problem"));
    assert!(tensor.warnings().iter().eq([Warning::UnreadableTensor]), "{name}");
    assert_eq!(
        (tensor.layout(), tensor.dtype(), tensor.requirements(Purpose::Read).output),
        (Layout::Other, None, None),
        "{name}"
    );
    let (bytes, scratch) = (&mut [0; 1 << 12], &mut [0; 1 << 12]);
    let errors = [
        tensor.data().map(drop),
        tensor.get(&Expected::named("")).map(drop),
        tensor.read_into(bytes, ReadOptions::new().scratch(scratch)).map(drop),
        tensor.read_into(&mut [], ReadOptions::new()).map(drop),
        tensor.read_elements::<u8>(bytes, ReadOptions::new().scratch(scratch)).map(drop),
        tensor.read_elements::<f32>(&mut [], ReadOptions::new()).map(drop),
        tensor.sparse(ReadOptions::new().scratch(scratch)).map(drop),
        tensor.verify(ReadOptions::new()).map(drop),
    ];
    #[cfg(feature = "dequantize")]
    let errors = errors.into_iter().chain([
        tensor.read_f32_into(&mut [0.0; 1 << 12], ReadOptions::new().scratch(scratch)).map(drop),
        tensor.read_f32_into(&mut [], ReadOptions::new()).map(drop),
        tensor.read_f32_range(0, &mut [0.0]),
        tensor.read_f32_range(0, &mut []),
    ]);
    for (call, error) in errors.into_iter().enumerate() {
        assert_eq!(error, Err(problem), "{name}: call {call}");
    }
    let components: Vec<_> = tensor.components().collect();
    let [data] = &components[..] else { panic!("{name}: {} components", components.len()) };
    assert_eq!((data.role(), data.dtype(), data.encoding()), ("data", None, Encoding::Raw), "{name}");
    assert_eq!(data.decoded_length(), Some(stored.len() as u64), "{name}");
    assert_eq!((data.stored(), data.bytes()), (Ok(stored), Ok(stored)), "{name}");
    problem
}

fn describe_attributes(out: &mut String, mut attributes: tenslice::Attributes<'_>, depth: usize) {
    use std::fmt::Write;
    for attribute in attributes.by_ref() {
        let key = attribute.key.map(|key| format!("{key:?}"));
        let inside = attribute.value.items();
        let value =
            if inside.is_some() { attribute.value.kind().text().into() } else { format!("{:?}", attribute.value) };
        let _ = writeln!(out, "{:depth$}{key:?} = {value}", "");
        if let Some(items) = inside {
            describe_attributes(out, items, depth + 1);
        }
    }
    // Nothing follows the end, also in a list of indefinite length.
    assert!(attributes.next().is_none() && attributes.next().is_none());
    if let Some(error) = attributes.error() {
        let _ = writeln!(out, "{:depth$}{error:?}", "");
    }
}

/// A pseudo-random number generator: the same sequence in every run.
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

/// A component of four bytes at offset 64, as in 1.1 and 1.2.
pub fn component(cbor: &mut Cbor) {
    cbor.map(3).text("dtype").text("f32").text("offset").uint(64).text("length").uint(4);
}

/// A dense tensor of one `f32`, as in 1.1 and 1.2.
pub fn tensor(cbor: &mut Cbor, name: &str) {
    cbor.text(name).map(3).text("shape").array(0).text("format").text("dense").text("components");
    cbor.map(1).text("data");
    component(cbor);
}

/// A 1.2 file: 4 bytes of data at 64, then the manifest.
pub fn file_1_2(manifest: &[u8]) -> Vec<u8> {
    let mut file = b"ZTEN1000".to_vec();
    file.resize(64, 0);
    file.extend(1.5_f32.to_le_bytes());
    file.extend(manifest);
    file.extend((manifest.len() as u64).to_le_bytes());
    file.extend(b"ZTEN1000");
    file
}

/// A 0.1 file: 4 bytes of data at 64, then the manifest.
pub fn file_0_1(manifest: &[u8]) -> Vec<u8> {
    let mut file = b"ZTEN0001".to_vec();
    file.resize(64, 0);
    file.extend(1.5_f32.to_le_bytes());
    file.extend(manifest);
    file.extend((manifest.len() as u64).to_le_bytes());
    file
}

/// A 1.2 manifest with these tensors, each of one `f32`.
pub fn manifest_1_2<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.map(2).text("version").text("1.2.0").text("objects").map(names.len() as u64);
    for name in names {
        tensor(&mut cbor, name);
    }
    cbor.0
}

/// A 0.1 entry.
pub fn entry_0_1(cbor: &mut Cbor, name: &str) {
    cbor.map(7).text("name").text(name).text("offset").uint(64).text("size").uint(4);
    cbor.text("dtype").text("float32").text("layout").text("dense").text("shape").array(0);
    cbor.text("encoding").text("raw");
}
