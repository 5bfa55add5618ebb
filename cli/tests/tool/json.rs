//! Every command prints records that the schema describes.

use serde_json::Value;

use crate::support::{Folder, fixture, fixtures, out, run};

/// Returns true if a value is of a type of JSON Schema.
fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => panic!("unknown type {name}"),
    }
}

/// Validates a value with the keywords of JSON Schema that the document uses; fails on any other keyword. (A validator
/// of all of JSON Schema takes 40 crates.)
fn check(root: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    let fail =
        |what: &str| Err(format!("{place}: {what}: {}", value.to_string().chars().take(200).collect::<String>()));
    // The kind of a record is a property. Another kind is told from a missing field.
    let (first, others): (Vec<_>, Vec<_>) =
        schema.as_object().unwrap().iter().partition(|(keyword, _)| *keyword == "properties");
    for (keyword, rule) in first.into_iter().chain(others) {
        let is_met = match &**keyword {
            "$schema" | "title" | "description" | "$defs" => true,
            "$ref" => {
                let target = root.pointer(rule.as_str().unwrap().trim_start_matches('#')).unwrap();
                check(root, target, value, place)?;
                true
            }
            "type" => match rule {
                Value::Array(names) => names.iter().any(|name| is_of_type(value, name.as_str().unwrap())),
                name => is_of_type(value, name.as_str().unwrap()),
            },
            "const" => value == rule,
            "enum" => rule.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
            "required" => {
                let has = |key: &Value| value.get(key.as_str().unwrap()).is_some();
                value.is_null() || rule.as_array().unwrap().iter().all(has)
            }
            "properties" => {
                for (key, rule) in rule.as_object().unwrap() {
                    if let Some(value) = value.get(key) {
                        check(root, rule, value, &format!("{place}.{key}"))?;
                    }
                }
                true
            }
            "items" => {
                for (i, value) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, value, &format!("{place}[{i}]"))?;
                }
                true
            }
            "allOf" => {
                rule.as_array().unwrap().iter().try_for_each(|rule| check(root, rule, value, place))?;
                true
            }
            "oneOf" => {
                let results = rule.as_array().unwrap().iter().map(|rule| check(root, rule, value, place));
                let is_kind =
                    |result: &Result<(), String>| !matches!(result, Err(why) if why.contains(".record: const"));
                let of_kind: Vec<_> = results.filter(is_kind).collect();
                let [only] = &of_kind[..] else { return fail("not exactly one kind of record") };
                only.clone()?;
                true
            }
            _ => panic!("{place}: unknown keyword {keyword}"),
        };
        if !is_met {
            return fail(keyword);
        }
    }
    Ok(())
}

/// Checks that each line is a record of the schema. Returns their kinds.
fn kinds(text: &str) -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/tool-schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let kind = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        check(&schema, &schema, &record, "record").unwrap();
        let kind = record["record"].as_str().unwrap();
        // No field is missing in the schema.
        let fields = schema["$defs"][kind]["properties"].as_object().unwrap();
        for field in record.as_object().unwrap().keys().filter(|field| *field != "schema") {
            assert!(fields.contains_key(field) || (kind, &**field) == ("metadata", "value"), "{kind}: {field}");
        }
        kind.to_owned()
    };
    text.lines().map(kind).collect()
}

/// Runs the tool with `--json`. Standard error is for people, so it must be empty.
fn records(arguments: &[&str]) -> Vec<String> {
    let run = run(&[arguments, &["--json"]].concat());
    assert_eq!(run.err, "", "{arguments:?}");
    kinds(&run.out)
}

#[test]
fn every_command_prints_records() {
    let folder = Folder::new();
    let path = |name: &str| folder.path(name);
    let [mlp, zt, gguf] =
        ["safetensors/py_tiny_mlp.safetensors", "v1.2/digests.zt", "gguf/vocab_601.gguf"].map(fixture);
    let damaged = fixture("safetensors/bad/st_dtype_F8.safetensors");
    let index = fixture("safetensors/rs_sharded.safetensors.index.json");
    std::fs::copy(&mlp, path("copy.safetensors")).unwrap();
    let copy = path("copy.safetensors");
    let cases: &[(&[&str], &[&str])] = &[
        (&["list", &mlp, &zt, &gguf, &index], &["list"; 4]),
        (&["list", "--digest", &zt], &["list"]),
        (&["list", &damaged, "no/such/file"], &["error", "error"]),
        (&[&mlp], &["list"]),
        (&["list", "--metadata", "task", &mlp], &["metadata"]),
        (&["list", "--tokens", "a", &gguf], &["tokens"]),
        (&["show", &zt, "a"], &["show"]),
        (&["show", &zt, "a", "--slice", "1:3"], &["show"]),
        (&["show", &zt, "a", "--no-stats"], &["show"]),
        (&["show", &zt, "none"], &["error"]),
        (&["stats", "--hash", "--quantiles", "0.5", &zt], &["stats"]),
        (&["verify", &zt, &damaged], &["verify", "error"]),
        (&["diff", &mlp, &mlp], &["diff"]),
        (&["diff", &mlp, &zt], &["diff"]),
        (&["diff", &mlp, &damaged], &["error"]),
        (&["layout", &zt, &index], &["layout"; 3]),
        (&["explain", &zt, &damaged], &["explain"; 2]),
        (&["extract", &zt, "a", "-o", &path("a.npy")], &["written"]),
        (&["extract", &zt, "a", "-o", "-", "--format", "npy"], &["error"]),
        (&["convert", &mlp, "-o", &path("m.zt")], &["written"]),
        (&["footprint", &mlp], &["footprint"]),
        (&["quantize", &mlp, "-o", &path("q.zt"), "--to", "int8", "--exclude", "fc1.weight"], &["quantize"]),
        (&["embed", &mlp, "-o", &path("w.S")], &["written"]),
        (&["repack", &mlp, "-o", &path("r.safetensors")], &["written"]),
        (&["split", "--shard-tensors", "2", &mlp, "-o", &path("s.safetensors")], &["written"]),
        (&["merge", &index, "-o", &path("merged.safetensors")], &["written"]),
        (&["set", &copy, "task=other"], &["written"]),
        (&["set", &copy, "task=memo"], &["written"]),
    ];
    for (arguments, expected) in cases {
        assert_eq!(records(arguments), *expected, "{arguments:?}");
    }
    let written = run(&["convert", &mlp, "-o", &path("n.zt"), "--json"]).out;
    assert_eq!(serde_json::from_str::<Value>(&written).unwrap()["written"], serde_json::json!([path("n.zt")]));
}

/// All fixtures, also the damaged ones, and all commands that only read.
#[test]
fn every_fixture_has_a_record() {
    let files = fixtures();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    for command in [&["list"][..], &["list", "--digest"], &["verify"], &["layout"], &["explain"], &["stats"]] {
        for some in files.chunks(300) {
            let run = run(&[command, some, &["--json"]].concat());
            assert!(matches!(run.status, 0 | 1), "{}", run.err);
            kinds(&run.out);
        }
    }
}

/// The order of the metadata is that of the file.
#[test]
fn metadata_keeps_its_order() {
    let text = out(&["list", "--json", &fixture("gguf/c_writer.gguf")]);
    let places =
        ["general.architecture", "k.u8", "k.i8", "k.u16", "a.i32", "a.str"].map(|key| text.find(key).unwrap());
    assert!(places.is_sorted(), "{text}");
}
