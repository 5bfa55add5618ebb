//! Writes zTensor 2 files. The format allows more than any program writes.

use serde_json::Value as Json;
use xxhash_rust::xxh3::xxh3_64;

/// A component.
#[derive(Clone, Default)]
pub struct Stored {
    pub role: &'static str,
    pub dtype: &'static str,
    pub logical: Option<&'static str>,
    pub stored: Vec<u8>,
    /// The decoded length if the component is in Zstandard frames.
    pub decoded_length: Option<usize>,
    pub digest: Option<String>,
    /// The shard of the component, which is at the start of its blobs.
    pub shard: Option<&'static str>,
}

/// A tensor.
#[derive(Clone)]
pub struct Object {
    pub name: &'static str,
    pub shape: Vec<u64>,
    pub layout: &'static str,
    pub attributes: Json,
    pub parts: Vec<Stored>,
}

/// Deterministic CBOR: the shortest heads, and the keys of a map in the order of their bytes.
pub fn cbor(value: &Json) -> Vec<u8> {
    fn head(major: u8, n: u64) -> Vec<u8> {
        let (code, length) = match n {
            0..24 => return vec![major << 5 | n as u8],
            24..0x100 => (24, 1),
            0x100..0x1_0000 => (25, 2),
            0x1_0000..0x1_0000_0000 => (26, 4),
            _ => (27, 8),
        };
        [&[major << 5 | code], &n.to_be_bytes()[8 - length..]].concat()
    }
    match value {
        Json::Number(n) => head(0, n.as_u64().unwrap()),
        Json::String(text) => [head(3, text.len() as u64), text.as_bytes().to_vec()].concat(),
        Json::Array(items) => {
            let items: Vec<u8> = items.iter().flat_map(cbor).collect();
            [head(4, value.as_array().unwrap().len() as u64), items].concat()
        }
        Json::Object(map) => {
            let mut entries: Vec<_> =
                map.iter().map(|(key, value)| (cbor(&Json::from(key.as_str())), cbor(value))).collect();
            entries.sort();
            let entries: Vec<u8> = entries.into_iter().flat_map(|(key, value)| [key, value].concat()).collect();
            [head(5, map.len() as u64), entries].concat()
        }
        Json::Bool(is_true) => vec![0xf4 | u8::from(*is_true)],
        Json::Null => vec![0xf6],
    }
}

/// A file with these tensors, and a table of these shards: names, sizes and digests.
pub fn file(objects: &[Object], shards: &[(&str, u64, String)]) -> Vec<u8> {
    let mut file = b"\x89ZT2\r\n\x1a\n".to_vec();
    let align = |file: &mut Vec<u8>| file.resize(file.len().next_multiple_of(4096), 0);
    let mut entries = serde_json::Map::new();
    for object in objects {
        let mut parts = serde_json::Map::new();
        for part in &object.parts {
            let offset = if part.shard.is_some() {
                4096
            } else {
                align(&mut file);
                file.len()
            };
            let mut entry = serde_json::json!({ "dtype": part.dtype, "blob": [offset, part.stored.len()] });
            let mut set = |key: &str, value: Option<Json>| {
                value.map(|value| entry.as_object_mut().unwrap().insert(key.to_string(), value));
            };
            set("type", part.logical.map(Json::from));
            set("encoding", part.decoded_length.map(|_| Json::from("zt.zstd-seekable/1")));
            set("decoded_length", part.decoded_length.map(Json::from));
            set("digest", part.digest.clone().map(Json::from));
            set("shard", part.shard.map(Json::from));
            parts.insert(part.role.to_string(), entry);
            if part.shard.is_none() {
                file.extend(&part.stored);
            }
        }
        let mut entry = serde_json::json!({ "shape": object.shape, "layout": object.layout, "parts": parts });
        if !object.attributes.is_null() {
            entry["attributes"] = object.attributes.clone();
        }
        entries.insert(object.name.to_string(), entry);
    }
    let mut root = serde_json::json!({ "objects": entries });
    if !shards.is_empty() {
        let entry = |(name, size, digest): &(&str, u64, String)| {
            (name.to_string(), serde_json::json!({ "size": size, "digest": digest }))
        };
        root["shards"] = Json::Object(shards.iter().map(entry).collect());
    }
    align(&mut file);
    let (manifest, at) = (cbor(&root), file.len() as u64);
    file.extend(&manifest);
    finish(file, at, &manifest)
}

/// A shard with these bytes.
pub fn shard(bytes: &[u8]) -> Vec<u8> {
    let mut file = b"\x89ZT2\r\n\x1a\n".to_vec();
    file.resize(4096, 0);
    file.extend(bytes);
    finish(file, 0, &[])
}

/// Adds the footer.
fn finish(mut file: Vec<u8>, at: u64, manifest: &[u8]) -> Vec<u8> {
    let hash = if manifest.is_empty() { 0 } else { xxh3_64(manifest) };
    for number in [at, manifest.len() as u64, hash, 2] {
        file.extend(number.to_le_bytes()); // the version in four bytes, then four reserved ones
    }
    file.extend(b"\x89ZT2\r\n\x1a\n");
    file
}

/// Zstandard frames of `chunk` bytes each, and their table, as written by the reference implementation.
pub fn frames(content: &[u8], chunk: usize) -> Vec<u8> {
    with_table(&content.chunks(chunk).map(|part| (zstd_frame(part), part.len())).collect::<Vec<_>>())
}

/// A frame with a checksum.
pub fn zstd_frame(content: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    std::io::Write::write_all(&mut encoder, content).unwrap();
    encoder.finish().unwrap()
}

/// Frames, each with the length of its content, and their table.
pub fn with_table(frames: &[(Vec<u8>, usize)]) -> Vec<u8> {
    let entries = frames.iter().flat_map(|(frame, content)| [frame.len() as u32, *content as u32]);
    let entries: Vec<u8> = entries.flat_map(u32::to_le_bytes).collect();
    let mut stream: Vec<u8> = frames.iter().flat_map(|(frame, _)| frame.iter().copied()).collect();
    stream.extend([0x5e, 0x2a, 0x4d, 0x18]);
    stream.extend((entries.len() as u32 + 9).to_le_bytes());
    stream.extend(entries);
    stream.extend((frames.len() as u32).to_le_bytes());
    stream.extend([0, 0xb1, 0xea, 0x92, 0x8f]);
    stream
}

pub fn xxh3(bytes: &[u8]) -> String {
    format!("xxh3:{:016x}", xxh3_64(bytes))
}
