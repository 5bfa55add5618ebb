//! Recognises handwritten digits on a Cortex-M4 with 8-bit weights in flash, in a file written by ztensor.
//!
//! The file is part of the image. The program verifies its digests, finds its tensors, and computes with their elements
//! where they are, without copying or allocating. Each logit must equal the logit in the file bit for bit.
#![no_std]
#![no_main]

use core::fmt::Write;
use core::panic::PanicInfo;

use cortex_m_rt::{ExceptionFrame, entry, exception};
use cortex_m_semihosting::debug::{self, EXIT_FAILURE, EXIT_SUCCESS};
use cortex_m_semihosting::hio::{self, HostStream};
use tenslice::{Element, Expected, File, ReadOptions};

const PIXELS: usize = 64;
const HIDDEN: usize = 32;
const DIGITS: usize = 10;

/// Aligns the bytes of `include_bytes!`, because only aligned numbers can be borrowed.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

static MODEL: &Aligned<[u8]> = &Aligned(*include_bytes!("../../firmware/model/digits8.zt"));

struct Layer {
    weight: &'static [i8], // [rows, columns]
    scale: &'static [f32], // [rows]
    bias: &'static [f32],  // [rows]
}

impl Layer {
    fn find(file: &File<'static>, names: [&str; 3], rows: u64, columns: u64) -> tenslice::Result<Self> {
        Ok(Self {
            weight: numbers(file, names[0], &[rows, columns])?,
            scale: numbers(file, names[1], &[rows])?,
            bias: numbers(file, names[2], &[rows])?,
        })
    }

    /// Sums integers, which is exact, then applies the scale and the bias of each row.
    fn compute(&self, input: &[i8], output: &mut [f32]) {
        let rows = self.weight.chunks_exact(input.len());
        for (((row, scale), bias), out) in rows.zip(self.scale).zip(self.bias).zip(output) {
            let sum: i32 = row.iter().zip(input).map(|(&weight, &x)| i32::from(weight) * i32::from(x)).sum();
            *out = sum as f32 * scale + bias;
        }
    }
}

/// Returns the elements of a tensor without copying them. Fails if the type or the shape is not the expected one.
fn numbers<T: Element>(file: &File<'static>, name: &str, shape: &[u64]) -> tenslice::Result<&'static [T]> {
    file.get(&Expected::named(name).shape(shape))?.as_slice()
}

/// Returns the number of digits recognised, and the number with exactly the file's logits.
fn digits(text: &mut HostStream) -> tenslice::Result<(usize, usize)> {
    let file = File::open(&MODEL.0)?;
    let verified = file.verify(ReadOptions::new())?;
    let _ = writeln!(text, "{} tensors match their digests", verified.verified);

    let (pixels, hidden, classes) = (PIXELS as u64, HIDDEN as u64, DIGITS as u64);
    let first = Layer::find(&file, ["layer1.weight", "layer1.scale", "layer1.bias"], hidden, pixels)?;
    let second = Layer::find(&file, ["layer2.weight", "layer2.scale", "layer2.bias"], classes, hidden)?;
    let hidden_scale: &[f32] = numbers(&file, "hidden.scale", &[1])?;
    let images: &[i8] = numbers(&file, "test.images", &[classes, 8, 8])?;
    let expected: &[f32] = numbers(&file, "test.logits", &[classes, classes])?;

    let (mut right, mut exact) = (0, 0);
    for (digit, (image, expected)) in images.chunks_exact(PIXELS).zip(expected.chunks_exact(DIGITS)).enumerate() {
        let (mut numbers, mut small, mut logits) = ([0.0; HIDDEN], [0; HIDDEN], [0.0; DIGITS]);
        first.compute(image, &mut numbers);
        for ((small, number), scale) in small.iter_mut().zip(numbers).zip(hidden_scale.iter().cycle()) {
            *small = (number.max(0.0) / scale + 0.5) as i8; // values above 127 become 127
        }
        second.compute(&small, &mut logits);
        let best = logits.iter().enumerate().max_by(|one, other| one.1.total_cmp(other.1)).map(|(index, _)| index);
        right += usize::from(best == Some(digit));
        exact += usize::from(logits.iter().zip(expected).all(|(one, other)| one.to_bits() == other.to_bits()));
    }
    Ok((right, exact))
}

#[entry]
fn main() -> ! {
    let status = match hio::hstdout() {
        Ok(mut text) => match digits(&mut text) {
            Ok((right, exact)) => {
                let _ = writeln!(text, "{right} of {DIGITS} are right, {exact} to the last bit, in Rust");
                if (right, exact) == (DIGITS, DIGITS) { EXIT_SUCCESS } else { EXIT_FAILURE }
            }
            Err(error) => {
                let _ = writeln!(text, "{}", error.explain(&MODEL.0));
                EXIT_FAILURE
            }
        },
        Err(()) => EXIT_FAILURE,
    };
    leave(status)
}

fn leave(status: debug::ExitStatus) -> ! {
    loop {
        debug::exit(status);
    }
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    leave(EXIT_FAILURE)
}

#[exception]
unsafe fn HardFault(_: &ExceptionFrame) -> ! {
    leave(EXIT_FAILURE)
}
