//! Files from random valid declarations: written, read back, and damaged. For `fuzz/examples/written.rs`.

use std::fmt::Write as _;

use sha2::Digest;
use tenslice::write::{NewAttribute, NewValue};
use tenslice::{Error, File, Format, Layout, Purpose, ReadOptions};

use super::declared::{Kind, Part, is_single};
use super::{FORMATS, Kept, Made, compare, has_sums, make, stored, tensor_of, whole, with_added};
use crate::choices::Choices;

/// The longest file of which every prefix is opened.
const SHORT: usize = 600;

/// The number of prefixes of longer files, and of flipped bits.
fn samples(length: usize) -> usize {
    if length < 1 << 13 { 150 } else { 20 }
}

/// The number of damaged files for each kind of damage, and of those that our reader refuses.
#[derive(Default)]
pub struct Damage {
    pub prefixes: u64,
    /// Prefixes that lack nothing but padding. All others are refused, or `sample` panics.
    pub without_padding: u64,
    pub flips_in_data: u64,
    pub detected_in_data: u64,
    /// The elements are the same: the bit means nothing to a decoder.
    pub same_in_data: u64,
    pub flips_elsewhere: u64,
    pub refused_elsewhere: u64,
    /// The contents are the same: the bit is in padding, or means nothing.
    pub same_elsewhere: u64,
}

/// The formats that the library writes.
pub fn formats() -> &'static [Format] {
    &FORMATS
}

/// Makes a file from these choices, and passes on its bytes and the list of its contents in JSON. Panics if our reader
/// returns other contents, accepts a file that is cut off, or hands out damaged data that has a digest.
pub fn sample(format: Format, bytes: &[u8], damage: &mut Damage, then: &mut dyn FnMut(&[u8], &str)) {
    let mut choices = Choices::new(bytes);
    choices.is_sound = true;
    make(&mut choices, format, &mut |choices, made, scratch| {
        let mut sink = Kept::new(0, u64::MAX);
        whole(made, scratch, &[1 + choices.below(1000)], &mut sink).unwrap();
        let bytes = &sink.bytes[..];
        compare(true, made, &File::open(bytes).unwrap(), bytes);
        let mut random = Random(u64::from_le_bytes(*sha2::Sha256::digest(bytes).first_chunk().unwrap()));
        cut_off(made, bytes, &mut random, damage);
        flip_bits(made, bytes, &mut random, damage);
        then(bytes, &listing(made));
    });
}

/// Random numbers (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.number() % bound as u64) as usize
    }
}

/// Opens prefixes of the file.
fn cut_off(made: &Made<'_>, bytes: &[u8], random: &mut Random, damage: &mut Damage) {
    let limits: Vec<usize> = if bytes.len() <= SHORT {
        (0..bytes.len()).collect()
    } else {
        (0..samples(bytes.len())).map(|_| random.below(bytes.len())).collect()
    };
    for limit in limits {
        damage.prefixes += 1;
        if let Ok(opened) = File::open(&bytes[..limit]) {
            assert!(matches!(made.format, Format::Gguf | Format::Tens), "{limit} of {} bytes", bytes.len());
            assert!(bytes[limit..].iter().all(|byte| *byte == 0));
            compare(true, made, &opened, &bytes[..limit]);
            damage.without_padding += 1;
        }
    }
}

/// Opens and reads the file with one flipped bit.
fn flip_bits(made: &Made<'_>, bytes: &[u8], random: &mut Random, damage: &mut Damage) {
    let opened = File::open(bytes).unwrap();
    let extents: Vec<_> = made.parts.iter().map(|part| stored(made, &opened, part).extent()).collect();
    let sound: Vec<_> = made.parts.iter().map(|part| read(made, &opened, part).unwrap()).collect();
    let data: Vec<_> = extents.iter().filter(|extent| extent.length > 0).collect();
    let mut damaged = bytes.to_vec();
    for number in 0..samples(bytes.len()) {
        // Every other bit is one of the data, if there is any.
        let at = if number % 2 == 0 && !data.is_empty() {
            let extent = data[random.below(data.len())];
            extent.offset as usize + random.below(extent.length as usize)
        } else {
            random.below(bytes.len())
        };
        let part = extents.iter().position(|extent| (at as u64).wrapping_sub(extent.offset) < extent.length);
        damaged[at] ^= 1 << random.below(8);
        let result = File::open(&damaged);
        match part {
            Some(index) => {
                damage.flips_in_data += 1;
                match result.and_then(|file| read(made, &file, &made.parts[index])) {
                    Err(_) => damage.detected_in_data += 1,
                    Ok(read) if read == sound[index] => damage.same_in_data += 1,
                    Ok(_) => assert!(!has_sums(made), "a flipped bit at byte {at}"),
                }
            }
            None => {
                damage.flips_elsewhere += 1;
                match result {
                    Err(_) => damage.refused_elsewhere += 1,
                    Ok(file) => damage.same_elsewhere += u64::from(is_same(made, &file, &damaged)),
                }
            }
        }
        damaged[at] = bytes[at];
    }
}

/// True if a file has what was declared.
fn is_same(made: &Made<'_>, file: &File<'_>, bytes: &[u8]) -> bool {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| compare(true, made, file, bytes)));
    std::panic::set_hook(hook);
    result.is_ok()
}

/// Verifies and reads a component.
fn read(made: &Made<'_>, file: &File<'_>, part: &Part) -> Result<Vec<u8>, Error> {
    let (tensor, component) = (tensor_of(made, file, part.tensor), stored(made, file, part));
    let mut scratch = vec![0; component.requirements(Purpose::Verify).scratch.unwrap_or(0) as usize];
    component.verify(ReadOptions::new().scratch(&mut scratch))?;
    let mut room = vec![0; part.length as usize];
    if tensor.layout() == Layout::Chunked {
        tensor.read_into(&mut room, ReadOptions::new())?;
    } else {
        component.read_into(&mut room, ReadOptions::new())?;
    }
    Ok(room)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The declared contents in JSON. Names and keys are in hexadecimal digits; the digest is the SHA-256 of all components.
fn listing(made: &Made<'_>) -> String {
    let mut text = format!("{{\"format\": \"{}\", \"attributes\": ", made.format);
    text += &listed(made, made.attributes, None);
    text += ", \"tensors\": [";
    let mut rest = &made.data[..];
    for (index, tensor) in made.tensors.iter().enumerate() {
        let length: u64 = made.parts.iter().filter(|part| part.tensor == index).map(|part| part.length).sum();
        let (data, after) = rest.split_at(length as usize);
        rest = after;
        let kind = match &tensor.kind {
            Kind::Dense(dtype) => dtype.to_string(),
            Kind::Items(descr, _) => format!("items {}", hexadecimal(descr.as_bytes())),
            Kind::Blocks(block_type) => block_type.layout_name().to_string(),
            Kind::Csr { dtype, indices, pointers, .. } => format!("csr {dtype} {indices} {pointers}"),
            Kind::Coo { dtype, indices, .. } => format!("coo {dtype} {indices}"),
            Kind::Pairs { dtype, .. } => format!("pairs {dtype}"),
            Kind::Train { dtype, .. } => format!("train {dtype}"),
        };
        let separator = if index > 0 { ", " } else { "" };
        // A file with a single tensor does not store the name.
        let name = if is_single(made.format) { String::new() } else { hexadecimal(tensor.name.as_bytes()) };
        write!(text, "{separator}{{\"name\": \"{name}\", \"kind\": \"{kind}\", \"shape\": {:?}", tensor.shape).unwrap();
        write!(text, ", \"digest\": \"{}\"", hexadecimal(&sha2::Sha256::digest(data))).unwrap();
        let attributes = listed(made, made.declared[index].attributes, Some(&tensor.kind));
        write!(text, ", \"attributes\": {attributes}}}").unwrap();
    }
    text + "]}"
}

fn listed(made: &Made<'_>, declared: &[NewAttribute<'_>], of: Option<&Kind>) -> String {
    let pair = |attribute: &NewAttribute<'_>| {
        format!("\"{}\": \"{}\"", hexadecimal(attribute.key.as_bytes()), value(made.format, &attribute.value))
    };
    let pairs: Vec<_> = with_added(made, declared, of).iter().map(pair).collect();
    format!("{{{}}}", pairs.join(", "))
}

/// A value in a spelling that `written.py` also has.
fn value(format: Format, of: &NewValue<'_>) -> String {
    use NewValue as V;
    let float = |number: f64| {
        if number.is_nan() { "nan".to_string() } else { format!("f{:016x}", number.to_bits()) }
    };
    let list = |items: Vec<String>| format!("[{}]", items.join(","));
    match *of {
        V::Null => "null".into(),
        V::Bool(is_true) => is_true.to_string(),
        V::U8(number) => number.to_string(),
        V::U16(number) => number.to_string(),
        V::U32(number) => number.to_string(),
        V::U64(number) => number.to_string(),
        V::I8(number) => number.to_string(),
        V::I16(number) => number.to_string(),
        V::I32(number) => number.to_string(),
        V::I64(number) => number.to_string(),
        V::F32(number) => float(number.into()),
        V::F64(number) => float(number),
        V::Text(text) => format!("t{}", hexadecimal(text.as_bytes())),
        V::TextBytes(bytes) if format == Format::Gguf => format!("t{}", hexadecimal(bytes)),
        V::Bytes(bytes) if format == Format::Gguf => list(bytes.iter().map(u8::to_string).collect()),
        V::TextBytes(bytes) | V::Bytes(bytes) => format!("b{}", hexadecimal(bytes)),
        V::List(items) => list(items.iter().map(|item| value(format, item)).collect()),
        V::Map(items) => {
            let pair = |pair: &[NewValue<'_>]| format!("{}:{}", value(format, &pair[0]), value(format, &pair[1]));
            let mut pairs: Vec<_> = items.chunks(2).map(pair).collect();
            pairs.sort();
            format!("{{{}}}", pairs.join(","))
        }
        _ => panic!("{of:?} is not a value of this test"),
    }
}
