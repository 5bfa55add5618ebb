//! A perfect hash of the names: each name has a slot of its own in a table that the compiler sees.
//!
//! The hash of a name selects a bucket, and the bucket's number selects the slot: "hash, displace". The C function that
//! looks names up computes the same, and compares the name in the slot.

use std::collections::HashSet;
use std::io::{self, Write};

use super::c::write_list;

/// The table.
#[derive(Debug)]
pub struct Index {
    seed: u32,
    /// The number of each bucket. There are a power of two.
    buckets: Vec<u16>,
    /// The index of the array in each slot, or the number of arrays. There are a power of two.
    slots: Vec<usize>,
    count: usize,
}

/// The hash of a name: FNV-1a, with other bits at the start, and mixed at the end.
fn hash(seed: u32, name: &[u8]) -> u32 {
    let hash = name.iter().fold(seed, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(16_777_619));
    hash ^ hash >> 15
}

/// The slot of a hash in the bucket with this number. `bits` is the logarithm of the number of slots.
fn slot(hash: u32, number: u16, bits: u32) -> usize {
    (hash.wrapping_mul(2 * u32::from(number) + 1) >> (32 - bits)) as usize
}

impl Index {
    /// Builds the table for the names of arrays. An array whose name occurred before is not in the table. Returns `None`
    /// if all seeds fail, which happens only for names that were made for this purpose.
    pub fn new<'n>(names: impl Iterator<Item = &'n str>) -> Option<Self> {
        const SEEDS: u32 = 1000;
        let (mut seen, mut all, mut count) = (HashSet::new(), Vec::new(), 0);
        for (index, name) in names.enumerate() {
            if seen.insert(name) {
                all.push((name.as_bytes(), index));
            }
            count = index + 1;
        }
        (0..SEEDS).find_map(|seed| Self::with_seed(seed, &all, count))
    }

    /// Builds the table with one seed. Returns `None` if some bucket fits nowhere.
    fn with_seed(seed: u32, names: &[(&[u8], usize)], count: usize) -> Option<Self> {
        // At most 80 % of the slots are in use, and a bucket has 4 names on average.
        let slot_count = (names.len() * 5).div_ceil(4).next_power_of_two().max(2);
        let bits = slot_count.ilog2();
        let bucket_count = names.len().div_ceil(4).next_power_of_two();
        let mut members: Vec<(usize, Vec<(u32, usize)>)> = (0..bucket_count).map(|i| (i, Vec::new())).collect();
        for (name, index) in names {
            let hash = hash(seed, name);
            members[hash as usize & (bucket_count - 1)].1.push((hash, *index));
        }
        members.sort_by_key(|(_, members)| std::cmp::Reverse(members.len()));
        let (mut buckets, mut slots) = (vec![0; bucket_count], vec![count; slot_count]);
        for (bucket, members) in members {
            let is_free = |number: &u16| {
                let places: HashSet<usize> = members.iter().map(|(hash, _)| slot(*hash, *number, bits)).collect();
                places.len() == members.len() && places.iter().all(|place| slots[*place] == count)
            };
            let number = (0..=u16::MAX).find(is_free)?;
            buckets[bucket] = number;
            for (hash, index) in members {
                slots[slot(hash, number, bits)] = index;
            }
        }
        Some(Self { seed, buckets, slots, count })
    }

    /// Writes the table and the function that looks names up.
    pub fn write(&self, out: &mut dyn Write, prefix: &str) -> io::Result<()> {
        let Self { seed, buckets, slots, count } = self;
        let kind = if u16::try_from(*count).is_ok() { "uint16_t" } else { "uint32_t" };
        let (last, shift) = (buckets.len() - 1, 32 - slots.len().ilog2());
        writeln!(out, "\n/* The number of each bucket of names, and the row of the tensor in each slot. */")?;
        writeln!(out, "static const uint16_t {prefix}_buckets[{}] = {{", buckets.len())?;
        write_list(out, buckets.iter().map(u16::to_string))?;
        writeln!(out, "}};\nstatic const {kind} {prefix}_slots[{}] = {{", slots.len())?;
        write_list(out, slots.iter().map(usize::to_string))?;
        writeln!(out, "}};\n")?;
        if *count == 0 {
            return writeln!(
                out,
                "static inline const struct {prefix}_tensor *{prefix}_find(const char *name, size_t length) {{\n    \
                 (void)name, (void)length;\n    return NULL;\n}}"
            );
        }
        writeln!(
            out,
            "/* Returns the row of the first array of the tensor that is named `name`, of `length` bytes; NULL if there is\n   \
             none. The other arrays of the tensor follow in {prefix}_tensors. */\n\
             static inline const struct {prefix}_tensor *{prefix}_find(const char *name, size_t length) {{\n    \
             uint32_t hash = {seed}u, row;\n    \
             size_t i;\n    \
             for (i = 0; i < length; i++) {{\n        \
             hash = (hash ^ (unsigned char)name[i]) * 16777619u;\n    \
             }}\n    \
             hash ^= hash >> 15;\n    \
             row = {prefix}_slots[hash * (2u * (uint32_t){prefix}_buckets[hash & {last}u] + 1u) >> {shift}];\n    \
             if (row == {count}u || {prefix}_tensors[row].name_length != length) {{\n        \
             return NULL;\n    \
             }}\n    \
             for (i = 0; i < length; i++) {{\n        \
             if (name[i] != {prefix}_tensors[row].name[i]) {{\n            \
             return NULL;\n        \
             }}\n    \
             }}\n    \
             return &{prefix}_tensors[row];\n\
             }}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(index: &Index, name: &str) -> usize {
        let hash = hash(index.seed, name.as_bytes());
        let number = index.buckets[hash as usize & (index.buckets.len() - 1)];
        index.slots[slot(hash, number, index.slots.len().ilog2())]
    }

    #[test]
    fn every_name_has_a_slot() {
        for count in [0, 1, 2, 3, 10, 100, 1000, 20_000] {
            let names: Vec<String> = (0..count).map(|i| format!("model.layers.{i}.weight")).collect();
            let index = Index::new(names.iter().map(String::as_str)).unwrap();
            assert!(names.iter().enumerate().all(|(i, name)| find(&index, name) == i), "{count}");
            let used = index.slots.iter().filter(|slot| **slot != count).count();
            assert_eq!(used, count);
            assert!(index.slots.len() <= 4 * count.max(1));
        }
    }

    #[test]
    fn the_first_array_of_a_tensor_is_found() {
        let index = Index::new(["a", "a", "b", "", "b"].into_iter()).unwrap();
        assert_eq!(["a", "b", ""].map(|name| find(&index, name)), [0, 2, 3]);
    }
}
