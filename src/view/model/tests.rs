//! Names that collide, and bytes that change after the files were opened.
#![forbid(unsafe_code)]

use std::format;
use std::prelude::v1::*;

use super::table::Order;
use super::*;
use crate::format::FileFormat;
use crate::view::file::File;
use crate::view::index::hash::crafted::{Random, colliding, name_of_hash};
use crate::view::index::hash::hash;

/// A GGUF file of tensors of one byte with these names.
fn gguf(names: &[String]) -> Vec<u8> {
    let mut bytes = [&b"GGUF\x03\0\0\0"[..], &(names.len() as u64).to_le_bytes(), &[0; 8]].concat();
    for name in names {
        // One dimension of length 0, `i8`, at offset 0.
        let length = (name.len() as u64).to_le_bytes();
        bytes.extend([&length[..], name.as_bytes(), &[1, 0, 0, 0], &[0; 8], &[24], &[0; 11]].concat());
    }
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    bytes
}

/// Checks that each name is found in its file, and that no other name is found. Returns how names are found.
fn order_of(names: &[String]) -> Order {
    let halves = names.split_at(names.len() / 2);
    let bytes = [gguf(halves.0), gguf(halves.1)];
    let [first, second] = bytes.each_ref().map(|bytes| File::open(bytes).unwrap());
    let mut files = [ModelFile::new("1", first), ModelFile::new("2", second)];
    let mut words = vec![0xaaaa_aaaa; Model::length(&files).unwrap()];
    let model = Model::new(&mut files, &mut words).unwrap();
    for (number, name) in names.iter().enumerate() {
        let (file, tensor) = model.find(name).unwrap();
        assert_eq!((file, tensor.name()), (usize::from(number >= halves.0.len()), name.as_str().into()));
        assert_eq!(model.find(&format!("{name}.")).unwrap_err().kind(), ErrorKind::NotFound);
    }
    assert!(model.problems().next().is_none());
    model.table.order
}

#[test]
#[cfg(feature = "gguf")]
fn names_that_collide_are_hashed_again_or_sorted() {
    let ordinary: Vec<String> = (0..1000).map(|i| format!("model.layers.{i}.weight")).collect();
    assert_eq!(order_of(&ordinary), Order::Slots { seed: 0 });
    assert_eq!(order_of(&colliding(0, 5)), Order::Slots { seed: 0 });
    for count in [6, 100, 1000] {
        assert!(matches!(order_of(&colliding(0, count)), Order::Slots { seed: 1.. }), "{count}");
    }
    // The salt is the address of the words: a second collision needs a file that knows it.
    let next = 0x0123_4567_89ab_cdef;
    let mut words = vec![0; 6 * 107];
    let salt = words.as_ptr().addr() as u64;
    let mut names = [colliding(0, 6), colliding(next, 100)].concat();
    let seed = names.iter().fold(salt, |seed, name| hash(seed, name.as_bytes()));
    names.push(name_of_hash(seed, next, &mut Random(2)));
    let bytes = gguf(&names);
    let mut files = [ModelFile::new("1", File::open(&bytes).unwrap())];
    let model = Model::new(&mut files, &mut words).unwrap();
    assert_eq!(model.table.order, Order::Sorted);
    for name in &names {
        assert_eq!(model.find(name).unwrap().1.name(), name.as_str());
        assert_eq!(model.find(&format!("{name}.")).unwrap_err().kind(), ErrorKind::NotFound);
    }
    // A second file with a name of the first file, and with a name that makes all names collide under the new seed.
    let mut words = vec![0; 6 * 108];
    let salt = words.as_ptr().addr() as u64;
    names.pop();
    let repeated = names[3].clone();
    let seed = names.iter().fold(salt, |seed, name| hash(seed, name.as_bytes()));
    let second = [repeated.clone(), name_of_hash(hash(seed, repeated.as_bytes()), next, &mut Random(4))];
    let bytes = [gguf(&names), gguf(&second)];
    let mut files =
        [ModelFile::new("1", File::open(&bytes[0]).unwrap()), ModelFile::new("2", File::open(&bytes[1]).unwrap())];
    let model = Model::new(&mut files, &mut words).unwrap();
    assert_eq!(model.table.order, Order::Sorted);
    for name in names.iter().filter(|name| **name != repeated) {
        assert_eq!(model.find(name).unwrap().0, 0);
    }
    assert_eq!(model.find(&second[1]).unwrap().0, 1);
    assert_eq!(model.find(&repeated).unwrap_err().kind(), ErrorKind::RepeatedName);
    let found: Vec<_> = model.problems().map(|problem| (problem.kind(), problem.file(), problem.tensor())).collect();
    assert_eq!(found, [(ProblemKind::RepeatedTensor, Some(1), Some(repeated.as_str().into()))]);
}

/// The bytes of a mapping may change.
#[test]
#[cfg(feature = "gguf")]
fn bytes_that_have_changed_are_an_error() {
    use crate::format::AnyFile;

    let names: Vec<String> = ["a", "b", "c"].map(String::from).into();
    let bytes = [gguf(&names), gguf(&["d".into()])];
    let opened = File::open(&bytes[0]).unwrap();
    let AnyFile::Gguf(inner) = *opened.inner() else { return };
    let cut = |length: usize| File::of_inner(AnyFile::Gguf(inner.with_input(bytes[0][..length].into())), &opened);
    let other = ModelFile::new("2", File::open(&bytes[1]).unwrap());
    let mut words = vec![0; 24];
    // The file is cut after the third name, so that the model can be made and the tensor cannot be read.
    let end = bytes[0].len();
    for length in [end - 32, 40, 0] {
        let mut files = [ModelFile::new("1", cut(length)), other];
        assert!(Model::new(&mut files, &mut words).is_err(), "{length}");
    }
    let mut files = [ModelFile::new("1", opened), other];
    let model = Model::new(&mut files, &mut words).unwrap();
    let mut changed = [ModelFile::new("1", cut(40)), other];
    files::sort_by_part(&mut changed).unwrap();
    let model = Model { names: Names { files: &changed, ..model.names }, ..model };
    assert!(model.find("a").is_err());
    assert_eq!(model.find("d").unwrap().0, 1);
    let mut tensors = model.tensors();
    assert_eq!(tensors.by_ref().map(|(file, _)| file).collect::<Vec<_>>(), [1]);
    assert_eq!(tensors.error().map(|(file, _)| file), Some(0));
    let kinds: Vec<_> = model.problems().map(|problem| problem.kind()).collect();
    assert_eq!(kinds, [ProblemKind::InvalidFile]);
}
