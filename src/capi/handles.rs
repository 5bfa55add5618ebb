//! The handles of the C ABI and what each may hold, and the arguments that are structs with pointers in them.

use core::marker::PhantomData;
use core::ptr::NonNull;

use super::super::attributes::{tenslice_cursor, tenslice_items, tenslice_value};
#[cfg(feature = "blz")]
use super::super::blz;
use super::super::component::tenslice_component;
use super::super::file::tenslice_file;
use super::super::index::tenslice_index;
use super::super::memory::Memory;
#[cfg(feature = "gguf")]
use super::super::memory::range;
#[cfg(feature = "safetensors")]
use super::super::safetensors;
use super::super::source::tenslice_source;
use super::super::sparse::{SparseCursor, tenslice_sparse};
use super::super::status::FfiResult;
use super::super::tensor::tenslice_tensor;
use super::super::text::tenslice_str;
#[cfg(feature = "gguf")]
use super::INVALID_ARGUMENT;
use super::{Array, Handle, Holds, In, InfoIn, InfoOut, Length, Writable};
use crate::bytes::text::Text;
use crate::{Attributes, Component, Components, File, Index, Source, Tensor, Tensors};

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
    tenslice_items: Attributes<'static> = b"ATTR";
    tenslice_source: Source<'static> = b"SRCE";
    tenslice_sparse: SparseCursor = b"SPRS";
    tenslice_index: Index<'static, 'static> = b"INDX";
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

#[cfg(feature = "blz")]
held! {
    blz::tenslice_train: crate::blz::Train<'static> = b"TRAN";
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
        let tenslice_str { data, length, is_escaped, .. } = self.read()?;
        let (bytes, length) = (Array(data, PhantomData), Length(length, PhantomData));
        Ok((Text::new(bytes.with_length(length)?, is_escaped != 0), bytes.memory(length)))
    }
}

#[cfg(feature = "gguf")]
impl<'a> Array<'a, tenslice_file> {
    /// Returns the `length` handles.
    pub(in super::super) fn handles(
        &self,
        Length(length, _): Length<'_>,
    ) -> FfiResult<impl Iterator<Item = Handle<'a, tenslice_file>> + Clone + use<'a>> {
        let first = self.0;
        range(first.cast(), length, size_of::<tenslice_file>(), align_of::<tenslice_file>())
            .ok_or(INVALID_ARGUMENT)?;
        Ok((0..length).map(move |index| Handle(first.wrapping_add(index), PhantomData)))
    }
}
