//! Files of any size that are expensive in one dimension. `tests/time/main.rs` opens them at one size and at twice that
//! size. There is a module for each format. `size` counts what the function is named after.

pub mod b2nd;
pub mod blz;
pub mod gguf;
pub mod npy;
pub mod npz;
pub mod onnx;
pub mod ptd;
pub mod pytorch;
pub mod safetensors;
pub mod tens;
pub mod tflite;
pub mod ztensor;
pub mod ztensor2;

/// An order of numbers that looks half sorted to a heapsort: the second number is compared with half of the others.
fn half_sorted(size: usize) -> Vec<usize> {
    let is_right = |mut place: usize| {
        while place > 2 {
            place = (place - 1) / 2;
        }
        place != 1
    };
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by_key(|place| !is_right(*place)); // stable
    let mut ranks = vec![0; size];
    order.iter().zip((0..size).rev()).for_each(|(place, rank)| ranks[*place] = rank);
    ranks
}
