//! Models of several files: the index decides where a tensor is, parts are compared, and what is wrong with one file
//! leaves the others readable.

use tenslice::{DType, ErrorKind, Expected, File, Model, ModelFile, ProblemKind};

#[cfg(any(feature = "gguf", feature = "safetensors"))]
use crate::support::Random;

/// The kinds and the sentences of all problems. The two views of a problem must agree.
fn problems(model: &Model<'_, '_>) -> Vec<(ProblemKind, String)> {
    let all: Vec<_> = model.problems().collect();
    for problem in &all {
        let sentence = problem.to_string();
        if let Some(file) = problem.file() {
            assert!(sentence.starts_with(&format!("{}: ", model.files()[file].name())), "{sentence}");
        }
        if let Some(tensor) = problem.tensor() {
            assert!(sentence.contains(&format!("tensor \"{tensor}\"")), "{sentence}");
        }
        let has_error = matches!(problem.kind(), ProblemKind::InvalidFile | ProblemKind::UnreadableTensor);
        assert_eq!(problem.error().is_some(), has_error, "{sentence}");
        match problem.parts() {
            None => assert_ne!(problem.kind(), ProblemKind::MissingPart, "{sentence}"),
            Some((first, last)) if first == last => {
                assert!(sentence.starts_with(&format!("part {} of ", first + 1)), "{sentence}");
            }
            Some((first, last)) => {
                assert!(sentence.starts_with(&format!("parts {}-{} of ", first + 1, last + 1)), "{sentence}");
            }
        }
    }
    all.iter().map(|problem| (problem.kind(), problem.to_string())).collect()
}

fn sentences(model: &Model<'_, '_>) -> Vec<String> {
    problems(model).into_iter().map(|(_, sentence)| sentence).collect()
}

/// The message for a tensor that `find` does not find.
fn message(model: &Model<'_, '_>, name: &str) -> (ErrorKind, String) {
    let error = model.find(name).map(|(file, _)| file).unwrap_err();
    (error.kind(), model.explain(&Expected::named(name), error).to_string())
}

/// The files that ONNX and TFLite name for the bytes of their tensors. Neither states the length of such a file.
#[cfg(all(feature = "onnx", feature = "tflite"))]
#[test]
fn files_with_bytes_of_tensors() {
    let bytes = crate::support::fixture("onnx/py_external.onnx");
    let data: Vec<u8> = (0..=255).cycle().take(1024).collect();
    let main = ModelFile::new("m.onnx", File::open(&bytes).unwrap());
    let mut files = [main, ModelFile::shard("model.data", &data)];
    let mut words = vec![0; Model::length(&files).unwrap()];
    let model = Model::new(&mut files, &mut words).unwrap();
    let missing = |file: &str, name: &str| (ProblemKind::MissingShard, format!("{file}: shard {name:?} is missing"));
    let of_onnx = ["other.bin", "sub/folder/b.bin", "./here.bin"].map(|name| missing("m.onnx", name));
    assert_eq!(problems(&model), of_onnx);
    let found = model.get(&Expected::named("w1").shape(&[16, 16])).unwrap();
    assert_eq!(found.bytes().unwrap(), data);
    assert_eq!(model.get(&Expected::named("w2")).unwrap_err().kind(), ErrorKind::OutOfFile);
    let expected = Expected::named("no_offset");
    let error = model.get(&expected).unwrap_err();
    let text = "tensor \"no_offset\": its bytes are in the shard \"other.bin\", which is missing [in \"m.onnx\"]";
    assert_eq!((error.kind(), &*model.explain(&expected, error).to_string()), (ErrorKind::InShard, text));

    let bytes = crate::support::fixture("tflite/py_external_buffers.tflite");
    let mut files = [ModelFile::new("m.tflite", File::open(&bytes).unwrap())];
    let mut words = vec![0; Model::length(&files).unwrap()];
    let model = Model::new(&mut files, &mut words).unwrap();
    let of_tflite = ["weights.bin", "https://host.invalid/w2.bin"].map(|name| missing("m.tflite", name));
    assert_eq!(problems(&model), of_tflite);
}

#[cfg(feature = "safetensors")]
mod indexed {
    use tenslice::safetensors::Index;
    use tenslice::{Error, Tensor};

    use super::*;

    /// A safetensors file of these tensors, each with one byte: its value.
    fn file(tensors: &[(&str, u8)]) -> Vec<u8> {
        let entry = |(i, (name, _)): (usize, &(&str, u8))| {
            format!(r#"{name}:{{"dtype":"U8","shape":[1],"data_offsets":[{i},{}]}}"#, i + 1)
        };
        let quoted: Vec<_> = tensors.iter().map(|(name, value)| (format!("{name:?}"), *value)).collect();
        let tensors: Vec<_> = quoted.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let header = format!("{{{}}}", tensors.iter().enumerate().map(entry).collect::<Vec<_>>().join(","));
        let data: Vec<u8> = tensors.iter().map(|(_, value)| *value).collect();
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
    }

    fn index(map: &[(&str, &str)]) -> String {
        let entries: Vec<_> = map.iter().map(|(name, file)| format!("{name:?}: {file:?}")).collect();
        format!(r#"{{"metadata": {{"total_size": 3}}, "weight_map": {{{}}}}}"#, entries.join(", "))
    }

    fn value(found: Result<(usize, Tensor<'_>), Error>) -> u8 {
        found.unwrap().1.data().unwrap().bytes().unwrap()[0]
    }

    #[test]
    fn the_index_decides_where_a_tensor_is() {
        let (base, overlay) = (file(&[("a", 1), ("b", 2), ("stale", 3)]), file(&[("a", 9), ("c", 4)]));
        let text = index(&[("a", "./b//overlay.st"), ("b", "base.st"), ("c", "b/overlay.st")]);
        let index = Index::open(text.as_bytes()).unwrap();
        let mut files = [
            ModelFile::new("b/./overlay.st", File::open(&overlay).unwrap()),
            ModelFile::new("base.st", File::open(&base).unwrap()),
        ];
        for _ in 0..2 {
            files.reverse();
            let mut words = vec![7; 18];
            assert_eq!(Model::length_with_index(&index), Some(18));
            let short = Model::with_index(index, &mut files, &mut words[..17]).unwrap_err();
            assert_eq!(short.kind(), ErrorKind::OutOfScratch);
            let model = Model::with_index(index, &mut files, &mut words).unwrap();
            assert_eq!(["a", "b", "c"].map(|name| value(model.find(name))), [9, 2, 4]);
            let all: Vec<_> = model.tensors().map(|(file, tensor)| (file, tensor.name().to_string())).collect();
            assert_eq!(all, [(0, "a".into()), (0, "c".into()), (1, "b".into())]);
            assert!(model.tensors().all(|(file, tensor)| model.find(&tensor.name().to_string()).unwrap().0 == file));
            let stale =
                "base.st: tensor \"a\" is not a tensor of the model: the index lists it in \"b/./overlay.st\"";
            let unlisted = "base.st: tensor \"stale\" is not a tensor of the model: the index does not list it";
            assert_eq!(sentences(&model), [stale, unlisted]);
            assert!(model.problems().all(|problem| problem.kind().is_warning()));
            let nothing = (ErrorKind::NotFound, "no tensor \"stale\"".into());
            assert_eq!(message(&model, "stale"), nothing);
        }
    }

    #[test]
    fn a_missing_file_hides_only_its_own_tensors() {
        let first = file(&[("layer.0.weight", 1), ("extra\u{e9}", 2)]);
        let text = index(&[
            ("layer.0.weight", "1.st"),
            ("layer.0.bias", "1.st"),
            ("layer.1.weight", "2.st"),
            ("layer.1.bias", "2.st"),
            ("layer.2.weight", "3.st"),
            ("layer.3.weight", "4.st"),
        ]);
        let index = Index::open(text.as_bytes()).unwrap();
        let cut = &file(&[("layer.2.weight", 1)])[..20];
        let mut files = [
            ModelFile::new("1.st", File::open(&first).unwrap()),
            ModelFile::missing("2.st"),
            ModelFile::invalid("3.st", File::open(cut).unwrap_err(), cut),
        ];
        let mut words = vec![0; Model::length_with_index(&index).unwrap()];
        let model = Model::with_index(index, &mut files, &mut words).unwrap();
        assert_eq!(value(model.find("layer.0.weight")), 1);
        assert_eq!(model.tensors().count(), 1);
        let found = problems(&model);
        let invalid = format!("3.st: {}", File::open(cut).unwrap_err().explain(cut));
        let missing = "2.st: the file is missing, and with it 2 tensors of the index";
        let expected = [
            (ProblemKind::MissingFile, missing),
            (ProblemKind::InvalidFile, &invalid),
            (ProblemKind::MissingTensor, "1.st: tensor \"layer.0.bias\" is missing; the index lists it in this file"),
            (ProblemKind::MissingFile, "tensor \"layer.3.weight\" is in \"4.st\", and that file is missing"),
            (
                ProblemKind::UnlistedTensor,
                "1.st: tensor \"extra\u{e9}\" is not a tensor of the model: the index does not list it",
            ),
        ];
        assert_eq!(found, expected.map(|(kind, text)| (kind, text.to_string())));
        // The message for a tensor that cannot be read is that of the problem.
        for (name, text) in [
            ("layer.1.bias", missing),
            ("layer.2.weight", &invalid),
            ("layer.0.bias", expected[2].1),
            ("layer.3.weight", expected[3].1),
        ] {
            assert_eq!(message(&model, name), (ErrorKind::NotFound, text.into()));
        }
        let text = "no tensor \"layer.0.wieght\"; the nearest name is \"layer.0.weight\"";
        assert_eq!(message(&model, "layer.0.wieght"), (ErrorKind::NotFound, text.into()));
    }

    /// A model of thousands of tensors in many files, in any order, with names in escapes.
    #[test]
    fn every_name_of_a_large_model_is_found() {
        let mut random = Random(1);
        let names: Vec<(String, usize, u8)> = (0..3000)
            .map(|i| (format!("model.layers.{i}.\u{e9}\"\u{1f600}"), random.below(37), random.below(256) as u8))
            .collect();
        let paths: Vec<String> = (0..37).map(|i| format!("part-{i}.st")).collect();
        let bytes: Vec<Vec<u8>> = (0..37)
            .map(|file| {
                let of_file = names.iter().filter(|(_, of, _)| *of == file);
                super::indexed::file(&of_file.map(|(name, _, value)| (name.as_str(), *value)).collect::<Vec<_>>())
            })
            .collect();
        let escaped =
            |name: &str| name.replace('\u{e9}', "\\u00e9").replace('"', "\\\"").replace("part", "p\\u0061rt");
        let entries: Vec<_> = names
            .iter()
            .map(|(name, file, _)| format!(r#""{}":"{}""#, escaped(name), escaped(&paths[*file])))
            .collect();
        let text = format!(r#"{{"weight_map":{{{}}}}}"#, entries.join(","));
        let index = Index::open(text.as_bytes()).unwrap();
        let mut files: Vec<_> =
            (0..37).rev().map(|i| ModelFile::new(&*paths[i], File::open(&bytes[i]).unwrap())).collect();
        let mut words = vec![0; Model::length_with_index(&index).unwrap()];
        let model = Model::with_index(index, &mut files, &mut words).unwrap();
        assert!(model.problems().next().is_none());
        for (name, file, number) in &names {
            let found = model.find(name);
            assert_eq!(model.files()[found.unwrap().0].name(), &*paths[*file]);
            assert_eq!(value(found), *number);
            assert!(model.find(&format!("{name} ")).is_err());
        }
        assert_eq!(model.tensors().count(), 3000);
    }

    #[test]
    fn what_a_program_expects() {
        let (one, two) = (file(&[("a", 1)]), file(&[("bias", 2)]));
        let text = index(&[("a", "1.st"), ("bias", "2.st")]);
        let mut files =
            [ModelFile::new("1.st", File::open(&one).unwrap()), ModelFile::new("2.st", File::open(&two).unwrap())];
        let mut words = [0; 12];
        let model = Model::with_index(Index::open(text.as_bytes()).unwrap(), &mut files, &mut words).unwrap();
        let expected = Expected::named("bias").dtype(DType::U8).shape(&[1]);
        assert_eq!(model.get(&expected).unwrap().bytes().unwrap(), [2]);
        let wrong = expected.shape(&[2, 3]);
        let error = model.get(&wrong).map(|_| ()).unwrap_err();
        let text = "tensor \"bias\": expected u8 [2, 3]; the file has u8 [1] [in \"2.st\"]";
        assert_eq!((error.kind(), &*model.explain(&wrong, error).to_string()), (ErrorKind::WrongShape, text));
    }

    #[test]
    fn a_model_has_each_name_and_each_file_once() {
        let bytes = file(&[("a", 1)]);
        let file = File::open(&bytes).unwrap();
        let mut files = [ModelFile::new("x.st", file), ModelFile::new("./x.st", file)];
        let text = index(&[("a", "x.st")]);
        let index = Index::open(text.as_bytes()).unwrap();
        let mut words = [0; 12];
        let error = Model::with_index(index, &mut files, &mut words).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let error = Model::new(&mut files, &mut words).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        // An index with too many unsorted names to compare without memory.
        let mut names: Vec<String> = (0..1100).map(|i| format!("{:04}", 1100 - i)).collect();
        names.push("0700".into());
        let map: Vec<_> = names.iter().map(|name| (name.as_str(), "x.st")).collect();
        let text = super::indexed::index(&map);
        let index = Index::open(text.as_bytes()).unwrap();
        let mut words = vec![0; Model::length_with_index(&index).unwrap()];
        let error = Model::with_index(index, &mut files[..1], &mut words).unwrap_err();
        let at = text.rfind("\"0700\"").unwrap() as u64;
        assert_eq!((error.kind(), error.offset()), (ErrorKind::RepeatedName, Some(at)));
    }

    /// Without an index, all tensors of all files are tensors of the model, and a name may be in one file only.
    #[test]
    fn files_without_an_index() {
        let (one, two) = (file(&[("a", 1), ("b", 2)]), file(&[("c", 3), ("b", 4), ("d", 5)]));
        let mut files =
            [ModelFile::new("2.st", File::open(&two).unwrap()), ModelFile::new("1.st", File::open(&one).unwrap())];
        let mut words = vec![0; Model::length(&files).unwrap()];
        assert_eq!(words.len(), 30);
        assert_eq!(Model::new(&mut files, &mut words[..29]).unwrap_err().kind(), ErrorKind::OutOfScratch);
        let model = Model::new(&mut files, &mut words).unwrap();
        assert_eq!(["a", "c", "d"].map(|name| value(model.find(name))), [1, 3, 5]);
        let text = "2.st: tensor \"b\" is also in \"1.st\"";
        assert_eq!(problems(&model), [(ProblemKind::RepeatedTensor, text.to_string())]);
        assert_eq!(message(&model, "b"), (ErrorKind::RepeatedName, "1.st: tensor \"b\" is also in \"2.st\"".into()));
        let all: Vec<_> = model.tensors().map(|(file, tensor)| (file, tensor.name().to_string())).collect();
        let expected =
            [(0, "a"), (0, "b"), (1, "c"), (1, "b"), (1, "d")].map(|(file, name)| (file, name.to_string()));
        assert_eq!(all, expected);
        let empty = Model::new(&mut [], &mut []).unwrap();
        assert!(empty.tensors().next().is_none() && empty.problems().next().is_none() && empty.find("").is_err());
    }

    /// Opening does not compare the names of more than 1024 tensors in any order: `check` does, and so does a model.
    #[test]
    fn a_name_is_twice_in_a_file_of_many_tensors() {
        let mut names: Vec<String> = (0..1100).rev().map(|number| format!("{number:04}")).collect();
        names.push("0700".into());
        let tensors: Vec<_> = names.iter().map(|name| (name.as_str(), 1)).collect();
        let (one, two) = (file(&[("a", 1)]), file(&tensors));
        let mut files =
            [ModelFile::new("1.st", File::open(&one).unwrap()), ModelFile::new("2.st", File::open(&two).unwrap())];
        let mut words = vec![0; Model::length(&files).unwrap()];
        let model = Model::new(&mut files, &mut words).unwrap();
        assert_eq!(value(model.find("0699")), 1);
        assert_eq!(model.find("0700").unwrap_err().kind(), ErrorKind::RepeatedName);
        let (number, error) = model.check(&mut vec![0; model.check_length().unwrap()]).unwrap_err();
        assert_eq!((number, error.kind()), (1, ErrorKind::RepeatedName));
        let text = index(&[("0699", "2.st"), ("0700", "2.st")]);
        let model = Model::with_index(Index::open(text.as_bytes()).unwrap(), &mut files, &mut words).unwrap();
        assert_eq!(value(model.find("0699")), 1);
        assert_eq!(model.find("0700").unwrap_err().kind(), ErrorKind::RepeatedName);
    }

    /// A name is spelled with escapes in one file, and is the path to a value in the other.
    #[cfg(feature = "pytorch")]
    #[test]
    fn a_name_with_escapes_and_a_path() {
        let checkpoint = include_bytes!("../fixtures/pytorch/dict_then_tuple.pt");
        for (name, is_same) in [(r"a\u002e1.3", true), (r"a\u002e1.4", false)] {
            let header = format!(r#"{{"{name}":{{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}}}"#);
            let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &[1]].concat();
            let files = [("1.st", &bytes[..]), ("2.pt", checkpoint)];
            for mut files in [files, [files[1], files[0]]]
                .map(|both| both.map(|(name, bytes)| ModelFile::new(name, File::open(bytes).unwrap())))
            {
                let mut words = vec![0; Model::length(&files).unwrap()];
                let model = Model::new(&mut files, &mut words).unwrap();
                let kinds: Vec<_> = problems(&model).into_iter().map(|(kind, _)| kind).collect();
                assert_eq!(kinds, [ProblemKind::RepeatedTensor].repeat(usize::from(is_same)), "{name}");
            }
        }
    }
}

#[cfg(feature = "gguf")]
mod parts {
    use super::*;
    use crate::support::gguf::{Gguf, Meta};

    /// A part of a model, with these tensors of type `i8`.
    fn part(index: u16, count: u16, total: Option<i32>, tensors: &[&str]) -> Vec<u8> {
        let mut file = Gguf::default();
        file.pair("split.no", &Meta::U16(index)).pair("split.count", &Meta::U16(count));
        if let Some(total) = total {
            file.pair("split.tensors.count", &Meta::I32(total));
        }
        for name in tensors {
            file.tensor(name, &[1], 24, &[index as u8]);
        }
        file.bytes()
    }

    /// The files of the model in its order, the kinds and sentences of its problems.
    fn judged(parts: &[(&str, &[u8])]) -> (Vec<String>, Vec<(ProblemKind, String)>) {
        let open = |(name, bytes): &(&'static str, &'static [u8])| match File::open(bytes) {
            Ok(file) => ModelFile::new(*name, file),
            Err(_) if bytes.is_empty() => ModelFile::missing(*name),
            Err(error) => ModelFile::invalid(*name, error, *bytes),
        };
        // The order in which a program passes the files makes no difference.
        let leaked: Vec<(&'static str, &'static [u8])> =
            parts.iter().map(|(name, bytes)| (&*name.to_string().leak(), &*bytes.to_vec().leak())).collect();
        let mut results = Vec::new();
        for turn in 0..parts.len() {
            let mut files: Vec<_> = leaked.iter().map(open).collect();
            files.rotate_left(turn);
            let mut words = vec![0; Model::length(&files).unwrap()];
            let model = Model::new(&mut files, &mut words).unwrap();
            results.push((model.files().iter().map(|file| file.name().to_string()).collect(), problems(&model)));
        }
        results.dedup();
        assert_eq!(results.len(), 1, "{results:?}");
        results.remove(0)
    }

    fn is(found: (Vec<String>, Vec<(ProblemKind, String)>), files: &[&str], problems: &[(ProblemKind, &str)]) {
        let expected: Vec<_> = problems.iter().map(|(kind, text)| (*kind, text.to_string())).collect();
        assert_eq!(found, (files.iter().map(|name| name.to_string()).collect(), expected));
    }

    #[test]
    fn statements_of_parts_are_compared() {
        const NAMES: [&str; 3] = ["m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"];
        let [a, b, c] = [0, 1, 2].map(|i| part(i, 3, Some(3), &[["a", "b", "c"][i as usize]]));
        is(judged(&[(NAMES[0], &a), (NAMES[1], &b), (NAMES[2], &c)]), &NAMES, &[]);
        // The contents decide, not the names.
        let swapped = "this is part 3 of 3 (split.no 2), and its name states another";
        let other = "this is part 2 of 3 (split.no 1), and its name states another";
        is(
            judged(&[(NAMES[0], &a), (NAMES[1], &c), (NAMES[2], &b)]),
            &[NAMES[0], NAMES[2], NAMES[1]],
            &[
                (ProblemKind::MisnamedPart, &format!("{}: {other}", NAMES[2])),
                (ProblemKind::MisnamedPart, &format!("{}: {swapped}", NAMES[1])),
            ],
        );
        is(
            judged(&[(NAMES[0], &a), (NAMES[2], &c)]),
            &[NAMES[0], NAMES[2]],
            &[(ProblemKind::MissingPart, "part 2 of 3 is missing")],
        );
        is(
            judged(&[(NAMES[1], &b)]),
            &[NAMES[1]],
            &[
                (ProblemKind::MissingPart, "part 1 of 3 is missing"),
                (ProblemKind::MissingPart, "part 3 of 3 is missing"),
            ],
        );
        is(judged(&[(NAMES[0], &a)]), &NAMES[..1], &[(ProblemKind::MissingPart, "parts 2-3 of 3 are missing")]);
        // A part that cannot be opened, or that the program knows to be missing, is one problem.
        let error = File::open(&b[..30]).unwrap_err().explain(&b[..30]).to_string();
        is(
            judged(&[(NAMES[0], &a), (NAMES[1], &b[..30]), (NAMES[2], &[])]),
            &NAMES,
            &[
                (ProblemKind::InvalidFile, &format!("{}: {error}", NAMES[1])),
                (ProblemKind::MissingFile, &format!("{}: the file is missing", NAMES[2])),
            ],
        );
        is(
            judged(&[(NAMES[0], &a), (NAMES[1], &b), (NAMES[2], &part(5, 3, Some(3), &["c"]))]),
            &NAMES,
            &[
                (
                    ProblemKind::InvalidPart,
                    &format!("{}: split.no is 5 and split.count is 3; the model has 3 parts", NAMES[2]),
                ),
                (ProblemKind::MissingPart, "part 3 of 3 is missing"),
                (
                    ProblemKind::MisnamedPart,
                    &format!("{}: this is part 6 of 3 (split.no 5), and its name states another", NAMES[2]),
                ),
            ],
        );
        let complete = Gguf::default().tensor("z", &[1], 24, &[1]).bytes();
        is(
            judged(&[(NAMES[0], &a), (NAMES[1], &b), (NAMES[2], &c), ("x.gguf", &complete)]),
            &[NAMES[0], NAMES[1], NAMES[2], "x.gguf"],
            &[(
                ProblemKind::InvalidPart,
                "x.gguf: the file does not state that it is a part of a model, but other files do",
            )],
        );
        is(judged(&[("m-00001-of-00001.gguf", &complete)]), &["m-00001-of-00001.gguf"], &[]);
        is(
            judged(&[("m-00001-of-00002.gguf", &complete)]),
            &["m-00001-of-00002.gguf"],
            &[(
                ProblemKind::MisnamedPart,
                "m-00001-of-00002.gguf: this is not a part of a model, and its name states that it is",
            )],
        );
    }

    #[test]
    fn two_files_state_the_same_part() {
        let [a, b] = [part(0, 2, Some(2), &["a"]), part(1, 2, Some(2), &["b"])];
        let names = ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf", "copy.gguf"];
        let twice = "copy.gguf: this is part 2 of 2 (split.no 1), and so is \"m-00002-of-00002.gguf\"";
        let misnamed = "copy.gguf: this is part 2 of 2 (split.no 1), and its name states another";
        is(
            judged(&[(names[0], &a), (names[2], &b), (names[1], &b)]),
            &names,
            &[(ProblemKind::RepeatedPart, twice), (ProblemKind::MisnamedPart, misnamed)],
        );
        let mut files = [
            ModelFile::new(names[2], File::open(&b).unwrap()),
            ModelFile::new(names[1], File::open(&b).unwrap()),
            ModelFile::new(names[0], File::open(&a).unwrap()),
        ];
        let mut words = vec![0; Model::length(&files).unwrap()];
        let model = Model::new(&mut files, &mut words).unwrap();
        assert_eq!(model.find("a").unwrap().0, 0);
        assert_eq!(message(&model, "b"), (ErrorKind::RepeatedName, twice.into()));
        assert_eq!(model.tensors().count(), 2);
    }

    /// With an index, the statements of parts do not matter.
    #[cfg(feature = "safetensors")]
    #[test]
    fn an_index_names_two_files_that_state_the_same_part() {
        let (a, b) = (part(0, 2, None, &["a"]), part(0, 2, None, &["b"]));
        let text = r#"{"weight_map": {"a": "1.gguf", "b": "2.gguf"}}"#;
        let index = tenslice::safetensors::Index::open(text.as_bytes()).unwrap();
        let mut files =
            [ModelFile::new("1.gguf", File::open(&a).unwrap()), ModelFile::new("2.gguf", File::open(&b).unwrap())];
        let mut words = vec![0; Model::length_with_index(&index).unwrap()];
        let model = Model::with_index(index, &mut files, &mut words).unwrap();
        assert_eq!(["a", "b"].map(|name| model.find(name).unwrap().0), [0, 1]);
        assert_eq!(problems(&model), []);
    }

    /// The copy with the right name counts, wherever it is; the words are enough for it.
    #[test]
    fn words_are_enough_for_the_larger_copy_of_a_part() {
        let (small, large) = (part(0, 2, None, &["a"]), part(0, 2, None, &["a", "b", "c", "d", "e"]));
        let mut files = [
            ModelFile::new("copy.gguf", File::open(&small).unwrap()),
            ModelFile::new("m-00001-of-00002.gguf", File::open(&large).unwrap()),
        ];
        let mut words = vec![0; Model::length(&files).unwrap()];
        assert_eq!(Model::new(&mut files, &mut words).unwrap().tensors().count(), 5);
    }

    /// A part of another model is neither a copy of a part nor in its place.
    #[test]
    fn a_part_of_another_model_hides_nothing() {
        let [a, c] = [0, 2].map(|i| part(i, 3, Some(3), &[["a", "b", "c"][i as usize]]));
        let other = part(1, 4, Some(3), &["x"]);
        let names = ["m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"];
        let invalid = "split.no is 1 and split.count is 4; the model has 3 parts";
        let misnamed = "this is part 2 of 4 (split.no 1), and its name states another";
        is(
            judged(&[(names[0], &a), (names[1], &other), (names[2], &c)]),
            &names,
            &[
                (ProblemKind::InvalidPart, &format!("{}: {invalid}", names[1])),
                (ProblemKind::MissingPart, "part 2 of 3 is missing"),
                (ProblemKind::MisnamedPart, &format!("{}: {misnamed}", names[1])),
            ],
        );
        let same = part(0, 4, Some(3), &["x"]);
        let found = judged(&[(names[0], &a), ("x-00001-of-00004.gguf", &same)]);
        assert!(found.1.iter().all(|(kind, _)| *kind != ProblemKind::RepeatedPart), "{found:?}");
    }

    #[test]
    fn the_number_of_tensors() {
        let part = |index, total, tensors: &[&str]| part(index, 2, total, tensors);
        let names = ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"];
        let judge = |totals: [Option<i32>; 2]| {
            let [a, b] = [part(0, totals[0], &["a"]), part(1, totals[1], &["b"])];
            judged(&[(names[0], &a), (names[1], &b)]).1
        };
        assert_eq!(judge([Some(2), Some(2)]), []);
        let differ = |file: usize, stated| {
            let text = format!("{}: split.tensors.count is {stated}; the parts have 2 tensors together", names[file]);
            [(ProblemKind::CountsDiffer, text)]
        };
        assert_eq!(judge([Some(3), Some(3)]), differ(0, 3));
        assert_eq!(judge([Some(2), Some(3)]), differ(1, 3));
        assert_eq!(judge([Some(2), None]), differ(1, 0));
        let none = "split.tensors.count is missing: the parts may lack tensors";
        assert_eq!(judge([None, None]), [(ProblemKind::UncountedTensors, none.to_string())]);
        // A tensor in two parts: one problem for each other part that has it.
        let [a, b] = [part(0, Some(3), &["a", "b"]), part(1, Some(3), &["b"])];
        let text = format!("{}: tensor \"b\" is also in \"{}\"", names[1], names[0]);
        assert_eq!(judged(&[(names[0], &a), (names[1], &b)]).1, [(ProblemKind::RepeatedTensor, text)]);
    }

    /// A tensor of an unknown block type is a problem of the model, and the other tensors are read.
    #[test]
    fn an_unreadable_tensor_hides_no_other() {
        let bytes = Gguf::default().tensor("good", &[1], 24, &[7]).tensor("strange", &[32], 36, &[1; 18]).bytes();
        let mut files = [ModelFile::new("m.gguf", File::open(&bytes).unwrap())];
        let mut words = vec![0; Model::length(&files).unwrap()];
        let model = Model::new(&mut files, &mut words).unwrap();
        let (_, strange) = model.find("strange").unwrap();
        let error = strange.problem().unwrap();
        let text = format!("m.gguf: {}", error.explain(&bytes[..]));
        assert_eq!(problems(&model), [(ProblemKind::UnreadableTensor, text)]);
        let (_, good) = model.find("good").unwrap();
        assert_eq!(good.data().unwrap().bytes().unwrap(), [7]);
    }

    /// Any set of parts gives a model, whatever they state, and each name that is in one file only is found.
    #[test]
    fn any_statements_of_parts() {
        let mut random = Random(3);
        for _ in 0..300 {
            let count = random.below(6);
            let bytes: Vec<_> = (0..count)
                .map(|i| {
                    let (index, count) = (random.below(4) as u16, 1 + random.below(4) as u16);
                    let names = [format!("t{i}"), format!("t{}", random.below(9))];
                    let names: Vec<_> = names.iter().take(random.below(3)).map(String::as_str).collect();
                    let names = if names.first() == names.last() { &names[..names.len().min(1)] } else { &names };
                    part(index, count, [None, Some(random.below(9) as i32)][random.below(2)], names)
                })
                .collect();
            let paths: Vec<_> = (0..count).map(|i| format!("m-{:05}-of-{:05}.gguf", i + 1, count)).collect();
            let mut files: Vec<_> = paths
                .iter()
                .zip(&bytes)
                .map(|(path, bytes)| match random.below(8) {
                    0 => ModelFile::missing(&**path),
                    1 => ModelFile::invalid(&**path, File::open(&bytes[..9]).unwrap_err(), &bytes[..9]),
                    _ => ModelFile::new(&**path, File::open(bytes).unwrap()),
                })
                .collect();
            files.rotate_left(random.below(count.max(1)));
            let mut words = vec![random.next() as u32; Model::length(&files).unwrap()];
            let model = Model::new(&mut files, &mut words).unwrap();
            let all: Vec<_> = model.tensors().collect();
            for (file, tensor) in &all {
                let name = tensor.name().to_string();
                let is_once = all.iter().filter(|(_, other)| other.name() == tensor.name()).count() == 1;
                match model.find(&name) {
                    Ok((found, same)) => {
                        assert_eq!((found, same.name(), is_once), (*file, tensor.name(), true));
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::RepeatedName);
                        let kinds = [ProblemKind::RepeatedTensor, ProblemKind::RepeatedPart];
                        assert!(problems(&model).iter().any(|(kind, _)| kinds.contains(kind)));
                    }
                }
            }
        }
    }
}

#[cfg(feature = "ztensor2")]
mod shards {
    use super::*;
    use crate::support::ztensor2::{Object, Stored, file, shard, xxh3};

    #[test]
    fn components_are_bound_to_their_shards() {
        let of_shard = |name, shard, stored: &[u8]| Object {
            name,
            shape: vec![stored.len() as u64],
            layout: "dense",
            attributes: serde_json::Value::Null,
            parts: vec![Stored { role: "data", dtype: "u8", stored: stored.into(), shard, ..Stored::default() }],
        };
        let (one, two) = (shard(&[1, 2, 3]), shard(&[4, 5]));
        let objects = [
            of_shard("here", None, &[9]),
            of_shard("one", Some("1"), &[1, 2, 3]),
            of_shard("two", Some("2"), &[4, 5]),
        ];
        let table = [("1", one.len() as u64, xxh3(&one)), ("2", two.len() as u64, xxh3(&two))];
        let bytes = file(&objects, &table);
        let main = ModelFile::new("m.zt", File::open(&bytes).unwrap());
        let read = |model: &Model<'_, '_>, name| {
            model.get(&Expected::named(name)).map(|data| data.bytes().map(<[u8]>::to_vec))
        };
        let mut words = [0; 18];
        let mut files = [ModelFile::shard("2", &two), main, ModelFile::shard("1", &one)];
        let model = Model::new(&mut files, &mut words).unwrap();
        assert_eq!(problems(&model), []);
        for (name, expected) in [("here", &[9][..]), ("one", &[1, 2, 3]), ("two", &[4, 5])] {
            assert_eq!(read(&model, name).unwrap().unwrap(), expected);
        }
        let mut files = [main, ModelFile::shard("1", &one[..4096])];
        let model = Model::new(&mut files, &mut words).unwrap();
        let wrong = format!("m.zt: shard \"1\" has 4096 bytes; the file states {}", one.len());
        let missing = format!("m.zt: shard \"2\" of {} bytes is missing", two.len());
        assert_eq!(problems(&model), [(ProblemKind::WrongShard, wrong), (ProblemKind::MissingShard, missing)]);
        assert_eq!(read(&model, "here").unwrap().unwrap(), [9]);
        let kind = |name| read(&model, name).unwrap_err().kind();
        assert_eq!([kind("one"), kind("two")], [ErrorKind::OutOfFile, ErrorKind::InShard]);
    }
}
