//! Everything that the library returns for a file, as text, within limits of time and memory.

use std::fmt::{Debug, Display, Write};

use tenslice::{
    Attributes, BuiltIn, Component, DType, Error, Expected, File, Index, Layout, Opened, Order, Purpose, ReadOptions,
    Source, Tensor, Value, Warnings,
};
use xxhash_rust::xxh3::xxh3_64;

/// The tensors of a file, the components of a tensor, and other items that are printed.
const MAX_ITEMS: usize = 64;
/// The bytes read or decoded with one call.
const MAX_READ: u64 = 64 << 10;
/// The bytes read, decoded and hashed for one file.
const MAX_WORK: u64 = 1 << 20;
/// The attributes of one file.
const MAX_ATTRIBUTES: usize = 2000;
/// The ranges that are requested while opening in parts.
const MAX_NEEDS: usize = 64;

/// Returns the text, and the outcome of opening: `opened` or `refused`.
pub fn text(bytes: &[u8]) -> (String, &'static str) {
    let mut dump = Dump { out: String::new(), bytes, work: MAX_WORK };
    let opened = File::open(bytes);
    let outcome = if opened.is_ok() { "opened" } else { "refused" };
    match opened {
        Ok(file) => dump.file(&file),
        Err(error) => dump.error("open", &error),
    }
    dump.in_parts();
    (dump.out, outcome)
}

struct Dump<'a> {
    out: String,
    bytes: &'a [u8],
    /// The bytes that may still be read, decoded or hashed.
    work: u64,
}

impl<'a> Dump<'a> {
    fn line(&mut self, label: &str, value: impl Display) {
        let _ = writeln!(self.out, "{label}: {value}");
    }

    fn error(&mut self, label: &str, error: &Error) {
        let explained = error.explain(self.bytes);
        let (kind, item) = (error.kind().name(), error.part());
        let _ = writeln!(
            self.out,
            "{label}: error {kind}, {}, {item}, offset {:?}, entry {:?}\n  {error}\n  {explained}",
            error.format(),
            error.offset(),
            error.entry(),
        );
    }

    /// Prints a result whose values have a short text.
    fn result<T: Debug>(&mut self, label: &str, result: Result<T, Error>) {
        match result {
            Ok(value) => self.line(label, format_args!("{value:?}")),
            Err(error) => self.error(label, &error),
        }
    }

    /// Prints a few bytes, or the length and a hash of more.
    fn data(&mut self, label: &str, result: Result<&[u8], Error>) {
        match result {
            Ok(bytes) if bytes.len() <= 128 => self.line(label, format_args!("{bytes:02x?}")),
            result => self.result(label, result.map(|bytes| (bytes.len(), xxh3_64(bytes)))),
        }
    }

    /// Prints numbers. Rust does not specify which bits the product of two NaNs has, so the bits of NaNs are not
    /// compared if the numbers are computed.
    fn numbers(&mut self, label: &str, layout: Layout, mut result: Result<&mut [u8], Error>) {
        if let (Layout::TensorTrain, Ok(bytes)) = (layout, &mut result) {
            for number in bytes.as_chunks_mut().0 {
                if f64::from_ne_bytes(*number).is_nan() {
                    *number = f64::NAN.to_ne_bytes();
                }
            }
        }
        self.data(label, result.map(|bytes| &*bytes));
    }

    /// Returns memory for `length` bytes, and counts them as work; `None` if that is too much.
    fn memory(&mut self, length: Option<u64>) -> Option<Vec<u8>> {
        let length = length.filter(|length| *length <= MAX_READ)?;
        self.work = self.work.checked_sub(length)?;
        Some(vec![0; length as usize])
    }

    /// Opens over a source that has only the requested ranges.
    fn in_parts(&mut self) {
        let mut source = Source::new(self.bytes.len() as u64);
        for _ in 0..MAX_NEEDS {
            let need = match File::open_source(&source) {
                Ok(Opened::File(file)) => {
                    let listed = (file.format(), file.warnings(), file.tensor_count());
                    return self.line("in parts", format_args!("{listed:?}"));
                }
                Ok(Opened::Need(need)) => need,
                Err(error) => return self.error("in parts", &error),
            };
            let start = need.extent.offset as usize;
            let range = self.bytes.get(start..start + need.extent.length as usize);
            let Some(range) = range else { return self.line("in parts", "a range outside of the file") };
            if let Err(error) = source.add(need.extent.offset, range) {
                return self.error("in parts", &error);
            }
        }
        self.line("in parts", "too many ranges");
    }

    fn warnings(&mut self, label: &str, warnings: Warnings) {
        let first = |warning| warnings.first_tensor(warning);
        let all: Vec<_> = warnings.iter().map(|warning| (warning, first(warning))).collect();
        self.line(label, format_args!("{all:?}"));
    }

    fn file(&mut self, file: &File<'a>) {
        let head = (file.format(), file.version(), file.length(), file.tensor_count());
        self.line("open", format_args!("{head:?}"));
        self.warnings("warnings", file.warnings());
        let mut left = MAX_ATTRIBUTES;
        self.attributes(file.attributes(), 0, &mut left);
        self.of_format(file);

        let mut tensors = file.tensors();
        let listed: Vec<_> = tensors.by_ref().take(MAX_ITEMS).collect();
        self.result("tensors", tensors.error().map_or(Ok(()), Err));
        for tensor in &listed {
            self.tensor(file, tensor, &mut left);
        }
        let names: Vec<String> = listed.iter().map(|tensor| tensor.name().to_string()).collect();
        self.look_up(file, &names);
        self.check(file);
    }

    fn look_up(&mut self, file: &File<'a>, names: &[String]) {
        let length = file.index_length();
        self.line("index length", format_args!("{length:?}"));
        let mut words = vec![0; length.unwrap_or(0)];
        if let Some((_, short)) = words.split_last_mut() {
            self.result("short index", file.index(short).map(drop));
        }
        let index = file.index(&mut words);
        self.result("index", index.as_ref().map(drop).map_err(|error| *error));
        let mut find = |name: &str| {
            self.found("find", file.find(name));
            if let Ok(index) = &index {
                self.indexed(index, name);
            }
        };
        for name in names {
            find(name);
            // Absent names, in most files.
            find(&format!("{name}x"));
            let mut shorter = name.chars();
            shorter.next_back();
            find(shorter.as_str());
        }
        for absent in ["", "x", "absent", "__metadata__", "\0", "ä", "a name that is longer than others\u{1f600}"] {
            find(absent);
        }
    }

    fn indexed(&mut self, index: &Index<'_, 'a>, name: &str) {
        self.found("index finds", index.find(name));
    }

    fn found(&mut self, label: &str, found: Result<Tensor<'a>, Error>) {
        let summary = found.map(|tensor| {
            let shape = xxh3_64(tensor.shape().to_string().as_bytes());
            (tensor.index(), tensor.dtype(), shape, tensor.components().map(|c| c.extent()).next())
        });
        self.result(label, summary);
    }

    fn check(&mut self, file: &File<'a>) {
        let has_shards = file.as_ztensor2().is_some_and(|file| file.shards().next().is_some());
        let length = file.check_length();
        if has_shards {
            // Chips look shards up without memory: docs/ztensor2.md.
            self.line("check length", "not compared, since there are shards");
        } else {
            self.line("check length", format_args!("{length:?}"));
        }
        let mut words = vec![0; length.unwrap_or(0)];
        if !has_shards {
            let half = words.len() / 2;
            for (label, memory) in [("check in half the memory", half), ("check without memory", 0)] {
                let remain = file.check(&mut words[..memory]);
                self.result(label, remain.map(|warnings| warnings.bits()));
            }
        }
        match file.check(&mut words) {
            Ok(warnings) => self.warnings("check", warnings),
            Err(error) => self.error("check", &error),
        }
    }

    fn attributes(&mut self, mut attributes: Attributes<'a>, depth: usize, left: &mut usize) {
        let _ = writeln!(self.out, "{:depth$}attributes {:?} {:?}", "", attributes.length(), attributes.extent());
        let mut keys = Vec::new();
        let all = attributes;
        for attribute in attributes.by_ref() {
            if *left == 0 {
                return;
            }
            *left -= 1;
            let key = attribute.key.map(|key| format!("{key:?}"));
            match attribute.value.items() {
                Some(items) => {
                    let kind = attribute.value.kind();
                    let _ = writeln!(self.out, "{:depth$}{key:?} = {kind}", "");
                    self.attributes(items, depth + 1, left);
                }
                None => {
                    let _ = writeln!(self.out, "{:depth$}{key:?} = {:?}", "", attribute.value);
                }
            }
            if let (Some(Value::Text(key)), true) = (attribute.key, keys.len() < 16) {
                keys.push(key.to_string());
            }
        }
        self.result("after the attributes", attributes.error().map_or(Ok(attributes.next().is_some()), Err));
        for key in keys {
            let value = all.get(&key).map(|value| (value.kind(), value.as_u64(), value.as_f64(), value.as_str()));
            self.line("attribute found", format_args!("{key:?}: {value:?}"));
            self.line("attribute found", format_args!("{:?}", all.get(&format!("{key}x")).map(|value| value.kind())));
        }
    }

    fn tensor(&mut self, file: &File<'a>, tensor: &Tensor<'a>, left: &mut usize) {
        let (name, shape) = (tensor.name(), tensor.shape());
        let _ = writeln!(
            self.out,
            "tensor {}: {name:?} {:?} {shape} {:?} {:?} {} {:?} {:?}",
            tensor.index(),
            tensor.dtype(),
            tensor.order(),
            tensor.layout(),
            tensor.layout_name(),
            tensor.stated_type(),
            tensor.block_type(),
        );
        self.line(
            "sizes",
            format_args!("{:?} {:?}", shape.element_count(), tensor.requirements(Purpose::Read).output),
        );
        self.warnings("tensor warnings", tensor.warnings());
        self.result("problem", tensor.problem().map_or(Ok(()), Err));
        self.attributes(tensor.attributes(), 1, left);
        let mut strides = [0; 32];
        self.result(
            "strides",
            tensor.strides(&mut strides).map(|strides| xxh3_64(format!("{strides:?}").as_bytes())),
        );

        let mut components = tensor.components();
        let listed: Vec<_> = components.by_ref().take(MAX_ITEMS).collect();
        self.result("components", components.error().map_or(Ok(()), Err));
        for component in &listed {
            self.component(component);
            let same = tensor.component(component.role());
            self.result("component by role", same.map(|component| (component.extent(), component.dtype())));
        }
        for role in ["", "data", "values", "indices", "indptr", "coords", "scales", "absent"] {
            self.result(role, tensor.component(role).map(|component| component.extent()));
        }
        self.result("data", tensor.data().map(|component| component.extent()));

        self.expect(file, tensor);
        if self.is_cheap(file, tensor) {
            self.read(tensor);
            self.verify(tensor, &listed);
        }
    }

    fn component(&mut self, component: &Component<'a>) {
        let _ = writeln!(
            self.out,
            "component {:?}: {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            component.role(),
            component.dtype(),
            component.storage_dtype(),
            component.byte_order(),
            component.extent(),
            component.encoding(),
            component.encoding_name(),
            component.decoded_length(),
            component.digest(),
            component.shard(),
        );
        self.line("abilities", format_args!("{:?}", component.caps()));
        // Hashing is what takes time.
        match component.stored() {
            Ok(stored) if stored.len() as u64 > MAX_READ => self.line("stored", stored.len()),
            stored => self.data("stored", stored),
        }
        self.result("bytes", component.bytes().map(<[u8]>::len));
        self.result("with a shard", component.with_shard(self.bytes).map(|component| component.extent()));
        if let Some(mut dst) = self.memory(component.decoded_length()) {
            self.data("decoded", component.read_into(&mut dst, ReadOptions::new()).map(|dst| &*dst));
        }
        if let Some(mut scratch) = self.memory(component.requirements(Purpose::ReadRange).scratch) {
            let mut dst = [0; 16];
            let read = component.read_range_into(0, &mut dst, ReadOptions::new().scratch(&mut scratch));
            self.data("first range", read.map(|()| &dst[..]));
            let middle = component.decoded_length().unwrap_or(0) / 32 * 16;
            let read = component.read_range_into(middle, &mut dst, ReadOptions::new().scratch(&mut scratch));
            self.data("middle range", read.map(|()| &dst[..]));
        }
    }

    fn expect(&mut self, file: &File<'a>, tensor: &Tensor<'a>) {
        let name = tensor.name().to_string();
        let shape: Vec<u64> = tensor.shape().iter().take(MAX_ITEMS).collect();
        let named = Expected::named(&name);
        let expected = [
            named,
            named.dtype(tensor.dtype().unwrap_or(DType::F32)).shape(&shape).order(tensor.order()),
            named.dtype(DType::F64).shape(&[2, 3]).order(Order::RowMajor),
        ];
        for expected in expected {
            match file.get(&expected) {
                Ok(component) => self.line("expected", format_args!("{:?}", component.extent())),
                Err(error) => {
                    self.error("expected", &error);
                    self.line("expected", expected.explain(file, error));
                }
            }
        }
    }

    /// Bounds the work of formats whose data can be far larger than the file.
    fn is_cheap(&self, file: &File<'a>, tensor: &Tensor<'a>) -> bool {
        if let Some(frame) = file.as_b2nd() {
            let stop: Vec<u64> = frame.shape().iter().collect();
            return frame.chunk_count() <= 1 << 12
                && frame.work_length(&vec![0; stop.len()], &stop).is_ok_and(|work| work <= MAX_WORK);
        }
        if file.as_blz().is_some() {
            let elements = tensor.shape().element_count().unwrap_or(u64::MAX);
            return elements.saturating_mul(self.bytes.len() as u64) <= 1 << 22;
        }
        true
    }

    fn read(&mut self, tensor: &Tensor<'a>) {
        let mut decoder = BuiltIn::default();
        if let Some(mut scratch) =
            tensor.requirements(Purpose::Describe).scratch.and_then(|length| self.memory(Some(length)))
        {
            let described = tensor.describe(ReadOptions::new().decoder(&mut decoder).scratch(&mut scratch));
            let described = described.map(|of| {
                let shape = of.shape.to_string();
                (
                    of.dtype,
                    shape,
                    of.order,
                    of.byte_order,
                    of.stated_type.map(<[u8]>::to_vec),
                    of.is_latin_1,
                    of.warnings,
                )
            });
            self.result("described", described);
        }
        let (length, scratch_length) =
            (tensor.requirements(Purpose::Read).output, tensor.requirements(Purpose::Read).scratch);
        self.line(
            "scratch length",
            format_args!("{scratch_length:?} {:?}", tensor.requirements(Purpose::ReadF32).scratch),
        );
        self.data("read without memory", tensor.read_into(&mut [], ReadOptions::new()).map(|dst| &*dst));
        // If the file does not state a length, any may be enough.
        let (dst, scratch) = (self.memory(length.or(Some(4096))), self.memory(scratch_length.or(Some(4096))));
        if let (Some(mut dst), Some(mut scratch)) = (dst, scratch) {
            self.numbers(
                "read",
                tensor.layout(),
                tensor.read_into(&mut dst, ReadOptions::new().scratch(&mut scratch)),
            );
            if let Some((_, short)) = dst.split_last_mut() {
                self.data(
                    "read with less memory",
                    tensor.read_into(short, ReadOptions::new().scratch(&mut scratch)).map(|dst| &*dst),
                );
            }
            self.sparse(tensor, &mut scratch);
        }
        let count = tensor.shape().element_count().filter(|count| *count <= MAX_READ / 4);
        let length = tensor.requirements(Purpose::ReadF32).scratch.or(Some(4096));
        if let (Some(count), Some(mut scratch)) = (count, self.memory(length)) {
            let mut dst = vec![0.0; count as usize];
            let read = tensor.read_f32_into(&mut dst, ReadOptions::new().scratch(&mut scratch));
            let is_computed = matches!(tensor.layout(), Layout::TensorTrain | Layout::Blocks | Layout::Microscaling);
            let bits = |x: &f32| if is_computed && x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
            let read = read.map(|dst| dst.iter().flat_map(|x| bits(x).to_le_bytes()).collect::<Vec<_>>());
            self.data("read as f32", read.as_deref().map_err(|error| *error));
            let some = dst.len().min(5);
            let read = tensor.read_f32_range(count - some as u64, &mut dst[..some]);
            self.result("last numbers", read.map(|()| dst[..some].iter().map(bits).collect::<Vec<_>>()));
        }
        self.result("numbers past the end", tensor.read_f32_range(count.unwrap_or(0), &mut [0.0; 2]));
    }

    fn sparse(&mut self, tensor: &Tensor<'a>, scratch: &mut [u8]) {
        let sparse = match tensor.sparse(ReadOptions::new().scratch(scratch)) {
            Ok(sparse) => sparse,
            Err(error) => return self.error("sparse", &error),
        };
        let head = (sparse.layout(), sparse.dtype(), sparse.byte_order(), sparse.stored());
        self.line("sparse", format_args!("{head:?}"));
        self.warnings("sparse warnings", sparse.warnings());
        for entry in sparse.iter().take(MAX_ITEMS) {
            let mut index = [0; 16];
            let index = entry.indices(&mut index).map(|index| &*index);
            self.line("entry", format_args!("{index:?} {:?} {:?}", entry.index(0), entry.bytes()));
            if let Some(index) = index {
                self.line("entry found", format_args!("{:?}", sparse.get(index)));
            }
        }
    }

    fn verify(&mut self, tensor: &Tensor<'a>, components: &[Component<'a>]) {
        let length =
            |component: &Component<'a>| component.decoded_length().unwrap_or(MAX_READ).max(component.extent().length);
        let work = components.iter().map(length).fold(0, u64::saturating_add);
        let Some(left) = self.work.checked_sub(work) else { return };
        if work > 4 * MAX_READ || components.len() == MAX_ITEMS {
            return;
        }
        self.work = left;
        let length = tensor.requirements(Purpose::Verify).scratch;
        self.line("verify length", format_args!("{length:?}"));
        let counts = |of: tenslice::Verified| (of.verified, of.without_digest, of.unknown_digest, of.warnings.bits());
        self.result("verified without memory", tensor.verify(ReadOptions::new()).map(counts));
        if let Some(mut scratch) = self.memory(length) {
            let verified = tensor.verify(ReadOptions::new().scratch(&mut scratch));
            self.result("verified", verified.map(counts));
        }
    }

    /// Prints what only one format has.
    fn of_format(&mut self, file: &File<'a>) {
        if let Some(file) = file.as_ztensor() {
            self.line("ztensor", format_args!("{:?} {:?}", file.generation(), file.manifest()));
        }
        if let Some(file) = file.as_ztensor2() {
            self.line("ztensor2", format_args!("{:?} {}", file.manifest(), file.is_shard()));
            let mut shards = file.shards();
            for shard in shards.by_ref().take(MAX_ITEMS) {
                self.line("shard", format_args!("{shard:?}"));
                self.result("shard checked", file.check_shard(shard.name, self.bytes));
            }
            self.result("shards", shards.error().map_or(Ok(()), Err));
            self.result("absent shard", file.check_shard("absent", self.bytes));
        }
        if let Some(file) = file.as_safetensors() {
            self.line("safetensors", format_args!("{:?} {:?}", file.header(), file.data()));
        }
        if let Some(file) = file.as_gguf() {
            let head = (file.byte_order(), file.alignment(), file.data_offset());
            self.line("gguf", format_args!("{head:?}"));
            let mut infos = file.infos();
            for info in infos.by_ref().take(MAX_ITEMS) {
                self.line("info", format_args!("{info:?}"));
            }
            self.result("infos", infos.error().map_or(Ok(()), Err));
        }
        if let Some(file) = file.as_npy() {
            self.line("npy", format_args!("{:?}", file.descr()));
        }
        if let Some(file) = file.as_npz() {
            let mut entries = file.entries();
            for entry in entries.by_ref().take(MAX_ITEMS) {
                self.line("entry", format_args!("{entry:?}"));
            }
            self.result("entries", entries.error().map_or(Ok(()), Err));
        }
        if let Some(file) = file.as_tens() {
            self.line("tens", file.version_number());
            for dimension in file.dimensions().take(MAX_ITEMS) {
                self.line("dimension", format_args!("{dimension:?}"));
            }
            for chunk in file.chunks().take(MAX_ITEMS) {
                self.line("chunk", format_args!("{chunk:?}"));
            }
        }
        if let Some(file) = file.as_blz() {
            self.blz(&file);
        }
        if let Some(frame) = file.as_b2nd() {
            self.b2nd(&frame);
        }
    }

    fn blz(&mut self, file: &tenslice::blz::BlzFile<'a>) {
        let bonds: Vec<u64> = file.bond_dimensions().take(MAX_ITEMS).collect();
        self.line("blz", format_args!("{:?} {bonds:?} {:?} {}", file.dtype(), file.extent(), file.parameters()));
        let train = match file.train() {
            Ok(train) => train,
            Err(error) => return self.error("train", &error),
        };
        // The cost of the inner product is that of the parameters times the largest bond.
        let largest = file.bond_dimensions().max().unwrap_or(0);
        if largest.saturating_mul(file.parameters()) > 1 << 20 {
            return;
        }
        let bits = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() };
        let scaled = |of: tenslice::blz::Scaled| (of.value().map(bits), of.parts.map(bits), of.exponent);
        if let Some(mut scratch) = self.memory(Some(train.element_scratch())) {
            self.result("sum", train.sum(&mut scratch).map(scaled));
            let index: Vec<u64> = file.cores().map(|_| 0).collect();
            self.result("element", train.element(&index, &mut scratch).map(|parts| parts.map(bits)));
        }
        if let Some(mut scratch) = self.memory(Some(train.inner_scratch(&train))) {
            self.result("norm", train.norm(&mut scratch).map(scaled));
        }
        // One row: all dimensions but the first are fixed.
        let fixed: Vec<_> = file.cores().enumerate().map(|(core, _)| (core > 0).then_some(0)).collect();
        let (dst, scratch) = (self.memory(train.slice_length(&fixed)), self.memory(Some(train.slice_scratch())));
        if let (Some(mut dst), Some(mut scratch)) = (dst, scratch) {
            self.numbers("slice", Layout::TensorTrain, train.slice(&fixed, &mut dst, &mut scratch));
        }
    }

    fn b2nd(&mut self, frame: &tenslice::b2nd::Frame<'a>) {
        let shapes = (frame.chunk_shape(), frame.block_shape(), frame.item_size(), frame.chunk_count());
        self.line("frame", format_args!("{} {shapes:?} {:?}", frame.is_array(), frame.dtype_text()));
        self.line("defaults", format_args!("{:?}", frame.defaults()));
        for metalayer in frame.metalayers().take(MAX_ITEMS) {
            self.line("metalayer", format_args!("{metalayer:?}"));
        }
        for metalayer in frame.variable_metalayers().take(MAX_ITEMS) {
            self.line("variable metalayer", format_args!("{metalayer:?}"));
            self.result(
                "its chunk",
                frame.variable_metalayer(&metalayer).map(|chunk| (chunk.extent(), chunk.codec())),
            );
        }
        let length = frame.table_scratch_length();
        self.result("table length", length);
        let Some(mut scratch) = length.ok().and_then(|length| self.memory(Some(length))) else { return };
        for index in (0..frame.chunk_count().saturating_add(1)).take(4) {
            let chunk = match frame.chunk(index, ReadOptions::new().scratch(&mut scratch)) {
                Ok(chunk) => chunk,
                Err(error) => {
                    self.error("chunk", &error);
                    continue;
                }
            };
            let head = (chunk.extent(), chunk.content(), chunk.decoded_length(), chunk.block_size());
            self.line(
                "chunk",
                format_args!("{head:?} {} {:?} {}", chunk.codec(), chunk.filters(), chunk.block_count()),
            );
            let dst = self.memory(Some(chunk.decoded_length()));
            let scratch = self.memory(Some(chunk.scratch_length()));
            if let (Some(mut dst), Some(mut scratch)) = (dst, scratch) {
                self.data(
                    "chunk read",
                    chunk.read_into(&mut dst, ReadOptions::new().scratch(&mut scratch)).map(|dst| &*dst),
                );
            }
        }
    }
}
