//! Any bytes as a Blosc2 frame. Regions are read with exactly the required scratch memory, and without any. The
//! previous contents of the memory must not show, and a region is a part of the whole.

use tenslice::{ErrorKind, File, b2nd, ReadOptions};

const LARGEST: u64 = 1 << 18;

pub fn run(bytes: &[u8]) {
    let Ok(file) = File::open(bytes) else { return };
    let Some(frame) = file.as_b2nd() else { return };
    assert!(frame.metalayers().chain(frame.variable_metalayers()).count() <= 32);
    for metalayer in frame.variable_metalayers() {
        let _ = frame.variable_metalayer(&metalayer).map(|chunk| decode(&chunk));
    }
    for index in 0..frame.chunk_count().min(4) {
        let _ = frame.chunk(index, ReadOptions::new()).map(|chunk| decode(&chunk));
    }
    let stop: Vec<u64> = frame.shape().iter().collect();
    let start = vec![0; stop.len()];
    let whole = region(&frame, &start, &stop);
    // A part of the frame, chosen by bytes that have no other meaning.
    let pick = |i: usize, length: u64| u64::from(bytes[(i + 90) % bytes.len()]) % length.max(1);
    let (from, to): (Vec<u64>, Vec<u64>) = (0..).zip(&stop).map(|(i, &length)| {
        let from = pick(i, length).min(length);
        (from, from + pick(i + 16, length - from + 1))
    }).unzip();
    let part = region(&frame, &from, &to);
    if let (Some(whole), Some(part)) = (whole, part) {
        let item = frame.item_size() as usize;
        let mut at = from.clone();
        for element in part.chunks(item) {
            let place = at.iter().zip(&stop).fold(0, |place, (at, length)| place * length + at) as usize * item;
            assert_eq!(element, &whole[place..place + item]);
            for d in (0..at.len()).rev() {
                at[d] += 1;
                if at[d] < to[d] {
                    break;
                }
                at[d] = from[d];
            }
        }
    }
}

fn region(frame: &b2nd::Frame<'_>, start: &[u64], stop: &[u64]) -> Option<Vec<u8>> {
    let needed = frame.region_requirements(start, stop).ok()?;
    let length = needed.output.filter(|length| *length <= LARGEST)?;
    let scratch = needed.scratch.filter(|length| *length <= LARGEST)?;
    let read = |fill: u8, scratch: u64| {
        let mut room = vec![fill; length as usize];
        frame.read_region(start, stop, &mut room, ReadOptions::new().scratch(&mut vec![!fill; scratch as usize])).map(|room| room.to_vec())
    };
    let found = read(0, scratch);
    assert_eq!(found, read(0xa5, scratch));
    match (read(0x3c, 0), &found) {
        (Ok(without), Ok(found)) => assert_eq!(&without, found),
        (Err(error), Ok(_)) => assert_eq!(error.kind(), ErrorKind::OutOfScratch),
        _ => {}
    }
    found.map_err(|error| assert_ne!(error.kind(), ErrorKind::OutOfScratch)).ok()
}

fn decode(chunk: &b2nd::Chunk<'_>) {
    if chunk.decoded_length() <= LARGEST {
        let mut room = vec![0; chunk.decoded_length() as usize];
        let result = chunk.read_into(&mut room, ReadOptions::new().scratch(&mut vec![0; chunk.scratch_length() as usize])).map(drop);
        assert!(result.is_ok() || result.unwrap_err().kind() != ErrorKind::OutOfScratch);
    }
}
