/*
 * Recognises handwritten digits with weights in flash: opens the model in place, takes pointers to its tensors, and
 * computes. No weight is copied; nothing is allocated.
 *
 * The exit code is 0 only if all ten digits are recognised, and every logit equals the logit in the file bit for bit.
 */
#include "board.h"
#include "tenslice.h"

#define PIXELS 64
#define HIDDEN 32
#define DIGITS 10

/* Prints the message of an error: the broken rule, the tensor, the byte. */
static int refuse(const tenslice_error *error)
{
    static char text[256];
    if (tenslice_error_text(error, model_start, (size_t)(model_end - model_start), text, sizeof text, NULL) == TENSLICE_OK)
        print(text);
    else
        print(tenslice_status_text(error->kind));
    print("\n");
    return 1;
}

/* Returns a tensor of `rows` rows of `columns` numbers, in place; NULL if dtype or shape differ. */
static const void *numbers(const tenslice_file *file, const char *name, uint32_t dtype, uint64_t rows, uint64_t columns)
{
    tenslice_tensor tensor;
    tenslice_bytes bytes;
    tenslice_error error;
    uint64_t shape[3] = {1, 1, 1};
    uint32_t rank = 0;

    if (tenslice_file_find(file, name, strlen(name), &tensor, &error) != TENSLICE_OK
        || tenslice_tensor_bytes(&tensor, dtype, &bytes, &error) != TENSLICE_OK) {
        refuse(&error);
        return NULL;
    }
    if (tenslice_tensor_shape(&tensor, shape, 3, &rank) != TENSLICE_OK || shape[0] != rows
        || (rank > 1 ? shape[1] : 1) * (rank > 2 ? shape[2] : 1) != columns) {
        print(name);
        print(": not of the shape that this network has\n");
        return NULL;
    }
    return bytes.data;
}

static void layer(const float *weight, const float *bias, const float *in, float *out, unsigned rows, unsigned columns)
{
    unsigned row, column;
    for (row = 0; row < rows; row++) {
        float sum = bias[row];
        for (column = 0; column < columns; column++)
            sum += weight[row * columns + column] * in[column];
        out[row] = sum;
    }
}

/* Returns 1 if layer1.weight has the same elements in TENS; the functions below do so for other formats. */
static int same_in_tens(const float *weight)
{
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_bytes bytes;
    uint64_t strides[2];
    unsigned row, column;

    if (tenslice_file_open(&file, tens_start, (size_t)(tens_end - tens_start), NULL) != TENSLICE_OK
        || tenslice_file_find(&file, "", 0, &tensor, NULL) != TENSLICE_OK
        || tenslice_tensor_bytes(&tensor, TENSLICE_F32, &bytes, NULL) != TENSLICE_OK
        || tenslice_tensor_strides(&tensor, strides, 2) != TENSLICE_OK)
        return 0;
    for (row = 0; row < HIDDEN; row++)
        for (column = 0; column < PIXELS; column++)
            if (((const float *)bytes.data)[row * strides[0] + column * strides[1]] != weight[row * PIXELS + column])
                return 0;
    return 1;
}

/* The array is compressed, so a few rows are read at a time: a block of 1 KB, and memory to undo its filter. */
static int same_in_b2nd(const float *weight)
{
    static float rows[4 * PIXELS];
    static uint32_t scratch[2 * 4 * PIXELS];
    tenslice_file file;
    tenslice_read_options options = {sizeof options, 0, NULL, scratch, sizeof scratch};
    uint64_t start[2] = {0, 0}, stop[2] = {0, PIXELS}, length;

    if (tenslice_file_open(&file, b2nd_start, (size_t)(b2nd_end - b2nd_start), NULL) != TENSLICE_OK)
        return 0;
    for (; start[0] < HIDDEN; start[0] += 4) {
        stop[0] = start[0] + 4;
        if (tenslice_b2nd_read_region(&file, start, stop, 2, rows, sizeof rows, &options, &length, NULL) != TENSLICE_OK
            || length != sizeof rows || memcmp(rows, weight + start[0] * PIXELS, sizeof rows) != 0)
            return 0;
    }
    return 1;
}

#ifndef SMALL
static int same_in_blz(const float *weight)
{
    static double elements[HIDDEN * PIXELS];
    static char scratch[1024];
    tenslice_read_options options = {sizeof options, 0, NULL, scratch, sizeof scratch};
    tenslice_file file;
    tenslice_tensor tensor;
    unsigned i;

    if (tenslice_file_open(&file, blz_start, (size_t)(blz_end - blz_start), NULL) != TENSLICE_OK
        || tenslice_file_find(&file, "", 0, &tensor, NULL) != TENSLICE_OK
        || tenslice_tensor_read_into(&tensor, elements, sizeof elements, &options, NULL, NULL) != TENSLICE_OK)
        return 0;
    for (i = 0; i < HIDDEN * PIXELS; i++)
        if ((float)elements[i] != weight[i])
            return 0;
    return 1;
}
#endif

int main(void)
{
    tenslice_file file;
    tenslice_error error;
    const float *weight1, *bias1, *weight2, *bias2, *expected;
    const unsigned char *images;
    float pixels[PIXELS], hidden[HIDDEN], logits[DIGITS];
    unsigned digit, i, right = 0, exact = 0;

    if (tenslice_file_open(&file, model_start, (size_t)(model_end - model_start), &error) != TENSLICE_OK)
        return refuse(&error);
    weight1 = (const float *)numbers(&file, "layer1.weight", TENSLICE_F32, HIDDEN, PIXELS);
    bias1 = (const float *)numbers(&file, "layer1.bias", TENSLICE_F32, HIDDEN, 1);
    weight2 = (const float *)numbers(&file, "layer2.weight", TENSLICE_F32, DIGITS, HIDDEN);
    bias2 = (const float *)numbers(&file, "layer2.bias", TENSLICE_F32, DIGITS, 1);
    images = (const unsigned char *)numbers(&file, "test.images", TENSLICE_U8, DIGITS, PIXELS);
    expected = (const float *)numbers(&file, "test.logits", TENSLICE_F32, DIGITS, DIGITS);
    if (!weight1 || !bias1 || !weight2 || !bias2 || !images || !expected)
        return 1;

    print("digits:");
    for (digit = 0; digit < DIGITS; digit++) {
        unsigned best = 0;
        for (i = 0; i < PIXELS; i++)
            pixels[i] = (float)images[digit * PIXELS + i] / 16;
        layer(weight1, bias1, pixels, hidden, HIDDEN, PIXELS);
        for (i = 0; i < HIDDEN; i++)
            hidden[i] = hidden[i] > 0 ? hidden[i] : 0;
        layer(weight2, bias2, hidden, logits, DIGITS, HIDDEN);
        for (i = 1; i < DIGITS; i++)
            best = logits[i] > logits[best] ? i : best;
        print(" ");
        print_number(best);
        right += best == digit;
        exact += memcmp(logits, expected + digit * DIGITS, sizeof logits) == 0;
    }
    print("\n");
    print_number(right);
    print(" of 10 are right, ");
    print_number(exact);
    print(" to the last bit\n");
    if (!same_in_tens(weight1)) {
        print("the weights in TENS differ\n");
        return 1;
    }
    if (!same_in_b2nd(weight1)) {
        print("the weights in Blosc2 differ\n");
        return 1;
    }
    print("the same weights in TENS, in Blosc2");
#ifndef SMALL
    if (!same_in_blz(weight1)) {
        print(": those in BLZ differ\n");
        return 1;
    }
    print(" and in BLZ");
#endif
    print("\n");
    return right == DIGITS && exact == DIGITS ? 0 : 1;
}
