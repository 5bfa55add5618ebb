//! Messages that no fixture covers: the rule in the format's terms, and the wrong number.
#![cfg(all(feature = "formats", feature = "digest", feature = "dequantize", feature = "zstd"))]

use crate::support::fixture;
use crate::support::frames::Frame;
use crate::support::gguf::{Gguf, Meta};
use crate::support::ztensor2::{Object, Stored, file, shard, xxh3};
use serde_json::Value as Json;
use tenslice::{DecodeError, Decoder, Encoding, ErrorKind, File, Part, Purpose, ReadOptions};
use xxhash_rust::xxh3::xxh3_64;

#[track_caller]
fn refused(bytes: &[u8]) -> String {
    File::open(bytes).unwrap_err().explain(bytes).to_string()
}

#[track_caller]
fn says(message: &str, part: &str) {
    assert!(message.contains(part), "{message}");
}

fn part(role: &'static str, dtype: &'static str, stored: &[u8]) -> Stored {
    Stored { role, dtype, stored: stored.to_vec(), ..Stored::default() }
}

fn object(name: &'static str, shape: &[u64], layout: &'static str, parts: Vec<Stored>) -> Object {
    Object { name, shape: shape.to_vec(), layout, attributes: Json::Null, parts }
}

#[test]
fn rules_of_ztensor_2() {
    let scalar = |name| object(name, &[], "dense", vec![part("data", "u8", &[7])]);
    let good = file(&[scalar("a")], &[]);
    assert!(File::open(&good).is_ok());

    let long: &str = "n".repeat(1025).leak();
    says(&refused(&file(&[scalar(long)], &[])), "it must have 1 to 1024 bytes");
    says(&refused(&file(&[scalar("")], &[])), "it must have 1 to 1024 bytes");
    let of_rank = |rank| object("a", &vec![1; rank], "dense", vec![part("data", "u8", &[7])]);
    assert!(File::open(&file(&[of_rank(64)], &[])).is_ok());
    says(&refused(&file(&[of_rank(65)], &[])), "there are more than 64 dimensions");
    let csr = |dtype: &'static str| {
        let parts = vec![
            part("values", "u8", &[7]),
            part("indices", dtype, &[0; 4]),
            part("indptr", dtype, &[0, 0, 0, 0, 1, 0, 0, 0]),
        ];
        object("a", &[1, 1], "zt.sparse_csr/1", parts)
    };
    assert!(File::open(&file(&[csr("u32")], &[])).is_ok());
    says(&refused(&file(&[csr("i32")], &[])), "indices must be u32 or u64, all of the same type");
    let one_more = object("a", &[], "dense", vec![part("data", "u8", &[7]), part("more", "u8", &[7])]);
    says(&refused(&file(&[one_more], &[])), "\"more\"");

    // The footer: offset, length and hash of the manifest, version.
    let footer = good.len() - 40;
    let mut newer = good.clone();
    newer[footer + 24] = 3;
    says(&refused(&newer), "this version is not supported: 3");
    let mut larger = good.clone();
    larger[footer + 8..][..8].copy_from_slice(&77_777_u64.to_le_bytes());
    says(&refused(&larger), "77777");
    let mut elsewhere = good.clone();
    let manifest = u64::from_le_bytes(good[footer..][..8].try_into().unwrap());
    elsewhere[footer..][..8].copy_from_slice(&(manifest + 1).to_le_bytes());
    elsewhere[footer + 8..][..8].copy_from_slice(&(footer as u64 - manifest - 1).to_le_bytes());
    let error = File::open(&elsewhere).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::MisalignedOffset, Some(footer as u64)));
    let mut none = good;
    none[footer + 8..][..8].fill(0);
    says(&refused(&none), "a file without a manifest must state 0 for its offset and its hash, too");
}

#[test]
fn digests_and_shards_of_ztensor_2() {
    let with_digest = Stored { digest: Some(xxh3(&[8])), ..part("data", "u8", &[7]) };
    let bytes = file(&[object("a", &[], "dense", vec![with_digest])], &[]);
    let file_1 = File::open(&bytes).unwrap();
    let error = file_1.find("a").unwrap().verify(ReadOptions::new()).unwrap_err();
    says(&error.explain(&bytes[..]).to_string(), "the decoded bytes do not match the digest");

    let in_shard = |shard: &'static str| Stored { shard: Some(shard), ..part("data", "u8", &[7]) };
    let of_shard = |shard, digest: &str| {
        file(&[object("a", &[], "dense", vec![in_shard(shard)])], &[(shard, 9000, digest.to_string())])
    };
    let long: &str = "s".repeat(65).leak();
    says(&refused(&of_shard(long, &xxh3(&[8]))), "it must have 1 to 64 bytes");
    let bytes = of_shard("s", &xxh3(&[0; 9000]));
    let whole = File::open(&bytes).unwrap();
    let whole = whole.as_ztensor2().unwrap();
    assert_eq!(whole.check_shard("s", &[0; 9000]), Ok(true));
    says(
        &whole.check_shard("s", &[0; 8999]).unwrap_err().explain(&bytes[..]).to_string(),
        "the file is not as long as the shard",
    );
    let bytes = shard(&[7; 9]);
    let only_data = File::open(&bytes).unwrap();
    assert!(only_data.as_ztensor2().unwrap().is_shard() && only_data.tensors().next().is_none());
    // A digest of an unknown kind is not an error, and is not compared.
    let bytes = of_shard("s", "blake9:00");
    let newer = File::open(&bytes).unwrap();
    assert_eq!(newer.as_ztensor2().unwrap().check_shard("s", &[1; 9000]), Ok(false));
}

#[test]
fn methods_and_names_of_archives() {
    // A stored entry whose headers state another method, or whose name has a NUL.
    let good = fixture("npz/stored.npz");
    let directory = good.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    for (method, name) in [(9, "deflate64"), (12, "bzip2"), (14, "lzma"), (98, "ppmd"), (99, "unknown method")] {
        let mut bytes = good.clone();
        bytes[8] = method;
        bytes[directory + 10] = method;
        let file = File::open(&bytes).unwrap();
        let first = file.tensors().next().unwrap().components().next().unwrap();
        assert_eq!((first.encoding(), first.encoding_name()), (Encoding::Other, name));
    }
    let mut bytes = good;
    bytes[30] = 0;
    bytes[directory + 46] = 0;
    says(&refused(&bytes), "a name contains a NUL");
}

#[test]
fn frames_of_blosc2() {
    let bytes = fixture("b2nd/good/empty_1_mem_0.b2nd");
    let file = File::open(&bytes).unwrap();
    let array = file.as_b2nd().unwrap();
    assert_eq!((array.chunk_count(), array.table_scratch_length()), (0, Ok(0)));

    for (name, codec) in [("blosclz", 0), ("lz4", 1), ("zlib", 4), ("zstd", 5)] {
        let bytes = fixture(&format!("b2nd/good/cf_{name}_none_0.b2nd"));
        let file = File::open(&bytes).unwrap();
        let array = file.as_b2nd().unwrap();
        assert_eq!(
            array
                .chunk(0, ReadOptions::new().scratch(&mut vec![0; array.table_scratch_length().unwrap() as usize]))
                .unwrap()
                .codec(),
            codec
        );
        let nowhere = vec![0; array.shape().rank() as usize];
        assert_eq!(array.work_length(&nowhere, &nowhere), Ok(0), "{name}");
    }
    let mut bytes = Frame::default().bytes();
    assert_eq!(File::open(&bytes).map(|file| file.version().map(String::from)), Ok(Some("2".into())));
    bytes[25] = 0x11;
    assert_eq!(File::open(&bytes).map(|file| file.version().map(String::from)), Ok(Some("1".into())));
}

#[test]
fn components_of_the_same_role() {
    let parts = vec![part("data", "u8", &[7]), part("datb", "u8", &[7])];
    let mut bytes = file(&[object("a", &[], "of nobody", parts)], &[]);
    assert!(File::open(&bytes).is_ok());
    let second = bytes.windows(5).position(|bytes| bytes == b"ddatb").unwrap();
    renamed(&mut bytes, second + 4);
    let error = File::open(&bytes).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::RepeatedKey, Some(second as u64)));
    // The same with shards.
    let shards = ["sa", "sb"].map(|name| (name, 9000, xxh3(&[8])));
    let mut bytes = file(&[object("a", &[], "of nobody", vec![part("data", "u8", &[7])])], &shards);
    assert!(File::open(&bytes).is_ok());
    let second = bytes.windows(3).position(|bytes| bytes == b"bsb").unwrap();
    renamed(&mut bytes, second + 2);
    let error = File::open(&bytes).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::RepeatedKey, Some(second as u64)));
}

/// Puts an `a` at that offset of the manifest and updates its hash.
fn renamed(bytes: &mut [u8], at: usize) {
    bytes[at] = b'a';
    let footer = bytes.len() - 40;
    let manifest = u64::from_le_bytes(bytes[footer..][..8].try_into().unwrap()) as usize;
    let hash = xxh3_64(&bytes[manifest..footer]);
    bytes[footer + 16..][..8].copy_from_slice(&hash.to_le_bytes());
}

/// A decoder that decodes nothing.
struct Nothing;
impl Decoder for Nothing {
    fn decode(&mut self, _: Encoding, _: &[u8], _: &mut [u8]) -> Result<usize, DecodeError> {
        Err(DecodeError::Unsupported)
    }
}

#[test]
fn codecs_without_a_decoder() {
    for name in ["zlib", "zstd"] {
        let bytes = fixture(&format!("b2nd/good/cf_{name}_none_0.b2nd"));
        let file = File::open(&bytes).unwrap();
        let array = file.as_b2nd().unwrap();
        let stop: Vec<u64> = array.shape().iter().collect();
        let start = vec![0; stop.len()];
        let mut scratch = vec![0; array.region_requirements(&start, &stop).unwrap().scratch.unwrap() as usize];
        let mut dst = vec![0; array.region_requirements(&start, &stop).unwrap().output.unwrap() as usize];
        let error = array
            .read_region(&start, &stop, &mut dst, ReadOptions::new().decoder(&mut Nothing).scratch(&mut scratch))
            .map(drop)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedCodec);
        let message = error.explain(&bytes[..]).to_string();
        says(&message, name);
        says(&message, &format!("(build with the feature `{name}`, or pass a decoder"));
    }
    let bytes = fixture("bad/v1.2/encoding_lz4.zt");
    let file = File::open(&bytes).unwrap();
    let unknown = file.tensors().find_map(|t| t.data().ok().filter(|c| c.encoding_name() == "lz4")).unwrap();
    says(
        &unknown.bytes().unwrap_err().explain(&bytes[..]).to_string(),
        "there is no decoder for the encoding: \"lz4\"",
    );
}

#[cfg(feature = "zstd")]
#[test]
fn dictionaries() {
    /// The built-in decoder, which also records the dictionary that it is given.
    #[derive(Default)]
    struct Recording(tenslice::BuiltIn, Vec<u8>);
    impl Decoder for Recording {
        fn decode(&mut self, encoding: Encoding, stored: &[u8], dst: &mut [u8]) -> Result<usize, DecodeError> {
            self.0.decode(encoding, stored, dst)
        }

        fn decode_with_dictionary(
            &mut self,
            encoding: Encoding,
            dictionary: &[u8],
            stored: &[u8],
            dst: &mut [u8],
        ) -> Result<usize, DecodeError> {
            self.1 = dictionary.to_vec();
            self.0.decode_with_dictionary(encoding, dictionary, stored, dst)
        }
    }
    let bytes = fixture("b2nd/good/dict_zstd_shuffle_0.b2nd");
    let file = File::open(&bytes).unwrap();
    let array = file.as_b2nd().unwrap();
    let stop: Vec<u64> = array.shape().iter().collect();
    let start = vec![0; stop.len()];
    let mut scratch = vec![0; array.region_requirements(&start, &stop).unwrap().scratch.unwrap() as usize];
    let mut dst = vec![0; array.region_requirements(&start, &stop).unwrap().output.unwrap() as usize];
    let mut decoder = Recording::default();
    array
        .read_region(&start, &stop, &mut dst, ReadOptions::new().decoder(&mut decoder).scratch(&mut scratch))
        .unwrap();
    let Recording(mut decoder, dictionary) = decoder;
    assert!(dictionary.starts_with(&[0x37, 0xa4, 0x30, 0xec]));
    // The contents are not printed.
    let printed = format!("{decoder:?}");
    assert!(printed.contains("Memory") && printed.len() < 100, "{printed}");
    // A frame that states no dictionary is decoded with any dictionary, to the same bytes.
    let content: Vec<u8> = (0..=255).collect();
    let mut decoded = [0; 256];
    let count = decoder.decode_with_dictionary(
        Encoding::Zstd,
        &dictionary,
        &crate::support::ztensor2::zstd_frame(&content),
        &mut decoded,
    );
    assert_eq!((count, &decoded[..]), (Ok(256), &content[..]));
    // A frame that refers to the dictionary's content is also decoded.
    use zstd::zstd_safe::{CCtx, CParameter};
    let content = dictionary.last_chunk::<256>().unwrap();
    let (mut context, mut stored) = (CCtx::create(), Vec::with_capacity(512));
    context.set_parameter(CParameter::DictIdFlag(false)).unwrap();
    context.load_dictionary(&dictionary).unwrap();
    context.compress2(&mut stored, content).unwrap();
    assert!(stored.len() < 64, "{stored:x?}");
    let count = decoder.decode_with_dictionary(Encoding::Zstd, &dictionary, &stored, &mut decoded);
    assert_eq!((count, &decoded), (Ok(256), content));
}

#[test]
fn damaged_indices() {
    // The stream of the column indices, with its magic destroyed.
    let mut bytes = fixture("v1.2/objects_sparse_quant_logical.zt");
    let at = File::open(&bytes).unwrap().find("csr_u64").unwrap().component("indices").unwrap().extent().offset;
    bytes[at as usize] ^= 1;
    let file = File::open(&bytes).unwrap();
    let tensor = file.find("csr_u64").unwrap();
    let mut scratch = vec![0; tensor.requirements(Purpose::Read).scratch.unwrap() as usize];
    let error = tensor.sparse(ReadOptions::new().scratch(&mut scratch)).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptStream);
    // Complex numbers are not real numbers.
    let complex = file.find("cplx").unwrap().read_f32_into(&mut [0.0; 4], ReadOptions::new()).map(drop).unwrap_err();
    assert_eq!(complex.kind(), ErrorKind::WrongType);
}

#[test]
fn capabilities_of_verify() {
    let bytes = fixture("v1.2/digests.zt");
    let file = File::open(&bytes).unwrap();
    let with_digest = |tensor: &tenslice::Tensor<'_>| tensor.data().is_ok_and(|data| data.digest().is_some());
    let digested = file.tensors().find(with_digest).unwrap();
    assert!(digested.data().unwrap().caps().verify);
}

#[test]
fn shapes_beyond_64_bits_in_old_tens() {
    let mut bytes = b"TENS".to_vec();
    for number in [0x9000, u32::from_le_bytes(*b"IEEE"), 8, 1, 2, 0, 0] {
        bytes.extend(u32::to_le_bytes(number));
    }
    for _ in 0..2 {
        bytes.extend([0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0]);
    }
    bytes.resize(bytes.len() + 64, 0);
    let error = File::open(&bytes).unwrap_err();
    assert_eq!((error.kind(), error.part()), (ErrorKind::ShapeOverflow, Part::Shape));
}

#[test]
fn frames_without_arrays_cost_whole_chunks() {
    for (name, is_all) in [("sc_vlblocks_lz4", true), ("sc_plain_mem", false)] {
        let bytes = fixture(&format!("b2nd/good/{name}_0.b2frame"));
        let file = File::open(&bytes).unwrap();
        let frame = file.as_b2nd().unwrap();
        let all: Vec<u64> = frame.shape().iter().collect();
        let one = frame.work_length(&[0], &[1]).unwrap();
        let most = frame.work_length(&[0], &all).unwrap();
        assert!(0 < one && one <= most, "{name}");
        assert_eq!(one == most && frame.chunk_count() == 1, is_all && frame.chunk_count() == 1, "{name}");
    }
}

/// If two counts differ, the message has both values.
#[test]
fn counts_that_differ() {
    let patched = |good: &[u8], at: usize, patch: &[u8]| {
        let mut bytes = good.to_vec();
        bytes[at..at + patch.len()].copy_from_slice(patch);
        bytes
    };
    // The record at the end of an archive: disk, disk of the directory, entries here, entries.
    let good = fixture("npz/stored.npz");
    let end = good.len() - 22;
    let count = good[end + 10];
    let more = [count + 1, 0];
    let both = patched(&patched(&good, end + 8, &more), end + 10, &more);
    says(
        &refused(&both),
        &format!("the directory has {count} entries, but the record at the end says {}", count + 1),
    );
    let of_them = format!("the archive has {} entries, and that {count} of them are in this file", count + 1);
    says(&refused(&patched(&good, end + 10, &more)), &of_them);
    says(
        &refused(&patched(&good, end + 4, &[3, 0])),
        "this is disk 3 of several, and that the directory is on disk 0",
    );
    let directory = good.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    says(&refused(&patched(&good, directory + 34, &[1])), "the entry says that it is on another disk than disk 0");

    // A frame: the table of chunks, and the contents of metalayers of header and trailer.
    let good = Frame::default();
    let bytes = good.bytes();
    assert!(File::open(&bytes).is_ok());
    let starts = |at: &usize| matches!(bytes[*at..], [0x93, 0xcd, _, _, 0xde, ..]);
    let indices: Vec<usize> = (0..bytes.len()).filter(starts).collect();
    assert_eq!(indices.len(), 2);
    for at in indices {
        let contents = at + bytes[at..].iter().position(|byte| *byte == 0xdc).unwrap();
        let message = refused(&patched(&bytes, contents + 1, &[0, 9]));
        says(&message, &format!("the index has {} metalayers, but 9 contents follow", bytes[at + 6]));
    }
    let table = fixture("b2nd/bad/offchunk_short_0.b2nd");
    says(&refused(&table), "the table of chunk offsets has 24 bytes, but the header says that there are 4 chunks");
}

/// The advice for errors of the caller, in every format.
#[test]
fn advice() {
    let bytes = fixture("v1.2/dense_all_dtypes.zt");
    let mut room = vec![0; bytes.len() + 16];
    let aligned = room.as_ptr().align_offset(16);
    // Big-endian machines cannot use the numbers in place, aligned or not.
    for shift in [1, 2].into_iter().filter(|_| cfg!(target_endian = "little")) {
        let place = aligned + shift;
        room[place..place + bytes.len()].copy_from_slice(&bytes);
        let bytes = &room[place..place + bytes.len()];
        let file = File::open(bytes).unwrap();
        let data = file.find("t.float64").unwrap().data().unwrap();
        let at = data.extent().offset;
        let error = data.as_slice::<f64>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misaligned);
        let message = error.explain(bytes).to_string();
        let address = bytes.as_ptr().addr() + at as usize;
        says(&message, &format!(": they begin at address {address:#x}, which is byte {at} of the file"));
        says(&message, "(copy them with read_into, or place the file at another address");
        // If the bytes are missing or aligned, the message states no address.
        assert!(!error.to_string().contains("address 0x"));
        for other in [&b""[..], &fixture("v1.2/digests.zt")] {
            assert!(!error.explain(other).to_string().contains("address 0x"));
        }
        let elsewhere = fixture("v1.2/dense_all_dtypes.zt");
        if elsewhere.as_ptr().addr().is_multiple_of(16) && at.is_multiple_of(16) {
            assert!(!error.explain(&elsewhere[..]).to_string().contains("address 0x"));
        }
    }
    let bytes = fixture("npz/deflated.npz");
    let file = File::open(&bytes).unwrap();
    let tensor = file.tensors().next().unwrap();
    let refused = tensor
        .component("data")
        .unwrap()
        .read_into(&mut [0; 4096], ReadOptions::new().decoder(&mut Nothing))
        .unwrap_err();
    says(&refused.explain(&bytes[..]).to_string(), "(build with the feature `zlib`, or pass a decoder)");
    let error = file.check(&mut []).map(|_| ()).and_then(|()| file.index(&mut [0; 1]).map(|_| ())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfScratch);
    says(
        &error.explain(&bytes[..]).to_string(),
        "the scratch memory is too small (other calls say how much is enough",
    );
    let encoded = tensor.component("data").unwrap().bytes().unwrap_err();
    says(&encoded.explain(&bytes[..]).to_string(), "(read_into decodes it)");
}

/// Bytes in a shard are in another file.
#[test]
fn advice_about_shards() {
    let bytes = file(
        &[object("a", &[1], "dense", vec![Stored { shard: Some("s"), ..part("data", "f32", &[0; 4]) }])],
        &[("s", 9000, xxh3(&[0; 9000]))],
    );
    let opened = File::open(&bytes).unwrap();
    let data = opened.find("a").unwrap().data().unwrap();
    let short = data.with_shard(&[0; 8]).unwrap_err();
    says(&short.explain(&bytes[..]).to_string(), "the component extends past the end of its shard");
    let room = vec![0_u64; 2000];
    let of_shard: &[u8] = zerocopy::IntoBytes::as_bytes(&room[..]);
    let moved = data.with_shard(&of_shard[1..]).unwrap();
    let error = moved.as_slice::<f32>().unwrap_err();
    if cfg!(target_endian = "big") {
        return assert_eq!(error.kind(), ErrorKind::ForeignEndian);
    }
    assert_eq!(error.kind(), ErrorKind::Misaligned);
    let message = error.explain(&bytes[..]).to_string();
    says(&message, "copy them with read_into");
    assert!(!message.contains("address 0x"), "{message}");
}

/// The message names the key of an attribute whose value is wrong.
#[test]
fn keys_of_metadata_are_named() {
    let of_header = |header: &str| [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat();
    for value in ["1", "null", "[]", "\"\\x\""] {
        let message = refused(&of_header(&format!(r#"{{"__metadata__":{{"good":"b","bad \"key\"":{value}}}}}"#)));
        says(&message, r#"safetensors: attribute "bad "key"": value: "#);
    }
    let message = refused(&of_header(r#"{"__metadata__":{"good":"b" "c":"d"}}"#));
    assert!(!message.contains("attribute \""), "{message}");
    let bytes = Gguf::default().pair("first", &Meta::U32(7)).pair("second", &Meta::Bool(2)).bytes();
    says(&refused(&bytes), "gguf 3: attribute \"second\": value: there is no such type of value");
}
