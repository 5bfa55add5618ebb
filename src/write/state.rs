//! The position of a writer in its file, and the calls that advance it. The declarations, the scratch memory and the
//! sink are passed to each call, so that Rust and C take the same path.
#![forbid(unsafe_code)]

use super::Due;
use super::declaration::{Checked, Declarations, Refusal};
use super::frames;
use super::names::Names;
use super::out::{Out, Position, Sink};
use super::sum::{Kept, Sum, SumKind, Sums};
#[cfg(feature = "b2nd")]
use crate::bytes::num::remainder;
use crate::bytes::num::{quotient, to_u64, to_usize};
use crate::error::origin::{Format, Part};
use crate::error::{Error, ErrorKind, NO_ENTRY, Result};
use crate::format::{FormatWriter, Stage, writer_of};

/// The position of a writer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    phase: Phase,
    /// True if what precedes the data of the component has been written.
    is_open: bool,
    /// The component whose data comes next: its tensor, its index in the tensor, and its number in the file.
    tensor: u32,
    component: u32,
    number: u32,
    /// The bytes of the open component that are missing.
    missing: u64,
    sum: Sum,
    position: Position,
    /// The length of the file; 0 if it is not known, because components are stored in frames.
    length: u64,
}

/// A part of a file to write.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a> {
    /// Counts the bytes of the whole file.
    Count,
    /// Writes the header, and skips this number of bytes at the start of the file.
    Resume(u64),
    /// Writes the next bytes of the data.
    Data(&'a [u8]),
    /// Writes the end of the file, after the data.
    Finish,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Planned,
    Data,
    Done,
    Failed,
}

impl State {
    /// A writer whose file has not been planned.
    pub(crate) const START: Self = Self {
        phase: Phase::Planned,
        is_open: false,
        tensor: 0,
        component: 0,
        number: 0,
        missing: 0,
        sum: Sum::NONE,
        position: Position { at: 0, resumed_at: 0 },
        length: 0,
    };

    /// Checks the declarations and computes the length of the file. Afterwards the writer is at the start of the file.
    pub(crate) fn plan(&mut self, file: &dyn Declarations, scratch: &mut [u64]) -> Result<()> {
        let mut index = NO_ENTRY;
        let checked = self.check_all(file, scratch, &mut index);
        checked.map_err(|refusal| refusal.of(file.format(), index))
    }

    /// Does the work of [`plan`](Self::plan). Sets `index` to the declaration that is refused.
    fn check_all(&mut self, file: &dyn Declarations, scratch: &mut [u64], index: &mut u32) -> Checked {
        let writer = writer_of(file.format())?;
        let too_many = Refusal::new(ErrorKind::TooMany, Part::File);
        writer.check_file(file)?;
        for number in 0..u32::try_from(file.attribute_count()).map_err(|_| too_many)? {
            *index = number;
            writer.check_attribute(&file.attribute(number)?)?;
        }
        for number in 0..u32::try_from(file.tensor_count()).map_err(|_| too_many)? {
            *index = number;
            match &file.tensor(number) {
                Ok(tensor) => {
                    writer.check_tensor(file, number, tensor)?;
                    tensor.total()?;
                }
                Err(refusal) => return Err(*refusal),
            }
            if !writer.has_tensor_attributes() && file.tensor_attribute_count(number) > 0 {
                return Err(Refusal::not_in_format(Part::Attributes));
            }
        }
        *index = NO_ENTRY;
        for are_tensors in [false, true] {
            Names::of(file, are_tensors).check(scratch, index)?;
        }
        frames::check(file, writer, index)?;
        if to_u64(scratch.len()) < Self::kept_words(file, writer) {
            return Err(Refusal::new(ErrorKind::OutOfScratch, Part::File));
        }
        // Leaves the scratch memory alone.
        let mut out = Out::counting(0);
        self.pass_over(file, writer, &mut [], Step::Count, &mut out)?;
        if out.position.at == u64::MAX {
            return Err(too_many);
        }
        (self.phase, self.tensor, self.component, self.number) = (Phase::Planned, 0, 0, 0);
        self.length = if file.frame_length().is_none() { out.position.at } else { 0 };
        Ok(())
    }

    /// Returns the number of words of scratch memory that a file needs.
    pub(crate) fn scratch_length(file: &dyn Declarations) -> Result<usize> {
        let format = file.format();
        let writer = writer_of(format).map_err(|refusal| refusal.of_file(format))?;
        let kept = to_usize(Self::kept_words(file, writer)).ok_or(Error::new(ErrorKind::TooMany))?;
        Ok(kept.max(Names::of(file, true).words()).max(Names::of(file, false).words()))
    }

    /// Returns the number of words for what is kept of all components, and for the frames of the longest one.
    fn kept_words(file: &dyn Declarations, writer: &dyn FormatWriter) -> u64 {
        let kept = writer.kept(file);
        if kept == Kept::NONE {
            return 0;
        }
        let (mut count, mut longest) = (0_u64, 0);
        let mut parts = Self::START;
        while parts.advance(file) {
            longest = parts.missing.max(longest); // only formats with tables of frames need it
            parts.component = parts.component.saturating_add(1);
            count = count.saturating_add(1);
        }
        let words = kept.words(count);
        #[cfg(feature = "ztensor2")]
        let words = words.saturating_add(frames::words(file, writer, longest));
        words
    }

    pub(crate) const fn length(&self) -> Option<u64> {
        if self.length == 0 { None } else { Some(self.length) } // no format has empty files
    }

    pub(crate) const fn position(&self) -> u64 {
        self.position.at
    }

    /// Writes a part of the file. All programs need all parts, so there is a single copy of what they share.
    pub(crate) fn step(
        &mut self,
        file: &dyn Declarations,
        scratch: &mut [u64],
        sink: &mut dyn Sink,
        step: Step<'_>,
    ) -> Result<()> {
        let written = self.try_step(file, scratch, sink, step);
        written.map_err(|refusal| self.error(refusal, file.format()))
    }

    fn try_step(
        &mut self,
        file: &dyn Declarations,
        scratch: &mut [u64],
        sink: &mut dyn Sink,
        step: Step<'_>,
    ) -> Checked {
        self.check(if let Step::Resume(_) = step { Phase::Planned } else { Phase::Data })?;
        match step {
            Step::Resume(written) if written > self.length => {
                return Err(Refusal::new(ErrorKind::InvalidArgument, Part::File));
            }
            Step::Resume(written) => self.position.resumed_at = written,
            Step::Data(_) if file.frame_length().is_some() => {
                return Err(Refusal::new(ErrorKind::WrongState, Part::File));
            }
            _ => {}
        }
        self.write(file, sink, |state, writer, out| state.pass_over(file, writer, scratch, step, out))
    }

    /// Returns the error for a refusal.
    fn error(&self, refusal: Refusal, format: Format) -> Error {
        if refusal.kind == ErrorKind::SinkFailed {
            return Error::at(refusal.kind, format, refusal.part, self.position.at);
        }
        refusal.of(format, if refusal.part == Part::File { NO_ENTRY } else { self.tensor })
    }

    /// Writes a part of the file, or counts the bytes of the whole file.
    #[cfg_attr(small, inline(never))] // planning counts a file as it is written
    fn pass_over(
        &mut self,
        file: &dyn Declarations,
        writer: &dyn FormatWriter,
        scratch: &mut [u64],
        step: Step<'_>,
        out: &mut Out<'_>,
    ) -> Checked {
        let mut step = step;
        if let Step::Count | Step::Resume(_) = step {
            writer.head(file, out);
            self.phase = Phase::Data;
        }
        loop {
            // The number of bytes that this step passes over from here on.
            let left = match step {
                Step::Count => u64::MAX,
                Step::Resume(written) => written.saturating_sub(out.position.at),
                Step::Data(bytes) => to_u64(bytes.len()),
                Step::Finish => 0,
            };
            let is_last = matches!(step, Step::Count | Step::Finish);
            if left == 0 && !is_last {
                return Ok(());
            }
            if !self.is_open {
                if self.open(file, writer, scratch, out) {
                    continue; // what precedes the component has moved the position
                }
                if is_last {
                    writer.tail(file, &Sums::new(writer.kept(file), scratch), out);
                    self.phase = Phase::Done;
                } else if let Step::Data(_) = step {
                    return Err(Refusal::new(ErrorKind::TooManyBytes, Part::File));
                }
                return Ok(());
            }
            let count = self.run(file, writer).min(left);
            match &mut step {
                Step::Data(bytes) => {
                    let first = to_usize(count).unwrap_or(usize::MAX).min(bytes.len());
                    let (taken, after) = bytes.split_at_checked(first).unwrap_or_default();
                    writer.check_data(file, self.stage(), self.missing, taken)?;
                    out.bytes(taken);
                    self.sum.add(taken, scratch);
                    *bytes = after;
                }
                Step::Finish if self.missing > 0 => {
                    return Err(Refusal::new(ErrorKind::TooFewBytes, Part::Tensor));
                }
                // The digest of data that has been written is lost.
                Step::Resume(_) if count > 0 && writer.sum(file) != SumKind::None => {
                    return Err(Refusal::new(ErrorKind::InvalidArgument, Part::File));
                }
                _ => out.skip(count),
            }
            self.pass(count, file, writer, scratch, out);
        }
    }

    /// Returns the data that is expected next.
    pub(crate) fn due(&self, file: &dyn Declarations) -> Option<Due> {
        if self.phase != Phase::Data {
            return None;
        }
        let mut next = *self;
        loop {
            if !next.advance(file) {
                return None;
            }
            let Self { tensor, component, missing, .. } = next;
            if missing > 0 {
                return Some(Due { tensor, component, offset: next.offset(file), missing });
            }
            next.is_open = false;
            next.component = next.component.saturating_add(1);
        }
    }

    /// Writes a frame, and the table of the frames after the last one of a component.
    pub(crate) fn frame(
        &mut self,
        file: &dyn Declarations,
        scratch: &mut [u64],
        sink: &mut dyn Sink,
        encoded: &[u8],
        decoded: &[u8],
    ) -> Result<()> {
        let written = self.try_frame(file, scratch, sink, encoded, decoded);
        written.map_err(|refusal| self.error(refusal, file.format()))
    }

    fn try_frame(
        &mut self,
        file: &dyn Declarations,
        scratch: &mut [u64],
        sink: &mut dyn Sink,
        encoded: &[u8],
        decoded: &[u8],
    ) -> Checked {
        self.check(Phase::Data)?;
        let frame_length = file.frame_length().ok_or(Refusal::new(ErrorKind::WrongState, Part::File))?;
        self.write(file, sink, |state, writer, out| {
            while !state.is_open || state.missing == 0 {
                if state.is_open {
                    state.pass(0, file, writer, scratch, out);
                } else if !state.open(file, writer, scratch, out) {
                    return Err(Refusal::new(ErrorKind::TooManyBytes, Part::File));
                }
            }
            let length = to_u64(decoded.len());
            if length != frame_length.min(state.missing) {
                return Err(Refusal::new(ErrorKind::WrongLength, Part::Frame));
            }
            writer.check_frame(encoded, length)?;
            writer.check_data(file, state.stage(), state.missing, decoded)?;
            out.bytes(encoded);
            let kept = writer.kept(file);
            state.sum.add(if kept.kind.is_of_decoded() { decoded } else { encoded }, scratch);
            let index = quotient(state.offset(file), frame_length);
            let stored = frames::remember(index, encoded, writer, scratch);
            let mut stored = stored.ok_or(Refusal::new(ErrorKind::InvalidFrame, Part::Frame))?;
            if length == state.missing && writer.has_seek_table() {
                let start = out.position.at;
                frames::seek_table(index, frame_length, length, scratch, out);
                stored = stored.saturating_add(out.position.at.saturating_sub(start));
            }
            if let Some(sum) = kept.length_mut(state.number, scratch) {
                *sum = sum.saturating_add(stored);
            }
            state.pass(length, file, writer, scratch, out);
            Ok(())
        })
    }

    /// Fails if the writer is not in `phase`.
    fn check(&self, phase: Phase) -> Checked {
        if self.phase == phase { Ok(()) } else { Err(Refusal::new(ErrorKind::WrongState, Part::File)) }
    }

    /// Writes to the sink from the current position on. A failure ends the file.
    fn write(
        &mut self,
        file: &dyn Declarations,
        sink: &mut dyn Sink,
        write: impl FnOnce(&mut Self, &dyn FormatWriter, &mut Out<'_>) -> Checked,
    ) -> Checked {
        let writer = writer_of(file.format())?;
        let mut out = Out::to(sink, self.position);
        let written = write(self, writer, &mut out);
        // A sink that failed has the bytes before the piece that it refused.
        self.position = out.position;
        let written = if out.has_failed { Err(Refusal::new(ErrorKind::SinkFailed, Part::File)) } else { written };
        if written.is_err() {
            self.phase = Phase::Failed;
        }
        written
    }

    /// Moves to the next component, of which all bytes are missing, unless one is open. Returns `false` after the last.
    fn advance(&mut self, file: &dyn Declarations) -> bool {
        while !self.is_open {
            let Ok(tensor) = &file.tensor(self.tensor) else { return false };
            if self.component < tensor.component_count() {
                let Ok(length) = tensor.component_length(self.component) else { return false };
                self.missing = length;
                break;
            }
            let Some(next) = self.tensor.checked_add(1) else { return false };
            (self.tensor, self.component) = (next, 0);
        }
        true
    }

    /// Writes what precedes the next component. Returns `false` after the last.
    fn open(
        &mut self,
        file: &dyn Declarations,
        writer: &dyn FormatWriter,
        scratch: &mut [u64],
        out: &mut Out<'_>,
    ) -> bool {
        if !self.advance(file) {
            return false;
        }
        out.pad(writer.alignment(file));
        self.sum = Sum::start(writer.kept(file), scratch);
        if let Some(stored) = writer.kept(file).length_mut(self.number, scratch) {
            *stored = 0;
        }
        writer.before(file, self.stage(), &mut self.sum, out);
        self.is_open = true;
        true
    }

    /// Returns the number of bytes of the open component that have passed.
    fn offset(&self, file: &dyn Declarations) -> u64 {
        let tensor = file.tensor(self.tensor);
        let length = tensor.and_then(|tensor| tensor.component_length(self.component));
        length.map_or(0, |length| length.saturating_sub(self.missing))
    }

    /// Returns the number of bytes of the open component up to where the format writes something.
    #[cfg(not(feature = "b2nd"))]
    const fn run(&self, _: &dyn Declarations, _: &dyn FormatWriter) -> u64 {
        self.missing
    }

    /// Returns the number of bytes of the open component up to where the format writes something.
    #[cfg(feature = "b2nd")]
    fn run(&self, file: &dyn Declarations, writer: &dyn FormatWriter) -> u64 {
        let Some(length) = writer.run_length(file) else { return self.missing };
        length.saturating_sub(remainder(self.offset(file), length)).min(self.missing)
    }

    /// Moves past `count` bytes of the open component, and writes what follows them.
    fn pass(
        &mut self,
        count: u64,
        file: &dyn Declarations,
        writer: &dyn FormatWriter,
        scratch: &mut [u64],
        out: &mut Out<'_>,
    ) {
        self.missing = self.missing.wrapping_sub(count); // at most what is missing
        if self.missing > 0 {
            #[cfg(feature = "b2nd")]
            if writer.run_length(file).is_some_and(|length| remainder(self.offset(file), length) == 0) {
                writer.between(file, out);
            }
            return;
        }
        self.sum.store(self.number, scratch);
        writer.after(file, self.stage(), &self.sum, out);
        self.is_open = false;
        self.component = self.component.saturating_add(1);
        self.number = self.number.saturating_add(1);
    }

    const fn stage(&self) -> Stage {
        Stage { tensor: self.tensor, component: self.component, number: self.number }
    }
}
