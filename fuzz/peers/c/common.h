/* Functions for the programs in this folder: each reads one file with one reader, and uses all data in it.
 * They exit with 0 if the reader accepts the file, with 1 if it refuses the file, with 3 if there is no memory. */
#include <stdio.h>
#include <stdlib.h>

#define REFUSED 1
#define NO_MEMORY 3

/* The contents of a file, in as many bytes as the file has. */
static inline void *contents(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    void *bytes;
    if (!file || fseek(file, 0, SEEK_END) != 0)
        exit(2);
    *size = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(*size);
    if (fread(bytes, 1, *size, file) != *size)
        exit(2);
    fclose(file);
    return bytes;
}

/* Reads every byte that a reader says a tensor has. */
static inline void use(const void *data, size_t size)
{
    const volatile unsigned char *bytes = (const unsigned char *)data;
    size_t i;
    for (i = 0; i < size; i++)
        (void)bytes[i];
}
