/*
 * Checks a TFLite model before an interpreter gets it, as a firmware does with a model that was downloaded: the
 * interpreter trusts every offset in the file. Prints a line for each problem, with its offset.
 *
 *     check_model MODEL
 *
 * The exit status is 0 if the model is fine, 1 if not. `check` needs no memory but its stack, so that it also runs on a
 * chip: there, replace fprintf, and print the name of the status and the offset instead of the text.
 */
#include <stdio.h>
#include "tenslice.h"

/* The model, in flash or in a buffer. This program reads models of up to 16 MiB. */
static unsigned char model[16 << 20];

/* Prints a problem. Returns 1, the number of problems. */
static int report(const tenslice_error *error, const void *bytes, size_t size)
{
    char text[512];
    if (tenslice_error_text(error, bytes, size, text, sizeof text, NULL) != TENSLICE_OK)
        snprintf(text, sizeof text, "%s [at byte %llu]", tenslice_status_name(error->kind),
                 (unsigned long long)error->offset);
    fprintf(stderr, "error: %s\n", text);
    return 1;
}

/* Prints a problem of a tensor that this library could live with, unlike an interpreter. Returns 1. */
static int refuse(const tenslice_tensor_info *info, const tenslice_error *error, const char *why)
{
    fprintf(stderr, "error: tensor \"%.*s\": %s [at byte %llu]\n", (int)info->name.length, info->name.data, why,
            (unsigned long long)error->offset);
    return 1;
}

/* Checks a constant: its bytes are in the model, and if it is quantized, its scales and zero points fit. */
static int check_tensor(const tenslice_tensor *tensor, const void *model_bytes, size_t size)
{
    tenslice_tensor_info info;
    tenslice_bytes bytes;
    tenslice_error error;
    float number;
    TENSLICE_INIT(info);
    if (tenslice_tensor_get_info(tensor, &info) != TENSLICE_OK)
        return 0; /* the handle is valid: this does not happen */
    if (info.layout != TENSLICE_LAYOUT_DENSE)
        return 0; /* texts and sparse tensors: tenslice_file_verify */
    if (tenslice_tensor_bytes(tensor, TENSLICE_ANY, &bytes, &error) != TENSLICE_OK)
        return report(&error, model_bytes, size); /* in another file */
    if (bytes.length == 0)
        return 0;
    switch (tenslice_tensor_read_f32(tensor, 0, &number, 1, &error)) {
    case TENSLICE_OK:
    case TENSLICE_WRONG_TYPE: /* complex numbers, which are never quantized */
        return 0;
    case TENSLICE_UNSUPPORTED_LAYOUT:
        return refuse(&info, &error, "its scales and zero points do not fit its shape or type");
    default:
        return report(&error, model_bytes, size);
    }
}

/* Returns the number of problems of a model. Opening checks the tables, the types, the shapes and the lengths. */
static int check(const void *bytes, size_t size)
{
    tenslice_file file;
    tenslice_file_info info;
    tenslice_cursor cursor;
    tenslice_tensor tensor;
    tenslice_verified verified;
    tenslice_error error;
    tenslice_status status;
    int problems = 0;

    if (tenslice_file_open(&file, bytes, size, &error) != TENSLICE_OK)
        return report(&error, bytes, size);
    TENSLICE_INIT(info);
    if (tenslice_file_get_info(&file, &info) != TENSLICE_OK || info.format != TENSLICE_FORMAT_TFLITE)
        return fprintf(stderr, "error: the file is no TFLite model\n") > 0;
    tenslice_file_tensors(&file, &cursor);
    while ((status = tenslice_tensors_next(&cursor, &tensor, &error)) == TENSLICE_OK)
        problems += check_tensor(&tensor, bytes, size);
    if (status != TENSLICE_END) /* another program writes to the memory */
        return problems + report(&error, bytes, size);
    /* Texts, and the indices of sparse tensors. Stops at the first problem. */
    TENSLICE_INIT(verified);
    if (tenslice_file_verify(&file, NULL, &verified, &error) != TENSLICE_OK)
        problems += report(&error, bytes, size);
    return problems;
}

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    size_t size;
    int is_whole;
    if (file == NULL)
        return fprintf(stderr, "usage: %s MODEL\n", argv[0]), 2;
    size = fread(model, 1, sizeof model, file);
    is_whole = fgetc(file) == EOF && !ferror(file);
    fclose(file);
    if (!is_whole)
        return fprintf(stderr, "error: the model has more than %lu bytes\n", (unsigned long)sizeof model), 2;
    return check(model, size) != 0;
}
