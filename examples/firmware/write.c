/*
 * Writes a file of the format that DEFINES names, with the fewest calls, for size.sh. With STACK, prints a line for each
 * call: its name, the bytes of stack, and the number of instructions.
 */
#include "board.h"
#include "tenslice.h"

static const uint64_t weight_shape[] = {2, 3}, bias_shape[] = {2};
static const tenslice_new_tensor tensors[] = {
    TENSLICE_NEW_TENSOR("bias", TENSLICE_F32, bias_shape),
    TENSLICE_NEW_TENSOR("weight", TENSLICE_F32, weight_shape),
};
static const tenslice_new_file declared = TENSLICE_NEW_FILE(FORMAT, tensors);
static const float numbers[] = {1, 2, 3, 4, 5, 6, 7, 8}; /* of both tensors */
static volatile unsigned char room[1024]; /* as a device: `memcpy` would count as a part of the library */
static tenslice_writer writer;
static tenslice_status status;

static int append(void *context, uint64_t offset, const void *bytes, size_t length)
{
    const unsigned char *from = bytes;
    size_t i;
    (void)context;
    if (offset > sizeof room || length > sizeof room - (size_t)offset)
        return 1;
    for (i = 0; i < length; i++)
        room[(size_t)offset + i] = from[i];
    return 0;
}

static const tenslice_sink sink = {append, NULL};

#define CALL(name) static __attribute__((noinline)) void name(void)

CALL(call_open)
{
    status = tenslice_writer_open(&writer, &declared, NULL, 0, NULL);
}

CALL(call_begin)
{
    status = tenslice_writer_begin(&writer, &sink, NULL);
}

CALL(call_data)
{
    status = tenslice_writer_data(&writer, &sink, numbers, sizeof numbers, NULL);
}

CALL(call_finish)
{
    status = tenslice_writer_finish(&writer, &sink, NULL);
}

#ifdef STACK
#include "figures.h"

/* A writer cannot repeat a call, so the second measurement is of a copy. */
static int use(void (*call)(void), const char *what)
{
    const tenslice_writer before = writer;
    const uint32_t stack = stack_of(call) - stack_of(nothing);
    uint32_t instructions;
    writer = before;
    instructions = instructions_of(call) - instructions_of(nothing);
    print_figures(what, stack, instructions);
    return status != TENSLICE_OK;
}
#define USE(name) use(call_##name, #name)
#else
#define USE(name) (call_##name(), status != TENSLICE_OK)
#endif

int main(void)
{
    return USE(open) || USE(begin) || USE(data) || USE(finish);
}
