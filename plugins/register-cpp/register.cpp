// A register kept by a majority of the nodes: one node writes, another reads.
// Attiya, Bar-Noy and Dolev, "Sharing Memory Robustly in Message-Passing Systems", JACM 1995.
#include <algorithm>
#include <array>
#include <ranges>
#include <set>

#include "host.hpp"
#include "json.hpp"

namespace {

// A value with the number of the write that it comes from; 0 is the value before all writes.
struct Copy {
    std::uint32_t value = 0, version = 0;

    static Copy of(std::string_view message) {
        return {json::number(json::field(message, "value")), json::number(json::field(message, "version"))};
    }
    operator json::Value() const { return json::Value::object({{"value", value}, {"version", version}}); }
};

enum class Role { writer, reader, replica };
enum class Phase { idle, query, store };
enum class Bug { none, no_write_back, one_ack };
enum Property : std::size_t { monotone, stored_by_majority, write_is_read };

constexpr std::array<std::string_view, 3> roles{"writer", "reader", "replica"};
constexpr std::array<std::string_view, 3> phases{"idle", "query", "store"};
constexpr std::array<std::string_view, 3> bugs{"none", "no-write-back", "one-ack"};

class Register {
public:
    static host::About about() {
        return {
            .name = "register-cpp",
            .version = "0.1.0",
            .summary = "A register kept by a majority, in C++.",
            .nodes = 3,
            .parameters{
                {"writes", "1", "how often node 0 writes"},
                {"reads", "2", "how often the last node reads"},
                {"bug", "none", "what is wrong on purpose (one of none, no-write-back, one-ack)"},
            },
        };
    }

    static std::vector<host::Property> properties() {
        using enum host::PropertyKind;
        using enum host::PropertyScope;
        return {{"monotone", always, node}, {"stored-by-majority", always, system}, {"write-is-read", sometimes, node}};
    }

    static std::expected<Register, std::string> init(std::uint32_t me, std::uint32_t nodes, const host::Config &config) {
        Register made(nodes, me == 0 ? Role::writer : me + 1 == nodes ? Role::reader : Role::replica);
        for (const auto &[key, value] : config) {
            if (key == "writes" || key == "reads") {
                bool is_number = !value.empty() && value.size() < 10 && value.find_first_not_of("0123456789") == value.npos;
                if (!is_number) return std::unexpected(key + " must be a number, not " + value);
                (key == "writes" ? made.writes_ : made.reads_) = json::number(value);
            } else if (key == "bug") {
                auto found = std::ranges::find(bugs, value);
                if (found == bugs.end()) {
                    return std::unexpected("bug is none, no-write-back or one-ack, not " + value);
                }
                made.bug_ = static_cast<Bug>(found - bugs.begin());
            } else {
                return std::unexpected("unknown parameter: " + key);
            }
        }
        return made;
    }

    host::Envelopes receive(std::uint32_t from, std::string_view message) {
        std::string_view kind = json::word(message, "kind");
        std::uint32_t op = json::number(json::field(message, "op"));
        if (kind == "query") return {{from, with_copy("reply", op, copy_)}};
        if (kind == "store") {
            if (Copy offered = Copy::of(message); offered.version > copy_.version) copy_ = offered;
            return {{from, json::Value::object({{"kind", "stored"}, {"op", op}}).text()}};
        }
        if (kind == "reply" && phase_ == Phase::query && op == op_) {
            acks_.insert(from);
            if (Copy found = Copy::of(message); found.version > best_.version) best_ = found;
            if (acks_.size() < quorum()) return {};
            if (bug_ != Bug::no_write_back) return store();
            finish();
        } else if (kind == "stored" && phase_ == Phase::store && op == op_) {
            acks_.insert(from);
            if (acks_.size() >= quorum()) finish();
        } else if (kind != "reply" && kind != "stored") {
            host::fail("unknown message");
        }
        return {};
    }

    std::vector<host::LocalEvent> local_events() const {
        using host::LocalKind::application;
        if (phase_ != Phase::idle) return {};
        if (role_ == Role::writer && op_ < writes_) return {{"write", application, "\"write\""}};
        if (role_ == Role::reader && op_ < reads_) return {{"read", application, "\"read\""}};
        return {};
    }

    host::Envelopes happen(const host::LocalEvent &event) {
        op_++;
        if (event.name == "write") {
            best_ = {100 + op_, op_};
            return store();
        }
        phase_ = Phase::query;
        return broadcast(json::Value::object({{"kind", "query"}, {"op", op_}}).text());
    }

    std::string serialize() const {
        return json::Value::object({
                                       {"acks", acks_},
                                       {"best", best_},
                                       {"copy", copy_},
                                       {"op", op_},
                                       {"phase", phases[static_cast<std::size_t>(phase_)]},
                                       {"returned", returned_},
                                       {"role", roles[static_cast<std::size_t>(role_)]},
                                   })
            .text();
    }

    std::optional<std::string> view(std::size_t property) const {
        switch (property) {
        case monotone:
            if (returned_.size() < 2) return std::nullopt;
            return json::Value(returned_).text();
        case stored_by_majority: {
            std::uint32_t complete = role_ != Role::writer ? 0 : phase_ == Phase::idle ? op_ : op_ - 1;
            if (complete == 0 && copy_.version == 0) return std::nullopt;
            return json::Value::object({{"complete", complete}, {"version", copy_.version}}).text();
        }
        default:
            std::uint32_t newest = returned_.empty() ? 0 : std::ranges::max(returned_);
            if (newest == 0) return std::nullopt;
            return json::Value(newest).text();
        }
    }

    static std::expected<void, std::string> invariant(std::size_t property, const host::Views &views) {
        if (property == monotone) {
            std::vector<std::uint32_t> returned = json::numbers(*views[0]);
            auto older = std::ranges::is_sorted_until(returned);
            if (older != returned.end()) {
                return std::unexpected("a read returned version " + std::to_string(*older) + " after " +
                                       std::to_string(*std::prev(older)));
            }
        } else if (property == stored_by_majority) {
            auto read = [](const std::optional<std::string> &view, std::string_view key) {
                return view ? json::number(json::field(*view, key)) : 0;
            };
            std::uint32_t complete = 0;
            for (const auto &view : views) complete = std::max(complete, read(view, "complete"));
            auto holders = static_cast<std::size_t>(
                std::ranges::count_if(views, [&](const auto &view) { return read(view, "version") >= complete; }));
            if (holders <= views.size() / 2) {
                return std::unexpected("write " + std::to_string(complete) + " is complete, and " +
                                       std::to_string(holders) + " of " + std::to_string(views.size()) +
                                       " nodes have it");
            }
        }
        return {};
    }

private:
    Register(std::uint32_t nodes, Role role) : nodes_(nodes), role_(role) {}

    // How many answers a phase waits for.
    std::size_t quorum() const { return bug_ == Bug::one_ack ? 1 : nodes_ / 2 + 1; }

    // Gives the best copy to everyone.
    host::Envelopes store() {
        acks_.clear();
        phase_ = Phase::store;
        return broadcast(with_copy("store", op_, best_));
    }

    // Ends the operation.
    void finish() {
        if (role_ == Role::reader) returned_.push_back(best_.version);
        acks_.clear();
        best_ = {};
        phase_ = Phase::idle;
    }

    host::Envelopes broadcast(const std::string &message) const {
        host::Envelopes sent;
        for (std::uint32_t node = 0; node < nodes_; node++) sent.push_back({node, message});
        return sent;
    }

    static std::string with_copy(std::string_view kind, std::uint32_t op, Copy copy) {
        return json::Value::object({{"kind", kind}, {"op", op}, {"value", copy.value}, {"version", copy.version}}).text();
    }

    // The configuration.
    std::uint32_t nodes_, writes_ = 1, reads_ = 2;
    Bug bug_ = Bug::none;

    // What the node knows.
    std::set<std::uint32_t> acks_;
    Copy best_, copy_;
    std::uint32_t op_ = 0;
    Phase phase_ = Phase::idle;
    std::vector<std::uint32_t> returned_;
    Role role_;
};

} // namespace

HOST_PLUGIN(Register)
