//! Data that the program fetches itself: tensors of a file that was opened in parts, read after `with_source`; and the
//! plan of the reads of many tensors.

use crate::support::{cases, open_in_parts};
use tenslice::{Error, ErrorKind, Extent, File, Opened, Purpose, ReadOptions, Source, Tensor};

/// Reads a tensor, unless its output is too long for a test.
fn read(tensor: &Tensor<'_>) -> Result<Vec<u8>, Error> {
    let needed = tensor.requirements(Purpose::Read);
    let mut output = vec![0; needed.output.unwrap_or(1 << 16).min(1 << 20) as usize];
    let mut scratch = vec![0; needed.scratch.unwrap_or(1 << 16).min(1 << 20) as usize];
    tensor.read_into(&mut output, ReadOptions::new().scratch(&mut scratch)).map(|bytes| bytes.to_vec())
}

/// The bits of the first numbers as `f32`.
#[cfg(feature = "dequantize")]
fn read_f32(tensor: &Tensor<'_>) -> Result<Vec<u32>, Error> {
    let needed = tensor.requirements(Purpose::ReadF32);
    let mut scratch = vec![0; needed.scratch.unwrap_or(1 << 16).min(1 << 20) as usize];
    let mut numbers = vec![0.0; tensor.shape().element_count().unwrap_or(0).min(1 << 18) as usize];
    let numbers = tensor.read_f32_into(&mut numbers, ReadOptions::new().scratch(&mut scratch))?;
    Ok(numbers.iter().map(|number| number.to_bits()).collect())
}

/// The ranges that a program fetches to read a tensor.
fn ranges(file: &File<'_>, tensor: &Tensor<'_>) -> Vec<Extent> {
    let _ = file;
    #[allow(unused_mut)]
    let mut ranges: Vec<_> = tensor.components().filter(|c| c.shard().is_none()).map(|c| c.extent()).collect();
    #[cfg(feature = "blz")]
    if let Some(train) = file.as_blz() {
        return vec![train.extent()]; // the cores are read as one range
    }
    #[cfg(feature = "b2nd")]
    ranges.extend(file.as_b2nd().map(|frame| frame.table_extent()));
    ranges
}

#[test]
fn reading_with_a_source_equals_reading_a_slice() {
    let (mut read_later, mut others) = (0, 0);
    for case in cases() {
        let Ok(whole) = File::open(&case.bytes) else { continue };
        let mut source = Source::new(case.bytes.len() as u64);
        open_in_parts(&case.bytes, &[], &mut source).unwrap();
        let Ok(Opened::File(parts)) = File::open_source(&source) else { panic!("{}", case.name()) };
        for (tensor, expected) in parts.tensors().zip(whole.tensors()) {
            let mut with_data = source.clone();
            for extent in ranges(&parts, &tensor) {
                let bytes = &case.bytes[std::ops::Range::try_from(extent).unwrap()];
                if with_data.add(extent.offset, bytes).is_err() {
                    // Too many segments. The ranges from opening are in any case not enough.
                    with_data.add(0, &case.bytes).unwrap();
                }
            }
            let context = format!("{} {}", case.name(), tensor.name());
            let bound = tensor.with_source(&with_data).unwrap();
            let by_file = parts.with_source(&with_data).unwrap();
            let by_file = by_file.tensors().nth(tensor.index() as usize).unwrap();
            let result = read(&expected);
            assert_eq!(read(&bound), result, "{context}");
            assert_eq!(read(&by_file), result, "{context}");
            #[cfg(feature = "dequantize")]
            assert_eq!(read_f32(&bound), read_f32(&expected), "{context}");
            assert_eq!(bound.dtype(), expected.dtype());
            // The tensor itself has not changed.
            match read(&tensor) {
                Err(error) if error.kind() == ErrorKind::NotInMemory => read_later += usize::from(result.is_ok()),
                _ => others += 1,
            }
        }
    }
    assert!(read_later > 1000 && others > 0, "{read_later} {others}");
}
