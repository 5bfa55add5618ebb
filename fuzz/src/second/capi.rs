//! Compares the C functions with the Rust API for the same bytes. Both must give the same answers, including error,
//! offset and message. Covers the functions of the headers for a whole file, its tensors, its components and its
//! attributes. The functions of single formats have their own tests in `c-tests`.
//!
//! No difference is accepted: every difference is a defect.

use std::ffi::{c_char, c_void};
use std::mem::{MaybeUninit, size_of};
use std::ptr::null;

use tenslice::{
    Attributes, Component, DType, Error, ErrorKind, File, Layout, Opened, Purpose, ReadOptions, Source, Tensor, Text, Value,
    Verified,
};

/// The largest number of bytes that a call may be asked to write.
const LARGEST: u64 = 1 << 20;

const OK: i32 = 0;
const END: i32 = 1;
const NEED: i32 = 2;

/// The structs of `tenslice.h` and `tenslice/types.h`, written by hand. A test compares the sizes of handles, which the
/// library fills whatever their size; it refuses other structs if their size is wrong.
mod c {
    #![allow(non_camel_case_types, dead_code)]

    use super::*;

    #[repr(C)]
    pub struct handle<const N: usize>([MaybeUninit<u64>; N]);
    pub type file = handle<24>;
    pub type tensor = handle<26>;
    pub type component = handle<24>;
    pub type cursor = handle<32>;
    pub type source = handle<133>;

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct error {
        pub offset: u64,
        pub entry_distance: u32,
        pub kind: u16,
        pub format: u8,
        pub item: u8,
    }

    #[repr(C)]
    pub struct read_options {
        pub struct_size: u32,
        pub reserved: u32,
        pub decoder: *const c_void,
        pub scratch: *mut c_void,
        pub scratch_length: usize,
    }

    impl read_options {
        pub fn new(scratch: &mut [u8]) -> Self {
            let struct_size = size_of::<Self>() as u32;
            let (scratch, scratch_length) = (scratch.as_mut_ptr().cast(), scratch.len());
            Self { struct_size, reserved: 0, decoder: null(), scratch, scratch_length }
        }
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct requirements {
        pub struct_size: u32,
        pub reserved: u32,
        pub output: u64,
        pub scratch: u64,
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct str {
        pub data: *const c_char,
        pub length: usize,
        pub is_escaped: u8,
        pub reserved: MaybeUninit<[u8; 15]>,
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct bytes {
        pub data: *const c_void,
        pub length: usize,
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct need {
        pub offset: u64,
        pub length: u64,
        pub keep: u32,
        pub reserved: u32,
    }

    #[repr(C)]
    pub struct file_info {
        pub struct_size: u32,
        pub format: u32,
        pub length: u64,
        pub tensor_count: u64,
        pub version: str,
        pub warnings: u32,
        pub reserved: u32,
    }

    #[repr(C)]
    pub struct tensor_info {
        pub struct_size: u32,
        pub dtype: u32,
        pub name: str,
        pub layout: u32,
        pub order: u32,
        pub layout_name: str,
        pub index: u64,
        pub elements: u64,
        pub rank: u32,
        pub warnings: u32,
    }

    #[repr(C)]
    pub struct component_info {
        pub struct_size: u32,
        pub dtype: u32,
        pub storage_dtype: u32,
        pub byte_order: u32,
        pub encoding: u32,
        pub reserved: u32,
        pub role: str,
        pub encoding_name: str,
        pub digest: str,
        pub offset: u64,
        pub length: u64,
        pub decoded_length: u64,
    }

    #[repr(C)]
    pub struct value {
        pub struct_size: u32,
        pub kind: u32,
        pub text: str,
        pub magnitude: u64,
        pub real: f64,
        pub negative: u32,
        pub reserved: u32,
        pub items: handle<12>,
    }

    #[repr(C)]
    pub struct verified {
        pub struct_size: u32,
        pub warnings: u32,
        pub verified: u64,
        pub without_digest: u64,
        pub unknown_digest: u64,
    }

    #[rustfmt::skip]
    unsafe extern "C" {
        pub fn tenslice_file_open(file: *mut file, data: *const c_void, length: usize, error: *mut error) -> i32;
        pub fn tenslice_source_init(source: *mut source, length: u64) -> i32;
        pub fn tenslice_source_add(source: *mut source, offset: u64, data: *const c_void, length: usize) -> i32;
        pub fn tenslice_file_open_source(f: *mut file, s: *mut source, need: *mut need, error: *mut error) -> i32;
        pub fn tenslice_error_text(
            error: *const error, data: *const c_void, length: usize, buffer: *mut c_char, capacity: usize,
            needed: *mut usize,
        ) -> i32;
        pub fn tenslice_file_get_info(file: *const file, info: *mut file_info) -> i32;
        pub fn tenslice_file_warning_tensor(file: *const file, warning: u32, index: *mut u64) -> i32;
        pub fn tenslice_file_check_length(file: *const file, count: *mut usize) -> i32;
        pub fn tenslice_file_check(
            file: *const file, scratch: *mut u32, count: usize, warnings: *mut u32, error: *mut error,
        ) -> i32;
        pub fn tenslice_file_verify(
            file: *const file, options: *const read_options, verified: *mut verified, error: *mut error,
        ) -> i32;
        pub fn tenslice_file_requirements(
            file: *const file, purpose: u32, requirements: *mut requirements, error: *mut error,
        ) -> i32;
        pub fn tenslice_file_find(
            file: *const file, name: *const c_char, length: usize, tensor: *mut tensor, error: *mut error,
        ) -> i32;
        pub fn tenslice_file_tensors(file: *const file, cursor: *mut cursor) -> i32;
        pub fn tenslice_tensors_next(cursor: *mut cursor, tensor: *mut tensor, error: *mut error) -> i32;
        pub fn tenslice_file_attributes(file: *const file, cursor: *mut cursor) -> i32;
        pub fn tenslice_tensor_attributes(tensor: *const tensor, cursor: *mut cursor) -> i32;
        pub fn tenslice_attributes_next(
            cursor: *mut cursor, key: *mut value, value: *mut value, error: *mut error,
        ) -> i32;
        pub fn tenslice_attributes_length(cursor: *const cursor, count: *mut u64) -> i32;
        pub fn tenslice_value_items(value: *const value, cursor: *mut cursor) -> i32;
        pub fn tenslice_str_copy(text: *const str, buffer: *mut c_char, capacity: usize, needed: *mut usize) -> i32;
        pub fn tenslice_tensor_get_info(tensor: *const tensor, info: *mut tensor_info) -> i32;
        pub fn tenslice_tensor_problem(tensor: *const tensor, error: *mut error) -> i32;
        pub fn tenslice_tensor_shape(t: *const tensor, to: *mut u64, capacity: usize, rank: *mut u32) -> i32;
        pub fn tenslice_tensor_strides(tensor: *const tensor, strides: *mut u64, capacity: usize) -> i32;
        pub fn tenslice_tensor_requirements(
            tensor: *const tensor, purpose: u32, requirements: *mut requirements, error: *mut error,
        ) -> i32;
        pub fn tenslice_tensor_bytes(t: *const tensor, dtype: u32, bytes: *mut bytes, error: *mut error) -> i32;
        pub fn tenslice_tensor_read_into(
            tensor: *const tensor, destination: *mut c_void, capacity: usize, options: *const read_options,
            length: *mut u64, error: *mut error,
        ) -> i32;
        pub fn tenslice_tensor_read_f32(
            tensor: *const tensor, first: u64, out: *mut f32, count: usize, error: *mut error,
        ) -> i32;
        pub fn tenslice_tensor_components(tensor: *const tensor, cursor: *mut cursor) -> i32;
        pub fn tenslice_components_next(cursor: *mut cursor, component: *mut component, error: *mut error) -> i32;
        pub fn tenslice_component_get_info(component: *const component, info: *mut component_info) -> i32;
        pub fn tenslice_component_stored(c: *const component, bytes: *mut bytes, error: *mut error) -> i32;
        pub fn tenslice_component_caps(component: *const component, caps: *mut u32) -> i32;
        pub fn tenslice_component_shard(component: *const component, shard: *mut str) -> i32;
        pub fn tenslice_component_read_into(
            component: *const component, destination: *mut c_void, capacity: usize, options: *const read_options,
            length: *mut u64, error: *mut error,
        ) -> i32;
    }
}

/// A variable of a C program: uninitialized memory.
fn place<T>() -> MaybeUninit<T> {
    MaybeUninit::uninit()
}

/// A struct that begins with its size.
macro_rules! info {
    ($name:ident: $ty:ty) => {
        let mut $name = place::<$ty>();
        // SAFETY: the field is written, not read.
        unsafe { (&raw mut (*$name.as_mut_ptr()).struct_size).write(size_of::<$ty>() as u32) };
    };
}

/// Calls a C function with pointers to memory of the right type and lengths that match. The contract of each function
/// is in its header.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: every handle was made by the library, and the lengths match their pointers.
        unsafe { c::$function($($argument),*) }
    };
}

/// A value that the library has written.
fn written<T>(place: &MaybeUninit<T>) -> &T {
    // SAFETY: only for places that a successful call has filled.
    unsafe { place.assume_init_ref() }
}

/// Uses any bytes as a file in memory, and as a file in parts.
pub fn run(bytes: &[u8]) {
    let (mut file, mut error) = (place::<c::file>(), place::<c::error>());
    let pointer = bytes.as_ptr().cast();
    let status = call!(tenslice_file_open(file.as_mut_ptr(), pointer, bytes.len(), error.as_mut_ptr()));
    let rust = File::open(bytes);
    in_parts(bytes);
    match rust {
        Ok(rust) => {
            assert_eq!(status, OK);
            same_file(&rust, file.as_ptr());
        }
        Err(rust) => {
            same_error(status, &error, &rust);
            same_message(bytes, &error, &rust);
        }
    }
}

/// Checks that the requests for ranges are the same, and the outcome.
fn in_parts(bytes: &[u8]) {
    let (mut file, mut error, mut need) = (place::<c::file>(), place::<c::error>(), place::<c::need>());
    let mut source = place::<c::source>();
    assert_eq!(call!(tenslice_source_init(source.as_mut_ptr(), bytes.len() as u64)), OK);
    let mut rust = Source::new(bytes.len() as u64);
    loop {
        let (file, need_out) = (file.as_mut_ptr(), need.as_mut_ptr());
        let status =
            call!(tenslice_file_open_source(file, source.as_mut_ptr(), need_out, error.as_mut_ptr()));
        let wanted = match File::open_source(&rust) {
            Ok(Opened::Need(wanted)) => wanted,
            Ok(Opened::File(rust)) => {
                assert_eq!(status, OK);
                return same_info(&rust, file);
            }
            Err(rust) => return same_error(status, &error, &rust),
        };
        assert_eq!(status, NEED);
        let need = written(&need);
        let (offset, length) = (wanted.extent.offset, wanted.extent.length);
        assert_eq!((need.offset, need.length, need.keep != 0, need.reserved), (offset, length, wanted.keep, 0));
        let part = &bytes[offset as usize..][..length as usize];
        let added = rust.add(offset, part).map_or_else(|error| error.kind().code().into(), |_| OK);
        assert_eq!(call!(tenslice_source_add(source.as_mut_ptr(), offset, part.as_ptr().cast(), part.len())), added);
        if added != OK {
            return; // more pieces than a source can have
        }
    }
}

fn same_error(status: i32, error: &MaybeUninit<c::error>, rust: &Error) {
    assert_eq!(status, i32::from(rust.kind().code()), "{rust:?}");
    let error = written(error);
    let entry = (error.entry_distance != u32::MAX).then(|| error.offset - u64::from(error.entry_distance));
    let offset = (error.offset != u64::MAX).then_some(error.offset);
    let codes = (error.kind, error.format, error.item);
    assert_eq!(codes, (rust.kind().code(), rust.format().code(), rust.part().code()), "{rust:?}");
    assert_eq!((offset, entry), (rust.offset(), rust.entry()), "{rust:?}");
}

fn same_message(bytes: &[u8], error: &MaybeUninit<c::error>, rust: &Error) {
    let expected = rust.explain(bytes).to_string();
    let mut needed = 0;
    let mut text = vec![0xa5; expected.len() + 9];
    let (pointer, room) = (text.as_mut_ptr().cast(), text.len());
    let data = bytes.as_ptr().cast();
    assert_eq!(call!(tenslice_error_text(error.as_ptr(), data, bytes.len(), pointer, room, &mut needed)), OK);
    assert_eq!((needed, &text[..expected.len()], text[expected.len()]), (expected.len() + 1, expected.as_bytes(), 0));
}

/// Checks that the outcomes are the same: the value, or an error with the same details.
fn same_result<T>(status: i32, error: &MaybeUninit<c::error>, rust: Result<T, Error>) -> Option<T> {
    match rust {
        Ok(value) => {
            assert_eq!(status, OK);
            Some(value)
        }
        Err(rust) => {
            same_error(status, error, &rust);
            None
        }
    }
}

/// Checks that a C string is the same as in Rust: the bytes of the file, at the same address.
fn same_text(found: &c::str, text: Option<Text<'_>>) {
    let is_escaped = text.is_some_and(|text| text.is_escaped());
    assert_eq!(found.is_escaped, u8::from(is_escaped));
    match text {
        None => assert!(found.data.is_null() && found.length == 0),
        Some(text) => {
            assert_eq!(found.length, text.raw().len());
            assert!(!found.data.is_null() && bytes_of(found.data.cast(), found.length) == text.raw());
            if is_escaped {
                let meaning = text.to_string();
                let mut copy = vec![0xa5; meaning.len() + 1];
                let mut needed = 0;
                let status = call!(tenslice_str_copy(found, copy.as_mut_ptr().cast(), copy.len(), &mut needed));
                assert_eq!((status, needed, copy.pop()), (OK, meaning.len() + 1, Some(0)));
                assert_eq!(copy, meaning.as_bytes());
            }
        }
    }
}

fn same_str(found: &c::str, text: Option<&str>) {
    same_text(found, text.map(Text::from));
}

fn bytes_of<'a>(data: *const u8, length: usize) -> &'a [u8] {
    // SAFETY: the library states that these bytes exist.
    if length == 0 { &[] } else { unsafe { std::slice::from_raw_parts(data, length) } }
}

fn code(dtype: Option<DType>) -> u32 {
    dtype.map_or(0, |dtype| dtype.code().into())
}

fn same_info(rust: &File<'_>, file: *const c::file) {
    info!(info: c::file_info);
    assert_eq!(call!(tenslice_file_get_info(file, info.as_mut_ptr())), OK);
    let info = written(&info);
    assert_eq!(info.format, u32::from(rust.format().code()));
    assert_eq!((info.length, info.tensor_count), (rust.length(), rust.tensor_count()));
    assert_eq!((info.warnings, info.reserved), (rust.warnings().bits(), 0));
    same_str(&info.version, rust.version());
}

fn same_file(rust: &File<'_>, file: *const c::file) {
    same_info(rust, file);
    for warning in rust.warnings().iter() {
        let mut index = 0;
        let status = call!(tenslice_file_warning_tensor(file, warning.bit(), &mut index));
        match rust.warnings().first_tensor(warning) {
            Some(first) => assert_eq!((status, index), (OK, first)),
            None => assert_eq!(status, i32::from(ErrorKind::NotFound.code())),
        }
    }
    let (mut cursor, mut error) = (place::<c::cursor>(), place::<c::error>());
    assert_eq!(call!(tenslice_file_attributes(file, cursor.as_mut_ptr())), OK);
    same_attributes(rust.attributes(), &mut cursor, 0);

    let mut tensor = place::<c::tensor>();
    assert_eq!(call!(tenslice_file_tensors(file, cursor.as_mut_ptr())), OK);
    let mut tensors = rust.tensors();
    for (i, rust_tensor) in tensors.by_ref().enumerate() {
        assert_eq!(call!(tenslice_tensors_next(cursor.as_mut_ptr(), tensor.as_mut_ptr(), error.as_mut_ptr())), OK);
        same_tensor(&rust_tensor, tensor.as_ptr());
        // Looking up a name is linear, so only a few are looked up.
        if i < 20 {
            let name = rust_tensor.name().to_string();
            let (pointer, length) = (name.as_ptr().cast(), name.len());
            let mut found = place::<c::tensor>();
            let status = call!(tenslice_file_find(file, pointer, length, found.as_mut_ptr(), error.as_mut_ptr()));
            if let Some(first) = same_result(status, &error, rust.find(&name)) {
                assert_eq!(info_of(found.as_ptr()).index, first.index());
            }
        }
    }
    assert_eq!(tensors.error(), None);
    assert_eq!(call!(tenslice_tensors_next(cursor.as_mut_ptr(), tensor.as_mut_ptr(), error.as_mut_ptr())), END);

    let (mut warnings, mut enough) = (0, 0);
    assert_eq!(call!(tenslice_file_check_length(file, &mut enough)), OK);
    assert_eq!(Some(enough), rust.check_length());
    for count in [0, 1, 300, enough] {
        let (mut scratch, mut other) = (vec![0; count], vec![0; count]);
        let pointer = scratch.as_mut_ptr();
        let status = call!(tenslice_file_check(file, pointer, count, &mut warnings, error.as_mut_ptr()));
        if let Some(found) = same_result(status, &error, rust.check(&mut other)) {
            assert_eq!(warnings, found.bits());
        }
    }
    same_verified(rust, file);
}

fn same_verified(rust: &File<'_>, file: *const c::file) {
    let mut error = place::<c::error>();
    info!(verified: c::verified);
    info!(needed: c::requirements);
    let purpose = Purpose::Verify.code().into();
    assert_eq!(call!(tenslice_file_requirements(file, purpose, needed.as_mut_ptr(), error.as_mut_ptr())), OK);
    let length = written(&needed).scratch;
    assert_eq!(length, rust.requirements(Purpose::Verify).scratch.unwrap_or(u64::MAX));
    // Components may share bytes, so a small file can have any number of them to read.
    let work = rust.tensors().flat_map(|tensor| tensor.components()).map(|part| part.extent().length);
    if length > LARGEST || work.fold(0, u64::saturating_add) > 4 * LARGEST {
        return;
    }
    let (mut scratch, mut other) = (vec![0; length as usize], vec![0; length as usize]);
    let out = verified.as_mut_ptr();
    let status = call!(tenslice_file_verify(file, &c::read_options::new(&mut scratch), out, error.as_mut_ptr()));
    if let Some(rust) = same_result(status, &error, rust.verify(ReadOptions::new().scratch(&mut other))) {
        let found = written(&verified);
        let Verified { verified, without_digest, unknown_digest, warnings } = rust;
        assert_eq!((found.verified, found.without_digest), (verified, without_digest));
        assert_eq!((found.unknown_digest, found.warnings), (unknown_digest, warnings.bits()));
    }
}

fn info_of(tensor: *const c::tensor) -> c::tensor_info {
    info!(info: c::tensor_info);
    assert_eq!(call!(tenslice_tensor_get_info(tensor, info.as_mut_ptr())), OK);
    // SAFETY: the call has filled it.
    unsafe { info.assume_init() }
}

fn same_tensor(rust: &Tensor<'_>, tensor: *const c::tensor) {
    let info = info_of(tensor);
    assert_eq!((info.dtype, info.rank), (code(rust.dtype()), rust.shape().rank()));
    assert_eq!((info.layout, info.order), (rust.layout().code().into(), rust.order().code().into()));
    assert_eq!((info.index, info.warnings), (rust.index(), rust.warnings().bits()));
    assert_eq!(info.elements, rust.shape().element_count().unwrap_or(u64::MAX));
    same_text(&info.name, Some(rust.name()));
    same_str(&info.layout_name, Some(rust.layout_name()));

    let shape: Vec<u64> = rust.shape().iter().collect();
    let (mut found, mut rank) = (vec![0; shape.len()], 0);
    assert_eq!(call!(tenslice_tensor_shape(tensor, found.as_mut_ptr(), found.len(), &mut rank)), OK);
    assert_eq!((found.as_slice(), rank as usize), (&shape[..], shape.len()));
    let mut strides = vec![0; shape.len()];
    let status = call!(tenslice_tensor_strides(tensor, found.as_mut_ptr(), found.len()));
    match rust.strides(&mut strides) {
        Ok(strides) => assert_eq!((status, found.as_slice()), (OK, &*strides)),
        Err(error) => assert_eq!(status, i32::from(error.kind().code())),
    }

    let (mut cursor, mut error) = (place::<c::cursor>(), place::<c::error>());
    assert_eq!(call!(tenslice_tensor_attributes(tensor, cursor.as_mut_ptr())), OK);
    same_attributes(rust.attributes(), &mut cursor, 0);

    let status = call!(tenslice_tensor_problem(tensor, error.as_mut_ptr()));
    same_result(status, &error, rust.problem().map_or(Ok(()), Err));

    let mut component = place::<c::component>();
    assert_eq!(call!(tenslice_tensor_components(tensor, cursor.as_mut_ptr())), OK);
    let mut components = rust.components();
    for part in components.by_ref() {
        let next = component.as_mut_ptr();
        assert_eq!(call!(tenslice_components_next(cursor.as_mut_ptr(), next, error.as_mut_ptr())), OK);
        same_component(&part, component.as_ptr());
    }
    assert_eq!(components.error(), None);
    let next = component.as_mut_ptr();
    assert_eq!(call!(tenslice_components_next(cursor.as_mut_ptr(), next, error.as_mut_ptr())), END);

    let mut bytes = place::<c::bytes>();
    let status = call!(tenslice_tensor_bytes(tensor, 0, bytes.as_mut_ptr(), error.as_mut_ptr()));
    if let Some(rust) = same_result(status, &error, rust.data().and_then(|data| data.bytes())) {
        same_place(&bytes, rust);
    }
    same_numbers(rust, tensor);
}

/// Compares computed and decoded results: the dense array, and numbers as floats.
fn same_numbers(rust: &Tensor<'_>, tensor: *const c::tensor) {
    let mut error = place::<c::error>();
    info!(needed: c::requirements);
    for purpose in Purpose::ALL.iter().rev() {
        let code = purpose.code().into();
        assert_eq!(call!(tenslice_tensor_requirements(tensor, code, needed.as_mut_ptr(), error.as_mut_ptr())), OK);
        let (found, rust) = (written(&needed), rust.requirements(*purpose));
        assert_eq!(found.output, rust.output.unwrap_or(u64::MAX));
        assert_eq!(found.scratch, rust.scratch.unwrap_or(u64::MAX));
    }
    let (dense, scratch) = (written(&needed).output, written(&needed).scratch); // of the first purpose, to read
    let mut numbers = [[0.0_f32; 9]; 2];
    let status = call!(tenslice_tensor_read_f32(tensor, 0, numbers[0].as_mut_ptr(), 9, error.as_mut_ptr()));
    if same_result(status, &error, rust.read_f32_range(0, &mut numbers[1])).is_some() {
        assert_eq!(numbers[0].map(f32::to_bits), numbers[1].map(f32::to_bits));
    }
    // Chunks of a frame may share their bytes, and a tensor train may have any shape, so a small file can cost a lot.
    if dense > LARGEST || scratch > LARGEST || rust.layout() == Layout::TensorTrain {
        return;
    }
    let mut rooms = [0xa5_u8, 0x5a].map(|fill| (vec![fill; dense as usize], vec![fill; scratch as usize]));
    let [(room, work), (other, other_work)] = &mut rooms;
    let (to, capacity) = (room.as_mut_ptr(), room.len());
    let mut length = 0;
    let status = call!(tenslice_tensor_read_into(
        tensor,
        to.cast(),
        capacity,
        &c::read_options::new(work),
        &mut length,
        error.as_mut_ptr()
    ));
    if let Some(rust) = same_result(status, &error, rust.read_into(other, ReadOptions::new().scratch(other_work))) {
        assert!(room[..length as usize] == *rust);
    }
}

fn same_place(found: &MaybeUninit<c::bytes>, rust: &[u8]) {
    let found = written(found);
    assert_eq!(found.length, rust.len());
    assert!(rust.is_empty() || std::ptr::eq(found.data.cast(), rust.as_ptr()));
}

fn same_component(rust: &Component<'_>, component: *const c::component) {
    info!(info: c::component_info);
    assert_eq!(call!(tenslice_component_get_info(component, info.as_mut_ptr())), OK);
    let info = written(&info);
    assert_eq!((info.dtype, info.storage_dtype), (code(rust.dtype()), code(rust.storage_dtype())));
    assert_eq!((info.byte_order, info.encoding), (rust.byte_order().code().into(), rust.encoding().code().into()));
    assert_eq!((info.offset, info.length), (rust.extent().offset, rust.extent().length));
    assert_eq!((info.decoded_length, info.reserved), (rust.decoded_length().unwrap_or(u64::MAX), 0));
    same_str(&info.role, Some(rust.role()));
    same_str(&info.encoding_name, Some(rust.encoding_name()));
    same_str(&info.digest, rust.digest());

    let (mut shard, mut caps, mut bytes) = (place::<c::str>(), 0, place::<c::bytes>());
    assert_eq!(call!(tenslice_component_shard(component, shard.as_mut_ptr())), OK);
    same_str(written(&shard), rust.shard());
    assert_eq!(call!(tenslice_component_caps(component, &mut caps)), OK);
    assert_eq!(caps, rust.caps().bits());
    let mut error = place::<c::error>();
    let status = call!(tenslice_component_stored(component, bytes.as_mut_ptr(), error.as_mut_ptr()));
    if let Some(rust) = same_result(status, &error, rust.stored()) {
        same_place(&bytes, rust);
    }

    let length = rust.decoded_length().unwrap_or(4096).min(LARGEST) as usize;
    let (mut room, mut other, mut count) = (vec![0xa5_u8; length], vec![0x5a; length], 0);
    let (to, out) = (room.as_mut_ptr().cast(), error.as_mut_ptr());
    let status = call!(tenslice_component_read_into(component, to, length, null(), &mut count, out));
    if let Some(rust) = same_result(status, &error, rust.read_into(&mut other, ReadOptions::new())) {
        assert!(room[..count as usize] == *rust);
    }
}

fn same_attributes(mut rust: Attributes<'_>, cursor: &mut MaybeUninit<c::cursor>, depth: u32) {
    assert!(depth < 100);
    let mut count = 0;
    let status = call!(tenslice_attributes_length(cursor.as_ptr(), &mut count));
    match rust.length() {
        Some(length) => assert_eq!((status, count), (OK, length)),
        None => assert_eq!(status, i32::from(ErrorKind::NotFound.code())),
    }
    info!(key: c::value);
    info!(value: c::value);
    let mut error = place::<c::error>();
    let (key_out, value_out) = (key.as_mut_ptr(), value.as_mut_ptr());
    let next = cursor.as_mut_ptr();
    loop {
        let status = call!(tenslice_attributes_next(next, key_out, value_out, error.as_mut_ptr()));
        let Some(attribute) = rust.next() else {
            match rust.error() {
                None => assert_eq!(status, END),
                Some(rust) => same_error(status, &error, &rust),
            }
            return;
        };
        assert_eq!(status, OK);
        match attribute.key {
            Some(rust) => same_value(&rust, &key, depth),
            None => assert_eq!(written(&key).kind, 0),
        }
        same_value(&attribute.value, &value, depth);
    }
}

fn same_value(rust: &Value<'_>, value: &MaybeUninit<c::value>, depth: u32) {
    let found = written(value);
    let bits = |number: f64| number.to_bits();
    let (mut magnitude, mut real, mut is_negative, mut text) = (0, 0.0, false, None);
    match *rust {
        Value::Bool(truth) => magnitude = truth.into(),
        Value::Integer(number) => (magnitude, is_negative) = (number.unsigned_abs() as u64, number < 0),
        Value::Float(number) => real = number,
        Value::Simple(number) => magnitude = number.into(),
        Value::Tagged(tag, _) => magnitude = tag,
        Value::Text(found) | Value::Decimal(found) => text = Some(found),
        _ => {}
    }
    assert_eq!((found.kind, found.magnitude), (rust.kind().code().into(), magnitude));
    assert_eq!((bits(found.real), found.negative, found.reserved), (bits(real), u32::from(is_negative), 0));
    match rust {
        Value::Bytes(bytes) => assert!(bytes_of(found.text.data.cast(), found.text.length) == *bytes),
        _ => same_text(&found.text, text),
    }
    let mut cursor = place::<c::cursor>();
    let status = call!(tenslice_value_items(value.as_ptr(), cursor.as_mut_ptr()));
    match rust.items() {
        Some(items) => {
            assert_eq!(status, OK);
            same_attributes(items, &mut cursor, depth + 1);
        }
        None => assert_eq!(status, i32::from(ErrorKind::WrongType.code())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The length of a handle in bytes, as the headers declare it.
    fn declared(name: &str) -> usize {
        let headers = concat!(
            include_str!("../../../include/tenslice.h"),
            include_str!("../../../include/tenslice/types.h")
        );
        let (before, _) = headers.split_once(&format!("}} tenslice_{name};")).expect("a type");
        let (_, words) = before.rsplit_once("uint64_t opaque[").expect("a handle");
        8 * words.split_once(']').expect("a number").0.parse::<usize>().expect("a number")
    }

    #[test]
    fn handles_have_the_sizes_of_the_headers() {
        assert_eq!(size_of::<c::file>(), declared("file"));
        assert_eq!(size_of::<c::tensor>(), declared("tensor"));
        assert_eq!(size_of::<c::component>(), declared("component"));
        assert_eq!(size_of::<c::cursor>(), declared("cursor"));
        assert_eq!(size_of::<c::source>(), declared("source"));
        assert_eq!(size_of::<c::handle<12>>(), declared("items"));
    }
}
