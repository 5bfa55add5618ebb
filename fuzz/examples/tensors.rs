//! Lists the tensors of files, for `fuzz/torch/compare.py`. Each file on the standard input is a length in four bytes,
//! little-endian, and the bytes. A line for each: `refused` and the error, or `opened` and the tensors.
//!
//! A tensor is its name in hexadecimal digits, its dtype or its layout, its shape, its strides if it has elements, and the
//! SHA-256 of its elements, row after row, if they are no more than 1 MiB.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{Read, Write};

use sha2::Digest;
use tenslice::{File, Layout, Purpose, ReadOptions, Tensor};

const MOST: u64 = 1 << 20;

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn listed(tensor: &Tensor<'_>) -> Result<String, Box<dyn Error>> {
    let shape: Vec<u64> = tensor.shape().iter().collect();
    let mut text = hexadecimal(tensor.name().to_string().as_bytes());
    let has_elements = matches!(tensor.layout(), Layout::Dense | Layout::Strided);
    let is_empty = shape.contains(&0);
    let kind = match tensor.dtype().filter(|_| has_elements) {
        Some(dtype) => dtype.to_string(),
        None => tensor.layout_name().to_string(),
    };
    let mut strides = vec![0; shape.len()];
    let strides = if has_elements && !is_empty { format!("{:?}", tensor.strides(&mut strides)?) } else { "-".into() };
    write!(text, " {kind} {shape:?} {strides} ")?;
    match tensor.requirements(Purpose::Read).output.filter(|length| has_elements && *length <= MOST) {
        Some(length) => {
            let mut bytes = vec![0; length as usize];
            text += &hexadecimal(&sha2::Sha256::digest(tensor.read_into(&mut bytes, ReadOptions::new())?));
        }
        None => text += "-",
    }
    Ok(text.replace(", ", ","))
}

fn line(bytes: &[u8]) -> Result<String, Box<dyn Error>> {
    let file = File::open(bytes)?;
    let mut text = "opened".to_string();
    let mut tensors = file.tensors();
    for tensor in tensors.by_ref() {
        write!(text, "\t{}", listed(&tensor).map_err(|error| format!("a listed tensor: {error}"))?)?;
    }
    match tensors.error() {
        Some(error) => Err(format!("an opened file: {error}").into()),
        None => Ok(text),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut length = [0; 4];
    while input.read_exact(&mut length).is_ok() {
        let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
        input.read_exact(&mut bytes)?;
        match line(&bytes) {
            Ok(line) => writeln!(output, "{line}")?,
            Err(error) => writeln!(output, "refused\t{error}")?,
        }
        output.flush()?;
    }
    Ok(())
}
