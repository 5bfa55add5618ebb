//! Writes a safetensors file of two tensors: declares them, then passes their data to a sink, which writes to a file.
//!
//!     cargo run --example write -- FILE

use std::fs;
use std::io::Write;

use tenslice::write::{NewAttribute, NewFile, NewTensor, SinkError, Writer};
use tenslice::{DType, Format};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: write FILE")?;
    let tensors =
        [NewTensor::dense("layer1.weight", DType::F32, &[2, 3]), NewTensor::dense("layer1.bias", DType::F32, &[2])];
    let attributes = [NewAttribute::new("format", "pt")];
    let declared = NewFile::new(Format::Safetensors, &tensors).attributes(&attributes);
    let mut writer = Writer::new(declared, &mut []).map_err(|error| declared.explain(&error).to_string())?;

    let mut file = fs::File::create(path)?;
    let mut sink = |_offset: u64, bytes: &[u8]| file.write_all(bytes).map_err(|_| SinkError);
    writer.begin(&mut sink)?;
    for number in [1_f32, 2.0, 3.0, 4.0, 5.0, 6.0, 0.5, -0.5] {
        writer.data(&mut sink, &number.to_le_bytes())?;
    }
    writer.finish(&mut sink)?;
    println!("{} bytes", writer.position());
    Ok(())
}
