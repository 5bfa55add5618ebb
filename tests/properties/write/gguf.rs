//! GGUF: the metadata keeps its types, and the files of the reference implementation are written again.

use std::fmt::Write as _;

use super::{Collected, data_of, written};
use tenslice::blocks::BlockType;
use tenslice::gguf::ValueType;
use tenslice::write::{NewAttribute, NewFile, NewLayout, NewTensor, NewValue, Writer};
use tenslice::{Attributes, ByteOrder, DType, ErrorKind, File, Format, Part, Tensor, Value};

/// The values and their types, as text.
fn described(attributes: Attributes<'_>) -> String {
    let mut all = String::new();
    let mut levels = vec![attributes];
    while let Some(level) = levels.last_mut() {
        let value_type = level.value_type();
        let Some(attribute) = level.next() else {
            assert_eq!((value_type, level.error()), (None, None));
            levels.pop();
            all.push(']');
            continue;
        };
        let key = attribute.key.and_then(|key| key.as_str());
        write!(all, "{key:?} {}: ", value_type.unwrap()).unwrap();
        match attribute.value {
            Value::Array(items) => levels.push(items),
            value => writeln!(all, "{value:?}").unwrap(),
        }
    }
    all
}

#[test]
fn values_keep_their_types() {
    use NewValue as V;
    let nested = [V::List(&[V::Text("a"), V::Text("")]), V::List(&[]), V::List(&[V::Bool(true), V::Bool(false)])];
    let values = [
        (V::U8(255), "u8: Integer(255)"),
        (V::I8(-1), "i8: Integer(-1)"),
        (V::U16(0xfffe), "u16: Integer(65534)"),
        (V::I16(-2), "i16: Integer(-2)"),
        (V::U32(7), "u32: Integer(7)"),
        (V::I32(-7), "i32: Integer(-7)"),
        (V::U64(u64::MAX), "u64: Integer(18446744073709551615)"),
        (V::I64(i64::MIN), "i64: Integer(-9223372036854775808)"),
        (V::F32(1.5), "f32: Float(1.5)"),
        (V::F64(0.1), "f64: Float(0.1)"),
        (V::Bool(true), "bool: Bool(true)"),
        (V::Text("a\0\u{e9}"), "string: Text(\"a\\0\u{e9}\")"),
        (V::Bytes(&[1, 0xff]), "array: None u8: Integer(1)\nNone u8: Integer(255)\n]"),
        (V::List(&[V::I16(1), V::I16(-1)]), "array: None i16: Integer(1)\nNone i16: Integer(-1)\n]"),
        (V::List(&[]), "array: ]"),
        (
            V::List(&nested),
            "array: None array: None string: Text(\"a\")\nNone string: Text(\"\")\n]None array: ]None array: \
             None bool: Bool(true)\nNone bool: Bool(false)\n]]",
        ),
    ];
    for (value, text) in values {
        let attributes = [NewAttribute { key: "key", value }, NewAttribute::new("last", 1_u8)];
        let bytes = written(NewFile::new(Format::Gguf, &[]).attributes(&attributes), &[]);
        let found = described(File::open(&bytes).unwrap().attributes());
        assert_eq!(
            found.replace('\n', ""),
            format!("Some(\"key\") {text}Some(\"last\") u8: Integer(1)]").replace('\n', "")
        );
    }
    // An empty array states a type as well.
    let attributes = [NewAttribute { key: "k", value: V::List(&[]) }];
    let bytes = written(NewFile::new(Format::Gguf, &[]).attributes(&attributes), &[]);
    assert_eq!(bytes[33..49], [9, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn other_formats_state_no_types_of_values() {
    assert_eq!(ValueType::ALL.len(), 13);
    #[cfg(feature = "ztensor")]
    {
        let attributes = [NewAttribute::new("key", 1_u8)];
        let bytes = written(NewFile::new(Format::Ztensor, &[]).attributes(&attributes), &[]);
        let attributes = File::open(&bytes).unwrap().attributes();
        assert_eq!((attributes.count(), attributes.value_type()), (1, None));
    }
}

#[test]
fn declarations_that_gguf_cannot_have() {
    fn refused(file: NewFile<'_>) -> (ErrorKind, Part, String) {
        let error = Writer::new(file, &mut []).unwrap_err();
        (error.kind(), error.part(), file.explain(&error).to_string())
    }
    let tensor = |tensor: NewTensor<'_>| {
        let (kind, part, _) = refused(NewFile::new(Format::Gguf, &[tensor]));
        (kind, part)
    };
    let dense = NewTensor::dense;
    for dtype in [DType::U8, DType::U16, DType::U32, DType::U64, DType::BOOL, DType::C64, DType::F8_E5M2, DType::I128]
    {
        assert_eq!(tensor(dense("a", dtype, &[1])), (ErrorKind::NotInFormat, Part::DType), "{dtype}");
    }
    let names = ["a".repeat(63), "a".repeat(64)];
    assert_eq!(tensor(dense(&names[1], DType::F32, &[1])), (ErrorKind::NameLength, Part::Name));
    assert_eq!(tensor(dense("a\0", DType::F32, &[1])), (ErrorKind::InvalidName, Part::Name));
    Writer::new(NewFile::new(Format::Gguf, &[dense(&names[0], DType::F32, &[1, 1, 1, 1])]), &mut []).unwrap();
    assert_eq!(tensor(dense("a", DType::F32, &[1; 5])), (ErrorKind::NotInFormat, Part::Shape));
    assert_eq!(tensor(dense("a", DType::F32, &[0, 1 << 63])), (ErrorKind::NotInFormat, Part::Shape));
    Writer::new(NewFile::new(Format::Gguf, &[dense("a", DType::F32, &[0, (1 << 63) - 1])]), &mut []).unwrap();
    assert_eq!(tensor(dense("a", DType::BF16, &[])), (ErrorKind::NotInFormat, Part::Shape));
    let blocks = NewTensor::blocks;
    assert_eq!(tensor(blocks("a", BlockType::Q8_0, &[])), (ErrorKind::NotInFormat, Part::Shape));
    assert_eq!(tensor(blocks("a", BlockType::Q8_0, &[32, 2])), (ErrorKind::PartialBlock, Part::Shape));
    let csr = NewLayout::Csr { dtype: DType::F32, count: 0, indices: DType::I64, pointers: DType::I64 };
    assert_eq!(
        tensor(NewTensor { name: "a", shape: &[1, 1], layout: csr, attributes: &[] }),
        (ErrorKind::NotInFormat, Part::Layout)
    );
    let attributes = [NewAttribute::new("key", 1_u8)];
    let with_attributes = NewTensor { attributes: &attributes, ..dense("a", DType::F32, &[1]) };
    assert_eq!(tensor(with_attributes), (ErrorKind::NotInFormat, Part::Attributes));

    use NewValue as V;
    let attribute = |key: &str, value: NewValue<'_>| {
        let attributes = [NewAttribute::new("first", 1_u8), NewAttribute { key, value }];
        let (kind, part, message) = refused(NewFile::new(Format::Gguf, &[]).attributes(&attributes));
        assert!(message.starts_with("gguf: attribute 1 "), "{message}");
        (kind, part)
    };
    let value = (ErrorKind::NotInFormat, Part::Value);
    assert_eq!(attribute("k", V::Null), value);
    assert_eq!(attribute("k", V::Map(&[])), value);
    assert_eq!(attribute("k", V::List(&[V::List(&[V::U8(1)]), V::List(&[V::Null])])), value);
    assert_eq!(attribute("k", V::List(&[V::U8(1), V::U8(1), V::I8(1)])), value);
    assert_eq!(attribute("k", V::List(&[V::List(&[]), V::Text("")])), value);
    assert_eq!(attribute("general.alignment", V::U32(64)), (ErrorKind::NotInFormat, Part::Key));
    assert_eq!(attribute("", V::U32(64)), (ErrorKind::NameLength, Part::Key));
    assert_eq!(attribute(&"k".repeat(65536), V::U32(64)), (ErrorKind::NameLength, Part::Key));
    assert_eq!(attribute("first", V::U32(64)), (ErrorKind::RepeatedKey, Part::Key));

    // Eight arrays in each other, as many as the reader enters: the innermost is empty, has an item, or is of bytes.
    for innermost in [V::List(&[]), V::List(&[V::Bool(true)]), V::Bytes(&[1])] {
        let mut value = innermost;
        for _ in 0..7 {
            value = V::List(Vec::leak(vec![value]));
        }
        let attributes = [NewAttribute { key: "k".repeat(65535).leak(), value }];
        let bytes = written(NewFile::new(Format::Gguf, &[]).attributes(&attributes), &[]);
        assert_eq!(described(File::open(&bytes).unwrap().attributes()).matches("array").count(), 8);
        assert_eq!(attribute("k", V::List(&[value])), (ErrorKind::TooDeep, Part::Value));
    }

    for alignment in [0, 4, 24, 1 << 32] {
        let file = NewFile::new(Format::Gguf, &[]).alignment(alignment);
        let (kind, _, message) = refused(file);
        assert_eq!(kind, ErrorKind::InvalidAlignment);
        assert_eq!(message, format!("gguf: the format does not allow the alignment {alignment}"));
    }
    let tensors = [dense("a", DType::F32, &[1])];
    let length =
        |alignment| Writer::new(NewFile::new(Format::Gguf, &tensors).alignment(alignment), &mut []).unwrap().length();
    assert_eq!((length(1 << 31), length(32)), (Some(1 << 32), Some(96)));
}

#[test]
fn the_alignment_is_stated_if_it_is_not_the_default() {
    let tensors = [NewTensor::dense("a", DType::I8, &[3]), NewTensor::blocks("b", BlockType::Q4_0, &[2, 32])];
    let attributes = [NewAttribute::new("first", 1_u8)];
    for alignment in [8_u32, 16, 32, 64, 4096] {
        let file = NewFile::new(Format::Gguf, &tensors).attributes(&attributes).alignment(alignment.into());
        let bytes = written(file, &data_of(&tensors));
        let opened = File::open(&bytes).unwrap();
        let keys: Vec<_> = opened.attributes().map(|attribute| attribute.key.unwrap().as_str().unwrap()).collect();
        let stated = if alignment == 32 { &["first"][..] } else { &["first", "general.alignment"] };
        assert_eq!(keys, stated);
        assert_eq!(opened.as_gguf().unwrap().alignment(), alignment);
        assert_eq!(bytes.len() % alignment as usize, 0);
        let block = opened.find("b").unwrap();
        assert_eq!(block.block_type(), Some(BlockType::Q4_0));
        assert_eq!(block.components().next().unwrap().extent().offset % u64::from(alignment), 0);
    }
}

/// The padding in front of the data is written with the header.
#[test]
fn the_data_follows_the_beginning() {
    let tensors = [NewTensor::dense("a", DType::I8, &[3])];
    for alignment in [8, 32, 4096] {
        let file = NewFile::new(Format::Gguf, &tensors).alignment(alignment);
        let data = data_of(&tensors);
        let bytes = written(file, &data);
        let start = File::open(&bytes).unwrap().find("a").unwrap().data().unwrap().extent().offset;
        let mut writer = Writer::new(file, &mut []).unwrap();
        let mut sink = Collected::new();
        writer.begin(&mut sink).unwrap();
        assert_eq!(writer.position(), start);
        assert!(sink.bytes == bytes[..start as usize], "{alignment}");
    }
}

/// A header is as long as the reader accepts, or a byte longer.
#[test]
fn the_longest_header() {
    const MIB: usize = 1 << 20;
    let bytes = vec![0; 2 * MIB];
    let length = |last: usize| {
        // The items of a list share the bytes. Each has 12 bytes before its own.
        let mut items = vec![NewValue::Bytes(&bytes[..MIB]); 1022];
        items.push(NewValue::Bytes(&bytes[..last]));
        let attributes = [NewAttribute { key: "k", value: NewValue::List(&items) }];
        let file = NewFile::new(Format::Gguf, &[]).attributes(&attributes);
        Writer::new(file, &mut []).map(|writer| writer.length()).map_err(|error| (error.kind(), error.part()))
    };
    let last = (1 << 30) - (24 + 9 + 4 + 12) - 1022 * (12 + MIB) - 12;
    assert_eq!(length(last), Ok(Some(1 << 30)));
    assert_eq!(length(last + 1), Err((ErrorKind::ManifestTooLarge, Part::Header)));
}

/// Copies a value, whose type in the file is `value_type`; `None` for text that is not UTF-8.
fn copied(value: Value<'static>, value_type: ValueType) -> Option<NewValue<'static>> {
    use NewValue as V;
    Some(match (value, value_type) {
        (Value::Integer(n), ValueType::U8) => V::U8(n as u8),
        (Value::Integer(n), ValueType::I8) => V::I8(n as i8),
        (Value::Integer(n), ValueType::U16) => V::U16(n as u16),
        (Value::Integer(n), ValueType::I16) => V::I16(n as i16),
        (Value::Integer(n), ValueType::U32) => V::U32(n as u32),
        (Value::Integer(n), ValueType::I32) => V::I32(n as i32),
        (Value::Integer(n), ValueType::U64) => V::U64(n as u64),
        (Value::Integer(n), ValueType::I64) => V::I64(n as i64),
        (Value::Float(n), ValueType::F32) => V::F32(n as f32),
        (Value::Float(n), ValueType::F64) => V::F64(n),
        (Value::Bool(is_true), ValueType::Bool) => V::Bool(is_true),
        (Value::Text(text), ValueType::String) => V::Text(text.as_str()?),
        (Value::Array(mut items), ValueType::Array) => {
            let mut copies = Vec::new();
            while let Some(value_type) = items.value_type() {
                copies.push(copied(items.next()?.value, value_type)?);
            }
            V::List(copies.leak())
        }
        (Value::Bytes(_), ValueType::String) => return None,
        other => panic!("{other:?}"),
    })
}

fn bytes_of(tensor: Tensor<'_>) -> &[u8] {
    tensor.components().next().unwrap().bytes().unwrap()
}

/// Files of gguf-py and other writers: declared again and written, the reader sees the same.
#[test]
fn files_of_other_writers_are_written_again() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/gguf");
    let (mut equal, mut differing, mut left_out) = (0, Vec::new(), Vec::new());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.extension().is_none_or(|extension| extension != "gguf") {
            continue;
        }
        let original: &'static [u8] = std::fs::read(&path).unwrap().leak();
        let Ok(file) = File::open(original) else { panic!("{name}") };
        if file.as_gguf().unwrap().byte_order() == ByteOrder::Big {
            continue; // blocks cannot be swapped
        }
        let (mut tensors, mut data) = (Vec::new(), Vec::new());
        for tensor in &file {
            let shape = tensor.shape().iter().collect::<Vec<_>>().leak();
            let layout = match (tensor.dtype(), tensor.block_type()) {
                (Some(dtype), _) => NewLayout::Dense(dtype),
                (None, block_type) => NewLayout::Blocks(block_type.unwrap()),
            };
            let name = tensor.name().as_str().unwrap().to_owned().leak();
            tensors.push(NewTensor { name, shape, layout, attributes: &[] });
            data.extend_from_slice(bytes_of(tensor));
        }
        let mut pairs = file.attributes();
        let (mut attributes, mut is_text) = (Vec::new(), true);
        while let Some(value_type) = pairs.value_type() {
            let attribute = pairs.next().unwrap();
            let key = attribute.key.unwrap().as_str().unwrap();
            match copied(attribute.value, value_type) {
                Some(value) if key != "general.alignment" => attributes.push(NewAttribute { key, value }),
                Some(_) => {}
                None => is_text = false,
            }
        }
        if !is_text {
            left_out.push(name);
            continue;
        }
        let alignment = file.as_gguf().unwrap().alignment();
        let declared = NewFile::new(Format::Gguf, &tensors).attributes(&attributes).alignment(alignment.into());
        let mut scratch = vec![0; Writer::scratch_length(&declared).unwrap()];
        let mut sink = Collected::new();
        let mut writer = match Writer::new(declared, &mut scratch) {
            Ok(writer) => writer,
            Err(error) => panic!("{name}: {}", declared.explain(&error)),
        };
        writer.begin(&mut sink).unwrap();
        writer.data(&mut sink, &data).unwrap();
        writer.finish(&mut sink).unwrap();
        if sink.bytes == original {
            equal += 1;
        } else {
            differing.push(name.clone());
        }

        let again = File::open(&sink.bytes).unwrap();
        assert_eq!(again.version(), Some("3"));
        assert_eq!(again.tensors().count(), tensors.len());
        for (old, new) in file.tensors().zip(&again) {
            assert_eq!(old.name().as_str(), new.name().as_str(), "{name}");
            assert!(old.shape() == new.shape() && old.layout_name() == new.layout_name(), "{name}");
            assert_eq!(old.dtype(), new.dtype());
            assert!(bytes_of(old) == bytes_of(new), "{name}");
        }
        // The alignment is the last pair, and absent if it is the default.
        let without = |file: &File<'_>| {
            let text = described(file.attributes());
            text.lines().filter(|line| !line.contains("general.alignment")).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(
            without(&file).trim_end_matches([']', '\n']),
            without(&again).trim_end_matches([']', '\n']),
            "{name}"
        );
    }
    assert_eq!(left_out, ["tokens_not_utf8.gguf"]);
    // These state the alignment although it is the default, have another version, have empty arrays of another type, or
    // do not pad the end.
    differing.sort();
    let expected = [
        "c_writer.gguf",
        "hm_align_explicit_32.gguf",
        "hm_align_last.gguf",
        "hm_array_empty_each.gguf",
        "hm_kv_last_byte.gguf",
        "hm_nested_4.gguf",
        "hm_v1.gguf",
        "hm_v2.gguf",
        "hm_v2_values.gguf",
        "hm_zero_dims_between.gguf",
    ];
    assert_eq!(differing, expected);
    assert!(equal > 40, "{equal}");
}
