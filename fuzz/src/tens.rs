//! TENS files of any dimensions, types, symmetries and unknown chunks, of elements or of pairs, in both versions and
//! byte orders. What was made is listed and read back. Or one thing is broken.

use tenslice::{ByteOrder, DType, File, Layout, Order};

use crate::check;
use crate::choices::Choices;

struct Made {
    is_old: bool,
    dtype: DType,
    is_big: bool,
    /// Lengths, fastest first, and names.
    dimensions: Vec<(u32, u8)>,
    /// Magic and contents of the chunks before the data, without their headers.
    chunks: Vec<([u8; 8], Vec<u8>)>,
    /// The elements as they are stored. In a tensor of pairs, only nonzero elements have one.
    elements: Vec<u8>,
    pairs: Option<Vec<u64>>,
    /// The number of symmetries that pack the data.
    packed: usize,
}

fn elements_of(dimensions: &[(u32, u8)]) -> u64 {
    dimensions.iter().map(|(length, _)| u64::from(*length)).product()
}

impl Made {
    fn new(choices: &mut Choices<'_>) -> Self {
        let (first, steps) = choices.of(&[(DType::U8, 5), (DType::I8, 5), (DType::F32, 3)]);
        let width = first.size().unwrap() << choices.below(steps);
        let number = match (first, width.trailing_zeros() as usize) {
            (DType::U8, log) => [DType::U8, DType::U16, DType::U32, DType::U64, DType::U128][log],
            (DType::I8, log) => [DType::I8, DType::I16, DType::I32, DType::I64, DType::I128][log],
            (_, log) => [DType::F32, DType::F64, DType::F128][log - 2],
        };
        let dtype = number.with_lanes(choices.of(&[1, 1, 2, 4, 8])).unwrap();
        let is_old = choices.one_in(4);
        let dimensions: Vec<(u32, u8)> = (0..choices.below(5))
            .map(|k| (choices.below(4) as u32, if choices.one_in(8) { choices.any() } else { b'a' + k as u8 }))
            .collect();
        let volume = elements_of(&dimensions);
        let has_pairs = !is_old && choices.one_in(3);
        let mut chunks = Vec::new();
        let mut packed = 0;
        for _ in 0..if is_old { 0 } else { choices.below(4) } {
            if choices.below(2) == 0 {
                // Text, so that it is not read as the number of pairs.
                let magic = choices.of(&[*b"COMMENTS", *b"~~~~~~~~", *b"DENSDATB", *b"        "]);
                let mut content = choices.bytes(24);
                content.resize(content.len().next_multiple_of(8), 0);
                chunks.push((magic, content));
                continue;
            }
            // Dimensions of equal lengths may be swapped.
            let mut map: Vec<usize> = (0..dimensions.len()).collect();
            for k in 1..map.len() {
                let other = choices.below(k + 1);
                if dimensions[map[k]].0 == dimensions[map[other]].0 {
                    map.swap(k, other);
                }
            }
            let is_packed = packed == 0 && !has_pairs && choices.one_in(8);
            packed += usize::from(is_packed);
            let operation = choices.of(&["x", "-x", "conj(x)", ""]);
            let mut content = vec![is_packed.into(), operation.len() as u8]; // after the header of 16 bytes
            content.extend(operation.bytes());
            content.extend(map.iter().map(|k| dimensions[*k].1));
            content.resize(content.len().next_multiple_of(8), 0);
            chunks.push((*b"SYMMETRY", content));
        }
        let size = dtype.size().unwrap() as usize;
        let seed = choices.any::<u8>();
        let length = if packed > 0 { choices.below(64) & !7 } else { volume as usize * size };
        let elements: Vec<u8> = (0..length).map(|i| seed.wrapping_add((i * i) as u8)).collect();
        let pairs = has_pairs.then(|| {
            // Each at most once, in any order.
            let mut places: Vec<u64> = (0..volume).filter(|_| choices.below(2) == 0).collect();
            if choices.below(2) == 0 {
                places.reverse();
            }
            places
        });
        Self { is_old, dtype, is_big: choices.one_in(4), dimensions, chunks, elements, pairs, packed }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut file = b"TENS".to_vec();
        let lanes = (self.dtype.size().unwrap() as usize / self.dtype.lane_size()) as u32;
        file.extend([0, if self.is_old { 0x90 } else { 0 }, u8::from(!self.is_old), 0]);
        let name = self.dtype.name();
        let kind = if name.starts_with('u') { "uint" } else if name.starts_with('i') { "sint" } else { "IEEE" };
        file.extend(match (kind, self.is_big) {
            ("uint", true) => b"UINT",
            ("uint", _) => b"uint",
            ("sint", true) => b"SINT",
            ("sint", _) => b"sint",
            _ => b"IEEE",
        });
        let (width, order) = (self.dtype.lane_size() as u32, self.dimensions.len() as u32);
        for number in [width, lanes, order, self.pairs.is_some().into(), 0] {
            file.extend(number.to_le_bytes());
        }
        for (length, name) in &self.dimensions {
            file.extend(length.to_le_bytes());
            file.extend([*name, 0, 0, 0]);
        }
        for (magic, content) in &self.chunks {
            file.extend(magic);
            file.extend((16 + content.len() as u64).to_le_bytes());
            file.extend(content);
        }
        let size = self.dtype.size().unwrap() as usize;
        match &self.pairs {
            Some(places) => {
                file.extend((places.len() as u64).to_le_bytes());
                for place in places {
                    file.extend(place.to_le_bytes());
                    file.extend(&self.elements[*place as usize * size..][..size]);
                }
            }
            None => {
                let padding = self.elements.len().next_multiple_of(8) - self.elements.len();
                if !self.is_old {
                    file.extend(b"DENSDATA");
                    file.extend(((16 + self.elements.len() + padding) as u64).to_le_bytes());
                }
                file.extend(&self.elements);
                if !self.is_old {
                    file.resize(file.len() + padding, 0);
                }
            }
        }
        file
    }

    fn compare(&self, file: &File<'_>) {
        let tensor = file.find("").unwrap();
        let tens = file.as_tens().unwrap();
        assert_eq!(tensor.dtype(), Some(self.dtype));
        assert!(tensor.shape().iter().eq(self.dimensions.iter().map(|(length, _)| u64::from(*length))));
        assert!(tens.dimensions().map(|d| (d.length, d.name)).eq(self.dimensions.iter().copied()));
        let mut chunks = tens.chunks();
        for (magic, content) in &self.chunks {
            let chunk = chunks.next().unwrap();
            assert_eq!(chunk.magic, *magic);
            if let Some(symmetry) = chunk.symmetry() {
                assert_eq!(symmetry.is_packed(), content[0] == 1);
                assert_eq!(symmetry.operation(), &content[2..2 + usize::from(content[1])]);
            }
        }
        assert_eq!(chunks.count(), usize::from(!self.is_old && self.pairs.is_none()));
        let component = tensor.components().next().unwrap();
        let is_float = self.dtype.name().starts_with(['f', 'c']);
        let order = if self.is_big && !is_float { ByteOrder::Big } else { ByteOrder::Little };
        assert_eq!(component.byte_order(), order);
        let size = self.dtype.size().unwrap() as usize;
        match &self.pairs {
            Some(places) => {
                assert_eq!(tensor.layout(), Layout::IndexValue);
                let pairs = tens.pairs().unwrap();
                assert_eq!(pairs.stored(), places.len() as u64);
                for (entry, place) in pairs.iter().zip(places) {
                    let index: Vec<u64> = (0..self.dimensions.len() as u32).map(|d| entry.index(d).unwrap()).collect();
                    assert_eq!(tens.global_index(&index), Ok(*place));
                    assert_eq!(entry.bytes().unwrap(), &self.elements[*place as usize * size..][..size]);
                }
            }
            None => {
                assert_eq!(tensor.layout(), if self.packed > 0 { Layout::Packed } else { Layout::Dense });
                assert_eq!(tensor.order(), Order::ColumnMajor);
                assert_eq!(component.bytes().unwrap(), self.elements);
            }
        }
    }
}

pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let made = Made::new(&mut choices);
    let mut file = made.bytes();
    if choices.is_sound {
        return made.compare(&check::sound(&file));
    }
    choices.damage(&mut file);
    if check::all(&file).is_ok() {
        crate::compute::run(&file);
    }
}
