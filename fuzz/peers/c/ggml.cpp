// Reads a file with gguf.cpp of ggml.
#include "ggml.h"
#include "gguf.h"

#include <new>

#include "common.h"

int main(int count, char **arguments)
{
    ggml_context *tensors = nullptr;
    const gguf_init_params parameters = {false, &tensors};
    try {
        if (!gguf_init_from_file(arguments[count - 1], parameters))
            return REFUSED;
    } catch (const std::bad_alloc &) {
        return NO_MEMORY;
    }
    for (ggml_tensor *tensor = ggml_get_first_tensor(tensors); tensor; tensor = ggml_get_next_tensor(tensors, tensor))
        use(tensor->data, ggml_nbytes(tensor));
    return 0;
}
