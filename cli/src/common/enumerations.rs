//! The names of numbers in the metadata of GGUF files, as llama.cpp defines them.

/// The type of most tensors, by number: `general.file_type`.
const FILE_TYPES: [&str; 41] = [
    "F32",
    "F16",
    "Q4_0",
    "Q4_1",
    "Q4_1_SOME_F16",
    "Q4_2",
    "Q4_3",
    "Q8_0",
    "Q5_0",
    "Q5_1",
    "Q2_K",
    "Q3_K_S",
    "Q3_K_M",
    "Q3_K_L",
    "Q4_K_S",
    "Q4_K_M",
    "Q5_K_S",
    "Q5_K_M",
    "Q6_K",
    "IQ2_XXS",
    "IQ2_XS",
    "Q2_K_S",
    "IQ3_XS",
    "IQ3_XXS",
    "IQ1_S",
    "IQ4_NL",
    "IQ3_S",
    "IQ3_M",
    "IQ2_S",
    "IQ2_M",
    "IQ4_XS",
    "IQ1_M",
    "BF16",
    "Q4_0_4_4",
    "Q4_0_4_8",
    "Q4_0_8_8",
    "TQ1_0",
    "TQ2_0",
    "MXFP4_MOE",
    "NVFP4",
    "Q1_0",
];

/// The kinds of tokens: `tokenizer.ggml.token_type`.
const TOKEN_TYPES: [&str; 7] = ["undefined", "normal", "unknown", "control", "user-defined", "unused", "byte"];

const POOLING_TYPES: [&str; 5] = ["none", "mean", "cls", "last", "rank"];

const GATING_FUNCTIONS: [&str; 3] = ["none", "softmax", "sigmoid"];

/// The name of a number; `None` if the key has no known numbers.
pub fn name(key: &str, number: u64) -> Option<&'static str> {
    let names: &[&str] = match key {
        "general.file_type" => &FILE_TYPES,
        "tokenizer.ggml.token_type" => &TOKEN_TYPES,
        _ if key.ends_with(".pooling_type") => &POOLING_TYPES,
        _ if key.ends_with(".expert_gating_func") => &GATING_FUNCTIONS,
        _ => return None,
    };
    names.get(usize::try_from(number).ok()?).copied()
}
