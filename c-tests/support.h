/* Code that the C tests share: a check that prints where it failed, and loading a file. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenslice.h"

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);   \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

/* Checks a status, and prints the actual status if it differs. */
#define EXPECT(status, call)                                                          \
    do {                                                                              \
        tenslice_status got_ = (call);                                                \
        if (got_ != (status)) {                                                       \
            fprintf(stderr, "%s:%d: %s gave %s, not %s\n", __FILE__, __LINE__, #call, \
                    tenslice_status_name(got_), tenslice_status_name(status));        \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

/* Options for one call, a decoder and scratch memory, and what a call expects of a tensor. Both are valid in the
 * expression that contains them. */
#ifdef __cplusplus
struct wanted {
    tenslice_expected value;
    wanted(uint32_t dtype, const uint64_t *shape, size_t rank)
        : value{sizeof(tenslice_expected), dtype, rank, shape}
    {
    }
    operator const tenslice_expected *() const { return &value; }
};
#define WANT(dtype, shape, rank) (wanted(dtype, shape, rank))
struct call_options {
    tenslice_read_options value;
    call_options(const tenslice_decoder *decoder, void *scratch, size_t length)
        : value{sizeof(tenslice_read_options), 0, decoder, scratch, length}
    {
    }
    operator const tenslice_read_options *() const { return &value; }
};
#define OPTIONS(decoder, scratch, length) (call_options(decoder, scratch, length))
#else
#define WANT(dtype, shape, rank) (&(const tenslice_expected){sizeof(tenslice_expected), dtype, rank, shape})
#define OPTIONS(decoder, scratch, length) \
    (&(const tenslice_read_options){sizeof(tenslice_read_options), 0, decoder, scratch, length})
#endif

/* The requirements of a call, in two numbers that may be NULL. */
static inline void set_needs(const tenslice_requirements *needed, uint64_t *output, uint64_t *scratch)
{
    if (output != NULL) *output = needed->output;
    if (scratch != NULL) *scratch = needed->scratch;
}

/* tensor_needs, component_needs and file_needs. */
#define DEFINE_NEEDS(kind)                                                                                           \
    static inline tenslice_status kind##_needs(const tenslice_##kind *object, uint32_t purpose, uint64_t *output,    \
                                               uint64_t *scratch)                                                    \
    {                                                                                                                \
        tenslice_requirements needed = {sizeof needed, 0, 0, 0};                                                     \
        tenslice_status status = tenslice_##kind##_requirements(object, purpose, &needed, NULL);                     \
        if (status == TENSLICE_OK) set_needs(&needed, output, scratch);                                              \
        return status;                                                                                               \
    }
DEFINE_NEEDS(tensor)
DEFINE_NEEDS(component)
DEFINE_NEEDS(file)

static inline tenslice_status region_needs(const tenslice_file *file, const uint64_t *start, const uint64_t *stop,
                                           size_t rank, uint64_t *output, uint64_t *scratch, tenslice_error *error)
{
    tenslice_requirements needed = {sizeof needed, 0, 0, 0};
    tenslice_status status = tenslice_b2nd_region_requirements(file, start, stop, rank, &needed, error);
    if (status == TENSLICE_OK) set_needs(&needed, output, scratch);
    return status;
}

/* The status of a typed pointer to little-endian numbers of several bytes on this machine. */
static inline tenslice_status little_endian(void)
{
    const uint16_t one = 1;
    return *(const unsigned char *)&one ? TENSLICE_OK : TENSLICE_FOREIGN_ENDIAN;
}

/* Handles have uninitialized bytes: padding and reserve. A test that compares whole handles declares that. */
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define COMPARED_WHOLE(at, size) __msan_unpoison(at, size)
#endif
#endif
#ifndef COMPARED_WHOLE
#define COMPARED_WHOLE(at, size) ((void)(at), (void)(size))
#endif

typedef struct {
    unsigned char *data;
    size_t size;
} blob;

/* The bytes of a file below the folder of the fixtures, on the heap, with nothing after the last byte. */
static inline blob load(const char *folder, const char *name)
{
    char path[1024];
    blob b;
    long size;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "rb");
    if (f == NULL || fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0 || fseek(f, 0, SEEK_SET) != 0) {
        perror(path);
        exit(1);
    }
    b.size = (size_t)size;
    b.data = (unsigned char *)malloc(b.size);
    CHECK(b.data != NULL && fread(b.data, 1, b.size, f) == b.size);
    fclose(f);
    return b;
}

static inline int same(tenslice_str s, const char *text)
{
    return s.length == strlen(text) && memcmp(s.data, text, s.length) == 0;
}

#endif
