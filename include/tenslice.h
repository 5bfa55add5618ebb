/*
 * tenslice: opens tensor files from borrowed bytes, without allocating and without copying.
 *
 *     static const uint64_t shape[] = {64, 32};
 *     static const tenslice_expected expected = {sizeof expected, TENSLICE_F32, 2, shape};
 *     tenslice_file file;
 *     tenslice_bytes bytes;
 *     if (tenslice_file_open(&file, model, model_size, NULL) != TENSLICE_OK) return fail();
 *     if (tenslice_file_get(&file, TENSLICE_STR("layer1.weight"), &expected, &bytes, NULL) != TENSLICE_OK)
 *         return fail();
 *     const float *numbers = (const float *)bytes.data; // points into the model's bytes
 *
 * This header declares the functions that all formats share. It includes the headers in the folder tenslice/:
 * types.h (handles and other common types), codes.h (the numbers of statuses, dtypes, formats and other codes), and
 * one header for each format that has functions of its own. The rules below hold for every call; the comments of the
 * functions do not repeat them.
 *
 * Ownership. The caller owns all memory: the bytes of the file, and the handles. Handles are plain structs that may
 * be placed anywhere and copied by assignment. (A copy of a tenslice_source does not replace the original: whatever
 * was opened from the original needs it in place.) The library allocates nothing, so nothing needs to be freed or
 * closed. Exception: a library with the feature zstd-c or zstd-ruzstd allocates memory while it decodes Zstandard.
 * With zstd-ruzstd that is up to about twice the smaller of a stream's window and its output, and if an allocation
 * fails, the library terminates the program.
 *
 * Lifetimes. A handle, a string or a pointer to bytes is valid for as long as the bytes that the file was opened
 * from stay in place, unchanged. If the file was opened from a source, the source must also stay in place, unmoved
 * and unchanged. The bytes passed to tenslice_component_with_bytes and the words passed to tenslice_file_index must
 * stay in place in the same way. A returned const char * is NUL-terminated and valid forever; for an unknown number
 * it is "?".
 *
 * Status. Every call that can fail returns a tenslice_status: TENSLICE_OK (0), TENSLICE_END after the last item of
 * an iteration, TENSLICE_NEED if a range of the file must be fetched first, or an error code of 100 or more.
 * Comments list the errors of a call, without the prefix TENSLICE_. They omit errors that any call may return:
 * INVALID_ARGUMENT and INVALID_HANDLE (see Arguments), and codes of 200 or more if the bytes have changed since the
 * file was opened. A call that fails leaves its outputs unchanged, unless its comment says otherwise. The details of
 * an error are written to `error`; tenslice_error_text formats them as a message.
 *
 * Arguments. NULL, misaligned pointers, absurd lengths, zeroed handles (tenslice_file file = {0};) and handles of
 * another kind result in INVALID_ARGUMENT or INVALID_HANDLE, not in a crash. NULL is allowed for `error` if `error`
 * is an output, for `options` (NULL selects the built-in decoder and no scratch memory), and for any parameter
 * documented as optional. A call for files of one format returns INVALID_ARGUMENT for a file of another format. A
 * handle is recognised by the number at its start; the rest of the handle is not checked. Never pass uninitialised
 * memory, or a handle that anything but this library has written to.
 *
 * Strings are passed in as a pointer and a length, in UTF-8. TENSLICE_STR expands to both for a literal. For a
 * NUL-terminated string, pass TENSLICE_NUL as the length. Names are compared byte by byte. Strings of a file are
 * returned as a tenslice_str, which is not NUL-terminated. Texts that the library makes are written to `buffer`,
 * NUL-terminated; `needed` (may be NULL) is set to the number of bytes needed, including the NUL. If `capacity` is
 * smaller, the error is TOO_SMALL, and nothing is written.
 *
 * Structs that begin with struct_size grow at their end in later versions: set it to sizeof the struct before the
 * call, as TENSLICE_INIT does. A newer library fills no more than that size.
 *
 * Buffers. Decoded data is written to the `capacity` bytes at `destination`, of any alignment. `length` (may be
 * NULL) is set to the number of bytes written or, after TOO_SMALL, to the number needed. If the file does not state
 * the number needed, `length` is set to UINT64_MAX: try again with a larger destination. If the number is known,
 * nothing has been written after TOO_SMALL. Some calls need scratch memory: working memory of any alignment, which
 * the caller passes in a tenslice_read_options. Call tenslice_tensor_requirements with the TENSLICE_PURPOSE_ code of
 * the call for the number of bytes. With fewer bytes the error is OUT_OF_SCRATCH. A decoder may use all of the
 * destination as its working memory: bytes after the result are unspecified, and if stored bytes turn out to be
 * corrupt, so are all of them.
 *
 * Overlap. Memory that a call fills by pointer and length (a destination, scratch memory, an array, a string buffer)
 * must not share a byte with any other argument except `error`. A handle must not share a byte with the bytes that
 * it is made from. Otherwise the call returns INVALID_ARGUMENT and changes no memory. An output must also not be
 * inside the bytes of an open file, or inside memory that a field of an argument points to; this is not checked.
 *
 * Threads. There is no global state. Calls that take handles by const pointer may run in any number of threads at
 * once.
 *
 * Contents:
 *     Simple use
 *     Tensors of a file
 *     Many names: an index
 *     Many tensors: a list
 *     A model in several files
 *     A tensor
 *     Decoding: a tensor as a dense array
 *     Numbers as floats
 *     A file and its warnings
 *     Components
 *     Ranges: files that are not in memory
 *     Reading many tensors
 *     Sparse tensors
 *     Attributes
 *     Strings
 *     Verifying digests
 *     Versions and features
 *
 * Generated by `make header` from src/capi and include/contents.md: do not edit. C99, also C++.
 */
#ifndef TENSLICE_H
#define TENSLICE_H

#include "tenslice/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Simple use -----------------------------------------------------------------------------------------------------
 *
 * Open a file, get the bytes of a known tensor, and print the error if that fails.
 */

/**
 * Opens the file in the `length` bytes at `data`. The bytes must stay in place while `file` or anything made from it
 * is used. Checks the whole structure in one pass over the metadata; reads no tensor data. The bytes may have any
 * alignment, but a call that returns elements in place returns MISALIGNED if the elements are not aligned.
 *
 * Errors: the first rule that the file breaks.
 */
tenslice_status tenslice_file_open(tenslice_file *file, const void *data, size_t length, tenslice_error *error);

/** The tensor that a program expects: its type and its shape. A NULL pointer stands for any dense tensor. */
typedef struct {
    uint32_t struct_size; /**< Size of this struct in bytes, set by the caller. */
    /** The type in which the elements are stored: a dtype, a block type (TENSLICE_GGML_Q4_0), or TENSLICE_ANY. If a
     *  shape is expected, the elements must be in row-major order or, with TENSLICE_COLUMN_MAJOR combined by `|`, in
     *  column-major order. If at most one dimension is longer than 1, both orders are the same. With
     *  TENSLICE_ANY_SHAPE and without TENSLICE_COLUMN_MAJOR, either order is accepted; tenslice_tensor_strides
     *  returns the strides. */
    uint32_t dtype;
    size_t rank; /**< Number of dimensions; 0 for a scalar; TENSLICE_ANY_SHAPE for any shape. */
    const uint64_t *shape; /**< The `rank` lengths, in the order of the file. Not read if any shape is accepted. */
} tenslice_expected;

/** Pass as `rank` to accept any shape. */
#define TENSLICE_ANY_SHAPE SIZE_MAX

/** Combine with the dtype by | to expect elements in column-major order: see tenslice_expected. */
#define TENSLICE_COLUMN_MAJOR UINT32_C(0x80000000)

/**
 * Finds the tensor named `name`, compares it with what is `expected`, and sets `bytes` to its bytes, without a copy:
 * the elements of a dense tensor, in this machine's byte order, and aligned; or quantized blocks, little-endian, and
 * aligned to 4 bytes, if a block type is expected. With TENSLICE_ANY as dtype, the bytes are as they are in the
 * file. Linear in the bytes of the metadata; for many tensors, use tenslice_index_get.
 *
 * The shape is compared first. A program that accepts several types gets WRONG_SHAPE for each of them.
 *
 * After an error, tenslice_file_get_text writes a message that says what the file has instead.
 *
 * Errors: NOT_FOUND, WRONG_SHAPE, NOT_DENSE, WRONG_TYPE, WRONG_ORDER, PARTIAL_ELEMENT, FOREIGN_ENDIAN, MISALIGNED,
 * ENCODED, UNSUPPORTED_ENCODING, IN_SHARD, NOT_IN_MEMORY.
 */
tenslice_status tenslice_file_get(const tenslice_file *file, const char *name, size_t length,
    const tenslice_expected *expected, tenslice_bytes *bytes, tenslice_error *error);

/**
 * Writes the message of an error to `buffer`: of a call that gets or finds a tensor of this file by its name, or
 * that reads the tensor found. It says which tensor was requested and what the file has instead, such as `tensor
 * "layer1.weight": expected f32 [64, 32]; the file has f16 [64, 16]`, or `no tensor "layer1.wieght"; the nearest
 * name is "layer1.weight"`. Pass the arguments of the call that failed, and the `error` that it set; NULL as
 * `expected` after a call that takes only a name. Reads the metadata once more.
 */
tenslice_status tenslice_file_get_text(const tenslice_file *file, const char *name, size_t length,
    const tenslice_expected *expected, const tenslice_error *error, char *buffer, size_t capacity, size_t *needed);

/**
 * Writes the message of an error to `buffer`: the broken rule, the tensor, and the byte. The `length` bytes at
 * `data` are the bytes that the file was opened from; the call reads the names and numbers for the message from them
 * again. If `data` is NULL, the message omits the names and numbers.
 *
 * Errors: INVALID_ARGUMENT also for an error that this library has not produced.
 */
tenslice_status tenslice_error_text(const tenslice_error *error, const void *data, size_t length, char *buffer,
    size_t capacity, size_t *needed);

/** Returns a description of a status. */
const char *tenslice_status_text(tenslice_status status);

/** Returns the name of a status, such as "NotFound". */
const char *tenslice_status_name(tenslice_status status);

/* ---- Tensors of a file ----------------------------------------------------------------------------------------------
 *
 * Find a tensor by name, or iterate over all tensors in file order:
 *
 *     tenslice_file_tensors(&file, &cursor);
 *     while (tenslice_tensors_next(&cursor, &tensor, NULL) == TENSLICE_OK) ...
 */

/**
 * Finds the first tensor named `name`, and sets `tensor` to it. Linear in the bytes of the metadata.
 *
 * Errors: NOT_FOUND.
 */
tenslice_status tenslice_file_find(const tenslice_file *file, const char *name, size_t length,
    tenslice_tensor *tensor, tenslice_error *error);

/** Sets `cursor` before the first tensor, for tenslice_tensors_next. */
tenslice_status tenslice_file_tensors(const tenslice_file *file, tenslice_cursor *cursor);

/** Reads the next tensor, in the order of the file; returns TENSLICE_END after the last. */
tenslice_status tenslice_tensors_next(tenslice_cursor *cursor, tenslice_tensor *tensor, tenslice_error *error);

/* ---- Many names: an index -------------------------------------------------------------------------------------------
 *
 * Each call of tenslice_file_find or tenslice_file_get parses the metadata up to the tensor. An index is built once,
 * in the caller's memory. A look-up in the index then takes constant time on average.
 */

/** An index of the names in a file: see tenslice_file_index. */
typedef struct {
    uint64_t opaque[28];
} tenslice_index;

/**
 * Sets `count` to the number of elements of `words` that tenslice_file_index needs: three for each tensor, none for
 * a file of one tensor.
 *
 * Errors: TOO_MANY if this machine cannot address that many elements.
 */
tenslice_status tenslice_file_index_length(const tenslice_file *file, size_t *count);

/**
 * Builds `index`, an index of the names in the file, for tenslice_index_find. Compares all names exactly, as
 * tenslice_file_check does. `words` is an array of `count` elements. It must stay in place, unchanged, while `index`
 * is used, and so must the bytes or the source that the file was opened from; `file` need not. Nothing is allocated,
 * and nothing needs to be closed.
 *
 * Linear in the bytes of the metadata. If names were crafted to collide, they are hashed once more, with a seed that
 * depends on all names and on the address of `words`. If they still collide, they are sorted: N log N comparisons.
 *
 * Errors: OUT_OF_SCRATCH if `count` is less than tenslice_file_index_length returns; REPEATED_NAME if a name repeats
 * (not in zTensor 0.1, which allows repeated names: the index has the first tensor); the errors of
 * tenslice_file_check. The contents of `words` are unspecified after an error.
 */
tenslice_status tenslice_file_index(const tenslice_file *file, uint32_t *words, size_t count, tenslice_index *index,
    tenslice_error *error);

/**
 * Finds the first tensor whose name is the `length` bytes at `name`, as tenslice_file_find does. Constant time on
 * average; logarithmic if the names were crafted to collide.
 *
 * Errors: NOT_FOUND; also if the bytes have changed since the index was built, and the tensor now has another name.
 */
tenslice_status tenslice_index_find(const tenslice_index *index, const char *name, size_t length,
    tenslice_tensor *tensor, tenslice_error *error);

/**
 * Gets a tensor as tenslice_file_get does, from an index. Constant time on average; logarithmic if the names were
 * crafted to collide. After an error, tenslice_file_get_text writes the message.
 *
 * Errors: the errors of tenslice_file_get, among them NOT_IN_MEMORY.
 */
tenslice_status tenslice_index_get(const tenslice_index *index, const char *name, size_t length,
    const tenslice_expected *expected, tenslice_bytes *bytes, tenslice_error *error);

/* ---- Many tensors: a list -------------------------------------------------------------------------------------------
 *
 * An array of plain structs, in the program's memory, with what a program asks most often: tensors[i].dtype,
 * dimensions, offset. Make room for as many elements as tenslice_file_get_info counts.
 *
 *     tenslice_entry tensors[300];
 *     uint64_t count;
 *     if (tenslice_file_list(&file, tensors, 300, &count, &error) != TENSLICE_OK) return fail();
 *     for (uint64_t i = 0; i < count; i++)
 *         printf("%.*s\n", (int)tensors[i].name.length, tensors[i].name.data);
 */

/** A tensor in a list that tenslice_file_list has filled. */
typedef struct {
    tenslice_str name; /**< The name. */
    /** The lengths of the first eight dimensions, in the order of the file; 0 for those that the tensor lacks. All
     *  lengths of a tensor with more dimensions: tenslice_tensor_shape. */
    uint64_t dimensions[8];
    /** The product of all dimensions; UINT64_MAX if it exceeds 64 bits, which is possible for sparse tensors. */
    uint64_t elements;
    /** The offset in the file of the first byte, if all elements of a dense tensor, or all blocks of a quantized
     *  one, are stored raw in this file; UINT64_MAX for any other tensor. */
    uint64_t offset;
    uint64_t length; /**< The number of these bytes; 0 for any other tensor. */
    uint32_t rank; /**< The number of dimensions; 0 for a scalar. */
    uint32_t dtype; /**< The dtype of the elements; 0 if it is unknown. */
    uint32_t layout; /**< How the components represent the tensor, a TENSLICE_LAYOUT_ code. */
    uint32_t order; /**< The order of the elements, a TENSLICE_ORDER_ code. */
    uint32_t index; /**< Index among the tensors of the file, from 0. */
    uint32_t at; /**< The place of the tensor, for tenslice_file_tensor. */
} tenslice_entry;

/**
 * Fills the first elements of `entries`, an array of `capacity` elements, with the tensors of a file, in the order
 * of the file, and sets `count` to their number. The program may sort the array. The strings in it are those of the
 * file. Linear in the bytes of the metadata; checksums are not verified.
 *
 * A program that goes through the tensors several times, or looks for a few names in a file of a few tensors, reads
 * the file once in this way. tenslice_file_tensor returns the whole tensor of an entry.
 *
 * Errors: OUT_OF_SCRATCH if `capacity` is less than the number of tensors, which tenslice_file_get_info returns.
 * Another error if the bytes have changed since the file was opened; the contents of `entries` are then unspecified.
 */
tenslice_status tenslice_file_list(const tenslice_file *file, tenslice_entry *entries, size_t capacity,
    uint64_t *count, tenslice_error *error);

/**
 * Sets `tensor` to the tensor of an entry that tenslice_file_list has made from this file. Costs as much as reading
 * one tensor.
 *
 * Errors: NOT_FOUND or another error if the entry is from another file, or if the bytes have changed since.
 */
tenslice_status tenslice_file_tensor(const tenslice_file *file, const tenslice_entry *entry, tenslice_tensor *tensor,
    tenslice_error *error);

/* ---- A model in several files ---------------------------------------------------------------------------------------
 *
 * A model has one table of names over all its files, in the caller's memory. Describe each file with a
 * tenslice_model_file_ function, then make the model:
 *
 *     tenslice_model_file_opened(&files[0], "m-00001-of-00002.gguf", TENSLICE_NUL, &first);
 *     tenslice_model_file_missing(&files[1], "m-00002-of-00002.gguf", TENSLICE_NUL);
 *     if (tenslice_model_open(&model, files, 2, words, word_count, &error) != TENSLICE_OK) return fail();
 *
 * A fault of one file leaves the others readable. tenslice_model_next_problem lists all faults:
 *
 *     tenslice_model_get_problems(&model, &problems);
 *     while (tenslice_model_next_problem(&problems, &problem) == TENSLICE_OK) {
 *         tenslice_problem_text(&problem, text, sizeof text, NULL);
 *         puts(text);
 *     }
 *
 * A safetensors model with an index is opened by tenslice_safetensors_model_open, in tenslice/safetensors.h.
 */

/**
 * Makes `model_file` an open file. `name` is a path from the folder of the model, with `/` between folders. The name
 * must stay in place in the same way as the bytes of the file.
 */
tenslice_status tenslice_model_file_opened(tenslice_model_file *model_file, const char *name, size_t length,
    const tenslice_file *file);

/** Makes `model_file` a file that does not exist, or that the program cannot read. The name must stay in place. */
tenslice_status tenslice_model_file_missing(tenslice_model_file *model_file, const char *name, size_t length);

/**
 * Makes `model_file` a file that could not be opened because of `error`. The `size` bytes at `data` are those of the
 * file. They and the name must stay in place.
 */
tenslice_status tenslice_model_file_invalid(tenslice_model_file *model_file, const char *name, size_t length,
    const tenslice_error *error, const void *data, size_t size);

/**
 * Makes `model_file` a shard of a zTensor 2 file: the `size` bytes at `data`. `name` is the name that the file
 * lists. The bytes and the name must stay in place.
 */
tenslice_status tenslice_model_file_shard(tenslice_model_file *model_file, const char *name, size_t length,
    const void *data, size_t size);

/**
 * Sets `words` to the number of words that tenslice_model_open needs for the `count` files at `files`: six for each
 * tensor.
 *
 * Errors: TOO_MANY if this machine cannot address that many words.
 */
tenslice_status tenslice_model_length(const tenslice_model_file *files, size_t count, size_t *words);

/**
 * Makes `model` a model of the `count` files at `files`, without an index. Sorts the files: by the numbers that they
 * state as parts of a model, as GGUF files do, or by their names.
 *
 * Afterwards the array is the memory of the model, together with the `capacity` words at `words`: both must stay in
 * place, unchanged, while the model or anything made from it is used. The handles in the array cannot be used again.
 * After an error, their contents and those of the words are unspecified.
 *
 * Linear in the names. A problem with a part of the model is not an error: see tenslice_model_get_problems.
 *
 * Errors: INVALID_ARGUMENT also if two files have the same name; OUT_OF_SCRATCH if `capacity` is less than
 * tenslice_model_length returns.
 */
tenslice_status tenslice_model_open(tenslice_model *model, tenslice_model_file *files, size_t count, uint32_t *words,
    size_t capacity, tenslice_error *error);

/**
 * Finds a tensor by its name. Sets `file` (may be NULL) to the number of its file, for tenslice_model_get_file.
 * Constant time on average; logarithmic if the names were crafted to collide.
 *
 * After an error, tenslice_model_get_text writes a message that names the file concerned.
 *
 * Errors: NOT_FOUND, also if the file is missing, cannot be opened, or does not have the tensor; REPEATED_NAME if
 * two files have a tensor of this name, or two files state the same part of the model.
 */
tenslice_status tenslice_model_find(const tenslice_model *model, const char *name, size_t length,
    tenslice_tensor *tensor, uint64_t *file, tenslice_error *error);

/**
 * Finds the tensor named `name`, compares it with what is `expected`, and sets `bytes` to its bytes, without a copy,
 * as tenslice_file_get does. If the bytes are in a shard, sets `bytes` to those of the shard. Constant time on
 * average.
 *
 * After an error, tenslice_model_get_text writes a message that says what the model has instead.
 *
 * Errors: the errors of tenslice_model_find and tenslice_file_get, among them NOT_IN_MEMORY; IN_SHARD if the shard
 * is missing, OUT_OF_FILE if it is too short.
 */
tenslice_status tenslice_model_get(const tenslice_model *model, const char *name, size_t length,
    const tenslice_expected *expected, tenslice_bytes *bytes, tenslice_error *error);

/**
 * Writes the message of an error to `buffer`, as tenslice_file_get_text does, of a call that gets or finds a tensor
 * of this model by its name, or that reads the tensor found. It names the file concerned. If no tensor has the name,
 * it suggests the nearest name of all files.
 */
tenslice_status tenslice_model_get_text(const tenslice_model *model, const char *name, size_t length,
    const tenslice_expected *expected, const tenslice_error *error, char *buffer, size_t capacity, size_t *needed);

/**
 * Sets `count` to the number of elements of `scratch` that are always enough for tenslice_model_check. Linear in the
 * metadata of all files.
 *
 * Errors: TOO_MANY if this machine cannot address that many elements.
 */
tenslice_status tenslice_model_check_length(const tenslice_model *model, size_t *count);

/**
 * Compares in each file what opening it could not compare without memory: tenslice_file_check. If a file has an
 * error, sets `file` (may be NULL) to its number, for tenslice_model_get_file.
 *
 * Errors: the errors of tenslice_file_check.
 */
tenslice_status tenslice_model_check(const tenslice_model *model, uint32_t *scratch, size_t count, uint64_t *file,
    tenslice_error *error);

/**
 * Sets `bound` to the component `component` of a tensor of this model, over its bytes: a component in a shard is
 * bound to the bytes of the shard. `bound` may be the same handle as `component`. Verifies no digest.
 *
 * Errors: IN_SHARD if the shard is missing, OUT_OF_FILE if it is too short.
 */
tenslice_status tenslice_model_component(const tenslice_model *model, const tenslice_component *component,
    tenslice_component *bound, tenslice_error *error);

/** Sets `tensors` before the first tensor of the model, for tenslice_model_next_tensor. */
tenslice_status tenslice_model_get_tensors(const tenslice_model *model, tenslice_model_tensors *tensors);

/**
 * Reads the next tensor that can be read, in the order of the files; returns TENSLICE_END after the last. Sets
 * `file` (may be NULL) to the number of its file. With an index, one look-up for each tensor of the files.
 */
tenslice_status tenslice_model_next_tensor(tenslice_model_tensors *tensors, tenslice_tensor *tensor, uint64_t *file,
    tenslice_error *error);

/** Sets `count` to the number of files. */
tenslice_status tenslice_model_file_count(const tenslice_model *model, uint64_t *count);

/**
 * Sets `name` to the name of file `number`, counted from 0 in the order of the model, and `file` to the open file.
 * Either may be NULL.
 *
 * Errors: NOT_FOUND if there is no such file, or if `file` is not NULL and the file is not open.
 */
tenslice_status tenslice_model_get_file(const tenslice_model *model, uint64_t number, tenslice_str *name,
    tenslice_file *file);

/** Sets `problems` before the first problem of the model, for tenslice_model_next_problem. */
tenslice_status tenslice_model_get_problems(const tenslice_model *model, tenslice_model_problems *problems);

/**
 * Finds the next problem of the model; returns TENSLICE_END after the last. All calls together are linear in the
 * metadata of all files.
 */
tenslice_status tenslice_model_next_problem(tenslice_model_problems *problems, tenslice_problem *problem);

/** Information about a problem. */
typedef struct {
    uint32_t struct_size; /**< Size of this struct in bytes, set by the caller. */
    /** The kind of the problem, a TENSLICE_PROBLEM_ code. From 64 on: every tensor of the model can be read all the
     *  same. */
    uint32_t kind;
    /** The number of the file, for tenslice_model_get_file; UINT64_MAX if the problem is about the model as a whole,
     *  or about a file that the program did not provide. */
    uint64_t file;
    tenslice_str tensor; /**< The name of the tensor; its `data` is NULL if the problem is not about a tensor. */
    tenslice_error error; /**< The error of the file or of the tensor, if that is the problem; else its `kind` is 0. */
    /** The index of the first of the parts that are missing, from 0; UINT64_MAX if that is not the problem. */
    uint64_t first_part;
    uint64_t last_part; /**< The index of the last of the parts that are missing. */
} tenslice_problem_info;

/** Fills `info` with information about a problem. */
tenslice_status tenslice_problem_get_info(const tenslice_problem *problem, tenslice_problem_info *info);

/** Writes the sentence of a problem to `buffer`, with the name of the file. Linear in the metadata at most. */
tenslice_status tenslice_problem_text(const tenslice_problem *problem, char *buffer, size_t capacity, size_t *needed);

/* ---- A tensor ---------------------------------------------------------------------------------------------------- */

/** Returns the name of a tensor; empty for an invalid handle. */
tenslice_str tenslice_tensor_name(const tenslice_tensor *tensor);

/** Returns the dtype of the elements of a tensor; 0 if it is unknown, or for an invalid handle. */
uint32_t tenslice_tensor_dtype(const tenslice_tensor *tensor);

/**
 * Returns the type of the elements as the file spells it. For texts, times and records, this spelling says more than
 * the dtype.
 *
 * For NPY and for stored entries of NPZ this is the `descr`, in quotation marks if it is a string ("'<M8[s]'"), in
 * UTF-8 in version 3.0 and in Latin-1 before. For Blosc2 arrays it is the dtype ("<M8[s]"). `data` is NULL for other
 * formats, for compressed entries of NPZ (see tenslice_tensor_describe), if the file states no type, and for an
 * invalid handle. Linear in the bytes of the header.
 */
tenslice_str tenslice_tensor_stated_type(const tenslice_tensor *tensor);

/** Returns the number of dimensions of a tensor; 0 for a scalar or an invalid handle. */
uint32_t tenslice_tensor_rank(const tenslice_tensor *tensor);

/**
 * Returns the length of dimension `index` of a tensor, counted from 0. Dimension 0 is the outermost of a row-major
 * array. Returns 0 if there is no such dimension, or for an invalid handle. Linear in `index`.
 */
uint64_t tenslice_tensor_dimension(const tenslice_tensor *tensor, uint32_t index);

/**
 * Writes the shape, in the order of the file, to `dimensions`, an array of `capacity` lengths. `rank` (may be NULL)
 * is set to the number of dimensions, even after TOO_SMALL: call with a capacity of 0 to query it.
 *
 * Errors: TOO_SMALL.
 */
tenslice_status tenslice_tensor_shape(const tenslice_tensor *tensor, uint64_t *dimensions, size_t capacity,
    uint32_t *rank);

/**
 * Writes the strides to `strides`, an array of `capacity` numbers, one per dimension. A stride is the distance, in
 * elements, between elements whose indices differ by one in that dimension: in a stored dense tensor, or in what
 * tenslice_tensor_read_into writes.
 *
 * Errors: TOO_SMALL if there are more than `capacity` dimensions; SHAPE_OVERFLOW if a tensor without elements has
 * lengths whose product exceeds 64 bits; the contents of `strides` are then unspecified.
 */
tenslice_status tenslice_tensor_strides(const tenslice_tensor *tensor, uint64_t *strides, size_t capacity);

/**
 * Returns the product of the dimensions of a tensor; UINT64_MAX if it exceeds 64 bits, which is possible for sparse
 * tensors; 0 for an invalid handle.
 */
uint64_t tenslice_tensor_element_count(const tenslice_tensor *tensor);

/** Returns how the components of a tensor represent it, a TENSLICE_LAYOUT_ code; UINT32_MAX for an invalid handle. */
uint32_t tenslice_tensor_layout(const tenslice_tensor *tensor);

/** Information about a tensor. */
typedef struct {
    uint32_t struct_size; /**< Size of this struct in bytes, set by the caller. */
    uint32_t dtype; /**< The dtype of the elements; 0 if it is unknown. */
    tenslice_str name; /**< The name. */
    uint32_t layout; /**< How the components represent the tensor, a TENSLICE_LAYOUT_ code. */
    uint32_t order; /**< The order of the elements of a dense array, a TENSLICE_ORDER_ code. */
    tenslice_str layout_name; /**< The name of the layout, as the file spells it. */
    uint64_t index; /**< Index among the tensors of the file, from 0. */
    /** The product of the dimensions; UINT64_MAX if it exceeds 64 bits, which is possible for sparse tensors. */
    uint64_t elements;
    uint32_t rank; /**< Number of dimensions; 0 for a scalar. */
    uint32_t warnings; /**< Warnings about the tensor: TENSLICE_WARNING_ bits. */
} tenslice_tensor_info;

/** Fills `info` with information about a tensor. */
tenslice_status tenslice_tensor_get_info(const tenslice_tensor *tensor, tenslice_tensor_info *info);

/**
 * Returns why the elements of a tensor cannot be read, if it has TENSLICE_WARNING_UNREADABLE_TENSOR: its type is
 * unknown, its header is invalid, or its values are not in the file. Otherwise returns TENSLICE_OK. Each call that
 * reads the elements returns the same error; tenslice_component_stored returns the stored bytes.
 *
 * Errors: UNKNOWN_DTYPE, NO_VALUES; for an array of an NPZ archive the errors of an invalid NPY file.
 */
tenslice_status tenslice_tensor_problem(const tenslice_tensor *tensor, tenslice_error *error);

/**
 * Sets `bytes` to the bytes of a dense tensor, without a copy. Checks that they are elements of `dtype`: of this
 * type, in this machine's byte order, and aligned. With TENSLICE_ANY as `dtype`, returns the bytes as they are in
 * the file.
 *
 * Errors: NOT_DENSE, WRONG_TYPE, PARTIAL_ELEMENT, FOREIGN_ENDIAN, MISALIGNED, ENCODED, UNSUPPORTED_ENCODING,
 * NOT_IN_MEMORY.
 */
tenslice_status tenslice_tensor_bytes(const tenslice_tensor *tensor, uint32_t dtype, tenslice_bytes *bytes,
    tenslice_error *error);

/**
 * Compares a tensor found earlier with what is expected, and sets `bytes` to its bytes: tenslice_file_get without
 * the name. Constant cost.
 *
 * Errors: the errors of tenslice_file_get except NOT_FOUND, among them NOT_IN_MEMORY.
 */
tenslice_status tenslice_tensor_get(const tenslice_tensor *tensor, const tenslice_expected *expected,
    tenslice_bytes *bytes, tenslice_error *error);

/** Returns the name of a dtype, such as "f32". */
const char *tenslice_dtype_name(uint32_t dtype);

/** Returns the size of one element of a dtype in bytes; 0 if it is less than a byte, or if `dtype` is not a dtype. */
size_t tenslice_dtype_size(uint32_t dtype);

/**
 * Returns the number of bits of one element of a dtype; 0 if `dtype` is not a dtype. Elements of 4 and 6 bits are
 * packed without gaps.
 */
uint32_t tenslice_dtype_bits(uint32_t dtype);

/* ---- Decoding: a tensor as a dense array ----------------------------------------------------------------------------
 *
 * These functions read tensors that are not stored as a dense array of bytes, so that tenslice_tensor_bytes fails:
 * compressed, chunked and sparse tensors, and tensor trains.
 */

/** A description of the elements of a tensor. */
typedef struct {
    uint32_t struct_size; /**< Size of this struct in bytes, set by the caller. */
    uint32_t dtype; /**< The dtype of the elements; 0 if the library has no dtype for their type. */
    /** The type of the elements as the file spells it, as tenslice_tensor_stated_type returns it. For a compressed
     *  entry of an NPZ archive, it points into the scratch memory. */
    tenslice_str stated_type;
    uint64_t elements; /**< The product of the dimensions; UINT64_MAX if it exceeds 64 bits. */
    uint32_t order; /**< The order of the elements, a TENSLICE_ORDER_ code. */
    uint32_t byte_order; /**< The byte order of the stored elements, a TENSLICE_BYTE_ORDER_ code. */
    uint32_t rank; /**< Number of dimensions; 0 for a scalar. */
    /** Warnings about the tensor, including those known only from its header: TENSLICE_WARNING_ bits. */
    uint32_t warnings;
    /** 1 if bytes of `stated_type` beyond ASCII are Latin-1, as in NPY before version 3.0; 0 if they are UTF-8. */
    uint32_t is_latin_1;
    uint32_t reserved; /**< Reserved, 0. */
} tenslice_described;

/**
 * Fills `described` with a description of the elements of a tensor, and writes the shape, in the order of the file,
 * to `dimensions`, an array of `capacity` lengths. With a capacity of 0, only the number of dimensions is reported.
 * Linear in the bytes of the header.
 *
 * For a compressed entry of an NPZ archive, decodes the header of the array into the scratch memory, but not the
 * elements. tenslice_tensor_requirements returns the length of the header (TENSLICE_PURPOSE_DESCRIBE); it is 128
 * bytes for the numbers that NumPy writes. For any other tensor nothing is decoded, and no scratch memory is needed.
 *
 * Errors: NOT_BUILT_IN if no decoder reads the start of a stream; OUT_OF_SCRATCH; TOO_SMALL if `capacity` is not 0
 * and less than the number of dimensions; UNSUPPORTED_ENCODING, CORRUPT_STREAM, DECODED_LENGTH, NOT_IN_MEMORY; the
 * errors of an invalid NPY file; the errors of tenslice_tensor_problem.
 */
tenslice_status tenslice_tensor_describe(const tenslice_tensor *tensor, uint64_t *dimensions, size_t capacity,
    const tenslice_read_options *options, tenslice_described *described, tenslice_error *error);

/**
 * Reads a tensor of any layout as a dense array to `destination`. The elements are in this machine's byte order,
 * except those of a chunked array, which stay in the byte order that its component states. Dense data keeps its
 * order; all other layouts are written row-major. Scratch memory: TENSLICE_PURPOSE_READ.
 *
 * The cost is linear in the bytes read and written. For a sparse tensor these are its indices and values, and the
 * dense array, whose length the file does not bound. Two layouts cost more: blocks of chunks are decoded as a whole
 * (see tenslice_b2nd_region_work), and the elements of a tensor train are computed (see tenslice_blz_slice).
 *
 * Errors: TOO_SMALL, OUT_OF_SCRATCH, UNSUPPORTED_LAYOUT, SHAPE_OVERFLOW, NOT_IN_MEMORY; the errors of
 * tenslice_component_read_into; for a sparse tensor INVALID_ROW_POINTERS, INDEX_OUT_OF_RANGE, INDEX_ORDER,
 * COUNT_MISMATCH, PACKED_LENGTH; for a chunked array UNSUPPORTED_CODEC if there is no decoder for its chunks,
 * UNSUPPORTED_FILTER, and the error of a malformed chunk; NO_VALUES if the values are elsewhere or still to be
 * computed.
 */
tenslice_status tenslice_tensor_read_into(const tenslice_tensor *tensor, void *destination, size_t capacity,
    const tenslice_read_options *options, uint64_t *length, tenslice_error *error);

/**
 * Fills `requirements` with the memory that a call needs. `purpose` is the TENSLICE_PURPOSE_ code of the call:
 *
 * - READ: tenslice_tensor_read_into. Scratch memory: for a sparse tensor the decoded size of the encoded components,
 *   for a tensor train the vectors along the train, for a chunked array one or two blocks.
 * - READ_F32: tenslice_tensor_read_f32_into. Scratch memory: 0 for dense data and quantized blocks that are stored
 *   raw.
 * - GET_F32: tenslice_tensor_get_f32. No memory if the elements are returned in place, otherwise that of READ_F32.
 * - SPARSE: tenslice_tensor_sparse.
 * - VERIFY: the part of tenslice_file_verify that is about this tensor.
 * - DESCRIBE: tenslice_tensor_describe. Scratch memory: for a compressed entry of an NPZ archive, the length of its
 *   header. To determine this length, the built-in decoder decodes the first 12 bytes of the header.
 *
 * READ_RANGE applies only to components: for a tensor, both lengths are UINT64_MAX. For a chunked array, READ,
 * READ_F32 and GET_F32 read the headers of all chunks; the scratch memory is also UINT64_MAX if a chunk is malformed
 * or not in memory, and tenslice_b2nd_region_requirements returns the error.
 *
 * Errors: INVALID_ARGUMENT if there is no such purpose.
 */
tenslice_status tenslice_tensor_requirements(const tenslice_tensor *tensor, uint32_t purpose,
    tenslice_requirements *requirements, tenslice_error *error);

/**
 * Fills `requirements` with the memory that a call needs if it is made for all tensors of a file, one after the
 * other: the maximum over the results of tenslice_tensor_requirements, or UINT64_MAX if one of them is. With
 * TENSLICE_PURPOSE_VERIFY this is the memory that tenslice_file_verify needs. Reads the metadata and the tables of
 * frames.
 *
 * Errors: INVALID_ARGUMENT if there is no such purpose.
 */
tenslice_status tenslice_file_requirements(const tenslice_file *file, uint32_t purpose,
    tenslice_requirements *requirements, tenslice_error *error);

/* ---- Numbers as floats ----------------------------------------------------------------------------------------------
 *
 * These functions are absent from libraries built without the feature `dequantize`. Functions for single types of
 * quantized blocks are in tenslice/gguf.h.
 */

/** Numbers in place or converted: `length` numbers at `data`. */
typedef struct {
    const float *data; /**< The first number. */
    size_t length; /**< Number of numbers. */
} tenslice_floats;

/**
 * Finds the tensor named `name`, compares it with what is `expected`, and sets `numbers` to its elements as floats,
 * whatever their type, layout and encoding. If they are stored as floats, in this machine's byte order and aligned,
 * `numbers` is in the file. Otherwise they are converted into the `capacity` floats at `room`, as by
 * tenslice_tensor_read_f32_into. If `expected` states a type, the tensor must be stored in it.
 *
 * Sets `needed` (may be NULL) to the memory that the call needs, also if the call fails, unless the tensor is not as
 * expected: first call it with NULL and 0 as `room`, then with `needed.output` floats (0 if the elements are in
 * place) and with `needed.scratch` bytes of scratch memory (0 unless the tensor is encoded or sparse; UINT64_MAX if
 * the length is unknown or the call will fail).
 *
 * Linear in the bytes of the metadata, and in the elements if they are converted. After an error,
 * tenslice_file_get_text writes a message that says what the file has instead.
 *
 * Errors: NOT_FOUND, WRONG_SHAPE, WRONG_TYPE, WRONG_ORDER, TOO_SMALL, OUT_OF_SCRATCH, NOT_IN_MEMORY, and the other
 * errors of tenslice_tensor_read_f32_into.
 */
tenslice_status tenslice_file_get_f32(const tenslice_file *file, const char *name, size_t length,
    const tenslice_expected *expected, float *room, size_t capacity, const tenslice_read_options *options,
    tenslice_floats *numbers, tenslice_requirements *needed, tenslice_error *error);

/**
 * Gets the numbers of a tensor as tenslice_file_get_f32 does, from an index. Constant time on average, and linear in
 * the elements if they are converted. After an error, tenslice_file_get_text writes the message.
 *
 * Errors: the errors of tenslice_file_get_f32, among them NOT_IN_MEMORY.
 */
tenslice_status tenslice_index_get_f32(const tenslice_index *index, const char *name, size_t length,
    const tenslice_expected *expected, float *room, size_t capacity, const tenslice_read_options *options,
    tenslice_floats *numbers, tenslice_requirements *needed, tenslice_error *error);

/**
 * Gets the numbers of a tensor as tenslice_file_get_f32 does, from a model; also if they are in a shard, unless the
 * tensor has several components. Constant time on average, and linear in the elements if they are converted. After
 * an error, tenslice_model_get_text writes the message.
 *
 * Errors: the errors of tenslice_model_find and of tenslice_file_get_f32; IN_SHARD if the shard is missing, or if
 * one of several components is in a shard; OUT_OF_FILE if the shard is too short; NOT_IN_MEMORY.
 */
tenslice_status tenslice_model_get_f32(const tenslice_model *model, const char *name, size_t length,
    const tenslice_expected *expected, float *room, size_t capacity, const tenslice_read_options *options,
    tenslice_floats *numbers, tenslice_requirements *needed, tenslice_error *error);

/**
 * Gets the numbers of a tensor found earlier: tenslice_file_get_f32 without the name.
 *
 * Errors: the errors of tenslice_file_get_f32 except NOT_FOUND, among them NOT_IN_MEMORY.
 */
tenslice_status tenslice_tensor_get_f32(const tenslice_tensor *tensor, const tenslice_expected *expected, float *room,
    size_t capacity, const tenslice_read_options *options, tenslice_floats *numbers, tenslice_requirements *needed,
    tenslice_error *error);

/**
 * Reads `count` numbers of a dense or quantized tensor to `out`, from number `first` on. Booleans become 0 and 1.
 * Quantized integers of TFLite become the numbers that they stand for, by their scales and zero points. Integers of
 * 32 and 64 bits and doubles are rounded to the nearest float, ties to even; a double beyond the range of a float
 * becomes infinite. The cost per element is constant, wherever the element is.
 *
 * In a library with GGUF, this function links the code and tables of all block types; tenslice_q4_0_to_f32 and
 * similar functions link those of one type.
 *
 * Errors: NO_SUCH_ELEMENT if the range extends past the last number; WRONG_TYPE for complex numbers, several lanes
 * and 128 bits; NOT_DENSE, ENCODED: use tenslice_tensor_read_f32_into instead; UNSUPPORTED_LAYOUT for quantized
 * blocks of an unknown type, and for integers of TFLite whose scales or zero points do not fit; SIZE_MISMATCH for
 * blocks whose bytes do not match the shape; FOREIGN_ENDIAN for quantized blocks with numbers wider than a byte in a
 * big-endian file, because no specification states their byte order; NOT_IN_MEMORY.
 */
tenslice_status tenslice_tensor_read_f32(const tenslice_tensor *tensor, uint64_t first, float *out, size_t count,
    tenslice_error *error);

/**
 * Reads a whole tensor of any layout and encoding as floats to `out`, converted as by tenslice_tensor_read_f32, in
 * the order in which tenslice_tensor_read_into writes the elements. `capacity` and `count` (may be NULL) are numbers
 * of elements, not bytes. Scratch memory: TENSLICE_PURPOSE_READ_F32. The cost is that of tenslice_tensor_read_into,
 * and linear in the elements.
 *
 * Errors: TOO_SMALL, OUT_OF_SCRATCH, NOT_IN_MEMORY; the errors of tenslice_tensor_read_f32 and
 * tenslice_tensor_read_into.
 */
tenslice_status tenslice_tensor_read_f32_into(const tenslice_tensor *tensor, float *out, size_t capacity,
    const tenslice_read_options *options, uint64_t *count, tenslice_error *error);

/** Returns the exact value of an IEEE binary16. */
float tenslice_f16_to_f32(uint16_t bits);

/** Returns the exact value of a bfloat16. */
float tenslice_bf16_to_f32(uint16_t bits);

/** Returns the exact value of an 8-bit float with 4 exponent and 3 mantissa bits, NaN but no infinities. */
float tenslice_f8_e4m3fn_to_f32(uint8_t bits);

/** Returns the exact value of an 8-bit float with 5 exponent and 2 mantissa bits, NaN and infinities. */
float tenslice_f8_e5m2_to_f32(uint8_t bits);

/**
 * Returns the exact value of an 8-bit float with 4 exponent and 3 mantissa bits, one NaN, no infinities and no
 * negative zero.
 */
float tenslice_f8_e4m3fnuz_to_f32(uint8_t bits);

/**
 * Returns the exact value of an 8-bit float with 5 exponent and 2 mantissa bits, one NaN, no infinities and no
 * negative zero.
 */
float tenslice_f8_e5m2fnuz_to_f32(uint8_t bits);

/** Returns the exact value of a power of two in 8 bits, 2^(bits - 127); 255 is NaN. */
float tenslice_f8_e8m0_to_f32(uint8_t bits);

/** Returns the exact value of a 4-bit float with 2 exponent bits and 1 mantissa bit, in the low 4 bits. */
float tenslice_f4_e2m1_to_f32(uint8_t bits);

/** Returns the exact value of a 6-bit float with 2 exponent and 3 mantissa bits, in the low 6 bits. */
float tenslice_f6_e2m3_to_f32(uint8_t bits);

/** Returns the exact value of a 6-bit float with 3 exponent and 2 mantissa bits, in the low 6 bits. */
float tenslice_f6_e3m2_to_f32(uint8_t bits);

/* ---- A file and its warnings ------------------------------------------------------------------------------------- */

/** Information about a file. */
typedef struct {
    uint32_t struct_size; /**< Size of this struct in bytes, set by the caller. */
    uint32_t format; /**< The kind of file, a TENSLICE_FORMAT_ code. */
    uint64_t length; /**< Length of the file in bytes. */
    uint64_t tensor_count; /**< Number of tensors. */
    tenslice_str version; /**< The version that the file states. */
    uint32_t warnings; /**< Warnings about the file and its tensors: TENSLICE_WARNING_ bits. */
    uint32_t reserved; /**< Reserved, 0. */
} tenslice_file_info;

/** Fills `info` with information about a file. */
tenslice_status tenslice_file_get_info(const tenslice_file *file, tenslice_file_info *info);

/**
 * Sets `index` to the position, in the order of the file, of the first tensor that `warning` is about. `warning` is
 * one TENSLICE_WARNING_ bit.
 *
 * Errors: NOT_FOUND if the file does not have the warning, or if the warning is not recorded with a tensor (only
 * bits 0 to 5 are).
 */
tenslice_status tenslice_file_warning_tensor(const tenslice_file *file, uint32_t warning, uint64_t *index);

/**
 * Sets `count` to the number of elements of `scratch` that are always enough for tenslice_file_check; 0 if there is
 * nothing left to compare. Linear in the bytes of the metadata.
 *
 * Each item that is left takes one element: names of tensors, roles of one tensor, keys of a GGUF file, byte ranges
 * of safetensors data, entries of an NPZ archive. In zTensor 2 each component and each shard takes two elements. The
 * kinds of items are compared one after the other, so the kind with the most items determines `count`.
 *
 * Errors: TOO_MANY if this machine cannot address that many elements.
 */
tenslice_status tenslice_file_check_length(const tenslice_file *file, size_t *count);

/**
 * Compares exactly the items that opening could not compare without memory: names
 * (TENSLICE_WARNING_NAMES_UNCHECKED), the roles within a tensor (TENSLICE_WARNING_ROLES_UNCHECKED), keys
 * (TENSLICE_WARNING_KEYS_UNCHECKED), and the byte ranges of components, entries of an archive, and shards
 * (TENSLICE_WARNING_EXTENTS_UNCHECKED). Sets `warnings` (may be NULL) to the warnings that remain.
 *
 * `scratch` is an array of `count` elements. With the count of tenslice_file_check_length, the items are sorted and
 * read once. With fewer elements, the items are compared in parts that fit, and read once for each part, at most
 * eight times. If the file needs more than eight times as many elements, the error is OUT_OF_SCRATCH. In zTensor 2,
 * shards need two elements each, all at once; libraries for 32-bit bare-metal targets need none.
 *
 * Errors: REPEATED_NAME if the format forbids repeated names, REPEATED_KEY for a role or a key, OVERLAP; in zTensor
 * 2 UNKNOWN_SHARD and OUT_OF_SHARD; OUT_OF_SCRATCH, but never with the count of tenslice_file_check_length.
 */
tenslice_status tenslice_file_check(const tenslice_file *file, uint32_t *scratch, size_t count, uint32_t *warnings,
    tenslice_error *error);

/* ---- Components -----------------------------------------------------------------------------------------------------
 *
 * The parts of a tensor, each with a role. A dense tensor has one component; a sparse or quantized tensor has
 * several.
 */

/**
 * Makes `component` the component that holds all elements of a dense tensor.
 *
 * Errors: NOT_DENSE.
 */
tenslice_status tenslice_tensor_data(const tenslice_tensor *tensor, tenslice_component *component,
    tenslice_error *error);

/**
 * Finds the first component whose role is the `length` bytes at `role`, such as "indices".
 *
 * Errors: NOT_FOUND.
 */
tenslice_status tenslice_tensor_component(const tenslice_tensor *tensor, const char *role, size_t length,
    tenslice_component *component, tenslice_error *error);

/** Sets `cursor` before the first component, for tenslice_components_next. */
tenslice_status tenslice_tensor_components(const tenslice_tensor *tensor, tenslice_cursor *cursor);

/** Reads the next component, in the order of the file; returns TENSLICE_END after the last. */
tenslice_status tenslice_components_next(tenslice_cursor *cursor, tenslice_component *component, tenslice_error *error);

/** Information about a component. */
typedef struct {
    uint32_t struct_size; /**< Size of this struct in bytes, set by the caller. */
    uint32_t dtype; /**< The dtype of the elements; 0 if the format does not specify one. */
    /** The dtype of the stored elements; differs from `dtype` if the file states a logical type for the elements. */
    uint32_t storage_dtype;
    uint32_t byte_order; /**< The byte order of the elements, a TENSLICE_BYTE_ORDER_ code. */
    uint32_t encoding; /**< How the bytes are stored, a TENSLICE_ENCODING_ code. */
    uint32_t reserved; /**< Reserved, 0. */
    tenslice_str role; /**< The role in the tensor, in the terms of the format: "data", "values", "indices", ... */
    tenslice_str encoding_name; /**< The name of the encoding, as the file spells it. */
    tenslice_str digest; /**< The digest as the file spells it, not verified. */
    /** Offset of the bytes in the file, checked to be inside the file. For callers that read the bytes themselves. */
    uint64_t offset;
    uint64_t length; /**< Stored length in bytes. */
    uint64_t decoded_length; /**< Decoded length in bytes; UINT64_MAX if the file does not state it. */
} tenslice_component_info;

/** Fills `info` with information about a component. */
tenslice_status tenslice_component_get_info(const tenslice_component *component, tenslice_component_info *info);

/**
 * Sets `bytes` to the bytes of a component, without a copy. Checks that they are elements of `dtype`: of this type,
 * in this machine's byte order, and aligned. With TENSLICE_ANY as `dtype`, returns the bytes as they are in the
 * file.
 *
 * Errors: WRONG_TYPE, PARTIAL_ELEMENT, FOREIGN_ENDIAN, MISALIGNED, ENCODED, UNSUPPORTED_ENCODING, NOT_IN_MEMORY.
 */
tenslice_status tenslice_component_bytes(const tenslice_component *component, uint32_t dtype, tenslice_bytes *bytes,
    tenslice_error *error);

/**
 * Sets `bytes` to the stored bytes of a component, without a copy. They may be encoded.
 *
 * Errors: NOT_IN_MEMORY.
 */
tenslice_status tenslice_component_stored(const tenslice_component *component, tenslice_bytes *bytes,
    tenslice_error *error);

/**
 * Sets `caps` to the operations that this library supports for a component: TENSLICE_CAP_ flags. A flag is set if
 * the bytes are in memory and the library can decode them. The operation can still fail, because this call does not
 * check the bytes.
 */
tenslice_status tenslice_component_caps(const tenslice_component *component, uint32_t *caps);

/**
 * Decodes the elements of a component to `destination`, in stored order and in this machine's byte order.
 *
 * Errors: TOO_SMALL, UNSUPPORTED_ENCODING, IN_SHARD, NOT_IN_MEMORY; CORRUPT_STREAM, INVALID_SEEK_TABLE,
 * INVALID_FRAME, DECODED_LENGTH, CHECKSUM_MISMATCH, PARTIAL_ELEMENT; ENCODED for chunked arrays, which
 * tenslice_tensor_read_into decodes.
 */
tenslice_status tenslice_component_read_into(const tenslice_component *component, void *destination, size_t capacity,
    const tenslice_read_options *options, uint64_t *length, tenslice_error *error);

/**
 * Reads a range of what tenslice_component_read_into writes: `capacity` bytes from byte `offset` on. Raw bytes are
 * copied. With TENSLICE_ENCODING_ZSTD_SEEKABLE, only the frames that overlap the range are decoded; frames that are
 * needed in part are decoded into the scratch memory (TENSLICE_PURPOSE_READ_RANGE). A caller's decoder is called
 * with TENSLICE_ENCODING_ZSTD, one frame at a time, and should check the checksum of the frame.
 *
 * The cost is linear in `capacity`, in the decoded frames (at most 16 MiB more than `capacity`), and in the table of
 * all frames, 8 or 12 bytes each.
 *
 * Errors: NO_SUCH_ELEMENT if the range extends past the end; PARTIAL_ELEMENT if the range begins or ends within a
 * number; ENCODED if the encoding does not support ranges; UNSUPPORTED_ENCODING, OUT_OF_SCRATCH, IN_SHARD,
 * NOT_IN_MEMORY; INVALID_SEEK_TABLE, INVALID_FRAME, DECODED_LENGTH, CORRUPT_STREAM, CHECKSUM_MISMATCH.
 */
tenslice_status tenslice_component_read_range(const tenslice_component *component, uint64_t offset, void *destination,
    size_t capacity, const tenslice_read_options *options, tenslice_error *error);

/**
 * Fills `requirements` with the memory that a call needs for a component. `purpose` is the TENSLICE_PURPOSE_ code of
 * the call:
 *
 * - READ: tenslice_component_read_into. The output is the decoded length; needs no scratch memory.
 * - READ_RANGE: tenslice_component_read_range. Scratch memory: 0 for raw bytes, else the decoded size of the largest
 *   frame, at most 16 MiB. UINT64_MAX if no range can be read: the encoding does not support ranges, the bytes are
 *   not in memory, or the table of frames is invalid.
 * - VERIFY: tenslice_component_verify. Scratch memory: 0 if the digest covers the bytes as stored, else the decoded
 *   size of the largest frame, at most 16 MiB. UINT64_MAX if the component cannot be verified: its bytes are not in
 *   memory, the table of frames is invalid, or its kind of digest is not built in.
 *
 * With another purpose, both lengths are UINT64_MAX. Linear in the table of frames.
 *
 * Errors: INVALID_ARGUMENT if there is no such purpose.
 */
tenslice_status tenslice_component_requirements(const tenslice_component *component, uint32_t purpose,
    tenslice_requirements *requirements, tenslice_error *error);

/* ---- Ranges: files that are not in memory ---------------------------------------------------------------------------
 *
 * The library requests the ranges that it needs, and never reads a file itself.
 *
 *     tenslice_source source; tenslice_need need; tenslice_status status;
 *     tenslice_source_init(&source, file_length);
 *     while ((status = tenslice_file_open_source(&file, &source, &need, &error)) == TENSLICE_NEED) {
 *         if (need.length > (uint64_t)(buffer_end - buffer)) return fail(); // never trust the sizes in a file
 *         read_from_card(need.offset, buffer, (size_t)need.length);
 *         tenslice_source_add(&source, need.offset, buffer, (size_t)need.length);
 *         buffer += need.length;
 *     }
 *
 * Tensor data is not fetched this way: tenslice_component_get_info returns where the data is in the file, and
 * tenslice_component_with_bytes takes the bytes read from there. Calls that read data from the file itself
 * (tenslice_tensor_read_into, tenslice_tensor_sparse, tenslice_tens_element, tenslice_tens_chunks_next, the calls of
 * tenslice/b2nd.h that read chunks) return NOT_IN_MEMORY until the tensor or the file has a source with the data:
 *
 *     tenslice_source with_data = source; // the original stays in place, unchanged
 *     tenslice_source_add(&with_data, info.offset, data, (size_t)info.length);
 *     tenslice_tensor_with_source(&tensor, &with_data, &tensor);
 *
 * A chunked array needs the table of chunks and the chunks to read: see tenslice_b2nd_get_info and
 * tenslice_b2nd_chunk_extent.
 */

/** The maximum number of ranges in a tenslice_source. */
#define TENSLICE_MAX_SEGMENTS 32

/**
 * A file that is only partly in memory: its length, and the ranges fetched so far (at most TENSLICE_MAX_SEGMENTS).
 * Do not add to a source while anything opened from it is used. Instead, add bytes read later to a copy of the
 * source, for tenslice_tensor_with_source, or pass them to tenslice_component_with_bytes.
 */
typedef struct {
    uint64_t opaque[133];
} tenslice_source;

/** A range of bytes that must be fetched. It is always shorter than 4 GiB and inside the file. */
typedef struct {
    uint64_t offset; /**< Offset of the first byte in the file. */
    uint64_t length; /**< Number of bytes. */
    /** 1 if the bytes must stay in place while anything opened from the source is used. 0 if they may be overwritten
     *  after the next call of tenslice_file_open_source has returned. */
    uint32_t keep;
    uint32_t reserved; /**< Reserved, 0. */
} tenslice_need;

/** Makes `source` describe a file of `file_length` bytes, with no bytes in memory yet. */
tenslice_status tenslice_source_init(tenslice_source *source, uint64_t file_length);

/**
 * Adds the `length` bytes at `data`, which are at `offset` in the file. Add each range in one piece, as it was
 * requested or larger. A range that covers earlier ones replaces them; a range that an earlier one covers is
 * ignored. If the last request had `keep` 0, and the bytes contain all of the requested range, the source uses the
 * bytes for the next call of tenslice_file_open_source only.
 *
 * Errors: INVALID_ARGUMENT also if the bytes extend past the end of the file; TOO_MANY_SEGMENTS. The source is
 * unchanged after an error.
 */
tenslice_status tenslice_source_add(tenslice_source *source, uint64_t offset, const void *data, size_t length);

/**
 * Opens a file that is only partly in memory. If the call returns TENSLICE_NEED, fetch the range in `need`, add it
 * to the source in one piece with tenslice_source_add, and call again. `file` holds a pointer to `source`.
 *
 * Errors: the first rule that the file breaks.
 */
tenslice_status tenslice_file_open_source(tenslice_file *file, tenslice_source *source, tenslice_need *need,
    tenslice_error *error);

/**
 * Makes `bound` the same component over the `length` bytes at `data`, which the caller has read from the component's
 * place in the file. The bytes must stay in place while `bound` is used. `bound` may be the same handle as
 * `component`.
 *
 * Errors: WRONG_LENGTH if `length` is not the stored length of the component.
 */
tenslice_status tenslice_component_with_bytes(const tenslice_component *component, const void *data, size_t length,
    tenslice_component *bound, tenslice_error *error);

/**
 * Sets `bound` to the same tensor, whose data is looked for in `source`: a copy of the source that the file was
 * opened from, to which the program has added the data. The source must stay in place, unchanged, while `bound` is
 * used, and so must whatever the file was opened from. `bound` may be the same handle as `tensor`. Constant cost:
 * nothing is parsed again, except the tree of a PyTorch stream whose numbers have several widths. All calls that
 * read elements then find the data, whatever the layout.
 *
 * Errors: INVALID_ARGUMENT also if the source describes a file of another length.
 */
tenslice_status tenslice_tensor_with_source(const tenslice_tensor *tensor, const tenslice_source *source,
    tenslice_tensor *bound);

/**
 * Sets `bound` to the same file, whose bytes are looked for in `source`: a copy of the source that `file` was opened
 * from, to which the program has added more ranges. The source must stay in place, unchanged, while `bound` or
 * anything made from it is used, and so must whatever `file` was opened from. `bound` may be the same handle as
 * `file`. Constant cost: nothing is parsed again, except the tree of a PyTorch stream whose numbers have several
 * widths.
 *
 * Errors: INVALID_ARGUMENT also if the source describes a file of another length.
 */
tenslice_status tenslice_file_with_source(const tenslice_file *file, const tenslice_source *source,
    tenslice_file *bound);

/**
 * Writes the message of an error as tenslice_error_text does, for a file that was opened from a source. The message
 * has the names and numbers that are still in memory.
 */
tenslice_status tenslice_error_text_source(const tenslice_error *error, const tenslice_source *source, char *buffer,
    size_t capacity, size_t *needed);

/* ---- Reading many tensors -------------------------------------------------------------------------------------------
 *
 * A plan merges the ranges of many tensors into few large aligned reads, and places all bytes in one region of
 * memory:
 *
 *     tenslice_plan_open(&plan, pieces, count, file_length, 4096, 65536);
 *     tenslice_plan_length(&plan, &length);
 *     memory = aligned_alloc(4096, (size_t)length);
 *     tenslice_plan_reads(&plan, 8 << 20, &cursor);
 *     while (tenslice_reads_next(&cursor, &read) == TENSLICE_OK)
 *         pread(handle, memory + read.at, (size_t)read.room, (off_t)read.offset); // or any other way to read a file
 *
 * The bytes of each piece are then at memory + pieces[i].at.
 */

/** A range of bytes of a file that a program wants in memory, usually the bytes of one component. */
typedef struct {
    /** A number that the caller chooses, to recognize the piece after tenslice_plan_open has sorted the pieces:
     *  usually the number of a tensor. */
    uint64_t key;
    uint64_t offset; /**< Offset of the first byte in the file. */
    uint64_t length; /**< Number of bytes. */
    /** Set by tenslice_plan_open and tenslice_source_needs: the offset of the first byte from the start of the
     *  memory; 0 for an empty piece. */
    uint64_t at;
} tenslice_piece;

/** The reads that fetch many pieces of a file into one region of memory. */
typedef struct {
    uint64_t opaque[12];
} tenslice_plan;

/** A read: a range of the file, and its place in memory. All but `length` are multiples of the alignment. */
typedef struct {
    uint64_t offset; /**< Offset of the first byte in the file. */
    uint64_t length; /**< Number of bytes. Less than `room` only at the end of the file. */
    uint64_t at; /**< Offset of the first byte from the start of the memory. */
    /** Number of bytes that the memory has for this read: `length`, rounded up to a multiple of the alignment.
     *  Direct I/O requires that the program requests this many bytes; at the end of the file it gets fewer. */
    uint64_t room;
} tenslice_planned_read;

/**
 * Plans the reads of the `count` pieces at `pieces`, which are ranges of a file of `file_length` bytes. Sorts the
 * pieces in the order of the file, N log N comparisons, and sets their `at`. The array must stay in place,
 * unchanged, while the plan is used.
 *
 * Each read begins at a multiple of `alignment`, in the file and in memory. Direct I/O requires the size of a block
 * of the device; 4096 is a good choice for most files. A gap of at most `gap` bytes between two pieces is read as
 * well, so that one read fetches both; 65536 is a good choice for a disk, and a million for a server. Pieces may
 * overlap and repeat: their bytes are read once, and they share memory.
 *
 * Errors: INVALID_ARGUMENT also if `alignment` is no power of two, or if the length of the file, rounded up to a
 * multiple of the alignment, exceeds 64 bits; OUT_OF_FILE if a piece extends past the end of the file. The pieces
 * are unchanged after an error.
 */
tenslice_status tenslice_plan_open(tenslice_plan *plan, tenslice_piece *pieces, size_t count, uint64_t file_length,
    uint64_t alignment, uint64_t gap);

/**
 * Sets `length` to the number of bytes of memory that all reads of a plan need together. Allocate this many bytes,
 * aligned as the reads are. After all reads the bytes of each piece are at its `at`, without a copy.
 */
tenslice_status tenslice_plan_length(const tenslice_plan *plan, uint64_t *length);

/**
 * Sets `cursor` before the first read of a plan, for tenslice_reads_next. Each read has at most `longest` bytes,
 * rounded down to a multiple of the alignment, but at least one such multiple. Reads of a few MiB keep a disk busy
 * if several are under way at the same time. With UINT64_MAX each read is a whole run of pieces, which can be added
 * to a source.
 */
tenslice_status tenslice_plan_reads(const tenslice_plan *plan, uint64_t longest, tenslice_cursor *cursor);

/**
 * Computes the next read, in the order of the file; returns TENSLICE_END after the last. The program may execute the
 * reads in any order, and at the same time: no byte is in two of them. All calls together are linear in the number
 * of pieces and of reads.
 */
tenslice_status tenslice_reads_next(tenslice_cursor *cursor, tenslice_planned_read *read);

/**
 * Fills `pieces` with the ranges to fetch in one round after tenslice_file_open_source has returned TENSLICE_NEED,
 * and sets `count` to their number, at most `capacity`: 1 for the range that was requested, more for the starts of
 * the entries of an NPZ archive. Sets it to 0 if the last call requested nothing, or if `capacity` is 0.
 *
 * The pieces are in the order of the file, do not overlap, and have their places in memory, one after the other: the
 * last one ends at the length of the memory. Fetch them to their places, at the same time, and add them with
 * tenslice_source_add_pieces. Then call tenslice_file_open_source again. Fetching one requested range after the
 * other has the same result, in more round trips.
 *
 * If `capacity` is too small for all entries, or if an entry begins with more metadata than usual, the missing
 * ranges are requested one by one.
 */
tenslice_status tenslice_source_needs(const tenslice_source *source, tenslice_piece *pieces, size_t capacity,
    size_t *count);

/**
 * Adds the `count` pieces that tenslice_source_needs has listed, whose bytes are at their places in the `length`
 * bytes at `memory`. A single piece is added as by tenslice_source_add. Several pieces must stay in place,
 * unchanged, as long as the bytes: they are a list, which takes no segment. A source holds only one list.
 *
 * Errors: INVALID_ARGUMENT also if a piece begins or ends before an earlier one, or extends past the end of the file
 * or of the memory; TOO_MANY_SEGMENTS also if there is already a list. The source is unchanged after an error.
 */
tenslice_status tenslice_source_add_pieces(tenslice_source *source, const tenslice_piece *pieces, size_t count,
    const void *memory, size_t length);

/* ---- Sparse tensors -------------------------------------------------------------------------------------------------
 *
 * tenslice_sparse_next iterates over the values. To write the tensor as a dense array instead, call
 * tenslice_tensor_read_into.
 */

/** A sparse tensor whose indices have been checked, and a position among its values: a handle. */
typedef struct {
    uint64_t opaque[32];
} tenslice_sparse;

/** Information about a sparse tensor. */
typedef struct {
    uint32_t struct_size; /**< Size of this struct in bytes, set by the caller. */
    uint32_t dtype; /**< The dtype of the values. */
    uint64_t stored; /**< Number of stored values, zeros and duplicate indices included. */
    uint32_t rank; /**< Number of dimensions. */
    uint32_t layout; /**< The layout, a TENSLICE_LAYOUT_ code. */
    uint32_t warnings; /**< Warnings that the check produced: TENSLICE_WARNING_ bits. */
    uint32_t byte_order; /**< The byte order of the values, a TENSLICE_BYTE_ORDER_ code. */
} tenslice_sparse_info;

/**
 * Checks the indices of a sparse tensor (rows, coordinates, or pairs of index and value) in one pass, and sets
 * `sparse` before the first value. Encoded components are decoded into the scratch memory (TENSLICE_PURPOSE_SPARSE),
 * which must stay in place while `sparse` is used. Linear in the number of indices.
 *
 * Errors: UNSUPPORTED_LAYOUT if the tensor is not sparse, or if the dtype of its values is unknown or takes less
 * than a byte; INVALID_ROW_POINTERS, INDEX_OUT_OF_RANGE, INDEX_ORDER, COUNT_MISMATCH, PACKED_LENGTH; OUT_OF_SCRATCH,
 * NOT_IN_MEMORY, the errors of tenslice_component_read_into.
 */
tenslice_status tenslice_tensor_sparse(const tenslice_tensor *tensor, const tenslice_read_options *options,
    tenslice_sparse *sparse, tenslice_error *error);

/** Fills `info` with information about a sparse tensor. */
tenslice_status tenslice_sparse_get_info(const tenslice_sparse *sparse, tenslice_sparse_info *info);

/**
 * Reads the next value, in stored order. Writes its index in each dimension to `index`, an array of `capacity`
 * numbers, and sets `value` to its bytes. The bytes are in the file or, if they had to be decoded, in the scratch
 * memory of tenslice_tensor_sparse. They are in the byte order that tenslice_sparse_info states, at any address:
 * copy them with memcpy. Returns TENSLICE_END after the last value.
 *
 * Errors: TOO_SMALL if there are more than `capacity` dimensions; the position does not advance.
 */
tenslice_status tenslice_sparse_next(tenslice_sparse *sparse, uint64_t *index, size_t capacity, tenslice_bytes *value,
    tenslice_error *error);

/* ---- Attributes -----------------------------------------------------------------------------------------------------
 *
 * Metadata of a file and of its tensors, by key or one after the other. Values may contain other values.
 */

/** Sets `cursor` before the first attribute of the file, for tenslice_attributes_next. */
tenslice_status tenslice_file_attributes(const tenslice_file *file, tenslice_cursor *cursor);

/** Sets `cursor` before the first attribute of the tensor, for tenslice_attributes_next. */
tenslice_status tenslice_tensor_attributes(const tenslice_tensor *tensor, tenslice_cursor *cursor);

/** The values inside a value. */
typedef struct {
    uint64_t opaque[12];
} tenslice_items;

/** A value of an attribute. */
typedef struct {
    uint32_t struct_size; /**< Size of this struct in bytes, set by the caller. */
    uint32_t kind; /**< The kind, a TENSLICE_VALUE_ code; 0 for the key of a value without a key. */
    /** The text, the bytes of a byte string, or the digits of a decimal number. `data` is NULL for other kinds. */
    tenslice_str text;
    /** The magnitude of an integer; also a boolean (0 or 1), the number of a simple value, or the number of a tag.
     *  The magnitude of -2^64 does not fit: it is 0, with `negative` set. */
    uint64_t magnitude;
    double real; /**< The floating-point number. */
    uint32_t negative; /**< 1 for a negative integer, else 0. */
    uint32_t reserved; /**< Reserved, 0. */
    tenslice_items items; /**< The values inside this value, for tenslice_value_items. */
} tenslice_value;

/**
 * Sets `value` to the first attribute at or after `cursor` whose key is the `length` bytes at `key`. The cursor does
 * not move. Linear in the bytes before the attribute.
 *
 * Errors: NOT_FOUND.
 */
tenslice_status tenslice_attributes_get(const tenslice_cursor *cursor, const char *key, size_t length,
    tenslice_value *value, tenslice_error *error);

/**
 * Sets `number` to the integer with this key, as tenslice_attributes_get does.
 *
 * Errors: NOT_FOUND; WRONG_TYPE if the value is of another kind or does not fit.
 */
tenslice_status tenslice_attributes_get_u64(const tenslice_cursor *cursor, const char *key, size_t length,
    uint64_t *number, tenslice_error *error);

/**
 * Sets `number` to the integer with this key, as tenslice_attributes_get does.
 *
 * Errors: NOT_FOUND; WRONG_TYPE if the value is of another kind or does not fit.
 */
tenslice_status tenslice_attributes_get_i64(const tenslice_cursor *cursor, const char *key, size_t length,
    int64_t *number, tenslice_error *error);

/**
 * Sets `number` to the floating-point number with this key, as tenslice_attributes_get does.
 *
 * Errors: NOT_FOUND; WRONG_TYPE if the value is of another kind, such as an integer.
 */
tenslice_status tenslice_attributes_get_f64(const tenslice_cursor *cursor, const char *key, size_t length,
    double *number, tenslice_error *error);

/**
 * Sets `truth` to the boolean with this key, 0 or 1, as tenslice_attributes_get does.
 *
 * Errors: NOT_FOUND; WRONG_TYPE if the value is of another kind.
 */
tenslice_status tenslice_attributes_get_bool(const tenslice_cursor *cursor, const char *key, size_t length,
    uint32_t *truth, tenslice_error *error);

/**
 * Sets `text` to the text with this key, as tenslice_attributes_get does.
 *
 * Errors: NOT_FOUND; WRONG_TYPE if the value is of another kind.
 */
tenslice_status tenslice_attributes_get_str(const tenslice_cursor *cursor, const char *key, size_t length,
    tenslice_str *text, tenslice_error *error);

/**
 * Reads the next attribute, or the next value inside a value. Sets `value` to the value and `key` (may be NULL) to
 * its key. The kind of `key` is 0 if the value has no key. Returns TENSLICE_END after the last value. A key is
 * usually a text, but the formats allow any value.
 */
tenslice_status tenslice_attributes_next(tenslice_cursor *cursor, tenslice_value *key, tenslice_value *value,
    tenslice_error *error);

/**
 * Sets `cursor` before the first value inside `value`: a list, a map, a tagged value, or a text or byte string in
 * chunks. Read the values with tenslice_attributes_next.
 *
 * Errors: WRONG_TYPE if `value` contains no other values.
 */
tenslice_status tenslice_value_items(const tenslice_value *value, tenslice_cursor *cursor);

/**
 * Sets `count` to the number of values left, if this number is known without reading the values: in GGUF, and in
 * formats without attributes, where it is 0.
 *
 * Errors: NOT_FOUND in other formats.
 */
tenslice_status tenslice_attributes_length(const tenslice_cursor *cursor, uint64_t *count);

/**
 * Sets `offset` and `length` to the range of the file that holds the remaining values of a list. In a GGUF file
 * opened from a source, the values of a long list may be missing, and tenslice_attributes_next returns
 * NOT_IN_MEMORY. Then fetch this range, add it to the source, and open the file again.
 *
 * Errors: NOT_FOUND for values that are always in memory: all but the lists of GGUF.
 */
tenslice_status tenslice_attributes_extent(const tenslice_cursor *cursor, uint64_t *offset, uint64_t *length);

/* ---- Strings ----------------------------------------------------------------------------------------------------- */

/** Writes a string to `buffer`, with escapes decoded. Its length is `needed` - 1: the string may contain NULs. */
tenslice_status tenslice_str_copy(const tenslice_str *text, char *buffer, size_t capacity, size_t *needed);

/**
 * Returns 1 if a string, with escapes decoded, equals the `length` bytes at `other`; else 0, also for an invalid
 * argument. Linear in the length of the string.
 */
uint32_t tenslice_str_equals(const tenslice_str *text, const char *other, size_t length);

/* ---- Verifying digests ----------------------------------------------------------------------------------------------
 *
 * These functions compare the data with the digests that the file states, to detect bytes that have changed since
 * they were written. The error is NOT_BUILT_IN if the library was built without the feature for the kind of digest:
 * `crc32`, `crc32c`, `sha256`, or `digest` for all.
 */

/** The result of verifying one component, or the counts of the results for several. */
typedef struct {
    uint32_t struct_size; /**< Size of this struct in bytes, set by the caller. */
    uint32_t warnings; /**< Warnings about the data: TENSLICE_WARNING_ bits. */
    uint64_t verified; /**< Number of components whose bytes match their digest. */
    uint64_t without_digest; /**< Number of components for which the file states no digest. */
    uint64_t unknown_digest; /**< Number of components whose digest is of an unknown kind. */
} tenslice_verified;

/**
 * Verifies all components of a file against their digests, and the indices of sparse tensors that are not encoded.
 * Reads all bytes of the components; bytes that several components share are read once for each component. The cost
 * is the sum of the lengths of all components, which may exceed the length of the file. For untrusted files, add up
 * the lengths first (tenslice_component_get_info). Scratch memory: tenslice_file_requirements,
 * TENSLICE_PURPOSE_VERIFY.
 *
 * Adds warnings that opening cannot produce: one of the first 2^24 chunks of a Blosc2 frame was never written, or
 * the header of a compressed entry of an NPZ archive causes a warning, such as bytes after the array. These warnings
 * may be missing if no decoder reads the first bytes of a stream, or if the scratch memory is too small.
 *
 * Errors: the errors of tenslice_component_verify, among them NOT_IN_MEMORY, for the first component that fails;
 * INDEX_OUT_OF_RANGE, INVALID_ROW_POINTERS, INDEX_ORDER, COUNT_MISMATCH, PACKED_LENGTH; NO_VALUES if the values of a
 * Blosc2 array are not in the file; the errors of an invalid NPY file in a compressed entry.
 */
tenslice_status tenslice_file_verify(const tenslice_file *file, const tenslice_read_options *options,
    tenslice_verified *verified, tenslice_error *error);

/**
 * Verifies a component against its digest. Reads all bytes of the component. Exactly one of the counts in `verified`
 * is set to 1. If the digest covers the decoded bytes, as in zTensor 2, and the bytes are stored encoded, they are
 * decoded one frame at a time into the scratch memory (TENSLICE_PURPOSE_VERIFY). Linear in the bytes that the digest
 * covers.
 *
 * Errors: DIGEST_MISMATCH, INVALID_DIGEST, INVALID_ELEMENT, IN_SHARD, NOT_IN_MEMORY; OUT_OF_SCRATCH if decoding
 * needs memory; NOT_BUILT_IN; the errors of tenslice_component_read_into.
 */
tenslice_status tenslice_component_verify(const tenslice_component *component, const tenslice_read_options *options,
    tenslice_verified *verified, tenslice_error *error);

/* ---- Versions and features --------------------------------------------------------------------------------------- */

/** The ABI version of this header; tenslice_abi_version() returns the ABI version of the library. */
#define TENSLICE_ABI_VERSION 1

/** Returns the ABI version of the library. Compare it with TENSLICE_ABI_VERSION. */
uint32_t tenslice_abi_version(void);

/** The version of this header; tenslice_version() returns the version of the library. */
#define TENSLICE_VERSION_MAJOR 0
#define TENSLICE_VERSION_MINOR 1
#define TENSLICE_VERSION_PATCH 0

/** Returns the version of the library, such as "0.1.0". */
const char *tenslice_version(void);

/**
 * Returns 1 if the library was built with `feature`, a TENSLICE_FEATURE_ code; else 0, also for an unknown code.
 *
 * A function that belongs to a feature is missing in a library without it, so a program that calls the function does
 * not link. A file of a format that is missing is rejected with NOT_BUILT_IN.
 */
uint32_t tenslice_has(uint32_t feature);

#ifdef __cplusplus
}
#endif

/* Writing, and functions for single formats. */
#include "tenslice/write.h"
#include "tenslice/safetensors.h"
#include "tenslice/gguf.h"
#include "tenslice/npy.h"
#include "tenslice/pytorch.h"
#include "tenslice/onnx.h"
#include "tenslice/ptd.h"
#include "tenslice/tflite.h"
#include "tenslice/tens.h"
#include "tenslice/blz.h"
#include "tenslice/b2nd.h"
#include "tenslice/ztensor2.h"

#endif /* TENSLICE_H */
