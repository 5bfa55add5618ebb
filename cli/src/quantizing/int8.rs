//! Quantizes to 8-bit integers from -127 to 127, symmetric around zero, as TensorFlow Lite quantizes weights.

use super::Fault;

/// The largest integer.
const MOST: f32 = 127.0;

/// The place of the channels in an array: each has a scale of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Channels {
    pub count: u64,
    /// The number of elements with the same indices up to the channel.
    inner: u64,
}

impl Channels {
    /// One channel with all elements.
    pub const WHOLE: Self = Self { count: 1, inner: u64::MAX };

    /// The channels along a dimension of an array.
    pub fn along(shape: &[u64], axis: usize) -> Self {
        // At least 1, if a dimension is 0 and there are no elements.
        Self { count: shape[axis], inner: shape[axis + 1..].iter().product::<u64>().max(1) }
    }

    /// Calls `f` with the elements of one channel after the other: the channel, and their range.
    fn each(self, first: u64, length: usize, mut f: impl FnMut(usize, std::ops::Range<usize>)) {
        let mut at = 0;
        while at < length {
            let element = first + at as u64;
            let run = (self.inner - element % self.inner).min((length - at) as u64) as usize;
            f((element / self.inner % self.count) as usize, at..at + run);
            at += run;
        }
    }
}

/// The largest magnitude in each channel.
#[derive(Debug)]
pub struct Magnitudes {
    channels: Channels,
    largest: Vec<f32>,
}

impl Magnitudes {
    pub fn new(channels: Channels) -> Self {
        Self { channels, largest: vec![0.0; channels.count as usize] }
    }

    /// Adds numbers, from element `first` on. Fails at one that is not finite.
    pub fn add(&mut self, first: u64, numbers: &[f32]) -> Result<(), Fault> {
        Fault::check_finite(first, numbers)?;
        self.channels.each(first, numbers.len(), |channel, range| {
            self.largest[channel] = numbers[range].iter().fold(self.largest[channel], |most, x| most.max(x.abs()));
        });
        Ok(())
    }

    /// The scales that map the largest magnitudes to 127.
    pub fn scales(&self) -> Scales {
        let of_one = |largest: &f32| {
            // Not 1 / scale, which can differ in the last bit.
            let inverse = MOST / largest;
            // All numbers of the channel become 0. A scale of 0 breaks programs that divide by it.
            if inverse.is_infinite() { (1.0, 0.0) } else { (largest / MOST, inverse) }
        };
        let (scales, inverses) = self.largest.iter().map(of_one).unzip();
        Scales { channels: self.channels, scales, inverses }
    }
}

/// The scales of a tensor: a number is the integer of its element times the scale of its channel.
#[derive(Clone, Debug)]
pub struct Scales {
    channels: Channels,
    scales: Vec<f32>,
    inverses: Vec<f32>,
}

impl Scales {
    pub fn all(&self) -> &[f32] {
        &self.scales
    }

    /// Appends the integers of numbers, from element `first` on: rounded, half away from zero.
    pub fn quantize(&self, first: u64, numbers: &[f32], out: &mut Vec<u8>) {
        self.channels.each(first, numbers.len(), |channel, range| {
            let inverse = self.inverses[channel];
            out.extend(numbers[range].iter().map(|x| (x * inverse).round().clamp(-MOST, MOST) as i8 as u8));
        });
    }

    /// Writes the numbers of integers, from element `first` on.
    pub fn dequantize(&self, first: u64, integers: &[u8], numbers: &mut [f32]) {
        self.channels.each(first, numbers.len(), |channel, range| {
            let scale = self.scales[channel];
            for (x, integer) in numbers[range.clone()].iter_mut().zip(&integers[range]) {
                *x = f32::from(*integer as i8) * scale;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scales(channels: Channels, numbers: &[f32]) -> Scales {
        let mut magnitudes = Magnitudes::new(channels);
        for (number, first) in numbers.iter().zip(0..) {
            magnitudes.add(first, &[*number]).unwrap();
        }
        magnitudes.scales()
    }

    #[test]
    fn each_channel_has_its_scale() {
        let numbers = [127.0, -2.5, 0.5, 0.0, 0.0, 0.0, 0.0, 254.0, -254.0, 1.0, -1.0, 3.0];
        for (channels, expected, integers) in [
            (Channels::WHOLE, vec![2.0], [64, -1, 0, 0, 0, 0, 0, 127, -127, 1, -1, 2]),
            (Channels::along(&[2, 2, 3], 0), vec![1.0, 2.0], [127, -3, 1, 0, 0, 0, 0, 127, -127, 1, -1, 2]),
            (
                Channels::along(&[2, 2, 3], 1),
                vec![2.0, 3.0 / 127.0],
                [64, -1, 0, 0, 0, 0, 0, 127, -127, 42, -42, 127],
            ),
            (
                Channels::along(&[4, 3], 0),
                vec![1.0, 1.0, 2.0, 3.0 / 127.0],
                [127, -3, 1, 0, 0, 0, 0, 127, -127, 42, -42, 127],
            ),
            (Channels::along(&[4, 3], 1), vec![1.0, 2.0, 2.0], [127, -1, 0, 0, 0, 0, 0, 127, -127, 1, -1, 2]),
        ] {
            let scales = scales(channels, &numbers);
            assert_eq!(scales.all(), expected);
            for split in 0..=numbers.len() {
                let mut out = Vec::new();
                scales.quantize(0, &numbers[..split], &mut out);
                scales.quantize(split as u64, &numbers[split..], &mut out);
                assert_eq!(out, integers.map(|integer: i8| integer as u8), "{channels:?}");
            }
        }
    }

    #[test]
    fn numbers_are_restored() {
        let scales = scales(Channels::along(&[1, 2], 1), &[127.0, 63.5]);
        let mut numbers = [0.0; 2];
        scales.dequantize(1, &[129, 1], &mut numbers);
        assert_eq!(numbers, [-63.5, 1.0]);
    }

    #[test]
    fn extremes() {
        // The inverse is infinite: all integers are 0.
        for tiny in [0.0, 1e-40, 3e-37] {
            assert_eq!(scales(Channels::WHOLE, &[tiny]).all(), [1.0]);
        }
        let largest = scales(Channels::WHOLE, &[f32::MAX, -f32::MAX]);
        let mut out = Vec::new();
        largest.quantize(0, &[f32::MAX, -f32::MAX], &mut out);
        assert_eq!(out, [127, 129]);
        assert!(scales(Channels::along(&[0, 3], 0), &[]).all().is_empty());
        let fault = Magnitudes::new(Channels::WHOLE).add(7, &[0.0, f32::NAN]).unwrap_err();
        assert_eq!(fault, Fault { element: 8, reason: "is NaN, which cannot be quantized".into() });
    }
}
