/*
 * Sharing that the header allows: eight threads call every function that takes its handles by const pointer, at the
 * same time, with the same handles of the same files, each with its own outputs and scratch memory. All get the results
 * that the main thread got before. For ThreadSanitizer (sanitize.sh), which detects faults that no result shows.
 * Arguments: the fixtures, and `broken` for a program that shares something that must not be shared: a cursor.
 */
#include <pthread.h>

#include "support.h"

#define THREADS 8
#define ROUNDS 4
#define ROOM 4096

/* The objects that all threads share. */
static blob dense_bytes, sparse_bytes, array_bytes, train_bytes, attribute_bytes, block_bytes, shard_bytes, index_bytes,
    code_bytes;
static tenslice_file dense, array, sources_file, trains, attributes, blocks, shards, checkpoint;
static tenslice_tensor tensor, ordered, quantized;
static tenslice_component component;
static tenslice_cursor all_attributes, all_tensors;
static tenslice_index names;
static uint32_t words[64];
static tenslice_source source;
static tenslice_train train;
static tenslice_safetensors_index model;
static tenslice_model_file model_files[2];
static tenslice_model whole_model;
static uint32_t model_words[78];
static tenslice_str text = {"a\\u002eb", 8, 1, {0}};
static tenslice_error not_found, unknown;
static const float shared_numbers[4] = {1, 2, 3, 4};

/* The sum of every number and byte that a thread gets. */
typedef struct {
    uint64_t sum;
} result;

static void add(result *r, const void *bytes, size_t length)
{
    const unsigned char *at = (const unsigned char *)bytes;
    size_t i;

    for (i = 0; i < length; i++) r->sum = (r->sum ^ at[i]) * UINT64_C(1099511628211);
}

static void add_number(result *r, uint64_t number) { add(r, &number, sizeof number); }
#define ADD(value) add(r, &(value), sizeof(value))

/* Finds a tensor in each way, and reads its data in each way. */
static void tensors(result *r, const tenslice_file *file)
{
    static const uint64_t shape[2] = {2, 3};
    tenslice_tensor found;
    tenslice_tensor_info info;
    tenslice_component part;
    tenslice_component_info about;
    tenslice_verified verified;
    tenslice_file_info of_file;
    tenslice_cursor cursor;
    tenslice_bytes bytes;
    uint64_t numbers[4], length, scratch;
    uint32_t rank, caps, slots[64];
    tenslice_entry entries[13];
    tenslice_index index;
    char room[ROOM];
    float floats[6];
    tenslice_floats all_floats;
    size_t count;

    info.struct_size = sizeof info;
    about.struct_size = sizeof about;
    verified.struct_size = sizeof verified;
    of_file.struct_size = sizeof of_file;
    EXPECT(TENSLICE_OK, tenslice_file_get_info(file, &of_file));
    add_number(r, of_file.tensor_count);
    EXPECT(TENSLICE_NOT_FOUND, tenslice_file_warning_tensor(file, 1, &length));
    EXPECT(TENSLICE_OK, tenslice_file_check_length(file, &count));
    add_number(r, count);
    EXPECT(TENSLICE_OK, tenslice_file_check(file, slots, 13, &rank, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_verify(file, NULL, &verified, NULL));
    add_number(r, verified.verified);
    EXPECT(TENSLICE_OK, tenslice_file_verify(file, OPTIONS(NULL, room, sizeof room), &verified, NULL));
    EXPECT(TENSLICE_OK, file_needs(file, TENSLICE_PURPOSE_VERIFY, NULL, &length));
    EXPECT(TENSLICE_OK, tenslice_file_tensors(file, &cursor));
    while (tenslice_tensors_next(&cursor, &found, NULL) == TENSLICE_OK) {
        EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&found, &info));
        add(r, info.name.data, info.name.length);
        EXPECT(TENSLICE_OK, tenslice_tensor_data(&found, &part, NULL));
        EXPECT(TENSLICE_OK, tenslice_component_read_into(&part, room, sizeof room, NULL, &length, NULL));
        add(r, room, (size_t)length);
    }
    EXPECT(TENSLICE_OK, tenslice_file_index_length(file, &count));
    CHECK(count <= 64);
    EXPECT(TENSLICE_OK, tenslice_file_index(file, slots, count, &index, NULL));
    EXPECT(TENSLICE_OK, tenslice_index_find(&index, "t.float64", 9, &found, NULL));
    EXPECT(TENSLICE_OK, tenslice_index_find(&names, "t.float64", 9, &found, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_list(file, entries, 13, &length, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_tensor(file, &entries[length - 1], &found, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(file, "t.float64", 9, &found, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_get(file, "t.float64", 9, WANT(TENSLICE_ANY, shape, 2), &bytes, NULL));
    add(r, bytes.data, bytes.length);
    EXPECT(TENSLICE_OK, tenslice_file_get_text(file, "none", 4, NULL, &not_found, room, sizeof room, &count));
    add(r, room, count);

    EXPECT(TENSLICE_OK, tenslice_tensor_shape(&tensor, numbers, 4, &rank));
    add(r, numbers, rank * sizeof *numbers);
    EXPECT(TENSLICE_OK, tenslice_tensor_strides(&tensor, numbers, 4));
    add_number(r, tenslice_tensor_rank(&tensor) + tenslice_tensor_dimension(&tensor, 1));
    add_number(r, tenslice_tensor_element_count(&tensor) + tenslice_tensor_layout(&tensor) + tenslice_tensor_dtype(&tensor));
    add_number(r, tenslice_tensor_name(&tensor).length);
    EXPECT(TENSLICE_OK, tenslice_tensor_bytes(&tensor, TENSLICE_ANY, &bytes, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_get(&tensor, WANT(TENSLICE_ANY, shape, 2), &bytes, NULL));
    EXPECT(TENSLICE_OK, tensor_needs(&tensor, TENSLICE_PURPOSE_READ, &length, &scratch));
    EXPECT(TENSLICE_OK, tenslice_tensor_read_into(&tensor, room, 48, OPTIONS(NULL, room + 48, 48), &length, NULL));
    add(r, room, 48);
    EXPECT(TENSLICE_OK, tensor_needs(&tensor, TENSLICE_PURPOSE_READ_F32, NULL, &length));
    EXPECT(TENSLICE_OK, tenslice_tensor_read_f32(&tensor, 0, floats, 6, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_read_f32_into(&tensor, floats, 6, NULL, &length, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_get_f32(&tensor, NULL, floats, 6, NULL, &all_floats, NULL, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_get_f32(file, "t.float64", 9, NULL, floats, 6, NULL, &all_floats, NULL, NULL));
    EXPECT(TENSLICE_OK, tenslice_index_get_f32(&names, "t.float64", 9, NULL, floats, 6, NULL, &all_floats, NULL, NULL));
    EXPECT(TENSLICE_OK, tenslice_index_get(&names, "t.float64", 9, NULL, &bytes, NULL));
    add(r, all_floats.data, all_floats.length * sizeof *floats);
    ADD(floats);
    EXPECT(TENSLICE_OK, tenslice_tensor_components(&tensor, &cursor));
    EXPECT(TENSLICE_OK, tenslice_tensor_component(&tensor, "data", 4, &part, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_attributes(&tensor, &cursor));

    EXPECT(TENSLICE_OK, tenslice_component_get_info(&component, &about));
    add_number(r, about.offset);
    EXPECT(TENSLICE_OK, tenslice_component_bytes(&component, TENSLICE_ANY, &bytes, NULL));
    EXPECT(TENSLICE_OK, tenslice_component_stored(&component, &bytes, NULL));
    add(r, bytes.data, bytes.length);
    EXPECT(TENSLICE_OK, tenslice_component_caps(&component, &caps));
    ADD(caps);
    EXPECT(TENSLICE_OK, component_needs(&component, TENSLICE_PURPOSE_READ_RANGE, NULL, &length));
    EXPECT(TENSLICE_OK, tenslice_component_read_range(&component, 8, room, 16, NULL, NULL));
    add(r, room, 16);
    EXPECT(TENSLICE_OK, tenslice_component_with_bytes(&component, bytes.data, bytes.length, &part, NULL));
    EXPECT(TENSLICE_OK, tenslice_component_verify(&component, NULL, &verified, NULL));
    EXPECT(TENSLICE_OK, tenslice_component_verify(&component, OPTIONS(NULL, room, 64), &verified, NULL));
    EXPECT(TENSLICE_OK, component_needs(&component, TENSLICE_PURPOSE_VERIFY, NULL, &length));
}

/* Sparse tensors, quantized tensors, attributes, strings. */
static void contents(result *r)
{
    tenslice_sparse sparse;
    tenslice_bytes bytes;
    tenslice_cursor cursor, items;
    tenslice_value key, value;
    tenslice_str string;
    uint64_t numbers[4], length, count;
    uint32_t block, files[4];
    size_t needed;
    char room[ROOM];
    float floats[96];

    key.struct_size = value.struct_size = sizeof value;
    EXPECT(TENSLICE_OK, tenslice_tensor_sparse(&ordered, NULL, &sparse, NULL));
    while (tenslice_sparse_next(&sparse, numbers, 4, &bytes, NULL) == TENSLICE_OK) {
        add(r, bytes.data, bytes.length);
        add_number(r, numbers[0]);
    }
    EXPECT(TENSLICE_OK, tenslice_tensor_block(&quantized, &block, &count, &length));
    EXPECT(TENSLICE_OK, tenslice_tensor_read_f32(&quantized, 0, floats, 32, NULL));
    add(r, floats, 32 * sizeof *floats);

    cursor = all_attributes; /* each thread moves its own copy */
    while (tenslice_attributes_next(&cursor, &key, &value, NULL) == TENSLICE_OK) {
        add(r, key.text.data, key.text.length);
        if (tenslice_value_items(&value, &items) == TENSLICE_OK) {
            while (tenslice_attributes_next(&items, NULL, &value, NULL) == TENSLICE_OK) add_number(r, value.magnitude);
        }
    }
    EXPECT(TENSLICE_OK, tenslice_file_attributes(&attributes, &cursor));
    EXPECT(TENSLICE_OK, tenslice_attributes_get(&all_attributes, "a.uint16", 8, &value, NULL));
    EXPECT(TENSLICE_OK, tenslice_attributes_get_u64(&all_attributes, "k.u8", 4, numbers, NULL));
    EXPECT(TENSLICE_OK, tenslice_attributes_get_str(&all_attributes, "k.str", 5, &string, NULL));
    EXPECT(TENSLICE_OK, tenslice_attributes_length(&all_attributes, &count));
    add_number(r, count + numbers[0]);

    EXPECT(TENSLICE_OK, tenslice_str_copy(&text, room, sizeof room, &needed));
    add(r, room, needed);
    CHECK(tenslice_str_equals(&text, "a.b", 3));
    EXPECT(TENSLICE_OK, tenslice_error_text(&unknown, dense_bytes.data, dense_bytes.size, room, sizeof room, &needed));
    EXPECT(TENSLICE_OK, tenslice_error_text_source(&unknown, &source, room, sizeof room, &needed));
    add(r, room, needed);
    EXPECT(TENSLICE_OK, tenslice_source_needs(&source, NULL, 0, &needed));
    CHECK(needed == 0);
    add_number(r, strlen(tenslice_status_text(TENSLICE_NOT_FOUND)) + strlen(tenslice_dtype_name(TENSLICE_F64)));

    EXPECT(TENSLICE_OK, tenslice_safetensors_index_count(&model, &count));
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_find(&model, "enc.w", 5, &string, NULL));
    add(r, string.data, string.length);
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_files(&model, files, 4, &needed, NULL));
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_file(&model, files[0], &string));
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_check(&model, files, 4, NULL));
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_entries(&model, &cursor));
    EXPECT(TENSLICE_OK, tenslice_ztensor2_shards(&shards, &cursor));
}

/* Regions and chunks of one array, different for each thread; tensor trains. */
static void regions(result *r, unsigned thread)
{
    uint64_t start[2], stop[2], length, scratch, work, zeros[2] = {0, 0};
    tenslice_b2nd_chunk chunk;
    tenslice_scaled scaled;
    double value[2];
    unsigned char room[ROOM], memory[ROOM];

    chunk.struct_size = sizeof chunk;
    start[0] = thread, start[1] = thread % 4, stop[0] = thread + 5, stop[1] = 9;
    EXPECT(TENSLICE_OK, region_needs(&array, start, stop, 2, &length, &scratch, NULL));
    EXPECT(TENSLICE_OK, tenslice_b2nd_region_work(&array, start, stop, 2, &work, NULL));
    CHECK(length <= ROOM && scratch <= ROOM);
    EXPECT(TENSLICE_OK,
           tenslice_b2nd_read_region(&array, start, stop, 2, room, ROOM, OPTIONS(NULL, memory, (size_t)scratch),
                                     &length, NULL));
    add(r, room, (size_t)length);
    EXPECT(TENSLICE_OK, tenslice_b2nd_get_chunk(&array, thread % 2, OPTIONS(NULL, memory, ROOM), &chunk, NULL));
    EXPECT(TENSLICE_OK,
           tenslice_b2nd_read_chunk(&array, thread % 2, room, ROOM, OPTIONS(NULL, memory, ROOM), &length, NULL));
    add(r, room, (size_t)length);
    EXPECT(TENSLICE_OK, tenslice_blz_element(&train, zeros, 2, memory, ROOM, value, NULL));
    ADD(value);
    EXPECT(TENSLICE_OK, tenslice_blz_norm(&train, memory, ROOM, &scaled, NULL));
    EXPECT(TENSLICE_OK, tenslice_blz_inner(&train, &train, memory, ROOM, &scaled, &length, NULL));
    ADD(scaled.real);
}

/* Finds all tensors and faults of a model. */
static void tensors_of_model(result *r)
{
    tenslice_model_tensors tensors;
    tenslice_model_problems problems;
    tenslice_problem problem;
    tenslice_problem_info info;
    tenslice_tensor next, found;
    tenslice_component part;
    tenslice_bytes bytes;
    tenslice_floats numbers;
    tenslice_error error;
    tenslice_str name;
    uint64_t number;
    uint32_t scratch[64];
    float floats[64];
    char room[ROOM];
    size_t length;

    info.struct_size = sizeof info;
    EXPECT(TENSLICE_OK, tenslice_model_file_count(&whole_model, &number));
    add_number(r, number);
    EXPECT(TENSLICE_OK, tenslice_model_check_length(&whole_model, &length));
    EXPECT(TENSLICE_OK, tenslice_model_check(&whole_model, scratch, 64, NULL, NULL));
    EXPECT(TENSLICE_OK, tenslice_model_get_tensors(&whole_model, &tensors));
    while (tenslice_model_next_tensor(&tensors, &next, &number, NULL) == TENSLICE_OK) {
        name = tenslice_tensor_name(&next);
        EXPECT(TENSLICE_OK, tenslice_model_find(&whole_model, name.data, name.length, &found, &number, NULL));
        EXPECT(TENSLICE_OK, tenslice_model_get(&whole_model, name.data, name.length, NULL, &bytes, NULL));
        add(r, bytes.data, bytes.length);
        if (tenslice_model_get_f32(&whole_model, name.data, name.length, NULL, floats, 64, NULL, &numbers, NULL, NULL)
            == TENSLICE_OK)
            add(r, numbers.data, numbers.length * sizeof *floats);
        EXPECT(TENSLICE_OK, tenslice_tensor_data(&found, &part, NULL));
        EXPECT(TENSLICE_OK, tenslice_model_component(&whole_model, &part, &part, NULL));
        EXPECT(TENSLICE_OK, tenslice_model_get_file(&whole_model, number, &name, NULL));
        add(r, name.data, name.length);
    }
    EXPECT(TENSLICE_NOT_FOUND, tenslice_model_get(&whole_model, "t.float63", 9, NULL, &bytes, &error));
    EXPECT(TENSLICE_OK,
           tenslice_model_get_text(&whole_model, "t.float63", 9, NULL, &error, room, sizeof room, &length));
    add(r, room, length);
    EXPECT(TENSLICE_OK, tenslice_model_get_problems(&whole_model, &problems));
    while (tenslice_model_next_problem(&problems, &problem) == TENSLICE_OK) {
        EXPECT(TENSLICE_OK, tenslice_problem_get_info(&problem, &info));
        EXPECT(TENSLICE_OK, tenslice_problem_text(&problem, room, sizeof room, &length));
        add(r, room, length);
    }
}

static int sum_up(void *context, uint64_t offset, const void *bytes, size_t length)
{
    add_number((result *)context, offset);
    add((result *)context, bytes, length);
    return 0;
}

/* Each thread writes with a writer and scratch memory of its own, from declarations that all share. */
static void files_to_write(result *r)
{
    static const uint64_t shape[] = {4};
    static const tenslice_new_tensor declarations[] = {TENSLICE_NEW_TENSOR("w", TENSLICE_F32, shape)};
    static const tenslice_new_file file = TENSLICE_NEW_FILE(TENSLICE_FORMAT_SAFETENSORS, declarations);
    const tenslice_sink sink = {sum_up, r};
    tenslice_writer writer;
    tenslice_due due;
    uint64_t length, position;
    size_t count;

    due.struct_size = sizeof due;
    EXPECT(TENSLICE_OK, tenslice_writer_scratch_length(&file, &count));
    EXPECT(TENSLICE_OK, tenslice_writer_open(&writer, &file, NULL, count, NULL));
    EXPECT(TENSLICE_OK, tenslice_writer_length(&writer, &length));
    EXPECT(TENSLICE_OK, tenslice_writer_begin(&writer, &sink, NULL));
    EXPECT(TENSLICE_OK, tenslice_writer_due(&writer, &due));
    EXPECT(TENSLICE_OK, tenslice_writer_data(&writer, &sink, shared_numbers, 16, NULL));
    EXPECT(TENSLICE_OK, tenslice_writer_finish(&writer, &sink, NULL));
    EXPECT(TENSLICE_OK, tenslice_writer_position(&writer, &position));
    CHECK(due.missing == 16 && length == position);
    add_number(r, length);
}

/* Lists a checkpoint: names of several keys, strides of the file, and the names that stand for code. */
static void views(result *r)
{
    tenslice_pytorch_global global;
    tenslice_cursor cursor;
    tenslice_tensor next;
    tenslice_str name;
    uint64_t numbers[8], length;
    char room[ROOM];
    size_t needed;

    global.struct_size = sizeof global;
    EXPECT(TENSLICE_OK, tenslice_pytorch_globals(&checkpoint, &cursor));
    while (tenslice_pytorch_globals_next(&cursor, &global, NULL) == TENSLICE_OK)
        add(r, global.name.data, global.name.length);
    EXPECT(TENSLICE_OK, tenslice_file_tensors(&checkpoint, &cursor));
    while (tenslice_tensors_next(&cursor, &next, NULL) == TENSLICE_OK) {
        name = tenslice_tensor_name(&next);
        EXPECT(TENSLICE_OK, tenslice_str_copy(&name, room, sizeof room, &needed));
        add(r, room, needed);
        EXPECT(TENSLICE_OK, tenslice_tensor_strides(&next, numbers, 8));
        if (tenslice_tensor_read_into(&next, room, sizeof room, NULL, &length, NULL) == TENSLICE_OK)
            add(r, room, (size_t)length);
    }
}

static uint64_t work(unsigned thread)
{
    result r = {UINT64_C(14695981039346656037)};

    tensors(&r, &dense);
    tensors(&r, &sources_file);
    contents(&r);
    regions(&r, thread);
    tensors_of_model(&r);
    files_to_write(&r);
    views(&r);
    return r.sum;
}

static uint64_t expected[THREADS];

static void *check(void *argument)
{
    const unsigned thread = (unsigned)(uintptr_t)argument;
    int round;

    for (round = 0; round < ROUNDS; round++) CHECK(work(thread) == expected[thread]);
    return NULL;
}

/* Sharing that the header does not allow. */
static void *share_cursor(void *argument)
{
    tenslice_tensor found;

    while (tenslice_tensors_next(&all_tensors, &found, NULL) == TENSLICE_OK) continue;
    return argument;
}

static blob open_file(const char *folder, const char *name, tenslice_file *file)
{
    blob b = load(folder, name);

    EXPECT(TENSLICE_OK, tenslice_file_open(file, b.data, b.size, NULL));
    return b;
}

int main(int argc, char **argv)
{
    const int broken = argc == 3;
    pthread_t threads[THREADS];
    tenslice_file file;
    tenslice_need need;
    tenslice_cursor cursor;
    uintptr_t i;
    size_t count;

    CHECK(argc == 2 || broken);
    dense_bytes = open_file(argv[1], "v1.2/dense_all_dtypes.zt", &dense);
    EXPECT(TENSLICE_OK, tenslice_file_find(&dense, "t.float64", 9, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_data(&tensor, &component, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_index_length(&dense, &count));
    CHECK(count <= sizeof words / sizeof *words);
    EXPECT(TENSLICE_OK, tenslice_file_index(&dense, words, count, &names, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_tensors(&dense, &all_tensors));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_file_find(&dense, "none", 4, &tensor, &not_found));
    CHECK(tenslice_file_open(&file, "x", 1, &unknown) >= 100);
    EXPECT(TENSLICE_OK, tenslice_source_init(&source, dense_bytes.size));
    EXPECT(TENSLICE_OK, tenslice_source_add(&source, 0, dense_bytes.data, dense_bytes.size));
    EXPECT(TENSLICE_OK, tenslice_file_open_source(&sources_file, &source, &need, NULL));
    sparse_bytes = open_file(argv[1], "tens/good/ix_f64_x2.tens", &file);
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "", 0, &ordered, NULL));
    array_bytes = open_file(argv[1], "b2nd/good/nd02_lz4_0.b2nd", &array);
    code_bytes = open_file(argv[1], "pytorch/old_p27_checkpoint.pt", &checkpoint);
    train_bytes = open_file(argv[1], "blz/good/identity_matrix_f64.blz", &trains);
    EXPECT(TENSLICE_OK, tenslice_blz_train(&trains, &train, NULL));
    attribute_bytes = open_file(argv[1], "gguf/kv_all_types.gguf", &attributes);
    EXPECT(TENSLICE_OK, tenslice_file_attributes(&attributes, &all_attributes));
    block_bytes = open_file(argv[1], "gguf-blocks/q8_0.gguf", &blocks);
    EXPECT(TENSLICE_OK, tenslice_file_tensors(&blocks, &cursor));
    EXPECT(TENSLICE_OK, tenslice_tensors_next(&cursor, &quantized, NULL));
    shard_bytes = open_file(argv[1], "v2/shards.zt", &shards);
    index_bytes = load(argv[1], "safetensors/rs_sharded.safetensors.index.json");
    EXPECT(TENSLICE_OK, tenslice_safetensors_index_open(&model, index_bytes.data, index_bytes.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_model_file_opened(&model_files[0], "whole", 5, &dense));
    EXPECT(TENSLICE_OK, tenslice_model_file_invalid(&model_files[1], "cut", 3, &unknown, "x", 1));
    EXPECT(TENSLICE_OK, tenslice_model_open(&whole_model, model_files, 2, model_words, 78, NULL));

    for (i = 0; i < THREADS; i++) expected[i] = work((unsigned)i);
    for (i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, broken ? share_cursor : check, (void *)i) == 0);
    for (i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);

    free(dense_bytes.data), free(sparse_bytes.data), free(array_bytes.data), free(train_bytes.data);
    free(code_bytes.data);
    free(attribute_bytes.data), free(block_bytes.data), free(shard_bytes.data), free(index_bytes.data);
    puts("threads: ok");
    return 0;
}
