//! Compares the crate `ggus` 0.5.1 with ours.
//!
//! ggus reads the types of values and tensors into enums without a check, which is undefined behaviour for other
//! numbers, and allocates as many entries as the header counts. So the metadata is walked first: ggus gets only files
//! whose metadata is complete and has types that it knows. It reads only version 3 in native byte order, reads a list
//! of lists as a list, and allocates nothing for a tensor without dimensions. Its blocks of Q8_K, IQ3_XXS, IQ4_NL and
//! IQ4_XS have other sizes than in ggml, and are not compared.
//!
//! Files that only one of them accepts:
//!
//! | file | accepted by | why |
//! |---|---|---|
//! | a value of the metadata that is not UTF-8 | ours | vocabularies have parts of characters: listed as bytes |
//! | a length of 0 beside others whose product overflows | ours | no elements need no bytes; ggus multiplies all |
//! | an alignment that is not a `u32`, a power of two and a multiple of 8 | ggus | "general.alignment" in the text |
//! | tensors with gaps between them, in another order, that share bytes | ggus | "offset" in the text, and ggml |
//! | more than 8 dimensions | ggus | our own limit; the text of GGUF says 4, ggml reads 4 |
//! | only a header, and bytes after it | ggus | ours does not accept a file because of its magic alone |
//! | an empty key, or one of more than 65535 bytes | ggus | "key" in the text of GGUF |

use ggus::{GGmlType, GGuf, GGufError, GGufMetaDataValueType as Type, GGufReadError, GGufReader};
use tenslice::{Attributes, File, Tensor, Value};

use super::{compare_made, guarded, open_and_check};

/// Uses any bytes as a file, and as choices from which a file is made.
pub fn run(bytes: &[u8]) {
    if bytes.starts_with(b"GGUF") {
        return compare(bytes);
    }
    compare_made(bytes, |choices| crate::gguf::made(choices).0, compare);
}

/// The end of a walk over the metadata.
enum Walk {
    /// The metadata is complete.
    Whole,
    /// The metadata has something that ggus must not see, or reads differently.
    Foreign,
}

/// Compares the outcomes of both readers for a file.
fn compare(bytes: &[u8]) {
    if !bytes.starts_with(b"GGUF\x03\0\0\0") {
        return;
    }
    let ours = open_and_check(bytes);
    match walk(bytes) {
        Some(Walk::Whole) => {}
        Some(Walk::Foreign) => return,
        None => return assert!(ours.is_err(), "metadata beyond the end of the file"),
    }
    // ggus reads its header through a pointer that must be aligned. Memory from the allocator is.
    let aligned = bytes.to_vec();
    assert_eq!(aligned.as_ptr().addr() % 8, 0);
    let theirs = guarded(|| GGuf::new(&aligned));
    match (ours, theirs) {
        (Ok(ours), Some(Ok(theirs))) => same(&ours, &theirs),
        (Ok(_), Some(Err(GGufError::Reading(GGufReadError::Utf8(_))))) => {}
        (Ok(ours), None) if ours.tensors().any(|tensor| has_large_empty_shape(&tensor)) => {}
        (Ok(_), Some(Err(error))) => panic!("refused by ggus alone: {error}"),
        (Ok(_), None) => panic!("refused by ggus alone, by a panic"),
        (Err(error), Some(Ok(theirs))) => {
            assert!(is_laxer(&theirs), "refused by ours alone: {}", error.explain(bytes));
        }
        (Err(_), Some(Err(_)) | None) => {}
    }
}

/// Walks over the metadata. Returns `None` if it is truncated.
fn walk(bytes: &[u8]) -> Option<Walk> {
    let mut rest = &bytes[8..];
    let (tensors, pairs) = (number::<8>(&mut rest)?, number::<8>(&mut rest)?);
    for _ in 0..pairs {
        text(&mut rest)?;
        let kind = number::<4>(&mut rest)?;
        if kind != ARRAY {
            let Some(size) = size_of(kind) else { return Some(Walk::Foreign) };
            skip(&mut rest, size, 1)?;
            continue;
        }
        let (kind, count) = (number::<4>(&mut rest)?, number::<8>(&mut rest)?);
        let Some(size) = size_of(kind) else { return Some(Walk::Foreign) };
        skip(&mut rest, size, count)?;
    }
    for _ in 0..tensors {
        text(&mut rest)?;
        let dimensions = number::<4>(&mut rest)?;
        take(&mut rest, dimensions.checked_mul(8)?)?;
        let (kind, _offset) = (number::<4>(&mut rest)?, number::<8>(&mut rest)?);
        let is_other = WRONG_SIZES.contains(&kind) || REMOVED.contains(&kind);
        if dimensions == 0 || kind > GGmlType::Q4_0_8_8 as u64 || is_other {
            return Some(Walk::Foreign);
        }
    }
    Some(Walk::Whole)
}

/// The type numbers of Q8_K, IQ3_XXS, IQ4_NL and IQ4_XS.
const WRONG_SIZES: [u64; 4] = [15, 18, 20, 23];

/// Types that ggml has removed. Ours lists them without a length.
const REMOVED: [u64; 5] = [4, 5, 31, 32, 33];

const TEXT: u64 = Type::String as u64;
const ARRAY: u64 = Type::Array as u64;

/// The size of a value in bytes; `Some(None)` for a text, which states its length.
fn size_of(kind: u64) -> Option<Option<u64>> {
    match kind {
        TEXT => Some(None),
        0 | 1 | 7 => Some(Some(1)),
        2 | 3 => Some(Some(2)),
        4..=6 => Some(Some(4)),
        10..=12 => Some(Some(8)),
        _ => None,
    }
}

fn skip(rest: &mut &[u8], size: Option<u64>, count: u64) -> Option<()> {
    match size {
        Some(size) => take(rest, size.checked_mul(count)?).map(drop),
        None => (0..count).try_for_each(|_| text(rest)),
    }
}

fn text(rest: &mut &[u8]) -> Option<()> {
    let length = number::<8>(rest)?;
    take(rest, length).map(drop)
}

fn number<const N: usize>(rest: &mut &[u8]) -> Option<u64> {
    let bytes = take(rest, N as u64)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn take<'b>(rest: &mut &'b [u8], length: u64) -> Option<&'b [u8]> {
    let (bytes, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(bytes)
}

/// True if the product of the lengths, except for lengths of 0, exceeds 64 bits.
fn has_large_empty_shape(tensor: &Tensor<'_>) -> bool {
    let mut lengths = tensor.shape().iter().filter(|length| *length > 0);
    let product = lengths.try_fold(1_u64, |product, length| product.checked_mul(length));
    // ggus also multiplies by the block size.
    tensor.shape().element_count() == Some(0) && product.is_none_or(|product| product > 1 << 50)
}

/// True if ggus accepts what the GGUF specification or its reference reader forbids: the rows of the table above.
fn is_laxer(theirs: &GGuf<'_>) -> bool {
    let mut next = 0;
    let is_packed = theirs.tensors.values().all(|tensor| {
        let info = tensor.to_info();
        let is_next = info.offset() == next;
        next = info.offset().saturating_add(info.nbytes()).next_multiple_of(theirs.alignment.max(1));
        is_next
    });
    let is_aligned = theirs.meta_kvs.get("general.alignment").is_none_or(|value| {
        value.ty() == Type::U32 && theirs.alignment.is_power_of_two() && theirs.alignment % 8 == 0
    });
    let are_few = theirs.tensors.values().all(|tensor| tensor.to_info().shape().len() <= 8);
    let are_keys = theirs.meta_kvs.keys().all(|key| (1..65536).contains(&key.len()));
    let is_empty = theirs.tensors.is_empty() && theirs.meta_kvs.is_empty();
    is_empty || !(is_packed && is_aligned && are_few && are_keys)
}

fn same(ours: &File<'_>, theirs: &GGuf<'_>) {
    let gguf = ours.as_gguf().expect("a GGUF file");
    assert_eq!((gguf.alignment() as usize, ours.tensor_count()), (theirs.alignment, theirs.tensors.len() as u64));
    let mut infos = gguf.infos();
    for (tensor, (name, theirs_of)) in ours.tensors().zip(&theirs.tensors) {
        let (info, theirs_info) = (infos.next().expect("as many infos"), theirs_of.to_info());
        assert_eq!((tensor.name().as_str(), info.name), (Some(*name), *name));
        assert!(tensor.shape().iter().eq(theirs_info.shape().iter().rev().copied()), "{name}");
        assert_eq!((info.ggml_type, info.offset), (theirs_info.ty() as u32, theirs_info.offset() as u64), "{name}");
        let data = &theirs.data[theirs_info.offset()..][..theirs_info.nbytes()];
        let component = tensor.component("data").expect("one component");
        assert!(component.bytes().expect("in memory") == data, "{name}");
        let of_blocks = tensor.block_type().map(|block| u32::from(block.code()));
        let kind = format!("{:?}", theirs_info.ty()).to_lowercase(); // F32 becomes f32
        match tensor.dtype() {
            Some(dtype) => assert_eq!((dtype.name(), of_blocks), (&kind[..], None), "{name}"),
            None => assert_eq!(of_blocks, Some(info.ggml_type), "{name}"),
        }
    }
    let attributes: Vec<_> = ours.attributes().collect();
    assert_eq!(attributes.len(), theirs.meta_kvs.len());
    for (attribute, (key, pair)) in attributes.iter().zip(&theirs.meta_kvs) {
        assert_eq!(attribute.key.and_then(|key| key.as_str()), Some(*key));
        let mut reader = pair.value_reader();
        match pair.ty() {
            Type::Array => {
                let (kind, count) = reader.read_arr_header().expect("read before");
                let list: Attributes<'_> = attribute.value.items().expect("a list");
                assert_eq!(list.length(), Some(count as u64), "{key}");
                let items = list.map(|item| same_value(&item.value, kind, &mut reader)).count();
                assert_eq!(items, count, "{key}");
            }
            kind => same_value(&attribute.value, kind, &mut reader),
        }
        assert!(reader.remaining().is_empty(), "{key}");
    }
}

fn same_value(ours: &Value<'_>, kind: Type, reader: &mut GGufReader<'_>) {
    macro_rules! integer {
        ($ty:ty) => {
            matches!(ours, Value::Integer(number) if *number == i128::from(reader.read::<$ty>().expect("read before")))
        };
    }
    let is_float = |number: f64| {
        ours.as_f64().is_some_and(|x| x.to_bits() == number.to_bits() || x.is_nan() && number.is_nan())
    };
    let is_same = match kind {
        Type::U8 => integer!(u8),
        Type::I8 => integer!(i8),
        Type::U16 => integer!(u16),
        Type::I16 => integer!(i16),
        Type::U32 => integer!(u32),
        Type::I32 => integer!(i32),
        Type::U64 => integer!(u64),
        Type::I64 => integer!(i64),
        Type::F32 => is_float(reader.read::<f32>().expect("read before").into()),
        Type::F64 => is_float(reader.read().expect("read before")),
        Type::Bool => ours.as_bool() == Some(reader.read_bool().expect("read before")),
        Type::String => ours.as_str() == Some(reader.read_str().expect("read before")),
        Type::Array => unreachable!("the walk has found none"),
    };
    assert!(is_same, "{ours:?} of {kind:?}");
}
