/*
 * Lists all or some tensors of a safetensors model in several files, by its index. Maps only the files that have these
 * tensors, each once, and checks that each tensor is where the index says.
 *
 *     shards FOLDER/model.safetensors.index.json [NAME...]
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tenslice.h"

/* A file that is mapped into memory. */
typedef struct {
    const char *path;
    void *data;
    size_t size;
} mapping;

static int map(const char *path, mapping *to)
{
    struct stat status;
    int handle = open(path, O_RDONLY), is_mapped;

    to->path = path;
    to->data = NULL;
    to->size = 0;
    is_mapped = handle >= 0 && fstat(handle, &status) == 0;
    if (is_mapped && status.st_size > 0) { /* an empty file cannot be mapped */
        to->size = (size_t)status.st_size;
        to->data = mmap(NULL, to->size, PROT_READ, MAP_PRIVATE, handle, 0);
        is_mapped = to->data != MAP_FAILED;
    }
    if (!is_mapped)
        fprintf(stderr, "error: "), perror(path);
    if (handle >= 0)
        close(handle);
    return is_mapped;
}

static void unmap(const mapping *file)
{
    if (file->data != NULL)
        munmap(file->data, file->size);
}

/* Prints the message of an error: the broken rule, the tensor, the byte. */
static int refuse(const mapping *file, const tenslice_error *error)
{
    char text[512];
    int is_short = tenslice_error_text(error, file->data, file->size, text, sizeof text, NULL) == TENSLICE_OK;
    fprintf(stderr, "error: %s: %s\n", file->path, is_short ? text : tenslice_status_text(error->kind));
    return 1;
}

static void *allocate(size_t size)
{
    void *memory = malloc(size);
    if (memory == NULL) {
        fputs("error: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* Returns `prefix_length` characters of `prefix`, then the decoded text, on the heap. Sets `length` to the text's. */
static char *decoded(const char *prefix, size_t prefix_length, const tenslice_str *text, size_t *length)
{
    size_t needed = 0;
    char *copy;

    tenslice_str_copy(text, NULL, 0, &needed);
    copy = (char *)allocate(prefix_length + needed);
    memcpy(copy, prefix, prefix_length);
    tenslice_str_copy(text, copy + prefix_length, needed, &needed);
    *length = needed - 1;
    return copy;
}

static void print_tensor(const tenslice_tensor *tensor, const char *name, size_t length, const char *shard)
{
    tenslice_tensor_info info;
    uint64_t shape[8];
    uint32_t rank = 0, i;

    info.struct_size = sizeof info; /* the size in this program's header */
    if (tenslice_tensor_get_info(tensor, &info) != TENSLICE_OK)
        return;
    fwrite(name, 1, length, stdout);
    printf(" %s [", tenslice_dtype_name(info.dtype));
    if (tenslice_tensor_shape(tensor, shape, 8, &rank) == TENSLICE_OK)
        for (i = 0; i < rank; i++)
            printf("%s%llu", i ? ", " : "", (unsigned long long)shape[i]);
    else
        printf("%u dimensions", (unsigned)rank);
    printf("] %s\n", shard);
}

/* Returns 1 if a tensor was requested. Without names, every tensor is. */
static int is_wanted(const tenslice_str *name, char **names, int count)
{
    int i;

    for (i = 0; i < count; i++)
        if (tenslice_str_equals(name, names[i], strlen(names[i])))
            return 1;
    return count == 0;
}

/* Lists the tensors that are in one file according to the index. Returns 1 if a tensor is missing. */
static int list_shard(const tenslice_safetensors_index *index, const char *path, const char *shard, char **names,
                      int count)
{
    tenslice_cursor cursor;
    tenslice_str name, file_name;
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_error error;
    mapping shard_file;
    int is_open = 0, failed = 0;

    tenslice_safetensors_index_entries(index, &cursor);
    while (tenslice_safetensors_index_next(&cursor, &name, &file_name, NULL) == TENSLICE_OK) {
        size_t length;
        char *text;
        if (!tenslice_str_equals(&file_name, shard, strlen(shard)) || !is_wanted(&name, names, count))
            continue;
        if (!is_open) { /* opened only if needed */
            if (!map(path, &shard_file))
                return 1;
            if (tenslice_file_open(&file, shard_file.data, shard_file.size, &error) != TENSLICE_OK) {
                refuse(&shard_file, &error);
                unmap(&shard_file);
                return 1;
            }
            is_open = 1;
        }
        text = decoded("", 0, &name, &length);
        if (tenslice_file_find(&file, text, length, &tensor, NULL) == TENSLICE_OK) {
            print_tensor(&tensor, text, length, shard);
        } else {
            fprintf(stderr, "error: %s: it has no tensor %s, although the index says so\n", path, text);
            failed = 1;
        }
        free(text);
    }
    if (is_open)
        unmap(&shard_file);
    return failed;
}

int main(int argc, char **argv)
{
    mapping text;
    tenslice_safetensors_index index;
    tenslice_error error;
    tenslice_str name;
    uint64_t tensors;
    uint32_t *files;
    size_t folder, capacity, count, i;
    int failed = 0, n;

    if (argc < 2) {
        fprintf(stderr, "usage: %s INDEX [NAME...]\n", argv[0]);
        return 2;
    }
    if (!map(argv[1], &text))
        return 1;
    if (tenslice_safetensors_index_open(&index, text.data, text.size, &error) != TENSLICE_OK)
        return refuse(&text, &error);
    tenslice_safetensors_index_count(&index, &tensors);
    capacity = (size_t)tensors + 1; /* fewer than the bytes of the text */
    files = (uint32_t *)allocate(capacity * sizeof *files);
    if (tenslice_safetensors_index_check(&index, files, capacity, &error) != TENSLICE_OK
        || tenslice_safetensors_index_files(&index, files, capacity, &count, &error) != TENSLICE_OK)
        return refuse(&text, &error);
    for (n = 2; n < argc; n++) {
        if (tenslice_safetensors_index_find(&index, argv[n], strlen(argv[n]), &name, NULL) != TENSLICE_OK) {
            fprintf(stderr, "error: %s: it names no tensor %s\n", argv[1], argv[n]);
            failed = 1;
        }
    }

    /* Opening the index has checked that no path leads out of its folder. */
    folder = strrchr(argv[1], '/') ? (size_t)(strrchr(argv[1], '/') + 1 - argv[1]) : 0;
    for (i = 0; i < count; i++) {
        size_t length;
        char *path;
        if (tenslice_safetensors_index_file(&index, files[i], &name) != TENSLICE_OK)
            continue;
        path = decoded(argv[1], folder, &name, &length);
        failed |= list_shard(&index, path, path + folder, argv + 2, argc - 2);
        free(path);
    }
    free(files);
    unmap(&text);
    return failed;
}
