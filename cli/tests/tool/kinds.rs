//! NumPy types that are not numbers, and long doubles, are listed, shown and written as they are.

use std::fs;

use serde_json::Value;
use tenslice::{File, ReadOptions};

use crate::support::{Folder, fixture, npy, npz, out, run};

const STORED: &str = "npz/numpy_kinds.npz";
const DEFLATED: &str = "npz/numpy_kinds_deflated.npz";

/// The name, type and elements of each array according to NumPy.
const KINDS: [(&str, &str, &str); 16] = [
    (
        "record",
        "[('name', '<U6'), ('age', '<i4'), ('weight', '>f4'), ('born', '<M8[D]'), ('ok', '|b1'), ('v', '<i2', (2,))]",
        "{name: \"Rex\", age: 9, weight: 81.3, born: 2024-02-29, ok: true, v: [1, 2]} \
         {name: \"Fidoö\", age: 3, weight: 27.5, born: NaT, ok: false, v: [3, -4]}",
    ),
    ("text", ">U3", "\"a\"b\" \"😀\" \"\""),
    ("bytes", "|S3", "b\"ab\" b\"\\xff\\x00c\" b\"\""),
    ("time", "<M8[25s]", "1970-01-01T00:00:00 1970-01-01T00:01:15 NaT"),
    ("big_time", ">M8[s]", "2024-02-29T12:34:56 NaT"),
    ("duration", "<m8[us]", "-5us NaT"),
    ("no_unit", "<M8", "NaT"),
    ("long", "<f16", "0.10000000000000000555 0.33333333333333331483 inf -2.0"),
    ("big_long", ">f16", "0.10000000000000000555 0.33333333333333331483 inf -2.0"),
    ("complex_long", "<c32", "(1.0, 2.0)"),
    (
        "columns",
        "[('x', '<i2'), ('y', '>i4')]",
        "{x: 1, y: 2} {x: 7, y: 8} {x: 3, y: 4} {x: 9, y: 10} {x: 5, y: 6} {x: 11, y: 12}",
    ),
    (
        "aligned",
        "[('a', '|i1'), ('', '|V3'), ('b', '<i4'), (('a title', 'café'), '<U1')]",
        "{a: 1, b: 2, café: \"z\"}",
    ),
    ("greek", "[('α', '<u2')]", "{α: 5}"),
    ("bits", "|V2", "01ff"),
    ("none", "[('x', '<U3')]", ""),
    ("point", "<M8[m]", "1969-12-31T23:59"),
];

fn record(file: &str) -> Value {
    serde_json::from_str(&out(&["list", "--json", file])).unwrap()
}

#[test]
fn compressed_entries_are_listed_as_stored_ones_are() {
    let [stored, deflated] = [STORED, DEFLATED].map(fixture);
    let (a, b) = (record(&stored), record(&deflated));
    let table = out(&["list", "--all", &deflated]);
    for (i, (name, stated, _)) in KINDS.iter().enumerate() {
        let [a, b] = [&a, &b].map(|record| &record["tensors"][i]);
        assert_eq!((&b["name"], &b["stated_type"], &b["dtype"]), (&(*name).into(), &(*stated).into(), &Value::Null));
        for key in ["stated_type", "dtype", "shape", "order", "layout"] {
            assert_eq!(a[key], b[key], "{name} {key}");
        }
        assert_eq!(a["layout"], "dense");
        assert!(table.contains(stated), "{stated}\n{table}");
    }
    assert!(table.contains("[2, 3]") && table.contains("dense, column-major") && !table.contains("compressed"));
    assert_eq!(record(&fixture("npz/deflated_kinds.npz"))["tensors"][0]["stated_type"], "<f8");
    assert_eq!(record(&fixture("npy/hm_double_quotes.npy"))["tensors"][0]["stated_type"], "<f4");
    let same = out(&["diff", &stored, &deflated]);
    assert!(same.ends_with("16 tensors the same, 0 differ\n"), "{same}");
    let same = out(&["diff", "--no-values", &stored, &deflated]);
    assert!(same.contains("16 tensors the same"), "{same}");
    // In a table, the type of a record has at most 100 columns.
    assert!(out(&["list", &deflated]).contains("('ok', '|b1'), ('v', '<i2'…"), "{table}");
}

#[test]
fn elements_are_shown_as_what_they_are() {
    for file in [STORED, DEFLATED].map(fixture) {
        for (name, stated, elements) in KINDS {
            let text = out(&["show", &file, name]);
            assert!(text.contains(&format!("    values:  {elements}\n")), "{name}: {text}");
            assert!(text.contains(&format!("  {stated} [")), "{name}: {text}");
            let note = "note:    long double, read as the 80-bit floats of x86\n";
            assert_eq!(text.contains(note), name.contains("long"), "{name}: {text}");
        }
        let row = out(&["show", &file, "long", "--slice", "1"]);
        assert!(row.contains("[1, :] inf -2.0"), "{row}");
        let record = out(&["show", &file, "columns", "--slice", "1,0"]);
        assert!(record.contains("{x: 7, y: 8}"), "{record}");
    }
    let text = out(&["show", &fixture("b2nd/good/dt_st20_lz4_0.b2nd")]);
    assert!(text.contains("  [('k', 'S4'), ('v', '>f8'), ('w', '<f4', (2,))] [15, 8]"), "{text}");
    assert!(text.contains("values:  {k: b\"") && text.contains(", w: ["), "{text}");
}

/// The written file has the same type, shape, order and bytes, in a header that NumPy reads.
#[test]
fn arrays_are_written_as_they_are() {
    let folder = Folder::new();
    let path = folder.path("x.npy");
    let stored = fs::read(fixture(STORED)).unwrap();
    let stored = File::open(&stored).unwrap();
    for file in [STORED, DEFLATED].map(fixture) {
        for (name, ..) in KINDS {
            out(&["extract", &file, name, "-o", &path, "--force"]);
            let written = fs::read(&path).unwrap();
            let written = File::open(&written).unwrap();
            let (found, expected) = (written.find("").unwrap(), stored.find(name).unwrap());
            assert_eq!(found.stated_type(), expected.stated_type(), "{name}");
            assert_eq!((found.shape(), found.order()), (expected.shape(), expected.order()), "{name}");
            assert_eq!(found.data().unwrap().bytes(), expected.data().unwrap().bytes(), "{name}");
            let [found, expected] =
                [found, expected].map(|array| array.describe(ReadOptions::new()).unwrap().is_latin_1);
            assert_eq!(found, expected, "{name}");
        }
        out(&["extract", &file, "columns", "-o", &path, "--force", "--row-major"]);
        let text = out(&["show", &path]);
        assert!(text.contains("values:  {x: 1, y: 2} {x: 3, y: 4} {x: 5, y: 6}"), "{text}");
    }
    for name in ["b2nd/good/dt_st20_lz4_0.b2nd", "b2nd/good/dt_td_s_lz4_0.b2nd", "b2nd/good/dt_u7_lz4_0.b2nd"] {
        let file = fixture(name);
        out(&["extract", &file, "", "-o", &path, "--force"]);
        let same = out(&["diff", &file, &path]);
        assert!(same.contains("1 tensor the same, 0 differ"), "{name}: {same}");
    }
}

/// The message names the type that cannot be written or converted.
#[test]
fn what_numpy_lacks_is_refused() {
    let folder = Folder::new();
    let refused = run(&["extract", &fixture("b2nd/good/q_caterva_0.b2nd"), "-o", &folder.path("x.npy")]);
    assert_eq!(refused.status, 1);
    assert!(
        refused.err.contains("NPY has no type for elements of unknown type: write a .bin file"),
        "{}",
        refused.err
    );
    let refused = run(&["extract", &fixture(STORED), "long", "--f32", "-o", &folder.path("x.npy")]);
    assert!(refused.status == 1 && refused.err.contains("--f32 cannot convert elements of <f16"), "{}", refused.err);
    assert!(folder.names().is_empty());
}

/// A pickled, truncated or missing array is a problem of its entry only, compressed or not. Bytes after an array are a
/// warning.
#[test]
fn compressed_entries_have_their_own_problems() {
    let folder = Folder::new();
    let good = npy("'<f4'", false, "(2,)", &[0; 8]);
    let cases: [(Vec<u8>, &str, &str); 4] = [
        (npy("'|O'", false, "(2,)", b"\x80\x04"), "the elements are Python objects: \"|O\"", "UnknownDType"),
        (npy("'<f1'", false, "(2,)", &[0; 2]), "this is a type of ml_dtypes", "UnknownDType"),
        (npy("'<f4'", false, "(3,)", &[0; 8]), "the array is longer than its entry", "Truncated"),
        (b"no array at all".to_vec(), "no header of an array", "Malformed"),
    ];
    for (bad, says, kind) in cases {
        let file = folder.write("x.npz", &npz(&[("bad \"one\"", &bad, true), ("good", &good, true)]));
        let record = record(&file);
        assert_eq!(record["problems"][0]["tensor"], "bad \"one\"");
        assert_eq!(record["problems"][0]["kind"], kind);
        assert_eq!(record["tensors"][0]["shape"], Value::Null);
        assert_eq!(record["tensors"][1]["shape"], serde_json::json!([2]));
        let table = out(&["list", &file]);
        assert!(table.contains("warning:") && table.contains(says), "{table}");
        out(&["show", &file, "good"]);
        for command in [&["verify", &file][..], &["show", &file, "bad \"one\""], &["list", "--digest", &file]] {
            let run = run(command);
            assert_eq!(run.status, 1, "{command:?}");
            assert!(run.err.contains("tensor \"bad \"one\"\": ") && run.err.contains(says), "{}", run.err);
        }
        let explained = run(&["explain", &file]);
        assert_eq!((explained.status, explained.err.as_str()), (1, ""));
        assert!(explained.out.contains("  text     NumPy, numpy.lib.format, section "), "{}", explained.out);
        if kind == "UnknownDType" {
            assert!(explained.out.contains(" of the decoded header\n"), "{}", explained.out);
            assert!(explained.out.contains("NUMPY"), "{}", explained.out);
        }
        let compared = run(&["diff", &file, &file]);
        assert!(compared.out.ends_with("1 tensor the same, 0 differ, 1 not compared\n"), "{}", compared.out);
    }
    let longer = [&good[..], b"xyz"].concat();
    let files = [true, false].map(|is_deflated| npz(&[("a", &good, is_deflated), ("b", &longer, is_deflated)]));
    for bytes in files {
        let file = folder.write("x.npz", &bytes);
        for command in [["verify", &file], ["list", &file], ["explain", &file]] {
            let text = out(&command);
            assert!(text.contains("warning: bytes follow that belong to nothing"), "{command:?} {text}");
        }
        assert_eq!(record(&file)["warnings"][0]["kind"], "TrailingBytes");
    }
}

/// Errors in a ZIP archive refer to the ZIP specification, errors in a stored array to that of NumPy.
#[test]
fn errors_are_in_the_text_of_their_format() {
    let folder = Folder::new();
    let array = npy("'|O'", false, "(2,)", &[0; 8]);
    let mut bytes = npz(&[("a", &array, false)]);
    let text = |bytes: &[u8]| run(&["explain", &folder.write("x.npz", bytes)]).out;
    assert!(text(&bytes).contains("  text     NumPy, numpy.lib.format, section \"Format Version 1.0\""));
    bytes[30] = b'b'; // the name in the local header
    assert!(text(&bytes).contains("  text     PKWARE, APPNOTE.TXT, section 4.3.7"), "{}", text(&bytes));
    bytes[30] = b'a';
    let end = bytes.len() - 12;
    bytes[end] ^= 3; // the number of entries
    assert!(text(&bytes).contains("  text     PKWARE, APPNOTE.TXT, section 4.3.1"), "{}", text(&bytes));
    let mut bytes = npz(&[("a", &npy("'<f4'", false, "(2,)", &[0; 8]), true)]);
    bytes[35] = 7; // the first block of the stream
    let said = text(&bytes);
    assert!(said.contains("tensor \"a\": ") && said.contains("  text     RFC 1951 (deflate), section 3.2"), "{said}");
}
