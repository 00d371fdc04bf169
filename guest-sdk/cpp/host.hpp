// The contract of host for C++: types, and the functions of plugin.h in terms of a class. Every protocol can use this file as
// it is. A protocol is a class `P` with these members, handed over by HOST_PLUGIN(P) at the end of its source:
//
//     static host::About about();
//     static std::vector<host::Property> properties();
//     static std::expected<P, std::string> init(std::uint32_t me, std::uint32_t nodes, const host::Config &config);
//     host::Envelopes begin();                    // optional: what the node sends first
//     host::Envelopes receive(std::uint32_t from, std::string_view message);
//     std::vector<host::LocalEvent> local_events() const;
//     host::Envelopes happen(const host::LocalEvent &event);
//     std::string serialize() const;
//     std::optional<std::string> view(std::size_t property) const;
//     static std::expected<void, std::string> invariant(std::size_t property, const host::Views &views);
//
// Exceptions are switched off; `host::fail` ends a handler with a reason.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin.h"

namespace host {

// A message on its way out of a handler.
struct Envelope {
    std::uint32_t to;
    std::string message;
};
using Envelopes = std::vector<Envelope>;

enum class LocalKind : std::uint8_t { timer, application, internal };

// Something that can happen to this node without a message.
struct LocalEvent {
    std::string name;
    LocalKind kind;
    std::string payload;
};

enum class PropertyKind : std::uint8_t { always, sometimes, eventually };
enum class PropertyScope : std::uint8_t { node, system };

struct Property {
    std::string name;
    PropertyKind kind;
    PropertyScope scope;
};

struct Parameter {
    std::string name, default_value, meaning;
};

// What the plugin says about itself; the network is unordered.
struct About {
    std::string name, version, summary;
    std::uint32_t nodes;
    std::vector<Parameter> parameters;
};

using Config = std::map<std::string, std::string, std::less<>>;
using Views = std::vector<std::optional<std::string>>;

// Nondeterminism inside a handler: the host explores every answer below `alternatives`.
inline std::uint32_t choose(std::uint32_t alternatives) { return environment_choose(alternatives); }

// Whether the transport takes a message now: ask before it is returned, and do not return one that was refused.
inline bool can_send(std::uint32_t to) { return environment_can_send(to); }

// As choose, with an answer for each weight; a random walk draws answers in proportion to their weights.
inline std::uint32_t choose_weighted(std::vector<std::uint32_t> weights) {
    plugin_list_u32_t list{weights.data(), weights.size()};
    return odds_choose_weighted(&list);
}

// A line for people; only in init, receive and happen.
inline void log(std::string line) {
    plugin_string_t text{reinterpret_cast<std::uint8_t *>(line.data()), line.size()};
    environment_log(&text);
}

// Ends the handler with a fault; the host quotes the words as its reason.
[[noreturn]] inline void fail(std::string_view words) {
    log("panic: " + std::string(words));
    std::abort();
}

// ---- between these types and those of plugin.h. What the host passes belongs to the plugin; what it is given it frees.
namespace abi {

inline void *room(std::size_t bytes) { return bytes ? std::malloc(bytes) : nullptr; }

template <class List> List bytes(std::string_view from) {
    List list{};
    list.len = from.size();
    list.ptr = static_cast<decltype(list.ptr)>(room(from.size()));
    if (!from.empty()) std::memcpy(list.ptr, from.data(), from.size());
    return list;
}

template <class List> std::string_view view(const List &list) {
    return {reinterpret_cast<const char *>(list.ptr), list.len};
}

// A list whose elements are made of those of a vector.
template <class List, class T, class Make> List list(const std::vector<T> &from, Make make) {
    List list{};
    list.len = from.size();
    list.ptr = static_cast<decltype(list.ptr)>(room(from.size() * sizeof *list.ptr));
    for (std::size_t i = 0; i < from.size(); i++) list.ptr[i] = make(from[i]);
    return list;
}

inline exports_node_list_envelope_t envelopes(const Envelopes &sent) {
    return list<exports_node_list_envelope_t>(sent, [](const Envelope &envelope) {
        return types_envelope_t{envelope.to, bytes<plugin_list_u8_t>(envelope.message)};
    });
}

inline Config config(std::string_view text) {
    Config config;
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        std::size_t sign = line.find('=');
        if (sign != line.npos) config.emplace(line.substr(0, sign), line.substr(sign + 1));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
    }
    return config;
}

// The functions of the contract for one class.
template <class P> struct Plugin {
    static inline std::optional<P> node;

    static bool init(std::uint32_t me, std::uint32_t nodes, plugin_string_t *text, exports_node_list_envelope_t *ret,
                     plugin_string_t *error) {
        std::expected<P, std::string> made = P::init(me, nodes, config(view(*text)));
        plugin_string_free(text);
        if (!made) {
            *error = bytes<plugin_string_t>(made.error());
            return false;
        }
        node.emplace(std::move(*made));
        if constexpr (requires { node->begin(); })
            *ret = envelopes(node->begin());
        else
            *ret = envelopes({});
        return true;
    }

    static void handle_message(std::uint32_t src, plugin_list_u8_t *message, exports_node_list_envelope_t *ret) {
        *ret = envelopes(node->receive(src, view(*message)));
        plugin_list_u8_free(message);
    }

    static void local_events(exports_node_list_local_event_t *ret) {
        *ret = list<exports_node_list_local_event_t>(std::as_const(*node).local_events(), [](const LocalEvent &event) {
            return types_local_event_t{bytes<plugin_string_t>(event.name), static_cast<types_local_kind_t>(event.kind),
                                       bytes<plugin_list_u8_t>(event.payload)};
        });
    }

    static void handle_local(exports_node_local_event_t *event, exports_node_list_envelope_t *ret) {
        LocalEvent local{std::string(view(event->name)), LocalKind{event->kind}, std::string(view(event->payload))};
        exports_node_local_event_free(event);
        *ret = envelopes(node->happen(local));
    }

    static void properties(exports_specification_list_property_t *ret) {
        *ret = list<exports_specification_list_property_t>(P::properties(), [](const Property &property) {
            return types_property_t{bytes<plugin_string_t>(property.name),
                                    static_cast<types_property_kind_t>(property.kind),
                                    static_cast<types_property_scope_t>(property.scope)};
        });
    }

    static bool part(std::uint32_t property, plugin_list_u8_t *ret) {
        std::optional<std::string> part = std::as_const(*node).view(property);
        if (part) *ret = bytes<plugin_list_u8_t>(*part);
        return part.has_value();
    }

    static bool invariant(std::uint32_t property, plugin_list_option_list_u8_t *given, plugin_string_t *error) {
        Views views(given->len);
        for (std::size_t i = 0; i < given->len; i++)
            if (given->ptr[i].is_some) views[i] = std::string(view(given->ptr[i].val));
        plugin_list_option_list_u8_free(given);
        std::expected<void, std::string> holds = P::invariant(property, views);
        if (!holds) *error = bytes<plugin_string_t>(holds.error());
        return holds.has_value();
    }

    static void about(exports_defaults_plugin_t *ret) {
        About about = P::about();
        ret->name = bytes<plugin_string_t>(about.name);
        ret->version = bytes<plugin_string_t>(about.version);
        ret->summary = bytes<plugin_string_t>(about.summary);
        ret->nodes = about.nodes;
        ret->network = EXPORTS_DEFAULTS_NETWORK_UNORDERED;
        ret->identity = EXPORTS_DEFAULTS_IDENTITY_SERIALIZED;
        ret->parameters = list<exports_defaults_list_parameter_t>(about.parameters, [](const Parameter &parameter) {
            return exports_defaults_parameter_t{bytes<plugin_string_t>(parameter.name),
                                                bytes<plugin_string_t>(parameter.default_value),
                                                bytes<plugin_string_t>(parameter.meaning)};
        });
    }
};

} // namespace abi
} // namespace host

#define HOST_PLUGIN(P)                                                                                                    \
    bool exports_node_init(std::uint32_t me, std::uint32_t nodes, plugin_string_t *config, plugin_list_u8_t *,            \
                           exports_node_list_envelope_t *ret, plugin_string_t *error) {                                   \
        return host::abi::Plugin<P>::init(me, nodes, config, ret, error);                                                 \
    }                                                                                                                     \
    void exports_node_handle_message(std::uint32_t src, plugin_list_u8_t *message, exports_node_list_envelope_t *ret) {   \
        host::abi::Plugin<P>::handle_message(src, message, ret);                                                          \
    }                                                                                                                     \
    void exports_node_local_events(exports_node_list_local_event_t *ret) { host::abi::Plugin<P>::local_events(ret); }     \
    void exports_node_handle_local(exports_node_local_event_t *event, exports_node_list_envelope_t *ret) {                \
        host::abi::Plugin<P>::handle_local(event, ret);                                                                   \
    }                                                                                                                     \
    void exports_node_serialize(plugin_list_u8_t *ret) {                                                                  \
        *ret = host::abi::bytes<plugin_list_u8_t>(std::as_const(*host::abi::Plugin<P>::node).serialize());                \
    }                                                                                                                     \
    void exports_specification_properties(exports_specification_list_property_t *ret) {                                   \
        host::abi::Plugin<P>::properties(ret);                                                                            \
    }                                                                                                                     \
    bool exports_specification_view(std::uint32_t property, plugin_list_u8_t *ret) {                                      \
        return host::abi::Plugin<P>::part(property, ret);                                                                 \
    }                                                                                                                     \
    bool exports_specification_invariant(std::uint32_t property, plugin_list_option_list_u8_t *views,                     \
                                         plugin_string_t *error) {                                                        \
        return host::abi::Plugin<P>::invariant(property, views, error);                                                   \
    }                                                                                                                     \
    void exports_defaults_about(exports_defaults_plugin_t *ret) { host::abi::Plugin<P>::about(ret); }
