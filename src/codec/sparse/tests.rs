//! Compares sparse tensors in every layout, and with every type of index, with lists of their values.
#![forbid(unsafe_code)]

use core::result::Result;
use std::format;
use std::prelude::v1::*;
use std::vec;

use super::*;
use crate::types::shape::decimal_dimension;

/// Pseudorandom numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % below
    }

    fn pick<T: Copy>(&mut self, some: &[T]) -> T {
        some[self.below(some.len() as u64) as usize]
    }
}

const INDEX_TYPES: [DType; 8] =
    [DType::U8, DType::U16, DType::U32, DType::U64, DType::I8, DType::I16, DType::I32, DType::I64];
const VALUE_TYPES: [DType; 5] = [DType::U8, DType::U16, DType::F32, DType::U64, DType::U128];
const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];

/// Returns the bytes of a number of the type `dtype`.
fn number(number: u64, dtype: DType, order: ByteOrder) -> Vec<u8> {
    let mut bytes = u128::from(number).to_le_bytes()[..dtype.byte_size() as usize].to_vec();
    if order == ByteOrder::Big {
        bytes.reverse();
    }
    bytes
}

/// A tensor as stored.
#[derive(Clone, Debug)]
struct Stored {
    layout: Layout,
    is_packed: bool,
    lengths: Vec<u64>,
    shape: String,
    /// The indices of each value, and the value.
    entries: Vec<(Vec<u64>, u64)>,
    index: (DType, ByteOrder),
    value: (DType, ByteOrder),
    /// The starts of the rows.
    pointers: Vec<u64>,
    parts: [Vec<u8>; 3],
}

impl Stored {
    fn new(layout: Layout, is_packed: bool, random: &mut Random, is_large: bool) -> Self {
        let rank = if layout == Layout::SparseCsr { 2 } else { 1 + random.below(4) };
        let most = if is_large { 300 / rank } else { 5 };
        let mut lengths: Vec<u64> = (0..rank).map(|_| 1 + random.below(most.min(127))).collect();
        if is_large && layout == Layout::SparseCsr {
            lengths[0] = 300;
        }
        let count = if is_large { 100 + random.below(400) } else { random.below(8) };
        let mut entries: Vec<(Vec<u64>, u64)> = (0..count)
            .map(|_| (lengths.iter().map(|length| random.below(*length)).collect(), 1 + random.below(255)))
            .collect();
        let mut pointers = Vec::new();
        let place = |index: &[u64]| index.iter().zip(&lengths).rev().fold(0, |place, (i, length)| place * length + i);
        match (layout, random.below(3)) {
            (Layout::SparseCsr, 0) => entries.sort(),
            (Layout::SparseCsr, _) => entries.sort_by_key(|(index, _)| index[0]),
            (Layout::IndexValue, 0 | 1) => entries.sort_by_key(|(index, _)| place(index)),
            _ => {}
        }
        if layout == Layout::SparseCsr {
            let before = |row| entries.iter().filter(|(index, _)| index[0] < row).count() as u64;
            pointers = (0..=lengths[0]).map(before).collect();
        }
        let index = match (layout, is_packed) {
            // Row pointers need more than a byte.
            (Layout::SparseCsr, false) if is_large => random.pick(&INDEX_TYPES[1..4]),
            (_, false) => random.pick(&INDEX_TYPES),
            _ => DType::U64,
        };
        let value = (random.pick(&VALUE_TYPES), random.pick(&ORDERS));
        let index_order = match (layout, is_packed) {
            (Layout::IndexValue, _) => ByteOrder::Little,
            (_, true) => value.1,
            _ => random.pick(&ORDERS),
        };
        let shape = format!("({lengths:?})");
        let parts = Default::default();
        let index = (index, index_order);
        let mut stored = Self { layout, is_packed, lengths, shape, entries, index, value, pointers, parts };
        stored.encode();
        stored
    }

    fn encode(&mut self) {
        let index = |index: u64| number(index, self.index.0, self.index.1);
        let value = |value: u64| number(value, self.value.0, self.value.1);
        let columns = |d: usize| self.entries.iter().flat_map(move |(i, _)| index(i[d])).collect::<Vec<u8>>();
        let values = self.entries.iter().flat_map(|(_, v)| value(*v)).collect::<Vec<u8>>();
        let pointers = self.pointers.iter().flat_map(|pointer| index(*pointer)).collect::<Vec<u8>>();
        let each = |place: &dyn Fn(&[u64]) -> Vec<u8>| {
            self.entries.iter().flat_map(|(i, v)| [place(i), value(*v)].concat()).collect::<Vec<u8>>()
        };
        self.parts = match (self.layout, self.is_packed) {
            (Layout::SparseCsr, false) => [values, columns(1), pointers],
            (Layout::SparseCsr, true) => [[pointers, columns(1), values].concat(), vec![], vec![]],
            (Layout::SparseCoo, false) => [values, (0..self.lengths.len()).flat_map(columns).collect(), vec![]],
            (Layout::SparseCoo, true) => [each(&|i| i.iter().flat_map(|i| index(*i)).collect()), vec![], vec![]],
            _ => [each(&|i| number(self.place(i), DType::U64, ByteOrder::Little)), vec![], vec![]],
        };
    }

    /// Returns the linear index; the first dimension varies fastest.
    fn place(&self, index: &[u64]) -> u64 {
        index.iter().zip(&self.lengths).rev().fold(0, |place, (i, length)| place * length + i)
    }

    fn sparse(&self) -> Option<Sparse<'_>> {
        let shape = Shape::new(self.shape.as_bytes(), self.lengths.len() as u32, decimal_dimension);
        let [a, b, c] = &self.parts;
        let first = Column::new(a, self.value.0, self.value.1);
        let indices = |bytes| Column::new(bytes, self.index.0, self.index.1);
        match (self.layout, self.is_packed) {
            (Layout::SparseCsr, false) => Sparse::csr(shape, first, indices(b), indices(c)),
            (Layout::SparseCsr, true) => Sparse::packed_csr(shape, first),
            (Layout::SparseCoo, false) => Sparse::coo(shape, first, indices(b)),
            (Layout::SparseCoo, true) => Sparse::packed_coo(shape, first),
            _ => Sparse::pairs(shape, first),
        }
    }

    fn checked(&self) -> Option<Result<Sparse<'_>, ErrorKind>> {
        let mut sparse = self.sparse()?;
        Some(sparse.check(Error::new).map(|()| sparse).map_err(|error| error.kind()))
    }
}

const LAYOUTS: [(Layout, bool); 5] = [
    (Layout::SparseCsr, false),
    (Layout::SparseCsr, true),
    (Layout::SparseCoo, false),
    (Layout::SparseCoo, true),
    (Layout::IndexValue, true),
];

/// Compares all results of reading a tensor with its list of values.
fn compare(stored: &Stored) {
    let sparse = stored.checked().unwrap().unwrap();
    let entries = &stored.entries;
    assert_eq!((sparse.layout(), sparse.stored()), (stored.layout, entries.len() as u64));
    assert_eq!((sparse.dtype(), sparse.byte_order()), stored.value);
    assert_eq!(sparse.shape(), stored.lengths[..]);
    let (dtype, order) = stored.value;
    let rank = stored.lengths.len();
    let mut all = sparse.iter();
    for (k, (index, value)) in entries.iter().enumerate() {
        let entry = all.next().unwrap();
        assert!((0..rank).all(|d| entry.index(d as u32) == Some(index[d])), "{k} of {stored:?}");
        assert_eq!(entry.index(rank as u32), None);
        let mut memory = [77; 9];
        assert_eq!(entry.indices(&mut memory), Some(&mut index.clone()[..]));
        assert!(memory[rank..].iter().all(|other| *other == 77) && entry.indices(&mut memory[..rank - 1]).is_none());
        assert_eq!(entry.bytes(), Some(&number(*value, dtype, order)[..]));
        assert_eq!(entry.value::<u16>(), (dtype == DType::U16).then_some(*value as u16));
        assert_eq!((entry.value::<i16>(), entry.value::<u32>()), (None, None)); // same length, other type
        // Resuming at each value returns the same as iterating from the first.
        #[cfg(feature = "capi")]
        {
            let (next, row) = all.position();
            let others = sparse.iter_from(next, row).map(|entry| entry.index(0));
            assert!(others.eq(entries[k + 1..].iter().map(|(index, _)| Some(index[0]))));
        }
    }
    assert!(all.next().is_none() && (&sparse).into_iter().count() == entries.len());

    let count = stored.lengths.iter().product::<u64>();
    let size = dtype.byte_size() as usize;
    let mut expected = vec![0; count as usize * size];
    for (index, value) in entries {
        let place = index.iter().zip(&stored.lengths).fold(0, |place, (i, length)| place * length + i) as usize;
        let bytes = number(*value, dtype, ByteOrder::NATIVE);
        expected[place * size..][..size].copy_from_slice(&bytes);
    }
    let mut dense = vec![0; expected.len()];
    assert_eq!(sparse.scatter(&mut dense), Some(()));
    assert!(dense == expected, "{stored:?}");
    // Looks up values by index: the last value stored at the index counts.
    for at in (0..count).step_by(1 + count as usize / 50) {
        let mut rest = at;
        let index: Vec<u64> = stored
            .lengths
            .iter()
            .map(|length| {
                let i = rest % length;
                rest /= length;
                i
            })
            .collect();
        let last = entries.iter().rfind(|(other, _)| *other == index);
        let bytes = last.map(|(_, value)| number(*value, dtype, order));
        assert_eq!(sparse.get(&index).map(<[u8]>::to_vec), bytes, "{index:?} in {stored:?}");
        if stored.layout == Layout::IndexValue {
            assert_eq!(sparse.at(at).map(<[u8]>::to_vec), bytes);
        } else {
            assert_eq!(sparse.at(at), None);
        }
        for d in 0..rank {
            let mut outside = index.clone();
            outside[d] = stored.lengths[d];
            assert_eq!(sparse.get(&outside), None);
        }
        assert_eq!((sparse.get(&index[1..]), sparse.get(&[&index[..], &[0]].concat())), (None, None));
    }

    let places: Vec<u64> = entries.iter().map(|(index, _)| stored.place(index)).collect();
    let is_any = |is: fn(&u64, &u64) -> bool| {
        stored.layout == Layout::IndexValue && places.windows(2).any(|two| is(&two[1], &two[0]))
    };
    let warnings = sparse.warnings();
    assert_eq!(warnings.contains(Warning::UnsortedIndices), is_any(|this, last| this < last));
    assert_eq!(warnings.contains(Warning::RepeatedIndices), is_any(|this, last| this == last));
    #[cfg(feature = "ztensor2")]
    {
        let do_increase = entries.windows(2).all(|two| two[0].0 < two[1].0);
        assert_eq!(sparse.rows_increase(), stored.layout != Layout::SparseCsr || do_increase, "{stored:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn tensors_are_their_values() {
    let random = &mut Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..600 {
        for (layout, is_packed) in LAYOUTS {
            compare(&Stored::new(layout, is_packed, random, round % 20 == 0));
        }
    }
}

/// An index outside the shape, at any position.
#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn indices_outside_the_shape() {
    let random = &mut Random(1);
    let mut refused = 0;
    for round in 0..400 {
        for (layout, is_packed) in LAYOUTS {
            let mut stored = Stored::new(layout, is_packed, random, round % 20 == 0);
            if stored.entries.is_empty() {
                continue;
            }
            let (at, last) = (random.below(stored.entries.len() as u64) as usize, stored.lengths.len() - 1);
            let d = if layout == Layout::SparseCoo { random.below(last as u64 + 1) as usize } else { last };
            let bits = stored.index.0.byte_size() * 8;
            let most = if stored.index.0.name().starts_with('i') { 1 << (bits - 1) } else { 0 };
            let outside = [stored.lengths[d], u64::MAX, most.max(stored.lengths[d])];
            let outside = if layout == Layout::IndexValue { [stored.lengths[d]; 3] } else { outside };
            stored.entries[at].0[d] = random.pick(&outside);
            stored.encode();
            let found = stored.checked().unwrap().map(drop);
            assert_eq!(found, Err(ErrorKind::IndexOutOfRange), "{at} {d} of {stored:?}");
            refused += 1;
        }
    }
    assert!(refused > 1500, "{refused}");
}

/// The first pointer is 0, pointers do not decrease, and the last pointer is the number of values.
#[test]
fn pointers_to_rows() {
    let random = &mut Random(2);
    for round in 0..200 {
        for is_packed in [false, true] {
            let stored = Stored::new(Layout::SparseCsr, is_packed, random, round % 20 == 0);
            let last = stored.pointers.len() - 1;
            let at = random.below(last as u64 + 1) as usize;
            let refused = |at: usize, pointer: u64| {
                let mut stored = stored.clone();
                stored.pointers[at] = pointer;
                stored.encode();
                let found = stored.checked().unwrap().map(drop);
                assert_eq!(found, Err(ErrorKind::InvalidRowPointers), "{pointer} at {at} of {stored:?}");
            };
            refused(0, 1);
            refused(at, 120 + stored.entries.len() as u64 * 2);
            if at < last {
                refused(at, stored.pointers[at + 1] + 1);
            }
            if let Some(before) = at.checked_sub(1).and_then(|before| stored.pointers[before].checked_sub(1)) {
                refused(at, before);
            }
            refused(last, stored.pointers[last] + 1);
        }
    }
}

/// Components that are longer or shorter than the shape and the values require.
#[test]
fn lengths_that_do_not_match() {
    let random = &mut Random(3);
    for _ in 0..100 {
        for (layout, is_packed) in LAYOUTS {
            let stored = Stored::new(layout, is_packed, random, false);
            for part in 0..if is_packed { 1 } else { stored.parts.len() } {
                let size = match part {
                    _ if is_packed => 1, // not the length of any value
                    0 => stored.value.0.byte_size(),
                    _ => stored.index.0.byte_size(),
                } as usize;
                if stored.parts[part].is_empty() {
                    continue;
                }
                let mut longer = stored.clone();
                longer.parts[part].extend(vec![0; size]);
                assert!(longer.sparse().is_none(), "{part} of {longer:?}");
                let mut shorter = stored.clone();
                shorter.parts[part].drain(..size);
                assert!(shorter.sparse().is_none(), "{part} of {shorter:?}");
            }
        }
    }
}

/// A CSR tensor has exactly two dimensions.
#[test]
fn rows_have_two_dimensions() {
    let column = |bytes: &'static [u8]| Column::new(bytes, DType::U8, ByteOrder::Little);
    for (text, rank) in [("2", 1), ("2,3", 2), ("2,3,1", 3)] {
        let shape = Shape::new(text.as_bytes(), rank, decimal_dimension);
        let mut sparse = Sparse::csr(shape, column(&[7, 8]), column(&[0, 2]), column(&[0, 1, 2])).unwrap();
        let found = sparse.check(Error::new).map_err(|error| error.kind());
        assert_eq!(found, if rank == 2 { Ok(()) } else { Err(ErrorKind::RankMismatch) }, "{text}");
    }
}

/// A tensor without values has no indices, whatever its number of dimensions.
#[test]
fn a_tensor_of_no_values_has_any_dimensions() {
    let text = format!("0{}", ",2".repeat(70));
    let shape = Shape::new(text.as_bytes(), 71, decimal_dimension);
    let mut sparse = Sparse::pairs(shape, Column::new(&[], DType::F32, ByteOrder::Little)).unwrap();
    assert_eq!(sparse.check(Error::new), Ok(()));
    assert_eq!(sparse.scatter(&mut []), Some(()));
}
