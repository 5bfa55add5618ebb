//! Reads the elements of a tensor piece by piece: a tensor of many gigabytes takes a few megabytes of memory.
//!
//! Sparse tensors, and data compressed as a whole (one stream of Zstandard or deflate), are decoded as a whole. So is a
//! tensor train if all of its elements are read; some of them are computed without the others.

mod decimal;
pub mod histogram;
pub mod number;
mod numpy;
mod pieces;
pub mod quantiles;
pub mod quantized;
mod row_major;
pub mod slice;
pub mod stated;
pub mod statistics;
mod time;
mod train;

use tenslice::blz::BlzFile;
use tenslice::{ByteOrder, Component, DType, Encoding, File, Layout, Order, Purpose, ReadOptions, Tensor, b2nd};

use crate::common::budget::{Budget, Room, Stop};
use crate::common::checkpoint::check_values;
use crate::common::failure::Failure;
use crate::common::model::Opened;
use crate::common::reading::{FRAMES_AT_ONCE, is_compressed_array, lane_size, read_rows, rows_at_once};
use decimal::LongDouble;
use row_major::Transposed;
use stated::Stated;
use train::Elements;

/// Bytes of elements to read at a time.
const AT_ONCE: u64 = 1 << 22;
/// Bytes of a column-major array to convert to row-major order at a time.
const AT_ONCE_TRANSPOSED: u64 = 1 << 26;

/// The elements of a tensor as a dense array, in this machine's byte order.
pub struct Values<'a> {
    /// The type of the elements as they are read: `f32` for quantized and packed elements; `None` for elements that are
    /// not numbers, which are read as the stored bytes.
    pub dtype: Option<DType>,
    /// The size of an element in bytes.
    pub size: u64,
    /// The number of elements; 2^64 - 1 for a tensor train with more elements than 64 bits can count.
    pub count: u64,
    pub shape: Vec<u64>,
    pub order: Order,
    /// The type as the file states it.
    pub stated: Stated,
    /// The format of the long doubles among the elements.
    long: LongDouble,
    origin: Origin<'a>,
    budget: &'a Budget,
    /// Elements that have been read: the number of the first one, and their bytes.
    window: (u64, Room<'a>),
}

/// The source of elements.
enum Origin<'a> {
    /// A component that is read in ranges, and memory for its frames.
    Ranges(Component<'a>, Room<'a>),
    /// Elements that are converted to `f32`.
    Converted(Tensor<'a>),
    /// Chunks: the number of rows to decode at a time, and the byte order of numbers.
    Rows(b2nd::Frame<'a>, u64, ByteOrder),
    /// A column-major array, read in row-major order; the type of stored numbers, and their byte order.
    Transposed(Transposed<'a>, Option<DType>, ByteOrder),
    /// A tensor train whose elements are computed one by one or in blocks.
    Train(Tensor<'a>, Box<Elements<'a>>),
    /// The window contains all elements.
    Whole,
}

impl<'a> Values<'a> {
    /// Prepares to read the elements of a tensor, or the numbers that scales give. Data that can only be decoded as a whole is
    /// decoded here.
    fn new<'m: 'a>(
        opened: &'a Opened<'m>,
        tensor: &Tensor<'m>,
        budget: &'a Budget,
        is_scaled: bool,
    ) -> Result<Self, Failure> {
        if let Some(Err(unreadable)) = opened.arrays.get(&tensor.index()) {
            return Err(unreadable.problem.clone().into());
        }
        check_values(opened, tensor, "")?;
        let blz = opened.file.as_blz().filter(|_| tensor.layout() == Layout::TensorTrain);
        let count = tensor.shape().element_count().or(blz.map(|_| u64::MAX));
        let mut values = Self {
            dtype: tensor.dtype(),
            size: tensor.dtype().and_then(DType::size).unwrap_or(1),
            count: count
                .ok_or_else(|| Failure::new("ShapeOverflow", "there are more elements than 64 bits count"))?,
            shape: tensor.shape().iter().collect(),
            order: tensor.order(),
            stated: Stated::of(opened, tensor, None),
            long: LongDouble::X87,
            origin: Origin::Whole,
            budget,
            window: (0, budget.empty()),
        };
        let is_converted = is_scaled
            || values.dtype.is_some_and(DType::is_packed)
            || matches!(tensor.layout(), Layout::Blocks | Layout::Microscaling);
        let found = match (tensor.layout(), opened.file.as_b2nd()) {
            (_, Some(frame)) => {
                let order = tensor.components().next().map_or(ByteOrder::Little, |chunks| chunks.byte_order());
                values.size = frame.item_size();
                values.origin = Origin::Rows(frame, rows_at_once(&frame, tensor), order);
                Ok(())
            }
            _ if is_converted => {
                for component in tensor.components() {
                    let here = opened.with_shard(&component).map_err(|error| opened.fail(error))?;
                    here.ok_or_else(|| opened.without_shard(&component))?;
                }
                values.convert(opened, tensor)
            }
            (Layout::Dense, None) => {
                let data =
                    tensor.data().and_then(|data| opened.with_shard(&data)).map_err(|error| opened.fail(error))?;
                let stored = tensor.data().map_err(|error| opened.fail(error))?;
                values.take_dense(data.ok_or_else(|| opened.without_shard(&stored))?)
            }
            (Layout::Other, None) if is_compressed_array(tensor) => values.take_array(tensor),
            _ => match blz {
                Some(blz) => values.take_train(*tensor, &blz),
                None => values.materialize(tensor),
            },
        };
        match found {
            Ok(()) => values.recognized(opened, tensor),
            Err(stop) => Err(opened.fail(stop)),
        }
    }

    /// Prepares quantized or packed elements.
    fn convert<'m: 'a>(&mut self, opened: &Opened<'m>, tensor: &Tensor<'m>) -> Result<(), Stop> {
        (self.dtype, self.size) = (Some(DType::F32), 4);
        let is_raw = tensor.components().all(|c| c.encoding() == Encoding::Raw && c.shard().is_none());
        if is_raw {
            tensor.read_f32_range(0, &mut [])?;
            self.origin = Origin::Converted(*tensor);
            return Ok(());
        }
        let length = self.count.saturating_mul(4);
        self.budget.work(length)?;
        let [mut room, counted] = self.budget.rooms([length, length])?; // as bytes, and as numbers
        let mut numbers = vec![0.0; counted.len() / 4];
        let scratch = tensor.requirements(Purpose::ReadF32).scratch;
        self.budget.with_room(scratch, |scratch| {
            opened.read_f32(tensor, &mut numbers, ReadOptions::new().scratch(scratch))
        })?;
        room.chunks_exact_mut(4).zip(&numbers).for_each(|(bytes, x)| bytes.copy_from_slice(&x.to_ne_bytes()));
        self.window.1 = room;
        Ok(())
    }

    /// Prepares the elements of one component.
    fn take_dense(&mut self, data: Component<'a>) -> Result<(), Stop> {
        if self.dtype.is_none() {
            self.size = data.decoded_length().unwrap_or(0) / self.count.max(1);
        }
        if let Some(scratch) = data.requirements(Purpose::ReadRange).scratch {
            self.origin = Origin::Ranges(data, self.budget.room(scratch)?);
            return Ok(());
        }
        self.budget.work(data.decoded_length().unwrap_or(0))?;
        let (length, mut room) = self
            .budget
            .fill(data.decoded_length(), |room| data.read_into(room, ReadOptions::new()).map(|bytes| bytes.len()))?;
        room.narrow(0, length);
        self.window.1 = room;
        Ok(())
    }

    /// Decodes the array in a compressed entry of an archive.
    fn take_array(&mut self, tensor: &Tensor<'_>) -> Result<(), Stop> {
        let entry = tensor.component("data")?;
        self.budget.work(entry.decoded_length().unwrap_or(0))?;
        let (extent, mut room) = self.budget.fill(entry.decoded_length(), |room| {
            let file = File::open(entry.read_into(room, ReadOptions::new())?)?;
            let array = file.find("")?;
            let data = array.data()?;
            let extent = data.extent();
            self.dtype = array.dtype();
            self.shape = array.shape().iter().collect();
            self.order = array.order();
            self.count = array.shape().element_count().unwrap_or(0);
            self.size = array.dtype().and_then(DType::size).unwrap_or(extent.length / self.count.max(1));
            Ok::<_, Stop>((extent, data.byte_order()))
        })?;
        let (extent, order) = extent;
        room.narrow(extent.offset as usize, extent.length as usize);
        to_native(&mut room, self.dtype, order);
        self.window.1 = room;
        Ok(())
    }

    /// Prepares a tensor train.
    fn take_train(&mut self, tensor: Tensor<'a>, blz: &BlzFile<'a>) -> Result<(), Stop> {
        let elements = Elements::new(blz, &self.shape, self.size)?;
        self.order = Order::RowMajor;
        self.origin = Origin::Train(tensor, Box::new(elements));
        Ok(())
    }

    /// Decodes any other layout that represents a dense array.
    fn materialize(&mut self, tensor: &Tensor<'_>) -> Result<(), Stop> {
        // A tensor train may have more elements than 64 bits can count.
        let is_train = tensor.layout() == Layout::TensorTrain;
        let needed = tensor.requirements(Purpose::Read);
        let length = needed.output.unwrap_or(if is_train { u64::MAX } else { 0 });
        self.order = Order::RowMajor;
        self.budget.work(length.saturating_add(needed.scratch.unwrap_or(0)))?;
        let mut room = self.budget.room(length)?;
        let read = |scratch: &mut [u8]| {
            tensor.read_into(&mut room, ReadOptions::new().scratch(scratch)).map(|bytes| bytes.len())
        };
        let length = self.budget.with_room(needed.scratch, read)?;
        room.narrow(0, length);
        self.window.1 = room;
        Ok(())
    }

    /// Returns all elements in one buffer.
    pub fn all(&mut self) -> Result<Room<'a>, Stop> {
        if matches!(self.origin, Origin::Whole) {
            return Ok(std::mem::replace(&mut self.window.1, self.budget.empty()));
        }
        let mut room = self.budget.room(self.count.saturating_mul(self.size))?;
        if room.is_empty() {
            return Ok(room);
        }
        let (mut piece, mut at) = (Vec::new(), 0);
        for part in room.chunks_mut((self.at_once() * self.size) as usize) {
            let count = part.len() as u64 / self.size.max(1);
            self.read(at, count, &mut piece)?;
            part.copy_from_slice(&piece);
            at += count;
        }
        Ok(room)
    }

    /// Returns true if all elements are decoded.
    pub fn is_decoded(&self) -> bool {
        matches!(self.origin, Origin::Whole)
    }

    /// Prepares to read all elements. A tensor train is decoded as a whole, because its elements share many products.
    pub fn plan_all(&mut self) -> Result<(), Stop> {
        if let Origin::Train(tensor, elements) = &self.origin {
            let tensor = *tensor;
            self.budget.work(elements.work_of_all())?;
            self.materialize(&tensor)?;
            (self.origin, self.window.0) = (Origin::Whole, 0);
        }
        Ok(())
    }

    /// Prepares to read `wanted` indices in each dimension with [`at`](Self::at).
    pub fn plan(&mut self, wanted: &[u64]) {
        if let Origin::Train(_, elements) = &mut self.origin {
            elements.plan(wanted, AT_ONCE);
        }
    }

    /// Writes the bytes of the element at `index` to `out`.
    pub fn at(&mut self, index: &[u64], out: &mut Vec<u8>) -> Result<(), Stop> {
        if let Origin::Train(_, elements) = &mut self.origin {
            out.clear();
            out.extend_from_slice(elements.at(index)?);
            return Ok(());
        }
        let ends = index.iter().zip(&self.shape);
        let number = match self.order {
            Order::ColumnMajor => ends.rev().fold(0, |number, (index, length)| number * length + index),
            _ => ends.fold(0, |number, (index, length)| number * length + index),
        };
        self.read(number, 1, out)
    }

    /// The recommended number of elements to read at a time.
    pub fn at_once(&self) -> u64 {
        (AT_ONCE / self.size.max(1)).max(1)
    }

    /// Writes the bytes of `count` elements, from number `first` on, to `out`.
    pub fn read(&mut self, first: u64, count: u64, out: &mut Vec<u8>) -> Result<(), Stop> {
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

    /// Reads a window that contains element `at`, and as many of the `wanted` elements as fit.
    fn fill(&mut self, at: u64, wanted: u64) -> Result<(), Stop> {
        let count = wanted.min(self.at_once()).min(self.count - at);
        let (budget, size) = (self.budget, self.size);
        self.window = (at, budget.empty());
        let (start, bytes) = &mut self.window;
        match &mut self.origin {
            Origin::Ranges(data, scratch) => {
                // Keeps all elements of the frames, which are decoded anyway.
                let ahead =
                    if scratch.is_empty() { count } else { (FRAMES_AT_ONCE / size).max(1).min(self.count - at) };
                budget.work(ahead * size)?;
                *bytes = budget.room(ahead * size)?;
                data.read_range_into(at * size, bytes, ReadOptions::new().scratch(scratch))?;
            }
            Origin::Converted(tensor) => {
                budget.work(count * size)?;
                let mut numbers = vec![0.0; count as usize];
                tensor.read_f32_range(at, &mut numbers)?;
                *bytes = budget.room(count * size)?;
                bytes.chunks_exact_mut(4).zip(&numbers).for_each(|(to, x)| to.copy_from_slice(&x.to_ne_bytes()));
            }
            Origin::Rows(frame, at_once, order) => {
                let rows = self.shape.first().copied().unwrap_or(1).max(1);
                let of_row = (self.count / rows).max(1);
                let row = at / of_row / *at_once * *at_once;
                *start = row * of_row;
                *bytes = read_rows(frame, row, rows.min(row + *at_once), budget)?;
                to_native(bytes, self.dtype, *order);
            }
            Origin::Transposed(array, dtype, order) => {
                // With more rows at a time, more of each visited page is used.
                let count = (AT_ONCE_TRANSPOSED / size).max(1).min(self.count - at);
                budget.work(count * size)?;
                *bytes = budget.room(count * size)?;
                array.read(at as usize, count as usize, bytes);
                to_native(bytes, *dtype, *order);
            }
            Origin::Train(_, elements) => {
                *bytes = budget.room(count * size)?;
                for (element, to) in (at..at + count).zip(bytes.chunks_exact_mut(size as usize)) {
                    to.copy_from_slice(elements.at(&slice::index_of(element, &self.shape, Order::RowMajor))?);
                }
            }
            Origin::Whole => return Err(Stop::TooFew),
        }
        Ok(())
    }

    /// Reads all elements piece by piece. `f` receives the number of the first element and the bytes of each piece.
    pub fn each(&mut self, mut f: impl FnMut(u64, &[u8]) -> Result<(), Failure>) -> Result<(), Stopped> {
        self.plan_all().map_err(Stopped::Read)?;
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

/// The reason why not all elements were read.
pub enum Stopped {
    Read(Stop),
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

/// Converts numbers of the given byte order to this machine's byte order.
fn to_native(bytes: &mut [u8], dtype: Option<DType>, order: ByteOrder) {
    let lane = lane_size(dtype);
    if order != ByteOrder::NATIVE && lane > 1 {
        bytes.chunks_exact_mut(lane).for_each(<[u8]>::reverse);
    }
}
