//! Pages for browsers, and what they show.
//!
//! | module | what it holds |
//! |---|---|
//! | `sample` | a trace with all that a page can show |
//! | `courses` | the properties over time, against replays from the start |
//! | `content` | what is in a page and in a picture: parts, texts of others, sizes |
//! | `boxes` | texts and other rectangles of a drawing, by its own coordinates |
//! | `places` | where the texts of drawings are |
//! | `browser` | what the script of a page makes of it, in Chromium |

// Tests of drawings of state graphs need only a part of it.
mod boxes;
mod browser;
mod content;
mod courses;
mod places;
mod sample;
// The same walks as in the tests of other formats.
#[path = "../exchange/walks.rs"]
mod walks;
