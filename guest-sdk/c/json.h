// Canonical JSON, as docs/encoding.md defines it: sorted keys, no white space, integers only. Keys are written in the order of the
// calls, so write them sorted. Names and words have no character that would need an escape.
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// A text that grows up to JSON_MAX bytes; more than that is a bug of the protocol, and a trap.
enum { JSON_MAX = 1024 };
struct json {
    char text[JSON_MAX];
    size_t length;
};

static inline void json_put(struct json *j, char c) {
    if (j->length == JSON_MAX) abort();
    j->text[j->length++] = c;
}

// A comma, if something came before on this level.
static inline void json_separate(struct json *j) {
    if (j->length && !strchr("{[:", j->text[j->length - 1])) json_put(j, ',');
}

static inline void json_open(struct json *j, char bracket) {
    json_separate(j);
    json_put(j, bracket);
}

static inline void json_close(struct json *j, char bracket) {
    json_put(j, bracket);
}

static inline void json_string(struct json *j, const char *text) {
    json_separate(j);
    json_put(j, '"');
    while (*text) json_put(j, *text++);
    json_put(j, '"');
}

static inline void json_key(struct json *j, const char *key) {
    json_string(j, key);
    json_put(j, ':');
}

static inline void json_number(struct json *j, uint32_t number) {
    char digits[10];
    size_t count = 0;
    do digits[count++] = '0' + number % 10; while (number /= 10);
    json_separate(j);
    while (count) json_put(j, digits[--count]);
}

// A text to read from.
struct json_reader {
    const char *at;
    size_t length;
};

// The first place after "key": in a flat object; traps if there is none.
static inline const char *json_find(const struct json_reader *r, const char *key) {
    size_t length = strlen(key);
    for (size_t i = 0; i + length + 3 <= r->length; i++) {
        const char *at = r->at + i;
        if (at[0] == '"' && memcmp(at + 1, key, length) == 0 && at[length + 1] == '"' && at[length + 2] == ':')
            return at + length + 3;
    }
    abort();
}

static inline uint32_t json_field(const struct json_reader *r, const char *key) {
    const char *at = json_find(r, key), *end = r->at + r->length;
    uint32_t number = 0;
    while (at < end && *at >= '0' && *at <= '9') number = 10 * number + (*at++ - '0');
    return number;
}

// The string of a field, as a C string.
static inline void json_word(const struct json_reader *r, const char *key, char *word, size_t size) {
    const char *at = json_find(r, key) + 1;
    while (size > 1 && at < r->at + r->length && *at != '"') *word++ = *at++, size--;
    *word = 0;
}

// The next number of an array of numbers; false at its end.
static inline bool json_next_number(struct json_reader *r, uint32_t *number) {
    while (r->length && (*r->at < '0' || *r->at > '9')) r->at++, r->length--;
    if (!r->length) return false;
    for (*number = 0; r->length && *r->at >= '0' && *r->at <= '9'; r->at++, r->length--)
        *number = 10 * *number + (*r->at - '0');
    return true;
}

// Words with numbers in the places of `#`: what printf would do, which brings files and locales along.
static inline const char *json_words(char *out, const char *words, uint32_t a, uint32_t b, uint32_t c) {
    uint32_t numbers[] = {a, b, c}, next = 0;
    char *at = out;
    for (; *words; words++) {
        if (*words != '#') {
            *at++ = *words;
            continue;
        }
        struct json number = {0};
        json_number(&number, numbers[next++]);
        memcpy(at, number.text, number.length);
        at += number.length;
    }
    *at = 0;
    return out;
}

#endif
