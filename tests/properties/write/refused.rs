//! Files that the writers refuse, with the messages; and the order of the reference implementations.

use std::cmp::Ordering;

use super::written;
use tenslice::write::{NewAttribute, NewFile, NewLayout, NewTensor, NewValue, Writer, reference_order};
use tenslice::{DType, ErrorKind, File, Format};

/// The error and the message for a file.
fn refused(file: NewFile<'_>) -> (ErrorKind, String) {
    let error = Writer::new(file, &mut [0; 4000]).map(drop).unwrap_err();
    (error.kind(), file.explain(&error).to_string())
}

const CSR: NewLayout<'static> =
    NewLayout::Csr { dtype: DType::F32, count: 2, indices: DType::U64, pointers: DType::U64 };

#[test]
fn layouts() {
    let shape = [4, 4];
    let with = |layout| [NewTensor { name: "a", shape: &shape, layout, attributes: &[] }];
    for (format, layout, message) in [
        (Format::Tens, CSR, "a sparse tensor; write it as a dense tensor"),
        (Format::Safetensors, CSR, "a sparse tensor; write it as a dense tensor"),
        (Format::Gguf, CSR, "a sparse tensor; write it as a dense tensor"),
        (Format::Npy, CSR, "a sparse tensor; write it as a dense tensor"),
        (Format::Blz, NewLayout::Dense(DType::F64), "a dense tensor"),
        (
            Format::Ztensor2,
            NewLayout::Train { dtype: DType::F64, ranks: &[1, 2, 1] },
            "a tensor train; write it as a dense tensor",
        ),
    ] {
        let tensors = with(layout);
        let (kind, text) = refused(NewFile::new(format, &tensors));
        if kind == ErrorKind::NotBuiltIn {
            continue;
        }
        assert_eq!(kind, ErrorKind::NotInFormat, "{text}");
        assert!(text.ends_with(&format!(": the format cannot hold {message}")), "{text}");
    }
}

#[test]
#[cfg(feature = "safetensors")]
fn values_of_safetensors_are_texts() {
    let attributes = [NewAttribute::new("a", "text"), NewAttribute { key: "b", value: NewValue::U8(1) }];
    let (kind, text) = refused(NewFile::new(Format::Safetensors, &[]).attributes(&attributes));
    assert_eq!(kind, ErrorKind::NotInFormat);
    assert!(text.contains("\"b\""), "{text}");
}

/// Tensors are listed by name, and those of many are not sorted here.
#[test]
#[cfg(feature = "ztensor2")]
fn many_tensors_in_no_order() {
    let names: Vec<String> = (0..1025).map(|number| format!("{number:04}")).collect();
    let mut tensors: Vec<_> = names.iter().map(|name| NewTensor::dense(name, DType::U8, &[0])).collect();
    let open =
        |tensors: &[NewTensor<'_>]| Writer::new(NewFile::new(Format::Ztensor2, tensors), &mut [0; 4000]).is_ok();
    assert!(open(&tensors));
    tensors.swap(0, 1);
    assert!(open(&tensors[..1024]));
    let (kind, text) = refused(NewFile::new(Format::Ztensor2, &tensors));
    assert_eq!(kind, ErrorKind::KeyOrder);
    assert!(text.contains("more than 1024 tensors must be declared in the order of their names"), "{text}");
    tensors.sort_by(|a, b| reference_order(Format::Ztensor2, a, b).unwrap());
    assert!(open(&tensors));
}

#[test]
fn orders_of_the_reference_implementations() {
    let names = ["b", "aa", "", "a", "ab"];
    let sorted = |format| {
        let mut tensors = names.map(|name| NewTensor::dense(name, DType::U8, &[0]));
        if reference_order(format, &tensors[0], &tensors[0]).is_err() {
            return None;
        }
        tensors.sort_by(|a, b| reference_order(format, a, b).unwrap());
        Some(tensors.map(|tensor| tensor.name))
    };
    for (format, expected) in [
        (Format::Ztensor2, ["", "a", "b", "aa", "ab"]), // short ones first
        (Format::Safetensors, ["", "a", "aa", "ab", "b"]),
        (Format::Gguf, names), // as declared
        (Format::Npz, names),
    ] {
        assert!(sorted(format).is_none_or(|sorted| sorted == expected), "{format}");
    }
    // A file cannot have both, and what it cannot have comes first.
    let sparse = NewTensor { name: "a", shape: &[4, 4], layout: CSR, attributes: &[] };
    let order = reference_order(Format::Safetensors, &NewTensor::dense("a", DType::U8, &[0]), &sparse);
    assert!(order.is_err() || order == Ok(Ordering::Greater));
}

/// Half a byte that belongs to no element is 0, in sparse tensors as well.
#[test]
#[cfg(feature = "ztensor2")]
fn half_bytes_of_sparse_tensors() {
    for count in [2, 3] {
        let layout = NewLayout::Coo { dtype: DType::F4_E2M1, count, indices: DType::U64 };
        let tensors = [NewTensor { name: "s", shape: &[7], layout, attributes: &[] }];
        let file = NewFile::new(Format::Ztensor2, &tensors);
        let indices: Vec<u8> = (0..count).flat_map(u64::to_le_bytes).collect();
        let values = if count == 2 { vec![0x21] } else { vec![0x21, 0x03] };
        let write = |values: &[u8]| {
            let data = [values, &indices].concat();
            super::write_in(file, &data, 5, &mut super::Collected::new()).map(drop).map_err(|error| error.kind())
        };
        assert_eq!(write(&values), Ok(()));
        let mut wrong = values.clone();
        *wrong.last_mut().unwrap() |= 0x10;
        assert_eq!(write(&wrong), if count == 2 { Ok(()) } else { Err(ErrorKind::InvalidElement) });
    }
}

/// A text of GGUF may have any bytes.
#[test]
#[cfg(feature = "gguf")]
fn texts_that_are_not_utf_8() {
    let attributes = [NewAttribute { key: "a", value: NewValue::TextBytes(b"\xff\xfe") }];
    let bytes = written(NewFile::new(Format::Gguf, &[]).attributes(&attributes), &[]);
    let file = File::open(&bytes).unwrap();
    let value = file.attributes().get("a").unwrap();
    assert_eq!(value.as_bytes(), Some(&b"\xff\xfe"[..]));
}

/// Integers of all widths are the same numbers in CBOR.
#[test]
#[cfg(any(feature = "ztensor", feature = "ztensor2"))]
fn integers_of_all_widths() {
    let values = [
        NewValue::U8(200),
        NewValue::U16(200),
        NewValue::U32(200),
        NewValue::U64(200),
        NewValue::I16(200),
        NewValue::I32(200),
        NewValue::I64(200),
        NewValue::I8(-100),
        NewValue::I32(-100),
    ];
    for format in [Format::Ztensor, Format::Ztensor2] {
        for value in values {
            let attributes =
                [NewAttribute { key: "n", value }, NewAttribute { key: "no", value: NewValue::Bool(false) }];
            let file = NewFile::new(format, &[]).attributes(&attributes);
            if Writer::new(file, &mut [0; 100]).is_err_and(|error| error.kind() == ErrorKind::NotBuiltIn) {
                continue;
            }
            let bytes = written(file, &[]);
            let file = File::open(&bytes).unwrap();
            let expected = if matches!(value, NewValue::I8(_) | NewValue::I32(-100)) { -100 } else { 200 };
            assert_eq!(file.attributes().get_i64("n"), Some(expected), "{value:?}");
            assert_eq!(file.attributes().get_bool("no"), Some(false));
        }
    }
}

#[test]
#[cfg(feature = "gguf")]
fn a_repeated_key_is_named() {
    let attributes = [NewAttribute::new("a", 1_u8), NewAttribute::new("k", 1_u8), NewAttribute::new("k", 2_u8)];
    let (kind, text) = refused(NewFile::new(Format::Gguf, &[]).attributes(&attributes));
    assert_eq!(kind, ErrorKind::RepeatedKey);
    assert_eq!(text, "gguf: attribute 2 \"k\": another attribute has this key");
}

/// A manifest has 1 GiB, or a byte more.
#[test]
#[cfg(feature = "ztensor2")]
fn the_longest_manifest() {
    const MIB: usize = 1 << 20;
    let empty = written(NewFile::new(Format::Ztensor2, &[]), &[]);
    let [start, size] = [40, 32].map(|back| u64::from_le_bytes(*empty[empty.len() - back..].first_chunk().unwrap()));
    assert_eq!(start + size + 40, empty.len() as u64);
    let bytes = vec![0; 2 * MIB];
    let length = |last: usize| {
        let mut items = vec![NewValue::Bytes(&bytes[..MIB]); 1022]; // they share the bytes
        items.push(NewValue::Bytes(&bytes[..last]));
        let attributes = [NewAttribute { key: "k", value: NewValue::List(&items) }];
        let file = NewFile::new(Format::Ztensor2, &[]).attributes(&attributes);
        Writer::new(file, &mut [0; 100]).map(|writer| writer.length().unwrap()).map_err(|error| error.kind())
    };
    let longest = start + (1 << 30) + 40;
    let last = MIB + (longest - length(MIB).unwrap()) as usize;
    assert_eq!(length(last), Ok(longest));
    assert_eq!(length(last + 1), Err(ErrorKind::ManifestTooLarge));
}
