//! An index finds what `find` does, in every fixture, with no less memory than it says.

use std::fs;
use std::path::{Path, PathBuf};

use tenslice::{ErrorKind, File, Opened, Source, Tensor};

fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, all) } else { all.push(path) }
    }
}

/// What tells a tensor from every other one of the file.
fn same(a: &Tensor<'_>, b: &Tensor<'_>) {
    let parts =
        |tensor: &Tensor<'_>| tensor.components().map(|part| (part.role().to_string(), part.extent())).collect();
    let (of_a, of_b): (Vec<_>, Vec<_>) = (parts(a), parts(b));
    assert_eq!((a.index(), a.name(), a.dtype(), a.layout_name()), (b.index(), b.name(), b.dtype(), b.layout_name()));
    assert_eq!((a.shape().iter().collect::<Vec<_>>(), of_a), (b.shape().iter().collect(), of_b));
    assert_eq!((a.warnings(), a.attributes().count()), (b.warnings(), b.attributes().count()));
}

fn every_name_is_found(file: &File<'_>) -> usize {
    let length = file.index_length().unwrap();
    assert_eq!(length as u64, if file.tensor_count() > 1 { 3 * file.tensor_count() } else { 0 });
    let mut words = vec![0xffff_ffff; length + 1];
    for less in (1..=length).step_by(length / 8 + 1) {
        let error = file.index(&mut words[..length - less]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfScratch);
    }
    let index = match (file.index(&mut words), file.check(&mut vec![0; length.max(1)])) {
        (Ok(index), Ok(_)) => index,
        (Err(a), Err(b)) => {
            assert_eq!((a.kind(), a.offset()), (ErrorKind::RepeatedName, b.offset()));
            return 0;
        }
        (index, checked) => panic!("{index:?} {checked:?}"),
    };
    let names: Vec<String> = file.tensors().map(|tensor| tensor.name().to_string()).collect();
    for name in &names {
        same(&index.find(name).unwrap(), &file.find(name).unwrap());
        for other in [format!("{name}\0"), format!("{name} "), name.chars().skip(1).collect(), name.to_uppercase()] {
            match (index.find(&other), file.find(&other)) {
                (Ok(a), Ok(b)) => same(&a, &b),
                (a, b) => assert_eq!(a.unwrap_err().kind(), b.unwrap_err().kind()),
            }
        }
    }
    assert_eq!(index.find("absent \u{1f600}").unwrap_err().kind(), ErrorKind::NotFound);
    names.len()
}

/// Of the fixtures in folders whose names begin with `start`.
fn what_find_finds(start: &str) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let (mut opened, mut found) = (0, 0);
    for folder in fs::read_dir(fixtures).unwrap().map(|entry| entry.unwrap()) {
        if !folder.file_name().to_str().unwrap().starts_with(start) {
            continue;
        }
        let mut all = Vec::new();
        files(&folder.path(), &mut all);
        for path in all {
            let bytes = fs::read(&path).unwrap();
            if let Ok(file) = File::open(&bytes) {
                // The larger ones take their time without an index.
                if file.tensor_count() < 2000 {
                    found += every_name_is_found(&file);
                    opened += 1;
                }
            }
        }
    }
    assert!(opened > 5 && found > 5, "{opened} {found}");
}

/// A test for each: side by side they take less time.
macro_rules! finds {
    ($($feature:literal $name:ident $start:literal)*) => {
        $(#[test]
        #[cfg(feature = $feature)]
        fn $name() {
            what_find_finds($start);
        })*
    };
}

finds! {
    "ztensor" in_ztensor "v1"
    "ztensor2" in_ztensor_2 "v2"
    "gguf" in_gguf "gguf"
    "npz" in_npz "npz"
    "safetensors" in_safetensors "safetensors"
}

#[test]
#[cfg(feature = "ztensor")]
fn a_file_in_parts() {
    let bytes = include_bytes!("fixtures/v1.2/dense_all_dtypes.zt");
    let mut source = Source::new(bytes.len() as u64);
    loop {
        let need = match File::open_source(&source).unwrap() {
            Opened::Need(need) => need,
            Opened::File(file) => {
                every_name_is_found(&file);
                return;
            }
        };
        let range = need.extent.offset as usize..(need.extent.offset + need.extent.length) as usize;
        source.add(need.extent.offset, &bytes[range]).unwrap();
    }
}

/// Of more than 1024 names that are not in order, opening does not compare all; an index does.
#[test]
#[cfg(feature = "safetensors")]
fn a_name_twice_among_many() {
    let header = |names: &[String]| {
        let entry = |name| format!("\"{name}\":{{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}");
        let header = format!("{{{}}}", names.iter().map(entry).collect::<Vec<_>>().join(","));
        [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat()
    };
    let mut names: Vec<String> = (0..3000).rev().map(|i| format!("name {i}")).collect();
    let bytes = header(&names);
    let file = File::open(&bytes).unwrap();
    assert!(file.warnings().contains(tenslice::Warning::NamesUnchecked));
    let mut words = vec![0; 9000];
    file.index(&mut words).unwrap();
    names[2500] = "n\\u0061me 2900".to_string(); // means what number 99 does
    let bytes = header(&names);
    let file = File::open(&bytes).unwrap();
    let (error, checked) = (file.index(&mut words).unwrap_err(), file.check(&mut vec![0; 3000]).unwrap_err());
    assert_eq!((error.kind(), error.offset()), (ErrorKind::RepeatedName, checked.offset()));
}
