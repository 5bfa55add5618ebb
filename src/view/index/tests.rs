//! Tests with names that are crafted against the hash, which is private.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::format;
use std::prelude::v1::*;

use super::hash::crafted::{Random, colliding, name_of_hash};
use super::*;
use crate::bytes::source::{Input, ParseContext, ParseResult};
use crate::bytes::text::Text;
use crate::error::Result;
use crate::error::origin::Format;
use crate::format::{ComponentRecord, Context, Name, NamedTensors, StoredElements};

/// Names, and the number of times that they are read.
#[derive(Clone, Copy)]
struct Names<'n> {
    names: &'n [String],
    read: &'n Cell<u64>,
    /// True if the names are stored apart from their tensors.
    are_apart: bool,
    may_repeat: bool,
}

impl<'n> Names<'n> {
    fn at(&self, place: u64) -> Option<&'n str> {
        self.read.set(self.read.get() + 1);
        self.names.get(usize::try_from(place).unwrap()).map(String::as_str)
    }
}

impl<'n> FileFormat<'n> for Names<'n> {
    const FORMAT: Format = Format::Unknown;

    fn open(opening: &ParseContext<'n>) -> ParseResult<Self> {
        Err(opening.stop(Error::new(ErrorKind::UnknownFormat)))
    }

    fn read(&mut self, _: &mut Summary) -> Result<()> {
        Ok(())
    }

    fn input(&self) -> Input<'n> {
        Input::from(&[][..])
    }

    fn with_input(self, _: Input<'n>) -> Self {
        self
    }

    fn version(&self) -> Option<&'n str> {
        None
    }

    fn next_tensor(&self, cursor: &mut Cursor, tensor: &mut TensorRecord<'n>) -> Result<bool> {
        let Some(name) = self.at(cursor.at) else { return Ok(false) };
        tensor.name = crate::bytes::utf8::Utf8::new(name);
        tensor.index = cursor.index;
        *cursor = Cursor::new(cursor.at + 1, 0, cursor.index + 1);
        Ok(true)
    }

    fn check(&self, summary: &Summary, _: &mut [u32]) -> Result<Warnings> {
        if self.may_repeat { Ok(summary.warnings) } else { Err(Error::new(ErrorKind::RepeatedName)) }
    }

    fn next_component(&self, _: &TensorRecord<'n>, _: &mut Cursor, _: &mut ComponentRecord<'n>) -> Result<bool> {
        Ok(false)
    }

    fn context(_: Input<'n>, _: &Error) -> Context<'n> {
        Context::default()
    }
}

impl<'n> NamedTensors<'n> for Names<'n> {
    fn next_name(&self, cursor: &mut Cursor) -> Result<Option<Named<'n>>> {
        let at = u32::try_from(cursor.at).unwrap();
        let Some(name) = self.at(at.into()) else { return Ok(None) };
        *cursor = Cursor::new(cursor.at + 1, 0, cursor.index + 1);
        let name_at = if self.are_apart { at + 1_000_000 } else { at };
        Ok(Some(Named { name: name.into(), name_at, tensor_at: at }))
    }

    fn name_at(&self, position: u32) -> Name<'n> {
        Name::Plain(self.at((position % 1_000_000).into()).unwrap().as_bytes())
    }

    fn tensor_at(&self, position: u32, index: u32, tensor: &mut TensorRecord<'n>) -> Result<()> {
        self.next_tensor_from(position, index, tensor)
    }
}

impl StoredElements for Names<'_> {}

/// Returns the number of names read to build the index, and its order. Checks that every name is found at its first
/// occurrence, and that no absent name is found.
fn work(names: &[String], are_apart: bool, may_repeat: bool) -> Result<(u64, Order)> {
    let read = Cell::new(0);
    let file = Names { names, read: &read, are_apart, may_repeat };
    let mut words = vec![0xaaaa_aaaa; length(names.len() as u64).unwrap()];
    let summary = Summary { tensor_count: names.len() as u64, ..Summary::default() };
    let order = fill(&file, &summary, &mut words, 0)?;
    let made = read.replace(0);
    let find = |name: &str| {
        let (slots, sorted);
        let mut candidates: &mut dyn Iterator<Item = Candidate> = match order {
            Order::Slots(seed) => {
                let hash = hash(seed, name.as_bytes());
                slots = Slots::of(hash, &words);
                assert_eq!(Slots::first(hash, &words), { slots }.next(), "{name:?}");
                &mut { slots }
            }
            Order::Sorted => {
                sorted = find_sorted(&file, &words, name.as_bytes());
                &mut sorted.into_iter()
            }
            Order::One { hash, at } => {
                sorted = Candidate::only(hash, at, name.as_bytes());
                &mut sorted.into_iter()
            }
        };
        let mut tensor = TensorRecord::blank();
        let is_it = |candidate| super::read(&file, candidate, name.as_bytes(), &mut tensor).unwrap();
        Iterator::any(&mut candidates, is_it).then_some(tensor.index)
    };
    for name in names {
        let first = names.iter().position(|other| other == name).unwrap();
        assert_eq!(find(name).unwrap() as usize, first, "{name:?}");
    }
    read.set(0);
    for absent in names.iter().map(|name| format!("{name}.")).filter(|name| !names.contains(name)) {
        assert_eq!(find(&absent), None);
    }
    // The metadata before a single tensor may be long.
    assert!(names.len() > 1 || read.get() == 0, "{} names read to find none", read.get());
    Ok((made, order))
}

fn ordinary(count: usize) -> Vec<String> {
    (0..count)
        .map(|i| format!("model.layers.{}.{}.weight", i / 9, ["q", "k", "v", "o", "up", "down"][i % 6]))
        .collect::<Vec<_>>()
        .into_iter()
        .enumerate()
        .map(|(i, name)| format!("{name}{}", i % 9))
        .collect()
}

/// A slot has the bits that the largest tensor number needs; all other bits hold the hash.
#[test]
fn every_number_fits_into_its_bits() {
    for count in [2, 3, 4, 7, 8, 1000, 65_535, 65_536, 70_000, 300_000] {
        let bits = number_bits(&vec![0; 2 * count]);
        assert_eq!(bits, (count as f64).log2() as u32 + 1, "{count}");
        let (mut random, slots) = (Random(5), vec![0; 2 * count]);
        let tags = (0..100).map(|_| Place::of(random.next(), &slots).tag).fold(0, |all, tag| all | tag);
        assert_eq!(tags, u32::MAX >> bits, "{count}");
    }
}

/// Names with the same hash have the same slots and the same tag. Each name is found, and no other name.
#[cfg(feature = "safetensors")]
#[test]
fn names_of_one_hash_are_told_apart() {
    let (names, others) = (colliding(0, 4), colliding(0, 7).split_off(4));
    // Names with any ASCII characters; characters that JSON forbids in strings are escaped.
    let quoted = |byte: u8| match byte {
        b'"' | b'\\' | 0..b' ' => format!("\\u{byte:04x}"),
        _ => char::from(byte).to_string(),
    };
    let entry = |name: &String| {
        let name: String = name.bytes().map(quoted).collect();
        format!(r#""{name}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#)
    };
    let header = format!("{{{}}}", names.iter().map(entry).collect::<Vec<_>>().join(","));
    let bytes = [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat();
    let file = AnyFile::open(&ParseContext::of(Input::from(&bytes[..]))).ok().unwrap();
    let mut words = vec![0; length(4).unwrap()];
    let index = Index::new(file, Warnings::default(), 4, &mut words).unwrap();
    assert_eq!(index.order, Order::Slots(0));
    for (name, number) in names.iter().zip(0..) {
        assert_eq!(index.find(name).unwrap().index(), number);
    }
    for other in others {
        assert_eq!(index.find(&other).unwrap_err().kind(), ErrorKind::NotFound);
    }
}

#[test]
fn ordinary_names_are_read_once() {
    for count in [2, 3, 9, 300, 3000] {
        let names = ordinary(count);
        let (made, order) = work(&names, false, false).unwrap();
        assert!(order == Order::Slots(0) && made <= count as u64 + 2, "{count} {made}");
    }
}

#[test]
fn names_that_collide_are_hashed_again() {
    for count in [3, 4, 5, 6, 7, 100, 1000, 2000] {
        let (made, order) = work(&colliding(0, count), false, false).unwrap();
        assert!(order != Order::Sorted && (order == Order::Slots(0)) == (count <= 5), "{order:?}");
        assert!(made <= 2 * count as u64 + 30, "{count}: {made}");
    }
    // Collisions among other names, and where the memory ends.
    let mut names = ordinary(2000);
    names.extend(colliding(0, 2000));
    assert!(matches!(work(&names, false, false).unwrap().1, Order::Slots(1..)));
    names.reverse();
    assert!(matches!(work(&names, false, false).unwrap().1, Order::Slots(1..)));
}

/// Names cannot be crafted to collide with the second seed as well: it depends on the address of the memory.
#[test]
#[cfg(feature = "gguf")]
fn the_second_seed_depends_on_the_address_of_the_memory() {
    let names = colliding(0, 100);
    let mut bytes = [&b"GGUF\x03\0\0\0"[..], &100_u64.to_le_bytes(), &[0; 8]].concat();
    for name in &names {
        // One dimension of length 0, `i8`, at offset 0.
        bytes.extend([&16_u64.to_le_bytes()[..], name.as_bytes(), &[1, 0, 0, 0], &[0; 8], &[24], &[0; 11]].concat());
    }
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    let file = AnyFile::open(&ParseContext::of(bytes[..].into())).ok().unwrap();
    let mut words = vec![0; 303];
    let mut orders = Vec::new();
    for from in 0..4 {
        let index = Index::new(file, Warnings::default(), 100, &mut words[from..from + 300]).unwrap();
        assert!(names.iter().all(|name| index.find(name).is_ok()));
        assert!(matches!(index.order, Order::Slots(1..)) && !orders.contains(&index.order), "{:?}", index.order);
        orders.push(index.order);
    }
}

#[test]
fn names_that_collide_again_are_sorted() {
    let next = 0x0123_4567_89ab_cdef;
    for count in [6, 100, 1000] {
        let mut names = [colliding(0, 6), colliding(next, count)].concat();
        let seed = names.iter().fold(0, |seed, name| hash(seed, name.as_bytes()));
        names.push(name_of_hash(seed, next, &mut Random(2)));
        let (made, order) = work(&names, false, false).unwrap();
        assert_eq!(order, Order::Sorted);
        // Heapsort makes about 2 n log n comparisons of two names each.
        let count = names.len() as f64;
        assert!(made as f64 <= 5.0 * count * (count + 2.0).log2() + 50.0, "{count}: {made}");
    }
}

/// Names with different hash tags that select the same slots, up to the maximum distance from a slot.
#[test]
fn names_that_crowd_are_hashed_again() {
    let (mut random, count) = (Random(7), 1000);
    let slots = vec![0; 2 * count];
    let crowded = |most: usize, random: &mut Random| {
        let mut names: Vec<String> = Vec::new();
        while names.len() < most {
            let name = format!("{:016x}", random.next());
            if Place::of(hash(0, name.as_bytes()), &slots).slot > 1995 {
                names.push(name);
            }
        }
        let others = (0..).map(|i| format!("other {i}"));
        names
            .extend(others.filter(|name| Place::of(hash(0, name.as_bytes()), &slots).slot < 1500).take(count - most));
        names
    };
    for (most, is_again) in [(40, false), (300, true)] {
        let (made, order) = work(&crowded(most, &mut random), false, false).unwrap();
        assert!(order != Order::Sorted && (order != Order::Slots(0)) == is_again, "{order:?}");
        assert!(made < if is_again { 3050 } else { 1010 }, "{made}");
    }
}

#[test]
fn a_single_name_is_read_once_and_of_others_nothing() {
    for (name, are_apart) in
        [("a", false), ("", false), ("a name of more than sixteen bytes", false), ("apart", true)]
    {
        let (made, order) = work(&[name.to_string()], are_apart, false).unwrap();
        assert!(made == 1 && matches!(order, Order::One { .. }), "{name:?} {made} {order:?}");
    }
    let (made, _) = work(&[], false, false).unwrap();
    assert_eq!(made, 0);
}

#[test]
fn names_apart_from_their_tensors_are_sorted() {
    let (made, order) = work(&ordinary(1000), true, false).unwrap();
    assert!(order == Order::Sorted && made < 60_000, "{made}");
}

#[test]
fn a_repeated_name_is_refused_or_the_first_is_found() {
    for (names, is_apart) in [(ordinary(50), false), (ordinary(50), true), (colliding(0, 50), false)] {
        for (from, to) in [(0, 1), (0, 49), (48, 49), (20, 30)] {
            let mut names = names.clone();
            names[to] = names[from].clone();
            assert_eq!(work(&names, is_apart, false).unwrap_err().kind(), ErrorKind::RepeatedName);
            assert_eq!(work(&names, is_apart, true).unwrap().1, Order::Sorted);
        }
    }
    let names = vec!["same".to_string(); 500];
    let (made, _) = work(&names, true, true).unwrap();
    assert!(made < 60_000, "{made}");
}

#[test]
fn a_hash_is_that_of_what_a_name_means() {
    for text in [
        "",
        "a",
        "1234567",
        "12345678",
        "123456789",
        "\u{e9}\u{20ac}\u{1f600}",
        "0123456789abcdef",
        "0123456789abcdef0",
    ] {
        let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        assert_eq!(hash_of(7, Text::new(text.as_bytes(), false)), hash(7, text.as_bytes()));
        #[cfg(feature = "safetensors")]
        assert_eq!(hash_of(7, Text::new(escaped.as_bytes(), true)), hash(7, text.as_bytes()), "{text:?} {escaped}");
        #[cfg(not(feature = "safetensors"))]
        drop(escaped);
    }
}

/// No name is far from its first slot, so few names are read in vain.
#[test]
fn the_hash_spreads_names() {
    for count in [300_usize, 30_000, 300_000] {
        let names = ordinary(count);
        let mut slots = vec![0; 2 * count];
        let mut farthest = 0;
        for name in &names {
            let first = Place::of(hash(0, name.as_bytes()), &slots).slot;
            let step = (0..).find(|step| slots[(first + step) % (2 * count)] == 0).unwrap();
            slots[(first + step) % (2 * count)] = 1;
            farthest = farthest.max(step);
        }
        assert!(farthest < MAX_STEPS / 2, "{count} {farthest}");
    }
}
