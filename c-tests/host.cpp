/*
 * Prints what host.c prints, by tenslice::model. models.sh compares both. Arguments: the path of the model, then names of
 * tensors.
 */
#include <iomanip>
#include <iostream>
#include <numeric>

#include "tenslice.hpp"

int main(int argc, char **argv)
{
    auto model = tenslice::model::open(argc < 2 ? "" : argv[1]);
    if (!model) return std::cout << "error: " << model.why() << '\n', 1;
    std::uint64_t count = 0, file = 0;
    tenslice_model_file_count(model.handle(), &count);
    for (tenslice_str name; file < count; file++) {
        tenslice_model_get_file(model.handle(), file, &name, nullptr);
        std::cout << "file " << tenslice::text(name) << '\n';
    }
    tenslice_model_tensors with_files; /* the same tensors, each with the number of its file */
    tenslice_model_get_tensors(model.handle(), &with_files);
    for (const tenslice::tensor tensor : model.tensors()) {
        tenslice_tensor same;
        tenslice_str name;
        tenslice_model_next_tensor(&with_files, &same, &file, nullptr);
        tenslice_model_get_file(model.handle(), file, &name, nullptr);
        std::cout << "tensor " << tensor.name().to_string() << " in " << tenslice::text(name) << '\n';
    }
    for (const tenslice::problem problem : model.problems())
        std::cout << "problem " << problem.to_string() << '\n';
    auto moved = std::move(model);
    for (int i = 2; i < argc; i++) {
        std::cout << argv[i] << ": ";
        if (const auto bytes = moved.get(argv[i], TENSLICE_ANY))
            std::cout << bytes->size() << " bytes, sum "
                      << std::accumulate(bytes->begin(), bytes->end(), std::uint64_t{0},
                                         [](std::uint64_t sum, std::byte byte) { return sum + std::to_integer<unsigned>(byte); })
                      << '\n';
        else
            std::cout << moved.explain(bytes.error(), argv[i]) << '\n';
        std::cout << argv[i] << ": ";
        if (const auto all = moved.get_f32(argv[i]))
            std::cout << all->size() << " numbers, sum " << std::fixed << std::setprecision(3)
                      << std::accumulate(all->begin(), all->end(), 0.0) << '\n';
        else
            std::cout << moved.explain(all.error(), argv[i]) << '\n';
    }
    return 0;
}
