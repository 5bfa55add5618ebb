//! Calls the functions of the writer: from declarations of C to a file, and back.

use super::super::write::*;
use super::*;
use crate::{Format, Layout, ValueKind};
use core::ffi::c_int;

/// A sink of a C program: appends to a vector, and fails at the byte `fails_at`.
struct Stored {
    bytes: Vec<u8>,
    fails_at: u64,
}

/// # Safety
/// `context` points to a `Stored`, and `bytes` to `length` bytes.
unsafe extern "C" fn store(context: *mut c_void, offset: u64, bytes: *const c_void, length: usize) -> c_int {
    // SAFETY: guaranteed by the caller.
    let (stored, bytes) = unsafe { (&mut *context.cast::<Stored>(), read(bytes, length)) };
    assert_eq!(offset, stored.bytes.len() as u64);
    if offset + length as u64 > stored.fails_at {
        return -1;
    }
    stored.bytes.extend(bytes);
    0
}

const fn sink_to(context: *mut c_void) -> tenslice_sink {
    tenslice_sink { write: Some(store), context }
}

fn size_of_struct<T>() -> u32 {
    u32::try_from(size_of::<T>()).unwrap()
}

/// A dense tensor.
fn tensor(name: &str, dtype: DType, shape: &[u64]) -> tenslice_new_tensor {
    tenslice_new_tensor {
        struct_size: size_of_struct::<tenslice_new_tensor>(),
        dtype: dtype.code().into(),
        name: of(name),
        name_length: name.len(),
        shape: shape.as_ptr(),
        rank: shape.len(),
        layout: 0,
        indices: 0,
        pointers: 0,
        reserved: 0,
        count: 0,
        item_size: 0,
        ranks: null(),
        ranks_length: 0,
        descr: null(),
        descr_length: 0,
        attributes: null(),
        attribute_count: 0,
    }
}

fn file_of(format: Format, tensors: &[tenslice_new_tensor]) -> tenslice_new_file {
    tenslice_new_file {
        struct_size: size_of_struct::<tenslice_new_file>(),
        format: u32::from(format.code()),
        tensors: tensors.as_ptr(),
        tensor_count: tensors.len(),
        attributes: null(),
        attribute_count: 0,
        alignment: 0,
        has_digests: 0,
        reserved: 0,
    }
}

const NOTHING: tenslice_new_value =
    tenslice_new_value { kind: 1, dtype: 0, integer: 0, real: 0.0, data: null(), length: 0 };

fn number(dtype: DType, integer: u64) -> tenslice_new_value {
    tenslice_new_value { kind: ValueKind::Integer.code().into(), dtype: dtype.code().into(), integer, ..NOTHING }
}

fn string(text: &str) -> tenslice_new_value {
    let kind = ValueKind::Text.code().into();
    tenslice_new_value { kind, data: text.as_ptr().cast(), length: text.len(), ..NOTHING }
}

fn inside(kind: ValueKind, values: &[tenslice_new_value]) -> tenslice_new_value {
    let kind = kind.code().into();
    tenslice_new_value { kind, data: values.as_ptr().cast(), length: values.len(), ..NOTHING }
}

fn attribute(key: &str, value: tenslice_new_value) -> tenslice_new_attribute {
    tenslice_new_attribute { key: of(key), key_length: key.len(), value }
}

/// The message of an error.
///
/// # Safety
/// The arguments are what a call of the writer had and set.
unsafe fn why(file: *const tenslice_new_file, error: *const tenslice_error) -> Vec<u8> {
    // SAFETY: guaranteed by the caller.
    unsafe {
        places!(text: [u8; 200], needed: usize);
        ok!(tenslice_writer_error_text(file, error, text.cast(), 200, needed));
        read(text, needed.read() - 1)
    }
}

#[test]
fn a_file_in_pieces() {
    let shapes = [[2_u64, 3], [4, 1]];
    let tensors = [tensor("b", DType::F32, &shapes[0]), tensor("a\0", DType::U8, &shapes[1][..1])];
    let tensors = [tensors[0], tenslice_new_tensor { name_length: usize::MAX, ..tensors[1] }]; // TENSLICE_NUL
    let attributes = [attribute("format", string("pt"))];
    let file = tenslice_new_file {
        attributes: attributes.as_ptr(),
        attribute_count: 1,
        ..file_of(Format::Safetensors, &tensors)
    };
    let file = &raw const file;
    let data: Vec<u8> = (0..28).collect();
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(writer: tenslice_writer, error: tenslice_error, words: usize, length: u64, position: u64);
        infos!(due: tenslice_due);
        ok!(tenslice_writer_scratch_length(file, words));
        assert_eq!(words.read(), 0);
        let mut stored = Stored { bytes: Vec::new(), fails_at: u64::MAX };
        let sink = sink_to((&raw mut stored).cast());
        let sink = &raw const sink;
        ok!(tenslice_writer_open(writer, file, null_mut::<u64>(), 0, error));
        ok!(tenslice_writer_length(writer, length), tenslice_writer_position(writer, position));
        assert_eq!((call!(tenslice_writer_due(writer, due)), position.read()), (END, 0));
        ok!(tenslice_writer_begin(writer, sink, error), tenslice_writer_due(writer, due));
        assert_eq!(((*due).tensor, (*due).component, (*due).offset, (*due).missing), (0, 0, 0, 24));
        for piece in data.chunks(5) {
            ok!(tenslice_writer_data(writer, sink, piece.as_ptr().cast(), piece.len(), error));
        }
        assert_eq!(call!(tenslice_writer_due(writer, due)), END);
        ok!(tenslice_writer_finish(writer, sink, error), tenslice_writer_position(writer, position));
        let state = call!(tenslice_writer_data(writer, sink, data.as_ptr().cast(), 1, error));
        assert_eq!(state, code(ErrorKind::WrongState));
        let whole = core::mem::take(&mut stored.bytes);
        assert_eq!([length.read(), position.read()], [whole.len() as u64; 2]);
        let read_back = crate::File::open(&whole).unwrap();
        assert_eq!(read_back.find("a").unwrap().data().unwrap().bytes().unwrap(), &data[24..]);

        // A sink that fails, and a second writer that goes on at that byte.
        for cut in (0..=whole.len()).step_by(if cfg!(miri) { 23 } else { 1 }) {
            let mut stored = Stored { bytes: whole[..cut].to_vec(), fails_at: u64::MAX };
            let sink = sink_to((&raw mut stored).cast());
            let sink = &raw const sink;
            ok!(tenslice_writer_open(writer, file, null_mut::<u64>(), 0, error));
            ok!(tenslice_writer_resume(writer, sink, cut as u64, error));
            if call!(tenslice_writer_due(writer, due)) == OK {
                let rest = &data[usize::try_from((*due).offset).unwrap() + 24 * (*due).tensor as usize..];
                ok!(tenslice_writer_data(writer, sink, rest.as_ptr().cast(), rest.len(), error));
            }
            ok!(tenslice_writer_finish(writer, sink, error));
            assert_eq!(stored.bytes, whole);
        }
        let mut stored = Stored { bytes: Vec::new(), fails_at: 0 };
        let sink = sink_to((&raw mut stored).cast());
        ok!(tenslice_writer_open(writer, file, null_mut::<u64>(), 0, error));
        let failed = call!(tenslice_writer_begin(writer, &raw const sink, error));
        assert_eq!((failed, (*error).offset), (code(ErrorKind::SinkFailed), 0));
        assert_eq!(why(file, error), b"safetensors: the sink failed at byte 0");
    }
}

#[test]
fn attributes_and_digests_in_scratch() {
    let shape = [2_u64];
    let pair = [number(DType::I8, (-3_i64).cast_unsigned()), NOTHING];
    let mapped = [string("k"), inside(ValueKind::Array, &pair), string("l"), inside(ValueKind::Map, &[])];
    let bytes = tenslice_new_value { kind: ValueKind::Bytes.code().into(), ..string("raw") };
    let truth = tenslice_new_value { kind: ValueKind::Bool.code().into(), integer: 1, ..NOTHING };
    let half = tenslice_new_value { real: 0.5, kind: ValueKind::Float.code().into(), ..number(DType::F32, 0) };
    let of_tensor = [attribute("m", inside(ValueKind::Map, &mapped)), attribute("raw", bytes)];
    let listed = [truth, half];
    let of_file = [attribute("list", inside(ValueKind::Array, &listed)), attribute("n", number(DType::U64, 7))];
    let plain = tensor("w", DType::U16, &shape);
    let tensors = [
        tensor("v", DType::U8, &shape),
        tenslice_new_tensor { attributes: of_tensor.as_ptr(), attribute_count: 2, ..plain },
    ];
    let file = tenslice_new_file {
        attributes: of_file.as_ptr(),
        attribute_count: 2,
        has_digests: 1,
        ..file_of(Format::Ztensor, &tensors)
    };
    let file = &raw const file;
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(writer: tenslice_writer, copied: tenslice_writer, error: tenslice_error, count: usize);
        ok!(tenslice_writer_scratch_length(file, count));
        let count = count.read();
        assert_eq!(count, 2); // the digests
        let mut words = std::vec![u64::MAX; count];
        let short = call!(tenslice_writer_open(writer, file, words.as_mut_ptr(), count - 1, error));
        assert_eq!(short, code(ErrorKind::OutOfScratch));
        let mut stored = Stored { bytes: Vec::new(), fails_at: u64::MAX };
        let sink = sink_to((&raw mut stored).cast());
        let sink = &raw const sink;
        ok!(tenslice_writer_open(writer, file, words.as_mut_ptr(), count, error));
        ok!(tenslice_writer_begin(writer, sink, error));
        let data = [1_u8, 2, 3, 4, 5, 6];
        ok!(tenslice_writer_data(writer, sink, data.as_ptr().cast(), 3, error));
        copied.copy_from_nonoverlapping(writer, 1); // as by assignment in C
        ok!(tenslice_writer_data(copied, sink, data[3..].as_ptr().cast(), 3, error));
        ok!(tenslice_writer_finish(copied, sink, error));
        let back = crate::File::open(&stored.bytes).unwrap();
        assert_eq!(back.find("w").unwrap().data().unwrap().bytes().unwrap(), &data[2..]);
        let mut texts = Vec::new();
        places!(opened: tenslice_file, found: tenslice_tensor, cursor: tenslice_cursor);
        open(&stored.bytes, opened);
        ok!(tenslice_file_attributes(opened, cursor));
        assert_eq!(values(cursor, &mut texts), 4);
        ok!(tenslice_file_find(opened, of("w"), 1, found, error), tenslice_tensor_attributes(found, cursor));
        assert_eq!(values(cursor, &mut texts), 6);
        assert_eq!(texts, b"listnmklrawraw");
        infos!(verified: tenslice_verified);
        ok!(tenslice_file_verify(opened, null(), verified, error));
        assert_eq!((*verified).verified, 2);
    }
}

#[test]
fn refusals_and_their_texts() {
    let shape = [1_u64];
    let good = tensor("good", DType::U8, &shape);
    let refused = |bad: tenslice_new_tensor, kind: ErrorKind, expected: &str| {
        let tensors = [good, bad];
        let file = file_of(Format::Safetensors, &tensors);
        // SAFETY: the arguments are as the header requires.
        unsafe {
            places!(writer: tenslice_writer, error: tenslice_error);
            let status = call!(tenslice_writer_open(writer, &raw const file, null_mut::<u64>(), 0, error));
            assert_eq!(status, code(kind), "{expected}");
            let text = why(&raw const file, error);
            assert_eq!(std::str::from_utf8(&text), Ok(expected));
        }
    };
    let plain = tensor("w", DType::F32, &shape);
    let layout = |layout: Layout| tenslice_new_tensor { layout: layout.code().into(), count: 1, ..plain };
    let eight = u32::from(DType::I64.code());
    refused(
        tensor("w", DType::C128, &shape),
        ErrorKind::NotInFormat,
        "safetensors: tensor 1 \"w\": the format has no dtype c128; convert the data",
    );
    refused(
        tensor("good", DType::U8, &shape),
        ErrorKind::RepeatedName,
        "safetensors: tensor 1 \"good\": another tensor has this name",
    );
    refused(
        tenslice_new_tensor { dtype: 9999, ..plain },
        ErrorKind::UnknownDType,
        "safetensors: tensor 1 \"\": dtype: the dtype is not defined in this format version",
    );
    refused(
        tenslice_new_tensor { indices: eight, pointers: eight, ..layout(Layout::SparseCsr) },
        ErrorKind::NotInFormat,
        "safetensors: tensor 1 \"w\": the format cannot hold a sparse tensor; write it as a dense tensor",
    );
    refused(
        tenslice_new_tensor { indices: eight, ..layout(Layout::SparseCoo) },
        ErrorKind::NotInFormat,
        "safetensors: tensor 1 \"w\": the format cannot hold a sparse tensor; write it as a dense tensor",
    );
    refused(
        layout(Layout::IndexValue),
        ErrorKind::NotInFormat,
        "safetensors: tensor 1 \"w\": the format cannot hold pairs of index and value; write them as a dense tensor",
    );
    let ranks = [1_u64, 1];
    refused(
        tenslice_new_tensor { ranks: ranks.as_ptr(), ranks_length: 2, ..layout(Layout::TensorTrain) },
        ErrorKind::NotInFormat,
        "safetensors: tensor 1 \"w\": the format cannot hold a tensor train; write it as a dense tensor",
    );
    refused(
        tenslice_new_tensor { dtype: 65536 + 8, ..plain },
        ErrorKind::NotInFormat,
        "safetensors: tensor 1 \"w\": the format cannot hold quantized blocks; convert them to floats",
    );
    refused(
        tenslice_new_tensor { descr: of("'<M8[ns]'"), descr_length: 9, item_size: 8, ..plain },
        ErrorKind::NotInFormat,
        "safetensors: tensor 1 \"w\": the format cannot hold items of a type of NumPy; convert the data",
    );
    refused(
        tenslice_new_tensor { name: b"\xff".as_ptr().cast(), ..plain },
        ErrorKind::InvalidUtf8,
        "safetensors: tensor 1 \"\": name: the text is not valid UTF-8",
    );
    for bad in [
        tenslice_new_tensor { struct_size: 8, ..plain },
        tenslice_new_tensor { name: null(), ..plain },
        tenslice_new_tensor { shape: null(), ..plain },
        tenslice_new_tensor { layout: 99, ..plain },
        tenslice_new_tensor { attribute_count: 1, ..plain },
    ] {
        let tensors = [good, bad];
        let file = file_of(Format::Safetensors, &tensors);
        // SAFETY: the arguments are as the header requires.
        unsafe {
            places!(writer: tenslice_writer, error: tenslice_error, words: usize);
            let status = call!(tenslice_writer_open(writer, &raw const file, null_mut::<u64>(), 0, error));
            assert_eq!((status, (*error).entry_distance), (code(ErrorKind::InvalidArgument), 1));
            let status = call!(tenslice_writer_scratch_length(&raw const file, words));
            assert_eq!(status, code(ErrorKind::InvalidArgument));
        }
    }
}

#[test]
fn values_that_are_refused() {
    let loose = |value| [attribute("good", NOTHING), attribute("key", value)];
    let integers = DType::ALL.iter().map(|(dtype, _)| *dtype).filter(|dtype| {
        let value = number(*dtype, 1 << 63);
        let attributes = loose(value);
        let file = tenslice_new_file {
            attributes: attributes.as_ptr(),
            attribute_count: 2,
            ..file_of(Format::Ztensor, &[])
        };
        // SAFETY: the arguments are as the header requires.
        unsafe {
            places!(writer: tenslice_writer, error: tenslice_error);
            let status = call!(tenslice_writer_open(writer, &raw const file, null_mut::<u64>(), 0, error));
            assert!(status == OK || (status, (*error).entry_distance) == (code(ErrorKind::InvalidArgument), 1));
            status == OK
        }
    });
    assert_eq!(integers.collect::<Vec<_>>(), [DType::U64, DType::I64]);
    let deep = |value: tenslice_new_value, expected: tenslice_status| {
        let attributes = loose(value);
        let file = tenslice_new_file {
            attributes: attributes.as_ptr(),
            attribute_count: 2,
            ..file_of(Format::Ztensor, &[])
        };
        // SAFETY: the arguments are as the header requires.
        unsafe {
            places!(words: usize);
            assert_eq!(call!(tenslice_writer_scratch_length(&raw const file, words)), expected);
        }
    };
    // Each is a list that contains the one before.
    let mut nested = [NOTHING; 34];
    let first = nested.as_mut_ptr();
    let at = |depth: usize| {
        let one = inside(ValueKind::Array, &[NOTHING]);
        let list = tenslice_new_value { data: first.wrapping_add(depth - 1).cast(), ..one };
        // SAFETY: inside the array, which only this pointer uses.
        unsafe { first.add(depth).write(list) };
        list
    };
    let lists: Vec<_> = (1..34).map(at).collect();
    deep(lists[31], OK);
    deep(lists[32], code(ErrorKind::TooDeep));
    let invalid = code(ErrorKind::InvalidArgument);
    deep(inside(ValueKind::Map, &[NOTHING]), invalid);
    deep(tenslice_new_value { kind: 99, ..NOTHING }, invalid);
    deep(tenslice_new_value { kind: ValueKind::Bool.code().into(), integer: 2, ..NOTHING }, invalid);
    deep(tenslice_new_value { kind: ValueKind::Float.code().into(), ..NOTHING }, invalid);
    deep(tenslice_new_value { data: null(), ..string("text") }, invalid);
}

/// A value that is no value is another error than one that the format does not have.
#[test]
fn values_of_gguf() {
    let unknown = tenslice_new_value { kind: 99, ..NOTHING };
    let items = [unknown];
    for (value, expected) in [
        (unknown, ErrorKind::InvalidArgument),
        (inside(ValueKind::Array, &items), ErrorKind::InvalidArgument),
        (NOTHING, ErrorKind::NotInFormat),
    ] {
        let attributes = [attribute("k", value)];
        let file =
            tenslice_new_file { attributes: attributes.as_ptr(), attribute_count: 1, ..file_of(Format::Gguf, &[]) };
        // SAFETY: the arguments are as the header requires.
        unsafe {
            places!(writer: tenslice_writer, error: tenslice_error);
            let status = call!(tenslice_writer_open(writer, &raw const file, null_mut::<u64>(), 0, error));
            assert_eq!(status, code(expected));
        }
    }
}

/// A newer program passes a struct with a field that this library does not know.
#[repr(C)]
#[derive(Clone, Copy)]
struct Longer(tenslice_new_tensor, u64);

#[test]
fn tensors_are_sorted() {
    let shape = [1_u64];
    let names = ["d", "a", "c", "b", "e"];
    let dtypes = [DType::U8, DType::U8, DType::F64, DType::F32, DType::U8];
    let mut tensors: Vec<Longer> = Vec::new();
    for (index, (name, dtype)) in names.iter().zip(dtypes).enumerate() {
        let tensor = tensor(name, dtype, &shape);
        let struct_size = size_of_struct::<Longer>();
        tensors.push(Longer(tenslice_new_tensor { struct_size, ..tensor }, index as u64));
    }
    // SAFETY: the arguments are as the header requires.
    unsafe {
        for (format, expected) in [(Format::Safetensors, [2, 3, 1, 0, 4]), (Format::Ztensor, [1, 3, 2, 0, 4])] {
            let mut sorted = tensors.clone();
            ok!(tenslice_new_tensors_sort(u32::from(format.code()), sorted.as_mut_ptr().cast(), 5));
            assert_eq!(sorted.iter().map(|tensor| tensor.1).collect::<Vec<_>>(), expected);
            let file = tenslice_new_file { tensors: sorted.as_ptr().cast(), tensor_count: 5, ..file_of(format, &[]) };
            places!(writer: tenslice_writer);
            ok!(tenslice_writer_open(writer, &raw const file, null_mut::<u64>(), 0, null_mut()));
        }
        let format = u32::from(Format::Safetensors.code());
        tensors[4].0.dtype = 9999;
        let before = tensors.as_mut_ptr().cast();
        let status = call!(tenslice_new_tensors_sort(format, before, 5));
        assert_eq!((status, tensors[0].1), (code(ErrorKind::UnknownDType), 0));
        let unknown = call!(tenslice_new_tensors_sort(99, null_mut(), 0));
        assert_eq!(unknown, code(ErrorKind::InvalidArgument));
        let unwritten = call!(tenslice_new_tensors_sort(0, null_mut(), 0));
        assert_eq!(unwritten, code(ErrorKind::NotBuiltIn));
    }
}
