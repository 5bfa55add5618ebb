/* Reads a file with safetensors.h. */
#define SAFETENSORS_IMPLEMENTATION
#include "safetensors.h"

#include "common.h"

int main(int count, char **arguments)
{
    safetensors_File file = {0};
    size_t size;
    void *bytes = contents(arguments[count - 1], &size);
    if (safetensors_file_init(bytes, (int64_t)size, &file))
        return REFUSED;
    for (int i = 0; i < file.num_tensors; i++) {
        const safetensors_TensorDescriptor *tensor = &file.tensors[i];
        use(tensor->name.ptr, (size_t)tensor->name.len);
        use(tensor->ptr, (size_t)(tensor->end_offset_bytes - tensor->begin_offset_bytes));
    }
    return 0;
}
