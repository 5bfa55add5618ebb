/*
 * The network of int8.c, from arrays that `tenslice embed` wrote. There is no file at run time and no library: the types
 * and shapes are checked by the compiler.
 */
#include "board.h"
#include "network8.h"
#include "weights.h" /* build.sh has it written, from the model */

_Static_assert(WEIGHTS_LAYER1_WEIGHT_DIM0 == HIDDEN && WEIGHTS_LAYER1_WEIGHT_DIM1 == PIXELS, "layer1.weight");
_Static_assert(WEIGHTS_LAYER1_SCALE_DIM0 == HIDDEN && WEIGHTS_LAYER1_BIAS_DIM0 == HIDDEN, "layer1");
_Static_assert(WEIGHTS_LAYER2_WEIGHT_DIM0 == DIGITS && WEIGHTS_LAYER2_WEIGHT_DIM1 == HIDDEN, "layer2.weight");
_Static_assert(WEIGHTS_LAYER2_SCALE_DIM0 == DIGITS && WEIGHTS_LAYER2_BIAS_DIM0 == DIGITS, "layer2");
_Static_assert(sizeof weights_test_images == DIGITS * PIXELS && sizeof weights_test_logits == DIGITS * DIGITS * 4, "test");

int main(void)
{
    static const network net = {
        {weights_layer1_weight, weights_layer1_scale, weights_layer1_bias},
        {weights_layer2_weight, weights_layer2_scale, weights_layer2_bias},
        WEIGHTS_HIDDEN_SCALE_VALUE,
        weights_test_images,
        weights_test_logits,
    };
    return recognise(&net);
}
