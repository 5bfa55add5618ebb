/* A file opened from parts equals the same file opened from a slice. Argument: the fixtures. */
#include "support.h"

/*
 * Opens `b` by fetching what is requested, each range into memory of its own; transient ranges all go into
 * the same memory, which is overwritten each time.
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
            /* As from a card: the sectors that contain the range. */
            static unsigned char passing[1024];
            const uint64_t from = need.offset - need.offset % 512, end = need.offset + need.length;
            const uint64_t sectors = (end - from + 511) / 512 * 512;
            const uint64_t length = sectors < b.size - from ? sectors : b.size - from;
            CHECK(length <= sizeof passing);
            memset(passing, 0xee, sizeof passing);
            memcpy(passing, b.data + from, (size_t)length);
            EXPECT(TENSLICE_OK, tenslice_source_add(source, from, passing, (size_t)length));
            continue;
        }
        room[*fetched] = malloc((size_t)need.length);
        CHECK(room[*fetched] != NULL);
        memcpy(room[*fetched], b.data + need.offset, (size_t)need.length);
        EXPECT(TENSLICE_OK, tenslice_source_add(source, need.offset, room[*fetched], (size_t)need.length));
        ++*fetched;
    }
    return status;
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
        "safetensors/bad/st_comment.safetensors"};
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
                /* The data was never fetched: its extent is known, and what the caller reads can be bound. */
                EXPECT(TENSLICE_OK, tenslice_tensor_components(&in_parts, &components));
                EXPECT(TENSLICE_OK, tenslice_components_next(&components, &component, NULL));
                part.struct_size = sizeof part;
                EXPECT(TENSLICE_OK, tenslice_component_get_info(&component, &part));
                if (part.length > 0)
                    EXPECT(TENSLICE_NOT_IN_MEMORY, tenslice_component_stored(&component, &bytes, NULL));
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
    puts("parts: ok");
    return 0;
}
