//! Functions for ONNX models. Absent from libraries built without that format.

use super::attributes::tenslice_cursor;
use super::call::{run, with_details};
use super::file::tenslice_file;
use super::pointer::{Handle, HandleMut, InfoOut, OptionalOut, Out};
use super::status::{ApiError, FfiResult, OK, tenslice_error, tenslice_status};
use super::text::tenslice_str;
use crate::bytes::utf8::Utf8;
use crate::error::ErrorKind;
use crate::onnx::{OnnxFile, Opsets};

/// Facts about an ONNX model.
#[repr(C)]
pub struct tenslice_onnx_info {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// Reserved, 0.
    pub reserved: u32,
    /// Version of the format, at least 1.
    pub ir_version: u64,
    /// The name of the program that wrote the file; NULL and 0 if the file states none, or no UTF-8.
    pub producer_name: tenslice_str,
    /// The version of that program; NULL and 0 if the file states none, or no UTF-8.
    pub producer_version: tenslice_str,
}

/// A set of operators that an ONNX model needs.
#[repr(C)]
pub struct tenslice_onnx_opset {
    /// Size of this struct in bytes, set by the caller.
    pub struct_size: u32,
    /// Reserved, 0.
    pub reserved: u32,
    /// The domain of the operators; of length 0 for those of ONNX itself.
    pub domain: tenslice_str,
    /// Version of the set.
    pub version: i64,
}

fn of(file: Handle<'_, tenslice_file>) -> FfiResult<OnnxFile<'static>> {
    file.get()?.as_onnx().ok_or(ApiError::new(ErrorKind::InvalidArgument))
}

/// Sets `info` to facts about an ONNX model. Linear in the fields of the model besides its graph.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_onnx_get_info(
    file: Handle<tenslice_file>,
    info: InfoOut<tenslice_onnx_info>,
) -> tenslice_status {
    run(|| {
        let model = of(file)?;
        let text = |text: Option<&'static str>| tenslice_str::of(text.map(Utf8::new));
        info.writable()?.fill(tenslice_onnx_info {
            struct_size: 0,
            reserved: 0,
            ir_version: model.ir_version(),
            producer_name: text(model.producer_name()),
            producer_version: text(model.producer_version()),
        });
        Ok(OK)
    })
}

/// Sets `cursor` before the first set of operators that an ONNX model needs, for tenslice_onnx_opsets_next.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_onnx_opsets(file: Handle<tenslice_file>, cursor: Out<tenslice_cursor>) -> tenslice_status {
    run(|| {
        let model = of(file)?;
        cursor.writable()?.store(&model.opsets());
        Ok(OK)
    })
}

/// Reads the next set of operators, in the order of the file; returns TENSLICE_END after the last.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_onnx_opsets_next(
    cursor: HandleMut<tenslice_cursor>,
    opset: InfoOut<tenslice_onnx_opset>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let opsets = cursor.get_mut::<Opsets<'static>>()?;
        let opset = opset.writable()?;
        let Some(next) = opsets.next() else { return details.end(None) };
        opset.fill(tenslice_onnx_opset {
            struct_size: 0,
            reserved: 0,
            domain: tenslice_str::of_bytes(next.domain.as_bytes()),
            version: next.version,
        });
        Ok(OK)
    })
}
