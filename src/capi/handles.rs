//! The handles of the C ABI and what each may hold, and the arguments that are structs with pointers in them.

use core::marker::PhantomData;
use core::ptr::NonNull;

use super::super::attributes::{tenslice_cursor, tenslice_items, tenslice_value};
#[cfg(feature = "blz")]
use super::super::blz;
use super::super::component::tenslice_component;
use super::super::entry::tenslice_entry;
use super::super::file::tenslice_file;
use super::super::index::tenslice_index;
use super::super::memory::{Memory, range, range_apart};
use super::super::model::{
    tenslice_model, tenslice_model_file, tenslice_model_problems, tenslice_model_tensors, tenslice_problem,
};
use super::super::plan::{tenslice_piece, tenslice_plan};
#[cfg(feature = "safetensors")]
use super::super::safetensors;
use super::super::source::tenslice_source;
use super::super::sparse::{SparseCursor, tenslice_sparse};
use super::super::status::FfiResult;
use super::super::tensor::tenslice_tensor;
use super::super::text::tenslice_str;
#[cfg(feature = "write")]
use super::super::write::tenslice_writer;
use super::{Array, Buffer, Handle, Holds, INVALID_ARGUMENT, In, InfoIn, InfoOut, Length, Plain, Slot, Writable};
use crate::attributes::Nested;
#[cfg(feature = "pytorch")]
use crate::bytes::pickle::trail::Trail;
use crate::bytes::text::Text;
use crate::{
    Attributes, Component, Components, File, Index, Model, ModelFile, ModelTensors, Piece, Plan, PlannedReads,
    Problem, Problems, Source, Tensor, Tensors,
};

macro_rules! held {
    ($($handle:ty: $ty:ty = $kind:literal;)*) => { $(
        // SAFETY: each type in the lists below has its own letters.
        unsafe impl Holds<$ty> for $handle { const KIND: u32 = u32::from_be_bytes(*$kind); }
    )* };
}

held! {
    tenslice_file: File<'static> = b"FILE";
    tenslice_tensor: Tensor<'static> = b"TENS";
    tenslice_component: Component<'static> = b"COMP";
    tenslice_cursor: Tensors<'static> = b"EACH";
    tenslice_cursor: Components<'static> = b"PART";
    tenslice_cursor: Attributes<'static> = b"ATTR";
    tenslice_items: Nested<'static> = b"ATTR";
    tenslice_source: Source<'static> = b"SRCE";
    tenslice_plan: Plan<'static> = b"PLAN";
    tenslice_cursor: PlannedReads<'static> = b"PLRD";
    tenslice_sparse: SparseCursor = b"SPRS";
    tenslice_index: Index<'static, 'static> = b"INDX";
    tenslice_model_file: ModelFile<'static> = b"MFIL";
    tenslice_model: Model<'static, 'static> = b"MODL";
    tenslice_model_tensors: ModelTensors<'static, 'static> = b"MTEN";
    tenslice_model_problems: Problems<'static, 'static> = b"MPRS";
    tenslice_problem: Problem<'static, 'static> = b"MPRB";
}

#[cfg(feature = "write")]
held! {
    tenslice_writer: super::Held = b"WRTR";
}

#[cfg(feature = "safetensors")]
held! {
    safetensors::tenslice_safetensors_index: crate::safetensors::Index<'static> = b"STIX";
    tenslice_cursor: crate::safetensors::IndexEntries<'static> = b"STIE";
}

#[cfg(feature = "gguf")]
held! {
    tenslice_cursor: crate::gguf::Infos<'static> = b"GGIN";
}

#[cfg(feature = "ztensor2")]
held! {
    tenslice_cursor: crate::ztensor2::Shards<'static> = b"ZTSH";
}

#[cfg(feature = "tens")]
held! {
    tenslice_cursor: crate::tens::TensChunks<'static> = b"CHNK";
}

#[cfg(feature = "npz")]
held! {
    tenslice_cursor: crate::npz::ArchiveEntries<'static> = b"NPZE";
}

#[cfg(feature = "pytorch")]
held! {
    tenslice_cursor: crate::pytorch::Globals<'static> = b"PTGL";
}

#[cfg(feature = "onnx")]
held! {
    tenslice_cursor: crate::onnx::Opsets<'static> = b"ONOP";
}

#[cfg(feature = "tflite")]
held! {
    tenslice_cursor: crate::tflite::Subgraphs<'static> = b"TFSG";
    tenslice_cursor: crate::tflite::Texts<'static> = b"TFTX";
}

#[cfg(feature = "ptd")]
held! {
    tenslice_cursor: crate::ptd::Segments<'static> = b"PTSG";
}

#[cfg(feature = "blz")]
held! {
    blz::tenslice_train: crate::blz::Train<'static> = b"TRAN";
}

const _: () = assert!(size_of::<tenslice_piece>() == size_of::<Piece>());

// SAFETY: both are four `u64` in the same order.
unsafe impl Plain for tenslice_piece {
    type Number = Piece;
}

// SAFETY: the same type, whose fields are numbers and a pointer.
unsafe impl Plain for tenslice_entry {
    type Number = Self;
}

impl<'a> In<'a, tenslice_entry> {
    /// Returns the name, as the file spells it.
    pub(in super::super) fn name(&self) -> FfiResult<&'a [u8]> {
        let tenslice_str { data, length, .. } = self.read()?.name;
        Array(data, PhantomData).with_length(Length(length, PhantomData))
    }
}

impl<'a> InfoIn<'a, tenslice_value> {
    /// Returns the handle inside a value.
    pub(in super::super) fn items(&self) -> FfiResult<Handle<'a, tenslice_items>> {
        let _ = InfoOut(self.0.cast_mut(), PhantomData).writable()?; // neither NULL nor misaligned, and complete
        // SAFETY: the header requires a readable value, and `writable` found that the value is large enough.
        Ok(Handle(unsafe { &raw const (*self.0).items }, PhantomData))
    }
}

impl<'a> Writable<'a, tenslice_items> {
    /// Wraps a variable of the library that becomes part of an output.
    pub(in super::super) fn inside(value: &'a mut tenslice_value) -> Self {
        Self(NonNull::from(&mut value.items), PhantomData)
    }
}

impl<'a> In<'a, tenslice_str> {
    /// Returns the string, and the memory that holds it.
    pub(in super::super) fn text(&self) -> FfiResult<(Text<'a>, Memory)> {
        let text = self.read()?;
        let tenslice_str { data, length, is_escaped, .. } = text;
        let (bytes, length) = (Array(data, PhantomData), Length(length, PhantomData));
        #[cfg(feature = "pytorch")]
        if is_escaped != 0 {
            // SAFETY: the header requires that the caller leaves the string as it is: it has them if it has escapes.
            let trail = Trail(unsafe { text.reserved.assume_init() });
            if !trail.is_none() {
                return Ok((Text::joined(bytes.with_length(length)?, trail), bytes.memory(length)));
            }
        }
        Ok((Text::new(bytes.with_length(length)?, is_escaped != 0), bytes.memory(length)))
    }
}

impl<'a> Array<'a, tenslice_model_file> {
    /// Returns what each of the `length` handles holds.
    pub(in super::super) fn each(
        &self,
        Length(length, _): Length<'_>,
    ) -> FfiResult<impl Iterator<Item = FfiResult<&'a ModelFile<'static>>> + use<'a>> {
        let first = self.0;
        range(first.cast(), length, size_of::<tenslice_model_file>(), align_of::<tenslice_model_file>())
            .ok_or(INVALID_ARGUMENT)?;
        Ok((0..length).map(move |number| Handle(first.wrapping_add(number), PhantomData).get()))
    }
}

impl<'a> Buffer<'a, tenslice_model_file> {
    /// Replaces the `length` handles by what they hold, without their tags, at the front of their memory. Changes
    /// nothing if one of them is another handle. They must not overlap `others`.
    pub(in super::super) fn take(
        self,
        length: Length<'_>,
        others: &[Memory],
    ) -> FfiResult<&'a mut [ModelFile<'static>]> {
        let (handles, Length(count, _)) = (Array(self.0.cast_const(), PhantomData), length);
        let (size, alignment) = (size_of::<tenslice_model_file>(), align_of::<tenslice_model_file>());
        let first = range_apart(self.0.cast(), count, size, alignment, others).ok_or(INVALID_ARGUMENT)?;
        let first = first.cast::<ModelFile<'static>>();
        for handle in handles.each(length)? {
            handle?;
        }
        for (number, handle) in handles.each(length)?.enumerate() {
            let file = *handle?;
            const { assert!(size_of::<ModelFile<'static>>() <= size_of::<Slot<ModelFile<'static>>>()) };
            // SAFETY: in the memory of the handles, which the header requires to be writable. What is written is no
            // larger than a handle, so it ends where the handle that was just read ends, or before.
            unsafe { first.add(number).write(file) };
        }
        // SAFETY: `count` files have been written there. The header requires that the memory stays in place for `'a`,
        // and `self`, the only path to it, is consumed.
        Ok(unsafe { NonNull::slice_from_raw_parts(first, count).as_mut() })
    }

    pub(in super::super) fn memory_of(&self, Length(length, _): Length<'_>) -> Memory {
        super::memory(self.0, length)
    }
}
