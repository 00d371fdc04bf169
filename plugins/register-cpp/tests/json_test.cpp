// c++ -std=c++20 -I. tests/json_test.cpp -o json_test && ./json_test, in the folder above.
#include <cstdio>
#include <cstdlib>
#include <set>

#include "json.hpp"

static void check(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "failed: %s\n", what);
    std::exit(1);
}

int main() {
    json::Value message = json::Value::object({{"op", 12u}, {"kind", "query"}});
    check(message.text() == R"({"kind":"query","op":12})", "the fields of an object are sorted");
    check(json::number(json::field(message.text(), "op")) == 12, "a number is read");
    check(json::word(message.text(), "kind") == "query", "a word is read");
    check(json::field(message.text(), "version").empty(), "a field that is not there is empty");
    std::set<std::uint32_t> acks{2, 0};
    check(json::Value(acks).text() == "[0,2]", "a set is an array");
    check(json::numbers("[0,2]") == std::vector<std::uint32_t>{0, 2}, "an array is read");
    check(json::numbers("[]").empty(), "an empty array is read");
}
