//! Checks that time is linear: files that double in one dimension, and the operations on them. The instructions may
//! grow by at most a tenth more than the file.
//!
//! [`TABLE`] lists the dimensions that a file of each format controls. [`cases`] has at least one case for each of
//! them: how to make such a file, and the operations to measure. Quadratic time would come from visiting all
//! preceding items for each item (`list`, `verify`, `read`, `walk`), searching again for what was found before
//! (`find`, `check`, `explain`), starting over with each fetched range (`parts`), or reading one long item once for
//! each other item (the cases with one item as long as all others).
//!
//! valgrind counts the instructions, so a busy machine makes no difference. It runs this program again in several
//! processes, each with a share of the cases, and writes its counts whenever [`measured_work`] returns. Work before
//! the call, such as opening a file to read from it, does not count. `TENSLICE_TIME_FORMAT=npy` measures one format.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))] // where valgrind runs
#![cfg(all(feature = "formats", feature = "digest", feature = "dequantize", feature = "zlib", feature = "zstd"))]

mod doubled;
#[path = "../support/mod.rs"]
mod support;
mod valgrind;

use std::collections::BTreeSet;
use std::hint::black_box;

use tenslice::{Attributes, File, Opened, Purpose, ReadOptions, Source, Tensor};

/// The dimensions that a file of each format controls. `x`: there are cases. `1`: the file has at most one. `-`: the
/// format has no such thing. A number: the format's limit.
const TABLE: &str = "
    dimension        zt1  zt2  safetensors  index  gguf  npz  npy  tens  blz  b2nd  pytorch  onnx  ptd  tflite
    tensors          x    x    x            x      x     x    1    1     1    1     x        x     x    x
    unsorted names   x    -    x            x      x     x    x    1     1    1     x        x     x    x
    unsorted places  -    x    x            -      -     x    1    1     1    -     x        -     -    -
    long texts       x    x    x            x      x     x    -    x     -    -     x        x     x    x
    components       x    x    1            -      1     1    1    1     x    1     1        1     1    16
    unsorted roles   x    -    1            -      1     1    1    1     -    1     1        1     1    -
    attributes       x    x    x            x      x     -    -    -     -    x     x        x     2    x
    nesting          x    x    x            x      x     -    x    -     -    -     x        x     -    -
    rank             x    64   x            -      4     x    x    x     255  16    x        x     256  x
    unknown parts    x    -    x            -      -     x    -    x     -    -     x        x     x    x
    escapes          -    -    x            x      -     -    x    -     -    -     -        -     -    -
    lists            x    -    -            -      x     -    -    -     -    -     -        -     256  x
    data             x    x    x            -      x     x    x    x     x    x     x        x     x    x
    sparse           x    x    -            -      -     -    -    x     -    -     -        x     -    x
    compressed       x    x    -            -      -     x    -    -     -    x     -        x     -    -
    chunks           -    x    -            -      -     -    -    x     -    x     -        -     -    -
    blocks           -    x    -            -      x     -    -    -     -    x     -        -     -    -
    filters          -    -    -            -      -     -    -    -     -    x     -        -     -    -
    shards           -    x    -            -      -     -    -    -     -    -     -        x     -    x
    extra fields     -    -    -            -      -     x    -    -     -    -     -        -     -    -
    comments         -    -    -            -      -     x    -    -     -    -     -        -     -    -
    fields           -    -    -            -      -     x    x    -     -    -     -        -     -    -
    bonds            -    -    -            -      -     -    -    -     x    -     -        -     -    -
    ranges           x    x    x            -      x     x    x    x     x    x     -        x     x    x
    a fault at the end  x    x    x            x      x     x    x    x     x    x     x        x     x    x
";

/// The factor by which the work may grow when the size doubles.
const LINEAR: f64 = 2.2;

/// The factor for sorted items: heapsort makes 2 n log n - 3 n comparisons, which is 2.27 times as many for 900 items
/// as for 450.
const SORTED: f64 = 2.3;

/// An operation on a file, and its name.
type Work = (&'static str, fn(&[u8]));

/// A dimension and a format of [`TABLE`], the case, the smaller size, a function that makes a file of a given size,
/// the operations.
struct Case(&'static str, &'static str, &'static str, usize, fn(usize) -> Vec<u8>, &'static [Work]);

const OPEN: Work = ("open", open);
const REFUSE: Work = ("refuse", refuse);
const LIST: Work = ("list", list);
const FIND: Work = ("find", find);
const INDEX: Work = ("index", index);
/// The same for names that nothing else sorts, since they may repeat.
const INDEX_SORTED: Work = ("index, sorted", index);
const FIND_ALL: Work = ("find all by the index", find_all);
const FIND_AGAIN: Work = ("find again and again by the index", find_again);
const CHECK: Work = ("check", check);
const CHECK_IN_PARTS: Work = ("check with an eighth of the memory", check_in_parts);
const CHECK_IN_LITTLE: Work = ("check with memory of a fixed size", check_in_little);
const CHECK_LENGTH: Work = ("how much memory to check with", check_length);
const ROLES: Work = ("find roles", find_roles);
const WALK: Work = ("walk", walk);
const VERIFY: Work = ("verify", verify);
const READ: Work = ("read", read);
const READ_F32: Work = ("read as f32", read_f32);
const RANGE: Work = ("read a range", read_range);
const SPARSE: Work = ("sparse", sparse);
const EXPLAIN: Work = ("explain", explain);
const PARTS: Work = ("parts", open_in_parts);

/// The operations on many tensors.
const ALL: &[Work] = &[OPEN, LIST, FIND, INDEX, FIND_ALL, VERIFY, READ, EXPLAIN, PARTS];
/// The same without opening in parts: the larger an archive of a few kilobytes is, the more parts are fetched.
const IN_MEMORY: &[Work] = &[OPEN, LIST, FIND, INDEX, FIND_ALL, VERIFY, READ, EXPLAIN];
/// The operations that compare items, on opening or later.
const CHECKED: &[Work] = &[OPEN, CHECK, CHECK_IN_PARTS, CHECK_IN_LITTLE, CHECK_LENGTH];
/// The operations on many tensors that have to be compared.
const COMPARED: &[Work] = &[OPEN, LIST, INDEX, FIND_ALL, CHECK, CHECK_IN_PARTS, CHECK_IN_LITTLE, CHECK_LENGTH];
/// The operations on one tensor.
const ONE: &[Work] = &[OPEN, LIST, VERIFY, READ, EXPLAIN, PARTS];

use doubled::{
    b2nd, blz, gguf, npy, npz, onnx, ptd, pytorch, safetensors as st, tens, tflite, ztensor as zt1, ztensor2 as zt2,
};

const CASES: &[Case] = &[
    Case("tensors", "zt1", "ascending", 250, zt1::tensors, ALL),
    Case("tensors", "zt1", "in a list", 250, zt1::list, ALL),
    Case("tensors", "zt2", "ascending", 250, zt2::tensors, ALL),
    Case("tensors", "safetensors", "ascending", 250, st::tensors, ALL),
    Case("tensors", "index", "falling", 450, st::index, &[OPEN_INDEX, CHECK_INDEX, LIST_INDEX, FIND_IN_INDEX, FILES]),
    Case("tensors", "index", "more than are compared", 1100, st::index, &[OPEN_INDEX, CHECK_INDEX]),
    Case("tensors", "gguf", "ascending", 500, gguf::tensors, ALL),
    Case("tensors", "npz", "ascending", 250, npz::entries, IN_MEMORY),
    Case("unsorted names", "zt1", "falling", 450, zt1::falling_names, COMPARED),
    Case("unsorted names", "zt1", "more than are compared", 1100, zt1::falling_names, COMPARED),
    Case("unsorted names", "zt1", "beginning alike", 1100, zt1::names_alike, COMPARED),
    Case("unsorted names", "zt1", "one behind much else", 450, zt1::name_behind, &[INDEX, FIND_ALL]),
    Case("unsorted names", "zt1", "one again and again", 450, zt1::one_name, &[INDEX]),
    Case("unsorted names", "safetensors", "falling", 450, st::falling_names, COMPARED),
    Case("unsorted names", "safetensors", "more than are compared", 1100, st::falling_tensors, COMPARED),
    Case("unsorted names", "safetensors", "space before one", 450, st::spaced_name, &[INDEX, FIND_ALL]),
    Case("unsorted names", "index", "no names of files", 2200, st::index_of_maps, &[OPEN_INDEX]),
    Case("unsorted names", "index", "of lists", 2200, st::index_of_lists, &[CHECK_INDEX]),
    Case("unsorted names", "gguf", "falling", 450, gguf::falling_tensors, COMPARED),
    Case("unsorted names", "gguf", "more than are compared", 1100, gguf::falling_tensors, COMPARED),
    Case("unsorted names", "gguf", "beginning alike", 1100, gguf::tensors_alike, COMPARED),
    Case("unsorted names", "npz", "falling", 450, npz::falling_entries, COMPARED),
    Case("unsorted names", "npy", "falling fields", 450, npy::falling_fields, &[OPEN]),
    Case("unsorted names", "npy", "more fields than are compared", 1100, npy::falling_fields, CHECKED),
    Case("unsorted names", "npy", "a field as long as all others", 1100, npy::long_field, CHECKED),
    Case("unsorted places", "zt2", "falling", 450, zt2::falling_blobs, &[OPEN, CHECK]),
    Case("unsorted places", "zt2", "more than are compared", 2100, zt2::falling_blobs, CHECKED),
    Case("unsorted places", "zt2", "beside many keys", 2100, zt2::long_part, CHECKED),
    Case("unsorted places", "zt2", "in a shard, beside many keys", 450, zt2::long_part_in_a_shard, CHECKED),
    Case("unsorted places", "zt2", "more in a shard", 1100, zt2::long_part_in_a_shard, CHECKED),
    Case("unsorted places", "safetensors", "falling", 450, st::falling_places, &[OPEN, CHECK]),
    Case("unsorted places", "safetensors", "one with much space", 1100, st::spaced_place, CHECKED),
    Case("unsorted places", "safetensors", "one with much space inside", 1100, st::spaced_end, CHECKED),
    Case("unsorted places", "npz", "more than are compared", 1100, npz::falling_entries, COMPARED),
    Case("long texts", "zt1", "one as long as all others", 1100, zt1::long_name, COMPARED),
    Case("long texts", "zt1", "a name", 1 << 12, zt1::one_long_name, &[OPEN, FIND, EXPLAIN]),
    Case("long texts", "zt2", "a digest", 1 << 17, zt2::long_digest, &[OPEN, LIST]),
    Case("long texts", "safetensors", "one as long as all others", 1100, st::long_name, COMPARED),
    Case("long texts", "index", "a file as long as all others", 450, st::long_file_name, &[FILES]),
    Case("long texts", "gguf", "a hundred strings", 1 << 12, gguf::long_strings, &[OPEN, WALK]),
    Case("long texts", "npz", "one half as long as the directory", 1100, npz::long_name, COMPARED),
    Case("long texts", "tens", "symmetries", 1 << 10, tens::wide_symmetries, &[OPEN, LIST_TENS]),
    Case("components", "zt1", "ascending", 250, zt1::components, &[OPEN, LIST, ROLES, VERIFY, EXPLAIN]),
    Case("components", "zt2", "ascending", 250, zt2::components, &[OPEN, LIST, ROLES, VERIFY, EXPLAIN]),
    Case("components", "blz", "cores", 60, blz::dimensions, &[OPEN, LIST, ROLES, READ, EXPLAIN]),
    Case("unsorted roles", "zt1", "falling", 200, zt1::falling_roles, &[OPEN, LIST, CHECK]),
    Case("unsorted roles", "zt1", "more than are compared", 1100, zt1::falling_roles, CHECKED),
    Case("attributes", "zt1", "texts", 1000, zt1::attributes, &[OPEN, WALK, GET]),
    Case("attributes", "zt2", "texts", 1000, zt2::attributes, &[OPEN, WALK, GET]),
    Case("attributes", "safetensors", "texts", 1000, st::metadata, &[OPEN, WALK, GET, FIND_AGAIN]),
    Case("attributes", "safetensors", "before a tensor", 1000, st::metadata_before_a_tensor, &[INDEX, FIND_AGAIN]),
    Case("attributes", "index", "texts", 1000, st::index_metadata, &[OPEN_INDEX, WALK_INDEX]),
    Case("attributes", "gguf", "numbers", 1000, gguf::pairs, &[OPEN, WALK, GET]),
    Case("attributes", "gguf", "falling", 500, gguf::falling_keys, &[OPEN]),
    Case("attributes", "gguf", "more than are compared", 1100, gguf::falling_keys, CHECKED),
    Case("attributes", "gguf", "falling, of lists", 450, gguf::lists_and_falling_keys, &[OPEN]),
    Case("attributes", "b2nd", "metalayers", 1 << 10, b2nd::metalayers, &[OPEN, METALAYERS]),
    Case("nesting", "zt1", "deep lists", 100, zt1::deep_attributes, &[OPEN, WALK]),
    Case("nesting", "zt1", "open-ended lists", 500, zt1::open_ended, &[OPEN, WALK]),
    Case("nesting", "zt2", "deep keys", 250, zt2::nested_keys, &[OPEN, WALK]),
    Case("nesting", "safetensors", "unknown fields", 50, st::nested_fields, &[OPEN, LIST]),
    Case("nesting", "index", "deep lists", 50, st::nested_metadata, &[OPEN_INDEX, WALK_INDEX]),
    Case("nesting", "gguf", "lists of lists", 1 << 9, gguf::wide_lists, &[OPEN, WALK]),
    Case("nesting", "gguf", "empty lists, as deep as they may be", 1 << 9, gguf::deep_lists, &[OPEN, WALK]),
    Case("nesting", "npy", "records in records", 100, npy::nested_fields, &[OPEN, LIST]),
    Case("rank", "zt1", "lengths", 2000, zt1::rank, ONE),
    Case("rank", "safetensors", "lengths in digits", 2000, st::lengths, ONE),
    Case("rank", "npz", "lengths", 1000, npz::rank, ONE),
    Case("rank", "npy", "lengths", 1000, npy::lengths, ONE),
    Case("rank", "tens", "lengths", 2000, tens::dimensions, ONE),
    Case("unknown parts", "zt1", "keys", 500, zt1::unknown_keys, &[OPEN, LIST, FIND, EXPLAIN]),
    Case("unknown parts", "safetensors", "fields", 1000, st::unknown_fields, &[OPEN, LIST, FIND, EXPLAIN]),
    Case("unknown parts", "npz", "entries that are not named so", 1100, npz::unnamed_entries, COMPARED),
    Case("unknown parts", "npz", "no end", 1 << 12, npz::no_end, &[REFUSE]),
    Case("unknown parts", "tens", "chunks", 1000, tens::chunks, &[OPEN, LIST_TENS]),
    Case("escapes", "safetensors", "names that begin alike", 1100, st::escapes_alike, &[CHECK, FIND_ALL]),
    Case("escapes", "safetensors", "a name", 1 << 10, st::name_of_escapes, &[OPEN, LIST, FIND, EXPLAIN]),
    Case("escapes", "safetensors", "a value", 1 << 10, st::attribute_of_escapes, &[OPEN, WALK]),
    Case("escapes", "index", "names and files", 450, st::index_of_escapes, &[FILES]),
    Case("escapes", "npy", "a title", 1 << 12, npy::escapes, &[OPEN, LIST]),
    Case("lists", "zt1", "a text in pieces", 1000, zt1::pieces, &[OPEN, WALK]),
    Case("lists", "gguf", "strings", 1 << 11, gguf::strings, &[OPEN, WALK, GET]),
    Case("lists", "gguf", "numbers", 1 << 11, gguf::numbers, &[WALK]),
    Case("lists", "gguf", "truth values", 1 << 11, gguf::truths, &[OPEN, WALK]),
    Case("data", "zt1", "with a digest", 1 << 13, zt1::data, &[VERIFY, READ, READ_F32, RANGE]),
    Case("data", "zt2", "with a digest", 1 << 13, zt2::data, &[VERIFY, READ, READ_F32, RANGE]),
    Case("data", "safetensors", "bytes", 1 << 13, st::data, &[READ, READ_F32, RANGE]),
    Case("data", "gguf", "of blocks", 1 << 8, gguf::blocks, &[READ_F32]),
    Case("data", "npz", "with a sum", 1 << 13, npz::data, &[VERIFY, READ, READ_F32, RANGE]),
    Case("data", "npy", "big-endian", 1 << 11, npy::items, &[READ, READ_F32, RANGE]),
    Case("data", "tens", "bytes", 1 << 13, tens::data, &[READ, READ_F32, RANGE]),
    Case("data", "blz", "a dimension", 1 << 9, blz::length, &[OPEN, READ, READ_F32, SUM]),
    Case("data", "b2nd", "padding", 1 << 12, b2nd::padding, &[OPEN, READ]),
    Case("sparse", "zt1", "empty rows", 1 << 10, zt1::rows, &[SPARSE, VERIFY]),
    Case("sparse", "zt1", "short rows", 1 << 10, zt1::short_rows, &[SPARSE, READ]),
    Case("sparse", "zt1", "coordinates", 1 << 10, zt1::coordinates, &[SPARSE, READ]),
    Case("sparse", "zt1", "wide coordinates", 50, zt1::wide_coordinates, &[SPARSE, READ]),
    Case("sparse", "zt1", "coordinates between values", 1 << 10, zt1::packed, &[SPARSE, READ]),
    Case("sparse", "zt2", "empty rows", 1 << 10, zt2::rows, &[SPARSE, VERIFY]),
    Case("sparse", "tens", "pairs", 1 << 10, tens::pairs, &[SPARSE, VERIFY, READ]),
    Case("sparse", "tens", "as many dimensions as pairs", 1 << 10, tens::wide_pairs, &[SPARSE_ONCE, READ]),
    Case("compressed", "zt1", "a stream", 1 << 12, zt1::stream, &[READ, READ_F32]),
    Case("compressed", "zt2", "a frame of empty blocks", 1 << 11, zt2::empty_blocks, &[READ, RANGE]),
    Case("compressed", "npz", "an entry", 1 << 13, npz::deflated, &[READ_COMPONENT]),
    Case("compressed", "b2nd", "blocks", 1 << 9, b2nd::blocks, &[READ, READ_F32]),
    Case("chunks", "zt2", "frames of a byte", 1 << 9, zt2::frames_of_a_byte, &[READ, RANGE, VERIFY, CAPS]),
    Case("chunks", "zt2", "frames of nothing", 1 << 9, zt2::frames_of_nothing, &[READ, RANGE, VERIFY, CAPS]),
    Case("chunks", "tens", "symmetries", 500, tens::symmetries, &[OPEN, LIST_TENS]),
    Case("chunks", "b2nd", "of one length", 1 << 9, b2nd::chunks, &[OPEN, READ, REGION, WORK, CHUNKS]),
    Case(
        "chunks",
        "b2nd",
        "of lengths of their own",
        1 << 9,
        b2nd::chunks_of_own_lengths,
        &[READ, REGION, WORK, CHUNKS],
    ),
    Case("chunks", "b2nd", "that share blocks", 100, b2nd::shared_blocks, &[REGION, MEMORY]),
    Case("chunks", "b2nd", "a million of one", 1 << 20, b2nd::one_chunk_again_and_again, &[REGION, MEMORY]),
    Case("chunks", "b2nd", "empty", 100, b2nd::empty_chunks, &[READ_BETWEEN]),
    Case("blocks", "zt2", "of a frame", 1 << 12, zt2::empty_blocks, &[VERIFY]),
    Case("blocks", "gguf", "of numbers", 1 << 7, gguf::blocks, &[OPEN, READ_F32_RANGE]),
    Case("blocks", "b2nd", "of a chunk", 1 << 9, b2nd::blocks, &[REGION, WORK, MEMORY]),
    Case("filters", "b2nd", "six", 1 << 11, b2nd::filters, &[READ]),
    Case("shards", "zt2", "looked up", 450, zt2::shards, &[OPEN, LIST, CHECK]),
    Case("shards", "zt2", "looked up with memory", 1100, zt2::shards, CHECKED),
    Case("shards", "zt2", "with other keys", 450, zt2::long_shards, &[OPEN, LIST, CHECK]),
    Case("shards", "zt2", "more than there is memory for", 2050, zt2::long_shards_of_many, CHECKED),
    Case("extra fields", "npz", "half as long as the directory", 1100, npz::extra_fields, &[OPEN, CHECK]),
    Case("extra fields", "npz", "behind those of zip64", 1100, npz::wide_extra_fields, CHECKED),
    Case("comments", "npz", "of entries and the archive", 250, npz::comments, &[OPEN, LIST]),
    Case("fields", "npz", "that entries share", 250, npz::shared_head, &[OPEN]),
    Case("fields", "npy", "of a record", 1000, npy::fields, ONE),
    Case("bonds", "blz", "a bond", 1 << 8, blz::bond, &[OPEN, READ, SUM]),
    Case("ranges", "zt1", "tensors", 250, zt1::falling_names, &[PARTS]),
    Case("ranges", "zt2", "tensors", 250, zt2::falling_blobs, &[PARTS]),
    Case("ranges", "safetensors", "tensors", 250, st::falling_tensors, &[PARTS]),
    Case("ranges", "gguf", "pairs", 1 << 13, gguf::pairs, &[PARTS]),
    Case("ranges", "gguf", "strings behind pairs", 1 << 8, gguf::strings_behind_pairs, &[PARTS]),
    Case("ranges", "gguf", "long lists between pairs", 1 << 6, gguf::lists_between_pairs, &[PARTS]),
    Case("ranges", "npz", "entries", 80, npz::long_entries, &[PARTS]),
    Case("ranges", "npy", "fields", 1000, npy::fields, &[PARTS]),
    Case("ranges", "tens", "chunks", 250, tens::chunks, &[PARTS]),
    Case("ranges", "tens", "symmetries", 250, tens::symmetries, &[PARTS]),
    Case("ranges", "blz", "dimensions", 60, blz::dimensions, &[PARTS]),
    Case("ranges", "b2nd", "metalayers", 1 << 10, b2nd::metalayers, &[PARTS]),
    Case("a fault at the end", "zt1", "a tensor", 250, zt1::spoiled, &[REFUSE]),
    Case("a fault at the end", "zt2", "a tensor", 250, zt2::spoiled, &[REFUSE]),
    Case("a fault at the end", "safetensors", "a tensor", 250, st::spoiled, &[REFUSE]),
    Case("a fault at the end", "index", "a name", 250, st::spoiled_index, &[REFUSE_INDEX]),
    Case("a fault at the end", "gguf", "a tensor", 250, gguf::spoiled, &[REFUSE]),
    Case("a fault at the end", "npz", "a name", 250, npz::spoiled, &[REFUSE]),
    Case("a fault at the end", "npy", "a field", 1000, npy::spoiled, &[REFUSE]),
    Case("a fault at the end", "tens", "a chunk", 250, tens::spoiled, &[REFUSE]),
    Case("a fault at the end", "blz", "a bond", 60, blz::spoiled, &[REFUSE]),
    Case("a fault at the end", "b2nd", "an extra metalayer", 1 << 10, b2nd::spoiled, &[REFUSE]),
    Case("tensors", "pytorch", "in the tree", 250, pytorch::tensors, IN_MEMORY),
    Case("tensors", "pytorch", "in a dictionary", 250, pytorch::nested_tensors, &[OPEN, LIST, FIND]),
    Case("tensors", "pytorch", "of an optimizer", 250, pytorch::states, &[OPEN, LIST, WALK]),
    Case("tensors", "pytorch", "of an optimizer behind weights", 120, pytorch::states_behind, &[OPEN, LIST, INDEX]),
    Case("tensors", "pytorch", "of modules", 240, pytorch::modules, &[OPEN, LIST, WALK]),
    Case("tensors", "pytorch", "in a stream", 100, pytorch::stream, &[OPEN, LIST, INDEX]),
    Case("tensors", "pytorch", "in a stream of many widths", 30, pytorch::mixed_stream, &[OPEN, LIST, INDEX]),
    Case("tensors", "pytorch", "in pairs", 250, pytorch::pairs, &[OPEN, LIST]),
    Case("unsorted names", "pytorch", "in a dictionary", 1100, pytorch::nested_tensors, &[OPEN, CHECK]),
    Case("unsorted places", "pytorch", "descending", 450, pytorch::falling_storages, &[OPEN, LIST, CHECK]),
    Case("unsorted places", "pytorch", "as texts", 450, pytorch::storages_as_texts, &[OPEN, LIST, FIND_ALL]),
    Case("long texts", "pytorch", "one name", 450, pytorch::long_name, &[OPEN, LIST, CHECK]),
    Case("attributes", "pytorch", "of all kinds", 500, pytorch::attributes, &[OPEN, WALK]),
    Case("attributes", "pytorch", "in the memo", 1000, pytorch::memo, &[OPEN, WALK]),
    Case("nesting", "pytorch", "dictionaries around each tensor", 100, pytorch::deep_tensors, &[OPEN, LIST]),
    Case("rank", "pytorch", "ones", 1000, pytorch::rank, &[OPEN, LIST]),
    Case("unknown parts", "pytorch", "storages", 250, pytorch::unused_storages, &[OPEN, CHECK]),
    Case("unknown parts", "pytorch", "more than are compared", 1100, pytorch::unused_storages, &[OPEN, CHECK]),
    Case("data", "pytorch", "a tensor", 1 << 13, pytorch::data, &[VERIFY, READ]),
    Case("a fault at the end", "pytorch", "an opcode", 250, pytorch::spoiled, &[REFUSE]),
    Case("tensors", "onnx", "initializers", 250, onnx::tensors, IN_MEMORY),
    Case("tensors", "onnx", "constants", 250, onnx::constants, IN_MEMORY),
    Case("tensors", "onnx", "in parts", 4000, onnx::tensors, &[PARTS]),
    Case("unsorted names", "onnx", "falling", 450, onnx::falling_names, COMPARED),
    Case("unsorted names", "onnx", "more than are compared", 1100, onnx::falling_names, COMPARED),
    Case("long texts", "onnx", "a name behind numbers", 450, onnx::long_name, COMPARED),
    Case("attributes", "onnx", "of the model", 500, onnx::metadata, &[OPEN, WALK, GET]),
    Case("attributes", "onnx", "of a tensor", 500, onnx::tensor_metadata, &[OPEN, LIST, WALK]),
    Case("nesting", "onnx", "graphs beside each other", 250, onnx::graphs, &[OPEN, LIST, FIND, INDEX, WALK]),
    Case("nesting", "onnx", "5 graphs around each tensor", 100, onnx::deep_graphs, &[OPEN, LIST, INDEX, FIND_ALL]),
    Case("nesting", "onnx", "16 graphs around each tensor", 60, onnx::deepest_graphs, &[OPEN, LIST, INDEX]),
    Case("nesting", "onnx", "tensors in 16 graphs", 250, onnx::deep_tensors, &[OPEN, LIST, WALK]),
    Case("nesting", "onnx", "the name of a graph behind tensors", 250, onnx::late_name, &[OPEN, LIST, WALK]),
    Case("rank", "onnx", "ones", 1000, onnx::rank, &[OPEN, LIST]),
    Case("rank", "onnx", "packed ones", 1000, onnx::packed_rank, &[OPEN, LIST]),
    Case("unknown parts", "onnx", "fields", 1000, onnx::unknown_fields, &[OPEN, LIST, FIND]),
    Case("data", "onnx", "a tensor", 1 << 13, onnx::data, &[VERIFY, READ]),
    Case("ranges", "onnx", "of a tensor", 1 << 13, onnx::data, &[RANGE]),
    Case("compressed", "onnx", "numbers in a run", 1 << 12, onnx::varints, &[OPEN, READ, READ_F32]),
    Case("compressed", "onnx", "numbers that are not packed", 1 << 12, onnx::single_numbers, &[OPEN, LIST, READ]),
    Case("sparse", "onnx", "indices", 1 << 11, onnx::sparse, &[OPEN, VERIFY, READ]),
    Case("shards", "onnx", "a file for each tensor", 250, onnx::shards, &[OPEN, LIST, INDEX]),
    Case("a fault at the end", "onnx", "a tensor", 250, onnx::spoiled, &[REFUSE]),
    Case("tensors", "ptd", "ascending", 250, ptd::tensors, ALL),
    Case("tensors", "ptd", "of one segment", 250, ptd::shared, ALL),
    Case("tensors", "ptd", "of the highest rank", 60, ptd::strided, &[OPEN, LIST, FIND, INDEX, WALK]),
    Case("unsorted names", "ptd", "falling", 450, ptd::falling_tensors, COMPARED),
    Case("unsorted names", "ptd", "more than are compared", 1100, ptd::falling_tensors, COMPARED),
    Case("unsorted names", "ptd", "beginning alike", 1100, ptd::tensors_alike, COMPARED),
    Case("long texts", "ptd", "one as long as all others", 1100, ptd::long_name, COMPARED),
    Case("unknown parts", "ptd", "segments", 1000, ptd::unused_segments, &[OPEN, LIST, FIND, EXPLAIN]),
    Case("data", "ptd", "bytes", 1 << 10, ptd::data, &[READ, READ_F32, RANGE]),
    Case("data", "ptd", "in another order", 1 << 10, ptd::strided_data, &[READ, READ_F32]),
    Case("ranges", "ptd", "tensors", 250, ptd::falling_tensors, &[PARTS]),
    Case("a fault at the end", "ptd", "a tensor", 250, ptd::spoiled, &[REFUSE]),
    Case("tensors", "tflite", "with buffers", 250, tflite::tensors, ALL),
    Case("tensors", "tflite", "of one buffer", 250, tflite::shared, ALL),
    Case("unsorted names", "tflite", "falling", 450, tflite::falling, &[OPEN, LIST, INDEX_SORTED, FIND_ALL]),
    Case("unsorted names", "tflite", "all empty", 450, tflite::nameless, &[OPEN, LIST, INDEX_SORTED]),
    Case("tensors", "tflite", "in a subgraph each", 250, tflite::subgraphs, ALL),
    Case("tensors", "tflite", "between activations", 250, tflite::activations, ALL),
    Case("long texts", "tflite", "one as long as all others", 1100, tflite::long_name, &[OPEN, LIST, FIND, FIND_ALL]),
    Case("long texts", "tflite", "a description", 1 << 12, tflite::description, &[OPEN, WALK]),
    Case("attributes", "tflite", "of tensors", 250, tflite::quantized, &[OPEN, LIST, WALK]),
    Case("attributes", "tflite", "metadata", 500, tflite::metadata, &[OPEN, WALK, GET]),
    Case("rank", "tflite", "lengths", 1000, tflite::rank, ONE),
    Case("unknown parts", "tflite", "buffers", 1000, tflite::unused_buffers, &[OPEN, LIST, FIND, EXPLAIN]),
    Case("unknown parts", "tflite", "empty subgraphs", 1000, tflite::empty_subgraphs, &[OPEN, LIST, FIND]),
    Case("lists", "tflite", "scales", 1 << 10, tflite::channels, &[OPEN, WALK, READ_F32]),
    Case("data", "tflite", "bytes", 1 << 13, tflite::data, &[READ, READ_F32, RANGE]),
    Case("data", "tflite", "quantized", 1 << 13, tflite::quantized_data, &[READ, READ_F32]),
    Case("data", "tflite", "texts", 1 << 10, tflite::texts, &[VERIFY]),
    Case("sparse", "tflite", "rows", 1 << 10, tflite::rows, &[OPEN, VERIFY]),
    Case("shards", "tflite", "rising", 250, tflite::external_rising, &[OPEN, LIST, FIND_ALL]),
    Case("shards", "tflite", "falling", 250, tflite::external_falling, &[OPEN, LIST, FIND_ALL]),
    Case("ranges", "tflite", "tensors", 2000, tflite::tensors, &[PARTS]),
    Case("a fault at the end", "tflite", "a tensor", 250, tflite::spoiled, &[REFUSE]),
];

/// Runs the measured work. valgrind finds this function by name.
#[inline(never)]
fn measured_work<T>(work: impl FnOnce() -> T) -> T {
    black_box(work())
}

fn open(bytes: &[u8]) {
    let _ = measured_work(|| File::open(bytes));
}

fn refuse(bytes: &[u8]) {
    let text = measured_work(|| File::open(bytes).unwrap_err().explain(bytes).to_string());
    assert!(text.len() > 20, "{text}");
}

fn list(bytes: &[u8]) {
    let file = File::open(bytes).unwrap();
    let sum = measured_work(|| {
        let of_component =
            |component: tenslice::Component<'_>| component.role().len() as u64 + component.extent().length;
        let of_tensor = |tensor: Tensor<'_>| {
            let shape: u64 = tensor.shape().iter().fold(0, u64::wrapping_add);
            tensor.components().map(of_component).fold(shape.wrapping_add(1), u64::wrapping_add)
        };
        file.tensors().map(of_tensor).fold(0, u64::wrapping_add)
    });
    assert!(sum > 0);
}

/// Finds the last tensor, and looks for a missing one.
fn find(bytes: &[u8]) {
    let file = File::open(bytes).unwrap();
    let name = file.tensors().last().unwrap().name().to_string();
    assert!(measured_work(|| file.find(&name).is_ok() && file.find("there is none").is_err()));
}

fn index(bytes: &[u8]) {
    let file = File::open(bytes).unwrap();
    let mut words = vec![0; file.index_length().unwrap()];
    assert!(measured_work(|| file.index(&mut words).is_ok()));
}

fn find_all(bytes: &[u8]) {
    let file = File::open(bytes).unwrap();
    let mut words = vec![0; file.index_length().unwrap()];
    let index = file.index(&mut words).unwrap();
    let names: Vec<String> = file.tensors().map(|tensor| tensor.name().to_string()).collect();
    assert!(measured_work(|| names.iter().all(|name| index.find(name).is_ok())));
}

/// Finds the first tensor by the index, and looks for a missing one, each once for every 16 bytes of the file.
fn find_again(bytes: &[u8]) {
    let file = File::open(bytes).unwrap();
    let mut words = vec![0; file.index_length().unwrap()];
    let index = file.index(&mut words).unwrap();
    let name = file.tensors().next().map(|tensor| tensor.name().to_string());
    let found = measured_work(|| {
        let find =
            |_| index.find("there is none").is_err() && name.as_ref().is_none_or(|name| index.find(name).is_ok());
        (0..bytes.len() / 16).all(find)
    });
    assert!(found);
}

/// Checks the file with exactly the memory that comparing everything at once needs.
fn check(bytes: &[u8]) {
    let file = File::open(bytes).unwrap();
    let mut memory = vec![0; file.check_length().unwrap()];
    assert!(measured_work(|| file.check(&mut memory).is_ok()));
}

/// Checks the file with the least possible memory, so that it is read eight times. (Shards are not read in parts.)
fn check_in_parts(bytes: &[u8]) {
    let file = File::open(bytes).unwrap();
    let shards = file.as_ztensor2().map_or(0, |file| file.shards().count());
    let mut memory = vec![0; (file.check_length().unwrap().div_ceil(8) + 1).max(2 * shards)];
    assert!(measured_work(|| file.check(&mut memory).is_ok()));
}

/// Checks the file with memory that does not grow with the file. The check may refuse if it needs more than eight
/// times that memory.
fn check_in_little(bytes: &[u8]) {
    let file = File::open(bytes).unwrap();
    let (mut one, mut some) = ([0], [0; 40]);
    let compared = measured_work(|| [file.check(&mut one).is_ok(), file.check(&mut some).is_ok()]);
    let length = file.check_length().unwrap();
    assert!([1, 40].into_iter().zip(compared).all(|(words, is_compared)| is_compared || length > words));
}

fn check_length(bytes: &[u8]) {
    let file = File::open(bytes).unwrap();
    assert!(measured_work(|| file.check_length().is_some()));
}

/// Finds the last component of the last tensor, and looks for a missing one.
fn find_roles(bytes: &[u8]) {
    let tensor = File::open(bytes).unwrap().tensors().last().unwrap();
    let role = tensor.components().last().unwrap();
    let found = measured_work(|| tensor.component(role.role()).is_ok() && tensor.component("none").is_err());
    assert!(found);
}

/// Walks through all attributes, the values in them, and the characters of their texts.
fn walk(bytes: &[u8]) {
    let file = File::open(bytes).unwrap();
    let attributes = [file.attributes()].into_iter().chain(file.tensors().map(|tensor| tensor.attributes()));
    assert!(measured_work(|| attributes.map(count).sum::<usize>()) > 100);
}

fn count(attributes: Attributes<'_>) -> usize {
    let of = |attribute: tenslice::Attribute<'_>| {
        attribute.value.as_text().map_or(1, |text| text.length()) + attribute.value.items().map_or(0, count)
    };
    attributes.map(of).sum()
}

/// Finds the last attribute, and looks for a missing one.
fn get(bytes: &[u8]) {
    let attributes = File::open(bytes).unwrap().attributes();
    let last = attributes.last().unwrap().key.unwrap().as_text().unwrap().to_string();
    assert!(measured_work(|| attributes.get(&last).is_some() && attributes.get("none").is_none()));
}
const GET: Work = ("get", get);

fn verify(bytes: &[u8]) {
    let file = File::open(bytes).unwrap();
    let mut memory = vec![0; file.requirements(Purpose::Verify).scratch.unwrap() as usize];
    let verified = measured_work(|| {
        file.requirements(Purpose::Verify).scratch.unwrap();
        file.verify(ReadOptions::new().scratch(&mut memory))
    });
    assert!(verified.is_ok());
}

/// Reads all tensors that can be read.
fn read(bytes: &[u8]) {
    let file = File::open(bytes).unwrap();
    let lengths = |tensor: Tensor<'_>| {
        [tensor.requirements(Purpose::Read).output, tensor.requirements(Purpose::Read).scratch]
            .map(|length| length.unwrap_or(0))
    };
    let [dst, scratch] = file.tensors().map(lengths).fold([0; 2], |[a, b], [c, d]| [c.max(a), d.max(b)]);
    let (mut dst, mut scratch) = (vec![0; dst as usize], vec![0; scratch as usize]);
    measured_work(|| {
        for tensor in &file {
            let [length, memory] = lengths(tensor);
            let read = tensor
                .read_into(&mut dst[..length as usize], ReadOptions::new().scratch(&mut scratch[..memory as usize]));
            assert_eq!(read.unwrap().len() as u64, length);
        }
    });
}

/// Decodes the first component.
fn read_component(bytes: &[u8]) {
    let tensor = File::open(bytes).unwrap().tensors().next().unwrap();
    let component = tensor.components().next().unwrap();
    let mut dst = vec![0; component.decoded_length().unwrap() as usize];
    measured_work(|| component.read_into(&mut dst, ReadOptions::new()).map(|_| ())).unwrap();
}
const READ_COMPONENT: Work = ("read a component", read_component);

fn read_f32(bytes: &[u8]) {
    let tensor = File::open(bytes).unwrap().tensors().next().unwrap();
    let mut dst = vec![0.0; tensor.shape().element_count().unwrap() as usize];
    let mut scratch = vec![0; tensor.requirements(Purpose::ReadF32).scratch.unwrap() as usize];
    assert!(measured_work(|| tensor.read_f32_into(&mut dst, ReadOptions::new().scratch(&mut scratch)).is_ok()));
}

/// Reads all numbers, eight at a time.
fn read_f32_range(bytes: &[u8]) {
    let tensor = File::open(bytes).unwrap().tensors().next().unwrap();
    let parts = tensor.shape().element_count().unwrap() / 8;
    assert!(measured_work(|| (0..parts).all(|part| tensor.read_f32_range(8 * part, &mut [0.0; 8]).is_ok())));
}
const READ_F32_RANGE: Work = ("read ranges as f32", read_f32_range);

/// Reads the last four bytes of a component.
fn read_range(bytes: &[u8]) {
    let tensor = File::open(bytes).unwrap().tensors().next().unwrap();
    let data = tensor.data().unwrap();
    let at = data.decoded_length().unwrap().saturating_sub(4);
    let mut dst = vec![0; (data.decoded_length().unwrap() - at) as usize];
    let mut scratch = vec![0; data.requirements(Purpose::ReadRange).scratch.unwrap() as usize];
    let is_read = measured_work(|| {
        // Constant time for raw bytes, so they are read once for every 16 bytes.
        let times = if data.bytes().is_ok() { data.decoded_length().unwrap() / 16 } else { 1 };
        (0..times).all(|_| data.read_range_into(at, &mut dst, ReadOptions::new().scratch(&mut scratch)).is_ok())
    });
    assert!(is_read);
}

fn caps(bytes: &[u8]) {
    let tensor = File::open(bytes).unwrap().tensors().next().unwrap();
    let data = tensor.data().unwrap();
    assert!(measured_work(|| data.caps().range && data.requirements(Purpose::ReadRange).scratch.is_some()));
}
const CAPS: Work = ("caps", caps);

/// Checks the indices, walks through all values with their indices, and looks one up.
fn sparse(bytes: &[u8]) {
    let tensor = File::open(bytes).unwrap().tensors().next().unwrap();
    let rank = tensor.shape().rank() as usize;
    let (mut indices, mut sum) = (vec![0; rank], 0);
    measured_work(|| {
        let sparse = tensor.sparse(ReadOptions::new()).unwrap();
        for entry in &sparse {
            sum += entry.indices(&mut indices).unwrap().iter().sum::<u64>();
        }
        assert!(sparse.get(&vec![0; rank]).is_some() || sum > 0);
    });
}

/// Checks the indices, and looks one up.
fn sparse_once(bytes: &[u8]) {
    let tensor = File::open(bytes).unwrap().tensors().next().unwrap();
    let at = vec![0; tensor.shape().rank() as usize];
    assert!(measured_work(|| tensor.sparse(ReadOptions::new()).unwrap().get(&at).is_some()));
}
const SPARSE_ONCE: Work = ("sparse, without its indices", sparse_once);

/// Explains an error of the last tensor, and one of its last component.
fn explain(bytes: &[u8]) {
    let tensor = File::open(bytes).unwrap().tensors().last().unwrap();
    let of_tensor = tensor.read_elements::<u128>(&mut [], ReadOptions::new()).unwrap_err();
    let of_component = tensor.components().last().unwrap().as_slice::<u128>().unwrap_err();
    let text = measured_work(|| [of_tensor, of_component].map(|error| error.explain(bytes).to_string()));
    assert!(text.iter().all(|text| text.contains("[at byte")), "{text:?}");
}

/// Opens a file over a source that is given the requested ranges.
fn open_in_parts(bytes: &[u8]) {
    measured_work(|| {
        let mut source = Source::new(bytes.len() as u64);
        while let Opened::Need(need) = File::open_source(&source).unwrap() {
            let from = need.extent.offset as usize;
            source.add(need.extent.offset, &bytes[from..][..need.extent.length as usize]).unwrap();
        }
    });
}

fn index_file(text: &[u8]) -> tenslice::safetensors::Index<'_> {
    tenslice::safetensors::Index::open(text).unwrap()
}

fn open_index(text: &[u8]) {
    measured_work(|| index_file(text));
}
const OPEN_INDEX: Work = ("open", open_index);

fn refuse_index(text: &[u8]) {
    let said = measured_work(|| tenslice::safetensors::Index::open(text).unwrap_err().explain(text).to_string());
    assert!(said.len() > 20, "{said}");
}
const REFUSE_INDEX: Work = ("refuse", refuse_index);

fn check_index(text: &[u8]) {
    let index = index_file(text);
    let mut memory = vec![0; index.tensor_count() as usize];
    assert!(measured_work(|| index.check(&mut memory).is_ok()));
}
const CHECK_INDEX: Work = ("check", check_index);

fn list_index(text: &[u8]) {
    let index = index_file(text);
    assert!(measured_work(|| index.entries().map(|entry| entry.file.length()).sum::<usize>()) > 0);
}
const LIST_INDEX: Work = ("list", list_index);

fn find_in_index(text: &[u8]) {
    let index = index_file(text);
    let name = index.entries().last().unwrap().name.to_string();
    assert!(measured_work(|| index.find(&name).is_ok() && index.find("there is none").is_err()));
}
const FIND_IN_INDEX: Work = ("find", find_in_index);

fn list_files(text: &[u8]) {
    let index = index_file(text);
    let mut scratch = vec![0; index.tensor_count() as usize];
    assert_eq!(measured_work(|| index.files(&mut scratch).unwrap().count()) as u64, index.tensor_count());
}
const FILES: Work = ("files", list_files);

fn walk_index(text: &[u8]) {
    let index = index_file(text);
    assert!(measured_work(|| count(index.metadata())) > 1000);
}
const WALK_INDEX: Work = ("walk", walk_index);

/// Lists the chunks, and the indices that a symmetry maps to.
fn list_tens(bytes: &[u8]) {
    let tens = File::open(bytes).unwrap().as_tens().unwrap();
    let found = measured_work(|| {
        tens.chunks().filter(|chunk| chunk.symmetry().is_none_or(|one| one.map().len() > 1)).count()
    });
    assert!(found > 10);
}
const LIST_TENS: Work = ("chunks", list_tens);

/// Computes the sum of all elements, and one element.
fn sum(bytes: &[u8]) {
    let train = File::open(bytes).unwrap().as_blz().unwrap().train().unwrap();
    let mut scratch = vec![0; train.element_scratch() as usize];
    assert!(measured_work(|| train.sum(&mut scratch).unwrap().value()[0]) > 0.0);
}
const SUM: Work = ("sum", sum);

fn frame(bytes: &[u8]) -> tenslice::b2nd::Frame<'_> {
    File::open(bytes).unwrap().as_b2nd().unwrap()
}

/// Reads the tenth-last byte of a frame.
fn read_region(bytes: &[u8]) {
    let frame = frame(bytes);
    let at = frame.shape().element_count().unwrap() - 10;
    let mut dst = [0];
    measured_work(|| {
        frame.read_region(&[at], &[at + 1], &mut dst, ReadOptions::new().scratch(&mut [0; 8192])).map(|_| ())
    })
    .unwrap();
    assert_eq!(dst, [7]);
}
const REGION: Work = ("read a region", read_region);

/// Asks for the memory for ten bytes, and for the whole frame.
fn ask_for_memory(bytes: &[u8]) {
    let frame = frame(bytes);
    let end = frame.shape().element_count().unwrap();
    let lengths = measured_work(|| {
        [end - 10, 0].map(|start| frame.region_requirements(&[start], &[end]).unwrap().scratch.unwrap())
    });
    assert!(lengths[0] <= lengths[1]);
}
const MEMORY: Work = ("ask for memory", ask_for_memory);

fn ask_for_work(bytes: &[u8]) {
    let frame = frame(bytes);
    let end = frame.shape().element_count().unwrap();
    assert!(measured_work(|| frame.work_length(&[0], &[end]).unwrap()) <= end);
}
const WORK: Work = ("ask for the work", ask_for_work);

/// Looks up every chunk.
fn look_up_chunks(bytes: &[u8]) {
    let frame = frame(bytes);
    let mut scratch = vec![0; frame.table_scratch_length().unwrap() as usize];
    assert!(measured_work(
        || (0..frame.chunk_count()).all(|index| frame.chunk(index, ReadOptions::new().scratch(&mut scratch)).is_ok())
    ));
}
const CHUNKS: Work = ("look up chunks", look_up_chunks);

/// Reads as many bytes as there are periods, or detects that the lengths do not add up.
fn read_between(bytes: &[u8]) {
    let frame = frame(bytes);
    let turns = (frame.chunk_count() as f64).sqrt() as u64 - 1;
    let mut dst = vec![0; turns as usize];
    measured_work(|| frame.read_region(&[0], &[turns], &mut dst, ReadOptions::new().scratch(&mut [0; 4096])).is_ok());
}
const READ_BETWEEN: Work = ("read between", read_between);

/// Reads the metalayers, and decodes those of the trailer.
fn read_metalayers(bytes: &[u8]) {
    let frame = frame(bytes);
    let mut dst = vec![0; bytes.len()];
    let length = measured_work(|| {
        let fixed: usize = frame.metalayers().map(|one| one.content.iter().filter(|byte| **byte == 7).count()).sum();
        let mut decoded =
            |one: &_| frame.variable_metalayer(one).unwrap().read_into(&mut dst, ReadOptions::new()).unwrap().len();
        fixed + frame.variable_metalayers().map(|one| decoded(&one)).sum::<usize>()
    });
    assert!(length > 100);
}
const METALAYERS: Work = ("metalayers", read_metalayers);

/// Every dimension of every format has a case, or a reason for having none.
#[test]
fn every_dimension_has_a_case() {
    let mut lines = TABLE.lines().filter(|line| !line.trim().is_empty());
    let formats: Vec<&str> = lines.next().unwrap().split_whitespace().skip(1).collect();
    let mut marked = BTreeSet::new();
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, marks) = words.split_at(words.len() - formats.len());
        let marks = formats.iter().zip(marks).filter(|(_, mark)| **mark == "x");
        marked.extend(marks.map(|(format, _)| (name.join(" "), format.to_string())));
    }
    let cases = CASES.iter().map(|Case(dimension, format, ..)| (dimension.to_string(), format.to_string()));
    assert_eq!(marked, cases.collect());
}
