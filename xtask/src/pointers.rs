//! The sources of the C ABI as cbindgen can read them.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// A copy of src/capi for cbindgen, in which the functions of a macro are written out, and arguments of the types of
/// pointer.rs are the pointers and lengths that they are to C. cbindgen itself has no way to leave out the name of a
/// `repr(transparent)` type: C would get a typedef for each of them, where a `const tenslice_file *` says more.
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

/// A source with what its macro `exported!` makes: the body of the macro for each row, in which the names stand for what
/// is between the row's commas. In comments, too.
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

/// A `repr(transparent)` type of arguments: `pub struct Handle<'a, H>(*const H, PhantomData<&'a H>);`
struct Argument<'a> {
    name: &'a str,
    /// `H`, or nothing.
    parameter: &'a str,
    /// `*const H`
    stands_for: &'a str,
}

impl<'a> Argument<'a> {
    /// Those that a source defines.
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

    /// `file: Handle<tenslice_file>` as `file: *const tenslice_file`, wherever it stands.
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
