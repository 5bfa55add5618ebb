// tenslice.hpp under the standard that this is compiled for, with and without TENSLICE_THROW.
// Argument: the fixtures.
#include "tenslice.hpp" // first: it must not need what comes after

#include <cstdlib>
#include <cstring>
#include <new>
#include <sstream>
#include <string>
#include <vector>

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
    static std::array<std::uint32_t, 64> words;
    CHECK(get(file.index_length()) == 3 * file.tensor_count());
    const auto index = get(file.index(words));
    CHECK(get(index.find("t.float64")).info().index == tensor.info().index);
    CHECK(status_of([&] { return index.find("nothing"); }) == TENSLICE_NOT_FOUND);
    CHECK(status_of([&] { return file.index({}); }) == TENSLICE_OUT_OF_SCRATCH);
    CHECK(status_of([&] { return tensor.find("values"); }) == TENSLICE_NOT_FOUND);
    CHECK(status_of([&] { return tensor.read_into({}); }) == TENSLICE_TOO_SMALL);
    const auto data = get(tensor.data());
    CHECK(data.caps() == (TENSLICE_CAP_BYTES | TENSLICE_CAP_RANGE | TENSLICE_CAP_DECODE));
    CHECK(data.range_scratch_length() == 0U && data.verify_scratch_length() == 0U && data.shard().empty());
    alignas(8) std::byte part[16];
    CHECK(get(data.read_range(8, part)).size() == 16 && std::memcmp(part, decoded + 8, 16) == 0);
    CHECK(status_of([&] { return data.read_range(length, part); }) == TENSLICE_NO_SUCH_ELEMENT);
    CHECK(status_of([&] { return data.with_shard({}); }) == TENSLICE_NOT_IN_SHARD);
    CHECK(get(data.verify()).without_digest == 1 && get(file.verify()).verified == 0);
    CHECK(file.verify_scratch_length() == 0U);
    CHECK(allocations == before);
    CHECK(tensor.name().to_string() == "t.float64");
    std::free(b.data);
}

/// A string as JSON spells it, with escapes.
tenslice::text escaped(std::string_view spelled)
{
    return tenslice::text(tenslice_str{spelled.data(), spelled.size(), 1, 0});
}

tenslice::text plain(std::string_view text) { return tenslice::text(tenslice_str{text.data(), text.size(), 0, 0}); }

void texts(const char *fixtures)
{
    using namespace std::string_view_literals;
    static_assert(std::is_trivially_copyable_v<tenslice::text> && tenslice::text().raw().empty(), "texts are plain");
    const struct {
        std::string_view means;
        std::vector<std::string_view> spellings;
    } all[] = {
        {"a.b"sv, {"a\\u002eb", "\\u0061.b", "\\u0061\\u002e\\u0062", "a.\\u0062"}},
        {"\xf0\x9f\x98\x80"sv, {"\\ud83d\\ude00", "\\uD83D\\uDE00"}},
        {"\"\\/\b\f\n\r\t"sv, {"\\\"\\\\\\/\\b\\f\\n\\r\\t", "\\u0022\\u005c\\u002F\\b\\f\\n\\r\\u0009"}},
        {"x\0y"sv, {"x\\u0000y", "\\u0078\\u0000\\u0079"}},
        {"gr\xc3\xbcn"sv, {"gr\\u00fcn", "gr\xc3\xbc\\u006e"}},
    };
    for (const auto &one : all) {
        const tenslice::text same = plain(one.means);
        CHECK(same.view() == one.means && same.raw() == one.means && same.length() == one.means.size());
        CHECK(same.to_string() == one.means && same == same && !same.is_escaped());
        for (const auto spelling : one.spellings) {
            const int before = allocations;
            const tenslice::text text = escaped(spelling);
            CHECK(text.is_escaped() && !text.view() && text.raw() == spelling && text.length() == one.means.size());
            CHECK(text == one.means && one.means == text && text == same && same == text && !(text != same));
            CHECK(text != spelling && text != one.means.substr(1) && text != plain("no"));
            CHECK(text != escaped("\\u006eo"));
            CHECK(text != tenslice::text() && tenslice::text() != text);
            for (const auto other : one.spellings)
                CHECK(text == escaped(other));
            std::array<char, 16> room;
            room.fill('#');
            CHECK(get(text.copy_to(room)) == one.means && room[one.means.size()] == 0);
            tenslice::span<char> little(room.data(), one.means.size());
            room.fill('#');
            CHECK(status_of([&] { return text.copy_to(little); }) == TENSLICE_TOO_SMALL && room[0] == '#');
            CHECK(allocations == before);
            CHECK(text.to_string() == one.means);
            std::ostringstream stream;
            stream << text << ' ' << same;
            CHECK(stream.str() == std::string(one.means) + ' ' + std::string(one.means));
        }
    }
    CHECK(escaped("\\u00") == "" && escaped("\\u00").to_string().empty() && escaped("\\") == escaped("\\ud83d"));
    std::ostringstream stream;
    stream.width(4);
    stream << plain("ab") << '|';
    CHECK(stream.str() == "  ab|");

    const blob b = load(fixtures, "safetensors/hm_names_escapes.safetensors");
    const auto file = get(tenslice::file::open(b.data, b.size));
    std::vector<std::uint32_t> words(get(file.index_length()));
    const auto index = get(file.index(words));
    for (const tenslice::tensor tensor : file.tensors()) {
        CHECK(get(file.find(tensor.name().to_string())).name() == tensor.name());
        CHECK(get(index.find(tensor.name().to_string())).info().index == tensor.info().index);
    }
    CHECK(get(file.find("abc")).name() == "abc" && get(file.find("abc")).name().is_escaped());
    std::free(b.data);

    // Floats of a byte are read as bytes; two of them in a byte are not read as any type.
    const blob c = load(fixtures, "safetensors/rs_all_dtypes.safetensors");
    const auto types = get(tenslice::file::open(c.data, c.size));
    CHECK(get(get(types.find("w.F8_E8M0")).as<std::uint8_t>()).size() == 24);
    CHECK(status_of([&] { return get(types.find("w.F4")).as<std::uint8_t>(); }) == TENSLICE_WRONG_TYPE);
    CHECK(get(get(get(types.find("w.F4")).data()).bytes()).size() == 12);
    std::free(c.data);
}

void shards(const char *fixtures)
{
    const blob b = load(fixtures, "safetensors/rs_sharded.safetensors.index.json");
    const int before = allocations;
    const auto index = get(tenslice::safetensors_index::open(b.data, b.size));
    CHECK(index.tensor_count() == 3 && get(index.find("enc.w")) == "rs_sharded-00001-of-00002.safetensors");
    CHECK(status_of([&] { return index.find("enc"); }) == TENSLICE_NOT_FOUND);
    std::size_t count = 0;
    auto entries = index.entries();
    for (const tenslice::safetensors_entry entry : entries) {
        CHECK(get(index.find(*entry.name.view())) == entry.file);
        count++;
    }
    CHECK(count == 3 && !entries.error());
    std::array<std::uint32_t, 3> scratch;
    const auto files = get(index.files(scratch));
    CHECK(files.size() == 2 && !files.empty() && files[0] == get(index.find("enc.b")));
    count = 0;
    for (const tenslice::text file : files)
        CHECK(file == files[count++]);
    CHECK(count == 2);
    tenslice::span<std::uint32_t> little(scratch.data(), 2);
    CHECK(status_of([&] { return index.files(little); }) == TENSLICE_OUT_OF_SCRATCH);
    CHECK(status_of([&] { return tenslice::safetensors_index::open("{}", 2); }) == TENSLICE_MISSING_KEY);
    CHECK(allocations == before);
    std::free(b.data);
}

void components_in_shards(const char *fixtures)
{
    const blob b = load(fixtures, "v2/shards.zt"), base = load(fixtures, "v2/shards-base.zt");
    const auto all = tenslice::span<const std::byte>(reinterpret_cast<const std::byte *>(base.data), base.size);
    const tenslice::span<const std::byte> cut(all.data(), all.size() - 1);
    const int before = allocations;
    const auto file = get(tenslice::file::open(b.data, b.size));
    int count = 0;
    auto shards = get(file.shards());
    for (const tenslice::ztensor2_shard shard : shards) {
        CHECK(shard.name == "base" && shard.size == base.size && shard.digest.substr(0, 7) == "sha256:");
        CHECK(get(file.check_shard(shard.name, all)));
        CHECK(status_of([&] { return file.check_shard(shard.name, cut); }) == TENSLICE_WRONG_LENGTH);
        count++;
    }
    CHECK(count == 1 && !shards.error());
    CHECK(status_of([&] { return file.check_shard("other", all); }) == TENSLICE_NOT_FOUND);
    count = 0;
    for (const auto &tensor : file.tensors()) {
        const auto component = get(tensor.data());
        if (component.shard().empty())
            continue;
        CHECK(status_of([&] { return component.bytes(); }) == TENSLICE_IN_SHARD);
        CHECK(get(get(component.with_shard(all)).bytes()).size() > 0);
        count++;
    }
    CHECK(count > 0);
    const auto other = get(tenslice::file::open(base.data, base.size));
    auto none = get(other.shards());
    CHECK(!(none.begin() != none.end()) && !none.error());
    CHECK(allocations == before);
    std::free(b.data);
    std::free(base.data);
}

void metadata(const char *fixtures)
{
    const blob b = load(fixtures, "gguf/kv_all_types.gguf");
    const auto file = get(tenslice::file::open(b.data, b.size));
    const int before = allocations;
    auto all = file.attributes();
    CHECK(all.length() == 29U);
    CHECK(get(all.get<std::uint64_t>("k.u64")) == UINT64_MAX && get(all.get<std::int64_t>("k.i64")) == INT64_MIN);
    CHECK(get(all.get<double>("k.f32")) == 1.5 && get(all.get<bool>("k.true")) && !get(all.get<bool>("k.false")));
    CHECK(get(all.get<tenslice::text>("general.architecture")) == "test");
    CHECK(status_of([&] { return all.get<std::int64_t>("k.u64"); }) == TENSLICE_WRONG_TYPE);
    CHECK(status_of([&] { return all.get<double>("k.u8"); }) == TENSLICE_WRONG_TYPE);
    CHECK(status_of([&] { return all.get<tenslice::text>("k.u"); }) == TENSLICE_NOT_FOUND);
    CHECK(status_of([&] { return all.get("k.u"); }) == TENSLICE_NOT_FOUND);

    const tenslice::value minimum = get(all.get("k.i64")), most = get(all.get("k.u64"));
    CHECK(minimum.kind() == TENSLICE_VALUE_INTEGER && minimum.as<std::int64_t>() == INT64_MIN);
    CHECK(!minimum.as<std::uint64_t>() && !minimum.as<double>() && !minimum.as<bool>() && !minimum.as<tenslice::text>());
    CHECK(most.as<std::uint64_t>() == UINT64_MAX && !most.as<std::int64_t>() && !most.as<std::string_view>());
    CHECK(get(all.get("k.i8")).as<std::int64_t>() == -128 && get(all.get("k.u8")).as<std::int64_t>() == 255);
    CHECK(get(all.get("k.f64.inf")).as<double>() > 1e308 && get(all.get("k.false")).as<bool>() == false);
    tenslice_value least{}; // -2^64, in which zTensor may write it
    least.kind = TENSLICE_VALUE_INTEGER, least.negative = 1;
    CHECK(!tenslice::value(least).as<std::int64_t>() && !tenslice::value(least).as<std::uint64_t>());
    CHECK(status_of([&] { return minimum.items(); }) != TENSLICE_OK);

    auto numbers = get(get(all.get("a.uint16")).items());
    CHECK(numbers.length() == 3U && numbers.extent()->length == 6 && !all.extent());
    std::uint64_t count = 0;
    for (const tenslice::attribute number : numbers)
        CHECK(number.key.kind() == 0 && number.value.as<std::uint64_t>() == ++count);
    CHECK(count == 3 && numbers.length() == 0U && !numbers.error());
    count = 0;
    for (const tenslice::attribute pair : all)
        count += pair.key.as<std::string_view>()->substr(0, 2) == "k.";
    CHECK(count == 16 && !all.error());
    CHECK(get(file.find("t")).attributes().length() == 0U && !get(file.find("t")).block());
    CHECK(allocations == before);
    std::free(b.data);

    const blob c = load(fixtures, "gguf/tokens_not_utf8.gguf");
    auto tokens = get(get(get(tenslice::file::open(c.data, c.size)).attributes().get("tokenizer.ggml.tokens")).items());
    constexpr std::string_view expected[] = {"ok", "\xff\xfe", "\xe4\xb8", "", "\xc3\xa9"};
    count = 0;
    for (const tenslice::attribute token : tokens)
        CHECK(token.value.as<std::string_view>() == expected[count++]);
    CHECK(count == 5);
    std::free(c.data);
}

void quantized(const char *fixtures)
{
    const blob b = load(fixtures, "gguf-blocks/q4_k.gguf"), f = load(fixtures, "gguf-blocks/q4_k.f32");
    const auto file = get(tenslice::file::open(b.data, b.size));
    const int before = allocations;
    static std::array<float, 2048> numbers;
    const auto tensor = get(file.find("q4_k.real"));
    const auto block = tensor.block();
    CHECK(tensor.layout_name() == "gguf.q4_k" && tensor.dtype() == 0);
    CHECK(block && block->number == 12 && block->elements == 256 && block->bytes == 144);
    CHECK(tensor.f32_scratch_length() == 0U);
    const auto all = get(tensor.read_f32_into(numbers));
    CHECK(all.size() == 1024 && all.data() == numbers.data());
    if (little_endian() == TENSLICE_OK)
        CHECK(std::memcmp(all.data(), f.data, 4 * all.size()) == 0);
    std::array<float, 3> part;
    const auto some = get(tensor.read_f32(255, part));
    CHECK(some.size() == 3 && std::equal(part.begin(), part.end(), numbers.begin() + 255));
    CHECK(status_of([&] { return tensor.read_f32(1022, part); }) == TENSLICE_NO_SUCH_ELEMENT);
    CHECK(status_of([&] { return tensor.read_f32_into(part); }) == TENSLICE_TOO_SMALL);
    CHECK(status_of([&] { return tensor.data(); }) == TENSLICE_NOT_DENSE);
    CHECK(get(get(tensor.find("data")).bytes()).size() == 576);
    CHECK(allocations == before);
    std::free(b.data);
    std::free(f.data);
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
    texts(argv[1]);
    shards(argv[1]);
    components_in_shards(argv[1]);
    metadata(argv[1]);
    quantized(argv[1]);
    refused(argv[1]);
    std::puts("hpp: ok");
    return 0;
}
