/*
 * Single calls, for calls.sh. CALLS has a bit for each call that is in the firmware. With STACK, prints the stack that
 * each call uses, and its status.
 */
#include "board.h"
#include "tenslice.h"

static tenslice_file file, other;
static tenslice_tensor tensor;
static tenslice_bytes bytes;
static tenslice_error error;
static tenslice_status status;
static tenslice_str name = {"layer1.weight", 13, 0, {0}};

/* The outputs are static, so that only the library's stack is measured. */
#define CALL(name) static __attribute__((noinline, unused)) void name(void)

CALL(call_open)
{
    status = tenslice_file_open(&file, model_start, (size_t)(model_end - model_start), &error);
}

CALL(call_find)
{
    status = tenslice_file_find(&file, name.data, name.length, &tensor, &error);
}

CALL(call_bytes)
{
    status = tenslice_tensor_bytes(&tensor, TENSLICE_ANY, &bytes, &error);
}

CALL(call_get)
{
    status = tenslice_file_get(&file, name.data, name.length, NULL, &bytes, &error);
}

CALL(call_list)
{
    static tenslice_cursor cursor;
    static tenslice_tensor next;
    status = tenslice_file_tensors(&file, &cursor);
    while (status == TENSLICE_OK && (status = tenslice_tensors_next(&cursor, &next, &error)) == TENSLICE_OK)
        name = tenslice_tensor_name(&next);
}

CALL(call_info)
{
    static tenslice_tensor_info info;
    info.struct_size = sizeof info;
    status = tenslice_tensor_get_info(&tensor, &info);
}

CALL(call_shape)
{
    static uint64_t shape[8];
    static uint32_t rank;
    status = tenslice_tensor_shape(&tensor, shape, 8, &rank);
}

CALL(call_index)
{
    static uint32_t words[64];
    static tenslice_index index;
    status = tenslice_file_index(&file, words, 64, &index, &error);
    if (status == TENSLICE_OK)
        status = tenslice_index_find(&index, name.data, name.length, &tensor, &error);
}

CALL(call_source)
{
    static tenslice_source source;
    static tenslice_need need;
    status = tenslice_source_init(&source, (uint64_t)(model_end - model_start));
    while (status == TENSLICE_OK && (status = tenslice_file_open_source(&other, &source, &need, &error)) == TENSLICE_NEED)
        status = tenslice_source_add(&source, need.offset, model_start + need.offset, (size_t)need.length);
}

CALL(call_read_into)
{
#ifdef SMALL
    static uint32_t room[768], scratch[256];
#else
    static uint32_t room[16384], scratch[4096];
#endif
    static const tenslice_read_options options = {sizeof options, 0, NULL, scratch, sizeof scratch};
    status = tenslice_tensor_read_into(&tensor, room, sizeof room, &options, NULL, &error);
}

CALL(call_read_f32)
{
    static float numbers[8];
    status = tenslice_tensor_read_f32(&tensor, 0, numbers, 8, &error);
}

CALL(call_verify)
{
    static tenslice_verified verified;
    verified.struct_size = sizeof verified;
    status = tenslice_file_verify(&file, NULL, &verified, &error);
}

CALL(call_status_name)
{
    status = tenslice_status_name(TENSLICE_NOT_FOUND)[0] == 'N' ? TENSLICE_OK : TENSLICE_NOT_FOUND;
}

CALL(call_status_text)
{
    status = tenslice_status_text(TENSLICE_NOT_FOUND)[0] != '?' ? TENSLICE_OK : TENSLICE_NOT_FOUND;
}

CALL(call_error_text)
{
    static char text[256];
    status = tenslice_error_text(&error, model_start, (size_t)(model_end - model_start), text, sizeof text, NULL);
}

CALL(call_get_text)
{
    static char text[256];
    status = tenslice_file_get_text(&file, TENSLICE_STR("layer1.wieght"), NULL, &error, text, sizeof text, NULL);
}

#ifdef STACK
#include "paint.h"

static __attribute__((noinline)) void use(void (*call)(void), const char *what)
{
    const uint32_t stack = stack_of(call) - stack_of(nothing);
    print(what);
    print(" ");
    print_number(stack);
    print(" ");
    print(status == TENSLICE_END ? "Ok" : tenslice_status_name(status));
    print("\n");
}
#else
#define use(call, what) call()
#endif

/* Every program makes the first three calls. `list` runs before `find`, so that `find` looks up the last tensor. */
int main(void)
{
#define USE(bit, what)                                                                                               \
    if (CALLS & UINT32_C(1) << bit)                                                                                  \
        use(call_##what, #what);

    __asm volatile("" : : "r"(model_start)); /* keeps the model in the image, whatever is called */
    USE(0, open)
    USE(4, list)
    USE(1, find)
    USE(2, bytes)
    USE(3, get)
    USE(5, info)
    USE(6, shape)
    USE(7, index)
    USE(8, source)
    USE(9, read_into)
    USE(10, read_f32)
    USE(11, verify)
    USE(12, status_name)
    USE(13, status_text)
    /* Makes the error of a missing name. */
    if (CALLS & UINT32_C(3) << 14)
        status = tenslice_file_find(&file, TENSLICE_STR("layer1.wieght"), &tensor, &error);
    USE(14, error_text)
    USE(15, get_text)
    return 0;
}
