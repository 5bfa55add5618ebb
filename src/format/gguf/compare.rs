//! Compares the keys of the pairs, and the names of the tensors: neither may appear twice.
#![forbid(unsafe_code)]

use super::GgufFile;
use super::info::Info;
use crate::bytes::source::{ParseContext, ParseResult};
use crate::codec::gguf::Reader;
use crate::duplicates::{Compared, Distinct, Memory};
use crate::error::origin::{Format, Part};
use crate::error::warning::{Warning, Warnings};
use crate::error::{Error, ErrorKind, Result};
use crate::format::Summary;

impl<'a> GgufFile<'a> {
    /// Returns a copy of the file that compares only what opening has not compared.
    pub(super) fn left_by(&self, summary: &Summary) -> Self {
        Self {
            are_keys_distinct: !summary.warnings.contains(Warning::KeysUnchecked),
            are_names_distinct: !summary.warnings.contains(Warning::NamesUnchecked),
            ..*self
        }
    }

    /// Looks for equal keys and names, with the caller's memory or the little memory that is available on opening.
    pub(super) fn compare(&self, warnings: &mut Warnings, memory: &mut (impl Memory + ?Sized)) -> Result<()> {
        if !self.are_keys_distinct {
            self.compare_strings(false, warnings, memory)?;
        }
        if !self.are_names_distinct {
            self.compare_strings(true, warnings, memory)?;
        }
        Ok(())
    }

    /// Looks for equal keys, or for equal names of tensors.
    #[cfg_attr(small, inline(never))]
    fn compare_strings(
        &self,
        of_tensors: bool,
        warnings: &mut Warnings,
        memory: &mut (impl Memory + ?Sized),
    ) -> Result<()> {
        let strings = &mut Strings { file: self, of_tensors, error: None };
        let (start, count, kind, item, unchecked) = if of_tensors {
            (self.infos_at, self.tensors, ErrorKind::RepeatedName, Part::Name, Warning::NamesUnchecked)
        } else {
            (self.pairs_at, self.pairs, ErrorKind::RepeatedKey, Part::Key, Warning::KeysUnchecked)
        };
        match memory.compare(strings, (start, count), count)? {
            Compared::Clash(at) => return Err(Error::at(kind, Format::Gguf, item, at.into())),
            Compared::TooMany => warnings.add(unchecked),
            Compared::Distinct => {}
        }
        Ok(())
    }
}

/// The keys of the pairs, or the names of the tensors, by position in the file.
pub(super) struct Strings<'r, 'a> {
    pub(super) file: &'r GgufFile<'a>,
    pub(super) of_tensors: bool,
    pub(super) error: Option<Error>,
}

impl<'a> Strings<'_, 'a> {
    fn read(&self, reader: &mut Reader<'_, 'a>) -> ParseResult<&'a [u8]> {
        if self.of_tensors {
            return Info::read(reader).map(|info| info.name);
        }
        let key = reader.string()?;
        let kind = reader.kind()?;
        reader.skip_value(kind)?;
        Ok(key)
    }
}

impl<'a> Distinct for Strings<'_, 'a> {
    type Entry = &'a [u8];
    /// A position, and the number of strings from there on.
    type Place = (u32, u32);
    type Position = u32;

    fn next(&mut self, (at, left): &mut (u32, u32)) -> Option<(&'a [u8], u32)> {
        let rest = left.checked_sub(1)?;
        let opening = ParseContext::of(self.file.input);
        let mut reader = self.file.reader(&opening, *at);
        let string = self.read(&mut reader).and_then(|string| Ok((string, GgufFile::position(&reader)?)));
        match string {
            Ok((string, next)) => {
                let position = core::mem::replace(at, next);
                *left = rest;
                Some((string, position))
            }
            Err(stop) => {
                self.error = Some(opening.error(stop));
                None
            }
        }
    }

    fn at(&self, position: u32) -> &'a [u8] {
        let opening = ParseContext::of(self.file.input);
        self.file.reader(&opening, position).string().unwrap_or_default()
    }

    fn check(&self) -> Result<()> {
        self.error.map_or(Ok(()), Err)
    }
}
