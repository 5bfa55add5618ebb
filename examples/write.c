/*
 * Writes a safetensors file of two tensors: declares them, then passes their data to a sink, which writes to a file.
 *
 *     write FILE
 */
#include <stdio.h>

#include "tenslice.h"

static const uint64_t weight_shape[] = {2, 3}, bias_shape[] = {2};
static const tenslice_new_tensor tensors[] = {
    TENSLICE_NEW_TENSOR("layer1.weight", TENSLICE_F32, weight_shape),
    TENSLICE_NEW_TENSOR("layer1.bias", TENSLICE_F32, bias_shape),
};
static const tenslice_new_file declared = TENSLICE_NEW_FILE(TENSLICE_FORMAT_SAFETENSORS, tensors);

/* The sink: the offsets increase without gaps, so the bytes are appended. */
static int append(void *context, uint64_t offset, const void *bytes, size_t length)
{
    (void)offset;
    return fwrite(bytes, 1, length, (FILE *)context) == length ? 0 : 1;
}

int main(int argc, char **argv)
{
    static const float weight[] = {1, 2, 3, 4, 5, 6}, bias[] = {0.5F, -0.5F}; /* on a little-endian machine */
    FILE *file = argc == 2 ? fopen(argv[1], "wb") : NULL;
    const tenslice_sink sink = {append, file};
    tenslice_writer writer;
    tenslice_error error;
    char text[256] = "";

    if (file == NULL) return 1;
    if (tenslice_writer_open(&writer, &declared, NULL, 0, &error) != TENSLICE_OK
        || tenslice_writer_begin(&writer, &sink, &error) != TENSLICE_OK
        || tenslice_writer_data(&writer, &sink, weight, sizeof weight, &error) != TENSLICE_OK
        || tenslice_writer_data(&writer, &sink, bias, sizeof bias, &error) != TENSLICE_OK
        || tenslice_writer_finish(&writer, &sink, &error) != TENSLICE_OK) {
        tenslice_writer_error_text(&declared, &error, text, sizeof text, NULL);
        fprintf(stderr, "%s\n", text);
        return 1;
    }
    return fclose(file) == 0 ? 0 : 1;
}
