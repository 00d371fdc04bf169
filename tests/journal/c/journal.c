// The journal of `../rust/src/lib.rs`, in C; `tests/cli/journals.rs` compares them.
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "plugin.h"
#include "storage.h"

enum bug { NO_BUG, FORGET_SYNC, DELETE_ONE_MORE, BUGS };
enum { NODES_MAX = 8 };

static const char *const BUG[] = {"none", "forget-sync", "delete-one-more"};
static const char ENTRIES[] = "entries", NUMBERS[] = "numbers";

static struct {
    uint32_t self, nodes, entries;
    enum bug bug;
} config;

// The number of entries that each node has acknowledged.
static uint32_t acknowledged[NODES_MAX];

static uint32_t number_of(const plugin_list_u8_t *value) {
    uint32_t number;
    memcpy(&number, value->ptr, sizeof number);
    return number;
}

// The first entry of a follower that is not deleted, and the number of entries of the leader.
static uint32_t number(void) {
    plugin_list_u8_t value;
    if (!table_get(NUMBERS, 0, &value)) return 0;
    uint32_t number = number_of(&value);
    plugin_list_u8_free(&value);
    return number;
}

static void put(const char *table, uint64_t key, uint32_t value) {
    table_put(table, key, &value, sizeof value);
}

static bool equals(const uint8_t *text, size_t length, const char *word) {
    return length == strlen(word) && memcmp(text, word, length) == 0;
}

static struct {
    types_envelope_t items[NODES_MAX * NODES_MAX];
    size_t length;
} outbox;

static void give(const struct json *j, plugin_list_u8_t *ret) {
    ret->len = j->length;
    ret->ptr = malloc(j->length);
    memcpy(ret->ptr, j->text, j->length);
}

static void send(uint32_t to, const char *kind, uint32_t index, uint32_t value) {
    if (outbox.length == NODES_MAX * NODES_MAX) abort();
    struct json j = {0};
    json_open(&j, '{');
    json_key(&j, "index"), json_number(&j, index);
    json_key(&j, "kind"), json_string(&j, kind);
    json_key(&j, "value"), json_number(&j, value);
    json_close(&j, '}');
    types_envelope_t *envelope = &outbox.items[outbox.length++];
    envelope->to = to;
    give(&j, &envelope->message);
}

static void to_others(const char *kind, uint32_t index, uint32_t value) {
    for (uint32_t to = 1; to < config.nodes; to++) send(to, kind, index, value);
}

static void flush(exports_node_list_envelope_t *ret) {
    ret->len = outbox.length;
    ret->ptr = outbox.length ? malloc(outbox.length * sizeof *ret->ptr) : NULL;
    if (outbox.length) memcpy(ret->ptr, outbox.items, outbox.length * sizeof *ret->ptr);
    outbox.length = 0;
}

static bool configure(const uint8_t *line, size_t length) {
    if (length == 9 && memcmp(line, "entries=", 8) == 0) {
        config.entries = line[8] - '0';
        return true;
    }
    if (length < 4 || memcmp(line, "bug=", 4) != 0) return false;
    for (int bug = 0; bug < BUGS; bug++) {
        if (!equals(line + 4, length - 4, BUG[bug])) continue;
        config.bug = bug;
        return true;
    }
    return false;
}

bool exports_node_init(uint32_t self, uint32_t cluster_size, plugin_string_t *text, plugin_list_u8_t *durable,
                       exports_node_list_envelope_t *ret, plugin_string_t *err) {
    (void)durable;
    config.self = self;
    config.nodes = cluster_size;
    config.entries = 2;
    for (const uint8_t *line = text->ptr, *end = text->ptr + text->len; line < end;) {
        const uint8_t *stop = memchr(line, '\n', end - line);
        if (!stop) stop = end;
        if (!configure(line, stop - line)) {
            plugin_string_dup(err, "no such parameter");
            return false;
        }
        line = stop + 1;
    }
    plugin_string_free(text);
    if (cluster_size > NODES_MAX) abort();
    struct table_range entries = table_range(ENTRIES, 0, UINT64_MAX);
    if (self == 0)
        while (table_next(&entries)) to_others("append", entries.key, number_of(&entries.value));
    flush(ret);
    return true;
}

static void append(uint32_t src, uint32_t index, uint32_t value) {
    plugin_list_u8_t there;
    bool is_there = table_get(ENTRIES, index, &there);
    if (is_there) plugin_list_u8_free(&there);
    if (index >= number() && !is_there) {
        put(ENTRIES, index, value);
        if (config.bug != FORGET_SYNC) durability_sync();
    }
    // All entries before this one are there.
    uint32_t next = number();
    struct table_range entries = table_range(ENTRIES, next, UINT64_MAX);
    while (table_next(&entries)) next += entries.key == next;
    send(src, "acknowledge", next, 0);
}

static void acknowledge(uint32_t src, uint32_t index) {
    if (index > acknowledged[src]) acknowledged[src] = index;
    uint32_t all = acknowledged[1], deleted = 0;
    for (uint32_t node = 1; node < config.nodes; node++)
        if (acknowledged[node] < all) all = acknowledged[node];
    if (all == 0) return;
    struct table_range old = table_range(ENTRIES, 0, all - 1);
    while (table_next(&old)) {
        table_delete(ENTRIES, old.key);
        deleted++;
    }
    if (deleted) to_others("compact", all, 0);
}

static void compact(uint32_t index) {
    // A range includes its end.
    table_delete_range(ENTRIES, 0, config.bug == DELETE_ONE_MORE ? index : index - 1);
    if (index > number()) put(NUMBERS, 0, index);
}

void exports_node_handle_message(uint32_t src, plugin_list_u8_t *message, exports_node_list_envelope_t *ret) {
    struct json_reader r = {(const char *)message->ptr, message->len};
    char kind[16];
    json_word(&r, "kind", kind, sizeof kind);
    uint32_t index = json_field(&r, "index"), value = json_field(&r, "value");
    plugin_list_u8_free(message);
    if (strcmp(kind, "append") == 0) append(src, index, value);
    else if (strcmp(kind, "acknowledge") == 0) acknowledge(src, index);
    else compact(index);
    flush(ret);
}

void exports_node_local_events(exports_node_list_local_event_t *ret) {
    ret->len = config.self == 0 && number() < config.entries;
    ret->ptr = ret->len ? malloc(sizeof *ret->ptr) : NULL;
    if (!ret->len) return;
    plugin_string_dup(&ret->ptr->name, "append");
    ret->ptr->kind = TYPES_LOCAL_KIND_APPLICATION;
    ret->ptr->payload = (plugin_list_u8_t){0};
}

void exports_node_handle_local(exports_node_local_event_t *event, exports_node_list_envelope_t *ret) {
    exports_node_local_event_free(event);
    uint32_t index = number();
    put(ENTRIES, index, 100 + index);
    put(NUMBERS, 0, index + 1);
    durability_sync();
    to_others("append", index, 100 + index);
    flush(ret);
}

static void json_acknowledged(struct json *j) {
    json_key(j, "acknowledged");
    json_open(j, '[');
    for (uint32_t node = 0; node < config.nodes; node++) json_number(j, acknowledged[node]);
    json_close(j, ']');
}

void exports_node_serialize(plugin_list_u8_t *ret) {
    struct json j = {0};
    json_open(&j, '{');
    json_acknowledged(&j);
    json_key(&j, "me"), json_number(&j, config.self);
    json_close(&j, '}');
    give(&j, ret);
}

void exports_specification_properties(exports_specification_list_property_t *ret) {
    ret->len = 2;
    ret->ptr = malloc(2 * sizeof *ret->ptr);
    plugin_string_dup(&ret->ptr[0].name, "acknowledged-is-kept");
    ret->ptr[0].kind = TYPES_PROPERTY_KIND_ALWAYS;
    ret->ptr[0].scope = TYPES_PROPERTY_SCOPE_SYSTEM;
    plugin_string_dup(&ret->ptr[1].name, "more-after-deleted");
    ret->ptr[1].kind = TYPES_PROPERTY_KIND_SOMETIMES;
    ret->ptr[1].scope = TYPES_PROPERTY_SCOPE_NODE;
}

bool exports_specification_view(uint32_t property, plugin_list_u8_t *ret) {
    struct json j = {0};
    json_open(&j, property == 0 ? '{' : '[');
    if (property == 0) {
        json_acknowledged(&j);
        json_key(&j, "base"), json_number(&j, number());
        json_key(&j, "kept");
        json_open(&j, '[');
        struct table_range entries = table_range(ENTRIES, 0, UINT64_MAX);
        while (table_next(&entries)) json_number(&j, entries.key);
        json_close(&j, ']');
    } else {
        uint64_t last = 0;
        if (config.self == 0) return false;
        table_last(ENTRIES, 0, UINT64_MAX, &last);
        json_number(&j, number()), json_number(&j, last);
    }
    json_close(&j, property == 0 ? '}' : ']');
    give(&j, ret);
    return true;
}

// The numbers of a list behind a key.
static uint32_t list(const plugin_option_list_u8_t *view, const char *key, uint32_t *numbers) {
    struct json_reader r = {(const char *)view->val.ptr, view->val.len};
    const char *at = json_find(&r, key), *end = memchr(at, ']', r.at + r.length - at);
    struct json_reader rest = {at, end - at};
    uint32_t length = 0;
    while (json_next_number(&rest, &numbers[length])) length++;
    return length;
}

static bool keeps(const plugin_list_option_list_u8_t *views, plugin_string_t *err) {
    uint32_t of_leader[NODES_MAX], kept[16];
    if (!views->ptr[0].is_some) return true;
    list(&views->ptr[0], "acknowledged", of_leader);
    for (uint32_t node = 1; node < views->len; node++) {
        if (!views->ptr[node].is_some) continue;
        struct json_reader r = {(const char *)views->ptr[node].val.ptr, views->ptr[node].val.len};
        uint32_t length = list(&views->ptr[node], "kept", kept);
        for (uint32_t index = json_field(&r, "base"); index < of_leader[node]; index++) {
            bool is_kept = false;
            for (uint32_t at = 0; at < length; at++) is_kept |= kept[at] == index;
            char message[96];
            if (is_kept) continue;
            plugin_string_dup(err, json_words(message, "node # has acknowledged entry # and lost it", node, index, 0));
            return false;
        }
    }
    return true;
}

bool exports_specification_invariant(uint32_t property, plugin_list_option_list_u8_t *views, plugin_string_t *err) {
    bool answer;
    if (property == 0) {
        answer = keeps(views, err);
    } else {
        struct json_reader r = {(const char *)views->ptr[0].val.ptr, views->ptr[0].val.len};
        uint32_t base = 0, last = 0;
        json_next_number(&r, &base), json_next_number(&r, &last);
        answer = base > 0 && last >= base;
        if (!answer) plugin_string_dup(err, "none yet");
    }
    plugin_list_option_list_u8_free(views);
    return answer;
}

void exports_defaults_about(exports_defaults_plugin_t *ret) {
    static const char *const PARAMETERS[][3] = {
        {"entries", "2", "the number of entries"},
        {"bug", "none", "what is wrong on purpose (one of none, forget-sync, delete-one-more)"},
    };
    plugin_string_dup(&ret->name, "journal-in-c");
    plugin_string_dup(&ret->version, "0.1.0");
    plugin_string_dup(&ret->summary, "A journal in the durable map.");
    ret->nodes = 2;
    ret->network = EXPORTS_DEFAULTS_NETWORK_UNORDERED;
    ret->identity = EXPORTS_DEFAULTS_IDENTITY_SERIALIZED;
    ret->parameters.len = 2;
    ret->parameters.ptr = malloc(2 * sizeof *ret->parameters.ptr);
    for (int i = 0; i < 2; i++) {
        plugin_string_dup(&ret->parameters.ptr[i].name, PARAMETERS[i][0]);
        plugin_string_dup(&ret->parameters.ptr[i].default_value, PARAMETERS[i][1]);
        plugin_string_dup(&ret->parameters.ptr[i].meaning, PARAMETERS[i][2]);
    }
}
