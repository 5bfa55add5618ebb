//! Reads elements of any real type as `float`. Absent from libraries built without the feature `dequantize`.

use super::call::with_details;
use super::decode::report_length;
use super::options::tenslice_read_options;
use super::pointer::{Buffer, Capacity, Chosen, Handle, OptionalIn, OptionalOut, buffers};
use super::status::{OK, tenslice_error, tenslice_status};
use super::tensor::tenslice_tensor;
use crate::types::float;

/// Reads `count` numbers of a dense or quantized tensor to `out`, from number `first` on. Booleans become 0 and 1.
/// Quantized integers of TFLite become the numbers that they stand for, by their scales and zero points. Integers of 32
/// and 64 bits and doubles are rounded to the nearest float, ties to even; a double beyond the range of a float becomes
/// infinite. The cost per element is constant, wherever the element is.
///
/// In a library with GGUF, this function links the code and tables of all block types; tenslice_q4_0_to_f32 and similar
/// functions link those of one type.
///
/// Errors: NO_SUCH_ELEMENT if the range extends past the last number; WRONG_TYPE for complex numbers, several lanes and
/// 128 bits; NOT_DENSE, ENCODED: use tenslice_tensor_read_f32_into instead; UNSUPPORTED_LAYOUT for quantized blocks of
/// an unknown type, and for integers of TFLite whose scales or zero points do not fit; SIZE_MISMATCH for blocks whose
/// bytes do not match the shape; FOREIGN_ENDIAN for quantized blocks with numbers wider than a byte in a big-endian
/// file, because no specification states their byte order; NOT_IN_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_read_f32(
    tensor: Handle<tenslice_tensor>,
    first: u64,
    out: Buffer<f32>,
    count: Capacity,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let out = out.with_capacity(count, &[tensor.memory()])?;
        details.of(tensor.get()?.read_f32_range(first, out))?;
        Ok(OK)
    })
}

/// Reads a whole tensor of any layout and encoding as floats to `out`, converted as by tenslice_tensor_read_f32, in the
/// order in which tenslice_tensor_read_into writes the elements. `capacity` and `count` (may be NULL) are numbers of
/// elements, not bytes. Scratch memory: TENSLICE_PURPOSE_READ_F32. The cost is that of tenslice_tensor_read_into, and
/// linear in the elements.
///
/// Errors: TOO_SMALL, OUT_OF_SCRATCH, NOT_IN_MEMORY; the errors of tenslice_tensor_read_f32 and
/// tenslice_tensor_read_into.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_tensor_read_f32_into(
    tensor: Handle<tenslice_tensor>,
    out: Buffer<f32>,
    capacity: Capacity,
    options: OptionalIn<tenslice_read_options>,
    count: OptionalOut<u64>,
    error: OptionalOut<tenslice_error>,
) -> tenslice_status {
    with_details(&error, |details| {
        let mut decoder = Chosen::default();
        let (out, scratch) = buffers((out, capacity), options, &[tensor.memory(), count.memory()], &mut decoder)?;
        let tensor = *tensor.get()?; // a copy: the decoder may use the handle
        report_length(details, &count, tensor.shape().element_count(), || {
            tensor.read_f32_into_using(&mut decoder, out, scratch).map(|written| written.len())
        })
    })
}

/// Returns the exact value of an IEEE binary16.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_f16_to_f32(bits: u16) -> f32 {
    float::f16_to_f32(bits)
}

/// Returns the exact value of a bfloat16.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_bf16_to_f32(bits: u16) -> f32 {
    float::bf16_to_f32(bits)
}

/// Returns the exact value of an 8-bit float with 4 exponent and 3 mantissa bits, NaN but no infinities.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_f8_e4m3fn_to_f32(bits: u8) -> f32 {
    float::f8_e4m3fn_to_f32(bits)
}

/// Returns the exact value of an 8-bit float with 5 exponent and 2 mantissa bits, NaN and infinities.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_f8_e5m2_to_f32(bits: u8) -> f32 {
    float::f8_e5m2_to_f32(bits)
}

/// Returns the exact value of an 8-bit float with 4 exponent and 3 mantissa bits, one NaN, no infinities and no
/// negative zero.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_f8_e4m3fnuz_to_f32(bits: u8) -> f32 {
    float::f8_e4m3fnuz_to_f32(bits)
}

/// Returns the exact value of an 8-bit float with 5 exponent and 2 mantissa bits, one NaN, no infinities and no
/// negative zero.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_f8_e5m2fnuz_to_f32(bits: u8) -> f32 {
    float::f8_e5m2fnuz_to_f32(bits)
}

/// Returns the exact value of a power of two in 8 bits, 2^(bits - 127); 255 is NaN.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_f8_e8m0_to_f32(bits: u8) -> f32 {
    float::f8_e8m0_to_f32(bits)
}

/// Returns the exact value of a 4-bit float with 2 exponent bits and 1 mantissa bit, in the low 4 bits.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_f4_e2m1_to_f32(bits: u8) -> f32 {
    float::f4_e2m1_to_f32(bits)
}

/// Returns the exact value of a 6-bit float with 2 exponent and 3 mantissa bits, in the low 6 bits.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_f6_e2m3_to_f32(bits: u8) -> f32 {
    float::f6_e2m3_to_f32(bits)
}

/// Returns the exact value of a 6-bit float with 3 exponent and 2 mantissa bits, in the low 6 bits.
#[unsafe(no_mangle)]
pub extern "C" fn tenslice_f6_e3m2_to_f32(bits: u8) -> f32 {
    float::f6_e3m2_to_f32(bits)
}
