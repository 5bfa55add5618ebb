//! Well-formed and malformed values of all kinds, read by the methods for single items and by the methods that skip
//! whole values.
#![forbid(unsafe_code)]

use std::prelude::v1::*;
use std::vec;

use super::*;

/// Calls `read`. Returns its result, the position of the reader, and the kind and position of the error, if any.
fn read<'a, T>(bytes: &'a [u8], read: impl FnOnce(&mut Reader<'a>) -> T) -> (T, u32, Option<(ErrorKind, u32)>) {
    let mut reader = Reader::new(bytes, 0);
    let value = read(&mut reader);
    (value, reader.position(), reader.check().err().map(|fault| (fault.kind, fault.at)))
}

/// Examples of RFC 8949, appendix A, and numbers at the ends of each width.
#[test]
fn items_as_users_see_them() {
    let all: &[(&[u8], Token<'_>)] = &[
        (b"\x00", Token::Integer(0)),
        (b"\x17", Token::Integer(23)),
        (b"\x18\x18", Token::Integer(24)),
        (b"\x18\xff", Token::Integer(255)),
        (b"\x19\x03\xe8", Token::Integer(1000)),
        (b"\x1a\x00\x0f\x42\x40", Token::Integer(1_000_000)),
        (b"\x1b\x00\x00\x00\xe8\xd4\xa5\x10\x00", Token::Integer(1_000_000_000_000)),
        (b"\x1b\xff\xff\xff\xff\xff\xff\xff\xff", Token::Integer(18_446_744_073_709_551_615)),
        (b"\x20", Token::Integer(-1)),
        (b"\x38\x63", Token::Integer(-100)),
        (b"\x39\x03\xe7", Token::Integer(-1000)),
        (b"\x3a\xff\xff\xff\xff", Token::Integer(-4_294_967_296)),
        (b"\x3b\xff\xff\xff\xff\xff\xff\xff\xff", Token::Integer(-18_446_744_073_709_551_616)),
        (b"\xf9\x3e\x00", Token::Float(1.5)),
        (b"\xfa\x47\xc3\x50\x00", Token::Float(100_000.0)),
        (b"\xfb\x3f\xf1\x99\x99\x99\x99\x99\x9a", Token::Float(1.1)),
        (b"\xf4", Token::Bool(false)),
        (b"\xf5", Token::Bool(true)),
        (b"\xf6", Token::Null),
        (b"\xf7", Token::Undefined),
        (b"\xf0", Token::Simple(16)),
        (b"\xf8\xff", Token::Simple(255)),
        (b"\x40", Token::Bytes(&[])),
        (b"\x44\x01\x02\x03\x04", Token::Bytes(&[1, 2, 3, 4])),
        (b"\x60", Token::Text("")),
        (b"\x64IETF", Token::Text("IETF")),
        (b"\x63\xe6\xb0\xb4", Token::Text("\u{6c34}")),
        (b"\x78\x02hi", Token::Text("hi")),
        (b"\x7b\x00\x00\x00\x00\x00\x00\x00\x02hi", Token::Text("hi")),
    ];
    for (bytes, expected) in all {
        let followed = [bytes, &[0x80][..]].concat();
        let end = bytes.len() as u32;
        assert_eq!(read(&followed, |reader| reader.token()), (Ok(*expected), end, None), "{bytes:x?}");
        assert_eq!(read(&followed, Reader::skip), ((), end, None), "{bytes:x?}");
        for length in 0..bytes.len() {
            let (token, _, fault) = read(&bytes[..length], |reader| reader.token());
            assert_eq!((token.is_err(), fault), (true, Some((ErrorKind::Truncated, 0))), "{:x?}", &bytes[..length]);
        }
    }
    // Heads of items that contain other items, and the position of the first of these.
    let all: &[(&[u8], Token<'_>, u32)] = &[
        (b"\x82\x01\x02", Token::Array(Left(2)), 1),
        (b"\x98\x02\x01\x02", Token::Array(Left(2)), 2),
        (b"\x9f\x01\xff", Token::Array(Left::ENDLESS), 1),
        (b"\xa1\x01\x02", Token::Map(Left(2)), 1),
        (b"\xbf\x01\x02\xff", Token::Map(Left::ENDLESS_KEY), 1),
        (b"\xc1\x1a\x51\x4b\x67\xb0", Token::Tag(1), 1),
        (b"\xd8\x20\x61a", Token::Tag(32), 2),
        (b"\x5f\x41\x01\xff", Token::ByteChunks, 1),
        (b"\x7f\x61a\xff", Token::TextChunks, 1),
        (b"\xff", Token::Break, 1),
    ];
    for (bytes, expected, inside) in all {
        assert_eq!(read(bytes, |reader| reader.token()), (Ok(*expected), *inside, None), "{bytes:x?}");
        let is_value = *expected != Token::Break;
        assert_eq!(read(bytes, Reader::skip).2.is_none(), is_value, "{bytes:x?}");
        assert_eq!(expected.inside().is_some(), is_value);
    }
}

#[test]
fn faults_of_items() {
    use ErrorKind::*;
    for (bytes, kind, at) in [
        (&b""[..], Truncated, 0),
        (b"\x82\x01\x42\x01", Truncated, 2),
        (b"\x82\x01\x62a", Truncated, 2),
        (b"\x9f\x01", Truncated, 2),
        (b"\xbf\x01\x02", Truncated, 3),
        (b"\x7f\x61a", Truncated, 3),
        (b"\xc1", Truncated, 1),
        (b"\x5b\xff\xff\xff\xff\xff\xff\xff\xff", Truncated, 0),
        (b"\x7a\xff\xff\xff\xff", Truncated, 0),
        (b"\x83\x01\x02", CountTooLarge, 0),
        (b"\x81\xa2\x01\x02\x03", CountTooLarge, 1),
        (b"\x9a\xff\xff\xff\xff\x00", CountTooLarge, 0),
        (b"\xba\x80\x00\x00\x01\x00\x00", CountTooLarge, 0), // twice the count exceeds 32 bits
        (b"\x9b\x00\x00\x00\x01\x00\x00\x00\x00", CountTooLarge, 0),
        (b"\x1c", Malformed, 0),
        (b"\x81\x1e", Malformed, 1),
        (b"\x1f", Malformed, 0),
        (b"\x3f", Malformed, 0),
        (b"\xdf", Malformed, 0),
        (b"\xff", Malformed, 0),
        (b"\x81\xff", Malformed, 1),
        (b"\xa1\x01\xff", Malformed, 2),
        (b"\xbf\x01\xff", Malformed, 2),
        (b"\xc1\xff", Malformed, 1),
        (b"\xf8\x00", Malformed, 0),
        (b"\xf8\x1f", Malformed, 0),
        (b"\x7f\x41a\xff", Malformed, 1),
        (b"\x5f\x61a\xff", Malformed, 1),
        (b"\x7f\x7f\x61a\xff\xff", Malformed, 1),
        (b"\x5f\x5f\xff\xff", Malformed, 1),
        (b"\x5f\x00\xff", Malformed, 1),
        (b"\x81\x61\xff", InvalidUtf8, 1),
        (b"\x7f\x61\xc3\x61\xa9\xff", InvalidUtf8, 1), // each chunk must be valid by itself (section 3.2.3)
    ] {
        assert_eq!(read(bytes, Reader::skip).2, Some((kind, at)), "{bytes:x?}");
        // Reading the item finds the same error, if the error is in its head.
        if at == 0 && bytes != b"\xff" {
            let (token, _, _) = read(bytes, |reader| reader.token());
            assert_eq!(token.map_err(|fault| (fault.kind, fault.at)), Err((kind, at)), "{bytes:x?}");
        }
    }
    assert_eq!(read(b"\x61\xff", |reader| reader.token()).0.unwrap_err().kind, InvalidUtf8);
    assert_eq!(read(b"\xf8\x20", Reader::skip).2, None);
}

#[test]
fn items_of_a_certain_type() {
    use ErrorKind::*;
    let values: [(&[u8], u8); 8] = [
        (b"\x18\x2a", UNSIGNED),
        (b"\x29", 0x20),
        (b"\x41a", BYTES),
        (b"\x62ab", TEXT),
        (b"\x82\x01\x02", ARRAY),
        (b"\xa1\x01\x02", MAP),
        (b"\xc1\x00", TAG),
        (b"\xf6", 0xe0),
    ];
    for (bytes, of) in values {
        let outcome = |expected| if of == expected { None } else { Some((UnexpectedType, 0)) };
        let (number, _, fault) = read(bytes, Reader::unsigned);
        assert_eq!((number, fault), (if of == UNSIGNED { 42 } else { 0 }, outcome(UNSIGNED)), "{bytes:x?}");
        let (text, _, fault) = read(bytes, |reader| reader.text().as_str());
        assert_eq!((text, fault), (if of == TEXT { "ab" } else { "" }, outcome(TEXT)), "{bytes:x?}");
        let (left, _, fault) = read(bytes, Reader::array);
        assert_eq!((left, fault), (if of == ARRAY { Left(2) } else { Left::NONE }, outcome(ARRAY)), "{bytes:x?}");
        let (left, _, fault) = read(bytes, Reader::map);
        assert_eq!((left, fault), (if of == MAP { Left(2) } else { Left::NONE }, outcome(MAP)), "{bytes:x?}");
    }
    assert_eq!(read(b"\x7f\x61a\xff", |reader| reader.text_bytes()).2, Some((ChunkedText, 0)));
    assert_eq!(read(b"\x61\xff", |reader| reader.text()).2, Some((InvalidUtf8, 0)));
    assert_eq!(read(b"\x61\xff", |reader| reader.text_bytes()), (&b"\xff"[..], 2, None));
    assert_eq!(Reader::text_bytes_at(b"\x00\x62ab", 1), b"ab");
}

/// The first error is kept; reads after it return empty values, and no items follow.
#[test]
fn nothing_is_read_after_a_fault() {
    let bytes = b"\x61\xff\x05\x61a\x81\x01\xa1\x01\x02\xff";
    let mut reader = Reader::new(bytes, 0);
    reader.item = Part::Name;
    assert_eq!(reader.text().bytes(), b"");
    let first = reader.check().unwrap_err();
    assert_eq!((first.kind, first.item, first.at), (ErrorKind::InvalidUtf8, Part::Name, 0));
    reader.item = Part::Offset;
    let position = reader.position();
    assert_eq!(reader.unsigned(), 0);
    assert_eq!(reader.text_bytes(), b"");
    assert_eq!((reader.array(), reader.map()), (Left::NONE, Left::NONE));
    reader.skip();
    assert!(reader.token().is_err());
    for left in [Left::ONE, Left(8), Left::ENDLESS, Left::ENDLESS_KEY] {
        assert!(!reader.more(&mut left.clone()) && !reader.more_pairs(&mut left.clone()));
    }
    reader.fail_in(Part::Shape, ErrorKind::TooDeep, 7);
    assert_eq!(
        (reader.position(), reader.check().unwrap_err(), reader.found_fault()),
        (position, first, Some(&first))
    );
}

#[test]
fn items_that_are_left() {
    let mut reader = Reader::new(b"\x01\x02\xff", 0);
    let (mut two, mut endless) = (Left(2), Left::ENDLESS);
    assert!(reader.more(&mut two) && reader.more(&mut two) && !reader.more(&mut two));
    assert_eq!((two, reader.position()), (Left::NONE, 0));
    let (mut pairs, mut odd) = (Left(4), Left(3));
    assert!(reader.more_pairs(&mut pairs) && reader.more_pairs(&mut pairs) && !reader.more_pairs(&mut pairs));
    assert!(reader.more_pairs(&mut odd) && !reader.more_pairs(&mut odd));
    for expected in [1, 2] {
        assert!(reader.more(&mut endless));
        assert_eq!(reader.unsigned(), expected);
    }
    assert!(!reader.more(&mut endless) && !reader.more(&mut endless));
    assert_eq!((endless, reader.position(), reader.check()), (Left::NONE, 3, Ok(())));
    // No break code follows.
    let mut reader = Reader::new(b"\x01", 1);
    let mut endless = Left::ENDLESS;
    while reader.more(&mut endless) {
        reader.unsigned();
    }
    assert_eq!(reader.check().unwrap_err().kind, ErrorKind::Truncated);
}

#[test]
fn depth() {
    for (opening, closing) in [(&b"\x81"[..], &b""[..]), (b"\x9f", b"\xff"), (b"\xc1", b""), (b"\xa1\x00", b"")] {
        let nested = |levels: usize| [opening.repeat(levels), vec![0], closing.repeat(levels)].concat();
        let at = |levels: usize| (opening.len() * levels) as u32;
        for levels in [1, 31, 32] {
            assert_eq!(read(&nested(levels), Reader::skip).2, None, "{levels} {opening:x?}");
        }
        for levels in [33, 34, 1000] {
            assert_eq!(read(&nested(levels), Reader::skip).2, Some((ErrorKind::TooDeep, at(32))), "{opening:x?}");
        }
        assert_eq!(read(&nested(35), Reader::skip_record).2, None);
        assert_eq!(read(&nested(36), Reader::skip_record).2, Some((ErrorKind::TooDeep, at(35))));
        // The depth limit inside a container does not include the container itself.
        let inside = |levels| {
            read(&nested(levels)[opening.len()..], |reader| {
                reader.skip_inside(if closing.is_empty() { Left::ONE } else { Left::ENDLESS });
            })
        };
        assert_eq!(inside(33).2, None, "{opening:x?}");
        assert_eq!(inside(34).2, Some((ErrorKind::TooDeep, at(32))), "{opening:x?}");
    }
    // A string in chunks is a level, too.
    let chunks = |levels| [vec![0x81; levels], b"\x7f\x61a\xff".to_vec()].concat();
    assert_eq!(read(&chunks(31), Reader::skip).2, None);
    assert_eq!(read(&chunks(32), Reader::skip).2, Some((ErrorKind::TooDeep, 32)));
}

/// Pseudorandom numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % below
    }

    /// Writes a head of any width that the number fits in.
    fn head(&mut self, of: u8, number: u64, out: &mut Vec<u8>) {
        let widths = [(0_usize, 24), (1, 1 << 8), (2, 1 << 16), (4, 1 << 32), (8, u64::MAX)];
        let fit = widths.iter().position(|(_, end)| number < *end).unwrap();
        let (width, _) = widths[fit + self.below(5 - fit as u64) as usize];
        match width {
            0 => out.push(of | number as u8),
            _ => {
                out.push(of | (24 + width.trailing_zeros() as u8));
                out.extend(&number.to_be_bytes()[8 - width..]);
            }
        }
    }

    fn value(&mut self, depth: u32, may_be_endless: bool, out: &mut Vec<u8>) {
        let is_endless = may_be_endless && self.below(3) == 0;
        let length = [self.below(5), self.below(30), 24, 255, 256, 300][self.below(6) as usize];
        match self.below(if depth == 0 { 5 } else { 9 }) {
            0 => {
                let of = [UNSIGNED, 0x20][self.below(2) as usize];
                let number = self.0 >> self.below(64);
                self.head(of, number, out);
            }
            1 => out.extend(
                [&b"\xf4"[..], b"\xf6", b"\xf8\x20", b"\xf9\xff\xff", b"\xfa\xff\xff\xff\xff", &[0xfb; 9]]
                    [self.below(6) as usize],
            ),
            of @ 2..=4 => {
                let of = if of == 2 { BYTES } else { TEXT };
                if is_endless {
                    out.push(of | ENDLESS);
                    for _ in 0..self.below(3) {
                        out.extend([of | 2, b'\x1f', b'~']);
                    }
                    out.push(BREAK);
                    return;
                }
                self.head(of, length, out);
                out.extend((0..length).map(|i| i as u8 & 0x7f));
            }
            5 => {
                let number = self.below(300);
                self.head(TAG, number, out);
                self.value(depth - 1, may_be_endless, out);
            }
            of => {
                let (of, each) = if of == 6 { (MAP, 2) } else { (ARRAY, 1) };
                let count = if length > 100 && depth < 3 { length } else { self.below(5) };
                if is_endless {
                    out.push(of | ENDLESS)
                } else {
                    self.head(of, count, out)
                }
                for _ in 0..count * each {
                    self.value(if count > 100 { 0 } else { depth - 1 }, may_be_endless, out);
                }
                out.extend(is_endless.then_some(BREAK));
            }
        }
    }
}

/// Whole values of all kinds are skipped exactly to their end; shorter input is rejected.
#[test]
fn values_end_where_they_end() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..3000 {
        let mut bytes = Vec::new();
        random.value(4, round % 2 == 0, &mut bytes);
        let followed = [&bytes[..], b"\x01\xff\x00"].concat();
        let end = bytes.len() as u32;
        assert_eq!(read(&followed, Reader::skip), ((), end, None), "{bytes:x?}");
        #[cfg(not(small))]
        {
            let passed = skip::skip_unchecked(&followed);
            assert!(passed == Some(b"\x01\xff\x00") || passed.is_none() && round % 2 == 0, "{bytes:x?}");
            assert_eq!(read(&followed, Reader::pass_over_record), ((), end, None), "{bytes:x?}");
        }
        for _ in 0..5 {
            let cut = &bytes[..random.below(bytes.len() as u64) as usize];
            let (_, _, fault) = read(cut, Reader::skip);
            assert!(matches!(fault, Some((ErrorKind::Truncated | ErrorKind::CountTooLarge, _))), "{cut:x?}");
            #[cfg(not(small))]
            assert_eq!(skip::skip_unchecked(cut), None, "{cut:x?}");
        }
    }
}

/// The fast methods for the expected form read the same numbers and texts as the general reader.
#[cfg(not(small))]
#[test]
fn what_is_expected_is_what_is_read() {
    use super::fast::{Rest, key_word, text_word};
    let mut random = Random(1);
    for _ in 0..50_000 {
        let (mut bytes, of) = (Vec::new(), [UNSIGNED, 0x20, TEXT, BYTES][random.below(4) as usize]);
        let number = if of == UNSIGNED { random.0 >> random.below(64) } else { random.below(600) };
        random.head(of, number.min(u64::MAX - 1), &mut bytes);
        bytes.resize(bytes.len() + random.below(700) as usize, b'a');
        bytes.truncate(bytes.len() - random.below(4).min(bytes.len() as u64) as usize);
        let rest = || Rest::of(&bytes, 0).unwrap();
        let check = |found: Option<(u64, Rest<'_>)>, expected: (u64, u32, Option<(ErrorKind, u32)>)| {
            let expected = expected.2.is_none().then_some((expected.0, expected.1));
            assert_eq!(found.map(|(number, rest)| (number, rest.position_in(&bytes))), expected, "{bytes:x?}");
        };
        let mut after = rest();
        check(after.unsigned().map(|number| (number, after)), read(&bytes, Reader::unsigned));
        let length = |text: &[u8]| text.len() as u64;
        let mut after = rest();
        let expected = read(&bytes, |reader| length(reader.text_bytes()));
        check(after.byte().and_then(|head| after.text_of(head)).map(|text| (length(text), after)), expected);
        // A text of less than eight bytes is read as a number, if at least eight bytes are left.
        let mut after = rest();
        let short = after.short_text();
        let text = read(&bytes, |reader| reader.text_bytes());
        let is_short = text.2.is_none() && bytes[0] < 0x68 && bytes.len() >= 8;
        let expected = is_short.then(|| text_word(core::str::from_utf8(text.0).unwrap()));
        assert_eq!(short, expected, "{bytes:x?}");
        assert!(short.is_none() || after.position_in(&bytes) == text.1);
    }
    // No unsigned integer begins with these bytes. Enough bytes follow for any width.
    for head in 28..=0xff {
        let bytes = [&[head][..], &[1; 300]].concat();
        assert_eq!(Rest::of(&bytes, 0).unwrap().unsigned(), None, "{head:x}");
    }
    assert_eq!((text_word(""), text_word("a"), text_word("abcdefgh")), (0x60, 0x6161, 0));
    let mut rest = Rest::of(b"?\x66offset\x05\x06", 1).unwrap();
    let key = key_word(b"\x66offset");
    assert_eq!((rest.key(key), rest.bytes()), (Some(5), &b"\x06"[..]));
    assert_eq!(Rest::of(b"\x66offsit\x05", 0).unwrap().key(key), None);
    assert_eq!(Rest::of(b"\x66offse", 0).unwrap().key(key), None);
}

/// The deterministic encoding: RFC 8949 section 4.2.1.
#[cfg(all(not(small), feature = "ztensor2"))]
#[test]
fn the_shortest_heads() {
    use super::fast::is_shortest;
    for (info, least, end) in [(24, 24, 1_u64 << 8), (25, 1 << 8, 1 << 16), (26, 1 << 16, 1 << 32)] {
        for of in [UNSIGNED, TEXT, ARRAY] {
            assert!(!is_shortest(of | info, 0) && !is_shortest(of | info, least - 1), "{info}");
            assert!(is_shortest(of | info, least) && is_shortest(of | info, end - 1), "{info}");
        }
    }
    assert!(!is_shortest(TEXT | 27, (1 << 32) - 1) && is_shortest(TEXT | 27, 1 << 32));
    assert!((0..24).all(|info| is_shortest(TEXT | info, info.into())));
}
