//! NPY: every rule of the header, and the calls specific to the format.
#![cfg(feature = "npy")]

use tenslice::{DType, ErrorKind, File, Order, Part, ReadOptions, Warning};

/// A file of that version with `header`, and `length` bytes of items.
fn file(version: u8, header: &str, length: usize) -> Vec<u8> {
    let mut file = b"\x93NUMPY".to_vec();
    file.extend([version, 0]);
    match version {
        1 => file.extend((header.len() as u16).to_le_bytes()),
        _ => file.extend((header.len() as u32).to_le_bytes()),
    }
    file.extend(header.as_bytes());
    file.resize(file.len() + length, 1);
    file
}

/// A header with these three values.
fn header(descr: &str, order: &str, shape: &str) -> String {
    format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n")
}

#[track_caller]
fn accepted(descr: &str, shape: &str, length: usize) {
    let bytes = file(1, &header(descr, "False", shape), length);
    let opened = File::open(&bytes).unwrap_or_else(|error| panic!("{}", error.explain(&bytes[..])));
    assert!(!opened.warnings().contains(Warning::TrailingBytes), "{descr} {shape}");
    assert_eq!(opened.find("").unwrap().stated_type(), Some(descr.as_bytes()), "{descr} {shape}");
    if length > 0 {
        let short = File::open(&bytes[..bytes.len() - 1]).unwrap_err();
        assert_eq!((short.kind(), short.part()), (ErrorKind::Truncated, Part::Data), "{descr} {shape}");
    }
}

/// Checks that a header is rejected at that byte of it.
#[track_caller]
fn refused(header: &str, kind: ErrorKind, item: Part, at: u64) {
    let error = File::open(&file(1, header, 64)).unwrap_err();
    assert_eq!((error.kind(), error.part(), error.offset()), (kind, item, Some(10 + at)), "{header}");
}

#[test]
fn types() {
    for (descr, size) in [
        ("'|b1'", 1),
        ("'<u2'", 2),
        ("'>i4'", 4),
        ("'<f8'", 8),
        ("'<c8'", 8),
        ("'>c16'", 16),
        ("'<f16'", 16),
        ("'<c24'", 24),
        ("'|S0'", 0),
        ("'|S5'", 5),
        ("'<U3'", 12),
        ("'|V7'", 7),
        ("'<M8'", 8),
        ("'<m8[25us]'", 8),
        ("'<M8[Y]'", 8),
        ("\"<f4\"", 4),
        ("[('a','<i2')]", 2),
        ("[('a', '<i2'), ('b', '<f8', (2, 3)), ]", 50),
        ("[(('title', 'a'), '|u1'), ('', '|V3')]", 4),
        ("[('it\\'s \\\\', '|u1')]", 1),
        ("[('a', [('b', [('c', '<f4', (3,))], (2,))])]", 24),
        ("[('a', '|V0', (18446744073709551615, 18446744073709551615))]", 0),
        ("[]", 0),
        ("[('a', [ ]), ('b', '<f4')]", 4),
        ("[('a', [], (3,))]", 0),
        ("[('a', ('<f4', (2,)), (3,))]", 24),
        ("[('a', ('<f4')), ('b', ('<f4'), (2,))]", 12),
        ("[('a', ( ( '<f4' , (2,) ) , (3,) ) ), ('b', '|u1')]", 25),
        ("[('a', ([('b', '<f4')], (2,)), (3,)), ('c', ('|V0', (2,)))]", 24),
        ("'<M8[0s]'", 8),
        ("'<M8[2147483647s]'", 8),
    ] {
        accepted(descr, "(3,)", 3 * size);
    }
    // Without values of several bytes there is no warning about the byte order.
    for descr in ["[]", "[('a', [])]"] {
        assert!(File::open(&file(1, &header(descr, "False", "(3,)"), 0)).unwrap().warnings().is_empty(), "{descr}");
    }
    let start = "{'descr': ".len() as u64;
    for descr in [
        "'<f3'",
        "'float32'",
        "'d'",
        "'?'",
        "'<f1'",
        "'|O'",
        "'i4,f8'",
        "'<f' '4'",
        "'a5'",
        "'<S'",
        "'<S05'",
        "'<M8[]'",
        "'<M8[5]'",
        "'<M8[99999999999999999999s]'",
        "'<M8[fortnight]'",
        "'<M4[s]'",
        "'<f99999999999999999999'",
        "'<U18446744073709551615'",
        "''",
        "'<'",
        "[('a', '|O')]",
        "[('a',   '|O')]",
    ] {
        let inner = descr.rfind(", ").map_or(0, |at| descr.len() - descr[at + 1..].trim_start().len()) as u64;
        refused(&header(descr, "False", "(1,)"), ErrorKind::UnknownDType, Part::DType, start + inner);
    }
    for descr in [
        "4",
        "('<f4', (2,))",
        "[,]",
        "[('a')]",
        "[('a', ('<f4', ))]",
        "[('a', ('<f4', (2,), (3,)))]",
        "[('a', ('<f4', (2,))]",
        "[('a', (, (2,)))]",
        "[('a', '<f4']",
        "[('a', '<f4', 2)]",
        "[('a', '<f4', (2,),)]",
        "u'<f4'",
        "['a', '<f4']",
        "'\\x3cf4'",
        "[(('a'), '<f4')]",
    ] {
        let error = File::open(&file(1, &header(descr, "False", "(1,)"), 64)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed, "{descr}");
    }
    // The field's tuple ends too early, not its shape.
    let descr = "[('a', '<f4', (2,)]";
    refused(&header(descr, "False", "(1,)"), ErrorKind::Malformed, Part::DType, start + descr.len() as u64 - 1);
}

/// Comparing names again needs no memory if opening has compared them.
#[test]
fn compared_fields_are_not_compared_again() {
    let bytes = file(1, &header("[('a', '<i4'), ('b', '<i4'), ('c', '<i4')]", "False", "(0,)"), 0);
    let file = File::open(&bytes).unwrap();
    assert_eq!((file.check_length(), file.check(&mut []).is_ok()), (Some(0), true));
}

/// The rule of NumPy 2.4: names and titles of a record are one set, and only fields of raw bytes or subarrays may
/// repeat the empty name. Each list has been loaded with NumPy, which rejects those of `repeated`, for the name after
/// `^`.
#[test]
fn rejects_repeated_field_names() {
    let open = |version, descr: &str| {
        let bytes = file(version, &header(descr, "False", "(0,)"), 0);
        File::open(&bytes).map(drop).map_err(|error| {
            let found = (error.kind(), error.part(), error.offset().unwrap());
            (found, error.explain(&bytes[..]).to_string())
        })
    };
    for descr in [
        "[('a', '<i4'), ('A', '<i4')]",
        "[('', '<i4'), ('f0', '<i4')]",
        "[('f1', '<i4'), ('', '<i4'), ('f3', '<i2')]",
        "[('', '|V4'), ('', '|V4'), ('a', '<i4')]",
        "[('a', '<i4'), ('', '|V4'), ('', '<i4')]",
        "[('', '|V4', (2,)), ('', '|V4', (2,))]",
        "[('', ('<i4', (2,))), ('', '<i4', (2,)), ('', [('x', '<i4')], (1,)), ('', 'V4'), ('', '<i4')]",
        "[('', [('x', '|V4')]), ('', '|V4')]",
        "[(('t', ''), '|V4'), ('', '|V4')]",
        "[(('', 'a'), '<i4')]",
        "[('a', [('b', '<i4')]), ('b', [('a', '<i4')])]",
        "[('f', '<i4'), ('f\\0', '<i4'), ('\\1', '<i4'), ('\\x02', '<i4'), ('\\8', '<i4'), ('\\\\1', '<i4')]",
        "[(('t', 'a'), '<i4'), (('u', 'b'), '<i4'), (('v', 'c'), [('a', '<i4')])]",
        "[('f\\t', '<i4'), ('f\\n', '<i4'), ('f\\r', '<i4'), ('ft', '<i4'), ('f\\\\t', '<i4')]",
    ] {
        assert_eq!((open(1, descr), open(3, descr)), (Ok(()), Ok(())), "{descr}");
    }
    let repeated = [
        "[('a', '<i4'), ^('a', '<i4')]",
        "[(\"a\", '<i4'), ('b', '<i4'), ^('a', '<i4'), ('b', '<i4')]",
        "[(('a', ^'a'), '<i4')]",
        "[(('t', 'a'), '<i4'), (^('t', 'b'), '<i4')]",
        "[(('b', 'a'), '<i4'), ^('b', '<i4')]",
        "[('b', '<i4'), (^('b', 'a'), '<i4')]",
        "[(('t', 'a'), '<i4'), (('s', ^'t'), '<i4')]",
        "[('', '<i4'), ^('', '<i4')]",
        "[('', '|S4'), ^('', '|S4')]",
        "[('', '<i4'), ('', 'V4'), ^('', '<i4')]",
        "[('', []), ^('', [])]",
        "[('', [('', '|V4')]), ^('', [('', '|V4')])]",
        "[('', [('x', [('y', '<i4')]), ('z', '|V4')]), ^('', '<i4')]",
        "[('', ([], ())), ^('', ('<f4'), ())]",
        "[(('', 'a'), '<i4'), (^('', 'b'), '<i4')]",
        "[(('t', ''), '<i4'), (('u', ^''), '<i4')]",
        "[(('', ^''), '|V4')]",
        "[('a', '|V0'), ^('a', '|V0')]",
        "[('c', '<i4'), ('a', [('b', '<i4'), ^('b', '<i4')])]",
        "[('c', [('a', '<i4')]), ('a', '<i4'), ^('a', '<i4')]",
        "[('a', '<i4'), ^('\\x61', '<i4')]",
        "[('a', '<i4'), ^('\\141', '<i4')]",
        "[('a', '<i4'), ^('\\u0061', '<i4')]",
        "[('a', '<i4'), ^('\\U00000061', '<i4')]",
        "[('ab', '<i4'), ^('\\x61b', '<i4')]",
        "[('a1', '<i4'), ^('\\1411', '<i4')]",
        "[('ab', '<i4'), ^('\\u0061b', '<i4')]",
        "[('ab', '<i4'), ^('\\U00000061b', '<i4')]",
        "[(('t', 'a'), '<i4'), (('u', ^'a'), '<i4')]",
        "[('a', '<i4'), ^('\\\na', '<i4')]",
        "[('\\a\\b\\f\\n\\r\\t\\v', '<i4'), ^('\\7\\x08\\14\\12\\15\\11\\13', '<i4')]",
        "[('\\'\\\"', '<i4'), ^(\"'\\\"\", '<i4')]",
        "[('\\q', '<i4'), ^('\\\\q', '<i4')]",
    ];
    for marked in repeated {
        let (before, after) = marked.split_once('^').unwrap();
        let at = "{'descr': ".len() + before.len() + after.find(['\'', '"']).unwrap();
        let (found, message) = open(1, &[before, after].concat()).unwrap_err();
        assert_eq!(found, (ErrorKind::RepeatedName, Part::Name, 10 + at as u64), "{marked}");
        assert!(message.starts_with("npy 1.0: two fields of a record have the same name or title: \""), "{message}");
    }
    // A character that is not ASCII: bytes of Latin-1, or of UTF-8 from 3.0 on.
    for (version, name, escaped, is_same) in [
        (3, "\u{e9}", "\\xe9", true),
        (3, "\u{20ac}", "\\u20ac", true),
        (3, "\u{1f600}", "\\U0001f600", true),
        (3, "\u{e9}", "\\xc3\\xa9", false),
        (1, "\u{e9}", "\\xc3\\xa9", true),
        (2, "\u{e9}", "\\xe9", false),
    ] {
        let found = open(version, &format!("[('{name}', '<i4'), ('{escaped}', '<i4')]"));
        assert_eq!(found.is_err(), is_same, "{version} {name}");
    }
    let (found, message) = open(1, "[('\\N{DIGIT ONE}', '<i4'), ('1', '<i4')]").unwrap_err();
    assert_eq!((found.0, found.1), (ErrorKind::Malformed, Part::DType), "{message}");
}

/// More names than opening compares. (NumPy itself rejects such headers unless it is told to trust them.)
#[test]
fn many_fields_are_compared_with_memory() {
    let names = |count: usize| (0..count).map(|i| format!("f{i}")).collect::<Vec<_>>();
    let open = |names: &[String]| {
        let fields: String = names.iter().map(|name| format!("('{name}', '|u1'), ")).collect();
        file(2, &header(&format!("[('a', '|u1'), ('b', [{fields}])]"), "False", "(0,)"), 0)
    };
    for (count, is_checked) in [(1023, true), (1024, true), (1025, false), (5000, false)] {
        let mut names = names(count);
        let bytes = open(&names);
        let opened = File::open(&bytes).unwrap();
        let expected = if is_checked { vec![] } else { vec![Warning::NamesUnchecked] };
        assert_eq!(opened.warnings().iter().collect::<Vec<_>>(), expected, "{count}");
        assert_eq!(opened.check_length(), Some(if is_checked { 0 } else { count }));
        let mut memory = vec![0; count];
        assert!(opened.check(&mut memory).unwrap().is_empty());
        if !is_checked {
            assert_eq!(opened.check(&mut memory[..count / 9]).unwrap_err().kind(), ErrorKind::OutOfScratch);
        }
        names[count - 1] = names[3].clone();
        let bytes = open(&names);
        let error = match File::open(&bytes) {
            Ok(opened) if !is_checked => opened.check(&mut memory).unwrap_err(),
            opened => opened.unwrap_err(),
        };
        let at = bytes.windows(4).rposition(|four| four == b"'f3'").unwrap() as u64;
        assert_eq!((error.kind(), error.part(), error.offset()), (ErrorKind::RepeatedName, Part::Name, Some(at)));
    }
}

#[test]
fn nesting_of_records_is_bounded() {
    let nested = |depth| format!("{}'<f4'{}", "[('a', ".repeat(depth), ")]".repeat(depth));
    accepted(&nested(32), "(2,)", 8);
    let start = "{'descr': ".len();
    // The error points to the item that is too deep, after white space.
    let deeper = nested(33).replacen("[('a', [('a', '<f4'", "[('a', [ \t('a', '<f4'", 1);
    let at = (start + deeper.find('\t').unwrap() + 1) as u64;
    refused(&header(&deeper, "False", "(2,)"), ErrorKind::TooDeep, Part::DType, at);
    // Subarrays are limited in the same way.
    let nested = |depth| format!("[('a', {}'<f4'{})]", "(".repeat(depth), ", (1,))".repeat(depth));
    accepted(&nested(31), "(2,)", 8);
    refused(&header(&nested(32), "False", "(2,)"), ErrorKind::TooDeep, Part::DType, start as u64 + 7 + 32);
    // The error of a field that is too large points past the white space after its shape.
    let large = "[('a', '<f4', (9223372036854775808,) )]";
    let at = (start + large.len() - 2) as u64;
    refused(&header(large, "False", "(2,)"), ErrorKind::ShapeOverflow, Part::Shape, at);
}

#[test]
fn shapes() {
    for (shape, items) in [
        ("()", 1),
        ("( )", 1),
        ("(3,)", 3),
        ("(3, 4)", 12),
        ("(3,4,)", 12),
        ("(0, 18446744073709551615)", 0),
        ("(3L, 4L)", 12),
        ("(2,\n3)", 6),
    ] {
        accepted("'<i2'", shape, 2 * items);
    }
    accepted("'|V0'", "(18446744073709551615, 18446744073709551615)", 0);
    let start = header("'<i2'", "False", "").find(", }").unwrap() as u64;
    for (shape, at) in [
        ("(12)", 3),
        ("(03,)", 1),
        ("(+3,)", 1),
        ("(-3,)", 1),
        ("(3.0,)", 2),
        ("(1e1,)", 2),
        ("(0x3,)", 2),
        ("(1_2,)", 2),
        ("(True,)", 1),
        ("(3,,)", 3),
        ("(,)", 1),
        ("[3]", 0),
        ("3", 0),
        ("(18446744073709551616,)", 1),
        ("(3 4)", 3),
        ("(3LL,)", 3),
        ("(3, 4 5)", 6),
    ] {
        refused(&header("'<i2'", "False", shape), ErrorKind::Malformed, Part::Shape, start + at);
    }
    let long = header("'<i2'", "False", "(9223372036854775808,)");
    refused(&long, ErrorKind::ShapeOverflow, Part::Shape, start);
    for version in [1, 2] {
        let overflow = File::open(&file(version, &long, 0)).unwrap_err();
        let before = if version == 1 { 10 } else { 12 };
        assert_eq!((overflow.kind(), overflow.offset()), (ErrorKind::ShapeOverflow, Some(before + start)));
    }
    // Python 3 has no long integers, and neither has NPY 3.0.
    let long = header("'<i2'", "False", "(3L,)");
    assert!(File::open(&file(2, &long, 6)).is_ok());
    assert_eq!(File::open(&file(3, &long, 6)).unwrap_err().kind(), ErrorKind::Malformed);
}

#[test]
fn keys() {
    refused("{'descr': '<f4', 'shape': (1,)}", ErrorKind::MissingKey, Part::Order, 0);
    for (key, header) in [
        ("descr", "{'fortran_order': False, 'shape': (1,)}"),
        ("fortran_order", "{'descr': '<f4', 'shape': (1,)}"),
        ("shape", "{'fortran_order': False, 'descr': '<f4'}"),
    ] {
        let bytes = file(1, header, 4);
        let message = File::open(&bytes).unwrap_err().explain(&bytes[..]).to_string();
        assert!(message.contains(&format!("a required key is missing: \"{key}\"")), "{message}");
    }
    refused("{'descr': '<f4', 'descr': '<f4'}", ErrorKind::RepeatedKey, Part::Key, 17);
    refused("{'more': 1}", ErrorKind::Malformed, Part::Key, 1);
    refused(r"{'a\'\'\''", ErrorKind::Malformed, Part::Key, 1); // with escapes, at the end
    refused(&(header("'<f4'", "False", "(1,)") + "."), ErrorKind::TrailingBytes, Part::Header, 58);
    refused(&header("'<f4'", "1", "(1,)"), ErrorKind::Malformed, Part::Order, 34);
    for order in [
        "{'shape':(1,),'fortran_order':True,'descr':'<f4'}",
        "\t{ 'fortran_order' : False , 'shape' : ( 1 , ) , 'descr' : '<f4' , } ",
    ] {
        assert!(File::open(&file(1, order, 4)).is_ok(), "{order}");
    }
}

#[test]
fn order_and_bytes() {
    let bytes = file(1, &header("'>i2'", "True", "(2, 3)"), 12);
    let opened = File::open(&bytes).unwrap();
    let tensor = opened.find("").unwrap();
    assert_eq!((tensor.order(), tensor.dtype()), (Order::ColumnMajor, Some(DType::I16)));
    assert_eq!(tensor.strides(&mut [0; 2]).unwrap(), [1, 2]);
    let data = tensor.data().unwrap();
    assert!(data.elements::<i16>().unwrap().eq([0x0101; 6]));
    assert_eq!(data.storage_dtype(), Some(DType::I16));
    // An error without a record of its own points to the data.
    for error in [data.read_into(&mut [0; 11], ReadOptions::new()).unwrap_err(), tensor.strides(&mut []).unwrap_err()]
    {
        assert_eq!((error.kind(), error.offset()), (ErrorKind::TooSmall, Some(bytes.len() as u64 - 12)));
    }
    assert_eq!(opened.find("a").unwrap_err().kind(), ErrorKind::NotFound);
    // Items that are not numbers are bytes.
    let text = file(1, &header("'<U1'", "False", "(2,)"), 8);
    let opened = File::open(&text).unwrap();
    let tensor = opened.find("").unwrap();
    assert_eq!((tensor.dtype(), tensor.data().unwrap().bytes().unwrap()), (None, &[1; 8][..]));
    assert_eq!(tensor.data().unwrap().elements::<u8>().unwrap_err().kind(), ErrorKind::WrongType);
    assert_eq!(opened.as_npy().unwrap().descr(), b"'<U1'");
}

#[test]
fn warnings() {
    let warns = |descr, more| {
        let opened = file(1, &header(descr, "False", "(2,)"), more);
        File::open(&opened).unwrap().warnings()
    };
    assert!(warns("'f4'", 8).contains(Warning::UnstatedByteOrder));
    assert!(warns("[('a', '|u1'), ('b', '=u2')]", 6).contains(Warning::UnstatedByteOrder));
    for descr in ["[('a', '=u2'), ('b', '|u1')]", "[('a', [('b', 'u2')]), ('c', '>i1')]"] {
        assert!(warns(descr, 6).contains(Warning::UnstatedByteOrder), "{descr}"); // for every field
    }
    let native = file(1, &header("'f4'", "False", "(2,)"), 8);
    let tensor = File::open(&native).unwrap().find("").unwrap().warnings();
    assert_eq!(tensor.iter().collect::<Vec<_>>(), [Warning::UnstatedByteOrder]);
    assert!(["'<f4'", "'>f4'"].iter().all(|descr| warns(descr, 8).is_empty()));
    assert!(warns("'|u1'", 2).is_empty() && warns("'S3'", 6).is_empty() && warns("'U0'", 0).is_empty());
    assert!(warns("'<f4'", 9).contains(Warning::TrailingBytes));
    // One tensor has no name to compare. Only the warnings of opening remain.
    let opened = File::open(&native).unwrap();
    assert_eq!(opened.check(&mut []), Ok(opened.warnings()));
}

#[test]
fn versions_and_texts() {
    let latin1 = "{'descr': [('\u{fc}', '<f4')], 'fortran_order': False, 'shape': (1,)}";
    let mut bytes = file(1, latin1, 4);
    let at = bytes.iter().position(|byte| *byte == 0xc3).unwrap();
    assert!(File::open(&bytes).is_ok());
    // In 1.0 and 2.0 a name is Latin-1, so any byte is valid. In 3.0 it is UTF-8.
    bytes[at] = 0xfc;
    bytes[at + 1] = b'x';
    assert!(File::open(&bytes).is_ok());
    let mut third = file(3, latin1, 4);
    assert_eq!(File::open(&third).unwrap().version(), Some("3.0"));
    third[at + 2] = 0xfc;
    assert_eq!(File::open(&third).unwrap_err().kind(), ErrorKind::InvalidUtf8);
    for version in [[0, 0], [1, 1], [4, 0]] {
        bytes[6..8].copy_from_slice(&version);
        let error = File::open(&bytes).unwrap_err();
        assert_eq!(
            (error.kind(), error.part(), error.offset()),
            (ErrorKind::UnsupportedVersion, Part::Version, Some(6))
        );
        assert_eq!(File::open(&bytes[..8]).unwrap_err().kind(), ErrorKind::UnsupportedVersion);
    }
}

#[test]
fn messages() {
    let message = |bytes: &[u8]| File::open(bytes).unwrap_err().explain(bytes).to_string();
    let object = file(1, &header("'|O'", "False", "(1,)"), 8);
    assert_eq!(
        message(&object),
        "npy 1.0: the elements are Python objects: \"|O\" (Python objects are pickled, and are not supported: store \
         them as arrays of numbers or texts) [at byte 20]"
    );
    // Each message states what the type is. `np.save` writes only the first, the second, and two types of ml_dtypes.
    for (descr, rule) in [
        ("'|O'", "the elements are Python objects"),
        ("[('a', '<i4'), ('b', 'O')]", "the elements are Python objects"),
        ("'<f1'", "this is a type of ml_dtypes that NumPy writes, but does not read"),
        ("[('a', '<V2'), ('b', '<W4')]", "this is a type of ml_dtypes that NumPy writes, but does not read"),
        ("'object'", "the elements are Python objects"),
        ("'bfloat16'", "this is the name of a type of ml_dtypes"),
        ("'<float8_e4m3fn'", "this is the name of a type of ml_dtypes"),
        ("'int4'", "this is the name of a type of ml_dtypes"),
        ("'float32'", "NumPy has no such type, or spells it otherwise"),
        ("'<f3'", "NumPy has no such type, or spells it otherwise"),
        ("'Open'", "NumPy has no such type, or spells it otherwise"),
    ] {
        let said = message(&file(1, &header(descr, "False", "(1,)"), 8));
        assert!(said.contains(&format!(": {rule}: \"")), "{descr}: {said}");
    }
    // Python 2 also wrote the size of a pointer.
    assert!(message(&file(1, &header("'|O8'", "False", "(1,)"), 8)).contains("\"|O8\" (Python objects are pickled"));
    let mut unknown = file(1, &header("'|~'", "False", "(1,)"), 8);
    unknown[22] = 0xe9; // Latin-1, of which nothing is shown
    assert_eq!(
        message(&unknown),
        "npy 1.0: NumPy has no such type, or spells it otherwise (NumPy writes byte order, kind and size, such as '<f4') \
         [at byte 20]"
    );
    let short = file(2, &header("'<f4'", "False", "(100,)"), 8);
    assert_eq!(
        message(&short),
        "npy 2.0: data: unexpected end of input; the file is truncated: it has 80 bytes and should have at least 472 bytes, so at least 392 are missing [at byte 80]"
    );
    assert_eq!(
        message(&file(1, "", 0)[..9]),
        "npy 1.0: header: unexpected end of input; the file is truncated: it has 9 bytes and should have at least 10 bytes, so at least 1 is missing [at byte 9]"
    );
    let mut long = file(1, "{}", 0);
    long[8] = 99;
    assert_eq!(
        message(&long),
        "npy 1.0: 99 bytes at offset 10 extend past the end of the file (12 bytes); the file is truncated: it should have at least 109 bytes, 97 are missing [at byte 8]"
    );
}

/// Before version 3.0 a header is Latin-1. Its bytes are returned unchanged.
#[test]
fn stated_types_are_bytes_of_the_header() {
    let mut text = header("[('x', '<i2')]", "False", "(1,)").into_bytes();
    let at = text.iter().position(|byte| *byte == b'x').unwrap();
    text[at] = 0xe9;
    let bytes = [&b"\x93NUMPY\x01\0"[..], &(text.len() as u16).to_le_bytes(), &text, &[0; 2]].concat();
    let opened = File::open(&bytes).unwrap();
    assert_eq!(opened.find("").unwrap().stated_type(), Some(&b"[('\xe9', '<i2')]"[..]));
}

/// A name over many lines: parsed by a loop, without recursion.
#[test]
fn a_name_of_many_lines() {
    let lines = "\\\n".repeat(200_000);
    let header =
        format!("{{'descr': [('{lines}a', '<i4'), ('a', '<i4')], 'fortran_order': False, 'shape': (0,), }}\n");
    let bytes = [&b"\x93NUMPY\x02\0"[..], &(header.len() as u32).to_le_bytes(), header.as_bytes()].concat();
    assert_eq!(File::open(&bytes).unwrap_err().kind(), ErrorKind::RepeatedName);
}
