/*
 * Prints a model that tenslice_host.c opens: its files, its tensors, what is wrong with it, and the message for each
 * name that is passed and not found. models.sh compares the output with that of other languages. Arguments: the path of
 * the model, then names of tensors.
 */
#include <stdio.h>
#include <string.h>

#include "tenslice_host.h"

static void print(const char *what, tenslice_str text)
{
    static char room[1 << 16];
    tenslice_str_copy(&text, room, sizeof room, NULL);
    printf("%s%s", what, room);
}

int main(int argc, char **argv)
{
    static char text[1 << 16];
    tenslice_host *host = argc < 2 ? NULL : tenslice_host_open(argv[1], text, sizeof text);
    const tenslice_model *model = tenslice_host_model(host);
    tenslice_model_tensors tensors;
    tenslice_model_problems problems;
    tenslice_problem problem;
    tenslice_tensor tensor;
    tenslice_floats numbers;
    tenslice_str name;
    uint64_t count, file;
    int i;

    if (host == NULL) return printf("error: %s\n", text) < 0 ? 2 : 1;
    tenslice_model_file_count(model, &count);
    for (file = 0; file < count; file++) {
        tenslice_model_get_file(model, file, &name, NULL);
        print("file ", name);
        putchar('\n');
    }
    tenslice_model_get_tensors(model, &tensors);
    while (tenslice_model_next_tensor(&tensors, &tensor, &file, NULL) == TENSLICE_OK) {
        print("tensor ", tenslice_tensor_name(&tensor));
        tenslice_model_get_file(model, file, &name, NULL);
        print(" in ", name);
        putchar('\n');
    }
    tenslice_model_get_problems(model, &problems);
    while (tenslice_model_next_problem(&problems, &problem) == TENSLICE_OK) {
        tenslice_problem_text(&problem, text, sizeof text, NULL);
        printf("problem %s\n", text);
    }
    for (i = 2; i < argc; i++) {
        const tenslice_bytes bytes = tenslice_host_get(host, argv[i], NULL, text, sizeof text);
        if (bytes.data != NULL) {
            const unsigned char *data = (const unsigned char *)bytes.data;
            uint64_t sum = 0;
            size_t k;
            for (k = 0; k < bytes.length; k++) sum += data[k];
            printf("%s: %lu bytes, sum %lu\n", argv[i], (unsigned long)bytes.length, (unsigned long)sum);
        } else {
            printf("%s: %s\n", argv[i], text);
        }
        numbers = tenslice_host_get_f32(host, argv[i], NULL, text, sizeof text);
        if (numbers.data != NULL) {
            double sum = 0;
            size_t k;
            for (k = 0; k < numbers.length; k++) sum += numbers.data[k];
            printf("%s: %lu numbers, sum %.3f\n", argv[i], (unsigned long)numbers.length, sum);
        } else {
            printf("%s: %s\n", argv[i], text);
        }
    }
    tenslice_host_close(host);
    return 0;
}
