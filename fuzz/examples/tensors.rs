//! Lists the tensors of files, for `fuzz/compare/compare.py`. Each file on the standard input is a length in four bytes,
//! little-endian, and the bytes. A line for each: `refused` and the error, or `opened` and the tensors.
//!
//! A tensor is its name in hexadecimal digits, its dtype or its layout, its shape, its strides if it is dense or strided,
//! and the SHA-256 of its elements, row after row; `external` if they are in another file. If the library reads no elements
//! of a layout, the SHA-256 is that of the component `data`. More than 1 MiB are not read.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{Read, Write};

use sha2::Digest;
use tenslice::{File, Layout, Purpose, ReadOptions, Tensor};

const MOST: u64 = 1 << 20;

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the bytes to compare; `None` if they are more than `MOST`.
fn compared(tensor: &Tensor<'_>, has_elements: bool) -> Result<Option<Vec<u8>>, Box<dyn Error>> {
    if !has_elements {
        return Ok(tensor.component("data").and_then(|data| data.stored()).ok().map(<[u8]>::to_vec));
    }
    let needed = tensor.requirements(Purpose::Read);
    let Some(length) = needed.output.filter(|length| *length <= MOST) else { return Ok(None) };
    let (mut bytes, mut scratch) = (vec![0; length as usize], vec![0; needed.scratch.unwrap_or(0) as usize]);
    tensor.read_into(&mut bytes, ReadOptions::new().scratch(&mut scratch))?;
    // The bits behind the last element mean nothing.
    let count = tensor.shape().element_count().unwrap_or(0);
    let used = tensor.dtype().map_or(0, |dtype| dtype.bits().wrapping_mul(count) % 8);
    if let Some(last) = bytes.last_mut().filter(|_| used > 0) {
        *last &= (1 << used) - 1;
    }
    Ok(Some(bytes))
}

fn listed(tensor: &Tensor<'_>) -> Result<String, Box<dyn Error>> {
    let shape: Vec<u64> = tensor.shape().iter().collect();
    let mut text = hexadecimal(tensor.name().to_string().as_bytes());
    let is_plain = matches!(tensor.layout(), Layout::Dense | Layout::Strided);
    // The elements of ONNX's numbers and sparse tensors are read as well.
    let has_elements =
        tensor.dtype().is_some() && (is_plain || tensor.layout_name().to_string().starts_with("onnx."));
    let is_empty = shape.contains(&0);
    let kind = match tensor.dtype().filter(|_| has_elements) {
        Some(dtype) => dtype.to_string(),
        None => tensor.layout_name().to_string(),
    };
    let mut strides = vec![0; shape.len()];
    let has_strides = has_elements && is_plain && !is_empty;
    let strides = if has_strides { format!("{:?}", tensor.strides(&mut strides)?) } else { "-".into() };
    write!(text, " {kind} {shape:?} {strides} ")?;
    if tensor.components().any(|component| component.shard().is_some()) {
        text += "external";
    } else {
        if tensor.problem().is_none() {
            tensor.verify(ReadOptions::new())?;
        }
        let digest = compared(tensor, has_elements)?.map(|bytes| hexadecimal(&sha2::Sha256::digest(bytes)));
        text += digest.as_deref().unwrap_or("-");
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
