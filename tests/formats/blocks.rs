//! The quantized blocks of ggml, compared with the numbers of ggml (`tests/fixtures/gguf-blocks`).
#![cfg(all(feature = "gguf", feature = "dequantize"))]

use std::path::Path;

use serde_json::Value as Json;
use tenslice::blocks::{self, Block, BlockType, dequantize, dequantize_with};

/// A tensor: its blocks, and the bits of its numbers.
struct Case {
    block_type: BlockType,
    bytes: Vec<u8>,
    numbers: Vec<u32>,
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/gguf-blocks").join(name)).unwrap()
}

/// Two or three tensors of each type.
fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for &block_type in BlockType::ALL {
        let (file, numbers) = (fixture(&format!("{block_type}.gguf")), fixture(&format!("{block_type}.f32")));
        let side_car: Json = serde_json::from_slice(&fixture(&format!("{block_type}.gguf.json"))).unwrap();
        let block = [block_type.elements(), block_type.bytes()];
        assert_eq!(side_car["block"], serde_json::json!(block), "{block_type}");
        for tensor in side_car["tensors"].as_array().unwrap() {
            assert_eq!(tensor["ggml_type"], block_type.code());
            assert_eq!(tensor["layout"], block_type.layout_name());
            let number = |key: &str| tensor[key].as_u64().unwrap() as usize;
            let part = |bytes: &[u8], at, length| bytes[number(at)..][..number(length)].to_vec();
            let bytes = part(&file, "data_offset", "data_length");
            let numbers = part(&numbers, "f32_offset", "f32_length");
            let numbers: Vec<_> = numbers.chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
            assert_eq!(numbers.len() as u64 * block[1], bytes.len() as u64 * block[0]);
            all.push(Case { block_type, bytes, numbers });
        }
    }
    assert_eq!(all.len(), 27 * 3 - 2, "Q8_1 and Q8_K have no real blocks");
    all
}

/// Pseudorandom numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.below(256) as u8).collect()
    }
}

fn bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

/// The bits of the numbers. NaN is `None`, since its bits are not defined.
fn bits_or_nan(numbers: &[f32]) -> Vec<Option<u32>> {
    numbers.iter().map(|number| (!number.is_nan()).then(|| number.to_bits())).collect()
}

#[test]
fn whole_tensors() {
    for Case { block_type, bytes, numbers } in cases() {
        let mut found = vec![0.0; numbers.len()];
        dequantize(block_type, &bytes, 0, &mut found).unwrap();
        assert_eq!(bits(&found), numbers, "{block_type}");
    }
}

#[test]
fn ranges() {
    let mut random = Random(1);
    for Case { block_type, bytes, numbers } in cases() {
        for _ in 0..300 {
            let first = random.below(numbers.len() + 1);
            let count = random.below(numbers.len() - first + 1);
            let mut found = vec![0.0; count];
            dequantize(block_type, &bytes, first as u64, &mut found).unwrap();
            assert_eq!(bits(&found), numbers[first..][..count], "{block_type} {first} {count}");
        }
    }
}

#[test]
fn rejects_too_few_blocks() {
    const NOTHING: f32 = 1.25;
    for Case { block_type, bytes, numbers } in cases() {
        let count = numbers.len();
        let refused = |bytes: &[u8], first: u64, count: usize| {
            let mut found = vec![NOTHING; count];
            assert_eq!(dequantize(block_type, bytes, first, &mut found), None, "{block_type} {first} {count}");
            assert!(found.iter().all(|number| *number == NOTHING));
        };
        refused(&bytes, 0, count + 1);
        refused(&bytes, 1, count);
        refused(&bytes, count as u64, 1);
        refused(&bytes, count as u64 + 1, 0);
        for first in [u64::MAX, u64::MAX - 255, 1 << 63, 1 << 61, 1 << 32] {
            refused(&bytes, first, 0);
            refused(&bytes, first, 300);
        }
        // A partial block has no numbers.
        refused(&bytes[..bytes.len() - 1], 0, count);
        let mut found = vec![0.0; count - block_type.elements() as usize];
        dequantize(block_type, &bytes[..bytes.len() - 1], 0, &mut found).unwrap();
        assert_eq!(bits(&found), numbers[..found.len()]);
        assert_eq!(dequantize(block_type, &bytes, count as u64, &mut []), Some(()));
    }
}

/// The functions of single types and the blocks as structs return the same numbers as the general call, for random
/// bytes.
#[test]
fn functions_of_single_types() {
    fn check<const BYTES: usize, const ELEMENTS: usize>(
        tested: &mut Vec<BlockType>,
        block_type: BlockType,
        decode: impl Fn(&[u8; BYTES], &mut [f32; ELEMENTS]),
    ) {
        assert_eq!((block_type.bytes(), block_type.elements()), (BYTES as u64, ELEMENTS as u64), "{block_type}");
        let mut random = Random(u64::from(block_type.code()));
        for _ in 0..1000 {
            let block: [u8; BYTES] = random.bytes(BYTES).try_into().unwrap();
            let mut numbers = [0.0; ELEMENTS];
            decode(&block, &mut numbers);
            let mut expected = [0.0; ELEMENTS];
            dequantize(block_type, &block, 0, &mut expected).unwrap();
            assert_eq!(bits_or_nan(&numbers), bits_or_nan(&expected), "{block_type} {block:?}");
            assert!(expected.iter().any(|number| number.to_bits() != 0));
        }
        // Ranges over three blocks, inside of them and past their end.
        let blocks = random.bytes(3 * BYTES);
        for _ in 0..300 {
            let (first, count) = (random.below(3 * ELEMENTS + 2), random.below(3 * ELEMENTS + 2));
            let (mut numbers, mut expected) = (vec![1.25; count], vec![1.25; count]);
            let result = dequantize_with(&decode, &blocks, first as u64, &mut numbers);
            assert_eq!(result, dequantize(block_type, &blocks, first as u64, &mut expected));
            assert_eq!(bits_or_nan(&numbers), bits_or_nan(&expected), "{block_type} {first} {count}");
            assert_eq!(result.is_some(), first + count <= 3 * ELEMENTS);
        }
        tested.push(block_type);
    }
    let mut tested = Vec::new();
    macro_rules! check {
        ($($name:ident $to_f32:ident)*) => { $(check(&mut tested, BlockType::$name, blocks::$to_f32);)* };
    }
    check! {
        Q4_0 q4_0_to_f32 Q4_1 q4_1_to_f32 Q5_0 q5_0_to_f32 Q5_1 q5_1_to_f32 Q8_0 q8_0_to_f32 Q8_1 q8_1_to_f32
        Q2_K q2_k_to_f32 Q3_K q3_k_to_f32 Q4_K q4_k_to_f32 Q5_K q5_k_to_f32 Q6_K q6_k_to_f32 Q8_K q8_k_to_f32
        IQ2_XXS iq2_xxs_to_f32 IQ2_XS iq2_xs_to_f32 IQ3_XXS iq3_xxs_to_f32 IQ1_S iq1_s_to_f32 IQ4_NL iq4_nl_to_f32
        IQ3_S iq3_s_to_f32 IQ2_S iq2_s_to_f32 IQ4_XS iq4_xs_to_f32 IQ1_M iq1_m_to_f32 TQ1_0 tq1_0_to_f32
        TQ2_0 tq2_0_to_f32 MXFP4 mxfp4_to_f32 NVFP4 nvfp4_to_f32 Q1_0 q1_0_to_f32 Q2_0 q2_0_to_f32
    }
    assert_eq!(tested, BlockType::ALL);

    tested.clear();
    macro_rules! check_structs {
        ($($name:ident)*) => { $(
            check(&mut tested, BlockType::$name, |block: &[u8; size_of::<blocks::$name>()], dst| {
                blocks::$name::slice(block).unwrap()[0].to_f32(dst);
            });
        )* };
    }
    check_structs! { Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q8_1 Q2_K Q3_K Q4_K Q5_K Q6_K Q8_K }
    assert_eq!(tested, BlockType::ALL[..12]);
}

/// Compares each row of each grid with the file of grids: the first numbers of a block that begins with the row.
#[test]
fn grids() {
    let file = String::from_utf8(fixture("iq-grids.txt")).unwrap();
    let mut rows_tested = 0;
    for line in file.lines().filter(|line| !line.starts_with('#')) {
        let [name, rows, columns, bits, values, hex] =
            line.split(' ').collect::<Vec<_>>().try_into().expect("six words");
        let [rows, columns, bits] = [rows, columns, bits].map(|number| number.parse::<usize>().unwrap());
        let values: Vec<f32> = values.split(',').map(|value| value.parse().unwrap()).collect();
        let bytes: Vec<_> =
            (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..][..2], 16).unwrap()).collect();
        // The position of the high bits of the first row, the smallest scale, and the shift added to each number.
        let (high_at, scale, shift) = match name {
            "iq2_xxs" => (None, 0.125, 0.0),
            "iq2_xs" => (Some(3), 0.125, 0.0),
            "iq2_s" => (Some(66), 0.125, 0.0),
            "iq3_xxs" => (None, 0.25, 0.0),
            "iq3_s" => (Some(66), 1.0, 0.0),
            "iq1_s" => (Some(34), 1.0, 0.125),
            _ => panic!("{name}"),
        };
        let block_type = BlockType::from_layout_name(format!("gguf.{name}").as_bytes()).unwrap();
        for row in 0..rows {
            let mut block = vec![0; block_type.bytes() as usize];
            (block[1], block[2]) = (0x3c, row as u8); // the block's scale is 1
            match high_at {
                Some(at) => block[at] = (row >> 8) as u8,
                None => assert!(row < 256),
            }
            let mut numbers = vec![0.0; columns];
            dequantize(block_type, &block, 0, &mut numbers).unwrap();
            for (column, number) in numbers.iter().enumerate() {
                let bit = (row * columns + column) * bits;
                let index = bytes[bit / 8] >> (bit % 8) & ((1 << bits) - 1);
                assert_eq!(*number, (values[usize::from(index)] + shift) * scale, "{name} {row} {column}");
            }
            rows_tested += 1;
        }
    }
    assert_eq!(rows_tested, 256 + 512 + 1024 + 256 + 512 + 2048);
}

/// All scales of the types whose scale is one byte.
#[test]
fn scales_of_8_bits() {
    for bits in 0..=255_u8 {
        // Number 0 is 1 times the scale. The largest scale exceeds `f32`.
        let mut numbers = [0.0; 32];
        let mut block = [0x02; 17];
        block[0] = bits;
        blocks::mxfp4_to_f32(&block, &mut numbers);
        assert_eq!(numbers[0], 2_f64.powi(i32::from(bits) - 127) as f32, "{bits}");
        let mut numbers = [0.0; 64];
        let mut block = [0x02; 36];
        block[..4].fill(bits);
        blocks::nvfp4_to_f32(&block, &mut numbers);
        let (exponent, mantissa) = (i32::from(bits >> 3 & 15), f64::from(bits & 7));
        let expected = match exponent {
            _ if bits == 0x7f => 0.0,
            0 => mantissa * 2_f64.powi(-9),
            exponent => (1.0 + mantissa / 8.0) * 2_f64.powi(exponent - 7),
        };
        assert_eq!(f64::from(numbers[0]), expected, "{bits}");
    }
}

/// All digits of TQ1_0, including those that no encoder writes.
#[test]
fn ternary_digits() {
    for byte in 0..=255_u8 {
        let mut block = [byte; 54];
        (block[52], block[53]) = (0, 0x3c); // the block's scale is 1
        let mut numbers = [0.0; 256];
        blocks::tq1_0_to_f32(&block, &mut numbers);
        for digit in 0..5 {
            let fraction = usize::from(byte) * 3_usize.pow(digit as u32) % 256;
            let expected = (fraction * 3 / 256) as f32 - 1.0;
            assert_eq!(numbers[32 * digit..][..32], [expected; 32], "{byte} {digit}");
            assert_eq!(numbers[160 + 16 * digit..][..16], [expected; 16], "{byte} {digit}");
            if digit < 4 {
                assert_eq!(numbers[240 + 4 * digit..][..4], [expected; 4], "{byte} {digit}");
            }
        }
    }
}

#[test]
fn hostile_bytes() {
    let mut random = Random(7);
    for &block_type in BlockType::ALL {
        for round in 0..2000 {
            let length = random.below(1500);
            let mut bytes = random.bytes(length);
            if round % 8 == 0 {
                bytes.fill([0, 0x55, 0x7c, 0x7f, 0x80, 0xaa, 0xfc, 0xff][round / 8 % 8]);
            }
            let available = length as u64 / block_type.bytes() * block_type.elements();
            let (first, count) = (random.below(1000), random.below(1000));
            let result = dequantize(block_type, &bytes, first as u64, &mut vec![0.0; count]);
            let last_block = ((first + count) as u64).div_ceil(block_type.elements()) * block_type.elements();
            assert_eq!(result.is_some(), last_block <= available, "{block_type} {length} {first} {count}");
        }
    }
}
