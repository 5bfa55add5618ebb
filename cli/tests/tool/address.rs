//! Files on a server, of which `list` reads only ranges. The servers here run in the test.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

use crate::support::{Run, fixture, run};

/// Makes the answer of a server from the path, and the first and last byte that are asked for.
type Answer = dyn Fn(&str, (usize, usize)) -> Vec<u8> + Send + Sync;

/// A server on this machine.
struct Server {
    address: String,
    /// The headers of each request, with names in small letters.
    requests: Arc<Mutex<Vec<HashMap<String, String>>>>,
}

impl Server {
    fn new(answer: impl Fn(&str, (usize, usize)) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (log, answer): (_, Arc<Answer>) = (Arc::clone(&requests), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                thread::spawn(move || serve(stream.unwrap(), &log, &*answer));
            }
        });
        Self { address, requests }
    }

    /// A server of files, by their paths below the fixtures.
    fn of_fixtures() -> Self {
        let folder = PathBuf::from(fixture("safetensors")).parent().unwrap().to_path_buf();
        Self::new(move |path, range| part(&fs::read(folder.join(&path[1..])).unwrap(), range, "\"1\""))
    }

    fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    /// The values of a header in all requests.
    fn sent(&self, name: &str) -> Vec<String> {
        self.requests.lock().unwrap().iter().filter_map(|headers| headers.get(name).cloned()).collect()
    }
}

/// Answers one request, and closes the connection.
fn serve(mut stream: TcpStream, log: &Mutex<Vec<HashMap<String, String>>>, answer: &Answer) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(path) = lines.next().and_then(|line| Some(line.split(' ').nth(1)?.to_string())) else { return };
    let lines = lines.take_while(|line| !line.is_empty());
    let headers: HashMap<_, _> = lines
        .filter_map(|line| line.split_once(':').map(|(name, value)| (name.to_lowercase(), value.trim().to_string())))
        .collect();
    let range = headers.get("range").and_then(|range| range.strip_prefix("bytes=")?.split_once('-')).unwrap();
    let range = (range.0.parse().unwrap(), range.1.parse().unwrap());
    log.lock().unwrap().push(headers);
    stream.write_all(&answer(&path, range)).unwrap();
}

/// An answer with these lines and this body.
fn reply(lines: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {lines}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// The part of a file that is asked for.
fn part(bytes: &[u8], (first, last): (usize, usize), tag: &str) -> Vec<u8> {
    if first >= bytes.len() {
        return reply(&format!("416 Range Not Satisfiable\r\nContent-Range: bytes */{}", bytes.len()), b"");
    }
    let last = last.min(bytes.len() - 1);
    let range = format!("206 Partial Content\r\nContent-Range: bytes {first}-{last}/{}\r\nETag: {tag}", bytes.len());
    reply(&range, &bytes[first..=last])
}

fn redirection(to: &str) -> Vec<u8> {
    reply(&format!("302 Found\r\nLocation: {to}"), b"")
}

/// Lists an address.
fn list(address: &str) -> Run {
    run(&["list", address])
}

/// Lists an address that must be refused, and checks the message.
fn refused(address: &str, words: &str) {
    let run = list(address);
    assert!(run.status == 1 && run.out.is_empty() && run.err.contains(words), "{words}: {run:?}");
}

/// Makes a safetensors file. `header` and `data` are the lengths of its header and of its data in bytes.
fn large(header: usize, data: usize) -> Vec<u8> {
    let text = format!(r#"{{"a":{{"dtype":"U8","shape":[{data}],"data_offsets":[0,{data}]}}}}"#);
    let header = text.clone() + &" ".repeat(header - text.len());
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![7; data]].concat()
}

/// Some files of each folder of fixtures.
fn some_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let is_text = |path: &Path| {
        path.extension().is_some_and(|ending| ["json", "md", "txt", "py"].iter().any(|one| ending == *one))
    };
    let all: Vec<_> = paths.iter().filter(|path| path.is_file() && !is_text(path)).collect();
    files.extend(all.iter().step_by(all.len() / 8 + 1).map(|path| path.to_path_buf()));
    paths.iter().filter(|path| path.is_dir()).for_each(|path| some_files(path, files));
}

/// A list is the same as that of a copy, for every format.
#[test]
fn a_list_is_that_of_a_copy() {
    let server = Server::of_fixtures();
    let root = PathBuf::from(fixture("safetensors")).parent().unwrap().to_path_buf();
    let mut files = Vec::new();
    some_files(&root, &mut files);
    assert!(files.len() > 150, "{}", files.len());
    let record = |file: &str| -> (i32, Vec<Value>) {
        let run = run(&["list", "--json", file]);
        let lines = run.out.lines().map(|line| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            record["file"] = Value::Null;
            record
        });
        (run.status, lines.collect())
    };
    for path in files {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap();
        // The files of a model are not looked for on a server.
        if name.contains("shard") || name.contains("split") {
            continue;
        }
        let of_copy = record(path.to_str().unwrap());
        assert_eq!(record(&format!("{}/{name}", server.address)), of_copy, "{name}");
    }
}

/// Opening skips long values, but a list has all of them.
#[test]
fn a_vocabulary_is_whole() {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let count = 100_000_u64;
    let tokens: Vec<u8> = (0..count).flat_map(|number| text(&format!("token{number}"))).collect();
    let head =
        [&b"GGUF\x03\0\0\0"[..], &0_u64.to_le_bytes(), &1_u64.to_le_bytes(), &text("tokenizer.ggml.tokens")].concat();
    let bytes = [&head[..], &[9, 0, 0, 0, 8, 0, 0, 0], &count.to_le_bytes(), &tokens].concat();
    let length = bytes.len();
    let server = Server::new(move |_, range| part(&bytes, range, "\"1\""));
    let last = format!("{}\n", count - 1);
    let run_of = |more: &[&str]| run(&[&["list", server.address.as_str()][..], more].concat());
    assert!(run_of(&["--metadata", "tokens"]).out.ends_with(&format!("token{last}")));
    assert!(run_of(&["--tokens", "token99999"]).out.contains("99999"));
    let record: Value = serde_json::from_str(&run_of(&["--json"]).out).unwrap();
    assert_eq!(record["attributes"]["tokenizer.ggml.tokens"].as_array().unwrap().len() as u64, count);
    // Nothing is read twice.
    let before = server.count();
    let run = run_of(&[]);
    assert!(server.count() < before + 10 && length > 1 << 20, "{run:?}");
    assert!(run.err.starts_with("read 1.7 MiB of 1.7 MiB"), "{}: {}", length, run.err);
}

/// Only the ranges that are needed are read, and the tool says how much that was.
#[test]
fn ranges_alone_are_read() {
    let small = large(1000, 1 << 23);
    let long = large(500_000, 100);
    let server = Server::new(move |path, range| part(if path == "/small" { &small } else { &long }, range, "\"1\""));
    let run = list(&format!("{}/small", server.address));
    assert!(run.status == 0 && run.out.contains("8.0 MiB stored"), "{run:?}");
    assert_eq!(run.err, "read 64.0 KiB of 8.0 MiB in 1 request\n");
    assert_eq!(server.sent("range"), ["bytes=0-65535"]);
    let run = list(&format!("{}/long", server.address));
    // Each request asks for twice as much as the one before.
    assert!(run.status == 0 && run.err.ends_with(" in 4 requests\n"), "{run:?}");
    assert_eq!(server.count(), 5);
}

#[test]
fn at_most_five_redirections_are_followed() {
    let bytes = large(1000, 100);
    let server = Server::new(move |path, range| match path[1..].parse() {
        Ok(0) => part(&bytes, range, "\"1\""),
        Ok(number) => redirection(&format!("{}", number - 1)),
        Err(_) => redirection("file:///etc/passwd"),
    });
    let run = list(&format!("{}/5", server.address));
    assert!(run.status == 0 && run.err.ends_with(" in 6 requests\n"), "{run:?}");
    refused(&format!("{}/6", server.address), "more than 5 redirections");
    refused(&format!("{}/x", server.address), "a redirection to the scheme file is not followed");
}

/// A header goes to the server that the user named, and to no other one.
#[test]
fn headers_are_sent_to_one_server() {
    let bytes = large(1000, 100);
    let files = Server::new(move |_, range| part(&bytes, range, "\"1\""));
    let to = files.address.clone();
    let first = Server::new(move |_, _| redirection(&to));
    let run = run(&[
        "list",
        &format!("{}/x", first.address),
        "--header",
        "Authorization: Bearer secret",
        "--header",
        "X-Key:k",
    ]);
    assert_eq!(run.status, 0, "{run:?}");
    assert_eq!((first.sent("authorization"), first.sent("x-key")), (vec!["Bearer secret".into()], vec!["k".into()]));
    assert_eq!(files.count(), 1);
    assert!(files.sent("authorization").is_empty() && files.sent("x-key").is_empty());
    assert!(files.sent("cookie").is_empty() && first.sent("cookie").is_empty());
    refused(&first.address.replace("http://", "http://user:secret@"), "pass credentials by --header");
}

#[test]
fn answers_that_cannot_be_used() {
    let bytes = large(500_000, 100);
    let versions = Arc::new(Mutex::new(0));
    let server = Server::new(move |path, range| match path {
        "/whole" => reply("200 OK", &bytes),
        "/none" => reply("404 Not Found", b"no such file"),
        "/other" => part(&bytes, (range.0 + 1, range.1), "\"1\""),
        "/empty" => part(&[], range, "\"1\""),
        "/page" => part(b"<!DOCTYPE html><html><body>Sign in</body></html>", range, "\"1\""),
        // The connection ends early.
        "/short" => part(&bytes, range, "\"1\"")[..1000].to_vec(),
        "/changed" => {
            let mut version = versions.lock().unwrap();
            *version += 1;
            part(&bytes, range, &format!("\"{version}\""))
        }
        _ => redirection(""),
    });
    for (path, words) in [
        ("whole", "the server does not send ranges: download the file"),
        ("none", "the server answers 404 Not Found"),
        ("other", "another range than the one that was asked for"),
        ("empty", "empty"),
        ("page", "web page"),
        ("changed", "the file on the server has changed while it was read"),
        ("loop", "more than 5 redirections"),
    ] {
        refused(&format!("{}/{path}", server.address), words);
    }
    assert_eq!(list(&format!("{}/short", server.address)).status, 1);
    assert_eq!(list("http://127.0.0.1:1/x").status, 1);
}

/// Nothing else reads from a server.
#[test]
fn other_commands_say_what_to_do() {
    let server = Server::of_fixtures();
    let address = format!("{}/safetensors/py_tiny_mlp.safetensors", server.address);
    for arguments in [
        &["verify", &address][..],
        &["show", &address, "fc1.bias"],
        &["list", "--digest", &address],
        &["stats", &address],
    ] {
        let run = run(arguments);
        assert!(run.status == 1 && run.err.contains("download"), "{arguments:?}: {run:?}");
    }
    assert_eq!(server.count(), 0);
    let run = run(&["list", &address, "--header", "no value"]);
    assert!(run.status == 2 && run.err.contains("a header is NAME: VALUE"), "{run:?}");
}
