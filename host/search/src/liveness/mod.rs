//! Liveness: are promises of progress kept? The answer comes from a graph of the global states.
//!
//! A *promise* is an `eventually` property, of node scope at one node. Each state keeps it or owes it; an execution
//! breaks it by owing it for ever from some point on. [`Rules`](crate::kernel::rules::Rules) defines what an execution may do for ever.
//!
//! | module | what it holds |
//! |---|---|
//! | `decide` | decisions about promises: verdicts, dead and stuck states, critical steps |
//! | `fair` | fair executions: components and lassos |
//! | `graph` | the graph of the global states, recorded and stored |

mod decide;
mod fair;
mod graph;

pub use decide::check::{Breach, Checked, check, refusal};
pub use decide::critical::Critical;
pub use decide::dead::{FAR, distances};
pub(crate) use decide::dead::{prospects, way_to_live};
pub(crate) use decide::decision::words;
pub use decide::decision::{decide, decides};
pub use decide::stuck::Stuck;
pub(crate) use decide::stuck::is_stuck;
pub use decide::verdict::{Death, Verdict, judge};
pub use fair::lasso::Lasso;
pub(crate) use fair::lasso::is_fair_lasso;
pub use graph::label::{ActionId, Draw, EventClass, Label, Source};
pub use graph::record::{Event, Recorded, Recorder};
pub use graph::rows::LabelId;
pub use graph::stored::{Edge, StoredGraph};
pub use graph::watch::Watch;
