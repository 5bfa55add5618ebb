//! Tensor trains, pairs and symmetries in any bytes, computed with exactly the required scratch memory. Nothing
//! panics, and results computed in two ways are equal.

use tenslice::{File, blz, tens, ReadOptions, Purpose};

/// The largest number of values that a file of the fuzzer may make us compute.
const LIMIT: u64 = 1 << 16;

pub fn run(bytes: &[u8]) {
    let Ok(file) = File::open(bytes) else { return };
    if let Some(tens) = file.as_tens() {
        symmetries_and_pairs(&file, &tens);
    }
    if let Some(blz) = file.as_blz() {
        train(&file, &blz);
    }
}

fn symmetries_and_pairs(file: &File<'_>, tens: &tens::TensFile<'_>) {
    let mut chunks = tens.chunks();
    for chunk in chunks.by_ref() {
        if let Some(symmetry) = chunk.symmetry().filter(|symmetry| symmetry.map().len() < 300) {
            for place in 0..symmetry.map().len() as u32 {
                let _ = symmetry.source_of(place);
            }
        }
    }
    assert_eq!(chunks.error(), None);
    let tensor = file.find("").unwrap();
    let Some(dense) = tensor.requirements(Purpose::Read).output.filter(|length| *length < LIMIT) else { return };
    let mut room = vec![0xaa; dense as usize];
    let result = tensor.read_into(&mut room, ReadOptions::new()).map(drop);
    let Ok(pairs) = tens.pairs() else { return };
    result.unwrap();
    if tensor.shape().rank() > 64 {
        return;
    }
    for pair in &pairs {
        let index: Vec<u64> = (0..tensor.shape().rank()).map(|d| pair.index(d).unwrap()).collect();
        let found = pairs.get(&index).unwrap();
        let mut last = pairs.iter().filter(|other| (0..).zip(&index).all(|(d, i)| other.index(d) == Some(*i)));
        assert_eq!(found.as_ptr(), last.by_ref().last().unwrap().bytes().unwrap().as_ptr());
    }
}

fn train(file: &File<'_>, blz: &blz::BlzFile<'_>) {
    let work = |[left, length, right]: [u64; 3]| left * length * right * left.max(right);
    let work: u64 = blz.cores().map(|core| work(core.shape)).sum();
    if work > LIMIT {
        return;
    }
    let train = blz.train().unwrap();
    let mut scratch = vec![0xa5; train.inner_scratch(&train) as usize];
    let [square, _] = train.norm(&mut scratch).unwrap().parts;
    let is_finite = |number: &[u8]| f64::from_le_bytes(number.try_into().unwrap()).is_finite();
    let is_finite = file.find("").unwrap().components().all(|core| core.bytes().unwrap().chunks(8).all(is_finite));
    assert!(square >= 0.0 || !is_finite);
    let mut scratch = vec![0xa5; train.element_scratch() as usize];
    train.sum(&mut scratch).unwrap();
    let last: Vec<u64> = blz.cores().map(|core| core.shape[1] - 1).collect();
    let element = train.element(&last, &mut scratch).unwrap();
    let fixed: Vec<Option<u64>> = last.iter().map(|index| Some(*index)).collect();
    let mut room = vec![0; train.slice_length(&fixed).unwrap() as usize];
    train.slice(&fixed, &mut room, &mut vec![0xa5; train.slice_scratch() as usize]).unwrap();
    for (part, bytes) in element.iter().zip(room.chunks(8)) {
        let slice = f64::from_ne_bytes(bytes.try_into().unwrap());
        assert!(slice == *part || (slice.is_nan() && part.is_nan()));
    }
    if let Some(length) = train.slice_length(&[]).filter(|length| *length < LIMIT) {
        train.slice(&[], &mut vec![0; length as usize], &mut vec![0xa5; train.slice_scratch() as usize]).unwrap();
    }
}
