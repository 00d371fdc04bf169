//! Instances, and calls of their functions.
//!
//! | module | what it holds |
//! |---|---|
//! | `instance` | one instance in a store of its own |
//! | `functions` | the functions of a component that the host calls |
//! | `plugin_parts` | the parts that the instances and machines of a plugin share |
//! | `buffers` | arguments of calls, in reused buffers |

pub(crate) mod buffers;
pub(crate) mod functions;
pub(crate) mod instance;
pub(crate) mod plugin_parts;
