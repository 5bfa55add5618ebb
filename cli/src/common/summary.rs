//! The summary of a model: its size, its types, its quantization, its checksums, and what is missing.

use std::collections::HashMap;

use serde_json::{Value as Json, json};
use tenslice::{Attributes, Encoding, Format, Value};

use super::checkpoint::{code, unknown_globals};
use super::columns::{digest_kind, elements, type_name};
use super::details::line;
use super::enumerations;
use super::model::Model;
use super::part::Part;
use super::reading::stored;
use super::text::{count, plural, printable, shortened, size};

/// The summary of a model.
pub struct Summary {
    pub tensors: u64,
    /// The number of elements of all tensors of numbers whose shape is known, and of their stored bytes; `None` if it is
    /// beyond 64 bits.
    pub elements: Option<u64>,
    of_numbers: u64,
    /// The number of stored bytes.
    pub stored: u64,
    /// The numbers of tensors and of stored bytes in the whole model, if it states more of them than there are.
    whole: (Option<u64>, Option<u64>),
    /// The number of open files, and their total length in bytes.
    files: (u64, u64),
    /// The types of the elements, the most frequent first.
    types: Vec<Type>,
    architecture: Option<String>,
    name: Option<String>,
    quantization: Vec<String>,
    /// The numbers of checksums, by kind.
    checksums: Vec<(String, u64)>,
    missing_files: u64,
    other_problems: u64,
    /// The part of a model that the only file is.
    part: Option<Part>,
    /// The unknown names of code in the checkpoints of PyTorch; `None` if no file is one.
    unknown_globals: Option<Vec<String>>,
    /// The noun for elements.
    noun: &'static str,
}

/// The tensors of one type.
struct Type {
    name: String,
    tensors: u64,
    elements: u64,
    bytes: u64,
}

/// Keys for the architecture and the name of a model, as GGUF, the model specification of Stability AI, trainers of
/// adapters and others write them.
const ARCHITECTURE: [&str; 4] =
    ["general.architecture", "modelspec.architecture", "ss_base_model_version", "architecture"];
const NAME: [&str; 5] = ["general.name", "general.basename", "modelspec.title", "ss_output_name", "name"];

/// The layouts of texts and of other bytes that are no numbers.
const NO_NUMBERS: [&str; 3] = ["onnx.string", "tflite.string", "ptd.blob"];

/// Endings of tensor names that quantizers of PyTorch models write, and what they mean.
const QUANTIZERS: [(&str, &str); 8] = [
    (".quant_state.bitsandbytes__nf4", "bitsandbytes NF4"),
    (".quant_state.bitsandbytes__fp4", "bitsandbytes FP4"),
    (".SCB", "bitsandbytes LLM.int8"),
    (".qweight", "GPTQ or AWQ, several weights in each i32 (.qweight)"),
    (".weight_packed", "compressed-tensors, several weights in each element (.weight_packed)"),
    (".weight_scale_inv", "FP8 in blocks (.weight_scale_inv)"),
    (".weight_scale", "scales per tensor or per channel (.weight_scale)"),
    (".absmax", "bitsandbytes, 8 or 4 bits (.absmax)"),
];

impl Summary {
    pub fn of(model: &Model<'_>) -> Self {
        let mut types: HashMap<String, Type> = HashMap::new();
        let (mut all, mut bytes, mut of_numbers, mut tensors) = (Some(0_u64), 0_u64, 0_u64, 0);
        let mut quantizers = [false; QUANTIZERS.len()];
        let mut checksums: HashMap<String, u64> = HashMap::new();
        for (opened, tensor) in model.tensors() {
            let name = tensor.name().to_string();
            let are_numbers = !NO_NUMBERS.contains(&tensor.layout_name());
            let elements = if are_numbers { elements(opened, &tensor) } else { Some(0) };
            let stored = stored(&tensor);
            let type_name = type_name(opened, &tensor);
            let of_type = types.entry(type_name).or_insert_with_key(|name| Type {
                name: name.clone(),
                tensors: 0,
                elements: 0,
                bytes: 0,
            });
            of_type.tensors += 1;
            of_type.elements = of_type.elements.saturating_add(elements.unwrap_or(0));
            of_type.bytes = of_type.bytes.saturating_add(stored);
            tensors += 1;
            // A shape is unknown if the tensor is damaged, or its header is compressed.
            let is_beyond = elements.is_none() && opened.array(&tensor).is_some();
            all = all.filter(|_| !is_beyond).and_then(|all| all.checked_add(elements.unwrap_or(0)));
            bytes = bytes.saturating_add(stored);
            of_numbers = of_numbers.saturating_add(if are_numbers { stored } else { 0 });
            for component in tensor.components() {
                // The entries of archives have a CRC-32 instead of a digest. Decoding a compressed entry verifies it.
                let is_archived = component.caps().verify || component.encoding() == Encoding::Deflate;
                let archived = is_archived.then_some("crc32");
                if let Some(kind) = component.digest().map(digest_kind).or(archived) {
                    *checksums.entry(printable(kind)).or_default() += 1;
                }
            }
            if let Some(i) = QUANTIZERS.iter().position(|(ending, _)| name.ends_with(ending)) {
                quantizers[i] = true;
            }
        }
        let mut types: Vec<Type> = types.into_values().collect();
        types.sort_by(|a, b| (b.elements, b.bytes).cmp(&(a.elements, a.bytes)).then_with(|| a.name.cmp(&b.name)));
        let mut checksums: Vec<_> = checksums.into_iter().collect();
        checksums.sort();
        let stated = stated(model);
        let (all_tensors, all_bytes) = model.stated();
        let all_tensors = all_tensors.filter(|all| *all > tensors);
        let missing = model.problems.iter().filter(|problem| problem.is_missing_file());
        let missing_files = missing.clone().map(|problem| problem.missing_files).fold(0, u64::saturating_add);
        let other_problems = (model.problems.len() - missing.count()) as u64;
        let format = model.files.first().map(|opened| opened.file.format());
        Self {
            tensors,
            elements: all,
            of_numbers,
            stored: bytes,
            whole: (all_tensors, all_bytes.filter(|all| all_tensors.is_some() && *all > bytes)),
            files: model.file_lengths().fold((0, 0), |(count, sum), one| (count + 1, sum.saturating_add(one))),
            types,
            architecture: text(&stated, &ARCHITECTURE),
            name: text(&stated, &NAME),
            quantization: quantization(&stated, quantizers),
            checksums,
            missing_files,
            other_problems,
            part: Part::alone(model),
            unknown_globals: unknown_globals(model),
            noun: match format {
                Some(Format::Npy | Format::Npz | Format::Tens | Format::Blz | Format::B2nd) => "element",
                _ => "parameter",
            },
        }
    }

    /// The size in a few words: tensors, parameters, stored bytes, and the size of the files if it differs.
    pub fn headline(&self) -> String {
        let noun = self.noun;
        let (all_tensors, all_bytes) = self.whole;
        let tensors = match all_tensors {
            Some(all) => format!("{} of {all} tensor{}", self.tensors, plural(all)),
            None => format!("{} tensor{}", self.tensors, plural(self.tensors)),
        };
        let elements = match self.elements {
            Some(all) => format!("{} {noun}{}", count(all), plural(all)),
            None => format!("2^64 {noun}s or more"),
        };
        let (stored, (count, length)) = (size(self.stored), self.files);
        let all = all_bytes.map(|all| format!(" of {}", size(all))).unwrap_or_default();
        let files = Some(size(length)).filter(|length| *length != stored);
        let files = files.map(|length| format!(", file{} {length}", plural(count))).unwrap_or_default();
        format!("{tensors}, {elements}, {stored}{all} stored{files}")
    }

    /// The lines of the summary: a label and a text.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = vec![("complete", self.completeness())];
        let quoted = |text: &String| format!("\"{text}\"");
        let stated: Vec<String> = self.architecture.iter().cloned().chain(self.name.as_ref().map(quoted)).collect();
        if !stated.is_empty() {
            lines.push(("model", stated.join(", ")));
        }
        if let Some(all) = self.elements.filter(|all| *all > 0) {
            let bits = self.bits().map(|bits| format!(", {bits:.2} bits each")).unwrap_or_default();
            let label = if self.noun == "element" { "elements" } else { "parameters" };
            lines.push((label, format!("{all}{bits}")));
        }
        if !self.types.is_empty() {
            lines.push(("dtypes", self.types.iter().map(|one| self.share(one)).collect::<Vec<_>>().join(", ")));
        }
        if !self.quantization.is_empty() {
            lines.push(("quantization", self.quantization.join("; ")));
        }
        lines.push(("checksums", self.checksums()));
        lines.extend(self.unknown_globals.as_deref().map(|names| ("code", code(names))));
        lines
    }

    fn completeness(&self) -> String {
        let mut parts = Vec::new();
        for (count, what) in [(self.missing_files, "missing file"), (self.other_problems, "problem")] {
            if count > 0 {
                parts.push(format!("{count} {what}{}", plural(count)));
            }
        }
        match &self.part {
            _ if !parts.is_empty() => format!("NO: {}", parts.join(", ")),
            Some(part) => part.completeness(),
            None => "yes".into(),
        }
    }

    /// True if the model is complete; `None` if that is unknown.
    fn is_complete(&self) -> Option<bool> {
        let has_problems = self.missing_files + self.other_problems > 0;
        match &self.part {
            Some(part) if !has_problems => part.is_complete(),
            _ => Some(!has_problems),
        }
    }

    fn share(&self, one: &Type) -> String {
        let share = self.elements.filter(|all| *all > 0 && self.types.len() > 1);
        let share = share.map(|all| format!("{:.1} %, ", 100.0 * one.elements as f64 / all as f64));
        format!("{} ({}{} tensor{})", one.name, share.unwrap_or_default(), one.tensors, plural(one.tensors))
    }

    fn checksums(&self) -> String {
        let total: u64 = self.checksums.iter().map(|(_, count)| count).sum();
        let kinds: Vec<String> = self.checksums.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        if total == 0 { "none: nothing to verify".into() } else { format!("{} (see verify)", kinds.join(", ")) }
    }

    /// The stored bits of an element, on average.
    fn bits(&self) -> Option<f64> {
        self.elements.filter(|all| *all > 0).map(|all| self.of_numbers as f64 * 8.0 / all as f64)
    }

    pub fn record(&self) -> Json {
        let of_type = |one: &Type| json!({"dtype": one.name, "tensors": one.tensors, "elements": one.elements, "bytes": one.bytes});
        json!({
            "complete": self.is_complete(),
            "architecture": self.architecture,
            "name": self.name,
            "tensors": self.tensors,
            "stated_tensors": self.whole.0,
            "parameters": self.elements,
            "bytes": self.stored,
            "stated_bytes": self.whole.1,
            "file_bytes": self.files.1,
            "bits_per_parameter": self.bits(),
            "dtypes": self.types.iter().map(of_type).collect::<Vec<_>>(),
            "quantization": self.quantization,
            "unknown_globals": self.unknown_globals,
            "checksums": self.checksums.iter().map(|(kind, count)| json!({"kind": kind, "count": count}))
                .collect::<Vec<_>>(),
        })
    }
}

/// The attributes that describe the whole model: of its index, and of its first file.
pub fn attributes<'m>(model: &Model<'m>) -> impl Iterator<Item = Attributes<'m>> {
    let of_index = model.index.as_ref().map(|(index, _)| index.metadata());
    of_index.into_iter().chain(model.files.first().map(|opened| opened.file.attributes()))
}

/// The metadata of a model, by key. It is collected once: finding a key of a GGUF file that is not there
/// walks over the whole vocabulary.
type Stated<'m> = HashMap<String, Value<'m>>;

fn stated<'m>(model: &Model<'m>) -> Stated<'m> {
    let mut stated = HashMap::new();
    for attribute in attributes(model).flatten() {
        if let Some(key) = attribute.key {
            stated.entry(line(&key)).or_insert(attribute.value);
        }
    }
    stated
}

/// The first text with one of these keys.
fn text(stated: &Stated<'_>, keys: &[&str]) -> Option<String> {
    const LONGEST: usize = 60;
    let found = keys.iter().find_map(|key| stated.get(*key)?.as_text());
    found.map(|text| shortened(&printable(&text.to_string()), LONGEST)).filter(|text| !text.is_empty())
}

/// The quantization that the file states, and those that the names of tensors show.
fn quantization(stated: &Stated<'_>, quantizers: [bool; QUANTIZERS.len()]) -> Vec<String> {
    const KEY: &str = "general.file_type";
    let stated = stated
        .get(KEY)
        .and_then(Value::as_u64)
        .map(|number| enumerations::name(KEY, number).map_or_else(|| format!("{KEY} {number}"), String::from));
    let shown = QUANTIZERS.iter().zip(quantizers).filter(|(_, is_there)| *is_there).map(|((_, what), _)| *what);
    stated.into_iter().chain(shown.map(String::from)).collect()
}
