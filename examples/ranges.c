/*
 * Reads one tensor of a file that is not in memory, by pread. An SD card, a partition or an HTTP server with ranges
 * would do as well. The library reports which bytes it needs, and never reads by itself.
 *
 *     ranges FILE NAME
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tenslice.h"

/* The memory that a firmware would reserve; it must hold the metadata of the file. */
static unsigned char room[1 << 18];

static int fetch(int handle, uint64_t offset, void *to, uint64_t length, uint64_t *fetched)
{
    *fetched += length;
    return pread(handle, to, (size_t)length, (off_t)offset) == (ssize_t)length;
}

static int fail(const char *path, tenslice_status status)
{
    fprintf(stderr, "error: %s: %s\n", path, tenslice_status_text(status));
    return 1;
}

int main(int argc, char **argv)
{
    struct stat about;
    tenslice_source source;
    tenslice_need need;
    tenslice_status status;
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_component data, bound;
    tenslice_component_info info;
    uint64_t used = 0, fetched = 0, dense;
    unsigned char *bytes, *numbers;
    int handle;

    if (argc != 3) {
        fprintf(stderr, "usage: %s FILE NAME\n", argv[0]);
        return 2;
    }
    handle = open(argv[1], O_RDONLY);
    if (handle < 0 || fstat(handle, &about) != 0) {
        perror(argv[1]);
        return 1;
    }

    /* Opens the file: fetches and adds each range that the library asks for. */
    tenslice_source_init(&source, (uint64_t)about.st_size);
    while ((status = tenslice_file_open_source(&file, &source, &need, NULL)) == TENSLICE_NEED) {
        if (need.length > sizeof room - used) { /* never trust the sizes that a file states */
            fprintf(stderr, "error: %s: its metadata takes more than %zu bytes\n", argv[1], sizeof room);
            return 1;
        }
        if (!fetch(handle, need.offset, room + used, need.length, &fetched)) {
            perror(argv[1]);
            return 1;
        }
        status = tenslice_source_add(&source, need.offset, room + used, (size_t)need.length);
        if (status != TENSLICE_OK)
            return fail(argv[1], status);
        if (need.keep)
            used += need.length; /* otherwise the next range may overwrite these bytes */
    }
    if (status != TENSLICE_OK)
        return fail(argv[1], status);

    /* The data is not in memory until it is read. */
    if ((status = tenslice_file_find(&file, argv[2], strlen(argv[2]), &tensor, NULL)) != TENSLICE_OK
        || (status = tenslice_tensor_data(&tensor, &data, NULL)) != TENSLICE_OK)
        return fail(argv[1], status);
    info.struct_size = sizeof info;
    tenslice_component_get_info(&data, &info);
    dense = info.decoded_length;
    if (dense == UINT64_MAX || info.length > SIZE_MAX / 2 || dense > SIZE_MAX / 2)
        return fail(argv[1], TENSLICE_TOO_SMALL);
    bytes = (unsigned char *)malloc((size_t)info.length + 1);
    numbers = (unsigned char *)malloc((size_t)dense + 1);
    if (bytes == NULL || numbers == NULL || !fetch(handle, info.offset, bytes, info.length, &fetched)) {
        perror(argv[1]);
        return 1;
    }
    if ((status = tenslice_component_with_bytes(&data, bytes, (size_t)info.length, &bound, NULL)) != TENSLICE_OK
        || (status = tenslice_component_read_into(&bound, numbers, (size_t)dense, NULL, NULL, NULL)) != TENSLICE_OK)
        return fail(argv[1], status);
    printf("%s: %llu bytes of %s; %llu of %llu bytes were fetched\n", argv[2], (unsigned long long)dense,
           tenslice_dtype_name(info.dtype), (unsigned long long)fetched, (unsigned long long)about.st_size);
    free(bytes);
    free(numbers);
    close(handle);
    return 0;
}
