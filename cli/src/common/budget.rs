//! Limits of memory and work for one command: a small file can demand unbounded amounts of both.
//!
//! Both limits apply to the whole command, across files, tensors and threads. Memory counts decoded bytes held at once.
//! Work counts bytes that are read, decoded or hashed; its limit is 1 GiB plus 64 times the size of the files.

use std::cell::Cell;
use std::fmt;
use std::ops::{Deref, DerefMut, Range};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use tenslice::{Error, ErrorKind};

/// The maximum number of decoded bytes held at once.
pub const MEMORY: u64 = 1 << 30;
/// The work that every command may do, in bytes.
const WORK: u64 = 1 << 30;
/// The additional work for each byte of the files, in bytes.
const WORK_OF_A_BYTE: u64 = 64;

/// The memory and work that a command has used.
#[derive(Debug)]
pub struct Budget {
    has_limits: bool,
    /// True if several threads share the budget and wait for each other's memory.
    is_shared: bool,
    held: Mutex<u64>,
    freed: Condvar,
    allowed: AtomicU64,
    done: AtomicU64,
}

/// A limit that was exceeded, and the amount needed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Bytes that would be held at once.
    Memory(u64),
    /// The total bytes of work, and the number allowed.
    Work(u64, u64),
    /// Bytes that the system cannot provide.
    System(u64),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::System(needed) => return write!(f, "out of memory: cannot allocate {needed} bytes for decoding"),
            Self::Memory(needed) => {
                write!(f, "memory limit: decoding needs {} at once; the limit is {MEMORY} bytes", Bytes(needed))?;
            }
            Self::Work(needed, allowed) => {
                write!(
                    f,
                    "work limit: the command needs to read and decode {}; the limit is {allowed} bytes",
                    Bytes(needed)
                )?;
            }
        }
        f.write_str("; pass --no-limit to lift the limits on memory and work")
    }
}

/// A number of bytes. The largest one represents all larger numbers.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == u64::MAX { f.write_str("2^64 bytes or more") } else { write!(f, "{} bytes", self.0) }
    }
}

/// An error or a limit that ended a read.
#[derive(Clone, Copy, Debug)]
pub enum Stop {
    Error(Error),
    Limit(Limit),
    /// There are fewer elements than the shape requires.
    TooFew,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Limit> for Stop {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}

/// A buffer for decoded bytes. Dropping it returns its memory to the budget.
#[derive(Debug)]
pub struct Room<'b> {
    bytes: Vec<u8>,
    /// The range of bytes in use.
    used: Range<usize>,
    budget: &'b Budget,
    length: u64,
}

impl Deref for Room<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.used.clone()]
    }
}

impl DerefMut for Room<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.used.clone()]
    }
}

impl Room<'_> {
    /// Restricts the buffer to `length` bytes from `start` on, at most to its end. The other bytes stay reserved.
    pub fn narrow(&mut self, start: usize, length: usize) {
        let start = self.used.start.saturating_add(start).min(self.used.end);
        self.used = start..start.saturating_add(length).min(self.used.end);
    }
}

thread_local! {
    /// The number of buffers that this thread holds. Debug builds fail if a thread would wait for its own memory.
    static ROOMS: Cell<usize> = const { Cell::new(0) };
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        ROOMS.set(ROOMS.get().saturating_sub(usize::from(self.length > 0)));
        let mut held = self.budget.held.lock().unwrap_or_else(PoisonError::into_inner);
        *held = held.saturating_sub(self.length);
        self.budget.freed.notify_all();
    }
}

impl Budget {
    /// Creates a budget for a single-threaded command, with or without limits.
    pub fn new(has_limits: bool) -> Self {
        Self {
            has_limits,
            is_shared: false,
            held: Mutex::new(0),
            freed: Condvar::new(),
            allowed: AtomicU64::new(WORK),
            done: AtomicU64::new(0),
        }
    }

    /// Creates a budget for several threads. A thread must not hold one buffer while it requests another, or threads
    /// can wait for each other: [`rooms`](Self::rooms) reserves several at once.
    pub fn shared(has_limits: bool) -> Self {
        Self { is_shared: true, ..Self::new(has_limits) }
    }

    /// Allows the work for a file of `length` bytes.
    pub fn add_file(&self, length: u64) {
        let more = length.saturating_mul(WORK_OF_A_BYTE);
        let add = |allowed: u64| Some(allowed.saturating_add(more));
        let _ = self.allowed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }

    /// Fails if `bytes` more work would exceed the limit, so that such work is not even started.
    pub fn check_work(&self, bytes: u64) -> Result<(), Limit> {
        let (done, allowed) = (self.done.load(Ordering::Relaxed), self.allowed.load(Ordering::Relaxed));
        let needed = done.saturating_add(bytes);
        if self.has_limits && needed > allowed { Err(Limit::Work(needed, allowed)) } else { Ok(()) }
    }

    /// Counts work before it is done.
    pub fn work(&self, bytes: u64) -> Result<(), Limit> {
        let allowed = self.allowed.load(Ordering::Relaxed);
        let add = |done: u64| Some(done.saturating_add(bytes)).filter(|sum| !self.has_limits || *sum <= allowed);
        let done = self.done.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        done.map(drop).map_err(|done| Limit::Work(done.saturating_add(bytes), allowed))
    }

    /// Reserves a buffer of `length` bytes.
    pub fn room(&self, length: u64) -> Result<Room<'_>, Limit> {
        self.rooms([length]).map(|[room]| room)
    }

    /// Reserves buffers of these lengths, all of them or none.
    pub fn rooms<const N: usize>(&self, lengths: [u64; N]) -> Result<[Room<'_>; N], Limit> {
        let wanted = lengths.iter().fold(0, |sum: u64, length| sum.saturating_add(*length));
        debug_assert!(!self.is_shared || wanted == 0 || ROOMS.get() == 0, "a thread waits for its own memory");
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        while self.has_limits && held.saturating_add(wanted) > MEMORY {
            if wanted > MEMORY || !self.is_shared {
                return Err(Limit::Memory(held.saturating_add(wanted)));
            }
            held = self.freed.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        // Reserves the memory as a trial, because `vec!` below aborts if an allocation fails.
        let size = usize::try_from(wanted).map_err(|_| Limit::System(wanted))?;
        Vec::<u8>::new().try_reserve_exact(size).map_err(|_| Limit::System(wanted))?;
        *held = held.saturating_add(wanted);
        drop(held);
        Ok(lengths.map(|length| {
            ROOMS.set(ROOMS.get() + usize::from(length > 0));
            let bytes = vec![0; usize::try_from(length).unwrap_or(0)]; // at most `wanted`
            Room { used: 0..bytes.len(), bytes, budget: self, length }
        }))
    }

    /// Returns an empty buffer.
    pub fn empty(&self) -> Room<'_> {
        Room { bytes: Vec::new(), used: 0..0, budget: self, length: 0 }
    }

    /// Calls `f` with a buffer of `length` bytes. If the length is unknown, calls `f` with larger and larger buffers.
    pub fn with_room<T, E: Into<Stop>>(
        &self,
        length: Option<u64>,
        f: impl FnMut(&mut [u8]) -> Result<T, E>,
    ) -> Result<T, Stop> {
        self.fill(length, f).map(|(result, _)| result)
    }

    /// Does the same as [`with_room`](Self::with_room), and also returns the buffer.
    pub fn fill<T, E: Into<Stop>>(
        &self,
        length: Option<u64>,
        mut f: impl FnMut(&mut [u8]) -> Result<T, E>,
    ) -> Result<(T, Room<'_>), Stop> {
        const FIRST: u64 = 1 << 16;
        const LARGEST: u64 = 1 << 34;
        let mut length_now = length.unwrap_or(FIRST);
        loop {
            let mut room = self.room(length_now)?;
            let stop = match f(&mut room) {
                Ok(result) => return Ok((result, room)),
                Err(stop) => stop.into(),
            };
            let is_short = |error: &Error| matches!(error.kind(), ErrorKind::TooSmall | ErrorKind::OutOfScratch);
            if length.is_some() || length_now >= LARGEST || !matches!(&stop, Stop::Error(error) if is_short(error)) {
                return Err(stop);
            }
            self.work(length_now)?;
            // Before a request that exceeds the limit, try a buffer of all free memory.
            drop(room);
            let held = *self.held.lock().unwrap_or_else(PoisonError::into_inner);
            let free = if self.has_limits { MEMORY.saturating_sub(held) } else { LARGEST };
            length_now =
                if length_now < free { length_now.saturating_mul(4).min(free) } else { length_now.saturating_mul(4) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_buffers_return_their_memory() {
        let budget = Budget::new(true);
        let room = budget.room(MEMORY - 10).unwrap();
        assert_eq!(budget.room(11).err(), Some(Limit::Memory(MEMORY + 1)));
        drop(budget.room(10).unwrap());
        drop(room);
        assert!(budget.rooms([MEMORY / 2, MEMORY / 2]).is_ok());
        assert!(budget.rooms([MEMORY, 1]).is_err());
        assert!(Budget::new(false).rooms([MEMORY, 1]).is_ok());
        let mut room = budget.room(10).unwrap();
        room.copy_from_slice(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        room.narrow(2, 5);
        room.narrow(1, 9);
        assert_eq!(*room, [3, 4, 5, 6]);
    }

    #[test]
    fn threads_wait_for_each_other() {
        let budget = Budget::shared(true);
        let most = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let _room = budget.room(MEMORY / 3).unwrap();
                        most.fetch_max(*budget.held.lock().unwrap(), Ordering::Relaxed);
                    }
                });
            }
        });
        assert!(most.into_inner() <= MEMORY);
        assert_eq!(*budget.held.lock().unwrap(), 0);
    }

    #[test]
    fn the_work_limit_grows_with_the_files() {
        let budget = Budget::new(true);
        budget.add_file(10);
        assert_eq!(budget.work(WORK + 640), Ok(()));
        assert_eq!(budget.work(1), Err(Limit::Work(WORK + 641, WORK + 640)));
        assert_eq!(budget.check_work(1), budget.work(1));
        budget.add_file(1);
        assert_eq!(budget.work(1), Ok(()));
        assert!(Budget::new(false).work(u64::MAX).is_ok());
    }
}
