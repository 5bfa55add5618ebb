/*
 * Wrong arguments: NULL, misaligned, uninitialized and wrong handles, absurd lengths, wrong sizes. Every exported
 * function is called with NULL for each of its pointers (run.sh checks that all are called). Each call returns a code
 * and leaves its outputs unchanged. Argument: the fixtures.
 */
#include "support.h"

#define BAD TENSLICE_INVALID_ARGUMENT
#define HANDLE TENSLICE_INVALID_HANDLE

/* A misaligned address: the second byte of a number. */
#define ODD(type, numbers) ((type *)(void *)((char *)(numbers) + 1))

/* Fills an output with a pattern, and checks that the pattern is still there. */
#define MARK(output) memset(&(output), 0x5a, sizeof(output))
#define IS_MARKED(output) is_marked(&(output), sizeof(output))

static int is_marked(const void *output, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)output;
    size_t i;

    for (i = 0; i < size; i++)
        if (bytes[i] != 0x5a)
            return 0;
    return 1;
}

static void sparse(const tenslice_tensor *tensor)
{
    tenslice_sparse sparse, unset;
    tenslice_sparse_info info;
    tenslice_bytes value;
    uint64_t index[4];
    uint32_t rank;

    memset(&unset, 0, sizeof unset);
    info.struct_size = sizeof info;
    EXPECT(HANDLE, tenslice_tensor_sparse(NULL, NULL, &sparse, NULL));
    EXPECT(BAD, tenslice_tensor_sparse(tensor, NULL, NULL, NULL));
    EXPECT(BAD, tenslice_tensor_sparse(tensor, OPTIONS(NULL, NULL, 8), &sparse, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_sparse(tensor, NULL, &sparse, NULL));
    EXPECT(HANDLE, tenslice_sparse_get_info(NULL, &info));
    EXPECT(HANDLE, tenslice_sparse_get_info(&unset, &info));
    EXPECT(BAD, tenslice_sparse_get_info(&sparse, NULL));
    EXPECT(HANDLE, tenslice_sparse_next(NULL, index, 3, &value, NULL));
    EXPECT(BAD, tenslice_sparse_next(&sparse, NULL, 3, &value, NULL));
    EXPECT(BAD, tenslice_sparse_next(&sparse, index, 3, NULL, NULL));
    EXPECT(TENSLICE_TOO_SMALL, tenslice_sparse_next(&sparse, index, 1, &value, NULL));
    EXPECT(HANDLE, tenslice_tensor_strides(NULL, index, 3));
    EXPECT(BAD, tenslice_tensor_strides(tensor, NULL, 3));
    EXPECT(TENSLICE_TOO_SMALL, tenslice_tensor_strides(tensor, index, 1));

    MARK(index), MARK(value), MARK(rank);
    EXPECT(BAD, tenslice_sparse_next(&sparse, ODD(uint64_t, index), 3, &value, NULL));
    EXPECT(BAD, tenslice_tensor_strides(tensor, ODD(uint64_t, index), 3));
    EXPECT(BAD, tenslice_tensor_shape(tensor, ODD(uint64_t, index), 3, &rank));
    CHECK(IS_MARKED(index) && IS_MARKED(value) && IS_MARKED(rank));
}

static void plans(void)
{
    tenslice_piece pieces[3] = {{1, 90, 10, 77}, {2, 10, 20, 78}, {3, 0, 0, 79}}, before[3], odd[4];
    tenslice_plan plan, unset;
    tenslice_cursor cursor;
    tenslice_planned_read read;
    uint64_t length, longer[2];

    memset(&unset, 0, sizeof unset);
    memcpy(before, pieces, sizeof before);
    memset(odd, 0, sizeof odd);
    MARK(plan), MARK(cursor), MARK(read), MARK(length), MARK(longer);
    EXPECT(BAD, tenslice_plan_open(NULL, pieces, 3, 100, 16, 0));
    EXPECT(BAD, tenslice_plan_open(&plan, NULL, 3, 100, 16, 0));
    EXPECT(BAD, tenslice_plan_open(&plan, ODD(tenslice_piece, odd), 3, 100, 16, 0));
    EXPECT(BAD, tenslice_plan_open(&plan, pieces, SIZE_MAX / 8, 100, 16, 0));
    EXPECT(BAD, tenslice_plan_open(&plan, pieces, 3, 100, 0, 0));
    EXPECT(BAD, tenslice_plan_open(&plan, pieces, 3, 100, 15, 0));
    EXPECT(BAD, tenslice_plan_open(&plan, pieces, 3, UINT64_MAX, 16, 0));
    EXPECT(TENSLICE_OUT_OF_FILE, tenslice_plan_open(&plan, pieces, 3, 99, 16, 0));
    CHECK(memcmp(before, pieces, sizeof before) == 0); /* neither sorted nor placed */
    EXPECT(HANDLE, tenslice_plan_length(NULL, &length));
    EXPECT(HANDLE, tenslice_plan_length(&unset, &length));
    EXPECT(HANDLE, tenslice_plan_reads(NULL, 16, &cursor));
    EXPECT(HANDLE, tenslice_plan_reads(&unset, 16, &cursor));
    EXPECT(HANDLE, tenslice_reads_next(NULL, &read));
    CHECK(IS_MARKED(plan) && IS_MARKED(cursor) && IS_MARKED(read) && IS_MARKED(length));
    EXPECT(TENSLICE_OK, tenslice_plan_open(&plan, NULL, 0, 100, 16, 0));
    EXPECT(TENSLICE_OK, tenslice_plan_open(&plan, pieces, 3, 100, 16, 0));
    EXPECT(BAD, tenslice_plan_length(&plan, NULL));
    EXPECT(BAD, tenslice_plan_length(&plan, ODD(uint64_t, longer)));
    EXPECT(BAD, tenslice_plan_reads(&plan, 16, NULL));
    EXPECT(TENSLICE_OK, tenslice_plan_reads(&plan, 0, &cursor));
    EXPECT(BAD, tenslice_reads_next(&cursor, NULL));
    EXPECT(HANDLE, tenslice_reads_next((tenslice_cursor *)(void *)&plan, &read));
    CHECK(IS_MARKED(longer) && IS_MARKED(read));
}

static int ignore(void *context, uint64_t offset, const void *bytes, size_t length)
{
    (void)context, (void)offset, (void)bytes, (void)length;
    return 0;
}

static void writers(void)
{
    static const uint64_t shape[] = {4};
    tenslice_new_tensor tensors[2] = {TENSLICE_NEW_TENSOR("b", TENSLICE_U8, shape),
                                      TENSLICE_NEW_TENSOR("a", TENSLICE_U8, shape)}, before[2], odd[3];
    tenslice_new_file file = TENSLICE_NEW_FILE(TENSLICE_FORMAT_SAFETENSORS, tensors), odd_file[2], wrong;
    tenslice_sink sink = {ignore, NULL}, no_sink = {NULL, NULL}, odd_sink[2];
    tenslice_writer writer, unset, unwritten;
    tenslice_due due;
    tenslice_error error;
    uint64_t scratch[4], length;
    char text[64];
    size_t words, needed;

    memset(&unset, 0, sizeof unset);
    memset(odd, 0, sizeof odd);
    memset(odd_file, 0, sizeof odd_file);
    memset(odd_sink, 0, sizeof odd_sink);
    memcpy(before, tensors, sizeof before);
    due.struct_size = sizeof due;
    MARK(unwritten), MARK(words), MARK(length), MARK(text), MARK(needed);
    EXPECT(BAD, tenslice_writer_scratch_length(NULL, &words));
    EXPECT(BAD, tenslice_writer_scratch_length(&file, NULL));
    EXPECT(BAD, tenslice_writer_scratch_length(ODD(tenslice_new_file, odd_file), &words));
    EXPECT(BAD, tenslice_writer_open(NULL, &file, NULL, 0, NULL));
    EXPECT(BAD, tenslice_writer_open(&unwritten, NULL, NULL, 0, NULL));
    EXPECT(BAD, tenslice_writer_open(&unwritten, ODD(tenslice_new_file, odd_file), NULL, 0, NULL));
    EXPECT(BAD, tenslice_writer_open(&unwritten, &file, NULL, 1, NULL));
    EXPECT(BAD, tenslice_writer_open(&unwritten, &file, ODD(uint64_t, scratch), 3, NULL));
    EXPECT(BAD, tenslice_writer_open(&unwritten, &file, scratch, SIZE_MAX / 8, NULL));
    wrong = file, wrong.struct_size--;
    EXPECT(BAD, tenslice_writer_open(&unwritten, &wrong, NULL, 0, NULL));
    wrong = file, wrong.format = 256;
    EXPECT(BAD, tenslice_writer_open(&unwritten, &wrong, NULL, 0, NULL));
    wrong = file, wrong.tensors = NULL;
    EXPECT(BAD, tenslice_writer_open(&unwritten, &wrong, NULL, 0, NULL));
    wrong = file, wrong.tensors = ODD(tenslice_new_tensor, odd);
    EXPECT(BAD, tenslice_writer_open(&unwritten, &wrong, NULL, 0, NULL));
    wrong = file, wrong.tensor_count = SIZE_MAX / 8;
    EXPECT(BAD, tenslice_writer_open(&unwritten, &wrong, NULL, 0, NULL));
    wrong = file, wrong.attribute_count = 1;
    EXPECT(BAD, tenslice_writer_open(&unwritten, &wrong, NULL, 0, NULL));
    tensors[0].struct_size++; /* would misalign the second tensor */
    EXPECT(BAD, tenslice_writer_open(&unwritten, &file, NULL, 0, NULL));
    tensors[0].struct_size--;
    tensors[1].struct_size--;
    EXPECT(BAD, tenslice_writer_open(&unwritten, &file, NULL, 0, NULL));
    tensors[1].struct_size++;
    EXPECT(TENSLICE_OK, tenslice_writer_open(&writer, &file, NULL, 0, NULL));
    EXPECT(HANDLE, tenslice_writer_length(NULL, &length));
    EXPECT(BAD, tenslice_writer_length(&writer, NULL));
    EXPECT(HANDLE, tenslice_writer_position(&unset, &length));
    EXPECT(BAD, tenslice_writer_position(&writer, NULL));
    EXPECT(HANDLE, tenslice_writer_begin(NULL, &sink, NULL));
    EXPECT(BAD, tenslice_writer_begin(&writer, NULL, NULL));
    EXPECT(BAD, tenslice_writer_begin(&writer, &no_sink, NULL));
    EXPECT(BAD, tenslice_writer_begin(&writer, ODD(tenslice_sink, odd_sink), NULL));
    EXPECT(HANDLE, tenslice_writer_resume(NULL, &sink, 0, NULL));
    EXPECT(BAD, tenslice_writer_resume(&writer, NULL, 0, NULL));
    EXPECT(TENSLICE_OK, tenslice_writer_begin(&writer, &sink, NULL)); /* the refused calls have not begun it */
    EXPECT(HANDLE, tenslice_writer_due(NULL, &due));
    EXPECT(BAD, tenslice_writer_due(&writer, NULL));
    EXPECT(HANDLE, tenslice_writer_data(NULL, &sink, "data", 4, NULL));
    EXPECT(BAD, tenslice_writer_data(&writer, NULL, "data", 4, NULL));
    EXPECT(BAD, tenslice_writer_data(&writer, &sink, NULL, 4, NULL));
    EXPECT(BAD, tenslice_writer_data(&writer, &sink, "data", SIZE_MAX, NULL));
    EXPECT(HANDLE, tenslice_writer_finish(NULL, &sink, NULL));
    EXPECT(BAD, tenslice_writer_finish(&writer, NULL, NULL));
    EXPECT(TENSLICE_OK, tenslice_writer_data(&writer, &sink, "datadata", 8, NULL)); /* nor changed it since */
    EXPECT(TENSLICE_OK, tenslice_writer_finish(&writer, &sink, NULL));
    EXPECT(TENSLICE_WRONG_STATE, tenslice_writer_finish(&writer, &sink, &error));
    EXPECT(BAD, tenslice_writer_error_text(NULL, &error, text, sizeof text, &needed));
    EXPECT(BAD, tenslice_writer_error_text(&file, NULL, text, sizeof text, &needed));
    EXPECT(BAD, tenslice_writer_error_text(&file, &error, NULL, 8, &needed));
    error.kind = 7;
    EXPECT(BAD, tenslice_writer_error_text(&file, &error, text, sizeof text, &needed));
    EXPECT(BAD, tenslice_new_tensors_sort(TENSLICE_FORMAT_SAFETENSORS, NULL, 2));
    EXPECT(BAD, tenslice_new_tensors_sort(256, tensors, 2));
    EXPECT(BAD, tenslice_new_tensors_sort(TENSLICE_FORMAT_SAFETENSORS, ODD(tenslice_new_tensor, odd), 2));
    EXPECT(BAD, tenslice_new_tensors_sort(TENSLICE_FORMAT_SAFETENSORS, tensors, SIZE_MAX / 8));
    EXPECT(TENSLICE_NOT_BUILT_IN, tenslice_new_tensors_sort(TENSLICE_FORMAT_HDF5, tensors, 2));
    CHECK(memcmp(before, tensors, sizeof before) == 0);
    CHECK(IS_MARKED(unwritten) && IS_MARKED(words) && IS_MARKED(length) && IS_MARKED(text) && IS_MARKED(needed));
}

/* `other` is a file of another format. */
static void tens(const tenslice_file *file, const tenslice_file *other)
{
    tenslice_cursor cursor;
    tenslice_tens_dimension dimension;
    tenslice_tens_chunk chunk;
    tenslice_bytes value;
    uint64_t index[5] = {0, 0, 0, 0, 0};
    uint32_t places[5];

    dimension.struct_size = sizeof dimension;
    chunk.struct_size = sizeof chunk;
    EXPECT(HANDLE, tenslice_tens_get_dimension(NULL, 0, &dimension));
    EXPECT(BAD, tenslice_tens_get_dimension(other, 0, &dimension));
    EXPECT(BAD, tenslice_tens_get_dimension(file, 0, NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_tens_get_dimension(file, UINT32_MAX, &dimension));
    EXPECT(HANDLE, tenslice_tens_chunks(NULL, &cursor));
    EXPECT(BAD, tenslice_tens_chunks(other, &cursor));
    EXPECT(BAD, tenslice_tens_chunks(file, NULL));
    EXPECT(TENSLICE_OK, tenslice_tens_chunks(file, &cursor));
    EXPECT(HANDLE, tenslice_tens_chunks_next(NULL, &chunk, NULL));
    EXPECT(BAD, tenslice_tens_chunks_next(&cursor, NULL, NULL));
    EXPECT(HANDLE, tenslice_tens_permutation(NULL, 0, places, 4, NULL));
    EXPECT(BAD, tenslice_tens_permutation(other, 0, places, 4, NULL));
    EXPECT(BAD, tenslice_tens_permutation(file, 0, NULL, 4, NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_tens_permutation(file, 0, places, 4, NULL));
    EXPECT(HANDLE, tenslice_tens_element(NULL, index, 4, &value, NULL));
    EXPECT(BAD, tenslice_tens_element(other, index, 4, &value, NULL));
    EXPECT(BAD, tenslice_tens_element(file, NULL, 4, &value, NULL));
    EXPECT(BAD, tenslice_tens_element(file, index, SIZE_MAX / 4, &value, NULL));
    EXPECT(BAD, tenslice_tens_element(file, index, 4, NULL, NULL));
    MARK(value), MARK(places);
    EXPECT(BAD, tenslice_tens_element(file, ODD(uint64_t, index), 2, &value, NULL));
    EXPECT(BAD, tenslice_tens_permutation(file, 48, ODD(uint32_t, places), 4, NULL));
    CHECK(IS_MARKED(value) && IS_MARKED(places));
    CHECK(tenslice_binary128_to_double(0, 0) == 0);
}

static void blz(const tenslice_file *file, const tenslice_file *other)
{
    static const uint64_t many[1000] = {0};
    tenslice_blz_info info;
    tenslice_blz_core core;
    tenslice_blz_scratch needed;
    tenslice_train train, unset;
    tenslice_scaled scaled;
    double value[3];
    uint64_t index[3] = {0, 0, 0}, length;
    char room[64];

    memset(&unset, 0, sizeof unset);
    info.struct_size = sizeof info;
    core.struct_size = sizeof core;
    needed.struct_size = sizeof needed;
    EXPECT(HANDLE, tenslice_blz_get_info(NULL, &info));
    EXPECT(BAD, tenslice_blz_get_info(other, &info));
    EXPECT(BAD, tenslice_blz_get_info(file, NULL));
    EXPECT(HANDLE, tenslice_blz_get_core(NULL, 0, &core));
    EXPECT(BAD, tenslice_blz_get_core(other, 0, &core));
    EXPECT(BAD, tenslice_blz_get_core(file, 0, NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_blz_get_core(file, 255, &core));
    EXPECT(HANDLE, tenslice_blz_train(NULL, &train, NULL));
    EXPECT(BAD, tenslice_blz_train(other, &train, NULL));
    EXPECT(BAD, tenslice_blz_train(file, NULL, NULL));
    EXPECT(HANDLE, tenslice_blz_train_from_bytes(NULL, room, 8, &train, NULL));
    EXPECT(BAD, tenslice_blz_train_from_bytes(file, NULL, 8, &train, NULL));
    EXPECT(BAD, tenslice_blz_train_from_bytes(file, room, 8, NULL, NULL));
    EXPECT(TENSLICE_WRONG_LENGTH, tenslice_blz_train_from_bytes(file, room, 8, &train, NULL));
    EXPECT(TENSLICE_OK, tenslice_blz_train(file, &train, NULL));
    EXPECT(HANDLE, tenslice_blz_get_scratch(NULL, &needed));
    EXPECT(HANDLE, tenslice_blz_get_scratch(&unset, &needed));
    EXPECT(BAD, tenslice_blz_get_scratch(&train, NULL));
    EXPECT(HANDLE, tenslice_blz_element(NULL, index, 2, room, sizeof room, value, NULL));
    EXPECT(BAD, tenslice_blz_element(&train, NULL, 2, room, sizeof room, value, NULL));
    EXPECT(BAD, tenslice_blz_element(&train, index, 2, NULL, sizeof room, value, NULL));
    EXPECT(BAD, tenslice_blz_element(&train, index, 2, room, sizeof room, NULL, NULL));
    EXPECT(TENSLICE_OUT_OF_SCRATCH, tenslice_blz_element(&train, index, 2, NULL, 0, value, NULL));
    EXPECT(HANDLE, tenslice_blz_slice(NULL, index, 2, room, 8, room + 8, 8, &length, NULL));
    EXPECT(BAD, tenslice_blz_slice(&train, NULL, 2, room, 8, room + 8, 8, &length, NULL));
    EXPECT(BAD, tenslice_blz_slice(&train, index, 2, NULL, 8, room, 8, &length, NULL));
    EXPECT(BAD, tenslice_blz_slice(&train, index, 2, room, 8, NULL, 8, &length, NULL));
    EXPECT(TENSLICE_WRONG_RANK, tenslice_blz_slice(&train, many, 1000, room, 8, NULL, 0, NULL, NULL));
    EXPECT(HANDLE, tenslice_blz_sum(NULL, room, sizeof room, &scaled, NULL));
    EXPECT(BAD, tenslice_blz_sum(&train, room, sizeof room, NULL, NULL));
    EXPECT(HANDLE, tenslice_blz_norm(NULL, room, sizeof room, &scaled, NULL));
    EXPECT(BAD, tenslice_blz_norm(&train, room, sizeof room, NULL, NULL));
    EXPECT(HANDLE, tenslice_blz_inner(NULL, &train, room, sizeof room, &scaled, NULL, NULL));
    EXPECT(HANDLE, tenslice_blz_inner(&train, NULL, room, sizeof room, &scaled, NULL, NULL));
    EXPECT(BAD, tenslice_blz_inner(&train, &train, room, sizeof room, NULL, NULL, NULL));
    EXPECT(TENSLICE_OUT_OF_SCRATCH, tenslice_blz_inner(&train, &train, NULL, 0, &scaled, &length, NULL));
    CHECK(length > 0);

    MARK(value), MARK(room), MARK(length);
    EXPECT(BAD, tenslice_blz_element(&train, ODD(uint64_t, index), 2, NULL, 0, value, NULL));
    EXPECT(BAD, tenslice_blz_element(&train, index, 2, NULL, 0, ODD(double, value), NULL));
    EXPECT(BAD, tenslice_blz_slice(&train, ODD(uint64_t, index), 2, room, sizeof room, NULL, 0, &length, NULL));
    EXPECT(BAD, tenslice_blz_slice(&train, index, 2, room, sizeof room, NULL, 0, ODD(uint64_t, value), NULL));
    CHECK(IS_MARKED(value) && IS_MARKED(room) && IS_MARKED(length));
}

static void b2nd(const tenslice_file *file, const tenslice_file *other)
{
    tenslice_b2nd_info info;
    tenslice_b2nd_chunk chunk;
    tenslice_b2nd_metalayer metalayer;
    uint64_t start[2] = {0, 0}, stop[2] = {1, 1}, zeros[3] = {0, 0, 0}, numbers[3], length;
    tenslice_requirements odd[2];
    uint32_t rank;
    unsigned char room[64];

    info.struct_size = sizeof info;
    chunk.struct_size = sizeof chunk;
    metalayer.struct_size = sizeof metalayer;
    EXPECT(HANDLE, tenslice_b2nd_get_info(NULL, &info));
    EXPECT(BAD, tenslice_b2nd_get_info(other, &info));
    EXPECT(BAD, tenslice_b2nd_get_info(file, NULL));
    EXPECT(HANDLE, tenslice_b2nd_chunk_shape(NULL, 0, stop, 2, &rank));
    EXPECT(BAD, tenslice_b2nd_chunk_shape(other, 0, stop, 2, &rank));
    EXPECT(BAD, tenslice_b2nd_chunk_shape(file, 0, NULL, 2, &rank));
    EXPECT(HANDLE, tenslice_b2nd_get_chunk(NULL, 0, NULL, &chunk, NULL));
    EXPECT(BAD, tenslice_b2nd_get_chunk(other, 0, NULL, &chunk, NULL));
    EXPECT(BAD, tenslice_b2nd_get_chunk(file, 0, OPTIONS(NULL, NULL, 8), &chunk, NULL));
    EXPECT(BAD, tenslice_b2nd_get_chunk(file, 0, NULL, NULL, NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_b2nd_get_chunk(file, UINT64_MAX, NULL, &chunk, NULL));
    EXPECT(HANDLE, tenslice_b2nd_chunk_extent(NULL, 0, NULL, &length, &length, NULL));
    EXPECT(BAD, tenslice_b2nd_chunk_extent(other, 0, NULL, &length, &length, NULL));
    EXPECT(BAD, tenslice_b2nd_chunk_extent(file, 0, NULL, NULL, &length, NULL));
    EXPECT(BAD, tenslice_b2nd_chunk_extent(file, 0, NULL, &length, NULL, NULL));
    EXPECT(BAD, tenslice_b2nd_chunk_extent(file, 0, OPTIONS(NULL, NULL, 8), &length, &length, NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_b2nd_chunk_extent(file, 9, NULL, &length, &length, NULL));
    EXPECT(HANDLE, tenslice_b2nd_uninitialised_chunks(NULL, NULL, &length, NULL));
    EXPECT(BAD, tenslice_b2nd_uninitialised_chunks(other, NULL, &length, NULL));
    EXPECT(BAD, tenslice_b2nd_uninitialised_chunks(file, OPTIONS(NULL, NULL, 8), &length, NULL));
    EXPECT(BAD, tenslice_b2nd_uninitialised_chunks(file, NULL, NULL, NULL));
    EXPECT(HANDLE, tenslice_b2nd_read_chunk(NULL, 0, room, sizeof room, NULL, &length, NULL));
    EXPECT(BAD, tenslice_b2nd_read_chunk(other, 0, room, sizeof room, NULL, &length, NULL));
    EXPECT(BAD, tenslice_b2nd_read_chunk(file, 0, NULL, 8, NULL, &length, NULL));
    EXPECT(BAD, tenslice_b2nd_read_chunk(file, 0, room, sizeof room, OPTIONS(NULL, NULL, 8), &length, NULL));
    EXPECT(HANDLE, tenslice_b2nd_get_metalayer(NULL, 0, 0, &metalayer));
    EXPECT(BAD, tenslice_b2nd_get_metalayer(other, 0, 0, &metalayer));
    EXPECT(BAD, tenslice_b2nd_get_metalayer(file, 0, 0, NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_b2nd_get_metalayer(file, 0, UINT32_MAX, &metalayer));
    EXPECT(HANDLE, tenslice_b2nd_read_metalayer(NULL, 0, room, sizeof room, NULL, &length, NULL));
    EXPECT(BAD, tenslice_b2nd_read_metalayer(other, 0, room, sizeof room, NULL, &length, NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_b2nd_read_metalayer(file, 0, room, sizeof room, NULL, &length, NULL));
    EXPECT(HANDLE, region_needs(NULL, start, stop, 2, &length, NULL, NULL));
    EXPECT(BAD, region_needs(other, start, stop, 2, &length, NULL, NULL));
    EXPECT(BAD, region_needs(file, NULL, stop, 2, &length, NULL, NULL));
    EXPECT(BAD, region_needs(file, start, NULL, 2, &length, NULL, NULL));
    EXPECT(TENSLICE_WRONG_RANK, region_needs(file, NULL, NULL, 0, &length, NULL, NULL));
    EXPECT(HANDLE, tenslice_b2nd_region_work(NULL, start, stop, 2, &length, NULL));
    EXPECT(BAD, tenslice_b2nd_region_work(other, start, stop, 2, &length, NULL));
    EXPECT(BAD, tenslice_b2nd_region_work(file, NULL, stop, 2, &length, NULL));
    EXPECT(BAD, tenslice_b2nd_region_work(file, start, stop, 2, NULL, NULL));
    EXPECT(TENSLICE_WRONG_RANK, tenslice_b2nd_region_work(file, NULL, NULL, 0, &length, NULL));
    EXPECT(HANDLE, tenslice_b2nd_read_region(NULL, start, stop, 2, room, 4, OPTIONS(NULL, room + 4, 4), &length, NULL));
    EXPECT(BAD, tenslice_b2nd_read_region(other, start, stop, 2, room, 4, OPTIONS(NULL, room + 4, 4), &length, NULL));
    EXPECT(BAD, tenslice_b2nd_read_region(file, start, NULL, 2, room, 4, NULL, &length, NULL));
    EXPECT(BAD, tenslice_b2nd_read_region(file, start, stop, 2, NULL, 4, NULL, &length, NULL));
    EXPECT(BAD, tenslice_b2nd_read_region(file, start, stop, 2, room, 4, OPTIONS(NULL, NULL, 8), &length, NULL));
    EXPECT(BAD, tenslice_b2nd_read_region(file, start, stop, SIZE_MAX / 4, room, 4, NULL, &length, NULL));

    MARK(numbers), MARK(room), MARK(rank), MARK(length);
    EXPECT(BAD, tenslice_b2nd_chunk_shape(file, 0, ODD(uint64_t, numbers), 2, &rank));
    EXPECT(BAD, tenslice_b2nd_chunk_shape(file, 1, ODD(uint64_t, numbers), 2, &rank));
    EXPECT(BAD, region_needs(file, ODD(uint64_t, zeros), zeros, 2, &length, &length, NULL));
    EXPECT(BAD, region_needs(file, zeros, ODD(uint64_t, zeros), 2, &length, &length, NULL));
    EXPECT(BAD, tenslice_b2nd_region_requirements(file, zeros, zeros, 2, ODD(tenslice_requirements, odd), NULL));
    EXPECT(BAD, tenslice_b2nd_region_requirements(file, zeros, zeros, 2, NULL, NULL));
    EXPECT(BAD, tenslice_b2nd_region_work(file, ODD(uint64_t, zeros), zeros, 2, &length, NULL));
    EXPECT(BAD, tenslice_b2nd_region_work(file, zeros, zeros, 2, ODD(uint64_t, numbers), NULL));
    EXPECT(BAD, tenslice_b2nd_read_region(file, ODD(uint64_t, zeros), zeros, 2, room, 64, NULL, &length, NULL));
    EXPECT(BAD, tenslice_b2nd_read_region(file, zeros, ODD(uint64_t, zeros), 2, room, 64, NULL, &length, NULL));
    CHECK(IS_MARKED(numbers) && IS_MARKED(room) && IS_MARKED(rank) && IS_MARKED(length));
    /* The same call with aligned memory succeeds. */
    EXPECT(TENSLICE_OK, region_needs(file, zeros, zeros, 2, &length, NULL, NULL));
    CHECK(length == 0);
}

static void arrays(const tenslice_file *npy, const tenslice_file *npz, const tenslice_file *other)
{
    tenslice_str descr;
    tenslice_cursor cursor;
    tenslice_npz_entry entry;

    entry.struct_size = sizeof entry;
    EXPECT(HANDLE, tenslice_npy_descr(NULL, &descr));
    EXPECT(BAD, tenslice_npy_descr(other, &descr));
    EXPECT(BAD, tenslice_npy_descr(npy, NULL));
    EXPECT(HANDLE, tenslice_npz_entries(NULL, &cursor));
    EXPECT(BAD, tenslice_npz_entries(npy, &cursor));
    EXPECT(BAD, tenslice_npz_entries(npz, NULL));
    EXPECT(TENSLICE_OK, tenslice_npz_entries(npz, &cursor));
    EXPECT(HANDLE, tenslice_npz_entries_next(NULL, &entry, NULL));
    EXPECT(BAD, tenslice_npz_entries_next(&cursor, NULL, NULL));
    entry.struct_size = sizeof entry - 1;
    EXPECT(BAD, tenslice_npz_entries_next(&cursor, &entry, NULL));
}

static void code(const tenslice_file *pytorch, const tenslice_file *other)
{
    tenslice_cursor cursor;
    tenslice_pytorch_global global;

    global.struct_size = sizeof global;
    EXPECT(HANDLE, tenslice_pytorch_globals(NULL, &cursor));
    EXPECT(BAD, tenslice_pytorch_globals(other, &cursor));
    EXPECT(BAD, tenslice_pytorch_globals(pytorch, NULL));
    EXPECT(TENSLICE_OK, tenslice_pytorch_globals(pytorch, &cursor));
    EXPECT(HANDLE, tenslice_pytorch_globals_next(NULL, &global, NULL));
    EXPECT(BAD, tenslice_pytorch_globals_next(&cursor, NULL, NULL));
    global.struct_size = sizeof global - 1;
    EXPECT(BAD, tenslice_pytorch_globals_next(&cursor, &global, NULL));
}

/* The facts about an ONNX model and its sets of operators. */
static void model_facts(const char *folder, const tenslice_file *other)
{
    blob b = load(folder, "onnx/py_metadata.onnx");
    tenslice_file file;
    tenslice_cursor cursor;
    tenslice_onnx_info info;
    tenslice_onnx_opset opset;

    info.struct_size = sizeof info;
    opset.struct_size = sizeof opset;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(HANDLE, tenslice_onnx_get_info(NULL, &info));
    EXPECT(BAD, tenslice_onnx_get_info(other, &info));
    EXPECT(BAD, tenslice_onnx_get_info(&file, NULL));
    EXPECT(TENSLICE_OK, tenslice_onnx_get_info(&file, &info));
    info.struct_size = sizeof info - 1;
    EXPECT(BAD, tenslice_onnx_get_info(&file, &info));
    EXPECT(HANDLE, tenslice_onnx_opsets(NULL, &cursor));
    EXPECT(BAD, tenslice_onnx_opsets(other, &cursor));
    EXPECT(BAD, tenslice_onnx_opsets(&file, NULL));
    EXPECT(TENSLICE_OK, tenslice_onnx_opsets(&file, &cursor));
    EXPECT(HANDLE, tenslice_onnx_opsets_next(NULL, &opset, NULL));
    EXPECT(BAD, tenslice_onnx_opsets_next(&cursor, NULL, NULL));
    opset.struct_size = sizeof opset - 1;
    EXPECT(BAD, tenslice_onnx_opsets_next(&cursor, &opset, NULL));
    free(b.data);
}

static void subgraphs(const char *folder, const tenslice_file *other)
{
    blob a = load(folder, "tflite/py_subgraphs.tflite"), b = load(folder, "tflite/py_strings.tflite");
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_cursor cursor;
    tenslice_tflite_subgraph subgraph;
    tenslice_str text;

    subgraph.struct_size = sizeof subgraph;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, a.data, a.size, NULL));
    EXPECT(HANDLE, tenslice_tflite_subgraphs(NULL, &cursor));
    EXPECT(BAD, tenslice_tflite_subgraphs(other, &cursor));
    EXPECT(BAD, tenslice_tflite_subgraphs(&file, NULL));
    EXPECT(TENSLICE_OK, tenslice_tflite_subgraphs(&file, &cursor));
    EXPECT(HANDLE, tenslice_tflite_subgraphs_next(NULL, &subgraph, NULL));
    EXPECT(BAD, tenslice_tflite_subgraphs_next(&cursor, NULL, NULL));
    subgraph.struct_size = sizeof subgraph - 1;
    EXPECT(BAD, tenslice_tflite_subgraphs_next(&cursor, &subgraph, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(other, "t.float64", 9, &tensor, NULL));
    EXPECT(BAD, tenslice_tflite_texts(&tensor, &cursor, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "words", 5, &tensor, NULL));
    EXPECT(HANDLE, tenslice_tflite_texts(NULL, &cursor, NULL));
    EXPECT(BAD, tenslice_tflite_texts(&tensor, NULL, NULL));
    EXPECT(TENSLICE_OK, tenslice_tflite_texts(&tensor, &cursor, NULL));
    EXPECT(HANDLE, tenslice_tflite_texts_next(NULL, &text));
    EXPECT(BAD, tenslice_tflite_texts_next(&cursor, NULL));
    free(a.data);
    free(b.data);
}

static void segments(const tenslice_file *ptd, const tenslice_file *other)
{
    tenslice_cursor cursor;
    tenslice_ptd_segment segment;

    segment.struct_size = sizeof segment;
    EXPECT(HANDLE, tenslice_ptd_segments(NULL, &cursor));
    EXPECT(BAD, tenslice_ptd_segments(other, &cursor));
    EXPECT(BAD, tenslice_ptd_segments(ptd, NULL));
    EXPECT(TENSLICE_OK, tenslice_ptd_segments(ptd, &cursor));
    EXPECT(HANDLE, tenslice_ptd_segments_next(NULL, &segment, NULL));
    EXPECT(BAD, tenslice_ptd_segments_next(&cursor, NULL, NULL));
    segment.struct_size = sizeof segment - 1;
    EXPECT(BAD, tenslice_ptd_segments_next(&cursor, &segment, NULL));
}

/* The shards of a zTensor 2 file. */
static void listed_shards(const char *folder, const tenslice_file *other)
{
    blob b = load(folder, "v2/shards.zt");
    tenslice_file file;
    tenslice_cursor cursor;
    tenslice_ztensor2_shard shard;

    shard.struct_size = sizeof shard;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(HANDLE, tenslice_ztensor2_shards(NULL, &cursor));
    EXPECT(BAD, tenslice_ztensor2_shards(other, &cursor));
    EXPECT(BAD, tenslice_ztensor2_shards(&file, NULL));
    EXPECT(TENSLICE_OK, tenslice_ztensor2_shards(&file, &cursor));
    EXPECT(HANDLE, tenslice_ztensor2_shards_next(NULL, &shard, NULL));
    EXPECT(BAD, tenslice_ztensor2_shards_next(&cursor, NULL, NULL));
    shard.struct_size = sizeof shard - 1;
    EXPECT(BAD, tenslice_ztensor2_shards_next(&cursor, &shard, NULL));
    EXPECT(HANDLE, tenslice_ztensor2_check_shard(NULL, "base", 4, b.data, b.size, NULL, NULL));
    EXPECT(BAD, tenslice_ztensor2_check_shard(other, "base", 4, b.data, b.size, NULL, NULL));
    EXPECT(BAD, tenslice_ztensor2_check_shard(&file, NULL, 4, b.data, b.size, NULL, NULL));
    EXPECT(BAD, tenslice_ztensor2_check_shard(&file, "base", 4, NULL, b.size, NULL, NULL));
    EXPECT(BAD, tenslice_ztensor2_check_shard(&file, "base", SIZE_MAX - 1, b.data, b.size, NULL, NULL));
    EXPECT(BAD, tenslice_ztensor2_check_shard(&file, "base", 4, b.data, (size_t)-1, NULL, NULL));
    free(b.data);
}

/* Getters of attributes. `other` is a cursor of another kind. */
static void attributes(const tenslice_file *gguf, const tenslice_cursor *other)
{
    tenslice_cursor all, list, unset;
    tenslice_value value;
    tenslice_str text;
    tenslice_error error;
    uint64_t number, words[8];
    int64_t integer;
    double real;
    uint32_t truth;

    memset(&unset, 0, sizeof unset);
    memset(words, 0, sizeof words);
    value.struct_size = sizeof value;
    EXPECT(TENSLICE_OK, tenslice_file_attributes(gguf, &all));
    EXPECT(HANDLE, tenslice_attributes_length(NULL, &number));
    EXPECT(HANDLE, tenslice_attributes_length(&unset, &number));
    EXPECT(HANDLE, tenslice_attributes_length(other, &number));
    EXPECT(BAD, tenslice_attributes_length(&all, NULL));
    EXPECT(HANDLE, tenslice_attributes_extent(NULL, &number, &words[0]));
    EXPECT(HANDLE, tenslice_attributes_extent(&unset, &number, &words[0]));
    EXPECT(HANDLE, tenslice_attributes_extent(other, &number, &words[0]));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_attributes_extent(&all, &number, &words[0])); /* not a list */
    EXPECT(TENSLICE_OK, tenslice_attributes_get(&all, "a.uint16", 8, &value, NULL));
    EXPECT(TENSLICE_OK, tenslice_value_items(&value, &list));
    EXPECT(TENSLICE_OK, tenslice_attributes_extent(&list, &number, &words[0]));
    EXPECT(BAD, tenslice_attributes_extent(&list, NULL, &words[0]));
    EXPECT(BAD, tenslice_attributes_extent(&list, &number, NULL));
    EXPECT(HANDLE, tenslice_attributes_get(NULL, "k.u8", 4, &value, NULL));
    EXPECT(HANDLE, tenslice_attributes_get(&unset, "k.u8", 4, &value, NULL));
    EXPECT(HANDLE, tenslice_attributes_get(other, "k.u8", 4, &value, NULL));
    EXPECT(BAD, tenslice_attributes_get(&all, NULL, 4, &value, NULL));
    EXPECT(BAD, tenslice_attributes_get(&all, "k.u8", SIZE_MAX - 1, &value, NULL));
    EXPECT(BAD, tenslice_attributes_get(&all, "k.u8", 4, NULL, NULL));
    EXPECT(HANDLE, tenslice_attributes_get_u64(NULL, "k.u8", 4, &number, NULL));
    EXPECT(BAD, tenslice_attributes_get_u64(&all, NULL, 4, &number, NULL));
    EXPECT(BAD, tenslice_attributes_get_u64(&all, "k.u8", 4, NULL, NULL));
    EXPECT(HANDLE, tenslice_attributes_get_i64(NULL, "k.u8", 4, &integer, NULL));
    EXPECT(BAD, tenslice_attributes_get_i64(&all, NULL, 4, &integer, NULL));
    EXPECT(BAD, tenslice_attributes_get_i64(&all, "k.u8", 4, NULL, NULL));
    EXPECT(HANDLE, tenslice_attributes_get_f64(NULL, "k.f32", 5, &real, NULL));
    EXPECT(BAD, tenslice_attributes_get_f64(&all, NULL, 5, &real, NULL));
    EXPECT(BAD, tenslice_attributes_get_f64(&all, "k.f32", 5, NULL, NULL));
    EXPECT(HANDLE, tenslice_attributes_get_bool(NULL, "k.true", 6, &truth, NULL));
    EXPECT(BAD, tenslice_attributes_get_bool(&all, NULL, 6, &truth, NULL));
    EXPECT(BAD, tenslice_attributes_get_bool(&all, "k.true", 6, NULL, NULL));
    EXPECT(HANDLE, tenslice_attributes_get_str(NULL, "k.str", 5, &text, NULL));
    EXPECT(BAD, tenslice_attributes_get_str(&all, NULL, 5, &text, NULL));
    EXPECT(BAD, tenslice_attributes_get_str(&all, "k.str", 5, NULL, NULL));

    MARK(value), MARK(text), MARK(number), MARK(integer), MARK(real), MARK(truth), MARK(words);
    EXPECT(BAD, tenslice_attributes_length(&all, ODD(uint64_t, words)));
    EXPECT(BAD, tenslice_attributes_extent(&list, &number, ODD(uint64_t, words)));
    EXPECT(BAD, tenslice_attributes_extent(&list, ODD(uint64_t, words), &number));
    EXPECT(BAD, tenslice_attributes_get_u64(&all, "k.u8", 4, ODD(uint64_t, words), NULL));
    EXPECT(BAD, tenslice_attributes_get_i64(&all, "k.u8", 4, ODD(int64_t, words), NULL));
    EXPECT(BAD, tenslice_attributes_get_f64(&all, "k.f32", 5, ODD(double, words), NULL));
    EXPECT(BAD, tenslice_attributes_get_bool(&all, "k.true", 6, ODD(uint32_t, words), NULL));
    EXPECT(BAD, tenslice_attributes_get_str(&all, "k.str", 5, ODD(tenslice_str, words), NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_attributes_get_u64(&all, NULL, 0, &number, &error));
    CHECK(error.kind == TENSLICE_NOT_FOUND);
    EXPECT(TENSLICE_WRONG_TYPE, tenslice_attributes_get_u64(&all, "k.str", 5, &number, &error));
    CHECK(error.kind == TENSLICE_WRONG_TYPE);
    EXPECT(TENSLICE_WRONG_TYPE, tenslice_attributes_get_i64(&all, "k.u64", 5, &integer, NULL));
    EXPECT(TENSLICE_WRONG_TYPE, tenslice_attributes_get_f64(&all, "k.u8", 4, &real, NULL));
    EXPECT(TENSLICE_WRONG_TYPE, tenslice_attributes_get_bool(&all, "k.u8", 4, &truth, NULL));
    EXPECT(TENSLICE_WRONG_TYPE, tenslice_attributes_get_str(&all, "k.u8", 4, &text, NULL));
    value.struct_size = sizeof value - 1;
    EXPECT(BAD, tenslice_attributes_get(&all, "k.u8", 4, &value, NULL));
    MARK(value.struct_size);
    CHECK(IS_MARKED(value) && IS_MARKED(text) && IS_MARKED(number) && IS_MARKED(integer) && IS_MARKED(real));
    CHECK(IS_MARKED(truth) && IS_MARKED(words));
}

/* `other` is a file of another format, `cursor` a cursor of another kind. */
static void gguf(const char *folder, const tenslice_file *other, tenslice_cursor *cursor)
{
    static const char first[] = "model-00001-of-00002.gguf";
    blob b = load(folder, "gguf/kv_all_types.gguf"), c = load(folder, "gguf-blocks/q8_0.gguf");
    tenslice_file files[2];
    tenslice_cursor infos;
    tenslice_tensor tensor, unset;
    tenslice_gguf_file_info about;
    tenslice_gguf_tensor_info info;
    uint64_t words[64], elements, bytes;
    uint32_t number;
    size_t needed;
    char name[32];

    memset(&unset, 0, sizeof unset);
    about.struct_size = sizeof about;
    info.struct_size = sizeof info;
    EXPECT(TENSLICE_OK, tenslice_file_open(&files[0], b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_open(&files[1], c.data, c.size, NULL));
    attributes(&files[0], cursor);

    EXPECT(HANDLE, tenslice_gguf_get_info(NULL, &about));
    EXPECT(BAD, tenslice_gguf_get_info(other, &about));
    EXPECT(BAD, tenslice_gguf_get_info(files, NULL));
    about.struct_size = sizeof about - 1;
    EXPECT(BAD, tenslice_gguf_get_info(files, &about));
    EXPECT(HANDLE, tenslice_gguf_infos(NULL, &infos));
    EXPECT(BAD, tenslice_gguf_infos(other, &infos));
    EXPECT(BAD, tenslice_gguf_infos(files, NULL));
    EXPECT(TENSLICE_OK, tenslice_gguf_infos(files, &infos));
    EXPECT(HANDLE, tenslice_gguf_infos_next(NULL, &info, NULL));
    EXPECT(HANDLE, tenslice_gguf_infos_next(cursor, &info, NULL));
    EXPECT(BAD, tenslice_gguf_infos_next(&infos, NULL, NULL));
    EXPECT(HANDLE, tenslice_attributes_next(&infos, NULL, NULL, NULL));
    info.struct_size = 4;
    EXPECT(BAD, tenslice_gguf_infos_next(&infos, &info, NULL));
    info.struct_size = sizeof info;
    EXPECT(TENSLICE_OK, tenslice_gguf_infos_next(&infos, &info, NULL)); /* still the first */
    CHECK(same(info.name, "t"));

    MARK(needed), MARK(name), MARK(words);
    EXPECT(BAD, tenslice_gguf_part_name(NULL, 25, 1, name, sizeof name, &needed));
    EXPECT(BAD, tenslice_gguf_part_name(first, SIZE_MAX - 1, 1, name, sizeof name, &needed));
    EXPECT(BAD, tenslice_gguf_part_name(first, 25, 1, NULL, sizeof name, &needed));
    EXPECT(BAD, tenslice_gguf_part_name(first, 25, 1, name, SIZE_MAX, &needed));
    EXPECT(BAD, tenslice_gguf_part_name(first, 25, 1, name, sizeof name, ODD(size_t, words)));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_gguf_part_name(NULL, 0, 0, name, sizeof name, &needed));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_gguf_part_name(first, 25, UINT64_MAX, name, sizeof name, &needed));
    EXPECT(TENSLICE_TOO_SMALL, tenslice_gguf_part_name(first, 25, 1, name, 25, NULL));
    CHECK(IS_MARKED(needed) && IS_MARKED(name) && IS_MARKED(words));

    EXPECT(TENSLICE_OK, tenslice_file_tensors(&files[1], &infos));
    EXPECT(TENSLICE_OK, tenslice_tensors_next(&infos, &tensor, NULL));
    MARK(number), MARK(elements), MARK(bytes);
    EXPECT(HANDLE, tenslice_tensor_block(NULL, &number, &elements, &bytes));
    EXPECT(HANDLE, tenslice_tensor_block(&unset, &number, &elements, &bytes));
    EXPECT(BAD, tenslice_tensor_block(&tensor, ODD(uint32_t, words), NULL, NULL));
    EXPECT(BAD, tenslice_tensor_block(&tensor, NULL, ODD(uint64_t, words), NULL));
    EXPECT(BAD, tenslice_tensor_block(&tensor, NULL, NULL, ODD(uint64_t, words)));
    EXPECT(TENSLICE_OK, tenslice_file_find(files, "t", 1, &tensor, NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_tensor_block(&tensor, &number, &elements, &bytes));
    CHECK(IS_MARKED(number) && IS_MARKED(elements) && IS_MARKED(bytes) && IS_MARKED(words));
    free(b.data);
    free(c.data);
}

static void models(const char *folder, const tenslice_file *file)
{
    blob b = load(folder, "safetensors/rs_sharded.safetensors.index.json");
    tenslice_model_file files[2], unset[2];
    tenslice_model model, no_model;
    tenslice_model_tensors tensors;
    tenslice_model_problems problems;
    tenslice_problem problem, no_problem;
    tenslice_problem_info info;
    tenslice_safetensors_index index, no_index;
    tenslice_tensor tensor;
    tenslice_component component, no_component;
    tenslice_bytes bytes;
    tenslice_floats floats;
    tenslice_error error;
    tenslice_str name;
    tenslice_file opened, no_file;
    uint64_t number, odd[64];
    uint32_t words[200], spare[1];
    size_t count;
    char text[200];

    memset(unset, 0, sizeof unset), memset(&no_model, 0, sizeof no_model), memset(&no_index, 0, sizeof no_index);
    memset(&no_problem, 0, sizeof no_problem), memset(&no_file, 0, sizeof no_file);
    memset(&no_component, 0, sizeof no_component);
    MARK(files);
    EXPECT(BAD, tenslice_model_file_opened(NULL, "m", 1, file));
    EXPECT(BAD, tenslice_model_file_opened(files, NULL, 1, file));
    EXPECT(HANDLE, tenslice_model_file_opened(files, "m", 1, NULL));
    EXPECT(HANDLE, tenslice_model_file_opened(files, "m", 1, &no_file));
    EXPECT(BAD, tenslice_model_file_opened(files, (const char *)files, 1, file));
    EXPECT(BAD, tenslice_model_file_missing(NULL, "m", 1));
    EXPECT(BAD, tenslice_model_file_missing(files, NULL, 1));
    EXPECT(BAD, tenslice_model_file_missing(files, (const char *)files, 1));
    CHECK(tenslice_file_open(&opened, "x", 1, &error) >= 100);
    EXPECT(BAD, tenslice_model_file_invalid(NULL, "n", 1, &error, "x", 1));
    EXPECT(BAD, tenslice_model_file_invalid(files, NULL, 1, &error, "x", 1));
    EXPECT(BAD, tenslice_model_file_invalid(files, "n", 1, NULL, "x", 1));
    EXPECT(BAD, tenslice_model_file_invalid(files, "n", 1, &error, NULL, 1));
    EXPECT(BAD, tenslice_model_file_invalid(files, "n", 1, &error, files, 1));
    EXPECT(BAD, tenslice_model_file_invalid(files, (const char *)files, 1, &error, "x", 1));
    EXPECT(BAD, tenslice_model_file_shard(NULL, "s", 1, "x", 1));
    EXPECT(BAD, tenslice_model_file_shard(files, NULL, 1, "x", 1));
    EXPECT(BAD, tenslice_model_file_shard(files, "s", 1, NULL, 1));
    EXPECT(BAD, tenslice_model_file_shard(files, "s", 1, files, 1));
    CHECK(IS_MARKED(files));

    EXPECT(TENSLICE_OK, tenslice_model_file_opened(&files[0], "m", TENSLICE_NUL, file));
    EXPECT(TENSLICE_OK, tenslice_model_file_invalid(&files[1], "n", 1, &error, "x", 1));
    MARK(count), MARK(words), MARK(model);
    EXPECT(BAD, tenslice_model_length(NULL, 2, &count));
    EXPECT(HANDLE, tenslice_model_length(unset, 2, &count));
    EXPECT(BAD, tenslice_model_length(files, SIZE_MAX, &count));
    EXPECT(BAD, tenslice_model_length(files, SIZE_MAX / sizeof *files + 1, &count));
    EXPECT(BAD, tenslice_model_length(files, 2, NULL));
    EXPECT(BAD, tenslice_model_open(NULL, files, 2, words, 200, NULL));
    EXPECT(BAD, tenslice_model_open(&model, NULL, 2, words, 200, NULL));
    EXPECT(HANDLE, tenslice_model_open(&model, unset, 2, words, 200, NULL));
    EXPECT(BAD, tenslice_model_open(&model, files, SIZE_MAX, words, 200, NULL));
    EXPECT(BAD, tenslice_model_open(&model, files, 2, NULL, 200, NULL));
    EXPECT(BAD, tenslice_model_open(&model, files, 2, words, SIZE_MAX, NULL));
    EXPECT(BAD, tenslice_model_open(&model, ODD(tenslice_model_file, odd), 1, words, 200, NULL));
    EXPECT(BAD, tenslice_model_open(&model, files, 2, (uint32_t *)(void *)files, 20, NULL));
    EXPECT(BAD, tenslice_model_open((tenslice_model *)(void *)files, files, 2, words, 200, NULL));
    CHECK(IS_MARKED(count) && IS_MARKED(words) && IS_MARKED(model));
    EXPECT(TENSLICE_OK, tenslice_model_length(files, 2, &count));
    CHECK(count == 78);
    EXPECT(TENSLICE_OUT_OF_SCRATCH, tenslice_model_open(&model, files, 2, words, 77, NULL));
    CHECK(IS_MARKED(model));

    EXPECT(HANDLE, tenslice_safetensors_model_length(NULL, &count));
    EXPECT(HANDLE, tenslice_safetensors_model_length(&no_index, &count));
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_open(&index, b.data, b.size, NULL));
    EXPECT(BAD, tenslice_safetensors_model_length(&index, NULL));
    EXPECT(TENSLICE_OK, tenslice_model_file_opened(&files[0], "m", 1, file));
    EXPECT(TENSLICE_OK, tenslice_model_file_invalid(&files[1], "n", 1, &error, "x", 1));
    EXPECT(BAD, tenslice_safetensors_model_open(NULL, &index, files, 2, words, 200, NULL));
    EXPECT(HANDLE, tenslice_safetensors_model_open(&model, NULL, files, 2, words, 200, NULL));
    EXPECT(HANDLE, tenslice_safetensors_model_open(&model, &no_index, files, 2, words, 200, NULL));
    EXPECT(BAD, tenslice_safetensors_model_open(&model, &index, NULL, 2, words, 200, NULL));
    EXPECT(HANDLE, tenslice_safetensors_model_open(&model, &index, unset, 2, words, 200, NULL));
    EXPECT(BAD, tenslice_safetensors_model_open(&model, &index, files, 2, NULL, 200, NULL));
    CHECK(IS_MARKED(model));
    EXPECT(TENSLICE_OK, tenslice_model_file_opened(&files[0], "m", 1, file));
    EXPECT(TENSLICE_OK, tenslice_model_file_invalid(&files[1], "n", 1, &error, "x", 1));
    EXPECT(TENSLICE_OK, tenslice_safetensors_model_open(&model, &index, files, 2, words, 200, NULL));

    EXPECT(TENSLICE_OK, tenslice_model_file_opened(&files[0], "m", 1, file));
    EXPECT(TENSLICE_OK, tenslice_model_file_invalid(&files[1], "n", 1, &error, "x", 1));
    EXPECT(TENSLICE_OK, tenslice_model_open(&model, files, 2, words, 78, NULL));
    MARK(tensor), MARK(number), MARK(bytes), MARK(text), MARK(component), MARK(name), MARK(opened), MARK(odd);
    EXPECT(HANDLE, tenslice_model_find(NULL, "t.float64", 9, &tensor, &number, NULL));
    EXPECT(HANDLE, tenslice_model_find(&no_model, "t.float64", 9, &tensor, &number, NULL));
    EXPECT(BAD, tenslice_model_find(&model, NULL, 9, &tensor, &number, NULL));
    EXPECT(BAD, tenslice_model_find(&model, "t.float64", 9, NULL, &number, NULL));
    EXPECT(BAD, tenslice_model_find(&model, "t.float64", 9, &tensor, ODD(uint64_t, odd), NULL));
    EXPECT(HANDLE, tenslice_model_get(NULL, "t.float64", 9, NULL, &bytes, NULL));
    EXPECT(BAD, tenslice_model_get(&model, NULL, 9, NULL, &bytes, NULL));
    EXPECT(BAD, tenslice_model_get(&model, "t.float64", 9, WANT(77777, NULL, TENSLICE_ANY_SHAPE), &bytes, NULL));
    EXPECT(BAD, tenslice_model_get(&model, "t.float64", 9, WANT(0, NULL, 2), &bytes, NULL));
    EXPECT(BAD, tenslice_model_get(&model, "t.float64", 9, NULL, NULL, NULL));
    EXPECT(HANDLE, tenslice_model_get_f32(NULL, "t.float64", 9, NULL, NULL, 0, NULL, &floats, NULL, NULL));
    EXPECT(BAD, tenslice_model_get_f32(&model, NULL, 9, NULL, NULL, 0, NULL, &floats, NULL, NULL));
    EXPECT(BAD, tenslice_model_get_f32(&model, "t.float64", 9, NULL, NULL, 0, NULL, NULL, NULL, NULL));
    EXPECT(HANDLE, tenslice_model_get_text(NULL, "t", 1, NULL, &error, text, 200, NULL));
    EXPECT(BAD, tenslice_model_get_text(&model, NULL, 1, NULL, &error, text, 200, NULL));
    EXPECT(BAD, tenslice_model_get_text(&model, "t", 1, WANT(0, NULL, 2), &error, text, 200, NULL));
    EXPECT(BAD, tenslice_model_get_text(&model, "t", 1, NULL, NULL, text, 200, NULL));
    EXPECT(BAD, tenslice_model_get_text(&model, "t", 1, NULL, &error, NULL, 200, NULL));
    EXPECT(HANDLE, tenslice_model_check_length(NULL, &count));
    EXPECT(BAD, tenslice_model_check_length(&model, NULL));
    EXPECT(HANDLE, tenslice_model_check(NULL, spare, 1, &number, NULL));
    EXPECT(BAD, tenslice_model_check(&model, NULL, 1, &number, NULL));
    EXPECT(BAD, tenslice_model_check(&model, spare, SIZE_MAX, &number, NULL));
    EXPECT(BAD, tenslice_model_check(&model, spare, 1, ODD(uint64_t, odd), NULL));
    EXPECT(HANDLE, tenslice_model_component(NULL, &no_component, &component, NULL));
    EXPECT(HANDLE, tenslice_model_component(&model, NULL, &component, NULL));
    EXPECT(HANDLE, tenslice_model_component(&model, &no_component, &component, NULL));
    EXPECT(HANDLE, tenslice_model_file_count(NULL, &number));
    EXPECT(BAD, tenslice_model_file_count(&model, NULL));
    EXPECT(HANDLE, tenslice_model_get_file(NULL, 0, &name, &opened));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_model_get_file(&model, 1, &name, &opened)); /* not open */
    EXPECT(TENSLICE_NOT_FOUND, tenslice_model_get_file(&model, 2, &name, NULL));
    CHECK(IS_MARKED(tensor) && IS_MARKED(number) && IS_MARKED(bytes) && IS_MARKED(text) && IS_MARKED(component));
    CHECK(IS_MARKED(name) && IS_MARKED(opened) && IS_MARKED(odd));

    EXPECT(HANDLE, tenslice_model_get_tensors(NULL, &tensors));
    EXPECT(BAD, tenslice_model_get_tensors(&model, NULL));
    EXPECT(TENSLICE_OK, tenslice_model_get_tensors(&model, &tensors));
    EXPECT(HANDLE, tenslice_model_next_tensor(NULL, &tensor, &number, NULL));
    EXPECT(BAD, tenslice_model_next_tensor(&tensors, NULL, &number, NULL));
    EXPECT(TENSLICE_OK, tenslice_model_next_tensor(&tensors, &tensor, &number, NULL)); /* still the first */
    CHECK(tenslice_tensor_dimension(&tensor, 0) != 0 && number == 0);
    EXPECT(TENSLICE_OK, tenslice_tensor_data(&tensor, &component, NULL));
    EXPECT(BAD, tenslice_model_component(&model, &component, NULL, NULL));
    EXPECT(HANDLE, tenslice_model_get_problems(NULL, &problems));
    EXPECT(BAD, tenslice_model_get_problems(&model, NULL));
    EXPECT(TENSLICE_OK, tenslice_model_get_problems(&model, &problems));
    EXPECT(HANDLE, tenslice_model_next_problem(NULL, &problem));
    EXPECT(BAD, tenslice_model_next_problem(&problems, NULL));
    EXPECT(TENSLICE_OK, tenslice_model_next_problem(&problems, &problem)); /* still the first */
    MARK(info);
    info.struct_size = sizeof info - 1;
    EXPECT(BAD, tenslice_problem_get_info(&problem, &info));
    EXPECT(BAD, tenslice_problem_get_info(&problem, NULL));
    info.struct_size = sizeof info;
    EXPECT(HANDLE, tenslice_problem_get_info(NULL, &info));
    EXPECT(HANDLE, tenslice_problem_get_info(&no_problem, &info));
    EXPECT(HANDLE, tenslice_problem_text(NULL, text, sizeof text, &count));
    EXPECT(BAD, tenslice_problem_text(&problem, NULL, sizeof text, &count));
    EXPECT(TENSLICE_TOO_SMALL, tenslice_problem_text(&problem, text, 4, &count));
    MARK(info.struct_size);
    CHECK(IS_MARKED(info) && IS_MARKED(text));
    EXPECT(TENSLICE_OK, tenslice_problem_text(&problem, text, count, NULL));
    CHECK(strncmp(text, "n: ", 3) == 0 && text[count - 1] == 0);
    free(b.data);
}

/* Dequantizes blocks: three of Q8_0, whose scale is 1, at an odd address. */
static void blocks(void)
{
    unsigned char room[1 + 3 * 34] = {0}, *const bytes = room + 1;
    float out[8];
    size_t i;

    for (i = 0; i < 3; i++)
        bytes[34 * i + 1] = 0x3c;
    bytes[34 + 2] = 0xff;
    EXPECT(TENSLICE_OK, tenslice_q8_0_to_f32(bytes, 3 * 34, 31, out, 3));
    CHECK(out[0] == 0 && out[1] == -1 && out[2] == 0);
    MARK(out);
    EXPECT(BAD, tenslice_q4_0_to_f32(NULL, 18, 0, out, 1));
    EXPECT(BAD, tenslice_q4_1_to_f32(NULL, 20, 0, out, 1));
    EXPECT(BAD, tenslice_q5_0_to_f32(NULL, 22, 0, out, 1));
    EXPECT(BAD, tenslice_q5_1_to_f32(NULL, 24, 0, out, 1));
    EXPECT(BAD, tenslice_q8_0_to_f32(NULL, 34, 0, out, 1));
    EXPECT(BAD, tenslice_q8_1_to_f32(NULL, 36, 0, out, 1));
    EXPECT(BAD, tenslice_q2_k_to_f32(NULL, 84, 0, out, 1));
    EXPECT(BAD, tenslice_q3_k_to_f32(NULL, 110, 0, out, 1));
    EXPECT(BAD, tenslice_q4_k_to_f32(NULL, 144, 0, out, 1));
    EXPECT(BAD, tenslice_q5_k_to_f32(NULL, 176, 0, out, 1));
    EXPECT(BAD, tenslice_q6_k_to_f32(NULL, 210, 0, out, 1));
    EXPECT(BAD, tenslice_q8_k_to_f32(NULL, 292, 0, out, 1));
    EXPECT(BAD, tenslice_iq2_xxs_to_f32(NULL, 66, 0, out, 1));
    EXPECT(BAD, tenslice_iq2_xs_to_f32(NULL, 74, 0, out, 1));
    EXPECT(BAD, tenslice_iq3_xxs_to_f32(NULL, 98, 0, out, 1));
    EXPECT(BAD, tenslice_iq1_s_to_f32(NULL, 50, 0, out, 1));
    EXPECT(BAD, tenslice_iq4_nl_to_f32(NULL, 18, 0, out, 1));
    EXPECT(BAD, tenslice_iq3_s_to_f32(NULL, 110, 0, out, 1));
    EXPECT(BAD, tenslice_iq2_s_to_f32(NULL, 82, 0, out, 1));
    EXPECT(BAD, tenslice_iq4_xs_to_f32(NULL, 136, 0, out, 1));
    EXPECT(BAD, tenslice_iq1_m_to_f32(NULL, 56, 0, out, 1));
    EXPECT(BAD, tenslice_tq1_0_to_f32(NULL, 54, 0, out, 1));
    EXPECT(BAD, tenslice_tq2_0_to_f32(NULL, 66, 0, out, 1));
    EXPECT(BAD, tenslice_mxfp4_to_f32(NULL, 17, 0, out, 1));
    EXPECT(BAD, tenslice_nvfp4_to_f32(NULL, 36, 0, out, 1));
    EXPECT(BAD, tenslice_q1_0_to_f32(NULL, 18, 0, out, 1));
    EXPECT(BAD, tenslice_q2_0_to_f32(NULL, 18, 0, out, 1));
    EXPECT(BAD, tenslice_q8_0_to_f32(bytes, 3 * 34, 0, NULL, 1));
    EXPECT(BAD, tenslice_q8_0_to_f32(bytes, 3 * 34, 0, ODD(float, out), 1));
    EXPECT(BAD, tenslice_q8_0_to_f32(bytes, 3 * 34, 0, out, SIZE_MAX));
    EXPECT(BAD, tenslice_q8_0_to_f32(bytes, 3 * 34, 0, out, SIZE_MAX / sizeof *out));
    EXPECT(BAD, tenslice_q8_0_to_f32(bytes, SIZE_MAX, 0, out, 1));
    EXPECT(TENSLICE_NO_SUCH_ELEMENT, tenslice_q8_0_to_f32(bytes, 3 * 34, 96, out, 1));
    EXPECT(TENSLICE_NO_SUCH_ELEMENT, tenslice_q8_0_to_f32(bytes, 3 * 34, UINT64_MAX, out, 8));
    EXPECT(TENSLICE_NO_SUCH_ELEMENT, tenslice_q8_0_to_f32(bytes, 3 * 34 - 1, 95, out, 1));
    EXPECT(TENSLICE_NO_SUCH_ELEMENT, tenslice_q8_0_to_f32(NULL, 0, 0, out, 1));
    EXPECT(TENSLICE_OK, tenslice_q8_0_to_f32(NULL, 0, 0, NULL, 0));
    EXPECT(TENSLICE_OK, tenslice_q8_0_to_f32(bytes, 3 * 34, 96, NULL, 0));
    CHECK(IS_MARKED(out));
}

/* Reads the numbers of a tensor of six doubles. */
static void as_floats(const tenslice_tensor *tensor)
{
    tenslice_tensor unset;
    tenslice_decoder decoder = {NULL, NULL, NULL};
    tenslice_floats numbers;
    tenslice_requirements needed;
    float out[8];
    uint64_t count, words[2];
    char scratch[8];

    memset(&unset, 0, sizeof unset);
    MARK(out), MARK(count), MARK(words);
    EXPECT(HANDLE, tenslice_tensor_read_f32(NULL, 0, out, 1, NULL));
    EXPECT(HANDLE, tenslice_tensor_read_f32(&unset, 0, out, 1, NULL));
    EXPECT(BAD, tenslice_tensor_read_f32(tensor, 0, NULL, 1, NULL));
    EXPECT(BAD, tenslice_tensor_read_f32(tensor, 0, ODD(float, out), 1, NULL));
    EXPECT(BAD, tenslice_tensor_read_f32(tensor, 0, out, SIZE_MAX, NULL));
    EXPECT(BAD, tenslice_tensor_read_f32(tensor, 0, out, SIZE_MAX / sizeof *out, NULL));
    EXPECT(TENSLICE_NO_SUCH_ELEMENT, tenslice_tensor_read_f32(tensor, 0, out, 7, NULL));
    EXPECT(TENSLICE_NO_SUCH_ELEMENT, tenslice_tensor_read_f32(tensor, 6, out, 1, NULL));
    EXPECT(TENSLICE_NO_SUCH_ELEMENT, tenslice_tensor_read_f32(tensor, UINT64_MAX, out, 1, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_read_f32(tensor, 6, NULL, 0, NULL));
    EXPECT(HANDLE, tensor_needs(NULL, TENSLICE_PURPOSE_READ_F32, NULL, &count));
    EXPECT(HANDLE, tensor_needs(&unset, TENSLICE_PURPOSE_READ_F32, NULL, &count));
    EXPECT(BAD, tenslice_tensor_requirements(tensor, TENSLICE_PURPOSE_READ_F32, NULL, NULL));
    EXPECT(HANDLE, tenslice_tensor_read_f32_into(NULL, out, 8, NULL, &count, NULL));
    EXPECT(HANDLE, tenslice_tensor_read_f32_into(&unset, out, 8, NULL, &count, NULL));
    EXPECT(BAD,
           tenslice_tensor_read_f32_into(tensor, out, 8, OPTIONS(&decoder, NULL, 0), &count, NULL)); /* no function */
    EXPECT(BAD, tenslice_tensor_read_f32_into(tensor, NULL, 8, NULL, &count, NULL));
    EXPECT(BAD, tenslice_tensor_read_f32_into(tensor, ODD(float, out), 7, NULL, &count, NULL));
    EXPECT(BAD, tenslice_tensor_read_f32_into(tensor, out, SIZE_MAX / 2, NULL, &count, NULL));
    EXPECT(BAD, tenslice_tensor_read_f32_into(tensor, out, 8, OPTIONS(NULL, NULL, 8), &count, NULL));
    EXPECT(BAD, tenslice_tensor_read_f32_into(tensor, out, 8, OPTIONS(NULL, scratch, SIZE_MAX), &count, NULL));
    EXPECT(BAD, tenslice_tensor_read_f32_into(tensor, out, 8, NULL, ODD(uint64_t, words), NULL));
    MARK(numbers), MARK(needed), needed.struct_size = sizeof needed;
    EXPECT(HANDLE, tenslice_tensor_get_f32(NULL, NULL, out, 8, NULL, &numbers, &needed, NULL));
    EXPECT(HANDLE, tenslice_tensor_get_f32(&unset, NULL, out, 8, NULL, &numbers, &needed, NULL));
    EXPECT(BAD, tenslice_tensor_get_f32(tensor, WANT(0xffff, NULL, 0), out, 8, NULL, &numbers, &needed, NULL));
    EXPECT(BAD, tenslice_tensor_get_f32(tensor, NULL, NULL, 8, NULL, &numbers, &needed, NULL));
    EXPECT(BAD, tenslice_tensor_get_f32(tensor, NULL, ODD(float, out), 7, NULL, &numbers, &needed, NULL));
    EXPECT(BAD, tenslice_tensor_get_f32(tensor, NULL, out, SIZE_MAX / 2, NULL, &numbers, &needed, NULL));
    EXPECT(BAD, tenslice_tensor_get_f32(tensor, NULL, out, 8, OPTIONS(&decoder, NULL, 0), &numbers, &needed, NULL));
    EXPECT(BAD, tenslice_tensor_get_f32(tensor, NULL, out, 8, NULL, NULL, &needed, NULL));
    EXPECT(BAD, tenslice_tensor_get_f32(tensor, NULL, out, 8, NULL, ODD(tenslice_floats, words), &needed, NULL));
    CHECK(IS_MARKED(numbers));
    EXPECT(TENSLICE_TOO_SMALL, tenslice_tensor_get_f32(tensor, NULL, out, 5, NULL, &numbers, &needed, NULL));
    CHECK(IS_MARKED(numbers) && needed.output == 6 && needed.scratch == 0);
    needed.struct_size = sizeof needed - 1;
    EXPECT(BAD, tenslice_tensor_get_f32(tensor, NULL, out, 8, NULL, &numbers, &needed, NULL));
    CHECK(IS_MARKED(count));
    EXPECT(TENSLICE_TOO_SMALL, tenslice_tensor_read_f32_into(tensor, out, 5, NULL, &count, NULL));
    CHECK(IS_MARKED(out) && IS_MARKED(words) && count == 6);
    CHECK(tenslice_f16_to_f32(0) == 0 && tenslice_bf16_to_f32(0) == 0 && tenslice_f8_e4m3fn_to_f32(0) == 0);
    CHECK(tenslice_f8_e5m2_to_f32(0) == 0 && tenslice_f8_e4m3fnuz_to_f32(0) == 0 && tenslice_f8_e8m0_to_f32(0) > 0);
    CHECK(tenslice_f8_e5m2fnuz_to_f32(0) == 0);
    /* Bits above those of the type are ignored. */
    CHECK(tenslice_f4_e2m1_to_f32(0xf7) == tenslice_f4_e2m1_to_f32(7));
    CHECK(tenslice_f6_e2m3_to_f32(0xdf) == tenslice_f6_e2m3_to_f32(0x1f));
    CHECK(tenslice_f6_e3m2_to_f32(0xdf) == tenslice_f6_e3m2_to_f32(0x1f));
}

/* The index of a safetensors model. `other` is a cursor of another kind. */
static void shards(const char *folder, tenslice_cursor *other)
{
    blob b = load(folder, "safetensors/rs_sharded.safetensors.index.json");
    tenslice_safetensors_index index, unset;
    tenslice_cursor cursor, unset_cursor;
    tenslice_str file, name;
    tenslice_error error;
    uint64_t count, words[32];
    uint32_t numbers[4];
    size_t files;

    memset(&unset, 0, sizeof unset);
    memset(&unset_cursor, 0xff, sizeof unset_cursor);
    EXPECT(BAD, tenslice_safetensors_index_open(NULL, b.data, b.size, NULL));
    EXPECT(BAD, tenslice_safetensors_index_open(&index, NULL, b.size, NULL));
    EXPECT(BAD, tenslice_safetensors_index_open(&index, b.data, SIZE_MAX, NULL));
    EXPECT(BAD, tenslice_safetensors_index_open(ODD(tenslice_safetensors_index, words), b.data, b.size, NULL));
    EXPECT(TENSLICE_UNEXPECTED_TYPE, tenslice_safetensors_index_open(&index, NULL, 0, &error));
    CHECK(error.kind == TENSLICE_UNEXPECTED_TYPE && error.format == TENSLICE_FORMAT_SAFETENSORS_INDEX);
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_open(&index, b.data, b.size, NULL));

    EXPECT(HANDLE, tenslice_safetensors_index_count(NULL, &count));
    EXPECT(HANDLE, tenslice_safetensors_index_count(&unset, &count));
    EXPECT(BAD, tenslice_safetensors_index_count(&index, NULL));
    EXPECT(HANDLE, tenslice_safetensors_index_check(NULL, numbers, 4, NULL));
    EXPECT(BAD, tenslice_safetensors_index_check(&index, NULL, 4, NULL));
    EXPECT(BAD, tenslice_safetensors_index_check(&index, numbers, SIZE_MAX, NULL));
    EXPECT(HANDLE, tenslice_safetensors_index_find(NULL, "enc.w", 5, &file, NULL));
    EXPECT(HANDLE, tenslice_safetensors_index_find(&unset, "enc.w", 5, &file, NULL));
    EXPECT(BAD, tenslice_safetensors_index_find(&index, NULL, 5, &file, NULL));
    EXPECT(BAD, tenslice_safetensors_index_find(&index, "enc.w", SIZE_MAX - 1, &file, NULL));
    EXPECT(BAD, tenslice_safetensors_index_find(&index, "enc.w", 5, NULL, NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_safetensors_index_find(&index, NULL, 0, &file, NULL));

    EXPECT(HANDLE, tenslice_safetensors_index_entries(NULL, &cursor));
    EXPECT(BAD, tenslice_safetensors_index_entries(&index, NULL));
    EXPECT(HANDLE, tenslice_safetensors_index_metadata(NULL, &cursor));
    EXPECT(BAD, tenslice_safetensors_index_metadata(&index, NULL));
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_metadata(&index, &cursor));
    EXPECT(HANDLE, tenslice_safetensors_index_next(&cursor, &name, &file, NULL)); /* a cursor of another kind */
    EXPECT(HANDLE, tenslice_safetensors_index_next(NULL, &name, &file, NULL));
    EXPECT(HANDLE, tenslice_safetensors_index_next(&unset_cursor, &name, &file, NULL));
    EXPECT(HANDLE, tenslice_safetensors_index_next(other, &name, &file, NULL));
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_entries(&index, &cursor));
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_next(&cursor, NULL, NULL, NULL));
    EXPECT(HANDLE, tenslice_attributes_next(&cursor, NULL, NULL, NULL));

    EXPECT(HANDLE, tenslice_safetensors_index_files(NULL, numbers, 4, &files, NULL));
    EXPECT(BAD, tenslice_safetensors_index_files(&index, NULL, 4, &files, NULL));
    EXPECT(BAD, tenslice_safetensors_index_files(&index, numbers, SIZE_MAX / 2, &files, NULL));
    EXPECT(BAD, tenslice_safetensors_index_files(&index, numbers, 4, NULL, NULL));
    EXPECT(HANDLE, tenslice_safetensors_index_file(NULL, 0, &name));
    EXPECT(BAD, tenslice_safetensors_index_file(&index, 0, NULL));

    MARK(name), MARK(file), MARK(numbers), MARK(files), MARK(words);
    EXPECT(TENSLICE_OUT_OF_SCRATCH, tenslice_safetensors_index_files(&index, NULL, 0, &files, NULL));
    EXPECT(BAD, tenslice_safetensors_index_files(&index, ODD(uint32_t, numbers), 3, &files, NULL));
    EXPECT(BAD, tenslice_safetensors_index_files(&index, numbers, 4, ODD(size_t, words), NULL));
    EXPECT(BAD, tenslice_safetensors_index_check(&index, ODD(uint32_t, numbers), 3, NULL));
    EXPECT(BAD, tenslice_safetensors_index_find(&index, "enc.w", 5, ODD(tenslice_str, words), NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_safetensors_index_find(&index, "enc", 3, &file, NULL));
    EXPECT(BAD, tenslice_safetensors_index_next(&cursor, ODD(tenslice_str, words), &file, NULL));
    EXPECT(BAD, tenslice_safetensors_index_next(&cursor, &name, ODD(tenslice_str, words), NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_safetensors_index_file(&index, 0, &name));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_safetensors_index_file(&index, UINT32_MAX, &name));
    CHECK(IS_MARKED(name) && IS_MARKED(file) && IS_MARKED(numbers) && IS_MARKED(files) && IS_MARKED(words));
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_next(&cursor, &name, &file, NULL)); /* still the second */
    CHECK(same(name, "enc.b"));
    free(b.data);
}

static void strings(void)
{
    tenslice_str text = {"a\\u002eb", 8, 1, {0}}, none = {NULL, 5, 0, {0}}, absurd = {"", SIZE_MAX, 0, {0}};
    /* No file has these strings: an escape that cannot be decoded ends the string. */
    tenslice_str cut = {"a\\u00", 5, 1, {0}}, alone = {"a\\", 2, 1, {0}}, half = {"a\\ud83d", 7, 1, {0}};
    tenslice_str numbers[3];
    char copy[8];
    size_t needed;

    memset(numbers, 0, sizeof numbers);
    MARK(copy), MARK(needed);
    EXPECT(BAD, tenslice_str_copy(NULL, copy, sizeof copy, &needed));
    EXPECT(BAD, tenslice_str_copy(ODD(tenslice_str, numbers), copy, sizeof copy, &needed));
    EXPECT(BAD, tenslice_str_copy(&none, copy, sizeof copy, &needed));
    EXPECT(BAD, tenslice_str_copy(&absurd, copy, sizeof copy, &needed));
    EXPECT(BAD, tenslice_str_copy(&text, NULL, sizeof copy, &needed));
    EXPECT(BAD, tenslice_str_copy(&text, copy, SIZE_MAX, &needed));
    CHECK(IS_MARKED(copy) && IS_MARKED(needed));
    EXPECT(BAD, tenslice_str_copy(&text, copy, sizeof copy, ODD(size_t, numbers)));
    EXPECT(TENSLICE_TOO_SMALL, tenslice_str_copy(&text, copy, 3, &needed));
    CHECK(IS_MARKED(copy) && needed == 4);
    EXPECT(TENSLICE_TOO_SMALL, tenslice_str_copy(&text, NULL, 0, NULL));
    EXPECT(TENSLICE_OK, tenslice_str_copy(&text, copy, 4, NULL));
    CHECK(memcmp(copy, "a.b", 4) == 0 && copy[4] == 0x5a);
    EXPECT(TENSLICE_OK, tenslice_str_copy(&cut, copy, 2, &needed));
    CHECK(needed == 2);
    EXPECT(TENSLICE_OK, tenslice_str_copy(&alone, copy, 2, &needed));
    CHECK(needed == 2);
    EXPECT(TENSLICE_OK, tenslice_str_copy(&half, copy, 2, &needed));
    CHECK(needed == 2);

    CHECK(!tenslice_str_equals(NULL, "a.b", 3) && !tenslice_str_equals(ODD(tenslice_str, numbers), "", 0));
    CHECK(!tenslice_str_equals(&none, "a.b", 3) && !tenslice_str_equals(&absurd, "", 0));
    CHECK(!tenslice_str_equals(&text, NULL, 3) && !tenslice_str_equals(&text, "a.b", SIZE_MAX - 1));
    CHECK(!tenslice_str_equals(&text, NULL, 0) && tenslice_str_equals(&text, "a.b", 3));
    CHECK(tenslice_dtype_bits(0) == 0 && tenslice_dtype_bits(UINT32_MAX) == 0);
}

/* Calls that find a tensor and compare it with the expected type. */
static void expected(const tenslice_file *file)
{
    const uint64_t shape[2] = {2, 3};
    tenslice_tensor tensor, unset;
    tenslice_bytes bytes;
    tenslice_error error;
    union {
        char text[200];
        uint64_t shape[25];
    } out;
    tenslice_expected cut;
    tenslice_floats floats;
    size_t needed;

    memset(&unset, 0, sizeof unset);
    EXPECT(TENSLICE_OK, tenslice_file_find(file, "t.float64", TENSLICE_NUL, &tensor, NULL));
    EXPECT(TENSLICE_OK,
           tenslice_file_get(file, TENSLICE_STR("t.float64"), WANT(TENSLICE_ANY, shape, 2), &bytes, NULL));
    CHECK(bytes.length == 48);
    EXPECT(HANDLE, tenslice_file_get(NULL, "t", 1, WANT(TENSLICE_F64, shape, 2), &bytes, NULL));
    EXPECT(BAD, tenslice_file_get(file, NULL, 1, WANT(TENSLICE_F64, shape, 2), &bytes, NULL));
    EXPECT(BAD, tenslice_file_get(file, NULL, TENSLICE_NUL, WANT(TENSLICE_F64, shape, 2), &bytes, NULL));
    EXPECT(BAD, tenslice_file_get(file, "t", SIZE_MAX - 1, WANT(TENSLICE_F64, shape, 2), &bytes, NULL));
    EXPECT(BAD, tenslice_file_get(file, "t", 1, WANT(0xffff, shape, 2), &bytes, NULL));
    EXPECT(BAD, tenslice_file_get(file, "t", 1, WANT(TENSLICE_F64, NULL, 2), &bytes, NULL));
    EXPECT(BAD, tenslice_file_get(file, "t", 1, WANT(TENSLICE_F64, ODD(const uint64_t, shape), 1), &bytes, NULL));
    EXPECT(BAD, tenslice_file_get(file, "t", 1, WANT(TENSLICE_F64, shape, SIZE_MAX - 1), &bytes, NULL));
    EXPECT(BAD, tenslice_file_get(file, "t.float64", 9, WANT(TENSLICE_F64, shape, 2), NULL, NULL));
    EXPECT(BAD, tenslice_file_get(file, "t.float64", 9, WANT(65536, shape, 2), &bytes, NULL)); /* not a block type */
    EXPECT(BAD, tenslice_file_get(file, "t.float64", 9, ODD(tenslice_expected, out.shape), &bytes, NULL));
    MARK(cut), cut.struct_size = sizeof cut - 1;
    EXPECT(BAD, tenslice_file_get(file, "t.float64", 9, &cut, &bytes, NULL));
    EXPECT(HANDLE, tenslice_file_get_f32(NULL, "t.float64", 9, NULL, NULL, 0, NULL, &floats, NULL, NULL));
    EXPECT(BAD, tenslice_file_get_f32(file, NULL, 9, NULL, NULL, 0, NULL, &floats, NULL, NULL));
    EXPECT(BAD, tenslice_file_get_f32(file, "t.float64", 9, &cut, NULL, 0, NULL, &floats, NULL, NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_file_get_f32(file, "t", 1, NULL, NULL, 0, NULL, &floats, NULL, NULL));
    EXPECT(HANDLE, tenslice_tensor_get(NULL, WANT(TENSLICE_F64, shape, 2), &bytes, NULL));
    EXPECT(HANDLE, tenslice_tensor_get(&unset, WANT(TENSLICE_F64, shape, 2), &bytes, NULL));
    EXPECT(BAD, tenslice_tensor_get(&tensor, WANT(0xffff, shape, 2), &bytes, NULL));
    EXPECT(BAD, tenslice_tensor_get(&tensor, WANT(TENSLICE_F64, shape, SIZE_MAX / 4), &bytes, NULL));
    EXPECT(BAD, tenslice_tensor_get(&tensor, WANT(TENSLICE_F64, shape, 2), NULL, NULL));
    EXPECT(TENSLICE_WRONG_SHAPE, tenslice_tensor_get(&tensor, WANT(TENSLICE_F64, shape, 1), &bytes, &error));

    EXPECT(HANDLE, tenslice_file_get_text(NULL, "t", 1, WANT(0, NULL, 0), &error, out.text, sizeof out, NULL));
    EXPECT(BAD, tenslice_file_get_text(file, NULL, 1, WANT(0, NULL, 0), &error, out.text, sizeof out, NULL));
    EXPECT(BAD, tenslice_file_get_text(file, "t", 1, WANT(0xffff, NULL, 0), &error, out.text, sizeof out, NULL));
    EXPECT(BAD, tenslice_file_get_text(file, "t", 1, WANT(0, NULL, 2), &error, out.text, sizeof out, NULL));
    EXPECT(BAD, tenslice_file_get_text(file, "t", 1, WANT(0, NULL, 0), NULL, out.text, sizeof out, NULL));
    EXPECT(BAD, tenslice_file_get_text(file, "t", 1, WANT(0, NULL, 0), &error, NULL, 1, NULL));
    EXPECT(BAD, tenslice_file_get_text(file, out.text, 1, WANT(0, NULL, 0), &error, out.text, sizeof out, NULL));
    EXPECT(BAD, tenslice_file_get_text(file, "t", 1, WANT(0, out.shape, 2), &error, out.text, sizeof out, NULL));
    EXPECT(TENSLICE_TOO_SMALL, tenslice_file_get_text(file, "t", 1, WANT(0, shape, 2), &error, NULL, 0, &needed));
    CHECK(needed == sizeof "no tensor \"t\"");
    EXPECT(TENSLICE_OK, tenslice_file_get_text(file, "t", 1, NULL, &error, out.text, needed, &needed));
    CHECK(strcmp(out.text, "no tensor \"t\"") == 0);

    CHECK(tenslice_tensor_name(NULL).data == NULL && tenslice_tensor_name(&unset).length == 0);
    CHECK(tenslice_tensor_dtype(NULL) == 0 && tenslice_tensor_dtype(&unset) == 0);
    CHECK(tenslice_tensor_stated_type(NULL).data == NULL && tenslice_tensor_stated_type(&unset).data == NULL);
    CHECK(tenslice_tensor_rank(NULL) == 0 && tenslice_tensor_rank(&unset) == 0);
    CHECK(tenslice_tensor_dimension(NULL, 0) == 0 && tenslice_tensor_dimension(&tensor, 2) == 0);
    CHECK(tenslice_tensor_element_count(NULL) == 0 && tenslice_tensor_element_count(&unset) == 0);
    CHECK(tenslice_tensor_layout(NULL) == UINT32_MAX && tenslice_tensor_layout(&unset) == UINT32_MAX);
}

/* Calls that are specific to a format. `other` is a zTensor file. */
static void formats(const char *folder, const tenslice_file *other)
{
    blob a = load(folder, "tens/good/sym_1_sym.tens"), b = load(folder, "blz/good/identity_matrix_f64.blz");
    blob c = load(folder, "tens/good/ix_f64_x2.tens"), d = load(folder, "b2nd/good/nd02_lz4_0.b2nd");
    blob e = load(folder, "npy/struct_nested_4.npy"), f = load(folder, "npz/mixed_methods.npz");
    blob g = load(folder, "pytorch/views.pt"), h = load(folder, "ptd/py_tied.ptd");
    tenslice_file file, archive;
    tenslice_tensor tensor;
    tenslice_cursor cursor;

    EXPECT(TENSLICE_OK, tenslice_file_open(&file, a.data, a.size, NULL));
    tens(&file, other);
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    blz(&file, other);
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, c.data, c.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "", 0, &tensor, NULL));
    sparse(&tensor);
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, d.data, d.size, NULL));
    b2nd(&file, other);
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, e.data, e.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_open(&archive, f.data, f.size, NULL));
    arrays(&file, &archive, other);
    EXPECT(TENSLICE_OK, tenslice_file_open(&archive, g.data, g.size, NULL));
    code(&archive, other);
    model_facts(folder, other);
    free(g.data);
    EXPECT(TENSLICE_OK, tenslice_file_open(&archive, h.data, h.size, NULL));
    segments(&archive, other);
    subgraphs(folder, other);
    free(h.data);
    EXPECT(TENSLICE_OK, tenslice_file_tensors(&file, &cursor));
    shards(folder, &cursor);
    listed_shards(folder, &file);
    gguf(folder, other, &cursor);
    models(folder, other);
    EXPECT(TENSLICE_OK, tenslice_file_find(other, "t.float64", 9, &tensor, NULL));
    as_floats(&tensor);
    expected(other);
    blocks();
    strings();
    free(e.data);
    free(f.data);
    free(d.data);
    free(a.data);
    free(b.data);
    free(c.data);
}

int main(int argc, char **argv)
{
    blob b;
    tenslice_file file, unset_file;
    tenslice_tensor tensor, unset_tensor;
    tenslice_component component, unset_component;
    tenslice_cursor cursor, unset_cursor;
    tenslice_source source, unset_source;
    tenslice_need need;
    tenslice_piece piece, list[2], odd_pieces[2];
    size_t piece_count;
    tenslice_bytes bytes, untouched;
    tenslice_value value, key;
    tenslice_error error;
    tenslice_file_info file_info;
    tenslice_tensor_info tensor_info;
    tenslice_component_info component_info;
    tenslice_verified verified;
    tenslice_described described;
    tenslice_read_options options = {sizeof options, 0, NULL, NULL, 0}, odd[2];
    uint64_t words[64], dims[4];
    uint32_t scratch[4], slots[39];
    tenslice_entry entries[13];
    uint64_t listed;
    tenslice_index index;
    tenslice_floats floats;
    char text[8];
    size_t needed;

    CHECK(argc == 2);
    b = load(argv[1], "v1.2/dense_all_dtypes.zt");
    memset(&unset_file, 0, sizeof unset_file);
    memset(&unset_tensor, 0xff, sizeof unset_tensor);
    memset(&unset_component, 0, sizeof unset_component);
    memset(&unset_cursor, 0, sizeof unset_cursor);
    memset(&unset_source, 0, sizeof unset_source);
    memset(words, 0, sizeof words);
    file_info.struct_size = sizeof file_info;
    tensor_info.struct_size = sizeof tensor_info;
    component_info.struct_size = sizeof component_info;
    value.struct_size = key.struct_size = sizeof value;

    EXPECT(BAD, tenslice_file_open(NULL, b.data, b.size, NULL));
    EXPECT(BAD, tenslice_file_open(&file, NULL, b.size, NULL));
    EXPECT(BAD, tenslice_file_open(&file, b.data, SIZE_MAX, &error));
    CHECK(error.kind == BAD && error.offset == UINT64_MAX);
    EXPECT(BAD, tenslice_file_open(&file, b.data, SIZE_MAX / 2 + 1, NULL));
    EXPECT(TENSLICE_TRUNCATED, tenslice_file_open(&file, NULL, 0, NULL));
    EXPECT(BAD, tenslice_file_open((tenslice_file *)(void *)((char *)words + 1), b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));

    EXPECT(HANDLE, tenslice_file_get_info(NULL, &file_info));
    EXPECT(HANDLE, tenslice_file_get_info(&unset_file, &file_info));
    EXPECT(HANDLE, tenslice_file_get_info((const tenslice_file *)(const void *)((const char *)&file + 1), &file_info));
    EXPECT(BAD, tenslice_file_get_info(&file, NULL));
    memset(&file_info, 0x55, sizeof file_info);
    file_info.struct_size = sizeof file_info - 1; /* a partial struct is rejected */
    EXPECT(BAD, tenslice_file_get_info(&file, &file_info));
    CHECK(file_info.length == UINT64_C(0x5555555555555555));
    file_info.struct_size = 4000; /* a longer struct of a newer version */
    EXPECT(TENSLICE_OK, tenslice_file_get_info(&file, &file_info));
    CHECK(file_info.length == b.size && file_info.struct_size == 4000);

    EXPECT(HANDLE, tenslice_file_warning_tensor(NULL, 1, dims));
    EXPECT(BAD, tenslice_file_warning_tensor(&file, 1, NULL));
    EXPECT(HANDLE, tenslice_file_check_length(NULL, &needed));
    EXPECT(BAD, tenslice_file_check_length(&file, NULL));
    needed = 7;
    EXPECT(TENSLICE_OK, tenslice_file_check_length(&file, &needed));
    CHECK(needed == 0); /* opening has compared everything */
    EXPECT(HANDLE, tenslice_file_check(NULL, scratch, 4, NULL, NULL));
    EXPECT(BAD, tenslice_file_check(&file, NULL, 4, NULL, NULL));
    EXPECT(BAD, tenslice_file_check(&file, scratch, SIZE_MAX, NULL, NULL));
    MARK(scratch);
    EXPECT(BAD, tenslice_file_check(&file, ODD(uint32_t, scratch), 3, NULL, NULL));
    CHECK(IS_MARKED(scratch));
    EXPECT(HANDLE, tenslice_file_find(NULL, "a", 1, &tensor, NULL));
    EXPECT(BAD, tenslice_file_find(&file, NULL, 1, &tensor, NULL));
    EXPECT(BAD, tenslice_file_find(&file, "t.float32", 9, NULL, NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_file_find(&file, NULL, 0, &tensor, NULL));
    EXPECT(HANDLE, tenslice_file_index_length(NULL, &needed));
    EXPECT(BAD, tenslice_file_index_length(&file, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_index_length(&file, &needed));
    CHECK(needed == 3 * 13 && needed == sizeof slots / sizeof *slots);
    memset(&index, 0, sizeof index);
    EXPECT(HANDLE, tenslice_index_find(&index, "a", 1, &tensor, NULL));
    EXPECT(HANDLE, tenslice_file_index(NULL, slots, needed, &index, NULL));
    EXPECT(BAD, tenslice_file_index(&file, NULL, needed, &index, NULL));
    EXPECT(BAD, tenslice_file_index(&file, slots, SIZE_MAX, &index, NULL));
    EXPECT(BAD, tenslice_file_index(&file, slots, needed, NULL, NULL));
    EXPECT(TENSLICE_OUT_OF_SCRATCH, tenslice_file_index(&file, NULL, 0, &index, NULL));
    EXPECT(TENSLICE_OUT_OF_SCRATCH, tenslice_file_index(&file, slots, needed - 1, &index, NULL));
    MARK(slots);
    EXPECT(BAD, tenslice_file_index(&file, ODD(uint32_t, slots), needed - 1, &index, NULL));
    CHECK(IS_MARKED(slots));
    EXPECT(HANDLE, tenslice_index_find(&index, "a", 1, &tensor, NULL)); /* no index was made */
    EXPECT(TENSLICE_OK, tenslice_file_index(&file, slots, needed, &index, NULL));
    EXPECT(HANDLE, tenslice_index_find(NULL, "a", 1, &tensor, NULL));
    EXPECT(BAD, tenslice_index_find(&index, NULL, 1, &tensor, NULL));
    EXPECT(BAD, tenslice_index_find(&index, "t.float32", 9, NULL, NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_index_find(&index, NULL, 0, &tensor, NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_index_find(&index, "t.float3\xff", 9, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_index_find(&index, "t.float32", 9, &tensor, NULL));
    MARK(entries), MARK(listed), MARK(tensor);
    EXPECT(HANDLE, tenslice_file_list(NULL, entries, 13, &listed, NULL));
    EXPECT(BAD, tenslice_file_list(&file, NULL, 13, &listed, NULL));
    EXPECT(BAD, tenslice_file_list(&file, entries, SIZE_MAX, &listed, NULL));
    EXPECT(BAD, tenslice_file_list(&file, ODD(tenslice_entry, entries), 12, &listed, NULL));
    EXPECT(BAD, tenslice_file_list(&file, entries, 13, NULL, NULL));
    EXPECT(BAD, tenslice_file_list(&file, entries, 13, ODD(uint64_t, entries), NULL));
    EXPECT(TENSLICE_OUT_OF_SCRATCH, tenslice_file_list(&file, NULL, 0, &listed, NULL));
    EXPECT(TENSLICE_OUT_OF_SCRATCH, tenslice_file_list(&file, entries, 12, &listed, NULL));
    CHECK(IS_MARKED(entries) && IS_MARKED(listed));
    EXPECT(TENSLICE_OK, tenslice_file_list(&file, entries, 13, &listed, NULL));
    CHECK(listed == 13);
    EXPECT(HANDLE, tenslice_file_tensor(NULL, &entries[1], &tensor, NULL));
    EXPECT(BAD, tenslice_file_tensor(&file, NULL, &tensor, NULL));
    EXPECT(BAD, tenslice_file_tensor(&file, ODD(tenslice_entry, entries), &tensor, NULL));
    EXPECT(BAD, tenslice_file_tensor(&file, &entries[1], NULL, NULL));
    /* An entry of another file, or one that the program has changed. */
    entries[0].at = entries[1].at;
    EXPECT(TENSLICE_NOT_FOUND, tenslice_file_tensor(&file, &entries[0], &tensor, NULL));
    entries[4].at = UINT32_MAX;
    CHECK(tenslice_file_tensor(&file, &entries[4], &tensor, NULL) >= 100);
    entries[1].name.data = NULL;
    EXPECT(BAD, tenslice_file_tensor(&file, &entries[1], &tensor, NULL));
    entries[2].name.length = SIZE_MAX;
    EXPECT(BAD, tenslice_file_tensor(&file, &entries[2], &tensor, NULL));
    CHECK(IS_MARKED(tensor));
    EXPECT(TENSLICE_OK, tenslice_file_tensor(&file, &entries[3], &tensor, NULL));
    EXPECT(HANDLE, tenslice_index_get(NULL, "t.float32", 9, NULL, &bytes, NULL));
    EXPECT(BAD, tenslice_index_get(&index, NULL, 9, NULL, &bytes, NULL));
    EXPECT(BAD, tenslice_index_get(&index, "t.float32", 9, WANT(0xffff, NULL, TENSLICE_ANY_SHAPE), &bytes, NULL));
    EXPECT(BAD, tenslice_index_get(&index, "t.float32", 9, NULL, NULL, NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_index_get(&index, "t.float", 7, NULL, &bytes, NULL));
    EXPECT(HANDLE, tenslice_index_get_f32(NULL, "t.float32", 9, NULL, NULL, 0, NULL, &floats, NULL, NULL));
    EXPECT(BAD, tenslice_index_get_f32(&index, NULL, 9, NULL, NULL, 0, NULL, &floats, NULL, NULL));
    EXPECT(TENSLICE_NOT_FOUND,
           tenslice_index_get_f32(&index, "t.float", 7, NULL, NULL, 0, NULL, &floats, NULL, NULL));
    EXPECT(HANDLE, tenslice_file_tensors(NULL, &cursor));
    EXPECT(BAD, tenslice_file_tensors(&file, NULL));
    EXPECT(HANDLE, tenslice_file_attributes(NULL, &cursor));
    EXPECT(BAD, tenslice_file_attributes(&file, NULL));

    EXPECT(TENSLICE_OK, tenslice_file_tensors(&file, &cursor));
    EXPECT(HANDLE, tenslice_tensors_next(NULL, &tensor, NULL));
    EXPECT(HANDLE, tenslice_tensors_next(&unset_cursor, &tensor, NULL));
    EXPECT(BAD, tenslice_tensors_next(&cursor, NULL, NULL));
    EXPECT(HANDLE, tenslice_components_next(&cursor, &component, NULL)); /* a cursor of tensors */
    EXPECT(HANDLE, tenslice_attributes_next(&cursor, &key, &value, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensors_next(&cursor, &tensor, NULL));

    EXPECT(HANDLE, tenslice_tensor_get_info(NULL, &tensor_info));
    EXPECT(HANDLE, tenslice_tensor_get_info(&unset_tensor, &tensor_info));
    EXPECT(HANDLE, tenslice_tensor_get_info((const tenslice_tensor *)(const void *)&file, &tensor_info));
    EXPECT(BAD, tenslice_tensor_get_info(&tensor, NULL));
    EXPECT(HANDLE, tenslice_tensor_problem(NULL, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_problem(&tensor, NULL));
    EXPECT(BAD, tenslice_tensor_problem(&tensor, ODD(tenslice_error, dims)));
    EXPECT(HANDLE, tenslice_tensor_shape(NULL, dims, 4, NULL));
    EXPECT(BAD, tenslice_tensor_shape(&tensor, NULL, 4, NULL));
    EXPECT(BAD, tenslice_tensor_shape(&tensor, dims, SIZE_MAX / 4, NULL));
    EXPECT(HANDLE, tenslice_tensor_bytes(NULL, TENSLICE_ANY, &bytes, NULL));
    EXPECT(BAD, tenslice_tensor_bytes(&tensor, TENSLICE_ANY, NULL, NULL));
    EXPECT(HANDLE, tenslice_tensor_data(NULL, &component, NULL));
    EXPECT(BAD, tenslice_tensor_data(&tensor, NULL, NULL));
    EXPECT(HANDLE, tenslice_tensor_component(NULL, "data", 4, &component, NULL));
    EXPECT(BAD, tenslice_tensor_component(&tensor, NULL, 4, &component, NULL));
    EXPECT(BAD, tenslice_tensor_component(&tensor, "data", 4, NULL, NULL));
    EXPECT(HANDLE, tenslice_tensor_components(NULL, &cursor));
    EXPECT(BAD, tenslice_tensor_components(&tensor, NULL));
    EXPECT(HANDLE, tenslice_tensor_attributes(NULL, &cursor));
    EXPECT(BAD, tenslice_tensor_attributes(&tensor, NULL));

    EXPECT(TENSLICE_OK, tenslice_tensor_components(&tensor, &cursor));
    EXPECT(HANDLE, tenslice_components_next(NULL, &component, NULL));
    EXPECT(BAD, tenslice_components_next(&cursor, NULL, NULL));
    EXPECT(TENSLICE_OK, tenslice_components_next(&cursor, &component, NULL));
    EXPECT(HANDLE, tenslice_component_get_info(NULL, &component_info));
    EXPECT(HANDLE, tenslice_component_get_info(&unset_component, &component_info));
    EXPECT(BAD, tenslice_component_get_info(&component, NULL));
    EXPECT(HANDLE, tenslice_component_bytes(NULL, TENSLICE_ANY, &bytes, NULL));
    EXPECT(BAD, tenslice_component_bytes(&component, TENSLICE_ANY, NULL, NULL));
    EXPECT(HANDLE, tenslice_component_stored(NULL, &bytes, NULL));
    EXPECT(BAD, tenslice_component_stored(&component, NULL, NULL));
    EXPECT(HANDLE, tenslice_component_with_bytes(NULL, b.data, 1, &component, NULL));
    EXPECT(BAD, tenslice_component_with_bytes(&component, NULL, 1, &component, NULL));

    EXPECT(HANDLE, tenslice_component_read_into(NULL, text, sizeof text, NULL, NULL, NULL));
    EXPECT(BAD, tenslice_component_read_into(&component, NULL, 8, NULL, NULL, NULL));
    EXPECT(BAD, tenslice_component_read_into(&component, text, SIZE_MAX, NULL, NULL, NULL));
    EXPECT(HANDLE, tenslice_component_verify(NULL, NULL, &verified, NULL));
    EXPECT(BAD, tenslice_component_verify(&component, NULL, NULL, NULL));
    verified.struct_size = 4;
    EXPECT(BAD, tenslice_component_verify(&component, NULL, &verified, NULL));
    verified.struct_size = sizeof verified;
    EXPECT(BAD, tenslice_component_verify(&component, OPTIONS(NULL, NULL, 8), &verified, NULL));
    EXPECT(HANDLE, component_needs(NULL, TENSLICE_PURPOSE_VERIFY, NULL, dims));
    EXPECT(BAD, tenslice_component_requirements(&component, TENSLICE_PURPOSE_VERIFY, NULL, NULL));
    EXPECT(BAD, component_needs(&component, 99, NULL, dims));
    /* Options that are too small, misaligned, or inside what they describe. */
    options.struct_size = sizeof options - 1;
    EXPECT(BAD, tenslice_component_verify(&component, &options, &verified, NULL));
    options.struct_size = sizeof options;
    EXPECT(BAD, tenslice_component_verify(&component, ODD(tenslice_read_options, odd), &verified, NULL));
    options.scratch = &options;
    options.scratch_length = 8;
    EXPECT(BAD, tenslice_component_verify(&component, &options, &verified, NULL));
    options.scratch = NULL;
    options.scratch_length = 0;
    EXPECT(BAD, tenslice_tensor_read_into(&tensor, &options, 8, &options, NULL, NULL));
    CHECK(tenslice_component_verify(&component, &options, &verified, NULL) == TENSLICE_OK);
    EXPECT(HANDLE, tenslice_file_verify(NULL, NULL, &verified, NULL));
    EXPECT(BAD, tenslice_file_verify(&file, NULL, NULL, NULL));
    EXPECT(BAD, tenslice_file_verify(&file, OPTIONS(NULL, NULL, 8), &verified, NULL));
    EXPECT(HANDLE, file_needs(NULL, TENSLICE_PURPOSE_VERIFY, NULL, dims));
    EXPECT(BAD, tenslice_file_requirements(&file, TENSLICE_PURPOSE_VERIFY, NULL, NULL));
    EXPECT(BAD, file_needs(&file, 99, NULL, dims));
    EXPECT(HANDLE, tenslice_component_read_range(NULL, 0, text, 8, NULL, NULL));
    EXPECT(BAD, tenslice_component_read_range(&component, 0, NULL, 8, NULL, NULL));
    EXPECT(BAD, tenslice_component_read_range(&component, 0, text, 8, OPTIONS(NULL, NULL, 8), NULL));
    EXPECT(BAD, tenslice_component_read_range(&component, 0, text, SIZE_MAX, NULL, NULL));
    EXPECT(TENSLICE_NO_SUCH_ELEMENT, tenslice_component_read_range(&component, UINT64_MAX - 7, text, 8, NULL, NULL));
    EXPECT(HANDLE, component_needs(NULL, TENSLICE_PURPOSE_READ_RANGE, NULL, dims));
    EXPECT(HANDLE, tenslice_component_caps(NULL, scratch));
    EXPECT(BAD, tenslice_component_caps(&component, NULL));
    EXPECT(HANDLE, tenslice_component_shard(NULL, &component_info.role));
    EXPECT(BAD, tenslice_component_shard(&component, NULL));
    EXPECT(HANDLE, tenslice_component_with_shard(NULL, b.data, 1, &component, NULL));
    EXPECT(BAD, tenslice_component_with_shard(&component, NULL, 1, &component, NULL));
    EXPECT(TENSLICE_NOT_IN_SHARD, tenslice_component_with_shard(&component, b.data, b.size, &component, NULL));
    described.struct_size = sizeof described;
    EXPECT(HANDLE, tenslice_tensor_describe(NULL, NULL, 0, NULL, &described, NULL));
    EXPECT(BAD, tenslice_tensor_describe(&tensor, NULL, 0, NULL, NULL, NULL));
    EXPECT(BAD, tenslice_tensor_describe(&tensor, NULL, 0, OPTIONS(NULL, NULL, 8), &described, NULL));
    EXPECT(BAD, tenslice_tensor_describe(&tensor, NULL, 1, NULL, &described, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_describe(&tensor, NULL, 0, NULL, &described, NULL));
    if (described.rank > 1)
        EXPECT(TENSLICE_TOO_SMALL, tenslice_tensor_describe(&tensor, dims, 1, NULL, &described, NULL));
    described.struct_size = sizeof described - 1;
    EXPECT(BAD, tenslice_tensor_describe(&tensor, NULL, 0, NULL, &described, NULL));
    EXPECT(HANDLE, tensor_needs(NULL, TENSLICE_PURPOSE_READ, dims, dims));
    EXPECT(TENSLICE_OK, tensor_needs(&tensor, TENSLICE_PURPOSE_READ, NULL, NULL));
    EXPECT(BAD, tensor_needs(&tensor, 99, dims, dims));
    EXPECT(HANDLE, tenslice_tensor_read_into(NULL, text, sizeof text, NULL, NULL, NULL));
    EXPECT(BAD, tenslice_tensor_read_into(&tensor, NULL, 8, NULL, NULL, NULL));
    EXPECT(BAD, tenslice_tensor_read_into(&tensor, text, sizeof text, OPTIONS(NULL, NULL, 8), NULL, NULL));

    EXPECT(TENSLICE_OK, tenslice_tensor_attributes(&tensor, &cursor));
    EXPECT(HANDLE, tenslice_attributes_next(NULL, &key, &value, NULL));
    EXPECT(BAD, tenslice_attributes_next(&cursor, &key, NULL, NULL));
    value.struct_size = sizeof value - 1;
    EXPECT(BAD, tenslice_attributes_next(&cursor, NULL, &value, NULL));
    memset(&value, 0, sizeof value);
    EXPECT(BAD, tenslice_value_items(NULL, &cursor));
    EXPECT(BAD, tenslice_value_items(&value, NULL));
    EXPECT(BAD, tenslice_value_items(&value, &cursor));
    value.struct_size = sizeof value;
    EXPECT(TENSLICE_WRONG_TYPE, tenslice_value_items(&value, &cursor));

    EXPECT(BAD, tenslice_source_init(NULL, 10));
    EXPECT(HANDLE, tenslice_source_add(NULL, 0, b.data, 1));
    EXPECT(HANDLE, tenslice_source_add(&unset_source, 0, b.data, 1));
    EXPECT(TENSLICE_OK, tenslice_source_init(&source, b.size));
    EXPECT(BAD, tenslice_source_add(&source, 0, NULL, 1));
    EXPECT(BAD, tenslice_source_add(&source, b.size, b.data, 1));
    EXPECT(BAD, tenslice_source_add(&source, UINT64_MAX, b.data, 1));
    MARK(piece), MARK(piece_count);
    EXPECT(HANDLE, tenslice_source_needs(NULL, &piece, 1, &piece_count));
    EXPECT(HANDLE, tenslice_source_needs(&unset_source, &piece, 1, &piece_count));
    EXPECT(BAD, tenslice_source_needs(&source, NULL, 1, &piece_count));
    EXPECT(BAD, tenslice_source_needs(&source, ODD(tenslice_piece, odd_pieces), 1, &piece_count));
    EXPECT(BAD, tenslice_source_needs(&source, &piece, SIZE_MAX / 8, &piece_count));
    EXPECT(BAD, tenslice_source_needs(&source, &piece, 1, NULL));
    CHECK(IS_MARKED(piece) && IS_MARKED(piece_count));
    EXPECT(TENSLICE_OK, tenslice_source_needs(&source, NULL, 0, &piece_count));
    CHECK(piece_count == 0); /* nothing was requested */
    EXPECT(HANDLE, tenslice_source_add_pieces(NULL, NULL, 0, NULL, 0));
    EXPECT(HANDLE, tenslice_source_add_pieces(&unset_source, NULL, 0, NULL, 0));
    EXPECT(BAD, tenslice_source_add_pieces(&source, NULL, 1, b.data, 1));
    EXPECT(BAD, tenslice_source_add_pieces(&source, ODD(tenslice_piece, odd_pieces), 1, b.data, 1));
    piece.key = 0, piece.offset = 5, piece.length = 2, piece.at = 0;
    EXPECT(BAD, tenslice_source_add_pieces(&source, &piece, SIZE_MAX / 8, b.data, 1));
    EXPECT(BAD, tenslice_source_add_pieces(&source, &piece, 1, NULL, 2));
    EXPECT(BAD, tenslice_source_add_pieces(&source, &piece, 1, b.data, 1));
    piece.offset = b.size - 1;
    EXPECT(BAD, tenslice_source_add_pieces(&source, &piece, 1, b.data, 2));
    list[0].key = list[1].key = 0, list[0].offset = 5, list[1].offset = 4;
    list[0].length = list[1].length = 2, list[0].at = list[1].at = 0;
    EXPECT(BAD, tenslice_source_add_pieces(&source, list, 2, b.data, 2)); /* not in the order of the file */
    list[1].offset = 7;
    EXPECT(TENSLICE_OK, tenslice_source_add_pieces(&source, list, 2, b.data, 2));
    EXPECT(TENSLICE_TOO_MANY_SEGMENTS, tenslice_source_add_pieces(&source, list, 2, b.data, 2));
    EXPECT(HANDLE, tenslice_tensor_with_source(NULL, &source, &tensor));
    EXPECT(HANDLE, tenslice_tensor_with_source(&unset_tensor, &source, &tensor));
    EXPECT(HANDLE, tenslice_tensor_with_source(&tensor, NULL, &tensor));
    EXPECT(HANDLE, tenslice_tensor_with_source(&tensor, &unset_source, &tensor));
    EXPECT(BAD, tenslice_tensor_with_source(&tensor, &source, NULL));
    EXPECT(HANDLE, tenslice_file_with_source(NULL, &source, &file));
    EXPECT(HANDLE, tenslice_file_with_source(&file, NULL, &file));
    EXPECT(HANDLE, tenslice_file_with_source(&file, &unset_source, &file));
    EXPECT(BAD, tenslice_file_with_source(&file, &source, NULL));
    plans();
    writers();
    EXPECT(BAD, tenslice_file_open_source(NULL, &source, &need, NULL));
    EXPECT(HANDLE, tenslice_file_open_source(&file, NULL, &need, NULL));
    EXPECT(HANDLE, tenslice_file_open_source(&file, &unset_source, &need, NULL));
    EXPECT(BAD, tenslice_file_open_source(&file, &source, NULL, NULL));

    CHECK(tenslice_file_open(&file, "x", 1, &error) >= 100);
    EXPECT(BAD, tenslice_error_text(NULL, NULL, 0, text, sizeof text, &needed));
    EXPECT(BAD, tenslice_error_text(&error, NULL, 1, text, sizeof text, &needed));
    EXPECT(BAD, tenslice_error_text(&error, NULL, 0, NULL, 8, &needed));
    EXPECT(HANDLE, tenslice_error_text_source(&error, NULL, text, sizeof text, &needed));
    EXPECT(BAD, tenslice_error_text_source(NULL, &source, text, sizeof text, &needed));
    error.kind = 7;
    EXPECT(BAD, tenslice_error_text(&error, NULL, 0, text, sizeof text, &needed));

    /* Outputs are unchanged. */
    memset(&untouched, 0x5a, sizeof untouched);
    bytes = untouched;
    EXPECT(TENSLICE_WRONG_TYPE, tenslice_tensor_bytes(&tensor, TENSLICE_C128, &bytes, NULL));
    CHECK(memcmp(&bytes, &untouched, sizeof bytes) == 0);
    {
        tenslice_tensor_info before;
        before.struct_size = sizeof before;
        EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &before));
        EXPECT(TENSLICE_NOT_FOUND, tenslice_tensor_component(&tensor, "none", 4, &component, &error));
        CHECK(error.kind == TENSLICE_NOT_FOUND);
        EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, &error));
        CHECK(error.kind == TENSLICE_NOT_FOUND); /* success leaves the details unchanged, too */
        EXPECT(TENSLICE_NOT_FOUND, tenslice_file_find(&file, "none", 4, &tensor, NULL));
        EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &tensor_info)); /* still the same tensor */
        CHECK(tensor_info.name.data == before.name.data && tensor_info.index == before.index);
        EXPECT(TENSLICE_UNKNOWN_FORMAT, tenslice_file_open(&file, "?", 1, NULL));
        EXPECT(TENSLICE_OK, tenslice_file_get_info(&file, &file_info)); /* still the open file */
    }
    CHECK(tenslice_abi_version() && tenslice_version() && tenslice_status_name(0) && tenslice_status_text(0));
    CHECK(tenslice_has(TENSLICE_FEATURE_SAFETENSORS) == 1 && tenslice_has(UINT32_MAX) == 0);
    CHECK(tenslice_dtype_name(0) && tenslice_dtype_size(0) == 0);
    formats(argv[1], &file);
    free(b.data);
    puts("arguments: ok");
    return 0;
}
