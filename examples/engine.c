/*
 * Loads the weights of a transformer as an inference engine does: checks each against a table of names, dtypes and
 * shapes, and prints a message on a mismatch. Then loads one tensor by ranges, as for files that cannot be mapped.
 *
 *     engine FILE
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tenslice.h"

enum { LAYERS = 22, HIDDEN = 8, KEYS = 4, INNER = 16, WORDS = 12, ONCE = 1 };

static const struct weight {
    const char *name; /* %d is the layer */
    int layers;
    uint32_t dtype;
    size_t rank;
    uint64_t shape[2];
} weights[] = {
    {"model.embed_tokens.weight", ONCE, TENSLICE_F16, 2, {WORDS, HIDDEN}},
    {"model.layers.%d.input_layernorm.weight", LAYERS, TENSLICE_F32, 1, {HIDDEN, 1}},
    {"model.layers.%d.self_attn.q_proj.weight", LAYERS, TENSLICE_F16, 2, {HIDDEN, HIDDEN}},
    {"model.layers.%d.self_attn.k_proj.weight", LAYERS, TENSLICE_F16, 2, {KEYS, HIDDEN}},
    {"model.layers.%d.self_attn.v_proj.weight", LAYERS, TENSLICE_F16, 2, {KEYS, HIDDEN}},
    {"model.layers.%d.self_attn.o_proj.weight", LAYERS, TENSLICE_F16, 2, {HIDDEN, HIDDEN}},
    {"model.layers.%d.post_attention_layernorm.weight", LAYERS, TENSLICE_F32, 1, {HIDDEN, 1}},
    {"model.layers.%d.mlp.gate_proj.weight", LAYERS, TENSLICE_F16, 2, {INNER, HIDDEN}},
    {"model.layers.%d.mlp.up_proj.weight", LAYERS, TENSLICE_F16, 2, {INNER, HIDDEN}},
    {"model.layers.%d.mlp.down_proj.weight", LAYERS, TENSLICE_F16, 2, {HIDDEN, INNER}},
    {"model.norm.weight", ONCE, TENSLICE_F32, 1, {HIDDEN, 1}},
};

/* Loads one tensor of a mapped file. This example sums its numbers; an engine would keep the pointers. */
static int load(const tenslice_file *file, const tenslice_index *index, const struct weight *want, int layer,
                double *sum)
{
    char name[64], why[512] = "";
    float room[INNER * HIDDEN]; /* enough for every tensor of the table */
    const float *numbers = room;
    tenslice_tensor tensor; tenslice_bytes bytes; tenslice_error error;
    size_t count, i;

    snprintf(name, sizeof name, want->name, layer);
    if (tenslice_index_find(index, name, TENSLICE_NUL, &tensor, &error) != TENSLICE_OK
        || tenslice_tensor_expect(&tensor, want->dtype, want->shape, want->rank, &bytes, &error) != TENSLICE_OK) {
        tenslice_expect_text(file, name, TENSLICE_NUL, want->dtype, want->shape, want->rank, &error, why, sizeof why,
                             NULL);
        return fprintf(stderr, "error: %s\n", why), 0;
    }
    count = bytes.length / tenslice_dtype_size(want->dtype);
    if (want->dtype == TENSLICE_F32)
        numbers = (const float *)bytes.data; /* in place */
    else if (tenslice_tensor_read_f32(&tensor, 0, room, count, NULL) != TENSLICE_OK) /* converted */
        return 0;
    for (i = 0; i < count; i++)
        *sum += numbers[i];
    return 1;
}

/* Loads the first tensor of the table from a file that is not in memory: the library says which bytes it needs. */
static int load_by_ranges(int handle, uint64_t size, double *sum)
{
    static unsigned char room[1 << 16];
    uint16_t stored[WORDS * HIDDEN], numbers[WORDS * HIDDEN];
    tenslice_source source; tenslice_file file; tenslice_tensor tensor; tenslice_component component;
    tenslice_component_info info; tenslice_need need; tenslice_bytes none; tenslice_status status;
    size_t used = 0, i;

    tenslice_source_init(&source, size);
    while ((status = tenslice_file_open_source(&file, &source, &need, NULL)) == TENSLICE_NEED) {
        if (need.length > sizeof room - used /* never trust the sizes that a file states */
            || pread(handle, room + used, (size_t)need.length, (off_t)need.offset) != (ssize_t)need.length
            || tenslice_source_add(&source, need.offset, room + used, (size_t)need.length) != TENSLICE_OK)
            return 0;
        used += need.keep ? (size_t)need.length : 0;
    }
    TENSLICE_INIT(info);
    if (status != TENSLICE_OK || tenslice_file_find(&file, weights->name, TENSLICE_NUL, &tensor, NULL) != TENSLICE_OK
        || tenslice_tensor_expect(&tensor, weights->dtype, weights->shape, 2, &none, NULL) != TENSLICE_NOT_IN_MEMORY
        || tenslice_tensor_data(&tensor, &component, NULL) != TENSLICE_OK
        || tenslice_component_get_info(&component, &info) != TENSLICE_OK || info.length != sizeof stored
        || pread(handle, stored, sizeof stored, (off_t)info.offset) != (ssize_t)sizeof stored
        || tenslice_component_with_bytes(&component, stored, sizeof stored, &component, NULL) != TENSLICE_OK
        || tenslice_component_read_into(&component, numbers, sizeof numbers, NULL, NULL, NULL) != TENSLICE_OK)
        return 0;
    for (i = 0; i < WORDS * HIDDEN; i++)
        *sum += tenslice_f16_to_f32(numbers[i]);
    return 1;
}

int main(int argc, char **argv)
{
    static uint32_t words[3 * 1024]; /* for 1024 names; see tenslice_file_index_length */
    const int handle = argc == 2 ? open(argv[1], O_RDONLY) : -1;
    const off_t size = handle < 0 ? 0 : lseek(handle, 0, SEEK_END);
    const void *data = size <= 0 ? MAP_FAILED : mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, handle, 0);
    tenslice_file file; tenslice_index index; tenslice_error error;
    double sum = 0, part = 0;
    char why[512] = "";
    size_t i, loaded = 0;

    if (data == MAP_FAILED)
        return perror("engine FILE"), 1;
    if (tenslice_file_open(&file, data, (size_t)size, &error) != TENSLICE_OK) {
        tenslice_error_text(&error, data, (size_t)size, why, sizeof why, NULL);
        return fprintf(stderr, "error: %s\n", why), 1;
    }
    if (tenslice_file_index(&file, words, sizeof words / sizeof *words, &index, &error) != TENSLICE_OK)
        return fprintf(stderr, "error: %s\n", tenslice_status_text(error.kind)), 1;
    for (i = 0; i < sizeof weights / sizeof *weights; i++)
        for (int layer = 0; layer < weights[i].layers; layer++, loaded++)
            if (!load(&file, &index, &weights[i], layer, &sum))
                return 1;
    if (!load_by_ranges(handle, (uint64_t)size, &part))
        return fputs("error: the file was not read by ranges\n", stderr), 1;
    return printf("%zu tensors, sum %g; of the first, by ranges, %g\n", loaded, sum, part) < 0;
}
