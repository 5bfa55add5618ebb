//! Functions for TFLite models. Absent from libraries built without that format.

use super::attributes::tenslice_cursor;
use super::call::{run, with_details};
use super::file::tenslice_file;
use super::pointer::{Handle, HandleMut, InfoOut, OptionalOut, Out};
use super::status::{ApiError, END, OK, tenslice_error, tenslice_status};
use super::tensor::tenslice_tensor;
use super::text::tenslice_str;
use crate::error::ErrorKind;
use crate::tflite::{Subgraphs, Texts};

/// A subgraph of a TFLite model: the graph that a program runs, or one that its operators call.
#[repr(C)]
pub struct tenslice_tflite_subgraph {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// Number of tensors, most of which are activations without bytes in the file.
    pub tensor_count: u32,
    /// The name, which may be empty.
    pub name: tenslice_str,
}

/// Sets `cursor` before the first subgraph of a TFLite model, for tenslice_tflite_subgraphs_next.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tflite_subgraphs(
    file: Handle<tenslice_file>,
    cursor: Out<tenslice_cursor>,
) -> tenslice_status {
    run(|| {
        let tflite = file.get()?.as_tflite().ok_or(ApiError::new(ErrorKind::InvalidArgument))?;
        cursor.writable()?.store(&tflite.subgraphs());
        Ok(OK)
    })
}

/// Reads the next subgraph, in the order of the file; returns TENSLICE_END after the last. The attribute `subgraph` of a
/// tensor is the number of its subgraph; tensors of the first subgraph do not have it.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tflite_subgraphs_next(
    cursor: HandleMut<tenslice_cursor>,
    subgraph: InfoOut<tenslice_tflite_subgraph>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let subgraphs = cursor.get_mut::<Subgraphs<'static>>()?;
        let subgraph = subgraph.writable()?;
        let Some(next) = subgraphs.next() else { return details.end(subgraphs.error()) };
        subgraph.fill(tenslice_tflite_subgraph {
            struct_size: 0,
            tensor_count: next.tensors,
            name: tenslice_str::of_bytes(next.name.as_bytes()),
        });
        Ok(OK)
    })
}

/// Sets `cursor` before the first text of a tensor of the layout `tflite.string`, for tenslice_tflite_texts_next. Linear
/// in the number of texts.
///
/// Errors: INVALID_ARGUMENT if the tensor has another layout; CORRUPT_STREAM if the texts are not within the bytes of the
/// tensor, one after the other; NOT_IN_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tflite_texts(
    tensor: Handle<tenslice_tensor>,
    cursor: Out<tenslice_cursor>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let (tensor, cursor) = (tensor.get()?, cursor.writable()?);
        if tensor.layout_name() != Texts::LAYOUT {
            return Err(ApiError::new(ErrorKind::InvalidArgument));
        }
        let bytes = details.of(tensor.component("data").and_then(|data| data.stored()))?;
        let texts = Texts::new(bytes).ok_or_else(|| tensor.error(ErrorKind::CorruptStream));
        cursor.store(&details.of(texts)?);
        Ok(OK)
    })
}

/// Sets `text` to the next text; returns TENSLICE_END after the last. The bytes need not be UTF-8.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tflite_texts_next(
    cursor: HandleMut<tenslice_cursor>,
    text: Out<tenslice_str>,
) -> tenslice_status {
    run(|| {
        let texts = cursor.get_mut::<Texts<'static>>()?;
        let text = text.writable()?;
        let Some(next) = texts.next() else { return Ok(END) };
        text.set(tenslice_str::of_bytes(next));
        Ok(OK)
    })
}
