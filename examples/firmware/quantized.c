/*
 * Recognises handwritten digits with quantized weights in flash, in a GGUF file: a layer of 8 bits, and one of 4 bits.
 * The functions of these two types convert one row at a time to floats, in a small buffer. The firmware has no other
 * type's code and tables. Nothing else is copied, and nothing is allocated.
 *
 * The exit code is 0 only if all ten digits are recognised, and every logit equals the logit in the file bit for bit.
 */
#include "board.h"
#include "tenslice.h"

#define PIXELS 64
#define HIDDEN 32
#define DIGITS 10

/* ggml's numbers of these types. */
#define Q4_0 2
#define Q8_0 8

/* The type of tenslice_q8_0_to_f32 and its siblings. */
typedef tenslice_status to_f32(const void *blocks, size_t length, uint64_t first, float *out, size_t count);

static int refuse(const char *name, const char *why)
{
    print(name);
    print(": ");
    print(why);
    print("\n");
    return 0;
}

/* Finds a tensor of `rows` rows of `columns` numbers. Returns 0 if it is missing or has another shape. */
static int find(const tenslice_file *file, const char *name, uint64_t rows, uint64_t columns, tenslice_tensor *tensor)
{
    tenslice_error error;
    uint64_t shape[3] = {1, 1, 1};
    uint32_t rank = 0;

    if (tenslice_file_find(file, name, strlen(name), tensor, &error) != TENSLICE_OK)
        return refuse(name, tenslice_status_text(error.kind));
    if (tenslice_tensor_shape(tensor, shape, 3, &rank) != TENSLICE_OK || shape[0] != rows || shape[1] * shape[2] != columns)
        return refuse(name, "not of the shape that this network has");
    return 1;
}

/* Returns the numbers of a tensor, in place; NULL if dtype or shape differ. */
static const void *numbers(const tenslice_file *file, const char *name, uint32_t dtype, uint64_t rows, uint64_t columns)
{
    tenslice_tensor tensor;
    tenslice_bytes bytes;
    tenslice_error error;

    if (!find(file, name, rows, columns, &tensor))
        return NULL;
    if (tenslice_tensor_bytes(&tensor, dtype, &bytes, &error) == TENSLICE_OK)
        return bytes.data;
    refuse(name, tenslice_status_text(error.kind));
    return NULL;
}

/* Sets `bytes` to the blocks of a tensor, in place. Returns 0 if type or shape differ. */
static int blocks(const tenslice_file *file, const char *name, uint32_t type, uint64_t rows, uint64_t columns,
                  tenslice_bytes *bytes)
{
    tenslice_tensor tensor;
    tenslice_component data;
    uint32_t found;

    if (!find(file, name, rows, columns, &tensor))
        return 0;
    if (tenslice_tensor_block(&tensor, &found, NULL, NULL) != TENSLICE_OK || found != type
        || tenslice_tensor_component(&tensor, "data", 4, &data, NULL) != TENSLICE_OK
        || tenslice_component_bytes(&data, TENSLICE_ANY, bytes, NULL) != TENSLICE_OK)
        return refuse(name, "not in the blocks that this network has");
    return 1;
}

static int layer(const tenslice_bytes *weight, to_f32 *decode, const float *bias, const float *in, float *out,
                 unsigned rows, unsigned columns)
{
    float weights[PIXELS];
    unsigned row, column;

    for (row = 0; row < rows; row++) {
        float sum = bias[row];
        if (decode(weight->data, weight->length, row * columns, weights, columns) != TENSLICE_OK)
            return 0;
        for (column = 0; column < columns; column++)
            sum += weights[column] * in[column];
        out[row] = sum;
    }
    return 1;
}

int main(void)
{
    tenslice_file file;
    tenslice_error error;
    tenslice_bytes weight1, weight2;
    const float *bias1, *bias2, *expected;
    const int8_t *images;
    float pixels[PIXELS], hidden[HIDDEN], logits[DIGITS];
    unsigned digit, i, right = 0, exact = 0;

    if (tenslice_file_open(&file, model_start, (size_t)(model_end - model_start), &error) != TENSLICE_OK) {
        refuse("the model", tenslice_status_text(error.kind));
        return 1;
    }
    bias1 = numbers(&file, "layer1.bias", TENSLICE_F32, HIDDEN, 1);
    bias2 = numbers(&file, "layer2.bias", TENSLICE_F32, DIGITS, 1);
    images = numbers(&file, "test.images", TENSLICE_I8, DIGITS, PIXELS);
    expected = numbers(&file, "test.logits", TENSLICE_F32, DIGITS, DIGITS);
    if (bias1 == NULL || bias2 == NULL || images == NULL || expected == NULL
        || !blocks(&file, "layer1.weight", Q8_0, HIDDEN, PIXELS, &weight1)
        || !blocks(&file, "layer2.weight", Q4_0, DIGITS, HIDDEN, &weight2))
        return 1;

    print("digits:");
    for (digit = 0; digit < DIGITS; digit++) {
        unsigned best = 0;
        for (i = 0; i < PIXELS; i++)
            pixels[i] = (float)images[digit * PIXELS + i] / 16;
        if (!layer(&weight1, tenslice_q8_0_to_f32, bias1, pixels, hidden, HIDDEN, PIXELS))
            return 1;
        for (i = 0; i < HIDDEN; i++)
            hidden[i] = hidden[i] > 0 ? hidden[i] : 0;
        if (!layer(&weight2, tenslice_q4_0_to_f32, bias2, hidden, logits, DIGITS, HIDDEN))
            return 1;
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
    print(" to the last bit, from quantized weights\n");
    return right == DIGITS && exact == DIGITS ? 0 : 1;
}
