//! Files that the library writes: of all formats, from any declarations. Either the declarations can be written, and
//! the file has what was declared; or they may be anything, and what is not refused is written all the same. Data is
//! passed in pieces of any length, to sinks that fail, after a restart, and too much or too little of it.

mod declared;
pub mod sample;
mod values;

use tenslice::write::{NewAttribute, NewFile, NewTensor, NewValue, Sink, SinkError, Writer, reference_order};
use tenslice::{
    Attributes, DType, Encoding, Error, ErrorKind, File, Format, Layout, Opened, Part as Place, Purpose, ReadOptions,
    Source, Tensor, Verification,
};

use self::declared::{Declared, Kind, Part, is_odd, is_single, style_of};
use self::values::Style;
use crate::check;
use crate::choices::Choices;
use crate::objects;

const FORMATS: [Format; 9] = [
    Format::Safetensors,
    Format::Ztensor,
    Format::Ztensor2,
    Format::Gguf,
    Format::Npy,
    Format::Npz,
    Format::Tens,
    Format::Blz,
    Format::B2nd,
];

/// The longest file that is written as a whole, and the longest data.
const LONGEST: u64 = 1 << 18;
const LONGEST_DATA: u64 = (1 << 16) - 1;

/// A file to write.
struct Made<'m> {
    file: NewFile<'m>,
    format: Format,
    tensors: &'m [Declared<'m>],
    declared: &'m [NewTensor<'m>],
    attributes: &'m [NewAttribute<'m>],
    alignment: Option<u64>,
    has_digests: bool,
    frame_length: Option<u64>,
    /// The length of the blocks in frames.
    block: usize,
    parts: Vec<Part>,
    data: Vec<u8>,
}

/// A sink that keeps the bytes from `start` on, and fails at byte `limit`.
struct Kept {
    start: u64,
    bytes: Vec<u8>,
    limit: u64,
}

impl Kept {
    fn new(start: u64, limit: u64) -> Self {
        Self { start, bytes: Vec::new(), limit }
    }

    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl Sink for Kept {
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), SinkError> {
        assert_eq!(offset, self.end(), "a gap");
        assert!(!bytes.is_empty());
        let room = self.limit - offset;
        if bytes.len() as u64 > room {
            self.bytes.extend_from_slice(&bytes[..room as usize]);
            return Err(SinkError);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

/// Writes a file that is not too long, in the scratch memory that it needs.
type Write<'w> = dyn FnMut(&mut Choices<'_>, &Made<'_>, &mut [u64]) + 'w;

pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let format = choices.of(&FORMATS);
    make(&mut choices, format, &mut write);
}

/// Makes a file.
fn make(choices: &mut Choices<'_>, format: Format, write: &mut Write<'_>) {
    let is_any = is_odd(choices);
    let style = style_of(format).filter(|_| !is_any).unwrap_or(Style::Any);
    values::with(choices, style, &mut |choices, values| declare(choices, format, values, write));
}

/// Makes declarations with these values as attributes, and writes the file.
fn declare(choices: &mut Choices<'_>, format: Format, values: &[NewValue<'_>], write: &mut Write<'_>) {
    let count = if is_single(format) && !is_odd(choices) { 1 } else { choices.below(5) };
    let mut tensors: Vec<Declared<'_>> =
        (0..count).map(|number| Declared::new(choices, format, number, values)).collect();
    if choices.below(2) == 0 {
        // In an order that the sort accepts, so it is one; and that of the files of the reference implementation.
        tensors.sort_by(|a, b| reference_order(format, &a.declare(&[]), &b.declare(&[])).unwrap());
    }
    let of_file = if choices.below(2) == 0 { declared::attributes(choices, format, values) } else { Vec::new() };
    let of_file = new_attributes(&of_file);
    let of_tensors: Vec<_> = tensors.iter().map(|tensor| new_attributes(&tensor.attributes)).collect();
    let declared: Vec<_> =
        tensors.iter().zip(&of_tensors).map(|(tensor, attributes)| tensor.declare(attributes)).collect();

    let is_any = is_odd(choices);
    let alignments: &[u64] = match format {
        _ if is_any => {
            &[0, 1, 3, 8, 16, 32, 64, 128, 4096, 8192, 1 << 15, 1 << 16, 1 << 27, 1 << 31, 1 << 32, 1 << 40, 1 << 63]
        }
        Format::Safetensors | Format::Gguf => &[8, 16, 32, 64, 4096],
        Format::Npy => &[16, 32, 64, 128, 8192],
        Format::Npz => &[1, 2, 8, 64, 1 << 15],
        Format::Ztensor => &[64, 128, 4096],
        Format::Ztensor2 => &[4096, 8192],
        _ => &[],
    };
    let alignment = if !alignments.is_empty() && choices.one_in(4) { Some(choices.of(alignments)) } else { None };
    let has_digests = choices.below(2) == 1;
    let is_any = is_odd(choices);
    let has_frames = is_any || matches!(format, Format::Ztensor | Format::Ztensor2);
    let frame_length = match choices.below(8) {
        0 if is_any => Some(choices.of(&[0, 1, 64, 16 << 20, (16 << 20) + 1, u64::MAX])),
        0..3 if has_frames => Some(1 + choices.below(100) as u64),
        _ => None,
    };
    let mut file = NewFile::new(format, &declared).attributes(&of_file).digests(has_digests);
    file = alignment.map_or(file, |alignment| file.alignment(alignment));
    file = frame_length.map_or(file, |length| file.frames(length));
    let block = 1 + choices.below(60);
    let mut made = Made {
        file,
        format,
        tensors: &tensors,
        declared: &declared,
        attributes: &of_file,
        alignment,
        has_digests,
        frame_length,
        block,
        parts: Vec::new(),
        data: Vec::new(),
    };
    plan(choices, &mut made, write);
}

fn new_attributes<'a>(attributes: &'a [(String, NewValue<'a>)]) -> Vec<NewAttribute<'a>> {
    attributes.iter().map(|(key, value)| NewAttribute { key, value: *value }).collect()
}

/// Plans a file, and writes it if it is not refused and not too long.
fn plan(choices: &mut Choices<'_>, made: &mut Made<'_>, write: &mut Write<'_>) {
    let parts: Option<Vec<Vec<Part>>> =
        made.tensors.iter().enumerate().map(|(index, tensor)| tensor.parts(index)).collect();
    let lengths = parts.as_ref().map(|parts| parts.concat().iter().map(|part| part.length).collect::<Vec<_>>());
    let length = lengths.and_then(|lengths| lengths.into_iter().try_fold(0_u64, u64::checked_add));
    for tensor in made.declared {
        assert!(length.is_none() || tensor.length().is_some());
    }
    // Leaves out arrays with very many chunks, which take long to count.
    if made.format == Format::B2nd && length > Some(1 << 34) {
        return;
    }
    let words = Writer::scratch_length(&made.file).unwrap();
    if words > 1 << 16 {
        let error = Writer::new(made.file, &mut [0; 16]).unwrap_err();
        return explained(made, &error);
    }
    let mut scratch = vec![0x5a5a_5a5a_5a5a_5a5a; words];
    let planned = match Writer::new(made.file, &mut scratch) {
        Ok(writer) => writer.length(),
        Err(error) => {
            explained(made, &error);
            assert!(!choices.is_sound, "{}", made.file.explain(&error));
            return;
        }
    };
    if let Some(short) = words.checked_sub(1) {
        let error = Writer::new(made.file, &mut scratch[..short]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfScratch);
    }
    let (Some(parts), Some(length)) = (parts, length) else { panic!("contradictory lengths are not refused") };
    assert_eq!(planned.is_none(), made.frame_length.is_some());
    assert!(planned.is_none_or(|planned| planned >= length));
    let is_short = planned.map_or(made.alignment.is_none_or(|alignment| alignment <= LONGEST), |all| all <= LONGEST);
    made.parts = parts.concat();
    if made.frame_length.is_some_and(|frame_length| length / frame_length > 2000) {
        return;
    }
    if !is_short || length > LONGEST_DATA {
        assert!(!choices.is_sound);
        return too_long(choices, made, &mut scratch);
    }
    let (seed, is_valid) = (choices.any(), choices.is_sound || choices.below(4) > 0);
    made.data = made.parts.iter().flat_map(|part| made.tensors[part.tensor].data(part, seed, is_valid)).collect();
    write(choices, made, &mut scratch);
}

/// Checks the message of an error, which names the declaration in question.
fn explained(made: &Made<'_>, error: &Error) {
    let message = made.file.explain(error).to_string();
    assert!(message.len() > 12, "{message}");
    let Some(index) = error.declaration() else { return };
    let (what, name) = if matches!(error.part(), Place::Key | Place::Value) {
        ("attribute", made.attributes[index as usize].key)
    } else {
        ("tensor", &*made.tensors[index as usize].name)
    };
    let escaped = |c: char| if c.is_control() { c.escape_unicode().to_string() } else { c.to_string() };
    let named = format!(": {what} {index} \"{}\": ", name.chars().map(escaped).collect::<String>());
    assert!(message.contains(&named), "{message}");
}

/// Begins a file that is too long to be written, and ends one.
fn too_long(choices: &mut Choices<'_>, made: &Made<'_>, scratch: &mut [u64]) {
    let mut writer = Writer::new(made.file, scratch).unwrap();
    let mut sink = Kept::new(0, 1 << 16);
    let begun = writer.begin(&mut sink);
    if let (Ok(()), Some(length)) = (begun, writer.length()) {
        open_head(made, length, &sink.bytes);
    }
    if let Err(error) = begun.and_then(|()| writer.finish(&mut sink)) {
        assert!([ErrorKind::SinkFailed, ErrorKind::TooFewBytes].contains(&error.kind()), "{error:?}");
        explained(made, &error);
    }

    let mut writer = Writer::new(made.file, scratch).unwrap();
    let Some(length) = writer.length() else { return };
    let start = length - length.min(choices.below(300) as u64);
    let mut sink = Kept::new(start, u64::MAX);
    if let Err(error) = writer.resume(&mut sink, start) {
        return assert!(has_sums(made) && error.kind() == ErrorKind::InvalidArgument, "{error:?}");
    }
    while let Some(due) = writer.due() {
        assert!(due.missing <= 300);
        writer.data(&mut sink, &vec![0; due.missing as usize]).unwrap();
    }
    writer.finish(&mut sink).unwrap();
    assert_eq!((writer.position(), sink.end()), (length, length));
}

/// Opens a file of `length` bytes that begins with `head`, if nothing else is needed.
fn open_head(made: &Made<'_>, length: u64, head: &[u8]) {
    let mut source = Source::new(length);
    let file = loop {
        match File::open_source(&source).unwrap_or_else(|error| panic!("{}", error.explain(&source))) {
            Opened::File(file) => break file,
            Opened::Need(need) if need.extent.is_within(head.len() as u64) => {
                let from = need.extent.offset as usize;
                source.add(need.extent.offset, &head[from..from + need.extent.length as usize]).unwrap();
            }
            Opened::Need(_) => return,
        }
    };
    assert_eq!(file.format(), made.format);
    for (index, declared) in made.tensors.iter().enumerate() {
        let tensor = tensor_of(made, &file, index);
        assert_eq!(tensor.shape(), declared.shape[..]);
        assert_eq!(tensor.problem(), None);
    }
}

/// True if the file has a digest or a checksum of each component, so the data cannot be left out after a restart.
fn has_sums(made: &Made<'_>) -> bool {
    made.has_digests && made.format == Format::Ztensor || matches!(made.format, Format::Ztensor2 | Format::Npz)
}

/// Passes the data from byte `from` on: in pieces of these lengths, or in frames. Checks what is expected next.
fn push(
    made: &Made<'_>,
    writer: &mut Writer<'_, '_>,
    from: usize,
    pieces: &[usize],
    sink: &mut Kept,
) -> Result<(), Error> {
    let Some(frame_length) = made.frame_length else {
        let (mut at, mut turn) = (from, 0);
        due(made, writer, at);
        while at < made.data.len() {
            let length = pieces[turn % pieces.len()].min(made.data.len() - at);
            turn += 1;
            writer.data(sink, &made.data[at..at + length])?;
            assert_eq!(writer.position(), sink.end());
            at += length;
            due(made, writer, at);
        }
        return Ok(());
    };
    let mut at = 0;
    for part in &made.parts {
        let content = &made.data[at..at + part.length as usize];
        let frame_length = usize::try_from(frame_length).unwrap_or(usize::MAX);
        let mut within = at;
        for content in content.chunks(frame_length) {
            due(made, writer, within);
            writer.frame(sink, &objects::zstd_frame(content, made.block), content)?;
            within += content.len();
            assert_eq!(writer.position(), sink.end());
        }
        at += part.length as usize;
    }
    due(made, writer, at);
    Ok(())
}

/// Checks that the byte of the data that is expected next is byte `at`.
fn due(made: &Made<'_>, writer: &Writer<'_, '_>, at: usize) {
    let mut start = 0;
    let part = made.parts.iter().find(|part| {
        start += part.length;
        start > at as u64
    });
    let found = writer.due().map(|due| (due.tensor as usize, due.component as usize, due.offset, due.missing));
    let missing = start - (at as u64).min(start);
    assert_eq!(found, part.map(|part| (part.tensor, part.component, part.length - missing, missing)));
}

/// Begins, passes all data and finishes.
fn whole(made: &Made<'_>, scratch: &mut [u64], pieces: &[usize], sink: &mut Kept) -> Result<(), Error> {
    let mut writer = Writer::new(made.file, scratch).unwrap();
    assert_eq!(writer.due(), None);
    let result =
        writer.begin(sink).and_then(|()| push(made, &mut writer, 0, pieces, sink)).and_then(|()| writer.finish(sink));
    match result {
        Ok(()) => {
            assert_eq!((writer.position(), writer.due()), (sink.end(), None));
            assert!(writer.length().is_none_or(|length| length == sink.end()));
        }
        Err(error) => {
            explained(made, &error);
            // The bytes that arrived, without a piece that arrived in part.
            assert!(writer.position() <= sink.end());
            assert!(error.kind() != ErrorKind::SinkFailed || error.offset() == Some(writer.position()), "{error:?}");
        }
    }
    for again in [writer.begin(sink), writer.data(sink, &[0]), writer.finish(sink)] {
        assert_eq!(again.unwrap_err().kind(), ErrorKind::WrongState);
    }
    result
}

/// Writes the file, reads it back, and writes it in another way.
fn write(choices: &mut Choices<'_>, made: &Made<'_>, scratch: &mut [u64]) {
    let mut pieces: Vec<usize> = (0..choices.below(3)).map(|_| choices.below(70)).collect();
    pieces.push(1 + choices.below(1000));
    let mut sink = Kept::new(0, u64::MAX);
    let result = whole(made, scratch, &pieces, &mut sink);
    if let Some(tensor) = invalid(made) {
        let error = result.unwrap_err();
        return assert_eq!((error.kind(), error.declaration()), (ErrorKind::InvalidElement, Some(tensor as u32)));
    }
    result.unwrap_or_else(|error| panic!("{}", made.file.explain(&error)));
    let bytes = &sink.bytes[..];
    // GGUF also pads the last tensor.
    let end = if made.format == Format::Gguf { made.alignment.unwrap_or(32) } else { 1 };
    assert_eq!(bytes.len() as u64 % end, 0);
    let way = choices.below(6);
    let opened = if way == 0 { check::all(bytes) } else { File::open(bytes) };
    compare(choices.is_sound, made, &opened.unwrap_or_else(|error| panic!("{}", error.explain(bytes))), bytes);
    match way {
        0 => {}
        1 => {
            scratch.fill(u64::MAX);
            let mut sink = Kept::new(0, bytes.len() as u64);
            whole(made, scratch, &[1 + choices.below(40)], &mut sink).unwrap();
            assert!(sink.bytes == bytes);
        }
        2 => {
            let limit = choices.below(bytes.len());
            let mut sink = Kept::new(0, limit as u64);
            let error = whole(made, scratch, &pieces, &mut sink).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::SinkFailed);
            assert!(sink.bytes == bytes[..limit]);
            if let Ok(opened) = File::open(&sink.bytes) {
                // Only padding is missing.
                assert!(matches!(made.format, Format::Gguf | Format::Tens), "{limit} of {} bytes", bytes.len());
                assert!(bytes[limit..].iter().all(|byte| *byte == 0));
                compare(choices.is_sound, made, &opened, &sink.bytes);
            }
        }
        3 | 4 => resumed(choices, made, scratch, &pieces, bytes),
        _ => other_data(choices, made, scratch, &pieces, bytes),
    }
}

/// Writes the file again from any byte on.
fn resumed(choices: &mut Choices<'_>, made: &Made<'_>, scratch: &mut [u64], pieces: &[usize], bytes: &[u8]) {
    let at = choices.below(bytes.len() + 2) as u64;
    let file = File::open(bytes).unwrap();
    // The first byte of data.
    let first = made.parts.iter().find(|part| part.length > 0);
    let first = first.filter(|_| has_sums(made)).map(|part| stored(made, &file, part).extent().offset);
    let is_refused =
        at > bytes.len() as u64 || first.is_some_and(|first| at > first) || made.frame_length.is_some() && at > 0;
    let mut writer = Writer::new(made.file, scratch).unwrap();
    let mut sink = Kept::new(at, u64::MAX);
    if let Err(error) = writer.resume(&mut sink, at) {
        assert!(error.kind() == ErrorKind::InvalidArgument && is_refused, "{at}: {error:?}");
        return assert!(sink.bytes.is_empty());
    }
    assert!(!is_refused, "{at}");
    let from = writer.due().map_or(made.data.len(), |due| {
        let before = |part: &&Part| (part.tensor, part.component) < (due.tensor as usize, due.component as usize);
        made.parts.iter().filter(before).map(|part| part.length as usize).sum::<usize>() + due.offset as usize
    });
    push(made, &mut writer, from, pieces, &mut sink).unwrap();
    writer.finish(&mut sink).unwrap();
    assert_eq!(writer.position(), bytes.len() as u64);
    assert!(sink.bytes == bytes[at as usize..], "resumed at {at}");
}

/// Passes too much or too little data, or a frame of another length.
fn other_data(choices: &mut Choices<'_>, made: &Made<'_>, scratch: &mut [u64], pieces: &[usize], bytes: &[u8]) {
    let mut sink = Kept::new(0, u64::MAX);
    let mut writer = Writer::new(made.file, scratch).unwrap();
    writer.begin(&mut sink).unwrap();
    let error = if choices.below(2) == 0 {
        push(made, &mut writer, 0, pieces, &mut sink).unwrap();
        let result = match made.frame_length {
            Some(_) => writer.frame(&mut sink, &objects::zstd_frame(&[0], 1), &[0]),
            None => writer.data(&mut sink, &[0]),
        };
        assert_eq!(result.unwrap_err().kind(), ErrorKind::TooManyBytes);
        result.unwrap_err()
    } else if let (Some(frame_length), Some(due)) = (made.frame_length, writer.due()) {
        let right = due.missing.min(frame_length);
        let content = vec![0; choices.below(200)];
        let result = writer.frame(&mut sink, &objects::zstd_frame(&content, made.block), &content);
        if content.len() as u64 == right {
            return result.unwrap();
        }
        assert_eq!(result.unwrap_err().kind(), ErrorKind::WrongLength);
        result.unwrap_err()
    } else {
        let length = choices.below(made.data.len() + 1);
        if made.frame_length.is_none() {
            writer.data(&mut sink, &made.data[..length]).unwrap();
        }
        let missing = writer.due();
        match (writer.finish(&mut sink), missing) {
            (Ok(()), None) => return,
            (Err(error), Some(due)) => {
                assert_eq!((error.kind(), error.declaration()), (ErrorKind::TooFewBytes, Some(due.tensor)));
                error
            }
            (result, due) => panic!("{result:?}, {due:?}"),
        }
    };
    explained(made, &error);
    assert!(bytes.starts_with(&sink.bytes) || made.frame_length.is_some());
}

/// The index of the first tensor with data that zTensor 2 does not allow.
fn invalid(made: &Made<'_>) -> Option<usize> {
    let mut rest = &made.data[..];
    let part = made.parts.iter().find(|part| {
        let (bytes, after) = rest.split_at(part.length as usize);
        rest = after;
        match part.dtype {
            Some(DType::BOOL) => bytes.iter().any(|byte| *byte > 1),
            Some(DType::F4_E2M1) => part.count % 2 == 1 && bytes.last().is_some_and(|last| *last > 0xf),
            _ => false,
        }
    });
    part.filter(|_| made.format == Format::Ztensor2).map(|part| part.tensor)
}

/// The tensor of a declaration.
fn tensor_of<'f>(made: &Made<'_>, file: &File<'f>, index: usize) -> Tensor<'f> {
    if is_single(made.format) {
        file.tensors().next().unwrap()
    } else {
        file.find(&made.tensors[index].name).unwrap()
    }
}

/// The component of a part.
fn stored<'f>(made: &Made<'_>, file: &File<'f>, part: &Part) -> tenslice::Component<'f> {
    let tensor = tensor_of(made, file, part.tensor);
    match made.tensors[part.tensor].kind {
        Kind::Csr { .. } | Kind::Coo { .. } => tensor.component(part.role).unwrap(),
        _ => tensor.components().nth(part.component).unwrap(),
    }
}

/// Checks that a file has what was declared.
fn compare(is_sound: bool, made: &Made<'_>, file: &File<'_>, bytes: &[u8]) {
    assert_eq!(file.format(), made.format);
    assert_eq!(file.tensors().count(), made.tensors.len());
    file.check(&mut [0; 256]).unwrap();
    attributes(made, made.attributes, file.attributes(), None);
    // The alignment is that of each component; in safetensors, of the first.
    let alignment = made.alignment.unwrap_or(match made.format {
        Format::Safetensors => 8,
        Format::Gguf => 32,
        Format::Ztensor | Format::Npy => 64,
        Format::Ztensor2 => 4096,
        _ => 1,
    });
    let mut rest = &made.data[..];
    for (index, declared) in made.tensors.iter().enumerate() {
        let tensor = tensor_of(made, file, index);
        assert!(is_single(made.format) || tensor.name() == &declared.name[..]);
        assert_eq!(tensor.shape(), declared.shape[..]);
        assert_eq!(tensor.problem(), None);
        let (dtype, layout) = match declared.kind {
            Kind::Dense(dtype) => (Some(dtype), Layout::Dense),
            Kind::Csr { dtype, .. } => (Some(dtype), Layout::SparseCsr),
            Kind::Coo { dtype, .. } => (Some(dtype), Layout::SparseCoo),
            Kind::Pairs { dtype, .. } => (Some(dtype), Layout::IndexValue),
            Kind::Train { dtype, .. } => (Some(dtype), Layout::TensorTrain),
            Kind::Blocks(_) => (tensor.dtype(), Layout::Blocks),
            Kind::Items(..) => (tensor.dtype(), tensor.layout()),
        };
        assert_eq!(tensor.dtype(), dtype);
        assert_eq!(tensor.layout(), if made.format == Format::B2nd { Layout::Chunked } else { layout });
        match &declared.kind {
            Kind::Blocks(block_type) => {
                assert!(tensor.layout_name().to_string().starts_with(block_type.layout_name()))
            }
            Kind::Items(descr, _) => {
                let latin_1: Option<Vec<u8>> = descr.chars().map(|character| u8::try_from(character).ok()).collect();
                let text = latin_1.unwrap_or(descr.clone().into_bytes());
                assert!(bytes.windows(text.len()).any(|window| window == text), "{descr}");
            }
            _ => {}
        }
        attributes(made, made.declared[index].attributes, tensor.attributes(), Some(&declared.kind));
        let parts = made.parts.iter().filter(|part| part.tensor == index);
        assert_eq!(tensor.components().count(), parts.clone().count());
        for part in parts {
            let (expected, after) = rest.split_at(part.length as usize);
            rest = after;
            let component = stored(made, file, part);
            let is_aligned = alignment == 1 || component.extent().offset % alignment == 0;
            assert!(
                is_aligned || made.format == Format::Safetensors && after.len() + expected.len() < made.data.len()
            );
            if component.encoding() == Encoding::Blosc {
                let mut room = vec![0; expected.len()];
                tensor.read_into(&mut room, ReadOptions::new()).unwrap();
                assert!(room == expected);
                continue;
            }
            assert_eq!(component.dtype().filter(|_| part.dtype.is_some()), part.dtype);
            assert_eq!(component.decoded_length(), Some(part.length));
            match component.bytes() {
                Ok(bytes) => assert!(bytes == expected),
                Err(_) => {
                    assert!(made.frame_length.is_some() && part.length > 0);
                    let mut room = vec![0; expected.len()];
                    component.read_into(&mut room, ReadOptions::new()).unwrap();
                    assert!(room == expected);
                }
            }
            let mut scratch = vec![0; component.requirements(Purpose::Verify).scratch.unwrap() as usize];
            let state = component.verify(ReadOptions::new().scratch(&mut scratch)).unwrap();
            assert_eq!(state, if has_sums(made) { Verification::Verified } else { Verification::NoDigest });
        }
    }
    if is_sound {
        let mut scratch = vec![0; file.requirements(Purpose::Verify).scratch.unwrap() as usize];
        let verified = file.verify(ReadOptions::new().scratch(&mut scratch));
        verified.unwrap_or_else(|error| panic!("{}", error.explain(bytes)));
    }
}

/// Returns the attributes that were declared, and those that the format adds.
fn with_added<'a>(made: &Made<'_>, declared: &[NewAttribute<'a>], of: Option<&Kind>) -> Vec<NewAttribute<'a>> {
    let mut expected: Vec<NewAttribute<'_>> = declared.to_vec();
    match (made.format, of) {
        (Format::Gguf, None) if made.alignment.is_some_and(|alignment| alignment != 32) => {
            expected.push(NewAttribute::new("general.alignment", made.alignment.unwrap()));
        }
        (Format::Ztensor2, _) => {
            if let Some(Kind::Blocks(block_type)) = of {
                let numbers = [("block_bytes", block_type.bytes()), ("elems_per_block", block_type.elements())];
                for (key, number) in numbers {
                    if declared.iter().all(|attribute| attribute.key != key) {
                        expected.push(NewAttribute::new(key, number));
                    }
                }
            }
            expected.sort_by_key(|attribute| (attribute.key.len(), attribute.key));
        }
        _ => {}
    }
    expected
}

/// Checks that the attributes are those that were declared, and those that the format adds.
fn attributes(made: &Made<'_>, declared: &[NewAttribute<'_>], mut found: Attributes<'_>, of: Option<&Kind>) {
    for attribute in with_added(made, declared, of) {
        let item = found.next().unwrap();
        assert!(item.key.unwrap().as_text().unwrap() == attribute.key, "{:?}, not {}", item.key, attribute.key);
        values::compare(made.format, &attribute.value, &item.value);
    }
    assert!(found.next().is_none() && found.error().is_none());
}
