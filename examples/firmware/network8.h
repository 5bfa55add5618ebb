/*
 * The network of int8.c and embedded.c: recognises handwritten digits with integers. 8-bit weights, with a scale for each
 * row, are multiplied in place in flash. No weight is converted to float or copied. Between the layers the numbers are
 * rounded to 8 bits again. Include it after board.h.
 */
#ifndef NETWORK8_H
#define NETWORK8_H

#define PIXELS 64
#define HIDDEN 32
#define DIGITS 10

typedef struct {
    const int8_t *weight; /* [rows, columns] */
    const float *scale;   /* [rows] */
    const float *bias;    /* [rows] */
} layer;

typedef struct {
    layer first, second;
    float hidden_scale;    /* of the numbers between the layers */
    const int8_t *images;  /* [DIGITS, PIXELS] */
    const float *expected; /* [DIGITS, DIGITS]: the logits of the images */
} network;

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

/* Returns 0 if all ten digits are recognised, and every logit equals the expected one bit for bit. */
static int recognise(const network *network)
{
    float hidden[HIDDEN], logits[DIGITS];
    int8_t small[HIDDEN];
    unsigned digit, i, right = 0, exact = 0;

    print("digits:");
    for (digit = 0; digit < DIGITS; digit++) {
        const unsigned char *const bytes = (const unsigned char *)logits;
        const unsigned char *const right_bytes = (const unsigned char *)(network->expected + digit * DIGITS);
        unsigned best = 0, same = 0;
        compute(&network->first, network->images + digit * PIXELS, hidden, HIDDEN, PIXELS);
        for (i = 0; i < HIDDEN; i++) {
            const float steps = hidden[i] > 0 ? hidden[i] / network->hidden_scale + 0.5f : 0;
            small[i] = steps < 127 ? (int8_t)steps : 127;
        }
        compute(&network->second, small, logits, DIGITS, HIDDEN);
        for (i = 1; i < DIGITS; i++)
            best = logits[i] > logits[best] ? i : best;
        for (i = 0; i < sizeof logits; i++)
            same += bytes[i] == right_bytes[i];
        print(" ");
        print_number(best);
        right += best == digit;
        exact += same == sizeof logits;
    }
    print("\n");
    print_number(right);
    print(" of 10 are right, ");
    print_number(exact);
    print(" to the last bit, from weights of 8 bits\n");
    return right == DIGITS && exact == DIGITS ? 0 : 1;
}

#endif
