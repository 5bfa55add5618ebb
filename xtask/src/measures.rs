//! Counts what makes the sources hard to read, beside the goal for each number: lines, conditions, arithmetic by methods,
//! files that depend on each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::Path;

use syn::visit::{self, Visit};

/// Folders whose files should not depend on each other in a circle.
const FOLDERS: [&str; 3] = ["format/ztensor2", "format/safetensors", "capi"];

/// A source without its tests, its comments and its blank lines.
struct Source {
    /// The path below `src`.
    name: String,
    /// All lines of the file.
    length: usize,
    code: Vec<String>,
}

/// Prints the table of measures, then the circles.
pub fn check(root: &Path) -> Result<(), Box<dyn Error>> {
    let mut sources = Vec::new();
    read(&root.join("src"), &root.join("src"), &mut sources)?;
    let count = |what: &[&str], skip: fn(&str) -> bool| -> usize {
        let counted = sources.iter().filter(|source| !skip(&source.name)).flat_map(|source| &source.code);
        counted.map(|line| what.iter().map(|what| line.matches(what).count()).sum::<usize>()).sum()
    };
    let all = |_: &str| false;
    let of_bytes = |name: &str| name == "bytes/num.rs" || name.starts_with("codec/");
    let longest = sources.iter().max_by_key(|source| source.length).ok_or("no sources")?;
    println!("{:>7} {:>7}", "now", "goal");
    let row = |number, goal, what: &str| println!("{number:>7} {goal:>7}  {what}");
    row(sources.iter().map(|source| source.code.len()).sum(), 23_500, "lines of code in src");
    row(count(&["cfg_attr"], all), 60, "cfg_attr");
    row(count(&["target_pointer_width"], all), 20, "target_pointer_width");
    row(
        count(&["wrapping_", "saturating_"], of_bytes),
        300,
        "wrapping_ and saturating_ outside bytes/num.rs and codec",
    );
    row(count(&["(small", ", small)"], all), 60, "conditions on `small`: what differs on chips");
    row(longest.length, 600, &format!("lines of the longest file, {}", longest.name));
    for folder in FOLDERS {
        let circles = circles(&root.join("src").join(folder))?;
        row(circles.len(), 0, &format!("files of {folder} in circles: {}", circles.join(", ")));
    }
    Ok(())
}

fn read(root: &Path, folder: &Path, sources: &mut Vec<Source>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
        if path.is_dir() {
            read(root, &path, sources)?;
        } else if !name.ends_with("tests.rs") {
            let text = fs::read_to_string(&path)?;
            let tests =
                ["\n#[cfg(test)]\nmod ", "\n#[cfg(all(test, "].iter().filter_map(|start| text.find(start)).min();
            let code = text.get(..tests.unwrap_or(text.len())).unwrap_or_default();
            let lines = code.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
            let code = lines.map(str::to_owned).collect();
            sources.push(Source { name, length: text.lines().count(), code });
        }
    }
    Ok(())
}

/// The files of a folder that depend on each other in a circle, by the names of their modules.
fn circles(folder: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_file() && !name.ends_with("tests") {
            files.insert(name, syn::parse_file(&fs::read_to_string(path)?)?);
        }
    }
    let names: BTreeSet<String> = files.keys().cloned().collect();
    let mut reached: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (name, file) in &files {
        let mut uses = Uses { names: &names, is_parent: name == "mod", used: BTreeSet::new() };
        uses.visit_file(file);
        uses.used.remove(name);
        reached.insert(name, uses.used);
    }
    // Adds what is reached through others until nothing is added.
    loop {
        let before: usize = reached.values().map(BTreeSet::len).sum();
        for name in &names {
            let through = reached[&name[..]].iter().flat_map(|next| reached[&next[..]].iter().cloned()).collect();
            reached.entry(name).or_default().append(&mut { through });
        }
        if before == reached.values().map(BTreeSet::len).sum::<usize>() {
            break;
        }
    }
    Ok(names.iter().filter(|name| reached[&name[..]].contains(&name[..])).cloned().collect())
}

/// Collects the modules of a folder that a file uses.
struct Uses<'a> {
    names: &'a BTreeSet<String>,
    /// True for `mod.rs`, which names its modules without `super`.
    is_parent: bool,
    used: BTreeSet<String>,
}

impl Uses<'_> {
    fn add(&mut self, first: &str, next: Option<&str>) {
        if self.is_parent {
            let module = if first == "self" { next } else { Some(first) };
            self.used.extend(module.filter(|name| self.names.contains(*name)).map(str::to_owned));
        } else if first == "super" {
            let module = next.filter(|name| self.names.contains(*name)).unwrap_or("mod");
            self.used.insert(module.to_owned());
        }
    }

    fn tree(&mut self, first: &str, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => self.add(first, Some(&path.ident.to_string())),
            syn::UseTree::Name(name) => self.add(first, Some(&name.ident.to_string())),
            syn::UseTree::Rename(name) => self.add(first, Some(&name.ident.to_string())),
            syn::UseTree::Glob(_) => self.add(first, None),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(first, tree)),
        }
    }
}

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !item.attrs.iter().any(|attribute| attribute.path().is_ident("cfg") && is_test(attribute)) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if let syn::UseTree::Path(path) = &item.tree {
            self.tree(&path.ident.to_string(), &path.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let mut names = path.segments.iter().map(|segment| segment.ident.to_string());
        if let (Some(first), next) = (names.next(), names.next())
            && path.segments.len() > 1
        {
            self.add(&first, next.as_deref());
        }
        visit::visit_path(self, path);
    }
}

/// Returns true for `cfg(test)` and for `cfg(all(test, ...))`.
fn is_test(attribute: &syn::Attribute) -> bool {
    let condition = attribute.parse_args::<syn::Meta>();
    condition.is_ok_and(|condition| match condition {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) => list.path.is_ident("all") && list.tokens.to_string().starts_with("test "),
        syn::Meta::NameValue(_) => false,
    })
}
