/*
 * No call of the library allocates: malloc and similar functions are replaced, and count during calls. The program
 * formats no message, so that run.sh can check that no text formatting is linked. Argument: the fixtures.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tenslice.h"

static int inside, allocations;
static unsigned char heap[1 << 20];
static size_t used;

void *malloc(size_t size)
{
    void *place = heap + used;
    allocations += inside;
    used += (size + 15) / 16 * 16;
    return used <= sizeof heap ? place : NULL;
}

void free(void *place)
{
    allocations += inside;
    (void)place;
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size); /* the heap is zero, and never reused */
}

void *realloc(void *place, size_t size)
{
    unsigned char *new_place = (unsigned char *)malloc(size);
    size_t i;
    for (i = 0; place != NULL && new_place != NULL && i < size; i++)
        new_place[i] = ((unsigned char *)place)[i];
    return new_place;
}

static unsigned char model[1 << 19], dense[1 << 16], scratch[1 << 16];
static const tenslice_read_options options = {sizeof options, 0, NULL, scratch, sizeof scratch};
static float numbers[1 << 14];
static uint32_t words[1 << 15], spare[1 << 13];
static tenslice_entry entries[1 << 12];
static long calls;

static void enter(void)
{
    inside = 1;
}

static tenslice_status leave(tenslice_status status)
{
    inside = 0;
    calls++;
    return status;
}

/* A call of the library, during which allocations count. */
#define IN(call) leave((enter(), (call)))

/* Finds all tensors and all problems of a model. */
static void read_model(const tenslice_model *all)
{
    tenslice_model_tensors tensors;
    tenslice_model_problems problems;
    tenslice_problem problem;
    tenslice_problem_info info;
    tenslice_tensor tensor, found;
    tenslice_component component;
    tenslice_bytes bytes;
    tenslice_floats floats;
    tenslice_str name;
    uint64_t file;

    IN(tenslice_model_get_tensors(all, &tensors));
    while (IN(tenslice_model_next_tensor(&tensors, &tensor, &file, NULL)) == TENSLICE_OK) {
        name = tenslice_tensor_name(&tensor);
        if (!name.is_escaped && IN(tenslice_model_find(all, name.data, name.length, &found, NULL, NULL)) != TENSLICE_OK)
            exit(1);
        IN(tenslice_model_get(all, name.data, name.length, NULL, &bytes, NULL));
        IN(tenslice_model_get_f32(all, name.data, name.length, NULL, numbers, sizeof numbers / sizeof *numbers, NULL,
                                  &floats, NULL, NULL));
        if (IN(tenslice_tensor_data(&tensor, &component, NULL)) == TENSLICE_OK)
            IN(tenslice_model_component(all, &component, &component, NULL));
    }
    IN(tenslice_model_find(all, "none", 4, &tensor, NULL, NULL));
    info.struct_size = sizeof info;
    IN(tenslice_model_check(all, spare, sizeof spare / sizeof *spare, NULL, NULL));
    IN(tenslice_model_get_problems(all, &problems));
    while (IN(tenslice_model_next_problem(&problems, &problem)) == TENSLICE_OK) {
        IN(tenslice_problem_get_info(&problem, &info));
    }
}

static int ignore(void *context, uint64_t offset, const void *bytes, size_t length)
{
    (void)context, (void)offset, (void)bytes, (void)length;
    return 0;
}

/* Writes a file of each format that can be written. */
static void write_files(void)
{
    static const uint64_t shape[] = {4, 8};
    static const tenslice_new_tensor tensors[] = {TENSLICE_NEW_TENSOR("a", TENSLICE_F32, shape)};
    const tenslice_sink sink = {ignore, NULL};
    static uint64_t room[512];
    tenslice_new_tensor sorted[2];
    tenslice_new_file file = TENSLICE_NEW_FILE(0, tensors);
    tenslice_writer writer;
    tenslice_due due;
    uint64_t length;
    size_t count;

    due.struct_size = sizeof due;
    for (file.format = 1; file.format < 15; file.format++) {
        for (file.has_digests = 0; file.has_digests < 2; file.has_digests++) {
            sorted[0] = tensors[0];
            sorted[1] = tensors[0];
            IN(tenslice_new_tensors_sort(file.format, sorted, 2));
            IN(tenslice_writer_scratch_length(&file, &count));
            if (IN(tenslice_writer_open(&writer, &file, room, 512, NULL)) != TENSLICE_OK) continue;
            IN(tenslice_writer_length(&writer, &length));
            IN(tenslice_writer_begin(&writer, &sink, NULL));
            IN(tenslice_writer_due(&writer, &due));
            if (IN(tenslice_writer_data(&writer, &sink, dense, 128, NULL)) != TENSLICE_OK
                || IN(tenslice_writer_finish(&writer, &sink, NULL)) != TENSLICE_OK)
                exit(1);
            IN(tenslice_writer_position(&writer, &length));
            if (IN(tenslice_writer_open(&writer, &file, room, 512, NULL)) != TENSLICE_OK
                || IN(tenslice_writer_resume(&writer, &sink, 1, NULL)) != TENSLICE_OK)
                exit(1);
        }
    }
}

/* Opens the model of `size` bytes in rounds. */
static void open_in_rounds(size_t size)
{
    tenslice_source source;
    tenslice_file file;
    tenslice_need need;
    tenslice_piece piece;
    tenslice_status status;
    size_t count;

    IN(tenslice_source_init(&source, size));
    while ((status = IN(tenslice_file_open_source(&file, &source, &need, NULL))) == TENSLICE_NEED) {
        if (IN(tenslice_source_needs(&source, &piece, 1, &count)) != TENSLICE_OK || count != 1)
            exit(1);
        if (IN(tenslice_source_add_pieces(&source, &piece, 1, model + piece.offset, (size_t)piece.length))
            != TENSLICE_OK)
            exit(1);
    }
    if (status != TENSLICE_OK)
        exit(1);
}

/* Plans the reads of all components of a file of `size` bytes, and reads its tensors through a source. */
static void read_planned(const tenslice_file *file, size_t size)
{
    static tenslice_piece pieces[4096];
    tenslice_cursor tensors, components, reads;
    tenslice_file bound_file;
    tenslice_tensor tensor;
    tenslice_component component;
    tenslice_component_info info;
    tenslice_source source;
    tenslice_plan plan;
    tenslice_planned_read read;
    uint64_t length;
    size_t count = 0;

    IN(tenslice_source_init(&source, size));
    IN(tenslice_source_add(&source, 0, model, size));
    IN(tenslice_file_with_source(file, &source, &bound_file));
    info.struct_size = sizeof info;
    IN(tenslice_file_tensors(file, &tensors));
    while (IN(tenslice_tensors_next(&tensors, &tensor, NULL)) == TENSLICE_OK) {
        if (IN(tenslice_tensor_with_source(&tensor, &source, &tensor)) != TENSLICE_OK)
            exit(1);
        IN(tenslice_tensor_components(&tensor, &components));
        while (count < 4096 && IN(tenslice_components_next(&components, &component, NULL)) == TENSLICE_OK) {
            IN(tenslice_component_get_info(&component, &info));
            pieces[count].key = count, pieces[count].offset = info.offset, pieces[count++].length = info.length;
        }
    }
    if (IN(tenslice_plan_open(&plan, pieces, count, UINT64_C(1) << 40, 512, 0)) != TENSLICE_OK)
        exit(1);
    IN(tenslice_plan_length(&plan, &length));
    IN(tenslice_plan_reads(&plan, 4096, &reads));
    while (IN(tenslice_reads_next(&reads, &read)) == TENSLICE_OK)
        ;
}

/* Reads an index of a model in several files. */
static void read_index(const char *folder)
{
    static uint32_t files[64];
    char path[1024];
    FILE *f;
    size_t size, count, i;
    tenslice_safetensors_index index;
    tenslice_model_file model_files[64];
    tenslice_model all;
    tenslice_cursor cursor;
    tenslice_str name, file;
    tenslice_value value;

    snprintf(path, sizeof path, "%s/safetensors/rs_sharded.safetensors.index.json", folder);
    f = fopen(path, "rb");
    if (f == NULL)
        exit(1);
    size = fread(model, 1, sizeof model, f);
    fclose(f);
    if (IN(tenslice_safetensors_index_open(&index, model, size, NULL)) != TENSLICE_OK
        || IN(tenslice_safetensors_index_check(&index, files, 64, NULL)) != TENSLICE_OK
        || IN(tenslice_safetensors_index_files(&index, files, 64, &count, NULL)) != TENSLICE_OK
        || IN(tenslice_safetensors_index_find(&index, "enc.w", 5, &file, NULL)) != TENSLICE_OK)
        exit(1);
    for (i = 0; i < count; i++)
        IN(tenslice_safetensors_index_file(&index, files[i], &file));
    IN(tenslice_safetensors_index_entries(&index, &cursor));
    while (IN(tenslice_safetensors_index_next(&cursor, &name, &file, NULL)) == TENSLICE_OK)
        IN(tenslice_str_copy(&file, (char *)scratch, sizeof scratch, NULL));
    IN(tenslice_safetensors_index_metadata(&index, &cursor));
    value.struct_size = sizeof value;
    while (IN(tenslice_attributes_next(&cursor, NULL, &value, NULL)) == TENSLICE_OK)
        ;
    for (i = 0; i < count; i++) {
        IN(tenslice_safetensors_index_file(&index, files[i], &file));
        IN(tenslice_model_file_missing(&model_files[i], file.data, file.length));
    }
    if (IN(tenslice_safetensors_model_open(&all, &index, model_files, count, words, sizeof words / sizeof *words, NULL))
        != TENSLICE_OK)
        exit(1);
    read_model(&all);
}

/* Reads the details of a GGUF file and of its tensors. Other files return an error. */
static void read_gguf(const tenslice_file *file)
{
    tenslice_gguf_file_info about;
    tenslice_gguf_tensor_info info;
    tenslice_cursor cursor, items;
    tenslice_value value;
    tenslice_str text;
    uint64_t number;

    about.struct_size = sizeof about;
    info.struct_size = sizeof info;
    value.struct_size = sizeof value;
    if (IN(tenslice_gguf_get_info(file, &about)) != TENSLICE_OK)
        return;
    IN(tenslice_gguf_infos(file, &cursor));
    while (IN(tenslice_gguf_infos_next(&cursor, &info, NULL)) == TENSLICE_OK)
        ;
    IN(tenslice_file_attributes(file, &cursor));
    IN(tenslice_attributes_length(&cursor, &number));
    IN(tenslice_attributes_extent(&cursor, &number, &number));
    IN(tenslice_attributes_get_u64(&cursor, "k.u8", 4, &number, NULL));
    IN(tenslice_attributes_get_str(&cursor, "general.architecture", 20, &text, NULL));
    while (IN(tenslice_attributes_next(&cursor, NULL, &value, NULL)) == TENSLICE_OK) {
        if (IN(tenslice_value_items(&value, &items)) != TENSLICE_OK)
            continue;
        while (IN(tenslice_attributes_next(&items, NULL, &value, NULL)) == TENSLICE_OK)
            ;
    }
}

/* The names in a checkpoint that stand for code. */
static void read_code(const tenslice_file *file)
{
    tenslice_pytorch_global global;
    tenslice_cursor cursor;

    global.struct_size = sizeof global;
    if (IN(tenslice_pytorch_globals(file, &cursor)) != TENSLICE_OK)
        return;
    while (IN(tenslice_pytorch_globals_next(&cursor, &global, NULL)) == TENSLICE_OK)
        ;
}

/* The facts about an ONNX model, and its sets of operators. */
static void read_facts(const tenslice_file *file)
{
    tenslice_onnx_info info;
    tenslice_onnx_opset opset;
    tenslice_cursor cursor;

    info.struct_size = sizeof info;
    opset.struct_size = sizeof opset;
    if (IN(tenslice_onnx_get_info(file, &info)) != TENSLICE_OK || IN(tenslice_onnx_opsets(file, &cursor)) != TENSLICE_OK)
        return;
    while (IN(tenslice_onnx_opsets_next(&cursor, &opset, NULL)) == TENSLICE_OK)
        ;
}

/* The subgraphs of a TFLite model, and its texts. */
static void read_constants(const tenslice_file *file)
{
    tenslice_tflite_subgraph subgraph;
    tenslice_cursor cursor, texts;
    tenslice_tensor tensor;
    tenslice_str text;

    subgraph.struct_size = sizeof subgraph;
    if (IN(tenslice_tflite_subgraphs(file, &cursor)) != TENSLICE_OK)
        return;
    while (IN(tenslice_tflite_subgraphs_next(&cursor, &subgraph, NULL)) == TENSLICE_OK)
        ;
    IN(tenslice_file_tensors(file, &cursor));
    while (IN(tenslice_tensors_next(&cursor, &tensor, NULL)) == TENSLICE_OK)
        if (IN(tenslice_tflite_texts(&tensor, &texts, NULL)) == TENSLICE_OK)
            while (IN(tenslice_tflite_texts_next(&texts, &text)) == TENSLICE_OK)
                ;
}

/* The segments of an ExecuTorch file. */
static void read_segments(const tenslice_file *file)
{
    tenslice_ptd_segment segment;
    tenslice_cursor cursor;

    segment.struct_size = sizeof segment;
    if (IN(tenslice_ptd_segments(file, &cursor)) != TENSLICE_OK)
        return;
    while (IN(tenslice_ptd_segments_next(&cursor, &segment, NULL)) == TENSLICE_OK)
        ;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"v0.1/custom_fields.zt", "v1.0/sparse_csr_coo.zt", "v1.2/many_tensors.zt",
                                        "v1.2/objects_sparse_quant_logical.zt", "bad/v1.2/end_past_eof.zt",
                                        "tens/good/unknown_chunks_many.tens", "tens/good/sym_3.tens",
                                        "tens/good/ix_f64_1000x1000.tens", "blz/good/nd10_qtt_c64.blz",
                                        "b2nd/good/nd03_lz4d_0.b2nd", "b2nd/good/cf_blosclz_bshuf_0.b2nd",
                                        "npy/struct_nested_4.npy", "npz/mixed_methods.npz",
                                        "pytorch/views.pt", "pytorch/nested.pt", "pytorch/legacy_two.pt",
                                        "onnx/py_typed_all_types.onnx", "onnx/py_if_branches.onnx", "onnx/py_sparse.onnx",
                                        "ptd/py_dim_orders.ptd", "ptd/py_blobs.ptd",
                                        "tflite/py_strings.tflite", "tflite/py_quantized.tflite",
                                        "tflite/py_sparse.tflite",
                                        "v2/layout_profiles.zt", "v2/dense_all_dtypes_4k.zt",
                                        "v1.2/zstd.zt", "v2/zstd_seekable.zt", "b2nd/good/dict_zstd_shuffle_0.b2nd",
                                        "safetensors/py_tiny_mlp.safetensors",
                                        "safetensors/hm_names_escapes.safetensors",
                                        "safetensors/hm_order_random_64.safetensors",
                                        "safetensors/hm_metadata_values.safetensors",
                                        "gguf/kv_all_types.gguf", "gguf/vocab_601.gguf",
                                        "gguf/be_plain_types.gguf", "gguf-blocks/q4_k.gguf",
                                        "gguf-blocks/iq2_xs.gguf", "gguf/quirks/gg_nested_9.gguf"};
    size_t i;

    for (i = 0; argc == 2 && i < sizeof names / sizeof *names; i++) {
        char path[1024];
        FILE *f;
        size_t size;
        tenslice_file file;
        tenslice_model_file model_file;
        tenslice_model all;
        tenslice_cursor tensors, components, attributes;
        tenslice_tensor tensor, found;
        tenslice_index index;
        tenslice_component component;
        tenslice_bytes bytes;
        tenslice_floats floats;
        tenslice_requirements needed;
        tenslice_tensor_info info;
        tenslice_value value;
        uint64_t count, k;

        snprintf(path, sizeof path, "%s/%s", argv[1], names[i]);
        f = fopen(path, "rb");
        if (f == NULL)
            return 1;
        size = fread(model, 1, sizeof model, f);
        fclose(f);
        if (IN(tenslice_file_open(&file, model, size, NULL)) != TENSLICE_OK)
            continue;
        read_gguf(&file);
        read_code(&file);
        read_facts(&file);
        read_segments(&file);
        read_constants(&file);
        open_in_rounds(size);
        read_planned(&file, size);
        IN(tenslice_model_file_opened(&model_file, names[i], TENSLICE_NUL, &file));
        if (IN(tenslice_model_open(&all, &model_file, 1, words, sizeof words / sizeof *words, NULL)) != TENSLICE_OK)
            return 1;
        read_model(&all);
        if (IN(tenslice_file_index(&file, words, sizeof words / sizeof *words, &index, NULL)) != TENSLICE_OK)
            return 1;
        if (IN(tenslice_file_list(&file, entries, sizeof entries / sizeof *entries, &count, NULL)) != TENSLICE_OK)
            return 1;
        for (k = 0; k < count; k++)
            if (IN(tenslice_file_tensor(&file, &entries[k], &found, NULL)) != TENSLICE_OK)
                return 1;
        IN(tenslice_file_tensors(&file, &tensors));
        while (IN(tenslice_tensors_next(&tensors, &tensor, NULL)) == TENSLICE_OK) {
            info.struct_size = sizeof info;
            IN(tenslice_tensor_get_info(&tensor, &info));
            if (info.index % 100 == 0 && !info.name.is_escaped
                && IN(tenslice_file_find(&file, info.name.data, info.name.length, &found, NULL)) != TENSLICE_OK)
                return 1;
            if (!info.name.is_escaped
                && IN(tenslice_index_find(&index, info.name.data, info.name.length, &found, NULL)) != TENSLICE_OK)
                return 1;
            IN(tenslice_str_copy(&info.name, (char *)scratch, sizeof scratch, NULL));
            IN(tenslice_tensor_components(&tensor, &components));
            while (IN(tenslice_components_next(&components, &component, NULL)) == TENSLICE_OK)
                IN(tenslice_component_bytes(&component, TENSLICE_ANY, &bytes, NULL));
            /* Chunks are decoded. Other layouts are copied or materialized. */
            IN(tenslice_tensor_read_into(&tensor, dense, sizeof dense, &options, NULL, NULL));
            IN(tenslice_tensor_read_f32(&tensor, 0, numbers, 8, NULL));
            IN(tenslice_q4_k_to_f32(model, size, 0, numbers, 8));
            IN(tenslice_tensor_read_f32_into(&tensor, numbers, sizeof numbers / sizeof *numbers, &options, NULL, NULL));
            IN(tenslice_tensor_get(&tensor, NULL, &bytes, NULL));
            needed.struct_size = sizeof needed;
            IN(tenslice_tensor_get_f32(&tensor, NULL, numbers, sizeof numbers / sizeof *numbers, &options, &floats,
                                       &needed, NULL));
            if (!info.name.is_escaped)
                IN(tenslice_index_get_f32(&index, info.name.data, info.name.length, NULL, numbers,
                                          sizeof numbers / sizeof *numbers, &options, &floats, &needed, NULL));
            IN(tenslice_tensor_attributes(&tensor, &attributes));
            value.struct_size = sizeof value;
            while (IN(tenslice_attributes_next(&attributes, NULL, &value, NULL)) == TENSLICE_OK)
                ;
        }
    }
    write_files();
    if (argc == 2)
        read_index(argv[1]);
    printf("no_malloc: %d allocations in %ld calls: %s\n", allocations, calls, allocations ? "FAILED" : "ok");
    return allocations != 0 || calls < 1000;
}
