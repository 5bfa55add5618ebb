//! The numbers that C and Rust share, from the lists of the crate, and the macros of the headers.

use std::error::Error;
use std::fs;
use std::path::Path;

use tenslice::blocks::BlockType;
use tenslice::{
    ByteOrder, Caps, DType, Encoding, ErrorKind, Feature, Format, Layout, MAX_SEGMENTS, Order, Part, ProblemKind,
    Purpose, ValueKind, Warning,
};

use crate::item::{Item, of_field};

/// Macros that shorten calls in C or that only C needs: name, comment, definition.
const MACROS: &[(&str, &str, &str)] = &[
    ("TENSLICE_NUL", "Pass as the length of a string that ends before its NUL.", "SIZE_MAX"),
    (
        "TENSLICE_STR(literal)",
        "Passes a string literal as two arguments, pointer and length: tenslice_file_find(&file, TENSLICE_STR(\"w\"), ...).",
        "(\"\" literal), (sizeof(\"\" literal) - 1)",
    ),
    ("TENSLICE_ANY_SHAPE", "Pass as `rank` to accept any shape.", "SIZE_MAX"),
    (
        "TENSLICE_COLUMN_MAJOR",
        "Combine with the dtype by | to expect elements in column-major order: see tenslice_expected.",
        "UINT32_C(0x80000000)",
    ),
    (
        "TENSLICE_INIT(info)",
        "Sets struct_size of a struct before the call that fills it: TENSLICE_INIT(info);",
        "((info).struct_size = sizeof(info))",
    ),
    (
        "TENSLICE_NEW_TENSOR(name, dtype, shape)",
        "Initializes a dense tenslice_new_tensor without attributes. `name` is a literal, and `shape` is an array of uint64_t.",
        "{ sizeof(tenslice_new_tensor), dtype, \"\" name, sizeof(\"\" name) - 1, shape, \\\n    \
            sizeof(shape) / sizeof(*(shape)), 0, 0, 0, 0, 0, 0, NULL, 0, NULL, 0, NULL, 0 }",
    ),
    (
        "TENSLICE_NEW_TEXT(key, text)",
        "Initializes a tenslice_new_attribute with two literals: its key and its value, a text.",
        "{ \"\" key, sizeof(\"\" key) - 1, { TENSLICE_VALUE_TEXT, 0, 0, 0, \"\" text, sizeof(\"\" text) - 1 } }",
    ),
    (
        "TENSLICE_NEW_FILE(format, tensors)",
        "Initializes a tenslice_new_file without attributes. `tensors` is an array of tenslice_new_tensor.",
        "{ sizeof(tenslice_new_file), format, tensors, \\\n    \
            sizeof(tensors) / sizeof(*(tensors)), NULL, 0, 0, 0, 0 }",
    ),
];

/// Returns the macros and the lists of codes as items.
pub fn all(root: &Path) -> Result<Vec<Item>, Box<dyn Error>> {
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    let version = manifest.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    let parts = ["MAJOR", "MINOR", "PATCH"].into_iter().zip(version.ok_or("no version in Cargo.toml")?.split('.'));
    let mut items = vec![
        define(
            "TENSLICE_ABI_VERSION",
            "The ABI version of this header; tenslice_abi_version() returns the ABI version of the library.",
            "1",
        ),
        Item {
            name: "TENSLICE_VERSION_".into(),
            comment: vec![
                "The version of this header; tenslice_version() returns the version of the library.".into(),
            ],
            declaration: parts.map(|(part, number)| format!("#define TENSLICE_VERSION_{part} {number}")).collect(),
        },
        define(
            "TENSLICE_MAX_SEGMENTS",
            "The maximum number of ranges in a tenslice_source.",
            &MAX_SEGMENTS.to_string(),
        ),
    ];
    items.extend(MACROS.iter().map(|(name, comment, definition)| define(name, comment, definition)));

    let success =
        [("Ok", 0, "success"), ("End", 1, "there are no more items"), ("Need", 2, "bytes must be fetched first")];
    let kinds = ErrorKind::ALL.iter().map(|kind| (kind.name(), u32::from(kind.code()), kind.text()));
    let mut item = list("", "", success.into_iter().chain(kinds));
    item.name = "TENSLICE_OK".into();
    item.comment = vec![
        "The result of a call, a tenslice_status. 1xx: a mistake of the caller; 2xx: the file is malformed; 3xx: not"
            .into(),
        "supported; 4xx: the data is wrong; 5xx: a buffer is too small. Numbers are never reused.".into(),
    ];
    items.push(item);

    let dtypes = DType::ALL.iter().map(|(dtype, name)| format!("    TENSLICE_{name} = {},", dtype.code()));
    let comment = "The type of an element (uint32_t dtype); 0 means none, or any.";
    items.push(Item {
        name: "TENSLICE_ANY".into(),
        ..enumeration("TENSLICE_", comment, ["    TENSLICE_ANY = 0,".to_owned()].into_iter().chain(dtypes))
    });
    let mut lanes = Vec::new();
    for count in [2, 4, 8] {
        let code = DType::U8.with_lanes(count).map(|dtype| dtype.code() ^ DType::U8.code()).ok_or("no such lanes")?;
        lanes.push(format!("    TENSLICE_LANES_{count} = {code},"));
    }
    let mut item = enumeration("TENSLICE_LANES_", "", lanes.into_iter());
    item.comment = vec![
        "Combine with the type of a number for an element of several lanes: TENSLICE_F64 | TENSLICE_LANES_4.".into(),
        "Two lanes of F32 or F64 are TENSLICE_C64 and TENSLICE_C128 instead.".into(),
    ];
    items.push(item);
    let blocks = BlockType::ALL
        .iter()
        .map(|block| format!("    TENSLICE_GGML_{} = {},", block.name(), (1 << 16) + u32::from(block.code())));
    let comment = "The type of quantized blocks, as the dtype of a tenslice_expected: 65536 + the number in ggml.";
    items.push(enumeration("TENSLICE_GGML_", comment, blocks));

    let none = Caps::default();
    let caps = [
        ("Bytes", Caps { bytes: true, ..none }, "tenslice_component_bytes returns the bytes in place"),
        ("Range", Caps { range: true, ..none }, "tenslice_component_read_range reads a range of the bytes"),
        ("Decode", Caps { decode: true, ..none }, "tenslice_component_read_into decodes or copies the component"),
        ("Verify", Caps { verify: true, ..none }, "tenslice_component_verify compares the component with a digest"),
    ];
    macro_rules! codes {
        ($($prefix:literal, $codes:ty, $comment:literal;)*) => { $(items.push(list(
            $prefix,
            $comment,
            <$codes>::ALL.iter().map(|code| (code.name(), code.code().into(), code.text())),
        ));)* };
    }
    codes! {
        "FORMAT_", Format, "A kind of file. Some kinds are recognised but not supported.";
        "FEATURE_", Feature, "A part of the library that a build may lack: see tenslice_has.";
        "PART_", Part, "The part of a file that an error is about.";
        "LAYOUT_", Layout, "How the components of a tensor represent it.";
        "ORDER_", Order, "The order of the elements of a dense array.";
        "BYTE_ORDER_", ByteOrder, "The byte order of a number.";
        "ENCODING_", Encoding, "How the bytes of a component are stored.";
        "PURPOSE_", Purpose, "The purpose of memory, the call that needs it: see tenslice_tensor_requirements.";
        "VALUE_", ValueKind, "The kind of a value of an attribute.";
        "PROBLEM_", ProblemKind, "The kind of a fault of a model. From 64 on: every tensor can be read all the same.";
    }
    items.push(list(
        "CAP_",
        "The operations that a component supports, as bits: see tenslice_component_caps.",
        caps.into_iter().map(|(name, caps, text)| (name, caps.bits(), text)),
    ));
    items.push(list(
        "WARNING_",
        "Warnings, as bits: findings that are not errors.",
        Warning::ALL.iter().map(|warning| (warning.name(), 1u32 << warning.code(), warning.text())),
    ));
    Ok(items)
}

fn define(name: &str, comment: &str, definition: &str) -> Item {
    Item {
        name: name.split('(').next().unwrap_or(name).into(),
        comment: vec![comment.into()],
        declaration: vec![format!("#define {name} {definition}")],
    }
}

fn enumeration(name: &str, comment: &str, lines: impl Iterator<Item = String>) -> Item {
    let declaration = ["enum {".to_owned()].into_iter().chain(lines).chain(["};".to_owned()]).collect();
    Item { name: name.into(), comment: vec![comment.into()], declaration }
}

/// Makes an enumeration of codes from the name, number and text of each.
fn list<'a>(prefix: &str, comment: &str, entries: impl Iterator<Item = (&'a str, u32, &'a str)>) -> Item {
    let prefix = format!("TENSLICE_{prefix}");
    let lines: Vec<String> = entries
        .flat_map(|(name, code, text)| of_field(text, &format!("{prefix}{} = {code},", screaming(name))))
        .collect();
    enumeration(&prefix, comment, lines.into_iter())
}

/// Converts `RepeatedName` to `REPEATED_NAME`.
fn screaming(name: &str) -> String {
    let mut out = String::new();
    let mut last = 'A';
    for c in name.chars() {
        if c.is_uppercase() && !last.is_uppercase() {
            out.push('_');
        }
        out.extend(c.to_uppercase());
        last = c;
    }
    out
}
