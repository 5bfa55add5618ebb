//! Reads a file with another reader, and uses all its data: `peers READER FILE`. Exits with 0 if the reader accepts the
//! file, with 1 if it refuses the file.

use std::error::Error;
use std::hint::black_box;
use std::io::Read;
use std::process::ExitCode;

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, reader, path] = &arguments[..] else { return ExitCode::from(2) };
    let read = match reader.as_str() {
        "safetensors" => safetensors,
        "ggus" => ggus,
        "npyz" => npyz,
        "ztensor" => ztensor,
        "ztensor1" => ztensor1,
        _ => return ExitCode::from(2),
    };
    match read(path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(1)
        }
    }
}

/// Reads every byte of a tensor.
fn consume(data: &[u8]) {
    black_box(data.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)));
}

fn safetensors(path: &str) -> Outcome {
    let bytes = std::fs::read(path)?;
    for (_, tensor) in safetensors::SafeTensors::deserialize(&bytes)?.tensors() {
        consume(tensor.data());
    }
    Ok(())
}

fn ggus(path: &str) -> Outcome {
    let bytes = std::fs::read(path)?;
    let file = ggus::GGuf::new(&bytes)?;
    for tensor in file.tensors.values() {
        let info = tensor.to_info();
        consume(&file.data[info.offset()..][..info.nbytes()]);
    }
    Ok(())
}

fn npyz(path: &str) -> Outcome {
    let mut rest = &std::fs::read(path)?[..];
    let header = npyz::NpyHeader::from_reader(&mut rest)?;
    let size = header.dtype().num_bytes().ok_or("objects")? as u64;
    let size = header.len().checked_mul(size).ok_or("more than 64 bits")?;
    let mut data = Vec::new();
    if rest.take(size).read_to_end(&mut data)? as u64 != size {
        return Err("the data is cut".into());
    }
    consume(&data);
    Ok(())
}

fn ztensor(path: &str) -> Outcome {
    let source = ztensor::Source::open(path)?;
    for tensor in source.tensors() {
        tensor.verify()?;
        for part in tensor.parts() {
            consume(&tensor.part(part)?.bytes()?);
        }
    }
    Ok(())
}

fn ztensor1(path: &str) -> Outcome {
    let reader = ztensor1::Reader::open_any_path(path)?;
    for (name, object) in reader.tensors() {
        if object.format == ztensor1::Format::Dense {
            consume(&reader.read(name, true)?);
        } else {
            for component in object.components.values() {
                consume(&reader.read_component(component)?);
            }
        }
    }
    Ok(())
}
