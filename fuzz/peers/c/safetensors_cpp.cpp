// Reads a file with safetensors-cpp.
#define SAFETENSORS_CPP_IMPLEMENTATION
#include "safetensors.hh"

#include "common.h"

int main(int count, char **arguments)
{
    safetensors::safetensors_t file;
    std::string warning, error;
    try {
        if (!safetensors::load_from_file(arguments[count - 1], &file, &warning, &error) ||
            !safetensors::validate_data_offsets(file, error))
            return REFUSED;
        for (size_t i = 0; i < file.tensors.size(); i++) {
            safetensors::tensor_t tensor;
            file.tensors.at(i, &tensor);
            const size_t size = safetensors::get_shape_size(tensor) * safetensors::get_dtype_bytes(tensor.dtype);
            use(file.storage.data() + tensor.data_offsets[0], size);
        }
    } catch (const std::bad_alloc &) {
        return NO_MEMORY;
    } catch (const std::exception &) {
        return REFUSED;
    }
    return 0;
}
