//! Components of zTensor 2: Zstandard frames, digests of the decoded bytes, shards, and numbers in blocks.
#![cfg(all(feature = "ztensor2", feature = "digest", feature = "zstd"))]

use crate::support::ztensor2::{Object, Stored, file, frames, shard, xxh3};
use crate::support::{fixture, little, sha256};
use serde_json::{Value as Json, json};
use tenslice::{ByteOrder, Caps, Encoding, ErrorKind, File, Layout, Part, Purpose, ReadOptions, Verification};

/// Compares every component of a file of the reference implementation with its side-car: whole, in ranges, verified.
#[test]
fn components_of_the_reference_implementation() {
    let bytes = fixture("v2/zstd_seekable.zt");
    let expected: Json = serde_json::from_slice(&fixture("v2/zstd_seekable.zt.json")).unwrap();
    let file = File::open(&bytes).unwrap();
    let scratch_length = file.requirements(Purpose::Verify).scratch.unwrap();
    assert_eq!(scratch_length, 400_000); // one frame each, of at most 1 MiB
    let mut scratch = vec![0; scratch_length as usize];
    let verified = file.verify(ReadOptions::new().scratch(&mut scratch)).unwrap();
    assert_eq!((verified.verified, verified.without_digest, verified.unknown_digest), (5, 0, 0));
    assert_eq!(file.verify(ReadOptions::new()).unwrap_err().kind(), ErrorKind::OutOfScratch);
    for (tensor, expected) in file.tensors().zip(expected["tensors"].as_array().unwrap()) {
        let expected = &expected["components"][0];
        let data = tensor.data().unwrap();
        let all = Caps { bytes: false, range: true, decode: true, verify: true };
        assert_eq!((data.caps(), data.encoding()), (all, Encoding::ZstdSeekable));
        let mut whole = vec![0xee; data.decoded_length().unwrap() as usize];
        assert_eq!(data.bytes().unwrap_err().kind(), ErrorKind::Encoded);
        data.read_into(&mut whole, ReadOptions::new()).unwrap();
        let lane = tensor.dtype().unwrap().lane_size();
        assert_eq!(sha256(&little(&whole, ByteOrder::NATIVE, lane)), expected["data_sha256"]);
        for (start, length) in [(0, whole.len()), (whole.len() / 2, whole.len() / 3), (whole.len(), 0)] {
            let (start, length) = (start / lane * lane, length / lane * lane);
            let mut part = vec![0xee; length];
            data.read_range_into(start as u64, &mut part, ReadOptions::new().scratch(&mut scratch)).unwrap();
            assert_eq!(part, whole[start..][..length]);
        }
        let beyond =
            data.read_range_into(whole.len() as u64, &mut vec![0; lane], ReadOptions::new().scratch(&mut scratch));
        let beyond = beyond.unwrap_err();
        assert_eq!((beyond.kind(), beyond.part()), (ErrorKind::NoSuchElement, Part::Length));
    }
}

fn part(role: &'static str, dtype: &'static str, logical: Option<&'static str>, stored: Vec<u8>) -> Stored {
    Stored { role, dtype, logical, stored, ..Stored::default() }
}

/// The same component, stored in frames.
fn framed(part: &Stored, chunk: usize) -> Stored {
    Stored { stored: frames(&part.stored, chunk), decoded_length: Some(part.stored.len()), ..part.clone() }
}

fn dense(part: Stored, count: u64) -> Object {
    Object { name: "t", shape: vec![count], layout: "dense", attributes: Json::Null, parts: vec![part] }
}

/// Every changed byte of the stored frames is rejected, or leaves the decoded bytes unchanged.
#[test]
fn damaged_frames() {
    let content: Vec<u8> = (0..600_u32).map(|i| (i * i / 50) as u8).collect();
    let part = Stored { digest: Some(xxh3(&content)), ..framed(&part("data", "u8", None, content.clone()), 256) };
    let mut bytes = file(&[dense(part.clone(), 600)], &[]);
    let mut scratch = [0; 256];
    let (mut refused, mut same) = (0, 0);
    for at in 4096..4096 + part.stored.len() {
        for change in [1, 0x80, 0xff] {
            bytes[at] ^= change;
            let opened = File::open(&bytes).unwrap();
            let data = opened.find("t").unwrap().data().unwrap();
            let mut dst = [0; 600];
            let read = data.read_into(&mut dst, ReadOptions::new()).map(|dst| dst.to_vec());
            let verified = data.verify(ReadOptions::new().scratch(&mut scratch));
            assert_eq!(read.is_ok(), verified.is_ok(), "{at} {read:?} {verified:?}");
            match read {
                Ok(decoded) => {
                    assert_eq!((decoded, verified), (content.clone(), Ok(Verification::Verified)));
                    same += 1;
                }
                Err(error) => {
                    assert_eq!(Some(error.kind()), verified.err().map(|error| error.kind()));
                    assert!(!error.explain(&bytes[..]).to_string().is_empty());
                    refused += 1;
                }
            }
            bytes[at] ^= change;
        }
    }
    assert!(same < 10 && refused > 500, "{same} {refused}");
}

#[test]
fn components_in_shards() {
    let content = [3_u8; 100];
    let other = shard(&content);
    let in_shard =
        Stored { shard: Some("w-1.zt"), digest: Some(xxh3(&content)), ..part("data", "u8", None, content.to_vec()) };
    let bytes = file(&[dense(in_shard, 100)], &[("w-1.zt", other.len() as u64, xxh3(&other))]);
    let opened = File::open(&bytes).unwrap();
    let data = opened.find("t").unwrap().data().unwrap();
    assert_eq!((data.shard(), data.caps()), (Some("w-1.zt"), Caps::default()));
    let error = data.bytes().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InShard);
    assert!(error.explain(&bytes[..]).to_string().contains("shard"), "{}", error.explain(&bytes[..]));
    let bound = data.with_shard(&other).unwrap();
    assert_eq!(bound.bytes(), Ok(&content[..]));
    assert_eq!(bound.verify(ReadOptions::new()), Ok(Verification::Verified));
    assert_eq!(data.with_shard(&other[..4195]).map(|_| ()).unwrap_err().kind(), ErrorKind::OutOfFile);
    assert_eq!(opened.verify(ReadOptions::new()).unwrap_err().kind(), ErrorKind::InShard);
}

/// zt.sparse_csr/1, Validation: the columns of a row increase. Each row starts anew.
#[test]
fn columns_increase_within_rows() {
    let csr = |pointers: &[u32], columns: &[u32]| {
        let bytes = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
        let parts = vec![
            part("values", "u8", None, vec![7; columns.len()]),
            part("indices", "u32", None, bytes(columns)),
            part("indptr", "u32", None, bytes(pointers)),
        ];
        let shape = vec![pointers.len() as u64 - 1, 10];
        let bytes =
            file(&[Object { name: "t", shape, layout: "zt.sparse_csr/1", attributes: Json::Null, parts }], &[]);
        let opened = File::open(&bytes).unwrap();
        let tensor = opened.find("t").unwrap();
        let read = tensor.sparse(ReadOptions::new()).map(|sparse| sparse.stored()).map_err(|error| error.kind());
        assert_eq!(tensor.verify(ReadOptions::new()).map(|_| ()).map_err(|error| error.kind()), read.map(|_| ()));
        read
    };
    assert_eq!(csr(&[0, 2, 2, 5], &[1, 9, 0, 1, 2]), Ok(5));
    assert_eq!(csr(&[0, 0, 0, 1], &[9]), Ok(1));
    assert_eq!(csr(&[0, 2, 4], &[5, 6, 5, 6]), Ok(4));
    for columns in [[5, 5, 5, 6], [6, 5, 5, 6], [5, 6, 6, 5], [5, 6, 6, 6]] {
        assert_eq!(csr(&[0, 2, 4], &columns), Err(ErrorKind::IndexOrder), "{columns:?}");
    }
    assert_eq!(csr(&[0, 2, 4], &[5, 10, 5, 6]), Err(ErrorKind::IndexOutOfRange));
}

/// Verifying detects elements that their type does not allow, with a digest and without, raw and in frames.
#[test]
fn elements_are_verified() {
    for (logical, stored, count, is_valid) in [
        ("bool", vec![0, 1, 1], 3, true),
        ("bool", vec![0, 1, 2], 3, false),
        ("f4_e2m1", vec![0xff, 0x0f], 3, true),
        ("f4_e2m1", vec![0xff, 0x10], 3, false),
        ("f4_e2m1", vec![0xff, 0x10], 4, true),
        ("f8_e5m2", vec![0xff, 0x10], 2, true),
    ] {
        let digest = xxh3(&stored);
        let raw = part("data", "u8", Some(logical), stored);
        for part in [framed(&raw, 2), raw] {
            for digest in [None, Some(digest.clone())] {
                let bytes = file(&[dense(Stored { digest, ..part.clone() }, count)], &[]);
                let opened = File::open(&bytes).unwrap();
                let verified = opened.verify(ReadOptions::new().scratch(&mut [0; 2]));
                let expected = if is_valid { Ok(()) } else { Err(ErrorKind::InvalidElement) };
                assert_eq!(verified.map(|_| ()).map_err(|error| error.kind()), expected, "{logical} {count}");
            }
        }
    }
}

#[cfg(all(feature = "dequantize", feature = "gguf"))]
mod numbers {
    use tenslice::blocks::{BlockType, dequantize};
    use tenslice::float;

    use super::*;

    fn bits(numbers: &[f32]) -> Vec<Option<u32>> {
        numbers.iter().map(|number| (!number.is_nan()).then(|| number.to_bits())).collect()
    }

    /// Reads the tensor whole and in ranges, raw and in frames. Each gives the same numbers, or the same error.
    fn read(object: &Object, expected: Result<&[f32], ErrorKind>) {
        let count = object.shape.iter().product::<u64>() as usize;
        for is_framed in [false, true] {
            let mut object = object.clone();
            if is_framed {
                object.parts.iter_mut().for_each(|part| *part = framed(part, 100));
            }
            let length: usize = object.parts.iter().filter_map(|part| part.decoded_length).sum();
            let bytes = file(&[object], &[]);
            let opened = File::open(&bytes).unwrap();
            let tensor = opened.find("t").unwrap();
            assert!(tensor.layout() != Layout::Dense);
            let mut dst = vec![1.25; count];
            let mut scratch = vec![0; length];
            let result =
                tensor.read_f32_into(&mut dst, ReadOptions::new().scratch(&mut scratch)).map(|numbers| bits(numbers));
            assert_eq!(result.map_err(|error| error.kind()), expected.map(bits));
            let Ok(expected) = expected else {
                assert_eq!(dst, vec![1.25; count]);
                assert_eq!(Some(tensor.read_f32_range(0, &mut [0.0]).unwrap_err().kind()), result_kind(&tensor));
                continue;
            };
            assert_eq!(tensor.requirements(Purpose::ReadF32).scratch, Some(length as u64));
            if is_framed {
                assert_eq!(tensor.read_f32_range(0, &mut [0.0]).unwrap_err().kind(), ErrorKind::Encoded);
                let short = tensor.read_f32_into(&mut dst, ReadOptions::new().scratch(&mut scratch[1..])).map(|_| ());
                assert_eq!(short.unwrap_err().kind(), ErrorKind::OutOfScratch);
                continue;
            }
            for (start, length) in [(0, count), (1, 3), (31, 2), (33, 60), (count - 1, 1), (count, 0), (40, 0)] {
                let mut range = vec![0.0; length];
                tensor.read_f32_range(start as u64, &mut range).unwrap();
                assert_eq!(bits(&range), bits(&expected[start..start + length]), "{start} {length}");
            }
            assert_eq!(tensor.read_f32_range(count as u64, &mut [0.0]).unwrap_err().kind(), ErrorKind::NoSuchElement);
        }
    }

    fn result_kind(tensor: &tenslice::Tensor<'_>) -> Option<ErrorKind> {
        let count = tensor.shape().element_count().unwrap() as usize;
        tensor
            .read_f32_into(&mut vec![0.0; count], ReadOptions::new().scratch(&mut vec![0; 1 << 16]))
            .err()
            .map(|error| error.kind())
    }

    #[test]
    fn blocks_of_ggml() {
        let bytes = fixture("v2/converted_gguf.zt");
        let opened = File::open(&bytes).unwrap();
        for (name, block) in [("blk.0.q4", BlockType::Q4_0), ("blk.0.q8", BlockType::Q8_0)] {
            let tensor = opened.find(name).unwrap();
            assert_eq!((tensor.layout(), tensor.block_type()), (Layout::Blocks, Some(block)));
            let count = tensor.shape().element_count().unwrap() as usize;
            let (mut numbers, mut expected) = (vec![0.0; count], vec![0.0; count]);
            dequantize(block, tensor.component("data").unwrap().bytes().unwrap(), 0, &mut expected).unwrap();
            tensor.read_f32_into(&mut numbers, ReadOptions::new()).unwrap();
            assert_eq!(bits(&numbers), bits(&expected));
        }

        for block in BlockType::ALL {
            let layout = Box::leak(format!("{}/1", block.layout_name()).into_boxed_str());
            let stored: Vec<u8> = (0..3 * block.bytes()).map(|i| (i * 37 % 251) as u8).collect();
            let mut expected = vec![0.0; 3 * block.elements() as usize];
            dequantize(*block, &stored, 0, &mut expected).unwrap();
            let attributes = json!({ "elems_per_block": block.elements(), "block_bytes": block.bytes() });
            let parts = vec![part("data", "u8", None, stored)];
            let good = Object { name: "t", shape: vec![3, block.elements()], layout, attributes, parts };
            read(&good, Ok(&expected));
            // Blocks whose size differs from the stated one are of another type. The reader does not guess.
            for attributes in [
                Json::Null,
                json!({ "elems_per_block": block.elements() }),
                json!({ "elems_per_block": block.elements(), "block_bytes": block.bytes() + 1 }),
                json!({ "elems_per_block": block.elements() * 2, "block_bytes": block.bytes() }),
            ] {
                read(&Object { attributes, ..good.clone() }, Err(ErrorKind::UnsupportedLayout));
            }
            read(&Object { shape: vec![2, block.elements()], ..good.clone() }, Err(ErrorKind::SizeMismatch));
            read(&Object { shape: vec![3, block.elements() - 1], ..good.clone() }, Err(ErrorKind::UnsupportedLayout));
            read(&Object { layout: "gguf.q9_9/1", ..good }, Err(ErrorKind::UnsupportedLayout));
        }
    }

    #[test]
    fn microscaling() {
        let bytes = fixture("v2/layout_profiles.zt");
        let opened = File::open(&bytes).unwrap();
        let tensor = opened.find("mx").unwrap();
        assert_eq!((tensor.layout(), tensor.layout_name()), (Layout::Microscaling, "zt.mx/1"));
        let of = |role| tensor.component(role).unwrap().bytes().unwrap();
        let (data, scales) = (of("data"), of("scales"));
        let mut numbers = [0.0; 64];
        tensor.read_f32_into(&mut numbers, ReadOptions::new()).unwrap();
        for (i, number) in numbers.iter().enumerate() {
            let element = float::f4_e2m1_to_f32(data[i / 2] >> (i % 2 * 4) & 15);
            assert_eq!(*number, element * float::f8_e8m0_to_f32(scales[i / 32]), "{i}");
        }

        type Case = (&'static str, Option<&'static str>, fn(&[u8], usize) -> f32);
        let types: [Case; 4] = [
            ("u8", Some("f4_e2m1"), |data, i| float::f4_e2m1_to_f32(data[i / 2] >> (i % 2 * 4) & 15)),
            ("u8", Some("f8_e4m3fn"), |data, i| float::f8_e4m3fn_to_f32(data[i])),
            ("u8", Some("f8_e5m2"), |data, i| float::f8_e5m2_to_f32(data[i])),
            ("i8", None, |data, i| f32::from(data[i] as i8) / 64.0),
        ];
        for (dtype, logical, element) in types {
            for block in [2, 32, 48, 96] {
                let (rows, columns) = (3, 96);
                let length = if logical == Some("f4_e2m1") { rows * columns / 2 } else { rows * columns };
                let data: Vec<u8> = (0..length).map(|i| (i * 89 + 3) as u8).collect();
                // From the smallest power of two to NaN.
                let scales: Vec<u8> =
                    (0..rows * columns / block).map(|i| [0, 1, 126, 127, 130, 255][i % 6]).collect();
                let number = |i: usize| {
                    (f64::from(element(&data, i)) * f64::from(float::f8_e8m0_to_f32(scales[i / block]))) as f32
                };
                let expected: Vec<f32> = (0..rows * columns).map(number).collect();
                let object = |attributes: Json| Object {
                    name: "t",
                    shape: vec![rows as u64, columns as u64],
                    layout: "zt.mx/1",
                    attributes,
                    parts: vec![
                        part("data", dtype, logical, data.clone()),
                        part("scales", "u8", Some("f8_e8m0"), scales.clone()),
                    ],
                };
                let good = object(json!({ "block_size": block, "scale_form": "e8m0_exponent" }));
                read(&good, Ok(&expected));
                read(
                    &object(json!({ "block_size": block, "scale_form": "e8m0_exponent", "axis": 1 })),
                    Ok(&expected),
                );
                for attributes in [
                    Json::Null,
                    json!({ "block_size": block }),
                    json!({ "scale_form": "e8m0_exponent" }),
                    json!({ "block_size": block, "scale_form": "linear" }),
                    json!({ "block_size": 1, "scale_form": "e8m0_exponent" }),
                    json!({ "block_size": 0, "scale_form": "e8m0_exponent" }),
                    json!({ "block_size": 64, "scale_form": "e8m0_exponent" }), // spans two rows
                    json!({ "block_size": block, "scale_form": "e8m0_exponent", "axis": 0 }),
                    json!({ "block_size": block, "scale_form": "e8m0_exponent", "axis": "1" }),
                ] {
                    read(&object(attributes), Err(ErrorKind::UnsupportedLayout));
                }
                for part in [0, 1] {
                    let mut short = good.clone();
                    short.parts[part].stored.pop();
                    read(&short, Err(ErrorKind::SizeMismatch));
                }
                let mut other = good.clone();
                other.parts[0] = part("data", "u8", None, data.clone());
                read(&other, Err(ErrorKind::WrongType));
                let mut other = good.clone();
                other.parts[1].logical = None;
                read(&other, Err(ErrorKind::WrongType));
                let mut other = good;
                other.parts[1].role = "scale";
                read(&other, Err(ErrorKind::NotFound));
            }
        }
    }
}
