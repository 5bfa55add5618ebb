//! Checks that hold for any bytes. A file opened whole and in parts is the same, down to the last attribute. Every
//! offset lies inside the file, and every error has a message and an offset inside the file. Reading returns the
//! promised size, does not depend on the previous contents of the memory, and writes nothing if it fails early.

use std::fmt::{self, Write};

use tenslice::{
    Attributes, Component, Error, ErrorKind, File, Layout, Need, Opened, Purpose, ReadOptions, Source, Tensor, Value,
    Verification, Warning,
};

/// The largest amount of memory in bytes that a file of the fuzzer is given.
pub const LARGEST: u64 = 1 << 18;

/// Opens a file in both ways, and reads everything in it.
pub fn all(bytes: &[u8]) -> Result<File<'_>, Error> {
    let file = open(bytes)?;
    verify(&file, bytes);
    file.tensors().for_each(|tensor| read(&tensor));
    Ok(file)
}

/// Does the same with a file that must be valid.
pub fn sound(bytes: &[u8]) -> File<'_> {
    all(bytes).unwrap_or_else(|error| panic!("{}", error.explain(bytes)))
}

/// Opens a file whole and in parts, and compares the two.
pub fn open(bytes: &[u8]) -> Result<File<'_>, Error> {
    open_given(bytes, &[])
}

/// Opens a file whole and in parts. `given` lists the ranges that are available from the start: begin and end.
pub fn open_given<'b>(bytes: &'b [u8], given: &[(usize, usize)]) -> Result<File<'b>, Error> {
    let whole = File::open(bytes);
    let mut source = Source::new(bytes.len() as u64);
    for &(from, to) in given {
        source.add(from as u64, &bytes[from..to]).unwrap();
    }
    let mut asked: Vec<Need> = Vec::new();
    let in_parts = loop {
        match File::open_source(&source) {
            Ok(Opened::Need(need)) => {
                assert!(!asked.contains(&need), "{need:?} again");
                assert!(need.extent.is_within(bytes.len() as u64), "{need:?} lies outside");
                asked.push(need);
                let from = need.extent.offset as usize;
                source.add(need.extent.offset, &bytes[from..from + need.extent.length as usize]).unwrap();
            }
            Ok(Opened::File(_)) | Err(_) => {
                break File::open_source(&source).map(|opened| match opened {
                    Opened::File(file) => file,
                    Opened::Need(need) => panic!("open, and then {need:?}"),
                });
            }
        }
    };
    match (&whole, &in_parts) {
        (Ok(whole), Ok(in_parts)) => same(whole, in_parts, bytes),
        (Err(whole), Err(in_parts)) => {
            assert_eq!(whole, in_parts);
            explained(*whole, bytes);
        }
        (whole, in_parts) => panic!("{whole:?} whole, {in_parts:?} in parts"),
    }
    whole
}

/// Checks that an error of opening has an offset inside the file, and a message.
pub fn explained(error: Error, bytes: &[u8]) {
    struct Length(usize);
    impl Write for Length {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }
    assert!(error.offset().is_some_and(|at| at <= bytes.len() as u64), "{error:?}");
    assert!(error.entry().is_none_or(|at| at <= bytes.len() as u64), "{error:?}");
    let mut length = Length(0);
    write!(length, "{}", error.explain(bytes)).unwrap();
    assert!(length.0 > 10, "{error:?}");
}

/// Compares the lists of a file that was opened in both ways.
fn same(whole: &File<'_>, in_parts: &File<'_>, bytes: &[u8]) {
    assert_eq!((whole.format(), whole.version()), (in_parts.format(), in_parts.version()));
    assert_eq!((whole.tensor_count(), whole.warnings()), (in_parts.tensor_count(), in_parts.warnings()));
    same_attributes(whole.attributes(), in_parts.attributes(), 0);
    let (mut tensors, mut others) = (whole.tensors(), in_parts.tensors());
    let mut words = vec![0; whole.index_length().unwrap()];
    let index = whole.index(&mut words);
    let mut count = 0;
    while let (Some(tensor), Some(other)) = (tensors.next(), others.next()) {
        assert_eq!(tensor.index(), count);
        count += 1;
        assert!(tensor.name() == other.name() && tensor.dtype() == other.dtype() && tensor.shape() == other.shape());
        assert!(tensor.layout() == other.layout() && tensor.layout_name() == other.layout_name());
        assert!(tensor.order() == other.order() && tensor.warnings() == other.warnings());
        assert_eq!(tensor.problem(), other.problem());
        unreadable(whole, &tensor, bytes);
        same_attributes(tensor.attributes(), other.attributes(), 0);
        found(whole, &index, &tensor);
        let (mut components, mut theirs) = (tensor.components(), other.components());
        while let (Some(component), Some(other)) = (components.next(), theirs.next()) {
            assert!(component.role() == other.role() && component.extent() == other.extent());
            assert!(component.dtype() == other.dtype() && component.storage_dtype() == other.storage_dtype());
            assert!(component.byte_order() == other.byte_order() && component.shard() == other.shard());
            assert!(component.encoding() == other.encoding() && component.encoding_name() == other.encoding_name());
            assert!(component.digest() == other.digest() && component.decoded_length() == other.decoded_length());
            if component.shard().is_none() {
                let extent = component.extent();
                assert!(extent.is_within(bytes.len() as u64), "{extent:?}");
                let from = extent.offset as usize;
                assert_eq!(component.stored().unwrap(), &bytes[from..from + extent.length as usize]);
                assert_eq!(other.with_bytes(component.stored().unwrap()).unwrap().stored(), component.stored());
            }
        }
        assert!(components.next().is_none() && theirs.next().is_none());
        assert_eq!((components.error(), theirs.error()), (None, None));
    }
    assert!(tensors.next().is_none() && others.next().is_none());
    assert_eq!((tensors.error(), others.error()), (None, None));
    assert_eq!(count, whole.tensor_count());
    let enough = whole.check_length().unwrap();
    assert_eq!(Some(enough), in_parts.check_length());
    let checked = whole.check(&mut vec![0; enough]);
    assert_eq!(checked, in_parts.check(&mut vec![0; enough]));
    assert_ne!(checked.err().map(|error| error.kind()), Some(ErrorKind::OutOfScratch));
    for words in [5, 512] {
        match whole.check(&mut vec![0; words]) {
            Err(error) if error.kind() == ErrorKind::OutOfScratch => assert!(words < enough),
            found => assert_eq!(found.map_err(|error| error.kind()), checked.map_err(|error| error.kind())),
        }
    }
}

/// Checks that a tensor that cannot be read has its own error, that each call that reads it returns that error, and
/// that the file has the warning.
fn unreadable(file: &File<'_>, tensor: &Tensor<'_>, bytes: &[u8]) {
    let Some(problem) = tensor.problem() else {
        return assert!(!tensor.warnings().contains(Warning::UnreadableTensor));
    };
    assert!(tensor.warnings().contains(Warning::UnreadableTensor));
    assert!(file.warnings().first_tensor(Warning::UnreadableTensor).is_some_and(|first| first <= tensor.index()));
    explained(problem, bytes);
    // A lazy array states the dtype that it will have.
    assert!(tensor.layout() == Layout::Other && (tensor.dtype().is_none() || problem.kind() == ErrorKind::NoValues));
    assert_eq!(tensor.data().unwrap_err(), problem);
    assert_eq!(tensor.read_into(&mut [], ReadOptions::new()).unwrap_err(), problem);
    assert_eq!(tensor.read_f32_into(&mut [], ReadOptions::new()).unwrap_err(), problem);
    assert_eq!(tensor.verify(ReadOptions::new()).unwrap_err(), problem);
}

/// Checks that a tensor is found by its name. If the name is repeated, an earlier tensor may be found.
fn found(file: &File<'_>, index: &Result<tenslice::Index<'_, '_>, Error>, tensor: &Tensor<'_>) {
    let text = tensor.name();
    let decoded;
    let name = match text.as_str() {
        Some(name) => name,
        None => {
            decoded = text.to_string();
            &decoded
        }
    };
    let found = file.find(name).unwrap();
    assert!(found.index() <= tensor.index() && found.name() == text);
    match index {
        Ok(index) => assert_eq!(index.find(name).unwrap().index(), found.index()),
        Err(error) => assert!([ErrorKind::RepeatedName, ErrorKind::RepeatedKey].contains(&error.kind()), "{error:?}"),
    }
}

/// Compares all values. The values of a long skipped list may not be in memory.
fn same_attributes(mut whole: Attributes<'_>, mut in_parts: Attributes<'_>, depth: usize) {
    assert!(depth < 200);
    assert_eq!((whole.length(), whole.extent()), (in_parts.length(), in_parts.extent()));
    loop {
        match (whole.next(), in_parts.next()) {
            (Some(one), Some(other)) => {
                match (one.key, other.key) {
                    (Some(one), Some(other)) => same_value(one, other, depth),
                    (one, other) => assert!(one.is_none() && other.is_none()),
                }
                same_value(one.value, other.value, depth);
            }
            (None, None) => break,
            (Some(_), None) => {
                let error = in_parts.error().map(|error| error.kind());
                assert!(depth > 0 && error == Some(ErrorKind::NotInMemory), "{error:?}");
                return;
            }
            (None, Some(other)) => panic!("{other:?}"),
        }
    }
    assert_eq!((whole.error(), in_parts.error()), (None, None));
}

fn same_value(one: Value<'_>, other: Value<'_>, depth: usize) {
    match (one, other) {
        (Value::Text(one), Value::Text(other)) => {
            assert!(one == other && one.length() == one.chars().map(char::len_utf8).sum::<usize>())
        }
        (Value::Bytes(one), Value::Bytes(other)) => assert_eq!(one, other),
        (Value::Integer(one), Value::Integer(other)) => assert_eq!(one, other),
        (Value::Float(one), Value::Float(other)) => assert_eq!(one.to_bits(), other.to_bits()),
        (Value::Bool(one), Value::Bool(other)) => assert_eq!(one, other),
        (Value::Tagged(one, _), Value::Tagged(other, _)) if one != other => panic!("{one}, {other}"),
        (one, other) => match (one.items(), other.items()) {
            (Some(inside), Some(others)) => {
                assert_eq!(one.kind(), other.kind());
                same_attributes(inside, others, depth + 1);
            }
            _ => assert_eq!(format!("{one:?}"), format!("{other:?}")),
        },
    }
}

/// Verifies a file, and checks that the counts match those of verifying each component.
pub fn verify(file: &File<'_>, bytes: &[u8]) {
    let length = file.requirements(Purpose::Verify).scratch.filter(|length| *length <= LARGEST);
    let mut scratch = vec![0x5a; length.unwrap_or(0) as usize];
    let mut verify = |component: Component<'_>| component.verify(ReadOptions::new().scratch(&mut scratch));
    let states: Vec<_> = file.tensors().flat_map(|tensor| tensor.components()).map(&mut verify).collect();
    let count = |state| states.iter().filter(|found| **found == Ok(state)).count() as u64;
    match file.verify(ReadOptions::new().scratch(&mut scratch)) {
        Ok(all) => {
            assert_eq!(all.verified, count(Verification::Verified));
            assert_eq!(all.without_digest, count(Verification::NoDigest));
            assert_eq!(all.unknown_digest, count(Verification::UnknownDigest));
            assert!(states.iter().all(Result::is_ok));
        }
        Err(error) => {
            // The error belongs to a component, to the indices of a sparse tensor, to texts, to a tensor that cannot be
            // read, to the header of a compressed array, or to chunks without values.
            let of_tensor = |tensor: Tensor<'_>| {
                // Indices and texts, which only a check of the tensor reads.
                let is_checked = ["onnx.sparse", "tflite.sparse", "tflite.string"]
                    .iter()
                    .any(|name| tensor.layout_name() == *name);
                if is_checked && tensor.verify(ReadOptions::new()) == Err(error) {
                    return true;
                }
                [tensor.sparse(ReadOptions::new()).err(), tensor.problem(), describe(&tensor)].contains(&Some(error))
            };
            let is_of_chunks = error.kind() == ErrorKind::NoValues && file.as_b2nd().is_some();
            assert!(states.contains(&Err(error)) || is_of_chunks || file.tensors().any(of_tensor));
            explained(error, bytes);
        }
    }
}

/// Describes a tensor, with the memory that it needs and with less. Returns its error.
fn describe(tensor: &Tensor<'_>) -> Option<Error> {
    let Some(length) = tensor.requirements(Purpose::Describe).scratch else {
        return Some(tensor.describe(ReadOptions::new()).expect_err("has no length"));
    };
    let mut room = vec![0x5a; length.min(LARGEST) as usize];
    if let Some((_, short)) = room.split_first_mut() {
        assert_eq!(tensor.describe(ReadOptions::new().scratch(short)).unwrap_err().kind(), ErrorKind::OutOfScratch);
    }
    match tensor.describe(ReadOptions::new().scratch(&mut room)) {
        Ok(described) => {
            assert_eq!(described.shape.iter().count(), described.shape.rank() as usize);
            let is_known = tensor.layout_name() != "npy";
            assert!(!is_known || (described.dtype, described.stated_type) == (tensor.dtype(), tensor.stated_type()));
            None
        }
        Err(error) => Some(error),
    }
}

/// Reads a tensor in every way.
pub fn read(tensor: &Tensor<'_>) {
    _ = describe(tensor);
    for component in tensor.components().filter(|component| component.shard().is_none()) {
        let caps = component.caps();
        assert_eq!(caps.bytes, component.bytes().is_ok());
        let length = component.decoded_length();
        let tried = length.unwrap_or(4096).min(LARGEST) as usize;
        let read = |fill: u8| {
            let mut room = vec![fill; tried];
            let result = component.read_into(&mut room, ReadOptions::new()).map(|decoded| decoded.len());
            (result, room)
        };
        let (result, mut room) = read(0);
        match result {
            Ok(decoded) => {
                assert!(caps.decode && length.is_none_or(|length| length == decoded as u64));
                room.truncate(decoded);
                assert!(read(0xa5).1.starts_with(&room));
                ranges(&component, &room);
            }
            Err(error) => {
                let is_unknown = length.is_none() || length > Some(LARGEST);
                assert!(error.kind() != ErrorKind::TooSmall || is_unknown, "{error:?}");
                assert!(!caps.decode || error.kind().code() >= 200, "{error:?}");
            }
        }
        // Too small by one byte: nothing is written.
        if let Some(less) = length.filter(|length| (1..=LARGEST).contains(length)) {
            let mut room = vec![0x3c; less as usize - 1];
            assert!(component.read_into(&mut room, ReadOptions::new()).is_err());
            assert!(room.iter().all(|byte| *byte == 0x3c));
        }
        let _ = (component.as_slice::<f32>().map(<[f32]>::len), component.elements::<u64>().map(Iterator::count));
    }
    sparse(tensor);
    dense(tensor);
}

/// Checks that a range is a part of the whole, at any offset.
fn ranges(component: &Component<'_>, whole: &[u8]) {
    let Some(length) = component.requirements(Purpose::ReadRange).scratch.filter(|length| *length <= LARGEST) else {
        return;
    };
    let mut scratch = vec![0x11; length as usize];
    let lane = component.dtype().map_or(1, |dtype| dtype.lane_size());
    let lanes = whole.len() / lane;
    for (from, to) in [(0, lanes), (lanes / 3, lanes / 2), (lanes / 2, lanes), (lanes, lanes)] {
        let (from, to) = (from * lane, to * lane);
        let mut part = vec![0x22; to - from];
        component.read_range_into(from as u64, &mut part, ReadOptions::new().scratch(&mut scratch)).unwrap();
        assert_eq!(part, whole[from..to]);
    }
    // A range that ends outside, or in the middle of a number: nothing is written.
    let mut part = vec![0x22; lane];
    assert!(
        component
            .read_range_into((lanes * lane) as u64, &mut part, ReadOptions::new().scratch(&mut scratch))
            .is_err()
    );
    if lane > 1 {
        assert!(component.read_range_into(1, &mut part, ReadOptions::new().scratch(&mut scratch)).is_err());
    }
    assert!(part.iter().all(|byte| *byte == 0x22));
}

/// Checks that the indices of a sparse tensor are inside its shape.
fn sparse(tensor: &Tensor<'_>) {
    if ![Layout::SparseCsr, Layout::SparseCoo, Layout::IndexValue].contains(&tensor.layout()) {
        assert!(tensor.sparse(ReadOptions::new()).is_err());
        return;
    }
    let length = tensor.requirements(Purpose::Read).scratch.unwrap_or(1 << 12).min(LARGEST);
    let mut scratch = vec![0x33; length as usize];
    let Ok(sparse) = tensor.sparse(ReadOptions::new().scratch(&mut scratch)) else { return };
    let shape: Vec<u64> = sparse.shape().iter().collect();
    assert_eq!(sparse.iter().count() as u64, sparse.stored());
    for entry in &sparse {
        for (dimension, length) in (0..).zip(&shape) {
            assert!(entry.index(dimension).unwrap() < *length);
        }
        assert_eq!(sparse.dtype().size(), Some(entry.bytes().unwrap().len() as u64));
    }
}

/// Checks that a dense tensor has the promised length, and that a range as `f32` is a part of the whole. Returns the
/// bytes; `None` if they are too many or cannot be read.
pub fn dense(tensor: &Tensor<'_>) -> Option<Vec<u8>> {
    // Each element of a tensor train is computed from all of its cores.
    let largest = if tensor.layout() == Layout::TensorTrain { 1 << 10 } else { LARGEST };
    let length = tensor.requirements(Purpose::Read).output.filter(|length| *length <= largest);
    // Examines all chunks of a chunked array.
    let scratch = length.and_then(|_| tensor.requirements(Purpose::Read).scratch).filter(|length| *length <= largest);
    let mut bytes = None;
    if let (Some(length), Some(scratch)) = (length, scratch) {
        let read = |fill: u8| {
            let mut room = vec![fill; length as usize];
            let result = tensor
                .read_into(&mut room, ReadOptions::new().scratch(&mut vec![!fill; scratch as usize]))
                .map(|dense| dense.len() as u64);
            (result, room)
        };
        let (result, room) = read(0);
        let (again, other) = read(0xa5);
        assert_eq!(result, again);
        match result {
            Ok(written) => {
                assert_eq!((written, &room), (length, &other));
                bytes = Some(room);
            }
            Err(error) => {
                assert!(![ErrorKind::TooSmall, ErrorKind::OutOfScratch].contains(&error.kind()), "{error:?}");
            }
        }
    }
    if length.is_none_or(|_| scratch.is_some()) {
        numbers(tensor, largest);
    }
    bytes
}

fn numbers(tensor: &Tensor<'_>, largest: u64) {
    let Some(count) = tensor.shape().element_count().filter(|count| *count <= largest) else { return };
    let Some(scratch) = tensor.requirements(Purpose::ReadF32).scratch.filter(|length| *length <= largest) else {
        return;
    };
    let (mut numbers, mut range) = (vec![0.5; count as usize], vec![0.25; (count - count / 3) as usize]);
    let read =
        tensor.read_f32_into(&mut numbers, ReadOptions::new().scratch(&mut vec![0x44; scratch as usize])).map(drop);
    if let Err(error) = read {
        assert!(![ErrorKind::TooSmall, ErrorKind::OutOfScratch].contains(&error.kind()), "{error:?}");
    }
    if tensor.read_f32_range(count / 3, &mut range).is_ok() {
        read.unwrap();
        let bits =
            |numbers: &[f32]| numbers.iter().map(|x| if x.is_nan() { 1 } else { x.to_bits() }).collect::<Vec<_>>();
        assert_eq!(bits(&numbers[(count / 3) as usize..]), bits(&range));
    }
    assert!(tensor.read_f32_range(count, &mut [0.0]).is_err());
}
