//! Reading all data of a tensor: digests, streams, sparse indices.

use sha2::{Digest, Sha256};
use tenslice::{
    ByteOrder, Component, DType, Encoding, ErrorKind, File, Layout, Purpose, ReadOptions, Tensor, Verification,
    Warning, b2nd,
};

use super::budget::{Budget, Room, Stop};
use super::failure::Failure;
use super::model::Opened;
use super::text::hex;

/// A callback that receives the number of bytes read since the last call.
pub type Progress<'p> = &'p (dyn Fn(u64) + Sync);

/// The budget and the progress bar for reading the data of a model.
#[derive(Clone, Copy)]
pub struct Work<'w> {
    pub budget: &'w Budget,
    pub progress: Progress<'w>,
}

/// The result of reading a tensor.
pub struct Reading {
    /// The state of each component's digest.
    pub digests: Vec<&'static str>,
    /// The SHA-256 of a chunked array.
    pub of_chunks: Option<String>,
    /// The SHA-256 of the elements of a compressed array.
    pub of_array: Option<String>,
    /// The warnings, as bits.
    pub warnings: u32,
    /// The first error.
    pub verdict: Result<(), Stop>,
}

impl Reading {
    /// Reads all of a tensor.
    pub fn of<'m>(opened: &Opened<'m>, tensor: &Tensor<'m>, work: Work<'_>) -> Self {
        let mut reading = Self { digests: Vec::new(), of_chunks: None, of_array: None, warnings: 0, verdict: Ok(()) };
        if let Err(limit) = work.budget.check_work(cost(&opened.file, tensor)) {
            reading.digests = tensor.components().map(|_| "").collect();
            reading.verdict = Err(limit.into());
            return reading;
        }
        if let Some(b2nd) = opened.file.as_b2nd() {
            reading.digests.push("");
            match read_chunks(&b2nd, tensor, work) {
                Ok(sha256) => reading.of_chunks = Some(sha256),
                Err(stop) => reading.verdict = Err(stop),
            }
            return reading;
        }
        if opened.problem(tensor).is_some() {
            reading.digests = tensor.components().map(|_| "").collect();
            return reading; // it is a problem of the model already
        }
        for component in tensor.components() {
            reading.add(opened, tensor, &component, work.budget);
            (work.progress)(component.extent().length);
        }
        let is_here = tensor.components().all(|component| component.shard().is_none());
        if reading.verdict.is_ok() && is_sparse(tensor) && is_here {
            let checked = check_sparse(tensor, work.budget);
            reading.verdict = checked.map(|warnings| reading.warnings = warnings);
        }
        if reading.verdict.is_ok() && tensor.layout_name() == SPARSE_OF_ONNX && is_here {
            reading.verdict = tensor.verify(ReadOptions::new()).map(drop).map_err(Stop::from);
        }
        // Texts, and the indices of sparse tensors.
        if reading.verdict.is_ok() && opened.file.as_tflite().is_some() && is_here {
            reading.verdict = tensor.verify(ReadOptions::new()).map(drop).map_err(Stop::from);
        }
        reading
    }

    /// Verifies and decodes a component.
    fn add<'m>(&mut self, opened: &Opened<'m>, tensor: &Tensor<'m>, component: &Component<'m>, budget: &Budget) {
        let component = match opened.with_shard(component) {
            Ok(Some(bound)) => bound,
            missing => {
                self.digests.push("in a shard that is not here");
                self.verdict = self.verdict.and(missing.map(drop).map_err(Stop::from));
                return;
            }
        };
        let verified = verify(&component, budget);
        let (state, result) = match verified {
            Ok(Verification::Verified) => ("verified", Ok(())),
            Ok(Verification::NoDigest) => ("", Ok(())),
            Ok(_) => ("of unknown kind", Ok(())),
            Err(stop @ Stop::Limit(_)) => ("", Err(stop)),
            Err(stop) => ("WRONG", Err(stop)),
        };
        self.digests.push(state);
        self.verdict = self.verdict.and(result);
        // The limit also applies to decoding. Verifying a digest of decoded bytes has already decoded them.
        let is_decoded = component.encoding() == Encoding::ZstdSeekable && state == "verified";
        if is_decoded || matches!(result, Err(Stop::Limit(_))) {
            return;
        }
        let decoded = match component.encoding() {
            Encoding::Raw => Ok(()),
            _ if is_compressed_array(tensor) => {
                let sha256 = decoded(&component, budget, |bytes| sha256_of_array(bytes, budget));
                // Decoding an entry of an archive compares its CRC-32.
                if let (Some(state), Ok(_) | Err(Stop::Error(_))) = (self.digests.last_mut(), &sha256) {
                    *state = if sha256.is_ok() { "verified" } else { "WRONG" };
                }
                sha256.map(|sha256| self.of_array = Some(sha256))
            }
            _ => each_decoded(&component, budget, |_| {}),
        };
        self.verdict = self.verdict.and(decoded);
    }
}

/// Prepares to read a whole tensor: checks that the work is within the limit, and verifies checksums if `are_compared`.
pub fn verify_whole<'m>(
    opened: &Opened<'m>,
    tensor: &Tensor<'m>,
    budget: &Budget,
    are_compared: bool,
) -> Result<(), Failure> {
    budget.check_work(cost(&opened.file, tensor)).map_err(Failure::limit)?;
    if are_compared { verify_components(opened, tensor, budget) } else { Ok(()) }
}

/// Verifies the checksums of all components that are present. Blosc2 chunks have none.
pub fn verify_components<'m>(opened: &Opened<'m>, tensor: &Tensor<'m>, budget: &Budget) -> Result<(), Failure> {
    for component in tensor.components().filter(|component| component.encoding() != Encoding::Blosc) {
        let component = opened.with_shard(&component).map_err(|error| opened.fail(error))?;
        component.map_or(Ok(()), |here| verify(&here, budget).map(drop)).map_err(|stop| opened.fail(stop))?;
    }
    Ok(())
}

/// Returns true if a component has a checksum that can be verified.
pub fn has_checksum(tensor: &Tensor<'_>) -> bool {
    tensor.components().any(|component| component.caps().verify)
}

/// Verifies a component against its digest.
fn verify(component: &Component<'_>, budget: &Budget) -> Result<Verification, Stop> {
    let scratch = component.requirements(Purpose::Verify).scratch;
    // A digest of decoded bytes needs memory.
    let length = if scratch.is_some_and(|scratch| scratch > 0) { component.decoded_length() } else { None };
    if scratch.is_some() {
        budget.work(length.unwrap_or(component.extent().length))?;
    }
    budget.with_room(scratch, |scratch| component.verify(ReadOptions::new().scratch(scratch)))
}

/// Calls `f` with all bytes that a component decodes to, in one buffer.
fn decoded<T>(
    component: &Component<'_>,
    budget: &Budget,
    mut f: impl FnMut(&mut [u8]) -> Result<T, Stop>,
) -> Result<T, Stop> {
    budget.work(component.decoded_length().unwrap_or(0))?;
    budget.with_room(component.decoded_length(), |room| f(component.read_into(room, ReadOptions::new())?))
}

/// The number of bytes to decode at a time from frames. No frame is longer.
pub const FRAMES_AT_ONCE: u64 = 1 << 24;

/// Calls `f` with the bytes that a component decodes to, in this machine's byte order: piece by piece if the component
/// is stored in frames, otherwise all at once.
pub fn each_decoded(component: &Component<'_>, budget: &Budget, mut f: impl FnMut(&mut [u8])) -> Result<(), Stop> {
    let scratch = component.requirements(Purpose::ReadRange).scratch.zip(component.decoded_length());
    let Some((scratch, length)) = scratch.filter(|_| component.encoding() == Encoding::ZstdSeekable) else {
        return decoded(component, budget, |bytes| {
            f(bytes);
            Ok(())
        });
    };
    let [mut piece, mut scratch] = budget.rooms([length.min(FRAMES_AT_ONCE), scratch])?;
    let mut at = 0;
    while at < length {
        let size = FRAMES_AT_ONCE.min(length - at);
        budget.work(size)?;
        let piece = &mut piece[..size as usize];
        component.read_range_into(at, piece, ReadOptions::new().scratch(&mut scratch))?;
        f(piece);
        at += size;
    }
    Ok(())
}

/// Checks the indices of a sparse tensor, and returns the warnings about them as bits.
pub fn check_sparse(tensor: &Tensor<'_>, budget: &Budget) -> Result<u32, Stop> {
    let scratch = tensor.requirements(Purpose::Sparse).scratch;
    budget.work(scratch.unwrap_or(0).saturating_add(stored(tensor)))?;
    let warnings = |scratch: &mut [u8]| {
        tensor.sparse(ReadOptions::new().scratch(scratch)).map(|sparse| sparse.warnings().bits())
    };
    match budget.with_room(scratch, warnings) {
        Err(Stop::Error(error)) if is_not_known(tensor, error.kind()) => Ok(0),
        checked => checked,
    }
}

/// The number of bytes that [`Progress`] counts while a whole tensor is read.
pub fn to_read(file: &File<'_>, tensor: &Tensor<'_>) -> u64 {
    file.as_b2nd().map_or_else(|| stored(tensor), |b2nd| array_length(&b2nd))
}

/// The number of bytes in all elements of an array.
fn array_length(b2nd: &b2nd::Frame<'_>) -> u64 {
    b2nd.shape().element_count().and_then(|count| count.checked_mul(b2nd.item_size())).unwrap_or(0)
}

/// The number of bytes that a tensor occupies in the file.
pub fn stored(tensor: &Tensor<'_>) -> u64 {
    tensor.components().map(|c| c.extent().length).fold(0, u64::saturating_add)
}

/// The work of reading a whole tensor, as far as it is known in advance.
pub fn cost(file: &File<'_>, tensor: &Tensor<'_>) -> u64 {
    /// The cost of finding a chunk, whatever its size.
    const OF_CHUNK: u64 = 64;
    let Some(b2nd) = file.as_b2nd() else {
        let of_one = |component: Component<'_>| match component.encoding() {
            Encoding::Raw => component.extent().length,
            _ => component.decoded_length().unwrap_or(0).max(component.extent().length),
        };
        return tensor.components().map(of_one).fold(0, u64::saturating_add);
    };
    // Small arrays may have large chunks. Errors in a chunk are reported when it is read.
    let stop: Vec<u64> = b2nd.shape().iter().collect();
    let work = b2nd.work_length(&vec![0; stop.len()], &stop).unwrap_or(0);
    array_length(&b2nd).max(work).saturating_add(b2nd.chunk_count().saturating_mul(OF_CHUNK))
}

/// Reads all chunks, and the metalayers that are stored as chunks. Returns the SHA-256 of the array as stored.
fn read_chunks(b2nd: &b2nd::Frame<'_>, tensor: &Tensor<'_>, work: Work<'_>) -> Result<String, Stop> {
    for metalayer in b2nd.variable_metalayers() {
        let chunk = b2nd.variable_metalayer(&metalayer)?;
        work.budget.work(chunk.decoded_length())?;
        let [mut room, mut scratch] = work.budget.rooms([chunk.decoded_length(), chunk.scratch_length()])?;
        chunk.read_into(&mut room, ReadOptions::new().scratch(&mut scratch))?;
    }
    let mut hash = Sha256::new();
    let rows = tensor.shape().dimension(0).unwrap_or(1);
    let at_once = rows_at_once(b2nd, tensor);
    let mut at = 0;
    while at < rows && array_length(b2nd) != 0 {
        let end = rows.min(at.saturating_add(at_once));
        let rows = read_rows(b2nd, at, end, work.budget)?;
        hash.update(&*rows);
        (work.progress)(rows.len() as u64);
        at = end;
    }
    Ok(hex(&hash.finalize()))
}

/// The number of rows to read at a time along the first dimension: whole chunks, about 4 MiB.
pub fn rows_at_once(b2nd: &b2nd::Frame<'_>, tensor: &Tensor<'_>) -> u64 {
    const BYTES_AT_ONCE: u64 = 1 << 22;
    let rows = tensor.shape().dimension(0).unwrap_or(1);
    // Chunks of varying lengths are found one after the other, so all of them are read at once.
    let of_chunk = match (b2nd.chunk_shape(), b2nd.defaults().chunk_size) {
        (Some(shape), _) => shape.dimension(0).unwrap_or(1),
        (None, 0) => rows,
        (None, size) => size,
    };
    let bytes = (array_length(b2nd) / rows.max(1)).saturating_mul(of_chunk).max(1);
    of_chunk.saturating_mul((BYTES_AT_ONCE / bytes).max(1)).max(1)
}

/// Reads the rows from `start` to `end` along the first dimension, as stored.
pub fn read_rows<'b>(b2nd: &b2nd::Frame<'_>, start: u64, end: u64, budget: &'b Budget) -> Result<Room<'b>, Stop> {
    let mut stop: Vec<u64> = b2nd.shape().iter().collect();
    let mut begin = vec![0; stop.len()];
    if let (Some(begin), Some(stop)) = (begin.first_mut(), stop.first_mut()) {
        (*begin, *stop) = (start, end);
    }
    // Blocks are decoded as a whole, which may be far more than the requested rows.
    budget.work(b2nd.work_length(&begin, &stop)?)?;
    let needed = b2nd.region_requirements(&begin, &stop)?;
    let [mut room, mut scratch] = budget.rooms([needed.output, needed.scratch].map(|length| length.unwrap_or(0)))?;
    let length = b2nd.read_region(&begin, &stop, &mut room, ReadOptions::new().scratch(&mut scratch))?.len();
    room.narrow(0, length);
    Ok(room)
}

/// Returns true for an array of an NPZ that must be decoded before its type and shape are known.
pub fn is_compressed_array(tensor: &Tensor<'_>) -> bool {
    is_without_header(tensor) && tensor.problem().is_none()
}

/// Returns true for an array of an NPZ whose header has not been read: it is compressed, or invalid.
pub fn is_without_header(tensor: &Tensor<'_>) -> bool {
    tensor.layout() == Layout::Other && tensor.layout_name() == "npy"
}

/// The layout of sparse tensors of ONNX.
const SPARSE_OF_ONNX: &str = "onnx.sparse";

pub fn is_sparse(tensor: &Tensor<'_>) -> bool {
    matches!(tensor.layout(), Layout::SparseCsr | Layout::SparseCoo | Layout::IndexValue)
}

/// Returns true if an error of this kind does not show that the sparse tensor is invalid: elements of an unknown type
/// may have any size, and packed elements are not read one by one.
fn is_not_known(tensor: &Tensor<'_>, kind: ErrorKind) -> bool {
    match kind {
        ErrorKind::UnsupportedLayout => true,
        ErrorKind::CountMismatch | ErrorKind::PartialElement => {
            tensor.warnings().contains(Warning::UnknownLogicalType)
        }
        _ => false,
    }
}

/// SHA-256 of the elements of a compressed array, which decodes to an NPY file.
fn sha256_of_array(bytes: &[u8], budget: &Budget) -> Result<String, Stop> {
    let file = File::open(bytes)?;
    sha256(&file.find("")?.data()?, budget)
}

/// SHA-256 of the decoded elements in little-endian order.
pub fn sha256(component: &Component<'_>, budget: &Budget) -> Result<String, Stop> {
    let size = lane_size(component.dtype());
    let mut hash = Sha256::new();
    // Raw elements need no buffer: this thread may hold one with these bytes already.
    if component.encoding() == Encoding::Raw {
        budget.work(component.extent().length)?;
        let is_reversed = component.byte_order() == ByteOrder::Big;
        let mut buffer = Vec::new();
        for piece in component.bytes()?.chunks(size << 12) {
            buffer.clear();
            buffer.extend_from_slice(piece);
            if is_reversed {
                buffer.chunks_exact_mut(size).for_each(<[u8]>::reverse);
            }
            hash.update(&buffer);
        }
        return Ok(hex(&hash.finalize()));
    }
    each_decoded(component, budget, |elements| {
        to_little_endian(elements, size);
        hash.update(&*elements);
    })?;
    Ok(hex(&hash.finalize()))
}

/// The size of the numbers of a type in bytes; 1 if there is none.
pub fn lane_size(dtype: Option<DType>) -> usize {
    dtype.map_or(1, DType::lane_size)
}

/// Makes numbers of `size` bytes, in this machine's byte order, little-endian.
pub fn to_little_endian(bytes: &mut [u8], size: usize) {
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
}
