/*
 * Finds the weights of the network of network8.h in a file in flash, and runs it.
 *
 * With DIGESTS, verifies the digests of the file first. Only zTensor files have them.
 *
 * The exit code is 0 only if all ten digits are recognised, and every logit equals the logit in the file bit for bit.
 */
#include "board.h"
#include "network8.h"
#include "tenslice.h"

/* The function that names a status. tenslice_status_name needs less flash. */
#ifndef STATUS
#define STATUS tenslice_status_text
#endif

static int refuse(const char *what, tenslice_status status)
{
    print(what);
    print(": ");
    print(STATUS(status));
    print("\n");
    return 1;
}

/* Returns the elements of a tensor, in place; NULL if dtype or shape differ. */
static const void *numbers(const tenslice_file *file, const char *name, uint32_t dtype, const uint64_t *shape, size_t rank)
{
    const tenslice_expected expected = {sizeof expected, dtype, rank, shape};
    tenslice_bytes bytes;
    const tenslice_status status = tenslice_file_get(file, name, TENSLICE_NUL, &expected, &bytes, NULL);
    if (status == TENSLICE_OK)
        return bytes.data;
    refuse(name, status);
    return NULL;
}

#ifdef DIGESTS
/* Returns 1 if a digest does not match, or a tensor has none. */
static int damaged(const tenslice_file *file)
{
    tenslice_verified verified;
    tenslice_status status;

    verified.struct_size = sizeof verified;
    status = tenslice_file_verify(file, NULL, &verified, NULL);
    if (status != TENSLICE_OK)
        return refuse("the weights", status);
    if (verified.without_digest + verified.unknown_digest != 0) {
        print("the weights: not every tensor has a digest\n");
        return 1;
    }
    print_number((uint32_t)verified.verified);
    print(" tensors match their digests\n");
    return 0;
}
#endif

int main(void)
{
    static const uint64_t shape1[] = {HIDDEN, PIXELS}, shape2[] = {DIGITS, HIDDEN}, images_shape[] = {DIGITS, 8, 8},
                          logits_shape[] = {DIGITS, DIGITS}, one[] = {1};
    tenslice_file file;
    tenslice_status status;
    network net;
    const float *hidden_scale;

    status = tenslice_file_open(&file, model_start, (size_t)(model_end - model_start), NULL);
    if (status != TENSLICE_OK)
        return refuse("the model", status);
#ifdef DIGESTS
    if (damaged(&file))
        return 1;
#endif
    net.first.weight = numbers(&file, "layer1.weight", TENSLICE_I8, shape1, 2);
    net.first.scale = numbers(&file, "layer1.scale", TENSLICE_F32, shape1, 1);
    net.first.bias = numbers(&file, "layer1.bias", TENSLICE_F32, shape1, 1);
    hidden_scale = numbers(&file, "hidden.scale", TENSLICE_F32, one, 1);
    net.second.weight = numbers(&file, "layer2.weight", TENSLICE_I8, shape2, 2);
    net.second.scale = numbers(&file, "layer2.scale", TENSLICE_F32, shape2, 1);
    net.second.bias = numbers(&file, "layer2.bias", TENSLICE_F32, shape2, 1);
    net.images = numbers(&file, "test.images", TENSLICE_I8, images_shape, 3);
    net.expected = numbers(&file, "test.logits", TENSLICE_F32, logits_shape, 2);
    if (!net.first.weight || !net.first.scale || !net.first.bias || !hidden_scale || !net.second.weight
        || !net.second.scale || !net.second.bias || !net.images || !net.expected)
        return 1;
    net.hidden_scale = *hidden_scale;
    return recognise(&net);
}
