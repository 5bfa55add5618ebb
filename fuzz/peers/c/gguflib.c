/* Reads a file with gguflib. */
#include "gguflib.h"

#include "common.h"

int main(int count, char **arguments)
{
    gguf_ctx *file = gguf_open(arguments[count - 1]);
    gguf_tensor tensor;
    if (!file)
        return REFUSED;
    gguf_skip_key_values_section(file);
    while (gguf_get_tensor(file, &tensor)) {
        use(tensor.name, tensor.namelen);
        use(tensor.weights_data, tensor.bsize);
    }
    return tensor.name ? REFUSED : 0; /* NULL after the last tensor */
}
