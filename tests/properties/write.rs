//! Writers: what they write, the reader reads back; what the format cannot hold, they refuse before the first byte.

mod flash;
#[cfg(feature = "gguf")]
mod gguf;
#[cfg(feature = "npy")]
mod npy;
#[cfg(feature = "npz")]
mod npz;
mod refused;

use tenslice::write::{
    NewAttribute, NewFile, NewLayout, NewTensor, NewValue, Sink, SinkError, Writer, reference_order,
};
use tenslice::{Component, DType, Error, ErrorKind, File, Format, ReadOptions, Tensor};

/// A sink that collects the bytes of a file and fails at byte `limit`.
struct Collected {
    bytes: Vec<u8>,
    limit: usize,
}

impl Collected {
    fn new() -> Self {
        Self { bytes: Vec::new(), limit: usize::MAX }
    }
}

impl Sink for Collected {
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), SinkError> {
        assert_eq!(offset, self.bytes.len() as u64, "a gap");
        assert!(!bytes.is_empty());
        if self.bytes.len() + bytes.len() > self.limit {
            // A disk that is full takes as much as there is room for.
            self.bytes.extend_from_slice(&bytes[..self.limit - self.bytes.len()]);
            return Err(SinkError);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

/// Writes a whole file in pieces of `piece` bytes.
fn write_in(file: NewFile<'_>, data: &[u8], piece: usize, sink: &mut dyn Sink) -> Result<u64, Error> {
    let mut scratch = vec![u64::MAX; Writer::scratch_length(&file)?];
    write_with(file, data, piece, sink, &mut scratch)
}

fn write_with(
    file: NewFile<'_>,
    data: &[u8],
    piece: usize,
    sink: &mut dyn Sink,
    scratch: &mut [u64],
) -> Result<u64, Error> {
    let mut writer = Writer::new(file, scratch)?;
    writer.begin(sink)?;
    push(&mut writer, data, piece, sink)?;
    writer.finish(sink)?;
    assert!(writer.length().is_none_or(|length| length == writer.position()));
    Ok(writer.position())
}

/// The decoded length of frames.
const FRAME: u64 = 16;

/// Passes data in pieces, or in frames if the components of the file are stored so. Leaves out a part of a frame.
fn push(writer: &mut Writer<'_, '_>, data: &[u8], piece: usize, sink: &mut dyn Sink) -> Result<(), Error> {
    if writer.length().is_some() {
        return data.chunks(piece).try_for_each(|piece| writer.data(sink, piece));
    }
    let mut rest = data;
    while !rest.is_empty() {
        let length = writer.due().map_or(1, |due| due.missing.min(FRAME));
        let Some((content, after)) = rest.split_at_checked(length as usize) else { break };
        writer.frame(sink, &frame(content), content)?;
        rest = after;
    }
    Ok(())
}

/// Compresses a frame.
fn frame(content: &[u8]) -> Vec<u8> {
    let mut compressor = zstd::bulk::Compressor::new(3).unwrap();
    compressor.include_checksum(true).unwrap();
    compressor.compress(content).unwrap()
}

fn written(file: NewFile<'_>, data: &[u8]) -> Vec<u8> {
    let mut sink = Collected::new();
    let length =
        write_in(file, data, usize::MAX, &mut sink).unwrap_or_else(|error| panic!("{}", file.explain(&error)));
    assert_eq!(length, sink.bytes.len() as u64);
    sink.bytes
}

/// Data in which no two bytes near each other are equal.
fn data_of(tensors: &[NewTensor<'_>]) -> Vec<u8> {
    let length: u64 = tensors.iter().map(|tensor| tensor.length().unwrap()).sum();
    (0..length).map(|at| (at * 7 + at / 251) as u8).collect()
}

const TENSORS: &[NewTensor<'static>] = &[
    NewTensor::dense("layer.weight", DType::F32, &[3, 5]),
    NewTensor::dense("empty", DType::F64, &[0, 7]),
    NewTensor::dense("a \"quoted\"\n\u{1}name \u{e9}", DType::I8, &[3]),
    NewTensor::dense("scalar", DType::F64, &[]),
    NewTensor::dense("halves", DType::BF16, &[2, 1, 3]),
];

const ATTRIBUTES: &[NewAttribute<'static>] = &[
    NewAttribute { key: "format", value: NewValue::Text("pt") },
    NewAttribute { key: "a \\ key", value: NewValue::Text("\u{7}\u{1f}/\u{2028}") },
];

/// A file of each format that holds tensors with names, attributes and everything else that the format has.
fn files() -> Vec<(NewFile<'static>, &'static [NewTensor<'static>])> {
    let mut files = Vec::new();
    let mut add = |file: NewFile<'static>, tensors| files.push((file, tensors));
    #[cfg(feature = "safetensors")]
    {
        add(NewFile::new(Format::Safetensors, TENSORS).attributes(ATTRIBUTES), TENSORS);
        add(NewFile::new(Format::Safetensors, TENSORS).alignment(4096), TENSORS);
        add(NewFile::new(Format::Safetensors, &[]), &[]);
    }
    #[cfg(feature = "gguf")]
    {
        use tenslice::blocks::BlockType;
        const PAIRS: &[NewAttribute<'static>] = &[
            NewAttribute { key: "general.architecture", value: NewValue::Text("a\0\u{e9}") },
            NewAttribute { key: "numbers", value: NewValue::List(&[NewValue::F64(0.5), NewValue::F64(-1e300)]) },
            NewAttribute { key: "bytes", value: NewValue::Bytes(&[1, 2, 3]) },
            NewAttribute { key: "flag", value: NewValue::Bool(true) },
        ];
        const BLOCKS: &[NewTensor<'static>] = &[
            NewTensor::blocks("q4_0", BlockType::Q4_0, &[3, 32]),
            NewTensor::dense("", DType::F16, &[2, 1]),
            NewTensor::blocks("no blocks", BlockType::Q6_K, &[0, 2, 256]),
            NewTensor::blocks("q8_0", BlockType::Q8_0, &[1, 2, 64]),
        ];
        add(NewFile::new(Format::Gguf, TENSORS).attributes(ATTRIBUTES), TENSORS);
        add(NewFile::new(Format::Gguf, BLOCKS).attributes(PAIRS).alignment(8), BLOCKS);
        add(NewFile::new(Format::Gguf, &[]).alignment(64), &[]);
    }
    #[cfg(feature = "npy")]
    {
        const COMPLEX: &[NewTensor<'static>] = &[NewTensor::dense("", DType::C64, &[2, 3])];
        const TIMES: &[NewTensor<'static>] = &[NewTensor {
            name: "",
            shape: &[3],
            layout: NewLayout::Items { descr: "[('t', '<M8[us]'), ('\u{e9}', '|S3', (2,))]", size: 14 },
            attributes: &[],
        }];
        add(NewFile::new(Format::Npy, COMPLEX), COMPLEX);
        add(NewFile::new(Format::Npy, TIMES).alignment(512), TIMES);
    }
    #[cfg(all(feature = "npz", feature = "crc32"))]
    {
        const ARRAYS: &[NewTensor<'static>] = &[
            NewTensor::dense("layer/weight", DType::F32, &[3, 5]),
            NewTensor::dense("\u{e9}", DType::BOOL, &[7]),
            NewTensor::dense("", DType::C128, &[]),
            NewTensor::dense("empty", DType::F64, &[0, 7]),
            NewTensor {
                name: "a.npy",
                shape: &[2],
                layout: NewLayout::Items { descr: "'>U3'", size: 12 },
                attributes: &[],
            },
        ];
        add(NewFile::new(Format::Npz, ARRAYS), ARRAYS);
        add(NewFile::new(Format::Npz, ARRAYS).alignment(64), ARRAYS);
        add(NewFile::new(Format::Npz, &[]), &[]);
    }
    #[cfg(feature = "ztensor")]
    {
        const MORE: &[NewAttribute<'static>] = &[
            NewAttribute { key: "", value: NewValue::Null },
            NewAttribute {
                key: "list",
                value: NewValue::List(&[NewValue::U8(1), NewValue::I64(-1), NewValue::F64(0.5)]),
            },
            NewAttribute { key: "map", value: NewValue::Map(&[NewValue::Text("key"), NewValue::Bytes(&[1, 2])]) },
        ];
        const SPARSE: &[NewTensor<'static>] = &[
            NewTensor {
                name: "csr",
                shape: &[2, 4],
                layout: NewLayout::Csr { dtype: DType::F32, count: 3, indices: DType::U32, pointers: DType::U64 },
                attributes: MORE,
            },
            NewTensor {
                name: "coo",
                shape: &[300, 70],
                layout: NewLayout::Coo { dtype: DType::C64, count: 1, indices: DType::I16 },
                attributes: &[],
            },
        ];
        add(NewFile::new(Format::Ztensor, TENSORS).attributes(MORE), TENSORS);
        add(NewFile::new(Format::Ztensor, TENSORS).digests(true).alignment(128), TENSORS);
        add(NewFile::new(Format::Ztensor, SPARSE), SPARSE);
        add(NewFile::new(Format::Ztensor, &[]), &[]);
        if cfg!(feature = "zstd") {
            add(NewFile::new(Format::Ztensor, TENSORS).frames(FRAME), TENSORS);
            add(NewFile::new(Format::Ztensor, SPARSE).frames(FRAME).digests(true), SPARSE);
        }
    }
    #[cfg(feature = "ztensor2")]
    {
        const MORE: &[NewAttribute<'static>] = &[
            NewAttribute { key: "list", value: NewValue::List(&[NewValue::Null, NewValue::I64(-1)]) },
            NewAttribute { key: "b", value: NewValue::F32(0.5) },
            NewAttribute {
                key: "a",
                value: NewValue::Map(&[NewValue::Text("z"), NewValue::U8(1), NewValue::Text("aa"), NewValue::U8(2)]),
            },
        ];
        const SPARSE: &[NewTensor<'static>] = &[
            NewTensor {
                name: "csr",
                shape: &[2, 4],
                layout: NewLayout::Csr { dtype: DType::F32, count: 3, indices: DType::U32, pointers: DType::U32 },
                attributes: MORE,
            },
            NewTensor {
                name: "coo",
                shape: &[300, 70],
                layout: NewLayout::Coo { dtype: DType::C64, count: 1, indices: DType::U64 },
                attributes: &[],
            },
        ];
        // The component with most frames is not the last one.
        const FALLING: &[NewTensor<'static>] =
            &[NewTensor::dense("many", DType::U8, &[200]), NewTensor::dense("few", DType::U8, &[3])];
        add(NewFile::new(Format::Ztensor2, &TENSORS[..4]).attributes(MORE), &TENSORS[..4]);
        add(NewFile::new(Format::Ztensor2, TENSORS).alignment(8192), TENSORS);
        add(NewFile::new(Format::Ztensor2, SPARSE), SPARSE);
        add(NewFile::new(Format::Ztensor2, &[]), &[]);
        if cfg!(feature = "zstd") {
            add(NewFile::new(Format::Ztensor2, TENSORS).attributes(MORE).frames(FRAME), TENSORS);
            add(NewFile::new(Format::Ztensor2, SPARSE).frames(FRAME), SPARSE);
            add(NewFile::new(Format::Ztensor2, FALLING).frames(FRAME), FALLING);
        }
        #[cfg(feature = "gguf")]
        {
            use tenslice::blocks::BlockType;
            const BLOCKS: &[NewTensor<'static>] = &[
                NewTensor::blocks("blocks", BlockType::Q4_0, &[2, 32]),
                NewTensor { attributes: MORE, ..NewTensor::blocks("q8", BlockType::Q8_0, &[64]) },
            ];
            add(NewFile::new(Format::Ztensor2, BLOCKS), BLOCKS);
        }
    }
    #[cfg(feature = "tens")]
    {
        const PAIRS: &[NewTensor<'static>] = &[NewTensor {
            name: "",
            shape: &[4, 5],
            layout: NewLayout::Pairs { dtype: DType::C64, count: 2 },
            attributes: &[],
        }];
        const WIDE: &[NewTensor<'static>] = &[NewTensor::dense("ignored", DType::U128, &[1, 2])];
        add(NewFile::new(Format::Tens, ONE), ONE);
        add(NewFile::new(Format::Tens, WIDE), WIDE);
        add(NewFile::new(Format::Tens, SCALAR), SCALAR);
        add(NewFile::new(Format::Tens, NOTHING), NOTHING);
        add(NewFile::new(Format::Tens, PAIRS), PAIRS);
    }
    #[cfg(feature = "blz")]
    {
        const TRAINS: [&[NewTensor<'static>]; 2] = [
            &[NewTensor {
                name: "",
                shape: &[2, 3, 2],
                layout: NewLayout::Train { dtype: DType::F64, ranks: &[1, 2, 2, 1] },
                attributes: &[],
            }],
            &[NewTensor {
                name: "",
                shape: &[3, 1],
                layout: NewLayout::Train { dtype: DType::C128, ranks: &[1, 3, 1] },
                attributes: &[],
            }],
        ];
        for train in TRAINS {
            add(NewFile::new(Format::Blz, train), train);
        }
    }
    #[cfg(feature = "b2nd")]
    {
        // With rows of more than half a chunk, each row is a chunk, which is longer than tests want.
        add(NewFile::new(Format::B2nd, ONE), ONE);
        add(NewFile::new(Format::B2nd, SCALAR), SCALAR);
        add(NewFile::new(Format::B2nd, NOTHING), NOTHING);
    }
    files
}

/// Tensors for formats that hold a single one.
#[allow(dead_code)] // depends on the formats that are built in
const ONE: &[NewTensor<'static>] = &[NewTensor::dense("", DType::I16, &[3, 1, 7])];
#[allow(dead_code)]
const SCALAR: &[NewTensor<'static>] = &[NewTensor::dense("", DType::F32, &[])];
#[allow(dead_code)]
const NOTHING: &[NewTensor<'static>] = &[NewTensor::dense("", DType::F64, &[4, 0, 3])];

/// Returns the tensor of a declaration. A file with a single tensor does not store the name.
fn find<'a>(file: &File<'a>, declared: &NewTensor<'_>) -> Tensor<'a> {
    let is_single = matches!(file.format(), Format::Npy | Format::Tens | Format::Blz | Format::B2nd);
    if is_single { file.tensors().next().unwrap() } else { file.find(declared.name).unwrap() }
}

/// The number of attributes that the format adds to those of a tensor.
fn added_attributes(format: Format, tensor: &NewTensor<'_>) -> usize {
    match tensor.layout {
        #[cfg(feature = "gguf")]
        NewLayout::Blocks(_) if format == Format::Ztensor2 => 2,
        _ => 0,
    }
}

/// Returns the components in the order in which they are written.
fn parts_of<'a>(tensor: &Tensor<'a>, declared: &NewTensor<'_>) -> Vec<Component<'a>> {
    let roles: &[&str] = match declared.layout {
        NewLayout::Csr { .. } => &["values", "indices", "indptr"],
        NewLayout::Coo { .. } => &["values", "coords"],
        _ => return tensor.components().collect(),
    };
    roles.iter().map(|role| tensor.component(role).unwrap()).collect()
}

/// Returns the decoded bytes of a component.
fn bytes_of(part: &Component<'_>) -> Vec<u8> {
    if let Ok(bytes) = part.bytes() {
        return bytes.to_vec();
    }
    let mut bytes = vec![0; part.decoded_length().unwrap() as usize];
    part.read_into(&mut bytes, ReadOptions::new()).unwrap();
    bytes
}

/// Returns the decoded bytes of all components, in the order in which they are written.
fn data_in(tensor: &Tensor<'_>, declared: &NewTensor<'_>) -> Vec<u8> {
    if tensor.components().any(|part| part.encoding() == tenslice::Encoding::Blosc) {
        let mut bytes = vec![0; declared.length().unwrap() as usize];
        tensor.read_into(&mut bytes, ReadOptions::new()).unwrap();
        return bytes;
    }
    parts_of(tensor, declared).iter().flat_map(bytes_of).collect()
}

/// Checks that the tensors of a file are those that were declared, with their data.
fn check(bytes: &[u8], tensors: &[NewTensor<'_>], data: &[u8]) {
    let file = File::open(bytes).unwrap_or_else(|error| panic!("{}", error.explain(bytes)));
    assert_eq!(file.tensors().count(), tensors.len());
    let mut rest = data;
    for declared in tensors {
        let tensor = find(&file, declared);
        assert_eq!(tensor.shape(), *declared.shape, "{}", declared.name);
        if let NewLayout::Dense(dtype) = declared.layout {
            assert_eq!(tensor.dtype(), Some(dtype));
        }
        let (bytes, after) = rest.split_at(usize::try_from(declared.length().unwrap()).unwrap());
        let stored = data_in(&tensor, declared);
        assert!(stored == bytes, "{}: {stored:?}, not {bytes:?}", declared.name);
        let added = added_attributes(file.format(), declared);
        assert_eq!(tensor.attributes().count(), declared.attributes.len() + added);
        rest = after;
    }
    file.check(&mut [0; 64]).unwrap();
}

#[test]
fn files_are_read_back() {
    for (file, tensors) in files() {
        let data = data_of(tensors);
        let bytes = written(file, &data);
        check(&bytes, tensors, &data);
        for piece in [1, 3, 64] {
            let mut sink = Collected::new();
            write_in(file, &data, piece, &mut sink).unwrap();
            assert!(sink.bytes == bytes, "in pieces of {piece}");
        }
    }
}

#[test]
fn digests_are_those_of_the_data() {
    for (file, tensors) in files() {
        let bytes = written(file, &data_of(tensors));
        let opened = File::open(&bytes).unwrap();
        for tensor in &opened {
            for part in tensor.components() {
                assert!(
                    part.digest().is_none()
                        || part.verify(ReadOptions::new().scratch(&mut [0; FRAME as usize])).is_ok(),
                    "{}",
                    tensor.name()
                );
            }
        }
    }
}

/// Every flipped bit of data that has a digest is detected. In a frame, a bit may mean nothing to the decoder.
#[test]
fn flipped_bits_of_data() {
    let mut count = 0;
    for (file, tensors) in files() {
        let bytes = written(file, &data_of(tensors));
        let mut damaged = bytes.clone();
        for part in File::open(&bytes).unwrap().tensors().flat_map(|tensor| tensor.components().collect::<Vec<_>>()) {
            if part.digest().is_none() {
                continue;
            }
            let extent = part.extent();
            for bit in 8 * extent.offset..8 * (extent.offset + extent.length) {
                let (at, mask) = (bit as usize / 8, 1 << (bit % 8));
                damaged[at] ^= mask;
                let is_refused = File::open(&damaged).map_or(true, |file| {
                    let mut parts = file.tensors().flat_map(|tensor| tensor.components().collect::<Vec<_>>());
                    let found = parts.find(|found| found.extent() == extent).unwrap();
                    let verified = found.verify(ReadOptions::new().scratch(&mut [0; FRAME as usize]));
                    verified.is_err() || part.bytes().is_err() && bytes_of(&found) == bytes_of(&part)
                });
                assert!(is_refused, "bit {bit}");
                damaged[at] ^= mask;
                count += 1;
            }
        }
    }
    assert!(count > 1000 || cfg!(not(feature = "ztensor2")));
}

/// Returns false for most positions inside a long run of zeros: the padding of zTensor 2.
fn is_tested(bytes: &[u8], at: usize) -> bool {
    let around = &bytes[at.saturating_sub(16)..bytes.len().min(at + 16)];
    at.is_multiple_of(127) || around.iter().any(|byte| *byte != 0)
}

/// A sink that fails at any byte: the file written so far is refused, or complete except for padding.
#[test]
fn incomplete_files_are_refused() {
    for (file, tensors) in files() {
        let data = data_of(tensors);
        let bytes = written(file, &data);
        for limit in (0..bytes.len()).filter(|at| is_tested(&bytes, *at)) {
            for piece in [1, 5, usize::MAX] {
                let mut sink = Collected { bytes: Vec::new(), limit };
                let error = write_in(file, &data, piece, &mut sink).unwrap_err();
                assert_eq!((error.kind(), sink.bytes.len()), (ErrorKind::SinkFailed, limit));
                assert!(sink.bytes[..] == bytes[..limit]);
            }
            if let Ok(opened) = File::open(&bytes[..limit]) {
                assert!(matches!(opened.format(), Format::Gguf | Format::Tens), "{limit} of {} bytes", bytes.len());
                check(&bytes[..limit], tensors, &data);
            }
        }
    }
}

/// After a failure, the position is the offset of the piece that the sink refused: the writer is resumed there.
#[test]
fn the_position_after_a_failure() {
    for (file, tensors) in files() {
        let data = data_of(tensors);
        let bytes = written(file, &data);
        let mut scratch = vec![0; Writer::scratch_length(&file).unwrap()];
        for limit in (0..bytes.len() as u64).filter(|at| is_tested(&bytes, *at as usize)) {
            for piece in [1, usize::MAX] {
                let mut writer = Writer::new(file, &mut scratch).unwrap();
                let mut taken = 0;
                let mut sink = |offset: u64, bytes: &[u8]| {
                    assert_eq!(offset, taken);
                    if taken + bytes.len() as u64 > limit {
                        return Err(SinkError);
                    }
                    taken += bytes.len() as u64;
                    Ok(())
                };
                let result = writer.begin(&mut sink).and_then(|()| push(&mut writer, &data, piece, &mut sink));
                let error = result.and_then(|()| writer.finish(&mut sink)).unwrap_err();
                assert_eq!((error.kind(), error.offset()), (ErrorKind::SinkFailed, Some(taken)));
                assert_eq!(writer.position(), taken);
            }
        }
    }
}

/// Padding that is in the file already takes no time, however long it is.
#[test]
#[cfg(feature = "ztensor")]
fn a_file_with_long_padding_is_resumed() {
    let file = NewFile::new(Format::Ztensor, TENSORS).alignment(1 << 50);
    let mut writer = Writer::new(file, &mut []).unwrap();
    let length = writer.length().unwrap();
    let mut sink = |_: u64, _: &[u8]| Ok::<(), SinkError>(());
    writer.resume(&mut sink, length - 1).unwrap();
    assert_eq!(writer.due(), None);
    writer.finish(&mut sink).unwrap();
    assert_eq!(writer.position(), length);
}

/// Readers multiply the lengths from left to right.
#[test]
#[cfg(feature = "ztensor")]
fn shapes_that_ztensor_refuses() {
    let plan = |shape: &[u64]| {
        let tensors = [NewTensor::dense("a", DType::F32, shape)];
        Writer::new(NewFile::new(Format::Ztensor, &tensors), &mut []).map(drop).map_err(|error| error.kind())
    };
    assert_eq!(plan(&[1 << 40, 1 << 40, 0]), Err(ErrorKind::ShapeOverflow));
    assert_eq!(plan(&[0, 1 << 40, 1 << 40]), Ok(()));
}

/// Returns the data that is due, by the tensor and the component. `bytes` is the whole file.
fn data_due<'d>(writer: &Writer<'_, '_>, tensors: &[NewTensor<'_>], bytes: &[u8], data: &'d [u8]) -> &'d [u8] {
    let start = writer.due().map_or(data.len(), |due| {
        let before: u64 = tensors[..due.tensor as usize].iter().map(|tensor| tensor.length().unwrap()).sum();
        let tensor = &tensors[due.tensor as usize];
        let parts = parts_of(&find(&File::open(bytes).unwrap(), tensor), tensor);
        let parts: u64 = parts[..due.component as usize].iter().map(|part| part.extent().length).sum();
        (before + parts + due.offset) as usize
    });
    &data[start..]
}

#[test]
#[cfg(feature = "ztensor")]
fn tensors_that_ztensor_refuses() {
    let refused = |layout| {
        let tensors = [NewTensor { name: "a", shape: &[4, 4], layout, attributes: &[] }];
        let file = NewFile::new(Format::Ztensor, &tensors);
        let error = Writer::new(file, &mut []).unwrap_err();
        (error.kind(), file.explain(&error).to_string())
    };
    let csr = |dtype, indices| NewLayout::Csr { dtype, count: 2, indices, pointers: DType::I64 };
    assert_eq!(refused(csr(DType::F32, DType::F32)).0, ErrorKind::IndexType);
    let pairs = NewLayout::Pairs { dtype: DType::F32, count: 2 };
    for (layout, message) in [
        (csr(DType::I128, DType::I64), "the format has no such dtype; convert the data"),
        (NewLayout::Dense(DType::I128), "the format has no dtype i128; convert the data"),
        (pairs, "the format cannot hold pairs of index and value; write them as a dense tensor"),
    ] {
        assert_eq!(refused(layout), (ErrorKind::NotInFormat, format!("ztensor: tensor 0 \"a\": {message}")));
    }
}

#[test]
#[cfg(feature = "ztensor")]
fn alignments_that_ztensor_refuses() {
    let plan = |alignment| {
        let file = NewFile::new(Format::Ztensor, TENSORS).alignment(alignment);
        Writer::new(file, &mut []).map(drop).map_err(|error| error.kind())
    };
    for alignment in [0, 1, 32, 96] {
        assert_eq!(plan(alignment), Err(ErrorKind::InvalidAlignment), "{alignment}");
    }
    assert_eq!([64, 128].map(plan), [Ok(()); 2]);
}

#[test]
#[cfg(all(feature = "ztensor", feature = "crc32c"))]
fn ztensor_has_digests_if_they_are_requested() {
    for has_digests in [false, true] {
        let bytes = written(NewFile::new(Format::Ztensor, TENSORS).digests(has_digests), &data_of(TENSORS));
        for tensor in &File::open(&bytes).unwrap() {
            assert!(tensor.components().all(|part| part.digest().is_some() == has_digests), "{}", tensor.name());
        }
    }
}

/// The bytes of all tensors together exceed 64 bits.
#[test]
#[cfg(feature = "safetensors")]
fn files_are_of_64_bits() {
    let half = |name| NewTensor::dense(name, DType::U8, &[1 << 63]);
    let plan = |tensors: &[NewTensor<'_>]| {
        let file = NewFile::new(Format::Safetensors, tensors);
        Writer::new(file, &mut []).map(drop).map_err(|error| (error.kind(), error.declaration()))
    };
    assert_eq!(plan(&[half("a")]), Ok(()));
    assert_eq!(plan(&[half("a"), half("b")]), Err((ErrorKind::TooMany, None)));
}

/// After a restart at any byte, the rest of the file is the same.
#[test]
fn files_are_resumed_at_any_byte() {
    for (file, tensors) in files() {
        let data = data_of(tensors);
        let bytes = written(file, &data);
        let mut scratch = vec![0; Writer::scratch_length(&file).unwrap()];
        let has_digests = !scratch.is_empty();
        for at in (0..=bytes.len()).filter(|at| is_tested(&bytes, *at)) {
            let mut sink = Collected { bytes: bytes[..at].to_vec(), limit: usize::MAX };
            let mut writer = Writer::new(file, &mut scratch).unwrap();
            match writer.resume(&mut sink, at as u64) {
                Ok(()) => {}
                Err(error) => {
                    assert!(has_digests && error.kind() == ErrorKind::InvalidArgument, "{error:?}");
                    continue;
                }
            }
            let due = data_due(&writer, tensors, &bytes, &data);
            push(&mut writer, due, usize::MAX, &mut sink).unwrap();
            writer.finish(&mut sink).unwrap();
            assert!(sink.bytes == bytes, "resumed at {at}");
        }
    }
}

/// The manifest begins at a multiple of 64, as in files of the reference implementation.
#[test]
#[cfg(feature = "ztensor")]
fn manifests_are_aligned() {
    for (file, tensors) in files() {
        let bytes = written(file, &data_of(tensors));
        if File::open(&bytes).unwrap().format() == Format::Ztensor {
            let size = u64::from_le_bytes(bytes[bytes.len() - 16..][..8].try_into().unwrap());
            assert_eq!((bytes.len() as u64 - 16 - size) % 64, 0);
        }
    }
}

#[test]
fn too_much_and_too_little_data() {
    for (file, tensors) in files() {
        let mut data = data_of(tensors);
        data.push(0);
        let error = write_in(file, &data, 3, &mut Collected::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooManyBytes);
        let message = file.explain(&error).to_string();
        assert!(message.ends_with(": there is more data than the tensors have; all are complete"), "{message}");
        assert_eq!(format!("{:?}", file.explain(&error)), message);
        if data.len() > 1 {
            let error = write_in(file, &data[..data.len() - 2], 3, &mut Collected::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TooFewBytes);
            assert!(error.declaration().is_some());
        }
    }
}

#[test]
fn calls_in_another_order_are_refused() {
    let (file, _) = files()[0];
    let mut scratch = vec![0; Writer::scratch_length(&file).unwrap()];
    let mut writer = Writer::new(file, &mut scratch).unwrap();
    let mut sink = Collected::new();
    let state = |result: Result<(), Error>| assert_eq!(result.unwrap_err().kind(), ErrorKind::WrongState);
    state(writer.data(&mut sink, &[1]));
    state(writer.finish(&mut sink));
    writer.begin(&mut sink).unwrap();
    state(writer.begin(&mut sink));
    writer.finish(&mut sink).unwrap_err();
    state(writer.finish(&mut sink));
    state(writer.data(&mut sink, &[1]));
}

#[test]
#[cfg(feature = "safetensors")]
fn declarations_that_a_file_cannot_have() {
    let refused = |tensors: &[NewTensor<'_>]| {
        let file = NewFile::new(Format::Safetensors, tensors);
        let error = Writer::new(file, &mut [0; 2000]).unwrap_err();
        (error.kind(), file.explain(&error).to_string())
    };
    let f32 = |name, shape| NewTensor::dense(name, DType::F32, shape);
    let (kind, message) = refused(&[f32("a", &[1]), f32("b", &[2]), f32("a", &[3])]);
    assert_eq!(
        (kind, &*message),
        (ErrorKind::RepeatedName, "safetensors: tensor 2 \"a\": another tensor has this name")
    );
    let (kind, message) = refused(&[f32("a", &[1 << 40, 1 << 40])]);
    assert_eq!(kind, ErrorKind::ShapeOverflow, "{message}");
    let (kind, message) = refused(&[NewTensor::dense("a", DType::U128, &[1])]);
    assert_eq!(kind, ErrorKind::NotInFormat);
    assert_eq!(message, "safetensors: tensor 0 \"a\": the format has no dtype u128; convert the data");
    // No name can forge a line, as in the messages of the reader.
    let (_, message) = refused(&[NewTensor::dense("a\n\u{7f}\"é", DType::U128, &[1])]);
    assert!(message.starts_with("safetensors: tensor 0 \"a\\u{a}\\u{7f}\"é\": the format has"), "{message}");
    assert_eq!(refused(&[f32("__metadata__", &[1])]).0, ErrorKind::NotInFormat);
    assert_eq!(refused(&[NewTensor::dense("a", DType::F4_E2M1, &[3])]).0, ErrorKind::PartialElement);

    // Names are compared beyond 1024, in the scratch memory.
    let names: Vec<String> = (0..2000).rev().map(|number| format!("{number}")).collect();
    let mut tensors: Vec<_> = names.iter().map(|name| f32(name, &[1])).collect();
    let file = NewFile::new(Format::Safetensors, &tensors);
    let words = if cfg!(small) { 0 } else { 1000 }; // chips compare all pairs, without memory
    assert_eq!(Writer::scratch_length(&file).unwrap(), words);
    if words > 0 {
        assert_eq!(Writer::new(file, &mut []).unwrap_err().kind(), ErrorKind::OutOfScratch);
    }
    Writer::new(file, &mut vec![0; words]).unwrap();
    tensors[1999].name = "1999";
    assert_eq!(
        refused(&tensors),
        (ErrorKind::RepeatedName, "safetensors: tensor 1999 \"1999\": another tensor has this name".into())
    );

    // The longest header. A control character takes 6 bytes.
    let longest = "\u{1}".repeat(16_666_662) + "xxx";
    let length = |text: &str| {
        let attributes = [NewAttribute::new("k", text)];
        let file = NewFile::new(Format::Safetensors, &[]).attributes(&attributes);
        Writer::new(file, &mut []).map(|writer| writer.length()).map_err(|error| error.kind())
    };
    assert_eq!(length(&longest), Ok(Some(100_000_008)));
    assert_eq!(length(&(longest + "x")), Err(ErrorKind::ManifestTooLarge));

    // The last: readers refuse a header of more than 100 000 000 bytes.
    for alignment in [0, 1, 4, 24, 1 << 27] {
        let file = NewFile::new(Format::Safetensors, &[]).alignment(alignment);
        let error = Writer::new(file, &mut []).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidAlignment);
        let message = file.explain(&error).to_string();
        assert_eq!(message, format!("safetensors: the format does not allow the alignment {alignment}"));
    }
}

/// The bytes that the reference implementation writes.
#[test]
#[cfg(feature = "safetensors")]
fn safetensors_as_the_reference_writes_them() {
    let names = ["u8", "f64", "i64 b", "i64 a", "bool"];
    let dtypes = [DType::U8, DType::F64, DType::I64, DType::I64, DType::BOOL];
    let mut tensors: Vec<_> =
        names.iter().zip(dtypes).map(|(name, dtype)| NewTensor::dense(name, dtype, &[2, 1])).collect();
    tensors.sort_by(|a, b| reference_order(Format::Safetensors, a, b).unwrap());
    let data: Vec<u8> = (0..52).collect();
    let attributes = [NewAttribute::new("format", "pt\t\u{1}")];
    let bytes = written(NewFile::new(Format::Safetensors, &tensors).attributes(&attributes), &data);
    let views = tensors.iter().scan(&data[..], |rest, tensor| {
        let (bytes, after) = rest.split_at(tensor.length().unwrap() as usize);
        *rest = after;
        let dtype = match dtype_of(tensor) {
            DType::U8 => safetensors::Dtype::U8,
            DType::F64 => safetensors::Dtype::F64,
            DType::I64 => safetensors::Dtype::I64,
            _ => safetensors::Dtype::BOOL,
        };
        Some((tensor.name, safetensors::tensor::TensorView::new(dtype, vec![2, 1], bytes).unwrap()))
    });
    let metadata = [("format".to_string(), "pt\t\u{1}".to_string())].into();
    assert!(bytes == safetensors::serialize(views, Some(metadata)).unwrap());
}

#[cfg(feature = "safetensors")]
fn dtype_of(tensor: &NewTensor<'_>) -> DType {
    let NewLayout::Dense(dtype) = tensor.layout else { unreachable!() };
    dtype
}

/// Writes a file again, with the declarations that it was written from: the bytes of the manifest are those of the
/// reference implementation.
#[test]
#[cfg(all(feature = "ztensor2", feature = "gguf"))]
fn ztensor2_as_the_reference_writes_it() {
    use tenslice::blocks::BlockType;

    let fixture =
        |name: &str| std::fs::read(format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let list = [NewValue::U8(1), NewValue::List(&[NewValue::U8(2)])];
    let of_file = [
        NewAttribute::new("framework", "torch"),
        NewAttribute::new("n", -5_i8),
        NewAttribute::new("pi", 3.5_f64),
        NewAttribute::new("t", true),
        NewAttribute { key: "nil", value: NewValue::Null },
        NewAttribute { key: "list", value: NewValue::List(&list) },
    ];
    let architecture = [NewAttribute::new("general.architecture", "test")];
    let dense = NewTensor::dense;
    let csr = NewLayout::Csr { dtype: DType::F32, count: 4, indices: DType::U32, pointers: DType::U32 };
    let coo = NewLayout::Coo { dtype: DType::I32, count: 4, indices: DType::U64 };
    let files: &[(&str, &[NewTensor<'_>], &[NewAttribute<'_>])] = &[
        ("file_attributes", &[dense("w", DType::F32, &[2, 2])], &of_file),
        (
            "converted_gguf",
            &[
                dense("blk.0.ffn", DType::F32, &[2, 3]),
                NewTensor::blocks("blk.0.q4", BlockType::Q4_0, &[2, 32]),
                NewTensor::blocks("blk.0.q8", BlockType::Q8_0, &[2, 64]),
            ],
            &architecture,
        ),
        (
            "converted_safetensors",
            &[
                dense("a.w", DType::F32, &[2, 3]),
                dense("b.bf", DType::BF16, &[5]),
                dense("c.flag", DType::BOOL, &[3]),
                dense("d.fp8", DType::F8_E4M3FN, &[2, 2]),
            ],
            &[NewAttribute::new("format", "pt")],
        ),
        (
            "zero_size_dims",
            &[
                dense("empty_0", DType::F32, &[0]),
                dense("empty_1", DType::U8, &[3, 0, 2]),
                dense("empty_2", DType::I64, &[0, 0]),
                dense("empty_3", DType::F16, &[5]),
            ],
            &[],
        ),
    ];
    for (name, tensors, attributes) in files {
        let reference = fixture(&format!("v2/{name}.zt"));
        let opened = File::open(&reference).unwrap();
        let stored =
            |tensor: &NewTensor<'_>| bytes_of(&opened.find(tensor.name).unwrap().components().next().unwrap());
        let data: Vec<u8> = tensors.iter().flat_map(stored).collect();
        let bytes = written(NewFile::new(Format::Ztensor2, tensors).attributes(attributes), &data);
        assert!(bytes == reference, "{name}");
    }
    // Sparse tensors, in a file whose other layouts are not written: their records, but for the offsets.
    let reference = fixture("v2/layout_profiles.zt");
    let opened = File::open(&reference).unwrap();
    for (name, shape, layout, entry) in [("csr", [4, 5], csr, 214), ("coo", [4, 4], coo, 145)] {
        let tensor = opened.find(name).unwrap();
        let roles: &[&str] = if name == "csr" { &["values", "indices", "indptr"] } else { &["values", "coords"] };
        let data: Vec<u8> =
            roles.iter().flat_map(|role| tensor.component(role).unwrap().bytes().unwrap().to_vec()).collect();
        let tensors = [NewTensor { name, shape: &shape, layout, attributes: &[] }];
        let bytes = written(NewFile::new(Format::Ztensor2, &tensors), &data);
        let record = |bytes: &[u8]| {
            let key = [&[0x63], name.as_bytes(), &[0xa3]].concat();
            let at = bytes.windows(key.len()).position(|window| window == key).unwrap();
            let mut record = bytes[at..at + entry].to_vec();
            // The offsets, each after the key `blob` and the head of the list.
            let blobs: Vec<_> = (0..entry).filter(|at| record[*at..].starts_with(b"dblob\x82")).collect();
            assert_eq!(blobs.len(), roles.len());
            blobs.iter().for_each(|at| record[at + 6..at + 9].fill(0));
            record
        };
        assert_eq!(record(&bytes), record(&reference), "{name}");
    }
}

#[test]
#[cfg(feature = "ztensor2")]
fn what_ztensor2_refuses() {
    let refused = |tensor: NewTensor<'_>| {
        let tensors = [NewTensor::dense("first", DType::F32, &[1]), tensor];
        let file = NewFile::new(Format::Ztensor2, &tensors);
        let error = Writer::new(file, &mut [0; 100]).unwrap_err();
        assert_eq!(error.declaration(), Some(1), "{}", file.explain(&error));
        error.kind()
    };
    let dense = NewTensor::dense;
    for dtype in [DType::F6_E2M3, DType::F6_E3M2, DType::I128, DType::F128, DType::I16.with_lanes(2).unwrap()] {
        assert_eq!(refused(dense("a", dtype, &[1])), ErrorKind::NotInFormat, "{dtype}");
    }
    let long = "n".repeat(1025);
    assert_eq!(refused(dense("", DType::F32, &[1])), ErrorKind::NameLength);
    assert_eq!(refused(dense(&long, DType::F32, &[1])), ErrorKind::NameLength);
    assert_eq!(refused(dense("a\0", DType::F32, &[1])), ErrorKind::InvalidName);
    assert_eq!(refused(dense("a", DType::F32, &[1; 65])), ErrorKind::NotInFormat);
    let most = [dense("a", DType::F32, &[1; 64])];
    Writer::new(NewFile::new(Format::Ztensor2, &most), &mut [0; 100]).unwrap();
    assert_eq!(refused(dense("a", DType::F32, &[1 << 40, 1 << 40, 0])), ErrorKind::ShapeOverflow);
    let coo = |indices| NewTensor {
        name: "a",
        shape: &[4],
        layout: NewLayout::Coo { dtype: DType::F32, count: 1, indices },
        attributes: &[],
    };
    assert_eq!(refused(coo(DType::I64)), ErrorKind::IndexType);
    assert_eq!(refused(coo(DType::U16)), ErrorKind::IndexType);
    let pointers = NewLayout::Csr { dtype: DType::F32, count: 1, indices: DType::U32, pointers: DType::U64 };
    assert_eq!(refused(NewTensor { shape: &[1, 1], layout: pointers, ..coo(DType::U32) }), ErrorKind::IndexType);
    let pairs = NewLayout::Pairs { dtype: DType::F32, count: 1 };
    assert_eq!(refused(NewTensor { layout: pairs, ..coo(DType::U32) }), ErrorKind::NotInFormat);

    let one = NewValue::U8(1);
    let unsorted = [NewValue::Text("aa"), one, NewValue::Text("z"), one];
    let twice = [NewValue::Text("z"), one, NewValue::Text("z"), one];
    let numbers = [one, one];
    let odd = [NewValue::Text("z")];
    let values = [
        (NewValue::Map(&unsorted), ErrorKind::KeyOrder),
        (NewValue::Map(&twice), ErrorKind::KeyOrder),
        (NewValue::Map(&numbers), ErrorKind::NotInFormat),
        (NewValue::Map(&odd), ErrorKind::InvalidArgument),
    ];
    for (value, kind) in values {
        let attributes = [NewAttribute { key: "k", value }];
        assert_eq!(refused(NewTensor { attributes: &attributes, ..dense("a", DType::F32, &[1]) }), kind);
        let list = [value];
        let attributes = [NewAttribute::new("j", 1_u8), NewAttribute { key: "k", value: NewValue::List(&list) }];
        let file = NewFile::new(Format::Ztensor2, &[]).attributes(&attributes);
        let error = Writer::new(file, &mut [0; 100]).unwrap_err();
        let message = file.explain(&error).to_string();
        assert_eq!((error.kind(), error.declaration()), (kind, Some(1)), "{message}");
        assert_eq!(
            kind == ErrorKind::KeyOrder,
            message.contains("short ones first, then by their bytes"),
            "{message}"
        );
    }
    for (key, kind) in [("", ErrorKind::NameLength), ("\0", ErrorKind::InvalidName), (&long, ErrorKind::NameLength)] {
        let attributes = [NewAttribute::new(key, 1_u8)];
        let file = NewFile::new(Format::Ztensor2, &[]).attributes(&attributes);
        assert_eq!(Writer::new(file, &mut [0; 100]).unwrap_err().kind(), kind);
        assert_eq!(refused(NewTensor { attributes: &attributes, ..dense("a", DType::F32, &[1]) }), kind);
    }
    let attributes = [NewAttribute::new("k", 1_u8), NewAttribute::new("j", 1_u8), NewAttribute::new("k", 2_u8)];
    assert_eq!(
        refused(NewTensor { attributes: &attributes, ..dense("a", DType::F32, &[1]) }),
        ErrorKind::RepeatedKey
    );
    #[cfg(feature = "gguf")]
    {
        // The attributes of blocks may be declared, but not with other values.
        use tenslice::blocks::BlockType;
        let attributes = [NewAttribute::new("z", 1_u8), NewAttribute::new("block_bytes", 34_u8)];
        let blocks = |block_type| NewTensor { attributes: &attributes, ..NewTensor::blocks("a", block_type, &[32]) };
        assert_eq!(refused(blocks(BlockType::Q4_0)), ErrorKind::CountsDiffer);
        let tensors = [blocks(BlockType::Q8_0)];
        let bytes = written(NewFile::new(Format::Ztensor2, &tensors), &[0; 34]);
        let file = File::open(&bytes).unwrap();
        let keys: Vec<_> = file
            .find("a")
            .unwrap()
            .attributes()
            .map(|attribute| attribute.key.unwrap().as_text().unwrap().to_string())
            .collect();
        assert_eq!(keys, ["z", "block_bytes", "elems_per_block"]);
        let partial = [NewTensor::blocks("a", BlockType::Q8_0, &[33])];
        let error = Writer::new(NewFile::new(Format::Ztensor2, &partial), &mut [0; 100]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PartialBlock);
    }
    for alignment in [64, 2048, 4096 + 64, 12288] {
        let file = NewFile::new(Format::Ztensor2, &[]).alignment(alignment);
        assert_eq!(Writer::new(file, &mut [0; 100]).unwrap_err().kind(), ErrorKind::InvalidAlignment);
    }
}

/// Values nested as deeply as the reader accepts, and one level more.
#[test]
#[cfg(feature = "ztensor2")]
fn nested_attributes() {
    fn nested<R>(depth: usize, value: NewValue<'_>, use_value: &mut dyn FnMut(NewValue<'_>) -> R) -> R {
        if depth == 0 { use_value(value) } else { nested(depth - 1, NewValue::List(&[value]), use_value) }
    }
    for depth in 20..40 {
        nested(depth, NewValue::Null, &mut |value| {
            let attributes = [NewAttribute { key: "k", value }];
            let tensors = [NewTensor { attributes: &attributes, ..NewTensor::dense("a", DType::U8, &[0]) }];
            for (file, most) in [
                (NewFile::new(Format::Ztensor2, &[]).attributes(&attributes), 30),
                (NewFile::new(Format::Ztensor2, &tensors), 28),
            ] {
                match Writer::new(file, &mut [0; 100]) {
                    Ok(_) => assert!(depth <= most && File::open(&written(file, &[])).is_ok(), "{depth}"),
                    Err(error) => assert_eq!((error.kind(), depth > most), (ErrorKind::TooDeep, true), "{depth}"),
                }
            }
        });
    }
}

/// Elements with bits that their type does not allow are refused when they pass, before a byte of them is written.
#[test]
#[cfg(feature = "ztensor2")]
fn elements_that_ztensor2_refuses() {
    let boolean = [NewTensor::dense("b", DType::BOOL, &[3])];
    let odd = [NewTensor::dense("f4", DType::F4_E2M1, &[3])];
    let even = [NewTensor::dense("f4", DType::F4_E2M1, &[4])];
    let write = |tensors, data: &[u8], piece| {
        let mut sink = Collected::new();
        let result = write_in(NewFile::new(Format::Ztensor2, tensors), data, piece, &mut sink);
        result.map(drop).map_err(|error| {
            assert_eq!(error.declaration(), Some(0));
            error.kind()
        })
    };
    for piece in [1, 2, 8] {
        assert_eq!(write(&boolean, &[0, 1, 1], piece), Ok(()));
        assert_eq!(write(&boolean, &[0, 1, 2], piece), Err(ErrorKind::InvalidElement));
        assert_eq!(write(&boolean, &[0xff, 1, 0], piece), Err(ErrorKind::InvalidElement));
        assert_eq!(write(&odd, &[0xff, 0x0f], piece), Ok(()));
        assert_eq!(write(&odd, &[0xff, 0x1f], piece), Err(ErrorKind::InvalidElement));
        assert_eq!(write(&even, &[0xff, 0xff], piece), Ok(()));
    }
}

#[test]
#[cfg(feature = "ztensor2")]
fn frames_that_are_refused() {
    let refused = |file: NewFile<'_>| Writer::new(file, &mut [0; 100]).unwrap_err().kind();
    let file = NewFile::new(Format::Ztensor2, TENSORS);
    assert_eq!(refused(file.frames(0)), ErrorKind::NotInFormat);
    assert_eq!(refused(file.frames((16 << 20) + 1)), ErrorKind::NotInFormat);
    Writer::new(file.frames(16 << 20), &mut [0; 100]).unwrap();
    #[cfg(feature = "safetensors")]
    assert_eq!(refused(NewFile::new(Format::Safetensors, TENSORS).frames(16)), ErrorKind::NotInFormat);
    let huge = [NewTensor::dense("a", DType::U8, &[(1 << 27) + 1])];
    assert_eq!(refused(NewFile::new(Format::Ztensor2, &huge).frames(1)), ErrorKind::TooMany);
    let two = [NewTensor::dense("a", DType::U8, &[1]), NewTensor::dense("b", DType::U8, &[(1 << 27) + 1])];
    let file_of_two = NewFile::new(Format::Ztensor2, &two).frames(1);
    let error = Writer::new(file_of_two, &mut [0; 100]).unwrap_err();
    assert_eq!((error.kind(), error.declaration()), (ErrorKind::TooMany, Some(1)));
    let text = file_of_two.explain(&error).to_string();
    assert!(text.contains("tensor 1 \"b\": "), "{text}");
    let most = [NewTensor::dense("a", DType::U8, &[1 << 27])];
    assert_eq!(refused(NewFile::new(Format::Ztensor2, &most).frames(1)), ErrorKind::OutOfScratch);
    // Only a table of the frames needs memory for each frame.
    #[cfg(feature = "ztensor")]
    Writer::new(NewFile::new(Format::Ztensor, &most).frames(1), &mut [0; 100]).unwrap();
    let message = |file: NewFile<'_>| file.explain(&Writer::new(file, &mut [0; 100]).unwrap_err()).to_string();
    let length = "a frame must have 1 byte to 16 MiB decoded";
    assert_eq!(message(file.frames(0)), format!("{}: {length}", Format::Ztensor2));

    let tensors = [NewTensor::dense("a", DType::BOOL, &[40])];
    let (framed, raw) =
        (NewFile::new(Format::Ztensor2, &tensors).frames(FRAME), NewFile::new(Format::Ztensor2, &tensors));
    let write = |file, encoded: &[u8], decoded: &[u8]| {
        let mut scratch = vec![0; Writer::scratch_length(&file).unwrap()];
        let mut writer = Writer::new(file, &mut scratch).unwrap();
        let mut sink = Collected::new();
        writer.begin(&mut sink).unwrap();
        writer.frame(&mut sink, encoded, decoded).map_err(|error| error.kind())
    };
    let good = frame(&[1; 16]);
    assert_eq!(write(framed, &good, &[1; 16]), Ok(()));
    assert_eq!(write(raw, &good, &[1; 16]), Err(ErrorKind::WrongState));
    assert_eq!(write(framed, &frame(&[1; 15]), &[1; 15]), Err(ErrorKind::WrongLength));
    let mut scratch = vec![0; Writer::scratch_length(&framed).unwrap()];
    let mut writer = Writer::new(framed, &mut scratch).unwrap();
    let mut sink = Collected::new();
    writer.begin(&mut sink).unwrap();
    let error = writer.frame(&mut sink, &frame(&[1; 15]), &[1; 15]).unwrap_err();
    let text = framed.explain(&error).to_string();
    assert!(text.contains("must have the same length decoded"), "{text}");
    assert_eq!(write(framed, &frame(&[1; 17]), &[1; 17]), Err(ErrorKind::WrongLength));
    assert_eq!(write(framed, &frame(&[1; 15]), &[1; 16]), Err(ErrorKind::InvalidFrame));
    assert_eq!(write(framed, &good[..good.len() - 1], &[1; 16]), Err(ErrorKind::InvalidFrame));
    let without_checksum = zstd::bulk::compress(&[1; 16], 3).unwrap();
    assert_eq!(write(framed, &without_checksum, &[1; 16]), Err(ErrorKind::InvalidFrame));
    assert_eq!(write(framed, &frame(&[2; 16]), &[2; 16]), Err(ErrorKind::InvalidElement));

    // A frame before the start, and after a failure.
    let mut scratch = vec![0; Writer::scratch_length(&framed).unwrap()];
    let (mut writer, mut sink) = (Writer::new(framed, &mut scratch).unwrap(), Collected::new());
    assert_eq!(writer.frame(&mut sink, &good, &[1; 16]).unwrap_err().kind(), ErrorKind::WrongState);
    writer.begin(&mut sink).unwrap();
    assert_eq!(writer.frame(&mut sink, &good[1..], &[1; 16]).unwrap_err().kind(), ErrorKind::InvalidFrame);
    assert_eq!(writer.frame(&mut sink, &good, &[1; 16]).unwrap_err().kind(), ErrorKind::WrongState);

    let mut scratch = vec![0; Writer::scratch_length(&framed).unwrap()];
    let mut writer = Writer::new(framed, &mut scratch).unwrap();
    assert_eq!(writer.length(), None);
    writer.begin(&mut Collected::new()).unwrap();
    assert_eq!(writer.data(&mut Collected::new(), &[1]).unwrap_err().kind(), ErrorKind::WrongState);
    let short = scratch.len() - 1;
    assert_eq!(Writer::new(framed, &mut scratch[..short]).unwrap_err().kind(), ErrorKind::OutOfScratch);
}

/// Files of the corpus that state nothing besides the tensor, written again: the bytes are the same.
#[test]
#[cfg(feature = "tens")]
fn tens_files_are_written_again() {
    let mut count = 0;
    for case in crate::support::cases_of("tens") {
        let (expected, header) = (&case.expected, &case.expected["header"]);
        let dims = expected["dims"].as_array().into_iter().flatten();
        let are_plain =
            dims.enumerate().all(|(index, dim)| dim["name"] == (97 + index) % 256 && dim["sparse"] == false);
        let chunks = expected["chunks"].as_array().map_or(0, Vec::len);
        let is_plain = expected["version"] == 65536 && expected["tensors"][0]["byte_order"] == "little" && are_plain;
        let has_pairs = header["flags"] == 1;
        if case.expect() != "accept" || !is_plain || chunks != usize::from(!has_pairs) {
            continue;
        }
        let opened = File::open(&case.bytes).unwrap();
        let tensor = opened.tensors().next().unwrap();
        let shape: Vec<u64> = tensor.shape().iter().collect();
        let dtype = tensor.dtype().unwrap();
        let data = tensor.components().next().unwrap().stored().unwrap();
        let pairs = data.len() as u64 / (8 + dtype.size().unwrap());
        let layout = if has_pairs { NewLayout::Pairs { dtype, count: pairs } } else { NewLayout::Dense(dtype) };
        let tensors = [NewTensor { name: "", shape: &shape, layout, attributes: &[] }];
        assert!(written(NewFile::new(Format::Tens, &tensors), data) == case.bytes, "{}", case.name());
        count += 1;
    }
    assert!(count >= 60, "{count} files");
}

#[test]
#[cfg(feature = "blz")]
fn blz_files_are_written_again() {
    let mut count = 0;
    for case in crate::support::cases_of("blz") {
        let is_clean = case.expected["warnings"].as_array().is_none_or(Vec::is_empty);
        if case.expect() != "accept" || !is_clean {
            continue;
        }
        let opened = File::open(&case.bytes).unwrap();
        let tensor = opened.tensors().next().unwrap();
        let shape: Vec<u64> = tensor.shape().iter().collect();
        let ranks: Vec<u64> = opened.as_blz().unwrap().bond_dimensions().collect();
        let data: Vec<u8> = tensor.components().flat_map(|core| core.stored().unwrap().to_vec()).collect();
        let layout = NewLayout::Train { dtype: tensor.dtype().unwrap(), ranks: &ranks };
        let tensors = [NewTensor { name: "", shape: &shape, layout, attributes: &[] }];
        assert!(written(NewFile::new(Format::Blz, &tensors), &data) == case.bytes, "{}", case.name());
        count += 1;
    }
    assert!(count >= 40, "{count} files");
}

/// An array whose chunks are smaller than the array. The writer of one piece is resumed near the ends of the chunks.
#[test]
#[cfg(feature = "b2nd")]
fn b2nd_arrays_of_several_chunks() {
    const MIB: u64 = 1 << 20;
    for (shape, chunks) in [(&[3, 3 * MIB][..], 3), (&[1, 5 * MIB, 1], 2), (&[5, MIB], 2), (&[2, 3, MIB], 2)] {
        let tensors = [NewTensor::dense("", DType::U8, shape)];
        let file = NewFile::new(Format::B2nd, &tensors);
        let data = data_of(&tensors);
        let bytes = written(file, &data);
        check(&bytes, &tensors, &data);
        let opened = File::open(&bytes).unwrap();
        assert_eq!(opened.as_b2nd().unwrap().chunk_count(), chunks as u64, "{shape:?}");
        let chunk = (bytes.len() - bytes.len() % MIB as usize) / chunks;
        let ends = (0..=chunks).flat_map(|index| {
            let end = (index * chunk) as u64;
            end.saturating_sub(20)..end + 400
        });
        for at in ends.step_by(7).filter(|at| *at <= bytes.len() as u64) {
            let mut writer = Writer::new(file, &mut []).unwrap();
            let mut rest = Vec::new();
            let mut sink = |offset: u64, piece: &[u8]| {
                assert_eq!(offset, at + rest.len() as u64);
                rest.extend_from_slice(piece);
                Ok::<(), SinkError>(())
            };
            writer.resume(&mut sink, at).unwrap();
            let start = writer.due().map_or(data.len(), |due| due.offset as usize);
            writer.data(&mut sink, &data[start..]).unwrap();
            writer.finish(&mut sink).unwrap();
            assert!(rest == bytes[at as usize..], "{shape:?}, resumed at {at}");
        }
    }
}

/// The bytes that c-blosc2 writes for the same array at level 0, with one chunk, one block and one thread.
#[test]
#[cfg(feature = "b2nd")]
fn b2nd_as_the_reference_writes_it() {
    let tensors = [NewTensor::dense("", DType::F32, &[2, 3])];
    let data = data_of(&tensors);
    let zeros = |count| vec![0; count];
    let be = |number: u64| number.to_be_bytes();
    let short = |number: u32| number.to_be_bytes();
    let expected = [
        &b"\x9e\xa8b2frame\0\xd2\0\0\0\xa5\xcf"[..],
        &be(165 + 32 + 24 + 32 + 8 + 35),
        &[0xa4, 0x12, 0, 1, 2, 0xd3],
        &be(24),
        &[0xd3],
        &be(24 + 32),
        &[0xd2, 0, 0, 0, 4, 0xd2, 0, 0, 0, 24, 0xd2, 0, 0, 0, 24, 0xd1, 0, 0, 0xd1, 0, 1, 0xc2, 0xd8, 6],
        &zeros(6),
        &[1],
        &zeros(9),
        b"\x93\xcd\0\x11\xde\0\x01\xa4b2nd\xd2\0\0\0\x6b\xdc\0\x01\xc6\0\0\0\x35\x97\0\x02\x92\xd3",
        &be(2),
        &[0xd3],
        &be(3),
        &[0x92, 0xd2],
        &short(2),
        &[0xd2],
        &short(3),
        &[0x92, 0xd2],
        &short(2),
        &[0xd2],
        &short(3),
        b"\0\xdb\0\0\0\x03<f4",
        &[5, 1, 7, 4, 24, 0, 0, 0, 24, 0, 0, 0, 56, 0, 0, 0],
        &zeros(6),
        &[1],
        &zeros(9),
        &data,
        &[5, 1, 7, 8, 8, 0, 0, 0, 8, 0, 0, 0, 40, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        &zeros(10 + 8),
        b"\x94\x01\x93\xcd\0\x06\xde\0\0\xdc\0\0\xce\0\0\0\x23\xd8\0",
        &zeros(16),
    ]
    .concat();
    assert_eq!(written(NewFile::new(Format::B2nd, &tensors), &data), expected);
}

#[test]
#[cfg(all(feature = "tens", feature = "blz", feature = "b2nd"))]
fn what_formats_of_one_tensor_refuse() {
    use DType as D;

    let refused = |format, tensor: NewTensor<'_>| {
        let tensors = [tensor];
        Writer::new(NewFile::new(format, &tensors), &mut []).unwrap_err().kind()
    };
    let dense = |dtype, shape| NewTensor::dense("", dtype, shape);
    let lanes = D::I16.with_lanes(2).unwrap();
    for (format, dtypes) in [
        (Format::Tens, &[D::F16, D::BF16, D::BOOL, D::F8_E5M2, D::F4_E2M1, D::F16.with_lanes(2).unwrap()][..]),
        (Format::B2nd, &[D::BF16, D::F8_E4M3FN, D::F8_E8M0, D::F4_E2M1, D::I128, D::F128, lanes]),
    ] {
        for dtype in dtypes {
            assert_eq!(refused(format, dense(*dtype, &[8])), ErrorKind::NotInFormat, "{format} {dtype}");
        }
        let attributes = [NewAttribute::new("k", "v")];
        assert_eq!(
            refused(format, NewTensor { attributes: &attributes, ..dense(D::F32, &[1]) }),
            ErrorKind::NotInFormat
        );
    }
    for dtype in [D::U8, D::U16, D::U32, D::U64, D::U128, D::I8, D::I16, D::I32, D::I64, D::I128] {
        for lanes in [1, 2, 4, 8] {
            let tensors = [dense(dtype.with_lanes(lanes).unwrap(), &[2])];
            let data = data_of(&tensors);
            check(&written(NewFile::new(Format::Tens, &tensors), &data), &tensors, &data);
        }
    }
    for dtype in [
        D::BOOL,
        D::U8,
        D::I8,
        D::U16,
        D::U32,
        D::U64,
        D::I16,
        D::I32,
        D::I64,
        D::F16,
        D::F32,
        D::F64,
        D::C64,
        D::C128,
    ] {
        let tensors = [dense(dtype, &[2, 3])];
        let data = if dtype == D::BOOL { vec![1; 6] } else { data_of(&tensors) };
        let bytes = written(NewFile::new(Format::B2nd, &tensors), &data);
        check(&bytes, &tensors, &data);
        assert_eq!(File::open(&bytes).unwrap().tensors().next().unwrap().dtype(), Some(dtype));
    }
    assert_eq!(refused(Format::Tens, dense(D::U8, &[1 << 32])), ErrorKind::NotInFormat);
    // The most dimensions that the reader accepts, and one more. A length is 0, so that there is no room for a pair.
    let lengths = vec![0; if cfg!(target_pointer_width = "64") { (1 << 27) + 1 } else { 0 }]; // no page takes memory
    if !lengths.is_empty() {
        let pair = |shape| NewTensor { layout: NewLayout::Pairs { dtype: D::F64, count: 1 }, ..dense(D::F64, shape) };
        assert_eq!(refused(Format::Tens, pair(&lengths[1..])), ErrorKind::TooManyPairs);
        assert_eq!(refused(Format::Tens, pair(&lengths)), ErrorKind::NotInFormat);
    }
    assert_eq!(refused(Format::B2nd, dense(D::U8, &[1; 17])), ErrorKind::NotInFormat);
    assert_eq!(refused(Format::B2nd, dense(D::U8, &[2, 1 << 30])), ErrorKind::NotInFormat);
    assert_eq!(refused(Format::B2nd, dense(D::U8, &[1 << 63])), ErrorKind::NotInFormat);
    assert_eq!(refused(Format::B2nd, dense(D::U8, &[1 << 62, 2])), ErrorKind::ShapeOverflow);
    // Readers multiply the lengths from left to right.
    assert_eq!(refused(Format::B2nd, dense(D::U8, &[1 << 62, 4, 0])), ErrorKind::ShapeOverflow);
    let pairs = |count| NewTensor { layout: NewLayout::Pairs { dtype: D::F64, count }, ..dense(D::F64, &[2, 3]) };
    assert_eq!(refused(Format::Tens, pairs(7)), ErrorKind::TooManyPairs);
    assert_eq!(refused(Format::B2nd, pairs(1)), ErrorKind::NotInFormat);

    let shape = [2, 3];
    let train = |dtype, ranks| NewTensor { layout: NewLayout::Train { dtype, ranks }, ..dense(dtype, &shape) };
    assert_eq!(refused(Format::Blz, dense(D::F64, &[1])), ErrorKind::NotInFormat);
    assert_eq!(refused(Format::Blz, train(D::F32, &[1, 2, 1])), ErrorKind::NotInFormat);
    assert_eq!(refused(Format::Blz, train(D::F64, &[1, 1])), ErrorKind::RankMismatch);
    assert_eq!(refused(Format::Blz, train(D::F64, &[1, 2, 1, 1])), ErrorKind::RankMismatch);
    assert_eq!(refused(Format::Blz, train(D::F64, &[2, 2, 1])), ErrorKind::BoundaryRank);
    assert_eq!(refused(Format::Blz, train(D::F64, &[1, 2, 2])), ErrorKind::BoundaryRank);
    assert_eq!(refused(Format::Blz, train(D::F64, &[1, 0, 1])), ErrorKind::ZeroLength);
    let zero = NewTensor { shape: &[2, 0], ..train(D::F64, &[1, 2, 1]) };
    assert_eq!(refused(Format::Blz, zero), ErrorKind::ZeroLength);
    assert_eq!(refused(Format::Blz, NewTensor { shape: &[], ..train(D::F64, &[1]) }), ErrorKind::NotInFormat);
    let many = NewTensor { shape: &[1; 256], ..train(D::F64, &[1; 257]) };
    assert_eq!(refused(Format::Blz, many), ErrorKind::NotInFormat);

    for format in [Format::Tens, Format::Blz, Format::B2nd] {
        let tensors = [if format == Format::Blz { train(D::F64, &[1, 2, 1]) } else { dense(D::F64, &[1]) }; 2];
        let kind = |file: NewFile<'_>| {
            let error = Writer::new(file, &mut []).unwrap_err();
            (error.kind(), file.explain(&error).to_string())
        };
        let two = kind(NewFile::new(format, &tensors));
        assert_eq!(two, (ErrorKind::NotInFormat, format!("{format}: the format holds one tensor, not 2")));
        assert_eq!(kind(NewFile::new(format, &[])).0, ErrorKind::NotInFormat);
        let one = NewFile::new(format, &tensors[..1]);
        let aligned = (ErrorKind::NotInFormat, format!("{format}: the format has no alignment that can be set"));
        assert_eq!(kind(one.alignment(8)), aligned);
        assert_eq!(kind(one.attributes(ATTRIBUTES)).0, ErrorKind::NotInFormat);
        assert_eq!(kind(one.frames(16)).0, ErrorKind::NotInFormat);
    }
}
