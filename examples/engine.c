/*
 * Loads the weights of a transformer as an inference engine does, from a file or from a folder with a model in several
 * files. Compares every shape, and gets every weight as floats: in the mapped file if they are stored so, otherwise
 * converted. Prints a message if a weight is missing or different.
 *
 *     engine MODEL
 */
#include <stdio.h>
#include "tenslice_host.h"

enum { LAYERS = 22, HIDDEN = 8, KEYS = 4, MLP = 16, WORDS = 12 };

/* Returns the sum of the numbers of a weight; an engine would keep the pointer. Sets `loaded` to 0 on failure. */
static double load(tenslice_host *host, const char *name, size_t rank, const uint64_t *shape,
                   int *loaded)
{
    const tenslice_expected expected = {sizeof expected, TENSLICE_ANY, rank, shape};
    double sum = 0;
    char why[512];
    const tenslice_floats numbers = tenslice_host_get_f32(host, name, &expected, why, sizeof why);
    if (numbers.data == NULL)
        return fprintf(stderr, "error: %s\n", why), *loaded = 0;
    for (size_t i = 0; i < numbers.length; i++)
        sum += numbers.data[i];
    return sum;
}

int main(int argc, char **argv)
{
    static const uint64_t words[] = {WORDS, HIDDEN}, keys[] = {KEYS, HIDDEN}, up[] = {MLP, HIDDEN};
    static const uint64_t square[] = {HIDDEN, HIDDEN}, down[] = {HIDDEN, MLP};
    static const struct { const char *name; size_t rank; const uint64_t *shape; } block[] = {
        {"input_layernorm", 1, square}, {"post_attention_layernorm", 1, square},
        {"self_attn.q_proj", 2, square}, {"self_attn.k_proj", 2, keys},
        {"self_attn.v_proj", 2, keys}, {"self_attn.o_proj", 2, square},
        {"mlp.gate_proj", 2, up}, {"mlp.up_proj", 2, up}, {"mlp.down_proj", 2, down},
    };
    char name[64], why[512];
    int loaded = 1;
    tenslice_host *host = tenslice_host_open(argc == 2 ? argv[1] : NULL, why, sizeof why);
    if (host == NULL) return fprintf(stderr, "error: %s\n", why), 1;
    double sum = load(host, "model.embed_tokens.weight", 2, words, &loaded);
    sum += load(host, "model.norm.weight", 1, square, &loaded);
    for (int i = 0; loaded && i < LAYERS * 9; i++) {
        snprintf(name, sizeof name, "model.layers.%d.%s.weight", i / 9, block[i % 9].name);
        sum += load(host, name, block[i % 9].rank, block[i % 9].shape, &loaded);
    }
    loaded = loaded && printf("all weights are loaded, sum %g\n", sum) > 0;
    tenslice_host_close(host);
    return !loaded;
}
