//! Reading all data of a tensor: digests, streams, sparse indices.

use sha2::{Digest, Sha256};
use tenslice::{
    BuiltIn, ByteOrder, Component, DType, Encoding, Error, ErrorKind, File, Layout, Order, Tensor, Verification,
    Warning, b2nd,
};

use super::failure::Failure;
use super::model::Opened;
use super::text::hex;

/// Is told how many more bytes have been read.
pub type Progress<'p> = &'p (dyn Fn(u64) + Sync);

/// The result of reading a tensor.
pub struct Reading {
    /// The state of each component's digest.
    pub digests: Vec<&'static str>,
    /// The SHA-256 of a chunked array.
    pub of_chunks: Option<String>,
    /// What a compressed array contains.
    pub array: Option<CompressedArray>,
    /// The warnings, as bits.
    pub warnings: u32,
    /// The first error.
    pub verdict: Result<(), Error>,
}

impl Reading {
    /// Reads all of a tensor.
    pub fn of<'m>(opened: &Opened<'m>, tensor: &Tensor<'m>, progress: Progress<'_>) -> Self {
        let mut reading = Self { digests: Vec::new(), of_chunks: None, array: None, warnings: 0, verdict: Ok(()) };
        if let Some(b2nd) = opened.file.as_b2nd() {
            reading.digests.push("");
            match read_chunks(&b2nd, tensor, progress) {
                Ok(sha256) => reading.of_chunks = Some(sha256),
                Err(error) => reading.verdict = Err(error),
            }
            return reading;
        }
        for component in tensor.components() {
            reading.add(opened, tensor, &component);
            progress(component.extent().length);
        }
        let is_here = tensor.components().all(|component| component.shard().is_none());
        if reading.verdict.is_ok() && is_sparse(tensor) && is_here {
            let checked = with_room(tensor.scratch_length(), |scratch| Ok(tensor.sparse(scratch)?.warnings().bits()));
            reading.verdict = match checked {
                Err(error) if is_not_known(tensor, error.kind()) => Ok(()),
                checked => checked.map(|warnings| reading.warnings = warnings),
            };
        }
        reading
    }

    /// Verifies and decodes a component.
    fn add<'m>(&mut self, opened: &Opened<'m>, tensor: &Tensor<'m>, component: &Component<'m>) {
        let component = match opened.with_shard(component) {
            Ok(Some(bound)) => bound,
            missing => {
                self.digests.push("in a shard that is not here");
                self.verdict = self.verdict.and(missing.map(drop));
                return;
            }
        };
        let verified = with_room(component.verify_scratch_length(), |scratch| {
            component.verify_with(&mut BuiltIn::default(), scratch)
        });
        let (state, result) = match verified {
            Ok(Verification::Verified) => ("verified", Ok(())),
            Ok(Verification::NoDigest) => ("", Ok(())),
            Ok(_) => ("of unknown kind", Ok(())),
            Err(error) => ("WRONG", Err(error)),
        };
        self.digests.push(state);
        let decoded = match component.encoding() {
            Encoding::Raw => Ok(()),
            _ if is_compressed_array(tensor) => {
                let of = |room: &mut [u8]| CompressedArray::of(component.read_into(room)?);
                with_room(component.decoded_length(), of).map(|array| self.array = Some(array))
            }
            _ => with_room(component.decoded_length(), |room| component.read_into(room).map(drop)),
        };
        self.verdict = self.verdict.and(result).and(decoded);
    }
}

/// How many bytes reading all of a tensor goes through, as [`Progress`] counts them.
pub fn work(file: &File<'_>, tensor: &Tensor<'_>) -> u64 {
    if file.as_b2nd().is_some() { tensor.dense_length().unwrap_or(0) } else { stored(tensor) }
}

/// Bytes that a tensor takes in the file.
pub fn stored(tensor: &Tensor<'_>) -> u64 {
    tensor.components().map(|c| c.extent().length).sum()
}

/// What is compressed may decode to far more than the bytes of its file: refuses more than 1 GiB, or 2^24 chunks.
pub fn check_limit(file: &File<'_>) -> Result<(), Failure> {
    const BYTES: u64 = 1 << 30;
    const CHUNKS: u64 = 1 << 24;
    let Some(b2nd) = file.as_b2nd() else {
        for tensor in file.tensors() {
            let compressed = tensor.components().filter(|component| component.encoding() != Encoding::Raw);
            let length = compressed.filter_map(|component| component.decoded_length()).max().unwrap_or(0);
            if length > BYTES {
                return Err(Failure::too_large(length, 1));
            }
        }
        return Ok(());
    };
    let length = file.tensors().next().and_then(|tensor| tensor.dense_length()).unwrap_or(u64::MAX);
    // Small arrays may be in large chunks. Faults of a chunk are reported when it is read.
    let stop: Vec<u64> = b2nd.shape().iter().collect();
    let work = b2nd.work_length(&vec![0; stop.len()], &stop).unwrap_or(0);
    if length > BYTES || work > BYTES || b2nd.chunk_count() > CHUNKS {
        return Err(Failure::too_large(length.max(work), b2nd.chunk_count()));
    }
    Ok(())
}

/// Reads all chunks, and the metalayers that are chunks; returns the SHA-256 of the array as stored.
fn read_chunks(b2nd: &b2nd::Frame<'_>, tensor: &Tensor<'_>, progress: Progress<'_>) -> Result<String, Error> {
    for metalayer in b2nd.variable_metalayers() {
        let chunk = b2nd.variable_metalayer(&metalayer)?;
        with_room(Some(chunk.scratch_length()), |scratch| {
            with_room(Some(chunk.decoded_length()), |room| chunk.read_into(room, scratch).map(drop))
        })?;
    }
    let mut hash = Sha256::new();
    let rows = tensor.shape().dimension(0).unwrap_or(1);
    let at_once = rows_at_once(b2nd, tensor);
    let mut at = 0;
    while at < rows && tensor.dense_length() != Some(0) {
        let end = rows.min(at.saturating_add(at_once));
        let mut read = 0;
        read_rows(b2nd, at, end, |bytes| {
            read = bytes.len() as u64;
            hash.update(bytes);
        })?;
        progress(read);
        at = end;
    }
    Ok(hex(&hash.finalize()))
}

/// How many rows along the first dimension are read at a time: those of whole chunks, some 4 MiB.
pub fn rows_at_once(b2nd: &b2nd::Frame<'_>, tensor: &Tensor<'_>) -> u64 {
    const BYTES_AT_ONCE: u64 = 1 << 22;
    let rows = tensor.shape().dimension(0).unwrap_or(1);
    // Chunks of different lengths are found one after the other, so all of them at once.
    let of_chunk = match (b2nd.chunk_shape(), b2nd.defaults().chunk_size) {
        (Some(shape), _) => shape.dimension(0).unwrap_or(1),
        (None, 0) => rows,
        (None, size) => size,
    };
    let bytes = (tensor.dense_length().unwrap_or(0) / rows.max(1)).saturating_mul(of_chunk).max(1);
    of_chunk.saturating_mul((BYTES_AT_ONCE / bytes).max(1)).max(1)
}

/// Reads the rows from `start` to `end` along the first dimension, as stored.
pub fn read_rows(b2nd: &b2nd::Frame<'_>, start: u64, end: u64, f: impl FnOnce(&mut [u8])) -> Result<(), Error> {
    let mut stop: Vec<u64> = b2nd.shape().iter().collect();
    let mut begin = vec![0; stop.len()];
    if let (Some(begin), Some(stop)) = (begin.first_mut(), stop.first_mut()) {
        (*begin, *stop) = (start, end);
    }
    let mut f = Some(f);
    with_room(Some(b2nd.scratch_length(&begin, &stop)?), |scratch| {
        with_room(Some(b2nd.region_length(&begin, &stop)?), |room| {
            let rows = b2nd.read_region(&begin, &stop, room, scratch)?;
            if let Some(f) = f.take() {
                f(rows);
            }
            Ok(())
        })
    })
}

/// Whether it is an array of an NPZ that must be decoded before its type and shape are known.
pub fn is_compressed_array(tensor: &Tensor<'_>) -> bool {
    tensor.layout() == Layout::Other && tensor.layout_name() == "npy"
}

pub fn is_sparse(tensor: &Tensor<'_>) -> bool {
    matches!(tensor.layout(), Layout::SparseCsr | Layout::SparseCoo | Layout::IndexValue)
}

/// Whether nothing is known to be wrong with a sparse tensor that cannot be read for such a reason: an element of an unknown
/// type is of any size, and those of less than a byte are not read one by one.
fn is_not_known(tensor: &Tensor<'_>, kind: ErrorKind) -> bool {
    match kind {
        ErrorKind::UnsupportedLayout => true,
        ErrorKind::CountMismatch | ErrorKind::PartialElement => {
            tensor.warnings().contains(Warning::UnknownLogicalType)
        }
        _ => false,
    }
}

/// What is known of a compressed array once it has been decoded.
pub struct CompressedArray {
    pub dtype: Option<DType>,
    pub is_big: bool,
    pub shape: Vec<u64>,
    pub order: Order,
    pub sha256: String,
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

/// SHA-256 of the elements, decoded, in little-endian order.
pub fn sha256(component: &Component<'_>) -> Result<String, Error> {
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

/// Calls `f` with as much memory as it needs; if that is unknown, with more and more.
pub fn with_room<T>(length: Option<u64>, mut f: impl FnMut(&mut [u8]) -> Result<T, Error>) -> Result<T, Error> {
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
