// Every node greets the next one, once.
//
// plugin.h declares what the host calls; `host build` generates it from the contract. json.h writes and reads the canonical
// encoding of states and messages.
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "plugin.h"

// What the node knows: all that exports_node_serialize writes.
static struct {
    uint32_t heard;
} state;

static void give(const struct json *j, plugin_list_u8_t *ret) {
    ret->len = j->length;
    ret->ptr = malloc(j->length);
    memcpy(ret->ptr, j->text, j->length);
}

static void send_nothing(exports_node_list_envelope_t *ret) {
    ret->len = 0;
    ret->ptr = NULL;
}

static bool error(plugin_string_t *err, const char *message) {
    plugin_string_dup(err, message);
    return false;
}

// ---- the protocol. What the host passes belongs to the plugin; what it is given it frees.

bool exports_node_init(uint32_t self, uint32_t cluster_size, plugin_string_t *config, plugin_list_u8_t *durable,
                       exports_node_list_envelope_t *ret, plugin_string_t *err) {
    (void)durable;
    if (config->len) return error(err, "there are no parameters");
    struct json hello = {0};
    json_string(&hello, "hello");
    ret->len = 1;
    ret->ptr = malloc(sizeof *ret->ptr);
    ret->ptr[0].to = (self + 1) % cluster_size;
    give(&hello, &ret->ptr[0].message);
    return true;
}

void exports_node_handle_message(uint32_t src, plugin_list_u8_t *message, exports_node_list_envelope_t *ret) {
    (void)src;
    plugin_list_u8_free(message);
    state.heard++;
    send_nothing(ret);
}

void exports_node_local_events(exports_node_list_local_event_t *ret) {
    ret->len = 0;
    ret->ptr = NULL;
}

void exports_node_handle_local(exports_node_local_event_t *event, exports_node_list_envelope_t *ret) {
    exports_node_local_event_free(event);
    send_nothing(ret);
}

void exports_node_serialize(plugin_list_u8_t *ret) {
    struct json j = {0};
    json_open(&j, '{');
    json_key(&j, "heard"), json_number(&j, state.heard);
    json_close(&j, '}');
    give(&j, ret);
}

// ---- what must hold

void exports_specification_properties(exports_specification_list_property_t *ret) {
    ret->len = 1;
    ret->ptr = malloc(sizeof *ret->ptr);
    plugin_string_dup(&ret->ptr[0].name, "heard-once");
    ret->ptr[0].kind = TYPES_PROPERTY_KIND_ALWAYS;
    ret->ptr[0].scope = TYPES_PROPERTY_SCOPE_NODE;
}

bool exports_specification_view(uint32_t property, plugin_list_u8_t *ret) {
    (void)property;
    struct json j = {0};
    json_number(&j, state.heard);
    give(&j, ret);
    return true;
}

bool exports_specification_invariant(uint32_t property, plugin_list_option_list_u8_t *views, plugin_string_t *err) {
    (void)property;
    struct json_reader r = {(const char *)views->ptr[0].val.ptr, views->ptr[0].val.len};
    uint32_t heard = 0;
    json_next_number(&r, &heard);
    plugin_list_option_list_u8_free(views);
    char words[64];
    return heard <= 1 || error(err, json_words(words, "heard # greetings", heard, 0, 0));
}

// ---- what people are told; optional

void exports_defaults_about(exports_defaults_plugin_t *ret) {
    plugin_string_dup(&ret->name, "bare-protocol");
    plugin_string_dup(&ret->version, "0.1.0");
    plugin_string_dup(&ret->summary, "Every node greets the next one.");
    ret->nodes = 3;
    ret->network = EXPORTS_DEFAULTS_NETWORK_UNORDERED;
    ret->identity = EXPORTS_DEFAULTS_IDENTITY_SERIALIZED;
    ret->parameters.len = 0;
    ret->parameters.ptr = NULL;
}
