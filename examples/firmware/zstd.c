/*
 * Decodes compressed weights on a chip with the library's own decoder, the feature `zstd`. Nothing is allocated: the only
 * memory besides the weights is the stack. Prints the stack and the instructions of reading, for size.sh.
 *
 * The exit code is 0 only if the decoded weights equal the model's, and a damaged stream is refused.
 */
#include "board.h"
#define PAINTED 8192
#include "figures.h"
#include "tenslice.h"

#define COUNT (32 * 64)
#define MOST 24576 /* bytes of stack */

static float weight[COUNT];
static tenslice_tensor tensor;
static tenslice_status status;
static uint64_t length;

static void read(void)
{
    status = tenslice_tensor_read_into(&tensor, weight, sizeof weight, NULL, &length, NULL);
}

int main(void)
{
    static unsigned char damaged[16384];
    const size_t size = (size_t)(model_end - model_start);
    tenslice_file file;
    tenslice_tensor other;
    tenslice_component component;
    tenslice_bytes expected, stored;
    uint32_t stack, instructions;

    /* The model in flash is compressed.zt; digits.tens has the same weights, column by column. */
    if (tenslice_file_open(&file, model_start, size, NULL) != TENSLICE_OK
        || tenslice_file_find(&file, "layer1.weight", 13, &tensor, NULL) != TENSLICE_OK
        || tenslice_tensor_component(&tensor, "data", 4, &component, NULL) != TENSLICE_OK
        || tenslice_component_stored(&component, &stored, NULL) != TENSLICE_OK)
        return 1;
    stack = stack_of(read) - stack_of(nothing);
    instructions = instructions_of(read) - instructions_of(nothing);
    if (status != TENSLICE_OK || length != sizeof weight) {
        print(tenslice_status_text(status));
        print("\n");
        return 1;
    }
    if (tenslice_file_open(&file, tens_start, (size_t)(tens_end - tens_start), NULL) != TENSLICE_OK
        || tenslice_file_find(&file, "", 0, &other, NULL) != TENSLICE_OK
        || tenslice_tensor_bytes(&other, TENSLICE_F32, &expected, NULL) != TENSLICE_OK)
        return 1;
    for (unsigned i = 0; i < COUNT; i++)
        if (weight[i] != ((const float *)expected.data)[i % 64 * 32 + i / 64])
            return 1;

    /* The same model with a bit set that is reserved (RFC 8878, 3.1.1.1.1). */
    if (size > sizeof damaged)
        return 1;
    memcpy(damaged, model_start, size);
    damaged[(const unsigned char *)stored.data - model_start + 4] |= 8;
    if (tenslice_file_open(&file, damaged, size, NULL) != TENSLICE_OK
        || tenslice_file_find(&file, "layer1.weight", 13, &tensor, NULL) != TENSLICE_OK)
        return 1;
    read();
    if (status != TENSLICE_CORRUPT_STREAM)
        return 1;
    print_figures("read", stack, instructions);
    return stack <= MOST ? 0 : 1;
}
