//! Exact quantiles, without memory for all numbers: the bits of the wanted numbers are found 16 at a time, in a pass for
//! each.

use std::sync::{Mutex, PoisonError};

use super::Values;
use super::number::{each_number, lanes};
use crate::common::budget::Stop;

/// The bits that a pass finds.
const BITS: u32 = 16;

/// Computes quantiles of the finite numbers of a tensor, with linear interpolation between neighbours, as NumPy does.
/// There are `count` finite numbers, more than none, and `wanted` are from 0 to 1. Integers of 64 bits are rounded.
pub fn quantiles(values: &mut Values<'_>, count: u64, wanted: &[f64]) -> Result<Vec<f64>, Stop> {
    let place = |quantile: &f64| quantile * (count - 1) as f64;
    let mut ranks: Vec<u64> =
        wanted.iter().flat_map(|quantile| [place(quantile).floor() as u64, place(quantile).ceil() as u64]).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let sorted = of_ranks(values, &ranks)?;
    let number = |rank: f64| ranks.binary_search(&(rank as u64)).map_or(f64::NAN, |i| sorted[i]);
    let of_one = |quantile: &f64| {
        let place = place(quantile);
        let (below, above) = (number(place.floor()), number(place.ceil()));
        if below == above { below } else { below + (above - below) * place.fract() }
    };
    Ok(wanted.iter().map(of_one).collect())
}

/// A rank among the numbers that begin with the known bits of the wanted number.
struct Wanted {
    rank: u64,
    known: u64,
}

/// The numbers with these ranks in sorted order.
fn of_ranks(values: &mut Values<'_>, ranks: &[u64]) -> Result<Vec<f64>, Stop> {
    let Some((lane, _)) = values.dtype.map(lanes) else { return Ok(vec![f64::NAN; ranks.len()]) };
    let mut wanted: Vec<Wanted> = ranks.iter().map(|rank| Wanted { rank: *rank, known: 0 }).collect();
    for shift in (0..64).step_by(BITS as usize).rev() {
        let mut groups: Vec<u64> = wanted.iter().map(|one| one.known).collect();
        groups.dedup();
        // The groups are sorted, because the ranks are.
        let counts = Mutex::new(vec![vec![0_u64; 1 << BITS]; groups.len()]);
        values.map_pieces(|bytes| {
            let mut of_piece = vec![vec![0_u64; 1 << BITS]; groups.len()];
            each_number(lane, bytes, |x| {
                let known = key(x).checked_shr(shift + BITS).unwrap_or(0);
                if let (true, Ok(group)) = (x.is_finite(), groups.binary_search(&known)) {
                    of_piece[group][(key(x) >> shift) as usize & ((1 << BITS) - 1)] += 1;
                }
            });
            let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
            counts.iter_mut().flatten().zip(of_piece.iter().flatten()).for_each(|(sum, count)| *sum += count);
        })?;
        let counts = counts.into_inner().unwrap_or_else(PoisonError::into_inner);
        for one in &mut wanted {
            let group = groups.binary_search(&one.known).unwrap_or(0);
            let mut bits = 0;
            while bits + 1 < 1 << BITS && one.rank >= counts[group][bits] {
                one.rank -= counts[group][bits];
                bits += 1;
            }
            one.known = one.known << BITS | bits as u64;
        }
    }
    Ok(wanted.iter().map(|one| of_key(one.known)).collect())
}

/// Integers in the order of the numbers: negative numbers have their bits reversed.
fn key(x: f64) -> u64 {
    let bits = (x + 0.0).to_bits(); // -0.0 is 0.0
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn of_key(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_numbers() {
        let numbers = [f64::MIN, -1.5, -f64::MIN_POSITIVE, 0.0, 1e-300, 2.0, f64::MAX];
        assert!(numbers.windows(2).all(|pair| key(pair[0]) < key(pair[1])));
        assert!(numbers.iter().all(|x| of_key(key(*x)) == *x));
        assert_eq!(key(-0.0), key(0.0));
    }
}
