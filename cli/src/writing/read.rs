//! Reads the bytes of a tensor to write.

use tenslice::{ByteOrder, DType, Encoding};

use super::float::{convert, too_large};
use super::permute;
use super::tensor::{Elements, Item, Source};
use crate::common::budget::Budget;
use crate::common::failure::Failure;
use crate::common::reading::{check_sparse, each_decoded, is_sparse, lane_size, to_little_endian, verify_whole};
use crate::values::Values;
use crate::values::number::to_f32;

/// The number of bytes of a mapped file to pass on at a time. Writing such pieces takes half the time of larger ones: they
/// stay in the cache of the processor.
const AT_ONCE: usize = 1 << 18;

/// Takes the next bytes of a tensor.
pub type Receiver<'r> = dyn FnMut(&[u8]) -> Result<(), Failure> + 'r;

/// Takes elements in this machine's byte order: their type, the index of the first one, and their bytes.
type ElementReceiver<'r> = dyn FnMut(Option<DType>, u64, &[u8]) -> Result<(), Failure> + 'r;

/// Takes numbers, and the index of the first one among the elements of the tensor.
pub type Numbers<'r> = dyn FnMut(u64, &[f32]) -> Result<(), Failure> + 'r;

impl Item<'_> {
    /// Reads the bytes of the tensor, which are verified first, and passes them on piece by piece.
    pub fn read(&self, budget: &Budget, f: &mut Receiver<'_>) -> Result<(), Failure> {
        match &self.source {
            Source::Bytes(bytes) => f(bytes),
            Source::Components(roles) => {
                verify_whole(self.opened, &self.tensor, budget, true)?;
                if is_sparse(&self.tensor) {
                    check_sparse(&self.tensor, budget).map_err(|stop| self.opened.fail(stop))?;
                }
                roles.iter().try_for_each(|role| self.read_component(role, budget, f))
            }
            Source::Elements(elements) => self.read_elements(elements, budget, f),
            Source::Quantized(elements, quantizer, errors) => {
                let (mut quantized, mut restored) = (Vec::new(), Vec::new());
                self.each_number(elements, budget, &mut |first, numbers| {
                    quantized.clear();
                    quantizer.quantize(first, numbers, &mut quantized);
                    restored.resize(numbers.len(), 0.0);
                    quantizer.dequantize(first, &quantized, &mut restored);
                    errors.borrow_mut().add(numbers, &restored);
                    f(&quantized)
                })
            }
        }
    }

    /// Passes the elements of a dense array on as they are written before they are quantized, as `f32`. All pieces but
    /// the last have a multiple of 256 elements.
    pub fn read_numbers(&self, budget: &Budget, f: &mut Numbers<'_>) -> Result<(), Failure> {
        self.each_number(&self.elements(), budget, f)
    }

    fn each_number(&self, elements: &Elements, budget: &Budget, f: &mut Numbers<'_>) -> Result<(), Failure> {
        self.each(elements, budget, &mut |dtype, first, bytes| {
            let numbers = dtype.and_then(|dtype| to_f32(dtype, bytes));
            f(first, &numbers.ok_or_else(|| self.fail("the elements are not numbers"))?)
        })
    }

    /// Passes the elements of a dense array on.
    fn read_elements(&self, elements: &Elements, budget: &Budget, f: &mut Receiver<'_>) -> Result<(), Failure> {
        let mut converted = Vec::new();
        self.each(elements, budget, &mut |dtype, first, bytes| match elements.float {
            None => f(&little_endian(bytes, dtype)),
            Some(float) => {
                converted.clear();
                convert(dtype.unwrap_or(DType::F32), bytes, float, &mut converted)
                    .map_err(|at| self.fail(&too_large(first + at, float)))?;
                f(&converted)
            }
        })
    }

    /// Verifies a dense array, and calls `f` with its elements in their order.
    fn each(&self, elements: &Elements, budget: &Budget, f: &mut ElementReceiver<'_>) -> Result<(), Failure> {
        verify_whole(self.opened, &self.tensor, budget, true)?;
        let of = if elements.float.is_some() { Values::of } else { Values::stored };
        let mut values = of(self.opened, &self.tensor, budget)?;
        values.put_in_order(self.opened, elements.order)?;
        let dtype = values.dtype;
        let mut pass = |first: u64, bytes: &[u8]| f(dtype, first, bytes);
        let Some(permutation) = &elements.permutation else {
            return values.each(pass).map_err(|stopped| stopped.in_file(self.opened));
        };
        let (shape, size) = (values.shape.clone(), values.size);
        values.plan_all().map_err(|stop| self.opened.fail(stop))?;
        let all = values.all().map_err(|stop| self.opened.fail(stop))?;
        permute::each(&all, &shape, size as usize, permutation, &mut pass)
    }

    /// Passes the bytes of a component on: a mapped one without a copy.
    fn read_component(&self, role: &str, budget: &Budget, f: &mut Receiver<'_>) -> Result<(), Failure> {
        let stored = self.tensor.component(role).map_err(|error| self.opened.fail(error))?;
        let found = self.opened.with_shard(&stored).map_err(|error| self.opened.fail(error))?;
        let component = found.ok_or_else(|| self.opened.without_shard(&stored))?;
        let is_little =
            component.byte_order() == ByteOrder::Little || component.dtype().is_none_or(|d| d.lane_size() == 1);
        if component.encoding() == Encoding::Raw && is_little {
            let bytes = component.bytes().map_err(|error| self.opened.fail(error))?;
            return bytes.chunks(AT_ONCE).try_for_each(f);
        }
        let mut result = Ok(());
        let dtype = component.dtype();
        let read = each_decoded(&component, budget, |bytes| {
            if result.is_ok() {
                result = little_endian(bytes, dtype).chunks(AT_ONCE).try_for_each(&mut *f);
            }
        });
        read.map_err(|stop| self.opened.fail(stop)).and(result)
    }
}

/// Elements in this machine's byte order as little-endian elements.
fn little_endian(bytes: &[u8], dtype: Option<DType>) -> std::borrow::Cow<'_, [u8]> {
    if cfg!(target_endian = "little") {
        return bytes.into();
    }
    let mut swapped = bytes.to_vec();
    to_little_endian(&mut swapped, lane_size(dtype));
    swapped.into()
}
