//! PyTorch checkpoints: what `torch.save` writes since 1.6, and TorchScript. ZIP archives whose tree is a pickle.
//!
//! ```text
//! P/data.pkl      the tree, a pickle                         (bytes/pickle)
//! P/byteorder     "little" or "big"; without it little
//! P/version       a number
//! P/data/KEY      a storage each, in any order
//! P/constants.pkl of TorchScript: a second tree, over P/constants/KEY
//! ```
//!
//! A pickle is read as data: nothing in it is imported or called. A tensor is a call of one of a few known functions,
//! with a storage, an offset, sizes and strides (tensor.rs). Any other object is skipped.
#![forbid(unsafe_code)]

mod archive;
mod explain;
mod item;
mod legacy;
mod names;
mod order;
mod repeated;
mod storages;
mod strided;
mod tensor;
mod tree;

pub(super) use self::archive::is_checkpoint;
use self::item::Words;
use self::legacy::Widths;
pub use self::names::{Global, Globals};
use self::storages::Order;
use self::tensor::{Base, Described, Storage};
use self::tree::{Common, Found, Tree};
use super::{ComponentRecord, Context, Cursor, FileFormat, Name, Named, NamedTensors, Summary, TensorRecord, Wanted};
use crate::attributes::Attributes;
use crate::bytes::extent::{Extent, Region};
use crate::bytes::num::to_usize;
use crate::bytes::pickle::Fault;
use crate::bytes::pickle::frames::Container;
use crate::bytes::pickle::machine::Machine;
use crate::bytes::pickle::outline::Outline;
use crate::bytes::pickle::path::Path;
use crate::bytes::pickle::reach::Reach;
use crate::bytes::source::{Input, ParseContext, ParseResult};
use crate::bytes::text::Text;
use crate::codec::zip::Archive;
use crate::duplicates::{Compared, Memory, Seen, Stack};
use crate::error::origin::{Format, Part};
use crate::error::warning::{Warning, Warnings};
use crate::error::{Error, ErrorKind, Result};
use crate::types::ByteOrder;

/// A position in the second pickle has this bit.
const IN_CONSTANTS: u32 = 1 << 31;
/// A position of a name that is a single key has this bit.
const IS_KEY: u32 = 1 << 30;
/// A position of a key in the container of [`PytorchFile`] has this bit.
const IN_CONTAINER: u32 = 1 << 29;
/// The bits of such a position that count the tensors before, of those behind the key.
const BEHIND_AT: u32 = 26;
const MOST_BEHIND: u32 = 8;
/// The bits of a position itself.
const POSITION: u32 = (1 << BEHIND_AT) - 1;
/// The bytes of the pickle that may be read once more to list tensors in deep containers, and their names: so many
/// times the pickle, and so many more.
const MOST_DEEP: u64 = 256;
const MORE_DEEP: u64 = 1 << 20;
/// The records of a directory that may be read to find all storages: so many times all, and so many more.
const MOST_RECORDS: u64 = 256;
const MORE_RECORDS: u64 = 1 << 24;
/// The longest name of several pieces that is hashed when a file is opened. Longer ones are compared later.
const LONGEST_NAME: usize = 512;
/// The largest pickle in bytes. Positions leave room for the other bits.
const LARGEST: u64 = 1 << BEHIND_AT;

/// A PyTorch checkpoint.
#[derive(Clone, Copy, Debug)]
pub struct PytorchFile<'a> {
    input: Input<'a>,
    body: Body,
    /// The places of the two pickles; the second one is empty if there is none.
    data_at: u64,
    constants_at: u64,
    data_length: u32,
    constants_length: u32,
    /// The number of tensors.
    count: u32,
    /// A mapping that many tensors of the first pickle are in.
    container: Container,
    /// The words that most calls that make tensors take from the memo of the first pickle.
    words: Words,
    /// The key of the first tensor, if it is in the container.
    first_key: u32,
    flags: Flags,
    /// The reach of the pickles.
    reach: Reach,
}

/// The place of the storages: the directory of an archive, or the widths of the elements in a stream, if they are known.
#[derive(Clone, Copy, Debug)]
enum Body {
    Archive { start: u64, length: u32, order: Order },
    Stream(Option<Widths>),
}

/// Facts about a file, in a byte: the file is on the stack.
#[derive(Clone, Copy, Debug)]
struct Flags(u8);

impl Flags {
    /// Numbers are big-endian.
    const BIG: u8 = 1;
    /// The file is a stream. The second pickle is the list of keys.
    const LEGACY: u8 = 1 << 1;
    /// The names of tensors differ.
    const DISTINCT_NAMES: u8 = 1 << 2;
    /// The names of entries differ.
    const DISTINCT_ENTRIES: u8 = 1 << 3;
    /// The extents of entries ascend.
    const SORTED_PLACES: u8 = 1 << 4;
    /// Each tensor that is called behind a text is the value of that key: see [`item`].
    const PLAIN: u8 = 1 << 6;
    /// Bytes follow that belong to nothing.
    const PADDED: u8 = 1 << 5;

    const fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }

    const fn set(&mut self, flag: u8, value: bool) {
        self.0 = if value { self.0 | flag } else { self.0 & !flag };
    }
}

const fn fail(kind: ErrorKind, item: Part, at: u64) -> Error {
    Error::at(kind, Format::Pytorch, item, at)
}

impl<'a> PytorchFile<'a> {
    /// The archive; without entries, if the file is a stream.
    fn archive(&self) -> Archive<'a> {
        let (start, length) = match self.body {
            Body::Archive { start, length, .. } => (start, length),
            Body::Stream(_) => (0, 0),
        };
        let bytes = self.input.get(Extent::new(start, length.into())).unwrap_or_default();
        Archive::of(self.input, Region { bytes, start }, Format::Pytorch)
    }

    /// The order of the storages in the directory.
    const fn order(&self) -> Order {
        match self.body {
            Body::Archive { order, .. } => order,
            Body::Stream(_) => Order::None,
        }
    }

    /// The name of the folder that all entries are in, with the slash: that of the first entry.
    fn folder(&self) -> &'a [u8] {
        let name = self.archive().record(0).ok().flatten().map(|record| record.name).unwrap_or_default();
        let length = name.iter().position(|byte| *byte == b'/').and_then(|slash| slash.checked_add(1));
        length.and_then(|length| name.get(..length)).unwrap_or_default()
    }

    /// The bytes of a pickle; none if they are not in memory.
    fn pickle(&self, in_constants: bool) -> &'a [u8] {
        let (at, length) =
            if in_constants { (self.constants_at, self.constants_length) } else { (self.data_at, self.data_length) };
        self.input.get(Extent::new(at, length.into())).unwrap_or_default()
    }

    /// The offset in the file of a position.
    fn offset(&self, position: u32) -> u64 {
        let start = if position & IN_CONSTANTS != 0 { self.constants_at } else { self.data_at };
        start.saturating_add((position & !IN_CONSTANTS).into())
    }

    /// The number of entries of an archive, or of storages in a stream. Linear in the directory, or in the list.
    fn entries(&self) -> u32 {
        let (mut at, mut count) = (0, 0_u32);
        if self.flags.has(Flags::LEGACY) {
            return u32::try_from(self.keys().count()).unwrap_or(u32::MAX);
        }
        while let Ok(Some(record)) = self.archive().record(at) {
            (at, count) = (record.next, count.saturating_add(1));
        }
        count
    }

    /// A machine at the start of a pickle.
    fn machine(&self, in_constants: bool) -> Machine<'a> {
        Machine::new(self.pickle(in_constants), &Outline::of(self.reach))
    }

    const fn has_constants(&self) -> bool {
        self.constants_length > 0 && !self.flags.has(Flags::LEGACY)
    }

    fn tree(&self, in_constants: bool) -> Tree<'a> {
        Tree {
            pickle: self.pickle(in_constants),
            in_constants,
            in_stream: self.flags.has(Flags::LEGACY),
            container: self.container,
            reach: self.reach,
            is_plain: self.flags.has(Flags::PLAIN),
            words: self.words,
        }
    }

    /// Returns the error for a fault in a pickle.
    fn error(&self, in_constants: bool, fault: Fault) -> Error {
        let flag = if in_constants { IN_CONSTANTS } else { 0 };
        fail(fault.kind, fault.item, self.offset(fault.at | flag))
    }

    /// Returns the next listed tensor behind a cursor, with its path.
    fn next(&self, cursor: &mut Cursor) -> Result<Option<Found<'a>>> {
        if cursor.index >= self.count {
            return Ok(None); // without what follows the last tensor
        }
        loop {
            let in_constants = cursor.left & 1 != 0;
            if cursor.at == 0 && !in_constants && self.first_key > 0 {
                cursor.at = u64::from(self.first_key) << 32;
                cursor.set_pickle(self.container.frames(), cursor.pickle().1);
            }
            let found = self.tree(in_constants).next(cursor);
            match found.map_err(|fault| self.error(in_constants, fault))? {
                Some(found) => {
                    cursor.index = cursor.index.saturating_add(1);
                    return Ok(Some(found));
                }
                None if !in_constants && self.has_constants() => {
                    *cursor = Cursor::new(0, 1, cursor.index);
                }
                None => return Err(fail(ErrorKind::Malformed, Part::Tensors, self.data_at)), // the bytes have changed
            }
        }
    }

    /// Returns the tensor at a position.
    fn at(&self, position: u32) -> Result<Found<'a>> {
        let in_constants = position & IN_CONSTANTS != 0;
        let found = self.tree(in_constants).at(position & !IN_CONSTANTS);
        found.map_err(|fault| self.error(in_constants, fault))
    }

    /// Finds the storage of a tensor, and compares what its ID states with it.
    fn with_storage(
        &self,
        described: &mut Described,
        in_constants: bool,
        (hint, work): (&mut u32, &mut u64),
    ) -> Result<()> {
        let Some(storage) = described.storage else { return Ok(()) };
        let key = storage.key.bytes(self.pickle(in_constants));
        let flag = if in_constants { IN_CONSTANTS } else { 0 };
        let at = self.offset(storage.key.start | flag);
        let missing = fail(ErrorKind::MissingData, Part::Data, at);
        if self.flags.has(Flags::LEGACY) {
            return Ok(()); // looked for with the storages, and when the data is asked for
        }
        let entry = self.find_storage(key, in_constants, hint, work)?.ok_or(missing)?;
        if !entry.is_stored() {
            return Err(self.archive().error(ErrorKind::UnsupportedEncoding, Part::Encoding, entry.at));
        }
        if entry.stored != storage.bytes {
            return Err(fail(ErrorKind::SizeMismatch, Part::Length, at));
        }
        described.entry = entry.at;
        Ok(())
    }

    /// Checks all trees with `check`. Nearly all files have small reaches, and their tensors stand where they seem to: the
    /// first attempt assumes that. A file that fails is checked without.
    fn check_trees(&mut self, mut check: impl FnMut(&mut Self, &mut Seen<'_, 'a>) -> Result<()>) -> Result<()> {
        let mut plain = *self;
        plain.flags.set(Flags::PLAIN, true);
        plain.reach = Reach::USUAL;
        if plain.check_names(&mut check).is_ok() {
            *self = plain;
            return Ok(());
        }
        self.find_reach()?;
        self.check_names(&mut check)
    }

    /// Finds the reach of the pickles with trees.
    fn find_reach(&mut self) -> Result<()> {
        let mut reach = Reach::of(self.pickle(false));
        if self.has_constants() {
            reach = reach.max(Reach::of(self.pickle(true)));
        }
        self.reach = reach;
        let too_deep = fail(ErrorKind::TooDeep, Part::Value, self.data_at);
        if reach == Reach::LARGE { Err(too_deep) } else { Ok(()) }
    }

    fn check_names(&mut self, check: &mut impl FnMut(&mut Self, &mut Seen<'_, 'a>) -> Result<()>) -> Result<()> {
        Seen::with(u32::MAX, |seen| {
            check(self, seen)?;
            self.flags.set(Flags::DISTINCT_NAMES, seen.are_distinct());
            Ok(())
        })
    }

    /// Checks a whole pickle: its structure, its tensors, their storages. Adds the names to `seen`.
    fn check_tree(
        &mut self,
        in_constants: bool,
        seen: &mut Seen<'_, 'a>,
        storage: impl FnMut(&Storage, u32) -> Result<()>,
    ) -> Result<()> {
        let (mut hint, mut work, mut count) = (0, 0, self.count);
        let mut container = Common::new();
        let (mut deep, length) = (0_u64, crate::bytes::num::to_u64(self.pickle(in_constants).len()));
        let most = self.most_work();
        let (mut words, mut first) = (Words::NONE, None);
        let (file, mut is_plain) = (*self, self.flags.has(Flags::PLAIN));
        let flag = if in_constants { IN_CONSTANTS } else { 0 };
        let tree = self.tree(in_constants);
        let mut visit = |machine: &mut Machine<'a>, found: &Found<'a>, path: Option<&Path>| {
            if !found.is_alias {
                let fault = |fault| file.error(in_constants, fault);
                let mut described = found.described(machine).map_err(fault)?;
                file.with_storage(&mut described, in_constants, (&mut hint, &mut work))?;
                if described.storage.is_some() {
                    described.check_bounds(file.pickle(in_constants)).map_err(fault)?;
                }
                // When tensors are listed, one that is called behind a text is taken for the value of that key.
                is_plain = is_plain && !machine.only_seems_to_be_a_value();
            }
            if work > most {
                return Err(fail(ErrorKind::TooMany, Part::Entry, file.offset(found.position | flag)));
            }
            if let Some(path) = path {
                count = count.saturating_add(1);
                container.add(path);
                first.get_or_insert_with(|| path.container(0));
                let cost = found.listing_cost(path, &tree).map_err(|fault| file.error(in_constants, fault))?;
                deep = deep.saturating_add(cost.unwrap_or(u64::MAX));
                if deep > length.saturating_mul(MOST_DEEP).saturating_add(MORE_DEEP) {
                    return Err(fail(ErrorKind::TooDeep, Part::Name, file.offset(found.position | flag)));
                }
                if found.name.is_joined() {
                    seen.add_joined(tree.write(path, &mut [0; LONGEST_NAME]));
                } else {
                    seen.add(found.name.raw());
                }
            }
            Ok(())
        };
        let checked = tree.check(&mut visit, storage, &mut words);
        checked.map_err(|broken| broken.error(self, in_constants))?;
        self.count = count;
        self.flags.set(Flags::PLAIN, is_plain);
        if !in_constants {
            (self.container, self.words) = (container.container(), words);
            let of_container = first.flatten().filter(|(of, _)| *of == self.container);
            self.first_key = of_container.map_or(0, |(_, key)| key);
        }
        Ok(())
    }

    /// The number of records of the directory that are read to find all storages, at most.
    fn most_work(&self) -> u64 {
        u64::from(self.entries()).saturating_mul(MOST_RECORDS).saturating_add(MORE_RECORDS)
    }

    /// Looks for names, entries and extents that clash.
    fn compare(&self, names: Compared, warnings: &mut Warnings, memory: &mut (impl Memory + ?Sized)) -> Result<()> {
        match names {
            Compared::Clash(place) => {
                let at = self.offset(place & (POSITION | IN_CONSTANTS));
                return Err(fail(ErrorKind::RepeatedName, Part::Name, at));
            }
            Compared::TooMany => warnings.add(Warning::NamesUnchecked),
            Compared::Distinct => {}
        }
        if !self.flags.has(Flags::DISTINCT_ENTRIES) {
            match memory.compare(&mut names::Entries(&self.archive(), None), 0, self.entries())? {
                Compared::Clash(position) => {
                    let at = position.saturating_sub(1);
                    return Err(self.archive().error(ErrorKind::RepeatedName, Part::Entry, at));
                }
                Compared::TooMany => warnings.add(Warning::NamesUnchecked),
                Compared::Distinct => {}
            }
        }
        if !self.flags.has(Flags::SORTED_PLACES) {
            self.archive().compare_places(self.entries(), warnings, memory)?;
        }
        Ok(())
    }

    fn left_by(&self, summary: &Summary) -> Self {
        let (names, places) = (Warning::NamesUnchecked, Warning::ExtentsUnchecked);
        let mut left = *self;
        if !summary.warnings.contains(names) {
            left.flags.set(Flags::DISTINCT_NAMES, true);
            left.flags.set(Flags::DISTINCT_ENTRIES, true);
        }
        left.flags.set(Flags::SORTED_PLACES, !summary.warnings.contains(places));
        left
    }

    /// Fills in the record of a tensor. Its storage is looked for from `hint` on, which moves behind it.
    fn fill(&self, found: &Found<'a>, index: u32, hint: &mut u32, tensor: &mut TensorRecord<'a>) -> Result<()> {
        let in_constants = found.in_constants;
        let mut described = match found.described {
            Some(described) => described,
            None => self.described(&found.base, in_constants)?,
        };
        self.with_storage(&mut described, in_constants, (hint, &mut 0))?;
        let flag = if in_constants { IN_CONSTANTS } else { 0 };
        tensor.set_text(found.name);
        tensor.at = self.offset(found.base.at | flag);
        tensor.components = described.entry;
        tensor.index = index;
        described.fill(self.pickle(in_constants), tensor).map_err(|fault| self.error(in_constants, fault))
    }

    /// Reads the arguments of the function that makes a tensor. Those of most are read without a machine.
    #[inline(never)] // for its machine on the stack
    fn described(&self, base: &Base, in_constants: bool) -> Result<Described> {
        let (pickle, words) = (self.pickle(in_constants), if in_constants { Words::NONE } else { self.words });
        if let Some(described) = base.of_usual().and_then(|at| item::arguments(pickle, at, words)) {
            return Ok(described);
        }
        let described = Described::of(&mut self.machine(in_constants), base);
        described.map_err(|fault| self.error(in_constants, fault))
    }

    /// Returns the arguments of the function that makes a tensor, and whether they are in the second pickle.
    fn base(&self, tensor: &TensorRecord<'a>) -> (Base, bool) {
        let in_data = tensor.at.checked_sub(self.data_at).filter(|at| *at < self.data_length.into());
        let in_constants = tensor.at.checked_sub(self.constants_at).filter(|at| *at < self.constants_length.into());
        let at = in_data.or(in_constants).and_then(|at| u32::try_from(at).ok()).unwrap_or(0);
        let in_constants = in_data.is_none();
        (Base::of_arguments(self.pickle(in_constants), at, tensor.layout_name.bytes()), in_constants)
    }

    /// The order of the bytes of all numbers.
    const fn byte_order(&self) -> ByteOrder {
        if self.flags.has(Flags::BIG) { ByteOrder::Big } else { ByteOrder::Little }
    }

    /// Returns true for the stream that `torch.save` wrote before version 1.6, and false for archives.
    #[must_use]
    pub const fn is_stream(&self) -> bool {
        self.flags.has(Flags::LEGACY)
    }

    /// Returns the names in the pickles that stand for code, in the order of the file, each as often as it occurs. No
    /// reader needs the code: only the names with a meaning for tensors are known, and nothing is ever called.
    #[must_use]
    pub fn globals(&self) -> Globals<'a> {
        Globals::new(self)
    }
}

impl<'a> FileFormat<'a> for PytorchFile<'a> {
    const FORMAT: Format = Format::Pytorch;

    fn open(opening: &ParseContext<'a>) -> ParseResult<Self> {
        let head = opening.keep(Extent::new(0, opening.input.length().min(2)))?;
        if head.first() == Some(&0x80) {
            // The stream of torch.save before 1.6.
            return Self::open_legacy(opening);
        }
        Self::open_archive(opening)
    }

    fn read(&mut self, summary: &mut Summary) -> Result<()> {
        *summary = Summary { warnings: Warnings::default(), tensor_count: self.count.into() };
        if self.flags.has(Flags::PADDED) {
            summary.warnings.add(Warning::TrailingBytes);
        }
        let are_distinct = self.flags.has(Flags::DISTINCT_NAMES);
        let names = if are_distinct { Compared::Distinct } else { repeated::compare_few(self)? };
        self.compare(names, &mut summary.warnings, &mut Stack)
    }

    /// Lists the start of each entry of an archive, and the pickles.
    fn wanted(input: Input<'a>, wanted: &mut Wanted<'_>) {
        if let Ok((archive, _)) = Archive::find(&ParseContext::of(input), Format::Pytorch) {
            archive.each_start(archive::is_read, |start| wanted.add(start));
        }
    }

    fn input(&self) -> Input<'a> {
        self.input
    }

    fn with_input(self, input: Input<'a>) -> Self {
        Self { input, ..self }.with_widths_again()
    }

    fn version(&self) -> Option<&'a str> {
        let mut at = 0;
        while let Ok(Some(entry)) = self.archive().entry(at) {
            if archive::in_folder(entry.name) == b"version" {
                let opening = ParseContext::of(self.input);
                let data = self.archive().data(&opening, &entry, &mut { u64::MAX }).ok()?;
                let text = self.input.get(data)?;
                return core::str::from_utf8(text.strip_suffix(b"\n").unwrap_or(text)).ok();
            }
            at = entry.next;
        }
        None
    }

    fn attributes(&self) -> Attributes<'a> {
        let data = Region { bytes: self.pickle(false), start: self.data_at };
        let constants = if self.has_constants() { self.pickle(true) } else { &[] };
        let constants = Region { bytes: constants, start: self.constants_at };
        Attributes::pytorch(data, constants, self.reach)
    }

    fn next_tensor(&self, cursor: &mut Cursor, tensor: &mut TensorRecord<'a>) -> Result<bool> {
        let (index, mut next) = (cursor.index, *cursor);
        let Some(found) = self.next(&mut next)? else { return Ok(false) };
        // The entries are often in the order in which the tensors refer to them.
        let mut hint = next.left >> 1;
        self.fill(&found, index, &mut hint, tensor)?;
        next.left = hint << 1 | next.left & 1;
        *cursor = next;
        Ok(true)
    }

    fn next_tensor_from(&self, position: u32, index: u32, tensor: &mut TensorRecord<'a>) -> Result<()> {
        self.fill(&self.at(position)?, index, &mut 0, tensor)
    }

    fn check(&self, summary: &Summary, scratch: &mut [u32]) -> Result<Warnings> {
        let mut checked = summary.warnings.without(Warning::NamesUnchecked).without(Warning::ExtentsUnchecked);
        let left = self.left_by(summary);
        let are_distinct = left.flags.has(Flags::DISTINCT_NAMES);
        let names = if are_distinct { Compared::Distinct } else { repeated::compare(&left, scratch)? };
        left.compare(names, &mut checked, scratch)?;
        Ok(checked)
    }

    fn check_length(&self, summary: &Summary) -> u64 {
        let left = self.left_by(summary);
        let names = if left.flags.has(Flags::DISTINCT_NAMES) { 0 } else { self.count };
        let entries = if left.flags.has(Flags::DISTINCT_ENTRIES) && left.flags.has(Flags::SORTED_PLACES) {
            0
        } else {
            self.entries()
        };
        names.max(entries).into()
    }

    fn next_component(
        &self,
        tensor: &TensorRecord<'a>,
        cursor: &mut Cursor,
        part: &mut ComponentRecord<'a>,
    ) -> Result<bool> {
        let (base, in_constants) = self.base(tensor);
        if !base.has_storage() {
            return Ok(false);
        }
        let fault = |fault| self.error(in_constants, fault);
        let pickle = self.pickle(in_constants);
        let described = self.described(&base, in_constants)?;
        let Some(storage) = described.storage.filter(|_| cursor.is_first()) else { return Ok(false) };
        let (data, crc) = if self.flags.has(Flags::LEGACY) {
            (self.legacy_storage(&storage)?, 0)
        } else {
            self.storage(tensor.components)?
        };
        let touched = described.touched(pickle).map_err(fault)?;
        part.dtype = described.dtype();
        part.storage = part.dtype;
        part.order = self.byte_order();
        part.set_extent(Extent::new(data.offset.saturating_add(touched.offset), touched.length));
        part.crc32 = (crc != 0).then_some((crc, data));
        Ok(true)
    }

    fn strides<'r>(&self, tensor: &TensorRecord<'a>, dst: &'r mut [u64]) -> Result<Option<&'r mut [u64]>> {
        let (base, in_constants) = self.base(tensor);
        let pickle = self.pickle(in_constants);
        let described = self.described(&base, in_constants)?;
        let rank = to_usize(u64::from(tensor.shape.rank()));
        let dst = rank.and_then(|rank| dst.get_mut(..rank)).ok_or(Error::new(ErrorKind::TooSmall))?;
        let Some(strides) = described.strides(pickle) else { return Ok(None) };
        dst.iter_mut().zip(strides).for_each(|(to, from)| *to = from);
        Ok(Some(dst))
    }

    fn context(input: Input<'a>, error: &Error) -> Context<'a> {
        explain::context(input, error)
    }
}

impl<'a> NamedTensors<'a> for PytorchFile<'a> {
    fn find(&self, name: &[u8], tensor: &mut TensorRecord<'a>) -> Result<()> {
        let mut index = 0_u32;
        for in_constants in [false, true] {
            if in_constants && !self.has_constants() {
                break;
            }
            let found = self.tree(in_constants).find(name, &mut index);
            if let Some(found) = found.map_err(|fault| self.error(in_constants, fault))? {
                return self.fill(&found, index, &mut 0, tensor);
            }
        }
        Err(Error::new(ErrorKind::NotFound))
    }

    fn next_name(&self, cursor: &mut Cursor) -> Result<Option<Named<'a>>> {
        let Some(found) = self.next(cursor)? else { return Ok(None) };
        let place = found.place(&self.tree(found.in_constants));
        Ok(Some(Named { name: found.name, name_at: place, tensor_at: place }))
    }

    fn name_at(&self, position: u32) -> Name<'a> {
        self.name_of(position).into()
    }

    fn tensor_at(&self, position: u32, index: u32, tensor: &mut TensorRecord<'a>) -> Result<()> {
        self.next_tensor_from(position, index, tensor)
    }
}

impl<'a> PytorchFile<'a> {
    /// Returns the name at a position that [`Found::name_at`] returned.
    fn name_of(&self, position: u32) -> Text<'a> {
        let in_constants = position & IN_CONSTANTS != 0;
        names::name_at(&self.tree(in_constants), position)
    }
}
