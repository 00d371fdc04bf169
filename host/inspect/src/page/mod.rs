//! The page of `host explore`: its files, and the shapes of what it asks for.
//!
//! A server answers its requests; or a file has the page together with all answers, see [`draw`](crate::draw).
//!
//! | module | what it holds |
//! |---|---|
//! | `shapes` | the answers that the page knows |

pub mod shapes;

/// The document. `host/explore/web` builds it and the other two.
pub const DOCUMENT: &str = include_str!("dist/index.html");

/// Its script.
pub const SCRIPT: &str = include_str!("dist/app.js");

/// Its style.
pub const STYLE: &str = include_str!("dist/app.css");
