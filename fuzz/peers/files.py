"""The files that all readers of a format read: kinds of files, with the files of each kind.

A file is named by a word and what follows it:

    PATTERN                fixtures, in tests/fixtures, whose side-cars say that they must be refused
    disputed PATTERN       fixtures that tenslice accepts, and about which readers disagree
    cut PATH               a fixture, cut at five places before its last bytes, which may be padding
    make SCRIPT CASE SIZE  a file of a generator in fuzz/hostile
    own NAME               a file of a function in own.py

A kind is refused by the specification, unless it is in `LEGAL`: those files are legal, and cost time or memory.
"""
import json
import pathlib
import shutil
import subprocess
import sys

import own

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = HERE.parents[1] / "tests/fixtures"

SUFFIXES = {"safetensors": ".safetensors", "gguf": ".gguf", "npy": ".npy", "npz": ".npz", "b2nd": ".b2nd", "ztensor": ".zt",
            "ztensor2": ".zt", "onnx": ".onnx", "tflite": ".tflite", "pytorch": ".pt"}

# Files that every reader of the format should accept.
SOUND = {
    "safetensors": "safetensors/py_tiny_mlp safetensors/py_scalar safetensors/rs_dtype_F64",
    "gguf": "gguf/type_00_F32 gguf/type_08_Q8_0 gguf/rank2",
    "npy": "npy/dt_le_f4 npy/rank2 npy/dt_le_f8",
    "npz": "npz/stored npz/deflated npz/npyz_stored",
    "b2nd": "b2nd/good/cf_lz4_shuf_0 b2nd/good/cf_blosclz_shuf_0 b2nd/good/cf_zstd_shuf_0",
    "ztensor": "v1.2/converted_safetensors v1.2/zstd v1.2/digests",
    "ztensor2": "v2/converted_safetensors v2/dense_all_dtypes_4k v2/zstd_seekable",
    "onnx": "onnx/py_constants onnx/py_if_branches onnx/py_many_200",
    "tflite": "tflite/py_scalars tflite/py_many_120 tflite/cc_plain",
    "pytorch": "pytorch/state_mlp_p3 pytorch/shared_storage pytorch/parameters",
}

REFUSED = {
    "safetensors": {
        "the file is cut": ["cut safetensors/py_tiny_mlp", "safetensors/bad/st_trunc_*", "safetensors/bad/st_empty",
                            "safetensors/bad/st_7bytes"],
        "a header longer than the file, up to 2^64": ["safetensors/bad/st_len_[iopu]*", "safetensors/bad/st_be_len"],
        "offsets beyond the file, or reversed": ["own safetensors_far", "safetensors/bad/st_offs_*"],
        "a shape larger than the bytes": ["own safetensors_large", "safetensors/bad/st_f[46]_*",
                                          "safetensors/bad/st_zero_dim_*"],
        "a product of lengths that wraps": ["safetensors/bad/st_mul_wrap_*", "safetensors/bad/st_shape_2p64"],
        "tensors that share bytes": ["safetensors/bad/st_same_span", "safetensors/bad/st_nested_span",
                                     "safetensors/bad/st_tile_*"],
        "bytes that no tensor has": ["safetensors/bad/st_hole_*", "safetensors/bad/st_tail_*"],
        "a name or a key twice": ["safetensors/bad/st_dup_*", "safetensors/quirks/st_dup_*"],
        "lengths or offsets that are no whole numbers": ["safetensors/bad/st_shape_*", "safetensors/bad/st_dim_*",
                                                         "safetensors/bad/st_offsets_*", "safetensors/bad/st_digits_10k"],
        "an unknown dtype": ["safetensors/bad/st_dtype_*", "safetensors/bad/st_no_dtype"],
        "a header that is no JSON": ["safetensors/bad/st_json_*", "safetensors/bad/st_*_top", "safetensors/bad/st_comment",
                                     "safetensors/bad/st_single_quotes", "safetensors/bad/st_un*",
                                     "safetensors/bad/st_garbage*"],
        "a name that is no text": ["safetensors/bad/st_utf*", "safetensors/bad/st_*_utf8", "safetensors/bad/st_escape_*",
                                   "safetensors/bad/st_lone_surrogate"],
        "a million brackets inside each other": ["own safetensors_deep", "safetensors/bad/st_deep_array",
                                                 "safetensors/bad/st_nest_200"],
    },
    "gguf": {
        "the file is cut": ["cut gguf/type_00_F32", "gguf/bad/gg_trunc_*", "gguf/bad/gg_empty", "gguf/bad/gg_magic_only",
                            "gguf/bad/gg_kv_type_cut"],
        "up to 2^64 tensors or keys": ["gguf/bad/gg_nt_*", "gguf/bad/gg_nk_*"],
        "a text longer than the file": ["gguf/bad/gg_keylen_*", "gguf/bad/gg_namelen_*", "gguf/bad/gg_strlen_*",
                                        "gguf/bad/gg_str_one_over"],
        "a list longer than the file": ["gguf/bad/gg_arrlen_*", "gguf/bad/gg_nest_wide", "gguf/bad/gg_nest_inner_*",
                                        "gguf/bad/gg_bool_array_cut"],
        "offsets beyond the file": ["gguf/bad/gg_off_[benu]*", "gguf/bad/gg_data_none", "gguf/bad/gg_no_pad*"],
        "a product or a sum that wraps": ["gguf/bad/gg_dims_*", "gguf/bad/gg_*_wrap*"],
        "tensors that share bytes": ["gguf/bad/gg_overlap_*", "gguf/bad/gg_off_minus", "gguf/bad/gg_zero_elems_off",
                                     "gguf/quirks/gg_two_share_data"],
        "a name or a key twice": ["gguf/bad/gg_name_dup*", "gguf/bad/gg_key_dup", "make gguf alignment_twice 1000"],
        "an alignment that is none": ["gguf/bad/gg_align*"],
        "more dimensions than any tensor has": ["gguf/bad/gg_ndims_*"],
        "unknown types of values": ["gguf/bad/gg_kvtype_*", "gguf/bad/gg_arrtype_*", "gguf/bad/gg_nest_bad_inner"],
        "unknown types of tensors": ["gguf/bad/gg_type_*"],
        "rows that are no whole blocks": ["gguf/bad/gg_blk_*", "gguf/bad/gg_block_*"],
        "a name that is no text": ["gguf/bad/gg_*utf8*"],
        "another magic, version or byte order": ["gguf/bad/gg_magic_[0-9]", "gguf/bad/gg_ver_*", "gguf/bad/gg_[bl]e_*",
                                                 "gguf/bad/gg_pickle"],
        "lists inside each other, up to 300 000": ["own gguf_deep", "gguf/bad/gg_nest_3000"],
    },
    "npy": {
        "the file is cut": ["cut npy/rank2", "npy/bad/np_trunc_*", "npy/bad/np_empty"],
        "less data than the shape needs": ["npy/bad/np_short_*", "own npy_large"],
        "a header longer than the file": ["npy/bad/np_hlen_*"],
        "a product of lengths that wraps": ["npy/bad/np_shape_wrap*", "npy/bad/np_size_wrap_*", "npy/bad/np_shape_2p64"],
        "lengths that are no whole numbers": ["npy/bad/np_shape_[dilnst]*"],
        "code instead of values": ["npy/bad/np_call", "npy/bad/np_lambda", "npy/bad/np_shape_exp*",
                                   "npy/bad/np_hdr_dict_comp",
                                   "npy/bad/np_hdr_true_dot"],
        "objects, which are pickles": ["npy/bad/np_descr_object", "npy/bad/np_descr_struct_object",
                                       "npy/bad/np_descr_xf9732e",
                                       "npy/bad/np_descr_x682fc1", "npy/bad/np_descr_x82939b"],
        "an unknown type": ["npy/bad/np_descr_[fiu]*", "npy/bad/np_descr_neg", "npy/bad/np_descr_x[0-57-9a-e]*"],
        "a broken header": ["npy/bad/np_hdr_[bckn]*", "npy/bad/np_hdr_[oqs]*", "npy/bad/np_no*", "npy/bad/np_tail",
                            "npy/bad/np_two", "npy/bad/np_unclosed", "npy/bad/np_extra_key", "npy/bad/np_order_*",
                            "npy/bad/np_comment"],
        "another magic or version": ["npy/bad/np_magic_*", "npy/bad/np_ver_*", "npy/bad/np_v3_bad_utf8"],
        "fields of a record that share a name": ["make npy fields 1000", "make npy nested-fields 1000"],
        "brackets inside each other, up to 30 000": ["own npy_deep", "npy/bad/np_descr_deep", "make npy too-deep 3000"],
    },
    "npz": {
        "the file is cut": ["cut npz/stored", "npz/bad/np_zip_*", "npz/bad/np_end_cut"],
        "a broken directory": ["npz/bad/np_cd_*", "npz/bad/np_end_two", "npz/bad/np_z64_[cdels]*",
                               "npz/bad/np_z64_no_locator"],
        "places beyond the file": ["npz/bad/np_local_off_beyond", "npz/bad/np_local_xlen", "npz/bad/np_csize_past_end",
                                   "npz/bad/np_z64_off_max"],
        "entries that share bytes": ["npz/bad/np_nested_local", "npz/bad/np_overlap_tail", "npz/bad/np_local_in_directory"],
        "two descriptions of an entry that differ": ["npz/bad/np_local_name_*", "npz/bad/np_local_csize",
                                                     "npz/bad/np_local_usize", "npz/bad/np_local_method*",
                                                     "npz/bad/np_stored_sizes_differ"],
        "a broken compressed stream": ["npz/bad/np_deflate_[begntz]*", "npz/bad/np_deflate_dist",
                                       "npz/bad/np_deflate_short"],
        "another length than stated, up to 4 GiB": ["npz/bad/np_deflate_one_*", "npz/bad/np_deflate_ratio_lie"],
        "a checksum that differs": ["npz/bad/np_crc_*"],
        "encrypted, or an unknown compression": ["npz/bad/np_method_*", "npz/bad/np_flag_strong", "npz/bad/np_patched"],
        "an entry that is no whole array": ["npz/bad/np_stored_npy_*", "npz/bad/np_npy_*", "npz/bad/np_deflated_*"],
        "a name twice, or no text": ["npz/bad/np_dup_deflated", "npz/quirks/np_plain_and_suffix",
                                     "npz/bad/np_name_invalid_utf8"],
    },
    "b2nd": {
        "the file is cut": ["b2nd/bad/trunc_*"],
        "cut, with a length that fits": ["b2nd/bad/truncfix_*", "b2nd/bad/b2nd_cut_*"],
        "lengths of the frame or its parts": ["b2nd/bad/frame_len_*", "b2nd/bad/header_len_*", "b2nd/bad/trl_len_*",
                                              "b2nd/bad/cbytes_*", "b2nd/bad/nbytes_*"],
        "sizes of chunks, blocks or items": ["b2nd/bad/chunksize_*", "b2nd/bad/blocksize_*", "b2nd/bad/typesize_*",
                                             "b2nd/bad/nfilters_*"],
        "a shape that does not fit, or wraps": ["b2nd/bad/b2nd_shape_*", "b2nd/bad/b2nd_prod_*", "b2nd/bad/b2nd_ext_*",
                                                "b2nd/bad/b2nd_ndim_*", "b2nd/bad/b2nd_chunk*", "b2nd/bad/b2nd_block*"],
        "an element type that is none": ["b2nd/bad/b2nd_dtype_*"],
        "metadata beyond its place": ["b2nd/bad/meta_*", "b2nd/bad/vl_len_*", "b2nd/bad/vl_off_*", "b2nd/bad/vl_count_*"],
        "other bytes between the fields": ["b2nd/bad/hdr_*", "b2nd/bad/b2nd_array_*", "b2nd/bad/flags_*",
                                           "b2nd/bad/frame_type_*",
                                           "b2nd/bad/trl_*marker*"],
        "offsets of chunks": ["b2nd/bad/off_*", "b2nd/bad/offchunk_*"],
        "sizes in a chunk": ["b2nd/bad/chunk_nbytes_*", "b2nd/bad/chunk_cbytes_*", "b2nd/bad/chunk_blocksize_*",
                             "b2nd/bad/chunk_bstart_*", "b2nd/bad/chunk_csize_*", "b2nd/bad/chunk_memcpy_*",
                             "b2nd/bad/chunk_typesize_*"],
        "a broken compressed stream": ["b2nd/bad/chunk_lz4_*", "b2nd/bad/chunk_blz_*", "b2nd/bad/chunk_zlib_*",
                                       "b2nd/bad/chunk_zstd_*", "b2nd/bad/chunk_dict_*"],
        "unknown codecs, filters and flags": ["b2nd/bad/chunk_codec_*", "b2nd/bad/chunk_filter_*",
                                              "b2nd/bad/chunk_udcodec_*",
                                              "b2nd/bad/chunk_version_*", "b2nd/bad/chunk_special_*"],
        "the longest streams for one byte": ["make b2nd variable-blocks-of-long-streams 2000",
                                             "make b2nd blocks-of-long-streams 2000", "make b2nd two-dictionaries 2000"],
    },
    "ztensor": {
        "the file is cut": ["cut v1.2/converted_safetensors", "bad/v1.2/trunc_*"],
        "a manifest of another size, or with 2^40 entries": ["bad/v1.2/msize_*", "bad/v1.0/msize_*",
                                                             "bad/v1.2/count_too_big"],
        "offsets beyond the file": ["bad/v1.2/end_past_eof", "bad/v1.2/offset_u64max", "own ztensor_far"],
        "a shape that does not fit, or wraps": ["bad/v1.2/length_short", "bad/v1.2/shape_bytes_wrap",
                                                "bad/v0.1/length_zero"],
        "broken CBOR, or a missing key": ["bad/v1.2/map_odd", "bad/v1.2/chunk_wrong_type", "bad/v1.2/name_not_utf8",
                                          "bad/v0.1/entry_null", "bad/v0.1/missing_name", "bad/v1.0/missing_dtype"],
        "a key twice": ["bad/v0.1/dup_key_offset", "make ztensor data_twice 100"],
        "unknown dtypes, encodings, versions": ["bad/v1.2/dtype_unknown", "bad/v1.2/encoding_lz4", "bad/v1.2/version_2_0_0",
                                                "bad/v0.1/endianness_unknown"],
        "sparse tensors whose parts do not fit": ["bad/v1.2/co[or]*", "bad/v1.2/csr_*", "bad/v1.0/csr_*"],
        "another length than stated": ["bad/v1.2/zstd_uclen_wrong"],
        "lists inside each other, 100 000": ["own ztensor_deep"],
    },
    "ztensor2": {
        "the file is cut": ["cut v2/converted_safetensors", "bad/v2/trailing_byte"],
        "a digest that differs": ["bad/v2/sha256_mismatch"],
        "a manifest that is not canonical": ["bad/v2/float_not_shortest", "bad/v2/nan_payload_key", "bad/v2/parts_empty"],
        "another version": ["bad/v2/v1_magic_header"],
        "a broken compressed stream": ["bad/v2/seekable_*"],
        "offsets beyond the file": ["own ztensor2_far", "own ztensor2_far_offset"],
        "a shape that does not fit, or wraps": ["own ztensor2_short", "own ztensor2_wraps"],
        "a name twice": ["own ztensor2_twice"],
        "a manifest with 2^40 entries": ["own ztensor2_many"],
        "lists inside each other, 100 000": ["own ztensor2_deep"],
    },
    "onnx": {
        "the file is cut": ["cut onnx/py_constants", "onnx/bad/last_byte_missing", "onnx/bad/empty"],
        "a length beyond its message": ["onnx/bad/cut_*", "onnx/bad/length_*", "onnx/bad/*_leaves_*", "onnx/bad/const_cut",
                                        "onnx/bad/dims_packed_cut", "onnx/bad/fixed*", "onnx/bad/sub_cut"],
        "broken protobuf": ["onnx/bad/wire[67]*", "onnx/bad/varint_*", "onnx/bad/zero_number_*", "onnx/bad/tag_too_wide",
                            "onnx/bad/end_group_alone", "onnx/bad/ints_eleven", "onnx/bad/ints_cut"],
        "a field of another wire type": ["onnx/bad/wire_*", "onnx/bad/group_*"],
        "negative lengths": ["onnx/bad/dims_m*", "onnx/bad/dims_two_negatives", "onnx/bad/sub_negative"],
        "a product of lengths that wraps": ["onnx/bad/size_*", "onnx/bad/sparse_overflow"],
        "less or more data than the shape needs": ["onnx/bad/*_short", "onnx/bad/*_long", "onnx/bad/no_data",
                                                   "onnx/bad/empty_raw", "onnx/bad/complex_half", "onnx/bad/raw_sixes",
                                                   "onnx/bad/int4_one_each", "onnx/bad/zero_with_data"],
        "data in two fields, or in another one": ["onnx/bad/raw_and_floats", "onnx/bad/floats_and_ints", "onnx/bad/field_*",
                                                  "onnx/bad/strings_raw", "onnx/bad/segment"],
        "numbers too large for their type": ["onnx/bad/range_*"],
        "an unknown data type": ["onnx/bad/kind_*", "onnx/bad/const_kind"],
        "a file outside the folder": ["onnx/bad/external_absolute", "onnx/bad/external_*parent", "onnx/bad/external_drive",
                                      "onnx/bad/external_unc", "onnx/bad/external_only_dots"],
        "a name twice, or none": ["onnx/bad/name_twice*", "onnx/bad/sub_name_twice", "onnx/bad/*_name",
                                  "onnx/bad/graph_twice",
                                  "onnx/bad/value_twice"],
        "a name that is no text": ["onnx/bad/*_not_utf8", "onnx/bad/name_surrogate"],
        "sparse tensors whose parts do not fit": ["onnx/bad/sparse_[cenrz]*", "onnx/bad/sparse_o[ur]*",
                                                  "onnx/bad/sparse_values_*"],
        "another kind of file": ["onnx/bad/graph_file", "onnx/bad/tensor_file", "onnx/bad/saved_model", "onnx/bad/text",
                                 "onnx/bad/random_*", "onnx/bad/zeros_64"],
        "graphs inside each other, up to 3000": ["own onnx_deep", "onnx/bad/nested_40"],
    },
    "tflite": {
        "the file is cut": ["cut tflite/cc_plain", "tflite/bad/cut_*", "tflite/bad/short_7", "tflite/bad/head_only"],
        "offsets beyond the file, or to themselves": ["tflite/bad/offset_*", "tflite/bad/root_[efimz]*"],
        "lists longer than the file": ["tflite/bad/length_*", "tflite/bad/string_*"],
        "tables whose fields are elsewhere": ["tflite/bad/vtable_*", "tflite/bad/field_*", "tflite/bad/table_size_*"],
        "places off their alignment": ["tflite/bad/*_unaligned", "tflite/bad/shifted_by_2"],
        "buffers that are not there": ["tflite/bad/buffer_index_*", "tflite/bad/buffers_missing",
                                       "tflite/bad/metadata_index"],
        "buffers beyond the file": ["tflite/bad/outside_*"],
        "negative lengths, or products that wrap": ["tflite/bad/shape_*", "tflite/bad/overflow_*"],
        "less or more data than the shape needs": ["tflite/bad/size_*"],
        "texts beyond their buffer": ["tflite/bad/strings_*"],
        "sparse tensors whose parts do not fit": ["tflite/bad/sparse_*"],
        "unknown types and versions": ["tflite/bad/type_*", "tflite/bad/version_*", "tflite/bad/identifier_*"],
        "no subgraphs": ["tflite/bad/no_subgraphs", "tflite/bad/subgraphs_empty"],
        "tables that many others share": ["tflite/bad/alias_*", "make tflite square 1000", "make tflite names 1000",
                                          "make tflite shapes 1000"],
    },
    "pytorch": {
        "the file is cut": ["cut pytorch/state_mlp_p3", "pytorch/*_cut*", "pytorch/other_empty"],
        "views beyond their storage": ["pytorch/*_over", "pytorch/offset_2p64", "pytorch/offset_min"],
        "a product of lengths that wraps": ["pytorch/extent_wrap_*", "pytorch/product_2p64", "pytorch/storage_numel_2p62",
                                            "pytorch/legacy_count_huge"],
        "negative lengths": ["pytorch/size_negative", "pytorch/storage_numel_negative"],
        "values of another type": ["pytorch/args_*", "pytorch/offset_float", "pytorch/offset_none", "pytorch/size_i*",
                                   "pytorch/storage_numel_[ft]*", "pytorch/pid_*", "pytorch/rank_*"],
        "instructions that do not fit the stack": ["pytorch/op_*", "pytorch/build_*"],
        "storages that are elsewhere": ["pytorch/storage_[iko]*", "pytorch/constants_*", "pytorch/legacy_[cikt]*",
                                        "pytorch/legacy_object_global"],
        "a name twice": ["pytorch/name_*"],
        "a broken archive": ["pytorch/zip_*"],
        "another pickle": ["pytorch/other_plain*", "pytorch/other_zeros"],
        "a million tuples inside each other": ["own pytorch_deep"],
    },
}

LEGAL = {
    "safetensors": {"disputed, accepted by tenslice": ["disputed safetensors/quirks/*"],
                    "many long names": ["make safetensors names_alike 2000", "make safetensors names_escaped 1000"],
                    "thousands of dimensions": ["make safetensors rank 20000"],
                    "much white space": ["make safetensors padded 2000", "make safetensors place_spaced 1000"],
                    "20 000 tensors in falling order": ["make safetensors places_falling 20000"],
                    "20 000 empty tensors inside another one": ["make safetensors places_empty 20000"],
                    "20 000 pairs of metadata": ["make safetensors metadata 20000"]},
    "gguf": {"disputed, accepted by tenslice": ["disputed gguf/quirks/gg_*"],
             "many long names or keys": ["make gguf names_alike 2000", "make gguf keys_alike 2000",
                                         "make gguf name_long 2000"],
             "20 000 names in falling order": ["make gguf names_falling 20000"],
             "empty lists inside each other": ["make gguf lists 2000"],
             "a list of 50 000 texts": ["make gguf strings 50000"],
             "no elements, beside the largest lengths": ["make gguf lengths_zero 100"]},
    "npy": {"disputed, accepted by tenslice": ["disputed npy/quirks/*"],
            "long names and shapes of fields": ["make npy long-name 1000", "make npy shapes-of-fields 1000"],
            "thousands of dimensions": ["make npy shape 5000"],
            "no elements, beside the largest lengths": ["make npy shape-of-zeros 20"],
            "much white space": ["make npy space 1000"]},
    "npz": {"disputed, accepted by tenslice": ["disputed npz/quirks/np_*"],
            "many entries in falling order": ["make npz falling 5000", "make npz names_alike 500"],
            "the longest extra fields": ["make npz extras 20"],
            "a comment like an end of the archive": ["make npz ends 2000"]},
    "b2nd": {"chunks and blocks that share their bytes": ["make b2nd shared-variable-blocks 500",
                                                          "make b2nd empty-chunks 5000",
                                                          "make b2nd blocks-of-frames 500"],
             "chunks of 64 KiB for one element": ["make b2nd padding 5000"]},
    "ztensor": {"many long names": ["make ztensor names_alike 2000"], "thousands of dimensions": ["make ztensor rank 20000"],
                "20 000 names in falling order": ["make ztensor names_falling 20000"]},
    "ztensor2": {"many long names": ["make ztensor2 names_alike 2000"], "values inside each other": ["make ztensor2 lists_deep 500"],
                 "keys that are maps": ["make ztensor2 keys_alike 500"]},
    "onnx": {"graphs as deep as can be": ["make onnx deep 500", "make onnx chains 500"],
             "many long names": ["make onnx long_names 1000"], "numbers that are not packed": ["make onnx single_numbers 20000"]},
    "tflite": {"many tensors of one large buffer": ["make tflite one-buffer 100"],
               "20 000 tensors without bytes": ["make tflite activations 20000"]},
    "pytorch": {"many long names": ["make pytorch long_names 1000"],
                "10 000 tensors of one storage": ["make pytorch shared_storage 10000"],
                "tuples that double, from the memo": ["make pytorch shared_tuples 40"],
                "marks and objects on the stack": ["make pytorch stack 20000"],
                "tensors deep in dictionaries": ["make pytorch deep 500"]},
}


def fixtures(pattern, suffix, refused):
    """The fixtures of a pattern that must be refused, or those that tenslice accepts."""
    def is_wanted(path):
        expected = json.loads(path.with_name(f"{path.name}.json").read_text())["expect"]
        return expected == "reject" if refused else expected.startswith("accept")

    paths = sorted(path for path in FIXTURES.glob(f"{pattern}{suffix}") if is_wanted(path))
    if not paths:
        raise ValueError(f"no fixture: {pattern}")
    return paths


def write(item, folder, suffix):
    """Writes the files of an item to a folder. Returns their paths."""
    word, *rest = item.split(" ")
    if word == "make":
        script, case, size = rest
        path = folder / f"make-{script}-{case}{suffix}"
        subprocess.run([sys.executable, HERE.parent / "hostile" / f"{script}.py", case, size, path], check=True)
        return [path]
    if word == "own":
        path = folder / f"own-{rest[0]}{suffix}"
        path.write_bytes(getattr(own, rest[0])())
        return [path]
    if word == "cut":
        data = (FIXTURES / f"{rest[0]}{suffix}").read_bytes()
        paths = []
        for length in sorted({10, len(data) // 4, len(data) // 2, len(data) * 3 // 4, len(data) - 33}):
            paths.append(folder / f"cut-{length}{suffix}")
            paths[-1].write_bytes(data[:length])
        return paths
    refused = word != "disputed"
    return [pathlib.Path(shutil.copy(path, folder)) for path in fixtures(item if refused else rest[0], suffix, refused)]


def write_all(name, root):
    """Writes all files of a format. Returns lists of (kind, legal or not, paths); the first one has the sound files."""
    folder = root / name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "sound").mkdir(parents=True)
    suffix = SUFFIXES[name]
    if name == "onnx":  # the files that models of `external_*` name
        for place in (folder, root):
            (place / "w.bin").write_bytes(bytes(64))
        (folder / "a").mkdir()
    sound = [pathlib.Path(shutil.copy(FIXTURES / f"{path}{suffix}", folder / "sound")) for path in SOUND[name].split(" ")]
    kinds, seen = [("sound files", True, sound)], set()
    for group, legal in ((REFUSED, False), (LEGAL, True)):
        for kind, items in group[name].items():
            paths = [path for item in items for path in write(item, folder, suffix)]
            kinds.append((kind, legal, [path for path in paths if path not in seen]))
            seen.update(paths)
    return kinds
