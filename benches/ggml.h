/* The quantizing code of ggml, which ggml.sh fetches, and the functions that it refers to in files that are not compiled.
   Quantizing and dequantizing never call them. */
#include "ggml-quants.c"

void ggml_abort(const char *file, int line, const char *format, ...) {
    (void)file, (void)line, (void)format;
    abort();
}

size_t ggml_row_size(enum ggml_type type, int64_t n) {
    (void)type, (void)n;
    abort();
}

size_t ggml_type_size(enum ggml_type type) {
    (void)type;
    abort();
}

const char *ggml_type_name(enum ggml_type type) {
    (void)type;
    abort();
}
