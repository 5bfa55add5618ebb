//! Metadata that is too large: files of a gigabyte and more, in which only the bytes that are read exist.
#![cfg(feature = "formats")]

use crate::support::frames::Frame;
use tenslice::{ErrorKind, Extent, File, Opened, Part, Source, safetensors};

/// The largest size of metadata in bytes, except for safetensors.
const MOST: u64 = 1 << 30;

/// Bytes at an offset.
type Piece<'a> = (u64, &'a [u8]);

/// Opens a file of that length that has these bytes at these offsets, and zeros elsewhere. Returns the first
/// requested range that is longer than a megabyte, or the error.
fn opens(length: u64, parts: &[Piece<'_>]) -> Result<Extent, (ErrorKind, Part, Option<u64>)> {
    let mut source = Source::new(length);
    loop {
        let opened = File::open_source(&source).map_err(|error| {
            let message = error.explain(&source).to_string();
            assert!(message.contains("larger than its limit"), "{message}");
            (error.kind(), error.part(), error.offset())
        })?;
        match opened {
            Opened::File(_) => panic!("it opens"),
            Opened::Need(need) if need.extent.length > 1 << 20 => return Ok(need.extent),
            Opened::Need(need) => {
                let mut bytes = vec![0; need.extent.length as usize];
                for (at, byte) in (need.extent.offset..).zip(&mut bytes) {
                    let part = parts.iter().find(|(from, part)| (*from..from + part.len() as u64).contains(&at));
                    *byte = part.map_or(0, |(from, part)| part[(at - from) as usize]);
                }
                source.add(need.extent.offset, bytes.leak()).unwrap();
            }
        }
    }
}

#[test]
fn manifests_of_ztensor() {
    let opens = |size: u64| {
        let length = 64 + size + 16;
        opens(length, &[(0, b"ZTEN1000"), (length - 16, &size.to_le_bytes()), (length - 8, b"ZTEN1000")])
    };
    assert_eq!(opens(MOST), Ok(Extent::new(64, MOST)));
    assert_eq!(opens(MOST + 1), Err((ErrorKind::ManifestTooLarge, Part::Footer, Some(64 + MOST + 1))));
}

#[test]
fn manifests_of_ztensor_2() {
    const MAGIC: &[u8] = b"\x89ZT2\r\n\x1a\n";
    let opens = |size: u64| {
        let footer = [4096, size, 0, 2].map(u64::to_le_bytes).concat();
        opens(4096 + size + 40, &[(0, MAGIC), (4096 + size, &[&footer[..], MAGIC].concat())])
    };
    assert_eq!(opens(MOST), Ok(Extent::new(4096, MOST)));
    assert_eq!(opens(MOST + 1), Err((ErrorKind::ManifestTooLarge, Part::Footer, Some(4096 + MOST + 1 + 8))));
}

#[test]
fn dimensions_of_tens() {
    let opens = |order: u32| {
        let header = [
            &b"TENS"[..],
            &0x0001_0000_u32.to_le_bytes(),
            b"IEEE",
            &8_u32.to_le_bytes(),
            &1_u32.to_le_bytes(),
            &order.to_le_bytes(),
            &[0; 8],
        ];
        opens(32 + 8 * u64::from(order), &[(0, &header.concat())])
    };
    let most = (MOST / 8) as u32;
    assert_eq!(opens(most), Ok(Extent::new(0, 32 + MOST)));
    assert_eq!(opens(most + 1), Err((ErrorKind::ManifestTooLarge, Part::Header, Some(20))));
}

#[test]
fn headers_of_npy() {
    let opens = |size: u32| {
        let start = [&b"\x93NUMPY\x02\0"[..], &size.to_le_bytes()].concat();
        opens(12 + u64::from(size), &[(0, &start)])
    };
    let most = (MOST - 12) as u32;
    assert!(opens(most).is_ok_and(|needed| needed.end() == Some(MOST)));
    assert_eq!(opens(most + 1), Err((ErrorKind::ManifestTooLarge, Part::Header, Some(8))));
}

#[test]
fn directories_of_npz() {
    let opens = |size: u32| {
        let end = [&b"PK\x05\x06\0\0\0\0\x01\0\x01\0"[..], &size.to_le_bytes(), &30_u32.to_le_bytes(), &[0; 2]];
        let length = 30 + u64::from(size) + 22;
        opens(length, &[(0, b"PK\x03\x04"), (length - 22, &end.concat())])
    };
    assert_eq!(opens(MOST as u32), Ok(Extent::new(30, MOST)));
    assert_eq!(opens(MOST as u32 + 1), Err((ErrorKind::ManifestTooLarge, Part::Footer, Some(30 + MOST + 1))));
}

#[test]
fn headers_and_trailers_of_blosc2() {
    // The lengths of the header and of the frame, then, near the end, the length of the trailer.
    let opens = |header: u64, trailer: u64| {
        let length = header + trailer;
        let mut start = Frame::default().bytes()[..87].to_vec();
        start[11..15].copy_from_slice(&(header as u32).to_be_bytes());
        start[16..24].copy_from_slice(&length.to_be_bytes());
        let mut end = vec![0xce];
        end.extend((trailer as u32).to_be_bytes());
        end.extend([0xd8, 0]);
        opens(length, &[(0, &start), (length - 23, &end)])
    };
    let too_large = Err((ErrorKind::ManifestTooLarge, Part::Header, Some(11)));
    assert!(opens(MOST, 100).is_ok_and(|needed| needed.length >= MOST));
    assert_eq!(opens(MOST + 1, 100), too_large);
    assert!(opens(100, MOST).is_ok_and(|needed| needed.length >= MOST));
    assert_eq!(opens(100, MOST + 1), too_large);
}

#[test]
fn indices_of_safetensors() {
    let text = vec![b'x'; 100_000_001];
    let kind = |text| safetensors::Index::open(text).map(drop).map_err(|error| (error.kind(), error.part()));
    assert_eq!(kind(&text), Err((ErrorKind::ManifestTooLarge, Part::File)));
    assert_ne!(kind(&text[1..]), Err((ErrorKind::ManifestTooLarge, Part::File)));
}
