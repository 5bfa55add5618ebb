/*
 * Opens a model on a machine with a file system: finds its files, maps them, and makes a tenslice_model of them. See
 * tenslice_host.h. Everything that is read from a file is read by the library.
 */
#if !defined(_WIN32) && !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700 /* POSIX 2008, and realpath */
#endif

#include "tenslice_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>
#else
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

/* The bytes of a file. `is_open` is 0 if the file does not exist or cannot be read. */
typedef struct {
    const void *data;
    size_t size;
    int is_open;
} mapping;

/* The names in a folder, sorted. */
typedef struct {
    char **names;
    size_t count;
} listing;

/* Memory for the converted elements of a tensor, which follow it. */
typedef union converted {
    union converted *next;
    double alignment;
} converted;

struct tenslice_host {
    tenslice_model model;
    tenslice_safetensors_index index;
    char *folder; /* ends with a separator, or is empty */
    mapping *mappings;
    char **names; /* of the files; the model refers to them */
    tenslice_model_file *files;
    size_t count, capacity; /* of the mappings, names and files */
    mapping text;           /* of the index */
    uint32_t *words;
    converted *all_converted;
    char *why;
    size_t room;
};

/* ---- Memory ---- */

static void *allocate(size_t count, size_t size)
{
    return size != 0 && count > SIZE_MAX / size ? NULL : malloc(count * size + 1);
}

static char *copy_text(const char *text, size_t length)
{
    char *copy = (char *)allocate(length + 1, 1);
    if (copy != NULL) {
        memcpy(copy, text, length);
        copy[length] = 0;
    }
    return copy;
}

static char *joined(const char *first, const char *second)
{
    const size_t length = strlen(first);
    char *both = (char *)allocate(length + strlen(second) + 1, 1);
    if (both != NULL) {
        memcpy(both, first, length);
        memcpy(both + length, second, strlen(second) + 1);
    }
    return both;
}

/* ---- The file system ---- */

#ifdef _WIN32
static int is_separator(char c)
{
    return c == '/' || c == '\\' || c == ':';
}

static wchar_t *wide(const char *text)
{
    const int length = MultiByteToWideChar(CP_UTF8, 0, text, -1, NULL, 0);
    wchar_t *copy = length <= 0 ? NULL : (wchar_t *)allocate((size_t)length, sizeof(wchar_t));
    if (copy != NULL) MultiByteToWideChar(CP_UTF8, 0, text, -1, copy, length);
    return copy;
}

static int is_folder(const char *path)
{
    wchar_t *name = wide(path);
    const DWORD attributes = name == NULL ? INVALID_FILE_ATTRIBUTES : GetFileAttributesW(name);
    free(name);
    return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

static mapping map(const char *path)
{
    mapping all = {NULL, 0, 0};
    LARGE_INTEGER length;
    HANDLE view;
    wchar_t *name = wide(path);
    HANDLE file = name == NULL ? INVALID_HANDLE_VALUE
                               : CreateFileW(name, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL,
                                             OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
    free(name);
    if (file == INVALID_HANDLE_VALUE) return all;
    if (GetFileSizeEx(file, &length) && (ULONGLONG)length.QuadPart <= SIZE_MAX) {
        all.size = (size_t)length.QuadPart;
        all.is_open = all.size == 0; /* an empty file cannot be mapped */
        view = all.is_open ? NULL : CreateFileMappingW(file, NULL, PAGE_READONLY, 0, 0, NULL);
        if (view != NULL) {
            all.data = MapViewOfFile(view, FILE_MAP_READ, 0, 0, 0);
            all.is_open = all.data != NULL;
            CloseHandle(view);
        }
    }
    CloseHandle(file);
    return all;
}

static void unmap(mapping all)
{
    if (all.data != NULL) UnmapViewOfFile(all.data);
}
#else
static int is_separator(char c)
{
    return c == '/';
}

static int is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static mapping map(const char *path)
{
    mapping all = {NULL, 0, 0};
    struct stat status;
    const int handle = open(path, O_RDONLY | O_NONBLOCK); /* does not wait for the other end of a pipe */
    void *data;

    if (handle < 0) return all;
    if (fstat(handle, &status) != 0) {
        /* `errno` says why. */
    } else if (!S_ISREG(status.st_mode)) {
        errno = EINVAL; /* a pipe cannot be mapped */
    } else if ((uintmax_t)status.st_size > SIZE_MAX) {
        errno = EFBIG;
    } else if (status.st_size == 0) {
        all.is_open = 1; /* an empty file cannot be mapped */
    } else {
        data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, handle, 0);
        all.is_open = data != MAP_FAILED;
        if (all.is_open) all.data = data, all.size = (size_t)status.st_size;
    }
    close(handle);
    return all;
}

static void unmap(mapping all)
{
    if (all.data != NULL) munmap((void *)(uintptr_t)all.data, all.size);
}
#endif

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_listing(listing all)
{
    while (all.count > 0)
        free(all.names[--all.count]);
    free(all.names);
}

/* Adds a name. Returns 0 if there is no memory. */
static int add_name(listing *all, const char *name)
{
    char **more;

    if ((all->count & (all->count + 1)) == 0) { /* doubles the room before it is used up */
        more = (char **)realloc(all->names, (2 * all->count + 2) * sizeof *more);
        if (more == NULL) return 0;
        all->names = more;
    }
    all->names[all->count] = copy_text(name, strlen(name));
    return all->names[all->count] != NULL && ++all->count;
}

/* Lists the names in a folder, except hidden ones. Returns 0 if that fails. */
static int list(const char *folder, listing *all)
{
    int is_complete = 1;
#ifdef _WIN32
    WIN32_FIND_DATAW entry;
    char name[3 * MAX_PATH + 1];
    char *pattern = joined(folder, "*");
    wchar_t *wide_pattern = pattern == NULL ? NULL : wide(pattern);
    HANDLE search = wide_pattern == NULL ? INVALID_HANDLE_VALUE : FindFirstFileW(wide_pattern, &entry);

    free(pattern), free(wide_pattern);
    if (search == INVALID_HANDLE_VALUE) return 0;
    do {
        if (WideCharToMultiByte(CP_UTF8, 0, entry.cFileName, -1, name, sizeof name, NULL, NULL) > 0 && name[0] != '.')
            is_complete = is_complete && add_name(all, name);
    } while (FindNextFileW(search, &entry));
    FindClose(search);
#else
    DIR *open_folder = opendir(*folder == 0 ? "." : folder);
    struct dirent *entry;

    if (open_folder == NULL) return 0;
    while ((entry = readdir(open_folder)) != NULL)
        if (entry->d_name[0] != '.') is_complete = is_complete && add_name(all, entry->d_name);
    closedir(open_folder);
#endif
    if (is_complete && all->count > 1) qsort(all->names, all->count, sizeof *all->names, by_name);
    return is_complete;
}

/* ---- Names of files ---- */

/* The length of the folder at the start of a path, with its last separator. */
static size_t folder_length(const char *path)
{
    size_t length = strlen(path);
    while (length > 0 && !is_separator(path[length - 1]))
        length--;
    return length;
}

static int ends_with(const char *name, const char *ending)
{
    const size_t length = strlen(name), end = strlen(ending);
    return length >= end && strcmp(name + length - end, ending) == 0;
}

static int is_index(const char *name)
{
    return (strstr(name, ".safetensors.index.") != NULL || strstr(name, ".bin.index.") != NULL)
           && ends_with(name, ".json");
}

/* Returns 1 for names such as `pytorch_model.bin`. Other files that end in `.bin` may have any contents. */
static int is_checkpoint_name(const char *name)
{
    static const char adapter[] = "adapter_model";
    return (strstr(name, "pytorch_model") != NULL || strncmp(name, adapter, sizeof adapter - 1) == 0)
           && ends_with(name, ".bin");
}

/*
 * Returns 1 for the names of a checkpoint, or of its index. In a folder with other tensor files, these are often the
 * same model once more.
 */
static int may_be_a_copy(const char *name)
{
    return is_checkpoint_name(name) || (is_index(name) && strstr(name, ".bin.index.") != NULL);
}

static int is_tensor_file(const char *name)
{
    static const char *const endings[] = {".zt",  ".safetensors", ".sft", ".gguf", ".npy",
                                          ".npz", ".tens",        ".blz", ".b2nd", ".b2frame",
                                          ".pt",  ".pth",         ".ckpt", ".onnx", ".ptd", ".tflite"};
    size_t i;
    for (i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_with(name, endings[i])) return 1;
    return is_checkpoint_name(name);
}

static int is_part_name(const char *name)
{
    return tenslice_gguf_part_name(name, TENSLICE_NUL, 0, NULL, 0, NULL) == TENSLICE_TOO_SMALL;
}

/* Returns 1 if the names say that both files are parts of the same model. */
static int are_together(const char *a, const char *b)
{
    char first[2][1024];
    return tenslice_gguf_part_name(a, TENSLICE_NUL, 0, first[0], sizeof first[0], NULL) == TENSLICE_OK
           && tenslice_gguf_part_name(b, TENSLICE_NUL, 0, first[1], sizeof first[1], NULL) == TENSLICE_OK
           && strcmp(first[0], first[1]) == 0;
}

/* Returns 1 if the names do not say that two files are parts of different models. A file of any name may be a part. */
static int may_be_together(const char *a, const char *b)
{
    return !is_part_name(a) || !is_part_name(b) || are_together(a, b);
}

/* Removes empty components and components that are a single dot: `./a//b` is `a/b`. */
static void normalize(char *path)
{
    char *end = path;
    int is_at_start = 1;

    while (*path != 0) {
        if (is_at_start && (path[0] == '/' || (path[0] == '.' && path[1] == '/'))) {
            path += path[0] == '/' ? 1 : 2;
        } else {
            is_at_start = *path == '/';
            *end++ = *path++;
        }
    }
    *end = 0;
}

/* ---- Opening ---- */

/* Writes the reason why nothing can be read. */
static int fail(tenslice_host *host, const char *name, const char *reason)
{
    if (host->room > 0)
        snprintf(host->why, host->room, "%s%s%s", name, *name != 0 && *reason != 0 ? ": " : "", reason);
    return 0;
}

static int no_memory(tenslice_host *host)
{
    return fail(host, "", "out of memory");
}

/* The message of an error in the bytes of a file. */
static int fail_with(tenslice_host *host, const char *name, const tenslice_error *error, mapping bytes)
{
    size_t needed = 0;
    char *text;

    fail(host, name, tenslice_status_text((tenslice_status)error->kind));
    tenslice_error_text(error, bytes.data, bytes.size, NULL, 0, &needed);
    text = (char *)allocate(needed, 1);
    if (text != NULL && tenslice_error_text(error, bytes.data, bytes.size, text, needed, NULL) == TENSLICE_OK)
        fail(host, name, text);
    free(text);
    return 0;
}

static int fail_to_list(tenslice_host *host)
{
    const size_t length = strlen(host->folder);
    char *folder = length < 2 ? NULL : copy_text(host->folder, length - 1); /* without the separator */
    fail(host, length == 0 ? "." : folder == NULL ? host->folder : folder, "the folder cannot be listed");
    free(folder);
    return 0;
}

/* Makes room for a file, and keeps its name. Returns the path of the file, to be freed, or NULL. */
static char *new_file(tenslice_host *host, const char *name, size_t length)
{
    const size_t count = host->count, room = 2 * count + 8;
    char *path;
    mapping *mappings;
    char **names;
    tenslice_model_file *files;

    if (count == host->capacity) {
        mappings = (mapping *)realloc(host->mappings, room * sizeof *mappings);
        if (mappings != NULL) host->mappings = mappings;
        names = (char **)realloc(host->names, room * sizeof *names);
        if (names != NULL) host->names = names;
        files = (tenslice_model_file *)realloc(host->files, room * sizeof *files);
        if (files != NULL) host->files = files;
        if (mappings == NULL || names == NULL || files == NULL) return NULL;
        host->capacity = room;
    }
    memset(&host->mappings[count], 0, sizeof host->mappings[count]);
    host->names[count] = copy_text(name, length);
    path = host->names[count] == NULL ? NULL : joined(host->folder, host->names[count]);
    if (path == NULL) free(host->names[count]);
    return path;
}

/* Compares what opening could not compare without memory. */
static tenslice_status check(const tenslice_file *file, tenslice_error *error)
{
    size_t count = 0;
    uint32_t *scratch, warnings;
    tenslice_status status;

    if (tenslice_file_check_length(file, &count) != TENSLICE_OK || count == 0) return TENSLICE_OK;
    scratch = (uint32_t *)allocate(count, sizeof *scratch);
    if (scratch == NULL) return TENSLICE_OK; /* what was compared on opening is valid */
    status = tenslice_file_check(file, scratch, count, &warnings, error);
    free(scratch);
    return status;
}

/* Adds a file that may be missing or invalid. Returns 0 if there is no memory. */
static int add(tenslice_host *host, const char *name, size_t length)
{
    const size_t number = host->count;
    char *path = new_file(host, name, length);
    tenslice_file file;
    tenslice_error error;
    mapping bytes;

    if (path == NULL) return no_memory(host);
    bytes = host->mappings[number] = map(path);
    free(path);
    host->count++;
    if (!bytes.is_open)
        tenslice_model_file_missing(&host->files[number], host->names[number], length);
    else if (tenslice_file_open(&file, bytes.data, bytes.size, &error) == TENSLICE_OK
             && check(&file, &error) == TENSLICE_OK)
        tenslice_model_file_opened(&host->files[number], host->names[number], length, &file);
    else
        tenslice_model_file_invalid(&host->files[number], host->names[number], length, &error, bytes.data, bytes.size);
    return 1;
}

/* Makes the model of the files that have been added. */
static int make_model(tenslice_host *host, int has_index)
{
    size_t count;
    tenslice_error error;
    tenslice_status status = has_index ? tenslice_safetensors_model_length(&host->index, &count)
                                       : tenslice_model_length(host->files, host->count, &count);

    host->words = status == TENSLICE_OK ? (uint32_t *)allocate(count, sizeof *host->words) : NULL;
    if (host->words == NULL) return no_memory(host);
    status = has_index ? tenslice_safetensors_model_open(&host->model, &host->index, host->files, host->count,
                                                         host->words, count, &error)
                       : tenslice_model_open(&host->model, host->files, host->count, host->words, count, &error);
    return status == TENSLICE_OK || fail_with(host, "", &error, host->text);
}

/* Returns 1 if the error is about an index: a JSON text with a `weight_map`. */
static int is_of_index(const tenslice_error *error, mapping text)
{
    static const char key[] = "\"weight_map\"";
    const size_t length = sizeof key - 1;
    size_t i;

    if (error->kind == TENSLICE_MISSING_KEY && error->part == TENSLICE_PART_TENSORS) return 0;
    for (i = 0; i + length <= text.size; i++)
        if (memcmp((const char *)text.data + i, key, length) == 0) return 1;
    return 0;
}

/* Adds the files that an index names, each once. `not_a_file` says that its text is not a tensor file. */
static int open_index(tenslice_host *host, const char *name, const tenslice_error *not_a_file)
{
    uint64_t tensors;
    uint32_t *files;
    size_t count, i;
    tenslice_error error;
    listing all = {NULL, 0};
    int is_complete = 1;

    if (tenslice_safetensors_index_open(&host->index, host->text.data, host->text.size, &error) != TENSLICE_OK)
        return fail_with(host, name, is_of_index(&error, host->text) ? &error : not_a_file, host->text);
    tenslice_safetensors_index_count(&host->index, &tensors);
    files = tensors > SIZE_MAX ? NULL : (uint32_t *)allocate((size_t)tensors, sizeof *files);
    if (files == NULL) return no_memory(host);
    if (tenslice_safetensors_index_files(&host->index, files, (size_t)tensors, &count, &error) != TENSLICE_OK)
        is_complete = fail_with(host, name, &error, host->text);
    for (i = 0; is_complete && i < count; i++) {
        size_t length = 0;
        char *file_name;
        tenslice_str file;
        tenslice_safetensors_index_file(&host->index, files[i], &file);
        tenslice_str_copy(&file, NULL, 0, &length);
        file_name = (char *)allocate(length, 1);
        is_complete = file_name != NULL && tenslice_str_copy(&file, file_name, length, NULL) == TENSLICE_OK;
        if (is_complete) normalize(file_name);
        is_complete = (is_complete && add_name(&all, file_name)) || no_memory(host);
        free(file_name);
    }
    if (all.count > 1) qsort(all.names, all.count, sizeof *all.names, by_name);
    for (i = 0; is_complete && i < all.count; i++)
        if (i == 0 || strcmp(all.names[i - 1], all.names[i]) != 0)
            is_complete = add(host, all.names[i], strlen(all.names[i]));
    free_listing(all);
    free(files);
    return is_complete && make_model(host, 1);
}

static int is_gguf(mapping bytes)
{
    return bytes.is_open && bytes.size >= 4 && memcmp(bytes.data, "GGUF", 4) == 0;
}

/*
 * Adds the other parts of a GGUF model: files of the folder that state the same number of parts, whatever their names.
 * A file that states something else, or that cannot be opened, is a part if its name says so.
 */
static int add_parts(tenslice_host *host, const char *name, uint64_t part_count)
{
    listing all = {NULL, 0};
    int is_complete = list(host->folder, &all) || fail_to_list(host);
    size_t i;

    for (i = 0; is_complete && i < all.count; i++) {
        tenslice_gguf_file_info info;
        tenslice_file file;
        tenslice_error error;
        mapping bytes;
        char *path;
        int is_part;

        if (strcmp(all.names[i], name) == 0 || !may_be_together(all.names[i], name)) continue;
        path = joined(host->folder, all.names[i]);
        if (path == NULL) {
            is_complete = no_memory(host);
            continue;
        }
        bytes = map(path);
        free(path);
        TENSLICE_INIT(info);
        info.part_count = 0;
        is_part = is_gguf(bytes) && tenslice_file_open(&file, bytes.data, bytes.size, &error) == TENSLICE_OK
                      ? (tenslice_gguf_get_info(&file, &info) == TENSLICE_OK && info.part_count == part_count)
                            || are_together(all.names[i], name)
                      : is_part_name(all.names[i]);
        unmap(bytes);
        if (is_part) is_complete = add(host, all.names[i], strlen(all.names[i]));
    }
    free_listing(all);
    return is_complete;
}

/* Adds the shards of a zTensor 2 file: `model-NAME.zt` for shard NAME of `model.zt`. */
static int add_shards(tenslice_host *host, const tenslice_file *file, const char *name)
{
    const size_t stem = ends_with(name, ".zt") ? strlen(name) - 3 : strlen(name);
    tenslice_ztensor2_shard shard;
    tenslice_cursor shards;

    TENSLICE_INIT(shard);
    if (tenslice_ztensor2_shards(file, &shards) != TENSLICE_OK) return 1; /* another format */
    while (tenslice_ztensor2_shards_next(&shards, &shard, NULL) == TENSLICE_OK) {
        const size_t number = host->count;
        char *path = (char *)allocate(strlen(host->folder) + stem + shard.name.length + 5, 1), *kept;
        mapping bytes;

        if (path == NULL) return no_memory(host);
        sprintf(path, "%s%.*s-%.*s.zt", host->folder, (int)stem, name, (int)shard.name.length, shard.name.data);
        bytes = map(path);
        free(path);
        if (!bytes.is_open) continue; /* the model reports it */
        kept = new_file(host, shard.name.data, shard.name.length);
        if (kept == NULL) return unmap(bytes), no_memory(host);
        free(kept);
        host->mappings[number] = bytes;
        host->count++;
        tenslice_model_file_shard(&host->files[number], host->names[number], shard.name.length, bytes.data, bytes.size);
    }
    return 1;
}

/* Returns 1 if no symbolic link on the path leads out of the folder. The library has checked the path itself. */
static int is_inside(const char *folder, const char *path)
{
#ifdef _WIN32
    (void)folder, (void)path;
    return 1;
#else
    char *top = realpath(folder[0] != 0 ? folder : ".", NULL), *file = realpath(path, NULL);
    const size_t length = top != NULL ? strlen(top) : 0;
    const int is_it = top != NULL && file != NULL && strncmp(top, file, length) == 0
                      && (top[length - 1] == '/' || file[length] == '/');
    free(top);
    free(file);
    return is_it;
#endif
}

/* Adds a file that has data of an ONNX or a TFLite model, which names it by its path from the folder. */
static int add_data(tenslice_host *host, tenslice_str name)
{
    const size_t number = host->count;
    char *text, *path, *kept;
    mapping bytes = {NULL, 0, 0};
    size_t i;

    for (i = 1; i < number; i++)
        if (strlen(host->names[i]) == name.length && memcmp(host->names[i], name.data, name.length) == 0) return 1;
    text = copy_text(name.data, name.length);
    path = text != NULL ? joined(host->folder, text) : NULL;
    free(text);
    if (path == NULL) return no_memory(host);
    if (is_inside(host->folder, path)) bytes = map(path);
    free(path);
    if (!bytes.is_open) return 1; /* the model reports it */
    kept = new_file(host, name.data, name.length);
    if (kept == NULL) return unmap(bytes), no_memory(host);
    free(kept);
    host->mappings[number] = bytes;
    host->count++;
    tenslice_model_file_shard(&host->files[number], host->names[number], name.length, bytes.data, bytes.size);
    return 1;
}

/* Adds the files that have data of an ONNX or a TFLite model. */
static int add_data_of_model(tenslice_host *host, const tenslice_file *file)
{
    tenslice_file_info info;
    tenslice_cursor tensors, components;
    tenslice_tensor tensor;
    tenslice_component component;
    tenslice_str shard;

    TENSLICE_INIT(info);
    if (tenslice_file_get_info(file, &info) != TENSLICE_OK) return 1;
    if (info.format != TENSLICE_FORMAT_ONNX && info.format != TENSLICE_FORMAT_TFLITE) return 1;
    if (tenslice_file_tensors(file, &tensors) != TENSLICE_OK) return 1;
    while (tenslice_tensors_next(&tensors, &tensor, NULL) == TENSLICE_OK) {
        if (tenslice_tensor_components(&tensor, &components) != TENSLICE_OK) continue;
        while (tenslice_components_next(&components, &component, NULL) == TENSLICE_OK)
            if (tenslice_component_shard(&component, &shard) == TENSLICE_OK && shard.length > 0 && !add_data(host, shard))
                return 0;
    }
    return 1;
}

static int is_json(mapping bytes)
{
    const char *text = (const char *)bytes.data;
    size_t i = 0;
    while (i < bytes.size && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n'))
        i++;
    return i < bytes.size && text[i] == '{';
}

/* Opens the file of this name in the folder, and the files that belong to it. */
static int open_file(tenslice_host *host, const char *name)
{
    char *path = joined(host->folder, name);
    tenslice_gguf_file_info info;
    tenslice_file file;
    tenslice_error error;
    tenslice_status status;
    mapping bytes;

    if (path == NULL) return no_memory(host);
    errno = 0;
    bytes = map(path);
    if (!bytes.is_open) fail(host, path, errno != 0 ? strerror(errno) : "the file cannot be opened");
    free(path);
    if (!bytes.is_open) return 0;
    status = tenslice_file_open(&file, bytes.data, bytes.size, &error);
    if (status == TENSLICE_UNKNOWN_FORMAT && is_json(bytes)) {
        host->text = bytes;
        return open_index(host, name, &error);
    }
    if (status == TENSLICE_OK) status = check(&file, &error);
    if (status != TENSLICE_OK) fail_with(host, name, &error, bytes);
    unmap(bytes); /* `add` maps it again and keeps it */
    if (status != TENSLICE_OK || !add(host, name, strlen(name))) return 0;
    if (!host->mappings[0].is_open
        || tenslice_file_open(&file, host->mappings[0].data, host->mappings[0].size, &error) != TENSLICE_OK)
        return fail(host, name, "the file has changed");
    TENSLICE_INIT(info);
    info.part_count = 0;
    tenslice_gguf_get_info(&file, &info);
    if (info.part_count > 0 && !add_parts(host, name, info.part_count)) return 0;
    return add_shards(host, &file, name) && add_data_of_model(host, &file) && make_model(host, 0);
}

/* Returns 1 if the name may be that of a shard of a file in the same folder: `model-NAME.zt` next to `model.zt`. */
static int is_shard_name(const listing *all, const char *name)
{
    size_t i;
    for (i = 0; ends_with(name, ".zt") && i < all->count; i++) {
        const char *other = all->names[i];
        const size_t stem = strlen(other) - 3;
        if (ends_with(other, ".zt") && strncmp(name, other, stem) == 0 && name[stem] == '-') return 1;
    }
    return 0;
}

/* Returns 1 if the open file `name` lists the file `shard` as a shard. */
static int has_shard(const tenslice_host *host, const char *name, const char *shard)
{
    const size_t stem = strlen(name) - 3;
    size_t i;

    if (!ends_with(name, ".zt") || strncmp(name, shard, stem) != 0 || shard[stem] != '-') return 0;
    for (i = 1; i < host->count; i++) {
        const size_t length = strlen(host->names[i]);
        if (strncmp(shard + stem + 1, host->names[i], length) == 0 && strcmp(shard + stem + 1 + length, ".zt") == 0)
            return 1;
    }
    return 0;
}

/* Returns 1 if both are parts of a GGUF model that may be the same. */
static int are_parts(const char *part, const char *other)
{
    return is_part_name(part) && ends_with(other, ".gguf") && may_be_together(part, other);
}

/* Opens the model that `name` represents. If this is a damaged part of a model, another part represents it. */
static int open_one_of(tenslice_host *host, const char *name, const listing *all)
{
    const size_t room = host->room;
    size_t i;

    if (open_file(host, name)) return 1;
    host->room = 0; /* the message is about the first part */
    for (i = 0; i < all->count; i++)
        if (strcmp(all->names[i], name) != 0 && are_parts(name, all->names[i]) && open_file(host, all->names[i])) break;
    host->room = room;
    return i < all->count;
}

static int fail_with_several(tenslice_host *host, const char *one, const char *other)
{
    if (host->room > 0)
        snprintf(host->why, host->room, "the folder has several models: pass the path of one, such as %s or %s", one,
                 other);
    return 0;
}

/* Finds the file that represents the only model in a folder, and another one that does not belong to it. */
static void find_model(const listing *all, int with_copies, const char **found, const char **other)
{
    size_t i;

    for (i = 0; i < all->count; i++)
        if (is_index(all->names[i]) && (with_copies || !may_be_a_copy(all->names[i])))
            *other = *found, *found = all->names[i];
    if (*found != NULL) return;
    for (i = 0; i < all->count && *other == NULL; i++) {
        const char *name = all->names[i];
        if (!is_tensor_file(name) || is_shard_name(all, name) || (!with_copies && may_be_a_copy(name))) continue;
        if (*found == NULL)
            *found = name;
        else if (!are_parts(*found, name))
            *other = name;
    }
}

/* Opens the only model in the folder, besides a copy of it as a checkpoint. */
static int open_folder(tenslice_host *host)
{
    listing all = {NULL, 0};
    const char *found = NULL, *other = NULL;
    size_t i;
    int is_open = list(host->folder, &all) || fail_to_list(host);

    if (is_open) find_model(&all, 0, &found, &other);
    if (is_open && found == NULL) find_model(&all, 1, &found, &other);
    if (is_open && other != NULL)
        is_open = fail_with_several(host, found, other);
    else if (is_open && found == NULL)
        is_open = fail(host, "", "the folder has no tensor file");
    else if (is_open)
        is_open = open_one_of(host, found, &all);
    /* A file with the name of a shard is one only if the open file lists it. */
    for (i = 0; is_open && host->text.data == NULL && i < all.count; i++)
        if (ends_with(all.names[i], ".zt") && strcmp(all.names[i], found) != 0 && !has_shard(host, found, all.names[i]))
            is_open = fail_with_several(host, found, all.names[i]);
    free_listing(all);
    return is_open;
}

tenslice_host *tenslice_host_open(const char *path, char *why, size_t capacity)
{
    tenslice_host *host = path == NULL ? NULL : (tenslice_host *)calloc(1, sizeof *host);
    const size_t length = path == NULL ? 0 : strlen(path);
    int is_open = 0;

    if (why != NULL && capacity > 0) snprintf(why, capacity, "%s", path == NULL ? "path is NULL" : "out of memory");
    if (host == NULL) return NULL;
    host->why = why;
    host->room = why == NULL ? 0 : capacity;
    if (is_folder(path)) {
        host->folder = length > 0 && is_separator(path[length - 1]) ? copy_text(path, length) : joined(path, "/");
        is_open = host->folder != NULL && open_folder(host);
    } else {
        host->folder = copy_text(path, folder_length(path));
        is_open = host->folder != NULL && open_file(host, path + folder_length(path));
    }
    if (is_open) return host;
    tenslice_host_close(host);
    return NULL;
}

const tenslice_model *tenslice_host_model(const tenslice_host *host)
{
    return host == NULL ? NULL : &host->model;
}

/* Writes the message of an error, or its first bytes. */
static void explain(const tenslice_model *model, const char *name, const tenslice_expected *expected,
                    const tenslice_error *error, char *why, size_t capacity)
{
    size_t needed = 0;
    char *all;

    if (why == NULL || capacity == 0) return;
    snprintf(why, capacity, "%s", tenslice_status_text((tenslice_status)error->kind));
    tenslice_model_get_text(model, name, TENSLICE_NUL, expected, error, NULL, 0, &needed);
    all = needed == 0 ? NULL : (char *)allocate(needed, 1);
    if (all != NULL
        && tenslice_model_get_text(model, name, TENSLICE_NUL, expected, error, all, needed, NULL) == TENSLICE_OK)
        snprintf(why, capacity, "%s", all);
    free(all);
}

tenslice_bytes tenslice_host_get(const tenslice_host *host, const char *name, const tenslice_expected *expected,
                                 char *why, size_t capacity)
{
    const tenslice_model *model = tenslice_host_model(host);
    tenslice_bytes bytes = {NULL, 0};
    tenslice_error error;

    if (tenslice_model_get(model, name, TENSLICE_NUL, expected, &bytes, &error) != TENSLICE_OK)
        explain(model, name, expected, &error, why, capacity);
    return bytes;
}

tenslice_floats tenslice_host_get_f32(tenslice_host *host, const char *name, const tenslice_expected *expected,
                                      char *why, size_t capacity)
{
    const tenslice_model *model = tenslice_host_model(host);
    tenslice_requirements needed = {sizeof needed, 0, 0, 0};
    tenslice_floats numbers = {NULL, 0};
    tenslice_error error;
    converted *room = NULL;
    char *scratch = NULL;
    tenslice_status status =
        tenslice_model_get_f32(model, name, TENSLICE_NUL, expected, NULL, 0, NULL, &numbers, &needed, &error);

    if ((status == TENSLICE_TOO_SMALL || status == TENSLICE_OUT_OF_SCRATCH)
        && needed.output < (SIZE_MAX - sizeof *room) / sizeof(float)) {
        /* If the length is unknown, the call fails, and says why. */
        const size_t count = (size_t)needed.output, length = needed.scratch < SIZE_MAX ? (size_t)needed.scratch : 0;
        room = (converted *)allocate(sizeof *room + count * sizeof(float), 1);
        scratch = (char *)allocate(length, 1);
        if (room != NULL && scratch != NULL) {
            const tenslice_read_options options = {sizeof options, 0, NULL, scratch, length};
            status = tenslice_model_get_f32(model, name, TENSLICE_NUL, expected, (float *)(room + 1), count,
                                            &options, &numbers, NULL, &error);
        }
    }
    free(scratch);
    if (status == TENSLICE_OK && room != NULL) {
        room->next = host->all_converted;
        host->all_converted = room;
    } else {
        free(room);
    }
    if (status != TENSLICE_OK) explain(model, name, expected, &error, why, capacity);
    return numbers;
}

void tenslice_host_close(tenslice_host *host)
{
    size_t i;

    if (host == NULL) return;
    while (host->all_converted != NULL) {
        converted *next = host->all_converted->next;
        free(host->all_converted);
        host->all_converted = next;
    }
    for (i = 0; i < host->count; i++) {
        unmap(host->mappings[i]);
        free(host->names[i]);
    }
    unmap(host->text);
    free(host->mappings), free(host->names), free(host->files), free(host->words), free(host->folder);
    free(host);
}
