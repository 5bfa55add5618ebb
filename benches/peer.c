/* c-blosc2 behind functions of plain types, which src/peer.rs declares again. Errors of c-blosc2 are returned as NULL
 * or as a negative integer. */
#include <b2nd.h>
#include <time.h>

/* Must be called first. Returns the version of the loaded library. */
const char *peer_start(void) {
    blosc2_init();
    return blosc2_get_version_string();
}

/* CPU time of this process: includes all its threads, and no other program. */
uint64_t peer_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Compresses a matrix of 32-bit floats into a contiguous frame. */
b2nd_array_t *peer_write(const void *data, const int64_t *shape, const int32_t *chunk, const int32_t *block,
                         uint8_t codec, uint8_t filter, uint8_t level) {
    blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
    cparams.compcode = codec;
    cparams.filters[BLOSC2_MAX_FILTERS - 1] = filter;
    cparams.clevel = level;
    cparams.typesize = 4;
    cparams.splitmode = BLOSC_AUTO_SPLIT; /* the default of python-blosc2, and so of most files */
    blosc2_storage storage = BLOSC2_STORAGE_DEFAULTS;
    storage.contiguous = true;
    storage.cparams = &cparams;
    b2nd_context_t *context = b2nd_create_ctx(&storage, 2, shape, chunk, block, "<f4", DTYPE_NUMPY_FORMAT, NULL, 0);
    b2nd_array_t *array = NULL;
    int status = b2nd_from_cbuffer(context, &array, data, shape[0] * shape[1] * 4);
    b2nd_free_ctx(context);
    return status < 0 ? NULL : array;
}

/* The frame of an array that `peer_write` made. Returns its length. The bytes live as long as the array. */
int64_t peer_frame(const b2nd_array_t *array, const uint8_t **frame) {
    uint8_t *bytes;
    int64_t length;
    bool needs_free;
    int status = b2nd_to_cframe(array, &bytes, &length, &needs_free);
    if (status < 0 || needs_free) {
        return -1;
    }
    *frame = bytes;
    return length;
}

/* Opens a frame, which must outlive the array. It is read with one thread: the default of BLOSC2_DPARAMS_DEFAULTS. */
b2nd_array_t *peer_open(const uint8_t *frame, int64_t length) {
    b2nd_array_t *array = NULL;
    int status = b2nd_from_cframe((uint8_t *)frame, length, false, &array);
    return status < 0 ? NULL : array;
}

void peer_close(b2nd_array_t *array) {
    b2nd_free(array);
}

int peer_read(const b2nd_array_t *array, void *buffer, int64_t length) {
    return b2nd_to_cbuffer(array, buffer, length);
}

/* Decodes all chunks to the start of the buffer, each over the previous one. */
int peer_chunks(const b2nd_array_t *array, void *buffer, int32_t length) {
    for (int64_t i = 0; i < array->sc->nchunks; i++) {
        int status = blosc2_schunk_decompress_chunk(array->sc, i, buffer, length);
        if (status < 0) {
            return status;
        }
    }
    return 0;
}

/* Reads the rows from `start` to before `stop`. */
int peer_rows(const b2nd_array_t *array, int64_t start, int64_t stop, void *buffer, int64_t length) {
    const int64_t first[] = {start, 0};
    const int64_t end[] = {stop, array->shape[1]};
    const int64_t shape[] = {stop - start, array->shape[1]};
    return b2nd_get_slice_cbuffer(array, first, end, buffer, shape, length);
}
