//! Tensors to write, with their data.

use tenslice::blocks::BlockType;
use tenslice::write::{NewAttribute, NewLayout, NewTensor, NewValue};
use tenslice::{DType, Format};

use super::values::{self, Style, TEXTS};
use crate::choices::Choices;

/// A layout, as `NewLayout`.
pub enum Kind {
    Dense(DType),
    Items(String, u64),
    Blocks(BlockType),
    Csr { dtype: DType, count: u64, indices: DType, pointers: DType },
    Coo { dtype: DType, count: u64, indices: DType },
    Pairs { dtype: DType, count: u64 },
    Train { dtype: DType, ranks: Vec<u64> },
}

pub struct Declared<'v> {
    pub name: String,
    pub shape: Vec<u64>,
    pub kind: Kind,
    pub attributes: Vec<(String, NewValue<'v>)>,
}

/// A component in the order in which its bytes are passed to the writer.
#[derive(Clone, Copy)]
pub struct Part {
    pub tensor: usize,
    pub component: usize,
    pub role: &'static str,
    pub dtype: Option<DType>,
    /// The number of elements, and the length in bytes.
    pub count: u64,
    pub length: u64,
}

const PLAIN: [DType; 14] = [
    DType::F32,
    DType::BOOL,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::F16,
    DType::F64,
    DType::C64,
    DType::C128,
];
const FLOATS: [DType; 6] =
    [DType::BF16, DType::F8_E4M3FN, DType::F8_E5M2, DType::F8_E4M3FNUZ, DType::F8_E5M2FNUZ, DType::F8_E8M0];
const PACKED: [DType; 3] = [DType::F4_E2M1, DType::F6_E2M3, DType::F6_E3M2];
const GGUF: [DType; 8] =
    [DType::F32, DType::F16, DType::BF16, DType::I8, DType::I16, DType::I32, DType::I64, DType::F64];
const TENS: [DType; 14] = [
    DType::F64,
    DType::C64,
    DType::C128,
    DType::F32,
    DType::F128,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::U128,
    DType::I8,
    DType::I16,
    DType::I64,
    DType::I128,
];
const INTEGERS: [DType; 8] =
    [DType::U32, DType::U64, DType::I64, DType::I32, DType::I16, DType::I8, DType::U16, DType::U8];
const BLOCKS: [BlockType; 8] = [
    BlockType::Q4_0,
    BlockType::Q8_0,
    BlockType::Q6_K,
    BlockType::IQ1_M,
    BlockType::TQ1_0,
    BlockType::MXFP4,
    BlockType::NVFP4,
    BlockType::Q1_0,
];

/// The types of items in NumPy's spelling, with their sizes.
const DESCRS: [(&str, u64); 9] = [
    ("'<f4'", 4),
    ("'>i2'", 2),
    ("'|S3'", 3),
    ("'<U2'", 8),
    ("'<M8[us]'", 8),
    ("'|V0'", 0),
    ("[('a', '<f4'), ('b', '|u1', (2,))]", 6),
    ("[('\u{e9}', '<f8')]", 8),
    ("[('\u{65e5}', [('x', '|i1')]), ('y', '<c8')]", 9),
];

const ODD_LENGTHS: [u64; 14] = [
    0,
    1,
    5,
    32,
    255,
    256,
    1 << 16,
    (1 << 31) - 32,
    u32::MAX as u64,
    1 << 32,
    1 << 47,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

/// True now and then if the declarations need not be valid: then one thing may be anything.
pub fn is_odd(choices: &mut Choices<'_>) -> bool {
    !choices.is_sound && choices.one_in(8)
}

/// True if the format has a single tensor without a name.
pub fn is_single(format: Format) -> bool {
    matches!(format, Format::Npy | Format::Tens | Format::Blz | Format::B2nd)
}

/// The values that a format can hold as attributes; `None` if it has no attributes.
pub fn style_of(format: Format) -> Option<Style> {
    match format {
        Format::Safetensors => Some(Style::Texts),
        Format::Gguf => Some(Style::Gguf),
        Format::Ztensor | Format::Ztensor2 => Some(Style::Sorted),
        _ => None,
    }
}

/// A dtype that the format has, or any.
fn dtype(choices: &mut Choices<'_>, format: Format) -> DType {
    if is_odd(choices) {
        let (dtype, _) = choices.of(DType::ALL);
        let lanes = choices.of(&[1, 1, 1, 2, 4, 8]);
        return dtype.with_lanes(lanes).unwrap_or(dtype);
    }
    let of_floats = choices.below(4);
    match format {
        Format::Safetensors if of_floats == 3 => choices.of(&PACKED),
        Format::Ztensor2 if of_floats == 3 => DType::F4_E2M1,
        Format::Safetensors | Format::Ztensor2 if of_floats == 2 => choices.of(&FLOATS),
        Format::Ztensor if of_floats == 2 => choices.of(&FLOATS[..5]),
        Format::Safetensors => choices.of(&PLAIN[..13]),
        Format::Gguf => choices.of(&GGUF),
        Format::Tens => {
            let dtype = choices.of(&TENS);
            dtype.with_lanes(choices.of(&[1, 1, 2, 4, 8])).unwrap_or(dtype)
        }
        Format::Blz => choices.of(&[DType::F64, DType::C128]),
        _ => choices.of(&PLAIN),
    }
}

/// A text that ends with the number, so that no two are equal; any text, if it need not be valid.
pub fn name(choices: &mut Choices<'_>, format: Format, number: usize) -> String {
    if is_odd(choices) {
        let repeats = choices.of(&[1, 1, 3, 64, 1024]);
        return choices
            .of(&[
                TEXTS[0],
                TEXTS[1],
                TEXTS[3],
                "\u{e9}",
                "__metadata__",
                "general.alignment",
                "block_bytes",
                ".npy",
                "a.npy",
            ])
            .repeat(repeats);
    }
    let mut text: String = (0..choices.below(3)).map(|_| choices.of(&TEXTS)).collect();
    if !matches!(format, Format::Safetensors | Format::Ztensor) && !is_odd(choices) {
        text.retain(|character| character != '\0');
    }
    let text: String = text.chars().take(if format == Format::Gguf { 15 } else { 200 }).collect();
    if is_odd(choices) { text } else { format!("{text}{number}") }
}

/// Attributes, whose values are some of `inside` or single ones.
pub fn attributes<'v>(
    choices: &mut Choices<'_>,
    format: Format,
    inside: &'v [NewValue<'v>],
) -> Vec<(String, NewValue<'v>)> {
    let is_any = is_odd(choices);
    let style = style_of(format).filter(|_| !is_any);
    if !is_any && style.is_none() {
        return Vec::new();
    }
    let count = choices.below(4);
    let mut attribute = |number| {
        let key = name(choices, format, number);
        let value = match choices.below(inside.len() + 2).checked_sub(2) {
            Some(index) => inside[index],
            // Adds the names of this level.
            None if style == Some(Style::Sorted) && choices.below(4) == 0 => NewValue::Map(inside),
            None => match style {
                Some(style) => values::sound_scalar(choices, style),
                None => values::any_scalar(choices),
            },
        };
        (key, value)
    };
    (0..count).map(&mut attribute).collect()
}

impl<'v> Declared<'v> {
    pub fn new(choices: &mut Choices<'_>, format: Format, number: usize, inside: &'v [NewValue<'v>]) -> Self {
        let name = name(choices, format, number);
        let dtype = dtype(choices, format);
        let mut shape = lengths(choices, format);
        let layout = if is_odd(choices) {
            choices.below(7)
        } else {
            match format {
                Format::Ztensor => choices.of(&[0, 0, 3, 4]),
                Format::Ztensor2 => choices.of(&[0, 0, 3, 4, 2]),
                Format::Gguf => choices.of(&[0, 2]),
                Format::Npy | Format::Npz => choices.of(&[0, 0, 1]),
                Format::Tens => choices.of(&[0, 5]),
                Format::Blz => 6,
                _ => 0,
            }
        };
        let whole = |dtype: DType| if dtype.is_packed() { DType::U8 } else { dtype };
        let kind = match layout {
            1 => {
                let (mut descr, mut size) = choices.of(&DESCRS.map(|(descr, size)| (descr.to_string(), size)));
                if is_odd(choices) {
                    size = size.wrapping_add(choices.of(&[0, 0, 1, u64::MAX]));
                    let places: Vec<usize> = descr.char_indices().map(|(at, _)| at).collect();
                    match choices.below(4) {
                        0 => descr.insert(
                            choices.of(&places),
                            choices.of(&[' ', '\'', '\0', '\\', '(', ',', '\u{e9}', '\u{65e5}', '1']),
                        ),
                        1 => drop(descr.remove(choices.of(&places))),
                        _ => {}
                    }
                }
                Kind::Items(descr, size)
            }
            2 => {
                let block_type = choices.of(&BLOCKS);
                if !is_odd(choices) {
                    shape.retain(|length| *length < 5);
                    shape.truncate(2);
                    shape.push(block_type.elements() * choices.below(3) as u64);
                }
                Kind::Blocks(block_type)
            }
            3 => {
                if !is_odd(choices) {
                    shape = vec![choices.below(5) as u64, choices.below(5) as u64];
                }
                let indices = index_type(choices, format);
                let pointers = if format == Format::Ztensor { index_type(choices, format) } else { indices };
                let dtype = if is_odd(choices) { dtype } else { whole(dtype) };
                Kind::Csr { dtype, count: entries(choices, &shape), indices, pointers }
            }
            4 => {
                let dtype = if is_odd(choices) { dtype } else { whole(dtype) };
                Kind::Coo { dtype, count: entries(choices, &shape), indices: index_type(choices, format) }
            }
            5 => Kind::Pairs { dtype, count: entries(choices, &shape) },
            6 => {
                if !is_odd(choices) {
                    shape.iter_mut().for_each(|length| *length = (*length).max(1));
                    if shape.is_empty() {
                        shape.push(2);
                    }
                }
                let mut ranks: Vec<u64> = (0..=shape.len()).map(|_| 1 + choices.below(3) as u64).collect();
                if !is_odd(choices) {
                    ranks[0] = 1;
                    ranks[shape.len()] = 1;
                } else {
                    let place = choices.below(ranks.len());
                    ranks[place] = choices.of(&ODD_LENGTHS);
                    ranks.truncate(choices.below(ranks.len() + 1));
                }
                Kind::Train { dtype, ranks }
            }
            _ => Kind::Dense(dtype),
        };
        if !is_odd(choices) {
            match kind {
                // Whole bytes.
                Kind::Dense(dtype) if dtype.is_packed() && format == Format::Safetensors => shape.push(4),
                Kind::Dense(DType::BF16) if format == Format::Gguf && shape.is_empty() => shape.push(3),
                _ => {}
            }
            shape.truncate(if format == Format::Gguf { 4 } else { usize::MAX });
        }
        let has_attributes = matches!(format, Format::Ztensor | Format::Ztensor2) || is_odd(choices);
        let attributes =
            if has_attributes && choices.below(2) == 0 { attributes(choices, format, inside) } else { Vec::new() };
        Self { name, shape, kind, attributes }
    }

    pub fn layout(&self) -> NewLayout<'_> {
        match &self.kind {
            Kind::Dense(dtype) => NewLayout::Dense(*dtype),
            Kind::Items(descr, size) => NewLayout::Items { descr, size: *size },
            Kind::Blocks(block_type) => NewLayout::Blocks(*block_type),
            &Kind::Csr { dtype, count, indices, pointers } => NewLayout::Csr { dtype, count, indices, pointers },
            &Kind::Coo { dtype, count, indices } => NewLayout::Coo { dtype, count, indices },
            &Kind::Pairs { dtype, count } => NewLayout::Pairs { dtype, count },
            Kind::Train { dtype, ranks } => NewLayout::Train { dtype: *dtype, ranks },
        }
    }

    /// The declaration, with its attributes.
    pub fn declare<'a>(&'a self, attributes: &'a [NewAttribute<'a>]) -> NewTensor<'a> {
        NewTensor { name: &self.name, shape: &self.shape, layout: self.layout(), attributes }
    }

    /// The components; `None` if the layout contradicts the shape, or a length exceeds 64 bits.
    pub fn parts(&self, tensor: usize) -> Option<Vec<Part>> {
        let product = |lengths: &[u64]| {
            if lengths.contains(&0) {
                Some(0)
            } else {
                lengths.iter().try_fold(1_u64, |all, one| all.checked_mul(*one))
            }
        };
        let elements = || product(&self.shape);
        let of = |role, dtype: DType, count: Option<u64>| {
            let bits = u128::from(count?) * u128::from(dtype.bits());
            Some((role, Some(dtype), count?, u64::try_from(bits.div_ceil(8)).ok()?))
        };
        let parts = match &self.kind {
            Kind::Dense(dtype) => vec![of("data", *dtype, elements())?],
            Kind::Items(_, size) => vec![("data", None, elements()?, elements()?.checked_mul(*size)?)],
            Kind::Blocks(block_type) => {
                if self.shape.last().copied().unwrap_or(1) % block_type.elements() != 0 {
                    return None;
                }
                let blocks = elements()? / block_type.elements();
                vec![("data", None, blocks, blocks.checked_mul(block_type.bytes())?)]
            }
            Kind::Csr { dtype, count, indices, pointers } => {
                let [rows, _] = self.shape[..] else { return None };
                vec![
                    of("values", *dtype, Some(*count))?,
                    of("indices", *indices, Some(*count))?,
                    of("indptr", *pointers, rows.checked_add(1))?,
                ]
            }
            Kind::Coo { dtype, count, indices } => vec![
                of("values", *dtype, Some(*count))?,
                of("coords", *indices, count.checked_mul(self.shape.len() as u64))?,
            ],
            Kind::Pairs { dtype, count } => vec![("pairs", None, *count, count.checked_mul(dtype.size()? + 8)?)],
            Kind::Train { dtype, ranks } => {
                let mut cores = Vec::new();
                for (core, length) in self.shape.iter().enumerate() {
                    let [left, right, ..] = ranks.get(core..)? else { return None };
                    let count = left.checked_mul(*length).and_then(|count| count.checked_mul(*right));
                    cores.push(of("core", *dtype, count)?);
                }
                cores
            }
        };
        let parts = parts.into_iter().enumerate();
        let part = |(component, (role, dtype, count, length))| Part { tensor, component, role, dtype, count, length };
        Some(parts.map(part).collect())
    }

    /// The bytes of a component. `is_valid` if its elements have only bits that the format allows.
    pub fn data(&self, part: &Part, seed: u8, is_valid: bool) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..part.length).map(|at| seed.wrapping_add((at * 7 + at / 251) as u8)).collect();
        if !is_valid {
            return bytes;
        }
        if part.dtype == Some(DType::BOOL) {
            bytes.iter_mut().for_each(|byte| *byte &= 1);
        }
        if let Some(last) = bytes.last_mut().filter(|_| part.dtype == Some(DType::F4_E2M1) && part.count % 2 == 1) {
            *last &= 0xf;
        }
        // The places of the stored elements, from the first to the last.
        let elements = elements(&self.shape);
        if elements == 0 || elements > 1 << 32 || self.shape.iter().any(|length| *length > 1 << 32) {
            return if part.role == "data" { bytes } else { vec![0; bytes.len()] };
        }
        let place = |entry: u64, count: u64| (u128::from(entry) * elements / u128::from(count)) as u64;
        let wide = |dtype: DType, number: u64| number.to_le_bytes()[..dtype.size().unwrap() as usize].to_vec();
        match (&self.kind, part.role) {
            (Kind::Csr { count, indices, .. }, "indices") => {
                (0..*count).flat_map(|entry| wide(*indices, place(entry, *count) % self.shape[1])).collect()
            }
            (Kind::Csr { count, pointers, .. }, "indptr") => {
                let columns = self.shape[1];
                let before = |row: u64| (0..*count).filter(|entry| place(*entry, *count) < row * columns).count();
                (0..=self.shape[0]).flat_map(|row| wide(*pointers, before(row) as u64)).collect()
            }
            (Kind::Coo { count, indices, .. }, "coords") => {
                let rank = self.shape.len();
                let below = |dimension: usize| self.shape[dimension + 1..].iter().product::<u64>();
                let at = |dimension, entry| place(entry, *count) / below(dimension) % self.shape[dimension];
                let all = (0..rank).flat_map(|dimension| (0..*count).map(move |entry| (dimension, entry)));
                all.flat_map(|(dimension, entry)| wide(*indices, at(dimension, entry))).collect()
            }
            (Kind::Pairs { dtype, count }, _) => {
                let size = dtype.size().unwrap() as usize + 8;
                for (entry, pair) in (0..).zip(bytes.chunks_mut(size)) {
                    pair[..8].copy_from_slice(&place(entry, *count).to_le_bytes());
                }
                bytes
            }
            _ => bytes,
        }
    }
}

/// The lengths of the dimensions: short ones, or any.
fn lengths(choices: &mut Choices<'_>, format: Format) -> Vec<u64> {
    if !is_odd(choices) {
        let mut shape: Vec<u64> = (0..choices.below(5)).map(|_| choices.below(5) as u64).collect();
        while elements(&shape) > 100 {
            shape.pop();
        }
        // Lengths that no memory holds, of an array without elements.
        let has_long = !matches!(format, Format::Ztensor2 | Format::Blz) && shape.len() < 4;
        if shape.contains(&0) && has_long && choices.one_in(4) {
            shape.insert(0, choices.of(&[1 << 16, u64::from(u32::MAX)]));
        }
        return shape;
    }
    match choices.below(8) {
        0 => vec![1; choices.of(&[5, 16, 17, 32, 64, 65, 255, 256, 1000])],
        _ => (0..choices.below(4)).map(|_| choices.of(&ODD_LENGTHS)).collect(),
    }
}

/// The type of indices.
fn index_type(choices: &mut Choices<'_>, format: Format) -> DType {
    match format {
        _ if is_odd(choices) => choices.of(DType::ALL).0,
        Format::Ztensor => choices.of(&INTEGERS),
        _ => choices.of(&[DType::U32, DType::U64]),
    }
}

/// The number of stored elements of a sparse tensor, each of which has another place.
fn entries(choices: &mut Choices<'_>, shape: &[u64]) -> u64 {
    if is_odd(choices) {
        return choices.of(&ODD_LENGTHS);
    }
    choices.below(elements(shape).min(9) as usize + 1) as u64
}

/// The number of elements, or a number that is too large.
fn elements(shape: &[u64]) -> u128 {
    shape.iter().map(|length| u128::from(*length)).fold(1, u128::saturating_mul)
}
