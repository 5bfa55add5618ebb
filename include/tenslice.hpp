/*
 * tenslice.hpp: a header-only wrapper of tenslice.h for C++17 and later. The wrapper owns no memory, so nothing needs
 * to be freed, except class model, which frees what it has opened. Only text::to_string(), class model and throwing an
 * exception allocate. tenslice.h is the manual: lifetimes, threads, cost and errors of each call.
 *
 *     auto file = tenslice::file::open(data, size);                   // the caller owns the bytes
 *     if (!file) return fail(file.error());
 *     for (tenslice::tensor tensor : file->tensors())
 *         std::cout << tensor.name() << '\n';
 *     auto numbers = file->get<float>("layer1.weight", {64, 32});  // a span into `data`
 *     if (!numbers) return fail(numbers.error());
 *
 * Calls that can fail return a tenslice::result. This is std::expected if the standard library has it, else a subset
 * defined here, whose value() throws a tenslice::exception or, without exceptions, aborts. (std::expected throws its
 * own exception.) If TENSLICE_THROW is defined before the header is included, calls return the value itself, and throw
 * a tenslice::exception.
 *
 * With C++23's <stdfloat>, std::float16_t and std::bfloat16_t are element types. With its <mdspan>, tensor::mdspan
 * returns a tensor as a std::mdspan.
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
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

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

#include "tenslice_host.h"

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define TENSLICE_DETAIL_EXCEPTIONS x
#elif defined(TENSLICE_THROW)
#error "TENSLICE_THROW needs exceptions"
#else
#include <cstdlib>
#define TENSLICE_DETAIL_EXCEPTIONS n
#endif

/* The declarations depend on the standard, on TENSLICE_THROW and on exceptions. So do the linker names: a program may
   combine parts that were compiled in different ways. */
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
/** The part of C++20's std::span that is used here. */
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
    /** Converts from an array, a std::array, a std::vector, or anything else that has data() and size(). */
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

/** Returns true if the library was built with `feature`, a TENSLICE_FEATURE_ code. */
inline bool has(std::uint32_t feature) noexcept
{
    return tenslice_has(feature) != 0;
}

/** An error: the broken rule, the part of the file, the byte. 24 bytes, without text of its own. */
class error {
public:
    explicit constexpr error(tenslice_status status, const tenslice_error &details) noexcept
        : details_(details), status_(status) {}

    /** A TENSLICE_ code, from 100 on. */
    constexpr tenslice_status status() const noexcept { return status_; }
    /** The offset in the file at which the rule is broken; none for errors of the caller. */
    constexpr std::optional<std::uint64_t> offset() const noexcept
    {
        return details_.offset == UINT64_MAX ? std::nullopt : std::optional<std::uint64_t>(details_.offset);
    }
    /** The rule in words. */
    const char *what() const noexcept { return tenslice_status_text(status_); }
    /**
     * The full message, written to `dst` and NUL-terminated: the rule, the tensor, the byte. Names and numbers are
     * read again from the bytes that the file was opened from. If `dst` is too small, returns only the rule.
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

/** The exception thrown with TENSLICE_THROW, or by value() of tenslice's own result. (Throwing always allocates.) */
class exception : public std::exception {
public:
    /** Creates an exception whose message has the rule, the part of the file and the byte. */
    explicit exception(const class error &why) noexcept
        : exception(why, [&](span<char> room) { return why.explain(room, nullptr, 0); })
    {
    }
    /** Creates an exception with the message that `explain` writes to a span<char>; it returns the part written. */
    template <class Explain> exception(const class error &why, const Explain &explain) noexcept : why_(why)
    {
        if (std::string_view(explain(span<char>(text_.data(), text_.size()))).data() != text_.data())
            text_[0] = 0;
    }
    /**
     * The message. If opening, find, get or get_f32 threw, it is the full message, with the tensor and what the file has
     * instead. Other calls state the rule, the part of the file and the byte. A message of more than 511 bytes is
     * reduced to the rule.
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
/** A value or an error: the part of C++23's std::expected that is used here. */
template <class T> class result {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>, "handles are plain");

public:
    using value_type = T;
    using error_type = tenslice::error;

    constexpr result(const T &value) noexcept : value_(value), has_value_(true) {}
    constexpr result(const error_type &why) noexcept : error_(why), has_value_(false) {}

    constexpr bool has_value() const noexcept { return has_value_; }
    constexpr explicit operator bool() const noexcept { return has_value_; }
    /** The value. Requires has_value(). */
    constexpr const T &operator*() const noexcept { return value_; }
    constexpr T &operator*() noexcept { return value_; }
    constexpr const T *operator->() const noexcept { return &value_; }
    constexpr T *operator->() noexcept { return &value_; }
    /** Returns the value, or throws. */
    const T &value() const
    {
        if (!has_value_)
            detail::fail(error_);
        return value_;
    }
    constexpr T value_or(const T &other) const noexcept { return has_value_ ? value_ : other; }
    /** The error. Requires !has_value(). */
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
/** The result of a failed call. `explain` writes the message of the exception, if one is thrown. */
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

/** The value that a call has set, or its error. */
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
 * Removes the first part of `rest`, a string with escapes, and returns it: the characters before the next escape or, if
 * the string begins with an escape, the decoded character, stored in `room`. Returns an empty string at the end.
 */
inline std::string_view split(std::string_view &rest, std::array<char, 8> &room) noexcept
{
    const std::string_view front = rest.substr(0, rest.find('\\'));
    rest.remove_prefix(front.size());
    if (!front.empty() || rest.empty())
        return front;
    for (const std::size_t length : {2U, 6U, 12U}) { /* as in \n, \u0061, \ud83d\ude00 */
        const tenslice_str escape{rest.data(), std::min<std::size_t>(length, rest.size()), 1, {}};
        std::size_t needed = 0;
        if (tenslice_str_copy(&escape, room.data(), room.size(), &needed) == TENSLICE_OK && needed > 1) {
            rest.remove_prefix(escape.length);
            return std::string_view(room.data(), needed - 1);
        }
    }
    return std::string_view(); /* the bytes have changed since the file was opened */
}

/** The dtype of elements of type T; 0 if there is none. */
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

/** True if T has the bits of `stored`: bool and 8-bit floats are read as bytes, 16-bit floats as uint16_t. */
template <class T> constexpr bool reads(std::uint32_t stored) noexcept
{
    if constexpr (std::is_same_v<T, std::uint8_t>)
        return stored == TENSLICE_BOOL || (stored >= TENSLICE_F8_E4M3FN && stored <= TENSLICE_F8_E8M0);
    else if constexpr (std::is_same_v<T, std::uint16_t>)
        return stored == TENSLICE_F16 || stored == TENSLICE_BF16;
    else return false;
}

/** The dtype to request to read elements of dtype `stored` as T; std::byte accepts any. */
template <class T> constexpr std::uint32_t dtype_for(std::uint32_t stored) noexcept
{
    static_assert(dtype_of<T>() != 0 || std::is_same_v<T, std::byte>, "elements cannot be read as this type");
    return reads<T>(stored) ? stored : dtype_of<T>();
}

template <class T> span<const T> elements(const tenslice_bytes &bytes) noexcept
{
    return span<const T>(static_cast<const T *>(bytes.data), bytes.length / sizeof(T));
}

/** Returns `number`; none for UINT64_MAX, which means that the number is unknown. */
inline std::optional<std::uint64_t> known(std::uint64_t number) noexcept
{
    return number == UINT64_MAX ? std::nullopt : std::optional<std::uint64_t>(number);
}

/**
 * A single-pass range, such as the tensors of a file or the components of a tensor. Keep it in a variable to call
 * error() afterwards.
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
    /** The error, if iteration ended early: the bytes are not in memory, or have changed since opening. */
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
 * A string of a file: tenslice_str. In JSON, a string may spell characters as escapes, and the name of a tensor in a
 * PyTorch checkpoint may be in several pieces; comparing, copying and printing decode them. Comparing two strings that
 * both have escapes, and printing, allocate if one of the two is in pieces.
 */
class text {
public:
    constexpr text() noexcept = default;
    explicit constexpr text(const tenslice_str &handle) noexcept : handle_(handle) {}

    /** True if the string has escapes, so that raw() is not its decoded text. */
    constexpr bool is_escaped() const noexcept { return handle_.is_escaped != 0; }
    /** The string in place; none if it has escapes. */
    constexpr std::optional<std::string_view> view() const noexcept
    {
        return is_escaped() ? std::nullopt : std::optional<std::string_view>(raw());
    }
    /** The string's bytes in the file, including escapes. */
    constexpr std::string_view raw() const noexcept { return detail::view(handle_); }
    /** The length in bytes, with escapes decoded. Linear if the string has escapes. */
    std::size_t length() const noexcept
    {
        std::size_t needed = 1;
        if (is_escaped())
            (void)tenslice_str_copy(&handle_, nullptr, 0, &needed);
        return is_escaped() ? needed - 1 : raw().size();
    }
    /** Writes the decoded string and a NUL to `dst`: length() + 1 bytes. If `dst` is too small, writes nothing. */
    result<std::string_view> copy_to(span<char> dst) const
    {
        std::size_t needed = 1;
        const auto status = tenslice_str_copy(&handle_, dst.data(), dst.size(), &needed);
        return detail::finish(status, detail::no_details, std::string_view(dst.data(), needed - 1));
    }
    /** A copy of the decoded string. This allocates. */
    std::string to_string() const
    {
        if (!is_escaped())
            return std::string(raw());
        std::string copy;
        if (is_in_pieces()) {
            copy.resize(length());
            (void)tenslice_str_copy(&handle_, copy.data(), copy.size() + 1, nullptr);
        } else {
            for_each_part([&](std::string_view part) { copy.append(part); });
        }
        return copy;
    }
    constexpr const tenslice_str &handle() const noexcept { return handle_; }

    friend bool operator==(const text &a, std::string_view b) noexcept
    {
        return tenslice_str_equals(&a.handle_, b.data(), b.size()) != 0;
    }
    friend bool operator==(const text &a, const text &b)
    {
        return !b.is_escaped() ? a == b.raw() : !a.is_escaped() ? b == a.raw() : a.means_same_as(b);
    }
    friend bool operator==(std::string_view a, const text &b) noexcept { return b == a; }
    friend bool operator!=(const text &a, std::string_view b) noexcept { return !(a == b); }
    friend bool operator!=(const text &a, const text &b) { return !(a == b); }
    friend bool operator!=(std::string_view a, const text &b) noexcept { return !(b == a); }

    /** Prints the decoded string. The width of the stream applies only if view() has a value. */
    template <class Traits>
    friend std::basic_ostream<char, Traits> &operator<<(std::basic_ostream<char, Traits> &out, const text &text)
    {
        if (!text.is_escaped())
            return out << std::basic_string_view<char, Traits>(text.raw().data(), text.raw().size());
        out.width(0);
        const auto write = [&](std::string_view part) {
            out.write(part.data(), static_cast<std::ptrdiff_t>(part.size()));
        };
        if (text.is_in_pieces())
            write(text.to_string());
        else
            text.for_each_part(write);
        return out;
    }

private:
    /** True for the name of a tensor in a checkpoint whose keys are not next to each other. */
    constexpr bool is_in_pieces() const noexcept { return is_escaped() && handle_.reserved[0] != 0; }
    template <class Call> void for_each_part(Call call) const
    {
        std::array<char, 8> room;
        std::string_view rest = raw();
        for (auto part = detail::split(rest, room); !part.empty(); part = detail::split(rest, room))
            call(part);
    }
    /** Compares two strings that both have escapes. */
    bool means_same_as(const text &other) const
    {
        if (is_in_pieces() || other.is_in_pieces())
            return *this == std::string_view(other.to_string());
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
     * The value as a std::uint64_t, std::int64_t, double, bool, text or std::string_view; none if it is of another
     * kind, or does not fit. Integers and doubles are not converted. A std::string_view is a byte string, or a text in
     * place; none for a text with escapes.
     */
    template <class T> std::optional<T> as() const noexcept
    {
        if constexpr (std::is_same_v<T, std::uint64_t>) {
            if (kind() == TENSLICE_VALUE_INTEGER && handle_.negative == 0)
                return handle_.magnitude;
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
            const std::uint64_t most = handle_.negative != 0 ? std::uint64_t{1} << 63 : INT64_MAX;
            /* The magnitude of -2^64 is stored as 0; no other negative integer has magnitude 0. */
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
    /** The values inside a list, a map or a tagged value; an error for any other kind. */
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

/** An attribute: a key and a value. The kind of the key is 0 for the values of a list. */
struct attribute {
    explicit attribute(const detail::pair &pair) noexcept : key(pair.key), value(pair.value) {}

    tenslice::value key, value;
};

/** A range of bytes in the file. */
struct extent {
    std::uint64_t offset = 0, length = 0;
};

/**
 * The attributes of a file or a tensor, or the values inside an attribute. A single-pass range; get() searches only
 * attributes that iteration has not passed yet. Linear in the bytes before the attribute.
 */
class attributes : public detail::range<tenslice_cursor, detail::pair, attribute, detail::next_pair> {
public:
    using range::range;

    /** The number of values left, if it is known: in GGUF, and 0 in formats without attributes. */
    std::optional<std::uint64_t> length() const noexcept
    {
        std::uint64_t length = 0;
        const auto status = tenslice_attributes_length(&cursor(), &length);
        return status == TENSLICE_OK ? std::optional<std::uint64_t>(length) : std::nullopt;
    }
    /**
     * The place in the file of the remaining values of a list: the range to fetch if iteration ends with NOT_IN_MEMORY.
     * None if the values are always in memory, as in all formats except GGUF.
     */
    std::optional<tenslice::extent> extent() const noexcept
    {
        tenslice::extent extent;
        const auto status = tenslice_attributes_extent(&cursor(), &extent.offset, &extent.length);
        return status == TENSLICE_OK ? std::optional<tenslice::extent>(extent) : std::nullopt;
    }
    /** The first value whose key is `key`. */
    result<tenslice::value> get(std::string_view key) const
    {
        tenslice_value found{};
        tenslice_error why = detail::no_details;
        found.struct_size = sizeof found;
        const auto status = tenslice_attributes_get(&cursor(), key.data(), key.size(), &found, &why);
        return detail::finish(status, why, tenslice::value(found));
    }
    /**
     * The first value whose key is `key`, as a std::uint64_t, std::int64_t, double, bool or text. An error if the key
     * is missing, or if the value is of another kind or does not fit.
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

/**
 * How a call reads data: tenslice_read_options. The default is the built-in decoder and no scratch memory. It refers to
 * the memory and to the decoder, so both must outlive it.
 *
 *     tensor.read_into(dst, tenslice::read_options().scratch(memory));
 */
class read_options {
public:
    read_options() noexcept : handle_{} { handle_.struct_size = sizeof handle_; }

    /** Sets the scratch memory. requirements() of each object returns the number of bytes that a call needs. */
    read_options &scratch(span<std::byte> memory) noexcept
    {
        handle_.scratch = memory.data();
        handle_.scratch_length = memory.size();
        return *this;
    }
    /** Sets the decoder; nullptr selects the built-in one. */
    read_options &decoder(const tenslice_decoder *decoder) noexcept
    {
        handle_.decoder = decoder;
        return *this;
    }
    const tenslice_read_options *handle() const noexcept { return &handle_; }

private:
    tenslice_read_options handle_;
};

/** The memory that a call needs: tenslice_requirements. */
struct requirements {
    /** The length of the output: elements for TENSLICE_PURPOSE_READ_F32, otherwise bytes; none if it is unknown. */
    std::optional<std::uint64_t> output;
    /** The length of the scratch memory in bytes; none if it is unknown, or if the call will fail. */
    std::optional<std::uint64_t> scratch;
};

namespace detail {
/** Converts the requirements that a call has filled in. */
inline requirements of_c(const tenslice_requirements &needed) noexcept
{
    return {known(needed.output), known(needed.scratch)};
}

template <class Handle>
requirements requirements_of(const Handle &handle, std::uint32_t purpose,
                             tenslice_status (*call)(const Handle *, std::uint32_t, tenslice_requirements *,
                                                     tenslice_error *)) noexcept
{
    tenslice_requirements needed{};
    needed.struct_size = sizeof needed;
    needed.output = needed.scratch = UINT64_MAX;
    (void)call(&handle, purpose, &needed, nullptr);
    return of_c(needed);
}
} // namespace detail

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
    /** The role in its tensor: "data", "values", "indices", ... */
    std::string_view role() const noexcept { return detail::view(info().role); }
    std::uint32_t dtype() const noexcept { return info().dtype; }

    /** The component's bytes in the file, without a copy; an error if they are stored encoded. */
    result<span<const std::byte>> bytes() const { return get<std::byte>(TENSLICE_ANY); }
    /** The component's bytes as stored, possibly encoded. */
    result<span<const std::byte>> stored() const
    {
        tenslice_bytes bytes{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_component_stored(&handle_, &bytes, &why);
        return detail::finish(status, why, detail::elements<std::byte>(bytes));
    }
    /** The elements, without a copy. An error unless they are of type T, in this machine's byte order, and aligned. */
    template <class T> result<span<const T>> as() const
    {
        return get<T>(detail::dtype_for<T>(dtype()));
    }
    /** The memory that a call needs. `purpose` is TENSLICE_PURPOSE_READ, READ_RANGE or VERIFY. */
    tenslice::requirements requirements(std::uint32_t purpose) const noexcept
    {
        return detail::requirements_of(handle_, purpose, tenslice_component_requirements);
    }
    /** Decodes the component to `dst` and returns the number of bytes. */
    result<std::uint64_t> read_into(span<std::byte> dst, const read_options &options = {}) const
    {
        std::uint64_t length = 0;
        tenslice_error why = detail::no_details;
        const auto status =
            tenslice_component_read_into(&handle_, dst.data(), dst.size(), options.handle(), &length, &why);
        return detail::finish(status, why, length);
    }
    /** The operations that are possible now, in this build: TENSLICE_CAP_ flags. */
    std::uint32_t caps() const noexcept
    {
        std::uint32_t caps = 0;
        (void)tenslice_component_caps(&handle_, &caps);
        return caps;
    }
    /** Reads a range of the decoded bytes, starting at byte `offset`, and fills `dst`. */
    result<span<std::byte>> read_range(std::uint64_t offset, span<std::byte> dst,
                                       const read_options &options = {}) const
    {
        tenslice_error why = detail::no_details;
        const auto status =
            tenslice_component_read_range(&handle_, offset, dst.data(), dst.size(), options.handle(), &why);
        return detail::finish(status, why, dst);
    }
    /** Verifies the digest: one of the returned counts is 1. */
    result<tenslice_verified> verify(const read_options &options = {}) const
    {
        tenslice_verified verified{};
        verified.struct_size = sizeof verified;
        tenslice_error why = detail::no_details;
        const auto status = tenslice_component_verify(&handle_, options.handle(), &verified, &why);
        return detail::finish(status, why, verified);
    }
    /** The name of the shard, if the component's bytes are in another file; otherwise empty. */
    std::string_view shard() const noexcept
    {
        tenslice_str shard{};
        (void)tenslice_component_shard(&handle_, &shard);
        return detail::view(shard);
    }
    /** This component over all bytes of its shard. Check the size and digest first, with file::check_shard. */
    result<component> with_shard(span<const std::byte> shard) const
    {
        tenslice_component bound{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_component_with_shard(&handle_, shard.data(), shard.size(), &bound, &why);
        return detail::finish(status, why, component(bound));
    }
    /** This component over bytes that the caller has read from the place given by info(). */
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
    /** A TENSLICE_GGML_ code. */
    std::uint32_t number;
    /** The numbers of elements and of bytes in a block. */
    std::uint64_t elements, bytes;
};

/**
 * Lengths or indices as an argument: a list such as {64, 32}, or anything that has data and size, such as a std::vector
 * of std::uint64_t. It refers to the numbers, so do not store it.
 */
class numbers {
    template <class Range> using data_of = decltype(std::data(std::declval<const Range &>()));

public:
    constexpr numbers(std::initializer_list<std::uint64_t> list) noexcept : numbers(list.begin(), list.size()) {}
    template <class Range, class = std::enable_if_t<std::is_convertible_v<data_of<Range>, const std::uint64_t *>>>
    constexpr numbers(const Range &range) noexcept : numbers(std::data(range), std::size(range))
    {
    }
    /** Any shape. */
    static constexpr numbers any_shape() noexcept { return numbers(nullptr, TENSLICE_ANY_SHAPE); }
    /** The same lengths, as an expected shape in column-major order. */
    constexpr numbers column_major() const noexcept { return numbers(data_, size_, TENSLICE_COLUMN_MAJOR); }

    constexpr const std::uint64_t *data() const noexcept { return data_; }
    /** TENSLICE_ANY_SHAPE for any shape. */
    constexpr std::size_t size() const noexcept { return size_; }
    /** Expects this shape, and elements of the type `dtype`. */
    constexpr tenslice_expected expected(std::uint32_t dtype) const noexcept
    {
        return {sizeof(tenslice_expected), dtype | order_, size_, data_};
    }

private:
    constexpr numbers(const std::uint64_t *data, std::size_t size, std::uint32_t order = 0) noexcept
        : data_(data), size_(size), order_(order)
    {
    }

    const std::uint64_t *data_;
    std::size_t size_;
    std::uint32_t order_;
};

/** An expected shape in column-major order: get<float>("w", column_major({64, 32})). */
constexpr numbers column_major(const numbers &shape) noexcept { return shape.column_major(); }

/** Accepts any shape. */
inline constexpr numbers any_shape = numbers::any_shape();

/**
 * The lengths of the dimensions of a tensor, in file order. Each access parses the file up to that length.
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
    /** The length of a dimension; 0 past the last. */
    std::uint64_t operator[](std::size_t i) const noexcept
    {
        return i < rank_ ? tenslice_tensor_dimension(&tensor_, static_cast<std::uint32_t>(i)) : 0;
    }
    iterator begin() const noexcept { return iterator(this, 0); }
    iterator end() const noexcept { return iterator(this, rank_); }

    /** For example, tensor.shape() == tenslice::numbers{64, 32}. */
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

/** The byte order of this machine. */
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

    /** The value; none if it is of another type, or in the other byte order. */
    template <class T> std::optional<T> as() const noexcept
    {
        T value{};
        if (dtype != detail::dtype_for<T>(dtype) || bytes.size() != sizeof value
            || (sizeof value > 1 && byte_order != detail::byte_order()))
            return std::nullopt;
        std::memcpy(&value, bytes.data(), sizeof value);
        return value;
    }

    /** The index in each dimension; valid until the next value is read. */
    span<const std::uint64_t> index;
    /** The value as stored, at any address. */
    span<const std::byte> bytes;
    /** A TENSLICE_ code. */
    std::uint32_t dtype;
    /** A TENSLICE_BYTE_ORDER_ code. */
    std::uint32_t byte_order;
};

/** The values of a sparse tensor with checked indices, in stored order: tenslice_sparse. A single-pass range. */
class sparse_values
    : public detail::range<detail::sparse_cursor, detail::sparse_item, sparse_value, detail::next_item> {
public:
    using range::range;

    /** The number of values, their type, and the results of the check. */
    tenslice_sparse_info info() const noexcept
    {
        tenslice_sparse_info info{};
        info.struct_size = sizeof info;
        (void)tenslice_sparse_get_info(&cursor().values, &info);
        return info;
    }
};

class source;

/** A tensor of an open file: tenslice_tensor. */
class tensor {
public:
    explicit tensor(const tenslice_tensor &handle) noexcept : handle_(handle) {}

    /** The same tensor, whose data is looked for in `data`: a copy of the source of the file, with data added. */
    result<tensor> with_source(const source &data) const;

    tenslice_tensor_info info() const noexcept
    {
        tenslice_tensor_info info{};
        info.struct_size = sizeof info;
        (void)tenslice_tensor_get_info(&handle_, &info);
        return info;
    }
    text name() const noexcept { return text(tenslice_tensor_name(&handle_)); }
    /** A TENSLICE_ code; 0 if unknown. */
    std::uint32_t dtype() const noexcept { return tenslice_tensor_dtype(&handle_); }
    const char *dtype_name() const noexcept { return tenslice_dtype_name(dtype()); }
    /** The type as an NPY, NPZ or Blosc2 file spells it, in place; empty if the file states none. */
    std::string_view stated_type() const noexcept { return detail::view(tenslice_tensor_stated_type(&handle_)); }
    /**
     * Describes the elements; with `dst`, also writes the lengths of the dimensions. For a compressed entry of an NPZ
     * archive, this decodes the header into the scratch memory. Other tensors need no scratch memory.
     */
    result<tenslice_described> describe(span<std::uint64_t> dst = {}, const read_options &options = {}) const
    {
        tenslice_described described{};
        described.struct_size = sizeof described;
        tenslice_error why = detail::no_details;
        const auto status =
            tenslice_tensor_describe(&handle_, dst.data(), dst.size(), options.handle(), &described, &why);
        return detail::finish(status, why, described);
    }
    std::uint32_t rank() const noexcept { return tenslice_tensor_rank(&handle_); }
    /** The product of the dimensions; none if it exceeds 64 bits, as for some sparse tensors. */
    std::optional<std::uint64_t> elements() const noexcept { return detail::known(tenslice_tensor_element_count(&handle_)); }
    /** The layout, which says how the components form the tensor: a TENSLICE_LAYOUT_ code. */
    std::uint32_t layout() const noexcept { return tenslice_tensor_layout(&handle_); }
    std::string_view layout_name() const noexcept { return detail::view(info().layout_name); }

    /** The error that each read of the elements returns; none without TENSLICE_WARNING_UNREADABLE_TENSOR. */
    std::optional<error> problem() const noexcept
    {
        tenslice_error why = detail::no_details;
        const auto status = tenslice_tensor_problem(&handle_, &why);
        return status == TENSLICE_OK ? std::nullopt : std::optional<error>(error(status, why));
    }

    /** The dimensions, in file order. */
    class shape shape() const noexcept { return tenslice::shape(handle_); }

    /** Writes the dimensions, in file order, to `dst`. */
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

    /** The elements of a dense tensor, without a copy: of type T, in this machine's byte order, aligned. */
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
    /** The bytes of a dense tensor in the file, without a copy. */
    result<span<const std::byte>> bytes() const { return get<std::byte>(); }
    /**
     * The elements of a dense tensor, as as() returns them, if the tensor has the shape: get<float>({64, 32}). By
     * default, any shape is accepted. std::byte accepts elements of any type. A shape requires row-major order, or
     * column-major order as in column_major({64, 32}).
     */
    template <class T> result<span<const T>> get(const numbers &shape = any_shape) const
    {
        tenslice_bytes bytes{};
        tenslice_error why = detail::no_details;
        const auto status = get_bytes(detail::dtype_for<T>(dtype()), shape, bytes, why);
        return detail::finish(status, why, detail::elements<T>(bytes));
    }
    /**
     * The bytes, if the elements are stored in the type `dtype`, in native byte order, and aligned: a TENSLICE_ code of a
     * dtype, or TENSLICE_GGML_Q4_0 and similar for quantized blocks.
     */
    result<span<const std::byte>> get(std::uint32_t dtype, const numbers &shape = any_shape) const
    {
        tenslice_bytes bytes{};
        tenslice_error why = detail::no_details;
        const auto status = get_bytes(dtype, shape, bytes, why);
        return detail::finish(status, why, detail::elements<std::byte>(bytes));
    }
    /**
     * The elements as float, if the tensor has the shape, whatever their type, layout and encoding: in place if they
     * are stored as aligned floats in this machine's byte order, else converted into `room`. requirements() of
     * TENSLICE_PURPOSE_GET_F32 returns the size of `room`. Missing in libraries built without `dequantize`.
     */
    result<span<const float>> get_f32(const numbers &shape, span<float> room, const read_options &options = {}) const
    {
        tenslice_floats found{};
        tenslice_error why = detail::no_details;
        const auto expected = shape.expected(TENSLICE_ANY);
        const auto status = tenslice_tensor_get_f32(&handle_, &expected, room.data(), room.size(), options.handle(),
                                                    &found, nullptr, &why);
        return detail::finish(status, why, span<const float>(found.data, found.length));
    }
#if defined(__cpp_lib_mdspan)
    /**
     * The elements of a dense tensor of rank `Rank`, without a copy, in their own order, row-major or column-major.
     * They must be of type T, in this machine's byte order, and aligned. WRONG_RANK if the rank differs.
     */
    template <class T, std::size_t Rank>
    result<std::mdspan<const T, std::dextents<std::uint64_t, Rank>, std::layout_stride>> mdspan() const
    {
        using extents = std::dextents<std::uint64_t, Rank>;
        using view = std::mdspan<const T, extents, std::layout_stride>;
        tenslice_bytes bytes{};
        tenslice_error why = detail::no_details;
        std::array<std::uint64_t, Rank> lengths{}, steps{};
        auto status = rank() == Rank ? get_bytes(detail::dtype_for<T>(dtype()), any_shape, bytes, why)
                                     : static_cast<tenslice_status>(TENSLICE_WRONG_RANK);
        if (status == TENSLICE_OK && Rank > 0)
            status = tenslice_tensor_shape(&handle_, lengths.data(), Rank, nullptr);
        if (status == TENSLICE_OK && Rank > 0)
            status = tenslice_tensor_strides(&handle_, steps.data(), Rank);
        if (status != TENSLICE_OK)
            return detail::failure<view>(error(status, why));
        for (auto &step : steps)
            step = std::max(step, std::uint64_t{1}); /* a tensor without elements has 0, which a layout must not have */
        const std::layout_stride::mapping<extents> mapping(extents(lengths), steps);
        return view(static_cast<const T *>(bytes.data), mapping);
    }
#endif
    /** The component of a dense tensor. */
    result<component> data() const
    {
        tenslice_component found{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_tensor_data(&handle_, &found, &why);
        return detail::finish(status, why, component(found));
    }
    /** The first component with the role `role`. */
    result<component> find(std::string_view role) const
    {
        tenslice_component found{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_tensor_component(&handle_, role.data(), role.size(), &found, &why);
        return detail::finish(status, why, component(found));
    }
    /** The components, in file order. A single-pass range. */
    component_range components() const noexcept
    {
        tenslice_cursor cursor{};
        (void)tenslice_tensor_components(&handle_, &cursor);
        return component_range(cursor);
    }
    /** The attributes, in file order. */
    class attributes attributes() const noexcept
    {
        tenslice_cursor cursor{};
        (void)tenslice_tensor_attributes(&handle_, &cursor);
        return tenslice::attributes(cursor);
    }

    /** The memory that a call needs. `purpose` is a TENSLICE_PURPOSE_ code: see tenslice_tensor_requirements. */
    tenslice::requirements requirements(std::uint32_t purpose) const noexcept
    {
        return detail::requirements_of(handle_, purpose, tenslice_tensor_requirements);
    }
    /** Writes a tensor of any layout and encoding as a dense array. Returns the number of bytes. */
    result<std::uint64_t> read_into(span<std::byte> dst, const read_options &options = {}) const
    {
        std::uint64_t written = 0;
        tenslice_error why = detail::no_details;
        const auto status =
            tenslice_tensor_read_into(&handle_, dst.data(), dst.size(), options.handle(), &written, &why);
        return detail::finish(status, why, written);
    }

    /**
     * Reads elements of a dense or quantized tensor as float, starting with number `first`, and fills `dst`. Missing in
     * libraries built without `dequantize`.
     */
    result<span<float>> read_f32(std::uint64_t first, span<float> dst) const
    {
        tenslice_error why = detail::no_details;
        const auto status = tenslice_tensor_read_f32(&handle_, first, dst.data(), dst.size(), &why);
        return detail::finish(status, why, dst);
    }
    /**
     * Reads a whole tensor of any layout and encoding as float. Returns the part of `dst` that was written. Missing in
     * libraries built without `dequantize`.
     */
    result<span<float>> read_f32_into(span<float> dst, const read_options &options = {}) const
    {
        std::uint64_t count = 0;
        tenslice_error why = detail::no_details;
        const auto status =
            tenslice_tensor_read_f32_into(&handle_, dst.data(), dst.size(), options.handle(), &count, &why);
        return detail::finish(status, why, status == TENSLICE_OK ? dst.first(static_cast<std::size_t>(count)) : dst);
    }
    /**
     * Checks the indices of a sparse tensor, and returns its values. The index of each value is written to `index`,
     * which must have an element for each dimension. If values are encoded, the scratch memory must stay in place while
     * they are read.
     */
    result<sparse_values> sparse(span<std::uint64_t> index, const read_options &options = {}) const
    {
        detail::sparse_cursor cursor{};
        tenslice_sparse_info info{};
        tenslice_error why = detail::no_details;
        auto status = tenslice_tensor_sparse(&handle_, options.handle(), &cursor.values, &why);
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
    /** The type of the blocks of a quantized tensor. Missing in libraries built without GGUF. */
    std::optional<block_type> block() const noexcept
    {
        block_type block{};
        if (tenslice_tensor_block(&handle_, &block.number, &block.elements, &block.bytes) != TENSLICE_OK)
            return std::nullopt;
        return block;
    }
    const tenslice_tensor &handle() const noexcept { return handle_; }

private:
    tenslice_status get_bytes(std::uint32_t dtype, const numbers &shape, tenslice_bytes &bytes,
                              tenslice_error &why) const noexcept
    {
        const auto expected = shape.expected(dtype);
        return tenslice_tensor_get(&handle_, &expected, &bytes, &why);
    }

    tenslice_tensor handle_;
};

using tensor_range = detail::range<tenslice_cursor, tenslice_tensor, tensor, tenslice_tensors_next>;

namespace detail {
/** The message of an error of find or get, written to `dst`; only the rule if `dst` is too small. */
inline std::string_view explain(const tenslice_file *file, const error &why, span<char> dst, std::string_view name,
                                std::uint32_t dtype, const numbers &shape) noexcept
{
    std::size_t needed = 0;
    const auto expected = shape.expected(dtype);
    const auto status = tenslice_file_get_text(file, name.data(), name.size(), &expected, &why.details(), dst.data(),
                                               dst.size(), &needed);
    return status == TENSLICE_OK ? std::string_view(dst.data(), needed - 1) : std::string_view(why.what());
}

/** The result of a look-up by name. The message of an exception says what the file has instead. */
inline result<tensor> found(tenslice_status status, const tenslice_error &why, const tenslice_tensor &handle,
                            const tenslice_file *file, std::string_view name)
{
    return finish(status, why, tensor(handle), [&](span<char> dst) {
        return explain(file, error(status, why), dst, name, TENSLICE_ANY, any_shape);
    });
}

/** The elements of the tensor that a look-up has found, or the error. The default `dtype` is T's. */
template <class T>
result<span<const T>> expected(tenslice_status status, tenslice_error &why, const tenslice_tensor &handle,
                               std::optional<std::uint32_t> dtype, const numbers &shape, const tenslice_file *file,
                               std::string_view name)
{
    tenslice_bytes bytes{};
    const auto expected = shape.expected(dtype ? *dtype : dtype_for<T>(tenslice_tensor_dtype(&handle)));
    if (status == TENSLICE_OK)
        status = tenslice_tensor_get(&handle, &expected, &bytes, &why);
    return finish(status, why, elements<T>(bytes), [&](span<char> dst) {
        return explain(file, error(status, why), dst, name, dtype ? *dtype : dtype_of<T>(), shape);
    });
}

/** The elements of a tensor as float. `get` is the function for the handle `from`: of a file or of an index. */
template <class Handle, class Get>
result<span<const float>> get_f32(const Handle &from, Get get, const tenslice_file *file, std::string_view name,
                                  const numbers &shape, span<float> room, const read_options &options)
{
    tenslice_floats found{};
    tenslice_error why = no_details;
    const auto expected = shape.expected(TENSLICE_ANY);
    const auto status = get(&from, name.data(), name.size(), &expected, room.data(), room.size(), options.handle(),
                            &found, nullptr, &why);
    return finish(status, why, span<const float>(found.data, found.length), [&](span<char> dst) {
        return explain(file, error(status, why), dst, name, TENSLICE_ANY, shape);
    });
}
} // namespace detail

/**
 * A name-to-tensor index: tenslice_index. The caller owns the words of the index, and the bytes or the source of the
 * file; all must stay in place.
 */
class index {
public:
    index(const tenslice_index &handle, const tenslice_file &file) noexcept : handle_(handle), file_(file) {}

    /** The first tensor named `name`, as file::find. Constant time on average. */
    result<tensor> find(std::string_view name) const
    {
        tenslice_tensor found{};
        tenslice_error why = detail::no_details;
        const auto status = lookup(name, found, why);
        return detail::found(status, why, found, &file_, name);
    }
    /** The elements of a tensor, as file::get. Constant time on average. */
    template <class T> result<span<const T>> get(std::string_view name, const numbers &shape = any_shape) const
    {
        tenslice_tensor found{};
        tenslice_error why = detail::no_details;
        const auto status = lookup(name, found, why);
        return detail::expected<T>(status, why, found, std::nullopt, shape, &file_, name);
    }
    /** The bytes of the tensor named `name`, if it is stored in the type `dtype`: see tensor::get. */
    result<span<const std::byte>> get(std::string_view name, std::uint32_t dtype,
                                      const numbers &shape = any_shape) const
    {
        tenslice_tensor found{};
        tenslice_error why = detail::no_details;
        const auto status = lookup(name, found, why);
        return detail::expected<std::byte>(status, why, found, dtype, shape, &file_, name);
    }
    /** The elements of a tensor as float, as tensor::get_f32. */
    result<span<const float>> get_f32(std::string_view name, const numbers &shape, span<float> room,
                                      const read_options &options = {}) const
    {
        return detail::get_f32(handle_, tenslice_index_get_f32, &file_, name, shape, room, options);
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

/** Another file with bytes of components, as listed in a zTensor 2 file: tenslice_ztensor2_shard. */
struct ztensor2_shard {
    explicit ztensor2_shard(const tenslice_ztensor2_shard &shard) noexcept
        : name(detail::view(shard.name)), size(shard.size), digest(detail::view(shard.digest))
    {
    }

    /** The reference implementation looks for shard NAME of model.zt at model-NAME.zt. */
    std::string_view name;
    /** The size in bytes. */
    std::uint64_t size;
    /** The digest of all bytes of the shard. */
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

inline tenslice_status next_pytorch_global(tenslice_cursor *cursor, tenslice_pytorch_global *global, tenslice_error *why)
{
    global->struct_size = sizeof *global;
    return tenslice_pytorch_globals_next(cursor, global, why);
}

inline tenslice_status next_onnx_opset(tenslice_cursor *cursor, tenslice_onnx_opset *opset, tenslice_error *why)
{
    opset->struct_size = sizeof *opset;
    return tenslice_onnx_opsets_next(cursor, opset, why);
}

inline tenslice_status
next_tflite_subgraph(tenslice_cursor *cursor, tenslice_tflite_subgraph *subgraph, tenslice_error *why)
{
    subgraph->struct_size = sizeof *subgraph;
    return tenslice_tflite_subgraphs_next(cursor, subgraph, why);
}

inline tenslice_status next_ptd_segment(tenslice_cursor *cursor, tenslice_ptd_segment *segment, tenslice_error *why)
{
    segment->struct_size = sizeof *segment;
    return tenslice_ptd_segments_next(cursor, segment, why);
}

inline tenslice_status next_gguf_info(tenslice_cursor *cursor, tenslice_gguf_tensor_info *info, tenslice_error *why)
{
    info->struct_size = sizeof *info;
    return tenslice_gguf_infos_next(cursor, info, why);
}
} // namespace detail

using npz_entry_range = detail::range<tenslice_cursor, tenslice_npz_entry, tenslice_npz_entry, detail::next_npz_entry>;
using pytorch_global_range =
    detail::range<tenslice_cursor, tenslice_pytorch_global, tenslice_pytorch_global, detail::next_pytorch_global>;
using onnx_opset_range =
    detail::range<tenslice_cursor, tenslice_onnx_opset, tenslice_onnx_opset, detail::next_onnx_opset>;
using tflite_subgraph_range =
    detail::range<tenslice_cursor, tenslice_tflite_subgraph, tenslice_tflite_subgraph, detail::next_tflite_subgraph>;
using ptd_segment_range =
    detail::range<tenslice_cursor, tenslice_ptd_segment, tenslice_ptd_segment, detail::next_ptd_segment>;
using gguf_info_range =
    detail::range<tenslice_cursor, tenslice_gguf_tensor_info, tenslice_gguf_tensor_info, detail::next_gguf_info>;
using tens_chunk_range =
    detail::range<tenslice_cursor, tenslice_tens_chunk, tenslice_tens_chunk, detail::next_tens_chunk>;

/** The properties that only a TENS file has. Missing in libraries built without TENS. */
class tens {
public:
    explicit tens(const tenslice_file &file) noexcept : file_(file) {}

    /** A dimension; the index of dimension 0 varies fastest. */
    result<tenslice_tens_dimension> dimension(std::uint32_t i) const
    {
        tenslice_tens_dimension dimension{};
        dimension.struct_size = sizeof dimension;
        const auto status = tenslice_tens_get_dimension(&file_, i, &dimension);
        return detail::finish(status, detail::no_details, dimension);
    }
    /** The chunks, in file order. A single-pass range. */
    tens_chunk_range chunks() const noexcept
    {
        tenslice_cursor cursor{};
        (void)tenslice_tens_chunks(&file_, &cursor);
        return tens_chunk_range(cursor);
    }
    /**
     * Writes the permutation of the symmetry in the chunk at `offset`: for each position, the dimension whose index
     * moves there. `dst` has at least as many numbers as the tensor has dimensions; the rest is unchanged.
     */
    result<span<std::uint32_t>> permutation(std::uint64_t offset, span<std::uint32_t> dst) const
    {
        tenslice_error why = detail::no_details;
        const auto status = tenslice_tens_permutation(&file_, offset, dst.data(), dst.size(), &why);
        return detail::finish(status, why, dst);
    }
    /**
     * The bytes of an element in the file, at any address. If the file stores pairs of index and value, the result is
     * empty for a missing pair, and each call reads all pairs: use tensor::sparse for many elements.
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
 * A tensor train of a BLZ file, for computations: tenslice_train. The file's source and the cores must stay in place.
 * `scratch` has as many bytes as scratch_lengths() returns. Missing in libraries built without BLZ.
 */
class train {
public:
    explicit train(const tenslice_train &handle) noexcept : handle_(handle) {}

    /** The scratch memory that each call needs, in bytes. */
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
     * Writes the elements whose indices match `fixed`, row-major, as double or std::complex<double>. UINT64_MAX, or a
     * missing number, selects all indices of a dimension. Returns the number of bytes.
     */
    result<std::uint64_t> slice(const numbers &fixed, span<std::byte> dst, span<std::byte> scratch) const
    {
        std::uint64_t written = 0;
        tenslice_error why = detail::no_details;
        const auto status = tenslice_blz_slice(&handle_, fixed.data(), fixed.size(), dst.data(), dst.size(),
                                               scratch.data(), scratch.size(), &written, &why);
        return detail::finish(status, why, written);
    }
    /** The sum of all elements; its real part is std::ldexp(real, exponent). */
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
    /** The scratch memory that inner needs, in bytes; none for a train of another shape or type. */
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

/**
 * The properties that only a Blosc2 frame has: chunks, and regions that can be decoded alone. For each dimension, a
 * region has the index of its first element, and the index after its last. Missing in libraries built without b2nd.
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

    /** The memory that read_region needs. Reads the headers of all chunks that the region touches. */
    result<requirements> region_requirements(const numbers &start, const numbers &stop) const
    {
        tenslice_requirements needed{};
        needed.struct_size = sizeof needed;
        tenslice_error why = detail::no_details;
        auto status = same_rank(start, stop);
        if (status == TENSLICE_OK)
            status = tenslice_b2nd_region_requirements(&file_, start.data(), stop.data(), start.size(), &needed, &why);
        return detail::finish(status, why, detail::of_c(needed));
    }
    /** The most bytes that read_region decodes. For untrusted files: see tenslice_b2nd_region_work. */
    result<std::uint64_t> region_work(const numbers &start, const numbers &stop) const
    {
        std::uint64_t work = 0;
        tenslice_error why = detail::no_details;
        auto status = same_rank(start, stop);
        if (status == TENSLICE_OK)
            status = tenslice_b2nd_region_work(&file_, start.data(), stop.data(), start.size(), &work, &why);
        return detail::finish(status, why, work);
    }
    /** Decodes a region to `dst`, row-major, in the byte order of the dtype. Returns the number of bytes. */
    result<std::uint64_t> read_region(const numbers &start, const numbers &stop, span<std::byte> dst,
                                      const read_options &options = {}) const
    {
        std::uint64_t written = 0;
        tenslice_error why = detail::no_details;
        auto status = same_rank(start, stop);
        if (status == TENSLICE_OK)
            status = tenslice_b2nd_read_region(&file_, start.data(), stop.data(), start.size(), dst.data(),
                                               dst.size(), options.handle(), &written, &why);
        return detail::finish(status, why, written);
    }

    /** A chunk, by its index. Fast with info().table_scratch bytes of scratch memory. */
    result<tenslice_b2nd_chunk> chunk(std::uint64_t i, const read_options &options = {}) const
    {
        tenslice_b2nd_chunk chunk{};
        chunk.struct_size = sizeof chunk;
        tenslice_error why = detail::no_details;
        const auto status = tenslice_b2nd_get_chunk(&file_, i, options.handle(), &chunk, &why);
        return detail::finish(status, why, chunk);
    }
    /** The place of a chunk in the file, for a caller that fetches the chunk. The options are as for chunk(). */
    result<extent> chunk_extent(std::uint64_t i, const read_options &options = {}) const
    {
        extent place;
        tenslice_error why = detail::no_details;
        const auto status =
            tenslice_b2nd_chunk_extent(&file_, i, options.handle(), &place.offset, &place.length, &why);
        return detail::finish(status, why, place);
    }
    /** The number of chunks that were never written, which read as zeros. The options are as for chunk(). */
    result<std::uint64_t> uninitialised_chunks(const read_options &options = {}) const
    {
        std::uint64_t count = 0;
        tenslice_error why = detail::no_details;
        const auto status = tenslice_b2nd_uninitialised_chunks(&file_, options.handle(), &count, &why);
        return detail::finish(status, why, count);
    }
    /** Decodes a chunk, including padding. Returns the number of bytes. Scratch memory: see chunk(). */
    result<std::uint64_t> read_chunk(std::uint64_t i, span<std::byte> dst, const read_options &options = {}) const
    {
        std::uint64_t written = 0;
        tenslice_error why = detail::no_details;
        const auto status =
            tenslice_b2nd_read_chunk(&file_, i, dst.data(), dst.size(), options.handle(), &written, &why);
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
    /** Decodes a metalayer of the trailer. Returns the number of bytes. Scratch memory: see metalayer(). */
    result<std::uint64_t> read_metalayer(std::uint32_t i, span<std::byte> dst,
                                         const read_options &options = {}) const
    {
        std::uint64_t written = 0;
        tenslice_error why = detail::no_details;
        const auto status =
            tenslice_b2nd_read_metalayer(&file_, i, dst.data(), dst.size(), options.handle(), &written, &why);
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

    /** Opens a file that is completely in memory. The bytes belong to the caller and stay in place. */
    static result<file> open(const void *data, std::size_t size)
    {
        tenslice_file handle{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_file_open(&handle, data, size, &why);
        return detail::finish(status, why, file(handle), [&](span<char> dst) {
            return tenslice::error(status, why).explain(dst, data, size);
        });
    }

    /** The same file, whose bytes are looked for in `data`: a copy of the source of the file, with ranges added. */
    result<file> with_source(const source &data) const;

    tenslice_file_info info() const noexcept
    {
        tenslice_file_info info{};
        info.struct_size = sizeof info;
        (void)tenslice_file_get_info(&handle_, &info);
        return info;
    }
    /** The version as the file states it; empty if it states none. */
    std::string_view version() const noexcept { return detail::view(info().version); }
    std::uint64_t tensor_count() const noexcept { return info().tensor_count; }
    /** TENSLICE_WARNING_ bits. */
    std::uint32_t warnings() const noexcept { return info().warnings; }

    /** The index of the first tensor with a warning (one TENSLICE_WARNING_ bit), if there is one. */
    std::optional<std::uint64_t> warning_tensor(std::uint32_t warning) const noexcept
    {
        std::uint64_t index = 0;
        const auto status = tenslice_file_warning_tensor(&handle_, warning, &index);
        return status == TENSLICE_OK ? std::optional<std::uint64_t>(index) : std::nullopt;
    }
    /** The number of words that is always enough for check(); 0 if opening has compared everything. */
    result<std::size_t> check_length() const
    {
        std::size_t count = 0;
        return detail::finish(tenslice_file_check_length(&handle_, &count), detail::no_details, count);
    }
    /**
     * Compares the names, roles, keys and extents that opening could not compare without memory. Returns the remaining
     * warnings(). `scratch` has check_length() words; an eighth is enough, except for the shards of zTensor 2: see
     * tenslice_file_check.
     */
    result<std::uint32_t> check(span<std::uint32_t> scratch) const
    {
        std::uint32_t warnings = 0;
        tenslice_error why = detail::no_details;
        const auto status = tenslice_file_check(&handle_, scratch.data(), scratch.size(), &warnings, &why);
        return detail::finish(status, why, warnings);
    }

    /** The tensors, in file order. A single-pass range. */
    tensor_range tensors() const noexcept
    {
        tenslice_cursor cursor{};
        (void)tenslice_file_tensors(&handle_, &cursor);
        return tensor_range(cursor);
    }
    /** The attributes, in file order: the metadata. */
    class attributes attributes() const noexcept
    {
        tenslice_cursor cursor{};
        (void)tenslice_file_attributes(&handle_, &cursor);
        return tenslice::attributes(cursor);
    }
    /**
     * The first tensor named `name`. Linear in the bytes of the metadata, like get; an index is faster. With
     * TENSLICE_THROW, a failed call reads the metadata a second time for the message.
     */
    result<tensor> find(std::string_view name) const
    {
        tenslice_tensor found{};
        tenslice_error why = detail::no_details;
        const auto status = lookup(name, found, why);
        return detail::found(status, why, found, &handle_, name);
    }
    /**
     * The elements of the dense tensor named `name`, as tensor::as returns them, if the tensor has the shape:
     * get<float>("layer1.weight", {64, 32}). By default, any shape is accepted. std::byte accepts elements of any
     * type. A shape requires row-major order, or column-major order as in column_major({64, 32}). explain() returns the
     * message of an error.
     */
    template <class T> result<span<const T>> get(std::string_view name, const numbers &shape = any_shape) const
    {
        tenslice_tensor found{};
        tenslice_error why = detail::no_details;
        const auto status = lookup(name, found, why);
        return detail::expected<T>(status, why, found, std::nullopt, shape, &handle_, name);
    }
    /** The bytes of the tensor named `name`, if it is stored in the type `dtype`: see tensor::get. */
    result<span<const std::byte>> get(std::string_view name, std::uint32_t dtype,
                                      const numbers &shape = any_shape) const
    {
        tenslice_tensor found{};
        tenslice_error why = detail::no_details;
        const auto status = lookup(name, found, why);
        return detail::expected<std::byte>(status, why, found, dtype, shape, &handle_, name);
    }
    /** The elements of a tensor as float, as tensor::get_f32. */
    result<span<const float>> get_f32(std::string_view name, const numbers &shape, span<float> room,
                                      const read_options &options = {}) const
    {
        return detail::get_f32(handle_, tenslice_file_get_f32, &handle_, name, shape, room, options);
    }
    /**
     * The full message of an error of get<T>, of the file or of its index, written to `dst` and NUL-terminated: the
     * requested tensor, and what the file has instead, or the nearest name. Pass the arguments of the call that failed.
     * If `dst` is too small, returns only the rule.
     */
    template <class T>
    std::string_view explain(const error &why, span<char> dst, std::string_view name,
                             const numbers &shape = any_shape) const noexcept
    {
        return detail::explain(&handle_, why, dst, name, detail::dtype_of<T>(), shape);
    }
    /** The full message of an error of find, of get with a dtype, or of get_f32 with TENSLICE_ANY. */
    std::string_view explain(const error &why, span<char> dst, std::string_view name,
                             std::uint32_t dtype = TENSLICE_ANY, const numbers &shape = any_shape) const noexcept
    {
        return detail::explain(&handle_, why, dst, name, dtype, shape);
    }
    /** The number of words that an index needs. */
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
     * The tensors in file order, in the first tensor_count() of `entries`: name, dtype, shape and place, in plain
     * structs. text(entry.name) is the name.
     */
    result<span<tenslice_entry>> list(span<tenslice_entry> entries) const
    {
        std::uint64_t count = 0;
        tenslice_error why = detail::no_details;
        const auto status = tenslice_file_list(&handle_, entries.data(), entries.size(), &count, &why);
        return detail::finish(status, why, entries.first(static_cast<std::size_t>(count)));
    }
    /** The tensor of an entry that list() has made from this file. */
    result<tensor> at(const tenslice_entry &entry) const
    {
        tenslice_tensor found{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_file_tensor(&handle_, &entry, &found, &why);
        return detail::finish(status, why, tensor(found));
    }
    /**
     * The shards of a zTensor 2 file, in file order: a single-pass range. INVALID_ARGUMENT for a file of another
     * format. component::shard returns the shard of a component. Libraries built without zTensor 2 lack this and
     * check_shard; programs that do not use them still link.
     */
    result<ztensor2_shard_range> shards() const
    {
        tenslice_cursor cursor{};
        const auto status = tenslice_ztensor2_shards(&handle_, &cursor);
        return detail::finish(status, detail::no_details, ztensor2_shard_range(cursor));
    }
    /**
     * Checks that `bytes` is the complete shard named `name`; then component::with_shard can take the bytes. Returns
     * true if the digest was compared, and false if its kind is unknown or is SHA-256 and not built in. An error if the
     * bytes are another file.
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
     * The properties that only a GGUF file has; INVALID_ARGUMENT for a file of another format. Libraries built without
     * a format lack the functions for that format, here and below; programs that do not use them still link.
     */
    result<tenslice_gguf_file_info> gguf_info() const
    {
        tenslice_gguf_file_info info{};
        info.struct_size = sizeof info;
        return detail::finish(tenslice_gguf_get_info(&handle_, &info), detail::no_details, info);
    }
    /** The tensors of a GGUF file as ggml sees them, in file order. A single-pass range. */
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
    /** All entries of an NPZ archive, arrays or not, in directory order. A single-pass range. */
    result<npz_entry_range> npz_entries() const
    {
        tenslice_cursor cursor{};
        const auto status = tenslice_npz_entries(&handle_, &cursor);
        return detail::finish(status, detail::no_details, npz_entry_range(cursor));
    }
    /** The names in a PyTorch checkpoint that stand for code, in the order of the file. A single-pass range. */
    result<pytorch_global_range> pytorch_globals() const
    {
        tenslice_cursor cursor{};
        const auto status = tenslice_pytorch_globals(&handle_, &cursor);
        return detail::finish(status, detail::no_details, pytorch_global_range(cursor));
    }
    /** The version of an ONNX model and the program that wrote it; INVALID_ARGUMENT for a file of another format. */
    result<tenslice_onnx_info> onnx_info() const
    {
        tenslice_onnx_info info{};
        info.struct_size = sizeof info;
        const auto status = tenslice_onnx_get_info(&handle_, &info);
        return detail::finish(status, detail::no_details, info);
    }
    /** The sets of operators that an ONNX model needs, in the order of the file. A single-pass range. */
    result<onnx_opset_range> onnx_opsets() const
    {
        tenslice_cursor cursor{};
        const auto status = tenslice_onnx_opsets(&handle_, &cursor);
        return detail::finish(status, detail::no_details, onnx_opset_range(cursor));
    }
    /** The subgraphs of a TFLite model, in the order of the file. A single-pass range. */
    result<tflite_subgraph_range> tflite_subgraphs() const
    {
        tenslice_cursor cursor{};
        const auto status = tenslice_tflite_subgraphs(&handle_, &cursor);
        return detail::finish(status, detail::no_details, tflite_subgraph_range(cursor));
    }
    /** The segments of an ExecuTorch `.ptd` file, in the order of the file. A single-pass range. */
    result<ptd_segment_range> ptd_segments() const
    {
        tenslice_cursor cursor{};
        const auto status = tenslice_ptd_segments(&handle_, &cursor);
        return detail::finish(status, detail::no_details, ptd_segment_range(cursor));
    }
    /** The properties that only a TENS file has; INVALID_ARGUMENT for a file of another format. */
    result<class tens> tens() const
    {
        tenslice_cursor cursor{};
        const auto status = tenslice_tens_chunks(&handle_, &cursor);
        return detail::finish(status, detail::no_details, tenslice::tens(handle_));
    }
    /** The properties that only a Blosc2 frame has; INVALID_ARGUMENT for a file of another format. */
    result<class b2nd> b2nd() const
    {
        tenslice_b2nd_info info{};
        info.struct_size = sizeof info;
        const auto status = tenslice_b2nd_get_info(&handle_, &info);
        return detail::finish(status, detail::no_details, tenslice::b2nd(handle_));
    }
    /** The properties that only a BLZ file has; INVALID_ARGUMENT for a file of another format. */
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
    /** The tensor train of a BLZ file. The cores must be in memory. */
    result<class train> train() const
    {
        tenslice_train train{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_blz_train(&handle_, &train, &why);
        return detail::finish(status, why, tenslice::train(train));
    }
    /** The tensor train of a BLZ file, over cores that the caller has read from the place given by blz_info(). */
    result<class train> train(span<const std::byte> cores) const
    {
        tenslice_train train{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_blz_train_from_bytes(&handle_, cores.data(), cores.size(), &train, &why);
        return detail::finish(status, why, tenslice::train(train));
    }
    /** The maximum over the requirements of all tensors. `purpose` is a TENSLICE_PURPOSE_ code, such as VERIFY. */
    tenslice::requirements requirements(std::uint32_t purpose) const noexcept
    {
        return detail::requirements_of(handle_, purpose, tenslice_file_requirements);
    }
    /** Verifies the digests of all components. */
    result<tenslice_verified> verify(const read_options &options = {}) const
    {
        tenslice_verified verified{};
        verified.struct_size = sizeof verified;
        tenslice_error why = detail::no_details;
        const auto status = tenslice_file_verify(&handle_, options.handle(), &verified, &why);
        return detail::finish(status, why, verified);
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
 * A file that is only partly in memory: tenslice_source. Add ranges until none is missing:
 *
 *     tenslice::source source(length);
 *     while (const auto need = source.needs()) {
 *         ...                                     // never trust the sizes in a file: is there room for need->length?
 *         if (!source.add(need->offset, bytes, size)) return; // bytes read from need->offset; at most 32 are kept
 *     }
 *     const auto file = source.open();
 *
 * The source and the added bytes must stay in place as long as anything opened from the source is used.
 */
class source {
public:
    explicit source(std::uint64_t file_length) noexcept { (void)tenslice_source_init(&handle_, file_length); }
    source(const source &) = delete;
    source &operator=(const source &) = delete;

    /** A source with the same ranges, to which data may be added while the original is in use: see with_source(). */
    source copy() const noexcept { return source(handle_); }
    /** The next range to fetch and add; none if open() will return the file or an error. */
    std::optional<tenslice_need> needs() noexcept
    {
        tenslice_need need{};
        if (status_ == TENSLICE_NEED)
            status_ = tenslice_file_open_source(&file_, &handle_, &need, &why_);
        return status_ == TENSLICE_NEED ? std::optional<tenslice_need>(need) : std::nullopt;
    }
    /** Adds bytes of the file from `offset`; they must stay in place. Returns the number of bytes. */
    result<std::size_t> add(std::uint64_t offset, const void *data, std::size_t size)
    {
        return detail::finish(tenslice_source_add(&handle_, offset, data, size), detail::no_details, size);
    }
    /**
     * The ranges to fetch at the same time, in `pieces`, with their places in memory: tenslice_source_needs. None if
     * open() will return the file or an error.
     */
    span<tenslice_piece> needs(span<tenslice_piece> pieces) noexcept
    {
        std::size_t count = 0;
        if (needs())
            (void)tenslice_source_needs(&handle_, pieces.data(), pieces.size(), &count);
        return pieces.first(count);
    }
    /** Adds the pieces of needs(), whose bytes are in `data`; both must stay in place. Returns the number of bytes. */
    result<std::size_t> add(span<const tenslice_piece> pieces, const void *data, std::size_t size)
    {
        const auto status = tenslice_source_add_pieces(&handle_, pieces.data(), pieces.size(), data, size);
        return detail::finish(status, detail::no_details, size);
    }
    /** The file; an error with the status TENSLICE_NEED if a range is still missing. */
    result<file> open()
    {
        (void)needs();
        return detail::finish(status_, why_, file(file_), [&](span<char> dst) {
            return explain(tenslice::error(status_, why_), dst);
        });
    }
    /** The full message of an error of open(), as by error::explain, from the ranges that are in memory. */
    std::string_view explain(const error &why, span<char> dst) const noexcept
    {
        std::size_t needed = 0;
        const auto status = tenslice_error_text_source(&why.details(), &handle_, dst.data(), dst.size(), &needed);
        return status == TENSLICE_OK ? std::string_view(dst.data(), needed - 1) : std::string_view(why.what());
    }

    const tenslice_source &handle() const noexcept { return handle_; }

private:
    explicit source(const tenslice_source &handle) noexcept : handle_(handle) {}

    tenslice_source handle_{};
    tenslice_file file_{};
    tenslice_error why_ = detail::no_details;
    tenslice_status status_ = TENSLICE_NEED;
};

inline result<tensor> tensor::with_source(const source &data) const
{
    tenslice_tensor bound{};
    const auto status = tenslice_tensor_with_source(&handle_, &data.handle(), &bound);
    return detail::finish(status, detail::no_details, tensor(bound));
}

inline result<file> file::with_source(const source &data) const
{
    tenslice_file bound{};
    const auto status = tenslice_file_with_source(&handle_, &data.handle(), &bound);
    return detail::finish(status, detail::no_details, file(bound));
}

namespace detail {
inline tenslice_status next_read(tenslice_cursor *cursor, tenslice_planned_read *read, tenslice_error *)
{
    return tenslice_reads_next(cursor, read);
}
} // namespace detail

using planned_read_range =
    detail::range<tenslice_cursor, tenslice_planned_read, tenslice_planned_read, detail::next_read>;

/** The reads that fetch many pieces of a file into one region of memory: tenslice_plan. */
class plan {
public:
    /** Sorts the pieces, and sets their places in memory. They must stay in place, unchanged, while the plan is used. */
    static result<plan> open(span<tenslice_piece> pieces, std::uint64_t file_length, std::uint64_t alignment = 4096,
                             std::uint64_t gap = 65536)
    {
        plan made;
        const auto status =
            tenslice_plan_open(&made.handle_, pieces.data(), pieces.size(), file_length, alignment, gap);
        return detail::finish(status, detail::no_details, made);
    }
    /** The number of bytes of memory that all reads need together. */
    std::uint64_t length() const noexcept
    {
        std::uint64_t length = 0;
        (void)tenslice_plan_length(&handle_, &length);
        return length;
    }
    /** The reads, in the order of the file, each of at most `longest` bytes. A single-pass range. */
    planned_read_range reads(std::uint64_t longest) const noexcept
    {
        tenslice_cursor cursor{};
        (void)tenslice_plan_reads(&handle_, longest, &cursor);
        return planned_read_range(cursor);
    }

private:
    plan() noexcept = default;

    tenslice_plan handle_{};
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

/** A tensor of a safetensors_index, and the path of its file. */
struct safetensors_entry {
    explicit safetensors_entry(const detail::named_file &entry) noexcept : name(entry.name), file(entry.file) {}

    text name;
    /** A path from the folder of the index, checked not to lead out of that folder. */
    text file;
};

using safetensors_entry_range =
    detail::range<tenslice_cursor, detail::named_file, safetensors_entry, detail::next_entry>;

/** The paths of the files of a safetensors_index, each once, in alphabetical order. */
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
 * The index of a model in several files, which says which file has each tensor: model.safetensors.index.json,
 * tenslice_safetensors_index. Missing in libraries built without safetensors; programs that do not use it still link.
 */
class safetensors_index {
public:
    explicit safetensors_index(const tenslice_safetensors_index &handle) noexcept : handle_(handle) {}

    /** Opens an index that is in memory. The bytes belong to the caller and stay in place. */
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
    /** The path of the file that has the tensor named `name`. */
    result<text> find(std::string_view name) const
    {
        tenslice_str file{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_safetensors_index_find(&handle_, name.data(), name.size(), &file, &why);
        return detail::finish(status, why, text(file));
    }
    /** The tensors and their files, in the order of the index. A single-pass range. */
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
    /**
     * Compares the names that opening could not compare without memory. `scratch` has tensor_count() elements; an
     * eighth of them is enough. Returns true, or the error.
     */
    result<bool> check(span<std::uint32_t> scratch) const
    {
        tenslice_error why = detail::no_details;
        const auto status = tenslice_safetensors_index_check(&handle_, scratch.data(), scratch.size(), &why);
        return detail::finish(status, why, true);
    }
    /** The paths of the files. They are kept in `scratch`, which has an element for each tensor. */
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

namespace detail {
inline tenslice_status next_in_model(tenslice_model_tensors *tensors, tenslice_tensor *tensor, tenslice_error *why)
{
    return tenslice_model_next_tensor(tensors, tensor, nullptr, why);
}
inline tenslice_status next_problem(tenslice_model_problems *problems, tenslice_problem *problem, tenslice_error *)
{
    return tenslice_model_next_problem(problems, problem);
}
} // namespace detail

/** A problem of a model: tenslice_problem. */
class problem {
public:
    explicit problem(const tenslice_problem &handle) noexcept : handle_(handle) {}

    tenslice_problem_info info() const noexcept
    {
        tenslice_problem_info info{};
        info.struct_size = sizeof info;
        (void)tenslice_problem_get_info(&handle_, &info);
        return info;
    }
    /** A TENSLICE_PROBLEM_ code. */
    std::uint32_t kind() const noexcept { return info().kind; }
    /** True if every tensor of the model can be read all the same. */
    bool is_warning() const noexcept { return kind() >= TENSLICE_PROBLEM_UNLISTED_TENSOR; }
    /** The sentence, with the name of the file. Allocates. */
    std::string to_string() const
    {
        std::size_t needed = 0;
        (void)tenslice_problem_text(&handle_, nullptr, 0, &needed);
        std::string text(needed, '\0');
        (void)tenslice_problem_text(&handle_, &text[0], text.size(), nullptr);
        text.resize(needed == 0 ? 0 : needed - 1);
        return text;
    }
    const tenslice_problem &handle() const noexcept { return handle_; }

private:
    tenslice_problem handle_;
};

/** The tensors of a model that can be read, in the order of its files. A single-pass range. */
using model_tensor_range =
    detail::range<tenslice_model_tensors, tenslice_tensor, tensor, detail::next_in_model>;
using problem_range = detail::range<tenslice_model_problems, tenslice_problem, problem, detail::next_problem>;

/**
 * A model that this class opens and closes: tenslice_host.h. It owns the mapped files, so tensors and spans are valid
 * for as long as the model. A program that uses it is linked with tenslice_host.c.
 *
 *     auto model = tenslice::model::open("llama");
 *     if (!model) return fail(model.why());
 *     auto weight = model.get_f32("layer1.weight", {64, 32});
 *     if (!weight) return fail(model.explain(weight.error(), "layer1.weight", TENSLICE_ANY, {64, 32}));
 */
class model {
public:
    /**
     * Opens the model at `path`: a file, an index, any part of a model, or a folder with one of these. If that fails,
     * the model is false, and why() is the reason; with TENSLICE_THROW, throws an exception with that reason.
     */
    static model open(const std::string &path)
    {
        model opened;
        opened.why_.resize(4096);
        opened.host_ = tenslice_host_open(path.c_str(), &opened.why_[0], opened.why_.size());
        opened.why_.resize(opened.host_ != nullptr ? 0 : std::strlen(opened.why_.c_str()));
#if defined(TENSLICE_THROW)
        if (!opened) {
            detail::fail(error(TENSLICE_NOT_FOUND, detail::no_details), [&](span<char> dst) {
                return std::string_view(dst.data(), opened.why_.copy(dst.data(), dst.size() - 1));
            });
        }
#endif
        return opened;
    }

    model(const model &) = delete;
    model &operator=(const model &) = delete;
    model(model &&other) noexcept
        : host_(std::exchange(other.host_, nullptr)), why_(std::move(other.why_)),
          converted_(std::move(other.converted_))
    {
    }
    model &operator=(model &&other) noexcept
    {
        std::swap(host_, other.host_);
        why_.swap(other.why_);
        converted_.swap(other.converted_);
        return *this;
    }
    ~model() { tenslice_host_close(host_); }

    explicit operator bool() const noexcept { return host_ != nullptr; }
    /** The reason why the model could not be opened. */
    const std::string &why() const noexcept { return why_; }

    /** The tensor named `name`, in whatever file it is. Constant time on average. */
    result<tensor> find(std::string_view name) const
    {
        tenslice_tensor found{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_model_find(handle(), name.data(), name.size(), &found, nullptr, &why);
        return detail::finish(status, why, tensor(found), [&](span<char> dst) {
            return write(error(status, why), dst, name, TENSLICE_ANY, any_shape);
        });
    }
    /** The elements of a tensor, as file::get: a span into its mapped file. */
    template <class T> result<span<const T>> get(std::string_view name, const numbers &shape = any_shape) const
    {
        tenslice_tensor found{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_model_find(handle(), name.data(), name.size(), &found, nullptr, &why);
        const auto dtype =
            status == TENSLICE_OK ? detail::dtype_for<T>(tenslice_tensor_dtype(&found)) : detail::dtype_of<T>();
        return bytes<T>(name, dtype, shape);
    }
    /** The bytes of the tensor named `name`, if it is stored in the type `dtype`: see tensor::get. */
    result<span<const std::byte>> get(std::string_view name, std::uint32_t dtype,
                                      const numbers &shape = any_shape) const
    {
        return bytes<std::byte>(name, dtype, shape);
    }
    /**
     * The elements of a tensor as float, as tensor::get_f32: a span into its mapped file, or into memory that the model
     * allocates and owns. The span is valid for as long as the model. Not for use in two threads at once. A file does
     * not bound the length of a sparse tensor: pass a shape if the file is untrusted. TOO_SMALL or OUT_OF_SCRATCH if
     * there is not enough memory.
     */
    result<span<const float>> get_f32(std::string_view name, const numbers &shape = any_shape)
    {
        tenslice_floats found{};
        tenslice_error why = detail::no_details;
        tenslice_requirements needed{};
        needed.struct_size = sizeof needed;
        const auto expected = shape.expected(TENSLICE_ANY);
        auto status = tenslice_model_get_f32(handle(), name.data(), name.size(), &expected, nullptr, 0, nullptr,
                                             &found, &needed, &why);
        if (status == TENSLICE_TOO_SMALL || status == TENSLICE_OUT_OF_SCRATCH) {
            auto room = allocate<float>(needed.output);
            const auto scratch = allocate<std::byte>(needed.scratch);
            const tenslice_read_options options = {sizeof options, 0, nullptr, scratch.get(),
                                                   scratch ? static_cast<std::size_t>(needed.scratch) : 0};
            status = tenslice_model_get_f32(handle(), name.data(), name.size(), &expected, room.get(),
                                            room ? static_cast<std::size_t>(needed.output) : 0, &options, &found,
                                            nullptr, &why);
            if (status == TENSLICE_OK)
                converted_.push_back(std::move(room));
        }
        return detail::finish(status, why, span<const float>(found.data, found.length), [&](span<char> dst) {
            return write(error(status, why), dst, name, TENSLICE_ANY, shape);
        });
    }
    /**
     * The message of an error of find, get, or get_f32 with TENSLICE_ANY: what the model has instead, in which file, or
     * the nearest name. Allocates.
     */
    std::string explain(const error &why, std::string_view name, std::uint32_t dtype = TENSLICE_ANY,
                        const numbers &shape = any_shape) const
    {
        std::string text(1024, '\0');
        text.resize(write(why, span<char>(&text[0], text.size()), name, dtype, shape).size());
        return text;
    }

    model_tensor_range tensors() const noexcept
    {
        tenslice_model_tensors tensors{};
        (void)tenslice_model_get_tensors(handle(), &tensors);
        return model_tensor_range(tensors);
    }
    /** The faults of the model, each found while the range runs. A single-pass range. */
    problem_range problems() const noexcept
    {
        tenslice_model_problems problems{};
        (void)tenslice_model_get_problems(handle(), &problems);
        return problem_range(problems);
    }
    const tenslice_model *handle() const noexcept { return tenslice_host_model(host_); }

private:
    model() = default;

    /** `count` values, or none if the number is 0 or unknown, or if there is not enough memory. */
    template <class T> static std::unique_ptr<T[]> allocate(std::uint64_t count)
    {
        const bool fits = count > 0 && count <= static_cast<std::size_t>(-1) / 2 / sizeof(T);
        return std::unique_ptr<T[]>(fits ? new (std::nothrow) T[static_cast<std::size_t>(count)] : nullptr);
    }
    template <class T>
    result<span<const T>> bytes(std::string_view name, std::uint32_t dtype, const numbers &shape) const
    {
        tenslice_bytes bytes{};
        tenslice_error why = detail::no_details;
        const auto expected = shape.expected(dtype);
        const auto status = tenslice_model_get(handle(), name.data(), name.size(), &expected, &bytes, &why);
        return detail::finish(status, why, detail::elements<T>(bytes), [&](span<char> dst) {
            return write(error(status, why), dst, name, dtype, shape);
        });
    }
    std::string_view write(const error &why, span<char> dst, std::string_view name, std::uint32_t dtype,
                           const numbers &shape) const noexcept
    {
        std::size_t needed = 0;
        const auto expected = shape.expected(dtype);
        const auto status = tenslice_model_get_text(handle(), name.data(), name.size(), &expected, &why.details(),
                                                    dst.data(), dst.size(), &needed);
        if (status == TENSLICE_OK) return std::string_view(dst.data(), needed - 1);
        const std::string_view rule(why.what());
        rule.copy(dst.data(), dst.size());
        return std::string_view(dst.data(), rule.size() < dst.size() ? rule.size() : dst.size());
    }

    tenslice_host *host_ = nullptr;
    std::string why_;
    std::vector<std::unique_ptr<float[]>> converted_;
};

/**
 * Declares a dense tensor to write, or quantized blocks: tenslice_new_tensor. It refers to the name and the shape, which
 * must stay in place while a writer uses it.
 */
inline tenslice_new_tensor new_tensor(std::string_view name, std::uint32_t dtype,
                                      span<const std::uint64_t> shape) noexcept
{
    tenslice_new_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.dtype = dtype;
    tensor.name = name.data();
    tensor.name_length = name.size();
    tensor.shape = shape.data();
    tensor.rank = shape.size();
    return tensor;
}

/** Declares an attribute to write, a text: tenslice_new_attribute. It refers to the key and the text. */
inline tenslice_new_attribute new_attribute(std::string_view key, std::string_view text) noexcept
{
    tenslice_new_attribute attribute{};
    attribute.key = key.data();
    attribute.key_length = key.size();
    attribute.value.kind = TENSLICE_VALUE_TEXT;
    attribute.value.data = text.data();
    attribute.value.length = text.size();
    return attribute;
}

/** Declares a file of `format`, a TENSLICE_FORMAT_ code: tenslice_new_file. It refers to the tensors and attributes. */
inline tenslice_new_file new_file(std::uint32_t format, span<const tenslice_new_tensor> tensors,
                                  span<const tenslice_new_attribute> attributes = {}) noexcept
{
    tenslice_new_file file{};
    file.struct_size = sizeof file;
    file.format = format;
    file.tensors = tensors.data();
    file.tensor_count = tensors.size();
    file.attributes = attributes.data();
    file.attribute_count = attributes.size();
    return file;
}

/** Sorts declarations in the order of the reference implementation of `format`: tenslice_new_tensors_sort. */
inline result<span<tenslice_new_tensor>> sort(std::uint32_t format, span<tenslice_new_tensor> tensors)
{
    const auto status = tenslice_new_tensors_sort(format, tensors.data(), tensors.size());
    return detail::finish(status, detail::no_details, tensors);
}

namespace detail {
/** A callable as a tenslice_sink. An exception of the callable ends the call, and is thrown again after it. */
template <class Callable> class sink {
public:
    explicit sink(Callable &callable) noexcept : callable_(callable) {}

    template <class Call> tenslice_status during(const Call &call)
    {
        const tenslice_sink handle{&sink::write, this};
        const tenslice_status status = call(&handle);
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
        if (thrown_)
            std::rethrow_exception(thrown_);
#endif
        return status;
    }

private:
    static int write(void *context, std::uint64_t offset, const void *bytes, std::size_t length) noexcept
    {
        sink &self = *static_cast<sink *>(context);
        const span<const std::byte> piece(static_cast<const std::byte *>(bytes), length);
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
        try {
            return self.callable_(offset, piece) ? 0 : 1;
        } catch (...) {
            self.thrown_ = std::current_exception();
            return 1;
        }
#else
        return self.callable_(offset, piece) ? 0 : 1;
#endif
    }

    Callable &callable_;
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
    std::exception_ptr thrown_;
#endif
};
} // namespace detail

/**
 * Writes a file piece by piece: tenslice_writer. It refers to the declarations and the scratch memory, which must stay in
 * place, unchanged. After a copy, use only one of the two. A sink is a callable that takes an offset and the bytes, and
 * returns true if it has taken them:
 *
 *     const auto sink = [&](std::uint64_t, tenslice::span<const std::byte> bytes) { return append(bytes); };
 *     auto writer = tenslice::writer::open(file);
 *     if (!writer || !writer->begin(sink) || !writer->data(sink, weights, size) || !writer->finish(sink)) ...
 *
 * Libraries built without writing lack this; programs that do not use it still link.
 */
class writer {
public:
    /** The number of words of scratch memory that open() needs. */
    static result<std::size_t> scratch_length(const tenslice_new_file &file)
    {
        std::size_t words = 0;
        const auto status = tenslice_writer_scratch_length(&file, &words);
        return detail::finish(status, detail::no_details, words);
    }
    /** Checks the declarations and computes the length of the file. Writes nothing. */
    static result<writer> open(const tenslice_new_file &file, span<std::uint64_t> scratch = {})
    {
        tenslice_writer made{};
        tenslice_error why = detail::no_details;
        const auto status = tenslice_writer_open(&made, &file, scratch.data(), scratch.size(), &why);
        return detail::finish(status, why, writer(made, file),
                              [&](span<char> dst) { return explain(file, error(status, why), dst); });
    }
    /**
     * The full message of an error of a writer of `file`, written to `dst` and NUL-terminated. If `dst` is too small,
     * returns only the rule.
     */
    static std::string_view explain(const tenslice_new_file &file, const error &why, span<char> dst) noexcept
    {
        std::size_t needed = 0;
        if (tenslice_writer_error_text(&file, &why.details(), dst.data(), dst.size(), &needed) != TENSLICE_OK)
            return why.what();
        return std::string_view(dst.data(), needed - 1);
    }

    /** The length of the complete file. */
    std::uint64_t length() const noexcept
    {
        std::uint64_t length = 0;
        (void)tenslice_writer_length(&handle_, &length);
        return length;
    }
    /** The number of bytes written so far. */
    std::uint64_t position() const noexcept
    {
        std::uint64_t position = 0;
        (void)tenslice_writer_position(&handle_, &position);
        return position;
    }
    /** The data that is expected next; none if all data has been passed, or before the file is begun. */
    std::optional<tenslice_due> due() const noexcept
    {
        tenslice_due due{};
        due.struct_size = sizeof due;
        return tenslice_writer_due(&handle_, &due) == TENSLICE_OK ? std::optional<tenslice_due>(due) : std::nullopt;
    }
    /** Writes the part of the file before the data. Each of these calls returns the position after it. */
    template <class Sink> result<std::uint64_t> begin(Sink &&sink) { return resume(sink, 0); }
    /** Continues a file of which the first `written` bytes have been written before, in place of begin(). */
    template <class Sink> result<std::uint64_t> resume(Sink &&sink, std::uint64_t written)
    {
        return call(sink, [&](const tenslice_sink *to, tenslice_error *why) {
            return tenslice_writer_resume(&handle_, to, written, why);
        });
    }
    /** Writes the next `size` bytes of the data, as they are in the file: little-endian. */
    template <class Sink> result<std::uint64_t> data(Sink &&sink, const void *bytes, std::size_t size)
    {
        return call(sink, [&](const tenslice_sink *to, tenslice_error *why) {
            return tenslice_writer_data(&handle_, to, bytes, size, why);
        });
    }
    template <class Sink> result<std::uint64_t> data(Sink &&sink, span<const std::byte> bytes)
    {
        return data(sink, bytes.data(), bytes.size());
    }
    /** Writes the part of the file after the data. The file is complete. */
    template <class Sink> result<std::uint64_t> finish(Sink &&sink)
    {
        return call(sink, [&](const tenslice_sink *to, tenslice_error *why) {
            return tenslice_writer_finish(&handle_, to, why);
        });
    }
    /** The full message of an error of this writer. */
    std::string_view explain(const error &why, span<char> dst) const noexcept { return explain(*file_, why, dst); }
    const tenslice_writer &handle() const noexcept { return handle_; }

private:
    writer(const tenslice_writer &handle, const tenslice_new_file &file) noexcept : handle_(handle), file_(&file) {}

    template <class Sink, class Call> result<std::uint64_t> call(Sink &sink, const Call &function)
    {
        tenslice_error why = detail::no_details;
        detail::sink<Sink> to(sink);
        const auto status = to.during([&](const tenslice_sink *handle) { return function(handle, &why); });
        return detail::finish(status, why, position(),
                              [&](span<char> dst) { return explain(error(status, why), dst); });
    }

    tenslice_writer handle_;
    const tenslice_new_file *file_;
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
