// What many protocols promise, for exports_specification_invariant: each function is handed the views of the nodes, and says why it
// does not hold. The other SDKs have the same properties.
//
// A view is bytes: entries of one size, one after the other, such as an array of uint32_t. Where the view of a node is none, the node
// cannot matter. Structs have to be zeroed before they are filled, since their padding is compared, too.
#ifndef READY_MADE_H
#define READY_MADE_H

#include "json.h"
#include "plugin.h"

// Makes a view of entries.
static inline bool ready_view(plugin_list_u8_t *ret, const void *entries, size_t count, size_t size) {
    ret->len = count * size;
    ret->ptr = ret->len ? malloc(ret->len) : NULL;
    if (ret->len) memcpy(ret->ptr, entries, ret->len);
    return true;
}

// Makes a view of a number and entries after it, for ready_committed_is_on_a_majority.
static inline bool ready_view_counted(plugin_list_u8_t *ret, uint32_t number, const void *entries, size_t count, size_t size) {
    ret->len = sizeof number + count * size;
    ret->ptr = malloc(ret->len);
    memcpy(ret->ptr, &number, sizeof number);
    if (count) memcpy(ret->ptr + sizeof number, entries, count * size);
    return true;
}

// Makes a view of two lists, for ready_acknowledged_is_durable: of both how many entries they have, and the entries.
static inline bool ready_view_of_two(plugin_list_u8_t *ret, const void *first, uint32_t of_first, const void *second,
                                     uint32_t of_second, size_t size) {
    ready_view_counted(ret, of_first, first, of_first, size);
    ret->ptr = realloc(ret->ptr, ret->len + of_second * size);
    if (of_second) memcpy(ret->ptr + ret->len, second, of_second * size);
    ret->len += of_second * size;
    return true;
}

// A reason with numbers in the places of `#`.
static inline bool ready_broken(plugin_string_t *err, const char *words, uint32_t a, uint32_t b, uint32_t c) {
    char message[128];
    plugin_string_dup(err, json_words(message, words, a, b, c));
    return false;
}

// The address of the entry at a place in a view, behind bytes that are skipped; NULL if there is none.
static inline const uint8_t *ready_entry(const plugin_option_list_u8_t *view, size_t skipped, uint32_t place, size_t size) {
    if (!view->is_some || skipped + (place + 1) * size > view->val.len) return NULL;
    return view->val.ptr + skipped + place * size;
}

static inline uint32_t ready_number(const plugin_option_list_u8_t *view) {
    uint32_t number;
    memcpy(&number, view->val.ptr, sizeof number);
    return number;
}

// Whether two views are equal.
static inline bool ready_same(const plugin_option_list_u8_t *one, const plugin_option_list_u8_t *other) {
    return one->val.len == other->val.len && (!one->val.len || memcmp(one->val.ptr, other->val.ptr, one->val.len) == 0);
}

// No two nodes lead in the same term; a view is the term of a node that leads, a uint32_t.
static inline bool ready_one_leader_per_term(const plugin_list_option_list_u8_t *views, plugin_string_t *err) {
    for (uint32_t one = 0; one < views->len; one++)
        for (uint32_t other = one + 1; other < views->len; other++) {
            if (!views->ptr[one].is_some || !views->ptr[other].is_some) continue;
            if (ready_same(&views->ptr[one], &views->ptr[other]))
                return ready_broken(err, "nodes # and # both lead in term #", one, other, ready_number(&views->ptr[one]));
        }
    return true;
}

// Of two logs one is the beginning of the other; a view is what counts of a log, such as what is committed.
static inline bool ready_logs_agree(const plugin_list_option_list_u8_t *views, size_t size, plugin_string_t *err) {
    for (uint32_t one = 0; one < views->len; one++)
        for (uint32_t other = one + 1; other < views->len; other++)
            for (uint32_t place = 0;; place++) {
                const uint8_t *entry = ready_entry(&views->ptr[one], 0, place, size);
                const uint8_t *its = ready_entry(&views->ptr[other], 0, place, size);
                if (!entry || !its) break;
                if (memcmp(entry, its, size) != 0)
                    return ready_broken(err, "nodes # and # have different entries at #", one, other, place + 1);
            }
    return true;
}

// What a node has acknowledged is stored by more than half of the nodes; views are those of ready_view_of_two: what a node has
// acknowledged, and what it has on its disk, or in its memory where that is what counts.
static inline bool ready_acknowledged_is_durable(const plugin_list_option_list_u8_t *views, size_t size, plugin_string_t *err) {
    for (uint32_t node = 0; node < views->len; node++) {
        if (!views->ptr[node].is_some) continue;
        for (uint32_t place = 0, count = ready_number(&views->ptr[node]); place < count; place++) {
            const uint8_t *value = ready_entry(&views->ptr[node], sizeof count, place, size), *stored;
            uint32_t holders = 0;
            for (uint32_t other = 0; other < views->len; other++) {
                if (!views->ptr[other].is_some) continue;
                uint32_t at = ready_number(&views->ptr[other]);
                while ((stored = ready_entry(&views->ptr[other], sizeof count, at, size)) && memcmp(stored, value, size) != 0) at++;
                holders += stored != NULL;
            }
            if (holders * 2 <= views->len)
                return ready_broken(err, "node # has acknowledged what # of # nodes have", node, holders, views->len);
        }
    }
    return true;
}

// What a node has committed is in the logs of more than half of the nodes; views are those of ready_view_counted: how many entries
// of its log a node knows to be committed, and the log.
static inline bool ready_committed_is_on_a_majority(const plugin_list_option_list_u8_t *views, size_t size, plugin_string_t *err) {
    for (uint32_t node = 0; node < views->len; node++) {
        if (!views->ptr[node].is_some) continue;
        for (uint32_t place = 0, count = ready_number(&views->ptr[node]); place < count; place++) {
            const uint8_t *entry = ready_entry(&views->ptr[node], sizeof count, place, size);
            uint32_t holders = 0;
            for (uint32_t other = 0; other < views->len; other++) {
                const uint8_t *its = ready_entry(&views->ptr[other], sizeof count, place, size);
                holders += entry && its && memcmp(entry, its, size) == 0;
            }
            if (holders * 2 <= views->len)
                return ready_broken(err, "node # has committed entry #, and # nodes have it: no majority", node, place + 1, holders);
        }
    }
    return true;
}

// All nodes have the same value, any bytes; most often of the kind `eventually`. A node without one is left out.
static inline bool ready_replicas_converge(const plugin_list_option_list_u8_t *views, plugin_string_t *err) {
    for (uint32_t one = 0; one < views->len; one++)
        for (uint32_t other = one + 1; other < views->len; other++) {
            if (!views->ptr[one].is_some || !views->ptr[other].is_some) continue;
            if (!ready_same(&views->ptr[one], &views->ptr[other]))
                return ready_broken(err, "nodes # and # have different values", one, other, 0);
        }
    return true;
}

#endif
