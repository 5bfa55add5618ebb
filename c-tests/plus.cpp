// The header in C++: no warnings, constants usable in constant expressions, handles copied by assignment. Argument: the
// fixtures.
#include "tenslice.h" // first: it must not interfere with later headers

#include <string>
#include <type_traits>

#include "support.h"

static_assert(std::is_trivially_copyable<tenslice_file>::value, "handles are plain");
static_assert(TENSLICE_F32 == 17, "codes are constants");

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    blob b = load(argv[1], "v1.2/dense_all_dtypes.zt");
    tenslice_file file;
    EXPECT(TENSLICE_OK, tenslice_file_open(&file, b.data, b.size, nullptr));
    tenslice_file copy = file;
    std::string names;
    tenslice_cursor cursor;
    tenslice_tensor tensor;
    EXPECT(TENSLICE_OK, tenslice_file_tensors(&copy, &cursor));
    while (tenslice_tensors_next(&cursor, &tensor, nullptr) == TENSLICE_OK) {
        tenslice_tensor_info info;
        info.struct_size = sizeof info;
        EXPECT(TENSLICE_OK, tenslice_tensor_get_info(&tensor, &info));
        names.append(info.name.data, info.name.length).append(" ");
    }
    CHECK(names.find("t.float32 ") != std::string::npos);
    std::free(b.data);
    std::puts("plus: ok");
    return 0;
}
