//! The functions of `fast` on chips, which have no flash for them: every entry needs the general parser.
#![forbid(unsafe_code)]

use super::entry::Entry;
use super::header::SafetensorsFile;
use crate::bytes::extent::Extent;
use crate::bytes::text::Text;
use crate::codec::json::Reader;
use crate::format::TensorRecord;

pub(super) const fn read_next<'a>(_: &mut Reader<'a>, _: &mut TensorRecord<'a>) -> Option<()> {
    None
}

pub(super) const fn read_alone<'a>(_: &Reader<'a>, _: u32, _: &mut TensorRecord<'a>) -> Option<()> {
    None
}

pub(super) const fn skip_unchecked<'a>(_: &mut Reader<'a>) -> Option<(Text<'a>, u32)> {
    None
}

pub(super) const fn read_extent(_: &SafetensorsFile<'_>, _: &TensorRecord<'_>) -> Option<Extent> {
    None
}

pub(super) const fn offsets(_: &[u8]) -> Option<((u64, u64), &[u8])> {
    None
}

impl<'a> Entry<'a> {
    pub(super) const fn next_fast(&mut self, _: &Reader<'a>, _: u64) -> Option<&'a [u8]> {
        None
    }

    pub(super) const fn read_fast(&mut self, _: &Reader<'a>, _: &'a [u8]) -> Option<&'a [u8]> {
        None
    }
}
