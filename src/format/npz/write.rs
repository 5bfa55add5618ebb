//! Writes NPZ: each tensor as a stored entry NAME.npy, then the directory.
//!
//! The sink cannot go back, so the CRC-32 of an entry follows its data, in a data descriptor (APPNOTE 4.3.9). All sizes
//! are known beforehand: zip64 is used only where 32 bits do not suffice. The date is the first that ZIP has.
#![forbid(unsafe_code)]

use crate::bytes::num::{padding, to_u64};
use crate::codec::npy::write as npy;
use crate::codec::zip::{END_64, LENGTHS_FOLLOW, LOCAL, MAX_DIRECTORY, STORED, UTF8_NAME, record};
use crate::duplicates::MAX_COMPARED;
use crate::error::ErrorKind;
use crate::error::origin::Part;
use crate::format::{FormatWriter, Stage};
use crate::write::declaration::{Checked, Declarations, NewTensor, Refusal, tensors};
use crate::write::out::{Out, Position};
use crate::write::sum::{Sum, SumKind, Sums};

const SUFFIX: &str = ".npy";

/// The length of the longest name of a tensor, which is followed by [`SUFFIX`].
const MAX_NAME: usize = 65531;

/// The largest alignment that an extra field can state.
const MAX_ALIGNMENT: u64 = 1 << 15;

/// The extra field for the alignment: its ID, and the length of its head and the alignment in it.
const ALIGNED: u16 = 0xd935;
const ALIGNED_LENGTH: u64 = 6;

/// The versions of ZIP that a reader must know: 2.0, or 4.5 for zip64.
const VERSION: u16 = 20;
const VERSION_64: u16 = 45;

/// Unix, whose permissions are in the attributes of an entry: read and write for the owner, as `np.savez` writes them.
const UNIX: u16 = 3 << 8;
const PERMISSIONS: u32 = 0o600 << 16;

/// 1980-01-01.
const DATE: u16 = 0x21;

pub(crate) struct NpzWriter;

impl FormatWriter for NpzWriter {
    fn check_file(&self, file: &dyn Declarations) -> Checked {
        let alignment = alignment(file);
        if !alignment.is_power_of_two() || alignment > MAX_ALIGNMENT {
            return Err(Refusal::new(ErrorKind::InvalidAlignment, Part::Alignment));
        }
        // `check_tensor` looks for the name without the suffix among all names.
        let suffixed = tensors(file).filter(|(_, tensor)| tensor.name.ends_with(SUFFIX)).count();
        if to_u64(suffixed) > MAX_COMPARED.into() {
            return Err(Refusal::new(ErrorKind::TooMany, Part::Name));
        }
        if Out::length_of(|out| directory(file, &Sums::new(self.kept(file), &[]), out)) > MAX_DIRECTORY {
            return Err(Refusal::new(ErrorKind::ManifestTooLarge, Part::Manifest));
        }
        Ok(())
    }

    fn check_tensor(&self, file: &dyn Declarations, _: u32, tensor: &NewTensor<'_>) -> Checked {
        if tensor.name.len() > MAX_NAME {
            return Err(Refusal::new(ErrorKind::NameLength, Part::Name));
        }
        if tensor.name.contains('\0') {
            return Err(Refusal::new(ErrorKind::InvalidName, Part::Name)); // readers end the name there
        }
        // NumPy finds an entry with or without the suffix.
        if let Some(short) = tensor.name.strip_suffix(SUFFIX) {
            if tensors(file).any(|(_, other)| other.name == short) {
                return Err(Refusal::new(ErrorKind::RepeatedName, Part::Name));
            }
        }
        npy::check(tensor)
    }

    fn sum(&self, _: &dyn Declarations) -> SumKind {
        SumKind::Crc32
    }

    fn before(&self, file: &dyn Declarations, stage: Stage, sum: &mut Sum, out: &mut Out<'_>) {
        let Ok(tensor) = file.tensor(stage.tensor) else { return };
        local_header(&tensor, alignment(file), out);
        npy::head(&tensor, npy::ALIGNMENT, out);
        // The checksum covers the head of the array.
        let mut sink = |_: u64, piece: &[u8]| {
            sum.add(piece, &mut []);
            Ok(())
        };
        npy::head(&tensor, npy::ALIGNMENT, &mut Out::to(&mut sink, Position::default()));
    }

    fn after(&self, file: &dyn Declarations, stage: Stage, sum: &Sum, out: &mut Out<'_>) {
        let Ok(tensor) = file.tensor(stage.tensor) else { return };
        descriptor(&tensor, sum.crc(), out);
    }

    fn tail(&self, file: &dyn Declarations, sums: &Sums<'_>, out: &mut Out<'_>) {
        let start = out.position.at;
        directory(file, sums, out);
        end(to_u64(file.tensor_count()), start, out);
    }
}

fn alignment(file: &dyn Declarations) -> u64 {
    file.alignment_or(1)
}

/// Returns the number of bytes of an array with its head.
fn size_of(tensor: &NewTensor<'_>) -> u64 {
    let head = Out::length_of(|out| npy::head(tensor, npy::ALIGNMENT, out));
    head.saturating_add(tensor.length().unwrap_or(u64::MAX))
}

/// Returns a number for a field of 32 bits: all ones if the number is in a zip64 field or record instead.
fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(record::ALL_ONES_32)
}

/// Returns whether a number needs a zip64 field.
fn is_wide(number: u64) -> bool {
    narrow(number) == record::ALL_ONES_32
}

fn length_of_name(tensor: &NewTensor<'_>) -> u64 {
    to_u64(tensor.name.len()).saturating_add(to_u64(SUFFIX.len()))
}

/// Writes the fields that a local header and a record of the directory have in common.
fn about(tensor: &NewTensor<'_>, (version, crc): (u16, u32), sizes: u32, extra: u64, out: &mut Out<'_>) {
    out.u16(version);
    out.u16(if tensor.name.is_ascii() { LENGTHS_FOLLOW } else { LENGTHS_FOLLOW | UTF8_NAME });
    out.u16(STORED);
    out.u16(0); // the time
    out.u16(DATE);
    out.u32(crc);
    out.u32(sizes);
    out.u32(sizes);
    out.u16(u16::try_from(length_of_name(tensor)).unwrap_or_default());
    out.u16(u16::try_from(extra).unwrap_or_default());
}

fn name(tensor: &NewTensor<'_>, out: &mut Out<'_>) {
    out.bytes(tensor.name.as_bytes());
    out.bytes(SUFFIX.as_bytes());
}

/// Writes the head of a zip64 field with `count` numbers, which follow.
fn zip64(count: u16, out: &mut Out<'_>) {
    out.u16(record::ZIP64);
    out.u16(count.saturating_mul(8));
}

/// Writes what precedes an array. Its sizes and its checksum are zero here: they follow the array.
fn local_header(tensor: &NewTensor<'_>, alignment: u64, out: &mut Out<'_>) {
    let size = size_of(tensor);
    let (version, sizes, wide) = if is_wide(size) { (VERSION_64, record::ALL_ONES_32, 20) } else { (VERSION, 0, 0) };
    let head = size.saturating_sub(tensor.length().unwrap_or_default());
    let before = LOCAL.saturating_add(length_of_name(tensor)).saturating_add(wide).saturating_add(head);
    let mut aligned = padding(out.position.at.saturating_add(before), alignment);
    while aligned > 0 && aligned < ALIGNED_LENGTH {
        aligned = aligned.saturating_add(alignment);
    }
    out.bytes(&record::LOCAL);
    about(tensor, (version, 0), sizes, aligned.saturating_add(wide), out);
    name(tensor, out);
    if wide > 0 {
        zip64(2, out);
        out.u64(0);
        out.u64(0);
    }
    if aligned > 0 {
        out.u16(ALIGNED);
        out.u16(u16::try_from(aligned.saturating_sub(4)).unwrap_or_default());
        out.u16(u16::try_from(alignment).unwrap_or_default());
        out.zeros(aligned.saturating_sub(ALIGNED_LENGTH));
    }
}

/// Writes what follows an array: its checksum, and its sizes, stored and decoded.
fn descriptor(tensor: &NewTensor<'_>, crc: u32, out: &mut Out<'_>) {
    let size = size_of(tensor);
    out.bytes(&record::DESCRIPTOR);
    out.u32(crc);
    for _ in 0..2 {
        // The local header has a zip64 field if and only if the sizes are wide.
        if is_wide(size) { out.u64(size) } else { out.u32(narrow(size)) }
    }
}

/// Writes the records of all entries.
fn directory(file: &dyn Declarations, sums: &Sums<'_>, out: &mut Out<'_>) {
    let mut entries = Out::counting(0);
    for (index, tensor) in tensors(file) {
        let (offset, size) = (entries.position.at, size_of(&tensor));
        local_header(&tensor, alignment(file), &mut entries);
        entries.skip(size);
        descriptor(&tensor, 0, &mut entries);

        // Sizes that are wide, stored and decoded, precede the offset.
        let sizes: u16 = if is_wide(size) { 2 } else { 0 };
        let numbers = sizes.saturating_add(is_wide(offset).into());
        let (version, extra) =
            if numbers > 0 { (VERSION_64, numbers.saturating_mul(8).saturating_add(4)) } else { (VERSION, 0) };
        let crc = u32::try_from(sums.of(index)).unwrap_or_default();
        out.bytes(&record::ENTRY);
        out.u16(UNIX | version);
        about(&tensor, (version, crc), narrow(size), extra.into(), out);
        out.u16(0); // the length of the comment
        out.u16(0); // the disk
        out.u16(0); // the contents are not known to be text
        out.u32(PERMISSIONS);
        out.u32(narrow(offset));
        name(&tensor, out);
        if numbers > 0 {
            zip64(numbers, out);
        }
        if is_wide(size) {
            out.u64(size);
            out.u64(size);
        }
        if is_wide(offset) {
            out.u64(offset);
        }
    }
}

/// Writes the end of the directory, which begins at `start` and has `entries` records.
fn end(entries: u64, start: u64, out: &mut Out<'_>) {
    let end = out.position.at;
    let length = end.saturating_sub(start);
    let count = u16::try_from(entries).unwrap_or(record::ALL_ONES_16);
    if count == record::ALL_ONES_16 || is_wide(start) || is_wide(length) {
        out.bytes(&record::END_64);
        out.u64(END_64.saturating_sub(12)); // the bytes after this field
        out.u16(UNIX | VERSION_64);
        out.u16(VERSION_64);
        out.u64(0); // the disks of this record and of the directory
        for number in [entries, entries, length, start] {
            out.u64(number);
        }
        out.bytes(&record::LOCATOR);
        out.u32(0);
        out.u64(end);
        out.u32(1); // the number of disks
    }
    out.bytes(&record::END);
    out.u32(0);
    out.u16(count);
    out.u16(count);
    out.u32(narrow(length));
    out.u32(narrow(start));
    out.u16(0); // the length of the comment
}

#[cfg(test)]
mod tests {
    use std::prelude::v1::*;
    use std::vec;

    use super::*;
    use crate::bytes::source::Source;
    use crate::error::origin::Format;
    use crate::types::DType;
    use crate::view::file::{File, Opened};
    use crate::write::declaration::NewFile;
    use crate::write::out::SinkError;

    /// Everything that is written but the data: runs of bytes and their offsets, and the length of the file.
    fn without_data(file: &NewFile<'_>) -> (Vec<(u64, Vec<u8>)>, u64) {
        let mut runs: Vec<(u64, Vec<u8>)> = Vec::new();
        let mut sink = |offset: u64, piece: &[u8]| {
            match runs.last_mut() {
                Some((start, run)) if *start + to_u64(run.len()) == offset => run.extend_from_slice(piece),
                _ => runs.push((offset, piece.to_vec())),
            }
            Ok::<(), SinkError>(())
        };
        let mut out = Out::to(&mut sink, Position::default());
        for (tensor, declared) in tensors(file) {
            let stage = Stage { tensor, component: 0, number: tensor };
            NpzWriter.before(file, stage, &mut { Sum::NONE }, &mut out);
            out.skip(declared.length().unwrap());
            NpzWriter.after(file, stage, &Sum::NONE, &mut out);
        }
        NpzWriter.tail(file, &Sums::new(NpzWriter.kept(file), &[]), &mut out);
        let length = out.position.at;
        (runs, length)
    }

    /// Returns bytes of the file, whose data is zeros.
    fn bytes_at(runs: &[(u64, Vec<u8>)], offset: u64, length: u64) -> &'static [u8] {
        let mut bytes = vec![0; usize::try_from(length).unwrap()];
        for (start, run) in runs {
            for (at, byte) in (*start..).zip(run) {
                let at = at.checked_sub(offset).and_then(|at| usize::try_from(at).ok());
                if let Some(place) = at.and_then(|at| bytes.get_mut(at)) {
                    *place = *byte;
                }
            }
        }
        bytes.leak()
    }

    /// The reader opens archives of more than 4 GiB, and finds all arrays at their places.
    #[test]
    fn numbers_of_more_than_32_bits() {
        const NARROW: u64 = 0xffff_fffe - 128; // the largest array whose size has 32 bits, without its head
        numbers([NARROW, 3], [VERSION; 2], [0, 12]);
        numbers([3, NARROW + 1, 3], [VERSION, VERSION_64, VERSION], [0, 20, 12]);
        numbers([1 << 40, 1 << 40], [VERSION_64; 2], [20, 28]);
    }

    /// Checks arrays of these lengths: the versions in their local headers, and the lengths of the extra fields in the
    /// directory.
    #[track_caller]
    fn numbers<const N: usize>(lengths: [u64; N], versions: [u16; N], extra: [u16; N]) {
        let names = ["a", "b", "c"];
        let shapes = lengths.map(|length| [length]);
        let tensors: Vec<_> =
            shapes.iter().zip(names).map(|(shape, name)| NewTensor::dense(name, DType::U8, shape)).collect();
        for alignment in [1, 4096] {
            let file = NewFile::new(Format::Npz, &tensors).alignment(alignment);
            let (runs, length) = without_data(&file);
            let mut source = Source::new(length);
            while let Opened::Need(need) = File::open_source(&source).unwrap() {
                source.add(need.extent.offset, bytes_at(&runs, need.extent.offset, need.extent.length)).unwrap();
            }
            let opened = match File::open_source(&source).unwrap() {
                Opened::File(file) => Some(file),
                Opened::Need(_) => None,
            };
            let opened = opened.unwrap();
            assert!(opened.warnings().is_empty());
            assert_eq!(opened.tensors().count(), N);
            for (tensor, length) in opened.tensors().zip(lengths) {
                let extent = tensor.data().unwrap().extent();
                assert_eq!((extent.length, extent.offset % alignment), (length, 0));
            }

            // Behind data follow a descriptor, of 16 or 24 bytes, and the local header of the next entry.
            let number = |run: &[u8], at: usize| u16::from_le_bytes([run[at], run[at + 1]]);
            let after = |version| if version == VERSION { 16 } else { 24 };
            let starts = [0].into_iter().chain(versions.map(after));
            for (((_, run), at), version) in runs.iter().zip(starts).zip(versions) {
                assert_eq!((&run[at..at + 4], number(run, at + 4)), (&record::LOCAL[..], version));
            }
            let directory = &runs.last().unwrap().1[after(versions[N - 1])..];
            let records = (0..directory.len() - 4).filter(|at| directory[*at..].starts_with(&record::ENTRY));
            let found: Vec<_> = records.map(|at| (number(directory, at + 6), number(directory, at + 30))).collect();
            let expected = extra.map(|extra| (if extra == 0 { VERSION } else { VERSION_64 }, extra));
            assert_eq!(found, expected);
        }
    }
}
