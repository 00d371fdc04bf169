//! The plugin: which protocol the host is given.

const host = @import("host.zig");
const Greeting = @import("protocol.zig").Greeting;

pub const panic = host.panic;

comptime {
    host.plugin(Greeting);
}
