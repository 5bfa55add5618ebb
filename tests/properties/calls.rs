//! Public calls that the tests of the formats do not use: conversions, printing, defaults.
#![cfg(all(feature = "formats", feature = "zstd"))]

use std::ops::Range;

use crate::support::{Cbor, file_1_2, fixture, tensor};
use tenslice::sparse::Entry;
use tenslice::{
    BuiltIn, DType, DecodeError, Decoder, Encoding, ErrorKind, Expected, Extent, File, Opened, Order, Purpose,
    ReadOptions, Requirements, Source, Value, ValueKind, b2nd, safetensors, ztensor,
};

#[test]
fn expected_tensors() {
    let bytes = fixture("v1.2/objects_sparse_quant_logical.zt");
    let file = File::open(&bytes).unwrap();
    let dense = file.find("fp8").unwrap();
    let shape: Vec<u64> = dense.shape().iter().collect();
    let expected = Expected::named("fp8").dtype(DType::F8_E4M3FN).shape(&shape);
    assert_eq!(file.get(&expected).unwrap().extent(), dense.data().unwrap().extent());
    assert_eq!(dense.get(&expected).unwrap().extent(), dense.data().unwrap().extent());

    let refused = |expected: Expected<'_>| {
        let error = file.get(&expected).unwrap_err();
        (error.kind(), expected.explain(&file, error).to_string())
    };
    let has = format!("the file has f8_e4m3fn {}", dense.shape());
    let of_type = Expected::named("fp8").dtype(DType::F32);
    assert_eq!(refused(of_type), (ErrorKind::WrongType, format!("tensor \"fp8\": expected f32; {has}")));
    let of_shape = Expected::named("fp8").shape(&[7]);
    assert_eq!(refused(of_shape), (ErrorKind::WrongShape, format!("tensor \"fp8\": expected [7]; {has}")));
    let sparse = Expected::named("coo");
    let (kind, message) = refused(sparse);
    assert_eq!(kind, ErrorKind::NotDense);
    assert!(message.ends_with(" in the layout \"sparse_coo\""), "{message}");
    let near = "no tensor \"fp9\"; the nearest name is \"fp8\"";
    assert_eq!(refused(Expected::named("fp9")), (ErrorKind::NotFound, near.into()));
    let far = "no tensor \"nothing like it\"";
    assert_eq!(refused(Expected::named("nothing like it")), (ErrorKind::NotFound, far.into()));
    // An error of a later call, about the same tensor.
    let error = dense.data().unwrap().with_bytes(&[0]).unwrap_err();
    assert_eq!(expected.explain(&file, error).to_string(), format!("tensor \"fp8\": {}", error.kind().text()));
}

/// A shape locates elements only together with the order.
#[test]
fn expected_order() {
    let bytes = fixture("npy/v1_fortran.npy"); // 4 x 3, column-major
    let file = File::open(&bytes).unwrap();
    let of_shape = Expected::named("").dtype(DType::I16).shape(&[4, 3]);
    let error = file.get(&of_shape).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongOrder);
    assert_eq!(
        of_shape.explain(&file, error).to_string(),
        "tensor \"\": expected i16 [4, 3] in row-major order; the file has it in column-major order: expect that \
         order"
    );
    assert!(file.get(&of_shape.order(Order::ColumnMajor)).is_ok());
    let kind = |expected: &Expected<'_>| file.get(expected).map(drop).map_err(|error| error.kind());
    assert_eq!(kind(&of_shape.order(Order::RowMajor)), Err(ErrorKind::WrongOrder));
    // A caller that expects no shape reads the shape and the order from the tensor.
    assert_eq!(kind(&Expected::named("").dtype(DType::I16)), Ok(()));
    assert_eq!(kind(&Expected::named("").order(Order::RowMajor)), Err(ErrorKind::WrongOrder));
    // The shape is compared first.
    let transposed = of_shape.shape(&[3, 4]);
    let error = file.get(&transposed).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongShape);
    let message = transposed.explain(&file, error).to_string();
    assert!(message.ends_with("the file has i16 [4, 3] in column-major order"), "{message}");

    let bytes = fixture("npy/rank3.npy");
    let file = File::open(&bytes).unwrap();
    let shape: Vec<u64> = file.find("").unwrap().shape().iter().collect();
    let expected = Expected::named("").shape(&shape);
    assert!(file.get(&expected).is_ok());
    let column_major = expected.order(Order::ColumnMajor);
    let error = file.get(&column_major).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongOrder);
    let message = column_major.explain(&file, error).to_string();
    assert!(
        message.contains(" in column-major order; the file has it in row-major order: expect that order"),
        "{message}"
    );

    // The order does not matter if only one dimension is longer than 1.
    let header = "{'descr': '|u1', 'fortran_order': True, 'shape': (1, 3, 1), }\n";
    let bytes = [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), b"abc"].concat();
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.find("").unwrap().order(), Order::ColumnMajor);
    let expected = Expected::named("").shape(&[1, 3, 1]);
    assert!(file.get(&expected).is_ok() && file.get(&expected.order(Order::ColumnMajor)).is_ok());
}

#[test]
fn single_values_of_sparse_tensors() {
    // CSR and COO: the view has each stored value, and nothing elsewhere.
    let bytes = fixture("v1.2/objects_sparse_quant_logical.zt");
    let file = File::open(&bytes).unwrap();
    for name in ["coo", "csr_i32", "csr_u64"] {
        let tensor = file.find(name).unwrap();
        let mut scratch = vec![0; tensor.requirements(Purpose::Read).scratch.unwrap() as usize];
        let sparse = tensor.sparse(ReadOptions::new().scratch(&mut scratch)).unwrap();
        let shape: Vec<u64> = sparse.shape().iter().collect();
        let mut found = 0;
        for place in 0..shape.iter().product() {
            let mut rest = place;
            let mut index = shape.clone();
            index.iter_mut().for_each(|i| (*i, rest) = (rest % *i, rest / *i));
            let is_there = |(d, i): (usize, &u64), entry: &Entry<'_, '_>| entry.index(d as u32) == Some(*i);
            let stored = sparse.iter().filter(|entry| index.iter().enumerate().all(|i| is_there(i, entry)));
            let expected = stored.last().and_then(|entry| entry.bytes());
            assert_eq!(sparse.get(&index), expected, "{name} {index:?}");
            found += usize::from(expected.is_some());
        }
        assert!(found > 1, "{name}");
        // An index with too few or too many numbers, or beyond the shape.
        assert_eq!(sparse.get(&shape[1..]), None);
        assert_eq!(sparse.get(&[&shape[..], &[0]].concat()), None);
        assert_eq!(sparse.get(&shape), None);
    }
    let opaque = file.find("gptq").unwrap().sparse(ReadOptions::new()).map(drop).map_err(|error| error.kind());
    assert_eq!(opaque, Err(ErrorKind::UnsupportedLayout));
    // Pairs of index and value, found by a calculation.
    let bytes = fixture("tens/good/order2_ix_f32.tens");
    let file = File::open(&bytes).unwrap();
    let pairs = file.as_tens().unwrap().pairs().unwrap();
    let [rows, columns] = pairs.shape().dims().unwrap();
    for entry in &pairs {
        let index = [entry.index(0).unwrap(), entry.index(1).unwrap()];
        assert_eq!(pairs.get(&index), entry.bytes());
    }
    assert!(pairs.stored() > 0);
    // The linear index of the first would be that of an element in the next column.
    assert_eq!((pairs.get(&[rows, 0]), pairs.get(&[0, columns]), pairs.get(&[0])), (None, None, None));
}

#[test]
fn ranges_as_extents() {
    assert_eq!(Extent::from(3..10), Extent::new(3, 7));
    assert_eq!(Extent::from(0..u64::MAX), Extent::new(0, u64::MAX));
    let (start, end) = (10, 3);
    assert_eq!(Extent::from(start..end), Extent::new(10, 0));
}

/// The only tensor of a file, in any format.
#[test]
fn single() {
    let several = fixture("v1.2/dense_all_dtypes.zt");
    let several = File::open(&several).unwrap();
    assert_eq!(several.single().unwrap_err().kind(), ErrorKind::NotFound);
    let bytes = fixture("npy/dt_le_f4.npy");
    let file = File::open(&bytes).unwrap();
    assert_eq!((file.single().unwrap().index(), file.single().unwrap().name().is_empty()), (0, true));
    assert_eq!(file.single().unwrap().dtype(), Some(DType::F32));
    let empty = b"\x02\0\0\0\0\0\0\0{}";
    assert_eq!(File::open(empty).unwrap().single().unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
#[cfg(feature = "std")]
fn vectors() {
    let bytes = fixture("v1.2/objects_sparse_quant_logical.zt");
    let file = File::open(&bytes).unwrap();
    let tensor = file.find("csr_i32").unwrap();
    let mut dst = [0_f32; 30];
    let (vector, elements) = (tensor.to_vec::<f32>().unwrap(), tensor.read_elements(&mut dst, ReadOptions::new()));
    let bits = |number: &f32| number.to_bits();
    assert!(vector.iter().map(bits).eq(elements.unwrap().iter().map(bits)));
    assert_eq!(tensor.to_vec::<f64>().unwrap_err().kind(), ErrorKind::WrongType);
    for tensor in &file {
        let mut dst = vec![0; tensor.requirements(Purpose::Read).output.unwrap_or(0) as usize];
        if let Ok(vector) = tensor.to_vec::<u8>() {
            let mut scratch = vec![0; tensor.requirements(Purpose::Read).scratch.unwrap() as usize];
            assert_eq!(tensor.read_into(&mut dst, ReadOptions::new().scratch(&mut scratch)).unwrap(), vector);
        }
    }
}

/// The calls that an object does not have; the maximum over the tensors of a file.
#[test]
fn requirements() {
    let bytes = fixture("v1.2/dense_all_dtypes.zt");
    let file = File::open(&bytes).unwrap();
    let (tensor, none) = (file.find("t.float64").unwrap(), Requirements::default());
    assert_eq!(tensor.requirements(Purpose::ReadRange), none);
    assert_eq!(tensor.requirements(Purpose::Sparse), Requirements { output: Some(0), scratch: None });
    assert_eq!(tensor.requirements(Purpose::Read), Requirements { output: Some(48), scratch: Some(0) });
    let nothing = Requirements { output: Some(0), scratch: Some(0) };
    assert_eq!(tensor.requirements(Purpose::Describe), nothing);
    let data = tensor.data().unwrap();
    for purpose in [Purpose::ReadF32, Purpose::Sparse, Purpose::Describe] {
        assert_eq!(data.requirements(purpose), none);
    }
    assert_eq!(data.requirements(Purpose::Read), tensor.requirements(Purpose::Read));
    assert_eq!(file.requirements(Purpose::Verify), nothing);
    let longest = file.tensors().map(|tensor| tensor.requirements(Purpose::Read).output.unwrap()).max();
    assert_eq!(file.requirements(Purpose::Read), Requirements { output: longest, scratch: Some(0) });
    assert_eq!(file.requirements(Purpose::ReadRange), none);
    let shown = format!("{:?}", ReadOptions::new().scratch(&mut [0; 3]));
    assert_eq!(shown, "ReadOptions { decoder: \"built in\", scratch: 3 }");
}

#[test]
fn extents_as_ranges() {
    assert_eq!(Range::<u64>::from(Extent::new(3, 4)), 3..7);
    assert_eq!(Range::<u64>::from(Extent::new(3, u64::MAX)), 3..u64::MAX);
    assert_eq!(Range::<usize>::try_from(Extent::new(3, 4)), Ok(3..7));
    if usize::BITS == 32 {
        assert!(Range::<usize>::try_from(Extent::new(1 << 32, 4)).is_err());
    }
}

#[test]
fn debug_output_has_no_contents() {
    let bytes = fixture("v1.2/scalar_rank0.zt");
    let mut source = Source::new(bytes.len() as u64);
    source.add(8, &bytes[8..24]).unwrap();
    let printed = format!("{source:?}");
    assert!(printed.starts_with(&format!("{} bytes, of which [", bytes.len())), "{printed}");
    assert!(printed.contains("16 bytes at 8") && printed.len() < 60, "{printed}");
    let error = File::open(b"what is this").unwrap_err();
    assert_eq!(format!("{error:?}"), format!("UnknownFormat ({error})"));
    for (error, text) in [
        (DecodeError::Malformed, "the bytes are not a stream of this encoding"),
        (DecodeError::DoesNotFit, "the stream decodes to more bytes than the destination has"),
        (DecodeError::Checksum, "the stream decodes to other bytes than its checksum was made of"),
        (DecodeError::Unsupported, "the encoding is not known"),
    ] {
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn decoders_without_dictionaries() {
    struct Ours;
    impl Decoder for Ours {
        fn decode(&mut self, _: Encoding, stored: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError> {
            dst[..stored.len()].copy_from_slice(stored);
            Ok(stored.len())
        }
    }
    let mut dst = [0; 2];
    assert_eq!(Ours.decode_with_dictionary(Encoding::Zstd, &[1], &[1], &mut dst), Err(DecodeError::Unsupported));
    assert_eq!(dst, [0; 2]);
    // The built-in decoder supports dictionaries for Zstandard only.
    for encoding in [Encoding::Deflate, Encoding::Zlib] {
        let decoded = BuiltIn::default().decode_with_dictionary(encoding, &[1], &[1], &mut dst);
        assert_eq!(decoded, Err(DecodeError::Unsupported));
    }
}

#[test]
fn kinds_of_values() {
    // A value of each kind in CBOR: null, undefined, a boolean, an integer, a number, a simple value, texts and bytes
    // whole and in chunks, a list, a map, a tag.
    let values: &[(ValueKind, &[u8])] = &[
        (ValueKind::Null, &[0xf6]),
        (ValueKind::Undefined, &[0xf7]),
        (ValueKind::Bool, &[0xf5]),
        (ValueKind::Integer, &[0x20]),
        (ValueKind::Float, &[0xf9, 0x3c, 0]),
        (ValueKind::Simple, &[0xf8, 0x40]),
        (ValueKind::Text, &[0x61, b'a']),
        (ValueKind::Bytes, &[0x41, 7]),
        (ValueKind::Array, &[0x81, 1]),
        (ValueKind::Map, &[0xa1, 0x61, b'k', 1]),
        (ValueKind::Tagged, &[0xc1, 1]),
        (ValueKind::TextChunks, &[0x7f, 0x61, b'a', 0xff]),
        (ValueKind::ByteChunks, &[0x5f, 0x41, 7, 0xff]),
    ];
    let mut cbor = Cbor::default();
    cbor.map(3).text("version").text("1.2.0").text("attributes").map(values.len() as u64);
    for (kind, value) in values {
        cbor.text(kind.text()).raw(value);
    }
    cbor.text("objects").map(1);
    tensor(&mut cbor, "a");
    let bytes = file_1_2(&cbor.0);
    let file = File::open(&bytes).unwrap_or_else(|error| panic!("{}", error.explain(&bytes[..])));
    let attributes = file.attributes();
    assert_eq!((attributes.length(), attributes.extent()), (None, None)); // only the outermost one states a count
    assert_eq!(attributes.count(), values.len());
    for (kind, _) in values {
        let value = attributes.get(kind.text()).unwrap();
        assert_eq!(value.kind(), *kind);
        let inside = matches!(
            kind,
            ValueKind::Array | ValueKind::Map | ValueKind::Tagged | ValueKind::TextChunks | ValueKind::ByteChunks
        );
        assert_eq!(value.items().map(|items| items.count()), inside.then_some(1), "{kind:?}");
    }
    let json = br#"{"__metadata__":{},"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}"#;
    let bytes = [&(json.len() as u64).to_le_bytes()[..], json, b"7"].concat();
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.as_safetensors().unwrap().header(), Extent::new(8, json.len() as u64));
    assert_eq!(file.find("a").unwrap().attributes().length(), Some(0)); // tensors of safetensors have no attributes
    assert_eq!(Value::Undefined.kind(), ValueKind::Undefined);
}

#[test]
fn extent_of_the_metadata() {
    let bytes = fixture("v1.2/scalar_rank0.zt");
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.as_ztensor().unwrap().generation(), ztensor::Generation::V1_2);
    let manifest = file.as_ztensor().unwrap().manifest();
    assert_eq!(manifest.end(), Some(bytes.len() as u64 - 16)); // the footer follows the manifest
    let bytes = fixture("v0.1/mixed_endian.zt");
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.as_ztensor().unwrap().generation(), ztensor::Generation::V0_1);

    let bytes = fixture("v2/scalar_rank0.zt");
    let file = File::open(&bytes).unwrap();
    let manifest = file.as_ztensor2().unwrap().manifest();
    // The last 40 bytes are the footer, which begins with the offset of the manifest.
    assert!(manifest.is_within(bytes.len() as u64) && manifest.offset % 4096 == 0 && manifest.length > 20);
    assert_eq!(bytes[manifest.offset as usize] >> 5, 5); // a CBOR map
    assert_eq!(file.as_ztensor2().unwrap().shards().error(), None);

    for (name, version) in [("order2_f64", 0x0001_0000), ("legacy_f64", 0x9000)] {
        let bytes = fixture(&format!("tens/good/{name}.tens"));
        assert_eq!(File::open(&bytes).unwrap().as_tens().unwrap().version_number(), version);
    }
    let bytes = fixture("npz/stored.npz");
    let file = File::open(&bytes).unwrap();
    let mut entries = file.as_npz().unwrap().entries();
    assert!(entries.by_ref().count() > 1);
    assert_eq!(entries.error(), None);

    let text = fixture("safetensors/rs_sharded.safetensors.index.json");
    let index = safetensors::Index::open(&text).unwrap();
    assert!(index.warnings().is_empty());
    let mut entries = index.entries();
    assert_eq!(entries.by_ref().count() as u64, index.tensor_count());
    assert_eq!(entries.error(), None);
}

#[test]
fn names_and_shapes_compare() {
    let bytes = fixture("safetensors/py_tiny_mlp.safetensors");
    let file = File::open(&bytes).unwrap();
    let [bias, weight] = ["fc1.bias", "fc1.weight"].map(|name| file.find(name).unwrap());
    assert!(bias.name() == *"fc1.bias" && bias.name() != *"fc1.bia");
    assert!(bias.shape() == [16] && bias.shape() != [16, 1] && bias.shape() != [15]);
    assert!(bias.shape() == bias.shape() && bias.shape() != weight.shape());
}

#[test]
fn metalayers_by_name() {
    let bytes = fixture("b2nd/good/cf_blosclz_none_0.b2nd");
    let file = File::open(&bytes).unwrap();
    let metalayers = file.as_b2nd().unwrap().metalayers();
    let layer = metalayers.get_named("b2nd").unwrap();
    assert_eq!(layer.name, "b2nd");
    assert!(metalayers.get_named("b2n").is_none());
}

#[test]
fn codecs_of_plug_ins() {
    let names: Vec<_> = (32..40).map(b2nd::codec_name).collect();
    let named = ["ndlz", "zfp_acc", "zfp_prec", "zfp_rate", "openhtj2k", "grok", "openzl"].map(Some);
    assert_eq!((&names[..7], names[7]), (&named[..], None));
    assert_eq!((3..4).map(b2nd::codec_name).collect::<Vec<_>>(), [None]);
}

#[test]
fn debug_output_of_files_in_parts() {
    let bytes = fixture("v1.2/scalar_rank0.zt");
    let mut source = Source::new(bytes.len() as u64);
    source.add(0, &bytes).unwrap();
    let Ok(Opened::File(file)) = File::open_source(&source) else { panic!("all of it is there") };
    let whole = File::open(&bytes).unwrap();
    // Neither of them prints its bytes.
    for file in [format!("{file:?}"), format!("{whole:?}")] {
        assert!(file.contains("bytes") && file.len() < 2000, "{file}");
    }
}
