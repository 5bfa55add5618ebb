//! Files in NOR flash: erased bytes are 0xFF, a page is programmed at once, and power is lost at any program operation. The
//! region of a file has the file's whole length from the beginning, so bytes that are not programmed are read as 0xFF.

use super::*;
use crate::support::Random;

/// The bytes that are programmed last. No program unit is shorter than a byte, or longer in most chips.
const HELD: usize = 8;

/// The sizes of pages.
const PAGES: [usize; 3] = [1, 8, 256];

/// A program operation: the offset and the bytes.
type Operation = (usize, Vec<u8>);

/// A sink that programs whole pages, and holds back the first bytes of the file. Collects the operations.
struct Pages {
    page: usize,
    held: usize,
    first: Vec<u8>,
    pending: Operation,
    operations: Vec<Operation>,
}

impl Pages {
    fn new(page: usize, held: usize) -> Self {
        Self { page, held, first: Vec::new(), pending: (held, Vec::new()), operations: Vec::new() }
    }

    /// Programs what is left, and the first bytes at last.
    fn finish(mut self) -> Vec<Operation> {
        self.operations.push(self.pending);
        self.operations.push((0, self.first));
        self.operations.retain(|(_, bytes)| !bytes.is_empty());
        self.operations
    }
}

impl Sink for Pages {
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), SinkError> {
        for (at, byte) in (offset as usize..).zip(bytes) {
            if at < self.held {
                self.first.push(*byte);
                continue;
            }
            self.pending.1.push(*byte);
            if (at + 1).is_multiple_of(self.page) {
                self.operations.push(std::mem::replace(&mut self.pending, (at + 1, Vec::new())));
            }
        }
        Ok(())
    }
}

/// Returns the operations that program a file.
fn operations(file: NewFile<'_>, data: &[u8], page: usize, held: usize) -> Vec<Operation> {
    let mut sink = Pages::new(page, held);
    write_in(file, data, 5, &mut sink).unwrap();
    sink.finish()
}

/// Programs bytes that are erased. Programming clears bits.
fn program(flash: &mut [u8], (at, bytes): &Operation) {
    for (flash, byte) in flash[*at..].iter_mut().zip(bytes) {
        assert_eq!(*flash, 0xff, "programmed twice");
        *flash &= byte;
    }
}

/// An operation that is half done: a part of the bytes, or some of the bits.
fn half_done(operation: &Operation, random: &mut Random) -> [Operation; 3] {
    let (at, bytes) = operation;
    let first = bytes[..random.below(bytes.len())].to_vec();
    let last = random.below(bytes.len());
    let some_bits = bytes.iter().map(|byte| byte | random.next() as u8).collect();
    [(*at, first), (*at + last, bytes[last..].to_vec()), (*at, some_bits)]
}

/// Calls `each` for the states of the flash after a loss of power. The last operation is not done, or half done.
fn each_state(length: usize, operations: &[Operation], mut each: impl FnMut(&[u8])) {
    let mut flash = vec![0xff; length];
    let mut whole = flash.clone();
    operations.iter().for_each(|operation| program(&mut whole, operation));
    let mut random = Random(1);
    // Most operations on a run of zeros are like each other.
    for operation in operations {
        if is_tested(&whole, operation.0) {
            each(&flash);
            for half in half_done(operation, &mut random) {
                let mut state = flash.clone();
                program(&mut state, &half);
                if state != whole {
                    each(&state);
                }
            }
        }
        program(&mut flash, operation);
    }
    assert!(flash == whole);
}

/// Checks that a file in flash is refused, or has everything that was declared: the first bytes of NPZ, BLZ1 and others
/// also have bits that mean nothing to readers.
fn is_refused_or_whole(flash: &[u8], tensors: &[NewTensor<'_>], data: &[u8]) {
    if File::open(flash).is_ok() {
        check(flash, tensors, data);
    }
}

/// True if a file opens, and has not all its data.
fn looks_whole(flash: &[u8], tensors: &[NewTensor<'_>], data: &[u8]) -> bool {
    let Ok(file) = File::open(flash) else { return false };
    !tensors.iter().flat_map(|declared| data_in(&find(&file, declared), declared)).eq(data.iter().copied())
}

/// If the first eight bytes are programmed last, a file of any format is refused until it is complete.
#[test]
fn files_whose_first_bytes_are_programmed_last() {
    for (file, tensors) in files() {
        let data = data_of(tensors);
        let bytes = written(file, &data);
        for page in PAGES {
            let operations = operations(file, &data, page, HELD);
            each_state(bytes.len(), &operations, |flash| is_refused_or_whole(flash, tensors, &data));
            let mut flash = vec![0xff; bytes.len()];
            operations.iter().for_each(|operation| program(&mut flash, operation));
            assert!(flash == bytes);
        }
    }
}

/// The last operation, more thoroughly: each bit is missing once, and many combinations of bits.
#[test]
fn the_last_operation_is_half_done() {
    let mut random = Random(2);
    for (file, tensors) in files() {
        let data = data_of(tensors);
        let bytes = written(file, &data);
        let first = u64::from_le_bytes(*bytes.first_chunk().unwrap());
        let single = (0..64).map(|bit| 1 << bit);
        let several = (0..2000).map(|_| random.next() & random.next());
        let mut count = 0;
        for missing in single.chain(several).map(|bits| bits & !first).filter(|bits| *bits != 0) {
            let mut flash = bytes.clone();
            flash[..HELD].copy_from_slice(&(first | missing).to_le_bytes());
            is_refused_or_whole(&flash, tensors, &data);
            count += 1;
        }
        assert!(count > 1000);
    }
}

/// Programmed in order, a file with data is refused until it is complete only if the format checks its last bytes. The
/// other formats show that the simulation finds files that look complete.
#[test]
fn files_that_are_programmed_in_order() {
    for (file, tensors) in files() {
        let data = data_of(tensors);
        if data.is_empty() {
            continue;
        }
        let bytes = written(file, &data);
        let mut flash = vec![0xff; bytes.len()];
        let mut early = 0;
        let operations = operations(file, &data, 1, 0);
        for operation in &operations {
            early += usize::from(looks_whole(&flash, tensors, &data));
            program(&mut flash, operation);
        }
        let format = File::open(&flash).unwrap().format();
        let checks_its_end = matches!(format, Format::Ztensor | Format::Ztensor2 | Format::Npz | Format::B2nd);
        assert_eq!(early > 0, !checks_its_end, "{format}: {early} of {} states", bytes.len());
    }
}

/// After a loss of power, the page that was being programmed is erased and the writer resumes at its start. The first
/// bytes come from a second writer, which begins again.
#[test]
fn a_file_in_flash_is_resumed() {
    let mut random = Random(3);
    for (file, tensors) in files() {
        let data = data_of(tensors);
        let bytes = written(file, &data);
        let mut scratch = vec![0; Writer::scratch_length(&file).unwrap()];
        // Digests are lost with the data that has passed.
        if tensors.is_empty() || !scratch.is_empty() || Writer::new(file, &mut scratch).unwrap().length().is_none() {
            continue;
        }
        for page in PAGES {
            let operations = operations(file, &data, page, HELD);
            for _ in 0..20 {
                let lost = random.below(operations.len());
                let mut flash = vec![0xff; bytes.len()];
                operations[..lost].iter().for_each(|operation| program(&mut flash, operation));
                program(&mut flash, &half_done(&operations[lost], &mut random)[random.below(3)]);

                // The last page that is not blank was being programmed: it is erased, and all behind it.
                let is_blank = flash[..HELD].iter().all(|byte| *byte == 0xff);
                let last = flash.iter().rposition(|byte| *byte != 0xff).filter(|_| is_blank);
                let start = last.map_or(0, |last| last / page * page).max(HELD);
                flash[if start == HELD { 0 } else { start }..].fill(0xff);

                let mut sink = Pages::new(page, HELD);
                Writer::new(file, &mut []).unwrap().begin(&mut sink).unwrap();
                let mut sink = Pages { first: sink.first, pending: (start, Vec::new()), ..Pages::new(page, HELD) };
                let mut writer = Writer::new(file, &mut []).unwrap();
                writer.resume(&mut sink, start as u64).unwrap();
                let due = data_due(&writer, tensors, &bytes, &data);
                push(&mut writer, due, usize::MAX, &mut sink).unwrap();
                writer.finish(&mut sink).unwrap();
                sink.finish().iter().for_each(|operation| program(&mut flash, operation));
                assert!(flash == bytes, "lost at operation {lost} of pages of {page} bytes");
            }
        }
    }
}
