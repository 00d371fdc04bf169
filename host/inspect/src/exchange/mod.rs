//! Traces in the formats of other tools.
//!
//! | module | what it holds |
//! |---|---|
//! | `itf` | the Informal Trace Format, and back |
//! | `log` | a line of JSON per event, as nodes could have written it |
//! | `shiviz` | logs with vector clocks for ShiViz |

mod itf;
mod log;
mod shiviz;

pub use itf::{Document, ITF_BYTES_MAX, from_itf, itf};
pub use log::log;
pub use shiviz::{SHIVIZ_PARSER, shiviz};

/// A document would exceed its maximum size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it would have more than {}", crate::words::bytes(*.0 as u64))]
pub struct TooLarge(pub usize);
