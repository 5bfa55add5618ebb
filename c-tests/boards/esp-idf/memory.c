/* The functions of the C library that tenslice calls: the compiler of this machine has no C library for RISC-V. */
#include <stddef.h>

void *memcpy(void *to, const void *from, size_t size)
{
    char *out = to;
    const char *in = from;
    while (size--)
        *out++ = *in++;
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    char *out = to;
    const char *in = from;
    if (out <= in)
        return memcpy(to, from, size);
    while (size--)
        out[size] = in[size];
    return to;
}

void *memset(void *to, int value, size_t size)
{
    char *out = to;
    while (size--)
        *out++ = (char)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
    const unsigned char *left = a, *right = b;
    for (; size--; left++, right++)
        if (*left != *right)
            return *left - *right;
    return 0;
}
