// Prints the tensors of a file, and sums the elements of one tensor as a span, without copying. C++17 or later.
//
//     span FILE [NAME]
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>
#include <vector>

#include "tenslice.hpp"

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3) {
        std::cerr << "usage: " << argv[0] << " FILE [NAME]\n";
        return 2;
    }
    std::ifstream stream(argv[1], std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};

    const auto fail = [&](const tenslice::error &error) {
        std::array<char, 512> room;
        std::cerr << "error: " << argv[1] << ": " << error.explain(room, bytes.data(), bytes.size()) << '\n';
        return 1;
    };

    const auto file = tenslice::file::open(bytes.data(), bytes.size());
    if (!file) return fail(file.error());
    for (const tenslice::tensor tensor : file->tensors())
        std::cout << tensor.name() << ' ' << tensor.dtype_name() << '\n';
    if (argc == 3) {
        const auto tensor = file->find(argv[2]);
        if (!tensor) return fail(tensor.error());
        const auto numbers = tensor->as<float>();
        if (!numbers) return fail(numbers.error());
        std::cout << "sum " << std::accumulate(numbers->begin(), numbers->end(), 0.0F) << '\n';
    }
    return 0;
}
