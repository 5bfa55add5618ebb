//! zTensor 2 files with any tensors: dense and sparse, microscaled and in GGUF blocks, raw and in Zstandard frames,
//! with digests, logical types, attributes, and components in shards. What was made is listed, verified and read
//! back. Or one thing is broken: in the bytes of a component (its digest is then corrected), in the manifest (its
//! hash and length are then corrected), or anywhere.

use tenslice::{DType, ErrorKind, File, ReadOptions};
use xxhash_rust::xxh3::xxh3_64;

use crate::cbor::{self, Node};
use crate::check;
use crate::choices::Choices;
use crate::objects::{self, Kind, Object};
use crate::ztensor::VERIFIED;

pub const MAGIC: &[u8; 8] = b"\x89ZT2\r\n\x1a\n";

/// The dtypes: dtype, storage type, logical type.
const DTYPES: [(DType, &str, Option<&str>); 21] = [
    (DType::F32, "f32", None),
    (DType::BF16, "bf16", None),
    (DType::F16, "f16", None),
    (DType::U8, "u8", None),
    (DType::I8, "i8", None),
    (DType::I32, "i32", None),
    (DType::U32, "u32", None),
    (DType::I64, "i64", None),
    (DType::U64, "u64", None),
    (DType::F64, "f64", None),
    (DType::I16, "i16", None),
    (DType::U16, "u16", None),
    (DType::BOOL, "u8", Some("bool")),
    (DType::F8_E4M3FN, "u8", Some("f8_e4m3fn")),
    (DType::F8_E5M2, "u8", Some("f8_e5m2")),
    (DType::F8_E4M3FNUZ, "u8", Some("f8_e4m3fnuz")),
    (DType::F8_E5M2FNUZ, "u8", Some("f8_e5m2fnuz")),
    (DType::F8_E8M0, "u8", Some("f8_e8m0")),
    (DType::F4_E2M1, "u8", Some("f4_e2m1")),
    (DType::C64, "f32", Some("complex64")),
    (DType::C128, "f64", Some("complex128")),
];

struct Tensor {
    name: String,
    object: Object,
    layout: &'static str,
    attributes: Option<Node>,
    parts: Vec<Stored>,
}

struct Stored {
    role: &'static str,
    dtype: DType,
    decoded: Vec<u8>,
    stored: Vec<u8>,
    is_encoded: bool,
    digest: usize,
    in_shard: bool,
}

/// Zstandard frames and the table of their lengths.
fn frames(content: &[u8], chunk: usize, has_checksums: bool) -> Vec<u8> {
    let (mut stream, mut table) = (Vec::new(), Vec::new());
    let chunks: Vec<&[u8]> = content.chunks(chunk).collect();
    for part in &chunks {
        let frame = objects::zstd_frame(part, 1 + chunk / 2);
        table.extend((frame.len() as u32).to_le_bytes());
        table.extend((part.len() as u32).to_le_bytes());
        if has_checksums {
            table.extend(&frame[frame.len() - 4..]);
        }
        stream.extend(frame);
    }
    stream.extend([0x5e, 0x2a, 0x4d, 0x18]);
    stream.extend((table.len() as u32 + 9).to_le_bytes());
    stream.extend(table);
    stream.extend((chunks.len() as u32).to_le_bytes());
    stream.extend([if has_checksums { 0x80 } else { 0 }, 0xb1, 0xea, 0x92, 0x8f]);
    stream
}

impl Tensor {
    fn new(choices: &mut Choices<'_>, number: usize) -> Self {
        let dtypes = DTYPES.map(|(dtype, ..)| dtype);
        // The elements of sparse tensors have whole bytes.
        let whole: Vec<DType> = dtypes.into_iter().filter(|dtype| !dtype.is_packed()).collect();
        let (kind, layout) = choices.of(&[
            (Kind::Dense, "dense"),
            (Kind::Dense, "dense"),
            (Kind::Csr, "zt.sparse_csr/1"),
            (Kind::Coo, "zt.sparse_coo/1"),
            (Kind::Other, "zt.quant_group/1"),
            (Kind::Other, "tiled"),
            (Kind::Other, "zt.mx/1"),
            (Kind::Other, "gguf.q8_0/1"),
        ]);
        let all = if kind == Kind::Dense { &dtypes[..] } else { &whole[..] };
        let mut object = Object::new(choices, kind, all, &[DType::U32, DType::U64]);
        let mut attributes = (choices.below(2) == 0).then(|| Node::any_map(choices, true, 0));
        let block: usize = if layout == "zt.mx/1" { 4 } else { 32 };
        if block == 4 || layout.starts_with("gguf") {
            // Valid in this layout: rows of whole blocks.
            object.shape = vec![choices.below(3) as u64, (block * choices.below(3)) as u64];
            let blocks = object.shape.iter().product::<u64>() as usize / block;
            let seed = choices.any::<u8>();
            let bytes = |length: usize| (0..length).map(|i| seed.wrapping_mul(i as u8)).collect::<Vec<u8>>();
            let part = |role, dtype, bytes| objects::Stored { role, dtype, bytes };
            if layout == "zt.mx/1" {
                let dtype = choices.of(&[DType::F4_E2M1, DType::F8_E4M3FN, DType::F8_E5M2, DType::I8]);
                let length = dtype.byte_length((blocks * block) as u64).unwrap() as usize;
                object.parts = vec![part("data", dtype, bytes(length)), part("scales", DType::F8_E8M0, bytes(blocks))];
                attributes = Some(cbor::map([("block_size", 4.into()), ("scale_form", "e8m0_exponent".into())]));
            } else {
                object.parts = vec![part("data", DType::U8, bytes(blocks * 34))];
            }
        }
        let parts = object
            .parts
            .iter()
            .map(|part| {
                let decoded = part.bytes.clone();
                let is_encoded = choices.one_in(3);
                let stored = if is_encoded {
                    frames(&decoded, 1 + choices.below(200), choices.below(2) == 0)
                } else {
                    decoded.clone()
                };
                let (digest, in_shard) = (choices.below(5), choices.one_in(8));
                Stored { role: part.role, dtype: part.dtype, decoded, stored, is_encoded, digest, in_shard }
            })
            .collect();
        let name = format!("{}{number}", choices.of(&["", "b", "a", "long.name.of.a.tensor.", "é"]));
        Self { name, object, layout, attributes, parts }
    }
}

/// The digest of the decoded bytes, as text.
fn digest(kind: usize, decoded: &[u8]) -> Option<String> {
    match kind {
        1 => Some(format!("xxh3:{:016x}", xxh3_64(decoded))),
        2 => {
            Some(objects::sha256(decoded))
        }
        3 => Some("md5:00".into()),
        _ => None,
    }
}

fn align(file: &mut Vec<u8>) {
    file.resize(file.len().next_multiple_of(4096), 0);
}

/// Writes all components. Returns them, the shard, and the manifest.
fn manifest(tensors: &[Tensor], attributes: Option<&Node>) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let (mut file, mut shard) = (Vec::with_capacity(1 << 16), MAGIC.to_vec());
    file.extend(MAGIC);
    let mut objects = Vec::new();
    for tensor in tensors {
        let mut parts = Vec::new();
        for part in &tensor.parts {
            let blobs = if part.in_shard { &mut shard } else { &mut file };
            align(blobs);
            let (_, stored_as, logical) = DTYPES.into_iter().find(|(dtype, ..)| *dtype == part.dtype).unwrap();
            let place = cbor::numbers(&[blobs.len() as u64, part.stored.len() as u64]);
            blobs.extend(&part.stored);
            let mut entry = vec![("dtype", stored_as.into()), ("blob", place)];
            if let Some(logical) = logical {
                entry.push(("type", logical.into()));
            }
            if part.is_encoded {
                entry.push(("encoding", "zt.zstd-seekable/1".into()));
                entry.push(("decoded_length", (part.decoded.len() as u64).into()));
            }
            if let Some(digest) = digest(part.digest, &part.decoded) {
                entry.push(("digest", digest.into()));
            }
            if part.in_shard {
                entry.push(("shard", "other.zt".into()));
            }
            parts.push((part.role, cbor::map(entry)));
        }
        let mut entry = vec![
            ("shape", cbor::numbers(&tensor.object.shape)),
            ("layout", tensor.layout.into()),
            ("parts", cbor::map(parts)),
        ];
        entry.extend(tensor.attributes.iter().map(|attributes| ("attributes", attributes.clone())));
        objects.push((tensor.name.clone().into(), cbor::map(entry)));
    }
    // A shard has a footer and no manifest.
    shard.extend([0; 24]);
    shard.extend([2, 0, 0, 0, 0, 0, 0, 0]);
    shard.extend(MAGIC);
    let mut root = vec![("objects", Node::Map(objects))];
    if tensors.iter().flat_map(|tensor| &tensor.parts).any(|part| part.in_shard) {
        let digest = format!("xxh3:{:016x}", xxh3_64(&shard));
        let entry = cbor::map([("size", (shard.len() as u64).into()), ("digest", digest.into())]);
        root.push(("shards", cbor::map([("other.zt", entry)])));
    }
    root.extend(attributes.map(|attributes| ("attributes", attributes.clone())));
    align(&mut file);
    let mut manifest = Vec::with_capacity(4096);
    cbor::map(root).strict(&mut manifest);
    (file, shard, manifest)
}

/// A file with these bytes and that manifest.
pub fn finish(data: &[u8], manifest: &[u8]) -> Vec<u8> {
    let numbers = [data.len() as u64, manifest.len() as u64, xxh3_64(manifest), 2];
    [data, manifest, &numbers.map(u64::to_le_bytes).concat(), MAGIC].concat()
}

pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut tensors: Vec<Tensor> = (0..choices.below(4)).map(|number| Tensor::new(&mut choices, number)).collect();
    let attributes = (choices.below(2) == 0).then(|| Node::any_map(&mut choices, true, 0));
    let (data, shard, mut text) = manifest(&tensors, attributes.as_ref());
    let mut file = finish(&data, &text);
    if choices.is_sound {
        let opened = check::sound(&file);
        if let Some(attributes) = &attributes {
            attributes.compare_map(opened.attributes());
        }
        return compare(&opened, &mut tensors, &shard);
    }
    match choices.below(3) {
        0 if !tensors.is_empty() => {
            let mut parts: Vec<_> = tensors.iter_mut().flat_map(|tensor| &mut tensor.parts).collect();
            let which = choices.below(parts.len());
            choices.damage(&mut parts[which].stored);
            if !parts[which].is_encoded {
                parts[which].decoded = parts[which].stored.clone();
            }
            let (data, shard, text) = manifest(&tensors, attributes.as_ref());
            file = finish(&data, &text);
            if let Ok(opened) = check::all(&file) {
                shards(&opened, &shard);
            }
            return;
        }
        1 => {
            choices.damage(&mut text);
            file = finish(&data, &text);
        }
        _ => choices.damage(&mut file),
    }
    if let Ok(opened) = check::all(&file) {
        shards(&opened, &shard);
    }
}

/// Reads the components in shards from bytes that may be those of the shard.
fn shards(file: &File<'_>, shard: &[u8]) {
    let Some(view) = file.as_ztensor2() else { return };
    for listed in view.shards() {
        let _ = view.check_shard(listed.name, shard);
    }
    for component in file.tensors().flat_map(|tensor| tensor.components()).filter(|part| part.shard().is_some()) {
        assert_eq!(component.stored().unwrap_err().kind(), ErrorKind::InShard);
        if let Ok(component) = component.with_shard(shard) {
            let _ = component.verify(ReadOptions::new().scratch(&mut [0; 1024]));
            let _ = component.read_into(&mut [0; 1024], ReadOptions::new()).map(|bytes| bytes.len());
        }
    }
}

fn compare(file: &File<'_>, tensors: &mut [Tensor], shard: &[u8]) {
    // Listed in the order of the encoded names: the shorter first.
    tensors.sort_by_key(|tensor| (tensor.name.len(), tensor.name.clone()));
    let view = file.as_ztensor2().unwrap();
    assert_eq!(file.tensor_count(), tensors.len() as u64);
    for (tensor, made) in file.tensors().zip(tensors) {
        assert_eq!((tensor.name() == made.name[..], tensor.layout_name()), (true, made.layout));
        assert_eq!(tensor.shape(), made.object.shape[..]);
        if let Some(attributes) = &made.attributes {
            attributes.compare_map(tensor.attributes());
        }
        assert_eq!(tensor.components().count(), made.parts.len());
        for part in &made.parts {
            let mut component = tensor.component(part.role).unwrap();
            assert_eq!(component.dtype(), Some(part.dtype));
            assert_eq!(component.decoded_length(), Some(part.decoded.len() as u64));
            if part.in_shard {
                assert_eq!(view.check_shard("other.zt", shard), Ok(true));
                component = component.with_shard(shard).unwrap();
            }
            assert_eq!(component.stored().unwrap(), part.stored);
            let mut room = vec![0; part.decoded.len()];
            let decoded = component.read_into(&mut room, ReadOptions::new()).unwrap();
            let lane = part.dtype.lane_size();
            if cfg!(target_endian = "big") {
                decoded.chunks_mut(lane).for_each(|lane| lane.reverse());
            }
            assert_eq!(decoded, part.decoded);
            let found = component.verify(ReadOptions::new().scratch(&mut [0; 512]));
            assert_eq!(found, Ok(VERIFIED[part.digest]));
        }
        if made.parts.iter().all(|part| !part.in_shard) {
            made.object.compare(&tensor);
        }
    }
}
