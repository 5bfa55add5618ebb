/*
 * Decodes compressed weights on a chip. The library calls a decoder of the program, here libzstd, which has all its
 * memory in one static workspace of 96 KB. Nothing is allocated; a workspace that is too small is an error.
 *
 * The exit code is 0 only if the decoded weights equal the model's, and the small workspace is refused.
 */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "board.h"
#include "tenslice.h"

#define COUNT (32 * 64)

typedef struct {
    void *memory;
    size_t size;
} workspace;

static tenslice_status decode(void *user, uint32_t encoding, const void *stored, size_t stored_length, void *room,
                              size_t capacity, size_t *length)
{
    const workspace *work = (const workspace *)user;
    ZSTD_DCtx *context;
    size_t decoded;

    if (encoding != TENSLICE_ENCODING_ZSTD)
        return TENSLICE_UNSUPPORTED_ENCODING;
    context = ZSTD_initStaticDCtx(work->memory, work->size);
    if (context == NULL)
        return TENSLICE_OUT_OF_SCRATCH;
    decoded = ZSTD_decompressDCtx(context, room, capacity, stored, stored_length);
    if (ZSTD_isError(decoded))
        return ZSTD_getErrorCode(decoded) == ZSTD_error_dstSize_tooSmall ? TENSLICE_TOO_SMALL : TENSLICE_CORRUPT_STREAM;
    *length = decoded;
    return TENSLICE_OK;
}

int main(void)
{
    static uint64_t memory[98304 / sizeof(uint64_t)];
    static float weight[COUNT];
    workspace work = {memory, sizeof memory}, little = {memory, 1024};
    tenslice_decoder decoder = {decode, &work, NULL};
    tenslice_read_options options = {sizeof options, 0, &decoder, NULL, 0};
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_bytes expected;
    tenslice_status status;
    uint64_t length = 0;

    /* The model in flash is compressed.zt; digits.tens has the same weights, column by column. */
    if (tenslice_file_open(&file, model_start, (size_t)(model_end - model_start), NULL) != TENSLICE_OK
        || tenslice_file_find(&file, "layer1.weight", 13, &tensor, NULL) != TENSLICE_OK)
        return 1;
    status = tenslice_tensor_read_into(&tensor, weight, sizeof weight, &options, &length, NULL);
    if (status != TENSLICE_OK || length != sizeof weight) {
        print(tenslice_status_text(status));
        print("\n");
        return 1;
    }
    if (tenslice_file_open(&file, tens_start, (size_t)(tens_end - tens_start), NULL) != TENSLICE_OK
        || tenslice_file_find(&file, "", 0, &tensor, NULL) != TENSLICE_OK
        || tenslice_tensor_bytes(&tensor, TENSLICE_F32, &expected, NULL) != TENSLICE_OK)
        return 1;
    for (unsigned i = 0; i < COUNT; i++)
        if (weight[i] != ((const float *)expected.data)[i % 64 * 32 + i / 64])
            return 1;
    print("decoded the weights in a workspace of ");
    print_number(sizeof memory);
    print(" bytes; in one of ");
    print_number((uint32_t)little.size);
    print(": ");

    decoder.user = &little;
    if (tenslice_file_open(&file, model_start, (size_t)(model_end - model_start), NULL) != TENSLICE_OK
        || tenslice_file_find(&file, "layer1.weight", 13, &tensor, NULL) != TENSLICE_OK)
        return 1;
    status = tenslice_tensor_read_into(&tensor, weight, sizeof weight, &options, NULL, NULL);
    print(tenslice_status_text(status));
    print("\n");
    return status == TENSLICE_CORRUPT_STREAM ? 0 : 1;
}
