//! ExecuTorch's `.ptd`: the fixtures, every rule, the order of dimensions, and files read in parts.
#![cfg(feature = "ptd")]

use crate::support::flatbuffers::{Slot, Tables};
use crate::support::ptd::{DATA, FLATBUFFER, Ptd};
use crate::support::{cases_of, check_with_any_memory, damaged, fixture, open_in_parts};
use tenslice::{
    DType, ErrorKind, Extent, File, Format, Layout, Need, Opened, Order, Part, Purpose, ReadOptions, Source, Value,
    Warning,
};

const F32: i8 = 6;
const I8: i8 = 1;

/// Checks that a file is rejected, whole and in parts, and its message.
#[track_caller]
fn refused(bytes: &[u8], kind: ErrorKind, item: Part, message: &str) {
    let error = File::open(bytes).unwrap_err();
    let full = error.explain(bytes).to_string();
    assert_eq!((error.kind(), error.part(), error.format()), (kind, item, Format::Ptd), "{full}");
    assert!(full.contains(message), "{full}");
    for cut in (0..=bytes.len()).step_by(7) {
        let mut source = Source::new(bytes.len() as u64);
        let parts = open_in_parts(bytes, &[(0, cut), (cut, bytes.len())], &mut source);
        assert_eq!(parts.unwrap_err(), error, "cut at {cut}");
    }
}

/// Two tensors and a blob.
fn usual() -> Ptd {
    let mut file = Ptd::default();
    file.tensor("w", F32, &[2, 3], &[7; 24]).tensor("b", I8, &[3], &[1, 2, 3]);
    let segment = file.segment(b"bytes");
    file.name("blob", segment, None);
    file
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// A change of a header.
fn with(mut bytes: Vec<u8>, at: usize, number: u64) -> Vec<u8> {
    bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
    bytes
}

#[test]
fn the_verdicts_of_the_fixtures() {
    let mut counts = [0; 2];
    for case in cases_of("ptd") {
        let opened = File::open(&case.bytes);
        let expected = case.expect();
        assert!(expected != "reject" || opened.is_err(), "{}", case.name());
        assert!(!expected.starts_with("accept") || opened.is_ok(), "{}: {opened:?}", case.name());
        counts[usize::from(opened.is_ok())] += 1;
    }
    assert!(counts[0] > 90 && counts[1] > 20, "{counts:?}");
    for file in damaged("ptd") {
        assert_eq!(File::open(&file.bytes).is_err(), file.expect == "reject", "{}", file.name);
    }
}

#[test]
fn what_a_file_has() {
    let bytes = usual().bytes();
    let file = File::open(&bytes).unwrap();
    assert_eq!((file.format(), file.version(), file.tensor_count()), (Format::Ptd, Some("0"), 3));
    assert!(file.warnings().is_empty() && file.attributes().next().is_none());
    assert_eq!(file.check_length(), Some(0));
    let [w, b, blob] = ["w", "b", "blob"].map(|name| file.find(name).unwrap());
    assert_eq!((w.dtype(), w.layout(), w.order()), (Some(DType::F32), Layout::Dense, Order::RowMajor));
    assert!(w.shape() == [2, 3] && w.index() == 0 && w.attributes().next().is_none() && w.stated_type().is_none());
    assert_eq!((b.data().unwrap().bytes().unwrap(), b.index()), (&[1, 2, 3][..], 1));
    assert_eq!((blob.dtype(), blob.layout(), blob.layout_name()), (None, Layout::Other, "ptd.blob"));
    assert!(blob.shape() == [5] && blob.warnings().is_empty() && blob.attributes().next().is_none());
    assert_eq!(blob.component("data").unwrap().stored().unwrap(), b"bytes");
    assert_eq!(blob.read_into(&mut [0; 5], ReadOptions::new()).unwrap_err().kind(), ErrorKind::UnsupportedLayout);
    assert_eq!(file.find("x").unwrap_err().kind(), ErrorKind::NotFound);
    let segments: Vec<Extent> = file.as_ptd().unwrap().segments().collect();
    assert_eq!(segments, [&w, &b, &blob].map(|tensor| tensor.components().next().unwrap().extent()));
    assert_eq!(segments[0].length + segments[1].length + segments[2].length, 32);
    assert_eq!(File::open(&Ptd::default().bytes()).unwrap().tensor_count(), 0);
}

#[test]
fn the_header() {
    let (bytes, length) = (usual().bytes(), usual().bytes().len() as u64);
    for cut in 8..64 {
        let error = File::open(&bytes[..cut]).unwrap_err();
        assert_eq!(
            (error.kind(), error.part(), error.offset()),
            (ErrorKind::Truncated, Part::Header, Some(cut as u64))
        );
    }
    assert_eq!(File::open(&bytes[..7]).unwrap_err().format(), Format::Unknown);
    assert_eq!(File::open(&with(bytes.clone(), 4, 0)).unwrap_err().format(), Format::Unknown);
    let mut other = bytes.clone();
    other[11] = b'2';
    refused(&other, ErrorKind::Malformed, Part::Header, "the header does not begin with \"FH01\"");
    other = bytes.clone();
    other[12] = 39;
    refused(&other, ErrorKind::Malformed, Part::Length, "the header is shorter than 40 bytes");
    other[12] = 48;
    assert!(File::open(&other).is_ok());
    other[12] = 49;
    refused(&other, ErrorKind::OverHeader, Part::Manifest, "offset 48 + length");
    let set = |at, number| with(bytes.clone(), at, number);
    refused(&set(FLATBUFFER, 47), ErrorKind::Malformed, Part::Name, "does not end with NUL"); // a byte less of it
    refused(&set(FLATBUFFER, 39), ErrorKind::OverHeader, Part::Manifest, "overlap the header");
    refused(&set(FLATBUFFER, length), ErrorKind::OutOfFile, Part::Manifest, "extend past the end of the file");
    refused(&set(FLATBUFFER, u64::MAX), ErrorKind::OutOfFile, Part::Manifest, "");
    refused(&set(FLATBUFFER + 8, u64::MAX - 40), ErrorKind::OutOfFile, Part::Manifest, "");
    refused(&set(DATA + 8, 33), ErrorKind::OutOfFile, Part::Data, "33 bytes at offset");
    refused(&set(DATA, u64::MAX), ErrorKind::OutOfFile, Part::Data, "");
    refused(&set(DATA, 48), ErrorKind::OverManifest, Part::Data, "offset 48 + length 32");
    refused(&set(DATA + 8, 31), ErrorKind::OutOfPlace, Part::Length, "a segment reaches past the end of the data");
}

/// A flatbuffer above the limit, which is our own.
#[test]
fn the_largest_flatbuffer() {
    let mut bytes = Ptd::default().bytes();
    let mut open = |size: u64| {
        bytes[24..32].copy_from_slice(&size.to_le_bytes());
        let mut source = Source::new(1 << 32);
        source.add(0, &bytes).unwrap();
        File::open_source(&source).map(|opened| match opened {
            Opened::Need(Need { extent, keep: true }) => Some(extent),
            _ => None,
        })
    };
    assert_eq!(open((1 << 30) - 48), Ok(Some(Extent::new(0, 1 << 30))));
    assert_eq!(open((1 << 30) - 47).unwrap_err().kind(), ErrorKind::ManifestTooLarge);
}

#[test]
fn bytes_behind_the_data() {
    let mut bytes = usual().bytes();
    bytes.push(0);
    assert!(File::open(&bytes).unwrap().warnings().contains(Warning::TrailingBytes));
    let bytes = Ptd::default().bytes();
    assert!(File::open(&bytes).unwrap().warnings().is_empty());
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(File::open(&longer).unwrap().warnings().contains(Warning::TrailingBytes));
    // Without data, its place may be anywhere in the file.
    let end = (u64_at(&bytes, FLATBUFFER) + u64_at(&bytes, FLATBUFFER + 8)) as usize;
    assert!(File::open(&with(bytes[..end].to_vec(), DATA, 0)).unwrap().warnings().is_empty());
    assert!(File::open(&with(bytes, DATA, 1 << 40)).is_err());
}

#[test]
fn the_root_table() {
    let around = |slots: &[Slot]| {
        let mut tables = Tables(vec![0; 64]);
        let places = tables.table(0, slots).into_iter().zip(slots);
        for (at, _) in places.filter(|(_, slot)| matches!(slot, Slot::Offset)) {
            tables.offsets(at, 0);
        }
        Ptd::default().around(tables)
    };
    use Slot::{None, Offset, U32};
    assert!(File::open(&around(&[U32(0), Offset, Offset])).is_ok());
    refused(&around(&[U32(1), Offset, Offset]), ErrorKind::UnsupportedVersion, Part::Version, "not supported: 1 ");
    refused(&around(&[None, None, Offset]), ErrorKind::MissingKey, Part::Data, "\"segments\"");
    refused(&around(&[None, Offset, None]), ErrorKind::MissingKey, Part::Tensors, "\"named_data\"");
    for legacy in [&[None, Offset, Offset, Offset][..], &[None, Offset, Offset, None, Offset]] {
        refused(&around(legacy), ErrorKind::UnsupportedVersion, Part::Manifest, "ExecuTorch before 1.0");
    }
    assert!(File::open(&around(&[None, Offset, Offset, None, None, U32(7)])).is_ok()); // a field of a later version
}

#[test]
fn segments() {
    let file =
        |segments: &[(u64, u64)]| Ptd { segments: segments.into(), data: vec![0; 10], ..Ptd::default() }.bytes();
    for good in [&[(0, 4), (4, 6)][..], &[(0, 0), (0, 0), (1, 2), (10, 0)]] {
        let bytes = file(good);
        let opened = File::open(&bytes).unwrap();
        let segments = opened.as_ptd().unwrap().segments();
        assert_eq!(segments.count(), good.len());
    }
    for outside in [&[(0, 11)][..], &[(11, 0)], &[(7, 4)], &[(u64::MAX, 2)], &[(2, u64::MAX)]] {
        refused(&file(outside), ErrorKind::OutOfPlace, Part::Length, "a segment reaches past the end of the data");
    }
    for wrong in [&[(0, 4), (3, 2)][..], &[(4, 2), (0, 2)]] {
        refused(&file(wrong), ErrorKind::Overlap, Part::Offset, "a segment begins before the end of the one before");
    }
}

#[test]
fn names() {
    let mut file = Ptd::default();
    let segment = file.segment(&[1]);
    let with = |keys: &[&[u8]]| {
        let mut file = file.clone();
        for key in keys {
            file.name(key, segment, None);
        }
        file.bytes()
    };
    let bytes = with(&[b"", "\u{e9}\0".as_bytes(), b"a"]); // any text
    assert!(File::open(&bytes).unwrap().tensors().map(|tensor| tensor.name().length()).eq([0, 3, 1]));
    refused(&with(&[b"a", b"\xe9"]), ErrorKind::InvalidUtf8, Part::Name, "name: the text is not valid UTF-8");
    refused(&with(&[b"a", b"b", b"a"]), ErrorKind::RepeatedName, Part::Name, "a tensor name appears twice: \"a\"");
    let far = file.clone().name("w", 1, None).bytes();
    refused(&far, ErrorKind::OutOfPlace, Part::Components, "tensor \"w\": components: the file has no segment");
    let mut tables = Tables(vec![0; 64]);
    let root = tables.table(0, &[Slot::None, Slot::Offset, Slot::Offset]);
    tables.offsets(root[1], 0);
    let at = tables.offsets(root[2], 1)[0];
    tables.table(at, &[Slot::None, Slot::U32(0)]);
    refused(&Ptd::default().around(tables), ErrorKind::MissingKey, Part::Name, "\"key\"");
}

/// More names than are compared on opening.
#[test]
fn many_names() {
    let file = |last: &str| {
        let mut file = Ptd::default();
        let segment = file.segment(&[1]);
        for i in (0..1200).rev() {
            file.name(format!("{i:04}"), segment, None);
        }
        file.name(last, segment, None).bytes()
    };
    let bytes = file("x");
    let opened = File::open(&bytes).unwrap();
    assert!(opened.warnings().contains(Warning::NamesUnchecked));
    assert!(check_with_any_memory(&opened).unwrap().is_empty());
    let bytes = file("0700");
    let error = check_with_any_memory(&File::open(&bytes).unwrap()).unwrap_err();
    assert_eq!((error.kind(), error.part()), (ErrorKind::RepeatedName, Part::Name));
}

/// Tensors that share a layout would take more work than the bytes of the file. (Keys that share bytes: a fixture.)
#[test]
fn names_do_not_share_shapes() {
    let file = |count: usize| {
        let mut tables = Tables(vec![0; 64]);
        let root = tables.table(0, &[Slot::None, Slot::Offset, Slot::Offset]);
        let segment = tables.offsets(root[1], 1)[0];
        tables.table(segment, &[Slot::U64(0), Slot::U64(1)]);
        let mut layouts = Vec::new();
        for (at, key) in tables.offsets(root[2], count).into_iter().zip([b"a", b"b"]) {
            let table = tables.table(at, &[Slot::Offset, Slot::None, Slot::Offset]);
            tables.text(table[0], key);
            layouts.push(table[2]);
        }
        tables.align(4);
        let layout = tables.table(layouts[0], &[Slot::I8(I8), Slot::Offset, Slot::Offset]);
        layouts.iter().for_each(|at| tables.point_to(*at, layout[0] - 4));
        tables.vector(layout[1], 200, &1_i32.to_le_bytes().repeat(200));
        tables.vector(layout[2], 200, &(0..200).collect::<Vec<u8>>());
        Ptd { data: vec![0], ..Ptd::default() }.around(tables)
    };
    assert!(File::open(&file(1)).is_ok());
    refused(&file(2), ErrorKind::TooMany, Part::Name, "tensor \"b\": name: names and shapes share bytes");
}

#[test]
fn element_types() {
    use tenslice::DType as D;
    let plain = [
        (0, D::U8),
        (1, D::I8),
        (2, D::I16),
        (3, D::I32),
        (4, D::I64),
        (5, D::F16),
        (6, D::F32),
        (7, D::F64),
        (11, D::BOOL),
        (15, D::BF16),
        (23, D::F8_E5M2),
        (24, D::F8_E4M3FN),
        (25, D::F8_E5M2FNUZ),
        (26, D::F8_E4M3FNUZ),
        (27, D::U16),
        (28, D::U32),
        (29, D::U64),
    ];
    let opaque = [(12, "qint8", 1), (13, "quint8", 1), (14, "qint32", 4), (16, "quint4x2", 1), (17, "quint2x4", 1)];
    let opaque = [&opaque[..], &[(22, "bits16", 2)]].concat();
    for scalar in i8::MIN..=i8::MAX {
        let file = |bytes: usize| Ptd::default().tensor("t", scalar, &[3], &vec![5; 3 * bytes]).bytes();
        if let Some((_, dtype)) = plain.iter().find(|(number, _)| *number == scalar) {
            let bytes = file(dtype.size().unwrap() as usize);
            let opened = File::open(&bytes).unwrap();
            assert_eq!(
                (opened.find("t").unwrap().dtype(), opened.find("t").unwrap().stated_type()),
                (Some(*dtype), None)
            );
        } else if let Some((_, name, size)) = opaque.iter().find(|(number, ..)| *number == scalar) {
            let bytes = file(*size);
            let opened = File::open(&bytes).unwrap();
            let tensor = opened.find("t").unwrap();
            assert_eq!((tensor.dtype(), tensor.stated_type()), (None, Some(name.as_bytes())));
            assert_eq!(tensor.attributes().get_i64("scalar_type"), Some(scalar.into()));
            assert_eq!((tensor.layout(), tensor.attributes().count()), (Layout::Dense, 1));
            assert_eq!(tensor.data().unwrap().bytes().unwrap().len(), 3 * size);
        } else {
            let message =
                if scalar >= 0 { format!("in this format version: {scalar} ") } else { "tensor \"t\"".into() };
            refused(&file(1), ErrorKind::UnknownDType, Part::DType, &message);
        }
    }
}

#[test]
fn shapes_and_sizes() {
    let file = |sizes: &[i32], bytes: usize| Ptd::default().tensor("t", F32, sizes, &vec![0; bytes]).bytes();
    for (sizes, bytes) in [(&[][..], 4), (&[0, 2], 0), (&[i32::MAX, i32::MAX, i32::MAX, 0], 0), (&[1; 30], 4)] {
        assert!(File::open(&file(sizes, bytes)).is_ok(), "{sizes:?}");
    }
    for (sizes, bytes) in [(&[][..], 5), (&[2, 3], 23), (&[2, 3], 25), (&[2, 3], 0), (&[0], 1)] {
        refused(&file(sizes, bytes), ErrorKind::SizeMismatch, Part::Shape, &format!("length {bytes}, shape ["));
    }
    refused(&file(&[2, 3], 23), ErrorKind::SizeMismatch, Part::Shape, "shape [2, 3], dtype f32, which takes 24");
    refused(&file(&[2, -1], 8), ErrorKind::NegativeLength, Part::Shape, "tensor \"t\": shape: a length is negative");
    let large = [i32::MAX; 3];
    refused(&file(&large, 0), ErrorKind::ShapeOverflow, Part::Shape, "exceeds 64 bits");
}

#[test]
fn orders_of_dimensions() {
    let file = |sizes: &[i32], order: Vec<u8>, bytes: usize| {
        Ptd::default().ordered("t", I8, sizes, order, &(0..bytes as u8).collect::<Vec<_>>()).bytes()
    };
    for (order, kind) in [
        (vec![], ErrorKind::RankMismatch),
        (vec![0], ErrorKind::RankMismatch),
        (vec![0, 1, 2], ErrorKind::RankMismatch),
        (vec![0, 0], ErrorKind::Malformed),
        (vec![1, 1], ErrorKind::Malformed),
        (vec![0, 2], ErrorKind::Malformed),
        (vec![255, 0], ErrorKind::Malformed),
    ] {
        refused(&file(&[2, 3], order, 6), kind, Part::Order, "element order: dim_order ");
    }
    let bytes = file(&[2, 3], vec![1, 0], 6);
    let opened = File::open(&bytes).unwrap();
    let tensor = opened.find("t").unwrap();
    assert_eq!((tensor.layout(), tensor.order()), (Layout::Dense, Order::ColumnMajor));
    assert_eq!(tensor.strides(&mut [0; 2]).unwrap(), [1, 2]);
    let order = |tensor: &tenslice::Tensor<'_>| -> Vec<i128> {
        let mut all = tensor.attributes();
        let found = all.next().filter(|found| found.key.and_then(|key| key.as_str()) == Some("dim_order"));
        assert!(all.next().is_none() && all.error().is_none());
        let list = found.and_then(|found| found.value.items()).into_iter().flatten();
        list.map(|item| if let Value::Integer(number) = item.value { number } else { panic!("{item:?}") }).collect()
    };
    assert_eq!(order(&tensor), [1, 0]);

    // Channels last: the bytes are those of the shape 2, 2, 3 with the dimensions 0, 2, 1.
    let bytes = file(&[2, 3, 2], vec![0, 2, 1], 12);
    let opened = File::open(&bytes).unwrap();
    let tensor = opened.find("t").unwrap();
    assert_eq!(
        (tensor.layout(), tensor.layout_name(), tensor.order()),
        (Layout::Strided, "strided", Order::RowMajor)
    );
    assert_eq!(tensor.strides(&mut [0; 3]).unwrap(), [6, 1, 3]);
    assert_eq!(order(&tensor), [0, 2, 1]);
    let mut elements = [0; 12];
    assert_eq!(tensor.requirements(Purpose::Read).output, Some(12));
    tensor.read_into(&mut elements, ReadOptions::new()).unwrap();
    assert_eq!(elements, [0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11]);
    assert_eq!(tensor.read_into(&mut [0; 11], ReadOptions::new()).unwrap_err().kind(), ErrorKind::TooSmall);
    assert_eq!(tensor.data().unwrap_err().kind(), ErrorKind::NotDense);
    #[cfg(feature = "dequantize")]
    {
        let mut floats = [0.0; 12];
        tensor.read_f32_into(&mut floats, ReadOptions::new().scratch(&mut [0; 12])).unwrap();
        assert_eq!(floats[..4], [0.0, 3.0, 1.0, 4.0]);
    }

    // A tensor without a dtype has both attributes.
    const QINT8: i8 = 12;
    let bytes = Ptd::default().ordered("t", QINT8, &[2, 3], vec![1, 0], &[0; 6]).bytes();
    let opened = File::open(&bytes).unwrap();
    let attributes = opened.find("t").unwrap().attributes();
    assert_eq!((attributes.get_i64("scalar_type"), attributes.count()), (Some(QINT8.into()), 2));

    // Lengths of 1 make no difference to the bytes, but the list is what counts.
    let bytes = file(&[1, 1, 1], vec![0, 2, 1], 1);
    assert_eq!(File::open(&bytes).unwrap().find("t").unwrap().layout(), Layout::Strided);
}

#[test]
fn the_highest_ranks() {
    let file = |rank: usize, order: Vec<u8>| Ptd::default().ordered("t", I8, &vec![1; rank], order, &[9]).bytes();
    let rising = |rank: usize| (0..rank).map(|i| i as u8).collect::<Vec<_>>();
    let swapped = |rank: usize| {
        let mut order = rising(rank);
        order.swap(0, 1);
        order
    };
    let bytes = file(256, rising(256));
    assert_eq!(File::open(&bytes).unwrap().find("t").unwrap().shape().rank(), 256);
    for order in [rising(256).into_iter().rev().collect(), swapped(256)] {
        assert!(File::open(&file(256, order)).is_ok());
    }
    for order in [rising(257), swapped(257), vec![0; 257]] {
        refused(&file(257, order), ErrorKind::Malformed, Part::Order, "dim_order");
    }
    let read = |rank: usize| {
        let bytes = file(rank, swapped(rank));
        let opened = File::open(&bytes).unwrap();
        let tensor = opened.find("t").unwrap();
        tensor.read_into(&mut [0], ReadOptions::new()).map(|elements| elements[0]).map_err(|error| error.kind())
    };
    assert_eq!([3, 64, 65].map(read), [Ok(9), Ok(9), Err(ErrorKind::TooMany)]);
}

/// Names that share a segment, as the Python serializer writes tied weights.
#[test]
fn names_that_share_a_segment() {
    let bytes = fixture("ptd/py_tied.ptd");
    let file = File::open(&bytes).unwrap();
    let [a, b] = ["tied.a", "tied.b"].map(|name| file.find(name).unwrap().data().unwrap());
    assert_eq!((a.extent(), a.bytes()), (b.extent(), b.bytes()));
    assert!((file.as_ptd().unwrap().segments().count() as u64) < file.tensor_count());
}

/// Opening requests the head, and then everything before the data. The data comes later.
#[test]
fn in_parts() {
    let bytes = usual().bytes();
    let mut source = Source::new(bytes.len() as u64);
    let mut ranges = Vec::new();
    let file = loop {
        match File::open_source(&source).unwrap() {
            Opened::File(file) => break file,
            Opened::Need(need) => {
                ranges.push((need.extent.offset, need.extent.length));
                let from = need.extent.offset as usize;
                source.add(need.extent.offset, &bytes[from..from + need.extent.length as usize]).unwrap();
            }
        }
    };
    let data = u64::from_le_bytes(bytes[DATA..DATA + 8].try_into().unwrap());
    assert_eq!(ranges[..2], [(0, 16), (0, 64)]);
    assert!(ranges.len() == 3 && ranges[2].0 == 0 && ranges[2].1 <= data, "{ranges:?}");
    let w = file.find("w").unwrap();
    assert_eq!(w.data().unwrap().bytes().unwrap_err().kind(), ErrorKind::NotInMemory);
    let mut with_data = source.clone();
    with_data.add(data, &bytes[data as usize..]).unwrap();
    assert_eq!(w.with_source(&with_data).unwrap().data().unwrap().bytes().unwrap(), [7; 24]);
}
