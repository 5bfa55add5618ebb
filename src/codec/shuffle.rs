//! The inverse of Blosc's filters: byte shuffle, bit shuffle, deltas.
//!
//! All filters work on the bytes of one block; bytes after the last whole element are not filtered. The loops are
//! written so that a compiler vectorizes them.
#![forbid(unsafe_code)]

use core::ops::Range;

pub(crate) use super::copies::copy;

/// The width of the widest elements that [`interleave`] supports.
pub(crate) const WIDEST: usize = 16;

/// The words of each row, and the groups of eight elements, that the inverse of the bit shuffle processes at once.
const WORDS: usize = 16;
const GROUPS: usize = 8 * WORDS;

/// The byte planes of elements of `width` bytes: plane `j` has byte `j` of each element.
pub(crate) type Planes<'a> = [&'a [u8]; WIDEST];

/// Writes elements of `width` bytes to `dst` from `width` planes, beginning with element `first`. Writes nothing and
/// returns `false` for a width other than 1, 2, 4, 8 and 16, or if there are too few elements.
pub(crate) fn interleave(width: usize, planes: &Planes<'_>, first: usize, dst: &mut [u8]) -> bool {
    let shift = width.trailing_zeros();
    let count = dst.len().wrapping_shr(shift);
    let is_there = |plane: &&[u8]| plane.get(first..).is_some_and(|rest| rest.len() >= count);
    if !matches!(width, 1 | 2 | 4 | 8 | 16) || !planes.iter().take(width).all(is_there) {
        return false;
    }
    let plane = |index: usize| planes.get(index).and_then(|plane| plane.get(first..)).unwrap_or_default();
    match width {
        1 => copy(dst, plane(0)),
        2 => {
            for ((a, b), to) in plane(0).iter().zip(plane(1)).zip(dst.chunks_exact_mut(2)) {
                put(to, u16::from_le_bytes([*a, *b]).to_le_bytes());
            }
        }
        4 => {
            let [a, b, c, d] = [plane(0), plane(1), plane(2), plane(3)];
            for ((((a, b), c), d), to) in a.iter().zip(b).zip(c).zip(d).zip(dst.chunks_exact_mut(4)) {
                put(to, word(*a, *b, *c, *d).to_le_bytes());
            }
        }
        8 => interleave_quads::<8>(planes, first, dst),
        _ => interleave_quads::<16>(planes, first, dst),
    }
    true
}

fn put<const N: usize>(to: &mut [u8], from: [u8; N]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = from);
}

/// Returns four bytes as a number, so that the compiler unpacks whole vectors of bytes.
fn word(a: u8, b: u8, c: u8, d: u8) -> u32 {
    u32::from(a) | u32::from(b) << 8 | u32::from(c) << 16 | u32::from(d) << 24
}

/// Interleaves four planes at a time, a few elements at a time, for widths that are multiples of four.
fn interleave_quads<const WIDTH: usize>(planes: &Planes<'_>, first: usize, dst: &mut [u8]) {
    const TILE: usize = 8;
    let mut at = first;
    for to in dst.chunks_mut(WIDTH.saturating_mul(TILE)) {
        let mut tiles = [[0_u32; TILE]; 4];
        let (quads, _) = planes.as_slice().split_at(WIDTH.min(WIDEST));
        for (tile, quad) in tiles.iter_mut().zip(quads.chunks_exact(4)) {
            let mut rest = quad.iter().map(|plane| plane.get(at..).unwrap_or_default());
            let mut next = || rest.next().unwrap_or_default();
            let (a, b, c, d) = (next(), next(), next(), next());
            for ((((a, b), c), d), to) in a.iter().zip(b).zip(c).zip(d).zip(tile) {
                *to = word(*a, *b, *c, *d);
            }
        }
        let [a, b, c, d] = &tiles;
        for ((((to, a), b), c), d) in to.chunks_exact_mut(WIDTH).zip(a).zip(b).zip(c).zip(d) {
            for (to, word) in to.chunks_exact_mut(4).zip([*a, *b, *c, *d]) {
                put(to, word.to_le_bytes());
            }
        }
        at = at.saturating_add(TILE);
    }
}

/// Splits consecutive planes of `count` bytes each; `None` if there are too few bytes.
pub(crate) fn cut_planes<'a>(bytes: &'a [u8], count: usize, planes: &mut [&'a [u8]]) -> Option<()> {
    let mut rest = bytes;
    for plane in planes {
        (*plane, rest) = rest.split_at_checked(count)?;
    }
    Some(())
}

/// Undoes the byte shuffle of elements of `width` bytes: `from` contains the planes one after the other.
#[inline(never)] // keeps the planes on its own stack frame
pub(crate) fn unshuffle(width: usize, from: &[u8], to: &mut [u8]) {
    let count = from.len().checked_div(width).unwrap_or(0);
    let whole = count.saturating_mul(width).min(to.len());
    let (elements, rest) = to.split_at_mut_checked(whole).unwrap_or_default();
    copy(rest, from.get(whole..).unwrap_or_default());
    let mut planes: Planes<'_> = [&[]; WIDEST];
    let cut = planes.get_mut(..width).and_then(|planes| cut_planes(from, count, planes));
    if cut.is_some() && interleave(width, &planes, 0, elements) {
        return;
    }
    // Any other width, byte by byte.
    let mut planes = from;
    for offset in 0..width {
        let Some((plane, after)) = planes.split_at_checked(count) else { return };
        planes = after;
        let mut rest = &mut *elements;
        for byte in plane {
            let Some((element, after)) = rest.split_at_mut_checked(width) else { return };
            if let Some(to) = element.get_mut(offset) {
                *to = *byte;
            }
            rest = after;
        }
    }
}

/// Undoes the bit shuffle of elements of `width` bytes: row `8j + k` has bit `k` of byte `j` of each element. Elements
/// after the last whole group of eight are not shuffled. Writes only the bytes in `wanted`, and some around them.
#[inline(never)] // keeps the planes on its own stack frame
pub(crate) fn unbitshuffle(width: usize, from: &[u8], to: &mut [u8], wanted: &Range<usize>) {
    let count = from.len().checked_div(width).unwrap_or(0);
    let eights = count >> 3;
    let group = width.saturating_mul(8);
    let whole = eights.saturating_mul(group).min(to.len());
    let (groups, rest) = to.split_at_mut_checked(whole).unwrap_or_default();
    copy(rest, from.get(whole..).unwrap_or_default());
    // The groups of eight elements with the wanted bytes, from the start of a tile to the end of one.
    let tile_of = |byte: usize| byte.checked_div(group).unwrap_or(0) & !GROUPS.wrapping_sub(1);
    let first = tile_of(wanted.start);
    let end = tile_of(wanted.end.saturating_sub(1)).saturating_add(GROUPS);
    let groups = groups.get_mut(first.saturating_mul(group)..).unwrap_or_default();
    let length = end.saturating_sub(first).saturating_mul(group).min(groups.len());
    let groups = groups.get_mut(..length).unwrap_or_default();
    // Chips need the flash more.
    #[cfg(not(small))]
    let done = tiles::unbitshuffle(width, eights, from, first, groups);
    #[cfg(small)]
    let done = first;
    let mut rows = from;
    for offset in 0..width {
        // Eight rows hold one byte of each element; one byte of each row covers eight elements.
        let Some((eight, after)) = rows.split_at_checked(eights.saturating_mul(8)) else { return };
        rows = after;
        let mut eight_rows: [&[u8]; 8] = [&[]; 8];
        let Some(()) = cut_planes(eight, eights, &mut eight_rows) else { return };
        let [a, b, c, d, e, f, g, h] = eight_rows.map(|row| row.get(done..).unwrap_or_default().iter());
        let written = done.saturating_sub(first).saturating_mul(group);
        let mut rest = groups.get_mut(written..).unwrap_or_default();
        for (((((((a, b), c), d), e), f), g), h) in a.zip(b).zip(c).zip(d).zip(e).zip(f).zip(g).zip(h) {
            let Some((elements, after)) = rest.split_at_mut_checked(group) else { break };
            rest = after;
            let mut at = offset;
            for byte in transpose(u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h])).to_le_bytes() {
                if let Some(to) = elements.get_mut(at) {
                    *to = byte;
                }
                at = at.saturating_add(width);
            }
        }
    }
}

/// Processes many elements at a time, for the widths that [`interleave`] supports.
#[cfg(not(small))]
mod tiles {
    use zerocopy::little_endian::U64;
    use zerocopy::{FromBytes, IntoBytes};

    use super::{GROUPS, WIDEST, WORDS, interleave};

    /// The number of elements in a tile.
    const ELEMENTS: usize = 8 * GROUPS;

    /// One byte of each element in a tile.
    type Plane = [[U64; 8]; WORDS];

    /// Undoes the bit shuffle of all elements in whole tiles, from group `first` on. Returns the next group.
    pub(super) fn unbitshuffle(width: usize, eights: usize, from: &[u8], first: usize, to: &mut [u8]) -> usize {
        let mut done = first;
        if !matches!(width, 1 | 2 | 4 | 8 | 16) {
            return done;
        }
        let mut planes = [[[U64::ZERO; 8]; WORDS]; WIDEST];
        for tile in to.chunks_exact_mut(width.saturating_mul(ELEMENTS)) {
            for (plane, offset) in planes.iter_mut().take(width).zip(0_usize..) {
                let first = eights.saturating_mul(8).saturating_mul(offset).saturating_add(done);
                if fill(plane, from.get(first..).unwrap_or_default(), eights).is_none() {
                    return done;
                }
            }
            interleave(width, &planes.each_ref().map(Plane::as_bytes), 0, tile);
            done = done.saturating_add(GROUPS);
        }
        done
    }

    /// Writes a byte of each element to `plane`, from the front of eight rows that begin `distance` bytes apart.
    #[inline(always)]
    fn fill(plane: &mut Plane, rows: &[u8], distance: usize) -> Option<()> {
        let mut from = [&[U64::ZERO; WORDS]; 8];
        let mut rest = rows;
        for row in &mut from {
            (*row, _) = <[U64; WORDS]>::ref_from_prefix(rest).ok()?;
            rest = rest.get(distance..).unwrap_or_default();
        }
        let [a, b, c, d, e, f, g, h] = from;
        let rows = a.iter().zip(b).zip(c).zip(d).zip(e).zip(f).zip(g).zip(h);
        for ((((((((a, b), c), d), e), f), g), h), to) in rows.zip(plane) {
            let rows = [a.get(), b.get(), c.get(), d.get(), e.get(), f.get(), g.get(), h.get()];
            let rows = exchange(rows, 1, [0x5555_5555_5555_5555, 0x3333_3333_3333_3333, 0x0f0f_0f0f_0f0f_0f0f]);
            let rows = exchange(rows, 8, [0x00ff_00ff_00ff_00ff, 0x0000_ffff_0000_ffff, 0x0000_0000_ffff_ffff]);
            *to = rows.map(U64::new);
        }
        Some(())
    }

    /// Transposes 8 by 8 units of `unit` bits each: unit `k` of row `j` becomes unit `j` of row `k`, in every group of
    /// eight units of a word. The masks select the units that stay in place in the steps of one, two and four units.
    #[inline(always)]
    fn exchange([a, b, c, d, e, f, g, h]: [u64; 8], unit: u32, [one, two, four]: [u64; 3]) -> [u64; 8] {
        let ([a, b], [c, d]) = (swap(a, b, unit, one), swap(c, d, unit, one));
        let ([e, f], [g, h]) = (swap(e, f, unit, one), swap(g, h, unit, one));
        let unit = unit.wrapping_mul(2);
        let ([a, c], [b, d]) = (swap(a, c, unit, two), swap(b, d, unit, two));
        let ([e, g], [f, h]) = (swap(e, g, unit, two), swap(f, h, unit, two));
        let unit = unit.wrapping_mul(2);
        let ([a, e], [b, f]) = (swap(a, e, unit, four), swap(b, f, unit, four));
        let ([c, g], [d, h]) = (swap(c, g, unit, four), swap(d, h, unit, four));
        [a, b, c, d, e, f, g, h]
    }

    /// Exchanges the bits of `high` in the mask with the bits of `low` that are `shift` bits above the mask.
    #[inline(always)]
    fn swap(low: u64, high: u64, shift: u32, mask: u64) -> [u64; 2] {
        let differ = (low.wrapping_shr(shift) ^ high) & mask;
        [low ^ differ.wrapping_shl(shift), high ^ differ]
    }
}

/// Transposes a matrix of 8 by 8 bits: bit `k` of byte `j` becomes bit `j` of byte `k`.
fn transpose(mut x: u64) -> u64 {
    for (shift, mask) in [(7, 0x00aa_00aa_00aa_00aa_u64), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)] {
        let swapped = (x ^ x.wrapping_shr(shift)) & mask;
        x ^= swapped ^ swapped.wrapping_shl(shift);
    }
    x
}

/// Returns the word size for deltas of elements of `width` bytes.
const fn difference_word(width: usize) -> usize {
    match width {
        1 | 2 | 4 | 8 => width,
        _ if width & 7 == 0 => 8,
        _ => 1,
    }
}

/// Undoes the delta of a block. In the first block, the deltas are between its own consecutive words. In other blocks,
/// they are relative to `first`, the first block with all filters undone.
pub(crate) fn undo_delta(width: usize, first: Option<&[u8]>, bytes: &mut [u8]) {
    fn sum<const WORD: usize>(bytes: &mut [u8]) {
        let mut last = [0; WORD];
        for word in bytes.chunks_exact_mut(WORD) {
            for (byte, last) in word.iter_mut().zip(&mut last) {
                *byte ^= *last;
                *last = *byte;
            }
        }
    }
    let word = difference_word(width);
    let Some(first) = first else {
        return match word {
            2 => sum::<2>(bytes),
            4 => sum::<4>(bytes),
            8 => sum::<8>(bytes),
            _ => sum::<1>(bytes),
        };
    };
    // A word size is a power of two.
    let whole = bytes.len() & !word.wrapping_sub(1);
    bytes.iter_mut().take(whole).zip(first).for_each(|(byte, first)| *byte ^= *first);
}

/// Undoes the deltas between the bytes of each plane. The older filter (`restarts`) restarted at the last bytes of a
/// plane that do not fill a vector of 16.
pub(crate) fn undo_bytedelta(width: usize, restarts: bool, bytes: &mut [u8]) {
    let count = bytes.len().checked_div(width).unwrap_or(0);
    let mut rest = bytes;
    for _ in 0..width {
        let Some((plane, after)) = rest.split_at_mut_checked(count) else { return };
        rest = after;
        let whole = if restarts { count & !15 } else { count };
        let (vectors, tail) = plane.split_at_mut_checked(whole).unwrap_or_default();
        for part in [vectors, tail] {
            let mut sum = 0_u8;
            for byte in part {
                sum = sum.wrapping_add(*byte);
                *byte = sum;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use super::*;

    /// Pseudorandom bytes.
    fn random(length: usize) -> Vec<u8> {
        let mut state = length as u32;
        let next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        std::iter::repeat_with(next).take(length).collect()
    }

    #[test]
    fn bytes_go_back_to_their_elements() {
        for width in (1..20).chain([32, 33, 255]) {
            for count in [0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 64, 100] {
                for rest in [0, width / 2, width - 1] {
                    let bytes = random(count * width + rest);
                    let mut shuffled = bytes.clone();
                    for (place, byte) in bytes[..count * width].iter().enumerate() {
                        shuffled[place % width * count + place / width] = *byte;
                    }
                    let mut found = vec![0xa5; bytes.len()];
                    unshuffle(width, &shuffled, &mut found);
                    assert!(found == bytes, "{width} {count} {rest}");
                }
            }
        }
    }

    /// From any element on. Nothing is written if there are too few elements, or for other widths.
    #[test]
    fn planes() {
        let bytes = random(40 * 16);
        for width in 0..=17 {
            let mut planes: Planes<'_> = [&[]; WIDEST];
            let count = bytes.len() / width.max(1);
            let cut = planes.get_mut(..width).and_then(|planes| cut_planes(&bytes, count, planes));
            assert_eq!(cut.is_some(), width <= 16);
            for (first, length) in
                [(0, count), (0, 0), (1, 8), (3, 9), (count - 1, 1), (1, count), (count, 1), (900, 0)]
            {
                let mut found = vec![0xa5; length * width];
                let is_done = interleave(width, &planes, first, &mut found);
                assert_eq!(is_done, [1, 2, 4, 8, 16].contains(&width) && first + length <= count, "{width} {first}");
                let expected =
                    |at: usize| if is_done { bytes[at % width * count + first + at / width] } else { 0xa5 };
                assert!(found.iter().enumerate().all(|(at, byte)| *byte == expected(at)), "{width} {first} {length}");
            }
            // A plane that is too short.
            if let Some(last) = planes.get_mut(..width).and_then(<[_]>::last_mut) {
                *last = &last[1..];
                assert!(!interleave(width, &planes, 0, &mut vec![0; count * width]), "{width}");
            }
        }
        assert!(cut_planes(&bytes, 41, &mut [&[][..]; 16]).is_none());
    }

    /// Words of 1, 2, 4 or 8 bytes, depending on the width of an element.
    #[test]
    fn deltas() {
        for (width, word) in
            [(1, 1), (2, 2), (3, 1), (4, 4), (5, 1), (6, 1), (7, 1), (8, 8), (12, 1), (16, 8), (24, 8), (255, 1)]
        {
            for length in [0, 1, 7, 8, 9, 15, 40, 103] {
                let (bytes, first) = (random(length), random(length + 1));
                let whole = length / word * word;
                let mut of_first = bytes.clone();
                (word..whole).for_each(|at| of_first[at] ^= bytes[at - word]);
                undo_delta(width, None, &mut of_first);
                assert_eq!(of_first, bytes, "{width} {length}");
                let mut of_other = bytes.clone();
                (0..whole).for_each(|at| of_other[at] ^= first[at]);
                undo_delta(width, Some(&first), &mut of_other);
                assert_eq!(of_other, bytes, "{width} {length}");
            }
        }
    }

    #[test]
    fn deltas_of_bytes() {
        for width in [1, 2, 3, 4, 8, 17] {
            for count in [0, 1, 15, 16, 17, 33, 64, 100] {
                for (rest, restarts) in [(0, false), (width - 1, false), (0, true), (width - 1, true)] {
                    let bytes = random(count * width + rest);
                    let mut differences = bytes.clone();
                    for (at, byte) in differences[..count * width].iter_mut().enumerate() {
                        let is_start = at % count == 0 || restarts && at % count == count / 16 * 16;
                        *byte = byte.wrapping_sub(if is_start { 0 } else { bytes[at - 1] });
                    }
                    undo_bytedelta(width, restarts, &mut differences);
                    assert_eq!(differences, bytes, "{width} {count} {restarts}");
                }
            }
        }
    }

    #[test]
    fn bits_go_back_to_their_elements() {
        for width in [1, 2, 3, 4, 7, 8, 15, 16, 17, 32] {
            // Fewer elements than a tile has, one tile, several tiles and a part of one; with and without remaining
            // bytes.
            for count in [0, 5, 8, 1016, 1024, 1032, 2048, 3333, 6200] {
                let length = count * width + width / 2;
                let mut state = 1_u32;
                let bytes: Vec<u8> = std::iter::repeat_with(|| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    state.to_be_bytes()[0]
                })
                .take(length)
                .collect();
                let (eights, mut shuffled) = (count / 8, bytes.clone());
                let whole = eights * 8;
                shuffled[..whole * width].fill(0);
                for (place, byte) in bytes[..whole * width].iter().enumerate() {
                    let (element, offset) = (place / width, place % width);
                    for bit in 0..8 {
                        let row = offset * 8 + bit;
                        shuffled[row * eights + element / 8] |= (byte >> bit & 1) << (element % 8);
                    }
                }
                let mut found = vec![0xa5; length];
                unbitshuffle(width, &shuffled, &mut found, &(0..length));
                assert!(found == bytes, "{width} {count}");
                for wanted in
                    [0..0, 0..1, length / 3..length / 2, length.saturating_sub(1)..length, width * 1024..width * 1025]
                {
                    found.fill(0xa5);
                    unbitshuffle(width, &shuffled, &mut found, &wanted);
                    assert!(found.get(wanted.clone()) == bytes.get(wanted), "{width} {count}");
                }
            }
        }
    }
}
