//! Writes GGUF files like llama.cpp does: the pairs and tensors of a Llama model, with its order and names.

/// The types of values in the pairs.
const U32: u32 = 4;
const I32: u32 = 5;
const F32: u32 = 6;
const BOOL: u32 = 7;
const STRING: u32 = 8;
const ARRAY: u32 = 9;

/// The pairs that describe a model.
const TEXTS: [(&str, &str); 9] = [
    ("general.architecture", "llama"),
    ("general.type", "model"),
    ("general.name", "Llama 2 7B Chat"),
    ("general.basename", "llama-2"),
    ("general.finetune", "chat"),
    ("general.size_label", "7B"),
    ("general.license", "llama2"),
    ("tokenizer.ggml.model", "llama"),
    ("tokenizer.ggml.pre", "default"),
];
const NUMBERS: [(&str, u32); 11] = [
    ("llama.block_count", 32),
    ("llama.context_length", 4096),
    ("llama.embedding_length", 4096),
    ("llama.feed_forward_length", 11008),
    ("llama.attention.head_count", 32),
    ("llama.attention.head_count_kv", 32),
    ("llama.rope.dimension_count", 128),
    ("general.file_type", 7),
    ("tokenizer.ggml.bos_token_id", 1),
    ("tokenizer.ggml.eos_token_id", 2),
    ("general.quantization_version", 2),
];

/// The tensors in a layer.
const PARTS: [&str; 9] =
    ["attn_norm", "ffn_down", "ffn_gate", "ffn_up", "ffn_norm", "attn_k", "attn_output", "attn_q", "attn_v"];

/// The names of `tensors` tensors.
pub fn names(tensors: usize) -> Vec<String> {
    let name = |i| match i {
        0 => "token_embd.weight".to_string(),
        i => format!("blk.{}.{}.weight", (i - 1) / PARTS.len(), PARTS[(i - 1) % PARTS.len()]),
    };
    (0..tensors).map(name).collect()
}

/// A file of tensors with these names, of 32 numbers each in Q8_0, and with a vocabulary of `tokens` tokens, unless
/// 0.
pub fn file(names: &[String], tokens: usize) -> Vec<u8> {
    let mut pairs = Pairs::default();
    for (key, text) in TEXTS {
        pairs.key(key, STRING).string(text);
    }
    for (key, number) in NUMBERS {
        pairs.key(key, U32).number(number);
    }
    pairs.key("llama.attention.layer_norm_rms_epsilon", F32).number(1e-6_f32.to_bits());
    pairs.key("tokenizer.ggml.add_bos_token", BOOL).bytes.push(1);
    if tokens > 0 {
        // Every other token begins a word, as in Llama.
        let token = |i: usize| format!("{}{}", ["", "\u{2581}"][i % 2], letters(i));
        pairs.array("tokenizer.ggml.tokens", STRING, tokens);
        (0..tokens).for_each(|i| pairs.string(&token(i)));
        pairs.array("tokenizer.ggml.scores", F32, tokens);
        (0..tokens).for_each(|i| pairs.number((-(i as f32)).to_bits()));
        pairs.array("tokenizer.ggml.token_type", I32, tokens);
        (0..tokens).for_each(|_| pairs.number(1));
        pairs.array("tokenizer.ggml.merges", STRING, tokens);
        (0..tokens).for_each(|i| pairs.string(&format!("{} {}", token(i), letters(i * 7))));
    }

    let mut file = b"GGUF".to_vec();
    file.extend(3_u32.to_le_bytes());
    file.extend((names.len() as u64).to_le_bytes());
    file.extend(pairs.count.to_le_bytes());
    file.extend(pairs.bytes);
    let mut infos = Pairs::default();
    for (i, name) in names.iter().enumerate() {
        infos.string(name);
        infos.number(2); // the rank
        infos.bytes.extend([32_u64, 1].map(u64::to_le_bytes).concat());
        infos.number(8); // Q8_0
        infos.bytes.extend((i as u64 * 64).to_le_bytes()); // 34 bytes, padded
    }
    file.extend(infos.bytes);
    file.resize(file.len().next_multiple_of(32) + names.len() * 64, 0);
    file
}

/// A word of three to eight letters, different for each number.
fn letters(i: usize) -> String {
    let count = 3 + i % 6;
    (0..count).map(|at| char::from(b'a' + (i / 6 / 26_usize.pow(at as u32) % 26) as u8)).collect()
}

/// Encoded pairs and their number.
#[derive(Default)]
struct Pairs {
    bytes: Vec<u8>,
    count: u64,
}

impl Pairs {
    fn number(&mut self, number: u32) {
        self.bytes.extend(number.to_le_bytes());
    }

    fn string(&mut self, text: &str) {
        self.bytes.extend((text.len() as u64).to_le_bytes());
        self.bytes.extend(text.as_bytes());
    }

    /// Begins a pair.
    fn key(&mut self, key: &str, kind: u32) -> &mut Self {
        self.count += 1;
        self.string(key);
        self.number(kind);
        self
    }

    /// Begins a pair whose value is an array.
    fn array(&mut self, key: &str, kind: u32, count: usize) {
        self.key(key, ARRAY).number(kind);
        self.bytes.extend((count as u64).to_le_bytes());
    }
}
