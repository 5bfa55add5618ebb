/* Computes the integers that CMSIS-NN takes besides 8-bit weights, as `tenslice quantize --activations` does. For
   programs that know the scales of activations only later; link with -lm. */
#ifndef TENSLICE_REQUANTIZE_H
#define TENSLICE_REQUANTIZE_H

#include <math.h>
#include <stdint.h>

/* Splits the factor `in * weight / out` of three scales into *multiplier / 2^31 * 2^*shift. Call it for each channel.
   Returns 0, and writes nothing, if the factor is 2^30 or more. */
static inline int requantize_factor(double in, double weight, double out, int32_t *multiplier, int32_t *shift) {
    int exponent;
    double fraction = frexp(in * weight / out, &exponent); /* from 0.5 on, below 1 */
    int64_t fixed = (int64_t)round(fraction * 2147483648.0);
    if (fixed == INT64_C(2147483648)) {
        fixed /= 2;
        exponent++;
    }
    if (exponent > 30) {
        return 0;
    }
    *multiplier = exponent < -31 ? 0 : (int32_t)fixed;
    *shift = exponent < -31 ? 0 : exponent;
    return 1;
}

/* Converts a bias to an integer of the scale `in * weight`. Returns 0, and writes nothing, if 32 bits cannot hold it. */
static inline int requantize_bias(float bias, double in, double weight, int32_t *integer) {
    double rounded = round((double)bias / (in * weight));
    if (!(rounded >= -2147483648.0 && rounded <= 2147483647.0)) {
        return 0;
    }
    *integer = (int32_t)rounded;
    return 1;
}

#endif
