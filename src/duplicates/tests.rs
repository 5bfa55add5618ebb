//! Tests that clashes, and only clashes, are found with any sufficient memory, and that entries are not read too often.
#![forbid(unsafe_code)]

use std::prelude::v1::*;

#[cfg(not(small))]
use super::Hashes;
use super::{Distinct, Entry, ErrorKind, Extent, Ordering, Result, clash, find_duplicate_small, sort_by};
use super::{MAX_COMPARED, Seen};

#[test]
fn sorts_every_order() {
    let mut seed = 1_u32;
    for length in 0..200 {
        let mut items: Vec<u32> = (0..length)
            .map(|_| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                seed >> 26
            })
            .collect();
        let mut expected = items.clone();
        expected.sort_unstable();
        sort_by(&mut items, |a, b| a < b);
        assert_eq!(items, expected);
    }
}

/// An extent that several entries may share, as in zTensor 2.
#[derive(Clone, Copy)]
struct Shared(Extent);

impl Entry for Shared {
    fn order(self, other: Self) -> Ordering {
        self.0.order(other.0)
    }

    fn clashes_with(self, other: Self) -> bool {
        self.0 != other.0 && self.0.clashes_with(other.0)
    }

    fn hash(self) -> u32 {
        0
    }
}

/// Ranges that a file may have, identified by their index plus 1.
struct Places<I>(Vec<I>);

impl<I: Entry> Distinct for Places<I> {
    type Entry = I;
    type Place = u32;
    type Position = u32;

    fn next(&mut self, place: &mut u32) -> Option<(I, u32)> {
        *place += 1;
        self.0.get(*place as usize - 1).map(|item| (*item, *place))
    }

    fn at(&self, position: u32) -> I {
        self.0[position as usize - 1]
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn overlaps_are_found_with_any_memory() {
    let mut random = crate::bytes::tests::random(7);
    let mut clashing = [0; 2];
    for round in 0..2000 {
        let longest = if round % 2 == 0 { 4 } else { 30 };
        let places: Vec<_> = (0..random(20)).map(|_| Extent::new(random(200), 1 + random(longest))).collect();
        // Only a few distinct extents, so that many are equal.
        let few: Vec<_> = (0..random(20)).map(|_| Extent::new(8 * random(6), 8 + random(12) / 11)).collect();
        clashing[0] += u32::from(overlaps_are_found(&places, false, |extent| extent));
        clashing[1] += u32::from(overlaps_are_found(&few, true, Shared));
    }
    assert!(clashing.iter().all(|count| (200..1800).contains(count)), "{clashing:?}");
}

/// Compares the clashes found in `places`, with every memory size, with the result of comparing all pairs. Returns
/// whether any ranges clash.
fn overlaps_are_found<I: Entry>(places: &[Extent], may_be_same: bool, item: impl Fn(Extent) -> I) -> bool {
    let is_apart = |a: &Extent, b: &Extent| {
        a.offset + a.length <= b.offset || b.offset + b.length <= a.offset || may_be_same && a == b
    };
    let clashes = |i: usize| places[..i].iter().any(|other| !is_apart(other, &places[i]));
    let expected = (0..places.len()).any(clashes);
    let mut items = Places(places.iter().copied().map(item).collect());
    let check = |found: Option<(u32, u32)>, memory: usize| {
        assert_eq!(found.is_some(), expected, "{places:?} with {memory}");
        assert!(found.is_none_or(|(index, _)| clashes(index as usize)), "{places:?} with {memory}");
    };
    check(find_duplicate_small(&mut items, 0), 0);
    for memory in 1..24 {
        match clash(&mut items, 0, &mut vec![0; memory]) {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::OutOfScratch);
                assert!(places.len() > 8 * memory, "{places:?} with {memory}");
            }
            // With too little memory for all entries, a clash may still be found.
            found if places.len() > 8 * memory => check(Some(found.unwrap().unwrap()), memory),
            found => check(found.unwrap(), memory),
        }
    }
    expected
}

/// Names, identified by their index plus 1, and the number of names read.
struct Names(Vec<&'static [u8]>, usize);

impl Distinct for Names {
    type Entry = &'static [u8];
    type Place = u32;
    type Position = u32;

    fn next(&mut self, place: &mut u32) -> Option<(&'static [u8], u32)> {
        let name = self.0.get(*place as usize)?;
        self.1 += 1;
        *place += 1;
        Some((name, *place))
    }

    fn at(&self, position: u32) -> &'static [u8] {
        self.0[position as usize - 1]
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// If several names are repeated, the first repetition is reported, with any memory. Names are read at most eight
/// times, plus once to find the index of the clash.
#[test]
fn the_first_repeated_name_is_reported_with_any_memory() {
    const ALL: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let mut random_of = crate::bytes::tests::random(3);
    let mut random = |below: usize| random_of(below as u64) as usize;
    let (mut several, mut refused) = (0, 0);
    for _ in 0..3000 {
        let mut names: Vec<_> = ALL.chunks(1).skip(random(20)).collect();
        for _ in 0..random(4) {
            let (from, to) = (random(names.len()), random(names.len()));
            names[to] = names[from];
        }
        let by = random(names.len());
        names.rotate_left(by);
        let is_repeated = |i: &usize| names[..*i].contains(&names[*i]);
        let expected = (0..names.len()).find(is_repeated).map(|index| (index as u32, index as u32 + 1));
        several += u32::from((0..names.len()).filter(is_repeated).count() > 1);
        for memory in 1..40 {
            let mut items = Names(names.clone(), 0);
            match clash(&mut items, 0, &mut vec![0; memory]) {
                Ok(found) if names.len() <= 8 * memory => assert_eq!(found, expected, "{names:?} with {memory}"),
                Ok(found) => assert!(is_repeated(&(found.unwrap().0 as usize))),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::OutOfScratch);
                    assert!(names.len() > 8 * memory, "{names:?} with {memory}");
                    refused += 1;
                }
            }
            // Reads to fill the blocks, to compare with the blocks, and to find the index.
            let most = names.len() * if memory >= names.len() { 2 } else { 10 } + 8;
            assert!(items.1 <= most, "{} reads of {names:?} with {memory}", items.1);
        }
    }
    assert!(several > 500 && refused > 500, "{several} {refused}");
}

/// A hash has sixteen possible places. If all are taken, or if there is no room for more hashes, the hash is not added.
#[cfg(not(small))]
#[test]
fn hashes_differ_only_where_there_is_a_place_for_each() {
    for (count, places) in [(0, 64), (32, 64), (33, 1024), (512, 1024), (513, 2048), (MAX_COMPARED, 2048)] {
        Hashes::with(count, |mut hashes| {
            let of_a_place = |number: u32| 7 + number * places;
            assert!((0..16).all(|number| hashes.add(of_a_place(number))));
            assert!((16..20).all(|number| !hashes.add(of_a_place(number))));
            assert!((0..16).all(|number| !hashes.add(of_a_place(number))), "each is there");
        });
        Hashes::with(count, |mut hashes| {
            assert!((0..count).all(|number| hashes.add(2 * number + 1)));
            assert!((count..places / 2).all(|number| hashes.add(2 * number + 1)));
            assert!(!hashes.add(2));
        });
    }
}

#[test]
fn names_are_distinct_only_if_they_are() {
    let mut random = crate::bytes::tests::random(3);
    let mut proven = 0;
    for _ in 0..3000 {
        // Short names of few letters: some are equal, some have a common prefix, some differ only in length.
        let name = |random: &mut dyn FnMut(u64) -> u64| {
            let length = random(20);
            (0..length).map(|_| b"ab\0\xc3\xa9"[random(if length < 9 { 5 } else { 2 }) as usize]).collect()
        };
        let count = random(30);
        let mut names: Vec<Vec<u8>> = (0..count).map(|_| name(&mut random)).collect();
        let are_proven = Seen::with(names.len() as u32 + 1, |seen| {
            seen.add(b"names before");
            seen.begin();
            for name in &names {
                assert_eq!(seen.add(name), core::str::from_utf8(name).is_ok(), "{name:?}");
            }
            seen.are_distinct()
        });
        let is_sorted = names.windows(2).all(|two| two[0] < two[1]);
        names.sort();
        let are_distinct = names.windows(2).all(|two| two[0] != two[1]);
        assert!(are_distinct || !are_proven, "{names:?}");
        assert!(!is_sorted || are_proven, "{names:?}");
        proven += u32::from(are_proven && !is_sorted);
    }
    // So few names rarely have equal hashes.
    assert_eq!(proven > 1000, cfg!(not(small)), "{proven}");
}

/// More names than [`MAX_COMPARED`] cannot be proven distinct by hashes; sorted names need no hashes.
#[test]
fn too_many_names() {
    let name = |i: u32| std::format!("{i:07}").into_bytes();
    let distinct = |count: u32, last: u32| {
        let names: Vec<Vec<u8>> = (0..count).map(name).chain([name(last)]).collect();
        Seen::with(count + 1, |seen| {
            names.iter().for_each(|name| assert!(seen.add(name)));
            seen.are_distinct()
        })
    };
    assert!(distinct(MAX_COMPARED * 3, MAX_COMPARED * 3));
    assert!(!distinct(MAX_COMPARED * 3 + 1, MAX_COMPARED * 3));
    assert!(!distinct(MAX_COMPARED - 2, 5));
}
