/* Opening, listing, finding, reading: every function used once as intended. Argument: the fixtures. */
#include "support.h"

static void sparse_quantized_logical(const char *folder)
{
    blob b = load(folder, "v1.2/objects_sparse_quant_logical.zt");
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_component component, bound;
    tenslice_cursor cursor, parts;
    tenslice_file_info info;
    tenslice_tensor_info about;
    tenslice_component_info part;
    tenslice_bytes bytes, stored;
    uint64_t shape[3];
    uint32_t rank = 0;
    const char *names[] = {"coo", "cplx", "csr_i32", "csr_u64", "fp8", "gptq", "vendor"};
    size_t i;

    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    info.struct_size = sizeof info;
    EXPECT(TENSLICE_OK, tenslice_file_get_info(&file, &info));
    CHECK(info.format == TENSLICE_FORMAT_ZTENSOR && same(info.version, "1.2.0"));
    CHECK(info.tensor_count == 7 && info.length == b.size && info.warnings == 0);

    EXPECT(TENSLICE_OK, tenslice_file_tensors(&file, &cursor));
    for (i = 0; i < 7; i++) {
        EXPECT(TENSLICE_OK, tenslice_tensors_next(&cursor, &tensor, NULL));
        about.struct_size = sizeof about;
        EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &about));
        CHECK(same(about.name, names[i]) && about.index == i);
    }
    EXPECT(TENSLICE_END, tenslice_tensors_next(&cursor, &tensor, NULL));
    EXPECT(TENSLICE_END, tenslice_tensors_next(&cursor, &tensor, NULL));

    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "coo", 3, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &about));
    CHECK(about.layout == TENSLICE_LAYOUT_SPARSE_COO && about.dtype == TENSLICE_I16 && about.rank == 3);
    CHECK(about.elements == 32 && same(about.layout_name, "sparse_coo") && about.order == TENSLICE_ORDER_ROW_MAJOR);
    EXPECT(TENSLICE_TOO_SMALL, tenslice_tensor_shape(&tensor, shape, 2, &rank));
    CHECK(rank == 3);
    EXPECT(TENSLICE_OK, tenslice_tensor_shape(&tensor, shape, 3, NULL));
    CHECK(shape[0] == 4 && shape[1] == 4 && shape[2] == 2);
    EXPECT(TENSLICE_NOT_DENSE, tenslice_tensor_bytes(&tensor, TENSLICE_ANY, &bytes, NULL));
    EXPECT(TENSLICE_NOT_DENSE, tenslice_tensor_data(&tensor, &component, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_components(&tensor, &parts));
    EXPECT(TENSLICE_OK, tenslice_components_next(&parts, &component, NULL));
    part.struct_size = sizeof part;
    EXPECT(TENSLICE_OK, tenslice_component_get_info(&component, &part));
    CHECK(same(part.role, "coords") && part.dtype == TENSLICE_U64 && part.offset == 512 && part.length == 120);
    CHECK(part.decoded_length == 120 && part.encoding == TENSLICE_ENCODING_RAW && part.digest.data == NULL);
    EXPECT(TENSLICE_OK, tenslice_components_next(&parts, &component, NULL));
    EXPECT(TENSLICE_END, tenslice_components_next(&parts, &component, NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_tensor_component(&tensor, "data", 4, &component, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_component(&tensor, "values", 6, &component, NULL));
    EXPECT(TENSLICE_WRONG_TYPE, tenslice_component_bytes(&component, TENSLICE_U16, &bytes, NULL));
    EXPECT(TENSLICE_INVALID_ARGUMENT, tenslice_component_bytes(&component, 7777, &bytes, NULL));
    EXPECT(little_endian(), tenslice_component_bytes(&component, TENSLICE_I16, &bytes, NULL));
    if (little_endian() != TENSLICE_OK)
        EXPECT(TENSLICE_OK, tenslice_component_bytes(&component, TENSLICE_ANY, &bytes, NULL));
    CHECK(bytes.length == 10 && bytes.data == b.data + 448);

    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "fp8", 3, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_data(&tensor, &component, NULL));
    EXPECT(TENSLICE_OK, tenslice_component_get_info(&component, &part));
    CHECK(part.dtype == TENSLICE_F8_E4M3FN && part.storage_dtype == TENSLICE_U8);

    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "csr_u64", 7, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_component(&tensor, "values", 6, &component, NULL));
    EXPECT(TENSLICE_ENCODED, tenslice_component_bytes(&component, TENSLICE_ANY, &bytes, NULL));
    EXPECT(TENSLICE_OK, tenslice_component_stored(&component, &stored, NULL));
    EXPECT(TENSLICE_OK, tenslice_component_get_info(&component, &part));
    CHECK(part.encoding == TENSLICE_ENCODING_ZSTD && same(part.encoding_name, "zstd") && stored.length == part.length);
    EXPECT(TENSLICE_WRONG_LENGTH, tenslice_component_with_bytes(&component, b.data, 1, &bound, NULL));
    EXPECT(TENSLICE_OK, tenslice_component_with_bytes(&component, b.data, stored.length, &component, NULL));
    EXPECT(TENSLICE_OK, tenslice_component_stored(&component, &stored, NULL));
    CHECK(stored.data == b.data);

    EXPECT(TENSLICE_NOT_FOUND, tenslice_file_find(&file, "co", 2, &tensor, NULL));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_file_find(&file, "\xff", 1, &tensor, NULL));
    free(b.data);
}

static void numbers(const char *folder)
{
    blob b = load(folder, "v1.2/dense_all_dtypes.zt");
    unsigned char *moved = (unsigned char *)malloc(b.size + 1);
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_bytes bytes;
    float read[64], again[64];
    uint64_t length;

    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "t.float32", 9, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_read_into(&tensor, read, sizeof read, NULL, &length, NULL));
    CHECK(length >= 8);
    if (little_endian() == TENSLICE_OK) {
        EXPECT(TENSLICE_OK, tenslice_tensor_bytes(&tensor, TENSLICE_F32, &bytes, NULL));
        CHECK(bytes.length == length && memcmp(bytes.data, read, bytes.length) == 0);
    } else {
        EXPECT(TENSLICE_FOREIGN_ENDIAN, tenslice_tensor_bytes(&tensor, TENSLICE_F32, &bytes, NULL));
    }

    CHECK(moved != NULL);
    memcpy(moved + 1, b.data, b.size);
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, moved + 1, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "t.float32", 9, &tensor, NULL));
    EXPECT(little_endian() == TENSLICE_OK ? TENSLICE_MISALIGNED : TENSLICE_FOREIGN_ENDIAN,
           tenslice_tensor_bytes(&tensor, TENSLICE_F32, &bytes, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_bytes(&tensor, TENSLICE_ANY, &bytes, NULL));
    CHECK(bytes.length == length);
    EXPECT(TENSLICE_OK, tenslice_tensor_read_into(&tensor, again, sizeof again, NULL, NULL, NULL));
    CHECK(memcmp(read, again, (size_t)length) == 0);
    free(moved);
    free(b.data);

    b = load(folder, "v0.1/big_endian.zt");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "be.f32", 6, &tensor, NULL));
    EXPECT(little_endian() == TENSLICE_OK ? TENSLICE_FOREIGN_ENDIAN : TENSLICE_OK,
           tenslice_tensor_bytes(&tensor, TENSLICE_F32, &bytes, NULL));
    free(b.data);
}

/* A warning of a file also belongs to the tensor that it names, however the tensor is found. */
static void warnings_of_tensors(const char *folder)
{
    blob b = load(folder, "bad/v2/digest_unknown_of_usual_length.zt");
    tenslice_file file;
    tenslice_file_info info;
    tenslice_index by_name;
    tenslice_cursor cursor;
    tenslice_tensor tensors[3];
    tenslice_tensor_info about;
    uint64_t first = 77;
    size_t i;

    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    info.struct_size = sizeof info;
    EXPECT(TENSLICE_OK, tenslice_file_get_info(&file, &info));
    CHECK(info.warnings == TENSLICE_WARNING_UNKNOWN_DIGEST);
    EXPECT(TENSLICE_OK, tenslice_file_warning_tensor(&file, TENSLICE_WARNING_UNKNOWN_DIGEST, &first));
    CHECK(first == 0);
    EXPECT(TENSLICE_OK, tenslice_file_index(&file, NULL, 0, &by_name, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "w", 1, &tensors[0], NULL));
    EXPECT(TENSLICE_OK, tenslice_index_find(&by_name, "w", 1, &tensors[1], NULL));
    EXPECT(TENSLICE_OK, tenslice_file_tensors(&file, &cursor));
    EXPECT(TENSLICE_OK, tenslice_tensors_next(&cursor, &tensors[2], NULL));
    for (i = 0; i < 3; i++) {
        about.struct_size = sizeof about;
        EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensors[i], &about));
        CHECK(about.warnings == TENSLICE_WARNING_UNKNOWN_DIGEST);
    }
    free(b.data);
}

static void warnings_and_names(const char *folder)
{
    blob b = load(folder, "v0.1/duplicate_names.zt");
    tenslice_file file;
    tenslice_file_info info;
    uint64_t index = 77;
    uint32_t scratch[2], bits = 0;

    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    info.struct_size = sizeof info;
    EXPECT(TENSLICE_OK, tenslice_file_get_info(&file, &info));
    CHECK(info.warnings == TENSLICE_WARNING_REPEATED_NAME);
    EXPECT(TENSLICE_OK, tenslice_file_warning_tensor(&file, TENSLICE_WARNING_REPEATED_NAME, &index));
    CHECK(index > 0 && index < 3);
    EXPECT(TENSLICE_NOT_FOUND, tenslice_file_warning_tensor(&file, TENSLICE_WARNING_MISALIGNED_OFFSET, &index));
    EXPECT(TENSLICE_NOT_FOUND, tenslice_file_warning_tensor(&file, 3, &index));
    /* Opening has compared the names: no memory is needed. */
    EXPECT(TENSLICE_OK, tenslice_file_check(&file, NULL, 0, &bits, NULL));
    CHECK(bits == TENSLICE_WARNING_REPEATED_NAME);
    EXPECT(TENSLICE_OK, tenslice_file_check(&file, scratch, 2, NULL, NULL));
    {
        /* The index has the first tensor with a repeated name. */
        tenslice_index by_name;
        tenslice_tensor tensor, same;
        tenslice_tensor_info about;
        tenslice_entry entries[5];
        tenslice_bytes bytes;
        uint64_t listed = 0;
        uint32_t words[16];
        size_t count = 0;

        about.struct_size = sizeof about;
        EXPECT(TENSLICE_OK, tenslice_file_index_length(&file, &count));
        CHECK(count == info.tensor_count * 3 && count <= 16);
        EXPECT(TENSLICE_OK, tenslice_file_index(&file, words, count, &by_name, NULL));
        EXPECT(TENSLICE_OK, tenslice_file_list(&file, entries, 5, &listed, NULL));
        CHECK(listed == info.tensor_count);
        memset(&file, 0, sizeof file); /* no longer needed */
        EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
        {
            tenslice_cursor cursor;
            uint64_t seen = 0;

            EXPECT(TENSLICE_OK, tenslice_file_tensors(&file, &cursor));
            while (tenslice_tensors_next(&cursor, &tensor, NULL) == TENSLICE_OK) {
                uint64_t first;

                EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &about));
                EXPECT(TENSLICE_OK, tenslice_file_find(&file, about.name.data, about.name.length, &same, NULL));
                EXPECT(TENSLICE_OK, tenslice_index_find(&by_name, about.name.data, about.name.length, &tensor, NULL));
                EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&same, &about));
                first = about.index;
                EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &about));
                CHECK(about.index == first);
                EXPECT(TENSLICE_OK, tenslice_file_tensor(&file, &entries[seen], &tensor, NULL));
                EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &about));
                CHECK(about.index == seen && about.elements == entries[seen].elements);
                CHECK(about.dtype == entries[seen].dtype && about.rank == entries[seen].rank);
                EXPECT(TENSLICE_OK, tenslice_tensor_bytes(&tensor, TENSLICE_ANY, &bytes, NULL));
                CHECK(bytes.data == b.data + entries[seen].offset && bytes.length == entries[seen].length);
                seen++;
            }
            CHECK(seen == info.tensor_count);
        }
    }
    free(b.data);
}

/* More unsorted names than opening compares: a safetensors file of 1100 empty tensors. */
static void names_unchecked(void)
{
    enum { COUNT = 1100, ROOM = 64 * COUNT };
    char *bytes = (char *)malloc(ROOM);
    size_t length = 8, last = 0, words = 77, i;
    tenslice_file file;
    tenslice_file_info info;
    uint32_t scratch[COUNT], bits = 77;

    CHECK(bytes != NULL);
    for (i = 0; i < COUNT; i++) {
        last = length + 2;
        length += (size_t)sprintf(bytes + length, "%s\"%04u\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}",
                                  i == 0 ? "{" : ",", (unsigned)(COUNT - i));
    }
    bytes[length++] = '}';
    for (i = 0; i < 8; i++)
        bytes[i] = (char)((uint64_t)(length - 8) >> 8 * i & 0xff);
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, bytes, length, NULL));
    info.struct_size = sizeof info;
    EXPECT(TENSLICE_OK, tenslice_file_get_info(&file, &info));
    CHECK(info.tensor_count == COUNT && info.warnings == TENSLICE_WARNING_NAMES_UNCHECKED);
    EXPECT(TENSLICE_OUT_OF_SCRATCH, tenslice_file_check(&file, NULL, 0, &bits, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_check_length(&file, &words));
    CHECK(bits == 77 && words == COUNT);
    /* An eighth is enough, with eight passes. Less is not. */
    EXPECT(TENSLICE_OUT_OF_SCRATCH, tenslice_file_check(&file, scratch, (COUNT - 1) / 8, &bits, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_check(&file, scratch, (COUNT + 7) / 8, NULL, NULL));
    CHECK(bits == 77);
    EXPECT(TENSLICE_OK, tenslice_file_check(&file, scratch, COUNT, &bits, NULL));
    CHECK(bits == 0);
    memcpy(bytes + last, "1100", 4); /* the name of the first */
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, bytes, length, NULL));
    EXPECT(TENSLICE_REPEATED_NAME, tenslice_file_check(&file, scratch, COUNT, &bits, NULL));
    CHECK(bits == 0);
    free(bytes);
}

static void attributes(const char *folder)
{
    blob b = load(folder, "v0.1/custom_fields.zt");
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_cursor cursor, inner;
    tenslice_value key, value;
    int seen = 0;

    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_attributes(&file, &cursor));
    key.struct_size = sizeof key;
    value.struct_size = sizeof value;
    EXPECT(TENSLICE_END, tenslice_attributes_next(&cursor, &key, &value, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "with_custom", 11, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_attributes(&tensor, &cursor));
    while (tenslice_attributes_next(&cursor, &key, &value, NULL) == TENSLICE_OK) {
        CHECK(key.kind == TENSLICE_VALUE_TEXT);
        seen++;
        if (same(key.text, "neg")) {
            CHECK(value.kind == TENSLICE_VALUE_INTEGER && value.negative && value.magnitude == 5);
            EXPECT(TENSLICE_WRONG_TYPE, tenslice_value_items(&value, &inner));
        }
        if (same(key.text, "lr"))
            CHECK(value.kind == TENSLICE_VALUE_FLOAT && value.real == 0.125);
        if (same(key.text, "flags")) {
            CHECK(value.kind == TENSLICE_VALUE_ARRAY);
            EXPECT(TENSLICE_OK, tenslice_value_items(&value, &inner));
            EXPECT(TENSLICE_OK, tenslice_attributes_next(&inner, &key, &value, NULL));
            CHECK(key.kind == 0 && value.kind == TENSLICE_VALUE_BOOL && value.magnitude == 1);
            EXPECT(TENSLICE_OK, tenslice_attributes_next(&inner, NULL, &value, NULL));
            EXPECT(TENSLICE_OK, tenslice_attributes_next(&inner, NULL, &value, NULL));
            CHECK(value.kind == TENSLICE_VALUE_NULL);
            EXPECT(TENSLICE_END, tenslice_attributes_next(&inner, NULL, &value, NULL));
        }
    }
    CHECK(seen == 7);
    free(b.data);
}

/* Fetches the ranges of a file that its program asks for. The bytes of `b` stand for a file that is not in memory. */
static void open_in_parts(tenslice_file *file, tenslice_source *source, blob b)
{
    tenslice_need need;
    tenslice_status status;

    EXPECT(TENSLICE_OK, tenslice_source_init(source, b.size));
    while ((status = tenslice_file_open_source(file, source, &need, NULL)) == TENSLICE_NEED)
        EXPECT(TENSLICE_OK, tenslice_source_add(source, need.offset, b.data + need.offset, (size_t)need.length));
    EXPECT(TENSLICE_OK, status);
}

/* A sparse tensor of three components, read through a copy of the source. */
static void with_source(const char *folder)
{
    blob b = load(folder, "v1.2/objects_sparse_quant_logical.zt");
    tenslice_file file, whole, bound_file;
    tenslice_source source, with_data, longer;
    tenslice_tensor tensor, expected, bound;
    tenslice_component component;
    tenslice_component_info part;
    tenslice_cursor parts;
    float numbers[30], same_numbers[30];

    open_in_parts(&file, &source, b);
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "csr_i32", TENSLICE_NUL, &tensor, NULL));
    EXPECT(TENSLICE_NOT_IN_MEMORY, tenslice_tensor_read_into(&tensor, numbers, sizeof numbers, NULL, NULL, NULL));
    with_data = source;
    EXPECT(TENSLICE_OK, tenslice_tensor_components(&tensor, &parts));
    part.struct_size = sizeof part;
    while (tenslice_components_next(&parts, &component, NULL) == TENSLICE_OK) {
        EXPECT(TENSLICE_OK, tenslice_component_get_info(&component, &part));
        EXPECT(TENSLICE_OK, tenslice_source_add(&with_data, part.offset, b.data + part.offset, (size_t)part.length));
    }
    EXPECT(TENSLICE_OK, tenslice_file_open(&whole, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&whole, "csr_i32", TENSLICE_NUL, &expected, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_read_into(&expected, numbers, sizeof numbers, NULL, NULL, NULL));

    EXPECT(TENSLICE_OK, tenslice_tensor_with_source(&tensor, &with_data, &bound));
    memset(same_numbers, 0, sizeof same_numbers);
    EXPECT(TENSLICE_OK, tenslice_tensor_read_into(&bound, same_numbers, sizeof numbers, NULL, NULL, NULL));
    CHECK(memcmp(numbers, same_numbers, sizeof numbers) == 0);
    EXPECT(TENSLICE_NOT_IN_MEMORY, tenslice_tensor_read_into(&tensor, numbers, sizeof numbers, NULL, NULL, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_with_source(&file, &with_data, &bound_file));
    EXPECT(TENSLICE_OK, tenslice_file_find(&bound_file, "csr_i32", TENSLICE_NUL, &bound, NULL));
    memset(same_numbers, 0, sizeof same_numbers);
    EXPECT(TENSLICE_OK, tenslice_tensor_read_into(&bound, same_numbers, sizeof numbers, NULL, NULL, NULL));
    CHECK(memcmp(numbers, same_numbers, sizeof numbers) == 0);
    /* The output may be the input. */
    EXPECT(TENSLICE_OK, tenslice_tensor_with_source(&tensor, &with_data, &tensor));
    EXPECT(TENSLICE_OK, tenslice_tensor_read_into(&tensor, same_numbers, sizeof numbers, NULL, NULL, NULL));
    EXPECT(TENSLICE_OK, tenslice_source_init(&longer, b.size + 1));
    EXPECT(TENSLICE_INVALID_ARGUMENT, tenslice_tensor_with_source(&tensor, &longer, &tensor));
    EXPECT(TENSLICE_INVALID_ARGUMENT, tenslice_file_with_source(&file, &longer, &file));
    EXPECT(TENSLICE_OK, tenslice_tensor_read_into(&tensor, same_numbers, sizeof numbers, NULL, NULL, NULL));
    free(b.data);
}

/* All tensors of a file, fetched into one region of memory by the reads of a plan. */
static void planned_reads(const char *folder)
{
    enum { ALIGNMENT = 64, LONGEST = 1000 };
    blob b = load(folder, "safetensors/py_transformer.safetensors");
    tenslice_piece pieces[256];
    tenslice_tensor tensors[256], tensor;
    tenslice_file file;
    tenslice_source source;
    tenslice_component component, bound;
    tenslice_component_info part;
    tenslice_cursor cursor;
    tenslice_plan plan;
    tenslice_planned_read read;
    tenslice_bytes bytes;
    uint64_t length, end = 0;
    unsigned char *memory;
    size_t count = 0, i;

    open_in_parts(&file, &source, b);
    part.struct_size = sizeof part;
    EXPECT(TENSLICE_OK, tenslice_file_tensors(&file, &cursor));
    while (tenslice_tensors_next(&cursor, &tensor, NULL) == TENSLICE_OK) {
        CHECK(count < 256);
        EXPECT(TENSLICE_OK, tenslice_tensor_data(&tensor, &component, NULL));
        EXPECT(TENSLICE_OK, tenslice_component_get_info(&component, &part));
        tensors[count] = tensor;
        pieces[count].key = count, pieces[count].offset = part.offset, pieces[count].length = part.length;
        pieces[count].at = UINT64_MAX;
        count++;
    }
    EXPECT(TENSLICE_OK, tenslice_plan_open(&plan, pieces, count, b.size, ALIGNMENT, 0));
    EXPECT(TENSLICE_OK, tenslice_plan_length(&plan, &length));
    memory = (unsigned char *)malloc((size_t)length);
    CHECK(count == 200 && memory != NULL && length < b.size + 2 * ALIGNMENT);
    memset(memory, 0x5a, (size_t)length);
    EXPECT(TENSLICE_OK, tenslice_plan_reads(&plan, LONGEST, &cursor));
    while (tenslice_reads_next(&cursor, &read) == TENSLICE_OK) {
        CHECK(read.offset % ALIGNMENT == 0 && read.at == end && read.room % ALIGNMENT == 0 && read.room <= LONGEST);
        CHECK(read.length == read.room || read.offset + read.length == b.size);
        memcpy(memory + read.at, b.data + read.offset, (size_t)read.length);
        end += read.room;
    }
    CHECK(end == length);
    EXPECT(TENSLICE_END, tenslice_reads_next(&cursor, &read));
    for (i = 0; i < count; i++) {
        EXPECT(TENSLICE_OK, tenslice_tensor_data(&tensors[pieces[i].key], &component, NULL));
        EXPECT(TENSLICE_OK, tenslice_component_with_bytes(&component, memory + pieces[i].at, (size_t)pieces[i].length,
                                                          &bound, NULL));
        EXPECT(TENSLICE_OK, tenslice_component_stored(&bound, &bytes, NULL));
        CHECK(memcmp(bytes.data, b.data + pieces[i].offset, bytes.length) == 0);
        CHECK(i == 0 || pieces[i - 1].offset <= pieces[i].offset);
    }
    free(memory);
    free(b.data);
}

/* An expected shape means row-major elements, unless column-major is requested. */
static void orders(const char *folder)
{
    blob b = load(folder, "npy/v1_fortran.npy"); /* 4 rows of 3, column-major */
    const uint64_t shape[2] = {4, 3}, transposed[2] = {3, 4};
    const uint32_t column_major = TENSLICE_I16 | TENSLICE_COLUMN_MAJOR;
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_bytes bytes;
    tenslice_error error;
    char text[200];

    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_WRONG_ORDER, tenslice_file_get(&file, "", 0, WANT(TENSLICE_I16, shape, 2), &bytes, &error));
    EXPECT(TENSLICE_OK,
           tenslice_file_get_text(&file, "", 0, WANT(TENSLICE_I16, shape, 2), &error, text, sizeof text, NULL));
    CHECK(strcmp(text, "tensor \"\": expected i16 [4, 3] in row-major order; the file has it in column-major order: "
                       "expect that order") == 0);
    EXPECT(TENSLICE_WRONG_ORDER, tenslice_file_get(&file, "", 0, WANT(TENSLICE_ANY, shape, 2), &bytes, NULL));
    EXPECT(little_endian(), tenslice_file_get(&file, "", 0, WANT(column_major, shape, 2), &bytes, NULL));
    EXPECT(TENSLICE_OK,
           tenslice_file_get(&file, "", 0, WANT(TENSLICE_ANY | TENSLICE_COLUMN_MAJOR, shape, 2), &bytes, NULL));
    CHECK(bytes.length == 24);
    EXPECT(TENSLICE_WRONG_SHAPE, tenslice_file_get(&file, "", 0, WANT(column_major, transposed, 2), &bytes, NULL));
    EXPECT(TENSLICE_WRONG_TYPE,
           tenslice_file_get(&file, "", 0, WANT(TENSLICE_F32 | TENSLICE_COLUMN_MAJOR, shape, 2), &bytes, NULL));
    EXPECT(TENSLICE_INVALID_ARGUMENT,
           tenslice_file_get(&file, "", 0, WANT(0xff | TENSLICE_COLUMN_MAJOR, shape, 2), &bytes, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "", 0, &tensor, NULL));
    EXPECT(TENSLICE_WRONG_ORDER, tenslice_tensor_get(&tensor, WANT(TENSLICE_ANY, shape, 2), &bytes, NULL));
    EXPECT(little_endian(), tenslice_tensor_get(&tensor, WANT(column_major, shape, 2), &bytes, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_get(&tensor, NULL, &bytes, NULL));
    free(b.data);
}

/* The tensors that a program expects, and the message if the file differs. */
static void expectations(const char *folder)
{
    static const struct {
        const char *name;
        uint32_t dtype;
        size_t rank;
        tenslice_status status;
        const char *text;
    } cases[] = {
        {"csr_i32", TENSLICE_F32, TENSLICE_ANY_SHAPE, TENSLICE_NOT_DENSE,
         "tensor \"csr_i32\": expected f32; the file has f32 [5, 6] in the layout \"sparse_csr\""},
        {"csr_i32", TENSLICE_ANY, TENSLICE_ANY_SHAPE, TENSLICE_NOT_DENSE,
         "tensor \"csr_i32\": expected a dense tensor; the file has f32 [5, 6] in the layout \"sparse_csr\""},
        {"csr_i32", TENSLICE_GGML_Q4_0, 2, TENSLICE_WRONG_SHAPE,
         "tensor \"csr_i32\": expected gguf.q4_0 [4, 4]; the file has f32 [5, 6] in the layout \"sparse_csr\""},
        {"csr_i32", TENSLICE_F32, 2, TENSLICE_WRONG_SHAPE,
         "tensor \"csr_i32\": expected f32 [4, 4]; the file has f32 [5, 6] in the layout \"sparse_csr\""},
        {"cplx", TENSLICE_F32, 1, TENSLICE_WRONG_TYPE, "tensor \"cplx\": expected f32 [4]; the file has c64 [4]"},
        {"cplx", TENSLICE_ANY, 2, TENSLICE_WRONG_SHAPE,
         "tensor \"cplx\": expected [4, 4]; the file has c64 [4]"},
        {"cplx", TENSLICE_C64, 0, TENSLICE_WRONG_SHAPE, "tensor \"cplx\": expected c64 []; the file has c64 [4]"},
        {"cpxl", TENSLICE_C64, TENSLICE_ANY_SHAPE, TENSLICE_NOT_FOUND, "no tensor \"cpxl\""},
        {"csr_32", TENSLICE_C64, 1, TENSLICE_NOT_FOUND, "no tensor \"csr_32\"; the nearest name is \"csr_i32\""},
        {"a\n\xff", TENSLICE_C64, 1, TENSLICE_NOT_FOUND, "no tensor \"a\\u{a}\xef\xbf\xbd\""},
        {"cplx", TENSLICE_C64, 1, TENSLICE_MISALIGNED,
         "tensor \"cplx\": the bytes are not aligned for the requested type"},
    };
    blob b = load(folder, "v1.2/objects_sparse_quant_logical.zt");
    unsigned char *odd = (unsigned char *)malloc(b.size + 1);
    const uint64_t shape[2] = {4, 4};
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_bytes bytes, whole;
    tenslice_error error;
    char text[200];
    size_t i;

    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(little_endian(),
           tenslice_file_get(&file, TENSLICE_STR("cplx"), WANT(TENSLICE_C64, shape, 1), &bytes, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_get(&file, "cplx", 4, NULL, &whole, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "cplx", TENSLICE_NUL, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_get(&tensor, WANT(TENSLICE_ANY, shape, 1), &bytes, NULL));
    CHECK(bytes.data == whole.data && bytes.length == 32 && whole.length == 32);
    CHECK(same(tenslice_tensor_name(&tensor), "cplx") && tenslice_tensor_dtype(&tensor) == TENSLICE_C64);
    CHECK(tenslice_tensor_rank(&tensor) == 1 && tenslice_tensor_dimension(&tensor, 0) == 4);
    CHECK(tenslice_tensor_element_count(&tensor) == 4 && tenslice_tensor_layout(&tensor) == TENSLICE_LAYOUT_DENSE);

    orders(folder);
    memcpy(odd + 1, b.data, b.size);
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, odd + 1, b.size, NULL));
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *expected = cases[i].text;
        tenslice_status status = cases[i].status;
        if (status == TENSLICE_MISALIGNED && little_endian() != TENSLICE_OK) {
            status = little_endian();
            expected = "tensor \"cplx\": the elements are stored in the other byte order";
        }
        bytes = whole;
        EXPECT(status,
               tenslice_file_get(&file, cases[i].name, TENSLICE_NUL, WANT(cases[i].dtype, shape, cases[i].rank),
                                 &bytes, &error));
        CHECK(bytes.data == whole.data && bytes.length == whole.length);
        EXPECT(TENSLICE_OK,
               tenslice_file_get_text(&file, cases[i].name, TENSLICE_NUL,
                                      WANT(cases[i].dtype, shape, cases[i].rank), &error, text, sizeof text, NULL));
        if (strcmp(text, expected) != 0)
            fprintf(stderr, "%s\n%s\n", text, expected);
        CHECK(strcmp(text, expected) == 0);
    }
    free(odd);
    free(b.data);
}

static void error_text(const char *folder)
{
    blob b = load(folder, "bad/v1.2/end_past_eof.zt");
    tenslice_file file;
    tenslice_error error;
    tenslice_source source;
    char text[256];
    size_t needed = 0;
    const char *message = "ztensor 1.2.0: component \"data\" of tensor \"weight\": 100000 bytes at offset 64 "
                           "extend past the end of the file (323 bytes) [at byte 199]";

    EXPECT(TENSLICE_OUT_OF_FILE, tenslice_file_open(&file, b.data, b.size, &error));
    CHECK(error.kind == TENSLICE_OUT_OF_FILE && error.offset == 199 && error.part == TENSLICE_PART_OFFSET);
    EXPECT(TENSLICE_TOO_SMALL, tenslice_error_text(&error, b.data, b.size, NULL, 0, &needed));
    CHECK(needed == strlen(message) + 1);
    text[0] = '#';
    EXPECT(TENSLICE_TOO_SMALL, tenslice_error_text(&error, b.data, b.size, text, needed - 1, NULL));
    CHECK(text[0] == '#');
    EXPECT(TENSLICE_OK, tenslice_error_text(&error, b.data, b.size, text, needed, NULL));
    CHECK(strcmp(text, message) == 0);
    EXPECT(TENSLICE_OK, tenslice_source_init(&source, b.size));
    EXPECT(TENSLICE_OK, tenslice_source_add(&source, 0, b.data, b.size));
    EXPECT(TENSLICE_OK, tenslice_error_text_source(&error, &source, text, sizeof text, NULL));
    CHECK(strcmp(text, message) == 0);
    EXPECT(TENSLICE_OK, tenslice_error_text(&error, NULL, 0, text, sizeof text, NULL));
    CHECK(strstr(text, "exceeds the file size [at byte 199]") != NULL);
    free(b.data);
}

/* The message for files of other kinds, and for truncated files. */
static void other_files(const char *folder)
{
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    blob b = load(folder, "gguf/align_128.gguf");
    tenslice_file file;
    tenslice_error error;
    char text[256];

    EXPECT(TENSLICE_UNKNOWN_FORMAT, tenslice_file_open(&file, pointer, sizeof pointer - 1, &error));
    EXPECT(TENSLICE_OK, tenslice_error_text(&error, pointer, sizeof pointer - 1, text, sizeof text, NULL));
    CHECK(strcmp(text, "this is a Git LFS pointer, not the file itself, which has 12345 bytes: fetch that with "
                       "`git lfs pull` [at byte 0]") == 0);
    EXPECT(TENSLICE_OUT_OF_FILE, tenslice_file_open(&file, b.data, 200, &error));
    EXPECT(TENSLICE_OK, tenslice_error_text(&error, b.data, 200, text, sizeof text, NULL));
    CHECK(strcmp(text, "gguf 3: tensor \"c\": 14 bytes at offset 512 extend past the end of the file (200 bytes); "
                       "the file is truncated: it should have at least 526 bytes, 326 are missing [at byte 192]") == 0);
    free(b.data);
}

/* The advice for errors of the caller: the call, the feature, the address. */
static void advice(const char *folder)
{
    blob b = load(folder, "v1.2/dense_all_dtypes.zt");
    unsigned char *odd = (unsigned char *)malloc(b.size + 1);
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_component data;
    tenslice_bytes bytes;
    tenslice_index index;
    tenslice_cursor cursor;
    tenslice_error error;
    uint32_t words[1];
    unsigned char room[4096];
    char text[512];
    uint64_t length;

    CHECK(odd != NULL);
    memcpy(odd + 1, b.data, b.size);
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, odd + 1, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "t.float64", 9, &tensor, NULL));
    if (little_endian() == TENSLICE_OK) {
        EXPECT(TENSLICE_MISALIGNED, tenslice_tensor_bytes(&tensor, TENSLICE_F64, &bytes, &error));
        EXPECT(TENSLICE_OK, tenslice_error_text(&error, odd + 1, b.size, text, sizeof text, NULL));
        CHECK(strstr(text, "(copy them with read_into") != NULL && strstr(text, "they begin at address 0x") != NULL);
    } else { /* the numbers are in the other byte order at any address */
        EXPECT(TENSLICE_FOREIGN_ENDIAN, tenslice_tensor_bytes(&tensor, TENSLICE_F64, &bytes, &error));
    }
    EXPECT(TENSLICE_OUT_OF_SCRATCH, tenslice_file_index(&file, words, 1, &index, &error));
    EXPECT(TENSLICE_OK, tenslice_error_text(&error, odd + 1, b.size, text, sizeof text, NULL));
    CHECK(strstr(text, "those that end in requirements, _scratch or _length") != NULL);
    EXPECT(TENSLICE_OUT_OF_SCRATCH, tenslice_file_index(&file, NULL, 0, &index, &error));
    free(odd);
    free(b.data);

    b = load(folder, "npz/deflated.npz");
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_tensors(&file, &cursor));
    EXPECT(TENSLICE_OK, tenslice_tensors_next(&cursor, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_component(&tensor, "data", 4, &data, NULL));
    if (tenslice_component_read_into(&data, room, sizeof room, NULL, &length, &error) == TENSLICE_UNSUPPORTED_ENCODING) {
        EXPECT(TENSLICE_OK, tenslice_error_text(&error, b.data, b.size, text, sizeof text, NULL));
        CHECK(strstr(text, "(build with the feature `zlib`, or pass a decoder)") != NULL);
    }
    free(b.data);
}

/* CBOR values that no fixture has: a simple value, and a tagged value. */
static void other_values(void)
{
    static const char manifest[] = "\xa3\x67" "version" "\x65" "1.2.0" "\x6a" "attributes" "\xa2"
        "\x61s\xf8\x40" "\x61t\xc5\x01" "\x67" "objects" "\xa0";
    const size_t length = sizeof manifest - 1;
    unsigned char bytes[128] = "ZTEN1000";
    tenslice_file file;
    tenslice_cursor cursor;
    tenslice_value value;

    memcpy(bytes + 64, manifest, length);
    bytes[64 + length] = (unsigned char)length;
    memcpy(bytes + 64 + length + 8, "ZTEN1000", 8);
    value.struct_size = sizeof value;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, bytes, 64 + length + 16, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_attributes(&file, &cursor));
    EXPECT(TENSLICE_OK, tenslice_attributes_get(&cursor, "s", 1, &value, NULL));
    CHECK(value.kind == TENSLICE_VALUE_SIMPLE && value.magnitude == 64);
    EXPECT(TENSLICE_OK, tenslice_attributes_get(&cursor, "t", 1, &value, NULL));
    CHECK(value.kind == TENSLICE_VALUE_TAGGED && value.magnitude == 5);
}

/* A digest of an unknown kind is not an error, and is not verified. */
static void unknown_digest(const char *folder)
{
    blob b = load(folder, "bad/v1.2/digest_unknown_algo.zt");
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_component component;
    tenslice_verified verified;

    verified.struct_size = sizeof verified;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, NULL));
    EXPECT(TENSLICE_OK, tenslice_file_find(&file, "weight", 6, &tensor, NULL));
    EXPECT(TENSLICE_OK, tenslice_tensor_data(&tensor, &component, NULL));
    EXPECT(TENSLICE_OK, tenslice_component_verify(&component, NULL, &verified, NULL));
    CHECK(verified.unknown_digest == 1 && verified.verified == 0 && verified.without_digest == 0);
    free(b.data);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    CHECK(tenslice_abi_version() == TENSLICE_ABI_VERSION);
    CHECK(strlen(tenslice_version()) >= 5);
    CHECK(tenslice_has(TENSLICE_FEATURE_ZTENSOR) == 1 && tenslice_has(TENSLICE_FEATURE_SHA256) == 1);
    CHECK(tenslice_has(0) == 0 && tenslice_has(255) == 0 && tenslice_has(256 + TENSLICE_FEATURE_ZTENSOR) == 0);
    CHECK(strcmp(tenslice_status_name(TENSLICE_OUT_OF_FILE), "OutOfFile") == 0);
    CHECK(strcmp(tenslice_status_text(TENSLICE_OK), "success") == 0);
    CHECK(strcmp(tenslice_status_text(TENSLICE_END), "there are no more items") == 0);
    CHECK(strcmp(tenslice_status_name(TENSLICE_NEED), "Need") == 0);
    CHECK(strcmp(tenslice_status_name(-5), "?") == 0 && strcmp(tenslice_status_name(70000), "?") == 0);
    CHECK(strcmp(tenslice_dtype_name(TENSLICE_BF16), "bf16") == 0 && tenslice_dtype_size(TENSLICE_C128) == 16);
    CHECK(tenslice_dtype_bits(TENSLICE_C128) == 128 && tenslice_dtype_bits(TENSLICE_I16 | TENSLICE_LANES_8) == 128);
    CHECK(strcmp(tenslice_dtype_name(TENSLICE_F4_E2M1), "f4_e2m1") == 0);
    CHECK(tenslice_dtype_bits(TENSLICE_F4_E2M1) == 4 && tenslice_dtype_size(TENSLICE_F4_E2M1) == 0);
    CHECK(tenslice_dtype_bits(TENSLICE_F6_E3M2) == 6 && tenslice_dtype_size(TENSLICE_F6_E2M3) == 0);
    CHECK(tenslice_dtype_bits(TENSLICE_F8_E8M0) == 8 && tenslice_dtype_size(TENSLICE_F8_E8M0) == 1);
    CHECK(strcmp(tenslice_dtype_name(999), "?") == 0 && tenslice_dtype_size(TENSLICE_ANY) == 0);
    CHECK(tenslice_dtype_bits(999) == 0 && tenslice_dtype_bits(TENSLICE_ANY) == 0);
    sparse_quantized_logical(argv[1]);
    numbers(argv[1]);
    warnings_of_tensors(argv[1]);
    warnings_and_names(argv[1]);
    names_unchecked();
    attributes(argv[1]);
    other_values();
    unknown_digest(argv[1]);
    with_source(argv[1]);
    planned_reads(argv[1]);
    expectations(argv[1]);
    error_text(argv[1]);
    other_files(argv[1]);
    advice(argv[1]);
    puts("read: ok");
    return 0;
}
