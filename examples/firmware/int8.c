/*
 * Recognises handwritten digits with integers: 8-bit weights, with a scale for each row, are multiplied in place in
 * flash. No weight is converted to float or copied. Between the layers the numbers are rounded to 8 bits again.
 *
 * With DIGESTS, verifies the digests of the file first. Only zTensor files have them.
 *
 * The exit code is 0 only if all ten digits are recognised, and every logit equals the logit in the file bit for bit.
 */
#include "board.h"
#include "tenslice.h"

#define PIXELS 64
#define HIDDEN 32
#define DIGITS 10

typedef struct {
    const int8_t *weight; /* [rows, columns] */
    const float *scale;   /* [rows] */
    const float *bias;    /* [rows] */
} layer;

static int refuse(const char *what, tenslice_status status)
{
    print(what);
    print(": ");
    print(tenslice_status_text(status));
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

/* Sums integers, which is exact, then applies the scale and the bias of each row. */
static void compute(const layer *layer, const int8_t *in, float *out, unsigned rows, unsigned columns)
{
    unsigned row, column;
    for (row = 0; row < rows; row++) {
        int32_t sum = 0;
        for (column = 0; column < columns; column++)
            sum += layer->weight[row * columns + column] * in[column];
        out[row] = (float)sum * layer->scale[row] + layer->bias[row];
    }
}

int main(void)
{
    static const uint64_t shape1[] = {HIDDEN, PIXELS}, shape2[] = {DIGITS, HIDDEN}, images_shape[] = {DIGITS, 8, 8},
                          logits_shape[] = {DIGITS, DIGITS}, one[] = {1};
    tenslice_file file;
    tenslice_status status;
    layer first, second;
    const int8_t *images;
    const float *hidden_scale, *expected;
    float hidden[HIDDEN], logits[DIGITS];
    int8_t small[HIDDEN];
    unsigned digit, i, right = 0, exact = 0;

    status = tenslice_file_open(&file, model_start, (size_t)(model_end - model_start), NULL);
    if (status != TENSLICE_OK)
        return refuse("the model", status);
#ifdef DIGESTS
    if (damaged(&file))
        return 1;
#endif
    first.weight = numbers(&file, "layer1.weight", TENSLICE_I8, shape1, 2);
    first.scale = numbers(&file, "layer1.scale", TENSLICE_F32, shape1, 1);
    first.bias = numbers(&file, "layer1.bias", TENSLICE_F32, shape1, 1);
    hidden_scale = numbers(&file, "hidden.scale", TENSLICE_F32, one, 1);
    second.weight = numbers(&file, "layer2.weight", TENSLICE_I8, shape2, 2);
    second.scale = numbers(&file, "layer2.scale", TENSLICE_F32, shape2, 1);
    second.bias = numbers(&file, "layer2.bias", TENSLICE_F32, shape2, 1);
    images = numbers(&file, "test.images", TENSLICE_I8, images_shape, 3);
    expected = numbers(&file, "test.logits", TENSLICE_F32, logits_shape, 2);
    if (!first.weight || !first.scale || !first.bias || !hidden_scale || !second.weight || !second.scale || !second.bias
        || !images || !expected)
        return 1;

    print("digits:");
    for (digit = 0; digit < DIGITS; digit++) {
        unsigned best = 0;
        compute(&first, images + digit * PIXELS, hidden, HIDDEN, PIXELS);
        for (i = 0; i < HIDDEN; i++) {
            const float steps = hidden[i] > 0 ? hidden[i] / *hidden_scale + 0.5f : 0;
            small[i] = steps < 127 ? (int8_t)steps : 127;
        }
        compute(&second, small, logits, DIGITS, HIDDEN);
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
    print(" to the last bit, from weights of 8 bits\n");
    return right == DIGITS && exact == DIGITS ? 0 : 1;
}
