//! Any bytes as the manifest of a zTensor 2 file, whose hash is right: opened whole and in parts, compared with the caller's
//! memory, asked for everything.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenslice::{Attributes, BuiltIn, Error, File, Opened, Source};

const MAGIC: &[u8; 8] = b"\x89ZT2\r\n\x1a\n";

/// The manifest at 12288, behind two pages of data; of a whole file, the file with its hash repaired.
fn file_of(bytes: &[u8]) -> Vec<u8> {
    if let Some(footer) = bytes.len().checked_sub(40).filter(|_| bytes.starts_with(MAGIC)) {
        let mut file = bytes.to_vec();
        let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
        let range = usize::try_from(number(footer)).ok().zip(usize::try_from(number(footer + 8)).ok());
        let manifest = range.and_then(|(at, length)| file.get(at..at.checked_add(length)?));
        if let Some(hash) = manifest.map(xxhash_rust::xxh3::xxh3_64) {
            file[footer + 16..footer + 24].copy_from_slice(&hash.to_le_bytes());
        }
        return file;
    }
    let mut file = MAGIC.to_vec();
    file.extend((8..12288).map(|i| (i % 251) as u8));
    file.extend(bytes);
    file.extend(12288_u64.to_le_bytes());
    file.extend((bytes.len() as u64).to_le_bytes());
    file.extend(xxhash_rust::xxh3::xxh3_64(bytes).to_le_bytes());
    file.extend([2, 0, 0, 0, 0, 0, 0, 0]);
    file.extend(MAGIC);
    file
}

fuzz_target!(|bytes: &[u8]| {
    let bytes = &file_of(bytes)[..];
    let whole = File::open(bytes);
    let mut source = Source::new(bytes.len() as u64);
    let in_parts: Result<File<'_>, Error> = loop {
        match File::open_source(&source) {
            Ok(Opened::Need(need)) => {
                let from = need.extent.offset as usize;
                source.add(need.extent.offset, &bytes[from..from + need.extent.length as usize]).unwrap();
            }
            Ok(Opened::File(_)) | Err(_) => break File::open_source(&source).map(|opened| match opened {
                Opened::File(file) => file,
                Opened::Need(need) => panic!("asked again for {need:?}"),
            }),
        }
    };
    match (whole, in_parts) {
        (Ok(whole), Ok(in_parts)) => {
            let _ = whole.check(&mut [0; 8]);
            let view = whole.as_ztensor2().unwrap();
            let shards = view.shards();
            assert_eq!(shards.error(), None);
            for shard in shards {
                assert!(shard.size >= 48 && !shard.name.is_empty() && !shard.name.starts_with('.'));
                let _ = view.check_shard(shard.name, bytes);
            }
            walk(whole.attributes(), 0);
            assert_eq!(whole.tensors().count() as u64, whole.tensor_count());
            assert!(whole.tensors().map(|t| t.name()).eq(in_parts.tensors().map(|t| t.name())));
            assert_eq!(whole.warnings(), in_parts.warnings());
            for tensor in whole.tensors() {
                walk(tensor.attributes(), 0);
                assert_eq!(whole.find(&tensor.name().to_string()).unwrap().index(), tensor.index());
                let components = tensor.components();
                assert!(components.count() > 0);
                for component in components {
                    assert!(component.extent().offset % 4096 == 0 && component.extent().offset > 0);
                    if component.shard().is_none() {
                        assert_eq!(component.stored().unwrap().len() as u64, component.extent().length);
                    }
                    let _ = component.verify_with(&mut BuiltIn::default(), &mut [0; 64]);
                    let _ = (component.caps(), component.elements::<u64>().map(Iterator::count));
                }
                assert_eq!(components.error(), None);
                let _ = tensor.sparse(&mut []).map(|sparse| sparse.iter().count());
                let mut numbers = [0.0; 64];
                let _ = tensor.read_f32_range(0, &mut numbers);
            }
        }
        (Err(whole), Err(in_parts)) => {
            assert_eq!(whole, in_parts);
            assert!(whole.offset().is_some_and(|at| at <= bytes.len() as u64));
            assert!(!whole.explain(bytes).to_string().is_empty());
        }
        (whole, in_parts) => panic!("{whole:?} whole, {in_parts:?} in parts"),
    }
});

/// Reads all attributes, and the values inside them.
fn walk(attributes: Attributes<'_>, depth: usize) {
    assert!(depth < 40);
    let mut all = attributes;
    for attribute in all.by_ref() {
        if let Some(items) = attribute.value.items() {
            walk(items, depth + 1);
        }
    }
    assert_eq!(all.error(), None);
}
