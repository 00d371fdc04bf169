//! The contract of `host` for Zig: types, and the canonical ABI on both sides of them. Every protocol can use this file as it is.
//!
//! A protocol is a struct `P` with these declarations; `main.zig` hands it over with `host.plugin(P)`:
//!
//!     pub const about: host.About
//!     pub const properties: []const host.Property
//!     pub fn init(ctx: *host.Context, me: u32, nodes: u32, config: []const u8) !P
//!     pub fn receive(node: *P, ctx: *host.Context, from: u32, message: []const u8) !void
//!     pub fn localEvents(node: *const P, ctx: *host.Context) ![]const host.LocalEvent
//!     pub fn happen(node: *P, ctx: *host.Context, event: host.LocalEvent) !void
//!     pub fn serialize(node: *const P, ctx: *host.Context) ![]const u8
//!     pub fn view(node: *const P, ctx: *host.Context, property: usize) !?[]const u8
//!     pub fn invariant(ctx: *host.Context, property: usize, views: []const ?[]const u8) !void
//!
//! An error other than those of `Context.refuse` is a panic, which the host reports with the events that lead to it.

const std = @import("std");
const Allocator = std.mem.Allocator;

pub const Envelope = struct { to: u32, message: []const u8 };

pub const LocalKind = enum(u8) { timer, application, internal };

/// Something that can happen to this node without a message.
pub const LocalEvent = struct { name: []const u8, kind: LocalKind = .application, payload: []const u8 = "" };

pub const PropertyKind = enum(u8) { always, sometimes, eventually };
pub const PropertyScope = enum(u8) { node, system };
pub const Property = struct { name: []const u8, kind: PropertyKind, scope: PropertyScope };

pub const Parameter = struct { name: []const u8, default_value: []const u8, meaning: []const u8 };

/// What the plugin says about itself; the network is unordered.
pub const About = struct {
    name: []const u8,
    version: []const u8,
    summary: []const u8,
    nodes: u32,
    parameters: []const Parameter = &.{},
};

/// What a function has at hand while it runs.
pub const Context = struct {
    /// Freed when the host has read the result. What the node keeps comes from `std.heap.wasm_allocator`.
    arena: Allocator,
    outbox: std.ArrayList(Envelope) = .empty,
    refusal: []const u8 = "",

    /// Sends a message to one node.
    pub fn send(ctx: *Context, to: u32, message: anytype) !void {
        try ctx.outbox.append(ctx.arena, .{ .to = to, .message = try ctx.encode(message) });
    }

    /// A value as JSON. It is canonical (docs/encoding.md) if the fields of structs are declared in the order of their names.
    pub fn encode(ctx: *Context, value: anytype) ![]const u8 {
        return std.json.Stringify.valueAlloc(ctx.arena, value, .{ .emit_null_optional_fields = false });
    }

    /// The value of a text.
    pub fn decode(ctx: *Context, comptime T: type, text: []const u8) !T {
        return std.json.parseFromSliceLeaky(T, ctx.arena, text, .{});
    }

    /// Words for people: why `init` cannot use its configuration, or why a property does not hold.
    pub fn refuse(ctx: *Context, comptime words: []const u8, values: anytype) error{ Refused, OutOfMemory } {
        ctx.refusal = try std.fmt.allocPrint(ctx.arena, words, values);
        return error.Refused;
    }
};

/// Nondeterminism inside a handler: the host explores every answer below `alternatives`.
pub fn choose(alternatives: u32) u32 {
    return environment.choose(alternatives);
}

/// Whether the transport takes a message now: ask before it is returned, and do not return one that was refused.
pub fn canSend(to: u32) bool {
    return environment.@"can-send"(to) != 0;
}

/// As `choose`, with an answer for each weight; a random walk draws answers in proportion to their weights.
pub fn chooseWeighted(weights: []const u32) u32 {
    return odds.@"choose-weighted"(weights.ptr, weights.len);
}

/// A line for people; only in `init`, `receive` and `happen`.
pub fn log(line: []const u8) void {
    environment.log(line.ptr, line.len);
}

/// For `pub const panic` in main.zig: the host quotes the words as the reason of the fault.
pub const panic = std.debug.FullPanic(struct {
    fn panic(words: []const u8, _: ?usize) noreturn {
        var line: [200]u8 = undefined;
        log(std.fmt.bufPrint(&line, "panic: {s}", .{words}) catch "panic");
        @trap();
    }
}.panic);

const environment = struct {
    extern "host:protocol/environment@0.1.0" fn choose(u32) u32;
    extern "host:protocol/environment@0.1.0" fn @"can-send"(u32) u32;
    extern "host:protocol/environment@0.1.0" fn log([*]const u8, usize) void;
};

const odds = struct {
    extern "host:protocol/odds@0.1.0" fn @"choose-weighted"([*]const u32, usize) u32;
};

// ---- the canonical ABI: records in memory as the contract lays them out

const List = extern struct {
    at: *const anyopaque,
    length: usize,

    /// An empty slice may point anywhere, which the host would refuse.
    fn of(items: anytype) List {
        return .{ .at = if (items.len == 0) @ptrFromInt(8) else @ptrCast(items.ptr), .length = items.len };
    }
};

const Optional = extern struct {
    is_there: bool,
    list: List,

    fn of(text: ?[]const u8) Optional {
        return .{ .is_there = text != null, .list = List.of(text orelse "") };
    }

    fn slice(optional: Optional) ?[]const u8 {
        const bytes: [*]const u8 = @ptrCast(optional.list.at);
        return if (optional.is_there) bytes[0..optional.list.length] else null;
    }
};

const Raw = struct {
    const Envelope = extern struct { to: u32, message: List };
    const LocalEvent = extern struct { name: List, kind: LocalKind, payload: List };
    const Property = extern struct { name: List, kind: PropertyKind, scope: PropertyScope };
    const Parameter = extern struct { name: List, default_value: List, meaning: List };
    const About = extern struct {
        name: List,
        version: List,
        summary: List,
        nodes: u32,
        network: u8,
        identity: u8,
        parameters: List,
    };
};

/// Exports the functions of the contract by their plain names; `host build` gives them their full ones.
pub fn plugin(comptime P: type) void {
    const exports = struct {
        var arena = std.heap.ArenaAllocator.init(std.heap.wasm_allocator);
        var node: P = undefined;

        fn context() Context {
            return .{ .arena = arena.allocator() };
        }

        fn made(value: anytype) *const @TypeOf(value) {
            const place = arena.allocator().create(@TypeOf(value)) catch unreachable;
            place.* = value;
            return place;
        }

        fn must(result: anytype) @typeInfo(@TypeOf(result)).error_union.payload {
            return result catch |err| @panic(@errorName(err));
        }

        fn envelopes(ctx: *Context) List {
            const raw = must(ctx.arena.alloc(Raw.Envelope, ctx.outbox.items.len));
            for (raw, ctx.outbox.items) |*to, from| to.* = .{ .to = from.to, .message = List.of(from.message) };
            return List.of(raw);
        }

        fn init(me: u32, nodes: u32, at: [*]const u8, length: usize, _: u32, _: usize, _: usize) callconv(.c) *const Optional {
            var ctx = context();
            node = P.init(&ctx, me, nodes, at[0..length]) catch |err| switch (err) {
                error.Refused => return made(Optional.of(ctx.refusal)),
                else => @panic(@errorName(err)),
            };
            return made(Optional{ .is_there = false, .list = envelopes(&ctx) });
        }

        fn handleMessage(src: u32, at: [*]const u8, length: usize) callconv(.c) *const List {
            var ctx = context();
            must(node.receive(&ctx, src, at[0..length]));
            return made(envelopes(&ctx));
        }

        fn localEvents() callconv(.c) *const List {
            var ctx = context();
            const events = must(node.localEvents(&ctx));
            const raw = must(ctx.arena.alloc(Raw.LocalEvent, events.len));
            for (raw, events) |*to, from| {
                to.* = .{ .name = List.of(from.name), .kind = from.kind, .payload = List.of(from.payload) };
            }
            return made(List.of(raw));
        }

        fn handleLocal(at: [*]const u8, length: usize, kind: u32, payload: [*]const u8, size: usize) callconv(.c) *const List {
            var ctx = context();
            const event: LocalEvent = .{ .name = at[0..length], .kind = @enumFromInt(kind), .payload = payload[0..size] };
            must(node.happen(&ctx, event));
            return made(envelopes(&ctx));
        }

        fn serialize() callconv(.c) *const List {
            var ctx = context();
            return made(List.of(must(node.serialize(&ctx))));
        }

        fn properties() callconv(.c) *const List {
            const raw = must(arena.allocator().alloc(Raw.Property, P.properties.len));
            for (raw, P.properties) |*to, from| to.* = .{ .name = List.of(from.name), .kind = from.kind, .scope = from.scope };
            return made(List.of(raw));
        }

        fn view(property: u32) callconv(.c) *const Optional {
            var ctx = context();
            return made(Optional.of(must(node.view(&ctx, property))));
        }

        fn invariant(property: u32, at: [*]const Optional, length: usize) callconv(.c) *const Optional {
            var ctx = context();
            const views = must(ctx.arena.alloc(?[]const u8, length));
            for (views, at[0..length]) |*to, from| to.* = from.slice();
            P.invariant(&ctx, property, views) catch |err| switch (err) {
                error.Refused => return made(Optional.of(ctx.refusal)),
                else => @panic(@errorName(err)),
            };
            return made(Optional.of(null));
        }

        fn about() callconv(.c) *const Raw.About {
            const parameters = must(arena.allocator().alloc(Raw.Parameter, P.about.parameters.len));
            for (parameters, P.about.parameters) |*to, from| to.* = .{
                .name = List.of(from.name),
                .default_value = List.of(from.default_value),
                .meaning = List.of(from.meaning),
            };
            return made(Raw.About{
                .name = List.of(P.about.name),
                .version = List.of(P.about.version),
                .summary = List.of(P.about.summary),
                .nodes = P.about.nodes,
                .network = 0,
                .identity = 0,
                .parameters = List.of(parameters),
            });
        }

        /// Where the host asks for room for arguments.
        fn realloc(old: [*]u8, old_size: usize, alignment: usize, size: usize) callconv(.c) [*]u8 {
            const room = arena.allocator().rawAlloc(@max(size, 1), .fromByteUnits(alignment), @returnAddress()) orelse unreachable;
            @memcpy(room[0..old_size], old[0..old_size]);
            return room;
        }

        /// The host has read the result: nothing of this call is needed any more.
        fn release(_: u32) callconv(.c) void {
            _ = arena.reset(.free_all);
        }
    };
    @export(&exports.realloc, .{ .name = "cabi_realloc" });
    inline for (.{ "init", "handleMessage", "localEvents", "handleLocal", "serialize", "properties", "view", "invariant", "about" }) |name| {
        @export(&@field(exports, name), .{ .name = name });
        @export(&exports.release, .{ .name = "cabi_post_" ++ name });
    }
}
