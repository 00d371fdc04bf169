// cc -I. tests/json_test.c -o json_test && ./json_test, in the folder above.
#include <stdio.h>

#include "json.h"

static void check(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "failed: %s\n", what);
    exit(1);
}

int main(void) {
    struct json j = {0};
    json_open(&j, '{');
    json_key(&j, "acks");
    json_open(&j, '['), json_number(&j, 0), json_number(&j, 12), json_close(&j, ']');
    json_key(&j, "kind"), json_string(&j, "query");
    json_key(&j, "op"), json_number(&j, 1);
    json_close(&j, '}');
    const char *expected = "{\"acks\":[0,12],\"kind\":\"query\",\"op\":1}";
    check(j.length == strlen(expected) && memcmp(j.text, expected, j.length) == 0, "an object is written");

    struct json_reader r = {j.text, j.length};
    char kind[16];
    json_word(&r, "kind", kind, sizeof kind);
    check(strcmp(kind, "query") == 0, "a word is read");
    check(json_field(&r, "op") == 1, "a number is read");

    struct json_reader numbers = {"[0,12]", 6};
    uint32_t number;
    check(json_next_number(&numbers, &number) && number == 0, "the first number is read");
    check(json_next_number(&numbers, &number) && number == 12, "the second number is read");
    check(!json_next_number(&numbers, &number), "the array ends");
    char words[64];
    check(strcmp(json_words(words, "# of #", 2, 3, 0), "2 of 3") == 0, "numbers are put into words");
}
