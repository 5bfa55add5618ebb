//! Reads all tensors of a file into memory: a plan merges them into few large reads, which several threads execute.
//!
//!     cargo run --release --example plan -- FILE

use std::error::Error;
use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tenslice::{File, MAX_SEGMENTS, Opened, Piece, Plan, PlanOptions, PlannedRead, Source};

const THREADS: usize = 8;
const LONGEST: u64 = 8 << 20;

#[cfg(unix)]
fn read_at(disk: &fs::File, buffer: &mut [u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(disk, buffer, offset)
}

#[cfg(windows)]
fn read_at(disk: &fs::File, buffer: &mut [u8], offset: u64) -> std::io::Result<()> {
    let mut done = 0;
    while done < buffer.len() {
        match std::os::windows::fs::FileExt::seek_read(disk, &mut buffer[done..], offset + done as u64)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            count => done += count,
        }
    }
    Ok(())
}

/// Executes the reads of a plan, each to its place in the memory.
fn execute(plan: &Plan<'_>, disk: &fs::File, mut memory: &mut [u8]) -> std::io::Result<()> {
    let mut reads: Vec<(PlannedRead, &mut [u8])> = Vec::new();
    for read in plan.reads(LONGEST) {
        // The reads are next to each other in memory, so every thread gets memory of its own.
        let (place, rest) = memory.split_at_mut(read.room as usize);
        memory = rest;
        reads.push((read, &mut place[..read.extent.length as usize]));
    }
    let reads = Mutex::new(reads.into_iter());
    let next = || reads.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((read, place)) = next() {
            read_at(disk, place, read.extent.offset)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| std::io::ErrorKind::Other)?)
    })
}

/// Reads the tensors of a file; returns their number, the bytes that were read, and the sum of all last bytes.
fn read_all(path: &str) -> Result<(u64, u64, u64), Box<dyn Error>> {
    let disk = fs::File::open(path)?;
    let length = disk.metadata()?.len();

    // The metadata, range by range.
    let mut buffers = vec![Vec::new(); MAX_SEGMENTS];
    let mut unused = buffers.iter_mut();
    let mut source = Source::new(length);
    let file = loop {
        match File::open_source(&source)? {
            Opened::File(file) => break file,
            Opened::Need(need) => {
                let buffer = unused.next().ok_or("too many ranges")?;
                buffer.resize(need.extent.length as usize, 0);
                read_at(&disk, buffer, need.extent.offset)?;
                source.add(need.extent.offset, buffer)?;
            }
        }
    };

    // The data of all tensors.
    let mut pieces = Vec::new();
    for tensor in &file {
        let here = tensor.components().filter(|component| component.shard().is_none());
        pieces.extend(here.map(|component| Piece::new(tensor.index(), component.extent())));
    }
    let plan = Plan::new(&mut pieces, length, PlanOptions::new())?;
    let mut memory = vec![0; usize::try_from(plan.length())?];
    execute(&plan, &disk, &mut memory)?;

    let last = |piece: &Piece| piece.bytes(&memory)?.last().copied();
    let sum = plan.pieces().iter().filter_map(last).map(u64::from).sum();
    Ok((file.tensor_count(), plan.length(), sum))
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: plan FILE")?;
    let start = Instant::now();
    let (tensors, bytes, sum) = read_all(&path)?;
    let speed = bytes as f64 / start.elapsed().as_secs_f64() / 1e9;
    println!("{tensors} tensors, {bytes} bytes, {speed:.3} GB/s; the last bytes add up to {sum}");
    Ok(())
}

#[cfg(test)]
mod tests {
    /// Compares the last byte of each tensor with the file.
    #[test]
    fn reads_all_tensors() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/safetensors/py_transformer.safetensors");
        let bytes = std::fs::read(path).unwrap();
        let file = tenslice::File::open(&bytes).unwrap();
        let ends = file.tensors().map(|tensor| tensor.data().unwrap().extent().end().unwrap());
        let sum = ends.map(|end| u64::from(bytes[end as usize - 1])).sum();
        assert_eq!(super::read_all(path).unwrap(), (200, 32_768, sum));
    }
}
