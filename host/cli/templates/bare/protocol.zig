//! Every node greets the next one, once.

const std = @import("std");
const host = @import("host.zig");
const Context = host.Context;

/// What a node knows: how many greetings it has heard.
const State = struct { heard: u32 = 0 };

pub const Greeting = struct {
    state: State = .{},

    pub const about: host.About = .{
        .name = "bare-protocol",
        .version = "0.1.0",
        .summary = "Every node greets the next one.",
        .nodes = 3,
    };

    pub const properties: []const host.Property = &.{
        .{ .name = "heard-once", .kind = .always, .scope = .node },
    };

    pub fn init(ctx: *Context, me: u32, nodes: u32, config: []const u8) !Greeting {
        if (config.len > 0) return ctx.refuse("there are no parameters", .{});
        try ctx.send((me + 1) % nodes, "hello");
        return .{};
    }

    pub fn receive(node: *Greeting, _: *Context, _: u32, _: []const u8) !void {
        node.state.heard += 1;
    }

    pub fn localEvents(_: *const Greeting, _: *Context) ![]const host.LocalEvent {
        return &.{};
    }

    pub fn happen(_: *Greeting, _: *Context, _: host.LocalEvent) !void {}

    pub fn serialize(node: *const Greeting, ctx: *Context) ![]const u8 {
        return ctx.encode(node.state);
    }

    pub fn view(node: *const Greeting, ctx: *Context, _: usize) !?[]const u8 {
        return try ctx.encode(node.state.heard);
    }

    pub fn invariant(ctx: *Context, _: usize, views: []const ?[]const u8) !void {
        const heard = try ctx.decode(u32, views[0].?);
        if (heard > 1) return ctx.refuse("heard {d} greetings", .{heard});
    }
};

test "a greeting is heard" {
    var arena = std.heap.ArenaAllocator.init(std.testing.allocator);
    defer arena.deinit();
    var ctx: Context = .{ .arena = arena.allocator() };
    var node = try Greeting.init(&ctx, 2, 3, "");
    try std.testing.expectEqual(0, ctx.outbox.items[0].to);
    try node.receive(&ctx, 1, ctx.outbox.items[0].message);
    try std.testing.expectEqualStrings("{\"heard\":1}", try node.serialize(&ctx));
}
