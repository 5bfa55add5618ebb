//! A part of a tensor, as `--slice '0:4,:,-1'` states it.

use std::io::{self, Write};

use tenslice::Order;
use unicode_width::UnicodeWidthStr;

use super::Values;
use super::number::text;
use crate::common::failure::Failure;
use crate::common::model::Opened;
use crate::common::table::Look;
use crate::common::text::{hex, shortened};

/// The indices along one dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    start: u64,
    end: u64,
    step: u64,
}

impl Span {
    fn len(&self) -> u64 {
        self.end.saturating_sub(self.start).div_ceil(self.step)
    }
}

/// Reads `0:4,:,-1`: an index or `start:end:step` for each dimension, negative ones counted from its end; dimensions at the
/// end may be left out.
pub fn parse(text: &str, shape: &[u64]) -> Result<Vec<Span>, String> {
    let parts: Vec<&str> = if text.trim().is_empty() { Vec::new() } else { text.split(',').map(str::trim).collect() };
    if parts.len() > shape.len() {
        return Err(format!("{} indices for {} dimensions", parts.len(), shape.len()));
    }
    let all = parts.into_iter().map(Some).chain(std::iter::repeat(None));
    shape.iter().zip(all).enumerate().map(|(i, (length, part))| span(part.unwrap_or(":"), *length, i)).collect()
}

fn span(part: &str, length: u64, dimension: usize) -> Result<Span, String> {
    let wrong = || format!("dimension {dimension}: \"{part}\" is neither an index nor start:end:step");
    let number = |text: &str| text.trim().parse::<i64>().map_err(|_| wrong());
    let from_end = |index: i64| match index {
        0.. => Some(index.unsigned_abs()),
        _ => length.checked_sub(index.unsigned_abs()),
    };
    let fields: Vec<&str> = part.split(':').collect();
    let bound = |field: Option<&&str>, default: u64| match field {
        None => Ok::<u64, String>(default),
        Some(field) if field.trim().is_empty() => Ok(default),
        Some(field) => Ok(from_end(number(field)?).unwrap_or(0).min(length)),
    };
    match fields.len() {
        1 => {
            let index = from_end(number(part)?).filter(|index| *index < length);
            let index =
                index.ok_or_else(|| format!("dimension {dimension}: there is no index {part}, it has {length}"))?;
            Ok(Span { start: index, end: index + 1, step: 1 })
        }
        2 | 3 => {
            let step = bound_of_step(fields.get(2)).ok_or_else(wrong)?;
            Ok(Span { start: bound(fields.first(), 0)?, end: bound(fields.get(1), length)?, step })
        }
        _ => Err(wrong()),
    }
}

fn bound_of_step(field: Option<&&str>) -> Option<u64> {
    match field {
        None => Some(1),
        Some(field) if field.trim().is_empty() => Some(1),
        Some(field) => field.trim().parse().ok().filter(|step| *step > 0),
    }
}

/// The number of elements of a part.
pub fn count(spans: &[Span]) -> u64 {
    spans.iter().map(Span::len).fold(1, u64::saturating_mul)
}

/// Prints the elements of a part: a line for each row along the last dimension, headed by the indices before it.
pub fn print(
    out: &mut impl Write,
    look: Look,
    opened: &Opened<'_>,
    values: &mut Values<'_>,
    spans: &[Span],
) -> Result<(), Failure> {
    let (outer, inner) = spans.split_at(spans.len().saturating_sub(1));
    let one = Span { start: 0, end: 1, step: 1 };
    let has_none = inner.is_empty();
    let inner = inner.first().unwrap_or(&one);
    values.plan(&spans.iter().map(Span::len).collect::<Vec<_>>());
    if outer.iter().any(|span| span.len() == 0) || inner.len() == 0 {
        writeln!(out, "    no elements")?;
        return Ok(());
    }
    let mut index: Vec<u64> = outer.iter().map(|span| span.start).collect();
    let mut bytes = Vec::new();
    loop {
        let mut whole = index.clone();
        let heading: Vec<String> = index.iter().map(u64::to_string).chain([":".into()]).collect();
        write!(out, "    [{}]", heading.join(", "))?;
        let mut column = 4 + heading.join(", ").len() + 2;
        for i in (inner.start..inner.end).step_by(inner.step as usize) {
            whole.truncate(index.len());
            whole.extend((!has_none).then_some(i));
            if let Err(stop) = values.at(&whole, &mut bytes) {
                writeln!(out)?;
                return Err(opened.fail(stop));
            }
            let text = values.dtype.map_or_else(|| hex(&bytes), |dtype| text(dtype, &bytes));
            column += text.width() + 1;
            // On a terminal a row is a line.
            if look.width.is_some_and(|width| column > width.saturating_sub(4)) && !look.all {
                write!(out, " ...")?;
                break;
            }
            write!(out, " {text}")?;
        }
        writeln!(out)?;
        if !next(&mut index, outer) {
            return Ok(());
        }
    }
}

/// Goes to the next index, the last one varying fastest; false after the last.
fn next(index: &mut [u64], spans: &[Span]) -> bool {
    for (index, span) in index.iter_mut().zip(spans).rev() {
        *index += span.step;
        if *index < span.end {
            return true;
        }
        *index = span.start;
    }
    false
}

/// The distance between elements whose indices differ by one, for each dimension.
pub fn strides(shape: &[u64], order: Order) -> Vec<u64> {
    let mut strides = vec![1; shape.len()];
    let mut next = 1_u64;
    let mut set = |i: usize| {
        strides[i] = next;
        next = next.saturating_mul(shape[i]);
    };
    match order {
        Order::RowMajor => (0..shape.len()).rev().for_each(&mut set),
        _ => (0..shape.len()).for_each(&mut set),
    }
    strides
}

/// The indices of an element by its number in stored order.
pub fn index_of(element: u64, shape: &[u64], order: Order) -> Vec<u64> {
    let strides = strides(shape, order);
    strides.iter().zip(shape).map(|(stride, length)| element / (*stride).max(1) % (*length).max(1)).collect()
}

/// The first elements, on one line.
pub fn print_first(
    out: &mut impl Write,
    look: Look,
    values: &mut Values<'_>,
    opened: &Opened<'_>,
) -> Result<(), Failure> {
    const SHOWN: u64 = 8;
    let mut bytes = Vec::new();
    values.plan(&first(SHOWN, &values.shape));
    values.read(0, values.count.min(SHOWN), &mut bytes).map_err(|error| opened.fail(error))?;
    let texts = bytes.chunks_exact(values.size.max(1) as usize);
    let mut texts: Vec<String> = texts.map(|b| values.dtype.map_or_else(|| hex(b), |dtype| text(dtype, b))).collect();
    if values.count > SHOWN {
        texts.push("...".into());
    }
    let line = format!("    values:  {}", texts.join(" "));
    let line = look.width.map_or_else(|| line.clone(), |width| shortened(&line, width));
    Ok::<(), io::Error>(writeln!(out, "{line}")?).map_err(Failure::from)
}

/// The number of indices in each dimension that the first elements span.
fn first(count: u64, shape: &[u64]) -> Vec<u64> {
    let mut left = count;
    let wanted = |length: &u64| {
        let wanted = left.min(*length);
        left = left.div_ceil((*length).max(1));
        wanted
    };
    let mut wanted: Vec<u64> = shape.iter().rev().map(wanted).collect();
    wanted.reverse();
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(text: &str) -> Result<Vec<(u64, u64, u64)>, String> {
        parse(text, &[4, 5]).map(|spans| spans.iter().map(|span| (span.start, span.end, span.step)).collect())
    }

    #[test]
    fn slices_are_those_of_numpy() {
        assert_eq!(spans("0:2,:"), Ok(vec![(0, 2, 1), (0, 5, 1)]));
        assert_eq!(spans("-1, 1:-1"), Ok(vec![(3, 4, 1), (1, 4, 1)]));
        assert_eq!(spans(""), Ok(vec![(0, 4, 1), (0, 5, 1)]));
        assert_eq!(spans("::2,2:99"), Ok(vec![(0, 4, 2), (2, 5, 1)]));
        assert_eq!(spans("3:1"), Ok(vec![(3, 1, 1), (0, 5, 1)]));
        for wrong in ["4", "-5", "0,0,0", "a", "::0", "1:2:3:4", "::-1"] {
            assert!(spans(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_first_elements_have_few_indices() {
        assert_eq!(first(8, &[9, 2, 2, 2]), [1, 2, 2, 2]);
        assert_eq!(first(8, &[9, 3, 5]), [1, 2, 5]);
        assert_eq!(first(8, &[9, 100]), [1, 8]);
        assert_eq!(first(8, &[2, 2]), [2, 2]);
    }

    #[test]
    fn strides_follow_the_order() {
        assert_eq!(strides(&[2, 3, 4], Order::RowMajor), [12, 4, 1]);
        assert_eq!(strides(&[2, 3, 4], Order::ColumnMajor), [1, 2, 6]);
        assert_eq!(index_of(17, &[2, 3, 4], Order::RowMajor), [1, 1, 1]);
        assert_eq!(index_of(9, &[2, 3, 4], Order::ColumnMajor), [1, 1, 1]);
    }
}
