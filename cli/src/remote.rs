//! Files on a server, of which only the ranges that a command needs are read. Nothing is stored.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenslice::{Extent, File, Format, Input, Opened, Source};
use tenslice_host::{Error, Host, Ranges};
use ureq::http::{HeaderMap, Response, StatusCode, header};
use ureq::{Agent, Body};
use url::Url;

use crate::common::failure::Failure;
use crate::common::model::refused;
use crate::common::text::size;

/// The number of redirections that are followed.
const MOST_REDIRECTIONS: usize = 5;
/// The number of bytes that a request asks for: at least, and at most if the requests before it were read to their ends.
const BLOCK: u64 = 1 << 16;
const LARGEST_BLOCK: u64 = 1 << 22;
/// The length of a file that is read as a whole, at most.
const LARGEST_WHOLE: u64 = 1 << 24;
/// The longest time until a connection, an answer, or the end of its body.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The bytes that were read from a server, and the requests for them.
#[derive(Default)]
pub struct Traffic {
    bytes: AtomicU64,
    requests: AtomicU64,
}

impl Traffic {
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}

/// A file on a server.
pub struct Remote {
    pub host: Host,
    /// The length of the file in bytes.
    pub length: u64,
    pub traffic: Arc<Traffic>,
}

/// Opens the file at an address. `headers` are sent to the server of the address, and to no other one.
pub fn open(address: &str, headers: &[(String, String)]) -> Result<Remote, Failure> {
    let traffic = Arc::new(Traffic::default());
    let unreadable = |error: io::Error| Failure::unreadable(&error);
    let failed = |error| match error {
        Error::Unreadable { error, .. } => unreadable(error),
        error => refused(Path::new(address), error),
    };
    let reader = Reader::new(address, headers, Arc::clone(&traffic)).map_err(unreadable)?;
    let name = name_of(&reader.url);
    let ranges = forever(Ranges::new(reader).map_err(unreadable)?);
    let length = ranges.length();
    let host = match ranges.fetch().map(forever) {
        Ok(fetched) => {
            let file = fetched.file().map_err(failed)?;
            match (file.format(), file.as_gguf()) {
                // Their lists of chunks are all over the file.
                (Format::Tens | Format::B2nd, _) => None,
                // Opening skips long values, such as vocabularies: now all metadata is in memory.
                (_, Some(gguf)) => {
                    let metadata = Extent::new(0, gguf.data_offset().min(length));
                    let bytes = forever(ranges.read(metadata).map_err(unreadable)?);
                    let mut source = Source::new(length);
                    let invalid = |error| Failure::of(error, &**bytes);
                    source.add(0, bytes).map_err(invalid)?;
                    let source = forever(source);
                    match File::open_source(source).map_err(invalid)? {
                        Opened::File(file) => Some(Host::of_ranges(&name, file, Input::from(source))),
                        Opened::Need(_) => None,
                    }
                }
                _ => Some(Host::of_ranges(&name, file, Input::from(fetched.source()))),
            }
        }
        // A message has numbers from anywhere in the file.
        Err(Error::Invalid { .. }) if length <= LARGEST_WHOLE => None,
        Err(error) => return Err(failed(error)),
    };
    let host = match host {
        Some(host) => host,
        None if length > LARGEST_WHOLE => {
            let most = size(LARGEST_WHOLE);
            let message =
                format!("files of this format are read as a whole from a server, up to {most}: download it");
            return Err(Failure::new("InvalidArgument", message));
        }
        None => Host::of_bytes(&name, ranges.read(Extent::new(0, length)).map_err(unreadable)?).map_err(failed)?,
    };
    Ok(Remote { host, length, traffic })
}

/// Keeps a value in memory until the program ends: an open file borrows what it was opened from.
fn forever<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// The name of the file at an address.
fn name_of(url: &Url) -> String {
    url.path_segments().and_then(|mut parts| parts.next_back()).unwrap_or_default().into()
}

/// Returns the address of the file that a page of a hub shows.
fn of_page(mut url: Url) -> Url {
    let raw = match url.host_str() {
        Some("huggingface.co" | "hf.co") => "resolve",
        Some("github.com") => "raw",
        _ => return url,
    };
    let parts: Vec<&str> = url.path().split('/').collect();
    // /OWNER/NAME/blob/REVISION/FILE; data sets and spaces have a word before the owner.
    if let Some(at) = parts.iter().position(|part| *part == "blob").filter(|at| matches!(at, 3 | 4)) {
        let path = [&parts[..at], &[raw], &parts[at + 1..]].concat().join("/");
        url.set_path(&path);
    }
    url
}

/// A file on a server. Reads blocks, and keeps them.
struct Reader {
    agent: Agent,
    url: Url,
    /// Headers for the server that the user named.
    headers: Vec<(String, String)>,
    origin: url::Origin,
    length: u64,
    /// The mark of this version of the file, if the server has one.
    tag: Option<String>,
    position: u64,
    /// The blocks that were read, by where they start.
    blocks: BTreeMap<u64, Vec<u8>>,
    traffic: Arc<Traffic>,
}

impl Reader {
    fn new(address: &str, headers: &[(String, String)], traffic: Arc<Traffic>) -> io::Result<Self> {
        let url = Url::parse(address).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(other("the address has a user name: pass credentials by --header"));
        }
        let agent = Agent::config_builder()
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .timeout_connect(Some(TIMEOUT))
            .timeout_recv_response(Some(TIMEOUT))
            .timeout_recv_body(Some(TIMEOUT))
            .user_agent(concat!("tenslice/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        let url = of_page(url);
        let (origin, headers) = (url.origin(), headers.to_vec());
        let mut reader =
            Self { agent, url, headers, origin, length: 0, tag: None, position: 0, blocks: BTreeMap::new(), traffic };
        reader.begin()?;
        Ok(reader)
    }

    /// Follows redirections to the file, and reads its first block.
    fn begin(&mut self) -> io::Result<()> {
        for _ in 0..=MOST_REDIRECTIONS {
            let response = self.ask(0, BLOCK)?;
            if response.status().is_redirection() {
                self.url = redirected(&self.url, response.headers())?;
                continue;
            }
            let (length, tag) = match response.status() {
                // A file without bytes has no range.
                StatusCode::RANGE_NOT_SATISFIABLE => {
                    (total_length(response.headers()).filter(|length| *length == 0), None)
                }
                _ => (total_length(response.headers()), tag(response.headers())),
            };
            let length = match length {
                Some(0) => return Ok(()),
                length => self.checked(&response, 0).and(length.ok_or_else(no_ranges))?,
            };
            (self.length, self.tag) = (length, tag);
            return self.keep(0, response);
        }
        Err(other(&format!("more than {MOST_REDIRECTIONS} redirections")))
    }

    /// Asks for `length` bytes from `start` on.
    fn ask(&self, start: u64, length: u64) -> io::Result<Response<Body>> {
        let last = start.saturating_add(length) - 1;
        let mut request = self
            .agent
            .get(self.url.as_str())
            .header(header::RANGE, format!("bytes={start}-{last}"))
            .header(header::ACCEPT_ENCODING, "identity");
        for (name, value) in self.headers.iter().filter(|_| self.url.origin() == self.origin) {
            request = request.header(name, value);
        }
        self.traffic.requests.fetch_add(1, Ordering::Relaxed);
        request.call().map_err(|error| other(&error.to_string()))
    }

    /// Checks that an answer has the range from `start` on.
    fn checked(&self, response: &Response<Body>, start: u64) -> io::Result<()> {
        match response.status() {
            StatusCode::PARTIAL_CONTENT => {}
            StatusCode::OK => return Err(no_ranges()),
            status => return Err(other(&format!("the server answers {status}"))),
        }
        let is_it = range_start(response.headers()) == Some(start);
        is_it.then_some(()).ok_or_else(|| other("the server sends another range than the one that was asked for"))
    }

    /// Keeps the block that an answer has.
    fn keep(&mut self, start: u64, response: Response<Body>) -> io::Result<()> {
        let mut bytes = Vec::new();
        let most = LARGEST_BLOCK.min(self.length - start);
        response.into_body().into_reader().take(most).read_to_end(&mut bytes)?;
        self.traffic.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.blocks.insert(start, bytes);
        Ok(())
    }

    /// The bytes at the position that were read already.
    fn available(&self) -> &[u8] {
        let block = self.blocks.range(..=self.position).next_back();
        let rest = block.and_then(|(start, bytes)| bytes.get(usize::try_from(self.position - start).ok()?..));
        rest.unwrap_or_default()
    }

    /// Reads the block at the position: twice as much as the block before, if that ends here.
    fn fetch(&mut self) -> io::Result<()> {
        let before = self.blocks.range(..self.position).next_back();
        let before = before.filter(|(start, bytes)| *start + bytes.len() as u64 == self.position);
        let length = before.map_or(BLOCK, |(_, bytes)| (2 * bytes.len() as u64).clamp(BLOCK, LARGEST_BLOCK));
        let response = self.ask(self.position, length.min(self.length - self.position))?;
        self.checked(&response, self.position)?;
        if total_length(response.headers()) != Some(self.length) || tag(response.headers()) != self.tag {
            return Err(other("the file on the server has changed while it was read"));
        }
        self.keep(self.position, response)
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.length || buffer.is_empty() {
            return Ok(0);
        }
        if self.available().is_empty() {
            self.fetch()?;
        }
        let bytes = self.available();
        let count = buffer.len().min(bytes.len());
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buffer[..count].copy_from_slice(&bytes[..count]);
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(distance) => self.length.checked_add_signed(distance),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

fn other(message: &str) -> io::Error {
    io::Error::other(message)
}

fn no_ranges() -> io::Error {
    other("the server does not send ranges: download the file, and list the copy")
}

/// The address that a redirection leads to. Encryption is never given up.
fn redirected(from: &Url, headers: &HeaderMap) -> io::Result<Url> {
    let place = headers.get(header::LOCATION).and_then(|place| place.to_str().ok());
    let to =
        place.and_then(|place| from.join(place).ok()).ok_or_else(|| other("a redirection without an address"))?;
    match (from.scheme(), to.scheme()) {
        (_, "https") | ("http", "http") => Ok(to),
        ("https", "http") => Err(other("a redirection from https to http is not followed")),
        (_, scheme) => Err(other(&format!("a redirection to the scheme {scheme} is not followed"))),
    }
}

/// The mark of a version of a file: its ETag, or the time of its last change.
fn tag(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::ETAG).or_else(|| headers.get(header::LAST_MODIFIED))?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// The first byte of the range in an answer: `Content-Range: bytes FIRST-LAST/TOTAL`.
fn range_start(headers: &HeaderMap) -> Option<u64> {
    content_range(headers)?.split('-').next()?.trim().parse().ok()
}

/// The length of the whole file.
fn total_length(headers: &HeaderMap) -> Option<u64> {
    content_range(headers)?.rsplit('/').next()?.trim().parse().ok()
}

fn content_range(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_a_file_leads_to_the_file() {
        for (page, file) in [
            ("https://huggingface.co/o/n/blob/main/a/b.gguf", "https://huggingface.co/o/n/resolve/main/a/b.gguf"),
            (
                "https://huggingface.co/datasets/o/n/blob/v1/b.npy",
                "https://huggingface.co/datasets/o/n/resolve/v1/b.npy",
            ),
            ("https://github.com/o/n/blob/main/blob/b.npy", "https://github.com/o/n/raw/main/blob/b.npy"),
            ("https://huggingface.co/o/n/resolve/main/blob/b", "https://huggingface.co/o/n/resolve/main/blob/b"),
            ("https://example.org/o/n/blob/main/b", "https://example.org/o/n/blob/main/b"),
        ] {
            assert_eq!(of_page(Url::parse(page).unwrap()).as_str(), file);
        }
    }

    #[test]
    fn a_redirection_never_gives_up_encryption() {
        let lead = |from: &str, to: &str| {
            let headers = HeaderMap::from_iter([(header::LOCATION, to.parse().unwrap())]);
            redirected(&Url::parse(from).unwrap(), &headers).map(String::from).map_err(|error| error.to_string())
        };
        assert_eq!(lead("https://a.org/x/y", "../z?q").unwrap(), "https://a.org/z?q");
        assert_eq!(lead("http://a.org/x", "https://b.org/").unwrap(), "https://b.org/");
        assert!(lead("https://a.org/x", "http://a.org/x").unwrap_err().contains("https to http"));
        assert!(lead("http://a.org/x", "file:///etc/passwd").unwrap_err().contains("scheme file"));
    }
}
