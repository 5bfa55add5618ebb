/* Reads a file with csafetensors. */
#include "csafetensors.h"

#include "common.h"

int main(int count, char **arguments)
{
    csafetensors_t file;
    csafetensors_init(&file);
    if (csafetensors_load_from_file(arguments[count - 1], &file) != CSAFETENSORS_SUCCESS || !csafetensors_validate(&file))
        return REFUSED;
    for (size_t i = 0; i < file.n_tensors; i++) {
        const csafetensors_tensor_t *tensor = csafetensors_get_tensor_by_index(&file, i);
        const uint8_t *data = csafetensors_get_tensor_data(&file, tensor);
        if (!data && csafetensors_shape_size(tensor) > 0)
            return REFUSED;
        use(data, csafetensors_shape_size(tensor) * csafetensors_dtype_size(tensor->dtype));
    }
    return 0;
}
