/*
 * A convolution, a depthwise convolution and a dense layer with 8-bit weights, a scale for each channel, in integers only:
 * the arithmetic of CMSIS-NN in plain C. `tenslice quantize` computed the biases, multipliers and shifts, and `tenslice
 * embed` wrote the arrays. Prints the outputs of the last two layers. model/convolution.py computes the same numbers.
 */
#include "board.h"
#include "weights.h" /* build.sh has it written, from the model */
#define REQUANTIZE_INTEGERS
#include "../requantize.h"

typedef struct {
    const int8_t *weight; /* [outer, size, size, inner]; of a depthwise layer [1, size, size, inner] */
    const int32_t *bias, *multiplier, *shift; /* [outer] */
    int inner, outer, size;
} layer;

#define LAYER(name, inner, outer, size) \
    {weights_##name##_weight, weights_##name##_bias, weights_##name##_weight_multiplier, weights_##name##_weight_shift, \
     inner, outer, size}

/* Convolves a square of `side` by `side` places without padding. `in` and `out` are [height, width, channels]. */
static void convolve(const layer *l, int is_depthwise, const int8_t *in, int side, int8_t *out)
{
    const int most = side - l->size + 1;
    int y, x, o, row, column, i;
    for (y = 0; y < most; y++)
        for (x = 0; x < most; x++)
            for (o = 0; o < l->outer; o++) {
                int32_t sum = l->bias[o];
                for (row = 0; row < l->size; row++)
                    for (column = 0; column < l->size; column++)
                        for (i = is_depthwise ? o : 0; i < (is_depthwise ? o + 1 : l->inner); i++)
                            sum += l->weight[(((is_depthwise ? 0 : o) * l->size + row) * l->size + column) * l->inner + i]
                                * in[((y + row) * side + x + column) * l->inner + i];
                sum = requantize(sum, l->multiplier[o], l->shift[o]);
                *out++ = (int8_t)(sum < -128 ? -128 : sum > 127 ? 127 : sum);
            }
}

int main(void)
{
    static const layer conv = LAYER(conv, 2, 4, 3), dw = LAYER(dw, 4, 4, 3), fc = LAYER(fc, 16, 3, 1);
    int8_t first[4 * 4 * 4], all[2 * 2 * 4 + 3];
    unsigned i;

    convolve(&conv, 0, weights_x, 6, first);
    convolve(&dw, 1, first, 4, all);
    convolve(&fc, 0, all, 1, all + 2 * 2 * 4);
    for (i = 0; i < sizeof all; i++) {
        print(i > 0 ? " " : "");
        print(all[i] < 0 ? "-" : "");
        print_number((uint32_t)(all[i] < 0 ? -all[i] : all[i]));
    }
    print("\n");
    return 0;
}
