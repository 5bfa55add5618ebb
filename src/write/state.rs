//! The position of a writer in its file, and the calls that advance it. The declarations, the scratch memory and the
//! sink are passed to each call, so that Rust and C take the same path.
#![forbid(unsafe_code)]

use super::Due;
use super::declaration::{Declarations, NewComponent, attributes, tensors};
use super::frames;
use super::names::{Names, attribute_key, tensor_name};
use super::out::{Out, Position, Sink};
use super::sum::{Sum, SumKind, Sums};
#[cfg(feature = "b2nd")]
use crate::bytes::num::remainder;
use crate::bytes::num::{quotient, to_u64, to_usize};
use crate::error::origin::Part;
use crate::error::{Error, ErrorKind, Result};
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
    /// The length of the file; `None` if it is not known, because components are stored in frames.
    length: Option<u64>,
}

/// A part of a file to write.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a> {
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
    const START: Self = Self {
        phase: Phase::Planned,
        is_open: false,
        tensor: 0,
        component: 0,
        number: 0,
        missing: 0,
        sum: Sum::NONE,
        position: Position { at: 0, resumed_at: 0 },
        length: None,
    };

    /// Checks the declarations and computes the length of the file.
    pub(crate) fn plan(file: &dyn Declarations, scratch: &mut [u64]) -> Result<Self> {
        let format = file.options().format;
        let writer = writer_of(format)?;
        writer.check_file(file).map_err(|refusal| refusal.of_file(format))?;
        for (index, attribute) in attributes(file) {
            writer.check_attribute(&attribute).map_err(|refusal| refusal.of(format, index))?;
        }
        for (index, tensor) in tensors(file) {
            let checked = writer.check_tensor(file, &tensor).and_then(|()| tensor.check_components());
            let checked = checked.and_then(|()| tensor.check_attributes());
            checked.map_err(|refusal| refusal.of(format, index))?;
        }
        let repeated = Names { file, name: attribute_key }.first_repeated(file.attribute_count(), scratch)?;
        if let Some(index) = repeated {
            return Err(Error::declared(ErrorKind::RepeatedKey, format, Part::Key, index));
        }
        let repeated = Names { file, name: tensor_name }.first_repeated(file.tensor_count(), scratch)?;
        if let (true, Some(index)) = (writer.has_names(), repeated) {
            return Err(Error::declared(ErrorKind::RepeatedName, format, Part::Name, index));
        }
        frames::check(file, writer)?;
        if to_u64(scratch.len()) < Self::digest_words(file, writer) {
            return Err(Error::new(ErrorKind::OutOfScratch));
        }
        // Writes the file without its data, and without a sink, to find its length. Leaves the scratch memory alone.
        let (mut counted, mut out) = (Self::START, Out::counting(0));
        writer.head(file, &mut out);
        while counted.open(file, writer, &mut [], &mut out) {
            while counted.is_open {
                let run = counted.run(file, writer);
                out.skip(run);
                counted.pass(run, file, writer, &mut out);
            }
        }
        writer.tail(file, &Sums::new(writer.kept(file), &[]), &mut out);
        let length = out.finish(format)?.at;
        Ok(Self { length: Some(length).filter(|_| file.options().frame_length.is_none()), ..Self::START })
    }

    /// Returns the number of words of scratch memory that a file needs.
    pub(crate) fn scratch_length(file: &dyn Declarations) -> Result<usize> {
        let writer = writer_of(file.options().format)?;
        let digests = to_usize(Self::digest_words(file, writer)).ok_or(Error::new(ErrorKind::TooMany))?;
        let names = Names { file, name: tensor_name }.words(file.tensor_count());
        Ok(digests.max(names).max(Names { file, name: attribute_key }.words(file.attribute_count())))
    }

    /// Returns the number of words for what is kept of all components, and for the frames of the longest one.
    fn digest_words(file: &dyn Declarations, writer: &dyn FormatWriter) -> u64 {
        let mut parts = Self::START;
        let (mut count, mut longest) = (0_u64, 0);
        while let Some(part) = parts.advance(file) {
            longest = part.length.max(longest); // only formats with tables of frames need it
            parts.component = parts.component.saturating_add(1);
            count = count.saturating_add(1);
        }
        let words = writer.kept(file).words(count);
        #[cfg(feature = "ztensor2")]
        let words = words.saturating_add(frames::words(file, writer, longest));
        words
    }

    pub(crate) const fn length(&self) -> Option<u64> {
        self.length
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
        self.check(if let Step::Resume(_) = step { Phase::Planned } else { Phase::Data })?;
        match step {
            Step::Resume(written) if written > self.length.unwrap_or_default() => {
                return Err(Error::new(ErrorKind::InvalidArgument));
            }
            Step::Resume(written) => self.position.resumed_at = written,
            Step::Data(_) if file.options().frame_length.is_some() => return Err(Error::new(ErrorKind::WrongState)),
            _ => {}
        }
        self.write(file, sink, |state, writer, out| match step {
            Step::Resume(written) => state.resume(file, scratch, written, writer, out),
            Step::Data(bytes) => state.data(file, scratch, bytes, writer, out),
            Step::Finish => state.finish(file, scratch, writer, out),
        })
    }

    /// Writes the header, except for the first `written` bytes of the file, and moves to that byte.
    fn resume(
        &mut self,
        file: &dyn Declarations,
        scratch: &mut [u64],
        written: u64,
        writer: &dyn FormatWriter,
        out: &mut Out<'_>,
    ) -> Result<()> {
        writer.head(file, out);
        self.phase = Phase::Data;
        while out.position.at < written && self.open(file, writer, scratch, out) {
            while self.is_open {
                let left = written.saturating_sub(out.position.at);
                let run = self.run(file, writer);
                // The digest of data that has been written is lost.
                if run.min(left) > 0 && writer.sum(file) != SumKind::None {
                    return Err(Error::new(ErrorKind::InvalidArgument));
                }
                if run > left {
                    out.skip(left);
                    self.missing = self.missing.saturating_sub(left);
                    return Ok(());
                }
                out.skip(run);
                if run == self.missing {
                    self.sum.store(self.number, scratch); // of an empty component, if there are digests
                }
                self.pass(run, file, writer, out);
            }
        }
        Ok(())
    }

    /// Returns the data that is expected next.
    pub(crate) fn due(&self, file: &dyn Declarations) -> Option<Due> {
        if self.phase != Phase::Data {
            return None;
        }
        let mut next = *self;
        loop {
            let part = next.advance(file)?;
            let missing = if next.is_open { next.missing } else { part.length };
            if missing > 0 {
                let offset = part.length.saturating_sub(missing);
                return Some(Due { tensor: next.tensor, component: next.component, offset, missing });
            }
            next.is_open = false;
            next.component = next.component.saturating_add(1);
        }
    }

    /// Writes the next bytes of the data.
    fn data(
        &mut self,
        file: &dyn Declarations,
        scratch: &mut [u64],
        bytes: &[u8],
        writer: &dyn FormatWriter,
        out: &mut Out<'_>,
    ) -> Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if !self.is_open && !self.open(file, writer, scratch, out) {
                return Err(Error::new(ErrorKind::TooManyBytes));
            }
            let count = to_usize(self.run(file, writer)).unwrap_or(usize::MAX).min(rest.len());
            let (taken, after) = rest.split_at_checked(count).unwrap_or((rest, &[]));
            self.check_data(file, writer, taken)?;
            out.bytes(taken);
            self.sum.add(taken, scratch);
            rest = after;
            if to_u64(count) == self.missing {
                self.sum.store(self.number, scratch);
            }
            self.pass(to_u64(count), file, writer, out);
        }
        Ok(())
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
        self.check(Phase::Data)?;
        let (format, frame_length) = (file.options().format, file.options().frame_length);
        let frame_length = frame_length.ok_or(Error::new(ErrorKind::WrongState))?;
        self.write(file, sink, |state, writer, out| {
            while !state.is_open || state.missing == 0 {
                if state.is_open {
                    state.sum.store(state.number, scratch);
                    state.pass(0, file, writer, out);
                } else if !state.open(file, writer, scratch, out) {
                    return Err(Error::new(ErrorKind::TooManyBytes));
                }
            }
            let length = to_u64(decoded.len());
            if length != frame_length.min(state.missing) {
                return Err(Error::declared(ErrorKind::WrongLength, format, Part::Frame, state.tensor));
            }
            let checked = writer.check_frame(encoded, length);
            checked.map_err(|refusal| refusal.of(format, state.tensor))?;
            state.check_data(file, writer, decoded)?;
            out.bytes(encoded);
            let kept = writer.kept(file);
            state.sum.add(if kept.kind.is_of_decoded() { decoded } else { encoded }, scratch);
            let index = quotient(state.offset(file), frame_length);
            let mut stored = frames::remember(index, encoded, writer, scratch).ok_or(Error::declared(
                ErrorKind::InvalidFrame,
                format,
                Part::Frame,
                state.tensor,
            ))?;
            if length == state.missing {
                state.sum.store(state.number, scratch);
                if writer.has_seek_table() {
                    let start = out.position.at;
                    frames::seek_table(index, frame_length, length, scratch, out);
                    stored = stored.saturating_add(out.position.at.saturating_sub(start));
                }
            }
            if let Some(sum) = kept.length_mut(state.number, scratch) {
                *sum = sum.saturating_add(stored);
            }
            state.pass(length, file, writer, out);
            Ok(())
        })
    }

    /// Fails if the format does not allow the next bytes of the open component.
    fn check_data(&self, file: &dyn Declarations, writer: &dyn FormatWriter, bytes: &[u8]) -> Result<()> {
        let Some(tensor) = file.tensor(self.tensor) else { return Ok(()) };
        let checked = writer.check_data(&tensor, self.component, self.offset(file), bytes);
        checked.map_err(|refusal| refusal.of(file.options().format, self.tensor))
    }

    /// Writes what comes after the data.
    fn finish(
        &mut self,
        file: &dyn Declarations,
        scratch: &mut [u64],
        writer: &dyn FormatWriter,
        out: &mut Out<'_>,
    ) -> Result<()> {
        while self.is_open || self.open(file, writer, scratch, out) {
            if self.missing > 0 {
                let format = file.options().format;
                return Err(Error::declared(ErrorKind::TooFewBytes, format, Part::Tensor, self.tensor));
            }
            self.sum.store(self.number, scratch);
            self.pass(0, file, writer, out);
        }
        writer.tail(file, &Sums::new(writer.kept(file), scratch), out);
        self.phase = Phase::Done;
        Ok(())
    }

    /// Fails if the writer is not in `phase`.
    fn check(&self, phase: Phase) -> Result<()> {
        if self.phase == phase { Ok(()) } else { Err(Error::new(ErrorKind::WrongState)) }
    }

    /// Writes to the sink from the current position on. A failure ends the file.
    fn write(
        &mut self,
        file: &dyn Declarations,
        sink: &mut dyn Sink,
        write: impl FnOnce(&mut Self, &dyn FormatWriter, &mut Out<'_>) -> Result<()>,
    ) -> Result<()> {
        let format = file.options().format;
        let writer = writer_of(format)?;
        let mut out = Out::to(sink, self.position);
        let written = write(self, writer, &mut out);
        self.position = out.position;
        let result = out.finish(format).and(written);
        if let Err(error) = &result {
            self.phase = Phase::Failed;
            // A sink that failed has the bytes before the piece that it refused.
            self.position.at = error.offset().unwrap_or(self.position.at);
        }
        result
    }

    /// Moves to the next component, unless one is current. `None` after the last.
    fn advance(&mut self, file: &dyn Declarations) -> Option<NewComponent> {
        loop {
            let tensor = file.tensor(self.tensor)?;
            if let Ok(Some(part)) = tensor.component(self.component) {
                return Some(part);
            }
            self.tensor = self.tensor.checked_add(1)?;
            self.component = 0;
        }
    }

    /// Writes what precedes the next component. Returns `false` after the last.
    fn open(
        &mut self,
        file: &dyn Declarations,
        writer: &dyn FormatWriter,
        scratch: &mut [u64],
        out: &mut Out<'_>,
    ) -> bool {
        let Some(part) = self.advance(file) else { return false };
        out.pad(writer.alignment(file));
        self.sum = Sum::start(writer.kept(file), scratch);
        if let Some(length) = writer.kept(file).length_mut(self.number, scratch) {
            *length = 0;
        }
        writer.before(file, self.stage(), &mut self.sum, out);
        self.missing = part.length;
        self.is_open = true;
        true
    }

    /// Returns the number of bytes of the open component that have passed.
    fn offset(&self, file: &dyn Declarations) -> u64 {
        let tensor = file.tensor(self.tensor);
        let part = tensor.and_then(|tensor| tensor.component(self.component).ok()?);
        part.map_or(0, |part| part.length.saturating_sub(self.missing))
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
    fn pass(&mut self, count: u64, file: &dyn Declarations, writer: &dyn FormatWriter, out: &mut Out<'_>) {
        self.missing = self.missing.saturating_sub(count);
        if self.missing == 0 {
            writer.after(file, self.stage(), &self.sum, out);
            self.is_open = false;
            self.component = self.component.saturating_add(1);
            self.number = self.number.saturating_add(1);
            return;
        }
        #[cfg(feature = "b2nd")]
        if writer.run_length(file).is_some_and(|length| remainder(self.offset(file), length) == 0) {
            writer.between(file, out);
        }
    }

    const fn stage(&self) -> Stage {
        Stage { tensor: self.tensor, component: self.component, number: self.number }
    }
}
