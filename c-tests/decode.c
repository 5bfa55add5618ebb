/*
 * Decoding, verifying, materializing. Argument: the fixtures.
 *
 * BUILT_IN is 1 if the library has a Zstandard decoder. With HAVE_LIBZSTD a decoder of this program calls libzstd, and
 * both must produce the same bytes.
 */
#include "support.h"

#ifdef HAVE_LIBZSTD
#include <zstd.h>
#endif
#ifndef BUILT_IN
#define BUILT_IN 0
#endif

typedef struct {
    tenslice_status answer; /* the result, unless TENSLICE_OK */
    size_t claimed;         /* the claimed length, unless 0 */
    int calls;
} plan;

static tenslice_status decode(void *user, uint32_t encoding, const void *stored, size_t stored_length, void *room,
                              size_t capacity, size_t *length)
{
    plan *p = (plan *)user;
    p->calls++;
    CHECK(encoding == TENSLICE_ENCODING_ZSTD && stored != NULL && stored_length > 0);
    if (p->answer != TENSLICE_OK)
        return p->answer;
    if (p->claimed != 0) {
        *length = p->claimed;
        return TENSLICE_OK;
    }
#ifdef HAVE_LIBZSTD
    {
        size_t result = ZSTD_decompress(room, capacity, stored, stored_length);
        if (ZSTD_isError(result))
            return capacity < 100000 && strstr(ZSTD_getErrorName(result), "too small") ? TENSLICE_TOO_SMALL
                                                                                        : TENSLICE_CORRUPT_STREAM;
        *length = result;
        return TENSLICE_OK;
    }
#else
    (void)room, (void)capacity, (void)length;
    return TENSLICE_UNSUPPORTED_ENCODING;
#endif
}

/* Reads a tensor into new memory, growing it if the file does not state how much is needed. */
static tenslice_status read_tensor(const tenslice_tensor *tensor, const tenslice_decoder *decoder,
                                   unsigned char **bytes, size_t *size)
{
    uint64_t dense, scratch, length;
    size_t scratch_size = 16;
    tenslice_status status;

    EXPECT(TENSLICE_OK, tensor_needs(tensor, TENSLICE_PURPOSE_READ, &dense, &scratch));
    CHECK(dense != UINT64_MAX && dense < 1u << 24);
    if (scratch != UINT64_MAX)
        scratch_size = (size_t)scratch;
    for (;;) {
        void *room = malloc((size_t)dense + 1), *memory = malloc(scratch_size + 1);
        CHECK(room != NULL && memory != NULL);
        status = tenslice_tensor_read_into(tensor, room, (size_t)dense, OPTIONS(decoder, memory, scratch_size), &length, NULL);
        free(memory);
        if (status == TENSLICE_OK) {
            CHECK(length == dense);
            *bytes = (unsigned char *)room;
            *size = (size_t)dense;
            return status;
        }
        free(room);
        if (status != TENSLICE_OUT_OF_SCRATCH || scratch != UINT64_MAX)
            return status;
        scratch_size *= 2;
    }
}

static int is_encoded(const tenslice_tensor *tensor)
{
    tenslice_cursor cursor;
    tenslice_component component;
    tenslice_component_info info;
    int encoded = 0;

    info.struct_size = sizeof info;
    EXPECT(TENSLICE_OK, tenslice_tensor_components(tensor, &cursor));
    while (tenslice_components_next(&cursor, &component, NULL) == TENSLICE_OK) {
        EXPECT(TENSLICE_OK, tenslice_component_get_info(&component, &info));
        encoded |= info.encoding != TENSLICE_ENCODING_RAW;
    }
    return encoded;
}

static void every_tensor(const char *folder, const char *name, const tenslice_decoder *decoder)
{
    blob b = load(folder, name);
    tenslice_file file;
    tenslice_cursor cursor;
    tenslice_tensor tensor;
    int decoded = 0;

    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_tensors(&file, &cursor));
    while (tenslice_tensors_next(&cursor, &tensor, NULL) == TENSLICE_OK) {
        tenslice_tensor_info info;
        tenslice_bytes stored;
        unsigned char *ours = NULL, *theirs = NULL;
        size_t size = 0, their_size = 0;
        int has_ours, has_theirs;

        info.struct_size = sizeof info;
        EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &info));
        if (info.layout == TENSLICE_LAYOUT_QUANTIZED_GROUP || info.layout == TENSLICE_LAYOUT_OTHER) {
            EXPECT(TENSLICE_UNSUPPORTED_LAYOUT,
                   tenslice_tensor_read_into(&tensor, NULL, 0, NULL, NULL, NULL));
            continue;
        }
        has_ours = read_tensor(&tensor, NULL, &ours, &size) == TENSLICE_OK;
        has_theirs = decoder != NULL && read_tensor(&tensor, decoder, &theirs, &their_size) == TENSLICE_OK;
        CHECK(has_ours || (!BUILT_IN && is_encoded(&tensor)));
        CHECK(has_theirs || decoder == NULL);
        if (has_ours && has_theirs)
            CHECK(size == their_size && memcmp(ours, theirs, size) == 0);
        if (has_ours && tenslice_tensor_bytes(&tensor, TENSLICE_ANY, &stored, NULL) == TENSLICE_OK)
            CHECK(size == stored.length); /* raw: a copy, in native byte order */
        decoded += has_ours || has_theirs;
        free(ours);
        free(theirs);
    }
    CHECK(decoded > 0 || !BUILT_IN);
    free(b.data);
}

static void sizes_and_answers(const char *folder)
{
    blob b = load(folder, "v1.2/zstd.zt");
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_component component;
    unsigned char room[8];
    uint64_t dense, length = 77;
    plan p = {TENSLICE_OK, 0, 0};
    tenslice_decoder decoder;
    void *all;
    size_t i;
    static const struct {
        tenslice_status answer, status;
    } answers[] = {{TENSLICE_TOO_SMALL, TENSLICE_DECODED_LENGTH},
                   {TENSLICE_UNSUPPORTED_ENCODING, TENSLICE_UNSUPPORTED_ENCODING},
                   {TENSLICE_CHECKSUM_MISMATCH, TENSLICE_CHECKSUM_MISMATCH},
                   {-1, TENSLICE_CORRUPT_STREAM},
                   {TENSLICE_END, TENSLICE_CORRUPT_STREAM}};

    decoder.decode = decode;
    decoder.user = &p;
    decoder.decode_with_dictionary = NULL;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "pattern", 7, &tensor, NULL));
    EXPECT(TENSLICE_OK, tensor_needs(&tensor, TENSLICE_PURPOSE_READ, &dense, NULL));
    memset(room, '#', sizeof room);
    EXPECT(TENSLICE_TOO_SMALL,
           tenslice_tensor_read_into(&tensor, room, sizeof room, OPTIONS(&decoder, NULL, 0), &length, NULL));
    CHECK(length == dense && room[0] == '#' && p.calls == 0);
    EXPECT(TENSLICE_OK, tenslice_tensor_data(&tensor, &component, NULL));
    EXPECT(TENSLICE_TOO_SMALL,
           tenslice_component_read_into(&component, NULL, 0, OPTIONS(&decoder, NULL, 0), &length, NULL));
    CHECK(length == dense);
    all = malloc((size_t)dense);
    CHECK(all != NULL);
    for (i = 0; i < sizeof answers / sizeof *answers; i++) {
        p.answer = answers[i].answer;
        EXPECT(answers[i].status,
               tenslice_component_read_into(&component, all, (size_t)dense, OPTIONS(&decoder, NULL, 0), NULL, NULL));
    }
    p.answer = TENSLICE_OK;
    p.claimed = (size_t)dense + 1; /* more than the buffer has */
    EXPECT(TENSLICE_CORRUPT_STREAM,
           tenslice_component_read_into(&component, all, (size_t)dense, OPTIONS(&decoder, NULL, 0), NULL, NULL));
    p.claimed = (size_t)dense - 1;
    EXPECT(TENSLICE_DECODED_LENGTH,
           tenslice_component_read_into(&component, all, (size_t)dense, OPTIONS(&decoder, NULL, 0), NULL, NULL));
    decoder.decode = NULL;
    EXPECT(TENSLICE_INVALID_ARGUMENT,
           tenslice_component_read_into(&component, all, (size_t)dense, OPTIONS(&decoder, NULL, 0), NULL, NULL));
    EXPECT(BUILT_IN ? TENSLICE_OK : TENSLICE_UNSUPPORTED_ENCODING,
           tenslice_component_read_into(&component, all, (size_t)dense, NULL, &length, NULL));
    free(all);
    free(b.data);
}

static void digests(const char *folder)
{
    blob b = load(folder, "v1.2/digests.zt");
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_component component;
    tenslice_verified verified;
    tenslice_error error;

    verified.struct_size = sizeof verified;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_verify(&file, NULL, &verified, NULL));
    CHECK(verified.verified == 6 && verified.without_digest == 0 && verified.unknown_digest == 0);
    b.data[64] ^= 1;
    EXPECT(TENSLICE_DIGEST_MISMATCH, tenslice_file_verify(&file, NULL, &verified, &error));
    CHECK(error.part == TENSLICE_PART_DIGEST && verified.verified == 6);
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "c", 1, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_data(&tensor, &component, NULL));
    EXPECT(TENSLICE_OK, tenslice_component_verify(&component, NULL, &verified, NULL));
    CHECK(verified.verified == 1 && verified.without_digest == 0 && verified.unknown_digest == 0);
    free(b.data);
}

/* Reads a range and compares it with the whole. */
static void range(const tenslice_component *component, const tenslice_decoder *decoder, const unsigned char *whole,
                  size_t start, size_t length, size_t scratch_length)
{
    unsigned char *part = (unsigned char *)malloc(length + 1), *scratch = (unsigned char *)malloc(scratch_length + 1);
    CHECK(part != NULL && scratch != NULL);
    part[length] = '#';
    EXPECT(TENSLICE_OK,
           tenslice_component_read_range(component, start, part, length, OPTIONS(decoder, scratch, scratch_length),
                                         NULL));
    CHECK(memcmp(part, whole + start, length) == 0 && part[length] == '#');
    free(part);
    free(scratch);
}

/* Components in Zstandard frames, whose digests are those of the decoded bytes. */
static void frames(const char *folder, const tenslice_decoder *decoder)
{
    blob b = load(folder, "v2/zstd_seekable.zt");
    const uint32_t decodes = TENSLICE_CAP_RANGE | TENSLICE_CAP_DECODE | TENSLICE_CAP_VERIFY;
    tenslice_file file;
    tenslice_cursor cursor;
    tenslice_tensor tensor;
    tenslice_component component;
    tenslice_component_info info;
    tenslice_verified verified;
    tenslice_error error;
    tenslice_str shard;
    uint64_t length, needed;
    uint32_t caps;
    void *scratch;
    int count = 0;

    info.struct_size = sizeof info;
    verified.struct_size = sizeof verified;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, file_needs(&file, TENSLICE_PURPOSE_VERIFY, NULL, &needed));
    CHECK(needed == 400000);
    scratch = malloc((size_t)needed);
    CHECK(scratch != NULL);
    EXPECT(TENSLICE_OUT_OF_SCRATCH, tenslice_file_verify(&file, NULL, &verified, &error));
    if (!BUILT_IN)
        EXPECT(TENSLICE_UNSUPPORTED_ENCODING,
               tenslice_file_verify(&file, OPTIONS(NULL, scratch, (size_t)needed), &verified, &error));
    if (BUILT_IN || decoder != NULL) {
        EXPECT(TENSLICE_OUT_OF_SCRATCH,
               tenslice_file_verify(&file, OPTIONS(decoder, scratch, (size_t)needed - 1), &verified, &error));
        EXPECT(TENSLICE_OK, tenslice_file_verify(&file, OPTIONS(decoder, scratch, (size_t)needed), &verified, NULL));
        CHECK(verified.verified == 5 && verified.without_digest == 0 && verified.unknown_digest == 0);
    }
    EXPECT(TENSLICE_OK, tenslice_file_tensors(&file, &cursor));
    while (tenslice_tensors_next(&cursor, &tensor, NULL) == TENSLICE_OK) {
        EXPECT(TENSLICE_OK, tenslice_tensor_data(&tensor, &component, NULL));
        EXPECT(TENSLICE_OK, tenslice_component_get_info(&component, &info));
        CHECK(info.encoding == TENSLICE_ENCODING_ZSTD_SEEKABLE && info.decoded_length != UINT64_MAX);
        EXPECT(TENSLICE_OK, tenslice_component_caps(&component, &caps));
        CHECK(caps == (BUILT_IN ? decodes : 0));
        EXPECT(TENSLICE_OK, tenslice_component_shard(&component, &shard));
        CHECK(shard.data == NULL && shard.length == 0);
        EXPECT(TENSLICE_NOT_IN_SHARD, tenslice_component_with_shard(&component, b.data, b.size, &component, NULL));
        EXPECT(TENSLICE_OK, component_needs(&component, TENSLICE_PURPOSE_READ_RANGE, NULL, &length));
        CHECK(length == info.decoded_length); /* a single frame, or none */
        EXPECT(TENSLICE_OK, component_needs(&component, TENSLICE_PURPOSE_VERIFY, NULL, &length));
        CHECK(length == info.decoded_length);
        count++;
        if (BUILT_IN || decoder != NULL) {
            size_t size = (size_t)length;
            unsigned char *whole = (unsigned char *)malloc(size + 1);
            CHECK(whole != NULL);
            EXPECT(TENSLICE_OK,
                   tenslice_component_read_into(&component, whole, size, OPTIONS(decoder, NULL, 0), NULL, NULL));
            EXPECT(TENSLICE_OK,
                   tenslice_component_verify(&component, OPTIONS(decoder, scratch, size), &verified, NULL));
            CHECK(verified.verified == 1);
            range(&component, decoder, whole, 0, size, 0);
            range(&component, decoder, whole, size / 16 * 8, size / 32 * 8, size);
            EXPECT(TENSLICE_NO_SUCH_ELEMENT,
                   tenslice_component_read_range(&component, size, whole, 8, OPTIONS(decoder, scratch, size), NULL));
            if (size > 8)
                EXPECT(TENSLICE_OUT_OF_SCRATCH,
                       tenslice_component_read_range(&component, 0, whole, 8, OPTIONS(decoder, scratch, size - 1), &error));
            free(whole);
        }
    }
    CHECK(count == 5);
    /* Damages the frame table of the first one, at the end of its bytes. */
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "pattern", 7, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_data(&tensor, &component, NULL));
    EXPECT(TENSLICE_OK, tenslice_component_get_info(&component, &info));
    b.data[info.offset + info.length - 1] ^= 1;
    EXPECT(TENSLICE_INVALID_SEEK_TABLE,
           tenslice_component_read_range(&component, 0, NULL, 0, OPTIONS(decoder, NULL, 0), &error));
    CHECK(error.part == TENSLICE_PART_SEEK_TABLE);
    EXPECT(TENSLICE_OK, component_needs(&component, TENSLICE_PURPOSE_READ_RANGE, NULL, &length));
    CHECK(length == UINT64_MAX);
    EXPECT(TENSLICE_OK, component_needs(&component, TENSLICE_PURPOSE_VERIFY, NULL, &length));
    CHECK(length == UINT64_MAX);
    free(scratch);
    free(b.data);
}

/* A component in another file: rejected until it is bound to the bytes of that file. */
static void shards(const char *folder)
{
    blob b = load(folder, "v2/shards.zt"), other = load(folder, "v2/shards-base.zt");
    tenslice_file file;
    tenslice_cursor cursor;
    tenslice_tensor tensor;
    tenslice_component component, bound;
    tenslice_component_info info;
    tenslice_verified verified;
    tenslice_bytes bytes;
    tenslice_error error;
    tenslice_str shard;
    tenslice_ztensor2_shard listed;
    uint32_t caps, is_verified;
    int count = 0;

    listed.struct_size = sizeof listed;
    info.struct_size = sizeof info;
    verified.struct_size = sizeof verified;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_ztensor2_shards(&file, &cursor));
    EXPECT(TENSLICE_OK, tenslice_ztensor2_shards_next(&cursor, &listed, NULL));
    CHECK(listed.name.length == 4 && memcmp(listed.name.data, "base", 4) == 0 && listed.size == other.size);
    CHECK(listed.digest.length == 71 && memcmp(listed.digest.data, "sha256:", 7) == 0);
    EXPECT(TENSLICE_END, tenslice_ztensor2_shards_next(&cursor, &listed, NULL));
    EXPECT(TENSLICE_OK, tenslice_ztensor2_check_shard(&file, "base", 4, other.data, other.size, NULL, NULL));
    EXPECT(TENSLICE_OK, tenslice_ztensor2_check_shard(&file, "base", 4, other.data, other.size, &is_verified, NULL));
    EXPECT(TENSLICE_NOT_FOUND,
           tenslice_ztensor2_check_shard(&file, "bas", 3, other.data, other.size, NULL, NULL));
    EXPECT(TENSLICE_WRONG_LENGTH,
           tenslice_ztensor2_check_shard(&file, "base", 4, other.data, other.size - 1, NULL, &error));
    CHECK(error.part == TENSLICE_PART_SHARD);
    if (is_verified) {
        other.data[5000] ^= 1;
        EXPECT(TENSLICE_DIGEST_MISMATCH,
               tenslice_ztensor2_check_shard(&file, "base", 4, other.data, other.size, NULL, &error));
        other.data[5000] ^= 1;
    }

    EXPECT(TENSLICE_OK, tenslice_file_tensors(&file, &cursor));
    while (tenslice_tensors_next(&cursor, &tensor, NULL) == TENSLICE_OK) {
        EXPECT(TENSLICE_OK, tenslice_tensor_data(&tensor, &component, NULL));
        EXPECT(TENSLICE_OK, tenslice_component_get_info(&component, &info));
        EXPECT(TENSLICE_OK, tenslice_component_shard(&component, &shard));
        if (shard.data == NULL)
            continue;
        CHECK(shard.length > 0 && shard.length <= 64);
        EXPECT(TENSLICE_OK, tenslice_component_caps(&component, &caps));
        CHECK(caps == 0);
        EXPECT(TENSLICE_IN_SHARD, tenslice_component_bytes(&component, TENSLICE_ANY, &bytes, &error));
        EXPECT(TENSLICE_IN_SHARD, tenslice_component_verify(&component, NULL, &verified, &error));
        EXPECT(TENSLICE_OUT_OF_FILE, tenslice_component_with_shard(&component, other.data, 8, &bound, &error));
        CHECK(error.part == TENSLICE_PART_SHARD);
        EXPECT(TENSLICE_OK, tenslice_component_with_shard(&component, other.data, other.size, &bound, NULL));
        EXPECT(TENSLICE_OK, tenslice_component_bytes(&bound, TENSLICE_ANY, &bytes, NULL));
        CHECK((const unsigned char *)bytes.data == other.data + info.offset && bytes.length == info.length);
        EXPECT(TENSLICE_OK, tenslice_component_verify(&bound, NULL, &verified, NULL));
        EXPECT(TENSLICE_OK, tenslice_component_caps(&bound, &caps));
        CHECK((caps & ~(uint32_t)TENSLICE_CAP_VERIFY)
              == (TENSLICE_CAP_BYTES | TENSLICE_CAP_RANGE | TENSLICE_CAP_DECODE));
        CHECK((caps & TENSLICE_CAP_VERIFY) != 0 ? verified.verified == 1 : verified.verified == 0);
        count++;
    }
    CHECK(count > 0);
    free(b.data);
    free(other.data);
}

#ifdef HAVE_LIBZSTD
static tenslice_status decode_with_dictionary(void *user, uint32_t encoding, const void *dictionary,
                                              size_t dictionary_length, const void *stored, size_t stored_length,
                                              void *room, size_t capacity, size_t *length)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    plan *p = (plan *)user;
    p->calls++;
    CHECK(context != NULL && encoding == TENSLICE_ENCODING_ZSTD);
    *length = ZSTD_decompress_usingDict(context, room, capacity, stored, stored_length, dictionary, dictionary_length);
    ZSTD_freeDCtx(context);
    return ZSTD_isError(*length) ? TENSLICE_CORRUPT_STREAM : TENSLICE_OK;
}
#endif

/* Zstandard streams with a dictionary, decoded by the built-in decoder and by libzstd. */
static void dictionaries(const char *folder)
{
    blob b = load(folder, "b2nd/good/dict_zstd_shuffle_0.b2nd");
    tenslice_file file;
    tenslice_tensor tensor;
    unsigned char *bytes = NULL;
    size_t size = 0;

    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "", 0, &tensor, NULL));
    if (BUILT_IN) {
        EXPECT(TENSLICE_OK, read_tensor(&tensor, NULL, &bytes, &size));
        CHECK(size == 64 * 128 * 4);
    } else {
        EXPECT(TENSLICE_UNSUPPORTED_CODEC, read_tensor(&tensor, NULL, &bytes, &size));
    }
#ifdef HAVE_LIBZSTD
    {
        plan p = {TENSLICE_OK, 0, 0};
        const tenslice_decoder decoder = {decode, &p, decode_with_dictionary};
        unsigned char *other = NULL;
        size_t other_size = 0;
        EXPECT(TENSLICE_OK, read_tensor(&tensor, &decoder, &other, &other_size));
        CHECK(p.calls > 2 && other_size == 64 * 128 * 4);
        CHECK(!BUILT_IN || memcmp(bytes, other, size) == 0);
        free(other);
    }
#endif
    free(bytes);
    free(b.data);
}

int main(int argc, char **argv)
{
    static const char *const files[] = {"v0.1/zstd.zt", "v0.1/big_endian.zt", "v0.1/sparse_real_layouts.zt", "v1.0/zstd.zt",
                                        "v1.0/sparse_zstd_crc32c.zt", "v1.1/sparse_csr_coo_zstd_sha256.zt",
                                        "v1.2/zstd.zt", "v1.2/objects_sparse_quant_logical.zt",
                                        "v1.2/syn_zstd_multi_frame.zt"};
    size_t i;
    const tenslice_decoder *with = NULL;
#ifdef HAVE_LIBZSTD
    plan p = {TENSLICE_OK, 0, 0};
    tenslice_decoder decoder;
    decoder.decode = decode;
    decoder.user = &p;
    decoder.decode_with_dictionary = NULL;
    with = &decoder;
#endif

    CHECK(tenslice_has(TENSLICE_FEATURE_ZSTD) == BUILT_IN);
    CHECK(argc == 2);
    for (i = 0; i < sizeof files / sizeof *files; i++)
        every_tensor(argv[1], files[i], with);
#ifdef HAVE_LIBZSTD
    CHECK(p.calls > 10);
#endif
    sizes_and_answers(argv[1]);
    digests(argv[1]);
    frames(argv[1], with);
    shards(argv[1]);
    dictionaries(argv[1]);
    puts("decode: ok");
    return 0;
}
