//! A register kept by a majority of the nodes: one node writes, another reads.
//! Attiya, Bar-Noy and Dolev, "Sharing Memory Robustly in Message-Passing Systems", JACM 1995.

const std = @import("std");
const host = @import("host.zig");
const Context = host.Context;

/// What the node keeps; in a test, an allocator that notices leaks.
const gpa = if (@import("builtin").is_test) std.testing.allocator else std.heap.wasm_allocator;

/// A value with the number of the write that it comes from; 0 is the value before all writes.
const Copy = struct { value: u32 = 0, version: u32 = 0 };

const Role = enum { writer, reader, replica };
const Phase = enum { idle, query, store };
const Bug = enum { none, @"no-write-back", @"one-ack" };

/// What nodes tell each other; `op` numbers the operations of the client.
const Message = struct {
    kind: enum { query, reply, store, stored },
    op: u32,
    value: ?u32 = null,
    version: ?u32 = null,

    fn copy(message: Message) error{FieldMissing}!Copy {
        return .{
            .value = message.value orelse return error.FieldMissing,
            .version = message.version orelse return error.FieldMissing,
        };
    }
};

/// What `stored-by-majority` reads of a node.
const Stored = struct { complete: u32 = 0, version: u32 = 0 };

pub const Register = struct {
    // The configuration.
    nodes: u32,
    writes: u32 = 1,
    reads: u32 = 2,
    bug: Bug = .none,

    // What the node knows.
    acks: std.ArrayList(u32) = .empty,
    best: Copy = .{},
    copy: Copy = .{},
    op: u32 = 0,
    phase: Phase = .idle,
    returned: std.ArrayList(u32) = .empty,
    role: Role,

    pub const about: host.About = .{
        .name = "register-zig",
        .version = "0.1.0",
        .summary = "A register kept by a majority, in Zig.",
        .nodes = 3,
        .parameters = &.{
            .{ .name = "writes", .default_value = "1", .meaning = "how often node 0 writes" },
            .{ .name = "reads", .default_value = "2", .meaning = "how often the last node reads" },
            .{
                .name = "bug",
                .default_value = "none",
                .meaning = "what is wrong on purpose (one of none, no-write-back, one-ack)",
            },
        },
    };

    pub const properties: []const host.Property = &.{
        .{ .name = "monotone", .kind = .always, .scope = .node },
        .{ .name = "stored-by-majority", .kind = .always, .scope = .system },
        .{ .name = "write-is-read", .kind = .sometimes, .scope = .node },
    };

    pub fn init(ctx: *Context, me: u32, nodes: u32, config: []const u8) !Register {
        const role: Role = if (me == 0) .writer else if (me + 1 == nodes) .reader else .replica;
        var register: Register = .{ .nodes = nodes, .role = role };
        var lines = std.mem.tokenizeScalar(u8, config, '\n');
        while (lines.next()) |line| {
            var parts = std.mem.splitScalar(u8, line, '=');
            const key = parts.first();
            const value = parts.rest();
            if (std.mem.eql(u8, key, "writes")) {
                register.writes = try number(ctx, key, value);
            } else if (std.mem.eql(u8, key, "reads")) {
                register.reads = try number(ctx, key, value);
            } else if (std.mem.eql(u8, key, "bug")) {
                register.bug = std.meta.stringToEnum(Bug, value) orelse
                    return ctx.refuse("bug is none, no-write-back or one-ack, not {s}", .{value});
            } else {
                return ctx.refuse("unknown parameter: {s}", .{key});
            }
        }
        return register;
    }

    fn number(ctx: *Context, key: []const u8, value: []const u8) !u32 {
        return std.fmt.parseUnsigned(u32, value, 10) catch ctx.refuse("{s} must be a number, not {s}", .{ key, value });
    }

    pub fn receive(register: *Register, ctx: *Context, from: u32, text: []const u8) !void {
        const message = try ctx.decode(Message, text);
        const op = message.op;
        switch (message.kind) {
            .query => {
                const copy = register.copy;
                try ctx.send(from, Message{ .kind = .reply, .op = op, .value = copy.value, .version = copy.version });
            },
            .store => {
                const offered = try message.copy();
                if (offered.version > register.copy.version) register.copy = offered;
                try ctx.send(from, Message{ .kind = .stored, .op = op });
            },
            .reply => if (register.phase == .query and op == register.op) {
                try register.acknowledge(from);
                const found = try message.copy();
                if (found.version > register.best.version) register.best = found;
                if (register.acks.items.len < register.quorum()) return;
                if (register.bug == .@"no-write-back") try register.finish() else try register.store(ctx);
            },
            .stored => if (register.phase == .store and op == register.op) {
                try register.acknowledge(from);
                if (register.acks.items.len >= register.quorum()) try register.finish();
            },
        }
    }

    pub fn localEvents(register: *const Register, _: *Context) ![]const host.LocalEvent {
        if (register.phase != .idle) return &.{};
        return switch (register.role) {
            .writer => if (register.op < register.writes) &.{.{ .name = "write", .payload = "\"write\"" }} else &.{},
            .reader => if (register.op < register.reads) &.{.{ .name = "read", .payload = "\"read\"" }} else &.{},
            .replica => &.{},
        };
    }

    pub fn happen(register: *Register, ctx: *Context, event: host.LocalEvent) !void {
        register.op += 1;
        if (std.mem.eql(u8, event.name, "write")) {
            register.best = .{ .value = 100 + register.op, .version = register.op };
            try register.store(ctx);
        } else {
            register.phase = .query;
            try register.broadcast(ctx, .{ .kind = .query, .op = register.op });
        }
    }

    pub fn serialize(register: *const Register, ctx: *Context) ![]const u8 {
        return ctx.encode(.{
            .acks = register.acks.items,
            .best = register.best,
            .copy = register.copy,
            .op = register.op,
            .phase = register.phase,
            .returned = register.returned.items,
            .role = register.role,
        });
    }

    pub fn view(register: *const Register, ctx: *Context, property: usize) !?[]const u8 {
        const returned = register.returned.items;
        switch (property) {
            0 => return if (returned.len > 1) try ctx.encode(returned) else null,
            1 => {
                const complete = if (register.role != .writer) 0 else if (register.phase == .idle) register.op else register.op - 1;
                const stored: Stored = .{ .complete = complete, .version = register.copy.version };
                return if (stored.complete > 0 or stored.version > 0) try ctx.encode(stored) else null;
            },
            else => {
                const newest = if (returned.len == 0) 0 else std.mem.max(u32, returned);
                return if (newest > 0) try ctx.encode(newest) else null;
            },
        }
    }

    pub fn invariant(ctx: *Context, property: usize, views: []const ?[]const u8) !void {
        switch (property) {
            0 => {
                const returned = try ctx.decode([]const u32, views[0].?);
                for (returned[0 .. returned.len - 1], returned[1..]) |before, after| {
                    if (after < before) return ctx.refuse("a read returned version {d} after {d}", .{ after, before });
                }
            },
            1 => {
                const known = try ctx.arena.alloc(Stored, views.len);
                var complete: u32 = 0;
                for (known, views) |*stored, text| {
                    stored.* = if (text) |there| try ctx.decode(Stored, there) else .{};
                    complete = @max(complete, stored.complete);
                }
                var holders: usize = 0;
                for (known) |stored| holders += @intFromBool(stored.version >= complete);
                if (holders <= views.len / 2) {
                    return ctx.refuse("write {d} is complete, and {d} of {d} nodes have it", .{ complete, holders, views.len });
                }
            },
            else => {},
        }
    }

    /// How many answers a phase waits for.
    fn quorum(register: *const Register) usize {
        return if (register.bug == .@"one-ack") 1 else register.nodes / 2 + 1;
    }

    fn acknowledge(register: *Register, from: u32) !void {
        if (std.mem.indexOfScalar(u32, register.acks.items, from) != null) return;
        try register.acks.append(gpa, from);
        std.mem.sort(u32, register.acks.items, {}, std.sort.asc(u32));
    }

    fn broadcast(register: *const Register, ctx: *Context, message: Message) !void {
        for (0..register.nodes) |node| try ctx.send(@intCast(node), message);
    }

    /// Gives the best copy to everyone.
    fn store(register: *Register, ctx: *Context) !void {
        register.acks.clearRetainingCapacity();
        register.phase = .store;
        const best = register.best;
        try register.broadcast(ctx, .{ .kind = .store, .op = register.op, .value = best.value, .version = best.version });
    }

    /// Ends the operation.
    fn finish(register: *Register) !void {
        if (register.role == .reader) try register.returned.append(gpa, register.best.version);
        register.acks.clearRetainingCapacity();
        register.best = .{};
        register.phase = .idle;
    }
};

test "a write ends when a majority has stored it" {
    var arena = std.heap.ArenaAllocator.init(std.testing.allocator);
    defer arena.deinit();
    var ctx: Context = .{ .arena = arena.allocator() };
    var writer = try Register.init(&ctx, 0, 3, "reads=1\n");
    defer writer.acks.deinit(gpa);
    const possible = try writer.localEvents(&ctx);
    try writer.happen(&ctx, possible[0]);
    try std.testing.expectEqual(3, ctx.outbox.items.len);
    try std.testing.expectEqualStrings("{\"kind\":\"store\",\"op\":1,\"value\":101,\"version\":1}", ctx.outbox.items[0].message);
    for (0..2) |_| {
        try writer.receive(&ctx, 1, "{\"kind\":\"stored\",\"op\":1}");
        try std.testing.expectEqual(Phase.store, writer.phase);
    }
    try writer.receive(&ctx, 2, "{\"kind\":\"stored\",\"op\":1}");
    try std.testing.expectEqual(Phase.idle, writer.phase);
}

test "a parameter that is not known is named" {
    var arena = std.heap.ArenaAllocator.init(std.testing.allocator);
    defer arena.deinit();
    var ctx: Context = .{ .arena = arena.allocator() };
    try std.testing.expectError(error.Refused, Register.init(&ctx, 0, 3, "colour=red\n"));
    try std.testing.expectEqualStrings("unknown parameter: colour", ctx.refusal);
}
