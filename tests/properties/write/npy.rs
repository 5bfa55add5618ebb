//! NPY: the bytes of `np.save`, and what the format cannot hold.

use super::{data_of, written};
use tenslice::write::{NewAttribute, NewFile, NewLayout, NewTensor, Writer};
use tenslice::{ByteOrder, DType, ErrorKind, File, Format, Order, Part};

/// The text of a header whose items begin at byte `length`.
#[track_caller]
fn header_is(tensor: NewTensor<'_>, length: usize, text: &str) {
    let tensors = [tensor];
    let bytes = written(NewFile::new(Format::Npy, &tensors), &data_of(&tensors));
    let expected = [&b"\x93NUMPY\x01\x00"[..], &(length as u16 - 10).to_le_bytes(), text.as_bytes()].concat();
    assert_eq!(bytes[..expected.len()].escape_ascii().to_string(), expected.escape_ascii().to_string());
    assert!(bytes[expected.len()..length - 1].iter().all(|byte| *byte == b' '));
    assert_eq!((bytes[length - 1], &bytes[length..]), (b'\n', &data_of(&tensors)[..]));
}

/// Written by numpy 2.4: `np.save` of `np.zeros(shape, descr)`.
#[test]
fn headers_are_those_of_np_save() {
    let dense = |dtype, shape| NewTensor::dense("ignored", dtype, shape);
    header_is(dense(DType::F32, &[3, 4]), 128, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }");
    header_is(dense(DType::BOOL, &[5]), 128, "{'descr': '|b1', 'fortran_order': False, 'shape': (5,), }");
    header_is(dense(DType::C128, &[]), 128, "{'descr': '<c16', 'fortran_order': False, 'shape': (), }");
    for (rank, length) in [(14, 128), (15, 192)] {
        let shape = ["1"; 15][..rank].join(", ");
        let text = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({shape}), }}");
        header_is(dense(DType::U8, &[1; 15][..rank]), length, &text);
    }
    // Room for 21 digits follows: with 31 characters, the dict, the room, the line end and the first ten bytes are 127
    // bytes long; with 32 they are 128, and 64 spaces follow.
    for (name, length) in [("a".repeat(31), 128), ("a".repeat(32), 192)] {
        let descr = format!("[('{name}', '<f4')]");
        let layout = NewLayout::Items { descr: &descr, size: 4 };
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}");
        header_is(NewTensor { name: "", shape: &[1], layout, attributes: &[] }, length, &text);
    }
}

/// Files of `np.save`: declared again and written, they are equal.
#[test]
fn files_of_numpy_are_written_again() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/npy");
    let (mut equal, mut differing) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.extension().is_none_or(|extension| extension != "npy") {
            continue;
        }
        let original = std::fs::read(&path).unwrap();
        let file = File::open(&original).unwrap();
        let tensor = file.find("").unwrap();
        if tensor.order() == Order::ColumnMajor {
            continue; // written row by row only
        }
        let part = tensor.data().unwrap();
        let shape: Vec<_> = tensor.shape().iter().collect();
        let is_latin_1 = file.version() != Some("3.0");
        let descr: String = match is_latin_1 {
            true => file.as_npy().unwrap().descr().iter().map(|byte| char::from(*byte)).collect(),
            false => String::from_utf8(file.as_npy().unwrap().descr().to_vec()).unwrap(),
        };
        let count: u64 = shape.iter().product();
        let size = part.extent().length.checked_div(count);
        let layout = match tensor.dtype() {
            Some(dtype) if part.byte_order() == ByteOrder::Little => NewLayout::Dense(dtype),
            // The size of an empty array's items is in the type.
            _ => NewLayout::Items { descr: &descr, size: size.unwrap_or_else(|| descr[3..4].parse().unwrap()) },
        };
        let tensors = [NewTensor { name: "", shape: &shape, layout, attributes: &[] }];
        let declared = NewFile::new(Format::Npy, &tensors);
        if let Err(error) = Writer::new(declared, &mut []) {
            differing.push(format!("{name}: {}", declared.explain(&error)));
            continue;
        }
        let bytes = written(declared, part.bytes().unwrap());
        if bytes == original {
            equal += 1;
        } else {
            differing.push(name.clone());
        }
        let again = File::open(&bytes).unwrap();
        let new = again.find("").unwrap();
        assert!(new.shape() == tensor.shape() && new.dtype() == tensor.dtype() && new.order() == Order::RowMajor);
        assert!(new.data().unwrap().bytes() == part.bytes(), "{name}");
        let dense = matches!(layout, NewLayout::Dense(_));
        assert!(dense || new.stated_type() == tensor.stated_type(), "{name}");
    }
    // Headers with other spaces and versions than those of `np.save`, and lengths that NumPy does not read.
    let is_other = |name: &String| {
        ["hm_", "ndarray_", "npyz_", "v2_forced", "v3_forced"].iter().any(|start| name.starts_with(start))
    };
    assert!(differing.iter().all(is_other), "{differing:?}");
    let refused: Vec<_> = differing.iter().filter(|name| name.contains("cannot hold the shape")).collect();
    assert_eq!((refused.len(), equal), (2, 54));
}

#[test]
fn versions_follow_the_header() {
    let version_of = |name: &str| {
        let descr = format!("[('{name}', '<f4')]");
        let tensors = [NewTensor {
            name: "",
            shape: &[1],
            layout: NewLayout::Items { descr: &descr, size: 4 },
            attributes: &[],
        }];
        let bytes = written(NewFile::new(Format::Npy, &tensors), &[1, 2, 3, 4]);
        let file = File::open(&bytes).unwrap();
        let (version, before) = (file.version().unwrap().to_owned(), if bytes[6] == 1 { 10 } else { 12 });
        let stated = file.as_npy().unwrap().descr();
        let stated: String = match bytes[6] {
            3 => String::from_utf8(stated.to_vec()).unwrap(),
            _ => stated.iter().map(|byte| char::from(*byte)).collect(),
        };
        assert_eq!(stated, descr);
        assert!((bytes.len() - 4).is_multiple_of(64) && bytes.len() > before);
        version
    };
    assert_eq!(version_of("a"), "1.0");
    assert_eq!(version_of("\u{e9}\u{ff}"), "1.0");
    assert_eq!(version_of("\u{e9}\u{100}"), "3.0");
    // The longest header of version 1.0 has 65 526 bytes. One character more, and 64 spaces follow.
    let rest = "{'descr': [('', '<f4')], 'fortran_order': False, 'shape': (1,), }".len() + 20 + 1;
    assert_eq!(version_of(&"a".repeat(65_535 - 10 - rest)), "1.0");
    assert_eq!(version_of(&"a".repeat(65_536 - 10 - rest)), "2.0");
    assert_eq!(version_of(&"\u{e9}".repeat(65_536 - 10 - rest)), "2.0");
}

#[test]
fn declarations_that_npy_cannot_have() {
    let refused = |file: NewFile<'_>| {
        let error = Writer::new(file, &mut []).unwrap_err();
        (error.kind(), error.part())
    };
    let one = |tensor: NewTensor<'_>| refused(NewFile::new(Format::Npy, &[tensor]));
    let dense = NewTensor::dense;
    assert_eq!(refused(NewFile::new(Format::Npy, &[])), (ErrorKind::MissingData, Part::Tensors));
    let two = [dense("a", DType::F32, &[1]), dense("b", DType::F32, &[1])];
    assert_eq!(refused(NewFile::new(Format::Npy, &two)), (ErrorKind::TooMany, Part::Tensors));
    let attributes = [NewAttribute::new("key", "text")];
    let file = NewFile::new(Format::Npy, &two[..1]).attributes(&attributes);
    assert_eq!(refused(file), (ErrorKind::NotInFormat, Part::Key));
    let with_attributes = NewTensor { attributes: &attributes, ..two[0] };
    assert_eq!(one(with_attributes), (ErrorKind::NotInFormat, Part::Attributes));
    for dtype in [DType::BF16, DType::F8_E4M3FN, DType::F4_E2M1, DType::F6_E2M3, DType::I128, DType::F128] {
        assert_eq!(one(dense("a", dtype, &[4])), (ErrorKind::NotInFormat, Part::DType), "{dtype}");
    }
    let lanes = DType::I16.with_lanes(2).unwrap();
    assert_eq!(one(dense("a", lanes, &[4])), (ErrorKind::NotInFormat, Part::DType));
    let pairs = NewLayout::Pairs { dtype: DType::F32, count: 0 };
    let layout = |layout| NewTensor { name: "a", shape: &[2], layout, attributes: &[] };
    assert_eq!(one(layout(pairs)), (ErrorKind::NotInFormat, Part::Layout));

    let shape = (ErrorKind::NotInFormat, Part::Shape);
    let is_written =
        |dtype, shape| Writer::new(NewFile::new(Format::Npy, &[dense("a", dtype, shape)]), &mut []).is_ok();
    assert!(is_written(DType::F32, &[1; 64]));
    assert_eq!(one(dense("a", DType::F32, &[1; 65])), shape);
    // NumPy multiplies all lengths but zeros.
    assert!(is_written(DType::U8, &[0, (1 << 63) - 1]));
    assert_eq!(one(dense("a", DType::U8, &[0, 1 << 63])), shape);
    assert_eq!(one(dense("a", DType::U16, &[0, 1 << 62])), shape);
    assert_eq!(one(dense("a", DType::U8, &[1 << 32, 0, 1 << 31])), shape);

    let items = |descr, size| one(layout(NewLayout::Items { descr, size }));
    assert_eq!(items("'|O'", 8), (ErrorKind::UnknownDType, Part::DType));
    assert_eq!(items("'<M8[ns]'", 4), (ErrorKind::SizeMismatch, Part::DType));
    assert_eq!(items("'<M8[ns]' ", 8), (ErrorKind::Malformed, Part::DType));
    assert_eq!(items("'<f4', 'shape': (9,)", 4), (ErrorKind::Malformed, Part::DType));
    assert_eq!(items("", 4), (ErrorKind::Malformed, Part::DType));
    #[cfg(not(target_os = "none"))]
    assert_eq!(items("[('a', '<f4'), ('a', '<f4')]", 8), (ErrorKind::Malformed, Part::DType));

    let tensors = [dense("", DType::U8, &[3])];
    for alignment in [0, 8, 48, 16384] {
        let file = NewFile::new(Format::Npy, &tensors).alignment(alignment);
        assert_eq!(refused(file), (ErrorKind::InvalidAlignment, Part::Alignment), "{alignment}");
    }
    for (alignment, length) in [(16, 96), (32, 96), (64, 128), (8192, 8192)] {
        let bytes = written(NewFile::new(Format::Npy, &tensors).alignment(alignment), &[1, 2, 3]);
        assert_eq!(bytes.len(), length + 3, "{alignment}");
    }
}
