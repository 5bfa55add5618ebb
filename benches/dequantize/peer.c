/* The functions of ggml that dequantize rows, by the number of the type. PEER is the name of the function. */
#include "../ggml.h"

/* Writes n numbers. Returns 0 if ggml has no such function. All code is in one file, so that the compiler may inline
   it. */
int PEER(int type, const void *blocks, float *numbers, int64_t n) {
    switch (type) {
#define CASE(TYPE, NAME) \
    case GGML_TYPE_##TYPE: \
        dequantize_row_##NAME(blocks, numbers, n); \
        return 1;
        CASE(Q4_0, q4_0)
        CASE(Q4_1, q4_1)
        CASE(Q5_0, q5_0)
        CASE(Q5_1, q5_1)
        CASE(Q8_0, q8_0)
        CASE(Q2_K, q2_K)
        CASE(Q3_K, q3_K)
        CASE(Q4_K, q4_K)
        CASE(Q5_K, q5_K)
        CASE(Q6_K, q6_K)
        CASE(Q8_K, q8_K)
        CASE(IQ2_XXS, iq2_xxs)
        CASE(IQ2_XS, iq2_xs)
        CASE(IQ3_XXS, iq3_xxs)
        CASE(IQ1_S, iq1_s)
        CASE(IQ4_NL, iq4_nl)
        CASE(IQ3_S, iq3_s)
        CASE(IQ2_S, iq2_s)
        CASE(IQ4_XS, iq4_xs)
        CASE(IQ1_M, iq1_m)
        CASE(TQ1_0, tq1_0)
        CASE(TQ2_0, tq2_0)
        CASE(MXFP4, mxfp4)
        CASE(NVFP4, nvfp4)
        CASE(Q1_0, q1_0)
        CASE(Q2_0, q2_0)
    default:
        return 0;
    }
}
