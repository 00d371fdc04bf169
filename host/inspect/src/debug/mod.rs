//! A debugger without a terminal: a cursor over a tree of executions, and the commands that move it.
//!
//! In the style of MDB (Killian, Anderson, Jhala, Vahdat, "Life, death, and the critical transition", NSDI 2007, section
//! 5): forwards and backwards, other branches, and what differs between a path that dies and one that lives.
//!
//! | module | what it holds |
//! |---|---|
//! | `cursor` | a position in a tree of executions |
//! | `console` | commands: a line in, a text out |
//! | `why` | the reason why an event is not enabled |

mod console;
mod cursor;
mod why;

pub use console::{COMMANDS, Command, Console, Reply};
pub use cursor::{Cursor, CursorError, Place};
