/*
 * Every function that takes a handle, with every handle that it must reject: none, misaligned, zeroed, of random bytes,
 * of each other kind, of a file of another format, with one bit of the tag changed. The call returns INVALID_HANDLE (or
 * the status that its comment names), and changes neither its outputs nor the handle. Then the functions are called
 * with each output missing or misaligned, and with each struct claiming another size. run.sh checks that every function
 * is called. Argument: the fixtures.
 */
#include "support.h"

#define BAD TENSLICE_INVALID_ARGUMENT
#define HANDLE TENSLICE_INVALID_HANDLE
#define OUTPUTS 3
#define ROOM_SIZE 2048

/* ---- The outputs of a call: actual contents, contents required after an error, and the fault of one of them ---- */

static uint64_t outputs[OUTPUTS][ROOM_SIZE / 8], untouched[OUTPUTS][ROOM_SIZE / 8];
static enum { RIGHT, MISSING, MISALIGNED, RESIZED } wrong;
static int wrong_at;             /* the index of the wrong output */
static uint32_t claimed;         /* the size that a RESIZED struct claims */
static size_t sizes[OUTPUTS];    /* the sizes that the last call passed for structs that state their size */
static int is_passed[OUTPUTS], is_aligned[OUTPUTS], is_optional[OUTPUTS];
static tenslice_error details[2];
static int has_details;

static void *output(int n, size_t struct_size, int aligned, int optional)
{
    uint32_t size = wrong == RESIZED && wrong_at == n ? claimed : (uint32_t)struct_size;

    is_passed[n] = 1, is_aligned[n] = aligned, is_optional[n] = optional, sizes[n] = struct_size;
    if (struct_size != 0) {
        memcpy(outputs[n], &size, sizeof size);
        memcpy(untouched[n], &size, sizeof size);
    }
    if (wrong_at == n && wrong == MISSING) return NULL;
    return (char *)outputs[n] + (wrong_at == n && wrong == MISALIGNED);
}

static tenslice_error *details_of_call(void)
{
    has_details = 1;
    return (tenslice_error *)(void *)((char *)details + (wrong_at == OUTPUTS && wrong == MISALIGNED));
}

#define OUT(n, type) ((type *)output(n, 0, 1, 0))
#define OPTIONAL(n, type) ((type *)output(n, 0, 1, 1))
#define INFO(n, type) ((type *)output(n, sizeof(type), 1, 0))
#define OPTIONAL_INFO(n, type) ((type *)output(n, sizeof(type), 1, 1))
#define ROOM(n) output(n, 0, 0, 0), ROOM_SIZE
#define OPTIONS_ROOM(n) OPTIONS(NULL, output(n, 0, 0, 0), ROOM_SIZE)
#define TEXT(n) (char *)output(n, 0, 0, 0), ROOM_SIZE
#define ERR details_of_call()

/* ---- Handles of every kind ---- */

enum { ZTENSOR, TENS, BLZ, B2ND, METALAYERS, NPY, NPZ, GGUF, BLOCKS, ZTENSOR2, PYTORCH, ONNX, PTD, TFLITE, TEXTS_OF, FILES };
static const char *const names[FILES] = {
    "v1.2/dense_all_dtypes.zt", "tens/good/sym_1_sym.tens", "blz/good/identity_matrix_f64.blz",
    "b2nd/good/nd02_lz4_0.b2nd", "b2nd/good/vlmeta_mem_0.b2nd", "npy/struct_nested_4.npy", "npz/mixed_methods.npz",
    "gguf/kv_all_types.gguf", "gguf-blocks/q8_0.gguf", "v2/shards.zt",
    "pytorch/views.pt", "onnx/py_metadata.onnx", "ptd/py_tied.ptd",
    "tflite/py_subgraphs.tflite", "tflite/py_strings.tflite",
};
enum { DENSE = FILES, OF_NPY, OF_BLOCKS, IN_ORDER, COMPONENT, IN_SHARD, TENSORS, COMPONENTS, ATTRIBUTES, LIST, SHARDED, INFOS,
       SHARDS, CHUNKS, ENTRIES, GLOBALS, OPSETS, SEGMENTS, SUBGRAPHS, WORDS, TEXTS, READS, SOURCE, PLAN, SPARSE, INDEX, SHARD_INDEX, TRAIN, MODEL_FILE, MODEL, OF_MODEL, PROBLEMS, PROBLEM,
       WRITER, WRITING, FILLED, HANDLES };

static struct {
    uint64_t content[sizeof(tenslice_source) / 8];
    size_t size;
} handles[HANDLES];
#define AT(n, type) ((type *)(void *)handles[n].content)
#define MAKE(n, type) (handles[n].size = sizeof(type), AT(n, type))

/* The objects that the calls below refer to. */
static blob files[FILES], ordered, sharded, shard;
static const uint64_t zeros[4] = {0}, twos[2] = {2, 2}, every[2] = {UINT64_MAX, UINT64_MAX};
static tenslice_entry entries[13];
static tenslice_piece pieces[1] = {{7, 1, 5000, 0}};
static uint32_t words[64], shard_names[4], model_words[78];
static tenslice_model_file model_files[2];
static tenslice_error not_found, unknown;
static const uint64_t one[1] = {1};
static const tenslice_new_tensor declarations[] = {TENSLICE_NEW_TENSOR("w", TENSLICE_U8, one)};
static const tenslice_new_file declared = TENSLICE_NEW_FILE(TENSLICE_FORMAT_SAFETENSORS, declarations);

static int ignore(void *context, uint64_t offset, const void *bytes, size_t length)
{
    (void)context, (void)offset, (void)bytes, (void)length;
    return 0;
}

static const tenslice_sink sink = {ignore, NULL};
static tenslice_blz_info cores;
static tenslice_bytes stored;
static uint64_t symmetry;
static size_t rank_of_tens; /* for the TENS tensor */

/* Each call with the kind of handle that it takes, named `h`, and the status that it returns for a valid handle. */
#define CALLS(X)                                                                                                       \
    X(ZTENSOR, tenslice_file, file_get_info, 0, tenslice_file_get_info(h, INFO(0, tenslice_file_info)))                \
    X(ZTENSOR, tenslice_file, file_warning_tensor, TENSLICE_NOT_FOUND,                                                 \
      tenslice_file_warning_tensor(h, 1, OUT(0, uint64_t)))                                                            \
    X(ZTENSOR, tenslice_file, file_check_length, 0, tenslice_file_check_length(h, OUT(0, size_t)))                     \
    X(ZTENSOR, tenslice_file, file_check, 0, tenslice_file_check(h, OUT(0, uint32_t), 13, OPTIONAL(1, uint32_t), ERR)) \
    X(ZTENSOR, tenslice_file, file_get, 0,                                                                             \
      tenslice_file_get(h, "t.float64", 9, NULL, OUT(0, tenslice_bytes), ERR))                                         \
    X(ZTENSOR, tenslice_file, file_get_text, 0,                                                                        \
      tenslice_file_get_text(h, "none", 4, NULL, &not_found, TEXT(0), OPTIONAL(1, size_t)))                            \
    X(ZTENSOR, tenslice_file, file_find, 0, tenslice_file_find(h, "t.float64", 9, OUT(0, tenslice_tensor), ERR))       \
    X(ZTENSOR, tenslice_file, file_tensors, 0, tenslice_file_tensors(h, OUT(0, tenslice_cursor)))                      \
    X(ZTENSOR, tenslice_file, file_index_length, 0, tenslice_file_index_length(h, OUT(0, size_t)))                     \
    X(ZTENSOR, tenslice_file, file_index, 0,                                                                           \
      tenslice_file_index(h, OUT(0, uint32_t), 39, OUT(1, tenslice_index), ERR))                                       \
    X(ZTENSOR, tenslice_file, file_list, 0,                                                                            \
      tenslice_file_list(h, OUT(0, tenslice_entry), 13, OUT(1, uint64_t), ERR))                                        \
    X(ZTENSOR, tenslice_file, file_tensor, 0, tenslice_file_tensor(h, &entries[0], OUT(0, tenslice_tensor), ERR))      \
    X(ZTENSOR, tenslice_file, file_attributes, 0, tenslice_file_attributes(h, OUT(0, tenslice_cursor)))                \
    X(ZTENSOR, tenslice_file, file_verify, 0,                                                                          \
      tenslice_file_verify(h, OPTIONS_ROOM(0), INFO(1, tenslice_verified), ERR))                                       \
    X(ZTENSOR, tenslice_file, file_requirements, 0,                                                                    \
      tenslice_file_requirements(h, TENSLICE_PURPOSE_VERIFY, INFO(0, tenslice_requirements), ERR))                     \
    X(ZTENSOR, tenslice_file, file_with_source, 0,                                                                     \
      tenslice_file_with_source(h, AT(SOURCE, tenslice_source), OUT(0, tenslice_file)))                                \
    X(TENS, tenslice_file, tens_get_dimension, 0,                                                                      \
      tenslice_tens_get_dimension(h, 0, INFO(0, tenslice_tens_dimension)))                                             \
    X(TENS, tenslice_file, tens_chunks, 0, tenslice_tens_chunks(h, OUT(0, tenslice_cursor)))                           \
    X(TENS, tenslice_file, tens_permutation, 0, tenslice_tens_permutation(h, symmetry, OUT(0, uint32_t), 4, ERR))      \
    X(TENS, tenslice_file, tens_element, 0,                                                                            \
      tenslice_tens_element(h, zeros, rank_of_tens, OUT(0, tenslice_bytes), ERR))                                      \
    X(BLZ, tenslice_file, blz_get_info, 0, tenslice_blz_get_info(h, INFO(0, tenslice_blz_info)))                       \
    X(BLZ, tenslice_file, blz_get_core, 0, tenslice_blz_get_core(h, 0, INFO(0, tenslice_blz_core)))                    \
    X(BLZ, tenslice_file, blz_train, 0, tenslice_blz_train(h, OUT(0, tenslice_train), ERR))                            \
    X(BLZ, tenslice_file, blz_train_in, 0,                                                                             \
      tenslice_blz_train_from_bytes(h, files[BLZ].data + cores.offset, (size_t)cores.length, OUT(0, tenslice_train), ERR))\
    X(B2ND, tenslice_file, b2nd_get_info, 0, tenslice_b2nd_get_info(h, INFO(0, tenslice_b2nd_info)))                   \
    X(B2ND, tenslice_file, b2nd_chunk_shape, 0,                                                                        \
      tenslice_b2nd_chunk_shape(h, 0, OUT(0, uint64_t), 2, OPTIONAL(1, uint32_t)))                                     \
    X(B2ND, tenslice_file, b2nd_get_chunk, 0,                                                                          \
      tenslice_b2nd_get_chunk(h, 0, OPTIONS_ROOM(0), INFO(1, tenslice_b2nd_chunk), ERR))                               \
    X(B2ND, tenslice_file, b2nd_chunk_extent, 0,                                                                       \
      tenslice_b2nd_chunk_extent(h, 0, OPTIONS_ROOM(0), OUT(1, uint64_t), OUT(2, uint64_t), ERR))                      \
    X(B2ND, tenslice_file, b2nd_uninitialised_chunks, 0,                                                               \
      tenslice_b2nd_uninitialised_chunks(h, OPTIONS_ROOM(0), OUT(1, uint64_t), ERR))                                   \
    X(B2ND, tenslice_file, b2nd_read_chunk, 0,                                                                         \
      tenslice_b2nd_read_chunk(h, 0, ROOM(0), OPTIONS_ROOM(1), OPTIONAL(2, uint64_t), ERR))                            \
    X(B2ND, tenslice_file, b2nd_get_metalayer, 0,                                                                      \
      tenslice_b2nd_get_metalayer(h, 0, 0, INFO(0, tenslice_b2nd_metalayer)))                                          \
    X(METALAYERS, tenslice_file, b2nd_read_metalayer, 0,                                                               \
      tenslice_b2nd_read_metalayer(h, 0, ROOM(0), OPTIONS_ROOM(1), OPTIONAL(2, uint64_t), ERR))                        \
    X(B2ND, tenslice_file, b2nd_region_requirements, 0,                                                                \
      tenslice_b2nd_region_requirements(h, zeros, twos, 2, INFO(0, tenslice_requirements), ERR))                       \
    X(B2ND, tenslice_file, b2nd_region_work, 0, tenslice_b2nd_region_work(h, zeros, twos, 2, OUT(0, uint64_t), ERR))   \
    X(B2ND, tenslice_file, b2nd_read_region, 0,                                                                        \
      tenslice_b2nd_read_region(h, zeros, twos, 2, ROOM(0), OPTIONS_ROOM(1), OPTIONAL(2, uint64_t), ERR))              \
    X(NPY, tenslice_file, npy_descr, 0, tenslice_npy_descr(h, OUT(0, tenslice_str)))                                   \
    X(NPZ, tenslice_file, npz_entries, 0, tenslice_npz_entries(h, OUT(0, tenslice_cursor)))                            \
    X(PYTORCH, tenslice_file, pytorch_globals, 0, tenslice_pytorch_globals(h, OUT(0, tenslice_cursor)))                \
    X(ONNX, tenslice_file, onnx_get_info, 0, tenslice_onnx_get_info(h, INFO(0, tenslice_onnx_info)))                   \
    X(ONNX, tenslice_file, onnx_opsets, 0, tenslice_onnx_opsets(h, OUT(0, tenslice_cursor)))                           \
    X(PTD, tenslice_file, ptd_segments, 0, tenslice_ptd_segments(h, OUT(0, tenslice_cursor)))                          \
    X(TFLITE, tenslice_file, tflite_subgraphs, 0, tenslice_tflite_subgraphs(h, OUT(0, tenslice_cursor)))               \
    X(WORDS, tenslice_tensor, tflite_texts, 0, tenslice_tflite_texts(h, OUT(0, tenslice_cursor), ERR))                 \
    X(GGUF, tenslice_file, gguf_get_info, 0, tenslice_gguf_get_info(h, INFO(0, tenslice_gguf_file_info)))              \
    X(GGUF, tenslice_file, gguf_infos, 0, tenslice_gguf_infos(h, OUT(0, tenslice_cursor)))                             \
    X(ZTENSOR2, tenslice_file, ztensor2_shards, 0, tenslice_ztensor2_shards(h, OUT(0, tenslice_cursor)))               \
    X(ZTENSOR2, tenslice_file, ztensor2_check_shard, 0,                                                                \
      tenslice_ztensor2_check_shard(h, "base", 4, shard.data, shard.size, OPTIONAL(0, uint32_t), ERR))                 \
    X(DENSE, tenslice_tensor, tensor_shape, 0,                                                                         \
      tenslice_tensor_shape(h, OUT(0, uint64_t), 4, OPTIONAL(1, uint32_t)))                                            \
    X(DENSE, tenslice_tensor, tensor_strides, 0, tenslice_tensor_strides(h, OUT(0, uint64_t), 4))                      \
    X(DENSE, tenslice_tensor, tensor_get_info, 0, tenslice_tensor_get_info(h, INFO(0, tenslice_tensor_info)))          \
    X(DENSE, tenslice_tensor, tensor_problem, 0, tenslice_tensor_problem(h, ERR))                                      \
    X(DENSE, tenslice_tensor, tensor_bytes, 0, tenslice_tensor_bytes(h, 0, OUT(0, tenslice_bytes), ERR))               \
    X(DENSE, tenslice_tensor, tensor_get, 0,                                                                           \
      tenslice_tensor_get(h, NULL, OUT(0, tenslice_bytes), ERR))                                                       \
    X(DENSE, tenslice_tensor, tensor_describe, 0,                                                                      \
      tenslice_tensor_describe(h, OUT(1, uint64_t), 4, OPTIONS_ROOM(0), INFO(2, tenslice_described), ERR))             \
    X(DENSE, tenslice_tensor, tensor_requirements, 0,                                                                  \
      tenslice_tensor_requirements(h, TENSLICE_PURPOSE_READ, INFO(0, tenslice_requirements), ERR))                     \
    X(DENSE, tenslice_tensor, tensor_read_into, 0,                                                                     \
      tenslice_tensor_read_into(h, ROOM(0), OPTIONS_ROOM(1), OPTIONAL(2, uint64_t), ERR))                              \
    X(DENSE, tenslice_tensor, tensor_read_f32, 0, tenslice_tensor_read_f32(h, 0, OUT(0, float), 6, ERR))               \
    X(DENSE, tenslice_tensor, tensor_read_f32_into, 0,                                                                 \
      tenslice_tensor_read_f32_into(h, OUT(0, float), 6, OPTIONS_ROOM(1), OPTIONAL(2, uint64_t), ERR))                 \
    X(DENSE, tenslice_tensor, tensor_data, 0, tenslice_tensor_data(h, OUT(0, tenslice_component), ERR))                \
    X(DENSE, tenslice_tensor, tensor_component, 0,                                                                     \
      tenslice_tensor_component(h, "data", 4, OUT(0, tenslice_component), ERR))                                        \
    X(DENSE, tenslice_tensor, tensor_components, 0, tenslice_tensor_components(h, OUT(0, tenslice_cursor)))            \
    X(DENSE, tenslice_tensor, tensor_attributes, 0, tenslice_tensor_attributes(h, OUT(0, tenslice_cursor)))            \
    X(DENSE, tenslice_tensor, tensor_name, 0, tenslice_tensor_name(h).data == NULL ? HANDLE : 0)                       \
    X(DENSE, tenslice_tensor, tensor_dtype, 0, tenslice_tensor_dtype(h) == 0 ? HANDLE : 0)                             \
    X(DENSE, tenslice_tensor, tensor_with_source, 0,                                                                   \
      tenslice_tensor_with_source(h, AT(SOURCE, tenslice_source), OUT(0, tenslice_tensor)))                            \
    X(OF_NPY, tenslice_tensor, tensor_stated_type, 0,                                                                  \
      tenslice_tensor_stated_type(h).data == NULL ? HANDLE : 0)                                                        \
    X(DENSE, tenslice_tensor, tensor_rank, 0, tenslice_tensor_rank(h) == 0 ? HANDLE : 0)                               \
    X(DENSE, tenslice_tensor, tensor_dimension, 0, tenslice_tensor_dimension(h, 1) == 0 ? HANDLE : 0)                  \
    X(DENSE, tenslice_tensor, tensor_elements, 0, tenslice_tensor_element_count(h) == 0 ? HANDLE : 0)                  \
    X(DENSE, tenslice_tensor, tensor_layout, 0, tenslice_tensor_layout(h) == UINT32_MAX ? HANDLE : 0)                  \
    X(OF_BLOCKS, tenslice_tensor, tensor_block, 0,                                                                     \
      tenslice_tensor_block(h, OPTIONAL(0, uint32_t), OPTIONAL(1, uint64_t), OPTIONAL(2, uint64_t)))                   \
    X(IN_ORDER, tenslice_tensor, tensor_sparse, 0,                                                                     \
      tenslice_tensor_sparse(h, OPTIONS_ROOM(0), OUT(1, tenslice_sparse), ERR))                                        \
    X(COMPONENT, tenslice_component, component_get_info, 0,                                                            \
      tenslice_component_get_info(h, INFO(0, tenslice_component_info)))                                                \
    X(COMPONENT, tenslice_component, component_bytes, 0,                                                               \
      tenslice_component_bytes(h, 0, OUT(0, tenslice_bytes), ERR))                                                     \
    X(COMPONENT, tenslice_component, component_stored, 0, tenslice_component_stored(h, OUT(0, tenslice_bytes), ERR))   \
    X(COMPONENT, tenslice_component, component_caps, 0, tenslice_component_caps(h, OUT(0, uint32_t)))                  \
    X(COMPONENT, tenslice_component, component_read_into, 0,                                                           \
      tenslice_component_read_into(h, ROOM(0), NULL, OPTIONAL(1, uint64_t), ERR))                                      \
    X(COMPONENT, tenslice_component, component_read_range, 0,                                                          \
      tenslice_component_read_range(h, 0, output(0, 0, 0, 0), 8, OPTIONS_ROOM(1), ERR))                                \
    X(COMPONENT, tenslice_component, component_requirements, 0,                                                        \
      tenslice_component_requirements(h, TENSLICE_PURPOSE_VERIFY, INFO(0, tenslice_requirements), ERR))                \
    X(COMPONENT, tenslice_component, component_with_bytes, 0,                                                          \
      tenslice_component_with_bytes(h, stored.data, stored.length, OUT(0, tenslice_component), ERR))                   \
    X(COMPONENT, tenslice_component, component_verify, 0,                                                              \
      tenslice_component_verify(h, OPTIONS_ROOM(0), INFO(1, tenslice_verified), ERR))                                  \
    X(COMPONENT, tenslice_component, component_shard, 0, tenslice_component_shard(h, OUT(0, tenslice_str)))            \
    X(IN_SHARD, tenslice_component, component_with_shard, 0,                                                           \
      tenslice_component_with_shard(h, shard.data, shard.size, OUT(0, tenslice_component), ERR))                       \
    X(TENSORS, tenslice_cursor, tensors_next, 0, tenslice_tensors_next(h, OUT(0, tenslice_tensor), ERR))               \
    X(COMPONENTS, tenslice_cursor, components_next, 0, tenslice_components_next(h, OUT(0, tenslice_component), ERR))   \
    X(ATTRIBUTES, tenslice_cursor, attributes_next, 0,                                                                 \
      tenslice_attributes_next(h, OPTIONAL_INFO(0, tenslice_value), INFO(1, tenslice_value), ERR))                     \
    X(ATTRIBUTES, tenslice_cursor, attributes_get, 0,                                                                  \
      tenslice_attributes_get(h, "k.u8", 4, INFO(0, tenslice_value), ERR))                                             \
    X(ATTRIBUTES, tenslice_cursor, attributes_get_u64, 0,                                                              \
      tenslice_attributes_get_u64(h, "k.u8", 4, OUT(0, uint64_t), ERR))                                                \
    X(ATTRIBUTES, tenslice_cursor, attributes_get_i64, 0,                                                              \
      tenslice_attributes_get_i64(h, "k.u8", 4, OUT(0, int64_t), ERR))                                                 \
    X(ATTRIBUTES, tenslice_cursor, attributes_get_f64, 0,                                                              \
      tenslice_attributes_get_f64(h, "k.f32", 5, OUT(0, double), ERR))                                                 \
    X(ATTRIBUTES, tenslice_cursor, attributes_get_bool, 0,                                                             \
      tenslice_attributes_get_bool(h, "k.true", 6, OUT(0, uint32_t), ERR))                                             \
    X(ATTRIBUTES, tenslice_cursor, attributes_get_str, 0,                                                              \
      tenslice_attributes_get_str(h, "k.str", 5, OUT(0, tenslice_str), ERR))                                           \
    X(ATTRIBUTES, tenslice_cursor, attributes_length, 0, tenslice_attributes_length(h, OUT(0, uint64_t)))              \
    X(LIST, tenslice_cursor, attributes_extent, 0,                                                                     \
      tenslice_attributes_extent(h, OUT(0, uint64_t), OUT(1, uint64_t)))                                               \
    X(SHARDED, tenslice_cursor, safetensors_index_next, 0,                                                             \
      tenslice_safetensors_index_next(h, OPTIONAL(0, tenslice_str), OPTIONAL(1, tenslice_str), ERR))                   \
    X(INFOS, tenslice_cursor, gguf_infos_next, 0,                                                                      \
      tenslice_gguf_infos_next(h, INFO(0, tenslice_gguf_tensor_info), ERR))                                            \
    X(SHARDS, tenslice_cursor, ztensor2_shards_next, 0,                                                                \
      tenslice_ztensor2_shards_next(h, INFO(0, tenslice_ztensor2_shard), ERR))                                         \
    X(CHUNKS, tenslice_cursor, tens_chunks_next, 0, tenslice_tens_chunks_next(h, INFO(0, tenslice_tens_chunk), ERR))   \
    X(ENTRIES, tenslice_cursor, npz_entries_next, 0, tenslice_npz_entries_next(h, INFO(0, tenslice_npz_entry), ERR))   \
    X(GLOBALS, tenslice_cursor, pytorch_globals_next, 0,                                                               \
      tenslice_pytorch_globals_next(h, INFO(0, tenslice_pytorch_global), ERR))                                         \
    X(OPSETS, tenslice_cursor, onnx_opsets_next, 0,                                                                    \
      tenslice_onnx_opsets_next(h, INFO(0, tenslice_onnx_opset), ERR))                                                 \
    X(SUBGRAPHS, tenslice_cursor, tflite_subgraphs_next, 0,                                                            \
      tenslice_tflite_subgraphs_next(h, INFO(0, tenslice_tflite_subgraph), ERR))                                       \
    X(TEXTS, tenslice_cursor, tflite_texts_next, 0, tenslice_tflite_texts_next(h, OUT(0, tenslice_str)))               \
    X(SEGMENTS, tenslice_cursor, ptd_segments_next, 0,                                                                 \
      tenslice_ptd_segments_next(h, INFO(0, tenslice_ptd_segment), ERR))                                               \
    X(SOURCE, tenslice_source, source_add, 0, tenslice_source_add(h, 0, files[ZTENSOR].data, 1))                       \
    X(SOURCE, tenslice_source, source_needs, 0,                                                                        \
      tenslice_source_needs(h, OUT(0, tenslice_piece), 1, OUT(1, size_t)))                                             \
    X(SOURCE, tenslice_source, source_add_pieces, 0, tenslice_source_add_pieces(h, NULL, 0, NULL, 0))                  \
    X(SOURCE, tenslice_source, file_with_source_of, 0,                                                                 \
      tenslice_file_with_source(AT(ZTENSOR, tenslice_file), h, OUT(0, tenslice_file)))                                 \
    X(SOURCE, tenslice_source, tensor_with_source_of, 0,                                                               \
      tenslice_tensor_with_source(AT(DENSE, tenslice_tensor), h, OUT(0, tenslice_tensor)))                             \
    X(PLAN, tenslice_plan, plan_length, 0, tenslice_plan_length(h, OUT(0, uint64_t)))                                  \
    X(PLAN, tenslice_plan, plan_reads, 0, tenslice_plan_reads(h, 4096, OUT(0, tenslice_cursor)))                       \
    X(READS, tenslice_cursor, reads_next, 0, tenslice_reads_next(h, OUT(0, tenslice_planned_read)))                    \
    X(SOURCE, tenslice_source, file_open_source, 0,                                                                    \
      tenslice_file_open_source(OUT(0, tenslice_file), h, OUT(1, tenslice_need), ERR))                                 \
    X(SOURCE, tenslice_source, error_text_source, 0,                                                                   \
      tenslice_error_text_source(&unknown, h, TEXT(0), OPTIONAL(1, size_t)))                                           \
    X(SPARSE, tenslice_sparse, sparse_get_info, 0, tenslice_sparse_get_info(h, INFO(0, tenslice_sparse_info)))         \
    X(SPARSE, tenslice_sparse, sparse_next, 0,                                                                         \
      tenslice_sparse_next(h, OUT(0, uint64_t), 3, OUT(1, tenslice_bytes), ERR))                                       \
    X(INDEX, tenslice_index, index_find, 0, tenslice_index_find(h, "t.float64", 9, OUT(0, tenslice_tensor), ERR))      \
    X(INDEX, tenslice_index, index_get, 0, tenslice_index_get(h, "t.float64", 9, NULL, OUT(0, tenslice_bytes), ERR))   \
    X(INDEX, tenslice_index, index_get_f32, 0,                                                                         \
      tenslice_index_get_f32(h, "t.float64", 9, NULL, OUT(0, float), 6, NULL, OUT(1, tenslice_floats),                 \
                             OPTIONAL_INFO(2, tenslice_requirements), ERR))                                            \
    X(ZTENSOR, tenslice_file, file_get_f32, 0,                                                                         \
      tenslice_file_get_f32(h, "t.float64", 9, NULL, OUT(0, float), 6, NULL, OUT(1, tenslice_floats),                  \
                            OPTIONAL_INFO(2, tenslice_requirements), ERR))                                             \
    X(MODEL, tenslice_model, model_get_f32, 0,                                                                         \
      tenslice_model_get_f32(h, "t.float64", 9, NULL, OUT(0, float), 6, NULL, OUT(1, tenslice_floats),                 \
                             OPTIONAL_INFO(2, tenslice_requirements), ERR))                                            \
    X(DENSE, tenslice_tensor, tensor_get_f32, 0,                                                                       \
      tenslice_tensor_get_f32(h, NULL, OUT(0, float), 6, NULL, OUT(1, tenslice_floats),                                \
                              OPTIONAL_INFO(2, tenslice_requirements), ERR))                                           \
    X(SHARD_INDEX, tenslice_safetensors_index, safetensors_index_count, 0,                                             \
      tenslice_safetensors_index_count(h, OUT(0, uint64_t)))                                                           \
    X(SHARD_INDEX, tenslice_safetensors_index, safetensors_index_find, 0,                                              \
      tenslice_safetensors_index_find(h, "enc.w", 5, OUT(0, tenslice_str), ERR))                                       \
    X(SHARD_INDEX, tenslice_safetensors_index, safetensors_index_entries, 0,                                           \
      tenslice_safetensors_index_entries(h, OUT(0, tenslice_cursor)))                                                  \
    X(SHARD_INDEX, tenslice_safetensors_index, safetensors_index_files, 0,                                             \
      tenslice_safetensors_index_files(h, OUT(0, uint32_t), 4, OUT(1, size_t), ERR))                                   \
    X(SHARD_INDEX, tenslice_safetensors_index, safetensors_index_file, 0,                                              \
      tenslice_safetensors_index_file(h, shard_names[0], OUT(0, tenslice_str)))                                        \
    X(SHARD_INDEX, tenslice_safetensors_index, safetensors_index_metadata, 0,                                          \
      tenslice_safetensors_index_metadata(h, OUT(0, tenslice_cursor)))                                                 \
    X(SHARD_INDEX, tenslice_safetensors_index, safetensors_index_check, 0,                                             \
      tenslice_safetensors_index_check(h, OUT(0, uint32_t), 4, ERR))                                                   \
    X(TRAIN, tenslice_train, blz_get_scratch, 0, tenslice_blz_get_scratch(h, INFO(0, tenslice_blz_scratch)))           \
    X(TRAIN, tenslice_train, blz_element, 0,                                                                           \
      tenslice_blz_element(h, zeros, 2, ROOM(0), OUT(1, double), ERR))                                                 \
    X(TRAIN, tenslice_train, blz_slice, 0,                                                                             \
      tenslice_blz_slice(h, every, 2, ROOM(0), ROOM(1), OPTIONAL(2, uint64_t), ERR))                                   \
    X(TRAIN, tenslice_train, blz_sum, 0, tenslice_blz_sum(h, ROOM(0), OUT(1, tenslice_scaled), ERR))                   \
    X(TRAIN, tenslice_train, blz_norm, 0, tenslice_blz_norm(h, ROOM(0), OUT(1, tenslice_scaled), ERR))                 \
    X(TRAIN, tenslice_train, blz_inner, 0,                                                                             \
      tenslice_blz_inner(h, AT(TRAIN, tenslice_train), ROOM(0), OUT(1, tenslice_scaled), OPTIONAL(2, uint64_t), ERR))  \
    X(TRAIN, tenslice_train, blz_inner_with, 0,                                                                        \
      tenslice_blz_inner(AT(TRAIN, tenslice_train), h, ROOM(0), OUT(1, tenslice_scaled), OPTIONAL(2, uint64_t), ERR))  \
    X(ZTENSOR, tenslice_file, model_file_opened, 0,                                                                    \
      tenslice_model_file_opened(OUT(0, tenslice_model_file), "m", 1, h))                                              \
    X(MODEL_FILE, tenslice_model_file, model_length, 0, tenslice_model_length(h, 1, OUT(0, size_t)))                   \
    X(MODEL_FILE, tenslice_model_file, model_open, 0,                                                                  \
      tenslice_model_open(OUT(0, tenslice_model), h, 1, OUT(1, uint32_t), 78, ERR))                                    \
    X(MODEL_FILE, tenslice_model_file, safetensors_model_open, 0,                                                      \
      tenslice_safetensors_model_open(OUT(0, tenslice_model), AT(SHARD_INDEX, tenslice_safetensors_index), h, 1,       \
                                      OUT(1, uint32_t), 78, ERR))                                                      \
    X(SHARD_INDEX, tenslice_safetensors_index, safetensors_model_open_of_index, 0,                                     \
      tenslice_safetensors_model_open(OUT(0, tenslice_model), h, NULL, 0, OUT(1, uint32_t), 78, ERR))                  \
    X(SHARD_INDEX, tenslice_safetensors_index, safetensors_model_length, 0,                                            \
      tenslice_safetensors_model_length(h, OUT(0, size_t)))                                                            \
    X(MODEL, tenslice_model, model_find, 0,                                                                            \
      tenslice_model_find(h, "t.float64", 9, OUT(0, tenslice_tensor), OPTIONAL(1, uint64_t), ERR))                     \
    X(MODEL, tenslice_model, model_get, 0,                                                                             \
      tenslice_model_get(h, "t.float64", 9, NULL, OUT(0, tenslice_bytes), ERR))                                        \
    X(MODEL, tenslice_model, model_get_text, 0,                                                                        \
      tenslice_model_get_text(h, "none", 4, NULL, &not_found, TEXT(0), OPTIONAL(1, size_t)))                           \
    X(MODEL, tenslice_model, model_check_length, 0, tenslice_model_check_length(h, OUT(0, size_t)))                    \
    X(MODEL, tenslice_model, model_check, 0,                                                                           \
      tenslice_model_check(h, OUT(0, uint32_t), 13, OPTIONAL(1, uint64_t), ERR))                                       \
    X(MODEL, tenslice_model, model_component, 0,                                                                       \
      tenslice_model_component(h, AT(COMPONENT, tenslice_component), OUT(0, tenslice_component), ERR))                 \
    X(COMPONENT, tenslice_component, model_component_of, 0,                                                            \
      tenslice_model_component(AT(MODEL, tenslice_model), h, OUT(0, tenslice_component), ERR))                         \
    X(MODEL, tenslice_model, model_file_count, 0, tenslice_model_file_count(h, OUT(0, uint64_t)))                      \
    X(MODEL, tenslice_model, model_get_file, 0,                                                                        \
      tenslice_model_get_file(h, 0, OPTIONAL(0, tenslice_str), OPTIONAL(1, tenslice_file)))                            \
    X(MODEL, tenslice_model, model_get_tensors, 0, tenslice_model_get_tensors(h, OUT(0, tenslice_model_tensors)))      \
    X(OF_MODEL, tenslice_model_tensors, model_next_tensor, 0,                                                          \
      tenslice_model_next_tensor(h, OUT(0, tenslice_tensor), OPTIONAL(1, uint64_t), ERR))                              \
    X(MODEL, tenslice_model, model_get_problems, 0, tenslice_model_get_problems(h, OUT(0, tenslice_model_problems)))   \
    X(PROBLEMS, tenslice_model_problems, model_next_problem, 0,                                                        \
      tenslice_model_next_problem(h, OUT(0, tenslice_problem)))                                                        \
    X(PROBLEM, tenslice_problem, problem_get_info, 0, tenslice_problem_get_info(h, INFO(0, tenslice_problem_info)))    \
    X(PROBLEM, tenslice_problem, problem_text, 0, tenslice_problem_text(h, TEXT(0), OPTIONAL(1, size_t)))                 \
    X(WRITER, tenslice_writer, writer_length, 0, tenslice_writer_length(h, OUT(0, uint64_t)))                          \
    X(WRITER, tenslice_writer, writer_position, 0, tenslice_writer_position(h, OUT(0, uint64_t)))                      \
    X(WRITER, tenslice_writer, writer_begin, 0, tenslice_writer_begin(h, &sink, ERR))                                  \
    X(WRITER, tenslice_writer, writer_resume, 0, tenslice_writer_resume(h, &sink, 1, ERR))                             \
    X(WRITING, tenslice_writer, writer_due, 0, tenslice_writer_due(h, INFO(0, tenslice_due)))                          \
    X(WRITING, tenslice_writer, writer_data, 0, tenslice_writer_data(h, &sink, zeros, 1, ERR))                         \
    X(FILLED, tenslice_writer, writer_finish, 0, tenslice_writer_finish(h, &sink, ERR))

#define CALL(kind, type, name, status, expression)                                                                     \
    static tenslice_status call_##name(void *any)                                                                      \
    {                                                                                                                  \
        type *h = (type *)any;                                                                                         \
        return expression;                                                                                             \
    }
#define ROW(kind, type, name, status, expression) {#name, kind, status, call_##name},

CALLS(CALL)

static const struct {
    const char *name;
    int kind;
    tenslice_status status;
    tenslice_status (*call)(void *);
} calls[] = {CALLS(ROW)};

static void make_handles(const char *folder)
{
    tenslice_tens_chunk chunk;
    tenslice_value value;
    tenslice_tensor tensor;
    tenslice_model_problems problems;
    tenslice_cursor cursor;
    tenslice_file file;
    tenslice_str name;
    size_t count;
    uint64_t listed;
    int i;

    for (i = 0; i < FILES; i++) {
        files[i] = load(folder, names[i]);
        EXPECT(TENSLICE_OK, tenslice_file_open(MAKE(i, tenslice_file), files[i].data, files[i].size, NULL));
    }
    CHECK(tenslice_file_open(AT(ZTENSOR, tenslice_file), "x", 1, &unknown) >= 100);
    EXPECT(TENSLICE_NOT_FOUND, tenslice_file_find(AT(ZTENSOR, tenslice_file), "none", 4, &tensor, &not_found));
    EXPECT(TENSLICE_OK,
           tenslice_file_find(AT(ZTENSOR, tenslice_file), "t.float64", 9, MAKE(DENSE, tenslice_tensor), NULL));
    EXPECT(TENSLICE_OK, tenslice_file_tensors(AT(BLOCKS, tenslice_file), &cursor));
    EXPECT(TENSLICE_OK, tenslice_tensors_next(&cursor, MAKE(OF_BLOCKS, tenslice_tensor), NULL));
    ordered = load(folder, "tens/good/ix_f64_x2.tens");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, ordered.data, ordered.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "", 0, MAKE(IN_ORDER, tenslice_tensor), NULL));
    EXPECT(TENSLICE_OK,
           tenslice_tensor_sparse(AT(IN_ORDER, tenslice_tensor), NULL, MAKE(SPARSE, tenslice_sparse), NULL));
    EXPECT(TENSLICE_OK,
           tenslice_tensor_data(AT(DENSE, tenslice_tensor), MAKE(COMPONENT, tenslice_component), NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(AT(NPY, tenslice_file), "", 0, MAKE(OF_NPY, tenslice_tensor), NULL));
    EXPECT(TENSLICE_OK, tenslice_component_stored(AT(COMPONENT, tenslice_component), &stored, NULL));

    EXPECT(TENSLICE_OK, tenslice_file_tensors(AT(ZTENSOR, tenslice_file), MAKE(TENSORS, tenslice_cursor)));
    EXPECT(TENSLICE_OK, tenslice_tensor_components(AT(DENSE, tenslice_tensor), MAKE(COMPONENTS, tenslice_cursor)));
    EXPECT(TENSLICE_OK, tenslice_file_attributes(AT(GGUF, tenslice_file), MAKE(ATTRIBUTES, tenslice_cursor)));
    value.struct_size = sizeof value;
    EXPECT(TENSLICE_OK, tenslice_attributes_get(AT(ATTRIBUTES, tenslice_cursor), "a.uint16", 8, &value, NULL));
    EXPECT(TENSLICE_OK, tenslice_value_items(&value, MAKE(LIST, tenslice_cursor)));
    EXPECT(TENSLICE_OK, tenslice_gguf_infos(AT(GGUF, tenslice_file), MAKE(INFOS, tenslice_cursor)));
    EXPECT(TENSLICE_OK, tenslice_ztensor2_shards(AT(ZTENSOR2, tenslice_file), MAKE(SHARDS, tenslice_cursor)));
    EXPECT(TENSLICE_OK, tenslice_tens_chunks(AT(TENS, tenslice_file), MAKE(CHUNKS, tenslice_cursor)));
    cursor = *AT(CHUNKS, tenslice_cursor);
    chunk.struct_size = sizeof chunk;
    EXPECT(TENSLICE_OK, tenslice_tens_chunks_next(&cursor, &chunk, NULL));
    symmetry = chunk.offset;
    EXPECT(TENSLICE_OK, tenslice_file_find(AT(TENS, tenslice_file), "", 0, &tensor, NULL));
    rank_of_tens = tenslice_tensor_rank(&tensor);
    EXPECT(TENSLICE_OK, tenslice_npz_entries(AT(NPZ, tenslice_file), MAKE(ENTRIES, tenslice_cursor)));
    EXPECT(TENSLICE_OK, tenslice_pytorch_globals(AT(PYTORCH, tenslice_file), MAKE(GLOBALS, tenslice_cursor)));
    EXPECT(TENSLICE_OK, tenslice_onnx_opsets(AT(ONNX, tenslice_file), MAKE(OPSETS, tenslice_cursor)));
    EXPECT(TENSLICE_OK, tenslice_ptd_segments(AT(PTD, tenslice_file), MAKE(SEGMENTS, tenslice_cursor)));
    EXPECT(TENSLICE_OK, tenslice_tflite_subgraphs(AT(TFLITE, tenslice_file), MAKE(SUBGRAPHS, tenslice_cursor)));
    EXPECT(TENSLICE_OK,
           tenslice_file_find(AT(TEXTS_OF, tenslice_file), "words", 5, MAKE(WORDS, tenslice_tensor), NULL));
    EXPECT(TENSLICE_OK, tenslice_tflite_texts(AT(WORDS, tenslice_tensor), MAKE(TEXTS, tenslice_cursor), NULL));

    EXPECT(TENSLICE_OK, tenslice_source_init(MAKE(SOURCE, tenslice_source), files[ZTENSOR].size));
    EXPECT(TENSLICE_OK,
           tenslice_source_add(AT(SOURCE, tenslice_source), 0, files[ZTENSOR].data, files[ZTENSOR].size));
    EXPECT(TENSLICE_OK, tenslice_plan_open(MAKE(PLAN, tenslice_plan), pieces, 1, 10000, 4096, 0));
    EXPECT(TENSLICE_OK, tenslice_plan_reads(AT(PLAN, tenslice_plan), 4096, MAKE(READS, tenslice_cursor)));
    EXPECT(TENSLICE_OK, tenslice_file_index_length(AT(ZTENSOR, tenslice_file), &count));
    CHECK(count <= sizeof words / sizeof *words);
    EXPECT(TENSLICE_OK,
           tenslice_file_index(AT(ZTENSOR, tenslice_file), words, count, MAKE(INDEX, tenslice_index), NULL));
    EXPECT(TENSLICE_OK, tenslice_file_list(AT(ZTENSOR, tenslice_file), entries, 13, &listed, NULL));
    cores.struct_size = sizeof cores;
    EXPECT(TENSLICE_OK, tenslice_blz_get_info(AT(BLZ, tenslice_file), &cores));
    EXPECT(TENSLICE_OK, tenslice_blz_train(AT(BLZ, tenslice_file), MAKE(TRAIN, tenslice_train), NULL));
    shard = load(folder, "v2/shards-base.zt");
    EXPECT(TENSLICE_OK, tenslice_file_tensors(AT(ZTENSOR2, tenslice_file), &cursor));
    do {
        EXPECT(TENSLICE_OK, tenslice_tensors_next(&cursor, &tensor, NULL));
        EXPECT(TENSLICE_OK, tenslice_tensor_data(&tensor, MAKE(IN_SHARD, tenslice_component), NULL));
        EXPECT(TENSLICE_OK, tenslice_component_shard(AT(IN_SHARD, tenslice_component), &name));
    } while (name.data == NULL);
    sharded = load(folder, "safetensors/rs_sharded.safetensors.index.json");
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_open(MAKE(SHARD_INDEX, tenslice_safetensors_index), sharded.data,
                                                        sharded.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_entries(AT(SHARD_INDEX, tenslice_safetensors_index),
                                                           MAKE(SHARDED, tenslice_cursor)));
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_files(AT(SHARD_INDEX, tenslice_safetensors_index), shard_names, 4,
                                                         &count, NULL));
    EXPECT(TENSLICE_OK, tenslice_model_file_opened(MAKE(MODEL_FILE, tenslice_model_file), "m", 1,
                                                   AT(ZTENSOR, tenslice_file)));
    model_files[0] = *AT(MODEL_FILE, tenslice_model_file);
    EXPECT(TENSLICE_OK, tenslice_model_file_missing(&model_files[1], "absent", 6));
    EXPECT(TENSLICE_OK, tenslice_model_open(MAKE(MODEL, tenslice_model), model_files, 2, model_words, 78, NULL));
    EXPECT(TENSLICE_OK,
           tenslice_model_get_tensors(AT(MODEL, tenslice_model), MAKE(OF_MODEL, tenslice_model_tensors)));
    EXPECT(TENSLICE_OK,
           tenslice_model_get_problems(AT(MODEL, tenslice_model), MAKE(PROBLEMS, tenslice_model_problems)));
    problems = *AT(PROBLEMS, tenslice_model_problems);
    EXPECT(TENSLICE_OK, tenslice_model_next_problem(&problems, MAKE(PROBLEM, tenslice_problem)));
    for (i = WRITER; i <= FILLED; i++) {
        EXPECT(TENSLICE_OK, tenslice_writer_open(MAKE(i, tenslice_writer), &declared, NULL, 0, NULL));
        if (i >= WRITING) EXPECT(TENSLICE_OK, tenslice_writer_begin(AT(i, tenslice_writer), &sink, NULL));
        if (i == FILLED) EXPECT(TENSLICE_OK, tenslice_writer_data(AT(i, tenslice_writer), &sink, zeros, 1, NULL));
    }
    COMPARED_WHOLE(handles, sizeof handles);
}

/* ---- One call ---- */

static int row; /* of `calls` */

static void fail(const char *what, tenslice_status status)
{
    fprintf(stderr, "%s: %s gave %s\n", calls[row].name, what, tenslice_status_name(status));
    exit(1);
}

static void prepare(void)
{
    memset(outputs, 0x5a, sizeof outputs);
    memset(untouched, 0x5a, sizeof untouched);
    memset(details, 0x5a, sizeof details);
    memset(is_passed, 0, sizeof is_passed);
    has_details = 0;
}

/* Calls with `size` bytes at `handle`, in memory of that size, so that tools detect a read past the end. */
static tenslice_status run(const void *handle, size_t size, size_t offset)
{
    unsigned char *copy = (unsigned char *)malloc(size + offset), *kept = (unsigned char *)malloc(size + offset);
    tenslice_status status;

    CHECK(copy != NULL && kept != NULL);
    prepare();
    memset(copy, 0, size + offset);
    memcpy(copy + offset, handle, size);
    memcpy(kept, copy, size + offset);
    status = calls[row].call(copy + offset);
    if (status >= 100 && memcmp(copy, kept, size + offset) != 0)
        fail("a handle that changed although the call", status);
    free(copy);
    free(kept);
    return status;
}

/* The call must have been rejected, and must have changed nothing but the details of the error. */
static void refused(const char *what, tenslice_status expected, tenslice_status status)
{
    if (status != expected) fail(what, status);
    if (memcmp(outputs, untouched, sizeof outputs) != 0) fail("an output that changed although the call", status);
    if (has_details && wrong != MISALIGNED && details[0].kind != (uint32_t)status) fail("other details", status);
    if (has_details && wrong == MISALIGNED && wrong_at == OUTPUTS && details[0].kind != 0x5a5a)
        fail("misaligned details", status);
}

static void wrong_handles(int kind)
{
    const int is_array = kind == MODEL_FILE; /* the pointer to an array of handles is then wrong */
    unsigned char room[sizeof(tenslice_source)];
    uint64_t tag, other_tag;
    size_t size = handles[kind].size, n;
    int i;

    memcpy(&tag, handles[kind].content, sizeof tag);
    prepare();
    refused("no handle", is_array ? BAD : HANDLE, calls[row].call(NULL));
    refused("a misaligned handle", is_array ? BAD : HANDLE, run(handles[kind].content, size, 1));
    memset(room, 0, sizeof room);
    refused("a zeroed handle", HANDLE, run(room, size, 0));
    refused("a tag of zero alone", HANDLE, run(room, sizeof tag, 0));
    memset(room, 0xff, sizeof room);
    refused("a handle of ones", HANDLE, run(room, size, 0));
    for (n = 0; n < sizeof room; n++) room[n] = (unsigned char)(n * 167 + 13);
    refused("a handle of random bytes", HANDLE, run(room, size, 0));
    memcpy(room, handles[kind].content, size);
    for (i = 0; i < 64; i++) {
        other_tag = tag ^ UINT64_C(1) << i;
        memcpy(room, &other_tag, sizeof other_tag);
        refused("a handle whose tag differs in a bit", HANDLE, run(room, size, 0));
    }
    for (n = 0; n < 8; n++) room[n] = ((const unsigned char *)&tag)[7 - n];
    refused("a tag in the other byte order", HANDLE, run(room, size, 0));
    for (i = 0; i < HANDLES; i++) {
        memcpy(&other_tag, handles[i].content, sizeof tag);
        if (other_tag != tag) refused("a handle of another kind", HANDLE, run(handles[i].content, handles[i].size, 0));
    }
}

static uint32_t format_of(int kind)
{
    tenslice_file_info info;

    info.struct_size = sizeof info;
    EXPECT(TENSLICE_OK, tenslice_file_get_info(AT(kind, tenslice_file), &info));
    return info.format;
}

static void wrong_files(int kind)
{
    int i;

    for (i = 0; kind < FILES && kind != ZTENSOR && i < FILES; i++) {
        if (format_of(i) != format_of(kind))
            refused("a file of another format", BAD, run(handles[i].content, handles[i].size, 0));
    }
}

static void wrong_outputs(int kind)
{
    int passed[OUTPUTS], aligned[OUTPUTS], optional[OUTPUTS], with_details = has_details, i;
    size_t struct_sizes[OUTPUTS], n;

    memcpy(passed, is_passed, sizeof passed);
    memcpy(aligned, is_aligned, sizeof aligned);
    memcpy(optional, is_optional, sizeof optional);
    memcpy(struct_sizes, sizes, sizeof sizes);
    for (i = 0; i < OUTPUTS; i++) {
        const uint32_t size = (uint32_t)struct_sizes[i], short_sizes[] = {0, 1, 4, size / 2, size - 1};
        const uint32_t long_sizes[] = {size + 1, size + 8, 2 * size, UINT32_MAX};

        if (!passed[i]) continue;
        wrong_at = i, wrong = MISSING;
        if (!optional[i])
            refused("a missing output", BAD, run(handles[kind].content, handles[kind].size, 0));
        else if (run(handles[kind].content, handles[kind].size, 0) != calls[row].status)
            fail("a missing output that may be missing", calls[row].status);
        wrong = MISALIGNED;
        if (aligned[i]) refused("a misaligned output", BAD, run(handles[kind].content, handles[kind].size, 0));
        wrong = RESIZED;
        for (n = 0; size != 0 && n < sizeof short_sizes / sizeof *short_sizes; n++) {
            claimed = short_sizes[n];
            refused("a struct that is too short", BAD, run(handles[kind].content, handles[kind].size, 0));
        }
        for (n = 0; size != 0 && n < sizeof long_sizes / sizeof *long_sizes; n++) {
            claimed = long_sizes[n];
            if (run(handles[kind].content, handles[kind].size, 0) != calls[row].status
                || memcmp((char *)outputs[i] + size, (char *)untouched[i] + size, ROOM_SIZE - size) != 0
                || memcmp(outputs[i], untouched[i], sizeof claimed) != 0)
                fail("a longer struct", calls[row].status);
        }
    }
    wrong_at = OUTPUTS, wrong = MISALIGNED;
    if (with_details) refused("misaligned details", BAD, run(handles[kind].content, handles[kind].size, 0));
    wrong_at = 0, wrong = RIGHT;
}

/* Here the handle is inside a struct. A value that contains no values is valid. */
static void values(void)
{
    tenslice_value value;
    tenslice_cursor cursor, before;
    uint32_t size;
    int i;

    memset(&cursor, 0x5a, sizeof cursor);
    before = cursor;
    memset(&value, 0, sizeof value);
    value.struct_size = sizeof value;
    EXPECT(TENSLICE_WRONG_TYPE, tenslice_value_items(&value, &cursor));
    for (i = 0; i < HANDLES; i++) {
        if (memcmp(handles[i].content, handles[ATTRIBUTES].content, 8) == 0) continue;
        memcpy(&value.items, handles[i].content, sizeof value.items);
        EXPECT(TENSLICE_WRONG_TYPE, tenslice_value_items(&value, &cursor));
    }
    EXPECT(TENSLICE_OK, tenslice_attributes_get(AT(ATTRIBUTES, tenslice_cursor), "a.uint16", 8, &value, NULL));
    for (size = 0; size < sizeof value; size++) {
        value.struct_size = size;
        EXPECT(BAD, tenslice_value_items(&value, &cursor));
    }
    value.struct_size = sizeof value;
    EXPECT(BAD, tenslice_value_items(NULL, &cursor));
    EXPECT(BAD, tenslice_value_items((const tenslice_value *)(const void *)((const char *)&value + 1), &cursor));
    EXPECT(BAD, tenslice_value_items(&value, NULL));
    EXPECT(BAD, tenslice_value_items(&value, (tenslice_cursor *)(void *)((char *)&cursor + 1)));
    CHECK(memcmp(&cursor, &before, sizeof cursor) == 0);
    value.struct_size = UINT32_MAX;
    EXPECT(TENSLICE_OK, tenslice_value_items(&value, &cursor));
}

int main(int argc, char **argv)
{
    tenslice_status status;
    int i;

    CHECK(argc == 2);
    make_handles(argv[1]);
    for (row = 0; row < (int)(sizeof calls / sizeof *calls); row++) {
        wrong_handles(calls[row].kind);
        wrong_files(calls[row].kind);
        status = run(handles[calls[row].kind].content, handles[calls[row].kind].size, 0);
        if (status != calls[row].status) fail("what is right", status);
        wrong_outputs(calls[row].kind);
    }
    values();
    for (i = 0; i < FILES; i++) free(files[i].data);
    free(ordered.data);
    free(sharded.data);
    free(shard.data);
    puts("handles: ok");
    return 0;
}
