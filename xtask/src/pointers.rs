//! Prepares the sources of the C ABI for cbindgen.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// Copies src/capi for cbindgen. In the copy, macros that define functions are expanded, and arguments of the types of
/// pointer.rs are replaced by plain pointers and lengths. cbindgen cannot omit the name of a `repr(transparent)` type:
/// C would get a typedef for each, although a `const tenslice_file *` says more.
pub fn with_pointers(root: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let sources = root.join("src/capi");
    let definitions = fs::read_to_string(sources.join("pointer.rs"))?;
    let arguments = Argument::all(&definitions)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let copy = target.join("header");
    fs::create_dir_all(&copy)?;
    for entry in fs::read_dir(sources)? {
        let path = entry?.path();
        let text = fs::read_to_string(&path)?;
        let text = written_out(&text).ok_or(format!("not `exported!` as it is written: {}", path.display()))?;
        let text = arguments.iter().fold(text, |text, argument| argument.resolve(&text));
        fs::write(copy.join(path.file_name().ok_or("no name")?), text)?;
    }
    Ok(copy)
}

/// Appends to a source the functions that its macro `exported!` defines: the body of the macro for each row, with each
/// macro variable replaced by the row's value, in comments, too.
fn written_out(source: &str) -> Option<String> {
    let Some((_, definition)) = source.split_once("macro_rules! exported {\n    ($(") else {
        return Some(source.to_owned());
    };
    let (pattern, definition) = definition.split_once(";)*) => { $(\n")?;
    let (body, _) = definition.split_once("\n    )* };\n")?;
    let (_, rows) = source.split_once("\nexported! {\n")?;
    let (rows, _) = rows.split_once("\n}\n")?;
    let names: Vec<&str> = pattern.split(", ").filter_map(|part| part.split(':').next()).collect();
    let mut out = source.to_owned();
    for row in rows.lines() {
        let values: Vec<&str> = row.trim().strip_suffix(';')?.split(", ").collect();
        if values.len() != names.len() {
            return None;
        }
        out += &names.iter().zip(values).fold(body.to_owned(), |body, (name, value)| body.replace(name, value));
        out += "\n\n";
    }
    Some(out)
}

/// A `repr(transparent)` argument type: `pub struct Handle<'a, H>(*const H, PhantomData<&'a H>);`
struct Argument<'a> {
    name: &'a str,
    /// The type parameter `H`, or an empty string.
    parameter: &'a str,
    /// The type it wraps: `*const H`.
    stands_for: &'a str,
}

impl<'a> Argument<'a> {
    /// Returns the argument types that a source defines.
    fn all(source: &'a str) -> Result<Vec<Self>, Box<dyn Error>> {
        let mut all = Vec::new();
        for (_, rest) in source.match_indices("#[repr(transparent)]\n").map(|(at, _)| source.split_at(at)) {
            let line = rest.lines().find(|line| !line.starts_with("#[")).unwrap_or_default();
            let parts = line.strip_prefix("pub struct ").and_then(|line| line.split_once('<'));
            let parts = parts.and_then(|(name, rest)| Some((name, rest.split_once(">(")?)));
            let (name, (parameters, fields)) = parts.ok_or(format!("not an argument as they are written: {line}"))?;
            let parameter = parameters.split_once(", ").map_or("", |(_, parameter)| parameter);
            let stands_for = fields.split(", PhantomData").next().unwrap_or_default();
            all.push(Self { name, parameter, stands_for });
        }
        Ok(all)
    }

    /// Replaces every `file: Handle<tenslice_file>` by `file: *const tenslice_file`.
    fn resolve(&self, text: &str) -> String {
        let pointer = self.stands_for.strip_suffix(self.parameter).unwrap_or_default();
        let mut text = text.to_owned();
        for end in [",", ")"] {
            text = text.replace(&format!(": {}{end}", self.name), &format!(": {}{end}", self.stands_for));
        }
        let begin = format!(": {}<", self.name);
        let mut parts = text.split(&begin);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for (of, rest) in parts.filter_map(|part| part.split_once('>')) {
            let of = of.split(", ").find(|of| !of.starts_with('\''));
            out += &match of.filter(|_| !self.parameter.is_empty()) {
                Some(of) => format!(": {pointer}{of}{rest}"),
                None => format!(": {}{rest}", self.stands_for),
            };
        }
        out
    }
}
