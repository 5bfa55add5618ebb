//! Reading elements at any address and in either byte order, and the errors of each call.
#![cfg(feature = "ztensor")]

use crate::support::fixture;
use tenslice::{ByteOrder, Caps, DType, Elements, ErrorKind, File, Layout, Purpose, ReadOptions};

/// `bytes` at every address from 0 to 7 modulo 8.
fn at_every_address(bytes: &[u8], mut check: impl FnMut(usize, &[u8])) {
    let mut room = vec![0_u64; bytes.len() / 8 + 3];
    let room: &mut [u8] = zerocopy::IntoBytes::as_mut_bytes(&mut room[..]);
    for shift in 0..8 {
        room[shift..shift + bytes.len()].copy_from_slice(bytes);
        check(shift, &room[shift..shift + bytes.len()]);
    }
}

#[test]
fn numbers_do_not_depend_on_the_address() {
    let bytes = fixture("v1.2/dense_all_dtypes.zt");
    let reference = File::open(&bytes).unwrap();
    let f64s: Vec<f64> = reference.find("t.float64").unwrap().data().unwrap().elements().unwrap().collect();
    let u16s: Vec<u16> = reference.find("t.uint16").unwrap().data().unwrap().elements().unwrap().collect();
    assert_eq!((f64s.len(), u16s.len()), (6, 9));
    at_every_address(&bytes, |shift, bytes| {
        let file = File::open(bytes).unwrap();
        let data = file.find("t.float64").unwrap().data().unwrap();
        assert!(data.elements::<f64>().unwrap().map(f64::to_bits).eq(f64s.iter().map(|x| x.to_bits())));
        match data.as_slice::<f64>() {
            Ok(slice) => {
                assert_eq!(shift % align_of::<f64>(), 0);
                assert!(slice.iter().map(|x| x.to_bits()).eq(f64s.iter().map(|x| x.to_bits())));
            }
            Err(error) if ByteOrder::NATIVE == ByteOrder::Big => assert_eq!(error.kind(), ErrorKind::ForeignEndian),
            Err(error) => {
                assert!(shift % align_of::<f64>() != 0);
                assert_eq!(error.kind(), ErrorKind::Misaligned);
            }
        }
        let data = file.find("t.uint16").unwrap().data().unwrap();
        assert!(data.elements::<u16>().unwrap().eq(u16s.iter().copied()));
        assert_eq!(data.as_slice::<u16>().is_ok(), shift % 2 == 0 && ByteOrder::NATIVE == ByteOrder::Little);
        let bytes = file.find("t.uint8").unwrap().data().unwrap();
        assert_eq!(bytes.as_slice::<u8>().unwrap().len(), 9);
    });
}

/// An array of numbers is aligned like one number: to a multiple of its alignment, not of the array's size.
#[test]
fn arrays_need_the_alignment_of_one_number() {
    let bytes = fixture("v1.2/objects_sparse_quant_logical.zt");
    at_every_address(&bytes, |shift, bytes| {
        let data = File::open(bytes).unwrap().find("cplx").unwrap().data().unwrap();
        let expected = match (ByteOrder::NATIVE, shift % align_of::<f32>() == 0) {
            (ByteOrder::Big, _) => Some(ErrorKind::ForeignEndian),
            (_, true) => None,
            (_, false) => Some(ErrorKind::Misaligned),
        };
        let slice = data.as_slice::<[f32; 2]>();
        assert_eq!(slice.err().map(|error| error.kind()), expected, "{shift}");
        if let Ok(slice) = slice {
            assert!(data.elements::<[f32; 2]>().unwrap().eq(slice.iter().copied()));
        }
    });
}

/// The byte order applies to each number: the first stays the first.
#[test]
fn arrays_keep_the_order_of_numbers() {
    let bytes = [1, 2, 3, 4, 5, 6, 7, 8];
    let big: Vec<_> = Elements::<[u16; 2]>::new(&bytes, ByteOrder::Big).collect();
    assert_eq!(big, [[0x0102, 0x0304], [0x0506, 0x0708]]);
    let little: Vec<_> = Elements::<[u16; 2]>::new(&bytes, ByteOrder::Little).collect();
    assert_eq!(little, [[0x0201, 0x0403], [0x0605, 0x0807]]);
    let complex = [&1.5_f32.to_be_bytes()[..], &(-2.0_f32).to_be_bytes()].concat();
    assert_eq!(Elements::<[f32; 2]>::new(&complex, ByteOrder::Big).next(), Some([1.5, -2.0]));
}

#[test]
fn both_byte_orders() {
    let bytes = fixture("v0.1/mixed_endian.zt");
    let file = File::open(&bytes).unwrap();
    let mut seen = Vec::new();
    for tensor in file.tensors() {
        let data = tensor.data().unwrap();
        seen.push(data.byte_order());
        if tensor.dtype() == Some(DType::F32) {
            let slice = data.as_slice::<f32>();
            if data.byte_order() != ByteOrder::NATIVE {
                assert_eq!(slice.unwrap_err().kind(), ErrorKind::ForeignEndian);
            }
            let first = data.elements::<f32>().unwrap().next().unwrap();
            let stored: [u8; 4] = data.bytes().unwrap()[..4].try_into().unwrap();
            let expected = match data.byte_order() {
                ByteOrder::Big => f32::from_be_bytes(stored),
                _ => f32::from_le_bytes(stored),
            };
            assert_eq!(first.to_bits(), expected.to_bits());
        }
    }
    assert!(seen.contains(&ByteOrder::Big) && seen.contains(&ByteOrder::Little));
}

#[test]
fn rejections_are_errors() {
    let bytes = fixture("v1.2/objects_sparse_quant_logical.zt");
    let file = File::open(&bytes).unwrap();
    let kind = |error: tenslice::Error| error.kind();
    let coo = file.find("coo").unwrap();
    assert_eq!(coo.layout(), Layout::SparseCoo);
    assert_eq!(coo.data().map_err(kind).unwrap_err(), ErrorKind::NotDense);
    assert_eq!(coo.component("data").map_err(kind).unwrap_err(), ErrorKind::NotFound);
    let values = coo.component("values").unwrap();
    assert_eq!(values.as_slice::<u16>().map_err(kind).unwrap_err(), ErrorKind::WrongType);
    assert_eq!(values.elements::<i16>().unwrap().len(), 5);
    assert_eq!(values.with_bytes(&[0; 3]).map_err(kind).unwrap_err(), ErrorKind::WrongLength);
    assert_eq!(values.with_bytes(&[7; 10]).unwrap().elements::<i16>().unwrap().next(), Some(0x0707));
    let encoded = file.find("csr_u64").unwrap().component("values").unwrap();
    assert_eq!(encoded.bytes().map_err(kind).unwrap_err(), ErrorKind::Encoded);
    assert_eq!(encoded.stored().unwrap().len() as u64, encoded.extent().length);
    assert_eq!(file.find("cplx").unwrap().data().unwrap().elements::<[f32; 2]>().unwrap().len(), 4);
    assert_eq!(file.find("fp8").unwrap().dtype(), Some(DType::F8_E4M3FN));
    let error = file.find("nothing").unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::NotFound, None));

    let bytes = fixture("bad/v1.2/encoding_lz4.zt");
    let file = File::open(&bytes).unwrap();
    let unknown = file.tensors().find_map(|t| t.data().ok().filter(|c| c.encoding_name() == "lz4")).unwrap();
    assert_eq!(unknown.bytes().map_err(kind).unwrap_err(), ErrorKind::UnsupportedEncoding);
    let bytes = fixture("bad/v1.2/format_unknown.zt");
    let file = File::open(&bytes).unwrap();
    let tensor = file.tensors().find(|t| t.layout() == Layout::Other).unwrap();
    assert_eq!(tensor.data().map_err(kind).unwrap_err(), ErrorKind::NotDense);
    assert!(tensor.component("data").unwrap().bytes().is_ok());
}

#[test]
fn other_files_are_named() {
    let refusal = |bytes: &[u8]| File::open(bytes).unwrap_err().explain(bytes).to_string();
    assert_eq!(refusal(b""), "the file is empty: nothing was downloaded or written [at byte 0]");
    assert_eq!(refusal(b"\x01\x02\x03\x04hello world"), "this is not a known kind of tensor file [at byte 0]");
    assert_eq!(
        refusal(b"ZTEN"),
        "ztensor: header: unexpected end of input; the file is truncated: it has 4 bytes and should have at least 16 bytes, so at least 12 are missing [at byte 0]"
    );
    #[cfg(feature = "gguf")]
    assert_eq!(
        refusal(b"GGUF\x03\0\0\0"),
        "gguf 3: tensors: unexpected end of input; the file is truncated: it has 8 bytes and should have at least 24 bytes, so at least 16 are missing [at byte 8]"
    );
    #[cfg(feature = "gguf")]
    assert_eq!(refusal(b"GGUF\x04\0\0\0"), "gguf: this version is not supported: 4 [at byte 4]");
    assert_eq!(
        refusal(b"\x1f\x8b\x08\0\0\0"),
        "gzip: files of this kind are not supported yet (the file is compressed: decompress it first) [at byte 0]"
    );
    let json = "this begins like JSON: an index of safetensors files is no tensor file itself: open the files that it \
        names [at byte 0]";
    assert_eq!(refusal(br#"{"weight_map": {}}"#), json);
    let space = "this is not a known kind of tensor file (if this is safetensors: its header must begin with `{`, \
        without white space before it) [at byte 0]";
    assert_eq!(refusal(b"\x03\0\0\0\0\0\0\0 {}"), space);
    #[cfg(feature = "safetensors")]
    {
        assert_eq!(
            refusal(b"\x02\0\0\0\0\0\0\0{"),
            "safetensors: header: unexpected end of input; the file is truncated: it has 9 bytes and should have at least 10 bytes, so at least 1 is missing [at byte 9]"
        );
        let large = "safetensors: the metadata is larger than its limit: 1 GiB, in safetensors 100 MB: 100000001 bytes \
            in a file of 10 [at byte 0]";
        assert_eq!(refusal(b"\x01\xe1\xf5\x05\0\0\0\0{}"), large);
    }
    #[cfg(feature = "ztensor2")]
    assert_eq!(
        refusal(b"\x89ZT2\r\n\x1a\n"),
        "ztensor 2: footer: unexpected end of input; the file is truncated: it has 8 bytes and should have at least 48 bytes, so at least 40 are missing [at byte 8]"
    );
}

#[cfg(all(feature = "npy", feature = "b2nd"))]
#[test]
fn typed_numbers_are_in_native_order() {
    let bytes = fixture("npy/dt_be_i4.npy");
    let file = File::open(&bytes).unwrap();
    let tensor = file.find("").unwrap();
    let count = tensor.shape().element_count().unwrap() as usize;
    let expected: Vec<i32> = tensor.data().unwrap().elements().unwrap().collect();
    let mut numbers = vec![0; count + 1];
    assert_eq!(tensor.read_elements(&mut numbers, ReadOptions::new()).unwrap(), expected);
    assert_eq!(
        tensor.read_elements(&mut vec![0_i32; count - 1], ReadOptions::new()).unwrap_err().kind(),
        ErrorKind::TooSmall
    );
    assert_eq!(
        tensor.read_elements(&mut vec![0_f32; count], ReadOptions::new()).unwrap_err().kind(),
        ErrorKind::WrongType
    );
    assert!(expected.iter().any(|number| *number != 0));

    // Chunks are returned as stored. On most machines these have the other byte order.
    let mut big = 0;
    for case in crate::support::cases_of("b2nd") {
        let Ok(file) = File::open(&case.bytes) else { continue };
        let tensor = file.tensors().next().unwrap();
        let chunks = tensor.components().next().unwrap();
        let length = tensor
            .requirements(Purpose::Read)
            .output
            .filter(|length| *length < 1 << 16 && tensor.dtype() == Some(DType::F32));
        let Some(length) = length else { continue };
        let mut scratch = vec![0; tensor.requirements(Purpose::Read).scratch.unwrap_or(0) as usize];
        let (mut stored, mut numbers) = (vec![0; length as usize], vec![0_f32; length as usize / 4]);
        if tensor.read_into(&mut stored, ReadOptions::new().scratch(&mut scratch)).is_err() {
            continue;
        }
        let expected: Vec<f32> = tenslice::Elements::new(&stored, chunks.byte_order()).collect();
        let numbers = tensor.read_elements(&mut numbers, ReadOptions::new().scratch(&mut scratch)).unwrap();
        assert!(numbers.iter().map(|x| x.to_bits()).eq(expected.iter().map(|x| x.to_bits())), "{}", case.name());
        big += usize::from(chunks.byte_order() == ByteOrder::Big);
    }
    assert!(big > 0);
}

/// The counts of a file and of its iterators before anything is read.
#[test]
#[cfg(feature = "ztensor")]
fn lengths() {
    let bytes = fixture("v1.2/dense_all_dtypes.zt");
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.length(), bytes.len() as u64);
    let (mut tensors, count) = (file.tensors(), file.tensor_count() as usize);
    for read in 0..=count {
        assert_eq!(tensors.size_hint(), (0, Some(count - read)));
        assert_eq!(tensors.next().is_some(), read < count);
    }
}

/// The bits are the same in C.
#[test]
fn bits_of_capabilities() {
    for bits in 0..16 {
        let [bytes, range, decode, verify] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
        assert_eq!(Caps { bytes, range, decode, verify }.bits(), bits);
    }
}

/// Without elements the address does not matter. The byte order does.
#[test]
#[cfg(feature = "safetensors")]
fn no_elements_at_every_address() {
    let header = r#"{"a":{"dtype":"F64","shape":[0],"data_offsets":[0,0]}}"#;
    let bytes = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
    at_every_address(&bytes, |shift, bytes| {
        let numbers = File::open(bytes).unwrap().find("a").unwrap().data().unwrap().as_slice::<f64>();
        let expected = if cfg!(target_endian = "little") { Ok(&[][..]) } else { Err(ErrorKind::ForeignEndian) };
        assert_eq!(numbers.map_err(|error| error.kind()), expected, "{shift}");
    });
}
