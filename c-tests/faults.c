/* Faults that the header forbids. sanitize.sh must detect each of them. Arguments: the fixtures, the fault's name. */
#include "support.h"

int main(int argc, char **argv)
{
    blob b;
    tenslice_file file;
    volatile int largest = INT32_MAX;
    volatile int sum;
    unsigned char *unset;
    float number;

    CHECK(argc == 3);
    b = load(argv[1], "v1.2/dense_all_dtypes.zt");
    if (strcmp(argv[2], "behind") == 0) { /* the library reads a second block, but there is only one */
        unset = (unsigned char *)calloc(1, 34);
        return tenslice_q8_0_to_f32(unset, 68, 33, &number, 1) == TENSLICE_OK;
    }
    if (strcmp(argv[2], "unset") == 0) { /* uninitialized bytes */
        unset = (unsigned char *)malloc(b.size);
        CHECK(unset != NULL);
        return tenslice_file_open(&file, unset, b.size, NULL) == TENSLICE_OK;
    }
    if (strcmp(argv[2], "overflow") == 0) { /* in C: no argument makes the library overflow */
        sum = largest + argc;
        return sum > 0;
    }
    fprintf(stderr, "no such fault: %s\n", argv[2]);
    return 2;
}
