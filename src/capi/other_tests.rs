//! Tests for the functions that `tests` does not call, so that Miri runs every function (`tests/build/structure.rs`).

use super::super::entry::*;
use super::super::npy::*;
use super::super::npz::*;
use super::super::onnx::*;
use super::super::plan::*;
use super::super::ptd::*;
use super::super::pytorch::*;
use super::super::tflite::*;
use super::super::ztensor2::*;
use super::*;

/// # Safety
/// `text` is a C string that stays in place.
unsafe fn c_text(text: *const c_char) -> &'static str {
    // SAFETY: guaranteed by the caller.
    unsafe { core::ffi::CStr::from_ptr(text) }.to_str().unwrap()
}

#[test]
fn names_and_versions() {
    // SAFETY: these are strings of the library.
    unsafe {
        assert_eq!((tenslice_abi_version(), c_text(tenslice_version())), (1, env!("CARGO_PKG_VERSION")));
        assert_eq!((c_text(tenslice_status_name(0)), c_text(tenslice_status_text(-1))), ("Ok", "?"));
        let dtype = DType::F64.code().into();
        assert_eq!((tenslice_dtype_size(dtype), tenslice_dtype_bits(dtype)), (8, 64));
        assert_eq!(c_text(tenslice_dtype_name(dtype)), "f64");
    }
    for feature in crate::Feature::ALL {
        assert_eq!(tenslice_has(feature.code().into()), u32::from(feature.is_built_in()));
    }
    assert_eq!((tenslice_has(crate::Feature::Npz.code().into()), tenslice_has(0)), (1, 0));
}

#[test]
fn single_numbers() {
    assert_eq!(tenslice_binary128_to_double(0, 0x3fff_8000_0000_0000), 1.5);
    assert_eq!((tenslice_bf16_to_f32(0x3fc0), tenslice_f8_e8m0_to_f32(128)), (1.5, 2.0));
    assert_eq!((tenslice_f8_e4m3fn_to_f32(0x3c), tenslice_f8_e4m3fnuz_to_f32(0x44)), (1.5, 1.5));
    assert_eq!((tenslice_f8_e5m2_to_f32(0x3e), tenslice_f8_e5m2fnuz_to_f32(0x42)), (1.5, 1.5));
    assert_eq!((tenslice_f6_e2m3_to_f32(0x0c), tenslice_f6_e3m2_to_f32(0x0e)), (1.5, 1.5));
}

#[test]
fn a_list_of_tensors() {
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, tensor: tenslice_tensor, error: tenslice_error);
        places!(entries: [tenslice_entry; 13], listed: u64);
        infos!(about: tenslice_tensor_info);
        open(fixture!("v1.2/dense_all_dtypes.zt"), file);
        let first = entries.cast::<tenslice_entry>();
        assert_eq!(call!(tenslice_file_list(file, first, 12, listed, error)), code(ErrorKind::OutOfScratch));
        ok!(tenslice_file_list(file, first, 13, listed, error));
        let entry = entries.read().into_iter().find(|entry| text(entry.name) == b"t.float64").unwrap();
        assert_eq!((listed.read(), entry.rank, &entry.dimensions[..3], entry.length), (13, 2, &[2, 3, 0][..], 48));
        ok!(tenslice_file_tensor(file, &raw const entry, tensor, error), tenslice_tensor_get_info(tensor, about));
        assert_eq!(text(about.read().name), b"t.float64");
    }
}

/// Reads the last number of one zero block of each type, then one number past the end.
#[test]
fn blocks_of_every_type() {
    macro_rules! zeros {
        ($($function:ident: $elements:literal in $bytes:literal),* $(,)?) => { $(
            let (block, mut number) = ([0_u8; $bytes].to_vec(), MaybeUninit::<[f32; 2]>::uninit());
            let (at, out) = (block.as_ptr().cast(), number.as_mut_ptr().cast());
            // SAFETY: the arguments are as the header requires.
            unsafe {
                ok!($function(at, $bytes, $elements - 1, out, 1));
                assert!(out.read().is_finite(), stringify!($function));
                assert_eq!(call!($function(at, $bytes, $elements - 1, out, 2)), code(ErrorKind::NoSuchElement));
            }
        )* };
    }
    zeros! {
        tenslice_q4_0_to_f32: 32 in 18, tenslice_q4_1_to_f32: 32 in 20, tenslice_q5_0_to_f32: 32 in 22,
        tenslice_q5_1_to_f32: 32 in 24, tenslice_q8_0_to_f32: 32 in 34, tenslice_q8_1_to_f32: 32 in 36,
        tenslice_q2_k_to_f32: 256 in 84, tenslice_q3_k_to_f32: 256 in 110, tenslice_q4_k_to_f32: 256 in 144,
        tenslice_q5_k_to_f32: 256 in 176, tenslice_q6_k_to_f32: 256 in 210, tenslice_q8_k_to_f32: 256 in 292,
        tenslice_iq2_xxs_to_f32: 256 in 66, tenslice_iq2_xs_to_f32: 256 in 74, tenslice_iq3_xxs_to_f32: 256 in 98,
        tenslice_iq1_s_to_f32: 256 in 50, tenslice_iq4_nl_to_f32: 32 in 18, tenslice_iq3_s_to_f32: 256 in 110,
        tenslice_iq2_s_to_f32: 256 in 82, tenslice_iq4_xs_to_f32: 256 in 136, tenslice_iq1_m_to_f32: 256 in 56,
        tenslice_tq1_0_to_f32: 256 in 54, tenslice_tq2_0_to_f32: 256 in 66, tenslice_mxfp4_to_f32: 32 in 17,
        tenslice_nvfp4_to_f32: 64 in 36, tenslice_q1_0_to_f32: 128 in 18, tenslice_q2_0_to_f32: 64 in 18,
    }
}

#[test]
fn arrays_of_numpy() {
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, cursor: tenslice_cursor, descr: tenslice_str);
        infos!(entry: tenslice_npz_entry);
        open(fixture!("npy/struct_nested_4.npy"), file);
        ok!(tenslice_npy_descr(file, descr));
        assert!(text(descr.read()).starts_with(b"["));
        open(fixture!("npz/mixed_methods.npz"), file);
        ok!(tenslice_npz_entries(file, cursor), tenslice_npz_entries_next(cursor, entry, null_mut()));
        assert!(text(entry.read().name).ends_with(b".npy"));
    }
}

#[test]
fn facts_about_a_model() {
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, cursor: tenslice_cursor);
        infos!(info: tenslice_onnx_info, opset: tenslice_onnx_opset);
        open(fixture!("onnx/py_metadata.onnx"), file);
        ok!(tenslice_onnx_get_info(file, info), tenslice_onnx_opsets(file, cursor));
        let tenslice_onnx_info { ir_version, producer_name, .. } = info.read();
        assert_eq!((ir_version, text(producer_name).is_empty()), (10, false));
        ok!(tenslice_onnx_opsets_next(cursor, opset, null_mut()));
        assert_eq!((text(opset.read().domain), opset.read().version > 0), (Vec::new(), true));
        assert_eq!(call!(tenslice_onnx_opsets_next(cursor, opset, null_mut())), END);
    }
}

#[test]
fn code_in_a_checkpoint() {
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, cursor: tenslice_cursor);
        infos!(global: tenslice_pytorch_global);
        open(fixture!("pytorch/views.pt"), file);
        ok!(tenslice_pytorch_globals(file, cursor), tenslice_pytorch_globals_next(cursor, global, null_mut()));
        let tenslice_pytorch_global { is_known, module, .. } = global.read();
        assert_eq!((is_known, text(module)), (1, b"torch._utils".to_vec()));
    }
}

/// Segments, and a tensor whose dimensions are in another order.
#[test]
fn weights_of_executorch() {
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, cursor: tenslice_cursor, tensor: tenslice_tensor, strides: [u64; 4]);
        places!(numbers: [f32; 24], length: u64);
        infos!(segment: tenslice_ptd_segment);
        open(fixture!("ptd/py_dim_orders.ptd"), file);
        ok!(tenslice_ptd_segments(file, cursor), tenslice_ptd_segments_next(cursor, segment, null_mut()));
        let tenslice_ptd_segment { offset, length: bytes, .. } = segment.read();
        assert_eq!((offset, bytes), (896, 96));
        ok!(tenslice_file_find(file, of("channels_last"), 13, tensor, null_mut()));
        ok!(tenslice_tensor_strides(tensor, strides.cast(), 4));
        ok!(tenslice_tensor_read_into(tensor, numbers.cast(), 96, null(), length, null_mut()));
        assert_eq!((strides.read(), length.read()), ([12, 1, 6, 3], 96));
    }
}

/// Subgraphs, texts, and a quantized tensor.
#[test]
fn constants_of_tflite() {
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, cursor: tenslice_cursor, tensor: tenslice_tensor, word: tenslice_str);
        places!(numbers: [f32; 12]);
        infos!(subgraph: tenslice_tflite_subgraph);
        open(fixture!("tflite/py_subgraphs.tflite"), file);
        ok!(tenslice_tflite_subgraphs(file, cursor), tenslice_tflite_subgraphs_next(cursor, subgraph, null_mut()));
        assert!(subgraph.read().tensor_count > 0);
        open(fixture!("tflite/py_strings.tflite"), file);
        ok!(tenslice_file_find(file, of("words"), 5, tensor, null_mut()));
        ok!(tenslice_tflite_texts(tensor, cursor, null_mut()));
        for _ in 0..3 {
            ok!(tenslice_tflite_texts_next(cursor, word));
        }
        assert_eq!(call!(tenslice_tflite_texts_next(cursor, word)), END);
        open(fixture!("tflite/py_quantized.tflite"), file);
        ok!(tenslice_file_find(file, of("per_tensor"), 10, tensor, null_mut()));
        ok!(tenslice_tensor_read_f32(tensor, 0, numbers.cast(), 12, null_mut()));
        assert!(numbers.read().iter().all(|number| number.fract().abs() == 0.0 || number.fract().abs() == 0.5));
    }
}

/// Names of several keys, a strided view, and a stream.
#[test]
fn tensors_of_checkpoints() {
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, cursor: tenslice_cursor, tensor: tenslice_tensor, found: tenslice_tensor);
        places!(error: tenslice_error, joined: tenslice_str, name: [c_char; 16], needed: usize, strides: [u64; 3]);
        places!(numbers: [f32; 24], length: u64);
        infos!(verified: tenslice_verified);
        let name = name.cast::<c_char>();
        open(fixture!("pytorch/opaque_b.pt"), file);
        ok!(tenslice_file_tensors(file, cursor), tenslice_tensors_next(cursor, tensor, error));
        joined.write(call!(tenslice_tensor_name(tensor)));
        ok!(tenslice_str_copy(joined, name, 16, needed));
        assert_eq!((c_text(name), needed.read(), joined.read().is_escaped), ("hp.inner.w", 11, 1));
        ok!(tenslice_file_find(file, name.cast_const(), 10, found, error));
        assert_eq!(call!(tenslice_tensors_next(cursor, tensor, error)), OK);
        assert_eq!(call!(tenslice_tensors_next(cursor, tensor, error)), END);
        open(fixture!("pytorch/views.pt"), file);
        ok!(tenslice_file_find(file, of("t"), 1, tensor, error));
        ok!(tenslice_tensor_strides(tensor, strides.cast(), 3));
        ok!(tenslice_tensor_read_into(tensor, numbers.cast(), 96, null(), length, error));
        assert_eq!((strides.read(), length.read()), ([1, 4, 12], 96));
        assert_eq!(numbers.read()[..3], [0.0, 12.0, 4.0]);
        open(fixture!("pytorch/legacy_plain.pt"), file);
        ok!(tenslice_file_verify(file, null(), verified, error), tenslice_file_find(file, of("w"), 1, tensor, error));
        ok!(tenslice_tensor_read_into(tensor, numbers.cast(), 96, null(), length, error));
        assert_eq!(length.read(), 16);
    }
}

#[test]
fn verifying_and_ranges() {
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, tensor: tenslice_tensor, part: tenslice_component, error: tenslice_error);
        places!(caps: u32, dst: [u8; 16], scratch: [u8; 64]);
        infos!(verified: tenslice_verified, needed: tenslice_requirements);
        let (dst, scratch) = (dst.cast(), scratch.cast());
        open(fixture!("v1.2/dense_all_dtypes.zt"), file);
        ok!(tenslice_file_requirements(file, for_call(Purpose::Verify), needed, error));
        ok!(tenslice_file_verify(file, options!(null(), scratch, 64), verified, error));
        assert_eq!((needed.read().scratch, verified.read().verified + verified.read().without_digest), (0, 13));
        ok!(tenslice_file_find(file, of("t.float64"), 9, tensor, error), tenslice_tensor_data(tensor, part, error));
        ok!(tenslice_component_caps(part, caps));
        ok!(tenslice_component_requirements(part, for_call(Purpose::ReadRange), needed, error));
        assert_eq!((needed.read().output, needed.read().scratch), (u64::MAX, 0));
        ok!(tenslice_component_read_range(part, 8, dst, 16, options!(null(), scratch, 64), error));
        assert!(caps.read() != 0 && read(dst, 16).len() == 16);
        ok!(tenslice_component_verify(part, null(), verified, error));
        ok!(tenslice_component_verify(part, options!(null(), scratch, 64), verified, error));
        assert_eq!(verified.read().verified + verified.read().without_digest, 1);
        infos!(about: tenslice_component_info);
        places!(tensors: tenslice_cursor);
        open(fixture!("v0.1/checksum_crc32c.zt"), file);
        ok!(tenslice_file_tensors(file, tensors), tenslice_tensors_next(tensors, tensor, error));
        ok!(tenslice_tensor_data(tensor, part, error), tenslice_component_get_info(part, about));
        assert!(text(about.read().digest).starts_with(b"crc32c:"));
        let inside =
            call!(tenslice_component_read_range(part, 0, part.cast(), 16, options!(null(), scratch, 64), error));
        assert_eq!(inside, code(ErrorKind::InvalidArgument));
    }
}

#[test]
fn numbers_that_are_not_aligned() {
    let mut moved = Vec::<u64>::with_capacity(8);
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, tensor: tenslice_tensor, part: tenslice_component, error: tenslice_error);
        places!(data: tenslice_bytes);
        open(fixture!("v1.2/dense_all_dtypes.zt"), file);
        ok!(tenslice_file_find(file, of("t.float64"), 9, tensor, error), tenslice_tensor_data(tensor, part, error));
        let misaligned = code(ErrorKind::Misaligned);
        for (shift, expected) in [(0, OK), (1, misaligned), (align_of::<f64>() / 2, misaligned)] {
            let bytes = moved.as_mut_ptr().cast::<u8>().add(shift);
            bytes.write_bytes(0, 48);
            ok!(tenslice_component_with_bytes(part, bytes.cast_const().cast(), 48, part, error));
            let found = call!(tenslice_component_bytes(part, DType::F64.code().into(), data, error));
            assert!(found == expected || cfg!(target_endian = "big"), "{shift} {found}");
        }
    }
}

/// A file is opened in rounds.
#[test]
fn opened_in_rounds() {
    let bytes = fixture!("npz/mixed_methods.npz");
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, source: tenslice_source, need: tenslice_need, count: usize);
        infos!(about: tenslice_file_info);
        let mut kept: Vec<(Vec<tenslice_piece>, Vec<u8>)> = Vec::new();
        ok!(tenslice_source_init(source, bytes.len() as u64));
        while call!(tenslice_file_open_source(file, source, need, null_mut())) == NEED {
            let mut pieces: Vec<_> = (0..8).map(|_| tenslice_piece { key: 0, offset: 0, length: 0, at: 0 }).collect();
            ok!(tenslice_source_needs(source, pieces.as_mut_ptr(), pieces.len(), count));
            pieces.truncate(count.read());
            let mut memory: Vec<u8> = Vec::new();
            for piece in &pieces {
                assert_eq!(piece.at, memory.len() as u64);
                memory.extend(&bytes[piece.offset as usize..][..piece.length as usize]);
            }
            let (first, data) = (pieces.as_ptr(), memory.as_ptr().cast());
            ok!(tenslice_source_add_pieces(source, first, pieces.len(), data, memory.len()));
            kept.push((pieces, memory));
        }
        ok!(tenslice_file_get_info(file, about));
        let count = about.read().tensor_count;
        assert!(count > 1 && kept.len() > 1);

        // The same from a list, whose last piece is the whole file.
        let piece = |length: usize| tenslice_piece { key: 0, offset: 0, length: length as u64, at: 0 };
        let list = [piece(9), piece(bytes.len())];
        ok!(tenslice_source_init(source, bytes.len() as u64));
        ok!(tenslice_source_add_pieces(source, list.as_ptr(), 2, bytes.as_ptr().cast(), bytes.len()));
        ok!(tenslice_file_open_source(file, source, need, null_mut()), tenslice_file_get_info(file, about));
        assert_eq!(about.read().tensor_count, count);
    }
}

/// All components are fetched by the reads of a plan, and added to a copy of the source.
#[test]
fn fetched_later() {
    for bytes in [fixture!("v1.2/objects_sparse_quant_logical.zt"), fixture!("npz/mixed_methods.npz")] {
        // SAFETY: the arguments are as the header requires.
        unsafe {
            places!(file: tenslice_file, source: tenslice_source, copied: tenslice_source, cursor: tenslice_cursor);
            places!(tensor: tenslice_tensor, parts: tenslice_cursor, component: tenslice_component);
            places!(plan: tenslice_plan, planned: tenslice_planned_read, length: u64, data: tenslice_bytes);
            infos!(part: tenslice_component_info);
            let mut kept = Vec::new();
            open_in_parts(bytes, file, source, &mut kept);
            let mut pieces = Vec::new();
            ok!(tenslice_file_tensors(file, cursor));
            while call!(tenslice_tensors_next(cursor, tensor, null_mut())) == OK {
                ok!(tenslice_tensor_components(tensor, parts));
                while call!(tenslice_components_next(parts, component, null_mut())) == OK {
                    ok!(tenslice_component_get_info(component, part));
                    let (offset, length) = (part.read().offset, part.read().length);
                    pieces.push(tenslice_piece { key: 0, offset, length, at: 0 });
                }
            }
            let (first, count) = (pieces.as_mut_ptr(), pieces.len());
            assert!(count > 1);
            // The place of an empty piece at the end is set too.
            let mut empty = tenslice_piece { key: 0, offset: 9, length: 0, at: 77 };
            ok!(tenslice_plan_open(plan, &raw mut empty, 1, 9, 1, 0));
            assert_eq!(empty.at, 0);
            ok!(
                tenslice_plan_open(plan, first, count, bytes.len() as u64, 64, 64),
                tenslice_plan_length(plan, length)
            );
            ok!(tenslice_plan_reads(plan, u64::MAX, cursor));
            let mut memory = std::vec![0_u8; length.read() as usize];
            core::ptr::copy_nonoverlapping(source, copied, 1);
            while call!(tenslice_reads_next(cursor, planned)) == OK {
                let tenslice_planned_read { offset, length, at, .. } = planned.read();
                let to = memory.as_mut_ptr().add(at as usize);
                to.copy_from_nonoverlapping(bytes.as_ptr().add(offset as usize), length as usize);
                ok!(tenslice_source_add(copied, offset, to.cast_const().cast(), length as usize));
            }
            ok!(tenslice_file_with_source(file, copied, file), tenslice_file_tensors(file, cursor));
            while call!(tenslice_tensors_next(cursor, tensor, null_mut())) == OK {
                ok!(tenslice_tensor_with_source(tensor, copied, tensor), tenslice_tensor_components(tensor, parts));
                while call!(tenslice_components_next(parts, component, null_mut())) == OK {
                    ok!(tenslice_component_get_info(component, part));
                    ok!(tenslice_component_stored(component, data, null_mut()));
                    let stored = &bytes[part.read().offset as usize..][..part.read().length as usize];
                    assert_eq!(read(data.read().data, data.read().length), stored);
                }
            }
            drop(pieces);
        }
    }
}

#[test]
fn components_in_shards() {
    let (bytes, other) = (fixture!("v2/shards.zt"), fixture!("v2/shards-base.zt"));
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, cursor: tenslice_cursor, tensor: tenslice_tensor, part: tenslice_component);
        places!(name: tenslice_str, is_verified: u32, data: tenslice_bytes, error: tenslice_error);
        infos!(shard: tenslice_ztensor2_shard);
        open(bytes, file);
        ok!(tenslice_ztensor2_shards(file, cursor), tenslice_ztensor2_shards_next(cursor, shard, error));
        let (listed, at, length) = (shard.read().name, other.as_ptr().cast(), other.len());
        ok!(tenslice_ztensor2_check_shard(file, listed.data, listed.length, at, length, is_verified, error));
        ok!(tenslice_file_tensors(file, cursor));
        let mut bound = 0;
        while call!(tenslice_tensors_next(cursor, tensor, error)) == OK {
            ok!(tenslice_tensor_data(tensor, part, error), tenslice_component_shard(part, name));
            if !name.read().data.is_null() {
                ok!(tenslice_component_with_shard(part, at, length, part, error));
                ok!(tenslice_component_stored(part, data, error));
                assert!(!read(data.read().data, data.read().length).is_empty());
                bound += 1;
            }
        }
        assert!(bound > 0 && is_verified.read() == 1);
    }
}

#[test]
fn structs_are_written_to_their_end() {
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, layer: tenslice_b2nd_metalayer);
        layer.write_bytes(0xff, 1);
        (&raw mut (*layer).struct_size).write(size_of::<tenslice_b2nd_metalayer>().try_into().unwrap());
        open(fixture!("b2nd/good/nd02_lz4_0.b2nd"), file);
        ok!(tenslice_b2nd_get_metalayer(file, 0, 0, layer));
        let mut short = layer.read();
        short.struct_size -= 1;
        let refused = call!(tenslice_b2nd_get_metalayer(file, 0, 0, &raw mut short));
        assert_eq!(refused, code(ErrorKind::InvalidArgument));
        let tenslice_b2nd_metalayer { reserved, content, decoded_length, scratch, .. } = layer.read();
        assert_eq!((reserved, decoded_length, scratch), (0, content.length as u64, 0));
    }
}

/// Two values in memory with no gap between them.
#[repr(C)]
struct Beside<A, B>(A, B);

#[test]
fn memory_right_behind_a_handle_or_a_result() {
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, tensor: tenslice_tensor, train: tenslice_train, error: tenslice_error);
        places!(sparse: Beside<tenslice_sparse, [u64; 3]>, value: Beside<tenslice_bytes, [u64; 3]>);
        places!(complex: Beside<[f64; 2], [u8; 4096]>);
        open(fixture!("v1.2/objects_sparse_quant_logical.zt"), file);
        ok!(tenslice_file_find(file, of("coo"), 3, tensor, error));
        let cursor = &raw mut (*sparse).0;
        ok!(tenslice_tensor_sparse(tensor, null(), cursor, error));
        let (behind, bytes) = ((&raw mut (*sparse).1).cast(), &raw mut (*value).0);
        ok!(tenslice_sparse_next(cursor, behind, 3, bytes, error));
        ok!(tenslice_sparse_next(cursor, (&raw mut (*value).1).cast(), 3, bytes, error));
        open(fixture!("blz/good/pair_a_f64.blz"), file);
        ok!(tenslice_blz_train(file, train, error));
        let (number, scratch) = ((&raw mut (*complex).0).cast(), (&raw mut (*complex).1).cast());
        ok!(tenslice_blz_element(train, [0; 4].as_ptr(), 4, scratch, 4096, number, error));
        places!(string: Beside<tenslice_str, [c_char; 9]>);
        let text = tenslice_str { data: of("text"), length: 4, is_escaped: 0, reserved: MaybeUninit::uninit() };
        (&raw mut (*string).0).write(text);
        ok!(tenslice_str_copy(&raw const (*string).0, (&raw mut (*string).1).cast(), 9, null_mut()));
        let inside = scratch.byte_sub(8);
        let shared = call!(tenslice_blz_element(train, [0; 4].as_ptr(), 4, inside, 4096, number, error));
        assert_eq!(shared, code(ErrorKind::InvalidArgument));
    }
}

/// A decoder that keeps the dictionary it is given, and outputs twos.
unsafe extern "C" fn decode_with(
    user: *mut c_void,
    _: u32,
    dictionary: *const c_void,
    dictionary_length: usize,
    _: *const c_void,
    _: usize,
    dst: *mut c_void,
    capacity: usize,
    length: *mut usize,
) -> tenslice_status {
    // SAFETY: the library passes what the header promises.
    unsafe {
        user.cast::<tenslice_bytes>().write(tenslice_bytes { data: dictionary.cast(), length: dictionary_length });
        dst.cast::<u8>().write_bytes(2, capacity);
        length.write(capacity);
    }
    OK
}

/// The dictionary of a Blosc2 chunk is passed in place, as bytes of the file.
#[test]
fn dictionaries() {
    let bytes = fixture!("b2nd/good/dict_zstd_shuffle_0.b2nd");
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, error: tenslice_error, given: tenslice_bytes, length: u64);
        places!(dst: [u8; 4], scratch: [u8; 8192]);
        let (start, stop) = ([0, 0], [1, 1]);
        let (dst, scratch) = (dst.cast::<c_void>(), scratch.cast());
        let decoder =
            tenslice_decoder { decode: Some(decode), user: given.cast(), decode_with_dictionary: Some(decode_with) };
        open(bytes, file);
        let (start, stop, decoder) = (start.as_ptr(), stop.as_ptr(), &raw const decoder);
        ok!(tenslice_b2nd_read_region(file, start, stop, 2, dst, 4, options!(decoder, scratch, 8192), length, error));
        assert_eq!(read(dst, 2), [2; 2]); // the streams of the upper bytes are zeros
        let given = given.read();
        assert!(given.data.addr() > bytes.as_ptr().addr() && given.length > 8);
        assert_eq!(read(given.data, 4), [0x37, 0xa4, 0x30, 0xec]); // the magic of a dictionary
        assert!(bytes.windows(given.length).any(|part| part.as_ptr().addr() == given.data.addr()));
    }
}

#[test]
fn metalayers_work_and_lists() {
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, cursor: tenslice_cursor, items: tenslice_cursor, error: tenslice_error);
        places!(length: u64, offset: u64, dst: [u8; 1024], scratch: [u8; 1024]);
        infos!(value: tenslice_value);
        let (dst, scratch) = (dst.cast(), scratch.cast());
        open(fixture!("b2nd/good/vlmeta_mem_0.b2nd"), file);
        ok!(tenslice_b2nd_read_metalayer(file, 0, dst, 1024, options!(null(), scratch, 1024), length, error));
        assert_eq!(read(dst, length.read() as usize).len() as u64, length.read());
        open(fixture!("b2nd/good/nd02_lz4_0.b2nd"), file);
        ok!(tenslice_b2nd_region_work(file, [7, 4].as_ptr(), [9, 7].as_ptr(), 2, length, error));
        assert!(length.read() > 24);
        open(fixture!("gguf/kv_all_types.gguf"), file);
        ok!(tenslice_file_attributes(file, cursor));
        ok!(tenslice_attributes_get(cursor, of("a.uint16"), 8, value, error));
        ok!(tenslice_value_items(value.cast_const(), items), tenslice_attributes_extent(items, offset, length));
        assert!(offset.read() > 0 && length.read() > 0);
    }
}

#[test]
fn tensors_that_cannot_be_read() {
    let bytes = fixture!("gguf/quirks/type_31_removed.gguf");
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, tensor: tenslice_tensor, error: tenslice_error, data: tenslice_bytes);
        open(bytes, file);
        ok!(tenslice_file_find(file, of("w"), 1, tensor, null_mut()));
        assert_eq!(call!(tenslice_tensor_problem(tensor, null_mut())), code(ErrorKind::UnknownDType));
        assert_eq!(call!(tenslice_tensor_problem(tensor, error)), code(ErrorKind::UnknownDType));
        let found = error.read();
        assert_eq!(call!(tenslice_tensor_bytes(tensor, 0, data, error)), code(ErrorKind::UnknownDType));
        assert_eq!((found.offset, found.entry_distance), (error.read().offset, error.read().entry_distance));
        open(fixture!("gguf/align_16.gguf"), file);
        places!(cursor: tenslice_cursor);
        ok!(tenslice_file_tensors(file, cursor), tenslice_tensors_next(cursor, tensor, null_mut()));
        ok!(tenslice_tensor_problem(tensor, error));
    }
}

/// A decoder that outputs ones for any input, and counts the calls.
unsafe extern "C" fn decode(
    user: *mut c_void,
    _: u32,
    stored: *const c_void,
    stored_length: usize,
    dst: *mut c_void,
    capacity: usize,
    length: *mut usize,
) -> tenslice_status {
    // SAFETY: the library passes what the header promises.
    unsafe {
        assert!(!read(stored, stored_length).is_empty());
        *user.cast::<u32>() += 1;
        dst.cast::<u8>().write_bytes(1, capacity);
        length.write(capacity);
    }
    OK
}

#[test]
fn decoders() {
    let bytes = fixture!("v1.2/objects_sparse_quant_logical.zt");
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, tensor: tenslice_tensor, component: tenslice_component, sparse: tenslice_sparse);
        places!(length: u64, calls: u32, dst: [u8; 120], scratch: [u64; 64]);
        calls.write(0);
        let decoder = tenslice_decoder { decode: Some(decode), user: calls.cast(), decode_with_dictionary: None };
        let (decoder, dst, scratch) = (&raw const decoder, dst.cast(), scratch.cast());
        open(bytes, file);
        ok!(tenslice_file_find(file, of("csr_u64"), 7, tensor, null_mut()));
        ok!(tenslice_tensor_component(tensor, of("values"), 6, component, null_mut()));
        ok!(tenslice_component_read_into(component, dst, 120, options!(decoder, null_mut(), 0), length, null_mut()));
        assert!(length.read() > 0 && read(dst, length.read() as usize).iter().all(|byte| *byte == 1));
        infos!(needed: tenslice_requirements);
        ok!(tenslice_tensor_requirements(tensor, for_call(Purpose::Sparse), needed, null_mut()));
        let scratch_length = needed.read().scratch as usize;
        let status =
            call!(tenslice_tensor_sparse(tensor, options!(decoder, scratch, scratch_length), sparse, null_mut()));
        assert_eq!((status, calls.read()), (code(ErrorKind::InvalidRowPointers), 4));
        let status = call!(tenslice_tensor_read_into(
            tensor,
            dst,
            120,
            options!(decoder, scratch, scratch_length),
            null_mut(),
            null_mut()
        ));
        assert_eq!((status, calls.read()), (code(ErrorKind::InvalidRowPointers), 7));
    }
}
