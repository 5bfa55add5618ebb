//! A file of which only the ranges that are needed are read.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Mutex, OnceLock, PoisonError};

use tenslice::{Extent, File, Opened, Piece, Source};

use crate::Error;

/// A file that is read in ranges: one that cannot be mapped, or that is fetched over a network.
///
/// ```
/// let disk = std::fs::File::open("tests/fixtures/v1.2/dense_all_dtypes.zt")?;
/// let ranges = tenslice_host::Ranges::new(disk)?;
/// let fetched = ranges.fetch()?;
/// let file = fetched.file()?;
///
/// let data = file.find("t.int32")?.data()?;
/// let bytes = ranges.read(data.extent())?; // only these
/// assert_eq!(data.with_bytes(&bytes)?.elements::<i32>()?.len(), 9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Ranges<R> {
    reader: Mutex<R>,
    length: u64,
    /// The rounds in which the metadata is read, in blocks of 1, 2, 4, 8 ... rounds. A round never moves, so that others
    /// can be added while it is borrowed.
    blocks: [OnceLock<Block>; 32],
}

type Block = Box<[OnceLock<Round>]>;

/// The ranges that are read in one round, and their bytes.
type Round = (Vec<Piece>, Vec<u8>);

/// The number of ranges to make room for at first.
const RANGES: usize = 256;

impl<R: Read + Seek> Ranges<R> {
    /// Takes a reader of a whole file. Seeks to its end to find the length.
    ///
    /// # Errors
    /// The error of the reader.
    pub fn new(mut reader: R) -> io::Result<Self> {
        let length = reader.seek(SeekFrom::End(0))?;
        Ok(Self { reader: Mutex::new(reader), length, blocks: Default::default() })
    }

    /// Returns the length of the file in bytes.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Reads the metadata: see `docs/parts.md`. The ranges stay in memory.
    ///
    /// # Errors
    /// [`Error::Unreadable`], with an empty path, if reading fails; [`Error::Invalid`], with an empty name, if the file
    /// is invalid.
    pub fn fetch(&self) -> Result<Fetched<'_>, Error> {
        let mut source = Source::new(self.length);
        for number in 1.. {
            let before = source.clone();
            let invalid = |error| Error::invalid("", error, &before);
            if let Opened::File(_) = File::open_source(&source).map_err(invalid)? {
                return Ok(Fetched(before));
            }
            let mut pieces = vec![Piece::default(); RANGES];
            let mut count = source.needs(&mut pieces);
            while count == pieces.len() {
                pieces.resize(2 * count, Piece::default());
                count = source.needs(&mut pieces);
            }
            pieces.truncate(count);
            let (pieces, memory) = self.kept(number, pieces)?;
            source.add_pieces(pieces, memory).map_err(invalid)?;
        }
        Err(Error::OutOfMemory)
    }

    /// Reads a range, such as [`Component::extent`](tenslice::Component::extent).
    ///
    /// # Errors
    /// `UnexpectedEof` if the range extends past the end of the file, otherwise the error of the reader.
    pub fn read(&self, extent: Extent) -> io::Result<Vec<u8>> {
        if extent.end().is_none_or(|end| end > self.length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.seek(SeekFrom::Start(extent.offset))?;
        let mut bytes = Vec::new();
        reader.by_ref().take(extent.length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == extent.length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// Returns the round numbered `number`, from 1. Reads it only the first time. If a file has changed since, so that
    /// this round has other ranges, the file cannot be read.
    fn kept(&self, number: u32, pieces: Vec<Piece>) -> Result<&Round, Error> {
        let fail = |error| Error::Unreadable { path: "".into(), error };
        let block = self.blocks.get(number.ilog2() as usize).ok_or(Error::OutOfMemory)?;
        let block = block.get_or_init(|| (0..1_u32 << number.ilog2()).map(|_| OnceLock::new()).collect());
        let round = block.get((number - (1 << number.ilog2())) as usize).ok_or(Error::OutOfMemory)?;
        if round.get().is_none() {
            let mut memory = Vec::new();
            for piece in &pieces {
                memory.append(&mut self.read(piece.extent()).map_err(fail)?);
            }
            let _ = round.set((pieces.clone(), memory)); // another thread may have been faster
        }
        match round.get() {
            Some(round) if round.0 == pieces => Ok(round),
            _ => Err(fail(io::Error::new(io::ErrorKind::InvalidData, "the file has changed"))),
        }
    }
}

/// The metadata of a file that is read in ranges. See [`Ranges::fetch`].
#[derive(Debug)]
pub struct Fetched<'r>(Source<'r>);

impl<'r> Fetched<'r> {
    /// Returns the ranges that were read, for messages: see [`tenslice::Error::explain`].
    #[must_use]
    pub const fn source(&self) -> &Source<'r> {
        &self.0
    }

    /// Opens the file. Reads the metadata in memory, not the file.
    ///
    /// # Errors
    /// None, as the metadata is complete and valid.
    pub fn file(&self) -> Result<File<'_>, Error> {
        match File::open_source(&self.0) {
            Ok(Opened::File(file)) => Ok(file),
            Ok(Opened::Need(_)) => {
                Err(Error::Unreadable { path: "".into(), error: io::ErrorKind::UnexpectedEof.into() })
            }
            Err(error) => Err(Error::invalid("", error, &self.0)),
        }
    }
}
