//! Manifests written byte by byte: valid and invalid ones that no real program writes.
#![cfg(feature = "ztensor")]

use crate::support::{Cbor, check_with_any_memory, component, entry_0_1, file_0_1, file_1_2, manifest_1_2};
use serde_json::{Value as Json, json};
use tenslice::{ByteOrder, DType, Error, ErrorKind, File, Part, Purpose, ReadOptions, Value, Warning};

fn kind(error: Error) -> ErrorKind {
    error.kind()
}

/// A 1.2 file without tensors whose attribute `a` is `value`.
fn with_attribute(value: &[u8]) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.map(3).text("version").text("1.2.0").text("attributes").map(1).text("a").raw(value);
    cbor.text("objects").map(0);
    file_1_2(&cbor.0)
}

#[test]
fn values_of_every_kind() {
    let check = |bytes: &[u8], check: &dyn Fn(Value<'_>) -> bool| {
        let file = with_attribute(bytes);
        let file = File::open(&file).unwrap_or_else(|error| panic!("{bytes:02x?}: {error}"));
        let value = file.attributes().get("a").unwrap();
        assert!(check(value), "{bytes:02x?}: {value:?}");
    };
    check(&[0xf6], &|v| matches!(v, Value::Null));
    check(&[0xf7], &|v| matches!(v, Value::Undefined));
    check(&[0xf5], &|v| matches!(v, Value::Bool(true)));
    check(&[0xe0], &|v| matches!(v, Value::Simple(0)));
    check(&[0xf8, 0xff], &|v| matches!(v, Value::Simple(255)));
    check(&[0x1b, 255, 255, 255, 255, 255, 255, 255, 255], &|v| matches!(v, Value::Integer(n) if n == (1 << 64) - 1));
    check(&[0x3b, 255, 255, 255, 255, 255, 255, 255, 255], &|v| matches!(v, Value::Integer(n) if n == -(1 << 64)));
    check(&[0x3b, 127, 255, 255, 255, 255, 255, 255, 255], &|v| matches!(v, Value::Integer(n) if n == -(1 << 63)));
    check(&[0x38, 0xff], &|v| matches!(v, Value::Integer(-256)));
    check(&[0x1b, 0, 0, 0, 0, 0, 0, 0, 1], &|v| matches!(v, Value::Integer(1)));
    check(&[0xf9, 0x3e, 0x00], &|v| matches!(v, Value::Float(x) if x == 1.5));
    check(&[0xf9, 0x00, 0x01], &|v| matches!(v, Value::Float(x) if x == 2f64.powi(-24)));
    check(&[0xf9, 0xfc, 0x00], &|v| matches!(v, Value::Float(x) if x == f64::NEG_INFINITY));
    check(&[0xfa, 0x3f, 0x80, 0, 0], &|v| matches!(v, Value::Float(x) if x == 1.0));
    check(&[0xfb, 0x3f, 0xb9, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a], &|v| matches!(v, Value::Float(x) if x == 0.1));
    check(&[0x43, 1, 2, 3], &|v| matches!(v, Value::Bytes([1, 2, 3])));
    check(&[0x62, b'h', b'i'], &|v| matches!(v, Value::Text(text) if text == "hi"));
    check(&[0x7f, 0x61, b'h', 0x60, 0x61, b'i', 0xff], &|v| {
        let Value::TextChunks(items) = v else { return false };
        items.map(|item| item.value.as_str().unwrap_or("?")).collect::<String>() == "hi"
    });
    check(&[0x5f, 0x41, 7, 0xff], &|v| matches!(v, Value::ByteChunks(items) if items.count() == 1));
    check(&[0xc1, 0x05], &|v| {
        let Value::Tagged(1, mut items) = v else { return false };
        matches!(items.next().unwrap().value, Value::Integer(5)) && items.next().is_none()
    });
    check(&[0x9f, 0x01, 0x82, 0x02, 0x03, 0xbf, 0x01, 0x02, 0xff, 0xff], &|v| {
        let Value::Array(items) = v else { return false };
        let kinds: Vec<_> = items.map(|item| (item.key.is_none(), item.value.kind().name())).collect();
        kinds == [(true, "Integer"), (true, "Array"), (true, "Map")]
    });
    // After the end `next` keeps returning nothing.
    check(&[0x9f, 0x01, 0xff], &|v| {
        let Value::Array(mut items) = v else { return false };
        [items.next().is_some(), items.next().is_some(), items.next().is_some()] == [true, false, false]
    });
    // Keys may be of any kind.
    check(&[0xa2, 0x05, 0x61, b'x', 0x81, 0x01, 0xf6], &|v| {
        let Value::Map(items) = v else { return false };
        items.map(|item| item.key.unwrap().kind().name()).eq(["Integer", "Array"])
    });
}

#[test]
fn rejects_malformed_values() {
    for (bytes, expected) in [
        (&[0xff_u8][..], ErrorKind::Malformed),            // a break instead of a value
        (&[0x1c], ErrorKind::Malformed),                   // a reserved width
        (&[0xf8, 0x1f], ErrorKind::Malformed),             // a simple value in two bytes that fits in one
        (&[0x7f, 0x41, 0x00, 0xff], ErrorKind::Malformed), // bytes in a text string
        (&[0x5f, 0x5f, 0xff, 0xff], ErrorKind::Malformed), // chunks within chunks
        (&[0xbf, 0x01, 0xff], ErrorKind::Malformed),       // a key without a value
        (&[0x82, 0x01, 0xff], ErrorKind::Malformed),       // a break in a list of definite length
        (&[0x61, 0xff], ErrorKind::InvalidUtf8),
        (&[0x9b, 255, 255, 255, 255, 255, 255, 255, 255], ErrorKind::CountTooLarge),
        (&[0xbb, 128, 0, 0, 0, 0, 0, 0, 1], ErrorKind::CountTooLarge),
        (&[0x5b, 255, 255, 255, 255, 255, 255, 255, 255], ErrorKind::Truncated),
        (&[0x7b, 255, 255, 255, 255, 255, 255, 255, 255], ErrorKind::Truncated),
    ] {
        let file = with_attribute(bytes);
        assert_eq!(File::open(&file).map_err(kind).unwrap_err(), expected, "{bytes:02x?}");
    }
}

#[test]
fn nesting_is_bounded() {
    for (opening, closing) in [(0x81, None), (0x9f, Some(0xff)), (0xc1, None)] {
        let nested = |depth: usize| {
            let mut bytes = vec![opening; depth];
            bytes.push(0);
            bytes.extend(closing.map_or(vec![], |closing| vec![closing; depth]));
            with_attribute(&bytes)
        };
        assert!(File::open(&nested(30)).is_ok());
        assert_eq!(File::open(&nested(40)).map_err(kind).unwrap_err(), ErrorKind::TooDeep);
        assert_eq!(File::open(&nested(100_000)).map_err(kind).unwrap_err(), ErrorKind::TooDeep);
    }
}

/// Attributes of the largest depth precede the component that the message is about.
#[test]
fn messages_after_deep_attributes() {
    for depth in [1, 31, 32] {
        let mut cbor = Cbor::default();
        cbor.map(2).text("version").text("1.2.0").text("objects").map(1).text("w").map(4);
        cbor.text("attributes").map(1).text("a");
        cbor.0.extend(vec![0x81; depth]);
        cbor.uint(0).text("shape").array(1).uint(4).text("format").text("dense");
        cbor.text("components").map(1).text("data");
        cbor.map(3).text("dtype").text("u9").text("offset").uint(64).text("length").uint(4);
        let bytes = file_1_2(&cbor.0);
        let error = File::open(&bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownDType, "{depth}");
        let sentence = error.explain(&bytes[..]).to_string();
        assert!(["\"w\"", "\"data\"", "u9"].iter().all(|part| sentence.contains(part)), "{depth}: {sentence}");
    }
}

#[test]
fn compares_names_in_any_order() {
    let names: Vec<String> = (0..1024).map(|i| format!("t{}", (i * 7919) % 1024)).collect();
    let bytes = file_1_2(&manifest_1_2(names.iter().map(String::as_str)));
    let file = File::open(&bytes).unwrap();
    assert!(file.warnings().is_empty());
    assert!(file.check(&mut []).unwrap().is_empty()); // nothing is left to compare
    for name in &names {
        assert_eq!(file.find(name).unwrap().name(), name.as_str());
    }
    // One repeated name, with the two at various positions.
    for (first, second) in [(0, 1), (0, 1023), (63, 64), (500, 900), (1022, 1023), (130, 131)] {
        let mut names = names.clone();
        names[second] = names[first].clone();
        let bytes = file_1_2(&manifest_1_2(names.iter().map(String::as_str)));
        let error = File::open(&bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RepeatedName, "{first} {second}");
        let sentence = error.explain(&bytes[..]).to_string();
        assert!(sentence.contains(&format!("\"{}\"", names[first])), "{sentence}");
        // The error is at the second of the two.
        let mut name = Cbor::default();
        name.text(&names[first]).map(3);
        let last = bytes.windows(name.0.len()).rposition(|window| window == name.0);
        assert_eq!(error.offset(), last.map(|at| at as u64));
    }
}

#[test]
fn too_many_unsorted_names_need_memory() {
    let mut names: Vec<String> = (0..3000).map(|i| format!("t{}", (i * 7919) % 3001)).collect();
    let bytes = file_1_2(&manifest_1_2(names.iter().map(String::as_str)));
    let file = File::open(&bytes).unwrap();
    assert!(file.warnings().contains(Warning::NamesUnchecked));
    assert_eq!(file.check_length(), Some(3000));
    assert!(check_with_any_memory(&file).unwrap().is_empty());
    names[2999] = names[17].clone();
    let bytes = file_1_2(&manifest_1_2(names.iter().map(String::as_str)));
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.find(&names[17]).unwrap().index(), 17); // the first
    assert_eq!(check_with_any_memory(&file).unwrap_err().kind(), ErrorKind::RepeatedName);
}

#[test]
fn sorted_names_need_no_memory() {
    let names: Vec<String> = (0..3000).map(|i| format!("t{i:05}")).collect();
    let bytes = file_1_2(&manifest_1_2(names.iter().map(String::as_str)));
    let file = File::open(&bytes).unwrap();
    assert!(file.warnings().is_empty());
    assert!(file.check(&mut []).unwrap().is_empty());
    let mut cbor = Cbor::default();
    cbor.array(names.len() as u64);
    names.iter().for_each(|name| entry_0_1(&mut cbor, name));
    assert!(File::open(&file_0_1(&cbor.0)).unwrap().warnings().is_empty());
}

#[test]
fn version_0_1_may_repeat_names() {
    let mut cbor = Cbor::default();
    cbor.array(3);
    ["b", "a", "b"].iter().for_each(|name| entry_0_1(&mut cbor, name));
    let bytes = file_0_1(&cbor.0);
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.warnings().first_tensor(Warning::RepeatedName), Some(2));
    assert_eq!((file.tensor_count(), file.find("b").unwrap().index()), (3, 0));
}

/// A 1.2 file with one tensor of shape [4] and these components: role, dtype and length, all at offset 64.
fn with_components(layout: &str, components: &[(&str, &str, u64)]) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.map(2).text("version").text("1.2.0").text("objects").map(1).text("w").map(3);
    cbor.text("shape").array(1).uint(4).text("format").text(layout).text("components").map(components.len() as u64);
    for (role, dtype, length) in components {
        cbor.text(role).map(3).text("dtype").text(dtype).text("offset").uint(64).text("length").uint(*length);
    }
    file_1_2(&cbor.0)
}

#[test]
fn rejects_repeated_roles() {
    let ok = [("data", "u8", 4), ("a", "u8", 1), ("z", "u8", 1), ("b", "u8", 1)];
    assert!(File::open(&with_components("dense", &ok)).is_ok());
    for roles in [["data", "a", "data"], ["a", "data", "a"], ["z", "data", "z"], ["data", "z", "z"]] {
        let components = roles.map(|role| (role, "u8", if role == "data" { 4 } else { 1 }));
        let bytes = with_components("dense", &components);
        assert_eq!(File::open(&bytes).map_err(kind).unwrap_err(), ErrorKind::RepeatedKey, "{roles:?}");
        assert_eq!(File::open(&bytes).unwrap_err().part(), Part::Role);
    }
}

/// Components of one byte with these roles.
fn of_roles(roles: &[String]) -> Vec<(&str, &str, u64)> {
    roles.iter().map(|role| (role.as_str(), "u8", 1)).collect()
}

#[test]
fn compares_roles_in_any_order() {
    let roles: Vec<String> = (0..1024).map(|i| format!("r{}", (i * 7919) % 1024)).collect();
    let file = with_components("own", &of_roles(&roles));
    assert!(File::open(&file).unwrap().warnings().is_empty());
    for (first, second) in [(0, 1), (0, 1023), (31, 32), (63, 64), (65, 66), (500, 900), (1022, 1023)] {
        let mut roles = roles.clone();
        roles[second] = roles[first].clone();
        let bytes = with_components("own", &of_roles(&roles));
        let error = File::open(&bytes).unwrap_err();
        assert_eq!((error.kind(), error.part()), (ErrorKind::RepeatedKey, Part::Role), "{first} {second}");
        // The error is at the second of the two.
        let mut role = Cbor::default();
        role.text(&roles[first]).map(3);
        let last = bytes.windows(role.0.len()).rposition(|window| window == role.0);
        assert_eq!(error.offset(), last.map(|at| at as u64));
        let sentence = error.explain(&bytes[..]).to_string();
        assert!(sentence.contains("\"w\"") && sentence.contains(&format!("\"{}\"", roles[first])), "{sentence}");
    }
}

/// The keys after the components are read, whatever the order of the roles.
#[test]
fn keys_after_components_in_any_order() {
    for roles in [["data", "more"], ["more", "data"]] {
        let mut cbor = Cbor::default();
        cbor.map(2).text("version").text("1.2.0").text("objects").map(2).text("v").map(3).text("components").map(2);
        for role in roles {
            component(cbor.text(role));
        }
        cbor.text("shape").array(1).uint(1).text("format").text("dense");
        crate::support::tensor(&mut cbor, "w");
        let bytes = file_1_2(&cbor.0);
        let file = File::open(&bytes).unwrap_or_else(|error| panic!("{roles:?}: {error}"));
        let tensors: Vec<_> = file.tensors().map(|tensor| (tensor.name().to_string(), tensor.shape())).collect();
        let shapes: Vec<_> = tensors.iter().map(|(name, shape)| (name.as_str(), shape.iter().collect())).collect();
        assert_eq!(shapes, [("v", vec![1]), ("w", vec![])]);
    }
}

#[test]
fn too_many_unsorted_roles_need_memory() {
    let mut roles: Vec<String> = (0..3000).map(|i| format!("r{}", (i * 7919) % 3001)).collect();
    let bytes = with_components("own", &of_roles(&roles));
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.warnings().iter().collect::<Vec<_>>(), [Warning::RolesUnchecked]);
    assert_eq!(file.warnings().first_tensor(Warning::RolesUnchecked), Some(0));
    assert_eq!(file.check_length(), Some(3000));
    assert!(check_with_any_memory(&file).unwrap().is_empty());
    // Many roles in ascending order need no memory.
    let mut sorted = roles.clone();
    sorted.sort();
    assert!(File::open(&with_components("own", &of_roles(&sorted))).unwrap().warnings().is_empty());
    roles[2999] = roles[17].clone();
    let bytes = with_components("own", &of_roles(&roles));
    let file = File::open(&bytes).unwrap();
    let error = check_with_any_memory(&file).unwrap_err();
    assert_eq!((error.kind(), error.part()), (ErrorKind::RepeatedKey, Part::Role));
}

/// A repeated name is detected, whatever else has to be compared.
#[test]
fn compares_names_and_roles() {
    let mut cbor = Cbor::default();
    cbor.map(2).text("version").text("1.2.0").text("objects").map(1102);
    for i in (0..1100).rev().chain([7]) {
        crate::support::tensor(&mut cbor, &format!("n{i:05}"));
    }
    cbor.text("a").map(3).text("shape").array(0).text("format").text("own").text("components").map(1100);
    for i in (0..1100).rev() {
        component(cbor.text(&format!("{i:05}")));
    }
    let bytes = file_1_2(&cbor.0);
    let file = File::open(&bytes).unwrap();
    for warning in [Warning::NamesUnchecked, Warning::RolesUnchecked] {
        assert!(file.warnings().contains(warning), "{warning:?}");
    }
    assert_eq!(file.check_length(), Some(1102));
    assert_eq!(check_with_any_memory(&file).map_err(kind).unwrap_err(), ErrorKind::RepeatedName);
}

/// The roles of every tensor are compared, whichever tensor comes last.
#[test]
fn compares_roles_of_every_tensor() {
    let manifest = |roles: [&[String]; 2]| {
        let mut cbor = Cbor::default();
        cbor.map(2).text("version").text("1.2.0").text("objects").map(2);
        for (name, roles) in ["a", "b"].iter().zip(roles) {
            cbor.text(name).map(3).text("shape").array(0).text("format").text("own").text("components");
            cbor.map(roles.len() as u64);
            for role in roles {
                cbor.text(role);
                component(&mut cbor);
            }
        }
        file_1_2(&cbor.0)
    };
    let good: Vec<String> = (0..1100).rev().map(|i| format!("{i:05}")).collect();
    let mut twice = good.clone();
    twice[1099] = good[17].clone();
    let bytes = manifest([&good, &good]);
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.warnings().iter().collect::<Vec<_>>(), [Warning::RolesUnchecked]);
    assert_eq!(file.check_length(), Some(1100));
    assert!(check_with_any_memory(&file).unwrap().is_empty());
    let mut role = Cbor::default();
    role.text("01082").map(3);
    for (roles, tensor, second) in [([&twice[..], &good], "a", 1), ([&good, &twice], "b", 2)] {
        let bytes = manifest(roles);
        let error = check_with_any_memory(&File::open(&bytes).unwrap()).unwrap_err();
        let at = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&role.0)).nth(second);
        let found = (error.kind(), error.part(), error.offset());
        assert_eq!(found, (ErrorKind::RepeatedKey, Part::Role, at.map(|at| at as u64)));
        let message = error.explain(&bytes[..]).to_string();
        assert!(message.contains(&format!("component \"01082\" of tensor {tensor:?}")), "{message}");
    }
}

/// A layout's rule is checked with the component that is read, even if there are too many roles to compare all of
/// them without memory.
#[test]
fn rejects_repeated_required_roles_among_many() {
    let roles: Vec<String> = (0..1100).rev().map(|i| format!("{i:06}")).collect();
    let others = of_roles(&roles);
    let is_refused = |layout: &str, required: &[(&str, &str, u64)], again: (&str, &str, u64)| {
        let all = [required, &others, &[again]].concat();
        let bytes = with_components(layout, &all);
        let error = File::open(&bytes).unwrap_err();
        assert_eq!((error.kind(), error.part()), (ErrorKind::RepeatedKey, Part::Role), "{again:?}: {error}");
    };
    // One of the two has no element, the other as many as the shape says; then the other way round.
    is_refused("dense", &[("data", "u8", 0)], ("data", "u8", 4));
    is_refused("dense", &[("data", "u8", 4)], ("data", "u8", 0));
    let csr = [("values", "u8", 0), ("indices", "u64", 0), ("indptr", "u64", 0)];
    csr.iter().for_each(|again| is_refused("sparse_csr", &csr, *again));
}

#[test]
fn sparse_tensors_have_the_dtype_of_their_values() {
    let bytes = with_components("sparse_coo", &[("coords", "u8", 1), ("data", "u8", 3), ("values", "f32", 4)]);
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.find("w").unwrap().dtype(), Some(DType::F32));
    assert_eq!(file.find("w").unwrap().requirements(Purpose::Read).output, Some(16));
    assert_eq!(file.find("w").unwrap().component("data").unwrap().dtype(), Some(DType::U8));
}

/// A component besides the data of a dense tensor has its own dtype.
#[test]
fn extra_components_have_their_own_dtype() {
    let bytes = with_components("dense", &[("data", "u8", 4), ("more", "u16", 4)]);
    let file = File::open(&bytes).unwrap();
    let tensor = file.find("w").unwrap();
    let dtypes = |role| tensor.component(role).map(|part| (part.dtype(), part.storage_dtype())).unwrap();
    assert_eq!(tensor.dtype(), Some(DType::U8));
    assert_eq!(dtypes("data"), (Some(DType::U8), Some(DType::U8)));
    assert_eq!(dtypes("more"), (Some(DType::U16), Some(DType::U16)));
}

/// If a tensor has only one component, it has that dtype, whatever the role.
#[test]
fn single_component_determines_the_dtype() {
    let dtype = |components: &[(&str, &str, u64)]| {
        let bytes = with_components("own", components);
        File::open(&bytes).unwrap().find("w").unwrap().dtype()
    };
    assert_eq!(dtype(&[("codes", "i16", 4)]), Some(DType::I16));
    assert_eq!(dtype(&[("codes", "i16", 4), ("more", "i16", 4)]), None);
    assert_eq!(dtype(&[("codes", "i16", 4), ("data", "f32", 4)]), Some(DType::F32));
}

/// A tensor of two dimensions with these components: role, dtype, stored length, and decoded length if the component
/// is encoded. All are at offset 64.
fn of_two_dimensions(layout: &str, shape: [u64; 2], components: &[(&str, &str, u64, Option<u64>)]) -> Vec<u8> {
    let mut cbor = Cbor::default();
    cbor.map(2).text("version").text("1.2.0").text("objects").map(1).text("w").map(3);
    cbor.text("shape").array(2).uint(shape[0]).uint(shape[1]).text("format").text(layout);
    cbor.text("components").map(components.len() as u64);
    for (role, dtype, length, decoded) in components {
        cbor.text(role).map(3 + 2 * u64::from(decoded.is_some())).text("dtype").text(dtype);
        cbor.text("offset").uint(64).text("length").uint(*length);
        if let Some(decoded) = decoded {
            cbor.text("encoding").text("zstd").text("uncompressed_length").uint(*decoded);
        }
    }
    file_1_2(&cbor.0)
}

#[test]
fn checks_the_number_of_row_pointers() {
    let opened = |pointers: (&'static str, u64)| {
        let pointers = ("indptr", pointers.0, pointers.1, None);
        let components = [("indices", "u8", 1, None), pointers, ("values", "u8", 1, None)];
        let bytes = of_two_dimensions("sparse_csr", [3, 2], &components);
        File::open(&bytes).map(drop).map_err(|error| {
            let role = bytes.windows(7).position(|part| part == b"\x66indptr").map(|at| at as u64);
            assert_eq!(error.offset(), role);
            (error.kind(), error.part())
        })
    };
    assert_eq!(opened(("u8", 4)), Ok(()));
    assert_eq!(opened(("u8", 3)), Err((ErrorKind::CountMismatch, Part::Length)));
    assert_eq!(opened(("f32", 4)), Err((ErrorKind::IndexType, Part::DType)));
    // The number of rows plus one exceeds 64 bits.
    let components = [("indices", "u8", 1, None), ("indptr", "u8", 4, None), ("values", "u8", 1, None)];
    let bytes = of_two_dimensions("sparse_csr", [u64::MAX, 2], &components);
    let error = File::open(&bytes).unwrap_err();
    assert_eq!((error.kind(), error.part()), (ErrorKind::ShapeOverflow, Part::Shape));
}

#[test]
fn layouts_require_components() {
    for (layout, roles) in [
        ("dense", &[("data", 4)][..]),
        ("sparse_csr", &[("indices", 1), ("indptr", 3), ("values", 1)]),
        ("sparse_coo", &[("coords", 2), ("values", 1)]),
    ] {
        let opened = |missing: &str| {
            let roles = roles.iter().filter(|(role, _)| *role != missing);
            let components: Vec<_> = roles.map(|(role, length)| (*role, "u8", *length, None)).collect();
            let bytes = of_two_dimensions(layout, [2, 2], &components);
            File::open(&bytes).map(drop).map_err(|error| {
                let place = bytes.windows(10).position(|part| part == b"components").map(|at| at as u64 + 10);
                assert_eq!(error.offset(), place, "{layout} without {missing}");
                let message = error.explain(&bytes[..]).to_string();
                assert!(message.contains(&format!("{missing:?}")), "{message}");
                (error.kind(), error.part())
            })
        };
        assert_eq!(opened(""), Ok(()), "{layout}");
        for (missing, _) in roles {
            let expected = Err((ErrorKind::MissingComponent, Part::Components));
            assert_eq!(opened(missing), expected, "{layout} without {missing}");
        }
    }
}

/// If the file does not state the decoded length of a component, the shape may.
#[test]
fn decoded_lengths_that_follow_from_the_shape() {
    let mut cbor = Cbor::default();
    cbor.map(2).text("version").text("1.2.0").text("objects").map(2);
    for (name, layout, roles) in
        [("a", "dense", &["data"][..]), ("b", "sparse_csr", &["indices", "indptr", "values"])]
    {
        cbor.text(name).map(3).text("shape").array(2).uint(3).uint(2).text("format").text(layout);
        cbor.text("components").map(roles.len() as u64);
        for role in roles {
            cbor.text(role).map(4).text("dtype").text("u16").text("offset").uint(64).text("length").uint(4);
            cbor.text("encoding").text("zstd");
        }
    }
    let bytes = file_1_2(&cbor.0);
    let file = File::open(&bytes).unwrap();
    let length = |tensor: &str, role: &str| file.find(tensor).unwrap().component(role).unwrap().decoded_length();
    assert_eq!((length("a", "data"), length("b", "indptr")), (Some(12), Some(8)));
    assert_eq!((length("b", "indices"), length("b", "values")), (None, None));
}

/// A tensor reports the warnings that the file reports for it, however the tensor is found.
#[test]
fn warnings_of_a_tensor() {
    let mut cbor = Cbor::default();
    cbor.map(2).text("version").text("1.2.0").text("objects").map(2);
    for (name, offset) in [("a", 64), ("b", 65)] {
        cbor.text(name).map(3).text("shape").array(1).uint(3).text("format").text("dense");
        cbor.text("components").map(1).text("data");
        cbor.map(3).text("dtype").text("u8").text("offset").uint(offset).text("length").uint(3);
    }
    let bytes = file_1_2(&cbor.0);
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.warnings().first_tensor(Warning::MisalignedOffset), Some(1));
    let mut words = [0; 100];
    let index = file.index(&mut words).unwrap();
    for (name, expected) in [("a", &[][..]), ("b", &[Warning::MisalignedOffset])] {
        let listed = file.tensors().find(|tensor| tensor.name() == name).unwrap();
        for tensor in [listed, file.find(name).unwrap(), index.find(name).unwrap()] {
            assert_eq!(tensor.warnings().iter().collect::<Vec<_>>(), expected, "{name}");
            assert_eq!(tensor.data().unwrap().extent().length, 3);
        }
    }
}

/// After a repeated key, the message still uses the first value.
#[test]
fn messages_use_the_first_name() {
    let mut cbor = Cbor::default();
    cbor.array(1).map(8).text("name").text("w").text("name").text("v");
    let mut entry = Cbor::default();
    entry_0_1(&mut entry, "w");
    cbor.raw(&entry.0[1 + 5 + 2..]);
    let bytes = file_0_1(&cbor.0);
    let error = File::open(&bytes).unwrap_err();
    assert_eq!((error.kind(), error.part()), (ErrorKind::RepeatedKey, Part::Name));
    let message = error.explain(&bytes[..]).to_string();
    assert!(message.contains("tensor \"w\""), "{message}");
}

/// In 1.0 the dtype of a component follows from the tensor and the role, whatever the layout.
#[test]
fn rejects_partial_elements_in_version_1_0() {
    let opened = |length| {
        let mut manifest = full("1.0");
        manifest.pairs("/tensors/t").iter_mut().find(|(key, _)| key == "format").unwrap().1 = Node::Text("own");
        manifest.pairs("/tensors/t/components/data")[1].1 = Node::Uint(length);
        let bytes = written("1.0", &manifest, Style::Shortest);
        File::open(&bytes).map(drop).map_err(|error| (error.kind(), error.part()))
    };
    assert_eq!(opened(4), Ok(()));
    assert_eq!(opened(3), Err((ErrorKind::PartialElement, Part::Length)));
}

#[test]
fn raw_bytes_are_not_decoded() {
    let opened = |decoded| {
        let mut manifest = full("1.2");
        let data = manifest.pairs("/objects/t/components/data");
        data.iter_mut().find(|(key, _)| key == "uncompressed_length").unwrap().1 = Node::Uint(decoded);
        let bytes = written("1.2", &manifest, Style::Shortest);
        File::open(&bytes).map(drop).map_err(|error| (error.kind(), error.part()))
    };
    assert_eq!(opened(4), Ok(()));
    assert_eq!(opened(5), Err((ErrorKind::SizeMismatch, Part::DecodedLength)));
}

/// Two coordinates for each value exceed 64 bits.
#[test]
fn rejects_uncountable_coordinates() {
    let opened = |values: u64| {
        let components = [("coords", "u8", 4, Some(1)), ("values", "u8", 4, Some(values))];
        let bytes = of_two_dimensions("sparse_coo", [3, 2], &components);
        let error = File::open(&bytes).unwrap_err();
        let shape = bytes.windows(3).position(|part| part == b"\x82\x03\x02").map(|at| at as u64);
        (error.kind(), error.part(), error.offset() == shape)
    };
    assert_eq!(opened(1 << 63), (ErrorKind::ShapeOverflow, Part::Shape, true));
    assert_eq!(opened((1 << 63) - 1), (ErrorKind::CountMismatch, Part::Length, false));
}

/// A range may end at the end of the file. One byte more is outside of the file.
#[test]
fn data_up_to_the_end_of_the_file() {
    for (version, tensor, component) in
        [("0.1", "/0", "/0"), ("1.0", "/tensors/t", "/components/data"), ("1.2", "/objects/t", "/components/data")]
    {
        let with = |offset: u64, length: u64| {
            let mut manifest = full(version);
            for path in [tensor.to_string(), [tensor, component].concat()] {
                let path = if component == tensor { tensor } else { &path };
                for (key, value) in manifest.pairs(path) {
                    match key.as_str() {
                        "shape" => *value = Node::List(vec![Node::Uint(length / 4)]),
                        "offset" => *value = Node::Uint(offset),
                        "size" | "length" | "uncompressed_length" => *value = Node::Uint(length),
                        _ => {}
                    }
                }
            }
            written(version, &manifest, Style::Wide(8))
        };
        let end = with(64, 4).len() as u64;
        let opened = |offset, length| File::open(&with(offset, length)).map(drop).map_err(kind);
        assert_eq!(opened(64, end - 64), Err(ErrorKind::OverManifest), "{version}");
        assert_eq!(opened(64, end - 63), Err(ErrorKind::OutOfFile), "{version}");
        assert_eq!(opened(end - 1, 1), Err(ErrorKind::OverManifest), "{version}");
        assert_eq!(opened(end, 1), Err(ErrorKind::OutOfFile), "{version}");
        // Empty data may be anywhere in the file, and at its end.
        assert_eq!(opened(end, 0), Ok(()), "{version}");
        assert_eq!(opened(end + 1, 0), Err(ErrorKind::OutOfFile), "{version}");
    }
}

/// Byte order applies to raw numbers: 0.1 does not define it for anything else.
#[test]
fn encoded_bytes_have_no_byte_order() {
    let order = |encoding: &'static str| {
        let mut manifest = full("0.1");
        for (key, value) in manifest.pairs("/0") {
            match key.as_str() {
                "data_endianness" => *value = Node::Text("big"),
                "encoding" => *value = Node::Text(encoding),
                _ => {}
            }
        }
        let bytes = written("0.1", &manifest, Style::Shortest);
        File::open(&bytes).unwrap().find("t").unwrap().data().unwrap().byte_order()
    };
    assert_eq!(["raw", "zstd", "own"].map(order), [ByteOrder::Big, ByteOrder::Little, ByteOrder::Little]);
}

/// 1.0 states the dtype of a tensor. The dtype of a component is an unknown key.
#[test]
fn version_1_0_has_no_entries_of_1_2() {
    let file = |dtype: Option<&str>| {
        let mut cbor = Cbor::default();
        cbor.map(2).text("version").text("1.0").text("tensors").map(1).text("w");
        cbor.map(3 + u64::from(dtype.is_some())).text("shape").array(1).uint(1).text("format").text("dense");
        cbor.text("components").map(1).text("data");
        component(&mut cbor);
        if let Some(dtype) = dtype {
            cbor.text("dtype").text(dtype);
        }
        let mut bytes = file_1_2(&cbor.0);
        bytes.truncate(bytes.len() - 8);
        bytes
    };
    let error = File::open(&file(None)).unwrap_err();
    assert_eq!((error.kind(), error.part()), (ErrorKind::MissingKey, Part::DType));
    let bytes = file(Some("int32"));
    let file = File::open(&bytes).unwrap();
    let data = file.find("w").unwrap().data().unwrap();
    assert_eq!((data.dtype(), data.storage_dtype()), (Some(DType::I32), Some(DType::I32)));
}

#[test]
fn files_without_tensors() {
    for (version, bytes) in [("0.1", file_0_1(&[0x80])), ("1.2.0", file_1_2(&manifest_1_2([].into_iter())))] {
        let file = File::open(&bytes).unwrap();
        assert_eq!(file.version(), Some(version));
        assert_eq!((file.tensor_count(), file.tensors().count()), (0, 0));
        assert_eq!(["", "w"].map(|name| file.find(name).map(drop).map_err(kind)), [Err(ErrorKind::NotFound); 2]);
    }
}

/// In a list of indefinite length, an invalid item does not end the list.
#[test]
fn dimensions_in_an_indefinite_list() {
    let opened = |shape: &[u8]| {
        let mut cbor = Cbor::default();
        cbor.map(2).text("version").text("1.2.0").text("objects").map(1).text("w").map(3).text("shape");
        let at = 68 + cbor.0.len() as u64;
        cbor.raw(shape).text("format").text("dense").text("components").map(1).text("data");
        component(&mut cbor);
        let place = |error: &Error| error.offset().map(|offset| offset - at);
        File::open(&file_1_2(&cbor.0)).map(drop).map_err(|error| (error.kind(), error.part(), place(&error)))
    };
    assert_eq!(opened(&[0x9f, 1, 1, 0xff]), Ok(()));
    assert_eq!(opened(&[0x9f, 1, 0xfc, 1, 0xff]), Err((ErrorKind::Malformed, Part::Shape, Some(2))));
    assert_eq!(opened(&[0x9f, 1, 0xf6, 1, 0xff]), Err((ErrorKind::UnexpectedType, Part::Shape, Some(2))));
}

/// A component is a map. Whatever follows the last one is not a component.
#[test]
fn components_begin_and_end() {
    let refused = |data: fn(&mut Cbor), more: &[&str]| {
        let mut cbor = Cbor::default();
        cbor.map(2).text("version").text("1.2.0").text("objects").map(1).text("w").map(3 + more.len() as u64);
        cbor.text("shape").array(0).text("format").text("dense").text("components").map(1).text("data");
        let at = 68 + cbor.0.len() as u64;
        data(&mut cbor);
        let end = 68 + cbor.0.len() as u64;
        for key in more {
            cbor.text(key).array(0);
        }
        let bytes = file_1_2(&cbor.0);
        let error = File::open(&bytes).unwrap_err();
        let place = [at, end].iter().position(|place| error.offset() == Some(*place));
        (error.kind(), error.part(), place, error.explain(&bytes[..]).to_string())
    };
    let (kind, item, place, message) = refused(|cbor| cbor.0.push(5), &[]);
    assert_eq!((kind, item, place), (ErrorKind::UnexpectedType, Part::Component, Some(0)));
    assert!(message.contains("component \"data\" of tensor \"w\""), "{message}");
    let broken = |cbor: &mut Cbor| cbor.map(3).text("dtype").0.push(0x1c);
    let (kind, item, _, message) = refused(broken, &[]);
    assert_eq!((kind, item), (ErrorKind::Malformed, Part::DType));
    assert!(message.contains("component \"data\" of tensor \"w\""), "{message}");
    let (kind, item, place, message) = refused(component, &["shape"]);
    assert_eq!((kind, item, place), (ErrorKind::RepeatedKey, Part::Shape, Some(1)));
    assert!(message.contains("tensor \"w\"") && !message.contains("data"), "{message}");
}

/// After an entry comes the next one, or the end. An error at that point belongs to no tensor.
#[test]
fn missing_end_belongs_to_no_tensor() {
    let mut cbor = Cbor::default();
    cbor.map(2).text("version").text("1.2.0").text("objects").raw(&[0xbf]).text("w").map(3);
    cbor.text("format").text("dense").text("shape").array(0).text("components").map(1).text("data");
    component(&mut cbor);
    let error = File::open(&file_1_2(&cbor.0)).unwrap_err();
    assert_eq!((error.kind(), error.part(), error.entry()), (ErrorKind::Truncated, Part::Tensors, None));
    assert_eq!(error.offset(), Some(68 + cbor.0.len() as u64));
    let mut cbor = Cbor::default();
    cbor.raw(&[0x9f]);
    entry_0_1(&mut cbor, "w");
    let error = File::open(&file_0_1(&cbor.0)).unwrap_err();
    assert_eq!((error.kind(), error.part(), error.entry()), (ErrorKind::Truncated, Part::Tensors, None));
}

/// Unknown keys are also checked.
#[test]
fn rejects_keys_that_are_not_utf_8() {
    let mut cbor = Cbor::default();
    cbor.map(3).text("version").text("1.2.0");
    let at = 68 + cbor.0.len() as u64;
    cbor.raw(b"\x62a\xff").uint(0).text("objects").map(0);
    let error = File::open(&file_1_2(&cbor.0)).unwrap_err();
    let found = (error.kind(), error.part(), error.offset());
    assert_eq!(found, (ErrorKind::InvalidUtf8, Part::Key, Some(at)));
}

/// If the tensors are missing, the message says which key has them.
#[test]
fn tensors_under_the_key_of_another_version() {
    let message = |footer: bool, keys: &[&str]| {
        let mut cbor = Cbor::default();
        cbor.map(keys.len() as u64);
        for key in keys {
            cbor.text(key);
            if *key == "version" {
                cbor.text("1.2.0")
            } else {
                cbor.map(0)
            };
        }
        let mut bytes = file_1_2(&cbor.0);
        bytes.truncate(bytes.len() - if footer { 0 } else { 8 });
        let error = File::open(&bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MissingKey);
        error.explain(&bytes[..]).to_string()
    };
    for (footer, own, other) in [(true, "objects", "tensors"), (false, "tensors", "objects")] {
        let is_said = |keys: &[&str]| message(footer, keys).contains(&format!("they are under {other:?}"));
        assert!(is_said(&["version", other]) && is_said(&[other, "version"]), "{own}");
        assert!(!is_said(&["version"]) && !is_said(&["attributes"]) && !is_said(&[own, other]), "{own}");
    }
    // They are not missing, but not a map.
    let mut cbor = Cbor::default();
    cbor.map(3).text("version").text("1.2.0").text("tensors").map(0).text("objects").uint(5);
    let bytes = file_1_2(&cbor.0);
    let message = File::open(&bytes).unwrap_err().explain(&bytes[..]).to_string();
    let at = 68 + cbor.0.len() - 1;
    assert_eq!(message, format!("ztensor 1.2.0: tensors: the value is of the wrong CBOR type: 5 [at byte {at}]"));
}

#[test]
fn versions_are_numbers() {
    let opened = |version: &str| {
        let mut cbor = Cbor::default();
        cbor.map(2).text("version").text(version).text("objects").map(0);
        File::open(&file_1_2(&cbor.0)).map(|file| file.warnings().iter().collect::<Vec<_>>()).map_err(kind)
    };
    for version in ["1.2", "1.0", "1.2.x", "01.02"] {
        assert_eq!(opened(version), Ok(vec![]), "{version}");
    }
    assert_eq!(["1.3", "1.10"].map(opened), [(); 2].map(|()| Ok(vec![Warning::NewerMinor])));
    assert_eq!(opened("1"), Ok(vec![Warning::NoMinor]));
    for version in ["1.:", ":", "1.x", "x", "x.1", "1.0x", "1x.0", "1./", "", ".", "1.", ".1", "1.-0", "+1.0"] {
        assert_eq!(opened(version), Err(ErrorKind::InvalidVersion), "{version}");
    }
    for version in ["0.1", "2.0", "10", "11.0", "4294967297.0"] {
        assert_eq!(opened(version), Err(ErrorKind::UnsupportedVersion), "{version}");
    }
}

/// A role is a text. Its errors have a part and an offset of their own.
#[test]
fn rejects_roles_that_are_not_texts() {
    for (role, kind) in [
        (&b"\x05"[..], ErrorKind::UnexpectedType),
        (b"\x62a\xff", ErrorKind::InvalidUtf8),
        (b"\x7f\x61a\xff", ErrorKind::ChunkedText),
        (b"\x1c", ErrorKind::Malformed),
    ] {
        let mut cbor = Cbor::default();
        cbor.map(2).text("version").text("1.2.0").text("objects").map(1).text("w").map(3);
        cbor.text("shape").array(0).text("format").text("own").text("components").map(2).text("data");
        component(&mut cbor);
        let at = 68 + cbor.0.len() as u64;
        cbor.raw(role);
        component(&mut cbor);
        let error = File::open(&file_1_2(&cbor.0)).unwrap_err();
        assert_eq!((error.kind(), error.part(), error.offset()), (kind, Part::Role, Some(at)), "{role:02x?}");
    }
}

/// After a component, reading continues in the map that contains it.
#[test]
fn reads_on_after_the_components() {
    let mut cbor = Cbor::default();
    cbor.map(2).text("version").text("1.2.0").text("objects").map(1).text("w").map(3);
    cbor.text("shape").array(0).text("format").text("own").text("components").raw(&[0xbf]).text("data");
    component(&mut cbor);
    let end = 68 + cbor.0.len() as u64;
    let error = File::open(&file_1_2(&cbor.0)).unwrap_err();
    assert_eq!((error.kind(), error.part(), error.offset()), (ErrorKind::Truncated, Part::Components, Some(end)));
    cbor.raw(&[0xff]);
    assert!(File::open(&file_1_2(&cbor.0)).is_ok());
}

/// In 0.1 a sparse tensor has a single component, with indices of one dtype and values of another.
#[test]
fn packed_indices_and_values() {
    let dtypes = |layout| {
        let mut manifest = full("0.1");
        manifest.pairs("/0").iter_mut().find(|(key, _)| key == "layout").unwrap().1 = Node::Text(layout);
        let bytes = written("0.1", &manifest, Style::Shortest);
        let tensor = File::open(&bytes).unwrap().find("t").unwrap().dtype();
        (tensor, File::open(&bytes).unwrap().find("t").unwrap().components().next().unwrap().dtype())
    };
    assert_eq!(dtypes("dense"), (Some(DType::F32), Some(DType::F32)));
    assert_eq!(dtypes("sparsecoo"), (Some(DType::F32), None));
    // The length is not a multiple of either size. The number of values is determined when they are read.
    let opened = |layout| {
        let mut manifest = full("0.1");
        for (key, value) in manifest.pairs("/0") {
            match key.as_str() {
                "layout" => *value = Node::Text(layout),
                "dtype" => *value = Node::Text("float64"),
                _ => {}
            }
        }
        let bytes = written("0.1", &manifest, Style::Shortest);
        let file = File::open(&bytes).map_err(kind)?;
        file.find("t").unwrap().sparse(ReadOptions::new()).map(drop).map_err(kind)
    };
    assert_eq!(opened("dense"), Err(ErrorKind::PartialElement));
    assert_eq!(opened("sparsecoo"), Err(ErrorKind::PackedLength));
}

/// An error that is detected later also points to the entry.
#[test]
fn errors_have_the_offset_of_the_entry() {
    let bytes = file_1_2(&manifest_1_2(["a", "b"].into_iter()));
    let file = File::open(&bytes).unwrap();
    for (name, head) in [("a", b"\x61a\xa3"), ("b", b"\x61b\xa3")] {
        let data = file.find(name).unwrap().data().unwrap();
        let error = data.as_slice::<f64>().unwrap_err();
        let at = bytes.windows(3).position(|part| part == head).map(|at| at as u64);
        assert_eq!((error.kind(), error.entry()), (ErrorKind::WrongType, at), "{name}");
    }
}

/// A key with as many letters as "components", of which the first seven are the same. The last ones are at the end of
/// the manifest.
#[test]
fn compares_whole_keys() {
    let of = |key: &str| {
        let mut cbor = Cbor::default();
        cbor.map(3).text("version").text("1.2.0").text("objects").map(1).text("w");
        let at = 68 + cbor.0.len() as u64;
        cbor.map(3).text("shape").array(0).text("format").text("dense").text(key).map(1).text("data");
        component(&mut cbor);
        cbor.text("attributes").map(1).text("a").text("nts");
        let error = File::open(&file_1_2(&cbor.0)).map(|file| file.tensor_count());
        (error.map_err(|error| (error.kind(), error.part(), error.offset())), at)
    };
    assert_eq!(of("components").0, Ok(1));
    let (found, at) = of("component_");
    assert_eq!(found, Err((ErrorKind::MissingKey, Part::Components, Some(at))));
}

/// In 0.1 a tensor is a map in a list.
#[test]
fn rejects_entries_that_are_not_maps() {
    let mut cbor = Cbor::default();
    let at = 68 + cbor.array(1).0.len() as u64;
    cbor.uint(5);
    let refused = |manifest: &Cbor| {
        let error = File::open(&file_0_1(&manifest.0)).unwrap_err();
        (error.kind(), error.part(), error.offset())
    };
    assert_eq!(refused(&cbor), (ErrorKind::UnexpectedType, Part::Tensor, Some(at)));
    // A manifest must be a list.
    let mut map = Cbor::default();
    map.map(0);
    assert_eq!(refused(&map), (ErrorKind::UnexpectedType, Part::Manifest, Some(68)));
}

/// Data may not overlap the magic. It may begin right after it, with a warning for the offset.
#[test]
fn data_right_after_the_magic() {
    let opened = |offset| {
        let mut cbor = Cbor::default();
        cbor.map(2).text("version").text("1.2.0").text("objects").map(1).text("w").map(3);
        cbor.text("shape").array(1).uint(4).text("format").text("dense").text("components").map(1).text("data");
        cbor.map(3).text("dtype").text("u8").text("offset").uint(offset).text("length").uint(4);
        let bytes = file_1_2(&cbor.0);
        File::open(&bytes).map(|file| file.warnings().iter().collect::<Vec<_>>()).map_err(|error| error.kind())
    };
    assert_eq!(opened(7), Err(ErrorKind::OverHeader));
    assert_eq!(opened(8), Ok(vec![Warning::MisalignedOffset]));
}

#[test]
fn rows_need_two_dimensions() {
    let mut cbor = Cbor::default();
    cbor.array(1).map(7).text("name").text("m").text("offset").uint(64).text("size").uint(4);
    cbor.text("dtype")
        .text("float32")
        .text("layout")
        .text("sparsecsr")
        .text("shape")
        .array(3)
        .uint(2)
        .uint(3)
        .uint(1);
    cbor.text("encoding").text("raw");
    assert_eq!(File::open(&file_0_1(&cbor.0)).map_err(kind).unwrap_err(), ErrorKind::RankMismatch);
}

#[test]
fn keys_in_any_order_and_unknown_ones() {
    let mut cbor = Cbor::default();
    // The components precede the shape, every record has an unknown key, and the version comes last.
    cbor.map(3).text("objects").raw(&[0xbf]).text("w").map(4).text("components").map(1).text("data");
    cbor.map(5).text("length").uint(4).text("offset").uint(64).text("future").array(2).uint(1).uint(2);
    cbor.text("type").raw(&[0xf6]).text("dtype").text("f32");
    cbor.text("format").text("dense").text("future").map(0).text("shape").raw(&[0x9f, 0xff]).raw(&[0xff]);
    cbor.raw(&[0x05]).text("an integer key").text("version").text("1.2.0");
    let bytes = file_1_2(&cbor.0);
    let file = File::open(&bytes).unwrap();
    let data = file.find("w").unwrap().data().unwrap();
    assert_eq!((data.dtype(), data.elements::<f32>().unwrap().next()), (Some(DType::F32), Some(1.5)));
}

/// Writes a JSON value as CBOR.
fn write_json(cbor: &mut Cbor, value: &Json) {
    match value {
        Json::Null => drop(cbor.raw(&[0xf6])),
        Json::String(text) => drop(cbor.text(text)),
        Json::Array(items) => {
            cbor.array(items.len() as u64);
            items.iter().for_each(|item| write_json(cbor, item));
        }
        Json::Object(pairs) => {
            cbor.map(pairs.len() as u64);
            for (key, value) in pairs {
                write_json(cbor.text(key), value);
            }
        }
        number => drop(cbor.uint(number.as_u64().unwrap())),
    }
}

/// A file of that version with one tensor and every defined key, where the key named `null` has the value null.
fn with_null(version: &str, null: &str) -> Vec<u8> {
    let mut manifest = match version {
        "0.1" => json!([{
            "name": "t", "offset": 64, "size": 4, "dtype": "float32", "layout": "dense", "shape": [],
            "data_endianness": "little", "encoding": "raw", "checksum": "crc32c:0",
        }]),
        "1.0" => json!({ "version": "1.0", "attributes": {}, "tensors": { "t": {
            "dtype": "float32", "shape": [], "format": "dense",
            "components": { "data": { "offset": 64, "length": 4, "encoding": "raw", "digest": "crc32c:0" } },
        } } }),
        _ => json!({ "version": "1.2.0", "attributes": {}, "objects": { "t": {
            "shape": [], "format": "dense", "attributes": {},
            "components": { "data": {
                "dtype": "f32", "type": "f32", "offset": 64, "length": 4, "uncompressed_length": 4,
                "encoding": "raw", "digest": "crc32c:0",
            } },
        } } }),
    };
    *manifest.pointer_mut(null).unwrap() = Json::Null;
    let mut cbor = Cbor::default();
    write_json(&mut cbor, &manifest);
    let mut file = if version == "0.1" { file_0_1(&cbor.0) } else { file_1_2(&cbor.0) };
    if version == "1.0" {
        file.truncate(file.len() - 8); // it has no magic at the end
    }
    file
}

/// Null is present with the wrong type: neither missing nor read as 0 or empty.
#[test]
fn rejects_null_for_required_keys() {
    for (version, key, item) in [
        ("0.1", "/0/name", Part::Name),
        ("0.1", "/0/offset", Part::Offset),
        ("0.1", "/0/size", Part::Length),
        ("0.1", "/0/dtype", Part::DType),
        ("0.1", "/0/shape", Part::Shape),
        ("0.1", "/0/encoding", Part::Encoding),
        ("1.0", "/version", Part::Version),
        ("1.0", "/tensors", Part::Tensors),
        ("1.0", "/tensors/t/dtype", Part::DType),
        ("1.0", "/tensors/t/shape", Part::Shape),
        ("1.0", "/tensors/t/format", Part::Layout),
        ("1.0", "/tensors/t/components", Part::Components),
        ("1.0", "/tensors/t/components/data/offset", Part::Offset),
        ("1.0", "/tensors/t/components/data/length", Part::Length),
        ("1.2", "/version", Part::Version),
        ("1.2", "/objects", Part::Tensors),
        ("1.2", "/objects/t/shape", Part::Shape),
        ("1.2", "/objects/t/format", Part::Layout),
        ("1.2", "/objects/t/components", Part::Components),
        ("1.2", "/objects/t/components/data/dtype", Part::DType),
        ("1.2", "/objects/t/components/data/offset", Part::Offset),
        ("1.2", "/objects/t/components/data/length", Part::Length),
    ] {
        let bytes = with_null(version, key);
        let error = File::open(&bytes).expect_err(key);
        assert_eq!((error.kind(), error.part()), (ErrorKind::UnexpectedType, item), "{version} {key}");
        let null = bytes.iter().position(|byte| *byte == 0xf6);
        assert_eq!(error.offset(), null.map(|at| at as u64), "{version} {key}");
    }
}

#[test]
fn null_of_an_optional_key_means_absent() {
    for (version, record, keys) in [
        ("0.1", "/0", &["layout", "data_endianness", "checksum"][..]),
        ("1.0", "", &["attributes"]),
        ("1.0", "/tensors/t/components/data", &["encoding", "digest"]),
        ("1.2", "", &["attributes"]),
        ("1.2", "/objects/t", &["attributes"]),
        ("1.2", "/objects/t/components/data", &["type", "uncompressed_length", "encoding", "digest"]),
    ] {
        for key in keys {
            let bytes = with_null(version, &format!("{record}/{key}"));
            let file = File::open(&bytes).unwrap_or_else(|error| panic!("{version} {record}/{key}: {error}"));
            let data = file.find("t").unwrap().data().unwrap();
            assert_eq!(data.elements::<f32>().unwrap().next(), Some(1.5), "{version} {record}/{key}");
            assert_eq!(data.digest(), if matches!(*key, "digest" | "checksum") { None } else { Some("crc32c:0") });
        }
    }
}

#[test]
fn unknown_logical_types_of_another_size_have_no_dtype() {
    let with = |logical: &str, dtype: &str, shape: u64| {
        let mut cbor = Cbor::default();
        cbor.map(2).text("version").text("1.2.0").text("objects").map(1).text("w").map(3);
        cbor.text("shape").array(1).uint(shape).text("format").text("dense").text("components").map(1).text("data");
        cbor.map(4)
            .text("dtype")
            .text(dtype)
            .text("type")
            .text(logical)
            .text("offset")
            .uint(64)
            .text("length")
            .uint(4);
        file_1_2(&cbor.0)
    };
    // The size is that of the storage dtype: reported as that dtype.
    let bytes = with("f8_future", "u8", 4);
    let file = File::open(&bytes).unwrap();
    assert_eq!(file.warnings().first_tensor(Warning::UnknownLogicalType), Some(0));
    assert_eq!(file.find("w").unwrap().dtype(), Some(DType::U8));
    // Possibly two elements per byte: must not be indexed by its shape.
    let bytes = with("f4_future", "u8", 8);
    let file = File::open(&bytes).unwrap();
    let tensor = file.find("w").unwrap();
    assert_eq!((tensor.dtype(), tensor.data().unwrap().dtype()), (None, None));
    assert_eq!(tensor.data().unwrap().as_slice::<u8>().map_err(kind).unwrap_err(), ErrorKind::WrongType);
    assert_eq!(tensor.data().unwrap().bytes().unwrap().len(), 4);
    // The logical type may be the storage dtype.
    let bytes = with("f8_e5m2", "f8_e5m2", 4);
    assert_eq!(File::open(&bytes).unwrap().find("w").unwrap().dtype(), Some(DType::F8_E5M2));
    let bytes = with("f32", "f32", 1);
    let file = File::open(&bytes).unwrap();
    assert_eq!((file.warnings().is_empty(), file.find("w").unwrap().dtype()), (true, Some(DType::F32)));
    assert_eq!(File::open(&with("f32", "f32", 2)).map_err(kind).unwrap_err(), ErrorKind::SizeMismatch);
    // A known type over the wrong dtype is a contradiction.
    assert_eq!(File::open(&with("f8_e5m2", "f32", 1)).map_err(kind).unwrap_err(), ErrorKind::TypeMismatch);
    assert_eq!(File::open(&with("complex64", "f32", 1)).map_err(kind).unwrap_err(), ErrorKind::PartialElement);
}

#[test]
fn rejects_chunked_text_keys() {
    let mut cbor = Cbor::default();
    cbor.map(2).raw(&[0x7f]).text("ver").text("sion").raw(&[0xff]).text("1.2.0").text("objects").map(0);
    assert_eq!(File::open(&file_1_2(&cbor.0)).map_err(kind).unwrap_err(), ErrorKind::ChunkedText);
}

/// Values may be nested equally deeply in entries that are skipped and in entries that are read. Unsorted names and
/// `find` skip whole entries.
#[test]
fn deep_values_in_skipped_entries() {
    let deep = |depth: usize| {
        let mut cbor = Cbor::default();
        cbor.map(2).text("version").text("1.2.0").text("objects").map(2);
        for name in ["b", "a"] {
            cbor.text(name).map(3).text("shape").array(0).text("format").text("dense").text("components");
            cbor.map(1).text("data").map(4).text("dtype").text("f32").text("offset").uint(64).text("length").uint(4);
            cbor.text("unknown");
            for _ in 0..depth {
                cbor.array(1);
            }
            cbor.uint(0);
        }
        file_1_2(&cbor.0)
    };
    let bytes = deep(32);
    let file = File::open(&bytes).unwrap();
    assert_eq!((file.find("a").unwrap().index(), file.find("b").unwrap().index()), (1, 0));
    assert_eq!(File::open(&deep(33)).map_err(kind).unwrap_err(), ErrorKind::TooDeep);
}

/// A value of a manifest. Its keys are in the order in which real programs write them.
#[derive(Clone)]
enum Node {
    Uint(u64),
    Text(&'static str),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// The encoding of containers and heads.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Style {
    Shortest,
    /// Containers of indefinite length, ended by a break code.
    Endless,
    /// The argument takes this many bytes after each head.
    Wide(usize),
}

fn map(pairs: &[(&str, Node)]) -> Node {
    Node::Map(pairs.iter().map(|(key, value)| (key.to_string(), value.clone())).collect())
}

impl Node {
    fn write(&self, style: Style, out: &mut Vec<u8>) {
        let head = |out: &mut Vec<u8>, major: u8, number: u64| match style {
            Style::Wide(width) => {
                out.push((major << 5) | (24 + width.trailing_zeros() as u8));
                out.extend(&number.to_be_bytes()[8 - width..]);
            }
            _ => {
                let mut cbor = Cbor::default();
                cbor.head(major, number);
                out.extend(cbor.0);
            }
        };
        let text = |out: &mut Vec<u8>, text: &str| {
            head(out, 3, text.len() as u64);
            out.extend(text.bytes());
        };
        match self {
            Self::Uint(number) => head(out, 0, *number),
            Self::Text(string) => text(out, string),
            Self::List(items) => {
                if style == Style::Endless {
                    out.push(0x9f)
                } else {
                    head(out, 4, items.len() as u64)
                }
                items.iter().for_each(|item| item.write(style, out));
            }
            Self::Map(pairs) => {
                if style == Style::Endless {
                    out.push(0xbf)
                } else {
                    head(out, 5, pairs.len() as u64)
                }
                for (key, value) in pairs {
                    text(out, key);
                    value.write(style, out);
                }
            }
        }
        if style == Style::Endless && matches!(self, Self::List(_) | Self::Map(_)) {
            out.push(0xff);
        }
    }

    /// The pairs of the record at this path. `0` is the only item of a list.
    fn pairs(&mut self, path: &str) -> &mut Vec<(String, Node)> {
        let mut node = self;
        for step in path.split('/').filter(|step| !step.is_empty()) {
            node = match node {
                Self::List(items) => &mut items[0],
                Self::Map(pairs) => &mut pairs.iter_mut().find(|(key, _)| key == step).unwrap().1,
                _ => panic!("{path}"),
            };
        }
        let Self::Map(pairs) = node else { panic!("{path}") };
        pairs
    }
}

/// The manifest of a file of that version with one tensor and every defined key.
fn full(version: &str) -> Node {
    use Node::{List, Text, Uint};
    match version {
        "0.1" => List(vec![map(&[
            ("name", Text("t")),
            ("offset", Uint(64)),
            ("size", Uint(4)),
            ("dtype", Text("float32")),
            ("layout", Text("dense")),
            ("shape", List(vec![Uint(1)])),
            ("data_endianness", Text("little")),
            ("encoding", Text("raw")),
            ("checksum", Text("crc32c:0x00000000")),
        ])]),
        "1.0" => {
            let data = map(&[
                ("offset", Uint(64)),
                ("length", Uint(4)),
                ("encoding", Text("raw")),
                ("digest", Text("crc32c:0x00000000")),
            ]);
            let tensor = map(&[
                ("dtype", Text("float32")),
                ("shape", List(vec![Uint(1)])),
                ("format", Text("dense")),
                ("components", map(&[("data", data)])),
            ]);
            map(&[("version", Text("1.0")), ("attributes", map(&[])), ("tensors", map(&[("t", tensor)]))])
        }
        _ => {
            let data = map(&[
                ("dtype", Text("f32")),
                ("type", Text("f32")),
                ("offset", Uint(64)),
                ("length", Uint(4)),
                ("uncompressed_length", Uint(4)),
                ("encoding", Text("raw")),
                ("digest", Text("crc32c:0x00000000")),
            ]);
            let tensor = map(&[
                ("shape", List(vec![Uint(1)])),
                ("format", Text("dense")),
                ("attributes", map(&[])),
                ("components", map(&[("data", data)])),
            ]);
            map(&[("version", Text("1.2.0")), ("attributes", map(&[])), ("objects", map(&[("t", tensor)]))])
        }
    }
}

/// Each record of each version, and the part that each of its keys states: required keys, then optional ones.
type Record = (&'static str, &'static str, &'static [(&'static str, Part)], &'static [(&'static str, Part)]);
const RECORDS: &[Record] = &[
    (
        "0.1",
        "/0",
        &[
            ("name", Part::Name),
            ("offset", Part::Offset),
            ("size", Part::Length),
            ("dtype", Part::DType),
            ("shape", Part::Shape),
            ("encoding", Part::Encoding),
        ],
        &[("layout", Part::Layout), ("data_endianness", Part::ByteOrder), ("checksum", Part::Digest)],
    ),
    ("1.0", "", &[("version", Part::Version), ("tensors", Part::Tensors)], &[("attributes", Part::Attributes)]),
    (
        "1.0",
        "/tensors/t",
        &[("dtype", Part::DType), ("shape", Part::Shape), ("format", Part::Layout), ("components", Part::Components)],
        &[],
    ),
    (
        "1.0",
        "/tensors/t/components/data",
        &[("offset", Part::Offset), ("length", Part::Length)],
        &[("encoding", Part::Encoding), ("digest", Part::Digest)],
    ),
    ("1.2", "", &[("version", Part::Version), ("objects", Part::Tensors)], &[("attributes", Part::Attributes)]),
    (
        "1.2",
        "/objects/t",
        &[("shape", Part::Shape), ("format", Part::Layout), ("components", Part::Components)],
        &[("attributes", Part::Attributes)],
    ),
    (
        "1.2",
        "/objects/t/components/data",
        &[("dtype", Part::DType), ("offset", Part::Offset), ("length", Part::Length)],
        &[
            ("type", Part::LogicalType),
            ("uncompressed_length", Part::DecodedLength),
            ("encoding", Part::Encoding),
            ("digest", Part::Digest),
        ],
    ),
];

/// A file of that version with this manifest, and the offset of the manifest.
fn file_of(version: &str, manifest: &[u8]) -> (Vec<u8>, u64) {
    let mut file = if version == "0.1" { file_0_1(manifest) } else { file_1_2(manifest) };
    if version == "1.0" {
        file.truncate(file.len() - 8); // it has no magic at the end
    }
    (file, 68)
}

fn written(version: &str, manifest: &Node, style: Style) -> Vec<u8> {
    let mut cbor = Vec::new();
    manifest.write(style, &mut cbor);
    file_of(version, &cbor).0
}

/// Containers may have indefinite lengths, heads any width (RFC 8949 section 3), and keys any order.
#[test]
fn a_manifest_is_read_in_any_encoding_and_order() {
    for version in ["0.1", "1.0", "1.2"] {
        let manifest = full(version);
        let described = |bytes: &[u8]| crate::support::describe(&File::open(bytes).unwrap());
        let expected = described(&written(version, &manifest, Style::Shortest));
        assert!(expected.contains("\"t\" Some(f32)") && expected.contains("crc32c"), "{expected}");
        for style in [Style::Endless, Style::Wide(1), Style::Wide(2), Style::Wide(4), Style::Wide(8)] {
            assert_eq!(described(&written(version, &manifest, style)), expected, "{version} {style:?}");
        }
        for (_, record, ..) in RECORDS.iter().filter(|(of, ..)| *of == version) {
            let mut manifest = manifest.clone();
            for _ in 0..manifest.pairs(record).len() {
                manifest.pairs(record).rotate_left(1);
                for style in [Style::Shortest, Style::Endless] {
                    assert_eq!(described(&written(version, &manifest, style)), expected, "{version} {record}");
                }
                let mut reversed = manifest.clone();
                reversed.pairs(record).reverse();
                assert_eq!(described(&written(version, &reversed, Style::Shortest)), expected, "{version} {record}");
            }
        }
    }
}

/// A key with one different letter is another key.
#[test]
fn compares_every_letter_of_a_key() {
    for (version, record, required, optional) in RECORDS {
        let all = required.iter().map(|key| (key, true)).chain(optional.iter().map(|key| (key, false)));
        for ((key, item), is_required) in all {
            let misspelled = (0..key.len()).map(|at| {
                let letter = key.as_bytes()[at] ^ 0x20;
                [&key.as_bytes()[..at], &[letter], &key.as_bytes()[at + 1..]].concat()
            });
            let longer = [[key.as_bytes(), b"s"].concat(), key.as_bytes()[..key.len() - 1].to_vec()];
            for other in misspelled.chain(longer) {
                let other = String::from_utf8(other).unwrap();
                let mut manifest = full(version);
                manifest.pairs(record).iter_mut().find(|(name, _)| name == key).unwrap().0 = other.clone();
                let context = format!("{version} {record} {other}");
                let bytes = written(version, &manifest, Style::Shortest);
                match File::open(&bytes) {
                    Ok(file) => {
                        assert!(!is_required, "{context}");
                        let digest = file.find("t").unwrap().data().unwrap().digest();
                        assert_eq!(digest.is_none(), *item == Part::Digest, "{context}");
                    }
                    Err(error) => {
                        assert!(is_required, "{context}");
                        assert_eq!((error.kind(), error.part()), (ErrorKind::MissingKey, *item), "{context}");
                    }
                }
                // If the right key follows, nothing is missing.
                let mut manifest = full(version);
                manifest.pairs(record).insert(0, (other, Node::Uint(7)));
                assert!(File::open(&written(version, &manifest, Style::Shortest)).is_ok(), "{context}");
            }
        }
    }
}

#[test]
fn names_missing_keys() {
    for (version, record, required, _) in RECORDS {
        for (key, item) in *required {
            let mut manifest = full(version);
            manifest.pairs(record).retain(|(name, _)| name != key);
            let bytes = written(version, &manifest, Style::Shortest);
            let error = File::open(&bytes).unwrap_err();
            assert_eq!((error.kind(), error.part()), (ErrorKind::MissingKey, *item), "{version} {record} {key}");
            let message = error.explain(&bytes[..]).to_string();
            assert!(message.contains(&format!("a required key is missing: {key:?}")), "{message}");
            assert_eq!(message.contains("component \"data\" of tensor \"t\""), record.ends_with("data"), "{message}");
        }
    }
}

/// A repeated key is rejected at every position in the record.
#[test]
fn rejects_repeated_keys() {
    for (version, record, required, optional) in RECORDS {
        for (key, item) in required.iter().chain(*optional) {
            let count = full(version).pairs(record).len();
            for place in 0..=count {
                for style in [Style::Shortest, Style::Endless] {
                    let mut manifest = full(version);
                    let pairs = manifest.pairs(record);
                    let first = pairs.iter().position(|(name, _)| name == key).unwrap();
                    let again = pairs[first].clone();
                    pairs.insert(place, again);
                    let context = format!("{version} {record} {key} at {place}");
                    let bytes = written(version, &manifest, style);
                    let error = File::open(&bytes).expect_err(&context);
                    assert_eq!((error.kind(), error.part()), (ErrorKind::RepeatedKey, *item), "{context}");
                    // The error is at the second of the two.
                    let spelled = [&[0x60 | key.len() as u8], key.as_bytes()].concat();
                    let all = bytes.windows(spelled.len()).enumerate().filter(|(_, part)| *part == spelled);
                    assert!(all.clone().any(|(at, _)| error.offset() == Some(at as u64)), "{context}");
                    assert!(all.map(|(at, _)| at as u64).next() < error.offset(), "{context}");
                }
            }
        }
    }
}

#[test]
fn rejects_bytes_after_a_manifest() {
    for version in ["0.1", "1.0", "1.2"] {
        for style in [Style::Shortest, Style::Endless] {
            let mut cbor = Vec::new();
            full(version).write(style, &mut cbor);
            for more in [&[0][..], &[0xf6], &[0xff], &[0x61], &[0; 100]] {
                let (bytes, at) = file_of(version, &[&cbor, more].concat());
                let error = File::open(&bytes).unwrap_err();
                assert_eq!((error.kind(), error.part()), (ErrorKind::TrailingBytes, Part::Manifest), "{version}");
                assert_eq!(error.offset(), Some(at + cbor.len() as u64), "{version}");
            }
            for length in 1..cbor.len() {
                let (bytes, at) = file_of(version, &cbor[..length]);
                let error = File::open(&bytes).unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::Truncated | ErrorKind::CountTooLarge), "{length}: {error}");
                assert!(error.offset().is_some_and(|offset| (at..=at + length as u64).contains(&offset)), "{error}");
            }
        }
    }
}
