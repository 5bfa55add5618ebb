/*
 * tenslice.hpp: tenslice.h for C++17 and later. Header-only; nothing is owned, so nothing has to be freed, and
 * nothing is allocated but by text::to_string(). tenslice.h is the manual: lifetimes, threads, what each call
 * costs and how it fails.
 *
 *     auto file = tenslice::file::open(data, size);                   // the bytes stay the caller's
 *     if (!file) return fail(file.error());
 *     for (tenslice::tensor tensor : file->tensors())
 *         std::cout << tensor.name() << '\n';
 *     auto numbers = file->expect<float>("layer1.weight", {64, 32});  // a span into `data`
 *     if (!numbers) return fail(numbers.error());
 *
 * Calls that can fail return a tenslice::result: std::expected where the standard library has it, else the part
 * of it that is used here, whose value() throws a tenslice::exception (std::expected's has its own) or, without
 * exceptions, aborts. With TENSLICE_THROW defined before the header is included, calls return the value itself,
 * and throw a tenslice::exception.
 *
 * With C++23's <stdfloat>, std::float16_t and std::bfloat16_t are types of elements; with its <mdspan>, a tensor is
 * seen as a std::mdspan by tensor::mdspan.
 */
#ifndef TENSLICE_HPP
#define TENSLICE_HPP

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#if defined(__has_include)
#if __has_include(<version>)
#include <version>
#endif
#endif
#if defined(__cpp_lib_span)
#include <span>
#endif
#if defined(__cpp_lib_expected) && !defined(TENSLICE_THROW)
#include <expected>
#endif
#if defined(__cpp_lib_mdspan)
#include <mdspan>
#endif
#if defined(__STDCPP_FLOAT16_T__) || defined(__STDCPP_BFLOAT16_T__)
#include <stdfloat>
#endif

#include "tenslice.h"

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define TENSLICE_DETAIL_EXCEPTIONS x
#elif defined(TENSLICE_THROW)
#error "TENSLICE_THROW needs exceptions"
#else
#include <cstdlib>
#define TENSLICE_DETAIL_EXCEPTIONS n
#endif

/* What a call returns, and what is there, differs with the standard, with TENSLICE_THROW and without exceptions: so do
   the names for the linker, and programs may be put together of parts that were compiled in either way. */
#if defined(TENSLICE_THROW)
#define TENSLICE_DETAIL_RESULT t
#elif defined(__cpp_lib_expected)
#define TENSLICE_DETAIL_RESULT e
#else
#define TENSLICE_DETAIL_RESULT r
#endif
#if defined(__cpp_lib_span)
#define TENSLICE_DETAIL_SPAN s
#else
#define TENSLICE_DETAIL_SPAN o
#endif
#if defined(__cpp_lib_mdspan)
#define TENSLICE_DETAIL_MDSPAN m
#else
#define TENSLICE_DETAIL_MDSPAN o
#endif
#define TENSLICE_DETAIL_JOIN(a, b, c, d) abi_##a##b##c##d
#define TENSLICE_DETAIL_ABI(a, b, c, d) TENSLICE_DETAIL_JOIN(a, b, c, d)

namespace tenslice {
inline namespace TENSLICE_DETAIL_ABI(TENSLICE_DETAIL_RESULT, TENSLICE_DETAIL_SPAN, TENSLICE_DETAIL_EXCEPTIONS,
                                     TENSLICE_DETAIL_MDSPAN) {

#if defined(__cpp_lib_span)
template <class T> using span = std::span<T>;
#else
/** Some objects, one after the other: the part of C++20's std::span that is used here. */
template <class T> class span {
    template <class Range> using data_of = std::remove_pointer_t<decltype(std::data(std::declval<Range &>()))>;

public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using size_type = std::size_t;
    using pointer = T *;
    using reference = T &;
    using iterator = T *;

    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    /** Of an array, a std::array, a std::vector, another span: whatever has data and size. */
    template <class Range, class = std::enable_if_t<!std::is_same_v<std::decay_t<Range>, span>
                                                    && std::is_convertible_v<data_of<Range> (*)[], T (*)[]>>>
    constexpr span(Range &&range) noexcept : data_(std::data(range)), size_(std::size(range)) {}
    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }
    constexpr T &front() const noexcept { return data_[0]; }
    constexpr T &back() const noexcept { return data_[size_ - 1]; }
    constexpr span first(std::size_t count) const noexcept { return span(data_, count); }
    constexpr span subspan(std::size_t offset, std::size_t count) const noexcept { return span(data_ + offset, count); }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};
#endif

/** Why a call failed: the rule, the part of the file, the byte. 24 bytes, without text of its own. */
class error {
public:
    explicit constexpr error(tenslice_status status, const tenslice_error &details) noexcept
        : details_(details), status_(status) {}

    /** A TENSLICE_ code, from 100 on. */
    constexpr tenslice_status status() const noexcept { return status_; }
    /** The byte of the file at which the rule is broken; none for the caller's own errors. */
    constexpr std::optional<std::uint64_t> offset() const noexcept
    {
        return details_.offset == UINT64_MAX ? std::nullopt : std::optional<std::uint64_t>(details_.offset);
    }
    /** The rule in words. */
    const char *what() const noexcept { return tenslice_status_text(status_); }
    /**
     * The full message, written to `dst` and NUL-terminated: which rule, which tensor, which byte. Names and
     * numbers are read again from the bytes that the file was opened from. If `dst` is too small, the rule
     * alone.
     */
    std::string_view explain(span<char> dst, const void *data, std::size_t size) const noexcept
    {
        std::size_t needed = 0;
        if (tenslice_error_text(&details_, data, size, dst.data(), dst.size(), &needed) != TENSLICE_OK)
            return what();
        return std::string_view(dst.data(), needed - 1);
    }
    constexpr const tenslice_error &details() const noexcept { return details_; }

private:
    tenslice_error details_;
    tenslice_status status_;
};

/** What is thrown, with TENSLICE_THROW or by the value() of our own result. (Throwing allocates, as it always does.) */
class exception : public std::exception {
public:
    /** With a message of the rule, the part of the file and the byte. */
    explicit exception(const class error &why) noexcept
        : exception(why, [&](span<char> room) { return why.explain(room, nullptr, 0); })
    {
    }
    /** With the message that `explain` writes to a span<char>, of which it returns what it wrote. */
    template <class Explain> exception(const class error &why, const Explain &explain) noexcept : why_(why)
    {
        if (std::string_view(explain(span<char>(text_.data(), text_.size()))).data() != text_.data())
            text_[0] = 0;
    }
    /**
     * The full message where the call that threw could write it: of the bytes that were opened, or of what the file
     * has instead of the tensor that was asked for. Else the rule, the part of the file and the byte; the rule alone
     * where that takes more than 511 bytes.
     */
    const char *what() const noexcept override { return text_[0] != 0 ? text_.data() : why_.what(); }
    const class error &error() const noexcept { return why_; }

private:
    class error why_;
    std::array<char, 512> text_{};
};

namespace detail {
template <class... Explain> [[noreturn]] void fail(const error &why, const Explain &...explain)
{
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
    throw exception(why, explain...);
#else
    (void)why;
    ((void)explain, ...);
    std::abort();
#endif
}
} // namespace detail

#if defined(TENSLICE_THROW)
template <class T> using result = T;
#elif defined(__cpp_lib_expected)
template <class T> using result = std::expected<T, error>;
#else
/** A value, or why there is none: the part of C++23's std::expected that is used here. */
template <class T> class result {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>, "handles are plain");

public:
    using value_type = T;
    using error_type = tenslice::error;

    constexpr result(const T &value) noexcept : value_(value), has_value_(true) {}
    constexpr result(const error_type &why) noexcept : error_(why), has_value_(false) {}

    constexpr bool has_value() const noexcept { return has_value_; }
    constexpr explicit operator bool() const noexcept { return has_value_; }
    /** The value; only where there is one. */
    constexpr const T &operator*() const noexcept { return value_; }
    constexpr T &operator*() noexcept { return value_; }
    constexpr const T *operator->() const noexcept { return &value_; }
    constexpr T *operator->() noexcept { return &value_; }
    /** The value, or an exception. */
    const T &value() const
    {
        if (!has_value_)
            detail::fail(error_);
        return value_;
    }
    constexpr T value_or(const T &other) const noexcept { return has_value_ ? value_ : other; }
    /** Why there is no value; only where there is none. */
    constexpr const error_type &error() const noexcept { return error_; }

private:
    union {
        T value_;
        error_type error_;
    };
    bool has_value_;
};
#endif

namespace detail {
/** The result of a call that has failed. `explain` is what writes its message where it is thrown: see exception. */
template <class T, class... Explain> result<T> failure(const error &why, const Explain &...explain)
{
#if defined(TENSLICE_THROW)
    fail(why, explain...);
#else
    ((void)explain, ...);
#if defined(__cpp_lib_expected)
    return std::unexpected(why);
#else
    return why;
#endif
#endif
}

/** The value that a call has set, or why it has not. */
template <class T, class... Explain>
result<T> finish(tenslice_status status, const tenslice_error &details, const T &value, const Explain &...explain)
{
    if (status == TENSLICE_OK)
        return value;
    return failure<T>(error(status, details), explain...);
}

inline constexpr tenslice_error no_details = {UINT64_MAX, 0, 0, 0, 0};

constexpr std::string_view view(const tenslice_str &text) noexcept
{
    return text.data == nullptr ? std::string_view() : std::string_view(text.data, text.length);
}

/**
 * Takes the front of a string with escapes: what is before the next escape or, where it begins with one, the character
 * that this means, decoded to `room`. Empty after the last.
 */
inline std::string_view split(std::string_view &rest, std::array<char, 8> &room) noexcept
{
    const std::string_view front = rest.substr(0, rest.find('\\'));
    rest.remove_prefix(front.size());
    if (!front.empty() || rest.empty())
        return front;
    for (const std::size_t length : {2U, 6U, 12U}) { /* as in \n, \u0061, \ud83d\ude00 */
        const tenslice_str escape{rest.data(), std::min<std::size_t>(length, rest.size()), 1, 0};
        std::size_t needed = 0;
        if (tenslice_str_copy(&escape, room.data(), room.size(), &needed) == TENSLICE_OK && needed > 1) {
            rest.remove_prefix(escape.length);
            return std::string_view(room.data(), needed - 1);
        }
    }
    return std::string_view(); /* the bytes have changed since the file was opened */
}

/** The dtype that elements of type T have in memory; 0 for any other type. */
template <class T> constexpr std::uint32_t dtype_of() noexcept
{
    if constexpr (std::is_same_v<T, float>) return TENSLICE_F32;
    else if constexpr (std::is_same_v<T, double>) return TENSLICE_F64;
#if defined(__STDCPP_FLOAT16_T__)
    else if constexpr (std::is_same_v<T, std::float16_t>) return TENSLICE_F16;
#endif
#if defined(__STDCPP_BFLOAT16_T__)
    else if constexpr (std::is_same_v<T, std::bfloat16_t>) return TENSLICE_BF16;
#endif
    else if constexpr (std::is_same_v<T, std::complex<float>>) return TENSLICE_C64;
    else if constexpr (std::is_same_v<T, std::complex<double>>) return TENSLICE_C128;
    else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8) {
        if constexpr (std::is_signed_v<T>)
            return sizeof(T) == 1 ? TENSLICE_I8 : sizeof(T) == 2 ? TENSLICE_I16 : sizeof(T) == 4 ? TENSLICE_I32 : TENSLICE_I64;
        else
            return sizeof(T) == 1 ? TENSLICE_U8 : sizeof(T) == 2 ? TENSLICE_U16 : sizeof(T) == 4 ? TENSLICE_U32 : TENSLICE_U64;
    } else return 0;
}

/** Whether the bits of `stored` are read as T: bool and the 8-bit floats as bytes, 16-bit floats as uint16_t. */
template <class T> constexpr bool reads(std::uint32_t stored) noexcept
{
    if constexpr (std::is_same_v<T, std::uint8_t>)
        return stored == TENSLICE_BOOL || (stored >= TENSLICE_F8_E4M3FN && stored <= TENSLICE_F8_E8M0);
    else if constexpr (std::is_same_v<T, std::uint16_t>)
        return stored == TENSLICE_F16 || stored == TENSLICE_BF16;
    else return false;
}

/** The dtype to ask for where elements that are stored as `stored` are wanted as T; std::byte takes any. */
template <class T> constexpr std::uint32_t dtype_for(std::uint32_t stored) noexcept
{
    static_assert(dtype_of<T>() != 0 || std::is_same_v<T, std::byte>, "elements cannot be read as this type");
    return reads<T>(stored) ? stored : dtype_of<T>();
}

template <class T> span<const T> elements(const tenslice_bytes &bytes) noexcept
{
    return span<const T>(static_cast<const T *>(bytes.data), bytes.length / sizeof(T));
}

/** None where the library says that there is none. */
inline std::optional<std::uint64_t> known(std::uint64_t number) noexcept
{
    return number == UINT64_MAX ? std::nullopt : std::optional<std::uint64_t>(number);
}

/**
 * A range that is walked once: over the tensors of a file, the components of a tensor. Kept in a variable, it can
 * be asked by error() whether the walk ended early; that happens only if the bytes have changed since the file
 * was opened.
 */
template <class Cursor, class Handle, class Value, tenslice_status (*Next)(Cursor *, Handle *, tenslice_error *)>
class range {
public:
    struct sentinel {};
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = Value;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = Value;

        explicit iterator(range *all) noexcept : all_(all) { all_->step(); }
        Value operator*() const noexcept { return Value(all_->current_); }
        iterator &operator++() noexcept
        {
            all_->step();
            return *this;
        }
        void operator++(int) noexcept { all_->step(); }
        bool operator==(sentinel) const noexcept { return all_->status_ != TENSLICE_OK; }
        bool operator!=(sentinel) const noexcept { return all_->status_ == TENSLICE_OK; }

    private:
        range *all_;
    };

    explicit range(const Cursor &cursor) noexcept : cursor_(cursor) {}
    iterator begin() noexcept { return iterator(this); }
    sentinel end() const noexcept { return sentinel(); }
    /** Why the walk ended early: the bytes are not what they were when the file was opened. */
    std::optional<tenslice::error> error() const noexcept
    {
        if (status_ == TENSLICE_OK || status_ == TENSLICE_END)
            return std::nullopt;
        return tenslice::error(status_, details_);
    }

protected:
    const Cursor &cursor() const noexcept { return cursor_; }

private:
    void step() noexcept { status_ = Next(&cursor_, &current_, &details_); }

    Cursor cursor_;
    Handle current_{};
    tenslice_error details_ = no_details;
    tenslice_status status_ = TENSLICE_OK;
};
} // namespace detail

/**
 * A string of a file: tenslice_str. Most stand in the file as they are. JSON may spell characters as escapes: comparing,
 * copying and printing decode them, so that a text is what it means.
 */
class text {
public:
    constexpr text() noexcept = default;
    explicit constexpr text(const tenslice_str &handle) noexcept : handle_(handle) {}

    /** Whether characters are spelled as escapes, so that raw() is not what it means. */
    constexpr bool is_escaped() const noexcept { return handle_.is_escaped != 0; }
    /** The string in place; none if characters are spelled as escapes. */
    constexpr std::optional<std::string_view> view() const noexcept
    {
        return is_escaped() ? std::nullopt : std::optional<std::string_view>(raw());
    }
    /** Its bytes as they are in the file, escapes included. */
    constexpr std::string_view raw() const noexcept { return detail::view(handle_); }
    /** Its length in bytes, escapes decoded. Linear if there are any. */
    std::size_t length() const noexcept
    {
        std::size_t needed = 1;
        if (is_escaped())
            (void)tenslice_str_copy(&handle_, nullptr, 0, &needed);
        return is_escaped() ? needed - 1 : raw().size();
    }
    /** Writes it to `dst`, escapes decoded, and a NUL: length() + 1 bytes. Nothing is written if `dst` is too small. */
    result<std::string_view> copy_to(span<char> dst) const
    {
        std::size_t needed = 1;
        const auto status = tenslice_str_copy(&handle_, dst.data(), dst.size(), &needed);
        return detail::finish(status, detail::no_details, std::string_view(dst.data(), needed - 1));
    }
    /** A copy of it, escapes decoded. This allocates. */
    std::string to_string() const
    {
        if (!is_escaped())
            return std::string(raw());
        std::string copy;
        for_each_part([&](std::string_view part) { copy.append(part); });
        return copy;
    }
    constexpr const tenslice_str &handle() const noexcept { return handle_; }

    friend bool operator==(const text &a, std::string_view b) noexcept
    {
        return tenslice_str_equals(&a.handle_, b.data(), b.size()) != 0;
    }
    friend bool operator==(const text &a, const text &b) noexcept
    {
        return !b.is_escaped() ? a == b.raw() : !a.is_escaped() ? b == a.raw() : a.means_same_as(b);
    }
    friend bool operator==(std::string_view a, const text &b) noexcept { return b == a; }
    friend bool operator!=(const text &a, std::string_view b) noexcept { return !(a == b); }
    friend bool operator!=(const text &a, const text &b) noexcept { return !(a == b); }
    friend bool operator!=(std::string_view a, const text &b) noexcept { return !(b == a); }

    /** Prints it, escapes decoded. The width of the stream applies where view() has a value. */
    template <class Traits>
    friend std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out, const text &text)
    {
        if (!text.is_escaped())
            return out << std::basic_string_view<char, Traits>(text.raw().data(), text.raw().size());
        out.width(0);
        text.for_each_part([&](std::string_view part) {
            out.write(part.data(), static_cast<std::ptrdiff_t>(part.size()));
        });
        return out;
    }

private:
    template <class Call> void for_each_part(Call call) const
    {
        std::array<char, 8> room;
        std::string_view rest = raw();
        for (auto part = detail::split(rest, room); !part.empty(); part = detail::split(rest, room))
            call(part);
    }
    /** Where both have escapes. */
    bool means_same_as(const text &other) const noexcept
    {
        std::array<char, 8> room_a, room_b;
        std::string_view rest_a = raw(), rest_b = other.raw(), a, b;
        for (;;) {
            if (a.empty())
                a = detail::split(rest_a, room_a);
            if (b.empty())
                b = detail::split(rest_b, room_b);
            const std::size_t both = std::min(a.size(), b.size());
            if (both == 0 || a.substr(0, both) != b.substr(0, both))
                return a.empty() && b.empty();
            a.remove_prefix(both);
            b.remove_prefix(both);
        }
    }

    tenslice_str handle_{};
};

class attributes;

/** A value of an attribute: tenslice_value. */
class value {
public:
    explicit value(const tenslice_value &handle) noexcept : handle_(handle) {}

    /** A TENSLICE_VALUE_ code. */
    std::uint32_t kind() const noexcept { return handle_.kind; }
    /**
     * The value as a std::uint64_t or std::int64_t, a double, a bool, a text or a std::string_view; none where it is of
     * another kind, or does not fit. A double is no integer, and an integer no double. A std::string_view is that of a
     * text in place, or of a byte string: there is none of a text with escapes.
     */
    template <class T> std::optional<T> as() const noexcept
    {
        if constexpr (std::is_same_v<T, std::uint64_t>) {
            if (kind() == TENSLICE_VALUE_INTEGER && handle_.negative == 0)
                return handle_.magnitude;
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
            const std::uint64_t most = handle_.negative != 0 ? std::uint64_t{1} << 63 : INT64_MAX;
            /* The magnitude of -2^64 is stored as 0: no other negative integer has that. */
            const bool fits = handle_.magnitude <= most && (handle_.negative == 0 || handle_.magnitude != 0);
            if (kind() == TENSLICE_VALUE_INTEGER && fits) {
                if (handle_.negative == 0)
                    return static_cast<std::int64_t>(handle_.magnitude);
                return -static_cast<std::int64_t>(handle_.magnitude - 1) - 1;
            }
        } else if constexpr (std::is_same_v<T, double>) {
            if (kind() == TENSLICE_VALUE_FLOAT)
                return handle_.real;
        } else if constexpr (std::is_same_v<T, bool>) {
            if (kind() == TENSLICE_VALUE_BOOL)
                return handle_.magnitude != 0;
        } else if constexpr (std::is_same_v<T, text>) {
            if (kind() == TENSLICE_VALUE_TEXT)
                return text(handle_.text);
        } else {
            static_assert(std::is_same_v<T, std::string_view>, "values are not read as this type");
            if ((kind() == TENSLICE_VALUE_TEXT && handle_.text.is_escaped == 0) || kind() == TENSLICE_VALUE_BYTES)
                return detail::view(handle_.text);
        }
        return std::nullopt;
    }
    /** The values inside a list, a map, a tagged value; an error for any other kind. */
    result<attributes> items() const;
    const tenslice_value &handle() const noexcept { return handle_; }

private:
    tenslice_value handle_;
};

namespace detail {
struct pair {
    tenslice_value key, value;
};

inline tenslice_status next_pair(tenslice_cursor *cursor, pair *next, tenslice_error *why)
{
    next->key.struct_size = next->value.struct_size = sizeof(tenslice_value);
    return tenslice_attributes_next(cursor, &next->key, &next->value, why);
}

inline tenslice_status get(const tenslice_cursor *all, std::string_view key, std::uint64_t *place, tenslice_error *why)
{
    return tenslice_attributes_get_u64(all, key.data(), key.size(), place, why);
}

inline tenslice_status get(const tenslice_cursor *all, std::string_view key, std::int64_t *place, tenslice_error *why)
{
    return tenslice_attributes_get_i64(all, key.data(), key.size(), place, why);
}

inline tenslice_status get(const tenslice_cursor *all, std::string_view key, double *place, tenslice_error *why)
{
    return tenslice_attributes_get_f64(all, key.data(), key.size(), place, why);
}

inline tenslice_status get(const tenslice_cursor *all, std::string_view key, bool *place, tenslice_error *why)
{
    std::uint32_t truth = 0;
    const auto status = tenslice_attributes_get_bool(all, key.data(), key.size(), &truth, why);
    *place = truth != 0;
    return status;
}

inline tenslice_status get(const tenslice_cursor *all, std::string_view key, text *place, tenslice_error *why)
{
    tenslice_str found{};
    const auto status = tenslice_attributes_get_str(all, key.data(), key.size(), &found, why);
    *place = text(found);
    return status;
}
} // namespace detail

/** An attribute: a key, whose kind is 0 where the values are those of a list, and a value. */
struct attribute {
    explicit attribute(const detail::pair &pair) noexcept : key(pair.key), value(pair.value) {}

    tenslice::value key, value;
};

/** A range of bytes in the file. */
struct extent {
    std::uint64_t offset = 0, length = 0;
};

/**
 * The attributes of a file or a tensor, or the values inside one of them; to be walked once, while get() finds what has
 * not been walked over. Keys are looked for from the start: that is linear in the bytes before the attribute.
 */
class attributes : public detail::range<tenslice_cursor, detail::pair, attribute, detail::next_pair> {
public:
    using range::range;

    /** How many are left, where the file states it without a walk over them: in GGUF. */
    std::optional<std::uint64_t> length() const noexcept
    {
        std::uint64_t length = 0;
        const auto status = tenslice_attributes_length(&cursor(), &length);
        return status == TENSLICE_OK ? std::optional<std::uint64_t>(length) : std::nullopt;
    }
    /**
     * Where in the file those of a list are that are left: what to fetch where iterating ends with NOT_IN_MEMORY. Empty
     * where they are in memory whatever was fetched: in all formats but GGUF.
     */
    std::optional<tenslice::extent> extent() const noexcept
    {
        tenslice::extent extent;
        const auto status = tenslice_attributes_extent(&cursor(), &extent.offset, &extent.length);
        return status == TENSLICE_OK ? std::optional<tenslice::extent>(extent) : std::nullopt;
    }
    /** The first value of that key. */
    result<tenslice::value> get(std::string_view key) const
    {
        tenslice_value found{};
        tenslice_error why = detail::no_details;
        found.struct_size = sizeof found;
        const auto status = tenslice_attributes_get(&cursor(), key.data(), key.size(), &found, &why);
        return detail::finish(status, why, tenslice::value(found));
    }
    /**
     * The first value of that key, which must be one: a std::uint64_t or std::int64_t, a double, a bool, a text. An
     * error where there is no such key, where the value is of another kind, and where it does not fit.
     */
    template <class T> result<T> get(std::string_view key) const
    {
        T found{};
        tenslice_error why = detail::no_details;
        const auto status = detail::get(&cursor(), key, &found, &why);
        return detail::finish(status, why, found);
    }
};

inline result<attributes> value::items() const
{
    tenslice_cursor cursor{};
    const auto status = tenslice_value_items(&handle_, &cursor);
    return detail::finish(status, detail::no_details, attributes(cursor));
}

/** A component of a tensor: tenslice_component. */
class component {
public:
    explicit component(const tenslice_component &handle) noexcept : handle_(handle) {}

    tenslice_component_info info() const noexcept
    {
        tenslice_component_info info{};
        info.struct_size = sizeof info;
        (void)tenslice_component_get_info(&handle_, &info);
        return info;
    }
    /** What it is to its tensor: "data", "values", "indices", ... */
    std::string_view role() const noexcept { return detail::view(info().role); }
    std::uint32_t dtype() const noexcept { return info().dtype; }

    /** Its bytes as they are in the file, without a copy; an error where they are stored encoded. */
    result<span<const std::byte>> bytes() const { return get<std::byte>(TENSLICE_ANY); }
    /** Its bytes as they are stored, possibly encoded. */
    result<span<const std::byte>> stored() const
    {
        tenslice_bytes bytes{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_component_stored(&handle_, &bytes, &why);
        return detail::finish(status, why, detail::elements<std::byte>(bytes));
    }
    /** Its elements, without a copy: of this type, in this machine's byte order, aligned; else an error. */
    template <class T> result<span<const T>> as() const
    {
        return get<T>(detail::dtype_for<T>(dtype()));
    }
    /** Decodes it to `dst` and returns the number of bytes. If `decoder` is null, the built-in decoders are used. */
    result<std::uint64_t> read_into(span<std::byte> dst, const tenslice_decoder *decoder = nullptr) const
    {
        std::uint64_t length = 0;
        tenslice_error why = detail::no_details;
        const auto status = tenslice_component_read_into(&handle_, decoder, dst.data(), dst.size(), &length, &why);
        return detail::finish(status, why, length);
    }
    /** What can be done with it here and now: TENSLICE_CAP_ flags. */
    std::uint32_t caps() const noexcept
    {
        std::uint32_t caps = 0;
        (void)tenslice_component_caps(&handle_, &caps);
        return caps;
    }
    /**
     * Reads a range of what read_into writes, from byte `offset` on: as many bytes as `dst` has. `scratch` has
     * range_scratch_length() bytes.
     */
    result<span<std::byte>> read_range(std::uint64_t offset, span<std::byte> dst, span<std::byte> scratch = {},
                                       const tenslice_decoder *decoder = nullptr) const
    {
        tenslice_error why = detail::no_details;
        const auto status = tenslice_component_read_range(&handle_, decoder, offset, dst.data(), dst.size(),
                                                          scratch.data(), scratch.size(), &why);
        return detail::finish(status, why, dst);
    }
    /** How much scratch memory read_range needs at most; none where no range can be read. */
    std::optional<std::uint64_t> range_scratch_length() const noexcept
    {
        std::uint64_t length = UINT64_MAX;
        (void)tenslice_component_range_scratch(&handle_, &length);
        return detail::known(length);
    }
    /** Compares it with its digest: one of the counts is 1. `scratch` has verify_scratch_length() bytes. */
    result<tenslice_verified> verify(span<std::byte> scratch = {}, const tenslice_decoder *decoder = nullptr) const
    {
        tenslice_verified verified{};
        verified.struct_size = sizeof verified;
        tenslice_error why = detail::no_details;
        const auto status =
            tenslice_component_verify_with(&handle_, decoder, scratch.data(), scratch.size(), &verified, &why);
        return detail::finish(status, why, verified);
    }
    /** How much scratch memory verify needs; none where it cannot be verified. */
    std::optional<std::uint64_t> verify_scratch_length() const noexcept
    {
        std::uint64_t length = UINT64_MAX;
        (void)tenslice_component_verify_scratch(&handle_, &length);
        return detail::known(length);
    }
    /** The name of the file that its bytes are in, where that is another one, a shard; empty where it is not. */
    std::string_view shard() const noexcept
    {
        tenslice_str shard{};
        (void)tenslice_component_shard(&handle_, &shard);
        return detail::view(shard);
    }
    /** This component over all bytes of the shard that it is in, whose size and digest the caller has checked. */
    result<component> with_shard(span<const std::byte> shard) const
    {
        tenslice_component bound{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_component_with_shard(&handle_, shard.data(), shard.size(), &bound, &why);
        return detail::finish(status, why, component(bound));
    }
    /** This component over bytes that the caller has read from the place that info() states. */
    result<component> with_bytes(span<const std::byte> bytes) const
    {
        tenslice_component bound{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_component_with_bytes(&handle_, bytes.data(), bytes.size(), &bound, &why);
        return detail::finish(status, why, component(bound));
    }
    const tenslice_component &handle() const noexcept { return handle_; }

private:
    template <class T> result<span<const T>> get(std::uint32_t dtype) const
    {
        tenslice_bytes bytes{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_component_bytes(&handle_, dtype, &bytes, &why);
        return detail::finish(status, why, detail::elements<T>(bytes));
    }

    tenslice_component handle_;
};

using component_range = detail::range<tenslice_cursor, tenslice_component, component, tenslice_components_next>;

/** The type of the blocks of a quantized tensor. */
struct block_type {
    /** Its number in ggml, such as 12 for Q4_K. */
    std::uint32_t number;
    /** How many elements and how many bytes a block has. */
    std::uint64_t elements, bytes;
};

/**
 * Lengths or indices as an argument: in braces, as in {64, 32}, or whatever has data and size, such as a std::vector of
 * std::uint64_t. Refers to them, so that it is nothing to keep.
 */
class numbers {
    template <class Range> using data_of = decltype(std::data(std::declval<const Range &>()));

public:
    constexpr numbers(std::initializer_list<std::uint64_t> list) noexcept : numbers(list.begin(), list.size()) {}
    template <class Range, class = std::enable_if_t<std::is_convertible_v<data_of<Range>, const std::uint64_t *>>>
    constexpr numbers(const Range &range) noexcept : numbers(std::data(range), std::size(range))
    {
    }
    /** In place of a shape: any will do. */
    static constexpr numbers any_shape() noexcept { return numbers(nullptr, TENSLICE_ANY_SHAPE); }
    /** The same lengths, as the shape of elements that are expected in column-major order. */
    constexpr numbers column_major() const noexcept { return numbers(data_, size_, TENSLICE_COLUMN_MAJOR); }

    constexpr const std::uint64_t *data() const noexcept { return data_; }
    /** TENSLICE_ANY_SHAPE for any shape. */
    constexpr std::size_t size() const noexcept { return size_; }
    /** TENSLICE_COLUMN_MAJOR, or 0 for row-major order: a part of the dtype that is expected. */
    constexpr std::uint32_t order() const noexcept { return order_; }

private:
    constexpr numbers(const std::uint64_t *data, std::size_t size, std::uint32_t order = 0) noexcept
        : data_(data), size_(size), order_(order)
    {
    }

    const std::uint64_t *data_;
    std::size_t size_;
    std::uint32_t order_;
};

/** A shape that is expected of elements in column-major order: expect<float>("w", column_major({64, 32})). */
constexpr numbers column_major(const numbers &shape) noexcept { return shape.column_major(); }

/** In place of a shape that is expected: any will do. */
inline constexpr numbers any_shape = numbers::any_shape();

/**
 * The lengths of the dimensions of a tensor, in the order of the file. They are read from there, each of them past
 * those before it.
 */
class shape {
public:
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = std::uint64_t;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = std::uint64_t;

        iterator(const shape *all, std::size_t at) noexcept : all_(all), at_(at) {}
        std::uint64_t operator*() const noexcept { return (*all_)[at_]; }
        iterator &operator++() noexcept
        {
            ++at_;
            return *this;
        }
        void operator++(int) noexcept { ++at_; }
        bool operator==(const iterator &other) const noexcept { return at_ == other.at_; }
        bool operator!=(const iterator &other) const noexcept { return at_ != other.at_; }

    private:
        const shape *all_;
        std::size_t at_;
    };

    explicit shape(const tenslice_tensor &tensor) noexcept : tensor_(tensor), rank_(tenslice_tensor_rank(&tensor)) {}
    std::size_t size() const noexcept { return rank_; }
    bool empty() const noexcept { return rank_ == 0; }
    /** 0 past the last. */
    std::uint64_t operator[](std::size_t i) const noexcept
    {
        return i < rank_ ? tenslice_tensor_dimension(&tensor_, static_cast<std::uint32_t>(i)) : 0;
    }
    iterator begin() const noexcept { return iterator(this, 0); }
    iterator end() const noexcept { return iterator(this, rank_); }

    /** As in tensor.shape() == tenslice::numbers{64, 32}. */
    friend bool operator==(const shape &a, const numbers &b) noexcept
    {
        return b.size() == TENSLICE_ANY_SHAPE
               || (b.size() == a.size() && std::equal(b.data(), b.data() + b.size(), a.begin()));
    }
    friend bool operator==(const shape &a, const shape &b) noexcept
    {
        return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
    }
    friend bool operator!=(const shape &a, const numbers &b) noexcept { return !(a == b); }
    friend bool operator!=(const shape &a, const shape &b) noexcept { return !(a == b); }

private:
    tenslice_tensor tensor_;
    std::uint32_t rank_;
};

namespace detail {
struct sparse_cursor {
    tenslice_sparse values;
    span<std::uint64_t> index;
    std::uint32_t dtype, byte_order;
};

struct sparse_item {
    span<const std::uint64_t> index;
    tenslice_bytes bytes;
    std::uint32_t dtype, byte_order;
};

inline tenslice_status next_item(sparse_cursor *cursor, sparse_item *item, tenslice_error *why)
{
    item->index = cursor->index;
    item->dtype = cursor->dtype;
    item->byte_order = cursor->byte_order;
    return tenslice_sparse_next(&cursor->values, cursor->index.data(), cursor->index.size(), &item->bytes, why);
}

/** Of this machine. */
inline std::uint32_t byte_order() noexcept
{
    const std::uint16_t one = 1;
    unsigned char first = 0;
    std::memcpy(&first, &one, 1);
    return first == 1 ? TENSLICE_BYTE_ORDER_LITTLE : TENSLICE_BYTE_ORDER_BIG;
}
} // namespace detail

/** A value of a sparse tensor. */
struct sparse_value {
    explicit sparse_value(const detail::sparse_item &item) noexcept
        : index(item.index), bytes(detail::elements<std::byte>(item.bytes)), dtype(item.dtype),
          byte_order(item.byte_order)
    {
    }

    /** The value; none where it is of another type, or in the other byte order. */
    template <class T> std::optional<T> as() const noexcept
    {
        T value{};
        if (dtype != detail::dtype_for<T>(dtype) || bytes.size() != sizeof value
            || (sizeof value > 1 && byte_order != detail::byte_order()))
            return std::nullopt;
        std::memcpy(&value, bytes.data(), sizeof value);
        return value;
    }

    /** Its index in each dimension, until the next value is read. */
    span<const std::uint64_t> index;
    /** As stored, at any address. */
    span<const std::byte> bytes;
    /** A TENSLICE_ code. */
    std::uint32_t dtype;
    /** A TENSLICE_BYTE_ORDER_ code. */
    std::uint32_t byte_order;
};

/** The values of a sparse tensor, its indices checked, in stored order; to be walked once: tenslice_sparse. */
class sparse_values
    : public detail::range<detail::sparse_cursor, detail::sparse_item, sparse_value, detail::next_item> {
public:
    using range::range;

    /** How many values there are, of which type, and what the check has found. */
    tenslice_sparse_info info() const noexcept
    {
        tenslice_sparse_info info{};
        info.struct_size = sizeof info;
        (void)tenslice_sparse_get_info(&cursor().values, &info);
        return info;
    }
};

/** A tensor of an open file: tenslice_tensor. */
class tensor {
public:
    explicit tensor(const tenslice_tensor &handle) noexcept : handle_(handle) {}

    tenslice_tensor_info info() const noexcept
    {
        tenslice_tensor_info info{};
        info.struct_size = sizeof info;
        (void)tenslice_tensor_get_info(&handle_, &info);
        return info;
    }
    text name() const noexcept { return text(tenslice_tensor_name(&handle_)); }
    /** A TENSLICE_ code; 0 where it is not known. */
    std::uint32_t dtype() const noexcept { return tenslice_tensor_dtype(&handle_); }
    const char *dtype_name() const noexcept { return tenslice_dtype_name(dtype()); }
    /** The type as an NPY, NPZ or Blosc2 file spells it, in the file's bytes; empty where there is none. */
    std::string_view stated_type() const noexcept { return detail::view(tenslice_tensor_stated_type(&handle_)); }
    /**
     * What the elements are; with `dst`, also the lengths of the dimensions. Of a compressed entry of an NPZ archive, this
     * decodes the header into `scratch`: describe_scratch() bytes. For any other tensor it needs none.
     */
    result<tenslice_described> describe(span<std::byte> scratch = {}, span<std::uint64_t> dst = {},
                                        const tenslice_decoder *decoder = nullptr) const
    {
        tenslice_described described{};
        described.struct_size = sizeof described;
        tenslice_error why = detail::no_details;
        const auto status = tenslice_tensor_describe(&handle_, decoder, scratch.data(), scratch.size(), dst.data(),
                                                     dst.size(), &described, &why);
        return detail::finish(status, why, described);
    }
    /** How much scratch memory describe needs. */
    result<std::uint64_t> describe_scratch(const tenslice_decoder *decoder = nullptr) const
    {
        std::uint64_t length = 0;
        tenslice_error why = detail::no_details;
        const auto status = tenslice_tensor_describe_scratch(&handle_, decoder, &length, &why);
        return detail::finish(status, why, length);
    }
    std::uint32_t rank() const noexcept { return tenslice_tensor_rank(&handle_); }
    /** The product of the dimensions; none where it exceeds 64 bits, which a sparse tensor's may. */
    std::optional<std::uint64_t> elements() const noexcept { return detail::known(tenslice_tensor_elements(&handle_)); }
    /** How its components make it up, a TENSLICE_LAYOUT_ code. */
    std::uint32_t layout() const noexcept { return tenslice_tensor_layout(&handle_); }
    std::string_view layout_name() const noexcept { return detail::view(info().layout_name); }

    /** Why its elements cannot be read, if it has TENSLICE_WARNING_UNREADABLE_TENSOR: each call that reads them fails so. */
    std::optional<error> problem() const noexcept
    {
        tenslice_error why = detail::no_details;
        const auto status = tenslice_tensor_problem(&handle_, &why);
        return status == TENSLICE_OK ? std::nullopt : std::optional<error>(error(status, why));
    }

    /** The dimensions, in the order of the file. */
    class shape shape() const noexcept { return tenslice::shape(handle_); }

    /** Writes the dimensions, in the order of the file, to `dst`. */
    result<span<std::uint64_t>> shape(span<std::uint64_t> dst) const
    {
        std::uint32_t rank = 0;
        const auto status = tenslice_tensor_shape(&handle_, dst.data(), dst.size(), &rank);
        return detail::finish(status, detail::no_details, status == TENSLICE_OK ? dst.first(rank) : dst);
    }
    /** Writes the strides, in elements, to `dst`. */
    result<span<std::uint64_t>> strides(span<std::uint64_t> dst) const
    {
        const auto status = tenslice_tensor_strides(&handle_, dst.data(), dst.size());
        return detail::finish(status, detail::no_details, status == TENSLICE_OK ? dst.first(rank()) : dst);
    }

    /** The elements of a dense tensor, without a copy: of this type, in this machine's byte order, aligned. */
    template <class T> result<span<const T>> as() const
    {
#if defined(TENSLICE_THROW)
        return data().template as<T>();
#else
        const auto all = data();
        if (!all)
            return detail::finish(all.error().status(), all.error().details(), span<const T>());
        return all->template as<T>();
#endif
    }
    /** The bytes of a dense tensor as they are in the file, without a copy. */
    result<span<const std::byte>> bytes() const { return expect<std::byte>(); }
    /**
     * The elements of a dense tensor, without a copy: of this type, as as() has them, and of this shape, as in
     * expect<float>({64, 32}); any shape where it is left out. As std::byte, elements of any type. With a shape, in
     * row-major order; in the other with column_major({64, 32}).
     */
    template <class T> result<span<const T>> expect(const numbers &shape = any_shape) const
    {
        tenslice_bytes bytes{};
        tenslice_error why = detail::no_details;
        const auto status = expect_bytes(detail::dtype_for<T>(dtype()), shape, bytes, why);
        return detail::finish(status, why, detail::elements<T>(bytes));
    }
    /** Its bytes, where the elements are of that dtype, a TENSLICE_ code, in this machine's byte order, aligned. */
    result<span<const std::byte>> expect(std::uint32_t dtype, const numbers &shape = any_shape) const
    {
        tenslice_bytes bytes{};
        tenslice_error why = detail::no_details;
        const auto status = expect_bytes(dtype, shape, bytes, why);
        return detail::finish(status, why, detail::elements<std::byte>(bytes));
    }
#if defined(__cpp_lib_mdspan)
    /**
     * The elements of a dense tensor of that rank, without a copy, in row-major or column-major order as they are: of
     * this type, in this machine's byte order, aligned. WRONG_RANK where it has another number of dimensions.
     */
    template <class T, std::size_t Rank>
    result<std::mdspan<const T, std::dextents<std::uint64_t, Rank>, std::layout_stride>> mdspan() const
    {
        using extents = std::dextents<std::uint64_t, Rank>;
        using view = std::mdspan<const T, extents, std::layout_stride>;
        tenslice_bytes bytes{};
        tenslice_error why = detail::no_details;
        std::array<std::uint64_t, Rank> lengths{}, steps{};
        auto status = rank() == Rank ? expect_bytes(detail::dtype_for<T>(dtype()), any_shape, bytes, why)
                                     : static_cast<tenslice_status>(TENSLICE_WRONG_RANK);
        if (status == TENSLICE_OK && Rank > 0)
            status = tenslice_tensor_shape(&handle_, lengths.data(), Rank, nullptr);
        if (status == TENSLICE_OK && Rank > 0)
            status = tenslice_tensor_strides(&handle_, steps.data(), Rank);
        if (status != TENSLICE_OK)
            return detail::failure<view>(error(status, why));
        for (auto &step : steps)
            step = std::max(step, std::uint64_t{1}); /* 0 in a tensor without elements, which a layout must not have */
        const std::layout_stride::mapping<extents> mapping(extents(lengths), steps);
        return view(static_cast<const T *>(bytes.data), mapping);
    }
#endif
    /** The component that holds a dense tensor. */
    result<component> data() const
    {
        tenslice_component found{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_tensor_data(&handle_, &found, &why);
        return detail::finish(status, why, component(found));
    }
    /** The first component of that role. */
    result<component> find(std::string_view role) const
    {
        tenslice_component found{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_tensor_component(&handle_, role.data(), role.size(), &found, &why);
        return detail::finish(status, why, component(found));
    }
    /** The components, in the order of the file; to be walked once. */
    component_range components() const noexcept
    {
        tenslice_cursor cursor{};
        (void)tenslice_tensor_components(&handle_, &cursor);
        return component_range(cursor);
    }
    /** The attributes, in the order of the file. */
    class attributes attributes() const noexcept
    {
        tenslice_cursor cursor{};
        (void)tenslice_tensor_attributes(&handle_, &cursor);
        return tenslice::attributes(cursor);
    }

    /** How many bytes read_into writes; none where the file does not say. */
    std::optional<std::uint64_t> dense_length() const noexcept { return length(&handle_, true); }
    /** How much scratch memory read_into needs; none where the file does not say. */
    std::optional<std::uint64_t> scratch_length() const noexcept { return length(&handle_, false); }
    /** Writes the tensor as a dense array, whatever its layout, encoding or byte order; the number of bytes. */
    result<std::uint64_t> read_into(span<std::byte> dst, span<std::byte> scratch = {},
                                    const tenslice_decoder *decoder = nullptr) const
    {
        std::uint64_t written = 0;
        tenslice_error why = detail::no_details;
        const auto status = tenslice_tensor_read_into(&handle_, decoder, dst.data(), dst.size(), scratch.data(),
                                                      scratch.size(), &written, &why);
        return detail::finish(status, why, written);
    }

    /**
     * Reads elements of a dense tensor, or of one in quantized blocks, as float, from number `first` on: as many as
     * `dst` has. A library that was built without `dequantize` lacks it.
     */
    result<span<float>> read_f32(std::uint64_t first, span<float> dst) const
    {
        tenslice_error why = detail::no_details;
        const auto status = tenslice_tensor_read_f32(&handle_, first, dst.data(), dst.size(), &why);
        return detail::finish(status, why, dst);
    }
    /**
     * Reads the whole tensor as float, whatever its layout and encoding; what was written of `dst`. A library that was
     * built without `dequantize` lacks it.
     */
    result<span<float>> read_f32_into(span<float> dst, span<std::byte> scratch = {},
                                      const tenslice_decoder *decoder = nullptr) const
    {
        std::uint64_t count = 0;
        tenslice_error why = detail::no_details;
        const auto status = tenslice_tensor_read_f32_into(&handle_, decoder, dst.data(), dst.size(), scratch.data(),
                                                          scratch.size(), &count, &why);
        return detail::finish(status, why, status == TENSLICE_OK ? dst.first(static_cast<std::size_t>(count)) : dst);
    }
    /** How many bytes of scratch memory read_f32_into needs; none where the file does not say. */
    std::optional<std::uint64_t> f32_scratch_length() const noexcept
    {
        std::uint64_t length = UINT64_MAX;
        (void)tenslice_tensor_f32_scratch(&handle_, &length);
        return detail::known(length);
    }
    /**
     * The values of a sparse tensor, whose indices are checked first. `index`, which has an element for each dimension,
     * is where the index of a value is written. `scratch`, for values that are stored encoded, has scratch_length()
     * bytes, and stays in place as long as they are read.
     */
    result<sparse_values> sparse(span<std::uint64_t> index, span<std::byte> scratch = {},
                                 const tenslice_decoder *decoder = nullptr) const
    {
        detail::sparse_cursor cursor{};
        tenslice_sparse_info info{};
        tenslice_error why = detail::no_details;
        auto status = tenslice_tensor_sparse(&handle_, decoder, scratch.data(), scratch.size(), &cursor.values, &why);
        if (status == TENSLICE_OK) {
            info.struct_size = sizeof info;
            status = tenslice_sparse_get_info(&cursor.values, &info);
        }
        if (status == TENSLICE_OK && index.size() < info.rank)
            status = TENSLICE_TOO_SMALL;
        if (status == TENSLICE_OK) {
            cursor.index = index.first(info.rank);
            cursor.dtype = info.dtype;
            cursor.byte_order = info.byte_order;
        }
        return detail::finish(status, why, sparse_values(cursor));
    }
    /** The type of its blocks, where it is quantized. A library that was built without GGUF lacks it. */
    std::optional<block_type> block() const noexcept
    {
        block_type block{};
        if (tenslice_tensor_block(&handle_, &block.number, &block.elements, &block.bytes) != TENSLICE_OK)
            return std::nullopt;
        return block;
    }
    const tenslice_tensor &handle() const noexcept { return handle_; }

private:
    tenslice_status expect_bytes(std::uint32_t dtype, const numbers &shape, tenslice_bytes &bytes,
                                 tenslice_error &why) const noexcept
    {
        return tenslice_tensor_expect(&handle_, dtype | shape.order(), shape.data(), shape.size(), &bytes, &why);
    }
    static std::optional<std::uint64_t> length(const tenslice_tensor *handle, bool is_dense) noexcept
    {
        std::uint64_t dense = UINT64_MAX, scratch = UINT64_MAX;
        (void)tenslice_tensor_lengths(handle, &dense, &scratch);
        return detail::known(is_dense ? dense : scratch);
    }

    tenslice_tensor handle_;
};

using tensor_range = detail::range<tenslice_cursor, tenslice_tensor, tensor, tenslice_tensors_next>;

namespace detail {
/** The message of an error of find or expect, written to `dst`; the rule alone where `dst` is too small. */
inline std::string_view explain(const tenslice_file *file, const error &why, span<char> dst, std::string_view name,
                                std::uint32_t dtype, const numbers &shape) noexcept
{
    std::size_t needed = 0;
    const auto status = tenslice_expect_text(file, name.data(), name.size(), dtype | shape.order(), shape.data(),
                                             shape.size(), &why.details(), dst.data(), dst.size(), &needed);
    return status == TENSLICE_OK ? std::string_view(dst.data(), needed - 1) : std::string_view(why.what());
}

/** The result of a look-up by name; the message of what is thrown says what the file has instead. */
inline result<tensor> found(tenslice_status status, const tenslice_error &why, const tenslice_tensor &handle,
                            const tenslice_file *file, std::string_view name)
{
    return finish(status, why, tensor(handle), [&](span<char> dst) {
        return explain(file, error(status, why), dst, name, TENSLICE_ANY, any_shape);
    });
}

/** The elements of the tensor that a look-up has found, or its error. Without a `dtype`, it is that of T. */
template <class T>
result<span<const T>> expected(tenslice_status status, tenslice_error &why, const tenslice_tensor &handle,
                               std::optional<std::uint32_t> dtype, const numbers &shape, const tenslice_file *file,
                               std::string_view name)
{
    tenslice_bytes bytes{};
    if (status == TENSLICE_OK)
        status = tenslice_tensor_expect(&handle,
                                        (dtype ? *dtype : dtype_for<T>(tenslice_tensor_dtype(&handle))) | shape.order(),
                                        shape.data(), shape.size(), &bytes, &why);
    return finish(status, why, elements<T>(bytes), [&](span<char> dst) {
        return explain(file, error(status, why), dst, name, dtype ? *dtype : dtype_of<T>(), shape);
    });
}
} // namespace detail

/**
 * Which tensor has which name: tenslice_index. The words that it was made in, and what the file was opened from, stay the
 * caller's, where they are.
 */
class index {
public:
    index(const tenslice_index &handle, const tenslice_file &file) noexcept : handle_(handle), file_(file) {}

    /** The first tensor of that name: file::find, in time that hardly depends on how many there are. */
    result<tensor> find(std::string_view name) const
    {
        tenslice_tensor found{};
        tenslice_error why = detail::no_details;
        const auto status = lookup(name, found, why);
        return detail::found(status, why, found, &file_, name);
    }
    /** The elements of a tensor: file::expect, in time that hardly depends on how many tensors there are. */
    template <class T> result<span<const T>> expect(std::string_view name, const numbers &shape = any_shape) const
    {
        tenslice_tensor found{};
        tenslice_error why = detail::no_details;
        const auto status = lookup(name, found, why);
        return detail::expected<T>(status, why, found, std::nullopt, shape, &file_, name);
    }
    /** The bytes of a tensor of that dtype. */
    result<span<const std::byte>> expect(std::string_view name, std::uint32_t dtype,
                                         const numbers &shape = any_shape) const
    {
        tenslice_tensor found{};
        tenslice_error why = detail::no_details;
        const auto status = lookup(name, found, why);
        return detail::expected<std::byte>(status, why, found, dtype, shape, &file_, name);
    }
    const tenslice_index &handle() const noexcept { return handle_; }

private:
    tenslice_status lookup(std::string_view name, tenslice_tensor &found, tenslice_error &why) const noexcept
    {
        return tenslice_index_find(&handle_, name.data(), name.size(), &found, &why);
    }

    tenslice_index handle_;
    tenslice_file file_;
};

namespace detail {
inline tenslice_status next_shard(tenslice_cursor *cursor, tenslice_ztensor2_shard *shard, tenslice_error *why)
{
    shard->struct_size = sizeof *shard;
    return tenslice_ztensor2_shards_next(cursor, shard, why);
}
} // namespace detail

/** A file that has bytes of components, as a zTensor 2 file lists it: tenslice_ztensor2_shard. */
struct ztensor2_shard {
    explicit ztensor2_shard(const tenslice_ztensor2_shard &shard) noexcept
        : name(detail::view(shard.name)), size(shard.size), digest(detail::view(shard.digest))
    {
    }

    /** The reference implementation looks for shard NAME of model.zt at model-NAME.zt. */
    std::string_view name;
    /** In bytes. */
    std::uint64_t size;
    /** Of all bytes of the shard. */
    std::string_view digest;
};

namespace detail {
inline tenslice_status next_tens_chunk(tenslice_cursor *cursor, tenslice_tens_chunk *chunk, tenslice_error *why)
{
    chunk->struct_size = sizeof *chunk;
    return tenslice_tens_chunks_next(cursor, chunk, why);
}

inline tenslice_status next_npz_entry(tenslice_cursor *cursor, tenslice_npz_entry *entry, tenslice_error *why)
{
    entry->struct_size = sizeof *entry;
    return tenslice_npz_entries_next(cursor, entry, why);
}

inline tenslice_status next_gguf_info(tenslice_cursor *cursor, tenslice_gguf_tensor_info *info, tenslice_error *why)
{
    info->struct_size = sizeof *info;
    return tenslice_gguf_infos_next(cursor, info, why);
}
} // namespace detail

using npz_entry_range = detail::range<tenslice_cursor, tenslice_npz_entry, tenslice_npz_entry, detail::next_npz_entry>;
using gguf_info_range =
    detail::range<tenslice_cursor, tenslice_gguf_tensor_info, tenslice_gguf_tensor_info, detail::next_gguf_info>;
using tens_chunk_range =
    detail::range<tenslice_cursor, tenslice_tens_chunk, tenslice_tens_chunk, detail::next_tens_chunk>;

/** What only a TENS file has. A library that was built without TENS lacks it. */
class tens {
public:
    explicit tens(const tenslice_file &file) noexcept : file_(file) {}

    /** A dimension; 0 varies fastest. */
    result<tenslice_tens_dimension> dimension(std::uint32_t i) const
    {
        tenslice_tens_dimension dimension{};
        dimension.struct_size = sizeof dimension;
        const auto status = tenslice_tens_get_dimension(&file_, i, &dimension);
        return detail::finish(status, detail::no_details, dimension);
    }
    /** The chunks, in the order of the file; to be walked once. */
    tens_chunk_range chunks() const noexcept
    {
        tenslice_cursor cursor{};
        (void)tenslice_tens_chunks(&file_, &cursor);
        return tens_chunk_range(cursor);
    }
    /**
     * Writes the permutation of the symmetry in the chunk at that offset: for each position, the dimension whose index
     * moves there. `dst` has as many numbers as the tensor has dimensions; what more it has is left alone.
     */
    result<span<std::uint32_t>> permutation(std::uint64_t offset, span<std::uint32_t> dst) const
    {
        tenslice_error why = detail::no_details;
        const auto status = tenslice_tens_permutation(&file_, offset, dst.data(), dst.size(), &why);
        return detail::finish(status, why, dst);
    }
    /**
     * The bytes of an element as they are in the file, at any address; empty for a 0 of which nothing is stored, where
     * the file has pairs of index and value. Reads all pairs: tensor::sparse is for many elements.
     */
    result<span<const std::byte>> element(const numbers &index) const
    {
        tenslice_bytes bytes{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_tens_element(&file_, index.data(), index.size(), &bytes, &why);
        return detail::finish(status, why, detail::elements<std::byte>(bytes));
    }

private:
    tenslice_file file_;
};

/**
 * A tensor train of a BLZ file, to compute with: tenslice_train. What the file was opened from, and the cores, stay in
 * place. `scratch` has as many bytes as scratch_lengths() says. A library that was built without BLZ lacks it.
 */
class train {
public:
    explicit train(const tenslice_train &handle) noexcept : handle_(handle) {}

    /** How many bytes of scratch memory each call needs. */
    tenslice_blz_scratch scratch_lengths() const noexcept
    {
        tenslice_blz_scratch lengths{};
        lengths.struct_size = sizeof lengths;
        (void)tenslice_blz_get_scratch(&handle_, &lengths);
        return lengths;
    }
    /** The element at an index. */
    result<std::complex<double>> element(const numbers &index, span<std::byte> scratch) const
    {
        double parts[2] = {};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_blz_element(&handle_, index.data(), index.size(), scratch.data(), scratch.size(),
                                                 parts, &why);
        return detail::finish(status, why, std::complex<double>(parts[0], parts[1]));
    }
    /**
     * Writes the elements whose indices match `fixed`, where UINT64_MAX, or no number at all, selects all of a
     * dimension: row-major, as double or std::complex<double>; the number of bytes.
     */
    result<std::uint64_t> slice(const numbers &fixed, span<std::byte> dst, span<std::byte> scratch) const
    {
        std::uint64_t written = 0;
        tenslice_error why = detail::no_details;
        const auto status = tenslice_blz_slice(&handle_, fixed.data(), fixed.size(), dst.data(), dst.size(),
                                               scratch.data(), scratch.size(), &written, &why);
        return detail::finish(status, why, written);
    }
    /** The sum of all elements, whose real part is std::ldexp(real, exponent). */
    result<tenslice_scaled> sum(span<std::byte> scratch) const
    {
        tenslice_scaled sum{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_blz_sum(&handle_, scratch.data(), scratch.size(), &sum, &why);
        return detail::finish(status, why, sum);
    }
    /** The square root of the sum of the squared magnitudes of all elements. */
    result<tenslice_scaled> norm(span<std::byte> scratch) const
    {
        tenslice_scaled norm{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_blz_norm(&handle_, scratch.data(), scratch.size(), &norm, &why);
        return detail::finish(status, why, norm);
    }
    /** The inner product with a train of the same shape and type. `scratch` has inner_scratch_length(other) bytes. */
    result<tenslice_scaled> inner(const train &other, span<std::byte> scratch) const
    {
        tenslice_scaled inner{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_blz_inner(&handle_, &other.handle_, scratch.data(), scratch.size(), &inner,
                                               nullptr, &why);
        return detail::finish(status, why, inner);
    }
    /** How much scratch memory inner needs; none for a train of another shape or type. */
    std::optional<std::uint64_t> inner_scratch_length(const train &other) const noexcept
    {
        tenslice_scaled inner{};
        std::uint64_t length = UINT64_MAX;
        const auto status = tenslice_blz_inner(&handle_, &other.handle_, nullptr, 0, &inner, &length, nullptr);
        return status == TENSLICE_OK || status == TENSLICE_OUT_OF_SCRATCH ? detail::known(length) : std::nullopt;
    }
    const tenslice_train &handle() const noexcept { return handle_; }

private:
    tenslice_train handle_;
};

/** How many bytes b2nd::read_region writes, and how many of scratch memory it needs. */
struct region_lengths {
    std::uint64_t length, scratch;
};

/**
 * What only a Blosc2 frame has: chunks, and regions that are decoded by themselves. A region is given by the index in
 * each dimension at which it begins, and the one before which it ends. A library that was built without b2nd lacks it.
 */
class b2nd {
public:
    explicit b2nd(const tenslice_file &file) noexcept : file_(file) {}

    tenslice_b2nd_info info() const noexcept
    {
        tenslice_b2nd_info info{};
        info.struct_size = sizeof info;
        (void)tenslice_b2nd_get_info(&file_, &info);
        return info;
    }
    /** Writes the shape of the chunks of an array to `dst`. */
    result<span<std::uint64_t>> chunk_shape(span<std::uint64_t> dst) const { return write_shape(0, dst); }
    /** Writes the shape of the blocks of a chunk to `dst`. */
    result<span<std::uint64_t>> block_shape(span<std::uint64_t> dst) const { return write_shape(1, dst); }

    /** What read_region needs. Reads the headers of all chunks that the region touches. */
    result<tenslice::region_lengths> region_lengths(const numbers &start, const numbers &stop) const
    {
        tenslice::region_lengths lengths{};
        tenslice_error why = detail::no_details;
        auto status = same_rank(start, stop);
        if (status == TENSLICE_OK)
            status = tenslice_b2nd_region_lengths(&file_, start.data(), stop.data(), start.size(), &lengths.length,
                                                  &lengths.scratch, &why);
        return detail::finish(status, why, lengths);
    }
    /** How many bytes read_region decodes at most: for files that are not trusted, see tenslice_b2nd_region_work. */
    result<std::uint64_t> region_work(const numbers &start, const numbers &stop) const
    {
        std::uint64_t work = 0;
        tenslice_error why = detail::no_details;
        auto status = same_rank(start, stop);
        if (status == TENSLICE_OK)
            status = tenslice_b2nd_region_work(&file_, start.data(), stop.data(), start.size(), &work, &why);
        return detail::finish(status, why, work);
    }
    /** Decodes a region to `dst`, row-major, in the byte order that the dtype states; the number of bytes. */
    result<std::uint64_t> read_region(const numbers &start, const numbers &stop, span<std::byte> dst,
                                      span<std::byte> scratch = {}, const tenslice_decoder *decoder = nullptr) const
    {
        std::uint64_t written = 0;
        tenslice_error why = detail::no_details;
        auto status = same_rank(start, stop);
        if (status == TENSLICE_OK)
            status = tenslice_b2nd_read_region(&file_, start.data(), stop.data(), start.size(), decoder, dst.data(),
                                               dst.size(), scratch.data(), scratch.size(), &written, &why);
        return detail::finish(status, why, written);
    }

    /** A chunk, by its index. `scratch` may have info().table_scratch bytes, which makes this fast. */
    result<tenslice_b2nd_chunk> chunk(std::uint64_t i, span<std::byte> scratch = {}) const
    {
        tenslice_b2nd_chunk chunk{};
        chunk.struct_size = sizeof chunk;
        tenslice_error why = detail::no_details;
        const auto status = tenslice_b2nd_get_chunk(&file_, i, scratch.data(), scratch.size(), &chunk, &why);
        return detail::finish(status, why, chunk);
    }
    /** Where a chunk is in the file, for a caller that fetches it. `scratch` is as for chunk. */
    result<extent> chunk_extent(std::uint64_t i, span<std::byte> scratch = {}) const
    {
        extent place;
        tenslice_error why = detail::no_details;
        const auto status = tenslice_b2nd_chunk_extent(&file_, i, scratch.data(), scratch.size(), &place.offset,
                                                       &place.length, &why);
        return detail::finish(status, why, place);
    }
    /** The number of chunks that were never written, which read as zeros. `scratch` is as for chunk. */
    result<std::uint64_t> uninitialised_chunks(span<std::byte> scratch = {}) const
    {
        std::uint64_t count = 0;
        tenslice_error why = detail::no_details;
        const auto status = tenslice_b2nd_uninitialised_chunks(&file_, scratch.data(), scratch.size(), &count, &why);
        return detail::finish(status, why, count);
    }
    /** Decodes a chunk, padding included; the number of bytes. `scratch` has the bytes that chunk() reports. */
    result<std::uint64_t> read_chunk(std::uint64_t i, span<std::byte> dst, span<std::byte> scratch = {},
                                     const tenslice_decoder *decoder = nullptr) const
    {
        std::uint64_t written = 0;
        tenslice_error why = detail::no_details;
        const auto status = tenslice_b2nd_read_chunk(&file_, i, decoder, dst.data(), dst.size(), scratch.data(),
                                                     scratch.size(), &written, &why);
        return detail::finish(status, why, written);
    }

    /** A metalayer, by its index in the header or, with `in_trailer`, in the trailer; NOT_FOUND past the last. */
    result<tenslice_b2nd_metalayer> metalayer(std::uint32_t i, bool in_trailer = false) const
    {
        tenslice_b2nd_metalayer metalayer{};
        metalayer.struct_size = sizeof metalayer;
        const auto status = tenslice_b2nd_get_metalayer(&file_, in_trailer ? 1 : 0, i, &metalayer);
        return detail::finish(status, detail::no_details, metalayer);
    }
    /** Decodes a metalayer of the trailer; the number of bytes. `scratch` has the bytes that metalayer() reports. */
    result<std::uint64_t> read_metalayer(std::uint32_t i, span<std::byte> dst, span<std::byte> scratch = {},
                                         const tenslice_decoder *decoder = nullptr) const
    {
        std::uint64_t written = 0;
        tenslice_error why = detail::no_details;
        const auto status = tenslice_b2nd_read_metalayer(&file_, i, decoder, dst.data(), dst.size(), scratch.data(),
                                                         scratch.size(), &written, &why);
        return detail::finish(status, why, written);
    }

private:
    static tenslice_status same_rank(const numbers &start, const numbers &stop) noexcept
    {
        return start.size() == stop.size() ? TENSLICE_OK : TENSLICE_WRONG_RANK;
    }
    result<span<std::uint64_t>> write_shape(std::uint32_t of_blocks, span<std::uint64_t> dst) const
    {
        std::uint32_t rank = 0;
        const auto status = tenslice_b2nd_chunk_shape(&file_, of_blocks, dst.data(), dst.size(), &rank);
        return detail::finish(status, detail::no_details, status == TENSLICE_OK ? dst.first(rank) : dst);
    }

    tenslice_file file_;
};

using ztensor2_shard_range =
    detail::range<tenslice_cursor, tenslice_ztensor2_shard, ztensor2_shard, detail::next_shard>;

/** An open file: tenslice_file. */
class file {
public:
    explicit file(const tenslice_file &handle) noexcept : handle_(handle) {}

    /** Opens a file that is in memory as a whole; the bytes stay the caller's, where they are. */
    static result<file> open(const void *data, std::size_t size)
    {
        tenslice_file handle{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_file_open(&handle, data, size, &why);
        return detail::finish(status, why, file(handle), [&](span<char> dst) {
            return tenslice::error(status, why).explain(dst, data, size);
        });
    }

    tenslice_file_info info() const noexcept
    {
        tenslice_file_info info{};
        info.struct_size = sizeof info;
        (void)tenslice_file_get_info(&handle_, &info);
        return info;
    }
    /** The version as the file states it; empty where it states none. */
    std::string_view version() const noexcept { return detail::view(info().version); }
    std::uint64_t tensor_count() const noexcept { return info().tensor_count; }
    /** TENSLICE_WARNING_ bits. */
    std::uint32_t warnings() const noexcept { return info().warnings; }

    /** The index of the first tensor that a warning, one TENSLICE_WARNING_ bit, is about; none where there is none. */
    std::optional<std::uint64_t> warning_tensor(std::uint32_t warning) const noexcept
    {
        std::uint64_t index = 0;
        const auto status = tenslice_file_warning_tensor(&handle_, warning, &index);
        return status == TENSLICE_OK ? std::optional<std::uint64_t>(index) : std::nullopt;
    }
    /** How many words check() uses at most, and which are always enough: 0 if opening has left nothing to compare. */
    result<std::size_t> check_length() const
    {
        std::size_t count = 0;
        return detail::finish(tenslice_file_check_length(&handle_, &count), detail::no_details, count);
    }
    /**
     * Compares names, roles, keys and places exactly, where opening could not without memory; returns warnings() as they
     * are afterwards. `scratch` has check_length() words; with less than an eighth of them, OUT_OF_SCRATCH.
     */
    result<std::uint32_t> check(span<std::uint32_t> scratch) const
    {
        std::uint32_t warnings = 0;
        tenslice_error why = detail::no_details;
        const auto status = tenslice_file_check(&handle_, scratch.data(), scratch.size(), &warnings, &why);
        return detail::finish(status, why, warnings);
    }

    /** The tensors, in the order of the file; to be walked once. */
    tensor_range tensors() const noexcept
    {
        tenslice_cursor cursor{};
        (void)tenslice_file_tensors(&handle_, &cursor);
        return tensor_range(cursor);
    }
    /** The attributes, in the order of the file: the metadata. */
    class attributes attributes() const noexcept
    {
        tenslice_cursor cursor{};
        (void)tenslice_file_attributes(&handle_, &cursor);
        return tenslice::attributes(cursor);
    }
    /**
     * The first tensor of that name. Linear in the bytes of the metadata, as is expect; an index is not. What is
     * thrown, with TENSLICE_THROW, has read them once more for its message.
     */
    result<tensor> find(std::string_view name) const
    {
        tenslice_tensor found{};
        tenslice_error why = detail::no_details;
        const auto status = lookup(name, found, why);
        return detail::found(status, why, found, &handle_, name);
    }
    /**
     * The elements of the dense tensor of that name, without a copy: of this type, as tensor::as has them, and of this
     * shape, as in expect<float>("layer1.weight", {64, 32}); any shape where it is left out. As std::byte, elements of
     * any type. With a shape, in row-major order; in the other with column_major({64, 32}). Where it fails, explain has
     * the message.
     */
    template <class T> result<span<const T>> expect(std::string_view name, const numbers &shape = any_shape) const
    {
        tenslice_tensor found{};
        tenslice_error why = detail::no_details;
        const auto status = lookup(name, found, why);
        return detail::expected<T>(status, why, found, std::nullopt, shape, &handle_, name);
    }
    /** The bytes of a tensor of that dtype, a TENSLICE_ code, in this machine's byte order, aligned. */
    result<span<const std::byte>> expect(std::string_view name, std::uint32_t dtype,
                                         const numbers &shape = any_shape) const
    {
        tenslice_tensor found{};
        tenslice_error why = detail::no_details;
        const auto status = lookup(name, found, why);
        return detail::expected<std::byte>(status, why, found, dtype, shape, &handle_, name);
    }
    /**
     * The full message of an error of expect<T>, of the file or of an index of it, written to `dst` and NUL-terminated:
     * which tensor was asked for, and what the file has instead, or which name is the nearest. The arguments are those
     * of the call that failed. If `dst` is too small, the rule alone.
     */
    template <class T>
    std::string_view explain(const error &why, span<char> dst, std::string_view name,
                             const numbers &shape = any_shape) const noexcept
    {
        return detail::explain(&handle_, why, dst, name, detail::dtype_of<T>(), shape);
    }
    /** That of an error of find, or of expect with a dtype. */
    std::string_view explain(const error &why, span<char> dst, std::string_view name,
                             std::uint32_t dtype = TENSLICE_ANY, const numbers &shape = any_shape) const noexcept
    {
        return detail::explain(&handle_, why, dst, name, dtype, shape);
    }
    /** How many words an index needs. */
    result<std::size_t> index_length() const
    {
        std::size_t count = 0;
        return detail::finish(tenslice_file_index_length(&handle_, &count), detail::no_details, count);
    }
    /** An index of the names, in `words`: index_length() of them. */
    result<class index> index(span<std::uint32_t> words) const
    {
        tenslice_index made{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_file_index(&handle_, words.data(), words.size(), &made, &why);
        return detail::finish(status, why, tenslice::index(made, handle_));
    }
    /**
     * The shards of a zTensor 2 file, in the order of the file, to be walked once; INVALID_ARGUMENT for a file of another
     * format. component::shard says which one a component is in. A library that was built without zTensor 2 lacks this
     * and check_shard; programs that do not use them link all the same.
     */
    result<ztensor2_shard_range> shards() const
    {
        tenslice_cursor cursor{};
        const auto status = tenslice_ztensor2_shards(&handle_, &cursor);
        return detail::finish(status, detail::no_details, ztensor2_shard_range(cursor));
    }
    /**
     * Holds `bytes` to be all of the shard of that name, so that component::with_shard can take them. True where the
     * digest was compared, false where it is of an unknown kind, or is SHA-256 and that is not built in; an error where
     * it is another file.
     */
    result<bool> check_shard(std::string_view name, span<const std::byte> bytes) const
    {
        std::uint32_t compared = 0;
        tenslice_error why = detail::no_details;
        const auto status = tenslice_ztensor2_check_shard(&handle_, name.data(), name.size(), bytes.data(),
                                                          bytes.size(), &compared, &why);
        return detail::finish(status, why, compared != 0);
    }
    /**
     * What is particular to a GGUF file; INVALID_ARGUMENT for a file of another format. A library that was built without
     * a format lacks this and those below that are for it; programs that do not use them link all the same.
     */
    result<tenslice_gguf_file_info> gguf_info() const
    {
        tenslice_gguf_file_info info{};
        info.struct_size = sizeof info;
        return detail::finish(tenslice_gguf_get_info(&handle_, &info), detail::no_details, info);
    }
    /** The tensors of a GGUF file as ggml sees them, in the order of the file; to be walked once. */
    result<gguf_info_range> gguf_infos() const
    {
        tenslice_cursor cursor{};
        const auto status = tenslice_gguf_infos(&handle_, &cursor);
        return detail::finish(status, detail::no_details, gguf_info_range(cursor));
    }
    /** The type of the items of an NPY file as the file spells it; INVALID_ARGUMENT for a file of another format. */
    result<std::string_view> npy_descr() const
    {
        tenslice_str descr{};
        const auto status = tenslice_npy_descr(&handle_, &descr);
        return detail::finish(status, detail::no_details, detail::view(descr));
    }
    /** All entries of an NPZ archive, arrays or not, in the order of its directory; to be walked once. */
    result<npz_entry_range> npz_entries() const
    {
        tenslice_cursor cursor{};
        const auto status = tenslice_npz_entries(&handle_, &cursor);
        return detail::finish(status, detail::no_details, npz_entry_range(cursor));
    }
    /** What only a TENS file has; INVALID_ARGUMENT for a file of another format. */
    result<class tens> tens() const
    {
        tenslice_cursor cursor{};
        const auto status = tenslice_tens_chunks(&handle_, &cursor);
        return detail::finish(status, detail::no_details, tenslice::tens(handle_));
    }
    /** What only a Blosc2 frame has; INVALID_ARGUMENT for a file of another format. */
    result<class b2nd> b2nd() const
    {
        tenslice_b2nd_info info{};
        info.struct_size = sizeof info;
        const auto status = tenslice_b2nd_get_info(&handle_, &info);
        return detail::finish(status, detail::no_details, tenslice::b2nd(handle_));
    }
    /** What a BLZ file has; INVALID_ARGUMENT for a file of another format. */
    result<tenslice_blz_info> blz_info() const
    {
        tenslice_blz_info info{};
        info.struct_size = sizeof info;
        return detail::finish(tenslice_blz_get_info(&handle_, &info), detail::no_details, info);
    }
    /** A core of the tensor train of a BLZ file. */
    result<tenslice_blz_core> blz_core(std::uint32_t i) const
    {
        tenslice_blz_core core{};
        core.struct_size = sizeof core;
        return detail::finish(tenslice_blz_get_core(&handle_, i, &core), detail::no_details, core);
    }
    /** The tensor train of a BLZ file, whose cores are in memory. */
    result<class train> train() const
    {
        tenslice_train train{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_blz_train(&handle_, &train, &why);
        return detail::finish(status, why, tenslice::train(train));
    }
    /** The tensor train of a BLZ file, over its cores, which were read from the place that blz_info() states. */
    result<class train> train(span<const std::byte> cores) const
    {
        tenslice_train train{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_blz_train_in(&handle_, cores.data(), cores.size(), &train, &why);
        return detail::finish(status, why, tenslice::train(train));
    }
    /** Compares all components with their digests. `scratch` has verify_scratch_length() bytes. */
    result<tenslice_verified> verify(span<std::byte> scratch = {}, const tenslice_decoder *decoder = nullptr) const
    {
        tenslice_verified verified{};
        verified.struct_size = sizeof verified;
        tenslice_error why = detail::no_details;
        const auto status =
            tenslice_file_verify_with(&handle_, decoder, scratch.data(), scratch.size(), &verified, &why);
        return detail::finish(status, why, verified);
    }
    /** How much scratch memory verify needs; none where a component cannot be verified. */
    std::optional<std::uint64_t> verify_scratch_length() const noexcept
    {
        std::uint64_t length = UINT64_MAX;
        (void)tenslice_file_verify_scratch(&handle_, &length);
        return detail::known(length);
    }
    const tenslice_file &handle() const noexcept { return handle_; }

private:
    tenslice_status lookup(std::string_view name, tenslice_tensor &found, tenslice_error &why) const noexcept
    {
        return tenslice_file_find(&handle_, name.data(), name.size(), &found, &why);
    }

    tenslice_file handle_;
};

/**
 * A file of which only some ranges are in memory: tenslice_source. Ranges are asked for until none is missing:
 *
 *     tenslice::source source(length);
 *     while (const auto need = source.needs()) {
 *         ...                                     // never trust the sizes in a file: is there room for need->length?
 *         source.add(need->offset, bytes, size);  // read from need->offset; fails only for the caller's own errors
 *     }
 *     const auto file = source.open();
 *
 * It stays in place, with the bytes added, as long as anything opened from it is used.
 */
class source {
public:
    explicit source(std::uint64_t file_length) noexcept { (void)tenslice_source_init(&handle_, file_length); }
    source(const source &) = delete;
    source &operator=(const source &) = delete;

    /** The next range to fetch and add; none where the file is open, or cannot be opened, which open() says. */
    std::optional<tenslice_need> needs() noexcept
    {
        tenslice_need need{};
        if (status_ == TENSLICE_NEED)
            status_ = tenslice_file_open_source(&file_, &handle_, &need, &why_);
        return status_ == TENSLICE_NEED ? std::optional<tenslice_need>(need) : std::nullopt;
    }
    /** Adds bytes of the file, found at `offset`, which stay where they are; returns how many. */
    result<std::size_t> add(std::uint64_t offset, const void *data, std::size_t size)
    {
        return detail::finish(tenslice_source_add(&handle_, offset, data, size), detail::no_details, size);
    }
    /** The file; an error of status TENSLICE_NEED where a range is still missing. */
    result<file> open()
    {
        (void)needs();
        return detail::finish(status_, why_, file(file_), [&](span<char> dst) {
            return explain(tenslice::error(status_, why_), dst);
        });
    }
    /** The full message of an error of open(), as error::explain writes it, with what of the file is in memory. */
    std::string_view explain(const error &why, span<char> dst) const noexcept
    {
        std::size_t needed = 0;
        const auto status = tenslice_error_text_source(&why.details(), &handle_, dst.data(), dst.size(), &needed);
        return status == TENSLICE_OK ? std::string_view(dst.data(), needed - 1) : std::string_view(why.what());
    }

private:
    tenslice_source handle_{};
    tenslice_file file_{};
    tenslice_error why_ = detail::no_details;
    tenslice_status status_ = TENSLICE_NEED;
};

namespace detail {
struct named_file {
    tenslice_str name, file;
};

inline tenslice_status next_entry(tenslice_cursor *cursor, named_file *entry, tenslice_error *why)
{
    return tenslice_safetensors_index_next(cursor, &entry->name, &entry->file, why);
}
} // namespace detail

/** A tensor of a safetensors_index, and the name of the file that it is in. */
struct safetensors_entry {
    explicit safetensors_entry(const detail::named_file &entry) noexcept : name(entry.name), file(entry.file) {}

    text name;
    /** Without a folder: it was checked not to lead out of the folder of the index. */
    text file;
};

using safetensors_entry_range =
    detail::range<tenslice_cursor, detail::named_file, safetensors_entry, detail::next_entry>;

/** The names of the files of a safetensors_index, each once, in alphabetical order. */
class safetensors_files {
public:
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = text;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = text;

        iterator(const safetensors_files *all, std::size_t at) noexcept : all_(all), at_(at) {}
        text operator*() const noexcept { return (*all_)[at_]; }
        iterator &operator++() noexcept
        {
            ++at_;
            return *this;
        }
        void operator++(int) noexcept { ++at_; }
        bool operator==(const iterator &other) const noexcept { return at_ == other.at_; }
        bool operator!=(const iterator &other) const noexcept { return at_ != other.at_; }

    private:
        const safetensors_files *all_;
        std::size_t at_;
    };

    safetensors_files(const tenslice_safetensors_index &index, span<const std::uint32_t> numbers) noexcept
        : index_(index), numbers_(numbers)
    {
    }
    std::size_t size() const noexcept { return numbers_.size(); }
    bool empty() const noexcept { return numbers_.empty(); }
    text operator[](std::size_t i) const noexcept
    {
        tenslice_str name{};
        (void)tenslice_safetensors_index_file(&index_, numbers_[i], &name);
        return text(name);
    }
    iterator begin() const noexcept { return iterator(this, 0); }
    iterator end() const noexcept { return iterator(this, size()); }

private:
    tenslice_safetensors_index index_;
    span<const std::uint32_t> numbers_;
};

/**
 * Which tensor is in which file of a model in several: model.safetensors.index.json, tenslice_safetensors_index. A
 * library that was built without safetensors lacks it; programs that do not use it link all the same.
 */
class safetensors_index {
public:
    explicit safetensors_index(const tenslice_safetensors_index &handle) noexcept : handle_(handle) {}

    /** Opens an index that is in memory; the bytes stay the caller's, where they are. */
    static result<safetensors_index> open(const void *data, std::size_t size)
    {
        tenslice_safetensors_index handle{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_safetensors_index_open(&handle, data, size, &why);
        return detail::finish(status, why, safetensors_index(handle), [&](span<char> dst) {
            return error(status, why).explain(dst, data, size);
        });
    }

    std::uint64_t tensor_count() const noexcept
    {
        std::uint64_t count = 0;
        (void)tenslice_safetensors_index_count(&handle_, &count);
        return count;
    }
    /** The name of the file that has the tensor of that name. */
    result<text> find(std::string_view name) const
    {
        tenslice_str file{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_safetensors_index_find(&handle_, name.data(), name.size(), &file, &why);
        return detail::finish(status, why, text(file));
    }
    /** The tensors and their files, in the order of the index; to be walked once. */
    safetensors_entry_range entries() const noexcept
    {
        tenslice_cursor cursor{};
        (void)tenslice_safetensors_index_entries(&handle_, &cursor);
        return safetensors_entry_range(cursor);
    }
    /** The metadata, such as total_size. */
    attributes metadata() const noexcept
    {
        tenslice_cursor cursor{};
        (void)tenslice_safetensors_index_metadata(&handle_, &cursor);
        return attributes(cursor);
    }
    /** Compares all names exactly, where opening could not without memory; true. `scratch` is as for file::check. */
    result<bool> check(span<std::uint32_t> scratch) const
    {
        tenslice_error why = detail::no_details;
        const auto status = tenslice_safetensors_index_check(&handle_, scratch.data(), scratch.size(), &why);
        return detail::finish(status, why, true);
    }
    /** The names of the files. `scratch`, which they stay in, has an element for each tensor. */
    result<safetensors_files> files(span<std::uint32_t> scratch) const
    {
        std::size_t count = 0;
        tenslice_error why = detail::no_details;
        const auto status = tenslice_safetensors_index_files(&handle_, scratch.data(), scratch.size(), &count, &why);
        const span<const std::uint32_t> numbers(scratch.data(), count);
        return detail::finish(status, why, safetensors_files(handle_, numbers));
    }
    const tenslice_safetensors_index &handle() const noexcept { return handle_; }

private:
    tenslice_safetensors_index handle_;
};

} // inline namespace
} // namespace tenslice

#undef TENSLICE_DETAIL_EXCEPTIONS
#undef TENSLICE_DETAIL_RESULT
#undef TENSLICE_DETAIL_SPAN
#undef TENSLICE_DETAIL_MDSPAN
#undef TENSLICE_DETAIL_JOIN
#undef TENSLICE_DETAIL_ABI

#endif
