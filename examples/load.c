/*
 * Maps a tensor file and prints name, dtype and shape of each tensor. Then finds a tensor by name and sums its
 * elements through a pointer into the mapped file, without copying or allocating.
 *
 *     load FILE [NAME]
 */
#include <stdint.h>
#include <stdio.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include "tenslice.h"

/* Maps a whole file until the program ends. Returns 1 on success. */
static int map(const char *path, const void **data, size_t *size)
{
#ifdef _WIN32
    LARGE_INTEGER length;
    HANDLE handle = CreateFileA(path, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
    if (handle == INVALID_HANDLE_VALUE || !GetFileSizeEx(handle, &length))
        return 0;
    *size = (size_t)length.QuadPart;
    if (*size == 0) /* Windows cannot map an empty file */
        return 1;
    handle = CreateFileMappingA(handle, NULL, PAGE_READONLY, 0, 0, NULL);
    *data = handle != NULL ? MapViewOfFile(handle, FILE_MAP_READ, 0, 0, 0) : NULL;
    return *data != NULL;
#else
    struct stat status;
    int handle = open(path, O_RDONLY);
    if (handle < 0 || fstat(handle, &status) != 0)
        return 0;
    *size = (size_t)status.st_size;
    if (*size == 0) /* neither can POSIX */
        return 1;
    *data = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, handle, 0);
    return *data != MAP_FAILED;
#endif
}

/* Prints the message of an error: the broken rule, the tensor, the byte. */
static int refuse(const char *path, const tenslice_error *error, const void *data, size_t size)
{
    char text[512];
    int is_short = tenslice_error_text(error, data, size, text, sizeof text, NULL) == TENSLICE_OK;
    fprintf(stderr, "error: %s: %s\n", path, is_short ? text : tenslice_status_text(error->kind));
    return 1;
}

static void print_tensor(const tenslice_tensor *tensor)
{
    const tenslice_str name = tenslice_tensor_name(tensor);
    const uint32_t dtype = tenslice_tensor_dtype(tensor), rank = tenslice_tensor_rank(tensor);
    uint32_t i;

    printf("  %-12.*s %-5s [", (int)name.length, name.data, dtype ? tenslice_dtype_name(dtype) : "-");
    for (i = 0; i < rank; i++)
        printf("%s%llu", i ? ", " : "", (unsigned long long)tenslice_tensor_dimension(tensor, i));
    printf("]\n");
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "", *name = argc > 2 ? argv[2] : NULL;
    size_t size = 0;
    tenslice_file file;
    tenslice_cursor cursor;
    tenslice_tensor tensor;
    tenslice_bytes bytes;
    tenslice_error error;
    const void *data = NULL;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: %s FILE [NAME]\n", argv[0]);
        return 2;
    }
    if (!map(path, &data, &size)) {
        fprintf(stderr, "error: %s cannot be mapped\n", path);
        return 1;
    }

    if (tenslice_file_open(&file, data, size, &error) != TENSLICE_OK)
        return refuse(path, &error, data, size);

    printf("%s\n", path);
    tenslice_file_tensors(&file, &cursor);
    while (tenslice_tensors_next(&cursor, &tensor, NULL) == TENSLICE_OK)
        print_tensor(&tensor);

    if (name != NULL) {
        const tenslice_expected floats = {sizeof floats, TENSLICE_F32, TENSLICE_ANY_SHAPE, NULL};
        const float *numbers;
        double sum = 0;
        size_t i;
        if (tenslice_file_get(&file, name, TENSLICE_NUL, &floats, &bytes, &error) != TENSLICE_OK) {
            char text[512] = "";
            tenslice_file_get_text(&file, name, TENSLICE_NUL, &floats, &error, text, sizeof text, NULL);
            fprintf(stderr, "error: %s: %s\n", path, text);
            return 1;
        }
        numbers = (const float *)bytes.data;
        for (i = 0; i < bytes.length / sizeof *numbers; i++)
            sum += numbers[i];
        printf("%s: %zu numbers at byte %td of the mapping, sum %g\n", name, bytes.length / sizeof *numbers,
               (const char *)bytes.data - (const char *)data, sum);
    }
    return 0;
}
