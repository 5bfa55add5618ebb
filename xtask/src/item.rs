//! The declarations of the headers: each struct, function and typedef of src/capi, each list of codes, and each macro.

use std::error::Error;
use std::path::Path;

use crate::codes;
use crate::pointers::with_pointers;

/// The maximum length of a line in a header.
const WIDTH: usize = 120;

/// A declaration with its comment.
#[derive(Debug)]
pub struct Item {
    /// The name in include/contents.md: the name of a function, type or macro. For a list of codes, the common prefix
    /// of its codes, or the first code.
    pub name: String,
    /// The lines of the comment, without comment markers.
    pub comment: Vec<String>,
    /// The lines of the declaration.
    pub declaration: Vec<String>,
}

/// Returns all items, in no particular order.
pub fn all(root: &Path) -> Result<Vec<Item>, Box<dyn Error>> {
    let sources = with_pointers(root)?;
    let config = cbindgen::Config::from_file(root.join("include/cbindgen.toml"))?;
    let mut text = Vec::new();
    cbindgen::Builder::new().with_src(sources.join("mod.rs")).with_config(config).generate()?.write(&mut text);
    let text = String::from_utf8(text)?;
    let mut items = codes::all(root)?;
    for part in text.split("\n\n").map(str::trim).filter(|part| !part.is_empty()) {
        items.push(Item::from_cbindgen(part).ok_or(format!("not understood, from cbindgen:\n{part}"))?);
    }
    if let Some(item) = items.iter().find(|item| !item.name.to_lowercase().starts_with("tenslice_")) {
        return Err(format!("the header would declare what is not ours: {}", item.name).into());
    }
    if let Some(item) = items.iter().find(|item| item.comment.is_empty()) {
        return Err(format!("{} has no comment", item.name).into());
    }
    Ok(items)
}

impl Item {
    fn from_cbindgen(part: &str) -> Option<Self> {
        let (comment, declaration) = comment_of(part.lines())?;
        let first = declaration.first()?;
        let (name, declaration) = if let Some(fields) = first.strip_prefix("typedef struct {") {
            let last = declaration.last()?;
            let name = last.strip_prefix("} ")?.strip_suffix(';')?;
            let mut lines = vec![format!("typedef struct {{{fields}")];
            let mut rest = declaration.get(1..declaration.len() - 1)?;
            while !rest.is_empty() {
                let (comment, field) = comment_of(rest.iter().copied())?;
                let (field, others) = field.split_first()?;
                lines.extend(of_field(&comment.join(" "), field.trim()));
                rest = rest.get(rest.len() - others.len()..)?;
            }
            lines.push((*last).to_owned());
            (name, lines)
        } else {
            // A single line: a function, a function type, or another type.
            let [line] = declaration[..] else { return None };
            let name = match (line.split_once("(*"), line.split_once('(')) {
                (Some((_, rest)), _) => rest.split(')').next()?,
                (None, Some((before, _))) => before.rsplit([' ', '*']).next()?,
                (None, None) => line.strip_suffix(';')?.rsplit(' ').next()?,
            };
            (name, filled(line))
        };
        Some(Self { name: name.to_owned(), comment, declaration })
    }

    /// Returns the lines of the item in a header.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = match &in_comment(&self.comment)[..] {
            [line] if line.len() + "/* */".len() <= WIDTH => vec![format!("/**{} */", line.trim_start_matches(" *"))],
            inner => ["/**"]
                .into_iter()
                .chain(inner.iter().map(String::as_str))
                .chain([" */"])
                .map(str::to_owned)
                .collect(),
        };
        lines.extend(self.declaration.iter().cloned());
        lines
    }

    pub fn is_function(&self) -> bool {
        let others = ["#define ", "enum ", "typedef "];
        self.declaration.first().is_some_and(|line| !others.iter().any(|other| line.starts_with(other)))
    }
}

/// Splits lines into the comment at the front and the lines after it.
fn comment_of<'a>(lines: impl Iterator<Item = &'a str> + Clone) -> Option<(Vec<String>, Vec<&'a str>)> {
    let is_comment = |line: &&str| line.trim_start().starts_with(['/', '*']);
    let mut comment = Vec::new();
    for line in lines.clone().take_while(is_comment).map(str::trim) {
        match line {
            "/**" | "*/" => {}
            "*" => comment.push(String::new()),
            _ => comment.push(line.strip_prefix("* ")?.to_owned()),
        }
    }
    Some((comment, lines.skip_while(is_comment).collect()))
}

/// Formats text as lines of a comment, with paragraphs wrapped to the width of a header. Code stays as it is.
pub fn in_comment(text: &[impl AsRef<str>]) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut paragraph, mut others) = (Vec::new(), " * ");
    for line in text.iter().map(AsRef::as_ref).chain([""]) {
        let (is_code, is_item) = (line.starts_with("    "), line.starts_with("- "));
        if !paragraph.is_empty() && (line.is_empty() || is_code || is_item) {
            lines.extend(wrapped(paragraph.drain(..), " * ", others, " "));
        }
        if line.is_empty() || is_code {
            lines.push(format!(" * {line}").trim_end().to_owned());
            continue;
        }
        if paragraph.is_empty() {
            others = if is_item { " *   " } else { " * " };
        }
        paragraph.extend(line.split_whitespace());
    }
    lines.pop();
    lines
}

/// Formats a field of a struct or a member of an enumeration, with its comment behind it if that fits, else above it.
pub fn of_field(comment: &str, field: &str) -> Vec<String> {
    let behind = format!("    {field} /**< {comment} */");
    if comment.is_empty() {
        vec![format!("    {field}")]
    } else if behind.len() <= WIDTH {
        vec![behind]
    } else if comment.len() + "    /**  */".len() <= WIDTH {
        vec![format!("    /** {comment} */"), format!("    {field}")]
    } else {
        let mut lines = wrapped(comment.split(' '), "    /** ", "     *  ", " ");
        if let Some(last) = lines.last_mut() {
            *last += " */";
        }
        lines.push(format!("    {field}"));
        lines
    }
}

/// Formats the declaration of a function, in as many lines as it needs.
fn filled(line: &str) -> Vec<String> {
    if line.len() <= WIDTH { vec![line.to_owned()] } else { wrapped(line.split(", "), "", "    ", ", ") }
}

/// Wraps words to lines of at most `WIDTH`, with room for a few more characters.
fn wrapped<'a>(words: impl Iterator<Item = &'a str>, first: &str, others: &str, between: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut is_begun = false;
    for word in words {
        if is_begun && line.len() + between.len() + word.len() + 3 > WIDTH {
            lines.push(format!("{line}{between}").trim_end().to_owned());
            line = others.to_owned();
            is_begun = false;
        }
        if is_begun {
            line += between;
        }
        line += word;
        is_begun = true;
    }
    lines.push(line);
    lines
}
