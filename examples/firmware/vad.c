/*
 * A network that detects speech, Silero VAD for 16 kHz, from 310 KB of weights in flash: 8-bit weights with a scale for each
 * channel, and 16-bit activations. 32 bits hold the sum of the longest product, of 387 numbers. Everything up to the gates
 * of the LSTM is integers, in the scales of model/vad.py; gates and head are floats. model/vad.py computes the same in NumPy.
 *
 * Prints a line for each chunk of 512 samples, with a checksum of the integers of each layer and the bits of the
 * probability, and then the bits of the state. With -DFIGURES, prints the stack and the instructions of a chunk instead.
 */
#include "board.h"
#include "weights.h" /* build.sh has it written, from the model */
#define REQUANTIZE_INTEGERS
#include "../requantize.h"

#define CHUNK 512    /* samples of a chunk, 32 ms */
#define CONTEXT 64   /* samples of the chunk before */
#define REFLECTED 64 /* samples after the end: those before the last one, backwards */
#define WINDOW 256   /* samples of a frame */
#define HOP 128
#define FRAMES 4
#define BINS 129  /* frequencies */
#define UNITS 128 /* of the LSTM */
#define CHUNKS WEIGHTS_SIGNAL_DIM0

_Static_assert(WEIGHTS_STFT_CONV_WEIGHT_DIM0 == 2 * BINS && WEIGHTS_STFT_CONV_WEIGHT_DIM2 == WINDOW, "stft_conv");
_Static_assert(WEIGHTS_CONV1_WEIGHT_DIM0 == 128 && WEIGHTS_CONV1_WEIGHT_DIM2 == BINS, "conv1");
_Static_assert(WEIGHTS_CONV2_WEIGHT_DIM0 == 64 && WEIGHTS_CONV2_WEIGHT_DIM2 == 128, "conv2");
_Static_assert(WEIGHTS_CONV3_WEIGHT_DIM0 == 64 && WEIGHTS_CONV3_WEIGHT_DIM2 == 64, "conv3");
_Static_assert(WEIGHTS_CONV4_WEIGHT_DIM0 == UNITS && WEIGHTS_CONV4_WEIGHT_DIM2 == 64, "conv4");
_Static_assert(WEIGHTS_LSTM_CELL_WEIGHT_IH_DIM0 == 4 * UNITS && WEIGHTS_LSTM_CELL_WEIGHT_HH_DIM1 == UNITS, "lstm_cell");
_Static_assert(WEIGHTS_SIGNAL_DIM1 == CHUNK && sizeof weights_signal == CHUNKS * CHUNK * 2, "signal");

typedef struct {
    const int8_t *weight; /* [outer, 3, inner] */
    const int32_t *bias, *multiplier, *shift; /* [outer] */
    int inner, outer;
} layer;

#define LAYER(name, inner, outer) \
    {weights_##name##_weight, weights_##name##_bias, weights_##name##_weight_multiplier, weights_##name##_weight_shift, \
     inner, outer}

/* The numbers of a chunk, [frames, channels]. */
static int16_t samples[CONTEXT + CHUNK + REFLECTED], magnitudes[FRAMES * BINS], out1[FRAMES * 128], out2[2 * 64], out3[64];
static int16_t out4[UNITS];
static int32_t gates[4 * UNITS];
/* The state of the LSTM. A chunk leaves it to the next one, as it leaves the last CONTEXT of `samples`. */
static int16_t hidden[UNITS];
static float hidden_floats[UNITS], cell[UNITS];

static int32_t dot(const int8_t *weight, const int16_t *in, int count)
{
    int32_t sum = 0;
    for (; count >= 4; count -= 4, weight += 4, in += 4)
        sum += weight[0] * in[0] + weight[1] * in[1] + weight[2] * in[2] + weight[3] * in[3];
    while (count-- > 0)
        sum += *weight++ * *in++;
    return sum;
}

static int32_t clamp(int32_t number, int32_t least)
{
    return number < least ? least : number > 32767 ? 32767 : number;
}

/* The square root, rounded down. */
static uint32_t root(uint32_t square)
{
    uint32_t bit = UINT32_C(1) << 30, result = 0;
    for (; bit != 0; bit >>= 2) {
        const uint32_t sum = result + bit;
        result >>= 1;
        if (square >= sum) {
            square -= sum;
            result += bit;
        }
    }
    return result;
}

static int32_t filtered(int row, const int16_t *in)
{
    const int32_t sum = dot(weights_stft_conv_weight + row * WINDOW, in, WINDOW);
    return clamp(requantize(sum, weights_stft_conv_weight_multiplier[row], weights_stft_conv_weight_shift[row]), -32767);
}

/* The magnitudes of a short-time Fourier transform: rows of cosines, then of sines. */
static void transform(void)
{
    int frame, bin;
    for (frame = 0; frame < FRAMES; frame++)
        for (bin = 0; bin < BINS; bin++) {
            const int32_t re = filtered(bin, samples + frame * HOP), im = filtered(bin + BINS, samples + frame * HOP);
            magnitudes[frame * BINS + bin] = (int16_t)clamp((int32_t)root((uint32_t)(re * re) + (uint32_t)(im * im)), 0);
        }
}

/* Convolves with three frames, one of them before the place and one after it, and clamps negative numbers to 0. Beyond
   both ends all numbers are 0. The frames are contiguous, as the weights of a channel are, so a sum is one product. */
static void convolve(const layer *l, const int16_t *in, int frames, int stride, int16_t *out)
{
    int place, o;
    for (place = 0; place < frames; place += stride) {
        const int first = place > 0 ? place - 1 : 0, last = place + 2 < frames ? place + 2 : frames;
        for (o = 0; o < l->outer; o++) {
            const int8_t *weight = l->weight + (o * 3 + first - (place - 1)) * l->inner;
            const int32_t sum = l->bias[o] + dot(weight, in + first * l->inner, (last - first) * l->inner);
            *out++ = (int16_t)clamp(requantize(sum, l->multiplier[o], l->shift[o]), 0);
        }
    }
}

/* Computes 1 / (1 + e^-x), with e^-x = 2^(whole + rest), rest from -1/2 to 1/2, and 2^rest by the polynomial of degree 6
   with the coefficients ln(2)^k / k!, whose relative error is below 2e-7. */
static float sigmoid(float x)
{
    float power = x * -1.44269504f, rest, sum;
    union { uint32_t bits; float number; } two;
    int32_t whole;
    power = power < -100 ? -100 : power > 100 ? 100 : power;
    whole = (int32_t)(power + (power < 0 ? -0.5f : 0.5f));
    rest = power - (float)whole;
    sum = 0.000154035303934f;
    sum = sum * rest + 0.00133335581464f;
    sum = sum * rest + 0.00961812910763f;
    sum = sum * rest + 0.0555041086648f;
    sum = sum * rest + 0.240226506959f;
    sum = sum * rest + 0.69314718056f;
    sum = sum * rest + 1.0f;
    two.bits = (uint32_t)(whole + 127) << 23;
    return 1.0f / (1.0f + sum * two.number);
}

static float hyperbolic_tangent(float x)
{
    return 2.0f * sigmoid(2.0f * x) - 1.0f;
}

static int32_t gate(int row)
{
    const int32_t in = weights_lstm_cell_bias_ih[row] + dot(weights_lstm_cell_weight_ih + row * UNITS, out4, UNITS);
    const int32_t again = weights_lstm_cell_bias_hh[row] + dot(weights_lstm_cell_weight_hh + row * UNITS, hidden, UNITS);
    return requantize(in, weights_lstm_cell_weight_ih_multiplier[row], weights_lstm_cell_weight_ih_shift[row])
        + requantize(again, weights_lstm_cell_weight_hh_multiplier[row], weights_lstm_cell_weight_hh_shift[row]);
}

static void remember(void)
{
    const float scale = 1.0f / (1 << 20); /* of the gates */
    int i;
    for (i = 0; i < 4 * UNITS; i++)
        gates[i] = gate(i);
    for (i = 0; i < UNITS; i++) {
        const float in = sigmoid((float)gates[i] * scale), forget = sigmoid((float)gates[i + UNITS] * scale);
        const float next = hyperbolic_tangent((float)gates[i + 2 * UNITS] * scale);
        float steps;
        cell[i] = forget * cell[i] + in * next;
        hidden_floats[i] = sigmoid((float)gates[i + 3 * UNITS] * scale) * hyperbolic_tangent(cell[i]);
        steps = hidden_floats[i] * 32768.0f;
        hidden[i] = (int16_t)clamp((int32_t)(steps + (steps < 0 ? -0.5f : 0.5f)), -32767);
    }
}

/* Returns the probability that the next samples, CHUNK of them, are speech. */
static float detect(const int16_t *chunk)
{
    static const layer conv1 = LAYER(conv1, BINS, 128), conv2 = LAYER(conv2, 128, 64), conv3 = LAYER(conv3, 64, 64),
                       conv4 = LAYER(conv4, 64, UNITS);
    float sum = 0;
    int i;
    for (i = 0; i < CONTEXT; i++)
        samples[i] = samples[CHUNK + i];
    for (i = 0; i < CHUNK; i++)
        samples[CONTEXT + i] = chunk[i];
    for (i = 0; i < REFLECTED; i++)
        samples[CONTEXT + CHUNK + i] = samples[CONTEXT + CHUNK - 2 - i];
    transform();
    convolve(&conv1, magnitudes, FRAMES, 1, out1);
    convolve(&conv2, out1, FRAMES, 2, out2);
    convolve(&conv3, out2, 2, 2, out3);
    convolve(&conv4, out3, 1, 1, out4);
    remember();
    for (i = 0; i < UNITS; i++)
        sum = sum + (hidden_floats[i] > 0 ? hidden_floats[i] : 0) * weights_final_conv_weight[i];
    return sigmoid(sum + weights_final_conv_bias[0]);
}

#ifdef FIGURES
#include "figures.h"

static float probability;

static __attribute__((noinline)) void once(void)
{
    probability = detect(weights_signal);
}

int main(void)
{
    const uint32_t stack = stack_of(once) - stack_of(nothing);
    print_figures("chunk", stack, instructions_of(once) - instructions_of(nothing));
    return 0;
}

#else

static void print_bits(float number)
{
    const union { float number; uint32_t bits; } both = {number};
    print(" ");
    print_number(both.bits);
}

#define PRINT_SUM(numbers) \
    do { \
        uint32_t sum = 0; \
        unsigned n; \
        for (n = 0; n < sizeof(numbers) / sizeof *(numbers); n++) \
            sum = sum * 31 + (uint32_t)(numbers)[n]; \
        print_number(sum); \
        print(" "); \
    } while (0)

int main(void)
{
    unsigned i;
    for (i = 0; i < CHUNKS; i++) {
        const float probability = detect(weights_signal + i * CHUNK);
        PRINT_SUM(magnitudes);
        PRINT_SUM(out1);
        PRINT_SUM(out2);
        PRINT_SUM(out3);
        PRINT_SUM(out4);
        PRINT_SUM(gates);
        PRINT_SUM(hidden);
        print_bits(probability);
        print("\n");
    }
    for (i = 0; i < UNITS; i++) {
        print_bits(hidden_floats[i]);
        print_bits(cell[i]);
    }
    print("\n");
    return 0;
}

#endif
