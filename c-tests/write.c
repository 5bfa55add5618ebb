/*
 * Writing: files in pieces, read back; a sink that fails at every byte, and a writer that goes on there; declarations
 * that are refused, with their messages; the order of the tensors. Argument: the fixtures, which are not used.
 */
#include "support.h"

/* A sink in memory, which fails at the byte `fails_at`. */
typedef struct {
    unsigned char bytes[4096];
    size_t length;
    uint64_t fails_at;
} stored;

static int store(void *context, uint64_t offset, const void *bytes, size_t length)
{
    stored *to = (stored *)context;

    CHECK(offset == to->length && length > 0 && length <= sizeof to->bytes - to->length);
    if (offset + length > to->fails_at) return 1;
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
    return 0;
}

static const uint64_t shape_a[] = {3, 2}, shape_b[] = {5}, shape_c[] = {0, 7};
static const tenslice_new_attribute of_tensor[] = {TENSLICE_NEW_TEXT("unit", "V")};
static const tenslice_new_attribute of_file[] = {TENSLICE_NEW_TEXT("format", "pt"), TENSLICE_NEW_TEXT("empty", "")};
static const tenslice_new_tensor tensors[] = {
    TENSLICE_NEW_TENSOR("b", TENSLICE_F32, shape_a),
    TENSLICE_NEW_TENSOR("none", TENSLICE_F32, shape_c),
    TENSLICE_NEW_TENSOR("a", TENSLICE_I8, shape_b),
};
static const tenslice_new_file plain = TENSLICE_NEW_FILE(TENSLICE_FORMAT_SAFETENSORS, tensors);
static uint64_t scratch[64];
static unsigned char data[29];

/* Writes a file from its byte `written` on, in pieces of `piece` bytes. Stops at the first error. */
static tenslice_status write_from(const tenslice_new_file *file, stored *to, uint64_t written, size_t piece,
                                  tenslice_error *error)
{
    const tenslice_sink sink = {store, to};
    tenslice_writer writer;
    tenslice_due due;
    tenslice_status status;
    uint64_t length, position;
    size_t words, at;

    EXPECT(TENSLICE_OK, tenslice_writer_scratch_length(file, &words));
    CHECK(words <= sizeof scratch / sizeof *scratch);
    EXPECT(TENSLICE_OK, tenslice_writer_open(&writer, file, scratch, words, error));
    EXPECT(TENSLICE_OK, tenslice_writer_length(&writer, &length));
    due.struct_size = sizeof due;
    EXPECT(TENSLICE_END, tenslice_writer_due(&writer, &due));
    status = written == 0 ? tenslice_writer_begin(&writer, &sink, error)
                          : tenslice_writer_resume(&writer, &sink, written, error);
    if (status != TENSLICE_OK) return status;
    while ((status = tenslice_writer_due(&writer, &due)) == TENSLICE_OK) {
        CHECK(due.component == 0 && due.missing > 0 && due.tensor != 1);
        at = (due.tensor == 2 ? 24 : 0) + (size_t)due.offset;
        status = tenslice_writer_data(&writer, &sink, data + at, piece < sizeof data - at ? piece : sizeof data - at,
                                      error);
        if (status != TENSLICE_OK) return status;
    }
    CHECK(status == TENSLICE_END);
    status = tenslice_writer_finish(&writer, &sink, error);
    if (status != TENSLICE_OK) return status;
    EXPECT(TENSLICE_OK, tenslice_writer_position(&writer, &position));
    CHECK(position == length && length == to->length);
    EXPECT(TENSLICE_WRONG_STATE, tenslice_writer_begin(&writer, &sink, error));
    EXPECT(TENSLICE_WRONG_STATE, tenslice_writer_data(&writer, &sink, data, 1, error));
    EXPECT(TENSLICE_WRONG_STATE, tenslice_writer_finish(&writer, &sink, error));
    return TENSLICE_OK;
}

static void check_message(const tenslice_new_file *file, const tenslice_error *error, const char *expected)
{
    char text[256];
    size_t needed;

    EXPECT(TENSLICE_OK, tenslice_writer_error_text(file, error, text, sizeof text, &needed));
    if (strcmp(text, expected) != 0 || needed != strlen(expected) + 1) {
        fprintf(stderr, "the message is: %s\nnot: %s\n", text, expected);
        exit(1);
    }
    EXPECT(TENSLICE_TOO_SMALL, tenslice_writer_error_text(file, error, text, needed - 1, NULL));
}

/* Reads a file back. */
static void check_file(const stored *written)
{
    static const struct {
        const char *name;
        size_t at, length;
        uint32_t dtype;
    } expected[] = {{"b", 0, 24, TENSLICE_F32}, {"none", 24, 0, TENSLICE_F32}, {"a", 24, 5, TENSLICE_I8}};
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_component component;
    tenslice_bytes bytes;
    tenslice_verified verified;
    size_t i;

    EXPECT(TENSLICE_OK, tenslice_file_open(&file, written->bytes, written->length, NULL));
    for (i = 0; i < 3; i++) {
        EXPECT(TENSLICE_OK, tenslice_file_find(&file, expected[i].name, TENSLICE_NUL, &tensor, NULL));
        CHECK(tenslice_tensor_dtype(&tensor) == expected[i].dtype);
        EXPECT(TENSLICE_OK, tenslice_tensor_data(&tensor, &component, NULL));
        EXPECT(TENSLICE_OK, tenslice_component_bytes(&component, TENSLICE_ANY, &bytes, NULL));
        CHECK(bytes.length == expected[i].length);
        CHECK(memcmp(bytes.data, data + expected[i].at, bytes.length) == 0);
    }
    verified.struct_size = sizeof verified;
    EXPECT(TENSLICE_OK, tenslice_file_verify(&file, NULL, &verified, NULL));
}

/* Writes a file in pieces of all lengths, with a sink that fails at each byte, and goes on at each byte. */
static void write_file(const tenslice_new_file *file)
{
    static stored whole, part;
    tenslice_error error;
    tenslice_status status;
    char text[64];
    size_t piece, cut;
    int has_digests = file->has_digests != 0;

    whole.length = 0;
    whole.fails_at = UINT64_MAX;
    EXPECT(TENSLICE_OK, write_from(file, &whole, 0, sizeof data, &error));
    check_file(&whole);
    for (piece = 1; piece < sizeof data; piece++) {
        part.length = 0;
        part.fails_at = UINT64_MAX;
        EXPECT(TENSLICE_OK, write_from(file, &part, 0, piece, &error));
        CHECK(part.length == whole.length && memcmp(part.bytes, whole.bytes, whole.length) == 0);
    }
    for (cut = 0; cut < whole.length; cut++) {
        part.length = 0;
        part.fails_at = cut;
        EXPECT(TENSLICE_SINK_FAILED, write_from(file, &part, 0, 7, &error));
        CHECK(error.kind == TENSLICE_SINK_FAILED && error.offset == part.length && part.length <= cut);
        snprintf(text, sizeof text, "%s: the sink failed at byte %u", has_digests ? "ztensor" : "safetensors",
                 (unsigned)part.length);
        check_message(file, &error, text);
    }
    for (cut = 1; cut <= whole.length; cut++) {
        memcpy(part.bytes, whole.bytes, whole.length);
        part.length = cut;
        part.fails_at = UINT64_MAX;
        status = write_from(file, &part, cut, 7, &error);
        /* The digests of data that has been written are lost. The data of this file begins at byte 64. */
        EXPECT(has_digests && cut > 64 ? TENSLICE_INVALID_ARGUMENT : TENSLICE_OK, status);
        if (status != TENSLICE_OK) continue;
        CHECK(part.length == whole.length && memcmp(part.bytes, whole.bytes, whole.length) == 0);
    }
    part.length = whole.length;
    EXPECT(TENSLICE_INVALID_ARGUMENT, write_from(file, &part, whole.length + 1, 7, &error));
}

/* zTensor 1.2 with digests, attributes of the file and of a tensor, and values inside values. */
static void write_ztensor(void)
{
    static const tenslice_new_value pair[] = {
        {TENSLICE_VALUE_INTEGER, TENSLICE_I16, (uint64_t)-300, 0, NULL, 0},
        {TENSLICE_VALUE_FLOAT, TENSLICE_F32, 0, 0.5, NULL, 0},
        {TENSLICE_VALUE_BOOL, 0, 0, 0, NULL, 0},
        {TENSLICE_VALUE_BOOL, 0, 1, 0, NULL, 0},
    };
    tenslice_new_tensor changed[3];
    tenslice_new_attribute attributes[3];
    tenslice_new_file file = plain;

    memcpy(changed, tensors, sizeof changed);
    changed[2].attributes = of_tensor;
    changed[2].attribute_count = 1;
    memcpy(attributes, of_file, sizeof of_file);
    attributes[2].key = "list";
    attributes[2].key_length = TENSLICE_NUL;
    memset(&attributes[2].value, 0, sizeof attributes[2].value);
    attributes[2].value.kind = TENSLICE_VALUE_ARRAY;
    attributes[2].value.data = pair;
    attributes[2].value.length = sizeof pair / sizeof *pair;
    file.format = TENSLICE_FORMAT_ZTENSOR;
    file.tensors = changed;
    file.attributes = attributes;
    file.attribute_count = 3;
    file.has_digests = 1;
    write_file(&file);
    {
        static stored whole, none;
        const tenslice_sink sink = {store, &none};
        tenslice_writer writer;
        tenslice_file open;
        tenslice_tensor tensor;
        tenslice_cursor cursor, items;
        tenslice_value value;
        tenslice_str text;
        tenslice_verified verified;

        whole.length = 0;
        whole.fails_at = none.fails_at = UINT64_MAX;
        EXPECT(TENSLICE_OK, write_from(&file, &whole, 0, 4, NULL));
        EXPECT(TENSLICE_OK, tenslice_writer_open(&writer, &file, scratch, 64, NULL));
        EXPECT(TENSLICE_OK, tenslice_writer_begin(&writer, &sink, NULL));
        EXPECT(TENSLICE_INVALID_ARGUMENT, tenslice_writer_data(&writer, &sink, scratch, 8, NULL));
        EXPECT(TENSLICE_OK, tenslice_file_open(&open, whole.bytes, whole.length, NULL));
        verified.struct_size = sizeof verified;
        EXPECT(TENSLICE_OK, tenslice_file_verify(&open, NULL, &verified, NULL));
        CHECK(verified.verified == 3);
        EXPECT(TENSLICE_OK, tenslice_file_attributes(&open, &cursor));
        EXPECT(TENSLICE_OK, tenslice_attributes_get_str(&cursor, "format", 6, &text, NULL));
        CHECK(same(text, "pt"));
        value.struct_size = sizeof value;
        EXPECT(TENSLICE_OK, tenslice_attributes_get(&cursor, "list", 4, &value, NULL));
        EXPECT(TENSLICE_OK, tenslice_value_items(&value, &items));
        EXPECT(TENSLICE_OK, tenslice_attributes_next(&items, NULL, &value, NULL));
        CHECK(value.kind == TENSLICE_VALUE_INTEGER && value.negative == 1 && value.magnitude == 300);
        EXPECT(TENSLICE_OK, tenslice_attributes_next(&items, NULL, &value, NULL));
        CHECK(value.kind == TENSLICE_VALUE_FLOAT && value.real == 0.5);
        EXPECT(TENSLICE_OK, tenslice_attributes_next(&items, NULL, &value, NULL));
        CHECK(value.kind == TENSLICE_VALUE_BOOL && value.magnitude == 0);
        EXPECT(TENSLICE_OK, tenslice_attributes_next(&items, NULL, &value, NULL));
        CHECK(value.kind == TENSLICE_VALUE_BOOL && value.magnitude == 1);
        EXPECT(TENSLICE_END, tenslice_attributes_next(&items, NULL, &value, NULL));
        EXPECT(TENSLICE_OK, tenslice_file_find(&open, "a", 1, &tensor, NULL));
        EXPECT(TENSLICE_OK, tenslice_tensor_attributes(&tensor, &cursor));
        EXPECT(TENSLICE_OK, tenslice_attributes_get_str(&cursor, "unit", 4, &text, NULL));
        CHECK(same(text, "V"));
    }
}

static void refuse(const tenslice_new_file *file, tenslice_status status, const char *message)
{
    tenslice_writer writer;
    tenslice_error error;

    EXPECT(status, tenslice_writer_open(&writer, file, scratch, 64, &error));
    check_message(file, &error, message);
}

static void refusals(void)
{
    static const uint64_t huge[] = {UINT64_MAX, 3};
    tenslice_new_tensor bad[3];
    tenslice_new_file file = plain;
    tenslice_new_attribute twice[2];
    static stored to;
    const tenslice_sink sink = {store, &to};
    tenslice_writer writer;
    tenslice_error error;

    file.tensors = bad;
    memcpy(bad, tensors, sizeof bad);
    bad[2].dtype = TENSLICE_C128;
    refuse(&file, TENSLICE_NOT_IN_FORMAT,
           "safetensors: tensor 2 \"a\": the format has no dtype c128; convert the data");
    memcpy(bad, tensors, sizeof bad);
    bad[2].name = "b";
    refuse(&file, TENSLICE_REPEATED_NAME, "safetensors: tensor 2 \"b\": another tensor has this name");
    memcpy(bad, tensors, sizeof bad);
    bad[1].shape = huge;
    refuse(&file, TENSLICE_SHAPE_OVERFLOW,
           "safetensors: tensor 1 \"none\": the shape [18446744073709551615, 3] takes more than 2^64 bytes");
    memcpy(bad, tensors, sizeof bad);
    bad[1].attributes = of_tensor;
    bad[1].attribute_count = 1;
    refuse(&file, TENSLICE_NOT_IN_FORMAT,
           "safetensors: tensor 1 \"none\": the format has no attributes of tensors");
    memcpy(bad, tensors, sizeof bad);
    file.alignment = 3;
    refuse(&file, TENSLICE_INVALID_ALIGNMENT, "safetensors: the format does not allow the alignment 3");
    file = plain;
    twice[0] = twice[1] = of_file[0];
    file.attributes = twice;
    file.attribute_count = 2;
    refuse(&file, TENSLICE_REPEATED_KEY, "safetensors: attribute 1 \"format\": another attribute has this key");
    file = plain;
    file.format = TENSLICE_FORMAT_HDF5;
    EXPECT(TENSLICE_NOT_BUILT_IN, tenslice_writer_open(&writer, &file, NULL, 0, NULL));

    to.fails_at = UINT64_MAX;
    EXPECT(TENSLICE_OK, tenslice_writer_open(&writer, &plain, NULL, 0, NULL));
    EXPECT(TENSLICE_WRONG_STATE, tenslice_writer_data(&writer, &sink, data, 1, NULL));
    EXPECT(TENSLICE_OK, tenslice_writer_begin(&writer, &sink, NULL));
    EXPECT(TENSLICE_OK, tenslice_writer_data(&writer, &sink, NULL, 0, NULL));
    EXPECT(TENSLICE_OK, tenslice_writer_data(&writer, &sink, data, 28, NULL));
    EXPECT(TENSLICE_TOO_FEW_BYTES, tenslice_writer_finish(&writer, &sink, &error));
    check_message(&plain, &error, "safetensors: tensor 2 \"a\": not all of its 5 bytes were written");
    to.length = 0;
    EXPECT(TENSLICE_OK, tenslice_writer_open(&writer, &plain, NULL, 0, NULL));
    EXPECT(TENSLICE_OK, tenslice_writer_begin(&writer, &sink, NULL));
    EXPECT(TENSLICE_OK, tenslice_writer_data(&writer, &sink, data, sizeof data, NULL));
    EXPECT(TENSLICE_TOO_MANY_BYTES, tenslice_writer_data(&writer, &sink, data, 1, NULL));
}

/* Sorting changes only the order: of the names as they are in the file. */
static void sorting(void)
{
    static const char *const by_dtype[] = {"b", "none", "a"}, *const by_name[] = {"a", "b", "none"};
    tenslice_new_tensor sorted[3], before[3];
    size_t i;

    sorted[0] = tensors[2], sorted[1] = tensors[1], sorted[2] = tensors[0];
    EXPECT(TENSLICE_OK, tenslice_new_tensors_sort(TENSLICE_FORMAT_SAFETENSORS, sorted, 3));
    for (i = 0; i < 3; i++) CHECK(strcmp(sorted[i].name, by_dtype[i]) == 0);
    CHECK(memcmp(&sorted[2], &tensors[2], sizeof *sorted) == 0);
    EXPECT(TENSLICE_OK, tenslice_new_tensors_sort(TENSLICE_FORMAT_ZTENSOR, sorted, 3));
    for (i = 0; i < 3; i++) CHECK(strcmp(sorted[i].name, by_name[i]) == 0);
    memcpy(before, sorted, sizeof before);
    EXPECT(TENSLICE_OK, tenslice_new_tensors_sort(TENSLICE_FORMAT_ZTENSOR, sorted, 3));
    CHECK(memcmp(before, sorted, sizeof before) == 0);
    sorted[2].struct_size--;
    memcpy(before, sorted, sizeof before);
    EXPECT(TENSLICE_INVALID_ARGUMENT, tenslice_new_tensors_sort(TENSLICE_FORMAT_SAFETENSORS, sorted, 3));
    CHECK(memcmp(before, sorted, sizeof before) == 0);
}

int main(void)
{
    tenslice_new_file file = plain;
    size_t i;

    for (i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 37 + 1);
    write_file(&plain);
    file.attributes = of_file;
    file.attribute_count = 2;
    file.alignment = 64;
    write_file(&file);
    write_ztensor();
    refusals();
    sorting();
    puts("write: ok");
    return 0;
}
