//! A debugger without a terminal: a tree of executions, a cursor in it, and the commands that move the cursor.
//!
//! In the style of MDB (Killian, Anderson, Jhala, Vahdat, "Life, death, and the critical transition", NSDI 2007, section
//! 5): forwards and backwards, other branches, and the difference between a path that dies and one that lives.
//!
//! | module | what it holds |
//! |---|---|
//! | `moments` | a tree of executions |
//! | `cursor` | a position in that tree |
//! | `questions` | events in words, and how the properties stand |
//! | `commands` | the table of commands, the words behind them, and what they lead to |
//! | `console` | the session: a line in, a text out |
//! | `show` | commands that show something and move nothing |
//! | `why` | the reason why an event is not enabled |

mod commands;
mod console;
mod cursor;
mod moments;
mod questions;
mod show;
mod why;

pub use commands::{COMMANDS, Command, Reply};
pub use console::Console;
pub use cursor::Cursor;
pub use moments::{CursorError, Moments, PLACES_MAX, Place};
pub use questions::{Stands, Told};
pub use why::Asked;
