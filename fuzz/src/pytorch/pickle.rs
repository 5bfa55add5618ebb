//! Pickles, written from the inside to the outside, with the list of the tensors and the values in them.

use std::collections::HashMap;

use tenslice::DType;

use crate::choices::Choices;

/// The classes of storages, the elements, and their size in bytes. Elements without a dtype are quantized.
const CLASSES: &[(&str, Option<DType>, usize)] = &[
    ("FloatStorage", Some(DType::F32), 4),
    ("LongStorage", Some(DType::I64), 8),
    ("BoolStorage", Some(DType::BOOL), 1),
    ("HalfStorage", Some(DType::F16), 2),
    ("BFloat16Storage", Some(DType::BF16), 2),
    ("DoubleStorage", Some(DType::F64), 8),
    ("IntStorage", Some(DType::I32), 4),
    ("ShortStorage", Some(DType::I16), 2),
    ("CharStorage", Some(DType::I8), 1),
    ("ByteStorage", Some(DType::U8), 1),
    ("ComplexFloatStorage", Some(DType::C64), 8),
    ("ComplexDoubleStorage", Some(DType::C128), 16),
    ("QInt8Storage", None, 1),
    ("QUInt8Storage", None, 1),
    ("QInt32Storage", None, 4),
    ("UntypedStorage", None, 1),
];
const UNTYPED: usize = CLASSES.len() - 1;

/// Dtypes of views of untyped storages.
const DTYPES: &[(&str, Option<DType>, usize)] = &[
    ("uint16", Some(DType::U16), 2),
    ("float32", Some(DType::F32), 4),
    ("uint64", Some(DType::U64), 8),
    ("uint32", Some(DType::U32), 4),
    ("float8_e4m3fn", Some(DType::F8_E4M3FN), 1),
    ("float8_e5m2", Some(DType::F8_E5M2), 1),
    ("float8_e4m3fnuz", Some(DType::F8_E4M3FNUZ), 1),
    ("float8_e5m2fnuz", Some(DType::F8_E5M2FNUZ), 1),
    ("float8_e8m0fnu", Some(DType::F8_E8M0), 1),
    ("complex128", Some(DType::C128), 16),
    ("complex32", None, 4),
    ("float4_e2m1fn_x2", None, 1),
    ("bits16", None, 2),
];

/// The elements of a tensor: a part of a storage.
#[derive(Clone)]
pub struct View {
    pub storage: usize,
    pub offset: usize,
    pub strides: Vec<usize>,
    pub size: usize,
}

#[derive(Clone)]
pub struct Tensor {
    /// Empty if the elements are those of the view.
    pub layout: String,
    pub dtype: Option<DType>,
    pub shape: Vec<usize>,
    pub view: Option<View>,
    /// The number of functions around the one with the storage, of which there may be four.
    around: usize,
}

impl Tensor {
    /// The offset of the first byte of each element in the storage, row after row.
    pub fn elements(&self) -> Vec<usize> {
        let Some(view) = &self.view else { return Vec::new() };
        let mut all = vec![view.offset];
        for (length, stride) in self.shape.iter().zip(&view.strides) {
            all = all.iter().flat_map(|at| (0..*length).map(move |k| at + k * stride)).collect();
        }
        all.iter().map(|at| at * view.size).collect()
    }

    pub fn is_dense(&self) -> bool {
        let start = self.view.as_ref().map_or(0, |view| view.offset * view.size);
        let size = self.view.as_ref().map_or(1, |view| view.size);
        self.elements().iter().enumerate().all(|(k, at)| *at == start + k * size)
    }
}

/// A value of the tree.
#[derive(Debug)]
pub enum Value {
    Null,
    Bool(bool),
    Integer(i128),
    Float(u64),
    Text(String),
    Bytes(Vec<u8>),
}

/// The place of an object: `None` if it is no value of the tree.
type Place<'p> = Option<&'p Path>;

pub struct Path {
    name: String,
    /// True if the name has a piece, which may be empty.
    has_piece: bool,
}

impl Path {
    pub fn root() -> Self {
        Self { name: String::new(), has_piece: false }
    }

    fn inside(&self, key: &str) -> Self {
        let name = if self.has_piece { format!("{}.{key}", self.name) } else { format!("{}{key}", self.name) };
        Self { name, has_piece: true }
    }
}

/// How a pickle is written, for all of it.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    /// The style of torch, with anything else that protocol 2 permits.
    Two,
    /// The form of most models, which is read in a faster way: mappings of tensors, with few other things between them.
    Usual,
    /// Python 2: the memo begins at 1, numbers and texts are those of Python 2.
    Old,
    /// Protocol 4: MEMOIZE, STACK_GLOBAL, frames.
    Four,
}

/// A call of a function that makes a tensor of a storage.
#[derive(Clone)]
struct Call {
    function: &'static str,
    /// The dtype, if the function takes one.
    stated: Option<&'static str>,
    /// The metadata: a bit that is true or false, or nothing.
    bit: Option<(&'static str, bool)>,
    tensor: Tensor,
}

pub struct Pickle {
    pub bytes: Vec<u8>,
    /// The tensors, in the order of the file, with their names.
    pub tensors: Vec<(String, Tensor)>,
    pub values: Vec<(String, Value)>,
    /// The names that stand for code.
    pub globals: Vec<(String, String)>,
    /// The classes and the bytes of the storages.
    pub storages: Vec<(usize, Vec<u8>)>,
    style: Style,
    is_stream: bool,
    memo: u32,
    /// The texts, names and tuples of numbers in the memo, by what would be written without it.
    known: HashMap<Vec<u8>, u32>,
    known_tensors: Vec<(u32, Tensor)>,
    known_storages: HashMap<usize, u32>,
    containers: Vec<u32>,
    left: usize,
}

impl Pickle {
    /// Writes a pickle. `is_constants` makes a tuple, as the constants of TorchScript are.
    pub fn new(choices: &mut Choices<'_>, is_stream: bool, is_constants: bool) -> Self {
        let style = choices.of(&[Style::Two, Style::Usual, Style::Four, Style::Old]);
        let protocol = if style == Style::Four { choices.of(&[4, 5]) } else { choices.of(&[2, 3]) };
        let mut made = Self {
            bytes: vec![0x80, protocol],
            tensors: Vec::new(),
            values: Vec::new(),
            globals: Vec::new(),
            storages: Vec::new(),
            style,
            is_stream,
            memo: u32::from(style == Style::Old),
            known: HashMap::new(),
            known_tensors: Vec::new(),
            known_storages: HashMap::new(),
            containers: Vec::new(),
            left: 2 + choices.below(14),
        };
        let frame = (style == Style::Four && choices.below(2) == 0).then(|| {
            made.bytes.extend([0x95, 0, 0, 0, 0, 0, 0, 0, 0]);
            made.bytes.len()
        });
        if is_constants {
            made.code(b"(");
            for place in 0..choices.below(3) {
                let path = Path { name: format!("CONSTANTS.c{place}"), has_piece: true };
                made.value(choices, Some(&path), 1);
            }
            made.code(b"t");
        } else {
            made.value(choices, Some(&Path::root()), 0);
        }
        made.code(b".");
        if let Some(start) = frame {
            let length = (made.bytes.len() - start) as u64;
            made.bytes[start - 8..start].copy_from_slice(&length.to_le_bytes());
        }
        made
    }

    /// The size of an element of a storage.
    pub fn size_of(&self, storage: usize) -> usize {
        CLASSES[self.storages[storage].0].2
    }

    fn code(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Puts the last object into the memo, perhaps.
    fn put(&mut self, choices: &mut Choices<'_>) -> Option<u32> {
        if choices.one_in(3) {
            return None;
        }
        if self.style == Style::Four {
            self.code(&[0x94]);
        } else {
            self.memo += if choices.one_in(16) { choices.of(&[1, 2, 300]) } else { 0 };
            match u8::try_from(self.memo) {
                Ok(index) if !choices.one_in(8) => self.code(&[b'q', index]),
                _ => self.code(&[b"r", &self.memo.to_le_bytes()[..]].concat()),
            }
        }
        self.memo += 1;
        Some(self.memo - 1)
    }

    fn get(&mut self, choices: &mut Choices<'_>, index: u32) {
        match u8::try_from(index) {
            Ok(index) if !choices.one_in(8) => self.code(&[b'h', index]),
            _ => self.code(&[b"j", &index.to_le_bytes()[..]].concat()),
        }
    }

    /// Takes an object from the memo that would be written as `bytes`, perhaps.
    fn recall(&mut self, choices: &mut Choices<'_>, bytes: &[u8]) -> bool {
        match self.known.get(bytes).copied() {
            Some(index) if !choices.one_in(4) => {
                self.get(choices, index);
                true
            }
            _ => false,
        }
    }

    fn remember(&mut self, choices: &mut Choices<'_>, bytes: Vec<u8>) {
        if let Some(index) = self.put(choices) {
            self.known.insert(bytes, index);
        }
    }

    fn text(&mut self, choices: &mut Choices<'_>, text: &str) {
        let written = [b"X", text.as_bytes()].concat();
        if self.recall(choices, &written) {
            return;
        }
        let (length, short) = (text.len() as u32, text.len() as u8);
        let form = match self.style {
            Style::Two | Style::Usual => 0,
            Style::Old => choices.of(&[3, 0, 4]),
            Style::Four => choices.of(&[1, 0, 2]),
        };
        match form {
            0 => self.code(&[b"X", &length.to_le_bytes()[..]].concat()),
            1 => self.code(&[0x8c, short]),
            2 => self.code(&[&[0x8d], &u64::from(length).to_le_bytes()[..]].concat()),
            3 => self.code(&[b'U', short]),
            _ => self.code(&[b"T", &length.to_le_bytes()[..]].concat()),
        }
        self.code(text.as_bytes());
        self.remember(choices, written);
    }

    fn global(&mut self, choices: &mut Choices<'_>, module: &str, name: &str) {
        let written = format!("c{module}\n{name}\n").into_bytes();
        if self.recall(choices, &written) {
            return;
        }
        if self.style == Style::Four {
            self.text(choices, module);
            self.text(choices, name);
            self.code(&[0x93]);
        } else {
            self.code(&written);
        }
        self.globals.push((module.into(), name.into()));
        self.remember(choices, written);
    }

    fn integer(&mut self, choices: &mut Choices<'_>, number: i128) {
        let fits = |bytes: u32| number >= 0 && number < 1 << (8 * bytes);
        let form = match self.style {
            Style::Usual => 0,
            Style::Old => choices.below(7),
            _ => choices.below(6),
        };
        match form {
            6 => self.code(format!("I{number}\n").as_bytes()),
            5 => {
                let bytes = number.to_le_bytes();
                let length = 16 - choices.below(8);
                let is_whole = i64::try_from(number).is_ok();
                let length = if is_whole { length } else { 16 };
                self.code(&[&[0x8b], &(length as u32).to_le_bytes()[..], &bytes[..length]].concat());
            }
            0..=2 if fits(1) => self.code(&[b'K', number as u8]),
            0..=3 if fits(2) => self.code(&[&b"M"[..], &(number as u16).to_le_bytes()].concat()),
            _ => match i32::try_from(number) {
                Ok(number) if form != 4 => self.code(&[&b"J"[..], &number.to_le_bytes()].concat()),
                _ => {
                    let bytes = number.to_le_bytes();
                    let sign = if number < 0 { 0xff } else { 0 };
                    let mut length = 16;
                    while length > 0 && bytes[length - 1] == sign {
                        length -= 1;
                    }
                    // Two's complement needs a bit for the sign.
                    let needs = length > 0 && (bytes[length - 1] ^ sign) & 0x80 != 0 || number == -1;
                    length += usize::from(needs && length < 16);
                    self.code(&[&[0x8a, length as u8], &bytes[..length]].concat());
                }
            },
        }
    }

    fn truth(&mut self, choices: &mut Choices<'_>, value: bool) {
        if self.style == Style::Old && choices.below(2) == 1 {
            self.code(if value { b"I01\n" } else { b"I00\n" });
        } else {
            self.code(if value { &[0x88] } else { &[0x89] });
        }
    }

    /// Writes a tuple of numbers, perhaps as a `torch.Size`.
    fn numbers(&mut self, choices: &mut Choices<'_>, numbers: &[usize]) {
        let written = [b"t", numbers.iter().map(|number| *number as u8).collect::<Vec<_>>().as_slice()].concat();
        let is_usual = self.style == Style::Usual;
        if !is_usual && self.recall(choices, &written) {
            return;
        }
        let is_size = !is_usual && choices.one_in(8);
        if is_size {
            self.global(choices, "torch", "Size");
        }
        let is_marked = numbers.len() > 3 || !is_usual && choices.one_in(4);
        if is_marked {
            self.code(b"(");
        }
        for number in numbers {
            self.integer(choices, *number as i128);
        }
        match numbers.len() {
            _ if is_marked => self.code(b"t"),
            0 => self.code(b")"),
            count => self.code(&[0x84 + count as u8]),
        }
        if is_size {
            self.put(choices);
            self.code(&[0x85]);
            self.put(choices);
            self.code(b"R");
        }
        self.remember(choices, written);
    }

    /// Makes a view of an earlier storage, or of one of its own, whose class is one of `classes`.
    fn view(&mut self, choices: &mut Choices<'_>, classes: &[usize], size: Option<usize>) -> (View, Vec<usize>) {
        let shape: Vec<usize> = (0..choices.of(&[1, 2, 0, 3])).map(|_| choices.of(&[2, 1, 3, 0, 4])).collect();
        let mut strides = vec![1; shape.len()];
        for k in (1..shape.len()).rev() {
            strides[k - 1] = strides[k] * shape[k];
        }
        match choices.below(6) {
            4 if strides.len() > 1 => strides.reverse(),
            5 => strides.iter_mut().for_each(|stride| *stride = choices.below(6)),
            _ => {}
        }
        let offset = if choices.one_in(3) { choices.below(9) } else { 0 };
        let reach: usize = shape.iter().zip(&strides).map(|(length, stride)| length.saturating_sub(1) * stride).sum();
        let is_empty = shape.contains(&0);
        let needs = if is_empty { 0 } else { offset + reach + 1 };
        let earlier = choices.below(2 * self.storages.len() + 1).checked_sub(self.storages.len() + 1);
        let fits = |(class, bytes): &(usize, Vec<u8>)| {
            classes.contains(class) && needs * size.unwrap_or(CLASSES[*class].2) <= bytes.len()
        };
        let is_full = self.storages.len() >= 12;
        let earlier = if is_full { self.storages.iter().position(fits) } else { earlier };
        let storage = match earlier.filter(|earlier| fits(&self.storages[*earlier])) {
            Some(earlier) => earlier,
            None if is_full => {
                // An empty view may be of any storage of a class.
                let any = self.storages.iter().position(|(class, _)| classes.contains(class));
                if let Some(storage) = any {
                    let size = size.unwrap_or(CLASSES[self.storages[storage].0].2);
                    return (View { storage, offset, strides: vec![1], size }, vec![0]);
                }
                self.storage(choices, classes, needs, size)
            }
            None => self.storage(choices, classes, needs, size),
        };
        let size = size.unwrap_or(CLASSES[self.storages[storage].0].2);
        (View { storage, offset, strides, size }, shape)
    }

    fn storage(&mut self, choices: &mut Choices<'_>, classes: &[usize], needs: usize, size: Option<usize>) -> usize {
        let class = if choices.below(2) == 0 { classes[0] } else { choices.of(classes) };
        let count = needs + choices.of(&[0, 0, 1, 3]);
        let length = count * size.unwrap_or(CLASSES[class].2);
        let seed = self.storages.len() * 41;
        let mask = if CLASSES[class].1 == Some(DType::BOOL) { 1 } else { 0xff };
        self.storages.push((class, (0..length).map(|k| (seed + k * 7 + k / 256) as u8 & mask).collect()));
        self.storages.len() - 1
    }

    /// Writes the ID of a storage, and what makes it a storage.
    fn persistent_id(&mut self, choices: &mut Choices<'_>, storage: usize) {
        if let Some(index) = self.known_storages.get(&storage).copied().filter(|_| choices.below(2) == 0) {
            return self.get(choices, index);
        }
        let (class, length) = (self.storages[storage].0, self.storages[storage].1.len());
        self.code(b"(");
        self.text(choices, "storage");
        let (name, _, size) = CLASSES[class];
        let module = if class == UNTYPED { "torch.storage" } else { choices.of(&["torch", "torch", "torch.cuda"]) };
        self.global(choices, module, name);
        self.text(choices, &storage.to_string());
        self.text(choices, if module == "torch.cuda" { "cuda:0" } else { "cpu" });
        self.integer(choices, (length / size) as i128);
        if self.is_stream || choices.one_in(16) {
            self.code(b"N");
        }
        self.code(b"t");
        self.put(choices);
        self.code(b"Q");
        if let Some(index) = self.put(choices) {
            self.known_storages.insert(storage, index);
        }
    }

    /// Writes the hooks of a tensor.
    fn hooks(&mut self, choices: &mut Choices<'_>) {
        self.global(choices, "collections", "OrderedDict");
        self.code(b")R");
        self.put(choices);
    }

    /// Chooses a function that makes a tensor of a storage, and its arguments.
    fn choose_call(&mut self, choices: &mut Choices<'_>) -> Call {
        let plain: Vec<usize> = (0..UNTYPED - 3).collect();
        let quantized: Vec<usize> = (UNTYPED - 3..UNTYPED).collect();
        let is_usual = self.style == Style::Usual;
        let function = match if is_usual { 0 } else { choices.below(12) } {
            8 => "_rebuild_tensor",
            9 | 10 => "_rebuild_tensor_v3",
            11 => "_rebuild_qtensor",
            _ => "_rebuild_tensor_v2",
        };
        let stated = choices.of(DTYPES);
        let (classes, size) = match function {
            "_rebuild_tensor_v3" => (&[UNTYPED][..], Some(stated.2)),
            "_rebuild_qtensor" => (&quantized[..], None),
            _ => (&plain[..], None),
        };
        let (view, shape) = self.view(choices, classes, size);
        let (mut layout, mut dtype) = (String::new(), CLASSES[self.storages[view.storage].0].1);
        let mut bit = None;
        if function == "_rebuild_tensor_v3" {
            dtype = stated.1;
            if dtype.is_none() {
                layout = format!("torch.{}", stated.0);
            }
        }
        if function == "_rebuild_qtensor" {
            layout = "torch.quantized".into();
        } else if function != "_rebuild_tensor" && !is_usual && choices.one_in(6) {
            let (word, is_on) = (choices.of(&["conj", "neg", "other"]), choices.below(2) == 0);
            bit = Some((word, is_on));
            if is_on && word != "other" {
                layout = format!("torch.{word}");
            }
        }
        let dtype = dtype.filter(|_| layout.is_empty());
        let stated = size.map(|_| stated.0);
        Call { function, stated, bit, tensor: Tensor { layout, dtype, shape, view: Some(view), around: 0 } }
    }

    /// Writes the arguments of a call.
    fn arguments(&mut self, choices: &mut Choices<'_>, call: &Call) {
        let Some(view) = &call.tensor.view else { return };
        self.code(b"(");
        self.persistent_id(choices, view.storage);
        self.integer(choices, view.offset as i128);
        self.numbers(choices, &call.tensor.shape);
        self.numbers(choices, &view.strides);
        if call.function == "_rebuild_qtensor" {
            self.code(b"(");
            self.global(choices, "torch", "per_tensor_affine");
            self.code(b"G\x3f\xe0\0\0\0\0\0\0K\0t");
            self.put(choices);
        }
        if call.function != "_rebuild_tensor" {
            self.truth(choices, false);
            self.hooks(choices);
            if let Some(name) = call.stated {
                self.global(choices, "torch", name);
            }
        }
        if let Some((word, is_on)) = call.bit {
            self.code(b"}");
            self.put(choices);
            self.text(choices, word);
            self.truth(choices, is_on);
            self.code(b"s");
        }
        self.code(b"t");
        self.put(choices);
    }

    /// Writes a tensor, and returns it. `around` counts the functions that take it as an argument.
    fn tensor(&mut self, choices: &mut Choices<'_>, around: usize) -> Tensor {
        let last = self.known_tensors.last().filter(|(_, tensor)| around + tensor.around <= 4).cloned();
        if let Some((index, tensor)) = last.filter(|_| choices.one_in(8)) {
            self.get(choices, index);
            return tensor;
        }
        let is_plain = around > 1 || self.style == Style::Usual && !choices.one_in(16);
        let tensor = match if is_plain { 0 } else { choices.below(20) } {
            10..=12 => {
                let name = choices.of(&["_rebuild_parameter", "_rebuild_parameter_with_state"]);
                let has_state = name == "_rebuild_parameter_with_state";
                self.global(choices, "torch._utils", name);
                let is_marked = has_state || choices.below(2) == 0;
                if is_marked {
                    self.code(b"(");
                }
                let inner = self.tensor(choices, around + 1);
                self.truth(choices, true);
                self.hooks(choices);
                if has_state {
                    self.code(b"}");
                }
                self.code(if is_marked { b"t" } else { &[0x87] });
                Tensor { around: inner.around + 1, ..inner }
            }
            13 | 14 => {
                let classes = [
                    ("torch.nn.parameter", "Parameter"),
                    ("torch", "Tensor"),
                    ("torch.nn.parameter", "Buffer"),
                    ("__main__", "Mine"),
                ];
                let (module, class) = choices.of(&classes);
                let mut call = self.choose_call(choices);
                self.global(choices, "torch._tensor", "_rebuild_from_type_v2");
                self.code(b"(");
                self.global(choices, "torch._utils", call.function);
                self.global(choices, module, class);
                self.arguments(choices, &call);
                self.code(b"}t");
                if module == "__main__" && call.function != "_rebuild_qtensor" {
                    call.tensor.layout = "torch.subclass".into();
                    call.tensor.dtype = None;
                }
                Tensor { around: 1, ..call.tensor }
            }
            15 => self.sparse(choices, around),
            16 => {
                self.global(choices, "torch._utils", "_rebuild_nested_tensor");
                self.code(b"(");
                for _ in 0..choices.below(3) {
                    self.tensor(choices, around + 1);
                }
                self.code(b"t");
                Tensor { layout: "torch.nested".into(), dtype: None, shape: Vec::new(), view: None, around: 0 }
            }
            17 => self.of_sizes(choices, "_rebuild_meta_tensor_no_storage", "torch.meta"),
            18 => self.of_sizes(choices, "_rebuild_wrapper_subclass", "torch.wrapper_subclass"),
            _ => {
                let call = self.choose_call(choices);
                self.global(choices, "torch._utils", call.function);
                self.arguments(choices, &call);
                call.tensor
            }
        };
        self.put(choices);
        self.code(b"R");
        if let Some(index) = self.put(choices) {
            self.known_tensors.push((index, tensor.clone()));
        }
        tensor
    }

    /// Writes the function and the arguments of a tensor without a storage.
    fn of_sizes(&mut self, choices: &mut Choices<'_>, function: &str, layout: &str) -> Tensor {
        self.global(choices, "torch._utils", function);
        let shape: Vec<usize> = (0..choices.below(4)).map(|_| choices.below(200)).collect();
        self.code(b"(");
        if layout == "torch.wrapper_subclass" {
            self.global(choices, "__main__", "Mine");
        }
        self.global(choices, "torch", "float32");
        self.numbers(choices, &shape);
        self.numbers(choices, &shape);
        self.truth(choices, false);
        self.code(b"t");
        Tensor { layout: layout.into(), dtype: None, shape, view: None, around: 0 }
    }

    fn sparse(&mut self, choices: &mut Choices<'_>, around: usize) -> Tensor {
        let layouts =
            ["torch.sparse_coo", "torch.sparse_csr", "torch.sparse_csc", "torch.sparse_bsr", "torch.sparse_bsc"];
        let layout = choices.of(&layouts);
        self.global(choices, "torch._utils", "_rebuild_sparse_tensor");
        let is_marked = choices.one_in(3);
        if is_marked {
            self.code(b"(");
        }
        self.global(choices, "torch.serialization", "_get_layout");
        self.text(choices, layout);
        self.code(&[0x85, b'R']);
        self.put(choices);
        let shape: Vec<usize> = (0..2).map(|_| choices.below(200)).collect();
        let is_coo = layout == "torch.sparse_coo";
        self.code(b"(");
        for _ in 0..if is_coo { 2 } else { 3 } {
            self.tensor(choices, around + 1);
        }
        self.numbers(choices, &shape);
        if is_coo && choices.below(2) == 1 {
            self.truth(choices, true);
        }
        self.code(b"t");
        self.code(if is_marked { b"t" } else { &[0x86] });
        Tensor { layout: layout.into(), dtype: None, shape, view: None, around: 0 }
    }

    fn note(&mut self, place: Place<'_>, value: Value) {
        if let Some(path) = place {
            self.values.push((path.name.clone(), value));
        }
    }

    /// Writes something without items.
    fn leaf(&mut self, choices: &mut Choices<'_>, place: Place<'_>) {
        let is_tensor = self.style == Style::Usual && !choices.one_in(8);
        match if is_tensor { 0 } else { choices.below(20) } {
            10 => {
                self.code(b"N");
                self.note(place, Value::Null);
            }
            11 => {
                let value = choices.below(2) == 1;
                self.truth(choices, value);
                self.note(place, Value::Bool(value));
            }
            12 | 13 => {
                let number =
                    choices.of(&[7, -1, 0, 255, 256, -128, 1 << 31, i64::MIN.into(), u64::MAX.into(), 1 << 64]);
                self.integer(choices, number);
                if number <= u64::MAX.into() {
                    self.note(place, Value::Integer(number));
                }
            }
            14 => {
                self.code(b"G\xbf\xe0\0\0\0\0\0\0");
                self.note(place, Value::Float((-0.5_f64).to_bits()));
            }
            15 => {
                let text = choices.of(&["a value", "", "weight", "cpu", "torch", "gr\u{fc}n"]);
                self.text(choices, text);
                self.note(place, Value::Text(text.into()));
            }
            16 if self.style != Style::Old => {
                match choices.below(4) {
                    0 => self.code(b"C\x03a.u"),
                    1 => self.code(b"B\x03\0\0\0a.u"),
                    2 => self.code(b"\x8e\x03\0\0\0\0\0\0\0a.u"),
                    _ => {
                        self.code(b"\x96\x03\0\0\0\0\0\0\0a.u");
                        self.put(choices);
                        return;
                    }
                }
                self.put(choices);
                self.note(place, Value::Bytes(b"a.u".to_vec()));
            }
            17 => {
                self.global(choices, "torch", "float16");
                self.note(place, Value::Text("torch.float16".into()));
            }
            18 if !self.storages.is_empty() => self.persistent_id(choices, 0),
            19 => self.global(choices, "__main__", "Net"),
            _ => {
                let tensor = self.tensor(choices, 0);
                if let Some(path) = place {
                    self.tensors.push((path.name.clone(), tensor));
                }
            }
        }
    }

    fn put_container(&mut self, choices: &mut Choices<'_>) {
        if let Some(index) = self.put(choices) {
            self.containers.push(index);
        }
    }

    /// Writes a key. Returns what it adds to a path; `None` if what it leads to is not listed.
    fn key(&mut self, choices: &mut Choices<'_>, number: usize) -> Option<String> {
        match if self.style == Style::Usual { 0 } else { choices.below(16) } {
            0..8 => {
                let key = choices.of(&["weight", "bias", "exp avg", "gr\u{fc}n", "_modules", ""]);
                let key = if choices.one_in(16) { key.into() } else { format!("{key}k{number}") };
                self.text(choices, &key);
                return Some(key);
            }
            8..11 => {
                let key = number as i128 + choices.of(&[0, 0, 70_000, -9]);
                self.integer(choices, key);
                return Some(key.to_string());
            }
            11 => {
                let key = choices.of(&["a.b", "a", "b", "", "0", "1"]);
                self.text(choices, key);
                return Some(key.into());
            }
            12 => self.truth(choices, true),
            13 => self.code(b"N"),
            14 => self.code(b"K\x05\x85"),
            _ => self.code(b"G\x3f\xf0\0\0\0\0\0\0"),
        }
        None
    }

    /// Writes the items of the mapping on the stack.
    fn items(&mut self, choices: &mut Choices<'_>, place: Place<'_>, depth: usize, is_state: bool) {
        let mut number = 0;
        for _ in 0..choices.of(&[1, 1, 0, 2]) {
            // Without a mark, each item is set alone.
            let is_marked = choices.below(3) < 2 || self.style == Style::Usual;
            let count = choices.below(4);
            if is_marked {
                self.code(b"(");
            }
            for _ in 0..count {
                let word = choices.of(&["_parameters", "_buffers", "_modules"]);
                if is_state && choices.below(2) == 0 {
                    self.text(choices, word);
                    if choices.one_in(8) {
                        self.value(choices, place, depth + 1);
                    } else {
                        self.mapping(choices, place, depth + 1);
                    }
                } else {
                    let key = self.key(choices, number);
                    let is_nothing =
                        is_state && ["_parameters", "_buffers", "_modules"].map(Some).contains(&key.as_deref());
                    let inner = place.zip(key).map(|(path, key)| path.inside(&key));
                    self.value(choices, if is_nothing { place } else { inner.as_ref() }, depth + 1);
                }
                number += 1;
                if !is_marked {
                    self.code(b"s");
                }
            }
            if is_marked {
                self.code(b"u");
            }
        }
    }

    /// Writes a dictionary.
    fn mapping(&mut self, choices: &mut Choices<'_>, place: Place<'_>, depth: usize) {
        match choices.below(6) {
            3 => {
                self.global(choices, "collections", "OrderedDict");
                self.code(b")R");
            }
            4 => {
                self.global(choices, "collections", "defaultdict");
                self.global(choices, "__builtin__", "list");
                self.code(&[0x85]);
                self.put(choices);
                self.code(b"R");
            }
            5 => return self.pairs(choices, place, depth),
            _ => self.code(b"}"),
        }
        self.put_container(choices);
        self.items(choices, place, depth, false);
    }

    /// Writes an `OrderedDict` as Python 2 does: with a list of lists of a key and a value.
    fn pairs(&mut self, choices: &mut Choices<'_>, place: Place<'_>, depth: usize) {
        self.global(choices, "collections", "OrderedDict");
        self.code(b"]");
        self.put(choices);
        let is_marked = choices.below(2) == 0;
        if is_marked {
            self.code(b"(");
        }
        for number in 0..choices.below(3) {
            self.code(b"]");
            self.put(choices);
            self.code(b"(");
            let key = self.key(choices, number);
            let inner = place.zip(key).map(|(path, key)| path.inside(&key));
            self.value(choices, inner.as_ref(), depth + 2);
            self.code(b"e");
            if !is_marked {
                self.code(b"a");
            }
        }
        if is_marked {
            self.code(b"e");
        }
        self.code(&[0x85]);
        self.put(choices);
        self.code(b"R");
        self.put_container(choices);
    }

    /// Writes a list or a tuple.
    fn sequence(&mut self, choices: &mut Choices<'_>, place: Place<'_>, depth: usize) {
        let count = choices.below(4);
        let inside = |place: Place<'_>, number: usize| place.map(|path| path.inside(&number.to_string()));
        match choices.below(3) {
            0 => {
                self.code(b"]");
                self.put_container(choices);
                let mut next = 0;
                for _ in 0..choices.of(&[1, 1, 0, 2]) {
                    let is_marked = choices.below(2) == 0;
                    if is_marked {
                        self.code(b"(");
                    }
                    for _ in 0..count {
                        self.value(choices, inside(place, next).as_ref(), depth + 1);
                        next += 1;
                        if !is_marked {
                            self.code(b"a");
                        }
                    }
                    if is_marked {
                        self.code(b"e");
                    }
                }
            }
            1 => {
                self.code(b"(");
                (0..count).for_each(|number| self.value(choices, inside(place, number).as_ref(), depth + 1));
                self.code(b"t");
                self.put_container(choices);
            }
            _ => {
                // Only few of these may be in each other.
                let count = count.max(1);
                (0..count).for_each(|number| self.value(choices, inside(place, number).as_ref(), depth + 4));
                self.code(&[0x84 + count as u8]);
                self.put_container(choices);
            }
        }
    }

    /// Writes an object of a class or of a function, which has a state.
    fn object(&mut self, choices: &mut Choices<'_>, place: Place<'_>, depth: usize) {
        self.global(choices, "__main__", "Net");
        match choices.below(4) {
            0 | 1 => self.code(b")"),
            2 => {
                self.value(choices, None, depth + 1);
                self.code(&[0x85]);
            }
            _ => {
                self.code(b"(");
                (0..choices.below(4)).for_each(|_| self.value(choices, None, depth + 1));
                self.code(b"t");
            }
        }
        match choices.below(3) {
            0 => self.code(&[0x81]),
            1 => self.code(b"R"),
            _ => self.code(&[b'}', 0x92]),
        }
        self.put_container(choices);
        match choices.below(6) {
            4 => {} // no state
            5 => {
                self.sequence(choices, None, depth + 1);
                self.code(b"b");
            }
            _ => {
                self.code(b"}");
                self.put_container(choices);
                self.items(choices, place, depth, true);
                self.code(b"b");
            }
        }
    }

    /// Writes a call of TorchScript that returns its first argument.
    fn called(&mut self, choices: &mut Choices<'_>, place: Place<'_>, depth: usize) {
        let is_tag = choices.below(2) == 0;
        self.global(choices, "torch.jit._pickle", if is_tag { "restore_type_tag" } else { "build_tensorlist" });
        let is_marked = choices.one_in(3);
        if is_marked {
            self.code(b"(");
        }
        self.value(choices, place, depth + 4);
        if is_tag {
            self.text(choices, "Dict[str, Tensor]");
        }
        match (is_marked, is_tag) {
            (true, _) => self.code(b"t"),
            (_, true) => self.code(&[0x86]),
            (_, false) => self.code(&[0x85]),
        }
        self.put(choices);
        self.code(b"R");
        self.put_container(choices);
    }

    fn value(&mut self, choices: &mut Choices<'_>, place: Place<'_>, depth: usize) {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 || depth > 12 {
            return self.leaf(choices, place);
        }
        let kind = match self.style {
            Style::Usual if depth > 0 => choices.of(&[14, 14, 0, 5]),
            Style::Usual => 0,
            _ => choices.below(16),
        };
        match kind {
            0..5 => self.mapping(choices, place, depth),
            5 | 6 => self.sequence(choices, place, depth),
            7 | 8 => self.object(choices, place, depth),
            9 => self.called(choices, place, depth),
            10 => {
                // An `OrderedDict` with attributes, which are not listed.
                self.global(choices, "collections", "OrderedDict");
                self.code(b")R");
                self.put_container(choices);
                self.items(choices, place, depth, false);
                self.code(b"}");
                self.items(choices, None, depth, false);
                self.code(b"b");
            }
            11 => {
                // A set or a frozen set, of what can be a key.
                let is_frozen = choices.below(2) == 0;
                self.code(if is_frozen { b"(" } else { b"\x8f(" });
                for _ in 0..choices.below(3) {
                    self.key(choices, 0);
                }
                self.code(if is_frozen { &[0x91] } else { &[0x90] });
                self.put_container(choices);
            }
            12 if !self.containers.is_empty() => {
                // A container once more, perhaps one that this object is in.
                let index = choices.of(&self.containers);
                self.get(choices, index);
            }
            13 => {
                self.global(choices, "torch", "Size");
                let count = choices.below(4).max(1);
                for number in 0..count {
                    let inner = place.map(|path| path.inside(&number.to_string()));
                    self.integer(choices, 3);
                    self.note(inner.as_ref(), Value::Integer(3));
                }
                self.code(&[0x84 + count.min(3) as u8, 0x85, b'R']);
                self.put_container(choices);
            }
            _ => self.leaf(choices, place),
        }
    }
}
