use std::collections::BTreeMap;
fn walk(p: &std::path::Path, out: &mut Vec<std::path::PathBuf>) {
    for e in std::fs::read_dir(p).unwrap() {
        let p = e.unwrap().path();
        if p.is_dir() {
            if !p.ends_with("bad") {
                walk(&p, out)
            }
        } else {
            out.push(p)
        }
    }
}
#[test]
fn survey() {
    let mut files = vec![];
    walk("tests/fixtures".as_ref(), &mut files);
    files.sort();
    let mut seen: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for p in files {
        let bytes = std::fs::read(&p).unwrap();
        if tenslice::File::open(&bytes).is_err() {
            continue;
        }
        let step = (bytes.len() / 400).max(1);
        for cut in (0..bytes.len()).step_by(step).chain(bytes.len().saturating_sub(40)..bytes.len()) {
            let b = &bytes[..cut];
            let m = match tenslice::File::open(b) {
                Ok(_) => format!("{} OK!", p.extension().unwrap().to_string_lossy()),
                Err(e) => e.explain(b).to_string(),
            };
            let mut norm = String::new();
            let mut q = false;
            for c in m.chars() {
                if c == '"' {
                    q = !q;
                    norm.push('"');
                    continue;
                }
                if q {
                    continue;
                }
                if c.is_ascii_digit() {
                    if !norm.ends_with('N') {
                        norm.push('N')
                    }
                } else {
                    norm.push(c)
                }
            }
            let e = seen.entry(norm).or_insert((0, format!("{} [{} cut to {}]", m, p.display(), cut)));
            e.0 += 1;
        }
    }
    for (_, (n, m)) in seen {
        println!("{n:6} {m}")
    }
}
