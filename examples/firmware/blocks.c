/* Only decodes quantized blocks, of the types in TYPES or of all types. For size.sh. */
#include "board.h"
#include "tenslice.h"

#ifndef TYPES
#define TYPES                                                                                                        \
    CALL(q4_0) CALL(q4_1) CALL(q5_0) CALL(q5_1) CALL(q8_0) CALL(q8_1) CALL(q2_k) CALL(q3_k) CALL(q4_k) CALL(q5_k)    \
    CALL(q6_k) CALL(q8_k) CALL(iq2_xxs) CALL(iq2_xs) CALL(iq3_xxs) CALL(iq1_s) CALL(iq4_nl) CALL(iq3_s) CALL(iq2_s)  \
    CALL(iq4_xs) CALL(iq1_m) CALL(tq1_0) CALL(tq2_0) CALL(mxfp4) CALL(nvfp4) CALL(q1_0) CALL(q2_0)
#endif

#define CALL(type) failed |= tenslice_##type##_to_f32(model_start, 300, 0, numbers, 32);

int main(void)
{
    static float numbers[32];
    int failed = 0;

    TYPES
    return failed;
}
