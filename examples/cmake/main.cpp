// Prints the length and the first element of a tensor: main FILE NAME
#include <fstream>
#include <iostream>
#include <iterator>
#include <tenslice.hpp>
#include <vector>

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    std::ifstream stream(argv[1], std::ios::binary);
    const std::vector<char> model{std::istreambuf_iterator<char>(stream), {}};
    const auto file = tenslice::file::open(model.data(), model.size());
    if (!file) return 1;
    const auto tensor = file->find(argv[2]);
    if (!tensor) return 1;
    const auto numbers = tensor->as<float>();
    if (!numbers) return 1;
    std::cout << argv[2] << ": " << numbers->size() << " numbers, the first is " << (*numbers)[0] << '\n';
    return 0;
}
