// A register kept by a majority of the nodes: one node writes, another reads.
// Attiya, Bar-Noy and Dolev, "Sharing Memory Robustly in Message-Passing Systems", JACM 1995.
//
// plugin.h declares what the host calls; `host build` generates it from the contract. json.h writes and reads the canonical
// encoding of states and messages.
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "plugin.h"

enum role { WRITER, READER, REPLICA };
enum phase { IDLE, QUERY, STORE };
enum bug { NO_BUG, NO_WRITE_BACK, ONE_ACK };
enum property { MONOTONE, STORED_BY_MAJORITY, WRITE_IS_READ, PROPERTIES };

enum { RETURNED_MAX = 64, NODES_MAX = 64 };

// A value with the number of the write that it comes from.
struct copy {
    uint32_t value, version;
};

// The configuration: never changes after node_init.
static struct {
    uint32_t self, nodes, writes, reads;
    enum bug bug;
} config;

// What the node knows: all that node_serialize writes.
static struct {
    bool acks[NODES_MAX];
    struct copy best, copy;
    uint32_t op;
    enum phase phase;
    uint32_t returned[RETURNED_MAX], returned_length;
    enum role role;
} state;

static const char *const ROLES[] = {"writer", "reader", "replica"};
static const char *const PHASES[] = {"idle", "query", "store"};

// ---- messages on their way out

static struct {
    types_envelope_t items[2 * NODES_MAX];
    size_t length;
} outbox;

static void send(uint32_t to, const struct json *message) {
    types_envelope_t *envelope = &outbox.items[outbox.length++];
    envelope->to = to;
    envelope->message.len = message->length;
    envelope->message.ptr = malloc(message->length);
    memcpy(envelope->message.ptr, message->text, message->length);
}

static void broadcast(const struct json *message) {
    for (uint32_t node = 0; node < config.nodes; node++) send(node, message);
}

// Hands the outbox over; the host frees it.
static void flush(exports_node_list_envelope_t *ret) {
    ret->len = outbox.length;
    ret->ptr = outbox.length ? malloc(outbox.length * sizeof *ret->ptr) : NULL;
    if (outbox.length) memcpy(ret->ptr, outbox.items, outbox.length * sizeof *ret->ptr);
    outbox.length = 0;
}

// {"kind":"query","op":1}
static struct json short_message(const char *kind, uint32_t op) {
    struct json j = {0};
    json_open(&j, '{');
    json_key(&j, "kind"), json_string(&j, kind);
    json_key(&j, "op"), json_number(&j, op);
    json_close(&j, '}');
    return j;
}

// {"kind":"store","op":1,"value":101,"version":1}
static struct json copy_message(const char *kind, uint32_t op, struct copy copy) {
    struct json j = {0};
    json_open(&j, '{');
    json_key(&j, "kind"), json_string(&j, kind);
    json_key(&j, "op"), json_number(&j, op);
    json_key(&j, "value"), json_number(&j, copy.value);
    json_key(&j, "version"), json_number(&j, copy.version);
    json_close(&j, '}');
    return j;
}

// ---- the protocol

static uint32_t acks(void) {
    uint32_t count = 0;
    for (uint32_t node = 0; node < config.nodes; node++) count += state.acks[node];
    return count;
}

static uint32_t quorum(void) {
    return config.bug == ONE_ACK ? 1 : config.nodes / 2 + 1;
}

// Gives the best copy to everyone.
static void store(void) {
    memset(state.acks, 0, sizeof state.acks);
    state.phase = STORE;
    struct json message = copy_message("store", state.op, state.best);
    broadcast(&message);
}

// Ends the operation.
static void finish(void) {
    if (state.role == READER) {
        if (state.returned_length == RETURNED_MAX) abort();
        state.returned[state.returned_length++] = state.best.version;
    }
    memset(state.acks, 0, sizeof state.acks);
    state.best = (struct copy){0};
    state.phase = IDLE;
}

static bool error(plugin_string_t *err, const char *message, const char *key, size_t key_length) {
    size_t length = strlen(message);
    err->len = length + key_length;
    err->ptr = malloc(err->len);
    memcpy(err->ptr, message, length);
    memcpy(err->ptr + length, key, key_length);
    return false;
}

static bool equals(const uint8_t *text, size_t length, const char *word) {
    return length == strlen(word) && memcmp(text, word, length) == 0;
}

// One line of the configuration, key=value.
static bool configure(const uint8_t *line, size_t length, plugin_string_t *err) {
    const uint8_t *sign = memchr(line, '=', length);
    if (!sign) return error(err, "not key=value: ", (const char *)line, length);
    size_t key = sign - line, rest = length - key - 1;
    const uint8_t *value = sign + 1;
    if (equals(line, key, "writes") || equals(line, key, "reads")) {
        uint32_t number = 0;
        for (size_t i = 0; i < rest; i++) {
            if (value[i] < '0' || value[i] > '9') return error(err, "not a number: ", (const char *)line, length);
            number = 10 * number + (value[i] - '0');
        }
        if (rest == 0 || rest > 2 || number > RETURNED_MAX) return error(err, "not from 0 to 64: ", (const char *)line, length);
        *(line[0] == 'w' ? &config.writes : &config.reads) = number;
        return true;
    }
    if (equals(line, key, "bug")) {
        if (equals(value, rest, "none")) config.bug = NO_BUG;
        else if (equals(value, rest, "no-write-back")) config.bug = NO_WRITE_BACK;
        else if (equals(value, rest, "one-ack")) config.bug = ONE_ACK;
        else return error(err, "bug is none, no-write-back or one-ack, not ", (const char *)value, rest);
        return true;
    }
    return error(err, "unknown parameter: ", (const char *)line, key);
}

bool exports_node_init(uint32_t self, uint32_t cluster_size, plugin_string_t *text, plugin_list_u8_t *durable,
               exports_node_list_envelope_t *ret, plugin_string_t *err) {
    (void)durable;
    if (cluster_size > NODES_MAX) return error(err, "at most 64 nodes", "", 0);
    config.self = self;
    config.nodes = cluster_size;
    config.writes = 1;
    config.reads = 2;
    for (const uint8_t *line = text->ptr, *end = text->ptr + text->len; line < end;) {
        const uint8_t *stop = memchr(line, '\n', end - line);
        if (!stop) stop = end;
        if (!configure(line, stop - line, err)) return false;
        line = stop + 1;
    }
    plugin_string_free(text);
    state.role = self == 0 ? WRITER : self + 1 == cluster_size ? READER : REPLICA;
    flush(ret);
    return true;
}

void exports_node_handle_message(uint32_t src, plugin_list_u8_t *message, exports_node_list_envelope_t *ret) {
    struct json_reader r = {(const char *)message->ptr, message->len};
    char kind[16];
    json_word(&r, "kind", kind, sizeof kind);
    uint32_t op = json_field(&r, "op");
    if (strcmp(kind, "query") == 0) {
        struct json reply = copy_message("reply", op, state.copy);
        send(src, &reply);
    } else if (strcmp(kind, "store") == 0) {
        struct copy copy = {json_field(&r, "value"), json_field(&r, "version")};
        if (copy.version > state.copy.version) state.copy = copy;
        struct json stored = short_message("stored", op);
        send(src, &stored);
    } else if (strcmp(kind, "reply") == 0) {
        struct copy copy = {json_field(&r, "value"), json_field(&r, "version")};
        if (state.phase == QUERY && op == state.op) {
            state.acks[src] = true;
            if (copy.version > state.best.version) state.best = copy;
            if (acks() >= quorum()) config.bug == NO_WRITE_BACK ? finish() : store();
        }
    } else if (strcmp(kind, "stored") == 0) {
        if (state.phase == STORE && op == state.op) {
            state.acks[src] = true;
            if (acks() >= quorum()) finish();
        }
    } else {
        abort();
    }
    plugin_list_u8_free(message);
    flush(ret);
}

// The event that is possible in this state, or NULL.
static const char *possible(void) {
    if (state.phase != IDLE) return NULL;
    if (state.role == WRITER && state.op < config.writes) return "write";
    if (state.role == READER && state.op < config.reads) return "read";
    return NULL;
}

void exports_node_local_events(exports_node_list_local_event_t *ret) {
    const char *name = possible();
    ret->len = name ? 1 : 0;
    ret->ptr = name ? malloc(sizeof *ret->ptr) : NULL;
    if (!name) return;
    struct json payload = {0};
    json_string(&payload, name);
    plugin_string_dup(&ret->ptr->name, name);
    ret->ptr->kind = TYPES_LOCAL_KIND_APPLICATION;
    ret->ptr->payload.len = payload.length;
    ret->ptr->payload.ptr = malloc(payload.length);
    memcpy(ret->ptr->payload.ptr, payload.text, payload.length);
}

void exports_node_handle_local(exports_node_local_event_t *event, exports_node_list_envelope_t *ret) {
    state.op++;
    if (equals(event->name.ptr, event->name.len, "write")) {
        state.best = (struct copy){100 + state.op, state.op};
        store();
    } else {
        state.phase = QUERY;
        struct json query = short_message("query", state.op);
        broadcast(&query);
    }
    exports_node_local_event_free(event);
    flush(ret);
}

static void json_copy(struct json *j, const char *key, struct copy copy) {
    json_key(j, key);
    json_open(j, '{');
    json_key(j, "value"), json_number(j, copy.value);
    json_key(j, "version"), json_number(j, copy.version);
    json_close(j, '}');
}

static void json_returned(struct json *j) {
    json_open(j, '[');
    for (uint32_t i = 0; i < state.returned_length; i++) json_number(j, state.returned[i]);
    json_close(j, ']');
}

static void give(const struct json *j, plugin_list_u8_t *ret) {
    ret->len = j->length;
    ret->ptr = malloc(j->length);
    memcpy(ret->ptr, j->text, j->length);
}

void exports_node_serialize(plugin_list_u8_t *ret) {
    struct json j = {0};
    json_open(&j, '{');
    json_key(&j, "acks");
    json_open(&j, '[');
    for (uint32_t node = 0; node < config.nodes; node++)
        if (state.acks[node]) json_number(&j, node);
    json_close(&j, ']');
    json_copy(&j, "best", state.best);
    json_copy(&j, "copy", state.copy);
    json_key(&j, "op"), json_number(&j, state.op);
    json_key(&j, "phase"), json_string(&j, PHASES[state.phase]);
    json_key(&j, "returned"), json_returned(&j);
    json_key(&j, "role"), json_string(&j, ROLES[state.role]);
    json_close(&j, '}');
    give(&j, ret);
}

// ---- what must hold

void exports_specification_properties(exports_specification_list_property_t *ret) {
    static const struct {
        const char *name;
        types_property_kind_t kind;
        types_property_scope_t scope;
    } TABLE[PROPERTIES] = {
        {"monotone", TYPES_PROPERTY_KIND_ALWAYS, TYPES_PROPERTY_SCOPE_NODE},
        {"stored-by-majority", TYPES_PROPERTY_KIND_ALWAYS, TYPES_PROPERTY_SCOPE_SYSTEM},
        {"write-is-read", TYPES_PROPERTY_KIND_SOMETIMES, TYPES_PROPERTY_SCOPE_NODE},
    };
    ret->len = PROPERTIES;
    ret->ptr = malloc(PROPERTIES * sizeof *ret->ptr);
    for (int i = 0; i < PROPERTIES; i++) {
        plugin_string_dup(&ret->ptr[i].name, TABLE[i].name);
        ret->ptr[i].kind = TABLE[i].kind;
        ret->ptr[i].scope = TABLE[i].scope;
    }
}

bool exports_specification_view(uint32_t property, plugin_list_u8_t *ret) {
    struct json j = {0};
    switch (property) {
    case MONOTONE:
        if (state.returned_length < 2) return false;
        json_returned(&j);
        break;
    case STORED_BY_MAJORITY: {
        uint32_t complete = state.role != WRITER ? 0 : state.phase == IDLE ? state.op : state.op - 1;
        if (complete == 0 && state.copy.version == 0) return false;
        json_open(&j, '{');
        json_key(&j, "complete"), json_number(&j, complete);
        json_key(&j, "version"), json_number(&j, state.copy.version);
        json_close(&j, '}');
        break;
    }
    default: {
        uint32_t max = 0;
        for (uint32_t i = 0; i < state.returned_length; i++)
            if (state.returned[i] > max) max = state.returned[i];
        if (max == 0) return false;
        json_number(&j, max);
    }
    }
    give(&j, ret);
    return true;
}

static bool holds(uint32_t property, const plugin_list_option_list_u8_t *views, plugin_string_t *err) {
    char message[96];
    if (property == MONOTONE) {
        struct json_reader r = {(const char *)views->ptr[0].val.ptr, views->ptr[0].val.len};
        uint32_t before = 0, version;
        while (json_next_number(&r, &version)) {
            if (version < before) {
                plugin_string_dup(err, json_words(message, "a read returned version # after #", version, before, 0));
                return false;
            }
            before = version;
        }
    } else if (property == STORED_BY_MAJORITY) {
        uint32_t complete = 0, holders = 0, nodes = views->len;
        for (uint32_t node = 0; node < nodes; node++) {
            struct json_reader r = {(const char *)views->ptr[node].val.ptr, views->ptr[node].val.len};
            uint32_t write = views->ptr[node].is_some ? json_field(&r, "complete") : 0;
            if (write > complete) complete = write;
        }
        for (uint32_t node = 0; node < nodes; node++) {
            struct json_reader r = {(const char *)views->ptr[node].val.ptr, views->ptr[node].val.len};
            uint32_t version = views->ptr[node].is_some ? json_field(&r, "version") : 0;
            holders += version >= complete;
        }
        if (holders <= nodes / 2) {
            const char *words = "write # is complete, and # of # nodes have it";
            plugin_string_dup(err, json_words(message, words, complete, holders, nodes));
            return false;
        }
    }
    return true;
}

bool exports_specification_invariant(uint32_t property, plugin_list_option_list_u8_t *views, plugin_string_t *err) {
    bool answer = holds(property, views, err);
    // What the host passes belongs to the plugin.
    plugin_list_option_list_u8_free(views);
    return answer;
}

// ---- what people are told; optional

void exports_defaults_about(exports_defaults_plugin_t *ret) {
    static const char *const PARAMETERS[][3] = {
        {"writes", "1", "how often node 0 writes"},
        {"reads", "2", "how often the last node reads"},
        {"bug", "none", "what is wrong on purpose (one of none, no-write-back, one-ack)"},
    };
    plugin_string_dup(&ret->name, "register-c");
    plugin_string_dup(&ret->version, "0.1.0");
    plugin_string_dup(&ret->summary, "A register kept by a majority, in C.");
    ret->nodes = 3;
    ret->network = EXPORTS_DEFAULTS_NETWORK_UNORDERED;
    ret->identity = EXPORTS_DEFAULTS_IDENTITY_SERIALIZED;
    ret->parameters.len = 3;
    ret->parameters.ptr = malloc(3 * sizeof *ret->parameters.ptr);
    for (int i = 0; i < 3; i++) {
        plugin_string_dup(&ret->parameters.ptr[i].name, PARAMETERS[i][0]);
        plugin_string_dup(&ret->parameters.ptr[i].default_value, PARAMETERS[i][1]);
        plugin_string_dup(&ret->parameters.ptr[i].meaning, PARAMETERS[i][2]);
    }
}
