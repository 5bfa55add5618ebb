//! Files that are not tensor files: the error says what they are and what to do.
#![cfg(feature = "formats")]

use tenslice::{ErrorKind, Extent, File, Opened, Source};

/// The message for these bytes, after the error's kind.
#[track_caller]
fn refused(bytes: &[u8]) -> (ErrorKind, String) {
    let error = File::open(bytes).unwrap_err();
    (error.kind(), error.explain(bytes).to_string())
}

#[track_caller]
fn is_named(bytes: &[u8], parts: &[&str]) {
    let (kind, message) = refused(bytes);
    assert_eq!(kind, ErrorKind::UnknownFormat, "{message}");
    for part in parts {
        assert!(message.contains(part), "{message:?} does not say {part:?}");
    }
    // A file in parts is identified by its start alone. The message is the same unless the end or the middle matters.
    let in_parts = in_parts(bytes);
    let is_by_start = !["only zeros", "pickle", "ONNX", "begins at byte", "no contents", "begins with zeros"]
        .iter()
        .any(|at| message.contains(at));
    assert!(!is_by_start || in_parts == message, "{in_parts:?}");
}

/// The message for a file in parts, with only the requested bytes fetched.
fn in_parts(bytes: &[u8]) -> String {
    let mut source = Source::new(bytes.len() as u64);
    loop {
        match File::open_source(&source) {
            Ok(Opened::Need(need)) => {
                let Extent { offset, length } = need.extent;
                assert!(length <= 4096);
                source.add(offset, &bytes[offset as usize..][..length as usize]).unwrap();
            }
            Ok(Opened::File(_)) => panic!("opened"),
            Err(error) => return error.explain(&source).to_string(),
        }
    }
}

/// Checks that the message says only that the file is unknown.
#[track_caller]
fn is_unnamed(bytes: &[u8]) {
    let (_, message) = refused(bytes);
    assert_eq!(message, "this is not a known kind of tensor file [at byte 0]");
}

/// Bytes that are not text and not all equal.
fn noise(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 37 + 1) as u8).collect()
}

#[test]
fn pointers() {
    let oid = "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
    for url in ["https://git-lfs.github.com/spec/v1", "https://hawser.github.com/spec/v1"] {
        is_named(
            format!("version {url}\n{oid}").as_bytes(),
            &["Git LFS pointer, not the file itself, which has 12345 bytes", "git lfs pull"],
        );
        is_named(format!("version {url}\n").as_bytes(), &["Git LFS pointer, not the file itself: fetch"]);
    }
    is_named(b"/annex/objects/SHA256E-s12--0123.safetensors\n", &["git-annex pointer", "git annex get"]);
    is_named(b"version https://example.org/spec/v1\n", &["this is text"]);
}

#[test]
fn pages_and_text() {
    for page in ["<!doctype html>\n<html class=\"\">", "<HTML><body>", "\n  <!DOCTYPE HTML PUBLIC>", "\u{feff}<html>"]
    {
        is_named(page.as_bytes(), &["web page (HTML)", "login"]);
    }
    let xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>AccessDenied</Code></Error>";
    is_named(xml.as_bytes(), &["XML", "error message of the server"]);
    is_named(b"<Error><Code>NoSuchKey</Code>", &["HTML or XML"]);
    is_named(b"Entry not found", &["this is text", "error message of a server"]);
    is_named("größer als \u{65e5}\u{672c}".as_bytes(), &["this is text"]);
    // A character that is cut off by the end of the examined bytes, and one cut off by the end of the file.
    let mut long = vec![b'a'; 4095];
    long.extend("ü and more".bytes());
    is_named(&long, &["this is text"]);
    is_unnamed(b"some text \xc3");
    is_unnamed(b"some text with \x07 in it");
    is_unnamed(b"some text\0with a zero");
}

#[test]
fn json() {
    let neither = ["begins like JSON", "no \"weight_map\"", "neither a tensor file nor the index"];
    for json in ["{\"architectures\": [\"LlamaForCausalLM\"]}", "{ }         ", "\n\t{\n \"a\": 1}"] {
        is_named(json.as_bytes(), &neither);
    }
    is_named(
        br#"{"metadata": {}, "weight_map": {}}"#,
        &["begins like JSON", "an index of safetensors files is no tensor"],
    );
    is_named(br#"[{"a": 1}, 2]"#, &["begins like JSON, with a list"]);
    is_named(br#"[1, 2, 3, 4, 5]"#, &["begins like JSON, with a list"]);
    let marked = [&b"\xef\xbb\xbf"[..], br#"{"weight_map": {"a": "b"}}"#].concat();
    is_named(&marked, &["byte order mark", "save it without"]);
    for order in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
        let text: Vec<u8> = "\u{feff}{\"weight_map\": {}}".encode_utf16().flat_map(order).collect();
        is_named(&text, &["UTF-16", "save it as UTF-8"]);
    }
    // A file in parts is not searched for a key that may be after its start.
    let long = format!("{{\"a\": \"{}\"}}", "x".repeat(9000));
    assert!(refused(long.as_bytes()).1.contains("no \"weight_map\""));
    assert_eq!(in_parts(long.as_bytes()), "this begins like JSON, not like a tensor file [at byte 0]");
    is_named(b"{not JSON at all", &["this is text"]);
    is_named(b"[section]\nkey = 1", &["this is text"]);
}

#[test]
fn files_of_zeros() {
    let (kind, message) = refused(b"");
    assert_eq!(
        (kind, message.as_str()),
        (ErrorKind::Truncated, "the file is empty: nothing was downloaded or written [at byte 0]")
    );
    for length in [1, 8, 16, 511, 4096, 100_000] {
        is_named(&vec![0; length], &["only zeros", &format!("all of its {length} bytes are 0")]);
        is_named(&vec![0xff; length], &["no contents", &format!("all of its {length} bytes are 0xFF")]);
        let mut other = vec![0; length + 1];
        other[length] = 1;
        assert!(!refused(&other).1.contains("zeros"), "{length}");
    }
    // If only a part is available or compared, the message states how much.
    let zeros = vec![0; 9000];
    assert!(in_parts(&zeros).contains("begins with zeros: of its 9000 bytes, the first 4096 are 0"));
    let mut longer = vec![0; (1 << 26) + 5];
    *longer.last_mut().unwrap() = 1;
    is_named(&longer, &["begins with zeros: of its 67108869 bytes, the first 67108864 are 0"]);
    assert!(refused(&[7; 3]).1.contains("has only 3 bytes"));
    is_unnamed(&noise(100));
}

/// A pickle of that protocol, as written by Python.
fn pickled(protocol: u8) -> Vec<u8> {
    match protocol {
        2 | 3 => [&[0x80, protocol][..], b"}q\x00X\x01\x00\x00\x00aq\x01K\x01s."].concat(),
        _ => [&[0x80, protocol][..], b"\x95\x0a\0\0\0\0\0\0\0}\x94\x8c\x01a\x94K\x01s."].concat(),
    }
}

#[test]
fn pickles_and_pytorch() {
    for protocol in 2..=5 {
        let bytes = pickled(protocol);
        is_named(&bytes, &[&format!("this is a pickle of Python (protocol {protocol})"), "can run code"]);
        is_unnamed(&bytes[..bytes.len() - 1]);
    }
    // Dicts, lists and arrays as written by `pickle.dumps` with protocols 0 and 1.
    for bytes in [
        &b"(dp0\nVa\np1\nI1\ns."[..],
        b"(lp0\nI1\naI2\naI3\na.",
        b"cnumpy.core.multiarray\n_reconstruct\np0\n.",
        b"ccollections\nOrderedDict\np0\n(tR.",
        b"}q\0U\x01aq\x01K\x01s.",
    ] {
        is_named(bytes, &["this is a pickle of Python, which can run code"]);
    }
    is_unnamed(b"\x80\x06}q\x00.........");
    let mut long = pickled(2);
    long.splice(2..2, b"]q\x00".repeat(5000));
    assert!(in_parts(&long).starts_with("this begins like a pickle of Python (protocol 2)"));

    let legacy = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}q\x00.";
    for start in [&b"\x80\x02"[..], b"\x80\x03", b"\x80\x04\x95\x0d\0\0\0\0\0\0\0"] {
        let checkpoint = [start, legacy, &[1, 2, 3]].concat();
        if cfg!(feature = "pytorch") {
            assert_eq!(File::open(&checkpoint[..]).unwrap_err().format().name(), "Pytorch");
        } else {
            is_named(&checkpoint, &["PyTorch checkpoint", "torch.load(weights_only=True)", "safetensors"]);
        }
    }
    let mut tar = [&b"sys_info"[..], &[0; 249], b"ustar", &[0; 250]].concat();
    is_named(&tar, &["this is a checkpoint of PyTorch 0.1", "tar archive"]);
    tar[0] = b'x';
    is_named(&tar, &["this is a tar archive"]);
    is_named(b"PYTORCH1 and more of it", &["early version of PyTorch 1.0"]);
}

/// A ZIP archive with stored entries, and zip64 records at its end if the flag is set.
fn archive(names: &[&str], is_wide: bool) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for name in names {
        let at = bytes.len() as u32;
        let about = [&[0; 10][..], &[0; 12], &(name.len() as u16).to_le_bytes(), &[0; 2]].concat();
        bytes.extend([b"PK\x03\x04\0\0", &about[2..], name.as_bytes()].concat());
        directory.extend([b"PK\x01\x02\0\0\0\0", &about[2..], &[0; 10], &at.to_le_bytes(), name.as_bytes()].concat());
    }
    let (at, length, count) = (bytes.len() as u64, directory.len() as u64, names.len() as u64);
    bytes.extend(directory);
    if is_wide {
        let end_at = bytes.len() as u64;
        bytes.extend(b"PK\x06\x06");
        bytes.extend([&44_u64.to_le_bytes()[..], &[0; 12], &count.to_le_bytes(), &count.to_le_bytes()].concat());
        bytes.extend([length.to_le_bytes(), at.to_le_bytes()].concat());
        bytes.extend([b"PK\x06\x07\0\0\0\0", &end_at.to_le_bytes()[..], &1_u32.to_le_bytes()].concat());
    }
    let narrow = |number: u64| if is_wide { u32::MAX } else { number as u32 };
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([(count as u16).to_le_bytes(), (count as u16).to_le_bytes()].concat());
    bytes.extend([narrow(length).to_le_bytes(), narrow(at).to_le_bytes()].concat());
    bytes.extend([0, 0]);
    bytes
}

#[test]
fn archives() {
    let script = ["m/data/0", "m/data.pkl", "m/code/__torch__.py", "m/constants.pkl", "m/version"];
    for is_wide in [false, true] {
        for (names, part) in [
            (&["archive/data.pkl", "archive/data/0", "archive/version"][..], "zip: this is a PyTorch checkpoint"),
            (&script[..], "zip: this is a TorchScript model"),
            (&["metadata.json", "config.json", "model.weights.h5"][..], "zip: this is a Keras model"),
            (
                &["readme.txt"][..],
                "zip: files of this kind are not supported yet (no entry of the archive is an array)",
            ),
            (
                &["mydata.pkl", "code"][..],
                "zip: files of this kind are not supported yet (no entry of the archive is an array)",
            ),
        ] {
            let bytes = archive(names, is_wide);
            let (kind, message) = refused(&bytes);
            if cfg!(feature = "pytorch") && names.iter().any(|name| name.ends_with("/data.pkl")) {
                assert_eq!(message.split(':').next(), Some("pytorch"), "{message}");
                continue;
            }
            assert_eq!(kind, ErrorKind::UnsupportedFormat, "{message}");
            assert!(message.starts_with(part), "{message}");
            assert_eq!(in_parts(&bytes), message);
        }
    }
    // The first name of a truncated checkpoint.
    let cut = &archive(&["archive/data.pkl", "archive/data/0"], false)[..60];
    assert!(refused(cut).1.contains("its first entry is that of a PyTorch checkpoint"), "{}", refused(cut).1);
    let cut = &archive(&["a.npy", "archive/data.pkl"], false)[..60];
    assert!(!refused(cut).1.contains("PyTorch"));
    // Compressed files and HDF5 have a format of their own.
    for (magic, parts) in [
        (&b"\x1f\x8b\x08\0\0\0\0\0\0\x03abc"[..], ["gzip: ", "decompress it first"]),
        (b"\x28\xb5\x2f\xfd\x04\0\0\0\0\0", ["zstd: ", "decompress it first"]),
        (b"\x89HDF\r\n\x1a\n\0\0\0\0\0\0\0\0", ["hdf5: ", "h5py"]),
    ] {
        let (kind, message) = refused(magic);
        assert_eq!(kind, ErrorKind::UnsupportedFormat);
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    }
}

#[test]
fn magics_of_other_formats() {
    let with = |at: usize, magic: &[u8]| {
        let mut bytes = noise(4000);
        bytes[at..at + magic.len()].copy_from_slice(magic);
        bytes
    };
    for (at, magic, name) in [
        (4, &b"ET12"[..], "program of ExecuTorch"),
        (4, b"ORTM", "ORT format"),
        (257, b"ustar\x0000", "tar archive: extract it first"),
        (0, b"7z\xbc\xaf\x27\x1c", "7z archive"),
        (0, b"Rar!\x1a\x07\x01\0", "RAR archive"),
        (0, b"\xfd7zXZ\0", "compressed (xz)"),
        (0, b"\x04\x22\x4d\x18", "compressed (LZ4)"),
        (0, b"BZh91AY&SY", "compressed (bzip2)"),
        (0, b"\x89PNG\r\n\x1a\n", "PNG"),
        (0, b"\xff\xd8\xff", "JPEG"),
        (0, b"%PDF-1.7\n", "PDF"),
        (0, b"PAR1", "Parquet"),
        (0, b"ARROW1\0\0", "Arrow"),
        (0, b"SQLite format 3\0", "SQLite"),
        (0, b"MATLAB 5.0 MAT-file", "MATLAB"),
        (512, b"\x89HDF\r\n\x1a\n", "HDF5 file with a user block"),
        (2048, b"\x89HDF\r\n\x1a\n", "HDF5 file with a user block"),
    ] {
        is_named(&with(at, magic), &[name]);
        is_unnamed(&with(at + 1, magic));
    }
}

#[test]
fn formats_of_ggml_before_gguf() {
    let hyper = |numbers: [u32; 11]| numbers.map(u32::to_le_bytes).concat();
    let of = |magic: &[u8], numbers: [u32; 11]| [magic, &hyper(numbers)].concat();
    let llama = [32000, 4096, 256, 32, 32, 128, 2, 0, 0, 0, 0];
    for version in 1..=3 {
        let mut numbers = llama;
        numbers.rotate_right(1);
        numbers[0] = version;
        let converted = "convert_llama_ggml_to_gguf.py";
        is_named(&of(b"tjgg", numbers), &[&format!("GGJT version {version}"), "before GGUF", converted]);
        is_named(&of(b"fmgg", numbers), &[&format!("GGMF version {version}"), "before GGUF", converted]);
        is_named(&of(b"algg", numbers), &[&format!("LoRA adapter in GGLA version {version}")]);
    }
    is_named(&of(b"lmgg", llama), &["unversioned", "GGML", "before GGUF"]);
    is_named(&of(b"lmgg", [51865, 1500, 384, 6, 4, 448, 384, 6, 4, 80, 1]), &["Whisper", "whisper.cpp"]);
    is_unnamed(&of(b"tjgg", [100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]));
    is_unnamed(&of(b"tjgg", [1000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]));
    is_unnamed(&of(b"lmgg", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]));
}

#[test]
fn onnx() {
    // The version of the format, the name of a producer, a graph of three bytes, a set of operators.
    let model = b"\x08\x0a\x12\x03abc\x3a\x03\x12\x01g\x42\x04\x0a\x00\x10\x15";
    for whole in [&model[..], b"\x3a\x00\x08\x01\x28\x05\x42\x02\x10\x01"] {
        assert_eq!(File::open(whole).unwrap().format(), tenslice::Format::Onnx);
    }
    let cut = "begins like an ONNX model that is cut off: it should have at least 18 bytes, 1 is missing";
    is_named(&model[..model.len() - 1], &[cut]);
    is_named(&model[..11], &["begins like an ONNX model that is cut off", "12 bytes, 1 is missing"]);
    is_named(b"\x08\x0a\x12\x05abcde\x3a", &["begins like an ONNX model: it may be cut off"]);
    is_named(b"\x08\x0a\x12\x06abcdef", &["begins like an ONNX model: it may be cut off"]); // no graph yet
    is_unnamed(&[&model[..], b"\x0b"].concat());
    is_unnamed(b"\x08\x00\x3a\x03\x12\x01g\x42\x04\x0a\x00\x10\x15\x0b"); // no version
    is_unnamed(b"\x08\x0a\x42\x04\x0a\x00\x10\x15\x12\x02\x01\x02"); // no graph, and a producer that is no text
    is_unnamed(b"\x08\x0a\x38\x03\x42\x04\x0a\x00\x10\x15"); // a graph that is a number
    is_unnamed(b"\x08\x0a\x3a\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

#[test]
fn other_headers() {
    let gguf = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    for at in [1, 16, 128, 4000, 60_000] {
        is_named(
            &[&noise(at)[..], gguf].concat(),
            &[&format!("a GGUF file begins at byte {at}"), &format!("tail -c +{}", at + 1)],
        );
        is_named(&[&noise(at)[..], b"\x93NUMPY\x01\0v\0{"].concat(), &[&format!("an NPY array begins at byte {at}")]);
    }
    // The archive begins before the array in it.
    let archive = [&noise(50)[..], b"PK\x03\x04\x14\0\0\0", &noise(40), b"\x93NUMPY\x01\0v\0{"].concat();
    is_named(&archive, &["a ZIP archive, such as NPZ, begins at byte 50", "tail -c +51"]);
    let http = b"HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\n";
    is_named(&[&http[..], gguf].concat(), &["a GGUF file begins at byte 39"]);
    is_named(&[&[0; 64][..], b"GGUF\0\0\0\x03"].concat(), &["a GGUF file begins at byte 64"]);
    is_unnamed(&[&noise(70_000)[..], gguf].concat());
    is_unnamed(&[&noise(100)[..], b"GGUF\x09\0\0\0"].concat());
    is_unnamed(&[&noise(100)[..], b"\x93NUMPY\x07\0"].concat());
}
