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

/*
 * Sets `bytes` to the elements or the blocks of a tensor, in place. Returns 0 if it is missing, or if type or shape
 * differ.
 */
static int get(const tenslice_file *file, const char *name, uint32_t type, size_t rank, const uint64_t *shape,
               tenslice_bytes *bytes)
{
    const tenslice_expected expected = {sizeof expected, type, rank, shape};
    tenslice_error error;

    if (tenslice_file_get(file, name, TENSLICE_NUL, &expected, bytes, &error) == TENSLICE_OK)
        return 1;
    return refuse(name, tenslice_status_text(error.kind));
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
    /* The shape of a layer's weight; its bias has the first length. */
    static const uint64_t inner[] = {HIDDEN, PIXELS}, outer[] = {DIGITS, HIDDEN};
    static const uint64_t pictures[] = {DIGITS, 8, 8}, results[] = {DIGITS, DIGITS};
    tenslice_file file;
    tenslice_error error;
    tenslice_bytes weight1, weight2, bias1, bias2, all_images, all_logits;
    const float *expected;
    const int8_t *images;
    float pixels[PIXELS], hidden[HIDDEN], logits[DIGITS];
    unsigned digit, i, right = 0, exact = 0;

    if (tenslice_file_open(&file, model_start, (size_t)(model_end - model_start), &error) != TENSLICE_OK) {
        refuse("the model", tenslice_status_text(error.kind));
        return 1;
    }
    if (!get(&file, "layer1.bias", TENSLICE_F32, 1, inner, &bias1)
        || !get(&file, "layer2.bias", TENSLICE_F32, 1, outer, &bias2)
        || !get(&file, "test.images", TENSLICE_I8, 3, pictures, &all_images)
        || !get(&file, "test.logits", TENSLICE_F32, 2, results, &all_logits)
        || !get(&file, "layer1.weight", TENSLICE_GGML_Q8_0, 2, inner, &weight1)
        || !get(&file, "layer2.weight", TENSLICE_GGML_Q4_0, 2, outer, &weight2))
        return 1;
    images = (const int8_t *)all_images.data;
    expected = (const float *)all_logits.data;

    print("digits:");
    for (digit = 0; digit < DIGITS; digit++) {
        unsigned best = 0;
        for (i = 0; i < PIXELS; i++)
            pixels[i] = (float)images[digit * PIXELS + i] / 16;
        if (!layer(&weight1, tenslice_q8_0_to_f32, (const float *)bias1.data, pixels, hidden, HIDDEN, PIXELS))
            return 1;
        for (i = 0; i < HIDDEN; i++)
            hidden[i] = hidden[i] > 0 ? hidden[i] : 0;
        if (!layer(&weight2, tenslice_q4_0_to_f32, (const float *)bias2.data, hidden, logits, DIGITS, HIDDEN))
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
