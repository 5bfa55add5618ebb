/* Prints the length and the first element of a tensor: main FILE NAME */
#include <stdio.h>
#include <string.h>
#include <tenslice.h>

int main(int argc, char **argv)
{
    static char model[1 << 16];
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_bytes bytes;
    FILE *stream = argc == 3 ? fopen(argv[1], "rb") : NULL;
    size_t size = stream == NULL ? 0 : fread(model, 1, sizeof model, stream);

    if (tenslice_abi_version() != TENSLICE_ABI_VERSION || argc != 3) return 2;
    if (tenslice_file_open(&file, model, size, NULL) != TENSLICE_OK) return 1;
    if (tenslice_file_find(&file, argv[2], strlen(argv[2]), &tensor, NULL) != TENSLICE_OK) return 1;
    if (tenslice_tensor_bytes(&tensor, TENSLICE_F32, &bytes, NULL) != TENSLICE_OK) return 1;
    printf("%s: %zu bytes, the first number is %g\n", argv[2], bytes.length, *(const float *)bytes.data);
    return 0;
}
