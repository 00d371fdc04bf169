//! The commands.
//!
//! | module | what it holds |
//! |---|---|
//! | `run` | `host run` |
//! | `new` | `host new` |
//! | `build` | `host build` |
//! | `inspect` | `host inspect` |
//! | `doctor` | `host doctor` |
//! | `examination` | the check of `host doctor`: every step in several ways that must not differ |
//! | `replay` | `host replay` |
//! | `minimize` | `host minimize` |
//! | `draw` | `host draw` |
//! | `export` | `host export` |
//! | `debug` | `host debug` |
//! | `line_editor` | lines with history and completion, from a terminal or from a script |
//! | `languages` | `host languages`: one protocol in many languages, side by side |
//! | `list` | `host list` |
//! | `test` | `host test` |

pub mod build;
pub mod debug;
pub mod doctor;
pub mod draw;
mod examination;
pub mod export;
pub mod inspect;
pub mod languages;
mod line_editor;
pub mod list;
pub mod minimize;
pub mod new;
pub mod replay;
pub mod run;
pub mod test;
