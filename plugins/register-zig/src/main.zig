//! The plugin: which protocol the host is given.

const host = @import("host.zig");
const Register = @import("register.zig").Register;

pub const panic = host.panic;

comptime {
    host.plugin(Register);
}
