//! Parses and prints a part of a tensor, as in `--slice '0:4,...,-1'`.

use std::io::{self, Write};

use tenslice::Order;
use unicode_width::UnicodeWidthStr;

use super::Values;
use crate::common::failure::Failure;
use crate::common::model::Opened;
use crate::common::table::Look;
use crate::common::text::shortened;

/// The indices along one dimension: `count` of them, `step` apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    start: u64,
    count: u64,
    step: i64,
    /// The label that is printed before the elements.
    label: String,
}

impl Span {
    /// All indices of a dimension.
    fn whole(length: u64) -> Self {
        Self { start: 0, count: length, step: 1, label: ":".into() }
    }

    /// The index number `i`, which must be less than `count`.
    fn at(&self, i: u64) -> u64 {
        // The result is inside the dimension, so it is not negative.
        (i128::from(self.start) + i128::from(i) * i128::from(self.step)) as u64
    }
}

/// Parses `0:4,...,-1` as NumPy does: an index or `start:end:step` for each dimension; negative numbers count from the
/// end. `...` stands for all missing dimensions; trailing dimensions may be omitted.
pub fn parse(text: &str, shape: &[u64]) -> Result<Vec<Span>, String> {
    // A comma may follow the last index.
    let text = text.trim().strip_suffix(',').filter(|rest| !rest.trim().is_empty()).unwrap_or(text);
    let mut parts: Vec<&str> =
        if text.trim().is_empty() { Vec::new() } else { text.split(',').map(str::trim).collect() };
    let ellipsis = parts.iter().position(|part| *part == "...").unwrap_or(parts.len());
    let stated = parts.len() - usize::from(ellipsis < parts.len());
    if stated > shape.len() {
        return Err(format!("too many indices: {stated} for {} dimensions", shape.len()));
    }
    let missing = std::iter::repeat_n(":", shape.len() - stated);
    parts.splice(ellipsis..parts.len().min(ellipsis + 1), missing);
    parts.iter().zip(shape).enumerate().map(|(i, (part, length))| span(part, *length, i)).collect()
}

fn span(part: &str, length: u64, dimension: usize) -> Result<Span, String> {
    let wrong = || match part {
        "..." => "\"...\" may be used only once".into(),
        _ => format!("dimension {dimension}: \"{part}\" is neither an index nor start:end:step"),
    };
    let fields: Vec<&str> = part.split(':').map(str::trim).collect();
    let number = |field: &str| field.parse::<i64>().map_err(|_| wrong());
    let end = i128::from(length);
    let from_end = |index: i64| i128::from(index) + if index < 0 { end } else { 0 };
    if let [index] = fields[..] {
        let at = u64::try_from(from_end(number(index)?)).ok().filter(|at| *at < length);
        let at = at.ok_or_else(|| format!("dimension {dimension}: index {part} is out of range, length {length}"))?;
        return Ok(Span { start: at, count: 1, step: 1, label: at.to_string() });
    }
    let optional =
        |field: Option<&&str>| field.filter(|field| !field.is_empty()).map(|field| number(field)).transpose();
    let (first, last, step) = (optional(fields.first())?, optional(fields.get(1))?, optional(fields.get(2))?);
    let step = step.unwrap_or(1);
    if fields.len() > 3 {
        return Err(wrong());
    }
    if step == 0 {
        return Err(format!("dimension {dimension}: the step of \"{part}\" is 0"));
    }
    // If the step is negative, the end precedes the first index.
    let (least, most) = if step > 0 { (0, end) } else { (-1, end - 1) };
    let bound = |index: Option<i64>, default: i128| index.map_or(default, from_end).clamp(least, most.max(least));
    let (first, last) = if step > 0 {
        (bound(first, least), bound(last, most))
    } else {
        (bound(first, most), if last.is_none() { -1 } else { bound(last, -1) })
    };
    let distance = if step > 0 { last - first } else { first - last }.max(0).unsigned_abs();
    let count = distance.div_ceil(u128::from(step.unsigned_abs()));
    if first == 0 && count == u128::from(length) && step == 1 {
        return Ok(Span::whole(length));
    }
    let (start, count) = (u64::try_from(first).unwrap_or(0), u64::try_from(count).unwrap_or(u64::MAX));
    let last = u64::try_from(last).map_or_else(|_| String::new(), |last| last.to_string());
    let step_text = if step == 1 { String::new() } else { format!(":{step}") };
    Ok(Span { start, count, step, label: format!("{start}:{last}{step_text}") })
}

/// The number of elements in a part.
pub fn count(spans: &[Span]) -> u64 {
    spans.iter().map(|span| span.count).fold(1, u64::saturating_mul)
}

/// Prints the elements of a part: one line for each row along the last dimension, after the other indices of the row.
pub fn print(
    out: &mut impl Write,
    look: Look,
    opened: &Opened<'_>,
    values: &mut Values<'_>,
    spans: &[Span],
) -> Result<(), Failure> {
    let (outer, inner) = spans.split_at(spans.len().saturating_sub(1));
    let inner = inner.first();
    let columns = inner.map_or(1, |span| span.count);
    values.plan(&spans.iter().map(|span| span.count).collect::<Vec<_>>());
    if count(spans) == 0 {
        writeln!(out, "    no elements")?;
        return Ok(());
    }
    let mut place = vec![0; outer.len()];
    let mut bytes = Vec::new();
    loop {
        let row: Vec<u64> = outer.iter().zip(&place).map(|(span, i)| span.at(*i)).collect();
        let heading: Vec<String> =
            row.iter().map(u64::to_string).chain(inner.map(|span| span.label.clone())).collect();
        write!(out, "    [{}]", heading.join(", "))?;
        let mut column = 4 + heading.join(", ").len() + 2;
        let mut index = row.clone();
        for i in 0..columns {
            index.truncate(row.len());
            index.extend(inner.map(|span| span.at(i)));
            if let Err(stop) = values.at(&index, &mut bytes) {
                writeln!(out)?;
                return Err(opened.fail(stop));
            }
            let text = values.text(&bytes);
            column += text.width() + 1;
            // On a terminal, each row is one line.
            if look.width.is_some_and(|width| column > width.saturating_sub(4)) && !look.all {
                write!(out, " ...")?;
                break;
            }
            write!(out, " {text}")?;
        }
        writeln!(out)?;
        if !next(&mut place, outer) {
            return Ok(());
        }
    }
}

/// Advances to the next row, the last index varying fastest. Returns false after the last row.
fn next(place: &mut [u64], spans: &[Span]) -> bool {
    for (i, span) in place.iter_mut().zip(spans).rev() {
        *i += 1;
        if *i < span.count {
            return true;
        }
        *i = 0;
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

/// The indices of the element with number `element` in stored order.
pub fn index_of(element: u64, shape: &[u64], order: Order) -> Vec<u64> {
    let strides = strides(shape, order);
    strides.iter().zip(shape).map(|(stride, length)| element / (*stride).max(1) % (*length).max(1)).collect()
}

/// The texts of the elements of a part, the last index varying fastest.
pub fn texts(opened: &Opened<'_>, values: &mut Values<'_>, spans: &[Span]) -> Result<Vec<String>, Failure> {
    values.plan(&spans.iter().map(|span| span.count).collect::<Vec<_>>());
    let (mut texts, mut bytes, mut place) = (Vec::new(), Vec::new(), vec![0; spans.len()]);
    while count(spans) > 0 {
        let index: Vec<u64> = spans.iter().zip(&place).map(|(span, i)| span.at(*i)).collect();
        values.at(&index, &mut bytes).map_err(|stop| opened.fail(stop))?;
        texts.push(values.text(&bytes));
        if !next(&mut place, spans) {
            break;
        }
    }
    Ok(texts)
}

/// The numbers of indices of a part.
pub fn shape(spans: &[Span]) -> Vec<u64> {
    spans.iter().map(|span| span.count).collect()
}

/// The number of elements that are shown first.
const SHOWN: u64 = 8;

/// The texts of the first elements in stored order.
pub fn first_texts(values: &mut Values<'_>, opened: &Opened<'_>) -> Result<Vec<String>, Failure> {
    let mut bytes = Vec::new();
    values.plan(&first(SHOWN, &values.shape));
    values.read(0, values.count.min(SHOWN), &mut bytes).map_err(|error| opened.fail(error))?;
    let texts = bytes.chunks_exact(values.size.max(1) as usize);
    Ok(texts.map(|bytes| values.text(bytes)).collect())
}

/// Prints the first elements on one line.
pub fn print_first(
    out: &mut impl Write,
    look: Look,
    values: &mut Values<'_>,
    opened: &Opened<'_>,
) -> Result<(), Failure> {
    let mut texts = first_texts(values, opened)?;
    if values.count > SHOWN {
        texts.push("...".into());
    }
    let line = format!("    values:  {}", texts.join(" "));
    let line = look.width.map_or_else(|| line.clone(), |width| shortened(&line, width));
    Ok::<(), io::Error>(writeln!(out, "{line}")?).map_err(Failure::from)
}

/// The number of indices in each dimension that the first `count` elements span.
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

    /// The indices and labels of a part of a 4×5 tensor.
    fn spans(text: &str) -> Result<Vec<(Vec<u64>, String)>, String> {
        let of_one = |span: Span| ((0..span.count).map(|i| span.at(i)).collect(), span.label);
        parse(text, &[4, 5]).map(|spans| spans.into_iter().map(of_one).collect())
    }

    #[test]
    fn slices_are_those_of_numpy() {
        let all = (vec![0, 1, 2, 3, 4], ":".to_string());
        let of = |indices: &[u64], label: &str| (indices.to_vec(), label.to_string());
        for (text, rows, columns) in [
            ("", of(&[0, 1, 2, 3], ":"), all.clone()),
            ("0:2,:", of(&[0, 1], "0:2"), all.clone()),
            ("0:2", of(&[0, 1], "0:2"), all.clone()),
            ("-1, 1:-1", of(&[3], "3"), of(&[1, 2, 3], "1:4")),
            ("::2,2:99", of(&[0, 2], "0:4:2"), of(&[2, 3, 4], "2:5")),
            ("3:1", of(&[], "3:1"), all.clone()),
            ("::-1", of(&[3, 2, 1, 0], "3::-1"), all.clone()),
            ("2::-2,-2::-3", of(&[2, 0], "2::-2"), of(&[3, 0], "3::-3")),
            ("3:0:-1,99:-99:-4", of(&[3, 2, 1], "3:0:-1"), of(&[4, 0], "4::-4")),
            ("0:3:-1,:1:-1", of(&[], "0:3:-1"), of(&[4, 3, 2], "4:1:-1")),
            ("...", of(&[0, 1, 2, 3], ":"), all.clone()),
            ("...,1", of(&[0, 1, 2, 3], ":"), of(&[1], "1")),
            ("1,...", of(&[1], "1"), all.clone()),
            ("1,...,2", of(&[1], "1"), of(&[2], "2")),
            ("1,", of(&[1], "1"), all.clone()),
            ("-4,::9", of(&[0], "0"), of(&[0], "0:5:9")),
        ] {
            assert_eq!(spans(text), Ok(vec![rows, columns]), "{text}");
        }
        for wrong in
            ["4", "-5", "0,0,0", "0,...,0,0", ",", "0,,", "a", "::0", "1:2:3:4", "...,...", "....", "1:...", "::a"]
        {
            assert!(spans(wrong).is_err(), "{wrong}");
        }
        for (text, length) in [("::-1", 0), (":", 0), ("-1:", 0), ("5:", 3)] {
            assert_eq!(parse(text, &[length]).map(|spans| count(&spans)), Ok(0), "{text}");
        }
        assert_eq!(parse("::-1", &[u64::MAX]).map(|spans| spans[0].at(0)), Ok(u64::MAX - 1));
        assert_eq!(parse("...", &[]), Ok(vec![]));
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
