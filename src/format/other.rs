//! Describes files that no format of this library claims, and what the user can do. For messages on hosts only. A file
//! is identified only if it has the marks of its kind. Less certain cases are worded as such: "begins like".
#![forbid(unsafe_code)]

use crate::bytes::extent::Extent;
use crate::bytes::num::{to_u64, to_usize};
use crate::bytes::source::Input;
use crate::bytes::text::{Phrase, phrase};
use crate::error::origin::Format;

/// The number of bytes at the start of the file that are inspected. They are requested if the file is opened in parts.
pub(super) const START: u64 = 4096;

/// The number of bytes that are searched for the start of another file, and for the end of an archive.
const SEARCHED: u64 = 1 << 16;

/// The most bytes that are compared with 0.
const COMPARED: u64 = 1 << 26;

/// The least number of zeros at the start that is reported. With fewer, a file may be anything.
const LEAST: u64 = 512;

/// The most entries of an archive, or fields of a message, that are read.
const MOST: u32 = 1 << 16;

pub(super) const EMPTY: Phrase = phrase("the file is empty: nothing was downloaded or written");

/// Marks at fixed offsets, and the description of a file that has them.
const MARKS: &[(usize, &[u8], &str)] = &[
    (0, b"/annex/objects/", "this is a git-annex pointer, not the file itself: fetch that with `git annex get`"),
    (4, b"ET12", "this is a program of ExecuTorch (.pte), which is not supported"),
    (
        4,
        b"ORTM",
        "this is a model in the ORT format of ONNX Runtime, which is not supported: open the ONNX model it was made from",
    ),
    (
        0,
        b"PYTORCH1",
        "this is a checkpoint of an early version of PyTorch 1.0, which is not supported: save it again",
    ),
    (257, b"ustar", "this is a tar archive: extract it first"),
    (0, b"7z\xbc\xaf\x27\x1c", "this is a 7z archive: extract it first"),
    (0, b"Rar!\x1a\x07", "this is a RAR archive: extract it first"),
    (0, b"\xfd7zXZ\0", "the file is compressed (xz): decompress it first"),
    (0, b"\x04\x22\x4d\x18", "the file is compressed (LZ4): decompress it first"),
    (0, b"\x89PNG\r\n\x1a\n", "this is an image (PNG), not a tensor file"),
    (0, b"\xff\xd8\xff", "this is an image (JPEG), not a tensor file"),
    (0, b"%PDF-", "this is a PDF, not a tensor file"),
    (0, b"PAR1", "this is a Parquet table, which is not supported"),
    (0, b"ARROW1\0\0", "this is an Arrow file, which is not supported"),
    (0, b"SQLite format 3\0", "this is an SQLite database, which is not supported"),
    (0, b"MATLAB 5.0 MAT-file", "this is a MAT-file of MATLAB: save its arrays in a format that is supported"),
    (512, HDF5, HDF5_FILE),
    (1024, HDF5, HDF5_FILE),
    (2048, HDF5, HDF5_FILE),
];

/// The starts of Git LFS pointers.
const LFS: [&[u8]; 2] = [b"version https://git-lfs.github.com/spec/", b"version https://hawser.github.com/spec/"];

const HDF5: &[u8] = b"\x89HDF\r\n\x1a\n";
const HDF5_FILE: &str =
    "this is an HDF5 file with a user block: read it with h5py, and save its arrays as NPY or safetensors";

/// The pickled number 0x1950a86a20f9469cfc6c. It follows the protocol at the start of checkpoints from before PyTorch
/// 1.6.
const LEGACY_PYTORCH: &[u8] = b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
const PYTORCH: &str =
    "this is a PyTorch checkpoint: load it with torch.load(weights_only=True), and save its tensors with safetensors";

/// The entries of a checkpoint from before PyTorch 0.2, a tar archive: the name of the first one is at the start.
const IN_OLD_PYTORCH: [&[u8]; 4] = [b"sys_info\0", b"pickle\0", b"storages\0", b"tensors\0"];
const OLD_PYTORCH: &str = "this is a checkpoint of PyTorch 0.1, in a tar archive, which is not supported: load it with \
                           torch.load(weights_only=True), and save its tensors with safetensors";

/// The ggml formats from before GGUF: magic, name, and true if a version follows.
const BEFORE_GGUF: &[(&[u8], &str, bool)] = &[
    (b"tjgg", "this is a model in GGJT version ", true),
    (b"fmgg", "this is a model in GGMF version ", true),
    (b"lmgg", "this is a model in the first, unversioned format of ggml (GGML)", false),
];

/// Advice for a file whose format is recognized but not supported.
pub(super) const fn advice(format: Format) -> Option<&'static str> {
    match format {
        Format::Gzip | Format::Zstd => Some("the file is compressed: decompress it first"),
        Format::Hdf5 => Some("read it with h5py, and save its arrays as NPY or safetensors"),
        _ => None,
    }
}

/// Describes the file if its kind can be detected.
pub(super) fn describe(input: Input<'_>) -> Option<Phrase> {
    let length = input.length();
    let available = input.available_from(0);
    let head = to_usize(START).and_then(|start| available.get(..start)).unwrap_or(available);
    let mark = |(at, magic, _): &&(usize, &[u8], &str)| head.get(*at..).is_some_and(|rest| rest.starts_with(magic));
    if head.get(257..).is_some_and(|rest| rest.starts_with(b"ustar"))
        && IN_OLD_PYTORCH.iter().any(|name| head.starts_with(name))
    {
        return Some(phrase(OLD_PYTORCH));
    }
    if let Some((_, _, what)) = MARKS.iter().find(mark) {
        return Some(phrase(what));
    }
    lfs_pointer(head)
        .or_else(|| before_gguf(head))
        .or_else(|| compressed_by_bzip2(head))
        .or_else(|| pickle(input, head))
        .or_else(|| nothing(available, length))
        .or_else(|| inside(available))
        .or_else(|| text(available, head, length).filter(|_| length >= 8))
        .or_else(|| onnx(input))
        .or_else(|| {
            (length < 10).then_some([
                ("the file has only ", Some(length)),
                (if length == 1 { " byte: it may be cut off" } else { " bytes: it may be cut off" }, None),
                ("", None),
            ])
        })
}

/// Describes a Git LFS pointer, with the size of the file that it stands for.
fn lfs_pointer(head: &[u8]) -> Option<Phrase> {
    LFS.iter().find(|start| head.starts_with(start))?;
    let size = head.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"size "));
    let size: Option<u64> = size.and_then(|digits| core::str::from_utf8(digits).ok()?.parse().ok());
    let what = "this is a Git LFS pointer, not the file itself: fetch that with `git lfs pull`";
    let of_size = "this is a Git LFS pointer, not the file itself, which has ";
    Some(match size {
        Some(size) => [(of_size, Some(size)), (" bytes: fetch that with `git lfs pull`", None), ("", None)],
        None => phrase(what),
    })
}

/// Describes a ggml model from before GGUF.
fn before_gguf(head: &[u8]) -> Option<Phrase> {
    let number = |at: usize| {
        let bytes = head.get(at..)?.first_chunk::<4>()?;
        Some(u32::from_le_bytes(*bytes))
    };
    if head.starts_with(b"algg") {
        let what =
            ", a format of ggml from before GGUF: convert the original with convert_lora_to_gguf.py of llama.cpp";
        let version = number(4).filter(|version| *version < 100)?;
        return Some([("this is a LoRA adapter in GGLA version ", Some(version.into())), (what, None), ("", None)]);
    }
    let (_, name, has_version) = BEFORE_GGUF.iter().find(|(magic, _, _)| head.starts_with(magic))?;
    let first = number(4)?;
    if *has_version {
        let what = ", a format of ggml from before GGUF: convert it with convert_llama_ggml_to_gguf.py of llama.cpp, or \
                    get the model as GGUF";
        return (first < 100).then_some([(*name, Some(first.into())), (what, None), ("", None)]);
    }
    // All Whisper models have the same context lengths for audio and for text.
    if number(8) == Some(1500) && number(24) == Some(448) {
        return Some(phrase(
            "this is a Whisper model for whisper.cpp, in a format of ggml from before GGUF: it is not supported",
        ));
    }
    let what =
        ", from before GGUF: convert it with convert_llama_ggml_to_gguf.py of llama.cpp, or get the model as GGUF";
    (1..1 << 24).contains(&first).then_some([(*name, None), (what, None), ("", None)])
}

fn compressed_by_bzip2(head: &[u8]) -> Option<Phrase> {
    let is_it = matches!(head, [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', b'&', b'S', b'Y', ..]);
    is_it.then_some(phrase("the file is compressed (bzip2): decompress it first"))
}

/// Describes a Python pickle, detected by its protocol, an opcode that starts an object, and the opcode at the end.
fn pickle(input: Input<'_>, head: &[u8]) -> Option<Phrase> {
    // Protocols 0 and 1 have no version field. These are the starts of dicts, lists and objects.
    const OLD: [&[u8]; 10] = [
        b"(dp",
        b"(lp",
        b"(ip",
        b"(c",
        b"ccopy_reg\n",
        b"cnumpy",
        b"c__builtin__\n",
        b"ccollections\n",
        b"}q\0",
        b"]q\0",
    ];
    let ends = || input.get(Extent::new(input.length().checked_sub(1)?, 1)).map(|last| last == b".");
    if OLD.iter().any(|start| head.starts_with(start)) && ends() == Some(true) {
        return Some(phrase(
            "this is a pickle of Python, which can run code when it is loaded: save its arrays as NPY or safetensors instead",
        ));
    }
    let [0x80, protocol @ 2..=5, rest @ ..] = head else { return None };
    // From protocol 4 on, the length of a frame precedes the data.
    let framed = rest.strip_prefix(b"\x95").and_then(|frame| frame.get(8..)).unwrap_or(rest);
    if framed.starts_with(LEGACY_PYTORCH) {
        return Some(phrase(PYTORCH));
    }
    let first = rest.first()?;
    let last = input.get(Extent::new(input.length().checked_sub(1)?, 1));
    if !b"\x95}](cXCBNKMJG)\x88\x89\x8a\x8c\x8f".contains(first) || last.is_some_and(|last| last != b".") {
        return None;
    }
    let is_certain = last.is_some();
    let begins = if is_certain {
        "this is a pickle of Python (protocol "
    } else {
        "this begins like a pickle of Python (protocol "
    };
    let what = "), which can run code when it is loaded: save its arrays as NPY or safetensors instead";
    Some([(begins, Some(u64::from(*protocol))), (what, None), ("", None)])
}

/// Describes a file that begins with zeros, or with the 0xFF bytes of erased flash.
fn nothing(available: &[u8], length: u64) -> Option<Phrase> {
    let compared = to_usize(COMPARED).and_then(|most| available.get(..most)).unwrap_or(available);
    let (first, rest) = compared.split_first()?;
    if !matches!(first, 0 | 0xff) || rest.iter().any(|byte| byte != first) {
        return None;
    }
    let count = to_u64(compared.len());
    let is_zero = *first == 0;
    let again = match (is_zero, count == length) {
        (true, true) => " bytes are 0. Download or copy it again",
        (true, false) => " are 0. Was it downloaded or copied completely?",
        (false, true) => " bytes are 0xFF, as in erased flash. Was it written?",
        (false, false) => " are 0xFF, as in erased flash. Was it written completely?",
    };
    if count == length {
        let only =
            if is_zero { "the file has only zeros: all of its " } else { "the file has no contents: all of its " };
        return Some([(only, Some(count)), (again, None), ("", None)]);
    }
    let begins =
        if is_zero { "the file begins with zeros: of its " } else { "the file begins without contents: of its " };
    (count >= LEAST).then_some([(begins, Some(length)), (" bytes, the first ", Some(count)), (again, None)])
}

/// Describes a tensor file that begins after another header.
fn inside(available: &[u8]) -> Option<Phrase> {
    let searched = to_usize(SEARCHED).and_then(|most| available.get(..most)).unwrap_or(available);
    let at = searched.windows(8).position(|bytes| {
        matches!(
            bytes,
            [b'G', b'G', b'U', b'F', 1..=3, 0, 0, 0]
                | [b'G', b'G', b'U', b'F', 0, 0, 0, 3]
                | [0x93, b'N', b'U', b'M', b'P', b'Y', 1..=3, 0]
                | [b'P', b'K', 3, 4, 10..=63, 0, _, _]
        )
    })?;
    let name = match searched.get(at) {
        Some(b'G') => "what looks like a GGUF file begins at byte ",
        Some(b'P') => "what looks like a ZIP archive, such as NPZ, begins at byte ",
        _ => "what looks like an NPY array begins at byte ",
    };
    let at = to_u64(at);
    let cut = ", behind other bytes: if it is, cut those off, for example with `tail -c +";
    Some([(name, Some(at)), (cut, at.checked_add(1)), ("`", None)])
}

/// Describes an ONNX model that this build does not read, or whose last bytes are missing.
fn onnx(input: Input<'_>) -> Option<Phrase> {
    const CUT: &str = "this begins like an ONNX model: it may be cut off";
    let all = input.get(Extent::new(0, input.length()))?;
    let (mut rest, mut has_version, mut has_graph) = (all, false, false);
    for _ in 0..MOST {
        let Some((number, value, after)) = field(rest) else { break };
        match (number, value) {
            (1, Value::Number(version)) => has_version = version > 0,
            (7, Value::Bytes(_)) => has_graph = true,
            (2..=4, Value::Bytes(text)) if is_text(text, true) => {}
            (6 | 8 | 14 | 20 | 25 | 26, Value::Bytes(_)) | (5, Value::Number(_)) => {}
            (1..=8 | 14 | 20 | 25 | 26, _) => return None,
            _ => {}
        }
        rest = after;
    }
    if rest.is_empty() {
        return match (has_version, has_graph) {
            (true, true) => Some(phrase("this is an ONNX model: build with the feature `onnx`")),
            (true, false) | (false, true) => Some(phrase(CUT)),
            _ => None,
        };
    }
    // The first field of a graph is a node, a name or an initializer.
    let is_graph = matches!(rest, [0x3a, ..]) && {
        let content = varint(rest.get(1..)?).map(|(_, content)| content);
        content.is_none_or(|content| matches!(content, [] | [0x0a | 0x12 | 0x2a | 0x52 | 0x5a, ..]))
    };
    let is_field = matches!(rest, [0x12 | 0x1a | 0x22 | 0x28 | 0x32 | 0x42 | 0x72, ..] | [0xa2 | 0xca, ..] | [0x08]);
    if !is_graph && !((has_version || has_graph) && is_field) {
        return None;
    }
    let needed = varint(rest).and_then(|(_, value)| {
        let (length, content) = varint(value)?;
        to_u64(all.len().checked_sub(content.len())?).checked_add(length)
    });
    let missing = needed.and_then(|needed| needed.checked_sub(input.length()));
    match needed.zip(missing) {
        Some((needed, missing @ 1..)) if rest.first() != Some(&0x28) => Some([
            ("this begins like an ONNX model that is cut off: it should have at least ", Some(needed)),
            (" bytes, ", Some(missing)),
            (if missing == 1 { " is missing" } else { " are missing" }, None),
        ]),
        _ => Some(phrase(CUT)),
    }
}

/// The value of a protobuf field, as far as it matters here.
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Other,
}

/// Reads a field. Returns its number, its value, and the bytes after it.
fn field(bytes: &[u8]) -> Option<(u64, Value<'_>, &[u8])> {
    let (tag, rest) = varint(bytes)?;
    let number = tag >> 3;
    if number == 0 || tag > u64::from(u32::MAX) {
        return None;
    }
    Some(match tag & 7 {
        0 => {
            let (value, rest) = varint(rest)?;
            (number, Value::Number(value), rest)
        }
        1 => (number, Value::Other, rest.get(8..)?),
        2 => {
            let (length, rest) = varint(rest)?;
            let (value, rest) = rest.split_at_checked(to_usize(length)?)?;
            (number, Value::Bytes(value), rest)
        }
        5 => (number, Value::Other, rest.get(4..)?),
        _ => return None,
    })
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let length = bytes.iter().take(10).position(|byte| *byte < 0x80)?.saturating_add(1);
    let (digits, rest) = bytes.split_at_checked(length)?;
    let value = digits.iter().rev().fold(0_u64, |value, byte| value << 7 | u64::from(byte & 0x7f));
    Some((value, rest))
}

/// Describes a text: a web page, JSON, or any other.
fn text(available: &[u8], head: &[u8], length: u64) -> Option<Phrase> {
    if let [0xff, 0xfe, 0x20..=0x7e, 0, ..] | [0xfe, 0xff, 0, 0x20..=0x7e, ..] = head {
        return Some(phrase("this begins like text in UTF-16: if it is the JSON of an index, save it as UTF-8"));
    }
    let (has_mark, head) = match head.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) => (true, rest),
        None => (false, head),
    };
    let is_whole = to_u64(head.len()) == length;
    if head.is_empty() || !is_text(head, is_whole) {
        return None;
    }
    let trimmed = head.trim_ascii_start();
    Some(match *trimmed {
        [b'<', ..] => phrase(markup(trimmed)),
        [b'{', ref rest @ ..] if matches!(rest.trim_ascii_start(), [b'"' | b'}', ..]) => {
            json(available, has_mark, to_u64(available.len()) == length)
        }
        [b'[', ref rest @ ..] if matches!(rest.trim_ascii_start(), [b'"' | b'{' | b'-' | b'0'..=b'9', ..]) => {
            phrase("this begins like JSON, with a list: it is neither a tensor file nor the index of a model")
        }
        _ => phrase("this is text, not a tensor file: it may be the error message of a server, so look at it"),
    })
}

/// Returns true if `head` is UTF-8 without control characters. The last character may be truncated unless `is_whole`.
fn is_text(head: &[u8], is_whole: bool) -> bool {
    let is_control = |byte: &u8| matches!(byte, 0..=8 | 0x0e..=0x1f | 0x7f);
    let is_utf8 = match core::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && !is_whole && error.valid_up_to() > 0,
    };
    is_utf8 && !head.iter().any(is_control)
}

/// Describes a text that begins with `<`.
fn markup(text: &[u8]) -> &'static str {
    let begins = |word: &[u8]| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    let is_page = begins(b"<?xml") && text.windows(5).any(|word| word.eq_ignore_ascii_case(b"<html"));
    if is_page || begins(b"<!doctype html") || begins(b"<html") || begins(b"<head") || begins(b"<body") {
        "this is a web page (HTML), not the file itself: the download failed, or needs a login"
    } else if begins(b"<?xml") {
        "this is XML, not a tensor file: if it was downloaded, it may be the error message of the server"
    } else {
        "this begins like HTML or XML: if it was downloaded, it may be the error message of the server"
    }
}

/// Describes a JSON object. It may be the index of a model, which is not a tensor file.
fn json(available: &[u8], has_mark: bool, is_whole: bool) -> Phrase {
    const KEY: &[u8] = b"\"weight_map\"";
    let names_files = available.windows(KEY.len()).any(|bytes| bytes == KEY);
    phrase(match (names_files, has_mark) {
        (true, true) => {
            "this begins like JSON behind a byte order mark (U+FEFF): if it is the index of a model, save it without"
        }
        (true, false) => {
            "this begins like JSON: an index of safetensors files is no tensor file itself: open the files that it names"
        }
        _ if is_whole => {
            "this begins like JSON, and has no \"weight_map\": it is neither a tensor file nor the index of a model"
        }
        _ => "this begins like JSON, not like a tensor file",
    })
}

/// Describes an archive that contains no array.
pub(super) fn describe_archive(input: Input<'_>) -> Option<Phrase> {
    const TORCH_SCRIPT: &str =
        "this is a TorchScript model of PyTorch: load it with torch.jit.load, and save its tensors with safetensors";
    let (mut has_data, mut has_code, mut has_keras) = (false, false, false);
    let mut rest = directory(input)?;
    for _ in 0..MOST {
        let Some((name, after)) = entry(rest) else { break };
        has_data |= name.ends_with(b"/data.pkl");
        has_code |= name.ends_with(b"/constants.pkl") || name.windows(6).any(|part| part == b"/code/");
        has_keras |= name == b"model.weights.h5";
        rest = after;
    }
    match (has_data, has_code, has_keras) {
        (true, true, _) => Some(phrase(TORCH_SCRIPT)),
        (true, false, _) => Some(phrase(PYTORCH)),
        (_, _, true) => {
            Some(phrase("this is a Keras model: load it with Keras, and save its weights as safetensors or NPZ"))
        }
        _ => None,
    }
}

/// The central directory of an archive, located by the end record or the zip64 end record.
fn directory(input: Input<'_>) -> Option<&[u8]> {
    let start = input.length().saturating_sub(SEARCHED.saturating_add(22));
    // If the file is opened in parts, only the last 98 bytes, which are requested first, may be available.
    let from = |at: u64| input.get(Extent::new(at, input.length().checked_sub(at)?));
    let tail = from(start).or_else(|| from(input.length().saturating_sub(98)))?;
    let end_at = tail.windows(4).rposition(|bytes| bytes == b"PK\x05\x06")?;
    let end = tail.get(end_at..)?;
    let narrow = |at: usize| end.get(at..)?.first_chunk().map(|bytes| u64::from(u32::from_le_bytes(*bytes)));
    let (size, at) = (narrow(12)?, narrow(16)?);
    if at < u64::from(u32::MAX) {
        return input.get(Extent::new(at, size));
    }
    let locator = tail.get(end_at.checked_sub(20)?..)?.strip_prefix(b"PK\x06\x07")?;
    let end64_at = u64::from_le_bytes(*locator.get(4..)?.first_chunk()?);
    let end64 = input.get(Extent::new(end64_at, 56))?.strip_prefix(b"PK\x06\x06")?;
    let wide = |at: usize| end64.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    input.get(Extent::new(wide(44)?, wide(36)?))
}

/// The name of the first entry, and the bytes after its record.
fn entry(records: &[u8]) -> Option<(&[u8], &[u8])> {
    let lengths = records.strip_prefix(b"PK\x01\x02")?.get(24..)?.first_chunk::<6>()?;
    let [name, extra, comment] = [0, 2, 4].map(|at: usize| {
        let bytes = lengths.get(at..).and_then(<[u8]>::first_chunk::<2>);
        usize::from(bytes.map_or(0, |bytes| u16::from_le_bytes(*bytes)))
    });
    let (name, rest) = records.get(46..)?.split_at_checked(name)?;
    Some((name, rest.get(extra.saturating_add(comment)..)?))
}
