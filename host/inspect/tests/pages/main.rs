//! Pages for browsers, and what they show.
//!
//! | module | what it holds |
//! |---|---|
//! | `sample` | a trace with all that a page can show |
//! | `courses` | the properties over time, against replays from the start |
//! | `content` | what is in a page and in a picture: parts, texts of others, sizes |
//! | `browser` | what the script of a page makes of it, in Chromium |

mod browser;
mod content;
mod courses;
mod sample;
// The same ways as those that go through other formats.
#[path = "../exchange/walks.rs"]
mod walks;
