//! A build without Zstandard rejects compressed components with an error that names the encoding, and reads all
//! others.
#![cfg(all(feature = "ztensor", not(feature = "zstd")))]

use crate::support::cases;
use tenslice::{Encoding, ErrorKind, File, Layout, Purpose, ReadOptions};

#[test]
fn rejects_only_compressed_components() {
    let (mut refused, mut read) = (0, 0);
    for case in cases() {
        let Ok(file) = File::open(&case.bytes) else { continue };
        for tensor in file.tensors() {
            let mut is_raw = true;
            for component in tensor.components() {
                if component.encoding() == Encoding::Blosc {
                    is_raw = false; // only the tensor reads chunks, and some are uncompressed
                    continue;
                }
                let is_empty =
                    component.encoding() == Encoding::ZstdSeekable && component.decoded_length() == Some(0);
                if component.shard().is_some() || is_empty {
                    is_raw = false; // the bytes are in another file, or there is no frame to decode
                    continue;
                }
                let mut room = vec![0; component.decoded_length().unwrap_or(4096).min(1 << 20) as usize];
                let result = component.read_into(&mut room, ReadOptions::new());
                if component.encoding() == Encoding::Raw {
                    assert!(result.is_ok(), "{}: {result:?}", case.name());
                    read += 1;
                } else if matches!(component.encoding(), Encoding::Varint | Encoding::Fixed) {
                    is_raw = false; // numbers in other forms, which need no Zstandard
                    let kind = result.err().map(|error| error.kind());
                    assert!(
                        component.caps().decode && kind != Some(ErrorKind::UnsupportedEncoding),
                        "{}",
                        case.name()
                    );
                } else {
                    is_raw = false;
                    let error = result.unwrap_err();
                    assert!(!component.caps().range && !component.caps().decode, "{}", case.name());
                    if matches!(error.kind(), ErrorKind::InvalidSeekTable | ErrorKind::DecodedLength) {
                        assert_eq!(case.expect(), "reject", "{}", case.name()); // detected before a frame is decoded
                        continue;
                    }
                    assert!(matches!(error.kind(), ErrorKind::UnsupportedEncoding | ErrorKind::TooSmall), "{error}");
                    let sentence = error.explain(&case.bytes[..]).to_string();
                    let names_it = sentence.contains(&format!("\"{}\"", component.encoding_name()));
                    assert!(names_it || error.kind() == ErrorKind::TooSmall, "{sentence}");
                    refused += 1;
                }
            }
            if tensor.layout() == Layout::Dense
                && is_raw
                && tensor.requirements(Purpose::Read).output.is_some_and(|length| length < 1 << 20)
            {
                let mut room = vec![0; tensor.requirements(Purpose::Read).output.unwrap() as usize];
                assert!(tensor.read_into(&mut room, ReadOptions::new()).is_ok(), "{}", case.name());
            }
        }
    }
    assert!(refused > 30 && read > 1000, "{refused} {read}");
}
