//! Values that are encoded in the only way, and others.
#![forbid(unsafe_code)]

use std::prelude::v1::*;

use super::*;

/// Skips a value that is all of the bytes; the kind of the fault, if any.
fn skip(bytes: &[u8]) -> Result<(), ErrorKind> {
    let mut reader = Reader::new(bytes, 0);
    match reader.skip_value(1) {
        Some(()) if reader.rest().is_empty() => Ok(()),
        Some(()) => Err(ErrorKind::TrailingBytes),
        None => Err(reader.fault.unwrap().kind),
    }
}

#[test]
fn values_have_one_encoding() {
    use ErrorKind::*;
    let all: &[(&[u8], Result<(), ErrorKind>)] = &[
        (b"\x17", Ok(())),
        (b"\x18\x17", Err(NotShortest)),
        (b"\x18\x18", Ok(())),
        (b"\x19\x00\xff", Err(NotShortest)),
        (b"\x19\x01\x00", Ok(())),
        (b"\x1a\x00\x00\xff\xff", Err(NotShortest)),
        (b"\x1a\x00\x01\x00\x00", Ok(())),
        (b"\x1b\x00\x00\x00\x00\xff\xff\xff\xff", Err(NotShortest)),
        (b"\x1b\x00\x00\x00\x01\x00\x00\x00\x00", Ok(())),
        (b"\x1b\xff\xff\xff\xff\xff\xff\xff\xff", Ok(())),
        (b"\x38\x17", Err(NotShortest)),
        (b"\x78\x01a", Err(NotShortest)),
        (b"\x61a", Ok(())),
        (b"\x61\xff", Err(InvalidUtf8)),
        (b"\x41\xff", Ok(())),
        (b"\x42\xff", Err(Truncated)),
        (b"", Err(Truncated)),
        (b"\x19\x01", Err(Truncated)),
        (b"\x5f\x41a\xff", Err(IndefiniteLength)),
        (b"\x7f\x61a\xff", Err(IndefiniteLength)),
        (b"\x9f\xff", Err(IndefiniteLength)),
        (b"\xbf\xff", Err(IndefiniteLength)),
        (b"\xff", Err(Malformed)),
        (b"\x1f", Err(Malformed)),
        (b"\x1c", Err(Malformed)),
        (b"\xc0\x00", Err(Tagged)),
        (b"\xf4", Ok(())),
        (b"\xf5", Ok(())),
        (b"\xf6", Ok(())),
        (b"\xf7", Err(UnexpectedType)),
        (b"\xe0", Err(UnexpectedType)),
        (b"\xf8\xff", Err(Malformed)),
        (b"\xf9\x7e\x00", Ok(())),
        (b"\xf9\x7e\x01", Err(NotShortest)),
        (b"\xf9\xfe\x00", Err(NotShortest)),
        (b"\xf9\x7c\x00", Ok(())),
        (b"\xfa\x7f\xc0\x00\x00", Err(NotShortest)),
        (b"\xfa\x7f\x80\x00\x00", Err(NotShortest)),
        (b"\x82\x00", Err(CountTooLarge)),
        (b"\x82\x00\x00", Ok(())),
        (b"\xa1\x00", Err(CountTooLarge)),
        (b"\xa2\x00\x00\x01\x00", Ok(())),
        (b"\xa2\x01\x00\x00\x00", Err(KeyOrder)),
        (b"\xa2\x00\x00\x00\x00", Err(RepeatedKey)),
        (b"\xa2\x61a\x00\x80\x00", Ok(())), // a text string, then a list
        (b"\xa2\x82\x01\x02\x00\x82\x01\x01\x00", Err(KeyOrder)), // lists as keys
        (b"\xa2\x82\x01\x01\xa1\x01\x00\x82\x01\x02\x00", Ok(())), // with a map between
        (b"\xa2\x61b\x00\x61a\x00", Err(KeyOrder)),
        (b"\xa2\x61b\x00\x62aa\x00", Ok(())),
        (b"\x81\xa2\x61b\x00\x61b\x00", Err(RepeatedKey)),
    ];
    for (bytes, expected) in all {
        assert_eq!(skip(bytes), *expected, "{bytes:x?}");
    }
}

#[test]
fn values_are_nested_no_deeper_than_32() {
    for (levels, expected) in [(31, Ok(())), (32, Err(ErrorKind::TooDeep)), (1000, Err(ErrorKind::TooDeep))] {
        let mut lists = vec![0x81; levels];
        lists.push(0);
        assert_eq!(skip(&lists), expected, "{levels}");
        let mut maps = [0xa1, 0].repeat(levels);
        maps.push(0);
        assert_eq!(skip(&maps), expected, "{levels}");
        let keys = [vec![0xa1; levels], vec![0; levels + 1]].concat();
        assert_eq!(skip(&keys), expected, "{levels}");
    }
}

/// Every number of 16 bits widened, and numbers beside them.
#[test]
fn floats_have_the_shortest_form_that_keeps_their_value() {
    let mut count = 0;
    let mut check = |bits: u64| {
        let wide = f64::from_bits(bits);
        let single = wide as f32;
        let is_single = f64::from(single) == wide;
        let half = half::f16::from_f32(single);
        let is_half = half.to_f32() == single;
        let encoded = [&[DOUBLE][..], &bits.to_be_bytes()].concat();
        let expected = if is_single || wide.is_nan() { Err(ErrorKind::NotShortest) } else { Ok(()) };
        assert_eq!(skip(&encoded), expected, "{wide:e}");
        if is_single {
            let encoded = [&[SINGLE][..], &single.to_bits().to_be_bytes()].concat();
            let expected = if is_half { Err(ErrorKind::NotShortest) } else { Ok(()) };
            assert_eq!(skip(&encoded), expected, "{single:e}");
            count += 1;
        }
    };
    for bits in 0..=u16::MAX {
        let wide = half::f16::from_bits(bits).to_f64().to_bits();
        for other in [0, 1, 1 << 28, 1 << 29, 1 << 30, 1 << 41, 1 << 42, 1 << 43, 1 << 51] {
            check(wide);
            check(wide ^ other);
            check(wide.wrapping_add(other));
        }
    }
    for exponent in 0..2048 {
        for fraction in [0, 1, 1 << 28, 1 << 29, 1 << 42, 1 << 51, (1 << 52) - 1] {
            check(exponent << 52 | fraction);
            check(1 << 63 | exponent << 52 | fraction);
        }
    }
    assert!(count > 100_000, "{count}");
}
