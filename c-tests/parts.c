/* A file opened in parts equals the same file opened from a slice. Argument: the fixtures. */
#include "support.h"

/* The kept ranges, which the opened file uses. */
static tenslice_need kept[TENSLICE_MAX_SEGMENTS];

/* Returns 1 if one of the first `fetched` ranges contains the range. */
static int is_kept(uint64_t offset, uint64_t length, int fetched)
{
    int i;

    for (i = 0; i < fetched; i++)
        if (offset >= kept[i].offset && offset + length <= kept[i].offset + kept[i].length)
            return 1;
    return 0;
}

/*
 * Opens `b` by fetching the requested ranges, each into its own memory. Transient ranges all go into the same memory,
 * which is overwritten each time.
 */
static tenslice_status open_in_parts(blob b, tenslice_source *source, tenslice_file *file, tenslice_error *error,
                                     void **room, int *fetched)
{
    tenslice_need need;
    tenslice_status status;

    *fetched = 0;
    EXPECT(TENSLICE_OK, tenslice_source_init(source, b.size));
    while ((status = tenslice_file_open_source(file, source, &need, error)) == TENSLICE_NEED) {
        CHECK(*fetched < TENSLICE_MAX_SEGMENTS);
        CHECK(need.length > 0 && need.length <= b.size && need.offset <= b.size - need.length);
        if (!need.keep) {
            /* Reads whole sectors that contain the range, as from a card. */
            static unsigned char passing[(1 << 20) + 1024];
            static size_t used;
            const uint64_t from = need.offset - need.offset % 512, end = need.offset + need.length;
            const uint64_t sectors = (end - from + 511) / 512 * 512;
            const uint64_t length = sectors < b.size - from ? sectors : b.size - from;
            CHECK(length <= sizeof passing);
            memset(passing, 0xee, used);
            memcpy(passing, b.data + from, (size_t)length);
            used = (size_t)length;
            EXPECT(TENSLICE_OK, tenslice_source_add(source, from, passing, (size_t)length));
            continue;
        }
        kept[*fetched] = need;
        room[*fetched] = malloc((size_t)need.length);
        CHECK(room[*fetched] != NULL);
        memcpy(room[*fetched], b.data + need.offset, (size_t)need.length);
        EXPECT(TENSLICE_OK, tenslice_source_add(source, need.offset, room[*fetched], (size_t)need.length));
        ++*fetched;
    }
    return status;
}

/* Opens `b` in rounds: fetches all ranges of a round. Returns the number of rounds, and the bytes in `bytes`. */
static int open_in_rounds(blob b, tenslice_file *file, tenslice_source *source, tenslice_piece (*pieces)[64],
                          unsigned char **memory, uint64_t *bytes)
{
    tenslice_need need;
    size_t i, count, length;
    int rounds = 0;

    *bytes = 0;
    EXPECT(TENSLICE_OK, tenslice_source_init(source, b.size));
    while (tenslice_file_open_source(file, source, &need, NULL) == TENSLICE_NEED) {
        CHECK(rounds < 8 && need.keep);
        EXPECT(TENSLICE_OK, tenslice_source_needs(source, pieces[rounds], 64, &count));
        CHECK(count > 0);
        length = (size_t)(pieces[rounds][count - 1].at + pieces[rounds][count - 1].length);
        *bytes += length;
        memory[rounds] = (unsigned char *)malloc(length);
        CHECK(memory[rounds] != NULL);
        for (i = 0; i < count; i++)
            memcpy(memory[rounds] + pieces[rounds][i].at, b.data + pieces[rounds][i].offset,
                   (size_t)pieces[rounds][i].length);
        EXPECT(TENSLICE_OK, tenslice_source_add_pieces(source, pieces[rounds], count, memory[rounds], length));
        rounds++;
    }
    return rounds;
}

static size_t put(unsigned char *to, uint64_t number, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++)
        to[i] = (unsigned char)(number >> 8 * i);
    return size;
}

static size_t put_string(unsigned char *to, const char *text)
{
    memcpy(to + put(to, strlen(text), 8), text, strlen(text));
    return 8 + strlen(text);
}

/* The fields that the two headers of a stored entry share, without a checksum. */
static size_t put_about(unsigned char *to, size_t name_length, size_t length)
{
    put(to, 20, 2);
    put(to + 14, length, 4);
    put(to + 18, length, 4);
    put(to + 22, name_length, 2);
    return 26;
}

/* An NPZ archive of stored arrays of `items` bytes. */
static blob archive(unsigned count, unsigned items)
{
    const size_t length = 128 + items, name_length = 12;
    blob b;
    unsigned i;
    char name[24], header[118];
    size_t at = 0, directory;

    b.data = (unsigned char *)calloc(count + 1, length + 128);
    CHECK(b.data != NULL);
    snprintf(header, sizeof header, "{'descr': '|u1', 'fortran_order': False, 'shape': (%u,), }", items);
    for (i = 0; i < count; i++) {
        snprintf(name, sizeof name, "layer_%02u.npy", i);
        at += put(b.data + at, 0x04034b50, 4);
        at += put_about(b.data + at, name_length, length);
        memcpy(b.data + at, name, name_length);
        at += name_length;
        memcpy(b.data + at, "\x93NUMPY\1\0\x76\0", 10);
        memset(b.data + at + 10, ' ', 117);
        memcpy(b.data + at + 10, header, strlen(header));
        b.data[at + 127] = '\n';
        at += length;
    }
    directory = at;
    for (i = 0; i < count; i++) {
        snprintf(name, sizeof name, "layer_%02u.npy", i);
        at += put(b.data + at, 0x02014b50, 4);
        at += put(b.data + at, 20, 2);
        at += put_about(b.data + at, name_length, length);
        at += put(b.data + at, 0, 8) + put(b.data + at, 0, 2);
        at += put(b.data + at, i * (30 + name_length + length), 4);
        memcpy(b.data + at, name, name_length);
        at += name_length;
    }
    put(b.data + at, 0x06054b50, 4);
    put(b.data + at + 8, count, 2);
    put(b.data + at + 10, count, 2);
    put(b.data + at + 12, at - directory, 4);
    put(b.data + at + 16, directory, 4);
    b.size = at + 22;
    return b;
}

/* An archive has the same tensors in rounds as in a slice. */
static void rounds(blob b, int most_rounds, uint64_t most_bytes)
{
    static tenslice_piece pieces[8][64];
    unsigned char *memory[8];
    uint64_t bytes;
    tenslice_source source;
    tenslice_file file, whole;
    tenslice_file_info info, expected;
    int i, used = open_in_rounds(b, &file, &source, pieces, memory, &bytes);

    CHECK(used >= 2 && used <= most_rounds && bytes <= most_bytes);
    info.struct_size = expected.struct_size = sizeof info;
    EXPECT(TENSLICE_OK, tenslice_file_open(&whole, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_get_info(&whole, &expected));
    EXPECT(TENSLICE_OK, tenslice_file_get_info(&file, &info));
    CHECK(info.tensor_count == expected.tensor_count && info.warnings == expected.warnings);
    for (i = 0; i < used; i++)
        free(memory[i]);
    free(b.data);
}

/* A GGUF file with a vocabulary of `tokens` tokens, an integer after it, and a tensor of 1 MiB. */
static blob with_vocabulary(unsigned tokens)
{
    blob b;
    unsigned i;
    char token[24];
    size_t at;

    b.data = (unsigned char *)calloc(1, (size_t)tokens * 20 + (1 << 20) + 256);
    CHECK(b.data != NULL);
    memcpy(b.data, "GGUF", 4);
    at = 4 + put(b.data + 4, 3, 4);
    at += put(b.data + at, 1, 8);
    at += put(b.data + at, 2, 8);
    at += put_string(b.data + at, "tokens");
    at += put(b.data + at, 9, 4);
    at += put(b.data + at, 8, 4);
    at += put(b.data + at, tokens, 8);
    for (i = 0; i < tokens; i++) {
        snprintf(token, sizeof token, "token %06u", i);
        at += put_string(b.data + at, token);
    }
    at += put_string(b.data + at, "after");
    at += put(b.data + at, 4, 4);
    at += put(b.data + at, 7, 4);
    at += put_string(b.data + at, "t");
    at += put(b.data + at, 1, 4);
    at += put(b.data + at, 1 << 18, 8);
    at += put(b.data + at, 0, 4);
    at += put(b.data + at, 0, 8);
    b.size = (at + 31) / 32 * 32 + (1 << 20);
    return b;
}

/* A long vocabulary is skipped and not kept: reading it returns the range that it needs. */
static void vocabulary(void)
{
    enum { TOKENS = 20000 };
    blob b = with_vocabulary(TOKENS);
    tenslice_source source;
    tenslice_file file;
    tenslice_cursor all, tokens;
    tenslice_value value;
    tenslice_error error;
    tenslice_need need;
    void *room[TENSLICE_MAX_SEGMENTS];
    uint64_t number, offset, length, bytes = 0;
    int fetched, i;
    char token[24];

    value.struct_size = sizeof value;
    EXPECT(TENSLICE_OK, open_in_parts(b, &source, &file, &error, room, &fetched));
    for (i = 0; i < fetched; i++)
        bytes += kept[i].length;
    CHECK(fetched <= 4 && bytes < b.size - (b.size >> 1));
    EXPECT(TENSLICE_OK, tenslice_file_attributes(&file, &all));
    EXPECT(TENSLICE_OK, tenslice_attributes_get_u64(&all, "after", 5, &number, NULL));
    CHECK(number == 7);
    EXPECT(TENSLICE_OK, tenslice_attributes_get(&all, "tokens", 6, &value, NULL));
    EXPECT(TENSLICE_OK, tenslice_value_items(&value, &tokens));
    EXPECT(TENSLICE_OK, tenslice_attributes_length(&tokens, &number));
    CHECK(number == TOKENS);
    EXPECT(TENSLICE_OK, tenslice_attributes_extent(&tokens, &offset, &length));
    CHECK(offset > 0 && offset < 128 && length == TOKENS * 20);
    while (tenslice_attributes_next(&tokens, NULL, &value, &error) == TENSLICE_OK)
        ;
    CHECK(error.kind == TENSLICE_NOT_IN_MEMORY && error.offset > 0 && error.offset < TOKENS * 20 + 64);

    /* The tokens are added and the file is opened again: nothing else is requested. */
    EXPECT(TENSLICE_OK, tenslice_source_add(&source, offset, b.data + offset, (size_t)length));
    EXPECT(TENSLICE_OK, tenslice_file_open_source(&file, &source, &need, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_attributes(&file, &all));
    EXPECT(TENSLICE_OK, tenslice_attributes_get(&all, "tokens", 6, &value, NULL));
    EXPECT(TENSLICE_OK, tenslice_value_items(&value, &tokens));
    for (i = 0; tenslice_attributes_next(&tokens, NULL, &value, NULL) == TENSLICE_OK; i++) {
        snprintf(token, sizeof token, "token %06d", i);
        CHECK(value.kind == TENSLICE_VALUE_TEXT && same(value.text, token));
    }
    CHECK(i == TOKENS);
    while (fetched > 0)
        free(room[--fetched]);
    free(b.data);
}

/* A long text beyond the requested range is not kept, either. The attributes after it are still found. */
static void long_text(void)
{
    enum { LENGTH = 100000 };
    blob b;
    tenslice_source source;
    tenslice_file file;
    tenslice_cursor all;
    tenslice_value value;
    tenslice_error error;
    tenslice_need need;
    tenslice_str text;
    void *room[TENSLICE_MAX_SEGMENTS];
    uint64_t number;
    int fetched;
    size_t at;

    b.data = (unsigned char *)calloc(1, LENGTH + 256);
    CHECK(b.data != NULL);
    memcpy(b.data, "GGUF", 4);
    at = 4 + put(b.data + 4, 3, 4);
    at += put(b.data + at, 0, 8);
    at += put(b.data + at, 2, 8);
    at += put_string(b.data + at, "long");
    at += put(b.data + at, 8, 4);
    at += put(b.data + at, LENGTH, 8);
    memset(b.data + at, 'x', LENGTH);
    at += LENGTH;
    at += put_string(b.data + at, "after");
    at += put(b.data + at, 4, 4);
    b.size = at + put(b.data + at, 7, 4);
    value.struct_size = sizeof value;
    EXPECT(TENSLICE_OK, open_in_parts(b, &source, &file, &error, room, &fetched));
    EXPECT(TENSLICE_OK, tenslice_file_attributes(&file, &all));
    EXPECT(TENSLICE_OK, tenslice_attributes_get_u64(&all, "after", 5, &number, NULL));
    CHECK(number == 7);
    EXPECT(TENSLICE_NOT_IN_MEMORY, tenslice_attributes_get_str(&all, "long", 4, &text, &error));
    CHECK(error.offset == 24 + 12 + 4 + 8);
    EXPECT(TENSLICE_NOT_FOUND, tenslice_attributes_get_str(&all, "none", 4, &text, NULL));
    EXPECT(TENSLICE_NOT_IN_MEMORY, tenslice_attributes_next(&all, NULL, &value, NULL));
    EXPECT(TENSLICE_OK, tenslice_source_add(&source, error.offset, b.data + error.offset, LENGTH));
    EXPECT(TENSLICE_OK, tenslice_file_open_source(&file, &source, &need, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_attributes(&file, &all));
    EXPECT(TENSLICE_OK, tenslice_attributes_get_str(&all, "long", 4, &text, NULL));
    CHECK(text.length == LENGTH && text.data[LENGTH - 1] == 'x');
    while (fetched > 0)
        free(room[--fetched]);
    free(b.data);
}

int main(int argc, char **argv)
{
    static const char *const files[] = {
        "v0.1/sparse_real_layouts.zt", "v1.0/sparse_csr_coo.zt", "v1.1/syn_quantized_group_f8_complex.zt",
        "v1.2/objects_sparse_quant_logical.zt", "v1.2/many_tensors.zt", "v1.2/empty_no_tensors.zt",
        "bad/v1.2/end_past_eof.zt", "bad/v1.2/trunc_0312.zt", "bad/v1.2/dup_tensor_name.zt",
        "tens/good/unknown_chunks_many.tens", "tens/good/sym_3.tens", "tens/good/ix_f64_x2.tens",
        "tens/good/legacy_c64_2018_width16.tens", "tens/bad/warn_densdata_nonzero_padding.tens",
        "tens/bad/sym_unknown_index.tens", "blz/good/nd10_qtt_c64.blz", "blz/bad/rank_zero.blz",
        "safetensors/py_tiny_mlp.safetensors", "safetensors/hm_order_random_64.safetensors",
        "safetensors/rs_no_tensors.safetensors", "safetensors/bad/st_7bytes.safetensors",
        "safetensors/bad/st_comment.safetensors",
        "gguf/kv_all_types.gguf", "gguf/vocab_601.gguf", "gguf/be_quantised.gguf", "gguf/hm_v1.gguf",
        "gguf/hm_many_keys_1500.gguf", "gguf/no_tensors.gguf", "gguf/quirks/gg_nested_9.gguf",
        "gguf/quirks/gg_gap_between.gguf"};
    size_t i;

    CHECK(argc == 2);
    for (i = 0; i < sizeof files / sizeof *files; i++) {
        blob b = load(argv[1], files[i]);
        tenslice_source source;
        tenslice_file whole, parts;
        tenslice_error error = {0, 0, 0, 0, 0}, error_in_parts = {0, 0, 0, 0, 0};
        void *room[TENSLICE_MAX_SEGMENTS];
        int fetched;
        tenslice_status status = tenslice_file_open(&whole, b.data, b.size, &error);

        EXPECT(status, open_in_parts(b, &source, &parts, &error_in_parts, room, &fetched));
        CHECK(memcmp(&error, &error_in_parts, sizeof error) == 0);
        if (status == TENSLICE_OK) {
            tenslice_cursor all, all_in_parts;
            tenslice_tensor tensor, in_parts;
            EXPECT(TENSLICE_OK, tenslice_file_tensors(&whole, &all));
            EXPECT(TENSLICE_OK, tenslice_file_tensors(&parts, &all_in_parts));
            while ((status = tenslice_tensors_next(&all, &tensor, NULL)) == TENSLICE_OK) {
                tenslice_tensor_info a, b2;
                tenslice_component component;
                tenslice_component_info part;
                tenslice_cursor components;
                tenslice_bytes bytes;
                EXPECT(TENSLICE_OK, tenslice_tensors_next(&all_in_parts, &in_parts, NULL));
                a.struct_size = b2.struct_size = sizeof a;
                tenslice_tensor_get_info(&tensor, &a);
                tenslice_tensor_get_info(&in_parts, &b2);
                CHECK(a.name.length == b2.name.length && memcmp(a.name.data, b2.name.data, a.name.length) == 0);
                CHECK(a.dtype == b2.dtype && a.elements == b2.elements && a.layout == b2.layout);
                /* The data was not requested, but may be in a requested range. Its extent is known, and bytes that the
                   caller reads can be bound. */
                EXPECT(TENSLICE_OK, tenslice_tensor_components(&in_parts, &components));
                EXPECT(TENSLICE_OK, tenslice_components_next(&components, &component, NULL));
                part.struct_size = sizeof part;
                EXPECT(TENSLICE_OK, tenslice_component_get_info(&component, &part));
                if (part.length > 0)
                    EXPECT(is_kept(part.offset, part.length, fetched) ? TENSLICE_OK : TENSLICE_NOT_IN_MEMORY,
                           tenslice_component_stored(&component, &bytes, NULL));
                EXPECT(TENSLICE_OK, tenslice_component_with_bytes(&component, b.data + part.offset,
                                                                  (size_t)part.length, &component, NULL));
                EXPECT(TENSLICE_OK, tenslice_component_stored(&component, &bytes, NULL));
                CHECK(bytes.length == part.length);
            }
            EXPECT(TENSLICE_END, status);
            EXPECT(TENSLICE_END, tenslice_tensors_next(&all_in_parts, &in_parts, NULL));
        }
        while (fetched > 0)
            free(room[--fetched]);
        free(b.data);
    }
    vocabulary();
    rounds(load(argv[1], "npz/hm_aligned_64.npz"), 2, 1000);
    rounds(archive(40, 8192), 3, 40000);
    long_text();
    puts("parts: ok");
    return 0;
}
