/*
 * Overlapping memory. Each call that fills memory by pointer and length, or makes a handle over bytes, is tried with
 * each of its other arguments overlapping the end and the beginning of that memory: it returns INVALID_ARGUMENT, and no
 * byte changes. If they are only adjacent, the call succeeds. Argument: the fixtures.
 */
#include "support.h"

/* Memory of a call: its contents before the call (NULL for any), and its length. */
typedef struct {
    const void *content;
    size_t size;
} memory;

typedef tenslice_status call(unsigned char **at, const memory *of);

#define AT(type, n) ((type *)(void *)at[n])
#define MOST 8
#define SLOT 4096

static uint64_t arena[MOST * SLOT / 8], before[MOST * SLOT / 8];

/* Places each of the first `filled` memories next to and over every other one. */
static void try_all(const char *name, tenslice_status expected, size_t filled, size_t count, const memory *all,
                    call *run)
{
    tenslice_status status;
    unsigned char *at[MOST];
    size_t i, j, k, shared;
    int behind;

    for (i = 0; i < filled; i++) {
        for (j = 0; j < count; j++) {
            for (behind = 0; behind < 2 && j != i; behind++) {
                for (shared = 0; shared <= 8; shared += 8) {
                    memset(arena, 0x5a, sizeof arena);
                    for (k = 0; k < count; k++) {
                        CHECK(count <= MOST && all[k].size <= SLOT / 2);
                        at[k] = (unsigned char *)arena + SLOT * k + SLOT / 2;
                    }
                    at[j] = behind ? at[i] + all[i].size - shared : at[i] + shared - all[j].size;
                    for (k = 0; k < count; k++) {
                        if (all[k].content != NULL) memcpy(at[k], all[k].content, all[k].size);
                    }
                    COMPARED_WHOLE(arena, sizeof arena);
                    memcpy(before, arena, sizeof arena);
                    status = run(at, all);
                    if (status != (shared ? TENSLICE_INVALID_ARGUMENT : expected)
                        || (shared && memcmp(before, arena, sizeof arena) != 0)) {
                        fprintf(stderr, "%s: memory %d that shares %d bytes with memory %d gave %s\n", name, (int)j,
                                (int)shared, (int)i, tenslice_status_name(status));
                        exit(1);
                    }
                }
            }
        }
    }
}

/* Objects that are only read, and do not overlap. */
static tenslice_file file;
static tenslice_component component;

static tenslice_status file_open(unsigned char **at, const memory *of)
{
    return tenslice_file_open(AT(tenslice_file, 1), at[0], of[0].size, NULL);
}

static tenslice_status source_add(unsigned char **at, const memory *of)
{
    return tenslice_source_add(AT(tenslice_source, 1), 0, at[0], of[0].size);
}

static tenslice_status source_needs(unsigned char **at, const memory *of)
{
    return tenslice_source_needs(AT(tenslice_source, 2), AT(tenslice_piece, 0), of[0].size / sizeof(tenslice_piece),
                                 AT(size_t, 1));
}

static tenslice_status source_add_pieces(unsigned char **at, const memory *of)
{
    return tenslice_source_add_pieces(AT(tenslice_source, 1), AT(tenslice_piece, 0),
                                      of[0].size / sizeof(tenslice_piece), NULL, 0);
}

static tenslice_status source_add_memory(unsigned char **at, const memory *of)
{
    return tenslice_source_add_pieces(AT(tenslice_source, 1), NULL, 0, at[0], of[0].size);
}

static tenslice_status plan_open(unsigned char **at, const memory *of)
{
    return tenslice_plan_open(AT(tenslice_plan, 1), AT(tenslice_piece, 0), of[0].size / sizeof(tenslice_piece), 1000,
                              64, 0);
}

static const uint64_t written_shape[] = {64};
static const tenslice_new_tensor declarations[] = {TENSLICE_NEW_TENSOR("w", TENSLICE_U8, written_shape)};
static const tenslice_new_file declared = TENSLICE_NEW_FILE(TENSLICE_FORMAT_SAFETENSORS, declarations);

static int ignore(void *context, uint64_t offset, const void *bytes, size_t length)
{
    (void)context, (void)offset, (void)bytes, (void)length;
    return 0;
}

static tenslice_status writer_open(unsigned char **at, const memory *of)
{
    return tenslice_writer_open(AT(tenslice_writer, 1), AT(tenslice_new_file, 2), AT(uint64_t, 0), of[0].size / 8, NULL);
}

static tenslice_status writer_data(unsigned char **at, const memory *of)
{
    const tenslice_sink sink = {ignore, NULL};

    return tenslice_writer_data(AT(tenslice_writer, 1), &sink, at[0], of[0].size, NULL);
}

static tenslice_status writer_error_text(unsigned char **at, const memory *of)
{
    return tenslice_writer_error_text(AT(tenslice_new_file, 1), AT(tenslice_error, 2), AT(char, 0), of[0].size,
                                      AT(size_t, 3));
}

static tenslice_status with_bytes(unsigned char **at, const memory *of)
{
    return tenslice_component_with_bytes(&component, at[0], of[0].size, AT(tenslice_component, 1), NULL);
}

static tenslice_status error_text(unsigned char **at, const memory *of)
{
    return tenslice_error_text(AT(tenslice_error, 1), at[3], of[3].size, AT(char, 0), of[0].size, AT(size_t, 2));
}

static tenslice_status error_text_source(unsigned char **at, const memory *of)
{
    return tenslice_error_text_source(AT(tenslice_error, 1), AT(tenslice_source, 3), AT(char, 0), of[0].size,
                                      AT(size_t, 2));
}

static tenslice_status str_copy(unsigned char **at, const memory *of)
{
    return tenslice_str_copy(AT(tenslice_str, 1), AT(char, 0), of[0].size, AT(size_t, 2));
}

/* The same, with the bytes of the string overlapping. */
static tenslice_status str_copy_bytes(unsigned char **at, const memory *of)
{
    tenslice_str text = {NULL, 0, 1, {0}};

    text.data = AT(char, 1);
    text.length = of[1].size;
    return tenslice_str_copy(&text, AT(char, 0), of[0].size, AT(size_t, 2));
}

static tenslice_status check(unsigned char **at, const memory *of)
{
    return tenslice_file_check(AT(tenslice_file, 1), AT(uint32_t, 0), of[0].size / 4, AT(uint32_t, 2), NULL);
}

static tenslice_status make_index(unsigned char **at, const memory *of)
{
    return tenslice_file_index(AT(tenslice_file, 1), AT(uint32_t, 0), of[0].size / 4, AT(tenslice_index, 2), NULL);
}

static tenslice_status list(unsigned char **at, const memory *of)
{
    return tenslice_file_list(AT(tenslice_file, 1), AT(tenslice_entry, 0), of[0].size / sizeof(tenslice_entry),
                              AT(uint64_t, 2), NULL);
}

static tenslice_model_file model_file;
static tenslice_model model;
static tenslice_model_problems problems;
static tenslice_problem problem;
static tenslice_error unknown;

static tenslice_status file_invalid(unsigned char **at, const memory *of)
{
    return tenslice_model_file_invalid(AT(tenslice_model_file, 0), AT(char, 1), of[1].size, &unknown, at[2], of[2].size);
}

static tenslice_status make_model(unsigned char **at, const memory *of)
{
    return tenslice_model_open(AT(tenslice_model, 2), AT(tenslice_model_file, 1), 1, AT(uint32_t, 0), of[0].size / 4, NULL);
}

static tenslice_status model_get_text(unsigned char **at, const memory *of)
{
    return tenslice_model_get_text(AT(tenslice_model, 1), AT(char, 2), of[2].size - 7,
                                   WANT(TENSLICE_ANY, AT(uint64_t, 3), 2), AT(tenslice_error, 4), AT(char, 0),
                                   of[0].size, AT(size_t, 5));
}

static tenslice_status problem_text(unsigned char **at, const memory *of)
{
    return tenslice_problem_text(AT(tenslice_problem, 1), AT(char, 0), of[0].size, AT(size_t, 2));
}

static tenslice_status shape(unsigned char **at, const memory *of)
{
    return tenslice_tensor_shape(AT(tenslice_tensor, 1), AT(uint64_t, 0), of[0].size / 8, AT(uint32_t, 2));
}

static tenslice_status strides(unsigned char **at, const memory *of)
{
    return tenslice_tensor_strides(AT(tenslice_tensor, 1), AT(uint64_t, 0), of[0].size / 8);
}

static tenslice_status component_read_into(unsigned char **at, const memory *of)
{
    return tenslice_component_read_into(AT(tenslice_component, 1), at[0], of[0].size, OPTIONS(AT(tenslice_decoder, 2), NULL, 0), AT(uint64_t, 3), NULL);
}

static tenslice_status component_read_range(unsigned char **at, const memory *of)
{
    return tenslice_component_read_range(AT(tenslice_component, 2), 0, at[0], of[0].size, OPTIONS(AT(tenslice_decoder, 3), at[1], of[1].size), NULL);
}

static tenslice_status component_verify(unsigned char **at, const memory *of)
{
    return tenslice_component_verify(AT(tenslice_component, 1), OPTIONS(AT(tenslice_decoder, 2), at[0], of[0].size), AT(tenslice_verified, 3), NULL);
}

/* The options themselves are among the memory; they name the scratch memory during the call. */
static tenslice_status with_options(unsigned char **at, const memory *of)
{
    tenslice_read_options *options = AT(tenslice_read_options, 2);
    const tenslice_read_options saved = *options;
    tenslice_status status;

    options->scratch = at[0];
    options->scratch_length = of[0].size;
    status = tenslice_component_verify(AT(tenslice_component, 1), options, AT(tenslice_verified, 3), NULL);
    *options = saved;
    return status;
}

static tenslice_status file_verify(unsigned char **at, const memory *of)
{
    return tenslice_file_verify(AT(tenslice_file, 1), OPTIONS(AT(tenslice_decoder, 2), at[0], of[0].size), AT(tenslice_verified, 3), NULL);
}

static tenslice_status with_shard(unsigned char **at, const memory *of)
{
    return tenslice_component_with_shard(&component, at[0], of[0].size, AT(tenslice_component, 1), NULL);
}

static tenslice_status tensor_describe(unsigned char **at, const memory *of)
{
    return tenslice_tensor_describe(AT(tenslice_tensor, 2), AT(uint64_t, 0), of[0].size / 8, OPTIONS(AT(tenslice_decoder, 3), at[1], of[1].size), AT(tenslice_described, 4), NULL);
}

static tenslice_status tensor_read_into(unsigned char **at, const memory *of)
{
    return tenslice_tensor_read_into(AT(tenslice_tensor, 2), at[0], of[0].size, OPTIONS(AT(tenslice_decoder, 3), at[1], of[1].size), AT(uint64_t, 4), NULL);
}

static tenslice_status tensor_sparse(unsigned char **at, const memory *of)
{
    return tenslice_tensor_sparse(AT(tenslice_tensor, 1), OPTIONS(AT(tenslice_decoder, 2), at[0], of[0].size), AT(tenslice_sparse, 3), NULL);
}

static tenslice_status sparse_next(unsigned char **at, const memory *of)
{
    return tenslice_sparse_next(AT(tenslice_sparse, 1), AT(uint64_t, 0), of[0].size / 8, AT(tenslice_bytes, 2), NULL);
}

static uint64_t symmetry; /* the offset of the chunk */

static tenslice_status permutation(unsigned char **at, const memory *of)
{
    return tenslice_tens_permutation(AT(tenslice_file, 1), symmetry, AT(uint32_t, 0), of[0].size / 4, NULL);
}

static tenslice_status train_in(unsigned char **at, const memory *of)
{
    return tenslice_blz_train_from_bytes(&file, at[0], of[0].size, AT(tenslice_train, 1), NULL);
}

static tenslice_status element(unsigned char **at, const memory *of)
{
    return tenslice_blz_element(AT(tenslice_train, 1), AT(uint64_t, 2), of[2].size / 8, at[0], of[0].size,
                                AT(double, 3), NULL);
}

static tenslice_status slice(unsigned char **at, const memory *of)
{
    return tenslice_blz_slice(AT(tenslice_train, 2), AT(uint64_t, 3), of[3].size / 8, at[0], of[0].size, at[1],
                              of[1].size, AT(uint64_t, 4), NULL);
}

static tenslice_status sum(unsigned char **at, const memory *of)
{
    return tenslice_blz_sum(AT(tenslice_train, 1), at[0], of[0].size, AT(tenslice_scaled, 2), NULL);
}

static tenslice_status norm(unsigned char **at, const memory *of)
{
    return tenslice_blz_norm(AT(tenslice_train, 1), at[0], of[0].size, AT(tenslice_scaled, 2), NULL);
}

static tenslice_status inner(unsigned char **at, const memory *of)
{
    return tenslice_blz_inner(AT(tenslice_train, 1), AT(tenslice_train, 4), at[0], of[0].size, AT(tenslice_scaled, 2),
                              AT(uint64_t, 3), NULL);
}

static tenslice_status chunk_shape(unsigned char **at, const memory *of)
{
    return tenslice_b2nd_chunk_shape(AT(tenslice_file, 1), 0, AT(uint64_t, 0), of[0].size / 8, AT(uint32_t, 2));
}

static tenslice_status get_chunk(unsigned char **at, const memory *of)
{
    return tenslice_b2nd_get_chunk(AT(tenslice_file, 1), 0, OPTIONS(NULL, at[0], of[0].size), AT(tenslice_b2nd_chunk, 2), NULL);
}

static tenslice_status chunk_extent(unsigned char **at, const memory *of)
{
    return tenslice_b2nd_chunk_extent(AT(tenslice_file, 1), 0, OPTIONS(NULL, at[0], of[0].size), AT(uint64_t, 2), AT(uint64_t, 3), NULL);
}

static tenslice_status uninitialised_chunks(unsigned char **at, const memory *of)
{
    return tenslice_b2nd_uninitialised_chunks(AT(tenslice_file, 1), OPTIONS(NULL, at[0], of[0].size), AT(uint64_t, 2), NULL);
}

static tenslice_status read_chunk(unsigned char **at, const memory *of)
{
    return tenslice_b2nd_read_chunk(AT(tenslice_file, 2), 0, at[0], of[0].size, OPTIONS(AT(tenslice_decoder, 3), at[1], of[1].size), AT(uint64_t, 4), NULL);
}

static tenslice_status read_metalayer(unsigned char **at, const memory *of)
{
    return tenslice_b2nd_read_metalayer(AT(tenslice_file, 2), 0, at[0], of[0].size, OPTIONS(AT(tenslice_decoder, 3), at[1], of[1].size), AT(uint64_t, 4), NULL);
}

static tenslice_status read_region(unsigned char **at, const memory *of)
{
    return tenslice_b2nd_read_region(AT(tenslice_file, 2), AT(uint64_t, 5), AT(uint64_t, 6), 2, at[0], of[0].size, OPTIONS(AT(tenslice_decoder, 3), at[1], of[1].size), AT(uint64_t, 4), NULL);
}

static tenslice_status index_open(unsigned char **at, const memory *of)
{
    return tenslice_safetensors_index_open(AT(tenslice_safetensors_index, 1), at[0], of[0].size, NULL);
}

static tenslice_status index_check(unsigned char **at, const memory *of)
{
    return tenslice_safetensors_index_check(AT(tenslice_safetensors_index, 1), AT(uint32_t, 0), of[0].size / 4, NULL);
}

static tenslice_status make_indexed_model(unsigned char **at, const memory *of)
{
    return tenslice_safetensors_model_open(AT(tenslice_model, 2), AT(tenslice_safetensors_index, 3),
                                           AT(tenslice_model_file, 1), 1, AT(uint32_t, 0), of[0].size / 4, NULL);
}

static tenslice_status index_files(unsigned char **at, const memory *of)
{
    return tenslice_safetensors_index_files(AT(tenslice_safetensors_index, 1), AT(uint32_t, 0), of[0].size / 4,
                                            AT(size_t, 2), NULL);
}

static tenslice_status read_f32(unsigned char **at, const memory *of)
{
    return tenslice_tensor_read_f32(AT(tenslice_tensor, 1), 0, AT(float, 0), of[0].size / 4, NULL);
}

static tenslice_status read_f32_into(unsigned char **at, const memory *of)
{
    return tenslice_tensor_read_f32_into(AT(tenslice_tensor, 2), AT(float, 0), of[0].size / 4, OPTIONS(AT(tenslice_decoder, 3), at[1], of[1].size), AT(uint64_t, 4), NULL);
}

/* Gets the numbers of "t.float64" with its shape, and with a tenslice_expected in memory: of a file, an index, a model. */
#define GET_F32(kind, function)                                                                                        \
    static tenslice_status kind##_get_f32(unsigned char **at, const memory *of)                                        \
    {                                                                                                                  \
        return function(AT(tenslice_##kind, 2), AT(char, 3), 9, WANT(TENSLICE_ANY, AT(uint64_t, 4), 2), AT(float, 0),  \
                        of[0].size / 4, OPTIONS(AT(tenslice_decoder, 5), at[1], of[1].size), AT(tenslice_floats, 6),   \
                        AT(tenslice_requirements, 7), NULL);                                                           \
    }                                                                                                                  \
    static tenslice_status kind##_get_f32_expected(unsigned char **at, const memory *of)                               \
    {                                                                                                                  \
        return function(AT(tenslice_##kind, 1), "t.float64", 9, AT(tenslice_expected, 2), AT(float, 0),                \
                        of[0].size / 4, NULL, AT(tenslice_floats, 3), NULL, NULL);                                     \
    }
GET_F32(file, tenslice_file_get_f32)
GET_F32(index, tenslice_index_get_f32)
GET_F32(model, tenslice_model_get_f32)

static tenslice_status tensor_get_f32(unsigned char **at, const memory *of)
{
    return tenslice_tensor_get_f32(AT(tenslice_tensor, 2), WANT(TENSLICE_ANY, AT(uint64_t, 3), 2), AT(float, 0),
                                   of[0].size / 4, OPTIONS(AT(tenslice_decoder, 4), at[1], of[1].size),
                                   AT(tenslice_floats, 5), AT(tenslice_requirements, 6), NULL);
}

static tenslice_status (*const to_f32[])(const void *, size_t, uint64_t, float *, size_t) = {
    tenslice_q4_0_to_f32, tenslice_q4_1_to_f32, tenslice_q5_0_to_f32, tenslice_q5_1_to_f32, tenslice_q8_0_to_f32,
    tenslice_q8_1_to_f32, tenslice_q2_k_to_f32, tenslice_q3_k_to_f32, tenslice_q4_k_to_f32, tenslice_q5_k_to_f32,
    tenslice_q6_k_to_f32, tenslice_q8_k_to_f32, tenslice_iq2_xxs_to_f32, tenslice_iq2_xs_to_f32,
    tenslice_iq3_xxs_to_f32, tenslice_iq1_s_to_f32, tenslice_iq4_nl_to_f32, tenslice_iq3_s_to_f32,
    tenslice_iq2_s_to_f32, tenslice_iq4_xs_to_f32, tenslice_iq1_m_to_f32, tenslice_tq1_0_to_f32,
    tenslice_tq2_0_to_f32, tenslice_mxfp4_to_f32, tenslice_nvfp4_to_f32, tenslice_q1_0_to_f32, tenslice_q2_0_to_f32,
};
static size_t type; /* for `to_f32` */

static tenslice_status blocks_to_f32(unsigned char **at, const memory *of)
{
    return to_f32[type](at[1], of[1].size, 0, AT(float, 0), of[0].size / 4);
}

static tenslice_status check_model(unsigned char **at, const memory *of)
{
    return tenslice_model_check(AT(tenslice_model, 1), AT(uint32_t, 0), of[0].size / 4, AT(uint64_t, 2), NULL);
}

/* The last 7 bytes of the memory are not part of the name. */
static tenslice_status get_text(unsigned char **at, const memory *of)
{
    return tenslice_file_get_text(AT(tenslice_file, 1), AT(char, 2), of[2].size - 7,
                                  WANT(TENSLICE_ANY, AT(uint64_t, 3), 2), AT(tenslice_error, 4), AT(char, 0),
                                  of[0].size, AT(size_t, 5));
}

static tenslice_status part_name(unsigned char **at, const memory *of)
{
    return tenslice_gguf_part_name(AT(char, 1), of[1].size - 7, 1, AT(char, 0), of[0].size, AT(size_t, 2));
}

/* Passed for its address only. It is never called to decode. */
static tenslice_status decode(void *user, uint32_t encoding, const void *stored, size_t stored_length, void *room,
                              size_t capacity, size_t *length)
{
    (void)user, (void)encoding, (void)stored, (void)stored_length, (void)room, (void)capacity, (void)length;
    return TENSLICE_UNSUPPORTED_ENCODING;
}

#define TRY(expected, filled, call, ...)                                                                               \
    do {                                                                                                               \
        const memory all_[] = {__VA_ARGS__};                                                                           \
        try_all(#call, expected, filled, sizeof all_ / sizeof *all_, all_, call);                                      \
    } while (0)
#define ROOM(size) {NULL, size}
#define OUT(type) {NULL, sizeof(type)}
#define OF(value) {&(value), sizeof(value)}

int main(int argc, char **argv)
{
    static const uint64_t start[2] = {0, 0}, stop[2] = {2, 2}, all[2] = {UINT64_MAX, UINT64_MAX};
    static const char shards[] = "{\"weight_map\": {\"a\": \"file\"}}   "; /* 32 bytes: whatever follows is aligned */
    static const tenslice_piece pieces[2] = {{1, 500, 9, 0}, {2, 7, 8, 0}}, empty[2] = {{3, 5, 0, 0}, {4, 6, 0, 0}};
    blob b;
    tenslice_tensor tensor;
    tenslice_cursor cursor;
    tenslice_source source;
    tenslice_bytes data;
    tenslice_model_file absent;
    uint32_t model_words[78], slots[39];
    const uint64_t whole_shape[] = {2, 3};
    tenslice_expected any_shape = {sizeof any_shape, TENSLICE_ANY, TENSLICE_ANY_SHAPE, NULL};
    tenslice_requirements needs = {sizeof needs, 0, 0, 0};
    tenslice_error error;
    tenslice_decoder decoder;
    tenslice_described described;
    tenslice_sparse sparse;
    tenslice_verified verified;
    tenslice_read_options options = {sizeof options, 0, NULL, NULL, 0};
    tenslice_tens_chunk chunk;
    tenslice_blz_info blz;
    tenslice_train train;
    tenslice_b2nd_chunk b2nd;
    tenslice_safetensors_index index;
    tenslice_index names;
    const tenslice_sink sink = {ignore, NULL};
    tenslice_writer writer;
    tenslice_str text = {"a\\u002eb", 8, 1, {0}};
    char part[32] = "model-00001-of-00002.gguf"; /* 32 bytes, the last 7 of which are not part of the name */

    CHECK(argc == 2);
    memset(&verified, 0, sizeof verified);
    verified.struct_size = sizeof verified;
    memset(&described, 0, sizeof described);
    described.struct_size = sizeof described;
    memset(&decoder, 0, sizeof decoder);
    decoder.decode = decode;

    b = load(argv[1], "v1.2/dense_all_dtypes.zt");
    CHECK(tenslice_file_open(&file, "x", 1, &error) >= 100);
    unknown = error;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "t.float64", 9, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_data(&tensor, &component, NULL));
    EXPECT(TENSLICE_OK, tenslice_component_bytes(&component, TENSLICE_ANY, &data, NULL));
    EXPECT(TENSLICE_OK, tenslice_source_init(&source, b.size));
    TRY(TENSLICE_OK, 1, plan_open, OF(pieces), OUT(tenslice_plan));
    TRY(TENSLICE_OK, 1, writer_open, ROOM(64), OUT(tenslice_writer), OF(declared));
    EXPECT(TENSLICE_OK, tenslice_writer_open(&writer, &declared, NULL, 0, NULL));
    EXPECT(TENSLICE_OK, tenslice_writer_begin(&writer, &sink, NULL));
    TRY(TENSLICE_OK, 1, writer_data, ROOM(64), OF(writer));
    TRY(TENSLICE_OK, 1, writer_error_text, ROOM(256), OF(declared), OF(error), OUT(size_t));
    TRY(TENSLICE_OK, 1, source_add, {b.data, 64}, OF(source));
    TRY(TENSLICE_OK, 1, source_needs, OF(pieces), OUT(size_t), OF(source));
    TRY(TENSLICE_OK, 1, source_add_pieces, OF(empty), OF(source));
    TRY(TENSLICE_OK, 1, source_add_memory, {b.data, 64}, OF(source));
    TRY(TENSLICE_OK, 1, with_bytes, {data.data, data.length}, OUT(tenslice_component));
    TRY(TENSLICE_OK, 1, error_text, ROOM(256), OF(error), OUT(size_t), {b.data, 64});
    TRY(TENSLICE_OK, 1, error_text_source, ROOM(256), OF(error), OUT(size_t), OF(source));
    EXPECT(TENSLICE_WRONG_SHAPE,
           tenslice_file_get(&file, "t.float64", 9, WANT(TENSLICE_ANY, stop, 2), &data, &error));
    TRY(TENSLICE_OK, 1, get_text, ROOM(256), OF(file), {"t.float64\0\0\0\0\0\0", 16}, {stop, sizeof stop}, OF(error),
        OUT(size_t));
    EXPECT(TENSLICE_OK, tenslice_file_index(&file, slots, sizeof slots / sizeof *slots, &names, NULL));
#define GETS(kind, handle)                                                                                             \
    TRY(TENSLICE_OK, 2, kind##_get_f32, ROOM(64), ROOM(64), OF(handle), {"t.float64", 9}, {whole_shape, sizeof whole_shape}, \
        OF(decoder), OUT(tenslice_floats), OF(needs));                                                                 \
    TRY(TENSLICE_OK, 1, kind##_get_f32_expected, ROOM(64), OF(handle), OF(any_shape), OUT(tenslice_floats))
    GETS(file, file);
    GETS(index, names);
    TRY(TENSLICE_OK, 2, tensor_get_f32, ROOM(64), ROOM(64), OF(tensor), {whole_shape, sizeof whole_shape}, OF(decoder),
        OUT(tenslice_floats), OF(needs));
    EXPECT(TENSLICE_OK, tenslice_component_bytes(&component, TENSLICE_ANY, &data, NULL));
    TRY(TENSLICE_OK, 1, str_copy, ROOM(64), OF(text), OUT(size_t));
    TRY(TENSLICE_OK, 1, str_copy_bytes, ROOM(64), {text.data, text.length}, OUT(size_t));
    TRY(TENSLICE_OK, 1, check, ROOM(64), OF(file), OUT(uint32_t));
    TRY(TENSLICE_OK, 1, list, ROOM(13 * sizeof(tenslice_entry)), OF(file), OUT(uint64_t));
    TRY(TENSLICE_OK, 1, make_index, ROOM(256), OF(file), OUT(tenslice_index));
    EXPECT(TENSLICE_OK, tenslice_model_file_opened(&model_file, "m.zt", TENSLICE_NUL, &file));
    TRY(TENSLICE_OK, 2, make_model, ROOM(512), OF(model_file), OUT(tenslice_model));
    TRY(TENSLICE_OK, 1, file_invalid, OUT(tenslice_model_file), {"name of 16 bytes", 16}, {b.data, 64});
    EXPECT(TENSLICE_OK, tenslice_model_file_missing(&absent, "absent", TENSLICE_NUL));
    EXPECT(TENSLICE_OK, tenslice_model_open(&model, &absent, 1, NULL, 0, NULL));
    EXPECT(TENSLICE_OK, tenslice_model_get_problems(&model, &problems));
    EXPECT(TENSLICE_OK, tenslice_model_next_problem(&problems, &problem));
    TRY(TENSLICE_OK, 1, problem_text, ROOM(256), OF(problem), OUT(size_t));
    EXPECT(TENSLICE_OK, tenslice_model_open(&model, &model_file, 1, model_words, 78, NULL));
    TRY(TENSLICE_OK, 1, model_get_text, ROOM(256), OF(model), {"t.float64\0\0\0\0\0\0", 16}, {stop, sizeof stop},
        OF(error), OUT(size_t));
    GETS(model, model);
    TRY(TENSLICE_OK, 1, check_model, ROOM(64), OF(model), OUT(uint64_t));
    TRY(TENSLICE_OK, 1, shape, ROOM(64), OF(tensor), OUT(uint32_t));
    TRY(TENSLICE_OK, 1, strides, ROOM(64), OF(tensor));
    TRY(TENSLICE_OK, 1, component_read_into, ROOM(256), OF(component), OF(decoder), OUT(uint64_t));
    TRY(TENSLICE_OK, 2, component_read_range, ROOM(8), ROOM(64), OF(component), OF(decoder));
    TRY(TENSLICE_OK, 1, component_verify, ROOM(64), OF(component), OF(decoder), OF(verified));
    TRY(TENSLICE_OK, 1, with_options, ROOM(64), OF(component), OF(options), OF(verified));
    TRY(TENSLICE_OK, 1, file_verify, ROOM(64), OF(file), OF(decoder), OF(verified));
    TRY(TENSLICE_NOT_IN_SHARD, 1, with_shard, {data.data, data.length}, OUT(tenslice_component));
    /* An empty range overlaps nothing, and the error is written last. */
    EXPECT(TENSLICE_OK,
           tenslice_tensor_read_into(&tensor, arena, 256, OPTIONS(NULL, arena + 1, 0), NULL,
                                     (tenslice_error *)(void *)arena));
    EXPECT(TENSLICE_TOO_SMALL, tenslice_error_text(&error, NULL, 0, (char *)&error + 1, 0, NULL));
    /* The words are used after the call, so not even the error may overlap them. */
    EXPECT(TENSLICE_INVALID_ARGUMENT, tenslice_file_index(&file, (uint32_t *)(void *)arena, 64, &names,
                                                          (tenslice_error *)(void *)arena));
    free(b.data);

    b = load(argv[1], "tens/good/ix_f64_x2.tens");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "", 0, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_sparse(&tensor, NULL, &sparse, NULL));
    TRY(TENSLICE_OK, 1, tensor_sparse, ROOM(64), OF(tensor), OF(decoder), OUT(tenslice_sparse));
    TRY(TENSLICE_OK, 1, sparse_next, ROOM(64), OF(sparse), OUT(tenslice_bytes));
    free(b.data);

    b = load(argv[1], "tens/good/sym_1_sym.tens");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_tens_chunks(&file, &cursor));
    chunk.struct_size = sizeof chunk;
    EXPECT(TENSLICE_OK, tenslice_tens_chunks_next(&cursor, &chunk, NULL));
    symmetry = chunk.offset;
    TRY(TENSLICE_OK, 1, file_open, {b.data, b.size}, OUT(tenslice_file));
    TRY(TENSLICE_OK, 1, permutation, ROOM(64), OF(file));
    free(b.data);

    b = load(argv[1], "blz/good/identity_matrix_f64.blz");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "", 0, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_blz_train(&file, &train, NULL));
    blz.struct_size = sizeof blz;
    EXPECT(TENSLICE_OK, tenslice_blz_get_info(&file, &blz));
    TRY(TENSLICE_OK, 2, tensor_describe, ROOM(64), ROOM(1024), OF(tensor), OF(decoder), OF(described));
    TRY(TENSLICE_OK, 2, tensor_read_into, ROOM(1024), ROOM(1024), OF(tensor), OF(decoder), OUT(uint64_t));
    TRY(TENSLICE_OK, 1, train_in, {b.data + blz.offset, (size_t)blz.length}, OUT(tenslice_train));
    TRY(TENSLICE_OK, 1, element, ROOM(1024), OF(train), OF(start), ROOM(2 * sizeof(double)));
    TRY(TENSLICE_OK, 2, slice, ROOM(1024), ROOM(1024), OF(train), OF(all), OUT(uint64_t));
    TRY(TENSLICE_OK, 1, sum, ROOM(1024), OF(train), OUT(tenslice_scaled));
    TRY(TENSLICE_OK, 1, norm, ROOM(1024), OF(train), OUT(tenslice_scaled));
    TRY(TENSLICE_OK, 1, inner, ROOM(1024), OF(train), OUT(tenslice_scaled), OUT(uint64_t), OF(train));
    free(b.data);

    b = load(argv[1], "b2nd/good/nd02_lz4_0.b2nd");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    memset(&b2nd, 0, sizeof b2nd);
    b2nd.struct_size = sizeof b2nd;
    TRY(TENSLICE_OK, 1, chunk_shape, ROOM(64), OF(file), OUT(uint32_t));
    TRY(TENSLICE_OK, 1, get_chunk, ROOM(64), OF(file), OF(b2nd));
    TRY(TENSLICE_OK, 1, chunk_extent, ROOM(64), OF(file), OUT(uint64_t), OUT(uint64_t));
    TRY(TENSLICE_OK, 1, uninitialised_chunks, ROOM(64), OF(file), OUT(uint64_t));
    TRY(TENSLICE_OK, 2, read_chunk, ROOM(1024), ROOM(1024), OF(file), OF(decoder), OUT(uint64_t));
    TRY(TENSLICE_OK, 2, read_region, ROOM(1024), ROOM(1024), OF(file), OF(decoder), OUT(uint64_t), OF(start),
        OF(stop));
    free(b.data);

    b = load(argv[1], "b2nd/good/vlmeta_mem_0.b2nd");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    TRY(TENSLICE_OK, 2, read_metalayer, ROOM(1024), ROOM(1024), OF(file), OF(decoder), OUT(uint64_t));
    free(b.data);

    EXPECT(TENSLICE_OK, tenslice_safetensors_index_open(&index, shards, sizeof shards - 1, NULL));
    TRY(TENSLICE_OK, 1, index_open, {shards, sizeof shards - 1}, OUT(tenslice_safetensors_index));
    TRY(TENSLICE_OK, 1, index_check, ROOM(64), OF(index));
    TRY(TENSLICE_OK, 1, index_files, ROOM(64), OF(index), OUT(size_t));
    EXPECT(TENSLICE_OK, tenslice_model_file_missing(&absent, "file", TENSLICE_NUL));
    TRY(TENSLICE_OK, 2, make_indexed_model, ROOM(64), OF(absent), OUT(tenslice_model), OF(index));

    b = load(argv[1], "gguf-blocks/q8_0.gguf");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_tensors(&file, &cursor));
    EXPECT(TENSLICE_OK, tenslice_tensors_next(&cursor, &tensor, NULL));
    TRY(TENSLICE_OK, 1, read_f32, ROOM(64), OF(tensor));
    TRY(TENSLICE_OK, 2, read_f32_into, ROOM(1024), ROOM(64), OF(tensor), OF(decoder), OUT(uint64_t));
    for (type = 0; type < sizeof to_f32 / sizeof *to_f32; type++)
        TRY(TENSLICE_OK, 1, blocks_to_f32, ROOM(8), ROOM(296)); /* at least a block of any type */
    TRY(TENSLICE_OK, 1, part_name, ROOM(64), OF(part), OUT(size_t));
    free(b.data);

    puts("overlap: ok");
    return 0;
}
