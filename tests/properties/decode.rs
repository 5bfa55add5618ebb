//! Decoding, verifying and materializing, compared with the side-cars and with libzstd, also for damaged streams.
#![cfg(all(feature = "ztensor", feature = "digest", feature = "zstd"))]

use crate::support::{Cbor, Random, cases, file_0_1, file_1_2, fixture, open_and_check};
use sha2::{Digest, Sha256};
use tenslice::{
    BuiltIn, Component, DType, DecodeError, Decoder, Encoding, Error, ErrorKind, File, Layout, Part, Purpose,
    ReadOptions, Tensor, Verification, Verified, Warning,
};

fn kind(error: Error) -> ErrorKind {
    error.kind()
}

/// Calls `f` with increasing memory until memory is no longer the reason for a failure.
fn with_room<T>(length: Option<u64>, mut f: impl FnMut(&mut [u8]) -> Result<T, Error>) -> Result<T, Error> {
    let mut room = vec![0; length.unwrap_or(1).min(1 << 24) as usize];
    loop {
        match f(&mut room) {
            Err(error)
                if length.is_none() && matches!(error.kind(), ErrorKind::TooSmall | ErrorKind::OutOfScratch) =>
            {
                assert!(room.len() < 1 << 24);
                room.resize(room.len() * 4, 0);
            }
            result => return result,
        }
    }
}

fn decoded(component: &Component<'_>) -> Result<Vec<u8>, Error> {
    with_room(component.decoded_length(), |room| {
        component.read_into(room, ReadOptions::new()).map(|bytes| bytes.to_vec())
    })
}

fn dense(tensor: &Tensor<'_>) -> Result<Vec<u8>, Error> {
    let mut room = vec![0xaa; tensor.requirements(Purpose::Read).output.unwrap_or(0).min(1 << 24) as usize];
    with_room(tensor.requirements(Purpose::Read).scratch, |scratch| {
        tensor.read_into(&mut room, ReadOptions::new().scratch(scratch)).map(|bytes| bytes.to_vec())
    })
}

/// Reads all of a file. Returns the first error that a caller who checks everything finds.
fn read_all(file: &File<'_>) -> Result<(), Error> {
    if is_any_in_shard(file) {
        return Ok(()); // tests/formats/ztensor2.rs reads shards
    }
    with_room(file.requirements(Purpose::Verify).scratch, |scratch| {
        file.verify(ReadOptions::new().scratch(scratch))
    })?;
    for tensor in file.tensors() {
        for component in tensor.components() {
            let decoded = decoded(&component)?;
            // A compressed array in an NPZ archive is a file itself.
            if component.encoding() == Encoding::Deflate {
                read_all(&File::open(&decoded)?)?;
            }
        }
        let output = tensor.requirements(Purpose::Read).output;
        if tensor.layout() == Layout::Strided && output.is_some_and(|length| length > 1 << 30) {
            tensor.read_into(&mut [], ReadOptions::new())?; // no caller has so much room
        }
        if output.is_none_or(|length| length < 1 << 24) && is_known(&tensor) {
            dense(&tensor)?;
        }
    }
    Ok(())
}

/// True if the bytes of some component are in another file.
fn is_any_in_shard(file: &File<'_>) -> bool {
    file.tensors().flat_map(|tensor| tensor.components()).any(|component| component.shard().is_some())
}

/// True if the layout can be materialized.
fn is_known(tensor: &Tensor<'_>) -> bool {
    match tensor.layout() {
        Layout::QuantizedGroup | Layout::Packed | Layout::Blocks | Layout::Microscaling | Layout::Other => false,
        Layout::TensorTrain => tensor.requirements(Purpose::Read).output.is_some(),
        _ => true,
    }
}

#[test]
fn verdicts_on_the_data() {
    let mut refused = 0;
    // If components cannot be decoded on their own, tests/formats/b2nd.rs compares the format.
    for case in cases().iter().filter(|case| !case.format().starts_with("b2")) {
        let result = open_and_check(&case.bytes).and_then(|file| read_all(&file));
        match case.expect() {
            "reject" => assert!(result.is_err(), "{}: accepted", case.name()),
            "accept" | "accept-with-warning" => {
                // A file opens even if one of its tensors cannot be read. Reading that tensor's data fails.
                let problem = File::open(&case.bytes).unwrap().tensors().find_map(|tensor| tensor.problem());
                assert_eq!(result, problem.map_or(Ok(()), Err), "{}", case.name());
            }
            _ => {}
        }
        refused += usize::from(result.is_err());
    }
    assert!(refused > 30, "{refused}");
}

#[test]
fn decoded_data_matches_the_side_cars() {
    let mut compared = 0;
    for case in cases() {
        let (Some(expected), Ok(file)) = (case.expected["tensors"].as_array(), File::open(&case.bytes)) else {
            continue;
        };
        for (tensor, expected) in file.tensors().zip(expected) {
            for component in tensor.components() {
                let Some(hash) = expected["data_sha256"][component.role()].as_str() else { continue };
                if component.encoding() == Encoding::Other || component.shard().is_some() {
                    continue;
                }
                let mut bytes = decoded(&component).unwrap_or_else(|error| panic!("{}: {error}", case.name()));
                if cfg!(target_endian = "big") {
                    bytes.chunks_mut(component.dtype().map_or(1, DType::lane_size)).for_each(<[u8]>::reverse);
                }
                let ours: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(ours, hash, "{}: {:?}.{}", case.name(), tensor.name(), component.role());
                compared += 1;
            }
        }
    }
    assert!(compared > 300, "{compared}");
}

#[test]
fn decoded_components_match_libzstd() {
    let mut compared = 0;
    for case in cases() {
        let Ok(file) = File::open(&case.bytes) else { continue };
        for component in file.tensors().flat_map(|tensor| tensor.components()) {
            if component.encoding() != Encoding::Zstd {
                continue;
            }
            let reference = libzstd(component.stored().unwrap(), 1 << 23);
            let ours = decoded(&component);
            assert!(
                !case.expect().starts_with("accept") || (ours.is_ok() && reference.is_ok()),
                "{}: {ours:?}",
                case.name()
            );
            if let (Ok(reference), Ok(mut ours)) = (&reference, ours) {
                let size = component.dtype().map_or(1, DType::lane_size);
                if cfg!(target_endian = "big") {
                    ours.chunks_mut(size).for_each(<[u8]>::reverse);
                }
                assert_eq!(&ours, reference, "{}", case.name());
                compared += 1;
            }
        }
    }
    assert!(compared > 30, "{compared}");
}

/// Decodes with libzstd. An error is libzstd's message.
fn libzstd(stored: &[u8], room: usize) -> Result<Vec<u8>, &'static str> {
    let mut out = Vec::with_capacity(room);
    match zstd::zstd_safe::decompress(&mut out, stored) {
        Ok(_) => Ok(out),
        Err(code) => Err(zstd::zstd_safe::get_error_name(code)),
    }
}

/// A frame of `data` with a checksum and, if requested, its size.
fn frame(data: &[u8], level: i32, states_size: bool) -> Vec<u8> {
    use zstd::zstd_safe::{CCtx, CParameter};
    let mut context = CCtx::create();
    context.set_parameter(CParameter::ChecksumFlag(true)).unwrap();
    context.set_parameter(CParameter::ContentSizeFlag(states_size)).unwrap();
    context.set_parameter(CParameter::CompressionLevel(level)).unwrap();
    let mut out = Vec::with_capacity(data.len() + 1024);
    context.compress2(&mut out, data).unwrap();
    out
}

fn built_in(stored: &[u8], room: usize) -> Result<Vec<u8>, DecodeError> {
    let mut out = vec![0; room];
    let length = BuiltIn::default().decode(Encoding::Zstd, stored, &mut out)?;
    out.truncate(length);
    Ok(out)
}

fn sample(random: &mut Random, length: usize) -> Vec<u8> {
    let spread = 1 + random.below(255);
    (0..length).map(|i| if i % 7 == 0 { random.below(spread) as u8 } else { (i / 5) as u8 }).collect()
}

#[test]
fn streams_of_every_kind() {
    let mut random = Random(7);
    let (a, b) = (sample(&mut random, 5000), sample(&mut random, 300_000));
    for states_size in [false, true] {
        for level in [1, 3, 19] {
            let (first, second) = (frame(&a, level, states_size), frame(&b, level, states_size));
            let both: Vec<u8> = a.iter().chain(&b).copied().collect();
            assert_eq!(built_in(&first, a.len()).unwrap(), a);
            assert_eq!(built_in(&second, b.len() + 9).unwrap(), b);
            // Several frames, with skippable frames in between and at the end.
            let skippable = [0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
            let chain = [&first[..], &skippable, &second, &skippable].concat();
            assert_eq!(built_in(&chain, both.len()).unwrap(), both);
            // Larger than the destination, by one byte and by everything.
            assert_eq!(built_in(&chain, both.len() - 1), Err(DecodeError::DoesNotFit));
            assert_eq!(built_in(&second, 0), Err(DecodeError::DoesNotFit));
            // Truncated anywhere, and followed by a byte that is not a frame.
            for cut in [1, 5, 9, first.len() / 2, first.len() - 5, first.len() - 1] {
                assert!(built_in(&first[..cut], a.len()).is_err(), "{cut}");
            }
            assert!(built_in(&[&first[..], &[0]].concat(), a.len()).is_err());
            assert!(built_in(&[&first[..], &skippable[..9]].concat(), a.len()).is_err());
            // A wrong checksum.
            let mut wrong = first.clone();
            *wrong.last_mut().unwrap() ^= 1;
            assert_eq!(built_in(&wrong, a.len()), Err(DecodeError::Checksum));
        }
    }
    assert_eq!(built_in(&[], 10).unwrap(), b"");
    assert_eq!(built_in(&frame(b"", 3, true), 10).unwrap(), b"");
}

#[test]
fn rejects_wrong_stated_sizes() {
    let data = [7; 600];
    let good = frame(&data, 3, true);
    let stated = good.windows(2).position(|size| size == (600_u16 - 256).to_le_bytes()).unwrap();
    for (size, expected) in [(599_u16, Err(())), (600, Ok(())), (601, Err(()))] {
        let mut bytes = good.clone();
        bytes[stated..stated + 2].copy_from_slice(&(size - 256).to_le_bytes());
        assert_eq!(built_in(&bytes, 600).map(drop).map_err(drop), expected, "{size}");
        assert_eq!(libzstd(&bytes, 600).map(drop).map_err(drop), expected, "{size}");
    }
}

#[test]
fn rejects_dictionaries() {
    let mut bytes = frame(&[5; 300], 3, false);
    bytes[4] |= 1; // a dictionary ID of one byte
    bytes.insert(6, 42);
    assert!(built_in(&bytes, 300).is_err());
    assert!(libzstd(&bytes, 300).is_err());
}

/// A caller that does not know the decoded length can find it by trying: a destination that is too small is reported
/// as such, whatever the stream does with its window.
#[test]
fn destinations_of_any_size() {
    let mut random = Random(99);
    let noise: Vec<u8> = (0..420_000).map(|_| random.next() as u8).collect();
    let far: Vec<u8> = noise.iter().chain(&noise[..300_000]).copied().collect(); // matches reach far back
    for data in [far, sample(&mut random, 1_500_000), vec![0; 900_000], sample(&mut random, 130_000)] {
        for (level, states_size) in [(1, false), (3, false), (3, true), (19, false)] {
            let bytes = frame(&data, level, states_size);
            let near = [0, 1, data.len() - 1, data.len(), data.len() + 1, 1 << 16, 1 << 17, 1 << 18, 1 << 19];
            for room in near.into_iter().chain((0..12).map(|_| random.below(data.len() * 3 / 2))) {
                match built_in(&bytes, room) {
                    Ok(ours) => assert!(room >= data.len() && ours == data, "room {room}"),
                    Err(error) => {
                        assert_eq!(error, DecodeError::DoesNotFit, "room {room} for {}", data.len());
                        assert!(room < data.len());
                    }
                }
            }
        }
    }
}

/// A frame that states a wrong size must not make the caller provide ever more memory.
#[test]
fn rejects_a_wrong_stated_size_for_any_destination() {
    let mut bytes = vec![0x28, 0xb5, 0x2f, 0xfd, 0xe0]; // a single segment, its size in eight bytes
    bytes.extend((1_u64 << 40).to_le_bytes());
    bytes.extend([0x21, 0, 0, 1, 2, 3, 4]); // the last block: four raw bytes
    for room in [4, 100, 1 << 20] {
        assert_eq!(built_in(&bytes, room), Err(DecodeError::Malformed), "room {room}");
    }
}

/// A size in eight bytes. A writer may use that for any content.
#[test]
fn a_small_size_in_eight_bytes() {
    let stored = [&[0x28, 0xb5, 0x2f, 0xfd, 0xe0, 4, 0, 0, 0, 0, 0, 0, 0, 0x21, 0, 0], &b"good"[..]].concat();
    assert_eq!(built_in(&stored, 4).unwrap(), b"good");
}

/// If a frame may continue beyond the destination and refers further back than the small destination's window, the
/// error is `DoesNotFit`, and only a larger destination shows the fault. If the frame refers no further back, it is
/// malformed. A destination of 10 bytes has a window of 256 KiB.
#[test]
#[cfg(all(feature = "zstd-ruzstd", not(feature = "zstd-c")))]
fn errors_after_a_block_that_may_fill_the_destination() {
    let with = |header: &[u8]| {
        // Five raw bytes, then the last block, which has a reserved type.
        let blocks = [0x28, 0, 0, 1, 2, 3, 4, 5, 0x07, 0, 0];
        [&[0x28, 0xb5, 0x2f, 0xfd], header, &blocks].concat()
    };
    let single = |size: u32| with(&[&[0xa0], &size.to_le_bytes()[..]].concat());
    for (stored, expected) in [
        (single(200_000), DecodeError::Malformed),
        (single(1 << 18), DecodeError::Malformed),
        (single((1 << 18) + 1), DecodeError::DoesNotFit),
        (single(1 << 19), DecodeError::DoesNotFit),
        (with(&[0, 0x40]), DecodeError::Malformed),
        (with(&[0, 0x41]), DecodeError::DoesNotFit),
        (with(&[0, 0x58]), DecodeError::DoesNotFit),
    ] {
        assert_eq!(built_in(&stored, 10), Err(expected), "{stored:x?}");
        assert_eq!(built_in(&stored, 1 << 20), Err(DecodeError::Malformed), "{stored:x?}");
    }
    // If no block precedes the wrong one, no block can have filled the destination.
    let first_is_wrong = [&[0x28, 0xb5, 0x2f, 0xfd, 0xa0], &(1_u32 << 19).to_le_bytes()[..], &[0x07, 0, 0]].concat();
    assert_eq!(built_in(&first_is_wrong, 10), Err(DecodeError::Malformed));
    // Two blocks may have filled a destination of 128 KiB, whose window is the same. A destination with one more byte
    // has twice that window.
    let two_blocks = |size: u32| {
        let blocks = [&[0x28, 0, 0, 1, 2, 3, 4, 5][..], &[0x28, 0, 0, 1, 2, 3, 4, 5, 0x07, 0, 0]].concat();
        [&[0x28, 0xb5, 0x2f, 0xfd, 0xa0], &size.to_le_bytes()[..], &blocks].concat()
    };
    for (room, expected) in [(1 << 17, DecodeError::DoesNotFit), ((1 << 17) + 1, DecodeError::Malformed)] {
        assert_eq!(built_in(&two_blocks((1 << 18) + 1), room), Err(expected), "{room}");
    }
}

/// The built-in decoder rejects what libzstd rejects. If both accept, the outputs are equal.
#[test]
fn damaged_frames_against_libzstd() {
    let mut random = Random(0x5eed);
    let (mut both_accept, mut both_refuse, mut lenient) = (0, 0, Vec::new());
    for round in 0..12_000 {
        let length = 1 + random.below(4000);
        let data = sample(&mut random, length);
        let mut bytes = frame(&data, [1, 3, 9][round % 3], round % 2 == 0);
        if round % 4 == 1 {
            bytes.extend(frame(&data[..length / 2], 3, true));
        }
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes[at] = random.next() as u8,
                2 => bytes.truncate(at + 1),
                _ => bytes.insert(at, random.next() as u8),
            }
        }
        let room = length + length / 2;
        match (built_in(&bytes, room), libzstd(&bytes, room)) {
            (Ok(ours), Ok(reference)) => {
                assert_eq!(ours, reference, "round {round}");
                both_accept += 1;
            }
            (Ok(_), Err(why)) => lenient.push(why),
            (Err(ours), Ok(_)) => panic!("round {round}: refused here ({ours:?}), accepted by libzstd"),
            (Err(_), Err(_)) => both_refuse += 1,
        }
    }
    assert!(both_accept > 1000 && both_refuse > 1000, "{both_accept} {both_refuse}");
    assert!(lenient.is_empty(), "accepted here, refused by libzstd: {lenient:?}");
}

#[test]
fn sparse_tensors_become_dense() {
    for name in ["v1.0/sparse_csr_coo.zt", "v1.2/objects_sparse_quant_logical.zt", "v0.1/sparse_real_layouts.zt"] {
        let bytes = fixture(name);
        let file = File::open(&bytes).unwrap();
        let mut seen = 0;
        for tensor in file.tensors() {
            if !matches!(tensor.layout(), Layout::SparseCsr | Layout::SparseCoo) {
                continue;
            }
            seen += 1;
            let size = tensor.dtype().unwrap().size().unwrap() as usize;
            let shape: Vec<u64> = tensor.shape().iter().collect();
            let numbers = dense(&tensor).unwrap();
            assert_eq!(numbers.len() as u64, shape.iter().product::<u64>() * size as u64);
            let mut expected = vec![0; numbers.len()];
            let mut scratch = vec![0; tensor.requirements(Purpose::Read).scratch.unwrap() as usize];
            let sparse = tensor.sparse(ReadOptions::new().scratch(&mut scratch)).unwrap();
            assert_eq!((sparse.layout(), sparse.dtype()), (tensor.layout(), tensor.dtype().unwrap()));
            assert_eq!(sparse.iter().count() as u64, sparse.stored());
            for entry in &sparse {
                let place =
                    shape.iter().zip(0..).fold(0, |place, (length, d)| place * length + entry.index(d).unwrap());
                assert_eq!(entry.index(shape.len() as u32), None);
                expected[place as usize * size..][..size].copy_from_slice(entry.bytes().unwrap());
            }
            if cfg!(target_endian = "little") {
                assert_eq!(numbers, expected, "{name} {:?}", tensor.name());
            }
        }
        assert!(seen > 0, "{name}");
    }
}

fn bytes_of(numbers: &[i64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// A 1.2 file with a tensor "m" of shape [2, 3] and these components, in order: role, dtype (with a logical type
/// after a slash), bytes.
fn with_parts(layout: &str, parts: &[(&str, &str, Vec<u8>)]) -> Vec<u8> {
    with_shape([2, 3], layout, parts)
}

/// Does the same as [`with_parts`] for another shape.
fn with_shape([rows, columns]: [u64; 2], layout: &str, parts: &[(&str, &str, Vec<u8>)]) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.map(2).text("version").text("1.2.0").text("objects").map(1).text("m").map(3);
    cbor.text("shape").array(2).uint(rows).uint(columns).text("format").text(layout);
    cbor.text("components").map(parts.len() as u64);
    let mut data = Vec::new();
    for (role, dtype, bytes) in parts {
        let (dtype, logical) = dtype.split_once('/').unwrap_or((dtype, dtype));
        cbor.text(role).map(4).text("dtype").text(dtype).text("type").text(logical);
        cbor.text("offset").uint(64 + data.len() as u64).text("length").uint(bytes.len() as u64);
        data.extend(bytes);
    }
    let mut file = file_1_2(&cbor.0);
    file.splice(64..68, data);
    file
}

/// Hundreds of indices of every type, in rows of every length, with values of every size. A wrong index is detected
/// wherever it is.
#[test]
fn many_indices_of_every_type() {
    const ROWS: u64 = 120;
    const COLUMNS: u64 = 97;
    let mut random = Random(3);
    // Empty rows at both ends and in between, and one row longer than the width of the tensor (indices may repeat).
    let lengths: Vec<u64> = (0..ROWS)
        .map(|row| match row {
            0 | 60..80 | 119 => 0,
            30 => 500,
            _ => random.next() % 9,
        })
        .collect();
    let row: Vec<u64> = (0..).zip(&lengths).flat_map(|(row, n)| vec![row; *n as usize]).collect();
    let column: Vec<u64> = row.iter().map(|_| random.next() % COLUMNS).collect();
    let pointers: Vec<u64> = (0..=lengths.len()).map(|row| lengths.iter().take(row).sum()).collect();
    for (dtype, size) in
        [("u8", 1), ("i8", 1), ("u16", 2), ("i16", 2), ("u32", 4), ("i32", 4), ("u64", 8), ("i64", 8)]
    {
        let indices = |numbers: &[u64]| -> Vec<u8> {
            numbers.iter().flat_map(|number| number.to_le_bytes()[..size].to_vec()).collect()
        };
        let (wide, wide_size) = if size == 1 { ("u16", 2) } else { (dtype, size) };
        let ends: Vec<u8> = pointers.iter().flat_map(|number| number.to_le_bytes()[..wide_size].to_vec()).collect();
        for (value, size) in [("u8", 1), ("f16", 2), ("f32", 4), ("i64", 8), ("f64/complex128", 16)] {
            let values: Vec<u8> = (0..row.len() * size).map(|i| (i * 31 / 7) as u8).collect();
            let csr = |column: &[u64]| {
                let parts = [("indices", dtype, indices(column)), ("indptr", wide, ends.clone())];
                let parts = [&parts[..], &[("values", value, values.clone())]].concat();
                with_shape([ROWS, COLUMNS], "sparse_csr", &parts)
            };
            let coo = |row: &[u64], column: &[u64]| {
                let coordinates = [indices(row), indices(column)].concat();
                let parts = [("coords", dtype, coordinates), ("values", value, values.clone())];
                with_shape([ROWS, COLUMNS], "sparse_coo", &parts)
            };
            let mut expected = vec![0; (ROWS * COLUMNS) as usize * size];
            for ((row, column), value) in row.iter().zip(&column).zip(values.chunks(size)) {
                expected[(row * COLUMNS + column) as usize * size..][..size].copy_from_slice(value);
            }
            for bytes in [csr(&column), coo(&row, &column)] {
                let found = dense(&File::open(&bytes).unwrap().find("m").unwrap()).unwrap();
                if cfg!(target_endian = "little") {
                    assert!(found == expected, "{dtype} {value}");
                }
            }
            let verdict =
                |bytes: &[u8]| dense(&File::open(bytes).unwrap().find("m").unwrap()).map_err(|error| error.kind());
            for wrong in [0, 127, 128, 500, row.len() - 1] {
                // Too large, and negative for signed indices.
                for index in [127, u64::MAX] {
                    let (mut row, mut column) = (row.clone(), column.clone());
                    column[wrong] = index;
                    assert_eq!(verdict(&csr(&column)), Err(ErrorKind::IndexOutOfRange), "{dtype} {wrong}");
                    assert_eq!(verdict(&coo(&row, &column)), Err(ErrorKind::IndexOutOfRange), "{dtype} {wrong}");
                    (row[wrong], column[wrong]) = (index, 0);
                    assert_eq!(verdict(&coo(&row, &column)), Err(ErrorKind::IndexOutOfRange), "{dtype} {wrong}");
                }
            }
        }
    }
}

/// A COO tensor of these values and coordinates.
fn coo(values: &[f32], coordinates: &[i64]) -> Vec<u8> {
    let values = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    with_parts("sparse_coo", &[("coords", "i64", bytes_of(coordinates)), ("values", "f32", values)])
}

/// A CSR tensor of these row pointers and columns; its values are 1, 2, 3 and so on.
fn csr(pointers: &[i64], columns: &[i64]) -> Vec<u8> {
    let values: Vec<i64> = (1..).take(columns.len()).collect();
    let parts = [("indices", columns), ("indptr", pointers), ("values", &values)];
    with_parts("sparse_csr", &parts.map(|(role, numbers)| (role, "i64", bytes_of(numbers))))
}

/// A 0.1 file with a tensor "m" of shape [2, 3] whose indices and values are these 64-bit numbers.
fn packed(layout: &str, numbers: &[i64]) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.array(1).map(7).text("name").text("m").text("offset").uint(64).text("size").uint(8 * numbers.len() as u64);
    cbor.text("dtype").text("uint64").text("layout").text(layout).text("shape").array(2).uint(2).uint(3);
    cbor.text("encoding").text("raw");
    let mut file = file_0_1(&cbor.0);
    file.splice(64..68, bytes_of(numbers));
    file
}

/// The values of "m" row by row, or its error: the sparse view fails with the same error as the dense one.
fn verdict(bytes: &[u8]) -> Result<Vec<u8>, (ErrorKind, Part)> {
    let file = File::open(bytes).unwrap();
    let tensor = file.find("m").unwrap();
    let sparse = tensor.sparse(ReadOptions::new()).map(drop);
    let dense = dense(&tensor);
    assert_eq!(dense.as_ref().err(), sparse.as_ref().err());
    // A wrong index has no offset of its own: the error points to the start of the tensor's entry.
    let entry = if bytes.starts_with(b"ZTEN0001") { &b"\xa7\x64name"[..] } else { b"\x61m" };
    let at = bytes.windows(entry.len()).position(|window| window == entry).unwrap() as u64;
    assert!(sparse.is_ok() || sparse.unwrap_err().offset() == Some(at));
    let size = tensor.dtype().unwrap().size().unwrap() as usize;
    let least = if cfg!(target_endian = "little") { 0 } else { size - 1 };
    dense.map(|numbers| numbers.chunks(size).map(|n| n[least]).collect()).map_err(|e| (e.kind(), e.part()))
}

#[test]
fn last_value_wins_for_repeated_indices() {
    let bytes = coo(&[1.0, 2.0, 3.0, 4.0], &[0, 1, 0, 1, 2, 0, 2, 0]);
    let file = File::open(&bytes).unwrap();
    let tensor = file.find("m").unwrap();
    let sparse = tensor.sparse(ReadOptions::new()).unwrap();
    let entries: Vec<_> = sparse.iter().map(|e| (e.index(0), e.index(1), e.value::<f32>())).collect();
    let entry = |row, column, value| (Some(row), Some(column), Some(value));
    assert_eq!(entries, [entry(0, 2, 1.0), entry(1, 0, 2.0), entry(0, 2, 3.0), entry(1, 0, 4.0)]);
    let numbers: Vec<f32> =
        dense(&tensor).unwrap().chunks(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap())).collect();
    assert_eq!(numbers, [0.0, 0.0, 3.0, 4.0, 0.0, 0.0]);
    assert_eq!(tensor.sparse(ReadOptions::new()).unwrap().iter().next().unwrap().value::<f64>(), None);
}

#[test]
fn rejects_indices_outside_the_shape() {
    let outside = Err((ErrorKind::IndexOutOfRange, Part::Tensor));
    for coordinates in [[2, 0], [0, 3], [-1, 0], [0, -1], [0, i64::MIN], [i64::MAX, 0]] {
        assert_eq!(verdict(&coo(&[1.0], &coordinates)), outside, "{coordinates:?}");
        let [row, column] = coordinates;
        assert_eq!(verdict(&packed("sparsecoo", &[0, 0, 1, row, column, 2])), outside, "{coordinates:?}");
    }
    for column in [3, 4, -1, i64::MIN, i64::MAX] {
        assert_eq!(verdict(&csr(&[0, 1, 3], &[column, 0, 1])), outside, "{column}");
        assert_eq!(verdict(&csr(&[0, 1, 3], &[2, 0, column])), outside, "{column}");
        assert_eq!(verdict(&packed("sparsecsr", &[0, 1, 2, 0, column, 1, 2])), outside, "{column}");
    }
    // The last index of each dimension.
    assert_eq!(verdict(&packed("sparsecoo", &[1, 2, 7])), Ok(vec![0, 0, 0, 0, 0, 7]));
    assert_eq!(verdict(&packed("sparsecsr", &[0, 1, 2, 2, 2, 7, 8])), Ok(vec![0, 0, 7, 0, 0, 8]));
    assert_eq!(verdict(&csr(&[0, 1, 3], &[2, 0, 2])), Ok(vec![0, 0, 1, 2, 0, 3]));
    assert!(verdict(&coo(&[1.0], &[1, 2])).is_ok());
}

/// Indices are checked even if the tensor has components that no layout requires, however they are stored.
#[test]
fn checks_indices_despite_an_encoded_extra_component() {
    for (row, expected) in [(1, None), (2, Some(ErrorKind::IndexOutOfRange))] {
        let (coords, values) = (("coords", "i64", bytes_of(&[row, 0])), ("values", "i64", bytes_of(&[1])));
        let mut bytes = with_parts("sparse_coo", &[coords, values, ("x", "u8/12345678", vec![0; 8])]);
        let (logical, encoding) = (b"\x64type\x6812345678", b"\x68encoding\x64zstd");
        let at = bytes.windows(logical.len()).position(|window| window == logical).unwrap();
        bytes[at..at + encoding.len()].copy_from_slice(encoding);
        let verified = File::open(&bytes).unwrap().find("m").unwrap().verify(ReadOptions::new());
        assert_eq!(verified.err().map(kind), expected);
    }
}

/// Blocks are a layout of the formats that define it. The name alone does not make one.
#[test]
#[cfg(feature = "gguf")]
fn block_layout_is_not_only_a_name() {
    let bytes = with_parts("gguf.q8_0", &[("data", "u8", vec![0; 34])]);
    let tensor = File::open(&bytes).unwrap().find("m").unwrap();
    assert_eq!((tensor.layout(), tensor.layout_name(), tensor.block_type()), (Layout::Other, "gguf.q8_0", None));
}

/// Values and indices of an unknown logical type are read as their storage dtype if that gives the number of elements
/// that the layout requires. Otherwise their elements may have another size, and `verify` reports no fault.
#[test]
fn values_and_indices_of_an_unknown_type() {
    let check = |layout, parts: &[(&str, &str, Vec<u8>)], expected: Result<u8, ErrorKind>| {
        let bytes = with_parts(layout, parts);
        let file = File::open(&bytes).unwrap();
        let tensor = file.find("m").unwrap();
        let lengths: Vec<usize> = parts.iter().map(|(_, _, bytes)| bytes.len()).collect();
        assert_eq!(dense(&tensor).map(|numbers| numbers[0]).map_err(kind), expected, "{layout} {lengths:?}");
        assert_eq!(tensor.sparse(ReadOptions::new()).map(drop).map_err(kind), expected.map(drop));
        assert_eq!(tensor.verify(ReadOptions::new()).map(drop), Ok(()), "{layout} {lengths:?}");
    };
    for (values, coordinates, expected) in [
        (8, 32, Ok(7)),
        (16, 32, Err(ErrorKind::CountMismatch)), // two stored elements for each value
        (12, 32, Err(ErrorKind::CountMismatch)),
        (4, 32, Err(ErrorKind::CountMismatch)),
        (8, 24, Err(ErrorKind::CountMismatch)),
        (10, 32, Err(ErrorKind::PartialElement)),
        (8, 33, Err(ErrorKind::PartialElement)),
        (8, 34, Err(ErrorKind::PartialElement)),
        (11, 39, Err(ErrorKind::PartialElement)),
    ] {
        let parts = [("coords", "u64/future", vec![0; coordinates]), ("values", "u32/future", vec![7; values])];
        check("sparse_coo", &parts, expected);
    }
    for (pointers, indices, values, expected) in [
        (24, 16, 8, Ok(7)),
        (24, 16, 16, Err(ErrorKind::CountMismatch)),
        (24, 32, 8, Err(ErrorKind::CountMismatch)),
        (48, 16, 8, Err(ErrorKind::CountMismatch)),
        (25, 16, 8, Err(ErrorKind::PartialElement)),
    ] {
        let mut rows = bytes_of(&[0, 2, 2]);
        rows.resize(pointers, 0);
        let columns = bytes_of(&[0; 4])[..indices].to_vec();
        let values = ("values", "u32/future", vec![7; values]);
        check("sparse_csr", &[("indices", "u64/future", columns), ("indptr", "u64/future", rows), values], expected);
    }
    // A fault that no other element size explains is reported.
    for (column, expected) in [(2, Ok(())), (3, Err(ErrorKind::IndexOutOfRange))] {
        let parts = [("coords", "i64", bytes_of(&[0, column])), ("values", "u32/future", vec![7; 4])];
        let verified =
            File::open(&with_parts("sparse_coo", &parts)).unwrap().find("m").unwrap().verify(ReadOptions::new());
        assert_eq!(verified.map(drop).map_err(kind), expected);
    }
}

#[test]
fn checks_row_pointers() {
    let columns = [0, 1, 2];
    for pointers in [
        [1, 1, 3], // does not start at 0: the first value is in no row
        [1, 2, 3],
        [-1, 1, 3],
        [3, 3, 3],
        [0, 2, 1], // decreases
        [0, 4, 3],
        [0, -1, 3],
        [0, 1, 2], // does not end at the number of values
        [0, 0, 0],
        [0, 1, 4],
        [0, 1, i64::MAX],
    ] {
        let broken = Err((ErrorKind::InvalidRowPointers, Part::Tensor));
        assert_eq!(verdict(&csr(&pointers, &columns)), broken, "{pointers:?}");
        let blob = [&pointers[..], &columns, &[1, 2, 3]].concat();
        assert_eq!(verdict(&packed("sparsecsr", &blob)), broken, "{pointers:?}");
    }
    for (pointers, expected) in [([0, 0, 3], [0, 0, 0, 1, 2, 3]), ([0, 3, 3], [1, 2, 3, 0, 0, 0])] {
        assert_eq!(verdict(&csr(&pointers, &columns)), Ok(expected.to_vec()), "{pointers:?}");
    }
    assert_eq!(verdict(&csr(&[0, 0, 0], &[])), Ok(vec![0; 6]));
    assert_eq!(verdict(&csr(&[1, 0, 0], &[])), Err((ErrorKind::InvalidRowPointers, Part::Tensor)));
}

#[test]
fn small_destinations_are_rejected_before_writing() {
    let bytes = fixture("v1.2/objects_sparse_quant_logical.zt");
    let file = File::open(&bytes).unwrap();
    for tensor in file.tensors() {
        let Some(length) = tensor.requirements(Purpose::Read).output.filter(|length| *length > 0) else {
            let kind = tensor.read_into(&mut [0; 4096], ReadOptions::new()).map(drop).map_err(kind);
            assert_eq!(kind, Err(ErrorKind::UnsupportedLayout), "{:?}", tensor.name());
            continue;
        };
        let mut room = vec![0x5a; length as usize - 1];
        let mut scratch = vec![0; tensor.requirements(Purpose::Read).scratch.unwrap() as usize];
        assert_eq!(
            tensor.read_into(&mut room, ReadOptions::new().scratch(&mut scratch)).map(drop).map_err(kind),
            Err(ErrorKind::TooSmall)
        );
        assert!(room.iter().all(|byte| *byte == 0x5a));
        if let Some(less) = scratch.len().checked_sub(1) {
            let mut room = vec![0; length as usize];
            let result =
                tensor.read_into(&mut room, ReadOptions::new().scratch(&mut scratch[..less])).map(drop).map_err(kind);
            assert_eq!(result, Err(ErrorKind::OutOfScratch), "{:?}", tensor.name());
        }
    }
}

#[test]
fn decodes_to_native_byte_order() {
    let bytes = fixture("v0.1/big_endian.zt");
    let file = File::open(&bytes).unwrap();
    let tensor = file.find("be.f32").unwrap();
    let numbers = dense(&tensor).unwrap();
    let expected = tensor.data().unwrap().elements::<f32>().unwrap().flat_map(f32::to_ne_bytes);
    assert!(expected.eq(numbers));
}

#[test]
fn digests() {
    let bytes = fixture("v1.2/digests.zt");
    let file = File::open(&bytes).unwrap();
    assert_eq!(
        file.verify(ReadOptions::new()),
        Ok(Verified { verified: 6, without_digest: 0, unknown_digest: 0, warnings: tenslice::Warnings::default() })
    );
    for component in file.tensors().flat_map(|tensor| tensor.components()) {
        assert_eq!(component.verify(ReadOptions::new()), Ok(Verification::Verified));
        let mut bytes = bytes.clone();
        bytes[component.extent().offset as usize] ^= 0x10;
        let error = File::open(&bytes).unwrap().verify(ReadOptions::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DigestMismatch);
    }
    let bytes = fixture("bad/v1.2/digest_unknown_algo.zt");
    let file = File::open(&bytes).unwrap();
    assert!(file.warnings().contains(Warning::UnknownDigest));
    assert_eq!(file.verify(ReadOptions::new()).unwrap().unknown_digest, 1);
}

#[test]
fn does_not_trust_the_callers_decoder() {
    struct Plan(Result<usize, DecodeError>);
    impl Decoder for Plan {
        fn decode(&mut self, encoding: Encoding, _: &[u8], room: &mut [u8]) -> Result<usize, DecodeError> {
            assert_eq!(encoding, Encoding::Zstd);
            room.fill(1);
            self.0
        }
    }
    let bytes = fixture("v1.2/zstd.zt");
    let file = File::open(&bytes).unwrap();
    let tensor = file.tensors().find(|t| t.requirements(Purpose::Read).output.is_some_and(|n| n > 1)).unwrap();
    let length = tensor.requirements(Purpose::Read).output.unwrap() as usize;
    let mut room = vec![0; length];
    let mut ask = |answer| {
        tensor.read_into(&mut room, ReadOptions::new().decoder(&mut Plan(answer))).map(|b| b.len()).map_err(kind)
    };
    assert_eq!(ask(Ok(length)), Ok(length));
    assert_eq!(ask(Ok(length - 1)), Err(ErrorKind::DecodedLength));
    assert_eq!(ask(Ok(usize::MAX)), Err(ErrorKind::DecodedLength));
    assert_eq!(ask(Err(DecodeError::DoesNotFit)), Err(ErrorKind::DecodedLength));
    assert_eq!(ask(Err(DecodeError::Malformed)), Err(ErrorKind::CorruptStream));
    assert_eq!(ask(Err(DecodeError::Checksum)), Err(ErrorKind::ChecksumMismatch));
    assert_eq!(ask(Err(DecodeError::Unsupported)), Err(ErrorKind::UnsupportedEncoding));
}
