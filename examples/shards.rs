//! Lists all or some tensors of a safetensors model in several files, by its index.
//!
//! Maps only the files that have these tensors, each once, and checks that each tensor is where the index says.
//! `cargo run --example shards FOLDER/model.safetensors.index.json [NAME...]`

use std::error::Error;
use std::fmt::Display;
use std::fs::File as Handle;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use tenslice::File;
use tenslice::safetensors::{Index, IndexEntry};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: shards INDEX [NAME...]");
        return ExitCode::from(2);
    };
    let names: Vec<_> = arguments.map(|name| name.to_string_lossy().into_owned()).collect();
    if list(&mut io::stdout().lock(), path.as_ref(), &names) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Lists the tensors of these names, or all tensors if there are no names. Returns true if each is where the index
/// says.
fn list(out: &mut impl Write, path: &Path, names: &[String]) -> bool {
    list_index(out, path, names).unwrap_or_else(|error| complain(path, error))
}

/// Prints an error of a file. Returns false.
fn complain(path: &Path, error: impl Display) -> bool {
    eprintln!("error: {}: {error}", path.display());
    false
}

fn list_index(out: &mut impl Write, path: &Path, names: &[String]) -> Result<bool, Box<dyn Error>> {
    let text = map(path)?;
    let explain = |error: tenslice::Error| error.explain(&text[..]).to_string();
    let index = Index::open(&text).map_err(explain)?;
    let mut scratch = vec![0; usize::try_from(index.tensor_count())?.max(1)];
    index.check(&mut scratch).map_err(explain)?;
    let mut is_complete = true;
    for name in names {
        if index.find(name).is_err() {
            is_complete = complain(path, format!("it names no tensor {name}"));
        }
    }
    for file in index.files(&mut scratch).map_err(explain)? {
        let is_wanted =
            |entry: &IndexEntry<'_>| names.is_empty() || names.iter().any(|name| entry.name == name.as_str());
        let wanted: Vec<_> = index.entries().filter(|entry| entry.file == file && is_wanted(entry)).collect();
        if !wanted.is_empty() {
            // Opening the index has checked that no path leads out of its folder.
            let shard = path.with_file_name(file.to_string());
            is_complete &= list_shard(out, &shard, &wanted).unwrap_or_else(|error| complain(&shard, error));
        }
    }
    Ok(is_complete)
}

/// Lists the tensors that are in one file according to the index. Returns true if the file has all of them.
fn list_shard(out: &mut impl Write, path: &Path, entries: &[IndexEntry<'_>]) -> Result<bool, Box<dyn Error>> {
    let bytes = map(path)?;
    let shard = File::open(&bytes).map_err(|error| error.explain(&bytes[..]).to_string())?;
    let mut is_complete = true;
    for IndexEntry { name, file } in entries {
        if let Ok(tensor) = shard.find(&name.to_string()) {
            let dtype = tensor.dtype().map_or("-".into(), |dtype| dtype.to_string());
            writeln!(out, "{name} {dtype} {} {file}", tensor.shape())?;
        } else {
            is_complete = complain(path, format!("it has no tensor {name}, although the index says so"));
        }
    }
    Ok(is_complete)
}

/// Maps a file into memory.
fn map(path: &Path) -> io::Result<Mapping> {
    let handle = Handle::open(path)?;
    if handle.metadata()?.len() == 0 {
        return Ok(Mapping(None)); // an empty file cannot be mapped
    }
    // SAFETY: the library never trusts bytes to stay unchanged. If a mapped file is truncated, a signal ends the
    // program, as with any program that maps files.
    unsafe { memmap2::Mmap::map(&handle) }.map(|map| Mapping(Some(map)))
}

struct Mapping(Option<memmap2::Mmap>);

impl std::ops::Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::list;

    const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/safetensors");

    /// Returns the output for an index in the folder, and true if everything was found.
    fn listed(folder: &str, index: &str, names: &[&str]) -> (String, bool) {
        let names: Vec<_> = names.iter().map(|name| name.to_string()).collect();
        let mut out = Vec::new();
        let is_complete = list(&mut out, format!("{folder}/{index}").as_ref(), &names);
        (String::from_utf8(out).unwrap(), is_complete)
    }

    #[test]
    fn lists_all_or_some() {
        let index = "rs_sharded.safetensors.index.json";
        let (first, second) = ("rs_sharded-00001-of-00002.safetensors", "rs_sharded-00002-of-00002.safetensors");
        let all = format!("enc.b f32 [2] {first}\nenc.w f32 [3, 2] {first}\ndec.w f32 [2, 3] {second}\n");
        assert_eq!(listed(FIXTURES, index, &[]), (all, true));
        assert_eq!(listed(FIXTURES, index, &["dec.w"]), (format!("dec.w f32 [2, 3] {second}\n"), true));
        assert_eq!(listed(FIXTURES, index, &["dec"]), (String::new(), false));
    }

    #[test]
    fn says_what_is_not_as_the_index_says() {
        let folder = std::env::temp_dir().join(format!("tenslice-shards-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let at = |name: &str| folder.join(name);
        fs::copy(format!("{FIXTURES}/rs_sharded-00002-of-00002.safetensors"), at("a")).unwrap();
        fs::write(at("b"), "no tensors").unwrap();
        fs::write(at("empty"), "").unwrap();
        for (map, names, expected) in [
            (r#"{"dec.w": "a"}"#, &[][..], ("dec.w f32 [2, 3] a\n", true)),
            (r#"{"d\u0065c.w": "\u0061", "x": "b"}"#, &["dec.w"], ("dec.w f32 [2, 3] a\n", true)),
            (r#"{"dec.w": "a", "x": "a"}"#, &[], ("dec.w f32 [2, 3] a\n", false)),
            (r#"{"dec.w": "a", "x": "b"}"#, &[], ("dec.w f32 [2, 3] a\n", false)),
            (r#"{"dec.w": "a", "x": "c"}"#, &[], ("dec.w f32 [2, 3] a\n", false)),
            (r#"{"dec.w": "a", "x": "empty"}"#, &[], ("dec.w f32 [2, 3] a\n", false)),
            (r#"{"dec.w": "a"}"#, &["x"], ("", false)),
            (r#"{"dec.w": "./a"}"#, &[], ("dec.w f32 [2, 3] ./a\n", true)),
            (r#"{"dec.w": "../a"}"#, &[], ("", false)),
            ("{}", &[], ("", true)),
            ("", &[], ("", false)),
        ] {
            fs::write(at("index.json"), format!(r#"{{"weight_map": {map}}}"#)).unwrap();
            let (printed, is_complete) = listed(folder.to_str().unwrap(), "index.json", names);
            assert_eq!((printed.as_str(), is_complete), expected, "{map}");
        }
        assert_eq!(listed(folder.to_str().unwrap(), "no.json", &[]), (String::new(), false));
        fs::remove_dir_all(&folder).unwrap();
    }
}
