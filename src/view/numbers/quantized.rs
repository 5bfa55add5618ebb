//! The numbers that quantized integers stand for: the difference to a zero point, times a scale.
#![forbid(unsafe_code)]

use crate::bytes::num::{quotient, remainder, to_u64, to_usize};
use crate::error::{ErrorKind, Result};
use crate::format::{FileFormat, Quantization, dispatch};
use crate::view::tensor::Tensor;

impl<'a> Tensor<'a> {
    /// Returns the scales and zero points of the elements, if they are quantized integers.
    pub(super) fn quantization(&self) -> Result<Option<Quantization<'a>>> {
        let (file, record) = self.parts();
        dispatch!(file, file => file.quantization(record))
    }

    /// Turns integers, from element `first` on, into the numbers that they stand for.
    pub(super) fn dequantize(&self, of: &Quantization<'_>, first: u64, dst: &mut [f32]) -> Result<()> {
        apply(of, first, dst).ok_or_else(|| self.error(ErrorKind::PartialElement))
    }
}

/// Applies the scales and zero points to elements from number `first` on. `None` if there are no scales.
fn apply(of: &Quantization<'_>, first: u64, dst: &mut [f32]) -> Option<()> {
    let count = to_u64(of.scales.len() >> 2);
    let mut channel = to_usize(remainder(quotient(first, of.inner), count))?;
    let mut left = of.inner.saturating_sub(remainder(first, of.inner));
    let mut rest = dst;
    while !rest.is_empty() {
        let length = if count == 1 { rest.len() } else { to_usize(left)?.min(rest.len()) };
        let (run, after) = rest.split_at_mut_checked(length.max(1))?;
        let scale = f32::from_le_bytes(nth(of.scales, channel)?);
        #[allow(clippy::as_conversions)] // rounds to nearest, as converting the integers does
        let zero_point = nth(of.zero_points, channel).map_or(0.0, |bytes| i64::from_le_bytes(bytes) as f32);
        run.iter_mut().for_each(|number| *number = (*number - zero_point) * scale);
        channel = channel.saturating_add(1);
        if to_u64(channel) >= count {
            channel = 0;
        }
        (rest, left) = (after, of.inner);
    }
    Some(())
}

/// Returns the bytes of number `index` of a list; `None` after the last.
fn nth<const N: usize>(list: &[u8], index: usize) -> Option<[u8; N]> {
    list.get(index.checked_mul(N)?..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use std::prelude::v1::*;

    use super::*;

    #[test]
    fn runs_of_one_scale() {
        let bytes = |numbers: &[f32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
        let (scales, one) = (bytes(&[1.0, 0.5, 2.0]), bytes(&[0.25]));
        let zero_points: Vec<u8> = [0_i64, 2, -1].iter().flat_map(|number| number.to_le_bytes()).collect();
        let applied = |scales: &[u8], zero_points: &[u8], inner, first, count: usize| {
            let mut numbers: Vec<f32> = (0..count).map(|i| (first + i as u64) as f32).collect();
            let of = Quantization { scales, zero_points, inner };
            apply(&of, first, &mut numbers).map(|()| numbers)
        };
        let all = applied(&scales, &zero_points, 2, 0, 8).unwrap();
        assert_eq!(all, [0.0, 1.0, 0.0, 0.5, 10.0, 12.0, 6.0, 7.0]);
        for first in 0..8 {
            for count in 0..=8 - first {
                let found = applied(&scales, &zero_points, 2, first as u64, count).unwrap();
                assert_eq!(found, all[first..first + count]);
            }
        }
        assert_eq!(applied(&one, &[], 1, 3, 3).unwrap(), [0.75, 1.0, 1.25]);
        assert_eq!(applied(&one, &zero_points[8..16], 1, 3, 3).unwrap(), [0.25, 0.5, 0.75]);
        assert_eq!((applied(&scales, &[], 0, 0, 0), applied(&[], &[], 1, 0, 1)), (Some(vec![]), None));
    }
}
