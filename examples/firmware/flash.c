/* Each call that firmware needs, once, for size.sh: opens from flash and in parts, lists, finds, reads. */
#include "board.h"
#include "tenslice.h"

int main(void)
{
    static unsigned char room[1024];
    tenslice_file file;
    tenslice_source source;
    tenslice_need need;
    tenslice_cursor cursor;
    tenslice_tensor tensor;
    tenslice_tensor_info info;
    tenslice_bytes bytes;
    uint64_t shape[4];
    uint32_t rank;
    int failed = 0;

    failed |= tenslice_file_open(&file, model_start, (size_t)(model_end - model_start), NULL);
    failed |= tenslice_source_init(&source, (uint64_t)(model_end - model_start));
    failed |= tenslice_source_add(&source, 0, room, sizeof room);
    failed |= tenslice_file_open_source(&file, &source, &need, NULL);
    failed |= tenslice_file_tensors(&file, &cursor);
    failed |= tenslice_tensors_next(&cursor, &tensor, NULL);
    info.struct_size = sizeof info;
    failed |= tenslice_tensor_get_info(&tensor, &info);
    failed |= tenslice_file_find(&file, "layer1.weight", 13, &tensor, NULL);
    failed |= tenslice_tensor_shape(&tensor, shape, 4, &rank);
    failed |= tenslice_tensor_bytes(&tensor, TENSLICE_ANY, &bytes, NULL);
    return failed;
}
