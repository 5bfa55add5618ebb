//! ONNX models: initializers and Constants of all dtypes, in every place that the format has for elements, sparse tensors,
//! graphs inside each other, data in other files, metadata, unknown fields, in any order of the fields. All tensors that
//! were made are listed, in their order, with their elements. Or one thing is broken.

#[path = "../../tests/support/protobuf.rs"]
mod protobuf;

use protobuf::{field, number, varint};
use tenslice::{ByteOrder, DType, File, Purpose, ReadOptions};

use crate::check;
use crate::choices::Choices;

/// The dtypes by their numbers, the field of their numbers, and the number of bytes or bits.
const TYPES: [(DType, usize, usize); 27] = [
    (DType::F32, 1, 4),
    (DType::U8, 2, 5),
    (DType::I8, 3, 5),
    (DType::U16, 4, 5),
    (DType::I16, 5, 5),
    (DType::I32, 6, 5),
    (DType::I64, 7, 7),
    (DType::BOOL, 9, 5),
    (DType::F16, 10, 5),
    (DType::F64, 11, 10),
    (DType::U32, 12, 11),
    (DType::U64, 13, 11),
    (DType::C64, 14, 4),
    (DType::C128, 15, 10),
    (DType::BF16, 16, 5),
    (DType::F8_E4M3FN, 17, 5),
    (DType::F8_E4M3FNUZ, 18, 5),
    (DType::F8_E5M2, 19, 5),
    (DType::F8_E5M2FNUZ, 20, 5),
    (DType::UINT4, 21, 5),
    (DType::INT4, 22, 5),
    (DType::F4_E2M1, 23, 5),
    (DType::F8_E8M0, 24, 5),
    (DType::UINT2, 25, 5),
    (DType::INT2, 26, 5),
    (DType::F6_E2M3, 27, 5),
    (DType::F6_E3M2, 28, 5),
];

/// A tensor that was made.
struct Made {
    name: String,
    dtype: DType,
    shape: Vec<u64>,
    /// The dense elements, in little-endian order; `None` if they are in another file.
    elements: Option<Vec<u8>>,
    shard: Option<String>,
}

/// The model so far.
struct Maker<'c, 'b> {
    choices: &'c mut Choices<'b>,
    tensors: Vec<Made>,
    /// The number of bytes that must be behind the other fields of the next message.
    behind: usize,
}

impl Maker<'_, '_> {
    /// The fields of a message, in any order, with some that no version defines.
    fn message(&mut self, mut fields: Vec<Vec<u8>>) -> Vec<u8> {
        if self.choices.one_in(4) {
            fields.push(number(200, self.choices.any()));
        }
        if self.choices.one_in(4) {
            fields.push(field(1000, &self.choices.bytes(5)));
        }
        if self.choices.one_in(3) {
            for last in (1..fields.len()).rev() {
                fields.swap(last, self.choices.below(last + 1));
            }
        }
        if self.behind > 0 {
            fields.push(field(1000, &vec![0; std::mem::take(&mut self.behind)]));
        }
        fields.concat()
    }

    /// A list of numbers: packed, not packed, or both.
    fn numbers(&mut self, of: usize, numbers: &[Vec<u8>], wire: usize) -> Vec<Vec<u8>> {
        let (mut fields, mut rest) = (Vec::new(), numbers);
        let is_whole = self.choices.below(2) == 0;
        while !rest.is_empty() {
            let count = if is_whole { rest.len() } else { 1 + self.choices.below(rest.len()) };
            let (run, after) = rest.split_at(count);
            if self.choices.below(3) < 2 || wire == 2 {
                fields.push(field(of, &run.concat()));
            } else {
                fields.extend(run.iter().map(|one| [varint((of << 3 | wire) as u64), one.clone()].concat()));
            }
            rest = after;
        }
        // Their order counts, so they stay together.
        vec![fields.concat()]
    }

    /// The lengths of a shape, for a message. In two spellings, they must have bytes behind them, at its end.
    fn dims(&mut self, of: usize, shape: &[u64]) -> Vec<Vec<u8>> {
        let packed = |shape: &[u64]| field(of, &shape.iter().flat_map(|length| varint(*length)).collect::<Vec<_>>());
        let single = |shape: &[u64]| shape.iter().flat_map(|length| number(of, *length)).collect::<Vec<_>>();
        match self.choices.below(4) {
            0 => vec![packed(shape)],
            1 => {
                let (front, back) = shape.split_at(shape.len() / 2);
                self.behind = shape.len();
                vec![[single(front), packed(back)].concat()]
            }
            _ => vec![single(shape)],
        }
    }

    /// The message of a tensor, and its elements as `raw_data` would have them.
    fn tensor(
        &mut self,
        name: &str,
        shape: &[u64],
        fixed: Option<(DType, Vec<u8>)>,
        may_be_elsewhere: bool,
    ) -> Vec<u8> {
        let count: u64 = shape.iter().product();
        let (dtype, kind, of) = match &fixed {
            Some((dtype, _)) => *TYPES.iter().find(|(other, ..)| other == dtype).unwrap(),
            None => self.choices.of(&TYPES),
        };
        let length = dtype.byte_length(count).unwrap() as usize;
        let mut elements =
            fixed.map_or_else(|| (0..length).map(|_| self.choices.any()).collect(), |(_, bytes)| bytes);
        if dtype == DType::BOOL {
            elements.iter_mut().for_each(|byte| *byte &= 1);
        }
        let mut fields = self.dims(1, shape);
        fields.push(number(2, kind as u64));
        fields.push(field(8, name.as_bytes()));
        let mut shard = None;
        if may_be_elsewhere && self.choices.one_in(8) {
            let path = self.choices.of(&["w.bin", "a/b.data", "./c"]);
            let pair =
                |key: &str, value: &str| field(13, &[field(1, key.as_bytes()), field(2, value.as_bytes())].concat());
            fields.push(pair("location", path));
            fields.push([pair("offset", "4096"), pair("length", &length.to_string())].concat());
            fields.push(number(14, 1));
            shard = Some(path.to_owned());
        } else if count > 0 {
            match self.choices.below(2) {
                0 => fields.push(field(9, &elements)),
                _ => fields.extend(self.typed(dtype, of, count as usize, &mut elements)),
            }
        }
        if self.choices.one_in(6) {
            fields.push(field(16, &[field(1, b"key"), field(2, b"value")].concat()));
        }
        let elements = shard.is_none().then_some(elements);
        self.tensors.push(Made { name: name.into(), dtype, shape: shape.to_vec(), elements, shard });
        self.message(fields)
    }

    /// The elements in a field of numbers. Those of 6 bits lose what is behind the last.
    fn typed(&mut self, dtype: DType, of: usize, count: usize, elements: &mut Vec<u8>) -> Vec<Vec<u8>> {
        if of == 4 || of == 10 {
            let size = dtype.lane_size();
            let all: Vec<Vec<u8>> = elements.chunks(size).map(<[u8]>::to_vec).collect();
            return self.numbers(of, &all, if size == 4 { 5 } else { 1 });
        }
        let all: Vec<Vec<u8>> = if matches!(dtype, DType::F6_E2M3 | DType::F6_E3M2) {
            let bit = |bytes: &[u8], at: usize| u64::from(bytes[at / 8] >> (at % 8) & 1);
            let used = count * 6;
            if let Some(last) = elements.last_mut().filter(|_| used % 8 != 0) {
                *last &= (1 << (used % 8)) - 1;
            }
            (0..count).map(|i| varint((0..6).map(|b| bit(elements, 6 * i + b) << b).sum())).collect()
        } else {
            let is_signed = matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64);
            let one = |bytes: &[u8]| {
                let mut wide = [if is_signed && bytes[bytes.len() - 1] > 0x7f { 0xff } else { 0 }; 8];
                wide[..bytes.len()].copy_from_slice(bytes);
                varint(u64::from_le_bytes(wide))
            };
            elements.chunks(dtype.lane_size()).map(one).collect()
        };
        self.numbers(of, &all, 0)
    }

    fn sparse(&mut self, name: &str) -> Vec<u8> {
        let shape: Vec<u64> = (0..1 + self.choices.below(3)).map(|_| 1 + self.choices.below(4) as u64).collect();
        let total: u64 = shape.iter().product();
        let places: Vec<u64> = (0..total).filter(|_| self.choices.below(2) == 0).collect();
        let values = self.tensor(name, &[places.len() as u64], None, false);
        let made = self.tensors.pop().unwrap();
        let is_linear = self.choices.below(2) == 0;
        let indices: Vec<u8> = places
            .iter()
            .flat_map(|place| {
                let mut rest = *place;
                let mut all: Vec<u64> = shape
                    .iter()
                    .rev()
                    .map(|length| {
                        let index = rest % length;
                        rest /= length;
                        index
                    })
                    .collect();
                all.reverse();
                if is_linear { vec![*place] } else { all }
            })
            .flat_map(u64::to_le_bytes)
            .collect();
        let of_indices =
            if is_linear { vec![places.len() as u64] } else { vec![places.len() as u64, shape.len() as u64] };
        let indices = self.tensor("", &of_indices, Some((DType::I64, indices)), false);
        self.tensors.pop();
        let size = made.dtype.size().map(|size| size as usize);
        let elements = size.zip(made.elements).map(|(size, values)| {
            let mut dense = vec![0; total as usize * size];
            for (place, value) in places.iter().zip(values.chunks(size)) {
                dense[*place as usize * size..][..size].copy_from_slice(value);
            }
            dense
        });
        let mut fields = self.dims(3, &shape);
        fields.extend([field(1, &values), field(2, &indices)]);
        self.tensors.push(Made { elements, shape, ..made });
        self.message(fields)
    }

    fn graph(&mut self, depth: usize) -> Vec<u8> {
        let mut fields = Vec::new();
        for index in 0..self.choices.below(4) {
            let name = format!("{}{index}", self.choices.of(&["w", "layer.weight", "\u{e9}"]));
            let shape: Vec<u64> = (0..self.choices.below(4)).map(|_| self.choices.below(4) as u64).collect();
            let made = match self.choices.below(5) {
                0 => field(15, &self.sparse(&name)),
                1 | 2 => {
                    let is_sparse = self.choices.one_in(4);
                    let value = if is_sparse { self.sparse(&name) } else { self.tensor(&name, &shape, None, true) };
                    let (key, number): (&[u8], _) = if is_sparse { (b"sparse_value", 22) } else { (b"value", 5) };
                    let attribute = self.message(vec![field(1, key), field(number, &value)]);
                    let fields = vec![field(2, name.as_bytes()), field(4, b"Constant"), field(5, &attribute)];
                    field(1, &self.message(fields))
                }
                3 if depth < 4 => {
                    let inner = self.graph(depth + 1);
                    let attribute = field(5, &[field(1, b"body"), field(self.choices.of(&[6, 11]), &inner)].concat());
                    field(1, &self.message(vec![field(4, b"If"), attribute]))
                }
                _ => field(5, &self.tensor(&name, &shape, None, true)),
            };
            fields.push(made);
        }
        // The tensors are listed in their order, so the fields keep it.
        if self.choices.below(2) == 0 {
            fields.push(field(2, b"graph"));
        }
        fields.concat()
    }
}

fn compare(tensors: &[Made], file: &File<'_>) {
    assert_eq!(file.tensor_count(), tensors.len() as u64);
    for (tensor, made) in file.tensors().zip(tensors) {
        assert_eq!(tensor.name(), made.name.as_str());
        assert_eq!((tensor.dtype(), tensor.shape()), (Some(made.dtype), tensor.shape()));
        assert!(tensor.shape().iter().eq(made.shape.iter().copied()), "{} {:?}", tensor.shape(), made.shape);
        let shard = tensor.components().find_map(|component| component.shard());
        assert_eq!(shard, made.shard.as_deref());
        let Some(expected) = &made.elements else { continue };
        let length = tensor.requirements(Purpose::Read).output.unwrap();
        let mut bytes = vec![0xee; length as usize];
        let read = tensor.read_into(&mut bytes, ReadOptions::new()).unwrap();
        let size = made.dtype.lane_size();
        if ByteOrder::NATIVE == ByteOrder::Big {
            read.chunks_mut(size).for_each(<[u8]>::reverse);
        }
        assert_eq!(read, expected, "{}", made.name);
    }
}

pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut maker = Maker { choices: &mut choices, tensors: Vec::new(), behind: 0 };
    let graph = maker.graph(0);
    let version = 1 + maker.choices.below(200) as u64;
    let mut fields = vec![number(1, version), field(7, &graph), field(2, b"fuzzer")];
    if maker.choices.below(2) == 0 {
        fields.push(field(14, &[field(1, b"key"), field(2, b"value")].concat()));
    }
    let mut file = maker.message(fields);
    let tensors = maker.tensors;
    if choices.is_sound {
        return compare(&tensors, &check::sound(&file));
    }
    choices.damage(&mut file);
    let _ = check::all(&file);
}
