/*
 * Reads all tensors of a file into memory, as fast as the disk delivers them: a plan merges them into few large aligned
 * reads, and several threads execute the reads. Direct I/O goes past the page cache, if the file system allows it.
 *
 *     plan FILE [cached]     cached: reads through the page cache
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tenslice.h"

#ifndef O_DIRECT
#define O_DIRECT 0 /* macOS has fcntl(F_NOCACHE) instead */
#endif

enum { THREADS = 8, ALIGNMENT = 4096, GAP = 1 << 16, LONGEST = 8 << 20 };

static int handle;
static unsigned char *memory;
static tenslice_cursor reads;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of `reads` */

/* Executes reads until none is left. Returns a pointer to the read that failed, if any. */
static void *work(void *failed)
{
    tenslice_planned_read read;
    tenslice_status status;
    uint64_t done;

    for (;;) {
        pthread_mutex_lock(&lock);
        status = tenslice_reads_next(&reads, &read);
        pthread_mutex_unlock(&lock);
        if (status != TENSLICE_OK)
            return NULL;
        for (done = 0; done < read.length;) {
            /* Asks for `room` bytes, a multiple of the alignment. At the end of the file there are fewer. */
            ssize_t got = pread(handle, memory + read.at + done, (size_t)(read.room - done),
                                (off_t)(read.offset + done));
            if (got <= 0)
                return failed;
            done += (uint64_t)got;
        }
    }
}

static int fail(const char *path, tenslice_status status)
{
    fprintf(stderr, "error: %s: %s\n", path, tenslice_status_text(status));
    return 1;
}

/* The seconds that all reads take. Negative if a read fails. */
static double execute(void)
{
    struct timespec start, end;
    pthread_t threads[THREADS];
    void *failed = NULL, *result;
    int count = 0, i;

    clock_gettime(CLOCK_MONOTONIC, &start);
    while (count < THREADS && pthread_create(&threads[count], NULL, work, &handle) == 0)
        count++;
    for (i = 0; i < count; i++) {
        pthread_join(threads[i], &result);
        failed = result != NULL ? result : failed;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (count == 0 || failed != NULL)
        return -1;
    return (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
}

int main(int argc, char **argv)
{
    struct stat about;
    tenslice_file file;
    tenslice_cursor tensors, components;
    tenslice_tensor tensor;
    tenslice_component component;
    tenslice_component_info info;
    tenslice_str shard;
    tenslice_plan plan;
    tenslice_piece *pieces = NULL;
    tenslice_status status;
    uint64_t length, number = 0, sum = 0, i;
    size_t count = 0, room = 0;
    double seconds;
    void *map, *place;
    int is_direct = argc < 3 && O_DIRECT != 0;

    if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[2], "cached") != 0)) {
        fprintf(stderr, "usage: %s FILE [cached]\n", argv[0]);
        return 2;
    }
    handle = open(argv[1], O_RDONLY);
    if (handle < 0 || fstat(handle, &about) != 0) {
        perror(argv[1]);
        return 1;
    }
    /* Opening the mapped file reads only the pages with metadata. */
    map = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, handle, 0);
    if (map == MAP_FAILED) {
        perror(argv[1]);
        return 1;
    }
    if ((status = tenslice_file_open(&file, map, (size_t)about.st_size, NULL)) != TENSLICE_OK)
        return fail(argv[1], status);

    /* A piece for each component of each tensor. */
    info.struct_size = sizeof info;
    for (tenslice_file_tensors(&file, &tensors); tenslice_tensors_next(&tensors, &tensor, NULL) == TENSLICE_OK; number++) {
        tenslice_tensor_components(&tensor, &components);
        while (tenslice_components_next(&components, &component, NULL) == TENSLICE_OK) {
            if (tenslice_component_shard(&component, &shard) != TENSLICE_OK || shard.data != NULL)
                continue; /* in another file */
            if (count == room) {
                room = 2 * room + 64;
                pieces = (tenslice_piece *)realloc(pieces, room * sizeof *pieces);
                if (pieces == NULL)
                    return fail(argv[1], TENSLICE_TOO_SMALL);
            }
            tenslice_component_get_info(&component, &info);
            pieces[count].key = number;
            pieces[count].offset = info.offset;
            pieces[count++].length = info.length;
        }
    }
    status = tenslice_plan_open(&plan, pieces, count, (uint64_t)about.st_size, ALIGNMENT, GAP);
    if (status != TENSLICE_OK)
        return fail(argv[1], status);
    tenslice_plan_length(&plan, &length);
    tenslice_plan_reads(&plan, LONGEST, &reads);

    /* The first use of a page takes as long as reading it from a fast disk. A program that loads several files uses the
       same memory again, or has it from cudaHostAlloc, so the pages are not part of the measured time. */
    if (length >= SIZE_MAX || posix_memalign(&place, ALIGNMENT, (size_t)length + 1) != 0)
        return fail(argv[1], TENSLICE_TOO_SMALL);
    memory = (unsigned char *)memset(place, 1, (size_t)length);
    if (is_direct && fcntl(handle, F_SETFL, O_DIRECT) != 0)
        is_direct = 0; /* this file system has no direct I/O */
    if ((seconds = execute()) < 0) {
        fprintf(stderr, "error: %s: it cannot be read\n", argv[1]);
        return 1;
    }

    /* The bytes of each piece are where the plan says. Here only the last byte of each is used. */
    for (i = 0; i < count; i++)
        sum += pieces[i].length == 0 ? 0 : memory[pieces[i].at + pieces[i].length - 1];
    printf("%llu tensors, %llu bytes, %s, %.3f GB/s; the last bytes add up to %llu\n", (unsigned long long)number,
           (unsigned long long)length, is_direct ? "direct" : "cached", (double)length / seconds / 1e9,
           (unsigned long long)sum);
    munmap(map, (size_t)about.st_size);
    free(pieces);
    free(place);
    close(handle);
    return 0;
}
