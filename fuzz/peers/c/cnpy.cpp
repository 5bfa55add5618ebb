// Reads a file with cnpy: an array or, if the name ends in .npz, an archive.
#include "cnpy.h"

#include "common.h"

static void use(const cnpy::NpyArray &array)
{
    use(array.data_holder->data(), array.num_vals * array.word_size);
}

int main(int count, char **arguments)
{
    const std::string path = arguments[count - 1];
    try {
        if (path.size() > 4 && path.substr(path.size() - 4) == ".npz") {
            for (const auto &named : cnpy::npz_load(path))
                use(named.second);
        } else {
            use(cnpy::npy_load(path));
        }
    } catch (const std::bad_alloc &) {
        return NO_MEMORY;
    } catch (const std::exception &) {
        return REFUSED;
    }
    return 0;
}
