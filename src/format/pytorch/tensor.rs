//! Tensors: the arguments of the functions that make them.
//!
//! ```text
//! _rebuild_tensor             storage, offset, sizes, strides
//! _rebuild_tensor_v2          the same, requires_grad, hooks, and perhaps metadata
//! _rebuild_tensor_v3          the same, with the dtype before the metadata; the storage has no type
//! _rebuild_parameter          tensor, requires_grad, hooks; _with_state: a state more
//! _rebuild_from_type_v2       function, class, arguments of the function, state
//! _rebuild_qtensor            storage, offset, sizes, strides, quantizer, requires_grad, hooks
//! ```
#![forbid(unsafe_code)]

use crate::bytes::extent::Extent;
use crate::bytes::pickle::Fault;
use crate::bytes::pickle::globals::{Known, StorageType, TorchType};
use crate::bytes::pickle::machine::{Items, Machine};
use crate::bytes::pickle::op;
use crate::bytes::pickle::path::text_at;
use crate::bytes::pickle::slot::{Kind, Slot, bytes_of};
use crate::bytes::utf8::Utf8;
use crate::codec::strided;
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::format::TensorRecord;
use crate::types::shape::Shape;
use crate::types::{DType, Layout};

/// The number of functions that are around the one with the storage, at most.
const MOST_AROUND: u32 = 4;

const fn wrong(at: u32) -> Fault {
    Fault::new(ErrorKind::UnexpectedType, Part::Tensor, at)
}

/// The function that makes a tensor, without those around it, and its arguments.
#[derive(Clone, Copy)]
pub(super) struct Base {
    known: Known,
    pub(super) at: u32,
    pub(super) end: u32,
    is_subclass: bool,
}

impl Base {
    /// The arguments of `_rebuild_tensor_v2`.
    pub(super) const fn plain((at, end): (u32, u32)) -> Self {
        Self { known: Known::TENSOR_2, at, end, is_subclass: false }
    }

    /// Returns the function that makes the tensor in a slot.
    pub(super) fn of(machine: &mut Machine<'_>, slot: &Slot) -> Result<Self, Fault> {
        let mut base = Self { known: slot.known(), at: slot.at, end: slot.end, is_subclass: false };
        for _ in 0..=MOST_AROUND {
            if !matches!(base.known, Known::PARAMETER | Known::PARAMETER_WITH_STATE | Known::FROM_TYPE) {
                return Ok(base);
            }
            let items = machine.items(base.at, base.end)?;
            let inner = match (base.known, items.all()) {
                (Known::PARAMETER, [tensor, grad, _]) | (Known::PARAMETER_WITH_STATE, [tensor, grad, _, _])
                    if tensor.kind == Kind::Tensor && grad.kind == Kind::Bool =>
                {
                    tensor
                }
                (Known::FROM_TYPE, [function, class, arguments, _])
                    if function.kind == Kind::Global
                        && function.known().makes_tensor()
                        && class.kind == Kind::Global
                        && arguments.kind == Kind::Tuple =>
                {
                    let is_plain =
                        matches!(class.known(), Known::CLASS_TENSOR | Known::CLASS_PARAMETER | Known::CLASS_BUFFER);
                    base.is_subclass |= !is_plain;
                    &Slot { known: function.known, ..*arguments }
                }
                _ => return Err(wrong(base.at)),
            };
            base = Self { known: inner.known(), at: inner.at, end: inner.end, ..base };
        }
        Err(Fault::new(ErrorKind::TooDeep, Part::Tensor, slot.at))
    }

    /// Returns the function of a tensor that was read before, which has a layout of this name. Its arguments, if there
    /// is a storage among them, are more than three, so they are behind a mark.
    pub(super) fn of_arguments(pickle: &[u8], at: u32, layout: &[u8]) -> Self {
        let known = match layout {
            b"torch.quantized" => Known::QUANTIZED,
            b"torch.nested" => Known::NESTED,
            b"torch.meta" => Known::META,
            b"torch.wrapper_subclass" => Known::WRAPPER,
            layout if layout.starts_with(b"torch.sparse_") => Known::SPARSE,
            _ => Known::OPAQUE, // told by the arguments
        };
        let (mut end, mut open) = (at, 0_u32);
        while let Ok(next) = op::read(pickle, end) {
            match next.code {
                op::MARK => open = open.saturating_add(1),
                op::TUPLE | op::FROZEN_SET | op::SET_ITEMS | op::APPENDS | op::ADD_ITEMS => {
                    match open.checked_sub(1) {
                        Some(less) => open = less,
                        None => break,
                    }
                }
                op::STOP => break,
                _ => {}
            }
            end = next.next;
        }
        Self { known, at, end, is_subclass: layout == b"torch.subclass" }
    }

    /// Returns the place of the arguments, if they may be those of `_rebuild_tensor_v2`, and of no subclass.
    pub(super) fn of_usual(&self) -> Option<u32> {
        let is_it = matches!(self.known, Known::OPAQUE | Known::TENSOR_2) && !self.is_subclass;
        is_it.then_some(self.at)
    }

    /// True if the function takes a storage.
    pub(super) fn has_storage(&self) -> bool {
        !matches!(self.known, Known::SPARSE | Known::NESTED | Known::META | Known::WRAPPER)
    }
}

/// A text in a pickle: its bytes, and the opcode that pushes it.
#[derive(Clone, Copy)]
pub(super) struct Key {
    at: u32,
    end: u32,
    pub(super) start: u32,
}

impl Key {
    pub(super) fn bytes<'a>(&self, pickle: &'a [u8]) -> &'a [u8] {
        text_at(pickle, self.at, self.end)
    }
}

/// A storage, as its ID states it.
#[derive(Clone, Copy)]
pub(super) struct Storage {
    pub(super) key: Key,
    pub(super) bytes: u64,
    class: StorageType,
    /// True if the ID has a sixth item, `None`, as in each stream.
    pub(super) has_sixth: bool,
}

impl Storage {
    /// The size of an element in bytes.
    pub(super) fn width(&self) -> u8 {
        match self.class {
            StorageType::Typed(dtype) => u8::try_from(dtype.size).unwrap_or(0),
            StorageType::Untyped => 1,
        }
    }

    /// Returns a storage of numbers of a type, which is not a quantized one.
    pub(super) fn plain(key: &Slot, class: Known, count: u64, has_sixth: bool) -> Option<Self> {
        let class = class.storage()?;
        let StorageType::Typed(dtype) = class else { return None };
        let bytes = count.checked_mul(dtype.size).filter(|_| !is_quantized(dtype))?;
        Some(Self { key: Self::key(key), bytes, class, has_sixth })
    }

    const fn key(text: &Slot) -> Key {
        Key { at: text.at, end: text.end, start: text.start }
    }

    /// Reads the ID of a storage.
    pub(super) fn of(machine: &mut Machine<'_>, slot: &Slot) -> Result<Self, Fault> {
        let wrong = Fault::new(ErrorKind::UnexpectedType, Part::Component, slot.at);
        let items = machine.items(slot.at, slot.end)?;
        let (word, class, key, place, count) = match items.all() {
            [word, class, key, place, count] => (word, class, key, place, count),
            [word, class, key, place, count, none] if none.kind == Kind::None => (word, class, key, place, count),
            _ => return Err(wrong),
        };
        let is_it = word.kind == Kind::Text && key.kind == Kind::Text && place.kind == Kind::Text;
        let class = class.known().storage().filter(|_| is_it && class.kind == Kind::Global).ok_or(wrong)?;
        let count = whole(machine.bytes(), count).ok_or(wrong)?;
        let size = match class {
            StorageType::Typed(dtype) => dtype.size,
            StorageType::Untyped => 1,
        };
        let too_large = Fault::new(ErrorKind::ShapeOverflow, Part::Component, slot.at);
        let bytes = count.checked_mul(size).ok_or(too_large)?;
        Ok(Self { key: Self::key(key), bytes, class, has_sixth: items.all().len() == 6 })
    }
}

/// Returns a whole number that is not negative.
fn whole(pickle: &[u8], slot: &Slot) -> Option<u64> {
    if slot.kind != Kind::Integer {
        return None;
    }
    op::integer(&op::read(pickle, slot.at).ok()?).and_then(|number| u64::try_from(number).ok())
}

/// Numbers in a tuple: the positions of its items, and behind them.
#[derive(Clone, Copy, Default)]
pub(super) struct Numbers {
    pub(super) at: u32,
    pub(super) end: u32,
    pub(super) count: u32,
}

impl Numbers {
    /// Reads a tuple of whole numbers, or a `torch.Size` of one.
    fn of(machine: &mut Machine<'_>, slot: &Slot) -> Result<Self, Fault> {
        let mut tuple = *slot;
        if tuple.kind == Kind::Tuple && tuple.known() == Known::SIZE {
            let items = machine.items(slot.at, slot.end)?;
            tuple = match items.all() {
                [only] => *only,
                _ => return Err(wrong(slot.at)),
            };
        }
        if tuple.kind != Kind::Tuple || tuple.known() == Known::SIZE {
            return Err(wrong(slot.at));
        }
        let mut numbers = Self { at: tuple.at, end: tuple.end, count: 0 };
        let mut at = tuple.at;
        while at < tuple.end {
            let next = op::read(machine.bytes(), at)?;
            at = next.next;
            match next.code {
                op::PUT_1 | op::PUT_4 | op::MEMOIZE | op::FRAME => {}
                _ => {
                    let number = op::integer(&next).filter(|_| !op::is_truth(&next)).ok_or(wrong(next.at))?;
                    if number < 0 {
                        return Err(Fault::new(ErrorKind::NegativeLength, Part::Shape, next.at));
                    }
                    if number > u64::MAX.into() {
                        return Err(Fault::new(ErrorKind::ShapeOverflow, Part::Shape, next.at));
                    }
                    numbers.count = numbers.count.saturating_add(1);
                }
            }
        }
        Ok(numbers)
    }

    fn shape<'a>(&self, pickle: &'a [u8]) -> Option<Shape<'a>> {
        let bytes = pickle.get(usize::try_from(self.at).ok()?..usize::try_from(self.end).ok()?)?;
        Some(Shape::new(bytes, self.count, read_dimension))
    }
}

/// Reads a number of a tuple; also returns the bytes after it.
fn read_dimension(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut at = 0;
    loop {
        if let Some((number, next)) = op::whole(bytes, at) {
            return Some((number, bytes.get(usize::try_from(next).ok()?..)?));
        }
        let next = op::read(bytes, at).ok()?;
        at = next.next;
        if let Some(number) = op::integer(&next) {
            return Some((u64::try_from(number).ok()?, bytes.get(usize::try_from(at).ok()?..)?));
        }
        if !matches!(next.code, op::PUT_1 | op::PUT_4 | op::MEMOIZE | op::FRAME) {
            return None;
        }
    }
}

/// A tensor as its arguments describe it.
#[derive(Clone, Copy)]
pub(super) struct Described {
    pub(super) storage: Option<Storage>,
    /// The position of the storage's entry in the directory.
    pub(super) entry: u32,
    dtype: Option<&'static TorchType>,
    offset: u64,
    sizes: Numbers,
    strides: Numbers,
    /// The layout, if it is neither dense nor strided; a dtype without a name of ours is one as well.
    layout: Option<&'static str>,
    at: u32,
}

impl Described {
    /// Returns a view of a [plain](Storage::plain) storage.
    pub(super) fn plain(
        storage: &Storage,
        offset: u64,
        (sizes, strides): (Numbers, Numbers),
        at: u32,
    ) -> Option<Self> {
        let StorageType::Typed(dtype) = storage.class else { return None };
        let view =
            Self { storage: Some(*storage), entry: 0, dtype: Some(dtype), offset, sizes, strides, layout: None, at };
        view.dtype().map(|_| view)
    }

    /// Reads the arguments of a function.
    pub(super) fn of(machine: &mut Machine<'_>, base: &Base) -> Result<Self, Fault> {
        let items = machine.items(base.at, base.end)?;
        let wrong = wrong(base.at);
        let is = |index: usize, kind: Kind| items.get(index).is_some_and(|slot| slot.kind == kind);
        let known = match (base.known, items.all().len()) {
            (Known::OPAQUE, 4) => Known::TENSOR_1,
            (Known::OPAQUE, 7 | 8) if is(6, Kind::Global) => Known::TENSOR_3,
            (Known::OPAQUE, _) if is(4, Kind::Tuple) => Known::QUANTIZED,
            (Known::OPAQUE, _) => Known::TENSOR_2,
            (known, _) => known,
        };
        let mut described = Self {
            storage: None,
            entry: 0,
            dtype: None,
            offset: 0,
            sizes: Numbers::default(),
            strides: Numbers::default(),
            layout: None,
            at: base.at,
        };
        let metadata = match known {
            Known::TENSOR_1 if items.all().len() == 4 => None,
            Known::TENSOR_2 if matches!(items.all().len(), 6 | 7) && is(4, Kind::Bool) => items.get(6),
            Known::TENSOR_3 if matches!(items.all().len(), 7 | 8) && is(4, Kind::Bool) => items.get(7),
            Known::QUANTIZED if items.all().len() == 7 && is(4, Kind::Tuple) => None,
            Known::SPARSE => return described.sparse(machine, &items),
            Known::NESTED => {
                described.layout = Some("torch.nested");
                return Ok(described);
            }
            Known::META | Known::WRAPPER => {
                let (layout, place) =
                    if known == Known::META { ("torch.meta", 1) } else { ("torch.wrapper_subclass", 2) };
                let sizes = items.get(place).ok_or(wrong)?;
                described.sizes = Numbers::of(machine, sizes)?;
                described.layout = Some(layout);
                return Ok(described);
            }
            _ => return Err(wrong),
        };
        let (Some(storage), Some(offset), Some(sizes), Some(strides)) =
            (items.get(0), items.get(1), items.get(2), items.get(3))
        else {
            return Err(wrong);
        };
        if storage.kind != Kind::Storage {
            return Err(wrong);
        }
        let storage = Storage::of(machine, storage)?;
        described.offset = whole(machine.bytes(), offset).ok_or(wrong)?;
        described.sizes = Numbers::of(machine, sizes)?;
        described.strides = Numbers::of(machine, strides)?;
        let dtype = match storage.class {
            StorageType::Typed(dtype) if known != Known::TENSOR_3 => dtype,
            StorageType::Untyped if known == Known::TENSOR_3 => items
                .get(6)
                .filter(|slot| slot.kind == Kind::Global)
                .and_then(|slot| slot.known().dtype())
                .ok_or(wrong)?,
            _ => return Err(wrong),
        };
        described.dtype = Some(dtype);
        described.storage = Some(storage);
        described.layout = match known {
            Known::QUANTIZED => Some("torch.quantized"),
            _ if is_quantized(dtype) => return Err(wrong),
            _ if base.is_subclass => Some("torch.subclass"),
            _ => match metadata {
                Some(metadata) => marked(machine, metadata, base.end)?,
                None => None,
            },
        };
        if described.layout.is_none() && described.dtype().is_none() {
            described.layout = Some(dtype.name);
        }
        Ok(described)
    }

    /// Reads the arguments of a sparse tensor: its layout, and a tuple that ends with the sizes.
    fn sparse(mut self, machine: &mut Machine<'_>, items: &Items) -> Result<Self, Fault> {
        let wrong = wrong(self.at);
        let [layout, data] = items.all() else { return Err(wrong) };
        if layout.known() != Known::GET_LAYOUT || data.kind != Kind::Tuple {
            return Err(wrong);
        }
        let name = machine.items(layout.at, layout.end)?;
        let name = name.get(0).filter(|name| name.kind == Kind::Text).map(|name| bytes_of(machine.bytes(), name));
        let (name, place, others) = match name {
            Some(b"torch.sparse_coo") => ("torch.sparse_coo", 2, 1),
            Some(b"torch.sparse_csr") => ("torch.sparse_csr", 3, 0),
            Some(b"torch.sparse_csc") => ("torch.sparse_csc", 3, 0),
            Some(b"torch.sparse_bsr") => ("torch.sparse_bsr", 3, 0),
            Some(b"torch.sparse_bsc") => ("torch.sparse_bsc", 3, 0),
            _ => return Err(wrong),
        };
        let data = machine.items(data.at, data.end)?;
        let (parts, rest) = data.all().split_at_checked(place).ok_or(wrong)?;
        let Some((sizes, rest)) = rest.split_first() else { return Err(wrong) };
        if parts.iter().any(|part| part.kind != Kind::Tensor) || rest.len() > others {
            return Err(wrong);
        }
        self.sizes = Numbers::of(machine, sizes)?;
        self.layout = Some(name);
        Ok(self)
    }

    /// The dtype of the elements, if it has a name of ours and the bytes are the elements.
    pub(super) fn dtype(&self) -> Option<DType> {
        Some(match self.dtype?.name.strip_prefix("torch.")? {
            "float32" => DType::F32,
            "float64" => DType::F64,
            "float16" => DType::F16,
            "bfloat16" => DType::BF16,
            "int64" => DType::I64,
            "int32" => DType::I32,
            "int16" => DType::I16,
            "int8" => DType::I8,
            "uint8" => DType::U8,
            "bool" => DType::BOOL,
            "complex64" => DType::C64,
            "complex128" => DType::C128,
            "uint16" => DType::U16,
            "uint32" => DType::U32,
            "uint64" => DType::U64,
            "float8_e4m3fn" => DType::F8_E4M3FN,
            "float8_e5m2" => DType::F8_E5M2,
            "float8_e4m3fnuz" => DType::F8_E4M3FNUZ,
            "float8_e5m2fnuz" => DType::F8_E5M2FNUZ,
            "float8_e8m0fnu" => DType::F8_E8M0,
            _ => return None,
        })
    }

    pub(super) fn sizes<'a>(&self, pickle: &'a [u8]) -> Option<Shape<'a>> {
        self.sizes.shape(pickle)
    }

    pub(super) fn strides<'a>(&self, pickle: &'a [u8]) -> Option<Shape<'a>> {
        self.storage.and_then(|_| self.strides.shape(pickle))
    }

    /// Returns the bytes that the elements touch, counted from the start of the storage: all of it, if elements share bytes.
    /// An empty tensor touches none.
    pub(super) fn touched(&self, pickle: &[u8]) -> Result<Extent, Fault> {
        let fault = Fault::new(ErrorKind::ShapeOverflow, Part::Shape, self.at);
        let size = self.dtype.map_or(1, |dtype| dtype.size);
        let (sizes, strides) = (self.sizes(pickle).ok_or(fault)?, self.strides(pickle).ok_or(fault)?);
        if sizes.rank() != strides.rank() {
            return Err(Fault::new(ErrorKind::RankMismatch, Part::Shape, self.at));
        }
        let count = sizes.element_count().ok_or(fault)?;
        count.checked_mul(size).ok_or(fault)?;
        if count == 0 {
            return Ok(Extent::new(0, 0));
        }
        let outside = Fault::new(ErrorKind::OutOfPlace, Part::Data, self.at);
        let packing = self.dtype.map_or(0, packing);
        if packing > 0 {
            // Rows begin at whole bytes, so strides do not tell the bytes of a view.
            let bytes = self.storage.map_or(0, |storage| storage.bytes);
            let is_inside = count.wrapping_sub(1) >> packing < bytes;
            return if is_inside { Ok(Extent::new(0, bytes)) } else { Err(outside) };
        }
        strided::extent(sizes.iter().zip(strides), self.offset, size).ok_or(outside)
    }

    /// Checks that the view is inside its storage.
    pub(super) fn check_bounds(&self, pickle: &[u8]) -> Result<(), Fault> {
        let touched = self.touched(pickle)?;
        let bytes = self.storage.map_or(0, |storage| storage.bytes);
        if touched.is_within(bytes) { Ok(()) } else { Err(Fault::new(ErrorKind::OutOfPlace, Part::Data, self.at)) }
    }

    /// True if the elements are one after the other, row after row.
    fn is_dense(&self, pickle: &[u8]) -> bool {
        let (Some(sizes), Some(strides)) = (self.sizes(pickle), self.strides(pickle)) else { return false };
        // The stride of a dimension is the number of elements in those behind it. From the front: the product of the
        // whole, divided by the lengths so far, without a division.
        let mut before = None::<u64>;
        let (mut last, mut is_dense) = (1, true);
        for (length, stride) in sizes.iter().zip(strides).filter(|(length, _)| *length != 1) {
            if length == 0 {
                return true;
            }
            is_dense &= before.is_none_or(|before| stride.checked_mul(length) == Some(before));
            (before, last) = (Some(stride), stride);
        }
        is_dense && last == 1
    }

    /// Fills in the record of a tensor.
    pub(super) fn fill<'a>(&self, pickle: &'a [u8], tensor: &mut TensorRecord<'a>) -> Result<(), Fault> {
        let fault = Fault::new(ErrorKind::ShapeOverflow, Part::Shape, self.at);
        if let Some(shape) = self.sizes(pickle).filter(|_| self.layout != Some("torch.nested")) {
            tensor.shape = shape;
        } else if self.layout != Some("torch.nested") {
            return Err(fault);
        }
        match self.layout {
            Some(name) => {
                tensor.layout = Layout::Other;
                tensor.layout_name = Utf8::new(name);
            }
            None => {
                tensor.dtype = self.dtype();
                let layout = if self.is_dense(pickle) { Layout::Dense } else { Layout::Strided };
                tensor.set_layout(layout);
            }
        }
        Ok(())
    }
}

/// The number of elements in a byte, as a power of two.
fn packing(dtype: &TorchType) -> u32 {
    match dtype.name {
        "torch.quint4x2" => 1,
        "torch.quint2x4" => 2,
        _ => 0,
    }
}

/// True for the dtypes of quantized tensors, which no other tensor has.
fn is_quantized(dtype: &TorchType) -> bool {
    matches!(dtype.name, "torch.qint8" | "torch.quint8" | "torch.qint32" | "torch.quint4x2" | "torch.quint2x4")
}

/// Returns the layout of a tensor whose values are the conjugates or the negatives of its bytes, which its metadata
/// says: a dictionary, the last argument, which `end` follows.
fn marked(machine: &mut Machine<'_>, metadata: &Slot, end: u32) -> Result<Option<&'static str>, Fault> {
    let wrong = wrong(metadata.at);
    if metadata.kind == Kind::None {
        return Ok(None);
    }
    if metadata.kind != Kind::Dict || metadata.is_alias {
        return Err(wrong);
    }
    let (mut layout, mut is_bad) = (None, false);
    let bytes = machine.bytes();
    machine.each_pair(metadata.at, end, |key, value| {
        let is_bit = key.kind == Kind::Text && matches!(bytes_of(bytes, key), b"conj" | b"neg");
        is_bad |= is_bit && value.kind != Kind::Bool;
        let is_true = value.kind == Kind::Bool
            && op::read(bytes, value.at).is_ok_and(|op| op.code == op::TRUE || op.argument == b"01\n");
        match bytes_of(bytes, key) {
            b"conj" if is_true && key.kind == Kind::Text => layout = Some("torch.conj"),
            b"neg" if is_true && key.kind == Kind::Text && layout.is_none() => layout = Some("torch.neg"),
            _ => {}
        }
    })?;
    if is_bad { Err(wrong) } else { Ok(layout) }
}
