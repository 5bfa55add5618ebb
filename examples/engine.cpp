// examples/engine.c in C++17: loads the weights of a transformer by a table of names and shapes. Exceptions say what
// the file has instead. Then finds one tensor by ranges, as for a file that is only partly in memory.
//
//     engine FILE
#define TENSLICE_THROW
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "tenslice.hpp"

int main(int argc, char **argv)
try {
    constexpr std::uint64_t layers = 22, hidden = 8, keys = 4, inner = 16, words = 12;
    const struct weight {
        const char *name;
        std::vector<std::uint64_t> shape; // a matrix is f16, a vector f32
    } embedding = {"model.embed_tokens.weight", {words, hidden}}, last = {"model.norm.weight", {hidden}}, block[] = {
        {"input_layernorm.weight", {hidden}}, {"post_attention_layernorm.weight", {hidden}},
        {"self_attn.q_proj.weight", {hidden, hidden}}, {"self_attn.k_proj.weight", {keys, hidden}},
        {"self_attn.v_proj.weight", {keys, hidden}}, {"self_attn.o_proj.weight", {hidden, hidden}},
        {"mlp.gate_proj.weight", {inner, hidden}}, {"mlp.up_proj.weight", {inner, hidden}},
        {"mlp.down_proj.weight", {hidden, inner}},
    };
    std::ifstream stream(argc == 2 ? argv[1] : "", std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
    const auto file = tenslice::file::open(bytes.data(), bytes.size());
    std::vector<std::uint32_t> memory(file.index_length());
    const auto index = file.index(memory);

    const auto load = [&](const std::string &name, const std::vector<std::uint64_t> &shape) {
        if (shape.size() == 1) { // a span into the bytes
            const auto numbers = index.expect<float>(name, shape);
            return std::accumulate(numbers.begin(), numbers.end(), 0.0);
        }
        std::vector<float> numbers(index.expect(name, TENSLICE_F16, shape).size() / 2); // converted
        index.find(name).read_f32(0, numbers);
        return std::accumulate(numbers.begin(), numbers.end(), 0.0);
    };
    double sum = load(embedding.name, embedding.shape) + load(last.name, last.shape);
    for (std::uint64_t layer = 0; layer < layers; layer++)
        for (const weight &one : block)
            sum += load("model.layers." + std::to_string(layer) + '.' + one.name, one.shape);

    // By ranges: the library says which bytes it needs. (A real program would read them from a device and keep them.)
    tenslice::source source(bytes.size());
    while (const auto need = source.needs())
        source.add(need->offset, bytes.data() + need->offset, static_cast<std::size_t>(need->length));
    const auto info = source.open().find(embedding.name).data().info();
    std::cout << "sum " << sum << "; the first has " << info.length << " bytes at " << info.offset << '\n';
} catch (const tenslice::exception &why) {
    std::cerr << "error: " << why.what() << '\n';
    return 1;
}
