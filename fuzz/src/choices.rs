//! The bytes of the fuzzer. A target that makes files takes all its choices from them.

use arbitrary::{Arbitrary, Unstructured};

/// The choices. When the bytes are used up, every choice is the first one.
pub struct Choices<'b> {
    bytes: Unstructured<'b>,
    /// True if the file stays valid: the first choice of all. A run does one or the other, since checking a file
    /// takes most of the time.
    pub is_sound: bool,
}

impl<'b> Choices<'b> {
    pub fn new(bytes: &'b [u8]) -> Self {
        let mut bytes = Unstructured::new(bytes);
        let is_sound = bytes.arbitrary::<u8>().unwrap_or(0) % 2 == 0;
        Self { bytes, is_sound }
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.bytes.int_in_range(0..=bound.saturating_sub(1)).unwrap_or(0)
    }

    /// Returns `true` once in `count` times.
    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) + 1 == count
    }

    /// One of these.
    pub fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    /// Any number.
    pub fn any<T: Arbitrary<'b> + Default>(&mut self) -> T {
        T::arbitrary(&mut self.bytes).unwrap_or_default()
    }

    /// Up to `most` bytes.
    pub fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most + 1)).map(|_| self.any()).collect()
    }

    /// Up to three ranges in `length` bytes: begin and end.
    pub fn ranges(&mut self, length: usize) -> Vec<(usize, usize)> {
        let range = |choices: &mut Self| {
            let from = choices.below(length);
            (from, from + choices.below(length - from + 1))
        };
        (0..self.below(4)).map(|_| range(self)).collect()
    }

    /// Breaks one thing in a file: a byte, its length, or a number of up to eight bytes.
    pub fn damage(&mut self, file: &mut Vec<u8>) {
        if file.is_empty() {
            return file.push(self.any());
        }
        let at = self.below(file.len());
        match self.below(8) {
            0 => file[at] = self.any(),
            1 => file[at] ^= 1 << self.below(8),
            2 => file[at] = file[at].wrapping_add(self.of(&[1, 0xff])),
            3 => file.truncate(at),
            4 => file.insert(at, self.any()),
            5 => drop(file.drain(at..(at + 1 + self.below(16)).min(file.len()))),
            6 => {
                let part = file[at..(at + 1 + self.below(16)).min(file.len())].to_vec();
                file.splice(at..at, part);
            }
            _ => {
                let number =
                    self.of(&[0, 1, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0xffff_ffff, u64::MAX, 1 << 63, i64::MAX as u64]);
                let width = self.of(&[1, 2, 4, 8]).min(file.len() - at);
                file[at..at + width].copy_from_slice(&number.to_le_bytes()[..width]);
            }
        }
    }
}
