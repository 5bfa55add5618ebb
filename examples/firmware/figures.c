/*
 * Measures the cost of opening a file, finding a tensor and reading it. Prints a line for each operation, which size.sh
 * compares with the limits: the name, the bytes of stack (measured by painting), and the number of instructions.
 */
#include "board.h"
#include "figures.h"
#include "tenslice.h"

static tenslice_file file;
static tenslice_tensor tensor;
static tenslice_component data;
static tenslice_bytes bytes;
static tenslice_status status;
static const char *name;

static __attribute__((noinline)) void open_file(void)
{
    status = tenslice_file_open(&file, model_start, (size_t)(model_end - model_start), NULL);
}

static __attribute__((noinline)) void find(void)
{
    status = tenslice_file_find(&file, name, strlen(name), &tensor, NULL);
}

/* Decodes a whole chunked tensor. */
static __attribute__((noinline)) void read_chunks(void)
{
    static uint32_t room[512], scratch[256];
    static const tenslice_read_options options = {sizeof options, 0, NULL, scratch, sizeof scratch};
    status = tenslice_tensor_read_into(&tensor, room, sizeof room, &options, NULL, NULL);
}

static __attribute__((noinline)) void read_bytes(void)
{
    status = tenslice_tensor_bytes(&tensor, TENSLICE_ANY, &bytes, NULL);
    if (status == TENSLICE_OK)
        status = tenslice_tensor_data(&tensor, &data, NULL);
}

/* Prints the line of an operation. The cost of calling `nothing` does not count. Returns 1 if the operation fails. */
static int measure(const char *what, void (*call)(void))
{
    const uint32_t stack = stack_of(call) - stack_of(nothing);
    const uint32_t instructions = instructions_of(call) - instructions_of(nothing);
    if (status != TENSLICE_OK) {
        print(tenslice_status_name(status));
        print("\n");
        return 1;
    }
    print_figures(what, stack, instructions);
    return 0;
}

int main(void)
{
    tenslice_cursor cursor;
    tenslice_tensor last;
    tenslice_tensor_info info;
    static char text[64];

    if (measure("open", open_file))
        return 1;
    /* The last tensor takes longest to find. */
    if (tenslice_file_tensors(&file, &cursor) != TENSLICE_OK)
        return 1;
    while (tenslice_tensors_next(&cursor, &last, NULL) == TENSLICE_OK)
        ;
    info.struct_size = sizeof info;
    if (tenslice_tensor_get_info(&last, &info) != TENSLICE_OK || info.name.length >= sizeof text)
        return 1;
    memcpy(text, info.name.data, info.name.length);
    name = text;
    return measure("find", find) || measure("read", info.layout == TENSLICE_LAYOUT_CHUNKED ? read_chunks : read_bytes);
}
