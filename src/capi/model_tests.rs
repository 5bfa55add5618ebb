//! Calls the functions for models.

use super::super::get_f32::*;
use super::super::model::*;
use super::*;

/// # Safety
/// `problem` is a problem, and `text` points to 300 bytes.
unsafe fn sentence(problem: *mut tenslice_problem, text: *mut [u8; 300]) -> Vec<u8> {
    let mut needed = 0;
    // SAFETY: guaranteed by the caller.
    unsafe {
        ok!(tenslice_problem_text(problem, text.cast(), 300, &raw mut needed));
        read(text, needed - 1)
    }
}

#[test]
fn a_model_of_parts() {
    let (bytes, bad) = (fixture!("gguf/split_00001.gguf"), code(ErrorKind::InvalidArgument));
    let names = ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf", "x"];
    // SAFETY: the arguments are as the header requires, or as it says are rejected.
    unsafe {
        places!(file: tenslice_file, error: tenslice_error, files: [tenslice_model_file; 3], words: [u32; 12]);
        places!(model: tenslice_model, count: usize, tensor: tenslice_tensor, number: u64, found: tenslice_bytes);
        places!(tensors: tenslice_model_tensors, problems: tenslice_model_problems, problem: tenslice_problem);
        places!(text: [u8; 300], needed: usize, name: tenslice_str, data: tenslice_component);
        infos!(info: tenslice_problem_info);
        places!(floats: tenslice_floats, room: [f32; 64]);
        let (files, words) = (files.cast::<tenslice_model_file>(), words.cast::<u32>());
        open(bytes, file);
        let cut = &bytes[..40];
        let (from, size) = (cut.as_ptr().cast::<c_void>(), cut.len());
        let place = text.cast::<tenslice_file>(); // not used: the file cannot be opened
        assert_ne!(call!(tenslice_file_open(place.with_addr(text.addr() & !7), from, size, error)), OK);
        ok!(tenslice_model_file_missing(files.add(2), of(names[2]), 1));
        ok!(tenslice_model_file_invalid(files.add(1), of(names[1]), names[1].len(), error, from, size));
        files.write_bytes(0, 1);
        let length = call!(tenslice_model_length(files.cast_const(), 3, count));
        assert_eq!(length, code(ErrorKind::InvalidHandle));
        let unset = call!(tenslice_model_open(model, files, 3, words, 12, error));
        assert_eq!(unset, code(ErrorKind::InvalidHandle));
        ok!(tenslice_model_file_opened(files, of(names[0]), names[0].len(), file));
        ok!(tenslice_model_length(files.cast_const(), 3, count));
        assert_eq!(count.read(), 6);
        assert_eq!(call!(tenslice_model_length(files.cast_const(), usize::MAX, count)), bad);
        for (files, count) in [(files, usize::MAX), (null_mut(), 3), (files.byte_add(1), 3)] {
            assert_ne!(call!(tenslice_model_open(model, files, count, words, 12, error)), OK);
        }
        let inside = call!(tenslice_model_open(files.cast(), files, 3, words, 12, error));
        assert_eq!(inside, bad);
        ok!(tenslice_model_open(model, files, 3, words, 12, error));

        ok!(tenslice_model_find(model, of("a"), 1, tensor, number, error));
        assert_eq!(number.read(), 0);
        ok!(tenslice_model_find(model, of("a"), 1, tensor, null_mut(), error));
        let absent = call!(tenslice_model_find(model, of("b"), 1, tensor, number, error));
        assert_eq!(absent, code(ErrorKind::NotFound));
        ok!(tenslice_model_get(model, of("a"), 1, null(), found, error));
        assert_eq!(found.read().length % 8, 0);
        let shape = [9_u64, 1];
        let expected = get::expecting(0, 2, &shape);
        let wrong = call!(tenslice_model_get(model, of("a"), 1, &raw const expected, found, error));
        assert_eq!(wrong, code(ErrorKind::WrongShape));
        let wrong = call!(tenslice_model_get_f32(
            model,
            of("a"),
            1,
            &raw const expected,
            null_mut(),
            0,
            null(),
            floats,
            null_mut(),
            error
        ));
        assert_eq!(wrong, code(ErrorKind::WrongShape));
        ok!(tenslice_model_get_f32(model, of("a"), 1, null(), room.cast(), 64, null(), floats, null_mut(), error));
        assert!(floats.read().length > 0);
        ok!(tenslice_model_get_text(model, of("a"), 1, &raw const expected, error, text.cast(), 300, needed));
        let message = read(text, needed.read() - 1);
        assert!(message.starts_with(b"tensor \"a\": expected [9, 1]; the file has "));
        assert!(message.ends_with(b" [in \"m-00001-of-00002.gguf\"]"));
        ok!(tenslice_tensor_component(tensor, of("data"), 4, data, error));
        ok!(tenslice_model_component(model, data, data, error));

        ok!(tenslice_model_get_tensors(model, tensors), tenslice_model_next_tensor(tensors, tensor, number, error));
        assert_eq!(number.read(), 0);
        assert_eq!(call!(tenslice_model_next_tensor(tensors, tensor, null_mut(), error)), END);
        ok!(tenslice_model_check_length(model, count), tenslice_model_check(model, room.cast(), 64, number, error));
        assert!(count.read() <= 64);
        ok!(tenslice_model_file_count(model, number));
        assert_eq!(number.read(), 3);
        ok!(tenslice_model_get_file(model, 0, name, file), tenslice_model_get_file(model, 1, name, null_mut()));
        assert_eq!(super::text(name.read()), names[1].as_bytes());
        let not_found = code(ErrorKind::NotFound);
        assert_eq!(call!(tenslice_model_get_file(model, 1, name, file)), not_found);
        assert_eq!(call!(tenslice_model_get_file(model, u64::MAX, name, file)), not_found);

        ok!(tenslice_model_get_problems(model, problems), tenslice_model_next_problem(problems, problem));
        ok!(tenslice_problem_get_info(problem, info));
        assert_eq!(
            (info.read().kind, info.read().file, info.read().error.kind),
            (2, 1, ErrorKind::CountTooLarge.code())
        );
        assert!(info.read().tensor.data.is_null());
        assert_eq!((info.read().first_part, info.read().last_part), (u64::MAX, u64::MAX));
        assert!(sentence(problem, text).starts_with(b"m-00002-of-00002.gguf: gguf 3: "));
        ok!(tenslice_model_next_problem(problems, problem), tenslice_problem_get_info(problem, info));
        assert_eq!((info.read().kind, info.read().file, info.read().error.kind), (1, 2, 0));
        assert_eq!(sentence(problem, text), b"x: the file is missing");
        assert_eq!(call!(tenslice_model_next_problem(problems, problem)), END);
    }
}

#[test]
fn a_model_with_an_index() {
    let bytes = fixture!("safetensors/hm_data_at_3_mod_8.safetensors");
    let json = r#"{"weight_map": {"a": "a.st", "gone": "b.st"}}"#;
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, error: tenslice_error, part: tenslice_model_file, words: [u32; 12]);
        places!(model: tenslice_model, count: usize, index: tenslice_safetensors_index, tensor: tenslice_tensor);
        places!(problems: tenslice_model_problems, problem: tenslice_problem, text: [u8; 300]);
        infos!(info: tenslice_problem_info);
        open(bytes, file);
        ok!(tenslice_model_file_opened(part, of("a.st"), 4, file));
        ok!(tenslice_safetensors_index_open(index, of(json).cast(), json.len(), error));
        ok!(tenslice_safetensors_model_length(index, count));
        assert_eq!(count.read(), 12);
        let short = call!(tenslice_safetensors_model_open(model, index, part, 1, words.cast(), 11, error));
        assert_eq!(short, code(ErrorKind::OutOfScratch));
        ok!(tenslice_model_file_opened(part, of("a.st"), 4, file));
        ok!(tenslice_safetensors_model_open(model, index, part, 1, words.cast(), 12, error));
        ok!(tenslice_model_find(model, of("a"), 1, tensor, null_mut(), error));
        ok!(tenslice_model_get_problems(model, problems), tenslice_model_next_problem(problems, problem));
        ok!(tenslice_problem_get_info(problem, info));
        assert_eq!((info.read().file, super::text(info.read().tensor)), (u64::MAX, b"gone".to_vec()));
        assert_eq!(sentence(problem, text), b"tensor \"gone\" is in \"b.st\", and that file is missing");
    }
}

#[test]
fn a_model_with_shards() {
    let (bytes, shard) = (fixture!("v2/converted_safetensors.zt"), [1_u8; 100]);
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, error: tenslice_error, files: [tenslice_model_file; 2], model: tenslice_model);
        places!(problems: tenslice_model_problems, problem: tenslice_problem);
        let files = files.cast::<tenslice_model_file>();
        open(bytes, file);
        ok!(tenslice_model_file_opened(files.add(1), of("m.zt"), 4, file));
        ok!(tenslice_model_file_shard(files, of("1"), 1, shard.as_ptr().cast(), 100));
        let mut words = std::vec![0_u32; 600];
        ok!(tenslice_model_open(model, files, 2, words.as_mut_ptr(), words.len(), error));
        ok!(tenslice_model_get_problems(model, problems));
        assert_eq!(call!(tenslice_model_next_problem(problems, problem)), END);
    }
}

/// The names of more than 1024 tensors are compared by a call of their own.
#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn a_model_with_a_repeated_name() {
    const COUNT: usize = 1100;
    let mut bytes = [b"GGUF\x03\0\0\0", &(COUNT as u64).to_le_bytes()[..], &[0; 8]].concat();
    for number in (0..COUNT).rev() {
        let name = std::format!("{:04}", number.max(1)); // the last two are the same
        bytes.extend(
            [&4_u64.to_le_bytes()[..], name.as_bytes(), &[1, 0, 0, 0], &[0; 8], &[24, 0, 0, 0], &[0; 8]].concat(),
        );
    }
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    // SAFETY: the arguments are as the header requires.
    unsafe {
        places!(file: tenslice_file, error: tenslice_error, files: [tenslice_model_file; 1], words: [u32; 6 * COUNT]);
        places!(model: tenslice_model, count: usize, number: u64, room: [u32; 2 * COUNT], text: [u8; 300]);
        places!(problems: tenslice_model_problems, problem: tenslice_problem);
        open(&bytes, file);
        let (files, name) = (files.cast::<tenslice_model_file>(), "m.gguf");
        ok!(tenslice_model_file_opened(files, of(name), name.len(), file));
        ok!(tenslice_model_open(model, files, 1, words.cast(), 6 * COUNT, error));
        ok!(tenslice_model_get_problems(model, problems), tenslice_model_next_problem(problems, problem));
        assert_eq!(sentence(problem, text), b"m.gguf: tensor \"0001\" is in the file twice");
        ok!(tenslice_model_check_length(model, count));
        assert!((1..=2 * COUNT).contains(&count.read()));
        let checked = call!(tenslice_model_check(model, room.cast(), 2 * COUNT, number, error));
        assert_eq!((checked, number.read()), (code(ErrorKind::RepeatedName), 0));
        let short = call!(tenslice_model_check(model, room.cast(), 1, number, error));
        assert_eq!(short, code(ErrorKind::OutOfScratch));
    }
}
