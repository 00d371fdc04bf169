// Canonical JSON, as docs/encoding.md defines it, for C++: values are written by `json::text`, flat objects and arrays of numbers
// are read by `json::Reader`. Names and words have no character that would need an escape.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace json {

// The text of a value.
class Value {
public:
    Value(std::unsigned_integral auto number) : text_(std::to_string(number)) {}
    Value(std::string_view word) : text_('"' + std::string(word) + '"') {}
    Value(const char *word) : Value(std::string_view(word)) {}

    template <std::ranges::input_range R>
        requires std::unsigned_integral<std::ranges::range_value_t<R>>
    Value(const R &numbers) : text_("[") {
        for (auto number : numbers) separate() += std::to_string(number);
        text_ += ']';
    }

    // An object, whatever the order in which its fields are given.
    static Value object(std::initializer_list<std::pair<std::string_view, Value>> given) {
        std::vector<std::pair<std::string_view, Value>> fields(given);
        std::ranges::sort(fields, {}, [](const auto &field) { return field.first; });
        Value value;
        value.text_ = "{";
        for (const auto &[key, field] : fields) value.separate() += '"' + std::string(key) + "\":" + field.text_;
        value.text_ += '}';
        return value;
    }

    const std::string &text() const { return text_; }

private:
    Value() = default;

    std::string &separate() {
        if (text_.size() > 1) text_ += ',';
        return text_;
    }

    std::string text_;
};

// The first number of a text.
inline std::uint32_t number(std::string_view text) {
    std::uint32_t number = 0;
    for (char c : text) {
        if (c < '0' || c > '9') break;
        number = 10 * number + static_cast<std::uint32_t>(c - '0');
    }
    return number;
}

// The numbers of an array.
inline std::vector<std::uint32_t> numbers(std::string_view array) {
    std::vector<std::uint32_t> numbers;
    for (std::size_t at = 1; at < array.size() && array[at] != ']'; at = std::min(array.find(',', at), array.size() - 1) + 1)
        numbers.push_back(number(array.substr(at)));
    return numbers;
}

// What follows `"key":` in a flat object; nothing if the key is not there.
inline std::string_view field(std::string_view object, std::string_view key) {
    std::string name = '"' + std::string(key) + "\":";
    std::size_t at = object.find(name);
    return at == object.npos ? std::string_view() : object.substr(at + name.size());
}

// The string of a field.
inline std::string_view word(std::string_view object, std::string_view key) {
    std::string_view value = field(object, key);
    return value.empty() ? value : value.substr(1, value.find('"', 1) - 1);
}

} // namespace json
