//! zTensor files of 0.1, 1.0, 1.1 and 1.2 with any tensors: dense and sparse, raw and compressed, with digests,
//! attributes and keys in any order, and any spelling of CBOR. What was made is listed, verified and read back. Or
//! one thing is broken: in the bytes of a component (its digest is then corrected), in the manifest (its length is
//! then corrected), or anywhere.

use tenslice::{DType, File, Layout, Verification, Warning, ReadOptions};

use crate::cbor::{self, Node};
use crate::check;
use crate::choices::Choices;
use crate::objects::{self, Kind, Object};

const CRC32C: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISCSI);

const LONG: [(&str, DType); 13] = [
    ("float32", DType::F32), ("float16", DType::F16), ("bfloat16", DType::BF16), ("float64", DType::F64),
    ("int64", DType::I64), ("int32", DType::I32), ("int16", DType::I16), ("int8", DType::I8), ("uint64", DType::U64),
    ("uint32", DType::U32), ("uint16", DType::U16), ("uint8", DType::U8), ("bool", DType::BOOL),
];

const SHORT: [(&str, DType); 17] = [
    ("f32", DType::F32), ("f16", DType::F16), ("bf16", DType::BF16), ("f64", DType::F64), ("i64", DType::I64),
    ("i32", DType::I32), ("i16", DType::I16), ("i8", DType::I8), ("u64", DType::U64), ("u32", DType::U32),
    ("u16", DType::U16), ("u8", DType::U8), ("bool", DType::BOOL), ("f8_e4m3", DType::F8_E4M3FN),
    ("f8_e5m2", DType::F8_E5M2), ("complex64", DType::C64), ("complex128", DType::C128),
];

const INDICES: [DType; 8] =
    [DType::U64, DType::U32, DType::U16, DType::U8, DType::I64, DType::I32, DType::I16, DType::I8];

/// The result of verifying a component, by the kind of its digest.
pub const VERIFIED: [Verification; 5] = [
    Verification::NoDigest,
    Verification::Verified,
    Verification::Verified,
    Verification::UnknownDigest,
    Verification::NoDigest,
];

#[derive(Clone, Copy, PartialEq)]
enum Version {
    V0_1,
    V1_0,
    V1_2,
}

/// A tensor and its encoding.
struct Tensor {
    name: String,
    object: Object,
    layout: &'static str,
    attributes: Node,
    has_attributes: bool,
    components: Vec<Component>,
}

struct Component {
    role: &'static str,
    dtype: DType,
    stored: Vec<u8>,
    /// The decoded bytes, in the byte order of the file.
    decoded: Vec<u8>,
    is_big: bool,
    encoding: Option<&'static str>,
    states_length: bool,
    digest: usize,
    /// The distance from a multiple of 64.
    misaligned: usize,
}

fn name_of(names: &[(&'static str, DType)], dtype: DType) -> &'static str {
    names.iter().find(|(_, known)| *known == dtype).unwrap().0
}

impl Tensor {
    fn new(choices: &mut Choices<'_>, version: Version, number: usize) -> Self {
        let kind = choices.of(&[Kind::Dense, Kind::Dense, Kind::Csr, Kind::Coo, Kind::Other]);
        let long = LONG.map(|(_, dtype)| dtype);
        let short = SHORT.map(|(_, dtype)| dtype);
        let (dtypes, indices) = match version {
            Version::V1_2 => (&short[..], &INDICES[..]),
            _ => (&long[..], &INDICES[..1]),
        };
        let mut object = Object::new(choices, kind, dtypes, indices);
        let layout = match (kind, version) {
            (Kind::Dense, _) => "dense",
            (Kind::Csr, Version::V0_1) => "sparsecsr",
            (Kind::Csr, _) => "sparse_csr",
            (Kind::Coo, Version::V0_1) => "sparsecoo",
            (Kind::Coo, _) => "sparse_coo",
            (Kind::Other, Version::V1_2) => choices.of(&["quantized_group", "tiled"]),
            (Kind::Other, _) => choices.of(&["tiled", ""]),
        };
        let mut parts: Vec<(&'static str, DType, Vec<u8>)> =
            object.parts.iter().map(|part| (part.role, part.dtype, part.bytes.clone())).collect();
        if version == Version::V0_1 {
            // One component: pointers, columns and values, or each value after its coordinates.
            let part = |role: &str| object.parts.iter().find(|part| part.role == role);
            let bytes = |role: &str| part(role).map_or(&[][..], |part| &part.bytes);
            let packed = match kind {
                Kind::Csr => [bytes("indptr"), bytes("indices"), bytes("values")].concat(),
                Kind::Coo => object.entries.iter().fold(Vec::new(), |mut all, (at, value)| {
                    at.iter().for_each(|index| all.extend(index.to_le_bytes()));
                    all.extend(value);
                    all
                }),
                _ => parts[0].2.clone(),
            };
            if kind == Kind::Other {
                object.dtype = parts[0].1;
            }
            parts = vec![("data", object.dtype, packed)];
        } else if version == Version::V1_0 && kind == Kind::Other {
            // The components have the dtype of the tensor, or are indices.
            parts.iter_mut().for_each(|(_, _, bytes)| bytes.truncate(bytes.len() / 16 * 16));
        }
        let components = parts
            .into_iter()
            .map(|(role, dtype, decoded)| {
                let encoding = choices.of(&[None, Some("raw"), Some("zstd"), None]);
                let encoding = if version == Version::V0_1 { encoding.or(Some("raw")) } else { encoding };
                // In 0.1 only raw data has a byte order, and sparse data has no known one.
                let has_order = version == Version::V0_1 && kind == Kind::Dense && encoding != Some("zstd");
                let is_big = has_order && choices.one_in(3);
                let decoded = if is_big {
                    decoded.chunks(dtype.lane_size()).flat_map(|lane| lane.iter().rev().copied()).collect()
                } else {
                    decoded
                };
                let stored = if encoding == Some("zstd") {
                    objects::zstd_frame(&decoded, 1 + choices.below(100))
                } else {
                    decoded.clone()
                };
                let misaligned = if choices.one_in(16) { choices.below(64) } else { 0 };
                let (states_length, digest) = (choices.below(2) == 0, choices.below(5));
                Component { role, dtype, stored, decoded, is_big, encoding, states_length, digest, misaligned }
            })
            .collect();
        let attributes = Node::any_map(choices, false, 0);
        // Distinct names in no order. Names in 0.1 may be repeated.
        let name = if version == Version::V0_1 && choices.one_in(4) {
            "again".into()
        } else {
            format!("{}{number}", choices.of(&["", "b", "a", "long.name.of.a.tensor.", "é"]))
        };
        Self { name, object, layout, attributes, has_attributes: choices.below(2) == 0, components }
    }
}

/// The digest of stored bytes, as text.
fn digest(kind: usize, stored: &[u8]) -> Option<String> {
    match kind {
        1 => Some(format!("crc32c:0x{:08X}", CRC32C.checksum(stored))),
        2 => {
            Some(objects::sha256(stored))
        }
        3 => Some("md5:00".into()),
        _ => None,
    }
}

/// Rotates a map by a chosen number of keys.
fn turned(choices: &mut Choices<'_>, entries: Vec<(&'static str, Node)>) -> Node {
    let mut entries = entries;
    let by = choices.below(entries.len());
    if choices.one_in(4) {
        entries.rotate_left(by);
    }
    cbor::map(entries)
}

/// Writes all components. Returns them, and the manifest that follows them.
fn manifest(version: Version, tensors: &[Tensor], attributes: &Node, choices: &mut Choices<'_>) -> (Vec<u8>, Vec<u8>) {
    let mut file = if version == Version::V0_1 { b"ZTEN0001".to_vec() } else { b"ZTEN1000".to_vec() };
    let names = if version == Version::V1_2 { &SHORT[..] } else { &LONG[..] };
    let (mut entries, mut objects) = (Vec::new(), Vec::new());
    for tensor in tensors {
        let mut parts = Vec::new();
        for component in &tensor.components {
            file.resize(file.len().next_multiple_of(64) + component.misaligned, 0);
            let mut entry = vec![("offset", Node::from(file.len() as u64))];
            let length_key = if version == Version::V0_1 { "size" } else { "length" };
            entry.push((length_key, (component.stored.len() as u64).into()));
            file.extend(&component.stored);
            if version != Version::V1_0 {
                entry.push(("dtype", name_of(names, component.dtype).into()));
            }
            if let Some(encoding) = component.encoding {
                entry.push(("encoding", encoding.into()));
            }
            if let Some(digest) = digest(component.digest, &component.stored) {
                entry.push((if version == Version::V0_1 { "checksum" } else { "digest" }, digest.into()));
            }
            if version == Version::V1_2 && component.states_length {
                entry.push(("uncompressed_length", (component.decoded.len() as u64).into()));
            }
            if version == Version::V0_1 && (component.is_big || component.states_length) {
                entry.push(("data_endianness", if component.is_big { "big" } else { "little" }.into()));
            }
            parts.push((component.role, entry));
        }
        let shape = cbor::numbers(&tensor.object.shape);
        if version == Version::V0_1 {
            let (_, mut entry) = parts.remove(0);
            entry.push(("name", tensor.name.clone().into()));
            entry.push(("shape", shape));
            if tensor.layout != "dense" || tensor.has_attributes {
                entry.push(("layout", tensor.layout.into()));
            }
            entries.push(turned(choices, entry));
            continue;
        }
        let parts: Vec<_> = parts.into_iter().map(|(role, entry)| (role, turned(choices, entry))).collect();
        let parts = turned(choices, parts);
        let mut entry = vec![("shape", shape), ("format", tensor.layout.into()), ("components", parts)];
        if version == Version::V1_0 {
            entry.push(("dtype", name_of(names, tensor.object.dtype).into()));
        } else if tensor.has_attributes {
            entry.push(("attributes", tensor.attributes.clone()));
        }
        objects.push((tensor.name.clone().into(), turned(choices, entry)));
    }
    let root = if version == Version::V0_1 {
        Node::Array(entries)
    } else {
        let (key, number) = match version {
            Version::V1_0 => ("tensors", "1.0.0"),
            _ => ("objects", choices.of(&["1.1.0", "1.2.0"])),
        };
        turned(choices, vec![("version", number.into()), (key, Node::Map(objects)), ("attributes", attributes.clone())])
    };
    let mut manifest = Vec::new();
    root.spelled(choices, &mut manifest);
    (file, manifest)
}

/// A file with these bytes and that manifest.
fn finish(version: Version, data: &[u8], manifest: &[u8]) -> Vec<u8> {
    let magic: &[u8] = if version == Version::V1_2 { b"ZTEN1000" } else { b"" };
    [data, manifest, &(manifest.len() as u64).to_le_bytes(), magic].concat()
}

pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let version = choices.of(&[Version::V0_1, Version::V1_0, Version::V1_2, Version::V1_2]);
    let count = choices.below(5);
    let mut tensors: Vec<Tensor> = (0..count).map(|number| Tensor::new(&mut choices, version, number)).collect();
    let attributes = Node::any_map(&mut choices, false, 0);
    let (data, mut text) = manifest(version, &tensors, &attributes, &mut choices);
    let mut file = finish(version, &data, &text);
    if choices.is_sound {
        return compare(&check::sound(&file), version, &tensors, &attributes);
    }
    match choices.below(3) {
        0 if tensors.iter().any(|tensor| !tensor.components.is_empty()) => {
            let mut parts: Vec<_> = tensors.iter_mut().flat_map(|tensor| &mut tensor.components).collect();
            let which = choices.below(parts.len());
            let mut broken = parts[which].stored.clone();
            choices.damage(&mut broken);
            parts[which].stored = broken;
            let (data, text) = manifest(version, &tensors, &attributes, &mut choices);
            file = finish(version, &data, &text);
        }
        1 => {
            choices.damage(&mut text);
            file = finish(version, &data, &text);
        }
        _ => choices.damage(&mut file),
    }
    let _ = check::all(&file);
}

fn compare(file: &File<'_>, version: Version, tensors: &[Tensor], attributes: &Node) {
    assert_eq!(file.tensor_count(), tensors.len() as u64);
    let names: Vec<_> = tensors.iter().map(|tensor| &tensor.name).collect();
    let is_twice = (1..names.len()).any(|k| names[..k].contains(&names[k]));
    assert_eq!(file.warnings().contains(Warning::RepeatedName), is_twice);
    if version != Version::V0_1 {
        attributes.compare_map(file.attributes());
    }
    for (tensor, made) in file.tensors().zip(tensors) {
        assert_eq!(tensor.name(), made.name[..]);
        assert_eq!(tensor.layout_name(), made.layout);
        let layout = match made.object.kind {
            Kind::Dense => Layout::Dense,
            Kind::Csr => Layout::SparseCsr,
            Kind::Coo => Layout::SparseCoo,
            Kind::Other if made.layout == "quantized_group" => Layout::QuantizedGroup,
            Kind::Other => Layout::Other,
        };
        assert_eq!(tensor.layout(), layout);
        if version == Version::V1_2 && made.has_attributes {
            made.attributes.compare_map(tensor.attributes());
        }
        assert_eq!(tensor.components().count(), made.components.len());
        for part in &made.components {
            let component = match version {
                Version::V0_1 => tensor.components().next().unwrap(),
                _ => tensor.component(part.role).unwrap(),
            };
            assert_eq!(component.stored().unwrap(), part.stored);
            assert_eq!(component.verify(ReadOptions::new()), Ok(VERIFIED[part.digest]));
        }
        // The sparse layouts of 1.0 and later need lengths of components that are stated, or that follow from others.
        let is_read = made.components.iter().all(|part| {
            let states_length = version == Version::V1_2 && part.states_length;
            part.encoding != Some("zstd") || made.object.kind == Kind::Dense || states_length
        });
        if is_read {
            made.object.compare(&tensor);
        }
    }
}
