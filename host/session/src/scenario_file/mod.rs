//! Scenarios in files: what to run and the expected result, in TOML.
//!
//! A scenario is a [`RunSpec`](crate::spec::RunSpec) in a file; options of the command line take precedence over it. A new key needs one
//! row in [`keys`].
//!
//! | module | what it holds |
//! |---|---|
//! | `content` | what a scenario says, and where |
//! | `keys` | the keys that stand for one option each |
//! | `reader` | values with their places |
//! | `sections` | a scenario from its text, section by section |
//! | `expected` | the section `[expect]` |
//! | `owner` | the plugin that a file belongs to because of where it lies |
//! | `trust` | what a scenario from elsewhere cannot do, or not silently |
//! | `layers` | a scenario as the layer below the rest of a request |

mod content;
mod expected;
mod keys;
mod layers;
mod owner;
mod reader;
mod sections;
mod trust;

pub use content::Scenario;
pub use keys::{VIOLATIONS_MAX, keys};
pub use layers::{is_scenario, resolve};
pub use owner::owner;
