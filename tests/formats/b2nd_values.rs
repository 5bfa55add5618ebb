//! Blosc2 frames whose values are in another file, not computed yet, or never written.
#![cfg(all(feature = "b2nd", feature = "dequantize"))]

use crate::support::frames::{Frame, repeated};
use crate::support::{fixture, open_in_parts};
use tenslice::{ByteOrder, Elements, ErrorKind, File, Layout, Purpose, ReadOptions, Source, Warning, b2nd};

fn file(name: &str) -> Vec<u8> {
    fixture(&format!("b2nd/no_values/{name}"))
}

/// Reads the rows from `start` to `stop` of an array of four columns, into memory filled with garbage.
fn rows(frame: &b2nd::Frame<'_>, start: u64, stop: u64) -> Result<Vec<f32>, ErrorKind> {
    let (mut room, mut scratch) = ([0x55; 96], [0xaa; 4096]);
    let read = frame.read_region(&[start, 0], &[stop, 4], &mut room, ReadOptions::new().scratch(&mut scratch));
    let read = read.map_err(|error| error.kind())?;
    Ok(Elements::<f32>::new(read, ByteOrder::Big).collect())
}

const UNFETCHED: &str = "it is a proxy of another array, and this chunk was not fetched";

#[test]
fn absent_values_are_errors() {
    for (name, layout, says) in [
        ("lazyexpr.b2nd", "b2nd.lazy", "it is a lazy expression, to be computed from other arrays"),
        ("lazyudf.b2nd", "b2nd.lazy", "it is a lazy expression"),
        ("lazyarray.b2nd", "b2nd.lazy", "it is a lazy expression"),
        ("object.b2nd", "b2nd.lazy", "its metalayer b2o makes it an object of an unknown kind"),
        ("proxy_blocks.b2nd", "b2nd.proxy", "it is a proxy of another array, with parts of its chunks"),
        ("c2array.b2nd", "b2nd.lazy", "it refers to an array on a server"),
        ("proxy_none.b2nd", "b2nd.proxy", UNFETCHED),
        ("proxy_part.b2nd", "b2nd.proxy", UNFETCHED),
        ("remote_array.b2nd", "b2nd.lazy", "it refers to an array on a server"),
    ] {
        let bytes = file(name);
        let opened = File::open(&bytes).unwrap();
        let (tensor, frame) = (opened.find("").unwrap(), opened.as_b2nd().unwrap());
        assert_eq!((tensor.layout(), tensor.layout_name()), (Layout::Other, layout), "{name}");
        assert_eq!(tensor.shape(), [6, 4][..], "{name}");
        assert!(frame.dtype_text().is_some_and(|dtype| dtype.ends_with("f4")), "{name}");
        // A lazy array has no values at all, which has its own error kind. A proxy may have fetched some.
        let is_lazy = layout == "b2nd.lazy";
        let kind = |error: tenslice::Error| error.kind();
        assert_eq!(tensor.problem().map(kind), is_lazy.then_some(ErrorKind::NoValues), "{name}");
        assert_eq!(tensor.warnings().contains(Warning::UnreadableTensor), is_lazy, "{name}");
        assert_eq!(opened.warnings().first_tensor(Warning::UnreadableTensor), is_lazy.then_some(0), "{name}");
        let expected = if is_lazy { ErrorKind::NoValues } else { ErrorKind::NotDense };
        assert_eq!(tensor.data().unwrap_err().kind(), expected, "{name}");
        let (mut room, mut scratch) = ([0x55; 96], [0xaa; 4096]);
        let error = tensor.read_into(&mut room, ReadOptions::new().scratch(&mut scratch)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoValues, "{name}");
        let message = error.explain(&bytes[..]).to_string();
        assert!(message.contains("the values are not in this file: ") && message.contains(says), "{name}: {message}");
        assert!(message.contains("python-blosc2"), "{name}: {message}");
        assert_eq!(
            tensor.read_f32_into(&mut [0.0; 24], ReadOptions::new().scratch(&mut scratch)).map_err(kind),
            Err(ErrorKind::NoValues)
        );
        assert_eq!(
            tensor.read_elements(&mut [0_f32; 24], ReadOptions::new().scratch(&mut scratch)).map_err(kind),
            Err(ErrorKind::NoValues)
        );
        assert_eq!(tensor.requirements(Purpose::Read).scratch, None, "{name}");
        assert_eq!(rows(&frame, 0, 6), Err(ErrorKind::NoValues), "{name}");
        assert_eq!(rows(&frame, 0, 1), Err(ErrorKind::NoValues), "{name}");
        assert_eq!(
            frame.chunk(0, ReadOptions::new().scratch(&mut scratch)).unwrap_err().kind(),
            ErrorKind::NoValues,
            "{name}"
        );
        assert_eq!(opened.verify(ReadOptions::new()).map_err(kind), Err(ErrorKind::NoValues), "{name}");
        assert_eq!(opened.verify(ReadOptions::new().scratch(&mut scratch)).map_err(kind), Err(ErrorKind::NoValues));
        assert_eq!(tensor.components().count(), usize::from(layout == "b2nd.proxy"), "{name}");
    }
}

#[test]
fn reads_fetched_values_of_a_proxy() {
    let numbers = |rows: std::ops::Range<u16>| (rows.start * 4..rows.end * 4).map(|n| f32::from(n + 1)).collect();
    let bytes = file("proxy_part.b2nd");
    let opened = File::open(&bytes).unwrap();
    let frame = opened.as_b2nd().unwrap();
    assert_eq!(rows(&frame, 2, 4), Ok(numbers(2..4)));
    assert_eq!(rows(&frame, 3, 4), Ok(numbers(3..4)));
    assert_eq!(rows(&frame, 1, 3), Err(ErrorKind::NoValues));
    assert_eq!(rows(&frame, 3, 5), Err(ErrorKind::NoValues));
    assert!(frame.chunk(1, ReadOptions::new().scratch(&mut [0; 4096])).is_ok());

    let bytes = file("proxy_all.b2nd");
    let opened = File::open(&bytes).unwrap();
    let (tensor, frame) = (opened.find("").unwrap(), opened.as_b2nd().unwrap());
    assert_eq!(tensor.layout_name(), "b2nd.proxy");
    assert_eq!(rows(&frame, 0, 6), Ok(numbers(0..6)));
    // The values are big-endian. The caller of these functions need not know: the layout does not mention chunks.
    let (mut room, mut scratch) = ([0; 96], [0; 4096]);
    let read = tensor.read_into(&mut room, ReadOptions::new().scratch(&mut scratch)).unwrap();
    assert_eq!(Elements::<f32>::new(read, ByteOrder::NATIVE).collect::<Vec<_>>(), numbers(0..6));
    let (mut elements, mut floats, mut scratch) = ([0_f32; 24], [0_f32; 24], [0; 4096]);
    tensor.read_elements(&mut elements, ReadOptions::new().scratch(&mut scratch)).unwrap();
    tensor.read_f32_into(&mut floats, ReadOptions::new().scratch(&mut scratch)).unwrap();
    assert_eq!((&elements[..], &floats[..]), (&numbers(0..6)[..], &numbers(0..6)[..]));
    assert!(opened.verify(ReadOptions::new()).is_ok());

    // A frame of bytes, without an array.
    let bytes = file("proxy_bytes.b2frame");
    let opened = File::open(&bytes).unwrap();
    let frame = opened.as_b2nd().unwrap();
    let (mut room, mut scratch) = ([0x55; 40], [0xaa; 4096]);
    let stored: Vec<u8> = (17..33).collect();
    assert_eq!(frame.read_region(&[16], &[32], &mut room, ReadOptions::new().scratch(&mut scratch)).unwrap(), stored);
    for (start, stop) in [(0, 40), (15, 17), (31, 33)] {
        let error =
            frame.read_region(&[start], &[stop], &mut room, ReadOptions::new().scratch(&mut scratch)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoValues);
    }
}

/// Once a file is opened in parts, the metalayers are in memory and the chunks are not.
#[test]
fn absent_values_in_parts() {
    for name in ["lazyexpr.b2nd", "proxy_blocks.b2nd"] {
        let bytes = file(name);
        let whole = File::open(&bytes).unwrap();
        let mut source = Source::new(bytes.len() as u64);
        let opened = open_in_parts(&bytes, &[], &mut source).unwrap();
        let (tensor, expected) = (opened.find("").unwrap(), whole.find("").unwrap());
        assert_eq!(tensor.layout_name(), expected.layout_name());
        let (mut room, mut scratch) = ([0; 96], [0; 4096]);
        let error = tensor.read_into(&mut room, ReadOptions::new().scratch(&mut scratch)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoValues);
    }
}

#[test]
fn counts_chunks_never_written() {
    let bytes = file("uninit.b2nd");
    let opened = File::open(&bytes).unwrap();
    let (tensor, frame) = (opened.find("").unwrap(), opened.as_b2nd().unwrap());
    assert_eq!(tensor.layout(), Layout::Chunked);
    let (mut room, mut scratch) = ([0x55; 96], [0xaa; 4096]);
    tensor.read_into(&mut room, ReadOptions::new().scratch(&mut scratch)).unwrap();
    assert!(room[..32].iter().chain(&room[64..]).all(|byte| *byte == 0));
    assert_eq!(frame.uninitialised_chunks(ReadOptions::new().scratch(&mut scratch)), Ok(2));
    assert_eq!(frame.uninitialised_chunks(ReadOptions::new()), Ok(2));
    assert!(opened.warnings().is_empty(), "opening decodes nothing");
    for verified in
        [opened.verify(ReadOptions::new()).unwrap(), opened.verify(ReadOptions::new().scratch(&mut scratch)).unwrap()]
    {
        assert!(verified.warnings.contains(Warning::Uninitialised));
    }
    assert_eq!(opened.requirements(Purpose::Verify).scratch, frame.table_scratch_length().ok());
    for written in ["b2nd/good/nd02_lz4_0.b2nd", "b2nd/good/default_f4_0.b2nd", "b2nd/good/empty_0_disk_0.b2nd"] {
        let bytes = fixture(written);
        let opened = File::open(&bytes).unwrap();
        assert_eq!(opened.check_length(), Some(0), "a file of one tensor has nothing to compare");
        assert_eq!(
            opened.as_b2nd().unwrap().uninitialised_chunks(ReadOptions::new().scratch(&mut scratch)),
            Ok(0),
            "{written}"
        );
        assert!(opened.verify(ReadOptions::new()).unwrap().warnings.is_empty(), "{written}");
    }
}

/// In a repeating table only the first period is examined: 200 million chunks in a file of 300 bytes take no time.
#[test]
fn counts_many_chunks_by_period() {
    let special = |kind| [0, 0, 0, 0, 0, 0, 0, kind];
    let (zeros, uninitialised) = (special(0x81), special(0x84));
    let turns = 1 << 26;
    for (turn, expected) in [
        ([zeros, uninitialised, uninitialised].concat(), 2 * u64::from(turns)),
        ([zeros, zeros, uninitialised].concat(), u64::from(turns)),
        ([zeros, zeros, zeros].concat(), 0),
    ] {
        let table = repeated(&turn, 24 * turns);
        let bytes =
            Frame { table: &table, length: 3 * u64::from(turns), chunk_length: 1, ..Frame::default() }.bytes();
        let opened = File::open(&bytes).unwrap();
        assert_eq!(opened.as_b2nd().unwrap().uninitialised_chunks(ReadOptions::new()), Ok(expected));
        assert_eq!(
            opened.verify(ReadOptions::new()).unwrap().warnings.contains(Warning::Uninitialised),
            expected > 0
        );
    }
}
