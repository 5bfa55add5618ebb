//! Prints single values of the metadata, and the tokens of a vocabulary.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::{Value as Json, json};
use tenslice::Value;

use super::details::{line, printable_line};
use super::enumerations;
use super::failure::Failure;
use super::model::Model;
use super::names::near;
use super::pattern::Pattern;
use super::summary::attributes;
use super::table::{Fit, Look, NOTHING, print};
use super::text::printable;

/// The key and the value of the metadata that a user asks for: by the whole key, by its end after a dot
/// (`chat_template` for `tokenizer.chat_template`), or by a pattern that only one key matches.
pub fn value_of<'m>(model: &Model<'m>, wanted: &str) -> Result<(String, Value<'m>), Failure> {
    let all = || attributes(model).flatten().filter_map(|one| Some((line(&one.key?), one.value)));
    if let Some(found) = all().find(|(key, _)| key == wanted) {
        return Ok(found);
    }
    let ending = format!(".{wanted}");
    let pattern = Pattern::parse(wanted).map_err(|why| Failure::new("InvalidArgument", why))?;
    let is_pattern = !matches!(pattern, Pattern::Part(_));
    let is_it = |key: &str| key.ends_with(&ending) || is_pattern && pattern.matches(key);
    let mut found: Vec<_> = all().filter(|(key, _)| is_it(key)).collect();
    match found.len() {
        1 => found.pop().ok_or_else(|| unknown(wanted, &[])),
        0 => Err(unknown(wanted, &near(wanted, all().map(|(key, _)| key)))),
        _ => {
            let keys: Vec<String> = found.iter().map(|(key, _)| printable(key)).collect();
            let message = format!("several keys of the metadata match: name one of {}", keys.join(", "));
            Err(Failure::new("NotFound", message))
        }
    }
}

fn unknown(wanted: &str, near: &[String]) -> Failure {
    let near: Vec<String> = near.iter().map(|key| printable(key)).collect();
    let hint = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) };
    Failure::new("NotFound", format!("the metadata has no key \"{}\"{hint}", printable(wanted)))
}

/// Prints a value as it is: a text with all of its characters, or one item of a list a line. On a terminal, control
/// characters other than line breaks and tabs are escaped.
pub fn print_value(out: &mut impl Write, is_terminal: bool, value: &Value<'_>) -> io::Result<()> {
    match value {
        Value::Text(text) if is_terminal => {
            text.to_string().split('\n').try_for_each(|text| writeln!(out, "{}", printable_line(text)))
        }
        Value::Text(text) => writeln!(out, "{text}"),
        Value::Bytes(bytes) if !is_terminal => out.write_all(bytes),
        value => match value.items() {
            Some(mut items) => items.try_for_each(|item| print_value(out, is_terminal, &item.value)),
            None => writeln!(out, "{}", line(value)),
        },
    }
}

/// A token of a vocabulary.
struct Token {
    number: usize,
    text: String,
    kind: Option<u64>,
    score: Option<f64>,
}

/// The tokens that match a pattern. Fails if the file has no vocabulary.
fn tokens(model: &Model<'_>, pattern: &Pattern) -> Result<Vec<Token>, Failure> {
    const TOKENS: &str = "tokenizer.ggml.tokens";
    let list = |key: &str| attributes(model).find_map(|all| all.get_list(key));
    let all = list(TOKENS).ok_or_else(|| {
        Failure::new("NotFound", format!("the metadata has no vocabulary: no list {TOKENS}, as GGUF files have it"))
    })?;
    let matching = all.enumerate().map(|(number, token)| (number, raw(&token.value)));
    let mut found: Vec<Token> = matching
        .filter(|(_, text)| pattern.matches(text))
        .map(|(number, text)| Token { number, text, kind: None, score: None })
        .collect();
    let places: HashMap<usize, usize> = found.iter().enumerate().map(|(i, token)| (token.number, i)).collect();
    for (number, kind) in list("tokenizer.ggml.token_type").into_iter().flatten().enumerate() {
        if let Some(i) = places.get(&number) {
            found[*i].kind = kind.value.as_u64();
        }
    }
    for (number, score) in list("tokenizer.ggml.scores").into_iter().flatten().enumerate() {
        if let Some(i) = places.get(&number) {
            found[*i].score = score.value.as_f64();
        }
    }
    Ok(found)
}

/// The text of a token, whose bytes may not be UTF-8.
fn raw(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => text.to_string(),
        other => line(other),
    }
}

/// The name of a token's kind.
fn kind(token: &Token) -> Option<String> {
    let number = token.kind?;
    Some(enumerations::name("tokenizer.ggml.token_type", number).map_or_else(|| number.to_string(), String::from))
}

/// Prints the tokens that match.
pub fn print_tokens(out: &mut impl Write, look: Look, model: &Model<'_>, pattern: &Pattern) -> Result<(), Failure> {
    let cell = |text: Option<String>| text.unwrap_or_else(|| NOTHING.into());
    let of_one = |token: &Token| {
        let score = token.score.map(|score| (score as f32).to_string());
        // Quotation marks show spaces at the ends.
        [token.number.to_string(), cell(kind(token)), cell(score), format!("\"{}\"", printable(&token.text))]
    };
    let rows: Vec<_> = tokens(model, pattern)?.iter().map(of_one).collect();
    let titles = [("token", Fit::Whole), ("kind", Fit::LeftOut(1)), ("score", Fit::LeftOut(2)), ("text", Fit::Cut)];
    if rows.is_empty() {
        return Ok(writeln!(out, "  no token matches")?);
    }
    Ok(print(out, look, &titles, &rows)?)
}

/// The records of the tokens that match.
pub fn of_tokens(model: &Model<'_>, pattern: &Pattern) -> Result<Json, Failure> {
    let of_one =
        |token: &Token| json!({"token": token.number, "text": token.text, "kind": kind(token), "score": token.score});
    Ok(tokens(model, pattern)?.iter().map(of_one).collect())
}
