//! Empty replacements for `long.rs`, for chips.
#![forbid(unsafe_code)]

use super::Out;
use crate::bytes::source::Input;
use crate::error::Error;
use crate::format::Context;

pub(super) const fn attribute(_: &mut impl Out, _: &Context<'_>) {}

pub(super) const fn phrase(_: &mut impl Out, _: &Context<'_>) -> bool {
    false
}

pub(super) const fn needed(_: &Error, _: &Context<'_>) -> Option<u64> {
    None
}

pub(super) const fn truncation(_: &mut impl Out, _: &Error, _: &Context<'_>, _: Option<u64>) {}

pub(super) const fn advice(_: &Error, _: &Context<'_>) -> Option<&'static str> {
    None
}

pub(super) const fn address(_: &mut impl Out, _: Input<'_>, _: &Error) {}
