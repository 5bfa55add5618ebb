//! A model in several files: an index and the files that it names, or the parts of a GGUF model.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use serde_json::json;
use tenslice::gguf::{PartName, check_parts};
use tenslice::safetensors::Index;
use tenslice::{ErrorKind, File};

use super::{
    Failure, Options, Reader, attributes_json, check_limit, details, map, print_attributes, printable, stored, table,
    tensor_json,
};

/// Whether it may be JSON. (A safetensors file whose header has 123 bytes begins like that, too.)
pub fn is_json(bytes: &[u8]) -> bool {
    bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

/// Shows all files that the index at `path` names, or the one that has the tensor asked for, and checks that each tensor
/// is where the index says.
pub fn inspect(out: &mut impl Write, path: &Path, text: &[u8], options: &Options) -> Result<(), Failure> {
    let index = Index::open(text)?;
    let count = index.tensor_count();
    let mut scratch = vec![0; usize::try_from(count).unwrap_or(usize::MAX).max(1)];
    let warnings = index.check(&mut scratch)?;
    let mut files: Vec<String> = index.files(&mut scratch)?.map(|file| file.to_string()).collect();
    if let Some(name) = &options.tensor {
        let file = index.find(name).map_err(|_| Failure::NoSuchTensor(name.clone()))?;
        files = vec![file.to_string()];
    } else if !options.json {
        let s = |count: u64| if count == 1 { "" } else { "s" };
        let shards = files.len() as u64;
        let (of_tensors, of_files) = (s(count), s(shards));
        writeln!(
            out,
            "{}: safetensors index, {count} tensor{of_tensors} in {shards} file{of_files}",
            path.display()
        )?;
        print_attributes(out, index.metadata())?;
    }
    let mut places: HashMap<String, String> =
        index.entries().map(|entry| (entry.name.to_string(), entry.file.to_string())).collect();
    let mut tensors = Vec::new();
    for name in &files {
        let shard = path.with_file_name(name);
        let fail = |kind, message, offset| Failure::InFile(name.clone(), kind, message, offset);
        let bytes = map(&shard).map_err(|error| fail("Io", error.to_string(), None))?;
        let of_error =
            |error: tenslice::Error| fail(error.kind().name(), error.explain(&bytes[..]).to_string(), error.offset());
        let in_shard = |failure| match failure {
            Failure::ApiError(error) => of_error(error),
            other => other,
        };
        let file = File::open(&bytes).map_err(of_error)?;
        for tensor in file.tensors() {
            let tensor = tensor.name().to_string();
            if places.get(&tensor) == Some(name) {
                places.remove(&tensor);
            }
        }
        let missing = places.iter().filter(|(_, file)| *file == name).map(|(tensor, _)| tensor).min();
        if let Some(tensor) = missing {
            let message = format!("it has no tensor \"{}\", although the index says so", printable(tensor));
            return Err(fail(ErrorKind::NotFound.name(), message, None));
        }
        if options.digest && !options.no_limit {
            check_limit(&file)?;
        }
        let total = file.tensors().map(|tensor| stored(&tensor)).sum();
        let mut reader = options.digest.then(|| Reader::new(total));
        if options.json {
            for tensor in file.tensors() {
                let mut tensor = tensor_json(&file, &tensor, reader.as_mut()).map_err(of_error)?;
                tensor["file"] = json!(name);
                tensors.push(tensor);
            }
            continue;
        }
        if options.tensor.is_none() {
            writeln!(out)?;
        }
        let verdict = match &options.tensor {
            Some(tensor) => {
                let tensor = file.find(tensor).map_err(of_error)?;
                details(out, &shard, &bytes, &file, &tensor, reader.as_mut(), &super::NO_SHARDS).map_err(in_shard)?
            }
            None => table(out, &shard, &file, reader.as_mut()).map_err(in_shard)?,
        };
        drop(reader);
        verdict.map_err(of_error)?;
    }
    if options.json {
        let record = json!({
            "file": path.to_string_lossy(),
            "format": "safetensors index",
            "version": null,
            "warnings": warnings.iter().map(tenslice::Warning::text).collect::<Vec<_>>(),
            "attributes": attributes_json(index.metadata()),
            "files": files,
            "tensors": tensors,
        });
        writeln!(out, "{record}")?;
    }
    Ok(())
}

/// Shows all parts of a GGUF model, of which `first` is at `path`, and checks that they belong together.
pub fn inspect_parts(
    out: &mut impl Write,
    path: &Path,
    first: &File<'_>,
    part: PartName<'_>,
    options: &Options,
) -> Result<(), Failure> {
    let names: Vec<String> = (0..part.count).map(|index| PartName { index, ..part }.to_string()).collect();
    let fail = |index: usize, kind, message, offset| Failure::InFile(names[index].clone(), kind, message, offset);
    let mappings = names.iter().enumerate().map(|(index, name)| {
        map(&path.with_file_name(name)).map_err(|error| fail(index, "Io", error.to_string(), None))
    });
    let mappings = mappings.collect::<Result<Vec<_>, _>>()?;
    let of_error = |index: usize, error: tenslice::Error| {
        fail(index, error.kind().name(), error.explain(&mappings[index][..]).to_string(), error.offset())
    };
    let files = mappings.iter().enumerate().map(|(index, bytes)| File::open(bytes).map_err(|e| of_error(index, e)));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    for (index, file) in files.iter().enumerate() {
        if file.as_gguf().is_none() {
            return Err(fail(index, ErrorKind::UnknownFormat.name(), "it is no GGUF file".into(), None));
        }
    }
    check_parts(files.iter().filter_map(File::as_gguf)).map_err(|(index, error)| of_error(index, error))?;
    let mut tensors = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let total = file.tensors().map(|tensor| stored(&tensor)).sum();
        let mut reader = options.digest.then(|| Reader::new(total));
        let shard = path.with_file_name(&names[index]);
        let in_part = |failure| match failure {
            Failure::ApiError(error) => of_error(index, error),
            other => other,
        };
        match &options.tensor {
            _ if options.json => {
                for tensor in file.tensors() {
                    let mut tensor =
                        tensor_json(file, &tensor, reader.as_mut()).map_err(|error| of_error(index, error))?;
                    tensor["file"] = json!(names[index]);
                    tensors.push(tensor);
                }
            }
            Some(name) => {
                if let Ok(tensor) = file.find(name) {
                    let verdict =
                        details(out, &shard, &mappings[index], file, &tensor, reader.as_mut(), &super::NO_SHARDS);
                    return verdict.map_err(in_part)?.map_err(|error| of_error(index, error));
                }
            }
            None => {
                if index > 0 {
                    writeln!(out)?;
                }
                let verdict = table(out, &shard, file, reader.as_mut()).map_err(in_part)?;
                verdict.map_err(|error| of_error(index, error))?;
            }
        }
    }
    match &options.tensor {
        Some(name) => Err(Failure::NoSuchTensor(name.clone())),
        None if options.json => {
            let record = json!({
                "file": path.to_string_lossy(),
                "format": "gguf",
                "version": first.version(),
                "warnings": first.warnings().iter().map(tenslice::Warning::text).collect::<Vec<_>>(),
                "attributes": attributes_json(first.attributes()),
                "files": names,
                "tensors": tensors,
            });
            Ok(writeln!(out, "{record}")?)
        }
        None => Ok(()),
    }
}
