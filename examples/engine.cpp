// examples/engine.c in C++17: loads the weights of a transformer from a file, or from a folder with a model in several
// files. Exceptions say what the model has instead.
//
//     engine MODEL
#define TENSLICE_THROW
#include <iostream>
#include <string>
#include <vector>
#include "tenslice.hpp"

int main(int argc, char **argv) try {
    const std::pair<std::string, std::vector<std::uint64_t>> block[] = {
        {"input_layernorm", {8}}, {"post_attention_layernorm", {8}}, {"self_attn.q_proj", {8, 8}},
        {"self_attn.k_proj", {4, 8}}, {"self_attn.v_proj", {4, 8}}, {"self_attn.o_proj", {8, 8}},
        {"mlp.gate_proj", {16, 8}}, {"mlp.up_proj", {16, 8}}, {"mlp.down_proj", {8, 16}},
    };
    auto model = tenslice::model::open(argc == 2 ? argv[1] : "");
    double sum = 0;
    const auto load = [&](const std::string &name, const tenslice::numbers &shape) {
        for (const float number : model.get_f32(name + ".weight", shape)) // an engine would keep this span
            sum += number;
    };
    load("model.embed_tokens", {12, 8}), load("model.norm", {8});
    for (int layer = 0; layer < 22; layer++)
        for (const auto &[name, shape] : block)
            load("model.layers." + std::to_string(layer) + '.' + name, shape);
    std::cout << "all weights are loaded, sum " << sum << '\n';
} catch (const tenslice::exception &why) {
    return std::cerr << "error: " << why.what() << '\n', 1;
}
