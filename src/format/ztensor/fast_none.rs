//! The functions of `fast` on chips, which have no flash for them: no entry is plain.
#![forbid(unsafe_code)]

use super::manifest::Manifest;
use crate::format::{ComponentRecord, TensorRecord};

pub(super) const fn check<'a>(_: &Manifest<'a>, _: u32) -> Option<(&'a [u8], u32)> {
    None
}

pub(super) const fn skip_unchecked<'a, const IS_PLAIN: bool>(_: &Manifest<'a>, _: u32) -> Option<(&'a [u8], u32)> {
    None
}

pub(super) const fn read<'a, const IS_PLAIN: bool>(
    _: &Manifest<'a>,
    _: &mut TensorRecord<'a>,
    _: u32,
) -> Option<u32> {
    None
}

pub(super) const fn read_alone<'a>(_: &Manifest<'a>, _: &mut TensorRecord<'a>, _: u32) -> Option<()> {
    None
}

pub(super) const fn read_data<'a, const IS_PLAIN: bool>(
    _: &Manifest<'a>,
    _: &TensorRecord<'a>,
    _: &mut ComponentRecord<'a>,
) -> Option<u32> {
    None
}
