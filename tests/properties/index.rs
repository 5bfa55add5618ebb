//! An index finds what `find` finds, in every fixture, with the memory that it reports. A tensor is the same by
//! iteration, `find` and index, also in damaged files that still open.

use std::fs;
use std::path::{Path, PathBuf};

use tenslice::{Encoding, ErrorKind, File, Layout, Model, ModelFile, Opened, Source, Tensor, TensorEntry, Warning};

fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, all) } else { all.push(path) }
    }
}

/// Compares everything that distinguishes a tensor from the other ones of the file.
fn same(a: &Tensor<'_>, b: &Tensor<'_>) {
    let parts = |tensor: &Tensor<'_>| {
        let of_part = |part: tenslice::Component<'_>| {
            let types = (part.dtype(), part.storage_dtype(), part.byte_order(), part.decoded_length());
            (part.role().to_string(), part.extent(), types, part.digest().map(str::to_string))
        };
        tensor.components().map(of_part).collect::<Vec<_>>()
    };
    let (of_a, of_b) = (parts(a), parts(b));
    assert_eq!((a.index(), a.name(), a.dtype(), a.layout_name()), (b.index(), b.name(), b.dtype(), b.layout_name()));
    assert_eq!((a.shape().iter().collect::<Vec<_>>(), of_a), (b.shape().iter().collect(), of_b));
    assert_eq!((a.warnings(), a.attributes().count()), (b.warnings(), b.attributes().count()));
}

/// Checks an entry of a list against its tensor.
fn is_entry_of(entry: &TensorEntry<'_>, tensor: &Tensor<'_>) {
    assert_eq!((entry.index(), entry.name(), entry.dtype()), (tensor.index(), tensor.name(), tensor.dtype()));
    assert_eq!((entry.layout(), entry.order()), (tensor.layout(), tensor.order()));
    assert!(entry.shape().iter().eq(tensor.shape().iter()));
    assert_eq!(entry.element_count(), tensor.shape().element_count());
    let is_stored = matches!(tensor.layout(), Layout::Dense | Layout::Blocks) && tensor.problem().is_none();
    let data = tensor.component("data").ok().filter(|_| is_stored);
    let data = data.filter(|data| data.encoding() == Encoding::Raw && data.shard().is_none());
    assert_eq!(entry.extent(), data.map(|data| data.extent()));
}

/// Checks that every tensor is the same by iteration, list, `find` and index. A warning of the file belongs to the tensor
/// that it names, and to none before it. Returns the warnings of all tensors.
fn is_the_same_however_reached(file: &File<'_>) -> u32 {
    let mut words = vec![0; file.index_length().unwrap()];
    let index = file.index(&mut words).ok(); // fails for repeated names
    let mut all = 0;
    let mut files = [ModelFile::new("the only file", *file)];
    let mut words = vec![u32::MAX; Model::length(&files).unwrap()];
    let model = Model::new(&mut files, &mut words).unwrap();
    let mut of_model = model.tensors();
    let mut places = vec![TensorEntry::default(); file.tensor_count() as usize + 1];
    let entries = file.list(&mut places).unwrap();
    assert_eq!(entries.len() as u64, file.tensor_count());
    let mut short = entries[..entries.len().saturating_sub(1)].to_vec();
    let error = file.list(&mut short).err().map(|error| error.kind());
    assert_eq!(error, (!entries.is_empty()).then_some(ErrorKind::OutOfScratch));
    for (tensor, number) in file.tensors().zip(0..) {
        assert_eq!(tensor.index(), number);
        let name = tensor.name().to_string();
        let found = file.find(&name).unwrap();
        if found.index() == number {
            same(&tensor, &found);
        }
        if let Some(index) = index {
            same(&index.find(&name).unwrap(), &found);
            same(&model.find(&name).unwrap().1, &found);
        }
        same(&of_model.next().unwrap().1, &tensor);
        let entry = &entries[number as usize];
        is_entry_of(entry, &tensor);
        same(&file.tensor(entry).unwrap(), &tensor);
        for warning in tensor.warnings().iter().filter(|warning| warning.bit() & !all & 0xff != 0) {
            assert_eq!(file.warnings().first_tensor(warning), Some(number), "{warning:?}");
        }
        all |= tensor.warnings().bits() & 0xff;
    }
    assert!(of_model.next().is_none() && of_model.error().is_none());
    // A tensor cannot report that its name is repeated.
    assert_eq!(all, file.warnings().bits() & 0xff & !Warning::RepeatedName.bit());
    all
}

/// Updates the hash of the manifest in a zTensor 2 footer. Returns the range of the manifest, or `None` for other
/// files.
fn repair_hash(bytes: &mut [u8]) -> Option<std::ops::Range<usize>> {
    let footer = bytes.len().checked_sub(40)?;
    if !cfg!(feature = "ztensor2") || !bytes.starts_with(b"\x89ZT2") {
        return None;
    }
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let manifest = number(footer)..number(footer).checked_add(number(footer + 8))?;
    let hash = xxhash_rust::xxh3::xxh3_64(bytes.get(manifest.clone())?);
    bytes[footer + 16..footer + 24].copy_from_slice(&hash.to_le_bytes());
    Some(manifest)
}

fn every_name_is_found(file: &File<'_>) -> usize {
    let length = file.index_length().unwrap();
    assert_eq!(length as u64, if file.tensor_count() > 1 { 3 * file.tensor_count() } else { 0 });
    let mut words = vec![0xffff_ffff; length + 1];
    for less in (1..=length).step_by(length / 8 + 1) {
        let error = file.index(&mut words[..length - less]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfScratch);
    }
    let index = match (file.index(&mut words), file.check(&mut vec![0; file.check_length().unwrap()])) {
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

/// Checks the fixtures in folders whose names begin with `start`.
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
                // Larger files take too long without an index.
                if file.tensor_count() < 2000 {
                    found += every_name_is_found(&file);
                    opened += 1;
                }
            }
        }
    }
    assert!(opened > 5 && found > 5, "{opened} {found}");
}

/// Checks the files of a folder, and copies with one or two changed bytes in the metadata. Returns the warnings.
fn whatever_is_changed(folder: &str) -> u32 {
    let mut all = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(folder), &mut all);
    let (mut opened, mut warnings) = (0, 0);
    let mut random = crate::support::Random(0x9e37_79b9_7f4a_7c15);
    for path in all {
        let mut bytes = fs::read(&path).unwrap();
        match File::open(&bytes) {
            Ok(file) if file.tensor_count() < 40 && bytes.len() < 1 << 20 => {
                warnings |= is_the_same_however_reached(&file);
            }
            _ => continue,
        }
        // The metadata is at the end or at the start.
        let manifest = repair_hash(&mut bytes).unwrap_or_else(|| match bytes.starts_with(b"ZTEN") {
            true => bytes.len().saturating_sub(2000)..bytes.len(),
            false => 0..bytes.len().min(2000),
        });
        for _ in 0..600 {
            let mut changed = bytes.clone();
            for _ in 0..=random.below(2) {
                let at = manifest.start + random.below(manifest.len());
                changed[at] = match random.below(3) {
                    0 => random.next() as u8,
                    1 => changed[at] ^ (1 << random.below(8)),
                    _ => changed[at].wrapping_add(1),
                };
            }
            repair_hash(&mut changed);
            if let Ok(file) = File::open(&changed) {
                warnings |= is_the_same_however_reached(&file);
                opened += 1;
            }
        }
    }
    assert!(opened > 500, "{opened}");
    warnings
}

/// One test for each format, so that they run in parallel. The listed warnings must occur on some tensor.
macro_rules! finds {
    ($($feature:literal $name:ident $start:literal $changed:ident $folder:literal [$($warning:ident)*];)*) => {
        $(#[test]
        #[cfg(feature = $feature)]
        fn $name() {
            what_find_finds($start);
        }

        #[test]
        #[cfg(feature = $feature)]
        fn $changed() {
            let warnings: &[Warning] = &[$(Warning::$warning),*];
            let met = whatever_is_changed($folder);
            assert!(warnings.iter().all(|warning| met & warning.bit() != 0), "{met:#x}");
        })*
    };
}

/// In zTensor 0.1 a name is not next to its tensor: the index is sorted.
#[test]
#[cfg(feature = "ztensor")]
fn in_ztensor_0_1() {
    what_find_finds("v0");
}

finds! {
    "ztensor" in_ztensor "v1" in_changed_ztensor "v1.2" [MisalignedOffset UnknownLogicalType UnknownDigest];
    "ztensor2" in_ztensor_2 "v2" in_changed_ztensor_2 "v2" [UnknownLogicalType UnknownDigest];
    "gguf" in_gguf "gguf" in_changed_gguf "gguf" [];
    "npz" in_npz "npz" in_changed_npz "npz" [];
    "safetensors" in_safetensors "safetensors" in_changed_safetensors "safetensors" [];
}

/// A digest of an unknown kind that has the length of a usual kind.
#[test]
#[cfg(feature = "ztensor2")]
fn unknown_digests_are_warnings_however_found() {
    let bytes = crate::support::fixture("bad/v2/digest_unknown_of_usual_length.zt");
    let file = File::open(&bytes).unwrap();
    assert_eq!(is_the_same_however_reached(&file), Warning::UnknownDigest.bit());
    let index = file.index(&mut []).unwrap();
    let reached = [file.tensors().next(), file.find("w").ok(), index.find("w").ok()];
    assert!(reached.iter().all(|tensor| tensor.unwrap().warnings().contains(Warning::UnknownDigest)));
}

#[test]
#[cfg(feature = "ztensor")]
fn a_file_in_parts() {
    let bytes = include_bytes!("../fixtures/v1.2/dense_all_dtypes.zt");
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

/// Opening does not compare more than 1024 unsorted names. An index compares all of them.
#[test]
#[cfg(feature = "safetensors")]
fn repeated_name_among_many() {
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
    names[2500] = "n\\u0061me 2900".to_string(); // the same name as number 99
    let bytes = header(&names);
    let file = File::open(&bytes).unwrap();
    let (error, checked) = (file.index(&mut words).unwrap_err(), file.check(&mut vec![0; 3000]).unwrap_err());
    assert_eq!((error.kind(), error.offset()), (ErrorKind::RepeatedName, checked.offset()));
}
