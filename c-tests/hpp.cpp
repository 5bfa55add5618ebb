// tenslice.hpp under the standard in use, with and without TENSLICE_THROW. Argument: the fixtures.
#include "tenslice.hpp" // first: it must not need later headers

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "support.h"

namespace {

// The header and the library never allocate: allocations are counted.
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

/// The message of the exception. Empty if calls do not throw.
template <class Call> std::string thrown_by(Call call)
{
#if defined(TENSLICE_THROW)
    try {
        call();
    } catch (const std::exception &why) {
        return why.what();
    }
    CHECK(false);
#endif
    (void)call;
    return {};
}

bool says(const std::string &message, std::string_view text)
{
#if defined(TENSLICE_THROW)
    return message.find(text) != std::string::npos;
#else
    return message.empty() && !text.empty();
#endif
}

/// The error of a call that must fail.
template <class Call> tenslice::error error_of(Call call)
{
#if defined(TENSLICE_THROW)
    try {
        call();
    } catch (const tenslice::exception &why) {
        return why.error();
    }
    CHECK(false);
    std::abort();
#else
    return call().error();
#endif
}

tenslice::span<const std::byte> bytes_of(const blob &b)
{
    return tenslice::span<const std::byte>(reinterpret_cast<const std::byte *>(b.data), b.size);
}

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
    const tenslice::requirements needed = tensor.requirements(TENSLICE_PURPOSE_READ);
    CHECK(needed.output == length && needed.scratch == 0U);
    static const std::uint16_t one = 1;
    if (*reinterpret_cast<const unsigned char *>(&one) == 1) {
        // If the bytes are suitable, a span into the file. The heap of the test is aligned.
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
    static std::array<tenslice_entry, 16> places;
    const auto entries = get(file.list(places));
    CHECK(entries.size() == file.tensor_count());
    CHECK(get(file.at(entries[tensor.info().index])).name() == "t.float64");
    CHECK(tenslice::text(entries[tensor.info().index].name) == "t.float64");
    CHECK(status_of([&] { return file.list({}); }) == TENSLICE_OUT_OF_SCRATCH);
    CHECK(status_of([&] { return file.at(tenslice_entry{}); }) != TENSLICE_OK);
    CHECK(status_of([&] { return tensor.find("values"); }) == TENSLICE_NOT_FOUND);
    CHECK(status_of([&] { return tensor.read_into({}); }) == TENSLICE_TOO_SMALL);
    const auto data = get(tensor.data());
    CHECK(data.caps() == (TENSLICE_CAP_BYTES | TENSLICE_CAP_RANGE | TENSLICE_CAP_DECODE));
    CHECK(data.requirements(TENSLICE_PURPOSE_READ_RANGE).scratch == 0U && data.shard().empty());
    CHECK(data.requirements(TENSLICE_PURPOSE_VERIFY).scratch == 0U);
    CHECK(!data.requirements(TENSLICE_PURPOSE_DESCRIBE).scratch);
    alignas(8) std::byte part[16];
    CHECK(get(data.read_range(8, part)).size() == 16 && std::memcmp(part, decoded + 8, 16) == 0);
    CHECK(status_of([&] { return data.read_range(length, part); }) == TENSLICE_NO_SUCH_ELEMENT);
    CHECK(status_of([&] { return data.with_shard({}); }) == TENSLICE_NOT_IN_SHARD);
    CHECK(get(data.verify()).without_digest == 1 && get(file.verify()).verified == 0);
    CHECK(file.requirements(TENSLICE_PURPOSE_VERIFY).scratch == 0U);
    CHECK(allocations == before);
    CHECK(tensor.name().to_string() == "t.float64");
    std::free(b.data);
}

/// A string spelled as in JSON, with escapes.
tenslice::text escaped(std::string_view spelled)
{
    return tenslice::text(tenslice_str{spelled.data(), spelled.size(), 1, {0}});
}

tenslice::text plain(std::string_view text) { return tenslice::text(tenslice_str{text.data(), text.size(), 0, {0}}); }

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

    // Names in pieces: keys of several dictionaries, which are not next to each other in the file.
    const blob d = load(fixtures, "pytorch/module_tied.pt");
    const auto checkpoint = get(tenslice::file::open(d.data, d.size));
    const tenslice::text embed = get(checkpoint.find("embed.weight")).name();
    const tenslice::text head = get(checkpoint.find("head.weight")).name();
    CHECK(embed.is_escaped() && !embed.view() && embed.length() == 12 && embed.to_string() == "embed.weight");
    CHECK(embed == "embed.weight" && "embed.weight" == embed && embed == plain("embed.weight") && embed == embed);
    CHECK(embed != "head.weight" && embed != head && embed != plain("embed") && head != tenslice::text());
    CHECK(head == escaped("he\\u0061d.weight") && escaped("he\\u0061d.weight") == head && embed != escaped("\\u0061"));
    CHECK(get(checkpoint.find("scale")).name() == "scale");
    std::array<char, 13> embed_room;
    CHECK(get(embed.copy_to(embed_room)) == "embed.weight");
    CHECK(status_of([&] { return embed.copy_to(tenslice::span<char>(embed_room.data(), 12)); }) == TENSLICE_TOO_SMALL);
    std::ostringstream names;
    names << embed << ' ' << head;
    CHECK(names.str() == "embed.weight head.weight");
    std::free(d.data);

    // Floats of one byte are read as bytes. Two floats per byte cannot be read as any type.
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
    tenslice_value least{}; // -2^64, which zTensor allows
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

void unreadable(const char *fixtures)
{
    const blob b = load(fixtures, "npz/quirks/object_among_arrays.npz");
    const auto file = get(tenslice::file::open(b.data, b.size));
    const auto tensor = get(file.find("meta"));
    const auto problem = tensor.problem();
    CHECK(problem && problem->status() == TENSLICE_UNKNOWN_DTYPE && problem->offset() < b.size);
    CHECK(file.warning_tensor(TENSLICE_WARNING_UNREADABLE_TENSOR) == 1U);
    CHECK(status_of([&] { return tensor.data(); }) == TENSLICE_UNKNOWN_DTYPE);
    CHECK(!get(file.find("x")).problem());
    std::free(b.data);
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
    CHECK(block && block->number == TENSLICE_GGML_Q4_K && block->elements == 256 && block->bytes == 144);
    CHECK(tensor.requirements(TENSLICE_PURPOSE_READ_F32).scratch == 0U);
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

void expected(const char *fixtures)
{
    using tenslice::numbers;
    const blob b = load(fixtures, "safetensors/py_transformer.safetensors");
    const int before = allocations;
    const auto file = get(tenslice::file::open(b.data, b.size));
    static std::array<std::uint32_t, 600> words;
    const auto index = get(file.index(words));
    constexpr std::string_view name = "model.layers.3.self_attn.k_proj.weight", norm = "model.norm.weight";
    const auto tensor = get(file.find(name)), vector = get(file.find(norm));

    // The shape, without a buffer.
    const auto shape = tensor.shape();
    CHECK(shape.size() == 2 && shape[0] == 4 && shape[1] == 8 && shape[2] == 0 && !shape.empty());
    std::uint64_t product = 1;
    for (const std::uint64_t length : shape)
        product *= length;
    CHECK(product == 32 && tensor.elements() == 32U && tensor.layout() == TENSLICE_LAYOUT_DENSE);
    CHECK(shape == numbers({4, 8}) && shape != numbers({8, 4}) && shape != numbers({4}) && shape != numbers({4, 8, 1}));
    const std::array<std::uint64_t, 2> same = {4, 8}, other = {0, 0};
    CHECK(shape == same && shape != other && shape == tenslice::any_shape && shape == get(index.find(name)).shape());
    CHECK(shape != vector.shape() && !(shape == numbers({})));
    CHECK(tenslice::any_shape.size() == TENSLICE_ANY_SHAPE && numbers({0, 5}).size() == 2 && numbers({}).size() == 0);

    // An expected tensor, found in the file, by an index, or before.
    CHECK(get(tensor.bytes()).size() == 64 && get(vector.bytes()).size() == 32);
    CHECK(get(file.get<std::byte>(name, {4, 8})).data() == get(tensor.bytes()).data());
    CHECK(get(file.get(name, TENSLICE_ANY)).size() == 64 && get(file.get(norm, TENSLICE_ANY, {8})).size() == 32);
    if (little_endian() == TENSLICE_OK) {
        const auto numbers_in_place = get(file.get<float>(norm, {8}));
        CHECK(numbers_in_place.size() == 8 && numbers_in_place.data() == get(vector.as<float>()).data());
        CHECK(get(index.get<float>(norm)).data() == numbers_in_place.data());
        CHECK(get(vector.get<float>()).size() == 8 && get(vector.get(TENSLICE_F32, {8})).size() == 32);
        CHECK(get(file.get<std::uint16_t>(name, same)).size() == 32); // 16 bits per number, as in as()
        CHECK(get(file.get(name, TENSLICE_F16, {4, 8})).size() == 64);
        CHECK(get(index.get(name, TENSLICE_F16, same)).size() == 64);
#if defined(__STDCPP_FLOAT16_T__)
        const auto halves = get(file.get<std::float16_t>(name, {4, 8}));
        CHECK(static_cast<float>(halves[0]) == tenslice_f16_to_f32(get(tensor.as<std::uint16_t>())[0]));
#endif
    }
    std::array<float, 32> converted{};
    for (const auto all : {get(tensor.get_f32(same, converted)), get(file.get_f32(name, {4, 8}, converted)),
                           get(index.get_f32(name, same, converted))})
        CHECK(all.data() == converted.data() && all.size() == 32 && converted[0] != 0);
    CHECK(little_endian() != TENSLICE_OK
          || get(file.get_f32(norm, {8}, tenslice::span<float>())).data() == get(vector.as<float>()).data());
    CHECK(tensor.requirements(TENSLICE_PURPOSE_GET_F32).output == 32U);
    CHECK(status_of([&] { return tensor.get_f32(other, converted); }) == TENSLICE_WRONG_SHAPE);
    CHECK(status_of([&] { return file.get_f32(name, same, tenslice::span<float>()); }) == TENSLICE_TOO_SMALL);
    const auto wrong_shape = [&] { return file.get<std::uint16_t>(name, {8, 4}); };
    const auto wrong_type = [&] { return index.get<float>(name, {4, 8}); };
    const auto no_tensor = [&] { return file.get<float>("model.norm.wieght", {8}); };
    CHECK(status_of(wrong_shape) == TENSLICE_WRONG_SHAPE && status_of(wrong_type) == TENSLICE_WRONG_TYPE);
    CHECK(status_of(no_tensor) == TENSLICE_NOT_FOUND);
    CHECK(status_of([&] { return tensor.get<std::uint16_t>({}); }) == TENSLICE_WRONG_SHAPE);
    CHECK(status_of([&] { return tensor.get(TENSLICE_BF16); }) == TENSLICE_WRONG_TYPE);
    CHECK(status_of([&] { return index.get(norm, TENSLICE_F32, {7}); }) == TENSLICE_WRONG_SHAPE);
    CHECK(status_of([&] { return index.get<float>("nothing"); }) == TENSLICE_NOT_FOUND);

    // The messages, written to memory of the caller.
    std::array<char, 256> room;
    constexpr std::string_view type_text = "tensor \"model.layers.3.self_attn.k_proj.weight\": expected f32 [4, 8]; "
                                           "the file has f16 [4, 8]";
    constexpr std::string_view name_text = "no tensor \"model.norm.wieght\"; the nearest name is \"model.norm.weight\"";
    CHECK(file.explain<float>(error_of(wrong_type), room, name, {4, 8}) == type_text && room[type_text.size()] == 0);
    CHECK(file.explain(error_of(wrong_type), room, name, TENSLICE_F32, {4, 8}) == type_text);
    const auto not_found = error_of([&] { return file.find("model.norm.wieght"); });
    CHECK(file.explain(not_found, room, "model.norm.wieght") == name_text);
    const auto why = error_of(wrong_type);
    std::array<char, 8> little;
    CHECK(file.explain<float>(why, little, name) == why.what());
    CHECK(allocations == before);
    CHECK(says(thrown_by(wrong_type), type_text) && says(thrown_by(no_tensor), name_text));
    CHECK(says(thrown_by([&] { return index.find("model.norm.wieght"); }), name_text));
    CHECK(says(thrown_by([&] { return file.find("model.norm.wieght"); }), name_text));
    CHECK(says(thrown_by([&] { return index.get_f32(name, {8, 4}, converted); }),
               "expected [8, 4]; the file has f16 [4, 8]"));
    CHECK(says(thrown_by(wrong_shape), "expected u16 [8, 4]; the file has f16 [4, 8]"));
    CHECK(says(thrown_by([&] { return tensor.get<std::uint16_t>({1}); }), "another shape"));
    CHECK(says(thrown_by([&] { return get(file.find(name)).as<double>(); }), "not of the requested type"));
    std::free(b.data);

    // Many dimensions, and none.
    const blob c = load(fixtures, "npy/rank64.npy"), d = load(fixtures, "npy/rank0.npy");
    const auto many = get(get(tenslice::file::open(c.data, c.size)).find(""));
    const auto none = get(get(tenslice::file::open(d.data, d.size)).find(""));
    CHECK(many.shape().size() == 64 && std::distance(many.shape().begin(), many.shape().end()) == 64);
    CHECK(none.shape().empty() && none.shape() == numbers({}) && none.elements() == 1U);
    std::free(c.data);
    std::free(d.data);
}

#if defined(__cpp_lib_mdspan)
void views(const char *fixtures)
{
    const blob b = load(fixtures, "npy/v1_fortran.npy"), c = load(fixtures, "npy/rank3.npy");
    const blob d = load(fixtures, "npy/rank0.npy"), e = load(fixtures, "npy/shape_zero.npy");
    const auto tensor = get(get(tenslice::file::open(b.data, b.size)).find(""));
    if (little_endian() != TENSLICE_OK)
        return;
    const auto columns = get(tensor.mdspan<std::int16_t, 2>());
    const auto stored = get(tensor.as<std::int16_t>());
    CHECK(columns.extent(0) == 4 && columns.extent(1) == 3 && columns.size() == stored.size());
    for (std::uint64_t i = 0; i < 4; i++)
        for (std::uint64_t j = 0; j < 3; j++)
            CHECK((&columns[std::array{i, j}] == &stored[j * 4 + i]));
    CHECK(status_of([&] { return tensor.mdspan<std::int16_t, 3>(); }) == TENSLICE_WRONG_RANK);
    CHECK(status_of([&] { return tensor.mdspan<float, 2>(); }) == TENSLICE_WRONG_TYPE);
    const auto other = get(get(tenslice::file::open(c.data, c.size)).find(""));
    const auto rows = get(other.mdspan<float, 3>());
    CHECK((rows.extent(0) == 2 && &rows[std::array{1, 0, 2}] == &get(other.as<float>())[5]));
    const auto scalar = get(get(tenslice::file::open(d.data, d.size)).find(""));
    CHECK(scalar.rank() == 0 && (get(scalar.mdspan<float, 0>()).data_handle() == get(scalar.as<float>()).data()));
    const auto empty = get(get(tenslice::file::open(e.data, e.size)).find(""));
    CHECK((empty.rank() == 1 && get(empty.mdspan<float, 1>()).empty()));
    std::free(b.data);
    std::free(c.data);
    std::free(d.data);
    std::free(e.data);
}
#endif

void in_ranges(const char *fixtures)
{
    const blob b = load(fixtures, "v1.2/dense_all_dtypes.zt"), bad = load(fixtures, "bad/v1.2/end_past_eof.zt");
    const blob archive = load(fixtures, "npz/hm_aligned_64.npz");
    const int before = allocations;
    tenslice::source source(b.size);
    int asked = 0;
    while (const auto need = source.needs()) {
        CHECK(need->length > 0 && need->length <= b.size && need->offset <= b.size - need->length);
        const auto again = source.needs();
        CHECK(again && again->offset == need->offset && again->length == need->length);
        CHECK(status_of([&] { return source.open(); }) == TENSLICE_NEED);
        const auto size = static_cast<std::size_t>(need->length);
        CHECK(get(source.add(need->offset, b.data + need->offset, size)) == size);
        asked++;
    }
    CHECK(asked > 1 && !source.needs());
    CHECK(status_of([&] { return source.add(b.size, b.data, 1); }) == TENSLICE_INVALID_ARGUMENT);
    const auto file = get(source.open()), again = get(source.open());
    const auto tensor = get(file.find("t.float64"));
    CHECK(again.tensor_count() == file.tensor_count() && tensor.shape() == tenslice::numbers({2, 3}));
    CHECK(status_of([&] { return tensor.bytes(); }) == TENSLICE_NOT_IN_MEMORY);
    const auto info = get(tensor.data()).info();
    const auto fetched = bytes_of(b).subspan(static_cast<std::size_t>(info.offset), 48);
    const auto bound = get(get(tensor.data()).with_bytes(fetched));
    CHECK(get(bound.bytes()).size() == 48 && get(bound.stored()).data() == get(bound.bytes()).data());

    /* The same by a plan of reads and a copy of the source. */
    std::array<tenslice_piece, 1> pieces{{{7, info.offset, info.length, 0}}};
    const auto plan = get(tenslice::plan::open(pieces, b.size, 16));
    std::array<unsigned char, 96> memory;
    CHECK(plan.length() <= memory.size() && pieces[0].at == info.offset % 16);
    int count = 0;
    for (const auto &read : plan.reads(32)) {
        std::memcpy(memory.data() + read.at, b.data + read.offset, static_cast<std::size_t>(read.length));
        count++;
    }
    CHECK(count > 1 && status_of([&] { return tenslice::plan::open(pieces, 1); }) == TENSLICE_OUT_OF_FILE);
    auto with_data = source.copy();
    CHECK(get(with_data.add(info.offset, memory.data() + pieces[0].at, 48)) == 48);
    const auto by_file = get(get(file.with_source(with_data)).find("t.float64"));
    CHECK(get(get(tensor.with_source(with_data)).bytes()).data() == get(by_file.bytes()).data());
    CHECK(status_of([&] { return tensor.bytes(); }) == TENSLICE_NOT_IN_MEMORY);
    CHECK(status_of([&] { return tensor.with_source(tenslice::source(1)); }) == TENSLICE_INVALID_ARGUMENT);

    /* In rounds: all ranges of a round are fetched at the same time. */
    tenslice::source in_rounds(archive.size);
    std::array<std::array<tenslice_piece, 4>, 4> lists;
    std::array<std::array<unsigned char, 1000>, 4> rooms;
    std::size_t rounds = 0;
    while (in_rounds.needs()) {
        const auto wanted = in_rounds.needs(lists.at(rounds));
        auto &room = rooms.at(rounds++);
        CHECK(!wanted.empty() && wanted.back().at + wanted.back().length <= room.size());
        for (const auto &piece : wanted)
            std::memcpy(room.data() + piece.at, archive.data + piece.offset, static_cast<std::size_t>(piece.length));
        CHECK(get(in_rounds.add(wanted, room.data(), room.size())) == room.size());
    }
    CHECK(rounds > 1 && in_rounds.needs(lists.at(0)).empty() && get(in_rounds.open()).tensor_count() > 0);
    CHECK(status_of([&] { return in_rounds.add(lists.at(0), nullptr, 0); }) == TENSLICE_INVALID_ARGUMENT);

    tenslice::source broken(bad.size);
    while (const auto need = broken.needs())
        CHECK(get(broken.add(need->offset, bad.data + need->offset, static_cast<std::size_t>(need->length))) > 0);
    const auto why = error_of([&] { return broken.open(); });
    constexpr std::string_view text = "100000 bytes at offset 64 extend past the end of the file (323 bytes)";
    std::array<char, 256> room;
    std::array<char, 4> little;
    CHECK(why.status() == TENSLICE_OUT_OF_FILE);
    CHECK(broken.explain(why, room).find(text) != std::string_view::npos && broken.explain(why, little) == why.what());
    CHECK(allocations == before);
    CHECK(says(thrown_by([&] { return broken.open(); }), text));
    std::free(b.data);
    std::free(archive.data);
    std::free(bad.data);
}

void sparse(const char *fixtures)
{
    const blob b = load(fixtures, "v1.2/objects_sparse_quant_logical.zt");
    const blob c = load(fixtures, "tens/good/ix_f64_x2.tens");
    const auto file = get(tenslice::file::open(b.data, b.size));
    const auto tensor = get(file.find("csr_i32"));
    static std::array<std::uint64_t, 3> index;
    static std::array<float, 30> dense, put;
    const int before = allocations;
    const auto decoded = tenslice::span<std::byte>(reinterpret_cast<std::byte *>(dense.data()), sizeof dense);
    CHECK(get(tensor.read_into(decoded)) == sizeof dense);
    auto values = get(tensor.sparse(index));
    const auto info = values.info();
    CHECK(info.rank == 2 && info.dtype == TENSLICE_F32 && info.stored > 2);
    std::uint64_t count = 0;
    for (const tenslice::sparse_value value : values) {
        CHECK(value.index.size() == 2 && value.bytes.size() == 4 && value.dtype == TENSLICE_F32);
        CHECK(!value.as<double>() && !value.as<std::int32_t>());
        if (little_endian() == TENSLICE_OK)
            put[static_cast<std::size_t>(value.index[0] * 6 + value.index[1])] = *value.as<float>();
        else
            CHECK(!value.as<float>());
        count++;
    }
    CHECK(count == info.stored && !values.error());
    CHECK(little_endian() != TENSLICE_OK || std::memcmp(put.data(), dense.data(), sizeof dense) == 0);
    CHECK(status_of([&] { return tensor.sparse({}); }) == TENSLICE_TOO_SMALL);
    CHECK(status_of([&] { return get(file.find("fp8")).sparse(index); }) == TENSLICE_UNSUPPORTED_LAYOUT);
    CHECK(status_of([&] { return get(file.find("csr_u64")).sparse(index, tenslice::read_options().decoder(nullptr)); }) != TENSLICE_OK);

    // Pairs of a TENS file, and its elements.
    const auto other = get(tenslice::file::open(c.data, c.size));
    const auto tens = get(other.tens());
    count = 0;
    for (const tenslice::sparse_value value : get(get(other.find("")).sparse(index))) {
        CHECK(get(tens.element(value.index)).data() == value.bytes.data() && value.bytes.size() == 16);
        CHECK(value.as<std::complex<double>>().has_value() == (little_endian() == TENSLICE_OK));
        count++;
    }
    CHECK(count == 4 && get(tens.element({0, 1, 2})).empty());
    CHECK(status_of([&] { return tens.element({0}); }) == TENSLICE_WRONG_RANK);
    CHECK(status_of([&] { return tens.element({3, 0, 0}); }) == TENSLICE_NO_SUCH_ELEMENT);
    CHECK(get(tens.dimension(1)).name == 'b' && get(tens.dimension(1)).length == 3);
    CHECK(status_of([&] { return tens.dimension(3); }) == TENSLICE_NOT_FOUND);
    CHECK(status_of([&] { return file.tens(); }) == TENSLICE_INVALID_ARGUMENT);
    CHECK(allocations == before);
    std::free(b.data);
    std::free(c.data);

    const blob d = load(fixtures, "tens/good/sym_1_anti.tens");
    const auto symmetric = get(get(tenslice::file::open(d.data, d.size)).tens());
    std::array<std::uint32_t, 4> sources{};
    count = 0;
    auto chunks = symmetric.chunks();
    for (const tenslice_tens_chunk chunk : chunks)
        if (count++ == 0)
            CHECK(get(symmetric.permutation(chunk.offset, sources)).size() == 4 && sources[0] == 1 && sources[1] == 0);
    CHECK(count == 2 && !chunks.error());
    std::free(d.data);
}

void trains(const char *fixtures)
{
    const blob a = load(fixtures, "blz/good/pair_a_f64.blz"), b = load(fixtures, "blz/good/pair_b_f64.blz");
    static std::array<double, 72> elements;
    static std::array<std::byte, 4096> scratch;
    const int before = allocations;
    const auto file = get(tenslice::file::open(a.data, a.size)), other = get(tenslice::file::open(b.data, b.size));
    const auto train = get(file.train()), second = get(other.train());
    const auto info = get(file.blz_info());
    CHECK(info.core_count == 4 && info.dtype == TENSLICE_F64 && get(file.blz_core(3)).shape[1] == 3);
    const auto decoded = tenslice::span<std::byte>(reinterpret_cast<std::byte *>(elements.data()), sizeof elements);
    CHECK(train.scratch_lengths().slice <= scratch.size() && train.scratch_lengths().norm <= scratch.size());
    CHECK(get(train.slice({}, decoded, scratch)) == sizeof elements);
    double sum = 0, squares = 0;
    for (const double element : elements)
        sum += element, squares += element * element;
    const auto value = [](const tenslice_scaled &scaled) { return std::ldexp(scaled.real, scaled.exponent); };
    CHECK(std::fabs(value(get(train.sum(scratch))) - sum) < 1e-9 * std::sqrt(squares));
    CHECK(std::fabs(value(get(train.norm(scratch))) - std::sqrt(squares)) < 1e-9 * std::sqrt(squares));
    const auto last = get(train.element({2, 3, 1, 2}, scratch));
    CHECK(std::fabs(last.real() - elements[71]) < 1e-12 && last.imag() == 0);
    CHECK(get(train.slice({UINT64_MAX, 3, 1, 2}, decoded, scratch)) == 3 * sizeof(double));
    const auto needed = train.inner_scratch_length(second);
    CHECK(needed && *needed > 0 && *needed <= scratch.size());
    CHECK(std::fabs(value(get(train.inner(second, scratch))) + 0.3312737902914607) < 1e-9);
    const auto offset = static_cast<std::size_t>(info.offset), length = static_cast<std::size_t>(info.length);
    const auto cores = bytes_of(a).subspan(offset, length);
    CHECK(value(get(get(file.train(cores)).inner(second, scratch))) == value(get(train.inner(second, scratch))));
    CHECK(status_of([&] { return file.train(cores.subspan(0, 8)); }) == TENSLICE_WRONG_LENGTH);
    CHECK(status_of([&] { return train.element({2, 3}, scratch); }) == TENSLICE_WRONG_RANK);
    CHECK(status_of([&] { return train.element({2, 3, 1, 3}, scratch); }) == TENSLICE_NO_SUCH_ELEMENT);
    CHECK(status_of([&] { return train.sum({}); }) == TENSLICE_OUT_OF_SCRATCH);
    CHECK(status_of([&] { return train.norm({}); }) == TENSLICE_OUT_OF_SCRATCH);
    CHECK(status_of([&] { return train.inner(second, {}); }) == TENSLICE_OUT_OF_SCRATCH);
    CHECK(status_of([&] { return train.slice({}, {}, scratch); }) == TENSLICE_TOO_SMALL);
    CHECK(status_of([&] { return file.blz_core(4); }) == TENSLICE_NOT_FOUND);
    CHECK(status_of([&] { return file.b2nd(); }) == TENSLICE_INVALID_ARGUMENT);
    CHECK(allocations == before);
    std::free(a.data);
    std::free(b.data);
}

void regions(const char *fixtures)
{
    const blob b = load(fixtures, "b2nd/good/nd02_lz4_0.b2nd"); // 13 rows of 10, chunks of 13 x 6, blocks of 8 x 6
    static std::array<std::byte, 13 * 10 * 4> all;
    static std::array<std::byte, 1024> scratch, chunk;
    const auto options = tenslice::read_options().scratch(scratch);
    static std::array<std::byte, 2 * 3 * 4> part;
    const int before = allocations;
    const auto file = get(tenslice::file::open(b.data, b.size));
    const auto array = get(file.b2nd());
    std::array<std::uint64_t, 2> room;
    CHECK(array.info().is_array && array.info().chunk_count == 2);
    CHECK(get(array.chunk_shape(room)).size() == 2 && room[0] == 13 && room[1] == 6);
    CHECK(get(array.block_shape(room)).size() == 2 && room[0] == 8 && room[1] == 6);
    CHECK(get(get(file.find("")).read_into(all, options)) == all.size());
    const auto needed = get(array.region_requirements({7, 4}, {9, 7}));
    CHECK(needed.output == part.size() && needed.scratch > 0U && needed.scratch <= scratch.size());
    CHECK(get(array.region_work({7, 4}, {9, 7})) > 0);
    CHECK(get(array.read_region({7, 4}, {9, 7}, part, options)) == part.size());
    for (std::size_t row = 0; row < 2; row++)
        CHECK(std::equal(part.begin() + static_cast<std::ptrdiff_t>(row * 12),
                         part.begin() + static_cast<std::ptrdiff_t>(row * 12 + 12),
                         all.begin() + static_cast<std::ptrdiff_t>(((row + 7) * 10 + 4) * 4)));
    const auto header = get(array.chunk(1));
    const auto place = get(array.chunk_extent(1));
    CHECK(header.offset == place.offset && header.length == place.length && header.block_count == 2);
    CHECK(get(array.uninitialised_chunks()) == 0 && get(array.uninitialised_chunks(options)) == 0);
    CHECK(get(array.read_chunk(1, chunk, options)) == array.info().chunk_size);
    CHECK(std::equal(chunk.begin(), chunk.begin() + 16, all.begin() + 24));
    CHECK(get(array.metalayer(0)).name.length == 4);
    CHECK(status_of([&] { return array.metalayer(0, true); }) == TENSLICE_NOT_FOUND);
    CHECK(status_of([&] { return array.read_metalayer(0, chunk, options); }) == TENSLICE_NOT_FOUND);
    CHECK(status_of([&] { return array.chunk(2); }) == TENSLICE_NOT_FOUND);
    CHECK(status_of([&] { return array.chunk_shape({}); }) == TENSLICE_TOO_SMALL);
    CHECK(status_of([&] { return array.region_requirements({7, 4}, {9}); }) == TENSLICE_WRONG_RANK);
    CHECK(status_of([&] { return array.region_work({7}, {9}); }) == TENSLICE_WRONG_RANK);
    CHECK(status_of([&] { return array.read_region({7, 4}, {9, 11}, part, options); }) == TENSLICE_NO_SUCH_ELEMENT);
    CHECK(status_of([&] { return array.read_region({7, 4}, {9, 7}, {}, options); }) == TENSLICE_TOO_SMALL);
    CHECK(status_of([&] { return array.read_region({7, 4}, {9, 7}, part); }) == TENSLICE_OUT_OF_SCRATCH);
    CHECK(status_of([&] { return file.train(); }) == TENSLICE_INVALID_ARGUMENT);
    CHECK(status_of([&] { return file.blz_info(); }) == TENSLICE_INVALID_ARGUMENT);
    CHECK(allocations == before);
    std::free(b.data);
}

void particulars(const char *fixtures)
{
    const blob a = load(fixtures, "gguf/kv_all_types.gguf"), b = load(fixtures, "npz/deflated.npz");
    const blob c = load(fixtures, "npy/v1_fortran.npy");
    const blob d = load(fixtures, "safetensors/rs_sharded.safetensors.index.json");
    const auto gguf = get(tenslice::file::open(a.data, a.size)), npz = get(tenslice::file::open(b.data, b.size));
    const auto npy = get(tenslice::file::open(c.data, c.size));
    const auto index = get(tenslice::safetensors_index::open(d.data, d.size));
    const int before = allocations;
    std::uint64_t count = 0;
    CHECK(get(gguf.gguf_info()).alignment == 32);
    for (const tenslice_gguf_tensor_info info : get(gguf.gguf_infos()))
        count += info.name.length == 1 && info.rank > 0;
    CHECK(count == gguf.tensor_count() && count > 0);
    count = 0;
    for (const tenslice_npz_entry entry : get(npz.npz_entries()))
        count += entry.name.length > 0 && entry.decoded_length > 0;
    CHECK(count > 0 && get(npy.npy_descr()) == "'<i2'");
    CHECK(status_of([&] { return npz.pytorch_globals(); }) == TENSLICE_INVALID_ARGUMENT);
    CHECK(status_of([&] { return npz.onnx_info(); }) == TENSLICE_INVALID_ARGUMENT);
    CHECK(status_of([&] { return npz.onnx_opsets(); }) == TENSLICE_INVALID_ARGUMENT);
    CHECK(status_of([&] { return npz.ptd_segments(); }) == TENSLICE_INVALID_ARGUMENT);
    CHECK(status_of([&] { return npz.tflite_subgraphs(); }) == TENSLICE_INVALID_ARGUMENT);
    const auto array = get(npy.find("")); // 4 rows and 3 columns, column-major
    CHECK(status_of([&] { return array.get<std::int16_t>({4, 3}); }) == TENSLICE_WRONG_ORDER);
    CHECK(status_of([&] { return npy.get<std::int16_t>("", {4, 3}); }) == TENSLICE_WRONG_ORDER);
    CHECK(status_of([&] { return array.get<std::byte>(tenslice::column_major({3, 4})); }) == TENSLICE_WRONG_SHAPE);
    CHECK(get(array.get<std::byte>(tenslice::column_major({4, 3}))).size() == 24);
    CHECK(get(npy.get<std::byte>("", tenslice::column_major({4, 3}))).size() == 24);
    CHECK(get(array.get<std::byte>()).size() == 24);
    std::uint64_t lengths[8] = {};
    const auto described = get(get(npy.find("")).describe(lengths));
    CHECK(described.dtype == get(npy.find("")).dtype() && described.rank > 0 && lengths[0] > 0);
    CHECK(get(npy.find("")).requirements(TENSLICE_PURPOSE_DESCRIBE).scratch == 0U);
    CHECK(get(npy.find("")).stated_type() == "'<i2'" && (*gguf.tensors().begin()).stated_type().empty());
    std::array<std::uint32_t, 4> scratch;
    CHECK(get(gguf.check_length()) == 0);
    CHECK(get(gguf.check(scratch)) == gguf.warnings() && !gguf.warning_tensor(TENSLICE_WARNING_REPEATED_NAME));
    CHECK(get(index.check(scratch)) && !index.metadata().error());
    CHECK(status_of([&] { return npz.gguf_info(); }) == TENSLICE_INVALID_ARGUMENT);
    CHECK(status_of([&] { return npz.gguf_infos(); }) == TENSLICE_INVALID_ARGUMENT);
    CHECK(status_of([&] { return gguf.npz_entries(); }) == TENSLICE_INVALID_ARGUMENT);
    CHECK(status_of([&] { return gguf.npy_descr(); }) == TENSLICE_INVALID_ARGUMENT);
    CHECK(allocations == before);
    for (const blob &one : {a, b, c, d})
        std::free(one.data);
}

void written()
{
    static const std::uint64_t shape_a[] = {2}, shape_b[] = {3};
    std::array<tenslice_new_tensor, 2> tensors = {tenslice::new_tensor("b", TENSLICE_U8, shape_b),
                                                  tenslice::new_tensor("a", TENSLICE_F32, shape_a)};
    CHECK(get(tenslice::sort(TENSLICE_FORMAT_SAFETENSORS, tensors)).size() == 2);
    CHECK(tensors[0].name[0] == 'a');
    const std::array<tenslice_new_attribute, 1> attributes = {tenslice::new_attribute("format", "pt")};
    const auto declared = tenslice::new_file(TENSLICE_FORMAT_SAFETENSORS, tensors, attributes);
    CHECK(get(tenslice::writer::scratch_length(declared)) == 0);
    alignas(8) static std::array<std::byte, 256> room;
    std::size_t length = 0;
    auto sink = [&](std::uint64_t offset, tenslice::span<const std::byte> bytes) {
        CHECK(offset == length);
        if (length + bytes.size() > room.size())
            return false;
        std::memcpy(room.data() + length, bytes.data(), bytes.size());
        length += bytes.size();
        return true;
    };
    const float numbers[] = {1, -2};
    const std::array<std::byte, 3> bytes = {std::byte{1}, std::byte{2}, std::byte{3}};
    auto writer = get(tenslice::writer::open(declared));
    CHECK(!writer.due() && writer.position() == 0 && writer.length() > 11);
    CHECK(get(writer.begin(sink)) == writer.position());
    CHECK(writer.due()->tensor == 0 && writer.due()->missing == 8);
    (void)writer.data(sink, numbers, sizeof numbers);
    (void)writer.data(sink, bytes);
    CHECK(!writer.due());
    CHECK(get(writer.finish(sink)) == writer.length() && writer.length() == length);
    const auto file = get(tenslice::file::open(room.data(), length));
    const auto back = get(file.get(std::string_view("b"), TENSLICE_U8));
    CHECK(back.size() == 3 && back[2] == std::byte{3});

    // After a loss of power.
    const auto whole = room;
    const std::size_t total = length;
    length = total - 4;
    auto second = get(tenslice::writer::open(declared));
    CHECK(get(second.resume(sink, length)) == total - 4);
    CHECK(second.due()->tensor == 0 && second.due()->offset == 7);
    (void)second.data(sink, reinterpret_cast<const char *>(numbers) + 7, 1);
    (void)second.data(sink, bytes);
    (void)second.finish(sink);
    CHECK(length == total && room == whole);

    std::array<char, 128> text;
    const auto why = error_of([&] { return second.data(sink, bytes); });
    CHECK(why.status() == TENSLICE_WRONG_STATE);
    auto third = get(tenslice::writer::open(declared));
    const auto failing = [](std::uint64_t, tenslice::span<const std::byte>) { return false; };
    const auto failed = error_of([&] { return third.begin(failing); });
    CHECK(third.explain(failed, text) == "safetensors: the sink failed at byte 0");
    CHECK(says(thrown_by([&] { return get(tenslice::writer::open(declared)).begin(failing); }), "failed at byte 0"));
    tensors[1].dtype = TENSLICE_C128;
    const auto refused = error_of([&] { return tenslice::writer::open(declared); });
    CHECK(tenslice::writer::explain(declared, refused, text)
          == "safetensors: tensor 1 \"b\": the format has no dtype c128; convert the data");
    CHECK(says(thrown_by([&] { return tenslice::writer::open(declared); }), "no dtype c128"));
    tensors[1].dtype = TENSLICE_U8;

    // An exception of the sink passes through the writer.
    bool is_caught = false;
    auto fourth = get(tenslice::writer::open(declared));
    try {
        (void)fourth.begin([](std::uint64_t, tenslice::span<const std::byte>) -> bool { throw 7; });
    } catch (int number) {
        is_caught = number == 7;
    }
    CHECK(is_caught);
}

void refused(const char *fixtures)
{
    const blob b = load(fixtures, "bad/v1.2/end_past_eof.zt");
#if defined(TENSLICE_THROW)
    try {
        (void)tenslice::file::open(b.data, b.size);
        CHECK(false);
    } catch (const tenslice::exception &thrown) {
        const tenslice::error why = thrown.error();
#else
    {
        const tenslice::error why = tenslice::file::open(b.data, b.size).error();
#endif
        std::array<char, 256> room;
        const std::string text(why.explain(room, b.data, b.size));
        CHECK(why.status() == TENSLICE_OUT_OF_FILE && why.offset());
        CHECK(text.find("100000 bytes at offset 64 extend past the end of the file (323 bytes)") != std::string::npos);
        std::array<char, 4> little;
        CHECK(why.explain(little, b.data, b.size) == why.what());
#if defined(TENSLICE_THROW)
        CHECK(text == thrown.what());
        const tenslice::exception copy = thrown;
        CHECK(text == copy.what());
#endif
        // The parts of the message that do not need the file.
        const tenslice::exception alone(why);
        CHECK(std::string(alone.what()).find("exceeds the file") != std::string::npos);
        CHECK(alone.error().status() == TENSLICE_OUT_OF_FILE);
        const tenslice::error ours(TENSLICE_TOO_SMALL, tenslice::detail::no_details);
        CHECK(std::string_view(tenslice::exception(ours).what()) == ours.what());
    }
#if !defined(TENSLICE_THROW) && !defined(__cpp_lib_expected)
    try {
        (void)tenslice::file::open(b.data, b.size).value();
        CHECK(false);
    } catch (const tenslice::exception &thrown) {
        CHECK(std::string(thrown.what()).find("[at byte") != std::string::npos);
    }
#endif
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
    CHECK(tenslice::has(TENSLICE_FEATURE_SAFETENSORS) && !tenslice::has(0));
    dense(argv[1]);
    texts(argv[1]);
    shards(argv[1]);
    components_in_shards(argv[1]);
    metadata(argv[1]);
    unreadable(argv[1]);
    quantized(argv[1]);
    expected(argv[1]);
#if defined(__cpp_lib_mdspan)
    views(argv[1]);
#endif
    in_ranges(argv[1]);
    sparse(argv[1]);
    trains(argv[1]);
    regions(argv[1]);
    particulars(argv[1]);
    written();
    refused(argv[1]);
    std::puts("hpp: ok");
    return 0;
}
