//! Traces in the formats of other tools.

mod itf;
mod shiviz;

pub use itf::{from_itf, itf};
pub use shiviz::{SHIVIZ_PARSER, shiviz};
