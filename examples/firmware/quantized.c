/*
 * Reads handwritten digits with quantized weights that are in flash, in a GGUF file: a layer of 8 bits, one of 4 bits.
 * A row at a time becomes floats, in a small buffer; nothing else is copied, nothing is allocated.
 *
 * Exit code 0 only if all ten digits are read, and if every logit is bit for bit the one in the file.
 */
#include "board.h"
#include "tenslice.h"

#define PIXELS 64
#define HIDDEN 32
#define DIGITS 10

/* A tensor of `rows` rows of `columns` numbers; 0 if it is not what it should be. */
static int find(const tenslice_file *file, const char *name, uint64_t rows, uint64_t columns, tenslice_tensor *tensor)
{
    tenslice_error error;
    uint64_t shape[3] = {1, 1, 1};
    uint32_t rank = 0;

    if (tenslice_file_find(file, name, strlen(name), tensor, &error) != TENSLICE_OK) {
        print(name);
        print(": ");
        print(tenslice_status_text(error.kind));
        print("\n");
        return 0;
    }
    if (tenslice_tensor_shape(tensor, shape, 3, &rank) != TENSLICE_OK || shape[0] != rows || shape[1] * shape[2] != columns) {
        print(name);
        print(": not of the shape that this network has\n");
        return 0;
    }
    return 1;
}

static int layer(const tenslice_tensor *weight, const tenslice_tensor *bias, const float *in, float *out, unsigned rows,
                 unsigned columns)
{
    float numbers[PIXELS];
    unsigned row, column;

    if (tenslice_tensor_read_f32(bias, 0, out, rows, NULL) != TENSLICE_OK)
        return 0;
    for (row = 0; row < rows; row++) {
        float sum = out[row];
        if (tenslice_tensor_read_f32(weight, row * columns, numbers, columns, NULL) != TENSLICE_OK)
            return 0;
        for (column = 0; column < columns; column++)
            sum += numbers[column] * in[column];
        out[row] = sum;
    }
    return 1;
}

int main(void)
{
    tenslice_file file;
    tenslice_error error;
    tenslice_tensor weight1, bias1, weight2, bias2, images, expected;
    float pixels[PIXELS], hidden[HIDDEN], logits[DIGITS], right_logits[DIGITS];
    unsigned digit, i, right = 0, exact = 0;

    if (tenslice_file_open(&file, model_start, (size_t)(model_end - model_start), &error) != TENSLICE_OK) {
        print(tenslice_status_text(error.kind));
        print("\n");
        return 1;
    }
    if (!find(&file, "layer1.weight", HIDDEN, PIXELS, &weight1) || !find(&file, "layer1.bias", HIDDEN, 1, &bias1)
        || !find(&file, "layer2.weight", DIGITS, HIDDEN, &weight2) || !find(&file, "layer2.bias", DIGITS, 1, &bias2)
        || !find(&file, "test.images", DIGITS, PIXELS, &images) || !find(&file, "test.logits", DIGITS, DIGITS, &expected))
        return 1;

    print("digits:");
    for (digit = 0; digit < DIGITS; digit++) {
        unsigned best = 0;
        if (tenslice_tensor_read_f32(&images, digit * PIXELS, pixels, PIXELS, NULL) != TENSLICE_OK)
            return 1;
        for (i = 0; i < PIXELS; i++)
            pixels[i] /= 16;
        if (!layer(&weight1, &bias1, pixels, hidden, HIDDEN, PIXELS))
            return 1;
        for (i = 0; i < HIDDEN; i++)
            hidden[i] = hidden[i] > 0 ? hidden[i] : 0;
        if (!layer(&weight2, &bias2, hidden, logits, DIGITS, HIDDEN)
            || tenslice_tensor_read_f32(&expected, digit * DIGITS, right_logits, DIGITS, NULL) != TENSLICE_OK)
            return 1;
        for (i = 1; i < DIGITS; i++)
            best = logits[i] > logits[best] ? i : best;
        print(" ");
        print_number(best);
        right += best == digit;
        exact += memcmp(logits, right_logits, sizeof logits) == 0;
    }
    print("\n");
    print_number(right);
    print(" of 10 are right, ");
    print_number(exact);
    print(" to the last bit, from quantized weights\n");
    return right == DIGITS && exact == DIGITS ? 0 : 1;
}
