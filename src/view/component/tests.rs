//! Components in frames, in shards, and with digests of decoded bytes. They are synthetic, since no other format has
//! them.
#![forbid(unsafe_code)]

use std::string::String;
use std::vec;
use std::vec::Vec;
use std::{format, string::ToString};

use super::{Caps, Component, Verification};
use crate::bytes::extent::Extent;
use crate::bytes::utf8::Utf8;
use crate::codec::BuiltIn;
use crate::codec::decoder::{DecodeError, Decoder};
use crate::codec::options::{Purpose, ReadOptions};
use crate::codec::seekable::tests::{Libzstd, content, stream};
use crate::error::ErrorKind;
use crate::error::origin::{Format, Part};
use crate::format::Contents;
use crate::types::{ByteOrder, DType, Encoding};

/// Returns a component that covers all of `file`.
fn component<'a>(file: &'a [u8], encoding: Encoding, decoded_length: usize, digest: &'a str) -> Component<'a> {
    let mut component = Component::blank(file.into(), Format::Ztensor2);
    let record = component.record_mut();
    record.extent = Extent::new(0, file.len() as u64);
    record.encoding = encoding;
    record.decoded_length = Some(decoded_length as u64);
    record.digest = (!digest.is_empty()).then_some(Utf8::new(digest));
    record.decoded = Some(Contents::Any);
    component
}

fn xxh3(bytes: &[u8]) -> String {
    format!("xxh3:{:016x}", crate::codec::xxh3::hash(bytes))
}

fn sha256(bytes: &[u8]) -> String {
    let digest = <sha2::Sha256 as sha2::Digest>::digest(bytes);
    digest.iter().fold("sha256:".to_string(), |text, byte| format!("{text}{byte:02x}"))
}

/// A decoder that supports no encoding.
struct Nothing;

impl Decoder for Nothing {
    fn decode(&mut self, _: Encoding, _: &[u8], _: &mut [u8]) -> Result<usize, DecodeError> {
        Err(DecodeError::Unsupported)
    }
}

#[test]
fn ranges_are_parts_of_the_whole() {
    let numbers = content(4000);
    let seekable = stream(&numbers, 1024);
    for order in [ByteOrder::Little, ByteOrder::Big] {
        for dtype in [None, Some(DType::U8), Some(DType::F32), Some(DType::C128)] {
            for (file, encoding) in [(&numbers, Encoding::Raw), (&seekable, Encoding::ZstdSeekable)] {
                let mut component = component(file, encoding, 4000, "");
                (component.record_mut().dtype, component.record_mut().order) = (dtype, order);
                let mut whole = vec![0; 4000];
                component.read_into(&mut whole, ReadOptions::new().decoder(&mut Libzstd::default())).unwrap();
                let mut expected = numbers.clone();
                dtype.inspect(|dtype| order.to_native(&mut expected, *dtype));
                assert_eq!(whole, expected);
                let most = component.requirements(Purpose::ReadRange).scratch.unwrap();
                assert_eq!(most, if encoding == Encoding::Raw { 0 } else { 1024 });
                let mut scratch = vec![0; most as usize];
                let lane = dtype.map_or(1, |dtype| dtype.lane_size());
                for start in (0..4000).step_by(8) {
                    let mut part = vec![0; 8 * (start % 13)];
                    let end = start + part.len();
                    let mut decoder = Libzstd::default();
                    let read = component.read_range_into(
                        start as u64,
                        &mut part,
                        ReadOptions::new().decoder(&mut decoder).scratch(&mut scratch),
                    );
                    match read {
                        Ok(()) => assert_eq!(part, whole[start..end]),
                        Err(error) => {
                            assert_eq!((error.kind(), end > 4000), (ErrorKind::NoSuchElement, true));
                            assert!(part.iter().all(|byte| *byte == 0));
                        }
                    }
                }
                for (start, length) in [(1, 4), (4, 1), (3, 5)] {
                    let read = component.read_range_into(
                        start,
                        &mut [0; 8][..length],
                        ReadOptions::new().scratch(&mut scratch),
                    );
                    match read.map_err(|error| error.kind()) {
                        Err(ErrorKind::PartialElement) => assert!(lane > 1),
                        other => assert!(lane == 1 && (other.is_ok() || !BuiltIn::decodes(Encoding::Zstd))),
                    }
                }
            }
        }
    }
}

#[test]
fn errors_say_where() {
    let numbers = content(4000);
    let good = stream(&numbers, 1000);
    let fails = |file: &[u8], decoder: &mut dyn Decoder| {
        let error = component(file, Encoding::ZstdSeekable, 4000, "");
        let error = error.read_into(&mut [0; 4000], ReadOptions::new().decoder(decoder)).unwrap_err();
        (error.kind(), error.part())
    };
    let mut changed = good.clone();
    *changed.last_mut().unwrap() ^= 1;
    assert_eq!(fails(&changed, &mut Libzstd::default()), (ErrorKind::InvalidSeekTable, Part::SeekTable));
    let mut changed = good.clone();
    changed[4] &= !4;
    assert_eq!(fails(&changed, &mut Libzstd::default()), (ErrorKind::InvalidFrame, Part::Frame));
    let mut changed = good.clone();
    changed[200] ^= 1;
    let kind = fails(&changed, &mut Libzstd::default()).0;
    assert!(matches!(kind, ErrorKind::CorruptStream | ErrorKind::ChecksumMismatch));
    assert_eq!(fails(&good, &mut Nothing), (ErrorKind::UnsupportedEncoding, Part::Encoding));
    let too_long = component(&good, Encoding::ZstdSeekable, 4001, "");
    let mut dst = [0xaa; 4001];
    assert_eq!(too_long.read_into(&mut dst, ReadOptions::new()).unwrap_err().kind(), ErrorKind::DecodedLength);
    assert_eq!(dst, [0xaa; 4001]);
    assert_eq!(too_long.requirements(Purpose::ReadRange).scratch, None);
    let small = component(&good, Encoding::ZstdSeekable, 4000, "")
        .read_into(&mut dst[..3999], ReadOptions::new())
        .unwrap_err();
    assert_eq!(small.kind(), ErrorKind::TooSmall);
    // Other encodings have no ranges.
    for (encoding, kind) in [(Encoding::Zstd, ErrorKind::Encoded), (Encoding::Other, ErrorKind::UnsupportedEncoding)]
    {
        let component = component(&good, encoding, 4000, "");
        assert_eq!(component.read_range_into(0, &mut [0; 4], ReadOptions::new()).unwrap_err().kind(), kind);
        assert_eq!((component.requirements(Purpose::ReadRange).scratch, component.caps().range), (None, false));
    }
}

#[test]
fn digests_of_decoded_bytes() {
    let numbers = content(4000);
    let seekable = stream(&numbers, 700);
    for digest in [xxh3(&numbers), sha256(&numbers)] {
        let raw = component(&numbers, Encoding::Raw, 4000, &digest);
        assert_eq!(
            (raw.verify(ReadOptions::new()), raw.requirements(Purpose::Verify).scratch),
            (Ok(Verification::Verified), Some(0))
        );
        let encoded = component(&seekable, Encoding::ZstdSeekable, 4000, &digest);
        assert_eq!(encoded.requirements(Purpose::Verify).scratch, Some(700));
        let mut decoder = Libzstd::default();
        assert_eq!(
            encoded.verify(ReadOptions::new().decoder(&mut decoder).scratch(&mut [0; 700])),
            Ok(Verification::Verified)
        );
        assert_eq!(decoder.bytes, 4000);
        assert_eq!(
            encoded.verify(ReadOptions::new().decoder(&mut decoder).scratch(&mut [0; 699])).unwrap_err().kind(),
            ErrorKind::OutOfScratch
        );
        assert_eq!(
            encoded.verify(ReadOptions::new().decoder(&mut Nothing).scratch(&mut [0; 700])).unwrap_err().part(),
            Part::Encoding
        );
        // The digest of other bytes, raw and encoded.
        let (other, other_stream) = (content(4001).split_off(1), stream(&content(4001)[1..], 700));
        let wrong = component(&other, Encoding::Raw, 4000, &digest).verify(ReadOptions::new()).unwrap_err();
        assert_eq!((wrong.kind(), wrong.part()), (ErrorKind::DigestMismatch, Part::Digest));
        let wrong = component(&other_stream, Encoding::ZstdSeekable, 4000, &digest);
        let wrong = wrong.verify(ReadOptions::new().decoder(&mut decoder).scratch(&mut [0; 700])).unwrap_err();
        assert_eq!((wrong.kind(), wrong.part()), (ErrorKind::DigestMismatch, Part::Digest));
        // A digest of the stored bytes instead of the decoded bytes.
        let stored = if digest.starts_with('x') { xxh3(&seekable) } else { sha256(&seekable) };
        let wrong = component(&seekable, Encoding::ZstdSeekable, 4000, &stored);
        assert_eq!(
            wrong.verify(ReadOptions::new().decoder(&mut decoder).scratch(&mut [0; 700])).unwrap_err().kind(),
            ErrorKind::DigestMismatch
        );
        // In upper case, and of an unknown kind.
        let (kind, digits) = digest.split_once(':').unwrap();
        let upper = format!("{kind}:{}", digits.to_ascii_uppercase());
        assert_eq!(
            component(&numbers, Encoding::Raw, 4000, &upper).verify(ReadOptions::new()).unwrap_err().kind(),
            ErrorKind::InvalidDigest
        );
    }
    let unknown = component(&numbers, Encoding::Raw, 4000, "blake3:00");
    assert_eq!((unknown.verify(ReadOptions::new()), unknown.caps().verify), (Ok(Verification::UnknownDigest), false));
    let none = component(&seekable, Encoding::ZstdSeekable, 4000, "");
    assert_eq!((none.verify(ReadOptions::new()), none.caps().verify), (Ok(Verification::NoDigest), false));
}

#[test]
fn elements_that_their_type_does_not_allow() {
    for (bytes, contents, is_valid) in [
        (&[0, 1, 1, 0, 1][..], Contents::Bools, true),
        (&[0, 1, 2, 0, 1], Contents::Bools, false),
        (&[0, 1, 0, 0, 255], Contents::Bools, false),
        (&[0xff, 0xff, 0x0f], Contents::OddHalves, true),
        (&[0x0f, 0x0f, 0x1f], Contents::OddHalves, false),
        (&[], Contents::OddHalves, true),
    ] {
        let (stream, digest) = (stream(bytes, 2), xxh3(bytes));
        for digest in ["", &digest] {
            let outcome = if digest.is_empty() { Verification::NoDigest } else { Verification::Verified };
            let expected = if is_valid { Ok(outcome) } else { Err(ErrorKind::InvalidElement) };
            let mut raw = component(bytes, Encoding::Raw, bytes.len(), digest);
            raw.record_mut().decoded = Some(contents);
            assert_eq!(raw.verify(ReadOptions::new()).map_err(|error| error.kind()), expected);
            let mut encoded = component(&stream, Encoding::ZstdSeekable, bytes.len(), digest);
            encoded.record_mut().decoded = Some(contents);
            let verified = encoded.verify(ReadOptions::new().decoder(&mut Libzstd::default()).scratch(&mut [0; 2]));
            assert_eq!(verified.map_err(|error| error.kind()), expected);
        }
    }
}

#[test]
fn shards() {
    let numbers = content(100);
    let other = [vec![0; 50], numbers.clone()].concat();
    let digest = xxh3(&numbers);
    let mut component = component(&[], Encoding::Raw, 100, &digest);
    assert_eq!(component.with_shard(&other).map(|_| ()).unwrap_err().kind(), ErrorKind::NotInShard, "not in a shard");
    component.record_mut().shard = Some(Utf8::new("part-1.zt"));
    component.record_mut().extent = Extent::new(50, 100);
    assert_eq!((component.shard(), component.caps()), (Some("part-1.zt"), Caps::default()));
    let mut dst = [0; 100];
    for error in [
        component.stored().unwrap_err(),
        component.bytes().unwrap_err(),
        component.read_into(&mut dst, ReadOptions::new()).unwrap_err(),
        component.read_range_into(0, &mut dst, ReadOptions::new()).unwrap_err(),
        component.verify(ReadOptions::new()).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InShard);
    }
    for bound in [component.with_shard(&other).unwrap(), component.with_bytes(&other[50..]).unwrap()] {
        assert_eq!((bound.bytes(), bound.shard()), (Ok(&numbers[..]), Some("part-1.zt")));
        assert_eq!(bound.verify(ReadOptions::new()), Ok(Verification::Verified));
        assert_eq!(bound.caps(), Caps { bytes: true, range: true, decode: true, verify: true });
    }
    let short = component.with_shard(&other[..149]).map(|_| ()).unwrap_err();
    assert_eq!((short.kind(), short.part()), (ErrorKind::OutOfFile, Part::Shard));
    component.record_mut().extent = Extent::new(u64::MAX, u64::MAX);
    assert!(component.with_shard(&other).is_err());
}

/// Each capability is true exactly if the operation works.
#[test]
fn caps_are_what_works() {
    let numbers = content(4000);
    let (seekable, digest) = (stream(&numbers, 1000), xxh3(&numbers));
    let zstd = zstd::bulk::compress(&numbers, 3).unwrap();
    let works = |component: &Component<'_>| {
        let verification = component.verify(ReadOptions::new().scratch(&mut [0; 1000]));
        Caps {
            bytes: component.bytes().is_ok(),
            range: component.read_range_into(8, &mut [0; 16], ReadOptions::new().scratch(&mut [0; 1000])).is_ok(),
            decode: component.read_into(&mut [0; 4000], ReadOptions::new()).is_ok(),
            verify: verification == Ok(Verification::Verified),
        }
    };
    let mut seen = Vec::new();
    for (file, encoding) in [
        (&numbers, Encoding::Raw),
        (&zstd, Encoding::Zstd),
        (&seekable, Encoding::ZstdSeekable),
        (&numbers, Encoding::Other),
        (&numbers, Encoding::Blosc),
    ] {
        for digest in ["", &digest] {
            let component = component(file, encoding, 4000, digest);
            assert_eq!(component.caps(), works(&component), "{encoding} {digest}");
            seen.push(component.caps());
            let mut absent = component;
            absent.record_mut().extent.offset = 1 << 40; // not in memory
            assert_eq!((absent.caps(), works(&absent)), (Caps::default(), Caps::default()));
        }
    }
    let raw = Caps { bytes: true, range: true, decode: true, verify: false };
    assert_eq!(seen[..2], [raw, Caps { verify: true, ..raw }]);
    let has_zstd = BuiltIn::decodes(Encoding::Zstd);
    assert_eq!(seen[5], Caps { bytes: false, range: has_zstd, decode: has_zstd, verify: has_zstd });
}

/// The numbers of a column are correct in either byte order, whether they are converted when decoded or when read.
#[test]
fn columns_in_either_byte_order() {
    let numbers: Vec<u32> = (0..1000_u32).map(|i| i.wrapping_mul(0x0102_0305)).collect();
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let bytes_of =
            |number: &u32| if order == ByteOrder::Big { number.to_be_bytes() } else { number.to_le_bytes() };
        let bytes: Vec<u8> = numbers.iter().flat_map(bytes_of).collect();
        let frames = stream(&bytes, 1024);
        for (file, encoding) in [(&bytes, Encoding::Raw), (&frames, Encoding::ZstdSeekable)] {
            for (dtype, storage) in [(Some(DType::U32), None), (None, Some(DType::U32))] {
                let mut component = component(file, encoding, 4000, "");
                let record = component.record_mut();
                (record.dtype, record.storage, record.order) = (dtype, storage, order);
                let mut scratch = vec![0; 4000];
                let column = component.column(&mut Libzstd::default(), &mut &mut scratch[..]).unwrap();
                let read = (0..1000).map(|i| column.index(i).unwrap());
                assert!(read.eq(numbers.iter().map(|number| u64::from(*number))), "{order:?} {encoding:?} {dtype:?}");
            }
        }
    }
}

/// Bytes that do not fill whole elements are rejected, in place and decoded.
#[test]
fn parts_of_elements() {
    let bytes = content(4001);
    let frames = stream(&bytes, 1024);
    for (dtype, is_refused) in [(DType::F32, true), (DType::U8, false)] {
        let mut raw = component(&bytes, Encoding::Raw, 4001, "");
        raw.record_mut().dtype = Some(dtype);
        let mut encoded = component(&frames, Encoding::ZstdSeekable, 4001, "");
        encoded.record_mut().dtype = Some(dtype);
        let decoded = &mut [0; 4001];
        let errors = [
            raw.aligned_bytes(1, ByteOrder::NATIVE).err(),
            raw.read_into(decoded, ReadOptions::new().decoder(&mut Libzstd::default())).err(),
            encoded.read_into(decoded, ReadOptions::new().decoder(&mut Libzstd::default())).err(),
        ];
        let expected = is_refused.then_some(ErrorKind::PartialElement);
        assert!(errors.iter().all(|error| error.map(|error| error.kind()) == expected), "{dtype:?} {errors:?}");
    }
}
