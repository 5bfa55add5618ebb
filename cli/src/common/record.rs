//! The records of `--json`: one object per line, for a file or for a model in several files.

use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};
use tenslice::{
    Attributes, ByteOrder, Component, DType, Encoding, ErrorKind, Extent, File, Layout, Purpose, ReadOptions, Tensor,
    Value, b2nd, blz, onnx, ptd, tens, tflite, ztensor2,
};

use super::budget::{Budget, Stop};
use super::columns::{Row, type_name};
use super::details::{codec, filters, index_name, line};
use super::failure::Failure;
use super::list::warnings;
use super::model::{Model, Opened};
use super::problem::Problem;
use super::reading::{Reading, Work, sha256};
use super::summary::Summary;
use super::text::{hex, json_line, unquoted};

/// The version of the records. A new field does not change it; a change or a removal does.
pub const SCHEMA: u32 = 1;

/// A record on one line: the version of the schema, the kind of the record, and its fields.
pub fn to_line(kind: &str, fields: Json) -> String {
    let mut record = Map::new();
    record.insert("schema".into(), json!(SCHEMA));
    record.insert("record".into(), json!(kind));
    if let Json::Object(fields) = fields {
        record.extend(fields);
    }
    json_line(&Json::Object(record))
}

/// The record of a model with these tensors. With `work`, all data was read; the first tensor or file that cannot be
/// read is then stated as an error.
pub fn of_model(model: &Model<'_>, rows: &[Row<'_, '_>], work: Option<Work<'_>>) -> Result<Json, Failure> {
    let mut tensors = Vec::new();
    let mut problems = model.problems.clone();
    for Row { opened, tensor, reading, .. } in rows {
        let verdict = reading.as_ref().map_or(Ok(()), |reading| reading.verdict);
        let read = verdict.and_then(|()| of_tensor(opened, tensor, reading.as_ref(), work.map(|work| work.budget)));
        let record = read.or_else(|stop| {
            problems.push(Problem::of_stop(opened.name, tensor, stop, opened.input));
            of_tensor(opened, tensor, reading.as_ref(), None)
        });
        let mut record = record.map_err(|stop| opened.fail(stop))?;
        if let Some(name) = opened.name {
            record["file"] = json!(name);
        }
        tensors.push(record);
    }
    let of_files = model.files.iter().map(|opened| opened.name).collect::<Json>();
    let mut record = json!({"file": model.path.to_string_lossy()});
    let of_format = match (&model.index, model.files.first()) {
        (Some((index, _)), _) => json!({
            "format": model.index_format(),
            "version": null,
            "attributes": attributes(index.metadata()),
        }),
        // All parts of a model state the attributes of the whole; only the first part has other attributes.
        (None, Some(Opened { file, uninitialised_chunks, .. })) => json!({
            "format": file.format().text(),
            "version": version(file),
            "attributes": attributes(file.attributes()),
            "shards": file.as_ztensor2().map(|file| of_shards(&file)),
            "onnx": file.as_onnx().map(|onnx| of_onnx(&onnx)),
            "tflite": file.as_tflite().map(|tflite| of_tflite(&tflite)),
            "ptd": file.as_ptd().map(|ptd| of_ptd(&ptd)),
            "tens": file.as_tens().map(|tens| of_tens(&tens)),
            "blz": file.as_blz().map(|blz| of_blz(&blz)),
            "b2nd": file.as_b2nd().map(|b2nd| of_b2nd(&b2nd, *uninitialised_chunks)),
        }),
        (None, None) => json!({}),
    };
    if let (Json::Object(record), Json::Object(of_format)) = (&mut record, of_format) {
        record.extend(of_format);
    }
    record["summary"] = Summary::of(model).record();
    record["warnings"] = warnings(model, rows).iter().map(of_problem).collect();
    let problems = Problem::with_one_limit(problems);
    record["problems"] = problems.iter().map(of_problem).collect();
    record["tensors"] = json!(tensors);
    if model.has_parts() {
        record["files"] = of_files;
    }
    // The files that are present are valid, even if others are missing.
    let is_error = |problem: &&Problem| work.is_some() && !problem.is_missing_file();
    if let Some(problem) = problems.iter().find(is_error) {
        record["error"] = json!({"kind": problem.kind, "message": problem.line(), "offset": problem.offset});
    }
    Ok(record)
}

/// The record of a problem, or of a warning.
pub fn of_problem(problem: &Problem) -> Json {
    let Problem { kind, file, tensor, message, .. } = problem;
    json!({"kind": kind, "file": file, "tensor": tensor, "message": message})
}

/// The record of a refused file.
pub fn of_failure(path: &str, kind: &str, message: &str, offset: Option<u64>) -> Json {
    json!({"file": path, "error": {"kind": kind, "message": message, "offset": offset}})
}

/// The record of a tensor. With `reading`, it includes the states of the digests; with `budget`, also hashes of the
/// data, if all data is valid.
pub fn of_tensor<'m>(
    opened: &Opened<'m>,
    tensor: &Tensor<'m>,
    reading: Option<&Reading>,
    budget: Option<&Budget>,
) -> Result<Json, Stop> {
    let of_one = |(i, component): (usize, Component<'_>)| {
        of_component(&component, reading.and_then(|reading| reading.digests.get(i).copied()), budget)
    };
    let components = tensor.components().enumerate().map(of_one).collect::<Result<Vec<_>, _>>()?;
    let array = opened.array(tensor);
    let descr = array.as_ref().and_then(|array| array.descr.as_ref());
    Ok(json!({
        "name": tensor.name().to_string(),
        "dtype": array.as_ref().map_or(tensor.dtype(), |array| array.dtype).map(DType::name),
        "type": type_name(opened, tensor),
        "stated_type": descr.map(|descr| unquoted(descr)),
        "shape": array.as_ref().map(|array| array.shape.clone()),
        "layout": opened.layout_name(tensor),
        "order": array.as_ref().map_or(tensor.order(), |array| array.order).text(),
        "attributes": attributes(tensor.attributes()),
        "data_sha256": match reading {
            Some(Reading { of_chunks: Some(sha256), .. } | Reading { of_array: Some(sha256), .. }) => {
                Some(sha256.clone())
            }
            // The only component of a dense tensor has been hashed already.
            Some(_) if tensor.layout() == Layout::Dense => {
                let data = components.iter().find(|component| component["role"] == "data");
                data.and_then(|data| data["sha256"].as_str()).map(String::from)
            }
            // The component of a strided tensor has all of its elements, each once.
            Some(_) if opened.file.as_ptd().is_some() => None,
            Some(_) => budget.map_or(Ok(None), |budget| data_sha256(tensor, budget))?,
            None => None,
        },
        "components": components,
        "f32_sha256": budget.map_or(Ok(None), |budget| f32_sha256(tensor, budget))?,
    }))
}

/// SHA-256 of the numbers of a quantized tensor as little-endian `f32`; `None` for any other tensor, and for blocks of
/// a big-endian file.
fn f32_sha256(tensor: &Tensor<'_>, budget: &Budget) -> Result<Option<String>, Stop> {
    const AT_ONCE: u64 = 1 << 16;
    let mut hash = Sha256::new();
    let count = tensor.shape().element_count().unwrap_or(0);
    if tensor.layout() != Layout::Blocks {
        return Ok(None);
    }
    let mut numbers = Vec::new();
    for first in (0..count).step_by(AT_ONCE as usize) {
        let size = (count - first).min(AT_ONCE);
        budget.work(size * 4)?;
        numbers.resize(size as usize, 0.0_f32);
        match tensor.read_f32_range(first, &mut numbers) {
            Ok(()) => numbers.iter().for_each(|number| hash.update(number.to_le_bytes())),
            Err(error) if error.kind() == ErrorKind::ForeignEndian => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(hex(&hash.finalize())))
}

/// SHA-256 of the values of index-value pairs, or of all cores of a tensor train, in little-endian order.
fn data_sha256(tensor: &Tensor<'_>, budget: &Budget) -> Result<Option<String>, Stop> {
    match tensor.layout() {
        Layout::IndexValue => {
            let pairs = tensor.sparse(ReadOptions::new())?;
            budget.work(tensor.components().map(|component| component.extent().length).sum())?;
            let mut values = pairs.iter().filter_map(|pair| pair.bytes()).flatten().copied().collect::<Vec<_>>();
            if tensor.components().any(|pairs| pairs.byte_order() == ByteOrder::Big) {
                values.chunks_mut(pairs.dtype().lane_size()).for_each(<[u8]>::reverse);
            }
            Ok(Some(hex(&Sha256::digest(values))))
        }
        Layout::Strided => {
            let length = tensor.requirements(Purpose::Read).output;
            budget.work(length.unwrap_or(0))?;
            budget.with_room(length, |elements| {
                let elements = tensor.read_into(elements, ReadOptions::new())?;
                if cfg!(target_endian = "big") {
                    let size = tensor.dtype().map_or(1, DType::lane_size);
                    elements.chunks_mut(size).for_each(<[u8]>::reverse);
                }
                Ok::<_, tenslice::Error>(Some(hex(&Sha256::digest(elements))))
            })
        }
        Layout::TensorTrain => {
            let mut hash = Sha256::new();
            for core in tensor.components() {
                budget.work(core.extent().length)?;
                hash.update(core.bytes()?);
            }
            Ok(Some(hex(&hash.finalize())))
        }
        _ => Ok(None),
    }
}

/// The record of a component; if the component was read, with the state of its digest.
fn of_component(
    component: &Component<'_>,
    digest_state: Option<&str>,
    budget: Option<&Budget>,
) -> Result<Json, Stop> {
    Ok(json!({
        "role": component.role(),
        "dtype": component.dtype().map(DType::name),
        "storage_dtype": component.storage_dtype().map(DType::name),
        "byte_order": component.byte_order().text(),
        "shard": component.shard(),
        "offset": if component.encoding() == Encoding::Blosc { None } else { Some(component.extent().offset) },
        "length": component.extent().length,
        "encoding": component.encoding_name(),
        "decoded_length": component.decoded_length(),
        "digest": component.digest(),
        "digest_state": digest_state,
        "sha256": match (budget, component.encoding()) {
            (None, _) | (_, Encoding::Blosc) => None,
            _ if component.shard().is_some() => None,
            (Some(budget), _) => Some(sha256(component, budget)?),
        },
    }))
}

/// The version of a file. That of an ONNX model may be any number.
pub fn version(file: &File<'_>) -> Option<String> {
    let number = file.as_onnx().map(|onnx| onnx.ir_version().to_string());
    number.or_else(|| file.version().map(String::from))
}

/// The shards of a zTensor 2 file.
fn of_shards(file: &ztensor2::Ztensor2File<'_>) -> Json {
    file.shards().map(|shard| json!({"name": shard.name, "size": shard.size, "digest": shard.digest})).collect()
}

/// The ONNX-specific data.
fn of_onnx(onnx: &onnx::OnnxFile<'_>) -> Json {
    let opset = |opset: onnx::Opset<'_>| json!({"domain": opset.domain, "version": opset.version});
    json!({
        "producer_name": onnx.producer_name(),
        "producer_version": onnx.producer_version(),
        "opsets": onnx.opsets().map(opset).collect::<Vec<_>>(),
    })
}

/// The subgraphs of a TFLite model. Their tensors are mostly activations.
fn of_tflite(tflite: &tflite::TfliteFile<'_>) -> Json {
    let subgraph = |graph: tflite::Subgraph<'_>| json!({"name": graph.name, "tensors": graph.tensors});
    json!({"subgraphs": tflite.subgraphs().map(subgraph).collect::<Vec<_>>()})
}

/// The segments of an ExecuTorch file.
fn of_ptd(ptd: &ptd::PtdFile<'_>) -> Json {
    let segment = |place: Extent| json!({"offset": place.offset, "length": place.length});
    json!({"segments": ptd.segments().map(segment).collect::<Vec<_>>()})
}

/// The TENS-specific data.
fn of_tens(tens: &tens::TensFile<'_>) -> Json {
    let dimension =
        |d: tens::Dimension| json!({"name": index_name(d.name), "length": d.length, "sparse": d.is_sparse});
    let chunk = |chunk: tens::TensChunk<'_>| {
        json!({
            "magic": chunk.magic.escape_ascii().to_string(),
            "offset": chunk.extent.offset,
            "length": chunk.extent.length,
            "operation": chunk.symmetry().map(|symmetry| symmetry.operation().escape_ascii().to_string()),
            "map": chunk.symmetry().map(|symmetry| symmetry.map().escape_ascii().to_string()),
            "packed": chunk.symmetry().map(|symmetry| symmetry.is_packed()),
        })
    };
    json!({
        "dimensions": tens.dimensions().map(dimension).collect::<Vec<_>>(),
        "chunks": tens.chunks().map(chunk).collect::<Vec<_>>(),
    })
}

/// The BLZ-specific data.
fn of_blz(blz: &blz::BlzFile<'_>) -> Json {
    json!({
        "ranks": blz.bond_dimensions().collect::<Vec<_>>(),
        "cores": blz.cores().map(|core| core.shape).collect::<Vec<_>>(),
        "parameters": blz.parameters(),
        "compression_ratio": blz.compression_ratio(),
    })
}

/// The Blosc2-specific data.
fn of_b2nd(b2nd: &b2nd::Frame<'_>, uninitialised: u64) -> Json {
    let shape = |shape: Option<tenslice::Shape<'_>>| shape.map(|shape| shape.iter().collect::<Vec<_>>());
    let defaults = b2nd.defaults();
    let metalayer = |one: b2nd::Metalayer<'_>| json!({"name": one.name, "length": one.content.len()});
    let variable = |one: b2nd::Metalayer<'_>| {
        let decoded = b2nd.variable_metalayer(&one).ok().map(|chunk| chunk.decoded_length());
        json!({"name": one.name, "stored_length": one.content.len(), "length": decoded})
    };
    json!({
        "dtype": b2nd.dtype_text(),
        "item_size": b2nd.item_size(),
        "chunk_shape": shape(b2nd.chunk_shape()),
        "block_shape": shape(b2nd.block_shape()),
        "chunks": b2nd.chunk_count(),
        "uninitialised": uninitialised,
        "chunk_size": defaults.chunk_size,
        "codec": codec(defaults.codec),
        "level": defaults.level,
        "filters": filters(&defaults.filters),
        "decoded": defaults.decoded,
        "stored": defaults.stored,
        "metalayers": b2nd.metalayers().map(metalayer).collect::<Vec<_>>(),
        "variable_metalayers": b2nd.variable_metalayers().map(variable).collect::<Vec<_>>(),
    })
}

/// Attributes as an object.
pub fn attributes(all: Attributes<'_>) -> Json {
    let key = |key: Option<Value<'_>>| match key {
        Some(Value::Text(text)) => text.to_string(),
        other => other.map(|key| line(&key)).unwrap_or_default(),
    };
    Json::Object(all.map(|a| (key(a.key), value(&a.value))).collect::<Map<_, _>>())
}

/// A value of the metadata.
pub fn value(of: &Value<'_>) -> Json {
    match of {
        Value::Null | Value::Undefined => Json::Null,
        Value::Bool(truth) => json!(truth),
        Value::Integer(n) => i64::try_from(*n)
            .map(Json::from)
            .or(u64::try_from(*n).map(Json::from))
            .unwrap_or_else(|_| json!(n.to_string())),
        Value::Float(x) if x.is_finite() => json!(x),
        Value::Float(x) => json!(x.to_string()),
        Value::Text(text) => json!(text.to_string()),
        Value::Decimal(number) => {
            number.as_str().and_then(|number| number.parse().ok()).map_or(Json::Null, |x: f64| json!(x))
        }
        Value::Bytes(bytes) => json!({ "$bytes": hex(bytes) }),
        Value::Array(items) | Value::TextChunks(items) | Value::ByteChunks(items) => {
            items.map(|item| value(&item.value)).collect()
        }
        Value::Map(items) => attributes(*items),
        Value::Tagged(tag, items) => {
            let mut items = *items;
            json!({ "$tag": tag, "value": items.next().map(|item| value(&item.value)) })
        }
        other => json!(other.kind().text()),
    }
}
