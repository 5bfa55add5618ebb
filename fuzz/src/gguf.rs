//! GGUF files of any structure. Valid files must open and return what they were made of; otherwise one thing is
//! broken. Opening whole and in parts gives the same result, and nothing panics.

#[path = "../../tests/support/gguf.rs"]
mod builder;

use builder::{ARRAY, Gguf, Meta, TEXT};
use tenslice::blocks::BlockType;
use tenslice::{ErrorKind, File, Value, ReadOptions};

use crate::check;
use crate::choices::Choices;

/// A value of that kind at list depth `depth`.
fn value(choices: &mut Choices<'_>, kind: u32, depth: usize) -> Meta {
    match kind {
        0 => Meta::U8(choices.any::<u8>()),
        1 => Meta::I8(choices.any::<u8>() as i8),
        2 => Meta::U16(u16::from_le_bytes(choices.any())),
        3 => Meta::I16(i16::from_le_bytes(choices.any())),
        4 => Meta::U32(u32::from_le_bytes(choices.any())),
        5 => Meta::I32(i32::from_le_bytes(choices.any())),
        6 => Meta::F32(f32::from_le_bytes(choices.any())),
        7 => Meta::Bool(choices.any::<u8>() & 1),
        TEXT => Meta::Text(choices.bytes(12)),
        ARRAY if depth < 8 => {
            let kind = choices.below(13) as u32;
            // Lists nested to the largest depth; the innermost are empty.
            let kind = if kind == ARRAY && depth == 7 { 0 } else { kind };
            match choices.below(40) {
                // A long list of one repeated element.
                39 if depth == 1 && kind != ARRAY => {
                    let one = value(choices, kind, depth + 1);
                    Meta::Array(kind, vec![one; 4000 + choices.below(200)])
                }
                count => Meta::Array(kind, (0..count % 5).map(|_| value(choices, kind, depth + 1)).collect()),
            }
        }
        ARRAY => Meta::Array(0, vec![]),
        10 => Meta::U64(u64::from_le_bytes(choices.any())),
        11 => Meta::I64(i64::from_le_bytes(choices.any())),
        _ => Meta::F64(f64::from_le_bytes(choices.any())),
    }
}

/// A ggml type, with the number of elements and bytes of a block.
fn type_of(choice: usize) -> (u32, u64, usize) {
    match choice {
        0 => (0, 1, 4),
        1 => (1, 1, 2),
        2 => (30, 1, 2),
        3 => (28, 1, 8),
        4 => (24, 1, 1),
        5 => (25, 1, 2),
        6 => (26, 1, 4),
        7 => (27, 1, 8),
        _ => {
            let block = BlockType::ALL[choice % BlockType::ALL.len()];
            (block.code().into(), block.elements(), block.bytes() as usize)
        }
    }
}

/// The pairs of a file, and its tensors: name, dimensions, type, data.
type Made = (Vec<(String, Meta)>, Vec<(String, Vec<u64>, u32, Vec<u8>)>);

/// A file, and what it was made of. It is valid unless a key or a name is repeated.
pub(crate) fn made(choices: &mut Choices<'_>) -> (Vec<u8>, Made) {
    let (version, is_big) = [(3, false), (3, true), (2, false), (1, false)][choices.below(4)];
    let mut made = Gguf::new(version, is_big);
    let mut pairs = Vec::new();
    for _ in 0..choices.below(8) {
        // Few keys, so that some are repeated.
        let key = format!("{}", choices.below(60));
        let kind = choices.below(13) as u32;
        let value = value(choices, kind, 1);
        made.pair(&key, &value);
        pairs.push((key, value));
    }
    if choices.below(3) == 0 {
        made.alignment = 8 << choices.below(10);
        let alignment = Meta::U32(made.alignment as u32);
        made.pair("general.alignment", &alignment);
        pairs.push(("general.alignment".into(), alignment));
    }
    let mut tensors = Vec::new();
    for _ in 0..choices.below(6) {
        let (ggml_type, elements, size) = type_of(choices.below(8 + BlockType::ALL.len()));
        let mut ne: Vec<u64> = (0..choices.below(5)).map(|_| choices.below(4) as u64).collect();
        match ne.first_mut() {
            Some(first) => *first *= elements,
            None if elements > 1 => ne.push(elements),
            None => {}
        }
        let name = format!("{}", choices.below(60));
        let length = ne.iter().product::<u64>() / elements * size as u64;
        let seed = choices.any::<u8>();
        let data: Vec<u8> = (0..length).map(|i| seed.wrapping_mul(i as u8).wrapping_add(i as u8)).collect();
        made.tensor(&name, &ne, ggml_type, &data);
        tensors.push((name, ne, ggml_type, data));
    }
    (made.bytes(), (pairs, tensors))
}

pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let (mut file, (pairs, tensors)) = made(&mut choices);
    if !choices.is_sound {
        choices.damage(&mut file);
        return both_ways(&file, &mut choices);
    }
    match File::open(&file) {
        Ok(opened) => same_as_made(&opened, &pairs, &tensors),
        Err(error) => {
            let has_twice = |names: Vec<&String>| (1..names.len()).any(|i| names[..i].contains(&names[i]));
            match error.kind() {
                ErrorKind::RepeatedKey => assert!(has_twice(pairs.iter().map(|(key, _)| key).collect())),
                ErrorKind::RepeatedName => assert!(has_twice(tensors.iter().map(|(name, ..)| name).collect())),
                _ => panic!("{error}: {pairs:?} {tensors:?}"),
            }
        }
    }
    both_ways(&file, &mut choices);
}

fn same_as_made(file: &File<'_>, pairs: &[(String, Meta)], tensors: &[(String, Vec<u64>, u32, Vec<u8>)]) {
    assert!(file.warnings().is_empty());
    let mut all = file.attributes();
    for (key, value) in pairs {
        let found = all.next().unwrap();
        assert_eq!(found.key.unwrap().as_str(), Some(&key[..]));
        same_value(&found.value, value);
    }
    assert!(all.next().is_none() && all.error().is_none());
    let mut infos = file.as_gguf().unwrap().infos();
    let mut listed = file.tensors();
    for (name, ne, ggml_type, data) in tensors {
        let (info, tensor) = (infos.next().unwrap(), listed.next().unwrap());
        assert_eq!((info.name, &info.ne[..ne.len()], info.ggml_type), (&name[..], &ne[..], *ggml_type));
        assert!(tensor.name() == name[..] && tensor.shape().iter().eq(ne.iter().rev().copied()));
        let component = tensor.component("data").unwrap();
        assert_eq!(component.bytes().unwrap(), data);
        let count = tensor.shape().element_count().unwrap() as usize;
        let (mut numbers, mut range) = (vec![0.0; count], vec![0.0; count - count / 3]);
        let read = tensor.read_f32_into(&mut numbers, ReadOptions::new()).map(drop);
        assert_eq!(tensor.read_f32_range(count as u64 / 3, &mut range), read);
        assert!(read.is_ok() || read.is_err_and(|error| error.kind() == ErrorKind::ForeignEndian));
        let bits = |numbers: &[f32]| numbers.iter().map(|x| (!x.is_nan()).then(|| x.to_bits())).collect::<Vec<_>>();
        assert_eq!(bits(&numbers[count / 3..]), bits(&range));
        assert!(tensor.read_f32_range(count as u64, &mut [0.0]).is_err());
    }
    assert!(infos.next().is_none() && listed.next().is_none());
}

fn same_value(found: &Value<'_>, made: &Meta) {
    let is_same = match made {
        Meta::U8(n) => found.as_u64() == Some((*n).into()),
        Meta::I8(n) => found.as_i64() == Some((*n).into()),
        Meta::U16(n) => found.as_u64() == Some((*n).into()),
        Meta::I16(n) => found.as_i64() == Some((*n).into()),
        Meta::U32(n) => found.as_u64() == Some((*n).into()),
        Meta::I32(n) => found.as_i64() == Some((*n).into()),
        Meta::F32(n) => found.as_f64().is_some_and(|x| x == f64::from(*n) || x.is_nan() && n.is_nan()),
        Meta::Bool(byte) => found.as_bool() == Some(*byte == 1),
        Meta::Text(bytes) => found.as_str().map_or(found.as_bytes(), |text| Some(text.as_bytes())) == Some(bytes),
        Meta::Array(_, items) => {
            let list = found.items().unwrap();
            assert_eq!(list.length(), Some(items.len() as u64));
            assert_eq!(list.zip(items).map(|(found, made)| same_value(&found.value, made)).count(), items.len());
            true
        }
        Meta::U64(n) => found.as_u64() == Some(*n),
        Meta::I64(n) => found.as_i64() == Some(*n),
        Meta::F64(n) => found.as_f64().is_some_and(|x| x == *n || x.is_nan() && n.is_nan()),
    };
    assert!(is_same, "{found:?}, not {made:?}");
}

/// Checks that a tensor of an unknown type extends to the next tensor, or to the end of the file.
fn unknown_lengths(file: &File<'_>) {
    let extents = file.tensors().map(|tensor| tensor.component("data").unwrap().extent());
    let ends = extents.clone().skip(1).map(|extent| extent.offset).chain([file.length()]);
    for ((tensor, extent), end) in file.tensors().zip(extents).zip(ends) {
        assert!(extent.end().unwrap() <= end);
        if tensor.problem().is_some() {
            assert_eq!(extent.end(), Some(end));
        }
    }
}

/// Opens a file whole and in parts, some of which are available from the start.
fn both_ways(bytes: &[u8], choices: &mut Choices<'_>) {
    if let Ok(file) = check::open_given(bytes, &choices.ranges(bytes.len())) {
        unknown_lengths(&file);
        file.tensors().for_each(|tensor| check::read(&tensor));
    }
}
