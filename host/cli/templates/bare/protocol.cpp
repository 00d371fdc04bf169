// Every node greets the next one, once.
#include "host.hpp"
#include "json.hpp"

namespace {

class Greeting {
public:
    static host::About about() {
        return {
            .name = "bare-protocol",
            .version = "0.1.0",
            .summary = "Every node greets the next one.",
            .nodes = 3,
            .parameters{},
        };
    }

    static std::vector<host::Property> properties() {
        return {{"heard-once", host::PropertyKind::always, host::PropertyScope::node}};
    }

    static std::expected<Greeting, std::string> init(std::uint32_t me, std::uint32_t nodes, const host::Config &config) {
        if (!config.empty()) return std::unexpected("unknown parameter: " + config.begin()->first);
        return Greeting(me, nodes);
    }

    host::Envelopes begin() { return {{(me_ + 1) % nodes_, json::Value("hello").text()}}; }

    host::Envelopes receive(std::uint32_t, std::string_view) {
        heard_++;
        return {};
    }

    std::vector<host::LocalEvent> local_events() const { return {}; }

    host::Envelopes happen(const host::LocalEvent &) { return {}; }

    std::string serialize() const { return json::Value::object({{"heard", heard_}}).text(); }

    std::optional<std::string> view(std::size_t) const { return json::Value(heard_).text(); }

    static std::expected<void, std::string> invariant(std::size_t, const host::Views &views) {
        std::uint32_t heard = json::number(*views[0]);
        if (heard > 1) return std::unexpected("heard " + std::to_string(heard) + " greetings");
        return {};
    }

private:
    Greeting(std::uint32_t me, std::uint32_t nodes) : me_(me), nodes_(nodes) {}

    // The configuration.
    std::uint32_t me_, nodes_;

    // What the node knows.
    std::uint32_t heard_ = 0;
};

} // namespace

HOST_PLUGIN(Greeting)
