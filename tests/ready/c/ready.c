// A leader writes one value to all nodes; `bug` breaks one of the ready-made properties each. `tests/ready.rs` runs it.
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "plugin.h"
#include "ready_made.h"

enum bug { NO_BUG, TWO_LEADERS, OWN_VALUE, EARLY_ANSWER, EARLY_COMMIT, DEAF_REPLICA, CIRCLE, BUGS };
enum property { ONE_LEADER, LOGS_AGREE, DURABLE, MAJORITY, CONVERGE, PROPERTIES };
enum { LOG_MAX = 8 };

static const char *const BUG[] = {"none", "two-leaders", "own-value", "early-answer", "early-commit", "deaf-replica",
                                   "circle"};
static const char *const PROPERTY[] = {"one-leader", "logs-agree", "durable", "majority", "converge"};

static struct {
    uint32_t self, nodes;
    enum bug bug;
} config;

// What is acknowledged and committed is the start of the log.
static struct {
    uint32_t acknowledged, acks, committed, length, log[LOG_MAX];
    bool begun, leads;
} state;

bool exports_node_init(uint32_t self, uint32_t cluster_size, plugin_string_t *text, plugin_list_u8_t *durable,
                       exports_node_list_envelope_t *ret, plugin_string_t *err) {
    (void)durable;
    config.self = self;
    config.nodes = cluster_size;
    if (text->len > 4) {
        size_t length = text->len - 4;
        if (text->ptr[text->len - 1] == '\n') length--;
        while (config.bug < BUGS && (strlen(BUG[config.bug]) != length || memcmp(text->ptr + 4, BUG[config.bug], length) != 0)) config.bug++;
    }
    if (config.bug == BUGS) {
        plugin_string_dup(err, "no such parameter");
        return false;
    }
    plugin_string_free(text);
    state.leads = self == 0 || (config.bug == TWO_LEADERS && self == 1);
    ret->len = 0;
    ret->ptr = NULL;
    return true;
}

static void put(types_envelope_t *envelope, uint32_t to, uint32_t value) {
    struct json j = {0};
    json_open(&j, '{');
    json_key(&j, "value"), json_number(&j, value);
    json_close(&j, '}');
    envelope->to = to;
    ready_view(&envelope->message, j.text, j.length, 1);
}

static void store(uint32_t value) {
    if (state.length == LOG_MAX) abort();
    state.log[state.length++] = value;
}

void exports_node_handle_message(uint32_t src, plugin_list_u8_t *message, exports_node_list_envelope_t *ret) {
    struct json_reader r = {(const char *)message->ptr, message->len};
    uint32_t value = json_field(&r, "value");
    plugin_list_u8_free(message);
    ret->len = 0;
    ret->ptr = NULL;
    if (value == 0) {
        state.acks++;
        state.acknowledged = state.committed = 1;
        return;
    }
    if (config.bug == DEAF_REPLICA && config.self + 1 == config.nodes) return;
    store(config.bug == OWN_VALUE ? config.self + 1 : value);
    ret->len = 1;
    ret->ptr = malloc(sizeof *ret->ptr);
    put(ret->ptr, src, 0);
}

void exports_node_local_events(exports_node_list_local_event_t *ret) {
    ret->len = state.leads && !state.begun;
    ret->ptr = ret->len ? malloc(sizeof *ret->ptr) : NULL;
    if (!ret->len) return;
    plugin_string_dup(&ret->ptr->name, "begin");
    ret->ptr->kind = TYPES_LOCAL_KIND_INTERNAL;
    ret->ptr->payload.len = 0;
    ret->ptr->payload.ptr = NULL;
}

void exports_node_handle_local(exports_node_local_event_t *event, exports_node_list_envelope_t *ret) {
    exports_node_local_event_free(event);
    state.begun = true;
    store(7);
    if (config.bug == EARLY_ANSWER) state.acknowledged = 1;
    if (config.bug == EARLY_COMMIT) state.committed = 1;
    ret->len = 0;
    ret->ptr = malloc(config.nodes * sizeof *ret->ptr);
    for (uint32_t to = 0; to < config.nodes; to++)
        if (to != config.self) put(&ret->ptr[ret->len++], to, 7);
}

static void json_null(struct json *j) {
    for (const char *word = "null"; *word; word++) json_put(j, *word);
}

static void numbers(struct json *j, const char *key, uint32_t count) {
    json_key(j, key);
    json_open(j, '[');
    for (uint32_t i = 0; i < count; i++) json_number(j, state.log[i]);
    json_close(j, ']');
}

void exports_node_serialize(plugin_list_u8_t *ret) {
    struct json j = {0};
    json_open(&j, '{');
    numbers(&j, "acknowledged", state.acknowledged);
    json_key(&j, "acks"), json_number(&j, state.acks);
    json_key(&j, "begun"), json_number(&j, state.begun);
    numbers(&j, "committed", state.committed);
    numbers(&j, "log", state.length);
    // The leader is the parent of all others. No property reads it but the expression of the document.
    json_key(&j, "parent");
    if (config.self > 0) json_number(&j, 0);
    else if (config.bug == CIRCLE) json_number(&j, 2);
    else json_null(&j);
    json_key(&j, "role"), json_string(&j, state.leads ? "Leader" : "Follower");
    json_key(&j, "term"), json_number(&j, 1);
    json_key(&j, "value"), json_number(&j, state.length ? state.log[state.length - 1] : 0);
    json_close(&j, '}');
    ready_view(ret, j.text, j.length, 1);
}

void exports_specification_properties(exports_specification_list_property_t *ret) {
    ret->len = PROPERTIES;
    ret->ptr = malloc(PROPERTIES * sizeof *ret->ptr);
    for (int i = 0; i < PROPERTIES; i++) {
        plugin_string_dup(&ret->ptr[i].name, PROPERTY[i]);
        ret->ptr[i].kind = i == CONVERGE ? TYPES_PROPERTY_KIND_EVENTUALLY : TYPES_PROPERTY_KIND_ALWAYS;
        ret->ptr[i].scope = TYPES_PROPERTY_SCOPE_SYSTEM;
    }
}

bool exports_specification_view(uint32_t property, plugin_list_u8_t *ret) {
    uint32_t term = 1;
    switch (property) {
    case ONE_LEADER: return state.leads && ready_view(ret, &term, 1, sizeof term);
    case DURABLE: return ready_view_of_two(ret, state.log, state.acknowledged, state.log, state.length, sizeof *state.log);
    case MAJORITY: return ready_view_counted(ret, state.committed, state.log, state.length, sizeof *state.log);
    default: return ready_view(ret, state.log, state.length, sizeof *state.log);
    }
}

bool exports_specification_invariant(uint32_t property, plugin_list_option_list_u8_t *views, plugin_string_t *err) {
    bool holds = property == ONE_LEADER ? ready_one_leader_per_term(views, err)
        : property == LOGS_AGREE        ? ready_logs_agree(views, sizeof *state.log, err)
        : property == DURABLE           ? ready_acknowledged_is_durable(views, sizeof *state.log, err)
        : property == MAJORITY          ? ready_committed_is_on_a_majority(views, sizeof *state.log, err)
                                        : ready_replicas_converge(views, err);
    plugin_list_option_list_u8_free(views);
    return holds;
}

void exports_describe_state(plugin_string_t *ret) {
    plugin_list_u8_t state;
    exports_node_serialize(&state);
    ret->ptr = state.ptr;
    ret->len = state.len;
}

// A message is a text already.
void exports_describe_message(plugin_list_u8_t *message, plugin_string_t *ret) {
    ret->ptr = message->ptr;
    ret->len = message->len;
}

bool exports_names_node_name(plugin_string_t *ret) {
    plugin_string_dup(ret, config.self == 0 ? "leader" : "replica");
    return true;
}

void exports_defaults_about(exports_defaults_plugin_t *ret) {
    plugin_string_dup(&ret->name, "ready-in-c");
    plugin_string_dup(&ret->version, "0.1.0");
    plugin_string_dup(&ret->summary, "Breaks one of the ready-made properties each.");
    ret->nodes = 3;
    ret->network = EXPORTS_DEFAULTS_NETWORK_UNORDERED;
    ret->identity = EXPORTS_DEFAULTS_IDENTITY_SERIALIZED;
    ret->parameters.len = 1;
    ret->parameters.ptr = malloc(sizeof *ret->parameters.ptr);
    plugin_string_dup(&ret->parameters.ptr->name, "bug");
    plugin_string_dup(&ret->parameters.ptr->default_value, "none");
    plugin_string_dup(&ret->parameters.ptr->meaning, "what is wrong on purpose");
}
