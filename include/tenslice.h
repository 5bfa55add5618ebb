/*
 * tenslice: opens tensor files from borrowed bytes, without allocating and without copying.
 *
 *     static const uint64_t shape[] = {64, 32};
 *     tenslice_file file;
 *     tenslice_bytes bytes;
 *     if (tenslice_file_open(&file, model, model_size, NULL) != TENSLICE_OK) return fail();
 *     if (tenslice_file_expect(&file, TENSLICE_STR("layer1.weight"), TENSLICE_F32, shape, 2, &bytes, NULL)
 *         != TENSLICE_OK) return fail();
 *     const float *numbers = (const float *)bytes.data;                 points into the model's bytes
 *
 * This header has what all formats share, and includes the others, in the folder tenslice/: types.h, with the
 * handles and what else all of them need; codes.h, with the numbers of statuses, dtypes and the like; and one for
 * each format that has functions of its own. What holds for every call is said here, and not again below.
 *
 * Ownership. The caller owns all memory: the bytes of the file, and the handles, which are plain structs that may be
 * placed anywhere and copied by assignment (a tenslice_source only until something has been opened from it). Nothing
 * is allocated, so nothing is freed or closed. (A library with Zstandard built in does allocate while it decodes: up
 * to about twice the smaller of a stream's window and its output. If it runs out of memory, it terminates the
 * program.)
 *
 * Lifetimes. A handle, a string or a pointer to bytes is valid for as long as the bytes that the file was opened
 * from stay in place, unchanged. If the file was opened from a source, the source must stay in place, unmoved and
 * unchanged, too. A component over bytes of the caller's, and an index over memory of the caller's, need those as
 * well. What is returned as a const char * is NUL-terminated and valid forever; it is "?" for a number that means
 * nothing.
 *
 * Status. Every call that can fail returns a tenslice_status: TENSLICE_OK (0), TENSLICE_END after the last of
 * several items, TENSLICE_NEED, or the code of an error, from 100 on. Comments name the errors of a call without
 * TENSLICE_, and leave out what any call may return: INVALID_ARGUMENT and INVALID_HANDLE (see Arguments), and a code
 * from 200 on where the bytes have changed since they were opened. A call that fails leaves its outputs unchanged,
 * except where its comment says otherwise. The details of an error go to `error`; tenslice_error_text makes a
 * message of them.
 *
 * Arguments. NULL, misaligned pointers, absurd lengths, zeroed handles (tenslice_file file = {0};) and handles of
 * another kind result in INVALID_ARGUMENT or INVALID_HANDLE, not in a crash. May be NULL: `error`, where it is an
 * output; `decoder`, for the one that is built in; and what a comment says so of. A call for files of one format
 * returns INVALID_ARGUMENT for a file of another. A handle is known by the number at its start. What follows is not
 * checked: memory that nobody has set, and a handle that anything but this library has written to, must not be
 * passed.
 *
 * Strings are passed in as a pointer and a length, in UTF-8: of a literal, TENSLICE_STR gives both; with the length
 * TENSLICE_NUL, a string ends before its NUL. Names are compared byte by byte. Strings of a file are returned as a
 * tenslice_str, which is not NUL-terminated. Texts that the library makes are written to `buffer`, NUL-terminated;
 * `needed` (may be NULL) is set to the number of bytes needed, the NUL included. Where `capacity` is less:
 * TOO_SMALL, and nothing is written.
 *
 * Structs that begin with struct_size grow at their end in later versions: set it to sizeof the struct before the
 * call, as TENSLICE_INIT does. A newer library fills no more than that size.
 *
 * Buffers. What is decoded is written to the `capacity` bytes at `destination`, of any alignment. `length` (may be
 * NULL) is set to the number of bytes written or, with TOO_SMALL, needed: UINT64_MAX where the file does not state
 * it; then try again with a larger destination. Some calls need `scratch`, memory of any alignment to work in: their
 * comments name the function that says how many bytes; where that is 0, it may be NULL; where there are fewer,
 * OUT_OF_SCRATCH. After TOO_SMALL nothing has been written, if the length is known; where stored bytes turn out to
 * be damaged, the contents of the destination are unspecified.
 *
 * Overlap. Memory that a call fills by pointer and length (a destination, scratch memory, an array, a string buffer)
 * must share no byte with any other argument except `error`, and a handle must share none with the bytes that it is
 * made over: otherwise the call returns INVALID_ARGUMENT and leaves both unchanged. Outputs must not be inside the
 * bytes of an open file, or inside part of another argument, either: this is not checked.
 *
 * Threads. There is no global state. Calls that take handles by const pointer may run in any number of threads at
 * once.
 *
 * Contents:
 *     Simple use
 *     Tensors of a file
 *     Many names: an index
 *     A tensor
 *     Decoding: a tensor as a dense array
 *     Numbers as floats
 *     A file: what it is, what is odd about it
 *     Components
 *     Ranges: files that are not in memory
 *     Sparse tensors
 *     Attributes
 *     Strings
 *     Verifying digests
 *     Versions
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
 * Open a file, take the bytes of a tensor that you know, say what is wrong where that fails.
 */

/**
 * Opens the file in the `length` bytes at `data`, of any alignment, which must stay in place for as long as anything
 * made from `file` is used. Checks the whole structure in one pass over the metadata and reads no tensor data.
 *
 * Errors: the first rule that the file breaks.
 */
tenslice_status tenslice_file_open(tenslice_file *file, const void *data, size_t length, tenslice_error *error);

/** As the rank of a shape that is expected: any shape will do. */
#define TENSLICE_ANY_SHAPE SIZE_MAX

/**
 * Finds the tensor named `name`, and sets `bytes` to its bytes, without a copy: those of a dense tensor of `dtype`,
 * in this machine's byte order, aligned, with the `rank` lengths at `shape`, in the order of the file. With
 * TENSLICE_ANY its elements may be of any type, and its bytes are as they are in the file; with TENSLICE_ANY_SHAPE
 * for `rank` it may have any shape, and `shape` is not read. Linear in the bytes of the metadata;
 * tenslice_index_find and tenslice_tensor_expect are not.
 *
 * With a shape, the elements must be in row-major order; with TENSLICE_COLUMN_MAJOR, combined with `dtype` by `|`,
 * in column-major order. Shapes of which fewer than two dimensions are longer than 1 are in both. With
 * TENSLICE_ANY_SHAPE and without that bit they may be in either: tenslice_tensor_strides says where each element is.
 *
 * Where it fails, tenslice_expect_text has a message that says what the file has instead.
 *
 * Errors: NOT_FOUND, NOT_DENSE, WRONG_TYPE, WRONG_SHAPE, WRONG_ORDER, PARTIAL_ELEMENT, FOREIGN_ENDIAN, MISALIGNED,
 * ENCODED, UNSUPPORTED_ENCODING, IN_SHARD, NOT_IN_MEMORY.
 */
tenslice_status tenslice_file_expect(const tenslice_file *file, const char *name, size_t length, uint32_t dtype,
    const uint64_t *shape, size_t rank, tenslice_bytes *bytes, tenslice_error *error);

/** Combined by | with the dtype that is expected: elements in column-major order, see tenslice_file_expect. */
#define TENSLICE_COLUMN_MAJOR UINT32_C(0x80000000)

/**
 * Writes the message of an error of tenslice_file_expect, tenslice_tensor_expect, tenslice_file_find or
 * tenslice_index_find to `buffer`: which tensor was asked for, and what the file has instead, such as `tensor
 * "layer1.weight": expected f32 [64, 32]; the file has f16 [64, 16]`, or `no tensor "layer1.wieght"; the nearest
 * name is "layer1.weight"`. The arguments up to `rank` are those of the call that failed (after a call that takes a
 * name only, TENSLICE_ANY, NULL and TENSLICE_ANY_SHAPE), and `error` is what it has set. The metadata is read once
 * more.
 */
tenslice_status tenslice_expect_text(const tenslice_file *file, const char *name, size_t length, uint32_t dtype,
    const uint64_t *shape, size_t rank, const tenslice_error *error, char *buffer, size_t capacity, size_t *needed);

/**
 * Writes the message of an error to `buffer`: which rule is broken, by which tensor, at which byte. Names and
 * numbers are read again from the bytes that the file was opened from; `data` may be NULL, then they are left out.
 *
 * Errors: INVALID_ARGUMENT, also for an error that this library has not produced.
 */
tenslice_status tenslice_error_text(const tenslice_error *error, const void *data, size_t length, char *buffer,
    size_t capacity, size_t *needed);

/** Returns a description of a status. */
const char *tenslice_status_text(tenslice_status status);

/** Returns the name of a status, such as "NotFound". */
const char *tenslice_status_name(tenslice_status status);

/* ---- Tensors of a file ----------------------------------------------------------------------------------------------
 *
 * By name, or all of them in the order of the file:
 *
 *     tenslice_file_tensors(&file, &cursor);
 *     while (tenslice_tensors_next(&cursor, &tensor, NULL) == TENSLICE_OK) ...
 */

/**
 * Finds the first tensor that is named `name`. Linear in the bytes of the metadata.
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
 * tenslice_file_find and tenslice_file_expect read the metadata up to the tensor each time. An index is made once,
 * in memory of the caller's; a look-up then hardly depends on how many tensors there are.
 */

/** An index of the names in a file: see tenslice_file_index. */
typedef struct {
    uint64_t opaque[28];
} tenslice_index;

/**
 * Sets `count` to how many words tenslice_file_index needs: three for each tensor, none for a single one.
 *
 * Errors: TOO_MANY where this machine could not address so many.
 */
tenslice_status tenslice_file_index_length(const tenslice_file *file, size_t *count);

/**
 * Makes an index of the names in the file, so that tenslice_index_find takes no longer in a file of many tensors:
 * tenslice_file_find is linear. Compares all names exactly, as tenslice_file_check does. `words` is an array of
 * `count` elements, which must stay there unchanged for as long as `index` is used, and so must what the file was
 * opened from; `file` need not. Linear in the bytes of the metadata. Names that were made to collide are hashed once
 * more, with a seed that depends on all of them and on the address of `words`, and where that is no better they are
 * sorted: N log N comparisons. Nothing is allocated, and nothing needs to be closed.
 *
 * Errors: OUT_OF_SCRATCH where there are fewer words than tenslice_file_index_length says; REPEATED_NAME where the
 * format forbids that (in zTensor 0.1, which allows it, the index has the first one); those of tenslice_file_check.
 * The contents of `words` are unspecified after an error.
 */
tenslice_status tenslice_file_index(const tenslice_file *file, uint32_t *words, size_t count, tenslice_index *index,
    tenslice_error *error);

/**
 * Finds the first tensor with the name of `length` bytes at `name`, as tenslice_file_find does, in time that hardly
 * depends on how many tensors there are.
 *
 * Errors: NOT_FOUND, also where the bytes have changed since the index was made and another name is where this one
 * was.
 */
tenslice_status tenslice_index_find(const tenslice_index *index, const char *name, size_t length,
    tenslice_tensor *tensor, tenslice_error *error);

/* ---- A tensor ---------------------------------------------------------------------------------------------------- */

/** Returns the name of a tensor; one without bytes for an invalid handle. */
tenslice_str tenslice_tensor_name(const tenslice_tensor *tensor);

/** Returns the dtype of the elements of a tensor; 0 where it is unknown, and for an invalid handle. */
uint32_t tenslice_tensor_dtype(const tenslice_tensor *tensor);

/**
 * Returns the type of the elements as the file spells it, where that says more than the dtype: texts, times,
 * records. Of NPY and the stored entries of NPZ the `descr`, in quotation marks if it is a string ("'<M8[s]'"), in
 * UTF-8 in version 3.0, in Latin-1 before; of Blosc2 arrays the dtype ("<M8[s]"). `data` is NULL for other formats,
 * for compressed entries of NPZ (see tenslice_tensor_describe), if the file states none, and for an invalid handle.
 * Linear in the bytes of the header.
 */
tenslice_str tenslice_tensor_stated_type(const tenslice_tensor *tensor);

/** Returns the number of dimensions of a tensor; 0 for a scalar, and for an invalid handle. */
uint32_t tenslice_tensor_rank(const tenslice_tensor *tensor);

/**
 * Returns the length of dimension `index` of a tensor, counted from 0, the outermost of a row-major array; 0 where
 * it has fewer dimensions, and for an invalid handle. Linear in `index`.
 */
uint64_t tenslice_tensor_dimension(const tenslice_tensor *tensor, uint32_t index);

/**
 * Writes the shape, in the order of the file, to `dimensions`, an array of `capacity` lengths. `rank` (may be NULL)
 * is set to the number of dimensions in any case: call with a capacity of 0 to query it.
 *
 * Errors: TOO_SMALL.
 */
tenslice_status tenslice_tensor_shape(const tenslice_tensor *tensor, uint64_t *dimensions, size_t capacity,
    uint32_t *rank);

/**
 * Writes the strides to `strides`, an array of `capacity` numbers, one per dimension: the distance, in elements,
 * between elements whose indices differ by one in that dimension, in the stored dense tensor or in what
 * tenslice_tensor_read_into writes.
 *
 * Errors: TOO_SMALL where there are more than `capacity` dimensions; SHAPE_OVERFLOW where a tensor without elements
 * has lengths whose product exceeds 64 bits, then the contents of `strides` are unspecified.
 */
tenslice_status tenslice_tensor_strides(const tenslice_tensor *tensor, uint64_t *strides, size_t capacity);

/**
 * Returns the product of the dimensions of a tensor; UINT64_MAX where it exceeds 64 bits, which a sparse tensor's
 * may; 0 for an invalid handle.
 */
uint64_t tenslice_tensor_elements(const tenslice_tensor *tensor);

/** Returns how the components of a tensor make it up, a TENSLICE_LAYOUT_ code; UINT32_MAX for an invalid handle. */
uint32_t tenslice_tensor_layout(const tenslice_tensor *tensor);

/** Information about a tensor. */
typedef struct {
    uint32_t struct_size; /**< Its size, set by the caller. */
    uint32_t dtype; /**< The dtype of its elements; 0 where it is unknown. */
    tenslice_str name; /**< Its name. */
    uint32_t layout; /**< How its components make up the tensor, a TENSLICE_LAYOUT_ code. */
    uint32_t order; /**< The order of the elements of a dense array, a TENSLICE_ORDER_ code. */
    tenslice_str layout_name; /**< The name of the layout, as the file spells it. */
    uint64_t index; /**< Its index among the tensors of the file, from 0. */
    /** The product of the dimensions; UINT64_MAX where it exceeds 64 bits, which a sparse tensor's may. */
    uint64_t elements;
    uint32_t rank; /**< Number of dimensions; 0 for a scalar. */
    uint32_t warnings; /**< Warnings about the tensor: TENSLICE_WARNING_ bits. */
} tenslice_tensor_info;

/** Fills `info`. */
tenslice_status tenslice_tensor_get_info(const tenslice_tensor *tensor, tenslice_tensor_info *info);

/**
 * Returns why the elements of a tensor cannot be read, if it has TENSLICE_WARNING_UNREADABLE_TENSOR: its type is
 * unknown, its header is invalid, or its values are not in the file. Otherwise returns OK. Each call that reads its
 * elements returns the same error; tenslice_component_stored returns its bytes as they are in the file.
 *
 * Errors: UNKNOWN_DTYPE, NO_VALUES, and for an array of an NPZ archive those of an invalid NPY file.
 */
tenslice_status tenslice_tensor_problem(const tenslice_tensor *tensor, tenslice_error *error);

/**
 * Sets `bytes` to the bytes of a dense tensor, without a copy, and checked to be elements of `dtype`: of this type,
 * in this machine's byte order, aligned. With TENSLICE_ANY, the bytes as they are in the file.
 *
 * Errors: NOT_DENSE, WRONG_TYPE, PARTIAL_ELEMENT, FOREIGN_ENDIAN, MISALIGNED, ENCODED, UNSUPPORTED_ENCODING,
 * NOT_IN_MEMORY.
 */
tenslice_status tenslice_tensor_bytes(const tenslice_tensor *tensor, uint32_t dtype, tenslice_bytes *bytes,
    tenslice_error *error);

/**
 * Compares a tensor that was found already with what is expected, and sets `bytes` to its bytes:
 * tenslice_file_expect without the name. Constant cost.
 *
 * Errors: those of tenslice_file_expect but NOT_FOUND.
 */
tenslice_status tenslice_tensor_expect(const tenslice_tensor *tensor, uint32_t dtype, const uint64_t *shape,
    size_t rank, tenslice_bytes *bytes, tenslice_error *error);

/** Returns the name of a dtype, such as "f32". */
const char *tenslice_dtype_name(uint32_t dtype);

/** Returns the size of one element of a dtype in bytes; 0 where it is less than a byte, and for any other number. */
size_t tenslice_dtype_size(uint32_t dtype);

/**
 * Returns the number of bits of one element of a dtype; 0 for any other number. Elements of 4 and 6 bits are packed
 * without gaps.
 */
uint32_t tenslice_dtype_bits(uint32_t dtype);

/* ---- Decoding: a tensor as a dense array ----------------------------------------------------------------------------
 *
 * Where tenslice_tensor_bytes has no bytes to point to: compressed, chunked and sparse tensors, tensor trains.
 */

/** The description of a tensor's elements. */
typedef struct {
    uint32_t struct_size; /**< Its size, set by the caller. */
    uint32_t dtype; /**< The dtype of the elements; 0 if they have none. */
    /** The type of the elements as the file spells it, as tenslice_tensor_stated_type returns it; of a compressed
     *  entry of an NPZ archive it is in the scratch memory. */
    tenslice_str stated_type;
    uint64_t elements; /**< The product of the dimensions; UINT64_MAX if it exceeds 64 bits. */
    uint32_t order; /**< The order of the elements, a TENSLICE_ORDER_ code. */
    uint32_t byte_order; /**< The byte order of the elements as they are stored, a TENSLICE_BYTE_ORDER_ code. */
    uint32_t rank; /**< Number of dimensions; 0 for a scalar. */
    uint32_t warnings; /**< Warnings about the tensor, with those that only its header gives: TENSLICE_WARNING_ bits. */
    /** 1 where the bytes of `stated_type` beyond ASCII are Latin-1, as in NPY before version 3.0; 0 where they are
     *  UTF-8. */
    uint32_t is_latin_1;
    uint32_t reserved; /**< Reserved, 0. */
} tenslice_described;

/**
 * Fills `described` with what the elements of a tensor are, and writes the shape, in the order of the file, to
 * `dimensions`, an array of `capacity` lengths; with a capacity of 0, only the number of dimensions is reported. Of
 * a compressed entry of an NPZ archive, nothing is known before it is decoded: this decodes its header into
 * `scratch`, and nothing behind that. The headers that NumPy writes for numbers have 128 bytes;
 * tenslice_tensor_describe_scratch returns the exact length. For any other tensor nothing is decoded, and `scratch`
 * may be NULL. Linear in the bytes of the header.
 *
 * Errors: NOT_BUILT_IN if no decoder reads the start of a stream; OUT_OF_SCRATCH; TOO_SMALL if there are more than
 * `capacity` dimensions, if it is not 0; UNSUPPORTED_ENCODING, CORRUPT_STREAM, DECODED_LENGTH, NOT_IN_MEMORY; those
 * of an invalid NPY file; those of tenslice_tensor_problem.
 */
tenslice_status tenslice_tensor_describe(const tenslice_tensor *tensor, const tenslice_decoder *decoder,
    void *scratch, size_t scratch_length, uint64_t *dimensions, size_t capacity, tenslice_described *described,
    tenslice_error *error);

/**
 * Sets `length` to how much scratch memory tenslice_tensor_describe needs: of a compressed entry of an NPZ archive
 * the length of its header, of which 12 bytes are decoded; 0 for any other tensor.
 *
 * Errors: those of tenslice_tensor_describe, except OUT_OF_SCRATCH and TOO_SMALL.
 */
tenslice_status tenslice_tensor_describe_scratch(const tenslice_tensor *tensor, const tenslice_decoder *decoder,
    uint64_t *length, tenslice_error *error);

/**
 * Sets `dense` to how many bytes tenslice_tensor_read_into writes, and `scratch` to how much scratch memory it
 * needs. Either may be NULL, and is set to UINT64_MAX where the file does not state it or where there can be no
 * dense array. For a chunked array the headers of all chunks are read, and `scratch` is also UINT64_MAX where one is
 * malformed or not in memory; tenslice_b2nd_region_lengths returns the reason.
 */
tenslice_status tenslice_tensor_lengths(const tenslice_tensor *tensor, uint64_t *dense, uint64_t *scratch);

/**
 * Reads a tensor as a dense array, whatever its layout, to `destination`: in this machine's byte order, dense data
 * in its own order, all else row-major. The elements of a chunked array stay in the byte order that its component
 * states. Scratch memory: tenslice_tensor_lengths.
 *
 * The cost is proportional to the bytes read and written (of a sparse tensor: to its indices and values, and to the
 * dense length, which the file does not bound), except for two layouts: blocks of chunks are decoded as a whole
 * (tenslice_b2nd_region_work reports how many bytes that is), and tenslice_blz_slice states the cost for the
 * elements of a tensor train.
 *
 * Errors: TOO_SMALL, OUT_OF_SCRATCH, UNSUPPORTED_LAYOUT, SHAPE_OVERFLOW, those of tenslice_component_read_into; for
 * a sparse tensor INVALID_ROW_POINTERS, INDEX_OUT_OF_RANGE, COUNT_MISMATCH, PACKED_LENGTH; for a chunked array
 * UNSUPPORTED_CODEC where there is no decoder for its chunks, UNSUPPORTED_FILTER, and the error of a malformed
 * chunk; NO_VALUES if the values are elsewhere or still to be computed.
 */
tenslice_status tenslice_tensor_read_into(const tenslice_tensor *tensor, const tenslice_decoder *decoder,
    void *destination, size_t capacity, void *scratch, size_t scratch_length, uint64_t *length,
    tenslice_error *error);

/* ---- Numbers as floats ----------------------------------------------------------------------------------------------
 *
 * Absent from libraries built without the feature `dequantize`; functions for single types of quantized blocks are
 * in tenslice/gguf.h.
 */

/**
 * Reads `count` numbers of a dense tensor, or of one in quantized blocks, to `out`, from number `first` on. Booleans
 * become 0 and 1. Integers of 32 and 64 bits and doubles are rounded to the nearest float, ties to even; a double
 * beyond its range becomes infinite. Constant cost per element, wherever they are.
 *
 * In a library with GGUF it brings the code and the tables of all types of blocks; tenslice_q4_0_to_f32 and its
 * siblings bring those of one.
 *
 * Errors: NO_SUCH_ELEMENT where there are not as many; WRONG_TYPE for complex numbers, several lanes and 128 bits;
 * NOT_DENSE, ENCODED: tenslice_tensor_read_f32_into reads those; FOREIGN_ENDIAN for quantized blocks of a big-endian
 * file, whose contents no specification defines; NOT_IN_MEMORY.
 */
tenslice_status tenslice_tensor_read_f32(const tenslice_tensor *tensor, uint64_t first, float *out, size_t count,
    tenslice_error *error);

/**
 * Sets `length` to how much scratch memory tenslice_tensor_read_f32_into needs: 0 for dense data that is stored raw
 * and for quantized blocks. UINT64_MAX where the file does not state it.
 */
tenslice_status tenslice_tensor_f32_scratch(const tenslice_tensor *tensor, uint64_t *length);

/**
 * Reads a whole tensor as numbers to `out`, whatever its layout and encoding, converted as by
 * tenslice_tensor_read_f32: one for each element, in the order in which tenslice_tensor_read_into writes them.
 * `capacity` and `count` (may be NULL) are numbers of elements. Scratch memory: tenslice_tensor_f32_scratch. The
 * cost is that of tenslice_tensor_read_into, and linear in the elements.
 *
 * Errors: TOO_SMALL, OUT_OF_SCRATCH; those of tenslice_tensor_read_f32 and of tenslice_tensor_read_into.
 */
tenslice_status tenslice_tensor_read_f32_into(const tenslice_tensor *tensor, const tenslice_decoder *decoder,
    float *out, size_t capacity, void *scratch, size_t scratch_length, uint64_t *count, tenslice_error *error);

/** Returns the value of an IEEE binary16. Exact, as the ones below. */
float tenslice_f16_to_f32(uint16_t bits);

/** Returns the value of a bfloat16. */
float tenslice_bf16_to_f32(uint16_t bits);

/** Returns the value of an 8-bit float with 4 exponent and 3 mantissa bits, NaN but no infinities. */
float tenslice_f8_e4m3fn_to_f32(uint8_t bits);

/** Returns the value of an 8-bit float with 5 exponent and 2 mantissa bits, NaN and infinities. */
float tenslice_f8_e5m2_to_f32(uint8_t bits);

/**
 * Returns the value of an 8-bit float with 4 exponent and 3 mantissa bits, one NaN, no infinities, no negative zero.
 */
float tenslice_f8_e4m3fnuz_to_f32(uint8_t bits);

/**
 * Returns the value of an 8-bit float with 5 exponent and 2 mantissa bits, one NaN, no infinities, no negative zero.
 */
float tenslice_f8_e5m2fnuz_to_f32(uint8_t bits);

/** Returns the value of a power of two in 8 bits, 2^(bits - 127); 255 is NaN. */
float tenslice_f8_e8m0_to_f32(uint8_t bits);

/** Returns the value of a 4-bit float with 2 exponent bits and 1 mantissa bit, in the low 4 bits. */
float tenslice_f4_e2m1_to_f32(uint8_t bits);

/** Returns the value of a 6-bit float with 2 exponent and 3 mantissa bits, in the low 6 bits. */
float tenslice_f6_e2m3_to_f32(uint8_t bits);

/** Returns the value of a 6-bit float with 3 exponent and 2 mantissa bits, in the low 6 bits. */
float tenslice_f6_e3m2_to_f32(uint8_t bits);

/* ---- A file: what it is, what is odd about it -------------------------------------------------------------------- */

/** Information about a file. */
typedef struct {
    uint32_t struct_size; /**< Its size, set by the caller. */
    uint32_t format; /**< The kind of file, a TENSLICE_FORMAT_ code. */
    uint64_t length; /**< Length of the file in bytes. */
    uint64_t tensor_count; /**< Number of tensors. */
    tenslice_str version; /**< The version as the file states it. */
    uint32_t warnings; /**< Warnings that the format's specification calls for: TENSLICE_WARNING_ bits. */
    uint32_t reserved; /**< Reserved, 0. */
} tenslice_file_info;

/** Fills `info`. */
tenslice_status tenslice_file_get_info(const tenslice_file *file, tenslice_file_info *info);

/**
 * Sets `index` to the number, in the order of the file, of the first tensor that a warning (one TENSLICE_WARNING_
 * bit) is about.
 *
 * Errors: NOT_FOUND where the file does not have the warning, or it is not one of those that are recorded with a
 * tensor: bits 0 to 7.
 */
tenslice_status tenslice_file_warning_tensor(const tenslice_file *file, uint32_t warning, uint64_t *index);

/**
 * Sets `count` to how many words tenslice_file_check uses at most; so many are always enough. 0 if opening has left
 * nothing to compare. That is one word for each item of the kind of which there are most among those that are left:
 * names of tensors, roles of one tensor, keys of a GGUF file, places of data in safetensors, entries of an NPZ
 * archive. In zTensor 2 it is two words for each component or each shard, whichever are more. Linear in the bytes of
 * the metadata.
 *
 * Errors: TOO_MANY if this machine could not address so many.
 */
tenslice_status tenslice_file_check_length(const tenslice_file *file, size_t *count);

/**
 * Compares what opening could not without memory, exactly: names (TENSLICE_WARNING_NAMES_UNCHECKED), the roles
 * within a tensor (TENSLICE_WARNING_ROLES_UNCHECKED), keys (TENSLICE_WARNING_KEYS_UNCHECKED), and the places of
 * components, entries of an archive, and shards (TENSLICE_WARNING_PLACES_UNCHECKED). `scratch` is an array of
 * `count` elements: with tenslice_file_check_length of them the items are sorted and read once. With fewer they are
 * read once for each part that fits, at most eight times; a file that needs more than eight times as many is
 * refused. The shards of a zTensor 2 file are looked up with two elements for each of them, not with fewer (on 32
 * bits without memory). `warnings` (may be NULL) is set to the file's warnings as they are afterwards.
 *
 * Errors: REPEATED_NAME where the format forbids it, REPEATED_KEY for a role or a key, OVERLAP; in zTensor 2
 * UNKNOWN_SHARD and OUT_OF_SHARD; OUT_OF_SCRATCH, never with as many elements as tenslice_file_check_length says.
 */
tenslice_status tenslice_file_check(const tenslice_file *file, uint32_t *scratch, size_t count, uint32_t *warnings,
    tenslice_error *error);

/* ---- Components -----------------------------------------------------------------------------------------------------
 *
 * The parts that a tensor is made of, each with a role: one for a dense tensor, several for a sparse or quantized
 * one.
 */

/**
 * Makes `component` the component that holds a dense tensor, all of it.
 *
 * Errors: NOT_DENSE.
 */
tenslice_status tenslice_tensor_data(const tenslice_tensor *tensor, tenslice_component *component,
    tenslice_error *error);

/**
 * Finds the first component whose role is `role`.
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
    uint32_t struct_size; /**< Its size, set by the caller. */
    uint32_t dtype; /**< The dtype of its elements; 0 where the format does not specify one. */
    /** The dtype that they are stored as, which differs where the file states a logical type over it. */
    uint32_t storage_dtype;
    uint32_t byte_order; /**< The byte order of its elements, a TENSLICE_BYTE_ORDER_ code. */
    uint32_t encoding; /**< How its bytes are stored, a TENSLICE_ENCODING_ code. */
    uint32_t reserved; /**< Reserved, 0. */
    tenslice_str role; /**< Its role in the tensor, in the format's own terms: "data", "values", "indices", ... */
    tenslice_str encoding_name; /**< The name of the encoding, as the file spells it. */
    tenslice_str digest; /**< Its digest as the file spells it, not verified. */
    /** Offset of its bytes in the file, for a caller that reads them from elsewhere: checked to be inside the file. */
    uint64_t offset;
    uint64_t length; /**< Its stored length in bytes. */
    uint64_t decoded_length; /**< Its decoded length in bytes; UINT64_MAX where the file does not state it. */
} tenslice_component_info;

/** Fills `info`. */
tenslice_status tenslice_component_get_info(const tenslice_component *component, tenslice_component_info *info);

/**
 * Sets `bytes` to the bytes of a component, without a copy, and checked to be elements of `dtype`: of this type, in
 * this machine's byte order, aligned. With TENSLICE_ANY, the bytes as they are in the file.
 *
 * Errors: WRONG_TYPE, PARTIAL_ELEMENT, FOREIGN_ENDIAN, MISALIGNED, ENCODED, UNSUPPORTED_ENCODING, NOT_IN_MEMORY.
 */
tenslice_status tenslice_component_bytes(const tenslice_component *component, uint32_t dtype, tenslice_bytes *bytes,
    tenslice_error *error);

/**
 * Sets `bytes` to the bytes of a component as stored, possibly encoded.
 *
 * Errors: NOT_IN_MEMORY.
 */
tenslice_status tenslice_component_stored(const tenslice_component *component, tenslice_bytes *bytes,
    tenslice_error *error);

/**
 * Sets `caps` to what can be done with a component here and now, with what this library has built in: TENSLICE_CAP_
 * flags, each set where the operation gets as far as reading the component's bytes. They may still turn out to be
 * damaged.
 */
tenslice_status tenslice_component_caps(const tenslice_component *component, uint32_t *caps);

/**
 * Decodes the elements of a component to `destination`: in stored order, in this machine's byte order.
 *
 * Errors: TOO_SMALL, UNSUPPORTED_ENCODING, IN_SHARD, NOT_IN_MEMORY; CORRUPT_STREAM, INVALID_SEEK_TABLE,
 * INVALID_FRAME, DECODED_LENGTH, CHECKSUM_MISMATCH, PARTIAL_ELEMENT; ENCODED for chunked arrays, which
 * tenslice_tensor_read_into decodes.
 */
tenslice_status tenslice_component_read_into(const tenslice_component *component, const tenslice_decoder *decoder,
    void *destination, size_t capacity, uint64_t *length, tenslice_error *error);

/**
 * Reads a range of what tenslice_component_read_into writes: `capacity` bytes from byte `offset` on. Raw bytes are
 * copied; of TENSLICE_ENCODING_ZSTD_SEEKABLE only the frames are decoded that have a share in the range, those that
 * are wanted in part into `scratch` (tenslice_component_range_scratch). A decoder of the caller's is asked for
 * TENSLICE_ENCODING_ZSTD, a frame at a time, and should check the frame's checksum.
 *
 * The cost is linear in `capacity`, in the frames that are decoded (at most 16 MiB more than that), and in the table
 * of all frames, 8 or 12 bytes each.
 *
 * Errors: NO_SUCH_ELEMENT where there are not as many bytes; PARTIAL_ELEMENT where the range begins or ends within a
 * number; ENCODED where the encoding has no ranges; UNSUPPORTED_ENCODING, OUT_OF_SCRATCH, IN_SHARD, NOT_IN_MEMORY;
 * INVALID_SEEK_TABLE, INVALID_FRAME, DECODED_LENGTH, CORRUPT_STREAM, CHECKSUM_MISMATCH.
 */
tenslice_status tenslice_component_read_range(const tenslice_component *component, const tenslice_decoder *decoder,
    uint64_t offset, void *destination, size_t capacity, void *scratch, size_t scratch_length,
    tenslice_error *error);

/**
 * Sets `length` to how much scratch memory tenslice_component_read_range needs at most: 0 for raw bytes, else what
 * the largest frame decodes to, at most 16 MiB. UINT64_MAX where no range can be read: another encoding, bytes that
 * are not in memory, an invalid table of frames. Linear in that table.
 */
tenslice_status tenslice_component_range_scratch(const tenslice_component *component, uint64_t *length);

/* ---- Ranges: files that are not in memory ---------------------------------------------------------------------------
 *
 * The library requests the ranges it needs, and never reads by itself.
 *
 *     tenslice_source source; tenslice_need need; tenslice_status status;
 *     tenslice_source_init(&source, file_length);
 *     while ((status = tenslice_file_open_source(&file, &source, &need, &error)) == TENSLICE_NEED) {
 *         if (need.length > (uint64_t)(buffer_end - buffer)) return fail();  never trust the sizes in a file
 *         read_from_card(need.offset, buffer, (size_t)need.length);
 *         tenslice_source_add(&source, need.offset, buffer, (size_t)need.length);
 *         buffer += need.length;
 *     }
 *
 * Tensor data is not fetched this way: tenslice_component_get_info returns where it is in the file, and
 * tenslice_component_with_bytes takes the bytes read from there. Calls that read it from the file itself
 * (tenslice_tensor_read_into, tenslice_tensor_sparse, tenslice_tens_element, tenslice_tens_chunks_next, those of
 * tenslice/b2nd.h that read chunks) return NOT_IN_MEMORY unless it was added before the file was opened: open the
 * file once to learn where its components are, then again from a second source that includes them. For a chunked
 * array those are the table of chunks and the chunks that are wanted: tenslice_b2nd_get_info and
 * tenslice_b2nd_chunk_extent.
 */

/** How many ranges a tenslice_source can keep. */
#define TENSLICE_MAX_SEGMENTS 32

/**
 * A file of which only some ranges are in memory: its length, and the ranges fetched so far (at most
 * TENSLICE_MAX_SEGMENTS). Nothing may be added while anything opened from it is used: bytes read later go to
 * tenslice_component_with_bytes, or the file is opened again.
 */
typedef struct {
    uint64_t opaque[130];
} tenslice_source;

/** A range of bytes that must be fetched. Always shorter than 4 GiB, and inside the file. */
typedef struct {
    uint64_t offset; /**< Offset of the first byte in the file. */
    uint64_t length; /**< Number of bytes. */
    /** 1: the bytes must stay for as long as anything opened from the source is used. 0: they may be dropped or
     *  overwritten once the next call of tenslice_file_open_source has returned. */
    uint32_t keep;
    uint32_t reserved; /**< Reserved, 0. */
} tenslice_need;

/** Makes `source` describe a file of `file_length` bytes, none of them in memory yet. */
tenslice_status tenslice_source_init(tenslice_source *source, uint64_t file_length);

/**
 * Adds the bytes at `data`, found at `offset` of the file. Add each range as it was requested, or with more around
 * it, in one piece. A range that covers earlier ones replaces them; bytes that an earlier one already covers are not
 * added again. Where a range was requested with `keep` 0, bytes that contain all of it are dropped with it.
 *
 * Errors: INVALID_ARGUMENT, also where the bytes reach past the end of the file; TOO_MANY_SEGMENTS. The source is
 * unchanged then.
 */
tenslice_status tenslice_source_add(tenslice_source *source, uint64_t offset, const void *data, size_t length);

/**
 * Opens a file of which only some ranges are in memory. TENSLICE_NEED requests another range: fetch exactly that,
 * add it to the source, call again. `file` holds a pointer to the source.
 *
 * Errors: the first rule that the file breaks.
 */
tenslice_status tenslice_file_open_source(tenslice_file *file, tenslice_source *source, tenslice_need *need,
    tenslice_error *error);

/**
 * Makes `bound` the same component over the `length` bytes at `data`, which the caller read from its place in the
 * file.
 *
 * Errors: WRONG_LENGTH where these bytes have another length.
 */
tenslice_status tenslice_component_with_bytes(const tenslice_component *component, const void *data, size_t length,
    tenslice_component *bound, tenslice_error *error);

/**
 * Writes the message of an error as tenslice_error_text does, for a file that was opened from a source: with the
 * names and numbers that are still in memory.
 */
tenslice_status tenslice_error_text_source(const tenslice_error *error, const tenslice_source *source, char *buffer,
    size_t capacity, size_t *needed);

/* ---- Sparse tensors -------------------------------------------------------------------------------------------------
 *
 * Value by value; tenslice_tensor_read_into makes a dense array of one.
 */

/** A sparse tensor whose indices have been checked, and a position among its values. */
typedef struct {
    uint64_t opaque[32];
} tenslice_sparse;

/** Information about a sparse tensor. */
typedef struct {
    uint32_t struct_size; /**< Its size, set by the caller. */
    uint32_t dtype; /**< The dtype of the values. */
    uint64_t stored; /**< Number of stored values, zeros and duplicate indices included. */
    uint32_t rank; /**< Number of dimensions. */
    uint32_t layout; /**< A TENSLICE_LAYOUT_ code. */
    uint32_t warnings; /**< The warnings that the check produced: TENSLICE_WARNING_ bits. */
    uint32_t byte_order; /**< The byte order of the values, a TENSLICE_BYTE_ORDER_ code. */
} tenslice_sparse_info;

/**
 * Checks the indices of a sparse tensor (rows, coordinates, or pairs of index and value) in one pass, and sets
 * `sparse` before the first value. Components that are stored encoded are decoded into `scratch`
 * (tenslice_tensor_lengths), which must stay in place as long as `sparse` is used. Linear in the number of indices.
 *
 * Errors: UNSUPPORTED_LAYOUT where the tensor is not sparse; INVALID_ROW_POINTERS, INDEX_OUT_OF_RANGE,
 * COUNT_MISMATCH, PACKED_LENGTH; OUT_OF_SCRATCH, NOT_IN_MEMORY, those of tenslice_component_read_into.
 */
tenslice_status tenslice_tensor_sparse(const tenslice_tensor *tensor, const tenslice_decoder *decoder, void *scratch,
    size_t scratch_length, tenslice_sparse *sparse, tenslice_error *error);

/** Fills `info`. */
tenslice_status tenslice_sparse_get_info(const tenslice_sparse *sparse, tenslice_sparse_info *info);

/**
 * Reads the next value, in stored order: writes its index in each dimension to `index`, an array of `capacity`
 * numbers, and sets `value` to its bytes: as stored, in the byte order that tenslice_sparse_info states, at any
 * address (copy them with memcpy). They are in the file, or in `scratch` where they had to be decoded. Returns
 * TENSLICE_END after the last.
 *
 * Errors: TOO_SMALL where there are more than `capacity` dimensions, then the position does not advance.
 */
tenslice_status tenslice_sparse_next(tenslice_sparse *sparse, uint64_t *index, size_t capacity, tenslice_bytes *value,
    tenslice_error *error);

/* ---- Attributes -----------------------------------------------------------------------------------------------------
 *
 * What else a file says about itself and its tensors: by key, or one after the other. Values may have others inside.
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
    uint32_t struct_size; /**< Its size, set by the caller. */
    uint32_t kind; /**< Its kind, a TENSLICE_VALUE_ code; 0 for the key of a value that has none. */
    /** The text, the bytes of a byte string, the digits of a decimal number. `data` is NULL for the other kinds. */
    tenslice_str text;
    /** The magnitude of an integer. That of -2^64, the only one that does not fit, is 0 here, with `negative` set.
     *  Also a boolean (0 or 1), the number of a simple value, the number of a tag. */
    uint64_t magnitude;
    double real; /**< The floating-point number. */
    uint32_t negative; /**< 1 for an integer below 0. */
    uint32_t reserved; /**< Reserved, 0. */
    tenslice_items items; /**< The values inside this value, for tenslice_value_items. */
} tenslice_value;

/**
 * Sets `value` to the first attribute from `cursor` on whose key is `key`. The cursor stays where it is. Linear in
 * the bytes before the attribute.
 *
 * Errors: NOT_FOUND.
 */
tenslice_status tenslice_attributes_get(const tenslice_cursor *cursor, const char *key, size_t length,
    tenslice_value *value, tenslice_error *error);

/**
 * Sets `number` to an integer: tenslice_attributes_get.
 *
 * Errors: NOT_FOUND; WRONG_TYPE for another kind of value, and where it does not fit.
 */
tenslice_status tenslice_attributes_get_u64(const tenslice_cursor *cursor, const char *key, size_t length,
    uint64_t *number, tenslice_error *error);

/**
 * Sets `number` to an integer: tenslice_attributes_get.
 *
 * Errors: NOT_FOUND; WRONG_TYPE for another kind of value, and where it does not fit.
 */
tenslice_status tenslice_attributes_get_i64(const tenslice_cursor *cursor, const char *key, size_t length,
    int64_t *number, tenslice_error *error);

/**
 * Sets `number` to a floating-point number: tenslice_attributes_get.
 *
 * Errors: NOT_FOUND; WRONG_TYPE for another kind of value, integers included.
 */
tenslice_status tenslice_attributes_get_f64(const tenslice_cursor *cursor, const char *key, size_t length,
    double *number, tenslice_error *error);

/**
 * Sets `truth` to a boolean, 0 or 1: tenslice_attributes_get.
 *
 * Errors: NOT_FOUND; WRONG_TYPE for another kind of value.
 */
tenslice_status tenslice_attributes_get_bool(const tenslice_cursor *cursor, const char *key, size_t length,
    uint32_t *truth, tenslice_error *error);

/**
 * Sets `text` to a text: tenslice_attributes_get.
 *
 * Errors: NOT_FOUND; WRONG_TYPE for another kind of value.
 */
tenslice_status tenslice_attributes_get_str(const tenslice_cursor *cursor, const char *key, size_t length,
    tenslice_str *text, tenslice_error *error);

/**
 * Reads the next attribute, or the next value inside one: `key` (may be NULL) is set to the key, of kind 0 where
 * there is none, `value` to the value. Returns TENSLICE_END after the last. A key is usually a text, but the formats
 * allow any value.
 */
tenslice_status tenslice_attributes_next(tenslice_cursor *cursor, tenslice_value *key, tenslice_value *value,
    tenslice_error *error);

/**
 * Sets `cursor` before the first value inside a list, a map, a tagged value, or a text or byte string in chunks, for
 * tenslice_attributes_next.
 *
 * Errors: WRONG_TYPE for a value that contains no others.
 */
tenslice_status tenslice_value_items(const tenslice_value *value, tenslice_cursor *cursor);

/**
 * Sets `count` to the number of values that are left, where the file states it without a walk over them: in GGUF.
 *
 * Errors: NOT_FOUND where it does not.
 */
tenslice_status tenslice_attributes_length(const tenslice_cursor *cursor, uint64_t *count);

/**
 * Sets `offset` and `length` to where in the file the values of a list are that are left. A GGUF file that was
 * opened from a source may lack those of a long list, and tenslice_attributes_next returns NOT_IN_MEMORY: fetch this
 * range, add it to the source, and open the file again.
 *
 * Errors: NOT_FOUND for values that are in memory whatever was fetched: all but those of lists in GGUF.
 */
tenslice_status tenslice_attributes_extent(const tenslice_cursor *cursor, uint64_t *offset, uint64_t *length);

/* ---- Strings ----------------------------------------------------------------------------------------------------- */

/**
 * Writes what a string means to `buffer`, escapes decoded. One less than `needed` is its length: it may contain NULs
 * itself.
 */
tenslice_status tenslice_str_copy(const tenslice_str *text, char *buffer, size_t capacity, size_t *needed);

/**
 * Returns 1 if a string means the `length` bytes at `other`, escapes decoded; 0 if it does not, or for an invalid
 * argument. Linear.
 */
uint32_t tenslice_str_equals(const tenslice_str *text, const char *other, size_t length);

/* ---- Verifying digests ----------------------------------------------------------------------------------------------
 *
 * Whether bytes are those that were written, where the file states digests. NOT_BUILT_IN where the library was built
 * without the feature for digests of that kind: `crc32`, `crc32c`, `sha256`, or `digest` for all.
 */

/** The outcome of verifying a component, or the counts of the outcomes for several. */
typedef struct {
    uint32_t struct_size; /**< Its size, set by the caller. */
    uint32_t warnings; /**< Warnings about the data: TENSLICE_WARNING_ bits. */
    uint64_t verified; /**< Components whose bytes match their digest. */
    uint64_t without_digest; /**< Components for which the file states no digest. */
    uint64_t unknown_digest; /**< Components whose digest is of an unknown kind. */
} tenslice_verified;

/**
 * Verifies all components of a file against their digests, and the indices of sparse tensors that are not encoded.
 * Reads all their bytes, repeatedly where several share them: the cost is the sum of their lengths, which may exceed
 * the file's; for files that you do not trust, add them up first (tenslice_component_get_info). See
 * tenslice_file_verify_with for files whose digests are those of decoded bytes.
 *
 * Errors: those of tenslice_component_verify, for the first component that fails; INDEX_OUT_OF_RANGE,
 * INVALID_ROW_POINTERS, INDEX_ORDER; NO_VALUES if the values of a Blosc2 array are not in the file.
 */
tenslice_status tenslice_file_verify(const tenslice_file *file, tenslice_verified *verified, tenslice_error *error);

/**
 * Verifies all components of a file as tenslice_component_verify_with does, and the indices of sparse tensors that
 * are not encoded. Of a Blosc2 frame, warns if one of the first 2^24 chunks was never written; of compressed entries
 * of an NPZ archive, of what their headers say, such as bytes behind the array: these may be missing without a
 * decoder for the first bytes of a stream, or without memory. Scratch memory: tenslice_file_verify_scratch.
 *
 * Errors: those of tenslice_component_verify_with, for the first component that fails; those of
 * tenslice_file_verify; those of an invalid NPY file in a compressed entry.
 */
tenslice_status tenslice_file_verify_with(const tenslice_file *file, const tenslice_decoder *decoder, void *scratch,
    size_t scratch_length, tenslice_verified *verified, tenslice_error *error);

/**
 * Sets `length` to how much scratch memory tenslice_file_verify_with needs: the most that any component, table of
 * chunks or header of a compressed array does; UINT64_MAX where one cannot be verified. Reads the metadata and the
 * tables of frames.
 */
tenslice_status tenslice_file_verify_scratch(const tenslice_file *file, uint64_t *length);

/**
 * Verifies a component against its digest: reads all its bytes. Exactly one of the counts is 1. Where the digest is
 * one of decoded bytes, as in zTensor 2, and these are stored encoded, see tenslice_component_verify_with.
 *
 * Errors: DIGEST_MISMATCH, INVALID_DIGEST, INVALID_ELEMENT, IN_SHARD, NOT_IN_MEMORY; OUT_OF_SCRATCH where decoding
 * takes memory; NOT_BUILT_IN.
 */
tenslice_status tenslice_component_verify(const tenslice_component *component, tenslice_verified *verified,
    tenslice_error *error);

/**
 * Verifies a component as tenslice_component_verify does; where the digest is one of decoded bytes, they are decoded
 * a frame at a time into `scratch` (tenslice_component_verify_scratch). Linear in the bytes that the digest is of.
 *
 * Errors: those of tenslice_component_verify and of tenslice_component_read_into.
 */
tenslice_status tenslice_component_verify_with(const tenslice_component *component, const tenslice_decoder *decoder,
    void *scratch, size_t scratch_length, tenslice_verified *verified, tenslice_error *error);

/**
 * Sets `length` to how much scratch memory tenslice_component_verify_with needs: 0 for bytes that are stored as they
 * were digested, else what the largest frame decodes to, at most 16 MiB. UINT64_MAX where it cannot be verified: its
 * bytes are not in memory, the table of frames is invalid, or a digest of that kind is not built in. Linear in that
 * table.
 */
tenslice_status tenslice_component_verify_scratch(const tenslice_component *component, uint64_t *length);

/* ---- Versions ---------------------------------------------------------------------------------------------------- */

/** The ABI version of this header; tenslice_abi_version() returns that of the library. */
#define TENSLICE_ABI_VERSION 1

/** Returns the ABI version that the library was built with. Compare it with TENSLICE_ABI_VERSION. */
uint32_t tenslice_abi_version(void);

/** The version of this header; tenslice_version() returns that of the library. */
#define TENSLICE_VERSION_MAJOR 0
#define TENSLICE_VERSION_MINOR 1
#define TENSLICE_VERSION_PATCH 0

/** Returns the version of the library, such as "0.1.0". */
const char *tenslice_version(void);

#ifdef __cplusplus
}
#endif

/* What only one format has. */
#include "tenslice/safetensors.h"
#include "tenslice/gguf.h"
#include "tenslice/npy.h"
#include "tenslice/tens.h"
#include "tenslice/blz.h"
#include "tenslice/b2nd.h"
#include "tenslice/ztensor2.h"

#endif /* TENSLICE_H */
