/* Sizes, offsets and codes: the ABI, pinned. It is the same on 32 and 64 bits except for pointers. */
#include <stddef.h>

#include "support.h"

#define P sizeof(void *)
#define S (2 * P + 16) /* a tenslice_str */
#define SIZE(type, size) CHECK(sizeof(type) == (size))
#define AT(type, field, offset) CHECK(offsetof(type, field) == (offset))

int main(void)
{
    SIZE(tenslice_status, 4);
    SIZE(tenslice_file, 192);
    SIZE(tenslice_index, 224);
    SIZE(tenslice_tensor, 208);
    SIZE(tenslice_component, 192);
    SIZE(tenslice_cursor, 256);
    SIZE(tenslice_source, 1064);
    SIZE(tenslice_plan, 96);
    SIZE(tenslice_items, 96);
    SIZE(tenslice_sparse, 256);
    SIZE(tenslice_train, 96);
    SIZE(tenslice_safetensors_index, 128);
    SIZE(tenslice_writer, 200);

    SIZE(tenslice_new_value, 24 + 2 * P);
    AT(tenslice_new_value, dtype, 4);
    AT(tenslice_new_value, integer, 8);
    AT(tenslice_new_value, real, 16);
    AT(tenslice_new_value, data, 24);
    AT(tenslice_new_value, length, 24 + P);
    SIZE(tenslice_new_attribute, 24 + 4 * P);
    AT(tenslice_new_attribute, key_length, P);
    AT(tenslice_new_attribute, value, 2 * P);
    SIZE(tenslice_new_tensor, 40 + 10 * P);
    AT(tenslice_new_tensor, dtype, 4);
    AT(tenslice_new_tensor, name, 8);
    AT(tenslice_new_tensor, name_length, 8 + P);
    AT(tenslice_new_tensor, shape, 8 + 2 * P);
    AT(tenslice_new_tensor, rank, 8 + 3 * P);
    AT(tenslice_new_tensor, layout, 8 + 4 * P);
    AT(tenslice_new_tensor, indices, 12 + 4 * P);
    AT(tenslice_new_tensor, pointers, 16 + 4 * P);
    AT(tenslice_new_tensor, reserved, 20 + 4 * P);
    AT(tenslice_new_tensor, count, 24 + 4 * P);
    AT(tenslice_new_tensor, item_size, 32 + 4 * P);
    AT(tenslice_new_tensor, ranks, 40 + 4 * P);
    AT(tenslice_new_tensor, ranks_length, 40 + 5 * P);
    AT(tenslice_new_tensor, descr, 40 + 6 * P);
    AT(tenslice_new_tensor, descr_length, 40 + 7 * P);
    AT(tenslice_new_tensor, attributes, 40 + 8 * P);
    AT(tenslice_new_tensor, attribute_count, 40 + 9 * P);
    SIZE(tenslice_new_file, 24 + 4 * P);
    AT(tenslice_new_file, format, 4);
    AT(tenslice_new_file, tensors, 8);
    AT(tenslice_new_file, tensor_count, 8 + P);
    AT(tenslice_new_file, attributes, 8 + 2 * P);
    AT(tenslice_new_file, attribute_count, 8 + 3 * P);
    AT(tenslice_new_file, alignment, 8 + 4 * P);
    AT(tenslice_new_file, has_digests, 16 + 4 * P);
    AT(tenslice_new_file, reserved, 20 + 4 * P);
    SIZE(tenslice_sink, 2 * P);
    AT(tenslice_sink, context, P);
    SIZE(tenslice_due, 32);
    AT(tenslice_due, tensor, 4);
    AT(tenslice_due, component, 8);
    AT(tenslice_due, reserved, 12);
    AT(tenslice_due, offset, 16);
    AT(tenslice_due, missing, 24);

    SIZE(tenslice_entry, S + 112);
    AT(tenslice_entry, dimensions, S);
    AT(tenslice_entry, elements, S + 64);
    AT(tenslice_entry, offset, S + 72);
    AT(tenslice_entry, length, S + 80);
    AT(tenslice_entry, rank, S + 88);
    AT(tenslice_entry, dtype, S + 92);
    AT(tenslice_entry, layout, S + 96);
    AT(tenslice_entry, order, S + 100);
    AT(tenslice_entry, index, S + 104);
    AT(tenslice_entry, at, S + 108);
    SIZE(tenslice_piece, 32);
    AT(tenslice_piece, key, 0);
    AT(tenslice_piece, offset, 8);
    AT(tenslice_piece, length, 16);
    AT(tenslice_piece, at, 24);

    SIZE(tenslice_planned_read, 32);
    AT(tenslice_planned_read, offset, 0);
    AT(tenslice_planned_read, length, 8);
    AT(tenslice_planned_read, at, 16);
    AT(tenslice_planned_read, room, 24);

    SIZE(tenslice_sparse_info, 32);
    AT(tenslice_sparse_info, dtype, 4);
    AT(tenslice_sparse_info, stored, 8);
    AT(tenslice_sparse_info, rank, 16);
    AT(tenslice_sparse_info, layout, 20);
    AT(tenslice_sparse_info, warnings, 24);
    AT(tenslice_sparse_info, byte_order, 28);

    SIZE(tenslice_tens_dimension, 16);
    AT(tenslice_tens_dimension, length, 4);
    AT(tenslice_tens_dimension, name, 8);
    AT(tenslice_tens_dimension, is_sparse, 9);
    AT(tenslice_tens_dimension, reserved, 10);

    SIZE(tenslice_tens_chunk, 32 + 2 * S);
    AT(tenslice_tens_chunk, is_packed, 4);
    AT(tenslice_tens_chunk, magic, 8);
    AT(tenslice_tens_chunk, offset, 16);
    AT(tenslice_tens_chunk, length, 24);
    AT(tenslice_tens_chunk, operation, 32);
    AT(tenslice_tens_chunk, map, 32 + S);

    SIZE(tenslice_b2nd_info, 96 + S);
    AT(tenslice_b2nd_info, is_array, 4);
    AT(tenslice_b2nd_info, item_size, 8);
    AT(tenslice_b2nd_info, chunk_count, 16);
    AT(tenslice_b2nd_info, chunk_size, 24);
    AT(tenslice_b2nd_info, block_size, 32);
    AT(tenslice_b2nd_info, decoded, 40);
    AT(tenslice_b2nd_info, stored, 48);
    AT(tenslice_b2nd_info, table_scratch, 56);
    AT(tenslice_b2nd_info, table_offset, 64);
    AT(tenslice_b2nd_info, table_length, 72);
    AT(tenslice_b2nd_info, dtype, 80);
    AT(tenslice_b2nd_info, version, 80 + S);
    AT(tenslice_b2nd_info, codec, 81 + S);
    AT(tenslice_b2nd_info, level, 82 + S);
    AT(tenslice_b2nd_info, has_dictionary, 83 + S);
    AT(tenslice_b2nd_info, filters, 84 + S);
    AT(tenslice_b2nd_info, filters_meta, 90 + S);

    SIZE(tenslice_b2nd_chunk, 56);
    AT(tenslice_b2nd_chunk, block_count, 4);
    AT(tenslice_b2nd_chunk, offset, 8);
    AT(tenslice_b2nd_chunk, length, 16);
    AT(tenslice_b2nd_chunk, decoded_length, 24);
    AT(tenslice_b2nd_chunk, block_size, 32);
    AT(tenslice_b2nd_chunk, scratch, 40);
    AT(tenslice_b2nd_chunk, content, 48);
    AT(tenslice_b2nd_chunk, codec, 49);
    AT(tenslice_b2nd_chunk, filters, 50);

    SIZE(tenslice_gguf_file_info, 48);
    AT(tenslice_gguf_file_info, byte_order, 4);
    AT(tenslice_gguf_file_info, alignment, 8);
    AT(tenslice_gguf_file_info, reserved, 12);
    AT(tenslice_gguf_file_info, data_offset, 16);
    AT(tenslice_gguf_file_info, part_index, 24);
    AT(tenslice_gguf_file_info, part_count, 32);
    AT(tenslice_gguf_file_info, part_tensors, 40);

    SIZE(tenslice_gguf_tensor_info, 88 + S);
    AT(tenslice_gguf_tensor_info, ggml_type, 4);
    AT(tenslice_gguf_tensor_info, name, 8);
    AT(tenslice_gguf_tensor_info, ne, 8 + S);
    AT(tenslice_gguf_tensor_info, offset, 72 + S);
    AT(tenslice_gguf_tensor_info, rank, 80 + S);
    AT(tenslice_gguf_tensor_info, reserved, 84 + S);

    SIZE(tenslice_ztensor2_shard, 16 + 2 * S);
    AT(tenslice_ztensor2_shard, reserved, 4);
    AT(tenslice_ztensor2_shard, name, 8);
    AT(tenslice_ztensor2_shard, size, 8 + S);
    AT(tenslice_ztensor2_shard, digest, 16 + S);
    SIZE(tenslice_npz_entry, 40 + S);
    AT(tenslice_npz_entry, encoding, 4);
    AT(tenslice_npz_entry, name, 8);
    AT(tenslice_npz_entry, offset, 8 + S);
    AT(tenslice_npz_entry, length, 16 + S);
    AT(tenslice_npz_entry, decoded_length, 24 + S);
    AT(tenslice_npz_entry, crc32, 32 + S);
    SIZE(tenslice_b2nd_metalayer, 24 + S + 2 * P);
    AT(tenslice_b2nd_metalayer, reserved, 4);
    AT(tenslice_b2nd_metalayer, name, 8);
    AT(tenslice_b2nd_metalayer, content, 8 + S);
    AT(tenslice_b2nd_metalayer, decoded_length, 8 + S + 2 * P);
    AT(tenslice_b2nd_metalayer, scratch, 16 + S + 2 * P);

    SIZE(tenslice_blz_info, 48);
    AT(tenslice_blz_info, dtype, 4);
    AT(tenslice_blz_info, core_count, 8);
    AT(tenslice_blz_info, reserved, 12);
    AT(tenslice_blz_info, offset, 16);
    AT(tenslice_blz_info, length, 24);
    AT(tenslice_blz_info, parameters, 32);
    AT(tenslice_blz_info, compression_ratio, 40);

    SIZE(tenslice_blz_core, 48);
    AT(tenslice_blz_core, index, 4);
    AT(tenslice_blz_core, shape, 8);
    AT(tenslice_blz_core, offset, 32);
    AT(tenslice_blz_core, length, 40);

    SIZE(tenslice_blz_scratch, 32);
    AT(tenslice_blz_scratch, reserved, 4);
    AT(tenslice_blz_scratch, element, 8);
    AT(tenslice_blz_scratch, slice, 16);
    AT(tenslice_blz_scratch, norm, 24);

    SIZE(tenslice_scaled, 24);
    AT(tenslice_scaled, real, 0);
    AT(tenslice_scaled, imaginary, 8);
    AT(tenslice_scaled, exponent, 16);
    AT(tenslice_scaled, reserved, 20);

    SIZE(tenslice_error, 16);
    AT(tenslice_error, offset, 0);
    AT(tenslice_error, entry_distance, 8);
    AT(tenslice_error, kind, 12);
    AT(tenslice_error, format, 14);
    AT(tenslice_error, part, 15);

    SIZE(tenslice_need, 24);
    AT(tenslice_need, offset, 0);
    AT(tenslice_need, length, 8);
    AT(tenslice_need, keep, 16);
    AT(tenslice_need, reserved, 20);

    SIZE(tenslice_str, S);
    AT(tenslice_str, data, 0);
    AT(tenslice_str, length, P);
    AT(tenslice_str, is_escaped, 2 * P);
    AT(tenslice_str, reserved, 2 * P + 1);
    SIZE(tenslice_pytorch_global, 16 + 2 * S);
    AT(tenslice_pytorch_global, struct_size, 0);
    AT(tenslice_pytorch_global, is_known, 4);
    AT(tenslice_pytorch_global, module, 8);
    AT(tenslice_pytorch_global, name, 8 + S);
    AT(tenslice_pytorch_global, offset, 8 + 2 * S);
    SIZE(tenslice_onnx_info, 16 + 2 * S);
    AT(tenslice_onnx_info, struct_size, 0);
    AT(tenslice_onnx_info, reserved, 4);
    AT(tenslice_onnx_info, ir_version, 8);
    AT(tenslice_onnx_info, producer_name, 16);
    AT(tenslice_onnx_info, producer_version, 16 + S);
    SIZE(tenslice_onnx_opset, 16 + S);
    AT(tenslice_onnx_opset, struct_size, 0);
    AT(tenslice_onnx_opset, reserved, 4);
    AT(tenslice_onnx_opset, domain, 8);
    AT(tenslice_onnx_opset, version, 8 + S);
    SIZE(tenslice_tflite_subgraph, 8 + S);
    AT(tenslice_tflite_subgraph, struct_size, 0);
    AT(tenslice_tflite_subgraph, tensor_count, 4);
    AT(tenslice_tflite_subgraph, name, 8);
    SIZE(tenslice_ptd_segment, 24);
    AT(tenslice_ptd_segment, struct_size, 0);
    AT(tenslice_ptd_segment, reserved, 4);
    AT(tenslice_ptd_segment, offset, 8);
    AT(tenslice_ptd_segment, length, 16);
    SIZE(tenslice_bytes, 2 * P);
    AT(tenslice_bytes, data, 0);
    AT(tenslice_bytes, length, P);

    SIZE(tenslice_file_info, 32 + S);
    AT(tenslice_file_info, struct_size, 0);
    AT(tenslice_file_info, format, 4);
    AT(tenslice_file_info, length, 8);
    AT(tenslice_file_info, tensor_count, 16);
    AT(tenslice_file_info, version, 24);
    AT(tenslice_file_info, warnings, 24 + S);
    AT(tenslice_file_info, reserved, 28 + S);

    SIZE(tenslice_tensor_info, 40 + 2 * S);
    AT(tenslice_tensor_info, struct_size, 0);
    AT(tenslice_tensor_info, dtype, 4);
    AT(tenslice_tensor_info, name, 8);
    AT(tenslice_tensor_info, layout, 8 + S);
    AT(tenslice_tensor_info, order, 12 + S);
    AT(tenslice_tensor_info, layout_name, 16 + S);
    AT(tenslice_tensor_info, index, 16 + 2 * S);
    AT(tenslice_tensor_info, elements, 24 + 2 * S);
    AT(tenslice_tensor_info, rank, 32 + 2 * S);
    AT(tenslice_tensor_info, warnings, 36 + 2 * S);

    SIZE(tenslice_component_info, 48 + 3 * S);
    AT(tenslice_component_info, struct_size, 0);
    AT(tenslice_component_info, dtype, 4);
    AT(tenslice_component_info, storage_dtype, 8);
    AT(tenslice_component_info, byte_order, 12);
    AT(tenslice_component_info, encoding, 16);
    AT(tenslice_component_info, reserved, 20);
    AT(tenslice_component_info, role, 24);
    AT(tenslice_component_info, encoding_name, 24 + S);
    AT(tenslice_component_info, digest, 24 + 2 * S);
    AT(tenslice_component_info, offset, 24 + 3 * S);
    AT(tenslice_component_info, length, 32 + 3 * S);
    AT(tenslice_component_info, decoded_length, 40 + 3 * S);

    SIZE(tenslice_value, 128 + S);
    AT(tenslice_value, struct_size, 0);
    AT(tenslice_value, kind, 4);
    AT(tenslice_value, text, 8);
    AT(tenslice_value, magnitude, 8 + S);
    AT(tenslice_value, real, 16 + S);
    AT(tenslice_value, negative, 24 + S);
    AT(tenslice_value, reserved, 28 + S);
    AT(tenslice_value, items, 32 + S);

    SIZE(tenslice_verified, 32);
    AT(tenslice_verified, struct_size, 0);
    AT(tenslice_verified, warnings, 4);
    AT(tenslice_verified, verified, 8);
    AT(tenslice_verified, without_digest, 16);
    AT(tenslice_verified, unknown_digest, 24);
    SIZE(tenslice_decoder, 3 * P);
    AT(tenslice_decoder, decode, 0);
    AT(tenslice_decoder, user, P);
    AT(tenslice_decoder, decode_with_dictionary, 2 * P);

    /* One code of each kind. tests/codes.txt has all of them. */
    CHECK(TENSLICE_OK == 0 && TENSLICE_END == 1 && TENSLICE_NEED == 2);
    CHECK(TENSLICE_INVALID_ARGUMENT == 100 && TENSLICE_TRUNCATED == 200 && TENSLICE_UNKNOWN_FORMAT == 300);
    CHECK(TENSLICE_TOO_SMALL == 500 && TENSLICE_F32 == 17 && TENSLICE_FORMAT_ZTENSOR == 1);
    CHECK(TENSLICE_LAYOUT_OTHER == 255 && TENSLICE_ENCODING_ZSTD == 1 && TENSLICE_VALUE_TEXT == 7);
    CHECK(TENSLICE_WARNING_NAMES_UNCHECKED == 1 << 10 && TENSLICE_PART_OFFSET == 15);
    CHECK(TENSLICE_FORMAT_GGUF == 6 && TENSLICE_LAYOUT_BLOCKS == 8 && TENSLICE_VALUE_ARRAY == 9);
    puts("layout: ok");
    return 0;
}
