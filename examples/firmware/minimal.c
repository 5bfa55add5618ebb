/* The fewest calls that firmware needs to use a tensor, and one more that DEFINES names. For size.sh. */
#include "board.h"
#include "tenslice.h"

int main(void)
{
    const size_t length = (size_t)(model_end - model_start);
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_bytes bytes;
    tenslice_error error;
    int failed = 0;

    failed |= tenslice_file_open(&file, model_start, length, &error);
    failed |= tenslice_file_find(&file, "layer1.weight", 13, &tensor, &error);
    failed |= tenslice_tensor_bytes(&tensor, TENSLICE_ANY, &bytes, &error);
#ifdef STATUS_TEXT
    print(tenslice_status_text(failed));
#endif
#ifdef ERROR_TEXT
    char why[200];
    failed |= tenslice_error_text(&error, model_start, length, why, sizeof why, NULL);
    print(why);
#endif
#ifdef GET_TEXT
    char why[200];
    failed |= tenslice_file_get_text(&file, "layer1.weight", 13, NULL, &error, why, sizeof why, NULL);
    print(why);
#endif
#if defined VERIFY || defined VERIFY_FILE
    tenslice_verified verified;
    verified.struct_size = sizeof verified;
#endif
#ifdef VERIFY
    tenslice_component data;
    failed |= tenslice_tensor_data(&tensor, &data, &error);
    failed |= tenslice_component_verify(&data, NULL, &verified, &error);
#endif
#ifdef VERIFY_FILE
    failed |= tenslice_file_verify(&file, NULL, &verified, &error);
#endif
    return failed;
}
