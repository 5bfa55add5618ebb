//! Any bytes: opened whole and in parts, asked for everything. Both ways give the same, nothing panics,
//! every place lies inside the file, every error has a sentence.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenslice::{Attributes, Error, File, Opened, Source};

fuzz_target!(|bytes: &[u8]| {
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
            walk(whole.attributes(), 0);
            assert!(whole.tensors().map(|t| (t.name(), t.dtype())).eq(in_parts.tensors().map(|t| (t.name(), t.dtype()))));
            assert_eq!(whole.tensors().count() as u64, whole.tensor_count());
            assert_eq!(whole.warnings(), in_parts.warnings());
            for tensor in whole.tensors() {
                walk(tensor.attributes(), 0);
                let _ = (tensor.shape().element_count(), whole.find(&tensor.name().to_string()).unwrap());
                let components = tensor.components();
                for component in components.filter(|component| component.shard().is_none()) { // others are not in it
                    assert!(component.extent().is_within(bytes.len() as u64));
                    assert_eq!(component.stored().unwrap().len() as u64, component.extent().length);
                    let _ = (component.as_slice::<f32>(), component.elements::<u64>().map(Iterator::count));
                }
                assert_eq!(components.error(), None);
                if let (Ok(data), Some(dtype), Some(elements)) = (tensor.data(), tensor.dtype(), tensor.shape().element_count())
                    && let Ok(bytes) = data.bytes()
                {
                    assert_eq!(dtype.byte_length(elements), Some(bytes.len() as u64)); // indexing by the shape stays inside
                }
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
    assert!(depth < 100);
    let mut all = attributes;
    for attribute in all.by_ref() {
        if let Some(items) = attribute.value.items() {
            walk(items, depth + 1);
        }
    }
    assert_eq!(all.error(), None);
}
