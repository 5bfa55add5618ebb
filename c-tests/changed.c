/* Bytes that change while handles refer to them, as in a mapped file: calls return, an iterator that ends early has an
 * error, and failing calls leave outputs unchanged. Arguments: the fixtures, and N to change only each Nth byte. */
#include "support.h"

/* Reads all attributes, and the values in them. Every list ends. */
static void list_values(tenslice_cursor cursor, int depth)
{
    tenslice_cursor inner;
    tenslice_value key, value;
    tenslice_status status;
    unsigned count = 0;

    key.struct_size = value.struct_size = sizeof value;
    while ((status = tenslice_attributes_next(&cursor, &key, &value, NULL)) == TENSLICE_OK) {
        CHECK(++count < 10000);
        if (depth < 4 && tenslice_value_items(&value, &inner) == TENSLICE_OK) list_values(inner, depth + 1);
    }
    CHECK(status == TENSLICE_END || status >= 100);
    EXPECT(status, tenslice_attributes_next(&cursor, &key, &value, NULL));
}

/* Reads a list of what only one format has: `begin` fails for files of others. */
#define LIST_OF(what, begin, next)                                             \
    do {                                                                       \
        what item;                                                             \
        tenslice_cursor of_items;                                              \
        tenslice_status end;                                                   \
        item.struct_size = sizeof item;                                        \
        if (begin(file, &of_items) == TENSLICE_OK) {                           \
            while ((end = next(&of_items, &item, NULL)) == TENSLICE_OK) {      \
            }                                                                  \
            CHECK(end == TENSLICE_END || end >= 100);                          \
            EXPECT(end, next(&of_items, &item, NULL));                         \
        }                                                                      \
    } while (0)

/* Lists everything. Every call returns, and the list ends where it did before, or with an error; but that of a TFLite
 * model may be another one, since only buffers tell constants from activations. Calls for a tensor may also fail. */
static void list(const tenslice_file *file, uint64_t count, int is_tflite)
{
    tenslice_cursor cursor, parts;
    tenslice_tensor tensor;
    tenslice_component component;
    tenslice_bytes bytes;
    uint64_t shape[16], listed = 0;
    uint32_t rank;
    int components;
    tenslice_status status;

    EXPECT(TENSLICE_OK, tenslice_file_tensors(file, &cursor));
    while ((status = tenslice_tensors_next(&cursor, &tensor, NULL)) == TENSLICE_OK) {
        listed++;
        CHECK(listed <= count || is_tflite);
        tenslice_tensor_shape(&tensor, shape, 16, &rank);
        EXPECT(TENSLICE_OK, tenslice_tensor_components(&tensor, &parts));
        for (components = 0; tenslice_components_next(&parts, &component, NULL) == TENSLICE_OK; components++) {
            CHECK(components < 256);
            tenslice_component_bytes(&component, TENSLICE_ANY, &bytes, NULL);
        }
        tenslice_tensor_bytes(&tensor, TENSLICE_ANY, &bytes, NULL);
        EXPECT(TENSLICE_OK, tenslice_tensor_attributes(&tensor, &parts));
        list_values(parts, 0);
    }
    /* The end is where it was, or there is a permanent error. */
    CHECK(status == TENSLICE_END ? listed == count || is_tflite : status >= 100);
    EXPECT(status, tenslice_tensors_next(&cursor, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_attributes(file, &cursor));
    list_values(cursor, 0);
    LIST_OF(tenslice_ztensor2_shard, tenslice_ztensor2_shards, tenslice_ztensor2_shards_next);
    LIST_OF(tenslice_onnx_opset, tenslice_onnx_opsets, tenslice_onnx_opsets_next);
    LIST_OF(tenslice_ptd_segment, tenslice_ptd_segments, tenslice_ptd_segments_next);
    LIST_OF(tenslice_pytorch_global, tenslice_pytorch_globals, tenslice_pytorch_globals_next);
    LIST_OF(tenslice_tflite_subgraph, tenslice_tflite_subgraphs, tenslice_tflite_subgraphs_next);
}

int main(int argc, char **argv)
{
    static const char *const files[] = {
        "v1.0/sparse_csr_coo.zt", "v1.2/objects_sparse_quant_logical.zt", "tens/good/sym_3.tens",
        "blz/good/nd10_qtt_c64.blz", "b2nd/good/nd02_lz4_0.b2nd", "npy/struct_nested_4.npy", "npz/mixed_methods.npz",
        "v2/file_attributes.zt", "v2/shards.zt",
        "safetensors/py_tiny_mlp.safetensors", "safetensors/hm_escapes.safetensors", "pytorch/script_frozen.pt",
        "pytorch/legacy_two.pt", "pytorch/nested.pt", "onnx/py_sparse.onnx", "onnx/py_external.onnx",
        "onnx/py_if_branches.onnx", "onnx/py_tensor_metadata.onnx", "ptd/hm_keys_utf8.ptd", "ptd/py_tied.ptd",
        "tflite/py_metadata.tflite", "tflite/py_external_buffers.tflite", "tflite/py_sparse.tflite"};
    static const unsigned char values[] = {0x00, 0x1f, 0x41, 0x7f, 0xa1, 0xbf, 0xff};
    size_t i, at, k;
    size_t step = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    unsigned errors = 0;

    CHECK(argc > 1 && step > 0);
    for (i = 0; i < sizeof files / sizeof *files; i++) {
        blob b = load(argv[1], files[i]);
        unsigned char *bytes = (unsigned char *)malloc(b.size);
        tenslice_file file;
        tenslice_file_info info;
        tenslice_cursor cursor;
        tenslice_tensor first, found, untouched;
        tenslice_tensor_info about, now;
        tenslice_index index;
        static uint32_t words[512];

        CHECK(bytes != NULL);
        memcpy(bytes, b.data, b.size);
        EXPECT(TENSLICE_OK, tenslice_file_open(&file, bytes, b.size, NULL));
        info.struct_size = sizeof info;
        EXPECT(TENSLICE_OK, tenslice_file_get_info(&file, &info));
        EXPECT(TENSLICE_OK, tenslice_file_index(&file, words, sizeof words / sizeof *words, &index, NULL));
        EXPECT(TENSLICE_OK, tenslice_file_tensors(&file, &cursor));
        EXPECT(TENSLICE_OK, tenslice_tensors_next(&cursor, &first, NULL));
        about.struct_size = now.struct_size = sizeof about;
        for (at = 0; at < b.size; at += step) {
            for (k = 0; k < sizeof values; k++) {
                tenslice_status status;
                char name[64];

                bytes[at] = values[k];
                list(&file, info.tensor_count, info.format == TENSLICE_FORMAT_TFLITE);
                EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&first, &about));
                CHECK(about.name.length < sizeof name);
                memcpy(name, about.name.data, about.name.length);
                memset(&found, 0xee, sizeof found);
                memset(&untouched, 0xee, sizeof untouched);
                status = tenslice_file_find(&file, name, about.name.length, &found, NULL);
                if (status != TENSLICE_OK) {
                    CHECK(status >= 100 && memcmp(&found, &untouched, sizeof found) == 0);
                    errors++;
                }
                memset(&found, 0xee, sizeof found);
                status = tenslice_index_find(&index, name, about.name.length, &found, NULL);
                if (status != TENSLICE_OK) {
                    CHECK(status >= 100 && memcmp(&found, &untouched, sizeof found) == 0);
                    errors++;
                } else {
                    EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&found, &now));
                    CHECK(now.name.is_escaped
                          || (now.name.length == about.name.length && memcmp(now.name.data, name, now.name.length) == 0));
                }
            }
            bytes[at] = ((const unsigned char *)b.data)[at];
        }
        list(&file, info.tensor_count, info.format == TENSLICE_FORMAT_TFLITE);
        free(bytes);
        free((void *)b.data);
    }
    CHECK(errors > 100); /* some errors must occur */
    puts("changed: ok");
    return 0;
}
