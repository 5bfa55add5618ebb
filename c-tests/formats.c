/* Calls that are specific to one format, each used once as intended. Argument: the fixtures. */
#include <math.h>

#include "support.h"

static void symmetries(const char *folder)
{
    blob b = load(folder, "tens/good/sym_1_anti.tens");
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_tensor_info info;
    tenslice_tens_dimension dimension;
    tenslice_cursor chunks;
    tenslice_tens_chunk chunk;
    tenslice_bytes bytes, swapped;
    uint64_t index[4] = {0, 1, 0, 0}, other[4] = {1, 0, 0, 0}, strides[4];
    uint32_t sources[4];
    double x, y;

    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "", 0, &tensor, NULL));
    info.struct_size = sizeof info;
    EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &info));
    CHECK(info.order == TENSLICE_ORDER_COLUMN_MAJOR && info.layout == TENSLICE_LAYOUT_DENSE && info.rank <= 4);
    EXPECT(TENSLICE_OK, tenslice_tensor_strides(&tensor, strides, 4));
    dimension.struct_size = sizeof dimension;
    EXPECT(TENSLICE_OK, tenslice_tens_get_dimension(&file, 0, &dimension));
    CHECK(dimension.name == 'a' && !dimension.is_sparse);
    CHECK(strides[0] == 1 && strides[1] == dimension.length);

    EXPECT(TENSLICE_OK, tenslice_tens_chunks(&file, &chunks));
    chunk.struct_size = sizeof chunk;
    EXPECT(TENSLICE_OK, tenslice_tens_chunks_next(&chunks, &chunk, NULL));
    CHECK(memcmp(chunk.magic, "SYMMETRY", 8) == 0 && !chunk.is_packed && same(chunk.operation, "-x"));
    CHECK(chunk.map.length == info.rank && memcmp(chunk.map.data, "ba", 2) == 0);
    EXPECT(TENSLICE_TOO_SMALL, tenslice_tens_permutation(&file, chunk.offset, sources, 1, NULL));
    EXPECT(TENSLICE_OK, tenslice_tens_permutation(&file, chunk.offset, sources, 4, NULL));
    CHECK(sources[0] == 1 && sources[1] == 0);
    EXPECT(TENSLICE_OK, tenslice_tens_chunks_next(&chunks, &chunk, NULL));
    CHECK(memcmp(chunk.magic, "DENSDATA", 8) == 0 && chunk.operation.data == NULL);
    EXPECT(TENSLICE_END, tenslice_tens_chunks_next(&chunks, &chunk, NULL));

    /* The data has the symmetry. */
    EXPECT(TENSLICE_OK, tenslice_tens_element(&file, index, info.rank, &bytes, NULL));
    EXPECT(TENSLICE_OK, tenslice_tens_element(&file, other, info.rank, &swapped, NULL));
    CHECK(bytes.length == sizeof x && swapped.length == sizeof y);
    {
        unsigned i, little = 1;
        unsigned char a[8], c[8];
        for (i = 0; i < 8; i++) {
            unsigned from = *(unsigned char *)&little ? i : 7 - i;
            a[i] = ((const unsigned char *)bytes.data)[from];
            c[i] = ((const unsigned char *)swapped.data)[from];
        }
        memcpy(&x, a, 8);
        memcpy(&y, c, 8);
    }
    CHECK(x == -y && x != 0);
    EXPECT(TENSLICE_WRONG_RANK, tenslice_tens_element(&file, index, 1, &bytes, NULL));
    index[0] = dimension.length;
    EXPECT(TENSLICE_NO_SUCH_ELEMENT, tenslice_tens_element(&file, index, info.rank, &bytes, NULL));
    CHECK(tenslice_binary128_to_double(0, UINT64_C(0x3fff800000000000)) == 1.5);
    CHECK(strcmp(tenslice_dtype_name(TENSLICE_F64 | TENSLICE_LANES_4), "f64x4") == 0);
    CHECK(tenslice_dtype_size(TENSLICE_I16 | TENSLICE_LANES_8) == 16);
    CHECK(tenslice_dtype_size(TENSLICE_F64 | TENSLICE_LANES_2) == 0); /* this is TENSLICE_C128 */
    free(b.data);
}

/* Returns the next value. First calls with a buffer that is too small, which writes nothing and does not advance. */
static tenslice_status next_value(tenslice_sparse *sparse, uint64_t *index, size_t rank, tenslice_bytes *value)
{
    tenslice_bytes untouched;
    uint64_t before[3] = {77, 77, 77};
    size_t room;

    CHECK(rank <= 3);
    memset(&untouched, 0x5a, sizeof untouched);
    memset(value, 0x5a, sizeof *value);
    memcpy(index, before, rank * sizeof *index);
    for (room = 0; room < rank; room++)
        EXPECT(TENSLICE_TOO_SMALL, tenslice_sparse_next(sparse, index, room, value, NULL));
    CHECK(memcmp(index, before, rank * sizeof *index) == 0 && memcmp(value, &untouched, sizeof untouched) == 0);
    return tenslice_sparse_next(sparse, index, rank, value, NULL);
}

/* Checks all values of a sparse tensor: as many as stated, each of them once, whatever the first buffer size. */
static void every_value(const tenslice_tensor *tensor)
{
    tenslice_sparse sparse, again;
    tenslice_sparse_info info;
    tenslice_bytes value, same_value;
    uint64_t index[3], same_index[3], count = 0;

    info.struct_size = sizeof info;
    EXPECT(TENSLICE_OK, tenslice_tensor_sparse(tensor, NULL, &sparse, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_sparse(tensor, NULL, &again, NULL));
    EXPECT(TENSLICE_OK, tenslice_sparse_get_info(&sparse, &info));
    while (next_value(&sparse, index, info.rank, &value) == TENSLICE_OK) {
        EXPECT(TENSLICE_OK, tenslice_sparse_next(&again, same_index, 3, &same_value, NULL));
        CHECK(memcmp(index, same_index, info.rank * sizeof *index) == 0);
        CHECK(value.data == same_value.data && value.length == tenslice_dtype_size(info.dtype));
        count++;
    }
    CHECK(count == info.stored && count > 2);
    EXPECT(TENSLICE_END, tenslice_sparse_next(&again, same_index, 3, &same_value, NULL));
}

static void pairs(const char *folder)
{
    blob b = load(folder, "tens/good/ix_f64_x2.tens");
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_sparse sparse;
    tenslice_sparse_info info;
    tenslice_bytes value, found;
    tenslice_status status;
    uint64_t index[3], place, dense, scratch;
    double room[27][2];
    int count = 0, zeros = 0, i;

    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "", 0, &tensor, NULL));
    EXPECT(TENSLICE_OK, tensor_needs(&tensor, TENSLICE_PURPOSE_READ, &dense, &scratch));
    CHECK(dense == sizeof room && scratch == 0);
    EXPECT(TENSLICE_OK, tenslice_tensor_read_into(&tensor, room, sizeof room, NULL, NULL, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_sparse(&tensor, NULL, &sparse, NULL));
    info.struct_size = sizeof info;
    EXPECT(TENSLICE_OK, tenslice_sparse_get_info(&sparse, &info));
    CHECK(info.stored == 4 && info.rank == 3 && info.dtype == TENSLICE_C128 && info.warnings == 0);
    CHECK(info.layout == TENSLICE_LAYOUT_INDEX_VALUE && info.byte_order == TENSLICE_BYTE_ORDER_LITTLE);
    while ((status = tenslice_sparse_next(&sparse, index, 3, &value, NULL)) == TENSLICE_OK) {
        EXPECT(TENSLICE_OK, tenslice_tens_element(&file, index, 3, &found, NULL));
        CHECK(value.data == found.data && value.length == 16);
        place = (index[0] * 3 + index[1]) * 3 + index[2]; /* row-major, as in all computed layouts */
        CHECK(room[place][0] != 0);
        count++;
    }
    EXPECT(TENSLICE_END, status);
    EXPECT(TENSLICE_END, tenslice_sparse_next(&sparse, index, 3, &value, NULL));
    for (i = 0; i < 27; i++)
        zeros += room[i][0] == 0 && room[i][1] == 0;
    CHECK(count == 4 && zeros == 23);
    index[0] = 0, index[1] = 1, index[2] = 2;
    EXPECT(TENSLICE_OK, tenslice_tens_element(&file, index, 3, &found, NULL));
    CHECK(found.data == NULL && found.length == 0);
    every_value(&tensor);
    free(b.data);

    /* Rows and coordinates, too. */
    b = load(folder, "v1.2/objects_sparse_quant_logical.zt");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "csr_i32", 7, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_sparse(&tensor, NULL, &sparse, NULL));
    EXPECT(TENSLICE_OK, tenslice_sparse_get_info(&sparse, &info));
    for (count = 0; tenslice_sparse_next(&sparse, index, 3, &value, NULL) == TENSLICE_OK; count++)
        CHECK(index[0] < 5 && index[1] < 6 && value.length == 4);
    CHECK((uint64_t)count == info.stored && count > 0);
    every_value(&tensor);
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "coo", 3, &tensor, NULL));
    every_value(&tensor);
    free(b.data);
}

static void trains(const char *folder)
{
    blob a = load(folder, "blz/good/pair_a_f64.blz"), b = load(folder, "blz/good/pair_b_f64.blz");
    tenslice_file file, other_file;
    tenslice_tensor tensor;
    tenslice_blz_info info;
    tenslice_blz_core core;
    tenslice_train train, other, bound;
    tenslice_blz_scratch needed;
    tenslice_scaled norm, sum, inner;
    uint64_t index[16], fixed[16], dense, scratch_length, length, inner_length, i, k;
    double *elements, value[2], total = 0, squares = 0;
    void *scratch;

    EXPECT(TENSLICE_OK, tenslice_file_open(&file, a.data, a.size, NULL));
    info.struct_size = sizeof info;
    EXPECT(TENSLICE_OK, tenslice_blz_get_info(&file, &info));
    CHECK(info.dtype == TENSLICE_F64 && info.core_count <= 16 && info.length == 8 * info.parameters);
    memset(&core, 0, sizeof core); /* without a core there is no shape */
    core.struct_size = sizeof core;
    for (i = 0, k = 0; i < info.core_count; i++) {
        EXPECT(TENSLICE_OK, tenslice_blz_get_core(&file, (uint32_t)i, &core));
        CHECK(core.index == i && core.length == 8 * core.shape[0] * core.shape[1] * core.shape[2]);
        k += core.length;
    }
    CHECK(core.shape[2] == 1 && k == info.length);

    EXPECT(TENSLICE_OK, tenslice_blz_train(&file, &train, NULL));
    needed.struct_size = sizeof needed;
    EXPECT(TENSLICE_OK, tenslice_blz_get_scratch(&train, &needed));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "", 0, &tensor, NULL));
    EXPECT(TENSLICE_OK, tensor_needs(&tensor, TENSLICE_PURPOSE_READ, &dense, &scratch_length));
    CHECK(scratch_length == needed.slice);
    elements = (double *)malloc((size_t)dense);
    scratch = malloc((size_t)(needed.slice + needed.norm + needed.element));
    CHECK(elements != NULL && scratch != NULL);
    EXPECT(TENSLICE_OK,
           tenslice_tensor_read_into(&tensor, elements, (size_t)dense, OPTIONS(NULL, scratch,
                                     (size_t)scratch_length), &length, NULL));
    CHECK(length == dense);
    for (i = 0; i < dense / 8; i++) {
        total += elements[i];
        squares += elements[i] * elements[i];
    }
    EXPECT(TENSLICE_OK, tenslice_blz_norm(&train, scratch, (size_t)needed.norm, &norm, NULL));
    EXPECT(TENSLICE_OK, tenslice_blz_sum(&train, scratch, (size_t)needed.element, &sum, NULL));
    CHECK(fabs(ldexp(norm.real, norm.exponent) - sqrt(squares)) < 1e-9 * sqrt(squares) && norm.imaginary == 0);
    CHECK(fabs(ldexp(sum.real, sum.exponent) - total) < 1e-9 * sqrt(squares));

    /* The last element, alone and as a slice that fixes all indices but the first. */
    for (i = 0; i < info.core_count; i++) {
        EXPECT(TENSLICE_OK, tenslice_blz_get_core(&file, (uint32_t)i, &core));
        index[i] = fixed[i] = core.shape[1] - 1;
    }
    EXPECT(TENSLICE_OK,
           tenslice_blz_element(&train, index, info.core_count, scratch, (size_t)needed.element, value, NULL));
    CHECK(value[0] == elements[dense / 8 - 1] && value[1] == 0);
    fixed[0] = UINT64_MAX;
    EXPECT(TENSLICE_TOO_SMALL, tenslice_blz_slice(&train, fixed, info.core_count, NULL, 0, scratch,
                                                  (size_t)needed.slice, &length, NULL));
    CHECK(length == 8 * (index[0] + 1) && length <= dense);
    EXPECT(TENSLICE_OK, tenslice_blz_slice(&train, fixed, info.core_count, elements, (size_t)length, scratch,
                                           (size_t)needed.slice, &length, NULL));
    CHECK(elements[index[0]] == value[0]);

    EXPECT(TENSLICE_OK, tenslice_file_open(&other_file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_blz_train(&other_file, &other, NULL));
    EXPECT(TENSLICE_OUT_OF_SCRATCH, tenslice_blz_inner(&train, &other, NULL, 0, &inner, &inner_length, NULL));
    free(scratch);
    scratch = malloc((size_t)inner_length);
    CHECK(scratch != NULL);
    EXPECT(TENSLICE_OK, tenslice_blz_inner(&train, &other, scratch, (size_t)inner_length, &inner, NULL, NULL));
    CHECK(fabs(ldexp(inner.real, inner.exponent) + 0.3312737902914607) < 1e-9);

    /* The same result with cores that the caller has read. */
    EXPECT(TENSLICE_OK, tenslice_blz_train_from_bytes(&file, a.data + info.offset, (size_t)info.length, &bound, NULL));
    EXPECT(TENSLICE_OK, tenslice_blz_inner(&bound, &other, scratch, (size_t)inner_length, &sum, NULL, NULL));
    CHECK(sum.real == inner.real && sum.exponent == inner.exponent);
    free(elements);
    free(scratch);
    free(a.data);
    free(b.data);
}

/* The number in little-endian bytes. */
static float float_at(const unsigned char *bytes)
{
    uint32_t bits = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static void regions(const char *folder)
{
    blob b = load(folder, "b2nd/good/nd02_lz4_0.b2nd"); /* 13 rows of 10, chunks of 13 x 6, blocks of 8 x 6 */
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_component component;
    tenslice_b2nd_info info;
    tenslice_b2nd_chunk chunk;
    tenslice_b2nd_metalayer metalayer;
    uint64_t shape[2], start[2] = {0, 0}, stop[2] = {13, 10}, dense, scratch_length, length, needed, row, column;
    uint32_t rank;
    unsigned char all[13 * 10 * 4], part[2 * 3 * 4], scratch[1024], whole_chunk[1024];

    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    info.struct_size = sizeof info;
    EXPECT(TENSLICE_OK, tenslice_b2nd_get_info(&file, &info));
    CHECK(info.is_array && info.item_size == 4 && info.chunk_count == 2 && same(info.dtype, "<f4"));
    CHECK(info.codec == 1 && info.version == 2 && info.decoded == 2 * info.chunk_size && info.table_scratch == 0);
    EXPECT(TENSLICE_TOO_SMALL, tenslice_b2nd_chunk_shape(&file, 0, shape, 1, &rank));
    CHECK(rank == 2);
    EXPECT(TENSLICE_OK, tenslice_b2nd_chunk_shape(&file, 0, shape, 2, NULL));
    CHECK(shape[0] == 13 && shape[1] == 6);
    EXPECT(TENSLICE_OK, tenslice_b2nd_chunk_shape(&file, 1, shape, 2, NULL));
    CHECK(shape[0] == 8 && shape[1] == 6);
    metalayer.struct_size = sizeof metalayer;
    EXPECT(TENSLICE_OK, tenslice_b2nd_get_metalayer(&file, 0, 0, &metalayer));
    CHECK(same(metalayer.name, "b2nd") && metalayer.content.length == metalayer.decoded_length);
    EXPECT(TENSLICE_NOT_FOUND, tenslice_b2nd_get_metalayer(&file, 0, 1, &metalayer));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_b2nd_get_metalayer(&file, 1, 0, &metalayer));

    /* The whole array, read without using chunks. */
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "", 0, &tensor, NULL));
    EXPECT(TENSLICE_OK, tensor_needs(&tensor, TENSLICE_PURPOSE_READ, &dense, &scratch_length));
    CHECK(dense == sizeof all && scratch_length <= sizeof scratch && same(tenslice_tensor_stated_type(&tensor), "<f4"));
    EXPECT(TENSLICE_OK,
           tenslice_tensor_read_into(&tensor, all, sizeof all, OPTIONS(NULL, scratch, sizeof scratch), &length, NULL));
    CHECK(length == dense && float_at(all) == 1.0f && float_at(all + 4) == 2.5f && float_at(all + 8) == 4.125f);
    EXPECT(TENSLICE_OK, tenslice_tensor_component(&tensor, "chunks", 6, &component, NULL));
    EXPECT(TENSLICE_ENCODED, tenslice_component_read_into(&component, all, sizeof all, NULL, NULL, NULL));

    /* A region across chunks, with exactly the memory that it needs. */
    start[0] = 7, start[1] = 4, stop[0] = 9, stop[1] = 7;
    EXPECT(TENSLICE_OK, region_needs(&file, start, stop, 2, &length, &scratch_length, NULL));
    CHECK(length == sizeof part && scratch_length > 0 && scratch_length <= sizeof scratch);
    /* Decoding cost: at most the bytes of the two chunks. */
    EXPECT(TENSLICE_OK, tenslice_b2nd_region_work(&file, start, stop, 2, &needed, NULL));
    CHECK(needed > 0 && needed <= 2 * info.chunk_size);
    EXPECT(TENSLICE_TOO_SMALL,
           tenslice_b2nd_read_region(&file, start, stop, 2, part, 1, OPTIONS(NULL, scratch, sizeof scratch), &needed,
                                     NULL));
    CHECK(needed == length);
    EXPECT(TENSLICE_OUT_OF_SCRATCH,
           tenslice_b2nd_read_region(&file, start, stop, 2, part, sizeof part, NULL, &needed, NULL));
    CHECK(needed == scratch_length);
    EXPECT(TENSLICE_OK,
           tenslice_b2nd_read_region(&file, start, stop, 2, part, sizeof part, OPTIONS(NULL, scratch,
                                     (size_t)needed), &needed, NULL));
    CHECK(needed == length);
    for (row = 0; row < 2; row++)
        for (column = 0; column < 3; column++)
            CHECK(memcmp(part + (row * 3 + column) * 4, all + ((row + 7) * 10 + column + 4) * 4, 4) == 0);
    EXPECT(TENSLICE_WRONG_RANK, region_needs(&file, start, stop, 1, &length, NULL, NULL));
    stop[1] = 11;
    EXPECT(TENSLICE_NO_SUCH_ELEMENT, region_needs(&file, start, stop, 2, &length, NULL, NULL));

    chunk.struct_size = sizeof chunk;
    EXPECT(TENSLICE_OK, tenslice_b2nd_get_chunk(&file, 1, NULL, &chunk, NULL));
    CHECK(chunk.decoded_length == info.chunk_size && chunk.length < b.size && chunk.offset > 100);
    CHECK(chunk.block_count == 2 && chunk.content == 0 && chunk.codec == 1);
    EXPECT(TENSLICE_OK, tenslice_b2nd_chunk_extent(&file, 1, NULL, &length, &needed, NULL));
    CHECK(length == chunk.offset && needed == chunk.length);
    CHECK(info.table_offset > chunk.offset && info.table_length > 0 && info.table_offset + info.table_length < b.size);
    EXPECT(TENSLICE_NOT_FOUND, tenslice_b2nd_get_chunk(&file, 2, NULL, &chunk, NULL));
    EXPECT(TENSLICE_OK,
           tenslice_b2nd_read_chunk(&file, 1, whole_chunk, sizeof whole_chunk, OPTIONS(NULL, scratch,
                                    sizeof scratch), &length, NULL));
    CHECK(length == info.chunk_size && memcmp(whole_chunk, all + 6 * 4, 4 * 4) == 0);
    free(b.data);
}

/* Arrays whose values are elsewhere or not computed yet cannot be read. A proxy can be read if it has fetched the
   values. */
static void no_values(const char *folder)
{
    static const struct { const char *name, *layout, *says; } absent[] = {
        {"b2nd/no_values/lazyexpr.b2nd", "b2nd.lazy", "it is a lazy expression"},
        {"b2nd/no_values/lazyarray.b2nd", "b2nd.lazy", "it is a lazy expression"},
        {"b2nd/no_values/object.b2nd", "b2nd.lazy", "its metalayer b2o"},
        {"b2nd/no_values/c2array.b2nd", "b2nd.lazy", "it refers to an array on a server"},
        {"b2nd/no_values/proxy_part.b2nd", "b2nd.proxy", "this chunk was not fetched"},
    };
    const uint64_t start[2] = {2, 0}, stop[2] = {4, 4};
    unsigned char all[96], scratch[4096];
    char why[400];
    float numbers[24];
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_tensor_info info;
    tenslice_b2nd_chunk chunk;
    tenslice_verified verified;
    tenslice_error error;
    uint64_t count;
    size_t i;
    blob b;

    info.struct_size = sizeof info;
    chunk.struct_size = sizeof chunk;
    verified.struct_size = sizeof verified;
    for (i = 0; i < sizeof absent / sizeof *absent; i++) {
        b = load(folder, absent[i].name);
        EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
        EXPECT(TENSLICE_OK, tenslice_file_find(&file, "", 0, &tensor, NULL));
        EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &info));
        CHECK(info.layout == TENSLICE_LAYOUT_OTHER && same(info.layout_name, absent[i].layout) && info.rank == 2);
        EXPECT(TENSLICE_NO_VALUES,
               tenslice_tensor_read_into(&tensor, all, sizeof all, OPTIONS(NULL, scratch, sizeof scratch), NULL,
                                         &error));
        EXPECT(TENSLICE_OK, tenslice_error_text(&error, b.data, b.size, why, sizeof why, NULL));
        CHECK(strstr(why, "the values are not in this file: ") != NULL && strstr(why, absent[i].says) != NULL);
        EXPECT(TENSLICE_NO_VALUES,
               tenslice_tensor_read_f32_into(&tensor, numbers, 24, OPTIONS(NULL, scratch, sizeof scratch), NULL, NULL));
        EXPECT(TENSLICE_NO_VALUES,
               tenslice_b2nd_get_chunk(&file, 0, OPTIONS(NULL, scratch, sizeof scratch), &chunk, NULL));
        EXPECT(TENSLICE_NO_VALUES,
               tenslice_b2nd_read_chunk(&file, 0, all, sizeof all, OPTIONS(NULL, scratch, sizeof scratch), NULL, NULL));
        EXPECT(TENSLICE_NO_VALUES, tenslice_file_verify(&file, NULL, &verified, NULL));
        /* The last one has fetched these two rows. */
        EXPECT(i == 4 ? TENSLICE_OK : TENSLICE_NO_VALUES,
               tenslice_b2nd_read_region(&file, start, stop, 2, all, sizeof all, OPTIONS(NULL, scratch, sizeof scratch), NULL, NULL));
        free(b.data);
    }
    CHECK(all[0] == 0x41 && all[1] == 0x10); /* 9, big-endian */

    b = load(folder, "b2nd/no_values/uninit.b2nd");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_b2nd_uninitialised_chunks(&file, NULL, &count, NULL));
    CHECK(count == 2);
    EXPECT(TENSLICE_OK, tenslice_file_verify(&file, NULL, &verified, NULL));
    CHECK(verified.warnings == TENSLICE_WARNING_UNINITIALISED);
    free(b.data);
}

static int streams;

static tenslice_status refuse(void *user, uint32_t encoding, const void *dictionary, size_t dictionary_length,
                              const void *stored, size_t stored_length, void *room, size_t capacity, size_t *length)
{
    CHECK(user == &streams && encoding == TENSLICE_ENCODING_ZSTD && dictionary != NULL && dictionary_length > 0);
    CHECK(stored != NULL && stored_length > 0 && room != NULL && capacity > 0 && length != NULL);
    streams++;
    return TENSLICE_UNSUPPORTED_ENCODING;
}

static tenslice_status never(void *user, uint32_t encoding, const void *stored, size_t stored_length, void *room,
                             size_t capacity, size_t *length)
{
    (void)user, (void)encoding, (void)stored, (void)stored_length, (void)room, (void)capacity, (void)length;
    CHECK(0);
    return 0;
}

/* Streams with dictionaries go to a separate function, and metalayers of the trailer are decoded. */
static void dictionaries(const char *folder)
{
    blob b = load(folder, "b2nd/good/dict_zstd_shuffle_0.b2nd"), c = load(folder, "b2nd/good/vlmeta_mem_0.b2nd");
    tenslice_decoder decoder = {never, NULL, NULL};
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_b2nd_metalayer metalayer;
    const uint64_t start[] = {33, 15}, stop[] = {37, 86};
    uint64_t dense, scratch_length, length;
    void *room, *scratch;

    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "", 0, &tensor, NULL));
    EXPECT(TENSLICE_OK, tensor_needs(&tensor, TENSLICE_PURPOSE_READ, &dense, &scratch_length));
    room = malloc((size_t)dense);
    scratch = malloc((size_t)scratch_length);
    CHECK(room != NULL && scratch != NULL);
    EXPECT(TENSLICE_UNSUPPORTED_CODEC,
           tenslice_tensor_read_into(&tensor, room, (size_t)dense, OPTIONS(&decoder, scratch,
                                     (size_t)scratch_length), NULL, NULL));
    decoder.user = &streams;
    decoder.decode_with_dictionary = refuse;
    EXPECT(TENSLICE_UNSUPPORTED_CODEC,
           tenslice_tensor_read_into(&tensor, room, (size_t)dense, OPTIONS(&decoder, scratch,
                                     (size_t)scratch_length), NULL, NULL));
    CHECK(streams == 1);
    /* The memory is sufficient, but there is no region: the length is left unchanged. */
    length = 77;
    EXPECT(TENSLICE_UNSUPPORTED_CODEC,
           tenslice_b2nd_read_region(&file, start, stop, 2, room, (size_t)dense, OPTIONS(&decoder, scratch,
                                     (size_t)scratch_length), &length, NULL));
    CHECK(streams == 2 && length == 77);
    free(room);
    free(scratch);

    EXPECT(TENSLICE_OK, tenslice_file_open(&file, c.data, c.size, NULL));
    metalayer.struct_size = sizeof metalayer;
    EXPECT(TENSLICE_OK, tenslice_b2nd_get_metalayer(&file, 1, 3, &metalayer));
    CHECK(same(metalayer.name, "tiny") && metalayer.content.length == 33 && metalayer.decoded_length == 1);
    room = malloc(1);
    CHECK(room != NULL && metalayer.scratch == 0);
    EXPECT(TENSLICE_TOO_SMALL, tenslice_b2nd_read_metalayer(&file, 3, NULL, 0, NULL, &length, NULL));
    CHECK(length == 1);
    EXPECT(TENSLICE_OK, tenslice_b2nd_read_metalayer(&file, 3, room, 1, NULL, &length, NULL));
    free(room);
    free(b.data);
    free(c.data);
}

/* A decoder that decodes any stream to the same array, or to its first bytes. */
typedef struct {
    const char *array;
    size_t calls, most; /* the number of calls, and the largest number of requested bytes */
    int answers;        /* 0: the first bytes, 1: no length, 2: an error, 3: too many bytes */
} starter;

static tenslice_status decode_start(void *user, uint32_t encoding, const void *stored, size_t stored_length, void *room,
                                    size_t capacity, size_t *length)
{
    starter *s = (starter *)user;

    CHECK(encoding == TENSLICE_ENCODING_DEFLATE && stored != NULL && stored_length > 0 && capacity > 0);
    s->calls++;
    if (capacity > s->most)
        s->most = capacity;
    if (s->answers == 2)
        return TENSLICE_UNSUPPORTED_ENCODING;
    memcpy(room, s->array, capacity);
    if (s->answers != 1)
        *length = capacity + (s->answers == 3);
    return TENSLICE_TOO_SMALL;
}

/* Describes the compressed entry of an archive, and its stored entry "s". */
static void described_entries(const tenslice_file *file, const tenslice_tensor *compressed)
{
    tenslice_tensor stored;
    tenslice_described as_stored, as_decoded, untouched;
    tenslice_decoder decoder;
    tenslice_verified verified;
    tenslice_bytes items;
    tenslice_error error;
    starter start = {NULL, 0, 0, 0};
    uint64_t shape[2] = {7, 7}, other[2] = {7, 7}, length = 7;
    char scratch[1 << 10], array[128];
    tenslice_status status;

    memset(&as_stored, 0, sizeof as_stored);
    as_stored.struct_size = sizeof as_stored;
    untouched = as_decoded = as_stored;
    EXPECT(TENSLICE_OK, tenslice_file_find(file, "s", 1, &stored, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_describe(&stored, shape, 2, NULL, &as_stored, NULL));
    CHECK(as_stored.rank == 2 && as_stored.dtype == tenslice_tensor_dtype(&stored) && as_stored.dtype != 0);
    CHECK(same(as_stored.stated_type, "'<f4'") && as_stored.is_latin_1 == 1 && as_stored.warnings == 0);
    CHECK(as_stored.elements == shape[0] * shape[1] && shape[0] == tenslice_tensor_dimension(&stored, 0));
    EXPECT(TENSLICE_TOO_SMALL, tenslice_tensor_describe(&stored, other, 1, NULL, &as_decoded, NULL));
    CHECK(other[0] == 7 && memcmp(&as_decoded, &untouched, sizeof untouched) == 0);
    EXPECT(TENSLICE_OK, tensor_needs(&stored, TENSLICE_PURPOSE_DESCRIBE, NULL, &length));
    CHECK(length == 0);

    /* The built-in decoder, if there is one. */
    EXPECT(TENSLICE_OK, tensor_needs(compressed, TENSLICE_PURPOSE_DESCRIBE, NULL, &length));
    status = tenslice_tensor_describe(compressed, other, 2, OPTIONS(NULL, scratch, sizeof scratch), &as_decoded, &error);
    CHECK(status == TENSLICE_OK || (status == TENSLICE_NOT_BUILT_IN && error.kind == TENSLICE_NOT_BUILT_IN));
    CHECK(status == TENSLICE_OK ? length == 128 : length == UINT64_MAX);
    CHECK(status != TENSLICE_OK || (as_decoded.rank == 1 && as_decoded.dtype != 0 && other[0] == as_decoded.elements));

    /* A decoder of the caller. The header of the stored array has 128 bytes and precedes the items. */
    EXPECT(TENSLICE_OK, tenslice_tensor_bytes(&stored, TENSLICE_ANY, &items, NULL));
    memcpy(array, (const char *)items.data - 128, sizeof array);
    CHECK(memcmp(array, "\x93NUMPY", 6) == 0 && memcmp(array + 60, "(4, 6)", 6) == 0);
    array[61] = array[64] = '2'; /* four items of the entry's six: the others follow the array */
    start.array = array;
    memset(&decoder, 0, sizeof decoder);
    decoder.decode = decode_start;
    decoder.user = &start;
    as_decoded = untouched;
    other[0] = other[1] = 7;
    EXPECT(TENSLICE_OUT_OF_SCRATCH,
           tenslice_tensor_describe(compressed, other, 2, OPTIONS(&decoder, scratch, 127), &as_decoded, &error));
    CHECK(error.kind == TENSLICE_OUT_OF_SCRATCH && other[0] == 7);
    EXPECT(TENSLICE_OUT_OF_SCRATCH,
           tenslice_tensor_describe(compressed, NULL, 0, OPTIONS(&decoder, NULL, 0), &as_decoded, NULL));
    CHECK(memcmp(&as_decoded, &untouched, sizeof untouched) == 0);
    EXPECT(TENSLICE_OK,
           tenslice_tensor_describe(compressed, other, 2, OPTIONS(&decoder, scratch, 128), &as_decoded, NULL));
    CHECK(as_decoded.dtype == as_stored.dtype && as_decoded.rank == 2 && as_decoded.order == as_stored.order);
    CHECK(as_decoded.byte_order == as_stored.byte_order && other[0] == 2 && other[1] == 2);
    CHECK(as_decoded.warnings == TENSLICE_WARNING_TRAILING_BYTES);
    CHECK(as_decoded.elements == 4 && same(as_decoded.stated_type, "'<f4'") && start.most == 128);
    CHECK(as_decoded.stated_type.data > scratch && as_decoded.stated_type.data < scratch + 128);
    EXPECT(TENSLICE_OK,
           tenslice_tensor_describe(compressed, NULL, 0, OPTIONS(&decoder, scratch, 128), &as_decoded, NULL));
    as_decoded = untouched;
    for (start.answers = 1; start.answers <= 3; start.answers++) {
        EXPECT(TENSLICE_NOT_BUILT_IN,
               tenslice_tensor_describe(compressed, other, 2, OPTIONS(&decoder, scratch, sizeof scratch),
                                        &as_decoded, NULL));
    }
    CHECK(memcmp(&as_decoded, &untouched, sizeof untouched) == 0);

    /* Verifying warns of bytes after an array. */
    start.answers = 0;
    verified.struct_size = sizeof verified;
    EXPECT(TENSLICE_OK, tenslice_file_verify(file, OPTIONS(&decoder, NULL, 0), &verified, NULL));
    CHECK(verified.warnings == TENSLICE_WARNING_TRAILING_BYTES);
}

/* The names that stand for code, and a name of several keys, which is passed back to the library. */
static void checkpoint(const char *folder)
{
    blob b = load(folder, "pytorch/old_p27_checkpoint.pt");
    tenslice_file file;
    tenslice_cursor cursor;
    tenslice_pytorch_global global;
    tenslice_tensor tensor, again;
    char name[256];
    size_t needed;
    unsigned known = 0, joined = 0;

    global.struct_size = sizeof global;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_pytorch_globals(&file, &cursor));
    while (tenslice_pytorch_globals_next(&cursor, &global, NULL) == TENSLICE_OK) {
        CHECK(global.module.length > 0 && global.name.length > 0 && global.offset < b.size);
        known += global.is_known;
    }
    CHECK(known > 0);
    EXPECT(TENSLICE_OK, tenslice_file_tensors(&file, &cursor));
    while (tenslice_tensors_next(&cursor, &tensor, NULL) == TENSLICE_OK) {
        tenslice_str text = tenslice_tensor_name(&tensor);
        EXPECT(TENSLICE_OK, tenslice_str_copy(&text, name, sizeof name, &needed));
        CHECK(tenslice_str_equals(&text, name, needed - 1));
        CHECK(!tenslice_str_equals(&text, name, needed - 2));
        EXPECT(TENSLICE_OK, tenslice_file_find(&file, name, needed - 1, &again, NULL));
        joined += text.is_escaped;
    }
    CHECK(joined > 0);
    free(b.data);
}

/* An ONNX model: who wrote it, its operators, numbers that are decoded, and data in another file. */
static void onnx(const char *folder)
{
    blob b = load(folder, "onnx/py_metadata.onnx"), c = load(folder, "onnx/py_typed_all_types.onnx");
    blob d = load(folder, "onnx/py_external.onnx");
    tenslice_file file;
    tenslice_cursor cursor;
    tenslice_onnx_info info;
    tenslice_onnx_opset opset;
    tenslice_tensor tensor;
    tenslice_component data;
    tenslice_file_info of_file;
    tenslice_tensor_info about;
    tenslice_str shard;
    uint64_t length, decoded = 0;
    unsigned char elements[256];

    info.struct_size = sizeof info;
    opset.struct_size = sizeof opset;
    of_file.struct_size = sizeof of_file;
    about.struct_size = sizeof about;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_get_info(&file, &of_file));
    CHECK(of_file.format == TENSLICE_FORMAT_ONNX && same(of_file.version, "10"));
    EXPECT(TENSLICE_OK, tenslice_onnx_get_info(&file, &info));
    CHECK(info.ir_version == 10 && info.producer_name.length > 0);
    EXPECT(TENSLICE_OK, tenslice_onnx_opsets(&file, &cursor));
    EXPECT(TENSLICE_OK, tenslice_onnx_opsets_next(&cursor, &opset, NULL));
    CHECK(opset.domain.length == 0 && opset.version > 0);
    EXPECT(TENSLICE_END, tenslice_onnx_opsets_next(&cursor, &opset, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, c.data, c.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_tensors(&file, &cursor));
    while (tenslice_tensors_next(&cursor, &tensor, NULL) == TENSLICE_OK) {
        EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &about));
        EXPECT(TENSLICE_OK, tenslice_tensor_read_into(&tensor, elements, sizeof elements, NULL, &length, NULL));
        CHECK(length > 0);
        decoded += same(about.layout_name, "onnx.varint");
    }
    CHECK(decoded > 15);
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, d.data, d.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "w1", 2, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_data(&tensor, &data, NULL));
    EXPECT(TENSLICE_OK, tenslice_component_shard(&data, &shard));
    CHECK(same(shard, "model.data"));
    free(b.data);
    free(c.data);
    free(d.data);
}

/* A transposed view: its strides, its bytes in place, and its elements row after row. */
static void views(const char *folder)
{
    blob b = load(folder, "pytorch/views.pt");
    tenslice_file file;
    tenslice_tensor whole, turned;
    tenslice_tensor_info info;
    uint64_t strides[3], length, i, j, k;
    float stored[24], elements[24];

    info.struct_size = sizeof info;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "whole", 5, &whole, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "t", 1, &turned, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&turned, &info));
    CHECK(info.layout == TENSLICE_LAYOUT_STRIDED && same(info.layout_name, "strided") && info.rank == 3);
    EXPECT(TENSLICE_OK, tenslice_tensor_strides(&turned, strides, 3));
    CHECK(strides[0] == 1 && strides[1] == 4 && strides[2] == 12);
    EXPECT(TENSLICE_OK, tenslice_tensor_read_into(&whole, stored, sizeof stored, NULL, &length, NULL));
    CHECK(length == sizeof stored);
    EXPECT(TENSLICE_OK, tenslice_tensor_read_into(&turned, elements, sizeof elements, NULL, &length, NULL));
    CHECK(length == sizeof elements);
    for (i = 0; i < 4; i++)
        for (j = 0; j < 3; j++)
            for (k = 0; k < 2; k++)
                CHECK(elements[(i * 3 + j) * 2 + k] == stored[i * strides[0] + j * strides[1] + k * strides[2]]);
    free(b.data);
}

/* Segments, a blob, and a tensor whose channels are the innermost dimension in the file. */
static void weights(const char *folder)
{
    blob b = load(folder, "ptd/py_dim_orders.ptd"), c = load(folder, "ptd/py_blobs.ptd");
    tenslice_file file;
    tenslice_cursor cursor;
    tenslice_tensor tensor;
    tenslice_tensor_info info;
    tenslice_ptd_segment segment;
    uint64_t count = 0, blobs = 0, strides[4], length, i, at[4];
    float stored[24], elements[24];
    tenslice_component data;
    tenslice_bytes bytes;

    info.struct_size = sizeof info;
    segment.struct_size = sizeof segment;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_ptd_segments(&file, &cursor));
    while (tenslice_ptd_segments_next(&cursor, &segment, NULL) == TENSLICE_OK) {
        CHECK(segment.reserved == 0 && segment.offset + segment.length <= b.size);
        count++;
    }
    CHECK(count == 7);
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "channels_last", 13, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &info));
    CHECK(info.layout == TENSLICE_LAYOUT_STRIDED && info.rank == 4);
    EXPECT(TENSLICE_OK, tenslice_tensor_strides(&tensor, strides, 4));
    EXPECT(TENSLICE_OK, tenslice_tensor_component(&tensor, "data", 4, &data, NULL));
    EXPECT(TENSLICE_OK, tenslice_component_read_into(&data, stored, sizeof stored, NULL, &length, NULL));
    CHECK(length == sizeof stored);
    EXPECT(TENSLICE_OK, tenslice_tensor_read_into(&tensor, elements, sizeof elements, NULL, &length, NULL));
    CHECK(length == sizeof elements);
    for (i = 0; i < 24; i++) { /* shape 2, 3, 2, 2 */
        at[0] = i / 12, at[1] = i / 4 % 3, at[2] = i / 2 % 2, at[3] = i % 2;
        CHECK(memcmp(&elements[i],
                     &stored[at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2] + at[3] * strides[3]],
                     sizeof(float)) == 0);
    }
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, c.data, c.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_tensors(&file, &cursor));
    while (tenslice_tensors_next(&cursor, &tensor, NULL) == TENSLICE_OK) {
        EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &info));
        if (!same(info.layout_name, "ptd.blob")) continue;
        blobs++;
        CHECK(info.layout == TENSLICE_LAYOUT_OTHER && info.dtype == 0 && info.rank == 1);
        EXPECT(TENSLICE_NOT_DENSE, tenslice_tensor_bytes(&tensor, 0, &bytes, NULL));
        EXPECT(TENSLICE_OK, tenslice_tensor_component(&tensor, "data", 4, &data, NULL));
        EXPECT(TENSLICE_OK, tenslice_component_stored(&data, &bytes, NULL));
        CHECK(bytes.length == tenslice_tensor_dimension(&tensor, 0));
    }
    CHECK(blobs > 0);
    free(b.data);
    free(c.data);
}

/* The constants of a TFLite model: quantized numbers, texts, a sparse tensor, bytes in other files. */
static void constants(const char *folder)
{
    static const char *const words[] = {"tflite/py_quantized.tflite", "tflite/py_strings.tflite",
                                        "tflite/py_sparse.tflite", "tflite/py_external_buffers.tflite"};
    blob b[4];
    tenslice_file file[4];
    tenslice_cursor cursor;
    tenslice_tensor tensor;
    tenslice_component component;
    tenslice_component_info info;
    tenslice_bytes bytes;
    tenslice_str text;
    tenslice_tflite_subgraph subgraph;
    float numbers[12];
    int8_t stored[12];
    uint64_t length;
    size_t i, count = 0;

    info.struct_size = sizeof info;
    subgraph.struct_size = sizeof subgraph;
    for (i = 0; i < 4; i++) {
        b[i] = load(folder, words[i]);
        EXPECT(TENSLICE_OK, tenslice_file_open(&file[i], b[i].data, b[i].size, NULL));
    }
    EXPECT(TENSLICE_OK, tenslice_file_find(&file[0], "per_tensor", 10, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_read_into(&tensor, stored, sizeof stored, NULL, &length, NULL));
    CHECK(length == 12);
    EXPECT(TENSLICE_OK, tenslice_tensor_read_f32(&tensor, 0, numbers, 12, NULL));
    for (i = 0; i < 12; i++) {
        const float expected = ((float)stored[i] + 3.0f) * 0.5f; /* scale 0.5, zero point -3 */
        CHECK(memcmp(&numbers[i], &expected, sizeof expected) == 0);
    }
    EXPECT(TENSLICE_OK, tenslice_file_find(&file[1], "words", 5, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tflite_texts(&tensor, &cursor, NULL));
    while (tenslice_tflite_texts_next(&cursor, &text) == TENSLICE_OK)
        count++;
    CHECK(count == 3);
    EXPECT(TENSLICE_OK, tenslice_file_find(&file[2], "csr", 3, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_component(&tensor, "indices.1", 9, &component, NULL));
    EXPECT(TENSLICE_OK, tenslice_component_stored(&component, &bytes, NULL));
    CHECK(bytes.length == 16 && tenslice_tensor_layout(&tensor) == TENSLICE_LAYOUT_OTHER);
    EXPECT(TENSLICE_OK, tenslice_file_find(&file[3], "e9", 2, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_component(&tensor, "data", 4, &component, NULL));
    EXPECT(TENSLICE_OK, tenslice_component_get_info(&component, &info));
    CHECK(info.offset == 4096 && info.length == 12);
    EXPECT(TENSLICE_OK, tenslice_component_shard(&component, &text));
    CHECK(text.length > 0);
    EXPECT(TENSLICE_IN_SHARD, tenslice_component_stored(&component, &bytes, NULL));
    EXPECT(TENSLICE_OK, tenslice_component_with_bytes(&component, stored, sizeof stored, &component, NULL));
    EXPECT(TENSLICE_OK, tenslice_component_stored(&component, &bytes, NULL));
    CHECK(bytes.data == (const void *)stored);
    EXPECT(TENSLICE_OK, tenslice_tflite_subgraphs(&file[0], &cursor));
    for (count = 0; tenslice_tflite_subgraphs_next(&cursor, &subgraph, NULL) == TENSLICE_OK; count++)
        CHECK(subgraph.tensor_count > 0);
    CHECK(count == 1);
    for (i = 0; i < 4; i++)
        free(b[i].data);
}

/* The pieces of a name are counted, compared and found, also if the module that the tensor is in has some of them. */
static void pieces(const char *folder)
{
    static const char *const names[] = {"scale", "embed.weight", "head.weight"};
    blob b = load(folder, "pytorch/module_tied.pt");
    tenslice_file file;
    tenslice_cursor cursor;
    tenslice_tensor tensor, found;
    tenslice_str text, again;
    char copy[16];
    size_t needed, count = 0;

    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_tensors(&file, &cursor));
    while (tenslice_tensors_next(&cursor, &tensor, NULL) == TENSLICE_OK) {
        CHECK(count < 3);
        text = tenslice_tensor_name(&tensor);
        CHECK(tenslice_str_equals(&text, names[count], strlen(names[count])));
        CHECK(!tenslice_str_equals(&text, names[count], strlen(names[count]) - 1));
        EXPECT(TENSLICE_TOO_SMALL, tenslice_str_copy(&text, copy, strlen(names[count]), &needed));
        CHECK(needed == strlen(names[count]) + 1);
        EXPECT(TENSLICE_OK, tenslice_str_copy(&text, copy, needed, NULL));
        CHECK(strcmp(copy, names[count]) == 0);
        EXPECT(TENSLICE_OK, tenslice_file_find(&file, copy, needed - 1, &found, NULL));
        again = tenslice_tensor_name(&found);
        CHECK(tenslice_str_equals(&again, names[count], strlen(names[count])));
        count++;
    }
    CHECK(count == 3);
    EXPECT(TENSLICE_NOT_FOUND, tenslice_file_find(&file, "embed_weight", 12, &found, NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_file_find(&file, "embed.weight.", 13, &found, NULL));
    free(b.data);
}

/* An array in its own file, and arrays in an archive, one of them compressed. Decoding that one gives a file again. */
static void arrays(const char *folder)
{
    blob b = load(folder, "npy/struct_nested_4.npy");
    tenslice_file file, inner;
    tenslice_tensor tensor;
    tenslice_tensor_info info;
    tenslice_component data;
    tenslice_component_info about;
    tenslice_cursor cursor;
    tenslice_npz_entry entry;
    tenslice_bytes bytes;
    tenslice_str descr;
    tenslice_status status;
    uint64_t length;
    unsigned count = 0;
    void *room;

    info.struct_size = sizeof info;
    about.struct_size = sizeof about;
    entry.struct_size = sizeof entry;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_npy_descr(&file, &descr));
    CHECK(descr.length > 2 && descr.data[0] == '[' && descr.data[descr.length - 1] == ']');
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "", 0, &tensor, NULL));
    CHECK(tenslice_tensor_stated_type(&tensor).data == descr.data);
    CHECK(tenslice_tensor_stated_type(&tensor).length == descr.length);
    EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &info));
    CHECK(info.dtype == 0 && info.layout == TENSLICE_LAYOUT_DENSE);
    EXPECT(TENSLICE_OK, tenslice_tensor_bytes(&tensor, TENSLICE_ANY, &bytes, NULL));
    CHECK((const char *)bytes.data + bytes.length == (const char *)b.data + b.size);
    free(b.data);

    b = load(folder, "npz/mixed_methods.npz");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_npz_entries(&file, &cursor));
    while ((status = tenslice_npz_entries_next(&cursor, &entry, NULL)) == TENSLICE_OK) {
        CHECK(entry.name.length > 4 && memcmp(entry.name.data + entry.name.length - 4, ".npy", 4) == 0);
        CHECK(entry.offset + entry.length < b.size);
        CHECK(entry.encoding == TENSLICE_ENCODING_RAW || entry.encoding == TENSLICE_ENCODING_DEFLATE);
        count++;
    }
    CHECK(status == TENSLICE_END && count == 2);
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "s", 1, &tensor, NULL));
    CHECK(same(tenslice_tensor_stated_type(&tensor), "'<f4'"));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "d", 1, &tensor, NULL));
    CHECK(tenslice_tensor_stated_type(&tensor).data == NULL); /* compressed */
    EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &info));
    CHECK(info.layout == TENSLICE_LAYOUT_OTHER && same(info.layout_name, "npy"));
    EXPECT(TENSLICE_NOT_DENSE, tenslice_tensor_data(&tensor, &data, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_component(&tensor, "data", 4, &data, NULL));
    EXPECT(TENSLICE_OK, tenslice_component_get_info(&data, &about));
    CHECK(about.encoding == TENSLICE_ENCODING_DEFLATE);
    described_entries(&file, &tensor);
    room = malloc((size_t)about.decoded_length);
    status = tenslice_component_read_into(&data, room, (size_t)about.decoded_length, NULL, &length, NULL);
    if (status != TENSLICE_UNSUPPORTED_ENCODING) { /* a library without zlib lists the array, and needs a decoder for
                                                      it */
        CHECK(status == TENSLICE_OK && length == about.decoded_length);
        EXPECT(TENSLICE_OK, tenslice_file_open(&inner, room, (size_t)length, NULL));
        EXPECT(TENSLICE_OK, tenslice_file_find(&inner, "", 0, &tensor, NULL));
        EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &info));
        CHECK(info.layout == TENSLICE_LAYOUT_DENSE && info.dtype != 0 && info.rank == 1);
    }
    free(room);
    free(b.data);
}

/* Copies the decoded string to the heap, into exactly the memory that it needs. */
static char *meaning(const tenslice_str *text, size_t *length)
{
    size_t needed;
    char *copy;

    EXPECT(TENSLICE_TOO_SMALL, tenslice_str_copy(text, NULL, 0, &needed));
    copy = (char *)malloc(needed);
    CHECK(copy != NULL && needed > 0);
    memset(copy, '#', needed);
    EXPECT(TENSLICE_TOO_SMALL, tenslice_str_copy(text, copy, needed - 1, NULL));
    CHECK(needed == 1 || copy[0] == '#');
    EXPECT(TENSLICE_OK, tenslice_str_copy(text, copy, needed, NULL));
    CHECK(copy[needed - 1] == 0);
    *length = needed - 1;
    return copy;
}

/* Returns 1 if the string means that text, which may contain NULs, and all calls agree. */
static int means(tenslice_str text, const char *other, size_t other_length)
{
    size_t length;
    char *copy = meaning(&text, &length);
    int is_same = length == other_length && memcmp(copy, other, length) == 0;

    CHECK(tenslice_str_equals(&text, copy, length) && !tenslice_str_equals(&text, copy, length + 1));
    CHECK(tenslice_str_equals(&text, other, other_length) == (uint32_t)is_same);
    free(copy);
    return is_same;
}

/* A safetensors file with that header, and data of that length. */
static blob with_header(const char *header, size_t data_length)
{
    blob b;
    size_t length = strlen(header), i;

    b.size = 8 + length + data_length;
    b.data = (unsigned char *)malloc(b.size);
    CHECK(b.data != NULL);
    for (i = 0; i < 8; i++)
        b.data[i] = (unsigned char)((uint64_t)length >> 8 * i);
    memcpy(b.data + 8, header, length);
    memset(b.data + 8 + length, 1, data_length);
    return b;
}

static void safetensors(const char *folder)
{
    blob b = load(folder, "safetensors/py_tiny_mlp.safetensors");
    tenslice_file file;
    tenslice_file_info about;
    tenslice_cursor cursor;
    tenslice_tensor tensor;
    tenslice_tensor_info info;
    tenslice_component component;
    tenslice_component_info place;
    tenslice_value key, value;
    tenslice_bytes bytes;
    tenslice_status status;
    uint64_t shape[2], length, scratch;
    unsigned count = 0;
    float bias[4];

    about.struct_size = sizeof about;
    info.struct_size = sizeof info;
    place.struct_size = sizeof place;
    key.struct_size = value.struct_size = sizeof value;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_get_info(&file, &about));
    CHECK(about.format == TENSLICE_FORMAT_SAFETENSORS && about.tensor_count == 4 && about.version.data == NULL);
    EXPECT(TENSLICE_OK, tenslice_file_tensors(&file, &cursor));
    for (length = 336; (status = tenslice_tensors_next(&cursor, &tensor, NULL)) == TENSLICE_OK; count++) {
        EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &info));
        CHECK(info.index == count && info.dtype == TENSLICE_F32 && !info.name.is_escaped);
        EXPECT(TENSLICE_OK, tenslice_tensor_data(&tensor, &component, NULL));
        EXPECT(TENSLICE_OK, tenslice_component_get_info(&component, &place));
        CHECK(same(place.role, "data") && place.offset == length && place.length == 4 * info.elements);
        length += place.length;
    }
    CHECK(status == TENSLICE_END && count == 4 && length == b.size);
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "fc1.weight", 10, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_shape(&tensor, shape, 2, NULL));
    CHECK(shape[0] == 16 && shape[1] == 8);
    EXPECT(TENSLICE_OK, tenslice_tensor_bytes(&tensor, TENSLICE_ANY, &bytes, NULL));
    CHECK((const unsigned char *)bytes.data == b.data + 400 && bytes.length == 512);
    EXPECT(little_endian(), tenslice_tensor_bytes(&tensor, TENSLICE_F32, &bytes, NULL)); /* the heap is aligned */
    EXPECT(TENSLICE_WRONG_TYPE, tenslice_tensor_bytes(&tensor, TENSLICE_I32, &bytes, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_attributes(&file, &cursor));
    for (count = 0; (status = tenslice_attributes_next(&cursor, &key, &value, NULL)) == TENSLICE_OK; count++) {
        CHECK(key.kind == TENSLICE_VALUE_TEXT && value.kind == TENSLICE_VALUE_TEXT);
        CHECK(!same(key.text, "format") || same(value.text, "pt"));
    }
    CHECK(status == TENSLICE_END && count == 3);
    free(b.data);

    /* Other writers do not align the data: numbers are read into aligned memory. */
    b = load(folder, "safetensors/rs_unaligned_mix.safetensors");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_tensors(&file, &cursor));
    while (tenslice_tensors_next(&cursor, &tensor, NULL) == TENSLICE_OK) {
        EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &info));
        EXPECT(TENSLICE_OK, tenslice_tensor_bytes(&tensor, TENSLICE_ANY, &bytes, NULL));
        CHECK(bytes.length == info.elements * tenslice_dtype_size(info.dtype));
    }
    free(b.data);
    b = with_header("{\"x\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}  ", 16);
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "x", 1, &tensor, NULL));
    CHECK((b.size - 16) % 4 != 0);
    status = tenslice_tensor_bytes(&tensor, TENSLICE_F32, &bytes, NULL);
    CHECK(status == (little_endian() == TENSLICE_OK ? TENSLICE_MISALIGNED : TENSLICE_FOREIGN_ENDIAN));
    EXPECT(TENSLICE_OK, tenslice_tensor_read_into(&tensor, bias, sizeof bias, NULL, NULL, NULL));
    CHECK(memcmp(bias, b.data + b.size - 16, 16) == 0);
    free(b.data);

    /* Two elements per byte: the shape counts elements, the length counts bytes. */
    b = load(folder, "safetensors/rs_dtype_F4.safetensors");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "t", 1, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &info));
    CHECK(info.dtype == TENSLICE_F4_E2M1 && info.elements == 32);
    EXPECT(TENSLICE_OK, tensor_needs(&tensor, TENSLICE_PURPOSE_READ, &length, &scratch));
    CHECK(length == info.elements * tenslice_dtype_bits(info.dtype) / 8 && scratch == 0);
    EXPECT(TENSLICE_OK, tenslice_tensor_bytes(&tensor, TENSLICE_F4_E2M1, &bytes, NULL));
    CHECK(bytes.length == length && (const unsigned char *)bytes.data == b.data + 64);
    EXPECT(TENSLICE_OK, tenslice_tensor_read_into(&tensor, bias, sizeof bias, NULL, NULL, NULL));
    CHECK(memcmp(bias, bytes.data, sizeof bias) == 0);
    free(b.data);
}

/* Names and attributes with escapes. Each character may be an escape. */
static void escapes(const char *folder)
{
    static const struct {
        const char *key, *text;
        size_t length;
    } expected[] = {{"", "empty key", 9}, {"nul", "a\0b", 3}, {"esc", "\"\\/\b\f\n\r\t\xc3\xa9\xf0\x9f\xa6\x80", 14},
                    {"uni", "\xe4\xb8\x96\xe7\x95\x8c", 6}, {"e", "", 0}, {"json", "{\"x\":[1,2]}", 11}};
    blob b = with_header("{\"a\\u002eb\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                         "\"\\ud83d\\ude00\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]},"
                         "\"\\u0000\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[3,6]}}", 6);
    tenslice_str latin = {"\xff\0\xe9", 3, 0, {0}};
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_tensor_info info;
    tenslice_cursor cursor;
    tenslice_value key, value;
    tenslice_error error;
    char why[256];
    size_t i, length;

    info.struct_size = sizeof info;
    key.struct_size = value.struct_size = sizeof value;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "a.b", 3, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &info));
    CHECK(info.elements == 1 && info.name.is_escaped == 1 && same(info.name, "a\\u002eb"));
    CHECK(means(info.name, "a.b", 3) && !means(info.name, "a\\u002eb", 8) && !means(info.name, "a.", 2));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "\xf0\x9f\x98\x80", 4, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &info));
    CHECK(info.elements == 2 && means(info.name, "\xf0\x9f\x98\x80", 4));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "\0", 1, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &info));
    CHECK(info.elements == 3 && means(info.name, "\0", 1) && !means(info.name, "", 0));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_file_find(&file, "a\\u002eb", 8, &tensor, NULL));
    free(b.data);

    /* The message has the decoded name. */
    b = with_header("{\"a\\u002eb\":{\"dtype\":\"U9\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1);
    EXPECT(TENSLICE_UNKNOWN_DTYPE, tenslice_file_open(&file, b.data, b.size, &error));
    EXPECT(TENSLICE_OK, tenslice_error_text(&error, b.data, b.size, why, sizeof why, NULL));
    CHECK(strstr(why, "\"a.b\"") != NULL && strstr(why, "U9") != NULL);
    free(b.data);

    b = load(folder, "safetensors/hm_names_escapes.safetensors");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_tensors(&file, &cursor));
    for (i = 0; tenslice_tensors_next(&cursor, &tensor, NULL) == TENSLICE_OK; i++) {
        tenslice_tensor found;
        uint64_t index;
        char *name;
        EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &info));
        index = info.index;
        name = meaning(&info.name, &length);
        EXPECT(TENSLICE_OK, tenslice_file_find(&file, name, length, &found, NULL));
        EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&found, &info));
        CHECK(info.index == index && means(info.name, name, length));
        free(name);
    }
    CHECK(i == 14);
    free(b.data);

    b = load(folder, "safetensors/hm_metadata_values.safetensors");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_attributes(&file, &cursor));
    for (i = 0; tenslice_attributes_next(&cursor, &key, &value, NULL) == TENSLICE_OK; i++) {
        CHECK(i < sizeof expected / sizeof *expected && key.kind == TENSLICE_VALUE_TEXT);
        CHECK(means(key.text, expected[i].key, strlen(expected[i].key)));
        CHECK(value.kind == TENSLICE_VALUE_TEXT && means(value.text, expected[i].text, expected[i].length));
    }
    CHECK(i == sizeof expected / sizeof *expected);
    free(b.data);

    /* Bytes that are not text, such as some NPY descrs, are copied unchanged. */
    CHECK(means(latin, "\xff\0\xe9", 3));
}

/* Violations of the specification that common writers make are accepted with a warning. */
static void accepted_with_a_warning(const char *folder)
{
    blob b = load(folder, "safetensors/quirks/st_metadata_null.safetensors"), padded;
    tenslice_file file;
    tenslice_file_info info;
    tenslice_tensor tensor;
    tenslice_cursor cursor;
    tenslice_value key, value;
    tenslice_gguf_tensor_info seen;
    uint64_t shape[5];
    uint32_t rank;

    info.struct_size = sizeof info;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_get_info(&file, &info));
    CHECK(info.warnings == TENSLICE_WARNING_NULL_METADATA);
    EXPECT(TENSLICE_OK, tenslice_file_attributes(&file, &cursor));
    key.struct_size = value.struct_size = sizeof value;
    EXPECT(TENSLICE_END, tenslice_attributes_next(&cursor, &key, &value, NULL));
    free(b.data);

    b = load(folder, "gguf/quirks/gg_rank5.gguf");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_get_info(&file, &info));
    CHECK(info.warnings == TENSLICE_WARNING_MANY_DIMENSIONS);
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "a", 1, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_shape(&tensor, shape, 5, &rank));
    seen.struct_size = sizeof seen;
    EXPECT(TENSLICE_OK, tenslice_gguf_infos(&file, &cursor));
    EXPECT(TENSLICE_OK, tenslice_gguf_infos_next(&cursor, &seen, NULL));
    CHECK(rank == 5 && seen.rank == 5 && shape[4] == seen.ne[0] && shape[0] == seen.ne[4] && seen.ne[5] == 1);
    free(b.data);

    b = load(folder, "npz/stored.npz");
    padded.size = b.size + 5000;
    padded.data = (unsigned char *)malloc(padded.size);
    CHECK(padded.data != NULL);
    memcpy(padded.data, b.data, b.size);
    memset(padded.data + b.size, 0xff, 5000); /* erased flash */
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, padded.data, padded.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_get_info(&file, &info));
    CHECK(info.warnings == TENSLICE_WARNING_TRAILING_BYTES);
    padded.data[padded.size - 1] = 1;
    EXPECT(TENSLICE_TRUNCATED, tenslice_file_open(&file, padded.data, padded.size, NULL));
    free(padded.data);
    free(b.data);
}

/* The files of the tensors in a model of several files. */
static void shards(const char *folder)
{
    static const char *const refused[] = {"", ".", "..", "../a", "/a", "a/", "a/../b", "a\\\\b", "c:a", "a\\u002f..", "\\u002e."};
    static const char first[] = "rs_sharded-00001-of-00002.safetensors";
    static const char second[] = "rs_sharded-00002-of-00002.safetensors";
    blob b = load(folder, "safetensors/rs_sharded.safetensors.index.json");
    tenslice_safetensors_index index;
    tenslice_cursor cursor;
    tenslice_str name, file;
    tenslice_value key, value;
    tenslice_error error;
    tenslice_status status;
    tenslice_file shard;
    tenslice_tensor tensor;
    uint64_t count;
    uint32_t files[3], scratch[1];
    size_t file_count, i;
    char text[128], why[256];

    key.struct_size = value.struct_size = sizeof value;
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_open(&index, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_count(&index, &count));
    CHECK(count == 3);
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_check(&index, scratch, 1, NULL));
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_find(&index, "enc.w", 5, &file, NULL));
    CHECK(same(file, first));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_safetensors_index_find(&index, "enc", 3, &file, &error));
    CHECK(error.kind == TENSLICE_NOT_FOUND);

    EXPECT(TENSLICE_OK, tenslice_safetensors_index_files(&index, files, 3, &file_count, NULL));
    CHECK(file_count == 2);
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_file(&index, files[0], &file));
    CHECK(same(file, first));
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_file(&index, files[1], &file));
    CHECK(same(file, second));
    EXPECT(TENSLICE_OUT_OF_SCRATCH, tenslice_safetensors_index_files(&index, files, 2, &file_count, NULL));

    /* Each tensor is in the file that the index names. */
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_entries(&index, &cursor));
    for (i = 0; (status = tenslice_safetensors_index_next(&cursor, &name, &file, NULL)) == TENSLICE_OK; i++) {
        char path[160];
        blob c;
        EXPECT(TENSLICE_OK, tenslice_str_copy(&file, text, sizeof text, NULL));
        snprintf(path, sizeof path, "safetensors/%s", text);
        c = load(folder, path);
        EXPECT(TENSLICE_OK, tenslice_file_open(&shard, c.data, c.size, NULL));
        EXPECT(TENSLICE_OK, tenslice_file_find(&shard, name.data, name.length, &tensor, NULL));
        free(c.data);
    }
    CHECK(status == TENSLICE_END && i == count);
    EXPECT(TENSLICE_END, tenslice_safetensors_index_next(&cursor, &name, NULL, NULL));
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_metadata(&index, &cursor));
    EXPECT(TENSLICE_OK, tenslice_attributes_next(&cursor, &key, &value, NULL));
    CHECK(same(key.text, "total_size") && value.kind == TENSLICE_VALUE_INTEGER && value.magnitude == 56);
    EXPECT(TENSLICE_END, tenslice_attributes_next(&cursor, &key, &value, NULL));
    free(b.data);

    /* Names are compared after decoding, and metadata may be of any kind. */
    snprintf(text, sizeof text, "%s",
             "{\"metadata\":{\"x\":1.5},\"weight_map\":{\"a\\u002eb\":\"\\u0066\",\"no\":[1]}}");
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_open(&index, text, strlen(text), NULL));
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_count(&index, &count));
    CHECK(count == 1);
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_find(&index, "a.b", 3, &file, NULL));
    CHECK(file.is_escaped && means(file, "f", 1));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_safetensors_index_find(&index, "no", 2, &file, NULL));
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_metadata(&index, &cursor));
    EXPECT(TENSLICE_OK, tenslice_attributes_next(&cursor, &key, &value, NULL));
    CHECK(value.kind == TENSLICE_VALUE_DECIMAL && same(value.text, "1.5"));

    /* Names of files that are not in the folder of the index. */
    for (i = 0; i < sizeof refused / sizeof *refused; i++) {
        snprintf(text, sizeof text, "{\"weight_map\":{\"a\":\"%s\"}}", refused[i]);
        EXPECT(TENSLICE_INVALID_NAME, tenslice_safetensors_index_open(&index, text, strlen(text), &error));
        CHECK(error.offset == 19 && error.format == TENSLICE_FORMAT_SAFETENSORS_INDEX);
        EXPECT(TENSLICE_OK, tenslice_error_text(&error, text, strlen(text), why, sizeof why, NULL));
        CHECK(strncmp(why, "safetensors index: ", 19) == 0);
    }
    snprintf(text, sizeof text, "%s", "{\"weight_map\":{\"a\":\"f\",\"\\u0061\":\"g\"}}");
    EXPECT(TENSLICE_REPEATED_NAME, tenslice_safetensors_index_open(&index, text, strlen(text), NULL));
    EXPECT(TENSLICE_MISSING_KEY, tenslice_safetensors_index_open(&index, "{}", 2, NULL));
}

/* The first attribute with that key and kind. */
static tenslice_value attribute(const tenslice_cursor *attributes, const char *key, uint32_t kind)
{
    tenslice_value value;

    value.struct_size = sizeof value;
    EXPECT(TENSLICE_OK, tenslice_attributes_get(attributes, key, strlen(key), &value, NULL));
    CHECK(value.kind == kind);
    return value;
}

/* Metadata of every type, in either byte order. */
static void metadata(const char *folder, const char *name)
{
    blob b = load(folder, name);
    tenslice_file file;
    tenslice_cursor all, items;
    tenslice_value key, value;
    tenslice_str text;
    tenslice_status status;
    uint64_t number, count, left;
    int64_t integer;
    double real;
    uint32_t truth;

    key.struct_size = value.struct_size = sizeof value;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_attributes(&file, &all));
    EXPECT(TENSLICE_OK, tenslice_attributes_get_u64(&all, "k.u8", 4, &number, NULL));
    CHECK(number == 255);
    EXPECT(TENSLICE_OK, tenslice_attributes_get_u64(&all, "k.u64", 5, &number, NULL));
    CHECK(number == UINT64_MAX);
    EXPECT(TENSLICE_WRONG_TYPE, tenslice_attributes_get_i64(&all, "k.u64", 5, &integer, NULL));
    EXPECT(TENSLICE_OK, tenslice_attributes_get_i64(&all, "k.i64", 5, &integer, NULL));
    CHECK(integer == INT64_MIN);
    EXPECT(TENSLICE_WRONG_TYPE, tenslice_attributes_get_u64(&all, "k.i64", 5, &number, NULL));
    EXPECT(TENSLICE_OK, tenslice_attributes_get_i64(&all, "k.u32", 5, &integer, NULL));
    CHECK(integer == UINT32_MAX);
    EXPECT(TENSLICE_OK, tenslice_attributes_get_i64(&all, "k.i8", 4, &integer, NULL));
    CHECK(integer == -128);
    EXPECT(TENSLICE_OK, tenslice_attributes_get_bool(&all, "k.true", 6, &truth, NULL));
    CHECK(truth == 1);
    EXPECT(TENSLICE_OK, tenslice_attributes_get_bool(&all, "k.false", 7, &truth, NULL));
    CHECK(truth == 0);
    EXPECT(TENSLICE_WRONG_TYPE, tenslice_attributes_get_bool(&all, "k.u8", 4, &truth, NULL));
    EXPECT(TENSLICE_OK, tenslice_attributes_get_str(&all, "general.architecture", 20, &text, NULL));
    CHECK(same(text, "test") && !text.is_escaped);
    EXPECT(TENSLICE_WRONG_TYPE, tenslice_attributes_get_str(&all, "k.i8", 4, &text, NULL));
    EXPECT(TENSLICE_OK, tenslice_attributes_get_f64(&all, "k.f32", 5, &real, NULL));
    CHECK(real == (double)(float)real && real != 0);
    EXPECT(TENSLICE_WRONG_TYPE, tenslice_attributes_get_f64(&all, "k.u8", 4, &real, NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_attributes_get_f64(&all, "k.f", 3, &real, NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_attributes_get(&all, NULL, 0, &value, NULL));

    value = attribute(&all, "k.i16", TENSLICE_VALUE_INTEGER);
    CHECK(value.negative && value.magnitude == 32768);
    CHECK(attribute(&all, "k.f64", TENSLICE_VALUE_FLOAT).text.data == NULL);
    value = attribute(&all, "a.int32", TENSLICE_VALUE_ARRAY);
    EXPECT(TENSLICE_OK, tenslice_value_items(&value, &items));
    EXPECT(TENSLICE_OK, tenslice_attributes_length(&items, &count));
    CHECK(count == 2);
    EXPECT(TENSLICE_OK, tenslice_attributes_next(&items, &key, &value, NULL));
    CHECK(key.kind == 0 && value.kind == TENSLICE_VALUE_INTEGER && value.negative && value.magnitude == 9);
    EXPECT(TENSLICE_OK, tenslice_attributes_length(&items, &count));
    CHECK(count == 1);
    value = attribute(&all, "a.bool", TENSLICE_VALUE_ARRAY);
    EXPECT(TENSLICE_OK, tenslice_value_items(&value, &items));
    EXPECT(TENSLICE_OK, tenslice_attributes_next(&items, NULL, &value, NULL));
    CHECK(value.kind == TENSLICE_VALUE_BOOL && value.magnitude == 1);
    value = attribute(&all, "a.string", TENSLICE_VALUE_ARRAY);
    EXPECT(TENSLICE_OK, tenslice_value_items(&value, &items));
    EXPECT(TENSLICE_OK, tenslice_attributes_next(&items, NULL, &value, NULL));
    CHECK(value.kind == TENSLICE_VALUE_TEXT && value.text.length == 0);
    EXPECT(TENSLICE_OK, tenslice_attributes_next(&items, NULL, &value, NULL));
    CHECK(same(value.text, "a"));

    /* The getters do not advance the cursor. They do not find attributes before it. */
    EXPECT(TENSLICE_OK, tenslice_attributes_length(&all, &left));
    for (count = left; (status = tenslice_attributes_next(&all, &key, &value, NULL)) == TENSLICE_OK; left--)
        CHECK(key.kind == TENSLICE_VALUE_TEXT && value.kind != 0);
    CHECK(status == TENSLICE_END && left == 0 && count > 20);
    EXPECT(TENSLICE_OK, tenslice_attributes_length(&all, &left));
    CHECK(left == 0);
    EXPECT(TENSLICE_NOT_FOUND, tenslice_attributes_get_u64(&all, "k.u8", 4, &number, NULL));
    free(b.data);
}

/* A vocabulary: texts, or bytes if they are not UTF-8; and nested lists. */
static void vocabulary(const char *folder)
{
    blob b = load(folder, "gguf/vocab_601.gguf");
    tenslice_file file;
    tenslice_cursor all, items, inside;
    tenslice_value value;
    uint64_t count, i;

    value.struct_size = sizeof value;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_attributes(&file, &all));
    value = attribute(&all, "tokenizer.ggml.scores", TENSLICE_VALUE_ARRAY);
    EXPECT(TENSLICE_OK, tenslice_value_items(&value, &items));
    EXPECT(TENSLICE_OK, tenslice_attributes_length(&items, &count));
    CHECK(count == 601);
    for (i = 0; tenslice_attributes_next(&items, NULL, &value, NULL) == TENSLICE_OK; i++)
        CHECK(value.kind == TENSLICE_VALUE_FLOAT && value.real == -(double)i);
    CHECK(i == count);
    value = attribute(&all, "tokenizer.ggml.tokens", TENSLICE_VALUE_ARRAY);
    EXPECT(TENSLICE_OK, tenslice_value_items(&value, &items));
    EXPECT(TENSLICE_OK, tenslice_attributes_length(&items, &count));
    for (i = 0; tenslice_attributes_next(&items, NULL, &value, NULL) == TENSLICE_OK; i++)
        CHECK(value.kind == TENSLICE_VALUE_TEXT);
    CHECK(i == count && count == 601);
    free(b.data);

    b = load(folder, "gguf/tokens_not_utf8.gguf");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_attributes(&file, &all));
    value = attribute(&all, "tokenizer.ggml.tokens", TENSLICE_VALUE_ARRAY);
    EXPECT(TENSLICE_OK, tenslice_value_items(&value, &items));
    EXPECT(TENSLICE_OK, tenslice_attributes_next(&items, NULL, &value, NULL));
    CHECK(value.kind == TENSLICE_VALUE_TEXT && same(value.text, "ok"));
    EXPECT(TENSLICE_OK, tenslice_attributes_next(&items, NULL, &value, NULL));
    CHECK(value.kind == TENSLICE_VALUE_BYTES && same(value.text, "\xff\xfe"));
    free(b.data);

    b = load(folder, "gguf/nested_strings.gguf");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_attributes(&file, &all));
    value = attribute(&all, "n", TENSLICE_VALUE_ARRAY);
    EXPECT(TENSLICE_OK, tenslice_value_items(&value, &items));
    for (i = 2; tenslice_attributes_next(&items, NULL, &value, NULL) == TENSLICE_OK; i++) {
        EXPECT(TENSLICE_OK, tenslice_value_items(&value, &inside));
        EXPECT(TENSLICE_OK, tenslice_attributes_length(&inside, &count));
        CHECK(value.kind == TENSLICE_VALUE_ARRAY && count == i);
    }
    CHECK(i == 4);
    free(b.data);
}

/* Tensors of every block type: their blocks in place, and their numbers compared with those of ggml. */
static void blocks(const char *folder)
{
    static const struct {
        const char *name;
        uint32_t number, elements, bytes;
        tenslice_status (*to_f32)(const void *, size_t, uint64_t, float *, size_t);
    } types[] = {{"q4_0", 2, 32, 18, tenslice_q4_0_to_f32},
                 {"q4_1", 3, 32, 20, tenslice_q4_1_to_f32},
                 {"q5_0", 6, 32, 22, tenslice_q5_0_to_f32},
                 {"q5_1", 7, 32, 24, tenslice_q5_1_to_f32},
                 {"q8_0", 8, 32, 34, tenslice_q8_0_to_f32},
                 {"q8_1", 9, 32, 36, tenslice_q8_1_to_f32},
                 {"q2_k", 10, 256, 84, tenslice_q2_k_to_f32},
                 {"q3_k", 11, 256, 110, tenslice_q3_k_to_f32},
                 {"q4_k", 12, 256, 144, tenslice_q4_k_to_f32},
                 {"q5_k", 13, 256, 176, tenslice_q5_k_to_f32},
                 {"q6_k", 14, 256, 210, tenslice_q6_k_to_f32},
                 {"q8_k", 15, 256, 292, tenslice_q8_k_to_f32},
                 {"iq2_xxs", 16, 256, 66, tenslice_iq2_xxs_to_f32},
                 {"iq2_xs", 17, 256, 74, tenslice_iq2_xs_to_f32},
                 {"iq3_xxs", 18, 256, 98, tenslice_iq3_xxs_to_f32},
                 {"iq1_s", 19, 256, 50, tenslice_iq1_s_to_f32},
                 {"iq4_nl", 20, 32, 18, tenslice_iq4_nl_to_f32},
                 {"iq3_s", 21, 256, 110, tenslice_iq3_s_to_f32},
                 {"iq2_s", 22, 256, 82, tenslice_iq2_s_to_f32},
                 {"iq4_xs", 23, 256, 136, tenslice_iq4_xs_to_f32},
                 {"iq1_m", 29, 256, 56, tenslice_iq1_m_to_f32},
                 {"tq1_0", 34, 256, 54, tenslice_tq1_0_to_f32},
                 {"tq2_0", 35, 256, 66, tenslice_tq2_0_to_f32},
                 {"mxfp4", 39, 32, 17, tenslice_mxfp4_to_f32},
                 {"nvfp4", 40, 64, 36, tenslice_nvfp4_to_f32},
                 {"q1_0", 41, 128, 18, tenslice_q1_0_to_f32},
                 {"q2_0", 42, 64, 18, tenslice_q2_0_to_f32}};
    static float numbers[4096], range[300], by_type[300];
    size_t i;

    for (i = 0; i < sizeof types / sizeof *types; i++) {
        char path[64], layout[32];
        blob b, f;
        tenslice_file file;
        tenslice_cursor cursor, infos;
        tenslice_tensor tensor;
        tenslice_tensor_info info;
        tenslice_gguf_tensor_info seen;
        tenslice_component data;
        tenslice_bytes bytes, blocks;
        uint64_t shape[4], elements, length, written, scratch, k, at = 0;
        uint32_t number, other, rank;

        info.struct_size = sizeof info;
        seen.struct_size = sizeof seen;
        snprintf(layout, sizeof layout, "gguf.%s", types[i].name);
        snprintf(path, sizeof path, "gguf-blocks/%s.gguf", types[i].name);
        b = load(folder, path);
        snprintf(path, sizeof path, "gguf-blocks/%s.f32", types[i].name);
        f = load(folder, path);
        EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
        EXPECT(TENSLICE_OK, tenslice_file_tensors(&file, &cursor));
        EXPECT(TENSLICE_OK, tenslice_gguf_infos(&file, &infos));
        while (tenslice_tensors_next(&cursor, &tensor, NULL) == TENSLICE_OK) {
            EXPECT(TENSLICE_OK, tenslice_gguf_infos_next(&infos, &seen, NULL));
            EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &info));
            CHECK(info.dtype == 0 && info.layout == TENSLICE_LAYOUT_BLOCKS && same(info.layout_name, layout));
            CHECK(seen.name.data == info.name.data && seen.ggml_type == types[i].number && seen.rank == info.rank);
            EXPECT(TENSLICE_OK, tenslice_tensor_shape(&tensor, shape, 4, &rank));
            CHECK(rank == 2 && shape[0] == seen.ne[1] && shape[1] == seen.ne[0] && seen.ne[2] == 1 && seen.ne[7] == 1);
            EXPECT(TENSLICE_OK, tenslice_tensor_block(&tensor, &number, &elements, &length));
            CHECK(number == 65536 + types[i].number && elements == types[i].elements && length == types[i].bytes);
            EXPECT(TENSLICE_OK, tenslice_tensor_block(&tensor, NULL, NULL, NULL));
            EXPECT(TENSLICE_OK, tenslice_tensor_get(&tensor, WANT(number, shape, 2), &blocks, NULL));
            EXPECT(TENSLICE_WRONG_SHAPE, tenslice_tensor_get(&tensor, WANT(number, shape, 1), &bytes, NULL));
            other = number == TENSLICE_GGML_Q4_0 ? TENSLICE_GGML_Q8_0 : TENSLICE_GGML_Q4_0;
            EXPECT(TENSLICE_WRONG_TYPE, tenslice_tensor_get(&tensor, WANT(other, shape, 2), &bytes, NULL));
            EXPECT(TENSLICE_NOT_DENSE, tenslice_tensor_get(&tensor, WANT(TENSLICE_F32, shape, 2), &bytes, NULL));
            EXPECT(TENSLICE_NOT_DENSE, tenslice_tensor_bytes(&tensor, TENSLICE_ANY, &bytes, NULL));
            EXPECT(TENSLICE_OK, tenslice_tensor_component(&tensor, "data", 4, &data, NULL));
            EXPECT(TENSLICE_OK, tenslice_component_bytes(&data, TENSLICE_ANY, &bytes, NULL));
            CHECK(bytes.length == info.elements / elements * length && info.elements <= 4096);
            CHECK(blocks.data == bytes.data && blocks.length == bytes.length);

            EXPECT(TENSLICE_OK, tensor_needs(&tensor, TENSLICE_PURPOSE_READ_F32, NULL, &scratch));
            CHECK(scratch == 0);
            EXPECT(TENSLICE_TOO_SMALL,
                   tenslice_tensor_read_f32_into(&tensor, numbers, (size_t)info.elements - 1, NULL, &written, NULL));
            CHECK(written == info.elements);
            EXPECT(TENSLICE_OK, tenslice_tensor_read_f32_into(&tensor, numbers, 4096, NULL, &written, NULL));
            CHECK(written == info.elements && at + 4 * written <= f.size);
            for (k = 0; k < written; k++, at += 4) {
                const float expected = float_at(f.data + at);
                CHECK(memcmp(&expected, &numbers[k], sizeof expected) == 0);
            }
            /* A range that begins inside of a block, and a range that is one element too long. */
            for (k = 1; k < info.elements; k += 37) {
                const size_t count = info.elements - k < 300 ? (size_t)(info.elements - k) : 300;
                EXPECT(TENSLICE_OK, tenslice_tensor_read_f32(&tensor, k, range, count, NULL));
                CHECK(memcmp(range, &numbers[k], count * sizeof *range) == 0);
                EXPECT(TENSLICE_OK, types[i].to_f32(bytes.data, bytes.length, k, by_type, count));
                CHECK(memcmp(range, by_type, count * sizeof *range) == 0);
            }
            EXPECT(TENSLICE_NO_SUCH_ELEMENT, tenslice_tensor_read_f32(&tensor, info.elements, range, 1, NULL));
            EXPECT(TENSLICE_OK, tenslice_tensor_read_f32(&tensor, info.elements, NULL, 0, NULL));
            by_type[0] = 1.25f;
            EXPECT(TENSLICE_NO_SUCH_ELEMENT, types[i].to_f32(bytes.data, bytes.length, info.elements - 1, by_type, 2));
            EXPECT(TENSLICE_NO_SUCH_ELEMENT,
                   types[i].to_f32(bytes.data, bytes.length - 1, info.elements - 1, by_type, 1));
            EXPECT(TENSLICE_NO_SUCH_ELEMENT, types[i].to_f32(bytes.data, bytes.length, UINT64_MAX, by_type, 2));
            CHECK(by_type[0] == 1.25f);
            EXPECT(TENSLICE_OK, types[i].to_f32(bytes.data, bytes.length, info.elements, NULL, 0));
        }
        CHECK(at == f.size);
        EXPECT(TENSLICE_END, tenslice_gguf_infos_next(&infos, &seen, NULL));
        free(b.data);
        free(f.data);
    }
}

/* Plain types in either byte order, and blocks in a big-endian file, which no specification defines. */
static void plain_numbers(const char *folder)
{
    static const char *const names[] = {"t.f32", "t.f16", "t.bf16", "t.f64", "t.i8", "t.i16", "t.i32", "t.i64"};
    blob b = load(folder, "gguf/be_plain_types.gguf");
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_tensor_info info;
    tenslice_gguf_file_info about;
    tenslice_component data;
    tenslice_bytes bytes;
    double written[6];
    float numbers[256], range[2];
    uint64_t count;
    size_t i;

    info.struct_size = sizeof info;
    about.struct_size = sizeof about;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_gguf_get_info(&file, &about));
    CHECK(about.byte_order == TENSLICE_BYTE_ORDER_BIG && about.alignment == 32 && about.data_offset == 448);
    CHECK(about.part_index == 0 && about.part_count == 0 && about.part_tensors == 0 && about.reserved == 0);
    for (i = 0; i < sizeof names / sizeof *names; i++) {
        EXPECT(TENSLICE_OK, tenslice_file_find(&file, names[i], strlen(names[i]), &tensor, NULL));
        EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &info));
        CHECK(info.layout == TENSLICE_LAYOUT_DENSE && info.dtype != 0);
        EXPECT(TENSLICE_NOT_FOUND, tenslice_tensor_block(&tensor, NULL, NULL, NULL));
        EXPECT(TENSLICE_OK, tenslice_tensor_read_f32_into(&tensor, numbers, 6, NULL, &count, NULL));
        EXPECT(TENSLICE_OK, tenslice_tensor_read_f32(&tensor, 4, range, 2, NULL));
        CHECK(count == 6 && memcmp(range, numbers + 4, sizeof range) == 0);
        EXPECT(TENSLICE_OK, tenslice_tensor_bytes(&tensor, TENSLICE_ANY, &bytes, NULL));
        if (info.dtype == TENSLICE_F16 || info.dtype == TENSLICE_BF16) {
            const unsigned char *first = (const unsigned char *)bytes.data;
            const uint16_t bits = (uint16_t)(first[0] << 8 | first[1]);
            CHECK(numbers[0] == (info.dtype == TENSLICE_F16 ? tenslice_f16_to_f32(bits) : tenslice_bf16_to_f32(bits)));
        }
        if (info.dtype == TENSLICE_I8)
            CHECK(numbers[5] == (float)((const signed char *)bytes.data)[5]);
        if (info.dtype == TENSLICE_F64) {
            EXPECT(TENSLICE_OK, tenslice_tensor_read_into(&tensor, written, sizeof written, NULL, NULL, NULL));
            CHECK(bytes.length == sizeof written);
        }
    }
    free(b.data);

    b = load(folder, "gguf/be_quantised.gguf");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "q", 1, &tensor, NULL)); /* Q4_K: scales of 16 bits */
    EXPECT(TENSLICE_OK, tenslice_tensor_component(&tensor, "data", 4, &data, NULL));
    EXPECT(TENSLICE_OK, tenslice_component_bytes(&data, TENSLICE_ANY, &bytes, NULL));
    CHECK(bytes.length == 576);
    EXPECT(TENSLICE_FOREIGN_ENDIAN, tenslice_tensor_read_f32(&tensor, 0, numbers, 1, NULL));
    EXPECT(TENSLICE_FOREIGN_ENDIAN,
           tenslice_tensor_get(&tensor, WANT(TENSLICE_GGML_Q4_K, NULL, TENSLICE_ANY_SHAPE), &bytes, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "m", 1, &tensor, NULL)); /* MXFP4: only bytes */
    EXPECT(TENSLICE_OK, tenslice_tensor_read_f32_into(&tensor, numbers, 256, NULL, &count, NULL));
    CHECK(count == 192);
    free(b.data);

    /* Other formats, too: computed values need scratch memory, complex numbers are rejected. */
    b = load(folder, "v1.2/objects_sparse_quant_logical.zt");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "csr_i32", 7, &tensor, NULL));
    EXPECT(TENSLICE_OK, tensor_needs(&tensor, TENSLICE_PURPOSE_READ_F32, NULL, &count));
    CHECK(count >= 30 * 4 && count <= 1024);
    {
        unsigned char scratch[1024];
        EXPECT(TENSLICE_OUT_OF_SCRATCH,
               tenslice_tensor_read_f32_into(&tensor, numbers, 256, OPTIONS(NULL, scratch, (size_t)count - 1), NULL,
                                             NULL));
        EXPECT(TENSLICE_OK,
               tenslice_tensor_read_f32_into(&tensor, numbers, 256, OPTIONS(NULL, scratch, (size_t)count), &count,
                                             NULL));
    }
    CHECK(count == 30);
    EXPECT(TENSLICE_NOT_DENSE, tenslice_tensor_read_f32(&tensor, 0, numbers, 1, NULL));
    free(b.data);
    b = load(folder, "tens/good/ix_f64_x2.tens");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "", 0, &tensor, NULL));
    EXPECT(TENSLICE_WRONG_TYPE, tenslice_tensor_read_f32_into(&tensor, numbers, 256, NULL, NULL, NULL));
    free(b.data);

    CHECK(tenslice_f16_to_f32(0x3e00) == 1.5f && tenslice_bf16_to_f32(0xc000) == -2.0f);
    CHECK(tenslice_f8_e4m3fn_to_f32(0x38) == 1.0f && isnan(tenslice_f8_e4m3fn_to_f32(0xff)));
    CHECK(tenslice_f8_e5m2_to_f32(0x3c) == 1.0f && isinf(tenslice_f8_e5m2_to_f32(0x7c)));
    CHECK(tenslice_f8_e4m3fnuz_to_f32(0x40) == 1.0f && isnan(tenslice_f8_e4m3fnuz_to_f32(0x80)));
    CHECK(tenslice_f8_e5m2fnuz_to_f32(0x40) == 1.0f && isnan(tenslice_f8_e5m2fnuz_to_f32(0x80)));
    CHECK(tenslice_f8_e8m0_to_f32(128) == 2.0f && isnan(tenslice_f8_e8m0_to_f32(255)));
    CHECK(tenslice_f4_e2m1_to_f32(0xf) == -6.0f && tenslice_f6_e2m3_to_f32(0x1f) == 7.5f);
    CHECK(tenslice_f6_e3m2_to_f32(0x1f) == 28.0f);
}

/* A model in two files. There is one fixture: the second part is a copy of the first with another index. */
static void parts(const char *folder)
{
    static const char first[] = "model-00001-of-00002.gguf";
    blob b = load(folder, "gguf/split_00001.gguf"), c = load(folder, "gguf/split_00001.gguf");
    tenslice_file files[2], found_file;
    tenslice_model_file model_files[3];
    tenslice_model model;
    tenslice_model_tensors tensors;
    tenslice_model_problems problems;
    tenslice_problem problem;
    tenslice_problem_info info;
    tenslice_gguf_file_info about;
    tenslice_tensor tensor;
    tenslice_bytes bytes;
    tenslice_error error;
    tenslice_str file_name;
    static const uint64_t shape[2] = {4, 2};
    uint64_t file, count;
    uint32_t words[18];
    char name[64], why[256];
    size_t i, needed;

    about.struct_size = sizeof about, info.struct_size = sizeof info;
    for (i = 0; memcmp(c.data + i, "split.no", 8) != 0; i++)
        CHECK(i + 16 < c.size);
    c.data[i + 12] = 1; /* after the key and the type */
    for (i = 0; memcmp(c.data + i, "\1\0\0\0\0\0\0\0a", 9) != 0; i++)
        CHECK(i + 16 < c.size);
    c.data[i + 8] = 'b'; /* the name of the tensor */
    EXPECT(TENSLICE_OK, tenslice_file_open(&files[0], b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_open(&files[1], c.data, c.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_gguf_get_info(&files[1], &about));
    CHECK(about.byte_order == TENSLICE_BYTE_ORDER_LITTLE && about.data_offset == 192);
    CHECK(about.part_index == 1 && about.part_count == 2 && about.part_tensors == 2);

    /* The numbers in the files decide, whatever the order. */
    EXPECT(TENSLICE_OK,
           tenslice_model_file_opened(&model_files[0], "model-00002-of-00002.gguf", TENSLICE_NUL, &files[1]));
    EXPECT(TENSLICE_OK, tenslice_model_file_opened(&model_files[1], first, sizeof first - 1, &files[0]));
    EXPECT(TENSLICE_OK, tenslice_model_length(model_files, 2, &needed));
    CHECK(needed == 12);
    EXPECT(TENSLICE_OK, tenslice_model_open(&model, model_files, 2, words, needed, NULL));
    EXPECT(TENSLICE_OK, tenslice_model_file_count(&model, &count));
    EXPECT(TENSLICE_OK, tenslice_model_get_file(&model, 1, &file_name, &found_file));
    CHECK(count == 2 && tenslice_str_equals(&file_name, "model-00002-of-00002.gguf", 25));
    EXPECT(TENSLICE_OK, tenslice_model_find(&model, "b", 1, &tensor, &file, NULL));
    CHECK(file == 1);
    EXPECT(TENSLICE_OK, tenslice_model_get(&model, "a", 1, NULL, &bytes, NULL));
    CHECK((const unsigned char *)bytes.data - b.data == 192);
    EXPECT(TENSLICE_OK, tenslice_model_get_tensors(&model, &tensors));
    for (i = 0; i < 2; i++) {
        EXPECT(TENSLICE_OK, tenslice_model_next_tensor(&tensors, &tensor, &file, NULL));
        CHECK(file == i);
    }
    EXPECT(TENSLICE_END, tenslice_model_next_tensor(&tensors, &tensor, &file, NULL));
    EXPECT(TENSLICE_OK, tenslice_model_get_problems(&model, &problems));
    EXPECT(TENSLICE_END, tenslice_model_next_problem(&problems, &problem));

    /* A message names what the model has instead, and in which file. */
    EXPECT(TENSLICE_WRONG_SHAPE, tenslice_model_get(&model, "b", 1, WANT(TENSLICE_ANY, shape, 2), &bytes, &error));
    EXPECT(TENSLICE_OK,
           tenslice_model_get_text(&model, "b", 1, WANT(TENSLICE_ANY, shape, 2), &error, why, sizeof why, &needed));
    CHECK(strcmp(why, "tensor \"b\": expected [4, 2]; the file has f32 [8] [in \"model-00002-of-00002.gguf\"]") == 0);
    CHECK(needed == strlen(why) + 1);

    /* The second part twice, and no first part. */
    EXPECT(TENSLICE_OK, tenslice_model_file_opened(&model_files[0], "copy.gguf", TENSLICE_NUL, &files[1]));
    EXPECT(TENSLICE_OK,
           tenslice_model_file_opened(&model_files[1], "model-00002-of-00002.gguf", TENSLICE_NUL, &files[1]));
    EXPECT(TENSLICE_OK, tenslice_model_open(&model, model_files, 2, words, 12, NULL));
    EXPECT(TENSLICE_REPEATED_NAME, tenslice_model_find(&model, "b", 1, &tensor, NULL, &error));
    EXPECT(TENSLICE_OK, tenslice_model_get_text(&model, "b", 1, NULL, &error, why, sizeof why, NULL));
    CHECK(strcmp(why, "copy.gguf: this is part 2 of 2 (split.no 1), and so is \"model-00002-of-00002.gguf\"") == 0);
    EXPECT(TENSLICE_OK, tenslice_model_get_problems(&model, &problems));
    EXPECT(TENSLICE_OK, tenslice_model_next_problem(&problems, &problem));
    EXPECT(TENSLICE_OK, tenslice_problem_get_info(&problem, &info));
    CHECK(info.kind == TENSLICE_PROBLEM_REPEATED_PART && info.file == 1 && info.tensor.data == NULL);
    CHECK(info.error.kind == 0);
    EXPECT(TENSLICE_OK, tenslice_model_next_problem(&problems, &problem));
    EXPECT(TENSLICE_OK, tenslice_problem_get_info(&problem, &info));
    CHECK(info.kind == TENSLICE_PROBLEM_MISSING_PART && info.file == UINT64_MAX);
    EXPECT(TENSLICE_OK, tenslice_problem_text(&problem, why, sizeof why, NULL));
    CHECK(strcmp(why, "part 1 of 2 is missing") == 0);
    free(b.data);
    free(c.data);

    EXPECT(TENSLICE_TOO_SMALL, tenslice_gguf_part_name(first, sizeof first - 1, 1, NULL, 0, &needed));
    CHECK(needed == sizeof first);
    memset(name, '#', sizeof name);
    EXPECT(TENSLICE_TOO_SMALL, tenslice_gguf_part_name(first, sizeof first - 1, 1, name, needed - 1, NULL));
    CHECK(name[0] == '#');
    EXPECT(TENSLICE_OK, tenslice_gguf_part_name(first, sizeof first - 1, 1, name, needed, &needed));
    CHECK(strcmp(name, "model-00002-of-00002.gguf") == 0 && needed == sizeof first);
    EXPECT(TENSLICE_OK, tenslice_gguf_part_name(first, TENSLICE_NUL, 0, name, sizeof name, &needed));
    CHECK(strcmp(name, first) == 0 && needed == sizeof first);
    EXPECT(TENSLICE_NOT_FOUND, tenslice_gguf_part_name(first, sizeof first - 1, 2, name, sizeof name, NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_gguf_part_name("model.gguf", 10, 0, name, sizeof name, NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_gguf_part_name("\xff-00001-of-00002.gguf", 21, 0, name, sizeof name, NULL));
}

/* Other calls specific to GGUF: types in the order of the file, and rejected files. */
static void gguf(const char *folder)
{
    blob b = load(folder, "gguf/align_128.gguf");
    tenslice_file file;
    tenslice_file_info opened;
    tenslice_gguf_file_info about;
    tenslice_gguf_tensor_info info;
    tenslice_cursor infos, tensors;
    tenslice_tensor tensor;
    tenslice_component data;
    tenslice_component_info place;
    tenslice_error error;
    tenslice_status status;
    char why[256];
    unsigned count = 0;

    opened.struct_size = sizeof opened;
    about.struct_size = sizeof about;
    info.struct_size = sizeof info;
    place.struct_size = sizeof place;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_get_info(&file, &opened));
    CHECK(opened.format == TENSLICE_FORMAT_GGUF && same(opened.version, "3") && opened.warnings == 0);
    EXPECT(TENSLICE_OK, tenslice_gguf_get_info(&file, &about));
    CHECK(about.alignment == 128 && about.data_offset % 128 == 0);
    EXPECT(TENSLICE_OK, tenslice_gguf_infos(&file, &infos));
    EXPECT(TENSLICE_OK, tenslice_file_tensors(&file, &tensors));
    for (; (status = tenslice_gguf_infos_next(&infos, &info, NULL)) == TENSLICE_OK; count++) {
        EXPECT(TENSLICE_OK, tenslice_tensors_next(&tensors, &tensor, NULL));
        EXPECT(TENSLICE_OK, tenslice_tensor_component(&tensor, "data", 4, &data, NULL));
        EXPECT(TENSLICE_OK, tenslice_component_get_info(&data, &place));
        CHECK(place.offset == about.data_offset + info.offset && info.offset % 128 == 0);
    }
    CHECK(status == TENSLICE_END && count == opened.tensor_count && count > 0);
    free(b.data);

    b = load(folder, "gguf/quirks/gg_bool_ff.gguf");
    EXPECT(TENSLICE_UNEXPECTED_TYPE, tenslice_file_open(&file, b.data, b.size, &error));
    EXPECT(TENSLICE_OK, tenslice_error_text(&error, b.data, b.size, why, sizeof why, NULL));
    CHECK(strstr(why, "a truth value is not 0 or 1") != NULL);
    free(b.data);
}

/* A tensor that cannot be read, and a good one named `good`. Each call that reads the former returns its error. */
static void unreadable(const char *folder, const char *path, const char *name, const char *good, const char *layout,
                       const char *message)
{
    blob b = load(folder, path);
    tenslice_file file;
    tenslice_file_info about;
    tenslice_tensor tensor;
    tenslice_tensor_info info;
    tenslice_component data;
    tenslice_component_info place;
    tenslice_sparse sparse;
    tenslice_verified verified;
    tenslice_bytes bytes, stored;
    tenslice_error error, other;
    uint64_t index = UINT64_MAX, dense = 0, length = 7;
    float numbers[4];
    char why[256];

    about.struct_size = sizeof about;
    info.struct_size = sizeof info;
    place.struct_size = sizeof place;
    verified.struct_size = sizeof verified;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_get_info(&file, &about));
    CHECK(about.warnings == TENSLICE_WARNING_UNREADABLE_TENSOR && about.tensor_count == 2);
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, name, strlen(name), &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &info));
    CHECK(info.warnings == TENSLICE_WARNING_UNREADABLE_TENSOR && info.layout == TENSLICE_LAYOUT_OTHER);
    CHECK(info.dtype == 0 && same(info.layout_name, layout));
    EXPECT(TENSLICE_OK, tenslice_file_warning_tensor(&file, TENSLICE_WARNING_UNREADABLE_TENSOR, &index));
    CHECK(index == info.index);

    EXPECT(TENSLICE_UNKNOWN_DTYPE, tenslice_tensor_problem(&tensor, NULL));
    EXPECT(TENSLICE_UNKNOWN_DTYPE, tenslice_tensor_problem(&tensor, &error));
    CHECK(error.kind == TENSLICE_UNKNOWN_DTYPE && error.part == TENSLICE_PART_DTYPE && error.offset < b.size);
    EXPECT(TENSLICE_OK, tenslice_error_text(&error, b.data, b.size, why, sizeof why, NULL));
    CHECK(strstr(why, message) != NULL && strstr(why, name) != NULL);
#define FAILS(call)                                                                                                    \
    do {                                                                                                               \
        memset(&other, 0, sizeof other);                                                                               \
        EXPECT(TENSLICE_UNKNOWN_DTYPE, call);                                                                          \
        CHECK(other.offset == error.offset && other.kind == error.kind && other.part == error.part);                   \
    } while (0)
    FAILS(tenslice_tensor_bytes(&tensor, TENSLICE_ANY, &bytes, &other));
    FAILS(tenslice_tensor_get(&tensor, NULL, &bytes, &other));
    FAILS(tenslice_file_get(&file, name, strlen(name), WANT(TENSLICE_F32, NULL, TENSLICE_ANY_SHAPE), &bytes, &other));
    FAILS(tenslice_tensor_data(&tensor, &data, &other));
    FAILS(tenslice_tensor_read_into(&tensor, why, sizeof why, NULL, &length, &other));
    FAILS(tenslice_tensor_read_f32(&tensor, 0, numbers, 1, &other));
    FAILS(tenslice_tensor_read_f32_into(&tensor, numbers, 4, NULL, &length, &other));
    FAILS(tenslice_tensor_sparse(&tensor, NULL, &sparse, &other));
    FAILS(tenslice_file_verify(&file, NULL, &verified, &other));
#undef FAILS
    CHECK(length == 7);
    EXPECT(TENSLICE_OK, tensor_needs(&tensor, TENSLICE_PURPOSE_READ, &dense, NULL));
    CHECK(dense == UINT64_MAX);
    EXPECT(TENSLICE_OK, tenslice_tensor_component(&tensor, "data", 4, &data, NULL));
    EXPECT(TENSLICE_OK, tenslice_component_get_info(&data, &place));
    EXPECT(TENSLICE_OK, tenslice_component_stored(&data, &stored, NULL));
    CHECK((const char *)stored.data == (const char *)b.data + place.offset && stored.length == place.length);
    CHECK(stored.length > 0);

    EXPECT(TENSLICE_OK, tenslice_file_find(&file, good, strlen(good), &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_problem(&tensor, &other));
    EXPECT(TENSLICE_OK, tenslice_tensor_read_f32(&tensor, 0, numbers, 3, NULL));
    CHECK(numbers[1] == numbers[0] + 1 && numbers[2] == numbers[0] + 2);
    free(b.data);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    regions(argv[1]);
    accepted_with_a_warning(argv[1]);
    no_values(argv[1]);
    dictionaries(argv[1]);
    symmetries(argv[1]);
    pairs(argv[1]);
    trains(argv[1]);
    arrays(argv[1]);
    checkpoint(argv[1]);
    views(argv[1]);
    weights(argv[1]);
    constants(argv[1]);
    pieces(argv[1]);
    onnx(argv[1]);
    safetensors(argv[1]);
    escapes(argv[1]);
    shards(argv[1]);
    metadata(argv[1], "gguf/kv_all_types.gguf");
    metadata(argv[1], "gguf/be_all_values.gguf");
    vocabulary(argv[1]);
    blocks(argv[1]);
    plain_numbers(argv[1]);
    parts(argv[1]);
    gguf(argv[1]);
    unreadable(argv[1], "gguf/quirks/type_139_of_a_fork.gguf", "token_embd.weight", "n", "gguf.139",
               "unknown type of ggml: 139");
    unreadable(argv[1], "npz/quirks/object_among_arrays.npz", "meta", "x", "npy", "Python objects are pickled");
    puts("formats: ok");
    return 0;
}
