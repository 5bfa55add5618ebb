use tenslice::File;
use unicode_width::UnicodeWidthStr;

use crate::support::{Folder, fixture, out, run};

/// The rows of the list add up to the file, and include the bytes of each tensor.
#[test]
fn every_byte_is_in_the_map() {
    let files = [
        "v1.2/digests.zt",
        "v0.1/dense_all_dtypes.zt",
        "v2/dense_all_dtypes_4k.zt",
        "safetensors/py_tiny_mlp.safetensors",
        "gguf/align_4096.gguf",
        "npz/stored.npz",
        "blz/good/nd10_qtt_c64.blz",
        "b2nd/good/many_tiny_chunks_0.b2nd",
    ];
    for name in files {
        let path = fixture(name);
        let bytes = std::fs::read(&path).unwrap();
        let text = out(&["layout", &path]);
        let list = text.lines().skip_while(|line| !line.trim_start().starts_with("offset")).skip(1);
        let rows: Vec<(u64, u64)> = list
            .map(|line| {
                let mut numbers = line.split_whitespace().map(|word| word.parse().unwrap_or(0));
                (numbers.next().unwrap(), numbers.next().unwrap())
            })
            .collect();
        let mut at = 0;
        for (offset, length) in &rows {
            assert_eq!(*offset, at, "{name}: {text}");
            at += length;
        }
        assert_eq!(at, bytes.len() as u64, "{name}");
        for tensor in &File::open(&bytes).unwrap() {
            for component in tensor.components() {
                let extent = component.extent();
                assert!(rows.contains(&(extent.offset, extent.length)), "{name}: {text}");
            }
        }
    }
}

/// The lengths and kinds of the parts, in order.
fn rows(path: &str) -> Vec<(u64, String)> {
    let text = out(&["layout", path]);
    let list = text.lines().skip_while(|line| !line.trim_start().starts_with("offset")).skip(1);
    let of_line = |line: &str| {
        let length = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        (length, line.find('(').map_or("data", |at| &line[at..]).to_string())
    };
    list.map(of_line).collect()
}

/// Long values are skipped when a file is opened, but they are metadata.
#[test]
fn large_metadata_is_one_part() {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend([1_u64, 3].map(u64::to_le_bytes).concat());
    for key in ["tokenizer.ggml.tokens", "tokenizer.ggml.merges", "tokenizer.ggml.more"] {
        bytes.extend([text(key), 9_u32.to_le_bytes().to_vec(), 8_u32.to_le_bytes().to_vec()].concat());
        bytes.extend(100_000_u64.to_le_bytes());
        (0..100_000).for_each(|i| bytes.extend(text(&format!("token{i}"))));
    }
    bytes.extend([text("a"), 1_u32.to_le_bytes().to_vec(), 8_u64.to_le_bytes().to_vec(), vec![0; 12]].concat());
    bytes.resize(bytes.len().next_multiple_of(32) + 32, 0);
    let folder = Folder::new();
    let found = rows(&folder.write("large.gguf", &bytes));
    assert_eq!(found, [(bytes.len() as u64 - 32, "(metadata)".to_string()), (32, "data".into())]);
}

/// The contents of padding are undefined in zTensor 0.1 and ignored in zTensor 2.
#[test]
fn alignment_gaps_are_padding() {
    let folder = Folder::new();
    for (name, alignment) in [("v2/dense_all_dtypes_4k.zt", 4096), ("v0.1/dense_all_dtypes.zt", 64)] {
        let mut bytes = std::fs::read(fixture(name)).unwrap();
        let unchanged = rows(&folder.write("a.zt", &bytes));
        assert!(unchanged.iter().any(|(_, what)| what == "(padding)"), "{name}: {unchanged:?}");
        let mut at = 0;
        for (length, what) in &unchanged {
            if what == "(padding)" && *length < alignment {
                bytes[at as usize..(at + length) as usize].fill(0xab);
            }
            at += length;
        }
        let filled = rows(&folder.write("b.zt", &bytes));
        let expected: Vec<_> =
            unchanged.iter().map(|(length, what)| (*length, what.replace("(padding)", "(padding, not 0)"))).collect();
        assert_eq!(filled, expected, "{name}");
    }
}

#[test]
fn a_bar_that_fits() {
    let narrow = out(&["layout", "--width", "40", &fixture("v1.2/digests.zt")]);
    let lines: Vec<&str> = narrow.lines().collect();
    assert_eq!(lines[1].width(), 38);
    assert!(lines[1].contains('#') && lines[1].contains('█'), "{narrow}");
    assert!(lines[1..].iter().all(|line| line.width() <= 40), "{narrow}");
    assert!(narrow.contains("data begins at multiples of 64"), "{narrow}");
    assert_eq!(out(&["layout", "--summary", &fixture("v1.2/digests.zt")]).lines().count(), 6);
    assert_eq!(run(&["layout", &fixture("bad/v1.2/end_past_eof.zt")]).status, 1);
}
