//! Shows what is in a tensor file, or why it is refused. `cargo run --example inspect -- --help`
//!
//! Maps each file and prints what the library reports of it; makes no decisions of its own.

mod model;

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File as Handle;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use half::{bf16, f16};
use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};
use tenslice::{
    Attributes, BuiltIn, ByteOrder, Component, DType, Element, Encoding, Error, ErrorKind, File, Layout, Order,
    Tensor, Value, Verification, Warning, b2nd, blz, gguf, tens, ztensor2,
};
use unicode_width::UnicodeWidthStr;

const HELP: &str = "\
Shows what is in tensor files, or why they are refused.

    inspect FILE...                 a table of the tensors, and the attributes of the file
    inspect --tensor NAME FILE...   one tensor: components, attributes, statistics, first values
                                    (formats of one tensor give it no name: --tensor \"\")
    inspect --json FILE...          one JSON object a line

    A FILE may be the index of a model in several files, such as model.safetensors.index.json:
    all files that it names are shown, and must have the tensors that it says. With the first
    part of a split GGUF model, such as model-00001-of-00003.gguf, all parts are shown.
    A zTensor 2 file may refer to shards: shard NAME of model.zt is model-NAME.zt beside it.

    --digest     read all data: verify digests, decode, check sparse indices; with --json also
                 print the SHA-256 of the decoded data
    --no-limit   also decode arrays of more than 1 GiB, with the padding of their chunks, or 2^24 chunks
    --help, --version

Exit status: 0 all files accepted, 1 some refused or unreadable, 2 wrong usage.";

#[derive(Default)]
struct Options {
    json: bool,
    digest: bool,
    no_limit: bool,
    tensor: Option<String>,
    files: Vec<PathBuf>,
}

/// Why the work on a file ended.
enum Failure {
    ApiError(Error),
    /// In a file that an index names: its name, the kind, the message, the offset.
    InFile(String, &'static str, String, Option<u64>),
    NoSuchTensor(String),
    TooLarge(u64, u64),
    Io(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::ApiError(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn main() -> ExitCode {
    let options = match parse(std::env::args_os().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => return ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("inspect: {message}\nTry inspect --help.");
            return ExitCode::from(2);
        }
    };
    let mut out = BufWriter::new(io::stdout().lock());
    match run(&mut out, &options).and_then(|all_accepted| out.flush().map(|()| all_accepted)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS, // the reader has seen enough
        Err(error) => {
            eprintln!("inspect: cannot write: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The options; `None` if the request has been answered already.
fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Option<Options>, String> {
    let mut options = Options::default();
    let mut only_files = false;
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--") if !only_files => only_files = true,
            Some("--help" | "-h") if !only_files => {
                let _ = writeln!(io::stdout(), "{HELP}"); // whoever reads it may have seen enough
                return Ok(None);
            }
            Some("--version" | "-V") if !only_files => {
                let _ = writeln!(io::stdout(), "inspect (tenslice {})", env!("CARGO_PKG_VERSION"));
                return Ok(None);
            }
            Some("--json") if !only_files => options.json = true,
            Some("--digest") if !only_files => options.digest = true,
            Some("--no-limit") if !only_files => options.no_limit = true,
            Some("--tensor") if !only_files => {
                let name = arguments.next().ok_or("--tensor takes a name")?;
                options.tensor = Some(name.into_string().map_err(|_| "the name is not UTF-8")?);
            }
            Some(other) if !only_files && other.len() > 1 && other.starts_with('-') => {
                return Err(format!("unknown option {other}"));
            }
            _ => options.files.push(argument.into()),
        }
    }
    if options.files.is_empty() {
        return Err("no file given".into());
    }
    if options.json && options.tensor.is_some() {
        return Err("--tensor does not go with --json".into());
    }
    Ok(Some(options))
}

/// Inspects all files; returns whether all were accepted.
fn run(out: &mut impl Write, options: &Options) -> io::Result<bool> {
    let mut all_accepted = true;
    for (i, path) in options.files.iter().enumerate() {
        if i > 0 && !options.json {
            writeln!(out)?;
        }
        let bytes = match map(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                all_accepted = false;
                refuse(out, path, options, "Io", &error.to_string(), None)?;
                continue;
            }
        };
        match inspect(out, path, &bytes, options) {
            Ok(()) => continue,
            Err(Failure::Io(error)) => return Err(error),
            Err(Failure::ApiError(error)) => {
                let sentence = error.explain(&bytes[..]).to_string();
                refuse(out, path, options, error.kind().name(), &sentence, error.offset())?;
            }
            Err(Failure::InFile(name, kind, message, offset)) => {
                refuse(out, path, options, kind, &format!("{}: {message}", printable(&name)), offset)?;
            }
            Err(Failure::TooLarge(length, chunks)) => {
                let sentence =
                    format!("{} in {chunks} chunks: more than is decoded without --no-limit", size(length));
                refuse(out, path, options, "limit", &sentence, None)?;
            }
            Err(Failure::NoSuchTensor(name)) => {
                let sentence = format!("there is no tensor \"{}\"", printable(&name));
                refuse(out, path, options, ErrorKind::NotFound.name(), &sentence, None)?;
            }
        }
        all_accepted = false;
    }
    Ok(all_accepted)
}

/// Prints why a file was refused.
fn refuse(
    out: &mut impl Write,
    path: &Path,
    options: &Options,
    kind: &str,
    message: &str,
    offset: Option<u64>,
) -> io::Result<()> {
    if options.json {
        let error = json!({"kind": kind, "message": message, "offset": offset});
        return writeln!(out, "{}", json!({"file": path.to_string_lossy(), "error": error}));
    }
    out.flush()?;
    writeln!(io::stderr(), "error: {}: {message}", path.display())
}

/// The bytes of a file, mapped into memory.
fn map(path: &Path) -> io::Result<Mapping> {
    let handle = Handle::open(path)?;
    if handle.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "this is a folder"));
    }
    if handle.metadata()?.len() == 0 {
        return Ok(Mapping(None)); // no bytes cannot be mapped
    }
    // SAFETY: the library never trusts that bytes stay as they are; a file that is cut short while it is
    // mapped ends the program with a signal, as it does with any program that maps files.
    unsafe { memmap2::Mmap::map(&handle) }.map(|map| Mapping(Some(map)))
}

struct Mapping(Option<memmap2::Mmap>);

impl std::ops::Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

fn inspect(out: &mut impl Write, path: &Path, bytes: &[u8], options: &Options) -> Result<(), Failure> {
    let file = match File::open(bytes) {
        Err(error) if error.kind() == ErrorKind::UnknownFormat && model::is_json(bytes) => {
            return model::inspect(out, path, bytes, options);
        }
        opened => opened?,
    };
    let mut warnings = file.warnings();
    let unchecked =
        [Warning::NamesUnchecked, Warning::RolesUnchecked, Warning::PlacesUnchecked, Warning::KeysUnchecked];
    if unchecked.into_iter().any(|warning| warnings.contains(warning)) {
        let roles = file.tensors().map(|tensor| tensor.components().count()).max().unwrap_or(0);
        let entries = file.as_npz().map_or(0, |npz| npz.entries().count());
        let words = usize::try_from(file.tensor_count()).unwrap_or(usize::MAX).max(roles).max(entries);
        let components = file.as_ztensor2().map_or(0, |_| file.tensors().map(|t| t.components().count()).sum());
        let words = words.max(components).max(file.attributes().count()).max(1);
        warnings = file.check(&mut vec![0; words])?;
    }
    if file.as_gguf().and_then(|gguf| gguf.split()).is_some_and(|split| split.index == 0) {
        if let Some(part) = path.file_name().and_then(|name| name.to_str()).and_then(gguf::PartName::parse) {
            return model::inspect_parts(out, path, &file, part, options);
        }
    }
    let total: u64 = match &options.tensor {
        Some(name) => stored(&file.find(name).map_err(|_| Failure::NoSuchTensor(name.clone()))?),
        None => file.tensors().map(|tensor| stored(&tensor)).sum(),
    };
    if (options.digest || options.tensor.is_some()) && !options.no_limit {
        check_limit(&file)?;
    }
    let shards = if options.digest || options.tensor.is_some() { shards(path, &file)? } else { HashMap::new() };
    let mut reader = options.digest.then(|| Reader { shards: &shards, ..Reader::new(total) });
    if options.json {
        let tensors = file.tensors().map(|tensor| tensor_json(&file, &tensor, reader.as_mut()));
        let tensors = tensors.collect::<Result<Vec<_>, _>>()?;
        let found = found(reader.as_ref());
        let record = json!({
            "file": path.to_string_lossy(),
            "format": file.format().text(),
            "version": file.version(),
            "warnings": warnings.iter().chain(found).map(Warning::text).collect::<Vec<_>>(),
            "attributes": attributes_json(file.attributes()),
            "shards": file.as_ztensor2().map(|file| shards_json(&file)),
            "tens": file.as_tens().map(|tens| tens_json(&tens)),
            "blz": file.as_blz().map(|blz| blz_json(&blz)),
            "b2nd": file.as_b2nd().map(|b2nd| b2nd_json(&b2nd)),
            "tensors": tensors,
        });
        writeln!(out, "{record}")?;
        return Ok(());
    }
    let verdict = match &options.tensor {
        Some(name) => details(out, path, bytes, &file, &file.find(name)?, reader.as_mut(), &shards)?,
        None => table(out, path, &file, reader.as_mut())?,
    };
    let found = found(reader.as_ref());
    drop(reader);
    for warning in warnings.iter().chain(found) {
        let first = warnings.first_tensor(warning).and_then(|i| file.tensors().nth(usize::try_from(i).ok()?));
        let first = first.map(|tensor| format!(" (first: tensor \"{}\")", printable(&tensor.name().to_string())));
        writeln!(out, "warning: {}{}", warning.text(), first.unwrap_or_default())?;
    }
    verdict.map_err(Failure::ApiError)
}

/// Maps the shards of a zTensor 2 file that are beside it, by their names, and holds them to be what it says. Those that
/// are missing are left out. A name has no character that leads out of the folder, or the file has not been opened.
fn shards(path: &Path, file: &File<'_>) -> Result<HashMap<String, Mapping>, Failure> {
    let mut all = HashMap::new();
    let Some(file) = file.as_ztensor2() else { return Ok(all) };
    for shard in file.shards() {
        let Some(place) = shard_path(path, shard.name) else { continue };
        let fail = |kind, message| Failure::InFile(place.display().to_string(), kind, message, None);
        let bytes = match map(&place) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(fail("Io", error.to_string())),
        };
        if let Err(error) = file.check_shard(shard.name, &bytes) {
            return Err(fail(error.kind().name(), format!("this is not the shard that the file means: {error}")));
        }
        all.insert(shard.name.into(), bytes);
    }
    Ok(all)
}

/// Where the shard of that name is: `model-NAME.zt` beside `model.zt`, as the reference implementation has it.
fn shard_path(path: &Path, name: &str) -> Option<PathBuf> {
    let is_plain = !name.starts_with('.') && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    let stem = path.file_stem().filter(|_| is_plain)?.to_string_lossy();
    Some(path.with_file_name(format!("{stem}-{name}.zt")))
}

/// A component with its bytes, where they are in a shard; `None` where that is missing.
fn with_shard<'b, 'a: 'b>(
    component: &Component<'a>,
    shards: &'b HashMap<String, Mapping>,
) -> Result<Option<Component<'b>>, Error> {
    match component.shard() {
        None => Ok(Some(*component)),
        Some(name) => shards.get(name).map(|bytes| component.with_shard(bytes)).transpose(),
    }
}

/// Chunks may decode to far more than the bytes of their file.
fn check_limit(file: &File<'_>) -> Result<(), Failure> {
    const BYTES: u64 = 1 << 30;
    const CHUNKS: u64 = 1 << 24;
    for tensor in file.tensors().filter(is_compressed_array) {
        let length = tensor.components().filter_map(|data| data.decoded_length()).max().unwrap_or(0);
        if length > BYTES {
            return Err(Failure::TooLarge(length, 1));
        }
    }
    let Some(b2nd) = file.as_b2nd() else { return Ok(()) };
    let length = file.tensors().next().and_then(|tensor| tensor.dense_length()).unwrap_or(u64::MAX);
    // Small arrays may be in large chunks. Faults of a chunk are reported when it is read.
    let stop: Vec<u64> = b2nd.shape().iter().collect();
    let work = b2nd.work_length(&vec![0; stop.len()], &stop).unwrap_or(0);
    if length > BYTES || work > BYTES || b2nd.chunk_count() > CHUNKS {
        return Err(Failure::TooLarge(length.max(work), b2nd.chunk_count()));
    }
    Ok(())
}

/// The warnings from reading the data.
fn found(reader: Option<&Reader<'_>>) -> impl Iterator<Item = Warning> + use<> {
    let bits = reader.map_or(0, |reader| reader.warnings);
    Warning::ALL.iter().copied().filter(move |warning| warning.bit() & bits != 0)
}

/// Reads all data, with progress on a terminal if that takes a while.
struct Reader<'s> {
    shards: &'s HashMap<String, Mapping>,
    /// The warnings, as bits.
    warnings: u32,
    total: u64,
    done: u64,
    is_shown: bool,
}

/// The result of reading a tensor: the state of each component's digest, the SHA-256 of a chunked array, what a
/// compressed array contains, and the first error.
struct Reading {
    digests: Vec<&'static str>,
    of_chunks: Option<String>,
    array: Option<CompressedArray>,
    verdict: Result<(), Error>,
}

static NO_SHARDS: std::sync::LazyLock<HashMap<String, Mapping>> = std::sync::LazyLock::new(HashMap::new);

impl Reader<'_> {
    fn new(total: u64) -> Self {
        const WORTH_SHOWING: u64 = 1 << 28;
        Self {
            shards: &NO_SHARDS,
            warnings: 0,
            total,
            done: 0,
            is_shown: total > WORTH_SHOWING && io::stderr().is_terminal(),
        }
    }

    /// Reads all of a tensor: digests, streams, sparse indices.
    fn read(&mut self, file: &File<'_>, tensor: &Tensor<'_>) -> Reading {
        let mut reading = Reading { digests: Vec::new(), of_chunks: None, array: None, verdict: Ok(()) };
        if let Some(b2nd) = file.as_b2nd() {
            reading.digests.push("");
            match self.read_chunks(&b2nd, tensor) {
                Ok(sha256) => reading.of_chunks = Some(sha256),
                Err(error) => reading.verdict = Err(error),
            }
            return reading;
        }
        for component in tensor.components() {
            let (component, is_whole) = match with_shard(&component, self.shards) {
                Ok(Some(bound)) => (bound, true),
                Ok(None) => (component, false),
                Err(error) => {
                    reading.verdict = reading.verdict.and(Err(error));
                    (component, false)
                }
            };
            if !is_whole {
                reading.digests.push("in a shard that is not here");
                continue;
            }
            let verified = with_room(component.verify_scratch_length(), |scratch| {
                component.verify_with(&mut BuiltIn::default(), scratch)
            });
            let (state, result) = match verified {
                Ok(Verification::Verified) => ("verified", Ok(())),
                Ok(Verification::NoDigest) => ("", Ok(())),
                Ok(_) => ("of unknown kind", Ok(())),
                Err(error) => ("WRONG", Err(error)),
            };
            reading.digests.push(state);
            let decoded = match component.encoding() {
                Encoding::Raw => Ok(()),
                _ if is_compressed_array(tensor) => {
                    let array =
                        with_room(component.decoded_length(), |room| CompressedArray::of(component.read_into(room)?));
                    array.map(|array| reading.array = Some(array))
                }
                _ => with_room(component.decoded_length(), |room| component.read_into(room).map(drop)),
            };
            reading.verdict = reading.verdict.and(result).and(decoded);
            self.add(component.extent().length);
        }
        let is_here = tensor.components().all(|component| component.shard().is_none());
        if reading.verdict.is_ok() && is_sparse(tensor) && is_here {
            let checked = with_room(tensor.scratch_length(), |scratch| Ok(tensor.sparse(scratch)?.warnings().bits()));
            reading.verdict = checked.map(|warnings| self.warnings |= warnings);
        }
        reading
    }

    /// Reads all chunks, as many at a time as are adjacent along the first dimension, and the metalayers that are
    /// chunks; returns the SHA-256 of the array as stored.
    fn read_chunks(&mut self, b2nd: &b2nd::Frame<'_>, tensor: &Tensor<'_>) -> Result<String, Error> {
        for metalayer in b2nd.variable_metalayers() {
            let chunk = b2nd.variable_metalayer(&metalayer)?;
            with_room(Some(chunk.scratch_length()), |scratch| {
                with_room(Some(chunk.decoded_length()), |room| chunk.read_into(room, scratch).map(drop))
            })?;
        }
        const BYTES_AT_ONCE: u64 = 1 << 22;
        let total = tensor.dense_length().unwrap_or(0);
        let mut stop: Vec<u64> = tensor.shape().iter().collect();
        let mut start = vec![0; stop.len()];
        let length = stop.first().copied().unwrap_or(1);
        // Whole chunks; those of different lengths are found one after the other, so all of them at once.
        let of_chunk = match (b2nd.chunk_shape(), b2nd.defaults().chunk_size) {
            (Some(shape), _) => shape.dimension(0).unwrap_or(1),
            (None, 0) => length,
            (None, size) => size,
        };
        let bytes = (total / length.max(1)).saturating_mul(of_chunk).max(1);
        let at_once = of_chunk.saturating_mul((BYTES_AT_ONCE / bytes).max(1)).max(1);
        self.total = total;
        let mut hash = Sha256::new();
        let mut at = 0;
        while at < length && total > 0 {
            let end = length.min(at.saturating_add(at_once));
            if let (Some(start), Some(stop)) = (start.first_mut(), stop.first_mut()) {
                (*start, *stop) = (at, end);
            }
            with_room(Some(b2nd.scratch_length(&start, &stop)?), |scratch| {
                with_room(Some(b2nd.region_length(&start, &stop)?), |room| {
                    hash.update(b2nd.read_region(&start, &stop, room, scratch)?);
                    Ok(())
                })
            })?;
            self.add(b2nd.region_length(&start, &stop)?);
            at = end;
        }
        Ok(hex(&hash.finalize()))
    }

    /// Counts this many more bytes as read.
    fn add(&mut self, length: u64) {
        self.done = self.done.saturating_add(length);
        if self.is_shown {
            let percent = u128::from(self.done) * 100 / u128::from(self.total.max(1));
            let _ = write!(io::stderr(), "\rread {} of {} ({percent} %) ", size(self.done), size(self.total));
        }
    }
}

/// Clears the progress from the terminal.
impl Drop for Reader<'_> {
    fn drop(&mut self) {
        if self.is_shown {
            let _ = write!(io::stderr(), "\r{:60}\r", "");
        }
    }
}

/// Whether it is an array of an NPZ that must be decoded before its type and shape are known.
fn is_compressed_array(tensor: &Tensor<'_>) -> bool {
    tensor.layout() == Layout::Other && tensor.layout_name() == "npy"
}

/// What is known of such an array once it has been decoded.
struct CompressedArray {
    dtype: Option<DType>,
    is_big: bool,
    shape: Vec<u64>,
    order: Order,
    sha256: String,
}

impl CompressedArray {
    /// Of the decoded bytes, which are an NPY file.
    fn of(bytes: &[u8]) -> Result<Self, Error> {
        let file = File::open(bytes)?;
        let array = file.find("")?;
        let data = array.data()?;
        Ok(Self {
            dtype: array.dtype(),
            is_big: data.byte_order() == ByteOrder::Big,
            shape: array.shape().iter().collect(),
            order: array.order(),
            sha256: sha256(&data)?,
        })
    }
}

fn is_sparse(tensor: &Tensor<'_>) -> bool {
    matches!(tensor.layout(), Layout::SparseCsr | Layout::SparseCoo | Layout::IndexValue)
}

fn tensor_json(file: &File<'_>, tensor: &Tensor<'_>, reader: Option<&mut Reader<'_>>) -> Result<Json, Error> {
    let reading = reader.map(|reader| reader.read(file, tensor));
    if let Some(reading) = &reading {
        reading.verdict?;
    }
    let components = tensor.components().enumerate().map(|(i, component)| {
        component_json(&component, reading.as_ref().and_then(|reading| reading.digests.get(i).copied()))
    });
    let array = reading.as_ref().and_then(|reading| reading.array.as_ref());
    let shape = match array {
        Some(array) => Some(array.shape.clone()),
        None if is_compressed_array(tensor) => None,
        None => Some(tensor.shape().iter().collect()),
    };
    Ok(json!({
        "name": tensor.name().to_string(),
        "dtype": array.map_or(tensor.dtype(), |array| array.dtype).map(DType::name),
        "shape": shape,
        "layout": if is_compressed_array(tensor) { "dense" } else { tensor.layout_name() },
        "order": array.map_or(tensor.order(), |array| array.order).text(),
        "attributes": attributes_json(tensor.attributes()),
        "data_sha256": match reading {
            Some(Reading { of_chunks: Some(ref sha256), .. })
            | Some(Reading { array: Some(CompressedArray { ref sha256, .. }), .. }) => Some(sha256.clone()),
            Some(_) => data_sha256(tensor)?,
            None => None,
        },
        "components": components.collect::<Result<Vec<_>, _>>()?,
        "f32_sha256": match reading {
            Some(_) => f32_sha256(tensor)?,
            None => None,
        },
    }))
}

/// SHA-256 of the numbers of a quantized tensor, as little-endian `f32`; `None` for any other, and where the blocks are
/// those of a big-endian file.
fn f32_sha256(tensor: &Tensor<'_>) -> Result<Option<String>, Error> {
    const AT_ONCE: u64 = 1 << 16;
    let mut hash = Sha256::new();
    let count = tensor.shape().element_count().unwrap_or(0);
    if tensor.layout() != Layout::Blocks {
        return Ok(None);
    }
    let mut numbers = Vec::new();
    for first in (0..count).step_by(AT_ONCE as usize) {
        numbers.resize((count - first).min(AT_ONCE) as usize, 0.0_f32);
        match tensor.read_f32_range(first, &mut numbers) {
            Ok(()) => numbers.iter().for_each(|number| hash.update(number.to_le_bytes())),
            Err(error) if error.kind() == ErrorKind::ForeignEndian => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(Some(hex(&hash.finalize())))
}

/// SHA-256 of the elements of a dense tensor, of the values of pairs, or of all cores of a tensor train, in
/// little-endian order.
fn data_sha256(tensor: &Tensor<'_>) -> Result<Option<String>, Error> {
    match tensor.layout() {
        Layout::Dense if tensor.data()?.shard().is_some() => Ok(None),
        Layout::Dense => sha256(&tensor.data()?).map(Some),
        Layout::IndexValue => {
            let pairs = tensor.sparse(&mut [])?;
            let mut values = pairs.iter().filter_map(|pair| pair.bytes()).flatten().copied().collect::<Vec<_>>();
            if tensor.components().any(|pairs| pairs.byte_order() == ByteOrder::Big) {
                values.chunks_mut(pairs.dtype().lane_size()).for_each(<[u8]>::reverse);
            }
            Ok(Some(hex(&Sha256::digest(values))))
        }
        Layout::TensorTrain => {
            let mut hash = Sha256::new();
            for core in tensor.components() {
                hash.update(core.bytes()?);
            }
            Ok(Some(hex(&hash.finalize())))
        }
        _ => Ok(None),
    }
}

/// A component; if it was read, with the state of its digest.
fn component_json(component: &Component<'_>, digest_state: Option<&str>) -> Result<Json, Error> {
    Ok(json!({
        "role": component.role(),
        "dtype": component.dtype().map(DType::name),
        "storage_dtype": component.storage_dtype().map(DType::name),
        "byte_order": component.byte_order().text(),
        "shard": component.shard(),
        "offset": if component.encoding() == Encoding::Blosc { None } else { Some(component.extent().offset) },
        "length": component.extent().length,
        "encoding": component.encoding_name(),
        "decoded_length": component.decoded_length(),
        "digest": component.digest(),
        "digest_state": digest_state,
        "sha256": match (digest_state, component.encoding()) {
            (None, _) | (_, Encoding::Blosc) => None,
            _ if component.shard().is_some() => None,
            _ => Some(sha256(component)?),
        },
    }))
}

/// The shards of a zTensor 2 file.
fn shards_json(file: &ztensor2::Ztensor2File<'_>) -> Json {
    file.shards().map(|shard| json!({"name": shard.name, "size": shard.size, "digest": shard.digest})).collect()
}

/// The TENS-specific data.
fn tens_json(tens: &tens::TensFile<'_>) -> Json {
    let dimension =
        |d: tens::Dimension| json!({"name": index_name(d.name), "length": d.length, "sparse": d.is_sparse});
    let chunk = |chunk: tens::TensChunk<'_>| {
        json!({
            "magic": chunk.magic.escape_ascii().to_string(),
            "offset": chunk.extent.offset,
            "length": chunk.extent.length,
            "operation": chunk.symmetry().map(|symmetry| symmetry.operation().escape_ascii().to_string()),
            "map": chunk.symmetry().map(|symmetry| symmetry.map().escape_ascii().to_string()),
            "packed": chunk.symmetry().map(|symmetry| symmetry.is_packed()),
        })
    };
    json!({
        "dimensions": tens.dimensions().map(dimension).collect::<Vec<_>>(),
        "chunks": tens.chunks().map(chunk).collect::<Vec<_>>(),
    })
}

/// The BLZ-specific data.
fn blz_json(blz: &blz::BlzFile<'_>) -> Json {
    json!({
        "ranks": blz.bond_dimensions().collect::<Vec<_>>(),
        "cores": blz.cores().map(|core| core.shape).collect::<Vec<_>>(),
        "parameters": blz.parameters(),
        "compression_ratio": blz.compression_ratio(),
    })
}

/// The Blosc2-specific data.
fn b2nd_json(b2nd: &b2nd::Frame<'_>) -> Json {
    let shape = |shape: Option<tenslice::Shape<'_>>| shape.map(|shape| shape.iter().collect::<Vec<_>>());
    let defaults = b2nd.defaults();
    let metalayer = |one: b2nd::Metalayer<'_>| json!({"name": one.name, "length": one.content.len()});
    let variable = |one: b2nd::Metalayer<'_>| {
        let decoded = b2nd.variable_metalayer(&one).ok().map(|chunk| chunk.decoded_length());
        json!({"name": one.name, "stored_length": one.content.len(), "length": decoded})
    };
    json!({
        "dtype": b2nd.dtype_text(),
        "item_size": b2nd.item_size(),
        "chunk_shape": shape(b2nd.chunk_shape()),
        "block_shape": shape(b2nd.block_shape()),
        "chunks": b2nd.chunk_count(),
        "chunk_size": defaults.chunk_size,
        "codec": codec(defaults.codec),
        "level": defaults.level,
        "filters": filters(&defaults.filters),
        "decoded": defaults.decoded,
        "stored": defaults.stored,
        "metalayers": b2nd.metalayers().map(metalayer).collect::<Vec<_>>(),
        "variable_metalayers": b2nd.variable_metalayers().map(variable).collect::<Vec<_>>(),
    })
}

fn codec(id: u8) -> String {
    b2nd::codec_name(id).map_or_else(|| format!("codec {id}"), String::from)
}

/// The filters in use, in the order in which they are applied.
fn filters(ids: &[u8]) -> Vec<String> {
    let name = |id: &u8| b2nd::filter_name(*id).map_or_else(|| format!("filter {id}"), String::from);
    ids.iter().filter(|id| **id != 0).map(name).collect()
}

fn index_name(name: u8) -> String {
    name.escape_ascii().to_string()
}

/// Prints the data that is specific to one format.
fn print_format(out: &mut impl Write, file: &File<'_>) -> io::Result<()> {
    if let Some(tens) = file.as_tens() {
        let name =
            |d: tens::Dimension| format!("{}{}", index_name(d.name), if d.is_sparse { " (sparse)" } else { "" });
        let names: Vec<String> = tens.dimensions().map(name).collect();
        writeln!(out, "  indices      {}", shortened(&names.join(", ")))?;
        for chunk in tens.chunks() {
            match chunk.symmetry() {
                Some(symmetry) => writeln!(
                    out,
                    "  symmetry     {} of {}{}",
                    symmetry.operation().escape_ascii(),
                    shortened(&symmetry.map().escape_ascii().to_string()),
                    if symmetry.is_packed() { ", packed" } else { "" }
                )?,
                None if &chunk.magic == b"DENSDATA" => {}
                None => writeln!(
                    out,
                    "  chunk        \"{}\", {} bytes at {}",
                    chunk.magic.escape_ascii(),
                    chunk.extent.length,
                    chunk.extent.offset
                )?,
            }
        }
    }
    if let Some(gguf) = file.as_gguf() {
        writeln!(out, "  alignment    {}, {}", gguf.alignment(), gguf.byte_order())?;
        if let Some(split) = gguf.split() {
            let gguf::Split { index, count, tensors } = split;
            writeln!(out, "  part         {} of {count}, with {tensors} tensors in all", index + 1)?;
        }
    }
    if let Some(ztensor2) = file.as_ztensor2() {
        if ztensor2.is_shard() {
            writeln!(out, "  a shard: bytes for other files, without tensors of its own")?;
        }
        for shard in ztensor2.shards() {
            writeln!(out, "  shard        \"{}\", {}, {}", printable(shard.name), size(shard.size), shard.digest)?;
        }
    }
    if let Some(npy) = file.as_npy() {
        writeln!(out, "  descr        {}", shortened(&npy.descr().escape_ascii().to_string()))?;
    }
    if let Some(npz) = file.as_npz() {
        writeln!(out, "  entries      {}", npz.entries().count())?;
    }
    if let Some(b2nd) = file.as_b2nd() {
        let defaults = b2nd.defaults();
        let shapes = b2nd.chunk_shape().zip(b2nd.block_shape());
        let shapes = shapes.map(|(chunk, block)| format!(" of {chunk}, blocks of {block}")).unwrap_or_default();
        writeln!(out, "  chunks       {}{shapes}", b2nd.chunk_count())?;
        let (dtype, element) = match b2nd.dtype_text() {
            Some(dtype) => (shortened(&printable(dtype)), b2nd.item_size()),
            None => ("not stated".into(), if b2nd.is_array() { b2nd.item_size() } else { defaults.typesize }),
        };
        writeln!(out, "  dtype        {dtype}, bytes an element: {element}")?;
        let mut steps = filters(&defaults.filters);
        steps.push(codec(defaults.codec));
        writeln!(out, "  codec        {}, level {}", steps.join(" + "), defaults.level)?;
        if defaults.stored > 0 {
            let ratio = defaults.decoded as f64 / defaults.stored as f64;
            writeln!(out, "  ratio        {ratio:.2}: {} decoded, with padding", size(defaults.decoded))?;
        }
        for (kind, all) in [("metalayer", b2nd.metalayers()), ("vlmetalayer", b2nd.variable_metalayers())] {
            for one in all {
                let decoded = if kind == "vlmetalayer" { b2nd.variable_metalayer(&one).ok() } else { None };
                let decoded =
                    decoded.map(|chunk| format!(", {} decoded", chunk.decoded_length())).unwrap_or_default();
                writeln!(out, "  {kind:<12} \"{}\", {} bytes{decoded}", printable(one.name), one.content.len())?;
            }
        }
    }
    if let Some(blz) = file.as_blz() {
        let ranks: Vec<String> = blz.bond_dimensions().map(|rank| rank.to_string()).collect();
        writeln!(out, "  ranks        {}", shortened(&ranks.join(" ")))?;
        writeln!(out, "  numbers      {}, one for {:.4} elements", blz.parameters(), blz.compression_ratio())?;
    }
    Ok(())
}

fn attributes_json(attributes: Attributes<'_>) -> Json {
    let key = |key: Option<Value<'_>>| match key {
        Some(Value::Text(text)) => text.to_string(),
        other => other.map(|key| line(&key)).unwrap_or_default(),
    };
    Json::Object(attributes.map(|a| (key(a.key), value_json(&a.value))).collect::<Map<_, _>>())
}

fn value_json(value: &Value<'_>) -> Json {
    match value {
        Value::Null | Value::Undefined => Json::Null,
        Value::Bool(truth) => json!(truth),
        Value::Integer(n) => i64::try_from(*n)
            .map(Json::from)
            .or(u64::try_from(*n).map(Json::from))
            .unwrap_or_else(|_| json!(n.to_string())),
        Value::Float(x) if x.is_finite() => json!(x),
        Value::Float(x) => json!(x.to_string()),
        Value::Text(text) => json!(text.to_string()),
        Value::Decimal(number) => {
            number.as_str().and_then(|number| number.parse().ok()).map_or(Json::Null, |x: f64| json!(x))
        }
        Value::Bytes(bytes) => json!({ "$bytes": hex(bytes) }),
        Value::Array(items) | Value::TextChunks(items) | Value::ByteChunks(items) => {
            items.map(|item| value_json(&item.value)).collect()
        }
        Value::Map(items) => attributes_json(*items),
        Value::Tagged(tag, items) => {
            let mut items = *items;
            json!({ "$tag": tag, "value": items.next().map(|item| value_json(&item.value)) })
        }
        other => json!(other.kind().text()),
    }
}

/// SHA-256 of the elements, decoded, in little-endian order.
fn sha256(component: &Component<'_>) -> Result<String, Error> {
    let size = component.dtype().map_or(1, DType::lane_size);
    // If the file stores them as they are to be hashed, they need not be copied.
    if component.encoding() == Encoding::Raw && (component.byte_order() == ByteOrder::Little || size == 1) {
        return Ok(hex(&Sha256::digest(component.bytes()?)));
    }
    with_room(component.decoded_length(), |room| {
        let elements = component.read_into(room)?;
        if cfg!(target_endian = "big") {
            elements.chunks_mut(size).for_each(<[u8]>::reverse);
        }
        Ok(hex(&Sha256::digest(elements)))
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Calls `f` with as much memory as it needs; if that is unknown, with more and more.
fn with_room<T>(length: Option<u64>, mut f: impl FnMut(&mut [u8]) -> Result<T, Error>) -> Result<T, Error> {
    const FIRST: u64 = 1 << 16;
    const LARGEST: u64 = 1 << 34;
    let mut length_now = length.unwrap_or(FIRST);
    loop {
        // Zeroed pages cost nothing until they are written: a wrong length is detected before that.
        let mut room = Vec::new();
        let wanted = usize::try_from(length_now).unwrap_or(usize::MAX);
        if room.try_reserve_exact(wanted).is_ok() {
            room = vec![0; wanted];
        }
        match f(&mut room) {
            Err(error)
                if length.is_none()
                    && length_now < LARGEST
                    && matches!(error.kind(), ErrorKind::TooSmall | ErrorKind::OutOfScratch) =>
            {
                length_now *= 4;
            }
            result => return result,
        }
    }
}

/// The kind of a digest, which is before the colon, and the result of verifying it.
fn digest(component: &Component<'_>, state: &str) -> String {
    let kind = component.digest().map_or("-", |digest| digest.split(':').next().unwrap_or(digest));
    format!("{} {state}", printable(kind)).trim_end().into()
}

/// Prints the tensors of a file; returns the result of reading them all.
fn table(
    out: &mut impl Write,
    path: &Path,
    file: &File<'_>,
    mut reader: Option<&mut Reader<'_>>,
) -> Result<Result<(), Error>, Failure> {
    let total: u64 = file.tensors().map(|tensor| stored(&tensor)).sum();
    // "ztensor 2" has it already.
    let version = file.version().filter(|version| !file.format().text().ends_with(version));
    let version = version.map(|version| format!(" {}", printable(version))).unwrap_or_default();
    let count = file.tensor_count();
    let s = if count == 1 { "" } else { "s" };
    writeln!(out, "{}: {}{version}, {count} tensor{s}, {} stored", path.display(), file.format(), size(total))?;
    let mut verdict = Ok(());
    let mut rows = vec![["name", "dtype", "shape", "layout", "bytes", "encoding", "digest"].map(String::from)];
    for tensor in file.tensors() {
        let reading = reader.as_mut().map(|reader| reader.read(file, &tensor));
        let state = |i: usize| reading.as_ref().map_or("", |reading| reading.digests[i]);
        let array = reading.as_ref().and_then(|reading| reading.array.as_ref());
        rows.push([
            if tensor.name().is_empty() { "\"\"".into() } else { shortened(&printable(&tensor.name().to_string())) },
            match array {
                Some(array) => dtype(array.dtype, array.is_big),
                None => dtype(tensor.dtype(), tensor.components().any(|c| c.byte_order() == ByteOrder::Big)),
            },
            match array {
                Some(array) => format!("{:?}", array.shape),
                None if is_compressed_array(&tensor) => "compressed".into(),
                None => tensor.shape().to_string(),
            },
            printable(tensor.layout_name()),
            stored(&tensor).to_string(),
            distinct(tensor.components().map(|c| printable(c.encoding_name()))),
            distinct(tensor.components().enumerate().map(|(i, c)| digest(&c, state(i)))),
        ]);
        verdict = verdict.and(reading.map_or(Ok(()), |reading| reading.verdict));
    }
    if count > 0 {
        print_rows(out, &rows)?;
    }
    print_format(out, file)?;
    print_attributes(out, file.attributes())?;
    Ok(verdict)
}

/// Prints everything about a tensor; returns the result of reading it.
fn details(
    out: &mut impl Write,
    path: &Path,
    bytes: &[u8],
    file: &File<'_>,
    tensor: &Tensor<'_>,
    reader: Option<&mut Reader<'_>>,
    shards: &HashMap<String, Mapping>,
) -> Result<Result<(), Error>, Failure> {
    let reading = reader.map(|reader| reader.read(file, tensor));
    writeln!(out, "{}: tensor \"{}\"", path.display(), printable(&tensor.name().to_string()))?;
    let order = if tensor.layout() == Layout::Dense { format!(", {}", tensor.order().text()) } else { String::new() };
    writeln!(
        out,
        "  {} {}, {}{order}",
        dtype(tensor.dtype(), false),
        if is_compressed_array(tensor) {
            "an array of its own, compressed".into()
        } else {
            tensor.shape().to_string()
        },
        printable(tensor.layout_name())
    )?;
    let mut rows = vec![["component", "dtype", "offset", "length", "encoding", "digest"].map(String::from)];
    for (i, component) in tensor.components().enumerate() {
        let stored_as = component.storage_dtype().filter(|stored| Some(*stored) != component.dtype());
        let stored_as = stored_as.map(|stored| format!(" over {stored}")).unwrap_or_default();
        let state = reading.as_ref().map_or("", |reading| reading.digests[i]);
        rows.push([
            printable(component.role()),
            dtype(component.dtype(), component.byte_order() == ByteOrder::Big) + &stored_as,
            component.extent().offset.to_string(),
            component.extent().length.to_string(),
            printable(component.encoding_name()),
            format!("{} {state}", component.digest().map_or("-".into(), printable)).trim_end().into(),
        ]);
    }
    print_rows(out, &rows)?;
    print_attributes(out, tensor.attributes())?;
    if tensor.layout() == Layout::Blocks {
        // Statistics of a part tell as much as those of all.
        let count = tensor.shape().element_count().unwrap_or(0).min(1 << 24);
        let mut numbers = vec![0.0_f32; count as usize];
        match tensor.read_f32_range(0, &mut numbers) {
            Ok(()) => writeln!(
                out,
                "{}",
                describe(numbers.iter().map(|x| f64::from(*x)), numbers.iter().map(|x| format!("{x:?}")))
            )?,
            Err(error) => writeln!(out, "    {}", error.explain(bytes))?,
        }
        return Ok(reading.map_or(Ok(()), |reading| reading.verdict));
    }
    for component in tensor.components() {
        write!(out, "  {}", printable(component.role()))?;
        if let Some(shard) = component.shard() {
            write!(out, ", in shard \"{}\"", printable(shard))?;
        }
        writeln!(out)?;
        let component = with_shard(&component, shards)?.unwrap_or(component);
        match with_room(component.decoded_length(), |room| {
            let elements = match component.encoding() {
                Encoding::Blosc => with_room(tensor.scratch_length(), |scratch| {
                    let length = tensor.read_into(room, scratch)?.len();
                    // As stored; swapped for the statistics.
                    let size = component.dtype().map_or(1, DType::lane_size);
                    if component.byte_order() != ByteOrder::NATIVE {
                        room[..length].chunks_mut(size).for_each(<[u8]>::reverse);
                    }
                    Ok(length)
                })
                .map(|length| &mut room[..length])?,
                _ => component.read_into(room)?,
            };
            Ok(component
                .dtype()
                .map_or_else(|| "    values of no one type".into(), |dtype| statistics(dtype, elements)))
        }) {
            Ok(text) => writeln!(out, "{text}")?,
            Err(error) => writeln!(out, "    {}", error.explain(bytes))?,
        }
    }
    Ok(reading.map_or(Ok(()), |reading| reading.verdict))
}

/// Minimum, maximum, mean and the first few of some elements in native byte order.
fn statistics(dtype: DType, elements: &[u8]) -> String {
    fn numbers<T: Element, N: Copy + Into<f64> + std::fmt::Debug>(bytes: &[u8], of: impl Fn(T) -> N) -> String {
        let all = || bytes.chunks_exact(size_of::<T>()).filter_map(|e| T::from_bytes(e, ByteOrder::NATIVE)).map(&of);
        describe(all().map(Into::into), all().map(|x| format!("{x:?}")))
    }
    // 64-bit integers lose digits in the mean, not in the values that are printed.
    fn wide<T: Element + std::fmt::Display>(bytes: &[u8], of: impl Fn(T) -> f64) -> String {
        let all = || bytes.chunks_exact(size_of::<T>()).filter_map(|e| T::from_bytes(e, ByteOrder::NATIVE));
        describe(all().map(of), all().map(|x| x.to_string()))
    }
    match dtype {
        DType::F64 => numbers::<f64, _>(elements, |x| x),
        DType::F32 => numbers::<f32, _>(elements, |x| x),
        DType::F16 => numbers::<u16, _>(elements, |bits| f16::from_bits(bits).to_f32()),
        DType::BF16 => numbers::<u16, _>(elements, |bits| bf16::from_bits(bits).to_f32()),
        DType::I8 => numbers::<i8, _>(elements, |x| x),
        DType::I16 => numbers::<i16, _>(elements, |x| x),
        DType::I32 => numbers::<i32, _>(elements, |x| x),
        DType::U8 | DType::BOOL => numbers::<u8, _>(elements, |x| x),
        DType::U16 => numbers::<u16, _>(elements, |x| x),
        DType::U32 => numbers::<u32, _>(elements, |x| x),
        DType::I64 => wide::<i64>(elements, |x| x as f64),
        DType::U64 => wide::<u64>(elements, |x| x as f64),
        _ => {
            let shown = elements.iter().take(16).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
            format!("    bytes: {shown}{}", if elements.len() > 16 { " ..." } else { "" })
        }
    }
}

fn describe(numbers: impl Iterator<Item = f64>, texts: impl Iterator<Item = String>) -> String {
    const SHOWN: usize = 8;
    let (mut min, mut max, mut sum, mut count, mut nan) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0_u64, 0_u64);
    for x in numbers {
        if x.is_nan() {
            nan += 1;
        } else {
            (min, max, sum, count) = (min.min(x), max.max(x), sum + x, count + 1);
        }
    }
    let mut shown: Vec<String> = texts.take(SHOWN + 1).collect();
    if shown.len() > SHOWN {
        shown[SHOWN] = "...".into();
    }
    let nan = if nan > 0 { format!(", {nan} NaN") } else { String::new() };
    let range = if count > 0 { format!("min {min}, max {max}, mean {}", sum / count as f64) } else { "none".into() };
    format!("    numbers: {range}{nan}\n    values:  {}", shown.join(" "))
}

fn print_attributes(out: &mut impl Write, attributes: Attributes<'_>) -> io::Result<()> {
    if attributes.clone().next().is_none() {
        return Ok(());
    }
    writeln!(out, "  attributes")?;
    print_values(out, attributes, 4)
}

fn print_values(out: &mut impl Write, all: Attributes<'_>, indent: usize) -> io::Result<()> {
    for attribute in all {
        let key = attribute.key.map(|key| format!("{}: ", line(&key))).unwrap_or_default();
        writeln!(out, "{:indent$}{key}{}", "", line(&attribute.value))?;
        if let Some(items) = attribute.value.items() {
            print_values(out, items, indent + 2)?; // as deep as the library lets a file nest
        }
    }
    Ok(())
}

/// A value on one line; for a container, its kind.
fn line(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => printable(&text.to_string()),
        Value::Decimal(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Bytes(bytes) => format!("{} bytes", bytes.len()),
        other => other.kind().text().into(),
    }
}

/// Bytes that a tensor takes in the file.
fn stored(tensor: &Tensor<'_>) -> u64 {
    tensor.components().map(|c| c.extent().length).sum()
}

fn dtype(dtype: Option<DType>, is_big: bool) -> String {
    format!("{}{}", dtype.map_or("-", DType::name), if is_big { " big-endian" } else { "" })
}

/// Columns as wide as necessary; numbers right-aligned.
fn print_rows<const N: usize>(out: &mut impl Write, rows: &[[String; N]]) -> io::Result<()> {
    let width = |column: usize| rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    for (i, row) in rows.iter().enumerate() {
        let mut line = String::from(" ");
        for (column, cell) in row.iter().enumerate() {
            let is_number = rows.len() > 1 && rows[1][column].bytes().all(|b| b.is_ascii_digit());
            let pad = " ".repeat(widths[column] - cell.width());
            line += &if is_number { format!(" {pad}{cell} ") } else { format!(" {cell}{pad} ") };
        }
        let line = line.trim_end();
        let is_bold = i == 0 && io::stdout().is_terminal();
        if is_bold { writeln!(out, "\x1b[1m{line}\x1b[0m")? } else { writeln!(out, "{line}")? }
    }
    Ok(())
}

/// The distinct strings, in order of appearance.
fn distinct(texts: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for text in texts {
        if !all.contains(&text) {
            all.push(text);
        }
    }
    if all.is_empty() { "-".into() } else { all.join("+") }
}

/// A string of the file with everything escaped that could deceive a reader: quotation marks, backslashes, control
/// characters, and those that reverse the direction of a line.
fn printable(text: &str) -> String {
    let turns = |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut shown = String::new();
    for c in text.chars() {
        match c {
            '"' | '\\' => shown.extend(['\\', c]),
            _ if c.is_control() || turns(c) => shown.extend(c.escape_unicode()),
            _ => shown.push(c),
        }
    }
    shown
}

/// A name truncated to fit into a table.
fn shortened(name: &str) -> String {
    const WIDEST: usize = 60;
    if name.chars().count() <= WIDEST {
        return name.into();
    }
    name.chars().take(WIDEST - 1).chain(['…']).collect()
}

/// A number of bytes in readable form.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut amount = bytes as f64 / 1024.0;
    let mut unit = 0;
    while amount >= 1024.0 {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{amount:.1} {}", UNITS[unit])
}
