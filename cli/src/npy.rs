//! The header of an NPY file: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>

use tenslice::{DType, Order};

use crate::values::number::lanes;

/// The header of an array in this machine's byte order; `None` if NumPy has no such type. The lanes of an element
/// become an extra dimension, except for complex numbers.
pub fn header(dtype: DType, shape: &[u64], order: Order) -> Option<Vec<u8>> {
    let mut shape = shape.to_vec();
    let is_complex = matches!(dtype, DType::C64 | DType::C128);
    let (lane, count) = if is_complex { (dtype, 1) } else { lanes(dtype) };
    let descr = descr(lane)?;
    let mut order = order;
    if count > 1 {
        // The lanes of an element are adjacent in either order, but a header can state only one order.
        if order == Order::ColumnMajor && shape.len() > 1 {
            return None;
        }
        order = Order::RowMajor;
        shape.push(count as u64);
    }
    Some(header_of(&format!("'{descr}'"), &shape, order))
}

/// The header of an array whose type is the literal `descr`: in Latin-1, as NumPy writes it, or in UTF-8 if Latin-1
/// cannot express it.
pub fn header_of(descr: &str, shape: &[u64], order: Order) -> Vec<u8> {
    let lengths: String = shape.iter().map(|length| format!("{length}, ")).collect();
    let lengths = if shape.len() > 1 { lengths.trim_end_matches(", ") } else { lengths.trim_end() };
    let fortran = if order == Order::ColumnMajor { "True" } else { "False" };
    let dict = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': ({lengths}), }}");
    let latin_1: Option<Vec<u8>> = dict.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
    let (version, dict) = match latin_1 {
        Some(dict) if dict.len() > 65_000 => (2, dict),
        Some(dict) => (1, dict),
        None => (3, dict.into_bytes()),
    };
    let before = if version == 1 { 10 } else { 12 };
    // The data begins at a multiple of 64.
    let length = (before + dict.len() + 1).next_multiple_of(64) - before;
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend((length as u16).to_le_bytes()),
        _ => bytes.extend((length as u32).to_le_bytes()),
    }
    bytes.extend(dict);
    bytes.resize(before + length - 1, b' ');
    bytes.push(b'\n');
    bytes
}

fn descr(dtype: DType) -> Option<String> {
    let kind = match dtype {
        DType::BOOL => 'b',
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => 'u',
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => 'i',
        DType::F16 | DType::F32 | DType::F64 => 'f',
        DType::C64 | DType::C128 => 'c',
        _ => return None,
    };
    let size = dtype.size()?;
    let order = match (size, cfg!(target_endian = "big")) {
        (1, _) => '|',
        (_, false) => '<',
        (_, true) => '>',
    };
    Some(format!("{order}{kind}{size}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_reads_the_header() {
        for (dtype, _) in DType::ALL {
            for shape in [&[][..], &[3], &[2, 3], &[1; 40]] {
                for order in [Order::RowMajor, Order::ColumnMajor] {
                    let Some(mut file) = header(*dtype, shape, order) else { continue };
                    assert_eq!(file.len() % 64, 0);
                    let count: u64 = shape.iter().product();
                    file.resize(file.len() + (count * dtype.size().unwrap()) as usize, 0);
                    let file = tenslice::File::open(&file).unwrap();
                    let array = file.find("").unwrap();
                    assert_eq!((array.dtype(), array.shape() == *shape), (Some(*dtype), true));
                    assert!(shape.len() < 2 || array.order() == order);
                }
            }
        }
        assert_eq!(header(DType::BF16, &[1], Order::RowMajor), None);
        assert!(header(DType::I16.with_lanes(2).unwrap(), &[3], Order::RowMajor).is_some());
    }
    #[test]
    fn any_type_is_written_as_it_is() {
        let long = format!("[{}]", (0..5000).map(|i| format!("('field{i}', '<i4'), ")).collect::<String>());
        for (descr, version) in [
            ("'<M8[25s]'", "1.0"),
            ("[('name', '<U10'), (('title', 'x'), '>f4', (2, 3))]", "1.0"),
            ("[('caf\u{e9}', '<i4')]", "1.0"),
            ("[('\u{3b1}', '<i4')]", "3.0"),
            (&long, "2.0"),
        ] {
            for order in [Order::RowMajor, Order::ColumnMajor] {
                let bytes = header_of(descr, &[0, 3], order);
                assert_eq!(bytes.len() % 64, 0);
                let file = tenslice::File::open(&bytes).unwrap();
                let array = file.find("").unwrap();
                assert_eq!((file.version(), array.order()), (Some(version), order));
                let described = array.describe(tenslice::ReadOptions::new()).unwrap();
                let stated = described.stated_type.unwrap();
                assert_eq!(crate::common::text::header_text(stated, described.is_latin_1), descr);
            }
        }
    }
}
