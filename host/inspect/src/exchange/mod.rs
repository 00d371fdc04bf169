//! Traces in the formats of other tools.
//!
//! | module | what it holds |
//! |---|---|
//! | `itf` | the Informal Trace Format, and back |
//! | `shiviz` | logs with vector clocks for ShiViz |

mod itf;
mod shiviz;

pub use itf::{from_itf, itf};
pub use shiviz::{SHIVIZ_PARSER, shiviz};
