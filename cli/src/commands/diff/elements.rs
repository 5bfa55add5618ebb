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
    pub fn add(&mut self, at: u64, a: (&Values<'_>, &[u8]), b: (&Values<'_>, &[u8]), tolerance: (f64, f64)) {
        let lanes = |values: &Values<'_>| values.dtype.map(lanes).unwrap_or((DType::U8, 1));
        let ((lane_a, count), (lane_b, others)) = (lanes(a.0), lanes(b.0));
        let is_number = a.0.dtype.is_some() && b.0.dtype.is_some() && count == others;
        let integers = (integers(lane_a, a.1), integers(lane_b, b.1));
        if let (true, Some(x), Some(y)) = (is_number, numbers(lane_a, a.1), numbers(lane_b, b.1)) {
            let distances: Vec<_> = match integers {
                (Some(x), Some(y)) => x.iter().zip(&y).map(|(x, y)| Distance::Exact(x.distance(*y))).collect(),
                _ => x.iter().zip(&y).map(|(x, y)| Distance::Rounded(distance(*x, *y))).collect(),
            };
            return self.add_distances(at, &distances, &y, count, tolerance);
        }
        if a.0.dtype == b.0.dtype && a.0.size == b.0.size && a.0.size > 0 {
            let size = a.0.size as usize;
            let elements = a.1.chunks(size).zip(b.1.chunks(size)).zip(at..);
            return elements.filter(|((x, y), _)| x != y).for_each(|(_, element)| self.add_one(element, None));
        }
        self.add_one(at, None);
    }

    /// Adds elements of `lanes` lanes, given the distance between the numbers of each lane, and the numbers of B.
    fn add_distances(
        &mut self,
        at: u64,
        distances: &[Distance],
        numbers: &[f64],
        lanes: usize,
        (absolute, relative): (f64, f64),
    ) {
        // The tolerance for an infinite number is that for 0: infinite numbers are not near to any other.
        let allowed = |number: f64| absolute + if number.is_finite() { relative * number.abs() } else { 0.0 };
        for (i, (distances, numbers)) in distances.chunks(lanes).zip(numbers.chunks(lanes)).enumerate() {
            let is_near = |(distance, number): (&Distance, &f64)| distance.rounded() <= allowed(*number);
            if !distances.iter().zip(numbers).all(is_near) {
                let largest = distances.iter().copied().fold(distances[0], |x, y| if y > x { y } else { x });
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

/// The differences between the values of two tensors.
pub struct Measures {
    /// The number of elements that differ, and of all elements.
    pub count: u64,
    pub total: u64,
    pub first: Place,
    /// The largest difference; `None` if the elements are not numbers.
    pub most: Option<(Distance, Place)>,
    pub norms: Option<Norms>,
}

/// An element in both tensors.
pub struct Place {
    pub index: Vec<u64>,
    pub a: String,
    pub b: String,
}

/// Sums over all pairs of finite numbers.
#[derive(Default)]
pub struct Norms {
    count: u64,
    distances: f64,
    squared_distances: f64,
    squares_a: f64,
    squares_b: f64,
    products: f64,
}

impl Norms {
    /// Adds the numbers of elements.
    pub fn add(&mut self, a: (&Values<'_>, &[u8]), b: (&Values<'_>, &[u8])) {
        let of = |(values, bytes): (&Values<'_>, &[u8])| numbers(values.dtype.map(lanes)?.0, bytes);
        let (Some(a), Some(b)) = (of(a), of(b)) else { return };
        for (x, y) in a.iter().zip(&b).filter(|(x, y)| x.is_finite() && y.is_finite()) {
            let distance = (x - y).abs();
            self.count += 1;
            self.distances += distance;
            self.squared_distances += distance * distance;
            self.squares_a += x * x;
            self.squares_b += y * y;
            self.products += x * y;
        }
    }

    /// The mean of the absolute differences.
    pub fn mean(&self) -> f64 {
        self.distances / self.count.max(1) as f64
    }

    /// The L2 norm of the difference.
    pub fn l2(&self) -> f64 {
        self.squared_distances.sqrt()
    }

    /// The L2 norm of the difference, relative to that of A.
    pub fn relative_l2(&self) -> f64 {
        if self.squared_distances == 0.0 { 0.0 } else { (self.squared_distances / self.squares_a).sqrt() }
    }

    /// The cosine of the angle between both tensors; `None` if one of them is 0.
    pub fn cosine(&self) -> Option<f64> {
        let norms = self.squares_a.sqrt() * self.squares_b.sqrt();
        (norms > 0.0).then(|| self.products / norms)
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
