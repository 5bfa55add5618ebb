//! Counts and locates the elements that differ.

use tenslice::DType;

use crate::values::Values;
use crate::values::number::{Integer, digits, each_integer, each_number, lanes};

/// The elements that differ.
#[derive(Default)]
pub struct Differing {
    pub count: u64,
    pub first: Option<u64>,
    /// The largest difference, and the number of its element.
    pub most: Option<(Distance, u64)>,
}

impl Differing {
    /// Compares elements from number `at` on: numerically, or byte by byte if they are not numbers.
    pub fn add(&mut self, at: u64, a: (&Values<'_>, &[u8]), b: (&Values<'_>, &[u8]), tolerance: f64) {
        let lanes = |values: &Values<'_>| values.dtype.map(lanes).unwrap_or((DType::U8, 1));
        let ((lane_a, count), (lane_b, others)) = (lanes(a.0), lanes(b.0));
        let is_number = a.0.dtype.is_some() && b.0.dtype.is_some() && count == others;
        let integers = (integers(lane_a, a.1), integers(lane_b, b.1));
        let numbers = (numbers(lane_a, a.1), numbers(lane_b, b.1));
        let distances: Option<Vec<_>> = match (integers, numbers) {
            _ if !is_number => None,
            ((Some(x), Some(y)), _) => Some(x.iter().zip(&y).map(|(x, y)| Distance::Exact(x.distance(*y))).collect()),
            (_, (Some(x), Some(y))) => {
                Some(x.iter().zip(&y).map(|(x, y)| Distance::Rounded(distance(*x, *y))).collect())
            }
            _ => None,
        };
        if let Some(distances) = distances {
            return self.add_distances(at, &distances, count, tolerance);
        }
        if a.0.dtype == b.0.dtype && a.0.size == b.0.size && a.0.size > 0 {
            let size = a.0.size as usize;
            let elements = a.1.chunks(size).zip(b.1.chunks(size)).zip(at..);
            return elements.filter(|((x, y), _)| x != y).for_each(|(_, element)| self.add_one(element, None));
        }
        self.add_one(at, None);
    }

    /// Adds elements of `lanes` lanes, given the distance between the numbers of each lane.
    fn add_distances(&mut self, at: u64, distances: &[Distance], lanes: usize, tolerance: f64) {
        for (i, lanes) in distances.chunks(lanes).enumerate() {
            let largest = lanes.iter().copied().fold(lanes[0], |x, y| if y > x { y } else { x });
            if largest.rounded() > tolerance {
                self.add_one(at + i as u64, Some(largest));
            }
        }
    }

    fn add_one(&mut self, element: u64, difference: Option<Distance>) {
        self.count += 1;
        self.first = self.first.or(Some(element));
        if let Some(difference) = difference.filter(|x| self.most.is_none_or(|(most, _)| *x > most)) {
            self.most = Some((difference, element));
        }
    }
}

fn integers(lane: DType, bytes: &[u8]) -> Option<Vec<Integer>> {
    let mut all = Vec::new();
    each_integer(lane, bytes, |x| all.push(x)).then_some(all)
}

fn numbers(lane: DType, bytes: &[u8]) -> Option<Vec<f64>> {
    let mut all = Vec::new();
    each_number(lane, bytes, |x| all.push(x)).then_some(all)
}

/// The distance between two numbers: exact for integers of 64 bits and more. A tensor has only one kind of distance.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub enum Distance {
    Exact(u128),
    Rounded(f64),
}

impl Distance {
    fn rounded(self) -> f64 {
        match self {
            Self::Exact(x) => x as f64,
            Self::Rounded(x) => x,
        }
    }

    pub fn text(self) -> String {
        match self {
            Self::Exact(x) => x.to_string(),
            Self::Rounded(x) => digits(DType::F32, x),
        }
    }
}

/// The distance between two numbers. NaN is infinitely far from every number, and equal to NaN.
fn distance(x: f64, y: f64) -> f64 {
    if x == y || (x.is_nan() && y.is_nan()) {
        return 0.0;
    }
    let distance = (x - y).abs();
    if distance.is_nan() { f64::INFINITY } else { distance }
}
