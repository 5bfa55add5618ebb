//! Elements as `f32`, in every format, compared with the elements themselves.
#![cfg(all(
    feature = "dequantize",
    feature = "ztensor",
    feature = "safetensors",
    feature = "npy",
    feature = "b2nd",
    feature = "gguf"
))]

use std::collections::BTreeMap;

use crate::support::gguf::Gguf;
use crate::support::{cases, fixture};
use tenslice::{
    DType, Element, Encoding, Error, ErrorKind, File, Format, Layout, Purpose, ReadOptions, Tensor, float,
};

/// The elements that [`Tensor::read_elements`] returns, converted one by one. `None` if they are not real numbers of
/// at most 64 bits. Packed elements are unpacked here.
fn expected(tensor: &Tensor<'_>, count: usize, scratch: &mut [u8]) -> Option<Result<Vec<f32>, Error>> {
    fn read<T: Element + Default>(
        tensor: &Tensor<'_>,
        count: usize,
        scratch: &mut [u8],
        convert: impl Fn(T) -> f32,
    ) -> Option<Result<Vec<f32>, Error>> {
        let mut elements = vec![T::default(); count];
        let elements = tensor.read_elements(&mut elements, ReadOptions::new().scratch(scratch));
        Some(elements.map(|elements| elements.iter().map(|element| convert(*element)).collect()))
    }
    let packed = |scratch: &mut [u8], bits: usize, convert: fn(u8) -> f32| {
        let mut bytes = vec![0; (count * bits).div_ceil(8)];
        let one = |bytes: &[u8], i: usize| {
            (0..bits).map(|bit| (bytes[(i * bits + bit) / 8] >> ((i * bits + bit) % 8) & 1) << bit).sum()
        };
        let read = tensor.read_into(&mut bytes, ReadOptions::new().scratch(scratch));
        Some(read.map(|bytes| (0..count).map(|i| convert(one(bytes, i))).collect()))
    };
    match tensor.dtype()? {
        DType::BOOL => read(tensor, count, scratch, |x: u8| if x == 0 { 0.0 } else { 1.0 }),
        DType::U8 => read(tensor, count, scratch, |x: u8| x as f32),
        DType::U16 => read(tensor, count, scratch, |x: u16| x as f32),
        DType::U32 => read(tensor, count, scratch, |x: u32| x as f32),
        DType::U64 => read(tensor, count, scratch, |x: u64| x as f32),
        DType::I8 => read(tensor, count, scratch, |x: i8| x as f32),
        DType::I16 => read(tensor, count, scratch, |x: i16| x as f32),
        DType::I32 => read(tensor, count, scratch, |x: i32| x as f32),
        DType::I64 => read(tensor, count, scratch, |x: i64| x as f32),
        DType::F16 => read(tensor, count, scratch, |x: u16| half::f16::from_bits(x).to_f32()),
        DType::BF16 => read(tensor, count, scratch, |x: u16| half::bf16::from_bits(x).to_f32()),
        DType::F32 => read(tensor, count, scratch, |x: f32| x),
        DType::F64 => read(tensor, count, scratch, |x: f64| x as f32),
        DType::F8_E4M3FN => read(tensor, count, scratch, float::f8_e4m3fn_to_f32),
        DType::F8_E5M2 => read(tensor, count, scratch, float::f8_e5m2_to_f32),
        DType::F8_E4M3FNUZ => read(tensor, count, scratch, float::f8_e4m3fnuz_to_f32),
        DType::F8_E5M2FNUZ => read(tensor, count, scratch, float::f8_e5m2fnuz_to_f32),
        DType::F8_E8M0 => read(tensor, count, scratch, float::f8_e8m0_to_f32),
        DType::F4_E2M1 => packed(scratch, 4, float::f4_e2m1_to_f32),
        DType::F6_E2M3 => packed(scratch, 6, float::f6_e2m3_to_f32),
        DType::F6_E3M2 => packed(scratch, 6, float::f6_e3m2_to_f32),
        DType::UINT4 => packed(scratch, 4, |bits| bits as f32),
        DType::UINT2 => packed(scratch, 2, |bits| bits as f32),
        DType::INT4 => packed(scratch, 4, |bits| if bits < 8 { bits as f32 } else { bits as f32 - 16.0 }),
        DType::INT2 => packed(scratch, 2, |bits| if bits < 2 { bits as f32 } else { bits as f32 - 4.0 }),
        _ => None,
    }
}

/// The bits of the numbers. NaN is `None`, since its bits may differ.
fn bits(numbers: &[f32]) -> Vec<Option<u32>> {
    numbers.iter().map(|number| (!number.is_nan()).then(|| number.to_bits())).collect()
}

/// The value of untouched memory.
const UNTOUCHED: f32 = 1.25;

#[track_caller]
fn refused(context: &str, result: Result<&mut [f32], Error>, expected: ErrorKind) {
    assert_eq!(result.map(|numbers| numbers.len()).unwrap_err().kind(), expected, "{context}");
}

#[test]
fn every_tensor_of_every_file() {
    let mut dtypes = BTreeMap::<_, usize>::new();
    let mut ways = BTreeMap::<_, usize>::new();
    for case in cases() {
        let Ok(file) = File::open(&case.bytes) else { continue };
        for tensor in &file {
            let context = format!("{}: {:?}", case.name(), tensor.name());
            let count = tensor.shape().element_count().filter(|count| *count < 1 << 16);
            let (Some(count), Some(length)) = (count, tensor.requirements(Purpose::ReadF32).scratch) else {
                continue;
            };
            if tensor.block_type().is_some() || tensor.layout() == Layout::Microscaling || length > 1 << 22 {
                continue; // tests/formats/blocks.rs, tests/formats/frames.rs
            }
            let of_scales = ["scale", "zero_point", "custom", "block_size"];
            if file.format() == Format::Tflite && of_scales.iter().any(|key| tensor.attributes().get(key).is_some()) {
                continue; // tests/formats/tflite.rs
            }
            let (count, length) = (count as usize, length as usize);
            let mut dst = vec![UNTOUCHED; count + 3];
            let mut scratch = vec![0xa5; length.max(1 << 20)];
            let Some(expected) = expected(&tensor, count, &mut scratch) else {
                refused(
                    &context,
                    tensor.read_f32_into(&mut dst, ReadOptions::new().scratch(&mut scratch)),
                    ErrorKind::WrongType,
                );
                assert_eq!(tensor.read_f32_range(0, &mut []).unwrap_err().kind(), ErrorKind::WrongType, "{context}");
                assert_eq!(dst, vec![UNTOUCHED; count + 3], "{context}");
                continue;
            };
            let result = tensor
                .read_f32_into(&mut dst, ReadOptions::new().scratch(&mut scratch[..length]))
                .map(|numbers| numbers.to_vec());
            assert_eq!(dst[count..], [UNTOUCHED; 3], "{context}");
            let (numbers, expected) = match (result, expected) {
                (Ok(numbers), Ok(expected)) => (numbers, expected),
                (Err(error), Err(expected)) => {
                    assert_eq!(error, expected, "{context}");
                    assert_eq!(dst, vec![UNTOUCHED; count + 3], "{context}");
                    continue;
                }
                (result, expected) => panic!("{context}: {result:?}, not {expected:?}"),
            };
            assert_eq!(bits(&numbers), bits(&expected), "{context}");

            dst.fill(UNTOUCHED);
            if count > 0 {
                refused(
                    &context,
                    tensor.read_f32_into(&mut dst[..count - 1], ReadOptions::new().scratch(&mut scratch)),
                    ErrorKind::TooSmall,
                );
            }
            if length > 0 && count > 0 {
                // The reported memory may be more than is needed, so less than the stored bytes is tested.
                let short = &mut scratch[..tensor.requirements(Purpose::Read).output.unwrap() as usize - 1];
                refused(
                    &context,
                    tensor.read_f32_into(&mut dst, ReadOptions::new().scratch(short)),
                    ErrorKind::OutOfScratch,
                );
            }
            assert_eq!(dst, vec![UNTOUCHED; count + 3], "{context}");
            let encoding = tensor.components().next().map(|data| data.encoding_name().to_string());
            *dtypes.entry(tensor.dtype().unwrap().name()).or_default() += 1;
            *ways.entry((file.format().text(), tensor.layout_name().to_string(), encoding)).or_default() += 1;
            ranges(&context, &tensor, &numbers);
        }
    }
    println!("{dtypes:?} {ways:?}");
    let all =
        ["bool", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "f8_e4m3fn"];
    assert!(all.iter().all(|dtype| dtypes.contains_key(dtype)), "{dtypes:?}");
    for layout in ["dense", "sparse_csr", "sparse_coo", "chunked", "index_value", "tensor_train"] {
        assert!(ways.keys().any(|(_, found, _)| found == layout), "{layout}: {ways:?}");
    }
    assert!(
        cfg!(not(feature = "zstd")) || ways.keys().any(|(_, _, encoding)| encoding.as_deref() == Some("zstd")),
        "{ways:?}"
    );
}

/// Checks ranges of a tensor with these numbers.
fn ranges(context: &str, tensor: &Tensor<'_>, numbers: &[f32]) {
    let count = numbers.len();
    let mut dst = vec![UNTOUCHED; count + 1];
    let is_raw = tensor.layout() == Layout::Dense && tensor.data().is_ok_and(|data| data.encoding() == Encoding::Raw);
    if !is_raw {
        let error = tensor.read_f32_range(0, &mut dst[..count]).unwrap_err().kind();
        let expected = if tensor.layout() == Layout::Dense { ErrorKind::Encoded } else { ErrorKind::NotDense };
        assert_eq!(error, expected, "{context}");
        assert_eq!(dst, vec![UNTOUCHED; count + 1], "{context}");
        return;
    }
    for (from, to) in
        [(0, count), (0, 0), (count, count), (count / 3, count), (count / 2, (count / 2 + 1).min(count))]
    {
        dst.fill(UNTOUCHED);
        tensor.read_f32_range(from as u64, &mut dst[..to - from]).unwrap();
        assert_eq!(bits(&dst[..to - from]), bits(&numbers[from..to]), "{context}: {from}..{to}");
        assert_eq!(dst[to - from..], vec![UNTOUCHED; count + 1 - (to - from)], "{context}");
    }
    dst.fill(UNTOUCHED);
    let first = count as u64;
    for (from, length) in [(0, count + 1), (first, 1), (first + 1, 0), (u64::MAX, 0), (u64::MAX, 1), (1 << 62, 1)] {
        let error = tensor.read_f32_range(from, &mut dst[..length]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSuchElement, "{context}: {length} from {from}");
    }
    assert_eq!(dst, vec![UNTOUCHED; count + 1], "{context}");
}

#[test]
fn quantized_tensors() {
    for case in cases() {
        let Ok(file) = File::open(&case.bytes) else { continue };
        let is_big = file.as_gguf().is_some_and(|file| file.byte_order() == tenslice::ByteOrder::Big);
        for tensor in file.tensors().filter(|tensor| tensor.block_type().is_some() && !is_big) {
            let context = format!("{}: {:?}", case.name(), tensor.name());
            let count = tensor.shape().element_count().unwrap() as usize;
            let mut dst = vec![UNTOUCHED; count + 3];
            assert_eq!(tensor.requirements(Purpose::ReadF32).scratch, Some(0), "{context}");
            let numbers = tensor.read_f32_into(&mut dst, ReadOptions::new()).unwrap().to_vec();
            let (mut expected, block) = (vec![0.0; count], tensor.block_type().unwrap());
            let bytes = tensor.component("data").unwrap();
            tenslice::blocks::dequantize(block, bytes.bytes().unwrap(), 0, &mut expected).unwrap();
            assert_eq!(bits(&numbers), bits(&expected), "{context}");
            assert_eq!(dst[count..], [UNTOUCHED; 3]);
            for first in [0, count / 2, count] {
                dst.fill(UNTOUCHED);
                tensor.read_f32_range(first as u64, &mut dst[..count - first]).unwrap();
                assert_eq!(bits(&dst[..count - first]), bits(&numbers[first..]), "{context}");
            }
            dst.fill(UNTOUCHED);
            for (first, length) in [(0, count + 1), (count, 1), (count + 1, 0)] {
                let error = tensor.read_f32_range(first as u64, &mut dst[..length]).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::NoSuchElement, "{context}: {length} from {first}");
            }
            if count > 0 {
                refused(
                    &context,
                    tensor.read_f32_into(&mut dst[..count - 1], ReadOptions::new()),
                    ErrorKind::TooSmall,
                );
            }
            assert_eq!(dst, vec![UNTOUCHED; count + 3], "{context}");
        }
    }
}

#[test]
fn numbers_are_rounded_to_the_nearest() {
    // The last integer is above the middle of two floats. Converted to `f64` first, it would be that middle.
    let integers = [i64::MAX, i64::MIN, (1 << 24) + 1, (1 << 24) + 3, -((1 << 25) + 2), (1 << 62) + (1 << 38) + 1];
    let floats = [1e300, -1e300, 1.0 + f64::powi(2.0, -24), 1.0 + 3.0 * f64::powi(2.0, -24), 1e-46, f64::NAN];
    let mut file = Gguf::default();
    file.tensor("i64", &[6], 27, &integers.map(i64::to_le_bytes).concat());
    let bytes = file.tensor("f64", &[6], 28, &floats.map(f64::to_le_bytes).concat()).bytes();
    let file = File::open(&bytes).unwrap();
    let mut dst = [0.0; 6];
    let numbers = file.find("i64").unwrap().read_f32_into(&mut dst, ReadOptions::new()).unwrap();
    let two = |power| f32::powi(2.0, power);
    assert_eq!(numbers, [two(63), -two(63), two(24), two(24) + 4.0, -two(25), two(62) + two(39)]);
    let numbers = file.find("f64").unwrap().read_f32_into(&mut dst, ReadOptions::new()).unwrap();
    let ulp = f32::EPSILON;
    assert_eq!(numbers[..5], [f32::INFINITY, f32::NEG_INFINITY, 1.0, 1.0 + 2.0 * ulp, 0.0]);
    assert!(numbers[5].is_nan());
}

/// An NPY file. Its data begin at an even place.
fn npy(descr: &str, count: usize, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count},), }}");
    [b"\x93NUMPY\x01\0\x76\0", format!("{header:117}\n").as_bytes(), data].concat()
}

/// Rounded once, not to an `f64` first: that would be the middle of two floats, which is rounded to the even one.
#[test]
fn unsigned_numbers_are_rounded_once() {
    let integers = [(1 << 62) + (1 << 38) + 1, (1 << 63) + (1 << 39) + 1, (1 << 62) + 3 * (1 << 38) - 1, u64::MAX];
    let bytes = npy("<u8", 4, &integers.map(u64::to_le_bytes).concat());
    let mut dst = [0.0; 4];
    let two = |power| f32::powi(2.0, power);
    let expected = [two(62) + two(39), two(63) + two(40), two(62) + two(39), two(64)];
    let tensor = File::open(&bytes).unwrap().tensors().next().unwrap();
    assert_eq!(tensor.read_f32_into(&mut dst, ReadOptions::new()).unwrap(), expected);
    let mut dst = [0.0; 4];
    tensor.read_f32_range(0, &mut dst).unwrap();
    assert_eq!(dst, expected);
}

/// Hosts convert several `f16` at once, with instructions for it if the machine has them.
#[test]
fn half_precision_numbers_have_the_same_bits() {
    let bits = |numbers: &[f32]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    let expected: Vec<f32> = (0..=u16::MAX).map(float::f16_to_f32).collect();
    let expected = bits(&expected);
    for (descr, order) in [("<f2", u16::to_le_bytes as fn(u16) -> [u8; 2]), (">f2", u16::to_be_bytes)] {
        let data: Vec<u8> = (0..=u16::MAX).flat_map(order).collect();
        let file = npy(descr, 1 << 16, &data);
        for before in 0..2 {
            let bytes = [vec![0; before], file.clone()].concat();
            let tensor = File::open(&bytes[before..]).unwrap().tensors().next().unwrap();
            let mut dst = vec![UNTOUCHED; 1 << 16];
            assert!(bits(tensor.read_f32_into(&mut dst, ReadOptions::new()).unwrap()) == expected, "{descr}");
            // Zeros and subnormal numbers, infinities and NaN are in these ranges.
            for (first, length) in
                [0_usize, 0x3fa, 0x7bd3, 0x8000, 0xfbf7].iter().flat_map(|n| (0..100).map(|l| (*n, l)))
            {
                dst.fill(UNTOUCHED);
                tensor.read_f32_range(first as u64, &mut dst[..length]).unwrap();
                assert_eq!(bits(&dst[..length]), expected[first..][..length], "{descr}: {length} from {first}");
                assert_eq!(dst[length], UNTOUCHED, "{descr}: {length} from {first}");
            }
        }
        for length in 0..100 {
            let bytes = npy(descr, length, &data[..2 * length]);
            let tensor = File::open(&bytes).unwrap().tensors().next().unwrap();
            let mut dst = [UNTOUCHED; 101];
            assert_eq!(bits(tensor.read_f32_into(&mut dst, ReadOptions::new()).unwrap()), expected[..length]);
            assert_eq!(dst[length], UNTOUCHED, "{descr}: {length}");
        }
    }
}

/// Hosts use tables if there are many elements of 8 bits or less. Elements of less than a byte may begin within a byte.
#[test]
fn many_small_elements() {
    for (dtype, width) in [
        ("F8_E4M3", 8),
        ("F8_E5M2", 8),
        ("F8_E8M0", 8),
        ("F8_E4M3FNUZ", 8),
        ("F8_E5M2FNUZ", 8),
        ("F6_E2M3", 6),
        ("F6_E3M2", 6),
        ("F4", 4),
    ] {
        let count = 4096;
        let data: Vec<u8> = (0..count * width / 8).map(|n| (n * 167 + n / 256) as u8).collect();
        let header = format!(r#"{{"t":{{"dtype":"{dtype}","shape":[{count}],"data_offsets":[0,{}]}}}}"#, data.len());
        let file = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat();
        let tensor = File::open(&file).unwrap().find("t").unwrap();
        let expected = bits(&expected(&tensor, count, &mut []).unwrap().unwrap());
        let mut dst = vec![UNTOUCHED; count];
        assert_eq!(bits(tensor.read_f32_into(&mut dst, ReadOptions::new()).unwrap()), expected, "{dtype}");
        let ranges = [255, 256, 257, 263, 264, 1023, 1024, 1025].into_iter();
        for (first, length) in ranges.flat_map(|length| (0..9).chain([count - length]).map(move |n| (n, length))) {
            dst.fill(UNTOUCHED);
            tensor.read_f32_range(first as u64, &mut dst[..length]).unwrap();
            assert_eq!(bits(&dst[..length]), expected[first..][..length], "{dtype}: {length} from {first}");
            assert_eq!(dst[length], UNTOUCHED, "{dtype}: {length} from {first}");
        }
    }
}

#[test]
fn bytes_outside_of_memory() {
    let bytes = fixture("v1.2/dense_all_dtypes.zt");
    let mut source = tenslice::Source::new(bytes.len() as u64);
    let file = crate::support::open_in_parts(&bytes, &[], &mut source).unwrap();
    let mut dst = [UNTOUCHED; 64];
    for tensor in &file {
        match tensor.read_f32_into(&mut dst, ReadOptions::new()) {
            Ok(numbers) => assert!(numbers.is_empty() || tensor.data().unwrap().bytes().is_ok()),
            Err(error) => assert!(matches!(error.kind(), ErrorKind::NotInMemory | ErrorKind::WrongType), "{error}"),
        }
    }
}
