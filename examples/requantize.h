/* The arithmetic of layers with 8-bit weights, as CMSIS-NN has it.

   requantize scales a sum, for programs without CMSIS-NN. The other two functions compute the integers that it takes
   besides the weights, as `tenslice quantize --activations` does, for programs that know the scales of activations only
   later: link with -lm. With REQUANTIZE_INTEGERS, the header has only the first, which needs no C library. */
#ifndef TENSLICE_REQUANTIZE_H
#define TENSLICE_REQUANTIZE_H

#include <stdint.h>

/* Scales a sum by multiplier / 2^31 * 2^shift, as arm_nn_requantize does by default: rounds the product by 2^31, half up,
   and then the result by a power of two, half away from zero. If shift is above 0, the sum must leave room for it. */
static inline int32_t requantize(int32_t sum, int32_t multiplier, int32_t shift) {
    const int64_t moved = shift > 0 ? sum * ((int64_t)1 << shift) : sum;
    const int64_t high = (moved * multiplier + ((int64_t)1 << 30)) >> 31;
    int64_t magnitude = high < 0 ? -high : high;
    if (shift < 0) {
        magnitude = (magnitude + ((int64_t)1 << (-shift - 1))) >> -shift;
    }
    return (int32_t)(high < 0 ? -magnitude : magnitude);
}

#ifndef REQUANTIZE_INTEGERS
#include <math.h>

/* Splits the factor `in * weight / out` of three scales into *multiplier / 2^31 * 2^*shift. Call it for each channel.
   Returns 0, and writes nothing, if the factor is negative, not a number, or 2^30 or more. */
static inline int requantize_factor(double in, double weight, double out, int32_t *multiplier, int32_t *shift) {
    const double factor = in * weight / out;
    double fraction;
    int64_t fixed;
    int exponent;
    if (!(factor >= 0 && factor < 1073741824.0)) {
        return 0;
    }
    fraction = frexp(factor, &exponent); /* from 0.5 on, below 1 */
    fixed = (int64_t)round(fraction * 2147483648.0);
    if (fixed == INT64_C(2147483648)) {
        fixed /= 2;
        exponent++;
    }
    if (exponent > 30) {
        return 0; /* rounded up to 2^30 */
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
#endif
