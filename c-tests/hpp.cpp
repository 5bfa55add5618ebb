// tenslice.hpp under the standard that this is compiled for, with and without TENSLICE_THROW.
// Argument: the fixtures.
#include "tenslice.hpp" // first: it must not need what comes after

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "support.h"

namespace {

// The header and the library allocate nothing: what does is counted.
int allocations = 0;

#if defined(TENSLICE_THROW)
template <class T> T get(T value) { return value; }
#else
template <class T> T get(const tenslice::result<T> &result)
{
    CHECK(result.has_value() && result);
    return *result;
}
#endif

/// The status of a call that must fail.
template <class Call> tenslice_status status_of(Call call)
{
#if defined(TENSLICE_THROW)
    try {
        call();
    } catch (const tenslice::exception &why) {
        CHECK(std::string_view(why.what()).size() > 5);
        return why.error().status();
    }
    return TENSLICE_OK;
#else
    const auto result = call();
    CHECK(!result && !result.has_value());
    CHECK(std::string_view(result.error().what()).size() > 5);
    return result.error().status();
#endif
}

void dense(const char *fixtures)
{
    const blob b = load(fixtures, "v1.2/dense_all_dtypes.zt");
    const int before = allocations;
    const auto file = get(tenslice::file::open(b.data, b.size));
    CHECK(file.version() == "1.2.0" && file.warnings() == 0);
    std::uint64_t count = 0, bytes = 0;
    auto all = file.tensors();
    for (const tenslice::tensor tensor : all) {
        count++;
        for (const tenslice::component component : tensor.components()) {
            CHECK(component.role() == "data");
            bytes += get(component.bytes()).size();
        }
    }
    CHECK(count == file.tensor_count() && count > 5 && bytes > 100 && !all.error());
    const auto tensor = get(file.find("t.float64"));
    CHECK(tensor.name() == "t.float64" && tensor.layout_name() == "dense" && tensor.dtype() == TENSLICE_F64);
    CHECK(std::string_view(tensor.dtype_name()) == "f64");
    std::array<std::uint64_t, 4> room;
    const auto shape = get(tensor.shape(room));
    CHECK(shape.size() == tensor.rank());
    tenslice::span<std::uint64_t> view(room);
    CHECK(view.size() == 4 && view.subspan(1, 2).size() == 2 && &view.back() == &room[3]);
    const auto strides = get(tensor.strides(room));
    CHECK(strides.size() == tensor.rank() && strides[strides.size() - 1] == 1);
    alignas(8) static std::byte decoded[256];
    const auto length = get(tensor.read_into(tenslice::span<std::byte>(decoded)));
    CHECK(tensor.dense_length() == length && tensor.scratch_length() == 0U);
    static const std::uint16_t one = 1;
    if (*reinterpret_cast<const unsigned char *>(&one) == 1) {
        // Where the bytes lie well for it, a span into the file; the heap of the test is aligned.
        const auto numbers = get(tensor.as<double>());
        CHECK(numbers.size() == length / sizeof(double));
        CHECK(std::memcmp(numbers.data(), decoded, length) == 0);
        CHECK(reinterpret_cast<const unsigned char *>(numbers.data()) > b.data);
        CHECK(get(get(file.find("t.uint8")).as<std::uint8_t>()).size() == 9);
        CHECK(get(get(file.find("t.float16")).as<std::uint16_t>()).size() > 0);
    }
#if defined(__SIZEOF_INT128__)
    __extension__ typedef __int128 wide;
    static_assert(tenslice::detail::dtype_of<wide>() == 0, "two 64-bit numbers are not one of 128 bits");
#endif
    CHECK(status_of([&] { return tensor.as<float>(); }) == TENSLICE_WRONG_TYPE);
    CHECK(status_of([&] { return file.find("nothing"); }) == TENSLICE_NOT_FOUND);
    CHECK(status_of([&] { return tensor.find("values"); }) == TENSLICE_NOT_FOUND);
    CHECK(status_of([&] { return tensor.read_into({}); }) == TENSLICE_TOO_SMALL);
    CHECK(allocations == before);
    std::free(b.data);
}

void refused(const char *fixtures)
{
    const blob b = load(fixtures, "bad/v1.2/end_past_eof.zt");
#if defined(TENSLICE_THROW)
    try {
        (void)tenslice::file::open(b.data, b.size);
        CHECK(!"thrown");
    } catch (const tenslice::exception &thrown) {
        const tenslice::error why = thrown.error();
#else
    {
        const tenslice::error why = tenslice::file::open(b.data, b.size).error();
#endif
        std::array<char, 256> room;
        const std::string text(why.explain(room, b.data, b.size));
        CHECK(why.status() == TENSLICE_OUT_OF_FILE && why.offset());
        CHECK(text.find("offset 64 + length 100000 exceeds the file (323 bytes)") != std::string::npos);
        std::array<char, 4> little;
        CHECK(why.explain(little, b.data, b.size) == why.what());
    }
    std::free(b.data);
}

} // namespace

void *operator new(std::size_t size)
{
    allocations++;
    if (void *place = std::malloc(size))
        return place;
    std::abort();
}
void operator delete(void *place) noexcept { std::free(place); }
void operator delete(void *place, std::size_t) noexcept { std::free(place); }

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    dense(argv[1]);
    refused(argv[1]);
    std::puts("hpp: ok");
    return 0;
}
