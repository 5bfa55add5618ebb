/* Quantizes the floats on standard input with ggml: ggml q8_0 < floats > blocks. */
#include "../../../benches/ggml.h"

enum { FLOATS = 32 << 10 };

static const struct {
    const char *name;
    size_t size;
    void (*quantize)(const float *, void *, int64_t);
} types[] = {
    {"q8_0", sizeof(block_q8_0), (void (*)(const float *, void *, int64_t))quantize_row_q8_0_ref},
    {"q4_0", sizeof(block_q4_0), (void (*)(const float *, void *, int64_t))quantize_row_q4_0_ref},
    {"q4_1", sizeof(block_q4_1), (void (*)(const float *, void *, int64_t))quantize_row_q4_1_ref},
    {"q5_0", sizeof(block_q5_0), (void (*)(const float *, void *, int64_t))quantize_row_q5_0_ref},
    {"q5_1", sizeof(block_q5_1), (void (*)(const float *, void *, int64_t))quantize_row_q5_1_ref},
};

int main(int argc, char **argv) {
    static float floats[FLOATS];
    static char blocks[FLOATS / 32 * sizeof(block_q8_0)];
    size_t i, length;
    for (i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (argc != 2 || strcmp(argv[1], types[i].name) != 0) {
            continue;
        }
        while ((length = fread(floats, sizeof floats[0], FLOATS, stdin)) > 0) {
            types[i].quantize(floats, blocks, (int64_t)length);
            if (fwrite(blocks, types[i].size, length / 32, stdout) != length / 32) {
                return 1;
            }
        }
        return 0;
    }
    return 2;
}
