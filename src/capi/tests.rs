//! Calls the functions as a C program does: with pointers only, over uninitialized memory, with files of all kinds.
//! These tests are for Miri (`make miri`), which detects errors that no result shows; c-tests checks the results.

use core::ffi::{c_char, c_void};
use core::mem::MaybeUninit;
use core::ptr::{null, null_mut};
use std::vec::Vec;

use super::attributes::*;
use super::b2nd::*;
use super::blocks::*;
use super::blz::*;
use super::component::*;
use super::decode::*;
use super::file::*;
use super::get::*;
use super::gguf::*;
use super::index::*;
use super::numbers::*;
use super::options::*;
use super::pointer::test_args::FromC;
use super::safetensors::*;
use super::source::*;
use super::sparse::*;
use super::status::*;
use super::tens::*;
use super::tensor::*;
use super::text::*;
use crate::{DType, ErrorKind, Purpose};

/// The bytes of a file, aligned as in a mapped file.
macro_rules! fixture {
    ($name:literal) => {{
        #[repr(align(64))]
        struct Aligned<T: ?Sized>(T);
        static FILE: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!("../../tests/fixtures/", $name)));
        &FILE.0
    }};
}

/// Variables of a C program: uninitialized memory, and pointers to it.
macro_rules! places {
    ($($name:ident: $ty:ty),*) => { $(
        let mut $name = MaybeUninit::<$ty>::uninit();
        let $name = $name.as_mut_ptr();
    )* };
}

/// Memory for structs that begin with their size.
macro_rules! infos {
    ($($name:ident: $ty:ty),*) => { $(
        places!($name: $ty);
        (&raw mut (*$name).struct_size).write(u32::try_from(size_of::<$ty>()).unwrap());
    )* };
}

/// Options for one call: a decoder and scratch memory.
macro_rules! options {
    ($decoder:expr, $scratch:expr, $length:expr) => {
        core::ptr::from_ref(&tenslice_read_options {
            struct_size: u32::try_from(size_of::<tenslice_read_options>()).unwrap(),
            reserved: 0,
            decoder: $decoder,
            scratch: $scratch,
            scratch_length: $length,
        })
    };
}

/// Code of a purpose.
fn for_call(purpose: Purpose) -> u32 {
    purpose.code().into()
}

/// A call as C makes it: with pointers and numbers.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => { $function($(FromC::test_args($argument)),*) };
}

macro_rules! ok {
    ($($function:ident($($argument:expr),* $(,)?)),*) => {{ $( assert_eq!(call!($function($($argument),*)), OK); )* }};
}

/// Numbers are passed unchanged.
macro_rules! numbers {
    ($($ty:ty),*) => { $(
        impl FromC<$ty> for $ty {
            unsafe fn test_args(raw: Self) -> Self {
                raw
            }
        }
    )* };
}

numbers!(u32, u64);

fn code(kind: ErrorKind) -> tenslice_status {
    tenslice_status::from(kind.code())
}

fn of(text: &str) -> *const c_char {
    text.as_ptr().cast()
}

/// # Safety
/// `file` points to memory for a `tenslice_file`.
unsafe fn open(bytes: &[u8], file: *mut tenslice_file) {
    // SAFETY: guaranteed by the caller.
    unsafe { ok!(tenslice_file_open(file, bytes.as_ptr().cast(), bytes.len(), null_mut())) }
}

/// # Safety
/// `data` points to `length` bytes, or is NULL.
unsafe fn read<T>(data: *const T, length: usize) -> Vec<u8> {
    // SAFETY: guaranteed by the caller.
    if data.is_null() { Vec::new() } else { unsafe { core::slice::from_raw_parts(data.cast(), length) }.to_vec() }
}

/// # Safety
/// The library has created `text`.
unsafe fn text(text: tenslice_str) -> Vec<u8> {
    // SAFETY: guaranteed by the caller.
    unsafe { read(text.data, text.length) }
}

#[test]
fn dense() {
    let bytes = fixture!("v1.2/dense_all_dtypes.zt");
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, cursor: tenslice_cursor, tensor: tenslice_tensor, component: tenslice_component);
        places!(error: tenslice_error, data: tenslice_bytes, length: u64, rank: u32, words: [u32; 13]);
        infos!(about_file: tenslice_file_info, about: tenslice_tensor_info, part: tenslice_component_info);
        infos!(verified: tenslice_verified);
        open(bytes, file);
        ok!(tenslice_file_get_info(file, about_file), tenslice_file_verify(file, null(), verified, error));
        assert_eq!((about_file.read().tensor_count, text(about_file.read().version)), (13, b"1.2.0".to_vec()));
        assert_eq!(verified.read().verified + verified.read().without_digest, 13);
        assert_eq!(call!(tenslice_file_warning_tensor(file, 1, length)), code(ErrorKind::NotFound));
        places!(check_count: usize);
        ok!(tenslice_file_check_length(file, check_count));
        assert_eq!(check_count.read(), 0);
        ok!(tenslice_file_check(file, words.cast(), 13, rank, error));
        assert_eq!(rank.read(), about_file.read().warnings);

        ok!(tenslice_file_tensors(file, cursor));
        let mut count = 0;
        while call!(tenslice_tensors_next(cursor, tensor, error)) == OK {
            ok!(tenslice_tensor_get_info(tensor, about), tenslice_tensor_data(tensor, component, error));
            ok!(tenslice_component_get_info(component, part), tenslice_component_stored(component, data, error));
            assert_eq!(
                (text(about.read().layout_name), text(part.read().role)),
                (b"dense".to_vec(), b"data".to_vec())
            );
            let moved = read(data.read().data, data.read().length);
            ok!(tenslice_component_with_bytes(component, moved.as_ptr().cast(), moved.len(), component, error));
            ok!(tenslice_component_bytes(component, 0, data, error));
            assert_eq!(data.read().data, moved.as_ptr().cast());
            places!(dst: [u8; 160]);
            ok!(tenslice_component_read_into(component, dst.cast(), 160, null(), length, error));
            assert_eq!(read(dst, length.read() as usize).len(), moved.len());
            count += 1;
        }
        assert_eq!(count, 13);

        ok!(tenslice_file_find(file, of("t.float64"), 9, tensor, error), tenslice_tensor_get_info(tensor, about));
        assert_eq!(text(about.read().name), b"t.float64");
        places!(index: tenslice_index, slots: [u32; 39], slot_count: usize, message: [u8; 80]);
        ok!(tenslice_file_index_length(file, slot_count));
        assert_eq!(slot_count.read(), 39);
        assert_eq!(call!(tenslice_file_index(file, slots.cast(), 38, index, error)), code(ErrorKind::OutOfScratch));
        ok!(tenslice_file_index(file, slots.cast(), 39, index, error));
        assert_eq!(call!(tenslice_index_find(index, of("t.float6"), 8, tensor, error)), code(ErrorKind::NotFound));
        ok!(tenslice_index_find(index, of("t.float64"), 9, tensor, error), tenslice_tensor_get_info(tensor, about));
        assert_eq!(text(about.read().name), b"t.float64");
        let (name, shape) = (of("t.float64\0"), [2_u64, 3]);
        let whole = get::expecting(0, 2, &shape);
        ok!(tenslice_file_get(file, name, usize::MAX, &raw const whole, data, error));
        ok!(tenslice_index_get(index, name, 9, null(), data, error));
        let native = if cfg!(target_endian = "little") { OK } else { code(ErrorKind::ForeignEndian) };
        let doubles = get::expecting(DType::F64.code().into(), usize::MAX, &[]);
        let found = call!(tenslice_tensor_get(tensor, &raw const doubles, data, error));
        assert_eq!(found, native);
        let vector = get::expecting(0, 1, &shape);
        let wrong = call!(tenslice_file_get(file, name, 9, &raw const vector, data, error));
        assert_eq!(wrong, code(ErrorKind::WrongShape));
        ok!(tenslice_file_get_text(file, name, 9, &raw const vector, error, message.cast(), 80, length.cast()));
        let expected = b"tensor \"t.float64\": expected [2]; the file has f64 [2, 3]\0";
        assert_eq!(read(message, expected.len()), expected);
        get::numbers(file, index, tensor);
        assert_eq!(text(call!(tenslice_tensor_name(tensor))), b"t.float64");
        assert_eq!((call!(tenslice_tensor_rank(tensor)), call!(tenslice_tensor_dimension(tensor, 1))), (2, 3));
        assert_eq!((call!(tenslice_tensor_element_count(tensor)), call!(tenslice_tensor_layout(tensor))), (6, 0));
        assert_eq!(call!(tenslice_tensor_dtype(tensor)), u32::from(DType::F64.code()));
        assert!(call!(tenslice_tensor_stated_type(tensor)).data.is_null());
        places!(dimensions: [u64; 2], strides: [u64; 2], dst: [f64; 6]);
        ok!(tenslice_tensor_shape(tensor, dimensions.cast(), 2, rank));
        ok!(tenslice_tensor_strides(tensor, strides.cast(), 2));
        assert_eq!((rank.read(), dimensions.read(), strides.read()), (2, [2, 3], [3, 1]));
        assert_eq!(call!(tenslice_tensor_bytes(tensor, DType::F64.code().into(), data, error)), native);
        infos!(needed: tenslice_requirements);
        ok!(tenslice_tensor_requirements(tensor, for_call(Purpose::Read), needed, error));
        assert_eq!((needed.read().output, needed.read().scratch), (48, 0));
        let unknown = call!(tenslice_tensor_requirements(tensor, 99, needed, error));
        assert_eq!(unknown, code(ErrorKind::InvalidArgument));
        ok!(tenslice_tensor_read_into(tensor, dst.cast(), 48, null(), length, error));
        assert!(dst.read().iter().all(|number| number.is_finite()));
        infos!(described: tenslice_described);
        ok!(tenslice_tensor_describe(tensor, strides.cast(), 2, null(), described, error));
        assert_eq!((described.read().rank, strides.read()), (2, [2, 3]));
        ok!(tenslice_tensor_requirements(tensor, for_call(Purpose::Describe), needed, error));
        assert_eq!(needed.read().scratch, 0);
    }
}

/// Counts the values after a cursor, including nested ones, and appends their texts and bytes to `texts`.
///
/// # Safety
/// The cursor has been set.
unsafe fn values(cursor: *mut tenslice_cursor, texts: &mut Vec<u8>) -> u32 {
    let mut count = 0;
    loop {
        // SAFETY: the arguments are as the header requires.
        unsafe {
            infos!(key: tenslice_value, value: tenslice_value);
            places!(items: tenslice_cursor);
            let status = call!(tenslice_attributes_next(cursor, key, value, null_mut()));
            if status == END {
                return count;
            }
            assert_eq!(status, OK);
            let (key, value) = (key.read(), value.read()); // copies, like an assignment in C
            texts.extend(read(key.text.data, key.text.length));
            texts.extend(read(value.text.data, value.text.length));
            count += 1;
            if call!(tenslice_value_items(&raw const value, items)) == OK {
                count += values(items, texts);
            }
        }
    }
}

#[test]
fn attributes() {
    let (of_file, of_tensor) = (fixture!("v1.2/file_attributes.zt"), fixture!("v0.1/custom_fields.zt"));
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, tensor: tenslice_tensor, cursor: tenslice_cursor);
        let mut texts = Vec::new();
        open(of_file, file);
        ok!(tenslice_file_attributes(file, cursor));
        assert_eq!(values(cursor, &mut texts), 17);
        assert!(texts.starts_with(b"bigdeepabcframeworkPyTorchnnegnilokpiraw"));
        // Reads only the values, without their keys.
        infos!(key: tenslice_value, value: tenslice_value);
        ok!(tenslice_file_attributes(file, cursor), tenslice_attributes_next(cursor, key, value, null_mut()));
        let kind = value.read().kind;
        ok!(tenslice_file_attributes(file, cursor), tenslice_attributes_next(cursor, null_mut(), value, null_mut()));
        assert_eq!((value.read().kind, text(key.read().text)), (kind, b"big".to_vec()));
        open(of_tensor, file);
        ok!(tenslice_file_find(file, of("with_custom"), 11, tensor, null_mut()));
        ok!(tenslice_tensor_attributes(tensor, cursor));
        assert_eq!(values(cursor, &mut texts), 14);
        assert!(texts.ends_with(b"descriptionhelloepochflagslrnegnestedkdx"));
    }
}

/// Opens a file from parts. Each part is in memory of its own, which is released as early as allowed.
///
/// # Safety
/// `file` and `source` each point to memory for a handle of their type.
unsafe fn open_in_parts(
    bytes: &[u8],
    file: *mut tenslice_file,
    source: *mut tenslice_source,
    kept: &mut Vec<Vec<u8>>,
) {
    let mut passing = Vec::new();
    // SAFETY: guaranteed by the caller.
    unsafe {
        places!(need: tenslice_need);
        ok!(tenslice_source_init(source, bytes.len() as u64));
        loop {
            let status = call!(tenslice_file_open_source(file, source, need, null_mut()));
            drop(passing);
            if status != NEED {
                assert_eq!(status, OK);
                return;
            }
            let need = need.read();
            let part = bytes[need.offset as usize..][..need.length as usize].to_vec();
            ok!(tenslice_source_add(source, need.offset, part.as_ptr().cast(), part.len()));
            passing = if need.keep == 1 {
                kept.push(part);
                Vec::new()
            } else {
                part
            };
        }
    }
}

#[test]
fn parts() {
    for bytes in [
        fixture!("v0.1/custom_fields.zt"),
        fixture!("v1.2/objects_sparse_quant_logical.zt"),
        fixture!("tens/good/unknown_chunks_many.tens"),
        fixture!("blz/good/pair_a_f64.blz"),
        fixture!("b2nd/good/nd02_lz4_0.b2nd"),
        fixture!("safetensors/py_tiny_mlp.safetensors"),
    ] {
        // SAFETY: the arguments are as the header requires.
        unsafe {
            places!(file: tenslice_file, source: tenslice_source, cursor: tenslice_cursor, tensor: tenslice_tensor);
            places!(parts: tenslice_cursor, component: tenslice_component, data: tenslice_bytes, error: tenslice_error);
            places!(sentence: [u8; 200], needed: usize);
            infos!(part: tenslice_component_info);
            let mut kept = Vec::new();
            open_in_parts(bytes, file, source, &mut kept);
            ok!(tenslice_file_tensors(file, cursor));
            while call!(tenslice_tensors_next(cursor, tensor, error)) == OK {
                ok!(tenslice_tensor_components(tensor, parts));
                while call!(tenslice_components_next(parts, component, error)) == OK {
                    ok!(tenslice_component_get_info(component, part));
                    let status = call!(tenslice_component_stored(component, data, error));
                    assert_eq!(status, code(ErrorKind::NotInMemory));
                    let stored = &bytes[part.read().offset as usize..][..part.read().length as usize];
                    let (at, length) = (stored.as_ptr().cast(), stored.len());
                    ok!(tenslice_component_with_bytes(component, at, length, component, error));
                    ok!(tenslice_component_stored(component, data, error));
                    assert_eq!(data.read().data, at);
                }
            }
            ok!(tenslice_error_text_source(error, source, sentence.cast(), 200, needed));
            assert!(!kept.is_empty() && read(sentence, needed.read()).ends_with(b"]\0"));
        }
    }
}

#[test]
fn sparse_tensors() {
    for (bytes, name, stored) in
        [(fixture!("v1.2/objects_sparse_quant_logical.zt"), "coo", 5), (fixture!("tens/good/ix_f64_x2.tens"), "", 4)]
    {
        // SAFETY: the arguments are as the header requires.
        unsafe {
            places!(file: tenslice_file, tensor: tenslice_tensor, sparse: tenslice_sparse, error: tenslice_error);
            places!(value: tenslice_bytes, index: [u64; 3], dst: [u8; 27 * 16], length: u64);
            infos!(about: tenslice_sparse_info);
            open(bytes, file);
            ok!(tenslice_file_find(file, of(name), name.len(), tensor, error));
            ok!(tenslice_tensor_sparse(tensor, null(), sparse, error));
            ok!(tenslice_sparse_get_info(sparse, about));
            for _ in 0..stored {
                ok!(tenslice_sparse_next(sparse, index.cast(), 3, value, error));
                assert!(index.read().iter().all(|place| *place < 4));
                assert!(!read(value.read().data, value.read().length).is_empty());
            }
            assert_eq!(call!(tenslice_sparse_next(sparse, index.cast(), 3, value, error)), END);
            assert_eq!(about.read().stored, stored);
            ok!(tenslice_tensor_read_into(tensor, dst.cast(), 27 * 16, null(), length, error));
            assert!(read(dst, length.read() as usize).contains(&0));
        }
    }
}

#[test]
fn symmetries() {
    let bytes = fixture!("tens/good/sym_1_anti.tens");
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, chunks: tenslice_cursor, value: tenslice_bytes, sources: [u32; 4]);
        infos!(dimension: tenslice_tens_dimension, chunk: tenslice_tens_chunk);
        open(bytes, file);
        ok!(tenslice_tens_get_dimension(file, 0, dimension), tenslice_tens_chunks(file, chunks));
        ok!(tenslice_tens_chunks_next(chunks, chunk, null_mut()));
        assert_eq!((dimension.read().name, text(chunk.read().operation)), (b'a', b"-x".to_vec()));
        ok!(tenslice_tens_permutation(file, chunk.read().offset, sources.cast(), 4, null_mut()));
        assert_eq!(sources.read(), [1, 0, 2, 3]);
        ok!(tenslice_tens_element(file, [0, 1, 0, 0].as_ptr(), 4, value, null_mut()));
        assert_eq!(read(value.read().data, value.read().length).len(), 8);
    }
}

#[test]
fn trains() {
    let (bytes, others) = (fixture!("blz/good/pair_a_f64.blz"), fixture!("blz/good/pair_b_f64.blz"));
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, train: tenslice_train, other: tenslice_train, tensor: tenslice_tensor);
        places!(length: u64, number: tenslice_scaled, element: [f64; 2], all: [f64; 72], scratch: [u8; 4096]);
        infos!(about: tenslice_blz_info, core: tenslice_blz_core, needed: tenslice_blz_scratch);
        open(others, file);
        ok!(tenslice_blz_get_info(file, about));
        let cores = others[about.read().offset as usize..][..about.read().length as usize].to_vec();
        ok!(tenslice_blz_train_from_bytes(file, cores.as_ptr().cast(), cores.len(), other, null_mut()));
        open(bytes, file);
        ok!(tenslice_blz_train(file, train, null_mut()), tenslice_blz_get_scratch(train, needed));
        ok!(tenslice_blz_get_core(file, 3, core));
        assert_eq!(core.read().shape, [2, 3, 1]);

        let (scratch, dst) = (scratch.cast(), needed.read().norm as usize);
        ok!(tenslice_blz_norm(train, scratch, dst, number, null_mut()));
        assert!(number.read().real > 0.0);
        ok!(tenslice_blz_sum(train, scratch, dst, number, null_mut()));
        ok!(tenslice_blz_inner(train, other, scratch, 4096, number, length, null_mut()));
        assert!(number.read().real.is_finite() && length.read() <= 4096);
        let (index, all) = ([0; 4].as_ptr(), all.cast());
        ok!(tenslice_blz_element(train, index, 4, scratch, dst, element.cast(), null_mut()));
        ok!(tenslice_blz_slice(train, index, 3, all, 72 * 8, scratch, 4096, length, null_mut()));
        assert_eq!((length.read(), read(all, 8)), (3 * 8, read(element, 8)));
        ok!(tenslice_file_find(file, null(), 0, tensor, null_mut()));
        ok!(tenslice_tensor_read_into(tensor, all, 72 * 8, options!(null(), scratch, 4096), length, null_mut()));
        assert_eq!(read(all, 72 * 8)[..8], read(element, 8));
    }
}

#[test]
fn chunks() {
    let bytes = fixture!("b2nd/good/nd02_lz4_0.b2nd"); // 13 rows of 10, chunks of 13 x 6, blocks of 8 x 6
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, tensor: tenslice_tensor, shape: [u64; 2], offset: u64, length: u64, needed: u64);
        places!(dst: [u8; 13 * 10 * 4], scratch: [u8; 1024]);
        infos!(about: tenslice_b2nd_info, chunk: tenslice_b2nd_chunk, layer: tenslice_b2nd_metalayer);
        open(bytes, file);
        ok!(tenslice_b2nd_get_info(file, about), tenslice_b2nd_get_metalayer(file, 0, 0, layer));
        assert_eq!((text(about.read().dtype), text(layer.read().name)), (b"<f4".to_vec(), b"b2nd".to_vec()));
        ok!(tenslice_b2nd_chunk_shape(file, 0, shape.cast(), 2, null_mut()));
        assert_eq!(shape.read(), [13, 6]);

        let (dst, scratch) = (dst.cast(), scratch.cast());
        ok!(tenslice_b2nd_get_chunk(file, 1, options!(null(), scratch, 1024), chunk, null_mut()));
        ok!(tenslice_b2nd_chunk_extent(file, 1, options!(null(), scratch, 1024), offset, length, null_mut()));
        assert_eq!((offset.read(), length.read()), (chunk.read().offset, chunk.read().length));
        ok!(tenslice_b2nd_uninitialised_chunks(file, options!(null(), scratch, 1024), needed, null_mut()));
        assert_eq!(needed.read(), 0);
        ok!(tenslice_b2nd_read_chunk(file, 1, dst, 520, options!(null(), scratch, 1024), length, null_mut()));
        assert_eq!(read(dst, length.read() as usize).len() as u64, about.read().chunk_size);
        let (start, stop) = ([7, 4].as_ptr(), [9, 7].as_ptr());
        infos!(required: tenslice_requirements);
        ok!(tenslice_b2nd_region_requirements(file, start, stop, 2, required, null_mut()));
        assert_eq!(required.read().output, 24);
        ok!(tenslice_b2nd_read_region(
            file,
            start,
            stop,
            2,
            dst,
            24,
            options!(null(), scratch, 1024),
            length,
            null_mut()
        ));
        let region = read(dst, length.read() as usize);
        ok!(tenslice_file_find(file, null(), 0, tensor, null_mut()));
        ok!(tenslice_tensor_read_into(tensor, dst, 520, options!(null(), scratch, 1024), length, null_mut()));
        let first = (7 * 10 + 4) * 4;
        assert_eq!(read(dst, 520)[first..first + 12], region[..12]);
    }
}

/// Returns the characters of a string, with escapes decoded.
///
/// # Safety
/// The library has created `text`.
unsafe fn meaning(text: tenslice_str) -> Vec<u8> {
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(needed: usize, dst: [u8; 64]);
        let text = &raw const text;
        ok!(tenslice_str_copy(text, dst.cast(), 64, needed));
        let mut meaning = read(dst, needed.read());
        assert_eq!(meaning.pop(), Some(0));
        let other = meaning.as_ptr().cast();
        assert_eq!(call!(tenslice_str_equals(text, other, meaning.len())), 1);
        let too_small = call!(tenslice_str_copy(text, dst.cast(), meaning.len(), null_mut()));
        assert_eq!(too_small, code(ErrorKind::TooSmall));
        meaning
    }
}

#[test]
fn strings() {
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, tensor: tenslice_tensor, cursor: tenslice_cursor);
        infos!(about: tenslice_tensor_info, key: tenslice_value, value: tenslice_value);
        open(fixture!("safetensors/hm_escapes.safetensors"), file);
        let name = "a\u{1f980}/";
        ok!(tenslice_file_find(file, of(name), name.len(), tensor, null_mut()));
        ok!(tenslice_tensor_get_info(tensor, about));
        assert_eq!((about.read().name.is_escaped, meaning(about.read().name)), (1, name.into()));
        open(fixture!("safetensors/hm_metadata_values.safetensors"), file);
        ok!(tenslice_file_attributes(file, cursor), tenslice_attributes_next(cursor, key, value, null_mut()));
        ok!(tenslice_attributes_next(cursor, key, value, null_mut()));
        assert_eq!((meaning(key.read().text), meaning(value.read().text)), (b"nul".to_vec(), b"a\0b".to_vec()));
    }
}

#[test]
fn shards() {
    let text = fixture!("safetensors/rs_sharded.safetensors.index.json");
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(index: tenslice_safetensors_index, cursor: tenslice_cursor, name: tenslice_str, file: tenslice_str);
        places!(tensors: u64, files: [u32; 3], count: usize, error: tenslice_error);
        ok!(tenslice_safetensors_index_open(index, text.as_ptr().cast(), text.len(), error));
        ok!(tenslice_safetensors_index_count(index, tensors));
        ok!(tenslice_safetensors_index_check(index, files.cast(), 1, error));
        ok!(tenslice_safetensors_index_files(index, files.cast(), 3, count, error));
        assert_eq!((tensors.read(), count.read()), (3, 2));
        ok!(tenslice_safetensors_index_file(index, files.read()[1], file));
        let second = meaning(file.read());
        ok!(tenslice_safetensors_index_find(index, of("dec.w"), 5, file, error));
        assert_eq!(meaning(file.read()), second);
        ok!(tenslice_safetensors_index_entries(index, cursor));
        ok!(tenslice_safetensors_index_next(cursor, name, file, error));
        assert_eq!((meaning(name.read()), meaning(file.read())), (b"dec.w".to_vec(), second));
        ok!(tenslice_safetensors_index_metadata(index, cursor));
        assert_eq!(values(cursor, &mut Vec::new()), 1);
        let status = call!(tenslice_safetensors_index_files(index, index.cast(), 3, count, error));
        assert_eq!(status, code(ErrorKind::InvalidArgument));
    }
}

#[test]
fn typed_getters() {
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, all: tenslice_cursor, items: tenslice_cursor, error: tenslice_error);
        places!(number: u64, integer: i64, real: f64, truth: u32, string: tenslice_str);
        infos!(value: tenslice_value);
        open(fixture!("gguf/kv_all_types.gguf"), file);
        ok!(tenslice_file_attributes(file, all), tenslice_attributes_length(all, number));
        assert_eq!(number.read(), 29);
        ok!(tenslice_attributes_get_u64(all, of("k.u64"), 5, number, error));
        ok!(tenslice_attributes_get_i64(all, of("k.i64"), 5, integer, error));
        ok!(tenslice_attributes_get_f64(all, of("k.f32"), 5, real, error));
        ok!(tenslice_attributes_get_bool(all, of("k.true"), 6, truth, error));
        ok!(tenslice_attributes_get_str(all, of("general.architecture"), 20, string, error));
        assert_eq!((number.read(), integer.read(), real.read(), truth.read()), (u64::MAX, i64::MIN, 1.5, 1));
        assert_eq!(meaning(string.read()), b"test");
        ok!(tenslice_attributes_get(all, of("a.string"), 8, value, error));
        ok!(tenslice_value_items(value.cast_const(), items), tenslice_attributes_length(items, number));
        assert_eq!(u64::from(values(items, &mut Vec::new())), number.read());
        (&raw mut (*value).struct_size).write(u32::try_from(size_of::<tenslice_value>() - 1).unwrap());
        let short = call!(tenslice_value_items(value.cast_const(), items));
        assert_eq!(short, code(ErrorKind::InvalidArgument));
        (&raw mut (*value).struct_size).write(u32::try_from(size_of::<tenslice_value>()).unwrap());
        let wrong = call!(tenslice_attributes_get_u64(all, of("k.str"), 5, number, error));
        assert_eq!(wrong, code(ErrorKind::WrongType));
        let none = call!(tenslice_attributes_get(all, null(), 0, value, error));
        assert_eq!(none, code(ErrorKind::NotFound));
    }
}

#[test]
fn parts_of_a_model() {
    let (first, single) = (fixture!("gguf/split_00001.gguf"), fixture!("gguf/no_tensors.gguf"));
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(files: [tenslice_file; 2], cursor: tenslice_cursor, error: tenslice_error);
        places!(needed: usize, dst: [u8; 32]);
        infos!(about: tenslice_gguf_file_info, info: tenslice_gguf_tensor_info);
        let files = files.cast::<tenslice_file>();
        open(first, files);
        open(single, files.add(1));
        ok!(tenslice_gguf_get_info(files, about), tenslice_gguf_infos(files, cursor));
        assert_eq!((about.read().alignment, about.read().part_count, about.read().part_tensors), (32, 2, 2));
        ok!(tenslice_gguf_infos_next(cursor, info, error));
        assert_eq!(
            (text(info.read().name), info.read().ne, info.read().rank),
            (b"a".to_vec(), [8, 1, 1, 1, 1, 1, 1, 1], 1)
        );
        assert_eq!(call!(tenslice_gguf_infos_next(cursor, info, error)), END);
        let name = "m-00001-of-00002.gguf";
        ok!(tenslice_gguf_part_name(of(name), name.len(), 1, dst.cast(), 32, needed));
        assert_eq!(read(dst, needed.read()), b"m-00002-of-00002.gguf\0");
        let inside = call!(tenslice_gguf_part_name(dst.cast_const().cast(), 21, 0, dst.cast(), 32, needed));
        assert_eq!(inside, code(ErrorKind::InvalidArgument));
    }
}

#[test]
fn numbers_of_blocks() {
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, tensor: tenslice_tensor, error: tenslice_error, block: u32, elements: u64);
        places!(length: u64, numbers: [f32; 96], part: [f32; 5], data: tenslice_component, bytes: tenslice_bytes);
        open(fixture!("gguf-blocks/q8_0.gguf"), file);
        ok!(tenslice_file_find(file, of("q8_0.random"), 11, tensor, error));
        ok!(tenslice_tensor_block(tensor, block, elements, length));
        assert_eq!((block.read(), elements.read(), length.read()), ((1 << 16) + 8, 32, 34));
        infos!(needed: tenslice_requirements);
        ok!(tenslice_tensor_requirements(tensor, for_call(Purpose::ReadF32), needed, error));
        assert_eq!((needed.read().output, needed.read().scratch), (96, 0));
        ok!(tenslice_tensor_read_f32_into(tensor, numbers.cast(), 96, null(), length, error));
        ok!(tenslice_tensor_read_f32(tensor, 30, part.cast(), 5, error));
        assert_eq!(numbers.cast::<f32>().add(30).cast::<[f32; 5]>().read(), part.read());
        ok!(tenslice_tensor_component(tensor, of("data"), 4, data, error));
        ok!(tenslice_component_bytes(data, 0, bytes, error));
        let (blocks, size) = (bytes.read().data, bytes.read().length);
        part.write_bytes(0, 1);
        ok!(tenslice_q8_0_to_f32(blocks, size, 30, part.cast(), 5));
        assert_eq!(numbers.cast::<f32>().add(30).cast::<[f32; 5]>().read(), part.read());
        let too_many = call!(tenslice_q8_0_to_f32(blocks, size, u64::MAX, part.cast(), 5));
        assert_eq!(too_many, code(ErrorKind::NoSuchElement));
        let inside = call!(tenslice_tensor_read_f32(tensor, 0, tensor.cast(), 5, error));
        assert_eq!(inside, code(ErrorKind::InvalidArgument));
        assert_eq!((tenslice_f16_to_f32(0x3e00), tenslice_f4_e2m1_to_f32(7)), (1.5, 6.0));
    }
}

#[test]
fn mistakes() {
    let (bytes, bad) = (fixture!("bad/v1.2/end_past_eof.zt"), code(ErrorKind::InvalidArgument));
    let (data, size) = (bytes.as_ptr().cast(), bytes.len());
    // SAFETY: the arguments are as the header requires, or as it says are rejected.
    unsafe {
        places!(file: tenslice_file, tensor: tenslice_tensor, error: tenslice_error, needed: usize, dst: [u8; 200]);
        file.write_bytes(0, 1);
        assert_eq!(call!(tenslice_file_find(file, null(), 0, tensor, error)), code(ErrorKind::InvalidHandle));
        for no_file in [null(), file.cast_const().byte_add(1)] {
            assert_eq!(call!(tenslice_file_find(no_file, null(), 0, tensor, error)), code(ErrorKind::InvalidHandle));
        }
        assert_eq!(call!(tenslice_file_open(null_mut(), data, size, error)), bad);
        assert_eq!(call!(tenslice_file_open(file, null(), 1, error)), bad);
        assert_eq!(call!(tenslice_file_open(file, data, usize::MAX, null_mut())), bad);
        assert_eq!(call!(tenslice_file_open(file.byte_add(1), data, size, null_mut())), bad);
        assert_eq!(call!(tenslice_file_open(file, data, size, error)), code(ErrorKind::OutOfFile));
        ok!(tenslice_error_text(error, data, size, dst.cast(), 200, needed));
        assert!(read(dst, needed.read()).ends_with(b"[at byte 199]\0"));
        assert_eq!(
            call!(tenslice_error_text(error, data, size, error.cast(), size_of::<tenslice_error>(), needed)),
            bad
        );
        assert_eq!(call!(tenslice_error_text(error, dst.cast_const().cast(), 200, dst.cast(), 200, needed)), bad);
        for no_error in [null_mut(), error.byte_add(1)] {
            assert_eq!(call!(tenslice_error_text(no_error, data, size, dst.cast(), 200, needed)), bad);
        }
        // Valid pointers, but misaligned.
        places!(errors: [tenslice_error; 2], files: [tenslice_file; 2]);
        let moved = errors.byte_add(1).cast::<tenslice_error>();
        moved.cast::<u8>().copy_from(error.cast(), size_of::<tenslice_error>());
        assert_eq!(call!(tenslice_error_text(moved, data, size, dst.cast(), 200, needed)), bad);

        open(fixture!("v1.2/dense_all_dtypes.zt"), file);
        let moved = files.byte_add(1).cast::<tenslice_file>();
        moved.cast::<u8>().copy_from(file.cast(), size_of::<tenslice_file>());
        assert_eq!(call!(tenslice_file_find(moved, null(), 0, tensor, error)), code(ErrorKind::InvalidHandle));
        places!(cursor: tenslice_cursor);
        cursor.write_bytes(0, 1);
        assert_eq!(call!(tenslice_tensors_next(cursor, tensor, error)), code(ErrorKind::InvalidHandle));
        ok!(tenslice_file_attributes(file, cursor));
        assert_eq!(call!(tenslice_tensors_next(cursor, tensor, error)), code(ErrorKind::InvalidHandle));
        ok!(tenslice_file_find(file, of("t.float64"), 9, tensor, error));
        let decoder = tenslice_decoder { decode: None, user: null_mut(), decode_with_dictionary: None };
        let without = call!(tenslice_tensor_read_into(
            tensor,
            dst.cast(),
            200,
            options!(&raw const decoder, null_mut(), 0),
            null_mut(),
            error
        ));
        assert_eq!(without, bad);
        let (dst, read_into) = (dst.cast::<c_void>(), tenslice_tensor_read_into);
        ok!(read_into(tensor, dst, 100, options!(null(), dst.byte_add(100), 100), null_mut(), error));
        assert_eq!(
            call!(read_into(tensor, dst, 100, options!(null(), dst.byte_add(99), 100), null_mut(), error)),
            bad
        );
        assert_eq!(call!(read_into(tensor, tensor.cast(), 192, options!(null(), dst, 100), null_mut(), error)), bad);
        assert_eq!(call!(tenslice_tensor_shape(tensor, tensor.cast(), 2, null_mut())), bad);
        infos!(options: tenslice_read_options);
        (&raw mut (*options).decoder).write(null());
        (&raw mut (*options).scratch).write(options.cast());
        (&raw mut (*options).scratch_length).write(8);
        let inside = options.cast_const();
        assert_eq!(call!(read_into(tensor, dst, 100, inside, null_mut(), error)), bad); // the scratch memory is inside
        (&raw mut (*options).scratch_length).write(0);
        ok!(read_into(tensor, dst, 100, inside, null_mut(), error));
        (&raw mut (*options).struct_size).write(8);
        assert_eq!(call!(read_into(tensor, dst, 100, inside, null_mut(), error)), bad);
        assert_eq!(call!(read_into(tensor, dst, 100, inside.byte_add(1), null_mut(), error)), bad);
    }
}

#[path = "get_tests.rs"]
mod get;
#[path = "model_tests.rs"]
mod model;
#[path = "other_tests.rs"] // beside this file: xtask expects only files in this folder
mod other;
#[cfg(feature = "write")]
#[path = "write_tests.rs"]
mod write;
