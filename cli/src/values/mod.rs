//! The elements of a tensor, a piece at a time: a tensor of many gigabytes takes a few megabytes of memory.
//!
//! What is compressed as a whole (one stream of Zstandard or deflate), sparse, or a tensor train is decoded as a whole.

pub mod histogram;
pub mod number;
mod row_major;
pub mod slice;
pub mod statistics;

use std::borrow::Cow;

use tenslice::{ByteOrder, Component, DType, Encoding, Error, File, Layout, Order, Tensor, b2nd};

use crate::common::failure::Failure;
use crate::common::model::Opened;
use crate::common::reading::{check_limit, is_compressed_array, read_rows, rows_at_once, with_room};
use row_major::Transposed;

/// Bytes of elements that are read at a time.
const AT_ONCE: u64 = 1 << 22;
/// Bytes of a column-major array that are put into row-major order at a time.
const AT_ONCE_TRANSPOSED: u64 = 1 << 26;
/// What is decoded as a whole may take so many bytes, unless the user says otherwise.
const LIMIT: u64 = 1 << 30;

/// The elements of a tensor as a dense array, in this machine's byte order.
pub struct Values<'a> {
    /// Their type as they are given, which is `f32` for quantized ones and those of less than a byte; `None` where they are
    /// no numbers: bytes as they are stored.
    pub dtype: Option<DType>,
    /// Bytes of an element.
    pub size: u64,
    pub count: u64,
    pub shape: Vec<u64>,
    pub order: Order,
    origin: Origin<'a>,
    /// How many bytes may be decoded as a whole.
    limit: u64,
    /// Elements that have been read: the number of the first one, and their bytes.
    window: (u64, Vec<u8>),
}

/// Where elements come from.
enum Origin<'a> {
    /// A component of which ranges are read; memory for its frames.
    Ranges(Component<'a>, Vec<u8>),
    /// Elements that are converted to `f32`.
    Converted(Tensor<'a>),
    /// Chunks: how many rows are decoded at a time, and the byte order of numbers.
    Rows(b2nd::Frame<'a>, u64, ByteOrder),
    /// A column-major array, read in row-major order; the type of stored numbers, and their byte order.
    Transposed(Transposed<'a>, Option<DType>, ByteOrder),
    /// The window has all.
    Whole,
}

impl<'a> Values<'a> {
    /// Prepares to read the elements of a tensor. Decodes what can only be decoded as a whole.
    pub fn of<'m: 'a>(opened: &'a Opened<'m>, tensor: &Tensor<'m>, no_limit: bool) -> Result<Self, Failure> {
        let count = tensor.shape().element_count();
        let limit = if no_limit { u64::MAX } else { LIMIT };
        let mut values = Self {
            dtype: tensor.dtype(),
            size: tensor.dtype().and_then(DType::size).unwrap_or(1),
            count: count
                .ok_or_else(|| Failure::new("ShapeOverflow", "there are more elements than 64 bits count"))?,
            shape: tensor.shape().iter().collect(),
            order: tensor.order(),
            origin: Origin::Whole,
            limit,
            window: (0, Vec::new()),
        };
        if tensor.layout() == Layout::Chunked && !no_limit {
            check_limit(&opened.file)?;
        }
        let is_converted = values.dtype.is_some_and(DType::is_packed)
            || matches!(tensor.layout(), Layout::Blocks | Layout::Microscaling);
        let found = match tensor.layout() {
            _ if is_converted => values.convert(tensor, limit),
            Layout::Dense => {
                let data =
                    tensor.data().and_then(|data| opened.with_shard(&data)).map_err(|error| opened.fail(error))?;
                let in_shard = || Failure::new("InShard", "its bytes are in a shard that is not here");
                values.take_dense(data.ok_or_else(in_shard)?, limit)
            }
            Layout::Other if is_compressed_array(tensor) => values.take_array(tensor, limit),
            Layout::Chunked => {
                let frame = opened.file.as_b2nd();
                let data = tensor.components().next();
                if let (Some(frame), Some(data)) = (frame, data) {
                    values.size = frame.item_size();
                    values.origin = Origin::Rows(frame, rows_at_once(&frame, tensor), data.byte_order());
                }
                Ok(())
            }
            _ => values.materialize(tensor, limit),
        };
        match found {
            Ok(()) => Ok(values),
            Err(stop) => Err(stop.in_file(opened)),
        }
    }

    /// Quantized elements, and those of less than a byte.
    fn convert<'m: 'a>(&mut self, tensor: &Tensor<'m>, limit: u64) -> Result<(), Stop> {
        (self.dtype, self.size) = (Some(DType::F32), 4);
        let is_raw = tensor.components().all(|c| c.encoding() == Encoding::Raw && c.shard().is_none());
        if is_raw {
            tensor.read_f32_range(0, &mut [])?;
            self.origin = Origin::Converted(*tensor);
            return Ok(());
        }
        let mut numbers = vec![0.0; within(self.count.checked_mul(4), limit)? / 4];
        with_room(tensor.f32_scratch_length(), |scratch| tensor.read_f32_into(&mut numbers, scratch).map(drop))?;
        self.window.1 = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        Ok(())
    }

    /// Elements of one component.
    fn take_dense(&mut self, data: Component<'a>, limit: u64) -> Result<(), Stop> {
        if self.dtype.is_none() {
            self.size = data.decoded_length().unwrap_or(0) / self.count.max(1);
        }
        if let Some(scratch) = data.range_scratch_length() {
            self.origin = Origin::Ranges(data, vec![0; within(Some(scratch), u64::MAX)?]);
            return Ok(());
        }
        if let Some(length) = data.decoded_length() {
            within(Some(length), limit)?;
        }
        self.window.1 = with_room(data.decoded_length(), |room| data.read_into(room).map(|bytes| bytes.to_vec()))?;
        Ok(())
    }

    /// The array in a compressed entry of an archive.
    fn take_array(&mut self, tensor: &Tensor<'_>, limit: u64) -> Result<(), Stop> {
        let entry = tensor.component("data")?;
        within(entry.decoded_length(), limit)?;
        with_room(entry.decoded_length(), |room| {
            let file = File::open(entry.read_into(room)?)?;
            let array = file.find("")?;
            let data = array.data()?;
            self.dtype = array.dtype();
            self.shape = array.shape().iter().collect();
            self.order = array.order();
            self.count = array.shape().element_count().unwrap_or(0);
            let length = data.decoded_length();
            self.size = array.dtype().and_then(DType::size).unwrap_or(length.unwrap_or(0) / self.count.max(1));
            self.window.1 = with_room(length, |room| data.read_into(room).map(|bytes| bytes.to_vec()))?;
            Ok(())
        })?;
        Ok(())
    }

    /// Any other layout that stands for a dense array.
    fn materialize(&mut self, tensor: &Tensor<'_>, limit: u64) -> Result<(), Stop> {
        let length = tensor.dense_length();
        within(Some(length.unwrap_or(0)), limit)?;
        self.order = Order::RowMajor;
        self.window.1 = with_room(tensor.scratch_length(), |scratch| {
            with_room(length, |room| tensor.read_into(room, scratch).map(|bytes| bytes.to_vec()))
        })?;
        Ok(())
    }

    /// From now on, gives the elements in row-major order. Of a column-major array that is not mapped all is held in
    /// memory.
    pub fn to_row_major(&mut self, opened: &Opened<'_>) -> Result<(), Failure> {
        if self.order != Order::ColumnMajor {
            return Ok(());
        }
        self.order = Order::RowMajor;
        if self.shape.len() < 2 || self.size == 0 {
            return Ok(()); // the same in both orders
        }
        let stored = match &self.origin {
            Origin::Ranges(data, _) if data.encoding() == Encoding::Raw => Some(*data),
            _ => None,
        };
        let (bytes, dtype, order) = if let Some(data) = stored {
            let bytes = data.stored().map_err(|error| opened.fail(error))?;
            (Cow::Borrowed(bytes), data.dtype(), data.byte_order())
        } else {
            let length = within(self.count.checked_mul(self.size), self.limit);
            let length = length.map_err(|stop| stop.in_file(opened))?;
            let mut all = Vec::with_capacity(length);
            self.read(0, self.count, &mut all).map_err(|error| opened.fail(error))?;
            (Cow::Owned(all), None, ByteOrder::NATIVE)
        };
        let transposed = Transposed::new(bytes, &self.shape, self.size);
        let transposed = transposed.ok_or_else(|| Failure::too_large(self.count.saturating_mul(self.size), 1))?;
        (self.origin, self.window) = (Origin::Transposed(transposed, dtype, order), (0, Vec::new()));
        Ok(())
    }

    /// How many elements are best read at a time.
    pub fn at_once(&self) -> u64 {
        (AT_ONCE / self.size.max(1)).max(1)
    }

    /// Writes the bytes of `count` elements, from number `first` on, to `out`.
    pub fn read(&mut self, first: u64, count: u64, out: &mut Vec<u8>) -> Result<(), Error> {
        out.clear();
        let (mut at, end) = (first, (first + count).min(self.count));
        while at < end {
            let held = self.window.1.len() as u64 / self.size.max(1);
            if self.size == 0 {
                return Ok(());
            }
            if at < self.window.0 || at - self.window.0 >= held {
                self.fill(at, end - at)?;
                continue;
            }
            let skipped = at - self.window.0;
            let taken = (held - skipped).min(end - at);
            let (from, to) = (skipped * self.size, (skipped + taken) * self.size);
            out.extend_from_slice(&self.window.1[from as usize..to as usize]);
            at += taken;
        }
        Ok(())
    }

    /// Reads a window that has element `at`, and as many after it as are wanted and as fit.
    fn fill(&mut self, at: u64, wanted: u64) -> Result<(), Error> {
        let count = wanted.min(self.at_once()).min(self.count - at);
        let (start, bytes) = &mut self.window;
        *start = at;
        match &mut self.origin {
            Origin::Ranges(data, scratch) => {
                // What is decoded anyway is worth keeping.
                let ahead =
                    if scratch.is_empty() { count } else { (AT_ONCE / self.size).max(1).min(self.count - at) };
                bytes.resize((ahead * self.size) as usize, 0);
                data.read_range_into(at * self.size, bytes, scratch)?;
            }
            Origin::Converted(tensor) => {
                let mut numbers = vec![0.0; count as usize];
                tensor.read_f32_range(at, &mut numbers)?;
                bytes.clear();
                bytes.extend(numbers.iter().flat_map(|number| number.to_ne_bytes()));
            }
            Origin::Rows(frame, at_once, order) => {
                let rows = self.shape.first().copied().unwrap_or(1).max(1);
                let of_row = (self.count / rows).max(1);
                let row = at / of_row / *at_once * *at_once;
                *start = row * of_row;
                let lane = self.dtype.map_or(1, DType::lane_size);
                read_rows(frame, row, rows.min(row + *at_once), |read| {
                    if *order != ByteOrder::NATIVE {
                        read.chunks_exact_mut(lane).for_each(<[u8]>::reverse);
                    }
                    bytes.clear();
                    bytes.extend_from_slice(read);
                })?;
            }
            Origin::Transposed(array, dtype, order) => {
                // The more rows at a time, the more of each page that is visited is used.
                let count = (AT_ONCE_TRANSPOSED / self.size).max(1).min(self.count - at);
                bytes.resize((count * self.size) as usize, 0);
                array.read(at as usize, count as usize, bytes);
                let lane = dtype.map_or(1, DType::lane_size);
                if *order != ByteOrder::NATIVE && lane > 1 {
                    bytes.chunks_exact_mut(lane).for_each(<[u8]>::reverse);
                }
            }
            Origin::Whole => bytes.resize((self.count * self.size) as usize, 0), // never: it has all
        }
        Ok(())
    }

    /// Reads all elements, piece by piece: `f` takes the number of the first one, and the bytes.
    pub fn each(&mut self, mut f: impl FnMut(u64, &[u8]) -> Result<(), Failure>) -> Result<(), Stopped> {
        let mut bytes = Vec::new();
        let mut at = 0;
        while at < self.count {
            let count = self.at_once().min(self.count - at);
            self.read(at, count, &mut bytes).map_err(Stopped::Read)?;
            f(at, &bytes).map_err(Stopped::By)?;
            at += count;
        }
        Ok(())
    }
}

/// Why not all elements were read.
pub enum Stopped {
    Read(Error),
    By(Failure),
}

impl Stopped {
    pub fn in_file(self, opened: &Opened<'_>) -> Failure {
        match self {
            Self::Read(error) => opened.fail(error),
            Self::By(failure) => failure,
        }
    }
}

/// Why elements cannot be read.
enum Stop {
    Error(Error),
    TooLarge(u64),
}

impl Stop {
    fn in_file(self, opened: &Opened<'_>) -> Failure {
        match self {
            Self::Error(error) => opened.fail(error),
            Self::TooLarge(length) => Failure::too_large(length, 1),
        }
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// A length as one of memory, if it is within a limit.
fn within(length: Option<u64>, limit: u64) -> Result<usize, Stop> {
    let length = length.unwrap_or(u64::MAX);
    usize::try_from(length).ok().filter(|_| length <= limit).ok_or(Stop::TooLarge(length))
}
