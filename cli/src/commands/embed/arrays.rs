//! The arrays to embed: one for each tensor, or one for each component of a tensor that has several.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tenslice::{ByteOrder, Component, DType, Encoding, Extent, Layout, Order, ReadOptions, Tensor};

use super::number::Number;
use super::symbols::{Symbols, identifier};
use crate::common::budget::{Budget, Room};
use crate::common::checkpoint::check_values;
use crate::common::failure::Failure;
use crate::common::model::Opened;
use crate::common::reading::{is_compressed_array, lane_size, to_little_endian};
use crate::common::text::printable;
use crate::values::Values;

/// An array.
pub struct Array<'b> {
    pub symbol: String,
    /// The name of the tensor, and the role of the component if there are several.
    pub name: String,
    pub role: String,
    pub number: Number,
    pub dtype_name: String,
    pub shape: Vec<u64>,
    pub is_column_major: bool,
    pub content: Content<'b>,
}

pub enum Content<'b> {
    /// A range of a file, and its bytes.
    InFile(PathBuf, Extent, &'b [u8]),
    /// Bytes in memory: little-endian numbers.
    Bytes(Room<'b>),
}

impl Array<'_> {
    pub fn bytes(&self) -> &[u8] {
        match &self.content {
            Content::InFile(_, _, bytes) => bytes,
            Content::Bytes(bytes) => bytes,
        }
    }

    /// The number of numbers.
    pub fn count(&self) -> usize {
        self.bytes().len() / self.number.size()
    }

    /// A description for a comment: type, shape and order.
    pub fn description(&self) -> String {
        let order = if self.is_column_major { ", column-major" } else { "" };
        format!("{} {:?}{order}", self.dtype_name, self.shape)
    }
}

/// How arrays are collected.
#[derive(Clone, Copy)]
pub struct Style {
    /// Symbols are in upper case.
    pub is_upper: bool,
    /// Column-major arrays become row-major.
    pub is_row_major: bool,
    /// Bytes that a file has in the form to embed stay in the file.
    pub may_refer: bool,
}

/// A tensor whose symbol has a number, because the symbol without it is taken.
pub struct Collision {
    pub name: String,
    pub symbol: String,
    /// The tensor that has the symbol; `None` if the header itself has it.
    pub first: Option<String>,
}

/// Collects arrays.
pub struct Arrays<'b> {
    pub all: Vec<Array<'b>>,
    /// The first collision, and the number of others.
    pub collision: Option<Collision>,
    pub more_collisions: u64,
    prefix: String,
    style: Style,
    symbols: Symbols,
    /// The first tensor of each symbol, in upper case.
    names: HashMap<String, String>,
    budget: &'b Budget,
}

impl<'b> Arrays<'b> {
    /// No arrays yet.
    pub fn new(prefix: &str, style: Style, budget: &'b Budget) -> Self {
        let upper = prefix.to_uppercase();
        let own = ["tensors", "tensor", "find", "buckets", "slots"].map(|own| format!("{prefix}_{own}"));
        let macros = ["COUNT", "ALIGNED", "SECTION", "H"].map(|own| format!("{upper}_{own}"));
        Self {
            all: Vec::new(),
            collision: None,
            more_collisions: 0,
            prefix: prefix.into(),
            style,
            symbols: Symbols::new(own.into_iter().chain(macros).collect()),
            names: HashMap::new(),
            budget,
        }
    }

    /// Adds the arrays of a tensor.
    pub fn add<'m>(&mut self, opened: &'b Opened<'m>, tensor: &Tensor<'m>) -> Result<(), Failure>
    where
        'm: 'b,
    {
        check_values(opened, tensor, ", or choose other tensors: --only")?;
        let of_dtype = |dtype: Option<DType>| dtype.map_or("bytes".into(), |dtype| dtype.name().to_owned());
        let is_transposed =
            self.style.is_row_major && tensor.layout() == Layout::Dense && tensor.order() == Order::ColumnMajor;
        let is_strided = tensor.layout() == Layout::Strided;
        if opened.file.as_b2nd().is_some() || is_compressed_array(tensor) || is_strided || is_transposed {
            let mut values = Values::of(opened, tensor, self.budget)?;
            if self.style.is_row_major {
                values.make_row_major(opened)?;
            }
            let mut all = values.all().map_err(|stop| opened.fail(stop))?;
            to_little_endian(&mut all, lane_size(values.dtype));
            let (dtype, name) = (values.dtype, of_dtype(values.dtype));
            self.push(tensor, "", (dtype, name), (values.shape.clone(), values.order), Content::Bytes(all));
            return Ok(());
        }
        let is_one = matches!(tensor.layout(), Layout::Dense | Layout::Blocks);
        for component in tensor.components() {
            let content = self.content(opened, &component)?;
            let length = match &content {
                Content::InFile(_, extent, _) => extent.length,
                Content::Bytes(bytes) => bytes.len() as u64,
            };
            // Packed elements and blocks are bytes in C.
            let dtype = component.dtype().filter(|dtype| !dtype.is_packed() && tensor.layout() != Layout::Blocks);
            let dtype_name = match tensor.layout() {
                Layout::Blocks => printable(tensor.layout_name()),
                _ => of_dtype(component.dtype()),
            };
            let shape = if is_one {
                (tensor.shape().iter().collect(), tensor.order())
            } else {
                (vec![length / dtype.and_then(DType::size).unwrap_or(1)], Order::RowMajor)
            };
            self.push(tensor, if is_one { "" } else { component.role() }, (dtype, dtype_name), shape, content);
        }
        Ok(())
    }

    fn push(
        &mut self,
        tensor: &Tensor<'_>,
        role: &str,
        (dtype, dtype_name): (Option<DType>, String),
        (shape, order): (Vec<u64>, Order),
        content: Content<'b>,
    ) {
        let name = tensor.name().to_string();
        let is_column_major = order == Order::ColumnMajor && shape.len() > 1;
        let parts = [self.prefix.as_str(), &name, role];
        let wanted = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_");
        let wanted = identifier(&wanted);
        let wanted = if self.style.is_upper { wanted.to_uppercase() } else { wanted };
        let symbol = self.symbols.take(wanted.clone(), shape.len());
        let key = wanted.to_uppercase();
        if symbol == wanted {
            self.names.insert(key, name.clone());
        } else if self.collision.is_some() {
            self.more_collisions += 1;
        } else {
            let first = self.names.get(&key).cloned();
            self.collision = Some(Collision { name: name.clone(), symbol: symbol.clone(), first });
        }
        let (role, number) = (role.into(), Number::of(dtype));
        self.all.push(Array { symbol, name, role, number, dtype_name, shape, is_column_major, content });
    }

    /// The content of a component: a range of the file if the bytes are stored in the form to embed.
    fn content<'m>(&self, opened: &'b Opened<'m>, component: &Component<'m>) -> Result<Content<'b>, Failure>
    where
        'm: 'b,
    {
        let is_as_stored = component.encoding() == Encoding::Raw
            && (component.byte_order() == ByteOrder::Little || component.dtype().is_none_or(|d| d.lane_size() == 1));
        if is_as_stored && component.shard().is_none() && self.style.may_refer && opened.path != Path::new("-") {
            let bytes = component.bytes().map_err(|error| opened.fail(error))?;
            let path = std::path::absolute(opened.path).map_err(|error| Failure::unreadable(&error))?;
            return Ok(Content::InFile(path, component.extent(), bytes));
        }
        let bound = opened.with_shard(component).map_err(|error| opened.fail(error))?;
        let bound = bound.ok_or_else(|| opened.without_shard(component))?;
        let read = |room: &mut [u8]| bound.read_into(room, ReadOptions::new()).map(|bytes| bytes.len());
        self.budget.work(bound.decoded_length().unwrap_or(0)).map_err(Failure::limit)?;
        let (length, mut bytes) = self.budget.fill(bound.decoded_length(), read).map_err(|stop| opened.fail(stop))?;
        bytes.narrow(0, length);
        to_little_endian(&mut bytes, lane_size(component.dtype()));
        Ok(Content::Bytes(bytes))
    }

    /// Moves the scales of quantized tensors, and what else `tenslice quantize` adds, behind their tensors.
    pub fn put_scales_beside(&mut self) {
        const ENDINGS: [&str; 4] = ["_scale", "_zero_point", "_multiplier", "_shift"];
        let mut places: HashMap<String, usize> = HashMap::new();
        for (place, array) in self.all.iter().enumerate() {
            places.entry(array.name.clone()).or_insert(place);
        }
        let place = |array: &Array<'_>| {
            let of = |ending: &str| places.get(array.name.strip_suffix(ending)?);
            let beside = ENDINGS.iter().enumerate().find_map(|(i, ending)| Some((*of(ending)?, i + 1)));
            beside.unwrap_or((places[&array.name], 0))
        };
        self.all.sort_by_cached_key(place);
    }
}
