//! Dequantizes blocks, with one function per type. Absent from libraries built without GGUF or without the feature
//! `dequantize`.

use core::ffi::c_void;

use super::call::run;
use super::pointer::{Array, Buffer, Capacity, Length};
use super::status::{ApiError, OK, tenslice_status};
use crate::blocks::{self, dequantize_with};
use crate::error::ErrorKind;

/// Exports one function per type. cbindgen cannot see inside macros, so `xtask` expands the rows for it, comments
/// included.
macro_rules! exported {
    ($($name:ident, $to_f32:ident, $type:ident, $elements:literal, $bytes:literal;)*) => { $(
        /// Dequantizes $type: each block is $elements numbers in $bytes bytes.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(
            blocks: Array<c_void>,
            length: Length,
            first: u64,
            out: Buffer<f32>,
            count: Capacity,
        ) -> tenslice_status {
            let decode: Decode = |bytes, first, dst| {
                dequantize_with::<$bytes, $elements>(blocks::$to_f32, bytes, first, dst)
            };
            write(decode, blocks, length, first, out, count)
        }
    )* };
}

exported! {
    tenslice_q4_0_to_f32, q4_0_to_f32, Q4_0, 32, 18;
    tenslice_q4_1_to_f32, q4_1_to_f32, Q4_1, 32, 20;
    tenslice_q5_0_to_f32, q5_0_to_f32, Q5_0, 32, 22;
    tenslice_q5_1_to_f32, q5_1_to_f32, Q5_1, 32, 24;
    tenslice_q8_0_to_f32, q8_0_to_f32, Q8_0, 32, 34;
    tenslice_q8_1_to_f32, q8_1_to_f32, Q8_1, 32, 36;
    tenslice_q2_k_to_f32, q2_k_to_f32, Q2_K, 256, 84;
    tenslice_q3_k_to_f32, q3_k_to_f32, Q3_K, 256, 110;
    tenslice_q4_k_to_f32, q4_k_to_f32, Q4_K, 256, 144;
    tenslice_q5_k_to_f32, q5_k_to_f32, Q5_K, 256, 176;
    tenslice_q6_k_to_f32, q6_k_to_f32, Q6_K, 256, 210;
    tenslice_q8_k_to_f32, q8_k_to_f32, Q8_K, 256, 292;
    tenslice_iq2_xxs_to_f32, iq2_xxs_to_f32, IQ2_XXS, 256, 66;
    tenslice_iq2_xs_to_f32, iq2_xs_to_f32, IQ2_XS, 256, 74;
    tenslice_iq3_xxs_to_f32, iq3_xxs_to_f32, IQ3_XXS, 256, 98;
    tenslice_iq1_s_to_f32, iq1_s_to_f32, IQ1_S, 256, 50;
    tenslice_iq4_nl_to_f32, iq4_nl_to_f32, IQ4_NL, 32, 18;
    tenslice_iq3_s_to_f32, iq3_s_to_f32, IQ3_S, 256, 110;
    tenslice_iq2_s_to_f32, iq2_s_to_f32, IQ2_S, 256, 82;
    tenslice_iq4_xs_to_f32, iq4_xs_to_f32, IQ4_XS, 256, 136;
    tenslice_iq1_m_to_f32, iq1_m_to_f32, IQ1_M, 256, 56;
    tenslice_tq1_0_to_f32, tq1_0_to_f32, TQ1_0, 256, 54;
    tenslice_tq2_0_to_f32, tq2_0_to_f32, TQ2_0, 256, 66;
    tenslice_mxfp4_to_f32, mxfp4_to_f32, MXFP4, 32, 17;
    tenslice_nvfp4_to_f32, nvfp4_to_f32, NVFP4, 64, 36;
    tenslice_q1_0_to_f32, q1_0_to_f32, Q1_0, 128, 18;
    tenslice_q2_0_to_f32, q2_0_to_f32, Q2_0, 64, 18;
}

/// Decodes a range of blocks of one type.
type Decode = fn(&[u8], u64, &mut [f32]) -> Option<()>;

/// The body that all exported functions share.
#[inline(never)]
fn write(
    decode: Decode,
    blocks: Array<'_, c_void>,
    length: Length<'_>,
    first: u64,
    out: Buffer<'_, f32>,
    count: Capacity<'_>,
) -> tenslice_status {
    run(|| {
        let bytes = blocks.with_length(length)?;
        let out = out.with_capacity(count, &[blocks.memory(length)])?;
        decode(bytes, first, out).ok_or(ApiError::new(ErrorKind::NoSuchElement))?;
        Ok(OK)
    })
}
