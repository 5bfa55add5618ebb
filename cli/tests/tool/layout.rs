use tenslice::File;
use unicode_width::UnicodeWidthStr;

use crate::support::{fixture, out, run};

/// The rows of the list add up to the file, and have the bytes of each tensor.
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
