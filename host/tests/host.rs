//! Files in ranges have the same tensors as mapped files, and paths that belong together give the same model.

use std::fs;
use std::path::{Path, PathBuf};

use tenslice::File;
use tenslice_host::{Error, Ranges};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// The tensors of a file with their places.
fn tensors(file: &File<'_>) -> Vec<String> {
    let of_one = |tensor: tenslice::Tensor<'_>| {
        let places: Vec<_> = tensor.components().map(|component| component.extent()).collect();
        format!("{} {} {places:?}", tensor.name(), tensor.shape())
    };
    file.tensors().map(of_one).collect()
}

#[test]
fn ranges_have_the_same_tensors() {
    let mut opened = 0;
    for path in files_below(&fixtures()) {
        let bytes = fs::read(&path).unwrap();
        let ranges = Ranges::new(fs::File::open(&path).unwrap()).unwrap();
        match (File::open(&bytes), ranges.fetch()) {
            (Ok(whole), Ok(fetched)) => {
                let file = fetched.file().unwrap();
                assert_eq!(tensors(&file), tensors(&whole), "{}", path.display());
                opened += 1;
                let data = file.tensors().find_map(|tensor| tensor.data().ok()).map(|data| data.extent());
                if let Some(extent) = data.filter(|extent| extent.is_within(ranges.length())) {
                    let read = ranges.read(extent).unwrap();
                    assert_eq!(read, bytes[extent.offset as usize..][..extent.length as usize], "{}", path.display());
                }
            }
            (Err(error), Err(Error::Invalid { error: other, .. })) => assert_eq!(error, other, "{}", path.display()),
            (whole, fetched) => panic!("{}: {whole:?}, {fetched:?}", path.display()),
        }
    }
    assert!(opened > 100, "{opened}");
}

#[test]
fn ranges_past_the_end_are_refused() {
    let path = fixtures().join("npy/struct_nested_4.npy");
    let ranges = Ranges::new(fs::File::open(path).unwrap()).unwrap();
    for (offset, length) in [(0, ranges.length() + 1), (ranges.length(), 1), (u64::MAX, 1), (1, u64::MAX)] {
        let error = ranges.read(tenslice::Extent::new(offset, length)).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
    }
}

/// A model of bytes in memory, as a program reads them from a pipe.
#[test]
fn bytes_in_memory() {
    let bytes = fs::read(fixtures().join("v2/shards.zt")).unwrap();
    let host = tenslice_host::Host::of_bytes("shards.zt", bytes).unwrap();
    let mut tables = host.tables();
    let model = tables.model().unwrap();
    assert_eq!(model.tensors().count(), 3);
    let problems: Vec<String> = model.problems().map(|problem| problem.to_string()).collect();
    assert!(matches!(&problems[..], [one] if one.starts_with("shards.zt: shard \"base\" of ")), "{problems:?}");
    let error = tenslice_host::Host::of_bytes("x", b"none".to_vec()).unwrap_err();
    assert!(error.to_string().starts_with("x: "), "{error}");
}

/// Data of an ONNX model is found below its folder, and not through a link that leads out of the folder.
#[test]
fn data_of_an_onnx_model() {
    let folder = std::env::temp_dir().join(format!("tenslice-onnx-{}", std::process::id()));
    fs::create_dir_all(folder.join("in/sub/folder")).unwrap();
    let path = folder.join("in/m.onnx");
    fs::copy(fixtures().join("onnx/py_external.onnx"), &path).unwrap();
    fs::write(folder.join("in/sub/folder/b.bin"), [7; 12]).unwrap();
    fs::write(folder.join("secret"), [1; 5000]).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("../secret", folder.join("in/model.data")).unwrap();
    let host = tenslice_host::open(&path).unwrap();
    let mut tables = host.tables();
    let model = tables.model().unwrap();
    let (_, tensor) = model.find("bare").unwrap();
    assert_eq!(model.with_shard(tensor.data().unwrap()).unwrap().bytes(), Ok(&[7; 12][..]));
    let (_, tensor) = model.find("w1").unwrap();
    assert!(model.with_shard(tensor.data().unwrap()).is_err());
    let problems: Vec<String> = model.problems().map(|problem| problem.to_string()).collect();
    assert!(problems.iter().any(|problem| problem.contains("shard \"model.data\" is missing")), "{problems:?}");
    fs::remove_dir_all(folder).unwrap();
}

/// The paths of a TFLite model may lead anywhere. Only those below its folder are followed.
#[test]
fn data_of_a_tflite_model() {
    let folder = std::env::temp_dir().join(format!("tenslice-tflite-{}", std::process::id()));
    fs::create_dir_all(folder.join("in")).unwrap();
    let path = folder.join("in/m.tflite");
    let bytes = fs::read(fixtures().join("tflite/py_external_buffers.tflite")).unwrap();
    fs::write(&path, &bytes).unwrap();
    fs::write(folder.join("in/weights.bin"), [7; 200]).unwrap();
    let problems_of = |host: &tenslice_host::Host| {
        let mut tables = host.tables();
        let model = tables.model().unwrap();
        let (_, tensor) = model.find("e5").unwrap();
        let stored = model.with_shard(tensor.data().unwrap()).and_then(|data| Ok(data.bytes()?.to_vec()));
        (stored, model.problems().map(|problem| problem.to_string()).collect::<Vec<_>>())
    };
    let (stored, problems) = problems_of(&tenslice_host::open(&path).unwrap());
    assert_eq!(stored, Ok(vec![7; 24]));
    assert!(matches!(&problems[..], [one] if one.contains("shard \"https://host.invalid/w2.bin\" is missing")));
    // The same length as the name in the file.
    let at = bytes.windows(11).position(|part| part == b"weights.bin").unwrap();
    let mut elsewhere = bytes;
    elsewhere[at..at + 11].copy_from_slice(b"../we/s.bin");
    fs::create_dir_all(folder.join("we")).unwrap();
    fs::write(folder.join("we/s.bin"), [1; 200]).unwrap();
    fs::write(&path, &elsewhere).unwrap();
    let (stored, problems) = problems_of(&tenslice_host::open(&path).unwrap());
    assert!(stored.is_err() && problems.iter().any(|problem| problem.contains("\"../we/s.bin\" is missing")));
    fs::remove_dir_all(folder).unwrap();
}

/// A folder with the same model as safetensors and as a checkpoint has one model, and so has a folder with only the
/// checkpoint.
#[test]
fn a_checkpoint_beside_a_model_is_a_copy() {
    let folder = std::env::temp_dir().join(format!("tenslice-host-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let copy = |from: &str, to: &str| fs::copy(fixtures().join(from), folder.join(to)).unwrap();
    let name_of = || tenslice_host::open(&folder).map(|host| host.files()[0].name().to_owned()).unwrap();
    copy("pytorch/views.pt", "pytorch_model.bin");
    copy("pytorch/views.pt", "other.bin");
    assert_eq!(name_of(), "pytorch_model.bin");
    fs::write(folder.join("pytorch_model.bin.index.json"), br#"{"weight_map": {"a": "pytorch_model.bin"}}"#).unwrap();
    assert!(tenslice_host::open(&folder).unwrap().index().is_some());
    copy("safetensors/py_tiny_mlp.safetensors", "model.safetensors");
    assert_eq!(name_of(), "model.safetensors");
    fs::remove_dir_all(&folder).unwrap();
}

/// The messages with which other programs and scripts can deal: no number of the system, the path as given.
#[test]
fn nothing_can_be_read() {
    let message = |path: &Path| tenslice_host::open(path).unwrap_err().to_string();
    assert_eq!(message(Path::new("none/x.npy")), "none/x.npy: No such file or directory");
    assert_eq!(message(&fixtures().join("bad")), "the folder has no tensor file");
    assert!(message(&fixtures().join("gguf")).starts_with("the folder has several models: "));
}
