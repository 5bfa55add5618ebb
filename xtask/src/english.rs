//! The lint for plain English: no text begins with a word that hides what the text is about.
//!
//! A text is a paragraph of a comment or of a page, a heading, a list item, a table cell, or a string literal of several
//! words (messages and help).

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A text that begins with one of these describes something before it names it.
const WORDS: [&str; 9] = ["That", "Those", "Of", "Whether", "Which", "What", "How many", "Like", "As"];

/// Endings of the files that contain text for people, besides the Makefile and the scripts in `.ci`.
const ENDINGS: [&str; 14] =
    [".rs", ".md", ".c", ".h", ".hpp", ".cpp", ".mjs", ".py", ".sh", ".toml", ".yml", ".ld", ".txt", "Makefile"];
/// Exceptions: data, the names of mutants, which are code, the text of licences, and the words above.
const NO_TEXT: [&str; 4] = ["tests/fixtures/", "tests/mutants.txt", "LICENSE", "xtask/src/english.rs"];

/// Fails with a list of the texts that begin with one of [`WORDS`].
pub fn check(root: &Path) -> Result<(), Box<dyn Error>> {
    let output = Command::new("git").current_dir(root).args(["ls-files", "-z"]).output()?;
    if !output.status.success() {
        return Err("git ls-files failed: the lint reads the files that git knows".into());
    }
    let mut wrong = Vec::new();
    for name in String::from_utf8(output.stdout)?.split('\0') {
        let is_text = name.starts_with(".ci/") || ENDINGS.iter().any(|ending| name.ends_with(ending));
        if !is_text || NO_TEXT.iter().any(|start| name.starts_with(start)) {
            continue;
        }
        let Ok(content) = fs::read_to_string(root.join(name)) else { continue }; // deleted, but not yet from the index
        let texts = if name.ends_with(".md") { page(&content) } else { code(&content) };
        for (line, text) in texts {
            if begins_badly(text) {
                wrong.push(format!("{name}:{line}: {text}"));
            }
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!("{} texts do not say first what they are about:\n{}", wrong.len(), wrong.join("\n")).into())
}

fn begins_badly(text: &str) -> bool {
    let text = text.trim_start_matches(['*', '`', '_']);
    let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '\'');
    WORDS.iter().any(|word| text.strip_prefix(word).is_some_and(is_end))
}

/// The texts of a Markdown page without its code blocks, with the numbers of their lines.
fn page(content: &str) -> Vec<(usize, &str)> {
    let mut texts = Vec::new();
    let (mut is_code, mut is_inside) = (false, false);
    for (index, line) in content.lines().enumerate() {
        let line = line.trim();
        if line.starts_with("```") {
            (is_code, is_inside) = (!is_code, false);
        } else if is_code {
        } else if let Some(cells) = line.strip_prefix('|') {
            texts.extend(cells.split('|').map(|cell| (index + 1, cell.trim())));
        } else {
            texts.extend(paragraph(line, &mut is_inside).map(|text| (index + 1, text)));
        }
    }
    texts
}

/// Returns the text if a paragraph, a heading or a list item begins at this line.
fn paragraph<'a>(line: &'a str, is_inside: &mut bool) -> Option<&'a str> {
    let item = line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'));
    let item = item.or_else(|| ["- ", "* ", "> "].iter().find_map(|mark| line.strip_prefix(mark)));
    let item = item.or_else(|| line.split_once(". ").filter(|(n, _)| n.parse::<u8>().is_ok()).map(|(_, text)| text));
    let begins = item.is_some() || !*is_inside;
    *is_inside = !line.is_empty() && !line.starts_with('#');
    begins.then_some(item.unwrap_or(line).trim())
}

/// The texts of a source: paragraphs of comments, comments at the end of a line, and string literals of several words.
fn code(content: &str) -> Vec<(usize, &str)> {
    let mut texts = Vec::new();
    let mut is_inside = false;
    for (index, line) in content.lines().enumerate() {
        let trimmed = line.trim_start();
        let is_attribute = trimmed.starts_with("#[") || trimmed.starts_with("#![");
        let marks = ["///", "//!", "//", "/**<", "/**", "/*", "* ", "#", "*"];
        let comment = marks.iter().find_map(|mark| trimmed.strip_prefix(mark)).filter(|_| !is_attribute);
        if let Some(comment) = comment {
            texts.extend(paragraph(comment.trim(), &mut is_inside).map(|text| (index + 1, text)));
            continue;
        }
        is_inside = false;
        for mark in [" // ", " /* ", " /**< ", " ## ", " # "] {
            texts.extend(line.split_once(mark).map(|(_, text)| (index + 1, text.trim())));
        }
        let literals = line.split('"').skip(1).step_by(2).filter(|literal| literal.contains(' '));
        texts.extend(literals.map(|literal| (index + 1, literal)));
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(texts: Vec<(usize, &str)>) -> Vec<usize> {
        texts.into_iter().filter(|(_, text)| begins_badly(text)).map(|(line, _)| line).collect()
    }

    #[test]
    fn finds_texts_of_pages() {
        let text =
            "# What is it\n\nOf the two, one.\nWhich is in the middle.\n\n- That of\n1. Whether\n\n| Like | Ofen |\n";
        assert_eq!(wrong(page(text)), [1, 3, 6, 7, 9]);
        assert_eq!(wrong(page("```\nWhat\n```\n\nAs it is")), [5]);
    }

    #[test]
    fn finds_texts_of_sources() {
        let text = "/// How many\n/// As it is.\n///\n/// Those of\nfn a() { b(\"What is it\") } // Which\n\"That\"\n#[What]\n";
        assert_eq!(wrong(code(text)), [1, 4, 5, 5]);
    }
}
