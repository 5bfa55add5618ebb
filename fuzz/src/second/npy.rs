//! Compares the crate `npyz` 0.9.1 with ours.
//!
//! NumPy evaluates any Python literal as the header. The crate does the same with a parser of Python literals; ours
//! accepts what writers emit. The parser takes exponential time for nested brackets, so only short headers with few
//! brackets are compared. It panics if lengths overflow, and allocates the length that the header states.
//!
//! If only the crate accepts a file, its header must differ from the one that NumPy would write for the same array,
//! apart from white space and trailing commas, or two fields of a record have the same name, which NumPy refuses. If only
//! ours accepts it, the cause is its type or its spelling.

use npyz::{DType, Endianness, NpyHeader, Order, TypeChar, TypeStr};
use tenslice::{ByteOrder, File, Warning};

use super::{compare_made, guarded};
use crate::choices::Choices;

/// Uses any bytes as a file; as a header, whose first byte is the number of item bytes that follow; and as choices
/// from which a file is made.
pub fn run(bytes: &[u8]) {
    if bytes.starts_with(b"\x93NUMPY") {
        return compare(bytes);
    }
    compare_made(bytes, made, compare);
    let Some((length, header)) = bytes.split_first() else { return };
    let mut file = b"\x93NUMPY\x01\0".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(&header[..header.len().min(0xffff)]);
    file.extend(0..*length);
    compare(&file);
}

/// A valid file.
pub(super) fn made(choices: &mut Choices<'_>) -> Vec<u8> {
    let scalars = [
        ("<f4", 4), (">f8", 8), ("|u1", 1), ("<i2", 2), (">c8", 8), ("|b1", 1), ("<U3", 12), ("|S5", 5), ("<M8[ns]", 8),
        ("|V7", 7), ("<f2", 2), ("<u8", 8), (">i4", 4), ("|i1", 1),
    ];
    let (first, other) = (choices.of(&scalars), choices.of(&scalars));
    let shape: Vec<usize> = (0..choices.below(4)).map(|_| choices.below(4)).collect();
    let (descr, size) = match choices.below(4) {
        0 => (format!("[('a', '{}'), ('b', '{}', (2,))]", first.0, other.0), first.1 + 2 * other.1),
        _ => (format!("'{}'", first.0), first.1),
    };
    let lengths: String = shape.iter().map(|length| format!("{length}, ")).collect();
    let lengths = if shape.len() == 1 { lengths.trim_end() } else { lengths.trim_end_matches(", ") };
    let space = choices.of(&["", " ", "  "]);
    let mut entries = vec![
        format!("'descr':{space}{descr}"),
        format!("'fortran_order':{space}{}", choices.of(&["False", "True"])),
        format!("'shape':{space}({lengths})"),
    ];
    let (turn, last) = (choices.below(3), choices.of(&["", ",", ", "]));
    entries.rotate_left(turn);
    let mut header = format!("{{{}{last}}}", entries.join(&format!(",{space}")));
    let version = choices.of(&[1, 2, 3]);
    let before = if version == 1 { 10 } else { 12 };
    let end = choices.of(&["\n", ""]);
    while choices.below(2) == 0 && (before + header.len() + end.len()) % 64 != 0 {
        header.push(' ');
    }
    header.push_str(end);
    let mut file = [b"\x93NUMPY", &[version, 0][..], &header.len().to_le_bytes()[..before - 8], header.as_bytes()].concat();
    let items = shape.iter().product::<usize>() * size + choices.of(&[0, 0, 0, 1]);
    file.extend((0..items).map(|i| i as u8));
    file
}

/// The header, if it can be compared.
fn header(bytes: &[u8]) -> Option<&[u8]> {
    let before = if bytes.get(6) == Some(&1) { 10 } else { 12 };
    let length = bytes.get(8..before)?.iter().rev().fold(0, |length, byte| length << 8 | usize::from(*byte));
    let header = bytes.get(before..before.checked_add(length)?)?;
    let count = header.iter().filter(|byte| b"([{".contains(byte)).count();
    (header.len() <= 1000 && count <= 7).then_some(header)
}

fn compare(bytes: &[u8]) {
    if !bytes.starts_with(b"\x93NUMPY") {
        return;
    }
    let Some(header) = header(bytes) else { return };
    let mut rest = bytes;
    let theirs = guarded(|| NpyHeader::from_reader(&mut rest));
    let at = (bytes.len() - rest.len()) as u64;
    match (File::open(bytes), theirs) {
        (Ok(ours), Some(Ok(theirs))) => same(&ours, &theirs, at),
        (Ok(ours), theirs) => {
            let error = theirs.map(|result| result.err().map(|error| error.to_string()));
            assert!(is_unknown(&ours, header), "refused by npyz alone: {error:?} {}", header.escape_ascii());
        }
        (Err(error), Some(Ok(theirs))) => {
            let message = error.explain(bytes).to_string();
            assert!(is_laxer(header, &theirs, bytes.len() as u64 - at), "refused by ours alone: {message}");
        }
        (Err(_), _) => {}
    }
}

fn same(ours: &File<'_>, theirs: &NpyHeader, at: u64) {
    let tensor = ours.tensors().next().expect("one array");
    let data = tensor.data().expect("dense");
    assert!(tensor.shape() == theirs.shape()[..]);
    assert_eq!(tensor.order() == tenslice::Order::ColumnMajor, theirs.order() == Order::Fortran);
    let size = theirs.dtype().num_bytes().expect("no objects") as u128;
    let count: u128 = theirs.shape().iter().fold(1, |count, length| count.saturating_mul((*length).into()));
    assert_eq!((data.extent().offset, u128::from(data.extent().length)), (at, count * size));
    let (name, order) = match theirs.dtype() {
        DType::Plain(plain) => (name_of(&plain), plain.endianness()),
        _ => (None, Endianness::Irrelevant),
    };
    assert_eq!(tensor.dtype().map(|dtype| dtype.name()), name.as_deref());
    if name.is_some() && order != Endianness::Irrelevant && tensor.dtype().is_some_and(|dtype| dtype.lane_size() > 1) {
        assert_eq!(data.byte_order() == ByteOrder::Big, order == Endianness::Big);
    }
}

/// The dtype that NumPy's manual gives a type. `None` for texts, times, raw bytes and long doubles.
fn name_of(plain: &TypeStr) -> Option<String> {
    let (letter, bits) = match (plain.type_char(), plain.size_field()) {
        (TypeChar::Bool, _) => return Some("bool".into()),
        (TypeChar::Int, size) => ("i", size * 8),
        (TypeChar::Uint, size) => ("u", size * 8),
        (TypeChar::Float, size @ 2..=8) => ("f", size * 8),
        (TypeChar::Complex, size @ 8..=16) => ("c", size * 8),
        _ => return None,
    };
    Some(format!("{letter}{bits}"))
}

/// True if npyz rejects something unknown to it: a byte order that is missing or unnecessary, an unsupported type or
/// unit, `L` after a number of Python 2, Latin-1, titles and escapes in field names, subarrays of subarrays, white
/// space at the end; or if it panics because the product of lengths overflows beside a length of 0.
fn is_unknown(ours: &File<'_>, header: &[u8]) -> bool {
    let tensor = ours.tensors().next().expect("one array");
    let descr = ours.as_npy().expect("an NPY file").descr();
    let has = |text: &[u8], what: &[u8]| text.windows(what.len()).any(|part| part == what);
    let types = [&b"f12"[..], b"f16", b"c24", b"c32", b"M8", b"m8", b"=", b"'|", b"\"|", b"((", b"( (", b"\\", b"'<", b"'>"];
    ours.warnings().contains(Warning::UnstatedByteOrder)
        || types.iter().any(|what| has(descr, what))
        || plain(descr).windows(4).any(|part| matches!(part, [b'\'', b',', b'(', b'\'' | b'[']))
        || std::str::from_utf8(header).is_err()
        || header.contains(&b'L')
        || header.iter().any(|byte| b"\t\r\n".contains(byte))
        || tensor.shape().element_count() == Some(0)
}

/// True if two fields of a record have the same name.
fn repeats_a_field(dtype: &DType) -> bool {
    match dtype {
        DType::Record(fields) => {
            let names = |count: usize| fields[..count].iter().map(|field| &field.name);
            (0..fields.len()).any(|i| names(i).any(|name| *name == fields[i].name))
                || fields.iter().any(|field| repeats_a_field(&field.dtype))
        }
        DType::Array(_, items) => repeats_a_field(items),
        DType::Plain(_) => false,
    }
}

/// True if the header differs from what writers emit, the items are truncated, or there are objects.
fn is_laxer(header: &[u8], theirs: &NpyHeader, rest: u64) -> bool {
    let dtype = theirs.dtype();
    if repeats_a_field(&dtype) {
        return true;
    }
    let count = theirs.shape().iter().try_fold(1_u64, |count, length| count.checked_mul(*length));
    let size = dtype.num_bytes().and_then(|size| count?.checked_mul(size as u64));
    if theirs.shape().contains(&0) && dtype.num_bytes().is_some() {
        // No items, whatever the other lengths are.
    } else if size.is_none_or(|size| size > rest) {
        return true;
    }
    let shape: String = theirs.shape().iter().map(|length| format!("{length},")).collect();
    let entries = [
        format!("'descr':{}", dtype.descr()),
        format!("'fortran_order':{}", if theirs.order() == Order::Fortran { "True" } else { "False" }),
        format!("'shape':({shape})"),
    ];
    let found = plain(header);
    // In a string, where Python also rejects them.
    if found.iter().any(|byte| b"\0\r\n".contains(byte)) {
        return true;
    }
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    !orders.iter().any(|order| plain(format!("{{{}}}", order.map(|i| &entries[i][..]).join(",")).as_bytes()) == found)
}

/// A header without white space between tokens and without the trailing commas that writers emit.
fn plain(header: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    let mut quote = None;
    for &byte in header {
        match quote {
            Some(end) => {
                out.push(if byte == end { b'\'' } else { byte });
                if byte == end {
                    quote = None;
                }
            }
            None if b" \t\r\n".contains(&byte) => {}
            None => {
                // No writer ends a field with a comma.
                let is_field = byte == b')' && matches!(out[..], [.., b'\'' | b')', b',']);
                if b")]}".contains(&byte) && out.last() == Some(&b',') && !is_field {
                    out.pop();
                }
                quote = b"'\"".contains(&byte).then_some(byte);
                out.push(if quote.is_some() { b'\'' } else { byte });
            }
        }
    }
    out
}
