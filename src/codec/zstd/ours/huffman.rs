//! Literals in Huffman codes (RFC 8878, 4.2).
#![forbid(unsafe_code)]

use super::bits::Backward;
use super::fse::{self, Alphabet};

/// The length of the longest code in bits (section 4.2.1). All tables have this size: codes that are shorter have
/// several entries.
const MAX_LOG: u32 = 11;
const SIZE: usize = 1 << MAX_LOG;
/// The number of codes that are read from one container: 5 of 11 bits.
const AT_ONCE: usize = 5;

/// The symbol of each code, in the upper byte, and the length of the code in bits.
pub(super) struct Table {
    entries: [u16; SIZE],
    is_set: bool,
}

impl Table {
    pub(super) const fn new() -> Self {
        Self { entries: [0; SIZE], is_set: false }
    }

    pub(super) fn forget(&mut self) {
        self.is_set = false;
    }

    pub(super) const fn is_set(&self) -> bool {
        self.is_set
    }

    /// Builds the table from its description at the start of `bytes`, and returns what follows.
    #[inline(never)]
    pub(super) fn read<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        self.is_set = false;
        let mut weights = [0; 256];
        let (&first, rest) = bytes.split_first()?;
        let (count, rest) = match first.checked_sub(128) {
            // Weights of four bits, two in a byte.
            Some(above) => {
                let count = usize::from(above).wrapping_add(1);
                let (packed, rest) = rest.split_at_checked(count.div_ceil(2))?;
                let mut to: &mut [u8] = &mut weights;
                for byte in packed {
                    let (pair, after) = to.split_first_chunk_mut()?;
                    *pair = [byte >> 4, byte & 15];
                    to = after;
                }
                (count, rest)
            }
            None => {
                let (coded, rest) = rest.split_at_checked(first.into())?;
                (read_weights(coded, &mut weights)?, rest)
            }
        };
        self.build(&mut weights, count)?;
        self.is_set = true;
        Some(rest)
    }

    /// Builds the table of `count` weights, and of the last one, which is not stored (section 4.2.1.3).
    fn build(&mut self, weights: &mut [u8; 256], count: usize) -> Option<()> {
        // The number of entries of each weight, in units of the longest code; then the first entry of the weight.
        let mut starts = [0_u32; 13];
        let mut sum = 0_u32;
        for weight in weights.get(..count)? {
            let entries = 1_u32.wrapping_shl(u32::from(*weight)) >> 1;
            sum = sum.checked_add(entries)?;
            let start = starts.get_mut(usize::from(*weight))?;
            *start = start.checked_add(entries)?;
        }
        let log = sum.checked_ilog2()?.wrapping_add(1);
        let last = 1_u32.wrapping_shl(log).checked_sub(sum)?;
        if !last.is_power_of_two() {
            return None;
        }
        let weight = last.checked_ilog2()?.wrapping_add(1);
        *weights.get_mut(count)? = u8::try_from(weight).ok()?;
        let start = starts.get_mut(usize::from(*weights.get(count)?))?;
        *start = start.wrapping_add(last);
        // In a code that is complete, two of the longest codes differ in the last bit.
        if *starts.get(1)? < 2 {
            return None;
        }
        let mut sum = 0_u32;
        for start in &mut starts {
            sum = sum.wrapping_add(core::mem::replace(start, sum));
        }
        let unit = MAX_LOG.checked_sub(log)?; // `None` if codes are too long
        for (symbol, weight) in (0_u16..).zip(weights.get(..=count)?) {
            let Some(above) = u32::from(*weight).checked_sub(1) else { continue };
            let start = starts.get_mut(usize::from(*weight))?;
            let end = start.wrapping_add(1_u32.wrapping_shl(above));
            let bits = log.checked_sub(above)?;
            let range = index(start.wrapping_shl(unit).into())..index(end.wrapping_shl(unit).into());
            self.entries.get_mut(range)?.fill(symbol << 8 | u16::try_from(bits).ok()?);
            *start = end;
        }
        Some(())
    }

    /// Decodes one stream, which must have no bits but those of `dst`.
    pub(super) fn decode(&self, stream: &[u8], dst: &mut [u8]) -> Option<()> {
        self.finish(Backward::new(stream)?, dst)
    }

    /// Decodes four streams (section 3.1.1.3.1.6): three times as many bytes as a quarter, rounded up, and the others.
    #[inline(never)]
    pub(super) fn decode_four(&self, bytes: &[u8], dst: &mut [u8]) -> Option<()> {
        let (sizes, bytes) = bytes.split_first_chunk::<6>()?;
        let [a, b, c, d, e, f] = *sizes;
        let [first, second, third] = [[a, b], [c, d], [e, f]].map(|size| usize::from(u16::from_le_bytes(size)));
        let (first, bytes) = bytes.split_at_checked(first)?;
        let (second, bytes) = bytes.split_at_checked(second)?;
        let (third, fourth) = bytes.split_at_checked(third)?;
        let quarter = dst.len().div_ceil(4);
        let (dst0, dst) = dst.split_at_mut_checked(quarter)?;
        let (dst1, dst) = dst.split_at_mut_checked(quarter)?;
        let (dst2, dst3) = dst.split_at_mut_checked(quarter)?;
        if dst3.is_empty() {
            return None;
        }
        let streams = [Backward::new(first)?, Backward::new(second)?, Backward::new(third)?, Backward::new(fourth)?];
        #[cfg(not(small))]
        let (streams, done) = self.interleaved(streams, [&mut *dst0, &mut *dst1, &mut *dst2, &mut *dst3])?;
        #[cfg(small)]
        let done = 0;
        for (stream, dst) in streams.into_iter().zip([dst0, dst1, dst2, dst3]) {
            self.finish(stream, dst.get_mut(done..)?)?;
        }
        Some(())
    }

    /// Decodes the same number of bytes of each stream, while none is near its start. Returns the streams and the
    /// number. The machine waits for one stream while it decodes the others.
    #[cfg(not(small))]
    #[inline(always)]
    fn interleaved<'a>(&self, streams: [Backward<'a>; 4], dst: [&mut [u8]; 4]) -> Option<([Backward<'a>; 4], usize)> {
        let [mut s0, mut s1, mut s2, mut s3] = streams;
        let [mut dst0, mut dst1, mut dst2, mut dst3] = dst;
        let mut done = 0_usize;
        while s0.has_plenty() && s1.has_plenty() && s2.has_plenty() && s3.has_plenty() {
            let Some((to0, after0)) = dst0.split_first_chunk_mut::<AT_ONCE>() else { break };
            let Some((to1, after1)) = dst1.split_first_chunk_mut::<AT_ONCE>() else { break };
            let Some((to2, after2)) = dst2.split_first_chunk_mut::<AT_ONCE>() else { break };
            let Some((to3, after3)) = dst3.split_first_chunk_mut::<AT_ONCE>() else { break };
            s0.refill()?;
            s1.refill()?;
            s2.refill()?;
            s3.refill()?;
            for (((to0, to1), to2), to3) in to0.iter_mut().zip(to1).zip(to2).zip(to3) {
                *to0 = self.symbol(&mut s0);
                *to1 = self.symbol(&mut s1);
                *to2 = self.symbol(&mut s2);
                *to3 = self.symbol(&mut s3);
            }
            (dst0, dst1, dst2, dst3) = (after0, after1, after2, after3);
            done = done.wrapping_add(AT_ONCE);
        }
        Some(([s0, s1, s2, s3], done))
    }

    /// Decodes the rest of a stream.
    #[inline(never)]
    fn finish(&self, mut stream: Backward<'_>, dst: &mut [u8]) -> Option<()> {
        for dst in dst.chunks_mut(AT_ONCE) {
            if stream.refill().is_none() && !super::is_lenient() {
                return None;
            }
            dst.iter_mut().for_each(|to| *to = self.symbol(&mut stream));
        }
        (stream.bits_left() == Some(0) || super::is_lenient()).then_some(())
    }

    #[inline(always)]
    fn symbol(&self, stream: &mut Backward<'_>) -> u8 {
        let entry = self.entries.get(index(stream.peek::<MAX_LOG>())).copied().unwrap_or_default();
        let [bits, symbol] = entry.to_le_bytes();
        stream.skip(bits.into());
        symbol
    }
}

/// Returns the index of an entry.
#[inline(always)]
#[allow(clippy::as_conversions, clippy::cast_possible_truncation)] // at most 2^11
const fn index(entry: u64) -> usize {
    entry as usize
}

/// Reads weights that are compressed by a table of their own and by two states in turn (section 4.2.1.2). Returns their
/// number.
#[inline(never)]
fn read_weights(bytes: &[u8], weights: &mut [u8; 256]) -> Option<usize> {
    let mut table = fse::Table::<64>::new();
    let stream = table.read(Alphabet::Weights, bytes)?;
    let mut bits = Backward::new(stream)?;
    let (mut now, mut next) = (table.start(&mut bits)?, table.start(&mut bits)?);
    bits.bits_left()?;
    let mut count = 0_usize;
    loop {
        bits.refill()?;
        *weights.get_mut(count)? = u8::try_from(now.value()).ok()?;
        count = count.wrapping_add(1);
        (now, next) = (next, table.after(now, &mut bits));
        if bits.bits_left().is_none() {
            // The state that needs bits which are not there is the end; the other one has a last weight.
            *weights.get_mut(count)? = u8::try_from(now.value()).ok()?;
            count = count.wrapping_add(1);
            // The last weight is not stored.
            return (count < weights.len()).then_some(count);
        }
    }
}
