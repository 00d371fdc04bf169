// The durable map of a node as tables: entries with numbers as keys, in their order, and bytes as values. A write costs as much as the change,
// and init finds the entries after a reset. Tables with other names share nothing. The keys have the bytes of a table of numbers in the
// other SDKs. durability_sync() of plugin.h makes all writes so far durable before the messages of a handler leave.
//
// Handlers write. What a table has can also be read in local_events, serialize and view. A range includes both of its ends.
#ifndef STORAGE_H
#define STORAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

// A longer name is a trap.
enum { TABLE_NAME_MAX = 64, TABLE_PAGE = 8 };

// The name, a byte below all others, and the number with its most significant byte first; with a zero byte behind it, the least key
// behind that.
struct table_key {
    uint8_t bytes[TABLE_NAME_MAX + 10];
    size_t length;
};

static inline struct table_key table_key(const char *table, uint64_t number) {
    struct table_key key = {{0}, strlen(table) + 9};
    if (key.length > TABLE_NAME_MAX + 9) abort();
    memcpy(key.bytes, table, key.length - 9);
    for (size_t at = 1; at <= 8; at++, number >>= 8) key.bytes[key.length - at] = number;
    return key;
}

static inline plugin_list_u8_t table_bytes(struct table_key *key, bool is_behind) {
    return (plugin_list_u8_t){key->bytes, key->length + is_behind};
}

// The value of a key, which has to be freed by plugin_list_u8_free; false if there is none.
static inline bool table_get(const char *table, uint64_t number, plugin_list_u8_t *value) {
    struct table_key key = table_key(table, number);
    plugin_list_u8_t bytes = table_bytes(&key, false);
    return storage_get(&bytes, value);
}

// Sets the value of a key.
static inline void table_put(const char *table, uint64_t number, const void *value, size_t length) {
    struct table_key key = table_key(table, number);
    plugin_list_u8_t bytes = table_bytes(&key, false), content = {(uint8_t *)value, length};
    storage_put(&bytes, &content);
}

// Removes a key, if it is there.
static inline void table_delete(const char *table, uint64_t number) {
    struct table_key key = table_key(table, number);
    plugin_list_u8_t bytes = table_bytes(&key, false);
    storage_delete(&bytes);
}

// Removes the keys in a range.
static inline void table_delete_range(const char *table, uint64_t from, uint64_t to) {
    struct table_key first = table_key(table, from), last = table_key(table, to);
    plugin_list_u8_t start = table_bytes(&first, false), end = table_bytes(&last, true);
    if (from <= to) storage_delete_range(&start, &end);
}

// The entries in a range, read some at a time, so a write in between shows in later reads only:
//
//     struct table_range entries = table_range("log", 0, UINT64_MAX);
//     while (table_next(&entries)) use(entries.key, entries.value);
//
// A range that is not read to its end is closed by table_close.
struct table_range {
    // The present entry; its value is there until the next one is read.
    uint64_t key;
    plugin_list_u8_t value;
    // What is read next.
    struct table_key start, end;
    bool is_over;
    storage_list_entry_t page;
    size_t at;
};

static inline struct table_range table_range(const char *table, uint64_t from, uint64_t to) {
    struct table_range range = {.start = table_key(table, from), .end = table_key(table, to), .is_over = from > to};
    range.end.length++;
    return range;
}

static inline void table_close(struct table_range *range) {
    storage_list_entry_free(&range->page);
    range->page = (storage_list_entry_t){0};
    range->at = 0;
    range->is_over = true;
}

// The number of a key.
static inline uint64_t table_number(const plugin_list_u8_t *key) {
    uint64_t number = 0;
    if (key->len < 8) __builtin_trap(); // It is no key of a table.
    for (size_t at = key->len - 8; at < key->len; at++) number = number << 8 | key->ptr[at];
    return number;
}

// Reads the next entry; false at the end.
static inline bool table_next(struct table_range *range) {
    if (range->at == range->page.len) {
        bool is_over = range->is_over;
        table_close(range);
        if (is_over) return false;
        plugin_list_u8_t start = table_bytes(&range->start, false), end = table_bytes(&range->end, false);
        storage_range(&start, &end, STORAGE_ORDER_ASCENDING, TABLE_PAGE, &range->page);
        range->is_over = range->page.len < TABLE_PAGE;
        if (range->page.len == 0) return false;
        const plugin_list_u8_t *last = &range->page.ptr[range->page.len - 1].key;
        if (last->len >= sizeof range->start.bytes) __builtin_trap(); // It is no key of a table.
        memcpy(range->start.bytes, last->ptr, last->len);
        range->start.bytes[last->len] = 0;
        range->start.length = last->len + 1;
    }
    const storage_entry_t *entry = &range->page.ptr[range->at++];
    range->key = table_number(&entry->key);
    range->value = entry->value;
    return true;
}

// The greatest key in a range; false if there is none.
static inline bool table_last(const char *table, uint64_t from, uint64_t to, uint64_t *number) {
    struct table_range range = table_range(table, from, to);
    if (range.is_over) return false;
    plugin_list_u8_t start = table_bytes(&range.start, false), end = table_bytes(&range.end, false);
    storage_range(&start, &end, STORAGE_ORDER_DESCENDING, 1, &range.page);
    bool is_there = range.page.len > 0;
    if (is_there) *number = table_number(&range.page.ptr[0].key);
    table_close(&range);
    return is_there;
}

#endif
